//! The C example, built as a user builds it, with the shared and with the static library.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use dpamatch_needs::Need;

fn run(command: &mut Command) -> Output {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{command:?}: {}\n{errors}",
        output.status
    );
    output
}

fn is_there(program: &str) -> bool {
    Command::new(program)
        .arg("--version")
        .output()
        .is_ok_and(|output| output.status.success())
}

/// What pkg-config says of the installed library.
fn flags(prefix: &Path, question: &str) -> Vec<String> {
    let mut command = Command::new("pkg-config");
    command
        .env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig"))
        .args([question, "dpamatch"]);
    let text = String::from_utf8(run(&mut command).stdout).expect("text");
    text.split_whitespace().map(str::to_owned).collect()
}

#[test]
fn the_c_example_runs() {
    let has_compiler = Need::CCompiler.require(is_there("cc"));
    let has_config = Need::PkgConfig.require(is_there("pkg-config"));
    if !has_compiler || !has_config {
        return;
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let prefix = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("installed");
    let target = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .parent()
        .expect("the target folder");
    let mut install = Command::new(folder.join("install.sh"));
    install
        .arg(&prefix)
        .env("CARGO", env!("CARGO"))
        .env("CARGO_PROFILE", "dev");
    run(install.env("CARGO_TARGET_DIR", target));
    let source = folder.join("examples/exchange.c");
    for fixed in [false, true] {
        let program = prefix.join(if fixed { "exchange-static" } else { "exchange" });
        let mut compile = Command::new("cc");
        compile
            .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-O1", "-o"])
            .arg(&program);
        compile.arg(&source).args(flags(&prefix, "--cflags"));
        if fixed {
            compile
                .arg(prefix.join("lib/libdpamatch.a"))
                .args(["-ldl", "-lm"]);
        } else {
            compile.args(flags(&prefix, "--libs"));
        }
        compile.arg("-lpthread");
        run(&mut compile);
        for options in ["", "workers=1", "handlers=4,receives=16,eager-limit=64"] {
            let mut example = Command::new(&program);
            let output = run(example.arg(options).env_remove("LD_LIBRARY_PATH"));
            let line = String::from_utf8(output.stdout).expect("text");
            let bytes = 3 * (20 * 20000 + 180 * 4);
            let begin = format!("600 messages, {bytes} bytes, ");
            assert!(line.starts_with(&begin), "{options}: {line}");
        }
    }
}
