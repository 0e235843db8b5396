//! dpamatch as a static library for programs in C, which gives it one range of memory. With
//! `--cfg dpamatch_card` it is the card's side, otherwise the host's end. `dpamatch_card.h` and
//! `dpamatch_host.h` document the functions.
#![no_std]

extern crate alloc;

#[cfg(dpamatch_card)]
mod card;
#[cfg(not(dpamatch_card))]
mod host;

use dpamatch_player::Arena;

/// Every allocation begins a cache line, since the card writes back whole lines.
#[global_allocator]
static ARENA: Arena = Arena::empty(64);

unsafe extern "C" {
    fn dpamatch_panicked() -> !;
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    // SAFETY: the program defines the function, which does not return.
    unsafe { dpamatch_panicked() }
}
