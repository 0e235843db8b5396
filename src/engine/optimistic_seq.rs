//! The four indexes of optimistic matching (O5), sequential and on the host: what the emulated NIC
//! searches, without blocks, bookings and barriers.
//!
//! Each communicator has its own [`FourIndexes`] (O24). Unlike the NIC's, these tables grow: a
//! table with half as many entries as bins doubles, so that chains stay short unless keys are
//! equal. A table keeps its size until the communicator is freed.

use dpamatch_vocabulary::Envelope;

use super::Load;
use super::entry::Pattern;
use super::four_indexes::{FourIndexes, Growth};
use super::indexed::{Entries, Index, Indexed, Steps};

/// Initial number of bins of a table.
const BINS_MIN: u32 = 8;

/// The index: four tables for each queue of each communicator.
#[derive(Clone, Debug)]
pub struct OptimisticSeq {
    growth: Growth,
    /// Link each message in all four indexes when it arrives (O22), not when a receive of the class
    /// first searches.
    eager: bool,
}

/// The sequential engine with the optimistic engine's indexes.
pub type OptimisticSeqEngine = Indexed<OptimisticSeq, 1, 4>;

impl OptimisticSeqEngine {
    /// An engine with empty queues.
    pub fn new() -> Self {
        Self::linking(false)
    }

    /// An engine that never links messages afterwards, so that no single search costs more than
    /// others: constant time with every wildcard, as Denis (CCGrid 2019) requires.
    pub fn constant() -> Self {
        Self::linking(true)
    }

    fn linking(eager: bool) -> Self {
        let growth = Growth::doubling(BINS_MIN, 1);
        Self::with_index(OptimisticSeq { growth, eager })
    }
}

impl Default for OptimisticSeqEngine {
    fn default() -> Self {
        Self::new()
    }
}

impl Index<1, 4> for OptimisticSeq {
    type Comm = FourIndexes;

    fn new_comm(&mut self, _size: Option<u32>) -> FourIndexes {
        FourIndexes::new(self.eager)
    }

    fn end_comm(&mut self, indexes: FourIndexes) {
        self.growth.bytes -= indexes.bytes();
    }

    #[inline]
    fn earliest(
        &mut self,
        entries: &Entries<1, 4>,
        comm: Option<&mut FourIndexes>,
        envelope: &Envelope,
        steps: &mut Steps,
    ) -> Option<u32> {
        comm?.earliest(entries, envelope, steps)
    }

    #[inline]
    fn oldest(
        &mut self,
        entries: &mut Entries<1, 4>,
        comm: Option<&mut FourIndexes>,
        wanted: Pattern,
        steps: &mut Steps,
    ) -> Option<u32> {
        comm?.oldest(&mut self.growth, entries, wanted, steps)
    }

    #[inline]
    fn link_posted(
        &mut self,
        entries: &mut Entries<1, 4>,
        indexes: &mut FourIndexes,
        at: u32,
    ) -> bool {
        indexes.link_posted(&mut self.growth, entries, at)
    }

    #[inline]
    fn unlink_posted(&mut self, entries: &mut Entries<1, 4>, indexes: &mut FourIndexes, at: u32) {
        indexes.unlink_posted(entries, at);
    }

    #[inline]
    fn link_unexpected(
        &mut self,
        entries: &mut Entries<1, 4>,
        indexes: &mut FourIndexes,
        at: u32,
    ) -> bool {
        indexes.link_unexpected(&mut self.growth, entries, at)
    }

    #[inline]
    fn unlink_unexpected(
        &mut self,
        entries: &mut Entries<1, 4>,
        indexes: &mut FourIndexes,
        at: u32,
    ) {
        indexes.unlink_unexpected(entries, at);
    }

    fn bytes(&self) -> usize {
        self.growth.bytes
    }

    /// Any communicator may have had all entries.
    fn bytes_bound(&self, load: &Load) -> u64 {
        load.comms * self.growth.bytes_bound(load.posted, load.unexpected)
    }

    fn conversions(&self) -> u64 {
        self.growth.doublings
    }
}
