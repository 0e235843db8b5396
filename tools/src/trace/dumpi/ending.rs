//! The end of reading a rank's trace.

use crate::trace::{Salvage, TraceError};

/// Whether the reader has reached the end, and why.
#[derive(Debug)]
pub(super) struct Ending {
    ended: bool,
    /// Whether damage ends the trace instead of failing.
    salvages: bool,
    salvage: Option<Salvage>,
}

impl Ending {
    /// An open trace; `broken` is damage found before the first call.
    pub(super) fn new(salvages: bool, broken: Option<TraceError>) -> Self {
        Self { ended: false, salvages, salvage: broken.map(|error| Salvage { calls: 0, error }) }
    }

    #[inline]
    pub(super) fn has_ended(&self) -> bool {
        self.ended
    }

    pub(super) fn is_broken(&self) -> bool {
        self.salvage.is_some()
    }

    pub(super) fn salvage(&self) -> Option<&Salvage> {
        self.salvage.as_ref()
    }

    pub(super) fn end(&mut self, calls: u64) {
        self.ended = true;
        if let Some(salvage) = &mut self.salvage {
            salvage.calls = calls;
        }
    }

    /// Ends the trace because of an error: `Ok` if the calls before it are to be saved. The first
    /// error is kept.
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
