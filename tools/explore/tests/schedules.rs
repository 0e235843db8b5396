//! Schedules: results in the caller's names, repetition, exhaustive exploration, shortening.

mod support;

use dpamatch_explore::{
    Barrier, Domains, Ending, FastPath, Removal, Run, Setup, Turns, arrive, cancel, explore, fault,
    post, replay, test_text,
};
use dpamatch_vocabulary::Operation;

fn setup(operations: Vec<Operation>, handlers: usize) -> Setup {
    Setup {
        operations,
        handlers,
        bins: 1,
        fast_path: FastPath::Sequence,
        early_check: false,
        removal: Removal::Lazy,
        domains: Domains::Paper,
        barrier: Barrier::Lanes,
    }
}

/// The worked example with the forced handler that loses its receive.
fn x5() -> (Setup, Ending) {
    let operations = vec![
        post(0, 0, 0, 7),
        post(1, 0, None, 7),
        arrive(0, 0, 0, 7),
        arrive(1, 0, 0, 7),
        arrive(2, 0, 1, 7),
    ];
    let expected = Ending {
        matches: vec![(0, 0), (1, 1)],
        posted: vec![],
        unexpected: vec![2],
    };
    (setup(operations, 4), expected)
}

#[test]
fn a_schedule_comes_again_from_its_text() {
    let (setup, expected) = x5();
    for seed in 1..30 {
        let report = explore(&setup, &expected, seed, 1, false);
        let run = report.last.expect("a right result");
        let turns: Turns = run.turns.to_string().parse().expect("what was printed");
        assert_eq!(turns, run.turns);
        let again = replay(&setup, &turns);
        assert_eq!(
            (again.told, again.result),
            (run.told, run.result),
            "seed {seed}: {turns}"
        );
    }
}

fn random_stream(seed: u64) -> Vec<Operation> {
    let mut seeded = support::Seeded(seed);
    let mut draw = |end| seeded.below(end);
    let (mut posts, mut sends) = (0, 0);
    let mut operations = Vec::new();
    for _ in 0..3 {
        for _ in 0..draw(8) {
            let source = (draw(3) > 0).then(|| draw(2) as u32);
            let tag = (draw(3) > 0).then(|| draw(2) as u32);
            operations.push(post(posts, draw(2) as u32, source, tag));
            posts += 1;
        }
        if posts > 0 && draw(2) == 0 {
            operations.push(cancel(draw(posts)));
        }
        for _ in 0..draw(7) {
            operations.push(arrive(
                sends,
                draw(2) as u32,
                draw(2) as u32,
                draw(2) as u32,
            ));
            sends += 1;
        }
    }
    operations
}

/// A story's states follow from the steps alone. At the end they must equal the NIC's tables and
/// the host's results.
fn ends_as_the_nic(setup: &Setup, run: &Run, context: &str) {
    let story = run.story(setup);
    let result = run.result.as_ref().expect("a result");
    assert_eq!(story.moments.len(), story.scenes.len());
    let Some(scene) = story.scenes.last() else {
        return;
    };
    let links = || scene.bins.iter().flat_map(|chain| &chain.links);
    let mut posted: Vec<u64> = links()
        .map(|link| story.receives[link.receive].name)
        .collect();
    posted.sort_unstable();
    assert_eq!(posted, result.posted, "{context}");
    assert!(links().all(|link| link.taken_by.is_none()), "{context}");
    let mut unexpected: Vec<u64> = scene
        .unexpected
        .iter()
        .map(|&at| story.messages[at].name)
        .collect();
    let mut expected = result.unexpected.clone();
    unexpected.sort_unstable();
    expected.sort_unstable();
    assert_eq!(unexpected, expected, "{context}");
    assert_eq!(scene.bins.len() as u64, run.bins.used, "{context}");
    let lengths = || scene.bins.iter().map(|chain| chain.links.len() as u64);
    assert_eq!(
        lengths().filter(|&length| length > 0).count() as u64,
        run.bins.occupied
    );
    assert_eq!(lengths().max().unwrap_or(0), run.bins.longest, "{context}");
    // Each receive was taken by the handler whose message it got.
    let mut matches: Vec<(u64, u64)> = story
        .scenes
        .iter()
        .flat_map(|scene| &scene.lanes)
        .filter_map(|lane| {
            Some((
                story.receives[lane.took?].name,
                story.messages[lane.message?].name,
            ))
        })
        .collect();
    matches.sort_unstable();
    matches.dedup();
    assert!(
        matches.iter().all(|pair| result.matches.contains(pair)),
        "{context}"
    );
    for scene in &story.scenes {
        for chain in &scene.bins {
            assert!(
                chain.links.is_sorted_by_key(|link| link.receive),
                "posting order, {context}"
            );
        }
    }
}

#[test]
fn the_last_state_of_a_story_is_the_nics() {
    let mut taken_out = 0;
    for seed in 0..150 {
        let mut setup = setup(random_stream(seed), 2 + (seed as usize % 4));
        setup.bins = 1 + (seed as usize % 3);
        setup.removal = [Removal::Eager, Removal::Lazy][seed as usize % 2];
        setup.barrier = [Barrier::Bitmap, Barrier::Lanes][seed as usize / 4 % 2];
        setup.domains = if seed % 4 < 2 {
            Domains::Paper
        } else {
            Domains::Keyed
        };
        let none = Ending::default();
        for schedule in 0..4 {
            let report = explore(&setup, &none, schedule, 1, false);
            let run = report
                .last
                .or(report.violation.map(|found| found.run))
                .expect("a run");
            ends_as_the_nic(&setup, &run, &format!("stream {seed}, schedule {schedule}"));
            let story = run.story(&setup);
            taken_out += story
                .scenes
                .iter()
                .filter(|scene| {
                    scene
                        .bins
                        .iter()
                        .flat_map(|chain| &chain.links)
                        .any(|link| link.taken_by.is_some())
                })
                .count();
        }
    }
    assert!(
        taken_out > 1000,
        "receives that are taken and still in their chain: {taken_out}"
    );
}

/// The classes of receives posted in a communicator decide in which fields its domains differ.
#[test]
fn a_block_falls_into_domains() {
    let arrivals = [(0, 7), (0, 8), (1, 7), (1, 8)].into_iter().enumerate();
    let arrivals = arrivals.map(|(at, (source, tag))| arrive(at as u64, 0, source, tag));
    let any = None::<u32>;
    for (posts, expected) in [
        (vec![], [0, 1, 2, 3]),
        (vec![post(0, 0, 5, 5)], [0, 1, 2, 3]),
        (vec![post(0, 0, any, 5)], [0, 1, 0, 1]),
        (vec![post(0, 0, 5, any)], [0, 0, 1, 1]),
        (vec![post(0, 0, 5, any), post(1, 0, any, 5)], [0, 0, 0, 0]),
        (vec![post(0, 1, any, any)], [0, 1, 2, 3]),
        // The first block takes the wildcard.
        (
            vec![post(0, 0, any, 5), arrive(9, 0, 6, 5), post(1, 1, 0, 0)],
            [0, 1, 2, 3],
        ),
    ] {
        let earlier = posts.iter().any(Operation::is_arrival);
        let mut setup = setup(posts.into_iter().chain(arrivals.clone()).collect(), 4);
        setup.domains = Domains::Keyed;
        let report = explore(&setup, &Ending::default(), 1, 1, false);
        let run = report.violation.expect("another result is expected").run;
        let story = run.story(&setup).from_block(usize::from(earlier));
        let last = story.scenes.last().expect("a block");
        let domains: Vec<usize> = last.lanes.iter().map(|lane| lane.domain).collect();
        assert_eq!(domains, expected, "{:?}", setup.operations);
    }
}

/// The printed text equals the test in `pasted.rs`, which is compiled and run.
#[test]
fn the_pasted_test_is_what_is_printed() {
    let (setup, expected) = x5();
    let turns: Turns = "1x40 0x3".parse().expect("turns");
    let text = test_text(&setup, &expected, &turns, None);
    // The user formats the pasted text.
    let bare = |text: &str| text.replace(|c: char| c.is_whitespace() || c == ',', "");
    assert!(
        bare(include_str!("pasted.rs")).ends_with(&bare(&text)),
        "{text}"
    );
    assert_eq!(fault(&replay(&setup, &turns), &expected), None);
}
