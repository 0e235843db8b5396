//! The readers against the traces in `tests/data/traces`: binary and text say the same, numbers of
//! calls are those of the footers, and nothing that is done to a file makes a reader panic, hang or
//! take more memory than the file justifies.

use std::fs;
use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};

use dpamatch_traces::Rank;
use dpamatch_traces::{
    self, Argument, BinaryReader, Call, Op, OpenOptions, RankReader, Region, TextReader,
    TraceErrorKind, TraceSource,
};
use proptest::prelude::*;

/// All that a call says and its arguments, as text that can be compared after the reader has gone
/// on.
type RecordedCall = (String, Vec<(String, String)>);

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/data/traces")
        .join(name)
}

fn rank(number: u32) -> Rank {
    Rank::new(number).expect("a rank")
}

fn open(name: &str) -> Box<dyn TraceSource> {
    dpamatch_traces::open(&data(name), &OpenOptions::default()).expect("a trace")
}

fn unpacked(name: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let file = fs::File::open(data(name)).expect("the file");
    lzma_rust2::XzReader::new(file, true)
        .read_to_end(&mut bytes)
        .expect("whole");
    bytes
}

fn arguments(reader: &dyn RankReader) -> Vec<(String, String)> {
    let arguments = reader.arguments().expect("DUMPI keeps them");
    arguments
        .iter()
        .map(|(name, argument)| {
            let value = match argument {
                Argument::Texts(texts) => format!("{:?}", texts.iter().collect::<Vec<_>>()),
                other => format!("{other:?}"),
            };
            (name.to_owned(), value)
        })
        .collect()
}

fn everything(reader: &mut dyn RankReader) -> Vec<RecordedCall> {
    let mut told = Vec::new();
    while let Some(call) = reader.next_call().expect("a good trace") {
        let Call {
            function,
            thread,
            cpu,
            wall,
            op,
            ..
        } = call;
        let call = format!("{:?}", (function, thread, cpu, wall, op));
        told.push((call, arguments(reader)));
    }
    told
}

#[test]
fn binary_and_text_agree_record_for_record() {
    let pairs = [
        ("edge-4-openmpi", "edge-4-openmpi/rank-0000.txt.xz", 0),
        ("edge-4-openmpi", "edge-4-openmpi/rank-0001.txt.xz", 1),
        ("edge-4-mpich", "edge-4-mpich/rank-0000.txt.xz", 0),
        ("edge-4-mpich", "edge-4-mpich/rank-0001.txt.xz", 1),
        ("minife-16", "minife-16/rank-0007.txt.xz", 7),
        ("lulesh-27", "lulesh-27/rank-0013.txt.xz", 13),
        (
            "old-versions/testtrace-1.0.0-0000.bin",
            "old-versions/testtrace-1.0.0-0000.txt.xz",
            0,
        ),
    ];
    for (binary, text, number) in pairs {
        let (binary_trace, text_trace) = (open(binary), open(text));
        let from_binary = everything(binary_trace.open(rank(number)).expect("the rank").as_mut());
        let from_text = everything(text_trace.open(rank(number)).expect("the rank").as_mut());
        for (k, (binary, text)) in from_binary.iter().zip(&from_text).enumerate() {
            assert_eq!(binary, text, "call {k} of {text_trace:?}");
        }
        assert_eq!(from_binary.len(), from_text.len());
        assert!(from_binary.len() >= 9);
    }
}

#[test]
fn folders_archives_and_files_lead_to_the_same_calls() {
    let folder = tempfile::tempdir().expect("a folder");
    let unpacked = unpacked("edge-4-mpich/edge-4-mpich.dumpi.tar.xz");
    fs::write(folder.path().join("all.tar"), &unpacked).expect("room");
    let from_tar = dpamatch_traces::open(&folder.path().join("all.tar"), &OpenOptions::default())
        .expect("a trace");
    // In its own folder, each rank packed in another way.
    let loose = folder.path().join("loose");
    fs::create_dir(&loose).expect("room");
    for entry in tar::Archive::new(&unpacked[..])
        .entries()
        .expect("an archive")
    {
        let mut entry = entry.expect("an entry");
        let path = entry.path().expect("a name").into_owned();
        let Some(name) = path
            .file_name()
            .and_then(|name| name.to_str())
            .map(str::to_owned)
        else {
            continue;
        };
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).expect("whole");
        if name.ends_with("-0001.bin") {
            let packed = ruzstd::encoding::compress_to_vec(
                &bytes[..],
                ruzstd::encoding::CompressionLevel::Fastest,
            );
            fs::write(loose.join(format!("{name}.zst")), packed).expect("room");
        } else if !bytes.is_empty() {
            fs::write(loose.join(name), bytes).expect("room");
        }
    }
    let from_folder = dpamatch_traces::open(&loose, &OpenOptions::default()).expect("a trace");
    let from_xz = open("edge-4-mpich");
    assert_eq!(from_folder.run(), from_xz.run());
    for &rank in from_xz.ranks() {
        let expected = everything(from_xz.open(rank).expect("the rank").as_mut());
        for other in [&from_tar, &from_folder] {
            assert_eq!(
                everything(other.open(rank).expect("the rank").as_mut()),
                expected
            );
        }
    }
    // Two runs in one folder: which one must be said.
    let meta = fs::read_dir(&loose).expect("the folder").find_map(|entry| {
        let path = entry.expect("an entry").path();
        path.extension()
            .is_some_and(|extension| extension == "meta")
            .then_some(path)
    });
    let other = data("old-versions/testtrace-1.0.0-0000.bin");
    fs::copy(other, loose.join("other-0000.bin")).expect("room");
    let error = dpamatch_traces::open(&loose, &OpenOptions::default()).expect_err("two runs");
    assert!(error.to_string().contains("it has 2 traces"), "{error}");
    let named = dpamatch_traces::open(&meta.expect("a description"), &OpenOptions::default())
        .expect("a trace");
    assert_eq!(named.ranks().len(), 4);
}

/// Names that lead out of a folder are names: the reader writes nothing there, and reads the files.
#[test]
fn names_in_an_archive_are_no_paths() {
    let unpacked = unpacked("edge-4-mpich/edge-4-mpich.dumpi.tar.xz");
    for out in ["../../", "/../.././"] {
        let folder = tempfile::tempdir().expect("a folder");
        let inner = folder.path().join("a/b");
        fs::create_dir_all(&inner).expect("room");
        let mut moved = tar::Builder::new(Vec::new());
        let mut archive = tar::Archive::new(&unpacked[..]);
        for entry in archive.entries().expect("an archive") {
            let mut entry = entry.expect("an entry");
            let mut header = entry.header().clone();
            let path = entry.path().expect("a name").into_owned();
            let name = path.file_name().expect("a file").to_string_lossy();
            let name = format!("{out}{name}");
            let place = &mut header.as_old_mut().name;
            place.fill(0);
            place[..name.len()].copy_from_slice(name.as_bytes());
            header.set_cksum();
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).expect("whole");
            moved.append(&header, &bytes[..]).expect("room");
        }
        let path = inner.join("moved.tar");
        fs::write(&path, moved.into_inner().expect("whole")).expect("room");
        let trace = dpamatch_traces::open(&path, &OpenOptions::default()).expect("a trace");
        assert_eq!(trace.ranks().len(), 4);
        for &rank in trace.ranks() {
            let mut reader = trace.open(rank).expect("a rank");
            assert!(everything(reader.as_mut()).len() > 10);
        }
        for place in [folder.path(), &folder.path().join("a"), &inner] {
            let count = fs::read_dir(place).expect("a folder").count();
            assert_eq!(count, 1, "{}", place.display());
        }
    }
}

/// Names too long for a header stand in front of their files, and an archive that ends too early
/// gives what it has only if that is asked for.
#[test]
fn long_names_are_read_and_a_cut_archive_can_be_salvaged() {
    let folder = tempfile::tempdir().expect("a folder");
    let unpacked = unpacked("edge-4-mpich/edge-4-mpich.dumpi.tar.xz");
    let mut long = tar::Builder::new(Vec::new());
    for entry in tar::Archive::new(&unpacked[..])
        .entries()
        .expect("an archive")
    {
        let mut entry = entry.expect("an entry");
        let mut header = entry.header().clone();
        let name = entry
            .path()
            .expect("a name")
            .file_name()
            .map(|name| name.to_owned());
        let path = Path::new(&"folder".repeat(30)).join(name.expect("a file's name"));
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).expect("whole");
        long.append_data(&mut header, path, &bytes[..])
            .expect("room");
    }
    let path = folder.path().join("long.tar");
    fs::write(&path, long.into_inner().expect("whole")).expect("room");
    let trace = dpamatch_traces::open(&path, &OpenOptions::default()).expect("a trace");
    assert_eq!(trace.ranks().len(), 4);

    let path = folder.path().join("cut.tar");
    fs::write(&path, &unpacked[..unpacked.len() / 4 * 3]).expect("room");
    let error = dpamatch_traces::open(&path, &OpenOptions::default()).expect_err("it is cut off");
    assert!(
        matches!(error.kind(), TraceErrorKind::Damaged(_)),
        "{error}"
    );
    let salvage = OpenOptions {
        salvage: true,
        ..OpenOptions::default()
    };
    let trace = dpamatch_traces::open(&path, &salvage).expect("what is there");
    assert!((1..=4).contains(&trace.ranks().len()));
}

#[test]
fn a_cut_archive_is_salvaged_up_to_its_last_whole_file() {
    let whole = fs::read(data("lulesh-27/lulesh-27.dumpi.tar.xz")).expect("the archive");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("cut.tar.xz");
    for (bytes, last) in [(100_000, 4), (200_000, 15), (280_000, 21)] {
        fs::write(&path, &whole[..bytes]).expect("room");
        let error =
            dpamatch_traces::open(&path, &OpenOptions::default()).expect_err("it is cut off");
        assert!(
            matches!(error.kind(), TraceErrorKind::Truncated(_)),
            "{error}"
        );
        let salvage = OpenOptions {
            salvage: true,
            ..OpenOptions::default()
        };
        let trace = dpamatch_traces::open(&path, &salvage).expect("what is there");
        assert_eq!(trace.ranks().last(), Some(&rank(last)));
        let [notice] = &trace.run().notices[..] else {
            panic!("{:?}", trace.run().notices)
        };
        let ending = format!("; salvaged ranks 0 to {last}, and later ranks are missing");
        assert!(notice.ends_with(&ending), "{notice}");
        for (_, tally) in
            dpamatch_traces::per_rank(trace.as_ref(), |_, reader| dpamatch_traces::tally(reader))
        {
            assert!(tally.expect("a whole file").salvage.is_none());
        }
    }
}

/// The binary file and the text of rank 0 of the edge cases.
fn seeds() -> [Vec<u8>; 2] {
    let tar = unpacked("edge-4-openmpi/edge-4-openmpi.dumpi.tar.xz");
    let mut archive = tar::Archive::new(&tar[..]);
    let mut entries = archive
        .entries()
        .expect("an archive")
        .map(|entry| entry.expect("an entry"));
    let mut rank_0 = entries
        .find(|entry| {
            entry
                .path()
                .is_ok_and(|path| path.to_string_lossy().ends_with("-0000.bin"))
        })
        .expect("rank 0");
    let mut binary = Vec::new();
    rank_0.read_to_end(&mut binary).expect("whole");
    [binary, unpacked("edge-4-openmpi/rank-0000.txt.xz")]
}

/// Reads whatever it is to the end; the number of calls.
fn survive(bytes: &[u8], is_text: bool, salvage: bool) -> u64 {
    let mut reader: Box<dyn RankReader> = if is_text {
        Box::new(TextReader::new(
            "text",
            Box::new(Cursor::new(bytes.to_vec())),
            rank(0),
            salvage,
        ))
    } else {
        match BinaryReader::new(Region::memory("binary", bytes), rank(0), salvage) {
            Ok(reader) => Box::new(reader),
            Err(error) => {
                assert!(!salvage || !error.can_be_saved(), "{error}");
                return 0;
            }
        }
    };
    let mut calls = 0;
    loop {
        match reader.next_call() {
            Ok(Some(call)) => {
                if let Op::Completion(completion) = call.op {
                    assert!(
                        completion
                            .completed()
                            .all(|(at, request, _)| completion.requests[at] == request)
                    );
                }
                calls += 1;
            }
            Ok(None) => break,
            Err(error) => {
                assert!(!salvage || !error.can_be_saved(), "{error}");
                // That it is no trace at all is about the whole file.
                let has_place = error.offset().is_some();
                assert!(
                    has_place || matches!(error.kind(), TraceErrorKind::Unsupported(_)),
                    "no place: {error}"
                );
                break;
            }
        }
    }
    assert!(
        matches!(reader.next_call(), Ok(None)),
        "the end stays the end"
    );
    // A record has three bytes at least.
    assert!(calls <= bytes.len() as u64 / 3);
    calls
}

#[derive(Clone, Debug)]
enum Harm {
    Flip(prop::sample::Index, u8),
    Set(prop::sample::Index, [u8; 4]),
    Cut(prop::sample::Index, prop::sample::Index),
    Splice(
        prop::sample::Index,
        prop::sample::Index,
        prop::sample::Index,
    ),
}

fn harm() -> impl Strategy<Value = Harm> {
    let index = any::<prop::sample::Index>;
    let word = prop_oneof![any::<u32>(), Just(u32::MAX), Just(0x7fff_ffff), 0..99_u32];
    prop_oneof![
        4 => (index(), 0..8_u8).prop_map(|(at, bit)| Harm::Flip(at, bit)),
        4 => (index(), word).prop_map(|(at, word)| Harm::Set(at, word.to_be_bytes())),
        1 => (index(), index()).prop_map(|(from, to)| Harm::Cut(from, to)),
        1 => (index(), index(), index()).prop_map(|(from, to, at)| Harm::Splice(from, to, at)),
    ]
}

impl Harm {
    fn apply(&self, bytes: &mut Vec<u8>) {
        if bytes.is_empty() {
            return;
        }
        let length = bytes.len();
        let range = |a: &prop::sample::Index, b: &prop::sample::Index| {
            let (a, b) = (a.index(length), b.index(length));
            a.min(b)..a.max(b)
        };
        match self {
            Self::Flip(at, bit) => bytes[at.index(length)] ^= 1 << bit,
            Self::Set(at, word) => {
                for (byte, value) in bytes[at.index(length)..].iter_mut().zip(word) {
                    *byte = *value;
                }
            }
            Self::Cut(from, to) => drop(bytes.drain(range(from, to))),
            Self::Splice(from, to, at) => {
                let piece = bytes[range(from, to)].to_vec();
                let at = at.index(length);
                bytes.splice(at..at, piece);
            }
        }
    }
}

#[test]
fn harm_of_any_kind_is_survived() {
    let seeds = seeds();
    assert_eq!(
        seeds
            .each_ref()
            .map(|seed| survive(seed, seed.starts_with(b"MPI"), false)),
        [56, 56]
    );
    let config = ProptestConfig {
        cases: 3_000,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let mut runner = proptest::test_runner::TestRunner::new(config);
    let input = (
        prop::collection::vec(harm(), 1..6),
        any::<bool>(),
        any::<bool>(),
    );
    runner
        .run(&input, |(harms, is_text, salvage)| {
            let mut bytes = seeds[usize::from(is_text)].clone();
            harms.iter().for_each(|harm| harm.apply(&mut bytes));
            survive(&bytes, is_text, salvage);
            Ok(())
        })
        .expect("a reader that survives");
}

#[test]
fn salvage_gives_the_calls_before_every_cut() {
    let [binary, text] = seeds();
    let mut last = [0; 2];
    for length in (0..binary.len()).step_by(7) {
        let calls = survive(&binary[..length], false, true);
        assert!(calls >= last[0], "{calls} calls of {length} bytes");
        last[0] = calls;
    }
    for length in (0..text.len()).step_by(31) {
        let calls = survive(&text[..length], true, true);
        assert!(calls >= last[1], "{calls} calls of {length} bytes");
        last[1] = calls;
    }
    assert_eq!(
        last,
        [56, 55],
        "of the text the last lines are always missing"
    );
}

#[test]
fn a_count_that_the_file_does_not_hold_takes_no_memory() {
    // A Waitall on two thousand million requests: 100 bytes of file.
    let mut bytes = b"\xff\xaa\xddDUMPI".to_vec();
    bytes.extend([0; 8]);
    bytes.extend([0, 18, 0]);
    bytes.extend(2_000_000_000_i32.to_be_bytes());
    bytes.extend(2_000_000_000_i32.to_be_bytes());
    bytes.extend([0; 60]);
    let mut reader = BinaryReader::new(Region::memory("bomb", bytes), rank(0), true)
        .expect("salvage begins anyhow");
    assert!(matches!(reader.next_call(), Ok(None)));
    let salvage = reader.salvage().expect("it is broken");
    assert_eq!(salvage.calls, 0);
}
