//! Reads the calls in the text output of `dumpi2ascii`.

use std::fmt;
use std::io::{BufReader, Read};
use std::path::PathBuf;

use dpamatch::stream::lines::Lines;

use crate::arguments::Arguments;
use crate::{
    Argument, Call, Field, Footer, Function, Rank, RankInfo, RankReader, Salvage, Span, TraceError,
    TraceErrorKind,
};

use super::clock::{Clock, Time};
use super::counted;
use super::text_value::{Numbers, Statuses, list, number, single, texts, time};
use crate::ending::Ending;

const FORMAT: &str = "DUMPI text";
const CHUNK_BYTES: usize = 64 * 1024;
/// Maximum line length in bytes. The statuses of a million requests take some 70 million.
const LINE_BYTES_MAX: usize = 128 * 1024 * 1024;
/// Upper bound for datatype numbers: a handle has 16 bits.
const DATATYPES_MAX: usize = 1 << 16;

/// Reads one rank's calls from the text of `dumpi2ascii`.
pub struct TextReader {
    file: PathBuf,
    info: RankInfo,
    lines: Lines<BufReader<Box<dyn Read + Send>>>,
    functions: ByName,
    cpu: Clock,
    wall: Clock,
    args: Arguments,
    ending: Ending,
}

#[derive(Clone, Copy, Debug)]
struct Edge {
    function: Function,
    wall: Time,
    cpu: Time,
    thread: u16,
}

/// The fields in a call's lines besides its arguments.
#[derive(Debug)]
struct Seen {
    entry: Edge,
    ret: Edge,
    offset: u64,
}

struct ByName(Vec<(&'static [u8], Function)>);

impl ByName {
    fn new() -> Self {
        let mut functions: Vec<_> = Function::all_of_dumpi()
            .map(|function| (function.name().as_bytes(), function))
            .collect();
        functions.sort_unstable();
        Self(functions)
    }

    fn find(&self, name: &[u8]) -> Option<Function> {
        let at = self.0.binary_search_by_key(&name, |(name, _)| *name).ok()?;
        Some(self.0[at].1)
    }
}

impl fmt::Debug for TextReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TextReader")
            .field("info", &self.info)
            .field("calls", &self.ending.calls())
            .finish_non_exhaustive()
    }
}

enum Fault {
    Truncated(String),
    Damaged(String),
}

impl TextReader {
    /// Opens the text of this rank; `file` is its name in messages. With `salvage`, a damaged text
    /// gives the calls before the damage.
    pub fn new(
        file: impl Into<PathBuf>,
        input: Box<dyn Read + Send>,
        rank: Rank,
        salvage: bool,
    ) -> Self {
        Self {
            file: file.into(),
            info: RankInfo::new(rank, FORMAT),
            lines: Lines::new(BufReader::with_capacity(CHUNK_BYTES, input), LINE_BYTES_MAX),
            functions: ByName::new(),
            cpu: Clock::new(0),
            wall: Clock::new(0),
            args: Arguments::default(),
            ending: Ending::new(salvage, None),
        }
    }

    fn call(&mut self) -> Result<Option<Seen>, TraceError> {
        let Some((entry, offset)) = self.entry()? else {
            return Ok(None);
        };
        let function = entry.function;
        self.args.begin(function);
        let mut next = 0;
        // Position of an argument of several rows whose last row is still to come.
        let mut rows = None;
        loop {
            let line = match self.lines.read() {
                Ok(Some(line)) => line,
                Ok(None) => {
                    let what = format!("the text ends within {function}");
                    return Err(self.error(Fault::Truncated(what)));
                }
                Err(error) => return Err(self.io_error(error)),
            };
            let result = if let Some(ret) = edge(line, b" returning at ", &self.functions) {
                match ret {
                    Ok(ret) if ret.function == function => {
                        finish(&mut self.args, function).map_err(|fault| self.error(fault))?;
                        return Ok(Some(Seen { entry, ret, offset }));
                    }
                    Ok(ret) => Err(Fault::Damaged(format!(
                        "{} returns within {function}",
                        ret.function
                    ))),
                    Err(fault) => Err(fault),
                }
            } else if edge(line, b" entering at ", &self.functions).is_some() {
                Err(Fault::Truncated(format!("{function} does not return")))
            } else {
                argument(line, function, &mut next, &mut rows, &mut self.args)
            };
            result.map_err(|fault| self.error(fault))?;
        }
    }

    /// Skips to the first line of a call and returns its offset; `None` at the end of the text.
    fn entry(&mut self) -> Result<Option<(Edge, u64)>, TraceError> {
        loop {
            let line = match self.lines.read() {
                Ok(Some(line)) => line,
                Ok(None)
                    if self.ending.calls() == 0
                        && self.info.version.is_none()
                        && self.info.footer.is_none() =>
                {
                    let what = "neither a DUMPI binary file nor text of dumpi2ascii".to_owned();
                    return Err(TraceError::new(
                        &self.file,
                        TraceErrorKind::Unsupported(what),
                    ));
                }
                Ok(None) => return Ok(None),
                Err(error) => return Err(self.io_error(error)),
            };
            if let Some(entry) = edge(line, b" entering at ", &self.functions) {
                let entry = entry.map_err(|fault| self.error(fault))?;
                return Ok(Some((entry, self.lines.offset())));
            }
            if let Some(ret) = edge(line, b" returning at ", &self.functions) {
                let what = match ret {
                    Ok(ret) => Fault::Damaged(format!("{} returns without an entry", ret.function)),
                    Err(fault) => fault,
                };
                return Err(self.error(what));
            }
            about_the_rank(line, &self.functions, &mut self.info);
        }
    }

    #[cold]
    fn error(&self, fault: Fault) -> TraceError {
        let kind = match fault {
            Fault::Truncated(what) => TraceErrorKind::Truncated(what),
            Fault::Damaged(what) => TraceErrorKind::Damaged(what),
        };
        TraceError::new(&self.file, kind)
            .at_line(self.lines.number())
            .at_byte(self.lines.offset())
    }

    #[cold]
    fn io_error(&self, error: std::io::Error) -> TraceError {
        // Failed or truncated decompression also counts as damage, so that it can be salvaged.
        let kind = match error.kind() {
            std::io::ErrorKind::UnexpectedEof => TraceErrorKind::Truncated(error.to_string()),
            std::io::ErrorKind::InvalidData | std::io::ErrorKind::InvalidInput => {
                TraceErrorKind::Damaged(error.to_string())
            }
            _ => error.into(),
        };
        TraceError::new(&self.file, kind)
            .at_line(self.lines.number())
            .at_byte(self.lines.offset())
    }
}

/// A call's first or last line; `None` for any other line, an error for an unknown function.
#[inline]
fn edge(line: &[u8], verb: &[u8], functions: &ByName) -> Option<Result<Edge, Fault>> {
    if !line.starts_with(b"MPI") {
        return None;
    }
    let name_length = line.iter().position(|&byte| byte == b' ')?;
    let (name, rest) = line.split_at(name_length);
    let rest = rest.strip_prefix(verb)?;
    Some(edge_of(name, rest, functions).ok_or_else(|| {
        Fault::Damaged(format!(
            "no function and times: {}",
            String::from_utf8_lossy(&line[..line.len().min(120)])
        ))
    }))
}

#[inline]
fn edge_of(name: &[u8], rest: &[u8], functions: &ByName) -> Option<Edge> {
    let function = functions.find(name)?;
    let (wall, rest) = time(rest.strip_prefix(b"walltime ")?)?;
    let (cpu, rest) = time(rest.strip_prefix(b", cputime ")?)?;
    let (thread, rest) = number(rest.strip_prefix(b" seconds in thread ")?)?;
    let thread = u16::try_from(thread).ok().filter(|_| rest == b".")?;
    Some(Edge {
        function,
        wall,
        cpu,
        thread,
    })
}

/// A line between the first and the last: usually an argument, mostly in the order of the binary
/// file.
#[inline]
fn argument(
    line: &[u8],
    function: Function,
    next: &mut usize,
    rows: &mut Option<usize>,
    args: &mut Arguments,
) -> Result<(), Fault> {
    let line = match rows {
        // Rows of numbers are on separate lines; the arguments after them are not.
        Some(position) => match rows_go_on(line, *position, args)? {
            Some(rest) => {
                *rows = None;
                rest
            }
            None => return Ok(()),
        },
        None => line,
    };
    // Skips lines without an argument: counters, or the rest of a text with a line feed.
    let Some(equals) = memchr::memchr(b'=', line) else {
        return Ok(());
    };
    let (left, value) = (&line[..equals], &line[equals + 1..]);
    let Some(space) = memchr::memchr(b' ', left) else {
        return Ok(());
    };
    let name = &left[space + 1..];
    let name = name
        .iter()
        .position(|&byte| byte == b'[')
        .map_or(name, |bracket| &name[..bracket]);
    let fields = function.fields();
    let is_it = |field: &Field| field.name().as_bytes() == name;
    let position = if fields.get(*next).is_some_and(is_it) {
        Some(*next)
    } else {
        fields.iter().position(is_it)
    };
    let Some(position) = position else {
        return Ok(());
    };
    *next = position + 1;
    let field = match &fields[position] {
        Field::AtRoot(field) => field,
        field => field,
    };
    let bad = || {
        let value = String::from_utf8_lossy(&value[..value.len().min(80)]);
        Fault::Damaged(format!("{function} with {} {value}", field.name()))
    };
    let is_whole = match field {
        Field::U8(_) | Field::U16(_) | Field::I32(_) | Field::I64(_) => {
            let value = single(value).ok_or_else(bad)?;
            let fits = match field {
                Field::U8(_) => u8::try_from(value).is_ok(),
                Field::U16(_) => u16::try_from(value).is_ok(),
                Field::I32(_) => i32::try_from(value).is_ok(),
                _ => true,
            };
            args.set_number(position, value);
            fits
        }
        Field::Requests(_) => {
            let mut numbers = Numbers {
                rest: list(value).ok_or_else(bad)?,
            };
            args.set_requests(position, numbers.by_ref());
            numbers.rest.is_empty()
        }
        Field::U8s(_) | Field::U16s(_) | Field::I32s(_) => {
            let mut numbers = Numbers {
                rest: list(value).ok_or_else(bad)?,
            };
            args.set_numbers(position, numbers.by_ref());
            numbers.rest.is_empty()
        }
        Field::Statuses(_) => {
            let mut statuses = Statuses {
                rest: list(value).ok_or_else(bad)?,
            };
            args.set_statuses(position, statuses.by_ref());
            statuses.rest.is_empty()
        }
        Field::I32ss(_) => {
            args.set_numbers(position, [].into_iter());
            if value != b"<IGNORED>" {
                *rows = Some(position);
                rows_go_on(value, position, args)?;
            }
            true
        }
        Field::Str(_) => {
            args.begin_texts(position);
            let text = value.strip_prefix(b"\"").unwrap_or(value);
            args.push_text(position, text.strip_suffix(b"\"").unwrap_or(text));
            true
        }
        Field::Strs(_) | Field::Strss(_) | Field::Args => {
            args.begin_texts(position);
            // A text may contain a line feed, so the list may not end on this line.
            texts(list(value).unwrap_or(value)).for_each(|text| args.push_text(position, text));
            true
        }
        Field::AtRoot(_) => return Err(bad()),
    };
    if is_whole { Ok(()) } else { Err(bad()) }
}

/// Reads another line of rows such as `[[0, 4, 2]`, `, [1, 5, 2]` and finally `]`; returns the rest
/// after the end.
fn rows_go_on<'a>(
    line: &'a [u8],
    position: usize,
    args: &mut Arguments,
) -> Result<Option<&'a [u8]>, Fault> {
    if let Some(rest) = line.strip_prefix(b"]") {
        return Ok(Some(rest));
    }
    let bad = || {
        Fault::Damaged(format!(
            "a row of numbers is {}",
            String::from_utf8_lossy(&line[..line.len().min(80)])
        ))
    };
    let row = line
        .strip_prefix(b"[[")
        .or_else(|| line.strip_prefix(b", ["))
        .ok_or_else(bad)?;
    let mut numbers = Numbers {
        rest: row.strip_suffix(b"]").ok_or_else(bad)?,
    };
    args.extend_numbers(position, numbers.by_ref());
    if numbers.rest.is_empty() {
        Ok(None)
    } else {
        Err(bad())
    }
}

/// Checks that all arguments came, and drops those that only the root has.
fn finish(args: &mut Arguments, function: Function) -> Result<(), Fault> {
    for (position, field) in function.fields().iter().enumerate() {
        let is_there = args.at(position) != Argument::Absent;
        match field {
            Field::AtRoot(_) if !args.is_root() => args.forget(position),
            // There is no line without arguments.
            Field::Args if !is_there => args.begin_texts(position),
            field if !is_there => {
                return Err(Fault::Damaged(format!(
                    "{function} without {}",
                    field.name()
                )));
            }
            _ => {}
        }
    }
    Ok(())
}

/// A line outside of calls: version, node, footer or sizes, if requested.
fn about_the_rank(line: &[u8], functions: &ByName, info: &mut RankInfo) {
    if let Some(version) = line.strip_prefix(b"version=") {
        let mut parts = version.split(|&byte| byte == b'.').map(|part| {
            std::str::from_utf8(part)
                .ok()
                .and_then(|part| part.parse::<u8>().ok())
        });
        if let (Some(Some(major)), Some(Some(minor)), Some(Some(patch))) =
            (parts.next(), parts.next(), parts.next())
        {
            info.version = Some([major, minor, patch]);
        }
    } else if let Some(hostname) = line.strip_prefix(b"hostname=") {
        info.hostname = Some(String::from_utf8_lossy(hostname).into_owned());
    } else if let Some((function, called, ignored)) = counts(line, functions) {
        let footer = info.footer.get_or_insert_with(Footer::default);
        footer.called.add(function, called);
        footer.ignored.add(function, ignored);
    } else if let Some((datatype, bytes)) = datatype_size(line) {
        info.sizes.set(datatype, bytes);
    }
}

/// `MPI_Send called 4 times and ignored 0 times`.
fn counts(line: &[u8], functions: &ByName) -> Option<(Function, u64, u64)> {
    let name_length = line.iter().position(|&byte| byte == b' ')?;
    let (name, rest) = line.split_at(name_length);
    let (called, rest) = number(rest.strip_prefix(b" called ")?)?;
    let (ignored, rest) = number(rest.strip_prefix(b" times and ignored ")?)?;
    let counts = (u32::try_from(called).ok()?, u32::try_from(ignored).ok()?);
    (rest == b" times").then_some((
        functions.find(name)?,
        u64::from(counts.0),
        u64::from(counts.1),
    ))
}

/// `Datatype 14 (MPI_DOUBLE) has size 8`.
fn datatype_size(line: &[u8]) -> Option<(usize, u32)> {
    let (datatype, rest) = number(line.strip_prefix(b"Datatype ")?)?;
    let at = memchr::memmem::find(rest, b" has size ")?;
    let (bytes, _) = number(&rest[at + 10..])?;
    let datatype = usize::try_from(datatype)
        .ok()
        .filter(|&datatype| datatype < DATATYPES_MAX)?;
    Some((datatype, u32::try_from(bytes).ok()?))
}

impl RankReader for TextReader {
    fn info(&self) -> &RankInfo {
        &self.info
    }

    fn next_call(&mut self) -> Result<Option<Call<'_>>, TraceError> {
        if self.ending.has_ended() {
            return Ok(None);
        }
        let seen = self.call();
        let Some(Seen { entry, ret, offset }) = self.ending.seen(seen)? else {
            return Ok(None);
        };
        let function = entry.function;
        let (line, byte) = (self.lines.number(), self.lines.offset());
        let at = |error: TraceError| error.at_line(line).at_byte(byte);
        let counted = counted(&mut self.ending, function, &mut self.args, &self.file, at)?;
        let Some((sequence, op)) = counted else {
            return Ok(None);
        };
        let cpu = span(&mut self.cpu, entry.cpu, ret.cpu);
        let wall = span(&mut self.wall, entry.wall, ret.wall);
        Ok(Some(Call {
            sequence,
            offset,
            function,
            thread: Some(entry.thread),
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

/// Unrecorded times print as zeros.
fn span(clock: &mut Clock, entry: Time, ret: Time) -> Option<Span> {
    let is_recorded = [entry, ret] != [Time::default(); 2];
    is_recorded.then(|| clock.span(entry, ret))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_65536_datatypes_are_kept() {
        for (datatype, kept) in [(0, true), (65_534, true), (65_535, true), (65_536, false)] {
            let line = format!("Datatype {datatype} (MPI_DOUBLE) has size 9");
            let size = datatype_size(line.as_bytes());
            assert_eq!(size, kept.then_some((datatype, 9)), "{datatype}");
        }
    }

    #[test]
    fn a_line_has_up_to_128_mib() {
        const MOST: u64 = 128 << 20;
        for (bytes, fits) in [(MOST - 1, true), (MOST, true), (MOST + 1, false)] {
            let line = std::io::repeat(b'x').take(bytes);
            let input = Box::new(line.chain(&b"\nversion=1.2.3\n"[..]));
            let mut reader = TextReader::new("long.txt", input, Rank::default(), false);
            let wrong = reader.next_call().err().map(|error| error.to_string());
            assert_eq!(wrong.is_none(), fits, "{bytes} bytes: {wrong:?}");
            assert_eq!(reader.info().version, fits.then_some([1, 2, 3]));
        }
    }

    #[test]
    fn rows_go_on_until_they_are_closed() {
        let function = Function::from_name("MPI_Group_range_incl").expect("a function");
        let at = |field: &Field| matches!(field, Field::I32ss(_));
        let place = function.fields().iter().position(at).expect("rows");
        let mut args = Arguments::default();
        args.begin(function);
        args.set_numbers(place, [].into_iter());
        for line in ["[[0, 4, 2]", ", [1, 5, 2]"] {
            assert!(
                matches!(rows_go_on(line.as_bytes(), place, &mut args), Ok(None)),
                "{line}"
            );
        }
        let end = rows_go_on(b"]MPI_Group newgroup=3", place, &mut args);
        assert!(matches!(end, Ok(Some(b"MPI_Group newgroup=3"))));
        assert_eq!(args.numbers(place), [0, 4, 2, 1, 5, 2]);
        for wrong in ["0, 4", ", [1, x]", ", [1, 2"] {
            assert!(
                rows_go_on(wrong.as_bytes(), place, &mut args).is_err(),
                "{wrong}"
            );
        }
    }
}
