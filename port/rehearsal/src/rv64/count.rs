//! Counts of a hart's work by phase.

pub const PHASES: usize = 32;
/// Number of marks: the unsigned constant of `slti x0, x0, constant`.
pub const MARKS: usize = 2048;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Mark {
    #[default]
    Ignore,
    Enter(u8),
    /// Holds this phase, whatever mark enters another, until [`Mark::Leave`].
    Hold(u8),
    /// Ends [`Mark::Hold`] and enters this phase.
    Leave(u8),
    /// The hart has built what all harts use.
    SetUp,
    /// All harts start counting from zero. Weak memory begins.
    CountFrom,
    /// All harts stop counting. Weak memory ends.
    CountTo,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Count {
    /// Instructions, without marks.
    pub instructions: u64,
    pub loads: u64,
    pub stores: u64,
    pub byte_stores: u64,
    /// Read-modify-writes, and pairs of `lr` and `sc` (counted at `sc`).
    pub atomics: u64,
    pub fences: u64,
    pub divisions: u64,
    /// How often the phase, or the way between two marks, was entered.
    pub entered: u64,
    /// Loads that missed the first level (stores never wait), of unshared lines: private to the
    /// hart, or never written.
    pub own: u64,
    /// Missed loads of lines that one hart writes and another uses.
    pub shared: u64,
    /// Fetches of code that missed.
    pub code: u64,
}

impl Count {
    pub fn add(&mut self, other: &Self) {
        self.instructions += other.instructions;
        self.loads += other.loads;
        self.stores += other.stores;
        self.byte_stores += other.byte_stores;
        self.atomics += other.atomics;
        self.fences += other.fences;
        self.divisions += other.divisions;
        self.entered += other.entered;
        self.own += other.own;
        self.shared += other.shared;
        self.code += other.code;
    }
}
