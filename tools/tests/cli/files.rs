//! What a command does about files that are no files, and about a limit on the size of files.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;

use dpamatch_needs::Need;

use super::*;

/// Every command that reads a file or a trace, with `@` in the place of its path.
const READERS: [&str; 23] = [
    "match @",
    "explore @",
    "explore --trace @",
    "trace info @",
    "trace check @",
    "trace dump @",
    "trace timeline @",
    "analyze @",
    "analyze ../tests/data/traces/minife-16 --against @",
    "offload @",
    "offload ../tests/data/traces/minife-16 --host @",
    "predict --trace @",
    "predict handlers --trace @",
    "predict domains @",
    "predict stream @",
    "predict --profile @",
    "diff @ @",
    "calibrate @",
    "cost messages @",
    "cost fit @",
    "cost spmv @",
    "cost profile --profile @",
    "bench --trace @",
];

#[test]
fn what_is_no_file_is_refused_and_not_waited_for() {
    let folder = folder("no-files");
    let path = |name: &str| folder.path().join(name).to_str().expect("text").to_owned();
    let made = Command::new("mkfifo").arg(path("fifo")).status();
    assert!(made.expect("mkfifo runs").success());
    let _socket = UnixListener::bind(path("socket")).expect("a socket");
    symlink(path("fifo"), path("link")).expect("a link");
    for (file, why) in [
        (path("fifo"), "it is a FIFO, not a file"),
        (path("link"), "it is a FIFO, not a file"),
        (path("socket"), "it is a socket, not a file"),
        ("/dev/zero".to_owned(), "it is a device, not a file"),
    ] {
        for line in READERS {
            let output = command_of(&line.replace('@', &file));
            let errors = said(&output);
            assert_eq!(output.status.code(), Some(2), "{line}, {file}: {errors}");
            let lines = errors.lines().filter(|line| !line.starts_with("note: "));
            let expected = format!("{}: {file}: {why}", name(line));
            assert_eq!(lines.collect::<Vec<_>>(), [expected], "{line}");
        }
    }
    // The same in a folder of a run's order logs.
    let logs = folder.path().join("logs");
    fs::create_dir(&logs).expect("a folder");
    fs::rename(path("fifo"), logs.join("rank-0-a.0.events")).expect("moved");
    let output = command_of(&format!("analyze {}", logs.display()));
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(
        said(&output).contains("events: it is a FIFO, not a file"),
        "{}",
        said(&output)
    );
    // A shell's process substitution is a FIFO that a command may read once.
    let script = format!("{DPAMATCH} match <(printf 'post,0,0,1,2\\narrive,7,0,1,2\\n')");
    let output = Command::new("bash").args(["-c", &script]).output();
    if Need::Bash.require(output.is_ok()) {
        assert_eq!(text(&output.expect("it ran")), "matched,0,7\n");
    }
}

fn command_of(line: &str) -> Output {
    dpamatch(&line.split(' ').collect::<Vec<_>>())
}

/// A write beyond the limit is an error with a line, not the end by a signal, and leaves no part of
/// a file.
#[test]
fn the_limit_on_the_size_of_files_is_an_error() {
    let folder = folder("limit");
    for line in [
        "gen --kind wild --seed 3 --events 200000 > all",
        "gen --kind wild --seed 3 --events 200000 | $DPAMATCH match - > pairs",
        "analyze $TRACES/minife-16 --format json --save saved.json --out figures",
        "analyze $TRACES/minife-16 --pairs pairs.csv",
        "man --out pages",
        "predict --format json > predicted",
    ] {
        let script = format!("ulimit -f 1; set -o pipefail; $DPAMATCH {line}");
        let output = Command::new("bash")
            .args(["-c", &script])
            .env("DPAMATCH", DPAMATCH)
            .env(
                "TRACES",
                fs::canonicalize("../tests/data/traces").expect("traces"),
            )
            .current_dir(folder.path())
            .output();
        let output = output.expect("bash runs");
        let errors: Vec<&str> = said(&output).lines().collect();
        let code = output.status.code();
        assert!(matches!(code, Some(1 | 2)), "{line}: {code:?} {errors:?}");
        let named = errors.iter().filter(|line| line.contains("File too large"));
        assert_eq!(named.count(), 1, "{line}: {errors:?}");
    }
    let left = fs::read_dir(folder.path()).expect("the folder");
    let hidden = left.filter_map(Result::ok).filter(|entry| {
        let name = entry.file_name();
        name.to_string_lossy().starts_with(".dpamatch-")
    });
    assert_eq!(hidden.count(), 0, "no part of a file is left");
}
