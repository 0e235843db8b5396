//! Arguments that describe an emulated NIC, shared by all commands that build one.

use std::ffi::OsString;

use clap::{Arg, ValueEnum};
use dpa_model::{Barrier, Domains, FastPath, Hints, NicConfig, Options, Removal};
use dpamatch::engine::BinCount;
use dpamatch::named::NAMES;
use dpamatch::registry::{EngineOptions, Hashing};
use serde_json::Value;

use super::BadInput;
use super::input::{choice, default, did_you_mean};

/// The heading of these options in the help.
pub const HEADING: &str = "Emulated NIC";

/// The option that describes all options of the NIC.
pub const HELP: &str = "--help-nic";

/// The options of the NIC by name, for commands that have only some of them.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = HEADING)]
pub struct ByName {
    /// Options of the NIC by name, as in C and in the environment; --nic help describes them
    #[arg(long, global = true, value_name = "KEY=VALUE,..")]
    nic: Option<String>,
    /// Describe all options of the NIC
    #[arg(long, global = true, hide = true)]
    help_nic: bool,
}

/// The command line with `--KEY=VALUE` for each option in `--nic KEY=VALUE,..`, up to a `--`.
///
/// # Errors
/// An option without a value, or one that does not exist.
pub fn expanded(words: Vec<OsString>) -> Result<Vec<OsString>, BadInput> {
    let mut out = Vec::with_capacity(words.len());
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let pairs = match word.to_str() {
            Some("--") => {
                out.push(word);
                break;
            }
            Some("--nic") => match words.next().map(OsString::into_string) {
                Some(Ok(pairs)) => pairs,
                // The parser of arguments says what is missing.
                Some(Err(other)) => return Err(BadInput(format!("--nic {}", other.display()))),
                None => String::new(),
            },
            Some(word) if word.starts_with("--nic=") => word["--nic=".len()..].to_owned(),
            _ => {
                out.push(word);
                continue;
            }
        };
        if pairs == "help" {
            out.push(HELP.into());
            continue;
        }
        for pair in pairs.split(',') {
            out.extend(option(pair)?);
        }
    }
    out.extend(words);
    Ok(out)
}

fn option(pair: &str) -> Result<Option<OsString>, BadInput> {
    let wrong = |what: String| BadInput(format!("--nic {pair}: {what}"));
    let (key, value) = pair
        .split_once('=')
        .ok_or_else(|| wrong("must be KEY=VALUE".to_owned()))?;
    if !NAMES.contains(&key) {
        let meant = did_you_mean(key, NAMES.iter().copied());
        return Err(wrong(format!(
            "unknown{meant}; known: {}",
            NAMES.join(", ")
        )));
    }
    match (key, value) {
        ("early-check", "on") => Ok(Some("--early-check".into())),
        ("early-check", "off") => Ok(None),
        ("early-check", _) => Err(wrong("must be on or off".to_owned())),
        _ => Ok(Some(format!("--{key}={value}").into())),
    }
}

/// The command's help with all options of the NIC and no others.
pub fn help(command: clap::Command) -> clap::Command {
    let is_of_nic = |argument: &Arg| argument.get_help_heading() == Some(HEADING);
    command.after_help("").mut_args(move |it| {
        let hide = !is_of_nic(&it);
        it.hide(hide)
    })
}

/// The sizes of the emulated NIC.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = HEADING)]
pub struct NicSize {
    /// Handlers of a block, 1 to 256
    #[arg(long, value_name = "N", default_value_t = 32)]
    handlers: usize,
    /// Host threads that run the handlers, 1 to 256; 0: the calling thread runs them
    #[arg(long, value_name = "M", default_value_t = 1)]
    pub(super) workers: usize,
    /// Receives that fit on the NIC; more fall back to software matching [default: 1024]
    #[arg(long, value_name = "R")]
    pub receives: Option<usize>,
    /// Communicators that fit on the NIC [default: 16]
    #[arg(long, value_name = "C", hide = true)]
    pub communicators: Option<usize>,
    /// Unexpected messages that fit on the NIC [default: 4096]
    #[arg(long, value_name = "U")]
    pub unexpected: Option<usize>,
    /// Unexpected messages with a payload in a buffer of the eager limit [default: 1024, or
    /// --unexpected if fewer]
    #[arg(long, value_name = "B", hide = true)]
    pub unexpected_buffers: Option<usize>,
    /// Messages in flight from a sender with a payload in a buffer of the eager limit; more wait
    #[arg(long, value_name = "B", default_value_t = NicConfig::default().bounce_buffers, hide = true)]
    bounce_buffers: usize,
    /// Largest eager message in bytes; longer ones use rendezvous
    #[arg(long, value_name = "BYTES", default_value_t = 4096, hide = true)]
    eager_limit: usize,
}

/// The emulated NIC.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = HEADING)]
pub struct NicArgs {
    #[command(flatten)]
    pub size: NicSize,
    #[command(flatten)]
    by_name: ByName,
    /// Minimum handlers per worker; 0: share a block only while that is faster
    #[arg(long, value_name = "S", default_value_t = 0, hide = true)]
    slice_min: usize,
    /// Entry rule of the fast path
    #[arg(long, value_parser = choice::<FastPath>(), value_name = "FORM", default_value = default::<FastPath>(), hide = true)]
    fast_path: FastPath,
    /// Skip receives that a lower handler booked
    #[arg(long, hide = true)]
    early_check: bool,
    /// When consumed receives leave their chain
    #[arg(long, value_parser = choice::<Removal>(), value_name = "WHEN", default_value = default::<Removal>(), hide = true)]
    removal: Removal,
    /// Which messages of a shared block wait for each other
    #[arg(long, value_parser = choice::<Domains>(), value_name = "WHICH", default_value = default::<Domains>(), hide = true)]
    domains: Domains,
    /// How a worker that shares a block says that it has booked; without effect on keyed domains
    #[arg(long, value_parser = choice::<Barrier>(), value_name = "HOW", default_value = default::<Barrier>(), hide = true)]
    barrier: Barrier,
    /// Side that computes the hashes of a message
    #[arg(long, value_parser = choice::<Hashing>(), value_name = "WHO", default_value = default::<Hashing>(), hide = true)]
    hashes: Hashing,
    /// Entries on the card of the engines hw-list, portals and alpu
    #[arg(long, value_name = "L", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..=1_048_576), hide = true)]
    list_entries: u32,
    /// Hint of every communicator; repeatable
    #[arg(long = "hint", value_enum, value_name = "HINT", hide = true)]
    hints: Vec<HintArg>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum HintArg {
    /// mpi_assert_no_any_source
    NoAnySource,
    /// mpi_assert_no_any_tag
    NoAnyTag,
    /// mpi_assert_allow_overtaking: several workers may give any legal result, not the oracle's
    AllowOvertaking,
}

impl NicSize {
    pub fn config(&self, bins: BinCount) -> NicConfig {
        let defaults = NicConfig::default();
        let unexpected = self.unexpected.unwrap_or(defaults.unexpected);
        NicConfig {
            handlers: self.handlers,
            workers: self.workers.max(1),
            receives: self.receives.unwrap_or(defaults.receives),
            bins: bins.get() as usize,
            communicators: self.communicators.unwrap_or(defaults.communicators),
            unexpected,
            unexpected_buffers: self
                .unexpected_buffers
                .unwrap_or_else(|| unexpected.min(defaults.unexpected_buffers)),
            bounce_buffers: self.bounce_buffers,
            eager_limit: self.eager_limit,
            ..defaults
        }
    }
}

impl NicArgs {
    pub fn handlers(&self) -> usize {
        self.size.handlers
    }

    fn config(&self, bins: BinCount) -> NicConfig {
        NicConfig {
            slice_min: self.slice_min,
            options: Options {
                fast_path: self.fast_path,
                early_check: self.early_check,
                removal: self.removal,
                domains: self.domains,
                barrier: self.barrier,
                ..Options::default()
            },
            ..self.size.config(bins)
        }
    }

    pub fn options(&self, bins: BinCount) -> EngineOptions {
        let hinted = |hint| self.hints.contains(&hint);
        let mut options = EngineOptions {
            bins,
            nic: self.config(bins),
            threads: self.size.workers > 0,
            list_entries: self.list_entries,
            hints: Hints {
                no_any_source: hinted(HintArg::NoAnySource),
                no_any_tag: hinted(HintArg::NoAnyTag),
                allow_overtaking: hinted(HintArg::AllowOvertaking),
                ..Hints::default()
            },
            ..EngineOptions::default()
        };
        options.set_hashing(self.hashes);
        options
    }
}

pub fn settings(options: &EngineOptions) -> Vec<(&'static str, Value)> {
    let EngineOptions { nic, hints, .. } = options;
    let hints = [
        (hints.no_any_source, HintArg::NoAnySource),
        (hints.no_any_tag, HintArg::NoAnyTag),
        (hints.allow_overtaking, HintArg::AllowOvertaking),
    ];
    let given = hints.iter().filter(|(given, _)| *given);
    vec![
        ("handlers", nic.handlers.into()),
        ("workers", nic.workers.into()),
        ("slice_min", nic.slice_min.into()),
        ("receives", nic.receives.into()),
        ("communicators", nic.communicators.into()),
        ("unexpected_messages", nic.unexpected.into()),
        ("unexpected_buffers", nic.unexpected_buffers.into()),
        ("bounce_buffers", nic.bounce_buffers.into()),
        ("eager_limit", nic.eager_limit.into()),
        ("fast_path", format!("{:?}", nic.options.fast_path).into()),
        ("early_check", nic.options.early_check.into()),
        ("removal", format!("{:?}", nic.options.removal).into()),
        ("domains", format!("{:?}", nic.options.domains).into()),
        ("barrier", format!("{:?}", nic.options.barrier).into()),
        ("hashes", format!("{:?}", nic.options.inline_hashes).into()),
        ("inline_hashes", options.sender_hashes.into()),
        (
            "hints",
            given.map(|(_, hint)| format!("{hint:?}")).collect(),
        ),
    ]
}

#[cfg(test)]
#[test]
fn settings_of_the_nic_become_options() {
    let line = "bench --nic=handlers=3,receives=5 --nic workers=2 -- --nic=handlers=1";
    let words = expanded(line.split(' ').map(OsString::from).collect()).expect("known settings");
    let line = "bench --handlers=3 --receives=5 --workers=2 -- --nic=handlers=1";
    assert_eq!(words, line.split(' ').collect::<Vec<_>>());
}
