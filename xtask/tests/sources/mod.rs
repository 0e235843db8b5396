//! What tests about the sources share.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the repository")
}

/// The output of a `git grep` of all sources in Rust, also new ones.
pub(crate) fn grep(arguments: &[&str]) -> String {
    let mut git = Command::new("git");
    git.args(["grep", "--untracked"]).args(arguments);
    git.args(["--", "*.rs"]);
    let found = git.current_dir(root()).output().expect("git").stdout;
    String::from_utf8(found).expect("text")
}

/// The names of all tests.
pub(crate) fn tests() -> BTreeSet<String> {
    let found = grep(&["-h", "-A3", "#\\[test\\]"]);
    let names = found
        .lines()
        .filter_map(|line| line.trim().strip_prefix("fn "));
    let names: BTreeSet<String> = names
        .filter_map(|line| Some(line.split_once('(')?.0.to_owned()))
        .collect();
    assert!(names.len() > 1_000, "{}", names.len());
    names
}
