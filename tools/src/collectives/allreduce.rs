//! Reductions everywhere.

use super::halving::{Halving, Style};
use super::{Call, Library, Steps, bcast, reduce, run as operation};
use crate::trace::CollectiveKind::{Bcast, Reduce};

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
        "ring" if call.count >= call.size as u64 => ring(call, steps),
        _ => doubling(call, steps),
    }
}

/// The even process of each surplus pair gives its vector to the odd one.
fn doubling(call: &Call<'_>, steps: &mut Steps) {
    let surplus = call.size - call.power();
    let (bytes, pair) = (call.vector(), call.rank ^ 1);
    let in_pair = call.rank < 2 * surplus;
    if in_pair && call.rank.is_multiple_of(2) {
        steps.send(pair, bytes);
        return steps.recv(pair, bytes);
    }
    if in_pair {
        steps.recv(pair, bytes);
    }
    let place = if in_pair { call.rank / 2 } else { call.rank - surplus };
    let mut distance = 1;
    while distance < call.power() {
        let peer = place ^ distance;
        let peer = if peer < surplus { 2 * peer + 1 } else { peer + surplus };
        steps.exchange((peer, bytes), (peer, bytes));
        distance *= 2;
    }
    if in_pair {
        steps.send(pair, bytes);
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
        let send = (call.ahead(1), piece(call.size - 1 + step));
        steps.exchange(send, (call.back(1), piece(step)));
    }
}
