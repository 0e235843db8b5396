//! Input of one process's matching: posts and arrivals in order.

use std::collections::HashMap;
use std::sync::Arc;

use crate::machine::{Picos, Schedule};
use dpamatch_vocabulary::{CommId, Operation};

use crate::Pattern;
use crate::workload::operations;

/// Operations in matching order, with times if recorded. Cheap to clone.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sequence {
    operations: Arc<[Operation]>,
    /// Nanoseconds; empty: each as early as possible.
    times_ns: Arc<[u64]>,
    /// Length of each message in bytes.
    lengths: Arc<[u64]>,
    comms: u32,
    messages: u64,
}

impl Sequence {
    /// From a list. Communicators may have any numbers.
    ///
    /// # Examples
    /// ```
    /// use dpamatch_predict::Sequence;
    /// use dpamatch_vocabulary::{
    ///     CommId, Envelope, MsgId, Operation, Rank, RecvId, Selector, SourceSel, Tag,
    /// };
    /// let (comm, tag) = (CommId(70), Tag::new(7)?);
    /// let selector = Selector::new(SourceSel::Any, tag);
    /// let post = Operation::Post { recv: RecvId(0), comm, selector, bytes: 8 };
    /// let envelope = Envelope { comm, source: Rank::new(3)?, tag };
    /// let arrive = Operation::Arrive { msg: MsgId(0), envelope, bytes: 8 };
    /// let sequence = Sequence::new(vec![post, arrive]);
    /// assert_eq!((sequence.messages(), sequence.comms()), (1, 1));
    /// # Ok::<(), dpamatch_vocabulary::OutOfRange>(())
    /// ```
    pub fn new(mut operations: Vec<Operation>) -> Self {
        let mut numbers = HashMap::new();
        let mut lengths = Vec::new();
        for operation in &mut operations {
            if let Operation::Arrive { bytes, .. } = operation {
                lengths.push(u64::from(*bytes));
            }
            if let Some(comm) = operation.comm_mut() {
                // The NIC numbers communicators from 0.
                let next = numbers.len() as u32;
                *comm = *numbers.entry(*comm).or_insert(CommId(next));
            }
        }
        let comms = numbers.len().max(1) as u32;
        Self {
            operations: operations.into(),
            times_ns: Arc::from([]),
            comms,
            messages: lengths.len() as u64,
            lengths: lengths.into(),
        }
    }

    /// Sets the length of each message in bytes. An operation's own length has 32 bits only.
    ///
    /// # Panics
    /// The number of lengths differs from that of messages.
    pub fn with_lengths(self, lengths: Vec<u64>) -> Self {
        assert_eq!(lengths.len() as u64, self.messages, "a length each");
        Self {
            lengths: lengths.into(),
            ..self
        }
    }

    /// Sets the time of each operation in nanoseconds; times must not fall.
    ///
    /// # Panics
    /// The number of times differs from that of operations.
    pub fn at(self, times_ns: Vec<u64>) -> Self {
        assert_eq!(
            times_ns.len(),
            self.operations.len(),
            "a time for each operation"
        );
        Self {
            times_ns: times_ns.into(),
            ..self
        }
    }

    /// Removes the times: each operation comes as early as possible.
    pub fn at_once(self) -> Self {
        Self {
            times_ns: Arc::from([]),
            ..self
        }
    }

    /// A window: `count` receives posted in arrival order, then `count` messages of `bytes` bytes.
    pub fn window(pattern: Pattern, count: usize, bytes: u32) -> Self {
        Self::new(operations(pattern, count, bytes))
    }

    pub(crate) fn repeated(&self, times: usize) -> Self {
        let operations = std::iter::repeat_n(&self.operations[..], times)
            .flatten()
            .copied();
        let lengths = std::iter::repeat_n(&self.lengths[..], times).flatten();
        Self::new(operations.collect()).with_lengths(lengths.copied().collect())
    }

    pub fn operations(&self) -> &[Operation] {
        &self.operations
    }

    pub fn messages(&self) -> u64 {
        self.messages
    }

    /// Number of communicators, at least 1.
    pub fn comms(&self) -> u32 {
        self.comms
    }

    pub fn is_timed(&self) -> bool {
        !self.times_ns.is_empty()
    }

    /// Time in nanoseconds that the sequence takes at least, if a byte on the wire takes `byte_ns`.
    pub(crate) fn least_ns(&self, byte_ns: f64) -> f64 {
        let span = match &self.times_ns[..] {
            [first, .., last] => last.saturating_sub(*first) as f64,
            _ => 0.0,
        };
        let bytes: f64 = self.lengths.iter().map(|&length| length as f64).sum();
        span + bytes * byte_ns
    }

    /// The machine's schedule, with the first operation at 0.
    pub(crate) fn schedule(&self) -> Schedule {
        let first = self.times_ns.first().copied().unwrap_or(0);
        let mut schedule = Schedule {
            bytes: self.lengths.to_vec(),
            ..Schedule::default()
        };
        for (operation, time) in self.operations.iter().zip(self.times_ns.iter()) {
            let time: Picos = time.saturating_sub(first) * 1000;
            match operation.is_arrival() {
                true => schedule.arrivals.push(time),
                false => schedule.commands.push(time),
            }
        }
        schedule
    }
}

#[cfg(test)]
mod tests {
    use dpamatch_vocabulary::{Envelope, MsgId, ProbeId, Selector, SourceSel, TagSel};

    use super::*;

    fn arrive(comm: u32) -> Operation {
        let envelope = Envelope {
            comm: CommId(comm),
            ..Envelope::default()
        };
        Operation::Arrive {
            msg: MsgId(0),
            envelope,
            bytes: 8,
        }
    }

    #[test]
    fn communicators_are_numbered_as_they_come() {
        let selector = Selector::new(SourceSel::Any, TagSel::Any);
        let probe = Operation::Probe {
            probe: ProbeId(0),
            comm: CommId(9),
            selector,
            take: false,
        };
        let sequence = Sequence::new(vec![arrive(40), probe, arrive(40), arrive(9)]);
        let comms = sequence.operations().iter().filter_map(Operation::comm);
        let comms: Vec<u32> = comms.map(|comm| comm.0).collect();
        assert_eq!(
            (comms, sequence.comms(), sequence.messages()),
            (vec![0, 1, 0, 1], 2, 3)
        );
    }
}
