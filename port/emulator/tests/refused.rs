//! Calls of DOCA that are not emulated: each one links, refuses, and names itself in a line.

mod support;

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;
use support::{prefix, run, text};

const HOST: &str = include_str!("../include/dpa_doca_refused.h");
const DEVICE: &str = include_str!("../include/dpa_doca_dev_refused.h");

/// The calls in a table's lines that begin so.
fn calls(table: &'static str, begin: &str) -> Vec<&'static str> {
    let call = |line: &'static str| line.strip_prefix(begin)?.split(['(', ')']).next();
    table
        .lines()
        .filter_map(call)
        .filter(|call| call.starts_with("doca_"))
        .collect()
}

fn of_the_device() -> Vec<&'static str> {
    calls(DEVICE, "#define ")
}

/// A program that makes all calls of the host, or the one of the device that its argument numbers.
fn program() -> &'static PathBuf {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let folder = prefix().join("sources");
        std::fs::create_dir_all(&folder).expect("a folder");
        let mut device = "#include <doca_dpa_dev_rdma.h>\n\
                          __dpa_rpc__ uint64_t refused(int which)\n{\n\tswitch (which) {\n"
            .to_owned();
        for (at, call) in of_the_device().iter().enumerate() {
            device += &format!("\tcase {at}: return {call}(1, 2ul);\n");
        }
        device += "\t}\n\treturn 7;\n}\n";
        let mut host = "#include <doca_dpa.h>\n#include <doca_dev.h>\n#include <stdio.h>\n\
            #include <stdlib.h>\nextern struct doca_dpa_app *refused_calls;\n\
            doca_dpa_func_t refused;\nint main(int count, char **words)\n{\n\
            \tstruct doca_devinfo **list;\n\tstruct doca_dev *device;\n\
            \tstruct doca_dpa *dpa;\n\tuint32_t devices;\n\tuint64_t result = 0;\n\
            \tif (count > 1) {\n\t\tdoca_devinfo_create_list(&list, &devices);\n\
            \t\tdoca_dev_open(list[0], &device);\n\t\tdoca_dpa_create(device, &dpa);\n\
            \t\tdoca_dpa_set_app(dpa, refused_calls);\n\t\tdoca_dpa_start(dpa);\n\
            \t\tint before = doca_dpa_peek_at_last_error(dpa);\n\
            \t\tint called = doca_dpa_rpc(dpa, &refused, &result, atoi(words[1]));\n\
            \t\tprintf(\"%d %s %s\\n\", before, doca_error_get_name(called),\n\
            \t\t       doca_error_get_name(doca_dpa_peek_at_last_error(dpa)));\n\
            \t\treturn 0;\n\t}\n"
            .to_owned();
        for call in calls(HOST, "DPA_REFUSED(") {
            host += &format!("\tputs(doca_error_get_name({call}()));\n");
        }
        for call in calls(HOST, "DPA_NULL(") {
            host += &format!("\tputs({call}() ? \"made\" : \"null\");\n");
        }
        host += "\treturn 0;\n}\n";
        for (name, source) in [("device.c", device), ("host.c", host)] {
            std::fs::write(folder.join(name), source).expect("a file");
        }
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut build = Command::new(root.join("build.sh"));
        run(build.arg(prefix()).arg("refused_calls").arg(folder));
        prefix().join("refused_calls")
    })
}

#[test]
fn the_host_s_calls_refuse() {
    let ran = run(&mut Command::new(program()));
    let [refused, null] = ["DPA_REFUSED(", "DPA_NULL("].map(|kind| calls(HOST, kind));
    assert!(refused.len() > 200 && null.len() > 30);
    let answers = [
        vec!["DOCA_ERROR_NOT_SUPPORTED"; refused.len()],
        vec!["null"; null.len()],
    ];
    assert_eq!(
        text(&ran.stdout).lines().collect::<Vec<_>>(),
        answers.concat()
    );
    let line = |call: &&str| format!("dpa: {call}: the call is not emulated");
    let lines: Vec<_> = refused.iter().chain(&null).map(line).collect();
    assert_eq!(text(&ran.stderr).lines().collect::<Vec<_>>(), lines);
}

/// The process of a call of device code is in an error state.
#[test]
fn the_device_s_calls_end_their_process() {
    let all = of_the_device();
    assert!(all.len() > 20);
    for (at, call) in all.iter().enumerate() {
        let ran = run(Command::new(program()).arg(at.to_string()));
        let fatal = "DOCA_ERROR_DEVICE_FATAL_ERROR";
        assert_eq!(text(&ran.stdout), format!("0 {fatal} {fatal}\n"), "{call}");
        let errors = text(&ran.stderr);
        let line = format!(": {call} is not emulated; the process is in error state 1, at refused");
        assert!(errors.contains(&line), "{call}: {errors}");
    }
}
