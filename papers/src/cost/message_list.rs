//! Messages by phase with source and destination, read from CSV.

use dpamatch_tools::counted;

use std::io::BufRead;

use csv::{DeserializeErrorKind, StringRecord};
use serde::Deserialize;

use super::lines::{InputError, Lines};

/// Highest rank: MPI's ranks are ints.
const RANK_MAX: u32 = i32::MAX as u32;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Message {
    pub src: u32,
    pub dst: u32,
    pub tag: u32,
    pub bytes: u64,
    /// Communicator; `src` and `dst` are world ranks in any case.
    pub comm: u32,
    /// Position of the message's receive in the posting order of `dst`. Receives with equal
    /// positions are posted in message order.
    pub post: u32,
}

/// Messages in flight together, in the order of sending and arrival.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Phase {
    pub name: String,
    pub messages: Vec<Message>,
}

/// The messages of an application. One phase ends before the next begins.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MessageList {
    /// Processes, including idle ones.
    pub ranks: u32,
    pub phases: Vec<Phase>,
}

#[derive(Deserialize)]
struct ListRow {
    src: u32,
    dst: u32,
    bytes: u64,
    #[serde(default)]
    tag: u32,
    #[serde(default)]
    comm: u32,
    #[serde(default)]
    post: u32,
    #[serde(default)]
    phase: String,
}

/// Calls `each` for the rows of a CSV text with a header line, which has the `needed` columns in
/// any order. Lines with `#` are comments; quotes have no meaning.
///
/// # Errors
/// [`InputError`] with the line.
pub fn rows<T: for<'a> Deserialize<'a>>(
    input: impl BufRead,
    needed: &[&str],
    mut each: impl FnMut(T) -> Result<(), String>,
) -> Result<(), InputError> {
    let split =
        |line: String| StringRecord::from(line.split(',').map(str::trim).collect::<Vec<_>>());
    let mut lines = Lines::new(input, '#');
    let Some(header) = lines.next_content()?.map(split) else {
        return Err(lines.fail("the header line is missing"));
    };
    let missing = needed
        .iter()
        .filter(|column| !header.iter().any(|found| found == **column));
    let missing: Vec<&str> = missing.copied().collect();
    if !missing.is_empty() {
        return Err(lines.fail(format!("no column {} in the header", missing.join(", "))));
    }
    while let Some(record) = lines.next_content()?.map(split) {
        if record.len() != header.len() {
            let what = format!(
                "has {}, the header {}",
                counted(record.len(), "field"),
                header.len()
            );
            return Err(lines.fail(what));
        }
        let row = record
            .deserialize(Some(&header))
            .map_err(|error| match error.kind() {
                csv::ErrorKind::Deserialize { err, .. } => {
                    let place = err.field().and_then(|field| usize::try_from(field).ok());
                    let Some((column, text)) =
                        place.and_then(|place| header.get(place).zip(record.get(place)))
                    else {
                        return lines.fail(err.kind().to_string());
                    };
                    lines.fail(match err.kind() {
                        DeserializeErrorKind::ParseInt(_) => {
                            format!("{column}: {text:?} is not a whole number in range")
                        }
                        DeserializeErrorKind::ParseFloat(_) => {
                            format!("{column}: {text:?} is not a number")
                        }
                        other => format!("{column}: {other}"),
                    })
                }
                _ => lines.fail(error.to_string()),
            });
        each(row?).map_err(|what| lines.fail(what))?;
    }
    Ok(())
}

impl MessageList {
    /// Reads a CSV text with a header line. Columns, in any order: `src`, `dst` (ranks), `bytes`,
    /// and optionally `tag`, `comm`, `post` and `phase`. Phases follow each other by their first
    /// line; the messages of a phase are sent and arrive in line order.
    ///
    /// # Errors
    /// [`InputError`] with the line.
    pub fn read_csv(input: impl BufRead) -> Result<Self, InputError> {
        let mut list = Self::default();
        let mut places = std::collections::HashMap::new();
        rows(input, &["src", "dst", "bytes"], |row: ListRow| {
            let ListRow {
                src,
                dst,
                bytes,
                tag,
                comm,
                post,
                phase,
            } = row;
            for (column, rank) in [("src", src), ("dst", dst)] {
                if rank >= RANK_MAX {
                    return Err(format!("{column} is {rank}, must be below {RANK_MAX}"));
                }
            }
            if tag > RANK_MAX {
                return Err(format!("tag is {tag}, must be at most {RANK_MAX}"));
            }
            list.ranks = list.ranks.max(src + 1).max(dst + 1);
            let place = *places.entry(phase).or_insert_with_key(|name| {
                list.phases.push(Phase {
                    name: name.clone(),
                    messages: Vec::new(),
                });
                list.phases.len() - 1
            });
            list.phases[place].messages.push(Message {
                src,
                dst,
                tag,
                bytes,
                comm,
                post,
            });
            Ok(())
        })?;
        Ok(list)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_keep_the_order_of_their_first_lines() {
        let text = "phase, bytes, dst, src, colour, comm, post\nsolve,8,1,0,red,3,7\n# a comment\nsetup,16,0,2,,0,0\nsolve,24,0,1,,0,0\n";
        let list = MessageList::read_csv(text.as_bytes()).expect("a good list");
        let names: Vec<&str> = list
            .phases
            .iter()
            .map(|phase| phase.name.as_str())
            .collect();
        assert_eq!((names, list.ranks), (vec!["solve", "setup"], 3));
        let second = Message {
            src: 1,
            bytes: 24,
            ..Message::default()
        };
        assert_eq!(list.phases[0].messages[1], second);
        let first = &list.phases[0].messages[0];
        assert_eq!((first.comm, first.post), (3, 7));
    }

    #[test]
    fn ranks_tags_and_lines_end_at_their_limits() {
        let ranks = |line: &str| {
            let text = format!("src,dst,bytes,tag\n{line}\n");
            MessageList::read_csv(text.as_bytes())
                .map(|list| list.ranks)
                .ok()
        };
        assert_eq!(ranks("2147483645,1,8,0"), Some(2_147_483_646));
        assert_eq!(ranks("2147483646,1,8,0"), Some(2_147_483_647));
        assert_eq!(ranks("2147483647,1,8,0"), None);
        assert_eq!(ranks("1,2147483646,8,0"), Some(2_147_483_647));
        assert_eq!(ranks("1,2147483647,8,0"), None);
        assert_eq!(ranks("1,2,8,2147483646"), Some(3));
        assert_eq!(ranks("1,2,8,2147483647"), Some(3));
        assert_eq!(ranks("1,2,8,2147483648"), None);
        for (length, fits) in [(65_535, true), (65_536, true), (65_537, false)] {
            let line = format!("4,2,8,{}1", "0".repeat(length - 7));
            assert_eq!(ranks(&line), fits.then_some(5), "{length} bytes");
        }
    }

    #[test]
    fn wrong_lines_are_named() {
        for (text, message) in [
            (
                &b"src,dst,bytes\n0,1,\xff\n"[..],
                "line 2: is not valid UTF-8",
            ),
            (
                b"src,dst,bytes\n0,1,8\n0,1\n",
                "line 3: has 2 fields, the header 3",
            ),
            (
                b"src,dst,bytes\n# c\n0,-1,8\n",
                "line 3: dst: \"-1\" is not a whole number in range",
            ),
            (b"src,dst\n0,1\n", "line 1: no column bytes in the header"),
            (
                b"src,dst,bytes\n2147483647,1,8\n",
                "line 2: src is 2147483647, must be below 2147483647",
            ),
            (
                b"src,dst,bytes,tag\n0,1,8,2147483648\n",
                "line 2: tag is 2147483648, must be at most 2147483647",
            ),
            (
                b"src,dst,bytes\n0,1,99999999999999999999\n",
                "line 2: bytes: \"99999999999999999999\" is not a whole number in range",
            ),
            (b"", "line 1: the header line is missing"),
        ] {
            let error = MessageList::read_csv(text).expect_err(message);
            assert_eq!(error.to_string(), message);
        }
    }
}
