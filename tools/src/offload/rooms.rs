//! The room of cards, and what stands behind a full one.

use dpamatch::engine::Behind;

/// A card that holds so many entries, with the source of that number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PublishedRoom {
    /// Its row's name.
    pub card: &'static str,
    /// The engine that stands for it.
    pub engine: &'static str,
    pub entries: u32,
    pub source: &'static str,
}

const fn published(
    card: &'static str,
    engine: &'static str,
    entries: u32,
    source: &'static str,
) -> PublishedRoom {
    PublishedRoom {
        card,
        engine,
        entries,
        source,
    }
}

/// What each card's documents or drivers say. The first is the emulated NIC.
pub const PUBLISHED: [PublishedRoom; 5] = [
    published("optimistic", "optimistic", 1024, "the paper's prototype"),
    published("hw-list", "hw-list", 1024, "ConnectX in UCX"),
    published("portals", "portals", 256, "BXI in UCX"),
    published(
        "portals-cassini",
        "portals",
        16_384,
        "Cassini: an engine's pool, shared by its endpoints",
    ),
    published("alpu", "alpu", 256, "the FPGA prototype"),
];

/// Entries of the cards that match in hardware.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rooms {
    /// So many on each.
    Equal(u32),
    /// What each card's documents or drivers say, also of the DPA.
    Published,
}

impl Rooms {
    /// Receives on the DPA; `otherwise` unless they follow from the rooms.
    pub(super) fn of_dpa(self, otherwise: usize) -> usize {
        match self {
            Self::Equal(_) => otherwise,
            Self::Published => PUBLISHED[0].entries as usize,
        }
    }

    /// The cards that match in hardware: name, engine and entries.
    pub(super) fn cards(self) -> Vec<PublishedRoom> {
        let [_dpa, cards @ ..] = PUBLISHED;
        match self {
            Self::Published => cards.to_vec(),
            Self::Equal(entries) => {
                let designs = cards.into_iter().filter(|it| it.card == it.engine);
                designs.map(|it| PublishedRoom { entries, ..it }).collect()
            }
        }
    }
}

/// The cards beside the DPA in a comparison.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hardware {
    pub rooms: Rooms,
    /// The engine behind each full card, the DPA included.
    pub behind: Behind,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rooms_are_equal_or_the_cards_own() {
        let names = |rooms: Rooms| {
            let all = rooms.cards().into_iter();
            all.map(|it| (it.card, it.engine, it.entries))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            names(Rooms::Equal(7)),
            [
                ("hw-list", "hw-list", 7),
                ("portals", "portals", 7),
                ("alpu", "alpu", 7)
            ]
        );
        assert_eq!(
            names(Rooms::Published),
            [
                ("hw-list", "hw-list", 1024),
                ("portals", "portals", 256),
                ("portals-cassini", "portals", 16_384),
                ("alpu", "alpu", 256)
            ]
        );
        assert_eq!(Rooms::Equal(7).of_dpa(9), 9);
        assert_eq!(Rooms::Published.of_dpa(9), 1024);
    }
}
