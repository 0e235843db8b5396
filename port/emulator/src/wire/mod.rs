//! Where frames come from and go to. `DPA_WIRE` chooses: `pcap:in=FILE,out=FILE` plays the frames
//! of a file once a thread can take them, and writes what the device part sends.

mod pcap;

use pcap::{Reader, Writer};

pub(crate) const BURST: usize = 16;

#[derive(Default)]
pub(crate) struct Wires {
    input: Option<Reader>,
    output: Option<Writer>,
    /// The frame that no queue took, to be offered again.
    refused: Option<Vec<u8>>,
    last: Vec<u8>,
}

impl Wires {
    pub(crate) fn new() -> Self {
        let mut wires = Self::default();
        let Ok(text) = std::env::var("DPA_WIRE") else { return wires };
        let Some(options) = text.strip_prefix("pcap:") else {
            crate::check::line(format_args!("DPA_WIRE={text}: an unknown wire"));
            return wires;
        };
        for option in options.split(',') {
            let result = match option.split_once('=') {
                Some(("in", path)) => Reader::open(path).map(|made| wires.input = Some(made)),
                Some(("out", path)) => Writer::create(path).map(|made| wires.output = Some(made)),
                _ => Err(format!("an unknown option {option}")),
            };
            if let Err(why) = result {
                crate::check::line(format_args!("DPA_WIRE: {why}"));
            }
        }
        wires
    }

    pub(crate) fn next(&mut self, frame: &mut Vec<u8>) -> bool {
        let next = self.refused.take().or_else(|| self.input.as_mut()?.next());
        frame.extend_from_slice(next.as_deref().unwrap_or_default());
        self.last = next.unwrap_or_default();
        !self.last.is_empty()
    }

    /// No queue took the frame: it is the next one again.
    pub(crate) fn keep(&mut self) {
        self.refused = Some(std::mem::take(&mut self.last));
    }

    pub(crate) fn waits(&self) -> bool {
        self.refused.is_some()
    }

    pub(crate) fn send(&mut self, frame: &[u8]) {
        if let Some(output) = &mut self.output {
            output.write(frame);
        }
    }
}
