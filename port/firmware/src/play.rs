//! Feeds a recorded stream in exactly its order.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::sync::atomic::AtomicPtr;
use core::sync::atomic::Ordering::{Acquire, Release};

use dpa_model::{Feeder, Leader, Nic, Operation, Outcome, Round};
use semihosting::fs::File;
use semihosting::io::Read;
use semihosting::println;

use crate::roles::{Role, assign, ends_are_done, stop_workers};
use crate::software::Software;
use crate::start::{COUNT_FROM, COUNT_TO, mark, start_harts, wait};

fn read(file: &str) -> Vec<Operation> {
    let failed = || -> ! { crate::refuse(format_args!("cannot read {file}")) };
    let Ok(mut open) = File::open(crate::path(file)) else { failed() };
    let Ok(length) = open.metadata().map(|data| data.len() as usize) else { failed() };
    let mut bytes = alloc::vec![0; length];
    let mut filled = 0;
    while filled < length {
        match open.read(&mut bytes[filled..]) {
            Ok(0) | Err(_) => failed(),
            Ok(count) => filled += count,
        }
    }
    let (records, rest) = bytes.as_chunks();
    let operations: Option<Vec<Operation>> = records.iter().map(Operation::from_record).collect();
    match operations {
        Some(operations) if rest.is_empty() => operations,
        _ => crate::refuse(format_args!("{file} is no stream")),
    }
}

/// Feeds the stream and keeps its outcomes.
struct Player {
    feeder: Feeder,
    software: Software,
    operations: Vec<Operation>,
    outcomes: Vec<u8>,
}

impl Player {
    /// Feeds the whole stream; `wait` runs the NIC, or waits for it.
    fn play(&mut self, mut wait: impl FnMut()) {
        for index in 0..self.operations.len() {
            loop {
                match self.feeder.try_issue(&self.operations[index]) {
                    Ok(true) => break,
                    Ok(false) => {
                        wait();
                        self.collect();
                    }
                    Err(error) => crate::refuse(format_args!("operation {index}: {error}")),
                }
            }
        }
        while !self.feeder.try_flush() {
            wait();
            self.collect();
        }
        // The flush completes after every command; messages may still be on their way.
        while !self.feeder.is_settled() || self.dealt_with() < self.feeder.arrivals() {
            wait();
            self.collect();
        }
        wait();
        self.collect();
        for recv in self.feeder.posted() {
            self.note(Outcome::Posted { recv });
        }
        let unexpected: Vec<_> = self.feeder.unexpected().collect();
        for (msg, _) in unexpected {
            self.note(Outcome::Unexpected { msg });
        }
    }

    fn dealt_with(&self) -> u64 {
        self.feeder.host.arrivals().1
    }

    fn note(&mut self, outcome: Outcome) {
        self.outcomes.extend_from_slice(&outcome.to_record());
    }

    fn collect(&mut self) {
        while let Some(event) = self.feeder.host.poll() {
            let Some(event) = self.software.digest(&mut self.feeder.host, event) else { continue };
            match self.feeder.note(event) {
                Ok(Some(outcome)) => self.note(outcome),
                Ok(None) => {}
                Err(error) => crate::refuse(format_args!("{error}")),
            }
        }
    }
}

static PLAYER: AtomicPtr<Player> = AtomicPtr::new(core::ptr::null_mut());

/// Plays the stream in `file`; returns the outcomes.
pub(crate) fn run(nic: Nic, harts: usize, apart: bool, file: &str) -> Vec<u8> {
    let Nic { mut leader, workers, host, sender } = nic;
    for worker in workers {
        assign(worker.index(), Role::Worker(worker));
    }
    let operations = read(file);
    let outcomes = Vec::with_capacity(2 * operations.len() * Outcome::RECORD_BYTES);
    let software = Software::default();
    let mut player = Player { feeder: Feeder::new(host, sender), software, operations, outcomes };
    mark::<COUNT_FROM>();
    if apart {
        let end = move || {
            player.play(wait);
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
        player.play(|| settle(&mut leader, harts));
    }
    mark::<COUNT_TO>();
    stop_workers();
    println!("sent on to software: {}", player.software.forwarded());
    core::mem::forget((leader, player.feeder, player.software));
    player.outcomes
}

/// Runs blocks until the NIC is idle.
fn settle(leader: &mut Leader, harts: usize) {
    while leader.round(harts) == Round::Worked {}
}
