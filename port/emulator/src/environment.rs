//! Settings of a run, which are variables of the environment. A wrong one ends the program: it
//! would run otherwise than its user thinks.

use std::io::Write;
use std::ops::RangeInclusive;

/// All variables, but those of `dpacc` and of the scripts.
const KNOWN: [&str; 11] = [
    "DPA_DEVICE",
    "DPA_ERRORS",
    "DPA_HEAP_MIB",
    "DPA_LOG",
    "DPA_READ_TURNS",
    "DPA_SEED",
    "DPA_TRACE",
    "DPA_VIRTUAL",
    "DPA_WATCHDOG_S",
    "DPA_WIRE",
    "DPA_WORKERS",
];
/// Of `install.sh`, which a program may inherit.
const OF_SCRIPTS: [&str; 1] = ["DPA_EMULATOR_LIBRARY"];
/// Letters by which a name may differ from the one that was meant.
const LETTERS: usize = 2;

/// Ends the program with one line and the exit code for a wrong use, 2.
pub(crate) fn refuse(text: std::fmt::Arguments<'_>) -> ! {
    // Also with a log: it may be what is wrong.
    let _ = writeln!(std::io::stderr(), "dpa: {text}");
    std::process::exit(2)
}

/// The variable's text. An empty one is as none.
pub(crate) fn text(name: &str) -> Option<String> {
    let value = std::env::var_os(name)?;
    let Some(text) = value.to_str() else {
        refuse(format_args!("{name}: the value is not UTF-8"));
    };
    Some(text.to_owned()).filter(|text| !text.is_empty())
}

/// A number from the environment, which has to be in the range.
pub(crate) fn number(name: &str, default: u64, range: RangeInclusive<u64>) -> u64 {
    let Some(text) = text(name) else {
        return default;
    };
    match text.parse() {
        Ok(number) if range.contains(&number) => number,
        Ok(_) => {
            let (low, high) = range.into_inner();
            refuse(format_args!(
                "{name}={text}: a number from {low} to {high} is needed"
            ))
        }
        Err(_) => refuse(format_args!("{name}={text}: not a number")),
    }
}

/// Bytes of each process's heap.
pub(crate) fn heap_bytes() -> u64 {
    number("DPA_HEAP_MIB", 1024, 1..=1 << 20) << 20
}

/// Refuses variables that look like settings and are none.
pub(crate) fn check() {
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        if name.starts_with("DPA_") && !KNOWN.contains(&&*name) && !OF_SCRIPTS.contains(&&*name) {
            refuse(format_args!(
                "{name}: no such setting; {}",
                suggestion(&name)
            ));
        }
    }
    heap_bytes();
}

fn suggestion(name: &str) -> String {
    let distance = |known: &&&str| strsim::damerau_levenshtein(name, known);
    let nearest = KNOWN.iter().min_by_key(distance);
    match nearest.filter(|known| distance(known) <= LETTERS) {
        Some(known) => format!("did you mean {known}?"),
        None => format!("there are {}", KNOWN.join(", ")),
    }
}
