//! The same communicator on all ranks, and its ranks in the world.
//!
//! Handles are numbered by each rank for itself, so identity comes from the calls that create: on
//! one parent, the k-th creation is the same one on all of its members, and its arguments tell who
//! becomes a member and in which order. Where the creating call was not recorded, the number itself
//! has to do, and the ranks that `MPI_Comm_rank` reported.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use super::origin::LocalId;
use super::program::{LocalComm, Program};

mod create;
mod follow;
mod group;
#[cfg(test)]
mod tests;

/// How sure the ranks of a communicator are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Translation {
    /// They follow from recorded calls.
    Exact,
    /// Some call was missing: taken to be those of the parent, or of the world.
    Assumed,
}

impl Translation {
    /// Its name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Assumed => "assumed",
        }
    }
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

    /// Communicators that are known beforehand: their names, which may end with a number; the ones
    /// that each program has; and the processes, all of which are members.
    pub(super) fn known(names: Vec<String>, of_local: Vec<Vec<u32>>, members: Arc<[u32]>) -> Self {
        let comm = |(at, name): (usize, String)| {
            let ending = name.rsplit_once(' ').and_then(|(name, last)| {
                let number = last.parse().ok()?;
                Some((name.to_owned(), number))
            });
            let (name, number) = ending.unwrap_or((name, at as u32));
            GlobalComm {
                name,
                number,
                members: Arc::clone(&members),
                remote: None,
                translation: Translation::Exact,
                dims: None,
            }
        };
        let own_rank = of_local.iter().map(|comms| vec![0; comms.len()]).collect();
        let all = names.into_iter().enumerate().map(comm).collect();
        Self { all, of_local, own_rank, incomplete: 0 }
    }

    /// Works out all communicators. `processes` is the size of the world.
    pub fn resolve(programs: &[Program], processes: u32) -> Self {
        Resolver::new(programs, processes).run()
    }
}

const OPEN: u32 = u32::MAX;
/// The k-th creation on a communicator.
type Creation = (u32, u32);
/// The leaders' world ranks, lower first, and their tag.
type Handshake = (u32, u32, i32);

/// Follows the creating calls of all programs at once ([`follow`]), and makes the communicators
/// ([`create`]).
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
            index: programs
                .iter()
                .enumerate()
                .map(|(index, program)| (program.rank, index))
                .collect(),
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
            // All wait for ranks that recorded less, or are not here: the first creation goes on
            // without them.
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
            let known = |(&global, local): (&u32, &LocalComm)| {
                let there = self.all[global as usize].rank_of(program.rank);
                there.or(local.own_rank).unwrap_or(program.rank)
            };
            locals.iter().zip(&program.comms).map(known).collect()
        });
        let own_rank = own_rank.collect();
        Communicators {
            all: self.all,
            of_local: self.of_local,
            own_rank,
            incomplete: self.incomplete,
        }
    }
}
