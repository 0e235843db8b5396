//! Which communicator hints the trace permits (MPI 4.1, section 7.4.4; S24).

use crate::analyze::inbound::Inbound;
use crate::analyze::program::{Program, Transfer, TransferKind, UNKNOWN, UNKNOWN_BYTES};
use dpamatch_traces::Function;

#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
pub struct Violation {
    pub rank: u32,
    /// Number of the call at this rank, from 0.
    pub call: u32,
    pub function: &'static str,
}

impl Violation {
    pub(crate) fn at(rank: u32, transfer: &Transfer) -> Self {
        Self {
            rank,
            call: transfer.call,
            function: transfer.function_name(),
        }
    }

    pub(crate) fn of_call(rank: u32, call: u32, function: u16) -> Self {
        Self {
            rank,
            call,
            function: Function::from_number(function).map_or("?", Function::name),
        }
    }
}

/// The violations of a hint: none if the trace proves it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct Hint {
    pub count: u64,
    pub first: Option<Violation>,
    /// Receives about which the trace says nothing.
    pub unknown: u64,
}

impl Hint {
    fn violated(&mut self, violation: impl FnOnce() -> Violation) {
        self.count += 1;
        if self.first.is_none() {
            self.first = Some(violation());
        }
    }

    /// Counts violations by calls outside the replay; the first may precede the recorded first.
    fn violated_without_message(&mut self, count: u64, call: Violation) {
        self.count += count;
        self.first = Some(
            self.first
                .filter(|first| first.call < call.call)
                .unwrap_or(call),
        );
    }

    fn add(&mut self, other: &Self) {
        self.count += other.count;
        self.first = self.first.or(other.first);
        self.unknown += other.unknown;
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct Hints {
    /// `mpi_assert_no_any_source`: receives and probes of any source violate it, including probes
    /// that find nothing.
    pub no_any_source: Hint,
    /// `mpi_assert_no_any_tag`: receives and probes of any tag violate it.
    pub no_any_tag: Hint,
    /// `mpi_assert_exact_length`: messages shorter or longer than their receive's capacity violate
    /// it.
    pub exact_length: Hint,
    /// `mpi_assert_allow_overtaking`: counts receives with a choice among messages, and messages
    /// with a choice among receives. The count depends on the replayed order, so 0 is no proof.
    pub allow_overtaking: Hint,
}

impl Hints {
    pub fn add(&mut self, other: &Self) {
        self.no_any_source.add(&other.no_any_source);
        self.no_any_tag.add(&other.no_any_tag);
        self.exact_length.add(&other.exact_length);
        self.allow_overtaking.add(&other.allow_overtaking);
    }

    #[inline]
    pub(crate) fn asked(&mut self, program: &Program, at: u32) {
        let transfer = program.transfers.at(at);
        if transfer.peer < 0 {
            self.no_any_source
                .violated(|| Violation::at(program.rank, &transfer));
        }
        if transfer.tag < 0 {
            self.no_any_tag
                .violated(|| Violation::at(program.rank, &transfer));
        }
        debug_assert!(
            matches!(transfer.kind, TransferKind::Recv | TransferKind::Probe),
            "only these ask"
        );
    }

    /// Counts failed probes, or receives from `MPI_PROC_NULL`, with these wildcards.
    pub(crate) fn without_message(
        &mut self,
        is_any_source: bool,
        is_any_tag: bool,
        count: u64,
        call: Violation,
    ) {
        if is_any_source {
            self.no_any_source.violated_without_message(count, call);
        }
        if is_any_tag {
            self.no_any_tag.violated_without_message(count, call);
        }
    }

    #[inline]
    pub(crate) fn matched(&mut self, program: &Program, at: u32, message: &Inbound) {
        let transfer = program.transfers.at(at);
        // A message made up without a status has the receive's own size.
        let is_made_up = message.op == UNKNOWN && transfer.got_bytes == UNKNOWN_BYTES;
        if is_made_up || message.bytes == UNKNOWN_BYTES || transfer.bytes == UNKNOWN_BYTES {
            self.exact_length.unknown += 1;
        } else if message.bytes != transfer.bytes {
            self.exact_length
                .violated(|| Violation::at(program.rank, &transfer));
        }
    }

    /// Counts a match; `others` says whether another pair was possible at that moment.
    #[inline]
    pub(crate) fn chosen(&mut self, program: &Program, at: u32, others: bool) {
        let transfer = program.transfers.at(at);
        if others || transfer.peer < 0 || transfer.tag < 0 {
            self.allow_overtaking
                .violated(|| Violation::at(program.rank, &transfer));
        }
    }
}
