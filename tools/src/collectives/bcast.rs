//! Broadcasts.

use super::allgather::{doubling, ring};
use super::tree::{Shape, Tree};
use super::{Call, Library, Steps};

pub(super) fn run(library: Library, name: &str, call: &Call<'_>, steps: &mut Steps) {
    match name {
        "binomial" if library == Library::OpenMpi => down(Shape::HighBinomial, call, steps),
        "binomial" => down(Shape::Binomial, call, steps),
        "binary" => down(Shape::Binary, call, steps),
        "knomial" => down(Shape::Knomial, call, steps),
        "kary-2" => down(Shape::Kary(2), call, steps),
        "kary-4" => down(Shape::Kary(4), call, steps),
        "pipelined-kary-2" => pipelined(call, steps),
        "chain" => down(Shape::Chain, call, steps),
        "split-binary" => split_binary(call, steps),
        // Open MPI splits at elements, and scatters only if each process gets one.
        _ if name == "linear" || library == Library::OpenMpi && call.count < call.size as u64 => {
            linear(call, steps);
        }
        _ => scatter_gather(library, name, call, steps),
    }
}

pub(super) fn linear(call: &Call<'_>, steps: &mut Steps) {
    if call.is_root() {
        call.others()
            .for_each(|other| steps.send(other, call.vector()));
    } else {
        steps.recv(call.root, call.vector());
    }
}

fn down(shape: Shape, call: &Call<'_>, steps: &mut Steps) {
    let tree = Tree::new(shape, call.place(), call.size);
    if let Some(parent) = tree.parent {
        steps.recv(call.actual(parent), call.vector());
    }
    let mut children = tree.children;
    if shape == Shape::Binomial {
        children.reverse();
    }
    children
        .iter()
        .for_each(|&child| steps.send(call.actual(child), call.vector()));
}

/// Pieces of 8 KiB, the first perhaps shorter, go down a tree. Three receives are posted ahead.
fn pipelined(call: &Call<'_>, steps: &mut Steps) {
    const PIECE_BYTES: u64 = 8192;
    let tree = Tree::new(Shape::Kary(2), call.place(), call.size);
    let parent = tree.parent.map(|parent| call.actual(parent));
    let number = call.vector().div_ceil(PIECE_BYTES);
    let piece = |at: u64| match at {
        0 => call.vector() - (number - 1) * PIECE_BYTES,
        _ => PIECE_BYTES,
    };
    let ahead = number.min(3);
    (0..ahead).for_each(|at| {
        parent
            .into_iter()
            .for_each(|from| steps.post(from, piece(at)))
    });
    for at in 0..number {
        match parent {
            Some(_) if at < ahead => steps.wait((ahead - 1 - at) as u32),
            Some(from) => steps.recv(from, piece(at)),
            None => {}
        }
        tree.children
            .iter()
            .for_each(|&child| steps.send(call.actual(child), piece(at)));
    }
}

/// Each half of the vector goes down one half of a binary tree; then pairs of processes exchange
/// their halves.
fn split_binary(call: &Call<'_>, steps: &mut Steps) {
    let halves = [call.count.div_ceil(2), call.count / 2].map(|count| count * call.element);
    if halves[1] == 0 {
        return down(Shape::Chain, call, steps);
    }
    let own = call.place();
    let tree = Tree::new(Shape::Binary, own, call.size);
    let mine = (own + 1) % 2;
    match tree.parent {
        None => {
            for (&child, half) in tree.children.iter().zip(halves) {
                steps.send(call.actual(child), half);
            }
        }
        Some(parent) => {
            steps.recv(call.actual(parent), halves[mine]);
            tree.children
                .iter()
                .for_each(|&child| steps.send(call.actual(child), halves[mine]));
        }
    }
    let last = call.size - 1;
    if call.size.is_multiple_of(2) && own == 0 {
        steps.send(call.actual(last), halves[1]);
    } else if call.size.is_multiple_of(2) && own == last {
        steps.recv(call.root, halves[1]);
    } else if own > 0 {
        let pair = if mine == 0 {
            call.ahead(1)
        } else {
            call.back(1)
        };
        steps.exchange(pair, halves[mine], pair, halves[1 - mine]);
    }
}

/// Scatters equal pieces along a binomial tree, and gathers them everywhere.
fn scatter_gather(library: Library, name: &str, call: &Call<'_>, steps: &mut Steps) {
    let (count, element) = match library {
        Library::OpenMpi => (call.count, call.element),
        _ => (call.vector(), 1),
    };
    let piece = count.div_ceil(call.size as u64);
    let bytes = |first: usize, end: usize| {
        let reached = |end: usize| (end as u64 * piece).min(count);
        (reached(end.min(call.size)) - reached(first)) * element
    };
    let own = call.place();
    let tree = Tree::new(Shape::Binomial, own, call.size);
    let subtree = |child: usize| bytes(child, child + (1 << child.trailing_zeros()));
    if let Some(parent) = tree.parent
        && subtree(own) > 0
    {
        steps.recv(call.actual(parent), subtree(own));
    }
    for &child in tree
        .children
        .iter()
        .rev()
        .filter(|&&child| subtree(child) > 0)
    {
        steps.send(call.actual(child), subtree(child));
    }
    match name {
        "scatter-ring" => ring(call, own, |block| bytes(block, block + 1), steps),
        _ => doubling(call, own, bytes, steps),
    }
}
