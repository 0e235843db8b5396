//! The one emulated NIC of this program, with its processes and threads.

use crate::process::{App, Process};
use crate::queue::Nic;
use crate::slab::Slab;
use crate::status::Refusal;
use crate::thread::{Scheduler, TaskQueue, Unit};
use std::collections::HashMap;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, Once, OnceLock, PoisonError};

pub(crate) struct Machine {
    nic: Mutex<Nic>,
    pub(crate) objects: Mutex<Objects>,
    pub(crate) scheduler: Scheduler,
}

/// What handles name, but for queues and keys, which belong to the NIC.
pub(crate) struct Objects {
    pub(crate) apps: Slab<Arc<App>>,
    /// Stubs by address: the app, and the device function's name.
    pub(crate) stubs: HashMap<usize, (Arc<App>, String)>,
    pub(crate) functions: u32,
    pub(crate) processes: Slab<Arc<Process>>,
    pub(crate) units: Slab<Arc<Unit>>,
    pub(crate) tasks: Slab<Arc<TaskQueue>>,
    /// Windows, with the process and the protection domain of each.
    pub(crate) windows: Slab<(u32, usize)>,
}

/// Locks what a panic may have left behind: each change is whole.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The machine of this program. The first call builds it.
pub(crate) fn machine() -> &'static Machine {
    static MACHINE: OnceLock<Machine> = OnceLock::new();
    let made = MACHINE.get_or_init(|| {
        crate::environment::check();
        crate::check::outcome::open();
        crate::trace::open();
        crate::model::is_on();
        Machine {
            nic: Mutex::new(Nic::new()),
            objects: Mutex::new(Objects {
                apps: Slab::new(1),
                stubs: HashMap::new(),
                functions: 0,
                processes: Slab::new(1),
                units: Slab::new(0),
                tasks: Slab::new(1),
                windows: Slab::new(1),
            }),
            scheduler: Scheduler::new(),
        }
    });
    static AT_EXIT: Once = Once::new();
    // SAFETY: a function of this library, which stays loaded.
    AT_EXIT.call_once(|| unsafe {
        libc::atexit(look_last);
    });
    made
}

/// The program ends with what it has not destroyed.
extern "C" fn look_last() {
    let completions = last_nic().map(|mut nic| {
        nic.look_last(|_| true);
        nic.completions
    });
    let [activations, calls] = machine().scheduler.begun();
    crate::check::outcome::finish(calls, activations, completions);
}

/// The NIC, unless a program that ends inside its own call holds it. A worker holds it for a moment
/// only.
fn last_nic() -> Option<NicGuard<'static>> {
    for _ in 0..1000 {
        if let Ok(guard) = machine().nic.try_lock() {
            return Some(NicGuard(guard));
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    None
}

impl Machine {
    pub(crate) fn nic(&self) -> NicGuard<'_> {
        let guard = lock(&self.nic);
        crate::thread::in_nic(true);
        NicGuard(guard)
    }

    pub(crate) fn objects(&self) -> MutexGuard<'_, Objects> {
        lock(&self.objects)
    }

    pub(crate) fn process(&self, handle: crate::handle::Handle) -> Result<Arc<Process>, Refusal> {
        let kind = crate::handle::Kind::Process;
        let number = kind.number(handle)?;
        self.objects()
            .processes
            .get(number)
            .cloned()
            .ok_or_else(|| kind.gone())
    }
}

/// The NIC, while one caller changes it. A crash meanwhile is none of the device part's.
pub(crate) struct NicGuard<'a>(MutexGuard<'a, Nic>);

impl Deref for NicGuard<'_> {
    type Target = Nic;

    fn deref(&self) -> &Nic {
        &self.0
    }
}

impl DerefMut for NicGuard<'_> {
    fn deref_mut(&mut self) -> &mut Nic {
        &mut self.0
    }
}

impl Drop for NicGuard<'_> {
    fn drop(&mut self) {
        crate::thread::in_nic(false);
    }
}
