//! Where in the program the queues grow, from traces whose recorder kept call sites
//! (docs/record.md).

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// The recording `halo-2` in a folder.
fn unpacked() -> tempfile::TempDir {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let archive = root.join("../tests/data/traces/recorder/halo-2.dumpi.tar.xz");
    let packed = fs::read(archive).expect("the archive");
    let folder = tempfile::tempdir().expect("a folder");
    let unpacked = lzma_rust2::XzReader::new(&packed[..], true);
    tar::Archive::new(unpacked)
        .unpack(folder.path())
        .expect("room");
    folder
}

fn analyze(trace: &Path, more: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dpamatch"));
    command
        .arg("analyze")
        .arg(trace)
        .args(more)
        .output()
        .expect("the program runs")
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
    let first = maps
        .lines()
        .find(|line| line.ends_with(own))
        .expect("this program");
    u64::from_str_radix(first.split('-').next().expect("an address"), 16).expect("a number")
}

/// Files and lines come from the program's debug information: here this test's own.
#[test]
#[cfg(target_os = "linux")]
fn lines_are_those_of_the_program() {
    let folder = unpacked();
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
    let output = analyze(folder.path(), &["--wide"]);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8(output.stdout).expect("text");
    let place = format!("call_sites.rs:{}", somewhere() - 1);
    assert!(text.contains(&place), "{place}\n{text}");
    assert!(text.contains("somewhere"), "{text}");
}

/// A file of call sites that is none is said to be wrong, with its line.
#[test]
fn a_broken_file_is_named() {
    let folder = unpacked();
    let file = folder.path().join("halo-2-0001.sites");
    fs::write(&file, "dpamatch call sites 1\nobject 0 /x\nsite 0 1 12\n").expect("room");
    let output = analyze(folder.path(), &[]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains("halo-2-0001.sites:3: ") && said.contains("unknown object"),
        "{said}"
    );
}
