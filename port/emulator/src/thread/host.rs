//! The host's calls on event handlers.

use super::unit::{Entry, Kind as Runs, Unit};
use crate::handle::{Handle, Kind, destroyers};
use crate::machine::machine;
use crate::process::{Process, ended};
use crate::status::{Given, Refusal, attributes, calls, put};
use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Execution units of the DPA. Strict affinity names one.
const UNITS: u32 = 256;

#[repr(C)]
struct Attributes {
    stub: *const c_void,
    continuable: u8,
    argument: u64,
    local: u64,
    affinity_type: u32,
    affinity: u32,
}

/// The device function of a stub, in this process.
pub(crate) fn entry(process: &Arc<Process>, stub: *const c_void) -> Result<Entry, Refusal> {
    if process.state() != ended::NOT {
        return Err(Refusal::fatal("the process has ended"));
    }
    if stub.is_null() {
        return Err("no function".into());
    }
    let (app, name) = crate::process::stub(stub)?;
    if !Arc::ptr_eq(&app, &process.app) {
        return Err(format!("{name} is a function of another program").into());
    }
    let address = process.image.function(&name, &process.app.bytes)?;
    Ok(Entry { name, address })
}

pub(crate) fn find(handler: Handle) -> Result<Arc<Unit>, Refusal> {
    let number = Kind::Thread.number(handler)?;
    machine()
        .objects()
        .units
        .get(number)
        .cloned()
        .ok_or_else(|| Kind::Thread.gone())
}

calls! {
    fn flexio_event_handler_create(
        process: Handle, attr: Given<Attributes>, handler: Given<Handle>
    ) {
        let attr = attributes(attr)?;
        let process = machine().process(process)?;
        if attr.affinity_type > 2 || attr.affinity_type == 1 && attr.affinity >= UNITS {
            return Err(format!("affinity {} to {}", attr.affinity_type, attr.affinity).into());
        }
        let entry = entry(&process, attr.stub)?;
        let unit = super::spawn(&process, entry, Runs::Handler, attr.local)?;
        // ordering: the event that starts an activation orders its argument (`begin`).
        unit.argument.store(attr.argument, Ordering::Release);
        put(handler, Kind::Thread.handle(unit.id))
    }

    fn flexio_event_handler_run(handler: Handle, argument: u64) {
        let unit = find(handler)?;
        if unit.process.state() != ended::NOT {
            return Err(Refusal::fatal("the process has ended"));
        }
        if !unit.state.is_new() {
            return Err("the handler runs already".into());
        }
        // ordering: as above.
        unit.argument.store(argument, Ordering::Release);
        crate::check::race::runs(&unit);
        unit.state.begin();
        machine().nic().runs();
        Ok(())
    }

    fn flexio_event_handler_get_thread(handler: Handle) -> Handle = std::ptr::null_mut() => {
        Ok(Kind::Thread.handle(find(handler)?.id))
    }
}

fn destroy(number: u32) -> Result<(), Refusal> {
    let unit = find(Kind::Thread.handle(number))?;
    if machine().nic().uses(&unit) {
        return Err("a completion queue wakes this handler".into());
    }
    machine().scheduler.retire(&unit);
    Ok(())
}
destroyers! { flexio_event_handler_destroy: Thread => destroy; }
