//! Reductions at the root.

use super::halving::{Halving, Style};
use super::tree::{Shape, Tree};
use super::{Call, Library, Steps};

pub(super) fn run(library: Library, name: &str, call: &Call<'_>, steps: &mut Steps) {
    let enough = call.count >= call.power() as u64;
    match name {
        "rabenseifner" if enough => {
            let style = match library {
                Library::OpenMpi => Style::Halves,
                _ => Style::Pieces { odd_stays: false },
            };
            Halving::reduce(style, call, steps).gather_at_root(call, steps);
        }
        "rabenseifner" if library != Library::OpenMpi => up(Shape::Binomial, call, steps),
        "binomial" => up(Shape::Binomial, call, steps),
        "binary" => up(Shape::Binary, call, steps),
        "chain" => up(Shape::Chain, call, steps),
        "in-order-binary" => in_order(call, steps),
        _ => linear(call, steps),
    }
}

pub(super) fn linear(call: &Call<'_>, steps: &mut Steps) {
    if call.is_root() {
        (0..call.size)
            .rev()
            .filter(|&other| other != call.rank)
            .for_each(|other| steps.recv(other, call.vector()));
    } else {
        steps.send(call.root, call.vector());
    }
}

fn up(shape: Shape, call: &Call<'_>, steps: &mut Steps) {
    let tree = Tree::new(shape, call.place(), call.size);
    collect(&tree, |place| call.actual(place), call, steps);
}

/// One receive is posted ahead.
fn collect(tree: &Tree, actual: impl Fn(usize) -> usize, call: &Call<'_>, steps: &mut Steps) {
    for &child in &tree.children {
        steps.post(actual(child), call.vector());
        steps.wait(1);
    }
    steps.wait(0);
    if let Some(parent) = tree.parent {
        steps.send(actual(parent), call.vector());
    }
}

/// The last process collects, and sends the result to the root.
fn in_order(call: &Call<'_>, steps: &mut Steps) {
    collect(
        &Tree::in_order(call.rank, call.size),
        |rank| rank,
        call,
        steps,
    );
    let last = call.size - 1;
    match call.root {
        root if root == last => {}
        root if call.rank == last => steps.send(root, call.vector()),
        root if call.rank == root => steps.recv(last, call.vector()),
        _ => {}
    }
}
