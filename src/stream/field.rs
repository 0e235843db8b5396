//! Parsing of one line of a stream.

use dpamatch_vocabulary::{
    CommId, Envelope, RANK_MAX, Rank, Selector, SourceSel, TAG_MAX, Tag, TagSel,
};

use super::{COLL_NAME_MAX, CollName, Collective, Event, ProbeId};
use crate::engine::{MsgId, RecvId};

/// What is wrong with a line. Quoted text is cut after 40 characters.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FieldError {
    /// The first field is not a verb.
    #[error("unknown event {0:?} (known: post, arrive, cancel, probe, mprobe)")]
    UnknownVerb(String),
    /// The line ends too early.
    #[error("{verb} needs the field {field}")]
    Missing {
        /// The verb.
        verb: &'static str,
        /// The first field that is not there.
        field: &'static str,
    },
    /// A field is not a number.
    #[error("{field} is {text:?}, not a number{}", if *wild { " or *" } else { "" })]
    NotANumber {
        /// The field.
        field: &'static str,
        /// The text of the field.
        text: String,
        /// Whether `*` is allowed there.
        wild: bool,
    },
    /// A number is too large for its field.
    #[error("{field} {text} is above {max}")]
    OutOfRange {
        /// The field.
        field: &'static str,
        /// The text of the field.
        text: String,
        /// Largest value allowed.
        max: u64,
    },
    /// A field after the last one is no option.
    #[error("extra field {0:?} is not key=value")]
    NotKeyValue(String),
    /// A known key appears twice.
    #[error("key {0} is given twice")]
    KeyTwice(&'static str),
    /// Not a valid name of a collective.
    #[error(
        "coll {0:?} is not a name of 1 to {max} letters, digits, '_', '-' or '.'",
        max = COLL_NAME_MAX
    )]
    BadCollName(String),
    /// An earlier line of the stream posts this receive.
    #[error("receive {0} was posted before")]
    DuplicateRecv(u64),
    /// In an earlier line of the stream this message arrives.
    #[error("message {0} arrived before")]
    DuplicateMsg(u64),
    /// The line is too long.
    #[error("line is longer than {} bytes", super::LINE_BYTES_MAX)]
    TooLong,
    /// The line is not UTF-8.
    #[error("line is not valid UTF-8")]
    NotUtf8,
}

/// At most 40 characters of a field for a message.
fn excerpt(text: &str) -> String {
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

/// The fields of a line one after the other.
struct Fields<'a> {
    verb: &'static str,
    rest: std::str::Split<'a, char>,
}

impl<'a> Fields<'a> {
    fn next(&mut self, field: &'static str) -> Result<&'a str, FieldError> {
        let text = self
            .rest
            .next()
            .map(str::trim)
            .filter(|text| !text.is_empty());
        text.ok_or(FieldError::Missing {
            verb: self.verb,
            field,
        })
    }

    fn id(&mut self, field: &'static str) -> Result<u64, FieldError> {
        number(self.next(field)?, field, u64::MAX)
    }

    fn comm(&mut self) -> Result<CommId, FieldError> {
        number(self.next("COMM")?, "COMM", u64::from(u32::MAX)).map(|comm| CommId(comm as u32))
    }

    fn selector(&mut self) -> Result<Selector, FieldError> {
        let source = match self.next("SOURCE")? {
            "*" => SourceSel::Any,
            text => source(text).map_err(wildcard_allowed)?.into(),
        };
        let tag = match self.next("TAG")? {
            "*" => TagSel::Any,
            text => tag(text).map_err(wildcard_allowed)?.into(),
        };
        Ok(Selector { source, tag })
    }

    /// The options at the end; `length` is the key of the length in bytes.
    fn options(&mut self, length: &'static str) -> Result<Options, FieldError> {
        let mut options = Options::default();
        for text in self.rest.by_ref().map(str::trim) {
            let (key, value) = text
                .split_once('=')
                .filter(|(key, _)| !key.trim().is_empty())
                .ok_or_else(|| FieldError::NotKeyValue(excerpt(text)))?;
            let (key, value) = (key.trim(), value.trim());
            if key == length {
                set_once(
                    &mut options.length,
                    length,
                    number(value, length, u64::MAX)?,
                )?;
            } else if key == "coll" {
                let name =
                    CollName::new(value).ok_or_else(|| FieldError::BadCollName(excerpt(value)))?;
                set_once(&mut options.coll, "coll", name)?;
            } else if key == "collbytes" {
                set_once(
                    &mut options.coll_bytes,
                    "collbytes",
                    number(value, "collbytes", u64::MAX)?,
                )?;
            } else if key == "lie" && length == "bytes" {
                set_once(
                    &mut options.lie,
                    "lie",
                    number(value, "lie", u32::MAX.into())?,
                )?;
            }
        }
        Ok(options)
    }
}

/// The keys of a line. A `collbytes` without `coll` has no effect.
#[derive(Default)]
struct Options {
    length: Option<u64>,
    coll: Option<CollName>,
    coll_bytes: Option<u64>,
    lie: Option<u64>,
}

impl Options {
    fn collective(&self) -> Option<Collective> {
        self.coll.map(|name| Collective {
            name,
            bytes: self.coll_bytes,
        })
    }
}

fn set_once<T>(place: &mut Option<T>, key: &'static str, value: T) -> Result<(), FieldError> {
    match place.replace(value) {
        Some(_) => Err(FieldError::KeyTwice(key)),
        None => Ok(()),
    }
}

fn number(text: &str, field: &'static str, max: u64) -> Result<u64, FieldError> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(FieldError::NotANumber {
            field,
            text: excerpt(text),
            wild: false,
        });
    }
    // Only digits: what cannot be read is too large.
    let value = text.parse().ok().filter(|&value| value <= max);
    value.ok_or_else(|| FieldError::OutOfRange {
        field,
        text: excerpt(text),
        max,
    })
}

fn source(text: &str) -> Result<Rank, FieldError> {
    let value = number(text, "SOURCE", u64::from(RANK_MAX))?;
    let out_of_range = |_| FieldError::OutOfRange {
        field: "SOURCE",
        text: excerpt(text),
        max: RANK_MAX.into(),
    };
    Rank::new(value as u32).map_err(out_of_range)
}

fn tag(text: &str) -> Result<Tag, FieldError> {
    let value = number(text, "TAG", u64::from(TAG_MAX))?;
    let out_of_range = |_| FieldError::OutOfRange {
        field: "TAG",
        text: excerpt(text),
        max: TAG_MAX.into(),
    };
    Tag::new(value as u32).map_err(out_of_range)
}

fn wildcard_allowed(error: FieldError) -> FieldError {
    match error {
        FieldError::NotANumber { field, text, .. } => FieldError::NotANumber {
            field,
            text,
            wild: true,
        },
        other => other,
    }
}

/// The event of a line, or `None` if there is only space or a comment.
pub(super) fn parse(line: &str) -> Result<Option<Event>, FieldError> {
    let code = line
        .split_once('#')
        .map_or(line, |(code, _comment)| code)
        .trim();
    if code.is_empty() {
        return Ok(None);
    }
    let mut rest = code.split(',');
    let word = rest.next().map_or("", str::trim);
    let known = ["post", "arrive", "cancel", "probe", "mprobe"]
        .into_iter()
        .find(|&verb| verb == word);
    let verb = known.ok_or_else(|| FieldError::UnknownVerb(excerpt(word)))?;
    let mut fields = Fields { verb, rest };
    let event = match verb {
        "post" => {
            let recv = RecvId(fields.id("RECV")?);
            let (comm, selector) = (fields.comm()?, fields.selector()?);
            let options = fields.options("size")?;
            Event::Post {
                recv,
                comm,
                selector,
                size: options.length,
                coll: options.collective(),
            }
        }
        "arrive" => {
            let msg = MsgId(fields.id("MSG")?);
            let comm = fields.comm()?;
            let source = source(fields.next("SOURCE")?)?;
            let tag = tag(fields.next("TAG")?)?;
            let options = fields.options("bytes")?;
            let envelope = Envelope { comm, source, tag };
            Event::Arrive {
                msg,
                envelope,
                bytes: options.length,
                coll: options.collective(),
                lie: options.lie.unwrap_or(0) as u32,
            }
        }
        "cancel" => {
            let recv = RecvId(fields.id("RECV")?);
            fields.options("")?;
            Event::Cancel { recv }
        }
        _ => {
            let probe = ProbeId(fields.id("ID")?);
            let (comm, selector) = (fields.comm()?, fields.selector()?);
            fields.options("")?;
            match verb {
                "probe" => Event::Probe {
                    probe,
                    comm,
                    selector,
                },
                _ => Event::Mprobe {
                    probe,
                    comm,
                    selector,
                },
            }
        }
    };
    Ok(Some(event))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(line: &str) -> String {
        parse(line).expect_err(line).to_string()
    }

    #[test]
    fn events_are_written_as_they_are_read() {
        let lines = "post,0,0,1,2 post,18446744073709551615,4294967295,2147483647,2147483647 \
            post,1,0,*,7,size=64 post,2,0,*,*,size=64,coll=gather,collbytes=8 arrive,3,0,1,2 \
            arrive,4,0,1,2,bytes=0,coll=ibcast cancel,5 probe,6,1,*,2 mprobe,6,1,2,*";
        for line in lines.split(' ') {
            let event = parse(line).expect(line).expect(line);
            assert_eq!(event.to_string(), line);
        }
    }

    #[test]
    fn spaces_comments_and_unknown_keys_say_nothing() {
        let plain = parse("post,1,2,3,4,size=5").expect("a good line");
        for line in [
            "  post , 1 ,2,\t3,4 , size = 5 # comment, with = anything",
            "post,1,2,3,4,size=5,color=blue,x=\r",
            "post,001,02,3,4,size=5,collbytes=8,bytes=no",
        ] {
            assert_eq!(parse(line).expect(line), plain, "{line}");
        }
        for line in ["", "   ", "# post,1", "\r", "\t# "] {
            assert_eq!(parse(line), Ok(None), "{line:?}");
        }
    }

    #[test]
    fn messages_name_the_field() {
        let known = "(known: post, arrive, cancel, probe, mprobe)";
        assert_eq!(error("send,1"), format!(r#"unknown event "send" {known}"#));
        assert_eq!(
            error("Post,1,0,0,0"),
            format!(r#"unknown event "Post" {known}"#)
        );
        for (line, message) in [
            ("post", "post needs the field RECV"),
            ("post,1,,2,3", "post needs the field COMM"),
            ("arrive,1,0,2", "arrive needs the field TAG"),
            ("cancel", "cancel needs the field RECV"),
            ("probe,1,0", "probe needs the field SOURCE"),
            ("mprobe,1,0,*", "mprobe needs the field TAG"),
            ("post,-1,0,0,0", r#"RECV is "-1", not a number"#),
            ("post,1,0,-1,0", r#"SOURCE is "-1", not a number or *"#),
            ("arrive,1,0,0,*", r#"TAG is "*", not a number"#),
            ("arrive,+1,0,0,0", r#"MSG is "+1", not a number"#),
            (
                "post,1,0,2147483648,0",
                "SOURCE 2147483648 is above 2147483647",
            ),
            (
                "arrive,1,0,0,2147483648",
                "TAG 2147483648 is above 2147483647",
            ),
            (
                "probe,1,4294967296,0,0",
                "COMM 4294967296 is above 4294967295",
            ),
            (
                "cancel,18446744073709551616",
                "RECV 18446744073709551616 is above 18446744073709551615",
            ),
            ("post,1,0,0,0,64", r#"extra field "64" is not key=value"#),
            ("post,1,0,0,0,", r#"extra field "" is not key=value"#),
            ("cancel,1,=2", r#"extra field "=2" is not key=value"#),
            ("post,1,0,0,0,size=1,size=1", "key size is given twice"),
            (
                "arrive,1,0,0,0,bytes=many",
                r#"bytes is "many", not a number"#,
            ),
            (
                "arrive,1,0,0,0,coll=",
                r#"coll "" is not a name of 1 to 31 letters, digits, '_', '-' or '.'"#,
            ),
        ] {
            assert_eq!(error(line), message);
        }
    }

    #[test]
    fn messages_quote_little_and_escape() {
        let message = error(&format!("\u{1b}{}", "é".repeat(1000)));
        assert!(
            message.len() < 200 && message.contains("\\u{1b}"),
            "{message}"
        );
    }
}
