//! The inner endpoint: one of another libfabric provider, which carries frames to other machines.
//!
//! It takes messages without tags over a reliable endpoint without connections (`FI_EP_RDM`). This
//! file knows buffers and operations; what the frames mean is in `channel`.

use std::cell::UnsafeCell;
use std::ffi::{CStr, CString, c_void};
use std::net::IpAddr;
use std::ptr::{null, null_mut};

use crate::bindings::*;
use crate::core_library::{CoreLibrary, c_copy};

/// Bytes of a frame at most, and of its buffer.
pub(super) const FRAME: usize = 1 << 14;
/// Frames of each direction that a connection has buffers for.
pub(super) const WINDOW: usize = 8;
/// Longest name of an inner endpoint.
pub(super) const NAME_MAX: usize = 256;
/// The flag with which libfabric 2 offers its providers those that `FI_PROVIDER` hides from
/// programs (`OFI_GETINFO_HIDDEN`).
const HIDDEN: u64 = 1 << 60;
/// Completions that are read in one call.
const BATCH: usize = 16;

/// What each operation has as its context. A provider may use the first 64 bytes until the
/// operation has ended (`FI_CONTEXT2`).
#[repr(C)]
#[derive(Debug)]
struct Slot {
    scratch: [*mut c_void; 8],
    number: usize,
}

/// The buffers of one connection: [`WINDOW`] for receives, then as many for sends.
#[derive(Debug)]
struct Chunk {
    bytes: Box<[UnsafeCell<u8>]>,
    slots: Box<[UnsafeCell<Slot>]>,
    /// Null: the provider wants no registration.
    region: *mut FidMr,
}

/// The end of an operation on a buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Ended {
    Sent { number: usize, good: bool },
    Received { number: usize, length: usize },
}

/// The objects of the other provider, and the buffers.
#[derive(Debug)]
pub(super) struct InnerEndpoint {
    library: CoreLibrary,
    /// What libfabric offered.
    all: *mut Info,
    /// The one of them in use.
    info: *mut Info,
    fabric: *mut FidFabric,
    domain: *mut FidDomain,
    vector: *mut FidAv,
    queue: *mut FidCq,
    ep: *mut FidEp,
    name: Vec<u8>,
    chunks: Vec<Chunk>,
    /// Buffers for sends that are free.
    idle: Vec<usize>,
    /// Buffers whose receives the provider has not taken yet.
    unposted: Vec<usize>,
}

// SAFETY: the objects are used by one thread at a time, which is what `FI_THREAD_DOMAIN` promises;
// the buffers are its own.
unsafe impl Send for InnerEndpoint {}

/// Calls an operation of an object, if it has it.
macro_rules! call {
    ($object:expr, $table:ident, $op:ident $(, $arg:expr)*) => {
        match (*(*$object).$table).$op {
            Some(op) => op($object $(, $arg)*) as isize,
            None => -(FI_ENOSYS as isize),
        }
    };
}

fn check(what: &str, got: isize) -> Result<(), String> {
    match got {
        0 => Ok(()),
        error => Err(format!(
            "{what}: {}",
            std::io::Error::from_raw_os_error(-error as i32)
        )),
    }
}

impl InnerEndpoint {
    /// Opens an endpoint of this provider, at this address if the provider knows it.
    ///
    /// # Errors
    /// A text that names the cause.
    pub(super) fn open(library: CoreLibrary, provider: &str, at: IpAddr) -> Result<Self, String> {
        let (all, info) = offer(library, provider, at)?;
        let mut inner = Self {
            library,
            all,
            info,
            fabric: null_mut(),
            domain: null_mut(),
            vector: null_mut(),
            queue: null_mut(),
            ep: null_mut(),
            name: vec![0; NAME_MAX],
            chunks: Vec::new(),
            idle: Vec::new(),
            unposted: Vec::new(),
        };
        // SAFETY: an `fi_info` of libfabric with its attributes; each object is open when it is
        // used, and has a place.
        unsafe {
            let (none, info) = (null_mut(), &mut *inner.info);
            let got = (library.fabric)(info.fabric_attr, &mut inner.fabric, none);
            check("fi_fabric", got as isize)?;
            check(
                "fi_domain",
                call!(inner.fabric, ops, domain, info, &mut inner.domain, none),
            )?;
            let (mut vector, mut queue): (AvAttr, CqAttr) =
                (std::mem::zeroed(), std::mem::zeroed());
            (queue.format, queue.wait_obj) = (FI_CQ_FORMAT_TAGGED, FI_WAIT_NONE);
            let domain = inner.domain;
            check(
                "fi_av_open",
                call!(domain, ops, av_open, &mut vector, &mut inner.vector, none),
            )?;
            check(
                "fi_cq_open",
                call!(domain, ops, cq_open, &mut queue, &mut inner.queue, none),
            )?;
            check(
                "fi_endpoint",
                call!(domain, ops, endpoint, info, &mut inner.ep, none),
            )?;
            let ep = inner.ep.cast::<Fid>();
            check("fi_ep_bind", call!(ep, ops, bind, inner.vector.cast(), 0))?;
            let both = FI_SEND | FI_RECV;
            check("fi_ep_bind", call!(ep, ops, bind, inner.queue.cast(), both))?;
            check("fi_enable", call!(ep, ops, control, FI_ENABLE, none))?;
            let mut length = NAME_MAX;
            let getname = (*(*inner.ep).cm).getname.ok_or("fi_getname: none")?;
            let got = getname(ep, inner.name.as_mut_ptr().cast(), &mut length);
            check("fi_getname", got as isize)?;
            inner.name.truncate(length);
        }
        Ok(inner)
    }

    /// Its name, by which peers reach it: 1 to [`NAME_MAX`] bytes.
    pub(super) fn name(&self) -> &[u8] {
        &self.name
    }

    /// Adds the buffers of one more connection, unless that many are free.
    ///
    /// # Errors
    /// If the provider does not register their memory.
    pub(super) fn make_room(&mut self, connections: usize) -> Result<(), String> {
        if self.chunks.len() >= connections && self.idle.len() >= WINDOW {
            return Ok(());
        }
        let first = 2 * WINDOW * self.chunks.len();
        let slot = |at| Slot {
            scratch: [null_mut(); 8],
            number: first + at,
        };
        let mut chunk = Chunk {
            bytes: (0..2 * WINDOW * FRAME)
                .map(|_| UnsafeCell::new(0))
                .collect(),
            slots: (0..2 * WINDOW)
                .map(|at| UnsafeCell::new(slot(at)))
                .collect(),
            region: null_mut(),
        };
        // SAFETY: the info and the domain are open; the memory lives until the region is closed.
        unsafe {
            let domain = &*(*self.info).domain_attr;
            if domain.mr_mode & FI_MR_LOCAL != 0 {
                let reg = (*(*self.domain).mr).reg.ok_or("fi_mr_reg: none")?;
                let got = reg(
                    self.domain.cast(),
                    chunk.bytes.as_ptr().cast(),
                    chunk.bytes.len(),
                    FI_SEND | FI_RECV,
                    0,
                    self.chunks.len() as u64,
                    0,
                    &mut chunk.region,
                    null_mut(),
                );
                check("fi_mr_reg", got as isize)?;
            }
        }
        self.chunks.push(chunk);
        self.unposted.extend(first..first + WINDOW);
        self.idle.extend(first + WINDOW..first + 2 * WINDOW);
        self.post()
            .map_err(|error| std::io::Error::from_raw_os_error(error).to_string())
    }

    /// Puts a peer into the vector. `None`: the provider does not take the name.
    pub(super) fn insert(&mut self, name: &[u8]) -> Option<FiAddr> {
        let mut row = 0;
        // SAFETY: a name of this kind of endpoint, as the peer says; its length is what the own
        // name has, which is what the provider reads.
        let got = unsafe {
            let name = name.as_ptr().cast();
            call!(self.vector, ops, insert, name, 1, &mut row, 0, null_mut())
        };
        (got == 1).then_some(row)
    }

    /// Takes a peer out of the vector that nothing is being sent to.
    pub(super) fn remove(&mut self, mut row: FiAddr) {
        // SAFETY: a row that was inserted.
        unsafe { call!(self.vector, ops, remove, &mut row, 1, 0) };
    }

    /// A buffer for a send; it is the caller's until it is sent or given back.
    pub(super) fn take_idle(&mut self) -> Option<usize> {
        self.idle.pop()
    }

    pub(super) fn give_back(&mut self, number: usize) {
        self.idle.push(number);
    }

    /// A buffer of [`FRAME`] bytes.
    pub(super) fn buffer(&self, number: usize) -> *mut u8 {
        let (chunk, at) = (number / (2 * WINDOW), number % (2 * WINDOW));
        self.chunks[chunk].bytes[at * FRAME..].as_ptr() as *mut u8
    }

    fn parts(&self, number: usize) -> [*mut c_void; 2] {
        let chunk = &self.chunks[number / (2 * WINDOW)];
        let slot = chunk.slots[number % (2 * WINDOW)].get().cast();
        // SAFETY: a region that is open, if there is one.
        let region = unsafe { chunk.region.as_ref() };
        [region.map_or(null_mut(), |region| region.mem_desc), slot]
    }

    /// Sends the first `length` bytes of a buffer. `Ok(false)`: the provider has no room now.
    ///
    /// # Errors
    /// The error number.
    pub(super) fn send(&mut self, number: usize, length: usize, to: FiAddr) -> Result<bool, i32> {
        let [desc, context] = self.parts(number);
        let buffer = self.buffer(number).cast_const().cast();
        // SAFETY: the buffer and the context stay until the completion.
        match unsafe { call!(self.ep, msg, send, buffer, length, desc, to, context) } {
            0 => Ok(true),
            error if error == -(FI_EAGAIN as isize) => Ok(false),
            error => Err(-error as i32),
        }
    }

    /// Receives into this buffer again.
    pub(super) fn repost(&mut self, number: usize) {
        self.unposted.push(number);
    }

    /// Posts the receives that wait, as far as the provider has room.
    ///
    /// # Errors
    /// The error number. The endpoint is of no use any more.
    pub(super) fn post(&mut self) -> Result<(), i32> {
        while let Some(&number) = self.unposted.last() {
            let [desc, context] = self.parts(number);
            let buffer = self.buffer(number).cast();
            // SAFETY: the buffer and the context stay until the completion.
            let got = unsafe {
                let from = FI_ADDR_UNSPEC;
                call!(self.ep, msg, recv, buffer, FRAME, desc, from, context)
            };
            match got {
                0 => self.unposted.pop(),
                error if error == -(FI_EAGAIN as isize) => return Ok(()),
                error => return Err(-error as i32),
            };
        }
        Ok(())
    }

    /// Makes progress and adds what has ended to the list.
    ///
    /// # Errors
    /// The error number. The endpoint is of no use any more.
    pub(super) fn poll(&mut self, all: &mut Vec<Ended>) -> Result<(), i32> {
        // SAFETY: zero is a valid value of every field.
        let mut entries: [CqTaggedEntry; BATCH] = unsafe { std::mem::zeroed() };
        // SAFETY: room for that many entries of the queue's format.
        let got = unsafe {
            let buffer = entries.as_mut_ptr().cast();
            call!(self.queue, ops, read, buffer, BATCH)
        };
        let count = match got {
            0.. => got as usize,
            got if got == -(FI_EAGAIN as isize) => 0,
            got if got == -(FI_EAVAIL as isize) => {
                self.poll_error(all);
                0
            }
            error => return Err(-error as i32),
        };
        for entry in &entries[..count.min(BATCH)] {
            let number = self.number(entry.op_context);
            all.push(match number % (2 * WINDOW) < WINDOW {
                true => Ended::Received {
                    number,
                    length: entry.len.min(FRAME),
                },
                false => Ended::Sent { number, good: true },
            });
        }
        Ok(())
    }

    /// The number of the buffer whose operation has this context.
    fn number(&self, context: *mut c_void) -> usize {
        // SAFETY: the provider gives back the contexts that it got, which are slots. It no longer
        // uses this one, and has never written to the number.
        unsafe { (*context.cast::<Slot>()).number }
    }

    #[cold]
    fn poll_error(&mut self, all: &mut Vec<Ended>) {
        // An entry may have fields that are newer than this.
        #[repr(C)]
        struct Room(CqErrEntry, [u64; 8]);
        // SAFETY: zero is a valid value of every field; room for one entry.
        let (got, entry) = unsafe {
            let mut room: Room = std::mem::zeroed();
            let got = call!(self.queue, ops, readerr, (&raw mut room).cast(), 0);
            (got, room.0)
        };
        if got != 1 || entry.entry.op_context.is_null() {
            return;
        }
        let number = self.number(entry.entry.op_context);
        if number % (2 * WINDOW) < WINDOW {
            // A message that is longer than a frame is from a stranger.
            self.repost(number);
        } else {
            all.push(Ended::Sent {
                number,
                good: false,
            });
        }
    }
}

impl Drop for InnerEndpoint {
    fn drop(&mut self) {
        let regions = self.chunks.iter().map(|chunk| chunk.region.cast::<Fid>());
        let objects = [self.ep.cast::<Fid>()].into_iter().chain(regions).chain([
            self.queue.cast(),
            self.vector.cast(),
            self.domain.cast(),
            self.fabric.cast(),
        ]);
        for object in objects.filter(|object| !object.is_null()) {
            // SAFETY: open, and closed once, after what uses it.
            unsafe { call!(object, ops, close) };
        }
        // SAFETY: libfabric's, and no longer in use.
        unsafe { self.library.free_info(self.all) };
    }
}

/// What libfabric offers of this provider, at this address or else where it chooses: the list, and
/// the description that fits.
fn offer(
    library: CoreLibrary,
    provider: &str,
    at: IpAddr,
) -> Result<(*mut Info, *mut Info), String> {
    let name = CString::new(provider).map_err(|error| error.to_string())?;
    let node = CString::new(at.to_string()).map_err(|error| error.to_string())?;
    let hints = library.new_info();
    // SAFETY: a new `fi_info` with all its attributes, or null; libfabric frees the name.
    let all = unsafe {
        let parts = hints.as_mut().map(|hints| {
            hints.caps = FI_MSG | FI_SEND | FI_RECV;
            hints.mode = FI_CONTEXT | FI_CONTEXT2;
            (
                hints.ep_attr.as_mut(),
                hints.tx_attr.as_mut(),
                hints.rx_attr.as_mut(),
                hints.domain_attr.as_mut(),
                hints.fabric_attr.as_mut(),
            )
        });
        let Some((Some(ep), Some(tx), Some(rx), Some(domain), Some(fabric))) = parts else {
            return Err("no memory".to_owned());
        };
        ep.kind = FI_EP_RDM;
        (tx.msg_order, rx.msg_order) = (FI_ORDER_SAS, FI_ORDER_SAS);
        domain.mr_mode = FI_MR_LOCAL;
        domain.threading = FI_THREAD_DOMAIN;
        domain.control_progress = FI_PROGRESS_MANUAL;
        domain.data_progress = FI_PROGRESS_MANUAL;
        domain.resource_mgmt = FI_RM_ENABLED;
        fabric.prov_name = c_copy(&name);
        let mut all = null_mut();
        let (node, none) = (node.as_ptr(), null());
        for (node, flags) in [
            (node, FI_SOURCE),
            (none, 0),
            (node, FI_SOURCE | HIDDEN),
            (none, HIDDEN),
        ] {
            let version = version(1, 17);
            if (library.getinfo)(version, node, null(), flags, hints, &mut all) == 0 {
                break;
            }
            all = null_mut();
        }
        library.free_info(hints);
        all
    };
    // SAFETY: null, or a list of libfabric's with attributes and names.
    match unsafe { choose(all, &name) } {
        Some(chosen) => Ok((all, chosen)),
        None => {
            // SAFETY: as above.
            unsafe { library.free_info(all) };
            let filter = std::env::var("FI_PROVIDER").ok();
            let filter = filter.map_or(String::new(), |filter| {
                format!(" under FI_PROVIDER={filter}")
            });
            Err(format!(
                "libfabric has no provider of this name for reliable messages{filter}"
            ))
        }
    }
}

/// The first description of exactly this provider, or else the first of another one that libfabric
/// layers on it. None of this crate's.
///
/// # Safety
/// Null, or a list of libfabric's with attributes and names.
unsafe fn choose(all: *mut Info, name: &CStr) -> Option<*mut Info> {
    let (mut next, mut layered) = (all, None);
    // SAFETY: the caller's promise.
    while let Some(info) = unsafe { next.as_mut() } {
        next = info.next;
        // SAFETY: the caller's promise.
        let found = unsafe { CStr::from_ptr((*info.fabric_attr).prov_name) };
        if found == name {
            return Some(info);
        }
        if found != crate::NAME {
            layered.get_or_insert(&raw mut *info);
        }
    }
    layered
}
