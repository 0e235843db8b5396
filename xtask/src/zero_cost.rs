//! `cargo xtask zero-cost`: seeded faults, story hooks and charges cost a normal build nothing.
//!
//! Compiles `dpa_model` to assembly twice with the release profile's settings: as it is, and from a
//! copy in which every hook has been taken out of the text (`fault!(X)` is `false`, `weak!(X, o)`
//! is `o`, `tell!(..)` and `charge!(..)` are gone). Both must have the same functions with the same
//! number of instructions.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Failure, process, root};

/// Runs the task; it takes no arguments.
///
/// # Errors
/// [`Failure::Task`] when a function differs, or when a build or a file fails.
pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    if let Some(argument) = args.first() {
        return Err(Failure::Usage(format!("`zero-cost` takes nothing, got `{argument}`")));
    }
    compare().map_err(Failure::Task)
}

fn compare() -> Result<(), String> {
    let root = root();
    let shared = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let folder = shared.join("zero-cost");
    let library = crossbeam(&root, &folder)?;
    // Both are copied, so that paths, and with them all names, have the same length.
    let (with, without) = (folder.join("hooks"), folder.join("plain"));
    let source = root.join("dpa_model/src");
    copy(&source, &with, &mut |text: &str| text.to_owned())?;
    let mut hooks = 0;
    copy(&source, &without, &mut |text: &str| strip(text, &mut hooks))?;
    if hooks == 0 {
        return Err("there is no hook in dpa_model/src: nothing is compared".to_owned());
    }
    let (with, without) =
        (functions(&assembly(&with, &library)?), functions(&assembly(&without, &library)?));
    let differing = differences(&with, &without);
    let count = |functions: &Functions| functions.values().map(Vec::len).sum::<usize>();
    let same = with.iter().filter(|(name, text)| without.get(*name) == Some(text)).count();
    println!(
        "zero-cost: {hooks} hooks, {} functions, {} instructions with them and {} without; {same} functions are the \
         same to the letter",
        with.len(),
        count(&with),
        count(&without),
    );
    if with.is_empty() {
        return Err("the assembly has no function".to_owned());
    }
    if differing.is_empty() {
        Ok(())
    } else {
        Err(format!("hooks cost something:\n{}", differing.join("\n")))
    }
}

/// Instructions by function.
type Functions = BTreeMap<String, Vec<String>>;

/// One line for each function that is not in both, or not as long in both.
fn differences(with: &Functions, without: &Functions) -> Vec<String> {
    let mut names: Vec<_> = with.keys().chain(without.keys()).collect();
    names.sort();
    names.dedup();
    let length = |functions: &Functions, name| functions.get(name).map(Vec::len);
    names
        .into_iter()
        .map(|name| (name, length(with, name), length(without, name)))
        .filter(|(_, with, without)| with != without)
        .map(|(name, with, without)| {
            format!("  {name}: {with:?} instructions, without hooks {without:?}")
        })
        .collect()
}

/// Builds the crate's one dependency and returns its library.
fn crossbeam(root: &Path, folder: &Path) -> Result<PathBuf, String> {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo
        .current_dir(root)
        .args(["build", "--quiet", "--release", "-p", "crossbeam-utils"])
        .env("CARGO_TARGET_DIR", folder)
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env("RUSTFLAGS", "");
    succeed(&mut cargo)?;
    let folder = folder.join("release/deps");
    let is_library = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.starts_with("libcrossbeam_utils-") && name.ends_with(".rlib")
    };
    let newest = |path: &PathBuf| fs::metadata(path).and_then(|data| data.modified()).ok();
    files(&folder)?
        .into_iter()
        .filter(is_library)
        .max_by_key(newest)
        .ok_or("crossbeam-utils was not built".into())
}

/// Compiles the crate in `folder`, and returns its assembly.
fn assembly(folder: &Path, library: &Path) -> Result<String, String> {
    let output = folder.with_extension("s");
    let mut rustc = Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    rustc
        .current_dir(folder)
        .args(["--crate-name", "dpa_model", "--crate-type", "lib", "--edition", "2024", "lib.rs"])
        .args(["--cfg", "feature=\"std\"", "--cap-lints", "allow", "-C", "metadata=zero-cost"])
        .args(["-C", "opt-level=3", "-C", "codegen-units=1", "--emit"])
        .arg(format!("asm={}", output.display()))
        .arg("--extern")
        .arg(format!("crossbeam_utils={}", library.display()));
    succeed(&mut rustc)?;
    read(&output)
}

/// The instructions of each function; labels and directives are left out.
fn functions(assembly: &str) -> Functions {
    let mut functions = Functions::new();
    let mut current = None;
    for line in assembly.lines() {
        if let Some(name) =
            line.strip_suffix(':').filter(|name| !name.starts_with(['.', '\t', ' ']))
        {
            current = Some(name.to_owned());
        } else if line.starts_with("\t.size") || line.starts_with("\t.section") {
            current = None;
        } else if let Some(instruction) =
            line.strip_prefix('\t').filter(|line| !line.starts_with(['.', '#']))
            && let Some(name) = &current
        {
            functions.entry(name.clone()).or_default().push(instruction.to_owned());
        }
    }
    functions
}

/// The text without its hooks; counts them.
fn strip(text: &str, hooks: &mut usize) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((place, hook)) = next_hook(rest) {
        let (before, after) = rest.split_at(place);
        let Some((inside, behind)) = parentheses(&after[hook.len()..]) else { break };
        plain.push_str(before);
        match hook {
            "fault!" => plain.push_str("false"),
            "weak!" => {
                plain.push_str(inside.split_once(',').map_or("", |(_, ordering)| ordering.trim()))
            }
            _ => plain.push_str("()"),
        }
        *hooks += 1;
        rest = behind;
    }
    plain.push_str(rest);
    plain
}

/// The first hook of the text that is called, not defined or imported, and where it stands.
fn next_hook(text: &str) -> Option<(usize, &'static str)> {
    let mut found: Option<(usize, &'static str)> = None;
    for hook in ["fault!", "weak!", "tell!", "charge!"] {
        let calls = text.match_indices(hook).filter(|&(place, _)| {
            let before = text[..place].chars().next_back();
            let starts = before.is_none_or(|c| !c.is_alphanumeric() && c != '_' && c != '`');
            let defined = text[..place].ends_with("fn ");
            starts && !defined && text[place + hook.len()..].starts_with('(')
        });
        let first = calls.map(|(place, _)| (place, hook)).next();
        found = match (found, first) {
            (Some(a), Some(b)) => Some(if a.0 < b.0 { a } else { b }),
            (a, b) => a.or(b),
        };
    }
    found
}

/// What is inside the parentheses with which the text begins, and what follows them.
fn parentheses(text: &str) -> Option<(&str, &str)> {
    let mut depth = 0usize;
    for (place, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return text.strip_prefix('(').map(|_| (&text[1..place], &text[place + 1..]));
        }
    }
    None
}

/// Copies a folder of sources, each changed by `change`, except the files that define the hooks.
fn copy(from: &Path, to: &Path, change: &mut dyn FnMut(&str) -> String) -> Result<(), String> {
    fs::create_dir_all(to).map_err(|error| format!("cannot create {}: {error}", to.display()))?;
    for file in files(from)? {
        let target = to.join(file.file_name().unwrap_or_default());
        if file.is_dir() {
            copy(&file, &target, change)?;
            continue;
        }
        let text = read(&file)?;
        let defines = ["fault.rs", "story.rs", "charge.rs"].iter().any(|name| file.ends_with(name));
        let text = if defines { text } else { change(&text) };
        fs::write(&target, text)
            .map_err(|error| format!("cannot write {}: {error}", target.display()))?;
    }
    Ok(())
}

fn files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let failed = |error| format!("cannot list {}: {error}", folder.display());
    let entries = fs::read_dir(folder).map_err(failed)?;
    entries.map(|entry| entry.map(|entry| entry.path()).map_err(failed)).collect()
}

fn read(file: &Path) -> Result<String, String> {
    fs::read_to_string(file).map_err(|error| format!("cannot read {}: {error}", file.display()))
}

fn succeed(command: &mut Command) -> Result<(), String> {
    let finished =
        process::run(command).map_err(|error| format!("cannot run {command:?}: {error}"))?;
    if finished.status.success() {
        Ok(())
    } else {
        Err(format!("{command:?} failed:\n{}", finished.output))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hooks_leave_the_text() {
        let text = "use story::Step;\nif a && !fault!(Broken) { tell!(Step::Fast { handler: f(1) }); }\n\
                    x.store(1, weak!(Weak, Release)); default!(x); foretell!(y);";
        let plain = "use story::Step;\nif a && !false { (); }\n\
                     x.store(1, Release); default!(x); foretell!(y);";
        let mut hooks = 0;
        assert_eq!(strip(text, &mut hooks), plain);
        assert_eq!(hooks, 3);
    }

    #[test]
    fn a_longer_function_is_a_difference() {
        let with = functions("one:\n\tpush rax\n.L1:\n\tret\n\t.size one\nkept:\n\tret\n");
        let without = functions("one:\n\tret\n\t.size one\nkept:\n\tret\n");
        assert_eq!(with["one"], ["push rax", "ret"]);
        assert_eq!(differences(&with, &without).len(), 1);
        assert!(differences(&with, &with).is_empty());
        assert_eq!(
            differences(&with, &functions("one:\n\tnop\n\tret\n")).len(),
            1,
            "a function is missing"
        );
    }
}
