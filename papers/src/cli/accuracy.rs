//! The prediction beside the measured Figure 8, and beside another program on the same card.

use dpa_model::PaperWorkload;
use dpamatch_predict::calibrate::fitted;
use dpamatch_predict::figure8::{CHOICES, Point, THREADS, Use, mape, points};
use dpamatch_predict::{Setup, band, predict, sdr, series};
use dpamatch_tools::figure::{Axis, Figure, Lines, Series, Style};

use dpamatch_tools::cli::predict::{Common, Like, make, options, wrong};
use dpamatch_tools::cli::progress::bar;
use dpamatch_tools::table::{Cell, Table};

struct Judged {
    point: Point,
    predicted: f64,
    /// By the paper's text: form literal, removal lazy.
    by_text: f64,
    /// Least and highest prediction when costs change by 1 %.
    band: (f64, f64),
    use_of: &'static str,
}

pub(super) fn run(common: &Common) -> anyhow::Result<()> {
    let base = common.setup_like(Like::Prototype, 1)?;
    let judged = judge(&base)?;
    if let Some(folder) = &common.out {
        make(folder)?;
        figure(&judged).write(folder, "figure8_predicted")?;
    }
    let tables = [
        points_table(&base, &judged),
        shape(&judged),
        trends(&judged),
        agreement(&judged),
        summary(&judged),
        rests_on(&base, &judged),
        blind(&base),
    ];
    common.show(&tables)
}

/// The base with the options of the paper's text.
fn published(base: &Setup) -> Setup {
    let Setup {
        fast_path, removal, ..
    } = Setup::published(base.profile.clone(), 1);
    Setup {
        fast_path,
        removal,
        ..base.clone()
    }
}

fn judge(base: &Setup) -> anyhow::Result<Vec<Judged>> {
    let fitted = fitted(&base.profile);
    let text = published(base);
    let bar = bar(points().count(), "predictions");
    let mut judged = Vec::new();
    for point in points() {
        let with = |base: &Setup| {
            let handlers = point.threads;
            series(
                &Setup {
                    handlers,
                    ..base.clone()
                },
                point.series,
            )
        };
        let (setup, offer) = with(&text);
        let by_text = predict(&setup, &offer, 0).map_err(wrong)?.rate;
        let (setup, offer) = with(base);
        let predicted = predict(&setup, &offer, 0).map_err(wrong)?.rate;
        let band = band(&setup, &offer, predicted).map_err(wrong)?;
        let takes = |&(_, series, threads): &_| (series, threads) == (point.series, point.threads);
        let use_of = match point.used {
            Use::Later => "other session, shown only",
            _ if fitted.iter().any(takes) => "fitted",
            _ => "held out",
        };
        judged.push(Judged {
            point,
            predicted,
            by_text,
            band,
            use_of,
        });
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(judged)
}

fn points_table(base: &Setup, judged: &[Judged]) -> Table {
    let title = format!(
        "Figure 8 of the paper and what {} predicts, in M messages/s. Least and most: the \
         prediction when single costs change by 1 %. By text: the paper's text on the same card, {}.",
        options(base),
        options(&published(base))
    );
    let columns = [
        "series",
        "threads",
        "measured",
        "predicted",
        "least",
        "most",
        "error %",
        "point",
        "by text",
        "text error %",
    ];
    let mut table = Table::new("accuracy", title, columns).keyed(2).named(&[
        ("measured", "measured_msgs_per_us"),
        ("predicted", "predicted_msgs_per_us"),
        ("least", "least_msgs_per_us"),
        ("most", "most_msgs_per_us"),
        ("by text", "by_text_msgs_per_us"),
    ]);
    for Judged {
        point,
        predicted,
        by_text,
        band,
        use_of,
    } in judged
    {
        table.push([
            point.series.name().into(),
            point.threads.into(),
            point.rate.into(),
            (*predicted).into(),
            band.0.into(),
            band.1.into(),
            ((predicted / point.rate - 1.0) * 100.0).into(),
            (*use_of).into(),
            (*by_text).into(),
            ((by_text / point.rate - 1.0) * 100.0).into(),
        ]);
    }
    table
}

/// Whether the three curves keep their order and distance.
fn shape(judged: &[Judged]) -> Table {
    let title = "Shape: ratios of the three curves, measured and predicted, and whether \
                 NC > WC-FP > WC-SP in both.";
    let columns = "threads, FP/NC, predicted FP/NC, SP/NC, predicted SP/NC, FP/SP, \
        predicted FP/SP, order"
        .split(", ");
    let mut table = Table::new("shape", title, columns).keyed(1);
    // Alone, a thread meets no conflict.
    for threads in THREADS.into_iter().filter(|&threads| threads > 1) {
        let of = |series| {
            let point = judged
                .iter()
                .map(|judged| (&judged.point, judged.predicted));
            let mut at = point.filter(|(point, _)| point.series == series);
            let found = at.find(|(point, _)| point.threads == threads);
            found.map_or([0.0; 2], |(point, predicted)| [point.rate, predicted])
        };
        let [nc, fp, sp] = [
            PaperWorkload::NoConflict,
            PaperWorkload::FastPath,
            PaperWorkload::SlowPath,
        ]
        .map(of);
        let ratios = [(fp, nc), (sp, nc), (fp, sp)];
        let ratios = ratios
            .into_iter()
            .flat_map(|(a, b)| [a[0] / b[0], a[1] / b[1]]);
        let kept = (0..2).all(|which| nc[which] > fp[which] && fp[which] > sp[which]);
        let order = if kept { "kept" } else { "broken" };
        let cells = ratios.map(Cell::from).chain([order.into()]);
        table.push([threads.into()].into_iter().chain(cells));
    }
    table
}

/// The judged points of a series, by rising number of threads.
fn of_series(judged: &[Judged], series: PaperWorkload) -> Vec<&Judged> {
    let all = judged.iter();
    all.filter(|judged| judged.point.series == series).collect()
}

/// What a setting predicts for a point.
type Predicted = fn(&Judged) -> f64;
const SETTINGS: [(&str, Predicted); 2] = [
    ("predicted", |judged| judged.predicted),
    ("by text", |judged| judged.by_text),
];

/// Measured and predicted growth from N to 2N threads.
struct Step<'a> {
    from: &'a Judged,
    to: &'a Judged,
}

impl Step<'_> {
    fn all(judged: &[Judged]) -> Vec<Step<'_>> {
        let steps = |&series: &PaperWorkload| {
            let points = of_series(judged, series);
            let pairs = points.windows(2).map(|pair| Step {
                from: pair[0],
                to: pair[1],
            });
            pairs.collect::<Vec<_>>()
        };
        PaperWorkload::ALL.iter().flat_map(steps).collect()
    }

    fn measured(&self) -> f64 {
        self.to.point.rate / self.from.point.rate
    }

    fn predicted(&self, of: Predicted) -> f64 {
        of(self.to) / of(self.from)
    }

    fn is_kept(&self, of: Predicted) -> bool {
        (self.measured() > 1.0) == (self.predicted(of) > 1.0)
    }

    /// A point of another session beside one of the first.
    fn crosses(&self) -> bool {
        (self.from.point.used == Use::Later) != (self.to.point.used == Use::Later)
    }
}

/// Whether each curve rises and falls where the measured one does.
fn trends(judged: &[Judged]) -> Table {
    let title = "Trends: the rate at the second number of threads over that at the first, and \
                 whether it rises or falls as measured. Between two sessions the card or its \
                 program may have changed.";
    let columns = "series, from, to, measured, predicted, trend, by text, trend by text, points";
    let mut table = Table::new("trends", title, columns.split(", ")).keyed(3);
    for step in Step::all(judged) {
        let mut row: Vec<Cell> = vec![
            step.from.point.series.name().into(),
            step.from.point.threads.into(),
            step.to.point.threads.into(),
            step.measured().into(),
        ];
        for (_, of) in SETTINGS {
            let kept = if step.is_kept(of) { "kept" } else { "broken" };
            row.extend([step.predicted(of).into(), kept.into()]);
        }
        let points = match step.crosses() {
            true => "of two sessions",
            false => "of one session",
        };
        row.push(points.into());
        table.push(row);
    }
    table
}

/// How far each setting is from holding everything.
fn agreement(judged: &[Judged]) -> Table {
    const NEAR: f64 = 0.15;
    let steps = Step::all(judged);
    let title = format!(
        "Agreement of the two settings with all {} points and all {} trends.",
        judged.len(),
        steps.len()
    );
    let columns = "setting, within 15 %, largest error %, at, trends kept, trends broken";
    let mut table = Table::new("agreement", title, columns.split(", ")).keyed(1);
    for (name, of) in SETTINGS {
        let error = |judged: &Judged| of(judged) / judged.point.rate - 1.0;
        let far = |a: &&Judged, b: &&Judged| error(a).abs().total_cmp(&error(b).abs());
        let worst = judged.iter().max_by(far);
        let kept = steps.iter().filter(|step| step.is_kept(of)).count();
        table.push([
            name.into(),
            judged
                .iter()
                .filter(|it| error(it).abs() <= NEAR)
                .count()
                .into(),
            worst.map_or(Cell::None, |worst| (100.0 * error(worst)).into()),
            worst.map_or(Cell::None, |worst| {
                format!("{}, {}", worst.point.series.name(), worst.point.threads).into()
            }),
            kept.into(),
            (steps.len() - kept).into(),
        ]);
    }
    table
}

fn summary(judged: &[Judged]) -> Table {
    let mut table = Table::new(
        "accuracy_summary",
        "Mean absolute error over points held out, in per cent.",
        ["points", "MAPE %", "by text", "required", "aimed at"],
    )
    .named(&[
        ("by text", "by_text_mape_percent"),
        ("required", "required_percent"),
        ("aimed at", "aimed_at_percent"),
    ]);
    let clean = |judged: &Judged| judged.point.used == Use::Clean;
    let of = |judged: &Judged, series| clean(judged) && judged.point.series == series;
    type Wanted<'a> = &'a dyn Fn(&Judged) -> bool;
    let rows: [(&str, Wanted<'_>, Cell, Cell); 5] = [
        (
            "NC, 4 to 32",
            &|judged| of(judged, PaperWorkload::NoConflict),
            5.0.into(),
            2.5.into(),
        ),
        (
            "WC-SP, 4 to 32",
            &|judged| of(judged, PaperWorkload::SlowPath),
            12.0.into(),
            5.0.into(),
        ),
        (
            "WC-FP, 4",
            &|judged| of(judged, PaperWorkload::FastPath),
            Cell::None,
            Cell::None,
        ),
        ("all nine", &clean, 10.0.into(), 5.0.into()),
        (
            "with the other session",
            &|judged| judged.point.used != Use::Fitted,
            Cell::None,
            Cell::None,
        ),
    ];
    for (name, is_wanted, required, ambitious) in rows {
        let error = |(_, of): (&str, Predicted)| {
            let wanted = judged.iter().filter(|judged| is_wanted(judged));
            Cell::from(mape(wanted.map(|judged| (of(judged), judged.point.rate))))
        };
        let [predicted, by_text] = SETTINGS.map(error);
        table.push([name.into(), predicted, by_text, required, ambitious]);
    }
    table
}

/// How much of the agreement was put in.
fn rests_on(base: &Setup, judged: &[Judged]) -> Table {
    let title = "What the prediction rests on.";
    let mut table = Table::new("rests_on", title, ["what", "count", "which"]).keyed(1);
    let fitted = fitted(&base.profile);
    let names: Vec<&str> = fitted.iter().map(|fitted| fitted.0).collect();
    let held_out = judged.iter().filter(|judged| judged.use_of == "held out");
    let mut row = |what: &str, count: usize, which: String| {
        table.push([what.into(), count.into(), which.into()]);
    };
    row("numbers fitted", fitted.len(), names.join(", "));
    row(
        "choices made in view of the points",
        CHOICES.len(),
        CHOICES.join(", "),
    );
    row("points fitted", fitted.len(), "1 and 2 threads".to_owned());
    row(
        "points held out",
        held_out.count(),
        "first session".to_owned(),
    );
    table
}

fn blind(base: &Setup) -> Table {
    let title = "Blind test: SDR's receive loop on the same card, in M messages/s. Nothing is \
                 fitted to it; its first point is the unit.";
    let columns = ["threads", "measured", "predicted", "error %"];
    let mut table = Table::new("sdr", title, columns).keyed(1).named(&[
        ("measured", "measured_msgs_per_us"),
        ("predicted", "predicted_msgs_per_us"),
    ]);
    for (threads, measured) in sdr::MEASURED {
        let predicted = sdr::predicted(&base.profile, threads);
        let error = (predicted / measured - 1.0) * 100.0;
        table.push([
            threads.into(),
            measured.into(),
            predicted.into(),
            error.into(),
        ]);
    }
    table
}

fn figure(judged: &[Judged]) -> Figure {
    let mut figure = Figure::new("Figure 8: predicted and measured");
    for &series in PaperWorkload::ALL {
        let points = of_series(judged, series);
        let (later, first): (Vec<_>, Vec<_>) = points
            .iter()
            .partition(|judged| judged.point.used == Use::Later);
        let of = |points: &[&Judged], pick: Predicted| {
            let point = |judged: &&Judged| (judged.point.threads as f64, pick(judged));
            points.iter().map(point).collect::<Vec<_>>()
        };
        let axis = Axis::powers("threads");
        let mut panel =
            Lines::new(series.name(), axis, Axis::linear("M messages/s")).with(Series::new(
                "measured",
                Style::Line,
                of(&first, |judged| judged.point.rate),
            ));
        if !later.is_empty() {
            let rates = of(&later, |judged| judged.point.rate);
            panel = panel.with(Series::new("measured six hours later", Style::Open, rates));
        }
        for (name, pick) in SETTINGS {
            panel = panel.with(Series::new(name, Style::Limit, of(&points, pick)));
        }
        figure = figure.with(panel);
    }
    figure
}
