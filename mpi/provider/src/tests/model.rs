//! Random calls against a list that compares bits as libfabric says: a receive takes the oldest
//! message, and a message the oldest receive, whose bits agree wherever the receive's mask does not
//! say "ignore". Each completion is compared, with its data.

use std::fmt::Write as _;
use std::ptr::null_mut;

use dpamatch::registry::{self, EngineOptions};
use dpamatch::stream::Reader;

use super::files::Folder;
use super::side::{Done, Side, call, pattern, tagged};
use crate::bindings::*;
use crate::options::ProviderOptions;
use crate::wire::{EAGER_MAX, LONG_MAX};

/// Numbers of a seed.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn below(&mut self, bound: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) as usize % bound
    }
}

const MPICH: u64 = 0x00c0_0000_0000_0000;
const ANY_TAG: u64 = 0x7fff_ffff;
/// Lengths of messages, and capacities of receives.
const LENGTHS: [usize; 10] = [
    8,
    8,
    0,
    7,
    24,
    25,
    EAGER_MAX,
    EAGER_MAX + 1,
    LONG_MAX,
    LONG_MAX + 1,
];

#[derive(Clone, Copy, Debug)]
struct Recv {
    context: usize,
    tagged: bool,
    from: Option<usize>,
    bits: u64,
    ignore: u64,
    room: usize,
}

#[derive(Clone, Copy, Debug)]
struct Sent {
    number: usize,
    sender: usize,
    tagged: bool,
    bits: u64,
    data: Option<u64>,
    length: usize,
    /// The sender waits for the receive.
    waits: bool,
}

impl Recv {
    fn accepts(&self, sent: &Sent) -> bool {
        let alike = !self.tagged || (self.bits ^ sent.bits) & !self.ignore == 0;
        self.tagged == sent.tagged && alike && self.from.is_none_or(|from| from == sent.sender)
    }

    fn kind(&self) -> u64 {
        FI_RECV | if self.tagged { FI_TAGGED } else { FI_MSG }
    }
}

/// The receiver and its senders, and what their programs must see.
struct Model {
    receiver: Side,
    senders: Vec<Side>,
    rows: Vec<u64>,
    posted: Vec<Recv>,
    waiting: Vec<Sent>,
    claimed: Vec<(usize, Sent)>,
    buffers: Vec<Vec<u8>>,
    sent: Vec<Vec<u8>>,
    /// Completions that are due at the receiver, and contexts at each sender.
    due: Vec<String>,
    due_sent: Vec<Vec<usize>>,
}

impl Model {
    fn new(change: impl Fn(&mut ProviderOptions)) -> (Self, Vec<u64>) {
        let receiver = Side::open(change);
        let senders: Vec<_> = (0..2).map(|_| Side::open(|_| ())).collect();
        let to: Vec<_> = senders
            .iter()
            .map(|sender| sender.insert(&receiver.name()))
            .collect();
        // The rows fall while the senders rise.
        let rows = senders
            .iter()
            .rev()
            .map(|sender| receiver.insert(&sender.name()));
        let mut rows: Vec<_> = rows.collect();
        rows.reverse();
        let (posted, waiting, claimed) = (Vec::new(), Vec::new(), Vec::new());
        let (due, due_sent) = (Vec::new(), vec![Vec::new(); senders.len()]);
        let (buffers, sent) = (Vec::new(), Vec::new());
        let model = Self {
            receiver,
            senders,
            rows,
            posted,
            waiting,
            claimed,
            buffers,
            sent,
            due,
            due_sent,
        };
        (model, to)
    }

    fn line(done: &Done, sum: u32) -> String {
        let Done {
            entry:
                CqTaggedEntry {
                    flags,
                    len,
                    data,
                    tag,
                    ..
                },
            from,
            err,
            olen,
        } = *done;
        let context = done.context();
        format!(
            "{context}: {flags:x}, {len} bytes, data {data}, tag {tag:x}, from {from}, \
                 error {err}, {olen} too many, sum {sum:x}"
        )
    }

    /// A receive is over; `peek`: it only looked, and says what it saw.
    fn ends(&mut self, recv: &Recv, sent: Option<Sent>, err: i32, peek: bool) {
        let Recv {
            context,
            room,
            tagged,
            ..
        } = *recv;
        let mut entry = CqTaggedEntry {
            op_context: context as *mut _,
            flags: recv.kind(),
            len: 0,
            buf: null_mut(),
            data: 0,
            tag: if tagged { recv.bits } else { 0 },
        };
        let (mut from, mut sum, mut err, mut olen) = (FI_ADDR_UNSPEC, 0, err, 0);
        if let Some(sent) = sent {
            entry.flags |= sent.data.map_or(0, |_| FI_REMOTE_CQ_DATA);
            (entry.data, entry.tag) = (sent.data.unwrap_or(0), sent.bits);
            entry.len = if peek {
                sent.length
            } else {
                sent.length.min(room)
            };
            from = self.rows[sent.sender];
            if !peek {
                olen = sent.length - entry.len;
                sum = sum_of(&self.sent[sent.number][..entry.len]);
                if sent.waits {
                    self.due_sent[sent.sender].push(sent.number);
                }
            }
            if olen > 0 {
                (from, err) = (FI_ADDR_UNSPEC, FI_ETRUNC);
            }
        }
        self.due.push(Self::line(
            &Done {
                entry,
                from,
                err,
                olen,
            },
            sum,
        ));
    }

    fn receive(&mut self, recv: Recv) {
        let from = recv.from.map_or(FI_ADDR_UNSPEC, |sender| self.rows[sender]);
        let mut buffer = vec![0; recv.room];
        let posted = match recv.tagged {
            true => {
                self.receiver
                    .receive(&mut buffer, from, (recv.bits, recv.ignore), recv.context)
            }
            false => {
                let (start, context) = (buffer.as_mut_ptr().cast(), recv.context as *mut _);
                let ep = self.receiver.ep;
                // SAFETY: the buffer is kept until the end.
                unsafe { call!(ep, msg, recv, start, recv.room, null_mut(), from, context) }
            }
        };
        assert_eq!(posted, 0);
        self.buffers[recv.context] = buffer;
        match self.waiting.iter().position(|sent| recv.accepts(sent)) {
            Some(at) => {
                let sent = self.waiting.remove(at);
                self.ends(&recv, Some(sent), 0, false);
            }
            None => self.posted.push(recv),
        }
    }

    fn send(&mut self, to: u64, sent: Sent) {
        let bytes = pattern(sent.number, sent.length);
        let (ep, text, context) = (
            self.senders[sent.sender].ep,
            bytes.as_ptr().cast(),
            sent.number,
        );
        let (length, context, none) = (bytes.len(), context as *mut _, null_mut());
        let again = -(FI_EAGAIN as isize);
        // SAFETY: the bytes are kept until the end.
        let code = || unsafe {
            match (sent.tagged, sent.data) {
                (true, _) if sent.waits && sent.length <= LONG_MAX => {
                    let start = bytes.as_ptr().cast_mut().cast();
                    let iov = [IoVec {
                        iov_base: start,
                        iov_len: length,
                    }];
                    let data = sent.data.unwrap_or(0);
                    let msg = MsgTagged {
                        data,
                        ..tagged(&iov, to, (sent.bits, 0), sent.number)
                    };
                    let carries = sent.data.map_or(0, |_| FI_REMOTE_CQ_DATA);
                    let flags = FI_COMPLETION | FI_DELIVERY_COMPLETE | carries;
                    call!(ep, tagged, sendmsg, &msg, flags)
                }
                (true, None) => call!(ep, tagged, send, text, length, none, to, sent.bits, context),
                (true, Some(data)) => {
                    call!(
                        ep, tagged, senddata, text, length, none, data, to, sent.bits, context
                    )
                }
                (false, None) => call!(ep, msg, send, text, length, none, to, context),
                (false, Some(data)) => {
                    call!(ep, msg, senddata, text, length, none, data, to, context)
                }
            }
        };
        while match code() {
            0 => false,
            code => code == again,
        } {
            self.receiver.progress();
            self.senders[sent.sender].progress();
        }
        self.sent.push(bytes);
        if !sent.waits {
            self.due_sent[sent.sender].push(sent.number);
        }
        match self.posted.iter().position(|recv| recv.accepts(&sent)) {
            Some(at) => {
                let recv = self.posted.remove(at);
                self.ends(&recv, Some(sent), 0, false);
            }
            None => self.waiting.push(sent),
        }
    }

    fn cancel(&mut self, context: usize) {
        let found = self.posted.iter().position(|recv| recv.context == context);
        let code = if found.is_some() {
            0
        } else {
            -(FI_ENOENT as isize)
        };
        assert_eq!(self.receiver.cancel(context), code);
        if let Some(at) = found {
            let recv = self.posted.remove(at);
            self.ends(&recv, None, FI_ECANCELED, false);
        }
    }

    /// A look at a message, which stays, is taken for a receive later, or is dropped.
    fn peek(&mut self, recv: Recv, flags: u64) {
        let asked = (recv.bits, recv.ignore);
        self.receiver
            .receive_flagged(&mut [], asked, recv.context, FI_PEEK | flags);
        let Some(at) = self.waiting.iter().position(|sent| recv.accepts(sent)) else {
            return self.ends(&recv, None, FI_ENOMSG, true);
        };
        let sent = self.waiting[at];
        self.ends(&recv, Some(sent), 0, true);
        if flags != 0 {
            self.waiting.remove(at);
        }
        if flags & FI_CLAIM != 0 {
            self.claimed.push((recv.context, sent));
        } else if flags & FI_DISCARD != 0 && sent.waits {
            self.due_sent[sent.sender].push(sent.number);
        }
    }

    /// Receives, or drops, the newest message that was claimed.
    fn claim(&mut self, room: usize, flags: u64) {
        let Some((context, sent)) = self.claimed.pop() else {
            return;
        };
        let mut buffer = vec![0; room];
        let mut take = || {
            let flags = FI_CLAIM | flags;
            self.receiver
                .receive_flagged(&mut buffer, (0, 0), context, flags)
        };
        assert_eq!([take(), take()], [0, -(FI_EINVAL as isize)]);
        self.buffers[context] = buffer;
        let bits = sent.bits;
        let recv = Recv {
            context,
            tagged: true,
            from: None,
            bits,
            ignore: 0,
            room,
        };
        match flags {
            0 => self.ends(&recv, Some(sent), 0, false),
            _ => self.ends(&recv, None, 0, false),
        }
        if flags != 0 && sent.waits {
            self.due_sent[sent.sender].push(sent.number);
        }
    }

    /// Waits until everybody has what is due, and nothing else.
    fn settle(&mut self) {
        let (mut seen, mut sent) = (Vec::new(), vec![Vec::new(); self.senders.len()]);
        for round in 0..10_000 {
            loop {
                let some = self.receiver.read_some(1 + seen.len() % 3);
                if some.is_empty() {
                    break;
                }
                for done in some {
                    let length = if done.entry.buf.is_null() {
                        0
                    } else {
                        done.entry.len
                    };
                    let sum = sum_of(&self.buffers[done.context()][..length]);
                    seen.push(Self::line(&done, sum));
                }
            }
            for (sender, sent) in self.senders.iter().zip(&mut sent) {
                while let Some(done) = sender.read() {
                    assert_eq!(done.err, 0);
                    sent.push(done.context());
                }
            }
            let late = seen.len() < self.due.len() || sent != self.due_sent;
            if !late && round >= 4 {
                break;
            }
        }
        assert_eq!(seen, self.due);
        assert_eq!(sent, self.due_sent);
        self.due.clear();
        self.due_sent.iter_mut().for_each(Vec::clear);
    }
}

fn sum_of(bytes: &[u8]) -> u32 {
    bytes.iter().fold(bytes.len() as u32, |sum, &byte| {
        sum.wrapping_mul(31).wrapping_add(u32::from(byte) + 1)
    })
}

/// Bits and mask: as MPICH has them; exact ones and any tag; some that differ from MPICH's a bit;
/// and masks of no known library.
fn bits_of(random: &mut Random, masks: u64) -> (u64, u64) {
    let communicator = (6 + 2 * random.below(3) as u64) << 31;
    let tag = [0, 1, 1 << 30, ANY_TAG][random.below(4)];
    let any = if random.below(6) == 0 { ANY_TAG } else { 0 };
    match masks {
        0 => (
            communicator | tag | (random.below(4) as u64) << 54,
            MPICH | any,
        ),
        1 => (communicator | tag, any),
        2 => {
            let odd = [1 << 54, MPICH, 0][random.below(64).min(2)];
            let (kept, rare) = if communicator == 10 << 31 {
                (MPICH, 24)
            } else {
                (odd, 3)
            };
            let mark = u64::from(random.below(rare) == 0) << 54;
            (communicator | tag | mark, MPICH & !kept | any)
        }
        _ => {
            let ignore = [0, 0, 3, 1 << 33, 1 << 63, u64::MAX][random.below(6)];
            (communicator | tag | (random.below(2) as u64) << 63, ignore)
        }
    }
}

/// The oracle's results for a log.
fn oracle(events: &str) -> String {
    let mut events = Reader::new(events.as_bytes()).map(|event| event.expect("an event"));
    let entry = registry::find("oracle").expect("it is registered");
    let mut oracle = entry
        .build(&EngineOptions::default())
        .expect("it needs no options");
    let mut results = String::new();
    oracle
        .run(&mut events, &mut |outcome| {
            let _ = writeln!(results, "{outcome}");
        })
        .expect("the oracle runs");
    results
}

#[test]
fn completions_are_those_of_a_list() {
    let (mut short, mut software) = (0, 0);
    let engines = || {
        registry::ENGINES
            .iter()
            .filter(|entry| entry.name != "optimistic")
    };
    // The last ones: by threads, and by each other engine.
    for seed in 0..50 + engines().count() as u64 {
        let engine = seed
            .checked_sub(50)
            .and_then(|at| engines().nth(at as usize));
        let (masks, size) = (seed % 4, seed / 4 % 4);
        let folder = Folder::new("model");
        let logs = seed % 5 < 2 && masks < 2;
        let (mut model, to) = Model::new(|options| {
            options.log = logs.then(|| folder.0.clone());
            options.stats = Some(folder.0.clone());
            options.matching.nic.options.log_order = logs;
            if seed % 8 == 7 {
                options.keep_off = vec!["user 8".to_owned()];
            }
            options.matching.nic.options.always_shared = seed % 3 == 0;
            if seed >= 48 {
                options.matching.set("workers", "2").expect("two threads");
            }
            options.engine = engine;
            let nic = &mut options.matching.nic;
            match size {
                1 => nic.receives = 4,
                2 => (nic.unexpected, nic.communicators) = (4, 2),
                3 => options.matching.set("bins", "1").expect("one bin"),
                _ => {}
            }
        });
        // Each sender becomes known.
        let all = Recv {
            context: 0,
            tagged: false,
            from: None,
            bits: 0,
            ignore: 0,
            room: 0,
        };
        for sender in [0, 1] {
            model.buffers.push(Vec::new());
            model.receive(Recv {
                context: sender,
                ..all
            });
            let (number, tagged) = (sender, false);
            let sent = Sent {
                number,
                sender,
                tagged,
                bits: 0,
                data: None,
                length: 0,
                waits: false,
            };
            model.send(to[sender], sent);
            model.settle();
        }
        let mut random = Random(seed);
        for context in 2..250 {
            let (bits, ignore) = bits_of(&mut random, masks);
            let (length, tagged) = (LENGTHS[random.below(LENGTHS.len())], random.below(8) > 0);
            let (bits, ignore) = if tagged { (bits, ignore) } else { (0, 0) };
            let (sender, die) = (random.below(2), random.below(24));
            let from = Some(sender).filter(|_| random.below(3) > 0);
            let recv = Recv {
                context,
                tagged,
                from,
                bits,
                ignore,
                room: length,
            };
            model.buffers.push(Vec::new());
            match die {
                0..9 => model.receive(recv),
                9..18 => {
                    let data = (die % 2 == 0).then_some(context as u64 * 0x1_0000_0001);
                    // Some short ones are over when they are delivered.
                    let waits = length > LONG_MAX || tagged && die >= 16;
                    let number = model.sent.len();
                    let sent = Sent {
                        number,
                        sender,
                        tagged,
                        bits,
                        data,
                        length,
                        waits,
                    };
                    model.send(to[sender], sent);
                }
                18..20 => model.cancel(random.below(context + 1)),
                20..23 if tagged => {
                    let flags = [0, FI_DISCARD, FI_CLAIM][die - 20];
                    model.peek(Recv { from: None, ..recv }, flags);
                }
                _ => model.claim(length, [0, FI_DISCARD][die % 2]),
            }
            model.settle();
        }
        drop(model);
        let stats = folder.only(".json", "matcher_");
        let compares_all = u32::from(if engine.is_some() {
            masks > 1
        } else {
            !stats.contains("matcher_short_posts")
        });
        assert!(
            stats.contains(&format!("\"compares_all_bits\": {compares_all},")),
            "{stats}"
        );
        // Where all bits are compared, there are no such numbers.
        let of = |name: &str| {
            let rest = stats.split_once(&format!("\"matcher_{name}\": "));
            let rest = rest.map_or("0", |(_, rest)| rest);
            rest.split(&[',', '\n'][..])
                .next()
                .and_then(|n| n.parse().ok())
                .expect("a number")
        };
        let [posts, messages, matches]: [u64; 3] =
            ["short_posts", "short_messages", "software_matches"].map(of);
        assert!(seed % 3 > 0 || posts + messages == 0, "seed {seed}");
        (short, software) = (short + posts.min(messages), software + matches);
        if logs {
            let events = folder.only(".events", if masks == 0 { "bits 00c" } else { "post" });
            let results = folder.only(".results", "matched");
            assert_eq!(results, oracle(&events), "seed {seed}");
        }
    }
    assert!(
        short > 300 && software > 50,
        "{short} were short, software matched {software}"
    );
}
