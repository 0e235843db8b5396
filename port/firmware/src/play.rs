//! Plays a recorded stream, with the ends on the leader's hart or on one of their own.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::sync::atomic::AtomicPtr;
use core::sync::atomic::Ordering::{Acquire, Release};

use dpa_model::{Leader, Nic, Round};
use dpamatch_player::Player;
use semihosting::fs::File;
use semihosting::io::Read;
use semihosting::println;

use crate::roles::{Role, assign, ends_are_done, stop_workers};
use crate::start::{COUNT_FROM, COUNT_TO, mark, start_harts, wait};

fn read(file: &str) -> Vec<u8> {
    let failed = || -> ! { crate::refuse(format_args!("cannot read {file}")) };
    let Ok(mut open) = File::open(crate::path(file)) else { failed() };
    let Ok(length) = open.metadata().map(|data| data.len() as usize) else { failed() };
    let mut bytes = alloc::vec![0; length];
    if open.read_exact(&mut bytes).is_err() {
        failed();
    }
    bytes
}

fn play(player: &mut Player, mut wait: impl FnMut()) {
    if let Err(error) = player.play(&mut wait) {
        crate::refuse(format_args!("{error}"));
    }
}

static PLAYER: AtomicPtr<Player> = AtomicPtr::new(core::ptr::null_mut());

/// Plays the stream in `file`; returns the outcomes.
pub(crate) fn run(nic: Nic, harts: usize, apart: bool, file: &str) -> Vec<u8> {
    let Nic { mut leader, workers, host, sender } = nic;
    for worker in workers {
        assign(worker.index(), Role::Worker(worker));
    }
    let Some(mut player) = Player::new(host, sender, &read(file)) else {
        crate::refuse(format_args!("{file} is no stream"))
    };
    mark::<COUNT_FROM>();
    if apart {
        let end = move || {
            play(&mut player, wait);
            PLAYER.store(Box::into_raw(Box::new(player)), Release);
        };
        assign(harts, Role::End(Box::new(end)));
        start_harts(harts + 1);
        while !ends_are_done(1) {
            if leader.round(harts) == Round::Idle {
                wait();
            }
        }
        // SAFETY: the end made it from a box and is done; the swap gives it out once.
        player = *unsafe { Box::from_raw(PLAYER.swap(core::ptr::null_mut(), Acquire)) };
    } else {
        start_harts(harts);
        play(&mut player, || settle(&mut leader, harts));
    }
    mark::<COUNT_TO>();
    stop_workers();
    println!("sent on to software: {}", player.forwarded());
    let outcomes = player.outcomes().to_vec();
    core::mem::forget((leader, player));
    outcomes
}

/// Runs blocks until the NIC is idle.
fn settle(leader: &mut Leader, harts: usize) {
    while leader.round(harts) == Round::Worked {}
}
