//! A link by TCP, for programs on several machines: each listens at its own address of a list, and
//! has a connection to each of the others, on which it only sends. A datagram follows its length.
//! Programs do not authenticate each other: any that knows the list and reaches the ports may join.

use super::link::{BYTES, Carrier, Joined, PROGRAMS, Socket};
use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{Error, ErrorKind, Read, Result as Outcome, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::atomic::AtomicBool;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Bytes of a caller's first words: of the protocol, of the list, and its place.
const HELLO: usize = 8 + 8 + 1;
const PROTOCOL: &[u8; 8] = b"dpalink1";
/// How long a connection may take, and a caller's first words.
const CONNECTS: Duration = Duration::from_secs(2);
/// Between two calls of a program that is not there.
const AGAIN: Duration = Duration::from_millis(50);
/// Callers that have not said who they are; the oldest goes for one more.
const CALLERS: usize = 64;

/// Whether a line has named a refused caller, and a program that sends nonsense.
static REFUSED: AtomicBool = AtomicBool::new(false);
static NONSENSE: AtomicBool = AtomicBool::new(false);

pub(super) struct Tcp {
    listener: TcpListener,
    addresses: Vec<SocketAddr>,
    hello: [u8; HELLO],
    /// The ways to other programs, by their places.
    ways: Vec<Way>,
    callers: VecDeque<Caller>,
    /// What other programs send, by their places.
    lines: Vec<Option<Line>>,
    /// The place that is looked at first.
    next: usize,
}

/// The way to another program.
#[derive(Default)]
struct Way {
    state: State,
    /// Connections so far.
    count: u64,
}

#[derive(Default)]
enum State {
    #[default]
    New,
    /// Nobody answered at this time.
    Absent(Instant),
    Calls(JoinHandle<Outcome<TcpStream>>),
    Open(TcpStream, Vec<u8>),
}

/// A caller: its stream, the bytes that it has sent, and the time of its call.
struct Caller {
    stream: TcpStream,
    said: Vec<u8>,
    since: Instant,
}

/// A connection on which another program sends, and what has come of its next datagram.
struct Line {
    stream: TcpStream,
    come: Vec<u8>,
}

/// Reads until `to` has `bytes`. Answers whether it does.
fn fill(stream: &mut TcpStream, to: &mut Vec<u8>, bytes: usize) -> Outcome<bool> {
    while to.len() < bytes {
        let from = to.len();
        to.resize(bytes, 0);
        let read = stream.read(&mut to[from..]);
        to.truncate(from + read.as_ref().map_or(0, |read| *read));
        match read {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

/// Writes without waiting, and removes what was written.
fn drain(stream: &mut TcpStream, from: &mut Vec<u8>) -> Outcome<()> {
    while !from.is_empty() {
        match stream.write(from) {
            Ok(written) => drop(from.drain(..written)),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

impl Tcp {
    /// A program takes the first address of the list at which it can listen.
    pub(super) fn open(list: &str) -> Result<Joined<Self>, String> {
        let addresses = list
            .split('/')
            .map(|text| {
                let mut found = text
                    .to_socket_addrs()
                    .map_err(|error| format!("{text}: {error}"))?;
                found.next().ok_or_else(|| format!("{text}: no address"))
            })
            .collect::<Result<Vec<SocketAddr>, String>>()?;
        if !(2..=PROGRAMS).contains(&addresses.len()) {
            return Err(format!("{list}: from 2 to {PROGRAMS} addresses are needed"));
        }
        if let Some(at) = (1..addresses.len()).find(|&at| addresses[..at].contains(&addresses[at]))
        {
            return Err(format!("{list}: {} is there twice", addresses[at]));
        }
        let mut why = String::new();
        let own =
            addresses.iter().enumerate().find_map(|(index, address)| {
                match TcpListener::bind(address) {
                    Ok(listener) => Some((index, listener)),
                    Err(error) => {
                        why = format!("{list}: no address is free here; {address}: {error}");
                        None
                    }
                }
            });
        let (index, listener) = own.ok_or(why)?;
        let error = |error: Error| format!("{list}: {error}");
        listener.set_nonblocking(true).map_err(error)?;
        let mut hasher = DefaultHasher::new();
        list.hash(&mut hasher);
        let mut hello = [0; HELLO];
        hello[..8].copy_from_slice(PROTOCOL);
        hello[8..16].copy_from_slice(&hasher.finish().to_le_bytes());
        hello[16] = index as u8;
        let others = (0..addresses.len())
            .filter(|&place| place != index)
            .collect();
        let carrier = Self {
            listener,
            hello,
            ways: addresses.iter().map(|_| Way::default()).collect(),
            callers: VecDeque::new(),
            lines: addresses.iter().map(|_| None).collect(),
            addresses,
            next: 0,
        };
        Ok(Joined {
            carrier,
            index,
            others,
        })
    }

    /// Calls a program that is not called yet. The way is open, or the error says why not.
    fn reach(&mut self, place: usize) -> Outcome<(&mut TcpStream, &mut Vec<u8>)> {
        let Some(way) = self.ways.get_mut(place) else {
            return Err(ErrorKind::ConnectionRefused.into());
        };
        // Datagrams wait for a program that has not begun, and are lost with one that has ended.
        let absent = match way.count {
            0 => ErrorKind::NotFound,
            _ => ErrorKind::ConnectionRefused,
        };
        way.state = match std::mem::take(&mut way.state) {
            State::Absent(since) if since.elapsed() < AGAIN => State::Absent(since),
            State::New | State::Absent(_) => {
                let (address, hello) = (self.addresses[place], self.hello);
                let call = move || {
                    let mut stream = TcpStream::connect_timeout(&address, CONNECTS)?;
                    stream.set_nodelay(true)?;
                    stream.write_all(&hello)?;
                    stream.set_nonblocking(true)?;
                    Ok(stream)
                };
                // A call may wait, and nothing here does.
                match std::thread::Builder::new().spawn(call) {
                    Ok(call) => State::Calls(call),
                    Err(_) => State::Absent(Instant::now()),
                }
            }
            State::Calls(call) if call.is_finished() => match call.join() {
                Ok(Ok(stream)) => {
                    way.count += 1;
                    State::Open(stream, Vec::new())
                }
                _ => State::Absent(Instant::now()),
            },
            state => state,
        };
        match &mut way.state {
            State::Open(stream, unsent) => Ok((stream, unsent)),
            State::Calls(_) => Err(ErrorKind::NotFound.into()),
            State::New | State::Absent(_) => Err(absent.into()),
        }
    }

    /// Sends the rest of what was begun.
    fn send_rest(&mut self, place: usize) -> Outcome<()> {
        let (stream, unsent) = self.reach(place)?;
        let sent = drain(stream, unsent);
        let is_lost = sent
            .as_ref()
            .is_err_and(|error| error.kind() != ErrorKind::WouldBlock);
        if is_lost {
            self.ways[place].state = State::New;
            return Err(ErrorKind::ConnectionReset.into());
        }
        sent
    }

    /// Takes callers whose first words are right.
    fn accept(&mut self) {
        for _ in 0..CALLERS {
            let Ok((stream, _)) = self.listener.accept() else {
                break;
            };
            if stream.set_nonblocking(true).is_err() {
                continue;
            }
            if self.callers.len() == CALLERS {
                self.callers.pop_front();
            }
            self.callers.push_back(Caller {
                stream,
                said: Vec::new(),
                since: Instant::now(),
            });
        }
        for _ in 0..self.callers.len() {
            let Some(mut caller) = self.callers.pop_front() else {
                return;
            };
            let is_late = caller.since.elapsed() > CONNECTS;
            match fill(&mut caller.stream, &mut caller.said, HELLO) {
                Ok(false) if !is_late => self.callers.push_back(caller),
                Ok(true) => self.greet(caller, is_late),
                Ok(false) | Err(_) => {}
            }
        }
    }

    /// Takes a caller who has said who it is, unless the one before at its place is still there.
    fn greet(&mut self, caller: Caller, is_late: bool) {
        let place = usize::from(caller.said[HELLO - 1]);
        let is_of_list = caller.said[..HELLO - 1] == self.hello[..HELLO - 1];
        let is_place = place < self.lines.len() && place != usize::from(self.hello[HELLO - 1]);
        if !is_of_list || !is_place {
            let what = "a caller was refused: it has another list of programs, or is no program";
            return crate::check::note_once(&REFUSED, format_args!("DPA_WIRE: {what}"));
        }
        match &mut self.lines[place] {
            Some(_) if !is_late => self.callers.push_back(caller),
            Some(_) => {}
            line => {
                *line = Some(Line {
                    stream: caller.stream,
                    come: Vec::new(),
                });
            }
        }
    }
}

impl Carrier for Tcp {
    fn socket_of(&self, place: usize) -> Option<Socket> {
        let way = self.ways.get(place)?;
        matches!(way.state, State::Open(..)).then_some((way.count, 0, 0))
    }

    /// Nobody sends on the way, so it can only be at its end.
    fn listens(&self, place: usize) -> bool {
        match self.ways.get(place).map(|way| &way.state) {
            Some(State::Open(stream, _)) => {
                let seen = stream.peek(&mut [0]).map_err(|error| error.kind());
                matches!(seen, Err(ErrorKind::WouldBlock | ErrorKind::Interrupted))
            }
            _ => false,
        }
    }

    fn send(&mut self, place: usize, datagram: &[u8]) -> Outcome<()> {
        self.send_rest(place)?;
        let (_, unsent) = self.reach(place)?;
        unsent.extend((datagram.len() as u32).to_le_bytes());
        unsent.extend(datagram);
        match self.send_rest(place) {
            // What was begun is sent later.
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(()),
            sent => sent,
        }
    }

    fn receive(&mut self, room: &mut [u8; BYTES]) -> Outcome<usize> {
        self.accept();
        for place in 0..self.ways.len() {
            let has_rest =
                matches!(&self.ways[place].state, State::Open(_, rest) if !rest.is_empty());
            if has_rest {
                // An error shows at the next datagram.
                let _ = self.send_rest(place);
            }
        }
        for _ in 0..self.lines.len() {
            let place = self.next;
            self.next = (place + 1) % self.lines.len();
            let Some(line) = &mut self.lines[place] else {
                continue;
            };
            match line.next(place, room) {
                Ok(Some(bytes)) => return Ok(bytes),
                Ok(None) => {}
                Err(error) => {
                    self.lines[place] = None;
                    if error.kind() == ErrorKind::InvalidData {
                        let text = format_args!("DPA_WIRE: a program of the list sends nonsense");
                        crate::check::note_once(&NONSENSE, text);
                    }
                }
            }
        }
        Err(ErrorKind::WouldBlock.into())
    }
}

impl Line {
    /// The bytes of the next datagram, once it is whole.
    fn next(&mut self, place: usize, room: &mut [u8; BYTES]) -> Outcome<Option<usize>> {
        if !fill(&mut self.stream, &mut self.come, 4)? {
            return Ok(None);
        }
        let length = self
            .come
            .first_chunk()
            .map_or(0, |it| u32::from_le_bytes(*it));
        let bytes = length as usize;
        if !(1..=BYTES).contains(&bytes) {
            return Err(ErrorKind::InvalidData.into());
        }
        if !fill(&mut self.stream, &mut self.come, 4 + bytes)? {
            return Ok(None);
        }
        room[..bytes].copy_from_slice(&self.come[4..]);
        self.come.clear();
        if usize::from(room[0]) != place {
            return Err(ErrorKind::InvalidData.into());
        }
        Ok(Some(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::super::link::Link;
    use super::*;

    /// Addresses that nobody has.
    fn list(programs: usize) -> String {
        let port = |_| TcpListener::bind("127.0.0.1:0").expect("a port");
        let ports: Vec<_> = (0..programs).map(port).collect();
        let address = |port: &TcpListener| port.local_addr().expect("an address").to_string();
        let texts: Vec<_> = ports.iter().map(address).collect();
        texts.join("/")
    }

    fn links(list: &str, programs: usize) -> Vec<Link> {
        let open = |_| Link::by_tcp(list).expect("an address");
        (0..programs).map(open).collect()
    }

    /// Until it holds; links move datagrams only when they are asked.
    fn until(mut holds: impl FnMut() -> bool) {
        let begin = Instant::now();
        while !holds() {
            assert!(begin.elapsed() < Duration::from_secs(20), "it never holds");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// All programs hear that the others have begun.
    fn meet(links: &mut [Link]) {
        let mut heard = 0;
        let wanted = links.len() * (links.len() - 1);
        until(|| {
            for link in links.iter_mut() {
                heard += std::iter::from_fn(|| link.hear()).count();
            }
            heard == wanted
        });
    }

    #[test]
    fn three_programs_hear_each_other() {
        let mut links = links(&list(3), 3);
        let places: Vec<usize> = links.iter().map(|link| link.index).collect();
        assert_eq!(places, [0, 1, 2]);
        meet(&mut links);
        let long = vec![7; BYTES - 5];
        links[1].send(b"frame");
        links[1].tell(2, b"message");
        links[1].tell(2, &long);
        links[1].tell(3, b"nobody");
        let mut come = [const { Vec::new() }; 3];
        until(|| {
            for (link, come) in links.iter_mut().zip(&mut come) {
                come.extend(std::iter::from_fn(|| link.next()));
                come.extend(std::iter::from_fn(|| link.hear()));
            }
            come.iter().map(Vec::len).sum::<usize>() == 4
        });
        assert_eq!(come[0], [b"frame"]);
        assert_eq!(come[2], [&b"frame"[..], b"message", &long]);
        assert!((0..3).all(|place| links[1].listens(place) == (place != 1)));
        assert!(!links[1].listens(3) && links[1].socket_of(3).is_none());
    }

    /// Another program at the place of one that has ended has another socket.
    #[test]
    fn a_program_that_has_ended_is_noticed() {
        let list = list(2);
        let mut links = links(&list, 2);
        let why = Link::by_tcp(&list).err().expect("both are taken");
        let wanted = format!("{list}: no address is free here; ");
        assert!(why.starts_with(&wanted), "{why}");
        meet(&mut links);
        let first = links[0].socket_of(1);
        assert!(first.is_some());
        drop(links.pop());
        until(|| !links[0].listens(1));
        // Datagrams that are sent until then are lost.
        until(|| {
            links[0].tell(1, b"lost");
            links[0].send_datagrams();
            links[0].socket_of(1).is_none()
        });
        links.push(Link::by_tcp(&list).expect("its address"));
        assert_eq!(links[1].index, 1);
        until(|| {
            links[0].hear();
            links[0].tell(1, b"told");
            std::iter::from_fn(|| links[1].hear()).any(|it| it == b"told")
        });
        assert!(links[0].listens(1) && links[0].socket_of(1) != first);
    }

    /// Strangers, silent callers and a liar keep nobody out, and a liar is heard no more.
    #[test]
    fn callers_who_are_no_programs_are_left() {
        let list = list(3);
        let address = list.split('/').next().expect("an address");
        let mut link = Link::by_tcp(&list).expect("an address");
        let call = || TcpStream::connect(address).expect("it listens");
        let _silent: Vec<_> = (0..CALLERS + 9).map(|_| call()).collect();
        let mut hasher = DefaultHasher::new();
        list.hash(&mut hasher);
        let digest = hasher.finish().to_le_bytes();
        let hello = |digest: &[u8], place| [&PROTOCOL[..], digest, &[place]].concat();
        let is_closed = |link: &mut Link, mut stream: &TcpStream| {
            stream.set_nonblocking(true).expect("it");
            until(|| {
                assert_eq!(link.hear(), None);
                let read = stream.read(&mut [0]).map_err(|error| error.kind());
                matches!(read, Ok(0) | Err(ErrorKind::ConnectionReset))
            });
        };
        for words in [
            hello(&[0; 8], 1),
            hello(&digest, 0),
            hello(&digest, 3),
            [&b"dpalink0"[..], &digest, &[1]].concat(),
        ] {
            let mut stream = call();
            stream.write_all(&words).expect("it");
            is_closed(&mut link, &stream);
        }
        // A length of 0, one that is too long, and another program's place.
        let long = (BYTES as u32 + 1).to_le_bytes();
        let of_another = [&6_u32.to_le_bytes()[..], &[2], &1_u32.to_le_bytes(), &[5]].concat();
        for words in [&[0; 4][..], &long, &of_another] {
            let mut stream = call();
            let words = [&hello(&digest, 1), words].concat();
            stream.write_all(&words).expect("it");
            is_closed(&mut link, &stream);
        }
        let mut honest = Link::by_tcp(&list).expect("its address");
        until(|| {
            honest.hear();
            link.hear() == Some(vec![super::super::HAS_BEGUN, 1])
        });
    }

    /// A program that takes nothing gets what the sockets hold, and then as much as may wait.
    #[test]
    fn a_program_that_is_slow_has_a_bound() {
        let mut links = links(&list(2), 2);
        meet(&mut links);
        let message = vec![7; 60_000];
        let mut sent = 0;
        while !links[0].is_full(1) {
            links[0].tell(1, &message);
            links[0].send_datagrams();
            sent += 1;
        }
        assert!(links[0].listens(1));
        let mut heard = 0;
        until(|| {
            links[0].send_datagrams();
            let come = std::iter::from_fn(|| links[1].hear());
            heard += come.filter(|it| *it == message).count();
            heard == sent
        });
        assert!(!links[0].is_full(1));
    }
}
