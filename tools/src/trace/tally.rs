//! A rank's trace, counted and checked.

use super::{Counts, Function, RankInfo, RankReader, Salvage, TraceError};

/// What a whole reading of a rank's trace found.
#[derive(Debug)]
pub struct Tally {
    /// What the trace says about the rank.
    pub info: RankInfo,
    /// Records by function.
    pub calls: Counts,
    /// Functions whose number of records is not what the footer says: (function, by the footer,
    /// records). Empty if there is no footer.
    pub differences: Vec<(Function, u64, u64)>,
    /// Where and why the reading ended early, if it did and that was allowed; without its error the
    /// calls are all there.
    pub salvage: Option<SalvageNote>,
}

/// What is told of a [`Salvage`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SalvageNote {
    /// Calls that could be read.
    pub calls: u64,
    /// What ended the reading, and where.
    pub message: String,
}

impl From<&Salvage> for SalvageNote {
    fn from(salvage: &Salvage) -> Self {
        Self { calls: salvage.calls, message: salvage.error.to_string() }
    }
}

/// Reads to the end and counts. `go_on` is asked now and then, and may end it.
///
/// # Errors
/// Those of the reader, and of `go_on`.
pub fn tally(
    reader: &mut dyn RankReader,
    go_on: &dyn Fn() -> Result<(), TraceError>,
) -> Result<Tally, TraceError> {
    let mut calls = Counts::default();
    while let Some(call) = reader.next_call()? {
        calls.add(call.function, 1);
        if call.sequence % 65_536 == 0 {
            go_on()?;
        }
    }
    let info = reader.info().clone();
    let differences =
        info.footer.as_ref().map(|footer| footer.differences(&calls)).unwrap_or_default();
    Ok(Tally { info, calls, differences, salvage: reader.salvage().map(SalvageNote::from) })
}
