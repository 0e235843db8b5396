//! Devices, errors' names and logs.
//!
//! There is one NIC with two functions: a PF, which `DPA_DEVICE` names, and an SF.

use super::{Answer, Error, any, calls, make, take, with};
use crate::handle::{Handle, Kind};
use crate::status::{Given, put};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// The PF, and the SF.
const FUNCTIONS: u32 = 2;
pub(super) const PF: u32 = 0;
/// Bytes of names, with the 0 at the end.
const NAME: u32 = 64;

/// A device that the program has opened.
pub(super) struct Device {
    pub(super) function: u32,
    /// Its protection domain, which may be of verbs.
    pub(super) pd: usize,
    pub(super) owns_pd: bool,
}

/// A place for text that the program reads: standard output, error or a file.
pub(super) struct Backend;

static NAMES: LazyLock<[CString; 2]> = LazyLock::new(|| {
    let pf = std::env::var("DPA_DEVICE").unwrap_or_else(|_| "mlx5_0".into());
    let sf = if pf == "mlx5_2" { "mlx5_3" } else { "mlx5_2" };
    [pf.as_str(), sf].map(|name| CString::new(name).unwrap_or_default())
});

pub(super) fn function(info: Handle) -> Answer<u32> {
    match Kind::DeviceInfo.number(info)? {
        number if number < FUNCTIONS => Ok(number),
        number => Error::InvalidValue.because(format!("DeviceInfo: no function {number}")),
    }
}

/// A text into the program's buffer of `bytes` bytes.
fn copy(text: &CStr, to: *mut c_char, bytes: u32) -> Answer {
    let text = text.to_bytes_with_nul();
    if to.is_null() || (bytes as usize) < text.len() {
        let why = format!("a buffer of {bytes} bytes for {} bytes", text.len());
        return Error::InvalidValue.because(why);
    }
    // SAFETY: the API's contract: a buffer of `bytes` bytes, which are enough.
    unsafe { std::ptr::copy_nonoverlapping(text.as_ptr().cast(), to, text.len()) };
    Ok(())
}

calls! {
    fn doca_devinfo_create_list(list: Given<*mut Handle>, count: Given<u32>) {
        let infos: Vec<_> = (0..FUNCTIONS).map(|at| Kind::DeviceInfo.handle(at)).collect();
        put(count, FUNCTIONS)?;
        let infos: Box<[Handle; FUNCTIONS as usize]> = Box::new([infos[0], infos[1]]);
        Ok(put(list, Box::into_raw(infos).cast())?)
    }

    fn doca_devinfo_destroy_list(list: *mut [Handle; FUNCTIONS as usize]) {
        if list.is_null() {
            return Error::InvalidValue.because("no list");
        }
        // SAFETY: the program gives back what `doca_devinfo_create_list` made.
        drop(unsafe { Box::from_raw(list) });
        Ok(())
    }

    fn doca_devinfo_get_ibdev_name(info: Handle, name: *mut c_char, bytes: u32) {
        copy(&NAMES[function(info)? as usize], name, bytes)
    }

    fn doca_devinfo_get_iface_name(info: Handle, name: *mut c_char, bytes: u32) {
        copy([c"eth0", c"en3f0pf0sf0"][function(info)? as usize], name, bytes)
    }

    fn doca_devinfo_get_pci_addr_str(info: Handle, name: *mut c_char) {
        copy([c"0000:03:00.0", c"0000:03:00.0"][function(info)? as usize], name, NAME)
    }

    fn doca_devinfo_is_equal_pci_addr(info: Handle, address: *const c_char, same: Given<u8>) {
        function(info)?;
        if address.is_null() {
            return Error::InvalidValue.because("no address");
        }
        // SAFETY: not null, and so a text, by the API's contract.
        let address = unsafe { CStr::from_ptr(address) }.to_string_lossy();
        Ok(put(same, (address == "0000:03:00.0" || address == "03:00.0").into())?)
    }

    /// Counted as the pages do: PF 0, VF 1, SF 2.
    fn doca_devinfo_get_pci_func_type(info: Handle, kind: Given<u32>) {
        Ok(put(kind, function(info)? * 2)?)
    }

    fn doca_devinfo_get_sf_index(info: Handle, index: Given<u32>) {
        match function(info)? {
            PF => Error::NotSupported.because("a PF has no index of an SF"),
            _ => Ok(put(index, 0)?),
        }
    }

    fn doca_devinfo_get_mac_addr(info: Handle, address: *mut u8, bytes: u32) {
        let own = [2, 0, 0, 0, 0, function(info)? as u8 + 1];
        if address.is_null() || bytes < 6 {
            return Error::InvalidValue.because(format!("a buffer of {bytes} bytes for 6 bytes"));
        }
        // SAFETY: the API's contract: a buffer of `bytes` bytes, which are enough.
        unsafe { address.cast::<[u8; 6]>().write(own) };
        Ok(())
    }

    /// 0: programs see a host, whose RDMA resources may be the PF's.
    fn doca_devinfo_rep_cap_is_filter_net_supported(info: Handle, is: Given<u8>) {
        function(info)?;
        Ok(put(is, 0)?)
    }

    fn doca_dev_open(info: Handle, device: Given<Handle>) {
        let function = function(info)?;
        let context = Kind::DeviceInfo.handle(function);
        let pd = crate::verbs::new_pd(context)? as usize;
        let owns_pd = true;
        make(device, Device { function, pd, owns_pd }).map(|_| ())
    }

    fn doca_dev_close(device: Handle) {
        if any(|dpa: &super::dpa::Dpa| dpa.device == device) {
            return Error::InUse.because("a DPA context of this device exists");
        }
        let gone = take(device, |_: &mut Device| Ok(()))?;
        if gone.owns_pd {
            crate::verbs::free_pd(gone.pd);
        }
        Ok(())
    }
}

#[unsafe(no_mangle)]
extern "C" fn doca_dev_as_devinfo(device: Handle) -> Handle {
    let mut info = std::ptr::null_mut();
    super::host("doca_dev_as_devinfo", || {
        info = with(device, |device: &mut Device| {
            Ok(Kind::DeviceInfo.handle(device.function))
        })?;
        Ok(())
    });
    info
}

/// What each device can do.
macro_rules! capabilities {
    ($($call:ident)+) => {calls! {$(
        fn $call(info: Handle) { function(info).map(|_| ()) }
    )+}};
}

capabilities! {
    doca_dpa_cap_is_supported
    doca_rdma_cap_task_send_is_supported
    doca_rdma_cap_task_receive_is_supported
    doca_rdma_cap_task_write_is_supported
    doca_rdma_cap_task_read_is_supported
    doca_rdma_cap_task_send_imm_is_supported
    doca_rdma_cap_task_write_imm_is_supported
    doca_rdma_cap_task_atomic_cmp_swp_is_supported
    doca_rdma_cap_task_atomic_fetch_add_is_supported
    doca_clock_cap_nic_real_time_is_supported
    doca_clock_cap_nic_free_running_is_supported
}

fn named(error: c_int) -> &'static (&'static CStr, &'static CStr) {
    super::ERRORS
        .get(error as usize)
        .unwrap_or(&super::ERRORS[1])
}

pub(super) fn name_of(error: c_int) -> String {
    named(error).0.to_string_lossy().into_owned()
}

#[unsafe(no_mangle)]
extern "C" fn doca_error_get_name(error: c_int) -> *const c_char {
    named(error).0.as_ptr()
}

#[unsafe(no_mangle)]
extern "C" fn doca_error_get_descr(error: c_int) -> *const c_char {
    named(error).1.as_ptr()
}

/// Levels: critical 20, error 30, warning 40, information 50, debug 60, trace 70.
static LEVEL: AtomicU32 = AtomicU32::new(50);

calls! {
    fn doca_log_backend_create_standard() { Ok(()) }

    /// The emulator's own lines go to standard error in any case.
    fn doca_log_backend_create_with_file_sdk(file: *const c_void, backend: Given<Handle>) {
        if file.is_null() {
            return Error::InvalidValue.because("no file");
        }
        make(backend, Backend).map(|_| ())
    }

    fn doca_log_backend_set_sdk_level(backend: Handle, _level: u32) {
        with(backend, |_: &mut Backend| Ok(()))
    }

    fn doca_log_level_set_global_lower_limit(level: u32) {
        // ordering: one word, which orders no other memory.
        LEVEL.store(level, Relaxed);
        Ok(())
    }

    fn doca_log_level_set_global_sdk_limit(_level: u32) { Ok(()) }

    /// Behind the header's macros: one line of the program's own log.
    fn dpa_emulator_host_log(level: u32, source: *const c_char, text: *const c_char) {
        // ordering: one word, which orders no other memory.
        if level > LEVEL.load(Relaxed) {
            return Ok(());
        }
        // SAFETY: the header passes two texts.
        let [source, text] = unsafe { [source, text].map(|at| CStr::from_ptr(at)) };
        let name = match level {
            ..=20 => "CRT",
            21..=30 => "ERR",
            31..=40 => "WRN",
            41..=50 => "INF",
            _ => "DBG",
        };
        say(format_args!("[{name}][{}] {}\n", source.to_string_lossy(), text.to_string_lossy()));
        Ok(())
    }
}

unsafe extern "C" {
    static stdout: *mut libc::FILE;
}

/// Text for the program's standard output, in the order of the program's own.
pub(super) fn say(text: std::fmt::Arguments<'_>) {
    let text = format!("{text}");
    // SAFETY: the text has that many bytes; the C library locks its stream.
    unsafe {
        libc::fwrite(text.as_ptr().cast(), 1, text.len(), stdout);
        libc::fflush(stdout);
    }
}
