//! Figures of all commands: one description gives a picture as SVG and its numbers as CSV.
//!
//! A [`Figure`] is one or more rows of panels under one heading. A panel is one of
//!
//! - [`Lines`]: lines with markers and error bars, dashed limits, steps; each axis linear, in
//!   powers of ten, or in powers of two;
//! - [`Bars`]: groups of bars, side by side or stacked;
//! - [`Heat`]: a table of values as colours; cells without a value are hatched.
//!
//! An engine has one colour and one marker in every figure, from a palette for all colour visions;
//! other series keep theirs within a figure. A panel of more than six lines becomes several on
//! equal axes. The legend stands between title and plot, once if all panels share it.
//!
//! A panel that would show one bar, or none of any height, gives its values in words, one a line.
//!
//! The picture omits values that a scale cannot show (not finite; not above 0 on a logarithmic
//! scale), but the CSV has them. It omits panels without values, and a figure without panels draws
//! nothing. The picture carries a description in words for screen readers.
//!
//! A description gives equal bytes on every machine: no time, no random number, no font by name
//! (text has room for a wide one). The background is white on every page.
//!
//! # Examples
//! ```
//! use dpamatch_tools::figure::{Axis, Figure, Lines, Series};
//!
//! let list = Series::line("list", [(1.0, 1.0), (2.0, 1.5), (4.0, 2.5), (8.0, 4.5)]);
//! let limit = Series::limit("one compare", [(1.0, 1.0), (8.0, 1.0)]);
//! let (x, y) = (Axis::powers("depth"), Axis::linear("compares per message"));
//! let panel = Lines::new("Reverse order", x, y).with(list).with(limit);
//! let figure = Figure::new("Depth").with(panel);
//! assert!(figure.svg().is_some_and(|svg| svg.contains("Reverse order")));
//! assert!(figure.csv().starts_with("panel,series,x,y\nReverse order,list,1,1\n"));
//! ```

mod axis;
mod data;
mod draw;
mod look;
mod panel;
mod plot;
mod svg;
mod words;

use std::path::Path;
use std::{fs, io};

pub(crate) use axis::cell;
pub use axis::{Axis, Scale};
pub use panel::{Bars, Heat, Lines, Panel, Series, Style};

#[derive(Clone, Debug)]
pub struct Figure {
    pub title: String,
    /// Panels from left to right, then from top to bottom.
    pub panels: Vec<Panel>,
    pub columns: usize,
}

impl Figure {
    /// An empty figure, with three panels per row.
    pub fn new(title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            panels: Vec::new(),
            columns: 3,
        }
    }

    pub fn with(mut self, panel: impl Into<Panel>) -> Self {
        self.panels.push(panel.into());
        self
    }

    /// Whether there is a value to draw.
    pub fn has_picture(&self) -> bool {
        self.panels.iter().any(Panel::has_value)
    }

    pub fn svg(&self) -> Option<String> {
        draw::svg(self, false)
    }

    /// The picture as part of an HTML page. Bars, markers and cells show their value beside the
    /// pointer.
    pub fn inline(&self) -> Option<String> {
        draw::svg(self, true)
    }

    /// The numbers, one per line: `panel,series,x,y`. Each kind of panel documents its `series` and
    /// `x`.
    pub fn csv(&self) -> String {
        data::csv(self)
    }

    /// Writes `NAME.svg` and `NAME.csv` into the folder. Returns `false` for an empty figure,
    /// without writing.
    ///
    /// # Errors
    /// Writing the files fails.
    pub fn write(&self, folder: &Path, name: &str) -> io::Result<bool> {
        let Some(svg) = self.svg() else {
            return Ok(false);
        };
        fs::write(folder.join(format!("{name}.svg")), svg)?;
        fs::write(folder.join(format!("{name}.csv")), self.csv())?;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{ExpectFile, expect_file};

    use super::*;

    fn lines(title: &str, y: Axis) -> Lines {
        Lines::new(title, Axis::powers("x"), y)
            .with(Series::line("a < b & c", [(1.0, 3.0), (64.0, 5.0)]))
            .with(Series::limit("paper", [(1.0, 4.0), (64.0, 4.0)]))
    }

    /// The picture, which is a file to look at, and the numbers.
    fn check(figure: &Figure, [svg, csv]: [ExpectFile; 2]) {
        svg.assert_eq(&figure.svg().expect("a picture"));
        csv.assert_eq(&figure.csv());
    }

    /// Each panel has its legend, and text is escaped.
    #[test]
    fn panels_of_every_kind() {
        let bars = Bars::new("bars", "processes", Axis::linear("queues"), ["64", "512"])
            .with("one", [1.0, f64::NAN])
            .with("two", [2.0, 1.0])
            .with("none", [f64::NAN]);
        let heat = Heat::new("heat", "tag", "source", "searches")
            .with_columns(["0", "1"])
            .with_row("r0", [1.0, 2.0])
            .with_row("r1", [3.0, 40.0]);
        let figure = Figure::new("<everything> $1")
            .with(lines("left", Axis::log("y")))
            .with(lines("right", Axis::linear("y")))
            .with(bars)
            .with(heat);
        check(
            &figure,
            [
                expect_file!["tests/kinds.svg"],
                expect_file!["tests/kinds.csv"],
            ],
        );
    }

    /// One bar, alone or stacked, is a sentence; two bars are a picture.
    #[test]
    fn one_bar_is_a_sentence() {
        let shares =
            |title: &str| Bars::new(title, "", Axis::linear("% of messages"), ["halo"]).stacked();
        let one = shares("Messages")
            .with("eager", [75.0])
            .with("rendezvous", [25.0]);
        let words = ["eager: 75 % of messages", "rendezvous: 25 % of messages"];
        let svg = Figure::new("f").with(one.clone()).svg().expect("a picture");
        for words in words {
            assert!(svg.contains(&format!(">{words}</text>")), "{svg}");
        }
        // No axis and no sample of a legend.
        assert!(
            !svg.contains("polyline") && svg.matches("<rect").count() == 1,
            "{svg}"
        );
        let beside = Bars {
            stacked: false,
            ..one
        };
        let svg = Figure::new("f").with(beside).svg().expect("a picture");
        assert!(
            svg.matches("<rect").count() > 2 && !svg.contains(words[0]),
            "{svg}"
        );
    }

    /// Bars of no height are words, too: an empty picture would say nothing.
    #[test]
    fn bars_of_no_height_are_a_sentence() {
        let bars = |deepest: f64| {
            let bars = Bars::new("Depth", "", Axis::linear("receives"), ["halo"]);
            let bars = bars.with("1 bin", [deepest]).with("32 bins", [0.0]);
            Figure::new("f").with(bars).svg().expect("a picture")
        };
        let words = |svg: &str| svg.contains(">1 bin: 0 receives</text>");
        assert!(words(&bars(0.0)), "{}", bars(0.0));
        assert!(!words(&bars(0.1)), "{}", bars(0.1));
    }

    /// A heat map of messages says so once.
    #[test]
    fn a_heat_map_does_not_repeat_its_title() {
        let title = |unit: &str| {
            let heat = Heat::new("Messages", "to rank", "from rank", unit);
            let heat = heat.with_columns(["0"]).with_row("0", [1.0]);
            Figure::new("f").with(heat).svg().expect("a picture")
        };
        assert!(title("messages").contains(">Messages</text>"));
        assert!(title("bytes").contains(">Messages: bytes</text>"));
    }

    /// The title beside one row of a heat map is longer than the row is high, and stays below the
    /// head of the panel.
    #[test]
    fn a_long_title_stays_inside_the_picture() {
        let heat = Heat::new(
            "Posted receives",
            "milliseconds in this order",
            "communicator",
            "n",
        )
        .with_columns(["1"])
        .with_row("0: world", [3.0]);
        let svg = Figure::new("f").with(heat).svg().expect("a picture");
        let place = |words: &str, name: &str| {
            let line = svg
                .lines()
                .find(|line| line.ends_with(&format!(">{words}</text>")));
            let (_, rest) = line
                .and_then(|line| line.split_once(&format!(" {name}=\"")))
                .unwrap_or_else(|| panic!("{words}: {svg}"));
            let (number, _) = rest.split_once('"').expect("a quote");
            number.parse::<f64>().expect("a number")
        };
        let (row, title) = (place("0: world", "y"), place("communicator", "y"));
        // 12 letters, of which half stand above the middle.
        assert!(title - 12.0 * 6.8 / 2.0 >= row - 14.0, "{row} {title}");
        let left = place("milliseconds in this order", "x");
        let end = left + 26.0 * 6.8;
        let (_, rest) = svg.split_once("viewBox=\"0 0 ").expect("a size");
        let (width, _) = rest.split_once(' ').expect("two sizes");
        assert!(end <= width.parse().expect("a number"), "{end} {width}");
    }

    /// Parts of a panel share the axis of the whole and the limits.
    #[test]
    fn many_lines_become_several_panels() {
        let panel = Lines::new("many", Axis::linear("x"), Axis::linear("y"));
        let series =
            (0..13).map(|name| Series::line(format!("series {name}"), [(1.0, 1.0), (2.0, 2.0)]));
        let limit = Series::limit("limit", [(1.0, 4.0), (2.0, 4.0)]);
        let figure = Figure::new("f").with(series.fold(panel, Lines::with).with(limit));
        check(
            &figure,
            [
                expect_file!["tests/many.svg"],
                expect_file!["tests/many.csv"],
            ],
        );
    }

    #[test]
    fn panels_with_one_legend_have_it_once() {
        let figure = Figure::new("f").with(lines("one", Axis::log("y")));
        let figure = figure.with(lines("two", Axis::log("y")));
        check(
            &figure,
            [
                expect_file!["tests/legend.svg"],
                expect_file!["tests/legend.csv"],
            ],
        );
    }

    /// Error bars reach beyond the points; values that no axis shows stand in the CSV only.
    #[test]
    fn gaps_and_bounds() {
        let bounds = Series::measured("s", [(1.0, 2.0, (1.0, 9.0)), (2.0, 3.0, (3.0, 3.0))]);
        let hidden = [(1.0, 0.0), (2.0, f64::NAN), (4.0, -1.0)];
        let hidden =
            Lines::new("hidden", Axis::powers("x"), Axis::log("y")).with(Series::line("s", hidden));
        let heat = Heat::new("heat", "x", "y", "v")
            .with_columns(["c", "d"])
            .with_row("r", [7.0, f64::NAN])
            .logarithmic();
        let figure = Figure::new("f")
            .with(Lines::new("p", Axis::linear("x"), Axis::linear("y")).with(bounds))
            .with(
                Bars::new("a, b", "n", Axis::linear("y"), ["64"])
                    .stacked()
                    .with("one", [1.5]),
            )
            .with(hidden.clone())
            .with(heat);
        check(
            &figure,
            [
                expect_file!["tests/gaps.svg"],
                expect_file!["tests/gaps.csv"],
            ],
        );
        let empty = Figure::new("nothing").with(hidden);
        assert!(!empty.has_picture());
        assert_eq!(empty.svg(), None);
        let folder = Path::new("a folder that is not there");
        assert!(!empty.write(folder, "name").expect("nothing is written"));
    }
}
