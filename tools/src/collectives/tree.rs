//! Trees of processes, by rank counted from the root.

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Shape {
    /// The parent lacks the lowest bit; children from the lowest bit up.
    Binomial,
    /// The parent lacks the highest bit; children from the lowest bit up.
    HighBinomial,
    /// As [`Binomial`](Self::Binomial) with digits of base 4; the largest subtree first.
    Knomial,
    /// Level by level: the children of the i-th process of a level of k are the i-th and the
    /// (i + k)-th of the next.
    Binary,
    /// Level by level, this many children of each process side by side.
    Kary(usize),
    Chain,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Tree {
    pub(super) parent: Option<usize>,
    pub(super) children: Vec<usize>,
}

const RADIX: usize = 4;

impl Tree {
    /// Parent and children of process `own` of `size`.
    pub(super) fn new(shape: Shape, own: usize, size: usize) -> Self {
        let bits = || {
            (0..usize::BITS - 1)
                .map(|bit| 1 << bit)
                .take_while(move |&bit| bit < size)
        };
        let (parent, children): (usize, Vec<usize>) = match shape {
            Shape::Binomial => {
                let free = bits().take_while(|bit| own & bit == 0);
                (
                    own & own.wrapping_sub(1),
                    free.map(|bit| own | bit).collect(),
                )
            }
            Shape::HighBinomial => {
                let above = bits().filter(|&bit| bit > own);
                let highest = own.checked_ilog2().map_or(0, |bit| 1 << bit);
                (own ^ highest, above.map(|bit| own | bit).collect())
            }
            Shape::Knomial => {
                let mut mask = 1;
                while mask < size && own.is_multiple_of(RADIX * mask) {
                    mask *= RADIX;
                }
                let parent = own - own % (RADIX * mask);
                let mut children = Vec::new();
                while mask > 1 {
                    mask /= RADIX;
                    children.extend((1..RADIX).map(|digit| own + digit * mask));
                }
                (parent, children)
            }
            Shape::Binary => {
                let width = 1 << (own + 1).ilog2();
                let above = own.saturating_sub(width / 2);
                let parent = if above < width - 1 {
                    above
                } else {
                    own.saturating_sub(width)
                };
                (parent, vec![own + width, own + 2 * width])
            }
            Shape::Kary(k) => (
                own.saturating_sub(1) / k,
                (own * k + 1..=own * k + k).collect(),
            ),
            Shape::Chain => (own.saturating_sub(1), vec![own + 1]),
        };
        let children = children.into_iter().filter(|&child| child < size).collect();
        Self {
            parent: (own > 0).then_some(parent),
            children,
        }
    }

    /// The binary tree whose root is the last process and in which the ranks of each subtree are
    /// consecutive, for reductions that keep the order. The left child is the process before.
    pub(super) fn in_order(own: usize, size: usize) -> Self {
        let (mut first, mut size, mut parent) = (0, size, None);
        loop {
            let root = first + size - 1;
            let right = size / 2;
            if own == root {
                let left = (size > 1).then(|| root - 1);
                let other = (size > 2).then(|| first + right - 1);
                return Self {
                    parent,
                    children: left.into_iter().chain(other).collect(),
                };
            }
            parent = Some(root);
            if own < first + right {
                size = right;
            } else {
                first += right;
                size -= right + 1;
            }
        }
    }
}
