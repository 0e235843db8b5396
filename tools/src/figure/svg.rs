//! A drawing, shape by shape, as SVG.

use std::fmt::Write;

/// The one size of all text in pixels.
const FONT: f64 = 12.0;
/// Width of a letter, on average, in a wide font.
const LETTER: f64 = 6.8;
pub(super) const LINE: f64 = 18.0;
/// Size of a marker: half its width.
const MARKER: f64 = 3.6;
/// Distance of the lines of a hatch.
const HATCH: f64 = 6.0;

pub(super) const INK: &str = "#222222";
pub(super) const GRID: &str = "#dddddd";

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Marker {
    Circle,
    Square,
    Triangle,
    Diamond,
    Inverted,
    Cross,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Hatch {
    None,
    Rising,
    Falling,
    Crossed,
    Level,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// A place in pixels, from the upper left corner.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Point {
    pub(super) x: f64,
    pub(super) y: f64,
}

pub(super) const fn at(x: f64, y: f64) -> Point {
    Point { x, y }
}

/// A rectangle: left, top, width, height.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Area {
    pub(super) left: f64,
    pub(super) top: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

impl Area {
    pub(super) fn right(self) -> f64 {
        self.left + self.width
    }

    pub(super) fn bottom(self) -> f64 {
        self.top + self.height
    }

    /// The rectangle without a margin on all sides.
    pub(super) fn inset(self, by: f64) -> Self {
        let (width, height) = (self.width - 2.0 * by, self.height - 2.0 * by);
        Self {
            left: self.left + by,
            top: self.top + by,
            width,
            height,
        }
    }
}

pub(super) fn text_width(text: &str) -> f64 {
    text.chars().count() as f64 * LETTER
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

/// A number with at most one decimal.
fn short(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0")
        .map_or_else(|| text.clone(), str::to_owned)
}

#[derive(Debug, Default)]
pub(super) struct Drawing {
    shapes: String,
    /// Part of a page: without a name space, which pages do not need and which looks like an
    /// external address, and with values that browsers show beside the pointer.
    inline: bool,
}

impl Drawing {
    pub(super) fn new(inline: bool) -> Self {
        Self {
            shapes: String::new(),
            inline,
        }
    }

    fn push(&mut self, shape: std::fmt::Arguments<'_>) {
        // Writing into memory cannot fail.
        let _ = self.shapes.write_fmt(shape);
        self.shapes.push('\n');
    }

    /// Draws shapes of one value; the pointer shows it in words on a page.
    pub(super) fn value(&mut self, words: impl FnOnce() -> String, draw: impl FnOnce(&mut Self)) {
        if !self.inline {
            return draw(self);
        }
        self.push(format_args!("<g><title>{}</title>", escaped(&words())));
        draw(self);
        self.push(format_args!("</g>"));
    }

    pub(super) fn area(&mut self, area: Area, fill: &str) {
        let Area {
            left,
            top,
            width,
            height,
        } = area;
        let [x, y, w, h] = [left, top, width, height].map(short);
        self.push(format_args!(
            r#"<rect x="{x}" y="{y}" width="{w}" height="{h}" fill="{fill}"/>"#
        ));
    }

    pub(super) fn line(&mut self, from: Point, to: Point, colour: &str, width: f64) {
        self.path(&[from, to], colour, width, "");
    }

    /// A line through all points, with these dashes.
    pub(super) fn path(&mut self, points: &[Point], colour: &str, width: f64, dashes: &str) {
        let points: Vec<_> = points
            .iter()
            .map(|&Point { x, y }| short(x) + "," + &short(y))
            .collect();
        let points = points.join(" ");
        let dashes = match dashes {
            "" => String::new(),
            dashes => format!(r#" stroke-dasharray="{dashes}""#),
        };
        self.push(format_args!(
            "<polyline points=\"{points}\" fill=\"none\" stroke=\"{colour}\" \
             stroke-width=\"{width}\"{dashes}/>"
        ));
    }

    pub(super) fn marker(&mut self, shape: Marker, place: Point, colour: &str, hollow: bool) {
        let Point { x, y } = place;
        let fill = if hollow { "white" } else { colour };
        let corners: &[(f64, f64)] = match shape {
            Marker::Circle => {
                let [x, y, r] = [x, y, MARKER].map(short);
                return self.push(format_args!(
                    r#"<circle cx="{x}" cy="{y}" r="{r}" fill="{fill}" stroke="{colour}"/>"#
                ));
            }
            Marker::Square => &[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)],
            Marker::Triangle => &[(0.0, -1.2), (1.1, 0.9), (-1.1, 0.9)],
            Marker::Diamond => &[(0.0, -1.3), (1.3, 0.0), (0.0, 1.3), (-1.3, 0.0)],
            Marker::Inverted => &[(0.0, 1.2), (1.1, -0.9), (-1.1, -0.9)],
            Marker::Cross => &[
                (0.0, -0.4),
                (0.8, -1.2),
                (1.2, -0.8),
                (0.4, 0.0),
                (1.2, 0.8),
                (0.8, 1.2),
                (0.0, 0.4),
                (-0.8, 1.2),
                (-1.2, 0.8),
                (-0.4, 0.0),
                (-1.2, -0.8),
                (-0.8, -1.2),
            ],
        };
        let corner = |&(right, down): &(f64, f64)| {
            short(x + right * MARKER) + "," + &short(y + down * MARKER)
        };
        let points: Vec<_> = corners.iter().map(corner).collect();
        let points = points.join(" ");
        self.push(format_args!(
            r#"<polygon points="{points}" fill="{fill}" stroke="{colour}"/>"#
        ));
    }

    pub(super) fn hatch(&mut self, area: Area, hatch: Hatch, colour: &str) {
        let mut lines = String::new();
        let mut line = |from: (f64, f64), to: (f64, f64)| {
            let [a, b, c, d] = [from.0, from.1, to.0, to.1].map(short);
            let _ = write!(lines, "M{a} {b}L{c} {d}");
        };
        let (width, height) = (area.width, area.height);
        let steps = |length: f64| {
            (1..)
                .map(|n| f64::from(n) * HATCH)
                .take_while(move |at| *at < length)
        };
        if hatch == Hatch::Level {
            for at in steps(height) {
                line((area.left, area.top + at), (area.right(), area.top + at));
            }
        }
        for at in steps(width + height) {
            // Each line runs from the left or upper edge to the lower or right one, at a distance
            // from the corner.
            let near = (at.min(width), (at - width).max(0.0));
            let far = ((at - height).max(0.0), at.min(height));
            if matches!(hatch, Hatch::Rising | Hatch::Crossed) {
                let shifted = |(x, y): (f64, f64)| (area.left + x, area.top + y);
                line(shifted(far), shifted(near));
            }
            if matches!(hatch, Hatch::Falling | Hatch::Crossed) {
                let mirrored = |(x, y): (f64, f64)| (area.right() - x, area.top + y);
                line(mirrored(far), mirrored(near));
            }
        }
        if !lines.is_empty() {
            self.push(format_args!(r#"<path d="{lines}" stroke="{colour}"/>"#));
        }
    }

    /// Text with its baseline at this place.
    pub(super) fn text(&mut self, place: Point, anchor: Anchor, text: &str) {
        self.styled(place, anchor, "", text);
    }

    pub(super) fn bold(&mut self, place: Point, anchor: Anchor, text: &str) {
        self.styled(place, anchor, r#" font-weight="bold""#, text);
    }

    pub(super) fn coloured(&mut self, place: Point, colour: &str, text: &str) {
        let fill = format!(r#" fill="{colour}""#);
        self.styled(place, Anchor::Middle, &fill, text);
    }

    /// Text that reads upwards.
    pub(super) fn rising(&mut self, place: Point, text: &str) {
        let [x, y] = [place.x, place.y].map(short);
        let turn = format!(r#" transform="rotate(-90 {x} {y})""#);
        self.styled(place, Anchor::Middle, &turn, text);
    }

    fn styled(&mut self, place: Point, anchor: Anchor, style: &str, text: &str) {
        let [x, y] = [place.x, place.y].map(short);
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => r#" text-anchor="middle""#,
            Anchor::End => r#" text-anchor="end""#,
        };
        let text = escaped(text);
        self.push(format_args!(
            r#"<text x="{x}" y="{y}"{anchor}{style}>{text}</text>"#
        ));
    }

    /// The file: a picture of this size on a white background, with its title and its description
    /// in words.
    pub(super) fn finish(self, width: f64, height: f64, title: &str, words: &str) -> String {
        let [w, h] = [width, height].map(|length| length.ceil());
        let (title, words) = (escaped(title), escaped(words));
        let space = if self.inline {
            ""
        } else {
            " xmlns=\"http://www.w3.org/2000/svg\""
        };
        format!(
            "<svg{space} viewBox=\"0 0 {w} {h}\" width=\"{w}\" \
             height=\"{h}\" role=\"img\" font-family=\"sans-serif\" font-size=\"{FONT}\" \
             fill=\"{INK}\"><title>{title}</title><desc>{words}</desc>\n\
             <rect width=\"{w}\" height=\"{h}\" fill=\"white\"/>\n{}</svg>\n",
            self.shapes
        )
    }
}
