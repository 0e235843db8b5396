//! The compiler of device parts: paths with spaces, marks of entry points, options that it does not
//! take.

mod support;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use support::{prefix, run, text};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/marks")
}

fn dpacc(arguments: &[&str]) -> Output {
    let mut command = Command::new(prefix().join("bin/dpacc"));
    command.args(arguments).current_dir(prefix());
    command.output().expect("dpacc")
}

fn errors(arguments: &[&str]) -> (String, Option<i32>) {
    let ran = dpacc(arguments);
    (text(&ran.stderr), ran.status.code())
}

/// Marks on types are left away, `static` entry points are found, and lines are those of the
/// source.
#[test]
fn marks_stand_anywhere_and_paths_have_spaces() {
    let device = folder().join("device.c").display().to_string();
    let archive = prefix().join("mar ks.a").display().to_string();
    let options = format!(
        "--devicecc-options=-Wall, -Wextra -Werror,-I{}/more of it,-DADDED=3",
        folder().display()
    );
    let made = errors(&[&device, "-o", &archive, "--app-name=marks", &options]);
    assert_eq!(made, (String::new(), Some(0)));
    let program = prefix().join("mar ks");
    let include = |folder: &str| format!("-I{}/include{folder}", prefix().display());
    let library = format!("{}/lib", prefix().display());
    run(Command::new("cc")
        .arg(folder().join("host.c"))
        .arg(&archive)
        .args([include(""), include("/fallback"), format!("-L{library}")])
        .arg(format!("-Wl,-rpath,{library}"))
        .args(["-lflexio", "-o"])
        .arg(&program));
    let ran = run(&mut Command::new(&program));
    assert_eq!(text(&ran.stdout), "123 11 8\n");
    let source = include_str!("marks/device.c");
    let line = source.lines().position(|line| line.contains("ERROR crash"));
    let place = format!(
        "marks/device.c:{}; the process is",
        1 + line.expect("a mark")
    );
    assert!(text(&ran.stderr).contains(&place), "{}", text(&ran.stderr));
}

#[test]
fn what_dpacc_does_not_take_is_said() {
    for (name, line) in [("a", "1"), ("b", "2")] {
        let folder = prefix().join(name);
        std::fs::create_dir_all(&folder).expect("a folder");
        let source = format!(
            "#include <dpaintrin.h>\n__dpa_rpc__ unsigned long of_{name}(void) {{ return {line}; }}\n\
             static __dpa_rpc__ unsigned long both(void) {{ return {line}; }}\n"
        );
        std::fs::write(folder.join("same.c"), source).expect("a file");
    }
    let source = "a/same.c";
    let common = ["-o", "x.a", "--app-name=x"];
    let with = |more: &[&str]| errors(&[&common[..], more].concat());
    assert_eq!(with(&[source]), (String::new(), Some(0)));
    let twice = "dpacc: two entry points have the name both\n";
    assert_eq!(with(&[source, "b/same.c"]), (twice.to_owned(), Some(1)));
    let unknown = "dpacc: --no-such=1 is not known and has no effect\n";
    assert_eq!(
        with(&[source, "--no-such=1"]),
        (unknown.to_owned(), Some(0))
    );
    let none = "dpacc: no/such.c: no such file\n";
    assert_eq!(with(&["no/such.c"]), (none.to_owned(), Some(1)));
    let value = "dpacc: -o: no value\n";
    assert_eq!(errors(&[source, "-o"]), (value.to_owned(), Some(1)));
    let one = "dpacc: -c with -o takes one source\n";
    let two = ["-c", "-o", "x.o", source, "b/same.c"];
    assert_eq!(errors(&two), (one.to_owned(), Some(1)));
}

/// Libraries are looked for as the linker does.
#[test]
fn libraries_without_checks_are_named() {
    let folder = prefix().join("more libraries");
    std::fs::create_dir_all(&folder).expect("a folder");
    let source = |name: &str, text: &str| {
        std::fs::write(prefix().join(name), text).expect("a file");
    };
    source("plus.c", "int plus(int *a) { return *a + 1; }\n");
    source(
        "uses_plus.c",
        "#include <dpaintrin.h>\nint plus(int *a);\n\
         __dpa_rpc__ unsigned long more(int *a) { return plus(a); }\n",
    );
    for (name, checks) in [("seen", "1"), ("unseen", "0")] {
        let mut compile = Command::new(prefix().join("bin/dpacc"));
        compile.args(["plus.c", "-c", "-o", "plus.o"]);
        compile.env("DPACC_CHECK", checks);
        run(compile.current_dir(prefix()));
        let library = folder.join(format!("lib{name}.a"));
        run(Command::new("ar")
            .args(["rcs".as_ref(), library.as_os_str(), "plus.o".as_ref()])
            .current_dir(prefix()));
    }
    let line = |library: &str| {
        let why = "dpacc: data races are not looked for, since this code has no checks";
        (format!("{why}: {library}\n"), Some(0))
    };
    let with = |options: &[&str]| {
        let common = ["uses_plus.c", "-o", "more.a", "--app-name=adds"];
        errors(&[&common[..], options].concat())
    };
    let is_right = (String::new(), Some(0));
    assert_eq!(with(&["-Lmore libraries", "-lseen"]), is_right);
    assert_eq!(with(&["-Lmore libraries", "-lunseen"]), line("-lunseen"));
    assert_eq!(with(&["-L", "more libraries", "-l", "seen"]), is_right);
    let apart = with(&["-L", "more libraries", "-l", "unseen"]);
    assert_eq!(apart, line("-lunseen"));
    let file = "more libraries/libunseen.a";
    let list = format!("--device-libs=-Lmore libraries,{file}");
    assert_eq!(with(&[&list]), line(file));
}
