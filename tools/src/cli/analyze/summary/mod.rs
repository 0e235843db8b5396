//! A report as text.

use std::fmt::Write;

use dpamatch_tools::analyze::stats::{Searches, Traffic};
use dpamatch_tools::analyze::{CommReport, OrderChoice, Report};
use dpamatch_tools::table::{Grid, wrapped};

mod applications;
mod words;

pub(super) use applications::{figure_seven, over_applications};
use words::{advice, notes, unmatched};

const SITES_SHOWN: usize = 12;
const COMMUNICATORS_SHOWN: usize = 8;

fn percent(part: u64, all: u64) -> String {
    format!("{:.1} %", part as f64 * 100.0 / all.max(1) as f64)
}

/// The report for lines of `width` columns.
pub(super) fn text(report: &Report, width: usize) -> String {
    let parts = [
        header(report),
        traffic(report),
        queues(report, width),
        tables(report, width),
        paths(report, width),
        shards(report, width),
        communicators(report, width),
        engines(report, width),
        sites(report, width),
        unmatched(report),
        notes(report),
        advice(report),
    ];
    let parts = parts.iter().map(|part| part.trim_end()).filter(|part| !part.is_empty());
    wrapped(&parts.collect::<Vec<_>>().join("\n\n"), width)
}

/// The report without tables and advice, for the head of a page.
pub(super) fn short(report: &Report) -> String {
    let parts = [header(report), traffic(report), needs(report), notes(report)];
    let parts: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join("\n\n")
}

fn order(report: &Report) -> String {
    match report.order {
        OrderChoice::Causal => {
            let seed = report.network.map_or(0, |network| network.seed);
            let stalls = match report.stalls {
                0 => String::new(),
                stalls => format!(", {stalls} stalled waits released"),
            };
            format!("causal (seed {seed}{stalls})")
        }
        OrderChoice::Recorded => "recorded (order logs)".to_owned(),
        OrderChoice::Time => "by the recorded clocks".to_owned(),
        OrderChoice::PostsFirst => "as recorded, all receives first".to_owned(),
        OrderChoice::ArrivalsFirst => "as recorded, messages as early as possible".to_owned(),
        OrderChoice::Random { seed } => format!("as recorded, mixed at random (seed {seed})"),
    }
}

fn header(report: &Report) -> String {
    if report.order == OrderChoice::Recorded {
        let (ranks, processes) = (report.ranks.len(), report.processes);
        let order = order(report);
        return format!("{}: {ranks} of {processes} ranks\norder: {order}", report.name);
    }
    let shares = &report.application.shares;
    let [p2p, collective, one_sided] = shares.percent();
    format!(
        "{}: {} of {}{} ranks, {} calls in {:.1} MB\n\
         calls: {} point-to-point, {} collective, {} one-sided ({p2p:.1} / {collective:.1} / {one_sided:.1} %); {} progress, {} other\n\
         order: {}",
        report.name,
        report.ranks.len(),
        if report.processes_guessed { "at least " } else { "" },
        report.processes,
        report.source.calls,
        report.source.bytes as f64 / 1e6,
        shares.p2p,
        shares.collective,
        shares.one_sided,
        shares.progress,
        shares.other,
        order(report)
    )
}

fn traffic(report: &Report) -> String {
    let Traffic {
        sends,
        bytes_sent,
        receives,
        probes,
        to_null,
        cancelled,
        expected,
        unexpected,
        ..
    } = report.application.traffic;
    let checked = match &report.checked {
        None => String::new(),
        Some(illegal) if illegal.is_empty() => "\nchecked: all pairs obey MPI's rules".to_owned(),
        Some(illegal) => {
            let lines: Vec<_> = illegal
                .iter()
                .map(|(rank, what)| format!("\nILLEGAL at rank {rank}: {what}"))
                .collect();
            lines.concat()
        }
    };
    let [none, source, tag, both] = receives;
    let all: u64 = receives.iter().sum();
    let keys = &report.application.receive_keys;
    let sequences = &report.application.sequences;
    let (left, messages_left) =
        (report.application.traffic.receives_left, report.application.traffic.messages_left);
    format!(
        "{sends} sends of {bytes_sent} bytes; {all} receives: {none} without wildcard, {source} any source, {tag} any tag, {both} both; \
         {probes} probes, {cancelled} cancels, {to_null} with MPI_PROC_NULL\n\
         messages: {expected} expected, {unexpected} unexpected ({}); left: {left} receives, {messages_left} messages\n\
         {} distinct (source, tag) pairs in {} receives ({:.2} %), at most {} pending per pair; at most {} tags per rank, largest tag {}\n\
         sequences of compatible receives: {}, mean length {:.2}, longest {}{checked}",
        percent(unexpected, expected + unexpected),
        keys.unique,
        keys.uses,
        keys.unique_share() * 100.0,
        keys.chain_max,
        report.application.tags,
        report.application.tag_max,
        sequences.count,
        sequences.mean(),
        sequences.longest
    )
}

fn queues(report: &Report, width: usize) -> String {
    let mut table = Grid::new([
        "queue",
        "bins",
        "searches",
        "MQL",
        "AQL",
        "ASL",
        "MASL",
        "longest",
        "collisions",
    ]);
    for bins in &report.application.bins {
        let posted: u64 = bins.tables.tables.iter().map(|table| table.collisions).sum();
        for (queue, searches, collisions) in
            [("posted", &bins.prq, posted), ("unexpected", &bins.umq, bins.umq_collisions)]
        {
            let Searches { count, steps_max, length_max, mean_max, .. } = *searches;
            table.push([
                queue.to_owned(),
                bins.bins.to_string(),
                count.to_string(),
                length_max.to_string(),
                format!("{:.2}", searches.length_mean()),
                format!("{:.2}", searches.mean()),
                format!("{mean_max:.2}"),
                steps_max.to_string(),
                collisions.to_string(),
            ]);
        }
    }
    format!(
        "Queue lengths (MQL maximum, AQL mean over searches), steps per search (ASL mean, MASL maximum mean of a rank)\n{}",
        table.text(width)
    )
}

fn tables(report: &Report, width: usize) -> String {
    let mut table = Grid::new([
        "bins",
        "depth mean",
        "max",
        "longest chains",
        "empty bins min",
        "mean",
        "|  never: average",
        "mean",
        "max",
    ]);
    for (bins, life) in report.application.bins.iter().zip(&report.lifetime) {
        let [none, source, tag] = bins.tables.tables;
        let samples = bins.tables.samples.max(1) as f64 * f64::from(bins.bins);
        table.push([
            bins.bins.to_string(),
            format!("{:.2}", bins.tables.depth_mean()),
            bins.tables.depth_max.to_string(),
            format!("{}/{}/{}", none.longest_chain, source.longest_chain, tag.longest_chain),
            format!("{:.1} %", f64::from(none.empty_bins_min) * 100.0 / f64::from(bins.bins)),
            format!("{:.1} %", none.empty_bins_sum as f64 * 100.0 / samples),
            format!("{:.2}", life.depth_average),
            format!("{:.2}", life.depth_mean),
            life.depth_max.to_string(),
        ]);
    }
    format!(
        "Posted receives in hash tables: depth is the number before the last one in the longest chain; longest chains in the \
         exact / any-source / any-tag table; never: receives are never removed, as in the published analyzer\n{}",
        table.text(width)
    )
}

fn paths(report: &Report, width: usize) -> String {
    let mut table = Grid::new([
        "handlers",
        "blocks",
        "messages per block",
        "clean",
        "fast",
        "slow",
        "forced",
        "unexpected",
        "blocks in conflict",
    ]);
    for block in &report.application.blocks {
        table.push([
            block.handlers.to_string(),
            block.blocks.to_string(),
            format!("{:.2}", block.messages as f64 / block.blocks.max(1) as f64),
            block.clean.to_string(),
            block.fast.to_string(),
            block.slow.to_string(),
            block.forced.to_string(),
            block.unexpected.to_string(),
            percent(block.conflict_blocks, block.blocks),
        ]);
    }
    format!(
        "Optimistic matching (some slow-path messages end up unexpected)\n{}{}",
        table.text(width),
        needs(report)
    )
}

fn shards(report: &Report, width: usize) -> String {
    let mut table = Grid::new(["shards", "messages", "of the busiest", "speed-up", "efficiency"]);
    for shards in &report.application.shards {
        table.push([
            shards.shards.to_string(),
            shards.messages.to_string(),
            shards.busiest.to_string(),
            format!("{:.2}", shards.speed_up()),
            format!("{:.2}", shards.efficiency()),
        ]);
    }
    format!(
        "Shards: several NICs that split a rank's messages by source (a communicator on which any \
         source is asked for stays on one)\n{}",
        table.text(width)
    )
}

/// The NIC resources needed, in one line.
fn needs(report: &Report) -> String {
    let needs = &report.application.needs;
    let fallback = match needs.fallback {
        None => "fits the NIC".to_owned(),
        Some(first) => format!(
            "does not fit: rank {} runs out of {} at its event {}{}",
            first.rank,
            first.shortage.option().1,
            first.happening,
            first.time_ns.map_or(String::new(), |time| format!(" ({:.3} ms)", time as f64 / 1e6))
        ),
    };
    format!(
        "high water: {} descriptors, {} unexpected messages with {} bytes, {} communicators: {fallback}",
        needs.descriptors, needs.unexpected, needs.unexpected_bytes, needs.communicators
    )
}

fn sites(report: &Report, width: usize) -> String {
    if report.sites.is_empty() {
        return String::new();
    }
    let mut table =
        Grid::new(["place", "call", "count", "unexpected", "waiting at most", "us each"])
            .words("call");
    for site in report.sites.iter().take(SITES_SHOWN) {
        let each = |ns: u64| ns as f64 / 1e3 / site.unexpected.max(1) as f64;
        let within = site.within.as_ref().map_or(String::new(), |within| format!(" ({within})"));
        table.push([
            format!("{}{within}", site.place),
            site.function.to_owned(),
            site.count.to_string(),
            site.unexpected.to_string(),
            site.waiting_max.to_string(),
            site.waited_ns.map_or("-".to_owned(), |ns| format!("{:.2}", each(ns))),
        ]);
    }
    let more = report.sites.len().saturating_sub(SITES_SHOWN);
    let more = if more > 0 { format!("and {more} more\n") } else { String::new() };
    format!("Call sites of receives and sends, by unexpected messages\n{}{more}", table.text(width))
}

/// By sends and receives in falling order; equal ones keep their order.
fn busiest_first(communicators: &[CommReport]) -> Vec<&CommReport> {
    let mut sorted: Vec<_> = communicators.iter().collect();
    sorted.sort_by_key(|comm| {
        std::cmp::Reverse(comm.stats.traffic.all_receives() + comm.stats.traffic.sends)
    });
    sorted
}

fn communicator(comm: &CommReport) -> [String; 10] {
    [
        format!("{} ({})", comm.number, comm.name),
        comm.size.to_string(),
        comm.translation.name().to_owned(),
        comm.stats.traffic.sends.to_string(),
        comm.stats.traffic.all_receives().to_string(),
        comm.stats.traffic.wildcards().to_string(),
        comm.stats.traffic.unexpected.to_string(),
        comm.stats.posted_max.to_string(),
        format!("{:.2}", comm.stats.prq.length_mean()),
        format!("{:.2}", comm.stats.prq.mean()),
    ]
}

fn communicators(report: &Report, width: usize) -> String {
    let mut shown = busiest_first(&report.communicators);
    let more = shown.len().saturating_sub(COMMUNICATORS_SHOWN);
    shown.truncate(COMMUNICATORS_SHOWN);
    if shown.len() < 2 {
        return String::new();
    }
    let mut table = Grid::new([
        "communicator",
        "size",
        "ranks",
        "sends",
        "receives",
        "wildcards",
        "unexpected",
        "posted at most",
        "AQL",
        "ASL",
    ]);
    shown.into_iter().for_each(|comm| table.push(communicator(comm)));
    let more = if more > 0 { format!("and {more} more\n") } else { String::new() };
    format!("Communicators\n{}{more}", table.text(width))
}

fn engines(report: &Report, width: usize) -> String {
    if report.engines.is_empty() {
        return String::new();
    }
    let mut table = Grid::new([
        "engine",
        "pairs as recorded",
        "other",
        "bytes agree",
        "posted: steps",
        "longest",
        "unexpected: steps",
        "longest",
        "memory",
    ]);
    for engine in &report.engines {
        let told = |value: Option<u64>| value.map_or("-".to_owned(), |value| value.to_string());
        let counter = |name: &str| told(engine.counter(name));
        let agreement = &engine.agreement;
        table.push([
            engine.name.to_owned(),
            agreement.same.to_string(),
            (agreement.other + agreement.missing).to_string(),
            format!(
                "{} of {}",
                agreement.bytes_equal,
                agreement.bytes_equal + agreement.bytes_differ
            ),
            told(engine.posted_steps()),
            counter("prq_depth_max"),
            told(engine.unexpected_steps()),
            counter("umq_depth_max"),
            counter("memory_bytes_max"),
        ]);
    }
    let mut text = format!("Engines\n{}", table.text(width));
    for engine in &report.engines {
        if !engine.differs_at.is_empty() {
            let _ = writeln!(
                text,
                "{} gives other pairs at ranks {:?}",
                engine.name, engine.differs_at
            );
        }
        if let Some(messages) = engine.counter("messages") {
            let counter = |name: &str| engine.counter(name).unwrap_or(0);
            let _ = writeln!(
                text,
                "{}: {messages} messages in {} blocks: {} clean, {} fast, {} slow ({} forced), {} unexpected; fallbacks: \
                 {} for receives, {} for unexpected messages, {} for tables; matched in software {}",
                engine.name,
                counter("blocks"),
                counter("clean"),
                counter("fast"),
                counter("slow"),
                counter("forced"),
                counter("unexpected"),
                counter("fallback_receives"),
                counter("fallback_unexpected"),
                counter("fallback_tables"),
                counter("software_matches")
            );
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use dpamatch_tools::analyze::Translation;
    use dpamatch_tools::analyze::stats::CommStats;

    use super::*;

    fn comm(id: u32, sends: u64, receives: [u64; 4]) -> CommReport {
        let mut stats = CommStats::default();
        stats.traffic.add(&Traffic { sends, receives, unexpected: 7, ..Traffic::default() });
        let (name, translation) = ("world".to_owned(), Translation::Exact);
        CommReport { id, number: id, name, size: 2, translation, stats }
    }

    #[test]
    fn communicators_with_equal_traffic_keep_their_order() {
        let all = [(0, 0, 1), (1, 1, 2), (2, 2, 1), (3, 3, 0), (4, 0, 4)];
        let all = all.map(|(id, sends, received)| comm(id, sends, [0, received, 0, 0]));
        let order: Vec<u32> = busiest_first(&all).iter().map(|comm| comm.id).collect();
        assert_eq!(order, [4, 1, 2, 3, 0]);
    }

    #[test]
    fn a_communicators_wildcards_are_of_all_kinds() {
        let row = communicator(&comm(3, 50, [10, 2, 3, 4]));
        let expected = ["3 (world)", "2", "exact", "50", "19", "9", "7", "0", "0.00", "0.00"];
        assert_eq!(row, expected);
    }
}
