//! Sync events: a 64-bit word that host and DPA reach.
//!
//! The declared places of publisher and subscriber are kept and not enforced: programs of the
//! vendor use an event the other way round.

use super::launch::Launch;
use super::{Answer, Error, calls, make, started, take, with};
use crate::handle::{Handle, Kind};
use crate::machine::{lock, machine};
use crate::process::{Process, ended};
use crate::status::{Given, put};
use crate::thread::Patience;
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::{Arc, Condvar, Mutex, Weak};
use std::time::Duration;

/// Between two looks at the process while the host waits.
const LOOK: Duration = Duration::from_millis(50);

#[derive(Default)]
pub(super) struct Event {
    /// The contexts that its places name.
    dpas: Vec<Handle>,
    has_publisher: bool,
    has_subscriber: bool,
    pub(super) shared: Option<Arc<Word>>,
    /// What others may get to know of it: program, first number of that, handle.
    export: Box<[u64; 3]>,
}

// SAFETY: handles are numbers in the shape of pointers.
unsafe impl Send for Event {}

/// An event that a connection's peer has exported, by its handle there.
pub(super) struct Remote(u64);

/// Words of exported events, by their handles. The NIC looks them up, which holds no other lock.
static EXPORTED: Mutex<BTreeMap<u64, Weak<Word>>> = Mutex::new(BTreeMap::new());

/// A change of an exported event, which a connection's peer wants.
pub(crate) struct Signal(Arc<Word>, Change);

impl Signal {
    /// How an event changes: 1 to set it, 2 to add. None if no such event is exported.
    pub(crate) fn new(event: u64, how: u32, value: u64) -> Option<Self> {
        let word = lock(&EXPORTED).get(&event)?.upgrade()?;
        match how {
            1 => Some(Self(word, Change::Set(value))),
            2 => Some(Self(word, Change::Add(value))),
            _ => None,
        }
    }

    pub(crate) fn give(self) {
        self.0.update(self.1);
    }
}

/// The word of a started event.
pub(crate) struct Word {
    state: Mutex<State>,
    changed: Condvar,
    patience: Patience,
    processes: Vec<Arc<Process>>,
}

#[derive(Default)]
struct State {
    value: u64,
    /// Launches that wait until the value is greater than theirs.
    launches: Vec<(u64, Launch)>,
    /// Who waits now.
    waiters: Vec<Waiter>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waiter {
    Host,
    Kernels,
    Thread(u32),
}

/// How a value changes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Change {
    Set(u64),
    Add(u64),
}

impl Word {
    pub(super) fn value(&self) -> u64 {
        lock(&self.state).value
    }

    /// Changes the value and starts what waited for it. Returns the value before.
    pub(super) fn update(&self, change: Change) -> u64 {
        let mut state = lock(&self.state);
        let before = state.value;
        state.value = match change {
            Change::Set(value) => value,
            Change::Add(value) => before.wrapping_add(value),
        };
        let value = state.value;
        let ready: Vec<_> = match state.launches.is_empty() {
            true => Vec::new(),
            false => {
                let is_ready = |(above, _): &mut (u64, Launch)| value > *above;
                state.launches.extract_if(.., is_ready).collect()
            }
        };
        // The host waits with the lock, and says so before.
        let host_waits = state.waiters.contains(&Waiter::Host);
        drop(state);
        if host_waits {
            self.changed.notify_all();
        }
        for (_, launch) in ready {
            self.has_waited(Waiter::Kernels);
            launch.begin();
        }
        before
    }

    /// Starts a launch as soon as the value is greater than `above`.
    pub(super) fn launch(&self, above: u64, launch: Launch) {
        let mut state = lock(&self.state);
        if state.value > above {
            drop(state);
            self.has_waited(Waiter::Kernels);
            return launch.begin();
        }
        state.launches.push((above, launch));
    }

    /// Notes who waits. Answers another that waits already.
    pub(super) fn waits(&self, waiter: Waiter) -> Option<Waiter> {
        let waiters = &mut lock(&self.state).waiters;
        waiters.push(waiter);
        waiters.iter().copied().find(|&other| other != waiter)
    }

    /// One that has waited does no more.
    pub(super) fn has_waited(&self, waiter: Waiter) {
        let waiters = &mut lock(&self.state).waiters;
        if let Some(at) = waiters.iter().position(|&other| other == waiter) {
            waiters.swap_remove(at);
        }
    }

    fn is_busy(&self) -> bool {
        !lock(&self.state).launches.is_empty()
    }

    /// Waits on the host until the value fits.
    fn wait(&self, fits: impl Fn(u64) -> bool) -> Answer {
        if let Some(other) = self.waits(Waiter::Host) {
            crate::check::error(
                crate::check::Fault::TwoWaiters,
                format_args!("a sync event has more than one waiter: the host, and {other}"),
            );
        }
        let result = self.wait_here(fits);
        self.has_waited(Waiter::Host);
        result
    }

    fn wait_here(&self, fits: impl Fn(u64) -> bool) -> Answer {
        // A kernel is short, and its launch has just woken a worker.
        let fits_now = || self.state.try_lock().is_ok_and(|state| fits(state.value));
        if self.patience.sees(fits_now) {
            return Ok(());
        }
        let mut state = lock(&self.state);
        while !fits(state.value) {
            if self.processes.iter().any(|at| at.state() != ended::NOT) {
                return Error::DeviceFatal.because("the DPA's process has ended");
            }
            let waited = self.changed.wait_timeout(state, LOOK);
            state = waited.unwrap_or_else(std::sync::PoisonError::into_inner).0;
        }
        drop(state);
        Ok(())
    }
}

impl std::fmt::Display for Waiter {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Host => write!(to, "the host"),
            Self::Kernels => write!(to, "a kernel's launch"),
            Self::Thread(id) => write!(to, "thread {id}"),
        }
    }
}

/// The word of a started event.
pub(super) fn word(event: Handle) -> Answer<Arc<Word>> {
    with(event, |event: &mut Event| {
        started(&event.shared, Kind::Event)
    })
}

fn place(event: Handle, dpa: Option<Handle>, publishes: bool) -> Answer {
    if let Some(dpa) = dpa {
        super::dpa::process(dpa)?;
    }
    super::setup(event, |event: &mut Event| {
        event.dpas.extend(dpa);
        event.has_publisher |= publishes;
        event.has_subscriber |= !publishes;
        Ok(())
    })
}

fn on_cpu(event: Handle, device: Handle, publishes: bool) -> Answer {
    with(device, |_: &mut super::info::Device| Ok(()))?;
    place(event, None, publishes)
}

super::destroyers! {
    doca_sync_event_remote_net_destroy: Remote;
}

calls! {
    fn doca_sync_event_create(event: Given<Handle>) {
        make(event, Event::default()).map(|_| ())
    }

    fn doca_sync_event_add_publisher_location_cpu(event: Handle, device: Handle) {
        on_cpu(event, device, true)
    }

    fn doca_sync_event_add_subscriber_location_cpu(event: Handle, device: Handle) {
        on_cpu(event, device, false)
    }

    fn doca_sync_event_add_publisher_location_dpa(event: Handle, dpa: Handle) {
        place(event, Some(dpa), true)
    }

    fn doca_sync_event_add_subscriber_location_dpa(event: Handle, dpa: Handle) {
        place(event, Some(dpa), false)
    }

    fn doca_sync_event_add_publisher_location_remote_net(event: Handle) {
        place(event, None, true)
    }

    fn doca_sync_event_export_to_remote_net(
        event: Handle, export: Given<*const c_void>, bytes: Given<usize>
    ) {
        let word = word(event)?;
        let first = machine().nic().wires.first_number();
        let at = with(event, |at: &mut Event| {
            *at.export = [u64::from(std::process::id()), first.into(), event as u64];
            Ok(&raw const *at.export)
        })?;
        let mut exported = lock(&EXPORTED);
        exported.retain(|_, word| word.strong_count() > 0);
        exported.insert(event as u64, Arc::downgrade(&word));
        put(export, at.cast())?;
        Ok(put(bytes, size_of::<[u64; 3]>())?)
    }

    /// An event that was exported here or in a program that a link joins.
    fn doca_sync_event_remote_net_create_from_export(
        device: Handle, export: *const [u64; 3], bytes: usize, event: Given<Handle>
    ) {
        with(device, |_: &mut super::info::Device| Ok(()))?;
        if export.is_null() || bytes != size_of::<[u64; 3]>() {
            return Error::InvalidValue.because(format!("{bytes} bytes are no export of an event"));
        }
        // SAFETY: the API's contract: as many bytes as the program says.
        let [program, first, handle] = unsafe { export.read_unaligned() };
        let is_other = program != u64::from(std::process::id());
        if is_other != machine().nic().wires.is_far(first as u32) {
            let why = "the event is of a program that no link joins to this one: \
                       DPA_WIRE=link:path=FILE of both does";
            return Error::NotSupported.because(why);
        }
        make(event, Remote(handle)).map(|_| ())
    }

    fn doca_sync_event_remote_net_get_dpa_handle(event: Handle, dpa: Handle, handle: Given<u64>) {
        super::dpa::process(dpa)?;
        let at = with(event, |event: &mut Remote| Ok(event.0))?;
        Ok(put(handle, at)?)
    }

    fn doca_sync_event_start(event: Handle) {
        let dpas = super::setup(event, |event: &mut Event| {
            if !event.has_publisher || !event.has_subscriber {
                let why = "an event needs a place of its publisher and of its subscriber";
                return Error::BadState.because(why);
            }
            Ok(event.dpas.clone())
        })?;
        let processes = dpas.into_iter().map(super::dpa::process).collect::<Answer<Vec<_>>>()?;
        let (state, changed) = (Mutex::default(), Condvar::new());
        let patience = Patience::default();
        let word = Arc::new(Word { state, changed, patience, processes });
        with(event, |event: &mut Event| {
            event.shared = Some(word);
            Ok(())
        })
    }

    fn doca_sync_event_stop(event: Handle) {
        let word = word(event)?;
        if word.is_busy() {
            return Error::InUse.because("a kernel's launch waits for the event");
        }
        with(event, |event: &mut Event| {
            event.shared = None;
            Ok(())
        })
    }

    fn doca_sync_event_destroy(event: Handle) {
        take(event, |event: &mut Event| {
            if event.shared.as_ref().is_some_and(|word| word.is_busy()) {
                return Error::InUse.because("a kernel's launch waits for the event");
            }
            Ok(())
        })
        .map(|_| ())
    }

    fn doca_sync_event_get_dpa_handle(event: Handle, dpa: Handle, handle: Given<u64>) {
        super::dpa::process(dpa)?;
        word(event)?;
        Ok(put(handle, event as u64)?)
    }

    fn doca_sync_event_get(event: Handle, value: Given<u64>) {
        Ok(put(value, word(event)?.value())?)
    }

    fn doca_sync_event_update_set(event: Handle, value: u64) {
        word(event)?.update(Change::Set(value));
        Ok(())
    }

    fn doca_sync_event_update_add(event: Handle, value: u64, before: Given<u64>) {
        let old = word(event)?.update(Change::Add(value));
        if before.pointer().is_null() { Ok(()) } else { Ok(put(before, old)?) }
    }

    fn doca_sync_event_wait_gt(event: Handle, value: u64, mask: u64) {
        word(event)?.wait(|now| now & mask > value)
    }

    fn doca_sync_event_wait_neq(event: Handle, value: u64, mask: u64) {
        word(event)?.wait(|now| now & mask != value)
    }
}
