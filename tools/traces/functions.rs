//! The table of MPI functions as Rust, from its text; a part of the build script.

use std::fmt::Write;

/// An array of `FunctionRow`s for `src/function/table.rs`.
///
/// # Panics
/// A line is not as the head of the text says.
pub(crate) fn table(text: &str) -> String {
    let mut rows = "[\n".to_owned();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let mut words = line.split_whitespace();
        let (Some(name), Some(class), Some(recipe)) = (words.next(), words.next(), words.next())
        else {
            panic!("too short: {line}");
        };
        let fields: String = words.map(|argument| field(argument) + ", ").collect();
        let recipe = recipe_of(recipe);
        // Writing into memory cannot fail.
        let _ = writeln!(
            rows,
            "FunctionRow {{ name: {name:?}, class: Class::{class}, fields: &[{fields}], recipe: {recipe} }},"
        );
    }
    rows + "]"
}

/// `-`, a variant, or a variant with its kind in parentheses.
fn recipe_of(recipe: &str) -> String {
    if recipe == "-" {
        return "Recipe::Other".to_owned();
    }
    let Some((variant, kind)) = recipe.split_once('(') else {
        return format!("Recipe::{recipe}");
    };
    let kinds = match variant {
        "Collective" => "CollectiveKind",
        "Complete" => "CompletionKind",
        _ => "SendMode",
    };
    format!("Recipe::{variant}({kinds}::{kind}")
}

/// `name:encoding`, with `@root` behind it if only the root writes it.
fn field(argument: &str) -> String {
    if let Some(argument) = argument.strip_suffix("@root") {
        return format!("Field::AtRoot(&{})", field(argument));
    }
    let (name, encoding) = argument
        .split_once(':')
        .expect("an argument is name:encoding");
    let variant = match encoding {
        "u8" => "U8",
        "u16" => "U16",
        "i32" => "I32",
        "i64" => "I64",
        "str" => "Str",
        "statuses" => "Statuses",
        "u8s" => "U8s",
        "u16s" => "U16s",
        "requests" => "Requests",
        "i32s" => "I32s",
        "i32ss" => "I32ss",
        "strs" => "Strs",
        "strss" => "Strss",
        "args" => return "Field::Args".to_owned(),
        _ => panic!("no encoding: {argument}"),
    };
    format!("Field::{variant}({name:?})")
}
