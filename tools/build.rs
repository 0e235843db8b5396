//! Tells the program which commit it is built from, if there is a way to know (see
//! `src/version.rs`), and makes the table of MPI functions.

mod commit;
mod functions;

use std::fs;
use std::path::{Path, PathBuf};

use commit::Commit;

fn main() {
    let package = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let number = std::env::var("CARGO_PKG_VERSION").expect("cargo sets it");
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=commit.rs");
    let watch = |path: PathBuf| println!("cargo:rerun-if-changed={}", path.display());
    let commit = commit::of_git(&package, watch);
    let version = match &commit {
        None => number,
        Some(Commit {
            name,
            modified: false,
        }) => format!("{number} ({name})"),
        Some(Commit {
            name,
            modified: true,
        }) => format!("{number} ({name}, modified)"),
    };
    println!("cargo:rustc-env=DPAMATCH_VERSION={version}");
    let Commit { name, modified } = commit.unwrap_or(Commit {
        name: String::new(),
        modified: false,
    });
    println!("cargo:rustc-env=DPAMATCH_COMMIT={name}");
    println!("cargo:rustc-env=DPAMATCH_MODIFIED={modified}");
    make_functions(&package);
}

/// Writes the table of MPI functions where `src/trace/function/table.rs` includes it.
fn make_functions(package: &Path) {
    let source = package.join("src/trace/function/functions.txt");
    println!("cargo:rerun-if-changed=functions.rs");
    println!("cargo:rerun-if-changed={}", source.display());
    let text = fs::read_to_string(&source).expect("the table of functions is readable");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it"));
    fs::write(out.join("functions.rs"), functions::table(&text)).expect("OUT_DIR is writable");
}
