//! A trace as a timeline for Perfetto and Chrome, in the Trace Event Format of Chrome's JSON: a
//! track for each rank with its calls, and a flow for each message from the call that sends it to
//! the call that completes its receive.

use std::io::{self, Write};

use serde_json::{Value, json};

use super::program::{Action, Program, UNKNOWN, UNKNOWN_BYTES};
use super::run::Run;
use dpamatch_traces::{TraceError, TraceSource};

#[derive(Debug, thiserror::Error)]
pub enum TimelineError {
    #[error("rank {0} has no wall times")]
    NoTimes(u32),
    #[error(transparent)]
    Trace(#[from] TraceError),
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Writes the timeline of a trace, of which `run` is the analysis. Times are microseconds since the
/// first call, with nanoseconds. Calls `done` after each rank.
///
/// # Errors
/// A rank has no wall times or cannot be read, or `out` cannot be written.
pub fn timeline(
    source: &dyn TraceSource,
    run: &Run,
    out: &mut dyn Write,
    done: impl Fn(),
) -> Result<(), TimelineError> {
    let first = |program: &Program| program.began_ns.ok_or(TimelineError::NoTimes(program.rank));
    let began = run
        .programs
        .iter()
        .map(first)
        .collect::<Result<Vec<_>, _>>()?;
    let began_ns = began.into_iter().min().unwrap_or(0);
    let us = |ns: i64| ns as f64 / 1e3;
    let since = |at_ns: i64| us(at_ns.saturating_sub(began_ns));
    write!(out, "{{\"displayTimeUnit\":\"ns\",\"traceEvents\":[")?;
    let mut separator = "\n";
    let mut event =
        |event: Value| write!(out, "{separator}{event}").inspect(|()| separator = ",\n");
    for &rank in source.ranks() {
        let tid = rank.get();
        let name = json!({ "name": format!("rank {tid}") });
        event(json!({ "ph": "M", "pid": 0, "tid": tid, "name": "thread_name", "args": name }))?;
        let mut reader = source.open(rank)?;
        while let Some(call) = reader.next_call()? {
            let Some(wall) = call.wall else { continue };
            let length = us(wall.return_ns.saturating_sub(wall.entry_ns));
            let (name, class) = (call.function.name(), call.function.class().name());
            event(json!({
                "ph": "X", "pid": 0, "tid": tid, "name": name, "cat": class,
                "ts": since(wall.entry_ns), "dur": length, "args": { "call": call.sequence },
            }))?;
        }
        done();
    }
    let ends: Vec<Ends> = run.programs.iter().map(Ends::new).collect();
    let mut id = 0_u64;
    for (view, ends_here) in run.views().zip(&ends) {
        for message in view
            .inbound
            .iter()
            .filter(|it| it.op != UNKNOWN && it.receive != UNKNOWN)
        {
            let sender = run
                .programs
                .binary_search_by_key(&message.sender, |it| it.rank);
            let Ok(sender) = sender else { continue };
            let bytes = (message.bytes != UNKNOWN_BYTES).then_some(message.bytes);
            let sides = [
                ("s", message.sender, ends[sender].begun[message.op as usize]),
                (
                    "f",
                    view.program.rank,
                    ends_here.ended[message.receive as usize],
                ),
            ];
            for (side, tid, at_ns) in sides {
                event(json!({
                    "ph": side, "bp": "e", "pid": 0, "tid": tid, "ts": since(at_ns), "id": id,
                    "name": "message", "cat": "message",
                    "args": { "tag": message.tag, "bytes": bytes },
                }))?;
            }
            id += 1;
        }
    }
    Ok(writeln!(out, "\n]}}")?)
}

/// Entries of the calls that begin and complete each transfer.
struct Ends {
    begun: Vec<i64>,
    ended: Vec<i64>,
}

impl Ends {
    fn new(program: &Program) -> Self {
        let mut begun = vec![0; program.transfers.len()];
        for step in &program.steps {
            if let Action::Begin(transfer) = step.action {
                begun[transfer as usize] = step.at_ns;
            }
        }
        let mut ended = begun.clone();
        for step in &program.steps {
            if let Action::Finish { first, count } = step.action {
                for transfer in program.finished.part(first, count) {
                    ended[transfer as usize] = step.at_ns;
                }
            }
        }
        Self { begun, ended }
    }
}
