//! What is closed while operations are under way: the program uses its memory again as soon as
//! `fi_close` has returned, and no peer may change that memory or take its new content for data.

use std::ptr::null_mut;
use std::time::Duration;

use super::regions::{close, register, transfer};
use super::rogue::{still_works, totals};
use super::side::{Side, call, pair, pattern};
use crate::bindings::*;
use crate::options::ProviderOptions;
use crate::wire::{EAGER_MAX, INLINE, LONG_MAX, TcpChoice};

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

/// Two sides on one machine, and one on another. Whether they read each other's memory.
fn trio(read_peers: bool) -> [Side; 3] {
    [1, 1, 2].map(|host| {
        let here = TcpChoice::parse("127.0.0.1").expect("an address");
        let change = |options: &mut ProviderOptions| {
            (options.read_peers, options.tcp) = (read_peers, here);
        };
        Side::open_as(change, |own| own.host = host, FI_WAIT_NONE)
    })
}

/// A reader closes its endpoint before its peer has seen the request, or after.
#[test]
fn a_closed_readers_memory_is_not_written() {
    for length in LENGTHS {
        for (read_peers, seen) in [(true, false), (true, true), (false, false), (false, true)] {
            let [a, b, c] = trio(read_peers);
            let [to_b, from_c] = [&a, &c].map(|side| side.insert(&b.name()));
            still_works(&a, &b, to_b);
            let mut memory = message(1, length);
            let (region, key) = register(&b, &mut memory, FI_REMOTE_READ);
            let mut buffer = vec![0; length];
            transfer(&a, false, &mut buffer, to_b, memory.as_ptr() as u64, key);
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

/// The next connection gets the number of one that is over, but not the requests of its messages.
#[test]
fn the_data_of_a_gone_sender_are_not_requested_of_the_next_peer() {
    for read_peers in [true, false] {
        let [a, b, c] = trio(read_peers);
        let [to_b, from_c] = [&a, &c].map(|side| side.insert(&b.name()));
        let sent = message(3, 100_000);
        assert_eq!(a.send(&sent, to_b, 9, 7), 0);
        while totals(&b).connected == 0 {
            b.progress();
        }
        (0..300).for_each(|_| b.progress());
        drop(a);
        while totals(&b).lost == 0 {
            b.progress();
        }
        still_works(&c, &b, from_c);
        let mut got = vec![0; 100_000];
        assert_eq!(b.receive(&mut got, FI_ADDR_UNSPEC, (9, 0), 5), 0);
        let done = b.wait(&[&c]);
        assert_eq!((done.context(), done.err), (5, FI_ECONNRESET));
        still_works(&c, &b, from_c);
        assert_eq!((totals(&b).lost, totals(&c).lost), (1, 0));
        assert_eq!(b.state(|state| state.endpoints[0].held()), []);
    }
}

/// A sender closes its endpoint while its message waits for a receive, or for its data.
#[test]
fn a_closed_senders_memory_is_not_delivered() {
    for length in LENGTHS {
        for (posted, read_peers) in [(true, true), (false, true), (true, false), (false, false)] {
            let [a, b, c] = trio(read_peers);
            let [to_b, from_c] = [&a, &c].map(|side| side.insert(&b.name()));
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
        let [a, b, c] = trio(true);
        let [to_b, from_c] = [&a, &c].map(|side| side.insert(&b.name()));
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

/// A forked child closes the endpoint that it has from its parent. The parent's goes on.
#[test]
fn a_childs_close_is_not_its_parents() {
    let (a, b, to_b, _) = pair(|_| ());
    still_works(&a, &b, to_b);
    // SAFETY: the child closes its copy of the endpoint, which no other thread uses, and ends.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: as above.
        unsafe { libc::_exit(call!(a.ep.cast::<Fid>(), ops, close)) };
    }
    let mut status = -1;
    // SAFETY: a child of this test, and a place for its status.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(status, 0);
    let bytes = message(1, LONG_MAX + 1);
    let mut got = vec![0; LONG_MAX + 1];
    assert_eq!(a.send(&bytes, to_b, 9, 7), 0);
    assert_eq!(b.receive(&mut got, FI_ADDR_UNSPEC, (9, 0), 5), 0);
    assert_eq!((b.wait(&[&a]).err, a.wait(&[&b]).err), (0, 0));
    assert!(got == bytes);
}

/// The owner of a region closes it after the grant and before the copy: the reader gets an error.
/// The reads of another region of the same peer go on, and so does the connection.
#[test]
fn a_closed_region_is_not_read() {
    for length in LENGTHS {
        let [a, b, c] = trio(true);
        let [to_b, from_c] = [&a, &c].map(|side| side.insert(&b.name()));
        still_works(&a, &b, to_b);
        let content = [message(1, length), message(2, length)];
        let mut memory = content.clone();
        let [one, other] = &mut memory;
        let [(closed, old), (open, key)] = [one, other].map(|it| register(&b, it, FI_REMOTE_READ));
        let starts = memory.each_ref().map(|it| it.as_ptr() as u64);
        let mut buffers = [vec![0; length], vec![0; length]];
        for (buffer, (address, key)) in buffers.iter_mut().zip([(starts[0], old), (starts[1], key)])
        {
            transfer(&a, false, buffer, to_b, address, key);
        }
        // It grants both.
        b.progress();
        close(closed);
        memory[0].fill(AGAIN);
        let mut errors = [a.wait(&[&b]).err, a.wait(&[&b]).err];
        errors.sort_unstable();
        assert_eq!(errors, [0, FI_EACCES], "{length} bytes");
        assert!(buffers[1] == content[1], "{length} bytes");
        assert!(!buffers[0].contains(&AGAIN), "{length} bytes");
        transfer(&a, false, &mut buffers[0], to_b, starts[1], key);
        assert_eq!(a.wait(&[&b]).err, 0);
        assert!(buffers[0] == content[1], "{length} bytes");
        still_works(&c, &b, from_c);
        close(open);
    }
}

/// A program cancels a receive for several messages while data move into its buffer: no other
/// message takes it, and the cancel completes after the data.
#[test]
fn a_cancelled_buffer_takes_no_more_messages() {
    const LENGTH: usize = 3 << 20;
    let (a, b, to_b, _) = pair(|options| options.read_peers = false);
    let mut buffer = vec![0; 2 * LENGTH];
    let iov = IoVec {
        iov_base: buffer.as_mut_ptr().cast(),
        iov_len: buffer.len(),
    };
    let several = Msg {
        msg_iov: &raw const iov,
        desc: null_mut(),
        iov_count: 1,
        addr: FI_ADDR_UNSPEC,
        context: 7 as *mut _,
        data: 0,
    };
    // SAFETY: the buffer lives until the cancel completes.
    let posted = unsafe { call!(b.ep, msg, recvmsg, &several, FI_MULTI_RECV) };
    assert_eq!(posted, 0);
    let bytes = message(1, LENGTH);
    let send = |length: usize, context: usize| {
        let (from, none) = (bytes.as_ptr().cast(), null_mut());
        // SAFETY: the bytes live until the end.
        unsafe { call!(a.ep, msg, send, from, length, none, to_b, context as *mut _) }
    };
    assert_eq!(send(LENGTH, 1), 0);
    let moving = |b: &Side| b.state(|state| state.endpoints[0].moves_into_receives());
    while !moving(&b) {
        a.progress();
        assert!(b.read().is_none(), "one round moves less than all");
    }
    assert_eq!(b.cancel(7), 0);
    assert_eq!(b.cancel(7), -(FI_ENOENT as isize));
    assert_eq!(send(100, 2), 0);
    let ends = [b.wait(&[&a]), b.wait(&[&a])];
    assert_eq!(
        ends.map(|end| (end.context(), end.err)),
        [(7, 0), (7, FI_ECANCELED)]
    );
    assert_eq!(
        (ends[0].entry.len, ends[0].entry.flags),
        (LENGTH, FI_RECV | FI_MSG)
    );
    assert!(buffer[..LENGTH] == bytes);
    buffer.fill(AGAIN);
    (0..200).for_each(|_| b.progress());
    assert!(buffer.iter().all(|&byte| byte == AGAIN));
    let mut next = [0; 100];
    let (start, none) = (next.as_mut_ptr().cast(), null_mut());
    // SAFETY: the buffer lives until the message is there.
    let posted = unsafe { call!(b.ep, msg, recv, start, 100, none, FI_ADDR_UNSPEC, none) };
    assert_eq!((posted, b.wait(&[&a]).err), (0, 0));
    assert!(
        next == bytes[..100],
        "the message waited for another receive"
    );
}

/// An object that an endpoint uses cannot be closed, and works as before. A closed counter counts
/// nothing, and a later counter does not count in its place.
#[test]
fn what_is_in_use_is_busy() {
    let (a, b, to_b, _) = pair(|_| ());
    let close = |object: *mut Fid| {
        // SAFETY: an object of the test; one that is busy stays open.
        unsafe { call!(object, ops, close) }
    };
    let counter = || {
        let mut counter: *mut FidCntr = null_mut();
        // SAFETY: zero is a valid value of every field, and the result has a place.
        unsafe {
            let mut attr: CntrAttr = std::mem::zeroed();
            let (domain, out) = (a.domain, &mut counter);
            assert_eq!(call!(domain, ops, cntr_open, &mut attr, out, null_mut()), 0);
        }
        counter
    };
    // SAFETY: a counter of the test.
    let count = |counter: *mut FidCntr| unsafe { call!(counter, ops, read) };
    let (first, fid) = (counter(), a.ep.cast::<Fid>());
    // SAFETY: objects of the test.
    let bound = unsafe { call!(fid, ops, bind, first.cast(), FI_SEND) };
    assert_eq!(bound, 0);
    let in_use = [a.domain.cast(), a.vector.cast(), a.queue.cast()];
    assert_eq!(in_use.map(close), [-FI_EBUSY; 3]);
    still_works(&a, &b, to_b);
    assert_eq!((count(first), close(first.cast())), (1, 0));
    let second = counter();
    still_works(&a, &b, to_b);
    assert_eq!((count(second), close(second.cast())), (0, 0));
    assert_eq!(close(fid), 0);
    let free = [
        a.vector.cast(),
        a.queue.cast(),
        a.domain.cast(),
        a.fabric.cast(),
    ];
    assert_eq!(free.map(close), [0; 4]);
    std::mem::forget(a);
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
