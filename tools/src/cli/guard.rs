//! For `dpamatch run` and the example `guard`. A launcher that hangs or is killed leaves
//! processes behind, and an MPI program's processes spin. The guard adopts and ends them.

use std::io;
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;

use super::interrupt::Interrupt;

/// Run a command and end its processes if it fails, exceeds its time or is interrupted
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The command and its arguments
    #[arg(value_name = "COMMAND", required = true, last = true)]
    command: Vec<String>,
    /// End it after this time with exit code 124
    #[arg(long, value_name = "SECONDS")]
    limit: Option<u64>,
}

/// A guarded command failed. `code` is its own or follows the shell: 124 after the time limit, 128
/// plus the number of the signal that ended it.
#[derive(Debug, thiserror::Error)]
#[error("{program}: {how}")]
pub(super) struct Ended {
    program: String,
    how: String,
    pub(super) code: u8,
}

impl Ended {
    /// How a program failed; `None`: it succeeded. Without a status it exceeded its `limit`.
    pub(super) fn from_status(
        program: &str,
        status: Option<ExitStatus>,
        limit: Option<u64>,
    ) -> Option<Self> {
        let (how, code) = match status {
            Some(status) if status.success() => return None,
            Some(status) => (status.to_string(), code(status)),
            None => (format!("did not end within {} s", limit.unwrap_or(0)), 124),
        };
        Some(Self {
            program: program.to_owned(),
            how,
            code,
        })
    }
}

/// # Errors
/// The command failed, was late, or could not begin.
pub fn run(args: &Args) -> anyhow::Result<()> {
    end_with_parent();
    let interrupt = Interrupt::catch()?;
    let [program, arguments @ ..] = args.command.as_slice() else {
        return Ok(());
    };
    let mut command = Command::new(program);
    command.args(arguments);
    let limit = args.limit.map(Duration::from_secs);
    let status = interrupt.shield(|wanted| {
        guarded(&mut command, limit, wanted, &mut |_| {}).with_context(|| program.clone())
    })?;
    Ended::from_status(program, status, args.limit).map_or(Ok(()), |ended| Err(ended.into()))
}

fn code(status: ExitStatus) -> u8 {
    #[cfg(unix)]
    let signal = std::os::unix::process::ExitStatusExt::signal(&status);
    #[cfg(not(unix))]
    let signal: Option<i32> = None;
    let code = status
        .code()
        .or(signal.map(|number| 128 + number))
        .unwrap_or(1);
    u8::try_from(code).unwrap_or(1)
}

/// Time that a launcher gets to exit after a request.
const GRACE: Duration = Duration::from_secs(2);
/// Interval between two checks of a process.
const LOOK: Duration = Duration::from_millis(10);

/// Runs it. `None` after the time limit or once `unwanted` is set. Unless it succeeds, all
/// processes that it started are ended. Calls `look` again and again, and once with `true` before
/// it ends a command that is late.
pub(super) fn guarded(
    command: &mut Command,
    limit: Option<Duration>,
    unwanted: &AtomicBool,
    look: &mut dyn FnMut(bool),
) -> io::Result<Option<ExitStatus>> {
    orphans::take_over();
    let mut child = command.spawn()?;
    if let Some(mut pipe) = child.stdin.take() {
        // Ends with this process, or when nobody reads any more.
        thread::spawn(move || io::copy(&mut io::stdin(), &mut pipe));
    }
    let end = limit.and_then(|limit| Instant::now().checked_add(limit));
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break Some(status);
        }
        let late = end.is_some_and(|end| Instant::now() >= end);
        look(late);
        // ordering: the flag guards no other memory.
        if late || unwanted.load(Ordering::Relaxed) {
            stop(&mut child)?;
            break None;
        }
        thread::sleep(LOOK);
    };
    if status.is_none_or(|status| !status.success()) {
        orphans::end_all();
    }
    Ok(status)
}

/// Asks a process to exit, so that a launcher can end its children, and kills it if it does not.
fn stop(child: &mut Child) -> io::Result<()> {
    orphans::ask_to_end(child);
    let end = Instant::now() + GRACE;
    while Instant::now() < end {
        if child.try_wait()?.is_some() {
            return Ok(());
        }
        thread::sleep(LOOK);
    }
    child.kill()?;
    child.wait().map(drop)
}

/// Makes this process exit when its parent does.
fn end_with_parent() {
    #[cfg(target_os = "linux")]
    {
        // Without it the process continues like any other command.
        let _ =
            rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::TERM));
    }
}

#[cfg(target_os = "linux")]
mod orphans {
    use std::collections::HashMap;
    use std::fs;
    use std::process::Child;
    use std::thread;

    use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, wait};

    /// Makes orphans below this process its children instead of the init process's.
    pub(super) fn take_over() {
        let _ = rustix::process::set_child_subreaper(Some(getpid()));
    }

    pub(super) fn ask_to_end(child: &Child) {
        if let Some(pid) = Pid::from_raw(child.id() as i32) {
            let _ = kill_process(pid, Signal::TERM);
        }
    }

    /// Ends all of them. A process may start another while being ended, so this repeats until none
    /// is left. It gives up after a while, since a process that waits for a disk does not end.
    pub(super) fn end_all() {
        for _ in 0..500 {
            // Reaps the ended processes.
            while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
            let all = below(getpid().as_raw_nonzero().get());
            if all.is_empty() {
                return;
            }
            for pid in all.into_iter().filter_map(Pid::from_raw) {
                let _ = kill_process(pid, Signal::KILL);
            }
            thread::sleep(super::LOOK);
        }
    }

    fn below(first: i32) -> Vec<i32> {
        let mut children = HashMap::<i32, Vec<i32>>::new();
        for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
            let pid = entry
                .file_name()
                .to_str()
                .and_then(|name| name.parse().ok());
            let stat = || fs::read_to_string(entry.path().join("stat")).ok();
            if let Some((pid, parent)) = pid.and_then(|pid| Some((pid, parent(&stat()?)?))) {
                children.entry(parent).or_default().push(pid);
            }
        }
        let mut all = children.remove(&first).unwrap_or_default();
        let mut at = 0;
        while let Some(pid) = all.get(at) {
            all.extend(children.remove(pid).unwrap_or_default());
            at += 1;
        }
        all
    }

    /// Field 4 of the process's line; field 2, a name in parentheses, may contain anything.
    fn parent(stat: &str) -> Option<i32> {
        stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
    }
}

/// On other systems only the command itself can be ended.
#[cfg(not(target_os = "linux"))]
mod orphans {
    use std::process::Child;

    pub(super) fn take_over() {}

    pub(super) fn ask_to_end(_: &Child) {}

    pub(super) fn end_all() {}
}
