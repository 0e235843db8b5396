//! The same communicator on all ranks, and its ranks in the world.
//!
//! Handles are numbered by each rank for itself, so identity comes from the calls that create: on one parent, the k-th
//! creation is the same one on all of its members, and its arguments tell who becomes a member and in which order.
//! Where the creating call was not recorded, the number itself has to do, and the ranks that `MPI_Comm_rank` reported.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use super::origin::{How, LocalId, Members, Origin};
use super::program::Program;

/// How sure the ranks of a communicator are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Translation {
    /// They follow from recorded calls.
    Exact,
    /// Some call was missing: taken to be those of the parent, or of the world.
    Assumed,
}

/// One communicator of the run.
#[derive(Clone, Debug)]
pub struct GlobalComm {
    /// How it came about, for reports: `world`, `split of world`.
    pub name: String,
    /// World ranks by rank in the communicator.
    pub members: Arc<[u32]>,
    /// Of an inter-communicator: the other group; `members` is one of the two.
    pub remote: Option<Arc<[u32]>>,
    /// How sure that is.
    pub translation: Translation,
    /// Its number in the trace of the lowest rank that has it.
    pub number: u32,
    /// Extents, if it is a grid.
    dims: Option<Vec<i32>>,
}

impl GlobalComm {
    /// The world rank of a peer, seen from a member.
    pub fn peer(&self, own_world: u32, rank: u32) -> Option<u32> {
        let group = match &self.remote {
            Some(remote) if self.members.contains(&own_world) => remote,
            _ => &self.members,
        };
        group.get(rank as usize).copied()
    }

    /// A process's rank in its group.
    fn rank_of(&self, world: u32) -> Option<u32> {
        let groups = [Some(&self.members), self.remote.as_ref()];
        let places = groups.into_iter().flatten();
        places
            .filter_map(|group| group.iter().position(|&member| member == world))
            .next()
            .map(|rank| rank as u32)
    }

    fn everyone(&self) -> impl Iterator<Item = u32> + '_ {
        self.members.iter().chain(self.remote.iter().flat_map(|remote| remote.iter())).copied()
    }
}

/// All communicators of a run.
#[derive(Clone, Debug)]
pub struct Communicators {
    /// By number; 0 is the world.
    pub all: Vec<GlobalComm>,
    /// Number of each rank's communicators, by index of the program and of its communicator.
    of_local: Vec<Vec<u32>>,
    /// The rank's own rank in each of them.
    own_rank: Vec<Vec<u32>>,
    /// Creations that not all members recorded.
    pub incomplete: u64,
}

impl Communicators {
    /// The communicator of this number in the program's list.
    #[inline]
    pub fn global(&self, program: usize, local: LocalId) -> u32 {
        self.of_local[program][usize::from(local)]
    }

    /// The program's own rank there, as its messages carry it.
    #[inline]
    pub fn own_rank(&self, program: usize, local: LocalId) -> u32 {
        self.own_rank[program][usize::from(local)]
    }

    /// Works out all communicators. `processes` is the size of the world.
    pub fn resolve(programs: &[Program], processes: u32) -> Self {
        Resolver::new(programs, processes).run()
    }
}

const OPEN: u32 = u32::MAX;
/// The k-th creation on a communicator.
type Creation = (u32, u32);
/// What tells the parts of a split from each other: a colour, or a group's members.
type Part = (u64, Vec<u32>);
/// The leaders' world ranks, lower first, and their tag.
type Handshake = (u32, u32, i32);

struct Resolver<'a> {
    programs: &'a [Program],
    /// Index of the program of a world rank.
    index: HashMap<u32, usize>,
    world: Arc<[u32]>,
    all: Vec<GlobalComm>,
    of_local: Vec<Vec<u32>>,
    groups: Vec<HashMap<u32, Arc<[u32]>>>,
    /// Next creating call of each program.
    next: Vec<usize>,
    creations: HashMap<(usize, u32), u32>,
    waiting: BTreeMap<Creation, Vec<usize>>,
    /// Creations that were closed before all members came: what became of them, by colour.
    closed: HashMap<Creation, Vec<(Option<u32>, u32)>>,
    unknown: HashMap<u32, u32>,
    /// Inter-communicators of which one side is complete: group and programs.
    halves: HashMap<Handshake, (Arc<[u32]>, Vec<usize>)>,
    ready: VecDeque<usize>,
    incomplete: u64,
}

impl<'a> Resolver<'a> {
    fn new(programs: &'a [Program], processes: u32) -> Self {
        let world: Arc<[u32]> = (0..processes).collect();
        let comm = |name: &str, members: Arc<[u32]>, number| GlobalComm {
            name: name.to_owned(),
            members,
            remote: None,
            translation: Translation::Exact,
            number,
            dims: None,
        };
        let mut all = vec![comm("world", world.clone(), 2)];
        let mut of_local = Vec::with_capacity(programs.len());
        for program in programs {
            let mut local = vec![OPEN; program.comms.len()];
            local[0] = 0;
            local[1] = all.len() as u32;
            all.push(comm("self", Arc::new([program.rank]), 3));
            of_local.push(local);
        }
        Self {
            programs,
            index: programs.iter().enumerate().map(|(index, program)| (program.rank, index)).collect(),
            world,
            all,
            of_local,
            groups: vec![HashMap::new(); programs.len()],
            next: vec![0; programs.len()],
            creations: HashMap::new(),
            waiting: BTreeMap::new(),
            closed: HashMap::new(),
            unknown: HashMap::new(),
            halves: HashMap::new(),
            ready: (0..programs.len()).collect(),
            incomplete: 0,
        }
    }

    fn run(mut self) -> Communicators {
        loop {
            while let Some(program) = self.ready.pop_front() {
                self.advance(program);
            }
            // All wait for ranks that recorded less, or are not here: the first creation goes on without them.
            let Some((&creation, _)) = self.waiting.first_key_value() else { break };
            self.incomplete += 1;
            self.close(creation, false);
        }
        for program in 0..self.programs.len() {
            for local in 0..self.programs[program].comms.len() {
                self.global(program, local as LocalId);
            }
        }
        let own_rank = self.of_local.iter().zip(self.programs).map(|(locals, program)| {
            let known = |(&global, local): (&u32, &super::program::LocalComm)| {
                let there = self.all[global as usize].rank_of(program.rank);
                there.or(local.own_rank).unwrap_or(program.rank)
            };
            locals.iter().zip(&program.comms).map(known).collect()
        });
        let own_rank = own_rank.collect();
        Communicators { all: self.all, of_local: self.of_local, own_rank, incomplete: self.incomplete }
    }

    /// Follows a program's creating calls until one has to wait for other ranks.
    fn advance(&mut self, program: usize) {
        while let Some(origin) = self.programs[program].origins.get(self.next[program]) {
            match origin {
                Origin::Group { how, new } => {
                    let members = self.group(program, how);
                    self.groups[program].insert(*new, members);
                }
                Origin::Comm { parent: None, new, .. } => self.name_unknown(program, *new),
                Origin::Comm { parent: Some(parent), how, new } => {
                    let global = self.global(program, *parent);
                    let count = self.creations.entry((program, global)).or_insert(0);
                    let creation = (global, *count);
                    *count += 1;
                    if let Some(closed) = self.closed.get(&creation) {
                        self.join_late(program, how, *new, closed.clone());
                    } else {
                        self.wait_for_others(creation, program);
                        return;
                    }
                }
            }
            self.next[program] += 1;
        }
    }

    fn wait_for_others(&mut self, creation: Creation, program: usize) {
        let waiting = self.waiting.entry(creation).or_default();
        waiting.push(program);
        let here = waiting.len();
        let comm = &self.all[creation.0 as usize];
        // Members without a trace cannot be waited for.
        let expected = comm.everyone().filter(|world| self.index.contains_key(world)).count();
        if here >= expected {
            let whole = expected == comm.everyone().count();
            self.close(creation, whole);
        }
    }

    /// A rank whose communicator was made without it.
    fn join_late(
        &mut self,
        program: usize,
        how: &How,
        new: Option<LocalId>,
        closed: Vec<(Option<u32>, u32)>,
    ) {
        let color = color(how);
        match (new, closed.iter().find(|(of, _)| *of == color)) {
            (Some(new), Some(&(_, global))) => self.of_local[program][usize::from(new)] = global,
            (new, _) => self.name_unknown(program, new),
        }
    }

    /// The number of a program's communicator; one that no call made is named by its number.
    fn global(&mut self, program: usize, local: LocalId) -> u32 {
        let known = self.of_local[program][usize::from(local)];
        if known == OPEN {
            self.name_unknown(program, Some(local));
        }
        self.of_local[program][usize::from(local)]
    }

    fn name_unknown(&mut self, program: usize, local: Option<LocalId>) {
        let Some(local) = local.map(usize::from) else { return };
        let number = self.programs[program].comms[local].number;
        let global = match self.unknown.get(&number) {
            Some(&known) => known,
            None => {
                let members = self.reported_members(number);
                let name = format!("number {number}, origin not recorded");
                let translation = match members {
                    Some(_) => Translation::Exact,
                    None => Translation::Assumed,
                };
                let members = members.unwrap_or_else(|| self.world.clone());
                let global = self.push(name, members, None, translation, number);
                self.unknown.insert(number, global);
                global
            }
        };
        self.of_local[program][local] = global;
    }

    /// Members of the communicator of this number, if every rank that has one without a creating call also asked for
    /// its rank there, and no two have the same.
    fn reported_members(&self, number: u32) -> Option<Arc<[u32]>> {
        let mut members = BTreeMap::new();
        for program in self.programs {
            let here = program.comms.iter().find(|comm| comm.number == number && !comm.made);
            let Some(comm) = here else { continue };
            if members.insert(comm.own_rank?, program.rank).is_some() {
                return None;
            }
        }
        let dense = members.keys().enumerate().all(|(at, &rank)| at as u32 == rank);
        dense.then(|| members.into_values().collect())
    }

    fn push(
        &mut self,
        name: String,
        members: Arc<[u32]>,
        remote: Option<Arc<[u32]>>,
        translation: Translation,
        number: u32,
    ) -> u32 {
        self.all.push(GlobalComm { name, members, remote, translation, number, dims: None });
        self.all.len() as u32 - 1
    }

    /// The creating call at which a program waits.
    fn call(&self, program: usize) -> (&'a How, Option<LocalId>) {
        match &self.programs[program].origins[self.next[program]] {
            Origin::Comm { how, new, .. } => (how, *new),
            Origin::Group { .. } => (&How::Dynamic, None),
        }
    }

    /// Makes the communicators of a creation out of the ranks that came; `whole` if all did.
    fn close(&mut self, creation: Creation, whole: bool) {
        let mut programs = self.waiting.remove(&creation).unwrap_or_default();
        let parent = creation.0;
        programs.sort_by_cached_key(|&program| {
            (self.all[parent as usize].rank_of(self.programs[program].rank), program)
        });
        let Some(&first) = programs.first() else { return };
        let made = match self.call(first).0 {
            How::Inter { .. } => return self.close_half(parent, programs),
            How::Dup => {
                self.one(&programs, self.all[parent as usize].members.clone(), "duplicate", parent, true)
            }
            How::Graph { nodes } => self.prefix(&programs, parent, *nodes as usize, "graph", whole),
            How::Cart { dims } => {
                let size = dims.iter().try_fold(1_usize, |size, &extent| {
                    size.checked_mul(usize::try_from(extent).ok().filter(|&extent| extent > 0)?)
                });
                let made = self.prefix(&programs, parent, size.unwrap_or(usize::MAX), "grid", whole);
                for &(_, global) in &made {
                    self.all[global as usize].dims = Some(dims.clone());
                }
                made
            }
            How::Merge { .. } => self.merge(&programs, parent),
            How::Split { .. } | How::Create { .. } | How::CartSub { .. } => {
                self.partition(&programs, parent, whole)
            }
            How::Dynamic => Vec::new(),
        };
        if !whole {
            self.closed.insert(creation, made);
        }
        self.go_on(&programs);
    }

    /// Whatever was not given a communicator is named by its number; the programs go on.
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
        let receivers: Vec<_> =
            programs.iter().filter_map(|&program| Some((program, self.call(program).1?))).collect();
        let Some(&(first, local)) = receivers.first() else { return Vec::new() };
        let number = self.programs[first].comms[usize::from(local)].number;
        let members = self.corrected(&receivers, members);
        let sure = whole && self.all[parent as usize].translation == Translation::Exact;
        let agrees = receivers.iter().all(|&(program, local)| {
            let said = self.programs[program].comms[usize::from(local)].own_rank;
            said.is_none_or(|rank| members.get(rank as usize) == Some(&self.programs[program].rank))
        });
        let translation = if sure && agrees { Translation::Exact } else { Translation::Assumed };
        let remote = if how == "duplicate" { self.all[parent as usize].remote.clone() } else { None };
        let global = self.push(self.name_of(how, parent), members, remote, translation, number);
        for (program, local) in receivers {
            self.of_local[program][usize::from(local)] = global;
        }
        vec![(None, global)]
    }

    /// If the ranks that `MPI_Comm_rank` reported are others (a reordered grid) and complete, they count.
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

    /// Splits the programs by colour (or what plays its part) and orders each part.
    fn partition(&mut self, programs: &[usize], parent: u32, whole: bool) -> Vec<(Option<u32>, u32)> {
        let dims = self.all[parent as usize].dims.clone();
        let mut parts: BTreeMap<Part, Vec<(i64, usize)>> = BTreeMap::new();
        let mut grid = None;
        for (place, &program) in programs.iter().enumerate() {
            let (how, new) = self.call(program);
            if new.is_none() {
                continue;
            }
            let (part, key) = match how {
                How::Split { color: Some(color), key } => ((u64::from(*color), Vec::new()), i64::from(*key)),
                How::Create { group } => {
                    let members = self.groups[program].get(group).cloned().unwrap_or_default();
                    let at = members.iter().position(|&member| member == self.programs[program].rank);
                    ((0, members.to_vec()), at.map_or(i64::MAX, |at| at as i64))
                }
                How::CartSub { remain } => {
                    let rank = self.all[parent as usize].rank_of(self.programs[program].rank).unwrap_or(0);
                    let dims = dims.as_deref().unwrap_or_default();
                    let stays: Vec<_> = remain.iter().map(|&stays| stays != 0).collect();
                    let (dropped, kept) = sub_grid(dims, &stays, rank);
                    let extents = dims.iter().zip(&stays).filter(|(_, stays)| **stays);
                    grid = Some(extents.map(|(&extent, _)| extent).collect::<Vec<_>>());
                    ((dropped, Vec::new()), kept)
                }
                _ => continue,
            };
            // Equal keys: by rank in the parent, which is the order of the programs.
            parts.entry(part).or_default().push((key, place));
        }
        let mut made = Vec::new();
        for ((color, _), mut part) in parts {
            part.sort_unstable();
            let programs: Vec<_> = part.iter().map(|&(_, place)| programs[place]).collect();
            let members = programs.iter().map(|&program| self.programs[program].rank).collect();
            for (_, global) in self.one(&programs, members, "part", parent, whole) {
                self.all[global as usize].dims = grid.clone();
                made.push((Some(color as u32), global));
            }
        }
        made
    }

    fn merge(&mut self, programs: &[usize], parent: u32) -> Vec<(Option<u32>, u32)> {
        let comm = &self.all[parent as usize];
        let (mine, theirs) = (comm.members.clone(), comm.remote.clone().unwrap_or_default());
        let high = |group: &[u32]| {
            programs.iter().any(|&program| {
                group.contains(&self.programs[program].rank)
                    && matches!(self.call(program).0, How::Merge { high: true })
            })
        };
        let mine_first = match (high(&mine), high(&theirs)) {
            (true, false) => false,
            (false, true) => true,
            // The standard leaves it open.
            _ => mine.first() < theirs.first(),
        };
        let (first, second) = if mine_first { (mine, theirs) } else { (theirs, mine) };
        let members = first.iter().chain(second.iter()).copied().collect();
        self.one(programs, members, "merger", parent, true)
    }

    /// One side of an inter-communicator is complete; with the other, the communicator is.
    fn close_half(&mut self, parent: u32, programs: Vec<usize>) {
        let group = self.all[parent as usize].members.clone();
        let handshake = programs.iter().find_map(|&program| {
            let How::Inter { local_leader, peer, remote_leader, tag } = *self.call(program).0 else {
                return None;
            };
            let leader = *group.get(usize::try_from(local_leader).ok()?)?;
            if leader != self.programs[program].rank {
                return None;
            }
            let bridge = self.global(program, peer);
            let other = self.all[bridge as usize].peer(leader, u32::try_from(remote_leader).ok()?)?;
            Some((leader.min(other), leader.max(other), tag))
        });
        let Some(handshake) = handshake else { return self.go_on(&programs) };
        let Some((other, others)) = self.halves.remove(&handshake) else {
            self.halves.insert(handshake, (group, programs));
            return;
        };
        let mut all = others;
        all.extend(&programs);
        let receivers: Vec<_> =
            all.iter().filter_map(|&program| Some((program, self.call(program).1?))).collect();
        if let Some(&(first, local)) = receivers.first() {
            let number = self.programs[first].comms[usize::from(local)].number;
            let global =
                self.push("inter-communicator".to_owned(), other, Some(group), Translation::Exact, number);
            for (program, local) in receivers {
                self.of_local[program][usize::from(local)] = global;
            }
        }
        self.go_on(&all);
    }

    /// The members of a group, as world ranks.
    fn group(&mut self, program: usize, how: &Members) -> Arc<[u32]> {
        let of = |resolver: &Self, group: u32| -> Arc<[u32]> {
            resolver.groups[program].get(&group).cloned().unwrap_or_default()
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
                a.iter().chain(b.iter().filter(|member| !a.contains(member))).copied().collect()
            }
            Members::Intersection(a, b) => {
                let (a, b) = (of(self, *a), of(self, *b));
                a.iter().filter(|member| b.contains(member)).copied().collect()
            }
            Members::Difference(a, b) => {
                let (a, b) = (of(self, *a), of(self, *b));
                a.iter().filter(|member| !b.contains(member)).copied().collect()
            }
            Members::Incl(group, ranks) => chosen(&of(self, *group), ranks.iter().copied()),
            Members::Excl(group, ranks) => others(&of(self, *group), ranks.iter().copied()),
            Members::RangeIncl(group, ranges) => chosen(&of(self, *group), in_ranges(ranges)),
            Members::RangeExcl(group, ranges) => others(&of(self, *group), in_ranges(ranges)),
        }
    }
}

fn color(how: &How) -> Option<u32> {
    match how {
        How::Split { color, .. } => *color,
        _ => None,
    }
}

/// The ranks of ranges (first, last, stride). A range that is none is empty, and none is longer than a group can be.
fn in_ranges(ranges: &[[i32; 3]]) -> impl Iterator<Item = i32> + '_ {
    ranges.iter().flat_map(|&[first, last, stride]| {
        let (first, last, stride) = (i64::from(first), i64::from(last), i64::from(stride));
        let count = if stride == 0 { 0 } else { ((last - first) / stride + 1).clamp(0, 1 << 24) };
        let count = if (last - first).signum() * stride.signum() < 0 { 0 } else { count };
        (0..count).map(move |step| (first + step * stride) as i32)
    })
}

fn chosen(group: &[u32], ranks: impl Iterator<Item = i32>) -> Arc<[u32]> {
    // A group has no member twice: more ranks than members is damage.
    let ranks = ranks.take(group.len());
    ranks.filter_map(|rank| group.get(usize::try_from(rank).ok()?).copied()).collect()
}

fn others(group: &[u32], ranks: impl Iterator<Item = i32>) -> Arc<[u32]> {
    let mut stays = vec![true; group.len()];
    for rank in ranks {
        if let Some(place) = usize::try_from(rank).ok().and_then(|rank| stays.get_mut(rank)) {
            *place = false;
        }
    }
    group.iter().zip(stays).filter(|(_, stays)| *stays).map(|(&member, _)| member).collect()
}

/// Of a rank of a grid (the last dimension runs fastest): the numbers that its dropped and its kept coordinates form.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyze::program::LocalComm;

    /// Programs of `ranks` ranks, each with what `origins` makes of its number; a communicator beyond the two predefined
    /// ones for each that it names, numbered from 4.
    fn programs(ranks: u32, origins: impl Fn(u32) -> Vec<Origin>) -> Vec<Program> {
        let program = |rank| {
            let origins = origins(rank);
            let named = origins.iter().filter_map(|origin| match origin {
                Origin::Comm { new, .. } => *new,
                Origin::Group { .. } => None,
            });
            let last = named.max().unwrap_or(1);
            let comm =
                |local| LocalComm { number: 2 + u32::from(local), own_rank: None, size: None, made: true };
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
        // Rank 0 makes one of its own first.
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
        // With the ranks reported, all is known.
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
}
