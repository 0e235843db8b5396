//! Posts, cancels and arrivals that race to the block boundary: the NIC gives the order, and no message is
//! lost in it (S12).
#![cfg(dpamatch_loom)]

use dpa_model::{CommId, NicConfig, Options, Wait};
use loom_tests::race::{Ends, Role, build, lead, model, run};
use loom_tests::stream::{envelope, payload, selector, tiny};

fn config(receives: usize) -> NicConfig {
    NicConfig { receives, ..tiny(1, 1, Options::default()) }
}

/// Posts receives of tag 7 for these sources; then cancels the first of them, if asked to.
fn post(
    host: std::mem::ManuallyDrop<dpa_model::HostPort>,
    sources: &'static [Option<u32>],
    cancel: bool,
) -> Role {
    Box::new(move || {
        let mut host = host;
        let mut posted = Vec::new();
        for &source in sources {
            let selector = selector(source, Some(7));
            let request = host.post(CommId(0), selector, vec![0xFF; 64], 0).expect("room for a command");
            posted.push((request, selector));
        }
        if cancel {
            host.cancel(posted[0].0, 0).expect("room for a command");
        }
        Ends { host: Some(host), posted, ..Ends::default() }
    })
}

/// Sends messages of tag 7 from these sources.
fn send(sender: std::mem::ManuallyDrop<dpa_model::Sender>, sources: &'static [u32]) -> Role {
    Box::new(move || {
        let mut sender = sender;
        for (number, &source) in (0..).zip(sources) {
            sender.send(envelope(0, source, 7), &payload(number, 8)).expect("the NIC runs");
        }
        Ends::default()
    })
}

#[test]
fn a_post_meets_an_arrival() {
    let expected = ["posts_late", "clean"];
    model("boundary/post against arrival", 3, Some(3), &expected, &[], |rotation, paths| {
        let parts = build(config(4));
        let roles = vec![
            lead(parts.leader, 1, |counts| counts.boundary.posts == 1 && counts.handlers.messages == 1),
            post(parts.host, &[Some(0)], false),
            send(parts.sender, &[0]),
        ];
        assert_eq!(run(roles, rotation).replay(paths), (0, 0), "the lost message");
    });
}

#[test]
fn two_posts_meet_two_arrivals() {
    let expected = ["posts_late", "clean", "stored"];
    model("boundary/posts against arrivals", 3, Some(2), &expected, &[], |rotation, paths| {
        let parts = build(config(4));
        let roles = vec![
            lead(parts.leader, 1, |counts| counts.boundary.posts == 2 && counts.handlers.messages == 2),
            post(parts.host, &[None, Some(0)], false),
            send(parts.sender, &[1, 0]),
        ];
        run(roles, rotation).replay(paths);
    });
}

#[test]
fn a_cancel_meets_an_arrival() {
    let expected = ["cancelled in time", "cancelled too late"];
    model("boundary/cancel against arrival", 3, Some(3), &expected, &[], |rotation, paths| {
        let parts = build(config(4));
        let roles = vec![
            lead(parts.leader, 1, |counts| counts.boundary.commands == 3 && counts.handlers.messages == 1),
            post(parts.host, &[Some(0)], true),
            send(parts.sender, &[0]),
        ];
        run(roles, rotation).replay(paths);
    });
}

#[test]
fn what_was_posted_before_a_message_was_sent_waits_for_it() {
    // One thread posts, then sends: the receive may never find the message unexpected.
    model("boundary/post, then send", 2, None, &["clean"], &["posts_late"], |rotation, paths| {
        let parts = build(config(4));
        let (mut host, mut sender) = (parts.host, parts.sender);
        let both: Role = Box::new(move || {
            let selector = selector(Some(0), Some(7));
            let request = host.post(CommId(0), selector, vec![0xFF; 64], 0).expect("room for a command");
            sender.send(envelope(0, 0, 7), &payload(0, 8)).expect("the NIC runs");
            Ends { host: Some(host), posted: vec![(request, selector)], ..Ends::default() }
        });
        let roles = vec![
            lead(parts.leader, 1, |counts| counts.boundary.posts == 1 && counts.handlers.messages == 1),
            both,
        ];
        run(roles, rotation).replay(paths);
    });
}

#[test]
fn fallback_keeps_the_order() {
    // One descriptor: the second post goes to the host, and so do later ones and what they would match (S20).
    let expected = ["fallback_receives", "posts_forwarded", "arrivals_forwarded", "clean"];
    model("boundary/fallback", 3, Some(2), &expected, &[], |rotation, paths| {
        let parts = build(config(1));
        let roles = vec![
            lead(parts.leader, 1, |counts| counts.boundary.posts == 3 && counts.handlers.messages == 2),
            post(parts.host, &[Some(0), Some(1), Some(0)], false),
            send(parts.sender, &[0, 0]),
        ];
        run(roles, rotation).replay(paths);
    });
}

#[test]
fn a_post_during_a_block_waits_for_its_end() {
    // Two workers run a block whose second message walks the whole chain, while the host posts what it looks
    // for.
    let expected = ["posts_late", "stored", "shared_blocks"];
    model("boundary/post during a block", 3, Some(2), &expected, &[], |rotation, paths| {
        let mut parts = build(tiny(2, 2, Options::default()));
        let first = selector(Some(0), Some(7));
        let request = parts.host.post(CommId(0), first, vec![0xFF; 64], 0).expect("room for a command");
        parts.leader.round(1);
        for (arrival, source) in [(0, 0), (1, 1)] {
            parts
                .sender
                .try_send(envelope(0, source, 7), &payload(arrival, 8), 0)
                .expect("room for a message");
        }
        let mut worker = parts.workers.pop().expect("a second worker");
        let work: Role = Box::new(move || {
            let mut wait = Wait::new();
            while !worker.round() {
                wait.pause();
            }
            Ends::default()
        });
        let roles = vec![
            lead(parts.leader, 2, |counts| counts.boundary.posts == 2 && counts.handlers.messages == 2),
            work,
            post(parts.host, &[Some(1)], false),
        ];
        let mut ends = run(roles, rotation);
        ends.posted.insert(0, (request, first));
        assert_eq!(ends.replay(paths), (0, 0), "the lost message");
    });
}
