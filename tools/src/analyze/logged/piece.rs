//! The files of order logs: pieces, and their processes.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use dpamatch::stream::{Event, Reader};

use super::LogError;
use dpamatch_traces::regular;

pub(super) struct Piece {
    pub(super) path: PathBuf,
    pub(super) events: Vec<(Event, Option<u64>)>,
    pub(super) matched: HashMap<u64, u64>,
    pub(super) taken: HashMap<u64, u64>,
    pub(super) probed: HashMap<u64, u64>,
    pub(super) cancelled: HashSet<u64>,
    pub(super) begin_unix_ns: u64,
    pub(super) protocol: u64,
    /// High bits and description of each communicator.
    pub(super) comms: Vec<(u64, String)>,
    pub(super) peers: Vec<String>,
    /// It was written to its end.
    pub(super) whole: bool,
}

/// Splits `NAME.PIECE.events`.
fn name_and_number(path: &Path) -> Option<(String, u32)> {
    let stem = path.file_name()?.to_str()?.strip_suffix(".events")?;
    match stem.rsplit_once('.') {
        Some((name, number)) => match number.parse() {
            Ok(number) => Some((name.to_owned(), number)),
            Err(_) => Some((stem.to_owned(), 0)),
        },
        None => Some((stem.to_owned(), 0)),
    }
}

fn io_error(path: &Path) -> impl FnOnce(io::Error) -> LogError + '_ {
    |error| LogError::Io {
        path: path.to_owned(),
        error,
    }
}

/// The text without a last line that was cut.
fn whole_lines(text: &str) -> &str {
    &text[..text.rfind('\n').map_or(0, |end| end + 1)]
}

impl Piece {
    fn read(path: PathBuf) -> Result<Self, LogError> {
        let bad = |what: String| LogError::Content {
            path: path.clone(),
            what,
        };
        let text = regular::read_to_string(&path).map_err(io_error(&path))?;
        let text = whole_lines(&text);
        let mut piece = Self {
            path: path.clone(),
            events: Vec::new(),
            matched: HashMap::new(),
            taken: HashMap::new(),
            probed: HashMap::new(),
            cancelled: HashSet::new(),
            begin_unix_ns: 0,
            protocol: 0,
            comms: Vec::new(),
            peers: Vec::new(),
            whole: false,
        };
        let mut lines = text
            .lines()
            .filter(|line| match line.trim_start().strip_prefix('#') {
                Some(comment) => {
                    piece.comment(comment.trim());
                    false
                }
                None => !line.trim().is_empty(),
            });
        let mut events = Vec::new();
        for event in Reader::new(text.as_bytes()) {
            let event = event.map_err(|error| bad(error.to_string()))?;
            let time = lines
                .next()
                .and_then(|line| line.rsplit_once(",t=")?.1.parse().ok());
            events.push((event, time));
        }
        lines.for_each(drop);
        piece.events = events;
        piece.read_results(&path.with_extension("results"))?;
        Ok(piece)
    }

    fn comment(&mut self, comment: &str) {
        let number = |text: &str| u64::from_str_radix(text, 16).ok();
        if comment == "end" {
            self.whole = true;
        } else if let Some(begin) = comment.strip_prefix("begin ") {
            self.begin_unix_ns = begin.parse().unwrap_or(0);
        } else if let Some(bits) = comment.strip_prefix("protocol bits ") {
            self.protocol = number(bits).unwrap_or(0);
        } else if let Some((_, rest)) = comment
            .strip_prefix("communicator ")
            .and_then(|comment| comment.split_once(": high bits "))
        {
            let (bits, what) = rest.split_once(", ").unwrap_or((rest, ""));
            self.comms
                .push((number(bits).unwrap_or(0), what.to_owned()));
        } else if let Some((_, identity)) = comment
            .strip_prefix("peer ")
            .and_then(|comment| comment.split_once(": "))
        {
            self.peers.push(identity.to_owned());
        }
    }

    fn read_results(&mut self, path: &Path) -> Result<(), LogError> {
        let text = regular::read_to_string(path).map_err(io_error(path))?;
        for line in whole_lines(&text).lines() {
            let fields: Vec<_> = line.split(',').collect();
            let number = |text: &str| text.parse::<u64>().ok();
            let known = match fields.as_slice() {
                ["matched", recv, msg] => number(recv).zip(number(msg)).map(|(recv, msg)| {
                    self.matched.insert(recv, msg);
                    self.taken.insert(msg, recv);
                }),
                ["mprobed", _, "none"] => Some(()),
                ["mprobed", probe, msg] => number(probe).zip(number(msg)).map(|(probe, msg)| {
                    self.probed.insert(probe, msg);
                }),
                ["cancelled", recv] => number(recv).map(|recv| {
                    self.cancelled.insert(recv);
                }),
                ["probed" | "too-late" | "posted" | "unexpected", ..] | [""] => Some(()),
                _ => None,
            };
            known.ok_or_else(|| LogError::Content {
                path: path.to_owned(),
                what: format!("no result: {line}"),
            })?;
        }
        Ok(())
    }
}

pub(super) struct Process {
    pub(super) rank: u32,
    pub(super) identity: String,
    pub(super) pieces: Vec<Piece>,
}

/// A run has an entry for each rank up to the highest.
const RANK_MAX: u32 = (1 << 24) - 1;

pub(super) fn processes(folder: &Path) -> Result<Vec<Process>, LogError> {
    let mut files: BTreeMap<String, BTreeMap<u32, PathBuf>> = BTreeMap::new();
    for entry in fs::read_dir(folder).map_err(io_error(folder))? {
        let path = entry.map_err(io_error(folder))?.path();
        if let Some((name, number)) = name_and_number(&path) {
            files.entry(name).or_default().insert(number, path);
        }
    }
    let mut all = Vec::new();
    for (name, pieces) in files {
        let told = name
            .strip_prefix("rank-")
            .and_then(|rest| rest.split('-').next()?.parse().ok());
        if told.is_some_and(|rank: u32| rank > RANK_MAX) {
            let what = format!("the rank is above {RANK_MAX}");
            return Err(LogError::Content {
                path: folder.join(name),
                what,
            });
        }
        let identity = name.rsplit('-').next().unwrap_or(&name).to_owned();
        let pieces: Result<Vec<_>, _> = pieces.into_values().map(Piece::read).collect();
        let pieces = pieces?;
        // An endpoint that was never used.
        if pieces.iter().any(|piece| !piece.events.is_empty()) {
            all.push((
                told,
                Process {
                    rank: 0,
                    identity,
                    pieces,
                },
            ));
        }
    }
    all.sort_by(|(a, one), (b, other)| {
        let rank = |told: &Option<u32>| told.unwrap_or(u32::MAX);
        (rank(a), &one.identity).cmp(&(rank(b), &other.identity))
    });
    let told: HashSet<u32> = all.iter().filter_map(|(told, _)| *told).collect();
    // Several endpoints of one rank, or unknown ranks: numbered in order of appearance.
    let own_numbers = told.len() < all.len();
    let number = |(at, (told, process)): (usize, (Option<u32>, Process))| {
        let rank = told.filter(|_| !own_numbers).unwrap_or(at as u32);
        Process { rank, ..process }
    };
    Ok(all.into_iter().enumerate().map(number).collect())
}
