//! M host threads that run the NIC (std only). Not part of the algorithm, and not needed on a real DPA.
//!
//! Worker 0 leads. A worker that finds nothing to do for a while goes to sleep and says so; the leader gives
//! slices only to the workers below the first sleeping one, and wakes the sleepers when full blocks keep
//! coming. So idle workers do not take processors away, and no hand-over waits for a sleeping thread longer
//! than one sleep.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{Builder, JoinHandle, Thread};
use std::time::Duration;
use std::vec::Vec;

use crate::sync::Wait;
use crate::{Leader, Round, Worker};

/// Blocks between two attempts to wake sleeping workers.
const WAKE_EVERY: u32 = 64;

#[derive(Debug)]
struct Team {
    /// Worker w + 1 polls.
    awake: Vec<AtomicBool>,
    /// The leader has ended: no block will be published any more.
    dissolved: AtomicBool,
}

/// Running threads; stops them when dropped.
#[derive(Debug)]
pub struct Pool {
    leader: Option<JoinHandle<()>>,
    stop: crate::Stop,
}

impl Pool {
    /// Starts one thread per worker. `on_start` runs first in each, with the worker's number: the place to
    /// pin it.
    ///
    /// # Errors
    /// What the system says when it gives no thread; the NIC is then stopped.
    pub fn start(
        leader: Leader,
        workers: Vec<Worker>,
        on_start: impl Fn(usize) + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let on_start = Arc::new(on_start);
        let stop = leader.stop();
        let team = Arc::new(Team {
            awake: workers.iter().map(|_| AtomicBool::new(true)).collect(),
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
                    // They have run nothing yet, so nothing can have gone wrong in them.
                    let _ = dissolve(&team, threads);
                    return Err(error);
                }
            }
        }
        let team_of_leader = team.clone();
        let others: Vec<Thread> = threads.iter().map(|thread| thread.thread().clone()).collect();
        let stop_of_leader = stop.clone();
        let lead = move || {
            let life = AssertUnwindSafe(|| {
                on_start(0);
                lead(leader, &team_of_leader, &others);
            });
            // A panic must not leave the other workers, or the host, waiting for ever; it goes on after all
            // have ended.
            let result = catch_unwind(life);
            if result.is_err() {
                stop_of_leader.break_down();
            }
            let ended = dissolve(&team_of_leader, threads);
            stop_of_leader.note_all_ended();
            if let Err(panic) = result.and(ended) {
                resume_unwind(panic);
            }
        };
        match Builder::new().name("dpa-0".into()).spawn(lead) {
            Ok(leader) => Ok(Self { leader: Some(leader), stop }),
            Err(error) => {
                // The workers' handles went with the closure; they see this and end by themselves.
                team.dissolved.store(true, Relaxed);
                Err(error)
            }
        }
    }

    /// Ends all threads after the current block.
    ///
    /// # Panics
    /// When a worker panicked.
    pub fn stop(mut self) {
        if let Err(panic) = self.join() {
            resume_unwind(panic);
        }
    }

    fn join(&mut self) -> std::thread::Result<()> {
        self.stop.ask();
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
        // A worker's panic was reported by its thread.
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
    let mut rounds = 0u32;
    while !leader.should_stop() {
        let awake = 1 + team.awake.iter().take_while(|awake| awake.load(Relaxed)).count();
        match leader.round(awake) {
            Round::Worked => {
                wait = Wait::new();
                rounds = rounds.wrapping_add(1);
                if awake <= others.len() && rounds.is_multiple_of(WAKE_EVERY) && leader.last_block_was_full()
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
    let mut wait = Wait::new();
    while !team.dissolved.load(Relaxed) {
        if worker.round() {
            wait = Wait::new();
        } else if wait.failed_polls() < Wait::SPINS + Wait::YIELDS {
            wait.pause();
        } else {
            awake.store(false, Relaxed);
            // A block may have been published before the leader could see that: look once more, then sleep.
            if !worker.round() {
                std::thread::park_timeout(Duration::from_millis(1));
            }
            awake.store(true, Relaxed);
            wait = Wait::new();
        }
    }
}

#[cfg(all(test, not(any(dpamatch_loom, dpamatch_shuttle))))]
mod tests {
    use super::*;
    use crate::{Nic, NicConfig};

    #[test]
    fn a_dead_worker_stops_the_nic() {
        for dies in 0..3 {
            let nic = Nic::new(&NicConfig { workers: 3, ..NicConfig::default() }).unwrap();
            let on_start = move |worker| assert_ne!(worker, dies, "this panic is part of the test");
            let pool = Pool::start(nic.leader, nic.workers, on_start).unwrap();
            let mut wait = Wait::new();
            while !nic.host.is_stopped() {
                wait.pause();
            }
            assert!(catch_unwind(AssertUnwindSafe(|| pool.stop())).is_err(), "the panic is passed on");
        }
    }
}
