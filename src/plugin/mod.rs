//! Engines in shared libraries. [`load`] opens a library by path, and
//! [`export_engine`](crate::export_engine) makes one from an [`Engine`](crate::engine::Engine) of
//! your own crate.
//!
//! The interface is C: one function, `dpamatch_engine`, returns a [`Table`] of functions.
//! `mpi/capi/include/dpamatch_engine.h` declares it for engines in C. A library may therefore come
//! from another compiler, or another version of this crate.
//!
//! ```
//! use dpamatch::engine::ListEngine;
//!
//! // In a crate of the type `cdylib`.
//! dpamatch::export_engine!(c"my-list", c"one list of my own", |_| ListEngine::new());
//! # fn main() {}
//! ```
//!
//! Commands then take the library's path, with a slash in it, as the name of an engine:
//! `dpamatch match --engine ./libmine.so`.
//!
//! A library runs with all rights of the process, so [`load`] is unsafe. What a library's engine
//! answers is checked: an id that its queue does not hold, a wrong count and an impossible number
//! end its use, and [`Engine::fault`](crate::engine::Engine::fault) names the library and the
//! call. A wrong match between entries that do exist is for the
//! [conformance suite](crate::conformance) to find.
#![allow(unsafe_code, reason = "the border to C")]

mod export;
mod import;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::error::Error;
use std::ffi::{CStr, c_char, c_void};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use dpamatch_vocabulary::{CommId, Rank, Selector, SourceSel, Tag, TagSel};

pub use export::{entry, hand_over, made};
pub(crate) use import::Plugin;
pub use import::fault;

use crate::registry::EngineEntry;

/// The version of [`Table`].
pub const ABI: u32 = 1;

/// [`Found::compares`] of a call that failed inside the library, such as by a panic.
pub const FAILED: u64 = u64::MAX;

/// What a receive selects, or what a message carries.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub struct Key {
    /// The source's rank; -1 in a receive for any source.
    pub source: i64,
    /// The tag; -1 in a receive for any tag.
    pub tag: i64,
    /// The communicator.
    pub comm: u32,
}

impl Key {
    fn new(comm: CommId, selector: Selector) -> Self {
        let number = |number: Option<u32>| number.map_or(-1, i64::from);
        let Selector { source, tag } = selector;
        Self {
            source: number(source.number()),
            tag: number(tag.number()),
            comm: comm.0,
        }
    }

    /// `None` if a number is neither -1 nor a rank or tag.
    fn selector(&self) -> Option<Selector> {
        let number = |number: i64| u32::try_from(number).ok();
        let source = match self.source {
            -1 => SourceSel::Any,
            rank => SourceSel::Rank(Rank::new(number(rank)?).ok()?),
        };
        let tag = match self.tag {
            -1 => TagSel::Any,
            tag => TagSel::Tag(Tag::new(number(tag)?).ok()?),
        };
        Some(Selector { source, tag })
    }
}

/// What a search found.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub struct Found {
    /// The receive's or message's id, if there is one.
    pub id: u64,
    /// Compares of the search with an entry, or [`FAILED`].
    pub compares: u64,
    /// Steps of the search over inner nodes of the structure.
    pub hops: u64,
}

/// The size of the tables and of the job, for an engine that uses it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub struct Sizes {
    /// Bins of each hash table (`--bins`).
    pub bins: u32,
    /// Processes in each communicator; 0 if unknown.
    pub processes: u32,
}

type State = *mut c_void;
type Search = unsafe extern "C" fn(State, id: u64, *const Key, *mut Found) -> bool;
type Look = unsafe extern "C" fn(State, *const Key, *mut Found) -> bool;
type List = unsafe extern "C" fn(State, ids: *mut u64, room: usize) -> usize;

/// The functions of an engine. Each corresponds to the function of
/// [`Engine`](crate::engine::Engine) with its name, and returns whether it found something. One
/// thread at a time calls them. `Found` is zero when a function is called.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Table {
    /// [`ABI`].
    pub abi: u32,
    /// The engine's name.
    pub name: *const c_char,
    /// The engine in one line.
    pub summary: *const c_char,
    /// Makes an engine with empty queues; null if it cannot.
    pub create: unsafe extern "C" fn(*const Sizes) -> State,
    /// Frees an engine.
    pub destroy: unsafe extern "C" fn(State),
    /// Posts the receive `id`.
    pub post: Search,
    /// The message `id` arrives.
    pub arrive: Search,
    /// Cancels the receive `id`.
    pub cancel: unsafe extern "C" fn(State, id: u64) -> bool,
    /// Looks for an unexpected message.
    pub probe: Look,
    /// Takes an unexpected message.
    pub mprobe: Look,
    /// Frees what belongs to an empty communicator.
    pub free_comm: unsafe extern "C" fn(State, comm: u32) -> bool,
    /// Whether the communicator has no entry.
    pub is_empty: unsafe extern "C" fn(State, comm: u32) -> bool,
    /// Writes the ids of the first `room` posted receives; returns the number of all, or
    /// `usize::MAX` if it failed.
    pub posted: List,
    /// Writes the ids of the first `room` unexpected messages; returns the number of all, or
    /// `usize::MAX` if it failed.
    pub unexpected: List,
    /// The engine's bytes now, asked after each insertion; null if it does not count them.
    pub bytes: Option<unsafe extern "C" fn(State) -> u64>,
}

// SAFETY: a table is constant, and its strings are static.
unsafe impl Sync for Table {}
// SAFETY: as above.
unsafe impl Send for Table {}

/// The functions each table must have, in their order.
const FUNCTIONS: [&str; 11] = [
    "create",
    "destroy",
    "post",
    "arrive",
    "cancel",
    "probe",
    "mprobe",
    "free_comm",
    "is_empty",
    "posted",
    "unexpected",
];

/// An opened library.
#[derive(Debug)]
pub(crate) struct Library {
    pub(crate) table: Table,
    pub(crate) path: String,
    pub(crate) name: String,
}

/// Opens the library at `path`, once for all calls with this path. It stays open.
///
/// # Safety
/// The library's code runs in this process, also before it is asked for anything. It must do
/// nothing that is undefined, and its `dpamatch_engine` must return null or a [`Table`] whose
/// functions behave as `dpamatch_engine.h` states: they write only to the places they are given, at
/// most `room` ids, and no exception leaves them.
///
/// # Errors
/// One line that names what is wrong with the library.
pub unsafe fn load(path: &str) -> Result<&'static EngineEntry, String> {
    static LOADED: Mutex<Option<HashMap<String, &'static EngineEntry>>> = Mutex::new(None);
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    let loaded = loaded.get_or_insert_default();
    if let Some(entry) = loaded.get(path) {
        return Ok(entry);
    }
    // SAFETY: the caller's promise.
    let table = unsafe { open(path) }?;
    let text = |text: *const c_char, what: &str| match text.is_null() {
        true => Err(format!("{path}: the engine has no {what}")),
        // SAFETY: the interface requires a string that ends with a null byte and stays.
        false => unsafe { CStr::from_ptr(text) }
            .to_str()
            .map_err(|_| format!("{path}: the engine's {what} is not UTF-8")),
    };
    let (name, summary) = (text(table.name, "name")?, text(table.summary, "summary")?);
    let library = Box::leak(Box::new(Library {
        table: *table,
        path: path.to_owned(),
        name: name.to_owned(),
    }));
    let entry = Box::leak(Box::new(EngineEntry::plugin(name, summary, library)));
    loaded.insert(path.to_owned(), entry);
    Ok(entry)
}

/// # Safety
/// As for [`load`].
unsafe fn open(path: &str) -> Result<&'static Table, String> {
    if !Path::new(path).is_file() {
        return Err(format!("{path}: no such file"));
    }
    // SAFETY: the caller's promise.
    let library = unsafe { libloading::Library::new(path) }.map_err(|error| {
        let reason = error
            .source()
            .map_or_else(|| error.to_string(), ToString::to_string);
        format!(
            "{path}: {}",
            reason.trim_start_matches(&format!("{path}: "))
        )
    })?;
    // SAFETY: the function's name determines its type.
    let found =
        unsafe { library.get::<unsafe extern "C" fn() -> *const Table>(b"dpamatch_engine\0") };
    let Ok(function) = found.map(|function| *function) else {
        return Err(format!("{path}: it has no function dpamatch_engine"));
    };
    // SAFETY: the caller's promise.
    let table = unsafe { function() };
    if table.is_null() {
        return Err(format!("{path}: dpamatch_engine returned null"));
    }
    // The table is in the library, which therefore never closes.
    std::mem::forget(library);
    // SAFETY: every version begins with the number of the version.
    let version = unsafe { (&raw const (*table).abi).read() };
    if version != ABI {
        return Err(format!(
            "{path}: version {version} of the interface, needs {ABI}"
        ));
    }
    // SAFETY: a table of this version has this size. Its functions are still to be checked.
    let functions = unsafe { &*table.cast::<Pointers>() }.functions;
    let missing = FUNCTIONS
        .iter()
        .zip(functions)
        .find(|(_, function)| function.is_null());
    if let Some((name, _)) = missing {
        return Err(format!("{path}: the engine has no function {name}"));
    }
    // SAFETY: a table of this version is constant and has all functions.
    Ok(unsafe { &*table })
}

/// A [`Table`] whose functions may be null.
#[repr(C)]
struct Pointers {
    abi: u32,
    texts: [*const c_void; 2],
    functions: [*const c_void; FUNCTIONS.len()],
    bytes: *const c_void,
}

const _: () = assert!(size_of::<Pointers>() == size_of::<Table>());
