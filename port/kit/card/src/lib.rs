//! The card's side of dpamatch for programs in C; `dpamatch_card.h` documents each function.
//!
//! The library needs one range of memory from the caller, and `dpamatch_panicked`, which must not
//! return.
#![no_std]

extern crate alloc;

mod arena;

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ffi::{c_int, c_void};

use dpa_model::{
    Choice, CommId, Envelope, Event, FastPath, Hints, HostPort, Leader, Nic, NicConfig, Options,
    Rank, Round, Selector, Sender, SourceSel, Tag, TagSel, Worker,
};

unsafe extern "C" {
    fn dpamatch_panicked() -> !;
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    // SAFETY: the caller's program defines the function, which does not return.
    unsafe { dpamatch_panicked() }
}

/// Sizes of the tables.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Config {
    handlers: u32,
    workers: u32,
    receives: u32,
    bins: u32,
    queue: u32,
    eager_limit: u32,
    fast_path: u32,
}

/// A received message.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Received {
    arrival: u64,
    request: u32,
    comm: u32,
    source: u32,
    tag: u32,
    length: u32,
    reserved: u32,
}

const _: () = assert!(size_of::<Config>() == 28 && size_of::<Received>() == 32);

/// A NIC's parts. Each part has one user hart at a time, and harts use different parts
/// concurrently, so no reference to the whole ever exists.
#[derive(Debug)]
pub struct Card {
    leader: Leader,
    workers: Vec<Worker>,
    host: HostPort,
    sender: Sender,
}

/// Builds a NIC in `arena`, `bytes` of zeros aligned to 64. Returns null for impossible sizes or
/// too little memory.
///
/// # Safety
/// From now on the arena belongs to this library, and this is the only call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpamatch_new(
    config: &Config,
    arena: *mut c_void,
    bytes: usize,
) -> *mut Card {
    arena::hand_over(arena.addr(), bytes);
    let fast_path = FastPath::ALL.get(config.fast_path as usize).copied().unwrap_or_default();
    let queue = config.queue as usize;
    let config = NicConfig {
        handlers: config.handlers as usize,
        workers: config.workers as usize,
        slice_min: 1,
        receives: config.receives as usize,
        bins: config.bins as usize,
        communicators: 1,
        completion_queues: 2,
        completion_queue: queue,
        bounce_buffers: queue,
        eager_limit: config.eager_limit as usize,
        unexpected: config.receives as usize,
        unexpected_buffers: config.receives as usize,
        command_queue: queue,
        completion_ring: queue.saturating_mul(2),
        regions: 4,
        options: Options { fast_path, ..Options::default() },
        ..NicConfig::default()
    };
    // The tables need the footprint and its bookkeeping.
    let needed = dpa_model::Footprint::of(&config);
    if needed.nic_bytes() + needed.host_bytes() + (64 << 10) > bytes as u64 {
        return core::ptr::null_mut();
    }
    match Nic::new(&config) {
        Ok(Nic { leader, workers, host, sender }) => {
            Box::into_raw(Box::new(Card { leader, workers, host, sender }))
        }
        Err(_) => core::ptr::null_mut(),
    }
}

/// Runs one boundary and at most one block; returns whether there was work.
///
/// # Safety
/// `card` is from `dpamatch_new`; only one hart at a time calls this.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpamatch_leader_round(card: *mut Card, awake: u32) -> c_int {
    // SAFETY: `card` is from `dpamatch_new`; no other hart uses this part.
    let leader = unsafe { &mut (*card).leader };
    c_int::from(leader.round(awake as usize) == Round::Worked)
}

/// Worker `1..workers`, or null if there is none. Call before any worker runs.
///
/// # Safety
/// `card` is from `dpamatch_new`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpamatch_worker(card: *mut Card, worker: u32) -> *mut Worker {
    // SAFETY: `card` is from `dpamatch_new`; no worker runs yet.
    let workers = unsafe { &mut (*card).workers };
    let index = (worker as usize).wrapping_sub(1);
    workers.get_mut(index).map_or(core::ptr::null_mut(), core::ptr::from_mut)
}

/// Runs this worker's slice of a block; returns whether there was one.
///
/// # Safety
/// `worker` is from `dpamatch_worker`; only one hart at a time calls this with it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpamatch_worker_round(worker: *mut Worker) -> c_int {
    // SAFETY: `worker` is from `dpamatch_worker`; no other hart uses it.
    c_int::from(unsafe { &mut *worker }.round())
}

/// Requests a communicator's tables; 0 on success.
///
/// # Safety
/// `card` is from `dpamatch_new`; only one hart at a time calls this and the other functions of the
/// host's end.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpamatch_create(card: *mut Card, comm: u32, bins: u32) -> c_int {
    // SAFETY: `card` is from `dpamatch_new`; no other hart uses the host's end.
    let host = unsafe { &mut (*card).host };
    c_int::from(host.create(CommId(comm), bins, Hints::default(), 0).is_err())
}

/// Posts a receive; returns its number, or -1 if there is no room now.
///
/// # Safety
/// `card` is from `dpamatch_new`; only one hart at a time uses the host's end.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpamatch_post(
    card: *mut Card,
    comm: u32,
    source: u32,
    tag: u32,
    bytes: u32,
) -> i64 {
    // SAFETY: `card` is from `dpamatch_new`; no other hart uses the host's end.
    let host = unsafe { &mut (*card).host };
    // An invalid rank or tag is a wildcard.
    let source = Rank::new(source).map_or(SourceSel::Any, SourceSel::Rank);
    let tag = Tag::new(tag).map_or(TagSel::Any, TagSel::Tag);
    let buffer = alloc::vec![0; bytes as usize];
    match host.post(CommId(comm), Selector { source, tag }, buffer, 0) {
        Ok(request) => request.slot() as i64,
        Err(_) => -1,
    }
}

/// Takes one result. Returns 1 for a message, in `received` and `data`; 2 for another result; 0 for
/// none.
///
/// # Safety
/// `card` is from `dpamatch_new`; only one hart at a time uses the host's end. `data` has room for
/// `room` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpamatch_poll(
    card: *mut Card,
    received: &mut Received,
    data: *mut u8,
    room: u32,
) -> c_int {
    // SAFETY: `card` is from `dpamatch_new`; no other hart uses the host's end.
    let host = unsafe { &mut (*card).host };
    match host.poll() {
        None => 0,
        Some(Event::Received { request, buffer, message, .. }) => {
            *received = Received {
                arrival: message.arrival,
                request: request.slot() as u32,
                comm: message.envelope.comm.0,
                source: message.envelope.source.get(),
                tag: message.envelope.tag.get(),
                length: message.length,
                reserved: 0,
            };
            let count = buffer.len().min(message.length as usize).min(room as usize);
            // SAFETY: the caller's room, and a buffer of its own.
            unsafe { core::ptr::copy_nonoverlapping(buffer.as_ptr(), data, count) };
            1
        }
        Some(_) => 2,
    }
}

/// Sends a message. Returns 0 if sent, 1 if there is no room now, 2 if it can never be sent.
///
/// # Safety
/// `card` is from `dpamatch_new`; only one hart at a time calls this; `data` has `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpamatch_send(
    card: *mut Card,
    comm: u32,
    source: u32,
    tag: u32,
    data: *const u8,
    length: u32,
) -> c_int {
    // SAFETY: the caller's promise.
    let sender = unsafe { &mut (*card).sender };
    let (Ok(source), Ok(tag)) = (Rank::new(source), Tag::new(tag)) else { return 2 };
    // SAFETY: the caller's promise.
    let data = unsafe { core::slice::from_raw_parts(data, length as usize) };
    match sender.try_send(Envelope { comm: CommId(comm), source, tag }, data, 0) {
        Ok(()) => 0,
        Err(dpa_model::SendError::ReceiverNotReady) => 1,
        Err(_) => 2,
    }
}
