//! What is closed while operations are under way: the program uses its memory again as soon as
//! `fi_close` has returned, and no peer may change that memory or take its new content for data.

use std::ptr::null_mut;
use std::time::Duration;

use super::regions::{close, register, transfer};
use super::rogue::still_works;
use super::side::{Side, call, pair, pattern};
use crate::bindings::*;
use crate::wire::{EAGER_MAX, INLINE, LONG_MAX};

/// The content of memory that its program uses again.
const AGAIN: u8 = 0xee;
const PAGE: usize = 4096;
/// Lengths around every limit.
const LENGTHS: [usize; 15] = [
    1,
    INLINE,
    INLINE + 1,
    PAGE - 1,
    PAGE,
    PAGE + 1,
    EAGER_MAX - 1,
    EAGER_MAX,
    EAGER_MAX + 1,
    LONG_MAX - 1,
    LONG_MAX,
    LONG_MAX + 1,
    100_000,
    (1 << 20) - 1,
    1 << 20,
];

/// The bytes of a message, none of which is [`AGAIN`].
fn message(seed: usize, length: usize) -> Vec<u8> {
    let mut bytes = pattern(seed, length);
    bytes.iter_mut().for_each(|byte| *byte &= 0x7f);
    bytes
}

/// A reader closes its endpoint before its peer has seen the request, or after.
#[test]
fn a_closed_readers_memory_is_not_written() {
    for length in LENGTHS {
        for (read_peers, seen) in [(true, false), (true, true), (false, false), (false, true)] {
            let (a, b, to_b, _) = pair(|options| options.read_peers = read_peers);
            let c = Side::open(|_| ());
            let from_c = c.insert(&b.name());
            still_works(&a, &b, to_b);
            let mut memory = message(1, length);
            let (region, key) = register(&b, &mut memory, FI_REMOTE_READ);
            let mut buffer = vec![0; length];
            transfer(&a, false, &mut buffer, to_b, (memory.as_ptr() as u64, key));
            if seen {
                b.progress();
            }
            drop(a);
            buffer.fill(AGAIN);
            (0..300).for_each(|_| b.progress());
            let changed = buffer.iter().filter(|&&byte| byte != AGAIN).count();
            assert_eq!(changed, 0, "{length} bytes, {read_peers}, {seen}");
            still_works(&c, &b, from_c);
            close(region);
        }
    }
}

/// A sender closes its endpoint while its message waits for a receive, or for its data.
#[test]
fn a_closed_senders_memory_is_not_delivered() {
    for length in LENGTHS {
        for (posted, read_peers) in [(true, true), (false, true), (true, false), (false, false)] {
            let (a, b, to_b, _) = pair(|options| options.read_peers = read_peers);
            let c = Side::open(|_| ());
            let from_c = c.insert(&b.name());
            still_works(&a, &b, to_b);
            let mut got = vec![0; length];
            if posted {
                assert_eq!(b.receive(&mut got, FI_ADDR_UNSPEC, (9, 0), 5), 0);
            }
            let bytes = message(length, length);
            let mut sent = bytes.clone();
            assert_eq!(a.send(&sent, to_b, 9, 7), 0);
            if !posted {
                // The message is there, its data perhaps not.
                b.progress();
            }
            drop(a);
            sent.fill(AGAIN);
            if !posted {
                assert_eq!(b.receive(&mut got, FI_ADDR_UNSPEC, (9, 0), 5), 0);
            }
            let done = b.wait(&[]);
            let announced = length > LONG_MAX;
            let error = if announced { FI_ECONNRESET } else { 0 };
            assert_eq!((done.context(), done.err), (5, error), "{length}, {posted}");
            assert!(announced || got == bytes, "{length} bytes, {posted}");
            still_works(&c, &b, from_c);
        }
    }
}

/// A writer closes its endpoint: its peer gets no completion for data that it does not have.
#[test]
fn a_closed_writers_memory_is_not_taken() {
    for length in LENGTHS {
        let (a, b, to_b, _) = pair(|_| ());
        let c = Side::open(|_| ());
        let from_c = c.insert(&b.name());
        still_works(&a, &b, to_b);
        let mut memory = vec![0; length];
        let (region, key) = register(&b, &mut memory, FI_REMOTE_WRITE);
        let bytes = message(3, length);
        let mut written = bytes.clone();
        let start = memory.as_ptr() as u64;
        // SAFETY: the buffer lives until the endpoint is closed.
        let begun = unsafe {
            let (from, none) = (written.as_ptr().cast(), null_mut());
            call!(
                a.ep, rma, writedata, from, length, none, 33, to_b, start, key, none
            )
        };
        assert_eq!(begun, 0);
        drop(a);
        written.fill(AGAIN);
        let ends: Vec<_> = (0..300).filter_map(|_| b.read()).collect();
        if length <= EAGER_MAX {
            assert_eq!((ends.len(), ends[0].entry.data), (1, 33));
            assert!(memory == bytes, "{length} bytes");
        } else {
            assert!(ends.is_empty(), "{length} bytes: {ends:?}");
        }
        still_works(&c, &b, from_c);
        close(region);
    }
}

/// A sender closes its endpoint and uses its memory again while the receiver copies: the receive
/// fails, or has the message.
#[test]
fn a_sender_closes_during_the_copy() {
    const LENGTH: usize = 1 << 20;
    let mut fates = [0; 2];
    for round in 0..40 {
        let (a, b, to_b, _) = pair(|_| ());
        still_works(&a, &b, to_b);
        let mut got = vec![0; LENGTH];
        assert_eq!(b.receive(&mut got, FI_ADDR_UNSPEC, (9, 0), 5), 0);
        let bytes = message(round, LENGTH);
        let mut sent = bytes.clone();
        assert_eq!(a.send(&sent, to_b, 9, 7), 0);
        let there = Moved(a);
        let closer = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_micros(20 * round as u64));
            there.close();
            sent.fill(AGAIN);
            sent
        });
        std::thread::sleep(Duration::from_micros(100));
        let done = b.wait(&[]);
        let fails = done.err != 0;
        fates[usize::from(fails)] += 1;
        assert!(fails || got == bytes, "round {round}");
        drop(closer.join().expect("no panic"));
    }
    println!("{fates:?} of the receives had their message, and failed");
}

/// A side that another thread closes.
struct Moved(Side);

// SAFETY: one thread at a time uses it.
unsafe impl Send for Moved {}

impl Moved {
    fn close(self) {
        drop(self.0);
    }
}
