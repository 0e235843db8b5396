// Outcomes as words: the file that this program writes, little-endian. The program that checks it
// uses this very file.

use dpa_model::{MsgId, Outcome};

/// Bytes of an outcome: what it is, and two names.
pub(crate) const OUTCOME_BYTES: usize = 3 * 8;

/// No message.
const NONE: u64 = u64::MAX;

/// An outcome in words.
pub(crate) fn outcome_words(outcome: Outcome) -> [u64; 3] {
    let name = |msg: Option<MsgId>| msg.map_or(NONE, |msg| msg.0);
    match outcome {
        Outcome::Matched { recv, msg } => [0, recv.0, msg.0],
        Outcome::Probed { probe, msg } => [1, probe.0, name(msg)],
        Outcome::Mprobed { probe, msg } => [2, probe.0, name(msg)],
        Outcome::Cancelled { recv } => [3, recv.0, 0],
        Outcome::TooLate { recv } => [4, recv.0, 0],
        Outcome::Posted { recv } => [5, recv.0, 0],
        Outcome::Unexpected { msg } => [6, msg.0, 0],
    }
}
