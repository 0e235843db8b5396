//! Messages between two endpoints of this process.

use std::ptr::null_mut;

use super::files::Folder;
use super::regions::register;
use super::rogue::totals;
use super::side::{Side, call, pair, pattern, tagged};
use crate::bindings::*;
use crate::endpoint::CROWD;
use crate::wire::{EAGER_MAX, LONG_MAX};

const LENGTHS: [usize; 11] = [
    0,
    1,
    8,
    24,
    25,
    1000,
    EAGER_MAX,
    EAGER_MAX + 1,
    LONG_MAX,
    LONG_MAX + 1,
    300_000,
];

/// Sends all lengths both before and after the receive is posted.
pub(super) fn exchange(a: &Side, b: &Side, to_b: u64, to_a: u64) {
    for (round, length) in LENGTHS.into_iter().enumerate() {
        for late in [false, true] {
            let bytes = pattern(round, length);
            let mut buffer = vec![0; length + 3];
            let tag = (5 << 31) + round as u64;
            let post = |buffer: &mut [u8]| {
                assert_eq!(b.receive(buffer, to_a, (tag, 0), 100 + round), 0);
            };
            if !late {
                post(&mut buffer);
            }
            assert_eq!(a.send(&bytes, to_b, tag, round), 0);
            if late {
                (0..200).for_each(|_| b.progress());
                post(&mut buffer);
            }
            let received = b.wait(&[a]);
            assert_eq!((received.context(), received.err), (100 + round, 0));
            assert_eq!((received.entry.len, received.entry.tag), (length, tag));
            assert_eq!(received.entry.flags, FI_RECV | FI_TAGGED);
            assert_eq!(received.from, to_a);
            assert!(buffer[..length] == bytes, "{length} bytes, late: {late}");
            let sent = a.wait(&[b]);
            assert_eq!((sent.context(), sent.err), (round, 0));
            assert_eq!(sent.entry.flags, FI_SEND | FI_TAGGED);
        }
    }
}

/// Long data pass a separate ring, which holds more than a turn reads; short ones keep to the
/// usual ring.
#[test]
fn long_data_in_pieces_take_few_turns() {
    let (a, b, to_b, to_a) = pair(|options| options.read_peers = false);
    let lengths = [20_000, 16 << 20, LONG_MAX, LONG_MAX + 1, 9000];
    let sent: Vec<_> = lengths
        .iter()
        .enumerate()
        .map(|(at, &bytes)| pattern(at, bytes))
        .collect();
    let mut buffers = lengths.map(|length| vec![0; length]);
    for (at, (buffer, bytes)) in buffers.iter_mut().zip(&sent).enumerate() {
        assert_eq!(b.receive(buffer, to_a, (at as u64, 0), at), 0);
        assert_eq!(a.send(bytes, to_b, at as u64, at), 0);
    }
    let (mut turns, mut left) = (0, 2 * lengths.len());
    while left > 0 {
        for side in [&a, &b] {
            side.progress();
            while let Some(done) = side.read() {
                assert_eq!(done.err, 0);
                left -= 1;
            }
        }
        turns += 1;
    }
    assert!(buffers == sent.as_slice());
    // 256 turns with 64 KiB in each.
    assert!(turns < 150, "{turns} turns");
}

/// A receiver with many unexpected messages has no more data of long ones sent immediately.
#[test]
fn data_of_long_messages_stay_where_many_are_unexpected() {
    let (a, b, to_b, to_a) = pair(|_| ());
    let announced = || totals(&a).rendezvous;
    let bytes = pattern(1, EAGER_MAX + 1);
    for context in 0..CROWD {
        assert_eq!((a.send(&bytes, to_b, 3, context), announced()), (0, 0));
        (0..2).for_each(|_| b.progress());
    }
    assert_eq!((a.send(&bytes, to_b, 3, CROWD), announced()), (0, 1));
    let mut buffer = vec![0; bytes.len()];
    for context in 0..=CROWD {
        buffer.fill(0);
        assert_eq!(b.receive(&mut buffer, to_a, (3, 0), context), 0);
        assert_eq!(
            (b.wait(&[&a]).context(), a.wait(&[&b]).context()),
            (context, context)
        );
        assert!(buffer == bytes);
    }
    assert_eq!((a.send(&bytes, to_b, 3, 7), announced()), (0, 1));
}

/// A program may give several receives one context: a cancel ends the oldest of them.
#[test]
fn a_cancel_ends_the_oldest_receive_of_its_context() {
    let (_a, b, ..) = pair(|_| ());
    let mut buffers = [[0; 1]; 4];
    // The second context's receive is older than all but one, and stays.
    for (buffer, (tag, context)) in buffers.iter_mut().zip([(3, 5), (9, 6), (1, 5), (2, 5)]) {
        assert_eq!(b.receive(buffer, FI_ADDR_UNSPEC, (tag, 0), context), 0);
    }
    for tag in [3, 1, 2] {
        assert_eq!(b.cancel(5), 0);
        let done = b.wait(&[]);
        assert_eq!(
            (done.err, done.context(), done.entry.tag),
            (FI_ECANCELED, 5, tag)
        );
    }
    assert_eq!([b.cancel(5), b.cancel(6)], [-(FI_ENOENT as isize), 0]);
    assert_eq!(b.wait(&[]).entry.tag, 9);
}

#[test]
fn all_lengths_by_tcp() {
    let (a, b) = (Side::over_tcp(1), Side::over_tcp(2));
    let (to_b, to_a) = (a.insert(&b.name()), b.insert(&a.name()));
    exchange(&a, &b, to_b, to_a);
    exchange(&b, &a, to_a, to_b);
    drop(b);
    // The first goes out before the kernel knows of the end.
    let codes = [0; 3].map(|tag| a.send(b"late", to_b, tag, 1));
    let reset = -(FI_ECONNRESET as isize);
    assert_eq!(codes, [0, reset, reset]);
}

/// A communicator takes the NIC's tables from one with empty queues, whatever emptied them, on both
/// paths. Software matches it where there is none.
#[test]
fn tables_go_from_communicators_that_are_done() {
    const IGNORED: u64 = 0x00c0_0000_0000_0000;
    // Posts, messages, cancels, discards, claims and what takes them, completions that are read.
    // The last but one keeps a receive.
    let words = ["pmr", "mpr", "pc", "mdr", "mlrtr", "ppmrc", "p", "pmr"];
    for short in [true, false] {
        let folder = Folder::new("tables");
        let (a, b, to_b, _) = pair(|options| {
            options.stats = Some(folder.0.clone());
            options.matching.nic.options.always_shared = !short;
            options.matching.nic.communicators = 1;
        });
        let mut buffer = [0; 1];
        for (at, word) in words.iter().enumerate() {
            let tag = ((6 + 2 * at as u64) << 31 | 5, IGNORED);
            for step in word.chars() {
                let mut look = |flags| b.receive_flagged(&mut buffer, tag, 1, flags);
                match step {
                    'p' => assert_eq!(look(0), 0),
                    'd' => assert_eq!(look(FI_PEEK | FI_DISCARD), 0),
                    'l' => assert_eq!(look(FI_PEEK | FI_CLAIM), 0),
                    't' => assert_eq!(look(FI_CLAIM), 0),
                    'c' => assert_eq!((b.cancel(1), b.wait(&[]).err), (0, FI_ECANCELED)),
                    'm' => {
                        a.send_now(b"x", to_b, tag.0, 2);
                        (0..100).for_each(|_| b.progress());
                    }
                    _ => assert_eq!(b.wait(&[&a]).err, 0),
                }
            }
        }
        drop(b);
        let stats = folder.only(".json", "\"received\": 5,");
        for (name, value) in [("communicators_evicted", 6), ("software_matches", 1)] {
            assert!(
                stats.contains(&format!("\"matcher_{name}\": {value},")),
                "{stats}"
            );
        }
    }
}

#[test]
fn all_lengths_in_memory() {
    let (a, b, to_b, to_a) = pair(|_| ());
    exchange(&a, &b, to_b, to_a);
    exchange(&b, &a, to_a, to_b);
    assert_eq!(
        [totals(&a).pulled, totals(&b).pulled],
        [0; 2],
        "their memory can be read"
    );
}

#[test]
fn an_endpoint_sends_to_itself() {
    let a = Side::open(|_| ());
    let to_a = a.insert(&a.name());
    let mut buffer = [0; 8];
    assert_eq!(a.receive(&mut buffer, to_a, (1, 0), 1), 0);
    assert_eq!(a.send(b"12345678", to_a, 1, 2), 0);
    let mut contexts = [a.wait(&[]).context(), a.wait(&[]).context()];
    contexts.sort_unstable();
    assert_eq!((contexts, &buffer), ([1, 2], b"12345678"));
}

/// More messages than the rings and the NIC hold, in order, and each as it was sent. The first ones
/// find receives, and the program reads fewer completions at a time.
#[test]
fn a_flood_arrives_in_order() {
    const COUNT: usize = 3_000;
    let message = |number: usize| pattern(number, 8 + number % 150);
    let (a, b, to_b, to_a) = pair(|options| options.matching.nic.unexpected = 64);
    exchange(&a, &b, to_b, to_a);
    let (mut sent, mut done, mut buffers) = (0, Vec::new(), [[0; 200]; 8]);
    for (number, buffer) in buffers[..7].iter_mut().enumerate() {
        assert_eq!(b.receive(buffer, to_a, (5 << 31, 0), number), 0);
    }
    while sent < COUNT {
        match a.send(&message(sent), to_b, 5 << 31, sent) {
            0 => sent += 1,
            _ => done.extend(b.read_some(3)),
        }
        while a.read().is_some() {}
    }
    assert_eq!(done.len(), 7);
    for number in 0..COUNT {
        let buffer = &mut buffers[number.min(7)];
        if number >= 7 {
            assert_eq!(b.receive(buffer, to_a, (5 << 31, 0), number), 0);
            done.push(b.wait(&[&a]));
        }
        assert_eq!(done[number].context(), number);
        assert!(
            buffer[..done[number].entry.len] == message(number),
            "message {number}"
        );
    }
}

/// A buffer takes messages as long as it has as many bytes left as the program asks for, 64 unless
/// it says otherwise.
#[test]
fn one_buffer_for_many_untagged_messages() {
    for least in [64, 51, 50] {
        let (a, b, to_b, _) = pair(|_| ());
        let mut buffer = [0_u8; 200];
        let iov = IoVec {
            iov_base: buffer.as_mut_ptr().cast(),
            iov_len: buffer.len(),
        };
        let (msg_iov, desc, addr, context) =
            (&raw const iov, null_mut(), FI_ADDR_UNSPEC, 7 as *mut _);
        let msg = Msg {
            msg_iov,
            desc,
            iov_count: 1,
            addr,
            context,
            data: 0,
        };
        let (fid, value) = (b.ep.cast::<Fid>(), (&raw const least).cast());
        // SAFETY: a number; the buffer lives until the receive is over.
        unsafe {
            let setopt = (*(*b.ep).ops).setopt.expect("setopt");
            if least != 64 {
                let (level, name) = (FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV);
                assert_eq!(setopt(fid, level, name, value, size_of_val(&least)), 0);
            }
            assert_eq!(
                call!(b.ep, msg, recvmsg, &msg, FI_PEEK),
                -(FI_EINVAL as isize)
            );
            assert_eq!(call!(b.ep, msg, recvmsg, &msg, FI_MULTI_RECV), 0);
        }
        for number in 0..5_u8 {
            let bytes = [number; 50];
            let (start, length) = (bytes.as_ptr().cast(), bytes.len());
            // SAFETY: injected: the buffer is free on return.
            assert_eq!(unsafe { call!(a.ep, msg, inject, start, length, to_b) }, 0);
        }
        let last = if least > 50_usize { 2 } else { 3 };
        for number in 0..=last {
            let done = b.wait(&[&a]);
            assert_eq!((done.context(), done.entry.len), (7, 50));
            let over = if number == last { FI_MULTI_RECV } else { 0 };
            assert_eq!(done.entry.flags, FI_RECV | FI_MSG | over);
            assert_eq!(done.entry.buf, buffer[50 * number..].as_mut_ptr().cast());
            assert_eq!(buffer[50 * number..][..50], [number as u8; 50]);
        }
        assert!(b.read().is_none(), "the others wait for a buffer");
    }
}

/// A message and a receive have up to eight parts. What has nine is refused, and the next ones
/// work.
#[test]
fn messages_and_receives_have_up_to_eight_parts() {
    let (a, b, to_b, to_a) = pair(|_| ());
    for (tag, counts) in [[9, 8], [8, 9], [8, 7], [7, 8], [8, 8]]
        .into_iter()
        .enumerate()
    {
        let bytes = pattern(tag, 36);
        let mut buffer = [0_u8; 36];
        // Part N of the message has N bytes, and the last one the rest. The receive has them in
        // reverse.
        let parts = |start: *mut u8, count: usize, is_reverse: bool| -> Vec<IoVec> {
            let rest = 36 - count * (count - 1) / 2;
            let mut lengths: Vec<usize> = (1..count).chain([rest]).collect();
            if is_reverse {
                lengths.reverse();
            }
            let mut at = 0;
            let part = |length: usize| {
                let iov_base = start.wrapping_add(at).cast();
                at += length;
                IoVec {
                    iov_base,
                    iov_len: length,
                }
            };
            lengths.into_iter().map(part).collect()
        };
        let sent = parts(bytes.as_ptr().cast_mut(), counts[0], false);
        let received = parts(buffer.as_mut_ptr(), counts[1], true);
        let bits = (tag as u64, 0);
        let (send, receive) = (
            tagged(&sent, to_b, bits, 1),
            tagged(&received, to_a, bits, 2),
        );
        // SAFETY: the buffers live until the operations are over.
        let got = unsafe {
            [
                call!(b.ep, tagged, recvmsg, &receive, FI_COMPLETION),
                call!(a.ep, tagged, sendmsg, &send, FI_COMPLETION),
            ]
        };
        let expected = |count| if count > 8 { -(FI_EINVAL as isize) } else { 0 };
        assert_eq!(
            got,
            [expected(counts[1]), expected(counts[0])],
            "{counts:?}"
        );
        match counts {
            [9, _] => {
                assert_eq!(b.cancel(2), 0);
                assert_eq!(b.wait(&[&a]).context(), 2, "the receive was cancelled");
            }
            [_, 9] => {
                assert_eq!(a.wait(&[&b]).context(), 1, "the message has left");
                // A receive that takes it.
                assert_eq!(b.receive(&mut buffer, to_a, bits, 3), 0);
                assert_eq!(b.wait(&[&a]).context(), 3);
                assert_eq!(buffer[..], bytes);
            }
            _ => {
                assert_eq!(b.wait(&[&a]).context(), 2);
                assert_eq!(a.wait(&[&b]).context(), 1);
                assert_eq!(buffer[..], bytes, "{counts:?}");
            }
        }
    }
}

/// With selective completion an operation completes if it asks for it, or if its endpoint does and
/// the call says nothing else.
#[test]
fn only_what_asks_completes() {
    let (a, b, to_b, _) = pair(|_| ());
    let (mut memory, mut buffers) = ([0; 8], [[0; 1]; 6]);
    let (start, (_, key)) = (
        memory.as_ptr() as u64,
        register(&b, &mut memory, FI_REMOTE_WRITE),
    );
    let (text, none, any) = (b"x".as_ptr().cast(), null_mut(), FI_ADDR_UNSPEC);
    for (op_flags, of_a, of_b) in [
        (0, vec![4], vec![14]),
        (FI_COMPLETION, vec![2, 3, 4], vec![12, 14]),
    ] {
        for side in [&a, &b] {
            side.state(|state| {
                state.endpoints[0].tx.set(true, op_flags);
                state.endpoints[0].rx.set(true, op_flags);
            });
        }
        assert_eq!(b.receive(&mut buffers[0], any, (2, 0), 12), 0);
        for (tag, flags) in [(4, FI_COMPLETION), (5, 0)] {
            assert_eq!(
                b.receive_flagged(&mut buffers[tag], (tag as u64, 0), 10 + tag, flags),
                0
            );
        }
        assert_eq!(a.send(b"x", to_b, 2, 2), 0);
        let iov = [IoVec {
            iov_base: b"x".as_ptr().cast_mut().cast(),
            iov_len: 1,
        }];
        // SAFETY: the text is constant, and the other buffers live until the end.
        unsafe {
            assert_eq!(
                call!(
                    a.ep,
                    rma,
                    write,
                    text,
                    1,
                    none,
                    to_b,
                    start,
                    key,
                    3 as *mut _
                ),
                0
            );
            for (tag, flags) in [(4, FI_COMPLETION), (5, 0)] {
                let msg = tagged(&iov, to_b, (tag, 0), tag as usize);
                assert_eq!(call!(a.ep, tagged, sendmsg, &msg, flags), 0);
            }
        }
        let mut seen = [Vec::new(), Vec::new()];
        for _ in 0..300 {
            for (side, seen) in [&a, &b].into_iter().zip(&mut seen) {
                seen.extend(side.read().map(|done| done.context()));
            }
        }
        seen.iter_mut()
            .for_each(|contexts| contexts.sort_unstable());
        assert_eq!(seen, [of_a, of_b], "{op_flags:x}");
        assert_eq!(memory[0], b'x');
    }
}

/// A peer that is in the vector twice has its first row, and the next one when that is removed.
#[test]
fn a_source_is_the_first_row_of_its_peer() {
    let (a, b, to_b, first) = pair(|_| ());
    let second = b.insert(&a.name());
    for (gone, row) in [
        (None, first),
        (Some(first), second),
        (Some(second), FI_ADDR_UNSPEC),
    ] {
        if let Some(row) = gone {
            assert_eq!(b.receive(&mut [], row, (6, 0), 3), 0);
            b.remove(row);
            assert_eq!(b.receive(&mut [], row, (6, 0), 4), -(FI_EINVAL as isize));
        }
        let mut buffer = [0; 1];
        assert_eq!(b.receive(&mut buffer, FI_ADDR_UNSPEC, (5, 0), 1), 0);
        a.send_now(b"x", to_b, 5, 2);
        assert_eq!(b.wait(&[&a]).from, row);
        assert_eq!(a.wait(&[&b]).context(), 2);
    }
}
