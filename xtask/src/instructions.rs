//! `cargo xtask instructions`: instructions per message, counted by callgrind.
//!
//! The example `instructions` of `dpamatch` sends, matches and collects windows of messages on one
//! thread. It runs twice with different numbers of windows. The difference of the counts, divided
//! by the additional messages, contains no set-up. Each part is counted from its function's entry
//! to its return.

use std::env;
use std::path::PathBuf;
use std::process::Command;

use crate::process;
use crate::{Failure, root, target};

/// What is counted.
struct Row {
    way: &'static str,
    scenario: &'static str,
    handlers: u32,
    /// Messages per window.
    window: u32,
    /// Bytes of a message.
    bytes: u32,
}

const fn row(
    way: &'static str,
    scenario: &'static str,
    handlers: u32,
    window: u32,
    bytes: u32,
) -> Row {
    Row {
        way,
        scenario,
        handlers,
        window,
        bytes,
    }
}

const ROWS: [Row; 40] = [
    row("nic", "NC", 32, 128, 8),
    row("nic", "NC", 32, 1, 8),
    row("nic", "NC", 32, 1024, 8),
    row("nic", "NC", 8, 128, 8),
    row("nic", "NC", 256, 128, 8),
    row("nic", "WC-FP", 32, 128, 8),
    row("nic", "WC-SP", 32, 128, 8),
    row("nic", "MIX", 32, 128, 8),
    row("nic", "UNEXP", 32, 128, 8),
    row("nic", "UNEXP", 32, 1024, 8),
    row("nic", "NC", 32, 128, 64),
    row("nic", "NC", 32, 128, 256),
    row("nic", "UNEXP", 32, 128, 64),
    row("nic", "UNEXP", 32, 128, 256),
    row("shared-1", "NC", 32, 128, 8),
    row("shared-2", "NC", 32, 128, 8),
    row("shared-4", "NC", 32, 128, 8),
    row("shared-8", "NC", 32, 128, 8),
    row("shared-1", "WC-FP", 32, 128, 8),
    row("shared-2", "WC-FP", 32, 128, 8),
    row("shared-4", "WC-FP", 32, 128, 8),
    row("shared-8", "WC-FP", 32, 128, 8),
    row("shared-1", "WC-SP", 32, 128, 8),
    row("shared-1", "MIX", 32, 128, 8),
    row("paper-1", "NC", 32, 128, 8),
    row("paper-1", "WC-FP", 32, 128, 8),
    row("paper-1", "WC-SP", 32, 128, 8),
    row("paper-1", "MIX", 32, 128, 8),
    row("paper-8", "WC-FP", 32, 128, 8),
    row("endpoint", "NC", 32, 128, 8),
    row("endpoint", "NC", 32, 1, 8),
    row("endpoint", "NC", 32, 1024, 8),
    row("endpoint", "UNEXP", 32, 128, 8),
    row("endpoint", "NC", 32, 128, 64),
    row("bins", "NC", 32, 128, 8),
    row("bins", "UNEXP", 32, 128, 8),
    row("bins", "NC", 32, 128, 64),
    row("no-matching", "NC", 32, 128, 8),
    row("no-matching", "NC", 32, 128, 64),
    row("no-matching", "NC", 32, 128, 256),
];

/// A row of UCX.
struct UcxRow {
    scenario: &'static str,
    /// The scenario's arguments of UCX's program.
    arguments: &'static [&'static str],
    window: u32,
    bytes: u32,
}

const fn ucx(
    scenario: &'static str,
    arguments: &'static [&'static str],
    window: u32,
    bytes: u32,
) -> UcxRow {
    UcxRow {
        scenario,
        arguments,
        window,
        bytes,
    }
}

const UCX_ROWS: [UcxRow; 7] = [
    ucx("NC", &[], 128, 8),
    ucx("NC", &[], 1, 8),
    ucx("NC", &[], 1024, 8),
    ucx("WC", &["same-tag"], 128, 8),
    ucx("UNEXP", &["unexpected"], 128, 8),
    ucx("NC", &[], 128, 64),
    ucx("NC", &[], 128, 256),
];

/// Functions that callgrind counts, including their callees.
const SEND: &str = "*send_window*";
const POST: &str = "*post_window*";
const ADMIT: &str = "*Boundary*admit*";
const ROUND: &str = "*Leader*round*";

/// All phases of a worker's slice of a shared block.
const PHASES: &str = "*matching::run_slice";
const COLLECT: &str = "*collect_window*";
/// Runs per count, of which the least counts, where a run may do more than needed: UCX's set-up,
/// and polls of workers that wait for each other.
const RUNS: usize = 3;

/// Approximate messages of each run of a pair.
const MESSAGES: [u32; 2] = [10_000, 30_000];

/// Runs the task.
pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    if !args.is_empty() {
        return Err(Failure::Usage("instructions takes no argument".to_owned()));
    }
    let program = build()?;
    println!(
        "instructions per message; window: send, match and collect; NIC: match in the window, admit \
         before or behind it"
    );
    println!(
        "{:<12}{:<9}{:>4}{:>6}{:>6}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}",
        "way",
        "scenario",
        "N",
        "k",
        "bytes",
        "send",
        "match",
        "collect",
        "window",
        "post",
        "admit",
        "all"
    );
    for row in ROWS {
        let Row {
            way,
            scenario,
            handlers,
            window,
            bytes,
        } = row;
        let is_shared = way.starts_with("shared-") || way.starts_with("paper-");
        let count = |windows: u32, part: Option<&str>| {
            let [windows, handlers, window, bytes] =
                [windows, handlers, window, bytes].map(|number| number.to_string());
            let mut command = Command::new(&program);
            least(
                command.args([scenario, &windows, &handlers, &window, way, &bytes]),
                part,
                if is_shared { RUNS } else { 1 },
            )
        };
        let part = |part| per_message(window, part, count);
        if is_shared {
            // The other columns would count the polls of idle workers.
            let phases = part(Some(PHASES))?;
            println!(
                "{way:<12}{scenario:<9}{handlers:>4}{window:>6}{bytes:>6}{:>9}{phases:>9.1}",
                ""
            );
            continue;
        }
        let (all, send, post) = (part(None)?, part(Some(SEND))?, part(Some(POST))?);
        let (round, admit) = match way {
            "nic" | "endpoint" => (part(Some(ROUND))?, part(Some(ADMIT))?),
            _ => (0.0, 0.0),
        };
        let in_window = all - post - admit;
        print_row(
            &row,
            [
                send,
                round - admit,
                in_window - send - round + admit,
                in_window,
                post,
                admit,
                all,
            ],
        );
    }
    let peer = match Ucx::build() {
        Ok(peer) => peer,
        Err(reason) => {
            println!("without UCX: {reason}");
            return Ok(());
        }
    };
    for ucx in UCX_ROWS {
        let UcxRow {
            scenario,
            arguments,
            window,
            bytes,
        } = ucx;
        let count = |windows: u32, part: Option<&str>| {
            let mut command = peer.command();
            command.arg("alone").args(arguments);
            command.args([format!("window={window}"), format!("repetitions={windows}")]);
            command.arg(format!("size={bytes}"));
            least(&command, part, RUNS)
        };
        let part = |part| per_message(window, Some(part), count);
        let (send, collect, post) = (part(SEND)?, part(COLLECT)?, part(POST)?);
        let in_window = send + collect;
        print_row(
            &row("ucx", scenario, 0, window, bytes),
            [send, 0.0, collect, in_window, post, 0.0, in_window + post],
        );
    }
    Ok(())
}

/// Prints a row; without handlers, the column is empty.
fn print_row(row: &Row, counts: [f64; 7]) {
    let Row {
        way,
        scenario,
        handlers,
        window,
        bytes,
    } = row;
    let handlers = Some(handlers).filter(|&&number| number > 0);
    let handlers = handlers.map(u32::to_string).unwrap_or_default();
    print!("{way:<12}{scenario:<9}{handlers:>4}{window:>6}{bytes:>6}");
    for count in counts {
        print!("{count:>9.1}");
    }
    println!();
}

/// The UCX program, which `dpamatch bench --peers` compiles, too.
struct Ucx {
    program: PathBuf,
    /// Folder of the libraries, if `DPAMATCH_UCX` names it.
    libraries: Option<PathBuf>,
}

impl Ucx {
    /// Compiles the program with UCX from `DPAMATCH_UCX`, or from the compiler's paths.
    fn build() -> Result<Self, String> {
        let root = root();
        let program = target().join("ucx-alone");
        let folder = env::var_os("DPAMATCH_UCX").map(PathBuf::from);
        let libraries = folder.as_ref().map(|folder| folder.join("lib"));
        let mut command = Command::new(env::var_os("CC").unwrap_or_else(|| "cc".into()));
        command
            .arg("-O2")
            .arg("-o")
            .arg(&program)
            .arg(root.join("tools/peers/ucx.c"));
        if let (Some(folder), Some(libraries)) = (&folder, &libraries) {
            command
                .arg("-I")
                .arg(folder.join("include"))
                .arg("-L")
                .arg(libraries);
        }
        command.args(["-lucp", "-lucs"]);
        let built = process::run(&mut command)?;
        if built.status.success() {
            Ok(Self { program, libraries })
        } else {
            Err(built
                .output
                .lines()
                .next()
                .unwrap_or("it does not compile")
                .to_owned())
        }
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.env("UCX_TLS", "posix,self");
        command.envs(
            self.libraries
                .iter()
                .map(|libraries| ("LD_LIBRARY_PATH", libraries)),
        );
        command
    }
}

fn build() -> Result<PathBuf, Failure> {
    let mut command = crate::cargo();
    // callgrind finds the parts by function name.
    command
        .current_dir(root())
        .env("CARGO_PROFILE_RELEASE_STRIP", "none");
    command.args([
        "build",
        "--quiet",
        "--release",
        "-p",
        "dpamatch",
        "--example",
        "instructions",
    ]);
    let finished = process::run(&mut command).map_err(Failure::Task)?;
    if !finished.status.success() {
        return Err(Failure::Task(format!(
            "the example was not built\n{}",
            finished.output
        )));
    }
    Ok(target().join("release/examples/instructions"))
}

/// Instructions per message, in total or of a part. `count` measures a run of the given windows.
fn per_message(
    window: u32,
    part: Option<&str>,
    count: impl Fn(u32, Option<&str>) -> Result<u64, Failure>,
) -> Result<f64, Failure> {
    let [few, many] = MESSAGES.map(|messages| messages / window);
    let difference = count(many, part)?.saturating_sub(count(few, part)?);
    if difference == 0
        && let Some(part) = part.filter(|part| ![ROUND, ADMIT, POST].contains(part))
    {
        let runs = format!("runs of {few} and {many} windows of {window} messages");
        return Err(Failure::Task(format!(
            "{runs} do not differ in the functions {part}"
        )));
    }
    Ok(difference as f64 / f64::from((many - few) * window))
}

/// The least count of several runs.
fn least(counted: &Command, part: Option<&str>, runs: usize) -> Result<u64, Failure> {
    (0..runs)
        .map(|_| count(counted, part))
        .try_fold(u64::MAX, |least, count| count.map(|count| least.min(count)))
}

fn count(counted: &Command, part: Option<&str>) -> Result<u64, Failure> {
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    command.args(part.map(|function| format!("--toggle-collect={function}")));
    command.arg(counted.get_program()).args(counted.get_args());
    command.envs(
        counted
            .get_envs()
            .filter_map(|(name, value)| Some((name, value?))),
    );
    let finished = process::run(&mut command).map_err(Failure::Task)?;
    collected(&finished.output)
        .ok_or_else(|| Failure::Task(format!("no count from callgrind\n{}", finished.output)))
}

/// The number behind `Collected :`.
fn collected(output: &str) -> Option<u64> {
    let line = output
        .lines()
        .find_map(|line| line.split_once("Collected :"))?;
    line.1.trim().parse().ok()
}
