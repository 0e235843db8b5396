//! Programs of the tests, built as users build them.
#![allow(dead_code, reason = "each test uses a part")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, OnceLock, PoisonError};

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Runs a command that has to succeed.
pub(crate) fn run(command: &mut Command) -> Output {
    // The machine may be busy, or stop the program for a while.
    let watchdog = "DPA_WATCHDOG_S";
    if command.get_envs().all(|(name, _)| name != watchdog) {
        command.env(watchdog, "300");
    }
    let output = command.output().expect("a program");
    let (said, errors) = (text(&output.stdout), text(&output.stderr));
    assert!(
        output.status.success(),
        "{command:?}: {}\n{said}{errors}",
        output.status
    );
    output
}

/// Installs the emulator.
pub(crate) fn install(prefix: &Path) {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .parent()
        .expect("the target folder");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    run(Command::new(folder.join("install.sh"))
        .arg(prefix)
        .env("CARGO", env!("CARGO"))
        .env("CARGO_PROFILE", "dev")
        .env("CARGO_TARGET_DIR", target));
}

/// The folder where the emulator is installed.
pub(crate) fn prefix() -> &'static Path {
    static PREFIX: OnceLock<PathBuf> = OnceLock::new();
    PREFIX.get_or_init(|| {
        let temporary = Path::new(env!("CARGO_TARGET_TMPDIR"));
        // Paths of users have spaces, too.
        let prefix = temporary.join(format!("tests of {}", env!("CARGO_CRATE_NAME")));
        install(&prefix);
        prefix
    })
}

/// The compiler of device parts.
pub(crate) fn dpacc() -> Command {
    Command::new(prefix().join("bin/dpacc"))
}

/// Options of a host part's compiler.
pub(crate) fn libraries() -> [String; 7] {
    let prefix = prefix().display();
    [
        format!("-I{prefix}/include"),
        format!("-I{prefix}/include/fallback"),
        format!("-L{prefix}/lib"),
        format!("-Wl,-rpath,{prefix}/lib"),
        "-lflexio".to_owned(),
        "-libverbs".to_owned(),
        "-lmlx5".to_owned(),
    ]
}

/// Builds the program in the folder `tests/NAME`, once.
pub(crate) fn build(name: &str) -> PathBuf {
    build_in("tests", name)
}

/// Builds an example, once.
pub(crate) fn example(name: &str) -> PathBuf {
    build_in("examples", name)
}

fn build_in(place: &str, name: &str) -> PathBuf {
    static BUILT: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
    let program = prefix().join(name);
    let mut built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
    if !built.contains(&program) {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let folder = root.join(place).join(name);
        run(Command::new(root.join("build.sh"))
            .arg(prefix())
            .arg(name)
            .arg(folder));
        built.push(program.clone());
    }
    program
}

/// A file of frames of 60 bytes, in the classic pcap format.
pub(crate) fn frames(count: usize) -> PathBuf {
    let words = |words: &[u32]| -> Vec<u8> {
        let bytes = words.iter().map(|word| word.to_le_bytes());
        bytes.collect::<Vec<_>>().concat()
    };
    let mut file = words(&[0xa1b2_c3d4, 0x0004_0002, 0, 0, 1 << 14, 1]);
    for number in 0..count {
        file.extend(words(&[0, 0, 60, 60]));
        file.extend((0..60).map(|at| (at * 7 + number * 3) as u8));
    }
    // Each test has its own file, since they run at the same time.
    let test = std::thread::current();
    let test = test.name().unwrap_or_default();
    let path = prefix().join(format!("{test}.{count}.pcap"));
    std::fs::write(&path, file).expect("a file of frames");
    path
}
