//! The engines by name. To add one, add one entry to [`ENGINES`].

use std::hash::{Hash, Hasher};

use dpa_model::{ConfigError, Hints, InlineHashes, NicConfig};
use dpamatch_vocabulary::choices;

use crate::engine::{
    AdaptiveConfig, AdaptiveEngine, ArrayLife, Behind, BinCount, BinEngine, DedicatedConfig,
    DedicatedEngine, Engine, FourDEngine, GridThreshold, ListEngine, NicDesign, NicListEngine,
    OptimisticSeqEngine, Oracle, RankArrayEngine, SimdEngine, UcxEngine,
};
use crate::host::NicMatcher;
#[cfg(feature = "plugin")]
use crate::plugin::{Library, Plugin, Sizes};
use crate::stream::{ByKind, StreamMatcher};

/// The options of all engines. An engine ignores the options of others.
///
/// # Examples
/// ```
/// use dpamatch::engine::BinCount;
/// use dpamatch::registry::{EngineOptions, find};
///
/// let options = EngineOptions { bins: BinCount::new(64)?, threads: false, ..Default::default() };
/// for name in ["bins", "optimistic"] {
///     find(name).expect("a known name").build(&options)?;
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct EngineOptions {
    /// Bins of each hash table; for the emulated NIC instead of `nic.bins`.
    pub bins: BinCount,
    /// The hash-bin engine starts with the usual number of bins instead and doubles them when it
    /// holds half as many entries.
    pub grow_bins: bool,
    /// k of each half of the engines with dedicated queues.
    pub k: u32,
    /// Length of a shared queue at which these engines extract partners.
    pub theta: u32,
    /// Entries on the card of the engines that represent cards with matching in hardware. The
    /// default is UCX's for ConnectX (`TM_LIST_SIZE`), and the prototype's number of receives.
    pub list_entries: u32,
    /// How long the array-based engine keeps its arrays.
    pub array_life: ArrayLife,
    /// When the four-dimensional engine's lists become grids.
    pub grid: GridThreshold,
    /// The emulated NIC.
    pub nic: NicConfig,
    /// Whether `nic.workers` threads run the emulated NIC; otherwise the calling thread does.
    pub threads: bool,
    /// The engine behind a full emulated NIC.
    pub behind: Behind,
    /// The engine behind the other full cards.
    pub behind_cards: Behind,
    /// Hints of every communicator.
    pub hints: Hints,
    /// Senders put hashes in the header (O26).
    pub sender_hashes: bool,
    /// Number of processes in each communicator, if known. Some engines choose their structure by
    /// it.
    pub comm_size: Option<u32>,
}

choices! {
    /// What computes the hashes of a message.
    pub enum Hashing, by default Trust {
        /// The sender; the NIC uses its hashes.
        Trust = "trust",
        /// The sender, and the NIC, which compares.
        Verify = "verify",
        /// The sender, and the NIC, which uses its own.
        Ignore = "ignore",
        /// The NIC: senders put no hashes in the header.
        Absent = "absent",
    }
}

impl EngineOptions {
    /// What computes the hashes of a message.
    pub fn hashing(&self) -> Hashing {
        match (self.sender_hashes, self.nic.options.inline_hashes) {
            (false, _) => Hashing::Absent,
            (true, InlineHashes::Trust) => Hashing::Trust,
            (true, InlineHashes::Verify) => Hashing::Verify,
            (true, InlineHashes::Ignore) => Hashing::Ignore,
        }
    }

    /// Chooses who computes the hashes of a message.
    pub fn set_hashing(&mut self, hashing: Hashing) {
        self.sender_hashes = hashing != Hashing::Absent;
        self.nic.options.inline_hashes = match hashing {
            Hashing::Trust | Hashing::Absent => InlineHashes::Trust,
            Hashing::Verify => InlineHashes::Verify,
            Hashing::Ignore => InlineHashes::Ignore,
        };
    }
}

impl Default for EngineOptions {
    fn default() -> Self {
        let nic = NicConfig::default();
        Self {
            bins: BinCount::default(),
            grow_bins: false,
            k: 8,
            theta: 100,
            list_entries: 1024,
            array_life: ArrayLife::default(),
            grid: GridThreshold::default(),
            nic,
            threads: true,
            behind: Behind::default(),
            behind_cards: Behind::List,
            hints: Hints::default(),
            sender_hashes: true,
            comm_size: None,
        }
    }
}

/// The engine is the paper's algorithm, also where one worker runs all of a block.
fn optimistic(options: &EngineOptions) -> Result<Box<dyn StreamMatcher>, BuildError> {
    let mut config = NicConfig {
        bins: options.bins.get() as usize,
        ..options.nic
    };
    config.options.always_shared = true;
    let reason = |error: ConfigError| BuildError {
        engine: "optimistic",
        reason: error.to_string(),
    };
    let mut matcher = NicMatcher::new(config, options.threads, options.hints).map_err(reason)?;
    matcher.set_inline_hashes(options.sender_hashes);
    matcher.set_behind(options.behind);
    Ok(Box::new(matcher))
}

fn dedicated(config: DedicatedConfig, options: &EngineOptions) -> Box<dyn Engine> {
    let &EngineOptions {
        k,
        theta,
        comm_size: processes,
        ..
    } = options;
    let part = |half: Option<u32>| half.map(|_| k);
    Box::new(DedicatedEngine::new(DedicatedConfig {
        k_collective: part(config.k_collective),
        k_partner: part(config.k_partner),
        theta,
        processes,
    }))
}

fn nic_list(design: NicDesign, options: &EngineOptions) -> Box<dyn Engine> {
    let &EngineOptions {
        list_entries,
        behind_cards,
        ..
    } = options;
    Box::new(NicListEngine::with_behind(
        design,
        list_entries,
        behind_cards,
    ))
}

/// Why an engine cannot be built from these options.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("engine {engine}: {reason}")]
pub struct BuildError {
    /// The engine.
    pub engine: &'static str,
    /// What is wrong, naming the option.
    pub reason: String,
}

/// An engine that can be chosen by name.
#[derive(Clone, Copy, Debug)]
pub struct EngineEntry {
    /// Its name.
    pub name: &'static str,
    /// A one-line description.
    pub summary: &'static str,
    kind: Maker,
}

/// Engines are equal if their names are.
impl PartialEq for EngineEntry {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for EngineEntry {}

impl Hash for EngineEntry {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

#[derive(Clone, Copy, Debug)]
enum Maker {
    /// Matches in software, one call after the other.
    Software(fn(&EngineOptions) -> Box<dyn Engine>),
    /// Matches in a library.
    #[cfg(feature = "plugin")]
    Plugin(&'static Library),
    /// Runs whole streams only.
    Nic(fn(&EngineOptions) -> Result<Box<dyn StreamMatcher>, BuildError>),
}

impl EngineEntry {
    /// The entry of a software engine.
    pub const fn software(
        name: &'static str,
        summary: &'static str,
        engine: fn(&EngineOptions) -> Box<dyn Engine>,
    ) -> Self {
        Self {
            name,
            summary,
            kind: Maker::Software(engine),
        }
    }

    #[cfg(feature = "plugin")]
    pub(crate) const fn plugin(
        name: &'static str,
        summary: &'static str,
        library: &'static Library,
    ) -> Self {
        Self {
            name,
            summary,
            kind: Maker::Plugin(library),
        }
    }

    /// Whether it is a software engine, so that [`engine`](Self::engine) returns `Some`.
    pub const fn is_software(&self) -> bool {
        !matches!(self.kind, Maker::Nic(_))
    }

    /// Builds one with empty queues that runs streams.
    ///
    /// # Errors
    /// [`BuildError`] for options that no such engine can have.
    pub fn build(&self, options: &EngineOptions) -> Result<Box<dyn StreamMatcher>, BuildError> {
        match self.kind {
            Maker::Software(engine) => Ok(Box::new(ByKind::new(engine(options)))),
            #[cfg(feature = "plugin")]
            Maker::Plugin(_) => {
                let reason = "the library cannot make one".to_owned();
                let engine = self.engine(options).ok_or(BuildError {
                    engine: self.name,
                    reason,
                })?;
                Ok(Box::new(ByKind::new(engine)))
            }
            Maker::Nic(build) => build(options),
        }
    }

    /// Builds one with empty queues and the full [`Engine`] interface. Returns `None` for the
    /// emulated NIC, which only runs streams, and if a library cannot make one.
    pub fn engine(&self, options: &EngineOptions) -> Option<Box<dyn Engine>> {
        match self.kind {
            Maker::Software(engine) => Some(engine(options)),
            #[cfg(feature = "plugin")]
            Maker::Plugin(library) => {
                let processes = options.comm_size.unwrap_or(0);
                let engine = Plugin::new(
                    library,
                    Sizes {
                        bins: options.bins.get(),
                        processes,
                    },
                )?;
                Some(Box::new(engine))
            }
            Maker::Nic(_) => None,
        }
    }
}

/// All engines.
pub static ENGINES: &[EngineEntry] = &[
    EngineEntry {
        name: "optimistic",
        summary: "the emulated NIC: optimistic matching by N handlers, software fallback",
        kind: Maker::Nic(optimistic),
    },
    EngineEntry::software(
        "list",
        "two linked lists for everything, searched from the front (traditional)",
        |_| Box::new(ListEngine::new()),
    ),
    EngineEntry::software(
        "bins",
        "hash bins by communicator, source and tag, order kept by labels",
        |options| match options.grow_bins {
            true => Box::new(BinEngine::growing()),
            false => Box::new(BinEngine::new(options.bins)),
        },
    ),
    EngineEntry::software(
        "col-pnp",
        "queues for collectives by profile, and for partners (COL+PNP)",
        |options| dedicated(DedicatedConfig::COL_PNP, options),
    ),
    EngineEntry::software(
        "col-ll",
        "queues for collectives by profile, one list for the rest (COL+LL)",
        |options| dedicated(DedicatedConfig::COL_LL, options),
    ),
    EngineEntry::software(
        "ll-pnp",
        "one list for collectives, queues for partners (LL+PNP)",
        |options| dedicated(DedicatedConfig::LL_PNP, options),
    ),
    EngineEntry::software(
        "simd",
        "two arrays of packed keys and masks, sixteen compared at a time",
        |_| Box::new(SimdEngine::new()),
    ),
    EngineEntry::software(
        "rank-array",
        "per communicator an array of lists by source (Open MPI ob1)",
        |options| Box::new(RankArrayEngine::new(options.array_life, options.comm_size)),
    ),
    EngineEntry::software(
        "4d",
        "the source's rank in four dimensions, a list below a threshold",
        |options| Box::new(FourDEngine::new(options.grid, options.comm_size)),
    ),
    EngineEntry::software(
        "ucx",
        "hash of full keys, one queue for wildcards, sequence numbers (UCX)",
        |_| Box::new(UcxEngine::new()),
    ),
    EngineEntry::software(
        "optimistic-seq",
        "the emulated NIC's four indexes, sequential, tables that grow",
        |_| Box::new(OptimisticSeqEngine::new()),
    ),
    EngineEntry::software(
        "adaptive",
        "a list that becomes ranks or bins under load, and back",
        |options| {
            let config = AdaptiveConfig {
                bins: options.bins,
                ..AdaptiveConfig::default()
            };
            Box::new(AdaptiveEngine::new(config, options.comm_size))
        },
    ),
    EngineEntry::software(
        "constant",
        "four indexes that always hold every message: constant time with wildcards",
        |_| Box::new(OptimisticSeqEngine::constant()),
    ),
    EngineEntry::software(
        "hw-list",
        "a card's list of L receives in order, the rest on the host (ConnectX)",
        |options| nic_list(NicDesign::HwList, options),
    ),
    EngineEntry::software(
        "portals",
        "L entries for receives and unexpected headers, then the host (Cassini, BXI)",
        |options| nic_list(NicDesign::Portals, options),
    ),
    EngineEntry::software(
        "alpu",
        "an associative unit of L entries a queue, in front of lists",
        |options| nic_list(NicDesign::Alpu, options),
    ),
    EngineEntry::software(
        "oracle",
        "the specification: two arrays searched from the front; slow",
        |_| Box::new(Oracle::new()),
    ),
];

/// The engine of this name.
///
/// # Examples
/// ```
/// let entry = dpamatch::registry::find("bins").expect("a known name");
/// assert!(entry.build(&Default::default()).is_ok());
/// assert!(dpamatch::registry::find("magic").is_none());
/// ```
pub fn find(name: &str) -> Option<&'static EngineEntry> {
    ENGINES.iter().find(|entry| entry.name == name)
}

/// The engine of this name, or the one in the library at this path, which has a slash in it. The
/// feature `plugin` opens libraries. [`find`] knows the names alone, and is safe.
///
/// # Safety
/// With a slash in the name, that of `plugin::load`: the library's code runs in this process.
///
/// # Errors
/// One line that says why there is no such engine.
#[allow(unsafe_code, reason = "the border to C")]
pub unsafe fn open(name: &str) -> Result<&'static EngineEntry, String> {
    #[cfg(feature = "plugin")]
    if name.contains('/') {
        // SAFETY: the caller's promise.
        return unsafe { crate::plugin::load(name) };
    }
    let known = || {
        ENGINES
            .iter()
            .map(|entry| entry.name)
            .collect::<Vec<_>>()
            .join(", ")
    };
    find(name).ok_or_else(|| format!("unknown engine {name}; known: {}", known()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_once() {
        for entry in ENGINES {
            assert_eq!(ENGINES.iter().filter(|&other| other == entry).count(), 1);
            assert_eq!(
                find(entry.name).map(|found| found.summary),
                Some(entry.summary)
            );
            assert!(entry.build(&EngineOptions::default()).is_ok());
        }
    }
}
