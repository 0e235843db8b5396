//! The libfabric provider's rings: records come out complete and in order while a small ring goes
//! round, a sleeper is seen or sees the record, a bell brings its record, and a witness comes
//! before the first record. The models run the provider's own sources.
#![cfg(dpamatch_loom)]

use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use dpa_model::Wait;
use dpamatch_door::AtomicU64;
use loom::sync::Arc;
use loom::thread;
use loom_tests::check;
use wire::bells;
use wire::record::{INLINE, Kind, Record, flag};
use wire::ring::{RingReceiver, RingSender};
use wire::shared::{Line, Memory, Witness};

mod bindings {
    pub(crate) use libc::iovec as IoVec;
}

#[expect(dead_code, reason = "the models run a part of the provider's wire")]
#[path = "../../mpi/provider/src/wire"]
mod wire {
    pub(crate) mod bells;
    mod lease;
    pub(crate) mod record;
    pub(crate) mod ring;
    pub(crate) mod shared;
}

const LINES: usize = 4;

/// The ends of a ring, which keep its memory.
struct End<Ring> {
    ring: Ring,
    _memory: Arc<Memory<LINES>>,
}

// SAFETY: an end has its memory with it.
unsafe impl<Ring> Send for End<Ring> {}

impl<Ring> Deref for End<Ring> {
    type Target = Ring;

    fn deref(&self) -> &Ring {
        &self.ring
    }
}

impl<Ring> DerefMut for End<Ring> {
    fn deref_mut(&mut self) -> &mut Ring {
        &mut self.ring
    }
}

fn ring() -> (End<RingSender>, End<RingReceiver>) {
    let memory = Arc::new(Memory::<LINES>::new());
    let start = NonNull::from(&*memory).cast();
    // SAFETY: the ends keep the memory, and there is one of each kind. Its records are short.
    let (sender, receiver) = unsafe {
        (
            RingSender::new(start, LINES),
            RingReceiver::new(start, LINES),
        )
    };
    let (first, second) = (Arc::clone(&memory), memory);
    (
        End {
            ring: sender,
            _memory: first,
        },
        End {
            ring: receiver,
            _memory: second,
        },
    )
}

/// Message `number` with a payload of `length` bytes. A payload longer than the record's own line
/// begins with the word `stamp`: a stale reader would take it for the stamp of a later line.
fn message(number: u64, length: usize, stamp: u64) -> (Record, Vec<u8>) {
    let mut payload: Vec<u8> = (0..length)
        .map(|at| (number as usize * 7 + at) as u8)
        .collect();
    if length > INLINE {
        payload[..8].copy_from_slice(&stamp.to_ne_bytes());
    }
    let mut record = Record {
        bytes: u32::try_from(length).expect("a payload of a few lines"),
        tag: number,
        flags: flag::TAGGED,
        data: number + 1,
        ..Record::new(Kind::Eager)
    };
    if length <= INLINE {
        record.body = [number + 2; 3];
    }
    (record, payload)
}

/// Where each message's head is, and its message.
fn stream(lengths: &'static [usize]) -> Vec<(Record, Vec<u8>)> {
    let lines = LINES as u64;
    let mut tail = 0;
    let mut place = |(number, &length): (usize, &usize)| {
        let count = if length > INLINE { 2 } else { 1 };
        if tail % lines + count > lines {
            tail += lines - tail % lines;
        }
        let payload_line = tail + 1;
        tail += count;
        message(number as u64, length, payload_line + lines + 1)
    };
    lengths.iter().enumerate().map(&mut place).collect()
}

fn send(sender: &mut RingSender, record: Record, mut payload: Vec<u8>) {
    let list = [bindings::IoVec {
        iov_base: payload.as_mut_ptr().cast(),
        iov_len: payload.len(),
    }];
    let mut wait = Wait::new();
    // SAFETY: the list holds the payload.
    while !unsafe { sender.put(record, &list, 0) }.expect("both ends are sound") {
        wait.pause();
    }
}

/// Takes the next message, the shorter way if `plain`.
fn take(receiver: &mut RingReceiver, plain: bool) -> (Record, Vec<u8>) {
    let mut wait = Wait::new();
    loop {
        if plain && let Some(message) = receiver.peek_plain() {
            let (record, lines) = (message.record(), message.lines());
            let mut payload = vec![0; message.outside().length];
            if !payload.is_empty() {
                // SAFETY: as many bytes.
                unsafe { message.copy_to(payload.as_mut_ptr()) };
            }
            receiver.pass(lines);
            return (record, payload);
        }
        if let Some((record, bytes)) = receiver.next().expect("both ends are sound") {
            return (record, Line::payload(bytes));
        }
        wait.pause();
    }
}

/// Messages of these lengths through one ring, whose places are given back after every `batch`.
fn goes_round(
    name: &str,
    bound: Option<usize>,
    lengths: &'static [usize],
    plain: bool,
    batch: usize,
) {
    check(name, bound, 10, move || {
        let (mut sender, mut receiver) = ring();
        let other = thread::spawn(move || {
            for (at, (record, payload)) in stream(lengths).into_iter().enumerate() {
                let taken = take(&mut receiver, plain);
                assert_eq!(taken.0, record, "another record");
                assert!(taken.1.is_empty() || taken.1 == payload, "another payload");
                assert_eq!(taken.1.len(), record.outside());
                if at % batch == batch - 1 {
                    receiver.release();
                }
            }
            assert_eq!(receiver.next(), Ok(None), "nothing more was sent");
        });
        for (record, payload) in stream(lengths) {
            send(&mut sender, record, payload);
        }
        other.join().expect("the receiver ended");
    });
}

#[test]
fn heads_go_round() {
    goes_round("rings/heads", None, &[0, 8, 24, 0, 8], false, 1);
}

#[test]
fn plain_messages_go_round() {
    goes_round("rings/plain", None, &[8, 40, 8, 40], true, 1);
}

#[test]
fn payload_goes_round() {
    goes_round("rings/payload", None, &[64, 0, 64, 0, 0, 0], false, 1);
}

#[test]
fn records_wrap_in_front_of_the_end() {
    goes_round("rings/wrap", None, &[0, 64, 64, 0, 64], false, 1);
}

#[test]
fn lines_come_back_two_at_a_time() {
    goes_round("rings/batches", None, &[0, 8, 0, 8, 0, 8], false, 2);
}

/// The receiver goes to sleep while a record comes: it does not sleep, or it is woken.
#[test]
fn no_sleeper_is_missed() {
    check("rings/sleep", None, 3, || {
        let (mut sender, mut receiver) = ring();
        let other = thread::spawn(move || {
            let slept = receiver.fall_asleep(None);
            if !slept {
                receiver.wake();
                assert!(receiver.next().expect("sound").is_some(), "a record");
            }
            slept
        });
        assert_eq!(sender.put_head(Record::new(Kind::Fin)), Ok(true));
        let woken = sender.receiver_sleeps();
        let slept = other.join().expect("the receiver ended");
        assert!(woken || !slept, "it sleeps on");
    });
}

/// No wake-up is lost if the receiver has slept and woken before.
#[test]
fn no_sleeper_is_missed_the_second_time() {
    check("rings/sleep again", None, 10, || {
        let (mut sender, mut receiver) = ring();
        let other = thread::spawn(move || {
            let mut taken = 0;
            for _ in 0..2 {
                if receiver.fall_asleep(None) {
                    return (taken, true);
                }
                receiver.wake();
                while receiver.next().expect("sound").is_some() {
                    taken += 1;
                }
            }
            (taken, false)
        });
        let mut woken = 0;
        for _ in 0..2 {
            assert_eq!(sender.put_head(Record::new(Kind::Fin)), Ok(true));
            woken += u32::from(sender.receiver_sleeps());
        }
        let (taken, slept) = other.join().expect("the receiver ended");
        assert!(woken > 0 || taken == 2 || !slept, "it sleeps on");
    });
}

/// Long data have their own ring, whose sender looks for a sleeper in the usual one.
#[test]
fn no_sleeper_is_missed_for_long_data() {
    check("rings/sleep, long data", None, 3, || {
        let ((sender, receiver), (mut long_sender, long_receiver)) = (ring(), ring());
        let other = thread::spawn(move || receiver.fall_asleep(Some(&long_receiver)));
        assert_eq!(long_sender.put_head(Record::new(Kind::Fin)), Ok(true));
        let woken = sender.receiver_sleeps();
        let slept = other.join().expect("the receiver ended");
        assert!(woken || !slept, "it sleeps on");
    });
}

/// Two senders have bells in one word: a receiver that takes a bell finds the record, and no bell
/// is lost.
#[test]
fn a_bell_brings_its_record() {
    check("rings/bells", None, 3, || {
        let board = Arc::new([AtomicU64::new(0)]);
        let (first, second) = (ring(), ring());
        let mut receivers = [first.1, second.1];
        let mut take = {
            let board = Arc::clone(&board);
            move || {
                bells::take(&*board, |number| {
                    let taken = receivers[number].next().expect("sound");
                    assert!(taken.is_some(), "a bell without a record");
                    receivers[number].release();
                });
                receivers.iter().filter(|ring| ring.ready()).count()
            }
        };
        let senders = [first.0, second.0];
        let others = senders.into_iter().zip(0..).map(|(mut sender, number)| {
            let board = Arc::clone(&board);
            thread::spawn(move || {
                assert_eq!(sender.put_head(Record::new(Kind::Fin)), Ok(true));
                bells::ring(&*board, number);
            })
        });
        let others: Vec<_> = others.collect();
        take();
        for other in others {
            other.join().expect("the sender ended");
        }
        assert_eq!(take(), 0, "a bell is lost");
    });
}

#[test]
fn a_witness_comes_before_the_first_record() {
    check("rings/witness", None, 2, || {
        let ((mut there, mut here), (back, announced)) = (ring(), ring());
        let witness = Witness {
            address: 7,
            value: 9,
        };
        let other = thread::spawn(move || {
            if here.next().expect("sound").is_some() {
                assert_eq!(back.witness().get(), witness);
            }
        });
        announced.witness().set(witness);
        assert_eq!(there.put_head(Record::new(Kind::Fin)), Ok(true));
        other.join().expect("the reader ended");
    });
}
