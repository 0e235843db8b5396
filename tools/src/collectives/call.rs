//! One process's arguments of a collective operation.

use dpamatch_traces::CollectiveKind;

/// One process's arguments. Data is a block of `count` elements for each process, or one vector of
/// `count` elements for broadcasts and reductions.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    pub kind: CollectiveKind,
    pub rank: usize,
    pub size: usize,
    /// The root; 0 for operations without one.
    pub root: usize,
    pub count: u64,
    /// Bytes of an element.
    pub element: u64,
    /// Elements of each process's block, for operations whose blocks differ; otherwise empty. For
    /// `MPI_Gatherv` and `MPI_Scatterv` only the root has them, and the others have `count`. For
    /// `MPI_Alltoallv` what this process gets from each.
    pub counts: &'a [u32],
    pub sent_counts: &'a [u32],
    pub sent_element: u64,
}

impl<'a> Call<'a> {
    pub fn new(kind: CollectiveKind, rank: usize, size: usize) -> Self {
        let (counts, sent_counts): (&'a [u32], &'a [u32]) = (&[], &[]);
        let (count, element, sent_element) = (0, 1, 1);
        Self {
            kind,
            rank,
            size,
            root: 0,
            count,
            element,
            counts,
            sent_counts,
            sent_element,
        }
    }

    /// A part of this call: another operation on a vector of this length, with root 0.
    pub(super) fn part(self, kind: CollectiveKind, count: u64) -> Self {
        Self {
            kind,
            count,
            root: 0,
            counts: &[],
            ..self
        }
    }

    /// A part of this call by blocks of its own: at root 0, which alone knows their counts.
    pub(super) fn part_by_blocks(self, kind: CollectiveKind) -> Self {
        let own = self.counts.get(self.rank).copied().map_or(0, u64::from);
        Self {
            counts: if self.rank == 0 { self.counts } else { &[] },
            ..self.part(kind, own)
        }
    }

    pub(super) fn block(&self, rank: usize) -> u64 {
        let count = self
            .counts
            .get(rank)
            .map_or(self.count, |&count| u64::from(count));
        count.saturating_mul(self.element)
    }

    /// Bytes of `number` blocks from this process's on, going round.
    pub(super) fn blocks(&self, first: usize, number: usize) -> u64 {
        if self.counts.is_empty() {
            return self.block(0).saturating_mul(number as u64);
        }
        (first..first + number).fold(0, |sum: u64, rank| {
            sum.saturating_add(self.block(rank % self.size))
        })
    }

    /// Bytes that this process sends to another in `MPI_Alltoall` and `MPI_Alltoallv`.
    pub(super) fn outgoing(&self, to: usize) -> u64 {
        match self.sent_counts.get(to) {
            Some(&count) => u64::from(count).saturating_mul(self.sent_element),
            None => self.block(to),
        }
    }

    /// Bytes of the vector: without blocks `count` elements, otherwise all blocks.
    pub(super) fn vector(&self) -> u64 {
        if self.counts.is_empty() {
            self.block(0)
        } else {
            self.blocks(0, self.size)
        }
    }

    /// Bytes of the whole operation, as far as this process knows.
    pub fn everything(&self) -> u64 {
        let blocks = if self.counts.is_empty() { self.size } else { 1 };
        let sent = (0..self.sent_counts.len()).map(|to| self.outgoing(to));
        sent.fold(
            self.vector().saturating_mul(blocks as u64),
            u64::saturating_add,
        )
    }

    /// The process this many ranks ahead, going round.
    pub(super) fn ahead(&self, by: usize) -> usize {
        (self.rank + by) % self.size
    }

    /// The process this many ranks back, at most all, going round.
    pub(super) fn back(&self, by: usize) -> usize {
        (self.rank + self.size - by) % self.size
    }

    /// This process's rank counted from the root.
    pub(super) fn place(&self) -> usize {
        self.back(self.root)
    }

    /// The process at this rank counted from the root.
    pub(super) fn actual(&self, place: usize) -> usize {
        (place + self.root) % self.size
    }

    pub(super) fn is_root(&self) -> bool {
        self.rank == self.root
    }

    pub(super) fn others(&self) -> impl Iterator<Item = usize> + use<> {
        let own = self.rank;
        (0..self.size).filter(move |&rank| rank != own)
    }

    /// The largest power of two that is not above the number of processes.
    pub(super) fn power(&self) -> usize {
        1 << self.size.ilog2()
    }
}
