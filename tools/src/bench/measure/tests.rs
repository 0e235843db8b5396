//! Measurements of few windows, and the configurations that they ask for.

use super::super::scenario::Scenario;
use super::*;
use dpa_model::Options;

pub(in crate::bench) fn settings(threads: bool) -> Settings {
    let nic = EngineOptions {
        threads,
        ..EngineOptions::default()
    };
    Settings {
        nic,
        grow: Grow::ALL,
        like_card: false,
        repetitions: 3,
        repetitions_single: 3,
        budget: Duration::ZERO,
        seed: 7,
        ucx: None,
        look: false,
        one_thread: false,
        keep_disturbed: true,
    }
}

fn point(peer: Peer, scenario: &str, window: usize, size: usize) -> Point {
    Point {
        peer,
        scenario: scenario.parse().expect("a scenario"),
        window,
        size,
    }
}

#[test]
fn every_scenario_is_matched_right_by_every_peer() {
    for scenario in Scenario::all() {
        let nic = Peer::optimistic(8);
        for peer in [
            nic,
            Peer::Endpoint,
            Peer::Bins,
            Peer::List,
            Peer::NoMatching,
        ] {
            if !peer.takes(&scenario) || scenario.standing > 1024 {
                continue;
            }
            let sample = measure(&point(peer, scenario.name(), 40, 8), &settings(false));
            let sample = sample.unwrap_or_else(|error| panic!("{peer} {scenario}: {error}"));
            assert_eq!(sample.checked, 40 * super::super::WARM_UP as u64);
            assert_eq!(sample.windows.measured, 3);
        }
    }
}

#[test]
fn one_thread_measures_every_scenario_and_size() {
    let settings = Settings {
        one_thread: true,
        ..settings(false)
    };
    let peers = [
        Peer::optimistic(8),
        Peer::Nic {
            handlers: 32,
            matching: Matching::InOrder,
        },
        Peer::Endpoint,
        Peer::Bins,
        Peer::NoMatching,
    ];
    // More messages than a queue holds by default, and bounce buffers for all of them.
    for (scenarios, window, size) in [
        (Scenario::all(), 40, 8),
        (vec!["NC".parse().expect("a scenario")], 3000, 8),
        (vec!["UNEXP".parse().expect("a scenario")], 2000, 100),
        (vec!["WC".parse().expect("a scenario")], 50, 70_000),
    ] {
        for scenario in &scenarios {
            for peer in peers {
                if !peer.takes(scenario) || scenario.standing > 1024 {
                    continue;
                }
                let sample = measure(&point(peer, scenario.name(), window, size), &settings);
                let sample = sample.unwrap_or_else(|error| panic!("{peer} {scenario}: {error}"));
                assert_eq!(sample.checked, (window * super::super::WARM_UP) as u64);
                assert_eq!(sample.windows.measured, 3);
                assert!(sample.time_ns.median > 0.0);
            }
        }
    }
}

#[test]
fn every_size_takes_its_protocol() {
    let nic = Peer::optimistic(32);
    let plain: [(&str, &[Peer]); 2] = [
        ("NC", &[nic, Peer::Endpoint, Peer::NoMatching, Peer::Bins]),
        ("UNEXP", &[nic]),
    ];
    let shared = ["MANY-3", "HOT-30", "MIX-30-30-30", "MIX-100-100-100"];
    for size in [0, 1, 8, 24, 25, 4096, 4097, 70_000] {
        let both: &[Peer] = &[nic, Peer::Bins];
        let shared = shared.map(|scenario| (scenario, both));
        for (scenario, peers) in plain.into_iter().chain(shared) {
            for &peer in peers {
                let sample = measure(&point(peer, scenario, 20, size), &settings(false));
                let sample =
                    sample.unwrap_or_else(|error| panic!("{peer} {scenario} {size}: {error}"));
                assert!(sample.time_ns.median > 0.0);
                let late = scenario.starts_with("MIX") || scenario == "UNEXP";
                assert_eq!(sample.receive_ns > 0.0, late, "{scenario}");
            }
        }
    }
    let copied = measure(&point(Peer::Copy, "NC", 20, 70_000), &settings(false)).expect("a sample");
    assert!(copied.windows.measured == 3 && copied.checked == 20 * super::super::WARM_UP as u64);
    measure(&point(nic, "MANY-8", 3, 8), &settings(false)).expect("a sample");
}

#[test]
fn what_a_peer_does_not_take_is_refused() {
    for (peer, scenario) in [
        (Peer::Ucx, "HOT-10"),
        (Peer::Ucx, "MANY-2"),
        (Peer::NoMatching, "WC"),
        (Peer::Endpoint, "MIX-10-0-0"),
    ] {
        let refused = measure(&point(peer, scenario, 10, 8), &settings(false));
        assert!(
            matches!(refused, Err(BenchError::NotTaken(named)) if named == peer),
            "{peer} {scenario}"
        );
    }
    assert!(Peer::Ucx.takes(&"WDEPTH-64".parse().expect("a scenario")));
}

#[test]
fn tables_grow_with_the_window() {
    let nic = Peer::optimistic(32);
    for scenario in ["NC-REV", "UNEXP", "MIX-0-0-90"] {
        measure(&point(nic, scenario, 5000, 8), &settings(false)).expect("a sample");
    }
    measure(&point(nic, "DEPTH-3000", 10, 8), &settings(false)).expect("a sample");
    let bins = |bins, name| {
        let grow = Grow { bins, ..Grow::ALL };
        Settings {
            grow,
            ..settings(false)
        }
        .config(&point(nic, name, 100, 8))
        .bins
    };
    let least = settings(false).nic.nic.bins;
    assert_eq!(
        [
            bins(true, "DEPTH-8192"),
            bins(false, "DEPTH-8192"),
            bins(true, "NC")
        ],
        [16_384, least, least]
    );
    let too_many = measure(&point(nic, "NC", WINDOW_MAX + 1, 8), &settings(false));
    assert!(matches!(too_many, Err(BenchError::WindowSize(_))));
    let too_long = measure(&point(nic, "NC", 10_000, 1 << 20), &settings(false));
    assert!(matches!(too_long, Err(BenchError::MessageSize)));
    // What is in range ends later, with a peer that does not take the scenario: nothing runs.
    let refused =
        |window, size| match measure(&point(Peer::Copy, "WC", window, size), &settings(false)) {
            Err(BenchError::WindowSize(_)) => "window",
            Err(BenchError::MessageSize) => "size",
            Err(BenchError::NotTaken(_)) => "",
            other => panic!("{other:?}"),
        };
    for (window, size, what) in [
        (0, 8, "window"),
        (1, 8, ""),
        (65_536, 8, ""),
        (65_537, 8, "window"),
        (1, 67_108_864, ""),
        (1, 67_108_865, "size"),
        (8, 67_108_864, ""),
        (9, 67_108_864, "size"),
        (8_191, 65_536, ""),
        (8_192, 65_536, ""),
        (8_193, 65_536, "size"),
    ] {
        assert_eq!(refused(window, size), what, "{window} of {size} bytes");
    }
}

#[test]
fn a_nic_has_room_for_every_message_of_a_window() {
    let config = |handlers, scenario, window, size| {
        settings(false).config(&point(Peer::optimistic(handlers), scenario, window, size))
    };
    let least = settings(false).nic.nic;
    let plain = config(5, "NC", 10, 8);
    assert_eq!(plain.handlers, 5);
    assert_eq!(
        NicConfig {
            handlers: least.handlers,
            ..plain
        },
        NicConfig {
            bins: plain.bins,
            options: Options {
                always_shared: true,
                ..least.options
            },
            ..least
        }
    );
    let window = 9_000;
    assert_eq!(config(5, "DEPTH-1000", window, 8).receives, 10_001);
    let rooms = |scenario, size| {
        let config = config(5, scenario, window, size);
        [
            config.receives,
            config.unexpected,
            config.unexpected_buffers,
            config.regions,
        ]
    };
    let [receives, unexpected, buffers] = [window + 1, least.unexpected, least.unexpected_buffers];
    let small = |unexpected, buffers| [receives, unexpected, buffers, window];
    assert_eq!(rooms("NC", 100), small(unexpected, buffers));
    for scenario in ["UNEXP", "MIX-0-0-1"] {
        assert_eq!(
            rooms(scenario, INLINE_BYTES),
            small(window + 1, buffers),
            "{scenario}"
        );
        assert_eq!(
            rooms(scenario, INLINE_BYTES + 1),
            small(window + 1, window + 1)
        );
        assert_eq!(
            rooms(scenario, least.eager_limit),
            small(window + 1, window + 1)
        );
        assert_eq!(
            rooms(scenario, least.eager_limit + 1),
            small(window + 1, buffers)
        );
    }
}

/// Each way to match runs what its name says: phases with paths, or two loops on one worker.
#[test]
fn each_way_to_match_is_measured_by_itself() {
    for (matching, workers, scenario) in [
        (Matching::Optimistic, 2, "NC"),
        (Matching::Optimistic, 1, "WC"),
        (Matching::InOrder, 1, "NC"),
        (Matching::InOrder, 1, "WC"),
    ] {
        let mut settings = settings(false);
        settings.nic.nic.workers = 2;
        settings.nic.threads = workers == 2;
        let peer = Peer::Nic {
            handlers: 8,
            matching,
        };
        let sample = measure(&point(peer, scenario, 100, 8), &settings).expect("a sample");
        let paths = sample.paths.expect("a NIC");
        let context = format!("{peer} {scenario}: {paths:?}");
        let in_order = matching == Matching::InOrder;
        let by_phases = paths.clean + paths.fast + paths.slow;
        assert_eq!(paths.in_order, f64::from(u8::from(in_order)), "{context}");
        assert!((by_phases + paths.in_order - 1.0).abs() < 1e-9, "{context}");
        assert_eq!(
            paths.searched_again > 0.0,
            in_order && scenario == "WC",
            "{context}"
        );
        let sizes = sample.sizes.expect("a NIC");
        assert_eq!(sizes.workers, if in_order { 1 } else { 2 }, "{context}");
    }
}

/// Half of the receives, or of the messages, find no room in each window; all get the right
/// bytes. With a size that was asked for, nothing grows.
#[test]
fn what_does_not_fit_goes_to_software_in_every_window() {
    let nic = Peer::optimistic(8);
    let software = |peer, scenario, settings: &Settings, size| {
        let sample = measure(&point(peer, scenario, 40, size), settings);
        let sample = sample.unwrap_or_else(|error| panic!("{peer} {scenario}: {error}"));
        let paths = sample.paths.expect("a NIC");
        (
            paths.software,
            paths.software_posts,
            sample.sizes.expect("a NIC"),
        )
    };
    for threads in [false, true] {
        for (peer, size) in [(nic, 8), (nic, 100), (nic, 5000), (Peer::Endpoint, 8)] {
            let settings = settings(threads);
            let (share, posts, sizes) = software(peer, "FULL-25", &settings, size);
            assert_eq!(sizes.receives, 30, "{peer}");
            let expected = if threads { 0.001..0.5 } else { 0.2..0.26 };
            assert!(
                expected.contains(&posts),
                "{peer} {size} {threads}: {posts}"
            );
            assert!(share <= posts, "{peer} {size} {threads}: {share} {posts}");
            let (share, _, sizes) = software(peer, "UNEXP-FULL-75", &settings, size);
            assert_eq!(sizes.unexpected, 10, "{peer}");
            assert!(share > 0.5, "{peer} {size} {threads}: {share}");
        }
    }
    let mut given = settings(false);
    given.nic.nic.receives = 10;
    assert_eq!(software(nic, "NC", &given, 8).1, 0.0);
    given.grow.receives = false;
    let (_, posts, sizes) = software(nic, "NC", &given, 8);
    assert!(sizes.receives == 10 && posts > 0.6, "{posts}");
    given.nic.nic.communicators = 2;
    given.grow.communicators = false;
    let refused = measure(&point(nic, "COMMS-3", 40, 8), &given);
    assert!(matches!(refused, Err(BenchError::NoTables)));
}

#[test]
fn threads_of_the_nic_give_the_same_matches() {
    let mut settings = settings(true);
    for (workers, like_card) in [(1, false), (2, false), (2, true)] {
        settings.nic.nic.workers = workers;
        settings.like_card = like_card;
        let handlers = if like_card { 2 } else { 32 };
        let config = settings.config(&point(Peer::optimistic(handlers), "WC", 100, 8));
        let usual = settings.nic.nic;
        let plan = match like_card {
            true => (handlers, 1, Barrier::Bitmap, Domains::Paper),
            false => (
                workers,
                usual.slice_min,
                usual.options.barrier,
                Domains::Keyed,
            ),
        };
        let dpa_model::Options {
            barrier, domains, ..
        } = config.options;
        assert_eq!((config.workers, config.slice_min, barrier, domains), plan);
        for scenario in [
            "NC-RND",
            "WC",
            "WC-SP",
            "UNEXP-REV",
            "MANY-3",
            "HOT-50",
            "MIX-30-30-30",
            "COMMS-5",
        ] {
            let sample = measure(
                &point(Peer::optimistic(handlers), scenario, 100, 8),
                &settings,
            );
            let sizes = sample.expect("a sample").sizes.expect("a NIC");
            assert_eq!(sizes.workers, if like_card { handlers } else { workers });
        }
    }
}

#[test]
fn the_forced_paths_are_taken() {
    let paths = |scenario| {
        let mut settings = settings(false);
        settings.nic.nic.options.fast_path = FastPath::Literal;
        let config = settings.config(&point(Peer::optimistic(32), scenario, 100, 8));
        config.options.fast_path
    };
    assert_eq!(
        [paths("WC"), paths("WC-FP")],
        [FastPath::Literal, FastPath::Literal]
    );
    assert_eq!(paths("WC-SP"), FastPath::Off);
    let mut settings = settings(false);
    settings.nic.nic.options.fast_path = FastPath::Off;
    let config = settings.config(&point(Peer::optimistic(32), "WC-FP", 100, 8));
    assert_eq!(config.options.fast_path, FastPath::Sequence);
}

#[test]
fn a_sample_is_made_of_both_ends_times() {
    let window = Window::new(&"MIX-0-0-50".parse().expect("a scenario"), 4, 8, 1);
    // The sender loses its processor in the fourth window, the receiver in the fifth; the sixth
    // takes more than ten times as long as the second.
    let received = ReceiverTimes {
        post: vec![40.0, 80.0, 60.0, 1e3, 2e3, 4e3],
        settle: vec![8.0, 4.0, 100.0, 5e3, 6e3, 7e3],
        unexpected: vec![10.0, 30.0, 20.0, 1e4, 2e4, 3e4],
        preempted: vec![false, false, false, false, true, false],
        checked: 77,
    };
    let sent = SenderTimes {
        window: vec![5.0, 1.0, 3.0, 0.5, 4.0, 10.5],
        preempted: vec![false, false, false, true, false, false],
    };
    let strict = Settings {
        keep_disturbed: false,
        ..settings(false)
    };
    let sieve = strict.sieve(&sent, &received, true);
    let made = sample(&sent, &received, &window, sieve, true).expect("a sample");
    let expected = Sample {
        time_ns: Summary {
            median: 3.0,
            min: 1.0,
            max: 5.0,
            count: 3,
        },
        windows: Windows {
            measured: 6,
            preempted: 2,
            slow: 1,
        },
        // Four receives: 60 / 4 and 8 / 4.
        post_ns: 17.0,
        admit_ns: 2.0,
        // Two of them are late: 20 / 2.
        receive_ns: 10.0,
        checked: 77,
        pinned: true,
        ..Sample::default()
    };
    assert_eq!(made, expected);
    // Threads that share processors disturb each other, and some tests want every window.
    for all in [
        strict.sieve(&sent, &received, false),
        settings(false).sieve(&sent, &received, true),
    ] {
        let made = sample(&sent, &received, &window, all, true).expect("a sample");
        assert_eq!((made.time_ns.count, made.windows.dropped()), (6, 0));
    }
    let nothing = SenderTimes::default();
    let sieve = strict.sieve(&nothing, &received, true);
    assert!(matches!(
        sample(&nothing, &received, &window, sieve, true),
        Err(BenchError::Nothing)
    ));
}

/// The tail of single messages keeps slow windows, and loses those without a processor.
#[test]
fn latencies_keep_their_tail() {
    let window = Window::new(&"NC".parse().expect("a scenario"), 1, 8, 1);
    let sent = SenderTimes {
        window: vec![100.0, 120.0, 5000.0, 9000.0],
        preempted: vec![false, false, false, true],
    };
    let received = ReceiverTimes::default();
    let strict = Settings {
        keep_disturbed: false,
        ..settings(false)
    };
    let sieve = strict.sieve(&sent, &received, true);
    let made = sample(&sent, &received, &window, sieve, true).expect("a sample");
    let latencies = made.latencies.expect("single messages");
    assert_eq!((latencies.count(), made.time_ns.count), (3, 2));
    assert!((4990..5010).contains(&latencies.max_ns()));
}

/// Also if the refused receive follows the messages, whose buffers remain unread.
#[test]
fn excluded_wildcards_are_reported() {
    for threads in [false, true] {
        let mut settings = settings(threads);
        settings.nic.hints.no_any_source = true;
        for peer in [Peer::optimistic(32), Peer::Endpoint] {
            for (scenario, size) in [
                ("ANYSRC", 8),
                ("UNEXP-ANYSRC-REV", 8),
                ("UNEXP-ANYSRC-REV", 70_000),
            ] {
                let refused = measure(&point(peer, scenario, 10, size), &settings);
                assert!(
                    matches!(refused, Err(BenchError::Hint)),
                    "{peer} {scenario} {size}"
                );
            }
        }
    }
}
