//! The commands `match` and `gen` as a user meets them; `tables/shown/match.txt` has more.

use std::io::Read;

use super::tables::{file, words};
use super::*;

/// A reader that stops after the first bytes ends the command quietly, although its input or work
/// is not done.
#[test]
fn a_broken_pipe_ends_quietly() {
    file("many", b"cancel,1\n".repeat(200_000));
    for line in ["gen --events 18446744073709551615", "match @many"] {
        let mut command = Command::new(DPAMATCH);
        command.args(words(line)).stdin(Stdio::null());
        let mut child =
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        let mut stdout = child.stdout.take().expect("its output");
        stdout.read_exact(&mut [0; 10]).expect("some output");
        drop(stdout);
        let output = child.wait_with_output().expect("the command ends");
        assert_eq!((output.status.code(), said(&output)), (Some(0), ""), "{line}");
    }
}

/// The first line is the command that makes the same stream, with every number.
#[test]
fn patterns_say_how_they_were_made() {
    let stream = command("gen", "--pattern halo3d --ranks 512 --rounds 3 --any 10");
    let (head, _) = text(&stream).split_once('\n').expect("a line");
    let arguments: Vec<&str> =
        head.strip_prefix("# dpamatch ").expect("a command").split(' ').collect();
    assert!(arguments.ends_with(&["--seed", "1"]), "{head}");
    assert!(dpamatch(&arguments).stdout == stream.stdout);
    let output = dpamatch_reads(&["match", "--engine", "bins"], &stream.stdout);
    let matched = text(&output).lines().filter(|line| line.starts_with("matched,")).count();
    assert_eq!((matched, text(&output).lines().count()), (3 * 26 * 4, 3 * 26 * 4));
}
