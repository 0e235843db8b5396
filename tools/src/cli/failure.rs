//! How a command fails: its exit code, and one line that says why.

use std::io;

use super::guard;
use super::interrupt::Interrupted;

/// Input that is wrong: exit code 2.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct BadInput(pub(super) String);

/// A schedule gave another result than the oracle: exit code 3. Everything about it has been
/// printed.
#[derive(Debug, thiserror::Error)]
#[error("a schedule gave another result than the oracle")]
pub(super) struct Violated;

/// Pairs that break MPI's rules, or engines that do not agree: exit code 3.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct WrongMatching(pub(super) String);

/// Which number the process ends with.
pub(super) fn exit_code(error: &anyhow::Error) -> u8 {
    if let Some(ended) = error.downcast_ref::<guard::Ended>() {
        return ended.code;
    }
    match () {
        () if error.is::<BadInput>() || names_a_wrong_file(error) => 2,
        () if error.is::<Violated>() || error.is::<WrongMatching>() => 3,
        () if error.is::<Interrupted>() => 130,
        () => 1,
    }
}

/// Whether a file or folder that was named cannot be what it was named for: such an argument is as
/// wrong as any other, while a disk that is full or broken is nobody's argument.
fn names_a_wrong_file(error: &anyhow::Error) -> bool {
    error.chain().filter_map(|cause| cause.downcast_ref::<io::Error>()).any(is_wrong_file)
}

/// It is not there, is of another kind, or may not be used.
pub(super) fn is_wrong_file(error: &io::Error) -> bool {
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
    )
}

/// The error and its causes in one line. A cause that has already been told is not told again: some
/// errors show theirs themselves.
pub(super) fn message(error: &anyhow::Error) -> String {
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
        let wrong = BenchError::WrongMessage { receive: 1, message: 2 };
        let illegal = PointError { point: "NC".to_owned(), source: wrong };
        for (error, code) in [
            (BadInput("a line".to_owned()).into(), 2),
            (io::Error::from(io::ErrorKind::NotFound).into(), 2),
            (io::Error::from(io::ErrorKind::NotADirectory).into(), 2),
            (io::Error::from(io::ErrorKind::StorageFull).into(), 1),
            (Violated.into(), 3),
            (WrongMatching("pairs".to_owned()).into(), 3),
            (Interrupted.into(), 130),
            (illegal.into(), 1),
            (anyhow::anyhow!("anything else"), 1),
        ] {
            assert_eq!(exit_code(&error), code, "{error}");
            // What was being done when it happened does not change its kind.
            let error = Err::<(), _>(error).context("while matching").expect_err("an error");
            assert_eq!(exit_code(&error), code, "{error:#}");
        }
    }

    #[test]
    fn a_cause_is_told_once() {
        #[derive(Debug, thiserror::Error)]
        #[error("a file: {0}")]
        struct Twice(#[from] io::Error);
        let gone = || io::Error::other("gone");
        assert_eq!(message(&Twice(gone()).into()), "a file: gone");
        let error = Err::<(), _>(gone()).context("a file").expect_err("an error");
        assert_eq!(message(&error), "a file: gone");
    }
}
