//! Windows of messages by one thread, without a clock: what `cargo xtask instructions` counts.
//!
//! `instructions SCENARIO WINDOWS`: a window is 128 receives and 128 messages of 8 bytes, sent,
//! matched and polled by the calling thread. Scenarios: `NC` (distinct tags), `WC-FP` (one tag),
//! `WC-SP` (one tag, no fast path), `UNEXP` (messages first, then the receives).

use std::process::ExitCode;

use dpa_model::{
    CommId, Envelope, Event, FastPath, Hints, Nic, NicConfig, Options, Rank, Round, Selector, Tag,
};

const WINDOW: u32 = 128;
const COMM: CommId = CommId(0);

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (Some(scenario), Some(Ok(windows))) =
        (arguments.first(), arguments.get(1).map(|text| text.parse::<u32>()))
    else {
        eprintln!("usage: instructions NC|WC-FP|WC-SP|UNEXP WINDOWS");
        return ExitCode::from(2);
    };
    let fast_path = if scenario == "WC-SP" { FastPath::Off } else { FastPath::Sequence };
    let handlers = arguments.get(2).and_then(|text| text.parse().ok()).unwrap_or(32);
    let options = Options { fast_path, ..Options::default() };
    let config = NicConfig { handlers, options, ..NicConfig::default() };
    let mut nic = Nic::new(&config).expect("the default sizes");
    nic.host.create(COMM, 512, Hints::default(), 0).expect("an empty command queue");
    nic.leader.round(1);
    let tag = |index| Tag::new(if scenario.starts_with("WC") { 7 } else { index }).expect("small");
    let source = Rank::new(1).expect("small");
    let mut buffers: Vec<Vec<u8>> = (0..WINDOW).map(|_| vec![0; 8]).collect();
    let mut received = 0u64;
    for _ in 0..windows {
        let send = |nic: &mut Nic| {
            for index in 0..WINDOW {
                let envelope = Envelope { comm: COMM, source, tag: tag(index) };
                nic.sender.try_send(envelope, &[1; 8], 0).expect("room for a window");
            }
        };
        if scenario == "UNEXP" {
            send(&mut nic);
            while nic.leader.round(1) == Round::Worked {}
        }
        for index in 0..WINDOW {
            let buffer = buffers.pop().expect("a buffer for each receive");
            let selector = Selector::new(source, tag(index));
            nic.host.post(COMM, selector, buffer, 0).expect("room for a window");
        }
        nic.leader.round(1);
        if scenario != "UNEXP" {
            send(&mut nic);
        }
        while buffers.len() < WINDOW as usize {
            nic.leader.round(1);
            nic.host.drain(|event| {
                if let Event::Received { buffer, .. } = event {
                    received += 1;
                    buffers.push(buffer);
                }
            });
        }
    }
    println!("{received}");
    ExitCode::SUCCESS
}
