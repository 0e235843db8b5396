//! Nothing that a launcher started is left when it does not end well.

use std::fs;
use std::sync::LazyLock;
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::*;

const PATIENCE: Duration = Duration::from_secs(30);

/// The example `guard`.
fn guard() -> &'static Path {
    static PATH: LazyLock<PathBuf> = LazyLock::new(|| {
        programs::built("examples/guard", "cargo build -p dpamatch_tools --examples")
    });
    &PATH
}

fn soon<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + PATIENCE;
    loop {
        match look() {
            Some(seen) => return seen,
            None => assert!(Instant::now() < end, "{what}"),
        }
        thread::sleep(Duration::from_millis(10));
    }
}

/// Where the process that is left alone stands in the system's list.
fn process(file: &Path) -> PathBuf {
    let pid = soon("the launcher starts its process", || {
        fs::read_to_string(file).ok()
    });
    Path::new("/proc").join(pid.trim())
}

#[test]
fn after_its_time_and_after_a_failure() {
    let folder = TempDir::new().expect("a folder");
    /// A name, options, arguments of the launcher, the exit code, and words on standard error.
    type Case = (
        &'static str,
        &'static [&'static str],
        &'static [&'static str],
        i32,
        &'static str,
    );
    let cases: [Case; 4] = [
        (
            "late",
            &["--limit", "1"],
            &[],
            124,
            "did not end within 1 s",
        ),
        ("failed", &[], &["fail"], 3, "exit status: 3"),
        (
            "run-late",
            &["run", "--provider", "tests/run", "--limit", "1"],
            &[],
            124,
            "within 1 s",
        ),
        (
            "run-failed",
            &["run", "--provider", "tests/run"],
            &["fail"],
            3,
            "exit status: 3",
        ),
    ];
    for (name, options, arguments, code, words) in cases {
        let file = folder.path().join(name);
        let is_run = name.starts_with("run");
        let mut command = Command::new(if is_run { DPAMATCH.as_ref() } else { guard() });
        command
            .args(options)
            .args(["--", "tests/run/endless.sh"])
            .arg(&file)
            .args(arguments);
        // The process that is left would hold a pipe open.
        let errors = folder.path().join("errors");
        command
            .stdout(Stdio::null())
            .stderr(fs::File::create(&errors).expect("a file"));
        let status = command.status().expect("the command runs");
        let errors = fs::read_to_string(&errors).expect("text");
        assert_eq!(status.code(), Some(code), "{name}: {errors}");
        assert!(errors.contains(words), "{name}: {errors}");
        assert!(!process(&file).exists(), "{name}: a process is left");
    }
}

#[test]
fn when_it_is_unwanted() {
    let folder = TempDir::new().expect("a folder");
    // A signal to the guard, and a parent that is killed.
    let cases = [
        (
            "signal",
            "\"$@\" & guard=$!; while ! [ -e $file ]; do sleep 0.1; done; kill $guard; wait $guard",
        ),
        (
            "parent",
            "\"$@\" & while ! [ -e $file ]; do sleep 0.1; done; kill -KILL $$",
        ),
    ];
    for (name, script) in cases {
        let file = folder.path().join(name);
        let mut shell = Command::new("sh");
        shell.args(["-c", script, "sh"]).arg(guard());
        shell
            .args(["--", "tests/run/endless.sh"])
            .arg(&file)
            .env("file", &file)
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let status = shell.status().expect("a shell");
        assert_eq!(
            status.code(),
            if name == "signal" { Some(130) } else { None },
            "{name}"
        );
        let process = process(&file);
        soon(&format!("{name}: the process ends"), || {
            (!process.exists()).then_some(())
        });
    }
}

#[test]
fn what_ends_well_is_left_alone() {
    let folder = TempDir::new().expect("a folder");
    let file = folder.path().join("kept");
    let script = "setsid sleep 1000 & echo $! > $0.new; mv $0.new $0";
    let mut command = Command::new(guard());
    command
        .args(["--limit", "60", "--", "sh", "-c", script])
        .arg(&file);
    let status = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .expect("it runs");
    assert!(status.success());
    let process = process(&file);
    assert!(process.exists(), "a program may leave a process on purpose");
    let pid = process.file_name().expect("its number");
    assert!(
        Command::new("kill")
            .arg(pid)
            .status()
            .expect("kill")
            .success()
    );
}
