//! The kinds of panels.

use super::Axis;

/// Most compared lines of a panel: readers cannot tell more apart.
pub(super) const MOST_LINES: usize = 6;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Style {
    /// A line with a marker at each point.
    Line,
    /// A dashed line without markers, for limits, formulas and published values.
    Limit,
    /// Horizontal from each point to the next, then vertical.
    Steps,
    /// Markers alone.
    Points,
    /// Hollow markers alone, for values that are shown and not counted.
    Open,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Series {
    /// Name in the legend; it determines the colour throughout the figure.
    pub name: String,
    pub points: Vec<(f64, f64)>,
    /// Lowest and highest value at each point, drawn as error bars; may be empty.
    pub bounds: Vec<(f64, f64)>,
    pub style: Style,
}

impl Series {
    pub fn new(
        name: impl Into<String>,
        style: Style,
        points: impl IntoIterator<Item = (f64, f64)>,
    ) -> Self {
        Self {
            name: name.into(),
            points: points.into_iter().collect(),
            bounds: Vec::new(),
            style,
        }
    }

    pub fn line(name: impl Into<String>, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        Self::new(name, Style::Line, points)
    }

    /// A line with markers and error bars: x, y, and its lowest and highest value.
    pub fn measured(
        name: impl Into<String>,
        points: impl IntoIterator<Item = (f64, f64, (f64, f64))>,
    ) -> Self {
        let (points, bounds) = points
            .into_iter()
            .map(|(x, y, bounds)| ((x, y), bounds))
            .unzip();
        Self {
            name: name.into(),
            points,
            bounds,
            style: Style::Line,
        }
    }

    /// A dashed line.
    pub fn limit(name: impl Into<String>, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        Self::new(name, Style::Limit, points)
    }
}

/// Lines over a horizontal axis. The CSV has a point's `x` and `y`.
#[derive(Clone, PartialEq, Debug)]
pub struct Lines {
    pub title: String,
    pub x: Axis,
    /// The vertical axis; from 0 if it is linear.
    pub y: Axis,
    /// The lines, in legend order.
    pub series: Vec<Series>,
}

impl Lines {
    pub fn new(title: impl Into<String>, x: Axis, y: Axis) -> Self {
        Self {
            title: title.into(),
            x,
            y,
            series: Vec::new(),
        }
    }

    pub fn with(mut self, series: Series) -> Self {
        self.series.push(series);
        self
    }

    /// All series but limits.
    pub(super) fn compared(&self) -> impl Iterator<Item = &Series> {
        self.series
            .iter()
            .filter(|series| series.style != Style::Limit)
    }

    /// The points of a series that both axes can show, each with the lowest and highest value in
    /// range.
    pub(super) fn shown(&self, series: &Series) -> impl Iterator<Item = (f64, f64, (f64, f64))> {
        let shown = |value: &f64| self.y.shows(*value);
        series
            .points
            .iter()
            .enumerate()
            .filter_map(move |(i, &(x, y))| {
                let (low, high) = series.bounds.get(i).copied().unwrap_or((y, y));
                let bounds = (Some(low).filter(shown), Some(high).filter(shown));
                let bounds = (bounds.0.unwrap_or(y).min(y), bounds.1.unwrap_or(y).max(y));
                (self.x.shows(x) && shown(&y)).then_some((x, y, bounds))
            })
    }
}

/// Groups of bars. In the CSV `series` is the bar's name and `x` the group's.
#[derive(Clone, PartialEq, Debug)]
pub struct Bars {
    pub title: String,
    /// Title below the groups.
    pub x_title: String,
    /// The vertical axis, linear.
    pub y: Axis,
    pub groups: Vec<String>,
    /// Each bar's name, with its value in each group.
    pub series: Vec<(String, Vec<f64>)>,
    pub stacked: bool,
}

impl Bars {
    pub fn new(
        title: impl Into<String>,
        x_title: impl Into<String>,
        y: Axis,
        groups: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        let groups = groups.into_iter().map(Into::into).collect();
        Self {
            title: title.into(),
            x_title: x_title.into(),
            y,
            groups,
            series: Vec::new(),
            stacked: false,
        }
    }

    /// Whether the panel would show a single bar, alone or stacked, or bars of no height.
    pub(super) fn is_in_words(&self) -> bool {
        let has_height = |value: &f64| value.is_finite() && *value != 0.0;
        let mut values = self.series.iter().flat_map(|(_, values)| values);
        let one_bar = self.stacked || self.series.len() == 1;
        self.groups.len() == 1 && (one_bar || !values.any(has_height))
    }

    pub fn stacked(mut self) -> Self {
        self.stacked = true;
        self
    }

    /// Adds a bar to each group.
    pub fn with(mut self, name: impl Into<String>, values: impl IntoIterator<Item = f64>) -> Self {
        self.series
            .push((name.into(), values.into_iter().collect()));
        self
    }
}

/// A table of values as colours, light for small values. In the CSV `series` is the row and `x` the
/// column.
#[derive(Clone, PartialEq, Debug)]
pub struct Heat {
    pub title: String,
    pub x_title: String,
    /// Title beside the rows.
    pub y_title: String,
    pub value_title: String,
    /// Names of the columns, from left to right.
    pub columns: Vec<String>,
    /// Name and values of each row, from top to bottom.
    pub rows: Vec<(String, Vec<f64>)>,
    /// Whether the colour scale is logarithmic; values of 0 and less then have no colour.
    pub logarithmic: bool,
}

impl Heat {
    pub fn new(
        title: impl Into<String>,
        x_title: impl Into<String>,
        y_title: impl Into<String>,
        value_title: impl Into<String>,
    ) -> Self {
        Self {
            title: title.into(),
            x_title: x_title.into(),
            y_title: y_title.into(),
            value_title: value_title.into(),
            columns: Vec::new(),
            rows: Vec::new(),
            logarithmic: false,
        }
    }

    pub fn logarithmic(mut self) -> Self {
        self.logarithmic = true;
        self
    }

    pub fn with_columns(mut self, columns: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.columns = columns.into_iter().map(Into::into).collect();
        self
    }

    pub fn with_row(
        mut self,
        name: impl Into<String>,
        values: impl IntoIterator<Item = f64>,
    ) -> Self {
        self.rows.push((name.into(), values.into_iter().collect()));
        self
    }
}

#[derive(Clone, PartialEq, Debug)]
pub enum Panel {
    Lines(Lines),
    Bars(Bars),
    /// A table as colours.
    Heat(Heat),
}

impl Panel {
    pub(super) fn has_value(&self) -> bool {
        let finite =
            |(_, values): &(String, Vec<f64>)| values.iter().any(|value| value.is_finite());
        match self {
            Self::Lines(lines) => {
                let shown = |&(x, y): &(f64, f64)| lines.x.shows(x) && lines.y.shows(y);
                lines
                    .series
                    .iter()
                    .any(|series| series.points.iter().any(shown))
            }
            Self::Bars(bars) => bars.series.iter().any(finite),
            Self::Heat(heat) => heat.rows.iter().any(finite),
        }
    }

    /// Names for the legend, in order.
    pub(super) fn names(&self) -> Vec<&str> {
        match self {
            Self::Lines(lines) => lines
                .series
                .iter()
                .map(|series| series.name.as_str())
                .collect(),
            Self::Bars(bars) => bars.series.iter().map(|(name, _)| name.as_str()).collect(),
            Self::Heat(_) => Vec::new(),
        }
    }
}

impl From<Lines> for Panel {
    fn from(lines: Lines) -> Self {
        Self::Lines(lines)
    }
}

impl From<Bars> for Panel {
    fn from(bars: Bars) -> Self {
        Self::Bars(bars)
    }
}

impl From<Heat> for Panel {
    fn from(heat: Heat) -> Self {
        Self::Heat(heat)
    }
}
