//! UCX's tag matching as a peer: the windows run on a production library through a small C program
//! (`peers/ucx.c`), which is compiled on demand.
//!
//! Nothing else needs UCX. The search covers the folder in the variable [`VARIABLE`], the
//! compiler's default paths (Debian's `libucx-dev`), and Python's package `libucx-cu12`.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;

use tempfile::TempDir;

use super::machine::Processors;
use super::measure::{Sample, Settings};
use super::point::Point;
use super::scenario::{Posting, Scenario};
use super::stats::Summary;
use super::undisturbed::Windows;

/// Environment variable with the folder of UCX's `include` and `lib`.
pub const VARIABLE: &str = "DPAMATCH_UCX";

const SOURCE: &str = include_str!("../../peers/ucx.c");

#[derive(Clone, Debug)]
pub struct Ucx {
    program: Arc<Program>,
    version: String,
}

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UcxError {
    #[error(
        "UCX cannot be used: {0}\ninstall a C compiler and UCX (Debian: gcc, libucx-dev; or: pip install libucx-cu12), \
         or let {VARIABLE} name the folder that holds its include and lib"
    )]
    Missing(String),
    #[error("UCX: {0}")]
    Failed(String),
    #[error("cannot run the program that measures UCX")]
    Io(#[from] io::Error),
}

/// The compiled program, deleted with its last user.
#[derive(Debug)]
struct Program {
    /// New, with a name that nobody can guess, and closed to other users: what it holds is run.
    folder: TempDir,
    libraries: Option<PathBuf>,
}

impl Program {
    fn folder() -> io::Result<TempDir> {
        crate::private_folder("dpamatch-ucx-")
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("ucx")
    }

    /// Compiles the source with UCX from `prefix`, or from the compiler's default paths.
    fn build(prefix: Option<&Path>) -> Result<Self, UcxError> {
        let program = Self {
            folder: Self::folder()?,
            libraries: prefix.map(|prefix| prefix.join("lib")),
        };
        let source = program.folder.path().join("ucx.c");
        fs::write(&source, SOURCE)?;
        let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
        let mut command = Command::new(&compiler);
        command.args([
            OsStr::new("-O2"),
            OsStr::new("-o"),
            program.path().as_os_str(),
            source.as_os_str(),
        ]);
        if let (Some(prefix), Some(libraries)) = (prefix, &program.libraries) {
            command
                .arg("-I")
                .arg(prefix.join("include"))
                .arg("-L")
                .arg(libraries);
        }
        let built = command.args(["-lucp", "-lucs"]).output();
        let Output { status, stderr, .. } = built.map_err(|error| {
            UcxError::Missing(format!(
                "cannot run the compiler {}: {error}",
                compiler.to_string_lossy()
            ))
        })?;
        if status.success() {
            Ok(program)
        } else {
            Err(UcxError::Missing(first_line(&stderr)))
        }
    }

    fn run(&self, arguments: &[String]) -> Result<Measured, UcxError> {
        let mut command = Command::new(self.path());
        command.args(arguments);
        // Shared memory without network transports, unless the user chooses otherwise.
        if std::env::var_os("UCX_TLS").is_none() {
            command.env("UCX_TLS", "posix,self");
        }
        if let Some(libraries) = &self.libraries {
            command.env("LD_LIBRARY_PATH", libraries);
        }
        let Output {
            status,
            stdout,
            stderr,
        } = command.output()?;
        if !status.success() {
            return Err(UcxError::Failed(format!(
                "{status}: {}",
                first_line(&stderr)
            )));
        }
        let text = String::from_utf8_lossy(&stdout);
        Measured::read(&text)
            .ok_or_else(|| UcxError::Failed(format!("the program printed `{}`", text.trim())))
    }
}

fn first_line(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let telling = text
        .lines()
        .find(|line| line.contains("error") || line.contains("ucx:"));
    telling
        .or(text.lines().next())
        .unwrap_or("no message")
        .trim()
        .to_owned()
}

/// The line that the program prints.
#[derive(Clone, PartialEq, Debug)]
struct Measured {
    version: String,
    time_ns: Summary,
    windows: Windows,
    post_ns: f64,
    receive_ns: f64,
    checked: u64,
}

impl Measured {
    fn read(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let &[
            version,
            median,
            min,
            max,
            measured,
            preempted,
            slow,
            post,
            receive,
            checked,
        ] = words.as_slice()
        else {
            return None;
        };
        let number = |word: &str| {
            word.parse::<f64>()
                .ok()
                .filter(|number| number.is_finite() && *number >= 0.0)
        };
        let [median, min, max] = [number(median)?, number(min)?, number(max)?];
        let windows = Windows {
            measured: measured.parse().ok()?,
            preempted: preempted.parse().ok()?,
            slow: slow.parse().ok()?,
        };
        if windows.measured == 0 || windows.dropped() > windows.measured {
            return None;
        }
        Some(Self {
            windows,
            version: version.to_owned(),
            time_ns: Summary {
                median,
                min,
                max,
                count: windows.left(),
            },
            post_ns: number(post)?,
            receive_ns: number(receive)?,
            checked: checked.parse().ok()?,
        })
    }
}

impl Ucx {
    /// Finds UCX, compiles the program and runs it once.
    ///
    /// # Errors
    /// [`UcxError`] for the first searched place.
    pub fn find() -> Result<Self, UcxError> {
        let program = match std::env::var_os(VARIABLE) {
            Some(folder) => Program::build(Some(Path::new(&folder)))?,
            None => match (Program::build(None), python_package()) {
                (Ok(program), _) => program,
                (Err(_), Some(folder)) => Program::build(Some(&folder))?,
                (Err(error), None) => return Err(error),
            },
        };
        let version = program
            .run(&["window=1".into(), "repetitions=1".into()])?
            .version;
        Ok(Self {
            program: Arc::new(program),
            version,
        })
    }

    pub fn version(&self) -> &str {
        &self.version
    }

    pub(super) fn measure(&self, point: &Point, settings: &Settings) -> Result<Sample, UcxError> {
        let processors = Processors::allowed();
        let mut arguments = arguments(&point.scenario);
        arguments.extend([
            format!("window={}", point.window),
            format!("size={}", point.size),
            format!("repetitions={}", settings.repetitions_of(point.window)),
            format!("budget_ms={}", settings.budget.as_millis()),
            format!("seed={}", settings.seed % (1 << 31)),
        ]);
        if settings.keep_disturbed {
            arguments.push("keep-disturbed".to_owned());
        }
        let pair = processors.pair();
        arguments.extend(pair.map(|(sender, receiver)| format!("processors={sender},{receiver}")));
        let measured = self.program.run(&arguments)?;
        Ok(Sample {
            time_ns: measured.time_ns,
            windows: measured.windows,
            post_ns: measured.post_ns,
            admit_ns: 0.0,
            receive_ns: measured.receive_ns,
            checked: measured.checked,
            pinned: pair.is_some(),
            ..Sample::default()
        })
    }
}

/// The folder of UCX in the Python package, if installed.
fn python_package() -> Option<PathBuf> {
    let code = "import os, libucx; print(os.path.dirname(libucx.__file__))";
    let output = Command::new("python3").args(["-c", code]).output().ok()?;
    let folder = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim());
    folder
        .join("include/ucp/api/ucp.h")
        .is_file()
        .then_some(folder)
}

fn arguments(scenario: &Scenario) -> Vec<String> {
    let words = [
        (scenario.posting == Posting::Reverse, "reverse"),
        (scenario.posting == Posting::Random, "shuffled"),
        (scenario.same, "same-tag"),
        (scenario.any_source, "any-source"),
        (scenario.any_tag, "any-tag"),
        (scenario.standing_wild, "standing-wild"),
        (scenario.unexpected, "unexpected"),
    ];
    let mut arguments: Vec<String> = words
        .into_iter()
        .filter(|(said, _)| *said)
        .map(|(_, word)| word.to_owned())
        .collect();
    arguments.push(format!("standing={}", scenario.standing));
    arguments.push(format!("stride={}", scenario.stride));
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_programs_line_is_read() {
        let measured =
            Measured::read("1.13.1 2849.0 2363.0 3114.0 50 3 2 11.88 0.00 320\n").expect("a line");
        assert_eq!(measured.version, "1.13.1");
        assert_eq!(measured.time_ns.median, 2849.0);
        assert_eq!((measured.time_ns.count, measured.checked), (45, 320));
        assert_eq!((measured.windows.preempted, measured.windows.slow), (3, 2));
        for wrong in [
            "",
            "1.13.1 2849.0",
            "1.13.1 x 2 3 4 0 0 5 6 7",
            "1.13.1 1 1 1 0 0 0 0 0 0",
            "1.13.1 1 1 1 5 3 3 0 0 0",
            "1 nan 1 1 1 0 0 0 0 0",
        ] {
            assert_eq!(Measured::read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn scenarios_are_told_in_full() {
        let told = |name: &str| arguments(&name.parse().expect("a scenario")).join(" ");
        assert_eq!(told("NC"), "standing=0 stride=1");
        assert_eq!(
            told("UNEXP-ANYSRC-REV"),
            "reverse any-source unexpected standing=0 stride=1"
        );
        assert_eq!(told("WDEPTH-64"), "standing-wild standing=64 stride=1");
        assert_eq!(told("NC-REV-S1021"), "reverse standing=0 stride=1021");
    }

    #[test]
    fn the_reason_is_the_line_that_tells_it() {
        let said =
            b"ucx.c: In function\nucx.c:20:10: fatal error: ucp/api/ucp.h: No such file or directory\n more";
        assert_eq!(
            first_line(said),
            "ucx.c:20:10: fatal error: ucp/api/ucp.h: No such file or directory"
        );
        assert_eq!(first_line(b""), "no message");
    }

    /// What is built there is run, so no other user may write into it or guess its name.
    #[test]
    #[cfg(unix)]
    fn the_folder_is_new_and_closed_to_other_users() {
        use std::os::unix::fs::PermissionsExt;
        let [first, second] = [(); 2].map(|()| Program::folder().expect("a folder"));
        assert_ne!(first.path(), second.path());
        for folder in [&first, &second] {
            let mode = fs::metadata(folder.path())
                .expect("there")
                .permissions()
                .mode();
            assert_eq!(mode & 0o777, 0o700, "{}", folder.path().display());
            let name = folder.path().to_string_lossy().into_owned();
            let guess = format!("dpamatch-ucx-{}-", std::process::id());
            assert!(!name.contains(&guess), "{name}");
        }
        let place = first.path().to_owned();
        drop(first);
        assert!(!place.exists(), "it ends with its last user");
    }

    #[test]
    fn a_folder_without_ucx_is_refused() {
        let refused = Program::build(Some(Path::new("/nonexistent")));
        // If the compiler finds UCX by default, a wrong folder does no harm.
        if let Err(error) = refused {
            assert!(error.to_string().contains("libucx-dev"), "{error}");
        }
    }
}
