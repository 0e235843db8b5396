//! Completion queues. Reading one makes progress for the endpoints that are bound to it.

use std::collections::VecDeque;
use std::ffi::{c_int, c_void};
use std::mem::offset_of;
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

use rustix::event::epoll;

use super::clock::{Clock, System, Wait};
use super::{Object, common_ops, fid, strerror};
use crate::bindings::*;
use crate::endpoint::{Common, Endpoint, Found, Queue, Sink, State};

static FID_OPS: Ops = Ops {
    control: Some(control),
    ..common_ops(close)
};
static OPS: OpsCq = OpsCq {
    read: Some(read),
    readfrom: Some(readfrom),
    readerr: Some(readerr),
    sread: Some(sread),
    sreadfrom: Some(sreadfrom),
    signal: Some(signal),
    strerror: Some(strerror),
    ..OpsCq::NONE
};

/// Longest sleep before another poll, so that it sees another thread's signal.
const SLEEP_MAX: Duration = Duration::from_millis(10);

pub(super) unsafe extern "C" fn open(
    domain: *mut FidDomain,
    attr: *mut CqAttr,
    out: *mut *mut FidCq,
    context: *mut c_void,
) -> c_int {
    // SAFETY: see `objects`.
    unsafe {
        let attr = &mut *attr;
        let entry_bytes = match attr.format {
            FI_CQ_FORMAT_CONTEXT => offset_of!(CqTaggedEntry, flags),
            FI_CQ_FORMAT_MSG => offset_of!(CqTaggedEntry, buf),
            FI_CQ_FORMAT_DATA => offset_of!(CqTaggedEntry, tag),
            FI_CQ_FORMAT_UNSPEC | FI_CQ_FORMAT_TAGGED => {
                attr.format = FI_CQ_FORMAT_TAGGED;
                size_of::<CqTaggedEntry>()
            }
            _ => return -FI_EINVAL,
        };
        let sleeps = match attr.wait_obj {
            FI_WAIT_NONE | FI_WAIT_YIELD => false,
            FI_WAIT_UNSPEC | FI_WAIT_FD => true,
            _ => return -FI_ENOSYS,
        };
        let wait = match sleeps.then(|| epoll::create(epoll::CreateFlags::CLOEXEC)) {
            None => None,
            Some(Ok(wait)) => Some(wait),
            Some(Err(_)) => return -FI_ENOMEM,
        };
        let queue = Queue {
            ready: VecDeque::with_capacity(1024),
            entry_bytes,
            endpoints: Vec::new(),
            sleeps,
            signalled: false,
            wait,
        };
        let domain = Object::<FidDomain>::of(domain);
        let index = domain.enter(|state, _| state.common.queues.insert(queue));
        let c = FidCq {
            fid: fid(FI_CLASS_CQ, context, &FID_OPS),
            ops: &OPS,
        };
        Object {
            c,
            gate: domain.gate.clone(),
            index,
        }
        .write_to(out);
    }
    0
}

unsafe extern "C" fn close(queue: *mut Fid) -> c_int {
    // SAFETY: see `objects`.
    let object = unsafe { Object::<FidCq>::of(queue) };
    if object.enter(|state, index| !state.common.queues[index].endpoints.is_empty()) {
        return -FI_EBUSY;
    }
    // SAFETY: see `objects`, and the program is done with it.
    let queue = unsafe { Object::<FidCq>::take(queue) };
    queue.enter(|state, index| state.common.queues.try_remove(index));
    0
}

unsafe extern "C" fn control(queue: *mut Fid, command: c_int, arg: *mut c_void) -> c_int {
    // SAFETY: see `objects`.
    let queue = unsafe { Object::<FidCq>::of(queue) };
    queue.enter(
        |state, index| match (command, &state.common.queues[index].wait) {
            (FI_GETWAIT, Some(wait)) => {
                // SAFETY: the program's place for a descriptor.
                unsafe { *arg.cast::<c_int>() = wait.as_raw_fd() };
                0
            }
            (FI_GETWAITOBJ, wait) => {
                // SAFETY: the program's place for a number.
                unsafe {
                    *arg.cast::<c_int>() = if wait.is_some() {
                        FI_WAIT_FD
                    } else {
                        FI_WAIT_NONE
                    };
                }
                0
            }
            _ => -FI_ENOSYS,
        },
    )
}

/// Progress for the queue's endpoints.
fn progress(state: &mut State, index: usize) {
    let State { common, endpoints } = state;
    // Progress neither binds an endpoint to the queue nor removes one.
    for place in 0..common.queues[index].endpoints.len() {
        let endpoint = common.queues[index].endpoints[place];
        if let Some(endpoint) = endpoints.get_mut(endpoint) {
            endpoint.progress(common);
        }
    }
}

unsafe extern "C" fn read(queue: *mut FidCq, buffer: *mut c_void, count: usize) -> isize {
    // SAFETY: see `objects`.
    unsafe { readfrom(queue, buffer, count, std::ptr::null_mut()) }
}

unsafe extern "C" fn readfrom(
    queue: *mut FidCq,
    buffer: *mut c_void,
    count: usize,
    from: *mut FiAddr,
) -> isize {
    // SAFETY: see `objects`; nothing here enters again.
    let object = unsafe { Object::<FidCq>::of(queue) };
    // SAFETY: as above.
    let held = unsafe { object.gate.hold() };
    let State { common, endpoints } = &mut *held.state;
    let index = object.index;
    let queue = &common.queues[index];
    // Most polls find nothing, or messages for posted receives.
    if queue.ready.is_empty()
        && let [only] = queue.endpoints[..]
        && let Some(endpoint) = endpoints.get_mut(only)
    {
        match endpoint.poll(common.options.yield_after) {
            Found::Nothing => return -(FI_EAGAIN as isize),
            Found::Records(place) if endpoint.completes_only_in(index) => {
                // SAFETY: see `read_some`.
                let mut sink = unsafe { Sink::new(buffer, from, count, queue.entry_bytes) };
                sink.open();
                if sink.is_open() && endpoint.short_round(common, place, &mut sink) {
                    let written = sink.written(buffer);
                    if written > 0 {
                        return written as isize;
                    }
                }
            }
            _ => {}
        }
    }
    // SAFETY: the conditions of this call.
    unsafe { read_some(held.state, index, buffer, count, from) }
}

/// Makes progress, and reads completions.
///
/// # Safety
/// The conditions of `fi_cq_readfrom`.
#[inline(never)]
unsafe fn read_some(
    state: &mut State,
    index: usize,
    buffer: *mut c_void,
    count: usize,
    from: *mut FiAddr,
) -> isize {
    state.forget_peers_if_crowded();
    let State { common, endpoints } = &mut *state;
    let queue = &common.queues[index];
    // SAFETY: the program's buffer has room for `count` entries of the format it chose, and `from`,
    // unless null, for as many addresses; every format is the beginning of the longest.
    let mut sink = unsafe { Sink::new(buffer, from, count, queue.entry_bytes) };
    if queue.ready.is_empty() || count == 0 {
        let only = match queue.endpoints[..] {
            [only] => endpoints.get_mut(only),
            _ => None,
        };
        match only {
            Some(endpoint) => {
                if endpoint.completes_only_in(index) {
                    sink.open();
                }
                endpoint.progress_into(common, &mut sink);
            }
            None => progress(state, index),
        }
    }
    let Common {
        queues, vectors, ..
    } = &mut state.common;
    let ready = &mut queues[index].ready;
    while let Some(completion) = ready.front()
        && completion.err == 0
        && sink.has_room()
    {
        sink.put(&completion.entry, completion.from, vectors);
        ready.pop_front();
    }
    match sink.written(buffer) {
        0 if count > 0 && !ready.is_empty() => -(FI_EAVAIL as isize),
        0 => -(FI_EAGAIN as isize),
        written => written as isize,
    }
}

unsafe extern "C" fn readerr(queue: *mut FidCq, out: *mut CqErrEntry, _: u64) -> isize {
    // SAFETY: see `objects`.
    unsafe { Object::<FidCq>::of(queue) }.enter(|state, index| {
        let ready = &mut state.common.queues[index].ready;
        let Some(&completion) = ready.front() else {
            return -(FI_EAGAIN as isize);
        };
        if completion.err == 0 {
            return -(FI_EAGAIN as isize);
        }
        ready.pop_front();
        // SAFETY: the program's place for an entry; its `err_data` is the program's and stays.
        unsafe {
            (*out).entry = completion.entry;
            (*out).olen = completion.olen;
            (*out).err = completion.err;
            (*out).prov_errno = completion.err;
            (*out).err_data_size = 0;
        }
        1
    })
}

/// Whether the queue is empty and its descriptor will wake its endpoints.
pub(super) fn fall_asleep(queue: &Object<FidCq>) -> bool {
    queue.enter(|state, index| {
        let State { common, endpoints } = state;
        let queue = &common.queues[index];
        if !queue.ready.is_empty() || queue.signalled {
            return false;
        }
        let mut quiet = true;
        for &endpoint in &queue.endpoints {
            quiet &= endpoints
                .get_mut(endpoint)
                .is_none_or(Endpoint::fall_asleep);
        }
        quiet
    })
}

unsafe extern "C" fn sread(
    queue: *mut FidCq,
    buffer: *mut c_void,
    count: usize,
    condition: *const c_void,
    timeout: c_int,
) -> isize {
    // SAFETY: see `objects`.
    unsafe {
        sreadfrom(
            queue,
            buffer,
            count,
            std::ptr::null_mut(),
            condition,
            timeout,
        )
    }
}

unsafe extern "C" fn sreadfrom(
    queue: *mut FidCq,
    buffer: *mut c_void,
    count: usize,
    from: *mut FiAddr,
    _: *const c_void,
    timeout: c_int,
) -> isize {
    // SAFETY: the conditions of this call.
    unsafe { sread_by(&mut System, queue, buffer, count, from, timeout) }
}

/// [`sreadfrom`] by this clock.
///
/// # Safety
/// The caller keeps the conditions that libfabric states for the call.
pub(crate) unsafe fn sread_by(
    clock: &mut impl Clock,
    queue: *mut FidCq,
    buffer: *mut c_void,
    count: usize,
    from: *mut FiAddr,
    timeout: c_int,
) -> isize {
    let mut wait = Wait::new(clock, timeout);
    // SAFETY: see `objects`.
    let object = unsafe { Object::<FidCq>::of(queue) };
    let wake = object.enter(|state, index| {
        let wait = state.common.queues[index].wait.as_ref();
        wait.and_then(|wait| wait.try_clone().ok())
    });
    loop {
        // SAFETY: see `objects`.
        let got = unsafe { readfrom(queue, buffer, count, from) };
        let signalled =
            object.enter(|state, index| std::mem::take(&mut state.common.queues[index].signalled));
        if got != -(FI_EAGAIN as isize) || signalled {
            return got;
        }
        let Some(left) = wait.left(SLEEP_MAX) else {
            return got;
        };
        let Some(wake) = &wake else {
            std::thread::yield_now();
            continue;
        };
        if fall_asleep(object) {
            wait.sleep(left, Some(wake.as_fd()));
        }
    }
}

unsafe extern "C" fn signal(queue: *mut FidCq) -> c_int {
    // SAFETY: see `objects`.
    unsafe { Object::<FidCq>::of(queue) }
        .enter(|state, index| state.common.queues[index].signalled = true);
    0
}
