//! Counts and checks a rank's trace.

use std::collections::BTreeMap;

use super::{Counts, Function, RankInfo, RankReader, Salvage, TraceError};

#[derive(Debug)]
pub struct Tally {
    pub info: RankInfo,
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

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SalvageNote {
    pub calls: u64,
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
