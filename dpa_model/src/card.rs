//! What a card does through its system: a program in C around the card's side defines these
//! functions (`--cfg dpamatch_card`).

use crate::host_address::HostAddress;

unsafe extern "C" {
    /// A turn of a wait for another handler.
    safe fn dpamatch_pause();
    /// Writes this handler's stores to the host's memory back, before others learn of them.
    safe fn dpamatch_write_back();
    /// Reads a rendezvous message of up to `bytes` bytes from its sender, and tells the sender that
    /// it is over. `descriptor`: the entry's payload.
    fn dpamatch_read(descriptor: *const u64, target: *mut u8, bytes: u32);
}

#[inline(always)]
pub(crate) fn pause() {
    dpamatch_pause();
}

#[inline(always)]
pub(crate) fn write_back() {
    dpamatch_write_back();
}

/// The RDMA read of a rendezvous message of `length` bytes, and the FIN to its sender.
///
/// # Safety
/// The safety contract of [`HostAddress::put`] applies.
pub(crate) unsafe fn read(
    descriptor: &[u64; 3],
    length: u32,
    (target, capacity): (HostAddress, u32),
) {
    // SAFETY: three words, and a target of the caller's that holds that many bytes.
    unsafe { dpamatch_read(descriptor.as_ptr(), target.start(), length.min(capacity)) };
}
