//! Where in the program the queues grow, from traces whose recorder kept call sites
//! (docs/record.md).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

fn archive(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/traces/recorder");
    folder.join(format!("{name}.dumpi.tar.xz"))
}

fn analyze(trace: &Path, more: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dpamatch"));
    let output = command.arg("analyze").arg(trace).args(more).output().expect("the program runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// Function, count, unexpected messages and most of them that waited at a time, of each site.
fn counts(trace: &Path) -> Vec<(String, u64, u64, u64)> {
    let json = analyze(trace, &["--format", "json", "--latency", "0"]);
    let report: Value = serde_json::from_str(&json).expect("JSON");
    let sites = report["results"]["traces"][0]["sites"].as_array().expect("sites");
    let number = |site: &Value, name: &str| site[name].as_u64().expect("a number");
    let row = |site: &Value| {
        let function = site["function"].as_str().expect("a name").to_owned();
        let [count, unexpected, most] =
            ["count", "unexpected", "waiting_max"].map(|name| number(site, name));
        (function, count, unexpected, most)
    };
    sites.iter().map(row).collect()
}

/// The good exchange and the bad one are told apart: 2 ranks, 20 rounds, 8 messages each.
#[test]
fn the_place_that_posts_late_is_found() {
    let row =
        |function: &str, count, unexpected, most| (function.to_owned(), count, unexpected, most);
    let receives = |trace: &str| {
        let mut rows = counts(&archive(trace));
        rows.retain(|row| row.0.contains("ecv"));
        rows
    };
    let (late, early) = (row("MPI_Irecv", 320, 320, 8), row("MPI_Irecv", 320, 0, 0));
    assert_eq!(receives("halo-2"), [late, early.clone()]);
    assert_eq!(receives("halo-fortran-2"), [row("MPI_Recv", 320, 320, 8), early]);
    // In C one place sends for both; in Fortran each has its own.
    let sends = |trace: &str| {
        let rows = counts(&archive(trace)).into_iter().filter(|row| row.0 == "MPI_Isend");
        rows.map(|row| (row.1, row.2)).collect::<Vec<_>>()
    };
    assert_eq!(sends("halo-2"), [(640, 320)]);
    assert_eq!(sends("halo-fortran-2"), [(320, 320), (320, 0)]);
}

#[test]
fn a_sentence_names_the_place() {
    let text = analyze(&archive("halo-2"), &["--wide", "--latency", "0"]);
    assert!(text.contains("makes the unexpected queue grow"), "{text}");
    assert!(
        text.contains("320 of its 320 messages came first, and up to 8 waited at once"),
        "{text}"
    );
    // The program is not on this machine: an address has to do.
    assert!(text.contains("The MPI_Irecv at halo+0x"), "{text}");
    // Without call sites nothing is said.
    let without = analyze(&archive("fan-in-4"), &["--wide"]);
    assert!(!without.contains("Call sites") && !without.contains("sites: "), "{without}");
}

#[inline(never)]
fn somewhere() -> u32 {
    std::hint::black_box(line!())
}

/// Where this program begins in memory.
#[cfg(target_os = "linux")]
fn base() -> u64 {
    let own = std::env::current_exe().expect("a path");
    let maps = fs::read_to_string("/proc/self/maps").expect("a map");
    let own = own.to_str().expect("a plain path");
    let first = maps.lines().find(|line| line.ends_with(own)).expect("this program");
    u64::from_str_radix(first.split('-').next().expect("an address"), 16).expect("a number")
}

/// Files and lines come from the program's debug information: here this test's own.
#[test]
#[cfg(target_os = "linux")]
fn lines_are_those_of_the_program() {
    let folder = tempfile::tempdir().expect("a folder");
    let packed = fs::read(archive("halo-2")).expect("the archive");
    let unpacked = lzma_rust2::XzReader::new(&packed[..], true);
    tar::Archive::new(unpacked).unpack(folder.path()).expect("room");
    let object = std::env::current_exe().expect("a path");
    let address = somewhere as fn() -> u32 as usize as u64 - base();
    for rank in 0..2 {
        let file = folder.path().join(format!("halo-2-{rank:04}.sites"));
        let text = fs::read_to_string(&file).expect("sites");
        let line = |line: &str| match line.split(' ').next() {
            Some("object") => format!("object 0 {}\n", object.display()),
            Some("site") => {
                let (site, _) = line.rsplit_once(' ').expect("an address");
                format!("{site} {address:x}\n")
            }
            _ => format!("{line}\n"),
        };
        fs::write(&file, text.lines().map(line).collect::<String>()).expect("room");
    }
    let text = analyze(folder.path(), &["--wide"]);
    let place = format!("call_sites.rs:{}", somewhere() - 1);
    assert!(text.contains(&place), "{place}\n{text}");
    assert!(text.contains("somewhere"), "{text}");
}

/// A file of call sites that is none is said to be wrong, with its line.
#[test]
fn a_broken_file_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let packed = fs::read(archive("halo-2")).expect("the archive");
    let unpacked = lzma_rust2::XzReader::new(&packed[..], true);
    tar::Archive::new(unpacked).unpack(folder.path()).expect("room");
    let file = folder.path().join("halo-2-0001.sites");
    fs::write(&file, "dpamatch call sites 1\nobject 0 /x\nsite 0 1 12\n").expect("room");
    let mut command = Command::new(env!("CARGO_BIN_EXE_dpamatch"));
    let output = command.arg("analyze").arg(folder.path()).output().expect("the program runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("halo-2-0001.sites:3: ") && said.contains("unknown object"), "{said}");
}
