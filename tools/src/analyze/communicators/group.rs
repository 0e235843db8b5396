//! The members of groups, and their order.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState as Fast;

use super::Resolver;
use crate::analyze::origin::{LocalId, Members};
use dpamatch_traces::{Group, GroupHow};

/// A group in the run. Groups with the same members in the same order have one number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) struct GroupId(u32);

impl GroupId {
    /// The group without members, which also stands for groups of unknown origin.
    pub(super) const EMPTY: Self = Self(0);
}

/// A call that makes a group. Its communicators and groups have the numbers of the run, so equal
/// calls of different ranks make equal groups.
type Call = GroupHow<u32, Vec<i32>, Vec<[i32; 3]>>;

struct Known {
    members: Arc<[u32]>,
    /// The place of each member, when it is first asked for.
    places: OnceCell<HashMap<u32, u32, Fast>>,
}

/// All groups of the run. Every rank makes its groups by itself, but the members are found once
/// for all ranks that make the same call.
pub(super) struct Groups {
    all: Vec<Known>,
    by_members: HashMap<Arc<[u32]>, GroupId, Fast>,
    by_call: HashMap<Call, GroupId, Fast>,
}

impl Groups {
    pub(super) fn new() -> Self {
        let mut groups = Self {
            all: Vec::new(),
            by_members: HashMap::default(),
            by_call: HashMap::default(),
        };
        groups.add([].into());
        groups
    }

    pub(super) fn members(&self, group: GroupId) -> &Arc<[u32]> {
        &self.all[group.0 as usize].members
    }

    /// The place of a world rank in the group, in constant time.
    pub(super) fn place(&self, group: GroupId, world: u32) -> Option<u32> {
        let Known { members, places } = &self.all[group.0 as usize];
        let places = places.get_or_init(|| {
            // Backwards: a damaged trace may have a member twice, and its first place counts.
            let places = (0..members.len() as u32).rev();
            places.map(|at| (members[at as usize], at)).collect()
        });
        places.get(&world).copied()
    }

    fn add(&mut self, members: Arc<[u32]>) -> GroupId {
        let next = GroupId(self.all.len() as u32);
        let number = *self.by_members.entry(members.clone()).or_insert(next);
        if number == next {
            let places = OnceCell::new();
            self.all.push(Known { members, places });
        }
        number
    }

    /// The group that this call makes; `make` finds its members at the first such call.
    fn made(&mut self, call: Call, make: impl FnOnce(&Self, &Call) -> Arc<[u32]>) -> GroupId {
        if let Some(&known) = self.by_call.get(&call) {
            return known;
        }
        let members = make(self, &call);
        let group = self.add(members);
        self.by_call.insert(call, group);
        group
    }

    /// The members of a group that is made of other groups.
    fn combine(&self, call: &Call) -> Arc<[u32]> {
        let of = |group: Group| &self.members(GroupId(group.0))[..];
        let within = |a: Group, b: Group, wanted: bool| {
            let members = of(a).iter().copied();
            members.filter(move |&it| self.place(GroupId(b.0), it).is_some() == wanted)
        };
        match *call {
            Call::OfComm(_) | Call::OfRemote(_) => self.members(GroupId::EMPTY).clone(),
            Call::Union(a, b) => of(a).iter().copied().chain(within(b, a, false)).collect(),
            Call::Intersection(a, b) => within(a, b, true).collect(),
            Call::Difference(a, b) => within(a, b, false).collect(),
            Call::Incl(group, ref ranks) => chosen(of(group), ranks.iter().copied()),
            Call::Excl(group, ref ranks) => others(of(group), ranks.iter().copied()),
            Call::RangeIncl(group, ref ranges) => chosen(of(group), in_ranges(ranges)),
            Call::RangeExcl(group, ref ranges) => others(of(group), in_ranges(ranges)),
        }
    }
}

impl Resolver<'_> {
    /// The group that a rank's call makes.
    pub(super) fn group(&mut self, program: usize, how: &Members) -> GroupId {
        let of = |group: Group| Group(self.group_of(program, group).0);
        let call = match how {
            Members::OfComm(comm) => return self.group_of_comm(program, *comm, false),
            Members::OfRemote(comm) => return self.group_of_comm(program, *comm, true),
            &Members::Union(a, b) => Call::Union(of(a), of(b)),
            &Members::Intersection(a, b) => Call::Intersection(of(a), of(b)),
            &Members::Difference(a, b) => Call::Difference(of(a), of(b)),
            Members::Incl(group, ranks) => Call::Incl(of(*group), ranks.clone()),
            Members::Excl(group, ranks) => Call::Excl(of(*group), ranks.clone()),
            Members::RangeIncl(group, ranges) => Call::RangeIncl(of(*group), ranges.clone()),
            Members::RangeExcl(group, ranges) => Call::RangeExcl(of(*group), ranges.clone()),
        };
        self.groups.made(call, Groups::combine)
    }

    /// The group that a rank knows by this number.
    pub(super) fn group_of(&self, program: usize, group: Group) -> GroupId {
        let known = self.group_handles[program].get(&group);
        known.copied().unwrap_or(GroupId::EMPTY)
    }

    /// A rank's own group of a communicator, or the other one.
    fn group_of_comm(&mut self, program: usize, comm: LocalId, other: bool) -> GroupId {
        let global = self.global(program, comm);
        let comm = &self.all[global as usize];
        let first = self
            .groups
            .made(Call::OfComm(global), |_, _| comm.members.clone());
        let Some(remote) = &comm.remote else {
            return first;
        };
        let rank = self.programs[program].rank;
        let inside = self.groups.place(first, rank).is_some();
        if inside == other {
            self.groups
                .made(Call::OfRemote(global), |_, _| remote.clone())
        } else {
            first
        }
    }
}

/// The ranks in ranges (first, last, stride). An invalid range is empty, and no range exceeds the
/// size of a group.
fn in_ranges(ranges: &[[i32; 3]]) -> impl Iterator<Item = i32> + '_ {
    ranges.iter().flat_map(|&[first, last, stride]| {
        let (first, last, stride) = (i64::from(first), i64::from(last), i64::from(stride));
        let count = if stride == 0 {
            0
        } else {
            ((last - first) / stride + 1).clamp(0, 1 << 24)
        };
        let count = if (last - first).signum() * stride.signum() < 0 {
            0
        } else {
            count
        };
        (0..count).map(move |step| (first + step * stride) as i32)
    })
}

fn chosen(group: &[u32], ranks: impl Iterator<Item = i32>) -> Arc<[u32]> {
    // A group has each member once: more ranks than members means a damaged trace.
    let ranks = ranks.take(group.len());
    ranks
        .filter_map(|rank| group.get(usize::try_from(rank).ok()?).copied())
        .collect()
}

fn others(group: &[u32], ranks: impl Iterator<Item = i32>) -> Arc<[u32]> {
    let mut stays = vec![true; group.len()];
    for rank in ranks {
        if let Some(place) = usize::try_from(rank)
            .ok()
            .and_then(|rank| stays.get_mut(rank))
        {
            *place = false;
        }
    }
    group
        .iter()
        .zip(stays)
        .filter(|(_, stays)| *stays)
        .map(|(&member, _)| member)
        .collect()
}
