//! The worked examples X1 to X5 (docs/decisions.md): the receive and the path of each message in a
//! block.
//!
//! One worker runs each block, so every handler books before any consumes, and paths match the
//! examples.

use dpa_model::{
    CommId, Counts, Domains, Envelope, Event, FastPath, Hints, Nic, NicConfig, Options, Rank,
    RequestId, Selector, SourceSel, Tag, TagSel,
};

const COMM: CommId = CommId(0);

/// The smallest NIC for the examples: Miri follows every byte.
fn small() -> NicConfig {
    NicConfig {
        receives: 64,
        completion_queue: 64,
        bounce_buffers: 64,
        eager_limit: 64,
        unexpected: 64,
        unexpected_buffers: 64,
        command_queue: 64,
        completion_ring: 64,
        regions: 1,
        ..NicConfig::default()
    }
}

fn rank(number: u32) -> Rank {
    Rank::new(number).expect("a rank")
}

fn tag(number: u32) -> Tag {
    Tag::new(number).expect("a tag")
}

fn exact(source: u32, number: u32) -> Selector {
    Selector::new(rank(source), tag(number))
}

fn from_any(number: u32) -> Selector {
    Selector::new(SourceSel::Any, tag(number))
}

fn anything() -> Selector {
    Selector::new(SourceSel::Any, TagSel::Any)
}

/// The paper's phases for every block.
fn optimistic() -> Options {
    Options {
        always_shared: true,
        domains: Domains::Paper,
        ..Options::default()
    }
}

/// Posts `receives`, sends `messages`, runs one block. Returns each message's receive, and the
/// counters.
fn block(
    options: Options,
    receives: &[Selector],
    messages: &[(u32, u32)],
) -> (Vec<Option<usize>>, Counts) {
    let options = Options {
        always_shared: true,
        domains: Domains::Paper,
        ..options
    };
    let config = NicConfig {
        handlers: 4,
        bins: 8,
        options,
        ..small()
    };
    let mut nic = Nic::new(&config).expect("a sound configuration");
    nic.host.create(COMM, 8, Hints::default(), 0).expect("room");
    let requests: Vec<_> = receives
        .iter()
        .map(|&selector| nic.host.post(COMM, selector, vec![0; 8], 0).expect("room"))
        .collect();
    for &(source, number) in messages {
        let envelope = Envelope {
            comm: COMM,
            source: rank(source),
            tag: tag(number),
        };
        nic.sender.try_send(envelope, b"12345678", 0).expect("room");
    }
    let got = run(&mut nic, &requests);
    let of = |arrival: usize| {
        got.iter()
            .find(|taken| taken.0 == arrival)
            .map(|taken| taken.1)
    };
    (
        (0..messages.len()).map(of).collect(),
        nic.host.monitor().counts(),
    )
}

/// Runs one block. Returns the arrival number of each message received and the place of its
/// receive.
fn run(nic: &mut Nic, requests: &[RequestId]) -> Vec<(usize, usize)> {
    nic.leader.round(1);
    let received = |event| match event {
        Event::Received {
            request, message, ..
        } => {
            let place = requests.iter().position(|&posted| posted == request);
            Some((message.arrival as usize, place.expect("posted")))
        }
        _ => None,
    };
    std::iter::from_fn(|| nic.host.poll())
        .filter_map(received)
        .collect()
}

/// Clean, fast, slow, forced, unexpected.
fn paths(counts: &Counts) -> [u64; 5] {
    let h = counts.handlers;
    [h.clean, h.fast, h.slow, h.forced, h.unexpected]
}

const EQUAL: [(u32, u32); 4] = [(0, 7); 4];

#[test]
fn x1_one_sequence_is_clean_fast_or_a_chain() {
    let with = |fast_path| Options {
        fast_path,
        ..Options::default()
    };
    for (options, expected, conflicts) in [
        (with(FastPath::Sequence), [1, 3, 0, 0, 0], 1),
        (with(FastPath::Prefix), [1, 3, 0, 0, 0], 1),
        (with(FastPath::Literal), [1, 3, 0, 0, 0], 1),
        (with(FastPath::Off), [1, 0, 3, 0, 0], 1),
        (
            Options {
                early_check: true,
                ..Options::default()
            },
            [4, 0, 0, 0, 0],
            0,
        ),
    ] {
        let (got, counts) = block(options, &[exact(0, 7); 4], &EQUAL);
        assert_eq!(got, [Some(0), Some(1), Some(2), Some(3)]);
        assert_eq!(paths(&counts), expected, "{options:?}");
        let boundary = counts.boundary;
        assert_eq!(
            (boundary.blocks, boundary.conflict_blocks),
            (1, conflicts),
            "{options:?}"
        );
    }
}

#[test]
fn x2_a_wildcard_in_between_ends_the_sequence() {
    let receives = [exact(0, 7), exact(0, 7), from_any(7), exact(0, 7)];
    let (got, counts) = block(Options::default(), &receives, &EQUAL);
    assert_eq!(got, [Some(0), Some(1), Some(2), Some(3)]);
    assert_eq!(paths(&counts), [1, 1, 2, 0, 0]);
    assert_eq!(
        counts.handlers.refused_sequence + counts.handlers.refused_exhausted,
        2
    );
}

#[test]
fn x3_too_few_receives_leave_messages_in_arrival_order() {
    let (got, counts) = block(Options::default(), &[exact(0, 7); 2], &EQUAL);
    assert_eq!(got, [Some(0), Some(1), None, None]);
    assert_eq!(paths(&counts), [1, 1, 2, 0, 2]);
    assert_eq!(counts.boundary.arrivals_stored, 2);
}

#[test]
fn x4_a_forced_handler_keeps_its_own() {
    let receives = [exact(0, 7), exact(1, 9), anything()];
    let messages = [(0, 7), (0, 7), (1, 9), (0, 7)];
    let (got, counts) = block(Options::default(), &receives, &messages);
    assert_eq!(got, [Some(0), Some(2), Some(1), None]);
    assert_eq!(paths(&counts), [1, 0, 3, 1, 1]);
}

#[test]
fn x5_a_forced_handler_loses_its_own() {
    let receives = [exact(0, 7), from_any(7)];
    let (got, counts) = block(Options::default(), &receives, &[(0, 7), (0, 7), (1, 7)]);
    assert_eq!(got, [Some(0), Some(1), None]);
    assert_eq!(paths(&counts), [1, 0, 2, 0, 1]);
}

/// S25: the shift of the fast path counts only the handlers of the same communicator.
#[test]
fn two_communicators_in_one_block_do_not_shift_each_other() {
    let config = NicConfig {
        handlers: 8,
        bins: 8,
        options: optimistic(),
        ..small()
    };
    let mut nic = Nic::new(&config).expect("a sound configuration");
    let mut requests = Vec::new();
    for comm in [CommId(0), CommId(1)] {
        nic.host.create(comm, 8, Hints::default(), 0).expect("room");
        for _ in 0..4 {
            requests.push(
                nic.host
                    .post(comm, exact(0, 7), vec![0; 8], 0)
                    .expect("room"),
            );
        }
    }
    for comm in [0, 1, 1, 0, 1, 0, 0, 1].map(CommId) {
        let envelope = Envelope {
            comm,
            source: rank(0),
            tag: tag(7),
        };
        nic.sender.try_send(envelope, &[], 0).expect("room");
    }
    let mut got = run(&mut nic, &requests);
    got.sort_unstable();
    assert!(got.into_iter().eq((0..).zip([0, 4, 5, 1, 6, 2, 3, 7])));
    // The first handler of each communicator comes before the first conflict (handler 2); the
    // others are fast.
    assert_eq!(paths(&nic.host.monitor().counts()), [2, 6, 0, 0, 0]);
}

/// A receive posted between two runs of one key is not in their sequences; a cancel splits a
/// sequence (S11).
#[test]
fn a_cancel_inside_a_sequence_ends_the_fast_path_there() {
    let config = NicConfig {
        handlers: 4,
        bins: 8,
        options: optimistic(),
        ..small()
    };
    let mut nic = Nic::new(&config).expect("a sound configuration");
    nic.host.create(COMM, 8, Hints::default(), 0).expect("room");
    let requests: Vec<_> = (0..5)
        .map(|_| {
            nic.host
                .post(COMM, exact(0, 7), vec![0; 8], 0)
                .expect("room")
        })
        .collect();
    nic.host.cancel(requests[1], 0).expect("room");
    for _ in 0..4 {
        let envelope = Envelope {
            comm: COMM,
            source: rank(0),
            tag: tag(7),
        };
        nic.sender.try_send(envelope, &[], 0).expect("room");
    }
    assert_eq!(run(&mut nic, &requests), [(0, 0), (1, 2), (2, 3), (3, 4)]);
    assert_eq!(paths(&nic.host.monitor().counts()), [1, 0, 3, 0, 0]);
}

/// One key lands in one bin; another key of another class in a bin of its own; the bins know how
/// full they are.
#[test]
fn bins_tell_how_they_are_used() {
    let mut nic = Nic::new(&NicConfig {
        communicators: 1,
        bins: 8,
        ..small()
    })
    .expect("sound");
    nic.host.create(COMM, 8, Hints::default(), 0).expect("room");
    for selector in [exact(0, 7), exact(0, 7), exact(0, 7), from_any(7)] {
        nic.host.post(COMM, selector, Vec::new(), 0).expect("room");
    }
    nic.leader.round(1);
    let filled = nic.host.monitor().bin_use();
    assert_eq!(
        (filled.bins, filled.used, filled.occupied, filled.longest),
        (25, 2, 2, 3)
    );
    let envelope = Envelope {
        comm: COMM,
        source: rank(0),
        tag: tag(7),
    };
    (0..3).for_each(|_| nic.sender.try_send(envelope, &[], 0).expect("room"));
    nic.leader.round(1);
    let emptied = nic.host.monitor().bin_use();
    assert_eq!((emptied.used, emptied.occupied, emptied.longest), (2, 1, 1));
}
