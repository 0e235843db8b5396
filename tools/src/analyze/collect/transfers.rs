//! Sends and receives as they are posted, and how each one ends.

use super::{Collector, call_number};
use crate::analyze::program::{ANY, BYTES_MAX, End, NOBODY, Transfer, TransferKind, UNKNOWN_BYTES};
use dpamatch_traces::{
    Call, Comm, Dest, Payload, RecvSpec, Request, SendMode, SendSpec, Source, Status,
};

/// Maximum length that a signed number of 32 bits holds.
const STATUS_BYTES_MAX: u64 = i32::MAX as u64;

impl Collector<'_> {
    fn bytes(&self, payload: Payload) -> u64 {
        let bytes = self.sizes.bytes(payload);
        bytes
            .filter(|&bytes| bytes <= BYTES_MAX)
            .unwrap_or(UNKNOWN_BYTES)
    }

    fn blank(&mut self, call: &Call<'_>, comm: Comm, payload: Payload) -> Transfer {
        Transfer {
            peer: ANY,
            tag: ANY,
            bytes: self.bytes(payload),
            got_source: -1,
            got_tag: -1,
            got_bytes: UNKNOWN_BYTES,
            call: call_number(call),
            comm: self.comm(comm.0),
            function: call.function.number(),
            kind: TransferKind::Null,
            end: End::Pending,
            blocking: false,
            synchronous: false,
            unsure_null: false,
        }
    }

    pub(super) fn sent(&mut self, call: &Call<'_>, send: SendSpec, blocking: bool) -> Transfer {
        let blank = self.blank(call, send.comm, send.payload);
        let tag = send.tag.get() as i32;
        match send.dest {
            Dest::Null => Transfer {
                peer: NOBODY,
                tag,
                blocking,
                ..blank
            },
            Dest::Rank(rank) => Transfer {
                peer: rank.get() as i32,
                tag,
                kind: TransferKind::Send,
                blocking,
                synchronous: send.mode == SendMode::Synchronous,
                ..blank
            },
        }
    }

    pub(super) fn received(&mut self, call: &Call<'_>, recv: RecvSpec, blocking: bool) -> Transfer {
        let blank = self.blank(call, recv.comm, recv.room);
        let tag = recv.tag.number().map_or(ANY, |tag| tag as i32);
        let peer = match recv.source {
            Source::Rank(rank) => rank.get() as i32,
            Source::Any | Source::AnyOrNull => ANY,
            Source::Null => {
                return Transfer {
                    peer: NOBODY,
                    tag,
                    blocking,
                    ..blank
                };
            }
        };
        let unsure_null = recv.source == Source::AnyOrNull;
        Transfer {
            peer,
            tag,
            kind: TransferKind::Recv,
            blocking,
            unsure_null,
            ..blank
        }
    }

    pub(super) fn send(&mut self, call: &Call<'_>, send: SendSpec, blocking: bool) -> u32 {
        let transfer = self.sent(call, send, blocking);
        self.begin(call, transfer)
    }

    pub(super) fn recv(&mut self, call: &Call<'_>, recv: RecvSpec, blocking: bool) -> u32 {
        let transfer = self.received(call, recv, blocking);
        self.begin(call, transfer)
    }

    pub(super) fn start(&mut self, call: &Call<'_>, request: Request) {
        let Some(&transfer) = self.requests.persistent.get(&request.0) else {
            self.program.oddities.unknown_starts += 1;
            return;
        };
        let call_number = call_number(call);
        let at = self.begin(
            call,
            Transfer {
                call: call_number,
                ..transfer
            },
        );
        self.requests.push(request, at);
    }

    pub(super) fn complete(&mut self, at: u32, status: Option<Status>) {
        let mut transfer = self.program.transfers.at(at);
        self.end(&mut transfer, status);
        self.program.transfers.change(at, |it| *it = transfer);
    }

    fn end(&mut self, transfer: &mut Transfer, status: Option<Status>) {
        if !matches!(transfer.kind, TransferKind::Recv | TransferKind::Probe) {
            transfer.end = End::Ignored;
            return;
        }
        let Some(status) = status else {
            let asked = transfer.end == End::CancelAsked;
            transfer.end = if asked {
                End::CancelAsked
            } else {
                End::Ignored
            };
            return;
        };
        if status.cancelled {
            transfer.end = End::Cancelled;
            return;
        }
        transfer.end = End::Known;
        // A status from before version 0.6.3 has no tag: the posted tag counts.
        let tag = if status.tag < 0 && status.source >= 0 {
            transfer.tag
        } else {
            status.tag
        };
        (transfer.got_source, transfer.got_tag) = (status.source, tag);
        transfer.got_bytes = u64::try_from(status.bytes).unwrap_or(UNKNOWN_BYTES);
        // DUMPI keeps 32 bits of a status's length, so that of a longer message is wrong. OTF2 has
        // all bits, and gives a receive the room of its message.
        let may_be_longer = transfer.bytes != UNKNOWN_BYTES && transfer.bytes > STATUS_BYTES_MAX;
        if may_be_longer && transfer.got_bytes != transfer.bytes {
            transfer.got_bytes = UNKNOWN_BYTES;
            self.program.oddities.long_receives += 1;
        }
        let contradicts = |posted: i32, got: i32| got < 0 || (posted >= 0 && posted != got);
        if contradicts(transfer.peer, status.source) || contradicts(transfer.tag, tag) {
            if transfer.unsure_null {
                transfer.kind = TransferKind::Null;
            } else {
                // Posted values are certain except for wildcards; nothing else is known.
                self.program.oddities.contradictions += 1;
                transfer.end = End::Ignored;
            }
        }
    }
}
