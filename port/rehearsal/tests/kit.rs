//! The matching engine as a program for a DPA gives the oracle's outcomes.

use std::path::{Path, PathBuf};

use dpa_model::PaperWorkload;
use dpamatch::stream::Profile;
use dpamatch_port::build::BuildError;
use dpamatch_port::job::Job;
use dpamatch_port::{check, kit};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("kit")
}

#[test]
fn workloads_and_streams_give_the_oracles_outcomes() {
    if !kit::has_host_compiler() {
        println!("not tested: there is no C compiler");
        return;
    }
    let host = kit::build().expect("the emulator and the program");
    std::fs::create_dir_all(folder()).expect("a folder");
    let verdict = check::on_emulator(&host, &folder()).expect("runs");
    assert!(verdict.wrong.is_empty(), "{verdict}");
    assert_eq!(verdict.runs, 7);
    // One message in three is longer than the eager limit.
    let stream = Job::stream(Profile::Mixed, 0, 300);
    let said = kit::run(&host, &stream, "workers=2", &folder()).expect("a run");
    assert_eq!(said.as_deref(), Ok("141 messages, 46 of them by rendezvous\n"));
    let mut wrong = stream;
    wrong.expected[8] ^= 1;
    let noticed = kit::run(&host, &wrong, "", &folder()).expect("a run");
    assert_eq!(noticed, Err("outcome 0 is not the oracle's".to_owned()));
    let job = Job::workload(PaperWorkload::FastPath, (1, 8));
    for (options, why) in [
        ("workers=17", "host: 1 to 16 workers, and a queue whose depth is a power of two"),
        ("queue=24", "host: 1 to 16 workers, and a queue whose depth is a power of two"),
        ("handlers=0", "host: no card of that size"),
        ("handler=1", "host: an unknown option"),
    ] {
        let refused = kit::run(&host, &job, options, &folder()).expect("a run");
        let text = refused.expect_err("a refusal");
        assert_eq!(text, format!("exit status: 1: {why}\n"));
    }
}

#[test]
fn the_device_part_compiles_for_risc_v() {
    if !kit::has_compiler() {
        println!("not tested: there is no riscv64-unknown-elf-gcc");
        return;
    }
    match kit::build_for_card() {
        Ok(()) => {}
        Err(BuildError::NoTarget) => println!("not tested: {}", BuildError::NoTarget),
        Err(error) => panic!("{error}"),
    }
}
