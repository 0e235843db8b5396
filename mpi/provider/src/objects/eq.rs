//! Event queues: events of address vectors and of the program itself.

use std::collections::VecDeque;
use std::ffi::{c_int, c_void};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::clock::{Clock, System, Wait};
use super::{common_ops, fid, strerror};
use crate::bindings::*;

/// The queued events in order, each with its bytes.
#[derive(Debug, Default)]
pub(crate) struct Events {
    waiting: Mutex<VecDeque<(u32, Vec<u8>)>>,
}

impl Events {
    pub(crate) fn put(&self, event: u32, entry: EqEntry) {
        let bytes = [
            entry.fid as usize,
            entry.context as usize,
            entry.data as usize,
        ]
        .iter()
        .flat_map(|word| word.to_ne_bytes())
        .collect();
        self.queue().push_back((event, bytes));
    }

    fn queue(&self) -> std::sync::MutexGuard<'_, VecDeque<(u32, Vec<u8>)>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[repr(C)]
struct EventQueue {
    c: FidEq,
    events: Arc<Events>,
    most: usize,
}

/// Longest sleep before another look, as events wake nobody.
const SLEEP: Duration = Duration::from_millis(1);

static FID_OPS: Ops = common_ops(close);
static OPS: OpsEq = OpsEq {
    read: Some(read),
    readerr: Some(readerr),
    write: Some(write),
    sread: Some(sread),
    strerror: Some(strerror),
    ..OpsEq::NONE
};

pub(super) unsafe extern "C" fn open(
    _: *mut FidFabric,
    attr: *mut EqAttr,
    out: *mut *mut FidEq,
    context: *mut c_void,
) -> c_int {
    // SAFETY: see `objects`.
    unsafe {
        let wait = attr.as_ref().map_or(FI_WAIT_NONE, |attr| attr.wait_obj);
        if !matches!(wait, FI_WAIT_NONE | FI_WAIT_UNSPEC | FI_WAIT_YIELD) {
            return -FI_ENOSYS;
        }
        let most = attr.as_ref().map_or(0, |attr| attr.size);
        let most = if most == 0 { 1024 } else { most };
        let queue = EventQueue {
            c: FidEq {
                fid: fid(FI_CLASS_EQ, context, &FID_OPS),
                ops: &OPS,
            },
            events: Arc::default(),
            most,
        };
        *out = Box::into_raw(Box::new(queue)).cast();
    }
    0
}

/// # Safety
/// An event queue of this provider.
unsafe fn of<'a, P>(queue: *mut P) -> &'a EventQueue {
    // SAFETY: the caller's promise.
    unsafe { &*queue.cast() }
}

/// The events of a queue, for objects that report to it.
///
/// # Safety
/// An event queue of this provider.
pub(super) unsafe fn shared(queue: *mut Fid) -> Arc<Events> {
    // SAFETY: the caller's promise.
    unsafe { of(queue) }.events.clone()
}

unsafe extern "C" fn close(queue: *mut Fid) -> c_int {
    // SAFETY: made by `open`.
    drop(unsafe { Box::from_raw(queue.cast::<EventQueue>()) });
    0
}

unsafe extern "C" fn read(
    queue: *mut FidEq,
    event: *mut u32,
    buffer: *mut c_void,
    length: usize,
    flags: u64,
) -> isize {
    // SAFETY: see `objects`.
    let mut waiting = unsafe { of(queue) }.events.queue();
    let Some((kind, bytes)) = waiting.front() else {
        return -(FI_EAGAIN as isize);
    };
    if bytes.len() > length {
        return -(FI_ETOOSMALL as isize);
    }
    // SAFETY: the program's places, the buffer with room for `length` bytes.
    unsafe {
        *event = *kind;
        buffer
            .cast::<u8>()
            .copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
    }
    let count = bytes.len() as isize;
    if flags & FI_PEEK == 0 {
        waiting.pop_front();
    }
    count
}

unsafe extern "C" fn readerr(_: *mut FidEq, _: *mut EqErrEntry, _: u64) -> isize {
    -(FI_EAGAIN as isize)
}

unsafe extern "C" fn write(
    queue: *mut FidEq,
    event: u32,
    buffer: *const c_void,
    length: usize,
    _: u64,
) -> isize {
    // SAFETY: see `objects`.
    let (queue, bytes) = unsafe {
        (
            of(queue),
            std::slice::from_raw_parts(buffer.cast::<u8>(), length),
        )
    };
    let mut waiting = queue.events.queue();
    if waiting.len() >= queue.most {
        return -(FI_EAGAIN as isize);
    }
    waiting.push_back((event, bytes.to_vec()));
    length as isize
}

unsafe extern "C" fn sread(
    queue: *mut FidEq,
    event: *mut u32,
    buffer: *mut c_void,
    length: usize,
    timeout: c_int,
    flags: u64,
) -> isize {
    // SAFETY: the conditions of this call.
    unsafe { sread_by(&mut System, queue, event, buffer, length, timeout, flags) }
}

/// [`sread`] by this clock.
///
/// # Safety
/// The caller keeps the conditions that libfabric states for the call.
pub(crate) unsafe fn sread_by(
    clock: &mut impl Clock,
    queue: *mut FidEq,
    event: *mut u32,
    buffer: *mut c_void,
    length: usize,
    timeout: c_int,
    flags: u64,
) -> isize {
    let mut wait = Wait::new(clock, timeout);
    loop {
        // SAFETY: see `objects`.
        let got = unsafe { read(queue, event, buffer, length, flags) };
        if got != -(FI_EAGAIN as isize) {
            return got;
        }
        let Some(left) = wait.left(SLEEP) else {
            return got;
        };
        wait.sleep(left, None);
    }
}
