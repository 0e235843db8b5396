//! Arguments that describe an emulated NIC, shared by all commands that build one.

use clap::ValueEnum;
use dpa_model::{Domains, FastPath, Hints, NicConfig, Options, Removal};
use dpamatch::engine::BinCount;
use dpamatch::registry::{EngineOptions, Hashing};
use serde_json::Value;

use super::input::{choice, default};

/// The sizes of the emulated NIC.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Emulated NIC")]
pub(super) struct NicSize {
    /// Handlers of a block, 1 to 256
    #[arg(long, value_name = "N", default_value_t = 32)]
    handlers: usize,
    /// Host threads that run the handlers, 1 to 256; 0: the calling thread runs them
    #[arg(long, value_name = "M", default_value_t = 1)]
    workers: usize,
    /// Receives that fit on the NIC; more fall back to software matching [default: 1024]
    #[arg(long, value_name = "R")]
    pub(super) receives: Option<usize>,
    /// Communicators that fit on the NIC [default: 16]
    #[arg(long, value_name = "C")]
    pub(super) communicators: Option<usize>,
    /// Unexpected messages that fit on the NIC [default: 4096]
    #[arg(long, value_name = "U")]
    pub(super) unexpected: Option<usize>,
    /// Unexpected messages with a payload in a buffer of the eager limit [default: 1024, or
    /// --unexpected if fewer]
    #[arg(long, value_name = "B")]
    pub(super) unexpected_buffers: Option<usize>,
    /// Largest eager message in bytes; longer ones use rendezvous
    #[arg(long, value_name = "BYTES", default_value_t = 4096)]
    eager_limit: usize,
}

/// The emulated NIC.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Emulated NIC")]
pub(super) struct NicArgs {
    #[command(flatten)]
    pub(super) size: NicSize,
    /// Minimum handlers per worker; 0: share a block only while that is faster
    #[arg(long, value_name = "S", default_value_t = 0)]
    slice_min: usize,
    /// Entry rule of the fast path
    #[arg(long, value_parser = choice::<FastPath>(), value_name = "FORM", default_value = default::<FastPath>())]
    fast_path: FastPath,
    /// Skip receives that a lower handler booked
    #[arg(long)]
    early_check: bool,
    /// When consumed receives leave their chain
    #[arg(long, value_parser = choice::<Removal>(), value_name = "WHEN", default_value = default::<Removal>())]
    removal: Removal,
    /// Which messages of a shared block wait for each other
    #[arg(long, value_parser = choice::<Domains>(), value_name = "WHICH", default_value = default::<Domains>())]
    domains: Domains,
    /// Side that computes the hashes of a message
    #[arg(long, value_parser = choice::<Hashing>(), value_name = "WHO", default_value = default::<Hashing>())]
    hashes: Hashing,
    /// Entries on the card of the engines hw-list, portals and alpu
    #[arg(long, value_name = "L", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=1_048_576))]
    list_entries: u32,
    /// Hint of every communicator; repeatable
    #[arg(long = "hint", value_enum, value_name = "HINT")]
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
    pub(super) fn config(&self, bins: BinCount) -> NicConfig {
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
            eager_limit: self.eager_limit,
            ..defaults
        }
    }
}

impl NicArgs {
    pub(super) fn handlers(&self) -> usize {
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
                ..Options::default()
            },
            ..self.size.config(bins)
        }
    }

    pub(super) fn options(&self, bins: BinCount) -> EngineOptions {
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

pub(super) fn settings(options: &EngineOptions) -> Vec<(&'static str, Value)> {
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
        ("eager_limit", nic.eager_limit.into()),
        ("fast_path", format!("{:?}", nic.options.fast_path).into()),
        ("early_check", nic.options.early_check.into()),
        ("removal", format!("{:?}", nic.options.removal).into()),
        ("domains", format!("{:?}", nic.options.domains).into()),
        ("hashes", format!("{:?}", nic.options.inline_hashes).into()),
        ("inline_hashes", options.sender_hashes.into()),
        ("hints", given.map(|(_, hint)| format!("{hint:?}")).collect()),
    ]
}
