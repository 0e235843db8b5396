//! The statistics of all endpoints as tables.

use std::collections::BTreeMap;

use super::{CommUse, Endpoint, Use};
use crate::counted;
use crate::table::{Cell, Column, Table};

const MOMENTS: u64 = 16;
const KINDS: [&str; 4] = ["user", "collective", "control", "unknown"];

/// By rank, by kind, by communicator and over time.
pub fn tables(endpoints: &[Endpoint]) -> Vec<Table> {
    vec![ranks(endpoints), kinds(endpoints), communicators(endpoints), depth(endpoints)]
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
    let rows = endpoints.iter().map(|it| (it, Use::sum(it.kinds.values().copied())));
    let table = Table::of("ranks", title, rows).columns(&[
        ("rank", |(it, _)| it.rank().map_or(it.name.as_str().into(), Cell::from)),
        ("messages", |(_, sum)| sum.messages.into()),
        ("bytes", |(_, sum)| sum.bytes.into()),
        ("unexpected_%", |(_, sum)| percent(sum.unexpected, sum.messages)),
        ("posts", |(_, sum)| sum.posts.into()),
        ("wildcards_%", |(_, sum)| percent(sum.wildcards(), sum.posts)),
        ("posted_high", |(it, _)| it.counter("posted_high").into()),
        ("unexpected_high", |(it, _)| it.counter("unexpected_high").into()),
        ("clean", |(it, _)| it.counter("matcher_clean").into()),
        ("fast", |(it, _)| it.counter("matcher_fast").into()),
        ("slow", |(it, _)| it.counter("matcher_slow").into()),
        ("to_software", |(it, _)| {
            let [posts, arrivals] = ["matcher_posts_forwarded", "matcher_arrivals_forwarded"];
            (it.counter(posts) + it.counter(arrivals)).into()
        }),
        ("compares_all_bits", |(it, _)| it.counter("compares_all_bits").into()),
    ]);
    table
        .note("clean, fast, slow: messages by the path that they took on the NIC")
        .note("to_software: posts and messages that the NIC had no room for")
}

/// The columns of a [`Use`], behind those that say whose it is.
const USE: [Column<'_, Use>; 9] = [
    ("messages", |used| used.messages.into()),
    ("bytes", |used| used.bytes.into()),
    ("unexpected_%", |used| percent(used.unexpected, used.messages)),
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
        let sum = Use::sum(endpoints.iter().filter_map(|it| it.kinds.get(kind).copied()));
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
    for CommUse { communicator, kind, used } in
        endpoints.iter().flat_map(|endpoint| &endpoint.communicators)
    {
        let kind = KINDS.iter().position(|name| name == kind).unwrap_or(KINDS.len() - 1);
        let (ranks, sum) = sums.entry((*communicator, kind)).or_default();
        *ranks += 1;
        sum.add(used);
    }
    let title = "All ranks, by communicator: the library's own number";
    let columns = ["communicator", "kind", "ranks"];
    let mut table = Table::new("communicators", title, columns.into_iter().chain(names_of_use()));
    for ((communicator, kind), (ranks, used)) in sums {
        let head = [communicator.into(), KINDS[kind].into(), ranks.into()];
        table.push(head.into_iter().chain(cells(&used)));
    }
    table
}

/// The depths over time, by part of the time from the first message to the end.
fn depth(endpoints: &[Endpoint]) -> Table {
    let title = "Over time: the longest queues of any rank, and the messages of all";
    let columns = ["part", "from_s", "messages", "posted_high", "unexpected_high"];
    let mut table = Table::new("depth", title, columns);
    let depths = || endpoints.iter().map(|endpoint| &endpoint.depth);
    let from = |depth: &super::Depth, at: usize| depth.begin_unix_ns + depth.column_ns * at as u64;
    let first = |depth: &super::Depth| {
        depth.messages.iter().position(|&messages| messages > 0).map(|at| from(depth, at))
    };
    let Some(begin) = depths().filter_map(first).min() else { return table };
    let end = depths().map(|depth| from(depth, depth.posted.len())).max().unwrap_or(begin);
    let moment_ns = (end - begin).div_ceil(MOMENTS).max(1);
    let mut moments = [[0_u64; 3]; MOMENTS as usize];
    for depth in depths() {
        let columns = depth.posted.iter().zip(&depth.unexpected).zip(&depth.messages);
        for (at, ((&posted, &unexpected), &messages)) in columns.enumerate() {
            // The column of the first message may begin before that of another rank.
            if from(depth, at) + depth.column_ns <= begin {
                continue;
            }
            let since = from(depth, at).saturating_sub(begin);
            let moment = &mut moments[(since / moment_ns).min(MOMENTS - 1) as usize];
            moment[0] += messages;
            moment[1] = moment[1].max(posted);
            moment[2] = moment[2].max(unexpected);
        }
    }
    for (at, [messages, posted, unexpected]) in moments.into_iter().enumerate() {
        let (part, from_s) = (at as u64 + 1, at as f64 * moment_ns as f64 / 1e9);
        let counts = [messages, posted, unexpected].map(Cell::from);
        table.push([part.into(), from_s.into()].into_iter().chain(counts));
    }
    table.note("part: of the time from the first message to the end, in 16 parts")
}
