//! The ring between two ends of one process, and against a peer that writes rubbish.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::sync::atomic::AtomicU64;

use super::*;
use crate::wire::record::flag;

struct Memory {
    start: NonNull<u8>,
    layout: Layout,
}

impl Memory {
    fn new(lines: usize) -> Self {
        let layout = Layout::from_size_align(ring_bytes(lines), LINE).expect("a size");
        // SAFETY: not of size zero.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) }).expect("memory");
        Self { start, layout }
    }

    fn ends(&self, lines: usize) -> (RingSender, RingReceiver) {
        // SAFETY: aligned, large enough, and alive longer than the ends in these tests.
        unsafe {
            (
                RingSender::new(self.start, lines),
                RingReceiver::new(self.start, lines),
            )
        }
    }

    fn word(&self, line: usize, word: usize) -> &AtomicU64 {
        // SAFETY: inside the memory; any bytes are a number.
        unsafe { &*self.start.as_ptr().add(ring_bytes(line) + word * 8).cast() }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: from `alloc_zeroed` with the same layout.
        unsafe { dealloc(self.start.as_ptr(), self.layout) };
    }
}

fn message(number: u64, length: usize) -> (Record, Vec<u8>) {
    let payload: Vec<u8> = (0..length)
        .map(|at| (number as usize * 7 + at) as u8)
        .collect();
    let record = Record {
        bytes: length as u32,
        tag: number,
        flags: flag::TAGGED,
        ..Record::new(Kind::Eager)
    };
    (record, payload)
}

fn list(payload: &mut [u8]) -> [IoVec; 1] {
    [IoVec {
        iov_base: payload.as_mut_ptr().cast(),
        iov_len: payload.len(),
    }]
}

/// Puts a record. If `wanted`, a record without payload outside its head takes the shorter path.
fn either_way(
    sender: &mut RingSender,
    record: Record,
    payload: &mut [u8],
    wanted: bool,
) -> Result<bool, Broken> {
    if wanted && record.outside() == 0 {
        return sender.put_head(record);
    }
    // SAFETY: the list holds the payload.
    unsafe { sender.put(record, &list(payload), 0) }
}

/// Takes the next record, as a message that is read in place if `wanted` and possible. Both
/// ways give the same record.
fn take(receiver: &mut RingReceiver, wanted: bool) -> Result<Option<(Record, Bytes)>, Broken> {
    let mut twin = RingReceiver {
        place: receiver.place,
        head: receiver.head,
        released: 0,
    };
    let plain = receiver.peek_plain().filter(|_| wanted);
    if let Some((record, bytes, lines)) =
        plain.map(|plain| (plain.record(), plain.outside(), plain.lines()))
    {
        receiver.pass(lines);
        let (same, other) = twin.next().expect("sound").expect("a record");
        assert_eq!(
            (record, bytes.length, receiver.head),
            (same, other.length, twin.head)
        );
        return Ok(Some((record, bytes)));
    }
    assert_eq!(receiver.head, twin.head, "nothing was taken");
    receiver.next()
}

/// A cheap sequence of numbers that look random.
fn numbers(mut state: u64) -> impl FnMut(u64) -> u64 {
    move |below| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    }
}

#[test]
fn records_come_out_as_they_went_in() {
    let memory = Memory::new(LINES_MIN);
    let (mut sender, mut receiver) = memory.ends(LINES_MIN);
    let mut random = numbers(1);
    let (mut sent, mut got, mut full) = (0, 0, 0);
    let mut lengths = std::collections::VecDeque::new();
    while got < 20_000 {
        for _ in 0..random(12) {
            let long = random(9) == 0;
            let length = random(if long { EAGER_MAX as u64 + 1 } else { 100 }) as usize;
            let (record, mut payload) = message(sent, length);
            let put = either_way(&mut sender, record, &mut payload, random(2) == 0);
            match put.expect("both ends are sound") {
                true => {
                    sent += 1;
                    lengths.push_back(length);
                }
                false => full += 1,
            }
        }
        for _ in 0..random(12) {
            let next = take(&mut receiver, random(2) == 0).expect("a sound ring");
            let Some((record, bytes)) = next else { break };
            let length = lengths.pop_front().expect("one for each record");
            let (expected, payload) = message(got, length);
            assert_eq!((record.tag, record.bytes), (expected.tag, expected.bytes));
            // SAFETY: not released yet.
            let arrived = unsafe { std::slice::from_raw_parts(bytes.start, bytes.length) };
            assert_eq!(arrived.len(), record.outside());
            assert!(arrived.is_empty() || arrived == payload);
            got += 1;
        }
        receiver.release();
    }
    assert!(full > 0, "the ring was never full");
}

/// A receiver that keeps up is sent everything on the same lines. A record that is longer than the
/// lines of light traffic begins at the first one, too. A full ring ends light traffic.
#[test]
fn light_traffic_stays_on_the_first_lines() {
    const LINES: usize = 2 * LINES_MIN;
    // The last line that is used holds a `Wrap`.
    let longest = lines_of(EAGER_MAX) as usize;
    for (count, lengths, last) in [
        (5_000, 0..=3 * LINE, LIGHT as usize),
        (100, EAGER_MAX..=EAGER_MAX, longest),
        (500, 0..=EAGER_MAX, 2 * longest - 1),
    ] {
        let memory = Memory::new(LINES);
        let (mut sender, mut receiver) = memory.ends(LINES);
        let highest = || {
            let word = |line, at| memory.word(line, at).load(Ordering::Relaxed);
            (0..LINES).rfind(|&line| (0..8).any(|at| word(line, at) != 0))
        };
        let mut random = numbers(5);
        for number in 0..count {
            let extra = random((lengths.end() - lengths.start() + 1) as u64) as usize;
            let (record, mut payload) = message(number, lengths.start() + extra);
            let put = either_way(&mut sender, record, &mut payload, number % 2 == 0);
            assert_eq!(put, Ok(true));
            let taken = take(&mut receiver, number % 3 == 0).expect("a sound ring");
            assert_eq!(taken.expect("a record").0.tag, number);
            receiver.release();
        }
        assert!(highest() <= Some(last), "{:?}, not {last}", highest());
        // Until there is no room.
        while sender.put_head(Record::new(Kind::Fin)) == Ok(true) {}
        while take(&mut receiver, false).expect("a sound ring").is_some() {}
        receiver.release();
        let put = |_: &u32| sender.put_head(Record::new(Kind::Fin)) == Ok(true);
        assert_eq!(
            (1..).take_while(put).count(),
            LINES,
            "the whole ring from now on"
        );
    }
}

/// Payload with the value of its line's stamp is no record.
#[test]
fn old_payload_is_no_stamp() {
    let memory = Memory::new(LINES_MIN);
    let (mut sender, mut receiver) = memory.ends(LINES_MIN);
    let mut random = numbers(3);
    for round in 0..10 * LINES_MIN as u64 {
        // Of a length that puts heads, in later rounds, on lines that held payload.
        let mut payload = vec![0_u8; LINE * random(5) as usize];
        let lines = lines_of(payload.len());
        let rest = sender.place.rest(sender.tail);
        let head = if lines > rest {
            sender.tail + rest
        } else {
            sender.tail
        };
        // Every word of the payload is the stamp that its line would have one round later.
        for (line, bytes) in (head + 1..).zip(payload.chunks_exact_mut(LINE)) {
            let stamp = line + LINES_MIN as u64 + 1;
            bytes
                .chunks_exact_mut(8)
                .for_each(|word| word.copy_from_slice(&stamp.to_ne_bytes()));
        }
        let bytes = payload.len() as u32;
        let record = Record {
            bytes,
            tag: round,
            ..Record::new(Kind::Eager)
        };
        let put = either_way(&mut sender, record, &mut payload, round % 2 == 0);
        assert_eq!(put, Ok(true));
        let (record, _) = take(&mut receiver, round % 3 == 0)
            .expect("sound")
            .expect("one record");
        assert_eq!(record.tag, round);
        assert_eq!(
            take(&mut receiver, round % 3 == 0),
            Ok(None),
            "nothing more was sent"
        );
        receiver.release();
    }
}

#[test]
fn rubbish_ends_the_connection_and_nothing_else() {
    let mut random = numbers(7);
    let (mut broken, mut taken) = (0, 0);
    for _ in 0..2_000 {
        let memory = Memory::new(LINES_MIN);
        let (_, mut receiver) = memory.ends(LINES_MIN);
        for line in 0..LINES_MIN {
            for word in 0..8 {
                let value = match (word, random(4)) {
                    (0, 1..) => line as u64 + 1,
                    (1, 1..) => random(12) | random(300) << 32,
                    _ => random(1 << 31) << random(33),
                };
                memory.word(line, word).store(value, Ordering::Relaxed);
            }
        }
        for _ in 0..2 * LINES_MIN {
            match take(&mut receiver, random(2) == 0) {
                Ok(Some((record, bytes))) => {
                    taken += 1;
                    assert!(bytes.length == record.outside() && bytes.length <= EAGER_MAX);
                    let start = bytes.start as usize - memory.start.as_ptr() as usize;
                    assert!(start + bytes.length <= ring_bytes(LINES_MIN));
                }
                Ok(None) => break,
                Err(Broken) => {
                    broken += 1;
                    break;
                }
            }
        }
    }
    assert!(broken > 0 && taken > 0, "{broken} broken, {taken} taken");
}

#[test]
fn a_receiver_that_lies_about_its_position_is_cut_off() {
    for lie in [u64::MAX, 1 << 40, 3] {
        let memory = Memory::new(LINES_MIN);
        let (mut sender, receiver) = memory.ends(LINES_MIN);
        if lie == 3 {
            // Backwards: the position was higher before.
            (sender.tail, sender.done) = (10, 8);
        }
        receiver.place.control().done.store(lie, Ordering::Relaxed);
        let mut result = Ok(true);
        while result == Ok(true) {
            result = either_way(&mut sender, Record::new(Kind::Fin), &mut [], lie % 2 == 0);
        }
        assert_eq!(result, Err(Broken), "{lie}");
    }
}

#[test]
fn a_wrap_of_a_whole_ring_is_rubbish() {
    let memory = Memory::new(LINES_MIN);
    let (_, mut receiver) = memory.ends(LINES_MIN);
    memory
        .word(0, 1)
        .store(Kind::Wrap as u64, Ordering::Relaxed);
    memory.word(0, 0).store(1, Ordering::Release);
    assert_eq!(receiver.next(), Err(Broken));
}
