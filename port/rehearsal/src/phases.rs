//! Where instructions go: the phases of the work, and which mark begins each.

use crate::rv64::{MARKS, Mark};
use dpa_model::step::StepKind;

/// A part of the work on a message.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Phase {
    /// Nothing that is named.
    Other,
    /// The slice begins; the message is read.
    Poll,
    /// The indexes are searched.
    Search,
    /// The candidate is booked, and told to the others.
    Book,
    /// The slice says that it has booked; what lower handlers chose is read.
    Barrier,
    /// The first receive that was chosen twice is looked for.
    Detect,
    /// Clean or not.
    Resolve,
    /// The fast path.
    Fast,
    /// The slow path: another search.
    Slow,
    /// The receive is taken, and leaves its chain.
    Consume,
    /// The data goes to the user, the result on the ring.
    Protocol,
    /// What the leader does around a block.
    Boundary,
    /// The card's part of posting a receive.
    Post,
    /// The host posts.
    HostPost,
    /// The wire's end sends.
    Send,
    /// The host takes results.
    HostDrain,
    /// A hart waits for another inside a block.
    Wait,
    /// A worker waits for a block.
    Idle,
}

impl Phase {
    /// All, in the order of tables.
    pub const ALL: [Self; 18] = [
        Self::Poll,
        Self::Search,
        Self::Book,
        Self::Barrier,
        Self::Detect,
        Self::Resolve,
        Self::Fast,
        Self::Slow,
        Self::Consume,
        Self::Protocol,
        Self::Boundary,
        Self::Post,
        Self::HostPost,
        Self::Send,
        Self::HostDrain,
        Self::Wait,
        Self::Idle,
        Self::Other,
    ];

    /// In tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Poll => "poll",
            Self::Search => "search",
            Self::Book => "book",
            Self::Barrier => "barrier",
            Self::Detect => "detect",
            Self::Resolve => "resolve",
            Self::Fast => "fast path",
            Self::Slow => "slow path",
            Self::Consume => "consume",
            Self::Protocol => "protocol",
            Self::Boundary => "boundary",
            Self::Post => "post, card",
            Self::HostPost => "post, host",
            Self::Send => "send",
            Self::HostDrain => "results, host",
            Self::Wait => "wait",
            Self::Idle => "idle",
            Self::Other => "other",
        }
    }

    /// Whether it is work of the card on the way of a message.
    pub fn is_message_path(self) -> bool {
        (Self::Poll..=Self::Boundary).contains(&self)
    }
}

/// What each mark of the firmware does: the card's steps, and the firmware's own marks.
pub fn marks() -> Vec<Mark> {
    let mut marks = vec![Mark::Ignore; MARKS];
    for &step in StepKind::ALL {
        marks[step as usize] = of_step(step);
    }
    let own = [Phase::HostPost, Phase::Send, Phase::Boundary, Phase::HostDrain, Phase::Idle];
    for (number, phase) in (1000..).zip(own) {
        marks[number] = Mark::Leave(phase as u8);
    }
    marks[MARKS - 2] = Mark::CountFrom;
    marks[MARKS - 1] = Mark::CountTo;
    marks
}

/// A step begins what its name says. Searches on the fast and slow path, and whatever happens while
/// a command is executed, belong to those.
fn of_step(step: StepKind) -> Mark {
    use StepKind::*;
    match step {
        SliceBegins | EntryRead | HashesComputed => Mark::Enter(Phase::Poll as u8),
        SearchBegins | BinRead | Visited => Mark::Enter(Phase::Search as u8),
        Searched | Booked | Published => Mark::Enter(Phase::Book as u8),
        SliceBooked | BitSet | CandidatesRead => Mark::Enter(Phase::Barrier as u8),
        ProgressRead | BitsRead | EndRead => Mark::Enter(Phase::Wait as u8),
        ConflictSought => Mark::Enter(Phase::Detect as u8),
        BarrierPassed => Mark::Enter(Phase::Resolve as u8),
        FastPathTried => Mark::Hold(Phase::Fast as u8),
        SlowWaits => Mark::Leave(Phase::Slow as u8),
        SlowWaited | StateRead => Mark::Hold(Phase::Slow as u8),
        SlowFound => Mark::Leave(Phase::Slow as u8),
        Taken | Unmatched => Mark::Leave(Phase::Consume as u8),
        Unlinking | LockMissed | LinkRead => Mark::Enter(Phase::Consume as u8),
        SliceMatched | DeliveryBegins | Delivered | BounceRead | RemoteRead | Completed => {
            Mark::Enter(Phase::Protocol as u8)
        }
        // After the last wait of a block; after another one the next step says what follows.
        Waited | SliceEnds | EntriesSeen | BlockCut | BitsCleared | Reposted | SliceCounted
        | EntriesReleased => Mark::Enter(Phase::Boundary as u8),
        CommandBegins => Mark::Hold(Phase::Post as u8),
        BoundaryBegins => Mark::Hold(Phase::Boundary as u8),
        BoundaryEnds => Mark::Leave(Phase::Boundary as u8),
        // Told inside another phase.
        Posted | Unlinked | Recycled | Stored | UnexpectedVisited | TakenLate | ProgressWritten
        | ClaimRead | Noted => Mark::Ignore,
    }
}
