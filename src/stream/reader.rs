//! Events read line by line.

use std::io::{self, BufRead};

use super::field::parse;
use super::id_set::IdSet;
use super::lines::{Lines, is_too_long};
use super::{Event, FieldError};

/// Maximum length of a line in bytes, without the line feed.
pub const LINE_BYTES_MAX: usize = 64 * 1024;

/// A line that is not an event.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("line {line}: {error}")]
pub struct LineError {
    /// Its number, from 1.
    pub line: u64,
    /// What is wrong with it.
    #[source]
    pub error: FieldError,
}

/// Why the events end early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// A line is not an event.
    #[error(transparent)]
    Line(#[from] LineError),
    /// The input cannot be read.
    #[error("cannot read line {line}: {error}")]
    Io {
        /// Number of the line, from 1.
        line: u64,
        /// The system's error.
        #[source]
        error: io::Error,
    },
}

/// An iterator over the events of a text: one line in memory at a time, and the ids used so far (in
/// as much memory as there are gaps between them). After an error it ends.
///
/// # Examples
/// ```
/// use dpamatch::stream::Reader;
///
/// let mut events = Reader::new("cancel,1\n# done\ncancel\n".as_bytes());
/// assert!(events.next().is_some_and(|event| event.is_ok()));
/// let error = events.next().and_then(Result::err).expect("a line without field");
/// assert_eq!(error.to_string(), "line 3: cancel needs the field RECV");
/// assert!(events.next().is_none());
/// ```
#[derive(Debug)]
pub struct Reader<R> {
    lines: Lines<R>,
    receives: IdSet,
    messages: IdSet,
    ended: bool,
}

impl<R: BufRead> Reader<R> {
    /// The events of this input.
    pub fn new(input: R) -> Self {
        Self {
            lines: Lines::new(input, LINE_BYTES_MAX),
            receives: IdSet::default(),
            messages: IdSet::default(),
            ended: false,
        }
    }

    /// Number of the line read last, from 1; 0 before the first.
    pub fn line(&self) -> u64 {
        self.lines.number()
    }

    /// The event of the next line, `Ok(None)` for one without event; the outer `None` is the end of
    /// the input.
    fn next_line(&mut self) -> Option<Result<Option<Event>, ReadError>> {
        let event = match self.lines.read() {
            Ok(None) => return None,
            Ok(Some(line)) => std::str::from_utf8(line).map_err(|_| FieldError::NotUtf8),
            Err(error) if is_too_long(&error) => Err(FieldError::TooLong),
            Err(error) => {
                return Some(Err(ReadError::Io {
                    line: self.line(),
                    error,
                }));
            }
        };
        let event = event.and_then(parse).and_then(|event| self.checked(event));
        Some(event.map_err(|error| {
            LineError {
                line: self.line(),
                error,
            }
            .into()
        }))
    }

    /// The event, if its ids are new.
    fn checked(&mut self, event: Option<Event>) -> Result<Option<Event>, FieldError> {
        match event {
            Some(Event::Post { recv, .. }) if !self.receives.insert(recv.0) => {
                Err(FieldError::DuplicateRecv(recv.0))
            }
            Some(Event::Arrive { msg, .. }) if !self.messages.insert(msg.0) => {
                Err(FieldError::DuplicateMsg(msg.0))
            }
            event => Ok(event),
        }
    }
}

impl<R: BufRead> Iterator for Reader<R> {
    type Item = Result<Event, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.ended {
            match self.next_line() {
                Some(Ok(None)) => {}
                Some(Ok(Some(event))) => return Some(Ok(event)),
                Some(Err(error)) => {
                    self.ended = true;
                    return Some(Err(error));
                }
                None => self.ended = true,
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    fn first_error(text: &[u8]) -> (usize, String) {
        let mut events = Reader::new(text);
        let good = events.by_ref().take_while(Result::is_ok).count();
        assert!(events.next().is_none(), "the reader goes on after an error");
        let error = Reader::new(text).find_map(Result::err);
        (
            good,
            error.map(|error| error.to_string()).unwrap_or_default(),
        )
    }

    #[test]
    fn ids_are_used_once() {
        let text =
            b"post,1,0,0,0\narrive,1,0,0,0\npost,2,0,0,0\ncancel,2\ncancel,2\npost,1,0,0,0\n";
        assert_eq!(
            first_error(text),
            (5, "line 6: receive 1 was posted before".to_owned())
        );
        let text = b"arrive,7,0,0,0\n\narrive,7,1,0,0\n";
        assert_eq!(
            first_error(text),
            (1, "line 3: message 7 arrived before".to_owned())
        );
    }

    #[test]
    fn no_text_is_no_line() {
        assert_eq!(
            first_error(b"cancel,1\ncancel,\xff\n"),
            (1, "line 2: line is not valid UTF-8".to_owned())
        );
    }

    #[test]
    fn a_line_is_bounded_and_its_rest_stays_unread() {
        let mut longest = b"cancel,1#".to_vec();
        longest.resize(LINE_BYTES_MAX, b'x');
        longest.extend(b"\ncancel,2\n");
        assert_eq!(Reader::new(&longest[..]).filter(Result::is_ok).count(), 2);

        for (length, fits) in [(65_535, true), (65_536, true), (65_537, false)] {
            let mut line = b"cancel,1#".to_vec();
            line.resize(length, b'x');
            let read = Reader::new(&line[..]).next();
            assert_eq!(read.is_some_and(|it| it.is_ok()), fits, "{length} bytes");
        }

        // An endless line: the error comes although the input never ends.
        let endless = io::BufReader::new(io::Cursor::new(b"cancel,1\n").chain(io::repeat(b'x')));
        let mut events = Reader::new(endless);
        assert!(events.next().is_some_and(|event| event.is_ok()));
        let error = events
            .next()
            .and_then(Result::err)
            .expect("a line that is too long");
        assert_eq!(error.to_string(), "line 2: line is longer than 65536 bytes");
    }

    #[test]
    fn input_that_fails_is_reported_with_its_line() {
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("gone"))
            }
        }
        let input = io::BufReader::new(io::Cursor::new(b"cancel,1\n").chain(Broken));
        let error = Reader::new(input)
            .find_map(Result::err)
            .expect("an input that fails");
        assert_eq!(error.to_string(), "cannot read line 2: gone");
    }
}
