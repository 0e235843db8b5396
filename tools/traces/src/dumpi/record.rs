//! A record of a binary file.

use crate::arguments::Arguments;
use crate::{Field, Function, Status};

use super::clock::Time;
use super::cursor::{Cursor, Stop};

/// Record numbers without a function.
const APPLICATION_ENTERED: u16 = 291;
const APPLICATION_LEFT: u16 = 292;
const END_OF_STREAM: u16 = 293;

/// Bits of a record's mask.
const STATUSES: u8 = 3;
const CPU_TIME: u8 = 4;
const WALL_TIME: u8 = 8;
const THREAD: u8 = 64;
const PERF_COUNTERS: u8 = 128;

/// When a call was entered, and when it returned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Times {
    pub(super) entry: Time,
    pub(super) ret: Time,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Head {
    pub(super) thread: Option<u16>,
    pub(super) cpu: Option<Times>,
    pub(super) wall: Option<Times>,
}

#[derive(Debug)]
pub(super) enum Record {
    Call(Function, Head),
    Skipped,
    End,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Dialect {
    pub(super) status_has_tag: bool,
    /// `MPI_Init` repeats the number of its arguments (before 0.6.2).
    pub(super) init_counts_twice: bool,
}

impl Dialect {
    pub(super) fn of_version(version: [u8; 3]) -> Self {
        Self {
            status_has_tag: version >= [0, 6, 3],
            init_counts_twice: version < [0, 6, 2],
        }
    }
}

impl Default for Dialect {
    /// The dialect of all files since 2011.
    fn default() -> Self {
        Self {
            status_has_tag: true,
            init_counts_twice: false,
        }
    }
}

#[inline]
pub(super) fn read(
    cursor: &mut Cursor<'_>,
    dialect: Dialect,
    args: &mut Arguments,
) -> Result<Record, Stop> {
    let number = cursor.u16()?;
    let Some(function) = Function::from_dumpi(number) else {
        return other(number, cursor);
    };
    let (mask, head) = head(cursor)?;
    args.begin(function);
    for (position, field) in function.fields().iter().enumerate() {
        self::field(cursor, dialect, mask, field, position, args)?;
    }
    Ok(Record::Call(function, head))
}

#[inline]
fn head(cursor: &mut Cursor<'_>) -> Result<(u8, Head), Stop> {
    let mask = cursor.u8()?;
    let thread = if mask & THREAD != 0 {
        Some(cursor.u16()?)
    } else {
        None
    };
    let cpu = if mask & CPU_TIME != 0 {
        Some(times(cursor)?)
    } else {
        None
    };
    let wall = if mask & WALL_TIME != 0 {
        Some(times(cursor)?)
    } else {
        None
    };
    if mask & PERF_COUNTERS != 0 {
        let counters = cursor.u8()?;
        cursor.take(usize::from(counters) * 16)?;
    }
    Ok((mask, Head { thread, cpu, wall }))
}

#[inline]
fn times(cursor: &mut Cursor<'_>) -> Result<Times, Stop> {
    let mut time = || {
        Ok(Time {
            seconds: i64::from(cursor.u16()?),
            ns: cursor.u32()?,
        })
    };
    Ok(Times {
        entry: time()?,
        ret: time()?,
    })
}

#[cold]
fn other(number: u16, cursor: &mut Cursor<'_>) -> Result<Record, Stop> {
    match number {
        END_OF_STREAM => Ok(Record::End),
        APPLICATION_ENTERED | APPLICATION_LEFT => {
            // The application entered or left a function: its address.
            head(cursor)?;
            cursor.i64()?;
            Ok(Record::Skipped)
        }
        number => Err(Stop::Fault(format!("there is no function {number}"))),
    }
}

#[inline]
fn field(
    cursor: &mut Cursor<'_>,
    dialect: Dialect,
    mask: u8,
    field: &Field,
    position: usize,
    args: &mut Arguments,
) -> Result<(), Stop> {
    match field {
        Field::U8(_) => args.set_number(position, i64::from(cursor.u8()?)),
        Field::U16(_) => args.set_number(position, i64::from(cursor.u16()?)),
        Field::I32(_) => args.set_number(position, i64::from(cursor.i32()?)),
        Field::I64(_) => args.set_number(position, cursor.i64()?),
        Field::Requests(_) => args.set_requests(position, words(cursor.list(4)?)),
        Field::Statuses(_) => statuses(cursor, dialect, mask, position, args)?,
        Field::AtRoot(inner) => {
            if args.is_root() {
                self::field(cursor, dialect, mask, inner, position, args)?;
            }
        }
        lists => list(cursor, dialect, lists, position, args)?,
    }
    Ok(())
}

#[inline]
fn words(bytes: &[u8]) -> impl Iterator<Item = i32> {
    bytes
        .as_chunks::<4>()
        .0
        .iter()
        .map(|word| i32::from_be_bytes(*word))
}

#[inline]
fn statuses(
    cursor: &mut Cursor<'_>,
    dialect: Dialect,
    mask: u8,
    position: usize,
    args: &mut Arguments,
) -> Result<(), Stop> {
    if mask & STATUSES == 0 {
        args.set_statuses(position, [].into_iter());
    } else if dialect.status_has_tag {
        let statuses = cursor.list(14)?.as_chunks::<14>().0;
        args.set_statuses(position, statuses.iter().map(status));
    } else {
        let statuses = cursor.list(10)?.as_chunks::<10>().0;
        let with_tag = |bytes: &[u8; 10]| {
            // A missing tag reads as -1.
            let mut long = [0xff; 14];
            long[..10].copy_from_slice(bytes);
            status(&long)
        };
        args.set_statuses(position, statuses.iter().map(with_tag));
    }
    Ok(())
}

#[inline]
fn status(bytes: &[u8; 14]) -> Status {
    let word =
        |at: usize| i32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    Status {
        bytes: i64::from(word(0)),
        source: word(4),
        cancelled: bytes[8] != 0,
        error: bytes[9],
        tag: word(10),
    }
}

/// Reads a list that matching rarely needs.
#[inline(never)]
fn list(
    cursor: &mut Cursor<'_>,
    dialect: Dialect,
    field: &Field,
    position: usize,
    args: &mut Arguments,
) -> Result<(), Stop> {
    match field {
        Field::U8s(_) => args.set_numbers(
            position,
            cursor.list(1)?.iter().map(|&byte| i32::from(byte)),
        ),
        Field::U16s(_) => {
            let handles = cursor.list(2)?.as_chunks::<2>().0;
            args.set_numbers(
                position,
                handles
                    .iter()
                    .map(|bytes| i32::from(u16::from_be_bytes(*bytes))),
            );
        }
        Field::I32s(_) => args.set_numbers(position, words(cursor.list(4)?)),
        Field::I32ss(_) => {
            args.set_numbers(position, [].into_iter());
            for _ in 0..cursor.count()? {
                args.extend_numbers(position, words(cursor.list(4)?));
            }
        }
        Field::Str(_) => {
            args.begin_texts(position);
            args.push_text(position, cursor.list(1)?);
        }
        Field::Strs(_) => texts(cursor, position, args)?,
        Field::Strss(_) => {
            args.begin_texts(position);
            for _ in 0..cursor.count()? {
                for _ in 0..cursor.count()? {
                    args.push_text(position, cursor.list(1)?);
                }
            }
        }
        Field::Args => {
            if dialect.init_counts_twice {
                cursor.i32()?;
            }
            texts(cursor, position, args)?;
        }
        other => return Err(Stop::Fault(format!("{} is no list", other.name()))),
    }
    Ok(())
}

fn texts(cursor: &mut Cursor<'_>, position: usize, args: &mut Arguments) -> Result<(), Stop> {
    args.begin_texts(position);
    for _ in 0..cursor.count()? {
        args.push_text(position, cursor.list(1)?);
    }
    Ok(())
}
