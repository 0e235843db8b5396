//! Engines in shared libraries, with the C example as the library.

use std::fs;
use std::path::Path;
use std::process::Command;

use dpamatch_needs::Need;
use tempfile::TempDir;

use super::{command, dpamatch_reads, folder, said, text};

/// The library of the C example after a change of its text, or `None` without a C compiler.
fn library(name: &str, change: (&str, &str)) -> Option<(TempDir, String)> {
    let capi = Path::new(env!("CARGO_MANIFEST_DIR")).join("../mpi/capi");
    let source_text = fs::read_to_string(capi.join("examples/engine.c")).expect("the example");
    assert!(source_text.contains(change.0), "{}", change.0);
    let folder = folder(name);
    let (source, library) = (
        folder.path().join("engine.c"),
        folder.path().join("libarrays.so"),
    );
    fs::write(&source, source_text.replace(change.0, change.1)).expect("a file");
    let mut compile = Command::new("cc");
    compile.args([
        "-std=c11", "-Wall", "-Wextra", "-Werror", "-O1", "-shared", "-fPIC", "-I",
    ]);
    compile
        .arg(capi.join("include"))
        .arg(&source)
        .arg("-o")
        .arg(&library);
    let Ok(output) = compile.output() else {
        Need::CCompiler.require(false);
        return None;
    };
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let path = library.to_str().expect("UTF-8").to_owned();
    Some((folder, path))
}

#[test]
fn the_c_engine_gives_the_oracles_results() {
    let Some((_folder, library)) = library("plugin-right", ("", "")) else {
        return;
    };
    for (seed, profile) in ["wild", "coll", "comms"].iter().enumerate() {
        let options = format!("--kind {profile} --seed {seed} --events 3000");
        let events = command("gen", &options);
        let matched = |engine: &str| dpamatch_reads(&["match", "--engine", engine], &events.stdout);
        let results = |engine: &str| text(&matched(engine)).to_owned();
        assert!(results("oracle").lines().count() > 500, "{profile}");
        assert_eq!(results(&library), results("oracle"), "{profile}");
    }
}

#[test]
fn commands_take_the_library_as_an_engine() {
    let Some((_folder, library)) = library("plugin-commands", ("", "")) else {
        return;
    };
    let options =
        format!("search --ranks 64 --pending 10 --rounds 0 --format csv --engine {library}");
    let table = text(&command("compare", &options)).to_owned();
    let rows = |engine: &str| -> Vec<String> {
        let of = |line: &&str| line.split(',').any(|cell| cell == engine);
        table
            .lines()
            .filter(of)
            .map(|line| line.replace(engine, ""))
            .collect()
    };
    assert!(!rows("arrays").is_empty(), "{table}");
    // Two arrays take the steps of two lists.
    let steps = |rows: Vec<String>| -> Vec<String> {
        rows.iter()
            .map(|row| row.split(',').take(8).collect::<Vec<_>>().join(","))
            .collect()
    };
    assert_eq!(steps(rows("arrays")), steps(rows("list")), "{table}");
    let options = format!(
        "--scenario NC --windows 10 --rounds 1 --reps 3 --budget 0 --keep disturbed,placements --baseline {library}"
    );
    let rates = command("bench", &format!("{options} --format csv"));
    let rates = text(&rates);
    assert!(
        rates.lines().any(|line| line.contains(",arrays,")),
        "{rates}"
    );
    let rates = command("bench", &format!("{options} --wide"));
    let columns = text(&rates)
        .lines()
        .find(|line| line.starts_with("scenario"));
    let columns: Vec<_> = columns.unwrap_or_default().split_whitespace().collect();
    assert!(columns.ends_with(&["arrays", "/arrays"]), "{columns:?}");
}

#[test]
fn what_is_no_engine_ends_with_one_line() {
    let answer = |path: &str| {
        let output = dpamatch_reads(&["match", "--engine", path], b"");
        (
            output.status.code(),
            said(&output).lines().next().unwrap_or_default().to_owned(),
        )
    };
    let invalid = |path: &str, why: &str| {
        (
            Some(2),
            format!("error: invalid value '{path}' for '--engine <NAME>': {path}: {why}"),
        )
    };
    assert_eq!(answer("./none.so"), invalid("./none.so", "no such file"));
    let other = env!("CARGO_MANIFEST_DIR").to_owned() + "/Cargo.toml";
    let (code, line) = answer(&other);
    assert!(
        code == Some(2) && line.starts_with(&invalid(&other, "").1),
        "{line}"
    );
    for (name, change, why) in [
        (
            "abi",
            ("= DPAMATCH_ENGINE_ABI", "= 2"),
            "version 2 of the interface, needs 1",
        ),
        (
            "null",
            ("return &table;", "(void)table; return NULL;"),
            "dpamatch_engine returned null",
        ),
        (
            "nameless",
            (".name = \"arrays\"", ".name = NULL"),
            "the engine has no name",
        ),
        (
            "other",
            (
                "*dpamatch_engine(void) {",
                "*another(void); const dpamatch_engine_table *another(void) {",
            ),
            "it has no function dpamatch_engine",
        ),
    ] {
        let Some((_folder, library)) = library(&format!("plugin-{name}"), change) else {
            return;
        };
        assert_eq!(answer(&library), invalid(&library, why));
    }
    let change = ("return calloc(1, sizeof(engine));", "return NULL;");
    let Some((_folder, library)) = library("plugin-none", change) else {
        return;
    };
    let why = "dpamatch: engine arrays: the library cannot make one".to_owned();
    assert_eq!(answer(&library), (Some(1), why));
}

/// What an engine says that no engine can say ends each command with one line that names the
/// library, the engine and the call. It never ends with a panic, and never well.
#[test]
fn a_lie_ends_each_command_with_one_line() {
    let lies = [
        (
            "id",
            (
                "if (search(&((engine *)e)->posted, key, found, true))\n        return true;",
                "if (search(&((engine *)e)->posted, key, found, true)) {\n        \
                 found->id = 123456789012345;\n        return true;\n    }",
            ),
            "arrive returned receive 123456789012345, which is not posted",
        ),
        (
            "steps",
            (
                "if (search(&((engine *)e)->posted, key, found, true))\n        return true;",
                "found->hops = UINT64_MAX;\n    return false;",
            ),
            "arrive took 0 compares and 18446744073709551615 hops",
        ),
        (
            "bytes",
            ("* sizeof(entry)", "* 0 - 1"),
            "bytes returned 18446744073709551615",
        ),
        (
            "twice",
            ("if (take)", "if (take && q->length > 1000000)"),
            "",
        ),
        ("count", ("return q->length;", "return q->length + 3;"), ""),
    ];
    let trace = "../tests/data/traces/minife-16";
    let events = command("gen", "--kind wild --seed 7 --events 3000");
    for (name, change, expected) in lies {
        let Some((_folder, library)) = library(&format!("plugin-lies-{name}"), change) else {
            return;
        };
        let fault = format!("{library}: the engine arrays is wrong: {expected}");
        let begin = |line: &str| format!("{}: {fault}", super::name(line));
        let lines = [
            format!("match --engine {library}"),
            format!("analyze {trace} --engine {library} --check"),
            format!("analyze {trace} --engine {library}"),
            format!("compare search --ranks 16 --pending 4 --rounds 0 --engine {library}"),
        ];
        let mut wrong = 0;
        for line in lines {
            let words: Vec<&str> = line.split(' ').collect();
            let output = dpamatch_reads(&words, &events.stdout);
            if output.status.success() {
                // The command made no call that lies.
                continue;
            }
            wrong += 1;
            let errors: Vec<&str> = said(&output)
                .lines()
                .filter(|line| !line.starts_with("note: "))
                .collect();
            assert_eq!(output.status.code(), Some(1), "{line}: {errors:?}");
            assert!(
                errors.len() == 1 && errors[0].starts_with(&begin(&line)),
                "{line}: {errors:?}"
            );
        }
        assert!(wrong > 0, "{name}: no command met the lie");
        // `match` makes every call.
        let output = dpamatch_reads(&["match", "--engine", &library], &events.stdout);
        assert!(
            said(&output).starts_with(&begin("match")),
            "{name}: {}",
            said(&output)
        );
    }
    let change = (".is_empty = is_empty", ".is_empty = NULL");
    let Some((_folder, library)) = library("plugin-hole", change) else {
        return;
    };
    let output = dpamatch_reads(&["match", "--engine", &library], b"");
    let why = "the engine has no function is_empty";
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains(why), "{}", said(&output));
}
