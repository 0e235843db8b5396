//! The recorder (docs/record.md), held against a stand-in for an MPI library: a C compiler and
//! `make` suffice. The stand-in completes requests in a known order, and each test reads the trace.
#![cfg(target_os = "linux")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../mpi/recorder")
}

fn succeed(command: &mut Command) {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{command:?} is needed for this test: {error}"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {said}");
}

/// The stand-in, the recorder built for it, and the test's program, in a folder that stays until
/// the process ends.
static BUILT: LazyLock<tempfile::TempDir> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path();
    let stub = source().join("stub");
    let shared = ["-w", "-shared", "-fPIC", "-o"];
    let mut compiler = Command::new("cc");
    let library = compiler.args(shared).arg(place.join("libmpi.so"));
    succeed(library.arg(stub.join("stub.c")));
    let wrapper = format!(
        "#!/bin/sh\nexec cc -I'{}' \"$@\" -L'{1}' -lmpi -Wl,-rpath,'{1}'\n",
        stub.display(),
        place.display()
    );
    fs::write(place.join("mpicc"), wrapper).expect("room");
    succeed(Command::new("chmod").arg("+x").arg(place.join("mpicc")));
    let recorder = place.join("build/libdpamatch-record.so");
    let mut make = Command::new("make");
    make.arg("-C").arg(source()).arg("CFLAGS=-O0");
    make.arg(format!("MPICC={}", place.join("mpicc").display()));
    make.arg(format!("BUILD={}", place.join("build").display()));
    succeed(make.arg(recorder));
    let mut compiler = Command::new(place.join("mpicc"));
    let plugin = compiler.args(shared).arg(place.join("plugin.so"));
    succeed(plugin.arg(stub.join("program.c")));
    let mut compiler = Command::new("cc");
    let program = compiler.arg("-o").arg(place.join("program"));
    succeed(program.arg(stub.join("main.c")).arg("-ldl"));
    folder
});

/// The program with the recorder. Its traces are in the folder `out`, and their name is `run`.
fn program(part: &str, out: &Path) -> Command {
    let place = BUILT.path();
    let mut command = Command::new(place.join("program"));
    command
        .arg(place.join("plugin.so"))
        .arg(part)
        .env("LD_PRELOAD", place.join("build/libdpamatch-record.so"))
        .env("DPAMATCH_RECORD_DIR", out)
        .env("DPAMATCH_RECORD_NAME", "run")
        .env("OMPI_COMM_WORLD_RANK", "0");
    command
}

fn said(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    assert_eq!(output.stdout, b"done\n", "{output:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn dpamatch(arguments: &[&str], trace: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_dpamatch"))
        .args(arguments)
        .arg(trace)
        .output()
        .expect("the program runs")
}

/// The calls of rank 0, without their times.
fn calls(trace: &Path) -> Vec<String> {
    let output = dpamatch(&["trace", "dump", "--rank", "0"], trace);
    let text = String::from_utf8(output.stdout).expect("text");
    let call = |line: &str| line.split_once(" T0 ").map(|(_, call)| call.to_owned());
    text.lines().filter_map(call).collect()
}

/// No file of a trace holds the words of the program's messages, in either byte order.
fn holds_no_message(trace: &Path) {
    let program = fs::read_to_string(source().join("stub/program.c")).expect("text");
    assert!(program.contains("#define WORDS 0x5ec2e75a, 0x0badc0de\n"));
    let words = [0x5ec2_e75a_u32, 0x0bad_c0de];
    let orders = [u32::to_le_bytes, u32::to_be_bytes].map(|bytes| words.map(bytes).concat());
    let files: Vec<_> = fs::read_dir(trace).expect("a folder").collect();
    assert!(files.len() >= 2, "a trace and its description: {files:?}");
    for file in files {
        let path = file.expect("a file").path();
        let bytes = fs::read(&path).expect("a file");
        let has = |words: &Vec<u8>| bytes.windows(8).any(|bytes| bytes == words);
        assert!(!orders.iter().any(has), "{}", path.display());
    }
}

/// Records a part of the program: its calls between first and last, and what the recorder said.
fn record(part: &str) -> (Vec<String>, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out");
    let said = said(&program(part, &out).output().expect("it runs"));
    holds_no_message(&out);
    let mut calls = calls(&out);
    assert_eq!(calls.remove(0), "MPI_Init argv=[]");
    assert_eq!(calls.pop().as_deref(), Some("MPI_Finalize"));
    let check = dpamatch(&["trace", "check"], &out);
    let text = String::from_utf8_lossy(&check.stdout);
    assert!(text.contains("agrees with the footer"), "{text}");
    // Each note is in the trace as well, and every command prints it.
    let notes = String::from_utf8_lossy(&check.stderr);
    for line in said.lines() {
        let line = line.trim_start_matches("dpamatch-record: ");
        let note = format!("note: the recorder: {line}\n");
        assert!(notes.contains(&note), "{line}\n{notes}");
    }
    (calls, said)
}

#[test]
fn statuses_follow_the_indices() {
    let (calls, said) = record("completion");
    assert_eq!(said, "");
    let completions: Vec<_> = calls
        .iter()
        .filter(|call| !call.starts_with("MPI_Irecv"))
        .collect();
    assert_eq!(
        completions,
        [
            "MPI_Waitsome count=4 requests=[2,3,4,5] outcount=2 indices=[3,0] \
             statuses=[{8 23 16},{5 20 4}]",
            "MPI_Waitall count=2 requests=[3,4] statuses=[{6 21 8},{7 22 12}]",
            "MPI_Testsome count=4 requests=[4,3,2,5] outcount=2 indices=[3,0] \
             statuses=[{8 23 16},{5 20 4}]",
            "MPI_Testall count=2 requests=[3,2] flag=1 statuses=[{6 21 8},{7 22 12}]",
            "MPI_Waitany count=4 requests=[2,3,4,5] index=3 status=[{8 23 16}]",
            "MPI_Testany count=3 requests=[2,3,4] index=2 flag=1 status=[{7 22 12}]",
            "MPI_Test request=3 flag=1 status=[{6 21 8}]",
            "MPI_Wait request=2 status=[{5 20 4}]",
        ]
    );
}

/// Two communicators, and requests of unlike kinds that are open together: each has its own number,
/// and a free number goes to the next request, but no free communicator's.
#[test]
fn objects_that_live_together_are_told_apart() {
    let (calls, said) = record("two");
    assert_eq!(said, "");
    assert_eq!(
        calls,
        [
            "MPI_Comm_dup oldcomm=2 newcomm=4",
            "MPI_Comm_dup oldcomm=4 newcomm=5",
            "MPI_Isend count=2 datatype=9 dest=3 tag=8 comm=5 request=2",
            "MPI_Irecv count=5 datatype=7 source=6 tag=9 comm=4 request=3",
            "MPI_Recv_init count=4 datatype=14 source=7 tag=10 comm=5 request=4",
            "MPI_Ssend_init count=1 datatype=5 dest=2 tag=11 comm=4 request=5",
            "MPI_Startall count=2 requests=[4,5]",
            "MPI_Cancel request=3",
            "MPI_Waitall count=2 requests=[4,5] statuses=[{7 10 32},{-2 -1 0}]",
            "MPI_Start request=4",
            "MPI_Request_free request=5",
            "MPI_Irecv count=7 datatype=5 source=-1 tag=12 comm=5 request=5",
            "MPI_Waitall count=4 requests=[2,3,4,5] \
             statuses=[{-2 -1 0},{-2 -1 0 cancelled},{7 10 32},{1 12 7}]",
            "MPI_Request_free request=4",
            "MPI_Comm_free comm=4",
            "MPI_Comm_dup oldcomm=5 newcomm=6",
            "MPI_Isend count=3 datatype=9 dest=4 tag=13 comm=6 request=4",
            "MPI_Irecv count=6 datatype=9 source=5 tag=-1 comm=5 request=5",
            "MPI_Wait request=5 status=[{5 77 24}]",
            "MPI_Irecv count=1 datatype=9 source=8 tag=15 comm=6 request=5",
            "MPI_Waitsome count=2 requests=[4,5] outcount=2 indices=[1,0] \
             statuses=[{8 15 4},{-2 -1 0}]",
        ]
    );
}

/// What is not complete has no status and keeps its number. A message that its buffer cuts ends its
/// receive: such a call is recorded like others, with the error if a list has one for each.
#[test]
fn only_what_has_ended_has_a_status() {
    let (calls, said) = record("incomplete");
    assert_eq!(said, "");
    assert_eq!(
        calls,
        [
            "MPI_Irecv count=2 datatype=9 source=3 tag=98 comm=2 request=2",
            "MPI_Irecv count=4 datatype=7 source=5 tag=98 comm=2 request=3",
            "MPI_Testany count=2 requests=[2,3] index=1 flag=0 status=[]",
            "MPI_Test request=2 flag=0 status=[]",
            "MPI_Testall count=2 requests=[2,3] flag=0 statuses=[]",
            "MPI_Testsome count=2 requests=[2,3] outcount=0 indices=[] statuses=[]",
            "MPI_Waitall count=2 requests=[2,3] statuses=[{3 98 8},{5 98 8}]",
            "MPI_Irecv count=1 datatype=9 source=6 tag=99 comm=2 request=3",
            "MPI_Wait request=3 status=[{6 99 4}]",
            "MPI_Irecv count=3 datatype=9 source=7 tag=99 comm=2 request=3",
            "MPI_Irecv count=2 datatype=5 source=8 tag=97 comm=2 request=2",
            "MPI_Waitall count=2 requests=[3,2] statuses=[{7 99 12},{8 97 2}]",
            "MPI_Isend count=1 datatype=9 dest=2 tag=8 comm=2 request=2",
            "MPI_Irecv count=5 datatype=9 source=9 tag=99 comm=2 request=3",
            "MPI_Waitany count=2 requests=[2,3] index=1 status=[{9 99 20}]",
            "MPI_Test request=2 flag=1 status=[{-2 -1 0}]",
        ]
    );
}

/// 5 * 10^9 bytes are 4 times 1,250,000,000; 2^31 doubles are 2^34 bytes: 16 times 2^30.
#[test]
fn large_counts_keep_their_bytes() {
    let (calls, said) = record("large");
    assert_eq!(
        calls,
        [
            "MPI_Send count=3 datatype=7 dest=4 tag=9 comm=2",
            "MPI_Send count=1250000000 datatype=28 dest=4 tag=10 comm=2",
            "MPI_Send count=2147483647 datatype=14 dest=4 tag=11 comm=2",
            "MPI_Send count=1073741824 datatype=29 dest=4 tag=12 comm=2",
            "MPI_Recv count=1500000000 datatype=30 source=-1 tag=-1 comm=2 \
             status=[{1 77 2147483647}]",
            "MPI_Bcast count=6 datatype=9 root=0 comm=2",
            "MPI_Isend count=2 datatype=9 dest=3 tag=8 comm=2 request=2",
            "MPI_Wait request=2 status=[{-2 -1 0}]",
        ]
    );
    assert_eq!(
        said,
        "dpamatch-record: lengths or counts beyond the format's 31 bits: 1; the true ones are at \
         least what the trace has\n"
    );
}

#[test]
fn newer_calls_are_records_or_counted_by_name() {
    let (calls, said) = record("newer");
    assert_eq!(
        calls,
        [
            "MPI_Irecv count=5 datatype=7 source=6 tag=7 comm=2 request=2",
            "MPI_Isend count=2 datatype=9 dest=3 tag=4 comm=2 request=3",
            "MPI_Request_free request=3",
            "MPI_Wait request=2 status=[{6 7 10}]",
            "MPI_Recv_init count=6 datatype=9 source=4 tag=31 comm=2 request=2",
            "MPI_Start request=2",
            "MPI_Wait request=2 status=[{4 31 24}]",
            "MPI_Recv count=24 datatype=5 source=-1 tag=50 comm=2 status=[{1 50 24}]",
            "MPI_Wait request=1 status=[{-1 -1 0}]",
            "MPI_Wait request=3 status=[{-2 -1 0}]",
        ]
    );
    assert_eq!(
        said,
        "dpamatch-record: 2 calls of 2 functions were not recorded: MPI_Parrived 1, MPI_Ibarrier 1\n\
         dpamatch-record: partitioned requests recorded as persistent ones: 1; a match at each \
         start is a guess\n\
         dpamatch-record: calls of MPI_Put, MPI_Get and MPI_Accumulate, of which the trace has only \
         the number: 1\n\
         dpamatch-record: calls that connect to other processes, whose communicators have no origin \
         in the trace: 1\n"
    );
}

#[test]
fn a_program_with_sessions_alone_is_recorded() {
    let (calls, said) = record("session");
    assert_eq!(calls, ["MPI_Send count=3 datatype=9 dest=4 tag=5 comm=2"]);
    assert!(said.contains("rank 0: the program used sessions"), "{said}");
}

/// A communicator, a send and the end of the second session have no record.
#[test]
fn sessions_that_are_opened_again_are_said() {
    let (calls, said) = record("sessions");
    assert_eq!(calls, ["MPI_Send count=3 datatype=9 dest=4 tag=5 comm=2"]);
    let line = "rank 0: calls after the end of the recording, as in a session that was opened \
                again: 3\n";
    assert!(said.ends_with(line), "{said}");
}

/// The plug-in's calls go straight to its library: then nothing can be recorded.
#[test]
fn calls_past_the_recorder_are_said() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = program("completion", folder.path());
    let said = said(&command.arg("past").output().expect("it runs"));
    let library = BUILT.path().join("libmpi.so");
    assert_eq!(
        said,
        format!(
            "dpamatch-record: nothing was recorded: program loaded {}, but no call that starts MPI \
             passed through the recorder\n",
            library.display()
        )
    );
}

/// A trace that cannot be written costs a line, never the program; nothing is overwritten or
/// followed.
#[test]
fn a_trace_that_cannot_be_written_is_said() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path();
    let target = out.join("target");
    std::os::unix::fs::symlink(&target, out.join("run-0000.bin")).expect("room");
    let refused = said(&program("completion", out).output().expect("it runs"));
    let line = "run-0000.bin: File exists; this rank is not recorded\n";
    assert!(refused.ends_with(line), "{refused}");
    assert_eq!(refused.lines().count(), 1, "{refused}");
    assert!(!target.exists(), "a link was followed");

    let file = out.join("target");
    fs::write(&file, "").expect("room");
    let nowhere = said(&program("completion", &file).output().expect("it runs"));
    let line = "run.meta: Not a directory; nothing is recorded\n";
    assert!(nowhere.ends_with(line), "{nowhere}");
    assert_eq!(nowhere.lines().count(), 1, "{nowhere}");

    // One block of 512 bytes holds the description of the run, but no trace.
    let short = out.join("short");
    let recorded = program("completion", &short);
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -f 1; exec env LD_PRELOAD=\"$0\" \"$@\""]);
    for (name, value) in recorded.get_envs() {
        match value {
            Some(value) if name == "LD_PRELOAD" => limited.arg(value),
            Some(value) => limited.env(name, value),
            None => &mut limited,
        };
    }
    limited
        .arg(recorded.get_program())
        .args(recorded.get_args());
    let cut = said(&limited.output().expect("it runs"));
    let line = "run-0000.bin is cut off: File too large; the program goes on unrecorded\n";
    assert!(cut.ends_with(line), "{cut}");
    assert_eq!(cut.lines().count(), 1, "{cut}");
}
