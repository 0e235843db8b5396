//! Replays of recorded traces, against what MPI really matched.
//!
//! `pairs.csv.xz` beside a trace holds the true pairs: worked out from the recorded statuses by
//! another program.

use std::collections::HashSet;
use std::io::Read;
use std::path::PathBuf;

use dpamatch::engine::BinCount;
use dpamatch::registry::{self, ENGINES, EngineOptions};
use dpamatch_tools::analyze::order::{Network, Order, OrderChoice};
use dpamatch_tools::analyze::stats::Plan;
use dpamatch_tools::analyze::{Question, RankView, Report, Run, UNKNOWN, legality, pairs};
use dpamatch_traces::OpenOptions;

/// Small, large, with wildcards; under two libraries.
const TRACES: [&str; 4] = ["edge-4-openmpi", "edge-4-mpich", "minife-16", "lulesh-27"];

fn path(name: &str) -> PathBuf {
    [
        env!("CARGO_MANIFEST_DIR"),
        "..",
        "tests",
        "data",
        "traces",
        name,
    ]
    .iter()
    .collect()
}

fn load(name: &str) -> Run {
    let archive = path(name).join(format!("{name}.dumpi.tar.xz"));
    let source = dpamatch_traces::open(&archive, &OpenOptions::default()).expect("a trace");
    Run::load(source.as_ref(), |_| ()).expect("a whole trace")
}

/// The lines of `pairs.csv.xz`.
fn true_pairs(name: &str) -> HashSet<String> {
    let file = std::fs::File::open(path(name).join("pairs.csv.xz")).expect("the pairs");
    let mut text = String::new();
    lzma_rust2::XzReader::new(file, true)
        .read_to_string(&mut text)
        .expect("xz");
    text.lines().skip(1).map(str::to_owned).collect()
}

fn written_pairs(run: &Run, receives: &[Vec<u32>]) -> HashSet<String> {
    let mut text = Vec::new();
    pairs(run, receives, &mut text).expect("memory");
    String::from_utf8(text)
        .expect("text")
        .lines()
        .skip(1)
        .map(str::to_owned)
        .collect()
}

fn options() -> EngineOptions {
    EngineOptions {
        threads: false,
        ..EngineOptions::default()
    }
}

fn replay(run: &Run, orders: &[Order], engine: &str, options: &EngineOptions) -> Vec<Vec<u32>> {
    let entry = registry::find(engine).expect("an engine");
    let run_one = |(view, order): (RankView<'_>, &Order)| {
        let mut matcher = entry.build(options).expect("an engine");
        view.run(matcher.as_mut(), order).expect("a whole run")
    };
    run.views().zip(orders).map(run_one).collect()
}

fn interleavings() -> Vec<OrderChoice> {
    let random = (1..=3).map(|seed| OrderChoice::Random { seed });
    [OrderChoice::PostsFirst, OrderChoice::ArrivalsFirst]
        .into_iter()
        .chain(random)
        .collect()
}

/// The strongest check: in the order that the recorded pairs ask for, every engine gives just these
/// pairs, whatever the interleaving; double wildcards, cancels and persistent requests included.
#[test]
fn guided_replays_give_the_recorded_pairs_with_every_engine() {
    for name in TRACES {
        let run = load(name);
        let wanted = true_pairs(name);
        for interleaving in interleavings() {
            let orders = run.guided(interleaving);
            let mut first = None;
            for entry in ENGINES {
                let receives = replay(&run, &orders, entry.name, &options());
                let context = format!("{name}, {interleaving:?}, {}", entry.name);
                assert_eq!(
                    first.get_or_insert_with(|| receives.clone()),
                    &receives,
                    "{context}"
                );
            }
            let receives = first.expect("engines");
            let written = written_pairs(&run, &receives);
            let missing: Vec<_> = wanted.difference(&written).collect();
            assert!(missing.is_empty(), "{name}, {interleaving:?}: {missing:?}");
            // Of the edge cases four receives have no status: what they got is found by
            // elimination.
            let more = if name.starts_with("edge") { 4 } else { 0 };
            assert_eq!(
                written.len(),
                wanted.len() + more,
                "{name}, {interleaving:?}"
            );
            for (view, receives) in run.views().zip(&receives) {
                let agreement = view.compare(receives);
                assert!(
                    agreement.is_exact() && agreement.more == 0,
                    "{name}: {agreement:?}"
                );
            }
        }
    }
}

/// Four receives were cancelled with an ignored status, the last by freeing its request. Two of
/// them had got a message, which only the byte counts of the receives behind them tell.
#[test]
fn receives_cancelled_with_an_ignored_status_are_told_apart_by_bytes() {
    let folder = path("cancel-ignored");
    let source = dpamatch_traces::open(&folder, &OpenOptions::default()).expect("a trace");
    let run = Run::load(source.as_ref(), |_| ()).expect("a whole trace");
    let text = std::fs::read_to_string(folder.join("pairs.csv")).expect("the pairs");
    let wanted: HashSet<String> = text.lines().skip(1).map(str::to_owned).collect();
    for interleaving in interleavings() {
        let receives = replay(&run, &run.guided(interleaving), "list", &options());
        assert_eq!(written_pairs(&run, &receives), wanted, "{interleaving:?}");
    }
    for orders in [
        run.merged().expect("wall times"),
        run.causal(Network::default()).0,
    ] {
        let receives = replay(&run, &orders, "list", &options());
        let agreement = run.view(1).compare(&receives[1]);
        assert_eq!((agreement.missing, agreement.more), (0, 0), "{agreement:?}");
    }
    let truth = run.truth[1];
    assert_eq!(
        (truth.pairs, truth.eliminated, truth.assumed, truth.left),
        (6, 2, 0, 0)
    );
    assert_eq!((truth.bytes_equal, truth.bytes_differ), (6, 0));
}

/// Receives of any source may get other messages than they did, but all is as MPI allows, and
/// nobody starves.
#[test]
fn causal_and_timed_replays_are_legal() {
    for name in TRACES {
        let run = load(name);
        let left = run.truth.iter().map(|truth| truth.left).sum::<u64>();
        let mut all = vec![run.merged().expect("wall times")];
        for seed in 1..=3 {
            // The more jitter, the more messages of one sender would overtake each other if they
            // could.
            let network = Network {
                seed,
                jitter_ns: 500 << (5 * seed),
                compute: 0.5,
                ..Network::default()
            };
            let (orders, stalls, _) = run.causal(network);
            assert_eq!(stalls, 0, "{name}, seed {seed}");
            all.push(orders);
        }
        for orders in all {
            let receives = replay(&run, &orders, "bins", &options());
            assert_eq!(
                receives,
                replay(&run, &orders, "optimistic", &options()),
                "{name}"
            );
            let mut unmatched = 0;
            for ((view, order), receives) in run.views().zip(&orders).zip(&receives) {
                assert_eq!(legality::check(view, order, receives), Ok(()), "{name}");
                assert!(legality::keeps_senders_order(view, order), "{name}");
                let agreement = view.compare(receives);
                // Who was after nobody in particular may have got another's message; all others got
                // theirs.
                let wild = view
                    .program
                    .transfers
                    .iter()
                    .filter(|transfer| transfer.peer < 0)
                    .count() as u64;
                assert!(agreement.other <= wild, "{name}: {agreement:?}");
                assert_eq!(agreement.missing, 0, "{name}");
                unmatched += receives
                    .iter()
                    .filter(|&&receive| receive == UNKNOWN)
                    .count() as u64;
            }
            assert_eq!(unmatched, left, "{name}");
        }
    }
}

/// The check of legality sees each kind of wrong.
#[test]
fn illegal_pairs_are_found() {
    let run = load("minife-16");
    let orders = run.guided(OrderChoice::PostsFirst);
    let receives = replay(&run, &orders, "bins", &options());
    let (view, order) = (run.view(3), &orders[3]);
    let good = &receives[3];
    assert_eq!(legality::check(view, order, good), Ok(()));

    let mut swapped = good.clone();
    let source = |at: usize| view.inbound.at(at as u32).source;
    let other = (1..swapped.len()).find(|&other| source(other) != source(0));
    swapped.swap(0, other.expect("another sender"));
    assert!(legality::check(view, order, &swapped).is_err());

    let mut twice = good.clone();
    twice[1] = twice[0];
    assert!(matches!(
        legality::check(view, order, &twice),
        Err(legality::Illegal::NotWaiting { .. })
    ));

    let mut forgotten = good.clone();
    forgotten[0] = UNKNOWN;
    assert!(matches!(
        legality::check(view, order, &forgotten),
        Err(legality::Illegal::ReceiveOvertaken { .. })
    ));

    // Two messages of one key in the wrong order.
    let key = |at: usize| {
        let message = view.inbound.at(at as u32);
        (message.comm, message.source, message.tag)
    };
    let second = (1..good.len())
        .find(|&at| key(at) == key(0))
        .expect("a second one");
    let mut overtaken = good.clone();
    overtaken.swap(0, second);
    assert!(legality::check(view, order, &overtaken).is_err());
}

fn question(order: OrderChoice, handlers: Vec<u32>) -> Question {
    let options = options();
    let bins = [1, 32, 128].map(|bins| BinCount::new(bins).expect("a number"));
    Question {
        name: "a trace".to_owned(),
        order,
        network: Network::default(),
        plan: Plan {
            bins: bins.to_vec(),
            handlers,
            nic: options.nic,
        },
        check: true,
        engines: Vec::new(),
        options,
    }
}

const ORDERS: [OrderChoice; 5] = [
    OrderChoice::Causal,
    OrderChoice::Time,
    OrderChoice::PostsFirst,
    OrderChoice::ArrivalsFirst,
    OrderChoice::Random { seed: 4 },
];

/// Who would be clean, fast or slow by the paper's rules is worked out from the pairs alone; the
/// emulated NIC must count alike. Up to eight handlers: a single worker begins wider blocks before
/// it has looked for all of their messages.
#[test]
fn predicted_paths_are_those_of_the_nic() {
    let mut fast = 0;
    for name in TRACES {
        let run = load(name);
        for order in ORDERS {
            for handlers in [1, 2, 3, 4, 7, 8] {
                let mut question = question(order, vec![handlers]);
                question.options.nic.handlers = handlers as usize;
                question.options.nic.options.domains = dpa_model::Domains::Paper;
                question.engines = vec![registry::find("optimistic").expect("the NIC")];
                let report = Report::make(&run, &question, |_| ()).expect("a report");
                let (engine, blocks) = (&report.engines[0], &report.application.blocks[0]);
                assert!(engine.differs_at.is_empty());
                assert_eq!(
                    report.checked,
                    Some(Vec::new()),
                    "{name}, {order:?}: all is legal"
                );
                let counter = |name: &str| engine.counter(name).expect("a counter");
                let counted = [
                    "blocks",
                    "messages",
                    "clean",
                    "fast",
                    "slow",
                    "forced",
                    "conflict_blocks",
                ]
                .map(counter);
                let predicted = [
                    blocks.blocks,
                    blocks.messages,
                    blocks.clean,
                    blocks.fast,
                    blocks.slow,
                    blocks.forced,
                    blocks.conflict_blocks,
                ];
                assert_eq!(predicted, counted, "{name}, {order:?}, {handlers} handlers");
                assert_eq!(
                    blocks.refused_mixed,
                    counter("refused_mixed"),
                    "{name}, {order:?}, {handlers}"
                );
                let ended = counter("refused_sequence") + counter("refused_exhausted");
                assert_eq!(
                    blocks.refused_end, ended,
                    "{name}, {order:?}, {handlers} handlers"
                );
                let needs = &report.application.needs;
                assert_eq!(
                    needs.descriptors,
                    counter("posted_high"),
                    "{name}, {order:?}"
                );
                assert_eq!(
                    needs.unexpected,
                    counter("unexpected_high"),
                    "{name}, {order:?}"
                );
                fast += blocks.fast;
            }
        }
    }
    assert!(fast > 0, "some trace has conflicts");
}

#[test]
fn oddities_of_all_ranks_are_added_up() {
    let mut run = load("edge-4-mpich");
    for (program, n) in run.programs.iter_mut().zip([5, 3, 2, 1]) {
        let odd = &mut program.oddities;
        (odd.unknown_requests, odd.unknown_starts, odd.contradictions) = (n, 20 * n, 400 * n);
    }
    let report = Report::make(&run, &question(OrderChoice::PostsFirst, vec![1]), |_| ());
    let odd = report.expect("a report").source.oddities;
    assert_eq!(
        [odd.unknown_requests, odd.unknown_starts, odd.contradictions],
        [11, 220, 4400]
    );
}

/// The trace of one rank alone: the messages are made up from the statuses.
#[test]
fn one_rank_alone_can_be_replayed() {
    let file = path("edge-4-openmpi").join("rank-0001.txt.xz");
    let source = dpamatch_traces::open(&file, &OpenOptions::default()).expect("a trace");
    let run = Run::load(source.as_ref(), |_| ()).expect("a whole trace");
    assert_eq!(run.programs.len(), 1);
    assert_eq!((run.truth[0].assumed, run.truth[0].taken_for_null), (10, 1));
    for interleaving in interleavings() {
        let orders = run.guided(interleaving);
        let receives = replay(&run, &orders, "list", &options());
        assert!(run.view(0).compare(&receives[0]).is_exact());
    }
}
