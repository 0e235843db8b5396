//! The look of a name in every figure: colour, marker, dashes, hatch; and the colours of a heat
//! map.

use super::Style;
use super::svg::{Hatch, INK, Marker};

/// Paul Tol's palette "vibrant", which readers with any colour vision can tell apart on white, then
/// darker colours of his palettes "muted" and "bright".
const COLOURS: [&str; 17] = [
    "#0077bb", "#cc3311", "#009988", "#ee7733", "#ee3377", "#33bbee", "#332288", "#882255",
    "#117733", "#999933", "#aa4499", "#000000", "#777777", "#cc6677", "#44aa99", "#4477aa",
    "#228833",
];

/// Names with the colour at their index in every figure: the engines.
const NAMED: &str = "optimistic list bins simd adaptive ucx optimistic-seq col-ll ll-pnp col-pnp \
    4d rank-array oracle constant hw-list portals alpu";

const MARKERS: [Marker; 6] = [
    Marker::Circle,
    Marker::Square,
    Marker::Triangle,
    Marker::Diamond,
    Marker::Inverted,
    Marker::Cross,
];
const DASHES: [&str; 4] = ["8 4", "2 3", "8 3 2 3", "14 4"];
/// Dashes of steps; the first steps of a panel are solid.
const STEP_DASHES: [&str; 4] = ["", "6 3", "2 2", "8 3 2 3"];
const HATCHES: [Hatch; 5] = [
    Hatch::None,
    Hatch::Rising,
    Hatch::Falling,
    Hatch::Level,
    Hatch::Crossed,
];

#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Look {
    pub(super) colour: &'static str,
    pub(super) marker: Marker,
    pub(super) hollow: bool,
    /// Dashes of limits and of steps, which have no markers.
    dashes: (&'static str, &'static str),
    pub(super) hatch: Hatch,
}

impl Look {
    pub(super) fn dashes_of(&self, style: Style) -> &'static str {
        match style {
            Style::Limit => self.dashes.0,
            Style::Steps => self.dashes.1,
            Style::Line | Style::Points | Style::Open => "",
        }
    }
}

/// Looks of all names of a figure. Engines have their own in every figure; other names take the
/// places that the figure's engines leave free, in order of appearance.
pub(super) fn looks<'a>(names: &[&'a str]) -> Vec<(&'a str, Look)> {
    let fixed = |name: &str| NAMED.split(' ').position(|known| known == name);
    let mut free = (0..).filter(|place| !names.iter().any(|name| fixed(name) == Some(*place)));
    let mut place = |name| fixed(name).or_else(|| free.next()).unwrap_or(0);
    names
        .iter()
        .map(|&name| (name, look(place(name))))
        .collect()
}

fn look(place: usize) -> Look {
    Look {
        colour: COLOURS[place % COLOURS.len()],
        marker: MARKERS[place % MARKERS.len()],
        hollow: place / MARKERS.len() % 2 == 1,
        dashes: (
            DASHES[place % DASHES.len()],
            STEP_DASHES[place % STEP_DASHES.len()],
        ),
        hatch: HATCHES[place % HATCHES.len()],
    }
}

/// Paul Tol's palette "YlOrBr", from low to high.
const SHADES: [[u8; 3]; 9] = [
    [255, 255, 229],
    [255, 247, 188],
    [254, 227, 145],
    [254, 196, 79],
    [251, 154, 41],
    [236, 112, 20],
    [204, 76, 2],
    [153, 52, 4],
    [102, 37, 6],
];

/// The colour at a place from 0 to 1, and one for text on it.
pub(super) fn shade(place: f64) -> (String, &'static str) {
    let place = place.clamp(0.0, 1.0) * (SHADES.len() - 1) as f64;
    let from = (place as usize).min(SHADES.len() - 2);
    let part = place - from as f64;
    let mix = |i: usize| {
        let [low, high] = [from, from + 1].map(|shade| f64::from(SHADES[shade][i]));
        (low + (high - low) * part).round() as u8
    };
    let [red, green, blue] = [0, 1, 2].map(mix);
    (
        format!("#{red:02x}{green:02x}{blue:02x}"),
        if place < 5.5 { INK } else { "#ffffff" },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_looks_alike_in_every_figure() {
        let alone = looks(&["bins"])[0].1;
        for others in [&["list", "bins"][..], &["k = 1", "k = 2", "k = 3", "bins"]] {
            let (_, look) = looks(others)[others.len() - 1];
            assert_eq!(look, alone, "{others:?}");
        }
        for engine in dpamatch::registry::ENGINES {
            assert!(
                NAMED.split(' ').any(|it| it == engine.name),
                "{} has no colour of its own",
                engine.name
            );
        }
    }

    #[test]
    fn no_two_names_look_alike() {
        let names: Vec<String> = (0..60).map(|name| format!("series {name}")).collect();
        let mut names: Vec<&str> = names.iter().map(String::as_str).collect();
        let named: Vec<&str> = NAMED.split(' ').collect();
        assert_eq!(named.len(), COLOURS.len());
        names.extend(named);
        let looks = looks(&names);
        for (i, (name, look)) in looks.iter().enumerate() {
            let twin = looks[..i].iter().find(|(_, other)| {
                (other.colour, other.marker, other.hollow)
                    == (look.colour, look.marker, look.hollow)
            });
            assert!(twin.is_none(), "{name}: {twin:?}");
        }
    }
}
