//! A communicator comes back from software although its receives never run out (S20).

use std::collections::VecDeque;

use dpa_model::{NicConfig, Options};
use dpamatch::endpoint::{Communicator, Drive, Endpoint, LogEntry, RecvRequest, replay};
use dpamatch::engine::Oracle;
use dpamatch::{Rank, SourceSel, Tag, TagSel};

use super::{open, watchdog};

const WINDOW: usize = 2;

fn post(endpoint: &mut Endpoint, world: &Communicator) -> RecvRequest {
    endpoint.post_recv(world, SourceSel::Any, TagSel::Any, vec![0; 8]).expect("posted")
}

/// Messages sent one by one while two more receives are posted.
fn steady(endpoint: &mut Endpoint, world: &Communicator, messages: u64) {
    let mut peer = endpoint.sender(world, Rank::default());
    let mut posted: VecDeque<_> = (0..WINDOW).map(|_| post(endpoint, world)).collect();
    for number in 0..messages {
        posted.push_back(post(endpoint, world));
        endpoint.send(&mut peer, Tag::default(), &number.to_le_bytes()).expect("sent");
        let received = endpoint.wait(posted.pop_front().expect("posted")).expect("received");
        assert_eq!(received.bytes(), number.to_le_bytes());
    }
    for request in posted {
        endpoint.cancel(&request).expect("asked");
        assert!(endpoint.wait(request).is_err(), "cancelled");
    }
}

#[test]
fn a_communicator_with_receives_in_software_comes_back() {
    let _dog = watchdog::on("an endpoint: a communicator comes back from software");
    for drive in [Drive::Caller, Drive::threads()] {
        let options = Options { log_order: true, ..Options::default() };
        let nic = NicConfig { receives: 8, options, ..NicConfig::default() };
        let (mut endpoint, world) = open(nic, drive);
        let mut peer = endpoint.sender(&world, Rank::default());
        let mut sent = 0;
        for round in 1..=3 {
            // Two more than fit.
            let mut requests: VecDeque<_> = (0..10).map(|_| post(&mut endpoint, &world)).collect();
            // The window slides: some receive is always posted.
            let mut number = 0;
            while requests.len() > WINDOW || number < 600 {
                if requests.len() <= WINDOW {
                    requests.push_back(post(&mut endpoint, &world));
                }
                endpoint.send(&mut peer, Tag::default(), &[0; 8]).expect("sent");
                endpoint.wait(requests.pop_front().expect("posted")).expect("received");
                number += 1;
            }
            let boundary = endpoint.counts().0.boundary;
            assert_eq!(
                (boundary.fallback_receives, boundary.resumed),
                (round, round),
                "{boundary:?}"
            );
            assert!(boundary.arrivals_forwarded < round * 300, "{boundary:?}");
            let software = endpoint.counts().1;
            assert_eq!(software.resumed, round, "{software:?}");
            assert!(software.offers >= round, "{software:?}");
            for request in requests {
                endpoint.cancel(&request).expect("asked");
                assert!(endpoint.wait(request).is_err(), "cancelled");
            }
            steady(&mut endpoint, &world, 100);
            sent += number + 100;
        }
        let mut log = Vec::new();
        endpoint.drain_order_log(&mut log);
        let arrived = log.iter().filter(|entry| matches!(entry, LogEntry::Arrive { .. })).count();
        assert_eq!(arrived, sent, "every message is in the log");
        replay(&mut Oracle::new(), &log).unwrap_or_else(|error| panic!("{error}"));
    }
}
