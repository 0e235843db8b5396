//! Calls of collective operations.

use super::{Collector, call_number};
use crate::analyze::program::{Action, CollectiveCall, Side, Sync, UNKNOWN, UNKNOWN_BYTES};
use dpamatch_traces::{Call, Collective, Payload};

impl Collector<'_> {
    pub(super) fn collective(&mut self, call: &Call<'_>, collective: &Collective<'_>) {
        let &Collective {
            kind,
            comm,
            root,
            sent,
            received,
            sent_counts,
            received_counts,
        } = collective;
        let root = root
            .and_then(|root| u32::try_from(root).ok())
            .unwrap_or(UNKNOWN);
        let comm = self.comm(comm.0);
        if self.keeps_collectives {
            let made = CollectiveCall {
                sent: self.side(sent, sent_counts),
                received: self.side(received, received_counts),
                step: self.program.steps.len() as u32,
                call: call_number(call),
                root,
                comm,
                function: call.function.number(),
                kind,
            };
            self.program.collectives.push(made);
        }
        self.step(
            call,
            Action::Collective {
                comm,
                sync: Sync::of(kind),
                root,
            },
        );
    }

    /// One side of the data. Negative numbers of elements count as none.
    fn side(&mut self, payload: Option<Payload>, counts: &[i32]) -> Side {
        let unknown = Side {
            count: 0,
            element: UNKNOWN_BYTES,
            first: 0,
            peers: 0,
        };
        let Some(payload) = payload else {
            return unknown;
        };
        let element = self.sizes.bytes(Payload {
            count: 1,
            ..payload
        });
        let element = element.unwrap_or(UNKNOWN_BYTES);
        let Ok(first) = u32::try_from(self.program.counts.len()) else {
            return unknown;
        };
        self.program
            .counts
            .extend(counts.iter().map(|&count| count.max(0) as u32));
        Side {
            count: payload.count,
            element,
            first,
            peers: counts.len() as u32,
        }
    }
}
