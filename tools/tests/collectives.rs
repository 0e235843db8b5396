//! Recorded programs with the messages inside their collective operations.

use std::path::PathBuf;

use dpamatch::registry::{self, EngineOptions};
use dpamatch_tools::analyze::order::{Network, OrderChoice};
use dpamatch_tools::analyze::{Agreement, Expanded, Run, legality};
use dpamatch_tools::collectives::Library;
use dpamatch_traces::OpenOptions;

const LIBRARIES: [Library; 4] = [
    Library::Mpich,
    Library::OpenMpi,
    Library::Mvapich,
    Library::Linear,
];

fn load(name: &str, library: Library) -> Run {
    let path = [
        env!("CARGO_MANIFEST_DIR"),
        "..",
        "tests",
        "data",
        "traces",
        name,
    ];
    let path = path
        .iter()
        .collect::<PathBuf>()
        .with_extension("dumpi.tar.xz");
    let source = dpamatch_traces::open(&path, &OpenOptions::default()).expect("a trace");
    Run::load_with(source.as_ref(), library, |_| ()).expect("a whole trace")
}

fn expanded(name: &str, library: Library) -> Expanded {
    load(name, library).expanded.expect("messages were made")
}

/// In every order all messages are received, by the receives that were posted for them.
#[test]
fn all_messages_are_received() {
    let small = [
        "edge-4-openmpi/edge-4-openmpi",
        "recorder/transpose-8",
        "recorder/mpi4py-4",
    ];
    for (name, library) in small
        .iter()
        .flat_map(|name| LIBRARIES.map(|library| (name, library)))
    {
        let run = load(name, library);
        let (causal, stalls, _) = run.causal(Network::default());
        assert_eq!(stalls, 0, "{name} {library}");
        let random = OrderChoice::Random { seed: 5 };
        let guided = [OrderChoice::PostsFirst, OrderChoice::ArrivalsFirst, random];
        let orders = guided.map(|interleaving| run.guided(interleaving));
        for (place, order) in orders.iter().chain([&causal]).enumerate() {
            let mut agreement = Agreement::default();
            for (view, order) in run.views().zip(order) {
                let oracle = registry::find("oracle").expect("the oracle");
                let mut matcher = oracle.build(&EngineOptions::default()).expect("the oracle");
                let receives = view.run(matcher.as_mut(), order).expect("a whole run");
                assert_eq!(
                    legality::check(view, order, &receives),
                    Ok(()),
                    "{name} {library}"
                );
                agreement.add(&view.compare(&receives));
            }
            assert_eq!(
                (agreement.missing, agreement.more),
                (0, 0),
                "{name} {library}"
            );
            // A causal order may give a receive of any source another message.
            assert!(
                place == 3 || agreement.is_exact(),
                "{name} {library}: {agreement:?}"
            );
        }
    }
}

#[test]
fn messages_are_counted() {
    let counts = |library| {
        let Expanded {
            calls,
            messages,
            kept,
            ..
        } = expanded("minife-16/minife-16", library);
        (calls, messages, kept)
    };
    assert_eq!(counts(Library::Mpich), (1840, 7484, 0));
    assert_eq!(counts(Library::OpenMpi), (1840, 7164, 0));
    assert_eq!(counts(Library::Linear), (1840, 4020, 0));
    // Eight rounds of 56 + 35 + 24 messages after a broadcast.
    assert_eq!(
        expanded("recorder/transpose-8", Library::Mpich).messages,
        8 * 115 + 7
    );
    assert_eq!(
        expanded("recorder/transpose-8", Library::Linear).messages,
        8 * 105 + 7
    );
    assert!(
        load("recorder/transpose-8", Library::Off)
            .expanded
            .is_none()
    );
}

/// Steps of all searches for posted receives and for unexpected messages, in a causal order.
fn steps(run: &Run, engine: &str) -> (u64, u64) {
    let (orders, ..) = run.causal(Network {
        jitter_ns: 0,
        ..Network::default()
    });
    let options = EngineOptions {
        threads: false,
        ..EngineOptions::default()
    };
    let mut steps = (0, 0);
    for (view, order) in run.views().zip(&orders) {
        let entry = registry::find(engine).expect("an engine");
        let mut matcher = entry.build(&options).expect("an engine");
        view.run(matcher.as_mut(), order).expect("a whole run");
        let count = |name: &str| {
            let counters = matcher.counters();
            counters
                .iter()
                .find(|counter| counter.name == name)
                .map_or(0, |counter| counter.value)
        };
        steps.0 += count("prq_attempts") + count("prq_hops");
        steps.1 += count("umq_attempts") + count("umq_hops");
    }
    steps
}

/// Posted receives of `transpose-8` and `lammps-4` belong to few partners at a time, so that only
/// queues of collective operations change steps. In `fan-in-4` many receives wait.
#[test]
fn engines_for_kinds_of_messages_see_the_kinds() {
    let engines = ["list", "col-ll", "ll-pnp", "col-pnp"];
    for (name, library, expected) in [
        (
            "lammps-4",
            Library::Off,
            [(1364, 201), (2836, 1673), (2836, 1673), (2836, 1673)],
        ),
        (
            "lammps-4",
            Library::Mpich,
            [(2059, 394), (4711, 2697), (4358, 2693), (4711, 2697)],
        ),
        (
            "transpose-8",
            Library::Linear,
            [(1278, 92), (2242, 949), (2125, 939), (2242, 949)],
        ),
        (
            "fan-in-4",
            Library::Mpich,
            [
                (1_170_517, 5404),
                (1_173_216, 2734),
                (702_407, 2734),
                (702_407, 2734),
            ],
        ),
    ] {
        let run = load(&format!("recorder/{name}"), library);
        assert_eq!(
            engines.map(|engine| steps(&run, engine)),
            expected,
            "{name} {library}"
        );
    }
}
