//! Handles: the numbers in a rank's trace for communicators, groups, datatypes and requests.
//!
//! A number is valid only within its rank. Different ranks may number a communicator differently,
//! and a freed number may return for another object. The constants here are the few numbers with a
//! fixed meaning; readers translate to them.

/// A communicator. User-defined ones begin at 4.
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

/// A group. User-defined ones begin at 3.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Group(pub u32);

impl Group {
    /// `MPI_GROUP_NULL`.
    pub const NULL: Self = Self(1);
    /// `MPI_GROUP_EMPTY`.
    pub const EMPTY: Self = Self(2);
}

/// A datatype. User-defined ones begin at 28, and so do Fortran's.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Datatype(pub u32);

/// A request. It names an operation only from posting to completion: numbers return, and several
/// sends that complete immediately may share one. Those complete in the order of posting.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Request(pub i32);

impl Request {
    /// `MPI_REQUEST_NULL`.
    pub const NULL: Self = Self(1);
}
