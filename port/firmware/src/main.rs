//! The card's side of dpamatch as a program for a RISC-V machine without an operating system.
//!
//! Hart 0 is the leader. Harts `1..harts` run one slice of each block each. Host and wire are on
//! the leader's hart, or with `ends=apart` on their own hart behind the workers.
//!
//! The command line, words of the form `name=value`:
//! - `stream=FILE` is played, `out=FILE` gets the outcomes;
//! - `order=free`: messages and commands are taken as they come, not as they were issued;
//! - `batch=N`: after each N operations the card does all its work;
//! - `warm=N`: observers start to count after N batches;
//! - `harts`, `handlers`, `ends=leader|apart`;
//! - `fast`, `removal`, `barrier`, `domains`, `early`, `book`, `shared`, `bins`, `receives`,
//!   `unexpected`, `queue`, `queues`, `comms`: see `NicConfig`;
//! - `weaken=PLACE=ORDERING` breaks an ordering, in builds that know faults.
#![no_std]
#![no_main]

extern crate alloc;

mod arguments;
mod play;
mod start;

use alloc::ffi::CString;
use alloc::vec::Vec;
use core::fmt;

use dpa_model::{Nic, Outcome, Round};
use dpamatch_player::{Arena, Player};
use semihosting::fs::File;
use semihosting::io::Read;
use semihosting::println;

use arguments::Arguments;
use play::Ends;

#[global_allocator]
static HEAP: Arena = Arena::empty(16);

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
    let apart = arguments.one_of("ends", ["leader", "apart"]) == 1;
    if !(1..start::HARTS_MOST).contains(&harts) {
        refuse(format_args!("harts={harts} is out of range"));
    }
    let (batch, warm) = (
        arguments.number("batch", usize::MAX),
        arguments.number("warm", 0),
    );
    if batch == 0 {
        refuse(format_args!("batch=0 is out of range"));
    }
    let config = arguments.config(harts);
    let Nic {
        mut leader,
        workers,
        host,
        sender,
    } = match Nic::new(&config) {
        Ok(nic) => nic,
        Err(error) => refuse(format_args!("{error}")),
    };
    println!("tables: {} bytes", HEAP.taken());
    let file = arguments.get("stream").unwrap_or_default();
    let Some(mut player) = Player::new(host, sender, &read(file)) else {
        refuse(format_args!("{file} is no stream"))
    };
    let created = player.create(config.bins as u32, &mut || {
        while leader.round(1) == Round::Worked {}
    });
    if let Err(error) = created {
        refuse(format_args!("{error}"));
    }
    start::mark::<{ start::SET_UP }>();
    let taken = HEAP.taken();
    let ends = Ends {
        player,
        batch,
        warm,
    };
    let player = play::run(&mut leader, workers, ends, harts, apart);
    println!("heap during the run: {} bytes", HEAP.taken() - taken);
    println!("sent on to software: {}", player.forwarded());
    if let Some(file) = arguments.get("out") {
        write(file, player.outcomes());
    }
    println!(
        "outcomes: {}",
        player.outcomes().len() / Outcome::RECORD_BYTES
    );
    #[cfg(dpamatch_faults)]
    println!(
        "weakened: {}",
        // ordering: a count, read when all harts have ended.
        dpa_model::CAME_BY.load(core::sync::atomic::Ordering::Relaxed)
    );
    semihosting::process::exit(0)
}

fn weaken(place: &str) {
    #[cfg(dpamatch_faults)]
    let is_place = dpa_model::weaken(place);
    #[cfg(not(dpamatch_faults))]
    let is_place = false;
    if !is_place {
        refuse(format_args!(
            "weaken={place}: this build knows no such ordering"
        ));
    }
}

fn path(name: &str) -> CString {
    CString::new(name).unwrap_or_else(|_| refuse(format_args!("{name:?} is no file name")))
}

fn read(name: &str) -> Vec<u8> {
    let failed = || -> ! { refuse(format_args!("cannot read {name}")) };
    let Ok(mut open) = File::open(path(name)) else {
        failed()
    };
    let Ok(length) = open.metadata().map(|data| data.len() as usize) else {
        failed()
    };
    let mut bytes = alloc::vec![0; length];
    if open.read_exact(&mut bytes).is_err() {
        failed();
    }
    bytes
}

fn write(name: &str, bytes: &[u8]) {
    if semihosting::fs::write(path(name), bytes).is_err() {
        refuse(format_args!("cannot write {name}"));
    }
}
