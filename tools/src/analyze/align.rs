//! Aligns two sequences without reordering either: the receives of a key in posting order, and its
//! messages in sending order.
//!
//! An alignment is the cheapest path through both sequences. A message that no receive took and a
//! receive whose message is in no trace cost [`SKIP`] each. A pair with contradictory byte counts
//! costs [`MISFIT`]. A receive that may have got nothing is skipped for free. So a single wrong
//! size changes nothing, but two in a row shift the alignment.

pub(super) const NONE: u32 = u32::MAX;
const SKIP: u32 = 2;
/// Cost of a pair with contradictory byte counts: less than two [`SKIP`]s.
const MISFIT: u32 = 3;
/// Width of the search band around the shortest path, in messages.
const STRAY: usize = 16;

pub(super) struct Sequences<M, F> {
    pub(super) receives: usize,
    pub(super) messages: usize,
    pub(super) may_miss: M,
    pub(super) fits: F,
}

impl<M: Fn(usize) -> bool, F: Fn(usize, usize) -> bool> Sequences<M, F> {
    /// The message of each receive, or [`NONE`]. Among alignments of equal cost the one that pairs
    /// earliest wins. `None` if it needs more than `cells_max` cells: one for each receive and each
    /// step of the difference in length.
    pub(super) fn align(&self, cells_max: usize) -> Option<Vec<u32>> {
        let sure = (0..self.receives)
            .filter(|&receive| !(self.may_miss)(receive))
            .count();
        // Only messages near a receive's place among the certain pairs are candidates.
        let below = sure.saturating_sub(self.messages) + STRAY;
        let above = self.messages.saturating_sub(sure) + STRAY;
        let width = below + above + 1;
        if (self.receives + 1).saturating_mul(width) > cells_max {
            return None;
        }
        let mut first = vec![0_usize; self.receives + 1];
        let mut sure_before = 0;
        for (receive, first) in first.iter_mut().enumerate() {
            *first = sure_before;
            sure_before += usize::from(receive < self.receives && !(self.may_miss)(receive));
        }
        const FAR: u32 = u32::MAX / 2;
        // Cost of the remaining path from (receive, message), filled from the end.
        let mut rest = vec![FAR; (self.receives + 1) * width];
        let place = |receive: usize, message: usize| {
            let at = (message + below).checked_sub(first[receive])?;
            (at < width && message <= self.messages).then_some(receive * width + at)
        };
        let cost =
            |rest: &[u32], receive, message| place(receive, message).map_or(FAR, |at| rest[at]);
        let paired = |rest: &[u32], receive: usize, message: usize| {
            if receive == self.receives || message == self.messages {
                return FAR;
            }
            let own = match (self.fits)(receive, message) {
                true => 0,
                false if (self.may_miss)(receive) => return FAR,
                false => MISFIT,
            };
            own + cost(rest, receive + 1, message + 1)
        };
        let passed = |rest: &[u32], receive: usize, message: usize| {
            if receive == self.receives {
                return FAR;
            }
            let own = if (self.may_miss)(receive) { 0 } else { SKIP };
            own + cost(rest, receive + 1, message)
        };
        for receive in (0..=self.receives).rev() {
            for message in (0..=self.messages.min(first[receive] + above)).rev() {
                let Some(at) = place(receive, message) else {
                    break;
                };
                rest[at] = if receive == self.receives && message == self.messages {
                    0
                } else {
                    let left = SKIP + cost(&rest, receive, message + 1);
                    left.min(paired(&rest, receive, message))
                        .min(passed(&rest, receive, message))
                };
            }
        }
        let mut partners = vec![NONE; self.receives];
        let (mut receive, mut message) = (0, 0);
        while receive < self.receives {
            let best = cost(&rest, receive, message);
            if paired(&rest, receive, message) == best {
                partners[receive] = message as u32;
                (receive, message) = (receive + 1, message + 1);
            } else if passed(&rest, receive, message) == best {
                receive += 1;
            } else {
                message += 1;
            }
        }
        Some(partners)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Receives as the bytes of their statuses; `None` for one that may have got nothing.
    fn aligned(receives: &[Option<u32>], messages: &[u32]) -> Vec<Option<u32>> {
        let sequences = Sequences {
            receives: receives.len(),
            messages: messages.len(),
            may_miss: |receive: usize| receives[receive].is_none(),
            fits: |receive: usize, message: usize| {
                receives[receive].is_none_or(|bytes| bytes == messages[message])
            },
        };
        let partners = sequences.align(1 << 20).expect("room");
        partners
            .into_iter()
            .map(|partner| (partner != NONE).then_some(partner))
            .collect()
    }

    /// Bytes of the receives, bytes of the messages, and each receive's message.
    #[test]
    fn receives_have_the_messages_of_the_table() {
        let numbers = |text: &str| text.split_whitespace().map(|it| it.parse().ok()).collect();
        for line in include_str!("align.txt")
            .lines()
            .filter(|line| !line.starts_with('#'))
        {
            let parts: Vec<Vec<Option<u32>>> = line.split('|').map(numbers).collect();
            let [receives, messages, expected] = &parts[..] else {
                panic!("{line}")
            };
            let messages: Vec<u32> = messages.iter().copied().flatten().collect();
            assert_eq!(&aligned(receives, &messages), expected, "{line}");
        }
    }

    #[test]
    fn sequences_may_differ_much_in_length() {
        let many: Vec<u32> = (0..100).collect();
        assert_eq!(aligned(&[Some(0), Some(90)], &many), [Some(0), Some(90)]);
        let receives: Vec<_> = many.iter().copied().map(Some).collect();
        let found = aligned(&receives, &[5, 95]);
        let places = |found: &[Option<u32>]| {
            found
                .iter()
                .enumerate()
                .filter_map(|(at, &to)| to.map(|to| (at, to)))
                .collect()
        };
        let places: Vec<_> = places(&found);
        assert_eq!(places, [(5, 0), (95, 1)]);
        let sequences = Sequences {
            receives: 9,
            messages: 9,
            may_miss: |_| false,
            fits: |_, _| true,
        };
        let width = 2 * STRAY + 1;
        assert_eq!(sequences.align(10 * width - 1), None);
        assert_eq!(sequences.align(10 * width), Some((0..9).collect()));
    }
}
