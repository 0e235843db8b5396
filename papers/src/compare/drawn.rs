//! Applications as figures: searches by k and by kind of element, and numbers of dedicated queues.

use super::applications::{KINDS, Outcome, QUEUES, SPEEDUPS};
use dpamatch::engine::dedicated_queue_cap;
use dpamatch_tools::figure::{Axis, Bars, Figure, Heat, Lines, Series};
use dpamatch_tools::workload::App;

/// An application's results.
pub(super) struct Drawn {
    pub(super) app: App,
    /// The engines, the list first.
    pub(super) engines: Vec<Outcome>,
    /// Separate engines for kinds, by the part of the cap for collectives.
    pub(super) by_cap: Vec<(u32, Outcome)>,
}

impl Drawn {
    fn fewer(&self, own: &Outcome, queue: usize, kind: usize) -> Option<f64> {
        own.fewer_steps_than(&self.engines[0], queue, kind)
    }

    /// An engine's ratio to the list.
    fn of(&self, engine: &str, queue: usize, kind: usize) -> Option<f64> {
        let own = self.engines.iter().find(|own| own.engine == engine)?;
        self.fewer(own, queue, kind)
    }
}

const GAIN: &str = "times fewer steps than the list";

/// The figure of all applications at one job size, and its name. `k` is the cap's other part.
pub(super) fn draw(ranks: u32, apps: &[Drawn], k: u32) -> (String, Figure) {
    let mut figure = Figure::new(format!("Applications of {ranks} ranks"));
    figure.columns = 2;
    for (queue, name) in QUEUES.into_iter().enumerate() {
        let title = format!("{name}: collective elements");
        let mut panel = Lines::new(title, Axis::powers("k of the cap"), Axis::log(GAIN));
        for it in apps.iter().filter(|it| !it.by_cap.is_empty()) {
            let point = |(k, own): &(u32, Outcome)| Some((f64::from(*k), it.fewer(own, queue, 1)?));
            panel = panel.with(Series::line(
                it.app.name(),
                it.by_cap.iter().filter_map(point),
            ));
        }
        figure = figure.with(panel);
    }
    for (queue, name) in QUEUES.into_iter().enumerate() {
        for (printed, whose) in [(false, "ours"), (true, "the paper")] {
            figure = figure.with(by_kind(apps, queue, format!("{name}, {whose}"), printed));
        }
    }
    let capped: Vec<&(u32, Outcome)> = apps.iter().filter_map(|it| it.by_cap.last()).collect();
    let names = || {
        let own = apps.iter().filter(|it| !it.by_cap.is_empty());
        own.map(|it| it.app.name())
    };
    let of = |value: fn(&Outcome) -> f64| capped.iter().map(move |(_, own)| value(own));
    let mean = |name: &'static str| {
        let mean = move |own: &Outcome| own.both(name) as f64 / f64::from(own.processes);
        capped.iter().map(move |(_, own)| mean(own))
    };
    let queues = Bars::new(
        "Queues of a process, mean",
        "",
        Axis::linear("queues"),
        names(),
    )
    .stacked()
    .with("point-to-point", mean("partner_queues"))
    .with("collective", mean("collective_queues"));
    let largest = capped.iter().map(|(k, _)| *k).max().unwrap_or(0);
    let both = |queues: u32| capped.iter().map(move |_| f64::from(2 * queues));
    let means = mean("partner_queues")
        .zip(mean("collective_queues"))
        .map(|(partners, collective)| partners + collective);
    let against = Bars::new(
        "Dedicated queues of a process",
        "",
        Axis::linear("queues"),
        names(),
    )
    .with("mean", means)
    .with(
        "the process with the most",
        of(|own| own.most_queues as f64),
    )
    .with("the cap", both(dedicated_queue_cap(largest + k, ranks)))
    .with("a queue for each rank", both(ranks));
    (
        format!("applications-{ranks}"),
        figure.with(queues).with(against),
    )
}

/// Applications and kinds of element over engines: our numbers, or those that their paper prints.
fn by_kind(apps: &[Drawn], queue: usize, title: String, printed: bool) -> Heat {
    const ENGINES: [&str; 4] = ["rank-array", "col-pnp", "col-ll", "ll-pnp"];
    let value = if printed {
        "times faster than the list"
    } else {
        GAIN
    };
    let mut heat = Heat::new(title, "", "", value)
        .logarithmic()
        .with_columns(ENGINES);
    for it in apps {
        for (kind, name) in KINDS.into_iter().enumerate() {
            let ratio = |engine| {
                let same = |(app, of, what, _): &&(App, &str, &str, [Option<f64>; 2])| {
                    *app == it.app && *of == engine && *what == name
                };
                let published = || {
                    SPEEDUPS
                        .iter()
                        .find(same)
                        .and_then(|(.., both)| both[queue])
                };
                if printed {
                    published()
                } else {
                    it.of(engine, queue, kind)
                }
            };
            let values = ENGINES.map(|engine| ratio(engine).unwrap_or(f64::NAN));
            heat = heat.with_row(format!("{}, {name}", it.app), values);
        }
    }
    heat
}
