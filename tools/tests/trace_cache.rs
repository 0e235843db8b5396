//! The cache of traces: made once, used again, rebuilt when the trace changes or the cache is
//! damaged, and nothing half written stays behind.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use dpamatch::Rank;
use dpamatch_tools::trace::{self, OpenOptions, TraceErrorKind, TraceSource};

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/traces").join(name)
}

/// Options with a cache in a folder that does not exist yet.
fn options(folder: &tempfile::TempDir) -> OpenOptions {
    OpenOptions { cache: Some(folder.path().join("new/cache")), ..OpenOptions::default() }
}

fn files(options: &OpenOptions) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(options.cache.as_ref().expect("a cache")) else {
        return Vec::new();
    };
    entries.map(|entry| entry.expect("an entry").path()).collect()
}

/// All calls, without the offsets of their records.
fn calls(trace: &dyn TraceSource) -> Vec<String> {
    let mut calls = Vec::new();
    for &rank in trace.ranks() {
        let mut reader = trace.open(rank).expect("the rank");
        let rank = rank.get();
        while let Some(mut call) = reader.next_call().expect("a good trace") {
            call.offset = 0;
            calls.push(format!("{rank} {call:?}"));
        }
    }
    calls
}

#[test]
fn a_cache_is_made_used_and_says_the_same() {
    let folder = tempfile::tempdir().expect("a folder");
    let options = options(&folder);
    for name in ["edge-4-mpich/edge-4-mpich.dumpi.tar.xz", "minife-16/rank-0007.txt.xz"] {
        let expected = trace::open(&data(name), &OpenOptions::default()).expect("a trace");
        let before = files(&options);
        let first = trace::open(&data(name), &options).expect("a trace");
        let after = files(&options);
        assert_eq!(after.len(), before.len() + 1, "one file and no temporary one");
        let made = after.iter().find(|file| !before.contains(file)).expect("the cache");
        let modified = fs::metadata(made).expect("the cache").modified().expect("a time");
        let second = trace::open(&data(name), &options).expect("a trace");
        assert_eq!(
            fs::metadata(made).expect("the cache").modified().expect("a time"),
            modified,
            "written again"
        );
        assert_eq!(first.run().notices, expected.run().notices);
        for cached in [&first, &second] {
            assert_eq!(cached.ranks(), expected.ranks());
            assert_eq!(cached.run().processes, expected.run().processes);
            assert_eq!(calls(cached.as_ref()), calls(expected.as_ref()));
        }
    }
}

/// Call sites go into the cache with the calls, and belong to the state of the trace.
#[test]
fn call_sites_are_cached() {
    let folder = tempfile::tempdir().expect("a folder");
    let options = options(&folder);
    let archive = fs::read(data("recorder/halo-2.dumpi.tar.xz")).expect("the archive");
    let path = folder.path().join("halo-2.dumpi.tar.xz");
    fs::write(&path, &archive).expect("room");
    let sites = |trace: &dyn TraceSource| -> Vec<_> {
        let of = |&rank| trace.sites(rank).expect("good sites").expect("the rank has some");
        trace.ranks().iter().map(of).collect()
    };
    let expected = sites(trace::open(&path, &OpenOptions::default()).expect("a trace").as_ref());
    assert!((0..100).any(|call| expected[1].of(call).is_some()));
    for _ in 0..2 {
        let cached = trace::open(&path, &options).expect("a trace");
        assert_eq!(cached.run().notices, [""; 0]);
        assert_eq!(sites(cached.as_ref()), expected);
        assert_eq!(files(&options).len(), 1);
    }

    // Packed ranks with their sites beside them: other sites are another state.
    let unpacked = folder.path().join("unpacked");
    tar::Archive::new(lzma_rust2::XzReader::new(&archive[..], true))
        .unpack(&unpacked)
        .expect("room");
    for rank in 0..2 {
        let file = unpacked.join(format!("halo-2-{rank:04}.bin"));
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(&fs::read(&file).expect("the rank")).expect("room");
        fs::write(file.with_extension("bin.gz"), packed.finish().expect("room")).expect("room");
        fs::remove_file(file).expect("it is there");
    }
    assert_eq!(sites(trace::open(&unpacked, &options).expect("a trace").as_ref()), expected);
    let second = unpacked.join("halo-2-0001.sites");
    fs::write(&second, "dpamatch call sites 1\n").expect("room");
    let other = trace::open(&unpacked, &options).expect("a trace");
    let notices = &other.run().notices;
    assert!(notices.iter().any(|notice| notice.contains("is outdated")), "{notices:?}");
    assert_ne!(sites(other.as_ref()), expected);
}

#[test]
fn a_cache_that_does_not_fit_is_made_anew_with_a_notice() {
    let folder = tempfile::tempdir().expect("a folder");
    let options = options(&folder);
    let source = folder.path().join("rank-0001.txt");
    let text = {
        use std::io::Read;
        let file = fs::File::open(data("edge-4-mpich/rank-0001.txt.xz")).expect("the file");
        let mut text = String::new();
        lzma_rust2::XzReader::new(file, true).read_to_string(&mut text).expect("whole");
        text
    };
    fs::write(&source, &text).expect("room");
    let whole = calls(trace::open(&source, &options).expect("a trace").as_ref());
    let [cache] = &files(&options)[..] else { panic!("one cache") };

    // Of the trace: the first call goes.
    let second = text.find("MPI_Comm_rank entering").expect("the second call");
    fs::write(&source, &text[second..]).expect("room");
    let trace = trace::open(&source, &options).expect("a trace");
    assert!(
        trace.run().notices.iter().any(|notice| notice.contains("is outdated")),
        "{:?}",
        trace.run()
    );
    assert_eq!(calls(trace.as_ref()).len(), whole.len() - 1);

    // Of the cache: every kind of damage at every tenth of it.
    let good = fs::read(cache).expect("the cache");
    for tenth in 0..10 {
        let at = good.len() * tenth / 10;
        let mut flipped = good.clone();
        flipped[at] ^= 0x40;
        for bad in [&flipped[..], &good[..at]] {
            fs::write(cache, bad).expect("room");
            let trace = trace::open(&source, &options).expect("a trace");
            assert!(
                trace.run().notices.iter().any(|notice| notice.contains("damaged")),
                "{:?}",
                trace.run()
            );
            assert_eq!(calls(trace.as_ref()).len(), whole.len() - 1);
            assert_eq!(
                fs::read(cache).expect("the cache"),
                good,
                "the same trace gives the same cache"
            );
        }
    }
    assert_eq!(files(&options).len(), 1);
}

#[test]
fn an_interrupted_cache_leaves_nothing_behind() {
    let folder = tempfile::tempdir().expect("a folder");
    let stop = OpenOptions { interrupt: Some(Arc::new(AtomicBool::new(true))), ..options(&folder) };
    let error = trace::open(&data("edge-4-mpich"), &stop).expect_err("it was interrupted");
    assert!(matches!(error.kind(), TraceErrorKind::Interrupted), "{error}");
    assert_eq!(files(&stop), Vec::<PathBuf>::new());
}

#[test]
fn what_gains_nothing_or_is_broken_is_not_cached() {
    let folder = tempfile::tempdir().expect("a folder");
    let options = options(&folder);
    let plain =
        trace::open(&data("old-versions/testtrace-1.0.0-0000.bin"), &options).expect("a trace");
    assert!(
        plain.run().notices.iter().any(|notice| notice.starts_with("not cached")),
        "{:?}",
        plain.run()
    );
    assert_eq!(calls(plain.as_ref()).len(), 9);

    let broken = folder.path().join("broken-0000.txt");
    fs::write(
        &broken,
        "MPI_Barrier entering at walltime 1.000000000, cputime 0.000000000 seconds in thread 0.\n",
    )
    .expect("room");
    let trace = trace::open(&broken, &options).expect("it is found");
    assert!(
        trace.run().notices.iter().any(|notice| notice.starts_with("not cached")),
        "{:?}",
        trace.run()
    );
    let error =
        trace.open(Rank::default()).expect("a reader").next_call().expect_err("it is broken");
    assert!(matches!(error.kind(), TraceErrorKind::Truncated(_)), "{error}");
    assert_eq!(files(&options), Vec::<PathBuf>::new());
}
