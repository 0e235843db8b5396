//! OTF2: the archives that Score-P, TAU and others write, of OTF2 1.2 and later.
//!
//! An archive is an anchor file `NAME.otf2`, the definitions `NAME.def` of the whole run, and in
//! the folder `NAME` the events and local definitions of each location, which is a thread. Facts
//! are from the sources of the OTF2 library 3.0.
//!
//! OTF2 records what a receive got, never what it asked for: every receive seems to name the
//! source and the tag of its message, and a receive that never completes is left out.

mod anchor;
mod archive;
mod cursor;
mod definitions;
mod events;
mod local;
mod reader;
mod region_calls;

pub(super) use anchor::find;
pub(super) use archive::Archive;
#[cfg(test)]
mod tests;
