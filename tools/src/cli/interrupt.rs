//! Ctrl-C during writes that must not remain half done, and during long measurements.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use dpamatch_tools::table::Table;
use indicatif::ProgressBar;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// The user interrupted a command: exit code 130, as shells report the signal.
#[derive(Debug, thiserror::Error)]
#[error("interrupted")]
pub struct Interrupted;

/// Ctrl-C and similar signals end the process immediately, except within [`shield`](Self::shield).
#[derive(Debug)]
pub struct Interrupt {
    wanted: Arc<AtomicBool>,
    /// Whether there is nothing to clean up.
    may_end: Arc<AtomicBool>,
}

impl Interrupt {
    /// Installs the handler: once in a process, permanently.
    pub fn catch() -> io::Result<Self> {
        let this = Self {
            wanted: Arc::default(),
            may_end: Arc::new(AtomicBool::new(true)),
        };
        for signal in [SIGINT, SIGTERM] {
            flag::register_conditional_default(signal, Arc::clone(&this.may_end))?;
            flag::register(signal, Arc::clone(&this.wanted))?;
        }
        Ok(this)
    }

    /// Takes the terminal's end as an interrupt, too, unless this process ignores it.
    #[cfg(unix)]
    pub fn catch_hangup(&self) -> io::Result<()> {
        use signal_hook::consts::SIGHUP;
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
        if ignored.is_none_or(|mask| mask & 1 == 0) {
            flag::register_conditional_default(SIGHUP, Arc::clone(&self.may_end))?;
            flag::register(SIGHUP, Arc::clone(&self.wanted))?;
        }
        Ok(())
    }

    /// Ends the process immediately no longer.
    pub fn hold(&self) {
        // ordering: the flags guard no other memory.
        self.may_end.store(false, Ordering::Relaxed);
    }

    /// # Errors
    /// The user interrupted what is held.
    pub fn check(&self) -> Result<(), Interrupted> {
        // ordering: as above.
        if self.wanted.load(Ordering::Relaxed) {
            Err(Interrupted)
        } else {
            Ok(())
        }
    }

    /// Does work that must not end halfway. It passes a flag that is set when the user interrupts;
    /// the work then cleans up, and the command stops whatever the work returns.
    pub fn shield<T>(
        &self,
        work: impl FnOnce(&Arc<AtomicBool>) -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        self.hold();
        let result = work(&self.wanted);
        // ordering: as in `hold`.
        self.may_end.store(true, Ordering::Relaxed);
        self.check()?;
        result
    }
}

/// The first Ctrl-C ends a measurement, whose results so far are kept; the second ends the process.
#[derive(Clone, Debug)]
pub struct Early(Arc<AtomicBool>);

impl Early {
    /// Installs the handler, permanently, unless it is there.
    pub fn catch() -> io::Result<Self> {
        static CAUGHT: Mutex<Option<Early>> = Mutex::new(None);
        let mut caught = CAUGHT.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(early) = &*caught {
            return Ok(early.clone());
        }
        let wanted = Arc::default();
        for signal in [SIGINT, SIGTERM] {
            // In this order: a first signal does not yet find the flag set.
            flag::register_conditional_default(signal, Arc::clone(&wanted))?;
            flag::register(signal, Arc::clone(&wanted))?;
        }
        Ok(caught.insert(Self(wanted)).clone())
    }

    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0)
    }

    pub fn is_stopped(&self) -> bool {
        // ordering: the flag guards no other memory.
        self.0.load(Ordering::Relaxed)
    }

    /// Notes below the tables of an ended measurement that they are `done`, not all.
    ///
    /// # Errors
    /// [`Interrupted`] without a table.
    pub fn mark(&self, tables: Vec<&mut Table>, done: &str) -> Result<(), Interrupted> {
        if tables.is_empty() {
            return Err(Interrupted);
        }
        tables
            .into_iter()
            .for_each(|table| table.notes.push(partial(done)));
        Ok(())
    }

    /// Clears the bar. After an interruption, notes below the table how far the bar came.
    pub fn mark_by(&self, bar: &ProgressBar, table: &mut Table) -> Result<(), Interrupted> {
        let (done, all) = (bar.position(), bar.length().unwrap_or(0));
        bar.finish_and_clear();
        match self.is_stopped() && done < all {
            true if done == 0 => Err(Interrupted),
            true => self.mark(vec![table], &format!("{done} of {all} {}", bar.message())),
            false => Ok(()),
        }
    }

    /// How the command ends.
    pub fn end(&self) -> anyhow::Result<()> {
        if self.is_stopped() {
            Err(Interrupted.into())
        } else {
            Ok(())
        }
    }
}

pub fn partial(done: &str) -> String {
    format!("PARTIAL: interrupted after {done}")
}
