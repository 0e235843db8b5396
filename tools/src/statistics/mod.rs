//! Reads, sums and shows the matching statistics of MPI processes on the emulated NIC.
//!
//! The libfabric provider writes one JSON object per endpoint when `DPAMATCH_STATS` names a folder.

mod live;
mod tables;
mod waits;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::{fs, io};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::table::Cell;
use dpamatch_traces::regular;

pub use live::Live;
pub use tables::tables;
pub use waits::{Entry, State, Waiting, waits};

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Use {
    pub messages: u64,
    pub bytes: u64,
    /// Messages that arrived before their receive.
    pub unexpected: u64,
    pub posts: u64,
    pub posts_any_source: u64,
    pub posts_any_tag: u64,
    /// Receives for any source and tag.
    pub posts_any: u64,
    /// Probes answered by the matcher.
    pub probes: u64,
    pub cancels: u64,
    pub posted_high: u64,
    pub unexpected_high: u64,
}

impl Use {
    pub fn add(&mut self, other: &Self) {
        add_fields! { self + other;
            sum messages bytes unexpected posts posts_any_source posts_any_tag posts_any probes
                cancels;
            max posted_high unexpected_high;
        }
    }

    fn sum(all: impl Iterator<Item = Self>) -> Self {
        let mut sum = Self::default();
        all.for_each(|used| sum.add(&used));
        sum
    }

    pub fn wildcards(&self) -> u64 {
        self.posts_any_source + self.posts_any_tag + self.posts_any
    }
}

/// A communicator at one rank, or at all.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CommUse {
    /// The library's number; `None` where the matcher compares all match bits.
    pub communicator: Option<u64>,
    /// Purpose of its messages: `user`, `collective`, `control`, `unknown`.
    pub kind: String,
    #[serde(flatten)]
    pub used: Use,
}

#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Depth {
    /// Start of the first column, in nanoseconds since 1970.
    pub begin_unix_ns: u64,
    pub column_ns: u64,
    pub posted: Vec<u64>,
    pub unexpected: Vec<u64>,
    pub messages: Vec<u64>,
}

#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Endpoint {
    /// Name of its file: rank and part of the identity.
    #[serde(skip_deserializing)]
    pub name: String,
    /// 0, or the number of a spawned job.
    #[serde(skip)]
    pub job: usize,
    pub engine: String,
    /// The MPI library, recognized by its match bits.
    pub library: String,
    pub kinds: BTreeMap<String, Use>,
    pub communicators: Vec<CommUse>,
    pub depth: Depth,
    /// Whether the endpoint was closed. Otherwise the numbers are from the middle of the run.
    #[serde(default = "closed")]
    pub closed: bool,
    #[serde(default)]
    pub pid: i32,
    /// Requests for statistics that it had seen.
    #[serde(default)]
    pub requests: u64,
    #[serde(default)]
    pub waiting: Waiting,
    #[serde(flatten)]
    pub counters: BTreeMap<String, Value>,
}

impl Endpoint {
    /// A counter; 0 if this endpoint's matcher lacks it.
    pub fn counter(&self, name: &str) -> u64 {
        self.counters.get(name).and_then(Value::as_u64).unwrap_or(0)
    }

    /// The rank, if the launcher gave one.
    pub fn rank(&self) -> Option<u32> {
        self.name
            .strip_prefix("rank-")?
            .split('-')
            .next()?
            .parse()
            .ok()
    }

    /// The rank, and of which job if it was spawned.
    fn place(&self) -> String {
        match (self.rank(), self.job) {
            (None, _) => self.name.clone(),
            (Some(rank), 0) => rank.to_string(),
            (Some(rank), job) => format!("{rank} of job {}", job + 1),
        }
    }

    fn place_cell(&self) -> Cell {
        self.rank()
            .filter(|_| self.job == 0)
            .map_or(self.place().into(), Cell::from)
    }

    /// Whether these are statistics from after its beginning.
    pub fn is_known(&self) -> bool {
        self.closed || self.kinds.values().any(|used| *used != Use::default())
    }
}

/// Without a word about it, statistics are of an endpoint's end.
fn closed() -> bool {
    true
}

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StatisticsError {
    #[error("{}: {error}", path.display())]
    Io {
        path: PathBuf,
        #[source]
        error: io::Error,
    },
    #[error("{}: {error}", path.display())]
    Content {
        path: PathBuf,
        error: serde_json::Error,
    },
}

/// All endpoints of a folder, by rank.
pub fn read(folder: &Path) -> Result<Vec<Endpoint>, StatisticsError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |error| StatisticsError::Io { path, error }
    };
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed(folder))? {
        let path = entry.map_err(failed(folder))?.path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let text = regular::read_to_string(&path).map_err(failed(&path))?;
        let endpoint: Endpoint =
            serde_json::from_str(&text).map_err(|error| StatisticsError::Content {
                path: path.clone(),
                error,
            })?;
        let name = path
            .file_stem()
            .map(|name| name.to_string_lossy().into_owned());
        all.push(Endpoint {
            name: name.unwrap_or_default(),
            ..endpoint
        });
    }
    all.sort_by(|one, other| {
        let key =
            |endpoint: &Endpoint| (endpoint.rank().unwrap_or(u32::MAX), endpoint.name.clone());
        key(one).cmp(&key(other))
    });
    number_jobs(&mut all);
    Ok(all)
}

/// A spawned job has a rank 0 of its own. A process belongs to the job whose rank 0 began nearest
/// to it, since a job begins together and spawns another one later.
fn number_jobs(all: &mut [Endpoint]) {
    let mut begins: BTreeMap<i32, u64> = BTreeMap::new();
    for Endpoint { pid, depth, .. } in all.iter() {
        let begin = begins.entry(*pid).or_insert(u64::MAX);
        *begin = depth.begin_unix_ns.min(*begin);
    }
    let firsts = all.iter().filter(|endpoint| endpoint.rank() == Some(0));
    let jobs: BTreeSet<u64> = firsts.map(|first| begins[&first.pid]).collect();
    for endpoint in all {
        let distance = |&(_, job): &(usize, &u64)| job.abs_diff(begins[&endpoint.pid]);
        endpoint.job = jobs
            .iter()
            .enumerate()
            .min_by_key(distance)
            .map_or(0, |(job, _)| job);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spawned_job_has_the_ranks_that_began_with_its_first() {
        // Rank, process, beginning; the first process has two endpoints.
        let begun = [
            (0, 7, 110),
            (2, 9, 103),
            (1, 8, 105),
            (0, 4, 410),
            (3, 5, 401),
            (0, 7, 900),
        ];
        let mut all = begun.map(|(rank, pid, begin_unix_ns)| {
            let depth = Depth {
                begin_unix_ns,
                ..Depth::default()
            };
            Endpoint {
                name: format!("rank-{rank}-0"),
                pid,
                depth,
                ..Endpoint::default()
            }
        });
        number_jobs(&mut all);
        let places: Vec<_> = all.iter().map(Endpoint::place).collect();
        assert_eq!(places, ["0", "2", "1", "0 of job 2", "3 of job 2", "0"]);
    }
}
