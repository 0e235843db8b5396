//! Whole reports of programs that are made here.

use super::*;
use crate::analyze::order::Network;
use crate::analyze::{
    Action, LocalComm, Program, Run, Step, Transfer, TransferKind, by_hand, programs_of_text,
};
use dpamatch::engine::Behind;
use dpamatch::registry::{self, EngineOptions};
use dpamatch_predict::{Profile, Setup};

const PROFILE: &str = include_str!("../../predict/profiles/bluefield3.toml");

const BLANK: Transfer = Transfer {
    tag: 5,
    bytes: 8,
    ..by_hand::BLANK
};

fn program(rank: u32, transfers: &[Transfer], gap_ns: u64) -> Program {
    let begin = |at| Step {
        at_ns: 0,
        gap_ns,
        action: Action::Begin(at),
    };
    let comm = |number| LocalComm {
        number,
        own_rank: None,
        size: None,
        made: true,
    };
    Program {
        rank,
        transfers: transfers.into(),
        steps: (0..transfers.len() as u32).map(begin).collect(),
        comms: vec![comm(2), comm(3)],
        ..Program::default()
    }
}

fn sends(template: Transfer, count: usize) -> Vec<Transfer> {
    vec![
        Transfer {
            peer: 0,
            ..template
        };
        count
    ]
}

fn receives(template: Transfer, senders: i32, count: usize) -> Vec<Transfer> {
    let receive = |peer| Transfer {
        peer,
        kind: TransferKind::Recv,
        blocking: true,
        ..template
    };
    let each = (1..=senders).flat_map(|peer| vec![receive(peer); count]);
    each.collect()
}

/// `senders` ranks send rank 0 three messages each, of this template's length.
fn fan_in(template: Transfer, senders: u32, gap_ns: u64) -> Run {
    let receiver = receives(template, senders as i32, 3);
    let mut programs = vec![program(0, &receiver, gap_ns)];
    programs.extend((1..=senders).map(|rank| program(rank, &sends(template, 3), gap_ns)));
    Run::new(programs, Some(senders + 1))
}

fn question() -> Question {
    let profile = Profile::read(PROFILE, &[]).expect("a profile");
    Question {
        network: Network::default(),
        engine: registry::find("list").expect("an engine"),
        options: EngineOptions::default(),
        host: Host::parse(BUILT_IN[0].1).expect("a host"),
        card: Card {
            setup: Setup::shipped(profile, 32),
        },
        worth: 0.001,
        communicators: false,
        hardware: None,
    }
}

/// A card whose matching takes no time, and a host to which both ways cost the same.
fn free_card(bytes_per_ns: f64) -> Question {
    let mut question = question();
    let free: Vec<String> = question
        .card
        .setup
        .profile
        .numbers()
        .into_iter()
        .filter(|(name, _)| {
            name.ends_with("_ns")
                && !name.starts_with("instructions.")
                && !name.contains("bytes_per")
        })
        .map(|(name, _)| name)
        .map(|name| match name.as_str() {
            "word.poll_miss_ns" => format!("{name}=0.01"),
            _ => format!("{name}=0"),
        })
        .chain([
            format!("arrival.bytes_per_ns={bytes_per_ns}"),
            format!("host.bytes_per_ns={bytes_per_ns}"),
        ])
        .collect();
    question.card.setup.profile = Profile::read(PROFILE, &free).expect("a profile");
    let host = &mut question.host;
    let free = Range::exact(0.0);
    host.matching.post_ns = Range::exact(37.0);
    host.matching.message_ns = Range::exact(53.0);
    (host.matching.step_ns, host.matching.copy_ns_per_byte) = (free, free);
    host.matching.rendezvous_ns = free;
    host.offloaded.post_ns = host.matching.post_ns;
    host.offloaded.completion_ns = host.matching.message_ns;
    host.offloaded.handover_ns = free;
    question
}

fn report(run: &Run, question: &Question) -> Report {
    Report::make(run, question, |_| ()).expect("a report")
}

/// Both runs have one wire: for any length and any speed of the network and of the profile's wire,
/// a card that costs nothing changes nothing. 512 bytes are eager on the card, 513 are not.
#[test]
fn a_card_that_costs_nothing_changes_nothing() {
    let template = |bytes| Transfer { bytes, ..BLANK };
    let lengths = [0, 1, 512, 513, 1 << 30, 4_294_967_294, 5 << 30].map(template);
    for (length, senders) in lengths.into_iter().zip([1, 8, 3, 8, 1, 2]) {
        let run = fan_in(length, senders, 1_000);
        for bytes_per_us in [1, 12_500, 1_000_000_000] {
            for bytes_per_ns in [1e-3, 50.0, 1e6] {
                let mut question = free_card(bytes_per_ns);
                question.network.bytes_per_us = bytes_per_us;
                let report = report(&run, &question);
                let at = format!("{length:?}, {senders}, {bytes_per_us}, {bytes_per_ns}");
                let gain = report.application.gain.expect("a gain");
                assert_eq!(gain.share, Range::exact(0.0), "{at}");
                let delay = report.application.costs.delay_us;
                assert_eq!(delay, Range::exact(0.0), "{at}");
                assert!(report.orders.iter().all(|it| it.gain == gain.share), "{at}");
            }
        }
    }
}

/// The length of a message changes neither the card's latency nor the end of the run beyond what
/// the network takes in both runs.
#[test]
fn a_long_message_is_transferred_once() {
    let run_us = |bytes| {
        let run = fan_in(Transfer { bytes, ..BLANK }, 1, 1_000);
        let application = report(&run, &question()).application;
        let gain = application.gain.expect("a gain");
        (
            application.service.latency_us,
            gain.run_us,
            gain.run_us * gain.share.likely,
        )
    };
    let (short, long) = (run_us(4_096), run_us(1 << 30));
    assert!((short.0 - long.0).abs() < 0.05, "{short:?}, {long:?}");
    assert!((short.2 - long.2).abs() < 0.5, "{short:?}, {long:?}");
    // 2^30 bytes at 12.5 bytes/ns.
    assert!(long.1 - short.1 > 85_000.0, "{short:?}, {long:?}");
}

#[test]
fn computation_of_any_length_counts_whole() {
    for gap_ns in [(1_u64 << 32) - 1, 1 << 32, (1 << 32) + 1, 100_000_000_000] {
        let run = fan_in(BLANK, 1, gap_ns);
        let report = report(&run, &question());
        // Three steps have two gaps between them.
        let simulated = report.length.simulated_us.expect("a length");
        let least = 2.0 * gap_ns as f64 / 1e3;
        assert!(
            (least..least + 10.0).contains(&simulated),
            "{gap_ns}: {simulated}"
        );
    }
}

#[test]
fn nothing_has_no_verdict() {
    let one = |transfers: &[Transfer]| Run::new(vec![program(3, transfers, 0)], Some(4));
    let two = |transfers: &[Transfer]| {
        Run::new(vec![program(0, &[], 0), program(1, transfers, 0)], Some(2))
    };
    for (run, reason) in [
        (two(&[]), Reason::NoCalls),
        (
            two(&[Transfer { peer: 5, ..BLANK }]),
            Reason::NothingToMatch,
        ),
        (one(&receives(BLANK, 1, 2)), Reason::OneRank { rank: 3 }),
    ] {
        let report = report(&run, &question());
        let Advised {
            gain,
            break_even,
            verdict,
            ..
        } = report.application;
        assert_eq!((gain, break_even), (None, None));
        assert_eq!((verdict.answer, verdict.reason), (Answer::None, reason));
        assert!(
            report
                .ranks
                .iter()
                .all(|it| it.verdict.answer == Answer::None)
        );
        assert!(report.orders.is_empty() && report.length.simulated_us.is_none());
        let document = serde_json::to_value(&report).expect("a document");
        assert_eq!(document["application"]["verdict"]["answer"], "none");
        assert!(document["application"]["gain"].is_null());
    }
}

/// Two messages are unexpected, and probes find them five times before their receives are posted.
/// A probe matches nothing, so no design matches more than all messages.
#[test]
fn a_probe_is_no_message_on_any_card() {
    let of = |kind| Transfer {
        peer: 1,
        kind,
        blocking: kind == TransferKind::Recv,
        ..BLANK
    };
    let (probe, receive) = (of(TransferKind::Probe), of(TransferKind::Recv));
    let mut receiver = vec![probe; 4];
    receiver.extend([receive, probe, receive]);
    let run = Run::new(
        vec![
            program(0, &receiver, 10_000),
            program(1, &sends(BLANK, 2), 0),
        ],
        Some(2),
    );
    for entries in [1, 2, 256] {
        let mut question = question();
        question.hardware = Some(Hardware {
            rooms: Rooms::Equal(entries),
            behind: Behind::List,
        });
        let report = report(&run, &question);
        let demand = report.application.demand;
        assert_eq!((demand.messages, demand.posts, demand.probes), (2, 2, 5));
        let on_card: Vec<_> = report
            .matchers
            .iter()
            .map(|it| (it.name, it.on_card))
            .collect();
        let portals = if entries == 1 { 0 } else { 2 };
        let alpu = 2;
        let expected = [
            ("host", 0),
            ("dpa", 2),
            ("hw-list", 0),
            ("portals", portals),
            ("alpu", alpu),
        ];
        assert_eq!(on_card, expected, "{entries}");
        for matcher in &report.matchers {
            assert!(
                matcher.shares().0 <= 1.0 && matcher.shares().1 <= 1.0,
                "{matcher:?}"
            );
            assert!(matcher.host_us.high < 3.0, "{matcher:?}");
        }
        let remarks = report.remarks.iter().map(|it| it.text.as_str());
        let probes = remarks.filter(|text| text.contains("5 probes")).count();
        assert_eq!(probes, 1);
    }
}

/// Nine messages come for nine receives that are posted before. The card has room for four
/// receives, and sends the other receives and all later messages to software.
#[test]
fn receives_and_messages_in_software_are_counted_apart() {
    let mut receiver: Vec<Transfer> = receives(BLANK, 1, 9);
    receiver.iter_mut().for_each(|it| it.blocking = false);
    let sender = program(1, &sends(BLANK, 9), 1_000_000);
    let run = Run::new(vec![program(0, &receiver, 0), sender], Some(2));
    let counts = |receives| {
        let mut question = question();
        question.card.setup.receives = receives;
        let service = report(&run, &question).application.service;
        (
            service.receives_in_software,
            service.messages_in_software,
            service.matched,
        )
    };
    assert_eq!(counts(9), (0, 0, 9));
    let (receives, messages, matched) = counts(4);
    assert!((1..=9).contains(&receives), "{receives}");
    assert_eq!(messages + matched, 9, "{receives}, {messages}, {matched}");
    assert!(messages > 0);
}

/// Further orders are run for up to two million posts and messages.
#[test]
fn more_than_two_million_events_have_one_order() {
    let run = fan_in(BLANK, 2, 1000);
    for (messages, is_run) in [(1_999_998, true), (1_999_999, true), (2_000_000, false)] {
        let mut causal = vec![report::Weighed::default(); 3];
        (causal[0].demand.messages, causal[2].demand.posts) = (messages, 1);
        let mut remarks = Vec::new();
        let all = orders::others(&run, &question(), &causal, &mut remarks);
        assert_eq!(all.expect("orders").is_empty(), !is_run, "{messages}");
        let told = "2000001 posts and messages are more than 2000000";
        let has = remarks.iter().any(|remark| remark.text.ends_with(told));
        assert_eq!(has, !is_run, "{remarks:?}");
    }
}

/// The card has tables for up to 256 communicators of a rank.
#[test]
fn a_card_has_256_communicators() {
    for (count, fits) in [(255_u32, true), (256, true), (257, false)] {
        let calls = (10..10 + count).map(|comm| {
            format!(
                "0,1 MPI_Comm_dup oldcomm=2 newcomm={comm}\n\
                 0 MPI_Recv count=1 datatype=9 source=1 tag=3 comm={comm}\n\
                 1 MPI_Send count=1 datatype=9 dest=0 tag=3 comm={comm}\n"
            )
        });
        let calls: String = calls.collect();
        let (programs, _) = programs_of_text(calls.lines());
        let run = Run::new(programs, Some(2));
        let (orders, ..) = run
            .orders(crate::analyze::OrderChoice::Causal, Network::default())
            .expect("an order");
        let part = demand::Part {
            view: run.view(0),
            order: &orders[0],
            comm: None,
        };
        let served = question()
            .card
            .serve(part)
            .map_err(|error| error.to_string());
        match fits {
            true => assert_eq!(served.map(|it| it.matched), Ok(u64::from(count))),
            false => {
                let said = served.expect_err("too many");
                assert_eq!(said, "more than 256 communicators at one rank");
            }
        }
    }
}
