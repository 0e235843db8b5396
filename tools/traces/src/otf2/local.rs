//! The local definitions of a location: its own numbers of objects, and the error of its clock.

use std::collections::HashMap;
use std::path::Path;

use crate::TraceError;

use super::cursor::{Cursor, Fault};
use super::definitions::{self, Definitions};

const MAPPING_TABLE: u8 = 5;
const CLOCK_OFFSET: u8 = 6;
/// Kinds of mapping tables.
const OF_REGIONS: u8 = 3;
const OF_COMMS: u8 = 6;
/// A table that lists the numbers from 0 on.
const DENSE: u8 = 0;

#[derive(Debug, Default)]
pub(super) struct Local {
    regions: HashMap<u64, u64>,
    comms: HashMap<u64, u64>,
    /// Ticks to add at a time, ascending.
    offsets: Vec<(u64, i64)>,
}

impl Local {
    /// Reads the file, if there is one.
    pub(super) fn read(file: &Path, chunk_bytes: usize) -> Result<Self, TraceError> {
        let mut local = Self::default();
        if file.is_file() {
            definitions::records(file, chunk_bytes, |kind, fields| local.record(kind, fields))?;
            local.offsets.sort_unstable();
        }
        Ok(local)
    }

    fn record(&mut self, kind: u8, mut it: Cursor<'_>) -> Result<(), Fault> {
        if kind == CLOCK_OFFSET {
            self.offsets
                .push((it.whole_u64()?, it.u64()?.cast_signed()));
        } else if kind == MAPPING_TABLE {
            let table = match it.u8()? {
                OF_REGIONS => &mut self.regions,
                OF_COMMS => &mut self.comms,
                _ => return Ok(()),
            };
            let (size, mode) = (it.u64()?, it.u8()?);
            for place in 0..size {
                let own = if mode == DENSE { place } else { it.u64()? };
                table.insert(own, it.u64()?);
            }
        }
        Ok(())
    }

    pub(super) fn region(&self, own: u32) -> u32 {
        mapped(&self.regions, own)
    }

    pub(super) fn comm(&self, own: u32) -> u32 {
        mapped(&self.comms, own)
    }

    /// Nanoseconds since the start of the run. Between two measured offsets, and beyond the outer
    /// two, the clock's error grows evenly.
    pub(super) fn nanoseconds(&self, run: &Definitions, ticks: u64) -> i64 {
        let next = self.offsets.partition_point(|&(time, _)| time < ticks);
        let error = match self.offsets[..] {
            [] => 0,
            [(_, only)] => only,
            _ => {
                let next = next.clamp(1, self.offsets.len() - 1);
                let [(from, first), (to, last)] = [self.offsets[next - 1], self.offsets[next]];
                let slope = (last - first) as f64 / to.abs_diff(from).max(1) as f64;
                first + (slope * (i128::from(ticks) - i128::from(from)) as f64).round() as i64
            }
        };
        let ticks = i128::from(ticks) + i128::from(error) - i128::from(run.start);
        (ticks * 1_000_000_000 / i128::from(run.ticks_per_second)) as i64
    }
}

fn mapped(table: &HashMap<u64, u64>, own: u32) -> u32 {
    table
        .get(&u64::from(own))
        .and_then(|&it| u32::try_from(it).ok())
        .unwrap_or(own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_are_corrected_between_and_beyond_the_measurements() {
        let run = Definitions {
            ticks_per_second: 500_000_000,
            start: 100,
            ..Default::default()
        };
        let at = |offsets: &[(u64, i64)], ticks| {
            let local = Local {
                offsets: offsets.to_vec(),
                ..Local::default()
            };
            local.nanoseconds(&run, ticks)
        };
        assert_eq!([at(&[], 99), at(&[], 100), at(&[], 150)], [-2, 0, 100]);
        assert_eq!(at(&[(7, 5)], 150), 110);
        let two = [(200, 10), (300, -10)];
        let times = [100, 200, 250, 299, 301, 400].map(|ticks| at(&two, ticks));
        assert_eq!(times, [60, 220, 300, 378, 382, 540]);
    }
}
