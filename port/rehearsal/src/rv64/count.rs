//! What a hart did, by phase.

/// Phases that a machine can tell apart.
pub const PHASES: usize = 32;
/// Marks that code can set: the constant of `slti x0, x0, constant`, without sign.
pub const MARKS: usize = 2048;

/// What a mark does to the hart that meets it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Mark {
    /// Nothing.
    #[default]
    Ignore,
    /// What follows belongs to this phase.
    Enter(u8),
    /// What follows belongs to this phase, whatever is entered, until [`Mark::Leave`].
    Hold(u8),
    /// The end of [`Mark::Hold`]; then this phase.
    Leave(u8),
    /// All harts count from zero, from here on. Weak memory begins.
    CountFrom,
    /// No hart counts any more. Weak memory ends.
    CountTo,
}

/// What was done in one phase.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Count {
    /// Instructions, without marks.
    pub instructions: u64,
    /// Loads.
    pub loads: u64,
    /// Stores.
    pub stores: u64,
    /// Of these, single bytes.
    pub byte_stores: u64,
    /// Read-modify-writes, and pairs of `lr` and `sc` (counted at `sc`).
    pub atomics: u64,
    /// Fences.
    pub fences: u64,
    /// Divisions and remainders.
    pub divisions: u64,
    /// How often a mark entered the phase.
    pub entered: u64,
}

impl Count {
    /// Adds another count.
    pub fn add(&mut self, other: &Self) {
        self.instructions += other.instructions;
        self.loads += other.loads;
        self.stores += other.stores;
        self.byte_stores += other.byte_stores;
        self.atomics += other.atomics;
        self.fences += other.fences;
        self.divisions += other.divisions;
        self.entered += other.entered;
    }
}
