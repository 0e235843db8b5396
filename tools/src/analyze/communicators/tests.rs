use super::*;
use crate::analyze::origin::{How, Members, Origin};

/// One program per rank with the origins that `origins` gives it. Each origin that names a new
/// communicator adds one, numbered from 4.
fn programs(ranks: u32, origins: impl Fn(u32) -> Vec<Origin>) -> Vec<Program> {
    let program = |rank| {
        let origins = origins(rank);
        let named = origins.iter().filter_map(|origin| match origin {
            Origin::Comm { new, .. } => *new,
            Origin::Group { .. } => None,
        });
        let last = named.max().unwrap_or(1);
        let comm = |local| LocalComm {
            number: 2 + u32::from(local),
            own_rank: None,
            size: None,
            made: true,
        };
        let comms = (0..=last).map(comm).collect();
        Program { rank, comms, origins, ..Program::default() }
    };
    (0..ranks).map(program).collect()
}

fn new(how: How, parent: LocalId, new: LocalId) -> Origin {
    Origin::Comm { how, parent: Some(parent), new: Some(new) }
}

fn members(comms: &Communicators, program: usize, local: LocalId) -> Vec<u32> {
    comms.all[comms.global(program, local) as usize].members.to_vec()
}

#[test]
fn splits_are_told_apart_by_colour_and_ordered_by_key() {
    let programs = programs(6, |rank| {
        let key = if rank == 4 { -1 } else { 0 };
        vec![new(How::Split { color: Some(rank % 2), key }, 0, 2), new(How::Dup, 2, 3)]
    });
    let comms = Communicators::resolve(&programs, 6);
    assert_eq!(members(&comms, 0, 2), [4, 0, 2]);
    assert_eq!(members(&comms, 5, 2), [1, 3, 5]);
    assert_eq!(members(&comms, 4, 3), [4, 0, 2], "a duplicate has the same ranks");
    assert_ne!(comms.global(0, 2), comms.global(0, 3));
    assert_eq!(comms.global(0, 3), comms.global(2, 3));
    assert_ne!(comms.global(0, 2), comms.global(1, 2));
    assert_eq!((comms.own_rank(0, 2), comms.own_rank(4, 2)), (1, 0));
    assert_eq!(comms.incomplete, 0);
}

#[test]
fn the_same_communicator_may_have_another_number_elsewhere() {
    // Rank 0 first creates a communicator of its own.
    let programs = programs(2, |rank| match rank {
        0 => vec![new(How::Dup, 1, 2), new(How::Dup, 0, 3)],
        _ => vec![new(How::Dup, 0, 2)],
    });
    let comms = Communicators::resolve(&programs, 2);
    assert_eq!(comms.global(0, 3), comms.global(1, 2));
    assert_eq!(members(&comms, 0, 2), [0]);
}

#[test]
fn groups_give_the_order() {
    let group = |how, new| Origin::Group { how, new };
    let programs = programs(5, |rank| {
        let mut origins = vec![
            group(Members::OfComm(0), 3),
            group(Members::Incl(3, vec![4, 0, 2]), 4),
            group(Members::RangeExcl(3, vec![[1, 3, 2]]), 5),
            group(Members::Intersection(4, 5), 6),
            group(Members::Difference(3, 6), 7),
            group(Members::Union(7, 4), 8),
        ];
        let is_member = [0, 2, 4].contains(&rank);
        let new = is_member.then_some(2);
        origins.push(Origin::Comm { how: How::Create { group: 6 }, parent: Some(0), new });
        origins.push(Origin::Comm { how: How::Create { group: 8 }, parent: Some(0), new: Some(3) });
        origins
    });
    let comms = Communicators::resolve(&programs, 5);
    assert_eq!(members(&comms, 2, 2), [4, 0, 2]);
    assert_eq!(members(&comms, 1, 3), [1, 3, 4, 0, 2]);
}

#[test]
fn grids_and_their_parts() {
    let programs = programs(6, |_| {
        vec![
            new(How::Cart { dims: vec![2, 3] }, 0, 2),
            new(How::CartSub { remain: vec![0, 1] }, 2, 3),
            new(How::CartSub { remain: vec![1, 0] }, 2, 4),
        ]
    });
    let comms = Communicators::resolve(&programs, 6);
    assert_eq!(members(&comms, 0, 2), [0, 1, 2, 3, 4, 5]);
    assert_eq!(members(&comms, 4, 3), [3, 4, 5], "a row");
    assert_eq!(members(&comms, 4, 4), [1, 4], "a column");
}

#[test]
fn a_reordered_grid_follows_the_ranks_that_were_reported() {
    let mut programs = programs(3, |_| vec![new(How::Cart { dims: vec![3] }, 0, 2)]);
    for (program, rank) in programs.iter_mut().zip([2, 0, 1]) {
        program.comms[2].own_rank = Some(rank);
    }
    let comms = Communicators::resolve(&programs, 3);
    assert_eq!(members(&comms, 0, 2), [1, 2, 0]);
    assert_eq!(comms.all[comms.global(0, 2) as usize].translation, Translation::Exact);
}

#[test]
fn inter_communicators_have_two_sides() {
    let programs = programs(4, |rank| {
        let side = rank / 2;
        let remote_leader = if side == 0 { 2 } else { 0 };
        let inter = How::Inter { local_leader: 0, peer: 0, remote_leader, tag: 9 };
        vec![
            new(How::Split { color: Some(side), key: 0 }, 0, 2),
            new(inter, 2, 3),
            new(How::Merge { high: side == 0 }, 3, 4),
        ]
    });
    let comms = Communicators::resolve(&programs, 4);
    let inter = comms.global(0, 3);
    assert!((1..4).all(|program| comms.global(program, 3) == inter));
    assert_eq!(comms.all[inter as usize].peer(0, 1), Some(3));
    assert_eq!(comms.all[inter as usize].peer(3, 1), Some(1));
    assert_eq!(comms.own_rank(3, 3), 1);
    assert_eq!(members(&comms, 0, 4), [2, 3, 0, 1]);
}

#[test]
fn what_was_not_recorded_is_assumed() {
    // Rank 2 recorded nothing, and a communicator without origin appears.
    let mut programs = programs(3, |rank| match rank {
        2 => Vec::new(),
        _ => vec![new(How::Split { color: Some(0), key: 0 }, 0, 2)],
    });
    for program in &mut programs {
        program.comms.push(LocalComm { number: 77, own_rank: None, size: None, made: false });
    }
    let comms = Communicators::resolve(&programs, 3);
    assert_eq!(comms.incomplete, 1);
    let split = &comms.all[comms.global(0, 2) as usize];
    assert_eq!((split.members.to_vec(), split.translation), (vec![0, 1], Translation::Assumed));
    let unknown = comms.global(2, 2);
    assert_eq!(unknown, comms.global(0, 3));
    assert_eq!(comms.all[unknown as usize].peer(0, 2), Some(2));
    // With the reported ranks, the members are known.
    for (program, rank) in programs.iter_mut().zip([1, 2, 0]) {
        program
            .comms
            .iter_mut()
            .filter(|comm| comm.number == 77)
            .for_each(|comm| comm.own_rank = Some(rank));
    }
    let comms = Communicators::resolve(&programs, 3);
    assert_eq!(members(&comms, 2, 2), [2, 0, 1]);
}
