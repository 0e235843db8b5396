//! Calls written as text, for tests.

use super::interpret;
use crate::arguments::Arguments;
use crate::{Function, Op, Status};

fn numbers(list: &str) -> impl Iterator<Item = i32> {
    list.split(',')
        .filter(|item| !item.is_empty())
        .map(|item| item.parse().expect("a number"))
}

fn set(args: &mut Arguments, place: usize, value: &str) {
    let inner = value.get(1..value.len() - 1).unwrap_or("");
    match value.chars().next() {
        Some('[') => args.set_numbers(place, numbers(inner)),
        Some('(') => args.set_requests(place, numbers(inner)),
        Some('{') => {
            let status = |item: &str| {
                let number = |text: &str| text.parse().expect("a number");
                let fields: Vec<i32> = item.trim_end_matches('!').split(':').map(number).collect();
                let (source, tag, bytes) =
                    (fields[0], fields[1], fields.get(2).map_or(4, |it| *it));
                Status {
                    bytes: i64::from(bytes),
                    source,
                    tag,
                    cancelled: item.ends_with('!'),
                    error: 0,
                }
            };
            let items = inner.split(',').filter(|item| !item.is_empty());
            args.set_statuses(place, items.map(status));
        }
        _ => args.set_number(place, value.parse().expect("a number")),
    }
}

/// The operation of a call written as `tests.txt` says, with its function.
///
/// # Panics
/// The text is no call.
pub fn with_op<T>(call: &str, take: impl FnOnce(Function, Result<Op<'_>, String>) -> T) -> T {
    let mut words = call.split(' ');
    let function = words
        .next()
        .and_then(Function::from_name)
        .expect("a function");
    let mut args = Arguments::default();
    args.begin(function);
    for (name, value) in words.map(|word| word.split_once('=').expect("NAME=VALUE")) {
        let place = function
            .fields()
            .iter()
            .position(|field| field.name() == name);
        set(&mut args, place.expect("an argument"), value);
    }
    take(function, interpret(function, &mut args))
}
