//! Calls that are wrong, over all commands: the exit code, and one line that says what is wrong
//! once.

use super::*;

fn dpamatch(words: &str) -> Output {
    super::dpamatch(&words.split_whitespace().collect::<Vec<_>>())
}

/// What the command says on standard error.
fn said(words: &str, output: &Output) -> String {
    let said = String::from_utf8(output.stderr.clone()).expect("text");
    assert!(!said.contains("panicked"), "{words}: {said}");
    said
}

/// Files that are not there, are of another kind, or cannot be made; and names that nobody knows.
/// Each ends with exit code 2 and one line with these words in it.
const WRONG: &[(&str, &str)] = &[
    ("analyze no-trace", "no-trace: no such file or folder"),
    ("analyze tests/data/no-trace", "tests/data/no-trace: no such file or folder"),
    ("analyze Cargo.toml", "Cargo.toml: "),
    ("analyze $LAMMPS --out /dev/null/x", "cannot write into /dev/null/x: "),
    ("analyze $LAMMPS --pairs /nowhere/x", "cannot write /nowhere/x: "),
    ("analyze $LAMMPS --receives 0", "receives"),
    ("bench --trace no-trace", "no-trace: no such file or folder"),
    ("bench --scenario SOUP", "unknown scenario SOUP; known: NC,"),
    ("bench --scenario UNEXP-WX", "unknown scenario UNEXP-WX; did you mean UNEXP-WC?"),
    ("bench --cpus 0", "--cpus: "),
    ("calibrate no-file", "no-file: no such file or folder"),
    ("calibrate src", "src: is a directory"),
    ("channels --set speed=1", "--set speed=1: unknown cost speed"),
    ("channels --only thresholds --out /dev/null/x", "cannot write into /dev/null/x: "),
    ("compare memory --rounds 0 --out /dev/null/x", "cannot write into /dev/null/x: "),
    ("cost messages no-file", "no-file: no such file or folder"),
    ("cost messages no-trace --trace", "no-trace: no such file or folder"),
    ("cost spmv no-file", "no-file: no such file or folder"),
    ("cost fit no-file", "no-file: no such file or folder"),
    (
        "cost contention --profile blue-water",
        "neither built in (blue-waters) nor a file; did you mean blue-waters?",
    ),
    ("cost ping-pong --engine lsit", "unknown engine lsit; did you mean list?; known: "),
    ("explore no-file", "no-file: no such file or folder"),
    ("explore --example x5 --story 1 --html /dev/null/x", "/dev/null/x: "),
    ("explore --example x5 --fault forcing-ignord", "did you mean forcing-ignored?"),
    ("explore --trace no-trace", "no-trace: no such file or folder"),
    ("footprint --receives 0", "receives"),
    ("gen --pattern gather --ranks 1", "ranks is 1"),
    ("man --out /dev/null/x", "cannot write into /dev/null/x: "),
    ("match no-file", "no-file: no such file or folder"),
    ("match Cargo.tml", "no such file or folder; did you mean Cargo.toml?"),
    ("match Cargo.toml", "Cargo.toml:1: "),
    ("match src", "src: is a directory"),
    ("offload no-trace", "no-trace: no such file or folder"),
    ("offload $LAMMPS --host commodty", "did you mean commodity?"),
    ("offload $LAMMPS --profile bluefield2", "did you mean bluefield3?"),
    ("offload $LAMMPS --handlers 256", "--handlers 256: the card has 190 execution units"),
    (
        "predict --profile genric",
        "neither built in (bluefield3, bluefield3-instructions, generic) nor a file; did you mean generic?",
    ),
    ("predict --trace no-trace", "no-trace: no such file or folder"),
    ("predict stream no-file", "no-file: no such file or folder"),
    ("predict --threads 1 --workload nc --out /dev/null/x", "cannot make /dev/null/x: "),
    ("run --provider tests/run -- tests/run/no-program", "tests/run/no-program: "),
    ("trace info no-trace", "no-trace: no such file or folder"),
    ("trace check no-trace", "no-trace: no such file or folder"),
    ("trace dump no-trace", "no-trace: no such file or folder"),
];

#[test]
fn what_is_wrong_is_said_once() {
    let lammps = "../tests/data/traces/recorder/lammps-4.dumpi.tar.xz";
    for (words, expected) in WRONG {
        let words = words.replace("$LAMMPS", lammps);
        let output = dpamatch(&words);
        let said = said(&words, &output);
        assert_eq!(output.status.code(), Some(2), "{words}: {said}");
        // Before the error there may be a note about the trace.
        let errors: Vec<&str> = said.lines().filter(|line| !line.starts_with("note: ")).collect();
        assert_eq!(errors.len(), 1, "{words}: {said}");
        assert!(errors[0].starts_with("dpamatch: "), "{words}: {said}");
        assert!(errors[0].contains(expected), "{words}: {said}");
        for cause in ["o such file", "ot a directory", "s a directory", "os error"] {
            assert!(said.matches(cause).count() <= 1, "{words}: {said}");
        }
    }
}

/// Arguments that the parser refuses: words of its message.
const USAGE: &[(&str, &str)] = &[
    ("benhc", "'bench'"),
    ("analyze", "<TRACE>"),
    ("analyze x --engine lsit", "'list'"),
    ("analyze x --ordre time", "'--order'"),
    ("bench --reps 0", "--reps"),
    ("channels --engine bnis", "'bins'"),
    ("compare", "EXPERIMENT"),
    ("compare dept", "'depth'"),
    ("completions", "<SHELL>"),
    ("completions basj", "'bash'"),
    ("gen --profile mixd", "'mixed'"),
    ("gen --pattern halo2", "'halo2d'"),
    ("gen --pattern gather --order revers", "'reverse'"),
    ("match --engine simdd", "'simd'"),
    ("offload", "<TRACE>"),
    ("offload x --engine optimistic", "optimistic"),
    ("predict what-iff", "'what-if'"),
    ("trace inof x", "'info'"),
];

#[test]
fn wrong_arguments_are_usage_errors() {
    for (words, expected) in USAGE {
        let output = dpamatch(words);
        let said = said(words, &output);
        assert_eq!(output.status.code(), Some(2), "{words}: {said}");
        assert!(said.starts_with("error: ") && said.contains(expected), "{words}: {said}");
    }
}

/// Colours are for terminals that want them: never in a file, whatever the variables say.
#[test]
fn there_are_no_colours_in_a_file() {
    for variables in
        [[("NO_COLOR", "1"), ("TERM", "xterm")], [("CLICOLOR", "1"), ("TERM", "xterm")]]
    {
        for words in [&["--help"][..], &["benhc"], &["bench", "--help"]] {
            let mut command = Command::new(DPAMATCH);
            let output = command.args(words).envs(variables).output().expect("the program runs");
            assert!(!output.stdout.contains(&0x1b) && !output.stderr.contains(&0x1b), "{words:?}");
        }
    }
}
