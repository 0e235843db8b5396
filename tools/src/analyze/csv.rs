//! A report's numbers as CSV files, and the pairs of a replay.

use std::fmt::Write;

pub use super::pairs::pairs;
use super::report::Report;
use super::stats::{BinStats, Fallback, Hint, Searches, Totals};

/// A field as RFC 4180 wants it.
fn quoted(field: &str) -> String {
    if field.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}

/// Appends a line of a file that is kept in memory, where writing cannot fail.
macro_rules! line {
    ($out:expr, $($what:tt)*) => {{
        let _ = writeln!($out, $($what)*);
    }};
}

/// The files of a report: name and contents. Ranks are those of the world; `all` in place of one is
/// the application.
pub fn files(report: &Report) -> Vec<(&'static str, String)> {
    vec![
        ("calls.csv", calls(report)),
        ("traffic.csv", traffic(report)),
        ("bins.csv", bins(report)),
        ("tables.csv", tables(report)),
        ("blocks.csv", blocks(report)),
        ("keys.csv", keys(report)),
        ("needs.csv", needs(report)),
        ("depth.csv", depth(report)),
        ("communicators.csv", communicators(report)),
        ("hints.csv", hints(report)),
        ("lifetime.csv", lifetime(report)),
        ("engines.csv", engines(report)),
        ("unmatched.csv", unmatched(report)),
        ("advice.csv", advice(report)),
    ]
}

/// The application, then each rank.
fn each(report: &Report) -> impl Iterator<Item = (String, &Totals)> {
    let ranks = report.ranks.iter().map(|rank| (rank.rank.to_string(), &rank.totals));
    std::iter::once(("all".to_owned(), &report.application)).chain(ranks)
}

fn calls(report: &Report) -> String {
    let mut out = "rank,p2p,collective,one_sided,progress,other\n".to_owned();
    for (rank, Totals { shares, .. }) in each(report) {
        let (p2p, collective, one_sided) = (shares.p2p, shares.collective, shares.one_sided);
        line!(out, "{rank},{p2p},{collective},{one_sided},{},{}", shares.progress, shares.other);
    }
    out
}

fn traffic(report: &Report) -> String {
    let mut out =
        "rank,sends,bytes_sent,receives_no_wildcard,receives_any_source,receives_any_tag,receives_any_both,\
                   probes,to_null,cancelled,expected,unexpected,receives_left,messages_left\n"
            .to_owned();
    for (rank, Totals { traffic, .. }) in each(report) {
        let [none, source, tag, both] = traffic.receives;
        line!(
            out,
            "{rank},{},{},{none},{source},{tag},{both},{},{},{},{},{},{},{}",
            traffic.sends,
            traffic.bytes_sent,
            traffic.probes,
            traffic.to_null,
            traffic.cancelled,
            traffic.expected,
            traffic.unexpected,
            traffic.receives_left,
            traffic.messages_left
        );
    }
    out
}

fn bins(report: &Report) -> String {
    let mut out =
        "rank,bins,queue,searches,hits,steps,steps_max,asl,masl,mql,aql,collisions\n".to_owned();
    for (rank, totals) in each(report) {
        for stats in &totals.bins {
            let posted: u64 = stats.tables.tables.iter().map(|table| table.collisions).sum();
            for (queue, searches, collisions) in
                [("prq", &stats.prq, posted), ("umq", &stats.umq, stats.umq_collisions)]
            {
                let Searches { count, hits, steps, steps_max, length_max, mean_max, .. } =
                    *searches;
                line!(
                    out,
                    "{rank},{},{queue},{count},{hits},{steps},{steps_max},{:.4},{mean_max:.4},{length_max},{:.4},{collisions}",
                    stats.bins,
                    searches.mean(),
                    searches.length_mean()
                );
            }
        }
    }
    out
}

fn tables(report: &Report) -> String {
    let mut out = "rank,bins,table,inserted,collisions,longest_chain,longest_chain_mean,empty_share_min,empty_share_mean,\
                   depth_mean,depth_max\n"
        .to_owned();
    for (rank, totals) in each(report) {
        for BinStats { bins, tables, .. } in &totals.bins {
            for (name, table) in ["no_wildcard", "any_source", "any_tag"].iter().zip(&tables.tables)
            {
                let samples = tables.samples.max(1) as f64;
                line!(
                    out,
                    "{rank},{bins},{name},{},{},{},{:.4},{:.4},{:.4},{:.4},{}",
                    table.inserted,
                    table.collisions,
                    table.longest_chain,
                    table.longest_chain_sum as f64 / samples,
                    f64::from(table.empty_bins_min) / f64::from(*bins),
                    table.empty_bins_sum as f64 / samples / f64::from(*bins),
                    tables.depth_mean(),
                    tables.depth_max
                );
            }
        }
    }
    out
}

fn blocks(report: &Report) -> String {
    let mut out =
        "rank,handlers,blocks,conflict_blocks,messages,clean,fast,slow,forced,unexpected,refused_mixed,\
                   refused_end\n"
            .to_owned();
    for (rank, totals) in each(report) {
        for block in &totals.blocks {
            line!(
                out,
                "{rank},{},{},{},{},{},{},{},{},{},{},{}",
                block.handlers,
                block.blocks,
                block.conflict_blocks,
                block.messages,
                block.clean,
                block.fast,
                block.slow,
                block.forced,
                block.unexpected,
                block.refused_mixed,
                block.refused_end
            );
        }
    }
    out
}

fn keys(report: &Report) -> String {
    let mut out =
        "rank,of,uses,unique,unique_share,most_used,chain_max,chain_mean,tags,tag_max,sequences,\
                   sequence_mean,sequence_longest,in_sequences\n"
            .to_owned();
    for (rank, totals) in each(report) {
        for (of, keys) in [("receives", &totals.receive_keys), ("messages", &totals.message_keys)] {
            line!(
                out,
                "{rank},{of},{},{},{:.6},{},{},{:.4},{},{},{},{:.4},{},{}",
                keys.uses,
                keys.unique,
                keys.unique_share(),
                keys.most_used,
                keys.chain_max,
                keys.chain_mean(),
                totals.tags,
                totals.tag_max,
                totals.sequences.count,
                totals.sequences.mean(),
                totals.sequences.longest,
                totals.sequences.in_runs
            );
        }
    }
    out
}

fn needs(report: &Report) -> String {
    let mut out =
        "rank,descriptors,unexpected,unexpected_bytes,unexpected_buffers,communicators,first_shortage,\
                   at_rank,at_event,at_ns,call,of_rank\n"
            .to_owned();
    for (rank, Totals { needs, .. }) in each(report) {
        let first = needs.fallback.map_or(",,,,,".to_owned(), |fallback| {
            let Fallback { shortage, rank, happening, time_ns, call, .. } = fallback;
            let told =
                |number: Option<u64>| number.map_or(String::new(), |number| number.to_string());
            let (time, call) = (told(time_ns), told(call.map(u64::from)));
            format!(
                "{},{rank},{happening},{time},{call},{}",
                shortage.option().1,
                fallback.caller()
            )
        });
        line!(
            out,
            "{rank},{},{},{},{},{},{first}",
            needs.descriptors,
            needs.unexpected,
            needs.unexpected_bytes,
            needs.unexpected_buffers,
            needs.communicators
        );
    }
    out
}

fn depth(report: &Report) -> String {
    let mut out = "rank,column,until_ns,posted_max,unexpected_max\n".to_owned();
    for (rank, Totals { depths, .. }) in each(report) {
        let columns = depths.posted.len().max(1) as u128;
        for (column, (posted, unexpected)) in
            depths.posted.iter().zip(&depths.unexpected).enumerate()
        {
            let until = u128::from(report.end_ns) * (column as u128 + 1) / columns;
            line!(out, "{rank},{column},{until},{posted},{unexpected}");
        }
    }
    out
}

fn communicators(report: &Report) -> String {
    let mut out = "id,number,name,size,ranks,sends,bytes_sent,receives_no_wildcard,receives_any_source,receives_any_tag,\
                   receives_any_both,probes,cancelled,expected,unexpected,receives_left,messages_left,posted_max,\
                   unexpected_max,sequences,sequence_mean,sequence_longest,prq_searches,prq_asl,prq_masl,prq_aql,\
                   umq_searches,umq_asl,umq_masl,umq_aql\n"
        .to_owned();
    let searches = |of: &Searches| {
        format!("{},{:.4},{:.4},{:.4}", of.count, of.mean(), of.mean_max, of.length_mean())
    };
    for comm in &report.communicators {
        let ranks = match comm.translation {
            super::Translation::Exact => "exact",
            super::Translation::Assumed => "assumed",
        };
        let (traffic, sequences) = (&comm.stats.traffic, &comm.stats.sequences);
        let [none, source, tag, both] = traffic.receives;
        line!(
            out,
            "{},{},{},{},{ranks},{},{},{none},{source},{tag},{both},{},{},{},{},{},{},{},{},{},{:.4},{},{},{}",
            comm.id,
            comm.number,
            quoted(&comm.name),
            comm.size,
            traffic.sends,
            traffic.bytes_sent,
            traffic.probes,
            traffic.cancelled,
            traffic.expected,
            traffic.unexpected,
            traffic.receives_left,
            traffic.messages_left,
            comm.stats.posted_max,
            comm.stats.unexpected_max,
            sequences.count,
            sequences.mean(),
            sequences.longest,
            searches(&comm.stats.prq),
            searches(&comm.stats.umq)
        );
    }
    out
}

fn hints(report: &Report) -> String {
    let mut out =
        "communicator,name,hint,violations,unknown,first_rank,first_call,first_function\n"
            .to_owned();
    for comm in &report.communicators {
        let hints = &comm.stats.hints;
        let all: [(&str, &Hint); 4] = [
            ("mpi_assert_no_any_source", &hints.no_any_source),
            ("mpi_assert_no_any_tag", &hints.no_any_tag),
            ("mpi_assert_exact_length", &hints.exact_length),
            ("mpi_assert_allow_overtaking", &hints.allow_overtaking),
        ];
        for (name, hint) in all {
            let first = hint
                .first
                .map_or(",,".to_owned(), |at| format!("{},{},{}", at.rank, at.call, at.function));
            let (violations, unknown) = (hint.count, hint.unknown);
            line!(out, "{},{},{name},{violations},{unknown},{first}", comm.id, quoted(&comm.name));
        }
    }
    out
}

fn lifetime(report: &Report) -> String {
    let mut out =
        "bins,depth_average,depth_max,depth_mean,collisions_no_wildcard,collisions_any_source,\
                   collisions_any_tag,list_max\n"
            .to_owned();
    for life in &report.lifetime {
        let [none, source, tag] = life.tables.tables.map(|table| table.collisions);
        line!(
            out,
            "{},{:.4},{},{:.4},{none},{source},{tag},{}",
            life.bins,
            life.depth_average,
            life.depth_max,
            life.depth_mean,
            life.list_max
        );
    }
    out
}

fn engines(report: &Report) -> String {
    let mut out = "engine,counter,value\n".to_owned();
    for engine in &report.engines {
        let agreement = &engine.agreement;
        let pairs = [
            ("pairs_same", agreement.same),
            ("pairs_other", agreement.other),
            ("pairs_missing", agreement.missing),
            ("bytes_equal", agreement.bytes_equal),
            ("bytes_differ", agreement.bytes_differ),
            ("ranks_that_differ", engine.differs_at.len() as u64),
        ];
        let counters = engine.counters.iter().map(|(name, value)| (name.as_str(), *value));
        for (name, value) in pairs.into_iter().chain(counters) {
            line!(out, "{},{name},{value}", engine.name);
        }
    }
    out
}

fn unmatched(report: &Report) -> String {
    let mut out = "rank,what,call,envelope,reason\n".to_owned();
    for left in &report.unmatched {
        let call = left.call.map_or(String::new(), |call| call.to_string());
        line!(
            out,
            "{},{},{call},{},{}",
            left.rank,
            left.what,
            quoted(&left.envelope),
            quoted(&left.reason)
        );
    }
    out
}

fn advice(report: &Report) -> String {
    let mut out = "topic,advice,because\n".to_owned();
    for advice in &report.advice {
        line!(out, "{},{},{}", advice.topic, quoted(&advice.text), quoted(&advice.because));
    }
    out
}
