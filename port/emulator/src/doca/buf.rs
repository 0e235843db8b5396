//! Buffers of a map's memory, from inventories. A buffer's data begin at its head and are none, or
//! are those that the program names. What tasks receive and read goes behind the data.

use super::{Answer, Error, any, calls, make, take, with};
use crate::handle::Handle;
use crate::status::{Given, put};

pub(super) struct Inventory {
    elements: u32,
    free: u32,
    is_started: bool,
}

pub(super) struct Buf {
    inventory: Handle,
    pub(super) mmap: Handle,
    head: usize,
    bytes: usize,
    data: usize,
    pub(super) data_bytes: usize,
    references: u16,
}

// SAFETY: handles are numbers in the shape of pointers.
unsafe impl Send for Buf {}

/// A part of a map's memory.
#[derive(Clone, Copy)]
pub(super) struct Part {
    pub(super) mmap: Handle,
    pub(super) address: u64,
    pub(super) bytes: usize,
}

impl Buf {
    /// The data.
    pub(super) fn data(&self) -> Part {
        Part {
            mmap: self.mmap,
            address: self.data as u64,
            bytes: self.data_bytes,
        }
    }

    /// What is behind the data.
    pub(super) fn rest(&self) -> Part {
        let start = self.data + self.data_bytes;
        Part {
            mmap: self.mmap,
            address: start as u64,
            bytes: self.head + self.bytes - start,
        }
    }

    /// Data within the buffer.
    fn set(&mut self, data: usize, bytes: usize) -> Answer {
        let end = data.checked_add(bytes);
        if data < self.head || end.is_none_or(|end| end > self.head + self.bytes) {
            let (head, all) = (self.head, self.bytes);
            let why = format!("{bytes} bytes at {data:#x}: the buffer has {all} at {head:#x}");
            return Error::InvalidValue.because(why);
        }
        (self.data, self.data_bytes) = (data, bytes);
        Ok(())
    }
}

/// A buffer of `bytes` bytes at `head` with these data.
fn get(
    inventory: Handle,
    mmap: Handle,
    [head, bytes]: [usize; 2],
    [data, data_bytes]: [usize; 2],
    buf: Given<Handle>,
) -> Answer {
    super::memory::covers(mmap, head, bytes)?;
    let mut made = Buf {
        inventory,
        mmap,
        head,
        bytes,
        data: head,
        data_bytes: 0,
        references: 1,
    };
    made.set(data, data_bytes)?;
    with(inventory, |inventory: &mut Inventory| {
        if !inventory.is_started {
            return Error::BadState.because("the inventory is not started");
        }
        let all = inventory.elements;
        match inventory.free.checked_sub(1) {
            Some(left) => inventory.free = left,
            None => return Error::NoMemory.because(format!("all {all} elements are in use")),
        }
        Ok(())
    })?;
    let given = make(buf, made);
    if given.is_err() {
        // The element is free again.
        with(inventory, |inventory: &mut Inventory| {
            inventory.free += 1;
            Ok(())
        })?;
    }
    given.map(|_| ())
}

calls! {
    fn doca_buf_inventory_create(elements: usize, inventory: Given<Handle>) {
        let elements = match u32::try_from(elements) {
            Ok(elements) if elements > 0 => elements,
            _ => {
                let why = format!("an inventory of {elements} elements: from 1 to {}", u32::MAX);
                return Error::InvalidValue.because(why);
            }
        };
        make(inventory, Inventory { elements, free: elements, is_started: false }).map(|_| ())
    }

    fn doca_buf_inventory_start(inventory: Handle) {
        with(inventory, |inventory: &mut Inventory| {
            match std::mem::replace(&mut inventory.is_started, true) {
                true => Error::BadState.because("the inventory is started already"),
                false => Ok(()),
            }
        })
    }

    fn doca_buf_inventory_stop(inventory: Handle) {
        with(inventory, |inventory: &mut Inventory| {
            match std::mem::replace(&mut inventory.is_started, false) {
                false => Error::BadState.because("the inventory is not started"),
                true => Ok(()),
            }
        })
    }

    fn doca_buf_inventory_destroy(inventory: Handle) {
        if any(|buf: &Buf| buf.inventory == inventory) {
            return Error::InUse.because("buffers of the inventory exist");
        }
        take(inventory, |_: &mut Inventory| Ok(())).map(|_| ())
    }

    fn doca_buf_inventory_get_num_elements(inventory: Handle, count: Given<u32>) {
        let all = with(inventory, |inventory: &mut Inventory| Ok(inventory.elements))?;
        Ok(put(count, all)?)
    }

    fn doca_buf_inventory_get_num_free_elements(inventory: Handle, count: Given<u32>) {
        let free = with(inventory, |inventory: &mut Inventory| Ok(inventory.free))?;
        Ok(put(count, free)?)
    }

    /// A buffer without data.
    fn doca_buf_inventory_buf_get_by_addr(
        inventory: Handle, mmap: Handle, address: usize, bytes: usize, buf: Given<Handle>
    ) {
        get(inventory, mmap, [address, bytes], [address, 0], buf)
    }

    /// A buffer full of data.
    fn doca_buf_inventory_buf_get_by_data(
        inventory: Handle, mmap: Handle, address: usize, bytes: usize, buf: Given<Handle>
    ) {
        get(inventory, mmap, [address, bytes], [address, bytes], buf)
    }

    fn doca_buf_inventory_buf_get_by_args(
        inventory: Handle, mmap: Handle, address: usize, bytes: usize, data: usize,
        data_bytes: usize, buf: Given<Handle>,
    ) {
        get(inventory, mmap, [address, bytes], [data, data_bytes], buf)
    }

    /// Answers how many references there were. The place may be null.
    fn doca_buf_inc_refcount(buf: Handle, count: Given<u16>) {
        let before = with(buf, |buf: &mut Buf| {
            buf.references = buf.references.saturating_add(1);
            Ok(buf.references - 1)
        })?;
        if !count.pointer().is_null() {
            put(count, before)?;
        }
        Ok(())
    }

    /// Without a reference, the buffer goes back to its inventory.
    fn doca_buf_dec_refcount(buf: Handle, count: Given<u16>) {
        let (inventory, before) = with(buf, |buf: &mut Buf| {
            buf.references -= 1;
            Ok((buf.inventory, buf.references + 1))
        })?;
        if before == 1 {
            take(buf, |_: &mut Buf| Ok(()))?;
            with(inventory, |inventory: &mut Inventory| {
                inventory.free += 1;
                Ok(())
            })?;
        }
        if !count.pointer().is_null() {
            put(count, before)?;
        }
        Ok(())
    }

    fn doca_buf_get_refcount(buf: Handle, count: Given<u16>) {
        let references = with(buf, |buf: &mut Buf| Ok(buf.references))?;
        Ok(put(count, references)?)
    }

    fn doca_buf_set_data(buf: Handle, data: usize, bytes: usize) {
        with(buf, |buf: &mut Buf| buf.set(data, bytes))
    }

    fn doca_buf_set_data_len(buf: Handle, bytes: usize) {
        with(buf, |buf: &mut Buf| buf.set(buf.data, bytes))
    }

    fn doca_buf_reset_data_len(buf: Handle) {
        with(buf, |buf: &mut Buf| buf.set(buf.data, 0))
    }
}

/// What a buffer answers of itself.
macro_rules! answers {
    ($($call:ident: $field:ident;)+) => {calls! {$(
        fn $call(buf: Handle, answer: Given<usize>) {
            let found = with(buf, |buf: &mut Buf| Ok(buf.$field))?;
            Ok(put(answer, found)?)
        }
    )+}};
}

answers! {
    doca_buf_get_head: head;
    doca_buf_get_len: bytes;
    doca_buf_get_data: data;
    doca_buf_get_data_len: data_bytes;
}
