//! Names of requests and NICs.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::*;
use crate::ends::event::Payload;
use crate::{Envelope, Nic, NicConfig};

const COMM: CommId = CommId(0);

fn anything() -> Selector {
    Selector {
        source: SourceSel::Any,
        tag: TagSel::Any,
    }
}

/// A NIC with room for one receive, and little else.
fn nic() -> Nic {
    nic_with(1)
}

fn nic_with(receives: usize) -> Nic {
    nic_of(config(receives))
}

/// Small enough that Miri builds it in seconds.
fn config(receives: usize) -> NicConfig {
    NicConfig {
        receives,
        bins: 1,
        communicators: 1,
        completion_queue: 32,
        bounce_buffers: 1,
        eager_limit: 64,
        unexpected: 1,
        unexpected_buffers: 1,
        completion_ring: 32,
        regions: 1,
        ..NicConfig::default()
    }
}

fn nic_of(config: NicConfig) -> Nic {
    let mut nic = Nic::new(&config).unwrap();
    nic.host.create(COMM, 1, Hints::default(), 0).unwrap();
    nic.leader.round(1);
    assert!(matches!(
        nic.host.poll(),
        Some(Event::Created {
            offloaded: true,
            ..
        })
    ));
    nic
}

fn post(nic: &mut Nic) -> RequestId {
    let request = nic.host.post(COMM, anything(), vec![7; 8], 0).unwrap();
    nic.leader.round(1);
    request
}

fn forwarded(nic: &mut Nic) -> ForwardedRequest {
    post(nic);
    post(nic);
    match nic.host.poll() {
        Some(Event::PostForwarded { request }) => request,
        other => panic!("there is room for one receive: {other:?}"),
    }
}

#[test]
fn a_handle_of_an_ended_nic_is_never_taken_for_one_of_a_later_nic() {
    let stale = forwarded(&mut nic());
    // Later NICs have the memory, and so the addresses, of earlier ones; Miri is slow.
    for _ in 0..if cfg!(miri) { 3 } else { 20 } {
        let mut later = nic();
        let fresh = forwarded(&mut later);
        assert_eq!(fresh.id(), stale.id(), "the names are the same");
        let stale = ForwardedRequest {
            request: stale.request,
            nic: stale.nic,
        };
        let withdrawn = catch_unwind(AssertUnwindSafe(|| later.host.withdraw(stale)));
        assert!(withdrawn.is_err(), "the buffer of another receive");
        assert_eq!(later.host.withdraw(fresh), [7; 8]);
    }
}

#[test]
fn a_stale_request_names_nothing() {
    let mut nic = nic();
    let old = post(&mut nic);
    nic.host.cancel(old, 0).unwrap();
    nic.leader.round(1);
    assert!(matches!(nic.host.poll(), Some(Event::Cancelled { request, .. }) if request == old));
    let new = post(&mut nic);
    assert_eq!((new.slot(), nic.host.describe(old)), (old.slot(), None));
    nic.host.cancel(old, 0).unwrap();
    nic.leader.round(1);
    let answer = nic.host.poll();
    assert!(matches!(answer, Some(Event::CancelForwarded { request, .. }) if request == old));
    // The last generation of a slot is its last receive.
    nic.host.requests.slots[new.slot()].generation = u32::MAX;
    let last = RequestId(u64::from(u32::MAX) << 32 | new.slot() as u64);
    assert_eq!(nic.host.requests.end(last), [7; 8]);
    assert_ne!(post(&mut nic).slot(), last.slot());
}

/// A host that holds slots collects a buffer after the receive's end, and not before.
#[test]
fn a_buffer_stays_in_its_slot_until_it_is_collected() {
    let mut nic = nic_with(3);
    nic.host.hold_slots();
    let requests = [(); 2].map(|()| post(&mut nic));
    let free = |nic: &mut Nic, slot| catch_unwind(AssertUnwindSafe(|| nic.host.free_slot(slot)));
    assert!(
        requests
            .iter()
            .all(|request| free(&mut nic, request.slot()).is_err())
    );
    let envelope = Envelope {
        comm: COMM,
        ..Envelope::default()
    };
    nic.sender.try_send(envelope, &[3; 8], 0).unwrap();
    nic.leader.round(1);
    let mut told = Vec::new();
    let other = nic.host.drain_kept(|request, message| {
        told.push((request, message.length));
        true
    });
    assert!(other.is_none());
    assert_eq!(told, [(requests[0], 8)]);
    let [ended, open] = requests.map(|request| request.slot());
    assert_eq!(nic.host.request_of(ended), requests[0]);
    assert_eq!(nic.host.describe(requests[0]), None);
    assert!(free(&mut nic, open).is_err(), "it has not ended");
    assert_ne!(post(&mut nic).slot(), ended, "it is held");
    assert_eq!(nic.host.free_slot(ended), Some(vec![3; 8]));
    assert!(free(&mut nic, ended).is_err(), "it is free");
    let later = post(&mut nic);
    assert_eq!((later.slot(), later == requests[0]), (ended, false));
    assert!(
        free(&mut nic, ended).is_err(),
        "the later receive has not ended"
    );
}

/// A host that waits for the receive that ends next takes it from the ring.
#[test]
fn the_next_receive_to_end_is_taken_past_the_table() {
    let mut nic = nic_with(3);
    nic.host.hold_slots();
    let [first, second] = [(); 2].map(|()| post(&mut nic));
    assert!(
        nic.host.take_next(first.slot()).is_none(),
        "it has not ended"
    );
    let envelope = Envelope {
        comm: COMM,
        ..Envelope::default()
    };
    nic.sender.try_send(envelope, &[3; 8], 0).unwrap();
    nic.leader.round(1);
    assert!(
        nic.host.take_next(second.slot()).is_none(),
        "another one ends next"
    );
    let (buffer, message) = nic.host.take_next(first.slot()).expect("it has ended");
    assert_eq!(
        (buffer, message.length, message.arrival),
        (vec![3; 8], 8, 0)
    );
    assert!(nic.host.take_next(first.slot()).is_none());
    let third = post(&mut nic);
    assert_eq!(
        (third.slot(), third == first),
        (first.slot(), false),
        "the slot is free"
    );
    // Another event stays in the ring.
    nic.host.cancel(second, 0).unwrap();
    nic.leader.round(1);
    assert!(nic.host.take_next(second.slot()).is_none());
    let cancelled = nic.host.poll();
    assert!(matches!(cancelled, Some(Event::Cancelled { request, .. }) if request == second));
    // Read positions are released: the ring has 32 places.
    let mut open = third;
    for value in 0..if cfg!(miri) { 40 } else { 200 } {
        nic.sender.try_send(envelope, &[value; 8], 0).unwrap();
        nic.leader.round(1);
        let taken = nic.host.take_next(open.slot()).map(|(buffer, _)| buffer);
        assert_eq!(taken, Some(vec![value; 8]));
        open = post(&mut nic);
    }
}

/// A slot whose generations are used up, and one that ends during an offer, are not used again.
#[test]
fn a_collected_slot_may_be_one_that_is_not_used_again() {
    let mut nic = nic();
    nic.host.hold_slots();
    let request = post(&mut nic);
    nic.host.requests.slots[request.slot()].generation = u32::MAX;
    assert!(nic.host.requests.keep(nic.host.request_of(request.slot())));
    assert_eq!(nic.host.free_slot(request.slot()), Some(vec![7; 8]));
    let next = post(&mut nic);
    assert_ne!(next.slot(), request.slot());
    nic.host.requests.park();
    assert!(nic.host.requests.keep(next));
    assert_eq!(nic.host.free_slot(next.slot()), Some(vec![7; 8]));
    assert_ne!(post(&mut nic).slot(), next.slot());
}

/// Software matching may keep back events while its offer has no answer.
#[test]
fn slots_that_end_during_an_offer_are_used_again_after_it() {
    let mut nic = nic();
    let left = forwarded(&mut nic);
    let envelope = Envelope {
        comm: COMM,
        ..Envelope::default()
    };
    nic.sender.try_send(envelope, &[], 0).unwrap();
    nic.leader.round(1);
    // The receive on the NIC gets the message; the other is offered meanwhile, with a wrong count.
    let mut offer = vec![left];
    nic.host.hand_back(COMM, 7, &mut offer).unwrap();
    let Some(Event::Received { request: ended, .. }) = nic.host.poll() else {
        panic!("a result")
    };
    let during = post(&mut nic);
    assert_ne!(during.slot(), ended.slot());
    let Some(Event::Declined { mut receives, .. }) = nic.host.poll() else {
        panic!("an answer")
    };
    nic.host.hand_back(COMM, 7, &mut receives).unwrap();
    let after = post(&mut nic);
    assert_eq!((after.slot(), after == ended), (ended.slot(), false));
}

/// A single sender counts its messages by itself; the port still sees all of them.
#[test]
fn a_message_of_a_single_sender_is_waited_for() {
    // With a bounce buffer for each entry; otherwise the sender checks the queue each time.
    let mut nic = nic_of(NicConfig {
        bounce_buffers: 32,
        ..config(4)
    });
    assert!(nic.host.is_settled());
    for sent in 1..=40 {
        nic.sender.try_send(Envelope::default(), b"x", 0).unwrap();
        assert!(!nic.host.is_settled(), "message {sent} is under way");
        nic.host.post(COMM, anything(), vec![7; 8], 0).unwrap();
        assert_eq!(nic.leader.round(1), crate::Round::Worked);
        assert!(nic.host.is_settled(), "message {sent} was dealt with");
        assert_eq!(nic.host.arrivals(), (sent, sent));
        assert!(matches!(nic.host.poll(), Some(Event::Received { .. })));
    }
}

/// A matched probe's message of this NIC.
fn taken(nic: &mut Nic) -> TakenMessage {
    let envelope = Envelope {
        comm: COMM,
        ..Envelope::default()
    };
    nic.sender.try_send(envelope, &[3; 8], 0).unwrap();
    nic.leader.round(1);
    nic.host.probe(COMM, anything(), true, 0).unwrap();
    nic.leader.round(1);
    match nic.host.poll() {
        Some(Event::Probed {
            taken: Some(taken), ..
        }) => taken,
        other => panic!("a message had come: {other:?}"),
    }
}

/// Posted receives, and receives of a matched probe's message, count until their slots are free.
#[test]
fn receives_of_a_communicator_are_counted() {
    let mut nic = nic_with(3);
    nic.host.hold_slots();
    let other = CommId(COMM.0 + 1);
    let message = taken(&mut nic);
    assert_eq!(nic.host.receives_of(COMM), 0, "the probe has ended");
    let open = post(&mut nic);
    let matched = nic.host.receive(message, vec![0; 8], 0).unwrap();
    assert_eq!(
        (nic.host.receives_of(COMM), nic.host.receives_of(other)),
        (2, 0)
    );
    nic.leader.round(1);
    assert!(nic.host.drain_kept(|_, _| true).is_none());
    assert_eq!(
        nic.host.receives_of(COMM),
        2,
        "one has ended, and holds its slot"
    );
    assert_eq!(nic.host.free_slot(matched.slot()), Some(vec![3; 8]));
    let slot = nic.host.take_slot(other);
    assert_eq!(
        (nic.host.receives_of(COMM), nic.host.receives_of(other)),
        (1, 1)
    );
    nic.host.free_slot(slot);
    nic.host.cancel(open, 0).unwrap();
    nic.leader.round(1);
    assert!(matches!(nic.host.poll(), Some(Event::Cancelled { .. })));
    nic.host.free_slot(open.slot());
    assert_eq!(
        (nic.host.receives_of(COMM), nic.host.receives_of(other)),
        (0, 0)
    );
}

#[test]
fn a_message_is_received_by_the_nic_that_holds_it() {
    let (mut own, mut other) = (nic(), nic());
    let message = taken(&mut own);
    let foreign = taken(&mut other);
    let refused = catch_unwind(AssertUnwindSafe(|| {
        own.host.receive(foreign, vec![0; 8], 0)
    }));
    assert!(
        refused.is_err(),
        "entries of another NIC have the same numbers"
    );
    let software = TakenMessage::by_software(Payload::Eager(vec![1]));
    let refused = catch_unwind(AssertUnwindSafe(|| {
        own.host.receive(software, vec![0; 8], 0)
    }));
    assert!(refused.is_err(), "software holds it");
    own.host.receive(message, vec![0; 8], 0).unwrap();
    own.leader.round(1);
    let received = own.host.poll();
    assert!(
        matches!(&received, Some(Event::Received { buffer, .. }) if buffer == &[3; 8]),
        "{received:?}"
    );
}

/// A panic of the caller loses only the receive that it interrupts, anywhere between two releases
/// of the ring.
#[test]
fn a_panic_while_results_are_handed_over_loses_no_other_result() {
    for strikes in 0..if cfg!(miri) { 2 } else { 20 } {
        let mut nic = nic_with(32);
        let envelope = Envelope {
            comm: COMM,
            ..Envelope::default()
        };
        for _ in 0..20 {
            post(&mut nic);
        }
        for value in 0..20 {
            nic.sender.try_send(envelope, &[value; 8], 0).unwrap();
            nic.leader.round(1);
        }
        let mut seen = Vec::new();
        let struck = catch_unwind(AssertUnwindSafe(|| {
            nic.host.drain(|_, buffer, _, _| {
                seen.push(buffer[0]);
                assert_ne!(seen.len(), strikes + 1, "this panic is part of the test");
                true
            });
        }));
        assert!(struck.is_err(), "place {strikes}");
        while let Some(event) = nic.host.poll() {
            let Event::Received { buffer, .. } = event else {
                panic!("{event:?}")
            };
            seen.push(buffer[0]);
        }
        assert!(seen.iter().copied().eq(0..20), "place {strikes}: {seen:?}");
    }
}
