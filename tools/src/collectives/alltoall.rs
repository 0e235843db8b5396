//! All to all.

use super::{Call, Steps};
use dpamatch_traces::CollectiveKind::Alltoallv;

/// Most requests of MPICH's scattered algorithm at a time.
const THROTTLE: usize = 32;

pub(super) fn run(name: &str, call: &Call<'_>, steps: &mut Steps) {
    match name {
        "bruck" => bruck(call, 2, steps),
        "bruck-4" => bruck(call, 4, steps),
        "pairwise-xor" if call.size.is_power_of_two() => {
            for step in 1..call.size {
                exchange(call, call.rank ^ step, call.rank ^ step, steps);
            }
        }
        "pairwise" | "pairwise-xor" | "exchange" => {
            // Open MPI sends a process's own block, too, in MPI_Alltoallv.
            let first = usize::from(name != "pairwise" || call.kind != Alltoallv);
            (first..call.size)
                .for_each(|step| exchange(call, call.ahead(step), call.back(step), steps));
        }
        "scattered" => scattered(call, THROTTLE, steps),
        _ => scattered(call, call.size, steps),
    }
}

/// `MPI_Alltoallv` leaves out empty messages.
fn exchange(call: &Call<'_>, to: usize, from: usize, steps: &mut Steps) {
    steps.exchange_data(to, call.outgoing(to), from, call.block(from));
}

/// In the i-th round each process passes on the blocks whose distance has a digit i other than 0;
/// blocks of equal digits travel together.
fn bruck(call: &Call<'_>, radix: usize, steps: &mut Steps) {
    let mut unit = 1;
    while unit < call.size {
        for digit in (1..radix).take_while(|digit| digit * unit < call.size) {
            let number = (1..call.size)
                .filter(|block| block / unit % radix == digit)
                .count();
            let bytes = call.block(0) * number as u64;
            steps.post(call.back(digit * unit), bytes);
            steps.send(call.ahead(digit * unit), bytes);
        }
        steps.wait(0);
        unit *= radix;
    }
}

/// Posts and sends to all others, in batches. The library copies a process's own block.
fn scattered(call: &Call<'_>, at_once: usize, steps: &mut Steps) {
    for first in (0..call.size).step_by(at_once) {
        let part = || (first..(first + at_once).min(call.size)).filter(|&step| step > 0);
        for from in part()
            .map(|step| call.ahead(step))
            .filter(|&from| call.block(from) > 0)
        {
            steps.post(from, call.block(from));
        }
        for to in part()
            .map(|step| call.back(step))
            .filter(|&to| call.outgoing(to) > 0)
        {
            steps.send(to, call.outgoing(to));
        }
        steps.wait(0);
    }
}
