//! Pairs of queues of verbs with their data path on the DPA. Their rings and doorbell records lie
//! in memory of the heap that the program names.

use super::info::Device;
use super::memory::{allocate, write};
use super::verbs::{Context, Pd};
use super::{Answer, Error, accepted, calls, destroyers, make, setters, take, with};
use crate::handle::Handle;
use crate::machine::machine;
use crate::process::{Place, Process};
use crate::queue::{Pair, Receiver, Sender, Wq, format};
use crate::status::{Given, put};
use std::ffi::c_void;
use std::sync::Arc;

/// Deepest queues, and most buffers of a send and of a receive.
const DEPTH: u32 = 1 << 15;
const SENDS: u32 = 2;
const RECEIVES: u32 = 32;
/// Bytes of the doorbell records: a receive queue's and a send queue's.
const RECORDS: u64 = 8;
/// The only kind: a reliable connection.
const RELIABLE: u32 = 0;
/// Attributes that a change names.
const NEXT_STATE: u32 = 1;
const REMOTE_WRITE: u32 = 1 << 1;
const REMOTE_READ: u32 = 1 << 2;
const REMOTE_ATOMIC: u32 = 1 << 3;

/// A part of a DPA's heap.
pub(super) struct Umem {
    process: Arc<Process>,
    address: u64,
    bytes: u64,
}

/// Doorbells are calls here: a page of them is only a name.
pub(super) struct Uar;

/// Attributes of a pair that is to be made. A place is a memory and an offset.
pub(super) struct QpInit {
    pd: Option<Handle>,
    ring: Option<(Handle, u64)>,
    record: Option<(Handle, u64)>,
    uar: Option<Handle>,
    sends_at: Option<Handle>,
    receives_at: Option<Handle>,
    send_depth: u32,
    receive_depth: u32,
    send_buffers: u32,
    receive_buffers: u32,
    kind: u32,
    is_external: u8,
}

/// Attributes of a change.
#[derive(Default)]
pub(super) struct QpChange {
    state: u32,
    remote: u32,
    writes: u32,
    reads: u32,
    atomics: u32,
}

/// Where a peer is: numbers of queues say that here.
pub(super) struct Address;

/// A pair, and its structure in the heap, to which its handle points.
pub(super) struct Qp {
    process: Arc<Process>,
    number: u32,
    block: u64,
}

// SAFETY: handles are numbers in the shape of pointers.
unsafe impl Send for QpInit {}

impl Qp {
    pub(super) fn is_of(&self, process: u32) -> bool {
        self.process.id == process
    }
}

impl Umem {
    fn place(&self, offset: u64, bytes: u64) -> Answer<Place> {
        let end = offset.checked_add(bytes);
        if end.is_none_or(|end| end > self.bytes) {
            let all = self.bytes;
            let why = format!("{bytes} bytes at {offset}: the memory has {all}");
            return Error::InvalidValue.because(why);
        }
        Ok(self.process.heap.place(self.address + offset, bytes)?)
    }
}

setters! {
    QpInit {
        doca_verbs_qp_init_attr_set_pd: Handle => pd;
        doca_verbs_qp_init_attr_set_external_uar: Handle => uar;
        doca_verbs_qp_init_attr_set_send_dpa_completion: Handle => sends_at;
        doca_verbs_qp_init_attr_set_receive_dpa_completion: Handle => receives_at;
        doca_verbs_qp_init_attr_set_sq_wr: u32 => send_depth in 1..=DEPTH;
        doca_verbs_qp_init_attr_set_rq_wr: u32 => receive_depth in 1..=DEPTH;
        doca_verbs_qp_init_attr_set_send_max_sges: u32 => send_buffers in 1..=SENDS;
        doca_verbs_qp_init_attr_set_receive_max_sges: u32 => receive_buffers in 1..=RECEIVES;
        doca_verbs_qp_init_attr_set_qp_type: u32 => kind in RELIABLE..=RELIABLE;
        doca_verbs_qp_init_attr_set_external_datapath_en: u8 => is_external in 0..=1;
    }
    QpChange {
        doca_verbs_qp_attr_set_next_state: u32 => state;
        doca_verbs_qp_attr_set_dest_qp_num: u32 => remote;
        doca_verbs_qp_attr_set_allow_remote_write: u32 => writes in 0..=1;
        doca_verbs_qp_attr_set_allow_remote_read: u32 => reads in 0..=1;
        doca_verbs_qp_attr_set_allow_remote_atomic: u32 => atomics in 0..=1;
    }
}

accepted! {
    QpChange {
        doca_verbs_qp_attr_set_ack_timeout
        doca_verbs_qp_attr_set_ah_attr
        doca_verbs_qp_attr_set_min_rnr_timer
        doca_verbs_qp_attr_set_path_mtu
        doca_verbs_qp_attr_set_port_num
        doca_verbs_qp_attr_set_retry_cnt
        doca_verbs_qp_attr_set_rnr_retry
        doca_verbs_qp_attr_set_rq_psn
        doca_verbs_qp_attr_set_sq_psn
    }
    Address {
        doca_verbs_ah_attr_set_addr_type
        doca_verbs_ah_attr_set_gid
        doca_verbs_ah_attr_set_hop_limit
        doca_verbs_ah_attr_set_sgid_index
    }
}

destroyers! {
    doca_umem_destroy: Umem;
    doca_uar_destroy: Uar;
    doca_verbs_qp_init_attr_destroy: QpInit;
    doca_verbs_qp_attr_destroy: QpChange;
    doca_verbs_ah_attr_destroy: Address;
}

fn need<T>(part: Option<T>, what: &str) -> Answer<T> {
    match part {
        Some(part) => Ok(part),
        None => Error::InvalidValue.because(format!("the attributes name no {what}")),
    }
}

fn log(count: u32) -> u8 {
    count.next_power_of_two().trailing_zeros() as u8
}

/// Makes a pair of its attributes, which may go afterwards. The send queue follows the receive
/// queue.
fn create(context: Handle, attributes: Handle, place: Given<Handle>) -> Answer {
    with(context, |_: &mut Context| Ok(()))?;
    let (ring, record, pd, completions, depths, buffers) = with(attributes, |at: &mut QpInit| {
        if at.is_external == 0 {
            return Error::NotSupported.because("pairs of the CPU are not emulated");
        }
        need(at.uar, "page of doorbells")?;
        Ok((
            need(at.ring, "memory")?,
            need(at.record, "memory of doorbell records")?,
            need(at.pd, "protection domain")?,
            [
                need(at.sends_at, "completion context of sends")?,
                need(at.receives_at, "completion context of receives")?,
            ],
            [log(at.send_depth), log(at.receive_depth)],
            [u64::from(at.send_buffers), log(at.receive_buffers).into()],
        ))
    })?;
    let [sends_at, receives_at] = completions;
    let [send_depth, receive_depth] = depths;
    let [most, log_buffers] = buffers;
    let log_stride = 4 + log_buffers as u8;
    let pd = with(pd, |pd: &mut Pd| Ok(pd.pd))?;
    let receive_bytes = 1_u64 << (receive_depth + log_stride);
    let send_at = receive_bytes.next_multiple_of(format::WQEBB);
    let send_bytes = format::WQEBB << send_depth;
    let (process, receive_ring, send_ring) = with(ring.0, |memory: &mut Umem| {
        let at = memory.address.saturating_add(ring.1);
        if !at.is_multiple_of(64) {
            let why = format!("rings at {at:#x}, which is not aligned to 64");
            return Error::InvalidValue.because(why);
        }
        let receive_ring = memory.place(ring.1, receive_bytes)?;
        let send_ring = memory.place(ring.1.saturating_add(send_at), send_bytes)?;
        Ok((Arc::clone(&memory.process), receive_ring, send_ring))
    })?;
    let record = with(record.0, |memory: &mut Umem| {
        let at = memory.address.saturating_add(record.1);
        if !at.is_multiple_of(8) || memory.process.id != process.id {
            let why = format!("doorbell records at {at:#x}, not aligned to 8 or of another DPA");
            return Error::InvalidValue.because(why);
        }
        memory.place(record.1, RECORDS)
    })?;
    let cqn = |context| Ok::<_, super::Wrong>(super::thread::queue(context)?.cqn);
    let (send_cqn, receive_cqn) = (cqn(sends_at)?, cqn(receives_at)?);
    let [ring, send, record_at] =
        [&receive_ring, &send_ring, &record].map(|place| place.at(0, 1).addr() as u64);
    // The structure of an RDMA object with one connection.
    let block = allocate(&process, 128)?;
    let receive = Receiver::new(
        receive_cqn,
        0,
        receive_ring,
        record,
        receive_depth,
        log_stride,
    );
    let number = crate::queue::attach(Wq {
        process: process.id,
        pd,
        receive: Some(receive),
        send: Some(Sender::new(send_cqn, 0, send_ring, send_depth)),
        pair: Some(Pair::new(0)),
        ..Wq::default()
    })?;
    let mask = |depth: u8| (1_u64 << depth) - 1;
    let receive_shape = u64::from(log_stride) << 32 | mask(receive_depth);
    let send_shape = mask(send_depth) << 32 | u64::from(number);
    let words = [
        ring,
        record_at,
        0,
        receive_shape,
        1,
        send,
        send_shape,
        0,
        most,
    ];
    write(&process, block, &words)?;
    make(
        place,
        Qp {
            process,
            number,
            block,
        },
    )
    .map(|_| ())
}

/// Changes what the mask names: rights first, then the state.
fn modify(qp: Handle, change: Handle, mask: u32) -> Answer {
    let number = with(qp, |qp: &mut Qp| Ok(qp.number))?;
    let (state, remote, rights) = with(change, |change: &mut QpChange| {
        let rights = [
            (REMOTE_WRITE, format::REMOTE_WRITE, change.writes),
            (REMOTE_READ, format::REMOTE_READ, change.reads),
            (REMOTE_ATOMIC, format::REMOTE_ATOMIC, change.atomics),
        ];
        Ok((change.state, change.remote, rights))
    })?;
    let mut nic = machine().nic();
    let Some(wq) = nic.wqs.get_mut(number) else {
        return Error::BadState.because("the pair's process has ended");
    };
    for (named, right, is_allowed) in rights {
        if mask & named != 0 {
            wq.pair
                .iter_mut()
                .for_each(|pair| pair.allow(right, is_allowed != 0));
        }
    }
    if mask & NEXT_STATE != 0 {
        wq.step(state, remote)?;
    }
    Ok(())
}

calls! {
    fn doca_umem_dpa_create(
        dpa: Handle, address: u64, bytes: usize, _access: u32, umem: Given<Handle>
    ) {
        let process = super::dpa::process(dpa)?;
        let bytes = bytes as u64;
        process.heap.in_block(address, bytes)?;
        make(umem, Umem { process, address, bytes }).map(|_| ())
    }

    fn doca_uar_dpa_create(dpa: Handle, uar: Given<Handle>) {
        super::dpa::process(dpa)?;
        make(uar, Uar).map(|_| ())
    }

    fn doca_rdma_bridge_get_dev_pd(device: Handle, pd: Given<*const c_void>) {
        let domain = with(device, |device: &mut Device| Ok(device.pd))?;
        Ok(put(pd, domain as *const c_void)?)
    }

    fn doca_verbs_ah_attr_create(context: Handle, address: Given<Handle>) {
        with(context, |_: &mut Context| Ok(()))?;
        make(address, Address).map(|_| ())
    }

    fn doca_verbs_qp_init_attr_create(attributes: Given<Handle>) {
        make(attributes, QpInit {
            pd: None,
            ring: None,
            record: None,
            uar: None,
            sends_at: None,
            receives_at: None,
            send_depth: 64,
            receive_depth: 64,
            send_buffers: 1,
            receive_buffers: 1,
            kind: RELIABLE,
            is_external: 0,
        })
        .map(|_| ())
    }

    fn doca_verbs_qp_init_attr_set_external_umem(attributes: Handle, umem: Handle, offset: u64) {
        with(attributes, |at: &mut QpInit| {
            at.ring = Some((umem, offset));
            Ok(())
        })
    }

    fn doca_verbs_qp_init_attr_set_external_dbr_umem(
        attributes: Handle, umem: Handle, offset: u64
    ) {
        with(attributes, |at: &mut QpInit| {
            at.record = Some((umem, offset));
            Ok(())
        })
    }

    fn doca_verbs_qp_create(context: Handle, attributes: Handle, qp: Given<Handle>) {
        create(context, attributes, qp)
    }

    fn doca_verbs_qp_destroy(qp: Handle) {
        let number = with(qp, |qp: &mut Qp| Ok(qp.number))?;
        crate::queue::detach(number)?;
        let gone = take(qp, |_: &mut Qp| Ok(()))?;
        Ok(gone.process.heap.free(gone.block)?)
    }

    fn doca_verbs_qp_attr_create(attributes: Given<Handle>) {
        make(attributes, QpChange::default()).map(|_| ())
    }

    fn doca_verbs_qp_modify(qp: Handle, attributes: Handle, mask: u32) {
        modify(qp, attributes, mask)
    }

    fn doca_verbs_qp_get_dpa_handle(qp: Handle, dpa: Handle, handle: Given<u64>) {
        let process = super::dpa::process(dpa)?;
        let block = with(qp, |qp: &mut Qp| match qp.process.id == process.id {
            true => Ok(qp.block),
            false => Error::InvalidValue.because("the pair is of another context"),
        })?;
        Ok(put(handle, block)?)
    }
}

/// The number of a pair, or 0.
#[unsafe(no_mangle)]
extern "C" fn doca_verbs_qp_get_qpn(qp: Handle) -> u32 {
    let mut number = 0;
    super::host("doca_verbs_qp_get_qpn", || {
        number = with(qp, |qp: &mut Qp| Ok(qp.number))?;
        Ok(())
    });
    number
}
