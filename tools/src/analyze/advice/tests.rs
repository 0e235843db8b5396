//! Advice on reports made for it, at and beside its limits.

use std::fmt::{Display, Write};

use expect_test::expect_file;

use super::*;
use crate::analyze::by_hand::{counted, question};
use crate::analyze::stats::{BinStats, BlockStats, Fallback, Searches, Shortage, Violation};
use crate::analyze::{Agreement, Late, OrderChoice, Sharing};

/// What is said on one topic, a heading for each report.
#[derive(Default)]
struct Said(String);

impl Said {
    fn topic(&mut self, title: &str) {
        _ = writeln!(self.0, "\n{title}");
    }

    fn on(&mut self, topic: &str, report: &Report, case: impl Display) {
        _ = writeln!(self.0, "  {case}");
        let all = advise(report, &question(OrderChoice::Time).plan);
        for advice in all.iter().filter(|advice| advice.topic == topic) {
            // The card's own structures may change.
            let card = advice
                .text
                .find(" suffice: ")
                .zip(advice.text.find(" of NIC memory"));
            let text = card.map_or(advice.text.clone(), |(suffice, bytes)| {
                format!(
                    "{} suffice: ..{}",
                    &advice.text[..suffice],
                    &advice.text[bytes..]
                )
            });
            _ = writeln!(self.0, "    {text}\n      {}", advice.because);
        }
    }
}

fn room(said: &mut Said) {
    said.topic("Room: no receives; most messages are more than half");
    let mut report = counted();
    report.application.traffic.receives = [0; 4];
    said.on("room", &report, "no receives, collective calls");
    report.application.shares.collective = 0;
    said.on("room", &report, "no receives, no collective calls");
    report.application.traffic.receives = [0, 0, 0, 1];
    said.on("room", &report, "one receive");
    for (expected, unexpected) in [(50, 50), (49, 51), (0, 0), (0, 9)] {
        let traffic = &mut report.application.traffic;
        (traffic.expected, traffic.unexpected) = (expected, unexpected);
        said.on(
            "room",
            &report,
            format!("{expected} expected, {unexpected} unexpected"),
        );
    }
    let late = |probed, posted_first, could_be_earlier| Late {
        probed,
        posted_first,
        could_be_earlier,
        left: 0,
    };
    for (case, late) in [
        ("half are probed, the rest could be earlier", late(2, 0, 2)),
        ("most are probed", late(3, 0, 2)),
        ("half are posted first", late(0, 2, 2)),
        ("most could be earlier", late(1, 1, 3)),
    ] {
        report.late = late;
        said.on("room", &report, case);
    }
    report.sharing = Sharing {
        hosts: 2,
        ranks_max: 3,
        processor_share: Some(0.79),
    };
    said.on(
        "room",
        &report,
        "most could be earlier, and ranks shared processors",
    );
    let [only, ..] = &report.unexpected_by_order.orders[..] else {
        panic!("orders")
    };
    report.unexpected_by_order.orders = vec![only.clone()];
    report.sharing.processor_share = None;
    said.on(
        "room",
        &report,
        "one order, and processor times are unknown",
    );
    let fallback = Fallback {
        shortage: Shortage::Descriptors,
        rank: 5,
        happening: 2,
        time_ns: None,
        call: Some(7),
        sender: None,
    };
    let communicators = Shortage::Communicators;
    for (case, fallback) in [
        ("falls back in a call", fallback),
        (
            "falls back on a message",
            Fallback {
                sender: Some(3),
                ..fallback
            },
        ),
        (
            "the call is unknown",
            Fallback {
                call: None,
                shortage: communicators,
                ..fallback
            },
        ),
    ] {
        report.application.needs.fallback = Some(fallback);
        said.on("room", &report, case);
    }
}

/// Numbers of bins with their steps per 100 searches of each queue, posted and unexpected.
fn with_bins(steps: &[(u32, u64, u64)], worst: [f64; 2]) -> Report {
    let mut report = counted();
    let searches = |steps, mean_max| Searches {
        count: 100,
        steps,
        mean_max,
        ..Searches::default()
    };
    let stats = steps.iter().map(|&(bins, prq, umq)| BinStats {
        bins,
        prq: searches(prq, worst[0]),
        umq: searches(umq, worst[1]),
        ..BinStats::default()
    });
    report.application.bins = stats.collect();
    report
}

fn bins(said: &mut Said) {
    said.topic("Bins: searches are short up to 1.5 steps at the worst rank");
    for worst in [[1.5, 0.0], [0.0, 1.5], [1.51, 0.0], [0.0, 1.51]] {
        let report = with_bins(&[(1, 130, 70), (32, 1, 1)], worst);
        said.on("bins", &report, format!("{worst:?}"));
    }
    said.topic("Bins: the smallest number within a twentieth of the best, not of its neighbour");
    for steps in [
        &[(1, 105, 105), (32, 100, 100)][..],
        &[(1, 106, 105), (32, 100, 100)],
        &[(1, 105, 106), (32, 100, 100)],
        &[(1, 400, 0), (32, 210, 0), (128, 200, 0)],
        &[(1, 400, 0), (32, 211, 0), (128, 200, 0)],
        &[(1, 108, 0), (32, 104, 0), (128, 100, 0)],
        &[(1, 300, 100), (32, 100, 50)],
        &[(1, 500, 0)],
        &[],
    ] {
        said.on("bins", &with_bins(steps, [9.0, 9.0]), format!("{steps:?}"));
    }
    said.topic("Tables: memory is that of the advised bins");
    let report = with_bins(&[(1, 400, 0), (32, 210, 0), (128, 200, 0)], [9.0; 2]);
    said.on("tables", &report, "32 bins suffice");
}

fn engines(said: &mut Said) {
    said.topic("Engines: they must differ by a twentieth, and count in both queues");
    let mut report = counted();
    // 8 receives and 7 messages: 15 searches.
    let engine = |name, counters: &[(&str, u64)]| EngineReport {
        name,
        agreement: Agreement::default(),
        differs_at: Vec::new(),
        counters: counters
            .iter()
            .map(|&(name, value)| (name.to_owned(), value))
            .collect(),
    };
    let list = engine("list", &[("prq_attempts", 60), ("umq_attempts", 40)]);
    let close = engine(
        "bins",
        &[
            ("prq_attempts", 60),
            ("prq_hops", 5),
            ("umq_attempts", 30),
            ("umq_hops", 10),
        ],
    );
    let far = engine(
        "4d",
        &[
            ("prq_attempts", 60),
            ("umq_attempts", 46),
            ("memory_bytes_max", 512),
        ],
    );
    let silent = engine("silent", &[]);
    for engines in [
        vec![&list],
        vec![&list, &silent],
        vec![&close, &list],
        vec![&far, &list],
        vec![&far, &list, &silent],
    ] {
        let names: Vec<_> = engines.iter().map(|engine| engine.name).collect();
        report.engines = engines.into_iter().cloned().collect();
        said.on("engine", &report, names.join(", "));
    }
}

fn needs(said: &mut Said) {
    said.topic("Chains: told from four on");
    let mut report = counted();
    for chain_max in [3, 4] {
        report.application.receive_keys.chain_max = chain_max;
        said.on("chains", &report, chain_max);
    }
    said.topic("Tables: the next power of two; no more buffers than entries");
    for [descriptors, unexpected, unexpected_buffers, communicators] in
        [[0, 0, 0, 0], [8, 16, 4, 3], [9, 17, 5, 1], [1, 2, 9, 1]]
    {
        let needs = Needs {
            descriptors,
            unexpected,
            unexpected_buffers,
            ..Needs::default()
        };
        report.application.needs = Needs {
            communicators,
            ..needs
        };
        let case = format!("{descriptors} {unexpected} {unexpected_buffers} {communicators}");
        said.on("tables", &report, case);
    }
}

fn handlers(said: &mut Said) {
    said.topic("Handlers: messages and blocks by their number; a full block may be too small");
    let mut report = counted();
    let blocks = |&(handlers, messages): &(u32, u64)| BlockStats {
        handlers,
        messages,
        blocks: 100,
        clean: 20,
        fast: 10,
        slow: 10,
        forced: 3,
        ..BlockStats::default()
    };
    for all in [
        &[][..],
        &[(4, 149)],
        &[(4, 150)],
        &[(2, 190), (8, 200)],
        &[(2, 189), (8, 200)],
        &[(2, 200), (8, 760)],
        &[(2, 200), (8, 759)],
    ] {
        report.application.blocks = all.iter().map(blocks).collect();
        said.on("handlers", &report, format!("{all:?}"));
    }
}

fn hints(said: &mut Said) {
    said.topic("Hints, by communicator; of two violations the earlier one is named");
    let mut report = counted();
    let mut safe = report.communicators[0].clone();
    for hint in [
        &mut safe.stats.hints.no_any_source,
        &mut safe.stats.hints.no_any_tag,
        &mut safe.stats.hints.exact_length,
        &mut safe.stats.hints.allow_overtaking,
    ] {
        *hint = Hint::default();
    }
    report.communicators = (0..5).map(|_| safe.clone()).collect();
    said.on("hints", &report, "five communicators");
    report.communicators.truncate(2);
    report.communicators[0].stats.traffic.receives = [0; 4];
    report.communicators[1].stats.hints.exact_length.unknown = 3;
    said.on(
        "hints",
        &report,
        "one receives nothing, one does not tell lengths",
    );
    let violated = |call| {
        let first = Some(Violation {
            rank: 1,
            call,
            function: "MPI_Recv",
        });
        Hint {
            count: 2,
            first,
            unknown: 0,
        }
    };
    report.communicators[0].stats.traffic.receives = [1; 4];
    report.communicators[0].stats.hints.no_any_tag = violated(5);
    report.communicators[1].stats.hints.no_any_tag = violated(4);
    said.on("hints", &report, "both violate");
}

#[test]
fn advice_is_given_within_its_limits() {
    let mut said = Said::default();
    for topic in [room, bins, engines, needs, handlers, hints] {
        topic(&mut said);
    }
    expect_file!["tests.txt"].assert_eq(&said.0);
}
