//! The definitions of the whole run: the clock, functions, locations of ranks, communicators.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use crate::region::Region;
use crate::{Comm, Function, TraceError, TraceErrorKind};

use super::cursor::{Cursor, Fault};

/// Kinds of records that are read.
mod kind {
    pub(super) const END_OF_CHUNK: u8 = 0;
    pub(super) const END_OF_FILE: u8 = 2;
    pub(super) const CLOCK_PROPERTIES: u8 = 5;
    pub(super) const STRING: u8 = 10;
    pub(super) const REGION: u8 = 15;
    pub(super) const GROUP: u8 = 18;
    pub(super) const COMM: u8 = 22;
}

/// Types of groups.
const LOCATIONS: u8 = 4;
const RANKS: u8 = 5;
const ITSELF: u8 = 6;
const MPI: u8 = 4;
/// Number of the first communicator that is neither the world nor itself.
const FIRST: u32 = 4;

#[derive(Debug)]
struct Group {
    of: u8,
    members: Vec<u64>,
}

/// A communicator: its number among handles, and the world ranks of its members in their order.
#[derive(Debug)]
pub(super) struct Members {
    pub(super) comm: Comm,
    pub(super) ranks: Vec<u64>,
}

#[derive(Debug, Default)]
pub(super) struct Definitions {
    pub(super) ticks_per_second: u64,
    /// Ticks at the start of the run.
    pub(super) start: u64,
    pub(super) functions: HashMap<u32, Function>,
    /// Regions of MPI functions that the table of functions lacks, with their names.
    pub(super) unknown: HashMap<u32, String>,
    /// The location of each rank of `MPI_COMM_WORLD`.
    pub(super) locations: Vec<u64>,
    pub(super) comms: BTreeMap<u32, Members>,
    /// What was not read, with numbers.
    pub(super) not_read: Vec<String>,
}

#[derive(Default)]
struct Raw {
    clock: Option<(u64, u64)>,
    strings: HashMap<u32, String>,
    regions: Vec<(u32, u32)>,
    groups: HashMap<u32, Group>,
    /// Groups before OTF2 1.2, whose types have another meaning.
    old_groups: u64,
    /// Groups of other paradigms than MPI, by paradigm.
    other_groups: BTreeMap<u8, u64>,
    comms: Vec<(u32, u32, u32)>,
}

/// Visits the records of a file of definitions, which is read as a whole: their kind and fields.
pub(super) fn records(
    file: &Path,
    chunk_bytes: usize,
    mut visit: impl FnMut(u8, Cursor<'_>) -> Result<(), Fault>,
) -> Result<(), TraceError> {
    let bytes = Region::open(file)?.bytes_at(0, u64::MAX)?;
    for (chunk, start) in bytes.chunks(chunk_bytes).zip((0..).step_by(chunk_bytes)) {
        let mut cursor = Cursor::chunk(chunk).map_err(|fault| fault.at(file, start))?;
        loop {
            let offset = start + cursor.position() as u64;
            let record = cursor.u8().and_then(|kind| match kind {
                kind::END_OF_FILE | kind::END_OF_CHUNK => Ok((kind, cursor)),
                _ => Ok((kind, cursor.record()?)),
            });
            let read = record.and_then(|(kind, fields)| match kind {
                kind::END_OF_FILE | kind::END_OF_CHUNK => Ok(kind),
                _ => visit(kind, fields).map(|()| kind),
            });
            match read.map_err(|fault| fault.at(file, offset))? {
                kind::END_OF_FILE => return Ok(()),
                kind::END_OF_CHUNK => break,
                _ => {}
            }
        }
    }
    Err(Fault::Short.at(file, bytes.len() as u64))
}

pub(super) fn read(file: &Path, chunk_bytes: usize) -> Result<Definitions, TraceError> {
    let mut raw = Raw::default();
    records(file, chunk_bytes, |kind, fields| raw.record(kind, fields))?;
    let wrong = |what: &str| TraceError::new(file, TraceErrorKind::Unsupported(what.to_owned()));
    let (ticks_per_second, start) = raw
        .clock
        .filter(|clock| clock.0 > 0)
        .ok_or_else(|| wrong("it defines no clock"))?;
    let of_ranks = raw.groups.values().find(|group| group.of == LOCATIONS);
    let locations = of_ranks.map(|group| group.members.clone());
    let locations = locations.ok_or_else(|| {
        wrong(match raw.old_groups {
            0 => "it defines no MPI ranks",
            _ => "its groups are those of OTF2 before 1.2, which are not read",
        })
    })?;
    let name = |string: &u32| raw.strings.get(string).map_or("", String::as_str);
    let mut functions = HashMap::new();
    let mut unknown = HashMap::new();
    for (region, string) in &raw.regions {
        // TAU writes parentheses behind the names.
        let name = name(string).trim_end_matches("()").trim_end();
        match Function::from_name(name) {
            Some(function) => {
                functions.insert(*region, function);
            }
            None if name.starts_with("MPI_") => {
                unknown.insert(*region, name.to_owned());
            }
            None => {}
        }
    }
    let everyone = |group: &u32| {
        let group = raw.groups.get(group);
        group.is_some_and(|it| it.of == RANKS && it.members.len() == locations.len())
    };
    let world = raw
        .comms
        .iter()
        .find(|(_, string, _)| name(string) == "MPI_COMM_WORLD");
    let world = world.or_else(|| raw.comms.iter().find(|(.., group)| everyone(group)));
    let world = world.map(|(comm, ..)| *comm);
    let comms = raw.comms.iter().filter_map(|&(comm, _, group)| {
        let group = raw.groups.get(&group)?;
        let handle = match group.of {
            _ if world == Some(comm) => Comm::WORLD,
            ITSELF => Comm::SELF,
            RANKS => Comm(comm.checked_add(FIRST)?),
            _ => return None,
        };
        Some((
            comm,
            Members {
                comm: handle,
                ranks: group.members.clone(),
            },
        ))
    });
    let comms: BTreeMap<_, _> = comms.collect();
    let mut not_read = Vec::new();
    if raw.old_groups > 0 {
        not_read.push(format!("groups of OTF2 before 1.2: {}", raw.old_groups));
    }
    for (paradigm, groups) in &raw.other_groups {
        not_read.push(format!("groups of paradigm {paradigm}: {groups}"));
    }
    let lost = raw.comms.len() - comms.len();
    if lost > 0 {
        not_read.push(format!("communicators without known members: {lost}"));
    }
    Ok(Definitions {
        ticks_per_second,
        start,
        functions,
        unknown,
        locations,
        comms,
        not_read,
    })
}

impl Raw {
    fn record(&mut self, kind: u8, mut it: Cursor<'_>) -> Result<(), Fault> {
        match kind {
            kind::CLOCK_PROPERTIES => self.clock = Some((it.u64()?, it.u64()?)),
            kind::STRING => {
                let (string, text) = (it.u32()?, it.text()?);
                self.strings
                    .insert(string, String::from_utf8_lossy(text).into_owned());
            }
            kind::REGION => self.regions.push((it.u32()?, it.u32()?)),
            kind::GROUP => {
                let (group, _name, _old_type) = (it.u32()?, it.u32()?, it.u8()?);
                let members = (0..it.u32()?).map(|_| it.u64()).collect::<Result<_, _>>()?;
                // OTF2 before 1.2 ends here.
                if !it.is_at_end() {
                    let (of, paradigm) = (it.u8()?, it.u8()?);
                    if paradigm == MPI {
                        self.groups.insert(group, Group { of, members });
                    } else {
                        *self.other_groups.entry(paradigm).or_default() += 1;
                    }
                } else {
                    self.old_groups += 1;
                }
            }
            kind::COMM => self.comms.push((it.u32()?, it.u32()?, it.u32()?)),
            _ => {}
        }
        Ok(())
    }
}
