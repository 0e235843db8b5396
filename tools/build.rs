//! Tells the program which commit it is built from, if there is a way to know (see
//! `src/version.rs`).

mod commit;

use std::path::PathBuf;

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
}
