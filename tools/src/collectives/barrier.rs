//! Barriers: empty messages.

use super::tree::{Shape, Tree};
use super::{Call, Op, Steps};

pub(super) fn run(name: &str, call: &Call<'_>, steps: &mut Steps) {
    match name {
        "dissemination" => dissemination(call, steps),
        "doubling" => doubling(call, steps),
        "tree" => tree(call, steps),
        _ => linear(call, steps),
    }
}

fn dissemination(call: &Call<'_>, steps: &mut Steps) {
    let mut distance = 1;
    while distance < call.size {
        steps.exchange(call.ahead(distance), 0, call.back(distance), 0);
        distance *= 2;
    }
}

/// The processes beyond a power of two each have a partner below it.
fn doubling(call: &Call<'_>, steps: &mut Steps) {
    let power = call.power();
    if call.rank >= power {
        return steps.exchange(call.rank - power, 0, call.rank - power, 0);
    }
    let extra = Some(call.rank + power).filter(|&extra| extra < call.size);
    if let Some(extra) = extra {
        steps.recv(extra, 0);
    }
    let mut distance = 1;
    while distance < power {
        let peer = call.rank ^ distance;
        steps.exchange(peer, 0, peer, 0);
        distance *= 2;
    }
    if let Some(extra) = extra {
        steps.send(extra, 0);
    }
}

fn tree(call: &Call<'_>, steps: &mut Steps) {
    let tree = Tree::new(Shape::Binomial, call.rank, call.size);
    tree.children.iter().for_each(|&child| steps.recv(child, 0));
    if let Some(parent) = tree.parent {
        steps.send(parent, 0);
        steps.recv(parent, 0);
    }
    tree.children
        .iter()
        .rev()
        .for_each(|&child| steps.send(child, 0));
}

/// Process 0 accepts the others in any order.
fn linear(call: &Call<'_>, steps: &mut Steps) {
    if call.rank > 0 {
        steps.send(0, 0);
        return steps.recv(0, 0);
    }
    call.others().for_each(|_| {
        steps.ops.push(Op::Post {
            from: None,
            bytes: 0,
        })
    });
    steps.wait(0);
    call.others().for_each(|other| steps.send(other, 0));
}
