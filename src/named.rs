//! Options by name and text, for environments and configuration strings.

use std::str::FromStr;

use dpa_model::{Choice, NicConfig};

use crate::engine::BinCount;
use crate::registry::EngineOptions;

/// The names that [`EngineOptions::set`] knows, equal to the command line's.
pub const NAMES: &[&str] = &[
    "handlers",
    "workers",
    "slice-min",
    "receives",
    "bins",
    "communicators",
    "unexpected",
    "unexpected-buffers",
    "bounce-buffers",
    "eager-limit",
    "fast-path",
    "early-check",
    "removal",
    "domains",
    "barrier",
    "hashes",
];

/// Why an option was not set.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum SetError {
    /// No option has this name.
    Unknown,
    /// The value is invalid.
    Value {
        /// The valid values.
        expected: String,
    },
}

impl EngineOptions {
    /// Sets one of [`NAMES`]. Whether the options fit together is checked later:
    /// [`NicConfig::validate`].
    ///
    /// # Errors
    /// [`SetError`]; nothing is set then.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), SetError> {
        let nic = &mut self.nic;
        match name {
            "handlers" => nic.handlers = number(value)?,
            "workers" => {
                let workers: usize = number(value)?;
                (nic.workers, self.threads) = (workers.max(1), workers > 0);
            }
            "slice-min" => nic.slice_min = number(value)?,
            "receives" => nic.receives = number(value)?,
            "bins" => {
                let bins = value.parse().ok().and_then(|bins| BinCount::new(bins).ok());
                self.bins = bins.ok_or_else(|| expected("1 to 65536"))?;
                nic.bins = self.bins.get() as usize;
            }
            "communicators" => nic.communicators = number(value)?,
            "unexpected" => {
                nic.unexpected = number(value)?;
                let usual = NicConfig::default().unexpected_buffers;
                nic.unexpected_buffers = nic.unexpected.min(usual);
            }
            "unexpected-buffers" => nic.unexpected_buffers = number(value)?,
            "bounce-buffers" => nic.bounce_buffers = number(value)?,
            "eager-limit" => nic.eager_limit = number(value)?,
            "fast-path" => nic.options.fast_path = choice(value)?,
            "early-check" => {
                nic.options.early_check = match value {
                    "on" => true,
                    "off" => false,
                    _ => return Err(expected("one of on, off")),
                }
            }
            "removal" => nic.options.removal = choice(value)?,
            "domains" => nic.options.domains = choice(value)?,
            "barrier" => nic.options.barrier = choice(value)?,
            "hashes" => self.set_hashing(choice(value)?),
            _ => return Err(SetError::Unknown),
        }
        Ok(())
    }
}

fn expected(what: &str) -> SetError {
    SetError::Value {
        expected: what.to_owned(),
    }
}

fn number<T: FromStr>(value: &str) -> Result<T, SetError> {
    value.parse().map_err(|_| expected("a number"))
}

fn choice<T: Choice>(value: &str) -> Result<T, SetError> {
    T::named(value).ok_or_else(|| {
        let names: Vec<_> = T::ALL.iter().map(|value| value.name()).collect();
        expected(&format!("one of {}", names.join(", ")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// For each name, a value other than the default, and what it sets.
    const OTHERS: [[&str; 3]; 16] = [
        ["handlers", "8", "handlers: 8,"],
        ["workers", "2", "workers: 2,"],
        ["slice-min", "3", "slice_min: 3,"],
        ["receives", "7", "receives: 7,"],
        ["bins", "64", "64, bins: 64,"],
        ["communicators", "1", "communicators: 1,"],
        ["unexpected", "5", "unexpected: 5, unexpected_buffers: 5,"],
        ["unexpected-buffers", "4", "unexpected_buffers: 4,"],
        ["bounce-buffers", "3", "bounce_buffers: 3,"],
        ["eager-limit", "64", "eager_limit: 64,"],
        ["fast-path", "prefix", "fast_path: Prefix,"],
        ["early-check", "on", "early_check: true,"],
        ["removal", "eager", "removal: Eager,"],
        ["domains", "paper", "domains: Paper,"],
        ["barrier", "bitmap", "barrier: Bitmap,"],
        ["hashes", "absent", "sender_hashes: false,"],
    ];

    #[test]
    fn every_name_sets_its_own_option() {
        assert_eq!(OTHERS.map(|[name, ..]| name)[..], *NAMES);
        let usual = format!("{:#?}", EngineOptions::default());
        for [name, value, expected] in OTHERS {
            let mut options = EngineOptions::default();
            assert_eq!(options.set(name, value), Ok(()), "{name}");
            let text = format!("{options:#?}");
            let lines = text
                .lines()
                .zip(usual.lines())
                .filter(|(line, usual)| line != usual);
            let changed: Vec<_> = lines.map(|(line, _)| line.trim()).collect();
            assert_eq!(changed.join(" "), expected, "{name}");
            options.nic.validate().expect("a NIC");
        }
    }

    #[test]
    fn nonsense_sets_nothing() {
        let usual = format!("{:?}", EngineOptions::default());
        for name in NAMES {
            let mut options = EngineOptions::default();
            let error = options.set(name, "much").expect_err("no value");
            assert!(matches!(error, SetError::Value { .. }), "{name}");
            assert_eq!(format!("{options:?}"), usual, "{name}");
        }
        assert_eq!(
            EngineOptions::default().set("colour", "8"),
            Err(SetError::Unknown)
        );
    }
}
