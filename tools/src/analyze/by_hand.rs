//! Hand-written programs for tests.

use super::order::Network;
use super::program::{
    Action, End, LocalComm, Program, Step, Transfer, TransferKind, UNKNOWN_BYTES,
};
use super::stats::Plan;
use super::steps::Steps;
use super::{OrderChoice, Question, Report, Run, legality};
use dpamatch::engine::{BinCount, Oracle};
use dpamatch::registry::EngineOptions;
use dpamatch_traces::OpenOptions;

/// An eager send of 4 bytes with tag 0 to rank 0.
pub(crate) const BLANK: Transfer = Transfer {
    peer: 0,
    tag: 0,
    bytes: 4,
    got_source: -1,
    got_tag: -1,
    got_bytes: UNKNOWN_BYTES,
    call: 0,
    comm: 0,
    function: 0,
    kind: TransferKind::Send,
    end: End::Ignored,
    blocking: false,
    synchronous: false,
    unsure_null: false,
};

pub(super) fn send(peer: i32, tag: i32) -> Transfer {
    Transfer { peer, tag, ..BLANK }
}

pub(super) fn receive(peer: i32, tag: i32, end: End) -> Transfer {
    Transfer {
        peer,
        tag,
        end,
        kind: TransferKind::Recv,
        ..BLANK
    }
}

/// A rank that begins these transfers in order. Each cancel follows its receive.
pub(super) fn program(rank: u32, transfers: &[Transfer]) -> Program {
    let comm = |number| LocalComm {
        number,
        own_rank: None,
        size: None,
        made: true,
    };
    let mut steps = Steps::default();
    for (at, transfer) in transfers.iter().enumerate() {
        let mut step = |action| {
            steps.push(Step {
                at_ns: 0,
                gap_ns: 0,
                action,
            })
        };
        step(Action::Begin(at as u32));
        if matches!(transfer.end, End::Cancelled | End::CancelAsked) {
            step(Action::Cancel(at as u32));
        }
    }
    let comms = vec![comm(2), comm(3)];
    Program {
        rank,
        transfers: transfers.into(),
        steps,
        comms,
        ..Program::default()
    }
}

/// Rank 0 with the first transfers, and rank 1 with the second ones.
pub(super) fn run(senders: &[Transfer], receivers: &[Transfer]) -> Run {
    Run::new(vec![program(0, senders), program(1, receivers)], Some(2))
}

/// The receives of rank 1's messages as paired, which every interleaving must reproduce.
pub(super) fn paired(run: &Run) -> Vec<u32> {
    let receives: Vec<u32> = run.inbound[1]
        .iter()
        .map(|message| message.receive)
        .collect();
    let random = (0..20).map(|seed| OrderChoice::Random { seed });
    for interleaving in [OrderChoice::PostsFirst, OrderChoice::ArrivalsFirst]
        .into_iter()
        .chain(random)
    {
        let order = &run.guided(interleaving)[1];
        let replayed = run
            .view(1)
            .run(&mut Oracle::new(), order)
            .expect("an engine");
        let agreement = run.view(1).compare(&replayed);
        assert!(agreement.is_exact(), "{interleaving:?}: {agreement:?}");
        assert_eq!(
            legality::check(run.view(1), order, &replayed),
            Ok(()),
            "{interleaving:?}"
        );
    }
    receives
}

/// A question with the default bins: 1 and 32.
pub(super) fn question(order: OrderChoice) -> Question {
    let options = EngineOptions {
        threads: false,
        ..EngineOptions::default()
    };
    let bins = [1, 32]
        .map(|bins| BinCount::new(bins).expect("a number"))
        .to_vec();
    Question {
        name: "by hand".to_owned(),
        order,
        network: Network {
            jitter_ns: 0,
            ..Network::default()
        },
        plan: Plan {
            bins,
            handlers: vec![4],
            nic: options.nic,
        },
        check: true,
        engines: Vec::new(),
        options,
    }
}

/// The report on `tests/data/traces/counted-by-hand`, in the order of the clocks, for 1 and 64
/// bins.
pub(super) fn counted() -> Report {
    let folder = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../tests/data/traces/counted-by-hand"
    );
    let source = dpamatch_traces::open(folder.as_ref(), &OpenOptions::default()).expect("a trace");
    let run = Run::load(source.as_ref(), |_| ()).expect("a whole trace");
    let mut question = question(OrderChoice::Time);
    question.plan.bins = [1, 64]
        .map(|bins| BinCount::new(bins).expect("a number"))
        .to_vec();
    question.plan.handlers = Vec::new();
    Report::make(&run, &question, |_| ()).expect("a report")
}

pub(super) fn report(run: &Run, order: OrderChoice) -> Report {
    let report = Report::make(run, &question(order), |_| ()).expect("a report");
    assert_eq!(report.checked, Some(Vec::new()), "legal pairs");
    report
}
