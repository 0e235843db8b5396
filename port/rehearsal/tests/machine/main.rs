//! Small programs in assembly on the machine. `cargo xtask rv64` runs these tests.

mod instructions;
mod litmus;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use dpamatch_port::build::{BuildError, TARGET, has_target};
use dpamatch_port::rv64::{Image, Mark, Setup, WeakOptions};

static PROGRAMS: LazyLock<Image> = LazyLock::new(|| {
    assert!(has_target(), "{}", BuildError::NoTarget);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/machine/programs.rs");
    let name = format!("programs-{}", std::process::id());
    let out = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let mut rustc = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    rustc.args(["--target", TARGET, "--edition", "2024", "-C", "panic=abort"]);
    rustc.args([
        "-C",
        "link-arg=-Ttext=0x80000000",
        "-C",
        "link-arg=--nmagic",
        "-o",
    ]);
    let status = rustc.arg(&out).arg(source).status().expect("a compiler");
    assert!(status.success(), "the programs are assembled");
    let elf = std::fs::read(&out).expect("it was just built");
    std::fs::remove_file(out).expect("it was just built");
    Image::from_elf(&elf).expect("the linker's output")
});

/// The program at this symbol.
fn program(name: &str) -> Image {
    let program = PROGRAMS.starting_at(name);
    program.unwrap_or_else(|| panic!("there is no {name}"))
}

/// Weak memory from mark 1 on.
fn weak(harts: usize, seed: u64) -> Setup {
    let marks = vec![Mark::Ignore, Mark::CountFrom];
    let weak = Some(WeakOptions::of_seed(seed));
    Setup {
        harts,
        memory: 1 << 16,
        marks,
        weak,
        limit: 1_000_000,
        ..Setup::default()
    }
}
