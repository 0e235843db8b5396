//! Plays a recorded stream. Hart 0 leads, and every further hart runs a slice of each block. Host
//! and wire are on hart 0, or on the first hart behind the workers.
//!
//! ordering: one release, one acquire for each word: a hart sees what it plays, and hart 0 what was
//! played. The firmware in weak memory runs them.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ptr::null_mut;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicBool, AtomicPtr};

use dpa_model::{Leader, Round, Worker};
use dpamatch_player::Player;

use crate::start::{COUNT_FROM, COUNT_TO, HARTS_MOST, mark, start_harts, wait};

/// Marks of this program: host and wire work, the leader looks for work, a worker does. Numbers
/// below 1,000 are the card's steps.
const AT_ENDS: u32 = 1000;
const LEADS: u32 = 1001;
const IDLES: u32 = 1002;

/// Host and wire.
pub(crate) struct Ends {
    pub(crate) player: Player,
    /// Operations until the card may do all its work.
    pub(crate) batch: usize,
    /// Batches before counting starts.
    pub(crate) warm: usize,
}

impl Ends {
    fn play(&mut self, mut card: impl FnMut()) {
        for batch in 0.. {
            if batch == self.warm {
                mark::<COUNT_FROM>();
                mark::<AT_ENDS>();
            }
            match self.player.feed(self.batch, &mut card) {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => crate::refuse(format_args!("{error}")),
            }
        }
        mark::<COUNT_TO>();
        if let Err(error) = self.player.finish(&mut card) {
            crate::refuse(format_args!("{error}"));
        }
    }
}

static WORKERS: [AtomicPtr<Worker>; HARTS_MOST] =
    [const { AtomicPtr::new(null_mut()) }; HARTS_MOST];
static ENDS: AtomicPtr<Ends> = AtomicPtr::new(null_mut());
static PLAYED: AtomicBool = AtomicBool::new(false);

/// Plays the stream on `harts` harts, and on one more for its `ends` if they are `apart`.
pub(crate) fn run(
    leader: &mut Leader,
    workers: Vec<Worker>,
    ends: Ends,
    harts: usize,
    apart: bool,
) -> &'static Player {
    for worker in workers {
        WORKERS[worker.index()].store(Box::into_raw(Box::new(worker)), Release);
    }
    let ends = Box::into_raw(Box::new(ends));
    ENDS.store(ends, Release);
    start_harts(harts + usize::from(apart));
    if apart {
        mark::<LEADS>();
        while !PLAYED.load(Acquire) {
            if leader.round(harts) == Round::Idle {
                wait();
            }
        }
    } else {
        // SAFETY: it comes from a box, and no other hart plays.
        unsafe { &mut *ends }.play(|| {
            mark::<LEADS>();
            while leader.round(harts) == Round::Worked {}
            mark::<AT_ENDS>();
        });
        PLAYED.store(true, Relaxed);
    }
    // SAFETY: the pointer comes from a box, and no hart plays the stream any longer.
    &unsafe { &*ends }.player
}

/// Entry of every hart but 0, once started.
#[unsafe(no_mangle)]
extern "C" fn further_hart(hart: usize) {
    let worker = WORKERS[hart].load(Acquire);
    if worker.is_null() {
        // SAFETY: `run` made it from a box, and only this hart plays.
        unsafe { &mut *ENDS.load(Acquire) }.play(wait);
        PLAYED.store(true, Release);
        return;
    }
    // SAFETY: `run` made it from a box for this hart.
    let worker = unsafe { &mut *worker };
    mark::<IDLES>();
    while !PLAYED.load(Relaxed) {
        if worker.round() {
            mark::<IDLES>();
        } else {
            wait();
        }
    }
}
