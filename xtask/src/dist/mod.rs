//! `cargo xtask dist`: one archive with everything that users install, and its check.
//!
//! The archive holds a tree as below a prefix: commands, provider, C library, emulator, manual
//! pages, completions, the Python package, and the recorder's sources, which each MPI library needs
//! compiled anew.
//! `install.sh PREFIX` copies the tree. The emulator's libraries have the names of a vendor's, so
//! they are in their own folder, which no search path has by default.

use std::env::consts::ARCH;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process;
use crate::{Failure, root, target};

const INSTALL: &str = include_str!("install.sh");
/// Stands for the prefix in files that name it.
const PREFIX: &str = "@PREFIX@";
/// Packages that are installed as they are built. The C library and the emulator have scripts.
const PACKAGES: &[&str] = &["dpamatch_tools", "dpamatch_papers", "dpamatch_provider"];
const COMMANDS: &[&str] = &["dpamatch", "dpamatch-papers"];
/// Where a shell looks for the completions of a command.
type Place = fn(&str) -> String;
/// Shells by name.
const SHELLS: &[(&str, Place)] = &[
    ("bash", |command| {
        format!("share/bash-completion/completions/{command}")
    }),
    ("zsh", |command| {
        format!("share/zsh/site-functions/_{command}")
    }),
    ("fish", |command| {
        format!("share/fish/vendor_completions.d/{command}.fish")
    }),
];

/// How everything in the archive is built.
#[derive(Clone, Copy)]
struct Profile {
    name: &'static str,
    /// Below the target folder.
    folder: &'static str,
    /// Ends the archive's name.
    mark: &'static str,
}

const RELEASE: Profile = Profile {
    name: "release",
    folder: "release",
    mark: "",
};
const DEV: Profile = Profile {
    name: "dev",
    folder: "debug",
    mark: "-dev",
};

/// Runs the task. `--check` also installs the archive into an empty folder and uses what is there;
/// `--dev` builds fast instead of to run fast.
///
/// # Errors
/// [`Failure::Task`] when something cannot be built, packed, installed or used.
pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    let (mut checks, mut profile) = (false, RELEASE);
    for arg in args {
        match arg.as_str() {
            "--check" => checks = true,
            "--dev" => profile = DEV,
            _ => {
                return Err(Failure::Usage(
                    "dist takes --check, --dev or nothing".to_owned(),
                ));
            }
        }
    }
    let archive = pack(profile).map_err(Failure::Task)?;
    println!("{}", archive.display());
    if checks {
        check(&archive).map_err(Failure::Task)?;
        println!("installed and used");
    }
    Ok(())
}

/// Runs a command to its end; its output is the error if it fails.
fn done(command: &mut Command) -> Result<String, String> {
    let ended = process::run(command)?;
    if ended.status.success() {
        return Ok(ended.stdout);
    }
    Err(format!("{command:?}: {}\n{}", ended.status, ended.output))
}

fn at<T>(path: &Path, result: std::io::Result<T>) -> Result<T, String> {
    result.map_err(|error| format!("{}: {error}", path.display()))
}

fn version() -> Result<String, String> {
    let path = root().join("Cargo.toml");
    let manifest = at(&path, fs::read_to_string(&path))?;
    let line = manifest
        .lines()
        .find_map(|line| line.strip_prefix("version = \""));
    let version = line.and_then(|rest| rest.strip_suffix('"'));
    version
        .map(str::to_owned)
        .ok_or("Cargo.toml has no version".to_owned())
}

/// Builds, stages and packs; returns the archive.
fn pack(profile: Profile) -> Result<PathBuf, String> {
    let mut build = Command::new("cargo");
    build
        .args(["build", "--locked", "--profile", profile.name])
        .current_dir(root());
    for package in PACKAGES {
        build.args(["-p", package]);
    }
    done(&mut build)?;
    let name = format!("dpamatch-{}-{ARCH}-linux{}", version()?, profile.mark);
    let folder = target().join("dist");
    let stage = folder.join(&name);
    if stage.exists() {
        at(&stage, fs::remove_dir_all(&stage))?;
    }
    at(&stage, fs::create_dir_all(&stage))?;
    stage_commands(&stage, profile)?;
    stage_libraries(&stage, profile)?;
    stage_sources(&stage, "mpi/recorder", "recorder")?;
    stage_sources(&stage, "tools/python", "python")?;
    for text in ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"] {
        copy(
            &root().join(text),
            &stage.join("share/doc/dpamatch").join(text),
        )?;
    }
    let install = stage.join("install.sh");
    at(&install, fs::write(&install, INSTALL))?;
    done(Command::new("chmod").arg("755").arg(&install))?;
    let archive = folder.join(format!("{name}.tar.gz"));
    let mut tar = Command::new("tar");
    tar.args([
        "--sort=name",
        "--owner=0",
        "--group=0",
        "--numeric-owner",
        "-czf",
    ]);
    done(tar.arg(&archive).arg("-C").arg(&folder).arg(&name))?;
    Ok(archive)
}

fn copy(from: &Path, to: &Path) -> Result<(), String> {
    let folder = to.parent().unwrap_or(to);
    at(folder, fs::create_dir_all(folder))?;
    at(from, fs::copy(from, to).map(|_| ()))
}

fn stage_commands(stage: &Path, profile: Profile) -> Result<(), String> {
    let built = target().join(profile.folder);
    let provider = "libdpamatch_fi.so";
    copy(
        &built.join(provider),
        &stage.join("lib/libfabric").join(provider),
    )?;
    let pages = stage.join("share/man/man1");
    at(&pages, fs::create_dir_all(&pages))?;
    for name in COMMANDS {
        let command = stage.join("bin").join(name);
        copy(&built.join(name), &command)?;
        done(Command::new(&command).args(["man", "--out"]).arg(&pages))?;
        for (shell, place) in SHELLS {
            let script = done(Command::new(&command).args(["completions", shell]))?;
            let path = stage.join(place(name));
            let folder = path.parent().unwrap_or(stage);
            at(folder, fs::create_dir_all(folder))?;
            at(&path, fs::write(&path, script))?;
        }
    }
    Ok(())
}

/// The C library and the emulator, by their own scripts. Files that name the prefix get a mark.
fn stage_libraries(stage: &Path, profile: Profile) -> Result<(), String> {
    let emulator = stage.join("lib/dpamatch-emulator");
    for (script, prefix) in [
        ("mpi/capi/install.sh", stage),
        ("port/emulator/install.sh", emulator.as_path()),
    ] {
        let mut install = Command::new("sh");
        install.arg(root().join(script)).arg(prefix);
        install
            .env("CARGO_TARGET_DIR", target())
            .env("CARGO_PROFILE", profile.name);
        done(&mut install)?;
        let packages = prefix.join("lib/pkgconfig");
        for entry in at(&packages, fs::read_dir(&packages))? {
            let path = at(&packages, entry)?.path();
            let text = at(&path, fs::read_to_string(&path))?;
            let text = text.replace(&stage.display().to_string(), PREFIX);
            at(&path, fs::write(&path, text))?;
        }
    }
    Ok(())
}

/// The files of a folder that git knows, as sources below `share/dpamatch`.
fn stage_sources(stage: &Path, folder: &str, name: &str) -> Result<(), String> {
    let mut list = Command::new("git");
    list.args(["ls-files", folder]).current_dir(root());
    for file in done(&mut list)?.lines() {
        let inner = file.trim_start_matches(folder).trim_start_matches('/');
        let place = stage.join("share/dpamatch").join(name).join(inner);
        copy(&root().join(file), &place)?;
    }
    Ok(())
}

/// Installs the archive below an empty folder, and uses each part that needs no MPI library.
fn check(archive: &Path) -> Result<(), String> {
    let folder = target().join("dist/check");
    if folder.exists() {
        at(&folder, fs::remove_dir_all(&folder))?;
    }
    at(&folder, fs::create_dir_all(&folder))?;
    done(
        Command::new("tar")
            .arg("-xzf")
            .arg(archive)
            .arg("-C")
            .arg(&folder),
    )?;
    let name = archive.file_name().unwrap_or_default().to_string_lossy();
    let tree = folder.join(name.trim_end_matches(".tar.gz"));
    // A prefix with a dot, so that a pattern in a name would show.
    let prefix = folder.join("opt/dpamatch.1");
    done(Command::new("sh").arg(tree.join("install.sh")).arg(&prefix))?;
    for (refused, why) in [
        ("/usr", "/usr: libfabric would load the provider"),
        (
            "/usr/local/.",
            "/usr/local: libfabric would load the provider",
        ),
        ("", "usage: install.sh PREFIX"),
    ] {
        let output = process::run(Command::new("sh").arg(tree.join("install.sh")).arg(refused))?;
        if output.status.code() != Some(2) || !output.output.contains(why) {
            return Err(format!(
                "install.sh `{refused}` did not refuse with `{why}`: {}",
                output.output
            ));
        }
    }
    at(&tree, fs::remove_dir_all(&tree))?;
    for name in COMMANDS {
        let said = done(Command::new(prefix.join("bin").join(name)).arg("--version"))?;
        if !said.contains(&version()?) {
            return Err(format!("{name} --version printed {said}"));
        }
    }
    let command = prefix.join("bin/dpamatch");
    let papers = prefix.join("bin/dpamatch-papers");
    done(Command::new(papers).args(["compare", "spans", "--depths", "4", "--rounds", "1"]))?;
    done(Command::new(&command).args(["footprint", "--bins", "128"]))?;
    done(Command::new(&command).args(["predict", "--handlers", "2", "--scenario", "nc"]))?;
    // Without an MPI program the provider is found, and no rank used it.
    let ran = process::run(Command::new(&command).args(["run", "--", "true"]))?;
    if ran.output.contains("libdpamatch_fi.so") {
        return Err(format!(
            "dpamatch run does not find the provider: {}",
            ran.output
        ));
    }
    for page in [
        "share/man/man1/dpamatch.1",
        "share/man/man1/dpamatch-bench.1",
        "share/man/man1/dpamatch-papers-compare.1",
        "share/bash-completion/completions/dpamatch-papers",
        "share/dpamatch/python/pyproject.toml",
    ] {
        let page = prefix.join(page);
        at(&page, fs::metadata(&page).map(|_| ()))?;
    }
    compile_and_run(&prefix, &folder)
}

/// Compiles the C example with pkg-config, and the emulator's example with its `dpacc`.
fn compile_and_run(prefix: &Path, folder: &Path) -> Result<(), String> {
    let flags = |packages: &Path, name: &str| {
        let mut query = Command::new("pkg-config");
        query.env("PKG_CONFIG_PATH", packages);
        done(query.args(["--cflags", "--libs", name]))
    };
    let words = |text: &str| {
        text.split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let exchange = folder.join("exchange");
    let mut compile = Command::new("cc");
    compile
        .arg(root().join("mpi/capi/examples/exchange.c"))
        .arg("-o")
        .arg(&exchange);
    compile.args(words(&flags(&prefix.join("lib/pkgconfig"), "dpamatch")?));
    done(compile.arg("-lpthread"))?;
    done(&mut Command::new(&exchange))?;
    let emulator = prefix.join("lib/dpamatch-emulator");
    let example = folder.join("counter");
    done(
        Command::new("cp")
            .arg("-R")
            .arg(root().join("port/emulator/examples/counter"))
            .arg(&example),
    )?;
    let mut make = Command::new("make");
    make.arg("check")
        .arg(format!("PREFIX={}", emulator.display()));
    done(make.current_dir(&example))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_option_is_refused_before_anything_is_built() {
        let Err(Failure::Usage(words)) = run(&["--check".to_owned(), "--fast".to_owned()]) else {
            panic!("an unknown option");
        };
        assert_eq!(words, "dist takes --check, --dev or nothing");
    }

    /// What names a version or a file beside the manifests names the right one.
    #[test]
    fn recipes_name_what_is_there() {
        let read = |path: &str| fs::read_to_string(root().join(path)).expect("a file");
        let version = version().expect("a version");
        for (path, line) in [
            ("CITATION.cff", format!("version: {version}")),
            (
                "tools/python/pyproject.toml",
                format!("version = \"{version}\""),
            ),
            ("CHANGELOG.md", format!("## [{version}]")),
        ] {
            assert!(
                read(path).lines().any(|it| it.starts_with(&line)),
                "{path}: {line}"
            );
        }
        let container = read("tools/packaging/Containerfile");
        let archive = format!("dpamatch-{version}-");
        assert!(container.contains("cargo xtask dist") && !container.contains(&archive));
        let spack = read("tools/packaging/spack/package.py");
        let oldest = read("Cargo.toml");
        let oldest = oldest
            .lines()
            .find_map(|line| line.strip_prefix("rust-version = \""));
        let oldest = oldest
            .and_then(|rest| rest.strip_suffix('"'))
            .expect("a version");
        assert!(spack.contains(&format!("rust@{oldest}:")), "{oldest}");
        for package in PACKAGES {
            assert!(read("Cargo.lock").contains(&format!("name = \"{package}\"")));
        }
    }
}
