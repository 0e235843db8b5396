//! Input files, and suggestions for mistyped names.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use anyhow::Context;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use dpa_model::Choice;
use dpamatch::stream::ReadError;
use dpamatch_traces::regular;

use super::failure::{BadInput, is_wrong_file};

/// Minimum similarity of two names, from 0 to 1, for a suggestion: the value that clap uses for
/// options.
const ALIKE: f64 = 0.7;

/// The most similar known name, if any is similar enough.
fn nearest<S: AsRef<str>>(name: &str, known: impl IntoIterator<Item = S>) -> Option<S> {
    let name = name.to_lowercase();
    let alike = |known: S| (strsim::jaro(&name, &known.as_ref().to_lowercase()), known);
    let alike = known
        .into_iter()
        .map(alike)
        .filter(|(alike, _)| *alike > ALIKE);
    alike
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, known)| known)
}

/// Suggests a known name for an error message; empty without a similar one.
pub fn did_you_mean<S: AsRef<str>>(name: &str, known: impl IntoIterator<Item = S>) -> String {
    let meant = nearest(name, known);
    meant.map_or(String::new(), |known| {
        format!("; did you mean {}?", known.as_ref())
    })
}

pub fn choice<T: Choice + Send + Sync>() -> impl TypedValueParser<Value = T> {
    let known = T::ALL.iter().map(|value| {
        let about = value.about().trim();
        PossibleValue::new(value.name()).help(about.strip_suffix('.').unwrap_or(about))
    });
    PossibleValuesParser::new(known)
        .map(|name| T::named(&name).expect("the parser lets known names pass"))
}

pub fn default<T: Choice>() -> &'static str {
    T::default().name()
}

pub fn unusable(path: &Path, error: io::Error) -> anyhow::Error {
    let name = path.display();
    match error.kind() {
        io::ErrorKind::NotFound => {
            BadInput(format!("{name}: no such file or folder{}", beside(path))).into()
        }
        _ if is_wrong_file(&error) => BadInput(format!("{name}: {error}")).into(),
        _ => anyhow::Error::new(error).context(name.to_string()),
    }
}

/// Suggests a similar name beside a missing file or folder.
fn beside(path: &Path) -> String {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let entries = fs::read_dir(folder.unwrap_or(Path::new(".")))
        .into_iter()
        .flatten();
    let mut names: Vec<_> = entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| !name.starts_with('.'))
        .collect();
    names.sort();
    let wanted = path.file_name().unwrap_or_default().to_string_lossy();
    let meant = nearest(&wanted, &names);
    meant.map_or(String::new(), |name| {
        format!("; did you mean {}?", path.with_file_name(name).display())
    })
}

pub fn file(path: &Path) -> anyhow::Result<File> {
    regular::open_once(path).map_err(|error| unusable(path, error))
}

pub fn text(path: &Path) -> anyhow::Result<String> {
    io::read_to_string(file(path)?).with_context(|| path.display().to_string())
}

pub fn built_in_or_file<'a>(
    name: &str,
    built_in: impl Iterator<Item = (&'a str, &'a str)> + Clone,
) -> anyhow::Result<String> {
    if let Some((_, text)) = built_in.clone().find(|(known, _)| *known == name) {
        return Ok(text.to_owned());
    }
    if Path::new(name).exists() {
        return text(Path::new(name));
    }
    let known: Vec<&str> = built_in.map(|(known, _)| known).collect();
    let meant = did_you_mean(name, known.iter().copied());
    let known = known.join(", ");
    Err(BadInput(format!(
        "{name}: neither built in ({known}) nor a file{meant}"
    ))
    .into())
}

/// A file and its name in messages; `-` is standard input.
pub fn file_or_stdin(path: &Path) -> anyhow::Result<(String, Box<dyn BufRead>)> {
    const BUFFER_BYTES: usize = 256 * 1024;
    if path == Path::new("-") {
        return Ok(("<stdin>".to_owned(), Box::new(io::stdin().lock())));
    }
    let input = BufReader::with_capacity(BUFFER_BYTES, file(path)?);
    Ok((path.display().to_string(), Box::new(input)))
}

/// Why a stream cannot be read. A bad line is the input's fault.
pub fn unreadable(name: &str, error: ReadError) -> anyhow::Error {
    match error {
        ReadError::Line(at) => BadInput(format!("{name}:{}: {}", at.line, at.error)).into(),
        error => anyhow::Error::from(error).context(name.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_found_by_one_like_it() {
        let known = ["list", "bins", "rank-array"];
        assert_eq!(did_you_mean("lsit", known), "; did you mean list?");
        assert_eq!(
            did_you_mean("rank_array", known),
            "; did you mean rank-array?"
        );
        assert_eq!(did_you_mean("xyz", known), "");
    }

    #[test]
    fn trouble_while_reading_is_no_bad_input() {
        let is_bad = |kind: io::ErrorKind| unusable(Path::new("x"), kind.into()).is::<BadInput>();
        assert!(is_bad(io::ErrorKind::NotFound) && is_bad(io::ErrorKind::IsADirectory));
        assert!(!is_bad(io::ErrorKind::OutOfMemory) && !is_bad(io::ErrorKind::Interrupted));
    }
}
