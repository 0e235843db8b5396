//! The data of a panel between its axes.

use super::axis::{Span, cell};
use super::draw::look_of;
use super::look::{Look, shade};
use super::svg::{Anchor, Area, Drawing, GRID, Hatch, INK, LINE, Point, at, text_width};
use super::{Bars, Heat, Lines, Scale, Series, Style};

/// Size of a plot, unless its labels need more.
const WIDTH: f64 = 330.0;
const HEIGHT: f64 = 220.0;
/// Room for half a marker at the ends of an axis.
const EDGE: f64 = 7.0;
const GAP: f64 = 6.0;
const STROKE: f64 = 1.8;
/// Height of a row of a heat map, and width of a column without numbers.
const ROW: f64 = 20.0;
const COLUMN: f64 = 17.0;
/// Most columns of a heat map with a number in each cell.
const NUMBERED_COLUMNS: usize = 10;
/// The scale of colours beside a heat map: distance, width, height, steps.
const BAR: (f64, f64, f64, usize) = (18.0, 14.0, 120.0, 40);

pub(super) enum Plot<'a> {
    Lines {
        panel: &'a Lines,
        series: Vec<&'a Series>,
        x: Span,
        y: Span,
    },
    Bars {
        bars: &'a Bars,
        y: Span,
    },
    Heat {
        heat: &'a Heat,
        colours: Span,
    },
    /// What one bar would show.
    Words(Vec<String>),
}

impl<'a> Plot<'a> {
    /// Some series of a panel, on the axes of all of them.
    pub(super) fn lines(panel: &'a Lines, series: Vec<&'a Series>) -> Self {
        let shown = || panel.series.iter().flat_map(|series| panel.shown(series));
        let x = Span::new(panel.x.scale, shown().map(|(x, _, _)| x), false);
        let y = shown().flat_map(|(_, y, (low, high))| [low, y, high]);
        let y = Span::new(panel.y.scale, y, true);
        Self::Lines {
            panel,
            series,
            x,
            y,
        }
    }

    pub(super) fn bars(bars: &'a Bars) -> Self {
        if bars.is_in_words() {
            let shown = |(name, values): &(String, Vec<f64>)| {
                let value = *values.first().filter(|value| value.is_finite())?;
                Some(format!("{name}: {} {}", cell(value), bars.y.title))
            };
            return Self::Words(bars.series.iter().filter_map(shown).collect());
        }
        let values = |group: usize| {
            let values = bars
                .series
                .iter()
                .filter_map(move |(_, values)| values.get(group));
            values.copied().filter(|value| value.is_finite())
        };
        let ends = (0..bars.groups.len()).flat_map(|group| match bars.stacked {
            true => vec![values(group).sum()],
            false => values(group).collect(),
        });
        Self::Bars {
            bars,
            y: Span::new(Scale::Linear, ends, true),
        }
    }

    pub(super) fn heat(heat: &'a Heat) -> Self {
        let scale = if heat.logarithmic {
            Scale::Log
        } else {
            Scale::Linear
        };
        let values = heat.rows.iter().flat_map(|(_, values)| values).copied();
        let values = values.filter(|value| scale.shows(*value));
        Self::Heat {
            heat,
            colours: Span::new(scale, values, true),
        }
    }

    pub(super) fn size(&self) -> (f64, f64) {
        match self {
            Self::Lines { .. } => (WIDTH, HEIGHT),
            Self::Bars { bars, .. } => {
                let beside = if bars.stacked { 1 } else { bars.series.len() };
                let group = (longest(&bars.groups) + 2.0 * GAP).max(beside as f64 * 9.0 + 12.0);
                (WIDTH.max(group * bars.groups.len() as f64), HEIGHT)
            }
            Self::Heat { heat, .. } => (
                column_width(heat) * heat.columns.len() as f64,
                ROW * heat.rows.len() as f64,
            ),
            Self::Words(words) => (longest(words), LINE * words.len() as f64),
        }
    }

    /// Width that the plot needs from its left edge: its own, or that of the title below it.
    pub(super) fn width(&self) -> f64 {
        let below = match self {
            Self::Lines { panel, .. } => &panel.x.title,
            Self::Bars { bars, .. } => &bars.x_title,
            Self::Heat { heat, .. } => &heat.x_title,
            Self::Words(_) => "",
        };
        (self.size().0 + self.right()).max(text_width(below))
    }

    pub(super) fn left(&self) -> f64 {
        let (labels, title) = match self {
            Self::Words(_) => return 0.0,
            Self::Lines { panel, y, .. } => (longest_tick(y), &panel.y.title),
            Self::Bars { bars, y } => (longest_tick(y), &bars.y.title),
            Self::Heat { heat, .. } => (
                longest(heat.rows.iter().map(|(name, _)| name)),
                &heat.y_title,
            ),
        };
        labels + GAP + if title.is_empty() { 0.0 } else { LINE + 2.0 }
    }

    pub(super) fn right(&self) -> f64 {
        match self {
            Self::Lines { .. } | Self::Bars { .. } => 12.0,
            Self::Words(_) => 0.0,
            Self::Heat { heat, colours } => {
                let labels = longest_tick(colours).max(if missing(heat) {
                    text_width("none")
                } else {
                    0.0
                });
                BAR.0 + BAR.1 + GAP + labels
            }
        }
    }

    pub(super) fn bottom(&self) -> f64 {
        let (title, least) = match self {
            Self::Words(_) => return 0.0,
            Self::Lines { panel, .. } => (&panel.x.title, 0.0),
            Self::Bars { bars, .. } => (&bars.x_title, 0.0),
            // The colour scale may be taller than the rows.
            Self::Heat { heat, .. } => (&heat.x_title, BAR.2 + 2.5 * LINE - self.size().1),
        };
        let labels = LINE + if title.is_empty() { 0.0 } else { LINE };
        labels.max(least)
    }

    pub(super) fn draw(&self, drawing: &mut Drawing, area: Area, looks: &[(&str, Look)]) {
        match self {
            Self::Lines {
                panel,
                series,
                x,
                y,
            } => {
                // Lines that begin at 0 stand on the axis.
                let inner = Area {
                    left: area.left + EDGE,
                    width: area.width - 2.0 * EDGE,
                    ..area
                };
                let inner = if y.begins_at_zero() {
                    inner
                } else {
                    Area {
                        top: area.top + EDGE,
                        height: area.height - 2.0 * EDGE,
                        ..inner
                    }
                };
                y_axis(drawing, area, inner, y, &panel.y.title);
                for (share, label) in &x.ticks {
                    let x = inner.left + share * inner.width;
                    let bottom = area.bottom();
                    drawing.line(at(x, bottom), at(x, bottom + 4.0), INK, 1.0);
                    drawing.text(at(x, bottom + LINE - 2.0), Anchor::Middle, label);
                }
                x_title(drawing, area, &panel.x.title);
                for series in series {
                    let look = look_of(looks, &series.name);
                    draw_series(drawing, inner, x, y, panel, series, look);
                }
            }
            Self::Bars { bars, y } => {
                y_axis(drawing, area, area, y, &bars.y.title);
                let width = area.width / bars.groups.len() as f64;
                for (i, group) in bars.groups.iter().enumerate() {
                    let left = area.left + i as f64 * width;
                    let place = at(left + width / 2.0, area.bottom() + LINE - 2.0);
                    drawing.text(place, Anchor::Middle, group);
                    let group = Area {
                        left: left + width * 0.1,
                        width: width * 0.8,
                        ..area
                    };
                    draw_group(drawing, group, y, bars, i, looks);
                }
                x_title(drawing, area, &bars.x_title);
            }
            Self::Heat { heat, colours } => draw_heat(drawing, area, heat, colours),
            Self::Words(words) => {
                for (i, line) in words.iter().enumerate() {
                    let baseline = area.top + (i + 1) as f64 * LINE - 5.0;
                    drawing.text(at(area.left, baseline), Anchor::Start, line);
                }
            }
        }
    }
}

fn longest(names: impl IntoIterator<Item = impl AsRef<str>>) -> f64 {
    names
        .into_iter()
        .map(|name| text_width(name.as_ref()))
        .fold(0.0, f64::max)
}

fn longest_tick(span: &Span) -> f64 {
    longest(span.ticks.iter().map(|(_, label)| label))
}

/// Axes on the left and at the bottom, with grid lines at the ticks.
fn y_axis(drawing: &mut Drawing, area: Area, inner: Area, span: &Span, title: &str) {
    for (share, label) in &span.ticks {
        let y = inner.bottom() - share * inner.height;
        drawing.line(at(area.left, y), at(area.right(), y), GRID, 1.0);
        drawing.text(at(area.left - GAP, y + 4.0), Anchor::End, label);
    }
    let corner = at(area.left, area.bottom());
    drawing.path(
        &[at(area.left, area.top), corner, at(area.right(), corner.y)],
        INK,
        1.0,
        "",
    );
    if !title.is_empty() {
        let left = area.left - GAP - longest_tick(span) - GAP;
        y_title(drawing, area, left, title);
    }
}

/// A title beside the plot, in its middle; one that is longer than the plot is high begins at the
/// top, so that no part is above the plot.
fn y_title(drawing: &mut Drawing, area: Area, left: f64, title: &str) {
    let middle = area.height.max(text_width(title)) / 2.0;
    drawing.rising(at(left, area.top + middle), title);
}

fn x_title(drawing: &mut Drawing, area: Area, title: &str) {
    if !title.is_empty() {
        let below = area.bottom() + 2.0 * LINE - 3.0;
        if text_width(title) > area.width {
            drawing.text(at(area.left, below), Anchor::Start, title);
        } else {
            let middle = area.left + area.width / 2.0;
            drawing.text(at(middle, below), Anchor::Middle, title);
        }
    }
}

fn draw_series(
    drawing: &mut Drawing,
    area: Area,
    x: &Span,
    y: &Span,
    panel: &Lines,
    series: &Series,
    look: Look,
) {
    let down = |value: f64| area.bottom() - y.at(value) * area.height;
    let place = |across, up| at(area.left + x.at(across) * area.width, down(up));
    let shown: Vec<_> = panel.shown(series).collect();
    let points: Vec<Point> = shown.iter().map(|&(x, y, _)| place(x, y)).collect();
    match series.style {
        Style::Points | Style::Open => {}
        Style::Line | Style::Limit => {
            drawing.path(&points, look.colour, STROKE, look.dashes_of(series.style));
        }
        Style::Steps => {
            let corners = points
                .windows(2)
                .flat_map(|pair| [pair[0], at(pair[1].x, pair[0].y)]);
            let corners: Vec<_> = corners.chain(points.last().copied()).collect();
            drawing.path(&corners, look.colour, STROKE, look.dashes_of(series.style));
        }
    }
    if matches!(series.style, Style::Line | Style::Points | Style::Open) {
        let hollow = look.hollow || series.style == Style::Open;
        for (&point, &(of, value, (low, high))) in points.iter().zip(&shown) {
            let words = || format!("{}, {}: {}", series.name, cell(of), cell(value));
            drawing.value(words, |drawing| {
                if low < high {
                    let (low, high) = (down(low), down(high));
                    let x = point.x;
                    drawing.line(at(x, low), at(x, high), look.colour, 1.0);
                    for end in [low, high] {
                        drawing.line(at(x - 3.0, end), at(x + 3.0, end), look.colour, 1.0);
                    }
                }
                drawing.marker(look.marker, point, look.colour, hollow);
            });
        }
    }
}

fn draw_group(
    drawing: &mut Drawing,
    area: Area,
    y: &Span,
    bars: &Bars,
    group: usize,
    looks: &[(&str, Look)],
) {
    let beside = if bars.stacked {
        1.0
    } else {
        bars.series.len() as f64
    };
    let width = area.width / beside;
    let mut base = 0.0;
    for (i, (name, values)) in bars.series.iter().enumerate() {
        let Some(value) = values.get(group).copied().filter(|value| value.is_finite()) else {
            continue;
        };
        let ends = [base, base + value].map(|end| area.bottom() - y.at(end) * area.height);
        let (top, height) = (ends[0].min(ends[1]), (ends[0] - ends[1]).abs());
        let left = if bars.stacked {
            area.left
        } else {
            area.left + i as f64 * width
        };
        let bar = Area {
            left,
            top,
            width,
            height,
        };
        let look = look_of(looks, name);
        let words = || format!("{}, {name}: {}", bars.groups[group], cell(value));
        drawing.value(words, |drawing| {
            drawing.area(bar, look.colour);
            drawing.hatch(bar, look.hatch, "white");
        });
        if bars.stacked {
            base += value;
        }
    }
}

fn column_width(heat: &Heat) -> f64 {
    if heat.columns.len() > NUMBERED_COLUMNS {
        return COLUMN;
    }
    (longest(&heat.columns) + 2.0 * GAP).max(text_width("12.34") + 2.0 * GAP)
}

fn missing(heat: &Heat) -> bool {
    let scale = if heat.logarithmic {
        Scale::Log
    } else {
        Scale::Linear
    };
    heat.rows
        .iter()
        .flat_map(|(_, values)| values)
        .any(|value| !scale.shows(*value))
}

fn draw_heat(drawing: &mut Drawing, area: Area, heat: &Heat, colours: &Span) {
    let width = column_width(heat);
    let scale = if heat.logarithmic {
        Scale::Log
    } else {
        Scale::Linear
    };
    let numbered = heat.columns.len() <= NUMBERED_COLUMNS;
    for (i, (name, values)) in heat.rows.iter().enumerate() {
        let top = area.top + i as f64 * ROW;
        drawing.text(at(area.left - GAP, top + ROW - 6.0), Anchor::End, name);
        for (j, &value) in values.iter().enumerate() {
            let cell_area = Area {
                left: area.left + j as f64 * width,
                top,
                width,
                height: ROW,
            };
            let inner = cell_area.inset(0.5);
            if !scale.shows(value) {
                no_value(drawing, inner);
                continue;
            }
            let (fill, ink) = shade(colours.at(value));
            let words = || {
                let (row, column) = (&heat.y_title, &heat.x_title);
                format!(
                    "{row} {name}, {column} {}: {}",
                    heat.columns[j],
                    cell(value)
                )
            };
            drawing.value(words, |drawing| {
                drawing.area(inner, &fill);
                if numbered {
                    let place = at(cell_area.left + width / 2.0, top + ROW - 6.0);
                    drawing.coloured(place, ink, &cell(value));
                }
            });
        }
    }
    // Omits labels that would touch.
    let every = ((longest(&heat.columns) + GAP) / width).ceil().max(1.0) as usize;
    for (j, name) in heat
        .columns
        .iter()
        .enumerate()
        .skip(every - 1)
        .step_by(every)
    {
        let place = at(
            area.left + (j as f64 + 0.5) * width,
            area.bottom() + LINE - 2.0,
        );
        drawing.text(place, Anchor::Middle, name);
    }
    x_title(drawing, area, &heat.x_title);
    if !heat.y_title.is_empty() {
        let names = longest(heat.rows.iter().map(|(name, _)| name));
        let left = area.left - GAP - names - GAP;
        y_title(drawing, area, left, &heat.y_title);
    }
    colour_bar(drawing, area, colours, missing(heat));
}

fn no_value(drawing: &mut Drawing, area: Area) {
    drawing.area(area, "#eeeeee");
    drawing.hatch(area, Hatch::Rising, "#888888");
}

fn colour_bar(drawing: &mut Drawing, area: Area, colours: &Span, missing: bool) {
    let (distance, width, height, steps) = BAR;
    let left = area.right() + distance;
    let step = height / steps as f64;
    for i in 0..steps {
        let top = area.top + height - (i + 1) as f64 * step;
        let (fill, _) = shade((i as f64 + 0.5) / steps as f64);
        // A little taller, so that no gap shines through.
        drawing.area(
            Area {
                left,
                top,
                width,
                height: step + 0.5,
            },
            &fill,
        );
    }
    for (share, label) in &colours.ticks {
        let y = area.top + (1.0 - share) * height;
        drawing.line(at(left + width, y), at(left + width + 3.0, y), INK, 1.0);
        drawing.text(at(left + width + GAP, y + 4.0), Anchor::Start, label);
    }
    if missing {
        let sample = Area {
            left,
            top: area.top + height + LINE,
            width,
            height: width,
        };
        no_value(drawing, sample);
        let place = at(left + width + GAP, sample.bottom() - 2.0);
        drawing.text(place, Anchor::Start, "none");
    }
}
