//! Results of several rounds of many points, and their ratios.

use super::error::BenchError;
use super::latency::Latencies;
use super::machine::Processors;
use super::measure::{Sample, Settings, measure};
use super::placement::{Look, Placement, placements};
use super::point::{Peer, Point};
use super::stats::{CALIBRATION, Summary, calibrated_rate, window_rate};
use super::undisturbed::Windows;

#[derive(Clone, PartialEq, Debug)]
pub struct PointRow {
    /// The point. A calibrated row has the longer of its two windows.
    pub point: Point,
    /// Whether the rate is calibrated from two windows (O40).
    pub calibrated: bool,
    /// Messages per second in each round; `None` where the calibration had no result or other
    /// programs disturbed the measurement.
    pub rates: Vec<Option<f64>>,
    pub samples: Vec<Sample>,
    /// The placement in each round; `None` if it changed or is unknown.
    pub placements: Vec<Option<Placement>>,
    /// Whether other programs disturbed the round: its sample counts for nothing.
    pub disturbed: Vec<bool>,
}

impl PointRow {
    fn new(point: &Point) -> Self {
        Self {
            point: point.clone(),
            calibrated: false,
            rates: Vec::new(),
            samples: Vec::new(),
            placements: Vec::new(),
            disturbed: Vec::new(),
        }
    }

    fn is_disturbed(&self, round: usize) -> bool {
        self.disturbed.get(round) == Some(&true)
    }

    /// Median and extremes of the rounds' rates in messages per second. A round's rate comes from
    /// its median time.
    pub fn rate(&self) -> Option<Summary> {
        Summary::from_values(&self.rates.iter().flatten().copied().collect::<Vec<_>>())
    }

    /// Median ratio of this row's rate to the other's in the same round.
    pub fn ratio_to(&self, other: &Self) -> Option<f64> {
        let pairs = self.rates.iter().zip(&other.rates);
        let ratios: Vec<f64> = pairs
            .filter_map(|(own, other)| Some((*own)? / (*other)?))
            .collect();
        Summary::from_values(&ratios).map(|summary| summary.median)
    }

    /// The undisturbed rounds that `is_wanted` chooses by their placement.
    fn only(&self, is_wanted: impl Fn(Option<Placement>) -> bool) -> Self {
        let here = |round: usize| {
            let placement = self.placements.get(round).copied().flatten();
            !self.is_disturbed(round) && is_wanted(placement)
        };
        let rates = self.rates.iter().enumerate();
        let samples = self.samples.iter().enumerate();
        Self {
            rates: rates
                .map(|(round, rate)| rate.filter(|_| here(round)))
                .collect(),
            samples: samples
                .filter(|(round, _)| here(*round))
                .map(|(_, it)| it.clone())
                .collect(),
            ..self.clone()
        }
    }

    /// The latencies of all messages; `None` if windows have several messages.
    pub fn latencies(&self) -> Option<Latencies> {
        let mut rounds = self
            .samples
            .iter()
            .filter_map(|sample| sample.latencies.as_ref());
        let mut all = rounds.next()?.clone();
        rounds.for_each(|round| all.add(round));
        Some(all)
    }

    pub fn median(&self, value: impl Fn(&Sample) -> f64) -> f64 {
        let values: Vec<f64> = self.samples.iter().map(value).collect();
        Summary::from_values(&values).map_or(0.0, |summary| summary.median)
    }
}

#[derive(Debug, thiserror::Error)]
#[error("{point}")]
pub struct PointError {
    pub point: String,
    pub source: BenchError,
}

#[derive(Clone, PartialEq, Debug, Default)]
pub struct Report {
    /// In the order of the points; a calibrated row follows the longer of its windows.
    pub rows: Vec<PointRow>,
    /// Cache-line round trips in nanoseconds, before the first measurement and after each.
    pub hand_over_ns: Vec<f64>,
}

/// The part of a report that is shown: the undisturbed measurements of one placement, or of all.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Shown {
    /// The placement; `None` if it is unknown, changed during every measurement, or does not count.
    pub placement: Option<Placement>,
    /// Number of measurements, without calibrated rows.
    pub measurements: usize,
    /// Measurements that were left out because the processors had another distance.
    pub elsewhere: usize,
    /// Measurements that were left out because the processors moved during them.
    pub moved: usize,
    /// Rows without a rate are left out.
    pub report: Report,
}

/// What other programs cost.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct Disturbance {
    pub windows: Windows,
    pub measurements: usize,
    /// Measurements with too few windows left, or during which the processors' distance could not
    /// be seen.
    pub disturbed_measurements: usize,
}

impl Report {
    /// Measures every point in each round, so that a disturbance affects all points alike. Adds at
    /// most as many rounds again while other programs disturb half of the rounds of any point.
    /// Calls `progress` before each point. If `progress` returns `false`, the measured rounds are
    /// the result.
    pub fn run(
        points: &[Point],
        rounds: usize,
        settings: &Settings,
        mut progress: impl FnMut(&Point) -> bool,
    ) -> Result<Self, PointError> {
        let mut rows: Vec<PointRow> = points.iter().map(PointRow::new).collect();
        let processors = Processors::allowed();
        let look = || {
            if settings.look {
                Look::take(&processors)
            } else {
                None
            }
        };
        let is_disturbed = |look: &Option<Look>| look.is_some_and(|look| look.is_disturbed());
        let mut looks = vec![look()];
        'rounds: for round in 0..2 * rounds {
            if round >= rounds && enough_rounds(&rows, rounds) {
                break;
            }
            for row in &mut rows {
                if !progress(&row.point) {
                    break 'rounds;
                }
                let sample = measure(&row.point, settings).map_err(|source| PointError {
                    point: row.point.to_string(),
                    source,
                })?;
                let before = looks.last().is_some_and(is_disturbed);
                let after = look();
                let disturbed = !settings.keep_disturbed
                    && (sample.windows.are_too_few() || before || is_disturbed(&after));
                looks.push(after);
                let rate = window_rate(row.point.window, sample.time_ns.median);
                row.rates.push((!disturbed).then_some(rate));
                row.samples.push(sample);
                row.disturbed.push(disturbed);
            }
        }
        for (number, placement) in placements(&looks).into_iter().enumerate() {
            let row = number % points.len();
            rows[row].placements.push(placement);
        }
        rows.retain(|row| !row.samples.is_empty());
        let hand_over_ns = looks
            .iter()
            .flatten()
            .map(|look| look.trip.fastest_ns)
            .collect();
        Ok(Self {
            hand_over_ns,
            ..Self::calibrate(rows)
        })
    }

    /// The measurements in the placement that most measurements have: rates of different placements
    /// are not compared.
    pub fn in_one_placement(&self) -> Shown {
        let mut counts = std::collections::BTreeMap::<Placement, usize>::new();
        let mut moved = 0;
        for row in self.measured_rows() {
            for (round, placement) in row.placements.iter().enumerate() {
                match placement {
                    _ if row.is_disturbed(round) => {}
                    Some(placement) => *counts.entry(*placement).or_default() += 1,
                    None => moved += 1,
                }
            }
        }
        let all: usize = counts.values().sum();
        let largest = counts.into_iter().max_by_key(|&(_, count)| count);
        let (placement, measurements) = match largest {
            Some((placement, count)) => (Some(placement), count),
            None => (None, moved),
        };
        Shown {
            placement,
            measurements,
            elsewhere: all.saturating_sub(measurements),
            moved: if placement.is_some() { moved } else { 0 },
            report: self.only(|it| it == placement),
        }
    }

    /// The measurements in all placements.
    pub fn in_any_placement(&self) -> Shown {
        let rows = self.measured_rows();
        let undisturbed = rows.flat_map(|row| &row.disturbed).filter(|it| !**it);
        Shown {
            measurements: undisturbed.count(),
            report: self.only(|_| true),
            ..Shown::default()
        }
    }

    fn only(&self, is_wanted: impl Fn(Option<Placement>) -> bool) -> Self {
        let rows = self.rows.iter().map(|row| row.only(&is_wanted));
        Self {
            rows: rows.filter(|row| row.rate().is_some()).collect(),
            hand_over_ns: self.hand_over_ns.clone(),
        }
    }

    fn measured_rows(&self) -> impl Iterator<Item = &PointRow> {
        self.rows.iter().filter(|row| !row.calibrated)
    }

    pub fn disturbance(&self) -> Disturbance {
        let samples = self.measured_rows().flat_map(|row| &row.samples);
        let rounds = || self.measured_rows().flat_map(|row| &row.disturbed);
        Disturbance {
            windows: samples.map(|sample| sample.windows).sum(),
            measurements: rounds().count(),
            disturbed_measurements: rounds().filter(|it| **it).count(),
        }
    }

    fn calibrate(rows: Vec<PointRow>) -> Self {
        let mut all = Vec::with_capacity(rows.len());
        for row in &rows {
            all.push(row.clone());
            if row.point.window != CALIBRATION[1] {
                continue;
            }
            let short = Point {
                window: CALIBRATION[0],
                ..row.point.clone()
            };
            if let Some(short) = rows.iter().find(|other| other.point == short) {
                let pairs = short.samples.iter().zip(&row.samples);
                let rate = |(short, long): (&Sample, &Sample)| {
                    calibrated_rate(short.time_ns.median, long.time_ns.median)
                };
                let both = short.placements.iter().zip(&row.placements);
                let disturbed = short.disturbed.iter().zip(&row.disturbed);
                all.push(PointRow {
                    calibrated: true,
                    rates: pairs.map(rate).collect(),
                    placements: both.map(|(a, b)| a.filter(|a| Some(*a) == *b)).collect(),
                    disturbed: disturbed.map(|(a, b)| *a || *b).collect(),
                    ..PointRow::new(&row.point)
                });
            }
        }
        Self {
            rows: all,
            hand_over_ns: Vec::new(),
        }
    }

    pub fn find(&self, point: &Point, calibrated: bool) -> Option<&PointRow> {
        self.rows
            .iter()
            .find(|row| row.point == *point && row.calibrated == calibrated)
    }

    /// The row of another receiver for the same window; without matching, for NC.
    pub fn beside(&self, row: &PointRow, peer: Peer) -> Option<&PointRow> {
        let mut point = Point {
            peer,
            ..row.point.clone()
        };
        if matches!(peer, Peer::NoMatching | Peer::Copy) {
            point.scenario = "NC".parse().ok()?;
        }
        self.find(&point, row.calibrated)
    }

    /// Payloads checked in all warm-up windows. A wrong one ends the run, so all were right.
    pub fn checked(&self) -> u64 {
        self.rows
            .iter()
            .flat_map(|row| &row.samples)
            .map(|sample| sample.checked)
            .sum()
    }

    /// Whether all threads had their own processors.
    pub fn pinned(&self) -> bool {
        self.rows
            .iter()
            .flat_map(|row| &row.samples)
            .all(|sample| sample.pinned)
    }
}

/// Whether every point has half of `rounds` undisturbed.
fn enough_rounds(rows: &[PointRow], rounds: usize) -> bool {
    let good = |row: &PointRow| {
        row.disturbed
            .iter()
            .filter(|disturbed| !**disturbed)
            .count()
    };
    rows.iter().all(|row| 2 * good(row) >= rounds)
}

#[cfg(test)]
mod tests {
    use super::super::placement::Distance;
    use super::*;

    fn row(peer: Peer, window: usize, times: &[f64]) -> PointRow {
        let point = Point {
            peer,
            scenario: "NC".parse().expect("a scenario"),
            window,
            size: 8,
        };
        let sample = |&time: &f64| Sample {
            time_ns: Summary::from_values(&[time]).expect("a value"),
            post_ns: 1.0,
            checked: 5,
            pinned: true,
            ..Sample::default()
        };
        PointRow {
            point,
            calibrated: false,
            rates: times
                .iter()
                .map(|&time| Some(window_rate(window, time)))
                .collect(),
            samples: times.iter().map(sample).collect(),
            placements: vec![Some(NEAR); times.len()],
            disturbed: vec![false; times.len()],
        }
    }

    const NEAR: Placement = Placement {
        distance: Distance::Near,
        slowed: false,
    };
    const SIBLINGS: Placement = Placement {
        distance: Distance::Siblings,
        slowed: false,
    };

    #[test]
    fn rates_of_different_placements_never_meet() {
        let mut fast = row(Peer::Bins, 100, &[100.0, 10.0, 100.0, 50.0]);
        let mut slow = row(Peer::NoMatching, 100, &[200.0, 1000.0, 200.0, 1.0]);
        fast.placements = vec![Some(NEAR), Some(SIBLINGS), Some(NEAR), None];
        slow.placements = vec![Some(NEAR), Some(NEAR), Some(NEAR), Some(NEAR)];
        let alone = PointRow {
            placements: vec![Some(SIBLINGS)],
            ..row(Peer::List, 100, &[7.0])
        };
        let report = Report {
            rows: vec![fast, slow, alone],
            hand_over_ns: vec![97.0],
        };
        let near = report.in_one_placement();
        let seen = (
            near.placement,
            near.measurements,
            near.elsewhere,
            near.moved,
        );
        assert_eq!(seen, (Some(NEAR), 6, 2, 1));
        // The list was never measured near.
        assert_eq!(near.report.rows.len(), 2);
        let (fast, slow) = (&near.report.rows[0], &near.report.rows[1]);
        assert_eq!(fast.ratio_to(slow), Some(2.0));
        assert_eq!(fast.rate().map(|rate| rate.count), Some(2));
        assert_eq!((fast.samples.len(), slow.samples.len()), (2, 4));
        let all = report.in_any_placement();
        assert_eq!(
            (all.measurements, all.elsewhere, all.report.rows.len()),
            (9, 0, 3)
        );
        assert_eq!(all.report.rows[0].rate().map(|rate| rate.count), Some(4));
    }

    #[test]
    fn a_disturbed_round_counts_nowhere() {
        let mut fast = row(Peer::Bins, 100, &[100.0, 10.0, 40.0]);
        fast.disturbed[1] = true;
        fast.placements[1] = None;
        fast.samples[0].windows = Windows {
            measured: 50,
            preempted: 3,
            slow: 4,
        };
        fast.samples[1].windows = Windows {
            measured: 20,
            preempted: 19,
            slow: 0,
        };
        let mut lost = row(Peer::List, 100, &[7.0]);
        lost.disturbed[0] = true;
        let report = Report {
            rows: vec![fast, lost],
            hand_over_ns: Vec::new(),
        };
        for shown in [report.in_one_placement(), report.in_any_placement()] {
            assert_eq!(
                (shown.measurements, shown.moved, shown.elsewhere),
                (2, 0, 0)
            );
            assert_eq!(shown.report.rows.len(), 1, "the list has no rate");
            let times = shown.report.rows[0].samples.iter();
            assert!(times.map(|sample| sample.time_ns.median).eq([100.0, 40.0]));
            assert_eq!(shown.report.rows[0].rates[1], None);
        }
        let windows = Windows {
            measured: 70,
            preempted: 22,
            slow: 4,
        };
        let expected = Disturbance {
            windows,
            measurements: 4,
            disturbed_measurements: 2,
        };
        assert_eq!(report.disturbance(), expected);
    }

    #[test]
    fn rounds_are_added_while_half_of_them_are_disturbed() {
        let rows = |disturbed: &[bool]| {
            [PointRow {
                disturbed: disturbed.to_vec(),
                ..row(Peer::Bins, 1, &[])
            }]
        };
        assert!(enough_rounds(&rows(&[false, true]), 2));
        assert!(!enough_rounds(&rows(&[true, true]), 2));
        assert!(!enough_rounds(&rows(&[true, true, false]), 3));
        assert!(enough_rounds(&rows(&[true, true, false, false]), 3));
    }

    #[test]
    fn a_calibrated_rate_is_of_one_placement() {
        let mut short = row(Peer::Bins, 1, &[100.0, 100.0, 100.0]);
        let long = row(Peer::Bins, 128, &[2640.0, 2640.0, 2640.0]);
        short.placements = vec![Some(NEAR), Some(SIBLINGS), None];
        let report = Report::calibrate(vec![short, long]);
        assert_eq!(report.rows[2].placements, [Some(NEAR), None, None]);
        let near = report.in_one_placement().report;
        assert_eq!(near.rows[2].rates, [Some(50e6), None, None]);
    }

    #[test]
    fn calibrated_rows_come_from_both_windows() {
        let rows = vec![
            row(Peer::Bins, 1, &[100.0, 200.0, 500.0]),
            row(
                Peer::Bins,
                128,
                &[100.0 + 127.0 * 20.0, 200.0 + 127.0 * 10.0, 400.0],
            ),
            row(Peer::List, 128, &[1.0, 1.0, 1.0]),
        ];
        let report = Report::calibrate(rows);
        assert_eq!(
            report.rows.len(),
            4,
            "a single window gives no calibrated row"
        );
        let calibrated = &report.rows[2];
        assert!(calibrated.calibrated);
        assert_eq!(calibrated.rates, [Some(50e6), Some(100e6), None]);
        let rate = calibrated.rate().expect("two rounds");
        assert_eq!(
            (rate.median, rate.min, rate.max, rate.count),
            (75e6, 50e6, 100e6, 2)
        );
        assert_eq!(report.checked(), 45);
    }

    #[test]
    fn every_point_is_measured_in_every_round() {
        let points = [
            Point {
                scenario: "NC".parse().expect("a scenario"),
                ..row(Peer::Bins, 3, &[]).point
            },
            Point {
                window: 5,
                peer: Peer::optimistic(4),
                ..row(Peer::Bins, 3, &[]).point
            },
        ];
        let settings = Settings {
            repetitions: 2,
            repetitions_single: 2,
            look: true,
            ..super::super::measure::tests::settings(false)
        };
        let mut told = Vec::new();
        let report = Report::run(&points, 3, &settings, |point| {
            told.push(point.clone());
            true
        });
        let report = report.expect("both can be measured");
        // A disturbed machine gets up to three more.
        let rounds = report.rows[0].samples.len();
        assert!((3..=6).contains(&rounds), "{rounds} rounds");
        assert_eq!(told, vec![&points[..]; rounds].concat());
        let two = Processors::allowed().pair().is_some();
        let looks = if two { 2 * rounds + 1 } else { 0 };
        assert_eq!(report.hand_over_ns.len(), looks);
        for (row, point) in report.rows.iter().zip(&points) {
            assert_eq!(
                (&row.point, row.samples.len(), row.calibrated),
                (point, rounds, false)
            );
            assert_eq!(
                (row.placements.len(), row.disturbed.len()),
                (rounds, rounds)
            );
            for (round, sample) in row.samples.iter().enumerate() {
                let rate = window_rate(point.window, sample.time_ns.median);
                let expected = (!row.disturbed[round]).then_some(rate);
                assert_eq!(row.rates[round], expected);
                assert_eq!(sample.windows.measured, 2);
            }
        }
        let wrong = [Point {
            window: 0,
            ..points[0].clone()
        }];
        let error = Report::run(&wrong, 1, &settings, |_| true).expect_err("no window");
        assert_eq!(error.to_string(), "bins, NC, window 0, 8 bytes");
    }

    #[test]
    fn a_report_is_pinned_if_every_sample_is() {
        let mut rows = vec![
            row(Peer::Bins, 1, &[1.0, 2.0]),
            row(Peer::List, 1, &[1.0, 2.0]),
        ];
        let pinned = |rows: &[PointRow]| {
            Report {
                rows: rows.to_vec(),
                hand_over_ns: Vec::new(),
            }
            .pinned()
        };
        assert!(pinned(&rows));
        rows[1].samples[1].pinned = false;
        assert!(!pinned(&rows));
        // The median of two values is their mean.
        rows[0].samples[1].post_ns = 4.0;
        assert_eq!(rows[0].median(|sample| sample.post_ns), 2.5);
    }

    #[test]
    fn ratios_are_those_of_the_same_round() {
        let fast = row(Peer::Bins, 100, &[100.0, 1000.0, 10.0]);
        let slow = row(Peer::NoMatching, 100, &[200.0, 2000.0, 20.0]);
        assert_eq!(fast.ratio_to(&slow), Some(2.0));
        assert_eq!(slow.ratio_to(&fast), Some(0.5));
        let report = Report {
            rows: vec![fast.clone(), slow.clone()],
            hand_over_ns: Vec::new(),
        };
        assert_eq!(report.beside(&fast, Peer::NoMatching), Some(&slow));
        assert_eq!(report.beside(&fast, Peer::List), None);
        // No-matching is compared with NC, an engine within its scenario.
        let mut other = fast.clone();
        other.point.scenario = "WC".parse().expect("a scenario");
        assert_eq!(report.beside(&other, Peer::NoMatching), Some(&slow));
        assert_eq!(report.beside(&other, Peer::Bins), None);
        other.point.size = 9;
        assert_eq!(report.beside(&other, Peer::NoMatching), None);
    }
}
