//! Follows each program's creating calls, and communicators that no recorded call created.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Creation, Expected, GlobalComm, OPEN, Resolver, Translation};
use crate::analyze::origin::{Connection, How, LocalId, Origin};

impl<'a> Resolver<'a> {
    /// Follows a program's creating calls until one must wait for other ranks.
    pub(super) fn advance(&mut self, program: usize) {
        while let Some(origin) = self.programs[program].origins.get(self.next[program]) {
            match origin {
                Origin::Group { how, new } => {
                    let group = self.group(program, how);
                    self.group_handles[program].insert(*new, group);
                }
                Origin::Comm {
                    parent: None, new, ..
                } => self.with_strangers(program, *new),
                Origin::Comm {
                    parent: Some(parent),
                    how,
                    new,
                    ..
                } => {
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
        // A member without a trace never arrives, so the creation does not wait for it.
        let (all, index) = (&self.all, &self.index);
        let expected = self.expected.entry(creation.0).or_insert_with(|| {
            let everyone = || all[creation.0 as usize].everyone();
            let expected = everyone().filter(|world| index.contains_key(world)).count();
            Expected {
                members: expected,
                whole: expected == everyone().count(),
            }
        });
        if here >= expected.members {
            let whole = expected.whole;
            self.close(creation, whole);
        }
    }

    /// Adds a rank whose communicator was made without it.
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

    /// A program's communicator, as its number in the run. One without creation is named by number.
    pub(super) fn global(&mut self, program: usize, local: LocalId) -> u32 {
        let known = self.of_local[program][usize::from(local)];
        if known == OPEN {
            self.name_unknown(program, Some(local));
        }
        self.of_local[program][usize::from(local)]
    }

    fn name_unknown(&mut self, program: usize, local: Option<LocalId>) {
        let Some(local) = local.map(usize::from) else {
            return;
        };
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

    /// An inter-communicator with processes that have no trace here. All ranks with its number
    /// share it, since their messages go to none of each other.
    fn with_strangers(&mut self, program: usize, local: Option<LocalId>) {
        let Some(local) = local.map(usize::from) else {
            return;
        };
        let number = self.programs[program].comms[local].number;
        let global = match self.strangers.get(&number) {
            Some(&known) => known,
            None => {
                let name = "inter-communicator with processes without a trace".to_owned();
                let world = self.world.clone();
                let global = self.push(name, world, Some([].into()), Translation::Assumed, number);
                self.strangers.insert(number, global);
                global
            }
        };
        self.of_local[program][local] = global;
    }

    /// Members of the communicator with this number, if every rank that has it without a creating
    /// call also recorded a rank in it, and all recorded ranks differ.
    fn reported_members(&self, number: u32) -> Option<Arc<[u32]>> {
        let mut members = BTreeMap::new();
        for program in self.programs {
            let here = program
                .comms
                .iter()
                .find(|comm| comm.number == number && !comm.made);
            let Some(comm) = here else { continue };
            if members.insert(comm.own_rank?, program.rank).is_some() {
                return None;
            }
        }
        let dense = members
            .keys()
            .enumerate()
            .all(|(at, &rank)| at as u32 == rank);
        dense.then(|| members.into_values().collect())
    }

    pub(super) fn push(
        &mut self,
        name: String,
        members: Arc<[u32]>,
        remote: Option<Arc<[u32]>>,
        translation: Translation,
        number: u32,
    ) -> u32 {
        let first = remote.is_some().then(|| {
            let mut first = members.to_vec();
            first.sort_unstable();
            first.into()
        });
        self.all.push(GlobalComm {
            name,
            members,
            remote,
            first,
            translation,
            number,
            label: String::new(),
            collectives: false,
            dims: None,
        });
        self.all.len() as u32 - 1
    }

    pub(super) fn connection(&self, program: usize) -> Option<Connection> {
        match &self.programs[program].origins[self.next[program]] {
            Origin::Comm { connection, .. } => *connection,
            Origin::Group { .. } => None,
        }
    }

    pub(super) fn call(&self, program: usize) -> (&'a How, Option<LocalId>) {
        match &self.programs[program].origins[self.next[program]] {
            Origin::Comm { how, new, .. } => (how, *new),
            Origin::Group { .. } => (&How::Dynamic, None),
        }
    }
}

fn color(how: &How) -> Option<u32> {
    match how {
        How::Split { color, .. } => *color,
        _ => None,
    }
}
