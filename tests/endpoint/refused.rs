//! After a refusal or an error the endpoint is as before, and its other communicator goes on.

use dpamatch::endpoint::{BusyReason, Communicator, Endpoint, FreeError, PostError, RecvError};
use dpamatch::{Hints, SourceSel, TagSel};

use super::{on_all_sizes, rank, tag};

/// Makes a call fail in a communicator that excludes wildcards, and gives the communicator back.
type Refusal = fn(&mut Endpoint, Communicator) -> Communicator;

const REFUSALS: [(&str, Refusal); 7] = [
    ("wildcards", wildcards),
    ("truncated", truncated),
    ("truncated, by rendezvous", truncated_by_rendezvous),
    ("cancelled", cancelled),
    ("busy with receives", busy_with_receives),
    ("busy with handles", busy_with_handles),
    ("busy with messages", busy_with_messages),
];

fn wildcards(endpoint: &mut Endpoint, comm: Communicator) -> Communicator {
    let excluded = || Err(PostError::WildcardExcluded(vec![1; 30]));
    let any_source = endpoint.post_recv(&comm, SourceSel::Any, tag(7), vec![1; 30]);
    assert_eq!(any_source.map(drop), excluded());
    let any_tag = endpoint.post_recv(&comm, rank(0), TagSel::Any, vec![1; 30]);
    assert_eq!(any_tag.map(drop), excluded());
    let waited = endpoint.recv(&comm, SourceSel::Any, TagSel::Any, vec![1; 30]);
    assert_eq!(waited, Err(RecvError::WildcardExcluded(vec![1; 30])));
    comm
}

/// Messages of `sent` bytes for buffers with one byte less, as many, and one byte more.
fn receive_around(endpoint: &mut Endpoint, comm: Communicator, sent: usize) -> Communicator {
    let mut peer = endpoint.sender(&comm, rank(0));
    for room in [sent - 1, sent, sent + 1] {
        peer.try_send(tag(7), &vec![5; sent]).expect("sent");
        let got = endpoint.recv(&comm, rank(0), tag(7), vec![0; room]);
        let (received, whole) = match got {
            Ok(received) => (received, sent),
            Err(RecvError::Truncated { received, sent }) => (received, sent),
            other => panic!("{room}: {other:?}"),
        };
        assert_eq!(
            (received.bytes(), whole),
            (&vec![5; sent.min(room)][..], sent)
        );
    }
    drop(peer);
    comm
}

fn truncated(endpoint: &mut Endpoint, comm: Communicator) -> Communicator {
    receive_around(endpoint, comm, 30)
}

fn truncated_by_rendezvous(endpoint: &mut Endpoint, comm: Communicator) -> Communicator {
    receive_around(endpoint, comm, 200)
}

fn cancelled(endpoint: &mut Endpoint, comm: Communicator) -> Communicator {
    let request = endpoint.post_recv(&comm, rank(0), tag(7), vec![2; 9]);
    let request = request.expect("posted");
    endpoint.cancel(&request).expect("the NIC runs");
    assert_eq!(
        endpoint.wait(request),
        Err(RecvError::Cancelled(vec![2; 9]))
    );
    comm
}

fn busy(endpoint: &mut Endpoint, comm: Communicator, expected: &BusyReason) -> Communicator {
    match endpoint.free_comm(comm) {
        Err(FreeError::Busy { comm, reason }) if reason == *expected => comm,
        other => panic!("it is busy, and yet {other:?}"),
    }
}

fn busy_with_receives(endpoint: &mut Endpoint, comm: Communicator) -> Communicator {
    let post = |_| {
        endpoint
            .post_recv(&comm, rank(0), tag(7), vec![0; 9])
            .expect("posted")
    };
    let requests = [(); 2].map(post);
    let mut comm = comm;
    for (left, request) in [2, 1].into_iter().zip(requests) {
        comm = busy(endpoint, comm, &BusyReason::Receives(left));
        endpoint.cancel(&request).expect("the NIC runs");
        assert!(matches!(
            endpoint.wait(request),
            Err(RecvError::Cancelled(_))
        ));
    }
    comm
}

fn busy_with_handles(endpoint: &mut Endpoint, comm: Communicator) -> Communicator {
    let peer = endpoint.sender(&comm, rank(0));
    let comm = busy(endpoint, comm, &BusyReason::Handles);
    drop(peer);
    comm
}

fn busy_with_messages(endpoint: &mut Endpoint, comm: Communicator) -> Communicator {
    let mut peer = endpoint.sender(&comm, rank(0));
    peer.send(tag(7), b"left").expect("sent");
    drop(peer);
    let comm = busy(endpoint, comm, &BusyReason::Messages);
    let received = endpoint.recv(&comm, rank(0), tag(7), vec![0; 4]);
    assert_eq!(received.expect("received").bytes(), b"left");
    comm
}

/// Two communicators with equal tags and unlike bins, hints and lengths: a call fails in the one
/// while a receive waits in the other. At the end both are free, so nothing is held.
#[test]
fn a_refusal_leaves_both_communicators_as_they_were() {
    on_all_sizes(|endpoint| {
        for (name, refuse) in REFUSALS {
            let strict = Hints {
                no_any_source: true,
                no_any_tag: true,
                ..Hints::default()
            };
            let refused = endpoint
                .create_comm_with_bins(strict, 2)
                .expect("the NIC runs");
            let other = endpoint.create_comm_with_bins(Hints::default(), 8);
            let other = other.expect("the NIC runs");
            let waiting = endpoint.post_recv(&other, SourceSel::Any, tag(7), vec![0; 50]);
            let waiting = waiting.expect("posted");
            let refused = (0..2).fold(refused, |refused, _| refuse(endpoint, refused));
            for (comm, byte, length) in [(&refused, 8, 20), (&other, 9, 50)] {
                let mut peer = endpoint.sender(comm, rank(0));
                peer.send(tag(7), &vec![byte; length]).expect("sent");
            }
            let received = endpoint.recv(&refused, rank(0), tag(7), vec![0; 20]);
            assert_eq!(received.expect(name).bytes(), [8; 20], "{name}");
            let received = endpoint.wait(waiting);
            assert_eq!(received.expect(name).bytes(), [9; 50], "{name}");
            for comm in [refused, other] {
                let freed = endpoint.free_comm(comm);
                assert!(freed.is_ok(), "{name}: {freed:?}");
            }
        }
    });
}
