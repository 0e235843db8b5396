//! Scattering from the root.

use super::gather::subtree_bytes;
use super::tree::{Shape, Tree};
use super::{Call, Steps};

pub(super) fn run(name: &str, call: &Call<'_>, steps: &mut Steps) {
    if name == "binomial" {
        return binomial(call, steps);
    }
    if call.is_root() {
        for other in call.others().filter(|&other| call.block(other) > 0) {
            steps.send(other, call.block(other));
        }
    } else if call.vector() > 0 {
        steps.recv(call.root, call.vector());
    }
}

/// Each process gets the blocks of its subtree.
fn binomial(call: &Call<'_>, steps: &mut Steps) {
    let own = call.place();
    let tree = Tree::new(Shape::Binomial, own, call.size);
    if let Some(parent) = tree.parent {
        steps.recv(call.actual(parent), subtree_bytes(call, own));
    }
    for &child in tree.children.iter().rev() {
        steps.send(call.actual(child), subtree_bytes(call, child));
    }
}
