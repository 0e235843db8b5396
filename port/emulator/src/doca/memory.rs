//! Memory maps: memory of the host or of the DPA's heap, with keys for queues and windows.

use super::info::Device;
use super::{Answer, Error, accepted, calls, make, setters, setup, started, take, with};
use crate::handle::{Handle, Kind};
use crate::machine::machine;
use crate::process::Process;
use crate::queue::Mkey;
use crate::status::{Given, put};
use std::ffi::c_void;
use std::sync::Arc;

/// A block of zeros in the heap, for the DPA's own structures.
pub(super) fn allocate(process: &Process, bytes: u64) -> Answer<u64> {
    let block = process.heap.allocate(bytes)?;
    let place = process.heap.in_block(block, bytes)?;
    // SAFETY: the new block, of which no other knows.
    unsafe { std::ptr::write_bytes(place.at(0, bytes), 0, bytes as usize) };
    crate::check::race::host_writes(block as usize, bytes as usize);
    Ok(block)
}

/// Writes a structure that device code reads.
pub(super) fn write(process: &Process, address: u64, words: &[u64]) -> Answer {
    let bytes = 8 * words.len() as u64;
    let place = process.heap.in_block(address, bytes)?;
    // SAFETY: the block has as many bytes.
    unsafe {
        let target = place.at(0, bytes).cast::<u64>();
        std::ptr::copy_nonoverlapping(words.as_ptr(), target, words.len());
    }
    crate::check::race::host_writes(address as usize, bytes as usize);
    Ok(())
}

/// Where the memory is.
#[derive(Clone)]
enum Range {
    None,
    Host(usize, usize),
    Heap(Arc<Process>, Handle, usize, u64, usize),
}

pub(super) struct Mmap {
    access: u32,
    range: Range,
    devices: Vec<Handle>,
    /// The key for each device.
    pub(super) memory: Option<Vec<(Handle, u32)>>,
    /// What others may get to know of it: program, key, address, bytes.
    export: Box<[u64; 4]>,
    /// Whether the key is that of another map.
    is_imported: bool,
}

// SAFETY: handles are numbers in the shape of pointers.
unsafe impl Send for Mmap {}

impl Mmap {
    fn new() -> Self {
        Self {
            access: 1,
            range: Range::None,
            devices: Vec::new(),
            memory: None,
            export: Box::default(),
            is_imported: false,
        }
    }

    /// Where it starts, and how many bytes it has.
    fn extent(&self) -> (usize, usize) {
        match &self.range {
            Range::None => (0, 0),
            Range::Host(start, length) => (*start, *length),
            Range::Heap(_, _, _, start, length) => (*start as usize, *length),
        }
    }

    pub(super) fn is_of(&self, process: u32) -> bool {
        matches!(&self.range, Range::Heap(own, ..) if own.id == process) && self.memory.is_some()
    }
}

setters! {
    Mmap {
        doca_mmap_set_permissions: u32 => access;
    }
}

accepted! {
    Mmap {
        doca_mmap_set_max_num_devices
    }
}

fn stop(mmap: Handle) -> Answer {
    let keys = with(mmap, |mmap: &mut Mmap| {
        let keys = mmap.memory.take();
        Ok(keys.filter(|_| !mmap.is_imported))
    })?;
    let mut nic = machine().nic();
    for (_, key) in keys.into_iter().flatten() {
        nic.keys.remove(key);
    }
    Ok(())
}

/// Whether a started map has these bytes.
pub(super) fn covers(mmap: Handle, address: usize, bytes: usize) -> Answer {
    with(mmap, |mmap: &mut Mmap| {
        started(&mmap.memory, Kind::Mmap)?;
        let (start, all) = mmap.extent();
        let offset = address.checked_sub(start);
        match offset.is_some_and(|offset| offset <= all && bytes <= all - offset) {
            true => Ok(()),
            false => {
                let why = format!("{bytes} bytes at {address:#x}: the map has {all} at {start:#x}");
                Error::InvalidValue.because(why)
            }
        }
    })
}

pub(super) fn key(mmap: Handle, device: Handle) -> Answer<u32> {
    with(mmap, |mmap: &mut Mmap| {
        let memory = started(&mmap.memory, Kind::Mmap)?;
        match memory.iter().find(|(other, _)| *other == device) {
            Some(&(_, key)) => Ok(key),
            None => Error::InvalidValue.because("the map has not been given this device"),
        }
    })
}

calls! {
    fn doca_mmap_create(mmap: Given<Handle>) {
        make(mmap, Mmap::new()).map(|_| ())
    }

    fn doca_mmap_set_memrange(mmap: Handle, address: *mut c_void, bytes: usize) {
        setup(mmap, |mmap: &mut Mmap| {
            if address.is_null() || bytes == 0 {
                return Error::InvalidValue.because(format!("{bytes} bytes at {address:p}"));
            }
            mmap.range = Range::Host(address as usize, bytes);
            Ok(())
        })
    }

    fn doca_mmap_set_dpa_memrange(mmap: Handle, dpa: Handle, address: u64, bytes: usize) {
        let (process, pd) = super::dpa::domain(dpa)?;
        process.heap.in_block(address, crate::process::bytes(bytes)?)?;
        let device = with(dpa, |dpa: &mut super::dpa::Dpa| Ok(dpa.device))?;
        setup(mmap, |mmap: &mut Mmap| {
            mmap.range = Range::Heap(process, device, pd, address, bytes);
            Ok(())
        })
    }

    fn doca_mmap_add_dev(mmap: Handle, device: Handle) {
        with(device, |_: &mut Device| Ok(()))?;
        setup(mmap, |mmap: &mut Mmap| {
            if !mmap.devices.contains(&device) {
                mmap.devices.push(device);
            }
            Ok(())
        })
    }

    fn doca_mmap_start(mmap: Handle) {
        let (range, access, devices) = setup(mmap, |mmap: &mut Mmap| {
            Ok((mmap.range.clone(), super::rdma::rights(mmap.access), mmap.devices.clone()))
        })?;
        let mut keys = Vec::new();
        match range {
            Range::None => return Error::BadState.because("the map has no range"),
            Range::Host(..) if devices.is_empty() => {
                return Error::BadState.because("the map has no device");
            }
            Range::Host(address, bytes) => for device in devices {
                let pd = with(device, |device: &mut Device| Ok(device.pd))?;
                let start = address as *mut u8;
                let made = Mkey::of_host(start, address as u64, bytes as u64, access, pd);
                keys.push((device, machine().nic().keys.add(made)?));
            }
            Range::Heap(process, device, pd, address, bytes) => {
                let place = process.heap.in_block(address, bytes as u64)?;
                // The NIC writes there from now on.
                process.heap.is_written(address);
                let bytes = bytes as u64;
                let made = Mkey::of_heap(process.id, place, address, bytes, access, pd);
                keys.push((device, machine().nic().keys.add(made)?));
            }
        }
        with(mmap, |mmap: &mut Mmap| {
            mmap.memory = Some(keys);
            Ok(())
        })
    }

    fn doca_mmap_stop(mmap: Handle) {
        with(mmap, |mmap: &mut Mmap| started(&mmap.memory, Kind::Mmap).map(|_| ()))?;
        stop(mmap)
    }

    fn doca_mmap_destroy(mmap: Handle) {
        stop(mmap)?;
        take(mmap, |_: &mut Mmap| Ok(())).map(|_| ())
    }

    fn doca_mmap_dev_get_dpa_handle(mmap: Handle, device: Handle, handle: Given<u32>) {
        Ok(put(handle, key(mmap, device)?)?)
    }

    fn doca_mmap_get_memrange(mmap: Handle, address: Given<usize>, bytes: Given<usize>) {
        let (start, length) = with(mmap, |mmap: &mut Mmap| match &mmap.range {
            Range::None => Error::BadState.because("the map has no range"),
            _ => Ok(mmap.extent()),
        })?;
        put(address, start)?;
        Ok(put(bytes, length)?)
    }

    fn doca_mmap_export_rdma(
        mmap: Handle, device: Handle, export: Given<*const c_void>, bytes: Given<usize>
    ) {
        let key = key(mmap, device)?;
        let at = with(mmap, |mmap: &mut Mmap| {
            let (start, length) = mmap.extent();
            *mmap.export = [std::process::id(), key, 0, 0].map(u64::from);
            (mmap.export[2], mmap.export[3]) = (start as u64, length as u64);
            Ok(&raw const *mmap.export)
        })?;
        put(export, at.cast())?;
        Ok(put(bytes, size_of::<[u64; 4]>())?)
    }

    /// A map of memory that another map has exported, here or in the program that a link joins.
    fn doca_mmap_create_from_export(
        _user: *const c_void, export: *const [u64; 4], bytes: usize, device: Handle,
        mmap: Given<Handle>,
    ) {
        with(device, |_: &mut Device| Ok(()))?;
        if export.is_null() || bytes != size_of::<[u64; 4]>() {
            return Error::InvalidValue.because(format!("{bytes} bytes are no export of a map"));
        }
        // SAFETY: the API's contract: as many bytes as the program says.
        let [program, key, start, length] = unsafe { export.read_unaligned() };
        let is_other = program != u64::from(std::process::id());
        if is_other != machine().nic().wires.is_far(key as u32 >> 8) {
            let why = "the map is of a program that no link joins to this one: \
                       DPA_WIRE=link:path=FILE of both does";
            return Error::NotSupported.because(why);
        }
        let mut made = Mmap::new();
        made.range = Range::Host(start as usize, length as usize);
        made.memory = Some(vec![(device, key as u32)]);
        made.is_imported = true;
        make(mmap, made).map(|_| ())
    }
}
