//! A libfabric provider whose endpoints match on the emulated NIC.
//!
//! libfabric loads this library when the folder that holds it is in `FI_PROVIDER_PATH`, and
//! then offers a provider `dpamatch` to every program. So an unchanged MPI library on libfabric
//! matches on the emulated NIC or on any engine of the registry.
//!
//! - `bindings`: libfabric's C interface.
//! - `getinfo`, `objects`: what the C side calls.
//! - `endpoint`: sends, receives, progress.
//! - `matcher`: the NIC, or an engine in its place; from match bits to communicator, source and
//!   tag.
//! - `wire`: rings in shared memory, TCP, addresses, admission of peers.
//!
//! The one function that this library exports is [`fi_prov_ini`]. A panic does not reach C: the
//! functions that C calls are `extern "C"`, in which a panic ends the process with its message.

mod bindings;
mod core_library;
mod endpoint;
mod gate;
mod getinfo;
mod matcher;
mod objects;
mod options;
#[cfg(test)]
mod tests;
mod wire;

use std::cell::UnsafeCell;
use std::ffi::CStr;
use std::sync::OnceLock;

use bindings::Provider;
use core_library::CoreLibrary;
use options::ProviderOptions;

/// The provider's name.
const NAME: &CStr = c"dpamatch";

/// Facts about the process, found once.
#[derive(Debug)]
struct Global {
    /// Absent in tests of this crate, which no libfabric has loaded.
    core: Option<CoreLibrary>,
    options: ProviderOptions,
}

static GLOBAL: OnceLock<Global> = OnceLock::new();

/// The process's provider. Everything that C calls comes after [`fi_prov_ini`].
fn provider() -> &'static Global {
    #[cfg(test)]
    return GLOBAL.get_or_init(|| Global {
        core: None,
        options: ProviderOptions::of_nothing(),
    });
    #[cfg(not(test))]
    GLOBAL
        .get()
        .expect("libfabric calls a provider after its initialization")
}

/// One line to standard error.
fn report(text: &str) {
    eprintln!("dpamatch: {text}");
}

/// The table that libfabric gets. libfabric writes to it, too.
struct Table(UnsafeCell<Provider>);

// SAFETY: written by `fi_prov_ini` before libfabric has it, and by libfabric under its own lock.
unsafe impl Sync for Table {}

static TABLE: Table = Table(UnsafeCell::new(Provider {
    version: bindings::version(0, 1),
    fi_version: 0,
    context: [std::ptr::null_mut(); 4],
    name: NAME.as_ptr(),
    getinfo: Some(getinfo::getinfo),
    fabric: Some(objects::fabric),
    cleanup: Some(cleanup),
}));

unsafe extern "C" fn cleanup() {}

/// The entry point that libfabric calls after it has loaded this library.
///
/// Null, and so no provider, if an option is invalid or the process has no libfabric; a
/// line on standard error says which.
#[unsafe(no_mangle)]
pub extern "C" fn fi_prov_ini() -> *mut std::ffi::c_void {
    let Some(core) = CoreLibrary::find() else {
        report("no libfabric in this process");
        return std::ptr::null_mut();
    };
    let options = match ProviderOptions::from_env() {
        Ok(options) => options,
        Err(message) => {
            report(&message);
            return std::ptr::null_mut();
        }
    };
    GLOBAL.get_or_init(|| Global {
        core: Some(core),
        options,
    });
    let table = TABLE.0.get();
    // SAFETY: libfabric initializes a provider once, from one thread, before it uses it. The
    // version says which interface the provider speaks: the loading libfabric's.
    unsafe { (*table).fi_version = core.version() };
    table.cast()
}
