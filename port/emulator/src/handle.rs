//! What hosts hold of opaque objects: a kind and a number in the shape of a pointer. A wrong or old
//! handle is refused and never followed.

use crate::status::{Refusal, calls};
use std::ffi::c_void;

pub(crate) type Handle = *mut c_void;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    App = 1,
    Process,
    Thread,
    Cq,
    Wq,
    Mkey,
    Window,
    Uar,
    Outbox,
    Stream,
    Tasks,
    Function,
    Tir,
    DeviceInfo,
    Device,
    Dpa,
    DpaThread,
    Group,
    Affinity,
    Completion,
    Notification,
    Event,
    RemoteEvent,
    Mmap,
    Rdma,
    Connection,
    Inventory,
    Buf,
    Engine,
    RdmaTask,
    Parameter,
    Backend,
    VerbsContext,
    VerbsPd,
    VerbsAttributes,
    EthAttributes,
    EthQueue,
    Umem,
    DpaUar,
    QpInit,
    QpChange,
    Address,
    Qp,
    FlowConfig,
    FlowPort,
    FlowPipe,
}

/// Bits that no pointer has.
const MARK: u64 = 0x0d9a << 48;

impl Kind {
    pub(crate) fn handle(self, number: u32) -> Handle {
        (MARK | (self as u64) << 40 | u64::from(number)) as Handle
    }

    pub(crate) fn number(self, handle: *const c_void) -> Result<u32, Refusal> {
        if handle.is_null() {
            return Err(format!("{self:?}: a null pointer").into());
        }
        let bits = handle as u64;
        if bits >> 32 != (MARK | (self as u64) << 40) >> 32 {
            return Err(format!("{self:?}: {handle:p} is no such object").into());
        }
        Ok(bits as u32)
    }

    /// What to say of a handle whose object is gone.
    pub(crate) fn gone(self) -> Refusal {
        format!("{self:?}: it does not exist any more").into()
    }
}

macro_rules! numbers {
    ($($call:ident: $kind:ident,)+) => {
        calls! {$( fn $call(object: Handle) -> u32 = 0 => { Kind::$kind.number(object) } )+}
    };
}

numbers! {
    flexio_event_handler_get_id: Thread,
    flexio_event_handler_get_obj_id: Thread,
    flexio_event_handler_get_activation_id: Thread,
    flexio_cq_get_cq_num: Cq,
    flexio_rq_get_wq_num: Wq,
    flexio_sq_get_wq_num: Wq,
    flexio_qp_get_qp_num: Wq,
    flexio_mkey_get_id: Mkey,
    flexio_window_get_id: Window,
    flexio_outbox_get_id: Outbox,
    flexio_uar_get_id: Uar,
    flexio_uar_get_extended_id: Uar,
}

/// Calls that end an object by its number. A null handle is no object, which is fine.
macro_rules! destroyers {
    ($($call:ident: $kind:ident => $destroy:expr;)+) => {
        $crate::status::calls! {$(
            fn $call(object: $crate::handle::Handle) {
                if object.is_null() {
                    return Ok(());
                }
                $destroy($crate::handle::Kind::$kind.number(object)?)
            }
        )+}
    };
}
pub(crate) use destroyers;
