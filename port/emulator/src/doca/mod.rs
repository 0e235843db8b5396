//! DOCA DPA for programs in C, over the emulator's own objects. Names, argument order and meaning
//! are those of the public pages and of the BSD-3 samples; `docs/doca.md` lists each call.
//!
//! All objects of hosts are in one table behind one lock. No call holds it while it waits for
//! device code, which takes the lock in its own calls.

mod argp;
mod buf;
mod device;
mod dpa;
mod event;
mod info;
mod lanes;
mod launch;
mod memory;
mod qp;
mod rdma;
mod refused;
mod task;
mod thread;
mod verbs;

pub(crate) use device::Own;
pub(crate) use dpa::Shared;
pub(crate) use event::Signal;
pub(crate) use launch::Seat;

use crate::handle::{Handle, Kind};
use crate::machine::lock;
use crate::slab::Slab;
use crate::status::{Refusal, Status};
use std::ffi::CStr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

/// Answers of calls, as the API's pages count them, with names and what they mean.
macro_rules! errors {
    ($($error:ident $name:literal $about:literal;)+) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(i32)]
        #[allow(dead_code, reason = "the whole table gives names to numbers")]
        pub(crate) enum Error {
            $($error,)+
        }

        const ERRORS: &[(&CStr, &CStr)] = &[$(($name, $about),)+];
    };
}

errors! {
    Success c"DOCA_SUCCESS" c"Success";
    Unknown c"DOCA_ERROR_UNKNOWN" c"Unknown error";
    NotPermitted c"DOCA_ERROR_NOT_PERMITTED" c"Operation not permitted";
    InUse c"DOCA_ERROR_IN_USE" c"Resource already in use";
    NotSupported c"DOCA_ERROR_NOT_SUPPORTED" c"Operation not supported";
    Again c"DOCA_ERROR_AGAIN" c"Resource unavailable, try again";
    InvalidValue c"DOCA_ERROR_INVALID_VALUE" c"Invalid input";
    NoMemory c"DOCA_ERROR_NO_MEMORY" c"Memory allocation failure";
    Initialization c"DOCA_ERROR_INITIALIZATION" c"Initialization failure";
    TimeOut c"DOCA_ERROR_TIME_OUT" c"Timer expired";
    Shutdown c"DOCA_ERROR_SHUTDOWN" c"Shut down in process";
    ConnectionReset c"DOCA_ERROR_CONNECTION_RESET" c"Connection reset by peer";
    ConnectionAborted c"DOCA_ERROR_CONNECTION_ABORTED" c"Connection aborted";
    ConnectionInProgress c"DOCA_ERROR_CONNECTION_INPROGRESS" c"Connection in progress";
    NotConnected c"DOCA_ERROR_NOT_CONNECTED" c"Not connected";
    NoLock c"DOCA_ERROR_NO_LOCK" c"Required lock not available";
    NotFound c"DOCA_ERROR_NOT_FOUND" c"Resource not found";
    IoFailed c"DOCA_ERROR_IO_FAILED" c"Input or output failed";
    BadState c"DOCA_ERROR_BAD_STATE" c"Bad state";
    UnsupportedVersion c"DOCA_ERROR_UNSUPPORTED_VERSION" c"Unsupported version";
    OperatingSystem c"DOCA_ERROR_OPERATING_SYSTEM" c"Call of the operating system failed";
    Driver c"DOCA_ERROR_DRIVER" c"Call of the driver failed";
    Unexpected c"DOCA_ERROR_UNEXPECTED" c"Unexpected scenario";
    AlreadyExist c"DOCA_ERROR_ALREADY_EXIST" c"Resource already exists";
    Full c"DOCA_ERROR_FULL" c"No room left";
    Empty c"DOCA_ERROR_EMPTY" c"No entry left";
    InProgress c"DOCA_ERROR_IN_PROGRESS" c"Operation in progress";
    TooBig c"DOCA_ERROR_TOO_BIG" c"Too big";
    Authentication c"DOCA_ERROR_AUTHENTICATION" c"Authentication failure";
    BadConfig c"DOCA_ERROR_BAD_CONFIG" c"Bad configuration";
    Skipped c"DOCA_ERROR_SKIPPED" c"Valid input was skipped";
    DeviceFatal c"DOCA_ERROR_DEVICE_FATAL_ERROR" c"Fatal error of the device";
}

/// Why a call refuses.
#[derive(Debug)]
pub(crate) struct Wrong(Error, String);

pub(crate) type Answer<T = ()> = Result<T, Wrong>;

impl Error {
    pub(crate) fn because<T>(self, why: impl Into<String>) -> Answer<T> {
        Err(Wrong(self, why.into()))
    }
}

impl Wrong {
    /// An answer that is no refusal: it needs no line.
    fn quiet(error: Error) -> Self {
        Self(error, String::new())
    }
}

impl From<Refusal> for Wrong {
    /// What the emulator's own objects refuse: wrong values, or that the process has ended.
    fn from(refusal: Refusal) -> Self {
        let error = match refusal.status {
            Status::Fatal => Error::DeviceFatal,
            _ => Error::InvalidValue,
        };
        Self(error, refusal.why)
    }
}

/// Runs a host's call: what is wrong becomes an error and one line.
pub(crate) fn host(call: &str, work: impl FnOnce() -> Answer) -> i32 {
    // As for the calls of FlexIO: what a panic leaves behind is behind locks.
    let result = catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|_| Error::Unexpected.because("the emulator itself failed"));
    match result {
        Ok(()) => 0,
        Err(Wrong(error, why)) if why.is_empty() => error as i32,
        Err(Wrong(error, why)) => {
            crate::check::error(crate::check::Fault::Call, format_args!("{call}: {why}"));
            error as i32
        }
    }
}

/// Calls of the API, which answer with an error.
macro_rules! calls {
    ($(
        $(#[$about:meta])*
        fn $call:ident($($name:ident: $kind:ty),* $(,)?) $work:block
    )+) => {$(
        $(#[$about])*
        #[unsafe(no_mangle)]
        extern "C" fn $call($($name: $kind),*) -> i32 {
            $crate::doca::host(stringify!($call), || $work)
        }
    )+};
}
pub(crate) use calls;

/// What hosts make, set up, start and destroy.
pub(crate) trait Object: Sized {
    const KIND: Kind;

    fn slab(objects: &mut Objects) -> &mut Slab<Self>;

    /// Whether its settings are fixed.
    fn is_started(&self) -> bool {
        false
    }
}

/// One table for each kind of object.
macro_rules! objects {
    ($($field:ident: $object:ty => $kind:ident $(, $started:ident)?;)+) => {
        pub(crate) struct Objects {
            $($field: Slab<$object>,)+
        }

        impl Objects {
            const fn new() -> Self {
                Self { $($field: Slab::new(1),)+ }
            }
        }

        $(impl Object for $object {
            const KIND: Kind = Kind::$kind;

            fn slab(objects: &mut Objects) -> &mut Slab<Self> {
                &mut objects.$field
            }

            $(fn is_started(&self) -> bool {
                self.$started.is_some()
            })?
        })+
    };
}

objects! {
    devices: info::Device => Device;
    dpas: dpa::Dpa => Dpa, process;
    threads: thread::Thread => DpaThread, unit;
    groups: thread::Group => Group, ranks;
    affinities: thread::Affinity => Affinity;
    completions: thread::Completion => Completion, queue;
    notifications: thread::Notification => Notification, unit;
    events: event::Event => Event, shared;
    remotes: event::Remote => RemoteEvent;
    mmaps: memory::Mmap => Mmap, memory;
    rdmas: rdma::Rdma => Rdma, queues;
    connections: rdma::Connection => Connection;
    inventories: buf::Inventory => Inventory;
    bufs: buf::Buf => Buf;
    engines: task::Engine => Engine;
    tasks: task::Task => RdmaTask;
    parameters: argp::Parameter => Parameter;
    backends: info::Backend => Backend;
    contexts: verbs::Context => VerbsContext;
    domains: verbs::Pd => VerbsPd;
    attributes: verbs::DeviceAttributes => VerbsAttributes;
    eth_attributes: verbs::EthAttributes => EthAttributes;
    queues: verbs::EthQueue => EthQueue;
    umems: qp::Umem => Umem;
    uars: qp::Uar => DpaUar;
    inits: qp::QpInit => QpInit;
    changes: qp::QpChange => QpChange;
    addresses: qp::Address => Address;
    pairs: qp::Qp => Qp;
    configurations: verbs::FlowConfig => FlowConfig;
    ports: verbs::FlowPort => FlowPort;
    pipes: verbs::FlowPipe => FlowPipe;
}

static OBJECTS: Mutex<Objects> = Mutex::new(Objects::new());

/// Makes an object and writes its handle.
fn make<T: Object>(place: crate::status::Given<Handle>, object: T) -> Answer<u32> {
    if place.pointer().is_null() {
        return Error::InvalidValue.because("no place for the result");
    }
    let made = T::slab(&mut lock(&OBJECTS)).insert(|_| object);
    let Some(number) = made else {
        return Error::NoMemory.because("too many objects");
    };
    crate::status::put(place, T::KIND.handle(number))?;
    Ok(number)
}

/// Works with an object under the table's lock.
fn with<T: Object, R>(handle: Handle, work: impl FnOnce(&mut T) -> Answer<R>) -> Answer<R> {
    let number = T::KIND.number(handle)?;
    let mut objects = lock(&OBJECTS);
    let object = T::slab(&mut objects).get_mut(number);
    work(object.ok_or_else(|| T::KIND.gone())?)
}

/// As `with`, before the object's start only.
fn setup<T: Object, R>(handle: Handle, work: impl FnOnce(&mut T) -> Answer<R>) -> Answer<R> {
    with(handle, |object: &mut T| {
        if object.is_started() {
            return Error::BadState.because(format!("{:?}: it is started already", T::KIND));
        }
        work(object)
    })
}

/// Takes an object out of the table, if `may` lets it go.
fn take<T: Object>(handle: Handle, may: impl FnOnce(&mut T) -> Answer) -> Answer<T> {
    with(handle, may)?;
    let number = T::KIND.number(handle)?;
    let gone = T::slab(&mut lock(&OBJECTS)).remove(number);
    Ok(gone.ok_or_else(|| T::KIND.gone())?)
}

/// Whether any object of a kind is as described.
fn any<T: Object>(is_it: impl Fn(&T) -> bool) -> bool {
    T::slab(&mut lock(&OBJECTS))
        .iter()
        .any(|(_, object)| is_it(object))
}

/// Settings: a call, the object's field, and the values that it takes.
macro_rules! setters {
    ($($object:ty { $($call:ident: $kind:ty => $field:ident $(in $range:expr)?;)+ })+) => {
        $crate::doca::calls! {$($(
            fn $call(object: $crate::handle::Handle, value: $kind) {
                $(if !($range).contains(&value) {
                    let (low, high) = ($range).into_inner();
                    let why = format!("{value}: a value from {low} to {high} is needed");
                    return $crate::doca::Error::InvalidValue.because(why);
                })?
                $crate::doca::setup(object, |object: &mut $object| {
                    object.$field = value.into();
                    Ok(())
                })
            }
        )+)+}
    };
}
pub(crate) use setters;

/// Calls that end an object that nothing else knows of.
macro_rules! destroyers {
    ($($call:ident: $object:ty;)+) => {$crate::doca::calls! {$(
        fn $call(object: $crate::handle::Handle) {
            $crate::doca::take(object, |_: &mut $object| Ok(())).map(|_| ())
        }
    )+}};
}
pub(crate) use destroyers;

/// Settings that change nothing here. Their values stay in the caller's registers.
macro_rules! accepted {
    ($($object:ty { $($call:ident)+ })+) => {$crate::doca::calls! {$($(
        fn $call(object: $crate::handle::Handle) {
            $crate::doca::setup(object, |_: &mut $object| Ok(()))
        }
    )+)+}};
}
pub(crate) use accepted;

/// An object that a started one needs.
fn started<T: Clone>(part: &Option<T>, kind: Kind) -> Answer<T> {
    match part {
        Some(part) => Ok(part.clone()),
        None => Error::BadState.because(format!("{kind:?}: it is not started")),
    }
}
