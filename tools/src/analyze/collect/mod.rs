//! Turns calls into operations: follows one rank's requests from posting to completion.
//!
//! Libraries give all sends that complete immediately the same handle, so a request number can name
//! several operations. Each number therefore has a queue of operations, and completions take from
//! its front.

use std::collections::HashMap;

use dpamatch_vocabulary::TagSel;
use foldhash::fast::RandomState as Fast;

use super::origin::{Connection, LocalId, Origin};
use super::program::{
    Action, EmptyPolls, End, LocalComm, Program, Step, Sync, Transfer, TransferKind, UNKNOWN,
};
use dpamatch_traces::{
    Call, CallSites, Comm, CommNew, Completion, DatatypeSizes, GroupNew, Op, Payload, RankReader,
    RecvSpec, Request, Source, Span, TraceError, TraceErrorKind,
};

mod collectives;
mod requests;
#[cfg(test)]
pub(super) mod tests;
mod transfers;

use requests::{NONE, Requests};

/// Index of `MPI_COMM_WORLD` in [`Program::comms`].
pub(super) const WORLD: LocalId = 0;
pub(super) const SELF: LocalId = 1;

/// Maximum transfers of a rank: an order numbers them with 30 bits.
const TRANSFERS_MAX: usize = 1 << 30;

pub(super) struct Collector<'a> {
    program: Program,
    sizes: &'a DatatypeSizes,
    requests: Requests,
    /// The current communicator of each number.
    comms: HashMap<u32, LocalId, Fast>,
    /// Index into [`Program::empty_polls`], by communicator and wildcards.
    polls: HashMap<(LocalId, (bool, bool)), usize, Fast>,
    /// The last communicator looked up: number and index.
    last_comm: (u32, LocalId),
    cpu_before: Option<i64>,
    wall_before: Option<i64>,
    cpu_began: Option<i64>,
    /// Whether the arguments of collective calls are kept.
    keeps_collectives: bool,
}

/// Collects the operations of a rank, with the arguments of its collective calls if wanted.
///
/// # Errors
/// The trace cannot be read, or it has more than 2^30 transfers, 65,535 communicators
/// or 2^32 - 1 calls.
pub fn collect(
    reader: &mut dyn RankReader,
    keeps_collectives: bool,
    sites: Option<CallSites>,
) -> Result<Program, TraceError> {
    let info = reader.info().clone();
    let mut collector = Collector::new(info.rank.get(), &info.sizes);
    collector.keeps_collectives = keeps_collectives;
    collector.program.sites = sites;
    let too_many = |what: &str| {
        let name = format!("rank {}", info.rank.get());
        TraceError::new(
            name,
            TraceErrorKind::Unsupported(format!("has too many {what}")),
        )
    };
    let mut bytes = 0;
    while let Some(call) = reader.next_call()? {
        if call.sequence >= u64::from(UNKNOWN) {
            return Err(too_many("calls"));
        }
        bytes = call.offset;
        collector.call(&call);
        if collector.program.transfers.len() > TRANSFERS_MAX {
            return Err(too_many("transfers"));
        }
        if collector.program.comms.len() > usize::from(u16::MAX) {
            return Err(too_many("communicators"));
        }
    }
    let mut program = collector.finish();
    program.host = info.hostname;
    program.trace_bytes = info.bytes.unwrap_or(bytes);
    program.not_read = reader.unread();
    program.salvaged = reader.salvage().map(|salvage| salvage.error.to_string());
    Ok(program)
}

/// The call's number in its rank's trace, which [`collect`] bounds.
fn call_number(call: &Call<'_>) -> u32 {
    u32::try_from(call.sequence).expect("fewer than 2^32 - 1 calls")
}

impl<'a> Collector<'a> {
    pub(super) fn new(rank: u32, sizes: &'a DatatypeSizes) -> Self {
        let predefined = |number, own_rank| LocalComm {
            number,
            own_rank,
            size: None,
            made: true,
        };
        let program = Program {
            rank,
            comms: vec![
                predefined(Comm::WORLD.0, Some(rank)),
                predefined(Comm::SELF.0, Some(0)),
            ],
            ..Program::default()
        };
        let comms = [(Comm::WORLD.0, WORLD), (Comm::SELF.0, SELF)]
            .into_iter()
            .collect();
        Self {
            program,
            sizes,
            requests: Requests::default(),
            comms,
            polls: HashMap::default(),
            last_comm: (Comm::WORLD.0, WORLD),
            cpu_before: None,
            wall_before: None,
            cpu_began: None,
            keeps_collectives: false,
        }
    }

    pub(super) fn finish(mut self) -> Program {
        self.program.transfers.shrink_to_fit();
        self.program.steps.shrink_to_fit();
        self.program.finished.shrink_to_fit();
        self.program
    }

    pub(super) fn call(&mut self, call: &Call<'_>) {
        self.program.calls.add(call.function, 1);
        self.time(call);
        match call.op {
            Op::Send(send) => {
                let at = self.send(call, send, true);
                self.ends_unknown(at);
            }
            Op::Isend { send, request } => {
                let at = self.send(call, send, false);
                self.requests.push(request, at);
            }
            Op::Recv { recv, status } => {
                let at = self.recv(call, recv, true);
                self.complete(at, status);
            }
            Op::Irecv { recv, request } => {
                let at = self.recv(call, recv, false);
                self.requests.push(request, at);
            }
            Op::Sendrecv { send, recv, status } => {
                let posted = self.recv(call, recv, false);
                let sent = self.send(call, send, false);
                self.ends_unknown(sent);
                self.complete(posted, status);
                let first = self.program.finished.len() as u32;
                self.program.finished.push(posted);
                self.step(call, Action::Finish { first, count: 1 });
            }
            Op::SendInit { send, request } => {
                let transfer = self.sent(call, send, false);
                self.requests.persistent.insert(request.0, transfer);
            }
            Op::RecvInit { recv, request } => {
                let transfer = self.received(call, recv, false);
                self.requests.persistent.insert(request.0, transfer);
            }
            Op::Start(requests) => requests
                .iter()
                .for_each(|&request| self.start(call, request)),
            Op::Completion(completion) => self.completion(call, &completion),
            Op::RequestStatus { .. } | Op::Other | Op::GroupFree(_) => {}
            Op::Probe {
                source,
                tag,
                comm,
                found,
                status,
                ..
            } if found => {
                let room = Payload {
                    count: 0,
                    datatype: dpamatch_traces::Datatype(0),
                };
                let mut transfer = self.received(
                    call,
                    RecvSpec {
                        source,
                        tag,
                        comm,
                        room,
                    },
                    true,
                );
                if transfer.kind == TransferKind::Recv {
                    transfer.kind = TransferKind::Probe;
                }
                let at = self.begin(call, transfer);
                self.complete(at, status);
            }
            Op::Probe {
                source, tag, comm, ..
            } => self.empty_poll(call, source, tag, comm),
            Op::Cancel(request) => self.cancel(call, request),
            Op::RequestFree(request) => self.request_free(request),
            Op::CommNew(new) => self.comm_new(call, new),
            Op::CommFree(comm) => {
                self.comms.remove(&comm.0);
                self.last_comm = (Comm::WORLD.0, WORLD);
            }
            Op::CommRank { comm, rank } => {
                let at = usize::from(self.comm(comm.0));
                self.program.comms[at].own_rank =
                    self.program.comms[at].own_rank.or(u32::try_from(rank).ok());
            }
            Op::CommSize { comm, size } => {
                let at = usize::from(self.comm(comm.0));
                self.program.comms[at].size = u32::try_from(size).ok();
            }
            Op::GroupNew(GroupNew { how, new }) => {
                let how = how.to_owned(|comm| self.comm(comm.0));
                self.program.origins.push(Origin::Group { how, new });
            }
            Op::Collective(collective) => self.collective(call, &collective),
        }
        self.cpu_before = call.cpu.map(|cpu| cpu.return_ns);
        self.wall_before = call.wall.map(|wall| wall.return_ns);
    }

    fn time(&mut self, call: &Call<'_>) {
        if let Some(cpu) = call.cpu {
            let began = *self.cpu_began.get_or_insert(cpu.entry_ns);
            let ns = cpu.return_ns.saturating_sub(began);
            self.program.cpu_ns = self.program.cpu_ns.max(u64::try_from(ns).unwrap_or(0));
        }
        let Some(Span {
            entry_ns,
            return_ns,
        }) = call.wall
        else {
            return;
        };
        let began_ns = *self.program.began_ns.get_or_insert(entry_ns);
        let since = |start: i64| u64::try_from(return_ns.saturating_sub(start)).unwrap_or(0);
        let ns = since(entry_ns);
        self.program.run_ns = self.program.run_ns.max(since(began_ns));
        let site = self
            .program
            .sites
            .as_ref()
            .and_then(|sites| sites.number_of(call.sequence));
        let spent = self
            .program
            .spent
            .entry((call.function.number(), site))
            .or_default();
        spent.calls += 1;
        spent.ns += ns;
        spent.ns_max = spent.ns_max.max(ns);
    }

    fn comm(&mut self, number: u32) -> LocalId {
        if self.last_comm.0 == number {
            return self.last_comm.1;
        }
        let local = match self.comms.get(&number) {
            Some(&known) => known,
            None => self.new_comm(number, false),
        };
        self.last_comm = (number, local);
        local
    }

    fn new_comm(&mut self, number: u32, made: bool) -> LocalId {
        // `collect` refuses an index above the limit.
        let local = self.program.comms.len().min(usize::from(u16::MAX)) as LocalId;
        self.program.comms.push(LocalComm {
            number,
            own_rank: None,
            size: None,
            made,
        });
        self.comms.insert(number, local);
        self.last_comm = (number, local);
        local
    }

    fn step(&mut self, call: &Call<'_>, action: Action) {
        let gap = |now: i64, before: Option<i64>| before.map(|before| now.saturating_sub(before));
        let gap = match (call.cpu, call.wall) {
            (Some(cpu), _) => gap(cpu.entry_ns, self.cpu_before),
            (None, Some(wall)) => gap(wall.entry_ns, self.wall_before),
            (None, None) => None,
        };
        // The second step of a call follows immediately.
        self.cpu_before = call.cpu.map(|cpu| cpu.entry_ns);
        self.wall_before = call.wall.map(|wall| wall.entry_ns);
        let probe = matches!(action, Action::Begin(at) if self.program.transfers.at(at).kind == TransferKind::Probe);
        let at = call
            .wall
            .map_or(0, |wall| if probe { wall.return_ns } else { wall.entry_ns });
        // A clock that steps back gives no time.
        let gap_ns = gap.and_then(|gap| u64::try_from(gap).ok()).unwrap_or(0);
        self.program.steps.push(Step {
            at_ns: at,
            gap_ns,
            action,
        });
    }

    fn begin(&mut self, call: &Call<'_>, transfer: Transfer) -> u32 {
        let at = self.program.transfers.len() as u32;
        self.program.transfers.push(transfer);
        self.requests.next.push(NONE);
        self.step(call, Action::Begin(at));
        at
    }

    /// Ends a transfer whose status the call does not give.
    fn ends_unknown(&mut self, at: u32) {
        let transfers = &mut self.program.transfers;
        transfers.change(at, |it| it.end = End::Ignored);
    }

    fn completion(&mut self, call: &Call<'_>, completion: &Completion<'_>) {
        let first = self.program.finished.len() as u32;
        for (_, request, status) in completion.completed() {
            if request == Request::NULL {
                continue;
            }
            match self.requests.pop(request) {
                Some(at) => {
                    self.complete(at, status);
                    self.program.finished.push(at);
                }
                // An inactive persistent request completes immediately with an empty status.
                None if self.requests.persistent.contains_key(&request.0) => {}
                None => self.program.oddities.unknown_requests += 1,
            }
        }
        let count = self.program.finished.len() as u32 - first;
        if count > 0 {
            self.step(call, Action::Finish { first, count });
        }
    }

    fn cancel(&mut self, call: &Call<'_>, request: Request) {
        let Some(at) = self.requests.front(request) else {
            return;
        };
        if self.program.transfers.at(at).kind == TransferKind::Recv {
            let transfers = &mut self.program.transfers;
            transfers.change(at, |it| it.end = End::CancelAsked);
            self.step(call, Action::Cancel(at));
        }
    }

    fn empty_poll(&mut self, call: &Call<'_>, source: Source, tag: TagSel, comm: Comm) {
        let wild = (source == Source::Any, tag == TagSel::Any);
        if wild == (false, false) {
            return;
        }
        let comm = self.comm(comm.0);
        let polls = &mut self.program.empty_polls;
        let at = *self.polls.entry((comm, wild)).or_insert_with(|| {
            polls.push(EmptyPolls {
                comm,
                any_source: wild.0,
                any_tag: wild.1,
                count: 0,
                call: call_number(call),
                function: call.function.number(),
            });
            polls.len() - 1
        });
        polls[at].count += 1;
    }

    fn request_free(&mut self, request: Request) {
        self.requests.persistent.remove(&request.0);
        if let Some(at) = self.requests.pop(request) {
            self.program.transfers.change(at, |it| {
                if it.end != End::CancelAsked {
                    it.end = End::Freed;
                }
            });
        }
    }

    fn comm_new(&mut self, call: &Call<'_>, CommNew { how, parent, new }: CommNew<'_>) {
        let how = how.to_owned(|comm| self.comm(comm.0));
        let parent = (parent != Comm::NULL).then(|| self.comm(parent.0));
        let new = (new != Comm::NULL).then(|| self.new_comm(new.0, true));
        let connection = match call.function.name() {
            "MPI_Comm_accept" => Some(Connection::Accepts),
            "MPI_Comm_connect" => Some(Connection::Connects),
            _ => None,
        };
        self.program.origins.push(Origin::Comm {
            how,
            connection,
            parent,
            new,
        });
        if let Some(comm) = parent {
            self.step(
                call,
                Action::Collective {
                    comm,
                    sync: Sync::All,
                    root: UNKNOWN,
                },
            );
        }
    }
}
