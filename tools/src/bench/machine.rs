//! The machine of a measurement, and the placement of its threads.

use crate::counted;

use std::fmt;
use std::time::{Duration, Instant};

use super::signal::{Farewell, SharedWord, Word};
use super::stats::Summary;
use dpamatch::processors;

#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize)]
pub struct Machine {
    pub cpu: String,
    pub processors: usize,
    pub kernel: String,
    /// The load average of the last minute, at the start.
    pub load: String,
    /// The relation of the two measuring processors: shared core, memory nodes and clock governors,
    /// as the system reports them.
    pub pair: String,
}

impl Machine {
    pub fn this() -> Self {
        let unknown = || "unknown".to_owned();
        let model = std::fs::read_to_string("/proc/cpuinfo")
            .ok()
            .and_then(|text| {
                let line = text.lines().find(|line| line.starts_with("model name"))?;
                Some(line.split_once(':')?.1.trim().to_owned())
            });
        let load = std::fs::read_to_string("/proc/loadavg").ok();
        let load = load.and_then(|text| Some(text.split_whitespace().next()?.to_owned()));
        Self {
            cpu: model.unwrap_or_else(unknown),
            processors: std::thread::available_parallelism().map_or(1, usize::from),
            kernel: kernel().unwrap_or_else(unknown),
            load: load.unwrap_or_else(unknown),
            pair: Processors::allowed().told(),
        }
    }

    /// A warning if other programs kept the processors busy when this was read, or if the load is
    /// unknown.
    pub fn busy(&self) -> Option<String> {
        let Ok(load) = self.load.parse::<f64>() else {
            return Some("the load of the machine at the start is unknown".to_owned());
        };
        (load >= BUSY * self.processors as f64).then(|| {
            let processors = counted(self.processors, "processor");
            format!("the machine was busy at the start, load {load:.2} on {processors}")
        })
    }
}

/// Load average per processor above which the machine counts as busy.
const BUSY: f64 = 0.5;

fn of_processor(cpu: usize, file: &str) -> Option<String> {
    let path = format!("/sys/devices/system/cpu/cpu{cpu}/{file}");
    Some(std::fs::read_to_string(path).ok()?.trim().to_owned())
}

fn node_of(cpu: usize) -> Option<usize> {
    let entries = std::fs::read_dir(format!("/sys/devices/system/cpu/cpu{cpu}")).ok()?;
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names
        .filter_map(|name| name.strip_prefix("node")?.parse().ok())
        .next()
}

/// Whether a list such as `0,2-5` contains the number.
fn siblings_hold(list: &str, cpu: usize) -> bool {
    list.split(',').any(|part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |text: &str| text.trim().parse::<usize>().ok();
        number(first)
            .zip(number(last))
            .is_some_and(|(first, last)| (first..=last).contains(&cpu))
    })
}

#[cfg(unix)]
fn kernel() -> Option<String> {
    let system = rustix::system::uname();
    Some(format!(
        "{} {}",
        system.sysname().to_string_lossy(),
        system.release().to_string_lossy()
    ))
}

#[cfg(not(unix))]
fn kernel() -> Option<String> {
    None
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            cpu,
            processors,
            kernel,
            load,
            pair,
        } = self;
        let processors = counted(processors, "processor");
        write!(f, "{cpu}, {processors}, {kernel}, load {load}; {pair}")
    }
}

/// The processors for pinning: the receiver gets the first, the sender the second, workers the
/// rest.
#[derive(Clone, Debug)]
pub(super) struct Processors {
    allowed: Vec<usize>,
}

impl Processors {
    /// The processors that this process may use; none if the system does not say.
    pub(super) fn allowed() -> Self {
        let allowed = processors::allowed();
        Self { allowed }
    }

    fn pin(&self, place: usize) -> bool {
        self.allowed
            .get(place)
            .is_some_and(|&cpu| processors::pin_to(cpu).is_ok())
    }

    /// Whether each of so many threads can have its own processor.
    pub(super) fn have_room_for(&self, threads: usize) -> bool {
        threads <= self.allowed.len()
    }

    pub(super) fn pair(&self) -> Option<(usize, usize)> {
        Some((*self.allowed.get(1)?, *self.allowed.first()?))
    }

    fn told(&self) -> String {
        let Some((sender, receiver)) = self.pair() else {
            return "one processor for sender and receiver".to_owned();
        };
        let siblings = of_processor(receiver, "topology/thread_siblings_list");
        let siblings = siblings.map_or("cores unknown".to_owned(), |list| {
            match siblings_hold(&list, sender) {
                true => "reported as one core".to_owned(),
                false => "reported as separate cores".to_owned(),
            }
        });
        let nodes = match (node_of(receiver), node_of(sender)) {
            (Some(a), Some(b)) if a == b => format!("node {a}"),
            (Some(a), Some(b)) => format!("nodes {a} and {b}"),
            _ => "nodes unknown".to_owned(),
        };
        let governor = of_processor(receiver, "cpufreq/scaling_governor");
        let governor =
            governor.map_or("governor unknown".to_owned(), |it| format!("governor {it}"));
        format!("processors {receiver} and {sender}: {siblings}, {nodes}, {governor}")
    }

    /// Pins the calling thread; returns whether that succeeded.
    pub(super) fn pin_receiver(&self) -> bool {
        self.pin(0)
    }

    pub(super) fn pin_sender(&self) -> bool {
        self.pin(1)
    }

    /// Pins the calling thread, sender `number` > 0, far from the workers if possible.
    pub(super) fn pin_other_sender(&self, number: usize) {
        self.pin(self.place_of_other_sender(number));
    }

    fn place_of_other_sender(&self, number: usize) -> usize {
        self.allowed.len().saturating_sub(number).max(1)
    }

    pub(super) fn pin_worker(&self, worker: usize) {
        self.pin(2 + worker);
    }
}

/// Share of a processor's time above which nobody else uses it.
const FREE: f64 = 0.9;
const PROBE: Duration = Duration::from_millis(20);

/// How many of the two measuring processors are free: threads spin on both and compare the time
/// that they got with the time that passed. Where the system does not count a thread's time, a
/// processor counts as free: the measurement then drops the disturbed windows by itself.
pub fn free_processors() -> usize {
    let processors = Processors::allowed();
    let pinned = match processors.pair() {
        Some(_) => vec![Processors::pin_receiver, Processors::pin_sender],
        None => vec![Processors::pin_receiver as fn(&Processors) -> bool],
    };
    let share = |pin: fn(&Processors) -> bool| {
        pin(&processors);
        let (begin, before) = (Instant::now(), processor_time());
        while begin.elapsed() < PROBE {
            std::hint::spin_loop();
        }
        let used = processor_time()
            .zip(before)
            .map(|(now, before)| now - before);
        used.is_none_or(|used| used.as_secs_f64() >= FREE * begin.elapsed().as_secs_f64())
    };
    std::thread::scope(|scope| {
        let probes: Vec<_> = pinned
            .into_iter()
            .map(|pin| scope.spawn(move || share(pin)))
            .collect();
        let free = probes.into_iter().filter_map(|probe| probe.join().ok());
        free.filter(|free| *free).count()
    })
}

/// The processor time of the calling thread; `None` where the system does not tell.
fn processor_time() -> Option<Duration> {
    #[cfg(unix)]
    {
        let now = nix::time::ClockId::CLOCK_THREAD_CPUTIME_ID.now().ok()?;
        Some(Duration::from(now))
    }
    #[cfg(not(unix))]
    None
}

/// Maximum rounds of the ping-pong, and rounds between two clock readings.
const TRIPS: u64 = 20_000;
const TRIPS_AT_ONCE: u64 = 250;
const TRIPS_FIRST: usize = 4;

/// Cache-line round trips between two processors in nanoseconds, by short runs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct RoundTrip {
    /// The time of the fastest run, which shows how near the processors are.
    pub(super) fastest_ns: f64,
    pub(super) median_ns: f64,
}

/// Measures the round trip between two processors. Ends after `budget`, since trips on a single
/// processor take long. `None` if a thread could not be started.
pub(super) fn round_trip(processors: &Processors, budget: Duration) -> Option<RoundTrip> {
    let (ping, pong) = (SharedWord::default(), SharedWord::default());
    std::thread::scope(|scope| {
        let echo = || {
            processors.pin_receiver();
            let _farewell = Farewell(&[&pong]);
            (1..)
                .take_while(|&trip| ping.wait_for(trip).is_ok())
                .for_each(|trip| pong.say(trip));
        };
        std::thread::Builder::new().spawn_scoped(scope, echo).ok()?;
        let pinger = || {
            processors.pin_sender();
            let _farewell = Farewell(&[&ping]);
            let begin = Instant::now();
            let mut times = Vec::with_capacity((TRIPS / TRIPS_AT_ONCE) as usize);
            let mut trips = 1..TRIPS;
            // The first trips show whether there is time for more, since each may take
            // milliseconds.
            let mut at_once = TRIPS_FIRST;
            while begin.elapsed() < budget && !trips.is_empty() {
                let start = Instant::now();
                let mut made = 0;
                for trip in trips.by_ref().take(at_once) {
                    ping.say(trip);
                    pong.wait_for(trip).ok()?;
                    made += 1;
                }
                times.push(start.elapsed().as_nanos() as f64 / f64::from(made));
                at_once = TRIPS_AT_ONCE as usize;
            }
            Summary::from_values(&times).map(|summary| RoundTrip {
                fastest_ns: summary.min,
                median_ns: summary.median,
            })
        };
        let pinging = std::thread::Builder::new().spawn_scoped(scope, pinger);
        if pinging.is_err() {
            // Ends the echo thread.
            drop(Farewell(&[&ping]));
        }
        pinging.ok()?.join().ok()?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_stays_where_it_was_pinned() {
        let processors = Processors::allowed();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                assert!(processors.pin_receiver());
                assert_eq!(Processors::allowed().allowed, processors.allowed[..1]);
                assert!(!Processors::allowed().pin_sender(), "one processor is left");
            });
        });
    }

    #[test]
    fn every_thread_has_its_place() {
        let processors = Processors {
            allowed: (10..18).collect(),
        };
        assert_eq!(processors.pair(), Some((11, 10)), "sender, receiver");
        let others = [1, 2, 7, 8, 60].map(|number| processors.place_of_other_sender(number));
        assert_eq!(others, [7, 6, 1, 1, 1]);
        assert_eq!(Processors { allowed: vec![3] }.pair(), None);
        let allowed = Processors::allowed();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                assert_eq!(allowed.pin_sender(), allowed.allowed.len() > 1);
                if let [_, second, ..] = allowed.allowed[..] {
                    assert_eq!(Processors::allowed().allowed, [second]);
                }
            });
        });
    }

    #[test]
    fn a_round_trip_takes_time() {
        let budget = Duration::from_millis(20);
        let trip = round_trip(&Processors::allowed(), budget).expect("a thread");
        assert!(0.0 < trip.fastest_ns && trip.fastest_ns <= trip.median_ns);
    }

    #[test]
    fn lists_of_siblings_have_ranges() {
        let holds = |list| [0, 1, 2, 5, 6].map(|cpu| siblings_hold(list, cpu));
        assert_eq!(holds("0,2-5"), [true, false, true, true, false]);
        assert_eq!(holds(""), [false; 5]);
    }

    #[test]
    fn the_machine_has_processors() {
        assert!(Machine::this().processors > 0);
    }
}
