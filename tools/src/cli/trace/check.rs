use std::collections::BTreeMap;
use std::io::Write;

use dpamatch::Rank;
use dpamatch_tools::counted;
use dpamatch_tools::table::Table;
use dpamatch_traces::{Counts, Tally, TraceError};
use serde_json::json;

use super::super::document::{self, Form};
use super::super::table::Wide;
use super::{BadInput, TraceArgs, bad_input, output};

/// Read every call of every rank and compare the counts with each file's footer
///
/// Exit code 2 if a file is damaged or contradicts its footer; with --salvage only if the readable
/// calls contradict it.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    trace: TraceArgs,
    /// Form of the report
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = Form::Text)]
    format: Form,
    #[command(flatten)]
    wide: Wide,
}

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    let trace = args.trace.open()?;
    let ranks = super::tallies(trace.as_ref());
    let mut out = output::stdout();
    match args.format {
        Form::Text => text(&ranks, args.wide.width(), &mut *out)?,
        Form::Json => {
            let ranks = ranks.iter().map(|(rank, result)| of_rank(*rank, result));
            let results = document::members(json!({ "ranks": ranks.collect::<Vec<_>>() }));
            document::write(&mut *out, &document::document(&[], results))?;
        }
    }
    out.flush()?;
    let wrong = ranks.iter().filter(|(_, result)| !is_good(result)).count();
    match ranks.into_iter().find_map(|(_, result)| result.err()) {
        // The first error becomes the command's message; the others have been printed.
        Some(error) => Err(bad_input(error, !args.trace.salvage)),
        None if wrong > 0 => Err(BadInput(format!(
            "calls contradict the footers at {}",
            counted(wrong, "rank")
        ))
        .into()),
        None => Ok(()),
    }
}

fn is_good(result: &Result<Tally, TraceError>) -> bool {
    // The footer of a truncated rank may promise more.
    result
        .as_ref()
        .is_ok_and(|tally| tally.differences.is_empty() || tally.salvage.is_some())
}

fn verdict(result: &Result<Tally, TraceError>) -> String {
    let tally = match result {
        Err(error) => return error.to_string(),
        Ok(tally) => tally,
    };
    if let Some(salvage) = &tally.salvage {
        return format!("salvaged: {}", salvage.message);
    }
    match (&tally.info.footer, &tally.differences[..]) {
        (None, _) => "read; no footer to compare with".to_owned(),
        (Some(_), []) => "agrees with the footer".to_owned(),
        (Some(_), differences) => differences
            .iter()
            .map(|(function, promised, records)| {
                format!(
                    "{function}: {}, footer {promised}",
                    counted(records, "record")
                )
            })
            .collect::<Vec<_>>()
            .join("; "),
    }
}

fn text(
    ranks: &[(Rank, Result<Tally, TraceError>)],
    width: usize,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let columns = ["rank", "calls", "left out", "result"];
    let mut table = Table::new("ranks", "Calls, and what the footers say", columns);
    let mut all = Counts::default();
    let mut unread = BTreeMap::new();
    for (rank, result) in ranks {
        let tally = result.as_ref().ok();
        if let Some(tally) = tally {
            all.merge(&tally.calls);
            super::add_unread(&mut unread, &tally.unread);
        }
        table.push([
            rank.get().into(),
            tally.map(|tally| tally.calls.total()).into(),
            left_out(result).into(),
            verdict(result).into(),
        ]);
    }
    write!(out, "{}", table.text(width))?;
    writeln!(out, "{}", summary(ranks, all.total()))?;
    write!(out, "{}", super::unread_line(&unread))?;
    Ok(())
}

/// Calls that the footer names and the file lacks, and what the reader did not read. `None`:
/// neither a footer nor the reader counts any, or the rank cannot be read, which its row says.
fn left_out(result: &Result<Tally, TraceError>) -> Option<u64> {
    let tally = result.as_ref().ok()?;
    let footer = tally.info.footer.as_ref();
    let ignored = footer.map(|footer| footer.ignored.total());
    match tally.unread.values().sum::<u64>() {
        0 => ignored,
        unread => Some(ignored.unwrap_or(0) + unread),
    }
}

/// How many ranks are consistent with their footers. A rank without call or footer proves nothing.
fn summary(ranks: &[(Rank, Result<Tally, TraceError>)], calls: u64) -> String {
    let good = || ranks.iter().filter(|(_, result)| is_good(result));
    let has_footer = |(_, result): &&(Rank, Result<Tally, TraceError>)| {
        let tally = result.as_ref().ok();
        tally.is_some_and(|tally| tally.info.footer.is_some() && tally.salvage.is_none())
    };
    let consistent = good().filter(has_footer).count();
    let read = good().count() - consistent;
    if calls == 0 && good().count() > 0 {
        return "0 calls, so nothing was checked".to_owned();
    }
    let calls = counted(calls, "call");
    let compared = match (consistent, read) {
        (0, read) if read > 0 => String::new(),
        _ => {
            let ranks = counted(ranks.len(), "rank");
            format!("; call counts agree with the footers: {consistent} of {ranks}")
        }
    };
    let read = match read {
        0 => String::new(),
        read => format!(
            "; read without a footer to compare with: {}",
            counted(read, "rank")
        ),
    };
    format!("{calls}{compared}{read}")
}

fn of_rank(rank: Rank, result: &Result<Tally, TraceError>) -> serde_json::Value {
    match result {
        Err(error) => json!({ "rank": rank.get(), "good": false, "error": error.to_string() }),
        Ok(tally) => json!({
            "rank": rank.get(),
            "good": is_good(result),
            "compared": tally.info.footer.is_some() && tally.salvage.is_none(),
            "calls": tally.calls.total(),
            "left_out": left_out(result),
            "not_read": tally.unread,
            "differences": tally.differences.iter().map(|(function, footer, records)| {
                json!({ "function": function.name(), "footer": footer, "records": records })
            }).collect::<Vec<_>>(),
            "salvage": tally.salvage.as_ref().map(|salvage| &salvage.message),
        }),
    }
}
