//! What a card does through its system: a program in C around the card's side defines these
//! functions (`--cfg dpamatch_card`).

use crate::host_address::HostAddress;

unsafe extern "C" {
    /// A turn of a wait for another handler.
    safe fn dpamatch_pause();
    /// Writes this handler's stores to the host's memory back, before others learn of them.
    safe fn dpamatch_write_back();
    /// Begins to read a rendezvous message of up to `bytes` bytes from its sender, and to notify
    /// the sender that it is over. `descriptor`: the entry's payload. `position`: of the result,
    /// which the program passes on when the bytes are there, or [`GIVEN_UP`].
    fn dpamatch_begin_read(descriptor: *const u64, target: *mut u8, bytes: u32, position: u64);
}

/// Position of the result of a message that nobody receives.
pub(crate) const GIVEN_UP: u64 = u64::MAX;

#[inline]
pub(crate) fn pause() {
    dpamatch_pause();
}

#[inline]
pub(crate) fn write_back() {
    dpamatch_write_back();
}

/// Begins the RDMA read of a rendezvous message of `length` bytes, and the FIN to its sender.
///
/// # Safety
/// The safety contract of [`HostAddress::put`] applies until the program passes the result on.
pub(crate) unsafe fn begin_read(
    descriptor: &[u64; 3],
    length: u32,
    target: HostAddress,
    capacity: u32,
    position: u64,
) {
    let (from, to, bytes) = (descriptor.as_ptr(), target.start(), length.min(capacity));
    // SAFETY: three words, and a target of the caller's that holds that many bytes.
    unsafe { dpamatch_begin_read(from, to, bytes, position) };
}
