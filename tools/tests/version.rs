//! `--version` says which commit the program is built from, and how that is found out.

#[path = "../commit.rs"]
mod commit;

use std::fs;
use std::path::Path;
use std::process::Command;

use commit::{Commit, of_git};
use dpamatch_needs::Need;
use tempfile::TempDir;

/// A folder in this repository.
fn folder() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder can be made")
}

#[test]
fn the_program_says_the_commit_of_its_sources() {
    let output = Command::new(env!("CARGO_BIN_EXE_dpamatch"))
        .arg("--version")
        .output();
    let said = String::from_utf8(output.expect("the program runs").stdout).expect("text");
    let number = env!("CARGO_PKG_VERSION");
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    // A file may have been saved since the program was built, so only the commit is compared.
    let start = match of_git(package, |_| ()) {
        Some(Commit { name, .. }) => format!("dpamatch {number} ({name}"),
        None => format!("dpamatch {number}\n"),
    };
    assert!(said.starts_with(&start), "{said:?} is not {start:?}");
}

#[test]
fn without_a_repository_of_its_own_there_is_no_commit() {
    // The folder is inside a repository that does not know the file.
    let folder = folder();
    fs::write(folder.path().join("Cargo.toml"), "").expect("written");
    assert_eq!(
        of_git(folder.path(), |path| panic!("{}", path.display())),
        None
    );
}

#[test]
fn a_changed_file_is_told() {
    let folder = folder();
    let git = |arguments: &[&str]| {
        let name = [
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@b.c",
            "-c",
            "commit.gpgsign=false",
        ];
        let status = Command::new("git")
            .current_dir(&folder)
            .args(name)
            .args(arguments)
            .status();
        status.is_ok_and(|status| status.success())
    };
    if !Need::Git.require(git(&["init", "-q"])) {
        return;
    }
    fs::write(folder.path().join("Cargo.toml"), "[package]\n").expect("written");
    assert!(git(&["add", "Cargo.toml"]) && git(&["commit", "-q", "-m", "first"]));
    let mut watched = Vec::new();
    let first = of_git(folder.path(), |path| watched.push(path)).expect("a commit");
    assert_eq!((first.name.len(), first.modified), (commit::DIGITS, false));
    assert!(
        watched.iter().any(|path| path.ends_with("HEAD")),
        "{watched:?}"
    );
    fs::write(
        folder.path().join("Cargo.toml"),
        "[package]\nname = \"a\"\n",
    )
    .expect("written");
    assert_eq!(
        of_git(folder.path(), |_| ()),
        Some(Commit {
            modified: true,
            ..first
        })
    );
}
