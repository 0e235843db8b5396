//! A part of a trace's ranks.

use std::str::FromStr;

use dpamatch::Rank;
use dpamatch_traces::{CallSites, RankReader, RunInfo, TraceError, TraceSource};

use super::super::BadInput;

/// Ranks from the first to the last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ranks {
    first: u32,
    last: u32,
}

impl FromStr for Ranks {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        match (first.parse(), last.parse()) {
            (Ok(first), Ok(last)) if first <= last => Ok(Self { first, last }),
            _ => Err("takes A or A-B, ranks from A to B"),
        }
    }
}

#[derive(Debug)]
struct Part {
    source: Box<dyn TraceSource>,
    ranks: Vec<Rank>,
}

impl Ranks {
    /// The trace with these ranks alone.
    ///
    /// # Errors
    /// It has none of them, or they go beyond its last one.
    pub(super) fn of(self, source: Box<dyn TraceSource>) -> anyhow::Result<Box<dyn TraceSource>> {
        let all = source.ranks();
        let chosen = all.iter().copied();
        let is_in = |rank: &Rank| (self.first..=self.last).contains(&rank.get());
        let ranks: Vec<Rank> = chosen.filter(is_in).collect();
        if let (Some(first), Some(last)) = (all.first(), all.last())
            && (ranks.is_empty() || self.last > last.get())
        {
            let (from, to) = (first.get(), last.get());
            let Self { first, last } = self;
            let what = format!("--ranks {first}-{last}: the trace has ranks from {from} to {to}");
            return Err(BadInput(what).into());
        }
        Ok(Box::new(Part { source, ranks }))
    }
}

impl TraceSource for Part {
    fn run(&self) -> &RunInfo {
        self.source.run()
    }

    fn ranks(&self) -> &[Rank] {
        &self.ranks
    }

    fn open(&self, rank: Rank) -> Result<Box<dyn RankReader + '_>, TraceError> {
        self.source.open(rank)
    }

    fn sites(&self, rank: Rank) -> Result<Option<CallSites>, TraceError> {
        self.source.sites(rank)
    }
}
