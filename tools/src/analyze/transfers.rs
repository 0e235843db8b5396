//! A rank's transfers, of which most differ from earlier ones in their call only.

use std::collections::HashMap;

use foldhash::fast::RandomState as Fast;

use super::numbers::Numbers;
use super::program::Transfer;
use super::repeated::Repeated;

/// Transfers in posting order: 4 bytes each, and 48 for each one unlike all before it, calls
/// aside.
#[derive(Clone, Debug, Default)]
pub struct Transfers {
    /// The transfers with call 0.
    kinds: Repeated<Transfer>,
    calls: Numbers,
    /// The number of each kind; empty after [`shrink_to_fit`](Self::shrink_to_fit).
    known: HashMap<Transfer, u32, Fast>,
}

impl Transfers {
    pub fn with_capacity(transfers: usize) -> Self {
        Self {
            kinds: Repeated::with_capacity(transfers),
            calls: Numbers::with_capacity(transfers),
            known: HashMap::default(),
        }
    }

    pub fn len(&self) -> usize {
        self.kinds.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The n-th transfer.
    ///
    /// # Panics
    /// If there is no such transfer.
    #[inline]
    pub fn at(&self, at: u32) -> Transfer {
        Transfer {
            call: self.calls.at(at),
            ..*self.kinds.at(at as usize)
        }
    }

    /// The n-th transfer with call 0: one look-up less.
    ///
    /// # Panics
    /// If there is no such transfer.
    #[inline]
    pub(super) fn but_call(&self, at: u32) -> &Transfer {
        self.kinds.at(at as usize)
    }

    /// Transfers that differ in more than their call, all with call 0. Some may be at no place.
    pub(super) fn kinds(&self) -> &[Transfer] {
        self.kinds.values()
    }

    /// Which of the [`kinds`](Self::kinds) the n-th transfer is.
    #[inline]
    pub(super) fn kind(&self, at: u32) -> u32 {
        self.kinds.number(at as usize)
    }

    pub fn get(&self, at: u32) -> Option<Transfer> {
        ((at as usize) < self.len()).then(|| self.at(at))
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = Transfer> + '_ {
        (0..self.len() as u32).map(|at| self.at(at))
    }

    pub fn push(&mut self, transfer: Transfer) {
        let number = self.number(transfer);
        self.kinds.push(number);
        self.calls.push(transfer.call);
    }

    /// Changes anything of a transfer but its call.
    ///
    /// # Complexity
    /// The first change after [`shrink_to_fit`](Self::shrink_to_fit) looks at all unlike transfers.
    pub fn change(&mut self, at: u32, change: impl FnOnce(&mut Transfer)) {
        let mut transfer = self.at(at);
        change(&mut transfer);
        debug_assert_eq!(transfer.call, self.calls.at(at), "calls are never changed");
        let number = self.number(transfer);
        self.kinds.set(at as usize, number);
    }

    fn number(&mut self, transfer: Transfer) -> u32 {
        let kinds = &mut self.kinds;
        if self.known.len() < kinds.values().len() {
            self.known = kinds.values().iter().copied().zip(0..).collect();
        }
        let kind = Transfer {
            call: 0,
            ..transfer
        };
        let number = self.known.entry(kind);
        *number.or_insert_with(|| kinds.add_value(kind))
    }

    pub fn shrink_to_fit(&mut self) {
        self.kinds.shrink_to_fit();
        self.calls.shrink_to_fit();
        self.known = HashMap::default();
    }

    pub fn memory_bytes(&self) -> usize {
        let known = self.known.capacity() * size_of::<(Transfer, u32)>();
        self.kinds.memory_bytes() + self.calls.memory_bytes() + known
    }
}

impl Extend<Transfer> for Transfers {
    fn extend<T: IntoIterator<Item = Transfer>>(&mut self, transfers: T) {
        transfers.into_iter().for_each(|it| self.push(it));
    }
}

impl FromIterator<Transfer> for Transfers {
    fn from_iter<T: IntoIterator<Item = Transfer>>(transfers: T) -> Self {
        let mut all = Self::default();
        all.extend(transfers);
        all
    }
}

impl From<&[Transfer]> for Transfers {
    fn from(transfers: &[Transfer]) -> Self {
        transfers.iter().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyze::by_hand::send;

    #[test]
    fn equal_transfers_take_four_bytes() {
        let mut all = Transfers::default();
        for call in 0..1_000 {
            all.push(Transfer {
                call,
                ..send(1, (call % 10) as i32)
            });
        }
        all.shrink_to_fit();
        let firsts = 1_000_usize.div_ceil(64) * 4;
        assert_eq!(all.memory_bytes(), 10 * 48 + 1_000 * (2 + 2) + firsts);
        let told = |at| (all.at(at).tag, all.at(at).call);
        assert_eq!((told(0), told(999)), ((0, 0), (9, 999)));
        assert_eq!((all.get(999).is_some(), all.get(1_000)), (true, None));
    }

    #[test]
    fn a_change_is_of_one_transfer() {
        let mut all: Transfers = [send(1, 5), send(1, 5), send(1, 6)].into_iter().collect();
        for shrunk in [false, true] {
            if shrunk {
                all.shrink_to_fit();
            }
            all.change(1, |it| it.tag = 6);
            let tags: Vec<_> = all.iter().map(|it| it.tag).collect();
            assert_eq!((tags, all.kinds.values().len()), (vec![5, 6, 6], 2));
        }
    }
}
