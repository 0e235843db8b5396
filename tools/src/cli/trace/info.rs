use std::collections::BTreeMap;
use std::io::Write;
use std::sync::{Mutex, PoisonError};

use dpamatch::Rank;
use dpamatch_tools::counted;
use dpamatch_tools::table::{Cell, Table};
use dpamatch_traces::{Class, Counts, RunInfo, Tally, TraceError, TraceSource};
use serde_json::json;

use super::super::document::{self, Form};
use super::super::progress::bar;
use super::{TraceArgs, bad_input, output};

/// Show ranks, formats and versions, calls by class and function
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    trace: TraceArgs,
    /// Form of the report
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = Form::Text)]
    format: Form,
}

#[derive(Debug, Default)]
struct Sum {
    calls: Counts,
    called: Counts,
    ignored: Counts,
    formats: BTreeMap<String, usize>,
    footers: usize,
    unread: BTreeMap<String, u64>,
    salvaged: Vec<(Rank, String)>,
}

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    let trace = args.trace.open()?;
    let sum = sum(trace.as_ref()).map_err(|error| bad_input(error, !args.trace.salvage))?;
    let mut out = output::stdout();
    match args.format {
        Form::Text => text(trace.as_ref(), &sum, &mut *out)?,
        Form::Json => {
            let results = document::members(report(trace.as_ref(), &sum));
            document::write(&mut *out, &document::document(&[], results))?;
        }
    }
    out.flush()?;
    Ok(())
}

impl Sum {
    fn add(&mut self, rank: Rank, tally: Tally) {
        self.calls.merge(&tally.calls);
        super::add_unread(&mut self.unread, &tally.unread);
        let format = match tally.info.version {
            Some([major, minor, patch]) => format!("{} {major}.{minor}.{patch}", tally.info.format),
            None => format!("{} of unknown version", tally.info.format),
        };
        *self.formats.entry(format).or_default() += 1;
        if let Some(footer) = &tally.info.footer {
            self.footers += 1;
            self.called.merge(&footer.called);
            self.ignored.merge(&footer.ignored);
        }
        self.salvaged
            .extend(tally.salvage.map(|salvage| (rank, salvage.message)));
    }
}

/// Adds the ranks up as they are read: one rank's counts take 7.5 KB.
fn sum(trace: &dyn TraceSource) -> Result<Sum, TraceError> {
    let sum = Mutex::new(Sum::default());
    let lock = || sum.lock().unwrap_or_else(PoisonError::into_inner);
    let bar = bar(trace.ranks().len(), "ranks read");
    let ranks = dpamatch_traces::per_rank(trace, |rank, reader| {
        let tally = dpamatch_traces::tally(reader)?;
        lock().add(rank, tally);
        bar.inc(1);
        Ok(())
    });
    bar.finish_and_clear();
    // The first error in the order of the ranks.
    ranks.into_iter().try_for_each(|(_, result)| result)?;
    let mut sum = std::mem::take(&mut *lock());
    sum.salvaged.sort_by_key(|&(rank, _)| rank.get());
    Ok(sum)
}

fn text(trace: &dyn TraceSource, sum: &Sum, out: &mut dyn Write) -> anyhow::Result<()> {
    let RunInfo {
        processes,
        hostname,
        start_s,
        ..
    } = trace.run();
    let ranks = trace.ranks();
    match (processes, ranks) {
        (_, []) => writeln!(out, "no ranks")?,
        (None, [one]) => writeln!(out, "rank {}", one.get())?,
        (Some(processes), _) => {
            writeln!(out, "{} of {}", ranks.len(), counted(processes, "rank"))?;
        }
        (None, _) => writeln!(out, "{}", counted(ranks.len(), "rank"))?,
    }
    for (format, ranks) in &sum.formats {
        writeln!(out, "{format}: {}", counted(ranks, "rank"))?;
    }
    if let Some(hostname) = hostname {
        writeln!(out, "recorded on {hostname}")?;
    }
    if let Some(start_s) = start_s {
        writeln!(out, "started {}", date(*start_s))?;
    }
    for (rank, message) in &sum.salvaged {
        writeln!(out, "rank {} salvaged: {message}", rank.get())?;
    }
    let total = sum.calls.total();
    let mut classes = Table::new("classes", "\nCalls by class", ["class", "calls", "%"]);
    for &class in Class::ALL {
        let calls = sum.calls.of_class(class);
        let share = 100.0 * calls as f64 / total.max(1) as f64;
        classes.push([class.name().into(), calls.into(), share.into()]);
    }
    let columns = ["function", "calls", "left out"];
    let mut functions = Table::new("functions", "\nCalls by function", columns);
    // Functions with omitted calls only are listed, too.
    let mut seen = sum.calls.clone();
    seen.merge(&sum.ignored);
    for (function, _) in seen.iter() {
        let ignored = (sum.footers > 0).then(|| sum.ignored.get(function));
        let calls = sum.calls.get(function);
        functions.push([function.name().into(), calls.into(), Cell::from(ignored)]);
    }
    let tables = [classes, functions].map(|table| table.text(usize::MAX));
    writeln!(out, "{}\n{}", tables.concat(), counted(total, "call"))?;
    write!(out, "{}", super::unread_line(&sum.unread))?;
    Ok(())
}

fn report(trace: &dyn TraceSource, sum: &Sum) -> serde_json::Value {
    let RunInfo {
        processes,
        hostname,
        start_s,
        notices,
    } = trace.run();
    let counts = |counts: &Counts| -> serde_json::Value {
        let each = counts.iter();
        each.map(|(function, times)| json!({ "function": function.name(), "calls": times }))
            .collect()
    };
    let formats = sum.formats.iter();
    let formats = formats.map(|(format, ranks)| json!({ "format": format, "ranks": ranks }));
    let class =
        |&class: &Class| json!({ "class": class.name(), "calls": sum.calls.of_class(class) });
    let classes = Class::ALL.iter().map(class);
    json!({
        "processes": processes,
        "hostname": hostname,
        "start_s": start_s,
        "notices": notices,
        "ranks": trace.ranks().iter().map(|rank| rank.get()).collect::<Vec<_>>(),
        "formats": formats.collect::<Vec<_>>(),
        "calls": sum.calls.total(),
        "by_class": classes.collect::<Vec<_>>(),
        "by_function": counts(&sum.calls),
        "called": (sum.footers > 0).then(|| counts(&sum.called)),
        "left_out": (sum.footers > 0).then(|| counts(&sum.ignored)),
        "not_read": sum.unread,
        "salvaged": sum.salvaged.iter()
            .map(|(rank, message)| json!({ "rank": rank.get(), "message": message }))
            .collect::<Vec<_>>(),
    })
}

/// The UTC date and time that many seconds after 1970.
fn date(seconds: u64) -> String {
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Years begin in March, so that a leap day is a year's last; 400 years have 146,097 days.
    let day = days + 719_468;
    let (era, day) = (day / 146_097, day % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    // Of five months from March or August on each has 30.6 days.
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 {
        (month + 3, 0)
    } else {
        (month - 9, 1)
    };
    let [hour, minute, second] = [second / 3600, second / 60 % 60, second % 60];
    let year = 400 * era + year + next;
    format!("{year}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
}

#[cfg(test)]
mod tests {
    use super::date;

    #[test]
    fn seconds_are_dates() {
        for (seconds, expected) in [
            (0, "1970-01-01 00:00:00 UTC"),
            (951_782_399, "2000-02-28 23:59:59 UTC"),
            (951_782_400, "2000-02-29 00:00:00 UTC"),
            (951_868_800, "2000-03-01 00:00:00 UTC"),
            (1_795_247_922, "2026-11-21 07:58:42 UTC"),
            (4_107_542_400, "2100-03-01 00:00:00 UTC"),
        ] {
            assert_eq!(date(seconds), expected);
        }
    }
}
