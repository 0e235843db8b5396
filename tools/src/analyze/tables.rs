//! The figures of reports as tables, for programs and to compare runs.

use super::report::Report;
use super::stats::{Searches, Traffic};
use crate::table::{Cell, Table};

fn percent(part: u64, all: u64) -> f64 {
    100.0 * part as f64 / all.max(1) as f64
}

/// The tables of these reports, a row or more for each report in each.
pub fn tables(reports: &[&Report]) -> Vec<Table> {
    vec![
        applications(reports),
        queues(reports),
        paths(reports),
        shards(reports),
        communicators(reports),
        engines(reports),
    ]
}

fn applications(reports: &[&Report]) -> Table {
    let columns = [
        "application",
        "processes",
        "ranks",
        "calls",
        "p2p_calls",
        "collective_calls",
        "one_sided_calls",
        "progress_calls",
        "other_calls",
        "sends",
        "sent_bytes",
        "receives",
        "any_source",
        "any_tag",
        "any_source_and_tag",
        "wildcards_percent",
        "probes",
        "cancelled",
        "messages",
        "unexpected",
        "unexpected_percent",
        "receives_left",
        "messages_left",
        "unique_keys_percent",
        "tags",
        "sequence_length_mean",
        "sequence_length_max",
        "posted_max",
        "unexpected_max",
        "unexpected_bytes_max",
        "communicators_max",
    ];
    let mut table = Table::new("applications", "Calls, messages and what must be held", columns);
    for report in reports {
        let all = &report.application;
        let (shares, needs) = (&all.shares, &all.needs);
        let Traffic {
            sends,
            bytes_sent,
            receives: [none, source, tag, both],
            probes,
            cancelled,
            expected,
            unexpected,
            receives_left,
            messages_left,
            ..
        } = all.traffic;
        let (wild, messages) = (source + tag + both, expected + unexpected);
        table.push([
            report.name.as_str().into(),
            report.processes.into(),
            report.ranks.len().into(),
            report.source.calls.into(),
            shares.p2p.into(),
            shares.collective.into(),
            shares.one_sided.into(),
            shares.progress.into(),
            shares.other.into(),
            sends.into(),
            bytes_sent.into(),
            (none + wild).into(),
            source.into(),
            tag.into(),
            both.into(),
            percent(wild, none + wild).into(),
            probes.into(),
            cancelled.into(),
            messages.into(),
            unexpected.into(),
            percent(unexpected, messages).into(),
            receives_left.into(),
            messages_left.into(),
            (100.0 * all.receive_keys.unique_share()).into(),
            all.tags.into(),
            all.sequences.mean().into(),
            all.sequences.longest.into(),
            needs.descriptors.into(),
            needs.unexpected.into(),
            needs.unexpected_bytes.into(),
            needs.communicators.into(),
        ]);
    }
    table
}

fn queues(reports: &[&Report]) -> Table {
    let columns = [
        "application",
        "queue",
        "bins",
        "searches",
        "steps",
        "steps_per_search",
        "steps_max",
        "length_mean",
        "length_max",
    ];
    let mut table = Table::new("queues", "Queue lengths and searches, by bins", columns).keyed(3);
    for report in reports {
        for bins in &report.application.bins {
            for (queue, searches) in [("posted", &bins.prq), ("unexpected", &bins.umq)] {
                let Searches { count, steps, steps_max, length_max, .. } = *searches;
                table.push([
                    report.name.as_str().into(),
                    queue.into(),
                    bins.bins.into(),
                    count.into(),
                    steps.into(),
                    searches.mean().into(),
                    steps_max.into(),
                    searches.length_mean().into(),
                    length_max.into(),
                ]);
            }
        }
    }
    table
}

fn paths(reports: &[&Report]) -> Table {
    let columns = [
        "application",
        "handlers",
        "blocks",
        "messages_per_block",
        "clean",
        "fast",
        "slow",
        "forced",
        "unexpected",
        "conflict_blocks_percent",
    ];
    let title = "Paths of optimistic matching, by handlers";
    let mut table = Table::new("paths", title, columns).keyed(2);
    for report in reports {
        for block in &report.application.blocks {
            table.push([
                report.name.as_str().into(),
                block.handlers.into(),
                block.blocks.into(),
                (block.messages as f64 / block.blocks.max(1) as f64).into(),
                block.clean.into(),
                block.fast.into(),
                block.slow.into(),
                block.forced.into(),
                block.unexpected.into(),
                percent(block.conflict_blocks, block.blocks).into(),
            ]);
        }
    }
    table
}

fn shards(reports: &[&Report]) -> Table {
    let columns =
        ["application", "shards", "messages", "busiest_messages", "speed_up", "efficiency"];
    let title = "Messages by source on several NICs, by their number";
    let mut table = Table::new("shards", title, columns).keyed(2);
    for report in reports {
        for shards in &report.application.shards {
            table.push([
                report.name.as_str().into(),
                (shards.shards as u64).into(),
                shards.messages.into(),
                shards.busiest.into(),
                shards.speed_up().into(),
                shards.efficiency().into(),
            ]);
        }
    }
    table
}

fn communicators(reports: &[&Report]) -> Table {
    let columns = [
        "application",
        "communicator",
        "name",
        "processes",
        "sends",
        "receives",
        "wildcards",
        "unexpected",
        "posted_max",
        "unexpected_max",
        "steps_per_search",
    ];
    let mut table = Table::new("communicators", "Communicators in use", columns).keyed(3);
    for report in reports {
        for comm in &report.communicators {
            let [_, source, tag, both] = comm.stats.traffic.receives;
            table.push([
                report.name.as_str().into(),
                comm.number.into(),
                comm.name.as_str().into(),
                comm.size.into(),
                comm.stats.traffic.sends.into(),
                comm.stats.traffic.all_receives().into(),
                (source + tag + both).into(),
                comm.stats.traffic.unexpected.into(),
                comm.stats.posted_max.into(),
                comm.stats.unexpected_max.into(),
                comm.stats.prq.mean().into(),
            ]);
        }
    }
    table
}

fn engines(reports: &[&Report]) -> Table {
    let columns = [
        "application",
        "engine",
        "pairs_as_recorded",
        "other_pairs",
        "posted_steps",
        "unexpected_steps",
        "memory_bytes_max",
    ];
    let mut table = Table::new("engines", "Replays through engines", columns).keyed(2);
    for report in reports {
        for engine in &report.engines {
            let agreement = &engine.agreement;
            let cells: [Cell; 7] = [
                report.name.as_str().into(),
                engine.name.into(),
                agreement.same.into(),
                (agreement.other + agreement.missing).into(),
                engine.posted_steps().into(),
                engine.unexpected_steps().into(),
                engine.counter("memory_bytes_max").into(),
            ];
            table.push(cells);
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_in_percent() {
        assert_eq!([percent(1, 4), percent(3, 2), percent(5, 0)], [25.0, 150.0, 500.0]);
    }
}
