//! Reads the calls of a binary file.

use std::fmt;

use crate::arguments::Arguments;
use crate::region::Region;
use crate::{Call, Function, Rank, RankInfo, RankReader, Salvage, TraceError, TraceErrorKind};

use super::clock::Clock;
use super::counted;
use super::cursor::{Cursor, Stop};
use super::record::{self, Dialect, Head, Record};
use super::sections::{self, BODY, Index, MAGIC};
use super::window::Window;
use crate::ending::Ending;

const FORMAT: &str = "DUMPI binary";
/// Maximum record size in bytes. `MPI_Alltoallw` on a million ranks takes 20 million.
const RECORD_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Number of `MPI_Finalize`, after which old files end without a marker.
const FINALIZE: u16 = 125;

/// Reads a DUMPI binary file call by call through a window of 64 KiB, which grows only for a longer
/// record.
pub struct BinaryReader {
    info: RankInfo,
    window: Window,
    dialect: Dialect,
    cpu: Clock,
    wall: Clock,
    args: Arguments,
    finalized: bool,
    ending: Ending,
}

impl fmt::Debug for BinaryReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BinaryReader")
            .field("info", &self.info)
            .field("calls", &self.ending.calls())
            .finish_non_exhaustive()
    }
}

struct Frame {
    info: RankInfo,
    dialect: Dialect,
    body: u64,
    end: u64,
}

impl BinaryReader {
    /// Opens the trace of this rank.
    ///
    /// With `salvage`, a truncated or damaged file gives the calls before the break and then ends;
    /// [`salvage`](RankReader::salvage) then returns the place and the reason.
    ///
    /// # Errors
    /// The file cannot be read or is no trace. Without `salvage`, also if it has no index or a
    /// section around the calls is damaged.
    pub fn new(file: Region, rank: Rank, salvage: bool) -> Result<Self, TraceError> {
        let lead = file.bytes_at(0, BODY)?;
        if lead != MAGIC {
            let what = "it has no DUMPI binary header".to_owned();
            return Err(TraceError::new(file.name(), TraceErrorKind::Unsupported(what)).at_byte(0));
        }
        let (mut frame, mut broken) = match frame(&file, rank) {
            Ok(frame) => (frame, None),
            Err(error) if salvage => (bare_frame(&file, rank), Some(error)),
            Err(error) => return Err(error),
        };
        let bases = file.bytes_at(frame.body, frame.end.saturating_sub(frame.body).min(8))?;
        let mut cursor = Cursor::new(&bases);
        let bases = match (cursor.i32(), cursor.i32()) {
            (Ok(cpu), Ok(wall)) => [cpu, wall],
            _ => {
                let what =
                    TraceErrorKind::Truncated("the file ends before the first call".to_owned());
                let error = TraceError::new(file.name(), what).at_byte(frame.body);
                if !salvage {
                    return Err(error);
                }
                broken = Some(error);
                frame.end = frame.body;
                [0, 0]
            }
        };
        let calls = (frame.body + 8).min(frame.end);
        Ok(Self {
            window: Window::new(file, calls, frame.end),
            info: frame.info,
            dialect: frame.dialect,
            cpu: Clock::new(bases[0]),
            wall: Clock::new(bases[1]),
            args: Arguments::default(),
            finalized: false,
            ending: Ending::new(salvage, broken),
        })
    }

    /// Reads up to the next call, whose arguments are in `args`; `None` at the end of the stream.
    #[inline]
    fn record(&mut self) -> Result<Option<(u64, Function, Head)>, TraceError> {
        loop {
            let offset = self.window.position();
            let bytes = self.window.bytes();
            if bytes.is_empty() && self.window.left() == 0 {
                return Ok(None);
            }
            if self.finalized && bytes.starts_with(&[0, 0]) {
                return Ok(None);
            }
            let mut cursor = Cursor::new(bytes);
            match record::read(&mut cursor, self.dialect, &mut self.args) {
                Ok(record) => {
                    self.window.advance(cursor.position());
                    match record {
                        Record::Call(function, head) => return Ok(Some((offset, function, head))),
                        Record::Skipped => {}
                        Record::End if self.window.left() == 0 || self.ending.is_broken() => {
                            return Ok(None);
                        }
                        Record::End => {
                            let what = format!(
                                "the calls end before their section does, bytes left: {}",
                                self.window.left()
                            );
                            return Err(self.error(TraceErrorKind::Damaged(what), offset));
                        }
                    }
                }
                Err(stop) => self.refill(offset, stop)?,
            }
        }
    }

    /// Extends the window if `stop` asks for more bytes.
    #[cold]
    fn refill(&mut self, offset: u64, stop: Stop) -> Result<(), TraceError> {
        match stop {
            Stop::Fault(what) => Err(self.error(TraceErrorKind::Damaged(what), offset)),
            Stop::Short(needed) if needed > self.window.left() => {
                let left = self.window.left();
                let what = format!("a record needs at least {needed} bytes, with {left} left");
                Err(self.error(TraceErrorKind::Truncated(what), offset))
            }
            Stop::Short(needed) if needed > RECORD_BYTES_MAX => {
                let what =
                    format!("a record of at least {needed} bytes, more than {RECORD_BYTES_MAX}");
                Err(self.error(TraceErrorKind::Damaged(what), offset))
            }
            Stop::Short(needed) => self.window.fill(needed as usize),
        }
    }

    #[cold]
    fn error(&self, kind: TraceErrorKind, offset: u64) -> TraceError {
        TraceError::new(self.window.file().name(), kind).at_byte(offset)
    }
}

fn frame(file: &Region, rank: Rank) -> Result<Frame, TraceError> {
    let Some(Index {
        sizes,
        header,
        body,
        footer,
        body_end,
    }) = sections::index(file)?
    else {
        let what =
            "there is no index at the end, so the recording program was killed or the file was cut";
        let kind = TraceErrorKind::Truncated(what.to_owned());
        return Err(TraceError::new(file.name(), kind).at_byte(file.length()));
    };
    let present = |offset: u64| (offset != 0).then_some(offset);
    let header = present(header)
        .map(|at| sections::header(file, at))
        .transpose()?;
    let info = RankInfo {
        rank,
        format: FORMAT,
        version: header.as_ref().map(|header| header.version),
        start_s: header.as_ref().map(|header| header.start_s),
        hostname: header.as_ref().map(|header| header.hostname.clone()),
        bytes: Some(file.length()),
        sizes: present(sizes)
            .map(|at| sections::sizes(file, at))
            .transpose()?
            .unwrap_or_default(),
        footer: present(footer)
            .map(|at| sections::footer(file, at))
            .transpose()?,
    };
    let dialect = header.map_or_else(Dialect::default, |header| {
        Dialect::of_version(header.version)
    });
    Ok(Frame {
        info,
        dialect,
        body,
        end: body_end,
    })
}

/// The defaults for missing sections: a current version, with calls up to the end of the file.
fn bare_frame(file: &Region, rank: Rank) -> Frame {
    let info = RankInfo {
        bytes: Some(file.length()),
        ..RankInfo::new(rank, FORMAT)
    };
    Frame {
        info,
        dialect: Dialect::default(),
        body: BODY,
        end: file.length(),
    }
}

impl RankReader for BinaryReader {
    fn info(&self) -> &RankInfo {
        &self.info
    }

    fn next_call(&mut self) -> Result<Option<Call<'_>>, TraceError> {
        if self.ending.has_ended() {
            return Ok(None);
        }
        let record = self.record();
        let Some((offset, function, head)) = self.ending.seen(record)? else {
            return Ok(None);
        };
        let file = self.window.file().name();
        let at = |error: TraceError| error.at_byte(offset);
        let counted = counted(&mut self.ending, function, &mut self.args, file, at)?;
        let Some((sequence, op)) = counted else {
            return Ok(None);
        };
        self.finalized |= function.number() == FINALIZE;
        let cpu = head.cpu.map(|times| self.cpu.span(times.entry, times.ret));
        let wall = head
            .wall
            .map(|times| self.wall.span(times.entry, times.ret));
        Ok(Some(Call {
            sequence,
            offset,
            function,
            thread: head.thread,
            cpu,
            wall,
            op,
        }))
    }

    fn arguments(&self) -> Option<&Arguments> {
        Some(&self.args)
    }

    fn salvage(&self) -> Option<&Salvage> {
        self.ending.salvage()
    }
}
