//! Figures as SVG. Everything that is kuva's stays in this file.

use std::sync::Arc;

use kuva::backend::svg::SvgBackend;
use kuva::plot::legend::{LegendEntry, LegendShape};
use kuva::plot::scatter::MarkerShape;
use kuva::plot::{BarPlot, BoxPlot, ColorMap, Heatmap, LinePlot, ScatterPlot};
use kuva::render::annotations::TextAnnotation;
use kuva::render::figure::Figure as Grid;
use kuva::render::layout::{AxisLabelOverlap, Layout, TickFormat};
use kuva::render::plots::Plot;

use super::axis::{cell, label, power_label};
use super::words::words;
use super::{Axis, Bars, Boxes, Figure, Heat, Lines, Panel, Scale, Style};

/// Size of one panel in pixels, if its labels do not need more.
const PANEL_WIDTH: f64 = 470.0;
const PANEL_HEIGHT: f64 = 360.0;
/// Room for axes and margins of a panel.
const FRAME: f64 = 160.0;
/// Width of a letter of a tick's label, at most on average.
const LETTER: f64 = 7.0;
/// Height of a row of a heat map.
const ROW_HEIGHT: f64 = 22.0;
/// Dark enough for a white ground, and told apart by eyes that do not see red and green.
const COLOURS: [&str; 12] = [
    "#1b6ca8", "#d1495b", "#3c8d53", "#c98a1b", "#7b4fa3", "#444444", "#1f9aa0", "#b05c2e",
    "#c24d9c", "#7a8b1e", "#5b7fd6", "#8c6d5a",
];
/// Of boxes, which no legend explains: none of the others.
const BOX: &str = "#8fa3b0";
const MARKERS: [MarkerShape; 7] = [
    MarkerShape::Circle,
    MarkerShape::Square,
    MarkerShape::Triangle,
    MarkerShape::Diamond,
    MarkerShape::TriangleDown,
    MarkerShape::Pentagon,
    MarkerShape::Star,
];
const MARKER_SIZE: f64 = 3.5;
/// Room for a marker beyond the outermost ticks, in ticks.
const EDGE: f64 = 0.1;
const DASHES: &str = "8 4";
/// Most ticks on an axis in powers of two.
const POWER_TICKS: f64 = 9.0;
/// How far an annotation stands above its point, and the height of a heat map's panel without its
/// cells.
const ANNOTATION_RISE: f64 = 9.0;
const HEAT_FRAME: f64 = 90.0;
/// Most columns of a heat map with a number in each cell.
const NUMBERED_COLUMNS: usize = 10;

/// The picture; `None` if there is nothing to show.
pub(super) fn svg(figure: &Figure) -> Option<String> {
    let panels: Vec<&Panel> = figure.panels.iter().filter(|panel| panel.has_value()).collect();
    let columns = panels.len().min(figure.columns.max(1));
    if columns == 0 {
        return None;
    }
    let names = names(&panels);
    let (plots, layouts) = panels.iter().map(|panel| draw(panel, &names)).unzip();
    let (width, height) = panels
        .iter()
        .map(|panel| size(panel))
        .fold((PANEL_WIDTH, PANEL_HEIGHT), |most, size| (most.0.max(size.0), most.1.max(size.1)));
    let grid = Grid::new(panels.len().div_ceil(columns), columns)
        .with_title(text(&figure.title))
        .with_plots(plots)
        .with_layouts(layouts)
        .with_cell_size(width, height)
        // Room for the half of the last tick's label that stands out of its panel.
        .with_spacing(24.0)
        .with_padding(16.0)
        .with_shared_legend_bottom_left()
        .with_shared_legend_entries(legend(&panels, &names));
    Some(said(figure, &renumbered(&SvgBackend.render_scene(&grid.render()))))
}

/// The picture with its title and what it shows in words.
fn said(figure: &Figure, svg: &str) -> String {
    let escaped = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let (title, words) = (escaped(&figure.title), escaped(&words(figure)));
    match svg.split_once('>') {
        Some((tag, rest)) => {
            format!("{tag} role=\"img\"><title>{title}</title><desc>{words}</desc>{rest}")
        }
        None => svg.to_owned(),
    }
}

/// kuva numbers clip paths through the life of the process; the same figure must be the same bytes
/// each time.
fn renumbered(svg: &str) -> String {
    const PREFIX: &str = "kuva-clip-";
    let mut known: Vec<&str> = Vec::new();
    let mut out = String::with_capacity(svg.len() + 1);
    let mut parts = svg.split(PREFIX);
    out += parts.next().unwrap_or_default();
    for part in parts {
        let digits = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
        let (number, rest) = part.split_at(digits);
        let place = known.iter().position(|&seen| seen == number).unwrap_or_else(|| {
            known.push(number);
            known.len() - 1
        });
        out += &format!("{PREFIX}{place}{rest}");
    }
    out + "\n"
}

/// Width and height that a panel needs so that its labels do not meet.
fn size(panel: &Panel) -> (f64, f64) {
    let longest =
        |names: &[String]| names.iter().map(|name| name.chars().count()).max().unwrap_or(0) as f64;
    let beside = |names: &[String]| names.len() as f64 * (longest(names) + 1.0).max(6.0) * LETTER;
    match panel {
        Panel::Lines(_) => (PANEL_WIDTH, PANEL_HEIGHT),
        Panel::Bars(bars) => (FRAME + beside(&bars.groups), PANEL_HEIGHT),
        Panel::Heat(heat) => {
            let names: Vec<String> = heat.rows.iter().map(|(name, _)| name.clone()).collect();
            let width = FRAME + beside(&heat.columns) + longest(&names) * LETTER;
            (width, FRAME + heat.rows.len() as f64 * ROW_HEIGHT)
        }
        Panel::Boxes(boxes) => {
            let names: Vec<String> = boxes.groups.iter().map(|(name, _)| name.clone()).collect();
            (FRAME + beside(&names), PANEL_HEIGHT)
        }
    }
}

/// All names of the legend once, in the order of their first appearance: the place is the colour.
fn names<'a>(panels: &[&'a Panel]) -> Vec<&'a str> {
    let mut names = Vec::new();
    for name in panels.iter().flat_map(|panel| panel.names()) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// A colour of its own for each name: where the palette ends it begins again darker, then lighter.
fn colour(name: &str, names: &[&str]) -> String {
    let place = names.iter().position(|known| *known == name).unwrap_or(0);
    let base = COLOURS[place % COLOURS.len()];
    let channel = |at: usize| u8::from_str_radix(&base[at..at + 2], 16).map_or(0.0, f64::from);
    let mixed = |channel: f64| match place / COLOURS.len() {
        0 => channel,
        1 => channel * 0.6,
        again => channel + (255.0 - channel) * (0.3 + 0.5 / again as f64).min(0.55),
    };
    let [red, green, blue] = [1, 3, 5].map(|at| mixed(channel(at)).round() as u8);
    format!("#{red:02x}{green:02x}{blue:02x}")
}

fn marker(name: &str, names: &[&str]) -> MarkerShape {
    MARKERS[names.iter().position(|known| *known == name).unwrap_or(0) % MARKERS.len()]
}

fn legend(panels: &[&Panel], names: &[&str]) -> Vec<LegendEntry> {
    let style = |name: &str| {
        let lines = panels
            .iter()
            .filter_map(|panel| if let Panel::Lines(lines) = panel { Some(lines) } else { None });
        lines
            .flat_map(|lines| &lines.series)
            .find(|series| series.name == name)
            .map(|series| series.style)
    };
    let entry = |name: &&str| LegendEntry {
        label: text(name),
        color: colour(name, names),
        shape: match style(name) {
            Some(Style::Line | Style::Points) => LegendShape::Marker(marker(name, names)),
            Some(Style::Limit | Style::Steps) => LegendShape::Line,
            None => LegendShape::Rect,
        },
        dasharray: (style(name) == Some(Style::Limit)).then(|| DASHES.to_owned()),
    };
    names.iter().map(entry).collect()
}

/// Text as it stands: a dollar sign would begin a formula.
fn text(text: &str) -> String {
    text.replace('$', "\\$")
}

fn draw(panel: &Panel, names: &[&str]) -> (Vec<Plot>, Layout) {
    match panel {
        Panel::Lines(lines) => draw_lines(lines, names),
        Panel::Bars(bars) => draw_bars(bars, names),
        Panel::Heat(heat) => draw_heat(heat),
        Panel::Boxes(boxes) => draw_boxes(boxes),
    }
}

fn layout(plots: &[Plot], title: &str, x_title: &str, y_title: &str) -> Layout {
    let mut layout = Layout::auto_from_plots(plots)
        .with_title(text(title))
        .with_title_size(14)
        .with_label_size(12)
        .with_tick_size(11)
        .with_y_tick_format(TickFormat::Custom(Arc::new(label)))
        .with_x_label_overlap(AxisLabelOverlap::Stagger);
    if !x_title.is_empty() {
        layout = layout.with_x_label(text(x_title));
    }
    if !y_title.is_empty() {
        layout = layout.with_y_label(text(y_title));
    }
    layout
}

fn draw_lines(lines: &Lines, names: &[&str]) -> (Vec<Plot>, Layout) {
    let place =
        |axis: &Axis, value: f64| if axis.scale == Scale::Powers { value.log2() } else { value };
    let mut plots: Vec<Plot> = Vec::new();
    let mut all: Vec<(f64, f64)> = Vec::new();
    for series in &lines.series {
        let shown = |&&(x, y): &&(f64, f64)| lines.x.shows(x) && lines.y.shows(y);
        let placed = |&(x, y): &(f64, f64)| (place(&lines.x, x), place(&lines.y, y));
        let points: Vec<(f64, f64)> = series.points.iter().filter(shown).map(placed).collect();
        if points.is_empty() {
            continue;
        }
        let line = LinePlot::new()
            .with_data(points.iter().copied())
            .with_color(colour(&series.name, names))
            .with_stroke_width(1.8);
        match series.style {
            Style::Line => plots.push(Plot::Line(line)),
            Style::Limit => plots.push(Plot::Line(line.with_dashed())),
            Style::Steps => plots.push(Plot::Line(line.with_step())),
            Style::Points => {}
        }
        if matches!(series.style, Style::Line | Style::Points) {
            let markers = ScatterPlot::new()
                .with_data(points.iter().copied())
                .with_color(colour(&series.name, names))
                .with_marker(marker(&series.name, names))
                .with_size(MARKER_SIZE);
            plots.push(Plot::Scatter(markers));
        }
        all.extend(points);
    }
    let mut layout = layout(&plots, &lines.title, &lines.x.title, &lines.y.title);
    let (least, most) = range(all.iter().map(|point| point.0));
    layout = match lines.x.scale {
        Scale::Linear => layout.with_x_tick_format(TickFormat::Custom(Arc::new(label))),
        Scale::Log => layout.with_log_x().with_x_tick_format(TickFormat::Custom(Arc::new(label))),
        Scale::Powers => {
            let (low, high, step) = powers(least, most);
            let layout =
                layout.with_x_axis_min(low - EDGE * step).with_x_axis_max(high + EDGE * step);
            let layout = layout.with_x_tick_step(step);
            layout.with_x_tick_format(TickFormat::Custom(Arc::new(power_label)))
        }
    };
    let (least, most) = range(all.iter().map(|point| point.1));
    layout = match lines.y.scale {
        Scale::Linear if least >= 0.0 => from_zero(layout, most),
        Scale::Linear => layout,
        Scale::Log => layout.with_log_y(),
        Scale::Powers => {
            let (low, high, step) = powers(least, most);
            let layout =
                layout.with_y_axis_min(low - EDGE * step).with_y_axis_max(high + EDGE * step);
            let layout = layout.with_y_tick_step(step);
            layout.with_y_tick_format(TickFormat::Custom(Arc::new(power_label)))
        }
    };
    (plots, layout)
}

fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), value| {
        (least.min(value), most.max(value))
    })
}

/// From 0 to a little above the largest value, so that its marker is whole.
fn from_zero(layout: Layout, most: f64) -> Layout {
    layout.with_y_axis_min(0.0).with_y_axis_max(if most > 0.0 { most * 1.06 } else { 1.0 })
}

/// Ends and distance of the ticks that hold these exponents.
fn powers(least: f64, most: f64) -> (f64, f64, f64) {
    let low = least.floor();
    let high = most.ceil().max(low + 1.0);
    let step = ((high - low) / POWER_TICKS).ceil();
    (low, low + ((high - low) / step).ceil() * step, step)
}

fn draw_bars(bars: &Bars, names: &[&str]) -> (Vec<Plot>, Layout) {
    let mut plot = BarPlot::new();
    for (i, group) in bars.groups.iter().enumerate() {
        let value = |values: &Vec<f64>| {
            values.get(i).copied().filter(|value| value.is_finite()).unwrap_or(0.0)
        };
        let group_bars =
            bars.series.iter().map(|(name, values)| (value(values), colour(name, names)));
        plot = plot.with_group(text(group), group_bars.collect::<Vec<_>>());
    }
    if bars.stacked {
        plot = plot.with_stacked();
    }
    let plots = vec![Plot::Bar(plot)];
    let layout = layout(&plots, &bars.title, &bars.x_title, &bars.y.title);
    (plots, layout)
}

fn draw_heat(heat: &Heat) -> (Vec<Plot>, Layout) {
    // Shades are given as places between the least and the largest value; the lightest stands for
    // none at all.
    let finite =
        heat.rows.iter().flat_map(|(_, values)| values).copied().filter(|value| value.is_finite());
    let (least, most) = range(finite);
    let share = if heat.logarithmic || least < 0.0 || most <= 0.0 { 0.0 } else { least / most };
    // Light enough at both ends for black numbers in the cells.
    let shade = move |t: f64| {
        if t.is_nan() {
            return "#ffffff".to_owned();
        }
        let t = share + t * (1.0 - share);
        let mix = |from: f64, to: f64| (from + (to - from) * t.clamp(0.0, 1.0)).round();
        format!("rgb({},{},{})", mix(247.0, 70.0), mix(251.0, 150.0), mix(255.0, 205.0))
    };
    let placed = |&value: &f64| match heat.logarithmic {
        true if value > 0.0 => value.log10(),
        true => f64::NAN,
        false => value,
    };
    let cells =
        heat.rows.iter().rev().map(|(_, values)| values.iter().map(placed).collect::<Vec<_>>());
    let plot = Heatmap::new()
        .with_data(cells.collect::<Vec<_>>())
        .with_color_map(ColorMap::Custom(Arc::new(shade)));
    let plots = vec![Plot::Heatmap(plot)];
    let rows = heat.rows.iter().rev().map(|(name, _)| text(name)).collect();
    let title = format!("{}: {}", heat.title, heat.value_title);
    let mut layout = layout(&plots, &title, &heat.x_title, &heat.y_title)
        .with_x_categories(heat.columns.iter().map(|column| text(column)).collect())
        .with_y_categories(rows);
    if heat.logarithmic {
        let power = |exponent: f64| cell(10_f64.powf(exponent));
        layout = layout.with_colorbar_tick_format(TickFormat::Custom(Arc::new(power)));
    }
    if heat.columns.len() <= NUMBERED_COLUMNS {
        // Annotations stand above their point; in a cell they belong on it.
        let (_, height) = size(&Panel::Heat(heat.clone()));
        let rise =
            ANNOTATION_RISE * heat.rows.len() as f64 / (height.max(PANEL_HEIGHT) - HEAT_FRAME);
        for (i, (_, values)) in heat.rows.iter().rev().enumerate() {
            for (j, &value) in values.iter().enumerate().filter(|(_, value)| value.is_finite()) {
                // Cells stand around the whole numbers from 1 on.
                let number =
                    TextAnnotation::new(cell(value), (j + 1) as f64, (i + 1) as f64 - rise);
                layout = layout.with_annotation(number.with_font_size(11));
            }
        }
    }
    (plots, layout)
}

fn draw_boxes(boxes: &Boxes) -> (Vec<Plot>, Layout) {
    let mut plot = BoxPlot::new().with_color(BOX);
    for (name, samples) in &boxes.groups {
        plot = plot
            .with_group(text(name), samples.iter().copied().filter(|sample| sample.is_finite()));
    }
    let plots = vec![Plot::Box(plot)];
    let layout = layout(&plots, &boxes.title, "", &boxes.y.title);
    let samples = boxes.groups.iter().flat_map(|(_, samples)| samples.iter().copied());
    let (least, most) = range(samples.filter(|sample| sample.is_finite()));
    (plots, if least >= 0.0 { from_zero(layout, most) } else { layout })
}
