//! `dpamatch bench --trace`: a rank's recorded sequence as the load.

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use dpamatch_tools::analyze::Run;
use dpamatch_tools::analyze::order::Network;
use dpamatch_tools::bench::{LeftOut, Machine, Paths, Recorded, RecordedRow};
use dpamatch_tools::counted;
use dpamatch_tools::table::{Cell, Table, wrapped};
use dpamatch_tools::version::VERSION;
use dpamatch_traces::OpenOptions;
use serde_json::{Map, Value, json};

use super::super::progress::{bar, spinner};
use super::super::table::write;
use super::super::trace::{bad_input, open};
use super::super::{BadInput, document, engines, output};
use super::{Args, Format, WIRES};

pub(super) fn run(args: &Args, path: &Path) -> anyhow::Result<()> {
    let source = open(path, OpenOptions::default())?;
    let progress = bar(source.ranks().len(), "ranks read");
    let run =
        Run::load(source.as_ref(), |_| progress.inc(1)).map_err(|error| bad_input(error, false))?;
    progress.finish_and_clear();
    let (orders, _, _) = run.causal(Network {
        seed: args.seed,
        ..Network::default()
    });
    let at = match args.rank {
        Some(rank) => run.programs.iter().position(|program| program.rank == rank),
        None => (0..run.programs.len()).max_by_key(|&at| run.inbound[at].len()),
    };
    let Some(at) = at else {
        return Err(BadInput(format!("{}: no trace of this rank", path.display())).into());
    };
    let rank = run.programs[at].rank;
    let size = match args.sizes()[..] {
        [] => 8,
        [size] => size,
        _ => return Err(BadInput("--bytes: --trace takes one size".to_owned()).into()),
    };
    let recorded = Recorded::new(run.view(at).events(&orders[at]), size);
    if recorded.messages() == 0 {
        return Err(BadInput(format!("{}: rank {rank} gets no messages", path.display())).into());
    }
    let options = args.nic.options(args.bins());
    options
        .nic
        .validate()
        .map_err(|error| BadInput(error.to_string()))?;
    if size > options.nic.eager_limit.max(dpa_model::INLINE_BYTES) {
        return Err(BadInput("--bytes: a recorded sequence is sent eagerly".to_owned()).into());
    }
    let mut entries = vec![engines::one("optimistic")?];
    let is_wire = |name: &&str| WIRES.contains(name);
    let (wires, baselines): (Vec<_>, Vec<_>) = args.baseline().into_iter().partition(is_wire);
    let named = wires.into_iter().filter(|name| *name != "none");
    let wires: Vec<String> = named.map(str::to_owned).collect();
    entries.extend(
        baselines
            .into_iter()
            .filter_map(|name| engines::one(name).ok()),
    );
    let budget = Duration::from_millis(args.budget);
    let progress = spinner("rounds");
    let rows = recorded.measure(&options, &entries, args.rounds as usize, budget);
    progress.finish_and_clear();
    let rows = rows?;
    let load = Load {
        rank,
        recorded: &recorded,
        size,
        rounds: args.rounds,
        wires,
    };
    let whole = || document::of_tables(&[&table(&load, &rows)], conditions(&load));
    args.save.write(whole)?;
    let mut out = output::stdout();
    if args.format == Format::Table {
        let about = format!("dpamatch {VERSION} on {}", Machine::this());
        writeln!(out, "{}", wrapped(&about, args.wide.width()))?;
    }
    match args.format {
        Format::Json => document::write(&mut *out, &whole())?,
        form => write(&mut *out, &[table(&load, &rows)], form, args.wide)?,
    }
    Ok(out.flush()?)
}

pub(super) struct Load<'a> {
    pub(super) rank: u32,
    pub(super) recorded: &'a Recorded,
    pub(super) size: usize,
    pub(super) rounds: u32,
    /// Baselines that a sequence without a wire cannot measure.
    pub(super) wires: Vec<String>,
}

pub(super) fn table(load: &Load<'_>, rows: &[RecordedRow]) -> Table {
    let Load {
        rank,
        recorded,
        size,
        rounds,
        ..
    } = load;
    let title = format!(
        "rank {rank}: {} of {} in {}, {}",
        counted(recorded.messages(), "message"),
        counted(size, "byte"),
        counted(recorded.events(), "event"),
        counted(rounds, "round"),
    );
    let measured = [
        "rate_msgs_per_s",
        "rate_min_msgs_per_s",
        "rate_max_msgs_per_s",
    ];
    let mut table = Table::open("rates", title)
        .keyed(5)
        .extra(["bytes", "events", "messages", "rank", "per block"])
        .named(&[
            ("bytes", "size_bytes"),
            ("messages/s", measured[0]),
            ("from", measured[1]),
            ("to", measured[2]),
        ])
        .measured(measured)
        .measured(["per_block", "clean_percent", "fast_percent", "slow_percent"])
        .measured(["unexpected_percent"]);
    for row in rows {
        let paths = row.counts.as_ref().map(Paths::from_counts);
        let percent =
            |share: fn(&Paths) -> f64| Cell::from(paths.as_ref().map(|paths| share(paths) * 100.0));
        table.row([
            ("engine", row.engine.into()),
            ("rank", (*rank).into()),
            ("messages", recorded.messages().into()),
            ("events", recorded.events().into()),
            ("bytes", (*size).into()),
            ("messages/s", row.rate.median.into()),
            ("from", row.rate.min.into()),
            ("to", row.rate.max.into()),
            ("pairs", row.matched.into()),
            (
                "per block",
                paths.as_ref().map(|paths| paths.per_block).into(),
            ),
            ("clean %", percent(|paths| paths.clean)),
            ("fast %", percent(|paths| paths.fast)),
            ("slow %", percent(|paths| paths.slow)),
            ("unexpected %", percent(|paths| paths.unexpected)),
        ]);
        table.rounds(measured[0], &row.rates);
    }
    left_out(load).into_iter().fold(table, Table::note)
}

/// What the measured sequence lacks of the recorded one.
fn left_out(load: &Load<'_>) -> Vec<String> {
    let LeftOut {
        matched_probes,
        cancels,
        lengths,
    } = load.recorded.left_out();
    let mut notes = Vec::new();
    if matched_probes > 0 {
        let probes = counted(matched_probes, "matched probe");
        notes.push(format!(
            "left out: {probes}, so their messages stay unexpected"
        ));
    }
    if cancels > 0 {
        let cancels = counted(cancels, "cancel");
        notes.push(format!("left out: {cancels} without a posted receive"));
    }
    if lengths > 0 {
        let messages = counted(lengths, "message");
        let bytes = counted(load.size, "byte");
        notes.push(format!(
            "{messages} of another length sent with {bytes}; --bytes sets it"
        ));
    }
    if !load.wires.is_empty() {
        let wires = load.wires.join(", ");
        notes.push(format!("not measured: {wires}, since there is no wire"));
    }
    notes
}

pub(super) fn conditions(load: &Load<'_>) -> Map<String, Value> {
    document::members(json!({
        "rank": load.rank,
        "messages": load.recorded.messages(),
        "events": load.recorded.events(),
        "size_bytes": load.size,
        "rounds": load.rounds,
        "not_measured": load.wires,
        "left_out": load.recorded.left_out(),
    }))
}
