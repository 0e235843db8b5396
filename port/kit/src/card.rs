//! The card's side.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ffi::{c_int, c_void};

use dpa_model::{
    Barrier, BusMap, Choice, FastPath, Footprint, Leader, Nic, NicConfig, Options, Order, Removal,
    Round, Worker,
};

use crate::ARENA;

/// Sizes of the tables, and options by their number.
#[repr(C)]
struct Config {
    handlers: u32,
    workers: u32,
    receives: u32,
    unexpected: u32,
    bins: u32,
    communicators: u32,
    queue: u32,
    buffer_bytes: u32,
    fast_path: u32,
    barrier: u32,
    removal: u32,
    stamped: u32,
}

const _: () = assert!(size_of::<Config>() == 48 && size_of::<BusMap>() == 104);

/// A NIC's parts. Each part has one user hart at a time, and harts use different parts
/// concurrently, so no reference to the whole ever exists.
struct Card {
    leader: Leader,
    workers: Vec<Worker>,
}

fn option<T: Choice>(number: u32) -> T {
    T::ALL.get(number as usize).copied().unwrap_or_default()
}

impl Config {
    fn nic(&self) -> NicConfig {
        let queue = self.queue as usize;
        NicConfig {
            handlers: self.handlers as usize,
            workers: self.workers as usize,
            slice_min: 1,
            receives: self.receives as usize,
            bins: self.bins as usize,
            communicators: self.communicators as usize,
            completion_queues: 1,
            completion_queue: queue,
            bounce_buffers: queue,
            eager_limit: self.buffer_bytes as usize,
            unexpected: self.unexpected as usize,
            unexpected_buffers: self.unexpected as usize,
            command_queue: queue,
            completion_ring: queue,
            regions: 1,
            options: Options {
                fast_path: option::<FastPath>(self.fast_path),
                barrier: option::<Barrier>(self.barrier),
                removal: option::<Removal>(self.removal),
                order: if self.stamped == 0 {
                    Order::default()
                } else {
                    Order::Stamped
                },
                ..Options::default()
            },
            ..NicConfig::default()
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn dpamatch_new(config: &Config, arena: *mut c_void, bytes: usize) -> *mut Card {
    // SAFETY: the caller gives the range away.
    unsafe { ARENA.hand_over(arena.expose_provenance(), bytes) };
    let config = config.nic();
    // The tables need the footprint and its bookkeeping.
    let needed = Footprint::new(&config);
    if needed.nic_bytes() + needed.host_bytes() + (64 << 10) > bytes as u64 {
        return core::ptr::null_mut();
    }
    match Nic::new(&config) {
        Ok(Nic {
            leader,
            workers,
            host,
            sender,
        }) => {
            // The program that reads the map takes their place.
            core::mem::forget((host, sender));
            Box::into_raw(Box::new(Card { leader, workers }))
        }
        Err(_) => core::ptr::null_mut(),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn dpamatch_map(card: *mut Card, map: &mut BusMap) {
    // SAFETY: `card` is from `dpamatch_new`; no other hart uses this part.
    *map = unsafe { &(*card).leader }.bus();
}

#[unsafe(no_mangle)]
unsafe extern "C" fn dpamatch_leader_round(card: *mut Card, awake: u32) -> c_int {
    // SAFETY: `card` is from `dpamatch_new`; no other hart uses this part.
    let leader = unsafe { &mut (*card).leader };
    c_int::from(leader.round(awake as usize) == Round::Worked)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn dpamatch_worker(card: *mut Card, worker: u32) -> *mut Worker {
    // SAFETY: `card` is from `dpamatch_new`; no worker runs yet.
    let workers = unsafe { &mut (*card).workers };
    let index = (worker as usize).wrapping_sub(1);
    workers
        .get_mut(index)
        .map_or(core::ptr::null_mut(), core::ptr::from_mut)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn dpamatch_worker_round(worker: *mut Worker) -> c_int {
    // SAFETY: `worker` is from `dpamatch_worker`; no other hart uses it.
    c_int::from(unsafe { &mut *worker }.round())
}
