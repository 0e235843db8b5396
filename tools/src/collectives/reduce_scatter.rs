//! Reductions whose result is scattered.

use super::{Call, Library, Steps, run as operation};
use dpamatch_traces::CollectiveKind::{Reduce, Scatterv};

pub(super) fn run(library: Library, name: &str, call: &Call<'_>, steps: &mut Steps) {
    match name {
        "halving" => halving(call, steps),
        "butterfly" => butterfly(call, steps),
        "pairwise" => {
            for step in 1..call.size {
                let (to, from) = (call.ahead(step), call.back(step));
                steps.exchange(to, call.block(to), from, call.block(call.rank));
            }
        }
        "ring" => ring(call, steps),
        _ => {
            let count = call.vector() / call.element;
            operation(library, &call.part(Reduce, count), steps);
            operation(library, &call.part_by_blocks(Scatterv), steps);
        }
    }
}

/// A block goes round and is reduced on the way to its process.
fn ring(call: &Call<'_>, steps: &mut Steps) {
    for step in 1..call.size {
        steps.post(call.back(1), call.block(call.back(step + 1)));
        steps.wait(1);
        steps.send(call.ahead(1), call.block(call.back(step)));
    }
    steps.wait(0);
}

/// The processes that stay: the odd one of each surplus pair, and the others. Gives the place of
/// this process, after the even ones sent their vector.
pub(super) fn fold(call: &Call<'_>, steps: &mut Steps) -> Option<usize> {
    let surplus = call.size - call.power();
    if call.rank >= 2 * surplus {
        return Some(call.rank - surplus);
    }
    if call.rank.is_multiple_of(2) {
        steps.send(call.rank + 1, call.vector());
        return None;
    }
    steps.recv(call.rank - 1, call.vector());
    Some(call.rank / 2)
}

pub(super) fn actual(call: &Call<'_>, place: usize) -> usize {
    let surplus = call.size - call.power();
    if place < surplus {
        2 * place + 1
    } else {
        place + surplus
    }
}

/// Bytes of the blocks at the places from `first` on; a pair's place has two blocks.
fn bytes(call: &Call<'_>, first: usize, end: usize) -> u64 {
    let surplus = call.size - call.power();
    let start = |place: usize| {
        if place < surplus {
            2 * place
        } else {
            place + surplus
        }
    };
    call.blocks(start(first), start(end) - start(first))
}

/// Halves the vector from the largest distance on. Empty messages are not sent.
fn halving(call: &Call<'_>, steps: &mut Steps) {
    let place = fold(call, steps);
    if let Some(place) = place {
        let (mut first, mut mask) = (0, call.power() / 2);
        while mask > 0 {
            let (lower, upper) = (
                bytes(call, first, first + mask),
                bytes(call, first + mask, first + 2 * mask),
            );
            let stays_low = place & mask == 0;
            let (send, recv) = if stays_low {
                (upper, lower)
            } else {
                (lower, upper)
            };
            let peer = actual(call, place ^ mask);
            steps.exchange_data(peer, send, peer, recv);
            if !stays_low {
                first += mask;
            }
            mask /= 2;
        }
    }
    if call.rank < 2 * (call.size - call.power()) {
        match place {
            None if call.block(call.rank) > 0 => steps.recv(call.rank + 1, call.block(call.rank)),
            Some(_) if call.block(call.rank - 1) > 0 => {
                steps.send(call.rank - 1, call.block(call.rank - 1));
            }
            _ => {}
        }
    }
}

/// Halves the vector from the smallest distance on; blocks end at mirrored places and then move to
/// their own.
fn butterfly(call: &Call<'_>, steps: &mut Steps) {
    let power = call.power();
    let surplus = call.size - power;
    let mirror = |place: usize| match power.ilog2() {
        0 => place,
        bits => place.reverse_bits() >> (usize::BITS - bits),
    };
    let Some(place) = fold(call, steps) else {
        return steps.recv(actual(call, mirror(call.rank / 2)), call.block(call.rank));
    };
    let (mut first, mut number) = (0, power / 2);
    let mut mask = 1;
    while mask < power {
        let (low, high) = (
            bytes(call, first, first + number),
            bytes(call, first + number, first + 2 * number),
        );
        let stays_low = place & mask == 0;
        let (send, recv) = if stays_low { (high, low) } else { (low, high) };
        let peer = actual(call, place ^ mask);
        steps.exchange(peer, send, peer, recv);
        if !stays_low {
            first += number;
        }
        number /= 2;
        mask *= 2;
    }
    let owner = actual(call, mirror(place));
    if mirror(place) < surplus {
        steps.send(owner - 1, call.block(owner - 1));
    }
    if owner != call.rank {
        steps.exchange(owner, call.block(owner), owner, call.block(call.rank));
    }
}
