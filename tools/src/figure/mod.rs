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
        Self { title: title.into(), panels: Vec::new(), columns: 3 }
    }

    pub fn with(mut self, panel: impl Into<Panel>) -> Self {
        self.panels.push(panel.into());
        self
    }

    pub fn svg(&self) -> Option<String> {
        draw::svg(self)
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
        let Some(svg) = self.svg() else { return Ok(false) };
        fs::write(folder.join(format!("{name}.svg")), svg)?;
        fs::write(folder.join(format!("{name}.csv")), self.csv())?;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(title: &str, y: Axis) -> Lines {
        Lines::new(title, Axis::powers("x"), y)
            .with(Series::line("a < b & c", [(1.0, 3.0), (64.0, 5.0)]))
            .with(Series::limit("paper", [(1.0, 4.0), (64.0, 4.0)]))
    }

    #[test]
    fn a_picture_has_every_panel_and_one_legend() {
        let bars = Bars::new("bars", "processes", Axis::linear("queues"), ["64", "512"])
            .with("one", [1.0, 2.0])
            .with("two", [2.0, 1.0]);
        let heat = Heat::new("heat", "tag", "source", "searches")
            .with_columns(["0", "1"])
            .with_row("r0", [1.0, 2.0])
            .with_row("r1", [3.0, 40.0]);
        let figure = Figure::new("everything $1")
            .with(lines("left", Axis::log("y")))
            .with(lines("right", Axis::linear("y")))
            .with(bars)
            .with(heat);
        let svg = figure.svg().expect("a picture");
        for title in ["left", "right", "bars", "heat: searches"] {
            assert_eq!(svg.matches(&format!(">{title}<")).count(), 1, "{title}");
        }
        assert_eq!(svg.matches(">everything $1<").count(), 2, "seen and said");
        // Each panel has its legend; text is escaped; powers of two are the labels of their axis.
        assert_eq!(svg.matches(">a &lt; b &amp; c<").count(), 2);
        assert!(svg.contains(">64<") && !svg.contains("NaN"));
        assert!(figure.svg() == Some(svg), "the same bytes again");
    }

    #[test]
    fn a_picture_says_what_it_shows() {
        let bars = Bars::new("bars", "", Axis::linear("queues"), ["64", "512"])
            .with("one", [1.0, f64::NAN])
            .with("none", [f64::NAN]);
        let figure = Figure::new("<two>").with(lines("left", Axis::log("y"))).with(bars);
        let svg = figure.svg().expect("a picture");
        let (head, _) = svg.split_once("</desc>").expect("words");
        assert!(head.contains(" role=\"img\"") && head.contains("<title>&lt;two&gt;</title>"));
        let (_, words) = head.split_once("<desc>").expect("words");
        let left = "left: y over x: a &lt; b &amp; c 3 to 5, paper 4.";
        let right = "bars: bars of queues for 64, 512: one 1, none without values.";
        assert_eq!(words, format!("{left} {right}"));
    }

    #[test]
    fn panels_with_one_legend_have_it_once() {
        let figure = Figure::new("f")
            .with(lines("left", Axis::log("y")))
            .with(lines("right", Axis::log("y")));
        let svg = figure.svg().expect("a picture");
        assert_eq!(svg.matches(">paper<").count(), 1);
    }

    #[test]
    fn many_lines_become_several_panels() {
        let names: Vec<String> = (0..13).map(|name| format!("series {name}")).collect();
        let series = |name: &String| Series::line(name.clone(), [(1.0, 1.0), (2.0, 2.0)]);
        let panel = Lines::new("many", Axis::linear("x"), Axis::linear("y"));
        let panel = names.iter().map(series).fold(panel, Lines::with);
        let limit = Series::limit("limit", [(1.0, 4.0), (2.0, 4.0)]);
        let svg = Figure::new("f").with(panel.with(limit)).svg().expect("a picture");
        for title in ["many (1 of 3)", "many (2 of 3)", "many (3 of 3)"] {
            assert!(svg.contains(&format!(">{title}<")), "{title}");
        }
        assert!(names.iter().all(|name| svg.matches(&format!(">{name}<")).count() == 1));
        assert_eq!(svg.matches(">limit<").count(), 3);
        // All parts share the axis of the whole.
        assert_eq!(svg.matches(">4<").count(), 3);
    }

    #[test]
    fn bounds_are_bars_and_columns() {
        let series = Series::measured("s", [(1.0, 2.0, (1.0, 9.0)), (2.0, 3.0, (3.0, 3.0))]);
        let panel = Lines::new("p", Axis::linear("x"), Axis::linear("y"));
        let figure = |series| Figure::new("f").with(panel.clone().with(series));
        let csv = "panel,series,x,y,low,high\np,s,1,2,1,9\np,s,2,3,3,3\n";
        assert_eq!(figure(series.clone()).csv(), csv);
        let shapes = |series| figure(series).svg().expect("a picture").matches("<polyline").count();
        let without = Series { bounds: Vec::new(), ..series.clone() };
        // One bar with two ends; the axis reaches up to 10 in place of 3, with two ticks more.
        assert_eq!(shapes(series), shapes(without) + 3 + 2);
    }

    #[test]
    fn a_cell_without_a_value_is_hatched() {
        let heat = |value| {
            let heat = Heat::new("h", "x", "y", "v").with_columns(["c", "d"]);
            let figure = Figure::new("f").with(heat.with_row("r", [7.0, value]));
            figure.svg().expect("a picture")
        };
        let (full, gap) = (heat(8.0), heat(f64::NAN));
        assert!(gap.contains(">none<") && gap.contains("<path "));
        assert!(!full.contains(">none<") && !full.contains("<path "));
    }

    #[test]
    fn what_cannot_be_shown_is_left_out_of_the_picture_only() {
        let points = [(1.0, 0.0), (2.0, f64::NAN), (4.0, -1.0)];
        let panel =
            Lines::new("p", Axis::powers("x"), Axis::log("y")).with(Series::line("s", points));
        let empty = Figure::new("nothing").with(panel.clone());
        assert_eq!(empty.svg(), None);
        assert_eq!(empty.csv(), "panel,series,x,y\np,s,1,0\np,s,2,NaN\np,s,4,-1\n");
        let folder = Path::new("a folder that is not there");
        assert!(!empty.write(folder, "name").expect("nothing is written"));
        let both = Figure::new("both")
            .with(panel)
            .with(lines("q", Axis::log("y")))
            .svg()
            .expect("one panel");
        assert!(both.contains(">q<") && !both.contains(">p<"));
    }

    #[test]
    fn numbers_of_the_picture_stand_in_the_csv() {
        let bars = Bars::new("a, b", "n", Axis::linear("y"), ["64"]).stacked().with("one", [1.5]);
        let heat = Heat::new("h", "x", "y", "v")
            .with_columns(["c", "d"])
            .with_row("r", [7.0, f64::NAN])
            .logarithmic();
        let figure = Figure::new("f").with(bars).with(heat);
        let csv = "panel,series,x,y\n\"a, b\",one,64,1.5\nh,r,c,7\nh,r,d,NaN\n";
        assert_eq!(figure.csv(), csv);
        assert!(figure.svg().is_some_and(|svg| !svg.contains("NaN")));
    }
}
