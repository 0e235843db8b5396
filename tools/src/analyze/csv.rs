//! A report's numbers as CSV files, and the pairs of a replay.

pub use super::pairs::pairs;
use super::report::Report;
use super::stats::{BinStats, Hint, Searches, Totals};
use crate::table::Csv;

/// Appends a row of anything that can be shown.
macro_rules! row {
    ($csv:expr, $($field:expr),* $(,)?) => { $csv.row([$($field.to_string()),*]) };
}

/// Four digits behind the point.
fn four(number: f64) -> String {
    format!("{number:.4}")
}

/// Nothing in place of what there is not.
fn told<T: ToString>(value: Option<T>) -> String {
    value.map_or(String::new(), |value| value.to_string())
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
        ("sites.csv", sites(report)),
        ("advice.csv", advice(report)),
    ]
}

/// A file whose header is a line of plain names.
fn file(header: &str) -> Csv {
    Csv::new(header.split(','))
}

/// The application, then each rank.
fn each(report: &Report) -> impl Iterator<Item = (String, &Totals)> {
    let ranks = report.ranks.iter().map(|rank| (rank.rank.to_string(), &rank.totals));
    std::iter::once(("all".to_owned(), &report.application)).chain(ranks)
}

fn calls(report: &Report) -> String {
    let mut csv = file("rank,p2p,collective,one_sided,progress,other");
    for (rank, Totals { shares, .. }) in each(report) {
        let (p2p, collective, one_sided) = (shares.p2p, shares.collective, shares.one_sided);
        row!(csv, rank, p2p, collective, one_sided, shares.progress, shares.other);
    }
    csv.text()
}

fn traffic(report: &Report) -> String {
    let mut csv = file(
        "rank,sends,bytes_sent,receives_no_wildcard,receives_any_source,receives_any_tag,\
         receives_any_both,probes,to_null,cancelled,expected,unexpected,receives_left,messages_left",
    );
    for (rank, Totals { traffic, .. }) in each(report) {
        let [none, source, tag, both] = traffic.receives;
        row!(
            csv,
            rank,
            traffic.sends,
            traffic.bytes_sent,
            none,
            source,
            tag,
            both,
            traffic.probes,
            traffic.to_null,
            traffic.cancelled,
            traffic.expected,
            traffic.unexpected,
            traffic.receives_left,
            traffic.messages_left
        );
    }
    csv.text()
}

fn bins(report: &Report) -> String {
    let mut csv = file("rank,bins,queue,searches,hits,steps,steps_max,asl,masl,mql,aql,collisions");
    for (rank, totals) in each(report) {
        for stats in &totals.bins {
            let posted: u64 = stats.tables.tables.iter().map(|table| table.collisions).sum();
            for (queue, searches, collisions) in
                [("prq", &stats.prq, posted), ("umq", &stats.umq, stats.umq_collisions)]
            {
                let Searches { count, hits, steps, steps_max, length_max, mean_max, .. } =
                    *searches;
                let (mean, length) = (four(searches.mean()), four(searches.length_mean()));
                row!(
                    csv,
                    rank,
                    stats.bins,
                    queue,
                    count,
                    hits,
                    steps,
                    steps_max,
                    mean,
                    four(mean_max),
                    length_max,
                    length,
                    collisions
                );
            }
        }
    }
    csv.text()
}

fn tables(report: &Report) -> String {
    let mut csv = file(
        "rank,bins,table,inserted,collisions,longest_chain,longest_chain_mean,empty_share_min,\
         empty_share_mean,depth_mean,depth_max",
    );
    for (rank, totals) in each(report) {
        for BinStats { bins, tables, .. } in &totals.bins {
            for (name, table) in ["no_wildcard", "any_source", "any_tag"].iter().zip(&tables.tables)
            {
                let samples = tables.samples.max(1) as f64;
                row!(
                    csv,
                    rank,
                    bins,
                    name,
                    table.inserted,
                    table.collisions,
                    table.longest_chain,
                    four(table.longest_chain_sum as f64 / samples),
                    four(f64::from(table.empty_bins_min) / f64::from(*bins)),
                    four(table.empty_bins_sum as f64 / samples / f64::from(*bins)),
                    four(tables.depth_mean()),
                    tables.depth_max
                );
            }
        }
    }
    csv.text()
}

fn blocks(report: &Report) -> String {
    let mut csv = file(
        "rank,handlers,blocks,conflict_blocks,messages,clean,fast,slow,forced,unexpected,\
         refused_mixed,refused_end",
    );
    for (rank, totals) in each(report) {
        for block in &totals.blocks {
            row!(
                csv,
                rank,
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
    csv.text()
}

fn keys(report: &Report) -> String {
    let mut csv = file(
        "rank,of,uses,unique,unique_share,most_used,chain_max,chain_mean,tags,tag_max,sequences,\
         sequence_mean,sequence_longest,in_sequences",
    );
    for (rank, totals) in each(report) {
        for (of, keys) in [("receives", &totals.receive_keys), ("messages", &totals.message_keys)] {
            row!(
                csv,
                rank,
                of,
                keys.uses,
                keys.unique,
                format_args!("{:.6}", keys.unique_share()),
                keys.most_used,
                keys.chain_max,
                four(keys.chain_mean()),
                totals.tags,
                totals.tag_max,
                totals.sequences.count,
                four(totals.sequences.mean()),
                totals.sequences.longest,
                totals.sequences.in_runs
            );
        }
    }
    csv.text()
}

fn needs(report: &Report) -> String {
    let mut csv = file(
        "rank,descriptors,unexpected,unexpected_bytes,unexpected_buffers,communicators,\
         first_shortage,at_rank,at_event,at_ns,call,of_rank",
    );
    for (rank, Totals { needs, .. }) in each(report) {
        let first = needs.fallback.as_ref();
        row!(
            csv,
            rank,
            needs.descriptors,
            needs.unexpected,
            needs.unexpected_bytes,
            needs.unexpected_buffers,
            needs.communicators,
            told(first.map(|first| first.shortage.option().1)),
            told(first.map(|first| first.rank)),
            told(first.map(|first| first.happening)),
            told(first.and_then(|first| first.time_ns)),
            told(first.and_then(|first| first.call)),
            told(first.map(|first| first.caller()))
        );
    }
    csv.text()
}

fn depth(report: &Report) -> String {
    let mut csv = file("rank,column,until_ns,posted_max,unexpected_max");
    for (rank, Totals { depths, .. }) in each(report) {
        let columns = depths.posted.len().max(1) as u128;
        for (column, (posted, unexpected)) in
            depths.posted.iter().zip(&depths.unexpected).enumerate()
        {
            let until = u128::from(report.end_ns) * (column as u128 + 1) / columns;
            row!(csv, rank, column, until, posted, unexpected);
        }
    }
    csv.text()
}

fn communicators(report: &Report) -> String {
    let mut csv = file(
        "id,number,name,size,ranks,sends,bytes_sent,receives_no_wildcard,receives_any_source,\
         receives_any_tag,receives_any_both,probes,cancelled,expected,unexpected,receives_left,\
         messages_left,posted_max,unexpected_max,sequences,sequence_mean,sequence_longest,\
         prq_searches,prq_asl,prq_masl,prq_aql,umq_searches,umq_asl,umq_masl,umq_aql",
    );
    for comm in &report.communicators {
        let ranks = match comm.translation {
            super::Translation::Exact => "exact",
            super::Translation::Assumed => "assumed",
        };
        let (traffic, sequences) = (&comm.stats.traffic, &comm.stats.sequences);
        let [none, source, tag, both] = traffic.receives;
        let (prq, umq) = (&comm.stats.prq, &comm.stats.umq);
        row!(
            csv,
            comm.id,
            comm.number,
            comm.name,
            comm.size,
            ranks,
            traffic.sends,
            traffic.bytes_sent,
            none,
            source,
            tag,
            both,
            traffic.probes,
            traffic.cancelled,
            traffic.expected,
            traffic.unexpected,
            traffic.receives_left,
            traffic.messages_left,
            comm.stats.posted_max,
            comm.stats.unexpected_max,
            sequences.count,
            four(sequences.mean()),
            sequences.longest,
            prq.count,
            four(prq.mean()),
            four(prq.mean_max),
            four(prq.length_mean()),
            umq.count,
            four(umq.mean()),
            four(umq.mean_max),
            four(umq.length_mean())
        );
    }
    csv.text()
}

fn hints(report: &Report) -> String {
    let mut csv =
        file("communicator,name,hint,violations,unknown,first_rank,first_call,first_function");
    for comm in &report.communicators {
        let hints = &comm.stats.hints;
        let all: [(&str, &Hint); 4] = [
            ("mpi_assert_no_any_source", &hints.no_any_source),
            ("mpi_assert_no_any_tag", &hints.no_any_tag),
            ("mpi_assert_exact_length", &hints.exact_length),
            ("mpi_assert_allow_overtaking", &hints.allow_overtaking),
        ];
        for (name, hint) in all {
            let first = hint.first.as_ref();
            row!(
                csv,
                comm.id,
                comm.name,
                name,
                hint.count,
                hint.unknown,
                told(first.map(|at| at.rank)),
                told(first.map(|at| at.call)),
                told(first.map(|at| at.function))
            );
        }
    }
    csv.text()
}

fn lifetime(report: &Report) -> String {
    let mut csv = file(
        "bins,depth_average,depth_max,depth_mean,collisions_no_wildcard,collisions_any_source,\
         collisions_any_tag,list_max",
    );
    for life in &report.lifetime {
        let [none, source, tag] = life.tables.tables.map(|table| table.collisions);
        let (average, mean) = (four(life.depth_average), four(life.depth_mean));
        row!(csv, life.bins, average, life.depth_max, mean, none, source, tag, life.list_max);
    }
    csv.text()
}

fn engines(report: &Report) -> String {
    let mut csv = file("engine,counter,value");
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
            row!(csv, engine.name, name, value);
        }
    }
    csv.text()
}

fn sites(report: &Report) -> String {
    let mut csv = file("place,within,function,count,unexpected,waiting_max,waited_ns");
    for site in &report.sites {
        row!(
            csv,
            site.place,
            told(site.within.as_ref()),
            site.function,
            site.count,
            site.unexpected,
            site.waiting_max,
            told(site.waited_ns)
        );
    }
    csv.text()
}

fn unmatched(report: &Report) -> String {
    let mut csv = file("rank,what,call,envelope,reason");
    for left in &report.unmatched {
        row!(csv, left.rank, left.what, told(left.call), left.envelope, left.reason);
    }
    csv.text()
}

fn advice(report: &Report) -> String {
    let mut csv = file("topic,advice,because");
    for advice in &report.advice {
        row!(csv, advice.topic, advice.text, advice.because);
    }
    csv.text()
}
