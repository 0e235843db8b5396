//! How cost grows: four times the work costs at most five times as much. Bytes, blocks and
//! instructions are counted, not time, so a busy machine changes nothing.
//!
//! Callgrind counts the instructions. A part of the library runs in this program, started again,
//! and what [`counted_work`] runs is counted. A command runs whole: its counts of three sizes have
//! two differences, which contain no start.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;

use dpamatch::engine::{BinCount, MsgId, RecvId};
use dpamatch::registry::{self, EngineOptions};
use dpamatch::stream::Event;
use dpamatch::{CommId, Envelope, NicConfig, Rank, Selector, Tag};
use dpamatch_needs::Need;
use dpamatch_tools::analyze::order::{Load, Network, OrderChoice};
use dpamatch_tools::analyze::stats::Plan;
use dpamatch_tools::analyze::{
    Action, End, How, LocalComm, Members, Origin, Program, Question, Report, Run, Step, Transfer,
    TransferKind, UNKNOWN_BYTES, matches,
};
use dpamatch_traces::Group;
use serde_json::json;

#[path = "laws/explored.rs"]
mod explored;

struct Counting;

static BYTES: AtomicUsize = AtomicUsize::new(0);
static BLOCKS: AtomicUsize = AtomicUsize::new(0);
/// Bytes that are allocated now, and the most that were since [`most_held`] began.
static HELD: AtomicUsize = AtomicUsize::new(0);
static MOST_HELD: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// The same counts for one thread, whose work no other thread shares.
    static HELD_HERE: Cell<isize> = const { Cell::new(0) };
    static MOST_HELD_HERE: Cell<isize> = const { Cell::new(0) };
}

// SAFETY: the system's allocator does all work; the counts touch no memory of its.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // ordering: sums, read when the counted work is done.
        BYTES.fetch_add(layout.size(), Relaxed);
        BLOCKS.fetch_add(1, Relaxed);
        let held = HELD.fetch_add(layout.size(), Relaxed) + layout.size();
        MOST_HELD.fetch_max(held, Relaxed);
        let held = HELD_HERE.get() + layout.size() as isize;
        HELD_HERE.set(held);
        MOST_HELD_HERE.set(held.max(MOST_HELD_HERE.get()));
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // ordering: a sum, as above.
        HELD.fetch_sub(layout.size(), Relaxed);
        HELD_HERE.set(HELD_HERE.get() - layout.size() as isize);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What callgrind counts in this program.
#[inline(never)]
fn counted_work(work: &mut dyn FnMut()) {
    work();
    // No call at the end, in whose place this function would be gone.
    std::hint::black_box(());
}

fn counted<T>(work: impl FnOnce() -> T) -> T {
    let (mut work, mut result) = (Some(work), None);
    counted_work(&mut || result = work.take().map(|work| work()));
    result.expect("it ran")
}

/// Bytes and blocks that the work allocates.
fn cost<T>(work: impl FnOnce() -> T) -> ([usize; 2], T) {
    // ordering: as above; the threads of the work have ended.
    let now = || [BYTES.load(Relaxed), BLOCKS.load(Relaxed)];
    let before = now();
    let result = counted(work);
    let after = now();
    ([after[0] - before[0], after[1] - before[1]], result)
}

fn transfer(kind: TransferKind, peer: i32, tag: u32) -> Transfer {
    Transfer {
        peer,
        tag: tag as i32,
        bytes: 8,
        got_source: -1,
        got_tag: -1,
        got_bytes: UNKNOWN_BYTES,
        call: 0,
        comm: 0,
        function: 0,
        kind,
        end: End::Ignored,
        blocking: false,
        synchronous: false,
        unsure_null: false,
    }
}

fn step(gap_ns: u64, action: Action) -> Step {
    Step {
        at_ns: 0,
        gap_ns,
        action,
    }
}

/// A rank without calls.
fn idle(rank: u32) -> Program {
    let comm = |number| LocalComm {
        number,
        own_rank: None,
        size: None,
        made: true,
    };
    Program {
        rank,
        comms: vec![comm(2), comm(3)],
        ..Program::default()
    }
}

/// Each rank receives from both neighbours and sends to them, again and again; then it waits.
fn ring(ranks: u32, rounds: u32) -> Vec<Program> {
    let program = |rank: u32| {
        let beside = [(rank + 1) % ranks, (rank + ranks - 1) % ranks];
        let mut program = idle(rank);
        for round in 0..rounds {
            let first = program.transfers.len() as u32;
            for kind in [TransferKind::Recv, TransferKind::Send] {
                let all = beside.map(|peer| transfer(kind, peer as i32, round % 4));
                program.transfers.extend(all);
            }
            let begin = (first..first + 4).map(|at| step(100, Action::Begin(at)));
            program.steps.extend(begin);
            let finish = program.finished.len() as u32;
            program.finished.extend(first..first + 4);
            let wait = Action::Finish {
                first: finish,
                count: 4,
            };
            program.steps.push(step(100, wait));
        }
        program.transfers.shrink_to_fit();
        program.steps.shrink_to_fit();
        program.finished.shrink_to_fit();
        program
    };
    (0..ranks).map(program).collect()
}

/// Groups of three ranks. The second one receives from any source what the third sent in the
/// recorded run. In a causal order it gets the first one's message, and then waits for ever.
fn stalling(groups: u32) -> Vec<Program> {
    let group = |group: u32| {
        let [first, second, third] = [0, 1, 2].map(|rank| 3 * group + rank);
        let receive = |peer: i32, got: u32| Transfer {
            blocking: true,
            end: End::Known,
            got_source: got as i32,
            got_tag: 0,
            ..transfer(TransferKind::Recv, peer, 0)
        };
        let send = transfer(TransferKind::Send, second as i32, 0);
        let with = |rank, gap_ns, transfers: &[Transfer]| {
            let begin = |at| step(gap_ns, Action::Begin(at as u32));
            Program {
                transfers: transfers.into(),
                steps: (0..transfers.len()).map(begin).collect(),
                ..idle(rank)
            }
        };
        [
            with(first, 0, &[send]),
            with(
                second,
                0,
                &[receive(-1, third), receive(first as i32, first)],
            ),
            with(third, 1_000_000, &[send]),
        ]
    };
    (0..groups).flat_map(group).collect()
}

/// What each part of an analysis allocates.
fn analysis(ranks: u32, rounds: u32) -> Vec<(&'static str, [usize; 2])> {
    let programs = ring(ranks, rounds);
    let (routing, run) = cost(|| Run::new(programs, Some(ranks)));
    let (causal, orders) = cost(|| run.causal(Network::default()).0);
    let (ends, _) = cost(|| run.ends(Network::default(), Load::default()));
    let (report, made) = cost(|| Report::make(&run, &question(), |_| ()).expect("a report"));
    let mut rows = 0;
    let (rowing, ()) = cost(|| {
        for ((view, order), receives) in run.views().zip(&orders).zip(&made.pairs) {
            matches(view, order, receives, |_| rows += 1);
        }
    });
    assert_eq!(rows, 2 * ranks * rounds, "every message is received");
    vec![
        ("routing", routing),
        ("causal order", causal),
        ("ends", ends),
        ("report", report),
        ("matches", rowing),
    ]
}

fn question() -> Question {
    Question {
        name: "ring".to_owned(),
        order: OrderChoice::Causal,
        network: Network::default(),
        plan: Plan {
            bins: vec![Default::default()],
            handlers: vec![4],
            nic: Default::default(),
        },
        check: false,
        engines: Vec::new(),
        options: EngineOptions::default(),
    }
}

/// The most bytes that an analysis holds at a time.
fn most_held(ranks: u32, rounds: u32) -> usize {
    // ordering: the threads of earlier work have ended.
    let before = HELD.load(Relaxed);
    MOST_HELD.store(before, Relaxed);
    let run = Run::new(ring(ranks, rounds), Some(ranks));
    Report::make(&run, &question(), |_| ()).expect("a report");
    // ordering: as above.
    MOST_HELD.load(Relaxed) - before
}

/// The bytes that docs/analyze.md tells, and a few for what the threads are at.
fn an_event_takes_few_bytes() {
    // Enough events that the emulated NICs, which the threads have, have their full sizes.
    let (ranks, less, more) = (64, 512, 1024);
    let [less_held, more_held] = [less, more].map(|rounds| most_held(ranks, rounds));
    let events = 4 * ranks * (more - less);
    let each = (more_held - less_held) / events as usize;
    println!("an analysis holds {each} bytes for each send or receive");
    assert!(each <= 34, "{each} bytes for each send or receive");
}

/// One test: the counts are of the whole process.
#[test]
fn four_times_the_work_costs_at_most_five_times_as_much() {
    if env::var_os(COUNTED).is_some() {
        return simulate();
    }
    // The first run pays for what is made once.
    analysis(16, 16);
    for (what, less, more) in [
        ("ranks", analysis(64, 64), analysis(256, 64)),
        ("events", analysis(64, 64), analysis(64, 256)),
    ] {
        for ((part, less), (_, more)) in less.into_iter().zip(more) {
            for (unit, less, more) in [("bytes", less[0], more[0]), ("blocks", less[1], more[1])] {
                // Some thousand blocks more are noise of the threads.
                assert!(
                    more <= 5 * less + 2_000,
                    "{part}, {what} times 4: {unit} {less}, then {more}"
                );
            }
        }
    }
    let [few, many] = spread_out().map(|programs| cost(|| whole_analysis(programs)).0[0] as u64);
    at_most_half_more("bytes", [few, many]);
    an_event_takes_few_bytes();
    explored::schedules_hold_no_memory();
    engines_take_steps_in_proportion();
    if Need::Valgrind.require(has_valgrind()) {
        parts_take_instructions_in_proportion();
        commands_take_instructions_in_proportion();
    }
}

/// Steps of the searches for the receives of messages in reverse order.
fn steps(engine: &str, receives: u32) -> u64 {
    let options = EngineOptions {
        bins: BinCount::new(2048).expect("few"),
        grow_bins: true,
        nic: NicConfig {
            receives: 1024,
            ..NicConfig::default()
        },
        threads: false,
        ..EngineOptions::default()
    };
    let key = |number: u32| (Rank::default(), Tag::new(number).expect("a small tag"));
    let post = |number: u32| Event::Post {
        recv: RecvId(number.into()),
        comm: CommId(0),
        selector: Selector::new(key(number).0, key(number).1),
        size: None,
        coll: None,
    };
    let arrive = |number: u32| Event::Arrive {
        msg: MsgId(number.into()),
        envelope: Envelope {
            comm: CommId(0),
            source: key(number).0,
            tag: key(number).1,
        },
        bytes: None,
        coll: None,
        lie: 0,
    };
    let entry = registry::find(engine).expect("an engine");
    let mut matcher = entry.build(&options).expect("possible");
    let mut all = (0..receives)
        .map(post)
        .chain((0..receives).rev().map(arrive));
    matcher.run(&mut all, &mut |_| ()).expect("it can go on");
    let counters = matcher.counters();
    let named = |name: &str| counters.iter().find(|it| it.name == name);
    match named("prq_steps") {
        Some(steps) => steps.value,
        None => ["prq_attempts", "prq_hops"]
            .map(|name| named(name).expect("counted").value)
            .iter()
            .sum(),
    }
}

/// Far more receives than the most bins that a fixed table has.
fn engines_take_steps_in_proportion() {
    for engine in ["bins", "optimistic-seq", "optimistic"] {
        let [less, more] = [1 << 16, 1 << 18].map(|receives| steps(engine, receives));
        assert!(less >= 1 << 16, "{engine}: each message takes a step");
        assert!(
            more <= 5 * less,
            "{engine}, receives times 4: steps {less}, then {more}"
        );
    }
}

/// Makes a communicator from another one of the rank, by their handles.
fn derive(program: &mut Program, how: How, parent: u8, new: u8) {
    let copied = LocalComm {
        number: 10 + u32::from(new),
        ..program.comms[0]
    };
    program.comms.push(copied);
    program.origins.push(Origin::Comm {
        how,
        connection: None,
        parent: Some(parent.into()),
        new: Some(new.into()),
    });
}

/// A ring whose ranks also split the world into halves, and copy their half.
fn dividing(ranks: u32) -> Vec<Program> {
    let mut programs = ring(ranks, 1);
    for program in &mut programs {
        let half = How::Split {
            color: Some(2 * program.rank / ranks),
            key: 0,
        };
        derive(program, half, 0, 2);
        derive(program, How::Dup, 2, 3);
    }
    programs
}

/// A ring whose even ranks make a communicator of their group, and whose odd ranks make another.
fn grouped(ranks: u32) -> Vec<Program> {
    let mut programs = ring(ranks, 1);
    for program in &mut programs {
        let own = program.rank % 2;
        let [world, half, rest] = [3, 4, 5].map(Group);
        let stride = [own as i32, ranks as i32 - 1, 2];
        let groups = [
            (Members::OfComm(0), world),
            (Members::RangeIncl(world, vec![stride]), half),
            (Members::Difference(world, half), rest),
            (Members::Difference(world, rest), half),
        ];
        let groups = groups.map(|(how, new)| Origin::Group { how, new });
        program.origins.extend(groups);
        derive(program, How::Create { group: half }, 0, 2);
    }
    programs
}

/// Two groups of ranks with an inter-communicator. Each rank exchanges messages of 16 tags with the
/// rank at its own place in the other group.
fn facing(ranks: u32) -> Vec<Program> {
    let half = ranks / 2;
    let program = |rank: u32| {
        let mut program = idle(rank);
        let (own, at) = (rank / half, rank % half);
        let exchanged = [TransferKind::Recv, TransferKind::Send].into_iter();
        let exchanged = exchanged.flat_map(|kind| (0..16).map(move |tag| (kind, tag)));
        program
            .transfers
            .extend(exchanged.map(|(kind, tag)| Transfer {
                comm: 3,
                ..transfer(kind, at as i32, tag)
            }));
        let begin = (0..32).map(|at| step(100, Action::Begin(at)));
        program.steps.extend(begin);
        let split = How::Split {
            color: Some(own),
            key: 0,
        };
        let join = How::Intercomm {
            local_leader: 0,
            peer: 0,
            remote_leader: ((1 - own) * half) as i32,
            tag: 0,
        };
        derive(&mut program, split, 0, 2);
        derive(&mut program, join, 2, 3);
        program
    };
    (0..ranks).map(program).collect()
}

/// Set where callgrind counts this program's work.
const COUNTED: &str = "DPAMATCH_COUNTED";

/// A kind of work, and the programs of less and of four times as much.
type Work = (&'static str, [Vec<Program>; 2]);

fn simulations() -> [Work; 6] {
    [
        ("ranks", [ring(256, 1), ring(1024, 1)]),
        ("events", [ring(16, 16), ring(16, 64)]),
        ("stalls", [stalling(128), stalling(512)]),
        ("ranks that divide", [dividing(256), dividing(1024)]),
        ("ranks in groups", [grouped(256), grouped(1024)]),
        ("ranks in two groups", [facing(256), facing(1024)]),
    ]
}

const PARTS: [&str; 3] = ["routing", "causal order", "ends"];

/// Programs of as many messages on a number of ranks and on four times as many: a rank must cost
/// little beside its messages.
fn spread_out() -> [Vec<Program>; 2] {
    [ring(16, 160), ring(64, 40)]
}

/// Receives of the emulated NIC, of which most have no room there, and four times as many.
const BEHIND_THE_NIC: [u32; 2] = [1 << 12, 1 << 14];

/// Runs the [`PARTS`] of the simulations and other work in one thread, so that all of it is
/// counted.
fn simulate() {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .use_current_thread();
    pool.build_global().expect("the only pool");
    for (_, sizes) in simulations() {
        for programs in sizes {
            let ranks = programs.len() as u32;
            let run = counted(|| Run::new(programs, Some(ranks)));
            counted(|| run.causal(Network::default()));
            counted(|| run.ends(Network::default(), Load::default()));
        }
    }
    for programs in spread_out() {
        counted(|| whole_analysis(programs));
    }
    for receives in BEHIND_THE_NIC {
        counted(|| steps("optimistic", receives));
    }
}

fn whole_analysis(programs: Vec<Program>) {
    let ranks = programs.len() as u32;
    let run = Run::new(programs, Some(ranks));
    Report::make(&run, &question(), |_| ()).expect("a report");
}

fn has_valgrind() -> bool {
    Command::new("valgrind")
        .arg("--version")
        .output()
        .is_ok_and(|output| output.status.success())
}

/// Runs a command under callgrind with these options. Returns what callgrind says.
fn callgrind(options: &[&str], command: &mut Command) -> String {
    let mut valgrind = Command::new("valgrind");
    valgrind
        .arg("--tool=callgrind")
        .args(options)
        .arg(command.get_program())
        .args(command.get_args())
        .env("RAYON_NUM_THREADS", "1")
        .env(COUNTED, "yes");
    let output = valgrind.output().expect("valgrind starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{command:?}: {said}");
    said
}

fn at_most_five_times(what: &str, kind: &str, less: u64, more: u64) {
    println!("{what}, {kind} times 4: instructions {less}, then {more}");
    assert!(less > 0, "{what}, {kind}: nothing was counted");
    assert!(
        more <= 5 * less,
        "{what}, {kind} times 4: instructions {less}, then {more}"
    );
}

fn parts_take_instructions_in_proportion() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("counts");
    let out_option = format!("--callgrind-out-file={}", out.display());
    let options = [
        &out_option,
        "--toggle-collect=laws::counted_work",
        "--dump-after=laws::counted_work",
    ];
    let name = "four_times_the_work_costs_at_most_five_times_as_much";
    let mut again = Command::new(env::current_exe().expect("this program"));
    callgrind(&options, again.args(["--exact", name, "--test-threads=1"]));
    let mut dumps = (1..).map(|number| {
        let text = fs::read_to_string(format!("{}.{number}", out.display())).expect("a dump");
        let total = text.lines().find_map(|line| line.strip_prefix("totals: "));
        total.and_then(|it| it.parse().ok()).expect("a number")
    });
    for (kind, sizes) in simulations() {
        let counts: Vec<[u64; 3]> = sizes
            .iter()
            .map(|_| PARTS.map(|_| dumps.next().expect("endless")))
            .collect();
        for (at, part) in PARTS.iter().enumerate() {
            at_most_five_times(part, kind, counts[0][at], counts[1][at]);
        }
    }
    let mut two = || [0, 1].map(|_| dumps.next().expect("endless"));
    at_most_half_more("instructions", two());
    let [less, more] = two();
    let what = "emulated NIC with software behind it";
    at_most_five_times(what, "receives", less, more);
}

fn at_most_half_more(unit: &str, [few, many]: [u64; 2]) {
    let what = format!("four times the ranks at equal messages: {unit} {few}, then {many}");
    println!("{what}");
    assert!(few > 0 && 2 * many <= 3 * few, "{what}");
}

/// A trace in DUMPI's text format: each rank sends to the next and receives from the one before.
fn trace(folder: &Path, ranks: u32, rounds: u32) {
    for rank in 0..ranks {
        let mut text = String::new();
        for round in 0..rounds {
            let peers = [(rank + 1) % ranks, (rank + ranks - 1) % ranks];
            let calls = [
                ("MPI_Send", format!("dest={}", peers[0]), String::new()),
                (
                    "MPI_Recv",
                    format!("source={}", peers[1]),
                    format!(
                        "MPI_Status status=[{{bytes=8, cancelled=0, source={}, tag=6, error=0}}]\n",
                        peers[1]
                    ),
                ),
            ];
            for (at, (name, peer, status)) in calls.into_iter().enumerate() {
                let at = format!(
                    "{}.{:09}",
                    round / 1000,
                    1_000_000 * (round % 1000) + at as u32
                );
                let time = format!("walltime {at}, cputime {at} seconds");
                let arguments = format!(
                    "int count=2\nMPI_Datatype datatype=9 (MPI_INT)\nint {peer}\nint tag=6\n\
                     MPI_Comm comm=2 (MPI_COMM_WORLD)\n{status}"
                );
                let told = writeln!(
                    text,
                    "{name} entering at {time} in thread 0.\n{arguments}{name} returning at {time} \
                     in thread 0."
                );
                told.expect("a text takes all");
            }
        }
        fs::write(folder.join(format!("rank-{rank:04}.txt")), text).expect("room");
    }
}

/// Documents of shards with so many rows in all.
fn shards(folder: &Path, shards: usize, rows: usize) {
    for shard in 1..=shards {
        let own = (0..rows).filter(|row| row % shards == shard - 1);
        let own: Vec<_> = own
            .map(|row| json!({ "row": row, "rate": 2 * row }))
            .collect();
        let document = json!({
            "schema": "dpamatch-results-1",
            "command": "predict",
            "command_line": format!("dpamatch predict --shard {shard}/{shards}"),
            "options": { "shard": format!("{shard}/{shards}") },
            "version": "0.1.0",
            "commit": null,
            "machine": {},
            "tables": [{
                "name": "rates",
                "title": "Rates",
                "notes": [],
                "keys": ["row"],
                "figures": [{ "name": "rate", "better": null }],
            }],
            "results": { "rates": own },
        });
        let name = format!("{shard:04}.json");
        fs::write(folder.join(name), document.to_string()).expect("room");
    }
}

/// What fills a folder with the input of one of three sizes, each four times the one before.
type Input = fn(&Path, u32);

fn commands_take_instructions_in_proportion() {
    let commands: [(&str, &str, Input); 8] = [
        ("trace info", "ranks", |folder, size| {
            trace(folder, 8 * size, 8)
        }),
        ("trace info", "events", |folder, size| {
            trace(folder, 4, 64 * size)
        }),
        ("analyze", "ranks", |folder, size| {
            trace(folder, 2 * size, 4)
        }),
        ("analyze", "events", |folder, size| {
            trace(folder, 2, 8 * size)
        }),
        ("offload", "ranks", |folder, size| trace(folder, size, 2)),
        ("offload", "events", |folder, size| {
            trace(folder, 2, 4 * size)
        }),
        ("merge", "shards", |folder, size| {
            shards(folder, 16 * size as usize, 16 * size as usize)
        }),
        ("merge", "rows", |folder, size| {
            shards(folder, 2, 256 * size as usize)
        }),
    ];
    thread::scope(|scope| {
        for (command, kind, input) in commands {
            scope.spawn(move || {
                let [least, less, more] = [1, 4, 16].map(|size| instructions(command, input, size));
                at_most_five_times(command, kind, less - least, more - less);
            });
        }
    });
}

/// What a command executes with an input of this size.
fn instructions(command: &str, input: Input, size: u32) -> u64 {
    let folder = tempfile::tempdir().expect("a folder");
    input(folder.path(), size);
    let mut run = Command::new(env!("CARGO_BIN_EXE_dpamatch"));
    run.args(command.split(' '));
    if command == "merge" {
        let files = fs::read_dir(folder.path()).expect("readable");
        run.args(files.map(|file| file.expect("readable").path()));
    } else {
        run.arg(folder.path());
    }
    let said = callgrind(&["--callgrind-out-file=/dev/null"], &mut run);
    let total = said
        .lines()
        .find_map(|line| line.split("Collected : ").nth(1));
    total
        .and_then(|it| it.trim().parse().ok())
        .expect("a number")
}
