//! The other endpoints, numbered when they first appear.
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

#[derive(Debug, Default)]
pub(crate) struct Peers {
    numbers: HashMap<u128, PeerId>,
    addresses: Vec<Address>,
}

impl Peers {
    pub(crate) fn number(&mut self, address: &Address) -> PeerId {
        *self.numbers.entry(address.identity).or_insert_with(|| {
            self.addresses.push(*address);
            PeerId(self.addresses.len() as u32 - 1)
        })
    }

    /// Their identities, in the order of their numbers.
    pub(crate) fn identities(&self) -> impl Iterator<Item = u128> + '_ {
        self.addresses.iter().map(|address| address.identity)
    }

    pub(crate) fn address(&self, peer: PeerId) -> &Address {
        &self.addresses[peer.index()]
    }
}
