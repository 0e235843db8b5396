//! Makes the communicators of a creation once all participants have reached it.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use foldhash::fast::RandomState as Fast;

use super::group::GroupId;
use super::{Creation, Handshake, OPEN, Resolver, Side, Translation};
use crate::analyze::origin::{Connection, How, LocalId};

/// What distinguishes the parts of a split: a colour, or a group.
type Part = (u64, GroupId);

impl Resolver<'_> {
    /// Makes the communicators of a creation from the ranks that reached it; `whole` if all did.
    pub(super) fn close(&mut self, creation: Creation, whole: bool) {
        let mut programs = self.waiting.remove(&creation).unwrap_or_default();
        let parent = creation.0;
        let place = self.all[parent as usize].places();
        programs.sort_by_cached_key(|&program| (place(self.programs[program].rank), program));
        let Some(&first) = programs.first() else {
            return;
        };
        let made = match self.call(first).0 {
            How::Intercomm { .. } => return self.close_half(parent, programs),
            How::Dup => self.one(
                &programs,
                self.all[parent as usize].members.clone(),
                "duplicate",
                parent,
                true,
            ),
            How::GraphCreate { nodes, .. } => {
                self.prefix(&programs, parent, *nodes as usize, "graph", whole)
            }
            How::CartCreate { dims, .. } => {
                let size = dims.iter().try_fold(1_usize, |size, &extent| {
                    size.checked_mul(usize::try_from(extent).ok().filter(|&extent| extent > 0)?)
                });
                let made =
                    self.prefix(&programs, parent, size.unwrap_or(usize::MAX), "grid", whole);
                for &(_, global) in &made {
                    self.all[global as usize].dims = Some(dims.clone());
                }
                made
            }
            How::Merge { .. } => self.merge(&programs, parent),
            How::Split { .. } | How::Create { .. } | How::CartSub { .. } => {
                self.partition(&programs, parent, whole)
            }
            How::Dynamic => return self.close_connection(parent, programs),
        };
        if !whole {
            self.closed.insert(creation, made);
        }
        self.go_on(&programs);
    }

    fn go_on(&mut self, programs: &[usize]) {
        for &program in programs {
            if let Some(new) = self.call(program).1 {
                self.global(program, new);
            }
            self.next[program] += 1;
            self.ready.push_back(program);
        }
    }

    fn name_of(&self, how: &str, parent: u32) -> String {
        let parent = &self.all[parent as usize];
        match parent.name.as_str() {
            "world" | "self" => format!("{how} of {}", parent.name),
            _ => format!("{how} of number {}", parent.number),
        }
    }

    /// One communicator for all programs that got one.
    fn one(
        &mut self,
        programs: &[usize],
        members: Arc<[u32]>,
        how: &str,
        parent: u32,
        whole: bool,
    ) -> Vec<(Option<u32>, u32)> {
        let receivers: Vec<_> = programs
            .iter()
            .filter_map(|&program| Some((program, self.call(program).1?)))
            .collect();
        let Some(&(first, local)) = receivers.first() else {
            return Vec::new();
        };
        let number = self.programs[first].comms[usize::from(local)].number;
        let members = self.corrected(&receivers, members);
        let sure = whole && self.all[parent as usize].translation == Translation::Exact;
        let agrees = receivers.iter().all(|&(program, local)| {
            let said = self.programs[program].comms[usize::from(local)].own_rank;
            said.is_none_or(|rank| members.get(rank as usize) == Some(&self.programs[program].rank))
        });
        let translation = if sure && agrees {
            Translation::Exact
        } else {
            Translation::Assumed
        };
        let remote = if how == "duplicate" {
            self.all[parent as usize].remote.clone()
        } else {
            None
        };
        let global = self.push(
            self.name_of(how, parent),
            members,
            remote,
            translation,
            number,
        );
        for (program, local) in receivers {
            self.of_local[program][usize::from(local)] = global;
        }
        vec![(None, global)]
    }

    /// Prefers the ranks reported by `MPI_Comm_rank`, if complete: a grid may be reordered.
    fn corrected(&self, receivers: &[(usize, LocalId)], members: Arc<[u32]>) -> Arc<[u32]> {
        if receivers.len() != members.len() {
            return members;
        }
        let mut reported = vec![OPEN; members.len()];
        for &(program, local) in receivers {
            let rank = self.programs[program].comms[usize::from(local)].own_rank;
            match rank.and_then(|rank| reported.get_mut(rank as usize)) {
                Some(place) if *place == OPEN => *place = self.programs[program].rank,
                _ => return members,
            }
        }
        reported.into()
    }

    fn prefix(
        &mut self,
        programs: &[usize],
        parent: u32,
        size: usize,
        how: &str,
        whole: bool,
    ) -> Vec<(Option<u32>, u32)> {
        let members = &self.all[parent as usize].members;
        let members: Arc<[u32]> = members[..size.min(members.len())].into();
        self.one(programs, members, how, parent, whole)
    }

    fn partition(
        &mut self,
        programs: &[usize],
        parent: u32,
        whole: bool,
    ) -> Vec<(Option<u32>, u32)> {
        let dims = self.all[parent as usize].dims.clone();
        let parent_rank = self.all[parent as usize].places();
        let mut parts: BTreeMap<Part, Vec<(i64, usize)>> = BTreeMap::new();
        let mut grid = None;
        for (place, &program) in programs.iter().enumerate() {
            let (how, new) = self.call(program);
            if new.is_none() {
                continue;
            }
            let (part, key) = match how {
                How::Split {
                    color: Some(color),
                    key,
                } => ((u64::from(*color), GroupId::EMPTY), i64::from(*key)),
                How::Create { group } => {
                    let group = self.group_of(program, *group);
                    let at = self.groups.place(group, self.programs[program].rank);
                    ((0, group), at.map_or(i64::MAX, i64::from))
                }
                How::CartSub { remain } => {
                    let rank = parent_rank(self.programs[program].rank).unwrap_or(0);
                    let dims = dims.as_deref().unwrap_or_default();
                    let stays: Vec<_> = remain.iter().map(|&stays| stays != 0).collect();
                    let (dropped, kept) = sub_grid(dims, &stays, rank);
                    let extents = dims.iter().zip(&stays).filter(|(_, stays)| **stays);
                    grid = Some(extents.map(|(&extent, _)| extent).collect::<Vec<_>>());
                    ((dropped, GroupId::EMPTY), kept)
                }
                _ => continue,
            };
            // Equal keys are ordered by rank in the parent, which is the order of the programs.
            parts.entry(part).or_default().push((key, place));
        }
        let mut parts: Vec<_> = parts.into_iter().collect();
        parts
            .sort_by_cached_key(|&((color, group), _)| (color, self.groups.members(group).clone()));
        let mut made = Vec::new();
        for ((color, _), mut part) in parts {
            part.sort_unstable();
            let programs: Vec<_> = part.iter().map(|&(_, place)| programs[place]).collect();
            let members = programs
                .iter()
                .map(|&program| self.programs[program].rank)
                .collect();
            for (_, global) in self.one(&programs, members, "part", parent, whole) {
                self.all[global as usize].dims = grid.clone();
                made.push((Some(color as u32), global));
            }
        }
        made
    }

    fn merge(&mut self, programs: &[usize], parent: u32) -> Vec<(Option<u32>, u32)> {
        let comm = &self.all[parent as usize];
        let (mine, theirs) = (
            comm.members.clone(),
            comm.remote.clone().unwrap_or_default(),
        );
        let high = |group: &[u32]| {
            let group: HashSet<u32, Fast> = group.iter().copied().collect();
            programs.iter().any(|&program| {
                matches!(self.call(program).0, How::Merge { high: true })
                    && group.contains(&self.programs[program].rank)
            })
        };
        let mine_first = match (high(&mine), high(&theirs)) {
            (true, false) => false,
            (false, true) => true,
            // The standard leaves this order open.
            _ => mine.first() < theirs.first(),
        };
        let (first, second) = if mine_first {
            (mine, theirs)
        } else {
            (theirs, mine)
        };
        let members = first.iter().chain(second.iter()).copied().collect();
        self.one(programs, members, "merger", parent, true)
    }

    /// Records a complete side of an inter-communicator; with both sides the communicator exists.
    fn close_half(&mut self, parent: u32, programs: Vec<usize>) {
        let group = self.all[parent as usize].members.clone();
        let handshake = programs.iter().find_map(|&program| {
            let How::Intercomm {
                local_leader,
                peer,
                remote_leader,
                tag,
            } = *self.call(program).0
            else {
                return None;
            };
            let leader = *group.get(usize::try_from(local_leader).ok()?)?;
            if leader != self.programs[program].rank {
                return None;
            }
            let bridge = self.global(program, peer);
            let other =
                self.all[bridge as usize].peer(leader, u32::try_from(remote_leader).ok()?)?;
            Some((leader.min(other), leader.max(other), tag))
        });
        let Some(handshake) = handshake else {
            return self.go_on(&programs);
        };
        let Some((other, others)) = self.halves.remove(&handshake) else {
            self.halves.insert(handshake, (group, programs));
            return;
        };
        self.join((other, others), (group, programs), Translation::Exact);
    }

    /// Records a complete side of an accept and a connect. The port that would identify the other
    /// side is not kept, so sides are joined in their order, which is certain for one of each.
    fn close_connection(&mut self, parent: u32, programs: Vec<usize>) {
        let group = self.all[parent as usize].members.clone();
        let connection = programs.first().and_then(|&it| self.connection(it));
        let (own, others) = match connection {
            Some(Connection::Accepts) => (0, 1),
            Some(Connection::Connects) => (1, 0),
            // The other side has traces of its own.
            None => return self.join_strangers((group, programs)),
        };
        let Some(other) = self.connections[others].pop_front() else {
            return self.connections[own].push_back((group, programs));
        };
        // Accepting ranks come first, whoever was followed first.
        let (first, second) = match connection {
            Some(Connection::Accepts) => ((group, programs), other),
            _ => (other, (group, programs)),
        };
        let global = self.join(first, second, Translation::Exact);
        self.connected.extend(global);
        if self.connected.len() > 1 {
            for &global in &self.connected {
                self.all[global as usize].translation = Translation::Assumed;
            }
        }
    }

    /// Gives up waiting for the other sides of inter-communicators: their processes have no trace,
    /// or recorded less. `false` if no side waits.
    pub(super) fn give_up_sides(&mut self) -> bool {
        let halves = std::mem::take(&mut self.halves);
        let mut sides: Vec<(Handshake, Side)> = halves.into_iter().collect();
        sides.sort_by_key(|&(handshake, _)| handshake);
        let mut sides: Vec<Side> = sides.into_iter().map(|(_, side)| side).collect();
        sides.extend(self.connections.iter_mut().flat_map(std::mem::take));
        let some_wait = !sides.is_empty();
        for side in sides {
            self.incomplete += 1;
            self.join_strangers(side);
        }
        some_wait
    }

    fn join_strangers(&mut self, side: Side) {
        let name = "inter-communicator with processes without a trace";
        self.inter(name, side, ([].into(), Vec::new()), Translation::Assumed);
    }

    fn join(&mut self, first: Side, second: Side, translation: Translation) -> Option<u32> {
        self.inter("inter-communicator", first, second, translation)
    }

    /// Makes an inter-communicator of two sides, and lets their programs go on.
    fn inter(
        &mut self,
        name: &str,
        first: Side,
        second: Side,
        translation: Translation,
    ) -> Option<u32> {
        let all = [first.1, second.1].concat();
        let receivers: Vec<_> = all
            .iter()
            .filter_map(|&program| Some((program, self.call(program).1?)))
            .collect();
        let global = receivers.first().map(|&(first_program, local)| {
            let number = self.programs[first_program].comms[usize::from(local)].number;
            self.push(
                name.to_owned(),
                first.0,
                Some(second.0),
                translation,
                number,
            )
        });
        for (program, local) in receivers {
            self.of_local[program][usize::from(local)] = global.unwrap_or(OPEN);
        }
        self.go_on(&all);
        global
    }
}

/// The numbers of a grid rank's dropped and kept coordinates. The last dimension runs fastest.
fn sub_grid(dims: &[i32], stays: &[bool], rank: u32) -> (u64, i64) {
    let (mut dropped, mut kept) = (0_u64, 0_i64);
    let (mut dropped_unit, mut kept_unit) = (1_u64, 1_i64);
    let mut rest = i64::from(rank);
    for (at, &extent) in dims.iter().enumerate().rev() {
        let extent = i64::from(extent.max(1));
        let coordinate = rest % extent;
        rest /= extent;
        if stays.get(at).copied().unwrap_or(false) {
            kept = kept.wrapping_add(coordinate.wrapping_mul(kept_unit));
            kept_unit = kept_unit.wrapping_mul(extent);
        } else {
            dropped = dropped.wrapping_add((coordinate as u64).wrapping_mul(dropped_unit));
            dropped_unit = dropped_unit.wrapping_mul(extent as u64);
        }
    }
    (dropped, kept)
}
