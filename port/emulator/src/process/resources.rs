//! Files that share out execution units among programs. The emulator shares out none, so such a
//! file is refused, and programs go on without.

use crate::handle::Handle;
use crate::status::{Given, Refusal, calls, put};
use std::ffi::{c_char, c_void};

fn none<T>() -> Result<T, Refusal> {
    Err("no resources: their files are not emulated, and threads may take any unit".into())
}

calls! {
    fn flexio_resources_create(
        _key: *const c_char, _file: *const c_void, _bytes: usize, resources: Given<Handle>
    ) {
        put(resources, std::ptr::null_mut())?;
        none()
    }

    fn flexio_resources_get_eus_num(_resources: Handle) -> u32 = 0 => { none() }

    fn flexio_resources_get_eus(_resources: Handle) -> *mut u32 = std::ptr::null_mut() => {
        none()
    }

    fn flexio_resources_get_eugs_num(_resources: Handle) -> u32 = 0 => { none() }

    fn flexio_resources_destroy(resources: Handle) {
        if resources.is_null() { Ok(()) } else { none() }
    }
}
