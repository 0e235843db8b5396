//! A wire to other programs: datagrams with as many frames as wait, each after its length. A bit of
//! the length tells messages between pairs of queues from frames; no message is lost. Frames go to
//! all programs that have joined, as through a hub. Sockets of this machine or TCP carry datagrams.

use super::tcp::Tcp;
use std::collections::VecDeque;
use std::io::{Error, ErrorKind, Result as Outcome};
use std::ops::Range;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::UnixDatagram;

/// Programs that one link joins at most: numbers of queues have 24 bits.
pub(super) const PROGRAMS: usize = 16;
/// Bytes of the longest datagram. The first one is its program's place.
pub(super) const BYTES: usize = 1 << 16;
/// Datagrams that wait for a program at most. Frames beyond are lost, as on a network.
const WAITING: usize = 1 << 8;
/// Bytes of messages that wait for a program that is stopped or slow. One more message, and no
/// more, may follow them.
const AWAITED: usize = 64 << 20;
/// The bit of a length that says that a message follows.
const MESSAGE: u32 = 1 << 31;
/// Frames, and messages, that have come and wait at most. Others stay in the socket.
const COME: usize = 1 << 10;
/// A message's first byte: its program, whose place is the second byte, has just joined.
pub(crate) const HAS_BEGUN: u8 = 3;

/// What tells a program's socket from one that an earlier program had at the same place: the file's
/// number, and when it was made; or the number of connections so far.
pub(crate) type Socket = (u64, i64, i64);

/// What carries datagrams between programs, without waiting.
pub(super) trait Carrier: Send {
    /// The socket of the program at a place, which may have ended.
    fn socket_of(&self, place: usize) -> Option<Socket>;

    /// Whether the program at a place listens.
    fn listens(&self, place: usize) -> bool;

    /// # Errors
    /// `WouldBlock` or `NotFound`: later. Another error: the program has ended, and the datagram is
    /// lost with it.
    fn send(&mut self, place: usize, datagram: &[u8]) -> Outcome<()>;

    /// The bytes of the next datagram, which is at the front of `room`.
    fn receive(&mut self, room: &mut [u8; BYTES]) -> Outcome<usize>;
}

/// A program's place among those that a carrier joins.
pub(super) struct Joined<C> {
    pub(super) carrier: C,
    pub(super) index: usize,
    /// The places of programs that get frames from the start.
    pub(super) others: Vec<usize>,
}

/// Another program, there or not.
#[derive(Default)]
struct Peer {
    outgoing: VecDeque<Vec<u8>>,
    /// Bytes of `outgoing`.
    waiting: usize,
    /// Whether it gets frames.
    is_known: bool,
}

pub(crate) struct Link {
    carrier: Box<dyn Carrier>,
    /// This program's place among the programs.
    pub(super) index: usize,
    /// All programs, by their places.
    peers: Vec<Peer>,
    /// Whether a frame was lost, which is said once.
    has_dropped: bool,
    /// Where the next datagram lands, and what is left of the last.
    room: Box<[u8; BYTES]>,
    rest: Range<usize>,
    /// What has come.
    frames: VecDeque<Vec<u8>>,
    messages: VecDeque<Vec<u8>>,
}

fn is_there(path: &str) -> bool {
    UnixDatagram::unbound()
        .and_then(|socket| socket.connect(path))
        .is_ok()
}

/// Sockets of this machine, by the programs' places.
struct Files {
    socket: UnixDatagram,
    paths: Vec<String>,
}

impl Files {
    /// The first program has its socket at `path`, and others beside it. A program takes the first
    /// place that is free.
    fn open(path: &str) -> Result<Joined<Self>, String> {
        let beside = (2..=PROGRAMS).map(|number| format!("{path}.{number}"));
        let paths: Vec<String> = std::iter::once(path.to_owned()).chain(beside).collect();
        // Programs that begin at the same time come one after the other.
        let folder = std::path::Path::new(path).parent();
        let folder = folder.filter(|folder| !folder.as_os_str().is_empty());
        let folder = std::fs::File::open(folder.unwrap_or(".".as_ref()))
            .map_err(|error| format!("{path}: {error}"))?;
        // SAFETY: an open file's descriptor. The lock goes with the file.
        unsafe { libc::flock(std::os::fd::AsRawFd::as_raw_fd(&folder), libc::LOCK_EX) };
        let (others, free): (Vec<usize>, Vec<usize>) =
            (0..PROGRAMS).partition(|&place| is_there(&paths[place]));
        let &index = free
            .first()
            .ok_or_else(|| format!("{path} joins {PROGRAMS} programs already"))?;
        let own = &paths[index];
        // A socket to which nobody listens is that of a program that has ended.
        let is_socket =
            std::fs::symlink_metadata(own).is_ok_and(|file| file.file_type().is_socket());
        if is_socket {
            let _ = std::fs::remove_file(own);
        }
        let error = |error: Error| format!("{own}: {error}");
        let socket = UnixDatagram::bind(own).map_err(error)?;
        socket.set_nonblocking(true).map_err(error)?;
        Ok(Joined {
            carrier: Self { socket, paths },
            index,
            others,
        })
    }
}

impl Carrier for Files {
    fn socket_of(&self, place: usize) -> Option<Socket> {
        let file = std::fs::metadata(self.paths.get(place)?).ok()?;
        Some((file.ino(), file.ctime(), file.ctime_nsec()))
    }

    fn listens(&self, place: usize) -> bool {
        self.paths.get(place).is_some_and(|path| is_there(path))
    }

    fn send(&mut self, place: usize, datagram: &[u8]) -> Outcome<()> {
        self.socket
            .send_to(datagram, &self.paths[place])
            .map(|_| ())
    }

    fn receive(&mut self, room: &mut [u8; BYTES]) -> Outcome<usize> {
        self.socket.recv(room)
    }
}

impl Link {
    /// A link by sockets of this machine at and beside `path`.
    pub(crate) fn open(path: &str) -> Result<Self, String> {
        Ok(Self::begin(Files::open(path)?))
    }

    /// A link by TCP: `HOST:PORT/HOST:PORT...`.
    pub(crate) fn by_tcp(list: &str) -> Result<Self, String> {
        Ok(Self::begin(Tcp::open(list)?))
    }

    fn begin<C: Carrier + 'static>(joined: Joined<C>) -> Self {
        let mut link = Self {
            carrier: Box::new(joined.carrier),
            index: joined.index,
            peers: (0..PROGRAMS).map(|_| Peer::default()).collect(),
            has_dropped: false,
            room: Box::new([0; BYTES]),
            rest: 0..0,
            frames: VecDeque::new(),
            messages: VecDeque::new(),
        };
        for &place in &joined.others {
            link.peers[place].is_known = true;
            link.tell(place, &[HAS_BEGUN, joined.index as u8]);
        }
        if joined.others.is_empty() {
            // Frames wait for the second program.
            link.peers[1].is_known = true;
        }
        link.send_datagrams();
        link
    }

    /// The socket of another program, which may have ended.
    pub(super) fn socket_of(&self, place: usize) -> Option<Socket> {
        self.carrier.socket_of(place)
    }

    /// Whether another program listens.
    pub(super) fn listens(&self, place: usize) -> bool {
        self.carrier.listens(place)
    }

    pub(super) fn send(&mut self, frame: &[u8]) {
        for place in 0..PROGRAMS {
            let peer = &self.peers[place];
            if !peer.is_known {
                continue;
            }
            let is_full = peer.outgoing.len() >= WAITING && !peer.has_room(frame);
            if is_full || frame.len() + 5 > BYTES {
                if !std::mem::replace(&mut self.has_dropped, true) {
                    crate::check::note(format_args!(
                        "DPA_WIRE: frames are lost: {WAITING} datagrams wait for another program, or \
                         a frame has over {} bytes",
                        BYTES - 5
                    ));
                }
                continue;
            }
            self.put(place, frame, 0);
        }
    }

    /// Sends a message, which fits into a datagram, to another program. There is none beyond the
    /// last place.
    pub(super) fn tell(&mut self, place: usize, message: &[u8]) {
        if place < PROGRAMS {
            self.put(place, message, MESSAGE);
        }
    }

    /// Whether so much waits for another program that it gets no more.
    pub(super) fn is_full(&self, place: usize) -> bool {
        let peer = self.peers.get(place);
        peer.is_some_and(|peer| peer.waiting >= AWAITED)
    }

    fn put(&mut self, place: usize, bytes: &[u8], kind: u32) {
        let (index, peer) = (self.index as u8, &mut self.peers[place]);
        if !peer.has_room(bytes) {
            peer.outgoing.push_back(vec![index]);
            peer.waiting += 1;
        }
        peer.waiting += 4 + bytes.len();
        if let Some(last) = peer.outgoing.back_mut() {
            last.extend((bytes.len() as u32 | kind).to_le_bytes());
            last.extend(bytes);
        }
    }

    pub(super) fn next(&mut self) -> Option<Vec<u8>> {
        self.move_datagrams();
        self.frames.pop_front()
    }

    pub(super) fn hear(&mut self) -> Option<Vec<u8>> {
        self.move_datagrams();
        self.messages.pop_front()
    }

    /// Sends datagrams without waiting. They wait for a program that is not there or is slow.
    pub(super) fn send_datagrams(&mut self) {
        for (place, peer) in self.peers.iter_mut().enumerate() {
            while let Some(datagram) = peer.outgoing.front() {
                let sent = self.carrier.send(place, datagram);
                let sent = sent.map_err(|error| error.kind());
                if matches!(sent, Err(ErrorKind::WouldBlock | ErrorKind::NotFound)) {
                    break;
                }
                peer.waiting -= datagram.len();
                peer.outgoing.pop_front();
            }
        }
    }

    /// Moves datagrams without waiting.
    fn move_datagrams(&mut self) {
        self.send_datagrams();
        while self.frames.len() < COME && self.messages.len() < COME {
            if self.rest.is_empty() {
                let Ok(bytes) = self.carrier.receive(&mut self.room) else {
                    break;
                };
                // Who sends is there: it gets frames.
                let place = usize::from(self.room[0]);
                if bytes > 0 && place != self.index && place < PROGRAMS {
                    self.peers[place].is_known = true;
                }
                self.rest = 1.min(bytes)..bytes;
            }
            let Some((is_message, bytes)) = self.part() else {
                // A datagram of another kind is dropped.
                self.rest = 0..0;
                continue;
            };
            let to = match is_message {
                true => &mut self.messages,
                false => &mut self.frames,
            };
            to.push_back(bytes);
        }
    }

    /// The next part of a datagram, and whether it is a message.
    fn part(&mut self) -> Option<(bool, Vec<u8>)> {
        let (length, parts) = self.room[self.rest.clone()].split_first_chunk()?;
        let length = u32::from_le_bytes(*length);
        let bytes = (length & !MESSAGE) as usize;
        let part = parts.get(..bytes)?.to_vec();
        self.rest.start += 4 + bytes;
        Some((length & MESSAGE != 0, part))
    }
}

impl Peer {
    /// Whether these bytes fit into the last datagram that waits.
    fn has_room(&self, bytes: &[u8]) -> bool {
        let last = self.outgoing.back();
        last.is_some_and(|last| last.len() + bytes.len() + 4 <= BYTES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A path of this test, with nothing there.
    fn path(name: &str) -> String {
        let name = format!("dpa-link-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name).display().to_string();
        remove(&path);
        path
    }

    fn remove(path: &str) {
        (2..=PROGRAMS).for_each(|place| drop(std::fs::remove_file(format!("{path}.{place}"))));
        let _ = std::fs::remove_file(path);
    }

    #[test]
    fn sixteen_programs_have_room() {
        let path = path("sixteen");
        let open = || Link::open(&path);
        let mut links: Vec<_> = (0..PROGRAMS).map(|_| open().expect("room")).collect();
        let places: Vec<usize> = links.iter().map(|link| link.index).collect();
        assert_eq!(places, (0..PROGRAMS).collect::<Vec<_>>());
        let why = open().err();
        assert_eq!(why, Some(format!("{path} joins 16 programs already")));
        // A program that has ended makes room for another.
        drop(links.remove(7));
        assert!(!links[0].listens(7) && links[0].listens(8));
        assert_eq!(open().expect("room").index, 7);
        assert!(!links[0].listens(PROGRAMS));
        remove(&path);
    }

    /// A program that takes nothing gets what its socket holds, and then as much as may wait.
    #[test]
    fn a_stopped_program_has_a_bound() {
        let path = path("stopped");
        let mut links: Vec<_> = (0..2).map(|_| Link::open(&path).expect("room")).collect();
        for (waiting, is_full) in [(AWAITED - 1, false), (AWAITED, true), (0, false)] {
            links[0].peers[1].waiting = waiting;
            assert_eq!(links[0].is_full(1), is_full);
        }
        let message = vec![7; 32 << 10];
        let mut sent = 0;
        while !links[0].is_full(1) {
            links[0].tell(1, &message);
            sent += 1;
            let peer = &links[0].peers[1];
            let all: usize = peer.outgoing.iter().map(Vec::len).sum();
            assert_eq!(peer.waiting, all);
            assert_eq!(links[0].is_full(1), all >= AWAITED);
        }
        assert!(links[0].peers[1].waiting < AWAITED + message.len() + 5);
        assert!(!links[0].is_full(2) && !links[0].is_full(PROGRAMS));
        // It goes on, and all has come.
        let mut heard = 0;
        while heard < sent {
            links[0].send_datagrams();
            while let Some(found) = links[1].hear() {
                heard += usize::from(found == message);
            }
        }
        links[0].send_datagrams();
        assert_eq!((links[0].peers[1].waiting, links[0].is_full(1)), (0, false));
        remove(&path);
    }

    /// Frames go to all, and messages to one. A program says that it has begun, but to nobody who
    /// comes later.
    #[test]
    fn three_programs_hear_each_other() {
        let path = path("three");
        let mut links: Vec<_> = (0..3).map(|_| Link::open(&path).expect("room")).collect();
        let hear = |link: &mut Link| std::iter::from_fn(|| link.hear()).collect::<Vec<_>>();
        let begun: Vec<_> = links.iter_mut().map(hear).collect();
        let has_begun = |place: u8| vec![HAS_BEGUN, place];
        assert_eq!(begun[0], [has_begun(1), has_begun(2)]);
        assert_eq!(begun[1..], [vec![has_begun(2)], vec![]]);
        links[1].send(b"frame");
        links[1].tell(2, b"message");
        links[1].tell(PROGRAMS, b"nobody");
        assert_eq!(hear(&mut links[1]), Vec::<Vec<u8>>::new());
        for (place, frames, messages) in [(0, 1, 0), (1, 0, 0), (2, 1, 1)] {
            let link = &mut links[place];
            let heard = hear(link);
            assert_eq!(heard, vec![b"message".to_vec(); messages], "{place}");
            let came: Vec<_> = std::iter::from_fn(|| link.next()).collect();
            assert_eq!(came, vec![b"frame".to_vec(); frames], "{place}");
        }
        remove(&path);
    }
}
