//! The calls of one rank.

use std::collections::{BTreeMap, HashMap};

use crate::ending::Ending;
use crate::{
    Call, Comm, Function, Op, Rank, RankInfo, RankReader, RecvSpec, Salvage, Span, Status,
    TraceError, TraceErrorKind,
};

use super::cursor::Fault;
use super::definitions::Definitions;
use super::events::{Event, Events, Message};
use super::local::Local;
use super::region_calls::{self, Calls, mode, recv, send, status};

/// A matched receive whose probe came before recording was on.
const WITHOUT_PROBE: &str = "matched receives whose probe is not recorded";

/// The status of a send, which says nothing.
const NO_STATUS: Status = Status {
    bytes: 0,
    source: -1,
    tag: -1,
    cancelled: false,
    error: 0,
};

pub(super) struct Reader<'a> {
    run: &'a Definitions,
    local: Local,
    events: Events,
    info: RankInfo,
    /// The message of each posted receive, in their order; `None` if none came.
    messages: std::vec::IntoIter<Option<Message>>,
    /// The messages that probes found, by their numbers.
    found: HashMap<u64, Message>,
    /// The messages that requests of matched receives wait for.
    matched: HashMap<u64, Message>,
    /// What was not read, by name.
    unread: BTreeMap<String, u64>,
    calls: Calls,
    function: Function,
    span: Option<Span>,
    offset: u64,
    /// Regions that are open within the current MPI function, itself included.
    depth: u32,
    entry: i64,
    ending: Ending,
}

impl<'a> Reader<'a> {
    /// Reads all events once to learn what receives got.
    pub(super) fn new(
        run: &'a Definitions,
        local: Local,
        mut events: Events,
        rank: Rank,
        version: [u8; 3],
        salvage: bool,
    ) -> Result<Self, TraceError> {
        let (messages, broken) = received(&mut events);
        if let Some(error) = broken.filter(|error| !salvage || !error.can_be_saved()) {
            return Err(error);
        }
        events.rewind();
        let mut info = RankInfo::new(rank, "OTF2");
        info.version = Some(version);
        info.bytes = Some(events.file().length());
        let mut calls = Calls::default();
        for members in run.comms.values() {
            let own = members
                .ranks
                .iter()
                .position(|&it| it == u64::from(rank.get()));
            if let (Some(own), false) = (own, [Comm::WORLD, Comm::SELF].contains(&members.comm)) {
                calls.push(Op::CommRank {
                    comm: members.comm,
                    rank: own as i32,
                });
            }
        }
        Ok(Self {
            run,
            local,
            events,
            info,
            messages: messages.into_iter(),
            found: HashMap::new(),
            matched: HashMap::new(),
            unread: BTreeMap::new(),
            calls,
            function: named("MPI_Comm_rank"),
            span: None,
            offset: 0,
            depth: 0,
            entry: 0,
            ending: Ending::new(salvage, None),
        })
    }

    /// Reads until there is an operation; `None` at the end.
    fn gather(&mut self) -> Result<Option<()>, TraceError> {
        while self.depth > 0 || self.calls.items.is_empty() {
            self.offset = self.events.offset();
            match self.events.next()? {
                Some(event) => self
                    .event(event)
                    .map_err(|fault| fault.at(self.events.file().name(), self.offset))?,
                // The program ended within a function.
                None if self.depth > 0 => {
                    self.depth = 0;
                    self.close(self.entry, self.entry);
                }
                None => return Ok(None),
            }
        }
        Ok(Some(()))
    }

    fn event(&mut self, event: Event) -> Result<(), Fault> {
        let now = self.local.nanoseconds(self.run, self.events.ticks);
        match event {
            Event::Enter(region) => {
                let function = self.run.functions.get(&self.local.region(region));
                if self.depth > 0 {
                    self.depth += 1;
                } else if let Some(&function) = function {
                    self.calls.clear();
                    (self.function, self.entry, self.depth) = (function, now, 1);
                } else if let Some(name) = self.run.unknown.get(&self.local.region(region)) {
                    self.miss(format!("calls of {name}"));
                }
            }
            Event::Leave(_) if self.depth > 0 => {
                self.depth -= 1;
                if self.depth == 0 {
                    self.close(self.entry, now);
                }
            }
            Event::Leave(_) => {}
            _ if self.depth > 0 => self.operation(event)?,
            // The function was not recorded.
            _ => {
                self.calls.clear();
                self.function = function_of(event);
                self.operation(event)?;
                self.close(now, now);
            }
        }
        Ok(())
    }

    fn close(&mut self, entry_ns: i64, return_ns: i64) {
        self.span = Some(Span {
            entry_ns,
            return_ns,
        });
        self.calls.close(self.function);
        if self.function.is_only_counted() {
            self.miss(format!("effects of {}", self.function));
        }
    }

    /// Counts a receive that has no message.
    fn complete(&mut self, spec: Option<RecvSpec>) -> Option<RecvSpec> {
        if spec.is_none() {
            self.miss("receives that never complete".to_owned());
        }
        spec
    }

    fn miss(&mut self, what: String) {
        *self.unread.entry(what).or_default() += 1;
    }

    fn operation(&mut self, event: Event) -> Result<(), Fault> {
        let wrong = Fault::Wrong("a message with a rank or tag that MPI does not have");
        let comm = |message: &Message| self.comm(message.comm);
        match event {
            Event::Probe(message, number) => {
                let RecvSpec {
                    source, tag, comm, ..
                } = recv(&message, comm(&message)).ok_or(wrong)?;
                self.calls.push(Op::Probe {
                    source,
                    tag,
                    comm,
                    blocks: !["MPI_Iprobe", "MPI_Improbe"].contains(&self.function.name()),
                    found: true,
                    // The record has no length: MPI_UNDEFINED.
                    status: Some(Status {
                        bytes: -1,
                        ..status(&message)
                    }),
                });
                self.found.insert(number, message);
            }
            Event::MatchedRecv(number, bytes) => {
                let Some(found) = self.found.remove(&number) else {
                    self.miss(WITHOUT_PROBE.to_owned());
                    return Ok(());
                };
                let message = Message { bytes, ..found };
                let recv = recv(&message, self.comm(message.comm)).ok_or(wrong)?;
                self.calls.push(Op::Recv {
                    recv,
                    status: Some(status(&message)),
                });
            }
            Event::MatchedPosted(number, request) => {
                // Its place among the posted receives is used up in any case.
                let message = self.messages.next().flatten();
                let Some(found) = self.found.remove(&number) else {
                    self.miss(WITHOUT_PROBE.to_owned());
                    return Ok(());
                };
                let message = message.map(|it| Message {
                    bytes: it.bytes,
                    ..found
                });
                self.matched.insert(request, message.unwrap_or(found));
                let spec =
                    message.map(|message| recv(&message, self.comm(message.comm)).ok_or(wrong));
                let spec = self.complete(spec.transpose()?);
                self.calls.irecv(spec, request);
            }
            Event::MatchedReceived(request, bytes) => {
                // The receive was counted when it was posted, if recording was on.
                let Some(found) = self.matched.remove(&request) else {
                    return Ok(());
                };
                let message = Message { bytes, ..found };
                self.calls.tested(request, Some(status(&message)));
            }
            Event::Send(message) => {
                let send = send(&message, comm(&message), mode(self.function)).ok_or(wrong)?;
                self.calls.push(Op::Send(send));
            }
            Event::Isend(message, request) => {
                let send = send(&message, comm(&message), mode(self.function)).ok_or(wrong)?;
                self.calls.isend(send, request);
            }
            Event::Recv(message) => {
                let recv = recv(&message, comm(&message)).ok_or(wrong)?;
                self.calls.push(Op::Recv {
                    recv,
                    status: Some(status(&message)),
                });
            }
            Event::Posted(request) => {
                let message = self.messages.next().flatten();
                let spec =
                    message.map(|message| recv(&message, self.comm(message.comm)).ok_or(wrong));
                let spec = self.complete(spec.transpose()?);
                self.calls.irecv(spec, request);
            }
            Event::Received(message, request) => {
                self.calls.tested(request, Some(status(&message)));
            }
            Event::Sent(request) => self.calls.tested(request, Some(NO_STATUS)),
            Event::Cancelled(request) => {
                self.calls.tested(
                    request,
                    Some(Status {
                        cancelled: true,
                        ..NO_STATUS
                    }),
                );
            }
            Event::Pending(request) => self.calls.tested(request, None),
            Event::Collective {
                operation,
                comm,
                root,
                sent,
                received,
            } => {
                let run = self.run;
                match run.comms.get(&self.local.comm(comm)) {
                    _ if operation >= region_calls::COLLECTIVE_KINDS => self.miss(format!(
                        "records of collective operation {operation}, which moves no message"
                    )),
                    Some(members) => {
                        self.calls
                            .collective(operation, members, root, sent, received);
                    }
                    None => self.miss(
                        "collective operations of communicators without known members".to_owned(),
                    ),
                }
            }
            Event::Enter(_) | Event::Leave(_) => {}
        }
        Ok(())
    }

    /// The communicator with this number of the location. One without definition of its members,
    /// such as an inter-communicator, keeps its number.
    fn comm(&self, own: u32) -> Comm {
        let global = self.local.comm(own);
        let members = self.run.comms.get(&global);
        members.map_or(Comm(global.saturating_add(4)), |members| members.comm)
    }
}

/// The message of each posted receive, up to the end or the first error.
fn received(events: &mut Events) -> (Vec<Option<Message>>, Option<TraceError>) {
    let mut messages = Vec::new();
    let mut open = HashMap::new();
    loop {
        match events.next() {
            Ok(Some(Event::Posted(request) | Event::MatchedPosted(_, request))) => {
                open.insert(request, messages.len());
                messages.push(None);
            }
            Ok(Some(Event::Received(message, request))) => {
                if let Some(at) = open.remove(&request) {
                    messages[at] = Some(message);
                }
            }
            Ok(Some(Event::MatchedReceived(request, bytes))) => {
                // Only the length is known here: the probe has the rest.
                if let Some(at) = open.remove(&request) {
                    messages[at] = Some(Message {
                        bytes,
                        ..Message::default()
                    });
                }
            }
            Ok(Some(_)) => {}
            Ok(None) => return (messages, None),
            Err(error) => return (messages, Some(error)),
        }
    }
}

/// The name of some kinds of records that are not read.
fn kind_name(kind: u8) -> &'static str {
    match kind {
        85 => " (request of a collective without blocking)",
        86 => " (completion of a collective without blocking)",
        87 => " (communicator created)",
        88 => " (communicator destroyed)",
        _ => "",
    }
}

fn named(function: &str) -> Function {
    Function::from_name(function).expect("it is in the table of functions")
}

/// The function that makes such an event.
fn function_of(event: Event) -> Function {
    named(match event {
        Event::Send(_) => "MPI_Send",
        Event::Isend(..) => "MPI_Isend",
        Event::Posted(_) => "MPI_Irecv",
        Event::Recv(_) | Event::MatchedRecv(..) => "MPI_Recv",
        Event::MatchedPosted(..) => "MPI_Irecv",
        Event::Probe(..) => "MPI_Probe",
        Event::Pending(_) => "MPI_Test",
        Event::Collective { .. } => "MPI_Barrier",
        _ => "MPI_Wait",
    })
}

impl RankReader for Reader<'_> {
    fn info(&self) -> &RankInfo {
        &self.info
    }

    fn unread(&self) -> BTreeMap<String, u64> {
        let mut unread = self.unread.clone();
        for (kind, records) in &self.events.skipped {
            unread.insert(
                format!("records of kind {kind}{}", kind_name(*kind)),
                *records,
            );
        }
        unread
    }

    fn next_call(&mut self) -> Result<Option<Call<'_>>, TraceError> {
        if self.ending.has_ended() {
            return Ok(None);
        }
        let gathered = self.gather();
        let Some(()) = self.ending.seen(gathered)? else {
            return Ok(None);
        };
        let sequence = self.ending.calls();
        self.ending.count();
        let Some(item) = self.calls.items.pop_front() else {
            let what = TraceErrorKind::Damaged("a function without operation".to_owned());
            return Err(TraceError::new(self.events.file().name(), what));
        };
        let (offset, function, wall) = (self.offset, self.function, self.span);
        let op = self.calls.op(item, function);
        Ok(Some(Call {
            sequence,
            offset,
            function,
            thread: None,
            cpu: None,
            wall,
            op,
        }))
    }

    fn salvage(&self) -> Option<&Salvage> {
        self.ending.salvage()
    }
}
