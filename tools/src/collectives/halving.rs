//! Reduce-scatter by recursive halving, the first half of Rabenseifner's algorithms, and its
//! reverse.

use super::{Call, Steps};

/// How the algorithm fits processes that are no power of two, and divides the vector.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Style {
    /// One of each surplus pair sends its whole vector; halves consist of equal pieces.
    Pieces {
        /// Whether the odd process of a pair stays.
        odd_stays: bool,
    },
    /// Surplus pairs exchange halves, and the even process stays; the lower half is rounded down.
    Halves,
}

/// One round: the partner, and the elements sent and kept.
#[derive(Clone, Copy, Debug)]
pub(super) struct Round {
    pub(super) place: usize,
    pub(super) sent: u64,
    pub(super) kept: u64,
}

/// A process's part in the reduction among a power of two of processes.
#[derive(Debug)]
pub(super) struct Halving {
    pub(super) style: Style,
    pub(super) surplus: usize,
    /// The place among the power of two; `None` if this process gave its data away.
    pub(super) place: Option<usize>,
    pub(super) rounds: Vec<Round>,
}

impl Halving {
    pub(super) fn actual(&self, place: usize) -> usize {
        let odd = usize::from(self.style == Style::Pieces { odd_stays: true });
        if place < self.surplus {
            2 * place + odd
        } else {
            place + self.surplus
        }
    }

    pub(super) fn rounds(style: Style, call: &Call<'_>, place: usize) -> Vec<Round> {
        let power = call.power();
        let (mut first, mut end, mut count) = (0_usize, power, call.count);
        let pieces = |first: usize, end: usize| {
            let (each, more) = (call.count / power as u64, call.count % power as u64);
            let before = |piece: usize| piece as u64 * each + (piece as u64).min(more);
            before(end) - before(first)
        };
        let mut rounds = Vec::new();
        let mut mask = 1;
        while mask < power {
            let middle = first.midpoint(end);
            let lower = match style {
                Style::Pieces { .. } => pieces(first, middle),
                Style::Halves => count / 2,
            };
            let upper = count - lower;
            let (sent, kept) = if place & mask == 0 {
                (upper, lower)
            } else {
                (lower, upper)
            };
            if place & mask == 0 {
                end = middle
            } else {
                first = middle
            }
            rounds.push(Round {
                place: place ^ mask,
                sent,
                kept,
            });
            count = kept;
            mask *= 2;
        }
        rounds
    }

    /// Reduces and scatters; each process then has the elements kept in its last round.
    pub(super) fn reduce(style: Style, call: &Call<'_>, steps: &mut Steps) -> Self {
        let surplus = call.size - call.power();
        let bytes = |count: u64| count * call.element;
        let even = call.rank.is_multiple_of(2);
        let peer = call.rank ^ 1;
        let place = if call.rank >= 2 * surplus {
            Some(call.rank - surplus)
        } else {
            let stays = match style {
                Style::Pieces { odd_stays } => even != odd_stays,
                Style::Halves => {
                    let lower = bytes(call.count / 2);
                    let upper = bytes(call.count - call.count / 2);
                    let (send, recv) = if even { (upper, lower) } else { (lower, upper) };
                    steps.exchange(peer, send, peer, recv);
                    even
                }
            };
            let rest = match style {
                Style::Pieces { .. } => call.count,
                Style::Halves => call.count - call.count / 2,
            };
            if stays {
                steps.recv(peer, bytes(rest))
            } else {
                steps.send(peer, bytes(rest))
            }
            stays.then_some(call.rank / 2)
        };
        let rounds = place
            .map(|place| Self::rounds(style, call, place))
            .unwrap_or_default();
        let halving = Self {
            style,
            surplus,
            place,
            rounds,
        };
        for round in &halving.rounds {
            let peer = halving.actual(round.place);
            steps.exchange(peer, bytes(round.sent), peer, bytes(round.kept));
        }
        halving
    }

    /// Gives everyone everything again.
    pub(super) fn gather(&self, call: &Call<'_>, steps: &mut Steps) {
        for round in self.rounds.iter().rev() {
            let peer = self.actual(round.place);
            let [sent, kept] = [round.sent, round.kept].map(|count| count * call.element);
            steps.exchange(peer, kept, peer, sent);
        }
        if call.rank < 2 * self.surplus {
            let (peer, bytes) = (call.rank ^ 1, call.vector());
            if self.place.is_some() {
                steps.send(peer, bytes)
            } else {
                steps.recv(peer, bytes)
            }
        }
    }

    /// Gives the root everything. A root that gave its data away takes the place of process 0.
    pub(super) fn gather_at_root(mut self, call: &Call<'_>, steps: &mut Steps) {
        let replaced = call.root < 2 * self.surplus && !call.root.is_multiple_of(2);
        let bytes = |count: u64| count * call.element;
        if replaced && call.is_root() {
            self.place = Some(0);
            self.rounds = Self::rounds(self.style, call, 0);
            steps.recv(0, bytes(self.rounds.last().map_or(0, |round| round.kept)));
        } else if replaced && self.place == Some(0) {
            return steps.send(
                call.root,
                bytes(self.rounds.last().map_or(0, |round| round.kept)),
            );
        }
        if self.place.is_none() {
            return;
        }
        let root = match call.root {
            _ if replaced => 0,
            root if root < 2 * self.surplus => root / 2,
            root => root - self.surplus,
        };
        for (bit, round) in self.rounds.iter().enumerate().rev() {
            let replacement = replaced && round.place == 0;
            let peer = if replacement {
                call.root
            } else {
                self.actual(round.place)
            };
            if round.place >> bit == root >> bit {
                return steps.send(peer, bytes(round.kept));
            }
            steps.recv(peer, bytes(round.sent));
        }
    }
}
