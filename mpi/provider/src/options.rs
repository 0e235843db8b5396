//! The environment's options: the command line's names in capitals with the prefix `DPAMATCH_`.

use std::env;
use std::path::PathBuf;

use dpa_model::{NicConfig, Options};
use dpamatch::named::SetError;
use dpamatch::registry::{self, EngineEntry, EngineOptions};

use crate::endpoint::library;
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
    /// The libfabric provider that carries records to other machines; `None`: the TCP socket.
    pub(crate) fabric: Option<String>,
    /// Lines of a ring in shared memory.
    pub(crate) ring_lines: usize,
    /// Consecutive empty polls before the thread yields; 0: never.
    pub(crate) yield_after: u32,
    /// Messages of one peer that may wait for receives.
    pub(crate) waiting_max: u64,
    /// Communicators that software matches, by kind or by kind and number.
    pub(crate) keep_off: Vec<String>,
}

/// Reads variables and keeps the first with an invalid value.
struct Source<'a> {
    lookup: &'a dyn Fn(&str) -> Option<String>,
    /// What is wrong with it.
    bad: Option<String>,
}

impl Source<'_> {
    /// The parsed value. For an invalid one, `parse` says what was expected.
    fn parsed<T>(
        &mut self,
        name: &'static str,
        otherwise: T,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> T {
        debug_assert!(
            variables().any(|known| known == name),
            "{name} is in no table"
        );
        let Some(value) = (self.lookup)(&format!("DPAMATCH_{name}")) else {
            return otherwise;
        };
        match parse(&value) {
            Ok(parsed) => parsed,
            Err(expected) => {
                let message = || format!("DPAMATCH_{name}={value}: expected {expected}");
                self.bad.get_or_insert_with(message);
                otherwise
            }
        }
    }

    fn switch(&mut self, name: &'static str, otherwise: bool) -> bool {
        self.parsed(name, otherwise, |text| match text {
            "on" => Ok(true),
            "off" => Ok(false),
            _ => Err("one of on, off".to_owned()),
        })
    }

    fn path(&mut self, name: &'static str) -> Option<PathBuf> {
        self.parsed(name, None, |text| match text {
            "" => Err("a folder".to_owned()),
            text => Ok(Some(PathBuf::from(text))),
        })
    }
}

/// The variables that are not in [`MATCHING`], without `DPAMATCH_`.
const OWN: &[&str] = &[
    "ENGINE",
    "STATS",
    "LOG",
    "READ_PEERS",
    "TCP",
    "FABRIC",
    "RING_LINES",
    "YIELD",
    "WAITING_MAX",
    "KEEP_OFF",
];

/// Messages of one peer that may wait for receives, by default: 8 GiB of data.
const WAITING_MAX: u64 = 1 << 20;

/// Every variable that the provider reads.
fn variables() -> impl Iterator<Item = &'static str> {
    OWN.iter().copied().chain(MATCHING.split(' '))
}

/// The matching options: variables without `DPAMATCH_`. The command line's names for them are in
/// lower case, with hyphens.
const MATCHING: &str = "HANDLERS WORKERS SLICE_MIN RECEIVES COMMUNICATORS UNEXPECTED BINS \
    FAST_PATH EARLY_CHECK REMOVAL DOMAINS BARRIER HASHES";

impl ProviderOptions {
    /// Reads the environment.
    ///
    /// # Errors
    /// A variable that does not exist, the first with an invalid value, or a NIC that cannot be
    /// built.
    pub(crate) fn from_env() -> Result<Self, String> {
        let names = env::vars_os().map(|(name, _)| name.to_string_lossy().into_owned());
        match names.into_iter().find(|name| is_misspelt(name)) {
            Some(name) => {
                let known = variables().collect::<Vec<_>>().join(", ");
                Err(format!(
                    "{name}: no such variable; after DPAMATCH_ comes one of {known}"
                ))
            }
            None => Self::read(&|name| Some(env::var_os(name)?.to_string_lossy().into_owned())),
        }
    }

    /// The options without any variable set.
    #[cfg(test)]
    pub(crate) fn of_nothing() -> Self {
        Self::read(&|_| None).expect("good defaults")
    }

    fn read(lookup: &dyn Fn(&str) -> Option<String>) -> Result<Self, String> {
        let mut source = Source { lookup, bad: None };
        let mut matching = EngineOptions {
            threads: false,
            ..EngineOptions::default()
        };
        for name in MATCHING.split(' ') {
            let option = name.to_lowercase().replace('_', "-");
            source.parsed(name, (), |value| {
                matching.set(&option, value).map_err(|error| match error {
                    SetError::Value { expected } => expected,
                    _ => "nothing".to_owned(),
                })
            });
        }
        let nic = NicConfig {
            bins: matching.bins.get() as usize,
            // The provider keeps the data, so the NIC's messages have none.
            eager_limit: 0,
            bounce_buffers: 1,
            unexpected_buffers: 0,
            ..matching.nic
        };
        let engine = source.parsed("ENGINE", None, |name| {
            // SAFETY: who sets the variable names a library to run in this program, as with the
            // loader's LD_PRELOAD.
            let entry =
                unsafe { registry::open(name) }.map_err(|why| format!("an engine: {why}"))?;
            Ok((name != NIC).then_some(entry))
        });
        // By default a port is opened only where it is needed.
        let unasked = if spans_machines(lookup) {
            TcpChoice::Outside
        } else {
            TcpChoice::Off
        };
        let log = source.path("LOG");
        let stats = source.path("STATS");
        matching.nic = NicConfig {
            options: Options {
                always_shared: shapes_blocks(lookup),
                log_order: log.is_some(),
                ..nic.options
            },
            ..nic
        };
        let options = Self {
            engine,
            matching,
            log,
            stats,
            read_peers: source.switch("READ_PEERS", true),
            tcp: source.parsed("TCP", unasked, |text| match text {
                "auto" => Ok(unasked),
                text => {
                    TcpChoice::parse(text).ok_or_else(|| "off, on, auto or an address".to_owned())
                }
            }),
            fabric: source.parsed("FABRIC", None, |text| match is_provider(text) {
                true => Ok(Some(text.to_owned())),
                false => Err("another libfabric provider, as in: tcp".to_owned()),
            }),
            ring_lines: source.parsed("RING_LINES", 1024, |text| {
                let lines = text.parse().ok().filter(|lines: &usize| {
                    lines.is_power_of_two() && (512..=1 << 20).contains(lines)
                });
                lines.ok_or_else(|| "a power of two, 512 to 1048576".to_owned())
            }),
            keep_off: source.parsed("KEEP_OFF", Vec::new(), |text| {
                let names: Vec<_> = text.split(',').map(|name| name.trim().to_owned()).collect();
                match names.iter().all(|name| library::is_name(name)) {
                    true => Ok(names),
                    false => Err(
                        "user, collective, control or unknown, each with a number or \
                                  without, as in: user 2, collective"
                            .to_owned(),
                    ),
                }
            }),
            yield_after: source.parsed("YIELD", yield_after(lookup), |text| {
                text.parse().map_err(|_| "a number".to_owned())
            }),
            waiting_max: source.parsed("WAITING_MAX", WAITING_MAX, |text| match text.parse() {
                Ok(0) | Err(_) => Err("a number from 1".to_owned()),
                Ok(most) => Ok(most),
            }),
        };
        if let Some(bad) = source.bad {
            return Err(bad);
        }
        nic.validate()
            .map_err(|error| format!("the emulated NIC cannot be built: {error}"))?;
        Ok(options)
    }
}

/// Whether this can be the name of a libfabric provider other than this one.
fn is_provider(name: &str) -> bool {
    let is_usual = |byte: u8| byte.is_ascii_alphanumeric() || b"_;-".contains(&byte);
    (1..=64).contains(&name.len()) && name.bytes().all(is_usual) && !name.contains("dpamatch")
}

/// Whether a name has the provider's prefix but is no known variable of the provider or the
/// recorder.
fn is_misspelt(name: &str) -> bool {
    let own = name
        .strip_prefix("DPAMATCH_")
        .filter(|own| !own.starts_with("RECORD_"));
    own.is_some_and(|own| variables().all(|known| known != own))
}

/// Whether the job has processes on other machines, according to the launcher.
fn spans_machines(lookup: &dyn Fn(&str) -> Option<String>) -> bool {
    let number = |name: &str| lookup(name)?.parse::<usize>().ok();
    let more = |all: &str, here: &str| number(all).zip(number(here)).is_some_and(|(a, b)| a > b);
    more("PMI_SIZE", "MPI_LOCALNRANKS")
        || more("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE")
        || number("SLURM_NNODES").is_some_and(|nodes| nodes > 1)
}

/// Whether a variable is set that shapes blocks or the queues before them: to have an effect, all
/// blocks are then shared ones.
fn shapes_blocks(lookup: &dyn Fn(&str) -> Option<String>) -> bool {
    let tables = ["RECEIVES", "COMMUNICATORS", "UNEXPECTED", "BINS"];
    let shaping = MATCHING.split(' ').filter(|name| !tables.contains(name));
    shaping
        .map(|name| format!("DPAMATCH_{name}"))
        .any(|name| lookup(&name).is_some())
}

/// Polls before the thread yields, by default: few where the launcher starts more processes of this
/// job than there are cores, else many.
fn yield_after(lookup: &dyn Fn(&str) -> Option<String>) -> u32 {
    let ranks = ["MPI_LOCALNRANKS", "OMPI_COMM_WORLD_LOCAL_SIZE"]
        .iter()
        .find_map(|name| lookup(name)?.parse::<usize>().ok());
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    if ranks.is_some_and(|ranks| ranks > processors) {
        256
    } else {
        16_384
    }
}

/// The registry's name of the emulated NIC.
const NIC: &str = "optimistic";

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::collections::BTreeSet;

    use super::*;

    fn read(pairs: &[(&str, &str)]) -> Result<ProviderOptions, String> {
        ProviderOptions::read(&|name| {
            let pair = pairs
                .iter()
                .find(|(key, _)| name == format!("DPAMATCH_{key}"));
            pair.map(|&(_, value)| value.to_owned())
        })
    }

    /// A part of the options' text, and what a variable makes of it.
    type Change = (&'static str, &'static str);

    const SHARED: Change = ("always_shared: false", "always_shared: true");

    /// Variables without `DPAMATCH_`, values, and what these change.
    const CHANGES: [(&str, &str, &[Change]); 25] = [
        ("HANDLERS", "8", &[("handlers: 32", "handlers: 8"), SHARED]),
        (
            "WORKERS",
            "2",
            &[
                ("workers: 1", "workers: 2"),
                ("threads: false", "threads: true"),
                SHARED,
            ],
        ),
        (
            "SLICE_MIN",
            "3",
            &[("slice_min: 0", "slice_min: 3"), SHARED],
        ),
        ("RECEIVES", "9", &[("receives: 1024", "receives: 9")]),
        (
            "COMMUNICATORS",
            "3",
            &[("communicators: 16", "communicators: 3")],
        ),
        ("UNEXPECTED", "5", &[("unexpected: 4096", "unexpected: 5")]),
        (
            "BINS",
            "64",
            &[("BinCount(256)", "BinCount(64)"), ("bins: 256", "bins: 64")],
        ),
        (
            "FAST_PATH",
            "off",
            &[("fast_path: Sequence", "fast_path: Off"), SHARED],
        ),
        (
            "FAST_PATH",
            "prefix",
            &[("fast_path: Sequence", "fast_path: Prefix"), SHARED],
        ),
        (
            "EARLY_CHECK",
            "on",
            &[("early_check: false", "early_check: true"), SHARED],
        ),
        (
            "REMOVAL",
            "eager",
            &[("removal: Lazy", "removal: Eager"), SHARED],
        ),
        (
            "DOMAINS",
            "paper",
            &[("domains: Keyed", "domains: Paper"), SHARED],
        ),
        (
            "BARRIER",
            "bitmap",
            &[("barrier: Lanes", "barrier: Bitmap"), SHARED],
        ),
        (
            "HASHES",
            "verify",
            &[("inline_hashes: Trust", "inline_hashes: Verify"), SHARED],
        ),
        ("STATS", "x", &[("stats: None", "stats: Some(\"x\")")]),
        (
            "LOG",
            "y",
            &[
                ("log: None", "log: Some(\"y\")"),
                ("log_order: false", "log_order: true"),
            ],
        ),
        (
            "KEEP_OFF",
            "collective, user 12",
            &[("keep_off: []", "keep_off: [\"collective\", \"user 12\"]")],
        ),
        (
            "READ_PEERS",
            "off",
            &[("read_peers: true", "read_peers: false")],
        ),
        ("TCP", "on", &[("tcp: Off", "tcp: Outside")]),
        (
            "FABRIC",
            "verbs;ofi_rxm",
            &[("fabric: None", "fabric: Some(\"verbs;ofi_rxm\")")],
        ),
        (
            "RING_LINES",
            "512",
            &[("ring_lines: 1024", "ring_lines: 512")],
        ),
        (
            "READ_PEERS",
            "on",
            &[("read_peers: true", "read_peers: true")],
        ),
        ("YIELD", "7", &[("yield_after: 16384", "yield_after: 7")]),
        (
            "WAITING_MAX",
            "1",
            &[("waiting_max: 1048576", "waiting_max: 1")],
        ),
        (
            "RING_LINES",
            "1048576",
            &[("ring_lines: 1024", "ring_lines: 1048576")],
        ),
    ];

    const OTHER_PROVIDER: &str = "another libfabric provider, as in: tcp";
    const PARTS: &str = "user, collective, control or unknown, each with a number or \
         without, as in: user 2, collective";

    /// Variables, values, and what was expected instead.
    const REFUSED: [(&str, &str, &str); 19] = [
        ("WAITING_MAX", "0", "a number from 1"),
        ("WAITING_MAX", "-1", "a number from 1"),
        ("HANDLERS", "many", "a number"),
        (
            "ENGINE",
            "magic",
            "an engine: unknown engine magic; known: optimistic, list, bins, col-pnp, col-ll, \
             ll-pnp, simd, rank-array, 4d, ucx, optimistic-seq, adaptive, constant, hw-list, \
             portals, alpu, oracle",
        ),
        ("FAST_PATH", "on", "one of off, literal, prefix, sequence"),
        ("BINS", "0", "1 to 65536"),
        ("TCP", "nowhere", "off, on, auto or an address"),
        ("FABRIC", "dpamatch", OTHER_PROVIDER),
        ("FABRIC", "", OTHER_PROVIDER),
        ("FABRIC", "tcp:1", OTHER_PROVIDER),
        ("RING_LINES", "1000", "a power of two, 512 to 1048576"),
        ("RING_LINES", "256", "a power of two, 512 to 1048576"),
        ("RING_LINES", "513", "a power of two, 512 to 1048576"),
        ("RING_LINES", "2097152", "a power of two, 512 to 1048576"),
        ("LOG", "", "a folder"),
        ("KEEP_OFF", "user 2,world", PARTS),
        ("KEEP_OFF", "user x", PARTS),
        ("KEEP_OFF", "user 02", PARTS),
        ("KEEP_OFF", "user +2", PARTS),
    ];

    /// Each variable changes what it names, and nothing else. Nonsense is named.
    #[test]
    fn each_variable_is_tied_to_what_it_sets() {
        let text = |pairs: &[(&str, &str)]| format!("{:?}", read(pairs).expect("good values"));
        assert_eq!(
            format!("{:#?}\n", ProviderOptions::of_nothing()),
            include_str!("defaults.txt")
        );
        let names = CHANGES.map(|(name, ..)| name).into_iter().chain(["ENGINE"]);
        assert!(
            variables().collect::<BTreeSet<_>>() == names.collect(),
            "a variable has no row"
        );
        for (name, value, changes) in CHANGES {
            let mut expected = text(&[]);
            for (before, after) in changes {
                assert_eq!(expected.matches(before).count(), 1, "{before}");
                expected = expected.replace(before, after);
            }
            assert_eq!(text(&[(name, value)]), expected, "DPAMATCH_{name}={value}");
        }
        for (name, value, expected) in REFUSED {
            let message = format!("DPAMATCH_{name}={value}: expected {expected}");
            assert_eq!(read(&[(name, value)]).expect_err("nonsense"), message);
        }
        assert_eq!(
            read(&[("HANDLERS", "1000")]).expect_err("nonsense"),
            "the emulated NIC cannot be built: handlers is 1000, must be 1 to 256"
        );
        let engine = |name| Ok::<_, String>(read(&[("ENGINE", name)])?.engine.map(|one| one.name));
        assert_eq!(engine("list"), Ok(Some("list")));
        assert_eq!(engine("optimistic"), Ok(None));
    }

    #[test]
    fn a_port_is_opened_where_a_job_spans_machines() {
        let tcp = |pairs: &[(&str, &str)]| {
            let lookup = |name: &str| {
                let pair = pairs.iter().find(|&&(key, _)| name == key);
                pair.map(|&(_, value)| value.to_owned())
            };
            ProviderOptions::read(&lookup).expect("good values").tcp
        };
        assert_eq!(tcp(&[]), TcpChoice::Off);
        assert_eq!(
            tcp(&[("SLURM_NNODES", "1"), ("SLURM_JOB_ID", "7")]),
            TcpChoice::Off
        );
        assert_eq!(
            tcp(&[("PMI_SIZE", "4"), ("MPI_LOCALNRANKS", "4")]),
            TcpChoice::Off
        );
        let elsewhere = [
            [("PMI_SIZE", "8"), ("MPI_LOCALNRANKS", "4")],
            [
                ("OMPI_COMM_WORLD_SIZE", "8"),
                ("OMPI_COMM_WORLD_LOCAL_SIZE", "4"),
            ],
            [("SLURM_NNODES", "2"), ("SLURM_JOB_ID", "7")],
        ];
        for [one, other] in elsewhere {
            assert_eq!(tcp(&[one, other]), TcpChoice::Outside, "{one:?}");
            assert_eq!(
                tcp(&[one, other, ("DPAMATCH_TCP", "auto")]),
                TcpChoice::Outside
            );
            assert_eq!(tcp(&[one, other, ("DPAMATCH_TCP", "off")]), TcpChoice::Off);
        }
        assert_eq!(tcp(&[("DPAMATCH_TCP", "on")]), TcpChoice::Outside);
    }

    #[test]
    fn a_crowded_machine_is_yielded_to_sooner() {
        let few = std::thread::available_parallelism().map_or(1, usize::from);
        for name in ["MPI_LOCALNRANKS", "OMPI_COMM_WORLD_LOCAL_SIZE"] {
            for (ranks, polls) in [(few, 16_384), (few + 1, 256)] {
                let lookup = |asked: &str| (asked == name).then(|| ranks.to_string());
                let options = ProviderOptions::read(&lookup).expect("good values");
                assert_eq!(options.yield_after, polls, "{name}={ranks}");
            }
        }
    }

    /// The page names the variables of the tables, and the code reads each of them.
    #[test]
    fn the_page_and_the_tables_name_what_is_read() {
        let known: BTreeSet<_> = variables().collect();
        let read = RefCell::new(BTreeSet::new());
        let note = |name: &str| {
            read.borrow_mut()
                .extend(name.strip_prefix("DPAMATCH_").map(str::to_owned));
            None
        };
        ProviderOptions::read(&note).expect("good defaults");
        assert!(read.borrow().iter().eq(&known), "{read:?}");

        let page = include_str!("../../../docs/mpi.md");
        let rows = page.lines().filter(|line| line.starts_with("| `DPAMATCH_"));
        let names = rows
            .filter_map(|row| row.split('|').nth(1))
            .flat_map(|cell| cell.split('`'));
        let names = names.filter(|word| word.contains('_'));
        let named: BTreeSet<_> = names
            .map(|word| word.trim_start_matches("DPAMATCH").trim_matches('_'))
            .collect();
        assert_eq!(named, known);
    }

    #[test]
    fn a_misspelt_variable_is_noticed() {
        for name in [
            "DPAMATCH_ENGIN",
            "DPAMATCH_BIN",
            "DPAMATCH_",
            "DPAMATCH_record_DIR",
        ] {
            assert!(is_misspelt(name), "{name}");
        }
        for name in [
            "DPAMATCH_ENGINE",
            "DPAMATCH_RECORD_DIR",
            "PATH",
            "XDPAMATCH_BIN",
        ] {
            assert!(!is_misspelt(name), "{name}");
        }
    }
}
