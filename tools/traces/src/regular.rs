//! Opening files for reading, so that what is no file is refused instead of waited for: opening a
//! FIFO waits for a writer, and a device may never end.

use std::fs::{self, File, FileType, OpenOptions};
use std::io::{self, Read};
use std::path::Path;

/// What a path names instead of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("it is {0}, not a file")]
pub struct NotAFile(&'static str);

impl From<NotAFile> for io::Error {
    fn from(what: NotAFile) -> Self {
        Self::new(io::ErrorKind::InvalidInput, what)
    }
}

/// Whether the error is that a path names something other than a file.
pub fn is_no_file(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<NotAFile>())
}

#[cfg(unix)]
fn check(kind: FileType) -> io::Result<()> {
    use std::os::unix::fs::FileTypeExt;
    let what = match () {
        () if kind.is_file() => return Ok(()),
        () if kind.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
        () if kind.is_fifo() => "a FIFO",
        () if kind.is_socket() => "a socket",
        () if kind.is_char_device() || kind.is_block_device() => "a device",
        () => "of an unknown kind",
    };
    Err(NotAFile(what).into())
}

#[cfg(not(unix))]
fn check(kind: FileType) -> io::Result<()> {
    match kind.is_dir() {
        true => Err(io::ErrorKind::IsADirectory.into()),
        false => Ok(()),
    }
}

/// Opens a regular file, without waiting.
///
/// # Errors
/// [`NotAFile`] for a FIFO, a socket or a device, `IsADirectory` for a folder, and the errors of
/// opening a file.
pub fn open(path: &Path) -> io::Result<File> {
    check(fs::metadata(path)?.file_type())?;
    let mut options = OpenOptions::new();
    options.read(true);
    // Another file may have taken its place since.
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    }
    let file = options.open(path)?;
    check(file.metadata()?.file_type())?;
    Ok(file)
}

/// Opens what can be read once from beginning to end: a regular file, `/dev/null`, or a descriptor
/// of this process, such as a shell's `<(...)`, which names a FIFO with a writer.
///
/// # Errors
/// The errors of [`open`].
pub fn open_once(path: &Path) -> io::Result<File> {
    let of_this_process = ["/dev/fd", "/dev/stdin", "/proc/self/fd", "/dev/null"];
    if of_this_process.iter().any(|place| path.starts_with(place)) {
        let file = File::open(path)?;
        return match file.metadata()?.is_dir() {
            true => Err(io::ErrorKind::IsADirectory.into()),
            false => Ok(file),
        };
    }
    open(path)
}

/// The text of a regular file.
///
/// # Errors
/// The errors of [`open`], and of reading.
pub fn read_to_string(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    open(path)?.read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;
    use std::process::Command;

    use super::*;

    #[test]
    fn what_is_no_file_is_refused_by_its_name() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        let made = Command::new("mkfifo").arg(path("fifo")).status();
        assert!(made.expect("mkfifo runs").success());
        let _socket = UnixListener::bind(path("socket")).expect("a socket");
        symlink(path("fifo"), path("link")).expect("a link");
        fs::write(path("file"), "text").expect("written");
        let said = |path: &Path| match open(path) {
            Ok(_) => "opened".to_owned(),
            Err(error) => format!("{error} {}", is_no_file(&error)),
        };
        for (name, expected) in [
            ("fifo", "it is a FIFO, not a file true"),
            ("link", "it is a FIFO, not a file true"),
            ("socket", "it is a socket, not a file true"),
            ("file", "opened"),
        ] {
            assert_eq!(said(&path(name)), expected);
        }
        assert_eq!(
            said(Path::new("/dev/zero")),
            "it is a device, not a file true"
        );
        assert_eq!(said(folder.path()), "is a directory false");
        assert!(open_once(&path("fifo")).is_err() && open_once(Path::new("/dev/null")).is_ok());
        assert_eq!(read_to_string(&path("file")).expect("text"), "text");
    }
}
