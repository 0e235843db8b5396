//! The steps of one process.

use dpamatch_traces::CollectiveKind;

/// A step of a process inside a collective operation. Ranks are those of the communicator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Op {
    /// The following messages carry the tag of this operation: some operations consist of others.
    Kind(CollectiveKind),
    Send {
        to: u32,
        bytes: u64,
    },
    /// Posts a receive for a message of this length; `None` accepts any source.
    Post {
        from: Option<u32>,
        bytes: u64,
    },
    /// Waits for all posted receives but the last `leave`.
    Wait {
        leave: u32,
    },
}

#[derive(Debug, Default)]
pub(super) struct Steps {
    pub(super) ops: Vec<Op>,
}

impl Steps {
    pub(super) fn kind(&mut self, kind: CollectiveKind) {
        self.ops.push(Op::Kind(kind));
    }

    pub(super) fn send(&mut self, to: usize, bytes: u64) {
        self.ops.push(Op::Send {
            to: to as u32,
            bytes,
        });
    }

    pub(super) fn post(&mut self, from: usize, bytes: u64) {
        self.ops.push(Op::Post {
            from: Some(from as u32),
            bytes,
        });
    }

    pub(super) fn wait(&mut self, leave: u32) {
        self.ops.push(Op::Wait { leave });
    }

    pub(super) fn recv(&mut self, from: usize, bytes: u64) {
        self.post(from, bytes);
        self.wait(0);
    }

    /// Sends `sent` bytes to one process, receives `received` bytes from another, and waits.
    pub(super) fn exchange(&mut self, to: usize, sent: u64, from: usize, received: u64) {
        self.post(from, received);
        self.send(to, sent);
        self.wait(0);
    }

    /// As [`exchange`](Self::exchange), but leaves out empty messages.
    pub(super) fn exchange_data(&mut self, to: usize, sent: u64, from: usize, received: u64) {
        if received > 0 {
            self.post(from, received);
        }
        if sent > 0 {
            self.send(to, sent);
        }
        if received > 0 {
            self.wait(0);
        }
    }
}
