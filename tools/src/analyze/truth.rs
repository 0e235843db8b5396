//! Determines which receive got which message in the recorded run.
//!
//! A status gives the source and tag of a receive's message. Consider all receives of a rank on one
//! communicator whose message was (s, t), in posting order. The k-th of them got the k-th message
//! (s, t) from s: all these receives accept (s, t), and messages of one sender with one tag do not
//! overtake each other. So each message is identified, with or without wildcards, and the status's
//! byte count confirms it.
//!
//! Some receives have an unknown status: the program ignored it, and there was a wildcard or a
//! cancel. Such a receive may be anywhere among the receives of a key, or got nothing. Byte counts
//! that contradict the order show where ([`align`](super::align)); surplus messages show that it
//! got one.

use std::collections::HashMap;

use foldhash::fast::RandomState as Fast;

use super::align::{self, Sequences};
use super::communicators::Communicators;
use super::inbound::{Inbound, Messages};
use super::program::{End, Program, Transfer, TransferKind, UNKNOWN, UNKNOWN_BYTES};
use super::transfers::Transfers;

/// Maximum compares per rank in the search for messages of receives without status.
const ELIMINATION_STEPS_MAX: usize = 20_000_000;
/// Maximum cells, of 4 bytes, in the alignment of one key's receives and messages.
const CELLS_MAX: usize = 1 << 22;

/// How the receives of a rank and its messages were paired.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct Truth {
    /// Pairs known from a status or from a posting without wildcards.
    pub pairs: u64,
    /// Pairs found by elimination: the status was ignored and there was a wildcard, but a message
    /// was left over.
    pub eliminated: u64,
    /// Pairs whose status has as many bytes as were sent.
    pub bytes_equal: u64,
    /// Pairs whose status has another byte count.
    pub bytes_differ: u64,
    /// Complete receives without recorded send: the message is made up from the status.
    pub assumed: u64,
    /// Receives assumed to be from `MPI_PROC_NULL`, because no rank sent a message for them.
    pub taken_for_null: u64,
    /// Receives with an unidentified message, which take no part.
    pub without_message: u64,
    /// Messages without a known receive.
    pub left: u64,
    /// Receives without status that were not examined, and receives whose byte counts contradict
    /// their order and could not be aligned: a bound on the search was reached.
    #[serde(skip_serializing_if = "is_zero")]
    pub not_examined: u64,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Truth {
    pub fn add(&mut self, other: &Self) {
        add_fields! { self + other;
            sum pairs eliminated bytes_equal bytes_differ assumed taken_for_null without_message left
                not_examined;
        }
    }
}

type Key = (u32, u32, u32);

struct Known {
    key: Key,
    receive: u32,
}

/// All messages of a key, and the receives that got them.
struct Chain<'a> {
    key: Key,
    messages: &'a [u32],
    receives: Vec<u32>,
}

#[derive(Clone, Copy)]
struct Parts<'a> {
    transfers: &'a Transfers,
    inbound: &'a Messages,
}

impl Parts<'_> {
    fn fits(self, receive: u32, message: u32) -> bool {
        let (transfer, sent) = (self.transfers.at(receive), self.inbound.at(message).bytes);
        let room = transfer.bytes;
        match transfer.got_bytes {
            _ if sent == UNKNOWN_BYTES => true,
            UNKNOWN_BYTES => room == UNKNOWN_BYTES || sent <= room,
            got => got == sent,
        }
    }

    fn fits_in_order(self, chain: &Chain<'_>) -> bool {
        let mut pairs = chain.receives.iter().zip(chain.messages);
        pairs.all(|(&receive, &message)| self.fits(receive, message))
    }

    /// The message of each of `receives`, aligned by byte counts if these contradict the order.
    /// `may_miss` says which receives may have got nothing.
    fn align(
        self,
        receives: &[u32],
        messages: &[u32],
        may_miss: impl Fn(u32) -> bool,
    ) -> Option<Vec<u32>> {
        let sequences = Sequences {
            receives: receives.len(),
            messages: messages.len(),
            may_miss: |at: usize| may_miss(receives[at]),
            fits: |receive: usize, message: usize| self.fits(receives[receive], messages[message]),
        };
        let mut partners = sequences.align(CELLS_MAX)?;
        let named = partners
            .iter_mut()
            .filter(|partner| **partner != align::NONE);
        named.for_each(|partner| *partner = messages[*partner as usize]);
        Some(partners)
    }
}

/// Pairs one rank's receives with its messages: sets [`Inbound::receive`], and adds messages
/// without recorded send. Drops receives from `MPI_PROC_NULL` that the trace does not mark as such.
/// `ranks` are the ranks with a trace, ascending.
///
/// # Complexity
/// Sorts receives and messages once: n log n. A chain whose byte counts contradict its order takes
/// its length times its surplus.
pub(super) fn pair(
    at: usize,
    program: &mut Program,
    inbound: &mut Messages,
    comms: &Communicators,
    ranks: &[u32],
) -> Truth {
    let mut truth = Truth::default();
    let mut known = Vec::new();
    let mut open = Vec::new();
    for (receive, transfer) in program.transfers.iter().enumerate() {
        if transfer.kind != TransferKind::Recv || transfer.end == End::Cancelled {
            continue;
        }
        let comm = comms.global(at, transfer.comm);
        match transfer.envelope() {
            Some((source, tag)) => known.push(Known {
                key: (comm, source, tag),
                receive: receive as u32,
            }),
            None => open.push(receive as u32),
        }
    }
    known.sort_unstable_by_key(|known| (known.key, known.receive));
    let mut sent: Vec<u32> = (0..inbound.len() as u32).collect();
    sent.sort_unstable_by_key(|&at| (inbound.at(at).key(), at));
    let mut chains = chains(&sent, inbound, &known);
    let parts = Parts {
        transfers: &program.transfers,
        inbound,
    };
    let comm = |receive: u32| comms.global(at, parts.transfers.at(receive).comm);
    truth.not_examined += eliminate(parts, comm, &mut chains, &open);
    let mut pairs = Vec::with_capacity(program.transfers.len());
    for chain in &chains {
        let in_order = || {
            let none = std::iter::repeat(align::NONE);
            chain
                .messages
                .iter()
                .copied()
                .chain(none)
                .take(chain.receives.len())
                .collect()
        };
        let partners = match parts.fits_in_order(chain) {
            true => in_order(),
            false => parts
                .align(&chain.receives, chain.messages, |_| false)
                .unwrap_or_else(|| {
                    truth.not_examined += chain.receives.len() as u64;
                    in_order()
                }),
        };
        pairs.extend(
            chain
                .receives
                .iter()
                .copied()
                .zip(partners)
                .map(|pair| (chain.key, pair)),
        );
    }
    drop(chains);
    let mut missing = Vec::new();
    for (key, (receive, message)) in pairs {
        let transfer = program.transfers.at(receive);
        let is_open = transfer.envelope().is_none();
        if message == align::NONE {
            if !is_open {
                missing.push((key, receive));
            }
            continue;
        }
        inbound.set_receive(message, receive);
        *if is_open {
            &mut truth.eliminated
        } else {
            &mut truth.pairs
        } += 1;
        if let Some(equal) = same_length(transfer.got_bytes, inbound.at(message).bytes) {
            truth.bytes_equal += u64::from(equal);
            truth.bytes_differ += u64::from(!equal);
        }
    }
    drop_open(program, inbound, &open, &mut truth);
    missing.sort_unstable_by_key(|&(_, receive)| receive);
    inbound.reserve(missing.len());
    for ((comm, source, tag), receive) in missing {
        let transfer = program.transfers.at(receive);
        let sender = comms.all[comm as usize]
            .peer(program.rank, source)
            .unwrap_or(UNKNOWN);
        if transfer.unsure_null && ranks.binary_search(&sender).is_ok() {
            let null = |it: &mut Transfer| it.kind = TransferKind::Null;
            program.transfers.change(receive, null);
            truth.taken_for_null += 1;
            continue;
        }
        truth.assumed += 1;
        let bytes = if transfer.got_bytes == UNKNOWN_BYTES {
            transfer.bytes
        } else {
            transfer.got_bytes
        };
        inbound.push(Inbound {
            sender,
            op: UNKNOWN,
            comm,
            source,
            tag,
            bytes,
            receive,
        });
    }
    program.transfers.shrink_to_fit();
    inbound.shrink_to_fit();
    truth.left = inbound
        .iter()
        .filter(|message| message.receive == UNKNOWN)
        .count() as u64;
    truth
}

/// The chains of a rank, by key. `sent` and `known` are sorted by key.
fn chains<'a>(sent: &'a [u32], inbound: &Messages, known: &[Known]) -> Vec<Chain<'a>> {
    let key = |message: u32| inbound.at(message).key();
    let mut sent = sent.chunk_by(|&a, &b| key(a) == key(b)).peekable();
    let mut known = known.chunk_by(|a, b| a.key == b.key).peekable();
    let mut chains = Vec::new();
    loop {
        let keys = [
            sent.peek().map(|sent| key(sent[0])),
            known.peek().map(|known| known[0].key),
        ];
        let Some(next) = keys.into_iter().flatten().min() else {
            return chains;
        };
        let messages = sent.next_if(|sent| key(sent[0]) == next).unwrap_or(&[]);
        let receives = known.next_if(|known| known[0].key == next).unwrap_or(&[]);
        let receives = receives.iter().map(|known| known.receive).collect();
        chains.push(Chain {
            key: next,
            messages,
            receives,
        });
    }
}

/// Adds receives with only a known pattern to chains whose surplus messages no other receive can
/// have got. Contradictory byte counts decide first, then surplus messages. `comm` is a receive's
/// communicator. Returns the number of receives that remained when the bound on the search was
/// reached.
fn eliminate(
    parts: Parts<'_>,
    comm: impl Fn(u32) -> u32,
    chains: &mut [Chain<'_>],
    open: &[u32],
) -> u64 {
    let mut steps = 0;
    // Complete receives go before those that may have got nothing.
    for sure in [true, false] {
        let of_kind = |end| (end == End::Ignored) == sure;
        let mut waiting: Vec<u32> = open
            .iter()
            .copied()
            .filter(|&receive| of_kind(parts.transfers.at(receive).end))
            .collect();
        if waiting.is_empty() {
            continue;
        }
        let mut wanting = Vec::new();
        for (at, chain) in chains.iter().enumerate() {
            let in_order = parts.fits_in_order(chain);
            let over = chain.messages.get(chain.receives.len());
            if !in_order || over.is_some() {
                let (comm, source, _) = chain.key;
                let op = over.map_or(0, |&over| parts.inbound.at(over).op);
                // Among several keys the one whose messages were sent first wins.
                wanting.push(((in_order, comm, op, source), at));
            }
        }
        wanting.sort_unstable();
        for ((in_order, ..), at) in wanting {
            let chain = &mut chains[at];
            let (of, source, tag) = chain.key;
            let candidates = || {
                waiting.iter().copied().filter(|&receive| {
                    comm(receive) == of && parts.transfers.at(receive).accepts(source, tag)
                })
            };
            steps += waiting.len();
            if steps > ELIMINATION_STEPS_MAX {
                return waiting.len() as u64;
            }
            let found = take(parts, chain, candidates().collect(), in_order);
            if !found.is_empty() {
                waiting.retain(|receive| found.binary_search(receive).is_err());
            }
        }
    }
    0
}

/// Adds the candidates that got a message of the chain; returns them, ascending.
fn take(
    parts: Parts<'_>,
    chain: &mut Chain<'_>,
    mut candidates: Vec<u32>,
    in_order: bool,
) -> Vec<u32> {
    let mut all = [chain.receives.as_slice(), &candidates].concat();
    all.sort_unstable();
    let may_miss = |receive: u32| candidates.binary_search(&receive).is_ok();
    match parts.align(&all, chain.messages, may_miss) {
        Some(partners) => {
            let partners: HashMap<u32, u32, Fast> = all.into_iter().zip(partners).collect();
            candidates.retain(|receive| partners[receive] != align::NONE);
        }
        // Too many candidates to examine all.
        None if in_order => candidates.truncate(chain.messages.len() - chain.receives.len()),
        None => candidates.clear(),
    }
    chain.receives.extend(&candidates);
    chain.receives.sort_unstable();
    candidates
}

/// A status with this length has at least as many bytes: the format ends here.
const AT_LEAST: u64 = i32::MAX as u64;

/// Whether a receive's status has the length of its message; `None` if one is not known.
pub(super) fn same_length(got: u64, sent: u64) -> Option<bool> {
    let known = got != UNKNOWN_BYTES && sent != UNKNOWN_BYTES;
    let exact = got != AT_LEAST || sent <= AT_LEAST;
    (known && exact).then_some(got == sent)
}

/// Drops receives with only a known pattern and no message from the trace, unless they may wait to
/// the end.
fn drop_open(program: &mut Program, inbound: &Messages, open: &[u32], truth: &mut Truth) {
    let mut paired = vec![false; program.transfers.len()];
    for message in inbound.iter().filter(|message| message.receive != UNKNOWN) {
        paired[message.receive as usize] = true;
    }
    for &receive in open.iter().filter(|&&receive| !paired[receive as usize]) {
        let transfer = program.transfers.at(receive);
        let transfers = &mut program.transfers;
        match transfer.end {
            End::Ignored => {
                // If it stayed, it would take other receives' messages.
                transfers.change(receive, |it| it.kind = TransferKind::Null);
                let null = transfer.unsure_null;
                *if null {
                    &mut truth.taken_for_null
                } else {
                    &mut truth.without_message
                } += 1;
            }
            End::CancelAsked => transfers.change(receive, |it| it.end = End::Cancelled),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
