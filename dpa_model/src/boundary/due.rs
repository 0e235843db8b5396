//! The host's due commands.

use crate::message::Command;
use crate::shared::Shared;
use crate::sync::Peek;

/// The due commands, in order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Due<'a> {
    pub(super) nic: &'a Shared,
    /// Position of the first command.
    pub(super) first: u64,
    /// Commands that follow later arrivals have a higher stamp.
    pub(super) until: u64,
}

impl<'a> Due<'a> {
    #[inline]
    pub(super) fn position(&self, place: usize) -> u64 {
        self.first + place as u64
    }

    #[inline]
    pub(super) fn is(&self, place: usize) -> bool {
        self.nic
            .commands
            .stamp_if_ready(self.position(place))
            .is_some_and(|stamp| stamp <= self.until)
    }

    /// A due command, read in place: a copy costs more than executing the most common one.
    #[inline]
    pub(super) fn look(&self, place: usize) -> Peek<'a, Command> {
        // SAFETY: seen ready, and released only at the end of `admit`.
        unsafe { self.nic.commands.peek(self.position(place)) }
    }

    /// A due command that is executed now; reports the step.
    #[inline]
    pub(super) fn begin(&self, place: usize) -> Peek<'a, Command> {
        if fault!(CommandReleasedEarly) {
            self.nic.commands.release(self.position(place) + 1);
        }
        let command = self.look(place);
        if fault!(CommandReleasedInUse) {
            self.nic.commands.release(self.position(place) + 1);
        }
        step!(CommandBegins);
        command
    }
}
