//! Host and wire are another program that shares this machine's memory. It finds the rings through
//! a page at a fixed address, and fills and reads their slots itself. `port/kit/dpamatch_bus.h` has
//! the layouts for programs in C.

use alloc::boxed::Box;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use dpa_model::{BusMap, Leader, Nic, Round};
use semihosting::println;

use crate::roles::{Role, assign, stop_workers};
use crate::start::{start_harts, wait};

/// Value of `ready` once the rest of the page is valid: name and number of the layout.
const READY: u64 = u64::from_le_bytes(*b"dpamat01");
/// Bytes for the buffers of receives.
const BUFFER_BYTES: usize = 1 << 20;

/// The shared page. All addresses belong to this machine.
#[repr(C)]
struct Page {
    ready: AtomicU64,
    /// Nonzero: the other program is done.
    stop: AtomicU64,
    /// Memory for the buffers of receives.
    buffers: AtomicU64,
    buffer_bytes: AtomicU64,
    /// Nine words: slots, depth and head of each ring.
    map: [AtomicU64; 9],
}

unsafe extern "C" {
    static bus_page: Page;
}

/// Runs the card's side until the other program is done.
pub(crate) fn run(nic: Nic, harts: usize) {
    let Nic { mut leader, workers, host, sender } = nic;
    // The other program replaces them.
    core::mem::forget((host, sender));
    for worker in workers {
        assign(worker.index(), Role::Worker(worker));
    }
    // SAFETY: the linker script reserves this range for the page; all zeros are a valid page.
    let page = unsafe { &bus_page };
    publish(page, &leader);
    start_harts(harts);
    let mut blocks = 0u64;
    while page.stop.load(Acquire) == 0 {
        match leader.round(harts) {
            Round::Worked => blocks += 1,
            _ => wait(),
        }
    }
    println!("rounds with work: {blocks}");
    stop_workers();
    core::mem::forget(leader);
}

fn publish(page: &Page, leader: &Leader) {
    let BusMap { commands, arrivals, completions, .. } = leader.bus();
    let words = [commands, arrivals, completions].map(|ring| [ring.slots, ring.depth, ring.head]);
    for (place, word) in page.map.iter().zip(words.iter().flatten()) {
        place.store(*word, Relaxed);
    }
    let buffers = Box::leak(alloc::vec![0u64; BUFFER_BYTES / 8].into_boxed_slice());
    page.buffers.store(buffers.as_mut_ptr().expose_provenance() as u64, Relaxed);
    page.buffer_bytes.store(BUFFER_BYTES as u64, Relaxed);
    page.ready.store(READY, Release);
}
