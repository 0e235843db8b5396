//! The other endpoints, numbered when they first appear. The number of a peer that is gone, and
//! that nothing refers to, goes to a later one.
//!
//! A message can come before its sender's address is put into the address vector, and a program may
//! put it there twice. So the key of a peer is its identity, and matching uses its number.

use std::collections::HashMap;

use super::Address;

/// Number of a peer, from 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct PeerId(pub(crate) u32);

impl PeerId {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// Peers up to which none is forgotten.
pub(crate) const PEERS_MIN: usize = 1024;

#[derive(Debug)]
pub(crate) struct Peers {
    numbers: HashMap<u128, PeerId>,
    /// By number; a free number keeps the address of the last peer that had it.
    addresses: Vec<Address>,
    free: Vec<PeerId>,
    /// Peers from which on the caller should look for those to forget.
    crowd: usize,
}

impl Default for Peers {
    fn default() -> Self {
        let (numbers, addresses, free) = (HashMap::new(), Vec::new(), Vec::new());
        Self {
            numbers,
            addresses,
            free,
            crowd: PEERS_MIN,
        }
    }
}

impl Peers {
    pub(crate) fn number(&mut self, address: &Address) -> PeerId {
        *self
            .numbers
            .entry(address.identity)
            .or_insert_with(|| match self.free.pop() {
                Some(free) => {
                    self.addresses[free.index()] = *address;
                    free
                }
                None => {
                    self.addresses.push(*address);
                    PeerId(self.addresses.len() as u32 - 1)
                }
            })
    }

    /// Whether there are twice as many peers as the last [`keep`](Self::keep) left.
    #[inline(always)]
    pub(crate) fn is_crowded(&self) -> bool {
        self.numbers.len() >= self.crowd
    }

    /// Numbers given out so far.
    pub(crate) fn count(&self) -> usize {
        self.addresses.len()
    }

    /// Forgets each peer whose place in `kept` is `false`. Returns their numbers.
    pub(crate) fn keep(&mut self, kept: &[bool]) -> Vec<PeerId> {
        let gone: Vec<_> = self
            .numbers
            .extract_if(|_, peer| !kept[peer.index()])
            .map(|(_, peer)| peer)
            .collect();
        self.free.extend(&gone);
        self.crowd = PEERS_MIN.max(2 * self.numbers.len());
        gone
    }

    /// Their identities, in the order of their numbers.
    pub(crate) fn identities(&self) -> impl Iterator<Item = u128> + '_ {
        self.addresses.iter().map(|address| address.identity)
    }

    pub(crate) fn address(&self, peer: PeerId) -> &Address {
        &self.addresses[peer.index()]
    }
}
