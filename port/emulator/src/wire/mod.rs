//! Where frames come from and go to. `DPA_WIRE` chooses a wire and its options:
//!
//! | wire | where frames come from |
//! |---|---|
//! | `pcap` | only from a file |
//! | `link` | from other programs with the same socket or list of addresses, which get what this sends |
//! | `packet` | from the interface `interface=NAME`, which gets what this sends |
//! | `loop`, `reflect` | what the device part sends comes back, as it is or with addresses swapped |
//!
//! | option | meaning |
//! |---|---|
//! | `path=FILE` | joins programs of this machine by sockets at and beside the file |
//! | `tcp=HOST:PORT/HOST:PORT..` | joins the programs at these addresses |
//! | `in=FILE` | plays the frames of a file once a thread can take them |
//! | `repeat=1` | begins the file anew at its end |
//! | `burst=N` | frames that come at once, 16 by default |
//! | `out=FILE` | writes what the device part sends |
//! | `rules=N` | a frame without a rule waits for the N-th rule that receives; 1 by default |
//! | `handlers=N` | no frame comes before N handlers run |

mod link;
mod packet;
mod pcap;
mod tcp;

pub(crate) use link::{HAS_BEGUN, Socket};

use link::Link;
use packet::Packet;
use pcap::{Reader, Writer};
use std::collections::VecDeque;

const BURST: usize = 16;

/// Numbers of queues and keys of each program that a link joins: the first ones have the first.
const NUMBERS: u32 = 1 << 20;

/// Frames that a loop holds at most; it drops others.
const BACK: usize = 1 << 12;

/// The place among the joined programs of the one whose queue or key has this number.
pub(crate) fn program(number: u32) -> usize {
    (number / NUMBERS) as usize
}

/// Frames that come back.
#[derive(Default)]
struct Back {
    frames: VecDeque<Vec<u8>>,
    swaps: bool,
    has_dropped: bool,
}

#[derive(Default)]
pub(crate) struct Wires {
    input: Option<Reader>,
    output: Option<Writer>,
    /// The frame that no queue took, to be offered again.
    refused: Option<Vec<u8>>,
    back: Option<Back>,
    link: Option<Link>,
    packet: Option<Packet>,
    /// Frames that come at once.
    pub(crate) burst: usize,
    /// Rules that receive, without which no frame comes.
    pub(crate) rules: usize,
    /// Handlers that have to run before a frame comes, and those that run.
    handlers: usize,
    pub(crate) running: usize,
}

impl Wires {
    /// The wire that the environment chooses. A program with a wrong one ends.
    pub(crate) fn new() -> Self {
        let Some(text) = crate::environment::text("DPA_WIRE") else {
            return Self::without();
        };
        Self::open(&text).unwrap_or_else(|why| {
            crate::environment::refuse(format_args!("DPA_WIRE={text}: {why}"))
        })
    }

    fn without() -> Self {
        Self {
            rules: 1,
            burst: BURST,
            ..Self::default()
        }
    }

    fn open(text: &str) -> Result<Self, String> {
        let mut wires = Self::without();
        let (kind, options) = text.split_once(':').unwrap_or((text, ""));
        wires.back = match kind {
            "pcap" | "link" | "packet" => None,
            "loop" | "reflect" => Some(Back {
                swaps: kind == "reflect",
                ..Back::default()
            }),
            _ => return Err("there are the wires pcap, link, packet, loop and reflect".into()),
        };
        let mut repeats = false;
        for option in options.split(',').filter(|option| !option.is_empty()) {
            let number = |text: &str, least: usize| match text.parse() {
                Ok(number) if number >= least => Ok(number),
                Ok(_) => Err(format!("{option}: at least {least} is needed")),
                Err(_) => Err(format!("{option}: not a number")),
            };
            match option.split_once('=') {
                Some(("in", path)) => wires.input = Some(Reader::open(path)?),
                Some(("out", path)) => wires.output = Some(Writer::create(path)?),
                Some(("path", path)) if kind == "link" => wires.link = Some(Link::open(path)?),
                Some(("tcp", list)) if kind == "link" => wires.link = Some(Link::by_tcp(list)?),
                Some(("interface", name)) if kind == "packet" => {
                    wires.packet = Some(Packet::open(name)?);
                }
                Some(("rules", count)) => wires.rules = number(count, 0)?,
                Some(("handlers", count)) => wires.handlers = number(count, 0)?,
                Some(("burst", count)) => wires.burst = number(count, 1)?,
                Some(("repeat", count)) => repeats = number(count, 0)? > 0,
                _ => return Err(format!("the wire {kind} has no option {option}")),
            }
        }
        let lacks = match kind {
            "link" if wires.link.is_none() => Some("path=FILE or tcp=LIST"),
            "packet" if wires.packet.is_none() => Some("interface=NAME"),
            "pcap" if wires.input.is_none() && wires.output.is_none() => {
                Some("in=FILE or out=FILE")
            }
            _ => None,
        };
        if let Some(option) = lacks {
            return Err(format!("the wire {kind} needs {option}"));
        }
        if repeats && wires.input.is_none() {
            return Err("repeat needs in=FILE".into());
        }
        wires
            .input
            .iter_mut()
            .for_each(|reader| reader.repeats = repeats);
        Ok(wires)
    }

    pub(crate) fn next(&mut self) -> Option<Vec<u8>> {
        if self.running < self.handlers {
            return None;
        }
        let next = self.refused.take().or_else(|| self.input.as_mut()?.next());
        let next = next.or_else(|| self.back.as_mut()?.frames.pop_front());
        let next = next.or_else(|| self.link.as_mut()?.next());
        next.or_else(|| self.packet.as_mut()?.next())
            .filter(|frame| !frame.is_empty())
    }

    pub(crate) fn has_link(&self) -> bool {
        self.link.is_some()
    }

    /// Where this program's numbers of queues and keys begin.
    pub(crate) fn first_number(&self) -> u32 {
        let index = self.link.as_ref().map_or(0, |link| link.index);
        index as u32 * NUMBERS
    }

    /// Whether a queue with this number is in another program.
    pub(crate) fn is_far(&self, number: u32) -> bool {
        self.has_link() && program(number) * NUMBERS as usize != self.first_number() as usize
    }

    /// The socket of the program with this queue, which may have ended.
    pub(crate) fn socket_of(&self, number: u32) -> Option<Socket> {
        self.link.as_ref()?.socket_of(program(number))
    }

    /// Whether the program with this queue is there.
    pub(crate) fn listens(&self, number: u32) -> bool {
        let link = self.link.as_ref();
        link.is_some_and(|link| link.listens(program(number)))
    }

    /// Whether so much waits for the program with this queue that it gets no more.
    pub(crate) fn is_full(&self, number: u32) -> bool {
        let link = self.link.as_ref();
        link.is_some_and(|link| link.is_full(program(number)))
    }

    /// Sends a message to the program with this queue, which gets it whole.
    pub(crate) fn tell(&mut self, number: u32, message: &[u8]) {
        let link = self.link.iter_mut();
        link.for_each(|link| link.tell(program(number), message));
    }

    /// Sends what waits for other programs, without waiting.
    pub(crate) fn send_waiting(&mut self) {
        self.link.iter_mut().for_each(Link::send_datagrams);
    }

    pub(crate) fn hear(&mut self) -> Option<Vec<u8>> {
        self.link.as_mut()?.hear()
    }

    /// No queue took the frame: it is the next one again.
    pub(crate) fn keep(&mut self, frame: Vec<u8>) {
        self.refused = Some(frame);
    }

    /// Whether what comes may be an answer to what went out.
    pub(crate) fn may_answer(&self) -> bool {
        self.back.is_some() || self.link.is_some() || self.packet.is_some()
    }

    pub(crate) fn waits(&self) -> bool {
        let outside = self.link.is_some() || self.packet.is_some();
        outside || self.refused.is_some() || self.running < self.handlers
    }

    pub(crate) fn send(&mut self, frame: &[u8]) {
        if let Some(output) = &mut self.output {
            output.write(frame);
        }
        self.link.iter_mut().for_each(|link| link.send(frame));
        self.packet.iter_mut().for_each(|packet| packet.send(frame));
        if let Some(back) = &mut self.back {
            if back.frames.len() >= BACK {
                if !std::mem::replace(&mut back.has_dropped, true) {
                    crate::check::note(format_args!(
                        "DPA_WIRE: more than {BACK} frames wait to come back; others are lost"
                    ));
                }
                return;
            }
            let mut frame = frame.to_vec();
            if back.swaps && frame.len() >= 12 {
                frame[..12].rotate_left(6);
            }
            back.frames.push_back(frame);
        }
    }
}
