//! Gathering everywhere.

use super::{Call, Library, Steps, run as operation};
use dpamatch_traces::CollectiveKind::{Bcast, Gatherv};

pub(super) fn run(library: Library, name: &str, call: &Call<'_>, steps: &mut Steps) {
    match name {
        "doubling" if call.size.is_power_of_two() => {
            doubling(
                call,
                call.rank,
                |first, end| call.blocks(first, end - first),
                steps,
            );
        }
        // Open MPI: recursive doubling among other numbers of processes.
        "bruck" | "doubling" => bruck(call, steps),
        "neighbor" if call.size.is_multiple_of(2) => neighbor(call, steps),
        "ring" | "neighbor" => ring(call, call.rank, |block| call.block(block), steps),
        "pipelined-ring" => pipelined_ring(call, steps),
        "exchange" => {
            let other = 1 - call.rank;
            steps.exchange(other, call.block(call.rank), other, call.block(other));
        }
        "gatherv-bcast" => {
            operation(library, &call.part_by_blocks(Gatherv), steps);
            // All blocks are one element of a derived datatype.
            operation(
                library,
                &Call {
                    element: call.vector(),
                    ..call.part(Bcast, 1)
                },
                steps,
            );
        }
        _ => {
            call.others()
                .for_each(|other| steps.post(other, call.block(other)));
            call.others()
                .for_each(|other| steps.send(other, call.block(call.rank)));
            steps.wait(0);
        }
    }
}

/// Trees of processes double: each exchanges with its partner what their trees hold. `own` is this
/// process's place and `bytes` gives the bytes of places from the first to before the second. If
/// the last tree is incomplete, those without a partner get the data inside their own tree.
pub(super) fn doubling(
    call: &Call<'_>,
    own: usize,
    bytes: impl Fn(usize, usize) -> u64,
    steps: &mut Steps,
) {
    let mut mask = 1;
    while mask < call.size {
        let start = |place: usize| place & !(mask - 1);
        let held = |start: usize| bytes(start, (start + mask).min(call.size));
        let peer = own ^ mask;
        let (mine, theirs) = (start(own), start(peer));
        if peer < call.size {
            let to = call.actual(peer);
            steps.exchange(to, held(mine), to, held(theirs));
        }
        if theirs + mask > call.size {
            let complete = call.size.saturating_sub(mine + mask);
            let mut half = mask / 2;
            while half > 0 {
                let peer = own ^ half;
                let end = (own & !(2 * half - 1)) + complete;
                if own < peer && own < end && peer >= end {
                    steps.send(call.actual(peer), held(theirs));
                } else if peer < own && peer < end && own >= end {
                    steps.recv(call.actual(peer), held(theirs));
                }
                half /= 2;
            }
        }
        mask *= 2;
    }
}

/// Each block goes round. `own` is this process's place, `bytes` the bytes of a place's block.
pub(super) fn ring(call: &Call<'_>, own: usize, bytes: impl Fn(usize) -> u64, steps: &mut Steps) {
    let place = |back: usize| (own + call.size - back) % call.size;
    for step in 1..call.size {
        steps.exchange(
            call.ahead(1),
            bytes(place(step - 1)),
            call.back(1),
            bytes(place(step)),
        );
    }
}

/// A ring in which blocks of more than 32 KiB travel in pieces of that size.
fn pipelined_ring(call: &Call<'_>, steps: &mut Steps) {
    const PIECE_BYTES: u64 = 32_768;
    let longest = (0..call.size)
        .map(|rank| call.block(rank))
        .max()
        .unwrap_or(0);
    let piece = match longest {
        0..=PIECE_BYTES => longest,
        _ => (PIECE_BYTES / call.element).max(1) * call.element,
    };
    // The blocks that pass through a process, from this one back to that before the last.
    let pieces = |first: usize| {
        let blocks = (0..call.size - 1).map(move |step| (first + call.size - step) % call.size);
        blocks.flat_map(move |rank| {
            let block = call.block(rank);
            let number = block.div_ceil(piece).max(1);
            (0..number).map(move |at| piece.min(block - at * piece))
        })
    };
    let (mut sent, mut received) = (pieces(call.rank), pieces(call.back(1)));
    loop {
        match (sent.next(), received.next()) {
            (None, None) => return,
            (send, recv) => {
                let (send, recv) = (send.unwrap_or(0), recv.unwrap_or(0));
                steps.exchange_data(call.ahead(1), send, call.back(1), recv);
            }
        }
    }
}

fn bruck(call: &Call<'_>, steps: &mut Steps) {
    let mut distance = 1;
    while distance < call.size {
        let number = distance.min(call.size - distance);
        let (to, from) = (call.back(distance), call.ahead(distance));
        let sent = call.blocks(call.rank, number);
        steps.exchange(to, sent, from, call.blocks(from, number));
        distance *= 2;
    }
}

/// An even number of processes exchanges with its two neighbours in turn, two blocks at a time.
fn neighbor(call: &Call<'_>, steps: &mut Steps) {
    let even = call.rank.is_multiple_of(2);
    let neighbors = if even {
        [call.ahead(1), call.back(1)]
    } else {
        [call.back(1), call.ahead(1)]
    };
    let (first, own) = (neighbors[0], call.block(call.rank));
    steps.exchange(first, own, first, call.block(first));
    let mut send = if even { call.rank } else { first };
    let mut latest = [send; 2];
    for step in 1..call.size / 2 {
        let turn = step % 2;
        let by = if even == (turn == 0) {
            2
        } else {
            call.size - 2
        };
        latest[turn] = (latest[turn] + by) % call.size;
        let peer = neighbors[turn];
        steps.exchange(
            peer,
            call.blocks(send, 2),
            peer,
            call.blocks(latest[turn], 2),
        );
        send = latest[turn];
    }
}
