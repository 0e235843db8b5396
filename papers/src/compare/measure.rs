//! Measures one stream on several engines.

use std::fmt;
use std::time::{Duration, Instant};

use super::CompareError;
use super::cards::{self, CARDS, CardRoom};
use dpamatch::engine::{Counter, Engine};
use dpamatch::registry::{BuildError, EngineEntry, EngineOptions};
use dpamatch::stream::{Event, Outcome, StreamMatcher, apply};
use dpamatch_tools::bench::Summary;
use dpamatch_tools::counted;
use dpamatch_tools::workload::Workload;

/// An engine's time in a case before its rounds are cut short.
const BUDGET: Duration = Duration::from_millis(700);
/// Rounds go on until they have taken this time per engine in total, or have reached ten times
/// their number. A median of three short rounds says little on a busy machine.
const LEAST: Duration = Duration::from_millis(15);
const MORE_ROUNDS: usize = 10;
/// Longest stream held in memory for timing.
const TIMED_EVENTS: u64 = 4 << 20;

/// How many measurements have no times or fewer rounds than wanted, in words.
pub(super) fn untimed(all: &[&Measurement], rounds: usize) -> Option<String> {
    let few = |few: fn(usize, usize) -> bool| {
        let rounds = |own: &&&Measurement| few(own.ns.len(), rounds);
        all.iter().filter(rounds).count()
    };
    let (none, fewer) = (
        few(|has, _| has == 0),
        few(|has, most| 0 < has && has < most),
    );
    (rounds > 0 && none + fewer > 0).then(|| {
        format!(
            "times: {none} of {} missing (more than {TIMED_EVENTS} events), {fewer} of fewer than \
             {rounds} rounds (more than {} ms)",
            all.len(),
            BUDGET.as_millis()
        )
    })
}

/// How far the times of a case lie apart, and whether other work disturbs them.
pub(super) fn disturbed(all: &[&Measurement]) -> Vec<String> {
    let mut spreads = Vec::new();
    for own in all {
        let summary = Summary::from_values(&own.ns);
        spreads.extend(summary.map(|it| (100.0 * (it.max - it.min) / it.median, own)));
    }
    spreads.sort_by(|a, b| a.0.total_cmp(&b.0));
    let Some(&(most, worst)) = spreads.last() else {
        return Vec::new();
    };
    let middle = spreads[spreads.len() / 2].0;
    let mut notes = vec![format!(
        "times: medians; a row's slowest round is {middle:.0} % of the median above its fastest in \
         the middle, {most:.0} % at worst ({}). Smaller differences say nothing.",
        worst.engine
    )];
    let load = std::fs::read_to_string("/proc/loadavg").ok();
    let load = load.and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    notes.extend(load.and_then(|load| warning(load, processors)));
    notes
}

/// This program is one of the load's runnable threads.
fn warning(load: f64, processors: usize) -> Option<String> {
    (load > 1.5).then(|| {
        format!(
            "warning: the load is {load:.1} on {}: other programs disturb the times",
            counted(processors, "processor")
        )
    })
}

pub struct Candidate {
    pub name: String,
    make: Box<dyn Fn(Room) -> Result<Made, BuildError>>,
}

enum Made {
    Engine(Box<dyn Engine>),
    Stream(Box<dyn StreamMatcher>),
}

/// Most entries that a case keeps, for engines with fixed tables.
#[derive(Clone, Copy, Debug, Default)]
struct Room {
    receives: usize,
    messages: usize,
    communicators: usize,
}

impl Room {
    /// Limit of the tables of a card.
    const MOST: usize = 1 << 17;

    /// The options with cards that hold the case, up to the limit: the emulated NIC's tables, and
    /// the entries of the other cards. Consumed receives keep their entries until the end of their
    /// block, and Portals has one pool for receives and messages.
    fn enlarge(self, options: &EngineOptions) -> EngineOptions {
        let mut options = options.clone();
        let nic = &mut options.nic;
        let receives = self.receives + 2 * nic.handlers;
        if receives.max(self.messages) <= Self::MOST {
            nic.receives = nic.receives.max(receives);
            nic.unexpected = nic.unexpected.max(self.messages);
            nic.communicators = nic.communicators.max(self.communicators);
            let entries = (self.receives + self.messages) as u32;
            options.list_entries = options.list_entries.max(entries);
        }
        options
    }
}

impl fmt::Debug for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Candidate").field(&self.name).finish()
    }
}

impl Candidate {
    /// An engine of the registry, with this room if it stands for a card.
    pub fn registered(
        entry: &'static EngineEntry,
        options: &EngineOptions,
        room: CardRoom,
    ) -> Self {
        Self::with_room(entry, entry.name, options, room)
    }

    /// An engine of the registry under its own name, which also decides its real room.
    pub(super) fn with_room(
        entry: &'static EngineEntry,
        name: &'static str,
        options: &EngineOptions,
        room: CardRoom,
    ) -> Self {
        let options = options.clone();
        let make = move |needed: Room| {
            let options = match room.of(name).filter(|_| CARDS.contains(&entry.name)) {
                Some(entries) => cards::bound(&options, entries, needed.communicators),
                None => needed.enlarge(&options),
            };
            let options = match entry.name {
                "optimistic" => cards::with_bins(&options),
                _ => options,
            };
            match entry.engine(&options) {
                Some(engine) => Ok(Made::Engine(engine)),
                None => entry.build(&options).map(Made::Stream),
            }
        };
        Self {
            name: name.to_owned(),
            make: Box::new(make),
        }
    }

    pub(super) fn named(self, name: &str) -> Self {
        Self {
            name: name.to_owned(),
            ..self
        }
    }

    pub fn new(name: impl Into<String>, make: impl Fn() -> Box<dyn Engine> + 'static) -> Self {
        Self {
            name: name.into(),
            make: Box::new(move |_| Ok(Made::Engine(make()))),
        }
    }

    /// Builds an engine for this workload, which fixes the sizes of the communicators and needs
    /// `room`.
    fn build(&self, workload: &Workload, room: Room) -> Result<Made, BuildError> {
        let mut made = (self.make)(room)?;
        if let Made::Engine(engine) = &mut made {
            workload
                .comm_sizes()
                .for_each(|(comm, size)| engine.set_comm_size(comm, size));
        }
        Ok(made)
    }

    fn failed(&self) -> impl FnOnce(dpamatch::stream::RunError) -> CompareError {
        let engine = self.name.clone();
        |source| CompareError::Run { engine, source }
    }
}

fn find(counters: &[Counter], name: &str) -> Option<u64> {
    counters
        .iter()
        .find(|counter| counter.name == name)
        .map(|counter| counter.value)
}

#[derive(Clone, Debug)]
pub struct Measurement {
    pub engine: String,
    pub counters: Vec<Counter>,
    /// The counters' values after the queues were filled ([`Workload::filling`]).
    pub filling: Vec<Counter>,
    pub matches: u64,
    pub digest: Digest,
    /// Nanoseconds per match, by round; empty without timing.
    pub ns: Vec<f64>,
}

impl Measurement {
    pub fn counter(&self, name: &str) -> Option<u64> {
        find(&self.counters, name)
    }

    /// Increase of a monotonic counter after the queues were filled.
    pub fn rise(&self, name: &str) -> Option<u64> {
        Some(self.counter(name)? - find(&self.filling, name).unwrap_or(0))
    }

    /// Compares and hops in searches of one queue, `prq` or `umq`, after the queues were filled;
    /// `None` if the engine does not count them. The emulated NIC counts its own and those of the
    /// software behind it, and also while the queues are filled.
    pub fn steps_of(&self, queue: &str) -> Option<u64> {
        let sum = self.counter(&format!("{queue}_steps"));
        let both = || {
            Some(self.rise(&format!("{queue}_attempts"))? + self.rise(&format!("{queue}_hops"))?)
        };
        sum.or_else(both)
    }

    /// Compares and hops of all searches.
    pub fn steps(&self) -> Option<u64> {
        Some(self.steps_of("prq")? + self.steps_of("umq")?)
    }

    pub fn steps_per_match(&self) -> Option<f64> {
        Some(self.steps()? as f64 / self.matches.max(1) as f64)
    }

    /// Ratio of another engine's steps to this one's.
    pub fn fewer_steps_than(&self, other: &Self) -> Option<f64> {
        Some(other.steps()? as f64 / self.steps()?.max(1) as f64)
    }

    pub fn ns_per_match(&self) -> Option<f64> {
        Summary::from_values(&self.ns).map(|summary| summary.median)
    }

    /// Speed-up over another engine: median over their common rounds.
    pub fn faster_than(&self, other: &Self) -> Option<f64> {
        let ratios: Vec<f64> = self
            .ns
            .iter()
            .zip(&other.ns)
            .map(|(own, other)| other / own)
            .collect();
        Summary::from_values(&ratios).map(|summary| summary.median)
    }
}

/// Checksum of results, in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Digest(u64);

impl Default for Digest {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Digest {
    pub fn add(&mut self, outcome: Outcome) {
        let values = match outcome {
            Outcome::Matched { recv, msg } => [0, recv.0, msg.0],
            Outcome::Posted { recv } => [1, recv.0, 0],
            Outcome::Unexpected { msg } => [2, msg.0, 0],
            // Workloads neither probe nor cancel.
            _ => [3, 0, 0],
        };
        for value in values {
            self.0 = (self.0 ^ value)
                .wrapping_mul(0x100_0000_01b3)
                .rotate_left(23);
        }
    }
}

/// Runs the workload's first `limit` events on all candidates, the first of which is the baseline.
///
/// A counting run also compares the results. Then come at least `rounds` timed rounds over all
/// candidates. A candidate that has spent more than 0.7 s skips the later rounds, and streams of
/// more than four million events are not timed. Timing starts at the first search that can find an
/// entry.
///
/// # Errors
/// [`CompareError`], which names the `case`.
pub fn measure(
    candidates: &[Candidate],
    workload: &Workload,
    limit: Option<u64>,
    rounds: usize,
    case: &str,
) -> Result<Vec<Measurement>, CompareError> {
    let events = || {
        workload
            .events()
            .map(|events| events.take(limit.map_or(usize::MAX, |limit| limit as usize)))
    };
    let mut all: Vec<Measurement> = Vec::new();
    let mut room = Room::default();
    for candidate in candidates {
        let measurement = count(candidate, workload, room, &mut events()?)?;
        if let Some(baseline) = all
            .first()
            .filter(|baseline| baseline.digest != measurement.digest)
        {
            let (engine, baseline) = (measurement.engine, baseline.engine.clone());
            return Err(CompareError::Differs {
                engine,
                baseline,
                case: case.to_owned(),
            });
        }
        if all.is_empty() {
            let most = |name| measurement.counter(name).unwrap_or(0) as usize;
            room = Room {
                receives: most("prq_length_max"),
                messages: most("umq_length_max"),
                communicators: workload.comm_sizes().count(),
            };
        }
        all.push(measurement);
    }
    let stream: Vec<Event> = match rounds {
        0 => return Ok(all),
        _ => events()?.take(TIMED_EVENTS as usize + 1).collect(),
    };
    if stream.len() as u64 > TIMED_EVENTS {
        return Ok(all);
    }
    let (fill, rest) = stream.split_at(stream.len().min(workload.filling() as usize));
    let mut spent = vec![Duration::ZERO; candidates.len()];
    for round in 0..rounds * MORE_ROUNDS {
        if round >= rounds && spent.iter().sum::<Duration>() > LEAST * candidates.len() as u32 {
            break;
        }
        for (i, candidate) in candidates.iter().enumerate() {
            if spent[i] > BUDGET {
                continue;
            }
            let begin = Instant::now();
            let time = time(candidate, workload, room, fill, rest)?;
            spent[i] += begin.elapsed();
            let matches = all[i].matches.max(1) as f64;
            all[i].ns.push(time.as_nanos() as f64 / matches);
        }
    }
    Ok(all)
}

fn count(
    candidate: &Candidate,
    workload: &Workload,
    room: Room,
    events: &mut dyn Iterator<Item = Event>,
) -> Result<Measurement, CompareError> {
    let (mut digest, mut matches) = (Digest::default(), 0);
    let mut sink = |outcome: Outcome| {
        matches += u64::from(matches!(outcome, Outcome::Matched { .. }));
        digest.add(outcome);
    };
    let mut filling = Vec::new();
    let counters = match candidate.build(workload, room)? {
        Made::Engine(mut engine) => {
            for event in events.take(workload.filling() as usize) {
                apply(engine.as_mut(), event)
                    .into_iter()
                    .for_each(&mut sink);
            }
            filling = engine.as_ref().counters();
            engine
                .as_mut()
                .run(events, &mut sink)
                .map_err(candidate.failed())?;
            engine.as_ref().counters()
        }
        Made::Stream(mut matcher) => {
            matcher.run(events, &mut sink).map_err(candidate.failed())?;
            matcher.counters()
        }
    };
    Ok(Measurement {
        engine: candidate.name.clone(),
        counters,
        filling,
        matches,
        digest,
        ns: Vec::new(),
    })
}

/// Times the events after those that fill the queues.
fn time(
    candidate: &Candidate,
    workload: &Workload,
    room: Room,
    fill: &[Event],
    rest: &[Event],
) -> Result<Duration, CompareError> {
    let time = match candidate.build(workload, room)? {
        Made::Engine(mut engine) => engine.as_mut().time(fill, rest),
        Made::Stream(mut matcher) => matcher.time(fill, rest),
    };
    time.map_err(candidate.failed())
}

#[cfg(test)]
mod tests {
    use dpamatch_vocabulary::{CommId, Selector, SourceSel, TagSel};

    use super::*;
    use dpamatch::engine::{ListEngine, Oracle, RecvId};
    use dpamatch::registry;
    use dpamatch_tools::workload::Pattern;

    fn depth() -> Workload {
        Workload {
            pending: 100,
            rounds: 5,
            ..Pattern::Depth.usual()
        }
    }

    #[test]
    fn steps_are_those_of_the_searches() {
        let entry = registry::find("list").expect("a known name");
        let list = Candidate::registered(entry, &EngineOptions::default(), CardRoom::All);
        let all = measure(&[list], &depth(), None, 2, "depth").expect("a measurement");
        assert_eq!(
            (all[0].matches, all[0].steps(), all[0].steps_per_match()),
            (5, Some(5 * 101), Some(101.0))
        );
        assert!(all[0].ns.len() >= 2 && all[0].ns_per_match() > Some(0.0));
        assert_eq!(all[0].faster_than(&all[0]), Some(1.0));
    }

    #[test]
    fn tables_are_as_large_as_the_case_up_to_a_bound() {
        let options = EngineOptions::default();
        let nic = options.nic;
        let most = Room::MOST - 2 * nic.handlers;
        let sizes = |options: EngineOptions| {
            let nic = options.nic;
            let tables = [nic.receives, nic.unexpected, nic.communicators];
            (tables, options.list_entries as usize)
        };
        let built = |receives, messages| {
            let room = Room {
                receives,
                messages,
                communicators: nic.communicators + 3,
            };
            sizes(room.enlarge(&options))
        };
        let more = nic.communicators + 3;
        let usual = sizes(options.clone());
        assert_eq!(built(most - 1, 7).0[0], Room::MOST - 1);
        assert_eq!(
            built(most, 7),
            ([Room::MOST, nic.unexpected, more], most + 7)
        );
        assert_eq!(built(most + 1, 7), usual);
        assert_eq!(
            built(5, Room::MOST),
            ([nic.receives, Room::MOST, more], Room::MOST + 5)
        );
        assert_eq!(built(5, Room::MOST + 1), usual);
    }

    /// More receives than the default table of the NIC: it still matches all.
    #[test]
    fn a_long_queue_stays_on_the_nic() {
        let list = registry::find("list").expect("a known name");
        let entry = registry::find("optimistic").expect("a known name");
        let options = EngineOptions {
            threads: false,
            ..EngineOptions::default()
        };
        let pending = options.nic.receives as u32 + 100;
        let workload = Workload { pending, ..depth() };
        let candidates =
            [list, entry].map(|entry| Candidate::registered(entry, &options, CardRoom::All));
        let all = measure(&candidates, &workload, None, 1, "depth").expect("a measurement");
        assert_eq!(all[0].steps(), Some(5 * (u64::from(pending) + 1)));
        assert_eq!(all[1].counter("fallback_receives"), Some(0));
        assert!(all[1].steps() >= Some(5) && all[1].ns_per_match() > Some(0.0));
    }

    #[test]
    fn missing_times_are_said() {
        let with = |rounds: usize| Measurement {
            engine: String::new(),
            counters: Vec::new(),
            filling: Vec::new(),
            matches: 1,
            digest: Digest::default(),
            ns: vec![1.0; rounds],
        };
        let [none, two, three, four] = [0, 2, 3, 4].map(with);
        assert_eq!(untimed(&[&three, &four], 3), None);
        assert_eq!(untimed(&[&none], 0), None);
        assert_eq!(
            untimed(&[&none, &two, &two, &three], 3).as_deref(),
            Some(
                "times: 1 of 4 missing (more than 4194304 events), 2 of fewer than 3 rounds (more \
                 than 700 ms)"
            )
        );
    }

    #[test]
    fn the_spread_of_times_is_said() {
        let of = |engine: &str, ns: &[f64]| Measurement {
            engine: engine.to_owned(),
            counters: Vec::new(),
            filling: Vec::new(),
            matches: 1,
            digest: Digest::default(),
            ns: ns.to_vec(),
        };
        let (near, far) = (
            of("near", &[10.0, 10.0, 11.0]),
            of("far", &[30.0, 10.0, 20.0]),
        );
        let notes = disturbed(&[&far, &near, &near]);
        assert_eq!(
            notes[0],
            "times: medians; a row's slowest round is 10 % of the median above its fastest in the \
             middle, 100 % at worst (far). Smaller differences say nothing."
        );
        assert!(disturbed(&[&of("untimed", &[])]).is_empty());
        assert_eq!(warning(1.5, 4), None);
        assert_eq!(
            warning(2.04, 4).as_deref(),
            Some("warning: the load is 2.0 on 4 processors: other programs disturb the times")
        );
    }

    /// An engine with an additional receive.
    #[test]
    fn other_results_end_the_comparison() {
        let list = Candidate::new("list", || Box::new(ListEngine::new()));
        let wrong = Candidate::new("wrong", || {
            let mut oracle = Oracle::new();
            oracle.post(
                RecvId(77),
                CommId(0),
                Selector::new(SourceSel::Any, TagSel::Any),
            );
            Box::new(oracle)
        });
        let error = measure(&[list, wrong], &depth(), None, 0, "a case").expect_err("they differ");
        assert_eq!(
            error.to_string(),
            "engine wrong gives other results than list for a case"
        );
    }

    /// In reverse order a search of one bin passes all younger entries, on the card, behind it and
    /// in both queues.
    #[test]
    fn steps_of_the_emulated_nic() {
        let entry = registry::find("optimistic").expect("a known name");
        let options = EngineOptions {
            threads: false,
            bins: dpamatch::engine::BinCount::new(1).expect("a number"),
            ..EngineOptions::default()
        };
        let steps = |workload: Workload, room| {
            let candidate = Candidate::registered(entry, &options, room);
            let all = measure(&[candidate], &workload, None, 0, "a case").expect("a measurement");
            let of = |queue| all[0].steps_of(queue);
            assert_eq!(
                all[0].steps(),
                Some(of("prq").unwrap_or(0) + of("umq").unwrap_or(0))
            );
            [of("prq"), of("umq"), all[0].counter("software_matches")]
        };
        let posted = depth();
        let early = Workload {
            early: 100,
            ..depth()
        };
        // 100 entries of other tags stay before each of the five.
        assert_eq!(steps(posted, CardRoom::All), [Some(505), Some(0), Some(0)]);
        assert_eq!(steps(early, CardRoom::All), [Some(0), Some(505), Some(0)]);
        // 40 entries are on the card, and 60 behind it.
        assert_eq!(steps(posted, CardRoom::Each(40))[2], Some(5));
        assert_eq!(steps(posted, CardRoom::Each(40))[..2], [Some(505), Some(0)]);
        assert_eq!(steps(early, CardRoom::Each(40))[2], Some(5));
    }
}
