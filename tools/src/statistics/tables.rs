//! The statistics of all endpoints as tables.

use std::collections::BTreeMap;

use super::{CommUse, Endpoint, Use};
use crate::counted;
use crate::table::{Cell, Column, Table};

const MOMENTS: u64 = 16;
const KINDS: [&str; 4] = ["user", "collective", "control", "unknown"];

/// By rank, by kind, by communicator and over time; by phase, if there are several.
pub fn tables(endpoints: &[Endpoint]) -> Vec<Table> {
    let phases = Some(phases(endpoints)).filter(|table| table.rows.len() > 1);
    let tables = [
        ranks(endpoints),
        kinds(endpoints),
        communicators(endpoints),
        depth(endpoints),
    ];
    tables.into_iter().chain(phases).collect()
}

fn percent(part: u64, all: u64) -> Cell {
    (100.0 * part as f64 / all.max(1) as f64).into()
}

fn words(values: impl Iterator<Item = String>) -> String {
    let mut words: Vec<_> = values.collect();
    words.sort();
    words.dedup();
    words.join(", ")
}

fn ranks(endpoints: &[Endpoint]) -> Table {
    let engines = words(endpoints.iter().map(|endpoint| endpoint.engine.clone()));
    let libraries = words(endpoints.iter().map(|endpoint| endpoint.library.clone()));
    let title = format!(
        "{}, matched by {engines}; library: {libraries}",
        counted(endpoints.len(), "endpoint")
    );
    let rows = endpoints
        .iter()
        .map(|it| (it, Use::sum(it.kinds.values().copied())));
    let table = Table::with_rows("ranks", title, rows).columns(&[
        ("rank", |(it, _)| it.place_cell()),
        ("messages", |(_, sum)| sum.messages.into()),
        ("bytes", |(_, sum)| sum.bytes.into()),
        ("unexpected_%", |(_, sum)| {
            percent(sum.unexpected, sum.messages)
        }),
        ("posts", |(_, sum)| sum.posts.into()),
        ("wildcards_%", |(_, sum)| {
            percent(sum.wildcards(), sum.posts)
        }),
        ("posted_high", |(it, _)| it.counter("posted_high").into()),
        ("unexpected_high", |(it, _)| {
            it.counter("unexpected_high").into()
        }),
        ("clean", |(it, _)| it.counter("matcher_clean").into()),
        ("fast", |(it, _)| it.counter("matcher_fast").into()),
        ("slow", |(it, _)| it.counter("matcher_slow").into()),
        ("to_software", |(it, _)| {
            let [posts, arrivals] = ["matcher_posts_forwarded", "matcher_arrivals_forwarded"];
            (it.counter(posts) + it.counter(arrivals)).into()
        }),
        ("compares_all_bits", |(it, _)| {
            it.counter("compares_all_bits").into()
        }),
    ]);
    table
        .note("clean, fast, slow: messages by the path that they took on the NIC")
        .note("to_software: posts and messages that the NIC had no room for")
}

/// The columns of a [`Use`], behind those that say whose it is.
const USE: [Column<'_, Use>; 9] = [
    ("messages", |used| used.messages.into()),
    ("bytes", |used| used.bytes.into()),
    ("unexpected_%", |used| {
        percent(used.unexpected, used.messages)
    }),
    ("posts", |used| used.posts.into()),
    ("any_source", |used| used.posts_any_source.into()),
    ("any_tag", |used| used.posts_any_tag.into()),
    ("any", |used| used.posts_any.into()),
    ("posted_high", |used| used.posted_high.into()),
    ("unexpected_high", |used| used.unexpected_high.into()),
];

fn names_of_use() -> impl Iterator<Item = &'static str> {
    USE.iter().map(|(name, _)| *name)
}

fn cells(used: &Use) -> [Cell; 9] {
    USE.map(|(_, cell)| cell(used))
}

fn kinds(endpoints: &[Endpoint]) -> Table {
    let title = "All ranks, by what messages are for";
    let mut table = Table::new("kinds", title, ["kind"].into_iter().chain(names_of_use()));
    for kind in KINDS {
        let sum = Use::sum(
            endpoints
                .iter()
                .filter_map(|it| it.kinds.get(kind).copied()),
        );
        if sum != Use::default() {
            table.push([Cell::from(kind)].into_iter().chain(cells(&sum)));
        }
    }
    table.note(
        "any_source, any_tag, any: posts with these wildcards; high: at the rank that has most",
    )
}

fn communicators(endpoints: &[Endpoint]) -> Table {
    let mut sums: BTreeMap<(Option<u64>, usize), (u64, Use)> = BTreeMap::new();
    for CommUse {
        communicator,
        kind,
        used,
    } in endpoints
        .iter()
        .flat_map(|endpoint| &endpoint.communicators)
    {
        let kind = KINDS
            .iter()
            .position(|name| name == kind)
            .unwrap_or(KINDS.len() - 1);
        let (ranks, sum) = sums.entry((*communicator, kind)).or_default();
        *ranks += 1;
        sum.add(used);
    }
    let title = "All ranks, by communicator: the library's own number";
    let columns = ["communicator", "kind", "ranks"];
    let mut table = Table::new(
        "communicators",
        title,
        columns.into_iter().chain(names_of_use()),
    );
    for ((communicator, kind), (ranks, used)) in sums {
        let head = [communicator.into(), KINDS[kind].into(), ranks.into()];
        table.push(head.into_iter().chain(cells(&used)));
    }
    table
}

/// The depths over time, by part of the time from the first message to the end.
fn depth(endpoints: &[Endpoint]) -> Table {
    let title = "Over time: the longest queues of any rank, and the messages of all";
    let columns = [
        "part",
        "from_s",
        "messages",
        "posted_high",
        "unexpected_high",
    ];
    let mut table = Table::new("depth", title, columns);
    let Some((begin, end, columns)) = timeline(endpoints) else {
        return table;
    };
    let moment_ns = (end - begin).div_ceil(MOMENTS).max(1);
    let mut moments = [[0_u64; 3]; MOMENTS as usize];
    for (from, _, counts) in columns {
        let at = (from.saturating_sub(begin) / moment_ns).min(MOMENTS - 1);
        add(&mut moments[at as usize], counts);
    }
    for (at, [messages, posted, unexpected]) in moments.into_iter().enumerate() {
        let (part, from_s) = (at as u64 + 1, at as f64 * moment_ns as f64 / 1e9);
        let counts = [messages, posted, unexpected].map(Cell::from);
        table.push([part.into(), from_s.into()].into_iter().chain(counts));
    }
    table.note("part: of the time from the first message to the end, in 16 parts")
}

/// Messages, longest posted queue and most unexpected messages.
type Counts = [u64; 3];
type Span = (u64, u64, Counts);

fn add(sum: &mut Counts, other: Counts) {
    *sum = [
        sum[0] + other[0],
        sum[1].max(other[1]),
        sum[2].max(other[2]),
    ];
}

/// Times of the first message and of the end, and all ranks' columns between them.
fn timeline(endpoints: &[Endpoint]) -> Option<(u64, u64, Vec<Span>)> {
    let columns = endpoints.iter().flat_map(|Endpoint { depth, .. }| {
        let counts = depth
            .messages
            .iter()
            .zip(&depth.posted)
            .zip(&depth.unexpected)
            .zip(0..);
        counts.map(|(((&messages, &posted), &unexpected), at)| {
            let from = depth.begin_unix_ns + depth.column_ns * at;
            (from, from + depth.column_ns, [messages, posted, unexpected])
        })
    });
    let mut columns: Vec<_> = columns.collect();
    let begin = columns
        .iter()
        .filter(|it| it.2[0] > 0)
        .map(|it| it.0)
        .min()?;
    let end = columns.iter().map(|it| it.1).max()?;
    // The column of the first message may begin before that of another rank.
    columns.retain(|it| it.1 > begin);
    columns.sort_unstable();
    Some((begin, end, columns))
}

/// Phases: times with messages, with pauses between them.
fn phases(endpoints: &[Endpoint]) -> Table {
    let title = "Phases: between them, no rank gets a message for 3 % of the time or longer";
    let names = [
        "phase",
        "from_s",
        "to_s",
        "messages",
        "posted_high",
        "unexpected_high",
    ];
    let mut table = Table::new("phases", title, names);
    let Some((begin, end, columns)) = timeline(endpoints) else {
        return table;
    };
    let mut phases: Vec<Span> = Vec::new();
    for (from, to, counts) in columns.into_iter().filter(|it| it.2[0] > 0) {
        match phases.last_mut() {
            Some((_, last, sum)) if from < *last + (end - begin) * 3 / 100 => {
                *last = to.max(*last);
                add(sum, counts);
            }
            _ => phases.push((from, to, counts)),
        }
    }
    for ((from, to, counts), phase) in phases.into_iter().zip(1_u64..) {
        let [from_s, to_s] = [from, to].map(|at| ((at - begin) as f64 / 1e9).into());
        table.push(
            [phase.into(), from_s, to_s]
                .into_iter()
                .chain(counts.map(Cell::from)),
        );
    }
    table
}

#[cfg(test)]
mod tests {
    use super::super::Depth;
    use super::*;

    /// Columns as `place:messages` of one rank; the queues are one and two longer.
    fn endpoint(begin_unix_ns: u64, column_ns: u64, told: &[(usize, u64)]) -> Endpoint {
        let mut messages = vec![0; 1100 / column_ns as usize];
        told.iter().for_each(|&(at, count)| messages[at] = count);
        let [posted, unexpected] = [1, 2].map(|by| messages.iter().map(|it| it + by).collect());
        let depth = Depth {
            begin_unix_ns,
            column_ns,
            posted,
            unexpected,
            messages,
        };
        Endpoint {
            depth,
            ..Endpoint::default()
        }
    }

    #[test]
    fn a_phase_ends_with_a_pause_of_all_ranks() {
        // From 1,000 to 2,000: a pause is 30 long. The second rank fills one of the first's.
        let one = endpoint(900, 10, &[(10, 3), (13, 5), (17, 7), (21, 11), (50, 13)]);
        let other = endpoint(890, 20, &[(8, 17), (10, 19)]);
        let rows = |all: &[_]| {
            phases(all)
                .csv()
                .lines()
                .skip(1)
                .collect::<Vec<_>>()
                .join(";")
        };
        let first =
            "1,0,4e-8,8,6,7;2,7e-8,8e-8,7,8,9;3,1.1e-7,1.2e-7,11,12,13;4,4e-7,4.1e-7,13,14,15";
        assert_eq!(rows(std::slice::from_ref(&one)), first);
        assert_eq!(
            rows(&[one.clone(), other]),
            "1,0,1.2e-7,62,20,21;2,4e-7,4.1e-7,13,14,15"
        );
        assert_eq!(
            tables(&[endpoint(900, 10, &[(10, 3)])]).len(),
            4,
            "one phase is no table"
        );
        assert_eq!(tables(&[one]).len(), 5);
    }
}
