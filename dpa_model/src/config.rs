//! Sizes of a NIC and its algorithm's options. No option changes the matching result.

use core::fmt;

pub use dpamatch_vocabulary::{Barrier, Domains, FastPath, InlineHashes, Removal};

use crate::arrivals::COMPLETION_QUEUES_MAX;
pub use crate::booking::HANDLERS_MAX;
use crate::region::REGIONS_MAX;

/// Maximum number of bins in one hash table.
pub const BINS_MAX: usize = 1 << 20;
/// Minimum number of handlers of a slice, unless the configuration sets it.
pub const SLICE_MIN: usize = 16;
/// BlueField-3: memory of the DPA, as devices report it.
pub const DPA_MEMORY_BYTES: u64 = 1 << 30;
/// Default limit of the host memory that belongs to a NIC.
const HOST_MEMORY_BYTES: u64 = 4 << 30;
/// BlueField-3: level-2 cache of the DPA (O4).
pub const DPA_L2_BYTES: u64 = 3 << 19;
/// BlueField-3: level-3 cache of the DPA (O4).
pub const DPA_L3_BYTES: u64 = 3 << 20;

/// What the NIC does with a message without a receive when unexpected memory is exhausted.
///
/// Source: S21.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum UnexpectedFull {
    /// The message and all later unmatched ones of its communicator go to the host's software
    /// matching.
    #[default]
    Demote,
    /// The NIC stops consuming the completion queue until a receive makes room; senders see
    /// receiver-not-ready.
    ///
    /// For measurements and for programs that post every receive before its message is sent; not
    /// for MPI programs in general (MPI 4.1, section 3.5). The held message is at the head of
    /// the queue, where no probe finds it. It also holds the messages behind it, even if their
    /// receives are posted.
    BackPressure,
}

/// What decides how posts and arrivals interleave.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Order {
    /// The NIC, at each block boundary.
    #[default]
    Free,
    /// The stamps: a command's stamp counts the arrivals before it, an arrival's the commands.
    Stamped,
}

/// The switches of the algorithm.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// Entry rule of the fast path.
    pub fast_path: FastPath,
    /// Whether the optimistic search skips receives that a lower handler booked (O27, S16).
    pub early_check: bool,
    /// Books every candidate (O10), as a card does whose detection looks at bookings. Otherwise a
    /// handler books only where the early check or the literal form reads bookings.
    pub always_book: bool,
    /// Removal of consumed receives.
    pub removal: Removal,
    /// The partial barrier of blocks that several workers share.
    pub barrier: Barrier,
    /// Which messages of such a block wait for each other.
    pub domains: Domains,
    /// Use of the header's hashes.
    pub inline_hashes: InlineHashes,
    /// Policy when unexpected memory is exhausted.
    pub unexpected_full: UnexpectedFull,
    /// Matches every block optimistically: with bookings, barrier, conflicts and paths, also where
    /// one worker runs all of it. Otherwise a worker that runs a block alone matches in order.
    pub always_shared: bool,
    /// What decides the order of posts and arrivals.
    pub order: Order,
    /// Report every admitted post and unexpected message on the completion ring, in the NIC's
    /// order.
    pub log_order: bool,
}

/// Size of every part. The NIC takes all memory when it is built.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NicConfig {
    /// N, the handlers of a block: `1..=256`; the paper uses 32.
    pub handlers: usize,
    /// M, the host threads that may run them: `1..=256`.
    pub workers: usize,
    /// Minimum number of handlers that a worker runs, unless the block has fewer: shorter slices
    /// cost more in hand-overs than they gain. 0: at least [`SLICE_MIN`], and the threads of a
    /// [`Pool`](crate::Pool) share blocks only while measurements show a gain.
    pub slice_min: usize,
    /// Receive descriptors (O7).
    pub receives: usize,
    /// Bins in each of a communicator's three hash tables, unless its creation sets another number.
    pub bins: usize,
    /// Communicators that can be offloaded at the same time; ids `0..communicators`.
    pub communicators: usize,
    /// Bins in NIC memory, shared by all communicators. 0: enough for `communicators` with `bins`
    /// bins each.
    pub index_bins: usize,
    /// Completion queues, `1..=64`: each of the first senders owns one, all others share the last.
    /// A block is cut from one queue.
    pub completion_queues: usize,
    /// Entries of a completion queue, a power of two, at least `handlers` (O20).
    pub completion_queue: usize,
    /// Bounce buffers of a completion queue: bounds the messages in flight with a payload larger
    /// than the entry.
    pub bounce_buffers: usize,
    /// Largest eager message in bytes: the size of bounce and unexpected buffers.
    pub eager_limit: usize,
    /// Capacity for unexpected messages on the NIC.
    pub unexpected: usize,
    /// How many of them may have a payload larger than the entry.
    pub unexpected_buffers: usize,
    /// Entries of the command queue, a power of two.
    pub command_queue: usize,
    /// Entries of the completion ring to the host, a power of two, at least `handlers`.
    pub completion_ring: usize,
    /// Sender buffers that can be registered for rendezvous at the same time before senders add
    /// regions; rounded up to a power of two.
    pub regions: usize,
    /// Limit of NIC memory in bytes.
    pub memory_bytes: u64,
    /// Limit of the host memory that belongs to the NIC, in bytes: completion ring, its staging
    /// buffers, regions. Senders may add regions beyond it.
    pub host_memory_bytes: u64,
    /// Switches of the algorithm.
    pub options: Options,
}

impl Default for NicConfig {
    /// The paper's prototype (O30): 32 handlers, 1,024 receives, 2,048 bins; one worker.
    fn default() -> Self {
        Self {
            handlers: 32,
            workers: 1,
            slice_min: 0,
            receives: 1024,
            bins: 2048,
            communicators: 16,
            index_bins: 0,
            completion_queues: 4,
            completion_queue: 1024,
            bounce_buffers: 1024,
            eager_limit: 4096,
            unexpected: 4096,
            unexpected_buffers: 1024,
            command_queue: 1024,
            completion_ring: 1024,
            regions: 256,
            memory_bytes: DPA_MEMORY_BYTES,
            host_memory_bytes: HOST_MEMORY_BYTES,
            options: Options::default(),
        }
    }
}

/// A configuration that no NIC can be built from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ConfigError {
    /// A number is outside its range.
    OutOfRange {
        /// Name of the number.
        what: &'static str,
        /// Value given.
        value: usize,
        /// Minimum allowed.
        least: usize,
        /// Maximum allowed.
        most: usize,
    },
    /// A queue's depth must be a power of two.
    NotPowerOfTwo {
        /// Name of the queue.
        what: &'static str,
        /// Value given.
        value: usize,
    },
    /// The host's side needs more memory than its limit.
    HostMemory {
        /// Bytes needed.
        needed: u64,
        /// Bytes allowed.
        limit: u64,
    },
    /// The tables need more memory than the NIC has.
    Memory {
        /// Bytes needed.
        needed: u64,
        /// Bytes allowed.
        limit: u64,
    },
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::OutOfRange {
                what,
                value,
                least,
                most,
            } => {
                write!(f, "{what} is {value}, must be {least} to {most}")
            }
            Self::NotPowerOfTwo { what, value } => {
                write!(f, "{what} is {value}, must be a power of two")
            }
            Self::HostMemory { needed, limit } => {
                write!(
                    f,
                    "the host's side of the NIC needs {needed} bytes, the limit is {limit}"
                )
            }
            Self::Memory { needed, limit } => {
                write!(
                    f,
                    "the NIC's tables need {needed} bytes, its memory is {limit} bytes"
                )
            }
        }
    }
}

impl core::error::Error for ConfigError {}

impl NicConfig {
    /// Bins in NIC memory, over all communicators.
    pub fn total_index_bins(&self) -> usize {
        if self.index_bins == 0 {
            self.communicators
                .saturating_mul(bins_of_communicator(self.bins))
        } else {
            self.index_bins
        }
    }

    /// Checks every range and the memory budget.
    ///
    /// # Errors
    /// The first violated condition.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let tables = u32::MAX as usize / 2;
        let range = |what, value, least, most| {
            if (least..=most).contains(&value) {
                Ok(())
            } else {
                Err(ConfigError::OutOfRange {
                    what,
                    value,
                    least,
                    most,
                })
            }
        };
        range("handlers", self.handlers, 1, HANDLERS_MAX)?;
        range("workers", self.workers, 1, HANDLERS_MAX)?;
        range("slice_min", self.slice_min, 0, HANDLERS_MAX)?;
        range("receives", self.receives, 1, tables)?;
        range("bins", self.bins, 1, BINS_MAX)?;
        range("communicators", self.communicators, 1, 1 << 20)?;
        range("index_bins", self.total_index_bins(), 1, tables)?;
        for (what, value, least) in [
            ("completion_queue", self.completion_queue, self.handlers),
            ("command_queue", self.command_queue, 1),
            ("completion_ring", self.completion_ring, self.handlers),
        ] {
            range(what, value, least, 1 << 30)?;
            if !value.is_power_of_two() {
                return Err(ConfigError::NotPowerOfTwo { what, value });
            }
        }
        range(
            "completion_queues",
            self.completion_queues,
            1,
            COMPLETION_QUEUES_MAX,
        )?;
        range("bounce_buffers", self.bounce_buffers, 1, tables)?;
        range("eager_limit", self.eager_limit, 0, 1 << 30)?;
        range("unexpected", self.unexpected, 1, tables)?;
        range(
            "unexpected_buffers",
            self.unexpected_buffers,
            0,
            self.unexpected,
        )?;
        range("regions", self.regions, 1, REGIONS_MAX)?;
        let footprint = crate::Footprint::new(self);
        let needed = footprint.nic_bytes();
        if needed > self.memory_bytes {
            return Err(ConfigError::Memory {
                needed,
                limit: self.memory_bytes,
            });
        }
        let needed = footprint.host_bytes();
        if needed > self.host_memory_bytes {
            return Err(ConfigError::HostMemory {
                needed,
                limit: self.host_memory_bytes,
            });
        }
        Ok(())
    }
}

/// Bins of one communicator: three hash tables and the list I3.
pub(crate) fn bins_of_communicator(bins: usize) -> usize {
    bins.saturating_mul(3).saturating_add(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Limit {
        what: &'static str,
        field: fn(&mut NicConfig) -> &mut usize,
        least: usize,
        most: usize,
    }

    /// Every range, in numbers that are not computed from the code's.
    const LIMITS: [Limit; 14] = {
        const fn limit(
            what: &'static str,
            field: fn(&mut NicConfig) -> &mut usize,
            least: usize,
            most: usize,
        ) -> Limit {
            Limit {
                what,
                field,
                least,
                most,
            }
        }
        [
            limit("handlers", |it| &mut it.handlers, 1, 256),
            limit("workers", |it| &mut it.workers, 1, 256),
            limit("slice_min", |it| &mut it.slice_min, 0, 256),
            limit("receives", |it| &mut it.receives, 1, 2_147_483_647),
            limit("bins", |it| &mut it.bins, 1, 1_048_576),
            limit("communicators", |it| &mut it.communicators, 1, 1_048_576),
            // With 16 handlers, see below.
            limit(
                "completion_queue",
                |it| &mut it.completion_queue,
                16,
                1 << 30,
            ),
            limit("command_queue", |it| &mut it.command_queue, 1, 1 << 30),
            limit("completion_ring", |it| &mut it.completion_ring, 16, 1 << 30),
            limit("completion_queues", |it| &mut it.completion_queues, 1, 64),
            limit(
                "bounce_buffers",
                |it| &mut it.bounce_buffers,
                1,
                2_147_483_647,
            ),
            limit("eager_limit", |it| &mut it.eager_limit, 0, 1 << 30),
            limit("unexpected", |it| &mut it.unexpected, 1, 2_147_483_647),
            limit("regions", |it| &mut it.regions, 1, 8_388_608),
        ]
    };

    /// Whether the value is in the range of this field. Other conditions may be violated.
    fn is_in_range(what: &str, config: &NicConfig) -> bool {
        !matches!(config.validate(), Err(ConfigError::OutOfRange { what: it, .. }) if it == what)
    }

    #[test]
    fn each_range_ends_where_it_says() {
        let usual = NicConfig {
            handlers: 16,
            // Few, so that most bins of one are no more bins than there may be in all.
            communicators: 4,
            unexpected_buffers: 0,
            ..NicConfig::default()
        };
        assert_eq!(usual.validate(), Ok(()));
        for Limit {
            what,
            field,
            least,
            most,
        } in LIMITS
        {
            let with = |value: usize| {
                let mut config = usual;
                *field(&mut config) = value;
                is_in_range(what, &config)
            };
            let of = |value: usize| (value, with(value));
            assert_eq!(of(least), (least, true), "{what}");
            assert_eq!(of(most), (most, true), "{what}");
            assert_eq!(of(most + 1), (most + 1, false), "{what}");
            assert_eq!(of(usize::MAX), (usize::MAX, false), "{what}");
            if least > 0 {
                assert_eq!(of(least - 1), (least - 1, false), "{what}");
            }
        }
    }

    #[test]
    fn ranges_that_depend_on_other_fields() {
        let with = |change: fn(&mut NicConfig)| {
            let mut config = NicConfig::default();
            change(&mut config);
            config.validate()
        };
        let least = |it: Result<(), ConfigError>| match it {
            Err(ConfigError::OutOfRange { what, least, .. }) => (what, least),
            other => panic!("{other:?}"),
        };
        let short = with(|it| (it.handlers, it.completion_queue) = (32, 16));
        assert_eq!(least(short), ("completion_queue", 32));
        let short = with(|it| (it.handlers, it.completion_ring) = (32, 16));
        assert_eq!(least(short), ("completion_ring", 32));
        for (buffers, fits) in [(99, true), (100, true), (101, false)] {
            let config = NicConfig {
                unexpected: 100,
                unexpected_buffers: buffers,
                ..NicConfig::default()
            };
            assert_eq!(
                is_in_range("unexpected_buffers", &config),
                fits,
                "{buffers}"
            );
            assert_eq!(config.validate().is_ok(), fits, "{buffers}");
        }
        let all = 2_147_483_647;
        for (bins, fits) in [(1, true), (all - 1, true), (all, true), (all + 1, false)] {
            let config = NicConfig {
                index_bins: bins,
                ..NicConfig::default()
            };
            assert_eq!(is_in_range("index_bins", &config), fits, "{bins}");
        }
        // Without a number they are three tables and a list for each communicator.
        for (communicators, fits) in [(682, true), (683, false)] {
            let config = NicConfig {
                bins: 1 << 20,
                communicators,
                ..NicConfig::default()
            };
            assert_eq!(
                config.total_index_bins(),
                communicators * (3 * (1 << 20) + 1)
            );
            assert_eq!(is_in_range("index_bins", &config), fits, "{communicators}");
        }
        for (queue, power) in [(63, false), (64, true), (65, false)] {
            let config = NicConfig {
                command_queue: queue,
                ..NicConfig::default()
            };
            let refused = Err(ConfigError::NotPowerOfTwo {
                what: "command_queue",
                value: queue,
            });
            assert_eq!(config.validate(), if power { Ok(()) } else { refused });
        }
    }

    #[test]
    fn memory_may_be_used_to_the_last_byte() {
        let footprint = crate::Footprint::new(&NicConfig::default());
        let (nic, host) = (footprint.nic_bytes(), footprint.host_bytes());
        for spare in [0, 1] {
            let config = NicConfig {
                memory_bytes: nic + spare,
                host_memory_bytes: host + spare,
                ..NicConfig::default()
            };
            assert_eq!(config.validate(), Ok(()));
        }
        let short = NicConfig {
            memory_bytes: nic - 1,
            ..NicConfig::default()
        };
        let limit = nic - 1;
        assert_eq!(
            short.validate(),
            Err(ConfigError::Memory { needed: nic, limit })
        );
        let short = NicConfig {
            host_memory_bytes: host - 1,
            ..NicConfig::default()
        };
        let limit = host - 1;
        assert_eq!(
            short.validate(),
            Err(ConfigError::HostMemory {
                needed: host,
                limit
            })
        );
    }
}
