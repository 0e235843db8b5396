//! Where frames come from and go to. `DPA_WIRE` chooses a wire and its options:
//!
//! | wire | where frames come from |
//! |---|---|
//! | `pcap` | only from a file |
//! | `link` | from another program with the same `path=FILE`, a socket, which gets what this sends |
//! | `packet` | from the interface `interface=NAME`, which gets what this sends |
//! | `loop`, `reflect` | what the device part sends comes back, as it is or with addresses swapped |
//!
//! | option | meaning |
//! |---|---|
//! | `in=FILE` | plays the frames of a file once a thread can take them |
//! | `repeat=1` | begins the file anew at its end |
//! | `burst=N` | frames that come at once, 16 by default |
//! | `out=FILE` | writes what the device part sends |
//! | `rules=N` | a frame without a rule waits for the N-th rule that receives; 1 by default |
//! | `handlers=N` | no frame comes before N handlers run |

mod link;
mod packet;
mod pcap;

use link::Link;
use packet::Packet;
use pcap::{Reader, Writer};
use std::collections::VecDeque;

const BURST: usize = 16;

/// Frames that a loop holds at most; it drops others.
const BACK: usize = 1 << 12;

/// Frames that come back.
#[derive(Default)]
struct Back {
    frames: VecDeque<Vec<u8>>,
    swaps: bool,
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
    pub(crate) fn new() -> Self {
        let mut wires = Self {
            rules: 1,
            burst: BURST,
            ..Self::default()
        };
        let Ok(text) = std::env::var("DPA_WIRE") else {
            return wires;
        };
        let (kind, options) = text.split_once(':').unwrap_or((&text, ""));
        match kind {
            "pcap" | "link" | "packet" => {}
            "loop" => wires.back = Some(Back::default()),
            "reflect" => {
                wires.back = Some(Back {
                    swaps: true,
                    ..Back::default()
                })
            }
            _ => {
                crate::check::line(format_args!("DPA_WIRE={text}: an unknown wire"));
                return wires;
            }
        }
        let mut repeats = false;
        for option in options.split(',').filter(|option| !option.is_empty()) {
            let number = |text: &str| text.parse().map_err(|error| format!("{option}: {error}"));
            let result = match option.split_once('=') {
                Some(("in", path)) => Reader::open(path).map(|made| wires.input = Some(made)),
                Some(("out", path)) => Writer::create(path).map(|made| wires.output = Some(made)),
                Some(("path", path)) => Link::open(path).map(|made| wires.link = Some(made)),
                Some(("interface", name)) => {
                    Packet::open(name).map(|made| wires.packet = Some(made))
                }
                Some(("rules", count)) => number(count).map(|count| wires.rules = count),
                Some(("handlers", count)) => number(count).map(|count| wires.handlers = count),
                Some(("burst", count)) => number(count).map(|count| wires.burst = count.max(1)),
                Some(("repeat", count)) => number(count).map(|count| repeats = count > 0),
                _ => Err(format!("an unknown option {option}")),
            };
            if let Err(why) = result {
                crate::check::line(format_args!("DPA_WIRE: {why}"));
            }
        }
        if kind == "link" && wires.link.is_none() {
            crate::check::line(format_args!(
                "DPA_WIRE={text}: no link, which needs path=FILE"
            ));
        }
        if kind == "packet" && wires.packet.is_none() {
            let why = "no interface, which needs interface=NAME";
            crate::check::line(format_args!("DPA_WIRE={text}: {why}"));
        }
        wires
            .input
            .iter_mut()
            .for_each(|reader| reader.repeats = repeats);
        wires
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
        if let Some(back) = &mut self.back
            && back.frames.len() < BACK
        {
            let mut frame = frame.to_vec();
            if back.swaps && frame.len() >= 12 {
                frame[..12].rotate_left(6);
            }
            back.frames.push_back(frame);
        }
    }
}
