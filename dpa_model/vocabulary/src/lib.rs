//! What a message carries and what a receive selects: communicator, source, tag, wildcards (O5).
//! Also the operations of a stream and their outcomes.
//!
//! The card, the software engines and the readers of traces all use these types. The card's own
//! types are the module [`step`] and the options ([`FastPath`], [`Removal`], [`Barrier`],
//! [`Domains`], [`InlineHashes`]): every compiled copy of the card's sources shares them.
//!
//! ```
//! use dpamatch_vocabulary::{Rank, Selector, SourceSel, Tag};
//!
//! let from_anyone = Selector::new(SourceSel::Any, Tag::new(7)?);
//! assert!(from_anyone.accepts(Rank::new(3)?, Tag::new(7)?));
//! # Ok::<(), dpamatch_vocabulary::OutOfRange>(())
//! ```
#![no_std]
#![forbid(unsafe_code)]

mod choice;
mod operation;
mod outcome;
mod record;
pub mod step;
mod workload;

use core::fmt;

pub use choice::{Barrier, Choice, Domains, FastPath, InlineHashes, Removal};
pub use operation::{Hints, MsgId, Offload, Operation, ProbeId, RecvId};
pub use outcome::Outcome;
pub use step::Path;
pub use workload::PaperWorkload;

/// Largest source rank and largest tag: MPI's `int` without its sign.
pub const RANK_MAX: u32 = i32::MAX as u32;
/// Largest tag (`MPI_TAG_UB` of this implementation).
pub const TAG_MAX: u32 = i32::MAX as u32;

/// A communicator's context: messages and receives of different communicators never match.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
#[repr(transparent)]
pub struct CommId(pub u32);

/// A process of a communicator, `0..=RANK_MAX`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
#[repr(transparent)]
pub struct Rank(u32);

/// A message tag, `0..=TAG_MAX`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
#[repr(transparent)]
pub struct Tag(u32);

/// A number above 2,147,483,647, which is no rank or tag.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OutOfRange(pub u32);

impl fmt::Display for OutOfRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is above {TAG_MAX}", self.0)
    }
}

impl core::error::Error for OutOfRange {}

impl Rank {
    /// The rank with this number.
    ///
    /// # Errors
    /// [`OutOfRange`] above [`RANK_MAX`].
    pub const fn new(number: u32) -> Result<Self, OutOfRange> {
        if number > RANK_MAX {
            Err(OutOfRange(number))
        } else {
            Ok(Self(number))
        }
    }

    /// The rank's number.
    #[inline]
    pub const fn get(self) -> u32 {
        self.0
    }
}

impl Tag {
    /// The tag with this number.
    ///
    /// # Errors
    /// [`OutOfRange`] above [`TAG_MAX`].
    pub const fn new(number: u32) -> Result<Self, OutOfRange> {
        if number > TAG_MAX {
            Err(OutOfRange(number))
        } else {
            Ok(Self(number))
        }
    }

    /// The tag's number.
    #[inline]
    pub const fn get(self) -> u32 {
        self.0
    }
}

/// What identifies a message for matching; never wild (MPI 4.1, section 3.2.3).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[repr(C)]
pub struct Envelope {
    /// The communicator of the message.
    pub comm: CommId,
    /// The sender's rank in the communicator.
    pub source: Rank,
    /// Its tag.
    pub tag: Tag,
}

impl Envelope {
    /// Whether a receive of this communicator and selector accepts the message.
    #[inline]
    pub fn fits(&self, comm: CommId, selector: Selector) -> bool {
        self.comm == comm && selector.accepts(self.source, self.tag)
    }
}

/// The source that a receive accepts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SourceSel {
    /// `MPI_ANY_SOURCE`.
    Any,
    /// One rank.
    Rank(Rank),
}

/// The tag that a receive accepts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TagSel {
    /// `MPI_ANY_TAG`.
    Any,
    /// One tag.
    Tag(Tag),
}

impl SourceSel {
    /// The rank's number; `None` for any source.
    #[inline]
    pub fn number(self) -> Option<u32> {
        match self {
            Self::Any => None,
            Self::Rank(rank) => Some(rank.get()),
        }
    }
}

impl TagSel {
    /// The tag's number; `None` for any tag.
    #[inline]
    pub fn number(self) -> Option<u32> {
        match self {
            Self::Any => None,
            Self::Tag(tag) => Some(tag.get()),
        }
    }
}

impl From<Rank> for SourceSel {
    fn from(rank: Rank) -> Self {
        Self::Rank(rank)
    }
}

impl From<Tag> for TagSel {
    fn from(tag: Tag) -> Self {
        Self::Tag(tag)
    }
}

/// Source and tag of a receive or probe, each possibly wild.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Selector {
    /// Accepted source.
    pub source: SourceSel,
    /// Accepted tag.
    pub tag: TagSel,
}

impl Selector {
    /// A selector from anything that names a source and a tag.
    pub fn new(source: impl Into<SourceSel>, tag: impl Into<TagSel>) -> Self {
        Self {
            source: source.into(),
            tag: tag.into(),
        }
    }

    /// Whether the selector accepts a message from `source` with `tag`; callers compare the
    /// communicator.
    #[inline]
    pub fn accepts(&self, source: Rank, tag: Tag) -> bool {
        self.source
            .number()
            .is_none_or(|wanted| wanted == source.get())
            && self.tag.number().is_none_or(|wanted| wanted == tag.get())
    }

    /// Which of the four indexes holds such a receive.
    ///
    /// Source: O5.
    #[inline]
    pub fn class(&self) -> WildcardClass {
        match (self.source, self.tag) {
            (SourceSel::Rank(_), TagSel::Tag(_)) => WildcardClass::Exact,
            (SourceSel::Any, TagSel::Tag(_)) => WildcardClass::AnySource,
            (SourceSel::Rank(_), TagSel::Any) => WildcardClass::AnyTag,
            (SourceSel::Any, TagSel::Any) => WildcardClass::Any,
        }
    }
}

/// The four kinds of receive and so the four indexes I0..I3.
///
/// Source: O5.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum WildcardClass {
    /// I0: source and tag given; hash of both.
    Exact = 0,
    /// I1: any source; hash of the tag.
    AnySource = 1,
    /// I2: any tag; hash of the source.
    AnyTag = 2,
    /// I3: any source and any tag; a list.
    Any = 3,
}

impl WildcardClass {
    /// All four, in index order.
    pub const ALL: [Self; 4] = [Self::Exact, Self::AnySource, Self::AnyTag, Self::Any];

    /// [`Selector::accepts`] for a known class: whether a receive of this class for `wanted_source`
    /// and `wanted_tag` accepts a message of `source` and `tag`.
    #[inline]
    pub fn accepts<R: PartialEq, T: PartialEq>(
        self,
        wanted_source: R,
        wanted_tag: T,
        source: R,
        tag: T,
    ) -> bool {
        match self {
            Self::Exact => wanted_source == source && wanted_tag == tag,
            Self::AnySource => wanted_tag == tag,
            Self::AnyTag => wanted_source == source,
            Self::Any => true,
        }
    }
}

/// A set of the four kinds of receive.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct ClassSet(u8);

impl ClassSet {
    /// No kind.
    pub const EMPTY: Self = Self(0);
    /// Every kind.
    pub const ALL: Self = Self::from_classes(&WildcardClass::ALL);

    /// The set of these kinds.
    ///
    /// # Examples
    /// ```
    /// use dpamatch_vocabulary::{ClassSet, WildcardClass::*};
    ///
    /// let wild = ClassSet::from_classes(&[AnySource, Any]);
    /// assert!(wild.contains(Any) && !wild.contains(Exact));
    /// assert_eq!(wild.only(), None);
    /// assert_eq!(ClassSet::from_classes(&[AnyTag]).only(), Some(AnyTag));
    /// ```
    pub const fn from_classes(classes: &[WildcardClass]) -> Self {
        let (mut bits, mut at) = (0, 0);
        while at < classes.len() {
            bits |= 1 << classes[at] as u8;
            at += 1;
        }
        Self(bits)
    }

    /// The set with these bits, the lowest for the first of [`WildcardClass::ALL`]; ignores further
    /// bits.
    #[inline]
    pub const fn from_bits(bits: u8) -> Self {
        Self(bits & Self::ALL.0)
    }

    /// Whether the kind is in the set.
    #[inline]
    pub const fn contains(self, class: WildcardClass) -> bool {
        self.0 & 1 << class as u8 != 0
    }

    /// Adds a kind.
    #[inline]
    pub fn insert(&mut self, class: WildcardClass) {
        self.0 |= 1 << class as u8;
    }

    /// Whether this set has a kind that the other lacks.
    #[inline]
    pub const fn exceeds(self, other: Self) -> bool {
        self.0 & !other.0 != 0
    }

    /// Whether no kind is in the set.
    #[inline]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The only kind of a set with one kind.
    #[inline]
    pub fn only(self) -> Option<WildcardClass> {
        // A card counts bits slowly.
        WildcardClass::ALL
            .iter()
            .copied()
            .find(|&class| self.0 == 1 << class as u32)
    }
}
