//! Jobs of the firmware, with the oracle's results.

use std::collections::HashMap;

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
fn events(workload: PaperWorkload, windows: usize, window: usize) -> Vec<Event> {
    let (comm, source) = (CommId(0), Rank::new(1).unwrap_or_default());
    let tag = |index: usize| workload.tag((index % window) as u16);
    let mut events = Vec::new();
    for first in (0..windows).map(|number| number * window) {
        events.extend((first..first + window).map(|index| Event::Post {
            recv: RecvId(index as u64),
            comm,
            selector: Selector::new(source, tag(index)),
            size: None,
            coll: None,
        }));
        events.extend((first..first + window).map(|index| Event::Arrive {
            msg: MsgId(index as u64),
            envelope: dpa_model::Envelope {
                comm,
                source,
                tag: tag(index),
            },
            bytes: None,
            coll: None,
            lie: 0,
        }));
    }
    events
}

/// A stream, with the oracle's outcomes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Job {
    pub name: String,
    pub harts: usize,
    /// The firmware's command line.
    pub arguments: String,
    /// The contents of [`STREAM`].
    pub stream: Vec<u8>,
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

impl Job {
    /// A workload of `windows` windows; the firmware counts after [`WARM_UP`] of them.
    pub fn workload(workload: PaperWorkload, windows: usize, window: usize) -> Self {
        let fast = if workload == PaperWorkload::SlowPath {
            "fast=off "
        } else {
            ""
        };
        let arguments = format!("{fast}order=free batch={window} warm={}", 2 * WARM_UP);
        Self::new(
            workload.name().to_owned(),
            arguments,
            &events(workload, windows, window),
        )
    }

    /// A random stream.
    pub fn stream(profile: Profile, seed: u64, events: u64) -> Self {
        let mut comms = HashMap::new();
        let mut list: Vec<Event> = Generator::new(seed, events, profile).collect();
        list.iter_mut()
            .for_each(|event| renumber(event, &mut comms));
        let (comms, room) = (comms.len().max(1), events + 1);
        let arguments = format!("comms={comms} receives={room} unexpected={room}");
        Self::new(format!("{profile} {seed}"), arguments, &list)
    }

    /// A stream of these events.
    pub fn new(name: String, arguments: String, events: &[Event]) -> Self {
        Self {
            name,
            harts: 1,
            arguments,
            stream: records(events),
            expected: oracle(events),
            events: events.iter().map(|event| format!("{event}\n")).collect(),
        }
    }

    /// The job for the firmware. `options` are further words of the command line, and replace the
    /// job's own.
    pub fn on(self, harts: usize, handlers: usize, ends: Ends, options: &str) -> Self {
        let (ends, more) = match ends {
            Ends::Leader => ("leader", 0),
            Ends::Apart => ("apart warm=0", 1),
        };
        let arguments = format!(
            "firmware stream={STREAM} out={OUT} harts={harts} handlers={handlers} ends={ends} \
             {options} {}",
            self.arguments
        );
        Self {
            harts: harts + more,
            arguments,
            ..self
        }
    }

    /// The difference to the oracle's outcomes, if any.
    pub fn difference(&self, written: Option<&Vec<u8>>) -> Option<String> {
        let Some(written) = written else {
            return Some("nothing was written".to_owned());
        };
        if *written == self.expected {
            return None;
        }
        let (mine, right) = (
            written.chunks(Outcome::RECORD_BYTES),
            self.expected.chunks(Outcome::RECORD_BYTES),
        );
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
        Event::Arrive {
            envelope, bytes, ..
        } => {
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
    operations
        .filter_map(|operation| operation.to_record())
        .flatten()
        .collect()
}

/// The oracle's outcomes in the firmware's output format.
fn oracle(events: &[Event]) -> Vec<u8> {
    let mut outcomes = Vec::new();
    let mut sink = |outcome: Outcome| outcomes.extend(outcome.to_record());
    let run = Oracle::new().run(&mut events.iter().copied(), &mut sink);
    run.expect("the oracle refuses nothing");
    outcomes
}
