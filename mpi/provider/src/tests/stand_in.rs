//! A libfabric with one provider, in this thread's memory, through the tables that C has. Tests of
//! inner endpoints run over it where no libfabric is installed.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::{null, null_mut};

use crate::bindings::*;
use crate::core_library::{CoreLibrary, c_copy};

/// Names of its providers. The second is one that `FI_PROVIDER` hides.
pub(super) const NAMES: [&str; 2] = ["stand-in", "hidden"];
/// Sends whose completions the program has not read. Beyond them there is no room.
const SENDS: usize = 3;
/// Receives of an endpoint.
const RECEIVES: usize = 30;
/// Completions of one call.
const COMPLETIONS: usize = 2;
/// Bytes of an endpoint's name.
pub(super) const NAME: usize = 24;

/// What is between the endpoints of a thread.
#[derive(Default)]
pub(super) struct Net {
    boxes: BTreeMap<u64, Mailbox>,
    ever: u64,
    /// Objects and descriptions that are in use.
    pub(super) open: usize,
    /// Registered memory, if the provider wants it: first byte and length.
    regions: BTreeMap<u64, [usize; 2]>,
    pub(super) registers: bool,
    /// The two oldest messages of an endpoint swap their places when both have come.
    pub(super) swaps: bool,
    /// Sends have no end and arrive nowhere.
    pub(super) stalls: bool,
    /// The queue gives this error.
    pub(super) fails: c_int,
    /// Bytes of a name beyond [`NAME`].
    pub(super) longer: usize,
    pub(super) messages: usize,
    pub(super) bytes: usize,
    /// Most messages that waited for receives of one endpoint.
    pub(super) without_receive: usize,
}

/// An endpoint.
#[derive(Default)]
struct Mailbox {
    arrived: VecDeque<Vec<u8>>,
    /// Buffer, length, context.
    posted: VecDeque<[usize; 3]>,
    /// Receiver, message, context.
    leaving: VecDeque<(u64, Vec<u8>, usize)>,
    /// Error, length, context.
    done: VecDeque<(c_int, usize, usize)>,
}

thread_local! {
    static NET: RefCell<Net> = RefCell::default();
}

pub(super) fn with<R>(what: impl FnOnce(&mut Net) -> R) -> R {
    NET.with_borrow_mut(what)
}

impl Net {
    /// A message of nobody to the youngest endpoint.
    pub(super) fn inject(&mut self, bytes: &[u8]) {
        let mut youngest = self.boxes.last_entry().expect("an endpoint");
        youngest.get_mut().arrived.push_back(bytes.to_vec());
    }

    /// The messages that wait for the youngest endpoint.
    pub(super) fn arrived(&mut self) -> &mut VecDeque<Vec<u8>> {
        &mut self
            .boxes
            .last_entry()
            .expect("an endpoint")
            .into_mut()
            .arrived
    }

    fn is_registered(&self, desc: *mut c_void, start: usize, length: usize) -> bool {
        let region = self.regions.get(&(desc as u64));
        let holds =
            |&[first, count]: &[usize; 2]| start >= first && start + length <= first + count;
        !self.registers || region.is_some_and(holds)
    }
}

/// The functions of the library.
pub(super) fn library() -> CoreLibrary {
    CoreLibrary::of(dupinfo, freeinfo, api, getinfo, fabric)
}

/// A description with all its attributes.
#[repr(C)]
struct Described(Info, TxAttr, RxAttr, EpAttr, DomainAttr, FabricAttr);

unsafe extern "C" fn api() -> u32 {
    version(1, 17)
}

unsafe extern "C" fn dupinfo(of: *const Info) -> *mut Info {
    assert!(of.is_null(), "only new ones are asked for");
    // SAFETY: zero is a valid value of every field.
    let mut all = Box::new(unsafe { std::mem::zeroed::<Described>() });
    let Described(info, tx, rx, ep, domain, fabric) = &mut *all;
    (info.tx_attr, info.rx_attr, info.ep_attr) = (tx, rx, ep);
    (info.domain_attr, info.fabric_attr) = (domain, fabric);
    with(|net| net.open += 1);
    Box::into_raw(all).cast()
}

unsafe extern "C" fn freeinfo(info: *mut Info) {
    if info.is_null() {
        return;
    }
    // SAFETY: made by `dupinfo`, and its name by `strdup`.
    unsafe {
        let all = Box::from_raw(info.cast::<Described>());
        libc::free(all.5.prov_name.cast());
        freeinfo(all.0.next);
    }
    with(|net| net.open -= 1);
}

unsafe extern "C" fn getinfo(
    asked: u32,
    node: *const c_char,
    _service: *const c_char,
    flags: u64,
    hints: *const Info,
    out: *mut *mut Info,
) -> c_int {
    // SAFETY: hints with all attributes and a name.
    let (hints, name) = unsafe {
        let hints = &*hints.cast::<Described>();
        (hints, CStr::from_ptr(hints.5.prov_name).to_str())
    };
    let place = NAMES.iter().position(|&known| Ok(known) == name);
    let is_hidden = place == Some(1) && flags & 1 << 60 == 0;
    // This provider's addresses are no IP addresses.
    if place.is_none() || is_hidden || !node.is_null() {
        return -FI_ENODATA;
    }
    let Described(info, tx, rx, ep, domain, _) = hints;
    assert_eq!(asked, version(1, 17));
    assert_eq!(
        (info.caps, ep.kind),
        (FI_MSG | FI_SEND | FI_RECV, FI_EP_RDM)
    );
    assert_eq!((tx.msg_order, rx.msg_order), (FI_ORDER_SAS, FI_ORDER_SAS));
    assert_eq!(info.mode, FI_CONTEXT | FI_CONTEXT2);
    assert_eq!(domain.mr_mode, FI_MR_LOCAL);
    // SAFETY: new descriptions, and a place for the first. A layered provider comes first.
    unsafe {
        let all = [c"stand-in;layer", c"stand-in", c"hidden"].map(|name| {
            let info = dupinfo(null());
            (*(*info).fabric_attr).prov_name = c_copy(name);
            (*(*info).domain_attr).mr_mode = if with(|net| net.registers) {
                FI_MR_LOCAL
            } else {
                0
            };
            info
        });
        ((*all[0]).next, (*all[1]).next) = (all[1], all[2]);
        *out = all[0];
    }
    0
}

/// An object and the number of its endpoint.
#[repr(C)]
struct Object<C> {
    c: C,
    number: u64,
}

/// Makes an object; its fields after the first are zero.
///
/// # Safety
/// `C` begins with a `Fid`, and zero is a valid value of the others.
unsafe fn give<C>(out: *mut *mut C, fclass: usize, number: u64) -> *mut C {
    // SAFETY: the caller's promise.
    let mut object = unsafe { std::mem::zeroed::<Object<C>>() };
    object.number = number;
    let object = Box::into_raw(Box::new(object)).cast::<C>();
    // SAFETY: it begins with a `Fid`; the result has a place.
    unsafe {
        let fid = object.cast::<Fid>();
        ((*fid).fclass, (*fid).ops) = (fclass, &FID);
        *out = object;
    }
    with(|net| net.open += 1);
    object
}

/// The number of an object's endpoint.
///
/// # Safety
/// An object that [`give`] made.
unsafe fn number<C>(object: *mut C) -> u64 {
    // SAFETY: the caller's promise.
    unsafe { (*object.cast::<Object<C>>()).number }
}

const NOTHING: u64 = u64::MAX;

static FID: Ops = Ops {
    close: Some(close),
    bind: Some(bind),
    control: Some(control),
    ..Ops::NONE
};
static FABRIC: OpsFabric = OpsFabric {
    domain: Some(domain),
    ..OpsFabric::NONE
};
static DOMAIN: OpsDomain = OpsDomain {
    av_open: Some(av_open),
    cq_open: Some(cq_open),
    endpoint: Some(endpoint),
    ..OpsDomain::NONE
};
static MR: OpsMr = OpsMr {
    reg: Some(reg),
    ..OpsMr::NONE
};
static AV: OpsAv = OpsAv {
    insert: Some(insert),
    remove: Some(remove),
    ..OpsAv::NONE
};
static CQ: OpsCq = OpsCq {
    read: Some(read),
    readerr: Some(readerr),
    ..OpsCq::NONE
};
static CM: OpsCm = OpsCm {
    getname: Some(getname),
    ..OpsCm::NONE
};
static MSG: OpsMsg = OpsMsg {
    recv: Some(recv),
    send: Some(send),
    ..OpsMsg::NONE
};

unsafe extern "C" fn fabric(
    attr: *mut FabricAttr,
    out: *mut *mut FidFabric,
    _: *mut c_void,
) -> c_int {
    // SAFETY: an attribute with a name, and a place for the result.
    unsafe {
        let name = CStr::from_ptr((*attr).prov_name).to_str().expect("text");
        assert!(!name.contains(';'), "a layered provider was not asked for");
        (*give(out, FI_CLASS_FABRIC, NOTHING)).ops = &FABRIC;
    }
    0
}

unsafe extern "C" fn domain(
    _: *mut FidFabric,
    _: *mut Info,
    out: *mut *mut FidDomain,
    _: *mut c_void,
) -> c_int {
    // SAFETY: a place for the result.
    unsafe {
        let domain = give(out, FI_CLASS_DOMAIN, NOTHING);
        ((*domain).ops, (*domain).mr) = (&DOMAIN, &MR);
    }
    0
}

unsafe extern "C" fn av_open(
    _: *mut FidDomain,
    _: *mut AvAttr,
    out: *mut *mut FidAv,
    _: *mut c_void,
) -> c_int {
    // SAFETY: a place for the result.
    unsafe { (*give(out, FI_CLASS_AV, NOTHING)).ops = &AV };
    0
}

unsafe extern "C" fn cq_open(
    _: *mut FidDomain,
    attr: *mut CqAttr,
    out: *mut *mut FidCq,
    _: *mut c_void,
) -> c_int {
    // SAFETY: attributes, and a place for the result.
    unsafe {
        assert_eq!((*attr).format, FI_CQ_FORMAT_TAGGED);
        (*give(out, FI_CLASS_CQ, NOTHING)).ops = &CQ;
    }
    0
}

unsafe extern "C" fn endpoint(
    _: *mut FidDomain,
    _: *mut Info,
    out: *mut *mut FidEp,
    _: *mut c_void,
) -> c_int {
    let own = with(|net| {
        net.ever += 1;
        net.boxes.insert(net.ever, Mailbox::default());
        net.ever
    });
    // SAFETY: a place for the result.
    unsafe {
        let ep = give(out, FI_CLASS_EP, own);
        ((*ep).cm, (*ep).msg) = (&CM, &MSG);
    }
    0
}

unsafe extern "C" fn close(fid: *mut Fid) -> c_int {
    // SAFETY: made by `give`, as this kind of object.
    unsafe {
        match (*fid).fclass {
            FI_CLASS_FABRIC => drop(Box::from_raw(fid.cast::<Object<FidFabric>>())),
            FI_CLASS_DOMAIN => drop(Box::from_raw(fid.cast::<Object<FidDomain>>())),
            FI_CLASS_AV => drop(Box::from_raw(fid.cast::<Object<FidAv>>())),
            FI_CLASS_CQ => drop(Box::from_raw(fid.cast::<Object<FidCq>>())),
            FI_CLASS_MR => {
                let region = Box::from_raw(fid.cast::<Object<FidMr>>());
                with(|net| net.regions.remove(&(region.c.mem_desc as u64)));
            }
            _ => {
                let ep = Box::from_raw(fid.cast::<Object<FidEp>>());
                with(|net| net.boxes.remove(&ep.number));
            }
        }
    }
    with(|net| net.open -= 1);
    0
}

unsafe extern "C" fn bind(ep: *mut Fid, other: *mut Fid, flags: u64) -> c_int {
    // SAFETY: an endpoint and a queue or vector, all made by `give`.
    unsafe {
        if (*other).fclass == FI_CLASS_CQ {
            assert_eq!(flags, FI_SEND | FI_RECV);
            (*other.cast::<Object<FidCq>>()).number = number(ep.cast::<FidEp>());
        }
    }
    0
}

unsafe extern "C" fn control(_: *mut Fid, command: c_int, _: *mut c_void) -> c_int {
    assert_eq!(command, FI_ENABLE);
    0
}

unsafe extern "C" fn reg(
    _: *mut Fid,
    start: *const c_void,
    length: usize,
    access: u64,
    _: u64,
    key: u64,
    _: u64,
    out: *mut *mut FidMr,
    _: *mut c_void,
) -> c_int {
    assert_eq!(access, FI_SEND | FI_RECV);
    // SAFETY: a place for the result.
    unsafe {
        let region = give(out, FI_CLASS_MR, NOTHING);
        let desc = with(|net| {
            net.ever += 1;
            net.regions.insert(net.ever, [start as usize, length]);
            net.ever
        });
        ((*region).mem_desc, (*region).key) = (desc as *mut c_void, key);
    }
    0
}

unsafe extern "C" fn getname(ep: *mut Fid, name: *mut c_void, length: *mut usize) -> c_int {
    // SAFETY: a buffer of that length, and an endpoint of `give`.
    unsafe {
        let room = length.replace(NAME + with(|net| net.longer));
        if room < *length {
            return -FI_ETOOSMALL;
        }
        name.cast::<u64>().write(number(ep.cast::<FidEp>()));
        name.cast::<u64>().add(1).write(7);
        name.cast::<u64>().add(2).write(9);
    }
    0
}

unsafe extern "C" fn insert(
    _: *mut FidAv,
    name: *const c_void,
    count: usize,
    out: *mut FiAddr,
    _: u64,
    _: *mut c_void,
) -> c_int {
    assert_eq!(count, 1);
    // SAFETY: a name, and a place for the row.
    unsafe {
        let parts = name.cast::<[u64; 3]>().read_unaligned();
        if parts[1..] != [7, 9] {
            return 0;
        }
        *out = parts[0];
    }
    1
}

unsafe extern "C" fn remove(_: *mut FidAv, _: *mut FiAddr, count: usize, _: u64) -> c_int {
    assert_eq!(count, 1);
    0
}

unsafe extern "C" fn recv(
    ep: *mut FidEp,
    buffer: *mut c_void,
    length: usize,
    desc: *mut c_void,
    from: FiAddr,
    context: *mut c_void,
) -> isize {
    assert_eq!(from, FI_ADDR_UNSPEC);
    with(|net| {
        assert!(net.is_registered(desc, buffer as usize, length));
        // SAFETY: an endpoint of `give`.
        let own = net.boxes.get_mut(&unsafe { number(ep) }).expect("open");
        if own.posted.len() == RECEIVES {
            return -(FI_EAGAIN as isize);
        }
        own.posted
            .push_back([buffer as usize, length, context as usize]);
        0
    })
}

unsafe extern "C" fn send(
    ep: *mut FidEp,
    buffer: *const c_void,
    length: usize,
    desc: *mut c_void,
    to: FiAddr,
    context: *mut c_void,
) -> isize {
    with(|net| {
        assert!(net.is_registered(desc, buffer as usize, length));
        // SAFETY: an endpoint of `give`.
        let own = net.boxes.get_mut(&unsafe { number(ep) }).expect("open");
        if own.leaving.len() == SENDS {
            return -(FI_EAGAIN as isize);
        }
        // SAFETY: the caller's buffer.
        let bytes = unsafe { std::slice::from_raw_parts(buffer.cast::<u8>(), length) };
        own.leaving
            .push_back((to, bytes.to_vec(), context as usize));
        net.messages += 1;
        net.bytes += length;
        0
    })
}

/// Moves messages on. As a provider may, it uses the contexts of operations until they end.
fn progress(net: &mut Net, own: u64) {
    let mailbox = net.boxes.get_mut(&own).expect("open");
    let mut leaving = std::mem::take(&mut mailbox.leaving);
    if net.stalls {
        leaving.clear();
    }
    for (to, bytes, context) in leaving {
        scribble(context);
        let error = match net.boxes.get_mut(&to) {
            Some(peer) => {
                peer.arrived.push_back(bytes);
                0
            }
            None => FI_EHOSTUNREACH,
        };
        let mailbox = net.boxes.get_mut(&own).expect("open");
        mailbox.done.push_back((error, 0, context));
    }
    let (swaps, mailbox) = (net.swaps, net.boxes.get_mut(&own).expect("open"));
    if swaps && mailbox.arrived.len() > 1 {
        mailbox.arrived.swap(0, 1);
        net.swaps = false;
    }
    while !mailbox.arrived.is_empty()
        && let Some([buffer, length, context]) = mailbox.posted.pop_front()
    {
        scribble(context);
        let bytes = mailbox.arrived.pop_front().expect("one");
        let error = if bytes.len() > length { FI_ETRUNC } else { 0 };
        let count = bytes.len().min(length);
        // SAFETY: the buffer is the receive's until it ends.
        unsafe { (buffer as *mut u8).copy_from_nonoverlapping(bytes.as_ptr(), count) };
        mailbox.done.push_back((error, count, context));
    }
    net.without_receive = net.without_receive.max(mailbox.arrived.len());
}

/// Writes to all of a context that `FI_CONTEXT2` gives to the provider.
fn scribble(context: usize) {
    // SAFETY: a context of 64 bytes, whose operation has not ended.
    unsafe { (context as *mut [usize; 8]).write([usize::MAX; 8]) };
}

unsafe extern "C" fn read(queue: *mut FidCq, buffer: *mut c_void, most: usize) -> isize {
    // SAFETY: a queue of `give`.
    let own = unsafe { number(queue) };
    with(|net| {
        if net.fails != 0 {
            return -(net.fails as isize);
        }
        progress(net, own);
        let done = &mut net.boxes.get_mut(&own).expect("open").done;
        if done.front().is_some_and(|&(error, ..)| error != 0) {
            return -(FI_EAVAIL as isize);
        }
        let mut count = 0;
        while count < most.min(COMPLETIONS)
            && let Some((_, len, context)) = done.pop_front_if(|&mut (error, ..)| error == 0)
        {
            let entry = CqTaggedEntry {
                op_context: context as *mut c_void,
                flags: 0,
                len,
                buf: null_mut(),
                data: 0,
                tag: 0,
            };
            // SAFETY: the caller's buffer has room for `most`.
            unsafe { buffer.cast::<CqTaggedEntry>().add(count).write(entry) };
            count += 1;
        }
        if count == 0 {
            -(FI_EAGAIN as isize)
        } else {
            count as isize
        }
    })
}

unsafe extern "C" fn readerr(queue: *mut FidCq, out: *mut CqErrEntry, _: u64) -> isize {
    // SAFETY: a queue of `give`.
    let own = unsafe { number(queue) };
    with(|net| {
        let done = &mut net.boxes.get_mut(&own).expect("open").done;
        let (err, _, context) = done.pop_front().expect("an error");
        // SAFETY: the caller's entry.
        unsafe { ((*out).err, (*out).entry.op_context) = (err, context as *mut c_void) };
        1
    })
}
