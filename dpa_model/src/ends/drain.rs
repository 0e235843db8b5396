//! The wire without matching: takes messages out of the completion queues one by one, each queue's
//! in order.
//!
//! For measurements: what senders, queue and bounce buffers cost by themselves, and what another
//! matching engine costs on the same wire. Nothing of the NIC but its completion queues is used.

use alloc::boxed::Box;

use super::event::RemoteData;
use crate::message::{Protocol, inline_bytes};
use crate::number::QueueId;
use crate::region::RegionKey;
use crate::{Envelope, Leader};

/// A message's data as it lies in the NIC.
#[derive(Debug)]
pub enum Data<'a> {
    /// Eager: all of it, in the entry or in the bounce buffer.
    Eager(&'a [u8]),
    /// Rendezvous: still at the sender.
    Rendezvous(RemoteData),
}

/// Takes messages out of the completion queues without matching them.
#[derive(Debug)]
pub struct Drain {
    leader: Leader,
    /// Per queue: positions below are released.
    released: Box<[u64]>,
    /// The queue that is emptied now.
    turn: QueueId,
}

/// Messages taken before a queue is told about it: as many as the paper's blocks have.
const RELEASE_EVERY: u64 = 32;

impl Drain {
    /// Takes the place of the leader, whose tables stay as they are; senders see a stopped NIC once
    /// the drain is dropped.
    pub fn new(leader: Leader) -> Self {
        let released = leader.boundary.fronts.iter().map(|front| front.head).collect();
        Self { leader, released, turn: QueueId::FIRST }
    }

    /// Hands the next message to `take`; `None` if there is none now.
    #[inline]
    pub fn next<R>(&mut self, take: impl FnOnce(Envelope, Data<'_>) -> R) -> Option<R> {
        if !self.is_ready() && !self.look_elsewhere() {
            return None;
        }
        let shared = &self.leader.shared;
        let queue = shared.arrivals.queue(self.turn);
        let head = &mut self.leader.boundary.fronts[self.turn.0].head;
        let position = *head;
        // SAFETY: just seen ready; released below or later.
        let taken = unsafe {
            queue.ring.read(position, |entry| match entry.protocol {
                Protocol::Inline => {
                    take(entry.envelope, Data::Eager(inline_bytes(&entry.payload, entry.length)))
                }
                Protocol::Buffered => {
                    // SAFETY: the bounce buffer belongs to this entry until the head passes it.
                    queue.bounce.read(
                        queue.bounce_buffer(position),
                        entry.length as usize,
                        |bytes| take(entry.envelope, Data::Eager(bytes)),
                    )
                }
                Protocol::Rendezvous => {
                    let data = RemoteData::new(shared, RegionKey(entry.payload[0]));
                    take(entry.envelope, Data::Rendezvous(data))
                }
            })
        };
        *head += 1;
        if *head - self.released[self.turn.0] >= RELEASE_EVERY {
            self.release();
            self.turn = self.turn.next_of(self.leader.shared.arrivals.in_use());
        }
        Some(taken)
    }

    fn is_ready(&self) -> bool {
        let head = self.leader.boundary.fronts[self.turn.0].head;
        self.leader.shared.arrivals.queue(self.turn).ring.stamp_if_ready(head).is_some()
    }

    /// Goes on to the next queue with a message; `false` if there is none. What was taken is given
    /// back, and each queue looked at once more then, as in `HostPort::poll`.
    #[inline]
    fn look_elsewhere(&mut self) -> bool {
        let queues = self.leader.shared.arrivals.in_use();
        let mut left = queues;
        while left > 0 {
            left = if self.release() { queues } else { left - 1 };
            self.turn = self.turn.next_of(queues);
            if self.is_ready() {
                return true;
            }
        }
        false
    }

    /// Gives back what was taken of this queue. Returns whether there was any.
    fn release(&mut self) -> bool {
        let head = self.leader.boundary.fronts[self.turn.0].head;
        let released = core::mem::replace(&mut self.released[self.turn.0], head);
        if released != head {
            self.leader.shared.arrivals.queue(self.turn).ring.release(head);
        }
        released != head
    }
}

#[cfg(all(test, not(any(dpamatch_loom, dpamatch_shuttle))))]
mod tests {
    use super::*;
    use crate::{CommId, Nic, NicConfig, Rank, SendError, Tag};

    fn envelope(tag: u32) -> Envelope {
        let tag = Tag::new(tag).expect("a tag");
        Envelope { comm: CommId(0), source: Rank::new(1).expect("a rank"), tag }
    }

    /// Without tables, which are not used here.
    fn small() -> NicConfig {
        NicConfig {
            receives: 1,
            bins: 1,
            communicators: 1,
            unexpected: 1,
            unexpected_buffers: 1,
            ..NicConfig::default()
        }
    }

    #[test]
    fn messages_come_in_order_with_their_data() {
        let config =
            NicConfig { completion_queue: 64, bounce_buffers: 64, eager_limit: 4096, ..small() };
        let nic = Nic::new(&config).expect("a NIC");
        let (mut drain, mut sender) = (Drain::new(nic.leader), nic.sender);
        assert!(drain.next(|_, _| ()).is_none());
        let messages = if cfg!(miri) { 8 } else { 1000 };
        for i in 0..messages {
            // In turn: empty, in the entry, in a bounce buffer, at the sender.
            let length = [0, 8, 300, 5000][i as usize % 4];
            let bytes = alloc::vec![i as u8; length];
            let request = if length <= 4096 {
                sender.try_send(envelope(i), &bytes, 0).expect("room");
                None
            } else {
                Some(sender.try_send_rendezvous(envelope(i), bytes.clone(), 0).expect("room"))
            };
            let mut target = alloc::vec![0; length];
            let seen = drain.next(|envelope, data| {
                match data {
                    Data::Eager(eager) => target.copy_from_slice(eager),
                    Data::Rendezvous(remote) => assert_eq!(remote.read(&mut target), Some(length)),
                }
                envelope
            });
            assert_eq!(seen, Some(envelope(i)));
            assert_eq!(target, bytes);
            if let Some(mut request) = request {
                assert_eq!(request.test(), Some(Ok(bytes)), "the sender is released");
            }
        }
    }

    #[test]
    fn the_queue_is_given_back_and_the_end_is_seen() {
        let config = NicConfig { completion_queue: 32, ..small() };
        let nic = Nic::new(&config).expect("a NIC");
        let (mut drain, mut sender) = (Drain::new(nic.leader), nic.sender);
        let fill = |sender: &mut crate::Sender| {
            (0..).find(|_| sender.try_send(envelope(1), &[], 0).is_err())
        };
        assert_eq!(fill(&mut sender), Some(32));
        while drain.next(|_, _| ()).is_some() {}
        assert_eq!(fill(&mut sender), Some(32));
        drop(drain);
        assert_eq!(sender.try_send(envelope(1), &[], 0), Err(SendError::Stopped));
    }
}
