//! The program that has a command: `dpamatch`, or `dpamatch-papers` from the same folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// The commands of `dpamatch-papers`.
pub(crate) const PAPERS: [&str; 8] = [
    "ablation",
    "accuracy",
    "calibrate",
    "channels",
    "compare",
    "cost",
    "sensitivity",
    "what-if",
];

/// A program of the folder of `dpamatch`.
///
/// # Panics
/// It is not there, or a source that its compiler read is younger: cargo builds programs only with
/// the tests of their own package. `build` is the command that builds it.
pub(crate) fn built(name: &str, build: &str) -> PathBuf {
    let dpamatch = Path::new(env!("CARGO_BIN_EXE_dpamatch"));
    let (path, target) = (dpamatch.with_file_name(name), dpamatch.parent());
    let modified = |path: &Path| fs::metadata(path).and_then(|it| it.modified());
    let at = modified(&path).unwrap_or_else(|error| panic!("first run {build}: {name}: {error}"));
    let sources = fs::read_to_string(path.with_extension("d")).unwrap_or_default();
    let (_, sources) = sources.split_once(": ").unwrap_or_default();
    assert!(!sources.is_empty(), "first run {build}: {name}: no sources");
    // Git's files and folders change by themselves, and build scripts write into the target folder.
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    let repository = repository.expect("the package is in a folder");
    let target = target.expect("a program is in a folder");
    let own = sources.split_whitespace().map(Path::new).filter(|source| {
        source.starts_with(repository)
            && !source.starts_with(target)
            && !source.iter().any(|part| part == ".git")
            && !source.is_dir()
    });
    for source in own {
        let is_older = modified(source).is_ok_and(|source| source <= at);
        assert!(is_older, "first run {build}: {name}: {source:?} is younger");
    }
    path
}

/// The path of `dpamatch-papers`.
pub(crate) fn papers() -> &'static Path {
    static PATH: LazyLock<PathBuf> =
        LazyLock::new(|| built("dpamatch-papers", "cargo build -p dpamatch_papers"));
    &PATH
}

/// The program that has the command of these words.
pub(crate) fn of(words: &[&str]) -> &'static Path {
    let command = words.iter().find(|word| **word != "help");
    match command.is_some_and(|command| PAPERS.contains(command)) {
        true => papers(),
        false => Path::new(env!("CARGO_BIN_EXE_dpamatch")),
    }
}
