//! Progress of long commands, on standard error if it is a terminal, at most ten times a second.

use std::borrow::Cow;
use std::env;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Repaints a second.
const RATE: u8 = 10;
/// Environment variables that choose the terminal's characters: the first that is set counts.
const LOCALE: [&str; 3] = ["LC_ALL", "LC_CTYPE", "LANG"];

/// Whether the terminal shows more than ASCII, by the values of [`LOCALE`].
fn is_utf8(values: [Option<String>; 3]) -> bool {
    let set = values.into_iter().flatten().find(|value| !value.is_empty());
    let set = set.map(|value| value.to_lowercase().replace('-', ""));
    set.map_or(cfg!(windows), |value| value.contains("utf8"))
}

fn style(template: &str) -> ProgressStyle {
    let style = ProgressStyle::with_template(template).expect("a good template");
    match is_utf8(LOCALE.map(|name| env::var(name).ok())) {
        true => style,
        false => style.progress_chars("#>-").tick_chars("|/-\\ "),
    }
}

pub fn bar(steps: usize, what: impl Into<Cow<'static, str>>) -> ProgressBar {
    let target = ProgressDrawTarget::stderr_with_hz(RATE);
    let bar = ProgressBar::with_draw_target(Some(steps as u64), target).with_message(what);
    bar.with_style(style(
        "{bar:30} {pos}/{len} {elapsed}, {eta} left {wide_msg}",
    ))
}

/// Of parts of steps.
pub fn percent(steps: usize) -> ProgressBar {
    let style = style("{bar:30} {percent:>3} % {elapsed}, {eta} left {wide_msg}");
    bar(steps, "").with_style(style)
}

/// Shows activity of unknown duration.
pub fn spinner(what: impl Into<Cow<'static, str>>) -> ProgressBar {
    let target = ProgressDrawTarget::stderr_with_hz(RATE);
    let spinner = ProgressBar::with_draw_target(None, target).with_message(what);
    spinner.set_style(style("{spinner} {elapsed} {wide_msg}"));
    if !spinner.is_hidden() {
        spinner.enable_steady_tick(Duration::from_millis(200));
    }
    spinner
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_variable_that_is_set_chooses_the_characters() {
        let utf8 = |values: [&str; 3]| is_utf8(values.map(|it| Some(it.to_owned())));
        assert!(utf8(["", "", "de_DE.UTF-8"]) && utf8(["C.utf8", "C", "C"]));
        assert!(!utf8(["C", "", "de_DE.UTF-8"]) && !utf8(["", "en_US.ISO-8859-1", "C.utf8"]));
        assert_eq!(is_utf8([None, None, None]), cfg!(windows));
    }
}
