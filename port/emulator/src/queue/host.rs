//! The host's calls on queues.

use super::{Cq, Pair, Receiver, Sender, Wq};
use crate::handle::{Handle, Kind, destroyers};
use crate::machine::machine;
use crate::process::{Place, Process};
use crate::status::{Given, Refusal, attributes, calls, put};
use std::ffi::c_void;
use std::sync::atomic::AtomicBool;

/// Largest depths, as logarithms.
const CQ_DEPTH: u8 = 22;
const WQ_DEPTH: u8 = 15;
/// A ring's memory in the heap.
const DEVICE: u32 = 0;

#[derive(Clone, Copy)]
#[repr(C)]
struct Memory {
    kind: u32,
    daddr: u64,
    umem: u32,
}

#[repr(C)]
struct CqAttributes {
    log_depth: u8,
    element: u8,
    compression: u8,
    compression_format: u8,
    period_mode: u8,
    period: u16,
    count: u16,
    collapsed: u8,
    no_arm: u8,
    always_armed: u8,
    overrun_ignore: u8,
    thread: Handle,
    emulated_eqn: u32,
    uar: u32,
    uar_base: *const c_void,
    record: u64,
    ring: Memory,
    record_memory: Memory,
}

#[repr(C)]
struct WqAttributes {
    log_stride: u8,
    log_depth: u8,
    uar: u32,
    user_index: u32,
    pd: *const c_void,
    ring: Memory,
    record: Memory,
    special: [u32; 2],
}

/// A ring in the heap, aligned as the NIC demands.
fn ring(process: &Process, memory: &Memory, bytes: u64) -> Result<Place, Refusal> {
    if memory.kind != DEVICE {
        return Err("a ring in host memory is not emulated".into());
    }
    if !memory.daddr.is_multiple_of(64) {
        return Err(format!("a ring at {:#x} is not aligned to 64", memory.daddr).into());
    }
    process.heap.in_block(memory.daddr, bytes)
}

fn record(process: &Process, daddr: u64) -> Result<Place, Refusal> {
    if !daddr.is_multiple_of(8) {
        return Err(format!("a doorbell record at {daddr:#x} is not aligned to 8").into());
    }
    process.heap.in_block(daddr, 8)
}

calls! {
    fn flexio_cq_create(
        process: Handle, _context: *const c_void, attr: Given<CqAttributes>, cq: Given<Handle>
    ) {
        let attr = attributes(attr)?;
        let process = machine().process(process)?;
        if attr.log_depth > CQ_DEPTH {
            return Err(format!("a depth of 2^{}, at most 2^{CQ_DEPTH}", attr.log_depth).into());
        }
        if attr.compression != 0 {
            return Err("compressed completions are not emulated".into());
        }
        if attr.period != 0 || attr.count != 0 {
            static SAID: AtomicBool = AtomicBool::new(false);
            let text = "flexio_cq_create: moderation is not modelled (cq_period, cq_max_count): an \
                        armed queue has an event at its next completion";
            crate::check::note_once(&SAID, format_args!("{text}"));
        }
        let unit = match attr.element {
            0 => {
                let unit = crate::thread::find(attr.thread)?;
                if unit.process.id != process.id {
                    let owner = unit.process.id;
                    return Err(format!("the thread belongs to process {owner}").into());
                }
                Some(unit)
            }
            8 => None,
            other => return Err(format!("element type {other} is not emulated").into()),
        };
        let bytes = super::format::CQE << attr.log_depth;
        let ring = ring(&process, &attr.ring, bytes)?;
        let record = record(&process, attr.record)?;
        let number = machine().nic().cqs.insert(|number| Cq {
            number,
            armed: attr.no_arm == 0,
            always_armed: attr.always_armed != 0,
            overrun_ignore: attr.overrun_ignore != 0,
            collapsed: attr.collapsed != 0,
            ..Cq::new(process.id, ring, record, attr.log_depth, unit)
        });
        put(cq, Kind::Cq.handle(number.ok_or("too many completion queues")?))
    }
}

fn destroy_cq(number: u32) -> Result<(), Refusal> {
    let mut nic = machine().nic();
    if nic.cqs.get(number).ok_or_else(|| Kind::Cq.gone())?.users > 0 {
        return Err("work queues complete here".into());
    }
    nic.look_last(|cq| cq.number == number);
    nic.cqs.remove(number);
    Ok(())
}

/// Makes a work queue of the depth in its attributes.
fn create(
    process: Handle,
    cqn: u32,
    attr: &WqAttributes,
    queue: Given<Handle>,
    sends: bool,
) -> Result<(), Refusal> {
    let process = machine().process(process)?;
    if attr.log_depth > WQ_DEPTH {
        return Err(format!("a depth of 2^{}, at most 2^{WQ_DEPTH}", attr.log_depth).into());
    }
    let log_stride = match attr.log_stride {
        0 => 4,
        stride @ 4..=9 => stride,
        other => return Err(format!("a stride of 2^{other}").into()),
    };
    let unit = if sends {
        super::format::WQEBB
    } else {
        1 << log_stride
    };
    let ring = ring(&process, &attr.ring, unit << attr.log_depth)?;
    let (log_depth, user_index) = (attr.log_depth, attr.user_index);
    let mut wq = Wq {
        process: process.id,
        pd: attr.pd as usize,
        ..Wq::default()
    };
    if sends {
        wq.send = Some(Sender::new(cqn, user_index, ring, log_depth));
    } else {
        let record = record(&process, attr.record.daddr)?;
        wq.receive = Some(Receiver::new(
            cqn, user_index, ring, record, log_depth, log_stride,
        ));
    }
    add(wq, queue)
}

/// Adds a work queue that the caller's attributes describe.
fn add(wq: Wq, queue: Given<Handle>) -> Result<(), Refusal> {
    if queue.pointer().is_null() {
        return Err("no place for the result".into());
    }
    put(queue, Kind::Wq.handle(attach(wq)?))
}

/// Adds a work queue to its completion queues. Answers its number.
pub(crate) fn attach(wq: Wq) -> Result<u32, Refusal> {
    let mut guard = machine().nic();
    let nic = &mut *guard;
    let cqns: Vec<_> = wq.completes_at().collect();
    if let Some(cqn) = cqns.iter().find(|&&cqn| nic.cqs.get(cqn).is_none()) {
        return Err(format!("no completion queue {cqn:#x}").into());
    }
    for cq in cqns.iter().filter_map(|&cqn| nic.cqs.get(cqn)) {
        if cq.process != wq.process {
            let (cqn, owner) = (cq.number, cq.process);
            return Err(format!("completion queue {cqn:#x} belongs to process {owner}").into());
        }
    }
    let receives_at = wq.receive.as_ref().map(|receive| receive.cqn);
    let number = nic.wqs.insert(|_| wq).ok_or("too many work queues")?;
    if let Some(cq) = receives_at.and_then(|cqn| nic.cqs.get_mut(cqn)) {
        cq.receiver = Some(number);
    }
    for cqn in cqns {
        nic.cqs
            .get_mut(cqn)
            .into_iter()
            .for_each(|cq| cq.users += 1);
    }
    Ok(number)
}

pub(crate) fn destroy(number: u32) -> Result<(), Refusal> {
    let mut nic = machine().nic();
    if nic.wqs.get(number).ok_or_else(|| Kind::Wq.gone())?.rules > 0 {
        return Err("steering rules lead here".into());
    }
    nic.look_at_stalled(super::asleep::AT_THE_END[0]);
    let gone = nic.wqs.remove(number);
    for cqn in gone.iter().flat_map(Wq::completes_at) {
        nic.cqs
            .get_mut(cqn)
            .into_iter()
            .for_each(|cq| cq.users -= 1);
    }
    Ok(())
}

#[repr(C)]
struct PairAttributes {
    transport: u8,
    pd: *const c_void,
    access: i32,
    operations: i32,
    uar: u32,
    log_sq_depth: u8,
    log_rq_depth: u8,
    sq_cqn: u32,
    rq_cqn: u32,
    rq_type: u8,
    shared_rq: u32,
    no_sq: u8,
    user_index: u32,
    ring: Memory,
    record: Memory,
    sq_ring: Memory,
    next_state: u32,
    remote: u32,
}

const RELIABLE: u8 = 0;
const NO_RECEIVE_QUEUE: u8 = 3;

fn with_pair<T>(pair: Handle, work: impl FnOnce(&mut Wq) -> Option<T>) -> Result<T, Refusal> {
    let number = Kind::Wq.number(pair)?;
    let mut nic = machine().nic();
    nic.wqs
        .get_mut(number)
        .and_then(work)
        .ok_or_else(|| Kind::Wq.gone())
}

calls! {
    fn flexio_rq_create(
        process: Handle, _context: *const c_void, cqn: u32, attr: Given<WqAttributes>,
        queue: Given<Handle>
    ) {
        create(process, cqn, attributes(attr)?, queue, false)
    }

    fn flexio_sq_create(
        process: Handle, _context: *const c_void, cqn: u32, attr: Given<WqAttributes>,
        queue: Given<Handle>
    ) {
        create(process, cqn, attributes(attr)?, queue, true)
    }

    fn flexio_rq_get_tir(queue: Handle) -> Handle = std::ptr::null_mut() => {
        Ok(Kind::Tir.handle(Kind::Wq.number(queue)?))
    }

    fn flexio_rq_set_err_state(queue: Handle) {
        let number = Kind::Wq.number(queue)?;
        let mut nic = machine().nic();
        let wq = nic.wqs.get_mut(number).and_then(|wq| wq.receive.as_mut());
        wq.ok_or_else(|| Kind::Wq.gone())?.broken = true;
        Ok(())
    }

    fn flexio_qp_create(
        process: Handle, _context: *const c_void, attr: Given<PairAttributes>, pair: Given<Handle>
    ) {
        let attr = attributes(attr)?;
        let process = machine().process(process)?;
        if attr.transport != RELIABLE {
            return Err(format!("transport {}: only RC is emulated", attr.transport).into());
        }
        let (rq, sq) = (attr.log_rq_depth, attr.log_sq_depth);
        if rq.max(sq) > WQ_DEPTH {
            return Err(format!("a depth of 2^{}, at most 2^{WQ_DEPTH}", rq.max(sq)).into());
        }
        let made = Some(Pair::new(attr.access));
        let pd = attr.pd as usize;
        let mut wq = Wq { process: process.id, pd, pair: made, ..Wq::default() };
        // The send queue follows the receive queue, unless it has other memory.
        let mut sq_ring = attr.sq_ring;
        let user_index = attr.user_index;
        match attr.rq_type {
            0 => {
                let record = record(&process, attr.record.daddr)?;
                let bytes = 16_u64 << rq;
                let ring = ring(&process, &attr.ring, bytes)?;
                wq.receive = Some(Receiver::new(attr.rq_cqn, user_index, ring, record, rq, 4));
                if sq_ring.daddr == 0 {
                    let daddr = attr.ring.daddr.saturating_add(bytes.next_multiple_of(64));
                    sq_ring = Memory { daddr, ..attr.ring };
                }
            }
            NO_RECEIVE_QUEUE if sq_ring.daddr == 0 => sq_ring = attr.ring,
            NO_RECEIVE_QUEUE => {}
            other => return Err(format!("receive queue of type {other} is not emulated").into()),
        }
        if attr.no_sq == 0 {
            let ring = ring(&process, &sq_ring, super::format::WQEBB << sq)?;
            wq.send = Some(Sender::new(attr.sq_cqn, user_index, ring, sq));
        }
        add(wq, pair)
    }

    fn flexio_qp_modify(pair: Handle, attr: Given<PairAttributes>, _mask: *const c_void) {
        let attr = attributes(attr)?;
        with_pair(pair, |wq| Some(wq.step(attr.next_state, attr.remote)))?
    }

    fn flexio_qp_state_get(pair: Handle) -> u32 = 0 => {
        with_pair(pair, |wq| wq.pair.map(|pair| pair.state))
    }
}

destroyers! {
    flexio_cq_destroy: Cq => destroy_cq;
    flexio_rq_destroy: Wq => destroy;
    flexio_sq_destroy: Wq => destroy;
    flexio_qp_destroy: Wq => destroy;
}
