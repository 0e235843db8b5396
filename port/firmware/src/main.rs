//! The card's side of dpamatch as a program for a RISC-V machine without an operating system.
//!
//! Hart 0 is the leader. Harts `1..harts` run one slice of each block each. Host and wire are on
//! the leader's hart, or with `ends=apart` on harts of their own behind the workers.
//!
//! The command line, words of the form `name=value`:
//! - `workload=NC|WC-FP|WC-SP` sends windows of messages (`windows`, `window`);
//! - `stream=FILE` plays a recorded stream, `out=FILE` gets the outcomes;
//! - `senders=N`: N senders take turns at a workload's messages, each with its own source;
//! - `harts`, `handlers`, `ends=leader|apart`;
//! - `fast`, `removal`, `barrier`, `domains`, `early`, `shared`, `bins`, `receives`,
//!   `unexpected`, `queue`, `queues`, `comms`: see `NicConfig`;
//! - `weaken=PLACE=ORDERING` breaks an ordering, in builds that know faults.
#![no_std]
#![no_main]

extern crate alloc;

mod arguments;
mod play;
mod roles;
mod start;
mod windows;

use alloc::ffi::CString;
use core::fmt;

use dpa_model::{CommId, Hints, HostPort, Leader, Nic, Order, Outcome, Round};
use dpamatch_player::Arena;
use semihosting::println;

use arguments::Arguments;

#[global_allocator]
static HEAP: Arena<16> = Arena::empty();

unsafe extern "C" {
    static heap_start: u8;
    static heap_end: u8;
}

/// Prints the command line's fault and exits with code 2.
fn refuse(what: fmt::Arguments<'_>) -> ! {
    println!("{what}");
    semihosting::process::exit(2)
}

/// Hart 0, after reset.
#[unsafe(no_mangle)]
extern "C" fn main() -> ! {
    let (start, end) = ((&raw const heap_start).addr(), (&raw const heap_end).addr());
    // SAFETY: the linker script reserves the range for the heap; memory is zero at reset.
    unsafe { HEAP.hand_over(start, end - start) };
    let arguments = Arguments::read();
    arguments.get("weaken").map(weaken);
    let harts = arguments.number("harts", 1);
    let apart = match arguments.get("ends") {
        None | Some("leader") => false,
        Some("apart") => true,
        Some(other) => refuse(format_args!("ends={other}: leader or apart")),
    };
    let stream = arguments.get("stream");
    let order = if stream.is_some() { Order::Stamped } else { Order::Free };
    if !(1..start::HARTS_MOST - 9).contains(&harts) {
        refuse(format_args!("harts={harts} is out of range"));
    }
    let config = arguments.config(harts, order);
    let mut nic = match Nic::new(&config) {
        Ok(nic) => nic,
        Err(error) => refuse(format_args!("{error}")),
    };
    println!("tables: {} bytes", HEAP.taken());
    for comm in 0..config.communicators {
        create(&mut nic.leader, &mut nic.host, CommId(comm as u32), config.bins as u32);
    }
    start::mark::<{ start::SET_UP }>();
    let taken = HEAP.taken();
    let outcomes = match stream {
        Some(file) => play::run(nic, harts, apart, file),
        None => windows::run(nic, harts, apart, &arguments),
    };
    println!("heap during the run: {} bytes", HEAP.taken() - taken);
    if let Some(file) = arguments.get("out") {
        write(file, &outcomes);
    }
    println!("outcomes: {}", outcomes.len() / Outcome::RECORD_BYTES);
    #[cfg(dpamatch_faults)]
    println!("weakened: {}", dpa_model::CAME_BY.load(core::sync::atomic::Ordering::Relaxed));
    semihosting::process::exit(0)
}

fn weaken(place: &str) {
    #[cfg(dpamatch_faults)]
    let is_place = dpa_model::weaken(place);
    #[cfg(not(dpamatch_faults))]
    let is_place = false;
    if !is_place {
        refuse(format_args!("weaken={place}: this build knows no such ordering"));
    }
}

/// Creates a communicator's tables before the run.
fn create(leader: &mut Leader, host: &mut HostPort, comm: CommId, bins: u32) {
    let asked = host.create(comm, bins, Hints::default(), 0);
    while leader.round(1) == Round::Worked {}
    let mut offloaded = false;
    while let Some(event) = host.poll() {
        offloaded |= matches!(event, dpa_model::Event::Created { offloaded: true, .. });
    }
    if asked.is_err() || !offloaded {
        refuse(format_args!("no tables for communicator {}", comm.0));
    }
}

fn path(name: &str) -> CString {
    CString::new(name).unwrap_or_else(|_| refuse(format_args!("{name:?} is no file name")))
}

fn write(name: &str, bytes: &[u8]) {
    if semihosting::fs::write(path(name), bytes).is_err() {
        refuse(format_args!("cannot write {name}"));
    }
}
