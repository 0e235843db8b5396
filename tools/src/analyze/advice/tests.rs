use super::*;
use crate::analyze::by_hand::{counted, question};
use crate::analyze::stats::{BinStats, BlockStats, Fallback, Searches, Shortage};
use crate::analyze::{Agreement, OrderChoice};

fn advice(report: &Report, topic: &str) -> Option<(String, String)> {
    let all = advise(report, &question(OrderChoice::Time).plan);
    let mut found = all.into_iter().filter(|advice| advice.topic == topic);
    let first = found.next().map(|advice| (advice.text, advice.because));
    assert!(found.next().is_none(), "one piece of advice on {topic}");
    first
}

fn said(report: &Report, topic: &str) -> String {
    advice(report, topic).expect("advice").0
}

#[test]
fn a_program_without_receives_gains_nothing() {
    let mut report = counted();
    report.application.traffic.receives = [0; 4];
    let (text, because) = advice(&report, "room").expect("advice");
    assert_eq!(
        text,
        "No verdict: the program posts no receives. --collectives adds the messages inside its \
         collective calls."
    );
    assert_eq!(because, "calls: 80.0 % point-to-point, 15.0 % collective, 5.0 % one-sided");
    report.application.shares.collective = 0;
    assert_eq!(said(&report, "room"), "Offloading has no benefit: the program posts no receives.");
    report.application.traffic.receives = [0, 0, 0, 1];
    assert_eq!(
        said(&report, "room"),
        "Everything fits on the NIC. dpamatch offload shows whether offloading pays."
    );
}

#[test]
fn most_messages_are_more_than_half() {
    let mut report = counted();
    let mut room = |expected, unexpected| {
        (report.application.traffic.expected, report.application.traffic.unexpected) =
            (expected, unexpected);
        said(&report, "room")
    };
    assert!(room(50, 50).starts_with("Everything fits on the NIC."));
    assert!(room(49, 51).starts_with("Everything fits, but most messages come before"));
    assert!(room(0, 0).starts_with("Everything fits on the NIC."));
}

#[test]
fn a_fallback_is_told_with_its_option() {
    let mut report = counted();
    (report.application.traffic.expected, report.application.traffic.unexpected) = (0, 9);
    let fallback = Fallback {
        shortage: Shortage::Descriptors,
        rank: 5,
        happening: 2,
        time_ns: None,
        call: Some(7),
        sender: None,
    };
    let mut told = |fallback| {
        report.application.needs.fallback = Some(fallback);
        said(&report, "room")
    };
    let whole = "The NIC is too small: rank 5 falls back to software first in call 7, with \
                 too few receive descriptors (--receives).";
    assert_eq!(told(fallback), whole);
    let of_sender = Fallback { sender: Some(3), ..fallback };
    assert!(
        told(of_sender).contains("software first on the message that rank 3 sent in call 7, with")
    );
    let unknown = Fallback { call: None, shortage: Shortage::Communicators, ..fallback };
    assert!(told(unknown).contains("rank 5 falls back"), "{}", told(unknown));
    assert!(told(unknown).ends_with("communicators with tables (--communicators)."));
}

/// Numbers of bins with their steps per 100 searches of each queue, posted and unexpected.
fn with_bins(steps: &[(u32, u64, u64)], worst: [f64; 2]) -> Report {
    let mut report = counted();
    let searches =
        |steps, mean_max| Searches { count: 100, steps, mean_max, ..Searches::default() };
    let stats = steps.iter().map(|&(bins, prq, umq)| BinStats {
        bins,
        prq: searches(prq, worst[0]),
        umq: searches(umq, worst[1]),
        ..BinStats::default()
    });
    report.application.bins = stats.collect();
    report
}

#[test]
fn short_searches_are_those_up_to_one_and_a_half_steps() {
    let any = |worst| {
        let text = said(&with_bins(&[(1, 130, 70), (32, 1, 1)], worst), "bins");
        assert_eq!(
            text.starts_with(
                "Any engine will do: with 1 bin a mean search takes 1.00 steps, 1.50 at"
            ),
            text.starts_with("Any")
        );
        text.starts_with("Any")
    };
    assert!(any([1.5, 0.0]) && any([0.0, 1.5]));
    assert!(!any([1.51, 0.0]) && !any([0.0, 1.51]));
}

#[test]
fn more_bins_must_save_a_twentieth_of_the_steps() {
    let bins = |steps: &[(u32, u64, u64)]| said(&with_bins(steps, [9.0, 9.0]), "bins");
    let none = "More than 1 bin save no steps: long chains share one key or have wildcards.";
    let use_bins = |bins: u32| {
        format!("Use {bins} hash bins per table: more bins save less than 5 % of the steps.")
    };
    assert_eq!(bins(&[(1, 105, 105), (32, 100, 100)]), none);
    assert_eq!(bins(&[(1, 106, 105), (32, 100, 100)]), use_bins(32));
    assert_eq!(bins(&[(1, 105, 106), (32, 100, 100)]), use_bins(32));
    // The smallest number near the overall best, not near its neighbour.
    assert_eq!(bins(&[(1, 400, 0), (32, 210, 0), (128, 200, 0)]), use_bins(32));
    assert_eq!(bins(&[(1, 400, 0), (32, 211, 0), (128, 200, 0)]), use_bins(128));
    assert_eq!(bins(&[(1, 108, 0), (32, 104, 0), (128, 100, 0)]), use_bins(32));
    assert!(bins(&[(1, 500, 0)]).starts_with("Compare several numbers"));
    let (_, because) =
        advice(&with_bins(&[(1, 300, 100), (32, 100, 50)], [9.0; 2]), "bins").expect("advice");
    assert_eq!(because, "mean steps per search: 1 bins 2.00, 32 bins 0.75");
    assert_eq!(advice(&with_bins(&[], [9.0; 2]), "bins"), None);
}

#[test]
fn engines_must_differ_by_a_twentieth() {
    let mut report = counted();
    // 8 receives and 7 messages: 15 searches.
    let engine = |name, counters: &[(&str, u64)]| EngineReport {
        name,
        agreement: Agreement::default(),
        differs_at: Vec::new(),
        counters: counters.iter().map(|&(name, value)| (name.to_owned(), value)).collect(),
    };
    let list = engine("list", &[("prq_attempts", 60), ("umq_attempts", 40)]);
    let close = engine(
        "bins",
        &[("prq_attempts", 60), ("prq_hops", 5), ("umq_attempts", 30), ("umq_hops", 10)],
    );
    let far =
        engine("4d", &[("prq_attempts", 60), ("umq_attempts", 46), ("memory_bytes_max", 512)]);
    let silent = engine("silent", &[]);
    let mut told = |engines: &[&EngineReport]| {
        report.engines = engines.iter().map(|&engine| engine.clone()).collect();
        advice(&report, "engine")
    };
    assert_eq!(told(&[&list]), None);
    assert_eq!(told(&[&list, &silent]), None, "one that does not count is not compared");
    let (text, because) = told(&[&close, &list]).expect("advice");
    assert!(text.starts_with("All engines take the same number of steps"), "{text}");
    assert!(because.ends_with("list 6.67; bins 7.00"), "{because}");
    let (text, because) = told(&[&far, &list]).expect("advice");
    assert_eq!(text, "Of the engines compared, list takes the fewest steps and 4d the most.");
    assert!(because.ends_with("list 6.67; 4d 7.07, 512 bytes at most"), "{because}");
    // An engine that counts steps in one queue only is left out of the comparison.
    let (text, _) = told(&[&far, &list, &silent]).expect("advice");
    let whose = "Of the engines that count steps in both queues, list takes the fewest steps";
    assert!(text.starts_with(whose), "{text}");
}

#[test]
fn chains_are_told_from_four_on() {
    let mut report = counted();
    report.application.receive_keys.chain_max = 3;
    assert_eq!(advice(&report, "chains"), None);
    report.application.receive_keys.chain_max = 4;
    let (text, because) = advice(&report, "chains").expect("advice");
    assert!(text.starts_with("Up to 4 receives of one source and tag wait at once"), "{text}");
    let wanted = "6 distinct (source, tag) in 8 receives (75.00 %); mean chain per key 0.83";
    assert_eq!(because, wanted);
}

#[test]
fn tables_are_the_next_power_of_two() {
    let mut report = counted();
    let mut options = |descriptors, unexpected, unexpected_buffers, communicators| {
        report.application.needs = Needs {
            descriptors,
            unexpected,
            unexpected_buffers,
            communicators,
            ..Needs::default()
        };
        let text = said(&report, "tables");
        let (options, _) = text.split_once(" suffice").expect("options");
        options
            .replace("--receives ", "")
            .replace("--unexpected ", "")
            .replace("--unexpected-buffers ", "")
            .replace("--communicators ", "")
    };
    assert_eq!(options(0, 0, 0, 0), "1 1 1 1");
    assert_eq!(options(8, 16, 4, 3), "8 16 4 3");
    assert_eq!(options(9, 17, 5, 1), "16 32 8 1");
    assert_eq!(options(1, 2, 9, 1), "1 2 2 1", "no more buffers than entries");
}

#[test]
fn memory_is_that_of_the_advised_bins() {
    let report = with_bins(&[(1, 400, 0), (32, 210, 0), (128, 200, 0)], [9.0; 2]);
    assert!(said(&report, "bins").starts_with("Use 32 hash bins per table"));
    let text = said(&report, "tables");
    let receives = report.application.needs.descriptors.max(1).next_power_of_two();
    let bytes = dpa_model::paper_bytes(32, receives);
    let end = format!("with 32 bins, {bytes} by the paper's formula for one communicator.");
    assert!(text.ends_with(&end), "{text}");
}

#[test]
fn handlers_must_find_work() {
    let mut report = counted();
    let blocks = |handlers, messages, blocks| BlockStats {
        handlers,
        messages,
        blocks,
        clean: 20,
        fast: 10,
        slow: 10,
        forced: 3,
        ..BlockStats::default()
    };
    let mut told = |all: &[BlockStats]| {
        report.application.blocks = all.to_vec();
        advice(&report, "handlers")
    };
    assert_eq!(told(&[]), None);
    let (text, because) = told(&[blocks(4, 149, 100)]).expect("advice");
    assert!(text.starts_with("Messages come one by one"), "{text}");
    let shares = "50.0 % clean, 25.0 % fast path, 25.0 % slow path (3 forced)";
    assert_eq!(because, format!("with 4 handlers a block has 1.49 messages; {shares}"));
    let mut text = |all: &[BlockStats]| told(all).expect("advice").0;
    let enough =
        |count| format!("{count} handlers per block suffice: larger blocks are rarely full.");
    assert_eq!(text(&[blocks(4, 150, 100)]), enough(4));
    assert_eq!(text(&[blocks(2, 190, 100), blocks(8, 200, 100)]), enough(2));
    assert_eq!(text(&[blocks(2, 189, 100), blocks(8, 200, 100)]), enough(8));
    // If the largest block tried is full, larger ones may be full as well.
    let full = "Blocks of 8 handlers are full: more handlers may find work (--sweep).";
    assert_eq!(text(&[blocks(2, 200, 100), blocks(8, 760, 100)]), full);
    assert_eq!(text(&[blocks(2, 200, 100), blocks(8, 759, 100)]), enough(8));
}

#[test]
fn hints_are_told_by_communicator() {
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
    let told = |report: &Report| {
        let all = hints(report);
        assert!(all.iter().all(|advice| advice.topic == "hints"));
        all.into_iter().map(|advice| (advice.text, advice.because)).collect::<Vec<_>>()
    };
    let all = told(&report);
    assert_eq!(all.len(), 4);
    let four = "communicators 2 (world), 2 (world), 2 (world), 2 (world) and 1 more";
    assert_eq!(
        all[0].0,
        format!("Set mpi_assert_no_any_source on {four}: this run never violates it.")
    );
    assert_eq!(all[0].1, "0 violations in 40 receives");
    assert!(all[3].0.starts_with("Try mpi_assert_allow_overtaking on"), "{}", all[3].0);
    // A communicator that receives nothing needs no hint.
    report.communicators.truncate(2);
    report.communicators[0].stats.traffic.receives = [0; 4];
    assert!(told(&report)[0].0.contains("on communicator 2 (world):"));
    report.communicators[1].stats.hints.exact_length.unknown = 3;
    assert_eq!(
        told(&report)[2],
        (
            "The trace does not show whether mpi_assert_exact_length is safe on communicator 2 \
             (world)."
                .to_owned(),
            "3 receives without a known length of message or buffer".to_owned()
        )
    );
    // Of two communicators with violations, the earlier violation is named.
    let violated = |rank, call| {
        let first = Some(crate::analyze::stats::Violation { rank, call, function: "MPI_Recv" });
        Hint { count: 2, first, unknown: 0 }
    };
    report.communicators[0].stats.traffic.receives = [1; 4];
    report.communicators[0].stats.hints.no_any_tag = violated(1, 5);
    report.communicators[1].stats.hints.no_any_tag = violated(1, 4);
    let all = told(&report);
    let (text, because) = all.iter().find(|told| told.0.starts_with("Do not")).expect("advice");
    assert_eq!(text, "Do not set mpi_assert_no_any_tag on communicators 2 (world), 2 (world).");
    assert_eq!(because, "4 violations, the first at rank 1, call 4, MPI_Recv");
}
