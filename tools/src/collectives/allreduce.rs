//! Reductions everywhere.

use super::halving::{Halving, Style};
use super::reduce_scatter::{actual, fold};
use super::{Call, Library, Steps, allgather, bcast, reduce, run as operation};
use dpamatch_traces::CollectiveKind::{Allgatherv, Bcast, Reduce};

pub(super) fn run(library: Library, name: &str, call: &Call<'_>, steps: &mut Steps) {
    let enough = call.count >= call.power() as u64;
    match name {
        "rabenseifner" if enough => {
            let style = match library {
                Library::OpenMpi => Style::Halves,
                _ => Style::Pieces { odd_stays: true },
            };
            Halving::reduce(style, call, steps).gather(call, steps);
        }
        "rabenseifner" if library == Library::OpenMpi => {
            steps.kind(Reduce);
            reduce::linear(call, steps);
            steps.kind(Bcast);
            bcast::linear(call, steps);
        }
        "reduce-bcast" => {
            operation(library, &call.part(Reduce, call.count), steps);
            operation(library, &call.part(Bcast, call.count), steps);
        }
        "ring" if library != Library::OpenMpi => long_ring(library, call, steps),
        "ring" if call.count >= call.size as u64 => ring(call, steps),
        _ => doubling(call, steps),
    }
}

/// The even process of each surplus pair gives its vector to the odd one.
fn doubling(call: &Call<'_>, steps: &mut Steps) {
    let bytes = call.vector();
    let place = fold(call, steps);
    let mut distance = 1;
    while let Some(place) = place.filter(|_| distance < call.power()) {
        let peer = actual(call, place ^ distance);
        steps.exchange(peer, bytes, peer, bytes);
        distance *= 2;
    }
    if call.rank < 2 * (call.size - call.power()) {
        let pair = call.rank ^ 1;
        if place.is_some() {
            steps.send(pair, bytes)
        } else {
            steps.recv(pair, bytes)
        }
    }
}

/// Pieces go round twice: reduced on the way, then as results.
fn ring(call: &Call<'_>, steps: &mut Steps) {
    let (each, more) = (call.count / call.size as u64, call.count % call.size as u64);
    let piece = |back: usize| {
        let number = call.back(back % call.size) as u64;
        (each + u64::from(number < more)) * call.element
    };
    for step in 1..call.size {
        steps.post(call.back(1), piece(step));
        steps.wait(1);
        steps.send(call.ahead(1), piece(step - 1));
    }
    steps.wait(0);
    for step in 0..call.size - 1 {
        let sent = piece(call.size - 1 + step);
        steps.exchange(call.ahead(1), sent, call.back(1), piece(step));
    }
}

/// As [`ring`] with pieces as long as possible, so that the last may be empty.
fn long_ring(library: Library, call: &Call<'_>, steps: &mut Steps) {
    let each = call.count.div_ceil(call.size as u64);
    let piece = |rank: usize| each.min(call.count.saturating_sub(rank as u64 * each));
    for step in 1..call.size {
        let bytes = |back: usize| piece(call.back(back)) * call.element;
        steps.exchange(call.ahead(1), bytes(step), call.back(1), bytes(step + 1));
    }
    steps.kind(Allgatherv);
    let counts: Vec<u32> = (0..call.size).map(|rank| piece(rank) as u32).collect();
    allgather::run(
        library,
        "pipelined-ring",
        &Call {
            counts: &counts,
            ..*call
        },
        steps,
    );
}
