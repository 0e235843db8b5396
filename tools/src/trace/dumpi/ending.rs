//! How the reading of a rank's trace ends.

use crate::trace::{Salvage, TraceError};

/// Whether the end has been reached, and why.
#[derive(Debug)]
pub(super) struct Ending {
    ended: bool,
    /// Whether to end at what is broken instead of failing.
    salvages: bool,
    salvage: Option<Salvage>,
}

impl Ending {
    /// Not yet. `broken` is what was found before the first call.
    pub(super) fn new(salvages: bool, broken: Option<TraceError>) -> Self {
        Self { ended: false, salvages, salvage: broken.map(|error| Salvage { calls: 0, error }) }
    }

    #[inline]
    pub(super) fn has_ended(&self) -> bool {
        self.ended
    }

    /// Whether something was broken.
    pub(super) fn is_broken(&self) -> bool {
        self.salvage.is_some()
    }

    pub(super) fn salvage(&self) -> Option<&Salvage> {
        self.salvage.as_ref()
    }

    /// The end as it should be, after so many calls.
    pub(super) fn end(&mut self, calls: u64) {
        self.ended = true;
        if let Some(salvage) = &mut self.salvage {
            salvage.calls = calls;
        }
    }

    /// The end because of an error: `Ok` if it is to be kept, because what came before is to be
    /// saved. The first one is kept.
    #[cold]
    pub(super) fn fail(&mut self, calls: u64, error: TraceError) -> Result<(), TraceError> {
        if !self.salvages || !error.can_be_saved() {
            self.ended = true;
            return Err(error);
        }
        if self.salvage.is_none() {
            self.salvage = Some(Salvage { calls, error });
        }
        self.end(calls);
        Ok(())
    }
}
