//! From 64 match bits and a mask to communicator, tag and wildcards.
//!
//! libfabric matches a receive and a message when their bits agree wherever the receive's mask does
//! not say "ignore". MPI libraries use few masks. They put the tag into the low 31 bits,
//! and ignore all of them for `MPI_ANY_TAG`; the communicator's context is above them. A few of
//! the high bits belong to the protocol (a synchronous send, say), and every receive from the user
//! ignores them: here *protocol bits*.
//!
//! So one rule serves all: the tag is the low 31 bits, and the communicator is the high 33 bits
//! without the protocol bits. The first receive that ignores any of them teaches the rule these
//! bits. The rule is exact as long as
//! - no other mask is used, and
//! - in one communicator either all receives ignore the protocol bits, or none does and no message
//!   has a protocol bit that differs from the receives'. A library with separate contexts for
//!   control messages satisfies this.
//!
//! If a receive or message would make it inexact, the rule returns `None`, and the endpoint
//! changes to comparing all bits.

use std::collections::HashMap;

use dpamatch_vocabulary::{CommId, Tag, TagSel};

const TAG_BITS: u64 = 0x7fff_ffff;

/// The state of one communicator.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Use {
    number: CommId,
    /// A receive ignored the protocol bits.
    ignoring: bool,
    /// A receive compared them.
    comparing: bool,
    /// A message or comparing receive had one set.
    marked: bool,
}

/// A cache of communicators before the map: programs use few at a time.
const RECENT: usize = 16;

/// High bits and mask of a receive, and its communicator.
#[derive(Debug)]
struct Last {
    high: u64,
    ignore: u64,
    comm: CommId,
}

impl Default for Last {
    /// No receive has these bits.
    fn default() -> Self {
        Self {
            high: u64::MAX,
            ignore: 0,
            comm: CommId(0),
        }
    }
}

/// The rule, with the communicators seen so far.
#[derive(Debug, Default)]
pub(crate) struct Rule {
    protocol: u64,
    learned: bool,
    /// By the communicator's number.
    uses: Vec<Use>,
    /// The high bits of each communicator, by its number.
    contexts: Vec<u64>,
    numbers: HashMap<u64, u32>,
    /// Numbers of communicators, by some bits of their contexts.
    recent: [u32; RECENT],
    /// The last receive without an error.
    last: Last,
}

impl Rule {
    #[inline(always)]
    fn entry(&mut self, bits: u64) -> &mut Use {
        let context = (bits & !self.protocol) >> 31;
        // The libraries count communicators in the lowest bits, or in those above the lowest 3.
        let place = (context ^ context >> 3) as usize % RECENT;
        let mut number = self.recent[place];
        if self.contexts.get(number as usize) != Some(&context) {
            number = self.number(context);
            self.recent[place] = number;
        }
        &mut self.uses[number as usize]
    }

    #[cold]
    fn number(&mut self, context: u64) -> u32 {
        let Self {
            uses,
            contexts,
            numbers,
            ..
        } = self;
        *numbers.entry(context).or_insert_with(|| {
            let number = contexts.len() as u32;
            contexts.push(context);
            uses.push(Use {
                number: CommId(number),
                ..Use::default()
            });
            number
        })
    }

    /// Whether this mask teaches the protocol bits. The rule then changes, and both queues must be
    /// entered anew.
    pub(crate) fn has_new_protocol(&self, ignore: u64) -> bool {
        !self.learned && ignore & !TAG_BITS != 0
    }

    /// The rule after that mask, without communicators.
    pub(crate) fn with_protocol(ignore: u64) -> Self {
        Self {
            protocol: ignore & !TAG_BITS,
            learned: true,
            ..Self::default()
        }
    }

    /// The communicator of a receive that differs from the last one in its tag only.
    #[inline(always)]
    pub(crate) fn receive_alike(&self, bits: u64, ignore: u64) -> Option<CommId> {
        let Last {
            high,
            ignore: mask,
            comm,
        } = self.last;
        // Where all bits are compared since then, communicators are ignored.
        (high == bits >> 31 && mask == ignore).then_some(comm)
    }

    /// The communicator of a receive with these bits. `None`: it ignores bits that the rule does
    /// not know, or some receives of the communicator ignore the protocol bits and others do not.
    pub(crate) fn receive(&mut self, bits: u64, ignore: u64) -> Option<CommId> {
        let (low, high, protocol) = (ignore & TAG_BITS, ignore & !TAG_BITS, self.protocol);
        if !matches!(low, 0 | TAG_BITS) || high != 0 && high != protocol {
            return None;
        }
        let compares = high == 0 && protocol != 0;
        let entry = self.entry(bits);
        if compares {
            entry.comparing = true;
            entry.marked |= bits & protocol != 0;
        } else {
            entry.ignoring = true;
        }
        let mixed = protocol != 0 && entry.comparing && (entry.ignoring || entry.marked);
        if mixed {
            return None;
        }
        let comm = entry.number;
        self.last = Last {
            high: bits >> 31,
            ignore,
            comm,
        };
        Some(comm)
    }

    /// Communicator and tag of a message. `None`: it has bits set that the receives compare.
    #[inline(always)]
    pub(crate) fn message(&mut self, bits: u64) -> Option<(CommId, Tag)> {
        let marked = bits & self.protocol != 0;
        let entry = self.entry(bits);
        entry.marked |= marked;
        let mixed = entry.comparing && entry.marked;
        if mixed {
            None
        } else {
            Some((entry.number, tag_of(bits)))
        }
    }

    /// The protocol bits learned, and the high 33 bits of each communicator by its number.
    pub(crate) fn contexts(&self) -> (u64, &[u64]) {
        (self.protocol, &self.contexts)
    }
}

#[inline(always)]
pub(crate) fn tag_of(bits: u64) -> Tag {
    Tag::new((bits & TAG_BITS) as u32).unwrap_or_default()
}

#[inline(always)]
pub(crate) fn requested_tag(bits: u64, ignore: u64) -> TagSel {
    if ignore & TAG_BITS == 0 {
        TagSel::Tag(tag_of(bits))
    } else {
        TagSel::Any
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROTOCOL: u64 = 0b110 << 40;
    /// Of communicator 9, with a tag of 5.
    const BITS: u64 = 9 << 45 | 5;

    /// All orders of four receives and messages, against what the module says.
    #[test]
    fn a_rule_ends_where_it_would_be_inexact() {
        for order in 0..5_u32.pow(4) {
            let mut rule = Rule::with_protocol(PROTOCOL);
            let (mut ignoring, mut comparing, mut marked) = (false, false, false);
            for place in 0..4 {
                let step = order / 5_u32.pow(place) % 5;
                ignoring |= step == 4;
                comparing |= step < 2;
                marked |= step % 2 == 1;
                let bits = if step % 2 == 1 { BITS | 1 << 41 } else { BITS };
                let told = match step {
                    2 | 3 => rule
                        .message(bits)
                        .map(|(comm, tag)| (comm, tag == tag_of(5))),
                    4 => rule
                        .receive(bits | 1 << 42, PROTOCOL | TAG_BITS)
                        .map(|comm| (comm, true)),
                    _ => rule.receive(bits, 0).map(|comm| (comm, true)),
                };
                let ends = comparing && (ignoring || marked);
                assert_eq!(
                    told,
                    (!ends).then_some((CommId(0), true)),
                    "{order}, {place}"
                );
                if ends {
                    break;
                }
            }
        }
        let fits = |ignore| {
            Rule::with_protocol(PROTOCOL)
                .receive(BITS, ignore)
                .is_some()
        };
        let masks = [
            0,
            TAG_BITS,
            PROTOCOL,
            PROTOCOL | TAG_BITS,
            1,
            1 << 41,
            PROTOCOL | 2,
            !0,
        ];
        assert_eq!(
            masks.map(fits),
            [true, true, true, true, false, false, false, false]
        );
    }
}
