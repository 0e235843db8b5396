//! What waits now: the receives, messages and sends without a partner of all processes, joined.
//!
//! Each process reports its own queues. Together they say who waits for whom, which message nearly
//! fits a receive, and what keeps a program from going on. A posted receive need not block its
//! process, so a cycle is a cause only if each process waits for its part of it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::iter::successors;

use serde::{Deserialize, Serialize};

use super::Endpoint;
use crate::counted;
use crate::table::{Cell, Table};

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Entry {
    /// `receive`, `message`, `send`; `probe`: one made again and again; `answer`: a receive for the
    /// answer to a synchronous send; `taken ...`: a message that a receive with this wildcard took.
    pub what: String,
    /// Identity of the other endpoint; none for any source.
    pub peer: Option<String>,
    pub tag: Option<i64>,
    pub communicator: u64,
    /// Purpose of its messages: `user`, `collective`, `control`, `unknown`.
    pub kind: String,
    /// Bytes of the message, or capacity of the receive.
    pub bytes: u64,
    /// Milliseconds since it was posted, sent, or arrived.
    pub age_ms: u64,
}

#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Waiting {
    pub receives: u64,
    pub messages: u64,
    /// Sends that their receivers have not ended.
    pub sends: u64,
    /// Milliseconds since the matcher last got an operation.
    pub idle_ms: u64,
    pub entries: Vec<Entry>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    Answered,
    /// Its process is there but makes no progress.
    Silent,
    Closed,
    /// Its process ended without closing it.
    Gone,
}

const ROWS_MAX: usize = 200;
const FINDINGS_MAX: usize = 8;

struct Process<'a> {
    name: String,
    state: State,
    entries: Vec<&'a Entry>,
}

impl Entry {
    /// Whether it keeps its process waiting.
    fn is_wait(&self) -> bool {
        self.is_receive() || ["send", "answer"].contains(&self.what.as_str())
    }

    /// Whether it waits for a message.
    fn is_receive(&self) -> bool {
        ["receive", "probe"].contains(&self.what.as_str())
    }

    /// Whether both wait for one thing. A synchronous send can have two entries.
    fn is_like(&self, other: &Self) -> bool {
        let key = |it: &Self| (it.is_receive(), it.tag, it.communicator);
        key(self) == key(other) && (&self.peer, &self.kind) == (&other.peer, &other.kind)
    }

    /// The tag, or that it is part of a collective operation.
    fn subject(&self) -> String {
        if self.kind == "collective" {
            self.kind.clone()
        } else {
            tag(self.tag)
        }
    }
}

struct Joined<'a> {
    processes: Vec<Process<'a>>,
    of: BTreeMap<&'a str, usize>,
}

/// Findings, waits and unexpected messages of all processes.
///
/// # Complexity
/// O(entries of one process squared), at most 1,000 of them each, and O(processes times waits).
pub fn waits(endpoints: &[(Endpoint, State)]) -> Vec<Table> {
    let joined = Joined::new(endpoints);
    let title = match endpoints
        .iter()
        .filter(|(_, state)| *state == State::Answered)
        .count()
    {
        0 => "What waits: no process answered".to_owned(),
        count => {
            format!(
                "What waits: {count} of {} answered",
                counted(endpoints.len(), "endpoint")
            )
        }
    };
    let mut findings = Table::new("findings", title, ["finding"]);
    for finding in joined.findings() {
        findings.push([finding.into()]);
    }
    vec![findings, joined.waits(), joined.unexpected()]
}

/// "rank 0", or "ranks 0, 1".
fn list(names: &BTreeSet<&str>) -> String {
    let numbers: Option<Vec<&str>> = names
        .iter()
        .map(|name| name.strip_prefix("rank "))
        .collect();
    match numbers {
        Some(numbers) if numbers.len() > 1 => format!("ranks {}", numbers.join(", ")),
        _ => names.iter().copied().collect::<Vec<_>>().join(", "),
    }
}

fn tag(tag: Option<i64>) -> String {
    tag.map_or("any tag".to_owned(), |tag| format!("tag {tag}"))
}

fn seconds(ms: u64) -> f64 {
    ms as f64 / 1000.0
}

/// The one thing in which a message differs from what a receive asks for.
fn difference(receive: &Entry, message: &Entry) -> Option<&'static str> {
    let same_comm = (receive.communicator, &receive.kind) == (message.communicator, &message.kind);
    let same_tag = receive.tag.is_none() || receive.tag == message.tag;
    let same_source = receive.peer.is_none() || receive.peer == message.peer;
    match (same_tag, same_source, same_comm) {
        (true, true, true) => Some("fits"),
        (false, true, true) if receive.kind == "collective" => Some("other operation"),
        (false, true, true) => Some("wrong tag"),
        // Others' parts of a collective operation may well be there first.
        (true, false, true) if receive.kind != "collective" => Some("wrong source"),
        (true, true, false) if receive.kind == message.kind => Some("wrong communicator"),
        _ => None,
    }
}

impl<'a> Joined<'a> {
    fn new(endpoints: &'a [(Endpoint, State)]) -> Self {
        let mut joined = Self {
            processes: Vec::new(),
            of: BTreeMap::new(),
        };
        for (endpoint, state) in endpoints {
            let rank = if endpoint.rank().is_some() {
                "rank "
            } else {
                ""
            };
            let name = format!("{rank}{}", endpoint.place());
            let known = joined
                .processes
                .iter()
                .position(|process| process.name == name);
            let at = known.unwrap_or_else(|| {
                joined.processes.push(Process {
                    name,
                    state: *state,
                    entries: Vec::new(),
                });
                joined.processes.len() - 1
            });
            let process = &mut joined.processes[at];
            // One endpoint that answers speaks for the process, and one that is open for its end.
            if *state == State::Answered || process.state == State::Closed {
                process.state = *state;
            }
            // Only an answer is of now.
            if *state == State::Answered {
                process.entries.extend(&endpoint.waiting.entries);
            }
            let identity = endpoint.name.rsplit('-').next().unwrap_or(&endpoint.name);
            joined.of.insert(identity, at);
        }
        joined
    }

    fn name(&self, peer: Option<&str>) -> String {
        match peer {
            None => "any source".to_owned(),
            Some(peer) => match self.of.get(peer) {
                Some(&at) => self.processes[at].name.clone(),
                None => format!("process {peer}"),
            },
        }
    }

    /// Each process's waits, the same ones together: how many, and the oldest one.
    fn grouped(&self) -> Vec<(usize, Vec<(&'a Entry, usize)>)> {
        let of = |process: &Process<'a>| {
            let mut groups = Vec::<(&'a Entry, usize)>::new();
            for &entry in process.entries.iter().filter(|entry| entry.is_wait()) {
                match groups.iter_mut().find(|(first, _)| first.is_like(entry)) {
                    Some((first, count)) => *count += usize::from(first.what == entry.what),
                    None => groups.push((entry, 1)),
                }
            }
            groups
        };
        self.processes.iter().map(of).enumerate().collect()
    }

    /// The message or receive that comes nearest to what an entry waits for, and what is wrong.
    fn nearest(&self, at: usize, wait: &Entry) -> Option<(&'a Entry, &'static str)> {
        let order = [
            "wrong tag",
            "other operation",
            "wrong source",
            "wrong communicator",
        ];
        let near = |difference: Option<&'static str>| difference.filter(|it| order.contains(it));
        let found: Vec<(&Entry, &str)> = if wait.is_receive() {
            let messages = self.processes[at]
                .entries
                .iter()
                .filter(|it| it.what == "message");
            messages
                .filter_map(|it| Some((*it, near(difference(wait, it))?)))
                .collect()
        } else {
            // The receives at the other end that ask for a message from here.
            let to = wait.peer.as_deref().and_then(|peer| self.of.get(peer));
            let there = to.map_or(&[][..], |&to| &self.processes[to].entries);
            let asks_here = |receive: &Entry| {
                receive.peer.as_deref().and_then(|peer| self.of.get(peer)) == Some(&at)
            };
            let receives = there.iter().filter(|it| it.is_receive() && asks_here(it));
            let differs = |receive: &Entry| {
                difference(
                    receive,
                    &Entry {
                        peer: receive.peer.clone(),
                        ..wait.clone()
                    },
                )
            };
            receives
                .filter_map(|it| Some((*it, near(differs(it))?)))
                .collect()
        };
        let place = |wrong: &str| order.iter().position(|word| *word == wrong);
        found.into_iter().min_by_key(|(_, wrong)| place(wrong))
    }

    /// A message that fits this receive and was taken by one with a wildcard: the latest.
    fn taken(&self, at: usize, wait: &Entry) -> Option<&'a Entry> {
        let taken = self.processes[at]
            .entries
            .iter()
            .filter(|it| it.what.starts_with("taken"));
        let fits = |it: &&&Entry| difference(wait, it) == Some("fits");
        let exact = wait.is_receive() && wait.peer.is_some();
        taken
            .filter(|_| exact)
            .filter(fits)
            .min_by_key(|it| it.age_ms)
            .copied()
    }

    fn waits(&self) -> Table {
        let title = "Receives without a message, and sends that the receiver has not taken";
        let columns = [
            "process",
            "waits for",
            "peer",
            "tag",
            "communicator",
            "count",
            "since s",
            "nearest",
        ];
        let mut table = Table::new("waits", title, columns).keyed(5);
        let mut left_out = 0;
        for (at, groups) in self.grouped() {
            for (entry, count) in groups {
                if table.rows.len() == ROWS_MAX {
                    left_out += 1;
                    continue;
                }
                let near = self.nearest(at, entry).map(|(near, wrong)| {
                    let from = match near.what.as_str() {
                        "message" => self.name(near.peer.as_deref()),
                        _ => "receive".to_owned(),
                    };
                    let comm = format!("{} {}", near.kind, near.communicator);
                    format!("{from}, {}, {comm}: {wrong}", tag(near.tag))
                });
                let verb = if entry.is_receive() {
                    "message from"
                } else {
                    "receive by"
                };
                table.push([
                    self.processes[at].name.as_str().into(),
                    verb.into(),
                    self.name(entry.peer.as_deref()).into(),
                    entry
                        .tag
                        .map_or(Cell::from("any"), |tag| tag.to_string().into()),
                    format!("{} {}", entry.kind, entry.communicator).into(),
                    count.into(),
                    seconds(entry.age_ms).into(),
                    near.into(),
                ]);
            }
        }
        let table = table.note("nearest: a message or receive that differs in one thing only");
        if left_out > 0 {
            table.note(format!("{left_out} more rows"))
        } else {
            table
        }
    }

    fn unexpected(&self) -> Table {
        /// Process, source, tag, communicator and kind.
        type Key<'a> = (usize, &'a Option<String>, Option<i64>, &'a str, u64);
        let mut groups: BTreeMap<Key<'_>, (u64, u64, u64)> = BTreeMap::new();
        for (at, process) in self.processes.iter().enumerate() {
            for it in process.entries.iter().filter(|it| it.what == "message") {
                let key = (at, &it.peer, it.tag, it.kind.as_str(), it.communicator);
                let (count, bytes, age) = groups.entry(key).or_default();
                (*count, *bytes, *age) = (*count + 1, *bytes + it.bytes, it.age_ms.max(*age));
            }
        }
        let left_out = groups.len().saturating_sub(ROWS_MAX);
        let rows = groups.into_iter().take(ROWS_MAX);
        let rows = rows.map(|((at, peer, tag, kind, comm), sums)| {
            let from = self.name(peer.as_deref());
            (
                self.processes[at].name.clone(),
                from,
                tag,
                format!("{kind} {comm}"),
                sums,
            )
        });
        let title = "Messages without a receive";
        let table = Table::with_rows("unexpected", title, rows).columns(&[
            ("process", |it| it.0.clone().into()),
            ("from", |it| it.1.clone().into()),
            ("tag", |it| it.2.map(|tag| tag.to_string()).into()),
            ("communicator", |it| it.3.clone().into()),
            ("count", |it| it.4.0.into()),
            ("bytes", |it| it.4.1.into()),
            ("since s", |it| seconds(it.4.2).into()),
        ]);
        let table = table.keyed(4);
        if left_out > 0 {
            table.note(format!("{left_out} more rows"))
        } else {
            table
        }
    }

    /// For each process those that it waits for by name, with one reason each.
    fn edges(&self) -> Vec<BTreeMap<usize, &'a Entry>> {
        let mut edges = vec![BTreeMap::new(); self.processes.len()];
        for (at, groups) in self.grouped() {
            for (entry, _) in groups {
                let to = entry.peer.as_deref().and_then(|peer| self.of.get(peer));
                if let Some(&to) = to {
                    edges[at].entry(to).or_insert(entry);
                }
            }
        }
        edges
    }

    fn findings(&self) -> Vec<String> {
        let edges = self.edges();
        let mut findings = self.absent(&edges);
        let (mut near, mut taken) = (Vec::new(), Vec::new());
        for (at, groups) in self.grouped() {
            let here = &self.processes[at].name;
            for (wait, _) in groups {
                let peer = self.name(wait.peer.as_deref());
                let is_receive = wait.is_receive();
                let asks = match is_receive {
                    true => format!("{here} waits for {} from {peer}", tag(wait.tag)),
                    false => format!("{here} sends {} to {peer}", tag(wait.tag)),
                };
                if let Some((it, wrong)) = self.nearest(at, wait) {
                    let from = self.name(it.peer.as_deref());
                    let has = match is_receive {
                        true => format!("it has {} from {from}", tag(it.tag)),
                        false => format!("{peer} waits for {}", tag(it.tag)),
                    };
                    let comm = format!(" in {} {}", it.kind, it.communicator);
                    let comm = if wrong == "wrong communicator" {
                        comm
                    } else {
                        String::new()
                    };
                    near.push(match wrong {
                        "other operation" => format!(
                            "{here} and {peer} may be in different collective operations of \
                             communicator {}",
                            wait.communicator
                        ),
                        _ => format!("{wrong}: {asks}, and {has}{comm}"),
                    });
                }
                if let Some(it) = self.taken(at, wait) {
                    let (by, ago) = (it.what.trim_start_matches("taken "), seconds(it.age_ms));
                    taken.push(format!(
                        "{asks}; {ago:.1} s ago a receive {by} took such a message"
                    ));
                }
            }
        }
        findings.extend(taken.into_iter().take(FINDINGS_MAX));
        findings.extend(near.into_iter().take(FINDINGS_MAX));
        findings.extend(self.collectives());
        findings.extend(self.cycle(&edges));
        if findings.is_empty() {
            findings.extend(self.counts());
        }
        findings
    }

    /// How many wait for a message, if any process answered.
    fn counts(&self) -> Option<String> {
        let is = |state: State| self.processes.iter().filter(move |it| it.state == state);
        let waits = |it: &&Process<'_>| it.entries.iter().any(|entry| entry.is_wait());
        let waiting: Vec<_> = is(State::Answered).filter(waits).collect();
        let (answered, closed) = (is(State::Answered).count(), is(State::Closed).count());
        let mut found = match waiting.as_slice() {
            [one] => format!("{} waits for a message", one.name),
            all => {
                format!(
                    "{} of {} processes wait for a message",
                    all.len(),
                    self.processes.len()
                )
            }
        };
        for (count, one, more) in [
            (answered - waiting.len(), "waits for none", "wait for none"),
            (closed, "has finished", "have finished"),
        ] {
            match count {
                0 => {}
                1 => found += &format!("; 1 {one}"),
                _ => found += &format!("; {count} {more}"),
            }
        }
        (answered > 0).then_some(found)
    }

    /// Processes that others wait for without success.
    fn absent(&self, edges: &[BTreeMap<usize, &Entry>]) -> Vec<String> {
        let mut found = Vec::new();
        for (at, process) in self.processes.iter().enumerate() {
            let what = match process.state {
                State::Answered => continue,
                State::Silent => "makes no progress in MPI: it computes, sleeps or is stopped",
                State::Closed => "has finished its communication",
                State::Gone => "has ended without MPI_Finalize",
            };
            // Backwards along the waits.
            let mut waiting = BTreeSet::from([at]);
            while let Some(next) = (0..edges.len()).find(|next| {
                !waiting.contains(next) && edges[*next].keys().any(|to| waiting.contains(to))
            }) {
                waiting.insert(next);
            }
            waiting.remove(&at);
            let names = waiting
                .iter()
                .map(|&at| self.processes[at].name.as_str())
                .collect();
            let name = &process.name;
            match waiting.len() {
                0 if process.state == State::Closed => {}
                0 => found.push(format!("{name} {what}")),
                1 => found.push(format!("{name} {what}; {} waits for it", list(&names))),
                _ => found.push(format!(
                    "{name} {what}; {} wait for it, directly or through others",
                    list(&names)
                )),
            }
        }
        found
    }

    /// The shortest cycle of waits.
    fn cycle(&self, edges: &[BTreeMap<usize, &Entry>]) -> Option<String> {
        let from = |first: usize| {
            let mut before = BTreeMap::new();
            let mut queue = VecDeque::from([first]);
            while let Some(at) = queue.pop_front() {
                for &to in edges[at].keys() {
                    if to == first {
                        let step = |at: &usize| before.get(at).copied();
                        let mut path: Vec<usize> = successors(Some(at), step).collect();
                        path.reverse();
                        return Some(path);
                    }
                    before.entry(to).or_insert_with(|| {
                        queue.push_back(to);
                        at
                    });
                }
            }
            None
        };
        let path = (0..edges.len()).filter_map(from).min_by_key(Vec::len)?;
        let to = |place: usize| path[(place + 1) % path.len()];
        let waits: Vec<&Entry> = (0..path.len()).map(|at| edges[path[at]][&to(at)]).collect();
        let parts = waits.iter().enumerate().map(|(place, wait)| {
            let [name, other] = [path[place], to(place)].map(|at| &self.processes[at].name);
            let act = if wait.is_receive() {
                "receives from"
            } else {
                "sends to"
            };
            format!("{name} {act} {other} ({})", wait.subject())
        });
        // All ranks of a communicator have its collective operations in one order.
        let one = waits[0].communicator;
        let is_in_one = |it: &&Entry| it.kind == "collective" && it.communicator == one;
        let differ = waits.iter().all(is_in_one) && waits.iter().any(|it| it.tag != waits[0].tag);
        let why = if differ {
            "; these may be different operations"
        } else {
            ""
        };
        Some(format!(
            "cycle: {}{why}",
            parts.collect::<Vec<_>>().join(", ")
        ))
    }

    /// Collective operations in which some processes wait for others that are not in one.
    fn collectives(&self) -> Vec<String> {
        let mut found = Vec::new();
        let in_one = |entry: &Entry| entry.is_wait() && entry.kind == "collective";
        let all = self.processes.iter().flat_map(|process| &process.entries);
        let comms: BTreeSet<u64> = all
            .filter(|entry| in_one(entry))
            .map(|entry| entry.communicator)
            .collect();
        for comm in comms {
            let (mut inside, mut awaited) = (BTreeSet::new(), BTreeSet::new());
            for process in &self.processes {
                for entry in process
                    .entries
                    .iter()
                    .filter(|it| in_one(it) && it.communicator == comm)
                {
                    inside.insert(process.name.as_str());
                    awaited.extend(entry.peer.as_deref().and_then(|peer| self.of.get(peer)));
                }
            }
            let awaited = awaited
                .into_iter()
                .map(|at: &usize| self.processes[*at].name.as_str());
            let outside: BTreeSet<&str> = awaited.filter(|name| !inside.contains(name)).collect();
            if !outside.is_empty() {
                let (verb, be) = (
                    if inside.len() > 1 { "wait" } else { "waits" },
                    if outside.len() > 1 { "are" } else { "is" },
                );
                found.push(format!(
                    "{} {verb} in a collective operation of communicator {comm} for {}, which {be} not waiting in it",
                    list(&inside),
                    list(&outside)
                ));
            }
        }
        found
    }
}

#[cfg(test)]
mod tests;
