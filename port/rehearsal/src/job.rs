//! Jobs of the firmware, with the oracle's results.

use std::collections::{BTreeMap, HashMap};

use dpa_model::{CommId, MsgId, Outcome, PaperWorkload, Rank, RecvId, Selector};
use dpamatch::engine::Oracle;
use dpamatch::stream::{Event, Generator, Profile, StreamMatcher};

/// Windows before the firmware starts counting.
pub const WARM_UP: usize = 2;
/// Longest receive and message of a stream, above the firmware's eager limit.
const BYTES_MAX: u32 = 300;
/// Default message size.
const BYTES: u32 = 8;
/// The firmware's output file.
pub const OUT: &str = "outcomes.bin";
/// The firmware's input file.
pub const STREAM: &str = "stream.bin";

/// `windows` windows of `window` messages, one event after another.
fn events(
    workload: PaperWorkload,
    senders: usize,
    (windows, window): (usize, usize),
) -> Vec<Event> {
    let comm = CommId(0);
    let source = |index: usize| Rank::new(1 + (index % senders) as u32).unwrap_or_default();
    let tag = |index: usize| workload.tag((index % window) as u16);
    let mut events = Vec::new();
    for first in (0..windows).map(|number| number * window) {
        events.extend((first..first + window).map(|index| Event::Post {
            recv: RecvId(index as u64),
            comm,
            selector: Selector::new(source(index), tag(index)),
            size: None,
            coll: None,
        }));
        events.extend((first..first + window).map(|index| Event::Arrive {
            msg: MsgId(index as u64),
            envelope: dpa_model::Envelope { comm, source: source(index), tag: tag(index) },
            bytes: None,
            coll: None,
        }));
    }
    events
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Job {
    pub name: String,
    pub harts: usize,
    pub arguments: String,
    pub files: BTreeMap<String, Vec<u8>>,
    /// Expected contents of [`OUT`].
    pub expected: Vec<u8>,
    /// The events as text, one per line.
    pub events: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ends {
    Leader,
    Apart,
}

impl Ends {
    fn argument(self) -> &'static str {
        match self {
            Self::Leader => "ends=leader",
            Self::Apart => "ends=apart",
        }
    }
}

impl Job {
    /// A workload of `windows` windows after the warm-up. `options` are further words of the
    /// command line.
    pub fn workload(
        workload: PaperWorkload,
        harts_and_handlers: (usize, usize),
        ends: Ends,
        windows: (usize, usize),
        options: &str,
    ) -> Self {
        Self::workload_from(1, workload, harts_and_handlers, ends, windows, options)
    }

    pub fn workload_from(
        senders: usize,
        workload: PaperWorkload,
        (harts, handlers): (usize, usize),
        ends: Ends,
        (windows, window): (usize, usize),
        options: &str,
    ) -> Self {
        let arguments = format!(
            "firmware workload={} {} harts={harts} handlers={handlers} windows={windows} \
             window={window} senders={senders} out={OUT} {options}",
            workload.name(),
            ends.argument(),
        );
        let events = events(workload, senders, (windows + WARM_UP, window));
        Self {
            harts: harts + if ends == Ends::Apart { 1 + senders } else { 0 },
            arguments: arguments.trim_end().to_owned(),
            files: BTreeMap::new(),
            ..Self::for_host(workload.name().to_owned(), &events)
        }
    }

    pub fn stream(
        stream: (Profile, u64, u64),
        (harts, handlers): (usize, usize),
        ends: Ends,
        options: &str,
    ) -> Self {
        let room = stream.2 as usize + 1;
        Self::stream_in(stream, (harts, handlers), ends, (room, room), options)
    }

    /// A random stream for tables of the given sizes; software matches the overflow.
    pub fn stream_in(
        stream: (Profile, u64, u64),
        (harts, handlers): (usize, usize),
        ends: Ends,
        (receives, unexpected): (usize, usize),
        options: &str,
    ) -> Self {
        let (job, comms) = Self::random(stream);
        let arguments = format!(
            "firmware stream={STREAM} {} harts={harts} handlers={handlers} comms={comms} \
             receives={receives} unexpected={unexpected} out={OUT} {options}",
            ends.argument(),
        );
        Self {
            harts: harts + usize::from(ends == Ends::Apart),
            arguments: arguments.trim_end().to_owned(),
            ..job
        }
    }

    /// A workload for a host that plays streams.
    pub fn workload_for_host(workload: PaperWorkload, (windows, window): (usize, usize)) -> Self {
        Self::for_host(workload.name().to_owned(), &events(workload, 1, (windows, window)))
    }

    /// A random stream for a host that plays streams.
    pub fn stream_for_host(stream: (Profile, u64, u64)) -> Self {
        Self::random(stream).0
    }

    /// A random stream, and the number of its communicators.
    fn random((profile, seed, events): (Profile, u64, u64)) -> (Self, usize) {
        let mut comms = HashMap::new();
        let mut events: Vec<Event> = Generator::new(seed, events, profile).collect();
        events.iter_mut().for_each(|event| renumber(event, &mut comms));
        (Self::for_host(format!("{profile} {seed}"), &events), comms.len().max(1))
    }

    fn for_host(name: String, events: &[Event]) -> Self {
        Self {
            name,
            files: BTreeMap::from([(STREAM.to_owned(), records(events))]),
            expected: oracle(events),
            events: events.iter().map(|event| format!("{event}\n")).collect(),
            ..Self::default()
        }
    }

    /// The difference to the oracle's outcomes, if any.
    pub fn difference(&self, written: Option<&Vec<u8>>) -> Option<String> {
        let Some(written) = written else { return Some("nothing was written".to_owned()) };
        if *written == self.expected {
            return None;
        }
        let (mine, right) =
            (written.chunks(Outcome::RECORD_BYTES), self.expected.chunks(Outcome::RECORD_BYTES));
        let (mine_count, right_count) = (mine.len(), right.len());
        let first = mine.zip(right).position(|(mine, right)| mine != right);
        Some(match first {
            Some(index) => format!("outcome {index} is not the oracle's"),
            None => format!("{mine_count} outcomes, the oracle has {right_count}"),
        })
    }
}

/// Numbers communicators from 0 and bounds lengths.
fn renumber(event: &mut Event, comms: &mut HashMap<CommId, CommId>) {
    let next = CommId(comms.len() as u32);
    let mut rename = |comm: &mut CommId| *comm = *comms.entry(*comm).or_insert(next);
    match event {
        Event::Post { comm, size, .. } => {
            rename(comm);
            *size = size.map(|size| size.min(u64::from(BYTES_MAX)));
        }
        Event::Arrive { envelope, bytes, .. } => {
            rename(&mut envelope.comm);
            *bytes = bytes.map(|bytes| bytes.min(u64::from(BYTES_MAX)));
        }
        Event::Probe { comm, .. } | Event::Mprobe { comm, .. } => rename(comm),
        Event::Cancel { .. } => {}
    }
}

/// The stream in the firmware's input format.
fn records(events: &[Event]) -> Vec<u8> {
    let operations = events.iter().map(|event| event.operation(BYTES, BYTES));
    operations.filter_map(|operation| operation.to_record()).flatten().collect()
}

/// The oracle's outcomes in the firmware's output format.
fn oracle(events: &[Event]) -> Vec<u8> {
    let mut outcomes = Vec::new();
    let mut sink = |outcome: Outcome| outcomes.extend(outcome.to_record());
    let run = Oracle::new().run(&mut events.iter().copied(), &mut sink);
    run.expect("the oracle refuses nothing");
    outcomes
}
