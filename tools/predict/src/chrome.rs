//! Spans as a Chrome trace, which Perfetto also reads: one row per EU.

use std::io::{self, Write};

use crate::Part;

/// Writes the spans of a part. Times are microseconds since its beginning, with six decimals
/// (picoseconds).
pub fn write_chrome(part: &Part, out: &mut dyn Write) -> io::Result<()> {
    write!(out, "{{\"displayTimeUnit\":\"ns\",\"traceEvents\":[")?;
    write!(
        out,
        "\n{{\"ph\":\"M\",\"pid\":0,\"name\":\"process_name\",\"args\":{{\"name\":\"DPA\"}}}}"
    )?;
    for (eu, state) in part.outcome.eus.iter().enumerate() {
        write!(
            out,
            ",\n{{\"ph\":\"M\",\"pid\":0,\"tid\":{eu},\"name\":\"thread_name\",\"args\":{{\"name\":\"EU {eu} core {}\"}}}}",
            state.core
        )?;
    }
    for span in &part.outcome.spans {
        let microseconds = |time: u64| format!("{}.{:06}", time / 1_000_000, time % 1_000_000);
        write!(
            out,
            ",\n{{\"ph\":\"X\",\"pid\":0,\"tid\":{},\"name\":\"{}\",\"ts\":{},\"dur\":{},\"args\":{{\"message\":{}}}}}",
            span.eu,
            span.phase.name(),
            microseconds(span.begin.saturating_sub(part.begin)),
            microseconds(span.end - span.begin),
            span.message
        )?;
    }
    writeln!(out, "\n]}}")
}
