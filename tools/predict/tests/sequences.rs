//! Costs and times of commands, late receives and long messages in virtual time.

use dpamatch_predict::{Limit, Offer, Part, Pattern, Profile, Sequence, Setup, limits, predict};
use dpamatch_vocabulary::{
    CommId, Envelope, MsgId, Operation, Rank, RecvId, Selector, Tag, TagSel,
};

const NS: u64 = 1000;
const US: u64 = 1_000_000;

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

fn tag(number: u64) -> Tag {
    Tag::new(number as u32).expect("a tag")
}

fn post(receive: u64) -> Operation {
    let selector = Selector::new(source(), TagSel::Any);
    Operation::Post { recv: RecvId(receive), comm: COMM, selector, bytes: 0 }
}

fn arrive(message: u64, bytes: u32) -> Operation {
    let envelope = Envelope { comm: COMM, source: source(), tag: tag(7) };
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
fn posts_cost_their_work() {
    let mut events: Vec<Operation> = (0..10).map(post).collect();
    events.push(arrive(0, 8));
    assert_eq!(commands_cost(&events), 10 * 150 * NS, "work.post_ns each");
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

#[test]
fn recorded_times_are_kept() {
    let mut setup = free_memory();
    setup.charge_commands = true;
    let events: Vec<Operation> =
        (0..5).map(post).chain((0..5).map(|message| arrive(message, 8))).collect();
    let sequence = Sequence::new(events);
    let at = |arrivals: u64| {
        let posts = std::iter::repeat_n(70, 5);
        let times = posts.chain((1..=5).map(|message| 70 + message * arrivals)).collect();
        sequence.clone().at(times)
    };
    // One handler takes less than 100 us per message, so it is always ready for the next.
    let slow = run(&setup, &at(100_000));
    let alone = slow.outcome.eus[0].latency_max;
    assert!(alone < 3 * US, "{alone}");
    assert!(
        slow.time.abs_diff(500 * US + alone) < US,
        "the last comes after 500 us: {}",
        slow.time
    );
    assert!(slow.outcome.eus[0].latency <= 5 * alone);
    let offer = Offer::Sequence(at(100_000));
    let now = predict(&setup, &offer, 0).expect("a good set-up");
    let gains = limits(&setup, &offer, &now).expect("a good set-up");
    assert_eq!(gains[0].limit, Limit::Arrival);
    assert!(gains[0].gain > 10.0, "the card could be {} times as fast", gains[0].gain + 1.0);
}

#[test]
fn the_wire_spaces_messages_that_were_recorded_together() {
    let mut setup = free_memory();
    setup.profile.arrival.spacing_ns = 5000.0;
    let sequence = Sequence::window(Pattern::Distinct, 40, 8);
    let together = run(&setup, &sequence.clone().at(vec![0; 80]));
    let at_once = run(&setup, &sequence);
    assert!(at_once.time > 39 * 5 * US, "{}", at_once.time);
    assert_eq!((together.time, together.matches), (at_once.time, at_once.matches));
}

#[test]
fn a_recorded_post_comes_not_before_its_time() {
    let mut setup = free_memory();
    setup.charge_commands = true;
    let sequence = Sequence::new(vec![arrive(0, 8), post(0)]);
    let part = run(&setup, &sequence.at(vec![0, 50_000]));
    assert_eq!(part.time, 50 * US + (150 + 224 + 35) * NS);
}

/// The slower of wire and bus bounds the rate of eager and rendezvous data.
#[test]
fn long_messages_are_as_fast_as_the_wire() {
    for (eager_limit, bytes) in [(64, 1_000_000), (4096, 4096)] {
        for (change, line) in [("arrival.bytes_per_ns=50", 50.0), ("host.bytes_per_ns=20", 20.0)] {
            let setup = Setup { eager_limit, ..Setup::new(card(&[change]), 190) };
            let part = run(&setup, &Sequence::window(Pattern::Distinct, 190, bytes));
            let rate = f64::from(bytes) * 190.0 * 1e3 / part.time as f64;
            assert!(rate <= line, "{change}: {rate} bytes a nanosecond");
            assert!(bytes == 4096 || rate > 0.9 * line, "{change}: {rate} bytes a nanosecond");
        }
    }
}

/// The store keeps the order of arrival, so more handlers do not store faster.
#[test]
fn unexpected_messages_are_stored_one_by_one() {
    let rate = |handlers, block_end: &str| {
        let messages = (0..1024).map(|message| arrive(message, 8)).collect();
        run(&Setup::new(card(&[block_end]), handlers), &Sequence::new(messages)).rate()
    };
    for rule in ["rules.block_end=handlers", "rules.block_end=leader"] {
        let rates = [8, 32, 128].map(|handlers| rate(handlers, rule));
        assert!(rates.iter().all(|&rate| (0.8..1.6).contains(&rate)), "{rule}: {rates:?}");
    }
}

/// What the table does not hold costs the card's leader and a core of the host.
#[test]
fn what_does_not_fit_is_matched_in_software() {
    let predicted = |receives, software: &str| {
        let card = card(&["driver.window=512", software]);
        let setup = Setup { receives, ..Setup::new(card, 32) };
        predict(&setup, &Offer::pattern(Pattern::Distinct), 0).expect("a good set-up")
    };
    let usual = "host.software_ns=129";
    let rates = [16, 128, 400, 512].map(|receives| predicted(receives, usual).rate);
    assert!(rates.is_sorted() && rates[0] < rates[3] / 3.0, "{rates:?}");
    // A communicator comes back to the card between two windows.
    assert_eq!(
        [16, 128, 512].map(|receives| predicted(receives, usual).part.sent_on()),
        [496, 384, 0]
    );
    let slow = predicted(16, "host.software_ns=5000").rate;
    assert!((slow - 0.2 * 511.0 / 496.0).abs() < 0.01, "{slow}: a core needs 5 us a message");
}
