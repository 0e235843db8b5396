//! The published analyzer's view, for comparison: it matches nothing, and a receive waits from its
//! posting to the call that completes it.
//!
//! Its depth is therefore an upper bound, and it has no unexpected queue. Unlike the published
//! analyzer, this one also follows the test family, `MPI_PROC_NULL` and receives with both
//! wildcards. Bins come from the hash of the engine `bins`, not from the published 8-bit hash.

use dpamatch_vocabulary::WildcardClass;
use rayon::prelude::*;

use super::program::{Action, TransferKind};
use super::replay::RankView;
use super::stats::{OccupancyStats, Tables};
use dpamatch::engine::{BinCount, selector_hash};

/// Operations without a wait after which a data point is taken anyway.
const OPERATIONS_MAX: u32 = 4000;

/// The results for one number of bins, over all ranks.
#[derive(Clone, PartialEq, Debug, Default, serde::Serialize)]
pub struct Lifetime {
    pub bins: u32,
    /// Depth of the table without wildcards: the greatest mean over the ranks at any data point.
    pub depth_average: f64,
    pub depth_max: u32,
    /// Mean depth over all data points of all ranks.
    pub depth_mean: f64,
    /// Collisions and empty bins, as in the replays.
    pub tables: OccupancyStats,
    /// Maximum length of the list of receives with both wildcards.
    pub list_max: u64,
}

struct RankDepths {
    points: Vec<u32>,
    tables: OccupancyStats,
    list_max: u64,
}

/// The results for each number of bins, over all ranks.
pub fn lifetime(views: &[RankView<'_>], bins: &[BinCount]) -> Vec<Lifetime> {
    let ranks: Vec<Vec<RankDepths>> = views.par_iter().map(|&view| rank(view, bins)).collect();
    let all = bins.iter().enumerate().map(|(place, bins)| {
        let of_ranks = || ranks.iter().map(|rank| &rank[place]);
        // The sum of the depths at each data point, and of how many ranks.
        let mut at_points: Vec<(f64, u32)> = Vec::new();
        for rank in of_ranks() {
            if at_points.len() < rank.points.len() {
                at_points.resize(rank.points.len(), (0.0, 0));
            }
            for ((sum, count), &depth) in at_points.iter_mut().zip(&rank.points) {
                *sum += f64::from(depth);
                *count += 1;
            }
        }
        let points = of_ranks().map(|rank| rank.points.len()).sum::<usize>();
        let sum: u64 = of_ranks()
            .flat_map(|rank| &rank.points)
            .map(|&depth| u64::from(depth))
            .sum();
        let mut tables = OccupancyStats::default();
        for (number, rank) in of_ranks().enumerate() {
            if number == 0 {
                tables = rank.tables
            } else {
                tables.add(&rank.tables)
            }
        }
        Lifetime {
            bins: bins.get(),
            depth_average: at_points
                .iter()
                .map(|&(sum, count)| sum / f64::from(count))
                .fold(0.0, f64::max),
            depth_max: of_ranks()
                .flat_map(|rank| &rank.points)
                .copied()
                .max()
                .unwrap_or(0),
            depth_mean: sum as f64 / points.max(1) as f64,
            tables,
            list_max: of_ranks().map(|rank| rank.list_max).max().unwrap_or(0),
        }
    });
    all.collect()
}

fn rank(view: RankView<'_>, bins: &[BinCount]) -> Vec<RankDepths> {
    let mut tables: Vec<_> = bins.iter().map(|bins| Tables::new(bins.get())).collect();
    let mut points: Vec<Vec<u32>> = vec![Vec::new(); bins.len()];
    let mut depths = vec![0; bins.len()];
    let (mut list, mut list_max) = (0_u64, 0);
    let mut operations = 0;
    let transfers = &view.program.transfers;
    for step in &view.program.steps {
        for (tables, depth) in tables.iter_mut().zip(&mut depths) {
            tables.sample();
            *depth = tables.depth_without_wildcards().max(*depth);
        }
        operations += 1;
        let mut is_point = operations == OPERATIONS_MAX;
        match step.action {
            Action::Begin(at) if transfers.at(at).kind == TransferKind::Recv => {
                let transfer = transfers.at(at);
                let selector = transfer.selector();
                let (class, hash) = (selector.class(), selector_hash(view.comm(at), selector));
                for tables in &mut tables {
                    if transfer.blocking {
                        tables.touch(class, hash)
                    } else {
                        tables.insert(class, hash)
                    }
                }
                if class == WildcardClass::Any && !transfer.blocking {
                    list += 1;
                    list_max = list.max(list_max);
                }
            }
            Action::Finish { first, count } => {
                is_point = true;
                for at in view.program.finished.part(first, count) {
                    if transfers.at(at).kind != TransferKind::Recv {
                        continue;
                    }
                    let selector = transfers.at(at).selector();
                    let hash = selector_hash(view.comm(at), selector);
                    tables
                        .iter_mut()
                        .for_each(|tables| tables.remove(selector.class(), hash));
                    list -= u64::from(selector.class() == WildcardClass::Any);
                }
            }
            _ => {}
        }
        if is_point {
            operations = 0;
            points
                .iter_mut()
                .zip(&mut depths)
                .for_each(|(points, depth)| points.push(std::mem::take(depth)));
        }
    }
    let ranks = points
        .into_iter()
        .zip(tables)
        .map(|(points, tables)| RankDepths {
            points,
            tables: tables.stats(),
            list_max,
        });
    ranks.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyze::by_hand::{program, receive, report, send};
    use crate::analyze::program::{End, NOBODY, Step, Transfer};
    use crate::analyze::{OrderChoice, Run};

    /// Operations without a wait are points of their own, 4,000 at a time.
    #[test]
    fn four_thousand_operations_are_a_point() {
        let bins = [BinCount::new(4).expect("a number")];
        for (operations, points) in [(3_999, 0), (4_000, 1), (4_001, 1), (7_999, 1), (8_000, 2)] {
            let sends = vec![send(1, 7); operations];
            let run = Run::new(vec![program(0, &sends)], Some(2));
            assert_eq!(
                rank(run.view(0), &bins)[0].points.len(),
                points,
                "{operations}"
            );
        }
    }

    fn finish(run: &mut Run, at: usize, after: usize, transfers: &[u32]) {
        let program = &mut run.programs[at];
        let first = program.finished.len() as u32;
        program.finished.extend(transfers.iter().copied());
        let action = Action::Finish {
            first,
            count: transfers.len() as u32,
        };
        let wait = Step {
            at_ns: 0,
            gap_ns: 0,
            action,
        };
        program.steps.edit(|steps| steps.insert(after, wait));
    }

    fn of(run: &Run, bins: u32) -> Lifetime {
        let views: Vec<_> = run.views().collect();
        lifetime(&views, &[BinCount::new(bins).expect("a number")]).remove(0)
    }

    /// Three receives wait for one call, whether or not their messages have come. In a replay with
    /// all messages first, none waits.
    #[test]
    fn nothing_is_matched() {
        let tags = [1, 2, 3];
        let blocking = Transfer {
            blocking: true,
            ..receive(0, 4, End::Ignored)
        };
        let mut receives = tags.map(|tag| receive(0, tag, End::Ignored)).to_vec();
        receives.extend([blocking, blocking]);
        let sends: Vec<_> = [1, 2, 3, 4, 4].map(|tag| send(1, tag)).to_vec();
        let mut run = Run::new(vec![program(0, &sends), program(1, &receives)], Some(2));
        finish(&mut run, 1, 3, &[0, 1, 2]);

        let life = of(&run, 1);
        assert_eq!(
            (life.depth_max, life.depth_average),
            (2, 2.0),
            "the third stands behind two"
        );
        let table = &life.tables.tables[0];
        assert_eq!(
            (table.inserted, table.collisions),
            (5, 2),
            "blocking ones find the bin empty and leave it so"
        );
        assert_eq!(life.list_max, 0);

        let early = report(&run, OrderChoice::ArrivalsFirst);
        let replayed = &early.application.bins[0];
        assert_eq!(
            (
                replayed.bins,
                replayed.tables.depth_max,
                early.application.traffic.expected
            ),
            (1, 0, 0)
        );
        assert_eq!(early.lifetime[0], life, "one view whatever the order");
    }

    #[test]
    fn every_trace_is_followed() {
        let nobody = Transfer {
            kind: TransferKind::Null,
            ..receive(NOBODY, 0, End::Ignored)
        };
        let receives = [
            receive(-1, -1, End::Ignored),
            receive(-1, 7, End::Ignored),
            receive(0, -1, End::Ignored),
            nobody,
            receive(-1, -1, End::Ignored),
        ];
        let sends: Vec<_> = (0..4).map(|_| send(1, 7)).collect();
        let mut run = Run::new(vec![program(0, &sends), program(1, &receives)], Some(2));
        // A test completes the first receive; one call later all others are complete.
        finish(&mut run, 1, 1, &[0]);
        finish(&mut run, 1, 6, &[1, 2, 3, 4]);
        let life = of(&run, 1);
        assert_eq!(
            life.list_max, 1,
            "the first receive with both wildcards has gone before the second comes"
        );
        assert_eq!(
            life.tables.tables.map(|table| table.inserted),
            [0, 1, 1],
            "nobody is no wildcard"
        );
        assert_eq!(life.depth_max, 0, "only the table without wildcards counts");
    }

    #[test]
    fn averages_are_over_ranks_and_means_over_points() {
        let receives: Vec<_> = (0..3).map(|tag| receive(0, tag, End::Pending)).collect();
        let own: Vec<_> = (0..2).map(|tag| receive(1, tag, End::Pending)).collect();
        let mut run = Run::new(vec![program(0, &own), program(1, &receives)], Some(2));
        finish(&mut run, 0, 2, &[]);
        finish(&mut run, 1, 3, &[0, 1, 2]);
        finish(&mut run, 1, 4, &[]);
        let life = of(&run, 1);
        assert_eq!(
            (life.depth_max, life.depth_average, life.depth_mean),
            (2, 1.5, 1.0)
        );
    }

    #[test]
    fn data_points_are_made_without_waits() {
        let receives: Vec<_> = (0..4001).map(|tag| receive(0, tag, End::Pending)).collect();
        let run = Run::new(vec![program(0, &[]), program(1, &receives)], Some(2));
        let life = of(&run, 1);
        // The data point at the 4,000th operation sees 3,999 receives; none sees the last one.
        assert_eq!((life.depth_max, life.depth_average), (3998, 3998.0));
        let mut idle = Run::new(
            vec![program(0, &receives[..2]), program(1, &receives)],
            Some(2),
        );
        finish(&mut idle, 0, 2, &[]);
        // Rank 0 also has a data point, of two receives.
        assert_eq!(of(&idle, 1).depth_average, (3998.0 + 1.0) / 2.0);
    }
}
