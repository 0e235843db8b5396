//! Writes a binary file. A cache stores texts in this form to avoid parsing them again.

use crate::trace::arguments::Arguments;
use crate::trace::{Argument, Call, Field, Function, RankInfo, Span, Status};

use super::clock::Clock;
use super::sections::{BODY, FOOTER_COUNTS, FOOTER_MAGIC, MAGIC};

/// Version to write if the source has none: the newest layout.
const VERSION: [u8; 3] = [13, 0, 0];
/// Seconds reserved before the first call, since calls of other threads may have begun earlier.
const EARLIER_S: i64 = 16_384;
/// Writes statuses and thread always, and times if known.
const MASK: u8 = 3 | 64;

/// A rank's binary file under construction, in a buffer that the caller empties.
#[derive(Debug)]
pub(in crate::trace) struct Encoder {
    bytes: Vec<u8>,
    written: u64,
    base_s: Option<[i64; 2]>,
    /// The clocks as a reader will restore them.
    clocks: [Clock; 2],
}

impl Encoder {
    pub(in crate::trace) fn new() -> Self {
        Self {
            bytes: MAGIC.to_vec(),
            written: 0,
            base_s: None,
            clocks: [Clock::new(0), Clock::new(0)],
        }
    }

    /// The bytes to write next; the encoder then drops them.
    pub(in crate::trace) fn take(&mut self) -> &[u8] {
        self.written += self.bytes.len() as u64;
        &self.bytes
    }

    /// Drops the bytes returned by [`take`](Self::take).
    pub(in crate::trace) fn clear(&mut self) {
        self.bytes.clear();
    }

    pub(in crate::trace) fn waiting(&self) -> usize {
        self.bytes.len()
    }

    /// Adds a call.
    ///
    /// # Errors
    /// A reader would restore another call: times too far apart, or missing arguments.
    pub(in crate::trace) fn call(
        &mut self,
        call: &Call<'_>,
        args: &Arguments,
    ) -> Result<(), String> {
        let bases = self.bases(call)?;
        self.u16(call.function.number());
        let time_bits = (u8::from(call.cpu.is_some()) * 4) | (u8::from(call.wall.is_some()) * 8);
        self.bytes.push(MASK | time_bits);
        self.u16(call.thread.unwrap_or(0));
        for (clock, span) in [call.cpu, call.wall].into_iter().enumerate() {
            if let Some(span) = span {
                self.times(clock, bases[clock], span)?;
            }
        }
        for (position, field) in call.function.fields().iter().enumerate() {
            self.field(field, args.at(position), args)
                .map_err(|what| format!("{} of {}: {what}", field.name(), call.function))?;
        }
        Ok(())
    }

    /// Ends the calls and adds the sections around them.
    pub(in crate::trace) fn finish(&mut self, info: &RankInfo) {
        if self.base_s.is_none() {
            self.bytes.extend([0; 8]);
        }
        self.u16(293);
        let header = self.position();
        self.bytes.extend(info.version.unwrap_or(VERSION));
        self.bytes.extend(info.start_s.unwrap_or(0).to_be_bytes());
        let hostname = info.hostname.as_deref().unwrap_or("").as_bytes();
        let length = hostname.len().min(usize::from(u16::MAX));
        self.u16(length as u16);
        self.bytes.extend(&hostname[..length]);
        // No user name and no mesh.
        self.bytes.extend([0; 10]);
        let mut footer = 0;
        if let Some(counts) = &info.footer {
            footer = self.position();
            self.bytes.extend(FOOTER_MAGIC.to_be_bytes());
            for counts in [&counts.called, &counts.ignored] {
                for function in Function::all() {
                    self.u32(counts.get(function) as u32);
                }
                self.u32(counts.total() as u32);
            }
            debug_assert_eq!(self.position() - footer, 8 + 8 * FOOTER_COUNTS as u64);
        }
        let sizes = self.position();
        let recorded = info.sizes.recorded();
        self.u32(recorded.len() as u32);
        recorded.iter().for_each(|&bytes| self.u32(bytes));
        self.bytes.extend(MAGIC);
        for offset in [sizes, 0, 0, header, BODY, footer, 0] {
            self.bytes.extend(offset.to_be_bytes());
        }
    }

    fn position(&self) -> u64 {
        self.written + self.bytes.len() as u64
    }

    /// First seconds of the two clocks, set by the first call.
    fn bases(&mut self, call: &Call<'_>) -> Result<[i64; 2], String> {
        if let Some(bases) = self.base_s {
            return Ok(bases);
        }
        let base = |span: Option<Span>| {
            span.map_or(0, |span| span.entry_ns.div_euclid(1_000_000_000) - EARLIER_S)
        };
        let bases = [base(call.cpu), base(call.wall)];
        for (clock, base_s) in bases.into_iter().enumerate() {
            let word = i32::try_from(base_s).map_err(|_| format!("a time of {base_s} seconds"))?;
            self.bytes.extend(word.to_be_bytes());
            self.clocks[clock] = Clock::new(word);
        }
        self.base_s = Some(bases);
        Ok(bases)
    }

    fn times(&mut self, clock: usize, base_s: i64, span: Span) -> Result<(), String> {
        let split = |ns: i64| {
            let seconds = (ns.div_euclid(1_000_000_000) - base_s).rem_euclid(1 << 16) as u16;
            (seconds, ns.rem_euclid(1_000_000_000) as u32)
        };
        let (entry, ret) = (split(span.entry_ns), split(span.return_ns));
        let read =
            self.clocks[clock].span((i64::from(entry.0), entry.1), (i64::from(ret.0), ret.1));
        if read != span {
            return Err(format!(
                "times {} and {} ns are too far from the others",
                span.entry_ns, span.return_ns
            ));
        }
        for (seconds, ns) in [entry, ret] {
            self.u16(seconds);
            self.u32(ns);
        }
        Ok(())
    }

    fn field(
        &mut self,
        field: &Field,
        argument: Argument<'_>,
        args: &Arguments,
    ) -> Result<(), String> {
        match (field, argument) {
            (Field::AtRoot(_), Argument::Absent) if !args.is_root() => {}
            (Field::AtRoot(field), argument) => self.field(field, argument, args)?,
            (Field::U8(_), Argument::Number(number)) => self.bytes.push(number as u8),
            (Field::U16(_), Argument::Number(number)) => self.u16(number as u16),
            (Field::I32(_), Argument::Number(number)) => self.u32(number as u32),
            (Field::I64(_), Argument::Number(number)) => self.bytes.extend(number.to_be_bytes()),
            (Field::Requests(_), Argument::Requests(requests)) => {
                self.u32(requests.len() as u32);
                requests.iter().for_each(|request| self.u32(request.0 as u32));
            }
            (Field::Statuses(_), Argument::Statuses(statuses)) => {
                self.u32(statuses.len() as u32);
                statuses.iter().for_each(|status| self.status(status));
            }
            (Field::U8s(_), Argument::Numbers(numbers)) => {
                self.u32(numbers.len() as u32);
                self.bytes.extend(numbers.iter().map(|&number| number as u8));
            }
            (Field::U16s(_), Argument::Numbers(numbers)) => {
                self.u32(numbers.len() as u32);
                numbers.iter().for_each(|&number| self.u16(number as u16));
            }
            (Field::I32s(_), Argument::Numbers(numbers)) => self.numbers(numbers),
            (Field::I32ss(_), Argument::Numbers(numbers)) => {
                // Rows of three: the only rows are ranges of ranks.
                self.u32(numbers.len().div_ceil(3) as u32);
                numbers.chunks(3).for_each(|row| self.numbers(row));
            }
            (Field::Str(_), Argument::Texts(texts)) => {
                self.text(texts.iter().next().unwrap_or_default())
            }
            (Field::Strs(_) | Field::Args, Argument::Texts(texts)) => {
                self.u32(texts.iter().count() as u32);
                texts.iter().for_each(|text| self.text(text));
            }
            (Field::Strss(_), Argument::Texts(texts)) => {
                self.u32(1);
                self.u32(texts.iter().count() as u32);
                texts.iter().for_each(|text| self.text(text));
            }
            _ => return Err("it is not there".to_owned()),
        }
        Ok(())
    }

    fn numbers(&mut self, numbers: &[i32]) {
        self.u32(numbers.len() as u32);
        numbers.iter().for_each(|&number| self.u32(number as u32));
    }

    fn text(&mut self, text: &[u8]) {
        self.u32(text.len() as u32);
        self.bytes.extend(text);
    }

    fn status(&mut self, status: &Status) {
        self.u32(status.bytes as u32);
        self.u32(status.source as u32);
        self.bytes.extend([u8::from(status.cancelled), status.error]);
        self.u32(status.tag as u32);
    }

    fn u16(&mut self, value: u16) {
        self.bytes.extend(value.to_be_bytes());
    }

    fn u32(&mut self, value: u32) {
        self.bytes.extend(value.to_be_bytes());
    }
}
