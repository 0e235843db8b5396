//! A run from order logs: what the matching of every process did, in its own order.
//!
//! A log is an event stream with the results beside it, as the libfabric provider writes them, in
//! one or several pieces: a piece that follows another begins with what was left in the queues.
//! Comments at the end of a piece tell what communicators and peers are. So the order is known, and
//! nothing has to be made up; but sends, waits and the calls of the program are not in it.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use dpamatch_vocabulary::{Selector, SourceSel, TagSel};

use super::communicators::Communicators;
use super::inbound::{Inbound, Lost};
use super::order::{Happening, Load, Order};
use super::program::{ANY, Action, End, Kind, LocalComm, Program, Step, Transfer, UNKNOWN};
use super::run::Run;
use super::truth::Truth;
use dpamatch::stream::{Event, Reader};

/// Most communicators of a process: a transfer names them by 16 bits.
const COMMS_MAX: usize = 1 << 16;
/// Most receives, probes and messages of a process each: an order names them by 30 bits.
const EVENTS_MAX: usize = 1 << 30;

/// Why there is no run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    /// A file cannot be read.
    #[error("{}: {error}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// What the system says.
        #[source]
        error: io::Error,
    },
    /// A file is not what it should be.
    #[error("{}: {what}", path.display())]
    Content {
        /// Which.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
}

/// Whether the folder has order logs in it.
pub fn is_log(folder: &Path) -> bool {
    fs::read_dir(folder).is_ok_and(|entries| {
        entries.flatten().any(|entry| entry.path().extension().is_some_and(|ext| ext == "events"))
    })
}

/// One piece of a log, and the file that it is in.
struct Piece {
    path: PathBuf,
    events: Vec<(Event, Option<u64>)>,
    /// The message of each receive that got one.
    matched: HashMap<u64, u64>,
    /// The receive of each message that was received.
    taken: HashMap<u64, u64>,
    /// The message that each matched probe took.
    probed: HashMap<u64, u64>,
    cancelled: HashSet<u64>,
    begin_unix_ns: u64,
    protocol: u64,
    /// High bits of each communicator, and what it is.
    comms: Vec<(u64, String)>,
    /// Identities of the peers.
    peers: Vec<String>,
}

/// `NAME.PIECE.events` taken apart.
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
    |error| LogError::Io { path: path.to_owned(), error }
}

impl Piece {
    fn read(path: PathBuf) -> Result<Self, LogError> {
        let bad = |what: String| LogError::Content { path: path.clone(), what };
        let text = fs::read_to_string(&path).map_err(io_error(&path))?;
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
        };
        let mut lines = text.lines().filter(|line| match line.trim_start().strip_prefix('#') {
            Some(comment) => {
                piece.comment(comment.trim());
                false
            }
            None => !line.trim().is_empty(),
        });
        let mut events = Vec::new();
        for event in Reader::new(text.as_bytes()) {
            let event = event.map_err(|error| bad(error.to_string()))?;
            let time = lines.next().and_then(|line| line.rsplit_once(",t=")?.1.parse().ok());
            events.push((event, time));
        }
        // Comments behind the last event.
        lines.for_each(drop);
        piece.events = events;
        piece.read_results(&path.with_extension("results"))?;
        Ok(piece)
    }

    fn comment(&mut self, comment: &str) {
        let number = |text: &str| u64::from_str_radix(text, 16).ok();
        if let Some(begin) = comment.strip_prefix("begin ") {
            self.begin_unix_ns = begin.parse().unwrap_or(0);
        } else if let Some(bits) = comment.strip_prefix("protocol bits ") {
            self.protocol = number(bits).unwrap_or(0);
        } else if let Some((_, rest)) = comment
            .strip_prefix("communicator ")
            .and_then(|comment| comment.split_once(": high bits "))
        {
            let (bits, what) = rest.split_once(", ").unwrap_or((rest, ""));
            self.comms.push((number(bits).unwrap_or(0), what.to_owned()));
        } else if let Some((_, identity)) =
            comment.strip_prefix("peer ").and_then(|comment| comment.split_once(": "))
        {
            self.peers.push(identity.to_owned());
        }
    }

    fn read_results(&mut self, path: &Path) -> Result<(), LogError> {
        let file = fs::File::open(path).map_err(io_error(path))?;
        for line in BufReader::new(file).lines() {
            let line = line.map_err(io_error(path))?;
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

/// One process: its pieces and who it is.
struct Process {
    rank: u32,
    identity: String,
    pieces: Vec<Piece>,
}

fn processes(folder: &Path) -> Result<Vec<Process>, LogError> {
    let mut files: BTreeMap<String, BTreeMap<u32, PathBuf>> = BTreeMap::new();
    for entry in fs::read_dir(folder).map_err(io_error(folder))? {
        let path = entry.map_err(io_error(folder))?.path();
        if let Some((name, number)) = name_and_number(&path) {
            files.entry(name).or_default().insert(number, path);
        }
    }
    let mut all = Vec::new();
    for (name, pieces) in files {
        let told = name.strip_prefix("rank-").and_then(|rest| rest.split('-').next()?.parse().ok());
        let identity = name.rsplit('-').next().unwrap_or(&name).to_owned();
        let pieces: Result<Vec<_>, _> = pieces.into_values().map(Piece::read).collect();
        let pieces = pieces?;
        // An endpoint that was never used for anything.
        if pieces.iter().any(|piece| !piece.events.is_empty()) {
            all.push((told, Process { rank: 0, identity, pieces }));
        }
    }
    all.sort_by(|(a, one), (b, other)| {
        let rank = |told: &Option<u32>| told.unwrap_or(u32::MAX);
        (rank(a), &one.identity).cmp(&(rank(b), &other.identity))
    });
    let told: HashSet<u32> = all.iter().filter_map(|(told, _)| *told).collect();
    // Several endpoints of one rank, or ranks that nobody told: numbered as they come.
    let own_numbers = told.len() < all.len();
    let number = |(at, (told, process)): (usize, (Option<u32>, Process))| {
        let rank = told.filter(|_| !own_numbers).unwrap_or(at as u32);
        Process { rank, ..process }
    };
    Ok(all.into_iter().enumerate().map(number).collect())
}

/// The communicators of all processes: those with the same bits are one.
#[derive(Default)]
struct Comms {
    numbers: HashMap<u64, u32>,
    names: Vec<String>,
}

impl Comms {
    fn number(&mut self, bits: u64, what: &str) -> u32 {
        let names = &mut self.names;
        let number = *self.numbers.entry(bits).or_insert_with(|| {
            names.push(String::new());
            names.len() as u32 - 1
        });
        let name = &mut names[number as usize];
        // Before the bits that receives ignore are known a log cannot tell.
        if !what.is_empty() && (name.is_empty() || name.starts_with("unknown")) {
            *name = what.to_owned();
        }
        number
    }
}

/// One process's program while it is read.
struct Collector<'a> {
    /// Rank of a peer by its identity.
    ranks: &'a HashMap<String, u32>,
    strangers: u32,
    program: Program,
    inbound: Vec<Inbound>,
    order: Order,
    truth: Truth,
    /// Index into the program's communicators by number in the run.
    local: HashMap<u32, u16>,
    of_local: Vec<u32>,
    receives: HashMap<u64, u32>,
    messages: HashMap<u64, u32>,
    begin_unix_ns: u64,
}

impl Collector<'_> {
    fn piece(&mut self, piece: &Piece, protocol: u64, comms: &mut Comms) -> Result<(), LogError> {
        let bad =
            |what: &str| LogError::Content { path: piece.path.clone(), what: what.to_owned() };
        let numbers: Vec<u32> = piece
            .comms
            .iter()
            .map(|(bits, what)| comms.number(bits & !(protocol >> 31), what))
            .collect();
        let mut time = 0;
        for &(event, told) in &piece.events {
            time = told
                .map_or(time, |told| told + piece.begin_unix_ns.saturating_sub(self.begin_unix_ns));
            let comm = match event {
                Event::Post { comm, .. }
                | Event::Probe { comm, .. }
                | Event::Mprobe { comm, .. } => comm.0,
                Event::Arrive { envelope, .. } => envelope.comm.0,
                Event::Cancel { .. } => 0,
            };
            // A log that was cut off has no comments.
            let comm = match numbers.get(comm as usize) {
                Some(&number) => number,
                None => comms.number(u64::from(comm), ""),
            };
            let local = self.local(comm).ok_or_else(|| bad("too many communicators"))?;
            if self.program.transfers.len().max(self.inbound.len()) >= EVENTS_MAX {
                return Err(bad("too many events"));
            }
            self.event(event, time, comm, local, piece);
        }
        Ok(())
    }

    fn local(&mut self, comm: u32) -> Option<u16> {
        if let Some(&local) = self.local.get(&comm) {
            return Some(local);
        }
        let local =
            u16::try_from(self.of_local.len()).ok().filter(|&at| usize::from(at) < COMMS_MAX)?;
        self.local.insert(comm, local);
        self.of_local.push(comm);
        self.program.comms.push(LocalComm { number: comm, own_rank: None, size: None, made: true });
        Some(local)
    }

    fn event(&mut self, event: Event, time: u64, comm: u32, local: u16, piece: &Piece) {
        let happening = match event {
            Event::Post { recv, selector, size, .. } => {
                if self.receives.contains_key(&recv.0) {
                    // Told again by the next piece.
                    return;
                }
                let at = self.transfer(Kind::Recv, selector, local, size, piece);
                self.receives.insert(recv.0, at);
                self.step(time, Action::Begin(at));
                let matched = piece.matched.get(&recv.0);
                if let Some(&message) = matched.and_then(|message| self.messages.get(message)) {
                    self.order.push_at(Happening::Post(at), time);
                    return self.pair(at, message, time);
                }
                Happening::Post(at)
            }
            Event::Arrive { msg, envelope, bytes, .. } => {
                if self.messages.contains_key(&msg.0) {
                    return;
                }
                let sender = piece.peers.get(envelope.source.get() as usize);
                let sender = sender.and_then(|identity| self.ranks.get(identity)).copied();
                let source = sender.unwrap_or(self.strangers + envelope.source.get());
                let message = self.inbound.len() as u32;
                self.messages.insert(msg.0, message);
                self.inbound.push(Inbound {
                    sender: sender.unwrap_or(UNKNOWN),
                    op: UNKNOWN,
                    comm,
                    source,
                    tag: envelope.tag.get(),
                    bytes: short(bytes),
                    receive: UNKNOWN,
                });
                self.order.push_at(Happening::Arrive(message), time);
                let receive = piece.taken.get(&msg.0).and_then(|recv| self.receives.get(recv));
                if let Some(&receive) = receive {
                    self.pair(receive, message, time);
                }
                return;
            }
            Event::Cancel { recv } => match self.receives.get(&recv.0) {
                Some(&at) => {
                    if piece.cancelled.contains(&recv.0) {
                        self.program.transfers[at as usize].end = End::Cancelled;
                    }
                    self.step(time, Action::Cancel(at));
                    Happening::Cancel(at)
                }
                None => return,
            },
            Event::Probe { selector, .. } => {
                Happening::Probe(self.transfer(Kind::Probe, selector, local, None, piece))
            }
            Event::Mprobe { probe, selector, .. } => {
                // A probe that takes a message is a receive that is posted for it.
                let found = piece.probed.get(&probe.0);
                match found.and_then(|message| self.messages.get(message)).copied() {
                    Some(message) => {
                        let at = self.transfer(Kind::Recv, selector, local, None, piece);
                        self.step(time, Action::Begin(at));
                        self.order.push_at(Happening::Post(at), time);
                        return self.pair(at, message, time);
                    }
                    None => {
                        Happening::Probe(self.transfer(Kind::Probe, selector, local, None, piece))
                    }
                }
            }
        };
        self.order.push_at(happening, time);
    }

    fn transfer(
        &mut self,
        kind: Kind,
        selector: Selector,
        comm: u16,
        size: Option<u64>,
        piece: &Piece,
    ) -> u32 {
        let peer = match selector.source {
            SourceSel::Any => ANY,
            SourceSel::Rank(peer) => {
                let identity = piece.peers.get(peer.get() as usize);
                let rank = identity.and_then(|identity| self.ranks.get(identity)).copied();
                rank.unwrap_or(self.strangers + peer.get()) as i32
            }
        };
        let call = self.program.transfers.len() as u32;
        let transfer = transfer(kind, selector, comm, call, short(size));
        self.program.transfers.push(Transfer { peer, ..transfer });
        self.program.transfers.len() as u32 - 1
    }

    /// The receive got the message.
    fn pair(&mut self, receive: u32, message: u32, time: u64) {
        let inbound = &mut self.inbound[message as usize];
        inbound.receive = receive;
        let transfer = &mut self.program.transfers[receive as usize];
        transfer.end = End::Known;
        (transfer.got_source, transfer.got_tag) = (inbound.source as i32, inbound.tag as i32);
        transfer.got_bytes = inbound.bytes.min(transfer.bytes);
        self.truth.pairs += 1;
        let first = self.program.finished.len() as u32;
        self.program.finished.push(receive);
        self.step(time, Action::Finish { first, count: 1 });
    }

    fn step(&mut self, time: u64, action: Action) {
        self.program.steps.push(Step { at_ns: time as i64, gap_ns: 0, action });
    }
}

/// A transfer of which nothing is known but this; its peer is set by the caller.
fn transfer(kind: Kind, selector: Selector, comm: u16, call: u32, bytes: u32) -> Transfer {
    Transfer {
        peer: ANY,
        tag: match selector.tag {
            TagSel::Any => ANY,
            TagSel::Tag(tag) => tag.get() as i32,
        },
        bytes,
        got_source: ANY,
        got_tag: ANY,
        got_bytes: UNKNOWN,
        call,
        comm,
        function: u16::MAX,
        kind,
        end: End::Pending,
        blocking: false,
        synchronous: false,
        unsure_null: false,
    }
}

/// Bytes as the arrays have them.
fn short(bytes: Option<u64>) -> u32 {
    bytes.and_then(|bytes| u32::try_from(bytes).ok()).unwrap_or(UNKNOWN)
}

/// What the receivers' logs tell of each process's sends: how many, to whom, how long; not when.
fn add_sends(run: &mut Run, of_local: &mut [Vec<u32>]) {
    let index: HashMap<u32, usize> =
        run.programs.iter().enumerate().map(|(at, program)| (program.rank, at)).collect();
    for (receiver, inbound) in run.inbound.iter().enumerate() {
        let to = run.programs[receiver].rank;
        for message in inbound {
            let Some(&at) = index.get(&message.sender) else { continue };
            let (program, comms) = (&mut run.programs[at], &mut of_local[at]);
            let local = comms.iter().position(|&comm| comm == message.comm).unwrap_or_else(|| {
                let (number, made) = (message.comm, true);
                program.comms.push(LocalComm { number, own_rank: None, size: None, made });
                comms.push(message.comm);
                comms.len() - 1
            });
            // Beyond that many communicators a process has no logged receives either.
            let Ok(comm) = u16::try_from(local) else { continue };
            let selector = Selector { source: SourceSel::Any, tag: TagSel::Any };
            let send = transfer(Kind::Send, selector, comm, UNKNOWN, message.bytes);
            program.transfers.push(Transfer {
                peer: to as i32,
                tag: message.tag as i32,
                end: End::Ignored,
                ..send
            });
        }
    }
}

impl Run {
    /// Reads the order logs of a folder, each process from its `.events` and `.results`.
    ///
    /// # Errors
    /// [`LogError`].
    ///
    /// # Complexity
    /// Linear in the events.
    pub fn of_logs(folder: &Path) -> Result<Self, LogError> {
        let processes = processes(folder)?;
        if processes.is_empty() {
            let what = "no order log with an event".to_owned();
            return Err(LogError::Content { path: folder.to_owned(), what });
        }
        let ranks: HashMap<String, u32> =
            processes.iter().map(|process| (process.identity.clone(), process.rank)).collect();
        let count = processes.iter().map(|process| process.rank + 1).max().unwrap_or(0);
        let pieces = || processes.iter().flat_map(|process| &process.pieces);
        let begin_unix_ns =
            pieces().map(|piece| piece.begin_unix_ns).filter(|&begin| begin > 0).min().unwrap_or(0);
        let mut comms = Comms::default();
        let mut run = Self {
            processes: count,
            processes_guessed: false,
            programs: Vec::new(),
            comms: Communicators::known(Vec::new(), Vec::new(), [].into()),
            inbound: Vec::new(),
            truth: Vec::new(),
            lost: Lost::default(),
            recorded: None,
        };
        let (mut orders, mut of_local) = (Vec::new(), Vec::new());
        for process in &processes {
            let mut collector = Collector {
                ranks: &ranks,
                strangers: count,
                program: Program { rank: process.rank, ..Program::default() },
                inbound: Vec::new(),
                order: Order::default(),
                truth: Truth::default(),
                local: HashMap::new(),
                of_local: Vec::new(),
                receives: HashMap::new(),
                messages: HashMap::new(),
                begin_unix_ns,
            };
            let protocol = process.pieces.iter().map(|piece| piece.protocol).max().unwrap_or(0);
            for piece in &process.pieces {
                collector.piece(piece, protocol, &mut comms)?;
            }
            let left = collector.inbound.iter().filter(|message| message.receive == UNKNOWN);
            collector.truth.left = left.count() as u64;
            run.programs.push(collector.program);
            run.inbound.push(collector.inbound);
            run.truth.push(collector.truth);
            orders.push(collector.order);
            of_local.push(collector.of_local);
        }
        add_sends(&mut run, &mut of_local);
        run.comms = Communicators::known(comms.names, of_local, (0..count).collect());
        run.recorded = Some(orders);
        Ok(run)
    }

    /// When each rank's log ends if matching costs so much more than nothing, in nanoseconds. A log
    /// does not tell when the program waited: it is taken to have waited once for all messages that
    /// came to posted receives between one post and the next.
    pub(super) fn logged_ends(&self, orders: &[Order], load: &Load) -> Vec<u64> {
        let end = |(at, order): (usize, &Order)| {
            let view = self.view(at);
            let (mut receives, mut waits, mut waiting) = (0_u64, 0_u64, false);
            let mut posted = HashSet::new();
            for happening in order.iter() {
                match happening {
                    Happening::Post(receive) => {
                        posted.insert(receive);
                        receives += u64::from(load.counts(view.comm(receive)));
                        waiting = false;
                    }
                    Happening::Arrive(message) => {
                        let inbound = &view.inbound[message as usize];
                        let expected = posted.remove(&inbound.receive);
                        if expected && load.counts(inbound.comm) && !waiting {
                            (waits, waiting) = (waits + 1, true);
                        }
                    }
                    _ => {}
                }
            }
            let last = order.len().checked_sub(1).and_then(|last| order.time_ns(last));
            let span = last.unwrap_or(0) - order.time_ns(0).unwrap_or(0);
            let receive_ns = load.receive_ns.get(at).copied().unwrap_or(0);
            span + receives * receive_ns + waits * load.delay_ns
        };
        orders.iter().enumerate().map(end).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dpamatch::engine::Oracle;
    use tempfile::TempDir;

    fn folder(files: &[(&str, &str)]) -> TempDir {
        let folder = TempDir::new().expect("a folder");
        for (name, text) in files {
            fs::write(folder.path().join(name), text).expect("a file");
        }
        folder
    }

    /// Two pieces of rank 1: what is left of the first is told again by the second. A matched probe
    /// takes a message, another one finds none.
    const PIECES: &[(&str, &str)] = &[
        (
            "rank-1-bb.0.events",
            "post,0,0,0,7,size=8,t=10\npost,1,0,*,*,size=8,t=20\narrive,0,0,0,7,bytes=4,t=30\n\
             # begin 1000\n# communicator 0: high bits 000000006, unknown 6\n# peer 0: aa\n",
        ),
        ("rank-1-bb.0.results", "matched,0,0\nposted,1\n"),
        (
            "rank-1-bb.1.events",
            "post,1,1,*,*,size=8,t=20\nmprobe,0,1,*,5\narrive,1,1,0,5,bytes=4,t=40\n\
             arrive,2,1,0,5,bytes=2,t=50\nmprobe,1,1,*,5\npost,9,1,0,5,t=60\ncancel,9\n\
             # begin 1000\n# protocol bits 0000000080000000\n\
             # communicator 0: high bits 000000009, user 4\n\
             # communicator 1: high bits 000000006, user 3\n# peer 0: aa\n",
        ),
        ("rank-1-bb.1.results", "mprobed,0,none\nmatched,1,1\nmprobed,1,2\ncancelled,9\n"),
        ("rank-0-aa.0.events", "post,0,0,0,1,t=5\n# begin 900\n# peer 0: bb\n"),
        ("rank-0-aa.0.results", "posted,0\n"),
    ];

    #[test]
    fn pieces_become_one_order() {
        let folder = folder(PIECES);
        assert!(is_log(folder.path()));
        let run = Run::of_logs(folder.path()).expect("a run");
        let ranks: Vec<u32> = run.programs.iter().map(|program| program.rank).collect();
        assert_eq!(ranks, [0, 1]);
        let order = &run.recorded.as_ref().expect("orders")[1];
        let expected = [
            Happening::Post(0),
            Happening::Post(1),
            Happening::Arrive(0),
            Happening::Probe(2),
            Happening::Arrive(1),
            Happening::Arrive(2),
            // The matched probe that took a message.
            Happening::Post(3),
            Happening::Post(4),
            Happening::Cancel(4),
        ];
        assert_eq!(order.iter().collect::<Vec<_>>(), expected);
        assert_eq!((order.time_ns(0), order.time_ns(8)), (Some(110), Some(160)));
        let receives = run.view(1).run(&mut Oracle::new(), order).expect("an engine");
        assert_eq!(receives, [0, 1, 3]);
        let recorded: Vec<u32> = run.inbound[1].iter().map(|message| message.receive).collect();
        assert_eq!(recorded, receives);
        assert_eq!(run.programs[1].transfers[4].end, End::Cancelled);
        // The peer is rank 0, which therefore sent three messages.
        assert!(run.inbound[1].iter().all(|message| (message.sender, message.source) == (0, 0)));
        let sends = run.programs[0].transfers.iter().filter(|it| it.kind == Kind::Send);
        assert_eq!(sends.count(), 3);
        // The bits are those of one communicator, whatever its number in the piece.
        let comms: Vec<u32> = run.inbound[1].iter().map(|message| message.comm).collect();
        assert_eq!(comms[0], comms[1]);
        let comm = &run.comms.all[comms[0] as usize];
        assert_eq!((comm.name.as_str(), comm.number), ("user", 3));
    }

    #[test]
    fn a_wait_is_one_for_all_that_came_to_posted_receives() {
        let log = [
            (
                "rank-0-a.0.events",
                "post,0,0,1,1,t=0\npost,1,0,1,1,t=0\narrive,0,0,1,1,t=10\n\
              arrive,1,0,1,1,t=20\narrive,2,0,1,2,t=30\npost,2,0,1,2,t=40\npost,3,0,1,3,t=50\n\
              arrive,3,0,1,3,t=100\n# begin 1\n",
            ),
            ("rank-0-a.0.results", "matched,0,0\nmatched,1,1\nmatched,2,2\nmatched,3,3\n"),
        ];
        let run = Run::of_logs(folder(&log).path()).expect("a run");
        let load = Load { receive_ns: vec![1000], delay_ns: 10_000, comm: None };
        assert_eq!(run.ends(super::super::order::Network::default(), load), [100 + 4000 + 20_000]);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let (events, results) = (("rank-0-a.0.events", "post,0,0,1,1\n"), "rank-0-a.0.results");
        let cases: [(&[(&str, &str)], &str); 4] = [
            (&[events], "rank-0-a.0.results: No such file"),
            (&[events, (results, "matched,0\n")], "no result: matched,0"),
            (&[("rank-0-a.0.events", "post,0\n"), (results, "")], "line 1"),
            (&[("rank-0-a.0.events", ""), (results, "")], "no order log with an event"),
        ];
        for (files, words) in cases {
            let error = Run::of_logs(folder(files).path()).expect_err(words).to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}
