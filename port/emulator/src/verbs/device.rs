//! One device, its contexts, protection domains and memory regions. Layouts are those of
//! rdma-core's verbs.h, with which host parts are compiled.

use crate::handle::Handle;
use crate::machine::machine;
use crate::queue::Mkey;
use crate::status::{Given, Refusal, calls, put, value};
use std::ffi::{c_char, c_int, c_void};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

#[repr(C)]
struct Device {
    operations: [usize; 2],
    node: u32,
    transport: u32,
    name: [u8; 64],
    device_name: [u8; 64],
    path: [u8; 256],
    ib_path: [u8; 256],
}

#[repr(C)]
struct Context {
    device: *const Device,
    operations: [usize; 32],
    command: c_int,
    event: c_int,
    vectors: c_int,
    mutex: [u64; 5],
    compatible: usize,
}

#[repr(C)]
struct Pd {
    context: *mut c_void,
    handle: u32,
    /// Memory regions, after the fields that programs see.
    regions: AtomicU32,
}

#[repr(C)]
struct Mr {
    context: *mut c_void,
    pd: *mut c_void,
    address: *mut c_void,
    length: usize,
    handle: u32,
    lkey: u32,
    rkey: u32,
}

const _: () = assert!(size_of::<Device>() == 664 && size_of::<Context>() == 328);
const _: () = assert!(size_of::<Pd>() == 16 && size_of::<Mr>() == 48);

fn text<const N: usize>(text: &str) -> [u8; N] {
    let mut bytes = [0; N];
    let length = text.len().min(N - 1);
    bytes[..length].copy_from_slice(&text.as_bytes()[..length]);
    bytes
}

/// The one device. Programs that look for another name get it from `DPA_DEVICE`.
static DEVICE: LazyLock<Device> = LazyLock::new(|| Device {
    operations: [0; 2],
    node: 1,
    transport: 0,
    name: text(&std::env::var("DPA_DEVICE").unwrap_or_else(|_| "mlx5_0".into())),
    device_name: text("uverbs0"),
    path: [0; 256],
    ib_path: [0; 256],
});

fn device() -> *const Device {
    &raw const *DEVICE
}

/// A protection domain for a process that names none.
pub(crate) fn new_pd(context: *mut c_void) -> Result<*mut c_void, Refusal> {
    if context.is_null() {
        return Err("no device context".into());
    }
    Ok(Box::into_raw(Box::new(Pd {
        context,
        handle: 1,
        regions: AtomicU32::new(0),
    }))
    .cast())
}

/// Frees a domain that [`new_pd`] made, unless memory regions keep it.
pub(crate) fn free_pd(pd: usize) {
    let pd = pd as *mut Pd;
    // SAFETY: the caller's own domain.
    // ordering: as in `ibv_dealloc_pd`.
    if unsafe { (*pd).regions.load(Relaxed) } == 0 {
        // SAFETY: as above, and nothing refers to it.
        drop(unsafe { Box::from_raw(pd) });
    }
}

#[unsafe(no_mangle)]
extern "C" fn ibv_get_device_list(count: *mut c_int) -> *mut *const c_void {
    if !count.is_null() {
        // SAFETY: a place for a number, by the API's contract.
        unsafe { count.write(1) };
    }
    let list = [device().cast::<c_void>(), std::ptr::null()];
    Box::into_raw(Box::new(list)).cast()
}

#[unsafe(no_mangle)]
extern "C" fn ibv_get_device_name(_device: *const c_void) -> *const c_char {
    DEVICE.name.as_ptr().cast()
}

calls! {
    fn ibv_open_device(device: *const c_void) -> *mut c_void = std::ptr::null_mut() => {
        if device.cast() != self::device() {
            return Err("an unknown device".into());
        }
        let (device, operations, mutex) = (self::device(), [0; 32], [0; 5]);
        let (command, event, vectors, compatible) = (-1, -1, 1, 0);
        let made = Context { device, operations, command, event, vectors, mutex, compatible };
        Ok(Box::into_raw(Box::new(made)).cast())
    }

    fn mlx5dv_open_device(device: Handle, _attr: Handle) -> Handle = std::ptr::null_mut() => {
        Ok(ibv_open_device(device))
    }

    /// A UAR of mlx5dv: two addresses, a number, an offset, a mask.
    fn mlx5dv_devx_alloc_uar(_of: Handle, _flags: u32) -> *mut [u64; 5] = std::ptr::null_mut() => {
        Ok(Box::into_raw(Box::new([0, 0, 1, 0, 0])))
    }

    /// The one port is up, with Ethernet of 4,096 bytes.
    fn ibv_query_port(_device: Handle, port: u8, to: Given<[u32; 12]>) -> c_int = libc::EINVAL => {
        let last = if port == 1 { 0x0002_0520 } else { return Err("there is one port".into()) };
        put(to, [4, 5, 5, 1, 0, 1 << 30, 0, 0, 1, 0, 0, last]).map(|()| 0)
    }

    fn ibv_query_gid(_device: Handle, _port: u8, _at: c_int, to: Given<[u8; 16]>) -> c_int = -1 => {
        put(to, 0xfe80_0000_0000_0000_0000_00ff_fe00_0001_u128.to_be_bytes()).map(|()| 0)
    }

    fn ibv_dealloc_pd(pd: *mut Pd) -> c_int = libc::EBUSY => {
        if pd.is_null() {
            return Ok(0);
        }
        // SAFETY: the host gives back what `ibv_alloc_pd` made; regions keep it.
        // ordering: a count for a refusal; who gives a domain back no longer uses it.
        match unsafe { (*pd).regions.load(Relaxed) } {
            // SAFETY: as above.
            0 => drop(unsafe { Box::from_raw(pd) }),
            regions => return Err(format!("{regions} memory regions are registered").into()),
        }
        Ok(0)
    }

    fn ibv_alloc_pd(context: *mut c_void) -> *mut c_void = std::ptr::null_mut() => {
        new_pd(context)
    }
}

#[unsafe(no_mangle)]
extern "C" fn ibv_reg_mr(pd: *mut Pd, at: *mut c_void, length: usize, access: c_int) -> *mut Mr {
    ibv_reg_mr_iova2(pd, at, length, at as u64, access as u32)
}

#[unsafe(no_mangle)]
extern "C" fn ibv_reg_mr_iova2(
    pd: *mut Pd,
    address: *mut c_void,
    length: usize,
    base: u64,
    access: u32,
) -> *mut Mr {
    value("ibv_reg_mr", std::ptr::null_mut(), || {
        if pd.is_null() || address.is_null() || length == 0 {
            return Err(format!("{length} bytes at {address:p}").into());
        }
        let key = Mkey::of_host(
            address.cast(),
            base,
            length as u64,
            access as c_int,
            pd as usize,
        );
        let key = machine().nic().keys.add(key)?;
        // SAFETY: a domain of the host's, by the API's contract.
        let domain = unsafe { &*pd };
        // ordering: as in `ibv_dealloc_pd`.
        domain.regions.fetch_add(1, Relaxed);
        let context = domain.context;
        let (pd, handle, lkey, rkey) = (pd.cast(), key, key, key);
        Ok(Box::into_raw(Box::new(Mr {
            context,
            pd,
            address,
            length,
            handle,
            lkey,
            rkey,
        })))
    })
}

#[unsafe(no_mangle)]
extern "C" fn ibv_dereg_mr(mr: *mut Mr) -> c_int {
    if !mr.is_null() {
        // SAFETY: the host gives back what `ibv_reg_mr` made.
        let gone = unsafe { Box::from_raw(mr) };
        machine().nic().keys.remove(gone.lkey);
        // SAFETY: the domain of a region lives, by the API's contract.
        // ordering: as in `ibv_dealloc_pd`.
        unsafe { &*gone.pd.cast::<Pd>() }
            .regions
            .fetch_sub(1, Relaxed);
    }
    0
}

take_back! {
    mlx5dv_devx_free_uar: [u64; 5];
    ibv_free_device_list: [*const c_void; 2];
    ibv_close_device: Context;
}
