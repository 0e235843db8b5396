//! Runs a child process and keeps its output.

use std::io::{self, Read};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// Result of a finished child process.
pub(crate) struct Finished {
    pub(crate) status: ExitStatus,
    /// Standard output alone, for parsers: standard error may cut into its lines.
    pub(crate) stdout: String,
    /// Both streams, in the order of reading, for people.
    pub(crate) output: String,
}

/// Runs `command` to its end without input.
///
/// # Errors
/// When the program cannot be started or its output cannot be read.
pub(crate) fn run(command: &mut Command) -> io::Result<Finished> {
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let both = Mutex::new(Vec::new());
    // Two readers: a child that fills one pipe while only the other is read would block.
    let (stdout, stderr) = thread::scope(|scope| {
        let errors = scope.spawn(|| stderr.map_or(Ok(Vec::new()), |stream| drain(stream, &both)));
        let stdout = stdout.map_or(Ok(Vec::new()), |stream| drain(stream, &both));
        (stdout, errors.join())
    });
    let status = child.wait()?;
    stderr.map_err(|_| io::Error::other("the reader of standard error panicked"))??;
    let both = both.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(Finished { status, stdout: text(&stdout?), output: text(&both) })
}

/// Processor time of all ended children and their children, on Linux. On a shared machine it is
/// more informative than the wall-clock time.
pub(crate) fn children_time() -> Option<Duration> {
    ticks(&std::fs::read_to_string("/proc/self/stat").ok()?).map(|ticks| TICK * ticks)
}

/// The kernel's unit, whatever its own clock (man 5 proc, `sysconf(_SC_CLK_TCK)`).
const TICK: Duration = Duration::from_millis(10);

/// `cutime` and `cstime`, fields 16 and 17; field 2, a name in brackets, may hold anything.
fn ticks(stat: &str) -> Option<u32> {
    let (_, fields) = stat.rsplit_once(") ")?;
    let mut times = fields.split(' ').skip(13).map_while(|field| field.parse::<u32>().ok());
    times.next()?.checked_add(times.next()?)
}

/// Reads `stream` to its end; a copy of each chunk goes to `both`.
fn drain(mut stream: impl Read, both: &Mutex<Vec<u8>>) -> io::Result<Vec<u8>> {
    let mut own = Vec::new();
    let mut chunk = [0; 8192];
    loop {
        match stream.read(&mut chunk) {
            Ok(0) => return Ok(own),
            Ok(length) => {
                own.extend_from_slice(&chunk[..length]);
                both.lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .extend_from_slice(&chunk[..length]);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::env;

    /// The test program itself is the only child that surely exists; it lists its tests on standard
    /// output.
    #[test]
    fn streams_and_status_are_kept() {
        let program = env::current_exe().expect("the path of this test program");
        let listed = run(Command::new(&program).args(["--list", "streams_and_status_are_kept"]))
            .expect("it starts");
        assert!(listed.status.success());
        assert!(
            listed.stdout.contains("process::tests::streams_and_status_are_kept: test"),
            "{}",
            listed.stdout
        );
        assert_eq!(listed.stdout, listed.output, "nothing was said on standard error");

        let refused = run(Command::new(&program).arg("--no-such-option")).expect("it starts");
        assert!(!refused.status.success());
        assert!(refused.output.contains("no-such-option"), "{}", refused.output);
        assert!(!refused.stdout.contains("no-such-option"), "standard error is kept apart");
    }

    #[test]
    fn the_time_of_children_is_read_behind_the_name() {
        let stat = "7 (a) b (c) S 1 2 3 4 5 6 7 8 9 10 111 112 250 50 20 0 1";
        assert_eq!(ticks(stat), Some(300));
        assert_eq!(ticks("7 (cat) S 1 2"), None);
        if cfg!(target_os = "linux") {
            assert!(children_time().is_some());
        }
    }

    #[test]
    fn a_missing_program_is_an_error() {
        assert!(run(&mut Command::new("dpamatch-no-such-program")).is_err());
    }

    #[test]
    fn reading_goes_on_after_a_signal() {
        let pieces = [Err(io::ErrorKind::Interrupted), Ok(b"ab"), Err(io::ErrorKind::Interrupted)];
        let all = Mutex::new(b"> ".to_vec());
        let read = drain(Pieces(pieces.to_vec()), &all).expect("its end");
        assert_eq!((read, all.into_inner().expect("whole")), (b"ab".to_vec(), b"> ab".to_vec()));
        let broken = vec![Err(io::ErrorKind::BrokenPipe)];
        assert!(drain(Pieces(broken), &Mutex::default()).is_err());
    }

    /// Yields these pieces from the last to the first, then the end.
    struct Pieces(Vec<Result<&'static [u8; 2], io::ErrorKind>>);

    impl Read for Pieces {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let Some(piece) = self.0.pop().transpose()? else { return Ok(0) };
            buffer[..2].copy_from_slice(piece);
            Ok(2)
        }
    }
}
