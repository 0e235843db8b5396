//! Ranges, selectors, sets of classes and operations.

use dpamatch_vocabulary::WildcardClass::{Any, AnySource, AnyTag, Exact};
use dpamatch_vocabulary::{
    ClassSet, CommId, Envelope, Hints, MsgId, Operation, OutOfRange, Outcome, ProbeId, RANK_MAX,
    Rank, RecvId, Selector, SourceSel, TAG_MAX, Tag, TagSel, WildcardClass,
};

fn rank(number: u32) -> Rank {
    Rank::new(number).expect("a rank")
}

fn tag(number: u32) -> Tag {
    Tag::new(number).expect("a tag")
}

#[test]
fn ranks_and_tags_have_31_bits() {
    assert_eq!((rank(0).get(), rank(RANK_MAX).get()), (0, 0x7fff_ffff));
    assert_eq!((tag(0).get(), tag(TAG_MAX).get()), (0, 0x7fff_ffff));
    assert_eq!(Rank::new(RANK_MAX + 1), Err(OutOfRange(0x8000_0000)));
    assert_eq!(Tag::new(u32::MAX), Err(OutOfRange(u32::MAX)));
    assert_eq!(
        OutOfRange(0x8000_0000).to_string(),
        "2147483648 is above 2147483647"
    );
}

/// Every kind of selector, its class, and whether it accepts the four messages of ranks 1, 2 and
/// tags 5, 6: (1, 5), (1, 6), (2, 5), (2, 6).
#[test]
fn selectors_accept_what_they_name() {
    let cases = [
        (
            Selector::new(rank(1), tag(5)),
            Exact,
            [true, false, false, false],
        ),
        (
            Selector::new(SourceSel::Any, tag(5)),
            AnySource,
            [true, false, true, false],
        ),
        (
            Selector::new(rank(1), TagSel::Any),
            AnyTag,
            [true, true, false, false],
        ),
        (Selector::new(SourceSel::Any, TagSel::Any), Any, [true; 4]),
    ];
    for (selector, class, accepted) in cases {
        assert_eq!(selector.class(), class);
        let messages = [(1, 5), (1, 6), (2, 5), (2, 6)];
        assert_eq!(
            messages.map(|(source, number)| selector.accepts(rank(source), tag(number))),
            accepted,
            "{selector:?}"
        );
    }
}

#[test]
fn sets_hold_what_was_put_in() {
    assert!(ClassSet::EMPTY.is_empty() && !ClassSet::ALL.is_empty());
    for bits in 0..16 {
        let members: Vec<WildcardClass> = WildcardClass::ALL
            .into_iter()
            .filter(|&class| bits >> class as u8 & 1 != 0)
            .collect();
        let set = ClassSet::from_classes(&members);
        let mut inserted = ClassSet::EMPTY;
        members.iter().for_each(|&class| inserted.insert(class));
        assert_eq!(set, inserted);
        assert_eq!(set.is_empty(), members.is_empty());
        assert_eq!(ClassSet::from_bits(bits as u8 | 0xF0), set);
        let alone = if let [one] = members[..] {
            Some(one)
        } else {
            None
        };
        assert_eq!(set.only(), alone);
        for class in WildcardClass::ALL {
            assert_eq!(set.contains(class), members.contains(&class));
            let other = ClassSet::from_classes(&[class]);
            assert_eq!(
                set.exceeds(other),
                members.iter().any(|&member| member != class)
            );
        }
        assert!(!set.exceeds(set) && !set.exceeds(ClassSet::ALL));
    }
}

#[test]
fn operations_say_what_they_are_about() {
    let comm = CommId(7);
    let selector = Selector::new(rank(1), tag(2));
    let envelope = Envelope {
        comm,
        source: rank(1),
        tag: tag(2),
    };
    let post = Operation::Post {
        recv: RecvId(1),
        comm,
        selector,
        bytes: 8,
    };
    let arrive = Operation::Arrive {
        msg: MsgId(1),
        envelope,
        bytes: 8,
    };
    let cancel = Operation::Cancel { recv: RecvId(1) };
    let others = [
        Operation::Probe {
            probe: ProbeId(1),
            comm,
            selector,
            take: true,
        },
        Operation::Create {
            comm,
            bins: 1,
            hints: Hints::default(),
        },
        Operation::Free { comm },
    ];
    for mut operation in others.into_iter().chain([post, arrive]) {
        assert_eq!(operation.comm(), Some(comm));
        assert_eq!(operation.is_arrival(), operation == arrive);
        *operation.comm_mut().expect("it names one") = CommId(8);
        assert_eq!(operation.comm(), Some(CommId(8)));
    }
    assert_eq!((cancel.comm(), cancel.is_arrival()), (None, false));
    // Only receives' buffers and messages have bytes.
    let twice = |bytes| 2 * bytes;
    let Operation::Post { bytes, .. } = post.map_bytes(twice) else {
        panic!("a post")
    };
    assert_eq!(bytes, 16);
    let Operation::Arrive { bytes, .. } = arrive.map_bytes(twice) else {
        panic!("a message")
    };
    assert_eq!(bytes, 16);
    assert_eq!(cancel.map_bytes(|_| 0), cancel);
}

#[test]
fn outcomes_are_written_as_lines_and_as_json() {
    let (recv, msg, probe) = (RecvId(3), MsgId(5), ProbeId(7));
    let cases = [
        (
            Outcome::Matched { recv, msg },
            "matched,3,5",
            r#"{"result":"matched","recv":3,"msg":5}"#,
        ),
        (
            Outcome::Probed {
                probe,
                msg: Some(msg),
            },
            "probed,7,5",
            r#"{"result":"probed","id":7,"msg":5}"#,
        ),
        (
            Outcome::Mprobed { probe, msg: None },
            "mprobed,7,none",
            r#"{"result":"mprobed","id":7,"msg":null}"#,
        ),
        (
            Outcome::Cancelled { recv },
            "cancelled,3",
            r#"{"result":"cancelled","recv":3}"#,
        ),
        (
            Outcome::TooLate { recv },
            "too-late,3",
            r#"{"result":"too-late","recv":3}"#,
        ),
        (
            Outcome::Posted { recv },
            "posted,3",
            r#"{"result":"posted","recv":3}"#,
        ),
        (
            Outcome::Unexpected { msg },
            "unexpected,5",
            r#"{"result":"unexpected","msg":5}"#,
        ),
    ];
    for (outcome, line, json) in cases {
        assert_eq!(
            (outcome.to_string(), outcome.to_json().to_string()),
            (line.into(), json.into())
        );
        let left = line.starts_with("posted") || line.starts_with("unexpected");
        assert_eq!(outcome.is_leftover(), left, "{line}");
    }
}

/// `port/kit/matching/player.c` reads these records.
#[test]
fn operations_are_records_of_six_words() {
    let comm = CommId(3);
    let operations = [
        Operation::Post {
            recv: RecvId(1),
            comm,
            selector: Selector::new(rank(5), tag(7)),
            bytes: 8,
        },
        Operation::Arrive {
            msg: MsgId(u64::MAX),
            envelope: Envelope {
                comm,
                source: rank(RANK_MAX),
                tag: tag(TAG_MAX),
            },
            bytes: u32::MAX,
        },
        Operation::Cancel { recv: RecvId(2) },
        Operation::Probe {
            probe: ProbeId(4),
            comm,
            selector: Selector::new(SourceSel::Any, tag(0)),
            take: false,
        },
        Operation::Probe {
            probe: ProbeId(4),
            comm,
            selector: Selector::new(rank(0), TagSel::Any),
            take: true,
        },
    ];
    for (kind, operation) in (0..).zip(operations) {
        let record = operation.to_record().expect("a record");
        assert_eq!(record[..8], [kind, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(Operation::from_record(&record), Some(operation));
    }
    let record = operations[0].to_record().expect("a record");
    let words: Vec<u8> = record.iter().copied().step_by(8).collect();
    assert_eq!(words, [0, 1, 3, 5, 7, 8]);
    for (place, wrong) in [(0, 5), (20, 1), (28, 1), (27, 128), (44, 1)] {
        let mut record = record;
        record[place] = wrong;
        assert_eq!(Operation::from_record(&record), None, "{place}");
    }
    assert_eq!(Operation::Free { comm }.to_record(), None);
}
