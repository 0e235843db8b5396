//! The engines by name. To add one, add one entry to [`ENGINES`].

use crate::engine::{BinCount, BinEngine, ListEngine, Oracle};
use crate::stream::StreamMatcher;

/// What an engine can be told when it is built; an engine takes what concerns it.
#[derive(Clone, Debug, Default)]
pub struct EngineOptions {
    /// Bins of each hash table.
    pub bins: BinCount,
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
    /// What it is, in one line.
    pub summary: &'static str,
    /// Builds one with empty queues.
    pub build: fn(&EngineOptions) -> Result<Box<dyn StreamMatcher>, BuildError>,
}

/// All engines.
pub static ENGINES: &[EngineEntry] = &[
    EngineEntry {
        name: "list",
        summary: "two linked lists for everything, searched from the front (traditional)",
        build: |_| Ok(Box::new(ListEngine::new())),
    },
    EngineEntry {
        name: "bins",
        summary: "hash bins by communicator, source and tag, order kept by labels",
        build: |options| Ok(Box::new(BinEngine::new(options.bins))),
    },
    EngineEntry {
        name: "oracle",
        summary: "the specification: two arrays searched from the front; slow",
        build: |_| Ok(Box::new(Oracle::new())),
    },
];

/// The engine of this name.
///
/// # Examples
/// ```
/// let entry = dpamatch::registry::find("bins").expect("a known name");
/// assert!((entry.build)(&Default::default()).is_ok());
/// assert!(dpamatch::registry::find("magic").is_none());
/// ```
pub fn find(name: &str) -> Option<&'static EngineEntry> {
    ENGINES.iter().find(|entry| entry.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_once() {
        for entry in ENGINES {
            assert_eq!(ENGINES.iter().filter(|other| other.name == entry.name).count(), 1);
            assert_eq!(find(entry.name).map(|found| found.summary), Some(entry.summary));
            assert!((entry.build)(&EngineOptions::default()).is_ok());
        }
    }
}
