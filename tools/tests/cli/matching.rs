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

const STREAM: &str = "\
# a little of everything
post,10,0,*,5,size=64
probe,1,0,*,*
arrive,20,0,3,5,bytes=8

arrive,21,0,3,6
arrive,22,0,4,6   # the second sender
probe,2,0,*,6
mprobe,3,0,4,*
post,11,0,3,6
post,12,0,3,6
post,13,1,0,0
cancel,12
cancel,12
arrive,23,2,0,0
";

const RESULTS: &str = "\
probed,1,none
matched,10,20
probed,2,21
mprobed,3,22
matched,11,21
cancelled,12
too-late,12
posted,13
unexpected,23
";

#[test]
fn all_engines_print_the_same_results() {
    for engine in
        [&["list"][..], &["bins"], &["bins", "--bins", "1"], &["bins", "--bins=65536"], &["oracle"]]
    {
        let arguments = [&["match", "--engine"], engine].concat();
        let output = dpamatch_reads(&arguments, STREAM.as_bytes());
        assert_eq!(outcome(&output), (Some(0), RESULTS, ""), "{engine:?}");
    }
}

#[test]
fn streams_come_from_files_and_from_standard_input() {
    let file = Scratch::new("stream.txt", STREAM.replace('\n', "\r\n").as_bytes());
    assert_eq!(outcome(&dpamatch_reads(&["match", file.path()], b"")), (Some(0), RESULTS, ""));
    assert_eq!(
        outcome(&dpamatch_reads(&["match", "-"], STREAM.as_bytes())),
        (Some(0), RESULTS, "")
    );
}

#[test]
fn a_stream_without_events_prints_an_empty_line_like_the_reference() {
    assert_eq!(outcome(&dpamatch_reads(&["match"], b"# nothing\n\n")), (Some(0), "\n", ""));
    assert_eq!(outcome(&dpamatch_reads(&["match", "--format", "jsonl"], b"")), (Some(0), "", ""));
}

#[test]
fn results_as_json() {
    let output = dpamatch_reads(&["match", "--format", "jsonl"], STREAM.as_bytes());
    let expected = r#"{"result":"probed","id":1,"msg":null}
{"result":"matched","recv":10,"msg":20}
{"result":"probed","id":2,"msg":21}
{"result":"mprobed","id":3,"msg":22}
{"result":"matched","recv":11,"msg":21}
{"result":"cancelled","recv":12}
{"result":"too-late","recv":12}
{"result":"posted","recv":13}
{"result":"unexpected","msg":23}
"#;
    assert_eq!(outcome(&output), (Some(0), expected, ""));

    // The document has the same objects, and what else is known.
    let output =
        dpamatch_reads(&["match", "--format", "json", "--engine", "list"], STREAM.as_bytes());
    let document: serde_json::Value = serde_json::from_str(outcome(&output).1).expect("JSON");
    let results = &document["results"];
    let lines = results["outcomes"].as_array().expect("outcomes").iter();
    let lines: Vec<serde_json::Value> = lines.cloned().collect();
    let expected: Vec<serde_json::Value> =
        expected.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(lines, expected);
    assert_eq!((&results["engine"], &results["complete"]), (&"list".into(), &true.into()));
    assert!(results["counters"]["prq_attempts"].as_u64() > Some(0));
    // A stream cut off leaves a whole document that says so.
    let output = dpamatch_reads(&["match", "--format", "json"], b"post,1,0,*,7\nsoup\n");
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!((output.status.code(), &document["results"]["complete"]), (Some(2), &false.into()));
}

#[test]
fn counters_go_to_standard_error() {
    let output = dpamatch_reads(&["match", "--engine", "list", "--stats"], STREAM.as_bytes());
    let (code, results, counters) = outcome(&output);
    assert_eq!((code, results), (Some(0), RESULTS));
    let value = |name: &str| {
        let line = counters.lines().find(|line| line.split_whitespace().next() == Some(name));
        line.and_then(|line| line.split_whitespace().nth(1)).and_then(|value| value.parse().ok())
    };
    assert_eq!(value("prq_hits"), Some(1));
    assert_eq!(value("umq_hits"), Some(3));
    assert_eq!(value("cancelled"), Some(1));
    assert_eq!(value("umq_length_max"), Some(2));
    assert!(value("memory_bytes_max") > Some(100));
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

#[test]
fn standard_input_has_a_name_in_messages() {
    let output = dpamatch_reads(&["match"], b"\n\ncancel\n");
    assert_eq!(
        outcome(&output),
        (Some(2), "", "dpamatch: <stdin>:3: cancel needs the field RECV\n")
    );
}

#[test]
fn a_stream_cut_off_by_an_error_has_nothing_left_over() {
    let output = dpamatch_reads(&["match"], b"post,1,0,0,0\narrive,1,1,0,0\noops\n");
    let (code, results, _) = outcome(&output);
    assert_eq!((code, results), (Some(2), ""));
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

#[test]
fn engines_are_listed_one_a_line() {
    let output = dpamatch_reads(&["engines"], b"");
    let (code, list, _) = outcome(&output);
    assert_eq!(code, Some(0));
    for name in ["list", "bins", "oracle"] {
        assert_eq!(
            list.lines().filter(|line| line.split(' ').next() == Some(name)).count(),
            1,
            "{list}"
        );
    }
}

#[test]
fn help_has_examples() {
    for arguments in
        [&["--help"][..], &["match", "--help"], &["gen", "--help"], &["engines", "--help"]]
    {
        let output = dpamatch_reads(arguments, b"");
        let (code, help, message) = outcome(&output);
        assert_eq!((code, message), (Some(0), ""), "{arguments:?}");
        assert!(help.contains("Examples:\n  dpamatch "), "{arguments:?}: {help}");
    }
}

/// The communicator size reaches the engines: 4D's threshold depends on it.
#[test]
fn engines_are_told_the_size_of_communicators() {
    let stream: String = (0..60).map(|source| format!("post,{source},0,{source},0\n")).collect();
    for (size, conversions) in [("64", 1), ("4096", 1), ("4097", 0)] {
        let output = dpamatch_reads(
            &["match", "--engine", "4d", "--comm-size", size, "--stats"],
            stream.as_bytes(),
        );
        let (code, _, messages) = outcome(&output);
        let line =
            messages.lines().find(|line| line.starts_with("conversions")).expect("the counter");
        assert_eq!(
            (code, line.split_whitespace().last()),
            (Some(0), Some(conversions.to_string().as_str()))
        );
    }
}
