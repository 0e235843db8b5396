//! An [`Engine`] as an engine of a library.

use std::ffi::{CStr, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

use dpamatch_vocabulary::{CommId, Envelope, SourceSel, TagSel};

use super::{ABI, FAILED, Found, Key, Sizes, State, Table};
use crate::engine::{Engine, MsgId, QueueStats, RecvId};

/// Makes this crate, of the type `cdylib`, an engine for `--engine PATH`: its name, a summary of
/// one line, and a function from [`Sizes`] to an [`Engine`]. See [`plugin`](crate::plugin).
#[macro_export]
macro_rules! export_engine {
    ($name:expr, $summary:expr, $new:expr) => {
        /// The engine of this library.
        #[unsafe(no_mangle)]
        pub extern "C" fn dpamatch_engine() -> *const $crate::plugin::Table {
            unsafe extern "C" fn create(
                sizes: *const $crate::plugin::Sizes,
            ) -> *mut ::std::ffi::c_void {
                // SAFETY: the caller passes a valid pointer.
                let sizes = unsafe { *sizes };
                let new: fn($crate::plugin::Sizes) -> _ = $new;
                $crate::plugin::made(|| $crate::plugin::hand_over(new(sizes)))
            }
            static TABLE: $crate::plugin::Table = $crate::plugin::entry($name, $summary, create);
            &raw const TABLE
        }
    };
}

/// The table of an engine that `create` makes with [`hand_over`].
pub const fn entry(
    name: &'static CStr,
    summary: &'static CStr,
    create: unsafe extern "C" fn(*const Sizes) -> State,
) -> Table {
    Table {
        abi: ABI,
        name: name.as_ptr(),
        summary: summary.as_ptr(),
        create,
        destroy,
        post,
        arrive,
        cancel,
        probe,
        mprobe,
        free_comm,
        is_empty,
        posted,
        unexpected,
        bytes: Some(bytes),
    }
}

/// The engine as the state of a library's engine.
pub fn hand_over(engine: impl Engine + 'static) -> *mut c_void {
    let engine: Box<dyn Engine> = Box::new(engine);
    Box::into_raw(Box::new(engine)).cast()
}

/// The state that `make` returns; null if it panics, as a panic must not reach C.
pub fn made(make: impl FnOnce() -> State) -> *mut c_void {
    guarded(std::ptr::null_mut(), make)
}

/// What a call returns, or `failed` if it panics. The engine stays allocated, and is not called
/// again: this answer ends its use.
fn guarded<R>(failed: R, call: impl FnOnce() -> R) -> R {
    catch_unwind(AssertUnwindSafe(call)).unwrap_or(failed)
}

/// As [`guarded`], for a search.
///
/// # Safety
/// `found` is valid for writing.
unsafe fn guarded_search(found: *mut Found, call: impl FnOnce() -> bool) -> bool {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(hit) => hit,
        Err(_) => {
            let failed = Found {
                compares: FAILED,
                ..Found::default()
            };
            // SAFETY: the caller's promise.
            unsafe { found.write(failed) };
            false
        }
    }
}

/// # Safety
/// `state` comes from [`hand_over`], has not been destroyed, and no other call uses it.
unsafe fn engine<'a>(state: State) -> &'a mut Box<dyn Engine> {
    // SAFETY: the caller's promise.
    unsafe { &mut *state.cast() }
}

/// Writes what a search found, with the steps that it added to `before`.
///
/// # Safety
/// `found` is valid for writing.
unsafe fn answer(found: *mut Found, id: Option<u64>, before: QueueStats, now: QueueStats) -> bool {
    let compares = now.attempts - before.attempts;
    let answer = Found {
        id: id.unwrap_or(0),
        compares,
        hops: now.hops - before.hops,
    };
    // SAFETY: the caller's promise.
    unsafe { found.write(answer) };
    id.is_some()
}

unsafe extern "C" fn destroy(state: State) {
    guarded((), || {
        // SAFETY: the state comes from `hand_over`, and this is its last use.
        drop(unsafe { Box::<Box<dyn Engine>>::from_raw(state.cast()) });
    });
}

unsafe extern "C" fn post(state: State, id: u64, key: *const Key, found: *mut Found) -> bool {
    let post = || {
        // SAFETY: the caller passes the state and valid pointers.
        let (engine, key) = unsafe { (engine(state), &*key) };
        let Some(selector) = key.selector() else {
            return false;
        };
        let before = engine.stats().umq;
        let message = engine.post(RecvId(id), CommId(key.comm), selector);
        let message = message.map(|message| message.0);
        // SAFETY: as above.
        unsafe { answer(found, message, before, engine.stats().umq) }
    };
    // SAFETY: the caller passes a valid pointer.
    unsafe { guarded_search(found, post) }
}

unsafe extern "C" fn arrive(state: State, id: u64, key: *const Key, found: *mut Found) -> bool {
    let arrive = || {
        // SAFETY: the caller passes the state and valid pointers.
        let (engine, key) = unsafe { (engine(state), &*key) };
        let Some(selector) = key.selector() else {
            return false;
        };
        let (SourceSel::Rank(source), TagSel::Tag(tag)) = (selector.source, selector.tag) else {
            return false;
        };
        let envelope = Envelope {
            comm: CommId(key.comm),
            source,
            tag,
        };
        let before = engine.stats().prq;
        let receive = engine.arrive(MsgId(id), envelope);
        let receive = receive.map(|receive| receive.0);
        // SAFETY: as above.
        unsafe { answer(found, receive, before, engine.stats().prq) }
    };
    // SAFETY: the caller passes a valid pointer.
    unsafe { guarded_search(found, arrive) }
}

/// # Safety
/// As for [`engine`]; `key` and `found` are valid.
unsafe fn find_message(state: State, key: *const Key, found: *mut Found, take: bool) -> bool {
    let find_message = || {
        // SAFETY: the caller's promise.
        let (engine, key) = unsafe { (engine(state), &*key) };
        let Some(selector) = key.selector() else {
            return false;
        };
        let before = engine.stats().umq;
        let message = match take {
            true => engine.mprobe(CommId(key.comm), selector),
            false => engine.probe(CommId(key.comm), selector),
        };
        let message = message.map(|message| message.0);
        // SAFETY: as above.
        unsafe { answer(found, message, before, engine.stats().umq) }
    };
    // SAFETY: the caller's promise.
    unsafe { guarded_search(found, find_message) }
}

unsafe extern "C" fn probe(state: State, key: *const Key, found: *mut Found) -> bool {
    // SAFETY: the caller passes the state and valid pointers.
    unsafe { find_message(state, key, found, false) }
}

unsafe extern "C" fn mprobe(state: State, key: *const Key, found: *mut Found) -> bool {
    // SAFETY: the caller passes the state and valid pointers.
    unsafe { find_message(state, key, found, true) }
}

// The answers to a panic of these three are wrong for the entries that the caller holds.

unsafe extern "C" fn cancel(state: State, id: u64) -> bool {
    // SAFETY: the caller passes the state.
    guarded(false, || unsafe { engine(state) }.cancel(RecvId(id)))
}

unsafe extern "C" fn free_comm(state: State, comm: u32) -> bool {
    // SAFETY: the caller passes the state.
    guarded(false, || unsafe { engine(state) }.free_comm(CommId(comm)))
}

unsafe extern "C" fn is_empty(state: State, comm: u32) -> bool {
    // SAFETY: the caller passes the state.
    guarded(false, || unsafe { engine(state) }.is_empty(CommId(comm)))
}

/// # Safety
/// `ids` has room for `room` ids.
unsafe fn list(all: impl ExactSizeIterator<Item = u64>, ids: *mut u64, room: usize) -> usize {
    let count = all.len();
    for (at, id) in all.take(room).enumerate() {
        // SAFETY: `at` is below `room`.
        unsafe { ids.add(at).write(id) };
    }
    count
}

unsafe extern "C" fn posted(state: State, ids: *mut u64, room: usize) -> usize {
    guarded(usize::MAX, || {
        // SAFETY: the caller passes the state.
        let posted = unsafe { engine(state) }.posted();
        // SAFETY: the caller passes as much room as it states.
        unsafe { list(posted.into_iter().map(|recv| recv.0), ids, room) }
    })
}

unsafe extern "C" fn unexpected(state: State, ids: *mut u64, room: usize) -> usize {
    guarded(usize::MAX, || {
        // SAFETY: the caller passes the state.
        let unexpected = unsafe { engine(state) }.unexpected();
        // SAFETY: the caller passes as much room as it states.
        unsafe { list(unexpected.into_iter().map(|msg| msg.0), ids, room) }
    })
}

unsafe extern "C" fn bytes(state: State) -> u64 {
    // SAFETY: the caller passes the state.
    guarded(u64::MAX, || unsafe { engine(state) }.stats().memory_bytes)
}
