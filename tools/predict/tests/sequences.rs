//! Costs of late receives and long messages in virtual time, added up by hand.

use dpamatch_predict::{Offer, Part, Profile, Sequence, Setup, predict};
use dpamatch_vocabulary::{
    CommId, Envelope, MsgId, Operation, Rank, RecvId, Selector, Tag, TagSel,
};

const NS: u64 = 1000;

fn card(overrides: &[&str]) -> Profile {
    let overrides: Vec<String> = overrides.iter().map(|&name| name.to_owned()).collect();
    let text = Profile::text("bluefield3").expect("built in");
    Profile::read(text, &overrides).expect("a good profile")
}

/// One handler and free memory: the rest can be added up by hand.
fn free_memory() -> Setup {
    let names = ["memory.l1_ns=0", "memory.l2_ns=0", "memory.l3_ns=0", "memory.dram_ns=0"];
    Setup::new(card(&names), 1)
}

const COMM: CommId = CommId(5);

fn source() -> Rank {
    Rank::new(3).expect("a rank")
}

fn post(receive: u64) -> Operation {
    let selector = Selector::new(source(), TagSel::Any);
    Operation::Post { recv: RecvId(receive), comm: COMM, selector, bytes: 0 }
}

fn arrive(message: u64, bytes: u32) -> Operation {
    let tag = Tag::new(7).expect("a tag");
    let envelope = Envelope { comm: COMM, source: source(), tag };
    Operation::Arrive { msg: MsgId(message), envelope, bytes }
}

fn run(setup: &Setup, sequence: &Sequence) -> Part {
    predict(setup, &Offer::Sequence(sequence.clone()), 0).expect("a good set-up").part
}

/// Extra time of charged commands, in picoseconds.
fn commands_cost(events: &[Operation]) -> u64 {
    let sequence = Sequence::new(events.to_vec());
    let mut setup = free_memory();
    let free = run(&setup, &sequence);
    setup.charge_commands = true;
    let charged = run(&setup, &sequence);
    assert_eq!(free.matches, charged.matches);
    let fence = |part: &Part| part.outcome.eus[0].time.fence;
    assert_eq!(fence(&charged), fence(&free), "commands are work, no waiting");
    charged.time - free.time
}

#[test]
fn a_late_receive_moves_the_data_as_well() {
    // work.post_ns, host.window_write_ns and host.completion_ns.
    assert_eq!(commands_cost(&[arrive(0, 8), post(0)]), (150 + 224 + 35) * NS);
    let both = [arrive(0, 400), arrive(1, 400), post(0), post(1)];
    assert_eq!(
        commands_cost(&both),
        2 * (150 + 224 + 35 + 2000 + 8) * NS,
        "host.remote_read_ns, and 400 bytes at 50 a nanosecond, for long messages"
    );
}

#[test]
fn long_messages_are_read_and_short_ones_written() {
    let setup = free_memory();
    let time = |bytes| {
        let part = run(&setup, &Sequence::new(vec![post(0), arrive(0, bytes)]));
        assert_eq!(part.matches, [(0, 0)]);
        part.time
    };
    assert_eq!(time(0) + 224 * NS, time(8), "host.window_write_ns");
    assert_eq!(time(64), time(8), "one line");
    assert_eq!(
        time(100) + 224 * NS,
        time(64) + (2000 + 2) * NS,
        "host.remote_read_ns and 100 bytes at 50 a nanosecond in place of the window (O21)"
    );
    assert_eq!(time(1_000_100), time(100) + 20_000 * NS, "a megabyte at 50 bytes a nanosecond");
    let mut wide = setup.clone();
    wide.eager_limit = 256;
    let part = run(&wide, &Sequence::new(vec![post(0), arrive(0, 256)]));
    assert_eq!(part.time, time(8) + 3 * 11 * NS, "three further lines: host.window_next_ns");
}
