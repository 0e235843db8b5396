//! The prediction beside the measured Figure 8.

use dpa_model::PaperWorkload;
use dpamatch_predict::figure8::{Use, mape, points};
use dpamatch_predict::{Setup, predict, series};
use dpamatch_tools::figure::{Axis, Figure, Lines, Series, Style};

use super::super::progress::bar;
use super::{Common, Like, make, options, wrong};
use dpamatch_tools::table::{Cell, Table};

pub(super) fn run(common: &Common) -> anyhow::Result<()> {
    let base = common.setup_like(Like::Prototype, 1)?;
    let title =
        format!("Figure 8 of the paper and what {} predicts, in M messages/s.", options(&base));
    let mut table = Table::new(
        "accuracy",
        title,
        ["series", "threads", "measured", "predicted", "error %", "point"],
    )
    .keyed(2)
    .named(&[("measured", "measured_msgs_per_us"), ("predicted", "predicted_msgs_per_us")]);
    let mut results = Vec::new();
    let bar = bar(points().count(), "predictions");
    for point in points() {
        let (setup, offer) =
            series(&Setup { handlers: point.threads, ..base.clone() }, point.series);
        let predicted = predict(&setup, &offer, 0).map_err(wrong)?.rate;
        table.push([
            point.series.name().into(),
            point.threads.into(),
            point.rate.into(),
            predicted.into(),
            ((predicted / point.rate - 1.0) * 100.0).into(),
            match point.used {
                Use::Fitted => "fitted",
                Use::Clean => "held out",
                Use::Later => "other session, shown only",
            }
            .into(),
        ]);
        results.push((point, predicted));
        bar.inc(1);
    }
    bar.finish_and_clear();
    let errors = |wanted: &dyn Fn(PaperWorkload) -> bool| {
        let held_out =
            results.iter().filter(|(point, _)| point.used == Use::Clean && wanted(point.series));
        mape(held_out.map(|&(point, predicted)| (predicted, point.rate)))
    };
    let mut summary = Table::new(
        "accuracy_summary",
        "Mean absolute error over the points held out, in per cent.",
        ["points", "MAPE %", "required", "aimed at"],
    )
    .named(&[("required", "required_percent"), ("aimed at", "aimed_at_percent")]);
    let rows: [(&str, f64, Cell, Cell); 4] = [
        (
            "NC, 4 to 32",
            errors(&|series| series == PaperWorkload::NoConflict),
            5.0.into(),
            2.5.into(),
        ),
        (
            "WC-SP, 4 to 32",
            errors(&|series| series == PaperWorkload::SlowPath),
            12.0.into(),
            5.0.into(),
        ),
        ("WC-FP, 4", errors(&|series| series == PaperWorkload::FastPath), Cell::None, Cell::None),
        ("all nine", errors(&|_| true), 10.0.into(), 5.0.into()),
    ];
    for (name, error, required, ambitious) in rows {
        summary.push([name.into(), error.into(), required, ambitious]);
    }
    if let Some(folder) = &common.out {
        make(folder)?;
        let mut figure = Figure::new("Figure 8: predicted and measured");
        for &series in PaperWorkload::ALL {
            let of = |pick: fn(&(dpamatch_predict::figure8::Point, f64)) -> f64| {
                let here = results.iter().filter(move |(point, _)| point.series == series);
                here.map(move |result| (result.0.threads as f64, pick(result))).collect::<Vec<_>>()
            };
            let panel =
                Lines::new(series.name(), Axis::powers("threads"), Axis::linear("M messages/s"))
                    .with(Series::new("measured", Style::Line, of(|result| result.0.rate)))
                    .with(Series::new("predicted", Style::Limit, of(|result| result.1)));
            figure = figure.with(panel);
        }
        figure.write(folder, "figure8_predicted")?;
    }
    common.show(&[table, summary])
}
