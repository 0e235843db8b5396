//! Prefix reductions.

use super::{Call, Steps};

pub(super) fn run(name: &str, call: &Call<'_>, steps: &mut Steps) {
    let bytes = call.vector();
    if name == "chain" {
        if call.rank > 0 {
            steps.recv(call.rank - 1, bytes);
        }
        if call.rank + 1 < call.size {
            steps.send(call.rank + 1, bytes);
        }
        return;
    }
    let mut distance = 1;
    while distance < call.size {
        let peer = call.rank ^ distance;
        if peer < call.size {
            steps.exchange(peer, bytes, peer, bytes);
        }
        distance *= 2;
    }
}
