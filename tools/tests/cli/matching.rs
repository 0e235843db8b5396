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

/// Senders that lie about hashes: a NIC that verifies, ignores or never sees hashes gives the
/// oracle's results on every number of bins and workers. One that trusts them does not, and the
/// command says why it may not.
#[test]
fn lying_senders_change_nothing_for_a_nic_that_does_not_trust_them() {
    for kind in ["mixed", "wild", "keys"] {
        let line = format!("--lying 60 --events 3000 --seed 5 --kind {kind}");
        let stream = command("gen", &line).stdout;
        let run = |line: &str| {
            let words: Vec<_> = line.split(' ').collect();
            dpamatch_reads(&words, &stream)
        };
        let oracle = run("match --engine oracle");
        assert!(text(&oracle).lines().count() > 500);
        for options in ["hashes=verify", "hashes=ignore,bins=7", "hashes=absent"] {
            for workers in [0, 1, 2] {
                let line = format!("match --nic {options},workers={workers}");
                let nic = run(&line);
                assert_eq!(text(&nic), text(&oracle), "{kind}: {line}");
                assert_eq!(said(&nic), "", "{kind}: {line}");
            }
        }
        let lies = text(&oracle).len();
        assert!(lies > 0);
        let trusting = run("match --nic hashes=trust");
        assert_ne!(trusting.stdout, oracle.stdout, "{kind}");
        assert!(said(&trusting).contains("messages lie about hashes, and the NIC trusts them"));
    }
}

#[test]
fn a_verifying_nic_counts_the_lies() {
    let stream = command("gen", "--lying 60 --events 3000").stdout;
    let liars = std::str::from_utf8(&stream).expect("text");
    let liars = liars.lines().filter(|line| line.contains(",lie=")).count();
    let counted = |hashes: &str| {
        let words = ["match", "--stats", "--nic", hashes];
        let output = dpamatch_reads(&words, &stream);
        let line = said(&output)
            .lines()
            .find(|line| line.starts_with("hash_mismatch"));
        let number = line.and_then(|line| line.split_whitespace().last());
        number.and_then(|number| number.parse::<usize>().ok())
    };
    assert!(liars > 500, "{liars}");
    assert_eq!(counted("hashes=ignore"), Some(0));
    let found = counted("hashes=verify").expect("a counter");
    assert!(
        found >= liars,
        "{found} of {liars}: a handler that searches again counts again"
    );
    for command in ["explore", "predict stream"] {
        let words: Vec<_> = command.split(' ').collect();
        let output = dpamatch_reads(&words, &stream);
        assert_eq!(output.status.code(), Some(2), "{command}");
        assert!(!said(&output).is_empty());
    }
}
