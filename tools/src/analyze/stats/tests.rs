use crate::analyze::by_hand::{program, question, receive, report, run, send};
use crate::analyze::program::{ANY, EmptyPolls, End, Kind, NOBODY, Transfer, UNKNOWN};
use crate::analyze::stats::{COLUMNS, Shortage, Violation};
use crate::analyze::{OrderChoice, Report, Run};

#[test]
fn what_waits_is_there_while_nothing_happens() {
    // A rank's first step has no time before it.
    let nobody = Transfer { kind: Kind::Null, ..send(NOBODY, 0) };
    let mut run = run(&[nobody, send(1, 0)], &[receive(0, 0, End::Ignored)]);
    run.programs[0].steps[1].gap_ns = 1_000_000;
    let report = report(&run, OrderChoice::Causal);
    let depths = &report.ranks[1].totals.depths;
    assert_eq!(depths.posted, [1; COLUMNS]);
    assert_eq!(depths.unexpected, [0; COLUMNS]);
}

#[test]
fn hints_forbid_wildcards_that_find_nothing_and_of_nobody() {
    let nobody = |tag| Transfer { kind: Kind::Null, call: 3, ..receive(NOBODY, tag, End::Ignored) };
    let plain = Transfer { call: 9, ..receive(0, 0, End::Ignored) };
    let mut quiet = run(&[send(1, 0)], &[nobody(5), plain]);
    let hints = |run: &Run| report(run, OrderChoice::Causal).application.hints;
    assert_eq!((hints(&quiet).no_any_source.count, hints(&quiet).no_any_tag.count), (0, 0));

    let polls =
        EmptyPolls { comm: 0, any_source: true, any_tag: false, count: 40, call: 2, function: 0 };
    quiet.programs[1].empty_polls.push(polls);
    let found = hints(&quiet);
    assert_eq!((found.no_any_source.count, found.no_any_tag.count), (40, 0));
    assert_eq!(
        found.no_any_source.first.map(|Violation { rank, call, .. }| (rank, call)),
        Some((1, 2))
    );

    // A receive posted before the first of the polls is the first violation.
    let wild = Transfer { call: 1, ..receive(-1, 0, End::Ignored) };
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
        (hint.count, hint.unknown, report.advice.iter().filter(safe).count())
    };
    let known = receive(0, 0, End::Ignored);
    assert_eq!(lengths(&[send(1, 0)], &[known]), (0, 0, 1));
    assert_eq!(lengths(&[send(1, 0)], &[Transfer { bytes: 8, ..known }]), (1, 0, 0));
    assert_eq!(lengths(&[send(1, 0)], &[Transfer { bytes: UNKNOWN, ..known }]), (0, 1, 0));
    // The send is in no trace: the made-up message has the receive's own size.
    assert_eq!(lengths(&[], &[known]), (0, 1, 0));
}

fn small(run: &Run, order: OrderChoice, receives: usize, unexpected: usize) -> Report {
    let mut question = question(order);
    question.plan.nic.receives = receives;
    question.plan.nic.unexpected = unexpected;
    Report::make(run, &question, |_| ()).expect("a report")
}

/// Two ranks run out of descriptors: the report names the earlier one, not the lower rank.
#[test]
fn the_first_to_fall_back_is_the_first_in_time() {
    let posts: Vec<_> =
        (0..4).map(|tag| Transfer { call: tag as u32, ..receive(2, tag, End::Pending) }).collect();
    let mut run = Run::new(vec![program(0, &posts), program(1, &posts), program(2, &[])], Some(3));
    run.programs[0].steps[1].gap_ns = 50_000;
    let first = small(&run, OrderChoice::Causal, 2, 8).application.needs.fallback.expect("no room");
    assert_eq!((first.shortage, first.rank, first.call), (Shortage::Descriptors, 1, Some(2)));
    let first =
        small(&run, OrderChoice::PostsFirst, 2, 8).application.needs.fallback.expect("no room");
    assert_eq!((first.rank, first.time_ns), (0, None));
}

#[test]
fn a_message_without_room_is_told_by_its_sender() {
    let sends: Vec<_> =
        (0..3).map(|tag| Transfer { call: 10 + tag as u32, ..send(1, tag) }).collect();
    let receives: Vec<_> = (0..3).map(|tag| receive(0, tag, End::Ignored)).collect();
    let report = small(&run(&sends, &receives), OrderChoice::ArrivalsFirst, 8, 2);
    let first = report.application.needs.fallback.expect("no room");
    assert_eq!((first.rank, first.sender, first.call), (1, Some(0), Some(12)));
    let advice = report.advice.iter().find(|advice| advice.topic == "room").expect("advice");
    let place = "on the message that rank 0 sent in call 12,";
    assert!(advice.text.contains(place), "{}", advice.text);
}

/// An eager payload takes its bytes, and a buffer if the entry is too small for it.
#[test]
fn messages_take_room_by_their_size() {
    let needs = |bytes: u32, more: u32| {
        let run =
            run(&[Transfer { bytes, ..send(1, 0) }, Transfer { bytes: more, ..send(1, 1) }], &[]);
        let mut question = question(OrderChoice::ArrivalsFirst);
        question.plan.nic.eager_limit = 100;
        let needs = Report::make(&run, &question, |_| ()).expect("a report").application.needs;
        (needs.unexpected, needs.unexpected_bytes, needs.unexpected_buffers)
    };
    let inline = dpa_model::INLINE_BYTES as u32;
    assert_eq!(needs(0, inline), (2, u64::from(inline), 0));
    assert_eq!(needs(0, inline + 1), (2, u64::from(inline) + 1, 1));
    assert_eq!(needs(100, 101), (2, 100, 1));
    assert_eq!(needs(100, 99), (2, 199, 2));
    assert_eq!(needs(UNKNOWN, 1), (2, 1, 0));
}

/// A fetched message frees its room; the peak counts what was needed at once.
#[test]
fn room_is_given_back() {
    let sends: Vec<_> =
        (0..3).map(|tag| Transfer { bytes: 30 + tag as u32, ..send(1, tag) }).collect();
    let receives: Vec<_> =
        (0..3).map(|tag| Transfer { bytes: 99, ..receive(0, tag, End::Ignored) }).collect();
    let mut run = run(&sends, &receives);
    // Each message comes just before its receive.
    for (rank, first) in [(0, 10), (1, 15)] {
        let times = (first..).step_by(10).zip(&mut run.programs[rank].steps);
        times.for_each(|(at, step)| step.at_ns = at);
    }
    let needs = report(&run, OrderChoice::Time).application.needs;
    assert_eq!((needs.unexpected, needs.unexpected_bytes, needs.unexpected_buffers), (1, 32, 1));
    assert_eq!(needs.descriptors, 0);
}

#[test]
fn shortages_begin_one_above_the_room() {
    let sends: Vec<_> = (0..3).map(|tag| Transfer { bytes: 30, ..send(1, tag) }).collect();
    let posts: Vec<_> = (0..3).map(|tag| receive(0, tag, End::Pending)).collect();
    let shortage = |run: &Run, set: &dyn Fn(&mut dpa_model::NicConfig)| {
        let mut question = question(OrderChoice::PostsFirst);
        set(&mut question.plan.nic);
        let needs = Report::make(run, &question, |_| ()).expect("a report").application.needs;
        needs.fallback.map(|fallback| fallback.shortage)
    };
    let (sent, posted) = (run(&sends, &[]), run(&[], &posts));
    assert_eq!(shortage(&posted, &|nic| nic.receives = 3), None);
    assert_eq!(shortage(&posted, &|nic| nic.receives = 2), Some(Shortage::Descriptors));
    assert_eq!(shortage(&sent, &|nic| (nic.unexpected, nic.unexpected_buffers) = (3, 3)), None);
    assert_eq!(
        shortage(&sent, &|nic| (nic.unexpected, nic.unexpected_buffers) = (2, 2)),
        Some(Shortage::UnexpectedEntries)
    );
    assert_eq!(
        shortage(&sent, &|nic| (nic.unexpected, nic.unexpected_buffers) = (3, 2)),
        Some(Shortage::UnexpectedBuffers)
    );
    assert_eq!(shortage(&sent, &|nic| nic.communicators = 1), None);
    // A second communicator: every rank is alone in it.
    let alone = Transfer { comm: 1, ..receive(0, 0, End::Pending) };
    let two = run(&[], &[posts[0], alone]);
    assert_eq!(shortage(&two, &|nic| nic.communicators = 2), None);
    assert_eq!(shortage(&two, &|nic| nic.communicators = 1), Some(Shortage::Communicators));
    let options = [
        (Shortage::Descriptors, "--receives"),
        (Shortage::UnexpectedEntries, "--unexpected"),
        (Shortage::UnexpectedBuffers, "--unexpected-buffers"),
        (Shortage::Communicators, "--communicators"),
    ];
    assert!(options.iter().all(|&(shortage, option)| shortage.option().0 == option));
}
