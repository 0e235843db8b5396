//! What the environment asks for: names of the command line in capitals, with `DPAMATCH_` before.

use std::env;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use dpa_model::{FastPath, InlineHashes, NicConfig, Removal};
use dpamatch::engine::BinCount;
use dpamatch::registry::{self, EngineEntry, EngineOptions, Fallback};

use crate::wire::TcpChoice;

/// Options of a process, read once.
#[derive(Clone, Debug)]
pub(crate) struct ProviderOptions {
    /// `None`: the emulated NIC.
    pub(crate) engine: Option<&'static EngineEntry>,
    /// The NIC, and what engines take of its options.
    pub(crate) matching: EngineOptions,
    /// Where each endpoint writes its order log.
    pub(crate) log: Option<PathBuf>,
    /// Where each endpoint writes its statistics when it ends.
    pub(crate) stats: Option<PathBuf>,
    /// Long messages may be read from the sender's memory.
    pub(crate) read_peers: bool,
    /// The TCP socket.
    pub(crate) tcp: TcpChoice,
    /// Lines of a ring in shared memory.
    pub(crate) ring_lines: usize,
    /// Fruitless polls in a row before the processor is given to others; 0: never.
    pub(crate) yield_after: u32,
}

/// A variable that makes no sense.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct BadOption {
    name: &'static str,
    value: String,
    expected: String,
}

impl fmt::Display for BadOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DPAMATCH_{}={}: expected {}", self.name, self.value, self.expected)
    }
}

/// Reads variables; the first bad one is kept.
struct Source<'a> {
    look: &'a dyn Fn(&str) -> Option<String>,
    bad: Option<BadOption>,
}

impl Source<'_> {
    fn parsed<T>(
        &mut self,
        name: &'static str,
        otherwise: T,
        expected: &str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> T {
        let Some(value) = (self.look)(&format!("DPAMATCH_{name}")) else { return otherwise };
        match parse(&value) {
            Some(parsed) => parsed,
            None => {
                let expected = expected.to_owned();
                self.bad.get_or_insert(BadOption { name, value, expected });
                otherwise
            }
        }
    }

    fn number<T: FromStr>(&mut self, name: &'static str, otherwise: T) -> T {
        self.parsed(name, otherwise, "a number", |text| text.parse().ok())
    }

    fn word<T: Copy>(&mut self, name: &'static str, words: &[(&str, T)], otherwise: T) -> T {
        let names: Vec<_> = words.iter().map(|&(word, _)| word).collect();
        self.parsed(name, otherwise, &format!("one of {}", names.join(", ")), |text| {
            words.iter().find(|&&(word, _)| word == text).map(|&(_, value)| value)
        })
    }

    fn path(&mut self, name: &'static str) -> Option<PathBuf> {
        self.parsed(name, None, "a folder", |text| {
            (!text.is_empty()).then(|| Some(PathBuf::from(text)))
        })
    }
}

const SWITCH: &[(&str, bool)] = &[("on", true), ("off", false)];

impl ProviderOptions {
    /// Reads the environment.
    ///
    /// # Errors
    /// The first variable with a value that makes no sense, or a NIC that cannot be built.
    pub(crate) fn from_env() -> Result<Self, String> {
        Self::read(&|name| env::var_os(name).map(|value| value.to_string_lossy().into_owned()))
    }

    fn read(look: &dyn Fn(&str) -> Option<String>) -> Result<Self, String> {
        let mut source = Source { look, bad: None };
        let defaults = NicConfig::default();
        let workers: usize = source.number("WORKERS", 0);
        let mut nic = NicConfig {
            handlers: source.number("HANDLERS", defaults.handlers),
            workers: workers.max(1),
            slice_min: source.number("SLICE_MIN", defaults.slice_min),
            receives: source.number("RECEIVES", defaults.receives),
            communicators: source.number("COMMUNICATORS", defaults.communicators),
            unexpected: source.number("UNEXPECTED", defaults.unexpected),
            // The provider keeps the data: what the NIC gets has none.
            eager_limit: 0,
            bounce_buffers: 1,
            unexpected_buffers: 0,
            ..defaults
        };
        let forms = [
            ("off", FastPath::Off),
            ("literal", FastPath::Literal),
            ("prefix", FastPath::Prefix),
            ("sequence", FastPath::Sequence),
        ];
        nic.options.fast_path = source.word("FAST_PATH", &forms, FastPath::Sequence);
        nic.options.early_check = source.word("EARLY_CHECK", SWITCH, false);
        let times =
            [("lazy", Removal::Lazy), ("eager", Removal::Eager), ("deferred", Removal::Deferred)];
        nic.options.removal = source.word("REMOVAL", &times, Removal::Lazy);
        let uses = [
            ("trust", (InlineHashes::Trust, true)),
            ("verify", (InlineHashes::Verify, true)),
            ("ignore", (InlineHashes::Ignore, true)),
            ("absent", (InlineHashes::Trust, false)),
        ];
        let (hashes, sender_hashes) = source.word("HASHES", &uses, uses[0].1);
        nic.options.inline_hashes = hashes;
        let fallbacks = [("bins", Fallback::Bins), ("list", Fallback::List)];
        let fallback = source.word("FALLBACK", &fallbacks, Fallback::Bins);
        let bins = source.parsed("BINS", BinCount::default(), "1 to 65536", |text| {
            BinCount::new(text.parse().ok()?).ok()
        });
        let engine = source.parsed("ENGINE", None, &engine_names(), |name| {
            registry::find(name).map(|entry| (name != NIC).then_some(entry))
        });
        let log = source.path("LOG");
        nic.options.log_order = log.is_some();
        let options = Self {
            engine,
            matching: EngineOptions {
                bins,
                nic,
                threads: workers > 0,
                sender_hashes,
                fallback,
                ..EngineOptions::default()
            },
            log,
            stats: source.path("STATS"),
            read_peers: source.word("READ_PEERS", SWITCH, true),
            tcp: source.parsed("TCP", TcpChoice::Outside, "off, auto or an address", |text| {
                TcpChoice::parse(text)
            }),
            ring_lines: source.parsed(
                "RING_LINES",
                1024,
                "a power of two, 512 to 1048576",
                |text| {
                    let lines: usize = text.parse().ok()?;
                    (lines.is_power_of_two() && (512..=1 << 20).contains(&lines)).then_some(lines)
                },
            ),
            yield_after: source.number("YIELD", yield_after(look)),
        };
        if let Some(bad) = source.bad {
            return Err(bad.to_string());
        }
        let nic = NicConfig { bins: bins.get() as usize, ..nic };
        nic.validate().map_err(|error| format!("the emulated NIC cannot be built: {error}"))?;
        Ok(options)
    }
}

/// Polls before the processor is given away, unless that is asked for: few where there are more
/// processes of this job than processors, as far as launchers tell; else so many that it is seldom.
fn yield_after(look: &dyn Fn(&str) -> Option<String>) -> u32 {
    let ranks = ["MPI_LOCALNRANKS", "OMPI_COMM_WORLD_LOCAL_SIZE"]
        .iter()
        .find_map(|name| look(name)?.parse::<usize>().ok());
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    if ranks.is_some_and(|ranks| ranks > processors) { 256 } else { 16_384 }
}

/// The registry's name of the emulated NIC.
const NIC: &str = "optimistic";

fn engine_names() -> String {
    let names: Vec<_> = registry::ENGINES.iter().map(|entry| entry.name).collect();
    format!("one of {}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, &str)]) -> Result<ProviderOptions, String> {
        ProviderOptions::read(&|name| {
            let pair = pairs.iter().find(|(key, _)| name == format!("DPAMATCH_{key}"));
            pair.map(|&(_, value)| value.to_owned())
        })
    }

    #[test]
    fn values_arrive() {
        let options = read(&[("HANDLERS", "8"), ("ENGINE", "list"), ("READ_PEERS", "off")]);
        let options = options.expect("good values");
        assert_eq!(options.matching.nic.handlers, 8);
        assert_eq!(options.engine.map(|entry| entry.name), Some("list"));
        assert!(!options.read_peers && !options.matching.threads);
        assert!(read(&[("ENGINE", "optimistic")]).expect("the NIC").engine.is_none());
    }

    #[test]
    fn nonsense_is_named() {
        for (name, value) in [
            ("HANDLERS", "many"),
            ("HANDLERS", "1000"),
            ("ENGINE", "magic"),
            ("FAST_PATH", "on"),
            ("BINS", "0"),
            ("TCP", "nowhere"),
            ("RING_LINES", "1000"),
            ("LOG", ""),
        ] {
            let message = read(&[(name, value)]).expect_err("nonsense");
            assert!(!message.contains('\n'), "{message}");
            assert!(message.contains(value), "{message}");
        }
    }
}
