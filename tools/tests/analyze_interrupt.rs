//! Ctrl-C while `dpamatch analyze` writes: all of it is there afterwards, or nothing. The program
//! is held at a known place by a pipe that nobody reads.
#![cfg(target_os = "linux")]

use std::fs::{self, OpenOptions};
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

const TRACE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../tests/data/traces/edge-4-mpich/edge-4-mpich.dumpi.tar.xz"
);
/// Number of the signal of Ctrl-C.
const SIGINT: u32 = 2;

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

fn pipe(path: &Path) {
    assert!(
        Command::new("mkfifo")
            .arg(path)
            .status()
            .expect("mkfifo runs")
            .success()
    );
}

fn start(arguments: &[&Path]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dpamatch"));
    command
        .args(["analyze", TRACE, "--bins", "1", "--sweep", "4"])
        .args(arguments);
    command
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program runs")
}

fn until(what: &str, child: &mut Child, is_there: impl Fn(u32) -> bool) {
    let begin = Instant::now();
    while !is_there(child.id()) {
        assert!(
            begin.elapsed() < Duration::from_secs(120),
            "waited too long: {what}"
        );
        assert!(
            child.try_wait().expect("a child").is_none(),
            "it ended early: {what}"
        );
        thread::sleep(Duration::from_millis(2));
    }
}

/// Ctrl-C, and how the program ends once the pipe is open at both ends.
fn interrupt(mut child: Child, pipe: &Path) -> (Option<i32>, String) {
    let kill = format!("kill -{SIGINT} {}", child.id());
    assert!(
        Command::new("sh")
            .args(["-c", &kill])
            .status()
            .expect("sh runs")
            .success()
    );
    // Open for both, this never blocks, and whoever waits for the other end has one.
    let both = OpenOptions::new()
        .read(true)
        .write(true)
        .open(pipe)
        .expect("the pipe");
    let code = child.wait().expect("it ends").code();
    drop(both);
    let mut message = String::new();
    child
        .stderr
        .take()
        .expect("its messages")
        .read_to_string(&mut message)
        .expect("text");
    (code, message)
}

/// With `--pairs` into a pipe the program waits for a reader when the folder is written but not yet
/// in its place.
#[test]
fn an_interrupted_folder_is_as_it_was() {
    let place = tempfile::tempdir().expect("a folder");
    let (pairs, new) = (place.path().join("pairs"), place.path().join("a/new"));
    pipe(&pairs);
    let is_written = |folder: &Path| {
        names(folder)
            .iter()
            .any(|name| folder.join(name).join("report.json").exists() && name.starts_with('.'))
    };
    let run = |out: &Path| {
        let mut child = start(&[Path::new("--out"), out, Path::new("--pairs"), &pairs]);
        until("the files", &mut child, |_| is_written(out));
        assert!(
            !out.join("report.json").exists() || out != new,
            "not in its place yet"
        );
        interrupt(child, &pairs)
    };
    assert_eq!(run(&new), (Some(130), "dpamatch: interrupted\n".to_owned()));
    assert_eq!(
        names(place.path()),
        ["pairs"],
        "nor are the folders that were made for it"
    );

    // A folder with an older report keeps it.
    let old = place.path().join("old");
    fs::create_dir(&old).expect("room");
    fs::write(old.join("report.json"), "old").expect("room");
    assert_eq!(run(&old).0, Some(130));
    assert_eq!(names(&old), ["report.json"]);
    assert_eq!(
        fs::read_to_string(old.join("report.json")).expect("a file"),
        "old"
    );
}
