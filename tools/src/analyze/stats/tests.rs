use std::fmt::Write;

use expect_test::expect_file;

use crate::analyze::by_hand::{program, question, receive, report, run, send};
use crate::analyze::program::{
    ANY, EmptyPolls, End, NOBODY, Transfer, TransferKind, UNKNOWN_BYTES,
};
use crate::analyze::stats::{COLUMNS, Fallback, Needs, Violation};
use crate::analyze::{OrderChoice, Report, Run};

#[test]
fn what_waits_is_there_while_nothing_happens() {
    // A rank's first step has no time before it.
    let nobody = Transfer {
        kind: TransferKind::Null,
        ..send(NOBODY, 0)
    };
    let mut run = run(&[nobody, send(1, 0)], &[receive(0, 0, End::Ignored)]);
    run.programs[0]
        .steps
        .edit(|steps| steps[1].gap_ns = 1_000_000);
    let report = report(&run, OrderChoice::Causal);
    let depths = &report.ranks[1].totals.depths;
    assert_eq!(depths.posted, [1; COLUMNS]);
    assert_eq!(depths.unexpected, [0; COLUMNS]);
}

#[test]
fn hints_forbid_wildcards_that_find_nothing_and_of_nobody() {
    let nobody = |tag| Transfer {
        kind: TransferKind::Null,
        call: 3,
        ..receive(NOBODY, tag, End::Ignored)
    };
    let plain = Transfer {
        call: 9,
        ..receive(0, 0, End::Ignored)
    };
    let mut quiet = run(&[send(1, 0)], &[nobody(5), plain]);
    let hints = |run: &Run| report(run, OrderChoice::Causal).application.hints;
    assert_eq!(
        (
            hints(&quiet).no_any_source.count,
            hints(&quiet).no_any_tag.count
        ),
        (0, 0)
    );

    let polls = EmptyPolls {
        comm: 0,
        any_source: true,
        any_tag: false,
        count: 40,
        call: 2,
        function: 0,
    };
    quiet.programs[1].empty_polls.push(polls);
    let found = hints(&quiet);
    assert_eq!((found.no_any_source.count, found.no_any_tag.count), (40, 0));
    assert_eq!(
        found
            .no_any_source
            .first
            .map(|Violation { rank, call, .. }| (rank, call)),
        Some((1, 2))
    );

    // A receive posted before the first of the polls is the first violation.
    let wild = Transfer {
        call: 1,
        ..receive(-1, 0, End::Ignored)
    };
    let mut early = run(&[send(1, 0)], &[wild, nobody(ANY)]);
    early.programs[1].empty_polls.push(polls);
    let found = hints(&early);
    assert_eq!((found.no_any_source.count, found.no_any_tag.count), (41, 1));
    assert_eq!(found.no_any_source.first.map(|first| first.call), Some(1));
    assert_eq!(found.no_any_tag.first.map(|first| first.call), Some(3));
}

#[test]
fn lengths_that_the_trace_does_not_tell_are_no_proof() {
    let lengths = |sends: &[Transfer], receives: &[Transfer]| {
        let report = report(&run(sends, receives), OrderChoice::PostsFirst);
        let hint = report.application.hints.exact_length;
        let safe = |advice: &&crate::analyze::Advice| {
            advice.text.contains("exact_length") && advice.text.starts_with("Set ")
        };
        (
            hint.count,
            hint.unknown,
            report.advice.iter().filter(safe).count(),
        )
    };
    let known = receive(0, 0, End::Ignored);
    assert_eq!(lengths(&[send(1, 0)], &[known]), (0, 0, 1));
    assert_eq!(
        lengths(&[send(1, 0)], &[Transfer { bytes: 8, ..known }]),
        (1, 0, 0)
    );
    assert_eq!(
        lengths(
            &[send(1, 0)],
            &[Transfer {
                bytes: UNKNOWN_BYTES,
                ..known
            }]
        ),
        (0, 1, 0)
    );
    // The send is in no trace: the made-up message has the receive's own size.
    assert_eq!(lengths(&[], &[known]), (0, 1, 0));
}

/// The needs of reports on runs made for it, a line for each NIC.
#[derive(Default)]
struct Printed(String);

impl Printed {
    fn run(&mut self, what: &str, run: &Run, order: OrderChoice, nics: &[&str]) {
        _ = writeln!(self.0, "{what}");
        for nic in nics {
            let mut question = question(order);
            for option in nic.split_whitespace() {
                let (name, value) = option.split_once('=').expect("an option");
                let (nic, value) = (&mut question.plan.nic, value.parse().expect("a number"));
                match name {
                    "receives" => nic.receives = value,
                    "unexpected" => nic.unexpected = value,
                    "buffers" => nic.unexpected_buffers = value,
                    "communicators" => nic.communicators = value,
                    "eager" => nic.eager_limit = value,
                    _ => panic!("{option}"),
                }
            }
            let report = Report::make(run, &question, |_| ()).expect("a report");
            let Needs {
                descriptors,
                unexpected,
                unexpected_bytes,
                ..
            } = report.application.needs;
            let Needs {
                unexpected_buffers,
                fallback,
                ..
            } = report.application.needs;
            let all = format!("{descriptors} receives, {unexpected} messages");
            _ = writeln!(
                self.0,
                "  {nic}: {all} of {unexpected_bytes}, {unexpected_buffers} long"
            );
            let Some(first) = fallback else { continue };
            let Fallback {
                shortage,
                rank,
                time_ns,
                call,
                sender,
                ..
            } = first;
            let place = format!("rank {rank}, call {call:?} of {sender:?} at {time_ns:?}");
            _ = writeln!(
                self.0,
                "    {place}: {} {}",
                shortage.option().0,
                shortage.option().1
            );
            let advice = report.advice.iter().find(|advice| advice.topic == "room");
            _ = writeln!(self.0, "    {}", advice.expect("advice").text);
        }
    }
}

/// What a NIC needs for some messages and receives, and which of several ranks falls back first.
#[test]
fn needs_are_those_of_the_messages() {
    let mut told = Printed::default();
    let posts: Vec<_> = (0..4)
        .map(|tag| Transfer {
            call: tag as u32,
            ..receive(2, tag, End::Pending)
        })
        .collect();
    let mut two = Run::new(
        vec![program(0, &posts), program(1, &posts), program(2, &[])],
        Some(3),
    );
    two.programs[0].steps.edit(|steps| steps[1].gap_ns = 50_000);
    let few = ["receives=2 unexpected=8"];
    told.run(
        "Two ranks post four: the earlier is first",
        &two,
        OrderChoice::Causal,
        &few,
    );
    told.run(
        "Without times the lower is first",
        &two,
        OrderChoice::PostsFirst,
        &few,
    );

    let sends = |bytes: u64| {
        let send = move |tag| Transfer {
            call: 10 + tag as u32,
            bytes,
            ..send(1, tag)
        };
        (0..3).map(send).collect::<Vec<_>>()
    };
    let receives: Vec<_> = (0..3).map(|tag| receive(0, tag, End::Ignored)).collect();
    let both = run(&sends(4), &receives);
    let first = OrderChoice::ArrivalsFirst;
    told.run(
        "The third of three messages has no room",
        &both,
        first,
        &["unexpected=2"],
    );

    let inline = dpa_model::INLINE_BYTES as u64;
    for sizes in [
        [0, inline],
        [0, inline + 1],
        [100, 101],
        [100, 99],
        [UNKNOWN_BYTES, 1],
    ] {
        let sized = |tag: usize| Transfer {
            bytes: sizes[tag],
            ..send(1, tag as i32)
        };
        let run = run(&[sized(0), sized(1)], &[]);
        told.run(
            &format!("Messages of {sizes:?} bytes"),
            &run,
            first,
            &["eager=100"],
        );
    }

    let long = |tag| Transfer {
        bytes: 30 + tag as u64,
        ..send(1, tag)
    };
    let large = |tag| Transfer {
        bytes: 99,
        ..receive(0, tag, End::Ignored)
    };
    let mut turns = run(&[0, 1, 2].map(long), &[0, 1, 2].map(large));
    for (rank, first) in [(0, 10), (1, 15)] {
        turns.programs[rank].steps.edit(|steps| {
            let times = (first..).step_by(10).zip(steps);
            times.for_each(|(at, step)| step.at_ns = at);
        });
    }
    told.run(
        "Each just before its receive: room is given back",
        &turns,
        OrderChoice::Time,
        &[""],
    );

    let posts: Vec<_> = (0..3).map(|tag| receive(0, tag, End::Pending)).collect();
    let order = OrderChoice::PostsFirst;
    told.run(
        "Three receives",
        &run(&[], &posts),
        order,
        &["receives=3", "receives=2"],
    );
    let rooms = [
        "unexpected=3 buffers=3",
        "unexpected=2 buffers=2",
        "unexpected=3 buffers=2",
        "communicators=1",
    ];
    told.run(
        "Three messages of 30 bytes",
        &run(&sends(30), &[]),
        order,
        &rooms,
    );
    let alone = Transfer {
        comm: 1,
        ..receive(0, 0, End::Pending)
    };
    let two = run(&[], &[posts[0], alone]);
    let rooms = ["communicators=2", "communicators=1"];
    told.run(
        "Every rank is alone in a second communicator",
        &two,
        order,
        &rooms,
    );
    expect_file!["tests.txt"].assert_eq(&told.0);
}
