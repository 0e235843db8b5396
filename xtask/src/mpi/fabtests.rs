//! fabtests: libfabric's own tests, if installed.

use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use super::TestTable;
use super::build::Tools;

/// Programs that run alone.
const ALONE: [&str; 7] = [
    "dom_test",
    "cntr_test",
    "cq_test",
    "eq_test",
    "mr_test",
    "setopt_test",
    "getinfo_test",
];
/// Programs of two processes, with their common arguments.
const PAIRS: [&str; 19] = [
    "rdm_tagged_pingpong -I 100",
    "rdm_pingpong -I 100",
    "rdm_tagged_bw -I 100",
    "rdm_cntr_pingpong -I 100",
    "rma_bw -e rdm -o write -I 100",
    "rma_bw -e rdm -o read -I 100",
    "rma_bw -e rdm -o writedata -I 100",
    "rdm_tagged_peek",
    "rdm",
    "recv_cancel",
    "unexpected_msg -e rdm -i 10",
    "multi_recv -e rdm",
    "inject_test -e rdm",
    "inject_test -A inject",
    "cq_data -e rdm",
    "rdm_bw -I 100",
    "resmgmt_test",
    "multi_ep",
    "flood -e rdm",
];

const LIMIT: Duration = Duration::from_secs(60);

pub(super) fn row(table: &mut TestTable, tools: &Tools, programs: &Path) {
    if !programs.is_dir() {
        return table.not_there("fabtests", programs);
    }
    table.add("fabtests", "system", || run(tools, programs));
}

fn run(tools: &Tools, programs: &Path) -> Result<String, String> {
    let (mut passed, mut absent, mut failed) = (0, Vec::new(), Vec::new());
    let alone = ALONE.into_iter().map(|line| (false, line));
    let pairs = PAIRS.into_iter().map(|line| (true, line));
    for (is_pair, line) in alone.chain(pairs) {
        let mut words = line.split(' ');
        let name = words.next().unwrap_or_default();
        let program = programs.join(format!("fi_{name}"));
        let good = match is_pair {
            _ if !program.exists() => {
                absent.push(name);
                continue;
            }
            false => ends_well(&mut start(tools, &program, &["-p", "dpamatch"])?),
            true => pair(tools, &program, &words.collect::<Vec<_>>())?,
        };
        if good { passed += 1 } else { failed.push(line) }
    }
    let mut text = format!("{passed} pass");
    if !absent.is_empty() {
        text += &format!("; not built: {}", absent.join(", "));
    }
    match failed.as_slice() {
        [] => Ok(text),
        failed => Err(format!(
            "{text}; {} failed: {}",
            failed.len(),
            failed.join(", ")
        )),
    }
}

fn start(tools: &Tools, program: &Path, arguments: &[&str]) -> Result<Child, String> {
    let mut command = tools.guarded(LIMIT);
    command
        .arg(program)
        .args(arguments)
        .env("FI_PROVIDER_PATH", &tools.provider);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
        .spawn()
        .map_err(|error| format!("{}: {error}", program.display()))
}

fn ends_well(child: &mut Child) -> bool {
    child.wait().is_ok_and(|status| status.success())
}

/// Runs a server and its client over the loopback; they exchange addresses over their own socket.
fn pair(tools: &Tools, program: &Path, arguments: &[&str]) -> Result<bool, String> {
    let words = [&["-p", "dpamatch", "-E"], arguments].concat();
    let mut server = start(tools, program, &words)?;
    // The server does not signal that it listens, so poll for a while.
    let listening = (0..100).any(|_| {
        std::thread::sleep(Duration::from_millis(20));
        fs::read_to_string("/proc/net/tcp").is_ok_and(|sockets| sockets.contains(PORT))
    });
    let words: Vec<_> = words.into_iter().chain(["127.0.0.1"]).collect();
    let mut client = start(tools, program, &words)?;
    let good = ends_well(&mut client);
    Ok(ends_well(&mut server) && good && listening)
}

/// The port of fabtests' own socket, 3000, in the kernel's notation; state listening.
const PORT: &str = ":0BB8 00000000:0000 0A";
