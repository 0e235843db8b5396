//! The matching engine as a program for a DPA gives the oracle's outcomes.

use std::path::{Path, PathBuf};

use dpa_model::PaperWorkload;
use dpamatch::stream::{Profile, Reader};
use dpamatch_needs::Need;
use dpamatch_port::job::Job;
use dpamatch_port::{check, kit};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("kit")
}

/// Nine receives and their messages, of which the first is long.
fn behind_a_slow_read() -> Job {
    let post = |at: u64| format!("post,{at},0,3,{},size=300\n", 7 + at);
    let arrive = |at: u64| {
        format!(
            "arrive,{at},0,3,{},bytes={}\n",
            7 + at,
            if at == 0 { 300 } else { 8 }
        )
    };
    let lines: String = (0..9).map(post).chain((0..9).map(arrive)).collect();
    let events: Result<Vec<_>, _> = Reader::new(lines.as_bytes()).collect();
    Job::new(
        "slow read".to_owned(),
        String::new(),
        &events.expect("events"),
    )
}

#[test]
fn workloads_and_streams_give_the_oracles_outcomes() {
    if !Need::CCompiler.require(kit::has_host_compiler()) {
        return;
    }
    let host = kit::build(true).expect("the emulator and the program");
    std::fs::create_dir_all(folder()).expect("a folder");
    let verdict = check::on_emulator(&host, &folder()).expect("runs");
    assert!(verdict.wrong.is_empty(), "{verdict}");
    assert_eq!(verdict.runs, 7);
    // One message in three is longer than the eager limit.
    let stream = Job::stream(Profile::Mixed, 0, 300);
    let said = kit::run(&host, &stream, "workers=2", &folder())
        .expect("a run")
        .expect("outcomes");
    assert!(
        said.starts_with("141 messages, 46 of them by rendezvous\n"),
        "{said}"
    );
    assert!(check::said(&said, "cycles of the leader:").is_some_and(|cycles| cycles > 0));
    let mut wrong = stream;
    wrong.expected[8] ^= 1;
    let noticed = kit::run(&host, &wrong, "", &folder()).expect("a run");
    assert_eq!(noticed, Err("outcome 0 is not the oracle's".to_owned()));
    let run = kit::run(
        &host,
        &behind_a_slow_read(),
        "handlers=4 DPA_READ_TURNS=200",
        &folder(),
    );
    let said = run.expect("a run").expect("outcomes");
    assert!(
        said.starts_with("9 messages, 1 of them by rendezvous\n"),
        "{said}"
    );
    let names = |bytes: Vec<u8>| {
        bytes
            .chunks(24)
            .map(|record| record[16])
            .collect::<Vec<_>>()
    };
    let written = std::fs::read(folder().join(kit::OUT)).expect("outcomes");
    assert_eq!(
        names(written),
        [1, 2, 3, 4, 5, 6, 7, 8, 0],
        "the results of later messages first"
    );
    let job = Job::workload(PaperWorkload::FastPath, 1, 8);
    for (options, why) in [
        (
            "workers=17",
            "host: 1 to 16 workers, and a queue whose depth is a power of two",
        ),
        (
            "queue=24",
            "host: 1 to 16 workers, and a queue whose depth is a power of two",
        ),
        ("handlers=0", "host: no card of that size"),
        ("handler=1", "host: an unknown option"),
    ] {
        let refused = kit::run(&host, &job, options, &folder()).expect("a run");
        let text = refused.expect_err("a refusal");
        assert_eq!(text, format!("exit status: 1: {why}\n"));
    }
}

/// The same engine as a DOCA program: a thread for each worker, connections of RDMA objects.
#[test]
fn the_doca_program_gives_the_oracles_outcomes() {
    if !Need::CCompiler.require(kit::has_host_compiler()) {
        return;
    }
    let host = kit::build_doca().expect("the emulator and the program");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kit-doca");
    std::fs::create_dir_all(&folder).expect("a folder");
    let verdict = check::on_emulator(&host, &folder).expect("runs");
    assert!(verdict.wrong.is_empty(), "{verdict}");
    assert_eq!(verdict.runs, 7);
    let stream = Job::stream(Profile::Mixed, 0, 300);
    let said = kit::run(&host, &stream, "workers=3", &folder)
        .expect("a run")
        .expect("outcomes");
    assert!(
        said.starts_with("141 messages, 46 of them by rendezvous\n"),
        "{said}"
    );
    let mut wrong = stream;
    wrong.expected[8] ^= 1;
    let noticed = kit::run(&host, &wrong, "", &folder).expect("a run");
    assert_eq!(noticed, Err("outcome 0 is not the oracle's".to_owned()));
    let run = kit::run(
        &host,
        &behind_a_slow_read(),
        "handlers=4 DPA_READ_TURNS=200",
        &folder,
    );
    let said = run.expect("a run").expect("outcomes");
    assert!(
        said.starts_with("9 messages, 1 of them by rendezvous\n"),
        "{said}"
    );
}
