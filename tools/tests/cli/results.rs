//! Every command's `--format json` is a document that the schema file allows.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use jsonschema::Validator;
use serde_json::json;

use super::tables::{file, run, words};
use super::*;

/// Commands that have no results of their own: they talk about dpamatch itself, or put the results
/// of others together.
const WITHOUT_RESULTS: [&str; 3] = ["completions", "man", "merge"];

/// Command lines that have a document. [`files`] writes the files `@NAME`.
const DOCUMENTS: [&str; 43] = [
    "ablation --handlers 1 --conflicts 0",
    "accuracy",
    "analyze $edge-4-mpich/edge-4-mpich.dumpi.tar.xz --engine all --check",
    "analyze $edge-4-mpich/edge-4-mpich.dumpi.tar.xz $edge-4-openmpi/edge-4-openmpi.dumpi.tar.xz --sweep 4",
    "analyze $edge-4-mpich/edge-4-mpich.dumpi.tar.xz --against $edge-4-openmpi/edge-4-openmpi.dumpi.tar.xz",
    "bench --scenario NC,UNEXP --windows 1,128 --reps 20 --rounds 1 --keep disturbed --baseline memcpy,list,bins",
    "bench --scenario WC --windows 16 --reps 3 --rounds 1 --keep disturbed,placements",
    "bench --trace $edge-4-mpich/edge-4-mpich.dumpi.tar.xz --rounds 2 --budget 0",
    "calibrate @M",
    "channels --rounds 10 --bursts 1,8",
    "channels --only real --rounds 2 --bursts 2 --policy static:3",
    "compare spans depth --depths 1,16 --rounds 1",
    "compare queues applications overhead search --ranks 16 --rounds 0",
    "compare complexity rate --rounds 0 --engine bins",
    "cost contention --senders 1,2",
    "cost curves --senders 1",
    "cost ping-pong --messages 8,64,200 --rounds 1 --runs",
    "cost messages @L --per rank",
    "cost hierarchy --edge 8 --ranks 8",
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
    "offload $edge-4-mpich/edge-4-mpich.dumpi.tar.xz --per rank,communicator",
    "offload --print-host",
    "predict --handlers 1,4",
    "predict handlers --handlers 2",
    "predict profile",
    "predict stream --handlers 2 @S",
    "run --provider tests/run -- tests/run/program.sh",
    "run --provider tests/run/libdpamatch_fi.so -- tests/run/program.sh",
    "run --log --provider tests/run -- tests/run/program.sh",
    "sensitivity memory.l1_ns",
    "trace info $edge-4-mpich/edge-4-mpich.dumpi.tar.xz",
    "trace check $edge-4-mpich/edge-4-mpich.dumpi.tar.xz",
    "what-if --handlers 1",
];

fn files() {
    file(
        "L",
        "phase,src,dst,bytes\n0,0,1,100\n0,0,17,5000\n1,1,0,9\n",
    );
    file("M", "series,threads,rate\nNC,1,0.4\nNC,2,0.75\n");
    file(
        "S",
        "post,0,0,*,7\narrive,0,0,3,7\narrive,1,0,3,8\nprobe,4,0,3,8\npost,1,0,3,9\n",
    );
    for (name, threads) in [("A", "2"), ("B", "2 --removal eager")] {
        let line = format!("predict --scenario nc --handlers {threads} --save @{name}");
        assert_eq!(run(&line).status.code(), Some(0), "{line}");
    }
}

/// What each of [`DOCUMENTS`] prints with `--format json`.
pub(super) fn documents() -> &'static [(&'static str, Value)] {
    static PRINTED: LazyLock<Vec<(&'static str, Value)>> = LazyLock::new(|| {
        files();
        let document = |line: &'static str| {
            // What stands behind two dashes is another program's, as are its words before the
            // document.
            let (own, rest) = line
                .split_once(" -- ")
                .map_or((line, ""), |(own, _)| (own, &line[own.len()..]));
            let output = run(&format!("{own} --format json{rest}"));
            let errors = String::from_utf8_lossy(&output.stderr);
            // What `diff` finds worse here is no mistake.
            let fine = output.status.success() || line.starts_with("diff");
            assert!(fine, "{line}: {errors}");
            let begin = output
                .stdout
                .iter()
                .position(|&byte| byte == b'{')
                .unwrap_or(0);
            let document = serde_json::from_slice(&output.stdout[begin..])
                .unwrap_or_else(|error| panic!("{line}: {error}: {errors}"));
            (line, document)
        };
        DOCUMENTS.into_iter().map(document).collect()
    });
    &PRINTED
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
    let validator = validator("");
    let mut commands = BTreeSet::new();
    for (line, document) in documents() {
        assert_eq!(wrong(&validator, document), [""; 0], "{line}");
        let command = document["command"].as_str().expect("a command");
        assert!(line.starts_with(command), "{line}: {command}");
        let told = document["command_line"].as_str().expect("a line");
        assert!(
            told.starts_with(&format!("{} {command}", name(line))),
            "{told}"
        );
        assert_eq!(document["options"]["format"], "json", "{line}");
        // Tables are there, with their keys and figures in every row.
        for table in document["tables"].as_array().expect("tables") {
            let name = table["name"].as_str().expect("a name");
            let rows = document["results"][name].as_array().expect("rows");
            for key in table["keys"].as_array().expect("keys") {
                let key = key.as_str().expect("a name");
                assert!(
                    rows.iter().all(|row| row.get(key).is_some()),
                    "{line}: {name}: {key}"
                );
            }
            for figure in table["figures"].as_array().expect("figures") {
                let figure = figure["name"].as_str().expect("a name");
                let found = rows.iter().any(|row| row.get(figure).is_some());
                assert!(
                    found || rows.is_empty() || name == "rates",
                    "{line}: {name}: {figure}"
                );
            }
        }
        commands.insert(command.split(' ').next().expect("a word").to_owned());
    }
    // Each command of the program has a line here.
    let papers = programs::PAPERS.map(str::to_owned);
    let known = subcommands(&help("")).into_iter().chain(papers);
    let known: BTreeSet<String> = known
        .filter(|name| !WITHOUT_RESULTS.contains(&name.as_str()))
        .collect();
    assert_eq!(commands, known);
}

#[test]
fn lines_of_objects_have_good_names() {
    files();
    let validator = validator("#/$defs/named");
    for line in [
        "gen --events 20",
        "match @S",
        "trace dump $edge-4-mpich/edge-4-mpich.dumpi.tar.xz --limit 30",
    ] {
        let output = run(&format!("{line} --format jsonl"));
        let text = String::from_utf8(output.stdout).expect("text");
        assert!(text.lines().count() > 3, "{line}");
        for object in text.lines() {
            let value: Value = serde_json::from_str(object).expect("an object");
            assert!(value.is_object(), "{object}");
            assert_eq!(wrong(&validator, &value), [""; 0], "{object}");
        }
    }
    let dump = run("trace dump $edge-4-mpich/edge-4-mpich.dumpi.tar.xz --limit 5 --format json");
    let document: Value = serde_json::from_slice(&dump.stdout).expect("JSON");
    assert_eq!(wrong(&self::validator(""), &document), [""; 0]);
}

/// Options with their values, given or not; the seed; the version.
#[test]
fn a_document_says_what_made_it() {
    let line = "bench --scenario NC,WC --windows 4 --reps 2 --rounds 1 --seed 9 --keep disturbed --format json";
    let output = run(line);
    let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let options = &document["options"];
    assert_eq!(options["scenario"], json!(["NC", "WC"]));
    assert_eq!(
        (&options["windows"], &options["reps"]),
        (&json!([4]), &json!(2))
    );
    assert_eq!(
        (&options["early_check"], &options["fast_path"]),
        (&json!(false), &json!("sequence"))
    );
    assert_eq!(
        (&options["trace"], &options["sweep"]),
        (&Value::Null, &json!([]))
    );
    assert_eq!(
        (&document["seed"], &document["command_line"]),
        (&json!(9), &json!(format!("dpamatch {line}")))
    );
    assert_eq!(document["version"], env!("CARGO_PKG_VERSION"));
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    assert_eq!(document["machine"]["processors"], processors);
    let info = run("trace info $edge-4-mpich/edge-4-mpich.dumpi.tar.xz --salvage --format json");
    let info: Value = serde_json::from_slice(&info.stdout).expect("JSON");
    assert_eq!(
        (&info["command"], &info["seed"]),
        (&json!("trace info"), &Value::Null)
    );
    assert_eq!(info["options"]["salvage"], true);
}

/// `--save` writes what `--format json` prints, whatever is printed.
#[test]
fn saved_is_what_is_printed() {
    for line in [
        "bench --scenario NC --windows 1,4 --reps 3 --rounds 2 --keep disturbed",
        "bench --trace $edge-4-mpich/edge-4-mpich.dumpi.tar.xz --rounds 1 --budget 0",
        "analyze $edge-4-mpich/edge-4-mpich.dumpi.tar.xz --sweep 4",
        "analyze $edge-4-mpich/edge-4-mpich.dumpi.tar.xz --against $edge-4-openmpi/edge-4-openmpi.dumpi.tar.xz --sweep 4",
        "predict --handlers 2 --scenario nc",
        "predict handlers --handlers 2",
        "compare spans --rounds 0",
    ] {
        let output = run(&format!("{line} --format json --save @saved"));
        let saved = std::fs::read(&words("@saved")[0]).expect("a file");
        assert!(!saved.is_empty() && saved == output.stdout, "{line}");
        std::fs::remove_file(&words("@saved")[0]).expect("it is ours");
        let printed: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        run(&format!("{line} --save @saved"));
        let text = std::fs::read_to_string(&words("@saved")[0]).expect("a file");
        let document: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(wrong(&validator(""), &document), [""; 0], "{line}");
        // Two runs of a bench differ.
        let equal = document["results"] == printed["results"];
        assert!(equal || line.starts_with("bench"), "{line}");
        std::fs::remove_file(&words("@saved")[0]).expect("it is ours");
    }
}

/// An engine has one name, wherever it is told of.
#[test]
fn the_schema_knows_the_engines() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/schema/results-1.json");
    let schema = std::fs::read_to_string(path).expect("the schema");
    let schema: Value = serde_json::from_str(&schema).expect("JSON");
    let told = schema["$defs"]["engine"]["enum"]
        .as_array()
        .expect("names")
        .iter();
    let told: BTreeSet<&str> = told.map(|name| name.as_str().expect("a name")).collect();
    let others = ["in-order", "endpoint", "no-matching", "memcpy", "ucx"];
    let known = dpamatch::registry::ENGINES.iter().map(|entry| entry.name);
    assert_eq!(told, known.chain(others).collect());
}

#[test]
fn the_schema_refuses_what_it_does_not_describe() {
    let good = run("predict --handlers 2 --scenario nc --format json");
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
