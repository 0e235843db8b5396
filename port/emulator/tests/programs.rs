//! The examples, built as users build them. Exact counts, and all bytes of all answers.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{errors}", output.status);
    output
}

fn prefix() -> &'static Path {
    static PREFIX: OnceLock<PathBuf> = OnceLock::new();
    PREFIX.get_or_init(|| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        let prefix = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("emulator");
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("the target folder");
        let mut install = Command::new(folder.join("install.sh"));
        install.arg(&prefix).env("CARGO", env!("CARGO")).env("CARGO_PROFILE", "dev");
        run(install.env("CARGO_TARGET_DIR", target));
        prefix
    })
}

fn build(name: &str) -> PathBuf {
    let prefix = prefix();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples").join(name);
    let archive = prefix.join(format!("{name}.a"));
    let mut dpacc = Command::new(prefix.join("bin/dpacc"));
    dpacc.arg(folder.join("device.c")).arg("-o").arg(&archive);
    dpacc.arg(format!("--app-name={name}"));
    run(dpacc.args(["-hostcc=cc", "-mcpu=nv-dpa-bf3", "--devicecc-options=-Wall,-Wextra,-Werror"]));
    let program = prefix.join(name);
    let mut cc = Command::new("cc");
    cc.args(["-Wall", "-Wextra", "-Werror", "-O1", "-I"]).arg(prefix.join("include"));
    // The project's own part of verbs, on machines with rdma-core's headers, too.
    cc.arg("-I").arg(prefix.join("include/fallback"));
    cc.arg(folder.join("host.c")).arg(&archive).arg("-L").arg(prefix.join("lib"));
    cc.args(["-lflexio", "-libverbs", "-lmlx5", "-o"]).arg(&program);
    run(cc.arg(format!("-Wl,-rpath,{}", prefix.join("lib").display())));
    program
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_call_has_its_result_and_a_crash_ends_the_process_only() {
    let program = build("hello");
    let good = "3 + 39 = 42\nstatus 0, result 42\n";
    assert_eq!(text(&run(&mut Command::new(&program)).stdout), good);
    let output = run(Command::new(&program).arg("crash"));
    let bad = "status 3, error status 1\nstatus 3\n";
    assert_eq!(text(&output.stdout), format!("{good}{bad}"));
    let errors = text(&output.stderr);
    assert!(errors.contains("(crash), activation 1: bad access to 0x40"), "{errors}");
    if Command::new("addr2line").arg("--version").output().is_ok() {
        assert!(errors.contains("device.c:14"), "{errors}");
    }
}

/// A frame whose bytes and length depend on its number.
fn frame(number: usize, swapped: bool) -> Vec<u8> {
    let mut frame: Vec<u8> = (0..60 + number % 90).map(|at| (at * 7 + number * 3) as u8).collect();
    if swapped {
        let (left, right) = frame.split_at_mut(6);
        left.swap_with_slice(&mut right[..6]);
    }
    frame
}

fn file(frames: &[Vec<u8>]) -> Vec<u8> {
    let word = |number: u32| number.to_le_bytes();
    let head = [0xa1b2_c3d4, 0x0004_0002, 0, 0, 1 << 14, 1].map(word).concat();
    let entry = |frame: &Vec<u8>| {
        let length = frame.len() as u32;
        [[0, 0, length, length].map(word).concat(), frame.clone()].concat()
    };
    [head, frames.iter().flat_map(entry).collect()].concat()
}

#[test]
fn every_frame_is_counted_and_answered() {
    let program = build("counter");
    for (seed, count) in [(0, 1), (0, 9), (0, 500), (7, 500)] {
        let frames: Vec<_> = (0..count).map(|number| frame(number, false)).collect();
        let (input, output) = (prefix().join("in.pcap"), prefix().join("out.pcap"));
        std::fs::write(&input, file(&frames)).expect("a file of frames");
        let mut command = Command::new(&program);
        let wire = format!("pcap:in={},out={}", input.display(), output.display());
        command.arg(count.to_string()).env("DPA_WIRE", wire).env("DPA_SEED", seed.to_string());
        let ran = run(&mut command);
        let bytes: usize = frames.iter().map(Vec::len).sum();
        assert_eq!(text(&ran.stdout), format!("{count} frames, {bytes} bytes\n"));
        let answers: Vec<_> = (0..count).map(|number| frame(number, true)).collect();
        assert!(std::fs::read(&output).expect("answers") == file(&answers), "{count} answers");
        let errors = text(&ran.stderr);
        let refused = "dpa: flexio_rq_create: no place for the result\n\
                       dpa: flexio_cq_destroy: work queues complete here\n";
        assert_eq!(errors, refused);
    }
}
