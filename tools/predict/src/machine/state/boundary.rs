//! The boundary's work: commands, the ends of blocks, unexpected messages, and messages for the
//! host.

use super::{BlockBegin, BlockEnd, Boundary, LineKind, Machine, Phase, Picos, Place, Sink};

impl Machine {
    /// Charges the boundary's work to `handler` until `end_boundary`.
    pub(crate) fn begin_boundary(&mut self, handler: usize) {
        self.boundary = Boundary::Handler(handler);
        if self.rules.block_end == BlockEnd::Leader {
            self.charge_leader();
            self.read(Place::Taken(handler));
            self.read(self.entry_of(handler));
        } else {
            let task = self.task();
            (task.eu, task.sink) = (handler, Sink::After);
            self.begin_boundary_phase();
        }
    }

    /// A block begins. A leader that begins it waits until all its messages have arrived.
    pub(crate) fn begin_block(&mut self, first: u64, count: usize) {
        if self.rules.block_begin == BlockBegin::Handlers {
            return;
        }
        self.charge_leader();
        for position in (first..).take(count) {
            self.arrive(position);
            self.read_landed(Place::Entry(position));
        }
        self.end_charges();
    }

    fn entry_of(&self, handler: usize) -> Place {
        Place::Entry(self.tasks[0].message + handler as u64)
    }

    /// From here on the leader works, one message after the other, and no block begins before.
    fn charge_leader(&mut self) {
        let free_at = self.eus[0].free_at;
        let task = self.task();
        (task.eu, task.sink, task.clock) = (0, Sink::Clock, task.clock.max(free_at));
        self.begin_boundary_phase();
    }

    fn begin_boundary_phase(&mut self) {
        let now = self.now();
        let task = self.task();
        (task.phase, task.phase_begun) = (Phase::Boundary, now);
    }

    /// The boundary executes a command once it has arrived.
    pub(crate) fn begin_command(&mut self) {
        let due = self
            .due
            .get(self.commands)
            .map_or(0, |&time| self.epoch + time);
        self.commands += 1;
        self.boundary = Boundary::Command { done: false };
        if self.rules.post_on_clock {
            self.charge_leader();
            let task = self.task();
            let wait = due.saturating_sub(task.clock);
            (task.clock, task.phase_begun) = (task.clock + wait, task.phase_begun + wait);
            self.eus[0].time.arrival += wait;
        }
    }

    /// The command has reached a receive or a message on the card.
    pub(crate) fn command_done(&mut self) {
        if let Boundary::Command { done } = &mut self.boundary {
            *done = true;
        }
    }

    pub(crate) fn unmatched(&mut self, handler: usize) {
        self.unmatched[handler] = true;
    }

    /// The leader stores the message in arrival order (S14).
    pub(crate) fn store(&mut self, entry: u32) {
        let Boundary::Handler(handler) = self.boundary else {
            return;
        };
        self.unmatched[handler] = false;
        self.stored[entry as usize] = self.tasks[0].message + handler as u64;
        self.on_leader(handler);
        self.write(Place::Unexpected(entry));
        self.work(self.costs.work.unexpected);
    }

    fn on_leader(&mut self, handler: usize) {
        if self.rules.block_end == BlockEnd::Handlers {
            self.end_charges();
            self.charge_leader();
            self.read(self.entry_of(handler));
        }
    }

    pub(crate) fn take_late(&mut self, entry: u32) {
        self.command_done();
        self.task().message = self.stored[entry as usize];
        self.write(Place::Unexpected(entry));
        self.work(self.costs.work.post);
        self.host(LineKind::Window, self.costs.window_write);
        self.host(LineKind::Completion, self.costs.completion);
    }

    /// The running task reads its message's data from the sender.
    pub(crate) fn read_remote(&mut self) {
        if !self.sink_off() {
            let now = self.now();
            let place = self.tasks[self.current]
                .message
                .saturating_sub(self.first_message);
            let end = self.outside.read(&self.costs, place, now);
            self.host(LineKind::Remote, end - now);
        }
    }

    /// The leader sends a message on to the host, whose core matches it in software.
    fn forward(&mut self, handler: usize) {
        self.on_leader(handler);
        let message = self.tasks[0].message + handler as u64;
        let bytes = self
            .outside
            .bytes(message.saturating_sub(self.first_message));
        self.work(self.costs.work.unexpected);
        if (1..=self.eager_bytes as u64).contains(&bytes) {
            self.host(LineKind::Window, self.window_cost(bytes as usize));
        }
        self.host(LineKind::Completion, self.costs.completion);
        let now = self.now();
        self.outside.match_in_software(&self.costs, now);
    }

    /// Ends `begin_boundary` or `begin_command`. What reached neither receive nor store goes to the
    /// host.
    pub(crate) fn end_boundary(&mut self) {
        match std::mem::take(&mut self.boundary) {
            Boundary::Handler(handler) if std::mem::take(&mut self.unmatched[handler]) => {
                self.forward(handler);
            }
            Boundary::Command { done: false } => {
                self.work(self.costs.work.post);
                self.host(LineKind::Completion, self.costs.completion);
            }
            _ => {}
        }
        if !self.sink_off() {
            self.end_charges();
            self.task().eu = 0;
        }
    }

    pub(crate) fn window_cost(&self, bytes: usize) -> Picos {
        let further = bytes.div_ceil(64).saturating_sub(1) as Picos;
        self.costs.window_write + further * self.costs.window_next
    }
}
