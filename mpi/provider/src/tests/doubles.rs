//! Two sides that call each other at the same time end with one connection.

use super::messages::exchange;
use super::regions::register;
use super::rogue::{address, still_works, totals, until};
use super::side::{Side, pair, pattern};
use crate::bindings::*;
use crate::wire::{Kind, Link, PeerId, Record, connect, flag};

fn connections(side: &Side) -> usize {
    side.state(|state| state.endpoints[0].connections_and_places().0)
}

/// Calls the other side, whether or not it has called.
fn call(side: &Side) {
    side.state(|state| state.endpoints[0].call_anyway(&mut state.common, PeerId(0)));
}

/// Enough turns to look at the sockets a few times.
fn turns(sides: &[&Side]) {
    for _ in 0..1000 {
        sides.iter().for_each(|side| side.progress());
    }
}

/// Turns until each side has one connection.
fn join(a: &Side, b: &Side) {
    let mut patience = super::side::Patience::default();
    while (connections(a), connections(b)) != (1, 1) {
        a.progress();
        b.progress();
        assert!(patience.lasts(), "two connections stay");
    }
}

/// A side that sends first to a peer that has called uses that connection.
#[test]
fn a_caller_that_waits_is_let_in_before_a_call() {
    let (a, b, to_b, to_a) = pair(|_| ());
    assert_eq!(a.send(&[1; 8], to_b, 1, 1), 0);
    assert_eq!(b.send(&[2; 8], to_a, 2, 2), 0);
    turns(&[&a, &b]);
    assert_eq!((connections(&a), connections(&b)), (1, 1));
    assert_eq!((a.wait(&[]).context(), b.wait(&[]).context()), (1, 2));
    assert_eq!((totals(&a).connected, totals(&b).connected), (1, 1));
}

/// Both call, and messages of all lengths go both ways meanwhile: none is lost or overtaken.
#[test]
fn of_two_calls_one_connection_stays() {
    const MESSAGES: usize = 300;
    for turn in 0..4 {
        let (a, b, to_b, to_a) = pair(|_| ());
        call(&a);
        call(&b);
        let mut buffers = vec![[[0_u64; 3000]; 2]; MESSAGES];
        let bytes: Vec<_> = (0..MESSAGES)
            .map(|number| vec![number as u8; [8, 24, 900, 9000, 20_000][number % 5]])
            .collect();
        for [first, second] in &mut buffers {
            for (side, from, buffer) in [(&a, to_b, first), (&b, to_a, second)] {
                // SAFETY: the words of the buffer, as bytes.
                let (_, buffer, _) = unsafe { buffer.align_to_mut::<u8>() };
                assert_eq!(side.receive(buffer, from, (7, 0), MESSAGES), 0);
            }
        }
        let mut lengths = [Vec::new(), Vec::new()];
        let mut ended = 0;
        let mut read = |ended: &mut usize| {
            for (side, lengths) in [&a, &b].into_iter().zip(&mut lengths) {
                while let Some(done) = side.read() {
                    assert_eq!(done.err, 0);
                    *ended += 1;
                    if done.context() == MESSAGES {
                        lengths.push(done.entry.len);
                    }
                }
            }
        };
        for (number, bytes) in bytes.iter().enumerate() {
            for (side, to) in [(&a, to_b), (&b, to_a)] {
                while side.send(bytes, to, 7, number) == -(FI_EAGAIN as isize) {
                    read(&mut ended);
                }
            }
            // A pace that differs, so that the sides let go at different messages.
            if number % (turn + 1) == turn {
                read(&mut ended);
            }
        }
        let mut patience = super::side::Patience::default();
        while ended < 4 * MESSAGES {
            read(&mut ended);
            assert!(patience.lasts(), "{ended} operations have ended");
        }
        let sent: Vec<_> = bytes.iter().map(Vec::len).collect();
        assert!(lengths.iter().all(|lengths| *lengths == sent));
        join(&a, &b);
        for side in [&a, &b] {
            assert_eq!((totals(side).connected, totals(side).lost), (2, 0));
            assert_eq!(side.state(|state| state.endpoints[0].held()), []);
        }
        exchange(&a, &b, to_b, to_a);
        exchange(&b, &a, to_a, to_b);
    }
}

/// A sender does not go over to the other connection before the peer has taken all messages.
#[test]
fn no_message_overtakes_those_on_the_surplus() {
    // The identities are random: the call of either side stays.
    for _ in 0..16 {
        let (a, b, to_b, to_a) = pair(|_| ());
        call(&a);
        call(&b);
        let mut buffers = [[0; 24]; 3];
        for (number, buffer) in buffers.iter_mut().enumerate() {
            assert_eq!(b.receive(buffer, to_a, (1, 0), number), 0);
            assert_eq!(a.send(&[7; 24][..8 * number + 8], to_b, 1, number), 0);
            turns(&[&a]);
        }
        let lengths = buffers.map(|_| b.wait(&[]).entry.len);
        assert_eq!(lengths, [8, 16, 24]);
    }
}

/// A message that waits for its receive needs the connection over which it was announced.
#[test]
fn an_announced_message_keeps_its_connection() {
    let (a, b, to_b, to_a) = pair(|_| ());
    call(&a);
    call(&b);
    let long = vec![3; 100_000];
    assert_eq!(a.send(&long, to_b, 1, 1), 0);
    assert_eq!(b.send(&long, to_a, 1, 1), 0);
    turns(&[&a, &b]);
    assert_eq!((connections(&a), connections(&b)), (2, 2));
    let mut buffers = [vec![0; 100_000], vec![0; 100_000]];
    assert_eq!(a.receive(&mut buffers[0], to_b, (1, 0), 2), 0);
    assert_eq!(b.receive(&mut buffers[1], to_a, (1, 0), 2), 0);
    for (side, other) in [(&a, &b), (&a, &b), (&b, &a), (&b, &a)] {
        assert_eq!(side.wait(&[other]).err, 0);
    }
    assert!(buffers.iter().all(|buffer| *buffer == long));
    join(&a, &b);
}

/// A peer with two connections, of which the one that it made breaks rules: the endpoint's other
/// connection with it stays. The two sides, the endpoint's address for the first, and the link.
fn surplus_of_a_peer() -> (Side, Side, u64, u64, Link) {
    loop {
        // Transfers go by pieces, so that they take as long as the peer lets them.
        let (a, b, to_b, to_a) = pair(|options| options.read_peers = false);
        if address(&a).identity < address(&b).identity {
            continue;
        }
        let link = connect(&address(&a), &address(&b), 1024, None).expect("a link");
        until(&b, |seen| seen.connected == 1);
        call(&b);
        turns(&[&a, &b]);
        assert_eq!((connections(&a), connections(&b)), (1, 2));
        return (a, b, to_b, to_a, link);
    }
}

/// A peer says that it needs a surplus connection no more while it still moves data there. The
/// endpoint lets go of it when the data have moved, and not before.
#[test]
fn data_that_move_keep_their_connection() {
    const LONG: usize = 1 << 20;
    let record = |kind, body| Record {
        flags: flag::ACK | flag::TAGGED,
        cookie: 70,
        body,
        ..Record::new(kind)
    };
    let lent = record(Kind::Read, [100, 60, 1]);
    let pieces = record(Kind::Read, [LONG as u64, 60, 0]);
    let write = record(Kind::WriteLong, [100, 0, 0]);
    let message = record(Kind::Rendezvous, [100, 8, 0]);
    for (what, operation) in [
        ("memory that is lent", Some(lent)),
        ("data that are sent", Some(pieces)),
        ("data that are requested", Some(write)),
        ("an announced message", Some(message)),
        ("nothing", None),
    ] {
        for ends_well in [true, false] {
            let (a, b, to_b, to_a, mut link) = surplus_of_a_peer();
            let mut memory = pattern(1, LONG);
            let access = FI_REMOTE_READ | FI_REMOTE_WRITE;
            let (_, key) = register(&b, &mut memory, access);
            let address = memory.as_ptr() as u64;
            if let Some(operation) = operation {
                let is_message = operation.kind == Kind::Rendezvous;
                let (tag, data) = if is_message { (5, 0) } else { (address, key) };
                let record = Record {
                    tag,
                    data,
                    ..operation
                };
                assert_eq!(link.put_head(record), Ok(true));
                turns(&[&b]);
            }
            assert_eq!(link.put_head(Record::new(Kind::Leave)), Ok(true));
            turns(&[&a, &b]);
            let stays = 1 + usize::from(operation.is_some());
            assert_eq!((connections(&b), totals(&b).lost), (stays, 0), "{what}");
            if !ends_well {
                drop(link);
            } else if operation.is_some() {
                let mut buffer = vec![0; 100];
                if what == "an announced message" {
                    assert_eq!(b.receive(&mut buffer, FI_ADDR_UNSPEC, (5, 0), 9), 0);
                }
                end_of(&b, &mut link, what);
                if what == "an announced message" {
                    assert_eq!((b.wait(&[]).context(), &buffer), (9, &pattern(7, 100)));
                }
                turns(&[&a, &b]);
                assert_eq!((connections(&b), totals(&b).lost), (1, 0), "{what}");
            }
            turns(&[&a, &b]);
            assert_eq!(connections(&b), 1, "{what}");
            still_works(&a, &b, to_b);
            still_works(&b, &a, to_a);
        }
    }
}

/// Does a peer's part of what is under way: takes pieces, sends those that are requested, returns
/// what was lent.
fn end_of(b: &Side, link: &mut Link, what: &str) {
    let mut bytes = pattern(7, 100);
    let iov = [IoVec {
        iov_base: bytes.as_mut_ptr().cast(),
        iov_len: bytes.len(),
    }];
    let mut patience = super::side::Patience::default();
    // The last piece is sent: nothing keeps the connection any more.
    while connections(b) == 2 {
        b.progress();
        link.release();
        link.on_readable();
        assert!(patience.lasts(), "{what}");
        let Some((record, _)) = link.next().expect("a link") else {
            continue;
        };
        match record.kind {
            Kind::Leave | Kind::Data => {}
            Kind::Grant => {
                let returned = Record {
                    cookie: record.body[1],
                    ..Record::new(Kind::Return)
                };
                assert_eq!(link.put_head(returned), Ok(true));
                return;
            }
            Kind::Pull => {
                let piece = Record {
                    bytes: 100,
                    cookie: record.body[0],
                    ..Record::new(Kind::Data)
                };
                // SAFETY: the list holds 100 bytes.
                assert_eq!(unsafe { link.put_in(true, piece, &iov, 0) }, Ok(true));
                return;
            }
            other => panic!("{what}: {other:?}"),
        }
    }
}
