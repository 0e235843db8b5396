//! Assembles the program of a process from the pieces of its log.

use std::collections::HashMap;

use dpamatch::stream::Event;
use dpamatch_vocabulary::{Selector, SourceSel};

use super::super::inbound::{Inbound, Messages};
use super::super::order::{Happening, Order};
use super::super::program::{
    ANY, Action, BYTES_MAX, End, LocalComm, Program, Step, Transfer, TransferKind, UNKNOWN,
    UNKNOWN_BYTES,
};
use super::super::truth::Truth;
use super::LogError;
use super::piece::Piece;

/// Maximum communicators of a process: a transfer numbers them with 16 bits.
const COMMS_MAX: usize = 1 << 16;
/// Maximum receives, probes and messages of a process: an order numbers them with 30 bits.
const EVENTS_MAX: usize = 1 << 30;

/// The communicators of all processes, identified by their bits.
#[derive(Default)]
pub(super) struct Comms {
    pub(super) numbers: HashMap<u64, u32>,
    pub(super) names: Vec<String>,
}

impl Comms {
    fn number(&mut self, bits: u64, what: &str) -> u32 {
        let names = &mut self.names;
        let number = *self.numbers.entry(bits).or_insert_with(|| {
            names.push(String::new());
            names.len() as u32 - 1
        });
        let name = &mut names[number as usize];
        // A log cannot name communicators before it knows which bits receives ignore.
        if !what.is_empty() && (name.is_empty() || name.starts_with("unknown")) {
            *name = what.to_owned();
        }
        number
    }
}

pub(super) struct Collector<'a> {
    pub(super) ranks: &'a HashMap<String, u32>,
    pub(super) strangers: u32,
    pub(super) program: Program,
    pub(super) inbound: Messages,
    pub(super) order: Order,
    pub(super) truth: Truth,
    /// Index into the program's communicators, by number in the run.
    pub(super) local: HashMap<u32, u16>,
    pub(super) of_local: Vec<u32>,
    pub(super) receives: HashMap<u64, u32>,
    pub(super) messages: HashMap<u64, u32>,
    pub(super) begin_unix_ns: u64,
}

impl Collector<'_> {
    pub(super) fn piece(
        &mut self,
        piece: &Piece,
        protocol: u64,
        comms: &mut Comms,
    ) -> Result<(), LogError> {
        let bad = |what: &str| LogError::Content {
            path: piece.path.clone(),
            what: what.to_owned(),
        };
        let numbers: Vec<u32> = piece
            .comms
            .iter()
            .map(|(bits, what)| comms.number(bits & !(protocol >> 31), what))
            .collect();
        let begin = piece.begin_unix_ns.saturating_sub(self.begin_unix_ns);
        // Times that fall would be waits below zero.
        let last = |order: &Order| {
            order
                .len()
                .checked_sub(1)
                .and_then(|last| order.time_ns(last))
        };
        for &(event, told) in &piece.events {
            let told = told.map_or(0, |told| told.saturating_add(begin).min(i64::MAX as u64));
            let time = last(&self.order).unwrap_or(0).max(told);
            let comm = match event {
                Event::Post { comm, .. }
                | Event::Probe { comm, .. }
                | Event::Mprobe { comm, .. } => comm.0,
                Event::Arrive { envelope, .. } => envelope.comm.0,
                Event::Cancel { .. } => 0,
            };
            // A truncated log has no comments.
            let comm = match numbers.get(comm as usize) {
                Some(&number) => number,
                None => comms.number(u64::from(comm), ""),
            };
            let local = self
                .local(comm)
                .ok_or_else(|| bad("too many communicators"))?;
            if self.program.transfers.len().max(self.inbound.len()) >= EVENTS_MAX {
                return Err(bad("too many events"));
            }
            self.event(event, time, comm, local, piece);
        }
        Ok(())
    }

    fn local(&mut self, comm: u32) -> Option<u16> {
        if let Some(&local) = self.local.get(&comm) {
            return Some(local);
        }
        let local = u16::try_from(self.of_local.len())
            .ok()
            .filter(|&at| usize::from(at) < COMMS_MAX)?;
        self.local.insert(comm, local);
        self.of_local.push(comm);
        self.program.comms.push(LocalComm {
            number: comm,
            own_rank: None,
            size: None,
            made: true,
        });
        Some(local)
    }

    fn event(&mut self, event: Event, time: u64, comm: u32, local: u16, piece: &Piece) {
        let happening = match event {
            Event::Post {
                recv,
                selector,
                size,
                ..
            } => {
                if self.receives.contains_key(&recv.0) {
                    // The next piece repeats it.
                    return;
                }
                let at = self.transfer(TransferKind::Recv, selector, local, size, piece);
                self.receives.insert(recv.0, at);
                self.step(time, Action::Begin(at));
                let matched = piece.matched.get(&recv.0);
                if let Some(&message) = matched.and_then(|message| self.messages.get(message)) {
                    self.order.push_at(Happening::Post(at), time);
                    return self.pair(at, message, time);
                }
                Happening::Post(at)
            }
            Event::Arrive {
                msg,
                envelope,
                bytes,
                ..
            } => {
                if self.messages.contains_key(&msg.0) {
                    return;
                }
                let sender = piece.peers.get(envelope.source.get() as usize);
                let sender = sender
                    .and_then(|identity| self.ranks.get(identity))
                    .copied();
                let source = sender.unwrap_or(self.strangers + envelope.source.get());
                let message = self.inbound.len() as u32;
                self.messages.insert(msg.0, message);
                self.inbound.push(Inbound {
                    sender: sender.unwrap_or(UNKNOWN),
                    op: UNKNOWN,
                    comm,
                    source,
                    tag: envelope.tag.get(),
                    bytes: length(bytes),
                    receive: UNKNOWN,
                });
                self.order.push_at(Happening::Arrive(message), time);
                let receive = piece
                    .taken
                    .get(&msg.0)
                    .and_then(|recv| self.receives.get(recv));
                if let Some(&receive) = receive {
                    self.pair(receive, message, time);
                }
                return;
            }
            Event::Cancel { recv } => match self.receives.get(&recv.0) {
                Some(&at) => {
                    if piece.cancelled.contains(&recv.0) {
                        let transfers = &mut self.program.transfers;
                        transfers.change(at, |it| it.end = End::Cancelled);
                    }
                    self.step(time, Action::Cancel(at));
                    Happening::Cancel(at)
                }
                None => return,
            },
            Event::Probe { selector, .. } => {
                Happening::Probe(self.transfer(TransferKind::Probe, selector, local, None, piece))
            }
            Event::Mprobe {
                probe, selector, ..
            } => {
                // A matched probe that takes a message counts as a receive posted for it.
                let found = piece.probed.get(&probe.0);
                match found
                    .and_then(|message| self.messages.get(message))
                    .copied()
                {
                    Some(message) => {
                        let at = self.transfer(TransferKind::Recv, selector, local, None, piece);
                        self.step(time, Action::Begin(at));
                        self.order.push_at(Happening::Post(at), time);
                        return self.pair(at, message, time);
                    }
                    None => Happening::Probe(self.transfer(
                        TransferKind::Probe,
                        selector,
                        local,
                        None,
                        piece,
                    )),
                }
            }
        };
        self.order.push_at(happening, time);
    }

    fn transfer(
        &mut self,
        kind: TransferKind,
        selector: Selector,
        comm: u16,
        size: Option<u64>,
        piece: &Piece,
    ) -> u32 {
        let peer = match selector.source {
            SourceSel::Any => ANY,
            SourceSel::Rank(peer) => {
                let identity = piece.peers.get(peer.get() as usize);
                let rank = identity
                    .and_then(|identity| self.ranks.get(identity))
                    .copied();
                rank.unwrap_or(self.strangers + peer.get()) as i32
            }
        };
        let call = self.program.transfers.len() as u32;
        let transfer = transfer(kind, selector, comm, call, length(size));
        self.program.transfers.push(Transfer { peer, ..transfer });
        self.program.transfers.len() as u32 - 1
    }

    fn pair(&mut self, receive: u32, message: u32, time: u64) {
        self.inbound.set_receive(message, receive);
        let inbound = self.inbound.at(message);
        self.program.transfers.change(receive, |transfer| {
            transfer.end = End::Known;
            (transfer.got_source, transfer.got_tag) = (inbound.source as i32, inbound.tag as i32);
            transfer.got_bytes = inbound.bytes.min(transfer.bytes);
        });
        self.truth.pairs += 1;
        let first = self.program.finished.len() as u32;
        self.program.finished.push(receive);
        self.step(time, Action::Finish { first, count: 1 });
    }

    fn step(&mut self, time: u64, action: Action) {
        self.program.steps.push(Step {
            at_ns: time as i64,
            gap_ns: 0,
            action,
        });
    }
}

/// A transfer with only these fields known. The caller sets its peer.
pub(super) fn transfer(
    kind: TransferKind,
    selector: Selector,
    comm: u16,
    call: u32,
    bytes: u64,
) -> Transfer {
    Transfer {
        peer: ANY,
        tag: selector.tag.number().map_or(ANY, |tag| tag as i32),
        bytes,
        got_source: ANY,
        got_tag: ANY,
        got_bytes: UNKNOWN_BYTES,
        call,
        comm,
        function: u16::MAX,
        kind,
        end: End::Pending,
        blocking: false,
        synchronous: false,
        unsure_null: false,
    }
}

fn length(bytes: Option<u64>) -> u64 {
    bytes
        .filter(|&bytes| bytes <= BYTES_MAX)
        .unwrap_or(UNKNOWN_BYTES)
}
