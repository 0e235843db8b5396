//! Line charts side by side, as SVG.

use std::fmt::Write;

/// One line of a chart.
pub(super) struct Series {
    /// Its name in the legend.
    pub(super) name: String,
    /// Not part of the comparison but a limit to it.
    pub(super) dashed: bool,
    /// By place on the horizontal axis.
    pub(super) values: Vec<Option<f64>>,
}

/// One chart; all values are above 0.
pub(super) struct Chart {
    /// Above it.
    pub(super) title: String,
    /// Below the horizontal axis.
    pub(super) x_title: &'static str,
    /// Labels of the places on the horizontal axis.
    pub(super) places: Vec<String>,
    /// The vertical axis counts powers of ten.
    pub(super) logarithmic: bool,
    /// The lines.
    pub(super) series: Vec<Series>,
}

const WIDTH: f64 = 460.0;
const HEIGHT: f64 = 380.0;
/// Margins: left, top, right, bottom.
const MARGINS: [f64; 4] = [58.0, 84.0, 26.0, 50.0];
const COLOURS: [&str; 8] =
    ["#1b6ca8", "#d1495b", "#3c8d53", "#8a5aa8", "#c98a1b", "#444444", "#2a9d9d", "#b05c2e"];
/// Legend entries in a row.
const LEGEND_COLUMNS: usize = 3;

/// The scale of the vertical axis.
struct Axis {
    logarithmic: bool,
    low: f64,
    high: f64,
    ticks: Vec<f64>,
}

impl Axis {
    fn of(chart: &Chart) -> Self {
        let values = || chart.series.iter().flat_map(|series| series.values.iter().flatten().copied());
        let (least, most) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
        if chart.logarithmic {
            let (low, high) = (least.log10().floor() as i32, most.log10().ceil() as i32);
            let high = high.max(low + 1);
            let ticks = (low..=high).map(|power| 10f64.powi(power)).collect();
            Self { logarithmic: true, low: f64::from(low), high: f64::from(high), ticks }
        } else {
            let step = step(most / 5.0);
            let steps = (most / step).ceil().max(1.0);
            let ticks = (0..=steps as u32).map(|i| f64::from(i) * step).collect();
            Self { logarithmic: false, low: 0.0, high: steps * step, ticks }
        }
    }

    /// 0 at the bottom, 1 at the top.
    fn place(&self, value: f64) -> f64 {
        let value = if self.logarithmic { value.log10() } else { value };
        (value - self.low) / (self.high - self.low)
    }
}

/// The next of 1, 2, 5, 10, 20, ... from `least` up.
fn step(least: f64) -> f64 {
    let power = 10f64.powf(least.log10().floor());
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|step| step * power).find(|&step| step >= least).unwrap_or(power)
}

/// The charts in one picture. Charts without a value are left out; `None` if none is left.
pub(super) fn svg(heading: &str, charts: &[Chart]) -> Option<String> {
    let has_value =
        |chart: &&Chart| chart.series.iter().any(|series| series.values.iter().any(Option::is_some));
    let charts: Vec<&Chart> = charts.iter().filter(has_value).collect();
    if charts.is_empty() {
        return None;
    }
    let (width, height) = (WIDTH * charts.len() as f64, HEIGHT + 30.0);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         font-family=\"sans-serif\" font-size=\"12\" fill=\"#222222\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n\
         <text x=\"{}\" y=\"22\" font-size=\"15\" font-weight=\"bold\" text-anchor=\"middle\">{}</text>\n",
        width / 2.0,
        escape(heading)
    );
    for (i, chart) in charts.iter().enumerate() {
        let _ = writeln!(out, "<g transform=\"translate({},30)\">", WIDTH * i as f64);
        draw(&mut out, chart);
        out.push_str("</g>\n");
    }
    out.push_str("</svg>\n");
    Some(out)
}

fn draw(out: &mut String, chart: &Chart) {
    let [left, top, right, bottom] = MARGINS;
    let (inner_width, inner_height) = (WIDTH - left - right, HEIGHT - top - bottom);
    let axis = Axis::of(chart);
    let last = chart.places.len().saturating_sub(1).max(1) as f64;
    let x = |place: usize| left + inner_width * place as f64 / last;
    let y = |value: f64| top + inner_height * (1.0 - axis.place(value));
    let mut text = |x: f64, y: f64, rest: &str, content: &str| {
        let _ = writeln!(out, "<text x=\"{x:.1}\" y=\"{y:.1}\" {rest}>{}</text>", escape(content));
    };
    text(left + inner_width / 2.0, 16.0, "text-anchor=\"middle\" font-size=\"13\"", &chart.title);
    text(left + inner_width / 2.0, HEIGHT - 10.0, "text-anchor=\"middle\"", chart.x_title);
    for (i, label) in chart.places.iter().enumerate() {
        text(x(i), HEIGHT - bottom + 18.0, "text-anchor=\"middle\"", label);
    }
    for &tick in &axis.ticks {
        text(left - 8.0, y(tick) + 4.0, "text-anchor=\"end\"", &format!("{tick}"));
    }
    let middle = top + inner_height / 2.0;
    let turned = format!("text-anchor=\"middle\" transform=\"rotate(-90 14 {middle:.1})\"");
    text(14.0, middle, &turned, "million messages/s");
    for &tick in &axis.ticks {
        let (from, to, y) = (left, left + inner_width, y(tick));
        let _ = writeln!(out, "<path d=\"M{from:.1} {y:.1}H{to:.1}\" stroke=\"#dddddd\"/>");
    }
    for (i, series) in chart.series.iter().enumerate() {
        let style = format!(
            "stroke=\"{}\" stroke-width=\"2\" fill=\"none\"{}",
            COLOURS[i % COLOURS.len()],
            if series.dashed { " stroke-dasharray=\"5 4\"" } else { "" }
        );
        let points: Vec<(f64, f64)> = series
            .values
            .iter()
            .enumerate()
            .filter_map(|(place, value)| Some((x(place), y((*value)?))))
            .collect();
        let path: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1} {y:.1}")).collect();
        let _ = writeln!(out, "<path d=\"M{}\" {style}/>", path.join("L"));
        if !series.dashed {
            for (x, y) in points {
                let _ = writeln!(
                    out,
                    "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{}\"/>",
                    COLOURS[i % COLOURS.len()]
                );
            }
        }
        let (column, row) = (i % LEGEND_COLUMNS, i / LEGEND_COLUMNS);
        let legend_x = left + column as f64 * inner_width / LEGEND_COLUMNS as f64;
        let legend_y = 34.0 + row as f64 * 16.0;
        let _ = writeln!(out, "<path d=\"M{legend_x:.1} {legend_y:.1}h18\" {style}/>");
        let (x, y) = (legend_x + 23.0, legend_y + 4.0);
        let _ =
            writeln!(out, "<text x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"11\">{}</text>", escape(&series.name));
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(logarithmic: bool, values: &[f64]) -> Chart {
        let values: Vec<Option<f64>> = values.iter().copied().map(Some).collect();
        Chart {
            title: "a < b".to_owned(),
            x_title: "x",
            places: (0..values.len()).map(|i| i.to_string()).collect(),
            logarithmic,
            series: vec![Series { name: "s".to_owned(), dashed: false, values }],
        }
    }

    #[test]
    fn ticks_are_round_and_cover_the_values() {
        let axis = Axis::of(&chart(false, &[3.0, 47.0]));
        assert_eq!(axis.ticks, [0.0, 10.0, 20.0, 30.0, 40.0, 50.0]);
        assert_eq!((axis.place(0.0), axis.place(25.0), axis.place(50.0)), (0.0, 0.5, 1.0));
        let axis = Axis::of(&chart(true, &[0.02, 47.0]));
        assert_eq!(axis.ticks, [0.01, 0.1, 1.0, 10.0, 100.0]);
        assert!((axis.place(1.0) - 0.5).abs() < 1e-9);
    }

    #[test]
    fn a_picture_shows_every_value_and_escapes_text() {
        let svg =
            svg("title & more", &[chart(false, &[1.0, 2.0, 3.0]), chart(true, &[])]).expect("one chart");
        assert_eq!(svg.matches("<circle").count(), 3);
        assert_eq!(svg.matches("<g ").count(), 1, "an empty chart is left out");
        assert!(svg.contains("title &amp; more") && svg.contains("a &lt; b"));
        assert!(super::svg("nothing", &[chart(false, &[])]).is_none());
    }
}
