//! `code`: the machine code of the card's side.

use std::fmt::Write;

use crate::rv64::{Function, Image, Setup, deepest_stack, survey};
use dpa_model::PaperWorkload;

use crate::check::interpret;
use crate::job::{Ends, Job};

/// Bytes of a DPA thread's stack, which bound the needs of set-up.
const STACK_MOST: u64 = 8 << 10;

/// Least size of a listed function, in bytes.
const LISTED: u64 = 256;

fn is_panic(function: &Function) -> bool {
    let name = readable(&function.name);
    ["panic", "unwrap_failed", "expect_failed", "slice_index_fail", "handle_alloc_error"]
        .iter()
        .any(|word| name.contains(word))
}

fn readable(name: &str) -> String {
    format!("{:#}", rustc_demangle::demangle(name))
}

/// Whether a function belongs to the card's crate, or inlines it.
fn is_card(name: &str) -> bool {
    name.contains("dpa_model") && !name.contains("dpa_model::ends")
}

/// Bytes of stack that hart 0 reports for building the tables of a NIC and a communicator.
fn stack_for_setting_up(image: &Image) -> Option<u64> {
    let job = Job::workload(PaperWorkload::NoConflict, (8, 8), Ends::Leader, (1, 128), "");
    let (difference, outcome) = interpret(image, &job, Setup::default());
    let line = outcome.console.lines().find(|line| line.starts_with("stack for setting up"));
    let bytes = line?.split_whitespace().rev().nth(1)?.parse().ok();
    bytes.filter(|_| difference.is_none())
}

/// The table of functions with their violations; `false` if there is one.
pub fn report(image: &Image) -> (String, bool) {
    let mut text = String::new();
    let functions = survey(image);
    let unknown: usize = functions.iter().map(|function| function.unknown).sum();
    let card: Vec<&Function> =
        functions.iter().filter(|function| is_card(&readable(&function.name))).collect();
    let bytes = |functions: &[&Function]| -> u64 { functions.iter().map(|f| f.size).sum() };
    let all: Vec<&Function> = functions.iter().collect();
    let _ = writeln!(text, "code: {} bytes, of the card's crate {}", bytes(&all), bytes(&card));
    let _ = writeln!(
        text,
        "{:>7}{:>7}{:>8}{:>10}{:>11}{:>8}  function",
        "bytes", "frame", "stack", "divisions", "byte stores", "panics"
    );
    let mut listed: Vec<&&Function> = card.iter().filter(|f| f.size >= LISTED).collect();
    listed.sort_by_key(|function| std::cmp::Reverse(function.size));
    for function in listed {
        let panics = panic_sites(&functions, function);
        let stack = deepest_stack(&functions, function, &|callee| !is_panic(callee))
            .map_or("-".to_owned(), |bytes| bytes.to_string());
        let _ = writeln!(
            text,
            "{:>7}{:>7}{stack:>8}{:>10}{:>11}{panics:>8}  {}",
            function.size,
            function.frame,
            function.divisions,
            function.byte_stores,
            readable(&function.name)
        );
    }
    let others = card.iter().filter(|f| f.size < LISTED).count();
    let _ = writeln!(text, "{others} more of fewer than {LISTED} bytes each");
    let _ = writeln!(
        text,
        "instructions beyond RV64IMAC (floating point, vectors): {unknown} in the whole program"
    );
    let stack = stack_for_setting_up(image);
    let _ = match stack {
        Some(bytes) => writeln!(text, "stack for setting up: {bytes} bytes, {STACK_MOST} allowed"),
        None => writeln!(text, "the firmware did not run"),
    };
    (text, unknown == 0 && stack.is_some_and(|bytes| bytes <= STACK_MOST))
}

fn panic_sites(functions: &[Function], function: &Function) -> usize {
    let leads = |target: &&u64| {
        let index = functions.partition_point(|function| function.address <= **target);
        index.checked_sub(1).is_some_and(|index| is_panic(&functions[index]))
    };
    function.calls.iter().filter(leads).count()
}
