//! A schedule as the source of a test.

use std::fmt::Write;

use dpamatch_vocabulary::{Envelope, Operation};

use crate::{Ending, Setup, Turns};

/// The source of a test that repeats the schedule. With all rules kept it asserts the expected
/// result. With a rule removed it asserts a different one; such a test must be alone in its file,
/// because the rule is missing for the whole process.
pub fn test_text(setup: &Setup, expected: &Ending, turns: &Turns, rule: Option<&str>) -> String {
    let mut text = String::new();
    let _ = test(&mut text, setup, expected, turns, rule);
    text
}

fn test(
    out: &mut String,
    setup: &Setup,
    expected: &Ending,
    turns: &Turns,
    rule: Option<&str>,
) -> std::fmt::Result {
    let name = match rule {
        Some(rule) => format!("{}_is_noticed", rule.replace('-', "_")),
        None => "this_schedule_gives_the_oracles_result".to_owned(),
    };
    writeln!(out, "#[test]\nfn {name}() {{")?;
    writeln!(out, "    use dpamatch_explore::*;")?;
    if let Some(rule) = rule {
        writeln!(out, "    assert!(break_rule({rule:?}));")?;
    }
    writeln!(out, "    let setup = Setup {{\n        operations: vec![")?;
    for operation in &setup.operations {
        writeln!(out, "            {},", call(operation))?;
    }
    let Setup {
        handlers,
        bins,
        fast_path,
        early_check,
        removal,
        domains,
        barrier,
        ..
    } = setup;
    writeln!(
        out,
        "        ],\n        handlers: {handlers},\n        bins: {bins},"
    )?;
    writeln!(out, "        fast_path: FastPath::{fast_path:?},")?;
    writeln!(
        out,
        "        early_check: {early_check},\n        removal: Removal::{removal:?},"
    )?;
    writeln!(
        out,
        "        domains: Domains::{domains:?},\n        barrier: Barrier::{barrier:?},"
    )?;
    let Ending {
        matches,
        posted,
        unexpected,
    } = expected;
    writeln!(
        out,
        "    }};\n    let expected = Ending {{\n        matches: vec!{matches:?},"
    )?;
    writeln!(
        out,
        "        posted: vec!{posted:?},\n        unexpected: vec!{unexpected:?},\n    }};"
    )?;
    writeln!(out, "    let turns = {:?};", turns.to_string())?;
    writeln!(
        out,
        "    let run = replay(&setup, &turns.parse().expect(\"a schedule\"));"
    )?;
    let compares = if rule.is_some() {
        "assert_ne"
    } else {
        "assert_eq"
    };
    writeln!(
        out,
        "    {compares}!(run.result, Ok(expected), \"{{}}\", tell(&run.story(&setup)));\n}}"
    )
}

fn call(operation: &Operation) -> String {
    match *operation {
        Operation::Post {
            recv,
            comm,
            selector,
            ..
        } => {
            let number = |number: Option<u32>| number.map_or("None".into(), |it| it.to_string());
            let (source, tag) = (
                number(selector.source.number()),
                number(selector.tag.number()),
            );
            format!("post({}, {}, {source}, {tag})", recv.0, comm.0)
        }
        Operation::Arrive {
            msg,
            envelope: Envelope { comm, source, tag },
            ..
        } => {
            format!(
                "arrive({}, {}, {}, {})",
                msg.0,
                comm.0,
                source.get(),
                tag.get()
            )
        }
        Operation::Cancel { recv } => format!("cancel({})", recv.0),
        ref other => unreachable!("{other:?} is not explored"),
    }
}
