//! The host's end: host and wire play a stream on the rings of a NIC that never runs. The program
//! moves entries between these rings and the card's.

use alloc::boxed::Box;
use alloc::string::String;
use core::ffi::c_void;

use dpa_model::{BusMap, Leader, Nic, NicConfig};
use dpamatch_player::Player;

use crate::ARENA;

/// Rings and player. The program asks for regions while the player runs, so no reference to the
/// whole ever exists.
struct Host {
    leader: Leader,
    player: Player,
    error: String,
}

/// Bytes of the library, which stay as they are.
#[repr(C)]
#[derive(Clone, Copy)]
struct Bytes {
    start: *const u8,
    length: usize,
}

impl Bytes {
    fn new(bytes: &[u8]) -> Self {
        Self {
            start: bytes.as_ptr(),
            length: bytes.len(),
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn dpamatch_host_new(
    arena: *mut c_void,
    bytes: usize,
    stream: Bytes,
    queue: u32,
    eager_limit: u32,
    unexpected: u32,
) -> *mut Host {
    // SAFETY: the caller gives the range away.
    unsafe { ARENA.hand_over(arena.expose_provenance(), bytes) };
    // SAFETY: the caller's promise.
    let stream = unsafe { core::slice::from_raw_parts(stream.start, stream.length) };
    let queue = queue as usize;
    let config = NicConfig {
        handlers: 1,
        workers: 1,
        receives: 1,
        bins: 1,
        communicators: 1,
        completion_queues: 1,
        completion_queue: queue,
        bounce_buffers: queue,
        eager_limit: eager_limit as usize,
        unexpected: unexpected as usize,
        unexpected_buffers: 0,
        command_queue: queue,
        completion_ring: queue,
        ..NicConfig::default()
    };
    let Ok(Nic {
        leader,
        host,
        sender,
        ..
    }) = Nic::new(&config)
    else {
        return core::ptr::null_mut();
    };
    Player::new(host, sender, stream).map_or(core::ptr::null_mut(), |player| {
        Box::into_raw(Box::new(Host {
            leader,
            player,
            error: String::new(),
        }))
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn dpamatch_host_map(host: *const Host, map: &mut BusMap) {
    // SAFETY: the leader is only read.
    *map = unsafe { &(*host).leader }.bus();
}

#[unsafe(no_mangle)]
unsafe extern "C" fn dpamatch_host_region(host: *const Host, key: u64) -> u64 {
    // SAFETY: the leader is only read. One thread uses all parts, and the player waits.
    unsafe { (*host).leader.region(key) }.unwrap_or(0)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn dpamatch_host_play(
    host: *mut Host,
    bins: u32,
    wait: extern "C" fn(),
) -> Bytes {
    // SAFETY: calls during `wait` use the leader alone.
    let (player, error) = unsafe { (&mut (*host).player, &mut (*host).error) };
    let mut wait = || wait();
    let played = player
        .create(bins, &mut wait)
        .and_then(|()| player.play(&mut wait));
    *error = played.err().unwrap_or_default();
    Bytes::new(error.as_bytes())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn dpamatch_host_outcomes(host: *const Host) -> Bytes {
    // SAFETY: no other call runs.
    Bytes::new(unsafe { &(*host).player }.outcomes())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn dpamatch_host_was_taken(host: *const Host, arrival: u64) -> bool {
    // SAFETY: no other call runs.
    !unsafe { &(*host).player }.feeder.is_unexpected(arrival)
}
