//! Calls from bytes: every sequence of bytes is a sequence of calls, and similar bytes give similar
//! calls.

use dpamatch_vocabulary::{
    CommId, Envelope, RANK_MAX, Rank, Selector, SourceSel, TAG_MAX, Tag, TagSel,
};

use super::Call;
use crate::engine::{CollName, Collective, MsgId, RecvId};
use crate::stream::{Event, ProbeId};

/// Numbers at which structures change: few, neighbours, ends of intervals, multiples of a number of
/// buckets, high bits only.
const NUMBERS: [u32; 16] = [
    0,
    1,
    2,
    3,
    4,
    255,
    256,
    1021,
    2042,
    4095,
    4096,
    65_536,
    1 << 20,
    1 << 24,
    1 << 30,
    i32::MAX as u32,
];

const COMMS: [u32; 4] = [0, 1, 4096, u32::MAX];

/// Names of collective operations.
const NAMES: [&str; 4] = ["gather", "allreduce", "bcast", "alltoall"];

/// The calls of `bytes`, three bytes each; a rest is ignored. A call may repeat with rising sources
/// or tags, so that short inputs make long queues: at most 16 calls for three bytes.
///
/// The first byte chooses the call and its mark, the other two its key: communicator (2 bits),
/// source (4), tag (4), repetitions (4), wildcards (2), from the lowest bit on.
pub fn calls_from_bytes(bytes: &[u8]) -> Vec<Call> {
    let mut decoder = Decoder::default();
    for chunk in bytes.chunks_exact(3) {
        decoder.decode(chunk[0], u16::from_le_bytes([chunk[1], chunk[2]]));
    }
    decoder.calls
}

#[derive(Default)]
struct Decoder {
    calls: Vec<Call>,
    posts: u64,
    arrivals: u64,
}

impl Decoder {
    fn decode(&mut self, verb: u8, key: u16) {
        let field = |shift: u16, bits: u32| usize::from(key >> shift) & ((1 << bits) - 1);
        let comm = CommId(COMMS[field(0, 2)]);
        let (source, tag) = (NUMBERS[field(2, 4)], NUMBERS[field(6, 4)]);
        let times = field(10, 4) as u32 + 1;
        let (any_source, any_tag) = (field(14, 1) == 1, field(15, 1) == 1);
        let rising_tag = verb & 0x80 != 0;
        let coll = (verb & 0x40 != 0).then(|| mark(verb >> 4 & 3)).flatten();
        let key_at = |step: u32| {
            let (by_source, by_tag) = if rising_tag { (0, step) } else { (step, 0) };
            let source = Rank::new((source + by_source).min(RANK_MAX)).unwrap_or_default();
            let tag = Tag::new((tag + by_tag).min(TAG_MAX)).unwrap_or_default();
            (source, tag)
        };
        let selector_at = |step: u32| {
            let (source, tag) = key_at(step);
            let source = if any_source {
                SourceSel::Any
            } else {
                source.into()
            };
            let tag = if any_tag { TagSel::Any } else { tag.into() };
            Selector { source, tag }
        };
        let probe = ProbeId(self.calls.len() as u64);
        match verb & 0xf {
            0..=4 => (0..times).for_each(|step| {
                let recv = RecvId(self.posts);
                self.posts += 1;
                let selector = selector_at(step);
                self.calls.push(Call::Event(Event::Post {
                    recv,
                    comm,
                    selector,
                    size: None,
                    coll,
                }));
            }),
            5..=9 => (0..times).for_each(|step| {
                let msg = MsgId(self.arrivals);
                self.arrivals += 1;
                let (source, tag) = key_at(step);
                let envelope = Envelope { comm, source, tag };
                self.calls.push(Call::Event(Event::Arrive {
                    msg,
                    envelope,
                    bytes: None,
                    coll,
                    lie: 0,
                }));
            }),
            10 | 11 => {
                // Counted from the youngest, so that most values are valid.
                let recv = RecvId(self.posts.wrapping_sub(u64::from(key & 0xff)));
                self.calls.push(Call::Event(Event::Cancel { recv }));
            }
            12 => self.calls.push(Call::Event(Event::Probe {
                probe,
                comm,
                selector: selector_at(0),
            })),
            13 => self.calls.push(Call::Event(Event::Mprobe {
                probe,
                comm,
                selector: selector_at(0),
            })),
            14 => self.calls.push(Call::Free(comm)),
            // Large sizes would only make large arrays.
            _ => self.calls.push(Call::Size(comm, u32::from(key >> 2))),
        }
    }
}

fn mark(number: u8) -> Option<Collective> {
    let name = CollName::new(NAMES[usize::from(number)])?;
    Some(Collective {
        name,
        bytes: (number > 1).then_some(8),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_call_can_be_written() {
        // Communicator 1, source 3, tag 2, three times with rising tags, any source.
        let key = (1_u16 | 3 << 2 | 2 << 6 | 2 << 10 | 1 << 14).to_le_bytes();
        let verbs = [0x80, 0x85, 10, 12, 13, 14, 15, 0x95 | 0x40];
        let bytes: Vec<u8> = verbs
            .iter()
            .flat_map(|&verb| [verb, key[0], key[1]])
            .collect();
        let text: Vec<String> = calls_from_bytes(&bytes)
            .iter()
            .map(Call::to_string)
            .collect();
        assert_eq!(
            text.join(" "),
            "post,0,1,*,2 post,1,1,*,3 post,2,1,*,4 arrive,0,1,3,2 arrive,1,1,3,3 arrive,2,1,3,4 \
             cancel,18446744073709551478 probe,7,1,*,2 mprobe,8,1,*,2 free,1 size,1,4643 \
             arrive,3,1,3,2,coll=allreduce arrive,4,1,3,3,coll=allreduce arrive,5,1,3,4,coll=allreduce"
        );
        assert_eq!(calls_from_bytes(&bytes[..2]), []);
    }
}
