//! M host threads that run the NIC (std only). They are not part of the algorithm; a real DPA does
//! not need them.
//!
//! Worker 0 leads. A worker without work for a while marks itself as sleeping. The leader gives
//! slices only to workers below the first sleeper, and wakes sleepers when full blocks keep coming.
//! So idle workers occupy no processors, and no hand-over waits for a sleeping thread longer than
//! one sleep.
//!
//! Sharing a block costs hand-overs, and more threads than processors take time from senders and
//! host. So the leader regularly tries both ways and keeps the faster one, unless the configuration
//! fixes the slices' length ([`NicConfig::slice_min`](crate::NicConfig::slice_min)).
//!
//! ordering: the flags are hints. A block's own words order its slices, a worker that misses one
//! sleeps a millisecond, and `join` orders the end.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{Builder, JoinHandle, Thread};
use std::time::{Duration, Instant};
use std::vec::Vec;

use crate::sync::Wait;
use crate::{Leader, Round, Worker};

/// Blocks between two attempts to wake sleeping workers.
const WAKE_EVERY: u32 = 64;

/// Rounds in a trial of one way. The faster way then runs long enough that trials of the slower one
/// do not count.
const TRIAL: u32 = 128;
const SETTLED: u32 = 8192;

/// Whether the leader shares blocks: it times both ways and keeps the one with less time per
/// message.
#[derive(Debug)]
struct Sharing {
    phase: SharingPhase,
    /// Rounds left in this state.
    rounds: u32,
    /// Start of this state, and the messages matched by then.
    since: Option<(Instant, u64)>,
    /// Time per message when shared, in nanoseconds.
    shared_ns: f64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum SharingPhase {
    TryShared,
    TryAlone,
    Shared,
    Alone,
}

impl Sharing {
    fn new() -> Self {
        Self {
            phase: SharingPhase::TryShared,
            rounds: TRIAL,
            since: None,
            shared_ns: 0.0,
        }
    }

    /// Whether blocks are shared now.
    fn on(&self) -> bool {
        matches!(self.phase, SharingPhase::TryShared | SharingPhase::Shared)
    }

    /// Records a round that did work; `messages` so far. Returns whether to share the next blocks.
    /// Reads the clock only at a state's beginning and end.
    fn note(&mut self, messages: u64, now: impl FnOnce() -> Instant) -> bool {
        let Some((began, before)) = self.since else {
            self.since = Some((now(), messages));
            return false;
        };
        self.rounds -= 1;
        if self.rounds > 0 {
            return false;
        }
        let now = now();
        let each_ns = (now - began).as_nanos() as f64 / (messages - before).max(1) as f64;
        (self.phase, self.rounds) = match self.phase {
            SharingPhase::TryShared => {
                self.shared_ns = each_ns;
                (SharingPhase::TryAlone, TRIAL)
            }
            SharingPhase::TryAlone if self.shared_ns < each_ns => (SharingPhase::Shared, SETTLED),
            SharingPhase::TryAlone => (SharingPhase::Alone, SETTLED),
            SharingPhase::Shared | SharingPhase::Alone => (SharingPhase::TryShared, TRIAL),
        };
        self.since = None;
        self.on()
    }
}

#[derive(Debug)]
struct Team {
    /// Whether worker w + 1 polls.
    awake: Vec<AtomicBool>,
    /// The leader has ended: no further block will be published.
    dissolved: AtomicBool,
}

/// Running threads; stops them when dropped.
#[derive(Debug)]
pub struct Pool {
    leader: Option<JoinHandle<()>>,
    stop: crate::Stop,
}

impl Pool {
    /// Starts one thread per worker. Each first calls `on_start` with the worker's number, for
    /// example to pin the thread. Blocks are shared only with workers whose `on_start` has
    /// returned.
    ///
    /// `workers` are all workers built with this leader, in any order. When its threads have ended,
    /// the pool marks the NIC as stopped; the host then frees the buffers that it lent.
    ///
    /// # Errors
    /// The system's error if it starts no thread; the NIC is then stopped.
    ///
    /// # Panics
    /// If a worker of this NIC is missing, or belongs to another NIC.
    pub fn start(
        leader: Leader,
        workers: Vec<Worker>,
        on_start: impl Fn(usize) + Send + Sync + 'static,
    ) -> io::Result<Self> {
        leader.check_workers(&workers);
        let on_start = Arc::new(on_start);
        let stop = leader.stop();
        let team = Arc::new(Team {
            awake: workers.iter().map(|_| AtomicBool::new(false)).collect(),
            dissolved: AtomicBool::new(false),
        });
        let mut threads = Vec::new();
        for worker in workers {
            let (team_of_worker, on_start, stop) = (team.clone(), on_start.clone(), stop.clone());
            let name = std::format!("dpa-{}", worker.index());
            let started = Builder::new().name(name).spawn(move || {
                let life = AssertUnwindSafe(|| {
                    on_start(worker.index());
                    serve(worker, &team_of_worker);
                });
                if let Err(panic) = catch_unwind(life) {
                    stop.break_down();
                    resume_unwind(panic);
                }
            });
            match started {
                Ok(thread) => threads.push(thread),
                Err(error) => {
                    // They have run nothing yet, so they cannot have panicked.
                    let _ = dissolve(&team, threads);
                    return Err(error);
                }
            }
        }
        let team_of_leader = team.clone();
        let others: Vec<Thread> = threads
            .iter()
            .map(|thread| thread.thread().clone())
            .collect();
        let stop_of_leader = stop.clone();
        let lead = move || {
            let life = AssertUnwindSafe(|| {
                on_start(0);
                lead(leader, &team_of_leader, &others);
            });
            // A panic must not leave the other workers or the host waiting for ever. It resumes
            // after all threads have ended.
            let result = catch_unwind(life);
            if result.is_err() {
                stop_of_leader.break_down();
            }
            let ended = dissolve(&team_of_leader, threads);
            stop_of_leader.record_all_ended();
            if let Err(panic) = result.and(ended) {
                resume_unwind(panic);
            }
        };
        match Builder::new().name("dpa-0".into()).spawn(lead) {
            Ok(leader) => Ok(Self {
                leader: Some(leader),
                stop,
            }),
            Err(error) => {
                // The closure owned the workers' handles; the threads see the stop and end by
                // themselves.
                team.dissolved.store(true, Relaxed);
                Err(error)
            }
        }
    }

    /// Stops all threads after the current block.
    ///
    /// # Panics
    /// If a worker panicked.
    pub fn stop(mut self) {
        if let Err(panic) = self.join() {
            resume_unwind(panic);
        }
    }

    fn join(&mut self) -> std::thread::Result<()> {
        self.stop.request();
        match self.leader.take() {
            Some(leader) => {
                leader.thread().unpark();
                leader.join()
            }
            None => Ok(()),
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        // The panicked thread has reported its panic.
        let _ = self.join();
    }
}

fn dissolve(team: &Team, threads: Vec<JoinHandle<()>>) -> std::thread::Result<()> {
    team.dissolved.store(true, Relaxed);
    let mut result = Ok(());
    for thread in threads {
        thread.thread().unpark();
        result = result.and(thread.join());
    }
    result
}

fn lead(mut leader: Leader, team: &Team, others: &[Thread]) {
    let mut wait = Wait::new();
    let mut sharing = (leader.shares_if_faster() && !others.is_empty()).then(Sharing::new);
    let mut rounds = 0u32;
    while !leader.should_stop() {
        let on = sharing.as_ref().is_none_or(Sharing::on);
        let awake = 1 + team
            .awake
            .iter()
            .take_while(|awake| awake.load(Relaxed))
            .count();
        match leader.round(if on { awake } else { 1 }) {
            Round::Worked => {
                wait = Wait::new();
                rounds = rounds.wrapping_add(1);
                // Nothing is shared while all workers sleep.
                let tried = awake > 1 || !on;
                let begins = tried
                    && sharing
                        .as_mut()
                        .is_some_and(|sharing| sharing.note(leader.boundary.matched, Instant::now));
                let asleep = on && awake <= others.len();
                if begins
                    || asleep && rounds.is_multiple_of(WAKE_EVERY) && leader.last_block_was_full()
                {
                    others.iter().for_each(Thread::unpark);
                }
            }
            Round::Idle => wait.pause(),
        }
    }
}

fn serve(mut worker: Worker, team: &Team) {
    let awake = &team.awake[worker.index() - 1];
    awake.store(true, Relaxed);
    let mut wait = Wait::new();
    while !team.dissolved.load(Relaxed) {
        if worker.round() {
            wait = Wait::new();
        } else if wait.failed_polls() < Wait::SPINS + Wait::YIELDS {
            wait.pause();
        } else {
            awake.store(false, Relaxed);
            // The leader may have published a block before it saw the flag: poll once more, then
            // sleep.
            if !worker.round() {
                std::thread::park_timeout(Duration::from_millis(1));
            }
            awake.store(true, Relaxed);
            wait = Wait::new();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Nic, NicConfig};

    /// Runs `all` rounds of one message each, which take the given nanoseconds alone and shared.
    /// Returns how many were shared.
    fn shared_rounds(all: u32, alone_ns: u64, shared_ns: u64) -> u32 {
        let mut sharing = Sharing::new();
        let mut now = Instant::now();
        let mut shared = 0;
        for messages in 1..=u64::from(all) {
            let on = sharing.on();
            shared += u32::from(on);
            now += Duration::from_nanos(if on { shared_ns } else { alone_ns });
            sharing.note(messages, || now);
        }
        shared
    }

    #[test]
    fn blocks_are_shared_while_that_is_faster() {
        // The first round of each way starts the clock.
        let (trial, settled) = (TRIAL + 1, SETTLED + 1);
        let all = 3 * (2 * trial + settled);
        assert_eq!(shared_rounds(all, 100, 150), 3 * trial);
        assert_eq!(shared_rounds(all, 150, 100), all - 3 * trial);
        assert_eq!(shared_rounds(all, 100, 100), 3 * trial);
    }

    fn three_workers() -> Nic {
        Nic::new(&NicConfig {
            workers: 3,
            ..NicConfig::default()
        })
        .unwrap()
    }

    #[test]
    fn a_pool_runs_all_workers_of_its_nic_and_no_others() {
        let start = |leader, workers| {
            catch_unwind(AssertUnwindSafe(|| {
                Pool::start(leader, workers, |_| ()).map(drop)
            }))
        };
        let mut missing = three_workers();
        let kept = missing.workers.pop();
        assert!(
            start(missing.leader, missing.workers).is_err(),
            "worker {} is missing",
            kept.unwrap().index()
        );
        assert!(missing.host.is_stopped());
        let (mut one, mut other) = (three_workers(), three_workers());
        core::mem::swap(&mut one.workers[1], &mut other.workers[1]);
        assert!(
            start(one.leader, one.workers).is_err(),
            "a worker of another NIC"
        );
        let mut all = three_workers();
        all.workers.reverse();
        assert!(start(all.leader, all.workers).is_ok());
        assert!(all.host.is_stopped());
    }

    /// A worker that is still in `on_start` delays no other.
    #[test]
    fn blocks_are_shared_only_with_workers_that_have_started() {
        let config = NicConfig {
            workers: 2,
            slice_min: 1,
            ..NicConfig::default()
        };
        let mut nic = Nic::new(&config).unwrap();
        for _ in 0..64 {
            nic.sender
                .try_send(crate::Envelope::default(), b"", 0)
                .unwrap();
        }
        let (go, gone) = std::sync::mpsc::channel::<()>();
        let gone = std::sync::Mutex::new(gone);
        let on_start = move |worker| {
            if worker == 1 {
                let _ = gone.lock().unwrap().recv();
            }
        };
        let pool = Pool::start(nic.leader, nic.workers, on_start).unwrap();
        // Dropped first, so that the pool can end even if a check fails.
        let go = go;
        let mut wait = Wait::new();
        for forwarded in 0..64 {
            while nic.host.poll().is_none() {
                assert!(
                    wait.failed_polls() < 20_000,
                    "stuck after {forwarded} messages"
                );
                wait.pause();
            }
        }
        drop(go);
        pool.stop();
    }

    #[test]
    fn a_dead_worker_stops_the_nic() {
        for dies in 0..3 {
            let nic = three_workers();
            let on_start = move |worker| assert_ne!(worker, dies, "this panic is part of the test");
            let pool = Pool::start(nic.leader, nic.workers, on_start).unwrap();
            let mut wait = Wait::new();
            while !nic.host.is_stopped() {
                wait.pause();
            }
            assert!(
                catch_unwind(AssertUnwindSafe(|| pool.stop())).is_err(),
                "the panic is passed on"
            );
        }
    }
}
