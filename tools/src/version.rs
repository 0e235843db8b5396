//! Which version of the program this is.

pub const NUMBER: &str = env!("CARGO_PKG_VERSION");

/// The number, and in parentheses the commit that it is built from and whether files were changed
/// since; the number alone if the sources came without a repository.
pub const VERSION: &str = env!("DPAMATCH_VERSION");

/// Tracked files differed from the commit.
pub const MODIFIED: bool = matches!(env!("DPAMATCH_MODIFIED").as_bytes(), b"true");

/// The commit that the program is built from, if its sources came with a repository or as a package
/// made from one.
pub fn commit() -> Option<&'static str> {
    Some(env!("DPAMATCH_COMMIT")).filter(|commit| !commit.is_empty())
}
