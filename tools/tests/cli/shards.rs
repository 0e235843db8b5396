//! Shards of a work and their documents put together: the document of the whole.

use std::fs;
use std::process::Command;

use super::*;

fn document(line: &str) -> Value {
    let words: Vec<&str> = line.split_whitespace().collect();
    let output = dpamatch(&words);
    serde_json::from_slice(&output.stdout).expect("a document")
}

/// The shards' documents as files, by name.
fn shards(folder: &Path, line: &str, of: usize) -> Vec<String> {
    let shard = |index: usize| {
        let document = document(&format!("{line} --format json --shard {index}/{of}"));
        let file = folder.join(format!("{index}-of-{of}.json"));
        fs::write(&file, document.to_string()).expect("a file");
        file.to_str().expect("UTF-8").to_owned()
    };
    (1..=of).map(shard).collect()
}

fn merged(files: &[String]) -> Output {
    let words = std::iter::once("merge").chain(files.iter().map(String::as_str));
    dpamatch(&words.collect::<Vec<_>>())
}

/// What one process would have said, of that which does not depend on the way.
fn essence(mut document: Value) -> Value {
    let members = document.as_object_mut().expect("an object");
    for name in [
        "text",
        "runs",
        "known_states",
        "forgotten_states",
        "by_preemptions",
    ] {
        members["results"]
            .as_object_mut()
            .expect("results")
            .remove(name);
    }
    document
}

#[test]
fn shards_in_any_order_are_the_whole() {
    for (line, of, code) in [
        (
            "predict --scenario nc,wc-sp --handlers 1,2,4 --windows 64",
            4,
            0,
        ),
        ("predict --scenario nc --handlers 2 --windows 64", 2, 0),
        (
            "compare spans complexity memory patterns depth --rounds 0 --ranks 8 --depths 1,16 \
             --engine bins,simd",
            2,
            0,
        ),
        ("compare spans memory --rounds 0 --engine bins", 3, 0),
        ("explore --example x5 --schedules 100", 3, 0),
        ("explore --example x5 --handlers 3 --bound 1", 3, 0),
        ("explore --example x5 --handlers 3 --bound 2", 5, 0),
        (
            "explore --example x2 --handlers 3 --bound 2 --domains keyed",
            2,
            0,
        ),
        (
            "explore --example x5 --schedules 200 --fault forcing-ignored",
            3,
            3,
        ),
        (
            "explore --example x5 --handlers 3 --bound 1 --fault forcing-ignored",
            2,
            3,
        ),
    ] {
        let folder = folder("shards");
        let mut files = shards(folder.path(), line, of);
        files.reverse();
        files.swap(0, of / 2);
        let output = merged(&files);
        assert_eq!(
            output.status.code(),
            Some(code),
            "{line}: {}",
            said(&output)
        );
        let found: Value = serde_json::from_slice(&output.stdout).expect("a document");
        let whole = document(&format!("{line} --format json"));
        let (mut found, mut whole) = (essence(found), essence(whole));
        if line.contains("--bound") {
            // Which of the shortest schedules is found first depends on the way.
            for document in [&mut found, &mut whole] {
                let violation = &mut document["results"]["violation"];
                assert_eq!(violation.is_null(), code == 0);
                *violation = Value::Null;
            }
        }
        assert_eq!(found, whole, "{line}");
    }
}

#[test]
fn what_is_no_whole_is_refused_in_a_line() {
    let folder = folder("shards-refused");
    let line = "predict --scenario nc --handlers 1,2,4 --windows 64";
    let files = shards(folder.path(), line, 3);
    let others = shards(folder.path(), &format!("{line} --bins 64"), 4);
    let whole = folder.path().join("whole.json");
    let text = document(&format!("{line} --format json")).to_string();
    fs::write(&whole, text).expect("a file");
    let whole = whole.to_str().expect("UTF-8").to_owned();
    let less = folder.path().join("less.json");
    let mut short = document(&format!("{line} --format json --shard 2/3"));
    short["results"]["rates"] = Value::Array(Vec::new());
    fs::write(&less, short.to_string()).expect("a file");
    let less = less.to_str().expect("UTF-8").to_owned();
    let [one, two, three] = [&files[0], &files[1], &files[2]];
    let refused = |files: &[&String], expected: &str| {
        let files: Vec<String> = files.iter().map(|&file| file.clone()).collect();
        let output = merged(&files);
        assert_eq!(output.status.code(), Some(2), "{expected}");
        assert!(output.stdout.is_empty());
        assert_eq!(said(&output), format!("dpamatch: {expected}\n"));
    };
    refused(&[one, three], "shard 2 of 3 is missing");
    refused(&[two], "shards 1, 3 of 3 are missing");
    refused(
        &[one, two, three, two],
        &format!("{two} and {two} are both shard 2/3"),
    );
    refused(
        &[&whole],
        &format!("{whole}: is no shard: it was made without --shard"),
    );
    let unlike = format!(
        "{one} and {} are unlike: option bins 2048 and 64",
        others[0]
    );
    refused(&[one, &others[0]], &unlike);
    let due = format!("{less} has 0 rows of rates, where shard 2/3 of 2 has 1");
    refused(&[one, &less, three], &due);
    // Parts of another split.
    let halves = shards(folder.path(), line, 2);
    let splits = format!(
        "{one} and {} are of different splits: 1/3 and 1/2",
        halves[0]
    );
    refused(&[one, &halves[0]], &splits);
    // Experiments.
    let line = "compare spans memory patterns --rounds 0 --ranks 8 --engine bins";
    let files = shards(folder.path(), line, 2);
    let [one, two] = [&files[0], &files[1]];
    refused(&[two], "shard 1 of 2 is missing");
    let others = shards(folder.path(), &format!("{line},simd"), 3);
    refused(
        &[one, &others[0]],
        &format!(
            "{one} and {} are unlike: option engine [\"bins\"] and [\"bins\",\"simd\"]",
            others[0]
        ),
    );
    for (member, expected) in [
        (
            "experiments",
            format!("{one} has 2 experiments, where shard 1/2 of 2 has 1"),
        ),
        (
            "tables_of_experiments",
            format!("{less} has other tables than tables_of_experiments says"),
        ),
    ] {
        let text = fs::read_to_string(two).expect("the shard");
        let mut short: Value = serde_json::from_str(&text).expect("a document");
        short["results"][member] = Value::Array(Vec::new());
        fs::write(&less, short.to_string()).expect("a file");
        refused(&[one, &less], &expected);
    }
    let timed = dpamatch(&["compare", "spans", "--shard", "1/2"]);
    assert_eq!(timed.status.code(), Some(2));
    assert!(said(&timed).contains("--shard goes with --rounds 0"));
    let outside = dpamatch(&["predict", "--shard", "4/3"]);
    assert_eq!(outside.status.code(), Some(2));
    assert!(
        said(&outside).contains("a part is I/N"),
        "{}",
        said(&outside)
    );
}

/// The page's scripts, as they stand there.
#[cfg(unix)]
#[test]
fn the_scripts_of_the_page_run_under_xargs() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/cluster.md");
    let page = fs::read_to_string(page).expect("the page");
    let scripts: Vec<&str> = page
        .split("```sh\n")
        .skip(1)
        .map(|block| block.split("```").next().expect("a block"))
        .filter(|block| block.starts_with("#!"))
        .collect();
    let [slurm, parallel] = scripts[..] else {
        panic!("{} scripts", scripts.len());
    };
    let folder = folder("cluster");
    let of = 4;
    let path = Path::new(DPAMATCH).parent().expect("a folder").to_owned();
    let path = format!(
        "{}:{}",
        path.display(),
        std::env::var("PATH").expect("a path")
    );
    let run = |name: &str, script: &str, line: &str| {
        fs::write(folder.path().join(name), script).expect("a file");
        let line = format!("seq {of} | xargs -P 2 -I {{}} {line}");
        let status = Command::new("sh")
            .args(["-c", &line])
            .current_dir(folder.path())
            .env("PATH", &path)
            .status();
        assert!(status.expect("a shell").success(), "{line}");
    };
    let array = format!("env SLURM_ARRAY_TASK_ID={{}} SLURM_ARRAY_TASK_COUNT={of} sh submit.sh");
    run("submit.sh", slurm, &array);
    run("sweep.sh", parallel, &format!("sh sweep.sh {{}} {of}"));
    for (name, line) in [
        ("rates", "predict --scenario nc,wc-sp --handlers 1,2,4"),
        ("x5", "explore --example x5 --handlers 3 --bound 1"),
    ] {
        let file = |index: usize| {
            let file = folder.path().join(format!("{name}-{index}.json"));
            file.to_str().expect("UTF-8").to_owned()
        };
        let output = merged(&(1..=of).map(file).collect::<Vec<_>>());
        let found = results(&output);
        let whole = document(&format!("{line} --format json"))["results"].clone();
        let part = if name == "rates" { "rates" } else { "paths" };
        assert_eq!(found[part], whole[part], "{line}");
    }
}
