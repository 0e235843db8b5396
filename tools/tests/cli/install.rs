//! What a system installs beside the program: completions and manual pages.

use std::fs;

use super::*;

fn dpamatch(words: &[&str]) -> String {
    text(&super::dpamatch(words)).to_owned()
}

/// What this program prints.
fn printed(program: &Path, words: &[&str]) -> String {
    let output = Command::new(program).args(words).output();
    text(&output.expect("the program runs")).to_owned()
}

#[test]
fn every_shell_completes_every_command() {
    let programs = [
        (Path::new(DPAMATCH), "scenario"),
        (programs::papers(), "hops"),
    ];
    for (program, option) in programs {
        let commands = subcommands(&printed(program, &["help"]));
        for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
            let script = printed(program, &["completions", shell]);
            for word in commands.iter().map(String::as_str).chain([option]) {
                assert!(script.contains(word), "{shell}: no {word}");
            }
        }
    }
}

/// The script does what it is for, in the shell that is everywhere.
#[test]
#[cfg(unix)]
fn bash_completes_options_and_values() {
    // Too long for an argument.
    let mut script = tempfile::NamedTempFile::new().expect("a file");
    script
        .write_all(dpamatch(&["completions", "bash"]).as_bytes())
        .expect("written");
    let completed = |words: &[&str]| {
        let ask = format!(
            "COMP_WORDS=({}); COMP_CWORD={}; _dpamatch dpamatch '{}' '{}'; echo ${{COMPREPLY[@]}}",
            words.join(" "),
            words.len() - 1,
            words[words.len() - 1],
            words[words.len() - 2],
        );
        let mut bash = Command::new("bash");
        let bash = bash
            .args(["--norc", "-c"])
            .arg(format!(". '{}'\n{ask}", script.path().display()));
        let output = bash.stdin(Stdio::null()).output().expect("bash runs");
        assert!(output.status.success(), "{}", said(&output));
        String::from_utf8(output.stdout)
            .expect("text")
            .trim()
            .to_owned()
    };
    assert_eq!(completed(&["dpamatch", "foo"]), "footprint");
    assert_eq!(completed(&["dpamatch", "bench", "--scen"]), "--scenario");
    assert_eq!(
        completed(&["dpamatch", "analyze", "--order", "posts"]),
        "posts-first"
    );
}

#[test]
fn every_command_has_a_page() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("man1");
    for program in [Path::new(DPAMATCH), programs::papers()] {
        printed(program, &["man", "--out", path.to_str().expect("plain")]);
    }
    let page = |name: &str| {
        let file = path.join(format!("{name}.1"));
        fs::read_to_string(&file).unwrap_or_else(|error| panic!("{name}: {error}"))
    };
    let top = page("dpamatch");
    assert_eq!(top, dpamatch(&["man"]));
    let top = top + &page("dpamatch-papers");
    for command in commands() {
        // A minus sign of an option is written so that it is not broken.
        let text =
            page(&format!("{} {command}", name(&command)).replace(' ', "-")).replace("\\-", "-");
        let inside = command.contains(' ');
        let listed = inside || top.replace("\\-", "-").contains(&command);
        assert!(text.contains(".TH ") && listed, "{command}");
        let help = help(&command);
        let options = help
            .lines()
            .map(str::trim_start)
            .filter(|line| line.starts_with("--"));
        for option in options.filter_map(|line| line.split(' ').next()) {
            assert!(text.contains(option), "{command}: no {option}");
        }
    }
}
