//! Runs a child process and keeps its output.

use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

pub(crate) struct Finished {
    pub(crate) status: ExitStatus,
    /// Standard output alone, for parsers.
    pub(crate) stdout: String,
    /// Standard error, then standard output, for people.
    pub(crate) output: String,
}

/// Runs `command` to its end without input.
pub(crate) fn run(command: &mut Command) -> Result<Finished, String> {
    let ended = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("cannot run {}: {error}", command.get_program().display()))?;
    let [stdout, stderr] =
        [ended.stdout, ended.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    Ok(Finished {
        status: ended.status,
        output: stderr + &stdout,
        stdout,
    })
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
    let mut times = fields
        .split(' ')
        .skip(13)
        .map_while(|field| field.parse::<u32>().ok());
    times.next()?.checked_add(times.next()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_children_is_read_behind_the_name() {
        let stat = "7 (a) b (c) S 1 2 3 4 5 6 7 8 9 10 111 112 250 50 20 0 1";
        assert_eq!(ticks(stat), Some(300));
        assert_eq!(ticks("7 (cat) S 1 2"), None);
        if cfg!(target_os = "linux") {
            assert!(children_time().is_some());
        }
    }
}
