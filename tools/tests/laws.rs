//! How cost grows: four times the work costs at most five times as much. Bytes and allocations are
//! counted, not time, so a busy machine changes nothing.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use dpamatch::registry::EngineOptions;
use dpamatch_tools::analyze::order::{Load, Network, OrderChoice};
use dpamatch_tools::analyze::stats::Plan;
use dpamatch_tools::analyze::{
    Action, End, LocalComm, Program, Question, Report, Run, Step, Transfer, TransferKind,
    UNKNOWN_BYTES, matches,
};

struct Counting;

static BYTES: AtomicUsize = AtomicUsize::new(0);
static BLOCKS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: the system's allocator does all work; the counts touch no memory of its.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // ordering: sums, read when the counted work is done.
        BYTES.fetch_add(layout.size(), Relaxed);
        BLOCKS.fetch_add(1, Relaxed);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Bytes and blocks that the work allocates.
fn cost<T>(work: impl FnOnce() -> T) -> ([usize; 2], T) {
    // ordering: as above; the threads of the work have ended.
    let now = || [BYTES.load(Relaxed), BLOCKS.load(Relaxed)];
    let before = now();
    let result = work();
    let after = now();
    ([after[0] - before[0], after[1] - before[1]], result)
}

/// Each rank receives from both neighbours and sends to them, again and again; then it waits.
fn ring(ranks: u32, rounds: u32) -> Vec<Program> {
    let transfer = |kind, peer: u32, tag: u32| Transfer {
        peer: peer as i32,
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
    };
    let program = |rank: u32| {
        let beside = [(rank + 1) % ranks, (rank + ranks - 1) % ranks];
        let mut program = Program {
            rank,
            comms: [2, 3]
                .map(|number| LocalComm {
                    number,
                    own_rank: None,
                    size: None,
                    made: true,
                })
                .to_vec(),
            ..Program::default()
        };
        let step = |action| Step {
            at_ns: 0,
            gap_ns: 100,
            action,
        };
        for round in 0..rounds {
            let first = program.transfers.len() as u32;
            for kind in [TransferKind::Recv, TransferKind::Send] {
                let all = beside.map(|peer| transfer(kind, peer, round % 4));
                program.transfers.extend(all);
            }
            program
                .steps
                .extend((first..first + 4).map(|at| step(Action::Begin(at))));
            let finish = program.finished.len() as u32;
            program.finished.extend(first..first + 4);
            program.steps.push(step(Action::Finish {
                first: finish,
                count: 4,
            }));
        }
        program
    };
    (0..ranks).map(program).collect()
}

/// What each part of an analysis allocates.
fn analysis(ranks: u32, rounds: u32) -> Vec<(&'static str, [usize; 2])> {
    let programs = ring(ranks, rounds);
    let (routing, run) = cost(|| Run::new(programs, Some(ranks)));
    let (causal, orders) = cost(|| run.causal(Network::default()).0);
    let (ends, _) = cost(|| run.ends(Network::default(), Load::default()));
    let question = Question {
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
    };
    let (report, made) = cost(|| Report::make(&run, &question, |_| ()).expect("a report"));
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

/// One test: the counts are of the whole process.
#[test]
fn four_times_the_work_costs_at_most_five_times_as_much() {
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
}
