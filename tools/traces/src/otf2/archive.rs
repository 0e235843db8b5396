//! An archive as a run.

use std::path::{Path, PathBuf};

use crate::region::Region;
use crate::{OpenOptions, Rank, RankReader, RunInfo, TraceError, TraceErrorKind, TraceSource};

use super::anchor::{self, Anchor};
use super::definitions::{self, Definitions};
use super::events::Events;
use super::local::Local;
use super::reader::Reader;

#[derive(Debug)]
pub(crate) struct Archive {
    run: RunInfo,
    ranks: Vec<Rank>,
    /// The folder of the locations.
    folder: PathBuf,
    anchor: Anchor,
    definitions: Definitions,
    salvage: bool,
}

impl Archive {
    /// Opens the archive with this anchor file.
    pub(crate) fn open(file: &Path, options: &OpenOptions) -> Result<Self, TraceError> {
        let anchor = anchor::read(file)?;
        let definitions =
            definitions::read(&file.with_extension("def"), anchor.definition_chunk_bytes)?;
        let folder = file.with_extension("");
        let processes = definitions.locations.len();
        let has_events = |rank: &u32| {
            let location = definitions.locations[*rank as usize];
            folder.join(format!("{location}.evt")).is_file()
        };
        let ranks = (0..processes as u32)
            .filter(has_events)
            .map_while(|it| Rank::new(it).ok());
        let ranks: Vec<_> = ranks.collect();
        if ranks.is_empty() {
            let what = TraceErrorKind::Unsupported("no rank has events".to_owned());
            return Err(TraceError::new(folder, what));
        }
        let wild = "OTF2 keeps no wildcards: each receive names the source and tag of its message";
        let mut notices = vec![wild.to_owned()];
        if ranks.len() != processes {
            notices.push(format!(
                "the archive has events of {} of {processes} ranks",
                ranks.len()
            ));
        }
        if !definitions.not_read.is_empty() {
            notices.push(format!("not read: {}", definitions.not_read.join("; ")));
        }
        let run = RunInfo {
            processes: Some(processes as u32),
            notices,
            ..RunInfo::default()
        };
        Ok(Self {
            run,
            ranks,
            folder,
            anchor,
            definitions,
            salvage: options.salvage,
        })
    }
}

impl TraceSource for Archive {
    fn run(&self) -> &RunInfo {
        &self.run
    }

    fn ranks(&self) -> &[Rank] {
        &self.ranks
    }

    fn open(&self, rank: Rank) -> Result<Box<dyn RankReader + '_>, TraceError> {
        let Some(location) = self.definitions.locations.get(rank.get() as usize) else {
            let what = TraceErrorKind::Unsupported("no such rank".to_owned());
            return Err(TraceError::new(format!("rank {}", rank.get()), what));
        };
        let of_location = |ending: &str| self.folder.join(format!("{location}.{ending}"));
        let local = Local::read(&of_location("def"), self.anchor.definition_chunk_bytes)?;
        let events = Region::open(&of_location("evt"))?;
        let events = Events::new(events, self.anchor.event_chunk_bytes);
        let reader = Reader::new(
            &self.definitions,
            local,
            events,
            rank,
            self.anchor.version,
            self.salvage,
        );
        Ok(Box::new(reader?))
    }
}
