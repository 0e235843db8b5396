//! Ethernet queues of verbs on the DPA, and as much of Flow as leads frames to them.

use super::info::Device;
use super::memory::{allocate, write};
use super::{
    Answer, Error, accepted, calls, destroyers, make, setters, setup, started, take, with,
};
use crate::handle::{Handle, Kind};
use crate::machine::{lock, machine};
use crate::process::Process;
use crate::queue::{Receiver, Sender, Wq, format};
use crate::status::{Given, put};
use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Deepest queues, and most buffers of a send and of a receive.
const DEPTH: u32 = 1 << 15;
const SENDS: u32 = 2;
const RECEIVES: u32 = 32;

/// A context of verbs, with the function of its device.
pub(super) struct Context {
    function: u32,
}

pub(super) struct Pd {
    function: u32,
    pub(super) pd: usize,
}

/// What verbs say of a device.
pub(super) struct DeviceAttributes;

/// Attributes of a queue that is to be made.
pub(super) struct EthAttributes {
    pd: Option<Handle>,
    dpa: Option<Handle>,
    completion: Option<Handle>,
    depth: u32,
    buffers: u32,
    id: u16,
    stamps: u8,
    is_external: u8,
}

// SAFETY: handles are numbers in the shape of pointers.
unsafe impl Send for EthAttributes {}

/// A queue, and its blocks in the heap, of which the first is what its handle points to.
pub(super) struct EthQueue {
    process: Arc<Process>,
    number: u32,
    id: u16,
    receives: bool,
    blocks: Vec<u64>,
}

impl EthQueue {
    pub(super) fn is_of(&self, process: u32) -> bool {
        self.process.id == process
    }
}

destroyers! {
    doca_verbs_context_destroy: Context;
    doca_verbs_device_attr_free: DeviceAttributes;
    doca_verbs_eth_sq_init_attr_destroy: EthAttributes;
    doca_verbs_eth_rq_init_attr_destroy: EthAttributes;
    doca_flow_cfg_destroy: FlowConfig;
    doca_flow_port_cfg_destroy: FlowConfig;
    doca_flow_port_stop: FlowPort;
    doca_flow_pipe_cfg_destroy: FlowConfig;
}

setters! {
    EthAttributes {
        doca_verbs_eth_sq_init_attr_set_pd: Handle => pd;
        doca_verbs_eth_sq_init_attr_set_dpa: Handle => dpa;
        doca_verbs_eth_sq_init_attr_set_dpa_completion: Handle => completion;
        doca_verbs_eth_sq_init_attr_set_wr_num: u32 => depth in 1..=DEPTH;
        doca_verbs_eth_sq_init_attr_set_max_sges: u32 => buffers in 1..=SENDS;
        doca_verbs_eth_sq_init_attr_set_queue_id: u16 => id;
        doca_verbs_eth_sq_init_attr_set_ts_source_type: u8 => stamps in 0..=2;
        doca_verbs_eth_sq_init_attr_set_external_datapath_en: u8 => is_external in 0..=1;
        doca_verbs_eth_rq_init_attr_set_pd: Handle => pd;
        doca_verbs_eth_rq_init_attr_set_dpa: Handle => dpa;
        doca_verbs_eth_rq_init_attr_set_dpa_completion: Handle => completion;
        doca_verbs_eth_rq_init_attr_set_wr_num: u32 => depth in 1..=DEPTH;
        doca_verbs_eth_rq_init_attr_set_max_sges: u32 => buffers in 1..=RECEIVES;
        doca_verbs_eth_rq_init_attr_set_queue_id: u16 => id;
        doca_verbs_eth_rq_init_attr_set_ts_source_type: u8 => stamps in 0..=2;
        doca_verbs_eth_rq_init_attr_set_external_datapath_en: u8 => is_external in 0..=1;
    }
}

fn new_attributes(place: Given<Handle>) -> Answer {
    let (pd, dpa, completion) = (None, None, None);
    let (depth, buffers, id, stamps, is_external) = (64, 1, 0, 0, 0);
    make(
        place,
        EthAttributes {
            pd,
            dpa,
            completion,
            depth,
            buffers,
            id,
            stamps,
            is_external,
        },
    )
    .map(|_| ())
}

/// Makes a queue of its attributes. The attributes may go afterwards.
fn create(context: Handle, attributes: Handle, receives: bool, place: Given<Handle>) -> Answer {
    with(context, |_: &mut Context| Ok(()))?;
    let missing = |what| move || format!("the attributes name no {what}");
    let (pd, dpa, completion, depth, buffers, id, stamps) =
        with(attributes, |at: &mut EthAttributes| {
            if at.is_external == 0 {
                return Error::NotSupported.because("queues of the CPU are not emulated");
            }
            let need = |part: Option<Handle>, what| {
                part.map_or_else(|| Error::InvalidValue.because(missing(what)()), Ok)
            };
            let pd = need(at.pd, "protection domain")?;
            let dpa = need(at.dpa, "DPA context")?;
            let completion = need(at.completion, "completion context")?;
            Ok((
                pd,
                dpa,
                completion,
                at.depth,
                at.buffers,
                at.id,
                at.stamps != 0,
            ))
        })?;
    let process = super::dpa::process(dpa)?;
    let pd = with(pd, |pd: &mut Pd| Ok(pd.pd))?;
    let cqn = super::thread::queue(completion)?.cqn;
    let log_depth = depth.next_power_of_two().trailing_zeros() as u8;
    let mask = (1_u64 << log_depth) - 1;
    let block = allocate(&process, 64)?;
    let mut blocks = vec![block];
    let mut wq = Wq {
        process: process.id,
        pd,
        ..Wq::default()
    };
    let number = if receives {
        let log_stride = 4 + buffers.next_power_of_two().trailing_zeros() as u8;
        let bytes = 1_u64 << (log_depth + log_stride);
        let (ring, record) = (allocate(&process, bytes)?, allocate(&process, 64)?);
        let at = process.heap.place(ring, bytes)?;
        let record_at = process.heap.place(record, 8)?;
        let index = u32::from(id);
        wq.receive = Some(Receiver::new(
            cqn, index, at, record_at, log_depth, log_stride,
        ));
        write(
            &process,
            block,
            &[ring, record, 0, u64::from(log_stride) << 32 | mask, 0],
        )?;
        blocks.extend([ring, record]);
        crate::queue::attach(wq)?
    } else {
        let bytes = format::WQEBB << log_depth;
        let ring = allocate(&process, bytes)?;
        let at = process.heap.place(ring, bytes)?;
        wq.send = Some(Sender::new(cqn, id.into(), at, log_depth));
        blocks.push(ring);
        let number = crate::queue::attach(wq)?;
        let most = u64::from(buffers);
        write(
            &process,
            block,
            &[ring, mask << 32 | u64::from(number), 0, most],
        )?;
        number
    };
    if let Some(cq) = machine().nic().cqs.get_mut(cqn) {
        cq.stamps |= stamps;
    }
    make(
        place,
        EthQueue {
            process,
            number,
            id,
            receives,
            blocks,
        },
    )
    .map(|_| ())
}

fn destroy(queue: Handle) -> Answer {
    let number = with(queue, |queue: &mut EthQueue| Ok(queue.number))?;
    crate::queue::detach(number)?;
    let gone = take(queue, |_: &mut EthQueue| Ok(()))?;
    gone.blocks
        .iter()
        .try_for_each(|&block| Ok(gone.process.heap.free(block)?))
}

fn handle(queue: Handle, dpa: Handle, place: Given<u64>) -> Answer {
    let process = super::dpa::process(dpa)?;
    let block = with(queue, |queue: &mut EthQueue| {
        if queue.process.id != process.id {
            return Error::InvalidValue.because("the queue is of another context");
        }
        Ok(queue.blocks[0])
    })?;
    Ok(put(place, block)?)
}

calls! {
    fn doca_verbs_context_create(info: Handle, _flags: u32, context: Given<Handle>) {
        let function = super::info::function(info)?;
        make(context, Context { function }).map(|_| ())
    }

    fn doca_verbs_query_device(context: Handle, attributes: Given<Handle>) {
        with(context, |_: &mut Context| Ok(()))?;
        make(attributes, DeviceAttributes).map(|_| ())
    }

    fn doca_verbs_device_attr_get_is_eth_sq_ts_source_type_supported(
        attributes: Handle, kind: u32
    ) {
        with(attributes, |_: &mut DeviceAttributes| Ok(()))?;
        if kind > 2 { Error::NotSupported.because(format!("a source {kind}")) } else { Ok(()) }
    }

    fn doca_verbs_pd_create(context: Handle, pd: Given<Handle>) {
        let function = with(context, |context: &mut Context| Ok(context.function))?;
        let domain = crate::verbs::new_pd(Kind::DeviceInfo.handle(function))? as usize;
        make(pd, Pd { function, pd: domain }).map(|_| ())
    }

    fn doca_verbs_pd_destroy(pd: Handle) {
        let domain = with(pd, |pd: &mut Pd| Ok(pd.pd))?;
        if super::any(|device: &Device| device.pd == domain) {
            return Error::InUse.because("a device of this domain is open");
        }
        take(pd, |_: &mut Pd| Ok(()))?;
        crate::verbs::free_pd(domain);
        Ok(())
    }

    fn doca_verbs_pd_as_doca_dev(pd: Handle, device: Given<Handle>) {
        let (function, pd) = with(pd, |pd: &mut Pd| Ok((pd.function, pd.pd)))?;
        let owns_pd = false;
        make(device, Device { function, pd, owns_pd }).map(|_| ())
    }

    fn doca_verbs_eth_sq_init_attr_create(attributes: Given<Handle>) { new_attributes(attributes) }
    fn doca_verbs_eth_rq_init_attr_create(attributes: Given<Handle>) { new_attributes(attributes) }

    fn doca_verbs_eth_sq_create(context: Handle, attributes: Handle, queue: Given<Handle>) {
        create(context, attributes, false, queue)
    }

    fn doca_verbs_eth_rq_create(context: Handle, attributes: Handle, queue: Given<Handle>) {
        create(context, attributes, true, queue)
    }

    fn doca_verbs_eth_sq_destroy(queue: Handle) { destroy(queue) }
    fn doca_verbs_eth_rq_destroy(queue: Handle) { destroy(queue) }

    fn doca_verbs_eth_sq_get_dpa_handle(queue: Handle, dpa: Handle, place: Given<u64>) {
        handle(queue, dpa, place)
    }

    fn doca_verbs_eth_rq_get_dpa_handle(queue: Handle, dpa: Handle, place: Given<u64>) {
        handle(queue, dpa, place)
    }
}

#[unsafe(no_mangle)]
extern "C" fn doca_verbs_bridge_verbs_pd_get_ibv_pd(pd: Handle) -> *mut c_void {
    let mut found = std::ptr::null_mut();
    super::host("doca_verbs_bridge_verbs_pd_get_ibv_pd", || {
        found = with(pd, |pd: &mut Pd| Ok(pd.pd as *mut c_void))?;
        Ok(())
    });
    found
}

/// Clocks count nanoseconds.
#[unsafe(no_mangle)]
extern "C" fn doca_verbs_device_attr_get_ts_free_running_clock_frequency(_of: Handle) -> u64 {
    1_000_000
}

/// Configurations of Flow, of a port and of a pipe: all are read when the thing is made.
#[derive(Default)]
pub(super) struct FlowConfig {
    device: Option<Handle>,
    of: Option<Handle>,
    is_root: bool,
    is_all: bool,
    kind: u32,
}

// SAFETY: handles are numbers in the shape of pointers.
unsafe impl Send for FlowConfig {}

pub(super) struct FlowPort;

pub(super) struct FlowPipe {
    /// The queue to which its entries lead.
    queue: u16,
    /// The number of the rule, once an entry is there.
    rule: Option<u32>,
}

accepted! {
    FlowConfig {
        doca_flow_cfg_set_pipe_queues
        doca_flow_cfg_set_nr_counters
        doca_flow_port_cfg_set_port_id
        doca_flow_cfg_set_mode_args
        doca_flow_pipe_cfg_set_name
        doca_flow_pipe_cfg_set_actions
    }
}

static HAS_BEGUN: AtomicBool = AtomicBool::new(false);
/// Kinds of forwards and the one of pipes, as the header counts them.
const RSS: u32 = 1;
const BASIC: u32 = 0;

/// Where a pipe leads frames.
#[repr(C)]
struct Forward {
    kind: u32,
    rss_kind: u32,
    queues: *const u16,
    count: u32,
    flags: u32,
}

setters! {
    FlowConfig {
        doca_flow_port_cfg_set_dev: Handle => device;
        doca_flow_pipe_cfg_set_type: u32 => kind in BASIC..=BASIC;
        doca_flow_pipe_cfg_set_is_root: bool => is_root;
    }
}

/// Whether `bytes` bytes are all zero: such a match takes all frames.
fn is_zero(at: *const u8, bytes: usize) -> bool {
    // SAFETY: null, or a structure of the header's size, by the API's contract.
    at.is_null()
        || unsafe { std::slice::from_raw_parts(at, bytes) }
            .iter()
            .all(|&byte| byte == 0)
}

const MATCH: usize = 256;

calls! {
    fn doca_flow_cfg_create(configuration: Given<Handle>) {
        make(configuration, FlowConfig::default()).map(|_| ())
    }

    fn doca_flow_init(configuration: Handle) {
        with(configuration, |_: &mut FlowConfig| Ok(()))?;
        // ordering: one flag, which orders no other memory.
        match HAS_BEGUN.swap(true, Relaxed) {
            true => Error::AlreadyExist.because("Flow has begun already"),
            false => Ok(()),
        }
    }

    fn doca_flow_port_cfg_create(configuration: Given<Handle>) {
        make(configuration, FlowConfig::default()).map(|_| ())
    }

    fn doca_flow_port_start(configuration: Handle, port: Given<Handle>) {
        let device = with(configuration, |at: &mut FlowConfig| started(&at.device, Kind::Device))?;
        with(device, |_: &mut Device| Ok(()))?;
        // ordering: one flag, which orders no other memory.
        if !HAS_BEGUN.load(Relaxed) {
            return Error::BadState.because("doca_flow_init comes first");
        }
        make(port, FlowPort).map(|_| ())
    }

    fn doca_flow_pipe_cfg_create(configuration: Given<Handle>, port: Handle) {
        with(port, |_: &mut FlowPort| Ok(()))?;
        let made = FlowConfig { of: Some(port), is_all: true, ..FlowConfig::default() };
        make(configuration, made).map(|_| ())
    }

    fn doca_flow_pipe_cfg_set_match(
        configuration: Handle, wanted: *const u8, _mask: *const c_void
    ) {
        setup(configuration, |at: &mut FlowConfig| {
            at.is_all = is_zero(wanted, MATCH);
            Ok(())
        })
    }

    fn doca_flow_pipe_create(
        configuration: Handle, forward: Given<Forward>, _miss: *const c_void, pipe: Given<Handle>
    ) {
        let (is_root, is_all, of) =
            with(configuration, |at: &mut FlowConfig| Ok((at.is_root, at.is_all, at.of)))?;
        with(of.unwrap_or(std::ptr::null_mut()), |_: &mut FlowPort| Ok(()))?;
        let Some(forward) = crate::status::given(forward) else {
            return Error::InvalidValue.because("no forward");
        };
        let is_one = forward.kind == RSS && forward.count == 1 && !forward.queues.is_null();
        if !is_root || !is_all || !is_one {
            let why = "only a root pipe is emulated, for all frames, to one queue";
            return Error::NotSupported.because(why);
        }
        // SAFETY: the API's contract: as many queues as `count` says.
        let queue = unsafe { forward.queues.read() };
        make(pipe, FlowPipe { queue, rule: None }).map(|_| ())
    }

    #[allow(clippy::too_many_arguments, reason = "the API has as many")]
    fn doca_flow_pipe_basic_add_entry(
        _queue: u16, pipe: Handle, _wanted: *const c_void, _action: u32,
        _actions: *const c_void, _monitor: *const c_void, forward: *const c_void, _flags: u32,
        _user: *mut c_void, entry: Given<Handle>
    ) {
        let (queue, rule) = with(pipe, |pipe: &mut FlowPipe| Ok((pipe.queue, pipe.rule)))?;
        if rule.is_some() || !forward.is_null() {
            let why = "one entry of a pipe is emulated, with the pipe's forward";
            return Error::NotSupported.because(why);
        }
        let found = lock(&super::OBJECTS)
            .queues
            .iter()
            .find(|(_, at)| at.receives && at.id == queue)
            .map(|(_, at)| at.number);
        let Some(number) = found else {
            return Error::NotFound.because(format!("no receive queue has the logical id {queue}"));
        };
        let made = machine().nic().lead_all_to(number)?;
        with(pipe, |pipe: &mut FlowPipe| {
            pipe.rule = Some(made);
            Ok(())
        })?;
        Ok(put(entry, pipe)?)
    }

    /// Entries are in place when they were added.
    fn doca_flow_entries_process(port: Handle, _queue: u16, _timeout: u64, _most: u32) {
        with(port, |_: &mut FlowPort| Ok(()))
    }
}

#[unsafe(no_mangle)]
extern "C" fn doca_flow_pipe_destroy(pipe: Handle) {
    super::host("doca_flow_pipe_destroy", || {
        let gone = take(pipe, |_: &mut FlowPipe| Ok(()))?;
        let mut nic = machine().nic();
        gone.rule.into_iter().for_each(|rule| {
            nic.lead_no_more(rule);
        });
        Ok(())
    });
}

#[unsafe(no_mangle)]
extern "C" fn doca_flow_destroy() {
    // ordering: one flag, which orders no other memory.
    HAS_BEGUN.store(false, Relaxed);
}
