//! A figure as a picture: panels in rows, each with its title, its legend and its plot.

use super::look::{Look, looks};
use super::panel::MOST_LINES;
use super::plot::Plot;
use super::svg::{Anchor, Area, Drawing, LINE, Point, at, text_width};
use super::words::words;
use super::{Figure, Lines, Panel, Style};

/// Margin around the figure and between its panels.
const MARGIN: f64 = 16.0;
/// Gap between a legend and the plot below it.
const GAP: f64 = 8.0;
/// Width of a sample in a legend, and of the space after its name.
const SAMPLE: f64 = 26.0;
const BEHIND: f64 = 16.0;

/// A name in a legend, and its style; `None` for bars.
type Entry<'a> = (&'a str, Option<Style>);

struct Cell<'a> {
    plot: Plot<'a>,
    title: String,
    legend: Vec<Entry<'a>>,
}

impl Cell<'_> {
    /// Width with the labels on both sides.
    fn width(&self) -> f64 {
        let plot = self.plot.left() + self.plot.width();
        // Titles are bold.
        plot.max(text_width(&self.title) * 1.1)
    }
}

pub(super) fn svg(figure: &Figure, inline: bool) -> Option<String> {
    let panels: Vec<&Panel> = figure
        .panels
        .iter()
        .filter(|panel| panel.has_value())
        .collect();
    let names = names(&panels);
    let looks = looks(&names);
    let parts = panels.iter().map(|panel| parts(panel)).max()?;
    let mut cells: Vec<Cell<'_>> = panels.iter().flat_map(|panel| split(panel)).collect();
    let columns = (figure.columns / parts * parts).max(parts).min(cells.len());
    let shared = take_shared_legend(&mut cells);

    let widths: Vec<f64> = (0..columns)
        .map(|column| {
            cells
                .iter()
                .skip(column)
                .step_by(columns)
                .map(Cell::width)
                .fold(0.0, f64::max)
        })
        .collect();
    let width = widths.iter().sum::<f64>() + MARGIN * (columns + 1) as f64;
    let width = width.max(text_width(&figure.title) * 1.1 + 2.0 * MARGIN);

    let mut drawing = Drawing::new(inline);
    let mut top = MARGIN + LINE;
    drawing.bold(at(width / 2.0, top - 4.0), Anchor::Middle, &figure.title);
    top += legend(
        &mut drawing,
        &shared,
        &looks,
        at(MARGIN, top),
        width - 2.0 * MARGIN,
    );
    for row in cells.chunks(columns) {
        top += GAP;
        let lefts = widths.iter().scan(MARGIN, |left, width| {
            let own = *left;
            *left += width + MARGIN;
            Some(own)
        });
        let lefts: Vec<f64> = lefts.collect();
        let mut heads = 0.0_f64;
        for ((cell, &left), &width) in row.iter().zip(&lefts).zip(&widths) {
            drawing.bold(at(left, top + LINE - 4.0), Anchor::Start, &cell.title);
            let legend = legend(
                &mut drawing,
                &cell.legend,
                &looks,
                at(left, top + LINE),
                width,
            );
            heads = heads.max(LINE + legend + GAP);
        }
        top += heads;
        let mut below = 0.0_f64;
        for (cell, &left) in row.iter().zip(&lefts) {
            let (width, height) = cell.plot.size();
            let area = Area {
                left: left + cell.plot.left(),
                top,
                width,
                height,
            };
            cell.plot.draw(&mut drawing, area, &looks);
            below = below.max(height + cell.plot.bottom());
        }
        top += below;
    }
    Some(drawing.finish(width, top + MARGIN, &figure.title, &words(figure)))
}

/// All names of the legends, each once, in order of first appearance.
fn names<'a>(panels: &[&'a Panel]) -> Vec<&'a str> {
    let mut names = Vec::new();
    for name in panels.iter().flat_map(|panel| panel.names()) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Number of panels that replace this one, because readers cannot tell too many lines apart.
fn parts(panel: &Panel) -> usize {
    match panel {
        Panel::Lines(lines) => lines.compared().count().div_ceil(MOST_LINES).max(1),
        _ => 1,
    }
}

fn split(panel: &Panel) -> Vec<Cell<'_>> {
    let parts = parts(panel);
    match panel {
        Panel::Lines(lines) => (0..parts).map(|part| part_of(lines, part, parts)).collect(),
        Panel::Bars(bars) => vec![Cell {
            plot: Plot::bars(bars),
            title: bars.title.clone(),
            legend: bars
                .series
                .iter()
                .filter(|_| !bars.is_in_words())
                .map(|(name, _)| (name.as_str(), None))
                .collect(),
        }],
        Panel::Heat(heat) => vec![Cell {
            plot: Plot::heat(heat),
            title: match heat.title.eq_ignore_ascii_case(&heat.value_title) {
                true => heat.title.clone(),
                false => format!("{}: {}", heat.title, heat.value_title),
            },
            legend: Vec::new(),
        }],
    }
}

/// Some of the compared lines, and all limits.
fn part_of(lines: &Lines, part: usize, parts: usize) -> Cell<'_> {
    let each = lines.compared().count().div_ceil(parts).max(1);
    let compared = lines.compared().skip(part * each).take(each);
    let limits = lines
        .series
        .iter()
        .filter(|series| series.style == Style::Limit);
    let series: Vec<_> = compared.chain(limits).collect();
    let title = match parts {
        1 => lines.title.clone(),
        _ => format!("{} ({} of {parts})", lines.title, part + 1),
    };
    let legend = series
        .iter()
        .map(|series| (series.name.as_str(), Some(series.style)))
        .collect();
    Cell {
        plot: Plot::lines(lines, series),
        title,
        legend,
    }
}

/// The common legend of all panels, if their legends are equal.
fn take_shared_legend<'a>(cells: &mut [Cell<'a>]) -> Vec<Entry<'a>> {
    let mut legends = cells
        .iter()
        .map(|cell| &cell.legend)
        .filter(|legend| !legend.is_empty());
    let Some(first) = legends.next().cloned() else {
        return Vec::new();
    };
    let mut others = legends.peekable();
    if others.peek().is_none() || others.any(|other| *other != first) {
        return Vec::new();
    }
    cells.iter_mut().for_each(|cell| cell.legend.clear());
    first
}

/// Draws a legend on as many lines as it needs; returns its height.
fn legend(
    drawing: &mut Drawing,
    entries: &[Entry<'_>],
    looks: &[(&str, Look)],
    corner: Point,
    width: f64,
) -> f64 {
    let (mut x, mut y) = (0.0, 0.0);
    for &(name, style) in entries {
        let own = SAMPLE + text_width(name);
        if x > 0.0 && x + own > width {
            (x, y) = (0.0, y + LINE);
        }
        let look = look_of(looks, name);
        sample(
            drawing,
            Area {
                left: corner.x + x,
                top: corner.y + y,
                width: SAMPLE,
                height: LINE,
            },
            look,
            style,
        );
        drawing.text(
            at(corner.x + x + SAMPLE, corner.y + y + LINE - 5.0),
            Anchor::Start,
            name,
        );
        x += own + BEHIND;
    }
    if entries.is_empty() { 0.0 } else { y + LINE }
}

pub(super) fn look_of(looks: &[(&str, Look)], name: &str) -> Look {
    looks
        .iter()
        .find(|(known, _)| *known == name)
        .expect("names are those of the panels")
        .1
}

fn sample(drawing: &mut Drawing, area: Area, look: Look, style: Option<Style>) {
    let y = area.top + area.height / 2.0;
    let (from, to) = (at(area.left, y), at(area.right() - 6.0, y));
    match style {
        None => {
            let area = Area {
                left: area.left,
                top: y - 6.0,
                width: 18.0,
                height: 12.0,
            };
            drawing.area(area, look.colour);
            drawing.hatch(area, look.hatch, "white");
        }
        Some(Style::Points | Style::Open) => {}
        Some(Style::Line) => drawing.line(from, to, look.colour, 1.8),
        Some(Style::Limit | Style::Steps) => {
            drawing.path(
                &[from, to],
                look.colour,
                1.8,
                style.map_or("", |style| look.dashes_of(style)),
            );
        }
    }
    if let Some(shown @ (Style::Line | Style::Points | Style::Open)) = style {
        drawing.marker(
            look.marker,
            at((from.x + to.x) / 2.0, y),
            look.colour,
            look.hollow || shown == Style::Open,
        );
    }
}
