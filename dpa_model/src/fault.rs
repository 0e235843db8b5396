//! Seeded faults: each breaks one rule of the algorithm or one memory ordering, to show that the
//! models notice: a model is worth as much as the faults that it catches.
//!
//! In a normal build `fault!(X)` is the word `false` and `weak!(Release)` is the word `Release`: no
//! code, no branch, nothing to switch on. Only builds for loom or shuttle know the faults; there
//! `DPAMATCH_FAULT=<name>` chooses one for the whole process. So do builds of the firmware with
//! `--cfg dpamatch_faults`, where the program chooses. Under loom `DPAMATCH_WEAKEN` weakens one
//! ordering, see [`weaken`].
//!
//! ordering: what is chosen is chosen before the program begins, and orders nothing.

#[cfg(not(any(dpamatch_loom, dpamatch_shuttle, dpamatch_faults)))]
macro_rules! fault {
    ($name:ident) => {
        false
    };
}

/// Whether this fault was chosen.
#[cfg(any(dpamatch_loom, dpamatch_shuttle, dpamatch_faults))]
macro_rules! fault {
    ($name:ident) => {
        $crate::fault::chosen($crate::fault::Fault::$name)
    };
}

/// An ordering of the card. `cargo xtask orderings` weakens each in turn; the text says why neither
/// a model nor the firmware in weak memory can notice.
#[cfg(not(any(dpamatch_loom, dpamatch_faults)))]
macro_rules! weak {
    ($ordering:ident $(, $why:literal)?) => {
        $crate::sync::Ordering::$ordering
    };
}

/// The ordering, or a weaker one if this place was chosen.
#[cfg(any(dpamatch_loom, dpamatch_faults))]
macro_rules! weak {
    ($ordering:ident $(, $why:literal)?) => {{
        const PLACE: u32 = $crate::fault::place(file!(), line!(), column!());
        $crate::fault::ordering(PLACE, $crate::sync::Ordering::$ordering)
    }};
}

#[cfg(any(dpamatch_loom, dpamatch_shuttle, dpamatch_faults))]
macro_rules! faults {
    ($($(#[doc = $doc:literal])+ $name:ident,)*) => {
        /// A broken rule.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[non_exhaustive]
        pub enum Fault {
            $($(#[doc = $doc])+ $name,)*
        }

        impl Fault {
            /// All, in the order of the declaration.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// What is broken, in a sentence.
            pub fn about(self) -> &'static str {
                match self {
                    $(Self::$name => concat!($($doc),+).trim_ascii(),)*
                }
            }
        }
    };
}

#[cfg(any(dpamatch_loom, dpamatch_shuttle, dpamatch_faults))]
faults! {
    /// The search takes a receive that was consumed.
    SearchTakesConsumed,
    /// Of the candidates of several indexes the first is taken, not the oldest (O11).
    SearchTakesFirstIndex,
    /// No bit is set in the booking bitmap (O10).
    BookingMissing,
    /// The partial barrier is left out (O12).
    BarrierMissing,
    /// It waits for the worker before only.
    BarrierPreviousOnly,
    /// It leaves out the worker before.
    BarrierShort,
    /// The bits of an earlier block stay set.
    BitsKept,
    /// Only a handler with its own conflict resolves (O14).
    ForcingIgnored,
    /// A conflict is seen only with the handler before (O13).
    ConflictPreviousOnly,
    /// The fast path takes the receive one further than its own (O16).
    FastOffByOne,
    /// The fast path counts hops along the chain, not labels (S9).
    FastByHops,
    /// The fast path leaves the sequence (O17).
    FastIgnoresSequence,
    /// Every handler in conflict may take the fast path (S8).
    FastByAny,
    /// Form (a) does not look at the booking bitmap (S8).
    FastLiteralUnbooked,
    /// The shift counts the handlers of other communicators, too (S25).
    FastCountsAllCommunicators,
    /// Domains are always determined by source and tag.
    DomainsAlwaysExact,
    /// The keys of the two classes with one wildcard are swapped.
    DomainKeysSwapped,
    /// Domains are determined by the classes that were posted before the last posts.
    DomainsBeforePosts,
    /// Domains are determined by the sender's hash.
    DomainsByHash,
    /// Messages of different communicators can be of one domain, and count in its ranks.
    DomainsOfAllCommunicators,
    /// The fast path counts all lower handlers of the block, not those of the domain.
    DomainRankInBlock,
    /// The fast path in a run of a chain, although receives of several classes are posted.
    DomainRunAmongClasses,
    /// The fast path in a run of a chain counts hops, not places.
    DomainRunByHops,
    /// Keys stay when the block numbers in them come round.
    DomainKeysKept,
    /// A run of a chain goes on with a receive of another selector.
    RunsByBin,
    /// A handler does not wait until the lower ones of its domain have booked.
    DomainBarrierMissing,
    /// The slow path in a domain does not wait for its lower handlers.
    DomainSlowNoWait,
    /// Without a fast path it waits for the handler before, even one without a candidate.
    DomainChainBroken,
    /// It waits for the handler before only, although that one may have taken the fast path.
    DomainChainAlways,
    /// The slow path does not wait (S13).
    SlowNoWait,
    /// The slow path waits for the worker before only (S13).
    SlowPreviousOnly,
    /// The slow path keeps the own candidate whoever took it (S13).
    SlowKeepsOwn,
    /// In order: a handler keeps its candidate although a lower one took it (S13).
    InOrderKeepsTaken,
    /// A slice says that it is matched before its last receive is marked (S13).
    MatchedBeforeMark,
    /// The slow path skips receives that lower handlers booked (S16).
    SlowEarlyCheck,
    /// Overtaking handlers look and then take, in two steps (S24).
    OvertakeTorn,
    /// A receive is unlinked without the bin's lock (O28).
    UnlinkWithoutLock,
    /// An unlinked receive forgets its successor while others may still visit it (S17).
    UnlinkedLosesNext,
    /// Unexpected messages of a block are stored from the last to the first (S14).
    UnexpectedReversed,
    /// The next block starts while workers are still in this one (S1).
    FenceMissing,
    /// It starts once all are matched, not once all data has moved (K3).
    FenceMatchedOnly,
    /// Commands are executed while a block runs (S12).
    PostInsideBlock,
    /// Commands are admitted before the look at the completion queue.
    LookAfterAdmit,
    /// A block is cut although commands wait for room in the completion ring.
    CutPastCommands,
    /// A receive that takes an unexpected message gets a label, too (S10).
    LabelTooEarly,
    /// A cancel leaves the later receives in the sequence (S11).
    CancelKeepsSequence,
    /// After a refused post later ones are taken again (S20).
    FallbackForgotten,
    /// A fallback ends although more was sent on to the host since it asked (S20).
    HandBackUnchecked,
    /// A matched probe leaves the message for others.
    ProbeKeepsTaken,
    /// A message is matched although nothing can take it (S21).
    BackPressureIgnored,
    /// The owner bit is written before the entry (O20).
    OwnerBitFirst,
    /// The owner bit is the same on every pass.
    OwnerBitConstant,
    /// A sender does not look whether the queue is full.
    FullIgnored,
    /// A sender takes one position more for free than its queue has places.
    SureTooFar,
    /// Several senders claim a position in two steps.
    ClaimTorn,
    /// Two senders take the same queue for themselves.
    QueueTakenTwice,
    /// A sender that leaves its queue keeps its count of positions for itself.
    TailKept,
    /// Commands are given back before they are read.
    CommandReleasedEarly,
    /// A command is given back while it is still being read.
    CommandReleasedInUse,
    /// Messages are given back before the block runs.
    ArrivalReleasedEarly,
    /// A sender gets its buffer back before it was read (O21).
    FinBeforeRead,
    /// A longer message is copied out of its bounce buffer after its entry was given back (S14).
    KeptAfterRelease,
    /// The drain gives an entry back before it passes its message on.
    DrainReleasedInUse,
    /// The host offers a communicator before the receives that it still has (S20).
    OfferBeforeReceives,
    /// A slot is free again while it keeps the buffer of an ended receive.
    KeptSlotFreed,
    /// Dropped messages are put on their list in two steps.
    DropTorn,
}

/// 0: the environment was not asked yet; 1: none; from 2 on a place in `Fault::ALL`.
#[cfg(any(dpamatch_loom, dpamatch_shuttle))]
static CHOSEN: core::sync::atomic::AtomicUsize = core::sync::atomic::AtomicUsize::new(0);

#[cfg(any(dpamatch_loom, dpamatch_shuttle))]
pub(crate) fn chosen(fault: Fault) -> bool {
    let chosen = match CHOSEN.load(core::sync::atomic::Ordering::Relaxed) {
        0 => {
            choose(from_environment());
            CHOSEN.load(core::sync::atomic::Ordering::Relaxed)
        }
        chosen => chosen,
    };
    let is_left_out = chosen == 2 + fault as usize;
    if is_left_out {
        crate::step::report(crate::step::Step::RuleLeftOut);
    }
    is_left_out
}

/// The fault that the environment names.
#[cfg(any(dpamatch_loom, dpamatch_shuttle))]
fn from_environment() -> Option<Fault> {
    let name = std::env::var("DPAMATCH_FAULT").ok()?;
    let known = Fault::ALL
        .iter()
        .find(|fault| std::format!("{fault:?}") == name);
    Some(*known.unwrap_or_else(|| panic!("DPAMATCH_FAULT={name}: no such fault")))
}

/// Chooses a fault, or none, for the whole process, which replaces the one before.
#[cfg(any(dpamatch_loom, dpamatch_shuttle))]
pub fn choose(fault: Option<Fault>) {
    let place = fault.map_or(1, |fault| 2 + fault as usize);
    CHOSEN.store(place, core::sync::atomic::Ordering::Relaxed);
}

/// The fault of a program without a system: its number and one more.
#[cfg(dpamatch_faults)]
static CHOSEN: core::sync::atomic::AtomicU32 = core::sync::atomic::AtomicU32::new(0);

#[cfg(dpamatch_faults)]
#[inline]
pub(crate) fn chosen(fault: Fault) -> bool {
    CHOSEN.load(core::sync::atomic::Ordering::Relaxed) == fault as u32 + 1
}

/// Chooses a fault for the whole program, before anything else runs.
#[cfg(dpamatch_faults)]
pub fn choose(fault: Fault) {
    CHOSEN.store(fault as u32 + 1, core::sync::atomic::Ordering::Relaxed);
}

/// Place and replacement of the weakened ordering. A place is never 0; 0 is none, and under loom
/// means that the environment was not asked yet.
#[cfg(any(dpamatch_loom, dpamatch_faults))]
static WEAKENED: [core::sync::atomic::AtomicU32; 2] =
    [const { core::sync::atomic::AtomicU32::new(0) }; 2];

/// How often the program came to the weakened ordering.
#[cfg(any(dpamatch_loom, dpamatch_faults))]
pub static CAME_BY: core::sync::atomic::AtomicU32 = core::sync::atomic::AtomicU32::new(0);

/// A number for a place in the sources: a hash of the path below `src/`, the line and the column.
#[cfg(any(dpamatch_loom, dpamatch_faults))]
pub const fn place(file: &str, line: u32, column: u32) -> u32 {
    let file = file.as_bytes();
    let mut from = file.len();
    while from > 0 && !(from >= 4 && matches!(file.split_at(from).0.split_at(from - 4).1, b"src/"))
    {
        from -= 1;
    }
    let (mut hash, mut at) = (0x811c_9dc5_u32, from);
    while at < file.len() {
        hash = (hash ^ file[at] as u32).wrapping_mul(0x0100_0193);
        at += 1;
    }
    (hash ^ line)
        .wrapping_mul(0x0100_0193)
        .rotate_left(13)
        .wrapping_add(column)
        | 1
}

/// Weakens an ordering for the whole program, before anything else runs: `FILE:LINE:COLUMN=WEAKER`,
/// the weaker ordering `Relaxed`, `Acquire`, `Release` or `AcqRel`. `false`: not of that form.
#[cfg(any(dpamatch_loom, dpamatch_faults))]
pub fn weaken(what: &str) -> bool {
    let read = || {
        let (whole, weaker) = what.split_once('=')?;
        let (rest, column) = whole.rsplit_once(':')?;
        let (file, line) = rest.rsplit_once(':')?;
        let weaker = ["Relaxed", "Acquire", "Release", "AcqRel"]
            .iter()
            .position(|&name| name == weaker)?;
        Some([
            place(file, line.parse().ok()?, column.parse().ok()?),
            weaker as u32,
        ])
    };
    let Some(numbers) = read() else { return false };
    for (word, number) in WEAKENED.iter().zip(numbers) {
        word.store(number, core::sync::atomic::Ordering::Relaxed);
    }
    true
}

/// The ordering, or a weaker one if the place was chosen.
#[cfg(any(dpamatch_loom, dpamatch_faults))]
#[cfg_attr(dpamatch_loom, track_caller)]
#[inline]
pub fn ordering(place: u32, ordering: crate::sync::Ordering) -> crate::sync::Ordering {
    use crate::sync::Ordering::{AcqRel, Acquire, Relaxed, Release};
    #[cfg(dpamatch_loom)]
    {
        weaken_from_environment();
        crate::sync::loomed::report_place(core::panic::Location::caller());
    }
    if WEAKENED[0].load(Relaxed) != place {
        return ordering;
    }
    CAME_BY.store(CAME_BY.load(Relaxed) + 1, Relaxed);
    [Relaxed, Acquire, Release, AcqRel][WEAKENED[1].load(Relaxed) as usize]
}

/// Weakens the ordering that the environment names, once.
#[cfg(dpamatch_loom)]
fn weaken_from_environment() {
    static ASKED: std::sync::Once = std::sync::Once::new();
    ASKED.call_once(|| {
        if let Ok(what) = std::env::var("DPAMATCH_WEAKEN") {
            assert!(
                weaken(&what),
                "DPAMATCH_WEAKEN={what}: no place of an ordering"
            );
        }
    });
}
