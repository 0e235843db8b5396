//! Admitting peers, and connecting to them.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType};
use rustix::process::Uid;
use rustix::time::Timespec;

use super::address::{Address, array, outside_ip};
use super::channel::{Channel, SharedInner};
use super::file::{new_file, recv_with_file, send_file};
use super::link::{Link, ShmLink};
use super::proof::{self, CALL};
use super::ring::ring_bytes;
use super::tcp::{Preamble, TcpLink};

const FLAGS: SocketFlags = SocketFlags::CLOEXEC.union(SocketFlags::NONBLOCK);
const BACKLOG: i32 = 1024;
const HELLO: usize = Address::LENGTH + 16;
/// If this arrives as it was sent, both sides of a TCP stream have the same byte order.
const ORDER: u32 = 0x0102_0304;

/// The first data of a peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Hello {
    /// Its own address.
    pub(crate) from: Address,
    /// The key in the address that it connects to.
    pub(crate) key: u64,
    /// Lines of each ring. Over TCP: 0, or the mark of the inner provider.
    pub(crate) lines: u32,
}

impl Hello {
    pub(crate) fn to_bytes(self) -> [u8; HELLO] {
        let mut bytes = [0; HELLO];
        bytes[..64].copy_from_slice(&self.from.to_bytes());
        bytes[64..72].copy_from_slice(&self.key.to_be_bytes());
        bytes[72..76].copy_from_slice(&self.lines.to_be_bytes());
        bytes[76..80].copy_from_slice(&ORDER.to_ne_bytes());
        bytes
    }

    fn from_bytes(bytes: &[u8; HELLO]) -> Option<Self> {
        let from = Address::from_bytes(&array(&bytes[..64]))?;
        let same_order = bytes[76..80] == ORDER.to_ne_bytes();
        same_order.then_some(Self {
            from,
            key: u64::from_be_bytes(array(&bytes[64..72])),
            lines: u32::from_be_bytes(array(&bytes[72..76])),
        })
    }
}

/// The sockets of an endpoint.
#[derive(Debug)]
pub(crate) struct Listener {
    pub(crate) unix: OwnedFd,
    pub(crate) tcp: Option<OwnedFd>,
    address: Address,
    /// The inner endpoint's mark, which callers by TCP must have.
    pub(crate) mark: u32,
}

impl Listener {
    /// Listens for this address. `tcp`: the address to bind a TCP socket to; `None`: the first that
    /// others can reach, if there is one.
    ///
    /// # Errors
    /// When the kernel refuses the Unix socket, or the TCP socket that was asked for.
    pub(crate) fn open(address: &mut Address, tcp: TcpChoice) -> Result<Self, Errno> {
        let unix =
            rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, FLAGS, None)?;
        let name = SocketAddrUnix::new_abstract_name(address.socket_name().as_bytes())?;
        rustix::net::bind(&unix, &name)?;
        rustix::net::listen(&unix, BACKLOG)?;
        let ip = match tcp {
            TcpChoice::Off => None,
            TcpChoice::At(ip) => Some(ip),
            TcpChoice::Outside => outside_ip(),
        };
        let tcp = match ip.map(listen_tcp) {
            Some(Ok((socket, at))) => {
                address.tcp = Some(at);
                Some(socket)
            }
            Some(Err(error)) if matches!(tcp, TcpChoice::At(_)) => return Err(error),
            _ => None,
        };
        Ok(Self {
            unix,
            tcp,
            address: *address,
            mark: 0,
        })
    }

    /// The next peer that called: over the Unix socket, if `local`, or by TCP. [`Errno::MFILE`] and
    /// [`Errno::NFILE`]: there is no descriptor for it, and it waits in the kernel's queue. Another
    /// error means a caller that is refused.
    pub(crate) fn accept(&self, local: bool) -> Option<Result<PendingPeer, Errno>> {
        if local {
            let socket = match waiting(rustix::net::accept_with(&self.unix, FLAGS))? {
                Ok(socket) => socket,
                Err(error) => return Some(Err(error)),
            };
            return Some(process_of_this_user(&socket).map(|pid| PendingPeer {
                socket,
                source: Source::Process(pid),
                got: Vec::new(),
                is_known: false,
            }));
        }
        let accepted = rustix::net::acceptfrom_with(self.tcp.as_ref()?, FLAGS);
        let (socket, from) = match waiting(accepted)? {
            Ok(accepted) => accepted,
            Err(error) => return Some(Err(error)),
        };
        let from = from.and_then(|from| SocketAddr::try_from(from).ok());
        Some(match from {
            Some(from) => Ok(PendingPeer {
                socket,
                source: Source::Machine(from.ip()),
                got: Vec::new(),
                is_known: false,
            }),
            None => Err(Errno::CONNABORTED),
        })
    }

    /// Whether a caller of this machine waits in the kernel's queue.
    pub(crate) fn has_caller(&self) -> bool {
        let mut events = [PollFd::new(&self.unix, PollFlags::IN)];
        let now = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        rustix::event::poll(&mut events, Some(&now)).is_ok_and(|count| count > 0)
    }

    /// Whether the hello is one for this endpoint.
    fn admits(&self, hello: &Hello, local: bool) -> bool {
        hello.key == self.address.key && (!local || hello.from.host == self.address.host)
    }
}

/// What was accepted, or the shortage of descriptors that prevents it. `None`: nobody waits.
fn waiting<T>(accepted: Result<T, Errno>) -> Option<Result<T, Errno>> {
    match accepted {
        Ok(accepted) => Some(Ok(accepted)),
        Err(error @ (Errno::MFILE | Errno::NFILE)) => Some(Err(error)),
        Err(_) => None,
    }
}

/// The process at the other end of a Unix socket.
///
/// # Errors
/// [`Errno::PERM`]: it belongs to another user.
pub(super) fn process_of_this_user(socket: &OwnedFd) -> Result<i32, Errno> {
    process_of(socket, rustix::process::geteuid())
}

/// The process at the other end if it belongs to this user.
fn process_of(socket: &OwnedFd, user: Uid) -> Result<i32, Errno> {
    let other = rustix::net::sockopt::socket_peercred(socket)?;
    if other.uid != user {
        return Err(Errno::PERM);
    }
    Ok(other.pid.as_raw_nonzero().get())
}

#[cfg(test)]
#[test]
fn another_user_at_the_other_end_is_refused() {
    let domain = (AddressFamily::UNIX, SocketType::SEQPACKET);
    let (here, _there) = rustix::net::socketpair(domain.0, domain.1, FLAGS, None).expect("a pair");
    let own = rustix::process::geteuid();
    let other = Uid::from_raw(own.as_raw() ^ 1);
    let me = std::process::id() as i32;
    assert_eq!(process_of(&here, own), Ok(me));
    assert_eq!(process_of(&here, other), Err(Errno::PERM));
    assert_eq!(process_of_this_user(&here), Ok(me));
}

/// Whether and where a TCP socket listens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TcpChoice {
    /// Nowhere.
    Off,
    /// At the first address that others can reach.
    Outside,
    /// Here.
    At(IpAddr),
}

fn listen_tcp(ip: IpAddr) -> Result<(OwnedFd, SocketAddr), Errno> {
    let family = if ip.is_ipv4() {
        AddressFamily::INET
    } else {
        AddressFamily::INET6
    };
    let socket = rustix::net::socket_with(family, SocketType::STREAM, FLAGS, None)?;
    rustix::net::bind(&socket, &SocketAddr::new(ip, 0))?;
    rustix::net::listen(&socket, BACKLOG)?;
    let at = SocketAddr::try_from(rustix::net::getsockname(&socket)?)?;
    Ok((socket, at))
}

/// A connected peer whose hello is not complete.
#[derive(Debug)]
pub(crate) struct PendingPeer {
    socket: OwnedFd,
    source: Source,
    got: Vec<u8>,
    /// By TCP: it has proved that it knows the key.
    is_known: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Source {
    /// A process of this machine and this user.
    Process(i32),
    /// By TCP, from this address.
    Machine(IpAddr),
}

impl Source {
    pub(crate) fn is_local(self) -> bool {
        matches!(self, Self::Process(_))
    }
}

impl PendingPeer {
    pub(crate) fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    pub(crate) fn source(&self) -> Source {
        self.source
    }

    /// Whether the caller has proved that it knows the key, though its hello is still to come.
    pub(crate) fn is_known(&self) -> bool {
        self.is_known
    }

    /// Reads the hello, and by TCP the call before it, which is answered. `Ok(None)`: not all of it
    /// is there.
    ///
    /// # Errors
    /// The peer is refused, or closed the connection.
    pub(crate) fn read(&mut self, listener: &Listener) -> Result<Option<Hello>, Errno> {
        if self.source.is_local() {
            // Peeks at the one packet; `enter` takes it with the descriptor.
            let mut bytes = [0; HELLO];
            return match rustix::net::recv(&self.socket, &mut bytes[..], RecvFlags::PEEK) {
                Ok((HELLO, HELLO)) => Self::check(&bytes, listener, true).map(Some),
                Err(Errno::AGAIN | Errno::INTR) => Ok(None),
                _ => Err(Errno::BADMSG),
            };
        }
        let wanted = if self.is_known { HELLO } else { CALL };
        let mut bytes = [0; HELLO];
        let room = &mut bytes[..wanted - self.got.len()];
        match rustix::net::recv(&self.socket, room, RecvFlags::empty()) {
            Ok((0, _)) => return Err(Errno::CONNRESET),
            Ok((count, _)) => self.got.extend_from_slice(&bytes[..count]),
            Err(Errno::AGAIN | Errno::INTR) => return Ok(None),
            Err(error) => return Err(error),
        }
        if self.got.len() < wanted {
            return Ok(None);
        }
        if self.is_known {
            return Self::check(&array(&self.got), listener, false).map(Some);
        }
        let answer = proof::answer(&listener.address, &array(&self.got)).ok_or(Errno::ACCESS)?;
        // A new stream has room for it.
        if rustix::net::send(&self.socket, &answer, SendFlags::NOSIGNAL)? < answer.len() {
            return Err(Errno::AGAIN);
        }
        self.got.clear();
        self.is_known = true;
        Ok(None)
    }

    fn check(bytes: &[u8; HELLO], listener: &Listener, local: bool) -> Result<Hello, Errno> {
        let hello = Hello::from_bytes(bytes).ok_or(Errno::BADMSG)?;
        if !listener.admits(&hello, local) {
            Err(Errno::ACCESS)
        } else if !local && hello.lines != listener.mark {
            Err(Errno::PROTONOSUPPORT)
        } else {
            Ok(hello)
        }
    }

    /// The link with a peer whose hello was read.
    ///
    /// # Errors
    /// The caller comes back if this process has no descriptor left for its memory file. Otherwise
    /// its memory file is not sound.
    pub(crate) fn enter(
        self,
        hello: &Hello,
        inner: Option<&SharedInner>,
    ) -> Result<Link, (Errno, Option<Self>)> {
        if !self.source.is_local() {
            let channel = inner.map(Channel::open).transpose();
            let channel = channel.map_err(|error| (error, None))?;
            let bytes = channel
                .as_ref()
                .map_or(Vec::new(), |own| own.card().to_vec());
            let first = Preamble {
                bytes,
                ..Preamble::default()
            };
            return Ok(Link::Tcp(TcpLink::new(self.socket, first, channel)));
        }
        let file = match recv_with_file(&self.socket, &mut [0; HELLO]) {
            Ok((_, Some(file))) => file,
            Ok((_, None)) => return Err((Errno::BADMSG, None)),
            Err(Errno::MFILE) => return Err((Errno::MFILE, Some(self))),
            Err(error) => return Err((error, None)),
        };
        let lines = hello.lines as usize;
        let link = ShmLink::new(self.socket, file.as_fd(), lines, false, hello.from.sleeps);
        link.map(Link::Shm).map_err(|error| (error, None))
    }
}

/// Connects to a peer. The link can be written to immediately.
///
/// # Errors
/// [`Errno::AGAIN`]: the peer has no room for callers now. [`Errno::HOSTUNREACH`]: it is
/// unreachable. [`Errno::PERM`]: a process of another user has its name. [`Errno::MFILE`]: this
/// process has no descriptor left. [`Errno::NOMEM`]: the inner endpoint has no room.
pub(crate) fn connect(
    from: &Address,
    to: &Address,
    lines: usize,
    inner: Option<&SharedInner>,
) -> Result<Link, Errno> {
    let hello = |lines: usize| {
        Hello {
            from: *from,
            key: to.key,
            lines: lines as u32,
        }
        .to_bytes()
    };
    if to.host != from.host {
        let at = to.tcp.ok_or(Errno::HOSTUNREACH)?;
        let family = if at.is_ipv4() {
            AddressFamily::INET
        } else {
            AddressFamily::INET6
        };
        let socket = rustix::net::socket_with(family, SocketType::STREAM, FLAGS, None)?;
        match rustix::net::connect(&socket, &at) {
            Ok(()) | Err(Errno::INPROGRESS) => {}
            Err(error) => return Err(error),
        }
        let (call, owed) = proof::call(to)?;
        let channel = inner.map(Channel::open).transpose()?;
        let mut then = hello(inner.map_or(0, SharedInner::mark) as usize).to_vec();
        then.extend(channel.iter().flat_map(Channel::card));
        let first = Preamble {
            bytes: call.to_vec(),
            sent: 0,
            proof: Some((owed, then)),
        };
        return Ok(Link::Tcp(TcpLink::new(socket, first, channel)));
    }
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, FLAGS, None)?;
    rustix::net::connect(
        &socket,
        &SocketAddrUnix::new_abstract_name(to.socket_name().as_bytes())?,
    )?;
    // Whoever listens may have taken the name of a process that has ended. Another user gets
    // nothing: neither the key nor the rings.
    process_of_this_user(&socket)?;
    let file = new_file(2 * ring_bytes(lines))?;
    send_file(&socket, file.as_fd(), &hello(lines))?;
    let link = ShmLink::new(socket, file.as_fd(), lines, true, to.sleeps)?;
    Ok(Link::Shm(link))
}

impl TcpChoice {
    /// `off`, `on`, or an address of this machine.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        match text {
            "off" => Some(Self::Off),
            "on" => Some(Self::Outside),
            ip => ip.parse().ok().map(Self::At),
        }
    }
}
