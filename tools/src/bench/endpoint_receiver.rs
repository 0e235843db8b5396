//! The emulated NIC as the receiver, used through the public [`Endpoint`].

use std::mem;

use dpa_model::Monitor;
use dpamatch::endpoint::{
    CommSender, Communicator, Drive, Endpoint, EndpointConfig, EndpointError, RecvRequest,
};
use dpamatch::registry::EngineOptions;
use dpamatch_vocabulary::Rank;

use super::load::Key;
use super::window::Receiver;
use super::{BenchError, payload};

pub(super) struct EndpointReceiver {
    endpoint: Endpoint,
    comm: Communicator,
    /// Indexed by slot; empty while a receive uses the buffer.
    buffers: Vec<Vec<u8>>,
    /// Receives to wait for, with their slots, in posting order.
    posted: Vec<(RecvRequest, usize)>,
    standing: Vec<RecvRequest>,
    first_standing: usize,
}

impl EndpointReceiver {
    /// A receiver with `slots` buffers of `size` bytes; slots from `first_standing` on belong to
    /// receives that never match.
    pub(super) fn new(
        options: &EngineOptions,
        slots: usize,
        first_standing: usize,
        size: usize,
    ) -> Result<Self, BenchError> {
        let drive = if options.threads {
            Drive::threads()
        } else {
            Drive::Caller
        };
        let config = EndpointConfig {
            nic: options.nic,
            drive,
        };
        let mut endpoint = Endpoint::new(&config).map_err(|error| match error {
            EndpointError::Config(error) => BenchError::Config(error),
            EndpointError::Thread(error) => BenchError::Thread(error),
            _ => BenchError::NoTables,
        })?;
        let comm = endpoint
            .create_comm(options.hints)
            .map_err(|_| BenchError::NoTables)?;
        Ok(Self {
            endpoint,
            comm,
            buffers: payload::buffers(slots, size),
            posted: Vec::with_capacity(slots),
            standing: Vec::new(),
            first_standing,
        })
    }

    pub(super) fn sender(&self, rank: Rank, inline_hashes: bool) -> CommSender {
        let mut sender = self.endpoint.sender(&self.comm, rank);
        sender.set_inline_hashes(inline_hashes);
        sender
    }

    pub(super) fn monitor(&self) -> Monitor {
        self.endpoint.monitor()
    }
}

impl Receiver for EndpointReceiver {
    #[inline(always)]
    fn post(&mut self, slot: usize, key: Key) -> Result<(), BenchError> {
        let selector = key.selector;
        let buffer = mem::take(&mut self.buffers[slot]);
        let request = self
            .endpoint
            .post_recv(&self.comm, selector.source, selector.tag, buffer);
        let request = request.map_err(|_| BenchError::Hint)?;
        if slot < self.first_standing {
            self.posted.push((request, slot));
        } else {
            self.standing.push(request);
        }
        Ok(())
    }

    #[inline]
    fn settle(&mut self) -> Result<(), BenchError> {
        while self.endpoint.progress() {}
        Ok(())
    }

    #[inline]
    fn complete(&mut self, count: usize) -> Result<(), BenchError> {
        for (request, slot) in self.posted.drain(..count) {
            let received = self
                .endpoint
                .wait(request)
                .map_err(|_| BenchError::LeftTheNic)?;
            self.buffers[slot] = received.buffer;
        }
        Ok(())
    }

    fn buffer(&mut self, slot: usize) -> &mut [u8] {
        &mut self.buffers[slot]
    }
}
