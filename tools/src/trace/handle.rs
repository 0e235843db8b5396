//! Handles: numbers that a rank's trace gives to communicators, groups, datatypes and requests.
//!
//! A number means something only within its rank: the same communicator may have different numbers
//! on different ranks, and a freed handle's number may come back for another object. The few
//! numbers that mean the same everywhere are constants here; readers translate to them.

/// A communicator. The user's begin at 4.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Comm(pub u32);

impl Comm {
    /// `MPI_COMM_NULL`.
    pub const NULL: Self = Self(1);
    /// `MPI_COMM_WORLD`.
    pub const WORLD: Self = Self(2);
    /// `MPI_COMM_SELF`.
    pub const SELF: Self = Self(3);
}

/// A group. The user's begin at 3.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Group(pub u32);

impl Group {
    /// `MPI_GROUP_NULL`.
    pub const NULL: Self = Self(1);
    /// `MPI_GROUP_EMPTY`.
    pub const EMPTY: Self = Self(2);
}

/// A datatype. The user's begin at 28, and so do Fortran's.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Datatype(pub u32);

/// A request. It names an operation only from its posting to its completion: numbers come back, and
/// several sends that were complete at once may share one (then they complete in the order of
/// posting).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Request(pub i32);

impl Request {
    /// `MPI_REQUEST_NULL`.
    pub const NULL: Self = Self(1);
}
