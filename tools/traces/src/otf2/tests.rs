//! Reads the archive of `tests/data/traces/otf2`, whole and broken.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use expect_test::expect_file;

use crate::{OpenOptions, Rank, TraceSource, open};

fn archive() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/traces/otf2")
}

/// A copy to break.
fn copy() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("room");
    fs::create_dir(folder.path().join("three")).expect("room");
    for file in [
        "three.otf2",
        "three.def",
        "three/70.evt",
        "three/70.def",
        "three/50.evt",
    ] {
        fs::copy(archive().join(file), folder.path().join(file)).expect("room");
    }
    folder
}

/// All calls of a rank, one a line, and the error that ends them.
fn calls(trace: &dyn TraceSource, rank: u32) -> String {
    let mut text = String::new();
    let read = || -> Result<(), crate::TraceError> {
        let mut reader = trace.open(Rank::new(rank).expect("a rank"))?;
        while let Some(call) = reader.next_call()? {
            let (number, at, function, op) = (call.sequence, call.offset, call.function, call.op);
            let wall = call.wall.map(|wall| (wall.entry_ns, wall.return_ns));
            writeln!(text, "{number} {at} {wall:?} {function} {op:?}").expect("a text");
        }
        if let Some(salvage) = reader.salvage() {
            writeln!(text, "{} saved", salvage.calls).expect("a text");
        }
        Ok(())
    };
    let ended = { read }();
    ended.map_or_else(|error| format!("{error}"), |()| text)
}

#[test]
fn every_record_becomes_its_call() {
    let trace = open(&archive(), &OpenOptions::default()).expect("an archive");
    let ranks: Vec<_> = trace.ranks().iter().map(|rank| rank.get()).collect();
    assert_eq!((ranks, trace.run().processes), (vec![0, 1, 2], Some(3)));
    let mut text = String::new();
    for rank in 0..3 {
        writeln!(text, "rank {rank}\n{}", calls(&*trace, rank)).expect("a text");
    }
    expect_file!["tests.txt"].assert_eq(&text);
}

#[test]
fn records_of_kinds_that_are_not_read_are_counted() {
    let trace = open(&archive(), &OpenOptions::default()).expect("an archive");
    let mut unread = std::collections::BTreeMap::new();
    for &rank in trace.ranks() {
        let mut reader = trace.open(rank).expect("a rank");
        let tally = crate::tally(&mut *reader).expect("readable");
        for (what, times) in tally.unread {
            *unread.entry(what).or_insert(0) += times;
        }
    }
    let of_kind = |kind: u8, times: u64| (format!("records of kind {kind}"), times);
    let open = ("receives that never complete".to_owned(), 1);
    let expected = [open, of_kind(22, 8), of_kind(53, 3), of_kind(6, 1)];
    assert_eq!(unread.into_iter().collect::<Vec<_>>(), expected);
}

#[test]
fn cut_files_are_refused_or_saved() {
    let folder = copy();
    let file = folder.path().join("three/70.evt");
    let bytes = fs::read(&file).expect("readable");
    let salvage = OpenOptions {
        salvage: true,
        rank: None,
    };
    let whole = calls(&*open(folder.path(), &salvage).expect("an archive"), 0);
    for length in (0..bytes.len() - 1).rev().step_by(3) {
        fs::write(&file, &bytes[..length]).expect("room");
        let text = calls(
            &*open(folder.path(), &OpenOptions::default()).expect("an archive"),
            0,
        );
        assert!(text.contains("/70.evt: byte "), "{length}: {text}");
        assert!(
            text.ends_with(": truncated: the data end within a record"),
            "{length}: {text}"
        );
        let saved = calls(&*open(folder.path(), &salvage).expect("an archive"), 0);
        let (saved, last) = saved
            .trim_end()
            .rsplit_once('\n')
            .unwrap_or(("", saved.trim_end()));
        assert_eq!(last, format!("{} saved", saved.lines().count()), "{length}");
        let before = saved
            .lines()
            .zip(whole.lines())
            .filter(|(one, other)| one == other)
            .count();
        // The receives whose completion is cut are not among them.
        assert!(before + 2 >= saved.lines().count(), "{length}: {saved}");
    }
}

#[test]
fn changed_bytes_neither_panic_nor_hang() {
    for file in ["three/70.evt", "three/70.def", "three.def", "three.otf2"] {
        let folder = copy();
        let file = folder.path().join(file);
        let bytes = fs::read(&file).expect("readable");
        let mut read = 0;
        for at in 0..bytes.len() {
            let mut broken = bytes.clone();
            broken[at] ^= [0xff, 0x80, 1][at % 3];
            fs::write(&file, &broken).expect("room");
            if let Ok(trace) = open(folder.path(), &OpenOptions::default()) {
                read += usize::from(!calls(&*trace, 0).contains(": byte "));
            }
        }
        assert!(read > 0, "no change was harmless");
    }
}

#[test]
fn archives_of_other_kinds_are_refused() {
    let folder = copy();
    let anchor = folder.path().join("three.otf2");
    let bytes = fs::read(&anchor).expect("readable");
    let refused = |path: &Path| {
        let opened = open(path, &OpenOptions::default());
        opened
            .map(|_| ())
            .expect_err("refused")
            .to_string()
            .replace(path.to_str().unwrap(), "IT")
    };
    // Substrate, compression, and a byte of the chunks' size.
    for (at, value, words) in [
        (28, 2, "SIONlib containers or compressed"),
        (29, 2, "SIONlib containers or compressed"),
        (14, 3, "IT: damaged: chunks of 196608 bytes"),
        (15, 1, "IT: damaged: chunks of 17039360 bytes"),
        (22, 3, "IT: damaged: chunks of 196608 bytes"),
        (2, b'X', "IT: byte 0: damaged: it does not begin with OTF2"),
    ] {
        let mut other = bytes.clone();
        other[at] = value;
        fs::write(&anchor, other).expect("room");
        let error = refused(&anchor);
        assert!(error.contains(words), "{error}");
    }
    fs::write(&anchor, &bytes).expect("room");
    fs::copy(&anchor, folder.path().join("other.otf2")).expect("room");
    assert!(refused(folder.path()).contains("several OTF2 archives"));
    for location in [70, 50] {
        fs::remove_file(folder.path().join(format!("three/{location}.evt"))).expect("it is there");
    }
    assert!(refused(&anchor).ends_with("three: no rank has events"));
}

/// Writes an archive by the format's rules: one rank of two.
mod writer {
    use super::*;

    /// A number below 256, as the format compresses it.
    fn number(value: u64) -> Vec<u8> {
        match value {
            0 => vec![0],
            _ => vec![1, u8::try_from(value).expect("a small number")],
        }
    }

    pub(super) fn numbers(values: &[u64]) -> Vec<u8> {
        values.iter().flat_map(|&value| number(value)).collect()
    }

    fn record(kind: u8, fields: &[u8]) -> Vec<u8> {
        let length = u8::try_from(fields.len()).expect("a short record");
        [&[kind, length], fields].concat()
    }

    pub(super) fn string(number: u64, text: &str) -> Vec<u8> {
        record(10, &[&numbers(&[number]), text.as_bytes(), &[0]].concat())
    }

    /// A group; with its type and paradigm from OTF2 1.2 on.
    pub(super) fn group(number: u64, members: &[u64], of: Option<[u8; 2]>) -> Vec<u8> {
        let of = of.map_or(Vec::new(), |of| of.to_vec());
        let head = [numbers(&[number, 0]), vec![5]].concat();
        let count = numbers(&[members.len() as u64]);
        record(18, &[head, count, numbers(members), of].concat())
    }

    pub(super) fn fields(kind: u8, values: &[u64]) -> Vec<u8> {
        record(kind, &numbers(values))
    }

    /// Events within a function of this region.
    pub(super) fn within(region: u64, records: &[Vec<u8>]) -> Vec<u8> {
        let enter = [vec![12], numbers(&[region])].concat();
        let leave = [vec![13], numbers(&[region])].concat();
        [enter, records.concat(), leave].concat()
    }

    fn file(path: &Path, records: &[Vec<u8>]) {
        let chunk = [&[3, 0x42][..], &[0; 16], &records.concat(), &[2]].concat();
        fs::write(path, chunk).expect("room");
    }

    pub(super) fn archive(folder: &Path, definitions: &[Vec<u8>], events: &[Vec<u8>]) {
        fs::copy(super::archive().join("three.otf2"), folder.join("own.otf2")).expect("room");
        fs::create_dir_all(folder.join("own")).expect("room");
        file(&folder.join("own.def"), definitions);
        file(&folder.join("own/7.evt"), events);
    }

    /// A location with its own numbers of regions and communicators, and corrections of its clock.
    pub(super) fn location(
        folder: &Path,
        number: u64,
        [regions, comms, clock]: [&[(u64, u64)]; 3],
        events: &[Vec<u8>],
    ) {
        let table = |of: u8, pairs: &[(u64, u64)]| {
            let pairs: Vec<_> = pairs
                .iter()
                .flat_map(|&(own, global)| [own, global])
                .collect();
            let size = numbers(&[pairs.len() as u64 / 2]);
            record(5, &[vec![of], size, vec![1], numbers(&pairs)].concat())
        };
        let offset = |&(time, ticks): &(u64, u64)| {
            record(6, &[&time.to_le_bytes()[..], &numbers(&[ticks])].concat())
        };
        let clock = clock.iter().map(offset);
        let tables = [table(3, regions), table(6, comms)];
        let local: Vec<_> = tables.into_iter().chain(clock).collect();
        file(&folder.join(format!("own/{number}.def")), &local);
        file(&folder.join(format!("own/{number}.evt")), events);
    }

    /// Events at this time and behind it.
    pub(super) fn at(ticks: u64, events: Vec<u8>) -> Vec<u8> {
        [vec![5], ticks.to_le_bytes().to_vec(), events].concat()
    }
}

const FUNCTIONS: [&str; 10] = [
    "MPI_Improbe",
    "MPI_Imrecv",
    "MPI_Wait",
    "MPI_Mprobe",
    "MPI_Mrecv",
    "MPI_Irecv",
    "MPI_Bcast",
    "MPI_Frobnicate",
    "MPI_Neighbor_alltoall_init",
    "MPI_Ibcast_c",
];

fn definitions(of_locations: Option<[u8; 2]>) -> Vec<Vec<u8>> {
    use writer::{fields, group, string};
    let mut all = vec![fields(5, &[100, 0]), string(0, "MPI_COMM_WORLD")];
    for (number, name) in (1..).zip(FUNCTIONS) {
        all.extend([string(number, name), fields(15, &[number, number])]);
    }
    all.extend([
        group(0, &[7, 9], of_locations),
        group(1, &[0, 1], Some([5, 4])),
        group(2, &[0, 1], None),
        group(3, &[0, 1], Some([5, 3])),
        fields(22, &[0, 0, 1]),
        fields(22, &[1, 0, 2]),
        fields(22, &[2, 0, 3]),
    ]);
    all
}

#[test]
fn matched_probes_are_read_and_all_else_is_counted() {
    use writer::{fields, numbers, within};
    let folder = tempfile::tempdir().expect("room");
    let [improbe, imrecv, wait, mprobe, mrecv, irecv, bcast] = [1, 2, 3, 4, 5, 6, 7];
    let collective = |kind: u8, comm: u64| {
        let body = [vec![kind], numbers(&[comm, 1, 3, 3])].concat();
        [vec![23, body.len() as u8], body].concat()
    };
    let posted = |request: u64| [vec![17], numbers(&[request])].concat();
    let events = [
        within(improbe, &[fields(89, &[1, 0, 5, 77])]),
        within(imrecv, &[fields(91, &[77, 1])]),
        within(wait, &[fields(92, &[1, 40])]),
        within(mprobe, &[fields(89, &[1, 0, 6, 78])]),
        within(mrecv, &[fields(90, &[78, 50])]),
        // No probe of these two is in the file.
        within(mrecv, &[fields(90, &[99, 60])]),
        within(imrecv, &[fields(91, &[98, 2])]),
        within(irecv, &[posted(3)]),
        within(bcast, &[collective(1, 0)]),
        within(bcast, &[collective(1, 1)]),
        within(bcast, &[collective(40, 0)]),
        within(8, &[]),
        within(9, &[]),
        within(10, &[]),
    ];
    writer::archive(folder.path(), &definitions(Some([4, 4])), &events);
    let trace = open(folder.path(), &OpenOptions::default()).expect("an archive");
    assert_eq!(
        trace.run().notices[1..],
        [
            "the archive has events of 1 of 2 ranks",
            "not read: groups of OTF2 before 1.2: 1; groups of paradigm 3: 1; communicators without \
             known members: 2"
        ]
    );
    let mut reader = trace.open(trace.ranks()[0]).expect("a rank");
    let unread = crate::tally(&mut *reader).expect("readable").unread;
    let expected = [
        ("calls of MPI_Frobnicate", 1),
        (
            "collective operations of communicators without known members",
            1,
        ),
        ("effects of MPI_Ibcast_c", 1),
        ("effects of MPI_Neighbor_alltoall_init", 1),
        ("matched receives whose probe is not recorded", 2),
        ("receives that never complete", 1),
        (
            "records of collective operation 40, which moves no message",
            1,
        ),
    ];
    let unread: Vec<_> = unread
        .iter()
        .map(|(what, times)| (what.as_str(), *times))
        .collect();
    assert_eq!(unread, expected);
    let calls = calls(&*trace, 0);
    let ops: Vec<&str> = calls.lines().collect();
    let has = |at: usize, words: &[&str]| {
        assert!(
            words.iter().all(|word| ops[at].contains(word)),
            "{}",
            ops[at]
        );
    };
    has(
        0,
        &["MPI_Improbe Probe", "tag: Tag(Tag(5))", "blocks: false"],
    );
    has(1, &["MPI_Imrecv Irecv", "tag: Tag(Tag(5))", "count: 40"]);
    has(2, &["MPI_Wait Completion", "bytes: 40, source: 1, tag: 5"]);
    has(3, &["MPI_Mprobe Probe", "tag: Tag(Tag(6))", "blocks: true"]);
    has(4, &["MPI_Mrecv Recv", "bytes: 50, source: 1, tag: 6"]);
    has(5, &["MPI_Mrecv Other"]);
    has(6, &["MPI_Imrecv Other"]);
    has(8, &["MPI_Bcast Collective"]);
    has(9, &["MPI_Bcast Other"]);
}

/// Two ranks whose records are equal but for the numbers of functions and communicators, which each
/// maps in its own way; two requests and two probes of each kind at a time, ended in the other
/// order; two clocks.
#[test]
fn two_ranks_have_their_own_numbers_and_clocks() {
    use writer::{at, fields, group, numbers, string, within};
    let names = [
        "MPI_Isend",
        "MPI_Irecv",
        "MPI_Waitall",
        "MPI_Mprobe",
        "MPI_Mrecv",
        "MPI_Imrecv",
        "MPI_Bcast",
        "MPI_Ssend",
        "MPI_Test",
        "MPI_Iprobe",
    ];
    let mut definitions = vec![
        fields(5, &[100, 3]),
        string(0, "MPI_COMM_WORLD"),
        string(99, "more"),
    ];
    for (number, name) in (1..).zip(names) {
        definitions.extend([string(number, name), fields(15, &[number, number])]);
    }
    definitions.extend([
        group(0, &[7, 9], Some([4, 4])),
        group(1, &[0, 1], Some([5, 4])),
        group(2, &[1, 0], Some([5, 4])),
        fields(22, &[0, 0, 1]),
        fields(22, &[1, 99, 2]),
    ]);
    let single = |kind: u8, request: u64| [vec![kind], numbers(&[request])].concat();
    let bcast = |comm: u64, root: u64, bytes: u64| {
        let body = [vec![1], numbers(&[comm, root, bytes, bytes])].concat();
        [vec![23, body.len() as u8], body].concat()
    };
    // Functions 20 to 29 and communicators 30 and 31 are this rank's numbers.
    let events = [
        at(10, within(20, &[fields(15, &[1, 30, 4, 40, 1])])),
        at(12, within(20, &[fields(15, &[0, 31, 5, 50, 2])])),
        at(14, within(21, &[single(17, 3)])),
        within(21, &[single(17, 4)]),
        at(16, within(28, &[single(20, 4)])),
        at(
            18,
            within(
                22,
                &[
                    fields(19, &[0, 31, 6, 60, 4]),
                    single(16, 2),
                    fields(19, &[1, 30, 7, 70, 3]),
                    at(19, single(21, 1)),
                ],
            ),
        ),
        at(20, within(23, &[fields(89, &[1, 30, 8, 77])])),
        within(29, &[fields(89, &[0, 31, 9, 78])]),
        within(24, &[fields(90, &[78, 90])]),
        within(24, &[fields(90, &[77, 80])]),
        at(22, within(23, &[fields(89, &[1, 31, 10, 79])])),
        within(23, &[fields(89, &[0, 30, 11, 80])]),
        within(25, &[fields(91, &[80, 5])]),
        within(25, &[fields(91, &[79, 6])]),
        at(
            24,
            within(22, &[fields(92, &[6, 100]), fields(92, &[5, 110])]),
        ),
        at(26, within(26, &[bcast(30, 0, 12)])),
        within(26, &[bcast(31, 1, 13)]),
        at(28, within(27, &[fields(14, &[1, 30, 14, 15])])),
    ];
    // What one rank calls 20 is the other's 27.
    let regions = |first: u64, last: u64| -> Vec<_> {
        let rest = (21..27).chain(28..30).map(|own| (own, own - 19));
        [(20, first), (27, last)].into_iter().chain(rest).collect()
    };
    let folder = tempfile::tempdir().expect("room");
    writer::archive(folder.path(), &definitions, &[]);
    let (one, other) = (regions(1, 8), regions(8, 1));
    writer::location(
        folder.path(),
        7,
        [&one, &[(30, 1), (31, 0)], &[(0, 5)]],
        &events,
    );
    writer::location(
        folder.path(),
        9,
        [&other, &[(30, 0), (31, 1)], &[(10, 7), (30, 27)]],
        &events,
    );
    let trace = open(folder.path(), &OpenOptions::default()).expect("an archive");
    let text = [0, 1].map(|rank| format!("rank {rank}\n{}", calls(&*trace, rank)));
    expect_file!["two.txt"].assert_eq(&text.concat());
}

#[test]
fn groups_of_the_first_format_are_named() {
    let folder = tempfile::tempdir().expect("room");
    writer::archive(folder.path(), &definitions(None), &[]);
    let error = open(folder.path(), &OpenOptions::default())
        .map(|_| ())
        .expect_err("refused");
    assert!(error.to_string().contains("OTF2 before 1.2"), "{error}");
}
