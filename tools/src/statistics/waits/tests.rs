use super::*;

/// An entry: what, the peer's rank, tag, kind and communicator.
type Told = (&'static str, Option<u32>, Option<i64>, &'static str, u64);

/// Rank `rank` with these entries, the first the oldest: ages fall by 1,500 ms.
fn endpoint(rank: u32, entries: &[Told]) -> Endpoint {
    let entry = |(at, &(what, peer, tag, kind, communicator)): (usize, &Told)| Entry {
        what: what.to_owned(),
        peer: peer.map(|peer| format!("{:08x}", 0xa0 + peer)),
        tag,
        communicator,
        kind: kind.to_owned(),
        bytes: 8 + at as u64,
        age_ms: 9000 - 1500 * at as u64,
    };
    let entries = entries.iter().enumerate().map(entry).collect();
    let text = r#"{"engine": "", "library": "", "kinds": {}, "communicators": [], "depth":
        {"begin_unix_ns": 0, "column_ns": 1, "posted": [], "unexpected": [], "messages": []}}"#;
    let endpoint: Endpoint = serde_json::from_str(text).expect("an endpoint");
    assert!(endpoint.closed, "statistics of earlier versions are of the end");
    let name = format!("rank-{rank}-{:08x}", 0xa0 + rank);
    Endpoint { name, waiting: Waiting { entries, ..Waiting::default() }, ..endpoint }
}

/// Findings, and the rows of both tables as CSV without headings.
fn seen(ranks: &[(&[Told], State)]) -> (Vec<String>, String, String) {
    let all: Vec<_> = ranks
        .iter()
        .enumerate()
        .map(|(rank, &(entries, state))| (endpoint(rank as u32, entries), state))
        .collect();
    let tables = waits(&all);
    let rows = |table: &Table| table.csv().split_once('\n').expect("a heading").1.to_owned();
    let findings = tables[0].rows.iter().map(|row| match &row[0] {
        Cell::Text(text) => text.clone(),
        other => panic!("{other:?}"),
    });
    (findings.collect(), rows(&tables[1]), rows(&tables[2]))
}

use State::{Answered, Closed, Gone, Silent};

#[test]
fn a_wrong_tag_is_named() {
    let (findings, waits, unexpected) = seen(&[
        (
            &[
                ("receive", Some(1), Some(6), "user", 4),
                ("message", Some(2), Some(6), "user", 4),
                ("message", Some(1), Some(5), "user", 4),
                ("message", Some(1), Some(6), "user", 5),
                ("message", Some(1), Some(5), "user", 4),
            ],
            Answered,
        ),
        (
            &[("receive", None, Some(6), "user", 4), ("message", Some(0), Some(9), "user", 7)],
            Answered,
        ),
        (&[("receive", None, None, "user", 4), ("message", Some(0), Some(9), "user", 7)], Answered),
    ]);
    assert_eq!(
        findings,
        [
            "wrong tag: rank 0 waits for tag 6 from rank 1, and it has tag 5 from rank 1",
            "wrong communicator: rank 2 waits for any tag from any source, and it has tag 9 from \
             rank 0 in user 7",
        ],
        "the wrong tag before the wrong source and communicator"
    );
    assert_eq!(
        waits,
        "rank 0,message from,rank 1,6,user 4,1,9,\"rank 1, tag 5, user 4: wrong tag\"\n\
         rank 1,message from,any source,6,user 4,1,9,\n\
         rank 2,message from,any source,any,user 4,1,9,\"rank 0, tag 9, user 7: wrong communicator\"\n"
    );
    assert_eq!(
        unexpected,
        "rank 0,rank 1,5,user 4,2,22,6\nrank 0,rank 1,6,user 5,1,11,4.5\n\
         rank 0,rank 2,6,user 4,1,9,7.5\nrank 1,rank 0,9,user 7,1,9,7.5\n\
         rank 2,rank 0,9,user 7,1,9,7.5\n"
    );
}

#[test]
fn sends_in_a_cycle_are_one_finding() {
    // A synchronous send has an answer to wait for, too. Rank 3 waits for the cycle.
    let (findings, waits, _) = seen(&[
        (
            &[("send", Some(1), Some(7), "user", 0), ("answer", Some(1), Some(7), "user", 0)],
            Answered,
        ),
        (&[("send", Some(2), Some(7), "user", 0), ("send", Some(2), Some(7), "user", 0)], Answered),
        (&[("receive", Some(0), Some(8), "collective", 0)], Answered),
        (&[("answer", Some(0), Some(3), "user", 0)], Answered),
    ]);
    assert_eq!(
        findings,
        [
            "rank 2 waits in a collective operation of communicator 0 for rank 0, which is not \
             waiting in it",
            "cycle: rank 0 sends to rank 1 (tag 7), rank 1 sends to rank 2 (tag 7), rank 2 \
             receives from rank 0 (collective)"
        ]
    );
    let counts: Vec<_> = waits.lines().map(|line| line.split(',').nth(5)).collect();
    assert_eq!(counts, [Some("1"), Some("2"), Some("1"), Some("1")]);
    // The shortest of two cycles; a wait for oneself is one, too.
    let wait = |peer| ("receive", Some(peer), Some(1), "user", 0);
    let (findings, ..) =
        seen(&[(&[wait(1)], Answered), (&[wait(2), wait(0)], Answered), (&[wait(0)], Answered)]);
    assert_eq!(
        findings,
        ["cycle: rank 0 receives from rank 1 (tag 1), rank 1 receives from rank 0 (tag 1)"]
    );
    let (findings, ..) = seen(&[(&[wait(0)], Answered)]);
    assert_eq!(findings, ["cycle: rank 0 receives from rank 0 (tag 1)"]);
}

#[test]
fn a_send_whose_receiver_asks_for_another_tag() {
    let (findings, waits, _) = seen(&[
        (&[("send", Some(1), Some(7), "user", 0)], Answered),
        (
            &[("receive", None, Some(7), "user", 1), ("receive", Some(0), Some(8), "user", 0)],
            Answered,
        ),
    ]);
    assert_eq!(findings[0], "wrong tag: rank 0 sends tag 7 to rank 1, and rank 1 waits for tag 8");
    assert!(waits.starts_with(
        "rank 0,receive by,rank 1,7,user 0,1,9,\"receive, tag 8, user 0: wrong tag\"\n"
    ));
}

#[test]
fn those_that_are_absent_come_first() {
    let wait = |peer| ("receive", Some(peer), Some(2), "user", 0);
    for (state, words) in [
        (Silent, "makes no progress in MPI: it computes, sleeps or is stopped"),
        (Closed, "has finished its communication"),
        (Gone, "has ended without MPI_Finalize"),
    ] {
        // What one that is absent said earlier does not count.
        let (findings, waits, _) =
            seen(&[(&[wait(2)], Answered), (&[wait(0)], state), (&[wait(1)], Answered)]);
        let expected =
            format!("rank 1 {words}; ranks 0, 2 wait for it, directly or through others");
        assert_eq!(findings, [expected]);
        assert_eq!(waits.lines().count(), 2);
        let (findings, ..) = seen(&[(&[wait(1)], Answered), (&[], state)]);
        assert_eq!(findings, [format!("rank 1 {words}; rank 0 waits for it")]);
        let (findings, ..) = seen(&[(&[wait(7)], Answered), (&[], state)]);
        match state {
            Closed => assert_eq!(findings, ["1 of 1 processes wait for a message"]),
            _ => assert_eq!(findings, [format!("rank 1 {words}")]),
        }
    }
    let (_, waits, _) = seen(&[(&[wait(7)], Answered)]);
    assert!(waits.contains(",process 000000a7,"), "{waits}");
}

#[test]
fn a_collective_operation_without_one_process() {
    let inside = |peer| ("receive", Some(peer), Some(2), "collective", 3);
    let (findings, ..) = seen(&[
        (&[inside(1)], Answered),
        // In another communicator's.
        (&[("receive", Some(2), Some(2), "collective", 4)], Answered),
        (&[inside(1), inside(0)], Answered),
    ]);
    assert_eq!(
        findings[..2],
        [
            "ranks 0, 2 wait in a collective operation of communicator 3 for rank 1, which is not \
             waiting in it",
            "rank 1 waits in a collective operation of communicator 4 for rank 2, which is not \
             waiting in it"
        ]
    );
    assert!(findings[2].starts_with("cycle: "), "{findings:?}");
}

#[test]
fn a_wildcard_that_took_the_message_is_named() {
    let taken = |peer, tag| ("taken from any source", Some(peer), Some(tag), "user", 0);
    let wait = ("receive", Some(1), Some(3), "user", 0);
    let (findings, _, unexpected) = seen(&[
        (&[taken(1, 3), wait, taken(1, 4), taken(1, 3), taken(2, 3)], Answered),
        (&[], Answered),
    ]);
    let expected = "rank 0 waits for tag 3 from rank 1; 4.5 s ago a receive from any source took \
                    such a message";
    assert_eq!((findings, unexpected.as_str()), (vec![expected.to_owned()], ""));
}

#[test]
fn many_waits_are_cut() {
    let many: Vec<Told> = (0..201).map(|tag| ("receive", None, Some(tag), "user", 0)).collect();
    for (count, notes) in [(200, 1), (201, 2)] {
        let table = &waits(&[(endpoint(0, &[]), Answered), (limited(&many[..count]), Answered)])[1];
        assert_eq!((table.rows.len(), table.notes.len()), (200, notes), "{count}");
    }
}

/// A process without a rank.
fn limited(entries: &[Told]) -> Endpoint {
    let mut endpoint = endpoint(0, &[]);
    endpoint.name = "process-17-0000beef".to_owned();
    endpoint.waiting.entries =
        entries.iter().flat_map(|told| self::endpoint(0, &[*told]).waiting.entries).collect();
    endpoint
}
