//! `bus`: host and wire as a program in C, the card's side as firmware in QEMU. They share the
//! machine's memory, and only the layout in `port/kit/dpamatch_bus.h`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::build::{BuildError, finish, program, root, target_folder};
use crate::job::{Job, STREAM};
use crate::qemu::{self, Ran};
use dpa_model::PaperWorkload;
use dpamatch::stream::Profile;

/// File with the machine's memory.
const MEMORY: &str = "memory.bin";
/// The host's input; QEMU's runner uses other file names.
const IN: &str = "host-stream.bin";
const OUT: &str = "host-outcomes.bin";
/// Harts of the card's side.
const HARTS: [usize; 2] = [4, 8];
const BINS: usize = 256;

pub fn has_compiler() -> bool {
    program("CC", "cc").arg("--version").output().is_ok_and(|output| output.status.success())
}

pub fn build() -> Result<PathBuf, BuildError> {
    let folder = target_folder().join("host");
    fs::create_dir_all(&folder)
        .map_err(|error| BuildError::Io(folder.display().to_string(), error))?;
    let host = folder.join("host");
    let mut compiler = program("CC", "cc");
    compiler.current_dir(root().join("port/kit"));
    compiler.args(["-std=c11", "-D_DEFAULT_SOURCE", "-O2", "-Wall", "-Wextra", "-Werror"]);
    compiler.args(["host.c", "player.c", "-o"]).arg(&host);
    finish(compiler)?;
    Ok(host)
}

/// Three workloads and random streams on each number of harts.
pub fn jobs(windows: usize, events: u64, streams: u64) -> Vec<Job> {
    let profiles = [Profile::Mixed, Profile::Hot, Profile::Wild, Profile::Keys];
    let mut jobs = Vec::new();
    for harts in HARTS {
        let workload = |workload| Job::workload_on_bus(workload, (harts, 32), (windows, 128), BINS);
        jobs.extend(PaperWorkload::ALL.iter().copied().map(workload));
        jobs.extend((0..streams).map(|seed| {
            let profile = profiles[seed as usize % profiles.len()];
            Job::stream_on_bus((profile, seed, events), (harts, harts), BINS)
        }));
    }
    jobs
}

/// Runs a job in `folder`: QEMU with the firmware, and the host's program beside it.
pub fn run(elf: &Path, host: &Path, job: &Job, folder: &Path) -> io::Result<Ran> {
    let (memory, out) = (folder.join(MEMORY), folder.join(OUT));
    for file in [&memory, &out] {
        if file.exists() {
            fs::remove_file(file)?;
        }
    }
    fs::File::create(&memory)?.set_len(qemu::MEMORY_BYTES)?;
    fs::write(folder.join(IN), &job.files[STREAM])?;
    let mut host = Command::new(host)
        .current_dir(folder)
        .args([MEMORY, IN, OUT, &BINS.to_string()])
        .stderr(Stdio::piped())
        .spawn()?;
    let ran = qemu::run(elf, job, folder, qemu::Mode::Sharing(MEMORY));
    if ran.as_ref().is_ok_and(|ran| !ran.is_good) {
        // It would wait for the card for ever.
        let _ = host.kill();
    }
    let ended = host.wait_with_output()?;
    let ran = ran?;
    Ok(Ran {
        outcomes: fs::read(out).ok(),
        is_good: ran.is_good && ended.status.success(),
        console: ran.console + &String::from_utf8_lossy(&ended.stderr),
    })
}
