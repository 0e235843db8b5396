//! Which communicator hints the trace allows (MPI 4.1, section 7.4.4; S24).

use crate::analyze::program::{Kind, Program, Transfer, UNKNOWN};

/// Where a hint is violated.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
pub struct Violation {
    /// The rank.
    pub rank: u32,
    /// Number of the call there, from 0.
    pub call: u32,
    /// The function.
    pub function: &'static str,
}

impl Violation {
    fn at(rank: u32, transfer: &Transfer) -> Self {
        Self { rank, call: transfer.call, function: transfer.function_name() }
    }
}

/// For each hint how often it is violated, and where first; 0 and none where the trace proves it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct Hint {
    /// Violations.
    pub count: u64,
    /// The first, of the lowest rank.
    pub first: Option<Violation>,
}

impl Hint {
    fn violated(&mut self, violation: impl FnOnce() -> Violation) {
        self.count += 1;
        if self.first.is_none() {
            self.first = Some(violation());
        }
    }

    fn add(&mut self, other: &Self) {
        self.count += other.count;
        self.first = self.first.or(other.first);
    }
}

/// The hints.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct Hints {
    /// `mpi_assert_no_any_source`: receives and probes of any source violate it.
    pub no_any_source: Hint,
    /// `mpi_assert_no_any_tag`: those of any tag.
    pub no_any_tag: Hint,
    /// `mpi_assert_exact_length`: messages shorter or longer than the room of the receive that got them.
    pub exact_length: Hint,
    /// `mpi_assert_allow_overtaking`: receives that had a choice among messages, or messages among receives, so that
    /// another choice could have been made. What is counted depends on the order replayed: 0 is no proof.
    pub allow_overtaking: Hint,
}

impl Hints {
    /// Adds another rank's or communicator's.
    pub fn add(&mut self, other: &Self) {
        self.no_any_source.add(&other.no_any_source);
        self.no_any_tag.add(&other.no_any_tag);
        self.exact_length.add(&other.exact_length);
        self.allow_overtaking.add(&other.allow_overtaking);
    }

    /// A receive or probe is made.
    #[inline]
    pub(crate) fn asked(&mut self, program: &Program, at: u32) {
        let transfer = &program.transfers[at as usize];
        if transfer.peer < 0 {
            self.no_any_source.violated(|| Violation::at(program.rank, transfer));
        }
        if transfer.tag < 0 {
            self.no_any_tag.violated(|| Violation::at(program.rank, transfer));
        }
        debug_assert!(matches!(transfer.kind, Kind::Recv | Kind::Probe), "only these ask");
    }

    /// A receive got a message of so many bytes.
    #[inline]
    pub(crate) fn matched(&mut self, program: &Program, at: u32, bytes: u32) {
        let transfer = &program.transfers[at as usize];
        if bytes != transfer.bytes && bytes != UNKNOWN && transfer.bytes != UNKNOWN {
            self.exact_length.violated(|| Violation::at(program.rank, transfer));
        }
    }

    /// A receive got a message; `others` says whether another pair was possible at that moment.
    #[inline]
    pub(crate) fn chosen(&mut self, program: &Program, at: u32, others: bool) {
        let transfer = &program.transfers[at as usize];
        if others || transfer.peer < 0 || transfer.tag < 0 {
            self.allow_overtaking.violated(|| Violation::at(program.rank, transfer));
        }
    }
}
