//! A report as text.

use dpamatch_tools::analyze::stats::Traffic;
use dpamatch_tools::analyze::{Expanded, InOrder, OrderChoice, Report, shown};
use dpamatch_tools::counted;
use dpamatch_tools::table::wrapped;
use indicatif::HumanBytes;

use super::table;

mod applications;
mod words;

pub(super) use applications::{Depths, over_applications};
use words::{advice, notes, unmatched};

fn percent(part: u64, all: u64) -> String {
    format!("{:.1} %", part as f64 * 100.0 / all.max(1) as f64)
}

pub(super) fn text(report: &Report, width: usize) -> String {
    let tables = shown(report, &needs(report));
    let tables = tables.iter().map(|table| table::text(table, width));
    let head = [header(report), traffic(report)].into_iter();
    let parts = head
        .chain(tables)
        .chain([unmatched(report), notes(report), advice(report)]);
    let parts = parts
        .map(|part| part.trim_end().to_owned())
        .filter(|part| !part.is_empty());
    wrapped(&parts.collect::<Vec<_>>().join("\n\n"), width)
}

/// The report without tables and advice, for the head of a page.
pub(super) fn short(report: &Report) -> String {
    let parts = [
        header(report),
        traffic(report),
        needs(report),
        notes(report),
    ];
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
        let (ranks, processes) = (report.ranks.len(), counted(report.processes, "rank"));
        let order = order(report);
        return format!("{}: {ranks} of {processes}\norder: {order}", report.name);
    }
    let shares = &report.application.shares;
    let [p2p, collective, one_sided] = shares.percent();
    format!(
        "{}: {} of {}{}, {} in {}\n\
         calls: {} point-to-point, {} collective, {} one-sided ({p2p:.1} / {collective:.1} / {one_sided:.1} %); {} progress, {} other\n\
         order: {}{}",
        report.name,
        report.ranks.len(),
        if report.processes_guessed {
            "at least "
        } else {
            ""
        },
        counted(report.processes, "rank"),
        counted(report.source.calls, "call"),
        HumanBytes(report.source.bytes),
        shares.p2p,
        shares.collective,
        shares.one_sided,
        shares.progress,
        shares.other,
        order(report),
        collectives(report)
    )
}

fn collectives(report: &Report) -> String {
    let Some(Expanded {
        library,
        calls,
        messages,
        ..
    }) = report.source.expanded
    else {
        return String::new();
    };
    let (messages, calls) = (counted(messages, "message"), counted(calls, "call"));
    format!("\ncollective operations: {messages} in {calls}, as sent by {library}")
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
        Some(_) if all_pairs(report) == 0 => "\nchecked: nothing, since no pair matched".to_owned(),
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
    let (left, messages_left) = (
        report.application.traffic.receives_left,
        report.application.traffic.messages_left,
    );
    format!(
        "{} of {}; {}: {none} without wildcard, {source} any source, {tag} any tag, {both} both; \
         {}, {}, {to_null} with MPI_PROC_NULL\n\
         messages: {expected} expected, {unexpected} unexpected ({}); left: {}, {}\n\
         {}{} in {} ({:.2} %), at most {} pending per pair; at most {} per rank, largest tag {}\n\
         sequences of compatible receives: {}, mean length {:.2}, longest {}{checked}",
        counted(sends, "send"),
        HumanBytes(bytes_sent),
        counted(all, "receive"),
        counted(probes, "probe"),
        counted(cancelled, "cancel"),
        match expected + unexpected {
            0 => "no share of nothing".to_owned(),
            all => percent(unexpected, all),
        },
        counted(left, "receive"),
        counted(messages_left, "message"),
        over_orders(report),
        counted(keys.unique, "distinct (source, tag) pair"),
        counted(keys.uses, "receive"),
        keys.unique_share() * 100.0,
        keys.chain_max,
        counted(report.application.tags, "tag"),
        report.application.tag_max,
        sequences.count,
        sequences.mean(),
        sequences.longest
    )
}

/// Receives that got a message.
fn all_pairs(report: &Report) -> u64 {
    let traffic = &report.application.traffic;
    traffic.messages().saturating_sub(traffic.messages_left)
}

/// The range of the share of unexpected messages over several orders, as a line.
fn over_orders(report: &Report) -> String {
    let spread = &report.unexpected_by_order;
    let Some([low, high]) = spread.ends().filter(|_| spread.orders.len() > 1) else {
        return String::new();
    };
    let share = |it: &InOrder| format!("{:.1} % ({})", it.percent().unwrap_or(0.0), it.order);
    let left_out = spread.left_out.as_ref();
    let left_out = left_out.map_or(String::new(), |why| format!("; not computed: {why}"));
    let orders = counted(spread.orders.len(), "order");
    let range = if low.percent() == high.percent() {
        format!("{:.1} % in each", low.percent().unwrap_or(0.0))
    } else {
        format!("{} to {}", share(low), share(high))
    };
    format!("unexpected over {orders}: {range}{left_out}\n")
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
            first.time_ns.map_or(String::new(), |time| format!(
                " ({:.3} ms)",
                time as f64 / 1e6
            ))
        ),
    };
    format!(
        "high water: {}, {} with {}, {}: {fallback}",
        counted(needs.descriptors, "descriptor"),
        counted(needs.unexpected, "unexpected message"),
        HumanBytes(needs.unexpected_bytes),
        counted(needs.communicators, "communicator")
    )
}
