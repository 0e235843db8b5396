//! The commit that sources are from; a part of the build script.

use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) const DIGITS: usize = 12;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Commit {
    /// Its name's first digits.
    pub(crate) name: String,
    /// Files that git knows are not as in the commit.
    pub(crate) modified: bool,
}

/// The commit of the working tree that `package` is in. `watch` is told the files and folders that
/// another answer would come from.
pub(crate) fn of_git(package: &Path, mut watch: impl FnMut(PathBuf)) -> Option<Commit> {
    let git = |arguments: &[&str]| {
        let output = Command::new("git")
            .current_dir(package)
            .args(arguments)
            .output()
            .ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| text.trim().to_owned())
    };
    // Unpacked inside somebody else's repository, the commit there says nothing.
    git(&["ls-files", "--error-unmatch", "Cargo.toml"])?;
    // Commits and checkouts write the log of HEAD; without a log HEAD, or the branch it names.
    let branch = git(&["symbolic-ref", "-q", "HEAD"]);
    let files = ["HEAD", "logs/HEAD", "packed-refs"]
        .into_iter()
        .chain(branch.as_deref());
    for file in files.filter_map(|name| git(&["rev-parse", "--git-path", name])) {
        Some(package.join(file))
            .filter(|file| file.exists())
            .map(&mut watch);
    }
    let top = PathBuf::from(git(&["rev-parse", "--show-toplevel"])?);
    for part in ["Cargo.lock", "dpa_model", "src", "tools"] {
        Some(top.join(part))
            .filter(|part| part.exists())
            .map(&mut watch);
    }
    let name = git(&["rev-parse", &format!("--short={DIGITS}"), "HEAD"])?;
    let modified = !git(&["status", "--porcelain", "--untracked-files=no"])?.is_empty();
    Some(Commit { name, modified })
}
