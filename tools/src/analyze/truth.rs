//! Which receive really got which message.
//!
//! A status names source and tag of the message that a receive got. On one communicator the k-th
//! receive of a rank, in posting order, whose message was (s, t) got the k-th message (s, t) that s
//! sent it: all those receives accept (s, t), and messages of one sender with one tag do not
//! overtake each other (C2 of G3). So the very message is known, wildcards or not, and the bytes
//! that the status tells prove it.

use super::communicators::Communicators;
use super::inbound::Inbound;
use super::program::{End, Kind, Program, UNKNOWN};

/// Compares that the search for the messages of receives without status may take, per rank.
const ELIMINATION_STEPS_MAX: u64 = 20_000_000;

/// How the receives of a rank and its messages go together.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct Truth {
    /// Pairs known from a status or from a posting without wildcard.
    pub pairs: u64,
    /// Pairs found by elimination: the status was ignored and something was wild, but a message was
    /// left over.
    pub eliminated: u64,
    /// Pairs whose status tells as many bytes as were sent.
    pub bytes_equal: u64,
    /// Pairs whose status tells another number.
    pub bytes_differ: u64,
    /// Complete receives whose send is in no trace: the message is made up from the status.
    pub assumed: u64,
    /// Receives that were taken to be from `MPI_PROC_NULL`: nobody sent what they would have got.
    pub taken_for_null: u64,
    /// Receives that got a message of which nothing is known, and take no part.
    pub without_message: u64,
    /// Messages that no receive is known to have got.
    pub left: u64,
}

impl Truth {
    /// Adds another rank's.
    pub fn add(&mut self, other: &Self) {
        self.pairs += other.pairs;
        self.eliminated += other.eliminated;
        self.bytes_equal += other.bytes_equal;
        self.bytes_differ += other.bytes_differ;
        self.assumed += other.assumed;
        self.taken_for_null += other.taken_for_null;
        self.without_message += other.without_message;
        self.left += other.left;
    }
}

/// Key of a message: communicator, source, tag.
type Key = (u32, u32, u32);

struct Known {
    key: Key,
    receive: u32,
}

/// Pairs one rank's receives with its messages: sets [`Inbound::receive`], and adds messages whose
/// sends are not in the trace. Receives from `MPI_PROC_NULL` that were not told as such are dropped
/// from the program. `ranks` are those that have a trace, ascending.
///
/// # Complexity
/// Sorts receives and messages once: n log n.
pub(super) fn pair(
    at: usize,
    program: &mut Program,
    inbound: &mut Vec<Inbound>,
    comms: &Communicators,
    ranks: &[u32],
) -> Truth {
    let mut truth = Truth::default();
    let mut known = Vec::new();
    let mut open = Vec::new();
    for (receive, transfer) in program.transfers.iter().enumerate() {
        if transfer.kind != Kind::Recv || transfer.end == End::Cancelled {
            continue;
        }
        let comm = comms.global(at, transfer.comm);
        match transfer.envelope() {
            Some((source, tag)) => {
                known.push(Known { key: (comm, source, tag), receive: receive as u32 })
            }
            None => open.push(receive as u32),
        }
    }
    known.sort_unstable_by_key(|known| (known.key, known.receive));
    let key = |message: &Inbound| (message.comm, message.source, message.tag);
    let mut sent: Vec<u32> = (0..inbound.len() as u32).collect();
    sent.sort_unstable_by_key(|&at| (key(&inbound[at as usize]), at));
    if !open.is_empty() {
        eliminate(at, program, inbound, comms, &sent, &open, &mut known, &mut truth);
    }
    let mut missing = Vec::new();
    let mut next = 0;
    for Known { key: wanted, receive } in known {
        while next < sent.len() && key(&inbound[sent[next] as usize]) < wanted {
            next += 1;
        }
        let message = sent.get(next).copied().filter(|&at| key(&inbound[at as usize]) == wanted);
        let Some(message) = message else {
            missing.push((wanted, receive));
            continue;
        };
        next += 1;
        let message = &mut inbound[message as usize];
        message.receive = receive;
        truth.pairs += 1;
        let got = program.transfers[receive as usize].got_bytes;
        if got != UNKNOWN && message.bytes != UNKNOWN {
            truth.bytes_equal += u64::from(got == message.bytes);
            truth.bytes_differ += u64::from(got != message.bytes);
        }
    }
    truth.pairs -= truth.eliminated;
    missing.sort_unstable_by_key(|&(_, receive)| receive);
    for ((comm, source, tag), receive) in missing {
        let transfer = &mut program.transfers[receive as usize];
        let sender = comms.all[comm as usize].peer(program.rank, source).unwrap_or(UNKNOWN);
        if transfer.unsure_null && ranks.binary_search(&sender).is_ok() {
            transfer.kind = Kind::Null;
            truth.taken_for_null += 1;
            continue;
        }
        truth.assumed += 1;
        let bytes = if transfer.got_bytes == UNKNOWN { transfer.bytes } else { transfer.got_bytes };
        inbound.push(Inbound { sender, op: UNKNOWN, comm, source, tag, bytes, receive });
    }
    truth.left = inbound.iter().filter(|message| message.receive == UNKNOWN).count() as u64;
    truth
}

/// Gives receives of which only the pattern is known a message that nobody else can have got: of a
/// key with more messages than known receives.
#[allow(clippy::too_many_arguments, reason = "one step of `pair`, on its variables")]
fn eliminate(
    at: usize,
    program: &mut Program,
    inbound: &[Inbound],
    comms: &Communicators,
    sent: &[u32],
    open: &[u32],
    known: &mut Vec<Known>,
    truth: &mut Truth,
) {
    // Key, messages too many, and the sender's operation with which they begin.
    let mut surplus: Vec<(Key, u32, u32)> = Vec::new();
    let mut receives = known.iter().peekable();
    for group in sent.chunk_by(|&a, &b| {
        let (a, b) = (&inbound[a as usize], &inbound[b as usize]);
        (a.comm, a.source, a.tag) == (b.comm, b.source, b.tag)
    }) {
        let first = &inbound[group[0] as usize];
        let key = (first.comm, first.source, first.tag);
        while receives.next_if(|known| known.key < key).is_some() {}
        let mut taken = 0;
        while receives.next_if(|known| known.key == key).is_some() {
            taken += 1;
        }
        if group.len() > taken {
            surplus.push((key, (group.len() - taken) as u32, inbound[group[taken] as usize].op));
        }
    }
    // Of several keys the one whose messages were sent first.
    surplus.sort_unstable_by_key(|&((comm, source, _), _, op)| (comm, op, source));
    let mut found = Vec::new();
    let mut steps = 0;
    // Complete receives before those that may have got nothing at all.
    let sure = |receive: &&u32| program.transfers[**receive as usize].end == End::Ignored;
    let (first, second): (Vec<u32>, Vec<u32>) = (
        open.iter().filter(sure).copied().collect(),
        open.iter().filter(|open| !sure(open)).copied().collect(),
    );
    for receive in first.into_iter().chain(second) {
        let transfer = &program.transfers[receive as usize];
        let comm = comms.global(at, transfer.comm);
        let place = surplus.iter().position(|&((of, source, tag), count, _)| {
            steps += 1;
            of == comm && count > 0 && transfer.accepts(source, tag)
        });
        match place {
            Some(place) => {
                found.push(Known { key: surplus[place].0, receive });
                surplus[place].1 -= 1;
                if surplus[place].1 == 0 {
                    surplus.remove(place);
                }
                truth.eliminated += 1;
            }
            None if transfer.end == End::Ignored && transfer.unsure_null => {
                program.transfers[receive as usize].kind = Kind::Null;
                truth.taken_for_null += 1;
            }
            None if transfer.end == End::Ignored => {
                // Left in, it would take what others got.
                program.transfers[receive as usize].kind = Kind::Null;
                truth.without_message += 1;
            }
            None if transfer.end == End::CancelAsked => {
                program.transfers[receive as usize].end = End::Cancelled
            }
            None => {}
        }
        if steps > ELIMINATION_STEPS_MAX {
            break;
        }
    }
    known.append(&mut found);
    known.sort_unstable_by_key(|known| (known.key, known.receive));
}
