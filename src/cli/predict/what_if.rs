//! Variants that nobody has measured.

use dpamatch_predict::{FastPath, Offer, Pattern, Removal, Setup, predict};

use super::super::table::Table;
use super::rates::progress;
use super::{Common, wrong};

/// A named change of the set-up.
struct Variant {
    question: &'static str,
    name: &'static str,
    change: fn(&mut Setup),
}

const fn variant(question: &'static str, name: &'static str, change: fn(&mut Setup)) -> Variant {
    Variant { question, name, change }
}

const VARIANTS: &[Variant] = &[
    variant("as given", "", |_| {}),
    variant("early booking check (O27)", "on, form sequence", |setup| {
        (setup.early_check, setup.fast_path) = (true, FastPath::Sequence);
    }),
    variant("early booking check (O27)", "off, form sequence", |setup| {
        (setup.early_check, setup.fast_path) = (false, FastPath::Sequence);
    }),
    variant("early booking check (O27)", "on, no fast path", |setup| {
        (setup.early_check, setup.fast_path) = (true, FastPath::Off);
    }),
    variant("early booking check (O27)", "off, no fast path", |setup| {
        (setup.early_check, setup.fast_path) = (false, FastPath::Off);
    }),
    variant("inline hashes (O26)", "on", |setup| setup.inline_hashes = true),
    variant("inline hashes (O26)", "off", |setup| setup.inline_hashes = false),
    variant("removal (O28)", "lazy", |setup| setup.removal = Removal::Lazy),
    variant("removal (O28)", "eager", |setup| setup.removal = Removal::Eager),
    variant("removal (O28)", "at the block's end", |setup| setup.removal = Removal::Deferred),
    variant("fast path (S8)", "off", |setup| setup.fast_path = FastPath::Off),
    variant("fast path (S8)", "a: literal", |setup| setup.fast_path = FastPath::Literal),
    variant("fast path (S8)", "b: prefix", |setup| setup.fast_path = FastPath::Prefix),
    variant("fast path (S8)", "c: sequence", |setup| setup.fast_path = FastPath::Sequence),
    variant("bins", "1", |setup| setup.bins = 1),
    variant("bins", "32", |setup| setup.bins = 32),
    variant("bins", "128", |setup| setup.bins = 128),
    variant("bins", "2048", |setup| setup.bins = 2048),
    variant("placement", "packed", |setup| {
        setup.profile.rules.placement = dpamatch_predict::Placement::Packed
    }),
    variant("placement", "spread", |setup| {
        setup.profile.rules.placement = dpamatch_predict::Placement::Spread
    }),
    variant("blocks (S1)", "fence", |setup| setup.profile.rules.fence = dpamatch_predict::Fence::Block),
    variant("blocks (S1)", "pipelined", |setup| {
        setup.profile.rules.fence = dpamatch_predict::Fence::Pipelined
    }),
    variant("barrier", "one word", |setup| setup.profile.rules.barrier = dpamatch_predict::Barrier::Word),
    variant("barrier", "a word per handler", |setup| {
        setup.profile.rules.barrier = dpamatch_predict::Barrier::Lanes;
    }),
    variant("boundary", "handlers", |setup| {
        setup.profile.rules.boundary = dpamatch_predict::Boundary::Handlers;
    }),
    variant("boundary", "leader", |setup| setup.profile.rules.boundary = dpamatch_predict::Boundary::Leader),
    variant("overlap", "clean handlers", |setup| {
        setup.profile.rules.overlap = dpamatch_predict::Overlap::Clean;
    }),
    variant("overlap", "always", |setup| setup.profile.rules.overlap = dpamatch_predict::Overlap::Always),
    variant("overlap", "never", |setup| setup.profile.rules.overlap = dpamatch_predict::Overlap::Never),
];

#[derive(Debug, clap::Args)]
pub(super) struct WhatIfArgs {
    /// Numbers of handlers
    #[arg(long, value_name = "N,N..", value_delimiter = ',', default_value = "32,64,128,190")]
    threads: Vec<usize>,
}

pub(super) fn run(args: &WhatIfArgs, common: &Common) -> anyhow::Result<()> {
    let mut base = common.setup(1)?;
    // Windows of 128 would be one block or two.
    base.profile.driver.window = 0;
    let title = format!(
        "What nobody has measured: {} (version {}), an endless stream, M messages/s of virtual time.",
        base.profile.name, base.profile.version
    );
    let columns = ["question", "answer", "handlers", "no conflicts", "all equal", "25 % equal"];
    let mut table = Table::new("what_if", title, columns);
    let bar = progress(VARIANTS.len() * args.threads.len());
    let mixed = Pattern::Mixed { equal: 25, seed: common.seed };
    for variant in VARIANTS {
        for &handlers in &args.threads {
            let mut setup = Setup { handlers, ..base.clone() };
            (variant.change)(&mut setup);
            let rate = |pattern| {
                predict(&setup, Offer { pattern, bytes: 8 }, 0)
                    .map(|prediction| prediction.rate)
                    .map_err(wrong)
            };
            table.row([
                variant.question.into(),
                variant.name.into(),
                handlers.into(),
                rate(Pattern::Distinct)?.into(),
                rate(Pattern::Equal)?.into(),
                rate(mixed)?.into(),
            ]);
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    common.show(&[table])
}
