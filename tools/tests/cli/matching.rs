//! The commands `match`, `gen` and `engines` as a user meets them: output, messages, exit codes.

use std::io::Read;

use super::*;

fn dpamatch(arguments: &[&str]) -> Command {
    let mut command = Command::new(DPAMATCH);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("text")
}

/// Exit code, output, messages.
fn outcome(output: &Output) -> (Option<i32>, &str, &str) {
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// A file that is gone at the end of the test.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str, content: &[u8]) -> Self {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::write(&path, content).expect("a scratch file");
        Self(path)
    }

    fn path(&self) -> &str {
        self.0.to_str().expect("a path that is text")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Each wrong line as the second of a file: message with file and line, exit code 2, results of the
/// first line printed.
#[test]
fn wrong_lines_are_named() {
    let too_long = "x".repeat(70_000);
    let cases: [(&[u8], &str); 14] = [
        (b"send,1,0,0,0", "unknown event \"send\" (known: post, arrive, cancel, probe, mprobe)"),
        (b"post", "post needs the field RECV"),
        (b"arrive,1,0,0", "arrive needs the field TAG"),
        (b"probe,,0,0,0", "probe needs the field ID"),
        (b"post,1,0,0,0,64", "extra field \"64\" is not key=value"),
        (b"post,1,0,0,0,size=big", "size is \"big\", not a number"),
        (b"post,1.5,0,0,0", "RECV is \"1.5\", not a number"),
        (b"arrive,1,0,*,0", "SOURCE is \"*\", not a number"),
        (b"post,1,0,?,0", "SOURCE is \"?\", not a number or *"),
        (b"post,1,0,0,9999999999", "TAG 9999999999 is above 2147483647"),
        (b"arrive,0,0,0,0\narrive,0,0,0,0", "message 0 arrived before"),
        (b"post,0,0,0,0\npost,0,0,0,0", "receive 0 was posted before"),
        (b"cancel,\xff", "line is not valid UTF-8"),
        (too_long.as_bytes(), "line is longer than 65536 bytes"),
    ];
    for (number, (wrong, message)) in cases.into_iter().enumerate() {
        let content = [b"cancel,8\n", wrong, b"\ncancel,9\n"].concat();
        let line = 2 + wrong.iter().filter(|&&byte| byte == b'\n').count();
        let file = Scratch::new(&format!("wrong-{number}.txt"), &content);
        let expected = format!("dpamatch: {}:{line}: {message}\n", file.path());
        for engine in ["list", "bins", "oracle"] {
            let output = dpamatch_reads(&["match", "--engine", engine, file.path()], b"");
            assert_eq!(outcome(&output), (Some(2), "too-late,8\n", expected.as_str()));
        }
    }
}

/// A reader that stops after the first bytes ends the command quietly, although its input or work
/// is not done.
#[test]
fn a_broken_pipe_ends_quietly() {
    let file = Scratch::new("many.txt", &b"cancel,1\n".repeat(200_000));
    for arguments in [&["gen", "--events", "18446744073709551615"][..], &["match", file.path()]] {
        let mut child = dpamatch(arguments).spawn().expect("the command starts");
        let mut stdout = child.stdout.take().expect("its output");
        stdout.read_exact(&mut [0; 10]).expect("some output");
        drop(stdout);
        let output = child.wait_with_output().expect("the command ends");
        assert_eq!(outcome(&output), (Some(0), "", ""), "{arguments:?}");
    }
}

#[test]
fn generated_streams_are_reproducible_and_can_be_matched() {
    for profile in ["mixed", "hot", "wild", "deep", "coll", "comms", "keys"] {
        let arguments = ["gen", "--seed", "12", "--events", "4000", "--profile", profile];
        let stream = dpamatch_reads(&arguments, b"");
        assert_eq!(stream.status.code(), Some(0));
        assert_eq!(stream.stdout, dpamatch_reads(&arguments, b"").stdout);
        assert_eq!(
            text(&stream.stdout).lines().filter(|line| !line.starts_with('#')).count(),
            4000
        );
        let results = ["list", "bins", "oracle"].map(|engine| {
            let output = dpamatch_reads(&["match", "--engine", engine], &stream.stdout);
            assert_eq!(
                (output.status.code(), text(&output.stderr)),
                (Some(0), ""),
                "{engine}, {profile}"
            );
            output.stdout
        });
        assert!(results.iter().all(|other| *other == results[0]), "{profile}");
        assert!(text(&results[0]).contains("matched,"), "{profile}");
    }
}

/// The first line is the command that makes the same stream, with every number.
#[test]
fn patterns_say_how_they_were_made() {
    let stream = dpamatch_reads(
        &["gen", "--pattern", "halo3d", "--ranks", "512", "--rounds", "3", "--any", "10"],
        b"",
    );
    assert_eq!(stream.status.code(), Some(0));
    let (head, _) = text(&stream.stdout).split_once('\n').expect("a line");
    let arguments: Vec<&str> =
        head.strip_prefix("# dpamatch ").expect("a command").split(' ').collect();
    assert!(arguments.ends_with(&["--seed", "1"]), "{head}");
    assert!(dpamatch_reads(&arguments, b"").stdout == stream.stdout);
    let output = dpamatch_reads(&["match", "--engine", "bins"], &stream.stdout);
    let matched = text(&output.stdout).lines().filter(|line| line.starts_with("matched,")).count();
    assert_eq!((matched, text(&output.stdout).lines().count()), (3 * 26 * 4, 3 * 26 * 4));
}
