//! Phases of the work on a message, and the marks that begin them.

use crate::rv64::{MARKS, Mark};
use dpa_model::step::StepKind;

dpamatch_vocabulary::choices! {
    #[derive(PartialOrd, Ord)]
    pub enum Phase, by default Other {
        /// All else.
        Other = "other",
        /// Begins the slice and reads the message.
        Poll = "poll",
        /// Searches for a receive.
        Search = "search",
        /// Books the candidate and publishes it.
        Book = "book",
        /// Announces the booking and reads the lower handlers' candidates.
        Barrier = "barrier",
        /// Looks for the first receive with two handlers.
        Detect = "detect",
        /// Decides whether it is clean.
        Resolve = "resolve",
        /// The fast path.
        Fast = "fast path",
        /// The slow path: another search.
        Slow = "slow path",
        /// Consumes the receive and unlinks it.
        Consume = "consume",
        /// Delivers the data and writes the result.
        Protocol = "protocol",
        /// The leader's work around a block.
        Boundary = "boundary",
        /// The card's work to post a receive.
        Post = "post, card",
        /// Host and wire.
        Ends = "host and wire",
        /// A hart waits for another inside a block.
        Wait = "wait",
        /// A hart looks for work.
        Idle = "idle",
    }
}

impl Phase {
    /// All phases in the order of tables.
    pub fn in_tables() -> impl Iterator<Item = Self> {
        let (rest, named) = Self::ALL.split_at(1);
        named.iter().chain(rest).copied()
    }

    /// Whether the phase is card work on a message's way.
    pub fn is_message_path(self) -> bool {
        (Self::Poll..=Self::Boundary).contains(&self)
    }
}

/// The meaning of each mark: the card's steps and the firmware's own marks.
pub fn marks() -> Vec<Mark> {
    let mut marks = vec![Mark::Ignore; MARKS];
    for &step in StepKind::ALL {
        marks[step as usize] = of_step(step);
    }
    let own = [Phase::Ends, Phase::Boundary, Phase::Idle];
    for (number, phase) in (1000..).zip(own) {
        marks[number] = Mark::Leave(phase as u8);
    }
    marks[MARKS - 3] = Mark::SetUp;
    marks[MARKS - 2] = Mark::CountFrom;
    marks[MARKS - 1] = Mark::CountTo;
    marks
}

/// The mark of a step. Searches on the fast and slow path belong to these, and all work during a
/// command to that command.
fn of_step(step: StepKind) -> Mark {
    use StepKind::*;
    match step {
        SliceBegins | EntryRead | HashesComputed => Mark::Enter(Phase::Poll as u8),
        KeyWritten | SearchBegins | BinRead | Visited => Mark::Enter(Phase::Search as u8),
        Searched | Booked | Published => Mark::Enter(Phase::Book as u8),
        SliceBooked | BitSet | CandidatesRead => Mark::Enter(Phase::Barrier as u8),
        ProgressRead | BitsRead => Mark::Enter(Phase::Wait as u8),
        ConflictSought | KeysRead | CandidateRead => Mark::Enter(Phase::Detect as u8),
        BarrierPassed | DomainPassed => Mark::Enter(Phase::Resolve as u8),
        FastPathTried => Mark::Hold(Phase::Fast as u8),
        SlowWaits => Mark::Leave(Phase::Slow as u8),
        SlowWaited | StateRead => Mark::Hold(Phase::Slow as u8),
        SlowFound => Mark::Leave(Phase::Slow as u8),
        Taken | Unmatched => Mark::Leave(Phase::Consume as u8),
        Unlinking | LockMissed | LinkRead => Mark::Enter(Phase::Consume as u8),
        SliceMatched | DeliveryBegins | Delivered | BounceRead | RemoteRead | Completed => {
            Mark::Enter(Phase::Protocol as u8)
        }
        // After the last wait of a block; after another wait the next step names the phase.
        Waited | SliceEnds | EntriesSeen | BlockCut | BitsCleared => {
            Mark::Enter(Phase::Boundary as u8)
        }
        CommandBegins => Mark::Hold(Phase::Post as u8),
        BoundaryBegins => Mark::Hold(Phase::Boundary as u8),
        BoundaryEnds => Mark::Leave(Phase::Boundary as u8),
        // Part of another phase.
        Posted | Unlinked | Recycled | Stored | UnexpectedVisited | TakenLate | ProgressWritten
        | ClaimRead | Noted | RuleLeftOut => Mark::Ignore,
    }
}
