//! What commands print and write: values, lines, and digests of longer texts.
//!
//! A test calls [`shown`] with a line of words. `$NAME` is a recorded trace, `@NAME` a file: one of
//! [`inputs`], or one that a call wrote. `< @FILE` at the end is the standard input. The number of
//! spaces in the output does not matter.

mod analyze;
mod bench;
mod channels;
mod compare;
mod cost;
mod diff;
mod explore;
mod footprint;
mod inputs;
mod matching;
mod offload;
mod predict;
mod recorder;
mod run;
mod trace;

use std::sync::Once;

use dpamatch_needs::digest;

use super::tables::{file, run_reads, words};
use super::*;

fn squeezed(text: &str) -> Vec<String> {
    text.lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect()
}

/// Equal values. Real numbers may differ by 1e-6 of themselves.
fn near(found: &Value, expected: &Value) -> bool {
    match (found.as_f64(), expected.as_f64()) {
        (Some(found), Some(expected)) => (found - expected).abs() <= 1e-6 * expected.abs(),
        _ => found == expected,
    }
}

/// One line of text, or several.
trait Lines {
    fn list(&self) -> Vec<&str>;
}

impl Lines for &str {
    fn list(&self) -> Vec<&str> {
        vec![self]
    }
}

impl<const COUNT: usize> Lines for &[&str; COUNT] {
    fn list(&self) -> Vec<&str> {
        self.to_vec()
    }
}

/// What a call printed, or a file that it wrote.
struct Shown {
    call: String,
    text: String,
    lines: Vec<String>,
}

impl Shown {
    fn new(call: &str, text: String) -> Self {
        Self {
            call: call.to_owned(),
            lines: squeezed(&text),
            text,
        }
    }

    /// A file that the call wrote, to look at instead.
    fn file(&self, name: &str) -> Self {
        let path = words(name).remove(0);
        let text = std::fs::read_to_string(&path)
            .unwrap_or_else(|error| panic!("{}: {path}: {error}", self.call));
        Self::new(&format!("{} in {name}", self.call), text)
    }

    /// These are all lines.
    fn is(&self, lines: impl Lines) -> &Self {
        assert_eq!(self.lines, lines.list(), "{}", self.call);
        self
    }

    /// These consecutive lines are in the text.
    fn has_lines(&self, lines: impl Lines) -> &Self {
        let lines = lines.list();
        let mut windows = self.lines.windows(lines.len());
        let is_there = windows.any(|window| window == lines);
        assert!(is_there, "{}: no {lines:#?} in\n{}", self.call, self.text);
        self
    }

    /// The number of lines, and the digest of all.
    fn whole(&self, lines: usize, expected: &str) -> &Self {
        let found = (self.lines.len(), digest(&self.lines.join("\n")));
        let text = &self.text;
        assert_eq!(
            found,
            (lines, expected.to_owned()),
            "{}:\n{text}",
            self.call
        );
        self
    }

    /// The digest of as many consecutive lines, from one with this text.
    fn part(&self, first: &str, lines: usize, expected: &str) -> &Self {
        let windows = self.lines.windows(lines);
        let begun: Vec<String> = windows
            .filter(|window| window[0] == first)
            .map(|window| digest(&window.join("\n")))
            .collect();
        let is_there = begun.iter().any(|found| found == expected);
        let Self { call, text, .. } = self;
        assert!(
            is_there,
            "{call}: {lines} lines from {first:?}: {begun:?} in\n{text}"
        );
        self
    }

    /// A text somewhere in the lines.
    fn has(&self, text: &str) -> &Self {
        let all = self.lines.join("\n");
        assert!(
            all.contains(text),
            "{}: no {text} in\n{}",
            self.call,
            self.text
        );
        self
    }

    fn lacks(&self, text: &str) -> &Self {
        let all = self.lines.join("\n");
        assert!(
            !all.contains(text),
            "{}: {text} in\n{}",
            self.call,
            self.text
        );
        self
    }

    /// The number of lines.
    fn lines(&self, count: usize) -> &Self {
        assert_eq!(self.lines.len(), count, "{}: {}", self.call, self.text);
        self
    }

    /// How often a text is in it.
    fn count(&self, count: usize, text: &str) -> &Self {
        assert_eq!(
            self.text.matches(text).count(),
            count,
            "{}: {text}",
            self.call
        );
        self
    }

    /// A value of the JSON document's results.
    fn json(&self, pointer: &str, value: &str) -> &Self {
        let document: Value = serde_json::from_str(&self.text).expect("one JSON document");
        let found = document["results"].pointer(pointer).unwrap_or(&Value::Null);
        let expected: Value = serde_json::from_str(value).expect("a value");
        let call = &self.call;
        assert!(
            near(found, &expected),
            "{call}: {pointer} is {found}, not {expected}"
        );
        self
    }
}

/// Runs a line that succeeds, and prints nothing on standard error.
fn shown(line: &str) -> Shown {
    shown_with(line, 0, &[])
}

/// Runs a line that ends with this exit code, and whose errors contain these texts.
fn shown_with(line: &str, code: i32, errors: &[&str]) -> Shown {
    static INPUTS: Once = Once::new();
    INPUTS.call_once(|| {
        inputs::INPUTS
            .iter()
            .for_each(|(name, text)| file(name, text));
        let thousand: String = (0..1000).map(|tag| format!("0,16,8,{tag}\n")).collect();
        file("thousand", format!("src,dst,bytes,tag\n{thousand}"));
    });
    let output = run_reads(line);
    let text = std::str::from_utf8(&output.stdout)
        .expect("text")
        .to_owned();
    // Warnings are about the machine, which may be busy.
    let lines = said(&output)
        .lines()
        .filter(|line| !line.contains(": WARNING: "));
    let said: String = lines.map(|line| format!("{line}\n")).collect();
    assert_eq!(output.status.code(), Some(code), "{line}: {said}");
    assert_eq!(errors.is_empty(), said.is_empty(), "{line}: {said}");
    let words = squeezed(&said).join(" ");
    let are_there = errors.iter().all(|error| words.contains(error));
    assert!(are_there, "{line}: {said}");
    Shown::new(line, text)
}
