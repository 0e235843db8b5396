//! Pairs whose other end is in another program. A link (`DPA_WIRE=link:..`) carries what a pair
//! asks for, in parts, and what the other program answers. Numbers of queues tell programs apart.
//!
//! A pair asks for one operation at a time. Until its answer comes, its entry waits as one for
//! which the peer has no buffer. The other program keeps an operation that it cannot do yet.
//!
//! While too much waits for a program, nothing more is asked of it, and what it asks is not done.

use super::asleep::Moment;
use super::pair::Ends;
use super::send::{Sender, Undone};
use super::{Nic, format};
use crate::check::race::Cause;
use crate::wire::{HAS_BEGUN, Socket, program};
use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// Bytes of the longest message between programs, and of all whose parts or buffers are awaited.
const MESSAGE: usize = 8 << 20;
const AWAITED: usize = 64 << 20;
/// Operations of other programs that wait.
const OPERATIONS: usize = 1 << 16;
/// Messages that are heard between two looks whether operations can be done.
const HEARD: usize = 64;
/// Bytes of a part.
const PART: usize = 32 << 10;
/// How long a pair may not be there, or not be connected yet.
const CONNECTS: Duration = Duration::from_secs(4);
/// Between two looks whether the other program is there.
const LOOK: Duration = Duration::from_millis(250);

/// Bytes of an entry that the other program needs: control, remote, and an atomic's operands.
pub(super) const ENTRY: usize = 3 * format::SEGMENT;
/// Bytes before an answer's data: kind, whether it is the last part, receiver, number, syndrome. An
/// operation has sender, receiver, number, bytes to read, and the entry.
const WORDS: usize = 20;
const HEAD: usize = WORDS + ENTRY;
const ASKS: u8 = 1;
const ANSWERS: u8 = 2;

/// What a pair's next entry waits for.
#[derive(Debug)]
pub(super) enum Asked {
    /// When the other program was there last, and its socket, once that was seen.
    Waits(Instant, Option<Socket>),
    /// Nothing yet, since too much waits for the other program, which was there last at this time.
    Later(Instant),
    Is(Result<Vec<u8>, (u8, String)>),
}

/// An operation of a pair of another program.
#[derive(Debug)]
pub(super) struct Operation {
    pub(super) to: u32,
    number: u32,
    reads: u32,
    entry: [u8; ENTRY],
    data: Vec<u8>,
    is_whole: bool,
    pub(super) since: Moment,
    pub(super) is_reported: bool,
}

/// Operations of other programs' pairs, by their numbers.
pub(super) type Operations = HashMap<u32, Operation>;

fn gone(remote: u32) -> Undone {
    let why = format!("QP {remote:#x} does not answer: its program is not there");
    Undone::Bad(format::NO_ANSWER, why)
}

fn word(message: &[u8], at: usize) -> u32 {
    let bytes = message
        .get(at..at + 4)
        .and_then(|bytes| bytes.try_into().ok());
    bytes.map_or(0, u32::from_le_bytes)
}

impl Nic {
    /// Does an operation in another program: asks for it, and takes the answer into `data`.
    pub(super) fn ask(
        &mut self,
        ends: Ends,
        entry: &[u8],
        reads: usize,
        data: &mut Vec<u8>,
    ) -> Result<(), Undone> {
        let Ends { number, remote } = ends;
        if data.len().max(reads) > MESSAGE {
            let why = format!("{} bytes between programs", data.len().max(reads));
            return Err(format!("{why}: {MESSAGE} at most").into());
        }
        let asked = self.sender(number).and_then(|send| send.asked.take());
        match asked {
            Some(Asked::Is(Ok(answer))) => {
                *data = answer;
                return Ok(());
            }
            Some(Asked::Is(Err((syndrome, why)))) => return Err(Undone::Bad(syndrome, why)),
            Some(Asked::Waits(mut seen, mut socket)) => {
                if seen.elapsed() >= LOOK {
                    let now = self.wires.socket_of(remote);
                    let is_another = socket.is_some() && socket != now;
                    if is_another || !self.wires.listens(remote) {
                        return Err(gone(remote));
                    }
                    (seen, socket) = (Instant::now(), now);
                }
                if let Some(send) = self.sender(number) {
                    send.asked = Some(Asked::Waits(seen, socket));
                }
            }
            Some(Asked::Later(mut seen)) if self.wires.is_full(remote) => {
                if seen.elapsed() >= LOOK {
                    if !self.wires.listens(remote) {
                        return Err(gone(remote));
                    }
                    seen = Instant::now();
                }
                if let Some(send) = self.sender(number) {
                    send.asked = Some(Asked::Later(seen));
                }
            }
            None if self.wires.is_full(remote) => {
                if let Some(send) = self.sender(number) {
                    send.asked = Some(Asked::Later(Instant::now()));
                }
            }
            None | Some(Asked::Later(_)) => {
                let socket = self.wires.socket_of(remote);
                let Some(send) = self.sender(number) else {
                    return Ok(());
                };
                send.asks = send.asks.wrapping_add(1);
                send.asked = Some(Asked::Waits(Instant::now(), socket));
                let words = [number, remote, send.asks, reads as u32];
                let mut entry = entry[..entry.len().min(ENTRY)].to_vec();
                entry.resize(ENTRY, 0);
                self.tell(ASKS, remote, words, &entry, data);
            }
        }
        Err(Undone::NotReady)
    }

    pub(super) fn sender(&mut self, number: u32) -> Option<&mut Sender> {
        self.wqs.get_mut(number)?.send.as_mut()
    }

    /// Sends a message in parts to the program of the queue `to`. Each has the words and the entry.
    fn tell(&mut self, kind: u8, to: u32, words: [u32; 4], entry: &[u8], data: &[u8]) {
        let mut rest = data;
        loop {
            let (part, more) = rest.split_at(rest.len().min(PART));
            let mut message = vec![kind, u8::from(more.is_empty()), 0, 0];
            words
                .iter()
                .for_each(|word| message.extend(word.to_le_bytes()));
            message.extend(entry);
            message.extend(part);
            self.wires.tell(to, &message);
            if more.is_empty() {
                return;
            }
            rest = more;
        }
    }

    /// Takes what other programs ask and answer. Answers how many messages came.
    pub(super) fn hear(&mut self) -> usize {
        let mut count = 0_usize;
        let cause = Cause::wire(true);
        while let Some(message) = self.wires.hear() {
            count += 1;
            match message.first() {
                Some(&ASKS) if message.len() >= HEAD => self.is_asked(&message),
                Some(&ANSWERS) if message.len() >= WORDS => self.is_answered(&message),
                // What an earlier program at its place has asked for is nobody's.
                Some(&HAS_BEGUN) if message.len() == 2 => {
                    let gone = usize::from(message[1]);
                    self.operations.retain(|&from, _| program(from) != gone);
                }
                // No emulator sends such a message.
                _ => {}
            }
            if count.is_multiple_of(HEARD) {
                self.do_operations();
            }
        }
        if count > 0 || !self.operations.is_empty() {
            count += self.do_operations();
            // A program may end as soon as it knows what came: the answers leave before.
            self.wires.send_waiting();
        }
        drop(cause);
        count
    }

    /// A part of an operation comes, or all of it.
    fn is_asked(&mut self, message: &[u8]) {
        let [from, to, number, reads] = [4, 8, 12, 16].map(|at| word(message, at));
        let awaited: usize = self.operations.values().map(|own| own.data.len()).sum();
        let data = &message[HEAD..];
        let now = self.now();
        let new = || Operation {
            to,
            number,
            reads,
            entry: std::array::from_fn(|at| message[WORDS + at]),
            data: Vec::new(),
            is_whole: false,
            since: now,
            is_reported: false,
        };
        if self.operations.len() >= OPERATIONS && !self.operations.contains_key(&from) {
            let why = format!("{OPERATIONS} operations wait in the other program");
            return self.answer(from, number, Err((format::REMOTE_OPERATION, why)));
        }
        let operation = self.operations.entry(from).or_insert_with(new);
        if operation.number != number {
            *operation = new();
        }
        if operation.data.len() + data.len() > MESSAGE || awaited + data.len() > AWAITED {
            self.operations.remove(&from);
            let why = format!("more than {AWAITED} bytes wait in the other program");
            return self.answer(from, number, Err((format::REMOTE_OPERATION, why)));
        }
        operation.data.extend(data);
        operation.is_whole |= message[1] != 0;
    }

    /// Does operations that are whole. Answers how many were done.
    fn do_operations(&mut self) -> usize {
        let whole = self.operations.iter().filter(|(_, own)| own.is_whole);
        let mut ready: Vec<u32> = whole.map(|(&from, _)| from).collect();
        ready.sort_unstable();
        let mut done = 0;
        for from in ready {
            // No answer could leave.
            if self.wires.is_full(from) {
                continue;
            }
            let Some(mut operation) = self.operations.remove(&from) else {
                continue;
            };
            let mut data = std::mem::take(&mut operation.data);
            let ends = Ends {
                number: from,
                remote: operation.to,
            };
            let reads = operation.reads as usize;
            let entry = &operation.entry;
            let result = match reads <= MESSAGE {
                true => self
                    .permit(ends, entry[3])
                    .and_then(|permit| self.serve(ends, permit, entry, reads, &mut data)),
                false => Err(format!("a read of {reads} bytes").into()),
            };
            let waits = match &result {
                Err(Undone::NotReady) => true,
                Err(Undone::Bad(format::NO_ANSWER, _)) => !self.has_run(operation.since, CONNECTS),
                _ => false,
            };
            if waits {
                operation.data = data;
                self.operations.insert(from, operation);
                continue;
            }
            done += 1;
            let is_answer = matches!(
                operation.entry[3],
                format::READ | format::COMPARE_SWAP | format::FETCH_ADD
            );
            let answer = match result {
                Ok(()) if is_answer => Ok(data),
                Ok(()) | Err(Undone::NotReady) => Ok(Vec::new()),
                Err(Undone::Bad(syndrome, why)) => Err((syndrome, why)),
            };
            self.answer(from, operation.number, answer);
        }
        done
    }

    fn answer(&mut self, to: u32, number: u32, answer: Result<Vec<u8>, (u8, String)>) {
        if self.wires.is_full(to) {
            // Only of what was refused at once.
            static SAID: AtomicBool = AtomicBool::new(false);
            let text = format_args!(
                "the program of QP {to:#x} asks for much and takes no answer: refusals are lost"
            );
            return crate::check::note_once(&SAID, text);
        }
        let (syndrome, data) = match answer {
            Ok(data) => (0, data),
            Err((syndrome, why)) => (syndrome, why.into_bytes()),
        };
        self.tell(ANSWERS, to, [to, number, syndrome.into(), 0], &[], &data);
    }

    fn is_answered(&mut self, message: &[u8]) {
        let [to, number, syndrome, _] = [4, 8, 12, 16].map(|at| word(message, at));
        let Some(send) = self.wqs.get_mut(to).and_then(|wq| wq.send.as_mut()) else {
            return;
        };
        // An answer to a pair that was reset since is nobody's.
        let awaits = matches!(send.asked, Some(Asked::Waits(..))) && send.asks == number;
        if !awaits || send.parts.len() + message.len() > 2 * MESSAGE {
            return;
        }
        send.parts.extend(&message[WORDS..]);
        if message[1] != 0 {
            let data = std::mem::take(&mut send.parts);
            send.asked = Some(Asked::Is(match syndrome {
                0 => Ok(data),
                _ => Err((syndrome as u8, String::from_utf8_lossy(&data).into_owned())),
            }));
        }
    }
}
