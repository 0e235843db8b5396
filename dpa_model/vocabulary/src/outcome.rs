//! The outcome of an operation, and its text forms.

use core::fmt;

use crate::{MsgId, ProbeId, RecvId};

/// The outcome of an operation; as text, one line of the results.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Outcome {
    /// A receive and a message matched.
    Matched {
        /// The receive.
        recv: RecvId,
        /// The message.
        msg: MsgId,
    },
    /// Result of a probe.
    Probed {
        /// The probe.
        probe: ProbeId,
        /// The message, if there was one.
        msg: Option<MsgId>,
    },
    /// Result of a matched probe.
    Mprobed {
        /// The probe.
        probe: ProbeId,
        /// The message, if there was one.
        msg: Option<MsgId>,
    },
    /// A receive was cancelled.
    Cancelled {
        /// The receive.
        recv: RecvId,
    },
    /// A receive could not be cancelled: it had matched, or was never posted.
    TooLate {
        /// The receive.
        recv: RecvId,
    },
    /// At the end: a receive is still posted.
    Posted {
        /// The receive.
        recv: RecvId,
    },
    /// At the end: a message is still unexpected.
    Unexpected {
        /// The message.
        msg: MsgId,
    },
}

impl Outcome {
    /// Whether it describes a leftover at the end of the stream.
    pub fn is_leftover(&self) -> bool {
        matches!(self, Self::Posted { .. } | Self::Unexpected { .. })
    }

    /// The result as one JSON object: `result` is the first word of the text form, the other
    /// members are `recv`, `msg` and `id` as they apply. A probe without a message has `msg`
    /// `null`.
    ///
    /// # Examples
    /// ```
    /// use dpamatch_vocabulary::{Outcome, ProbeId};
    ///
    /// let outcome = Outcome::Probed { probe: ProbeId(4), msg: None };
    /// assert_eq!(outcome.to_json().to_string(), r#"{"result":"probed","id":4,"msg":null}"#);
    /// ```
    pub fn to_json(self) -> impl fmt::Display {
        Json(self)
    }
}

/// The result's line, without the line end.
impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let probe = |f: &mut fmt::Formatter<'_>, word, probe: ProbeId, msg: Option<MsgId>| match msg
        {
            Some(msg) => write!(f, "{word},{},{}", probe.0, msg.0),
            None => write!(f, "{word},{},none", probe.0),
        };
        match *self {
            Self::Matched { recv, msg } => write!(f, "matched,{},{}", recv.0, msg.0),
            Self::Probed { probe: id, msg } => probe(f, "probed", id, msg),
            Self::Mprobed { probe: id, msg } => probe(f, "mprobed", id, msg),
            Self::Cancelled { recv } => write!(f, "cancelled,{}", recv.0),
            Self::TooLate { recv } => write!(f, "too-late,{}", recv.0),
            Self::Posted { recv } => write!(f, "posted,{}", recv.0),
            Self::Unexpected { msg } => write!(f, "unexpected,{}", msg.0),
        }
    }
}

/// An outcome that displays as JSON. All members are numbers or fixed words, so none needs quotes
/// escaped.
struct Json(Outcome);

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let probe = |f: &mut fmt::Formatter<'_>, word, probe: ProbeId, msg: Option<MsgId>| match msg
        {
            Some(msg) => write!(
                f,
                r#"{{"result":"{word}","id":{},"msg":{}}}"#,
                probe.0, msg.0
            ),
            None => write!(f, r#"{{"result":"{word}","id":{},"msg":null}}"#, probe.0),
        };
        match self.0 {
            Outcome::Matched { recv, msg } => {
                write!(
                    f,
                    r#"{{"result":"matched","recv":{},"msg":{}}}"#,
                    recv.0, msg.0
                )
            }
            Outcome::Probed { probe: id, msg } => probe(f, "probed", id, msg),
            Outcome::Mprobed { probe: id, msg } => probe(f, "mprobed", id, msg),
            Outcome::Cancelled { recv } => {
                write!(f, r#"{{"result":"cancelled","recv":{}}}"#, recv.0)
            }
            Outcome::TooLate { recv } => write!(f, r#"{{"result":"too-late","recv":{}}}"#, recv.0),
            Outcome::Posted { recv } => write!(f, r#"{{"result":"posted","recv":{}}}"#, recv.0),
            Outcome::Unexpected { msg } => {
                write!(f, r#"{{"result":"unexpected","msg":{}}}"#, msg.0)
            }
        }
    }
}
