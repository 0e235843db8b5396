//! Identifies each communicator on all ranks, and maps its ranks to world ranks.
//!
//! Each rank numbers its own handles, so identity follows from the creating calls. The k-th
//! creation on a parent is one creation for all members, and its arguments determine the new
//! members and their order. Without a recorded creation, the handle's number and the ranks that
//! `MPI_Comm_rank` reported must do.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use foldhash::fast::RandomState as Fast;

use self::group::{GroupId, Groups};
use super::origin::LocalId;
use super::program::{LocalComm, Program};
use dpamatch_traces::Group;

mod create;
mod follow;
mod group;
#[cfg(test)]
pub(super) mod tests;

/// How reliable a communicator's ranks are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Translation {
    /// The ranks follow from recorded calls.
    Exact,
    /// A call is missing: the ranks of the parent or the world are assumed.
    Assumed,
}

impl Translation {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Assumed => "assumed",
        }
    }
}

#[derive(Clone, Debug)]
pub struct GlobalComm {
    /// Its origin in words, such as `world` or `split of world`.
    pub name: String,
    /// World ranks, indexed by rank in the communicator.
    pub members: Arc<[u32]>,
    /// For an inter-communicator, the other group; `members` is the first.
    pub remote: Option<Arc<[u32]>>,
    /// The first group of an inter-communicator, ascending.
    first: Option<Arc<[u32]>>,
    pub translation: Translation,
    /// The number in the trace of its lowest rank.
    pub number: u32,
    /// Names it among all communicators of the run: its number, and if others have that as well,
    /// `@` and its lowest world rank, and `#` and a count if these are equal, too.
    pub label: String,
    /// Whether it is the context of another communicator's collective operations.
    pub collectives: bool,
    dims: Option<Vec<i32>>,
}

impl GlobalComm {
    /// A tag as the library has it. Open MPI's collective operations have negative ones, of which
    /// order logs have the low 31 bits.
    pub fn tag(&self, tag: i32) -> i32 {
        if self.collectives && tag >= 1 << 30 {
            tag - i32::MAX - 1
        } else {
            tag
        }
    }

    /// The world rank of a peer, as a member sees it. Constant, or a search in an
    /// inter-communicator's first group.
    pub fn peer(&self, own_world: u32, rank: u32) -> Option<u32> {
        let is_first = || {
            let first = self.first.as_ref();
            first.is_some_and(|first| first.binary_search(&own_world).is_ok())
        };
        let group = match &self.remote {
            Some(remote) if is_first() => remote,
            _ => &self.members,
        };
        group.get(rank as usize).copied()
    }

    /// From world ranks to ranks here: by a table, except in the world and its copies. A search for
    /// each member would take as long as the communicator is large.
    fn places(&self) -> impl Fn(u32) -> Option<u32> + use<> {
        let size = self.members.len() as u32;
        let is_world = self.remote.is_none() && self.members.iter().copied().eq(0..size);
        let ranks = (!is_world).then(|| self.ranks());
        move |world| match &ranks {
            Some(ranks) => ranks.get(&world).copied(),
            None => (world < size).then_some(world),
        }
    }

    /// The rank of each world rank, of the first group if it is in both.
    fn ranks(&self) -> HashMap<u32, u32, Fast> {
        let remote = self
            .remote
            .iter()
            .flat_map(|remote| (0..).zip(remote.iter()));
        let mut ranks = HashMap::default();
        for (rank, &world) in (0..).zip(self.members.iter()).chain(remote) {
            ranks.entry(world).or_insert(rank);
        }
        ranks
    }

    fn everyone(&self) -> impl Iterator<Item = u32> + '_ {
        self.members
            .iter()
            .chain(self.remote.iter().flat_map(|remote| remote.iter()))
            .copied()
    }
}

#[derive(Clone, Debug)]
pub struct Communicators {
    /// Indexed by number; 0 is the world.
    pub all: Vec<GlobalComm>,
    /// The number of each rank's communicators, by program index and local index.
    of_local: Vec<Vec<u32>>,
    own_rank: Vec<Vec<u32>>,
    /// Creations that some members did not record.
    pub incomplete: u64,
}

impl Communicators {
    #[inline]
    pub fn global(&self, program: usize, local: LocalId) -> u32 {
        self.of_local[program][usize::from(local)]
    }

    /// The program's own rank in the communicator, as its messages carry it.
    #[inline]
    pub fn own_rank(&self, program: usize, local: LocalId) -> u32 {
        self.own_rank[program][usize::from(local)]
    }

    /// Communicators known in advance. `names` may end with a number, `of_local` lists each
    /// program's communicators, and every process in `members` belongs to all of them.
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
                label: String::new(),
                members: Arc::clone(&members),
                remote: None,
                first: None,
                translation: Translation::Exact,
                collectives: false,
                dims: None,
            }
        };
        let own_rank = of_local.iter().map(|comms| vec![0; comms.len()]).collect();
        let mut all: Vec<_> = names.into_iter().enumerate().map(comm).collect();
        label(&mut all);
        Self {
            all,
            of_local,
            own_rank,
            incomplete: 0,
        }
    }

    /// Adds a context for the collective operations of each communicator in `of`, and gives it to
    /// the programs: for each program its context by communicator. A program that has 65,535
    /// communicators gets none.
    pub(super) fn add_contexts(
        &mut self,
        programs: &mut [Program],
        of: &[u32],
    ) -> Vec<HashMap<u32, LocalId>> {
        let first = self.all.len() as u32;
        for &comm in of {
            let comm = &self.all[comm as usize];
            let name = format!("collectives of {}", comm.name);
            let label = format!("{} collectives", comm.label);
            self.all.push(GlobalComm {
                name,
                label,
                collectives: true,
                dims: None,
                ..comm.clone()
            });
        }
        let contexts = programs.iter_mut().enumerate().map(|(at, program)| {
            let mut contexts = HashMap::new();
            for local in 0..program.comms.len() {
                let comm = self.of_local[at][local];
                let Ok(place) = of.binary_search(&comm) else {
                    continue;
                };
                let context = program.comms.len();
                if contexts.contains_key(&comm) || context >= usize::from(LocalId::MAX) {
                    continue;
                }
                contexts.insert(comm, context as LocalId);
                program.comms.push(program.comms[local]);
                self.of_local[at].push(first + place as u32);
                let own = self.own_rank[at][local];
                self.own_rank[at].push(own);
            }
            contexts
        });
        contexts.collect()
    }

    /// Identifies all communicators. `processes` is the size of the world.
    pub fn resolve(programs: &[Program], processes: u32) -> Self {
        Resolver::new(programs, processes).run()
    }
}

const OPEN: u32 = u32::MAX;
type Creation = (u32, u32);
/// The leaders' world ranks, lower first, and their tag.
type Handshake = (u32, u32, i32);
/// A side of an inter-communicator: its group and the programs there.
type Side = (Arc<[u32]>, Vec<usize>);

/// Labels communicators so that no two share one. If two share number and name, the names get the
/// labels as well.
fn label(all: &mut [GlobalComm]) {
    let lowest = |comm: &GlobalComm| comm.everyone().min().unwrap_or(0);
    let mut by_number: HashMap<u32, u32> = HashMap::new();
    let mut by_name: HashMap<(u32, String), u32> = HashMap::new();
    for comm in all.iter() {
        *by_number.entry(comm.number).or_default() += 1;
        *by_name.entry((comm.number, comm.name.clone())).or_default() += 1;
    }
    let mut by_rank: HashMap<(u32, u32), u32> = HashMap::new();
    for comm in all {
        let (number, rank) = (comm.number, lowest(comm));
        let count = by_rank.entry((number, rank)).or_default();
        *count += 1;
        comm.label = match (by_number[&number], *count) {
            (1, _) => number.to_string(),
            (_, 1) => format!("{number}@{rank}"),
            (_, count) => format!("{number}@{rank}#{count}"),
        };
        if by_name[&(number, comm.name.clone())] > 1 {
            comm.name = format!("{}, {}", comm.name, comm.label);
        }
    }
}

/// Members of a communicator that have a trace.
#[derive(Clone, Copy, Debug)]
struct Expected {
    members: usize,
    /// Whether these are all.
    whole: bool,
}

/// Follows the creating calls of all programs together ([`follow`]) and makes the communicators
/// ([`create`]).
struct Resolver<'a> {
    programs: &'a [Program],
    index: HashMap<u32, usize>,
    world: Arc<[u32]>,
    all: Vec<GlobalComm>,
    of_local: Vec<Vec<u32>>,
    groups: Groups,
    /// Each program's groups by its own numbers.
    group_handles: Vec<HashMap<Group, GroupId, Fast>>,
    next: Vec<usize>,
    creations: HashMap<(usize, u32), u32>,
    waiting: BTreeMap<Creation, Vec<usize>>,
    /// By communicator, counted once: each of its members asks at each creation.
    expected: HashMap<u32, Expected, Fast>,
    /// The results, by colour, of creations that were closed before all members came.
    closed: HashMap<Creation, Vec<(Option<u32>, u32)>>,
    unknown: HashMap<u32, u32>,
    /// Inter-communicators with processes that have no trace, by number.
    strangers: HashMap<u32, u32>,
    /// Inter-communicators with one complete side.
    halves: HashMap<Handshake, Side>,
    /// Sides that wait for the other one: those that accept, and those that connect.
    connections: [VecDeque<Side>; 2],
    /// The inter-communicators of joined connections.
    connected: Vec<u32>,
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
            first: None,
            translation: Translation::Exact,
            number,
            label: String::new(),
            collectives: false,
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
            groups: Groups::new(),
            group_handles: vec![HashMap::default(); programs.len()],
            next: vec![0; programs.len()],
            creations: HashMap::new(),
            waiting: BTreeMap::new(),
            expected: HashMap::default(),
            closed: HashMap::new(),
            unknown: HashMap::new(),
            strangers: HashMap::new(),
            halves: HashMap::new(),
            connections: Default::default(),
            connected: Vec::new(),
            ready: (0..programs.len()).collect(),
            incomplete: 0,
        }
    }

    fn run(mut self) -> Communicators {
        loop {
            while let Some(program) = self.ready.pop_front() {
                self.advance(program);
            }
            // Every program waits for a rank that recorded less or has no trace: the first creation
            // proceeds without it.
            if let Some((&creation, _)) = self.waiting.first_key_value() {
                self.incomplete += 1;
                self.close(creation, false);
            } else if !self.give_up_sides() {
                break;
            }
        }
        for program in 0..self.programs.len() {
            for local in 0..self.programs[program].comms.len() {
                self.global(program, local as LocalId);
            }
        }
        let mut ranks: HashMap<u32, HashMap<u32, u32, Fast>, Fast> = HashMap::default();
        let own_rank = self
            .of_local
            .iter()
            .zip(self.programs)
            .map(|(locals, program)| {
                let known = |(&global, local): (&u32, &LocalComm)| {
                    let comm = &self.all[global as usize];
                    // Of the world, and of its copies, no table is needed.
                    let there = match comm.members.get(program.rank as usize) {
                        Some(&member) if member == program.rank => Some(member),
                        _ => {
                            let ranks = ranks.entry(global).or_insert_with(|| comm.ranks());
                            ranks.get(&program.rank).copied()
                        }
                    };
                    there.or(local.own_rank).unwrap_or(program.rank)
                };
                locals.iter().zip(&program.comms).map(known).collect()
            });
        let own_rank = own_rank.collect();
        label(&mut self.all);
        Communicators {
            all: self.all,
            of_local: self.of_local,
            own_rank,
            incomplete: self.incomplete,
        }
    }
}
