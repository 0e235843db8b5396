//! Memory of the NIC's tables: the paper's formula and the real sizes (O29-O31).

use crate::bin::BIN_BYTES;
use crate::bitmap::Bitmap;
use crate::block::Block;
use crate::booking::{FAR_BYTES, far_receives};
use crate::buffers::Buffers;
use crate::config::bins_of_communicator;
use crate::descriptor::DESCRIPTOR_BYTES;
use crate::dropped::Dropped;
use crate::matching::Scratch;
use crate::message::{Command, Completion, Entry};
use crate::region::Regions;
use crate::ring::Ring;
use crate::unexpected::UnexpectedStore;
use crate::{Barrier, Domains, HandlerCounters, NicConfig};

/// One table of the NIC.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FootprintLine {
    /// What it holds.
    pub what: &'static str,
    /// How many entries.
    pub count: u64,
    /// Bytes of one entry.
    pub bytes_each: u64,
    /// Whether the table is in NIC memory (otherwise in host memory).
    pub on_nic: bool,
}

impl FootprintLine {
    /// Bytes of the whole table.
    pub fn bytes(&self) -> u64 {
        self.count.saturating_mul(self.bytes_each)
    }
}

/// The memory of a configuration, table by table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Footprint {
    lines: [FootprintLine; 19],
    bins: u64,
    receives: u64,
}

/// The paper's formula for one communicator: three tables of 20-byte bins and 64-byte
/// descriptors.
///
/// Source: O29.
pub const fn paper_bytes(bins: u64, receives: u64) -> u64 {
    3 * bins * BIN_BYTES as u64 + receives * DESCRIPTOR_BYTES as u64
}

// Numbers printed in the paper: 7.5 KiB for 3 x 128 bins, 512 KiB for 8,192 receives, and O30.
const _: () = assert!(paper_bytes(128, 0) == 7_680);
const _: () = assert!(paper_bytes(0, 8_192) == 524_288);
const _: () = assert!(paper_bytes(2_048, 0) == 122_880);

impl Footprint {
    /// The memory that a NIC of this configuration takes.
    pub fn new(config: &NicConfig) -> Self {
        let nic = |what, count: usize, bytes: usize| FootprintLine {
            what,
            count: count as u64,
            bytes_each: bytes as u64,
            on_nic: true,
        };
        let host = |what, count, bytes| FootprintLine {
            on_nic: false,
            ..nic(what, count, bytes)
        };
        let of_queues = |each: usize| each.saturating_mul(config.completion_queues);
        let bins = config.total_index_bins();
        let far_bits = far_receives(config.receives, config.handlers);
        let bitmaps = usize::from(config.options.barrier == Barrier::Bitmap);
        let keyed = usize::from(config.options.domains == Domains::Keyed);
        Self {
            lines: [
                nic("receive descriptors", config.receives, DESCRIPTOR_BYTES),
                nic("bookings of handlers from 64 on", far_bits, FAR_BYTES),
                nic("free descriptor numbers", config.receives, 4),
                nic("bins of posted receives", bins, BIN_BYTES),
                nic(
                    "chains of unexpected messages",
                    bins,
                    UnexpectedStore::CHAIN_BYTES,
                ),
                nic(
                    "unexpected messages",
                    config.unexpected,
                    UnexpectedStore::ENTRY_BYTES + 4,
                ),
                nic(
                    "unexpected buffers",
                    config.unexpected_buffers,
                    Buffers::bytes_each(config.eager_limit).saturating_add(4),
                ),
                nic(
                    "communicators",
                    config.communicators,
                    crate::communicator::COMMUNICATOR_BYTES,
                ),
                nic(
                    "completion queues",
                    of_queues(config.completion_queue),
                    Ring::<Entry>::SLOT_BYTES,
                ),
                nic(
                    "bounce buffers",
                    of_queues(config.bounce_buffers),
                    Buffers::bytes_each(config.eager_limit),
                ),
                nic(
                    "command queue",
                    config.command_queue,
                    Ring::<Command>::SLOT_BYTES,
                ),
                nic(
                    "block and counters, per handler",
                    config.handlers,
                    Block::HANDLER_BYTES + keyed * Block::KEY_BYTES + size_of::<HandlerCounters>(),
                ),
                nic(
                    "workers' notes, per handler",
                    config.workers.saturating_mul(config.handlers),
                    Scratch::HANDLER_BYTES + keyed * Scratch::MEMBER_BYTES,
                ),
                nic("worker progress", config.workers, 128),
                nic("barrier's bitmap", bitmaps, Bitmap::BYTES),
                host(
                    "completion ring",
                    config.completion_ring,
                    Ring::<Completion>::SLOT_BYTES,
                ),
                host(
                    "staging buffers",
                    config.completion_ring,
                    Buffers::bytes_each(config.eager_limit),
                ),
                host(
                    "registered regions",
                    config.regions.next_power_of_two(),
                    Regions::REGION_BYTES,
                ),
                host("dropped messages", config.unexpected, Dropped::ENTRY_BYTES),
            ],
            bins: config.bins as u64,
            receives: config.receives as u64,
        }
    }

    /// The tables.
    pub fn lines(&self) -> &[FootprintLine] {
        &self.lines
    }

    /// Bytes of NIC memory.
    pub fn nic_bytes(&self) -> u64 {
        self.bytes(true)
    }

    /// Bytes of host memory.
    pub fn host_bytes(&self) -> u64 {
        self.bytes(false)
    }

    fn bytes(&self, on_nic: bool) -> u64 {
        self.lines
            .iter()
            .filter(|line| line.on_nic == on_nic)
            .fold(0, |sum, line| sum.saturating_add(line.bytes()))
    }

    /// The paper's formula for one communicator of this configuration.
    ///
    /// Source: O29.
    pub fn paper_bytes(&self) -> u64 {
        self.bins
            .saturating_mul(3 * BIN_BYTES as u64)
            .saturating_add(self.receives * DESCRIPTOR_BYTES as u64)
    }

    /// Bytes that a search of one communicator walks: its descriptors and bins, which should stay
    /// in the cache.
    pub fn search_bytes(&self) -> u64 {
        let bins = bins_of_communicator(self.bins as usize) as u64;
        bins.saturating_mul(BIN_BYTES as u64)
            .saturating_add(self.receives * DESCRIPTOR_BYTES as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ConfigError;

    /// Bytes of one entry in each table, counted manually: an entry and all that is kept with it.
    #[test]
    fn every_table_is_counted_to_the_byte() {
        let config = NicConfig {
            eager_limit: 100,
            regions: 5,
            workers: 3,
            ..NicConfig::default()
        };
        let bins = 16 * (3 * 2048 + 1);
        // A free list has four bytes for each entry that it can hold.
        let expected = [
            ("receive descriptors", 1024, 64, true),
            ("bookings of handlers from 64 on", 0, 24, true),
            ("free descriptor numbers", 1024, 4, true),
            ("bins of posted receives", bins, 20, true),
            ("chains of unexpected messages", bins, 8, true),
            ("unexpected messages", 4096, 128 + 4, true),
            // An odd number of cache lines.
            ("unexpected buffers", 1024, 192 + 4, true),
            // The communicator's state, the view that handlers see, and its run of bins.
            ("communicators", 16, 64 + 12 + 8, true),
            ("completion queues", 4 * 1024, 64, true),
            ("bounce buffers", 4 * 1024, 192, true),
            ("command queue", 1024, 64, true),
            // Candidate, taken receive, key, 18 counters in whole lines.
            ("block and counters, per handler", 32, 4 + 4 + 8 + 192, true),
            // Receive, its predecessor in the chain, a domain's member.
            ("workers' notes, per handler", 3 * 32, 4 + 4 + 4, true),
            ("worker progress", 3, 128, true),
            ("barrier's bitmap", 0, 256, true),
            ("completion ring", 1024, 64, false),
            ("staging buffers", 1024, 192, false),
            ("registered regions", 8, 40, false),
            ("dropped messages", 4096, 4, false),
        ];
        let footprint = Footprint::new(&config);
        let lines = footprint
            .lines()
            .iter()
            .map(|line| (line.what, line.count, line.bytes_each, line.on_nic));
        assert_eq!(lines.collect::<Vec<_>>(), expected);
        let wide = NicConfig {
            handlers: 65,
            ..config
        };
        let far = Footprint::new(&wide).lines()[1];
        assert_eq!((far.count, far.bytes_each), (1024, 24));
        let options = crate::Options {
            barrier: Barrier::Bitmap,
            ..config.options
        };
        let bitmap = Footprint::new(&NicConfig { options, ..config });
        assert_eq!(bitmap.nic_bytes(), footprint.nic_bytes() + 256);
        let options = crate::Options {
            domains: Domains::Paper,
            ..config.options
        };
        let paper = Footprint::new(&NicConfig { options, ..config });
        // No key of each handler, and no candidate of each for every worker.
        assert_eq!(
            paper.nic_bytes(),
            footprint.nic_bytes() - 32 * 8 - 3 * 32 * 4
        );
    }

    #[test]
    fn both_memories_have_a_limit() {
        let config = NicConfig::default();
        let footprint = Footprint::new(&config);
        let (on_nic, on_host) = (footprint.nic_bytes(), footprint.host_bytes());
        let exact = NicConfig {
            memory_bytes: on_nic,
            host_memory_bytes: on_host,
            ..config
        };
        assert_eq!(exact.validate(), Ok(()));
        let short = NicConfig {
            memory_bytes: on_nic - 1,
            ..exact
        };
        let error = ConfigError::Memory {
            needed: on_nic,
            limit: on_nic - 1,
        };
        assert_eq!(short.validate(), Err(error));
        let short = NicConfig {
            host_memory_bytes: on_host - 1,
            ..exact
        };
        let error = ConfigError::HostMemory {
            needed: on_host,
            limit: on_host - 1,
        };
        assert_eq!(short.validate(), Err(error));
        // The staging buffers alone would be an exbibyte.
        let huge = NicConfig {
            completion_ring: 1 << 30,
            eager_limit: 1 << 30,
            bounce_buffers: 1,
            unexpected_buffers: 0,
            memory_bytes: u64::MAX,
            ..config
        };
        assert!(matches!(
            huge.validate(),
            Err(ConfigError::HostMemory { .. })
        ));
    }
}
