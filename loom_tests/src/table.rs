//! Models as rows of a text file. The head of `tests/block.txt` explains the columns.

use std::process::ExitCode;

use dpa_model::{Barrier, Choice, Domains, FastPath, NicConfig, Operation, Options, Removal};
use libtest_mimic::{Arguments, Trial};

use crate::model::{Extent, alone, shared};
use crate::stream::{Stream, cancel, paper, post_in, send_in, tiny};

/// The tests of a table, with libtest's arguments and output: each name in the first column is a
/// test, and its rows are its models.
///
/// # Panics
/// When a line is neither a row nor a comment.
pub fn main(file: &'static str, text: &'static str) -> ExitCode {
    let mut names: Vec<&str> = tests(text).collect();
    names.dedup();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(
        names.len(),
        count,
        "{file}: the rows of a test are not neighbours"
    );
    let trial = |name: &'static str| {
        Trial::test(name, move || {
            crate::story::begin_test(file, name);
            run(file, text, name);
            Ok(())
        })
    };
    let trials = names.into_iter().map(trial).collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// The columns of a row: test, model, words, steps, paths.
type Row = [&'static str; 5];

fn rows(text: &'static str) -> impl Iterator<Item = Row> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let columns = lines.map(|line| line.split(" | ").collect::<Vec<_>>());
    columns.filter_map(|columns| columns.try_into().ok())
}

/// The tests of all rows.
///
/// # Panics
/// When a line is neither a row nor a comment.
fn tests(text: &'static str) -> impl Iterator<Item = &'static str> {
    let others = ["#", "usual "];
    let lines = text.lines().filter(|line| !line.is_empty());
    let lines = lines.filter(|line| !others.iter().any(|other| line.starts_with(other)));
    assert_eq!(lines.count(), rows(text).count(), "a line is no row");
    rows(text).map(|[test, ..]| test)
}

/// Explores the models of a test.
///
/// # Panics
/// When a model fails, when a row cannot be read, and when the test has no row.
fn run(file: &str, text: &'static str, test: &str) {
    let usual = text
        .lines()
        .find_map(|line| line.strip_prefix("usual "))
        .unwrap_or_default();
    let mut any = false;
    for [_, model, words, steps, paths] in rows(text).filter(|row| row[0] == test) {
        let mut setup = Setup {
            options: paper(),
            ..Setup::default()
        };
        usual
            .split_whitespace()
            .chain(words.split(' '))
            .for_each(|word| setup.note(word));
        setup.explore(&format!("{file}/{model}"), &read(steps), paths);
        any = true;
    }
    assert!(any, "no row of {test}");
}

/// The operations of a row's steps.
fn read(steps: &str) -> Vec<Operation> {
    let number = |text: &str| {
        text.parse::<u32>()
            .unwrap_or_else(|_| panic!("no number: {text}"))
    };
    let key = |text: &str| (text != "*").then(|| number(text));
    let (mut verb, mut all) = ("", Vec::new());
    for word in steps.split(' ') {
        if word.starts_with(|letter: char| letter.is_ascii_lowercase()) {
            verb = word;
            continue;
        }
        let (word, times) = word.split_once('x').unwrap_or((word, "1"));
        let (comm, word) = word.split_once('/').unwrap_or(("0", word));
        let (source, tag) = word.split_once(':').unwrap_or((word, "0"));
        let step = match verb {
            "post" => post_in(number(comm), key(source), key(tag)),
            "send" => send_in(number(comm), number(source), number(tag)),
            "cancel" => cancel(number(source) as usize),
            other => panic!("no step: {other}"),
        };
        all.extend(std::iter::repeat_n(step, number(times) as usize));
    }
    all
}

/// What a row's words say.
#[derive(Default)]
struct Setup {
    handlers: usize,
    /// With `twice` that of removal at the boundary, and that of removal during the block.
    extents: Vec<Extent>,
    twice: bool,
    options: Options,
    alone: bool,
    workers: Option<usize>,
    receives: Option<usize>,
    bins: Option<usize>,
    repeat: Option<usize>,
    overtaking: bool,
    switching: bool,
    false_hashes: bool,
}

impl Setup {
    fn note(&mut self, word: &'static str) {
        let number = |text: &str| text.parse::<usize>().ok();
        let options = &mut self.options;
        match word {
            "all" => self.extents.push(Extent::EXHAUSTIVE),
            "twice" => self.twice = true,
            "alone" => self.alone = true,
            "bitmap" => options.barrier = Barrier::Bitmap,
            "keyed" => options.domains = Domains::Keyed,
            "early" => options.early_check = true,
            "always-shared" => options.always_shared = true,
            "overtaking" => self.overtaking = true,
            "switching" => self.switching = true,
            "false-hashes" => self.false_hashes = true,
            _ => match (word.split_once('='), word.split_once('/')) {
                (Some(("workers", value)), _) => self.workers = number(value),
                (Some(("receives", value)), _) => self.receives = number(value),
                (Some(("bins", value)), _) => self.bins = number(value),
                (Some(("repeat", value)), _) => self.repeat = number(value),
                (_, Some((usual, full))) => {
                    self.extents.push(Extent {
                        usual: number(usual),
                        full: number(full),
                    });
                }
                _ => match (FastPath::named(word), Removal::named(word)) {
                    (Some(fast_path), _) => options.fast_path = fast_path,
                    (_, Some(removal)) => options.removal = removal,
                    _ => self.handlers = number(word).unwrap_or_else(|| panic!("no word: {word}")),
                },
            },
        }
    }

    fn stream(&self, options: Options, steps: &[Operation]) -> Stream {
        let steps = steps.repeat(self.repeat.unwrap_or(1));
        let posts = steps.iter().filter_map(|step| match step {
            Operation::Post { comm, .. } => Some(comm.0 as usize),
            _ => None,
        });
        let config = NicConfig {
            receives: self.receives.unwrap_or(posts.clone().count().max(1)),
            communicators: posts.max().unwrap_or(0) + 1,
            bins: self.bins.unwrap_or(1),
            ..tiny(
                self.handlers,
                self.workers.unwrap_or(self.handlers),
                options,
            )
        };
        let mut stream = Stream::new(config, &steps);
        stream.hints.allow_overtaking = self.overtaking;
        Stream {
            switching: self.switching,
            false_hashes: self.false_hashes,
            ..stream
        }
    }

    fn explore(&self, name: &str, steps: &[Operation], paths: &'static str) {
        let paths = paths.split(' ');
        let (never, expected): (Vec<&str>, Vec<&str>) = paths.partition(|it| it.starts_with('-'));
        let never: Vec<&str> = never.iter().map(|path| &path[1..]).collect();
        let one = |name: &str, options, extent| {
            let stream = self.stream(options, steps);
            let explore = if self.alone { alone } else { shared };
            explore(name, stream, extent, &expected, &never);
        };
        match (self.twice, self.extents.as_slice()) {
            (true, &[deferred, removing]) => {
                let options = Options {
                    removal: Removal::Deferred,
                    ..self.options
                };
                one(&format!("{name}, deferred"), options, deferred);
                one(name, self.options, removing);
            }
            (false, &[extent]) => one(name, self.options, extent),
            _ => panic!("{name}: {} bounds", self.extents.len()),
        }
    }
}
