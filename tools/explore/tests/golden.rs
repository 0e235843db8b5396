//! Explorations with all that they report, against the files in `golden`.
//!
//! On a difference a test writes what it found, and says where; a wanted change is copied over the
//! file. Rules are removed for the whole process, so this file has only one test.

use std::fmt::Write;
use std::path::Path;

use dpamatch_explore::{
    Barrier, Domains, Ending, FastPath, Page, Removal, Report, Run, Setup, Turns, arrive,
    break_rule, cancel, every, explore, faults, keep_rules, post, replay, shorten, tell, test_text,
};
use dpamatch_vocabulary::Operation;

/// Names that fall, two communicators, all kinds of receives, cancels and late receives.
fn everything() -> Vec<Operation> {
    let any = None::<u32>;
    let posts = [
        (39, any, 7.into()),
        (38, 5.into(), any),
        (37, 5.into(), 7.into()),
        (36, any, any),
    ];
    let mut operations: Vec<Operation> = posts
        .into_iter()
        .map(|(recv, source, tag)| post(recv, 1, source, tag))
        .collect();
    operations.extend([post(90, 0, 3, 2), post(35, 1, 5, 7), cancel(36), cancel(77)]);
    operations.extend([29, 28, 27, 26].map(|msg| arrive(msg, 1, 5, 7)));
    operations.extend([
        arrive(25, 0, 3, 4),
        arrive(24, 1, 6, 8),
        arrive(23, 1, 5, 9),
    ]);
    operations.extend([
        post(34, 1, 6, any),
        post(33, 0, any, 4),
        post(32, 0, 3, any),
    ]);
    operations.extend([
        arrive(22, 0, 3, 2),
        arrive(21, 0, 4, 2),
        arrive(20, 0, 3, 9),
    ]);
    let most = i32::MAX.unsigned_abs();
    operations.extend([post(31, 1, most, most), arrive(19, 1, most, most)]);
    operations
}

/// A forced handler that loses its receive.
fn forced() -> Vec<Operation> {
    let posts = [post(4, 0, 0, 7), post(3, 0, None, 7)];
    posts
        .into_iter()
        .chain([(9, 0), (8, 0), (7, 1)].map(|(msg, source)| arrive(msg, 0, source, 7)))
        .collect()
}

/// A run of receives, and one more message than they take.
fn sequence() -> Vec<Operation> {
    let posts = [5, 2, 4, 1].map(|recv| post(recv, 0, 0, 7));
    posts
        .into_iter()
        .chain([15, 11, 14, 12, 13].map(|msg| arrive(msg, 0, 0, 7)))
        .collect()
}

fn setup(operations: Vec<Operation>) -> Setup {
    Setup {
        operations,
        handlers: 4,
        bins: 4,
        fast_path: FastPath::Sequence,
        early_check: false,
        removal: Removal::Lazy,
        domains: Domains::Paper,
        barrier: Barrier::Lanes,
    }
}

/// The result of the schedule without preemptions.
fn expected(setup: &Setup) -> Ending {
    replay(setup, &Turns::default()).result.expect("an ending")
}

fn described(out: &mut String, setup: &Setup, run: &Run) -> std::fmt::Result {
    writeln!(out, "turns {}\n{:?} {:?}", run.turns, run.result, run.bins)?;
    out.push_str(&tell(&run.story(setup)));
    Ok(())
}

fn counted(out: &mut String, report: &Report) -> std::fmt::Result {
    let Report {
        schedules,
        violations,
        bounds,
        cut_short,
        ..
    } = report;
    writeln!(
        out,
        "{schedules} schedules, {violations} violations, {bounds:?}, {cut_short}"
    )?;
    report
        .paths
        .iter()
        .try_for_each(|(path, count)| writeln!(out, "{count:>4} {path}"))
}

type Change = fn(&mut Setup);

fn schedules(out: &mut String) -> std::fmt::Result {
    let changes: [(&str, Change); 12] = [
        ("as it is", |_| ()),
        ("off", |setup| setup.fast_path = FastPath::Off),
        ("literal", |setup| setup.fast_path = FastPath::Literal),
        ("prefix", |setup| setup.fast_path = FastPath::Prefix),
        ("early check", |setup| setup.early_check = true),
        ("off, early check", |setup| {
            (setup.fast_path, setup.early_check) = (FastPath::Off, true)
        }),
        ("eager removal", |setup| setup.removal = Removal::Eager),
        ("domains", |setup| setup.domains = Domains::Keyed),
        ("bitmap", |setup| setup.barrier = Barrier::Bitmap),
        ("one bin", |setup| setup.bins = 1),
        ("two handlers", |setup| setup.handlers = 2),
        ("seven handlers", |setup| setup.handlers = 7),
    ];
    for (name, operations) in [("everything", everything()), ("a sequence", sequence())] {
        for (change, apply) in changes {
            let mut setup = setup(operations.clone());
            apply(&mut setup);
            writeln!(out, "\n# {name}, {change}")?;
            let expected = expected(&setup);
            let report = explore(&setup, &expected, 7, 60, false);
            counted(out, &report)?;
            described(out, &setup, report.last.as_ref().expect("a right one"))?;
        }
    }
    writeln!(out, "\n# A wrong result")?;
    let setup = self::setup(everything());
    let right = expected(&setup);
    for (first, stops) in [(5, true), (3, false), (90, false)] {
        let wrong = Ending {
            posted: vec![first],
            ..right.clone()
        };
        let report = explore(&setup, &wrong, first, 20, stops);
        counted(out, &report)?;
        let found = report.violation.expect("it is wrong");
        let length = (found.run.turns.len(), found.run.told.len());
        writeln!(
            out,
            "{:?} {length:?} {} {:?}",
            found.seed,
            found.what,
            report.last.is_some()
        )?;
        let short = shorten(
            &setup,
            &wrong,
            &explore(&setup, &wrong, 1, 1, true)
                .violation
                .expect("wrong"),
        );
        writeln!(out, "{} {}", short.run.turns.is_empty(), short.what)?;
    }
    let small = |operations| Setup {
        handlers: 3,
        ..self::setup(operations)
    };
    for (bound, most) in [(0, 99), (1, 40), (1, 5000), (0, 2), (0, 3)] {
        let setup = small(forced());
        writeln!(out, "\n# Every schedule up to {bound}, at most {most}")?;
        counted(out, &every(&setup, &expected(&setup), bound, most))?;
        let setup = small(sequence());
        counted(out, &every(&setup, &expected(&setup), bound, most))?;
    }
    writeln!(out, "\n# Turns")?;
    for turns in ["", "1x3 0", "0x40 2x2 1x9", "2x1 1x1 2x1 0x1", "5x1"] {
        let setup = small(forced());
        writeln!(out, "{turns}:")?;
        described(out, &setup, &replay(&setup, &turns.parse().expect("turns")))?;
    }
    for bad in ["1x", "x1", "1x0", "1y3", "-1x2", "1x2,2x3"] {
        writeln!(out, "{}", bad.parse::<Turns>().expect_err(bad))?;
    }
    Ok(())
}

fn stories(out: &mut String) -> std::fmt::Result {
    let setup = Setup {
        domains: Domains::Keyed,
        removal: Removal::Eager,
        ..setup(everything())
    };
    let expected = expected(&setup);
    let run = explore(&setup, &expected, 11, 1, false)
        .last
        .expect("a right one");
    for block in 0..5 {
        let story = run.story(&setup).from_block(block);
        writeln!(out, "# From block {block}, {} handlers", story.handlers)?;
        out.push_str(&tell(&story));
        writeln!(out, "{:?}\n{:?}", story.receives, story.messages)?;
        for scene in story.scenes.iter().filter(|_| block < 2) {
            writeln!(out, "{}", serde_json::to_string(scene).expect("JSON"))?;
        }
    }
    // More receives than a page shows, and more facts than a sentence lists.
    let mut many: Vec<Operation> = (0..40).map(|recv| post(recv, 0, 0, 7)).collect();
    many.extend((0..3).map(|msg| arrive(msg, 0, 0, 7)));
    many.extend([50, 53, 52].map(|recv| post(recv, 0, 1, 1)));
    many.extend([30, 38].map(cancel));
    many.extend((10..12).map(|msg| arrive(msg, 0, 2, 2)));
    many.extend((0..9).rev().map(|at| post(60 + at * at, 0, 3, 1)));
    many.push(arrive(9, 0, 0, 7));
    let setup = self::setup(many);
    let run = replay(&setup, &Turns::default());
    let mut story = run
        .story(&setup)
        .titled("Many".to_owned(), "</script>".to_owned(), true);
    out.push_str(&tell(&story));
    story.scenes.truncate(8);
    let page = Page {
        title: "T".to_owned(),
        source: "S".to_owned(),
        stories: vec![story],
    };
    let page = page.html();
    writeln!(
        out,
        "{}",
        page.lines()
            .find(|line| line.contains("\"stories\":"))
            .expect("data")
    )
}

fn broken(out: &mut String) -> std::fmt::Result {
    let streams = [forced(), sequence(), everything()];
    assert!(!break_rule("no-rule"));
    for (rule, about) in faults() {
        writeln!(out, "\n# {rule}: {about}")?;
        for (number, operations) in streams.iter().enumerate() {
            let setup = Setup {
                early_check: number == 1,
                ..setup(operations.clone())
            };
            keep_rules();
            let expected = expected(&setup);
            assert!(break_rule(&rule), "{rule}");
            let report = explore(&setup, &expected, 1, 60, true);
            let Some(found) = &report.violation else {
                continue;
            };
            writeln!(
                out,
                "stream {number}, seed {:?} of {}",
                found.seed, report.schedules
            )?;
            writeln!(out, "{}\n{}", found.run.turns, found.what)?;
            let short = shorten(&setup, &expected, found);
            let turns = &short.run.turns;
            writeln!(
                out,
                "{turns} ({}, {})\n{}",
                turns.len(),
                turns.is_empty(),
                short.what
            )?;
            if number == 0 {
                out.push_str(&test_text(&setup, &expected, turns, Some(&rule)));
            }
            keep_rules();
            assert_eq!(replay(&setup, turns).result, Ok(expected), "{rule}");
            break;
        }
    }
    keep_rules();
    let setup = Setup {
        early_check: true,
        domains: Domains::Keyed,
        ..setup(everything())
    };
    let turns = "1x2 3".parse().expect("turns");
    writeln!(
        out,
        "\n{}",
        test_text(&setup, &expected(&setup), &turns, None)
    )
}

type Part = fn(&mut String) -> std::fmt::Result;

#[test]
fn all_that_is_reported_is_as_written_down() {
    let parts: [(_, Part, _); 3] = [
        (
            "schedules.txt",
            schedules,
            include_str!("golden/schedules.txt"),
        ),
        ("scenes.txt", stories, include_str!("golden/scenes.txt")),
        ("broken.txt", broken, include_str!("golden/broken.txt")),
    ];
    let mut wrong = String::new();
    for (name, part, expected) in parts {
        let mut found = String::new();
        part(&mut found).expect("a string takes it");
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::write(&path, &found).expect("written");
        let mut lines = found.lines().zip(expected.lines()).enumerate();
        let other = lines.find(|(_, (found, expected))| found != expected);
        if found != expected {
            wrong += &format!("see {}: {other:?}\n", path.display());
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
