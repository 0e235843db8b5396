//! A run as a GOAL text, the input of the simulator LogGOPSim.
//!
//! Every operation begins after the one before it in its rank (`irequires`), and after all that the
//! program has waited for since (`requires`). Processor time between two calls is a `calc` in
//! nanoseconds.

use std::collections::BTreeMap;
use std::io::{self, Write};

use super::program::{ANY, Action, Program, TransferKind, UNKNOWN_BYTES};
use super::replay::RankView;
use super::run::Run;

/// What a GOAL text cannot say, by name, and how often.
pub type LeftOut = BTreeMap<&'static str, u64>;

/// The text of one rank as it grows.
struct Writer<'a> {
    out: &'a mut dyn Write,
    /// Number of the last label.
    last: u64,
    /// Whether that operation is a computation, which is over when the next one begins.
    computed: bool,
    /// Labels that the next operation waits for.
    waits: Vec<u64>,
    /// Processor time since the last operation or wait.
    gap_ns: u64,
}

impl Writer<'_> {
    /// Writes the computation since the last operation or wait, if there is one.
    fn compute(&mut self) -> io::Result<()> {
        match std::mem::take(&mut self.gap_ns) {
            0 => Ok(()),
            ns => self.line(format_args!("calc {ns}"), true).map(drop),
        }
    }

    fn line(&mut self, operation: std::fmt::Arguments<'_>, computes: bool) -> io::Result<u64> {
        let label = self.last + 1;
        writeln!(self.out, "l{label}: {operation}")?;
        let is_waited = self.waits.contains(&self.last);
        if self.last > 0 && !is_waited {
            let word = if self.computed {
                "requires"
            } else {
                "irequires"
            };
            writeln!(self.out, "l{label} {word} l{}", self.last)?;
        }
        for wait in self.waits.drain(..) {
            writeln!(self.out, "l{label} requires l{wait}")?;
        }
        (self.last, self.computed) = (label, computes);
        Ok(label)
    }
}

/// Writes the sends, receives, waits and computations of a run. Returns what is left out.
///
/// Peers are world ranks. Where a run has several communicators, their messages keep their tags, so
/// receives of one communicator can accept those of another: the answer counts them.
///
/// # Errors
/// `out` cannot be written.
pub fn goal(run: &Run, out: &mut dyn Write) -> io::Result<LeftOut> {
    let mut left_out = LeftOut::new();
    writeln!(out, "num_ranks {}", run.processes)?;
    let mut views = run.views().peekable();
    for rank in 0..run.processes {
        writeln!(out, "\nrank {rank} {{")?;
        match views.next_if(|view| view.program.rank == rank) {
            Some(view) => of_rank(run, view, out, &mut left_out)?,
            None => *left_out.entry("ranks without a trace").or_default() += 1,
        }
        writeln!(out, "}}")?;
    }
    Ok(left_out)
}

fn of_rank(
    run: &Run,
    view: RankView<'_>,
    out: &mut dyn Write,
    left_out: &mut LeftOut,
) -> io::Result<()> {
    let program: &Program = view.program;
    let mut labels: Vec<Option<u64>> = vec![None; program.transfers.len()];
    let mut writer = Writer {
        out,
        last: 0,
        computed: false,
        waits: Vec::new(),
        gap_ns: 0,
    };
    let mut leave = |what| *left_out.entry(what).or_default() += 1;
    for step in &program.steps {
        writer.gap_ns = writer.gap_ns.saturating_add(step.gap_ns);
        match step.action {
            Action::Begin(at) => {
                let transfer = program.transfers.at(at);
                let comm = &run.comms.all[view.comm(at) as usize];
                let peer = match transfer.peer {
                    ANY => Some(-1),
                    rank => comm.peer(program.rank, rank as u32).map(i64::from),
                };
                let (verb, word) = match (transfer.kind, peer) {
                    (TransferKind::Send, Some(_)) => ("send", "to"),
                    (TransferKind::Recv, Some(_)) => ("recv", "from"),
                    (TransferKind::Probe, _) => {
                        leave("probes");
                        continue;
                    }
                    (TransferKind::Null, _) => continue,
                    (_, None) => {
                        leave("transfers with an unknown process");
                        continue;
                    }
                };
                if comm.name != "world" {
                    leave("communicators of transfers (their tags stay)");
                }
                if transfer.bytes == UNKNOWN_BYTES {
                    leave("unknown lengths (written as 0)");
                }
                let bytes = match transfer.bytes {
                    UNKNOWN_BYTES => 0,
                    bytes => bytes,
                };
                writer.compute()?;
                let (peer, tag) = (peer.unwrap_or(-1), transfer.tag);
                let text = format_args!("{verb} {bytes}b {word} {peer} tag {tag}");
                let label = writer.line(text, false)?;
                if transfer.blocking {
                    writer.waits.push(label);
                } else {
                    labels[at as usize] = Some(label);
                }
            }
            Action::Finish { first, count } => {
                let those = program.finished.part(first, count);
                let waits = those.filter_map(|at| labels[at as usize].take());
                let waits: Vec<_> = waits.collect();
                if !waits.is_empty() {
                    writer.compute()?;
                }
                writer.waits.extend(waits);
            }
            Action::Cancel(_) => leave("cancels"),
            Action::Collective { .. } => leave("collective calls"),
        }
    }
    Ok(())
}
