//! Atomic operations in the sources: where each is, and the reason where no model runs it.
//!
//! A *site* is a call that takes a memory ordering, found among the tokens of a file, also inside
//! macros. An ordering that is no argument of such a call is a site, too, so that none is missed
//! because it goes by another way. Files of tests, items with `#[cfg(test)]` and the models
//! themselves have none.
//!
//! A reason is a comment `// ordering: text`. On a line with code it is for that line; above a
//! statement or an item it is for all of it; `//! ordering: text` is for the file. C has
//! `/* ordering: text */`, up to the next empty line: above a function, the next outside of braces.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::ops::Range;
use std::path::Path;
use std::process::Command;

use proc_macro2::{Delimiter, Group, LineColumn, TokenStream, TokenTree};

const ORDERINGS: [&str; 5] = ["Relaxed", "Acquire", "Release", "AcqRel", "SeqCst"];
const OPERATIONS: [&str; 16] = [
    "load",
    "store",
    "swap",
    "compare_and_swap",
    "compare_exchange",
    "compare_exchange_weak",
    "fetch_add",
    "fetch_sub",
    "fetch_and",
    "fetch_nand",
    "fetch_or",
    "fetch_xor",
    "fetch_max",
    "fetch_min",
    "fetch_update",
    "try_update",
];
const MARK: &str = "ordering: ";

/// A file of the repository, line and column, both from 1 on.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Location {
    pub(crate) file: String,
    pub(crate) line: usize,
    pub(crate) column: usize,
}

impl Location {
    /// Reads what a model prints, whose paths lead through the folder of the program.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (rest, column) = text.rsplit_once(':')?;
        let (path, line) = rest.rsplit_once(':')?;
        let mut parts = Vec::new();
        for part in path.split('/') {
            match part {
                ".." => drop(parts.pop()),
                part => parts.push(part),
            }
        }
        Some(Self {
            file: parts.join("/"),
            line: line.parse().ok()?,
            column: column.parse().ok()?,
        })
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// An atomic operation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Site {
    pub(crate) place: Location,
    what: String,
    /// Index of its reason.
    reason: Option<usize>,
}

/// A `weak!` of the sources.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Weak {
    pub(crate) place: Location,
    pub(crate) ordering: String,
    /// Why nothing can notice.
    pub(crate) why: Option<String>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Reason {
    file: String,
    line: usize,
    text: String,
}

/// What some files have.
#[derive(Default, Debug)]
pub(crate) struct Sources {
    sites: Vec<Site>,
    pub(crate) weaks: Vec<Weak>,
    reasons: Vec<Reason>,
}

/// The repository's sources but tests, models and their helpers.
///
/// # Errors
/// A file cannot be read, or is no Rust.
pub(crate) fn of_repository(root: &Path) -> Result<Sources, String> {
    let mut git = Command::new("git");
    git.args(["ls-files", "--cached", "--others", "--exclude-standard"]);
    let listed = crate::process::run(git.args(["*.rs", "*.c", "*.h"]).current_dir(root))?;
    if !listed.status.success() {
        return Err(listed.output);
    }
    let mut sources = Sources::default();
    for file in listed.stdout.lines().filter(|file| !is_test(file)) {
        // One that was deleted is listed until the next commit.
        let Ok(text) = fs::read_to_string(root.join(file)) else {
            continue;
        };
        if file.ends_with(".rs") {
            sources.add(file, &text)?;
        } else {
            sources.add_c(file, &text);
        }
    }
    Ok(sources)
}

fn is_test(file: &str) -> bool {
    let folders = ["tests", "benches", "examples", "loom_tests"];
    file.split('/').any(|part| folders.contains(&part)) || file.ends_with("/tests.rs")
}

impl Sources {
    /// Reads a file of Rust.
    ///
    /// # Errors
    /// It is none.
    pub(crate) fn add(&mut self, file: &str, text: &str) -> Result<(), String> {
        let parsed = text.parse::<TokenStream>();
        let tokens = parsed.map_err(|error| format!("{file}: {error}"))?;
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut names = BTreeSet::new();
        orderings_by_name(&tokens, &mut names);
        let mut scan = Scan {
            file,
            names,
            sites: Vec::new(),
            weaks: Vec::new(),
        };
        scan.walk(&tokens, false);
        let lines: Vec<&str> = text.lines().collect();
        let mut literals = Vec::new();
        literals_of(&tokens, &mut literals);
        // Comments with documentation are literals, too.
        literals.retain(|literal: &Range<LineColumn>| {
            let LineColumn { line, column } = literal.start;
            lines[line - 1].chars().nth(column) != Some('/')
        });
        for (at, line) in lines.iter().enumerate() {
            let Some((code, text)) = reason(line) else {
                continue;
            };
            let spot = |line, column| LineColumn { line, column };
            let mark = spot(at + 1, line.len() - text.len());
            if literals.iter().any(|literal| literal.contains(&mark)) {
                continue;
            }
            let range = if line.trim_start().starts_with("//!") {
                spot(0, 0)..spot(usize::MAX, 0)
            } else if code {
                spot(at + 1, 0)..spot(at + 2, 0)
            } else {
                let next = (at + 1..lines.len()).find(|&next| is_code(lines[next]));
                let from = spot(next.unwrap_or(lines.len()) + 1, 0);
                from..end_of_thing(&tokens, from).unwrap_or(from)
            };
            let mut text = text.to_owned();
            for more in lines[at + 1..].iter().map_while(|line| comment(line)) {
                text = format!("{text} {more}");
            }
            let number = self.reasons.len();
            self.reasons.push(Reason {
                file: file.to_owned(),
                line: at + 1,
                text: text.trim().to_owned(),
            });
            for site in &mut scan.sites {
                if range.contains(&spot(site.place.line, site.place.column - 1)) {
                    // The nearest reason comes last.
                    site.reason = Some(number);
                }
            }
        }
        self.sites.append(&mut scan.sites);
        self.weaks.append(&mut scan.weaks);
        Ok(())
    }

    /// Reads a file of C.
    fn add_c(&mut self, file: &str, text: &str) {
        let (mut current, mut is_outside, mut depth) = (None, false, 0);
        for (at, line) in text.lines().enumerate() {
            if line.trim().is_empty() && !(is_outside && depth != 0) {
                current = None;
            }
            depth += line.matches('{').count();
            depth = depth.saturating_sub(line.matches('}').count());
            if let Some((before, text)) = line.split_once("/* ordering: ") {
                current = Some(self.reasons.len());
                is_outside = before.is_empty();
                self.reasons.push(Reason {
                    file: file.to_owned(),
                    line: at + 1,
                    text: text.trim_end().trim_end_matches("*/").trim().to_owned(),
                });
            }
            for (column, _) in line.match_indices("__atomic_") {
                let what = line[column..].split('(').next().unwrap_or_default();
                self.sites.push(Site {
                    place: Location {
                        file: file.to_owned(),
                        line: at + 1,
                        column: column + 1,
                    },
                    what: what.to_owned(),
                    reason: current,
                });
            }
        }
    }

    /// Prints each site with its first model or its reason, and counts of each crate.
    ///
    /// # Errors
    /// The sites that have neither, and the reasons of none.
    pub(crate) fn judge(&self, models: &BTreeMap<Location, String>) -> Result<String, String> {
        let (mut lines, mut wrong) = (String::new(), Vec::new());
        let mut crates: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
        let mut used = BTreeSet::new();
        for site in &self.sites {
            let verdict = match (models.get(&site.place), site.reason) {
                (Some(model), _) => {
                    crates.entry(package(&site.place.file)).or_default()[0] += 1;
                    format!("model {model}")
                }
                (None, Some(reason)) => {
                    used.insert(reason);
                    crates.entry(package(&site.place.file)).or_default()[1] += 1;
                    format!("reason: {}", self.reasons[reason].text)
                }
                (None, None) => {
                    let (place, what) = (&site.place, &site.what);
                    wrong.push(format!("{place}: `{what}`: no model and no reason"));
                    continue;
                }
            };
            lines += &format!("{}: `{}`: {verdict}\n", site.place, site.what);
        }
        for (at, reason) in self.reasons.iter().enumerate() {
            if !used.contains(&at) {
                let Reason { file, line, .. } = reason;
                wrong.push(format!("{file}:{line}: the reason is for no operation"));
            }
        }
        for (name, [modelled, explained]) in &crates {
            let all = modelled + explained;
            lines += &format!(
                "{name}: {all} operations, {modelled} in models, {explained} with a reason\n"
            );
        }
        if self.sites.is_empty() {
            wrong.push("no operation was found".to_owned());
        }
        if wrong.is_empty() {
            Ok(lines)
        } else {
            Err(wrong.join("\n"))
        }
    }
}

/// The folder of a file's crate.
fn package(file: &str) -> &str {
    if file.starts_with("src/") {
        return "dpamatch";
    }
    let end = file.find("/src/").or(file.find("/include/"));
    &file[..end.or(file.rfind('/')).unwrap_or(0)]
}

/// Whether there is code before it, and the text of a reason.
fn reason(line: &str) -> Option<(bool, &str)> {
    let at = line.find("//")?;
    let text = line[at..].trim_start_matches(['/', '!']).trim_start();
    let text = text.strip_prefix(MARK)?;
    Some((!line[..at].trim().is_empty(), text))
}

/// The text of a further line of a comment.
fn comment(line: &str) -> Option<&str> {
    let text = line.trim_start().strip_prefix("//")?;
    let text = text.trim_start_matches(['/', '!']).trim_start();
    (!text.is_empty() && !text.starts_with(MARK) && !text.starts_with("SAFETY:")).then_some(text)
}

fn is_code(line: &str) -> bool {
    let line = line.trim();
    !line.is_empty() && !line.starts_with("//")
}

/// The end of the statement or item that begins in this line.
fn end_of_thing(tokens: &[TokenTree], from: LineColumn) -> Option<LineColumn> {
    for (at, token) in tokens.iter().enumerate() {
        if token.span().start() >= from {
            let end = thing(tokens, at);
            return tokens
                .get(end.checked_sub(1)?)
                .map(|last| last.span().end());
        }
        if token.span().end() > from {
            let TokenTree::Group(group) = token else {
                return None;
            };
            let inner: Vec<TokenTree> = group.stream().into_iter().collect();
            return end_of_thing(&inner, from);
        }
    }
    None
}

/// The index after the statement, item or part of a list that begins at an index.
fn thing(tokens: &[TokenTree], mut at: usize) -> usize {
    const ITEMS: [&str; 13] = [
        "pub", "fn", "mod", "impl", "use", "static", "const", "struct", "enum", "trait", "unsafe",
        "extern", "let",
    ];
    while is_punct(tokens.get(at), '#') {
        at += if is_punct(tokens.get(at + 1), '!') {
            3
        } else {
            2
        };
    }
    let is_item = ITEMS.iter().any(|word| is_ident(tokens.get(at), word));
    let has_condition = ["if", "while", "match"]
        .iter()
        .any(|word| is_ident(tokens.get(at), word));
    while let Some(token) = tokens.get(at) {
        at += 1;
        let ends = match token {
            TokenTree::Group(group) => {
                let goes_on = has_condition && is_ident(tokens.get(at.wrapping_sub(2)), "unsafe")
                    || is_ident(tokens.get(at), "else")
                    || is_punct(tokens.get(at), '.')
                    || is_punct(tokens.get(at), ';');
                group.delimiter() == Delimiter::Brace && !goes_on
            }
            TokenTree::Punct(punct) => punct.as_char() == ';' || punct.as_char() == ',' && !is_item,
            _ => false,
        };
        if ends {
            return at;
        }
    }
    at
}

fn is_punct(token: Option<&TokenTree>, char: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == char)
}

fn is_ident(token: Option<&TokenTree>, word: &str) -> bool {
    matches!(token, Some(TokenTree::Ident(ident)) if ident == word)
}

/// Where literals begin and end.
fn literals_of(tokens: &[TokenTree], found: &mut Vec<Range<LineColumn>>) {
    for token in tokens {
        match token {
            TokenTree::Literal(_) => found.push(token.span().start()..token.span().end()),
            TokenTree::Group(group) => {
                let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                literals_of(&inner, found);
            }
            _ => {}
        }
    }
}

/// The names of parameters with the type `Ordering`, and of values that are made of orderings.
fn orderings_by_name(tokens: &[TokenTree], names: &mut BTreeSet<String>) {
    for (at, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Ident(name) if is_punct(tokens.get(at + 1), ':') => {
                let path = tokens[at + 1..].iter().take_while(|token| match token {
                    TokenTree::Ident(_) => true,
                    TokenTree::Punct(punct) => punct.as_char() == ':',
                    _ => false,
                });
                let last = path
                    .filter(|token| matches!(token, TokenTree::Ident(_)))
                    .last();
                if is_ident(last, "Ordering") {
                    names.insert(name.to_string());
                }
            }
            TokenTree::Ident(word) if word == "let" => {
                if let (Some(TokenTree::Ident(name)), true) =
                    (tokens.get(at + 1), is_punct(tokens.get(at + 2), '='))
                {
                    let value = &tokens[at + 3..thing(tokens, at).max(at + 3)];
                    let ends_in_a_call = OPERATIONS
                        .iter()
                        .any(|word| value.iter().any(|token| is_ident(Some(token), word)));
                    if !ends_in_a_call && has_ordering(value, &BTreeSet::new()) {
                        names.insert(name.to_string());
                    }
                }
            }
            TokenTree::Group(group) => {
                let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                orderings_by_name(&inner, names);
            }
            _ => {}
        }
    }
}

/// Whether one of the tokens is an ordering.
fn has_ordering(tokens: &[TokenTree], names: &BTreeSet<String>) -> bool {
    tokens.iter().enumerate().any(|(at, token)| match token {
        TokenTree::Ident(word) => {
            let word = word.to_string();
            ORDERINGS.contains(&word.as_str())
                || names.contains(&word)
                || word == "weak" && is_punct(tokens.get(at + 1), '!')
        }
        TokenTree::Group(group) => {
            has_ordering(&group.stream().into_iter().collect::<Vec<_>>(), names)
        }
        _ => false,
    })
}

struct Scan<'a> {
    file: &'a str,
    names: BTreeSet<String>,
    sites: Vec<Site>,
    weaks: Vec<Weak>,
}

impl Scan<'_> {
    /// `inside`: of a call's arguments, whose orderings are the call's.
    fn walk(&mut self, tokens: &[TokenTree], inside: bool) {
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            at += 1;
            match token {
                TokenTree::Punct(punct) if punct.as_char() == '#' => {
                    if let Some(TokenTree::Group(attribute)) = tokens.get(at)
                        && is_for_tests(attribute)
                    {
                        at = thing(tokens, at + 1);
                    }
                }
                TokenTree::Ident(word) if word == "use" => at = thing(tokens, at - 1),
                // What a seeded fault does instead.
                TokenTree::Ident(word) if word == "if" && is_fault(&tokens[at..]) => at += 4,
                TokenTree::Ident(word) => {
                    let name = word.to_string();
                    let group = match tokens.get(at) {
                        Some(TokenTree::Group(group))
                            if group.delimiter() == Delimiter::Parenthesis =>
                        {
                            Some(group)
                        }
                        _ => None,
                    };
                    let before = at.checked_sub(2).and_then(|before| tokens.get(before));
                    if name == "weak" && is_punct(tokens.get(at), '!') {
                        if let Some(TokenTree::Group(group)) = tokens.get(at + 1) {
                            self.weak(word.span().start(), group);
                            at += 2;
                        }
                    } else if let Some(group) = group
                        && self.is_operation(&name, before, group)
                    {
                        self.site(word.span().start(), name);
                        let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                        self.walk(&inner, true);
                        at += 1;
                    } else if OPERATIONS.contains(&name.as_str())
                        && group.is_none()
                        && is_punct(before, ':')
                        && at > 3
                        && tokens[..at - 3].last().is_some_and(is_atomic)
                        || !inside
                            && ORDERINGS.contains(&name.as_str())
                            && !self.is_named(tokens, at)
                    {
                        self.site(word.span().start(), name);
                    }
                }
                TokenTree::Group(group) => {
                    let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                    self.walk(&inner, inside && group.delimiter() != Delimiter::Brace);
                }
                _ => {}
            }
        }
    }

    fn is_operation(&self, name: &str, before: Option<&TokenTree>, group: &Group) -> bool {
        let called = match name {
            "fence" | "compiler_fence" => !is_punct(before, '.') && !is_ident(before, "fn"),
            name => OPERATIONS.contains(&name) && (is_punct(before, '.') || is_punct(before, ':')),
        };
        called && {
            let arguments: Vec<TokenTree> = group.stream().into_iter().collect();
            has_ordering(&arguments, &self.names)
        }
    }

    /// Whether an ordering is bound to a name, whose uses are sites.
    fn is_named(&self, tokens: &[TokenTree], at: usize) -> bool {
        let start = tokens[..at].iter().rposition(|token| {
            is_punct(Some(token), ';')
                || matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace)
        });
        let from = start.map_or(0, |start| start + 1);
        is_ident(tokens.get(from), "let")
            && matches!(tokens.get(from + 1), Some(TokenTree::Ident(name)) if self.names.contains(&name.to_string()))
    }

    fn place(&self, start: LineColumn) -> Location {
        Location {
            file: self.file.to_owned(),
            line: start.line,
            column: start.column + 1,
        }
    }

    fn site(&mut self, start: LineColumn, what: String) {
        let place = self.place(start);
        self.sites.push(Site {
            place,
            what,
            reason: None,
        });
    }

    fn weak(&mut self, start: LineColumn, group: &Group) {
        let mut arguments = group.stream().into_iter();
        let Some(TokenTree::Ident(ordering)) = arguments.next() else {
            // The definition of the macro.
            return;
        };
        let why = arguments
            .nth(1)
            .map(|text| text.to_string().trim_matches('"').to_owned());
        let place = self.place(start);
        self.weaks.push(Weak {
            place,
            ordering: ordering.to_string(),
            why,
        });
    }
}

/// Whether a condition is a seeded fault alone: `fault!(Name) {`.
fn is_fault(tokens: &[TokenTree]) -> bool {
    is_ident(tokens.first(), "fault")
        && is_punct(tokens.get(1), '!')
        && matches!(tokens.get(3), Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace)
}

fn is_atomic(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Ident(name) if name.to_string().starts_with("Atomic"))
}

/// Whether an attribute's item is for tests only.
fn is_for_tests(attribute: &Group) -> bool {
    let text = attribute.stream().to_string().replace(' ', "");
    text == "test"
        || text.starts_with("cfg(") && text.contains("test") && !text.contains("not(test")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each site of a text: its line, its name, and its reason or `-`.
    fn found(text: &str) -> Vec<String> {
        let mut sources = Sources::default();
        sources.add("a.rs", text).expect("Rust");
        let reason = |site: &Site| {
            let reason = site.reason.map(|at| sources.reasons[at].text.as_str());
            reason.unwrap_or("-").to_owned()
        };
        let line = |site: &Site| format!("{} {} {}", site.place.line, site.what, reason(site));
        sources.sites.iter().map(line).collect()
    }

    fn judged(text: &str, models: &[(usize, usize)]) -> Result<String, String> {
        let mut sources = Sources::default();
        sources.add("a/src/b.rs", text).expect("Rust");
        let place = |&(line, column): &(usize, usize)| Location {
            file: "a/src/b.rs".to_owned(),
            line,
            column,
        };
        let models = models.iter().map(|at| (place(at), "m".to_owned()));
        sources.judge(&models.collect())
    }

    #[test]
    fn operations_are_found_wherever_they_are() {
        let text = "
            fn f(x: &AtomicU64, order: Ordering) {
                x.load(Relaxed);
                self.table[at]
                    .words()
                    .store(1, core::sync::atomic::Ordering::Release);
                assert_eq!(x.swap(1, weak!(AcqRel)), 1, \"{}\", y.load(order));
                let release = weak!(Release);
                x.fetch_add(1, release);
                AtomicU64::compare_exchange(x, 1, 2, SeqCst, Relaxed);
                std::sync::atomic::fence(Ordering::SeqCst);
                many.iter().map(AtomicU64::load);
                reach(x, Ordering::Acquire);
            }
            macro_rules! m { ($op:ident) => { x.$op(SeqCst) } }
        ";
        let lines = [
            "3 load",
            "6 store",
            "7 swap",
            "7 load",
            "9 fetch_add",
            "10 compare_exchange",
            "11 fence",
            "12 load",
            "13 Acquire",
            "15 SeqCst",
        ];
        assert_eq!(found(text), lines.map(|line| format!("{line} -")));
    }

    #[test]
    fn what_looks_alike_is_no_operation() {
        let text = "
            use core::sync::atomic::Ordering::{self, Relaxed};
            fn fence(order: Ordering) {}
            fn f() {
                list.swap(1, 2);
                machine.load(place);
                watch.fence(host);
                let order = Ordering::AcqRel;
                if fault!(X) { x.store(1, Relaxed); }
                // x.load(Relaxed)
                \"x.load(Relaxed)\";
            }
            #[cfg(test)]
            mod tests { fn f() { x.load(Relaxed); } }
            #[cfg(all(test, unix))]
            fn g<A, B>() { x.load(Relaxed); }
            #[test]
            fn h() { x.load(Relaxed); }
        ";
        assert_eq!(found(text), [""; 0]);
        assert_eq!(
            found("#[cfg(not(test))] fn f() { x.load(Relaxed); }").len(),
            1
        );
    }

    #[test]
    fn a_reason_is_for_a_line_a_statement_an_item_or_a_file() {
        let text = "
            fn f() {
                x.load(Relaxed); // ordering: line
                // ordering: statement
                // of two lines
                // SAFETY: no part of it.
                let y = x
                    .load(Relaxed)
                    .then(|| x.load(Acquire));
                x.load(Relaxed);
                // ordering: loop
                while x.load(Relaxed) { x.store(1, Relaxed); }
                x.load(Relaxed);
                // ordering: both
                if unsafe { x }.load(Relaxed) { } else { x.store(1, Relaxed) }
                x.load(Relaxed);
                S {
                    // ordering: field
                    a: x.load(Relaxed),
                    b: x.load(Relaxed),
                }
            }
            // ordering: item
            #[inline]
            fn g<A, B>() { x.load(Relaxed); }
            fn h() { x.load(Relaxed); }
        ";
        let lines = [
            "3 load line",
            "8 load statement of two lines",
            "9 load statement of two lines",
            "10 load -",
            "12 load loop",
            "12 store loop",
            "13 load -",
            "15 load both",
            "15 store both",
            "16 load -",
            "19 load field",
            "20 load -",
            "25 load item",
            "26 load -",
        ];
        assert_eq!(found(text), lines);
        assert_eq!(
            found(
                "//! ordering: file\nfn f() { x.load(Relaxed) }\n// ordering: near\nfn g() { x.load(Relaxed) }"
            ),
            ["2 load file", "4 load near"]
        );
    }

    /// A planted operation fails, and so does a reason for what a model runs.
    #[test]
    fn each_operation_has_a_model_or_a_reason() {
        let text = "fn f() {\n x.load(Relaxed);\n // ordering: why\n x.store(1, Relaxed);\n}";
        assert_eq!(
            judged(text, &[(2, 4)]),
            Ok(
                "a/src/b.rs:2:4: `load`: model m\na/src/b.rs:4:4: `store`: reason: why\n\
                a: 2 operations, 1 in models, 1 with a reason\n"
                    .to_owned()
            )
        );
        assert_eq!(
            judged(text, &[]),
            Err("a/src/b.rs:2:4: `load`: no model and no reason".to_owned())
        );
        assert_eq!(
            judged(text, &[(2, 4), (4, 4)]),
            Err("a/src/b.rs:3: the reason is for no operation".to_owned())
        );
        assert_eq!(
            judged("fn f() { g(\"\n// ordering: text\") }", &[]),
            Err("no operation was found".to_owned())
        );
    }

    #[test]
    fn reasons_in_c_end_with_their_function_or_paragraph() {
        let text = "/* ordering: all */\nvoid f(void)\n{\n\t__atomic_load_n(x);\n\n\
                    \t__atomic_store_n(x);\n}\n\nvoid g(void)\n{\n\t/* ordering: one */\n\
                    \t__atomic_load_n(x);\n\n\t__atomic_load_n(x);\n}\n";
        let mut sources = Sources::default();
        sources.add_c("a.c", text);
        let reasons = sources
            .sites
            .iter()
            .map(|site| (site.place.line, site.reason));
        let reasons: Vec<_> = reasons.collect();
        assert_eq!(
            reasons,
            [(4, Some(0)), (6, Some(0)), (12, Some(1)), (14, None)]
        );
    }

    #[test]
    fn places_of_models_are_those_of_the_sources() {
        let place = |file: &str| Location {
            file: file.to_owned(),
            line: 3,
            column: 14,
        };
        assert_eq!(
            Location::parse("a/src/b.rs:3:14"),
            Some(place("a/src/b.rs"))
        );
        let through = "loom_tests/tests/../../mpi/src/b.rs:3:14";
        assert_eq!(Location::parse(through), Some(place("mpi/src/b.rs")));
        assert_eq!(Location::parse("a/src/b.rs:3"), None);
    }

    /// To two and a tenth, so that not every change of a crate is one of the page.
    #[test]
    fn the_page_counts_the_operations() {
        let sources = of_repository(&crate::root()).expect("sources");
        let page = fs::read_to_string(crate::root().join("docs/correctness.md")).expect("a page");
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for site in &sources.sites {
            *counts.entry(package(&site.place.file)).or_default() += 1;
        }
        for (name, count) in counts {
            let begin = format!("| `{name}` | ");
            let row = page.lines().find_map(|line| line.strip_prefix(&begin));
            let said = row.and_then(|row| row.split(' ').next()?.parse::<usize>().ok());
            assert!(
                said.is_some_and(|said| said.abs_diff(count) <= 2 + count / 10),
                "docs/correctness.md: {name} has {count} operations"
            );
        }
    }

    /// Without the models: what they cannot run has a reason.
    #[test]
    fn sources_without_models_have_reasons() {
        let root = crate::root();
        let sources = of_repository(&root).expect("sources");
        let without = sources.sites.iter().filter(|site| {
            let file = &site.place.file;
            let text = fs::read_to_string(root.join(file)).expect("a source");
            site.reason.is_none()
                && !file.starts_with("dpa_model/")
                && !text.contains("dpamatch_door::")
        });
        let without: Vec<String> = without.map(|site| site.place.to_string()).collect();
        assert_eq!(without, [""; 0]);
        assert!(sources.sites.len() > 200, "{}", sources.sites.len());
    }
}
