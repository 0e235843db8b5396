//! The machine that a measurement is made on, and where its threads run.

use std::fmt;
use std::time::{Duration, Instant};

use super::signal::{Farewell, SharedWord, Word};
use super::stats::Summary;
use dpamatch::processors;

/// What the results depend on besides this program.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize)]
pub struct Machine {
    /// The processor's model.
    pub cpu: String,
    /// Processors that this process may use.
    pub processors: usize,
    /// Name and release of the kernel.
    pub kernel: String,
    /// The system's load average of the last minute, at the start.
    pub load: String,
}

impl Machine {
    /// This machine; what the system does not tell is called unknown.
    pub fn this() -> Self {
        let unknown = || "unknown".to_owned();
        let model = std::fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| {
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
        }
    }
}

#[cfg(unix)]
fn kernel() -> Option<String> {
    let system = rustix::system::uname();
    Some(format!("{} {}", system.sysname().to_string_lossy(), system.release().to_string_lossy()))
}

#[cfg(not(unix))]
fn kernel() -> Option<String> {
    None
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cpu, processors, kernel, load } = self;
        write!(f, "{cpu}, {processors} processors, {kernel}, load {load}")
    }
}

/// The processors that threads are pinned to: the receiver to the first, the sender to the second,
/// workers to the rest.
#[derive(Clone, Debug)]
pub(super) struct Processors {
    allowed: Vec<usize>,
}

impl Processors {
    /// Those that this process may use; none if the system does not tell.
    pub(super) fn allowed() -> Self {
        let allowed = processors::allowed();
        Self { allowed }
    }

    fn pin(&self, place: usize) -> bool {
        self.allowed.get(place).is_some_and(|&cpu| processors::pin_to(cpu).is_ok())
    }

    /// Those of sender and receiver, if there are two.
    pub(super) fn pair(&self) -> Option<(usize, usize)> {
        Some((*self.allowed.get(1)?, *self.allowed.first()?))
    }

    /// Pins the calling thread; whether that went well.
    pub(super) fn pin_receiver(&self) -> bool {
        self.pin(0)
    }

    /// Pins the calling thread; whether that went well.
    pub(super) fn pin_sender(&self) -> bool {
        self.pin(1)
    }

    /// Pins the calling thread, sender `number` > 0, far from the workers; if need be beside the
    /// first sender.
    pub(super) fn pin_other_sender(&self, number: usize) {
        self.pin(self.place_of_other_sender(number));
    }

    fn place_of_other_sender(&self, number: usize) -> usize {
        self.allowed.len().saturating_sub(number).max(1)
    }

    /// Pins the calling thread if there is a processor for it alone.
    pub(super) fn pin_worker(&self, worker: usize) {
        self.pin(2 + worker);
    }
}

/// Rounds of the ping-pong at most, and between two looks at the clock.
const TRIPS: u64 = 20_000;
const TRIPS_AT_ONCE: u64 = 250;
/// Time after which it ends all the same: with one processor every trip takes long.
const TRIPS_BUDGET: Duration = Duration::from_millis(20);

/// How long a word of memory takes from one processor to the other and back, in nanoseconds: the
/// median of short runs. It says how near the two are, which on a virtual machine changes by
/// itself. `None` if no thread could be started.
pub(super) fn hand_over_ns(processors: &Processors) -> Option<f64> {
    let (ping, pong) = (SharedWord::default(), SharedWord::default());
    std::thread::scope(|scope| {
        let echo = || {
            processors.pin_receiver();
            let _farewell = Farewell(&[&pong]);
            (1..).take_while(|&trip| ping.wait_for(trip).is_ok()).for_each(|trip| pong.say(trip));
        };
        std::thread::Builder::new().spawn_scoped(scope, echo).ok()?;
        let pinger = || {
            processors.pin_sender();
            let _farewell = Farewell(&[&ping]);
            let begin = Instant::now();
            let mut times = Vec::with_capacity((TRIPS / TRIPS_AT_ONCE) as usize);
            for first in (1..TRIPS).step_by(TRIPS_AT_ONCE as usize) {
                let start = Instant::now();
                for trip in first..first + TRIPS_AT_ONCE {
                    ping.say(trip);
                    pong.wait_for(trip).ok()?;
                }
                times.push(start.elapsed().as_nanos() as f64 / TRIPS_AT_ONCE as f64);
                if begin.elapsed() > TRIPS_BUDGET {
                    break;
                }
            }
            Summary::of(&times).map(|summary| summary.median)
        };
        let pinging = std::thread::Builder::new().spawn_scoped(scope, pinger);
        if pinging.is_err() {
            // Nobody else will tell the echo.
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
        let processors = Processors { allowed: (10..18).collect() };
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
    fn a_hand_over_takes_time() {
        assert!(hand_over_ns(&Processors::allowed()) > Some(0.0));
    }

    #[test]
    fn the_machine_has_processors() {
        assert!(Machine::this().processors > 0);
    }
}
