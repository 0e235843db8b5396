//! The host's calls on the heap, keys of device memory, windows and outboxes.

use crate::handle::{Handle, Kind, destroyers};
use crate::machine::machine;
use crate::queue::Mkey;
use crate::status::{Given, Refusal, attributes, calls, given, put};
use std::ffi::{c_int, c_void};

/// Most bytes of one call's copy.
const MOST: usize = 1 << 40;

pub(crate) fn bytes(bytes: usize) -> Result<u64, Refusal> {
    if bytes == 0 || bytes > MOST {
        return Err(format!("{bytes} bytes").into());
    }
    Ok(bytes as u64)
}

/// Bytes that a host's call copies from `source`.
fn from(source: *const u8, length: usize) -> Result<u64, Refusal> {
    if source.is_null() {
        Err("no source".into())
    } else {
        bytes(length)
    }
}

#[repr(C)]
struct MkeyAttributes {
    pd: *mut c_void,
    daddr: u64,
    length: usize,
    access: c_int,
}

/// UARs and outboxes are numbers: doorbells of the emulator are calls.
fn made(kind: Kind, process: Handle, place: Given<Handle>) -> Result<(), Refusal> {
    let id = machine().process(process)?.id;
    put(place, kind.handle(id))
}

calls! {
    fn flexio_buf_dev_alloc(process: Handle, length: usize, daddr: Given<u64>) {
        // 0 tells those who look at no status.
        put(daddr, 0)?;
        let found = machine().process(process)?.heap.allocate(bytes(length)?)?;
        put(daddr, found)
    }

    fn flexio_buf_dev_free(process: Handle, daddr: u64) {
        let process = machine().process(process)?;
        if daddr == 0 { Ok(()) } else { process.heap.free(daddr) }
    }

    fn flexio_buf_dev_memset(process: Handle, byte: c_int, length: usize, daddr: u64) {
        let length = bytes(length)?;
        let place = machine().process(process)?.heap.in_block(daddr, length)?;
        // SAFETY: the block has that many bytes; device code may race, as on the card.
        unsafe { std::ptr::write_bytes(place.at(0, length), byte as u8, length as usize) };
        crate::check::race::host_writes(daddr as usize, length as usize);
        Ok(())
    }

    fn flexio_host2dev_memcpy(process: Handle, source: *const u8, length: usize, daddr: u64) {
        let length = from(source, length)?;
        let place = machine().process(process)?.heap.in_block(daddr, length)?;
        // SAFETY: the API's contract: the source has that many bytes, and the place has as many.
        unsafe { std::ptr::copy(source, place.at(0, length), length as usize) };
        crate::check::race::host_writes(daddr as usize, length as usize);
        Ok(())
    }

    fn flexio_copy_from_host(process: Handle, source: *const u8, length: usize, daddr: Given<u64>) {
        put(daddr, 0)?;
        let (length, heap) = (from(source, length)?, &machine().process(process)?.heap);
        let found = heap.allocate(length)?;
        // SAFETY: as above.
        unsafe { std::ptr::copy(source, heap.place(found, length)?.at(0, length), length as usize) };
        crate::check::race::host_writes(found as usize, length as usize);
        put(daddr, found)
    }

    fn flexio_device_mkey_create(
        process: Handle, attr: Given<MkeyAttributes>, mkey: Given<Handle>
    ) {
        let attr = attributes(attr)?;
        let process = machine().process(process)?;
        if attr.pd.is_null() {
            return Err("no protection domain".into());
        }
        let place = process.heap.place(attr.daddr, bytes(attr.length)?)?;
        let made = Mkey::of_heap(process.id, place, attr.daddr, attr.length as u64, attr.access, attr.pd as usize);
        let key = machine().nic().keys.add(made)?;
        put(mkey, Kind::Mkey.handle(key))
    }

    fn flexio_window_create(process: Handle, pd: *mut c_void, window: Given<Handle>) {
        let process = machine().process(process)?;
        if pd.is_null() {
            return Err("no protection domain".into());
        }
        let made = machine().objects().windows.insert(|_| (process.id, pd as usize));
        put(window, Kind::Window.handle(made.ok_or("too many windows")?))
    }

    /// The attributes begin with `en_pcc`.
    fn flexio_outbox_create(process: Handle, attr: Given<u8>, outbox: Given<Handle>) {
        if given(attr).is_some_and(|&pcc| pcc != 0) {
            super::host::no_congestion_control("flexio_outbox_create");
        }
        made(Kind::Outbox, process, outbox)
    }

    fn flexio_outbox_get_uar(outbox: Handle) -> Handle = std::ptr::null_mut() => {
        Ok(Kind::Uar.handle(Kind::Outbox.number(outbox)?))
    }

    fn flexio_uar_create(process: Handle, uar: Given<Handle>) {
        made(Kind::Uar, process, uar)
    }

    fn flexio_uar_extend(uar: Handle, _context: *mut c_void, more: Given<Handle>) {
        Kind::Uar.number(uar)?;
        put(more, uar)
    }
}

fn destroy_key(key: u32) -> Result<(), Refusal> {
    machine()
        .nic()
        .keys
        .remove(key)
        .ok_or_else(|| Kind::Mkey.gone())
}

destroyers! {
    flexio_device_mkey_destroy: Mkey => destroy_key;
    flexio_mkey_destroy: Mkey => destroy_key;
    flexio_window_destroy: Window => |number| {
        let removed = machine().objects().windows.remove(number);
        crate::check::gone();
        removed.map(|_| ()).ok_or_else(|| Kind::Window.gone())
    };
    flexio_outbox_destroy: Outbox => |_| Ok(());
    flexio_uar_destroy: Uar => |_| Ok(());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_has_one_to_2_to_the_40_bytes() {
        for (count, fits) in [
            (0, false),
            (1, true),
            ((1 << 40) - 1, true),
            (1 << 40, true),
            ((1 << 40) + 1, false),
        ] {
            assert_eq!(bytes(count).ok(), fits.then_some(count as u64));
        }
    }
}
