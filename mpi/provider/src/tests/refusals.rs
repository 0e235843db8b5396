//! After a refusal or an error everything is as before: nothing is held for what has ended, and
//! what is under way at the same time continues.

use super::regions::{close, register, transfer};
use super::rogue::{peer, still_works, until};
use super::side::{Done, Side, pair, pattern};
use crate::bindings::*;
use crate::wire::{Kind, LONG_MAX, Record};

/// What the operations of a side hold.
fn held(side: &Side) -> Vec<(&'static str, usize)> {
    side.state(|state| state.endpoints[0].held())
}

/// The errors of as many completions, which may come in any order.
fn errors(side: &Side, other: &Side, count: usize) -> Vec<i32> {
    let mut errors: Vec<i32> = (0..count).map(|_| side.wait(&[other]).err).collect();
    errors.sort_unstable();
    errors
}

/// Reads and writes that are refused while long ones are not, in both directions, twice.
#[test]
fn refused_transfers_hold_nothing_and_stop_no_other() {
    const LENGTH: usize = 600_000;
    for read_peers in [true, false] {
        let (a, b, to_b, to_a) = pair(|options| options.read_peers = read_peers);
        let mut memory = [pattern(1, LENGTH), pattern(2, LENGTH)];
        let access = FI_REMOTE_READ | FI_REMOTE_WRITE;
        let [of_a, of_b] = &mut memory;
        let at = [of_a.as_ptr() as u64, of_b.as_ptr() as u64];
        let regions = [register(&a, of_a, access), register(&b, of_b, access)];
        for round in 0..2 {
            let mut all = Vec::new();
            for (from, to, other) in [(&a, to_b, 1), (&b, to_a, 0)] {
                let (_, key) = regions[other];
                for (write, length, key) in [
                    (false, LENGTH, key),
                    (false, 8, key + 1),
                    (true, LENGTH, key + 1),
                    (true, 8, key + 1),
                    (false, LENGTH, key + 1),
                ] {
                    let mut buffer = vec![9; length];
                    transfer(from, write, &mut buffer, to, at[other], key);
                    all.push((other, key == regions[other].1, buffer));
                }
            }
            let expected = [0, FI_EACCES, FI_EACCES, FI_EACCES, FI_EACCES];
            assert_eq!(errors(&a, &b, 5), expected, "round {round}");
            assert_eq!(errors(&b, &a, 5), expected, "round {round}");
            for (other, reads, buffer) in all {
                let same = buffer == memory[other];
                assert!(if reads {
                    same
                } else {
                    buffer.iter().all(|&byte| byte == 9)
                });
            }
            // Writes that are allowed move in pieces where the peers do not read.
            for (from, to, other) in [(&a, to_b, 1), (&b, to_a, 0)] {
                let mut bytes = pattern(3 + 2 * round + other, LENGTH);
                transfer(from, true, &mut bytes, to, at[other], regions[other].1);
                assert_eq!(errors(from, if other == 1 { &b } else { &a }, 1), [0]);
                assert!(memory[other] == bytes);
            }
            for _ in 0..10 {
                a.progress();
                b.progress();
            }
            assert_eq!((held(&a), held(&b)), (vec![], vec![]), "round {round}");
        }
        still_works(&a, &b, to_b);
        for (region, _) in regions {
            close(region);
        }
    }
}

/// A peer ends one read with an error while pieces of it and of another one may come.
#[test]
fn a_read_that_fails_ends_its_own_transfer() {
    let b = Side::open(|options| options.read_peers = false);
    let (from, mut link) = peer(&b, 1024);
    until(&b, |seen| seen.connected == 1);
    let row = b.insert(&from.to_bytes());
    let mut buffers = [[0; 100]; 3];
    let reads = buffers.each_mut().map(|buffer| {
        transfer(&b, false, buffer, row, 8, 9);
        link.next().expect("a link").expect("a request").0
    });
    let three = [
        ("sends, writes and reads", 3),
        ("transfers", 3),
        ("outstanding", 3),
    ];
    assert_eq!(held(&b), three);
    assert_eq!(
        link.put_head(Record::fin(reads[1].cookie, FI_EIO)),
        Ok(true)
    );
    assert_eq!(b.wait(&[]).err, FI_EIO);
    assert_eq!(held(&b), three.map(|(name, count)| (name, count - 1)));
    let mut sent = pattern(3, 100);
    let iov = [IoVec {
        iov_base: sent.as_mut_ptr().cast(),
        iov_len: 100,
    }];
    for read in [reads[2], reads[0]] {
        let piece = Record {
            bytes: 100,
            cookie: read.body[1],
            ..Record::new(Kind::Data)
        };
        // SAFETY: the list holds as many bytes.
        assert_eq!(unsafe { link.put_in(true, piece, &iov, 0) }, Ok(true));
        assert_eq!(b.wait(&[]).err, 0);
    }
    assert_eq!(held(&b), []);
    assert_eq!(buffers, [&sent[..], &[0; 100], &sent[..]]);
}

/// Receives that are cancelled or too short, and probes that find nothing.
#[test]
fn receives_that_end_without_their_message_hold_nothing() {
    for length in [8, LONG_MAX + 1] {
        let (a, b, to_b, _) = pair(|_| ());
        let bytes = pattern(5, length);
        let (mut short, mut whole) = (vec![0; length - 1], vec![0; length]);
        assert_eq!(b.receive(&mut whole, FI_ADDR_UNSPEC, (1, 0), 1), 0);
        assert_eq!(b.cancel(2), -(FI_ENOENT as isize));
        assert_eq!(held(&b), [("receives", 1)]);
        assert_eq!(b.cancel(1), 0);
        assert_eq!((b.wait(&[&a]).err, held(&b)), (FI_ECANCELED, vec![]));
        assert_eq!(b.receive_flagged(&mut [], (1, 0), 3, FI_PEEK), 0);
        assert_eq!((b.wait(&[&a]).err, held(&b)), (FI_ENOMSG, vec![]));
        assert_eq!(b.receive(&mut short, FI_ADDR_UNSPEC, (1, 0), 4), 0);
        assert_eq!(a.send(&bytes, to_b, 1, 5), 0);
        let Done { err, olen, .. } = b.wait(&[&a]);
        assert_eq!((err, olen), (FI_ETRUNC, 1), "{length} bytes");
        assert_eq!(a.wait(&[&b]).context(), 5);
        assert_eq!((held(&a), held(&b)), (vec![], vec![]));
        assert!(short == bytes[..length - 1]);
        still_works(&a, &b, to_b);
    }
}

/// One endpoint with a peer on this machine and one by a stream: what the one does not take, or
/// loses, is not the other's.
#[test]
fn peers_of_two_kinds_do_not_share_their_errors() {
    let (a, near, far) = (Side::over_tcp(1), Side::over_tcp(1), Side::over_tcp(2));
    let [to_near, to_far] = [&near, &far].map(|side| a.insert(&side.name()));
    let to_a = far.insert(&a.name());
    still_works(&a, &near, to_near);
    still_works(&a, &far, to_far);
    let bytes = pattern(6, LONG_MAX + 1);
    for (to, context) in [(to_far, 1), (to_near, 2), (to_far, 3)] {
        assert_eq!(a.send(&bytes, to, 4, context), 0);
    }
    let mut mine = [0; 8];
    assert_eq!(a.receive(&mut mine, to_near, (9, 0), 4), 0);
    far.send_now(b"unwanted", to_a, 9, 5);
    assert_eq!(far.wait(&[&a]).context(), 5);
    drop(far);
    let mut failed = [a.wait(&[&near]), a.wait(&[&near])].map(|done| (done.context(), done.err));
    failed.sort_unstable();
    assert_eq!(failed, [1, 3].map(|context| (context, FI_ECONNRESET)));
    let still = held(&a);
    assert!(still.contains(&("sends, writes and reads", 1)), "{still:?}");
    assert!(still.contains(&("outstanding", 1)), "{still:?}");
    let mut theirs = vec![0; bytes.len()];
    assert_eq!(near.receive(&mut theirs, FI_ADDR_UNSPEC, (4, 0), 6), 0);
    assert_eq!((near.wait(&[&a]).context(), theirs == bytes), (6, true));
    assert_eq!(a.wait(&[&near]).context(), 2);
    let back = near.insert(&a.name());
    near.send_now(b"wanted..", back, 9, 7);
    assert_eq!((a.wait(&[&near]).context(), &mine), (4, b"wanted.."));
    assert_eq!(near.wait(&[&a]).context(), 7);
    // The message of the peer that is gone waits for a receive from anyone.
    assert_eq!(held(&a), [("messages", 1)]);
    assert_eq!(a.receive(&mut mine, FI_ADDR_UNSPEC, (9, 0), 8), 0);
    assert_eq!((a.wait(&[]).context(), &mine), (8, b"unwanted"));
    assert_eq!((held(&a), held(&near)), (vec![], vec![]));
}
