//! Lengths and times beyond 32 bits.

use std::fs;
use std::path::{Path, PathBuf};

use dpamatch_tools::analyze::{Action, Run};
use dpamatch_traces::{OpenOptions, open};

/// A call as DUMPI's text format shows it, 2 us long.
fn call(name: &str, seconds: u32, arguments: &str) -> String {
    let time = format!("walltime {seconds}.00000");
    let spent = format!("cputime {seconds}.00000");
    format!(
        "{name} entering at {time}1000, {spent}1000 seconds in thread 0.\n{arguments}{name} \
         returning at {time}3000, {spent}3000 seconds in thread 0.\n"
    )
}

/// The arguments of a send or receive of integers of 4 bytes.
fn message(elements: u32, peer: &str) -> String {
    format!(
        "int count={elements}\nMPI_Datatype datatype=9 (MPI_INT)\nint {peer}\nint tag=6\n\
         MPI_Comm comm=2 (MPI_COMM_WORLD)\n"
    )
}

#[test]
fn lengths_and_times_have_64_bits() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut sends, mut receives) = (String::new(), String::new());
    // The last lengths below 2 and 4 GiB that integers have, the first that are not, and 5 GB.
    let elements = [
        (1 << 29) - 1,
        1 << 29,
        (1 << 30) - 1,
        1 << 30,
        1_250_000_000,
    ];
    // The times between two calls are 4, 5 and 300 s, and so on: 2^32 ns are 4.29 s.
    for (elements, seconds) in elements.into_iter().zip([1, 5, 10, 310, 312]) {
        sends += &call("MPI_Send", seconds, &message(elements, "dest=1"));
        // What 32 bits keep of the length.
        let kept = (4 * u64::from(elements)) as i32;
        let status = format!(
            "MPI_Status status=[{{bytes={kept}, cancelled=0, source=0, tag=6, error=0}}]\n"
        );
        let arguments = message(elements, "source=0") + &status;
        receives += &call("MPI_Recv", seconds, &arguments);
    }
    fs::write(folder.path().join("rank-0000.txt"), sends).expect("room");
    fs::write(folder.path().join("rank-0001.txt"), receives).expect("room");

    let trace = open(folder.path(), &OpenOptions::default()).expect("a trace");
    let run = Run::load(&*trace, |_| ()).expect("readable");
    let lengths: Vec<u64> = run.inbound[1].iter().map(|it| it.bytes).collect();
    let expected = elements.map(|elements| 4 * u64::from(elements));
    assert_eq!(lengths, expected);
    assert_eq!(run.truth[1].bytes_equal, 1, "only the first status is sure");
    assert_eq!(run.truth[1].bytes_differ, 0);
    assert_eq!(run.programs[1].oddities.long_receives, 4);
    let steps = run.programs[0].steps.iter();
    let begins = steps.filter(|step| matches!(step.action, Action::Begin(_)));
    let gaps: Vec<u64> = begins.map(|step| step.gap_ns).collect();
    let second = 1_000_000_000;
    let gap = |seconds: u64| seconds * second - 2_000;
    assert_eq!(gaps, [0, gap(4), gap(5), gap(300), gap(2)]);
    assert_eq!(run.programs[0].run_ns, 311 * second + 2_000);
}

/// Folders with lengths, times and counts of traces.
const ROOMS: [&str; 4] = ["traces/src", "src/analyze", "src/offload", "predict/src"];
/// What cuts a number without a word.
const NARROWING: [&str; 9] = [
    "unwrap_or(u32::MAX)",
    "min(u32::MAX",
    "from(u32::MAX)",
    "u32::MAX as",
    "bytes as u32",
    "length as u32",
    "_ns as u32",
    "(UNKNOWN))",
    "UNKNOWN - 1",
];
/// File, a part of the line, and why it may.
const ALLOWED: [[&str; 3]; 2] = [
    [
        "traces/src/otf2/cursor.rs",
        "self.compressed(4, u64::from(u32::MAX))",
        "the format's code for 32 ones",
    ],
    [
        "src/analyze/logged/piece.rs",
        "told.unwrap_or(u32::MAX)",
        "a rank that is absent",
    ],
];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|it| it == "rs") && !path.ends_with("tests.rs") {
            found.push(path);
        }
    }
}

#[test]
fn no_source_cuts_a_number_silently() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut used = [false; ALLOWED.len()];
    let mut cuts = Vec::new();
    let mut files = Vec::new();
    for room in ROOMS {
        sources(&root.join(room), &mut files);
    }
    assert!(files.len() > 100, "{} files", files.len());
    for file in files {
        let text = fs::read_to_string(&file).expect("readable");
        for (at, line) in text.lines().enumerate() {
            if !NARROWING.iter().any(|narrowing| line.contains(narrowing)) {
                continue;
            }
            let allowed = ALLOWED
                .iter()
                .position(|[name, part, _]| file.ends_with(name) && line.contains(part));
            match allowed {
                Some(allowed) => used[allowed] = true,
                None => cuts.push(format!("{}:{}: {line}", file.display(), at + 1)),
            }
        }
    }
    assert!(cuts.is_empty(), "{}", cuts.join("\n"));
    assert_eq!(
        used,
        [true; ALLOWED.len()],
        "an exception that no line needs"
    );
}
