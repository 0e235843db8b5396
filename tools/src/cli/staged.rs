//! Files that appear only when complete: written under hidden names, then renamed.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::{ArgMatches, Command};
use tempfile::{Builder, NamedTempFile, TempDir};

/// Prefix of the names of incomplete files.
const HIDDEN: &str = ".dpamatch-";

/// Options that name what a command writes.
const OUTPUTS: [&str; 7] = [
    "out", "save", "pairs", "matches", "html", "timeline", "write",
];

/// Tries the paths that a command will write to, before its work begins. Nothing remains.
///
/// # Errors
/// One of them cannot be written.
pub fn try_outputs(command: &Command, matches: &ArgMatches) -> anyhow::Result<()> {
    for argument in command
        .get_arguments()
        .filter(|it| OUTPUTS.contains(&it.get_id().as_str()))
    {
        let Ok(Some(path)) = matches.try_get_one::<PathBuf>(argument.get_id().as_str()) else {
            continue;
        };
        let is_folder = argument
            .get_value_names()
            .is_some_and(|names| names == ["DIR"]);
        // A pipe may have no reader yet.
        if is_folder {
            StagedFolder::new(path)
                .map(drop)
                .with_context(|| format!("cannot write into {}", path.display()))?;
        } else if !fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir()) {
            StagedFile::new(path)
                .map(drop)
                .with_context(|| format!("cannot write {}", path.display()))?;
        }
    }
    match matches
        .subcommand()
        .and_then(|(name, inner)| Some((command.find_subcommand(name)?, inner)))
    {
        Some((command, matches)) => try_outputs(command, matches),
        None => Ok(()),
    }
}

/// The error without the hidden name that it is about.
fn plain(error: io::Error) -> io::Error {
    let text = error.to_string();
    match text.split_once(" at path ") {
        Some((what, _)) => io::Error::new(error.kind(), what),
        None => error,
    }
}

/// Files of a folder, written into a hidden folder in it and moved when all are complete. If it is
/// dropped earlier, no file remains, nor the folder if it is new.
#[derive(Debug)]
pub struct StagedFolder {
    target: PathBuf,
    // Fields are dropped in this order, so the new folders are empty by then.
    hidden: TempDir,
    made: MadeFolders,
}

/// New folders to remove if empty, innermost first.
#[derive(Debug)]
struct MadeFolders(Vec<PathBuf>);

impl Drop for MadeFolders {
    fn drop(&mut self) {
        for folder in &self.0 {
            // A folder with another program's files stays.
            let _ = fs::remove_dir(folder);
        }
    }
}

impl StagedFolder {
    pub fn new(target: &Path) -> io::Result<Self> {
        let missing = |folder: &&Path| !folder.as_os_str().is_empty() && !folder.exists();
        let made = MadeFolders(
            target
                .ancestors()
                .take_while(missing)
                .map(Path::to_owned)
                .collect(),
        );
        fs::create_dir_all(target)?;
        let hidden = Builder::new()
            .prefix(HIDDEN)
            .tempdir_in(target)
            .map_err(plain)?;
        Ok(Self {
            target: target.to_owned(),
            hidden,
            made,
        })
    }

    pub fn path(&self) -> &Path {
        self.hidden.path()
    }

    /// Moves all files to their final names, replacing older ones.
    ///
    /// # Errors
    /// A file cannot be moved; those before it have been.
    pub fn commit(mut self) -> io::Result<()> {
        self.made.0.clear();
        move_into(self.hidden.path(), &self.target)
    }
}

fn move_into(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        fs::rename(entry.path(), to.join(entry.file_name()))?;
    }
    Ok(())
}

/// A file. If it is dropped before it is complete, an older file of its name remains. Anything but
/// a regular file, such as a pipe, is written directly.
#[derive(Debug)]
pub enum StagedFile {
    Hidden {
        target: PathBuf,
        file: NamedTempFile,
    },
    /// Has its final name.
    Named(File),
}

impl StagedFile {
    pub fn new(target: &Path) -> io::Result<Self> {
        if fs::metadata(target).is_ok_and(|found| !found.is_file()) {
            return Ok(Self::Named(File::create(target)?));
        }
        // Replaces the target of a link, not the link.
        let target = fs::canonicalize(target).unwrap_or_else(|_| target.to_owned());
        let folder = target
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty());
        let mut builder = Builder::new();
        builder.prefix(HIDDEN);
        // The mode of a new file; temporary files have a stricter one.
        #[cfg(unix)]
        builder
            .permissions(<fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o666));
        let file = builder
            .tempfile_in(folder.unwrap_or(Path::new(".")))
            .map_err(plain)?;
        Ok(Self::Hidden { target, file })
    }

    pub fn fill(
        &mut self,
        write: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>,
    ) -> io::Result<()> {
        let file = match self {
            Self::Hidden { file, .. } => file.as_file_mut(),
            Self::Named(file) => file,
        };
        let mut out = BufWriter::new(file);
        write(&mut out)?;
        out.flush()
    }

    pub fn commit(self) -> io::Result<()> {
        match self {
            Self::Hidden { target, file } => file
                .persist(target)
                .map(|_| ())
                .map_err(|error| error.error),
            Self::Named(_) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let Ok(entries) = fs::read_dir(folder) else {
            return vec!["no folder".to_owned()];
        };
        let mut names: Vec<_> = entries
            .map(|entry| {
                entry
                    .expect("an entry")
                    .file_name()
                    .to_string_lossy()
                    .into_owned()
            })
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_folder_is_filled_at_once_or_not_at_all() {
        let place = tempfile::tempdir().expect("a folder");
        let target = place.path().join("new/folder");
        let write = |contents: &str| {
            let staged = StagedFolder::new(&target).expect("room");
            for name in ["a.csv", "b.csv"] {
                fs::write(staged.path().join(name), contents).expect("room");
                assert!(
                    !target.join("b.csv").exists() || contents != "first",
                    "too early"
                );
            }
            staged
        };
        drop(write("first"));
        assert_eq!(
            names(place.path()),
            [""; 0],
            "nothing stays of what was given up"
        );
        write("first").commit().expect("moved");
        assert_eq!(names(&target), ["a.csv", "b.csv"]);
        fs::write(target.join("other"), "").expect("room");
        drop(write("second"));
        assert_eq!(
            fs::read_to_string(target.join("a.csv")).expect("a file"),
            "first"
        );
        write("second").commit().expect("moved");
        assert_eq!(
            fs::read_to_string(target.join("a.csv")).expect("a file"),
            "second"
        );
        assert_eq!(names(&target), ["a.csv", "b.csv", "other"]);
    }

    #[test]
    fn a_file_is_there_when_it_is_whole() {
        let place = tempfile::tempdir().expect("a folder");
        let target = place.path().join("pairs.csv");
        let write = |contents: &'static str| {
            let mut staged = StagedFile::new(&target).expect("room");
            staged
                .fill(|out| out.write_all(contents.as_bytes()))
                .expect("room");
            staged
        };
        drop(write("first"));
        assert_eq!(names(place.path()), [""; 0]);
        write("first").commit().expect("renamed");
        drop(write("second"));
        assert_eq!(fs::read_to_string(&target).expect("a file"), "first");
        #[cfg(unix)]
        {
            use std::os::unix::fs::{PermissionsExt, symlink};
            let link = place.path().join("link");
            symlink(&target, &link).expect("a link");
            let mut staged = StagedFile::new(&link).expect("room");
            staged.fill(|out| out.write_all(b"third")).expect("room");
            staged.commit().expect("renamed");
            assert!(link.is_symlink());
            fs::write(place.path().join("usual"), "").expect("room");
            let mode = |name: &str| {
                let found = fs::metadata(place.path().join(name)).expect("a file");
                found.permissions().mode()
            };
            assert_eq!(mode("pairs.csv"), mode("usual"));
        }
        assert_eq!(
            fs::read_to_string(&target).expect("a file"),
            if cfg!(unix) { "third" } else { "first" }
        );
    }

    #[test]
    #[cfg(unix)]
    fn what_is_no_ordinary_file_is_written_to() {
        let mut staged = StagedFile::new(Path::new("/dev/null")).expect("it is there");
        assert!(matches!(staged, StagedFile::Named(_)));
        staged.fill(|out| out.write_all(b"gone")).expect("room");
        staged.commit().expect("nothing to do");
    }
}
