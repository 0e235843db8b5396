//! The members of groups, and their order.

use std::sync::Arc;

use super::Resolver;
use crate::analyze::origin::Members;
use dpamatch_traces::Group;

impl Resolver<'_> {
    pub(super) fn group(&mut self, program: usize, how: &Members) -> Arc<[u32]> {
        let of = |resolver: &Self, group: Group| -> Arc<[u32]> {
            resolver.groups[program]
                .get(&group)
                .cloned()
                .unwrap_or_default()
        };
        match how {
            Members::OfComm(comm) | Members::OfRemote(comm) => {
                let global = self.global(program, *comm);
                let comm = &self.all[global as usize];
                let inside = comm.members.contains(&self.programs[program].rank);
                match &comm.remote {
                    Some(remote) if inside == matches!(how, Members::OfRemote(_)) => remote.clone(),
                    _ => comm.members.clone(),
                }
            }
            Members::Union(a, b) => {
                let (a, b) = (of(self, *a), of(self, *b));
                a.iter()
                    .chain(b.iter().filter(|member| !a.contains(member)))
                    .copied()
                    .collect()
            }
            Members::Intersection(a, b) => {
                let (a, b) = (of(self, *a), of(self, *b));
                a.iter()
                    .filter(|member| b.contains(member))
                    .copied()
                    .collect()
            }
            Members::Difference(a, b) => {
                let (a, b) = (of(self, *a), of(self, *b));
                a.iter()
                    .filter(|member| !b.contains(member))
                    .copied()
                    .collect()
            }
            Members::Incl(group, ranks) => chosen(&of(self, *group), ranks.iter().copied()),
            Members::Excl(group, ranks) => others(&of(self, *group), ranks.iter().copied()),
            Members::RangeIncl(group, ranges) => chosen(&of(self, *group), in_ranges(ranges)),
            Members::RangeExcl(group, ranges) => others(&of(self, *group), in_ranges(ranges)),
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
