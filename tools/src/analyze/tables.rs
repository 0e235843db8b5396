//! The numbers of reports as tables: printed, compared between runs, and written to `--out`.

use super::rank_classes::{RANKS_TOLD, told};
use super::report::{CommReport, Report};
use super::stats::{Hint, Searches, Totals};
use super::times;
use crate::counted;
use crate::table::{Cell, Table};

pub(super) fn percent(part: u64, all: u64) -> f64 {
    100.0 * part as f64 / all.max(1) as f64
}

/// An application or one of its ranks: its name and its numbers.
type Subject<'a> = (Cell, &'a Totals);

/// The tables to print and to compare. Each has at least one row per report, with the columns that
/// distinguish programs; [`by_rank`] has all columns.
pub fn tables(reports: &[&Report]) -> Vec<Table> {
    let subjects: Vec<Subject<'_>> = reports
        .iter()
        .map(|report| (report.name.as_str().into(), &report.application))
        .collect();
    vec![
        applications(reports),
        queues("application", &subjects).without(&["hits", "MASL", "collisions"]),
        paths("application", &subjects).without(&PATH_DETAILS),
        shards("application", &subjects),
        communicators(reports).without(&COMMUNICATOR_DETAILS.split(' ').collect::<Vec<_>>()),
        engines(reports).without(&["bytes_equal", "bytes_differ", "ranks_that_differ"]),
    ]
}

/// The tables of one report for people. `needs` says whether the NIC has room.
pub fn shown(report: &Report, needs: &str) -> Vec<Table> {
    let all = [("".into(), &report.application)];
    let queues = queues("application", &all).without(&["application", "hits", "steps"]);
    let tables = chains(&all).without(&["rank", "inserted", "collisions"]);
    let paths = paths("application", &all)
        .without(&["application"])
        .without(&PATH_DETAILS);
    let mut shown = vec![
        queues
            .note("MQL, AQL: longest queue, and its mean length over searches")
            .note("ASL, MASL: mean steps of a search, and the highest mean of a rank"),
        tables
            .note("longest: chain; empty: share of bins")
            .note("depth: receives before the last one in the longest chain"),
        lifetime(report)
            .without(&LIFETIME_DETAILS)
            .note("receives are never removed"),
        paths
            .note("some slow-path messages end up unexpected")
            .note(needs),
        shards("application", &all)
            .without(&["application"])
            .note("a communicator on which any source is asked for stays on one NIC"),
    ];
    shown.insert(0, sizes(&all).without(&["rank"]));
    shown.splice(1..1, times::longest(report));
    shown.extend(busiest_communicators(report));
    shown.extend((!report.engines.is_empty()).then(|| engine_notes(report)));
    shown.extend((!report.sites.is_empty()).then(|| cut(sites(report), SITES_SHOWN)));
    shown
}

const SITES_SHOWN: usize = 12;
const COMMUNICATORS_SHOWN: usize = 8;

/// The table's first rows; a note says how many more it has.
pub(super) fn cut(mut table: Table, rows: usize) -> Table {
    let more = table.rows.len().saturating_sub(rows);
    table.rows.truncate(rows);
    if more > 0 {
        table.note(format!("and {more} more"))
    } else {
        table
    }
}

/// Communicators by sends and receives in falling order; equal ones keep their order. A single one
/// is in the other tables.
fn busiest_communicators(report: &Report) -> Option<Table> {
    let mut report = Report {
        pairs: Vec::new(),
        ..report.clone()
    };
    report.communicators.sort_by_key(|comm| {
        std::cmp::Reverse(comm.stats.traffic.all_receives() + comm.stats.traffic.sends)
    });
    let details = COMMUNICATOR_DETAILS
        .split(' ')
        .filter(|name| !SHOWN_DETAILS.contains(name));
    let details: Vec<&str> = details.chain(["application", "unexpected_max"]).collect();
    let table = communicators(&[&report]).without(&details).extra(["ranks"]);
    (table.rows.len() > 1).then(|| cut(table, COMMUNICATORS_SHOWN))
}

fn engine_notes(report: &Report) -> Table {
    let mut table = engines(&[report]).without(&["application", "ranks_that_differ"]);
    for engine in &report.engines {
        let name = engine.name;
        if !engine.differs_at.is_empty() {
            let differs = &engine.differs_at;
            table = table.note(format!("{name} gives other pairs at ranks {differs:?}"));
        }
        let Some(messages) = engine.counter("messages") else {
            continue;
        };
        let counts = |names: &[(&str, &str)]| {
            let count = |&(name, what): &(&str, &str)| {
                format!("{} {what}", engine.counter(name).unwrap_or(0))
            };
            names.iter().map(count).collect::<Vec<_>>().join(", ")
        };
        let paths = counts(&[
            ("clean", "clean"),
            ("fast", "fast"),
            ("slow", "slow"),
            ("forced", "forced"),
            ("unexpected", "unexpected"),
        ]);
        let fallbacks = counts(&[
            ("fallback_receives", "for receives"),
            ("fallback_unexpected", "for unexpected messages"),
            ("fallback_tables", "for tables"),
        ]);
        table = table.note(format!(
            "{name}: {} in {}: {paths}; fallbacks: {fallbacks}; {}",
            counted(messages, "message"),
            counted(engine.counter("blocks").unwrap_or(0), "block"),
            counts(&[("software_matches", "matched in software")]),
        ));
    }
    table
}

/// Stands for the rank in rows of the whole application.
pub(super) const ALL: &str = "all";

/// The tables of one report, with rows for the application (`ALL`) and for each world rank, or of
/// more than [`RANKS_TOLD`] ranks for those with the most unexpected messages.
pub fn by_rank(report: &Report) -> Vec<Table> {
    let ranks = told(&report.ranks)
        .into_iter()
        .map(|rank| (rank.rank.to_string().into(), &rank.totals));
    let subjects: Vec<Subject<'_>> = std::iter::once((ALL.into(), &report.application))
        .chain(ranks)
        .collect();
    let mut all = vec![
        advice(report),
        calls(&subjects),
        traffic(&subjects),
        orders(report),
        sizes(&subjects),
        times::table(report),
        queues("rank", &subjects),
        chains(&subjects),
        lifetime(report),
        paths("rank", &subjects),
        shards("rank", &subjects),
        keys(&subjects),
        needs(&subjects),
        depth(report, &subjects),
        communicators(&[report]),
        hints(report),
        engines(&[report]),
        counters(report),
        sites(report),
        unmatched(report),
    ];
    if report.is_of_logs() {
        all.retain(|table| !["calls", "hints", "sites", "times"].contains(&table.name.as_str()));
    }
    all
}

/// The ranks with the most unexpected messages first, one row each.
pub(super) fn worst_ranks(report: &Report) -> Table {
    let mut ranks: Vec<_> = report
        .ranks
        .iter()
        .map(|rank| (rank.rank, &rank.totals))
        .collect();
    ranks.sort_by_key(|(_, it)| std::cmp::Reverse(it.traffic.unexpected));
    let table =
        Table::with_rows("ranks", "Ranks, most unexpected messages first", ranks).columns(&[
            ("rank", |it| it.0.into()),
            ("sends", |it| it.1.traffic.sends.into()),
            ("sent_bytes", |it| it.1.traffic.bytes_sent.into()),
            ("messages", |it| it.1.traffic.messages().into()),
            ("unexpected", |it| it.1.traffic.unexpected.into()),
            ("communicating_percent", |it| {
                percent(it.1.communicating_ns(), it.1.run_ns).into()
            }),
            ("unexpected_percent", |it| {
                percent(it.1.traffic.unexpected, it.1.traffic.messages()).into()
            }),
            ("posted_max", |it| it.1.needs.descriptors.into()),
            ("unexpected_max", |it| it.1.needs.unexpected.into()),
            ("receives_left", |it| it.1.traffic.receives_left.into()),
            ("messages_left", |it| it.1.traffic.messages_left.into()),
        ]);
    cut(table, RANKS_TOLD)
}

/// Unexpected messages in several legal orders, the report's own first.
fn orders(report: &Report) -> Table {
    let spread = &report.unexpected_by_order;
    let table =
        Table::with_rows("orders", "Unexpected messages by order", &spread.orders).columns(&[
            ("order", |it| it.order.as_str().into()),
            ("expected", |it| it.expected.into()),
            ("unexpected", |it| it.unexpected.into()),
            ("unexpected_percent", |it| it.percent().into()),
        ]);
    let range = spread.words().map(|range| format!("unexpected: {range}"));
    let left_out = spread.left_out.as_ref();
    let left_out = left_out.map(|why| format!("not computed: {why}"));
    range
        .into_iter()
        .chain(left_out)
        .fold(table, |table, note| table.note(note))
}

fn applications(reports: &[&Report]) -> Table {
    Table::with_rows("applications", "Calls, messages and NIC resources", reports).columns(&[
        ("application", |it| it.name.as_str().into()),
        ("processes", |it| it.processes.into()),
        ("ranks", |it| it.ranks.len().into()),
        ("calls", |it| it.source.calls.into()),
        ("p2p_calls", |it| it.application.shares.p2p.into()),
        ("collective_calls", |it| {
            it.application.shares.collective.into()
        }),
        ("one_sided_calls", |it| {
            it.application.shares.one_sided.into()
        }),
        ("progress_calls", |it| it.application.shares.progress.into()),
        ("other_calls", |it| it.application.shares.other.into()),
        ("sends", |it| it.application.traffic.sends.into()),
        ("sent_bytes", |it| it.application.traffic.bytes_sent.into()),
        ("receives", |it| {
            it.application.traffic.all_receives().into()
        }),
        ("any_source", |it| it.application.traffic.receives[1].into()),
        ("any_tag", |it| it.application.traffic.receives[2].into()),
        ("any_source_and_tag", |it| {
            it.application.traffic.receives[3].into()
        }),
        ("wildcards_percent", |it| {
            let traffic = &it.application.traffic;
            percent(traffic.wildcards(), traffic.all_receives()).into()
        }),
        ("probes", |it| it.application.traffic.probes.into()),
        ("cancelled", |it| it.application.traffic.cancelled.into()),
        ("messages", |it| it.application.traffic.messages().into()),
        ("unexpected", |it| it.application.traffic.unexpected.into()),
        ("unexpected_percent", |it| {
            let traffic = &it.application.traffic;
            percent(traffic.unexpected, traffic.messages()).into()
        }),
        ("receives_left", |it| {
            it.application.traffic.receives_left.into()
        }),
        ("messages_left", |it| {
            it.application.traffic.messages_left.into()
        }),
        ("unique_keys_percent", |it| {
            (100.0 * it.application.receive_keys.unique_share()).into()
        }),
        ("tags", |it| it.application.tags.into()),
        ("sequence_length_mean", |it| {
            it.application.sequences.mean().into()
        }),
        ("sequence_length_max", |it| {
            it.application.sequences.longest.into()
        }),
        ("posted_max", |it| it.application.needs.descriptors.into()),
        ("unexpected_max", |it| {
            it.application.needs.unexpected.into()
        }),
        ("unexpected_bytes_max", |it| {
            it.application.needs.unexpected_bytes.into()
        }),
        ("communicators_max", |it| {
            it.application.needs.communicators.into()
        }),
    ])
}

fn calls(subjects: &[Subject<'_>]) -> Table {
    Table::with_rows("calls", "Calls by class", subjects).columns(&[
        ("rank", |(name, _)| name.clone()),
        ("p2p", |(_, it)| it.shares.p2p.into()),
        ("collective", |(_, it)| it.shares.collective.into()),
        ("one_sided", |(_, it)| it.shares.one_sided.into()),
        ("progress", |(_, it)| it.shares.progress.into()),
        ("other", |(_, it)| it.shares.other.into()),
        ("run_ns", |(_, it)| it.run_ns.into()),
        ("p2p_ns", |(_, it)| it.time_ns.p2p.into()),
        ("collective_ns", |(_, it)| it.time_ns.collective.into()),
        ("one_sided_ns", |(_, it)| it.time_ns.one_sided.into()),
        ("progress_ns", |(_, it)| it.time_ns.progress.into()),
        ("other_ns", |(_, it)| it.time_ns.other.into()),
    ])
}

fn sizes(subjects: &[Subject<'_>]) -> Table {
    let rows = subjects.iter().flat_map(|(name, it)| {
        let all = it
            .sizes
            .iter()
            .fold((0, 0), |all, it| (all.0 + it.messages, all.1 + it.bytes));
        it.sizes.iter().map(move |class| (name, class, all))
    });
    Table::with_rows("sizes", "Message sizes", rows)
        .columns(&[
            ("rank", |it| it.0.clone()),
            ("up to", |it| it.1.up_to.map(Cell::Bytes).into()),
            ("sent by", |it| {
                if it.1.rendezvous {
                    "rendezvous"
                } else {
                    "eager"
                }
                .into()
            }),
            ("messages", |it| it.1.messages.into()),
            ("messages %", |it| percent(it.1.messages, it.2.0).into()),
            ("volume", |it| Cell::Bytes(it.1.bytes)),
            ("volume %", |it| percent(it.1.bytes, it.2.1).into()),
        ])
        .keyed(3)
        .named(&[
            ("up to", "up_to_bytes"),
            ("volume", "bytes"),
            ("volume %", "bytes_percent"),
        ])
}

fn traffic(subjects: &[Subject<'_>]) -> Table {
    Table::with_rows("traffic", "Messages and receives", subjects).columns(&[
        ("rank", |(name, _)| name.clone()),
        ("sends", |(_, it)| it.traffic.sends.into()),
        ("sent_bytes", |(_, it)| it.traffic.bytes_sent.into()),
        ("no_wildcard", |(_, it)| it.traffic.receives[0].into()),
        ("any_source", |(_, it)| it.traffic.receives[1].into()),
        ("any_tag", |(_, it)| it.traffic.receives[2].into()),
        ("any_source_and_tag", |(_, it)| {
            it.traffic.receives[3].into()
        }),
        ("probes", |(_, it)| it.traffic.probes.into()),
        ("to_null", |(_, it)| it.traffic.to_null.into()),
        ("cancelled", |(_, it)| it.traffic.cancelled.into()),
        ("expected", |(_, it)| it.traffic.expected.into()),
        ("unexpected", |(_, it)| it.traffic.unexpected.into()),
        ("receives_left", |(_, it)| it.traffic.receives_left.into()),
        ("messages_left", |(_, it)| it.traffic.messages_left.into()),
    ])
}

fn queues(key: &str, subjects: &[Subject<'_>]) -> Table {
    let rows = subjects.iter().flat_map(|(name, totals)| {
        totals.bins.iter().flat_map(move |bins| {
            let posted = bins
                .tables
                .tables
                .iter()
                .map(|table| table.collisions)
                .sum();
            let queues = [
                ("posted", bins.prq, posted),
                ("unexpected", bins.umq, bins.umq_collisions),
            ];
            queues.map(|(queue, searches, collisions): (_, Searches, u64)| {
                (name, queue, bins.bins, searches, collisions)
            })
        })
    });
    Table::with_rows("queues", "Queue lengths and searches, by bins", rows)
        .columns(&[
            (key, |it| it.0.clone()),
            ("queue", |it| it.1.into()),
            ("bins", |it| it.2.into()),
            ("searches", |it| it.3.count.into()),
            ("hits", |it| it.3.hits.into()),
            ("steps", |it| it.3.steps.into()),
            ("ASL", |it| it.3.mean().into()),
            ("MASL", |it| it.3.mean_max.into()),
            ("longest", |it| it.3.steps_max.into()),
            ("AQL", |it| it.3.length_mean().into()),
            ("MQL", |it| it.3.length_max.into()),
            ("collisions", |it| it.4.into()),
        ])
        .keyed(3)
        .named(&SEARCHES)
        .named(&[("longest", "steps_max"), ("MQL", "length_max")])
}

fn chains(subjects: &[Subject<'_>]) -> Table {
    let rows = subjects.iter().flat_map(|(name, totals)| {
        totals.bins.iter().flat_map(move |bins| {
            let classes = ["no_wildcard", "any_source", "any_tag"].into_iter();
            classes.zip(&bins.tables.tables).map(move |(class, table)| {
                let samples = bins.tables.samples.max(1) as f64;
                (
                    name,
                    class,
                    f64::from(bins.bins),
                    samples,
                    table,
                    &bins.tables,
                )
            })
        })
    });
    Table::with_rows("tables", "Hash tables of posted receives", rows)
        .columns(&[
            ("rank", |it| it.0.clone()),
            ("bins", |it| (it.2 as u64).into()),
            ("table", |it| it.1.into()),
            ("inserted", |it| it.4.inserted.into()),
            ("collisions", |it| it.4.collisions.into()),
            ("longest", |it| it.4.longest_chain.into()),
            ("longest mean", |it| {
                (it.4.longest_chain_sum as f64 / it.3).into()
            }),
            ("empty min", |it| {
                (f64::from(it.4.empty_bins_min) / it.2).into()
            }),
            ("empty mean", |it| {
                (it.4.empty_bins_sum as f64 / it.3 / it.2).into()
            }),
            ("depth mean", |it| it.5.depth_mean().into()),
            ("depth max", |it| it.5.depth_max.into()),
        ])
        .keyed(3)
        .named(&[
            ("longest", "longest_chain"),
            ("longest mean", "longest_chain_mean"),
        ])
        .named(&[
            ("empty min", "empty_share_min"),
            ("empty mean", "empty_share_mean"),
        ])
}

fn paths(key: &str, subjects: &[Subject<'_>]) -> Table {
    let rows = subjects
        .iter()
        .flat_map(|(name, it)| it.blocks.iter().map(move |block| (name, block)));
    Table::with_rows("paths", "Paths under the paper's rules, by handlers", rows)
        .columns(&[
            (key, |it| it.0.clone()),
            ("handlers", |it| it.1.handlers.into()),
            ("blocks", |it| it.1.blocks.into()),
            ("messages", |it| it.1.messages.into()),
            ("messages per block", |it| {
                (it.1.messages as f64 / it.1.blocks.max(1) as f64).into()
            }),
            ("clean", |it| it.1.clean.into()),
            ("fast", |it| it.1.fast.into()),
            ("slow", |it| it.1.slow.into()),
            ("forced", |it| it.1.forced.into()),
            ("unexpected", |it| it.1.unexpected.into()),
            ("conflict_blocks", |it| it.1.conflict_blocks.into()),
            ("blocks in conflict %", |it| {
                percent(it.1.conflict_blocks, it.1.blocks).into()
            }),
            ("refused_mixed", |it| it.1.refused_mixed.into()),
            ("refused_end", |it| it.1.refused_end.into()),
        ])
        .keyed(2)
        .named(&[("blocks in conflict %", "conflict_blocks_percent")])
}

fn shards(key: &str, subjects: &[Subject<'_>]) -> Table {
    let rows = subjects
        .iter()
        .flat_map(|(name, it)| it.shards.iter().map(move |shards| (name, shards)));
    Table::with_rows(
        "shards",
        "Messages spread by source, by number of NICs",
        rows,
    )
    .columns(&[
        (key, |it| it.0.clone()),
        ("shards", |it| (it.1.shards as u64).into()),
        ("messages", |it| it.1.messages.into()),
        ("busiest messages", |it| it.1.busiest.into()),
        ("speed-up", |it| it.1.speed_up().into()),
        ("efficiency", |it| it.1.efficiency().into()),
    ])
    .keyed(2)
}

fn keys(subjects: &[Subject<'_>]) -> Table {
    let rows = subjects.iter().flat_map(|(name, it)| {
        [
            ("receives", &it.receive_keys),
            ("messages", &it.message_keys),
        ]
        .map(|(of, keys)| (name, of, keys, it))
    });
    Table::with_rows("keys", "Keys and sequences", rows)
        .columns(&[
            ("rank", |it| it.0.clone()),
            ("of", |it| it.1.into()),
            ("uses", |it| it.2.uses.into()),
            ("unique", |it| it.2.unique.into()),
            ("unique_share", |it| it.2.unique_share().into()),
            ("most_used", |it| it.2.most_used.into()),
            ("chain_max", |it| it.2.chain_max.into()),
            ("chain_mean", |it| it.2.chain_mean().into()),
            ("tags", |it| it.3.tags.into()),
            ("tag_max", |it| u32::try_from(it.3.tag_max).ok().into()),
            ("sequences", |it| it.3.sequences.count.into()),
            ("sequence_length_mean", |it| it.3.sequences.mean().into()),
            ("sequence_length_max", |it| it.3.sequences.longest.into()),
            ("in_sequences", |it| it.3.sequences.in_runs.into()),
        ])
        .keyed(2)
}

fn needs(subjects: &[Subject<'_>]) -> Table {
    let rows = subjects
        .iter()
        .map(|(name, it)| (name, &it.needs, it.needs.fallback.as_ref()));
    Table::with_rows("needs", "NIC resources needed", rows).columns(&[
        ("rank", |it| it.0.clone()),
        ("descriptors", |it| it.1.descriptors.into()),
        ("unexpected", |it| it.1.unexpected.into()),
        ("unexpected_bytes", |it| it.1.unexpected_bytes.into()),
        ("unexpected_buffers", |it| it.1.unexpected_buffers.into()),
        ("communicators", |it| it.1.communicators.into()),
        ("first_shortage", |it| {
            it.2.map(|first| first.shortage.option().1).into()
        }),
        ("at_rank", |it| it.2.map(|first| first.rank).into()),
        ("at_event", |it| it.2.map(|first| first.happening).into()),
        ("at_ns", |it| it.2.and_then(|first| first.time_ns).into()),
        ("call", |it| it.2.and_then(|first| first.call).into()),
        ("of_rank", |it| it.2.map(|first| first.caller()).into()),
    ])
}

fn depth(report: &Report, subjects: &[Subject<'_>]) -> Table {
    let rows = subjects.iter().flat_map(|(name, Totals { depths, .. })| {
        let columns = depths.posted.len().max(1) as u128;
        let queues = depths.posted.iter().zip(&depths.unexpected).zip(0_u64..);
        queues.map(move |(lengths, column)| {
            let until = u128::from(report.end_ns) * (u128::from(column) + 1) / columns;
            (name, column, until as u64, lengths)
        })
    });
    Table::with_rows("depth", "Queue lengths over time", rows)
        .columns(&[
            ("rank", |it| it.0.clone()),
            ("column", |it| it.1.into()),
            ("until_ns", |it| it.2.into()),
            ("posted_max", |it| (*it.3.0).into()),
            ("unexpected_max", |it| (*it.3.1).into()),
        ])
        .keyed(2)
}

/// Columns of [`paths`] that few readers need.
const PATH_DETAILS: [&str; 4] = [
    "messages",
    "conflict_blocks",
    "refused_mixed",
    "refused_end",
];
const LIFETIME_DETAILS: [&str; 4] = [
    "collisions_no_wildcard",
    "collisions_any_source",
    "collisions_any_tag",
    "list_max",
];
/// The papers' names of means, and the columns' names for programs.
const SEARCHES: [(&str, &str); 3] = [
    ("ASL", "steps_per_search"),
    ("MASL", "steps_per_search_max"),
    ("AQL", "length_mean"),
];
/// Details that people see, too.
const SHOWN_DETAILS: [&str; 2] = ["ranks", "AQL"];
/// Columns of [`communicators`] that few readers need.
const COMMUNICATOR_DETAILS: &str = "id ranks sent_bytes any_source any_tag any_source_and_tag \
    probes cancelled expected receives_left messages_left sequences sequence_length_mean \
    sequence_length_max searches MASL AQL unexpected_searches unexpected_steps_per_search \
    unexpected_steps_per_search_max unexpected_length_mean";

fn communicators(reports: &[&Report]) -> Table {
    let rows = reports.iter().flat_map(|report| {
        report
            .communicators
            .iter()
            .map(|comm: &CommReport| (&report.name, comm, &comm.stats))
    });
    Table::with_rows("communicators", "Communicators in use", rows)
        .columns(&[
            ("application", |it| it.0.as_str().into()),
            ("communicator", |it| it.1.number.into()),
            ("name", |it| it.1.name.as_str().into()),
            ("id", |it| it.1.id.into()),
            ("size", |it| it.1.size.into()),
            ("ranks", |it| it.1.translation.name().into()),
            ("sends", |it| it.2.traffic.sends.into()),
            ("sent_bytes", |it| it.2.traffic.bytes_sent.into()),
            ("receives", |it| it.2.traffic.all_receives().into()),
            ("wildcards", |it| it.2.traffic.wildcards().into()),
            ("any_source", |it| it.2.traffic.receives[1].into()),
            ("any_tag", |it| it.2.traffic.receives[2].into()),
            ("any_source_and_tag", |it| it.2.traffic.receives[3].into()),
            ("probes", |it| it.2.traffic.probes.into()),
            ("cancelled", |it| it.2.traffic.cancelled.into()),
            ("expected", |it| it.2.traffic.expected.into()),
            ("unexpected", |it| it.2.traffic.unexpected.into()),
            ("receives_left", |it| it.2.traffic.receives_left.into()),
            ("messages_left", |it| it.2.traffic.messages_left.into()),
            ("posted_max", |it| it.2.posted_max.into()),
            ("unexpected_max", |it| it.2.unexpected_max.into()),
            ("sequences", |it| it.2.sequences.count.into()),
            ("sequence_length_mean", |it| it.2.sequences.mean().into()),
            ("sequence_length_max", |it| it.2.sequences.longest.into()),
            ("searches", |it| it.2.prq.count.into()),
            ("ASL", |it| it.2.prq.mean().into()),
            ("MASL", |it| it.2.prq.mean_max.into()),
            ("AQL", |it| it.2.prq.length_mean().into()),
            ("unexpected_searches", |it| it.2.umq.count.into()),
            ("unexpected_steps_per_search", |it| it.2.umq.mean().into()),
            ("unexpected_steps_per_search_max", |it| {
                it.2.umq.mean_max.into()
            }),
            ("unexpected_length_mean", |it| it.2.umq.length_mean().into()),
        ])
        .keyed(3)
        .named(&SEARCHES)
        .named(&[("size", "processes"), ("ranks", "translation")])
}

fn hints(report: &Report) -> Table {
    let rows = report.communicators.iter().flat_map(|comm| {
        let hints: [(&str, &Hint); 4] = [
            ("mpi_assert_no_any_source", &comm.stats.hints.no_any_source),
            ("mpi_assert_no_any_tag", &comm.stats.hints.no_any_tag),
            ("mpi_assert_exact_length", &comm.stats.hints.exact_length),
            (
                "mpi_assert_allow_overtaking",
                &comm.stats.hints.allow_overtaking,
            ),
        ];
        hints.map(|(name, hint)| (comm, name, hint, hint.first.as_ref()))
    });
    Table::with_rows("hints", "Hints", rows)
        .columns(&[
            ("communicator", |it| it.0.id.into()),
            ("name", |it| it.0.name.as_str().into()),
            ("hint", |it| it.1.into()),
            ("violations", |it| it.2.count.into()),
            ("unknown", |it| it.2.unknown.into()),
            ("first_rank", |it| it.3.map(|at| at.rank).into()),
            ("first_call", |it| it.3.map(|at| at.call).into()),
            ("first_function", |it| it.3.map(|at| at.function).into()),
        ])
        .keyed(3)
}

fn lifetime(report: &Report) -> Table {
    Table::with_rows(
        "lifetime",
        "The published analyzer's view",
        &report.lifetime,
    )
    .columns(&[
        ("bins", |it| it.bins.into()),
        ("depth_average", |it| it.depth_average.into()),
        ("depth_max", |it| it.depth_max.into()),
        ("depth_mean", |it| it.depth_mean.into()),
        ("collisions_no_wildcard", |it| {
            it.tables.tables[0].collisions.into()
        }),
        ("collisions_any_source", |it| {
            it.tables.tables[1].collisions.into()
        }),
        ("collisions_any_tag", |it| {
            it.tables.tables[2].collisions.into()
        }),
        ("list_max", |it| it.list_max.into()),
    ])
}

fn engines(reports: &[&Report]) -> Table {
    let rows = reports.iter().flat_map(|report| {
        report
            .engines
            .iter()
            .map(|engine| (&report.name, engine, &engine.agreement))
    });
    Table::with_rows("engines", "Replays through engines", rows)
        .columns(&[
            ("application", |it| it.0.as_str().into()),
            ("engine", |it| it.1.name.into()),
            ("as recorded", |it| it.2.same.into()),
            ("other", |it| (it.2.other + it.2.missing).into()),
            ("bytes_equal", |it| it.2.bytes_equal.into()),
            ("bytes_differ", |it| it.2.bytes_differ.into()),
            ("ranks_that_differ", |it| it.1.differs_at.len().into()),
            ("posted steps", |it| it.1.posted_steps().into()),
            ("unexpected steps", |it| it.1.unexpected_steps().into()),
            ("memory", |it| it.1.counter("memory_bytes_max").into()),
        ])
        .keyed(2)
        .named(&[
            ("as recorded", "pairs_as_recorded"),
            ("other", "other_pairs"),
        ])
        .named(&[("memory", "memory_bytes_max")])
}

fn counters(report: &Report) -> Table {
    let rows = report.engines.iter().flat_map(|engine| {
        engine
            .counters
            .iter()
            .map(|(name, value)| (engine.name, name, *value))
    });
    Table::with_rows("counters", "Counters of the engines", rows)
        .columns(&[
            ("engine", |it| it.0.into()),
            ("counter", |it| it.1.as_str().into()),
            ("value", |it| it.2.into()),
        ])
        .keyed(2)
}

fn sites(report: &Report) -> Table {
    Table::with_rows("sites", "Call sites", &report.sites)
        .columns(&[
            ("place", |it| it.place.as_str().into()),
            ("within", |it| it.within.as_deref().into()),
            ("function", |it| it.function.into()),
            ("count", |it| it.count.into()),
            ("unexpected", |it| it.unexpected.into()),
            ("waiting_max", |it| it.waiting_max.into()),
            ("waited_ns", |it| it.waited_ns.into()),
        ])
        .keyed(3)
}

fn unmatched(report: &Report) -> Table {
    Table::with_rows("unmatched", "Unmatched at the end", &report.unmatched).columns(&[
        ("rank", |it| it.rank.into()),
        ("what", |it| it.what.into()),
        ("call", |it| it.call.into()),
        ("envelope", |it| it.envelope.as_str().into()),
        ("reason", |it| it.reason.as_str().into()),
    ])
}

fn advice(report: &Report) -> Table {
    Table::with_rows("advice", "Advice", &report.advice).columns(&[
        ("topic", |it| it.topic.into()),
        ("advice", |it| it.text.as_str().into()),
        ("because", |it| it.because.as_str().into()),
    ])
}
