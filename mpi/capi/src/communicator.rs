//! Communicators.

use dpamatch::endpoint::{Communicator, FreeError};
use dpamatch::{Hints, Offload};

use crate::code::{DPAMATCH_AGAIN, DPAMATCH_ERR_STOPPED, Failure, guarded};
use crate::endpoint::{Endpoint, Inside, Name, with};

/// Receives use no wildcard for the source (mpi_assert_no_any_source).
pub const DPAMATCH_HINT_NO_ANY_SOURCE: u32 = 1;
/// Receives use no wildcard for the tag (mpi_assert_no_any_tag).
pub const DPAMATCH_HINT_NO_ANY_TAG: u32 = 2;
/// Messages may overtake each other (mpi_assert_allow_overtaking).
pub const DPAMATCH_HINT_ALLOW_OVERTAKING: u32 = 4;
/// Software on the host matches the communicator, which takes no room on the NIC.
pub const DPAMATCH_HINT_NO_OFFLOAD: u32 = 8;

/// A communicator of an endpoint.
#[derive(Debug)]
pub struct Comm {
    home: Name,
    /// `None`: while it is being freed.
    inner: Option<Communicator>,
}

/// A communicator of this endpoint.
///
/// # Safety
/// `comm` is null or a communicator that was not freed; the endpoint is null or alive.
pub(crate) unsafe fn of<'a>(
    comm: *const Comm,
    endpoint: *const Endpoint,
) -> Result<&'a Communicator, Failure> {
    // SAFETY: the caller's promise.
    let comm = unsafe { comm.as_ref() };
    let comm = comm.ok_or_else(|| Failure::argument("the communicator is null"))?;
    // SAFETY: the caller's promise.
    unsafe { comm.home.check(endpoint) }?;
    comm.inner
        .as_ref()
        .ok_or_else(|| Failure::argument("the communicator is freed"))
}

/// Creates a communicator. `hints`: a sum of DPAMATCH_HINT_..., or 0. If the NIC has no room for
/// its tables, software matches it.
///
/// Errors: ARGUMENT, BUSY, STOPPED.
///
/// # Safety
/// The endpoint is alive; `comm` can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpamatch_comm_create(
    endpoint: *mut Endpoint,
    hints: u32,
    comm: *mut *mut Comm,
) -> i32 {
    guarded(|| {
        if comm.is_null() || hints > 15 {
            return Err(Failure::argument(
                "unknown hints, or no place for the communicator",
            ));
        }
        let hints = Hints {
            no_any_source: hints & DPAMATCH_HINT_NO_ANY_SOURCE != 0,
            no_any_tag: hints & DPAMATCH_HINT_NO_ANY_TAG != 0,
            allow_overtaking: hints & DPAMATCH_HINT_ALLOW_OVERTAKING != 0,
            offload: match hints & DPAMATCH_HINT_NO_OFFLOAD {
                0 => Offload::IfItFits,
                _ => Offload::Never,
            },
        };
        // SAFETY: the caller's promise.
        let inner = unsafe { with(endpoint, |inside| Ok(inside.endpoint.create_comm(hints)?)) }?;
        // SAFETY: the caller's promise.
        let home = unsafe { Name::of(endpoint) }?;
        // SAFETY: the caller's promise.
        unsafe {
            comm.write(Box::into_raw(Box::new(Comm {
                home,
                inner: Some(inner),
            })))
        };
        Ok(())
    })
}

/// Frees a communicator and sets `comm` to null. While it has senders, receives or messages, the
/// call does nothing and returns DPAMATCH_AGAIN. After the endpoint was destroyed, call it with a
/// null endpoint to free the handle.
///
/// Errors: ARGUMENT, BUSY, STOPPED.
///
/// # Safety
/// The endpoint is alive or null; `comm` points to null or to a communicator that was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpamatch_comm_free(endpoint: *mut Endpoint, comm: *mut *mut Comm) -> i32 {
    guarded(|| {
        // SAFETY: the caller's promise.
        if comm.is_null() || unsafe { comm.read() }.is_null() {
            return Ok(());
        }
        if !endpoint.is_null() {
            // SAFETY: the caller's promise; checked for null.
            let handle = unsafe { &mut *comm.read() };
            // SAFETY: the caller's promise.
            unsafe { handle.home.check(endpoint) }?;
            let free = |inside: &mut Inside| match handle.inner.take() {
                None => Ok(()),
                Some(inner) => match inside.endpoint.free_comm(inner) {
                    Ok(()) => Ok(()),
                    Err(FreeError::Busy {
                        comm: inner,
                        reason,
                    }) => {
                        handle.inner = Some(inner);
                        Err(Failure::new(DPAMATCH_AGAIN, reason.to_string()))
                    }
                    Err(error) => Err(Failure::new(DPAMATCH_ERR_STOPPED, error.to_string())),
                },
            };
            // SAFETY: the caller's promise.
            unsafe { with(endpoint, free) }?;
        }
        // SAFETY: it came from a box; its place is set to null.
        drop(unsafe { Box::from_raw(comm.replace(std::ptr::null_mut())) });
        Ok(())
    })
}
