//! Variants without measurements.

use dpamatch_predict::{BlockEnd, FastPath, Removal, Repost, Setup, predict};

use super::super::progress::bar;
use super::recorded::RecordedArgs;
use super::{Common, Like, Threads, Workload, numbers, options, wrong};
use dpamatch_tools::table::Table;

struct Variant {
    question: &'static str,
    name: &'static str,
    change: fn(&mut Setup),
}

const fn variant(question: &'static str, name: &'static str, change: fn(&mut Setup)) -> Variant {
    Variant { question, name, change }
}

/// Sets the block's end. Receives leave their chain at once, so that handlers can recycle them.
fn ends(setup: &mut Setup, block_end: BlockEnd, repost: Repost) {
    setup.profile.rules.block_end = block_end;
    (setup.removal, setup.repost) = (Removal::Lazy, repost);
}

const VARIANTS: &[Variant] = &[
    variant("as given", "", |_| {}),
    variant("early booking check", "on, form sequence", |setup| {
        (setup.early_check, setup.fast_path) = (true, FastPath::Sequence);
    }),
    variant("early booking check", "off, form sequence", |setup| {
        (setup.early_check, setup.fast_path) = (false, FastPath::Sequence);
    }),
    variant("early booking check", "on, no fast path", |setup| {
        (setup.early_check, setup.fast_path) = (true, FastPath::Off);
    }),
    variant("early booking check", "off, no fast path", |setup| {
        (setup.early_check, setup.fast_path) = (false, FastPath::Off);
    }),
    variant("inline hashes", "on", |setup| setup.inline_hashes = true),
    variant("inline hashes", "off", |setup| setup.inline_hashes = false),
    variant("removal", "lazy", |setup| setup.removal = Removal::Lazy),
    variant("removal", "eager", |setup| setup.removal = Removal::Eager),
    variant("removal", "at the block's end", |setup| setup.removal = Removal::Deferred),
    variant("fast path", "off", |setup| setup.fast_path = FastPath::Off),
    variant("fast path", "a: literal", |setup| setup.fast_path = FastPath::Literal),
    variant("fast path", "b: prefix", |setup| setup.fast_path = FastPath::Prefix),
    variant("fast path", "c: sequence", |setup| setup.fast_path = FastPath::Sequence),
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
    variant("barrier", "one bitmap", |setup| {
        setup.profile.nic.barrier = dpamatch_predict::Barrier::Bitmap
    }),
    variant("barrier", "a word per handler", |setup| {
        setup.profile.nic.barrier = dpamatch_predict::Barrier::Lanes;
    }),
    variant("overlap", "clean handlers", |setup| {
        setup.profile.rules.overlap = dpamatch_predict::Overlap::Clean;
    }),
    variant("overlap", "always", |setup| {
        setup.profile.rules.overlap = dpamatch_predict::Overlap::Always
    }),
    variant("overlap", "never", |setup| {
        setup.profile.rules.overlap = dpamatch_predict::Overlap::Never
    }),
    variant("block's end (lazy)", "on each handler's EU", |setup| {
        ends(setup, BlockEnd::Handlers, Repost::Leader);
    }),
    variant("block's end (lazy)", "on the leader's", |setup| {
        ends(setup, BlockEnd::Leader, Repost::Leader);
    }),
    variant("block's end (lazy)", "there, but handlers repost", |setup| {
        ends(setup, BlockEnd::Leader, Repost::Handlers);
    }),
];

#[derive(Debug, clap::Args)]
pub(super) struct WhatIfArgs {
    /// Numbers of handlers
    #[arg(long, value_name = "N,N-M..", value_delimiter = ',', default_value = "32,64,128,190")]
    threads: Vec<Threads>,
    #[command(flatten)]
    recorded: RecordedArgs,
}

pub(super) fn run(args: &WhatIfArgs, common: &Common) -> anyhow::Result<()> {
    let base = common.setup_like(Like::Prototype, 1)?;
    let (workloads, what) = match args.recorded.load(common)? {
        Some(recorded) => (vec![(recorded.name.clone(), recorded)], "a recorded sequence"),
        None => {
            let named =
                [("no conflicts", "nc"), ("all equal", "wc-fp"), ("25 % equal", "mixed:25")];
            let workload = |(title, name): (&str, &str)| {
                Workload::parse(name, common.seed, 8).map(|workload| (title.to_owned(), workload))
            };
            (named.into_iter().map(workload).collect::<Result<_, _>>()?, "an endless stream")
        }
    };
    let title =
        format!("Unmeasured variants: {}, {what}, M messages/s of virtual time.", options(&base));
    let mut columns = vec!["question".to_owned(), "answer".to_owned(), "handlers".to_owned()];
    columns.extend(workloads.iter().map(|(title, _)| title.clone()));
    let mut table = Table::new("what_if", title, columns).keyed(3).named(&[
        ("no conflicts", "no_conflicts_msgs_per_us"),
        ("all equal", "all_equal_msgs_per_us"),
        ("25 % equal", "mixed_25_msgs_per_us"),
    ]);
    let bar = bar(VARIANTS.len() * numbers(&args.threads).count(), "predictions");
    for variant in VARIANTS {
        for handlers in numbers(&args.threads) {
            let mut row = vec![variant.question.into(), variant.name.into(), handlers.into()];
            for (_, workload) in &workloads {
                let mut setup = workload.setup(common, Like::Prototype, handlers)?;
                // Windows of 128 would have only one or two blocks.
                setup.profile.driver.window = 0;
                (variant.change)(&mut setup);
                row.push(predict(&setup, &workload.offer, 0).map_err(wrong)?.rate.into());
            }
            table.push(row);
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    common.show(&[table])
}
