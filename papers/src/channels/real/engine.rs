//! The progress engine: it polls the channel that its policy chooses, and one endpoint matches.
//!
//! The kernel copy stays outside the main loop. The engine polls its channel after an empty poll,
//! and only while a message may come by it. That is so while a posted receive accepts a process of
//! the node, and while a message in shared memory waits for an earlier one. Until then
//! announcements stay in the kernel.

use std::io::{self, IoSliceMut, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::sync_channel;

use dpamatch::endpoint::{
    CommSender, Communicator, Endpoint, EndpointConfig, LogEntry, RecvError, RecvRequest, Status,
};
use dpamatch::{Hints, NicConfig, Rank, SendError, SourceSel, TagSel};
use nix::sys::uio::{RemoteIoVec, process_vm_readv};
use nix::unistd::Pid;

use super::super::policy::{Channel, PollingPolicy};
use super::ChannelError;
use super::inbox::{Inbox, SharedInbox, SocketInbox};
use super::message::{Exposed, HEADER, Header, Mark};
use super::peers::{Kernel, LocalPeer, RemotePeer, SHARED_BUFFERS};

/// What the polls of a channel found.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Polls {
    pub messages: u64,
    pub empty: u64,
    /// Polls that found a message before its turn: an earlier one of its sender is in another
    /// channel.
    pub early: u64,
    /// Polls that found a message for which the matcher had no room.
    pub refused: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Found {
    Message,
    Empty,
    Early,
    Refused,
}

impl Polls {
    fn count(&mut self, found: Found) {
        *match found {
            Found::Message => &mut self.messages,
            Found::Empty => &mut self.empty,
            Found::Early => &mut self.early,
            Found::Refused => &mut self.refused,
        } += 1;
    }

    /// All of them.
    pub fn all(&self) -> u64 {
        self.messages + self.empty + self.early + self.refused
    }
}

/// One sender's way into the matcher.
#[derive(Debug)]
struct Source {
    sender: CommSender,
    /// Messages so far, which is the place of the next one in the sender's order.
    next: u64,
}

#[derive(Debug)]
struct Local {
    source: Source,
    shared: SharedInbox,
    kernel: Option<SocketInbox<UnixStream>>,
}

#[derive(Debug)]
struct Remote {
    source: Source,
    network: SocketInbox<TcpStream>,
}

/// A process's receiving side: three channels, one policy, one matcher.
#[derive(Debug)]
pub struct ProgressEngine {
    endpoint: Endpoint,
    comm: Communicator,
    policy: Box<dyn PollingPolicy>,
    locals: Vec<Local>,
    remotes: Vec<Remote>,
    /// The first to be asked in the next poll, so that every sender gets a turn.
    first: [usize; 3],
    shared: Polls,
    kernel: Polls,
    network: Polls,
    /// Posted receives that accept a process which may use the kernel copy.
    expected: usize,
    /// Whether a message in shared memory waits for an earlier one.
    early: bool,
}

/// A posted receive. It must be tested until it has ended.
#[derive(Debug)]
pub struct Request {
    receive: Option<RecvRequest>,
    length: usize,
    expects_kernel: bool,
}

/// A received message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Received {
    pub status: Status,
    /// Bytes that were sent.
    pub sent: usize,
    buffer: Vec<u8>,
}

impl Received {
    /// The message, as far as its receive had room.
    pub fn bytes(&self) -> &[u8] {
        &self.buffer[1..1 + self.status.bytes]
    }

    /// The memory, for the next receive.
    pub fn into_buffer(self) -> Vec<u8> {
        self.buffer
    }
}

fn broken(source: &Source, what: &'static str) -> ChannelError {
    ChannelError::Broken {
        source_rank: source.sender.rank().get(),
        what,
    }
}

/// Passes the inbox's oldest message to the matcher if it is the sender's next.
fn deliver(source: &mut Source, inbox: &mut impl Inbox, mark: Mark) -> Result<Found, ChannelError> {
    let Some(frame) = inbox.peek()? else {
        return Ok(Found::Empty);
    };
    let (header, body) = match Header::read(frame) {
        Some(Ok(header)) => (header, &frame[HEADER..]),
        _ => return Err(broken(source, "no header")),
    };
    if header.sequence > source.next {
        return Ok(Found::Early);
    }
    if header.sequence < source.next || body.first() != Some(&(mark as u8)) {
        return Err(broken(source, "a message twice, or in the wrong channel"));
    }
    match source.sender.try_send(header.tag, body) {
        Ok(()) => {}
        Err(SendError::ReceiverNotReady) => return Ok(Found::Refused),
        Err(error) => return Err(error.into()),
    }
    source.next += 1;
    inbox.take();
    Ok(Found::Message)
}

/// Asks everybody in turn, from `first` on, until one has a message. What else was found counts
/// if nobody has one.
fn in_turn<T>(
    all: &mut [T],
    first: &mut usize,
    mut ask: impl FnMut(&mut T) -> Result<Found, ChannelError>,
) -> Result<Found, ChannelError> {
    let mut found = Found::Empty;
    for step in 0..all.len() {
        let place = (*first + step) % all.len();
        match ask(&mut all[place])? {
            Found::Message => {
                *first = place + 1;
                return Ok(Found::Message);
            }
            Found::Empty => {}
            other => found = other,
        }
    }
    Ok(found)
}

impl ProgressEngine {
    /// An engine without peers.
    ///
    /// # Errors
    /// The endpoint's.
    pub fn new(nic: NicConfig, policy: Box<dyn PollingPolicy>) -> Result<Self, ChannelError> {
        let mut endpoint = Endpoint::new(&EndpointConfig {
            nic,
            ..EndpointConfig::default()
        })?;
        let comm = endpoint.create_comm(Hints::default())?;
        Ok(Self {
            endpoint,
            comm,
            policy,
            locals: Vec::new(),
            remotes: Vec::new(),
            first: [0; 3],
            shared: Polls::default(),
            kernel: Polls::default(),
            network: Polls::default(),
            expected: 0,
            early: false,
        })
    }

    fn source(&self, rank: Rank) -> Source {
        Source {
            sender: self.endpoint.sender(&self.comm, rank),
            next: 0,
        }
    }

    /// Connects a process of the node. Its messages of at least `threshold` bytes go by the kernel
    /// copy; `None`: all go through shared memory. Call this before the first receive.
    ///
    /// # Errors
    /// The sockets'.
    pub fn add_local(&mut self, rank: Rank, threshold: Option<usize>) -> io::Result<LocalPeer> {
        let (full, to_here) = sync_channel(SHARED_BUFFERS);
        let (from_here, empty) = sync_channel(SHARED_BUFFERS);
        for _ in 0..SHARED_BUFFERS {
            let _ = from_here.try_send(Vec::new());
        }
        let (kernel, sender) = match threshold {
            None => (None, None),
            Some(threshold) => {
                let (here, there) = UnixStream::pair()?;
                here.set_nonblocking(true)?;
                (
                    Some(SocketInbox::new(here)),
                    Some(Kernel::new(there, threshold)),
                )
            }
        };
        self.locals.push(Local {
            source: self.source(rank),
            shared: SharedInbox::new(to_here, from_here),
            kernel,
        });
        Ok(LocalPeer {
            full,
            empty,
            kernel: sender,
            sequence: 0,
        })
    }

    /// Connects a process of another node, by TCP on the loopback interface.
    ///
    /// # Errors
    /// The sockets'.
    pub fn add_remote(&mut self, rank: Rank) -> io::Result<RemotePeer> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let stream = TcpStream::connect(listener.local_addr()?)?;
        stream.set_nodelay(true)?;
        // Another program may have been faster.
        let here = loop {
            let (here, from) = listener.accept()?;
            if from == stream.local_addr()? {
                break here;
            }
        };
        here.set_nonblocking(true)?;
        self.remotes.push(Remote {
            source: self.source(rank),
            network: SocketInbox::new(here),
        });
        Ok(RemotePeer {
            stream,
            sequence: 0,
            frame: Vec::new(),
        })
    }

    /// Posts a receive for at most `length` bytes. The buffer is its memory, of any length.
    ///
    /// # Errors
    /// [`ChannelError::Receive`].
    pub fn post(
        &mut self,
        source: impl Into<SourceSel>,
        tag: impl Into<TagSel>,
        length: usize,
        mut buffer: Vec<u8>,
    ) -> Result<Request, ChannelError> {
        let source = source.into();
        // Room for the mark, and for an announcement.
        buffer.resize(1 + length.max(Exposed::BYTES), 0);
        let expects_kernel = self.locals.iter().any(|local| {
            let rank = local.source.sender.rank();
            local.kernel.is_some() && [SourceSel::Any, SourceSel::Rank(rank)].contains(&source)
        });
        let receive = self
            .endpoint
            .post_recv(&self.comm, source, tag, buffer)
            .map_err(RecvError::from)?;
        self.expected += usize::from(expects_kernel);
        Ok(Request {
            receive: Some(receive),
            length,
            expects_kernel,
        })
    }

    /// The result of a receive that has ended; `None` before that, and after it was returned.
    ///
    /// # Errors
    /// [`ChannelError`], inside the result.
    pub fn test(&mut self, request: &mut Request) -> Option<Result<Received, ChannelError>> {
        let result = self.endpoint.test(&mut request.receive)?;
        self.expected -= usize::from(request.expects_kernel);
        let (received, body) = match result {
            Ok(received) => {
                let body = received.status.bytes;
                (received, body)
            }
            Err(RecvError::Truncated { received, sent }) => (received, sent),
            Err(error) => return Some(Err(error.into())),
        };
        Some(self.finish(request.length, received, body))
    }

    /// One turn of the main loop. If it found no message and the kernel may have one, the kernel is
    /// polled, too. Returns whether a message has come.
    ///
    /// # Errors
    /// [`ChannelError`]; the engine is of no more use then.
    pub fn progress(&mut self) -> Result<bool, ChannelError> {
        let channel = self.policy.next();
        let mut found = self.poll(channel)?;
        self.policy.polled(channel, found);
        if !found && self.expects_kernel() {
            found = self.poll_kernel()?;
        }
        if found {
            self.endpoint.progress();
        }
        Ok(found)
    }

    /// Whether a message may come by the kernel copy.
    pub fn expects_kernel(&self) -> bool {
        self.expected > 0 || self.early
    }

    /// Polls a channel of the main loop, whatever the policy says. Returns whether a message has
    /// come.
    ///
    /// # Errors
    /// [`ChannelError`].
    pub fn poll(&mut self, channel: Channel) -> Result<bool, ChannelError> {
        let [network, shared, _] = &mut self.first;
        let found = match channel {
            Channel::Network => {
                let found = in_turn(&mut self.remotes, network, |remote| {
                    deliver(&mut remote.source, &mut remote.network, Mark::Data)
                })?;
                self.network.count(found);
                found
            }
            Channel::SharedMemory => {
                let mut early = false;
                let found = in_turn(&mut self.locals, shared, |local| {
                    let found = deliver(&mut local.source, &mut local.shared, Mark::Data)?;
                    early |= found == Found::Early;
                    Ok(found)
                })?;
                self.early = early;
                self.shared.count(found);
                found
            }
        };
        self.make_room(found)
    }

    /// Polls the kernel. Returns whether a message has come.
    ///
    /// # Errors
    /// [`ChannelError`].
    pub fn poll_kernel(&mut self) -> Result<bool, ChannelError> {
        let found = in_turn(&mut self.locals, &mut self.first[2], |local| {
            let Some(kernel) = &mut local.kernel else {
                return Ok(Found::Empty);
            };
            match deliver(&mut local.source, kernel, Mark::Exposed) {
                // The sender has ended without reading the answers; its announcements came first.
                Err(ChannelError::Io(error)) if error.kind() == io::ErrorKind::ConnectionReset => {
                    Ok(Found::Empty)
                }
                found => found,
            }
        })?;
        self.kernel.count(found);
        self.make_room(found)
    }

    fn make_room(&mut self, found: Found) -> Result<bool, ChannelError> {
        if found == Found::Refused {
            self.endpoint.progress();
        }
        Ok(found == Found::Message)
    }

    /// What came in, once it is matched: data that are there, or the kernel copies them.
    fn finish(
        &mut self,
        length: usize,
        received: dpamatch::endpoint::Received,
        body: usize,
    ) -> Result<Received, ChannelError> {
        let dpamatch::endpoint::Received {
            mut buffer,
            mut status,
        } = received;
        if buffer.first() == Some(&(Mark::Data as u8)) {
            let sent = body - 1;
            status.bytes = sent.min(length);
            return Ok(Received {
                status,
                sent,
                buffer,
            });
        }
        let locals = &mut self.locals;
        let local = locals
            .iter_mut()
            .find(|local| local.source.sender.rank() == status.source);
        let exposed = Exposed::read(&buffer[1..]);
        let (Some(local), Some(exposed)) = (local, exposed) else {
            return Err(ChannelError::Broken {
                source_rank: status.source.get(),
                what: "no announcement",
            });
        };
        let sent = usize::try_from(exposed.bytes).unwrap_or(usize::MAX);
        status.bytes = sent.min(length);
        copy(&exposed, &mut buffer[1..1 + status.bytes])?;
        if let Some(kernel) = &mut local.kernel {
            // Few bytes and few buffers on loan: the socket always has room.
            match kernel.stream().write_all(&exposed.sequence.to_le_bytes()) {
                // The sender has ended, and left the buffer to this side.
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
                result => result?,
            }
        }
        Ok(Received {
            status,
            sent,
            buffer,
        })
    }

    /// Polls of shared memory, of the kernel, and of the network.
    pub fn polls(&self) -> [Polls; 3] {
        [self.shared, self.kernel, self.network]
    }

    /// See [`Endpoint::drain_order_log`].
    pub fn drain_order_log(&mut self, into: &mut Vec<LogEntry>) {
        self.endpoint.drain_order_log(into);
    }
}

/// Copies from the process that exposes the buffer, as many bytes as `target` has.
fn copy(exposed: &Exposed, target: &mut [u8]) -> io::Result<()> {
    let bytes = target.len();
    if bytes == 0 {
        return Ok(());
    }
    let there = RemoteIoVec {
        base: exposed.address as usize,
        len: bytes,
    };
    let process = Pid::from_raw(exposed.process as i32);
    let copied = process_vm_readv(process, &mut [IoSliceMut::new(target)], &[there])?;
    if copied == bytes {
        Ok(())
    } else {
        Err(io::ErrorKind::UnexpectedEof.into())
    }
}
