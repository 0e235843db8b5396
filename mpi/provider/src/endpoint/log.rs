//! The order log of an endpoint: its matcher's operations in order, and their results.
//!
//! `NAME.events` is an event stream for the command `match`, `NAME.results` has its results. The
//! oracle's results for that stream must be equal, line by line. When the rule for match bits
//! changes, a log ends and the next begins with the contents of the queues.
//!
//! On receives and messages, `t` is the time of the matcher's decision, in nanoseconds since the
//! time in the comment `begin`. Other comments describe communicators and peers.
//!
//! Both files get whole lines, together and at least every [`SYNC_EVERY`] while the program makes
//! progress. So the log of a hanging program is complete, and the log of a killed one is readable.
//! The comment `end` is last in the events of a log that was closed.

use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use dpamatch::stream::{Event, Outcome, ProbeId};
use dpamatch_vocabulary::{MsgId, RecvId};

use crate::matcher::{Criteria, MessageHeader};
use crate::wire::Address;

/// Longest time that lines stay buffered.
const SYNC_EVERY: Duration = Duration::from_millis(100);
/// Most bytes that stay buffered.
const WAITING_MAX: usize = 1 << 16;

/// Makes a folder that only this user can read, unless it is there.
pub(super) fn make_folder(folder: &Path) -> std::io::Result<()> {
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
}

/// A new file that replaces an old one. It is never a file that a link of another user points to.
pub(super) fn new_file(path: &Path) -> std::io::Result<File> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    File::options().write(true).create_new(true).open(path)
}

#[derive(Debug)]
struct Lines(File, Vec<u8>);

/// Two files that grow.
#[derive(Debug)]
pub(super) struct Log {
    folder: PathBuf,
    name: String,
    segment: u32,
    /// Events and results; `None` once they cannot be written.
    files: Option<[Lines; 2]>,
    synced: Instant,
    /// Communicators and peers that the events' file knows.
    explained: (usize, usize),
    probes: u64,
    begin: Instant,
    begin_unix_ns: u128,
}

/// The meaning of the numbers in a log.
pub(super) struct Legend {
    /// Each communicator's high bits and its description.
    pub(super) communicators: Vec<(u64, String)>,
    /// Each peer's identity.
    pub(super) peers: Vec<u128>,
}

/// A decision; receives and messages by their numbers.
pub(super) enum Entry<'a> {
    Posted {
        recv: u64,
        criteria: &'a Criteria,
        size: usize,
        matched: Option<u64>,
    },
    Arrived {
        msg: u64,
        header: &'a MessageHeader,
        bytes: usize,
        matched: Option<u64>,
    },
    Cancelled {
        recv: u64,
    },
    Probe {
        criteria: &'a Criteria,
        take: bool,
        found: Option<u64>,
    },
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
            synced: Instant::now(),
            explained: (0, 0),
            probes: 0,
            begin: Instant::now(),
            begin_unix_ns: now.map_or(0, |now| now.as_nanos()),
        };
        log.open_segment(0)
            .map_err(|error| format!("{}: {error}", folder.display()))?;
        Ok(log)
    }

    fn open_segment(&mut self, protocol: u64) -> std::io::Result<()> {
        make_folder(&self.folder)?;
        let file = |kind: &str| {
            let name = format!("{}.{}.{kind}", self.name, self.segment);
            new_file(&self.folder.join(name)).map(|file| Lines(file, Vec::new()))
        };
        let [mut events, results] = [file("events")?, file("results")?];
        writeln!(events.1, "# begin {}", self.begin_unix_ns)?;
        writeln!(events.1, "# protocol bits {protocol:016x}")?;
        self.files = Some([events, results]);
        self.explained = (0, 0);
        Ok(())
    }

    pub(super) fn write(&mut self, entry: Entry<'_>) {
        let (event, outcome) = match entry {
            Entry::Posted {
                recv,
                criteria,
                size,
                matched,
            } => {
                let recv = RecvId(recv);
                let outcome = matched.map(|msg| Outcome::Matched {
                    recv,
                    msg: MsgId(msg),
                });
                let (comm, selector) = (criteria.comm, criteria.selector);
                (
                    Event::Post {
                        recv,
                        comm,
                        selector,
                        size: Some(size as u64),
                        coll: None,
                    },
                    outcome,
                )
            }
            Entry::Arrived {
                msg,
                header,
                bytes,
                matched,
            } => {
                let msg = MsgId(msg);
                let outcome = matched.map(|recv| Outcome::Matched {
                    recv: RecvId(recv),
                    msg,
                });
                let bytes = Some(bytes as u64);
                (
                    Event::Arrive {
                        msg,
                        envelope: header.envelope,
                        bytes,
                        coll: None,
                        lie: 0,
                    },
                    outcome,
                )
            }
            Entry::Cancelled { recv } => {
                let recv = RecvId(recv);
                (Event::Cancel { recv }, Some(Outcome::Cancelled { recv }))
            }
            Entry::Probe {
                criteria,
                take,
                found,
            } => {
                let probe = ProbeId(self.probes);
                self.probes += 1;
                let (comm, selector, msg) = (criteria.comm, criteria.selector, found.map(MsgId));
                match take {
                    true => (
                        Event::Mprobe {
                            probe,
                            comm,
                            selector,
                        },
                        Some(Outcome::Mprobed { probe, msg }),
                    ),
                    false => (
                        Event::Probe {
                            probe,
                            comm,
                            selector,
                        },
                        Some(Outcome::Probed { probe, msg }),
                    ),
                }
            }
        };
        let Some([Lines(_, events), Lines(_, results)]) = &mut self.files else {
            return;
        };
        let has_time = matches!(event, Event::Post { .. } | Event::Arrive { .. });
        // Writing to a vector never fails.
        let _ = match has_time {
            true => writeln!(events, "{event},t={}", self.begin.elapsed().as_nanos()),
            false => writeln!(events, "{event}"),
        };
        if let Some(outcome) = outcome {
            let _ = writeln!(results, "{outcome}");
        }
        if events.len() >= WAITING_MAX {
            self.sync();
        }
    }

    /// Whether lines have waited for long enough.
    pub(super) fn is_behind(&self, now: impl FnOnce() -> Instant) -> bool {
        let waits = self
            .files
            .iter()
            .flatten()
            .any(|Lines(_, lines)| !lines.is_empty());
        waits && now().duration_since(self.synced) >= SYNC_EVERY
    }

    /// Writes the buffered lines to the files.
    pub(super) fn sync(&mut self) {
        let Some(files) = &mut self.files else { return };
        let written = files.iter_mut().try_for_each(|Lines(file, lines)| {
            file.write_all(lines)?;
            lines.clear();
            Ok(())
        });
        self.synced = Instant::now();
        self.check(written);
    }

    /// Begins the next pair of files.
    pub(super) fn begin_segment(&mut self, protocol: u64) {
        self.segment += 1;
        let opened = self.open_segment(protocol);
        self.check(opened);
    }

    fn check(&mut self, result: std::io::Result<()>) {
        if let Err(error) = result {
            crate::report(&format!("the order log {} ends: {error}", self.name));
            self.files = None;
        }
    }

    /// Writes the meaning of new communicators and peers.
    pub(super) fn explain(&mut self, legend: &Legend) {
        let Some([Lines(_, events), _]) = &mut self.files else {
            return;
        };
        let (comms, peers) = self.explained;
        for (comm, (context, what)) in legend.communicators.iter().enumerate().skip(comms) {
            let _ = writeln!(
                events,
                "# communicator {comm}: high bits {context:09x}, {what}"
            );
        }
        for (peer, identity) in legend.peers.iter().enumerate().skip(peers) {
            let _ = writeln!(events, "# peer {peer}: {:08x}", *identity as u32);
        }
        self.explained = (legend.communicators.len(), legend.peers.len());
    }

    /// Ends the files with the contents of the queues.
    pub(super) fn end_segment(&mut self, posts: &[(u64, usize)], messages: &[(u64, usize)]) {
        if let Some([_, Lines(_, results)]) = &mut self.files {
            for &(recv, _) in posts {
                let _ = writeln!(results, "{}", Outcome::Posted { recv: RecvId(recv) });
            }
            for &(msg, _) in messages {
                let _ = writeln!(results, "{}", Outcome::Unexpected { msg: MsgId(msg) });
            }
        }
        if let Some([Lines(_, events), _]) = &mut self.files {
            let _ = writeln!(events, "# end");
        }
        self.sync();
        self.files = None;
    }
}

/// The beginning of the names of an endpoint's files: its rank, if the launcher sets it, and part
/// of its identity.
pub(crate) fn file_name(address: &Address) -> String {
    let rank = first_in_environment(["PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK"]);
    let who = rank.map_or_else(
        || format!("process-{}", std::process::id()),
        |rank| format!("rank-{rank}"),
    );
    format!("{who}-{:08x}", address.identity as u32)
}

/// The first of these numbers that the launcher sets.
pub(super) fn first_in_environment<const N: usize>(names: [&str; N]) -> Option<u32> {
    names
        .iter()
        .find_map(|name| std::env::var(name).ok()?.parse().ok())
}

#[cfg(test)]
mod tests {
    use dpamatch_vocabulary::{CommId, Envelope, Rank, Selector, SourceSel, Tag, TagSel};

    use super::*;
    use crate::tests::Folder;

    /// Both files of two segments, without their times. Lines wait until there are many.
    #[test]
    fn a_log_has_every_kind_of_line() {
        let folder = Folder::new("lines");
        let address = Address::fresh().expect("an address");
        let mut log = Log::open(&folder.0, &address).expect("a folder");
        let tag = |number| Tag::new(number).expect("a small tag");
        let (comm, selector) = (CommId(3), Selector::new(SourceSel::Any, tag(6)));
        let criteria = Criteria {
            bits: 0,
            ignore: 0,
            comm,
            selector,
        };
        let all = Criteria {
            selector: Selector::new(Rank::default(), TagSel::Any),
            ..criteria
        };
        let envelope = Envelope {
            comm,
            source: Rank::new(7).expect("a small rank"),
            tag: tag(6),
        };
        let header = MessageHeader { bits: 0, envelope };
        let mut legend = Legend {
            communicators: vec![(12, "user 6".into())],
            peers: vec![0x77],
        };
        log.explain(&legend);
        log.write(Entry::Arrived {
            msg: 1,
            header: &header,
            bytes: 44,
            matched: None,
        });
        log.write(Entry::Probe {
            criteria: &all,
            take: false,
            found: Some(1),
        });
        log.write(Entry::Posted {
            recv: 2,
            criteria: &criteria,
            size: 55,
            matched: Some(1),
        });
        legend.communicators.push((13, "collective 6".into()));
        legend.peers.push(1 << 40 | 0x88);
        log.explain(&legend);
        log.write(Entry::Posted {
            recv: 4,
            criteria: &all,
            size: 66,
            matched: None,
        });
        log.write(Entry::Arrived {
            msg: 3,
            header: &header,
            bytes: 0,
            matched: Some(4),
        });
        log.write(Entry::Probe {
            criteria: &criteria,
            take: true,
            found: None,
        });
        log.write(Entry::Cancelled { recv: 6 });
        log.end_segment(&[(8, 0), (7, 0)], &[(10, 0), (9, 0)]);
        log.begin_segment(0xc0);
        log.explain(&legend);
        let path = |kind| folder.0.join(format!("{}.{kind}", file_name(&address)));
        let read = |kind| std::fs::read_to_string(path(kind)).expect("text");
        let waiting = |log: &Log| {
            log.files
                .as_ref()
                .map_or(0, |[Lines(_, lines), _]| lines.len())
        };
        let mut cancels = 0;
        while waiting(&log) > 0 {
            assert!(waiting(&log) < WAITING_MAX && read("1.events").is_empty());
            log.write(Entry::Cancelled { recv: 5 });
            cancels += 1;
        }
        let shown = ["0.events", "0.results", "1.events"].map(read).join("-\n");
        let timeless = |line: &str| {
            let time = line.split_once(",t=");
            match time.or(line.strip_prefix("# begin ").map(|time| ("# begin", time))) {
                Some((before, time)) => format!("{before} TIME {}\n", time.parse::<u128>().is_ok()),
                None => format!("{line}\n"),
            }
        };
        let shown = shown.replace("cancel,5\n".repeat(cancels).as_str(), "MANY CANCELS\n");
        let shown: String = shown.lines().map(timeless).collect();
        assert_eq!(shown, include_str!("log.txt"));
    }

    /// Lines are written 100 ms after the last time, and only if there are some.
    #[test]
    fn lines_wait_for_a_tenth_of_a_second() {
        let folder = Folder::new("waits");
        let address = Address::fresh().expect("an address");
        let mut log = Log::open(&folder.0, &address).expect("a folder");
        log.sync();
        let behind = |log: &Log, millis| {
            let now = log.synced + Duration::from_millis(millis);
            log.is_behind(|| now)
        };
        assert!(!behind(&log, 1_000), "nothing waits");
        log.write(Entry::Cancelled { recv: 6 });
        let all = [0, 99, 100, 101].map(|millis| behind(&log, millis));
        assert_eq!(all, [false, false, true, true]);
        log.sync();
        assert!(!behind(&log, 1_000));
    }
}
