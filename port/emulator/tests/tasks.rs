//! DOCA's RDMA tasks on the CPU: each kind, their bounds and errors, and between two programs.

mod support;

use std::process::Command;
use support::{build, prefix, run, text};

/// What a scene says: standard output and standard error.
fn scene(words: &[&str], wire: &str) -> (String, String) {
    let mut command = Command::new(build("tasks"));
    let ran = run(command.args(words).env("DPA_WIRE", wire));
    (text(&ran.stdout), text(&ran.stderr))
}

#[test]
fn each_kind_of_task_does_its_work() {
    let (said, errors) = scene(&["kinds"], "loop");
    let right = "DOCA_ERROR_IN_PROGRESS\nDOCA_ERROR_BAD_STATE\nDOCA_SUCCESS\n\
                 heard opcode 0, 5 bytes, immediate 0, 5 of data, own connection 1\n\
                 heard opcode 1, 5 bytes, immediate 11223344, 10 of data, own connection 1\n\
                 hellohello\nwritten hello, 0 of data\n\
                 heard opcode 2, 5 bytes, immediate abcd, 10 of data, own connection 1\n\
                 read hello, 5 of data\nwas 42, is 47\nwas 47, is 9\nfailed 0\n\
                 DOCA_ERROR_IN_USE\n";
    assert_eq!(said, right, "{errors}");
    let states = "state 0 to 2\nstate 0 to 2\n";
    let refused = "dpa: doca_task_submit: the task is submitted already\n\
                   dpa: doca_pe_destroy: a context of the engine is started\n";
    assert_eq!(
        errors,
        format!("{states}{refused}state 2 to 0\nstate 2 to 0\n")
    );
}

#[test]
fn tasks_have_bounds() {
    let (said, errors) = scene(&["bounds"], "loop");
    let [invalid, state] = ["DOCA_ERROR_INVALID_VALUE", "DOCA_ERROR_BAD_STATE"];
    let right = [
        "DOCA_ERROR_NOT_CONNECTED",
        // A buffer beyond its map, before it, and data beyond their buffer.
        invalid,
        invalid,
        invalid,
        // 9 bytes for a place of 8, 9 and 10.
        invalid,
        "DOCA_SUCCESS",
        "DOCA_SUCCESS",
        // Four tasks, and one more.
        "DOCA_SUCCESS",
        "DOCA_SUCCESS",
        "DOCA_SUCCESS",
        "DOCA_SUCCESS",
        "DOCA_ERROR_NO_MEMORY",
        "failed 0",
        state,
        "failed 2",
        "DOCA_ERROR_IN_PROGRESS",
        state,
        "failed 6",
        invalid,
        "references 1",
        "references 2",
        "DOCA_ERROR_IN_USE",
        // More elements than fit into 32 bits, and no place for the buffer, which takes no element.
        invalid,
        invalid,
        "9 free",
        "DOCA_ERROR_NO_MEMORY",
        "DOCA_ERROR_NOT_SUPPORTED",
    ];
    assert_eq!(said.lines().collect::<Vec<_>>(), right, "{errors}");
    for line in [
        "doca_task_submit: doca_rdma_connect comes first",
        "doca_task_submit: 9 bytes for a buffer of 8",
        "doca_rdma_task_write_allocate_init: Write: 4 tasks exist",
        "doca_task_submit: Mmap: it is not started",
        "doca_task_free: the task has not ended",
        "doca_task_submit: Rdma: it does not exist any more",
        "doca_buf_inventory_buf_get_by_addr: all 12 elements are in use",
    ] {
        assert!(
            errors.contains(&format!("dpa: {line}\n")),
            "{line}: {errors}"
        );
    }
    assert_eq!(errors.matches("does not exist\n").count(), 1, "{errors}");
}

/// The wire of a test with two programs.
fn link(name: &str) -> String {
    let socket = prefix().join(format!("link of {name}"));
    let _ = std::fs::remove_file(&socket);
    format!("link:path={}", socket.display())
}

/// More messages than both rings have, and each has its own data.
#[test]
fn two_programs_have_tasks() {
    let (said, errors) = scene(&["between", "300"], &link("tasks"));
    assert_eq!(said, "300 messages, failed 0\n", "{errors}");
}

/// 24 writes of 8 MiB to a program that is stopped. What waits for it has a bound, all writes end
/// once it goes on, and they fail once it is killed.
#[test]
fn a_stopped_program_has_a_bound() {
    for (name, failed) in [("stopped", 0), ("killed", 24)] {
        let (said, errors) = scene(&[name], &link(name));
        let right = format!("0 of 24 ended, below 120 MiB: 1\nfailed {failed}\n");
        assert_eq!(said, right, "{name}: {errors}");
    }
}
