//! The room of the engines that stand for a card.

use std::fmt;
use std::str::FromStr;

use dpamatch::engine::{Behind, BinCount};
use dpamatch::registry::EngineOptions;
use dpamatch_tools::counted;
use dpamatch_tools::offload::PUBLISHED;

/// Engines that stand for a card.
pub(super) const CARDS: [&str; 4] = ["optimistic", "hw-list", "portals", "alpu"];
/// The Portals engine with Cassini's pool, in [`CardRoom::Real`].
pub(super) const CASSINI: &str = "portals-cassini";

/// Entries that each card holds. Behind every full card stands the same engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CardRoom {
    /// All entries of a case.
    #[default]
    All,
    /// So many receives and messages each, on all cards.
    Each(u32),
    /// What each card's documents or drivers say.
    Real,
}

impl CardRoom {
    /// Entries of this card; `None`: as many as a case needs.
    pub(super) fn of(self, card: &str) -> Option<u32> {
        match self {
            Self::All => None,
            Self::Each(entries) => Some(entries),
            Self::Real => {
                let known = PUBLISHED.iter().find(|known| known.card == card);
                known.map(|known| known.entries)
            }
        }
    }

    /// The room of these cards in words, and what stands behind them.
    pub(super) fn words(self, cards: &[&str], behind: Behind) -> String {
        let behind = behind.name();
        match self {
            Self::All => "room for all entries of a case; --room bounds it".to_owned(),
            Self::Each(entries) => format!(
                "room for {} in each queue, and behind it {behind}",
                counted(entries, "entry")
            ),
            Self::Real => {
                let each = PUBLISHED
                    .iter()
                    .filter(|known| cards.contains(&known.engine));
                let each = each
                    .map(|known| format!("{} {} ({})", known.card, known.entries, known.source));
                format!(
                    "the cards' own room, and behind it {behind}: {}",
                    each.collect::<Vec<_>>().join(", ")
                )
            }
        }
    }
}

impl fmt::Display for CardRoom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("all"),
            Self::Each(entries) => write!(f, "{entries}"),
            Self::Real => f.write_str("real"),
        }
    }
}

impl FromStr for CardRoom {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "takes all, real, or 1 to 131072".to_owned();
        match text {
            "all" => Ok(Self::All),
            "real" => Ok(Self::Real),
            _ => match text.parse() {
                Ok(entries @ 1..=131_072) => Ok(Self::Each(entries)),
                _ => Err(wrong()),
            },
        }
    }
}

/// Bins of the emulated NIC: as in the prototype, twice the receives (O30), unless the command sets
/// them. All communicators share the memory.
pub(super) fn with_bins(options: &EngineOptions) -> EngineOptions {
    /// Most bins of a table, and of one table of all communicators.
    const MOST: usize = 1 << 16;
    const MOST_OF_ALL: usize = 1 << 20;
    let mut options = options.clone();
    if options.grow_bins {
        let nic = &options.nic;
        let shared = (MOST_OF_ALL / nic.communicators.max(1)).max(1);
        let bins = (2 * nic.receives).next_power_of_two().min(MOST).min(shared);
        options.bins = BinCount::new(bins as u32).expect("1 to 65536");
    }
    options
}

/// The options with this room on the card, and the engine of `behind_cards` behind it.
pub(super) fn bound(options: &EngineOptions, room: u32, communicators: usize) -> EngineOptions {
    let mut options = options.clone();
    let entries = room as usize;
    let nic = &mut options.nic;
    (nic.receives, nic.unexpected) = (entries, entries);
    nic.unexpected_buffers = nic.unexpected_buffers.min(entries);
    nic.communicators = nic.communicators.max(communicators);
    options.list_entries = room;
    options.behind = options.behind_cards;
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rooms_are_read_as_they_are_written() {
        for text in ["all", "real", "1", "131072"] {
            let room: CardRoom = text.parse().expect("a room");
            assert_eq!(room.to_string(), text);
        }
        for text in ["0", "131073", "none", "", "-1"] {
            assert!(text.parse::<CardRoom>().is_err(), "{text}");
        }
    }

    #[test]
    fn each_card_has_its_room() {
        let real = CARDS.map(|card| CardRoom::Real.of(card));
        assert_eq!(real, [1024, 1024, 256, 256].map(Some));
        assert_eq!(CardRoom::Real.of(CASSINI), Some(16_384));
        assert_eq!(CardRoom::Real.of("list"), None);
        assert_eq!(CardRoom::Each(7).of("alpu"), Some(7));
        assert_eq!(CardRoom::All.of("alpu"), None);
        assert_eq!(
            CardRoom::Real.words(&["portals"], Behind::Ucx),
            "the cards' own room, and behind it ucx: portals 256 (BXI in UCX), portals-cassini \
             16384 (Cassini: an engine's pool, shared by its endpoints)"
        );
    }

    #[test]
    fn the_nic_has_twice_as_many_bins_as_receives() {
        let mut options = EngineOptions {
            grow_bins: true,
            ..EngineOptions::default()
        };
        let mut bins = |receives, communicators| {
            options.nic.receives = receives;
            options.nic.communicators = communicators;
            with_bins(&options).bins.get()
        };
        assert_eq!(bins(1024, 16), 2048);
        assert_eq!(bins(1025, 16), 4096);
        assert_eq!(bins(1 << 17, 16), 1 << 16);
        assert_eq!(bins(1 << 17, 256), 1 << 12);
        options.grow_bins = false;
        assert_eq!(with_bins(&options).bins, options.bins);
    }
}
