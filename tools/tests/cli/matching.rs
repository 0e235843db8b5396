//! The commands `match` and `gen` as a user meets them; `shown/matching.rs` has more.

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
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut stdout = child.stdout.take().expect("its output");
        stdout.read_exact(&mut [0; 10]).expect("some output");
        drop(stdout);
        let output = child.wait_with_output().expect("the command ends");
        assert_eq!(
            (output.status.code(), said(&output)),
            (Some(0), ""),
            "{line}"
        );
    }
}
