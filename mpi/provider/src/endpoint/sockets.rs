//! The kernel's events: callers, hellos, lost peers.

use std::os::fd::AsFd;
use std::time::Instant;

use rustix::event::epoll;
use rustix::io::Errno;

use super::connections::GONE;
use super::descriptors::is_shortage;
use super::tables::Target;
use super::{Common, Completion, Endpoint};
use crate::bindings::FI_ECONNRESET;
use crate::wire::{Hello, LinkError, PendingPeer};

/// Callers accepted in one poll.
const ACCEPTS_MAX: usize = 64;

/// What an event of the kernel is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Watched {
    Listener,
    Caller(usize),
    Connection(usize),
}

impl Watched {
    pub(super) fn to_data(self) -> epoll::EventData {
        epoll::EventData::new_u64(match self {
            Self::Listener => 0,
            Self::Caller(index) => 1 << 62 | index as u64,
            Self::Connection(index) => 2 << 62 | index as u64,
        })
    }

    fn of_data(data: epoll::EventData) -> Self {
        let number = data.u64();
        let index = (number & !(3 << 62)) as usize;
        match number >> 62 {
            0 => Self::Listener,
            1 => Self::Caller(index),
            _ => Self::Connection(index),
        }
    }
}

impl Endpoint {
    /// Handles the kernel's events: callers, hellos, lost peers, bytes of streams.
    #[inline(never)]
    pub(super) fn poll_sockets(&mut self, common: &mut Common) {
        let mut events: [epoll::Event; 32] = [epoll::Event {
            flags: epoll::EventFlags::empty(),
            data: epoll::EventData::new_u64(0),
        }; 32];
        let now = rustix::time::Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        let Ok(count) = epoll::wait(&self.epoll, &mut events[..], Some(&now)) else {
            return;
        };
        for event in &events[..count] {
            match Watched::of_data(event.data) {
                Watched::Listener => self.accept(common),
                Watched::Caller(index) => self.greet(common, index),
                Watched::Connection(index) => {
                    self.read_socket(index);
                }
            }
        }
        self.connections.each_link(|link| {
            link.flush();
        });
    }

    /// Reads a connection's socket. A file that waits there may have the descriptor in reserve.
    fn read_socket(&mut self, index: usize) {
        let Some(connection) = self.connections.get_mut(index) else {
            return;
        };
        connection.link.on_readable();
        if connection.link.wants_descriptor() {
            self.reserve.give_up();
            connection.link.on_readable();
            if connection.link.wants_descriptor() {
                self.reserve.report(Errno::MFILE);
            }
        }
        self.connections.send_bells(index);
        self.connections.warm(index);
    }

    /// Admits the callers that wait.
    pub(super) fn accept(&mut self, common: &mut Common) {
        for local in [true, false] {
            for _ in 0..ACCEPTS_MAX {
                if !self.callers.has_room(local, Instant::now()) {
                    break;
                }
                // Whoever is not accepted waits in the kernel's queue, with all that it has sent.
                if !self.reserve.fill(self.epoll.as_fd()) {
                    return;
                }
                let accepted = self
                    .listener
                    .as_ref()
                    .and_then(|listener| listener.accept(local));
                let Some(accepted) = accepted else { break };
                if let Err(error) = accepted
                    && is_shortage(error)
                {
                    return self.reserve.report(error);
                }
                self.receive_hello(common, accepted);
            }
        }
    }

    /// Admits a caller if its hello is there, else gives it a place to wait.
    fn receive_hello(&mut self, common: &mut Common, accepted: Result<PendingPeer, Errno>) {
        let Some(listener) = &self.listener else {
            return;
        };
        let hello = accepted.and_then(|mut caller| Ok((caller.read(listener)?, caller)));
        match hello {
            Ok((Some(hello), caller)) => self.admit(common, caller, &hello),
            Ok((None, caller)) => match self.callers.insert(caller, Instant::now()) {
                Ok(index) => self.watch_caller(index),
                Err(_) => self.totals.refused += 1,
            },
            Err(error) => self.refuse(error),
        }
    }

    fn watch_caller(&mut self, index: usize) {
        if let Some(caller) = self.callers.get_mut(index) {
            let (data, flags) = (Watched::Caller(index).to_data(), epoll::EventFlags::IN);
            let _ = epoll::add(&self.epoll, caller.socket(), data, flags);
        }
    }

    fn refuse(&mut self, error: Errno) {
        self.totals.refused += 1;
        // A stranger could fill the program's output.
        if error == Errno::PERM && !std::mem::replace(&mut self.warned_of_strangers, true) {
            crate::report("a process of another user called an endpoint and is refused");
        }
        if error == Errno::PROTONOSUPPORT {
            crate::report("a peer with another DPAMATCH_FABRIC called an endpoint and is refused");
        }
    }

    /// Handles a waiting caller that has sent something or is gone.
    fn greet(&mut self, common: &mut Common, index: usize) {
        let Some(listener) = &self.listener else {
            return;
        };
        let Some(caller) = self.callers.get_mut(index) else {
            return;
        };
        let hello = caller.read(listener);
        if hello == Ok(None) {
            return;
        }
        let caller = self.callers.remove(index);
        // The descriptor stays open in the link, under another name in the epoll set.
        let _ = epoll::delete(&self.epoll, caller.socket());
        match hello {
            Ok(Some(hello)) => self.admit(common, caller, &hello),
            Err(error) => self.refuse(error),
            Ok(None) => {}
        }
    }

    /// Makes a connection with a caller whose hello is right. Without a descriptor for its memory
    /// file, the caller waits.
    fn admit(&mut self, common: &mut Common, caller: PendingPeer, hello: &Hello) {
        self.reserve.give_up();
        match caller.enter(hello, self.inner.as_ref()) {
            Ok(link) => {
                let peer = common.peers.number(&hello.from);
                self.add_connection(common, peer, link, false);
            }
            Err((error, Some(caller))) => {
                self.reserve.report(error);
                let index = self.callers.insert_welcome(caller, Instant::now());
                self.watch_caller(index);
            }
            Err((_, None)) => self.totals.refused += 1,
        }
    }

    /// Ends a connection: operations that wait for its peer fail.
    #[inline(never)]
    pub(super) fn fail_connection(&mut self, common: &mut Common, index: usize, error: LinkError) {
        // A peer that leaves while its operations need the connection breaks the rules.
        let is_over = self.connections[index].is_left_by_both() && !self.needs(index);
        if error == LinkError::Closed && is_over {
            return self.close_surplus(index);
        }
        let unsent = self.connections[index].link.unsent();
        self.forget_double(index);
        // Payload in the link's memory would vanish with it.
        self.settle(common);
        self.hold_batch();
        // The link ends here, so that the peer takes nothing that it reads from now on in the
        // memory of the operations that fail below.
        let peer = self.connections.remove(index).peer;
        // A new connection may soon have its number.
        if let Some(route) = self.routes.get_mut(peer.index())
            && *route == Some(index)
        {
            *route = Some(GONE);
        }
        self.messages
            .iter_mut()
            .filter(|message| message.connection == index)
            .for_each(|message| {
                message.connection = GONE;
            });
        self.totals.lost += 1;
        if unsent > 0 {
            crate::report(&format!(
                "peer {} is gone: {unsent} bytes of messages that wait for it are lost",
                peer.0
            ));
        }
        let why = match error {
            LinkError::Closed => None,
            LinkError::Broken => Some("broke the rules of the wire and is cut off"),
            LinkError::Stranger => Some("is gone: a stranger listens at its port, and got nothing"),
        };
        if let Some(why) = why {
            crate::report(&format!("peer {} {why}", peer.0));
        }
        self.pushes.retain(|push| push.connection != index);
        self.grants.retain(|_, grant| grant.connection != index);
        let mine = self
            .sendings
            .iter()
            .filter(|(_, sending)| sending.connection == index);
        for key in mine.map(|(key, _)| key).collect::<Vec<_>>() {
            let sending = self.sendings.remove(key);
            let completion = Completion::new(sending.context, sending.flags).failed(FI_ECONNRESET);
            self.end_sending(common, completion, sending.completes);
        }
        self.fail_transfers(common, index);
    }

    /// Fails the transfers from a lost peer.
    pub(super) fn fail_transfers(&mut self, common: &mut Common, index: usize) {
        let lost = self
            .transfers
            .iter()
            .filter(|(_, transfer)| transfer.connection == index);
        for key in lost.map(|(key, _)| key).collect::<Vec<_>>() {
            let transfer = self.transfers.remove(key);
            if let Target::Receive { recv, at, receipt } = transfer.target {
                let post = &mut self.posts[recv];
                post.transfers -= 1;
                let completion = self.receipt(recv, at, transfer.got, receipt);
                self.finish_receive(common, recv, completion.failed(FI_ECONNRESET));
            }
        }
    }
}
