//! Runs the firmware in QEMU.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use std::{fs, io, thread};

use crate::job::{Job, OUT};

const PROGRAM: &str = "qemu-system-riscv64";
/// Longest run before it counts as hanging.
const PATIENCE: Duration = Duration::from_secs(60);

pub fn is_here() -> bool {
    Command::new(PROGRAM).arg("--version").output().is_ok_and(|output| output.status.success())
}

#[derive(Debug)]
pub struct Ran {
    pub outcomes: Option<Vec<u8>>,
    pub console: String,
    pub is_good: bool,
}

/// Runs a job in an existing `folder`. The instruction counter of a single hart is exact.
pub fn run(elf: &Path, job: &Job, folder: &Path) -> io::Result<Ran> {
    for (name, bytes) in &job.files {
        fs::write(folder.join(name), bytes)?;
    }
    let out = folder.join(OUT);
    if out.exists() {
        fs::remove_file(&out)?;
    }
    let console = folder.join("console.txt");
    let words: String =
        job.arguments.split_whitespace().map(|word| format!(",arg={word}")).collect();
    let mut command = Command::new(PROGRAM);
    command.current_dir(folder).args(["-m", "128M", "-bios", "none", "-machine", "virt"]);
    // One thread for all harts, which switch when they wait. Otherwise dozens of spinning threads
    // would share the processors.
    command.args(if job.harts == 1 {
        ["-icount", "shift=0"]
    } else {
        ["-accel", "tcg,thread=single"]
    });
    command.args(["-display", "none", "-serial", "none", "-monitor", "none"]);
    command.args(["-smp", &job.harts.to_string(), "-kernel"]).arg(elf);
    command.arg("-semihosting-config").arg(format!("enable=on,target=native{words}"));
    let file = fs::File::create(&console)?;
    command.stdout(file.try_clone()?).stderr(file).stdin(std::process::Stdio::null());
    let mut child = command.spawn()?;
    let started = Instant::now();
    let status = loop {
        match child.try_wait()? {
            Some(status) => break Some(status),
            None if started.elapsed() > PATIENCE => {
                child.kill()?;
                child.wait()?;
                break None;
            }
            None => thread::sleep(Duration::from_millis(2)),
        }
    };
    Ok(Ran {
        outcomes: fs::read(out).ok(),
        console: String::from_utf8_lossy(&fs::read(console)?).into_owned(),
        is_good: status.is_some_and(|status| status.success()),
    })
}
