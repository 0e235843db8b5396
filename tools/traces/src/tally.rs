//! Counts and checks a rank's trace.

use std::collections::BTreeMap;

use super::{Counts, Function, RankInfo, RankReader, Salvage, TraceError};

/// The contents of a rank's trace.
#[derive(Debug)]
pub struct Tally {
    /// The rank and its recorder.
    pub info: RankInfo,
    /// The calls read.
    pub calls: Counts,
    /// Functions whose number of records contradicts the footer: (function, by the footer,
    /// records). Empty without a footer.
    pub differences: Vec<(Function, u64, u64)>,
    /// What was not read, by name, and how often.
    pub unread: BTreeMap<String, u64>,
    /// Where and why reading ended early, if that was permitted; without its error, all calls are
    /// present.
    pub salvage: Option<SalvageNote>,
}

/// A [`Salvage`] with its error as text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SalvageNote {
    /// Calls read before the damage.
    pub calls: u64,
    /// The error's text.
    pub message: String,
}

impl From<&Salvage> for SalvageNote {
    fn from(salvage: &Salvage) -> Self {
        Self {
            calls: salvage.calls,
            message: salvage.error.to_string(),
        }
    }
}

/// Reads to the end and counts.
///
/// # Errors
/// An error of the reader.
pub fn tally(reader: &mut dyn RankReader) -> Result<Tally, TraceError> {
    let mut calls = Counts::default();
    while let Some(call) = reader.next_call()? {
        calls.add(call.function, 1);
    }
    let info = reader.info().clone();
    let differences = info
        .footer
        .as_ref()
        .map(|footer| footer.differences(&calls))
        .unwrap_or_default();
    Ok(Tally {
        info,
        calls,
        differences,
        unread: reader.unread(),
        salvage: reader.salvage().map(SalvageNote::from),
    })
}
