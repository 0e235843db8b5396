//! The messages of a recorded run.
//!
//! A phase ends where all processes take part in a collective operation, on any communicator: every
//! message of the phase was sent before it. Creating a communicator from one of all processes
//! counts as well. A message belongs to the phase in which it is sent; the phase's name is the
//! number of collective operations before it.

use std::collections::BTreeMap;

use super::message_list::{Message, MessageList, Phase};
use dpamatch_tools::analyze::{
    Action, Program, Run, TransferKind, Translation, UNKNOWN, UNKNOWN_BYTES,
};
use dpamatch_tools::collectives::Library;
use dpamatch_traces::{TraceError, TraceSource};

/// Messages found in a trace. Ranks are world ranks, whatever the message's communicator.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TraceMessages {
    /// The messages. Within a phase the k-th messages of all senders precede the next ones, because
    /// a trace does not record the arrival order across senders.
    pub list: MessageList,
    pub communicators: usize,
    pub left_out: LeftOut,
    /// Messages on communicators whose creation was not recorded; the parent's ranks stand in.
    pub assumed_ranks: u64,
}

/// Messages left out, by cause.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LeftOut {
    /// The trace does not hold the size of the datatype.
    pub unknown_bytes: u64,
    /// The communicator has no such rank.
    pub to_no_rank: u64,
}

/// Extracts the messages of a trace, with those that a library sends inside collective operations.
/// These belong to the phase that the operation ends.
///
/// # Errors
/// The trace cannot be read.
///
/// # Complexity
/// O(calls + messages log messages); the calls are held in memory.
pub fn read(trace: &dyn TraceSource, collectives: Library) -> Result<TraceMessages, TraceError> {
    Ok(of_run(&Run::load_with(trace, collectives, |_| ())?))
}

pub fn of_run(run: &Run) -> TraceMessages {
    let mut found = TraceMessages::default();
    found.list.ranks = run.processes;
    let posts = posts(run);
    let mut senders_of = vec![false; run.comms.all.len()];
    let mut phases: BTreeMap<u32, Vec<(usize, Message)>> = BTreeMap::new();
    for (at, program) in run.programs.iter().enumerate() {
        let mut places: BTreeMap<u32, usize> = BTreeMap::new();
        for (phase, op) in begun(run, at, program) {
            let transfer = program.transfers.at(op);
            if transfer.kind != TransferKind::Send {
                continue;
            }
            let number = run.comms.global(at, transfer.comm);
            let comm = &run.comms.all[number as usize];
            let Some(dst) = comm.peer(program.rank, transfer.peer as u32) else {
                found.left_out.to_no_rank += 1;
                continue;
            };
            if transfer.bytes == UNKNOWN_BYTES {
                found.left_out.unknown_bytes += 1;
                continue;
            }
            senders_of[number as usize] = true;
            found.assumed_ranks += u64::from(comm.translation == Translation::Assumed);
            let message = Message {
                src: program.rank,
                dst,
                tag: transfer.tag as u32,
                bytes: transfer.bytes,
                comm: number,
                post: posts[at][op as usize],
            };
            let place = places.entry(phase).or_default();
            phases.entry(phase).or_default().push((*place, message));
            *place += 1;
        }
    }
    found.communicators = senders_of.into_iter().filter(|&sent| sent).count();
    for (phase, mut messages) in phases {
        messages.sort_by_key(|&(place, _)| place);
        let messages = messages.into_iter().map(|(_, message)| message).collect();
        found.list.phases.push(Phase {
            name: phase.to_string(),
            messages,
        });
    }
    found
}

/// The receive that each send of a program met, by transfer. A rank's receives are numbered in
/// posting order.
fn posts(run: &Run) -> Vec<Vec<u32>> {
    let mut posts: Vec<Vec<u32>> = run
        .programs
        .iter()
        .map(|program| vec![UNKNOWN; program.transfers.len()])
        .collect();
    for message in run.inbound.iter().flat_map(|messages| messages.iter()) {
        if let Ok(at) = run
            .programs
            .binary_search_by_key(&message.sender, |program| program.rank)
            && let Some(post) = posts[at].get_mut(message.op as usize)
        {
            *post = message.receive;
        }
    }
    posts
}

/// The transfers that a program begins, in order, each with its phase.
fn begun<'a>(
    run: &'a Run,
    at: usize,
    program: &'a Program,
) -> impl Iterator<Item = (u32, u32)> + 'a {
    let of_all = move |local| {
        let comm = &run.comms.all[run.comms.global(at, local) as usize];
        comm.remote.is_none()
            && comm.translation == Translation::Exact
            && comm.members.len() == run.processes as usize
    };
    let mut phase = 0;
    program
        .steps
        .iter()
        .filter_map(move |step| match step.action {
            Action::Begin(op) => Some((phase, op)),
            Action::Collective { comm, .. } => {
                phase += u32::from(of_all(comm));
                None
            }
            _ => None,
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use dpamatch_tools::analyze::programs_of_text;

    #[test]
    fn messages_are_those_of_the_text() {
        for section in include_str!("from_trace.txt").split("\n[").skip(1) {
            let (title, lines) = section.split_once('\n').expect("a title");
            let (programs, claims) = programs_of_text(lines.lines());
            let processes = claims[0].join(" ").parse().expect("a number of processes");
            let found = of_run(&Run::new(programs, Some(processes)));
            let LeftOut {
                unknown_bytes,
                to_no_rank,
            } = found.left_out;
            let mut told = vec![
                format!(
                    "communicators {}, assumed ranks {}",
                    found.communicators, found.assumed_ranks
                ),
                format!("unknown bytes {unknown_bytes}, to no rank {to_no_rank}"),
            ];
            for Phase { name, messages } in &found.list.phases {
                told.push(format!("phase {name}"));
                told.extend(messages.iter().map(
                    |Message {
                         src,
                         dst,
                         tag,
                         bytes,
                         comm,
                         post,
                     }| {
                        let post = (*post != UNKNOWN).then(|| format!(", receive {post}"));
                        let post = post.unwrap_or_default();
                        format!(
                            "{src} to {dst}: tag {tag}, {bytes} bytes, communicator {comm}{post}"
                        )
                    },
                ));
            }
            let expected: Vec<String> = claims[1..].iter().map(|words| words.join(" ")).collect();
            assert_eq!(told, expected, "{title}\n{}", told.join("\n"));
            assert_eq!(found.list.ranks, processes, "{title}");
        }
    }
}
