//! Temporary folders that no other user can prepare, read or write.

use std::io;

use tempfile::{Builder, TempDir};

/// A new folder in the system's temporary folder, with a random name that begins with `prefix`.
/// Only this user may enter it. It ends with the result.
///
/// # Errors
/// The system refuses to make it.
pub fn private_folder(prefix: &str) -> io::Result<TempDir> {
    let mut builder = Builder::new();
    builder.prefix(prefix);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(0o700));
    }
    builder.tempdir()
}
