//! Traces that the project's own recorder wrote (`mpi/recorder/`, docs/record.md), under both MPI
//! libraries.

use std::path::PathBuf;

use dpamatch::registry::{self, EngineOptions};
use dpamatch_tools::analyze::order::Interleaving;
use dpamatch_tools::analyze::{End, Kind, Run, Transfer, Truth, UNKNOWN};
use dpamatch_tools::trace::{self, Function, OpenOptions, Tally, TraceSource};

/// What is known of a trace from the program that made it.
struct Known {
    name: &'static str,
    calls: u64,
    /// Messages received; all have a status, even where the program ignored it.
    messages: u64,
    /// Receives posted with `MPI_ANY_SOURCE`, with `MPI_ANY_TAG`.
    wild: (usize, usize),
    /// Receives that were cancelled; sends and receives with `MPI_PROC_NULL`.
    nothing: (usize, usize),
}

const TRACES: [Known; 6] = [
    Known { name: "example-openmpi", calls: 118, messages: 27, wild: (15, 5), nothing: (2, 6) },
    Known { name: "example-mpich", calls: 118, messages: 27, wild: (15, 5), nothing: (2, 6) },
    Known { name: "lammps-4", calls: 4732, messages: 1472, wild: (0, 0), nothing: (0, 0) },
    Known { name: "halo-2", calls: 1450, messages: 640, wild: (0, 0), nothing: (0, 0) },
    Known { name: "halo-fortran-2", calls: 1450, messages: 640, wild: (0, 0), nothing: (0, 0) },
    Known { name: "mpi4py-4", calls: 248, messages: 106, wild: (63, 86), nothing: (0, 0) },
];

fn open(name: &str) -> Box<dyn TraceSource> {
    let file = format!("{name}.dumpi.tar.xz");
    let archive: PathBuf =
        [env!("CARGO_MANIFEST_DIR"), "..", "tests", "data", "traces", "recorder", &file]
            .iter()
            .collect();
    trace::open(&archive, &OpenOptions::default()).expect("a trace")
}

fn tallies(name: &str) -> Vec<Tally> {
    let source = open(name);
    let tally = |&rank| trace::tally(source.open(rank).expect("a rank").as_mut()).expect("whole");
    source.ranks().iter().map(tally).collect()
}

fn function(name: &str) -> Function {
    Function::from_name(name).expect("a function")
}

/// The file is whole, and its footer counts the records that are there.
#[test]
fn footers_count_the_records() {
    for Known { name, calls, .. } in TRACES {
        let tallies = tallies(name);
        assert_eq!(tallies.iter().map(|tally| tally.calls.total()).sum::<u64>(), calls, "{name}");
        for tally in &tallies {
            assert_eq!(tally.differences, [], "{name}");
            assert!(tally.salvage.is_none(), "{name}");
            assert_eq!(tally.info.version, Some([13, 0, 0]), "{name}");
            let footer = tally.info.footer.as_ref().expect("a footer");
            assert_eq!(footer.called.get(function("MPI_Finalize")), 1, "{name}");
            // Only these programs make no calls that are just counted.
            let is_all = footer.called.total() == tally.calls.total();
            assert_eq!(is_all, name.starts_with("halo"), "{name}: some calls are only counted");
        }
    }
}

/// Sizes of datatypes, predefined and new ones, stand beside the calls: all bytes are known.
#[test]
fn sizes_of_datatypes_are_known() {
    for Known { name, .. } in TRACES {
        let run = Run::load(open(name).as_ref(), |_| ()).expect("a whole trace");
        let transfers = run.programs.iter().flat_map(|program| &program.transfers);
        assert!(transfers.clone().all(|transfer| transfer.bytes != UNKNOWN), "{name}");
    }
}

/// Wildcards, `MPI_PROC_NULL` and cancels are told apart, in both libraries' traces alike.
#[test]
fn receives_are_what_the_program_posted() {
    for Known { name, messages, wild, nothing, .. } in TRACES {
        let run = Run::load(open(name).as_ref(), |_| ()).expect("a whole trace");
        let of_kind = |kind| {
            let all = run.programs.iter().flat_map(|program| &program.transfers);
            all.filter(|transfer| transfer.kind == kind).collect::<Vec<_>>()
        };
        let receives = of_kind(Kind::Recv);
        let count = |which: &dyn Fn(&Transfer) -> bool| {
            receives.iter().filter(|receive| which(receive)).count()
        };
        assert_eq!(of_kind(Kind::Send).len() as u64, messages, "{name}");
        assert_eq!(
            (count(&|receive| receive.peer < 0), count(&|receive| receive.tag < 0)),
            wild,
            "{name}"
        );
        let cancelled = count(&|receive| receive.end == End::Cancelled);
        assert_eq!((cancelled, of_kind(Kind::Null).len()), nothing, "{name}");
        assert_eq!(count(&|receive| receive.end == End::Known) as u64, messages, "{name}");
    }
}

/// The k-th receive whose status says (source, tag) got the k-th such message: every message finds
/// its receive, on whatever communicator, and has the bytes of its status.
#[test]
fn sends_and_receives_pair_up() {
    for Known { name, messages, .. } in TRACES {
        let run = Run::load(open(name).as_ref(), |_| ()).expect("a whole trace");
        let mut truth = Truth::default();
        run.truth.iter().for_each(|rank| truth.add(rank));
        assert_eq!((truth.pairs, truth.bytes_equal), (messages, messages), "{name}: {truth:?}");
        let odd =
            [truth.eliminated, truth.bytes_differ, truth.assumed, truth.taken_for_null, truth.left];
        assert_eq!(odd, [0; 5], "{name}: {truth:?}");
        // The example waits for an MPI_Ibarrier, which the format does not have.
        let unknown = u64::from(name.starts_with("example"));
        assert!(
            run.programs.iter().all(|program| program.oddities.unknown_requests == unknown),
            "{name}"
        );
    }
}

/// The list gives the recorded pairs, whether receives or messages come first. So what a matched
/// probe took is written where it took it.
#[test]
fn replays_give_the_recorded_pairs() {
    for Known { name, messages, .. } in TRACES {
        let run = Run::load(open(name).as_ref(), |_| ()).expect("a whole trace");
        for interleaving in [
            Interleaving::PostsFirst,
            Interleaving::ArrivalsFirst,
            Interleaving::Random { seed: 4 },
        ] {
            let orders = run.guided(interleaving);
            let mut same = 0;
            for (view, order) in run.views().zip(&orders) {
                let options = EngineOptions { threads: false, ..EngineOptions::default() };
                let entry = registry::find("oracle").expect("an engine");
                let mut matcher = entry.build(&options).expect("an engine");
                let receives = view.run(matcher.as_mut(), order).expect("a whole run");
                let agreement = view.compare(&receives);
                assert!(agreement.is_exact(), "{name}, {interleaving:?}: {agreement:?}");
                same += agreement.same;
            }
            assert_eq!(same, messages, "{name}, {interleaving:?}");
        }
    }
}
