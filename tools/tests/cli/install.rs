//! What a system installs beside the program: completions and manual pages.

use std::fs;

use super::*;

fn dpamatch(words: &[&str]) -> String {
    text(&super::dpamatch(words)).to_owned()
}

/// Commands that `--help` lists.
fn commands(help: &str) -> Vec<&str> {
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let lines = lines.map_while(|line| line.strip_prefix("  "));
    let lines = lines.filter(|line| !line.starts_with(' '));
    lines.filter_map(|line| line.split(' ').next()).filter(|&name| name != "help").collect()
}

#[test]
fn every_shell_completes_every_command() {
    let help = dpamatch(&["--help"]);
    let commands = commands(&help);
    assert!(commands.len() > 12, "{help}");
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = dpamatch(&["completions", shell]);
        for word in commands.iter().copied().chain(["scenario", "what-if"]) {
            assert!(script.contains(word), "{shell}: no {word}");
        }
    }
}

/// The script does what it is for, in the shell that is everywhere.
#[test]
#[cfg(unix)]
fn bash_completes_options_and_values() {
    let script = dpamatch(&["completions", "bash"]);
    let completed = |words: &[&str]| {
        let ask = format!(
            "COMP_WORDS=({}); COMP_CWORD={}; _dpamatch dpamatch '{}' '{}'; echo ${{COMPREPLY[@]}}",
            words.join(" "),
            words.len() - 1,
            words[words.len() - 1],
            words[words.len() - 2],
        );
        let mut bash = Command::new("bash");
        let bash = bash.args(["--norc", "-c"]).arg(format!("{script}\n{ask}"));
        let output = bash.stdin(Stdio::null()).output().expect("bash runs");
        assert!(output.status.success(), "{}", said(&output));
        String::from_utf8(output.stdout).expect("text").trim().to_owned()
    };
    assert_eq!(completed(&["dpamatch", "foo"]), "footprint");
    assert_eq!(completed(&["dpamatch", "bench", "--scen"]), "--scenario");
    assert_eq!(completed(&["dpamatch", "analyze", "--order", "posts"]), "posts-first");
}

#[test]
fn every_command_has_a_page() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("man1");
    dpamatch(&["man", "--out", path.to_str().expect("plain")]);
    let page = |name: &str| {
        let file = path.join(format!("{name}.1"));
        fs::read_to_string(&file).unwrap_or_else(|error| panic!("{name}: {error}"))
    };
    let top = page("dpamatch");
    assert_eq!(top, dpamatch(&["man"]));
    for command in commands(&dpamatch(&["--help"])) {
        let help = dpamatch(&[command, "--help"]);
        // A minus sign of an option is written so that it is not broken.
        let text = page(&format!("dpamatch-{command}")).replace("\\-", "-");
        assert!(text.contains(".TH ") && top.replace("\\-", "-").contains(command), "{command}");
        let options = help.lines().map(str::trim_start).filter(|line| line.starts_with("--"));
        for option in options.filter_map(|line| line.split(' ').next()) {
            assert!(text.contains(option), "{command}: no {option}");
        }
        for inner in commands(&help) {
            page(&format!("dpamatch-{command}-{inner}"));
        }
    }
}
