//! DUMPI: the binary files that `libdumpi` writes, and their text form by `dumpi2ascii`.

mod binary;
mod clock;
mod cursor;

mod record;
mod sections;
mod text;
mod text_value;
mod window;

use std::path::Path;

use crate::arguments::Arguments;
use crate::ending::{Ending, damaged};
use crate::interpret::interpret;
use crate::{Function, Op, TraceError};

pub use binary::BinaryReader;
pub use text::TextReader;

/// Counts a call that was read. Returns its number and operation; `None` if its arguments are
/// damaged and end the trace. `at` adds the place in the file to an error.
#[inline]
fn counted<'a>(
    ending: &mut Ending,
    function: Function,
    args: &'a mut Arguments,
    file: &Path,
    at: impl FnOnce(TraceError) -> TraceError,
) -> Result<Option<(u64, Op<'a>)>, TraceError> {
    let op = interpret(function, args);
    let op = op.map_err(|what| at(damaged(file, function, &what)));
    let sequence = ending.calls();
    let op = ending.seen(op.map(Some))?;
    if op.is_some() {
        ending.count();
    }
    Ok(op.map(|op| (sequence, op)))
}
