//! Gathering at the root.

use super::tree::{Shape, Tree};
use super::{Call, Steps};

pub(super) fn run(name: &str, call: &Call<'_>, steps: &mut Steps) {
    match name {
        "binomial" => binomial(call, steps),
        "linear-sync" => synchronous(call, steps),
        _ => linear(call, steps),
    }
}

/// Each process passes on the blocks of its subtree.
fn binomial(call: &Call<'_>, steps: &mut Steps) {
    let own = call.place();
    let tree = Tree::new(Shape::Binomial, own, call.size);
    for &child in &tree.children {
        steps.recv(call.actual(child), subtree_bytes(call, child));
    }
    if let Some(parent) = tree.parent {
        steps.send(call.actual(parent), subtree_bytes(call, own));
    }
}

/// Bytes of all blocks of a process's binomial subtree; not for the root.
pub(super) fn subtree_bytes(call: &Call<'_>, place: usize) -> u64 {
    let size = (1 << place.trailing_zeros()).min(call.size - place);
    call.blocks(0, size)
}

/// The root asks each process with an empty message; an empty message ends each block.
fn synchronous(call: &Call<'_>, steps: &mut Steps) {
    let bytes = call.block(0);
    if !call.is_root() {
        steps.recv(call.root, 0);
        steps.send(call.root, bytes);
        return steps.send(call.root, 0);
    }
    for other in call.others() {
        steps.post(other, bytes);
        steps.send(other, 0);
        steps.post(other, 0);
        steps.wait(1);
    }
    steps.wait(0);
}

/// Empty blocks are not sent.
fn linear(call: &Call<'_>, steps: &mut Steps) {
    if !call.is_root() {
        if call.vector() > 0 {
            steps.send(call.root, call.vector());
        }
        return;
    }
    for other in call.others().filter(|&other| call.block(other) > 0) {
        steps.post(other, call.block(other));
    }
    steps.wait(0);
}
