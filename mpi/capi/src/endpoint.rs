//! The endpoint: its handle, its lock, its creation and destruction.

use std::ffi::{CStr, c_char};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use dpamatch::NicConfig;
use dpamatch::endpoint::{Drive, Endpoint as Inner, EndpointConfig, PostError};
use dpamatch::named::{NAMES, SetError};
use dpamatch::registry::EngineOptions;

use crate::code::{
    DPAMATCH_ERR_BUSY, DPAMATCH_ERR_OPTION, DPAMATCH_ERR_STOPPED, DPAMATCH_ERR_SYSTEM, Failure,
    guarded,
};
use crate::status::tell;

/// Most buffers kept for later receives.
const SPARE_MAX: usize = 64;
/// Longest buffer that is kept, in bytes.
const SPARE_BYTES_MAX: usize = 1 << 16;

/// A process's receiving side with an emulated NIC of its own. One thread at a time is inside a
/// call with it; a second one gets DPAMATCH_ERR_BUSY. After dpamatch_endpoint_destroy, calls with
/// a copy of the pointer return DPAMATCH_ERR_STOPPED.
#[derive(Debug)]
pub struct Endpoint {
    name: Name,
    /// `None` once it is destroyed. This shell stays until the program ends, and is never used
    /// again: a thread that read the pointer before another one destroyed the endpoint may enter at
    /// any later time.
    inside: Mutex<Option<Box<Inside>>>,
}

impl Endpoint {
    /// # Safety
    /// `endpoint` is null or was written by [`dpamatch_endpoint_create`].
    unsafe fn of<'a>(endpoint: *const Self) -> Result<&'a Self, Failure> {
        // SAFETY: the caller's promise; a shell stays until the program ends.
        unsafe { endpoint.as_ref() }.ok_or_else(|| Failure::argument("the endpoint is null"))
    }

    /// Enters the endpoint unless another thread is inside.
    fn enter(&self) -> Result<MutexGuard<'_, Option<Box<Inside>>>, Failure> {
        match self.inside.try_lock() {
            Ok(state) => Ok(state),
            Err(TryLockError::WouldBlock) => Err(Failure::new(
                DPAMATCH_ERR_BUSY,
                "another thread is inside a call",
            )),
            // The state after a panic is usable: see `guarded`.
            Err(TryLockError::Poisoned(state)) => Ok(state.into_inner()),
        }
    }
}

fn destroyed() -> Failure {
    Failure::new(DPAMATCH_ERR_STOPPED, "the endpoint was destroyed")
}

/// The shells of all endpoints, so that a memory checker finds a way to each.
static SHELLS: Mutex<Vec<&'static Endpoint>> = Mutex::new(Vec::new());

/// Makes the shell of a new endpoint.
fn shell(inner: Inner) -> &'static Endpoint {
    let inside = Box::new(Inside {
        endpoint: inner,
        spare: Vec::new(),
    });
    let shell: &'static Endpoint = Box::leak(Box::new(Endpoint {
        name: Name::fresh(),
        inside: Mutex::new(Some(inside)),
    }));
    let mut shells = SHELLS.lock().unwrap_or_else(PoisonError::into_inner);
    shells.push(shell);
    shell
}

/// A number that no other endpoint of the program has, not even an earlier one at its address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Name(u64);

impl Name {
    fn fresh() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        // ordering: only the names differ, and no memory goes with them.
        Self(NEXT.fetch_add(1, Relaxed))
    }

    /// # Safety
    /// The conditions of [`with`].
    pub(crate) unsafe fn of(endpoint: *const Endpoint) -> Result<Self, Failure> {
        // SAFETY: the caller's promise.
        unsafe { Endpoint::of(endpoint) }.map(|endpoint| endpoint.name)
    }

    /// Refuses an endpoint of another name.
    ///
    /// # Safety
    /// The conditions of [`with`].
    pub(crate) unsafe fn check(self, endpoint: *const Endpoint) -> Result<(), Failure> {
        // SAFETY: the caller's promise.
        match unsafe { Self::of(endpoint) }? == self {
            true => Ok(()),
            false => Err(Failure::argument("the handle belongs to another endpoint")),
        }
    }

    /// Refuses an endpoint of another name, but not null.
    ///
    /// # Safety
    /// The conditions of [`with`].
    pub(crate) unsafe fn check_unless_null(self, endpoint: *const Endpoint) -> Result<(), Failure> {
        if endpoint.is_null() {
            return Ok(());
        }
        // SAFETY: the caller's promise.
        unsafe { self.check(endpoint) }
    }
}

#[derive(Debug)]
pub(crate) struct Inside {
    pub(crate) endpoint: Inner,
    /// Buffers of receives that ended.
    spare: Vec<Vec<u8>>,
}

impl Inside {
    pub(crate) fn buffer(&mut self, length: usize) -> Result<Vec<u8>, Failure> {
        let mut buffer = self.spare.pop().unwrap_or_default();
        let more = length.saturating_sub(buffer.len());
        buffer.try_reserve_exact(more).map_err(|_| {
            let words = format!("no memory for a buffer of {length} bytes");
            Failure::new(DPAMATCH_ERR_SYSTEM, words)
        })?;
        buffer.resize(length, 0);
        Ok(buffer)
    }

    #[cfg(test)]
    pub(crate) fn spare(&self) -> usize {
        self.spare.len()
    }

    /// Keeps a buffer for a later receive, if it is short and there are few.
    pub(crate) fn keep(&mut self, buffer: Vec<u8>) {
        if self.spare.len() < SPARE_MAX && buffer.capacity() <= SPARE_BYTES_MAX {
            self.spare.push(buffer);
        }
    }

    /// Keeps the buffer of a receive that was not posted.
    pub(crate) fn refused(&mut self, error: PostError) -> Failure {
        let failure = Failure::from(&error);
        self.keep(error.into_buffer());
        failure
    }
}

/// Runs a function with an endpoint. Refuses one that was destroyed.
///
/// # Safety
/// `endpoint` is null or was written by [`dpamatch_endpoint_create`].
pub(crate) unsafe fn with<R>(
    endpoint: *const Endpoint,
    inside: impl FnOnce(&mut Inside) -> Result<R, Failure>,
) -> Result<R, Failure> {
    // SAFETY: the caller's promise.
    let mut state = unsafe { Endpoint::of(endpoint) }?.enter()?;
    inside(state.as_deref_mut().ok_or_else(destroyed)?)
}

/// Creates an endpoint.
///
/// `options`: names and values of the command line's options for the NIC, `"handlers=8 workers=2"`,
/// separated by spaces or commas; null or empty for the defaults. The names are handlers, workers,
/// slice-min, receives, bins, communicators, unexpected, unexpected-buffers, bounce-buffers,
/// eager-limit, fast-path, early-check, removal, domains, barrier, hashes. With workers=0, the
/// default, the NIC runs only inside the calls with this endpoint; otherwise it has that many
/// threads of its own.
///
/// Errors: ARGUMENT, OPTION, SYSTEM.
///
/// # Safety
/// `options` is null or text that ends with a zero; `endpoint` can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpamatch_endpoint_create(
    options: *const c_char,
    endpoint: *mut *mut Endpoint,
) -> i32 {
    guarded(|| {
        if endpoint.is_null() {
            return Err(Failure::argument("no place for the endpoint"));
        }
        let text = match options.is_null() {
            true => c"",
            // SAFETY: the caller's promise.
            false => unsafe { CStr::from_ptr(options) },
        };
        let text = text
            .to_str()
            .map_err(|_| Failure::argument("the options are not UTF-8"))?;
        let inner = Inner::new(&config(text)?)?;
        // SAFETY: the caller's promise.
        unsafe { endpoint.write((&raw const *shell(inner)).cast_mut()) };
        Ok(())
    })
}

fn config(text: &str) -> Result<EndpointConfig, Failure> {
    let bad = |words: String| Failure::new(DPAMATCH_ERR_OPTION, words);
    let mut options = EngineOptions {
        threads: false,
        ..EngineOptions::default()
    };
    let words = text
        .split([' ', ',', '\n', '\t'])
        .filter(|word| !word.is_empty());
    for word in words {
        let Some((name, value)) = word.split_once('=') else {
            return Err(bad(format!("{word}: no value, as in {word}=8")));
        };
        options.set(name, value).map_err(|error| match error {
            SetError::Value { expected } => bad(format!("{name}={value}: expected {expected}")),
            _ => bad(format!("{name}: no option; there are {}", NAMES.join(", "))),
        })?;
    }
    let nic = NicConfig {
        bins: options.bins.get() as usize,
        ..options.nic
    };
    let drive = if options.threads {
        Drive::threads()
    } else {
        Drive::Caller
    };
    Ok(EndpointConfig { nic, drive })
}

/// Ends an endpoint and its threads. Receives that are still posted end without a message: the
/// program may reuse their memory and free their requests. Senders get DPAMATCH_ERR_STOPPED.
///
/// Sets `endpoint` to null. If another thread is inside a call with it, the call does nothing and
/// returns BUSY. Of several threads that destroy one endpoint, each with a copy of the pointer, one
/// succeeds; the others get BUSY, or STOPPED and null. A thread that still has a copy may call with
/// it at any time, and gets STOPPED.
///
/// # Safety
/// `endpoint` is null, points to null, or points to an endpoint, which may have been destroyed. No
/// other thread uses the place that it points to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpamatch_endpoint_destroy(endpoint: *mut *mut Endpoint) -> i32 {
    guarded(|| {
        // SAFETY: the caller's promise.
        let Some(place) = (unsafe { endpoint.as_mut() }) else {
            return Ok(());
        };
        if place.is_null() {
            return Ok(());
        }
        // SAFETY: the caller's promise.
        let taken = unsafe { Endpoint::of(*place) }?.enter()?.take();
        *place = std::ptr::null_mut();
        // Its threads end here, outside the lock: later callers need not wait for them.
        taken.map(drop).ok_or_else(destroyed)
    })
}

/// Makes progress without waiting. Sets `worked`, unless null, to whether anything happened.
///
/// Errors: ARGUMENT, BUSY.
///
/// # Safety
/// The endpoint is alive; `worked` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpamatch_progress(endpoint: *mut Endpoint, worked: *mut bool) -> i32 {
    guarded(|| {
        // SAFETY: the caller's promise.
        let any = unsafe { with(endpoint, |inside| Ok(inside.endpoint.progress())) }?;
        // SAFETY: the caller's promise.
        unsafe { tell(worked, any) };
        Ok(())
    })
}

/// Reads a counter by its name: messages, clean, fast, slow, unexpected, blocks and others, as
/// `dpamatch match --stats` prints them.
///
/// Errors: ARGUMENT, also for an unknown name; BUSY.
///
/// # Safety
/// The endpoint is alive, the name ends with a zero, `value` can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpamatch_counter(
    endpoint: *mut Endpoint,
    name: *const c_char,
    value: *mut u64,
) -> i32 {
    guarded(|| {
        if name.is_null() || value.is_null() {
            return Err(Failure::argument("no name, or no place for the value"));
        }
        // SAFETY: the caller's promise.
        let name = unsafe { CStr::from_ptr(name) }.to_string_lossy();
        // SAFETY: the caller's promise.
        let (counts, _) = unsafe { with(endpoint, |inside| Ok(inside.endpoint.counts())) }?;
        let found = counts
            .handlers
            .rows()
            .chain(counts.boundary.rows())
            .find(|(row, _)| *row == name);
        let (_, number) =
            found.ok_or_else(|| Failure::argument(&format!("{name}: no counter has this name")))?;
        // SAFETY: the caller's promise.
        unsafe { value.write(number) };
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Endpoint {
        /// Runs a function while this thread is inside a call.
        pub(crate) fn while_locked(&self, inside: impl FnOnce()) {
            let _guard = self.inside.lock().expect("no thread panicked before");
            inside();
        }
    }

    #[test]
    fn options_are_those_of_the_text() {
        let good = |text| config(text).map_err(|_| text).expect("good options");
        let usual = good("");
        assert_eq!(usual.drive, Drive::Caller, "no threads");
        let usual = usual.nic;
        assert_eq!(usual.bins, 256, "as on the command line");
        assert_eq!(good(" ,\n\t").nic, usual);
        let changed = good("handlers=8 bins=64,receives=100\tunexpected=9\neager-limit=3");
        assert_eq!(changed.drive, Drive::Caller);
        let expected = NicConfig {
            handlers: 8,
            bins: 64,
            receives: 100,
            eager_limit: 3,
            ..changed.nic
        };
        assert_eq!(changed.nic, expected);
        assert_ne!(changed.nic, usual);
        assert_eq!(
            (good("workers=2").drive, good("workers=2").nic.workers),
            (Drive::threads(), 2)
        );
        assert_eq!(good("workers=0").drive, Drive::Caller);
    }

    #[test]
    fn some_buffers_are_kept() {
        let mut endpoint = std::ptr::null_mut();
        // SAFETY: no options, and a place for the answer.
        let code = unsafe { dpamatch_endpoint_create(std::ptr::null(), &raw mut endpoint) };
        assert_eq!(code, crate::DPAMATCH_OK);
        let inside = |inside: &mut Inside| {
            (0..SPARE_MAX + 2).for_each(|_| inside.keep(vec![1; 4]));
            assert_eq!(inside.spare.len(), SPARE_MAX);
            assert_eq!(
                (inside.buffer(2)?, inside.spare.len()),
                (vec![1; 2], SPARE_MAX - 1)
            );
            assert_eq!(inside.buffer(6)?, [1, 1, 1, 1, 0, 0]);
            // The kept buffers have a bound in bytes, too.
            inside.spare.clear();
            (0..SPARE_MAX).for_each(|_| inside.keep(vec![0; 1 << 24]));
            let kept: usize = inside.spare.iter().map(Vec::capacity).sum();
            assert!(kept <= 4 << 20, "{kept} bytes are kept");
            for (bytes, kept) in [(65_535, 1), (65_536, 1), (65_537, 0)] {
                inside.spare.clear();
                inside.keep(Vec::with_capacity(bytes));
                assert_eq!(inside.spare.len(), kept, "{bytes} bytes");
            }
            inside.spare.clear();
            for held in [63, 64, 64] {
                (0..63).for_each(|_| inside.keep(vec![1; 4]));
                inside.spare.truncate(held);
                inside.keep(vec![2; 4]);
                assert_eq!(inside.spare.len(), 64);
            }
            assert!(
                inside.buffer(isize::MAX as usize).is_err(),
                "there is no such memory"
            );
            Ok(())
        };
        // SAFETY: it is alive.
        assert!(unsafe { with(endpoint, inside) }.is_ok());
        // SAFETY: it is alive, and no thread uses it.
        unsafe { dpamatch_endpoint_destroy(&raw mut endpoint) };
    }
}
