//! Builds the provider, the command that replays logs, and the MPI programs.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::Library;
use crate::{Failure, process, root};

/// Exit code of a command that ran out of time.
pub(super) const LATE: i32 = 124;

pub(super) struct Tools {
    /// The folder of the provider's shared library.
    pub(super) provider: PathBuf,
    pub(super) command: PathBuf,
    /// Folder for the programs, logs and statistics of the runs.
    pub(super) folder: PathBuf,
}

impl Tools {
    pub(super) fn build(dev: bool) -> Result<Self, Failure> {
        let mut cargo = crate::cargo();
        let (profile, folder) = if dev {
            ("dev", "debug")
        } else {
            ("release", "release")
        };
        cargo
            .current_dir(root())
            .args(["build", "--quiet", "--profile", profile]);
        cargo.args([
            "--package",
            "dpamatch_provider",
            "--package",
            "dpamatch_tools",
            "--lib",
            "--bins",
            "--example",
            "guard",
        ]);
        let finished = process::run(&mut cargo).map_err(Failure::Task)?;
        if !finished.status.success() {
            return Err(Failure::Task(format!(
                "the provider was not built\n{}",
                finished.output
            )));
        }
        let target = crate::target();
        let provider = target.join(folder);
        let command = provider.join("dpamatch");
        Ok(Self {
            provider,
            command,
            folder: target.join("mpi"),
        })
    }

    /// A command with a time limit. At the limit, or when this process ends, all processes that it
    /// started end; its exit code is then [`LATE`].
    pub(super) fn guarded(&self, limit: Duration) -> Command {
        let mut command = Command::new(self.provider.join("examples/guard"));
        command
            .arg("--limit")
            .arg(limit.as_secs().to_string())
            .arg("--");
        command
    }

    /// Compiles a program of `mpi/provider/mpi` with the library's compiler.
    pub(super) fn compile(&self, library: &Library, name: &str) -> Result<PathBuf, Failure> {
        let folder = self.folder.join(library.name);
        std::fs::create_dir_all(&folder)
            .map_err(|error| Failure::Task(format!("{}: {error}", folder.display())))?;
        let program = folder.join(name);
        let source = root().join("mpi/provider/mpi").join(format!("{name}.c"));
        compile(library, &["-O1".as_ref(), source.as_ref()], &program).map_err(Failure::Task)?;
        Ok(program)
    }

    pub(super) fn engines(&self) -> Result<Vec<String>, Failure> {
        let finished =
            process::run(Command::new(&self.command).arg("engines")).map_err(Failure::Task)?;
        let words = finished
            .stdout
            .lines()
            .filter_map(|line| line.split_whitespace().next());
        Ok(words.map(str::to_owned).collect())
    }
}

pub(super) fn compile(
    library: &Library,
    arguments: &[&Path],
    program: &Path,
) -> Result<(), String> {
    let mut compiler = Command::new(library.program("mpicc"));
    compiler
        .args(["-w", "-o"])
        .arg(program)
        .args(arguments)
        .args(["-lpthread", "-lm"]);
    match process::run(&mut compiler) {
        Ok(finished) if finished.status.success() => Ok(()),
        Ok(finished) => Err(format!("{}\n{}", program.display(), finished.output)),
        Err(error) => Err(format!("mpicc of {}: {error}", library.name)),
    }
}
