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

/// The path of `dpamatch-papers`.
///
/// # Panics
/// It is not there, or a source that its compiler read is younger: cargo builds it only with the
/// tests of its own package.
pub(crate) fn papers() -> &'static Path {
    static PATH: LazyLock<PathBuf> = LazyLock::new(|| {
        let path = Path::new(env!("CARGO_BIN_EXE_dpamatch")).with_file_name("dpamatch-papers");
        let built = |path: &Path| fs::metadata(path).and_then(|it| it.modified());
        let sources = fs::read_to_string(path.with_extension("d")).unwrap_or_default();
        let (_, sources) = sources.split_once(": ").unwrap_or_default();
        // The build script looks at git's files and at folders, which change by themselves.
        let mut own = sources
            .split_whitespace()
            .filter(|source| !source.contains("/.git/") && !Path::new(source).is_dir());
        let is_fresh = built(&path).is_ok_and(|at| {
            let older = |source: &str| built(source.as_ref()).is_ok_and(|source| source <= at);
            !sources.is_empty() && own.all(older)
        });
        assert!(is_fresh, "first run cargo build -p dpamatch_papers");
        path
    });
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
