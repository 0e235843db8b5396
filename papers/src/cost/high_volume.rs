//! HighVolumePingPong: n messages at a time to a partner, then n messages back.
//!
//! In the published algorithm one side sends first and the other receives first. Here the receiver
//! always posts before the sender starts, so that every message searches the posted receives.

use std::time::{Duration, Instant};

use dpa_model::SendError;
use dpamatch_vocabulary::{Rank, Tag};

use super::message_list::Message;
use super::steps::{Posting, events};
use dpamatch::endpoint::{
    CommSender, Communicator, Endpoint, EndpointError, PostError, RecvError, Stopped,
};
use dpamatch::stream::Event;

/// A test with tags `0..messages`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HighVolumePingPong {
    /// n, messages per direction.
    pub messages: u32,
    /// Bytes per direction, independent of n.
    pub total_bytes: u64,
    /// Order of the receives' tags.
    pub posting: Posting,
}

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PingPongError {
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    #[error(transparent)]
    Post(#[from] PostError),
    #[error(transparent)]
    Recv(#[from] RecvError),
    #[error(transparent)]
    Send(#[from] SendError),
    #[error(transparent)]
    Stopped(#[from] Stopped),
    #[error("the receive with tag {tag} got another message")]
    WrongMessage { tag: usize },
}

impl HighVolumePingPong {
    pub fn message_bytes(&self) -> u64 {
        (self.total_bytes / u64::from(self.messages.max(1))).max(1)
    }

    fn messages(&self) -> Vec<Message> {
        let bytes = self.message_bytes();
        (0..self.messages)
            .map(|tag| Message {
                dst: 1,
                tag,
                bytes,
                ..Message::default()
            })
            .collect()
    }

    /// Events at either side while it receives.
    pub fn events(&self) -> Vec<Event> {
        events(&self.messages(), self.posting)
    }

    /// Runs the test between two endpoints that the calling thread drives, and returns its
    /// duration. Checks every message's tag and bytes.
    pub fn run(&self, ping: &mut Side, pong: &mut Side) -> Result<Duration, PingPongError> {
        let order = self.posting.order(&self.messages());
        let begin = Instant::now();
        self.one_way(&order, pong)?;
        self.one_way(&order, ping)?;
        Ok(begin.elapsed())
    }

    fn one_way(&self, order: &[usize], side: &mut Side) -> Result<(), PingPongError> {
        let Side {
            endpoint,
            comm,
            partner,
        } = side;
        let bytes = self.message_bytes() as usize;
        let tag = |index: usize| Tag::new(index as u32).unwrap_or_default();
        let requests = order
            .iter()
            .map(|&index| endpoint.post_recv(comm, partner.rank(), tag(index), vec![0; bytes]))
            .collect::<Result<Vec<_>, _>>()?;
        for index in 0..order.len() {
            endpoint.send(partner, tag(index), &vec![index as u8; bytes])?;
        }
        for (request, &index) in requests.into_iter().zip(order) {
            let received = endpoint.wait(request)?;
            let right = received.bytes().len() == bytes
                && received.bytes().iter().all(|&b| b == index as u8);
            if received.status.tag != tag(index) || !right {
                return Err(PingPongError::WrongMessage { tag: index });
            }
        }
        Ok(())
    }
}

/// One side of the test: an endpoint, and the partner's sender to it.
#[derive(Debug)]
pub struct Side {
    pub endpoint: Endpoint,
    comm: Communicator,
    partner: CommSender,
}

impl Side {
    /// A side whose partner has rank `partner`.
    pub fn new(mut endpoint: Endpoint, partner: Rank) -> Result<Self, PingPongError> {
        let comm = endpoint.create_comm(Default::default())?;
        let partner = endpoint.sender(&comm, partner);
        Ok(Self {
            endpoint,
            comm,
            partner,
        })
    }

    /// Descriptors that the NIC has visited.
    pub fn steps(&self) -> u64 {
        let handlers = self.endpoint.counts().0.handlers;
        handlers.walked_exact
            + handlers.walked_any_source
            + handlers.walked_any_tag
            + handlers.walked_any
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dpamatch::NicConfig;
    use dpamatch::endpoint::EndpointConfig;

    fn side(bins: usize) -> Side {
        let nic = NicConfig {
            bins,
            ..NicConfig::default()
        };
        let endpoint = Endpoint::new(&EndpointConfig {
            nic,
            ..EndpointConfig::default()
        })
        .expect("an endpoint");
        Side::new(endpoint, Rank::default()).expect("a communicator")
    }

    #[test]
    fn both_sides_receive_everything_and_take_the_same_steps() {
        // With one bin, matching is traditional, so the order of the tags shows in the steps.
        let (mut ping, mut pong) = (side(1), side(1));
        let mut before = 0;
        let mut taken = Vec::new();
        for posting in [Posting::InOrder, Posting::Random(5), Posting::Reverse] {
            let test = HighVolumePingPong {
                messages: 300,
                total_bytes: 60_000,
                posting,
            };
            test.run(&mut ping, &mut pong).expect("a test");
            assert_eq!(ping.steps(), pong.steps());
            taken.push(ping.steps() - before);
            before = ping.steps();
        }
        assert!(taken[0] < taken[1] && taken[1] < taken[2], "{taken:?}");
    }

    #[test]
    fn total_bytes_stay_the_same() {
        let sizes = [1, 10, 1000, 10_000_000].map(|messages| {
            HighVolumePingPong {
                messages,
                total_bytes: 1_000_000,
                posting: Posting::InOrder,
            }
            .message_bytes()
        });
        assert_eq!(sizes, [1_000_000, 100_000, 1000, 1]);
    }
}
