//! The end of reading a rank's trace.

use std::path::Path;

use crate::{Function, Salvage, TraceError, TraceErrorKind};

/// Whether the reader has reached the end, and why.
#[derive(Debug)]
pub(super) struct Ending {
    ended: bool,
    calls: u64,
    /// Whether damage ends the trace instead of failing.
    salvages: bool,
    salvage: Option<Salvage>,
}

impl Ending {
    /// An open trace; `broken` is damage found before the first call.
    pub(super) fn new(salvages: bool, broken: Option<TraceError>) -> Self {
        Self {
            ended: false,
            calls: 0,
            salvages,
            salvage: broken.map(|error| Salvage { calls: 0, error }),
        }
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

    pub(super) fn calls(&self) -> u64 {
        self.calls
    }

    #[inline]
    pub(super) fn count(&mut self) {
        self.calls += 1;
    }

    fn end(&mut self) {
        self.ended = true;
        if let Some(salvage) = &mut self.salvage {
            salvage.calls = self.calls;
        }
    }

    /// What was read: `None` at the end of the trace, and where damage ends it.
    #[inline]
    pub(super) fn seen<T>(
        &mut self,
        read: Result<Option<T>, TraceError>,
    ) -> Result<Option<T>, TraceError> {
        match read {
            Ok(Some(read)) => Ok(Some(read)),
            Ok(None) => {
                self.end();
                Ok(None)
            }
            Err(error) => self.fail(error).map(|()| None),
        }
    }

    /// Ends the trace because of an error: `Ok` if the calls before it are to be saved. The first
    /// error is kept.
    #[cold]
    fn fail(&mut self, error: TraceError) -> Result<(), TraceError> {
        if !self.salvages || !error.can_be_saved() {
            self.ended = true;
            return Err(error);
        }
        let calls = self.calls;
        self.salvage.get_or_insert(Salvage { calls, error });
        self.end();
        Ok(())
    }
}

/// A call whose arguments no MPI call can have.
#[cold]
pub(super) fn damaged(file: &Path, function: Function, what: &str) -> TraceError {
    TraceError::new(file, TraceErrorKind::Damaged(format!("{function}: {what}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn damage(what: &str) -> TraceError {
        TraceError::new("t.bin", TraceErrorKind::Damaged(what.to_owned()))
    }

    /// The first damage is told, with the calls that were read before the end.
    #[test]
    fn the_calls_before_the_end_are_counted() {
        for broken in [None, Some(damage("header"))] {
            let is_broken = broken.is_some();
            let mut ending = Ending::new(true, broken);
            assert_eq!((ending.is_broken(), ending.has_ended()), (is_broken, false));
            for call in 0..3 {
                assert_eq!(ending.seen(Ok(Some(call))).expect("a call"), Some(call));
                ending.count();
            }
            let end = match is_broken {
                true => ending.seen::<u64>(Ok(None)),
                false => ending.seen::<u64>(Err(damage("call"))),
            };
            assert_eq!(end.expect("a salvaged end"), None);
            assert!(ending.has_ended());
            let salvage = ending.salvage().expect("damage");
            let first = if is_broken { "header" } else { "call" };
            assert_eq!(salvage.calls, 3, "{first}");
            assert_eq!(
                salvage.error.to_string(),
                format!("t.bin: damaged: {first}")
            );
        }
    }

    #[test]
    fn without_permission_damage_is_an_error() {
        let mut ending = Ending::new(false, None);
        ending.count();
        assert!(ending.seen::<u64>(Err(damage("call"))).is_err());
        assert!(ending.has_ended() && ending.salvage().is_none());
        assert_eq!(ending.calls(), 1);
    }
}
