//! Failures of commands: the exit code and a one-line message.

use std::io;

use dpamatch_traces::regular::is_no_file;

use super::guard;
use super::interrupt::Interrupted;

/// Invalid input: exit code 2.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct BadInput(pub String);

/// A schedule gave another result than the oracle: exit code 3. Its details have been printed.
#[derive(Debug, thiserror::Error)]
#[error("a schedule gave another result than the oracle")]
pub struct Violated;

/// No schedule ran, or a bound of steps ended one before a verdict: exit code 4. Its details have
/// been printed.
#[derive(Debug, thiserror::Error)]
#[error("no verdict: no schedule ran to its end, or a bound of steps ended one")]
pub struct NoVerdict;

/// Pairs that violate MPI's rules, or engines that disagree: exit code 3.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct WrongMatching(pub String);

pub fn exit_code(error: &anyhow::Error) -> u8 {
    if let Some(ended) = error.downcast_ref::<guard::Ended>() {
        return ended.code;
    }
    match () {
        () if error.is::<BadInput>() || names_a_wrong_file(error) => 2,
        () if error.is::<Violated>() || error.is::<WrongMatching>() => 3,
        () if error.is::<NoVerdict>() => 4,
        () if error.is::<Interrupted>() => 130,
        () => 1,
    }
}

/// Whether a named file or folder is unsuitable, which makes it a wrong argument. A full or broken
/// disk is not the argument's fault.
fn names_a_wrong_file(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(is_wrong_file)
}

/// The file is missing, of another kind, or inaccessible.
pub fn is_wrong_file(error: &io::Error) -> bool {
    use io::ErrorKind::{
        AlreadyExists, IsADirectory, NotADirectory, NotFound, PermissionDenied, ReadOnlyFilesystem,
    };
    matches!(
        error.kind(),
        NotFound
            | NotADirectory
            | IsADirectory
            | AlreadyExists
            | PermissionDenied
            | ReadOnlyFilesystem
    ) || is_no_file(error)
}

/// The error and its causes in one line, without repeating causes that an error's own text
/// includes.
pub fn message(error: &anyhow::Error) -> String {
    let mut text = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use anyhow::Context;
    use dpamatch_tools::bench::{BenchError, PointError};

    use super::*;

    #[test]
    fn no_error_ends_well() {
        let wrong = BenchError::WrongMessage {
            receive: 1,
            message: 2,
        };
        let illegal = PointError {
            point: "NC".to_owned(),
            source: wrong,
        };
        for (error, code) in [
            (BadInput("a line".to_owned()).into(), 2),
            (io::Error::from(io::ErrorKind::NotFound).into(), 2),
            (io::Error::from(io::ErrorKind::NotADirectory).into(), 2),
            (io::Error::from(io::ErrorKind::StorageFull).into(), 1),
            (Violated.into(), 3),
            (NoVerdict.into(), 4),
            (WrongMatching("pairs".to_owned()).into(), 3),
            (Interrupted.into(), 130),
            (illegal.into(), 1),
            (anyhow::anyhow!("anything else"), 1),
        ] {
            assert_eq!(exit_code(&error), code, "{error}");
            // Added context does not change an error's kind.
            let error = Err::<(), _>(error)
                .context("while matching")
                .expect_err("an error");
            assert_eq!(exit_code(&error), code, "{error:#}");
        }
    }
}
