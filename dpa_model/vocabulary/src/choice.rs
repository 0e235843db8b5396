//! The algorithm's options that users choose by name, and the macro that names any option's values.
//!
//! The options belong to `dpa_model`, which reexports them. They are in this crate, like
//! [`step`](crate::step), so that every compiled copy of the card shares the types.

/// An option whose values have names: on command lines, in environments, in the firmware's
/// arguments. [`choices!`](crate::choices) implements it.
pub trait Choice: Copy + Default + PartialEq + 'static {
    /// All values.
    const ALL: &[Self];

    /// The value's name.
    fn name(self) -> &'static str;

    /// A phrase about the value, for help texts.
    fn about(self) -> &'static str;

    /// The value with this name.
    fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|value| value.name() == name)
    }
}

/// Defines options with named values: each an enum that implements [`Choice`].
///
/// # Examples
/// ```
/// dpamatch_vocabulary::choices! {
///     /// What a card has for lunch.
///     pub enum Lunch, by default Bread {
///         /// With butter.
///         Bread = "bread",
///         /// Of the day.
///         Soup = "soup",
///     }
/// }
///
/// use dpamatch_vocabulary::Choice;
/// assert_eq!(Lunch::named("soup"), Some(Lunch::Soup));
/// assert_eq!(Lunch::default().about(), " With butter.");
/// ```
#[macro_export]
macro_rules! choices {
    ($(
        $(#[$meta:meta])*
        pub enum $choice:ident, by default $default:ident {
            $($(#[doc = $about:literal])+ $value:ident = $name:literal,)+
        }
    )+) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum $choice {
            $($(#[doc = $about])+ $value,)+
        }

        impl Default for $choice {
            fn default() -> Self {
                Self::$default
            }
        }

        impl $choice {
            /// All values.
            pub const ALL: &'static [Self] = &[$(Self::$value),+];

            /// The value's name.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$value => $name,)+
                }
            }
        }

        impl $crate::Choice for $choice {
            const ALL: &[Self] = $choice::ALL;

            fn name(self) -> &'static str {
                self.name()
            }

            fn about(self) -> &'static str {
                match self {
                    $(Self::$value => concat!($($about),+),)+
                }
            }
        }

        impl core::fmt::Display for $choice {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.pad(self.name())
            }
        }
    )+};
}

choices! {
    /// When handler i in conflict may take the i-th receive of a sequence instead of
    /// waiting.
    ///
    /// Source: O16, S8.
    pub enum FastPath, by default Sequence {
        /// Never: every conflict takes the slow path.
        Off = "off",
        /// If all N handlers booked one receive, as in the paper; never in a partial block.
        Literal = "literal",
        /// If this and all lower handlers chose one receive.
        Prefix = "prefix",
        /// If this and all lower handlers chose receives of one sequence.
        Sequence = "sequence",
    }

    /// When a consumed receive leaves its bin's chain.
    ///
    /// Source: O28, S17.
    pub enum Removal, by default Lazy {
        /// At once if the bin's lock is free, else at the block's end.
        Lazy = "lazy",
        /// At once, waiting for the bin's lock.
        Eager = "eager",
        /// At the block's end, so that no handler takes a lock.
        Deferred = "deferred",
    }

    /// How a worker that shares a block publishes that its slice has booked.
    ///
    /// Source: O12.
    pub enum Barrier, by default Lanes {
        /// A word for each worker, written by it alone: no read-modify-write, and one load for each
        /// lower worker.
        Lanes = "lanes",
        /// One bitmap for all, as in the paper: a read-modify-write, and one load for all lower
        /// workers.
        Bitmap = "bitmap",
    }

    /// Which messages of a shared block wait for each other and are forced together.
    pub enum Domains, by default Keyed {
        /// All of them, as in the paper.
        Paper = "paper",
        /// Those that a receive posted now could match both; the barrier is always in lanes.
        Keyed = "keyed",
    }

    /// What the NIC does with the hashes in a message's header.
    ///
    /// Source: O26, S29.
    pub enum InlineHashes, by default Trust {
        /// Use them; compute them if the sender gave none.
        Trust = "trust",
        /// Compute, compare, count the differences, and use the computed hashes.
        Verify = "verify",
        /// Always compute them.
        Ignore = "ignore",
    }
}
