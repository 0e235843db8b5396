//! The order log of an endpoint: what its matcher did, in order, and what came of it.
//!
//! `NAME.events` is an event stream as the command `match` reads it, `NAME.results` are the results
//! beside it; the results of the oracle for the same stream must be the same lines. When the rule
//! for match bits changes, a log ends and the next begins, with what stood in the queues.
//!
//! Receives and messages say when the matcher's decision became known: `t`, in nanoseconds since
//! the time that a comment at the end tells, together with what communicators and peers are.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};

use dpamatch::stream::{Event, Outcome, ProbeId};
use dpamatch_vocabulary::{MsgId, RecvId};

use crate::matcher::{Asked, Carried};
use crate::wire::Address;

/// Two files that grow.
#[derive(Debug)]
pub(super) struct Log {
    folder: PathBuf,
    name: String,
    segment: u32,
    files: Option<(BufWriter<File>, BufWriter<File>)>,
    probes: u64,
    begin: Instant,
    begin_unix_ns: u128,
}

/// What the numbers in a log stand for.
pub(super) struct Legend {
    /// Bits that the receives of the program ignore.
    pub(super) protocol: u64,
    /// Each communicator's high bits, and what it is in words.
    pub(super) communicators: Vec<(u64, String)>,
    /// Each peer's identity.
    pub(super) peers: Vec<u128>,
}

/// What was decided; numbers are those of the receive and the message.
pub(super) enum Entry<'a> {
    Posted { recv: u64, asked: &'a Asked, size: usize, matched: Option<u64> },
    Arrived { msg: u64, carried: &'a Carried, bytes: usize, matched: Option<u64> },
    Cancel { recv: u64, cancelled: bool },
    Probe { asked: &'a Asked, take: bool, found: Option<u64> },
}

impl Log {
    /// # Errors
    /// When the files cannot be made.
    pub(super) fn open(folder: &Path, address: &Address) -> Result<Self, String> {
        let name = file_name(address);
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let mut log = Self {
            folder: folder.into(),
            name,
            segment: 0,
            files: None,
            probes: 0,
            begin: Instant::now(),
            begin_unix_ns: now.map_or(0, |now| now.as_nanos()),
        };
        log.open_segment().map_err(|error| format!("{}: {error}", folder.display()))?;
        Ok(log)
    }

    fn open_segment(&mut self) -> std::io::Result<()> {
        std::fs::create_dir_all(&self.folder)?;
        let file = |kind: &str| {
            let name = format!("{}.{}.{kind}", self.name, self.segment);
            File::create(self.folder.join(name)).map(BufWriter::new)
        };
        self.files = Some((file("events")?, file("results")?));
        Ok(())
    }

    pub(super) fn write(&mut self, entry: Entry<'_>) {
        let (event, outcome) = match entry {
            Entry::Posted { recv, asked, size, matched } => {
                let recv = RecvId(recv);
                let outcome = matched.map(|msg| Outcome::Matched { recv, msg: MsgId(msg) });
                let (comm, selector) = (asked.comm, asked.selector);
                (Event::Post { recv, comm, selector, size: Some(size as u64), coll: None }, outcome)
            }
            Entry::Arrived { msg, carried, bytes, matched } => {
                let msg = MsgId(msg);
                let outcome = matched.map(|recv| Outcome::Matched { recv: RecvId(recv), msg });
                let bytes = Some(bytes as u64);
                (Event::Arrive { msg, envelope: carried.envelope, bytes, coll: None }, outcome)
            }
            Entry::Cancel { recv, cancelled } => {
                let recv = RecvId(recv);
                let outcome = match cancelled {
                    true => Outcome::Cancelled { recv },
                    false => Outcome::TooLate { recv },
                };
                (Event::Cancel { recv }, Some(outcome))
            }
            Entry::Probe { asked, take, found } => {
                let probe = ProbeId(self.probes);
                self.probes += 1;
                let (comm, selector, msg) = (asked.comm, asked.selector, found.map(MsgId));
                match take {
                    true => (
                        Event::Mprobe { probe, comm, selector },
                        Some(Outcome::Mprobed { probe, msg }),
                    ),
                    false => (
                        Event::Probe { probe, comm, selector },
                        Some(Outcome::Probed { probe, msg }),
                    ),
                }
            }
        };
        let Some((events, results)) = &mut self.files else { return };
        let has_time = matches!(event, Event::Post { .. } | Event::Arrive { .. });
        let line = match has_time {
            true => writeln!(events, "{event},t={}", self.begin.elapsed().as_nanos()),
            false => writeln!(events, "{event}"),
        };
        let written =
            line.and_then(|()| outcome.map_or(Ok(()), |outcome| writeln!(results, "{outcome}")));
        if let Err(error) = written {
            crate::report(&format!("the order log {} ends: {error}", self.name));
            self.files = None;
        }
    }

    /// Begins the next pair of files.
    pub(super) fn begin_segment(&mut self) {
        self.segment += 1;
        if let Err(error) = self.open_segment() {
            crate::report(&format!("the order log {} ends: {error}", self.name));
        }
    }

    /// Ends the files with what is left in the queues.
    pub(super) fn end_segment(
        &mut self,
        legend: &Legend,
        posts: impl Iterator<Item = u64>,
        messages: impl Iterator<Item = u64>,
    ) {
        let Some((mut events, mut results)) = self.files.take() else { return };
        let end = || -> std::io::Result<()> {
            for recv in posts {
                writeln!(results, "{}", Outcome::Posted { recv: RecvId(recv) })?;
            }
            for msg in messages {
                writeln!(results, "{}", Outcome::Unexpected { msg: MsgId(msg) })?;
            }
            writeln!(events, "# begin {}", self.begin_unix_ns)?;
            writeln!(events, "# protocol bits {:016x}", legend.protocol)?;
            for (comm, (context, what)) in legend.communicators.iter().enumerate() {
                writeln!(events, "# communicator {comm}: high bits {context:09x}, {what}")?;
            }
            for (peer, identity) in legend.peers.iter().enumerate() {
                writeln!(events, "# peer {peer}: {:08x}", *identity as u32)?;
            }
            events.flush()?;
            results.flush()
        };
        if let Err(error) = end() {
            crate::report(&format!("the order log {} ends: {error}", self.name));
        }
    }
}

/// The beginning of the names of an endpoint's files: its rank, if the launcher tells it, and part
/// of its identity.
pub(super) fn file_name(address: &Address) -> String {
    let rank = ["PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK"]
        .iter()
        .find_map(|name| std::env::var(name).ok()?.parse::<u32>().ok());
    let who = rank
        .map_or_else(|| format!("process-{}", std::process::id()), |rank| format!("rank-{rank}"));
    format!("{who}-{:08x}", address.identity as u32)
}
