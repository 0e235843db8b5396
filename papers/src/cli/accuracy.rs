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
        summary(&judged),
        rests_on(&base, &judged),
        blind(&base),
    ];
    common.show(&tables)
}

fn judge(base: &Setup) -> anyhow::Result<Vec<Judged>> {
    let fitted = fitted(&base.profile);
    let bar = bar(points().count(), "predictions");
    let mut judged = Vec::new();
    for point in points() {
        let (setup, offer) = series(
            &Setup {
                handlers: point.threads,
                ..base.clone()
            },
            point.series,
        );
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
         prediction when single costs change by 1 %.",
        options(base)
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
    ];
    let mut table = Table::new("accuracy", title, columns).keyed(2).named(&[
        ("measured", "measured_msgs_per_us"),
        ("predicted", "predicted_msgs_per_us"),
        ("least", "least_msgs_per_us"),
        ("most", "most_msgs_per_us"),
    ]);
    for Judged {
        point,
        predicted,
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

fn summary(judged: &[Judged]) -> Table {
    let error = |wanted: &dyn Fn(&Judged) -> bool| {
        let wanted = judged.iter().filter(|&judged| wanted(judged));
        mape(wanted.map(|judged| (judged.predicted, judged.point.rate)))
    };
    let clean = |series: Option<PaperWorkload>| {
        error(&|judged| {
            judged.point.used == Use::Clean
                && series.is_none_or(|series| judged.point.series == series)
        })
    };
    let mut table = Table::new(
        "accuracy_summary",
        "Mean absolute error over points held out, in per cent.",
        ["points", "MAPE %", "required", "aimed at"],
    )
    .named(&[
        ("required", "required_percent"),
        ("aimed at", "aimed_at_percent"),
    ]);
    let rows: [(&str, f64, Cell, Cell); 5] = [
        (
            "NC, 4 to 32",
            clean(Some(PaperWorkload::NoConflict)),
            5.0.into(),
            2.5.into(),
        ),
        (
            "WC-SP, 4 to 32",
            clean(Some(PaperWorkload::SlowPath)),
            12.0.into(),
            5.0.into(),
        ),
        (
            "WC-FP, 4",
            clean(Some(PaperWorkload::FastPath)),
            Cell::None,
            Cell::None,
        ),
        ("all nine", clean(None), 10.0.into(), 5.0.into()),
        (
            "with the other session",
            error(&|judged| judged.point.used != Use::Fitted),
            Cell::None,
            Cell::None,
        ),
    ];
    for (name, error, required, ambitious) in rows {
        table.push([name.into(), error.into(), required, ambitious]);
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
        let of = |pick: fn(&Judged) -> f64| {
            let here = judged
                .iter()
                .filter(move |judged| judged.point.series == series);
            here.map(move |judged| (judged.point.threads as f64, pick(judged)))
                .collect::<Vec<_>>()
        };
        let panel = Lines::new(
            series.name(),
            Axis::powers("threads"),
            Axis::linear("M messages/s"),
        )
        .with(Series::new(
            "measured",
            Style::Line,
            of(|judged| judged.point.rate),
        ))
        .with(Series::new(
            "predicted",
            Style::Limit,
            of(|judged| judged.predicted),
        ));
        figure = figure.with(panel);
    }
    figure
}
