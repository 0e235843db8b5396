//! Blocks that end at their handlers: each handler recycles its receive and entry, the last one the
//! block's entries.
#![cfg(dpamatch_loom)]

use dpa_model::{CommId, NicConfig, Operation, Options, Removal, Repost};
use loom_tests::model::{Extent, shared};
use loom_tests::race::{Ends, Role, build, lead, model, run, work};
use loom_tests::stream::{Stream, envelope, payload, post, selector, send, tiny};

const TWO: Extent = Extent::bounded(3, 6);
const THREE: Extent = Extent::bounded(2, 3);

fn options(removal: Removal) -> Options {
    Options { repost: Repost::Handlers, removal, ..Options::default() }
}

fn of(handlers: usize, removal: Removal, receives: usize, steps: &[Operation]) -> Stream {
    let config = NicConfig { receives, ..tiny(handlers, handlers, options(removal)) };
    Stream::new(config, steps)
}

#[test]
fn clean_two() {
    let steps = [post(0, 7), post(0, 8), send(0, 7), send(0, 8)];
    let stream = of(2, Removal::Lazy, 2, &steps);
    shared("repost/clean two", stream, Extent::EXHAUSTIVE, &["clean"], &["fast", "slow"]);
}

#[test]
fn three_in_conflict() {
    let steps = [vec![post(0, 7); 3], vec![send(0, 7); 3]].concat();
    let stream = of(3, Removal::Deferred, 3, &steps);
    shared("repost/form c, three", stream, THREE, &["clean", "fast"], &["slow"]);
}

#[test]
fn receives_that_left_their_chain_come_back() {
    // Two descriptors for four receives: the second block reuses those that the first consumed. One
    // whose lock was missed is still in its chain, and the leader recycles it.
    let block = [vec![post(0, 7); 2], vec![send(0, 7); 2]].concat().repeat(2);
    let expected = ["clean", "fast", "lock_missed"];
    shared("repost/recycling, lazy", of(2, Removal::Lazy, 2, &block), TWO, &expected, &["slow"]);
}

#[test]
fn receives_that_wait_for_the_blocks_end_come_back() {
    let block = [vec![post(0, 7); 2], vec![send(0, 7); 2]].concat().repeat(2);
    let stream = of(2, Removal::Deferred, 2, &block);
    shared("repost/recycling, deferred", stream, TWO, &["clean", "fast"], &["slow"]);
}

#[test]
fn messages_without_a_receive_are_stored_first() {
    // The first block has one, the second none, the third is all of them.
    let steps = [
        vec![post(0, 7), send(0, 8), send(0, 7)],
        vec![post(0, 7); 2],
        vec![send(0, 7); 2],
        vec![send(0, 9); 2],
    ]
    .concat();
    let expected = ["clean", "unexpected", "stored"];
    shared("repost/unexpected", of(2, Removal::Lazy, 2, &steps), TWO, &expected, &[]);
}

#[test]
fn slices_of_two() {
    let steps =
        [post(0, 7), post(None, 7), post(1, 9), send(0, 7), send(0, 7), send(1, 9), send(0, 7)];
    let stream = Stream::new(tiny(4, 2, options(Removal::Lazy)), &steps);
    shared("repost/slices of two", stream, TWO, &["clean", "slow", "unexpected"], &[]);
}

#[test]
fn a_leader_alone_between() {
    let steps = [vec![post(0, 7); 6], vec![send(0, 7); 6]].concat();
    let stream = Stream { switching: true, ..of(2, Removal::Lazy, 6, &steps) };
    shared("repost/switching", stream, TWO, &["shared_blocks", "clean", "fast"], &[]);
}

/// A full queue of two messages, `first` and one from source 0, and a receive for source 0. More
/// messages arrive while both workers run the block.
fn full_queue(name: &str, first: u32, expected: &[&str]) {
    const MORE: u32 = 1;
    model(name, 3, Some(2), expected, &[], move |rotation, paths| {
        let mut parts = build(tiny(2, 2, options(Removal::Lazy)));
        let mut posted = Vec::new();
        for source in [0, 2] {
            let wanted = selector(Some(source), Some(7));
            let request = parts.host.post(CommId(0), wanted, vec![0xFF; 64], 0);
            posted.push((request.expect("room for a command"), wanted));
        }
        parts.leader.round(1);
        for (arrival, source) in [(0, first), (1, 0)] {
            parts
                .sender
                .try_send(envelope(0, source, 7), &payload(arrival, 8), 0)
                .expect("room for a message");
        }
        let worker = parts.workers.pop().expect("a second worker");
        let (mut sender, host) = (parts.sender, parts.host);
        let send: Role = Box::new(move || {
            for arrival in 2..2 + MORE {
                sender
                    .send(envelope(0, 3, 7), &payload(u64::from(arrival), 8))
                    .expect("the NIC runs");
            }
            Ends { host: Some(host), posted, ..Ends::default() }
        });
        let lead = lead(parts.leader, 2, |counts| counts.handlers.messages == 2 + u64::from(MORE));
        run(vec![lead, work(worker), send], rotation).replay(paths);
    });
}

#[test]
fn the_last_handler_makes_room() {
    full_queue("repost/room while a block runs", 2, &["clean", "send_queue_full", "stored"]);
}

#[test]
fn a_message_to_be_stored_keeps_its_entry() {
    full_queue("repost/room behind a store", 1, &["clean", "send_queue_full", "stored"]);
}
