//! The machine: harts in turn, memory, and a host.

use std::collections::BTreeMap;

use super::count::{Count, MARKS, Mark, PHASES};
use super::hart::{Hart, Shared, Then};
use super::image::Image;
use super::lines::{CacheSetup, Caches, Segments};
use super::memory::Memory;
use super::semihosting::Host;
use super::weak::{Weak, WeakOptions};

/// Instructions of a hart's turn, unless it waits; weak memory has its own turns.
const TURN: u32 = 64;

#[derive(Clone, Debug)]
pub struct Setup {
    pub harts: usize,
    pub memory: usize,
    /// The command line for the program; its first word is the program's name.
    pub arguments: String,
    pub files: BTreeMap<String, Vec<u8>>,
    /// Effect of each mark: [`MARKS`] of them, or none.
    pub marks: Vec<Mark>,
    /// Weak memory between [`Mark::CountFrom`] and [`Mark::CountTo`]; `None`: sequentially
    /// consistent.
    pub weak: Option<WeakOptions>,
    pub caches: Option<CacheSetup>,
    pub limit: u64,
}

impl Default for Setup {
    /// One hart, 64 MiB, no arguments and files, memory in order, 10^10 instructions.
    fn default() -> Self {
        Self {
            harts: 1,
            memory: 64 << 20,
            arguments: String::new(),
            files: BTreeMap::new(),
            marks: Vec::new(),
            weak: None,
            caches: None,
            limit: 10_000_000_000,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Fault {
    #[error("illegal instruction at {pc:#x}")]
    Illegal { pc: u64 },
    #[error("access to {address:#x}, which is no memory, at {pc:#x}")]
    Outside { pc: u64, address: u64 },
    #[error("unaligned access to {address:#x} at {pc:#x}")]
    Unaligned { pc: u64, address: u64 },
    #[error("unknown semihosting operation {operation:#x}")]
    Semihosting { operation: u64 },
    #[error("no end after {instructions} instructions")]
    Limit { instructions: u64 },
    #[error("the program does not fit in memory")]
    Size,
}

#[derive(Clone, Debug)]
pub struct Outcome {
    pub end: Result<i32, Fault>,
    pub console: String,
    /// All files, including written ones.
    pub files: BTreeMap<String, Vec<u8>>,
    pub counts: Vec<[Count; PHASES]>,
    /// Instructions of the whole run by hart, marks included.
    pub retired: Vec<u64>,
    /// Lowest stack pointer by hart while counting, if it moved.
    pub lowest_stack: Vec<Option<u64>>,
    /// Lowest stack pointer at [`Mark::SetUp`].
    pub lowest_before: Option<u64>,
    /// Work between marks by hart while counting, if there are caches.
    pub segments: Vec<Segments>,
    /// Stores that waited in a buffer.
    pub delayed: u64,
    /// Loads that returned an old version.
    pub stale: u64,
    /// Deferred loads.
    pub late: u64,
}

/// Runs a program to its end.
///
/// Deterministic: equal images and setups give equal outcomes, instruction by instruction.
pub fn run(image: &Image, setup: &Setup) -> Outcome {
    let mut machine = Machine::new(image, setup);
    let end = match machine.load() {
        Some(()) => machine.run(setup.limit),
        None => Err(Fault::Size),
    };
    machine.outcome(end)
}

struct Machine<'a> {
    shared: Shared,
    harts: Vec<Hart>,
    image: &'a Image,
    host: Host,
    marks: Vec<Mark>,
    /// Whether counting switches weak memory on.
    is_weak: bool,
    lowest_before: Option<u64>,
}

impl<'a> Machine<'a> {
    fn new(image: &'a Image, setup: &Setup) -> Self {
        let mut marks = setup.marks.clone();
        marks.resize(MARKS, Mark::Ignore);
        Self {
            shared: Shared {
                weak: Weak::new(
                    Memory::new(setup.memory),
                    setup.weak.unwrap_or_default(),
                    setup.harts,
                ),
                caches: setup
                    .caches
                    .map(|caches| Caches::new(caches, setup.harts, setup.memory)),
            },
            harts: (0..setup.harts)
                .map(|number| Hart::new(number, image.entry))
                .collect(),
            image,
            host: Host::new(setup.arguments.clone(), setup.files.clone()),
            marks,
            is_weak: setup.weak.is_some(),
            lowest_before: None,
        }
    }

    fn load(&mut self) -> Option<()> {
        self.image
            .parts
            .iter()
            .try_for_each(|(at, bytes)| self.shared.weak.memory.write(*at, bytes))
    }

    fn run(&mut self, limit: u64) -> Result<i32, Fault> {
        let mut done = 0;
        let mut hart = 0;
        loop {
            let weak = &mut self.shared.weak;
            let turn = if weak.is_on {
                hart = weak.random.below(self.harts.len() as u32) as usize;
                weak.turn()
            } else {
                hart = (hart + 1) % self.harts.len();
                TURN
            };
            let before = self.harts[hart].retired;
            let ended = if self.shared.weak.is_on {
                self.turn::<true>(hart, turn)?
            } else {
                self.turn::<false>(hart, turn)?
            };
            if let Some(code) = ended {
                return Ok(code);
            }
            done += self.harts[hart].retired - before;
            if done > limit {
                return Err(Fault::Limit { instructions: done });
            }
        }
    }

    /// Runs a turn of one hart; `Some`: the program ended.
    fn turn<const WEAK: bool>(&mut self, hart: usize, turn: u32) -> Result<Option<i32>, Fault> {
        for _ in 0..turn {
            let hart = &mut self.harts[hart];
            let index = hart.pc.wrapping_sub(self.image.code.0) as usize >> 1;
            let Some(instruction) = self.image.code.1.get(index) else {
                return Err(Fault::Illegal { pc: hart.pc });
            };
            if let Some(caches) = &mut self.shared.caches {
                caches.fetch(hart.number, hart.pc);
            }
            match hart.execute::<WEAK>(&mut self.shared, instruction)? {
                Then::Go => {}
                Then::Yield => return Ok(None),
                Then::Mark(mark) => {
                    let (number, retired) = (hart.number, hart.retired);
                    if let Some(caches) = &mut self.shared.caches {
                        caches.mark(number, mark, retired);
                    }
                    // The mark may have switched weak memory on or off.
                    if self.mark(number, self.marks[usize::from(mark)]) {
                        return Ok(None);
                    }
                }
                Then::Break => {
                    let number = hart.number;
                    return self.call(number);
                }
            }
        }
        Ok(None)
    }

    /// Applies a mark; returns whether it concerns all harts.
    fn mark(&mut self, number: usize, mark: Mark) -> bool {
        let hart = &mut self.harts[number];
        match mark {
            Mark::Ignore => return false,
            Mark::SetUp => {
                self.lowest_before = Some(hart.lowest);
                return false;
            }
            Mark::Enter(_) if hart.held => return false,
            Mark::Enter(phase) | Mark::Hold(phase) | Mark::Leave(phase) => {
                hart.phase = phase % PHASES as u8;
                hart.held = matches!(mark, Mark::Hold(_));
                if hart.counting {
                    hart.counts[usize::from(hart.phase)].entered += 1;
                }
                return false;
            }
            Mark::CountFrom => {
                for hart in &mut self.harts {
                    hart.counts = [Count::default(); PHASES];
                    hart.lowest = u64::MAX;
                    hart.counting = true;
                }
                if let Some(caches) = &mut self.shared.caches {
                    caches.count(true);
                }
                self.shared.weak.is_on = self.is_weak;
            }
            Mark::CountTo => {
                self.harts.iter_mut().for_each(|hart| hart.counting = false);
                if let Some(caches) = &mut self.shared.caches {
                    caches.count(false);
                }
                for hart in &mut self.harts {
                    (0..32).for_each(|register| hart.settle(&mut self.shared, register));
                }
                for hart in &mut self.harts {
                    self.shared.weak.drain_all(&mut hart.order);
                }
                self.shared.weak.end();
            }
        }
        true
    }

    /// An `ebreak`, which calls the host if the two hints surround it.
    fn call(&mut self, number: usize) -> Result<Option<i32>, Fault> {
        const BEFORE: u32 = 0x01f0_1013;
        const AFTER: u32 = 0x4070_5013;
        let (hart, shared) = (&mut self.harts[number], &mut self.shared);
        let at = hart.pc.wrapping_sub(4);
        let word = |address: u64| {
            let bytes = shared.weak.memory.read(address, 4)?;
            Some(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
        };
        if word(at.wrapping_sub(4)) != Some(BEFORE) || word(at.wrapping_add(4)) != Some(AFTER) {
            return Err(Fault::Illegal { pc: at });
        }
        (0..32).for_each(|register| hart.settle(shared, register));
        if shared.weak.is_on {
            shared.weak.synchronize(&mut hart.order);
        }
        match self
            .host
            .call(&mut shared.weak.memory, hart.x[10], hart.x[11])
        {
            Ok(answer) => {
                hart.x[10] = answer;
                Ok(None)
            }
            Err(end) => end.map(Some),
        }
    }

    fn outcome(self, end: Result<i32, Fault>) -> Outcome {
        let Weak {
            delayed,
            stale,
            late,
            ..
        } = self.shared.weak;
        let lowest = |hart: &Hart| (hart.lowest != u64::MAX).then_some(hart.lowest);
        Outcome {
            end,
            console: self.host.console,
            files: self.host.files,
            counts: self.harts.iter().map(|hart| hart.counts).collect(),
            retired: self.harts.iter().map(|hart| hart.retired).collect(),
            lowest_stack: self.harts.iter().map(lowest).collect(),
            lowest_before: self.lowest_before,
            segments: self.shared.caches.map_or_else(Vec::new, Caches::segments),
            delayed,
            stale,
            late,
        }
    }
}
