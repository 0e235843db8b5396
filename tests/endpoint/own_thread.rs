//! The endpoint's own thread in calls that wait.

use dpa_model::{NicConfig, Options};
use dpamatch::endpoint::{Communicator, Drive, Endpoint};
use dpamatch::{Rank, SendError, SourceSel, Tag, TagSel};

use super::{open, watchdog};

fn small(drive: Drive) -> (Endpoint, Communicator) {
    // Every message is reported, so the completion ring fills when it is not read.
    let options = Options {
        log_order: true,
        ..Options::default()
    };
    let nic = NicConfig {
        completion_queue: 32,
        completion_ring: 32,
        eager_limit: 64,
        options,
        ..NicConfig::default()
    };
    open(nic, drive)
}

#[test]
fn a_sender_does_not_wait_for_its_own_thread() {
    let _dog = watchdog::on("an endpoint: a sender does not wait for its own thread");
    for drive in [Drive::Caller, Drive::threads()] {
        for length in [8, 60, 100] {
            let (mut endpoint, world) = small(drive.clone());
            let mut peer = endpoint.sender(&world, Rank::default());
            let bytes = vec![1; length];
            let sent = (0..1000).find_map(|sent| match peer.send(Tag::default(), &bytes) {
                Ok(()) => None,
                Err(error) => Some((sent, error)),
            });
            let Some((mut sent, SendError::OwnThread)) = sent else {
                panic!("{drive:?}: {sent:?}")
            };
            let back = peer.isend(Tag::default(), bytes.clone()).map(drop);
            assert_eq!(back, Err((SendError::OwnThread, bytes.clone())));
            // Threads may have been making room.
            let counts = endpoint.counts().0;
            let tries = counts.send_queue_full + counts.send_no_bounce_buffer;
            assert!(tries > 500, "{drive:?}: {tries} tries only");
            // With progress all messages get through, and so do the messages of a thread that waits
            // for this one.
            for _ in 0..100 {
                endpoint
                    .send(&mut peer, Tag::default(), &bytes)
                    .expect("sent");
                sent += 1;
            }
            let other = std::thread::spawn(move || {
                (0..100).try_for_each(|_| peer.send(Tag::default(), &vec![1; length]))
            });
            for _ in 0..sent + 100 {
                let received = endpoint.recv(&world, SourceSel::Any, TagSel::Any, vec![0; length]);
                assert_eq!(received.expect("received").bytes(), bytes);
            }
            assert_eq!(other.join().expect("no panic"), Ok(()));
        }
    }
}

/// Senders wait however long the endpoint's thread is busy elsewhere.
#[test]
fn a_sender_waits_for_another_thread() {
    let _dog = watchdog::on("an endpoint: a sender waits for another thread");
    // Longer than a lone sender waits.
    const POLLS: u64 = 1000;
    for drive in [Drive::Caller, Drive::threads()] {
        let (mut endpoint, world) = small(drive);
        let mut peer = endpoint.sender(&world, Rank::default());
        let mut sent = 0;
        while peer.try_send(Tag::default(), b"full").is_ok() {
            sent += 1;
        }
        let full = |endpoint: &Endpoint| endpoint.counts().0.send_queue_full;
        let before = full(&endpoint);
        let other = std::thread::spawn(move || {
            (0..100).try_for_each(|_| peer.send(Tag::default(), b"full"))
        });
        while full(&endpoint) < before + POLLS && !other.is_finished() {
            std::thread::yield_now();
        }
        if other.is_finished() {
            panic!("nobody reads, and yet it ended with {:?}", other.join());
        }
        for _ in 0..sent + 100 {
            let received = endpoint.recv(&world, SourceSel::Any, TagSel::Any, vec![0; 4]);
            assert_eq!(received.expect("received").bytes(), b"full");
        }
        assert_eq!(other.join().expect("no panic"), Ok(()));
    }
}
