//! Reads the archive of `tests/data/traces/otf2`, whole and broken.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use expect_test::expect_file;

use crate::{OpenOptions, Rank, TraceSource, open};

fn archive() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/traces/otf2")
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
    let expected = [of_kind(22, 8), of_kind(53, 3), of_kind(6, 1)];
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
