//! Windows: a number of receives, then a message for each, repeated.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::sync::atomic::AtomicUsize;
use core::sync::atomic::Ordering::{Acquire, Release};

use dpa_model::{
    CommId, Envelope, HostPort, Leader, MsgId, Nic, Outcome, PaperWorkload, Rank, RecvId, Round,
    Selector, Sender, Tag,
};
use semihosting::println;

use crate::arguments::Arguments;
use crate::roles::{Role, assign, ends_are_done, marks, stop_workers};
use crate::start::{COUNT_FROM, COUNT_TO, mark, start_harts, wait};

/// Windows before counting starts, to warm all lines and tables.
const WARM_UP: usize = 2;
/// Receive and message k have number k; the payload is the number with these bits flipped.
const PAYLOAD: u64 = 0xa5a5_0000_5a5a_0000;

#[derive(Clone, Copy)]
struct Workload {
    tags: PaperWorkload,
    /// Sender k mod `senders` sends message k; each has its own source.
    senders: usize,
    window: usize,
    windows: usize,
}

impl Workload {
    fn selector(self, index: usize) -> (Rank, Tag) {
        let source = Rank::new((1 + index % self.senders) as u32);
        (source.unwrap_or_default(), self.tags.tag((index % self.window) as u16))
    }
}

const COMM: CommId = CommId(0);
/// Most senders: each may need a hart.
const SENDERS_MOST: usize = 8;

struct Host {
    port: HostPort,
    workload: Workload,
    buffers: Vec<Vec<u8>>,
    /// Receive number in each of the port's slots.
    names: Vec<usize>,
    outcomes: Vec<u8>,
    received: usize,
    wrong: usize,
}

impl Host {
    fn new(port: HostPort, workload: Workload) -> Self {
        let messages = workload.window * workload.windows;
        Self {
            port,
            workload,
            buffers: (0..workload.window).map(|_| alloc::vec![0; 8]).collect(),
            names: alloc::vec![0; 4 * workload.window + 16],
            outcomes: Vec::with_capacity(messages * Outcome::RECORD_BYTES),
            received: 0,
            wrong: 0,
        }
    }

    /// Posts receive `index`; `false` if there is no room now.
    fn post(&mut self, index: usize) -> bool {
        let (source, tag) = self.workload.selector(index);
        let Some(buffer) = self.buffers.pop() else { return false };
        match self.port.post(COMM, Selector::new(source, tag), buffer, 0) {
            Ok(request) => {
                self.names[request.slot()] = index;
                true
            }
            Err((_, buffer)) => {
                self.buffers.push(buffer);
                false
            }
        }
    }

    /// Takes all available results.
    fn drain(&mut self) {
        let Self { port, workload, buffers, names, outcomes, received, wrong } = self;
        while port
            .drain(|request, buffer, message, _| {
                let recv = RecvId(names[request.slot()] as u64);
                let Ok(bytes) = <[u8; 8]>::try_from(&buffer[..]) else {
                    *wrong += 1;
                    return true;
                };
                let msg = MsgId(u64::from_le_bytes(bytes) ^ PAYLOAD);
                // Messages of one sender arrive in the order of their numbers.
                *wrong += usize::from(workload.senders == 1 && msg.0 != message.arrival);
                outcomes.extend_from_slice(&Outcome::Matched { recv, msg }.to_record());
                buffers.push(buffer);
                *received += 1;
                true
            })
            .is_some()
        {
            *wrong += 1;
        }
    }
}

/// The receive's number in an outcome.
fn record_name(record: &[u8; Outcome::RECORD_BYTES]) -> u64 {
    u64::from_le_bytes(record[8..16].try_into().unwrap_or_default())
}

/// Sends message `index`; `false` if there is no room now.
fn send(sender: &mut Sender, workload: Workload, index: usize) -> bool {
    let (source, tag) = workload.selector(index);
    let envelope = Envelope { comm: COMM, source, tag };
    sender.try_send(envelope, &(index as u64 ^ PAYLOAD).to_le_bytes(), 0).is_ok()
}

/// Runs the requested workload; returns the outcomes.
pub(crate) fn run(nic: Nic, harts: usize, apart: bool, arguments: &Arguments) -> Vec<u8> {
    let window = arguments.number("window", 128);
    if !(1..=1 << 16).contains(&window) {
        crate::refuse(format_args!("window={window} is out of range"));
    }
    let windows = arguments.number("windows", 8) + WARM_UP;
    let senders = arguments.number("senders", 1);
    if !(1..=SENDERS_MOST).contains(&senders) {
        crate::refuse(format_args!("senders={senders} is out of range"));
    }
    let workload = Workload { tags: arguments.workload(), senders, window, windows };
    let Nic { mut leader, workers, host, sender } = nic;
    let mut senders: Vec<Sender> = (1..senders).map(|_| sender.clone()).collect();
    senders.insert(0, sender);
    for worker in workers {
        assign(worker.index(), Role::Worker(worker));
    }
    let monitor = leader.monitor();
    let host = Host::new(host, workload);
    let host = if apart {
        run_apart(&mut leader, host, senders, harts)
    } else {
        run_together(&mut leader, host, senders, harts)
    };
    for (name, value) in monitor.counts().handlers.rows().filter(|row| row.1 != 0) {
        println!("{name}: {value}");
    }
    if host.wrong != 0 {
        println!("WRONG: {} results with other bytes or of another kind", host.wrong);
        semihosting::process::exit(1);
    }
    core::mem::forget((leader, host.port));
    let mut outcomes = host.outcomes;
    if workload.senders > 1 {
        // Messages of different senders arrive in any order; sorted by receive, outcomes have a
        // fixed one.
        let (records, _) = outcomes.as_chunks_mut();
        records.sort_unstable_by_key(record_name);
    }
    outcomes
}

/// Both ends on the leader's hart, so that only matching is shared.
fn run_together(
    leader: &mut Leader,
    mut host: Host,
    mut senders: Vec<Sender>,
    harts: usize,
) -> Host {
    let workload = host.workload;
    start_harts(harts);
    for number in 0..workload.windows {
        if number == WARM_UP {
            mark::<COUNT_FROM>();
        }
        let window = number * workload.window..(number + 1) * workload.window;
        mark::<{ marks::POST }>();
        for index in window.clone() {
            while !host.post(index) {
                leader.round(harts);
            }
        }
        mark::<{ marks::LEAD }>();
        while leader.round(harts) == Round::Worked {}
        mark::<{ marks::SEND }>();
        for index in window.clone() {
            while !send(&mut senders[index % workload.senders], workload, index) {
                leader.round(harts);
            }
        }
        while host.received < window.end {
            mark::<{ marks::LEAD }>();
            while leader.round(harts) == Round::Worked {}
            mark::<{ marks::DRAIN }>();
            host.drain();
        }
    }
    mark::<COUNT_TO>();
    stop_workers();
    core::mem::forget(senders);
    host
}

/// Windows whose receives are posted; publishes the host's writes.
static POSTED: AtomicUsize = AtomicUsize::new(0);
static HOST: core::sync::atomic::AtomicPtr<Host> =
    core::sync::atomic::AtomicPtr::new(core::ptr::null_mut());

fn run_apart(leader: &mut Leader, mut host: Host, senders: Vec<Sender>, harts: usize) -> Host {
    let workload = host.workload;
    let host_end = move || {
        for number in 0..workload.windows {
            for index in number * workload.window..(number + 1) * workload.window {
                while !host.post(index) {
                    wait();
                }
            }
            POSTED.store(number + 1, Release);
            while host.received < (number + 1) * workload.window {
                host.drain();
                wait();
            }
        }
        HOST.store(Box::into_raw(Box::new(host)), Release);
    };
    let wire_end = move |first: usize, mut sender: Sender| {
        for number in 0..workload.windows {
            while POSTED.load(Acquire) <= number {
                wait();
            }
            let window = number * workload.window..(number + 1) * workload.window;
            for index in window.filter(|index| index % workload.senders == first) {
                while !send(&mut sender, workload, index) {
                    wait();
                }
            }
        }
        core::mem::forget(sender);
    };
    let ends = 1 + workload.senders;
    assign(harts, Role::End(Box::new(host_end)));
    for (first, sender) in senders.into_iter().enumerate() {
        let end = move || wire_end(first, sender);
        assign(harts + 1 + first, Role::End(Box::new(end)));
    }
    mark::<COUNT_FROM>();
    start_harts(harts + ends);
    mark::<{ marks::LEAD }>();
    while !ends_are_done(ends) {
        if leader.round(harts) == Round::Idle {
            wait();
        }
    }
    mark::<COUNT_TO>();
    stop_workers();
    // SAFETY: the host's end made it from a box and is done; the swap gives it out once.
    *unsafe { Box::from_raw(HOST.swap(core::ptr::null_mut(), Acquire)) }
}
