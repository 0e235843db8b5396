//! RDMA with its data path on the DPA: connections of one object share one receive queue.

use super::info::Device;
use super::memory::{allocate, write};
use super::{Answer, Error, accepted, calls, make, setters, setup, take, with};
use crate::handle::Handle;
use crate::machine::machine;
use crate::process::Process;
use crate::queue::{Pair, Receiver, Sender, Wq, format};
use crate::status::{Given, put};
use std::ffi::c_void;
use std::sync::Arc;

/// Deepest queues, most connections, most buffers of a receive.
const DEPTH: u32 = 1 << 15;
const CONNECTIONS: u16 = 1 << 10;
const BUFFERS: u32 = 32;
/// States of a pair on its way.
const STEPS: [u32; 3] = [1, 2, 3];

pub(super) struct Rdma {
    device: Handle,
    dpa: Option<Handle>,
    completion: Option<Handle>,
    permissions: u32,
    send_depth: u32,
    receive_depth: u32,
    buffers: u32,
    connections: u32,
    pub(super) queues: Option<Queues>,
}

// SAFETY: handles are numbers in the shape of pointers.
unsafe impl Send for Rdma {}

impl Rdma {
    pub(super) fn is_of(&self, process: u32) -> bool {
        self.queues
            .as_ref()
            .is_some_and(|own| own.process.id == process)
    }
}

/// What a started object has.
pub(super) struct Queues {
    process: Arc<Process>,
    pd: usize,
    cqn: u32,
    receiver: u32,
    /// What its handle points to: the receive queue's place, then one of each connection.
    block: u64,
    blocks: Vec<u64>,
    pairs: Vec<u32>,
}

/// Bytes of the handle's structure before the first connection, and of each.
const HEAD: u64 = 40;
const SENDER: u64 = 32;

pub(super) struct Connection {
    rdma: Handle,
    id: u32,
    number: u32,
    is_connected: bool,
    /// What the peer needs to know: the program, and the pair.
    _details: Box<[u64; 2]>,
}

// SAFETY: handles are numbers in the shape of pointers.
unsafe impl Send for Connection {}

/// Rights as libibverbs counts them, of the API's.
pub(super) fn rights(access: u32) -> i32 {
    let (local, atomic) = (access & 1, access & 8);
    let (read, write) = (access >> 1 & 1, access >> 2 & 1);
    (local | write << 1 | read << 2 | atomic) as i32
}

fn log(depth: u32) -> u8 {
    depth.next_power_of_two().trailing_zeros() as u8
}

accepted! {
    Rdma {
        doca_rdma_set_grh_enabled
        doca_rdma_set_gid_index
    }
}

setters! {
    Rdma {
        doca_rdma_set_permissions: u32 => permissions;
        doca_rdma_set_send_queue_size: u32 => send_depth in 1..=DEPTH;
        doca_rdma_set_recv_queue_size: u32 => receive_depth in 1..=DEPTH;
        doca_rdma_task_receive_set_dst_buf_list_len: u32 => buffers in 1..=BUFFERS;
        doca_rdma_set_max_num_connections: u16 => connections in 1..=CONNECTIONS;
    }
}

fn stop(rdma: Handle) -> Answer {
    let queues = with(rdma, |rdma: &mut Rdma| Ok(rdma.queues.take()))?;
    let Some(queues) = queues else { return Ok(()) };
    for &number in queues.pairs.iter().chain([&queues.receiver]) {
        crate::queue::detach(number)?;
    }
    for &block in queues.blocks.iter().chain([&queues.block]) {
        queues.process.heap.free(block)?;
    }
    let mut objects = crate::machine::lock(&super::OBJECTS);
    objects
        .connections
        .retain(|connection| connection.rdma != rdma);
    Ok(())
}

fn start(rdma: Handle) -> Answer {
    let (dpa, completion, log_depth, buffers, connections, device) =
        setup(rdma, |at: &mut Rdma| {
            let Some(dpa) = at.dpa else {
                let why = "RDMA of the CPU is not emulated: doca_ctx_set_datapath_on_dpa comes \
                           first";
                return Error::NotSupported.because(why);
            };
            let Some(completion) = at.completion else {
                let why = "no completion context: doca_rdma_dpa_completion_attach comes first";
                return Error::BadState.because(why);
            };
            let depth = log(at.receive_depth);
            Ok((
                dpa,
                completion,
                depth,
                at.buffers,
                at.connections,
                at.device,
            ))
        })?;
    let (process, pd) = super::dpa::domain(dpa)?;
    let own = with(dpa, |dpa: &mut super::dpa::Dpa| Ok(dpa.device))?;
    if own != device {
        let why = "the context is of another device: extend it to this one";
        return Error::InvalidValue.because(why);
    }
    let owner = with(completion, |at: &mut super::thread::Completion| Ok(at.dpa))?;
    if owner != dpa {
        return Error::InvalidValue.because("the completion context is of another context");
    }
    let cqn = super::thread::queue(completion)?.cqn;
    let log_stride = 4 + log(buffers);
    let bytes = 1_u64 << (log_depth + log_stride);
    let ring = allocate(&process, bytes)?;
    let record = allocate(&process, 64)?;
    let block = allocate(&process, HEAD + SENDER * u64::from(connections))?;
    let (ring_place, record_place) = (
        process.heap.place(ring, bytes)?,
        process.heap.place(record, 8)?,
    );
    let receive = Receiver::new(cqn, 0, ring_place, record_place, log_depth, log_stride);
    let receiver = crate::queue::attach(Wq {
        process: process.id,
        pd,
        receive: Some(receive),
        ..Wq::default()
    })?;
    let mask = u64::from((1_u32 << log_depth) - 1);
    write(
        &process,
        block,
        &[ring, record, 0, u64::from(log_stride) << 32 | mask, 0],
    )?;
    let (blocks, pairs) = (vec![ring, record], Vec::new());
    with(rdma, |rdma: &mut Rdma| {
        rdma.queues = Some(Queues {
            process,
            pd,
            cqn,
            receiver,
            block,
            blocks,
            pairs,
        });
        Ok(())
    })
}

calls! {
    fn doca_rdma_create(device: Handle, rdma: Given<Handle>) {
        with(device, |_: &mut Device| Ok(()))?;
        make(rdma, Rdma {
            device,
            dpa: None,
            completion: None,
            permissions: 0,
            send_depth: 128,
            receive_depth: 128,
            buffers: 1,
            connections: 1,
            queues: None,
        })
        .map(|_| ())
    }

    fn doca_rdma_destroy(rdma: Handle) {
        take(rdma, |rdma: &mut Rdma| match rdma.queues {
            Some(_) => Error::BadState.because("it is started: doca_ctx_stop comes first"),
            None => Ok(()),
        })
        .map(|_| ())
    }

    fn doca_ctx_set_datapath_on_dpa(rdma: Handle, dpa: Handle) {
        super::dpa::process(dpa)?;
        setup(rdma, |rdma: &mut Rdma| {
            rdma.dpa = Some(dpa);
            Ok(())
        })
    }

    fn doca_ctx_start(rdma: Handle) { start(rdma) }

    fn doca_ctx_stop(rdma: Handle) {
        with(rdma, |rdma: &mut Rdma| match rdma.queues {
            Some(_) => Ok(()),
            None => Error::BadState.because("it is not started"),
        })?;
        stop(rdma)
    }

    /// Idle 0, running 2.
    fn doca_ctx_get_state(rdma: Handle, state: Given<u32>) {
        let running = with(rdma, |rdma: &mut Rdma| Ok(rdma.queues.is_some()))?;
        Ok(put(state, 2 * u32::from(running))?)
    }

    fn doca_rdma_dpa_completion_attach(rdma: Handle, completion: Handle) {
        super::thread::queue(completion)?;
        setup(rdma, |rdma: &mut Rdma| {
            rdma.completion = Some(completion);
            Ok(())
        })
    }

    fn doca_rdma_get_dpa_handle(rdma: Handle, handle: Given<u64>) {
        let block = with(rdma, |rdma: &mut Rdma| match &rdma.queues {
            Some(queues) => Ok(queues.block),
            None => Error::BadState.because("it is not started"),
        })?;
        Ok(put(handle, block)?)
    }

    /// A new connection: a pair that receives from the object's queue.
    fn doca_rdma_export(
        rdma: Handle, details: Given<*const c_void>, bytes: Given<usize>, connection: Given<Handle>
    ) {
        let (id, number) = with(rdma, |at: &mut Rdma| connect_new(at))?;
        let details_of = Box::new([u64::from(std::process::id()), number.into()]);
        put(details, (&raw const *details_of).cast())?;
        put(bytes, size_of::<[u64; 2]>())?;
        let is_connected = false;
        let made = Connection { rdma, id, number, is_connected, _details: details_of };
        make(connection, made).map(|_| ())
    }

    fn doca_rdma_connection_get_id(connection: Handle, id: Given<u32>) {
        let found = with(connection, |connection: &mut Connection| Ok(connection.id))?;
        Ok(put(id, found)?)
    }

    fn doca_rdma_connect(
        rdma: Handle, details: *const [u64; 2], bytes: usize, connection: Handle
    ) {
        if details.is_null() || bytes != size_of::<[u64; 2]>() {
            return Error::InvalidValue.because(format!("{bytes} bytes are no connection details"));
        }
        // SAFETY: the API's contract: as many bytes as the program says.
        let [program, remote] = unsafe { details.read_unaligned() };
        let is_other = program != u64::from(std::process::id());
        if is_other != machine().nic().wires.is_far(remote as u32) {
            let why = "the peer is a program that no link joins to this one: \
                       DPA_WIRE=link:path=FILE of both does";
            return Error::NotSupported.because(why);
        }
        let number = with(connection, |connection: &mut Connection| {
            if connection.rdma != rdma {
                return Error::InvalidValue.because("the connection is of another object");
            }
            if std::mem::replace(&mut connection.is_connected, true) {
                return Error::BadState.because("it is connected already");
            }
            Ok(connection.number)
        })?;
        let mut nic = machine().nic();
        let Some(wq) = nic.wqs.get_mut(number) else {
            return Error::BadState.because("the object is not started");
        };
        for state in STEPS {
            wq.step(state, remote as u32)?;
        }
        Ok(())
    }

    fn doca_rdma_connection_disconnect(connection: Handle) {
        let number = with(connection, |connection: &mut Connection| {
            connection.is_connected = false;
            Ok(connection.number)
        })?;
        let mut nic = machine().nic();
        nic.wqs.get_mut(number).into_iter().try_for_each(|wq| wq.step(0, 0))?;
        Ok(())
    }
}

fn connect_new(rdma: &mut Rdma) -> Answer<(u32, u32)> {
    let (most, log_depth) = (rdma.connections, log(rdma.send_depth));
    let access = rights(rdma.permissions);
    let Some(queues) = &mut rdma.queues else {
        return Error::BadState.because("it is not started");
    };
    let id = queues.pairs.len() as u32;
    if id == most {
        let why = format!("{most} connections exist: doca_rdma_set_max_num_connections");
        return Error::Full.because(why);
    }
    let (process, pd) = (&queues.process, queues.pd);
    let bytes = format::WQEBB << log_depth;
    let ring = allocate(process, bytes)?;
    let place = process.heap.place(ring, bytes)?;
    let number = crate::queue::attach(Wq {
        process: process.id,
        pd,
        send: Some(Sender::new(queues.cqn, id, place, log_depth)),
        pair: Some(Pair::new(access)),
        shared: Some(queues.receiver),
        ..Wq::default()
    })?;
    let mask = (1_u64 << log_depth) - 1;
    let sender = queues.block + HEAD + SENDER * u64::from(id);
    write(
        process,
        sender,
        &[ring, mask << 32 | u64::from(number), 0, 0],
    )?;
    // How many connections there are.
    write(process, queues.block + HEAD - 8, &[u64::from(id + 1)])?;
    queues.blocks.push(ring);
    queues.pairs.push(number);
    Ok((id, number))
}
