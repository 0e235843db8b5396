//! Several rounds of many points, and the ratios between them.

use super::error::BenchError;
use super::machine::{Processors, hand_over_ns};
use super::measure::{Sample, Settings, measure};
use super::point::{Peer, Point};
use super::stats::{CALIBRATION, Summary, calibrated_rate, window_rate};

/// What a point gave over all rounds.
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    /// What was measured. A calibrated row has the longer window of the two it comes from.
    pub point: Point,
    /// The rate comes from two windows by the formula of O40.
    pub calibrated: bool,
    /// Rates in messages per second, by round; one is missing where the calibration had no result.
    pub rates: Vec<Option<f64>>,
    /// The rounds; none for a calibrated row.
    pub samples: Vec<Sample>,
}

impl Row {
    /// Median and extremes of the rounds' rates, in messages per second; each round's rate comes
    /// from its median time.
    pub fn rate(&self) -> Option<Summary> {
        Summary::of(&self.rates.iter().flatten().copied().collect::<Vec<_>>())
    }

    /// Median over the rounds of this row's rate divided by the other's in the same round.
    pub fn ratio_to(&self, other: &Self) -> Option<f64> {
        let pairs = self.rates.iter().zip(&other.rates);
        let ratios: Vec<f64> = pairs.filter_map(|(own, other)| Some((*own)? / (*other)?)).collect();
        Summary::of(&ratios).map(|summary| summary.median)
    }

    /// Median over the rounds of one value of the samples.
    pub fn median(&self, value: impl Fn(&Sample) -> f64) -> f64 {
        let values: Vec<f64> = self.samples.iter().map(value).collect();
        Summary::of(&values).map_or(0.0, |summary| summary.median)
    }
}

/// A point that cannot be measured.
#[derive(Debug, thiserror::Error)]
#[error("{point}")]
pub struct PointError {
    /// Which.
    pub point: String,
    /// Why not.
    pub source: BenchError,
}

/// Results of a list of points.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Report {
    /// In the order of the points; a calibrated row follows the longer of its windows.
    pub rows: Vec<Row>,
    /// Time of a word of memory from one processor to the other and back before each round, in
    /// nanoseconds.
    pub hand_over_ns: Vec<f64>,
}

impl Report {
    /// Measures every point in each round, so that a disturbance of the machine meets all alike.
    /// `progress` is told of every point before it is measured.
    ///
    /// # Errors
    /// The first point that cannot be measured.
    pub fn run(
        points: &[Point],
        rounds: usize,
        settings: &Settings,
        mut progress: impl FnMut(&Point),
    ) -> Result<Self, PointError> {
        let mut rows: Vec<Row> = points
            .iter()
            .map(|point| Row {
                point: point.clone(),
                calibrated: false,
                rates: Vec::new(),
                samples: Vec::new(),
            })
            .collect();
        let processors = Processors::allowed();
        let mut hand_overs = Vec::new();
        for _ in 0..rounds {
            hand_overs.extend(hand_over_ns(&processors));
            for row in &mut rows {
                progress(&row.point);
                let sample = measure(&row.point, settings)
                    .map_err(|source| PointError { point: row.point.to_string(), source })?;
                row.rates.push(Some(window_rate(row.point.window, sample.time_ns.median)));
                row.samples.push(sample);
            }
        }
        Ok(Self { hand_over_ns: hand_overs, ..Self::calibrate(rows) })
    }

    /// Adds the calibrated rows.
    fn calibrate(rows: Vec<Row>) -> Self {
        let mut all = Vec::with_capacity(rows.len());
        for row in &rows {
            all.push(row.clone());
            if row.point.window != CALIBRATION[1] {
                continue;
            }
            let short = Point { window: CALIBRATION[0], ..row.point.clone() };
            if let Some(short) = rows.iter().find(|other| other.point == short) {
                let pairs = short.samples.iter().zip(&row.samples);
                let rate = |(short, long): (&Sample, &Sample)| {
                    calibrated_rate(short.time_ns.median, long.time_ns.median)
                };
                all.push(Row {
                    point: row.point.clone(),
                    calibrated: true,
                    rates: pairs.map(rate).collect(),
                    samples: Vec::new(),
                });
            }
        }
        Self { rows: all, hand_over_ns: Vec::new() }
    }

    /// The row of this point.
    pub fn find(&self, point: &Point, calibrated: bool) -> Option<&Row> {
        self.rows.iter().find(|row| row.point == *point && row.calibrated == calibrated)
    }

    /// The row of another receiver at the same window; without matching, that of NC.
    pub fn beside(&self, row: &Row, peer: Peer) -> Option<&Row> {
        let mut point = Point { peer, ..row.point.clone() };
        if matches!(peer, Peer::NoMatching | Peer::Copy) {
            point.scenario = "NC".parse().ok()?;
        }
        self.find(&point, row.calibrated)
    }

    /// Payloads compared in all warm-up windows; all were right, a wrong one ends the run.
    pub fn checked(&self) -> u64 {
        self.rows.iter().flat_map(|row| &row.samples).map(|sample| sample.checked).sum()
    }

    /// Whether all threads had processors of their own.
    pub fn pinned(&self) -> bool {
        self.rows.iter().flat_map(|row| &row.samples).all(|sample| sample.pinned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dpamatch::registry::EngineOptions;

    fn row(peer: Peer, window: usize, times: &[f64]) -> Row {
        let point = Point { peer, scenario: "NC".parse().expect("a scenario"), window, size: 8 };
        let sample = |&time: &f64| Sample {
            time_ns: Summary::of(&[time]).expect("a value"),
            post_ns: 1.0,
            admit_ns: 0.0,
            receive_ns: 0.0,
            checked: 5,
            pinned: true,
            paths: None,
            steps_per_message: None,
        };
        Row {
            point,
            calibrated: false,
            rates: times.iter().map(|&time| Some(window_rate(window, time))).collect(),
            samples: times.iter().map(sample).collect(),
        }
    }

    #[test]
    fn calibrated_rows_come_from_both_windows() {
        let rows = vec![
            row(Peer::Bins, 1, &[100.0, 200.0, 500.0]),
            row(Peer::Bins, 128, &[100.0 + 127.0 * 20.0, 200.0 + 127.0 * 10.0, 400.0]),
            row(Peer::List, 128, &[1.0, 1.0, 1.0]),
        ];
        let report = Report::calibrate(rows);
        assert_eq!(report.rows.len(), 4, "a single window gives no calibrated row");
        let calibrated = &report.rows[2];
        assert!(calibrated.calibrated);
        assert_eq!(calibrated.rates, [Some(50e6), Some(100e6), None]);
        let rate = calibrated.rate().expect("two rounds");
        assert_eq!((rate.median, rate.min, rate.max, rate.count), (75e6, 50e6, 100e6, 2));
        assert_eq!(report.checked(), 45);
    }

    #[test]
    fn every_point_is_measured_in_every_round() {
        let points = [
            Point { scenario: "NC".parse().expect("a scenario"), ..row(Peer::Bins, 3, &[]).point },
            Point { window: 5, peer: Peer::Nic { handlers: 4 }, ..row(Peer::Bins, 3, &[]).point },
        ];
        let nic = EngineOptions { threads: false, ..EngineOptions::default() };
        let budget = std::time::Duration::ZERO;
        let settings =
            Settings { nic, grow_bins: true, repetitions: 2, budget, seed: 1, ucx: None };
        let mut told = Vec::new();
        let report = Report::run(&points, 3, &settings, |point| told.push(point.clone()));
        let report = report.expect("both can be measured");
        assert_eq!(told, [&points[..]; 3].concat());
        assert_eq!(report.hand_over_ns.len(), 3);
        for (row, point) in report.rows.iter().zip(&points) {
            assert_eq!((&row.point, row.samples.len(), row.calibrated), (point, 3, false));
            for (rate, sample) in row.rates.iter().zip(&row.samples) {
                assert_eq!(*rate, Some(window_rate(point.window, sample.time_ns.median)));
                assert_eq!(sample.time_ns.count, 2);
            }
        }
        let wrong = [Point { window: 0, ..points[0].clone() }];
        let error = Report::run(&wrong, 1, &settings, |_| ()).expect_err("no window");
        assert_eq!(error.to_string(), "seq-bins, NC, window 0, 8 bytes");
    }

    #[test]
    fn a_report_is_pinned_if_every_sample_is() {
        let mut rows = vec![row(Peer::Bins, 1, &[1.0, 2.0]), row(Peer::List, 1, &[1.0, 2.0])];
        let pinned =
            |rows: &[Row]| Report { rows: rows.to_vec(), hand_over_ns: Vec::new() }.pinned();
        assert!(pinned(&rows));
        rows[1].samples[1].pinned = false;
        assert!(!pinned(&rows));
        // The middle one of two values is their mean.
        rows[0].samples[1].post_ns = 4.0;
        assert_eq!(rows[0].median(|sample| sample.post_ns), 2.5);
    }

    #[test]
    fn ratios_are_those_of_the_same_round() {
        // Twice as fast in each round, though the rounds differ a lot.
        let fast = row(Peer::Bins, 100, &[100.0, 1000.0, 10.0]);
        let slow = row(Peer::NoMatching, 100, &[200.0, 2000.0, 20.0]);
        assert_eq!(fast.ratio_to(&slow), Some(2.0));
        assert_eq!(slow.ratio_to(&fast), Some(0.5));
        let report = Report { rows: vec![fast.clone(), slow.clone()], hand_over_ns: Vec::new() };
        assert_eq!(report.beside(&fast, Peer::NoMatching), Some(&slow));
        assert_eq!(report.beside(&fast, Peer::List), None);
        // Without matching every scenario is NC; an engine is compared in the same one.
        let mut other = fast.clone();
        other.point.scenario = "WC".parse().expect("a scenario");
        assert_eq!(report.beside(&other, Peer::NoMatching), Some(&slow));
        assert_eq!(report.beside(&other, Peer::Bins), None);
        other.point.size = 9;
        assert_eq!(report.beside(&other, Peer::NoMatching), None);
    }
}
