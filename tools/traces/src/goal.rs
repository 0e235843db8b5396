//! GOAL texts, the input of the simulator LogGOPSim (Hoefler, Schneider, Lumsdaine, HPDC 2010): for
//! each rank sends, receives and computations, and which of them must come before which.
//!
//! The grammar is that of its `txt2bin`: `num_ranks N`, then `rank R {` .. `}` with lines such as
//! `l1: send 8b to 3 tag 5`, `l2: recv 8b from -1 tag -1`, `l3: calc 700`, `l2 requires l1` and
//! `l2 irequires l1`. Sends and receives are read as nonblocking calls. A `requires` becomes a wait
//! for the operation before, and an `irequires` an order of calls. What no dependence orders is
//! begun as early as possible, in the order of the text. At its end a rank waits for all that is
//! left. Computations are nanoseconds, and the only time that passes. `MPI_Init` and `MPI_Finalize`
//! begin and end a rank.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use crate::{
    Call, Comm, Completion, CompletionKind, Datatype, Dest, Done, Function, Op, Payload, Rank,
    RankInfo, RankReader, RecvSpec, Request, RunInfo, SendMode, SendSpec, Source, Span, Tag,
    TagSel, TraceError, TraceErrorKind, TraceSource, regular,
};

/// `MPI_CHAR`, so that elements are bytes.
const BYTE: Datatype = Datatype(2);
/// Most operations of a rank, so that each has a request's number.
const NODES_MAX: usize = 1 << 30;
/// Longest line in bytes.
const LINE_BYTES_MAX: usize = 64 * 1024;

/// Whether a path names a GOAL text.
pub(crate) fn is_goal(path: &Path) -> bool {
    path.extension().is_some_and(|it| it == "goal") && !path.is_dir()
}

/// A run in a GOAL text, which is kept in memory: some 100 bytes for an operation.
#[derive(Debug)]
pub(crate) struct Goal {
    run: RunInfo,
    ranks: Vec<Rank>,
    schedules: Vec<Schedule>,
}

#[derive(Clone, Copy, Debug)]
enum What {
    Send {
        to: Rank,
        tag: Tag,
        bytes: u64,
    },
    Recv {
        from: Source,
        tag: TagSel,
        bytes: u64,
    },
    Calc {
        ns: u64,
    },
}

#[derive(Clone, Debug)]
struct Node {
    what: What,
    line: u64,
    offset: u64,
    /// The operations that must have begun, and whether they must be complete.
    needs: Vec<(usize, bool)>,
}

/// The operations of one rank in the text.
#[derive(Clone, Debug, Default)]
struct Block {
    nodes: Vec<Node>,
    labels: HashMap<String, usize>,
    /// Operations on another processor or network interface than the first.
    elsewhere: u64,
}

#[derive(Clone, Copy, Debug)]
enum Begun {
    /// The operation with this number.
    Node(usize),
    /// A wait for these positions of `Schedule::waits`.
    Wait {
        first: usize,
        count: usize,
    },
    /// The start of the rank, from which time counts.
    Start,
    End,
}

/// The calls of one rank, in order.
#[derive(Debug, Default)]
struct Schedule {
    nodes: Vec<Node>,
    calls: Vec<(Begun, i64)>,
    waits: Vec<Request>,
    elsewhere: u64,
}

fn request(node: usize) -> Request {
    Request(node as i32 + 2)
}

/// The words of a line; a colon and braces are words.
fn words(line: &str) -> Vec<String> {
    let spaced = line
        .replace(':', " : ")
        .replace('{', " { ")
        .replace('}', " } ");
    spaced.split_whitespace().map(str::to_owned).collect()
}

/// A text without its comments; `open` says whether one goes on into the next line.
fn without_comments(line: &str, open: &mut bool) -> String {
    let mut rest = line;
    let mut kept = String::new();
    loop {
        if *open {
            let Some((_, after)) = rest.split_once("*/") else {
                return kept;
            };
            (*open, rest) = (false, after);
            kept.push(' ');
        }
        let (line_end, begin) = (rest.find("//"), rest.find("/*"));
        match (line_end, begin) {
            (Some(end), begin) if begin.is_none_or(|begin| end < begin) => {
                return kept + &rest[..end];
            }
            (_, Some(begin)) => {
                kept += &rest[..begin];
                (*open, rest) = (true, &rest[begin + 2..]);
            }
            _ => return kept + rest,
        }
    }
}

fn number(word: Option<&str>, what: &str) -> Result<u64, String> {
    let word = word.ok_or_else(|| format!("{what} is missing"))?;
    let digits = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    let value = word.parse().ok().filter(|_| digits);
    value.ok_or_else(|| format!("{what} is {word:?}, not a number"))
}

fn rank(word: Option<&str>, what: &str) -> Result<Rank, String> {
    let value = number(word, what)?;
    let rank = u32::try_from(value).ok().and_then(|it| Rank::new(it).ok());
    rank.ok_or_else(|| format!("{what} {value} is too large"))
}

fn tag(value: u64) -> Result<Tag, String> {
    let tag = u32::try_from(value).ok().and_then(|it| Tag::new(it).ok());
    tag.ok_or_else(|| format!("tag {value} is too large"))
}

impl Block {
    /// Reads the line of an operation or of a dependence.
    fn line(&mut self, words: &[&str], line: u64, offset: u64) -> Result<(), String> {
        match *words {
            [label, ":", ref rest @ ..] => {
                self.operation(rest, line, offset)?;
                let at = self.nodes.len() - 1;
                match self.labels.insert(label.to_owned(), at) {
                    Some(_) => Err(format!("label {label} is used twice")),
                    None => Ok(()),
                }
            }
            [later, word @ ("requires" | "irequires"), earlier] => {
                let find = |label: &str| {
                    let found = self.labels.get(label).copied();
                    found.ok_or_else(|| format!("unknown label {label}"))
                };
                let (later, earlier) = (find(later)?, find(earlier)?);
                self.nodes[later].needs.push((earlier, word == "requires"));
                Ok(())
            }
            ref rest => self.operation(rest, line, offset),
        }
    }

    fn operation(&mut self, words: &[&str], line: u64, offset: u64) -> Result<(), String> {
        if self.nodes.len() >= NODES_MAX {
            return Err(format!("more than {NODES_MAX} operations in a rank"));
        }
        let [verb @ ("send" | "recv" | "calc"), size, ref rest @ ..] = *words else {
            let text = words.join(" ");
            return Err(format!("{text:?} is no operation and no dependence"));
        };
        let mut rest = rest.iter().copied();
        let what = if verb == "calc" {
            let ns = number(Some(size), "the time")?;
            What::Calc { ns }
        } else {
            let digits = size.strip_suffix('b');
            let digits = digits.ok_or_else(|| format!("the size {size:?} has no b behind it"))?;
            let bytes = number(Some(digits), "the size")?;
            let (wanted, what) = match verb {
                "send" => ("to", "the target"),
                _ => ("from", "the source"),
            };
            if rest.next() != Some(wanted) {
                return Err(format!("{verb} needs {wanted:?} behind the size"));
            }
            let peer = rest.next();
            match (verb, peer) {
                ("recv", Some("-1")) => What::Recv {
                    from: Source::Any,
                    tag: TagSel::Tag(Tag::default()),
                    bytes,
                },
                ("recv", _) => What::Recv {
                    from: Source::Rank(rank(peer, what)?),
                    tag: TagSel::Tag(Tag::default()),
                    bytes,
                },
                _ => What::Send {
                    to: rank(peer, what)?,
                    tag: Tag::default(),
                    bytes,
                },
            }
        };
        let mut node = Node {
            what,
            line,
            offset,
            needs: Vec::new(),
        };
        while let Some(key) = rest.next() {
            let value = rest.next();
            match (key, &mut node.what) {
                ("tag", What::Recv { tag, .. }) if value == Some("-1") => *tag = TagSel::Any,
                ("tag", What::Recv { tag: place, .. }) => {
                    *place = TagSel::Tag(tag(number(value, "the tag")?)?);
                }
                ("tag", What::Send { tag: place, .. }) => *place = tag(number(value, "the tag")?)?,
                ("cpu" | "nic", _) => {
                    let other = number(value, "the number behind cpu or nic")? > 0;
                    self.elsewhere += u64::from(other);
                }
                _ => return Err(format!("{key:?} has no meaning behind {verb}")),
            }
        }
        self.nodes.push(node);
        Ok(())
    }

    /// The calls, and the line of an operation that waits for itself.
    ///
    /// # Complexity
    /// O(n log n) for n operations and dependences.
    fn schedule(self) -> Result<Schedule, u64> {
        let Self {
            nodes, elsewhere, ..
        } = self;
        let count = nodes.len();
        let is_transfer = |node: usize| !matches!(nodes[node].what, What::Calc { .. });
        // What follows each operation, and whether it waits for it.
        let mut behind: Vec<Vec<(usize, bool)>> = vec![Vec::new(); count];
        let (mut missing, mut waiting) = (vec![0; count], vec![0; count]);
        for (later, node) in nodes.iter().enumerate() {
            for &(earlier, complete) in &node.needs {
                let waits = complete && is_transfer(earlier);
                behind[earlier].push((later, waits));
                missing[later] += 1;
                waiting[later] += usize::from(waits);
            }
        }
        let (mut begun, mut waited) = (vec![false; count], vec![false; count]);
        // Those that can begin immediately, and those that can begin after a wait.
        let (mut free, mut held) = (BinaryHeap::new(), BinaryHeap::new());
        let first = missing.iter().enumerate().filter(|it| *it.1 == 0);
        free.extend(first.map(|(at, _)| Reverse(at)));
        let (mut calls, mut waits, mut now) = (vec![(Begun::Start, 0)], Vec::new(), 0_i64);
        let mut wait = |those: Vec<usize>, now, calls: &mut Vec<(Begun, i64)>| {
            let (first, count) = (waits.len(), those.len());
            waits.extend(those.into_iter().map(request));
            if count > 0 {
                calls.push((Begun::Wait { first, count }, now));
            }
        };
        while let Some(Reverse(at)) = free.pop().or_else(|| held.pop()) {
            if std::mem::replace(&mut begun[at], true) {
                continue;
            }
            let mut those = Vec::new();
            for &(earlier, complete) in &nodes[at].needs {
                if complete && is_transfer(earlier) && !waited[earlier] {
                    waited[earlier] = true;
                    those.push(earlier);
                }
            }
            for &earlier in &those {
                for &(later, waits) in &behind[earlier] {
                    waiting[later] -= usize::from(waits);
                    if waits && waiting[later] == 0 && missing[later] == 0 {
                        free.push(Reverse(later));
                    }
                }
            }
            wait(those, now, &mut calls);
            match nodes[at].what {
                What::Calc { ns } => now = now.saturating_add_unsigned(ns),
                _ => calls.push((Begun::Node(at), now)),
            }
            for &(later, _) in &behind[at] {
                missing[later] -= 1;
                match (missing[later], waiting[later]) {
                    (0, 0) => free.push(Reverse(later)),
                    (0, _) => held.push(Reverse(later)),
                    _ => {}
                }
            }
        }
        if let Some(stuck) = begun.iter().position(|begun| !begun) {
            return Err(nodes[stuck].line);
        }
        let left = (0..count).filter(|&at| is_transfer(at) && !waited[at]);
        wait(left.collect(), now, &mut calls);
        calls.push((Begun::End, now));
        Ok(Schedule {
            nodes,
            calls,
            waits,
            elsewhere,
        })
    }
}

impl Goal {
    /// Reads the text.
    ///
    /// # Errors
    /// The file cannot be read, or a line is not GOAL; the error names it.
    pub(crate) fn open(path: &Path) -> Result<Self, TraceError> {
        let file = regular::open(path).map_err(|error| TraceError::new(path, error))?;
        Self::read(path, BufReader::new(file))
    }

    fn read(path: &Path, mut text: impl BufRead) -> Result<Self, TraceError> {
        let wrong = |what: String, line: u64| {
            TraceError::new(path, TraceErrorKind::Damaged(what)).at_line(line)
        };
        let mut blocks: BTreeMap<Rank, Block> = BTreeMap::new();
        let (mut processes, mut inside) = (None, None::<Rank>);
        let (mut line, mut offset, mut comment) = (0, 0, false);
        let mut bytes = Vec::new();
        loop {
            bytes.clear();
            let begin = offset;
            let limit = LINE_BYTES_MAX as u64 + 1;
            let read = std::io::Read::take(&mut text, limit).read_until(b'\n', &mut bytes);
            offset += read.map_err(|error| TraceError::new(path, error))? as u64;
            if bytes.is_empty() {
                break;
            }
            line += 1;
            if bytes.len() > LINE_BYTES_MAX {
                return Err(wrong("the line is too long".to_owned(), line));
            }
            let told = std::str::from_utf8(&bytes);
            let told = told.map_err(|_| wrong("the line is no text".to_owned(), line))?;
            let words = words(&without_comments(told, &mut comment));
            let words: Vec<_> = words.iter().map(String::as_str).collect();
            let done = match (&words[..], inside) {
                ([], _) => Ok(()),
                (["num_ranks", count], None) => number(Some(count), "the number of ranks")
                    .and_then(|it| u32::try_from(it).map_err(|_| format!("{it} ranks")))
                    .map(|it| processes = Some(it)),
                (["rank", word, "{"], None) => rank(Some(word), "the rank").and_then(|rank| {
                    inside = Some(rank);
                    let is_known = processes.is_none_or(|processes| rank.get() < processes);
                    match blocks.insert(rank, Block::default()) {
                        _ if !is_known => Err(format!("rank {} is beyond num_ranks", rank.get())),
                        Some(_) => Err(format!("rank {} comes twice", rank.get())),
                        None => Ok(()),
                    }
                }),
                (["}"], Some(_)) => {
                    inside = None;
                    Ok(())
                }
                (_, Some(rank)) => {
                    let block = blocks.entry(rank).or_default();
                    block.line(&words, line, begin)
                }
                _ => Err(format!("{:?} is outside of a rank", words.join(" "))),
            };
            done.map_err(|what| wrong(what, line))?;
        }
        if let Some(rank) = inside {
            let what = format!("rank {} has no closing brace", rank.get());
            return Err(TraceError::new(path, TraceErrorKind::Truncated(what)));
        }
        let processes = processes.ok_or_else(|| wrong("num_ranks is missing".to_owned(), line))?;
        let (mut ranks, mut schedules) = (Vec::new(), Vec::new());
        for (rank, block) in blocks {
            let cycle = |line| wrong("the operation waits for itself".to_owned(), line);
            schedules.push(block.schedule().map_err(cycle)?);
            ranks.push(rank);
        }
        let run = RunInfo {
            processes: Some(processes),
            ..RunInfo::default()
        };
        Ok(Self {
            run,
            ranks,
            schedules,
        })
    }
}

impl TraceSource for Goal {
    fn run(&self) -> &RunInfo {
        &self.run
    }

    fn ranks(&self) -> &[Rank] {
        &self.ranks
    }

    fn open(&self, rank: Rank) -> Result<Box<dyn RankReader + '_>, TraceError> {
        let place = self.ranks.binary_search(&rank).map_err(|_| {
            let what = format!("it has no rank {}", rank.get());
            TraceError::new(PathBuf::new(), TraceErrorKind::Unsupported(what))
        })?;
        Ok(Box::new(GoalReader {
            schedule: &self.schedules[place],
            info: RankInfo::new(rank, "GOAL"),
            next: 0,
        }))
    }
}

/// The calls of one rank.
struct GoalReader<'a> {
    schedule: &'a Schedule,
    info: RankInfo,
    next: usize,
}

fn payload(count: u64) -> Payload {
    Payload {
        count,
        datatype: BYTE,
    }
}

impl RankReader for GoalReader<'_> {
    fn info(&self) -> &RankInfo {
        &self.info
    }

    fn next_call(&mut self) -> Result<Option<Call<'_>>, TraceError> {
        let schedule = self.schedule;
        let Some(&(begun, now)) = schedule.calls.get(self.next) else {
            return Ok(None);
        };
        let sequence = self.next as u64;
        self.next += 1;
        let comm = Comm::WORLD;
        let (name, op, offset) = match begun {
            Begun::Start => ("MPI_Init", Op::Other, 0),
            Begun::End => ("MPI_Finalize", Op::Other, 0),
            Begun::Wait { first, count } => {
                let requests = &schedule.waits[first..][..count];
                let completion = Completion {
                    kind: CompletionKind::Waitall,
                    requests,
                    done: Done::All,
                    statuses: &[],
                };
                let last = requests[count - 1].0 as usize - 2;
                let offset = schedule.nodes[last].offset;
                ("MPI_Waitall", Op::Completion(completion), offset)
            }
            Begun::Node(at) => {
                let Node { what, offset, .. } = schedule.nodes[at];
                let request = request(at);
                match what {
                    What::Recv { from, tag, bytes } => {
                        let recv = RecvSpec {
                            source: from,
                            tag,
                            comm,
                            room: payload(bytes),
                        };
                        ("MPI_Irecv", Op::Irecv { recv, request }, offset)
                    }
                    What::Send { to, tag, bytes } => {
                        let send = SendSpec {
                            mode: SendMode::Standard,
                            dest: Dest::Rank(to),
                            tag,
                            comm,
                            payload: payload(bytes),
                        };
                        ("MPI_Isend", Op::Isend { send, request }, offset)
                    }
                    What::Calc { .. } => unreachable!("time passes without a call"),
                }
            }
        };
        let wall = Span {
            entry_ns: now,
            return_ns: now,
        };
        Ok(Some(Call {
            sequence,
            offset,
            function: Function::from_name(name).expect("a function of MPI"),
            thread: None,
            cpu: None,
            wall: Some(wall),
            op,
        }))
    }

    fn unread(&self) -> BTreeMap<String, u64> {
        let what = "operations on another cpu or nic, read as on the first".to_owned();
        let elsewhere = self.schedule.elsewhere;
        let unread = (elsewhere > 0).then_some((what, elsewhere));
        unread.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Goal, String> {
        Goal::read(Path::new("a.goal"), text.as_bytes()).map_err(|error| error.to_string())
    }

    /// The calls of a rank as words: what begins, or the requests of a wait, and the time.
    fn calls(goal: &Goal, rank: usize) -> Vec<String> {
        let mut reader = goal.open(goal.ranks[rank]).expect("a rank");
        let mut all = Vec::new();
        let first = reader
            .next_call()
            .expect("a call")
            .map(|call| call.function.name());
        assert_eq!(first, Some("MPI_Init"));
        while let Some(call) = reader.next_call().expect("a call") {
            let text = match call.op {
                Op::Isend { send, request } => format!(
                    "send {:?} {} {} r{}",
                    send.dest,
                    send.tag.get(),
                    send.payload.count,
                    request.0
                ),
                Op::Irecv { recv, request } => format!(
                    "recv {:?} {:?} {} r{}",
                    recv.source,
                    recv.tag.number(),
                    recv.room.count,
                    request.0
                ),
                Op::Completion(it) => format!("wait {:?}", it.requests),
                _ => {
                    assert_eq!(call.function.name(), "MPI_Finalize");
                    continue;
                }
            };
            all.push(format!("{text} at {}", call.wall.expect("a time").entry_ns));
        }
        all
    }

    /// The second receive begins before the first is complete; the send waits for both, and for the
    /// computation. What nothing orders comes in the order of the text.
    #[test]
    fn dependences_become_waits_and_order() {
        let goal = read(
            "num_ranks 2 // two\nrank 0 {\nlast: send 9b to 1 tag 4\nl1: recv 8b from 1 tag 3\n\
             l2: recv 8b from -1 tag -1 cpu 1\n/* none\n */ c: calc 700\nl2 irequires l1\n\
             last requires l1\nlast requires l2\nlast requires c\nc irequires l2\n}\n\
             rank 1 {\nsend 8b to 0 tag 3\nsend 8b to 0\n}\n",
        )
        .expect("a text");
        assert_eq!(goal.run.processes, Some(2));
        assert_eq!(
            calls(&goal, 0),
            [
                "recv Rank(Rank(1)) Some(3) 8 r3 at 0",
                "recv Any None 8 r4 at 0",
                "wait [Request(3), Request(4)] at 700",
                "send Rank(Rank(1)) 4 9 r2 at 700",
                "wait [Request(2)] at 700",
            ]
        );
        assert_eq!(
            calls(&goal, 1),
            [
                "send Rank(Rank(0)) 3 8 r2 at 0",
                "send Rank(Rank(0)) 0 8 r3 at 0",
                "wait [Request(2), Request(3)] at 0",
            ]
        );
        let reader = goal.open(goal.ranks[0]).expect("a rank");
        assert_eq!(reader.unread().values().collect::<Vec<_>>(), [&1]);
    }

    /// A wait comes only when nothing else can begin: the second send does not wait for the
    /// receive, although its line is behind that of the send which does.
    #[test]
    fn what_can_begin_does_not_wait() {
        let goal = read(
            "num_ranks 1\nrank 0 {\na: recv 1b from 0\nb: send 1b to 0 tag 1\nb requires a\n\
             c: send 1b to 0\n}\n",
        );
        let all = calls(&goal.expect("a text"), 0);
        let firsts: Vec<_> = all.iter().map(|call| &call[..4]).collect();
        assert_eq!(firsts, ["recv", "send", "wait", "send", "wait"]);
        assert!(all[1].contains(" 0 1 r4"), "{all:?}");
    }

    /// A line has up to 65,536 bytes, its end included.
    #[test]
    fn a_line_is_bounded() {
        for (length, fits) in [(65_535, true), (65_536, true), (65_537, false)] {
            let words = "send 8b to 1";
            let line = format!("{words}{}\n", " ".repeat(length - 1 - words.len()));
            let told = read(&format!("num_ranks 2\nrank 0 {{\n{line}}}\n"));
            let wrong = told.err();
            let expected = (!fits).then_some("a.goal:3: damaged: the line is too long");
            assert_eq!(wrong.as_deref(), expected, "{length} bytes");
        }
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        let rank = |lines: &str| read(&format!("num_ranks 2\nrank 0 {{\n{lines}\n}}\n"));
        for (lines, error) in [
            ("send 8 to 1", "the size \"8\" has no b behind it"),
            ("send 8b from 1", "send needs \"to\" behind the size"),
            ("send 8b to -1", "the target is \"-1\", not a number"),
            ("recv 8b from 1 tag x", "the tag is \"x\", not a number"),
            ("calc", "\"calc\" is no operation and no dependence"),
            ("calc 3 tag 1", "\"tag\" has no meaning behind calc"),
            ("a requires b", "unknown label a"),
            ("a: calc 1\na: calc 1", "label a is used twice"),
            ("a: calc 1\na requires a", "the operation waits for itself"),
        ] {
            let told = rank(lines).expect_err(lines);
            assert!(told.contains(error), "{lines}: {told}");
            let line = 3 + usize::from(lines.contains("\na: calc 1"));
            assert!(
                told.starts_with(&format!("a.goal:{line}: damaged: ")),
                "{told}"
            );
        }
        for (text, error) in [
            ("rank 0 {\n}\n", "num_ranks is missing"),
            ("num_ranks 1\nrank 1 {\n}\n", "rank 1 is beyond num_ranks"),
            (
                "num_ranks 1\nrank 0 {\n}\nrank 0 {\n}\n",
                "rank 0 comes twice",
            ),
            ("num_ranks 1\nrank 0 {\n", "rank 0 has no closing brace"),
            ("num_ranks 1\ncalc 5\n", "\"calc 5\" is outside of a rank"),
        ] {
            let told = read(text).expect_err(text);
            assert!(told.contains(error), "{text}: {told}");
        }
    }
}
