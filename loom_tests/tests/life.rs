//! Rendezvous, and shutdown while senders and workers wait.
#![cfg(dpamatch_loom)]

use std::mem::ManuallyDrop;

use dpa_model::{Options, SendError, Wait};
use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, Ordering};
use loom_tests::race::{act, build, lead, model, post_one, run, send_one};
use loom_tests::stream::{envelope, payload, selector, tiny};

#[test]
fn rendezvous_returns_the_buffer_after_the_read() {
    model(
        "life/rendezvous",
        2,
        None,
        &["in_order"],
        &[],
        |rotation, paths| {
            let mut parts = build(tiny(1, 1, Options::default()));
            let posted = [(); 2].map(|()| post_one(&mut parts.host, selector(Some(0), Some(7))));
            parts.leader.round(1);
            let mut sender = parts.sender;
            let send = act(move || {
                // One region: the second message waits until the NIC has read the first, because
                // it replaces that message's buffer.
                for number in 0..2 {
                    let bytes = payload(number, 40);
                    let mut wait = Wait::new();
                    let mut again = bytes.clone();
                    let sent = loop {
                        match sender.try_send_rendezvous(envelope(0, 0, 7), again, 0) {
                            Ok(sent) => break sent,
                            Err((_, back)) => again = back,
                        }
                        wait.pause();
                    };
                    assert_eq!(sent.wait().expect("the NIC runs"), bytes);
                }
            });
            let mut ends = run(
                vec![
                    lead(parts.leader, 1, |counts| counts.handlers.messages == 2),
                    send,
                ],
                rotation,
            );
            ends.posted = posted.into();
            ends.host = Some(parts.host);
            ends.read();
            let buffers: Vec<&[u8]> = ends
                .events
                .iter()
                .filter_map(|event| match event {
                    dpa_model::Event::Received { buffer, .. } => Some(&buffer[..40]),
                    _ => None,
                })
                .collect();
            assert_eq!(
                buffers,
                [payload(0, 40), payload(1, 40)],
                "the sender's buffer was read too late"
            );
            ends.replay(paths);
        },
    );
}

#[test]
fn an_abandoned_rendezvous_is_still_delivered() {
    model(
        "life/abandoned rendezvous",
        2,
        None,
        &["in_order"],
        &[],
        |rotation, paths| {
            let mut parts = build(tiny(1, 1, Options::default()));
            let posted = vec![post_one(&mut parts.host, selector(Some(0), Some(7)))];
            parts.leader.round(1);
            let mut sender = parts.sender;
            let send = act(move || {
                drop(
                    sender
                        .try_send_rendezvous(envelope(0, 0, 7), payload(9, 40), 0)
                        .expect("a region"),
                );
                // If the region is still in use, there is another; if it is free, this message
                // overwrites it.
                if let Ok(second) = sender.try_send_rendezvous(envelope(0, 1, 7), payload(8, 40), 0)
                {
                    drop(second);
                }
            });
            let mut ends = run(
                vec![
                    lead(parts.leader, 1, |counts| counts.handlers.messages >= 1),
                    send,
                ],
                rotation,
            );
            ends.posted = posted;
            ends.host = Some(parts.host);
            ends.read();
            let found = ends.events.iter().find_map(|event| match event {
                dpa_model::Event::Received { buffer, .. } => Some(buffer[..40].to_vec()),
                _ => None,
            });
            assert_eq!(found, Some(payload(9, 40)), "another message's data");
            ends.replay(paths);
        },
    );
}

#[test]
fn shutdown_reaches_a_waiting_worker_and_a_waiting_sender() {
    let expected = ["stopped before the block", "stopped after the block"];
    model(
        "life/shutdown",
        3,
        Some(2),
        &expected,
        &[],
        |rotation, paths| {
            let mut parts = build(tiny(2, 2, Options::default()));
            let posted = [(); 2].map(|()| post_one(&mut parts.host, selector(Some(0), Some(7))));
            parts.leader.round(1);
            for arrival in 0..2 {
                send_one(&mut parts.sender, 0, arrival);
            }
            let (mut leader, mut worker) =
                (parts.leader, parts.workers.pop().expect("a second worker"));
            let (stop, monitor) = (leader.stop(), leader.monitor());
            let dissolved = Arc::new(AtomicBool::new(false));
            let over = Arc::clone(&dissolved);
            let lead = act(move || {
                let mut wait = Wait::new();
                while !leader.should_stop() {
                    if leader.round(2) == dpa_model::Round::Idle {
                        wait.pause();
                    }
                }
                over.store(true, Ordering::Relaxed);
                // As in the pool, dropping the leader stops the NIC.
                drop(ManuallyDrop::into_inner(leader));
            });
            let serve = act(move || {
                let mut wait = Wait::new();
                while !dissolved.load(Ordering::Relaxed) {
                    if !worker.round() {
                        wait.pause();
                    }
                }
            });
            let mut sender = parts.sender;
            let end = act(move || {
                stop.request();
                let mut wait = Wait::new();
                // Waits for the NIC's end like a sender that finds it gone.
                while sender.try_send(envelope(0, 1, 9), &[], 0) != Err(SendError::Stopped) {
                    wait.pause();
                }
            });
            let mut ends = run(vec![lead, serve, end], rotation);
            let counts = monitor.counts();
            paths.add(&counts);
            let matched = counts.handlers.messages >= 2;
            paths.note(if matched {
                "stopped after the block"
            } else {
                "stopped before the block"
            });
            assert!(parts.host.is_stopped());
            ends.host = Some(parts.host);
            ends.posted = posted.into();
            ends.read();
            let received = ends
                .events
                .iter()
                .filter(|e| matches!(e, dpa_model::Event::Received { .. }))
                .count();
            assert_eq!(
                received,
                if matched { 2 } else { 0 },
                "a block was left half done"
            );
            drop(ManuallyDrop::into_inner(
                ends.host.take().expect("just set"),
            ));
        },
    );
}
