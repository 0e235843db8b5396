//! Every command's `--format json` is a document that the schema file allows.

#[path = "../../tests/watchdog/mod.rs"]
mod watchdog;

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use jsonschema::Validator;
use serde_json::{Value, json};

/// Commands that have no results: they talk about dpamatch itself.
const WITHOUT_RESULTS: [&str; 3] = ["completions", "help", "man"];

/// Command lines, and their exit code where it is not 0. `$NAME` is a trace, `@A` and `@B` are
/// documents.
const LINES: [&str; 38] = [
    "analyze $edge-4-mpich --engine all --check",
    "analyze $edge-4-mpich $edge-4-openmpi --sweep 4",
    "analyze $edge-4-mpich --against $edge-4-openmpi",
    "bench --scenario NC,UNEXP --windows 1,128 --reps 20 --rounds 1 --baseline memcpy,list,bins",
    "bench --scenario WC --windows 16 --reps 3 --rounds 1 --any-placement",
    "bench --trace $edge-4-mpich --rounds 2 --budget 0",
    "calibrate @M",
    "channels --pairs 10 --bursts 1,8",
    "channels --only real --messages 50",
    "compare spans depth --depths 1,16 --rounds 1",
    "compare queues overhead search --ranks 16 --rounds 0",
    "compare complexity rate --rounds 0 --engine bins",
    "cost contention --senders 1,2",
    "cost ping-pong --sizes 8,64,200 --rounds 1 --runs",
    "cost messages @L --per-rank",
    "cost hierarchy --edge 8 --processes 8",
    "cost profile",
    "diff @A @B",
    "engines",
    "explore --example x5 --schedules 20",
    "explore --example x5 --story 3 --test",
    "explore --fault list",
    "footprint",
    "gen --events 50",
    "gen --pattern amr --ranks 8 --rounds 1",
    "match @S",
    "match --engine list @S",
    "offload $edge-4-mpich --ranks --communicators",
    "offload --print-host",
    "predict --threads 1,4",
    "predict accuracy",
    "predict handlers --handlers 2",
    "predict profile",
    "predict stream --handlers 2 @S",
    "run --provider tests/run -- tests/run/program.sh",
    "run --log --provider tests/run -- tests/run/program.sh",
    "trace info $edge-4-mpich",
    "trace check $edge-4-mpich",
];

fn folder() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("results");
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

fn dpamatch(line: &str) -> Output {
    let folder = folder();
    let word = |word: &str| match (word.strip_prefix('$'), word.strip_prefix('@')) {
        (Some(trace), _) => {
            let archive = format!("../tests/data/traces/{trace}/{trace}.dumpi.tar.xz");
            Path::new(env!("CARGO_MANIFEST_DIR")).join(archive)
        }
        (None, Some(file)) => folder.join(file),
        (None, None) => PathBuf::from(word),
    };
    let mut command = Command::new(env!("CARGO_BIN_EXE_dpamatch"));
    command.args(line.split_whitespace().map(word)).stdin(Stdio::null());
    command.output().expect("the program runs")
}

fn file(name: &str, text: &str) {
    let mut file = std::fs::File::create(folder().join(name)).expect("a file");
    file.write_all(text.as_bytes()).expect("written");
}

/// The files that the lines name.
fn files() {
    file("L", "phase,src,dst,bytes\n0,0,1,100\n0,0,17,5000\n1,1,0,9\n");
    file("M", "series,threads,rate\nNC,1,0.4\nNC,2,0.75\n");
    file("S", "post,0,0,*,7\narrive,0,0,3,7\narrive,1,0,3,8\nprobe,4,0,3,8\npost,1,0,3,9\n");
    for (name, threads) in [("A", "2"), ("B", "2 --removal eager")] {
        let line = format!("predict --workload nc --threads {threads} --save @{name}");
        assert_eq!(dpamatch(&line).status.code(), Some(0), "{line}");
    }
}

fn validator(pointer: &str) -> Validator {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/schema/results-1.json");
    let text = std::fs::read_to_string(path).expect("the schema");
    let mut schema: Value = serde_json::from_str(&text).expect("JSON");
    if !pointer.is_empty() {
        schema = json!({ "$ref": pointer, "$defs": schema["$defs"] });
    }
    jsonschema::validator_for(&schema).expect("a schema")
}

fn wrong(validator: &Validator, document: &Value) -> Vec<String> {
    let at = |error: jsonschema::ValidationError<'_>| {
        let shown: String = error.to_string().chars().take(300).collect();
        format!("{}: {shown}", error.instance_path())
    };
    validator.iter_errors(document).map(at).collect()
}

#[test]
fn what_commands_print_is_what_the_schema_allows() {
    let _dog = watchdog::on("the commands to end");
    files();
    let validator = validator("");
    let mut commands = BTreeSet::new();
    for line in LINES {
        // What stands behind two dashes is another program's, as are its words before the document.
        let (own, rest) =
            line.split_once(" -- ").map_or((line, ""), |(own, _)| (own, &line[own.len()..]));
        let output = dpamatch(&format!("{own} --format json{rest}"));
        let errors = String::from_utf8_lossy(&output.stderr);
        // What `diff` finds worse here is no mistake.
        let fine = output.status.success() || line.starts_with("diff");
        assert!(fine, "{line}: {errors}");
        let begin = output.stdout.iter().position(|&byte| byte == b'{').unwrap_or(0);
        let document: Value = serde_json::from_slice(&output.stdout[begin..])
            .unwrap_or_else(|error| panic!("{line}: {error}: {errors}"));
        assert_eq!(wrong(&validator, &document), [""; 0], "{line}");
        let command = document["command"].as_str().expect("a command");
        assert!(line.starts_with(command), "{line}: {command}");
        let told = document["command_line"].as_str().expect("a line");
        assert!(told.starts_with(&format!("dpamatch {command}")), "{told}");
        assert_eq!(document["options"]["format"], "json", "{line}");
        // Tables are there, with their keys and figures in every row.
        for table in document["tables"].as_array().expect("tables") {
            let name = table["name"].as_str().expect("a name");
            let rows = document["results"][name].as_array().expect("rows");
            for key in table["keys"].as_array().expect("keys") {
                let key = key.as_str().expect("a name");
                assert!(rows.iter().all(|row| row.get(key).is_some()), "{line}: {name}: {key}");
            }
            for figure in table["figures"].as_array().expect("figures") {
                let figure = figure["name"].as_str().expect("a name");
                let found = rows.iter().any(|row| row.get(figure).is_some());
                assert!(found || rows.is_empty() || name == "rates", "{line}: {name}: {figure}");
            }
        }
        commands.insert(command.split(' ').next().expect("a word").to_owned());
    }
    // Each command of the program has a line here.
    let help = dpamatch("--help");
    let help = String::from_utf8(help.stdout).expect("text");
    let known = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    // What a command is may take several lines, which are indented further.
    let known = known.take_while(|line| !line.is_empty());
    let known = known.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    let known = known.filter(|name| !name.is_empty());
    let known: BTreeSet<String> =
        known.filter(|name| !WITHOUT_RESULTS.contains(name)).map(str::to_owned).collect();
    assert_eq!(commands, known);
}

#[test]
fn lines_of_objects_have_good_names() {
    files();
    let validator = validator("#/$defs/named");
    for line in ["gen --events 20", "match @S", "trace dump $edge-4-mpich --limit 30"] {
        let output = dpamatch(&format!("{line} --format jsonl"));
        let text = String::from_utf8(output.stdout).expect("text");
        assert!(text.lines().count() > 3, "{line}");
        for object in text.lines() {
            let value: Value = serde_json::from_str(object).expect("an object");
            assert!(value.is_object(), "{object}");
            assert_eq!(wrong(&validator, &value), [""; 0], "{object}");
        }
    }
    let dump = dpamatch("trace dump $edge-4-mpich --limit 5 --format json");
    let document: Value = serde_json::from_slice(&dump.stdout).expect("JSON");
    assert_eq!(wrong(&self::validator(""), &document), [""; 0]);
}

/// Options with their values, given or not; the seed; the version.
#[test]
fn a_document_says_what_made_it() {
    let line = "bench --scenario NC,WC --windows 4 --reps 2 --rounds 1 --seed 9 --format json";
    let output = dpamatch(line);
    let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let options = &document["options"];
    assert_eq!(options["scenario"], json!(["NC", "WC"]));
    assert_eq!((&options["windows"], &options["reps"]), (&json!([4]), &json!(2)));
    assert_eq!(
        (&options["early_check"], &options["fast_path"]),
        (&json!(false), &json!("sequence"))
    );
    assert_eq!((&options["trace"], &options["sweep"]), (&Value::Null, &json!([])));
    assert_eq!(
        (&document["seed"], &document["command_line"]),
        (&json!(9), &json!(format!("dpamatch {line}")))
    );
    assert_eq!(document["version"], env!("CARGO_PKG_VERSION"));
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    assert_eq!(document["machine"]["processors"], processors);
    let info = dpamatch("trace info $edge-4-mpich --salvage --format json");
    let info: Value = serde_json::from_slice(&info.stdout).expect("JSON");
    assert_eq!((&info["command"], &info["seed"]), (&json!("trace info"), &Value::Null));
    assert_eq!(info["options"]["salvage"], true);
}

/// `--save` keeps the results of a command that prints them in another form.
#[test]
fn what_is_saved_beside_a_table_has_the_results() {
    let saved = |line: &str| -> Value {
        let output = dpamatch(&format!("{line} --save @beside"));
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        let bytes = std::fs::read(folder().join("beside")).expect("a file");
        let document: Value = serde_json::from_slice(&bytes).expect("JSON");
        document["results"].clone()
    };
    for line in ["analyze $edge-4-mpich", "predict --threads 2 --workload nc"] {
        assert_eq!(saved(line), saved(&format!("{line} --format json")), "{line}");
    }
}

/// `--save` writes what `--format json` prints.
#[test]
fn saved_is_what_is_printed() {
    for line in [
        "bench --scenario NC --windows 1,4 --reps 3 --rounds 2",
        "bench --trace $edge-4-mpich --rounds 1 --budget 0",
        "analyze $edge-4-mpich --sweep 4",
        "analyze $edge-4-mpich --against $edge-4-openmpi --sweep 4",
        "predict --threads 2 --workload nc",
        "predict handlers --handlers 2",
        "compare spans --rounds 0",
    ] {
        let output = dpamatch(&format!("{line} --format json --save @saved"));
        let saved = std::fs::read(folder().join("saved")).expect("a file");
        assert!(!saved.is_empty() && saved == output.stdout, "{line}");
        std::fs::remove_file(folder().join("saved")).expect("it is ours");
        // Whatever is printed, the same results are saved.
        dpamatch(&format!("{line} --save @saved"));
        let text = std::fs::read_to_string(folder().join("saved")).expect("a file");
        let document: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(wrong(&validator(""), &document), [""; 0], "{line}");
        std::fs::remove_file(folder().join("saved")).expect("it is ours");
    }
}

/// An engine has one name, wherever it is told of.
#[test]
fn the_schema_knows_the_engines() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/schema/results-1.json");
    let schema = std::fs::read_to_string(path).expect("the schema");
    let schema: Value = serde_json::from_str(&schema).expect("JSON");
    let told = schema["$defs"]["engine"]["enum"].as_array().expect("names").iter();
    let told: BTreeSet<&str> = told.map(|name| name.as_str().expect("a name")).collect();
    let others = ["endpoint", "no-matching", "memcpy", "ucx"];
    let known = dpamatch::registry::ENGINES.iter().map(|entry| entry.name);
    assert_eq!(told, known.chain(others).collect());
}

/// The schema itself refuses what it should.
#[test]
fn the_schema_refuses_what_it_does_not_describe() {
    let good = dpamatch("predict --threads 2 --workload nc --format json");
    let good: Value = serde_json::from_slice(&good.stdout).expect("JSON");
    let validator = validator("");
    let refused = |pointer: &str, value: Value| {
        let mut document = good.clone();
        *document.pointer_mut(pointer).expect("a place") = value;
        !wrong(&validator, &document).is_empty()
    };
    assert!(!refused("/seed", json!(2)));
    for (pointer, value) in [
        ("/schema", json!("dpamatch-results-2")),
        ("/version", json!("new")),
        ("/commit", json!("HEAD")),
        ("/machine", json!({ "cpu_model": "Abacus" })),
        ("/results", json!([])),
        ("/results/rates/0", json!({ "workload": "nc" })),
        ("/results/rates/0/handlers", json!("two")),
        ("/results/rates/0/limit", json!({ "Camel": 1 })),
        ("/tables/0/keys", json!(["us per block"])),
        ("/options", json!({ "fast-path": "off" })),
    ] {
        assert!(refused(pointer, value), "{pointer}");
    }
}
