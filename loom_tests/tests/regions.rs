//! Registered memory: senders share it, the NIC or the host reads it, and either may end first.
#![cfg(dpamatch_loom)]

use std::mem::ManuallyDrop;
use std::sync::{Arc, Mutex};

use dpa_model::{
    CommId, Event, HostPort, NicConfig, Options, Payload, RemoteData, SendError, Wait,
};
use loom_tests::race::{Ends, Parts, Role, act, build, lead, model, post_one, run, send_one};
use loom_tests::stream::{envelope, payload, selector, tiny};

const LENGTH: usize = 40;
/// A communicator unknown to the NIC, which forwards its messages to the host.
const SOFTWARE: u32 = 1;

/// One completion queue of four entries for all senders.
fn one_queue() -> NicConfig {
    NicConfig {
        completion_queues: 1,
        completion_queue: 4,
        ..tiny(1, 1, Options::default())
    }
}

fn send(mut sender: ManuallyDrop<dpa_model::Sender>, source: u32, count: u64) -> Role {
    act(move || {
        for number in 0..count {
            let (mut bytes, mut wait) = (payload(number, LENGTH), Wait::new());
            let sent = loop {
                match sender.try_send_rendezvous(envelope(0, source, 7), bytes, 0) {
                    Ok(sent) => break sent,
                    Err((SendError::ReceiverNotReady, back)) => bytes = back,
                    Err(other) => panic!("{other:?}"),
                }
                wait.pause();
            };
            assert_eq!(
                sent.wait(),
                Ok(payload(number, LENGTH)),
                "another message's buffer"
            );
        }
    })
}

#[test]
fn two_senders_share_a_region_and_add_others() {
    let expected = ["in_order", "regions_added"];
    model(
        "regions/two senders",
        3,
        Some(2),
        &expected,
        &[],
        |rotation, paths| {
            let mut parts = build(one_queue());
            let any = selector(None, Some(7));
            let posted = [(); 3].map(|()| post_one(&mut parts.host, any));
            parts.leader.round(1);
            let second = ManuallyDrop::new((*parts.sender).clone());
            let roles = vec![
                lead(parts.leader, 1, |counts| counts.handlers.messages == 3),
                send(parts.sender, 0, 2),
                send(second, 1, 1),
            ];
            let mut ends = run(roles, rotation);
            (ends.posted, ends.host) = (posted.into(), Some(parts.host));
            assert_eq!(ends.replay(paths), (0, 0));
        },
    );
}

#[test]
fn a_sender_sees_the_nics_end() {
    // The NIC ends after two rounds while the host keeps its port. The buffer must come back.
    let expected = ["read", "not read", "not sent"];
    model(
        "regions/the NIC's end",
        2,
        None,
        &expected,
        &[],
        |rotation, paths| {
            let mut parts = build(tiny(1, 1, Options::default()));
            post_one(&mut parts.host, selector(Some(0), Some(7)));
            parts.leader.round(1);
            let mut leader = parts.leader;
            let end = act(move || {
                leader.round(1);
                leader.round(1);
                drop(ManuallyDrop::into_inner(leader));
            });
            let mut sender = parts.sender;
            let how = Arc::new(Mutex::new(""));
            let note = Arc::clone(&how);
            let send = act(move || {
                let bytes = payload(3, LENGTH);
                let sent = sender.try_send_rendezvous(envelope(0, 0, 7), bytes.clone(), 0);
                let (result, unsent) = match sent {
                    Ok(request) => (request.wait(), "not read"),
                    Err(error) => (Err(error), "not sent"),
                };
                *note.lock().expect("no panic") = match result {
                    Ok(back) => {
                        assert_eq!(back, bytes);
                        "read"
                    }
                    Err(back) => {
                        assert_eq!(back, (SendError::Stopped, bytes));
                        unsent
                    }
                };
            });
            run(vec![end, send], rotation);
            let how = *how.lock().expect("no panic");
            paths.note(how);
            let mut host = ManuallyDrop::into_inner(parts.host);
            let received = std::iter::from_fn(|| host.poll()).any(|event| match event {
                Event::Received { buffer, .. } => buffer[..LENGTH] == payload(3, LENGTH),
                _ => false,
            });
            assert_eq!(received, how == "read");
        },
    );
}

/// A forwarded message whose data is still at the sender.
fn forwarded(parts: &mut Parts) -> (RemoteData, dpa_model::SendRequest) {
    let sent = parts
        .sender
        .try_send_rendezvous(envelope(SOFTWARE, 0, 7), payload(5, LENGTH), 0);
    parts.leader.round(1);
    match parts.host.poll() {
        Some(Event::ArrivalForwarded {
            payload: Payload::Rendezvous(data),
            ..
        }) => (data, sent.expect("room")),
        other => panic!("unexpected event {other:?}"),
    }
}

fn read(data: RemoteData) -> bool {
    let mut target = [0; LENGTH];
    let read = data.read(&mut target);
    assert!(
        read.is_none() || target == payload(5, LENGTH)[..],
        "the data of another message"
    );
    read.is_some()
}

#[test]
fn host_and_sender_race_for_the_data_after_the_nics_end() {
    let expected = ["host", "sender"];
    model(
        "regions/after the NIC's end",
        3,
        None,
        &expected,
        &[],
        |rotation, paths| {
            let mut parts = build(tiny(1, 1, Options::default()));
            let (data, request) = forwarded(&mut parts);
            let leader = parts.leader;
            let end = act(move || drop(ManuallyDrop::into_inner(leader)));
            let results = Arc::new(Mutex::new((None, None)));
            let (host, sender) = (Arc::clone(&results), Arc::clone(&results));
            let read = act(move || {
                let read = read(data);
                host.lock().expect("no panic").0 = Some(read);
            });
            let wait = act(move || {
                let result = request.wait();
                let (Ok(back) | Err((_, back))) = &result;
                assert_eq!(*back, payload(5, LENGTH), "the buffer comes back");
                sender.lock().expect("no panic").1 = Some(result.is_ok());
            });
            run(vec![end, read, wait], rotation);
            let results = *results.lock().expect("no panic");
            assert!(
                matches!(results, (Some(read), Some(told)) if read == told),
                "{results:?}"
            );
            paths.note(if results.0 == Some(true) {
                "host"
            } else {
                "sender"
            });
        },
    );
}

#[test]
fn the_reader_frees_what_the_sender_abandons() {
    for given_up in [false, true] {
        let name = if given_up {
            "regions/abandoned, given up"
        } else {
            "regions/abandoned, read"
        };
        model(
            name,
            2,
            None,
            &[],
            &["regions_added"],
            move |rotation, paths| {
                let mut parts = build(tiny(1, 1, Options::default()));
                let (data, request) = forwarded(&mut parts);
                let reader = act(move || {
                    if given_up {
                        drop(data);
                    } else {
                        assert!(read(data), "the sender left it to the reader");
                    }
                });
                let abandon = act(move || drop(request));
                run(vec![reader, abandon], rotation);
                // The only region must be free again.
                drop(forwarded(&mut parts));
                paths.add(&parts.leader.monitor().counts());
            },
        );
    }
}

#[test]
fn taken_messages_are_dropped_while_the_host_polls() {
    let expected = ["all at once", "some later"];
    model(
        "regions/dropped messages",
        3,
        Some(3),
        &expected,
        &[],
        move |rotation, paths| {
            let config = NicConfig {
                completion_queue: 2,
                ..tiny(1, 1, Options::default())
            };
            let mut parts = build(NicConfig {
                unexpected: 2,
                ..config
            });
            let mut taken = Vec::new();
            for number in 0..2 {
                send_one(&mut parts.sender, 0, number);
                parts.leader.round(1);
                parts
                    .host
                    .probe(CommId(0), selector(None, None), true, 0)
                    .expect("room");
                parts.leader.round(1);
            }
            while let Some(event) = parts.host.poll() {
                if let Event::Probed {
                    taken: Some(message),
                    ..
                } = event
                {
                    taken.push(message);
                }
            }
            assert_eq!(taken.len(), 2);
            let mut host = parts.host;
            let poll: Role = Box::new(move || {
                assert!(host.poll().is_none());
                Ends {
                    host: Some(host),
                    ..Ends::default()
                }
            });
            let mut roles = vec![poll];
            for message in taken {
                roles.push(act(move || drop(message)));
            }
            let mut ends = run(roles, rotation);
            let (leader, host) = (
                &mut parts.leader,
                ends.host.as_mut().expect("the role ended"),
            );
            let commands = leader.monitor().counts().boundary.commands;
            leader.round(1);
            let at_once = leader.monitor().counts().boundary.commands == commands + 2;
            paths.note(expected[usize::from(!at_once)]);
            assert!(host.poll().is_none());
            leader.round(1);
            for number in 2..4 {
                send_one(&mut parts.sender, 0, number);
                leader.round(1);
            }
            assert_eq!(
                leader.monitor().counts().boundary.fallback_unexpected,
                0,
                "an entry is lost"
            );
        },
    );
}

#[test]
fn the_host_goes_away_while_a_block_runs() {
    let expected = ["stopped first", "port first"];
    model(
        "regions/port dropped",
        2,
        None,
        &expected,
        &[],
        |rotation, paths| {
            let mut parts = build(tiny(1, 1, Options::default()));
            post_one(&mut parts.host, selector(Some(0), Some(7)));
            parts.leader.round(1);
            send_one(&mut parts.sender, 0, 1);
            let mut leader = parts.leader;
            let serve = act(move || {
                let mut wait = Wait::new();
                while !leader.should_stop() {
                    if leader.round(1) == dpa_model::Round::Idle {
                        wait.pause();
                    }
                }
                drop(ManuallyDrop::into_inner(leader));
            });
            let stopped = Arc::new(Mutex::new(false));
            let note = Arc::clone(&stopped);
            let mut host: HostPort = ManuallyDrop::into_inner(parts.host);
            let leave = act(move || {
                host.request_stop();
                while host.poll().is_some() {}
                *note.lock().expect("no panic") = host.is_stopped();
                drop(host);
            });
            run(vec![serve, leave], rotation);
            let stopped = *stopped.lock().expect("no panic");
            paths.note(if stopped {
                "stopped first"
            } else {
                "port first"
            });
            assert_eq!(
                parts.sender.try_send(envelope(0, 0, 7), &[], 0),
                Err(SendError::Stopped)
            );
        },
    );
}

#[test]
fn a_region_goes_from_one_sender_to_another() {
    // The next owner must see that the last one no longer uses the bytes.
    let expected = ["the same", "another"];
    model(
        "regions/from sender to sender",
        2,
        None,
        &expected,
        &[],
        |rotation, paths| {
            let mut parts = build(one_queue());
            let (data, mut request) = forwarded(&mut parts);
            assert!(read(data));
            let mut other = ManuallyDrop::new((*parts.sender).clone());
            let take = act(move || assert_eq!(request.test(), Some(Ok(payload(5, LENGTH)))));
            let send = act(move || {
                let sent =
                    other.try_send_rendezvous(envelope(SOFTWARE, 1, 7), payload(6, LENGTH), 0);
                drop(sent.expect("room"));
            });
            run(vec![take, send], rotation);
            let added = parts.leader.monitor().counts().regions_added;
            paths.note(if added == 0 { "the same" } else { "another" });
        },
    );
}

#[test]
fn two_senders_add_regions() {
    let expected = ["one after the other", "one was too early"];
    model(
        "regions/both add",
        2,
        None,
        &expected,
        &[],
        |rotation, paths| {
            let mut parts = build(one_queue());
            let (held, request) = forwarded(&mut parts);
            let early = Arc::new(Mutex::new(0));
            let role = |source: u32| -> Role {
                let mut sender = ManuallyDrop::new((*parts.sender).clone());
                let early = Arc::clone(&early);
                act(move || {
                    let bytes = payload(u64::from(source), LENGTH);
                    match sender.try_send_rendezvous(envelope(SOFTWARE, source, 7), bytes, 0) {
                        Ok(sent) => drop(sent),
                        Err((error, _)) => {
                            assert_eq!(error, SendError::ReceiverNotReady);
                            *early.lock().expect("no panic") += 1;
                        }
                    }
                })
            };
            let roles = vec![role(1), role(2)];
            run(roles, rotation);
            let early = *early.lock().expect("no panic");
            assert!(early < 2, "who adds them has one");
            paths.note(if early == 0 {
                "one after the other"
            } else {
                "one was too early"
            });
            for _ in early..2 {
                parts.leader.round(1);
            }
            while let Some(event) = parts.host.poll() {
                let Event::ArrivalForwarded {
                    message,
                    payload: Payload::Rendezvous(data),
                } = event
                else {
                    panic!("unexpected event {event:?}")
                };
                let mut target = [0; LENGTH];
                assert_eq!(data.read(&mut target), Some(LENGTH));
                assert_eq!(target, [message.envelope.source.get() as u8; LENGTH]);
            }
            assert!(read(held), "those that are in use stay where they are");
            assert_eq!(request.wait(), Ok(payload(5, LENGTH)));
        },
    );
}

#[test]
fn the_head_of_the_free_regions_is_never_taken_for_an_older_one() {
    // While one sender takes a region, the other takes both and returns the first: the list's head
    // is the same, its rest is not.
    let expected = ["three messages"];
    model(
        "regions/an older head",
        2,
        Some(2),
        &expected,
        &[],
        |rotation, paths| {
            let parts = build(NicConfig {
                regions: 2,
                ..one_queue()
            });
            let mut other = ManuallyDrop::new((*parts.sender).clone());
            let (mut leader, mut host, mut sender) = (parts.leader, parts.host, parts.sender);
            let mut sends = move |number: u32| {
                let bytes = payload(u64::from(number), LENGTH);
                sender
                    .try_send_rendezvous(envelope(SOFTWARE, number, 7), bytes, 0)
                    .ok()
            };
            let read_one = |host: &mut HostPort| match host.poll() {
                Some(Event::ArrivalForwarded {
                    message,
                    payload: Payload::Rendezvous(data),
                }) => {
                    let mut target = [0; LENGTH];
                    assert_eq!(data.read(&mut target), Some(LENGTH));
                    let number = message.envelope.source.get();
                    assert_eq!(
                        target, [number as u8; LENGTH],
                        "the data of another message"
                    );
                    true
                }
                None => false,
                other => panic!("unexpected event {other:?}"),
            };
            let all = Arc::new(Mutex::new(false));
            let note = Arc::clone(&all);
            let one = act(move || {
                let (first, second) = (sends(1), sends(2));
                leader.round(1);
                read_one(&mut host);
                // Returns its region, if this was the message read.
                drop(first);
                let third = sends(3);
                *note.lock().expect("no panic") = second.is_some() && third.is_some();
                while leader.round(1) == dpa_model::Round::Worked {}
                while read_one(&mut host) {}
            });
            let two = act(move || {
                drop(other.try_send_rendezvous(envelope(SOFTWARE, 4, 7), payload(4, LENGTH), 0))
            });
            run(vec![one, two], rotation);
            if *all.lock().expect("no panic") {
                paths.note("three messages");
            }
        },
    );
}
