//! Converts arguments to operations. Both DUMPI readers use it, so they agree on the meaning of
//! calls.

use dpamatch_vocabulary::{Rank, Tag, TagSel};

use super::arguments::Arguments;
use super::function::Recipe;
use super::{
    Collective, CollectiveKind, Comm, CommHow, CommNew, Completion, CompletionKind, Datatype, Dest,
    Done, Function, Group, GroupHow, GroupNew, Op, Payload, RecvSpec, Request, SendMode, SendSpec,
    Source, Status,
};

#[cfg(test)]
mod tests;
#[cfg(any(test, feature = "testing"))]
pub(crate) mod text;

/// A description of invalid arguments.
type Fault = String;

/// The operation of a call.
///
/// # Errors
/// Arguments that no MPI call can have: the record is damaged.
pub(super) fn interpret(function: Function, args: &mut Arguments) -> Result<Op<'_>, Fault> {
    let recipe = function.recipe();
    // A call with a single request gets a list of one.
    match recipe {
        Recipe::Start | Recipe::Complete(CompletionKind::Wait | CompletionKind::Test) => {
            args.list_request(request(args, 0));
        }
        _ => {}
    }
    let args = &*args;
    Ok(match recipe {
        Recipe::Send(mode) => Op::Send(send(args, mode)?),
        Recipe::Recv => {
            let status = one_status(args)?;
            Op::Recv {
                recv: recv(args, status)?,
                status,
            }
        }
        Recipe::Isend(mode) => Op::Isend {
            send: send(args, mode)?,
            request: request(args, 5),
        },
        Recipe::Irecv => Op::Irecv {
            recv: recv(args, None)?,
            request: request(args, 5),
        },
        Recipe::Sendrecv => {
            let status = one_status(args)?;
            let comm = comm(args, 8);
            let send = send_spec(SendMode::Standard, args, [0, 1, 2, 3], comm)?;
            Op::Sendrecv {
                send,
                recv: recv_spec(args, [4, 5, 6, 7], comm, status)?,
                status,
            }
        }
        Recipe::SendrecvReplace => {
            let status = one_status(args)?;
            let comm = comm(args, 6);
            let send = send_spec(SendMode::Standard, args, [0, 1, 2, 3], comm)?;
            Op::Sendrecv {
                send,
                recv: recv_spec(args, [0, 1, 4, 5], comm, status)?,
                status,
            }
        }
        Recipe::SendInit(mode) => Op::SendInit {
            send: send(args, mode)?,
            request: request(args, 5),
        },
        Recipe::RecvInit => Op::RecvInit {
            recv: recv(args, None)?,
            request: request(args, 5),
        },
        Recipe::Start | Recipe::Startall => Op::Start(args.requests()),
        Recipe::Complete(kind) => Op::Completion(completion(args, kind)?),
        Recipe::RequestStatus => {
            let complete = args.number(1) != 0;
            let status = one_status(args)?.filter(|_| complete);
            Op::RequestStatus {
                request: request(args, 0),
                complete,
                status,
            }
        }
        Recipe::Probe => probe(args, true)?,
        Recipe::Iprobe => probe(args, false)?,
        Recipe::Cancel => Op::Cancel(request(args, 0)),
        Recipe::RequestFree => Op::RequestFree(request(args, 0)),
        Recipe::CommFree => Op::CommFree(comm(args, 0)),
        Recipe::CommSize => Op::CommSize {
            comm: comm(args, 0),
            size: int(args, 1),
        },
        Recipe::CommRank => Op::CommRank {
            comm: comm(args, 0),
            rank: int(args, 1),
        },
        Recipe::GroupFree => Op::GroupFree(group(args, 0)),
        Recipe::Collective(kind) => Op::Collective(collective(args, kind)?),
        Recipe::Other => Op::Other,
        _ => match comm_new(args, recipe)? {
            Some(new) => Op::CommNew(new),
            None => Op::GroupNew(group_new(args, recipe)?),
        },
    })
}

#[inline]
fn int(args: &Arguments, position: usize) -> i32 {
    args.number(position) as i32
}

#[inline]
fn request(args: &Arguments, position: usize) -> Request {
    Request(int(args, position))
}

#[inline]
fn comm(args: &Arguments, position: usize) -> Comm {
    Comm(args.number(position) as u32)
}

fn group(args: &Arguments, position: usize) -> Group {
    Group(args.number(position) as u32)
}

#[inline]
fn one_status(args: &Arguments) -> Result<Option<Status>, Fault> {
    match args.statuses() {
        [] => Ok(None),
        [status] => Ok(Some(*status)),
        more => Err(format!("{} statuses of one operation", more.len())),
    }
}

#[inline]
fn send(args: &Arguments, mode: SendMode) -> Result<SendSpec, Fault> {
    send_spec(mode, args, [0, 1, 2, 3], comm(args, 4))
}

/// A single receive; `status` if the same call completed it.
#[inline]
fn recv(args: &Arguments, status: Option<Status>) -> Result<RecvSpec, Fault> {
    recv_spec(args, [0, 1, 2, 3], comm(args, 4), status)
}

#[inline]
fn send_spec(
    mode: SendMode,
    args: &Arguments,
    at: [usize; 4],
    comm: Comm,
) -> Result<SendSpec, Fault> {
    let [count, datatype, dest, tag] = at.map(|position| args.number(position));
    // Each MPI library has a negative rank for MPI_PROC_NULL; tag and count are then irrelevant.
    let dest = u32::try_from(dest)
        .ok()
        .and_then(|dest| Rank::new(dest).ok())
        .map_or(Dest::Null, Dest::Rank);
    let goes_somewhere = dest != Dest::Null;
    let tag = match u32::try_from(tag).ok().and_then(|tag| Tag::new(tag).ok()) {
        Some(tag) => tag,
        None if goes_somewhere => return Err(format!("a message with tag {tag}")),
        None => Tag::default(),
    };
    Ok(SendSpec {
        mode,
        dest,
        tag,
        comm,
        payload: payload(count, datatype, goes_somewhere)?,
    })
}

#[inline]
fn recv_spec(
    args: &Arguments,
    at: [usize; 4],
    comm: Comm,
    status: Option<Status>,
) -> Result<RecvSpec, Fault> {
    let [count, datatype, from, tag] = at.map(|position| args.number(position));
    let source = source(from, status);
    let room = payload(count, datatype, source != Source::Null)?;
    Ok(RecvSpec {
        source,
        tag: tag_sel(tag, source)?,
        comm,
        room,
    })
}

/// The sources of a receive or probe; `status` if the call completed with one.
///
/// -1 is `MPI_ANY_SOURCE`, and with MPICH also `MPI_PROC_NULL`; a status without source shows the
/// latter.
#[inline]
fn source(recorded: i64, status: Option<Status>) -> Source {
    match u32::try_from(recorded)
        .ok()
        .and_then(|rank| Rank::new(rank).ok())
    {
        Some(rank) => Source::Rank(rank),
        None if recorded != -1 => Source::Null,
        None => match status {
            Some(status) if status.source < 0 => Source::Null,
            Some(_) => Source::Any,
            None => Source::AnyOrNull,
        },
    }
}

#[inline]
fn tag_sel(recorded: i64, source: Source) -> Result<TagSel, Fault> {
    match u32::try_from(recorded)
        .ok()
        .and_then(|tag| Tag::new(tag).ok())
    {
        Some(tag) => Ok(TagSel::Tag(tag)),
        None if recorded == -1 || source == Source::Null => Ok(TagSel::Any),
        None => Err(format!("a receive for tag {recorded}")),
    }
}

/// A number of elements. A negative count is accepted unless `matters`.
#[inline]
fn payload(count: i64, datatype: i64, matters: bool) -> Result<Payload, Fault> {
    let count = match u64::try_from(count) {
        Ok(count) => count,
        Err(_) if matters => return Err(format!("a message of {count} elements")),
        Err(_) => 0,
    };
    Ok(Payload {
        count,
        datatype: Datatype(datatype as u32),
    })
}

fn probe<'a>(args: &Arguments, blocks: bool) -> Result<Op<'a>, Fault> {
    let found = blocks || args.number(3) != 0;
    let status = one_status(args)?.filter(|_| found);
    let source = match source(args.number(0), status) {
        // A probe of MPI_PROC_NULL always succeeds.
        Source::AnyOrNull if !found => Source::Any,
        source => source,
    };
    let tag = tag_sel(args.number(1), source)?;
    Ok(Op::Probe {
        source,
        tag,
        comm: comm(args, 2),
        blocks,
        found,
        status,
    })
}

#[inline]
fn completion(args: &Arguments, kind: CompletionKind) -> Result<Completion<'_>, Fault> {
    let requests = args.requests();
    let all_if = |flag: i64| if flag != 0 { Done::All } else { Done::None };
    let one_at = |index: i64| match usize::try_from(index) {
        Ok(index) if index < requests.len() => Ok(Done::One(index)),
        Ok(_) => Err(format!("request {index} of {} is complete", requests.len())),
        Err(_) => Ok(Done::None),
    };
    let done = match kind {
        CompletionKind::Wait | CompletionKind::Waitall => Done::All,
        CompletionKind::Test => all_if(args.number(1)),
        CompletionKind::Testall => all_if(args.number(2)),
        CompletionKind::Waitany => one_at(args.number(2))?,
        CompletionKind::Testany if args.number(3) == 0 => Done::None,
        CompletionKind::Testany => one_at(args.number(2))?,
        CompletionKind::Waitsome | CompletionKind::Testsome => some_done(args)?,
    };
    let complete = match done {
        Done::None => 0,
        Done::One(_) => 1,
        Done::All => requests.len(),
        Done::Some(positions) => positions.len(),
    };
    let statuses = match args.statuses() {
        // The status of an incomplete operation is undefined.
        _ if complete == 0 => &[],
        statuses if statuses.is_empty() || statuses.len() == complete => statuses,
        statuses => {
            return Err(format!(
                "statuses: {}, complete requests: {complete}",
                statuses.len()
            ));
        }
    };
    Ok(Completion {
        kind,
        requests,
        done,
        statuses,
    })
}

fn some_done(args: &Arguments) -> Result<Done<'_>, Fault> {
    let outcount = args.number(2);
    if outcount <= 0 {
        return Ok(Done::None);
    }
    let (requests, positions) = (args.requests().len(), args.numbers(3));
    if usize::try_from(outcount) != Ok(positions.len()) {
        return Err(format!(
            "{outcount} complete, but {} listed",
            positions.len()
        ));
    }
    let within =
        |position: &&i32| usize::try_from(**position).is_ok_and(|position| position < requests);
    match positions.iter().find(|position| !within(position)) {
        Some(position) => Err(format!("request {position} of {requests} is complete")),
        None => Ok(Done::Some(positions)),
    }
}

fn comm_new(args: &Arguments, recipe: Recipe) -> Result<Option<CommNew<'_>>, Fault> {
    let (how, parent, new) = match recipe {
        Recipe::CommDup => (CommHow::Dup, comm(args, 0), comm(args, 1)),
        Recipe::CommCreate => (
            CommHow::Create {
                group: group(args, 1),
            },
            comm(args, 0),
            comm(args, 2),
        ),
        Recipe::CommSplit => {
            // MPI_UNDEFINED is negative; colours are not.
            let how = CommHow::Split {
                color: u32::try_from(args.number(1)).ok(),
                key: int(args, 2),
            };
            (how, comm(args, 0), comm(args, 3))
        }
        Recipe::CartCreate => {
            let (dims, periods) = (args.numbers(2), args.numbers(3));
            (
                CommHow::CartCreate {
                    dims,
                    periods,
                    reorder: args.number(4) != 0,
                },
                comm(args, 0),
                comm(args, 5),
            )
        }
        Recipe::CartSub => (
            CommHow::CartSub {
                remain: args.numbers(2),
            },
            comm(args, 1),
            comm(args, 3),
        ),
        Recipe::GraphCreate => {
            let nodes = args.number(2);
            let nodes = u32::try_from(nodes).map_err(|_| format!("a graph of {nodes} nodes"))?;
            (
                CommHow::GraphCreate {
                    nodes,
                    reorder: args.number(5) != 0,
                },
                comm(args, 1),
                comm(args, 6),
            )
        }
        Recipe::Intercomm => {
            let how = CommHow::Intercomm {
                local_leader: int(args, 1),
                peer: comm(args, 2),
                remote_leader: int(args, 3),
                tag: int(args, 4),
            };
            (how, comm(args, 0), comm(args, 5))
        }
        Recipe::Merge => (
            CommHow::Merge {
                high: args.number(1) != 0,
            },
            comm(args, 0),
            comm(args, 2),
        ),
        Recipe::Accept => (CommHow::Dynamic, comm(args, 3), comm(args, 4)),
        Recipe::GetParent => (CommHow::Dynamic, Comm::NULL, comm(args, 0)),
        Recipe::Join => (CommHow::Dynamic, Comm::NULL, comm(args, 1)),
        Recipe::Spawn => (CommHow::Dynamic, comm(args, 2), comm(args, 3)),
        Recipe::SpawnMultiple => (CommHow::Dynamic, comm(args, 3), comm(args, 4)),
        _ => return Ok(None),
    };
    Ok(Some(CommNew { how, parent, new }))
}

fn group_new(args: &Arguments, recipe: Recipe) -> Result<GroupNew<'_>, Fault> {
    let [first, second] = [0, 1].map(|position| group(args, position));
    let ranges = || match args.numbers(2).as_chunks::<3>() {
        (ranges, []) => Ok(ranges),
        _ => Err("a range of ranks without first, last and stride".to_owned()),
    };
    let (how, new) = match recipe {
        Recipe::GroupOfComm => (GroupHow::OfComm(comm(args, 0)), second),
        Recipe::GroupOfRemote => (GroupHow::OfRemote(comm(args, 0)), second),
        Recipe::GroupUnion => (GroupHow::Union(first, second), group(args, 2)),
        Recipe::GroupIntersection => (GroupHow::Intersection(first, second), group(args, 2)),
        Recipe::GroupDifference => (GroupHow::Difference(first, second), group(args, 2)),
        Recipe::GroupIncl => (GroupHow::Incl(first, args.numbers(2)), group(args, 3)),
        Recipe::GroupExcl => (GroupHow::Excl(first, args.numbers(2)), group(args, 3)),
        Recipe::GroupRangeIncl => (GroupHow::RangeIncl(first, ranges()?), group(args, 3)),
        Recipe::GroupRangeExcl => (GroupHow::RangeExcl(first, ranges()?), group(args, 3)),
        other => return Err(format!("{other:?} makes no group")),
    };
    Ok(GroupNew { how, new })
}

fn collective(args: &Arguments, kind: CollectiveKind) -> Result<Collective<'_>, Fault> {
    use CollectiveKind::*;
    // Positions of communicator and root, and of count and datatype, sent and received.
    let (at_comm, at_root, given, taken) = match kind {
        Barrier => (0, None, None, None),
        Bcast => (3, Some(2), Some((0, 1)), Some((0, 1))),
        Gather => (4, Some(3), Some((1, 2)), Some((5, 6))),
        Gatherv => (5, Some(4), Some((2, 3)), Some((6, 8))),
        Scatter => (4, Some(3), Some((5, 6)), Some((1, 2))),
        Scatterv => (6, Some(5), Some((7, 2)), Some((3, 4))),
        Allgather | Alltoall => (4, None, Some((0, 1)), Some((2, 3))),
        Allgatherv => (6, None, Some((1, 2)), Some((3, 5))),
        Alltoallv => (7, None, Some((1, 3)), Some((4, 6))),
        Alltoallw => (7, None, None, None),
        Reduce => (4, Some(3), Some((0, 1)), Some((0, 1))),
        Allreduce | Scan | Exscan => (3, None, Some((0, 1)), Some((0, 1))),
        ReduceScatter => (4, None, Some((1, 2)), None),
    };
    let side = |at: Option<(usize, usize)>| -> Result<Option<Payload>, Fault> {
        let Some((at_count, at_datatype)) = at else {
            return Ok(None);
        };
        let count = match args.at(at_count) {
            super::arguments::Argument::Number(count) => count,
            super::arguments::Argument::Numbers(counts) => {
                counts.iter().map(|&count| i64::from(count)).sum()
            }
            _ => return Ok(None),
        };
        // MPI_IN_PLACE makes count and datatype meaningless, so they may have any value.
        Ok(Some(payload(count, args.number(at_datatype), false)?))
    };
    let counts = |at: Option<(usize, usize)>| at.map_or(&[][..], |(count, _)| args.numbers(count));
    Ok(Collective {
        kind,
        comm: comm(args, at_comm),
        root: at_root.map(|position| int(args, position)),
        sent: side(given)?,
        received: side(taken)?,
        sent_counts: counts(given),
        received_counts: counts(taken),
    })
}
