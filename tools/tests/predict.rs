//! The handlers in virtual time against the oracle.

use dpamatch::engine::Oracle;
use dpamatch::stream::{Event, Generator, Outcome, Profile as StreamProfile, StreamMatcher};
use dpamatch_predict::{FastPath, Profile, Removal, Setup, simulate};
use dpamatch_tools::sequence;

#[test]
fn virtual_time_changes_no_match() {
    let removals = [Removal::Lazy, Removal::Eager, Removal::Deferred];
    let forms = [
        FastPath::Off,
        FastPath::Literal,
        FastPath::Prefix,
        FastPath::Sequence,
    ];
    for seed in 0..48_u64 {
        let profile = [
            StreamProfile::Hot,
            StreamProfile::Wild,
            StreamProfile::Mixed,
        ][seed as usize % 3];
        let events: Vec<Event> = Generator::new(seed, 600, profile)
            .filter(|event| !matches!(event, Event::Mprobe { .. }))
            .collect();
        let mut expected = Vec::new();
        Oracle::new()
            .run(&mut events.iter().copied(), &mut |outcome| {
                if let Outcome::Matched { recv, msg } = outcome {
                    expected.push((recv.0, msg.0));
                }
            })
            .expect("the oracle takes every stream");
        let card = card();
        let mut setup = Setup::new(card, [1, 2, 3, 8, 32, 100][seed as usize % 6]);
        setup.removal = removals[seed as usize / 2 % 3];
        setup.fast_path = forms[seed as usize % 4];
        setup.early_check = seed % 5 == 0 && setup.fast_path != FastPath::Literal;
        setup.inline_hashes = seed % 7 != 0;
        setup.bins = [1, 4, 64][seed as usize / 3 % 3];
        setup.charge_commands = seed % 2 == 0;
        let stream = sequence(events);
        let parts = simulate(&setup, &[stream], 0).expect("a good set-up");
        let mut got = parts[0].matches.clone();
        got.sort_unstable();
        expected.sort_unstable();
        assert_eq!(
            got, expected,
            "seed {seed}: {} handlers, {:?}",
            setup.handlers, setup.removal
        );
    }
}

fn card() -> Profile {
    Profile::read(Profile::text("bluefield3").expect("built in"), &[]).expect("a good profile")
}
