//! RDMA with its data path on the DPA, or on the CPU: connections of one object share one receive
//! queue.

use super::info::Device;
use super::lanes::Lanes;
use super::memory::{allocate, write};
use super::task::{KINDS, Use, leave};
use super::{Answer, Error, accepted, calls, make, setters, setup, take, with};
use crate::handle::{Handle, Kind};
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
/// The only transport: reliable connections.
const RELIABLE: u32 = 0;
/// States of a pair on its way.
const STEPS: [u32; 3] = [1, 2, 3];

pub(super) struct Rdma {
    pub(super) device: Handle,
    dpa: Option<Handle>,
    completion: Option<Handle>,
    permissions: u32,
    send_depth: u32,
    receive_depth: u32,
    buffers: u32,
    connections: u32,
    transport: u32,
    /// For tasks of the CPU: the engine that ends them, and of each kind how many there are.
    pub(super) engine: Option<Handle>,
    pub(super) uses: [Option<Use>; KINDS],
    /// What the program remembers of the context, and its function for changes of state.
    pub(super) user: u64,
    changed: Option<Changed>,
    is_stopping: bool,
    pub(super) queues: Option<Queues>,
}

/// What the program remembers, the context, its state before and now.
type Changed = extern "C" fn(u64, Handle, u32, u32);

/// States of a context, as the API counts them.
const IDLE: u32 = 0;
const RUNNING: u32 = 2;
const STOPPING: u32 = 3;

// SAFETY: handles are numbers in the shape of pointers.
unsafe impl Send for Rdma {}

impl Rdma {
    pub(super) fn is_of(&self, process: u32) -> bool {
        self.queues
            .as_ref()
            .is_some_and(|own| matches!(own, Queues::Dpa(own) if own.process.id == process))
    }

    /// The queues of a started object whose data path is on the CPU.
    pub(super) fn lanes(&mut self) -> Answer<&mut Lanes> {
        match &mut self.queues {
            Some(Queues::Cpu(lanes)) => Ok(lanes),
            Some(Queues::Dpa(_)) => Error::BadState.because("its data path is on the DPA"),
            None => Error::BadState.because("it is not started"),
        }
    }

    fn state(&self) -> u32 {
        match self.queues {
            None => IDLE,
            Some(_) if self.is_stopping => STOPPING,
            Some(_) => RUNNING,
        }
    }
}

/// What a started object has.
pub(super) enum Queues {
    Dpa(OnDpa),
    Cpu(Lanes),
}

/// Queues in the heap of a DPA.
pub(super) struct OnDpa {
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

impl Connection {
    pub(super) fn is_of(&self, rdma: Handle) -> Answer {
        match self.rdma == rdma {
            true => Ok(()),
            false => Error::InvalidValue.because("the connection is of another object"),
        }
    }

    /// Its number among the object's connections, once it is connected.
    pub(super) fn of(&self, rdma: Handle) -> Answer<u32> {
        self.is_of(rdma)?;
        match self.is_connected {
            true => Ok(self.id),
            false => Error::NotConnected.because("doca_rdma_connect comes first"),
        }
    }
}

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
        doca_rdma_set_transport_type: u32 => transport in RELIABLE..=RELIABLE;
    }
}

/// The connection of an object with this number.
pub(super) fn connection(rdma: Handle, id: u32) -> Answer<Handle> {
    let objects = crate::machine::lock(&super::OBJECTS);
    let mut all = objects.connections.iter();
    match all.find(|(_, connection)| connection.rdma == rdma && connection.id == id) {
        Some((number, _)) => Ok(Kind::Connection.handle(number)),
        None => Error::NotFound.because(format!("no connection {id}")),
    }
}

fn stop(rdma: Handle) -> Answer {
    let (queues, changed, user) = with(rdma, |rdma: &mut Rdma| {
        rdma.is_stopping = false;
        Ok((rdma.queues.take(), rdma.changed, rdma.user))
    })?;
    match queues {
        None => return Ok(()),
        Some(Queues::Cpu(_)) => {}
        Some(Queues::Dpa(own)) => {
            for &number in own.pairs.iter().chain([&own.receiver]) {
                crate::queue::detach(number)?;
            }
            for &block in own.blocks.iter().chain([&own.block]) {
                own.process.heap.free(block)?;
            }
        }
    }
    let mut objects = crate::machine::lock(&super::OBJECTS);
    objects
        .connections
        .retain(|connection| connection.rdma != rdma);
    drop(objects);
    if let Some(changed) = changed {
        changed(user, rdma, RUNNING, IDLE);
    }
    Ok(())
}

/// A context whose tasks have all ended stops, if it was to.
pub(super) fn stop_if_over(rdma: Handle) -> Answer {
    // The program's function may have destroyed the context.
    let is_over = with(rdma, |rdma: &mut Rdma| {
        Ok(rdma.is_stopping && !rdma.lanes()?.flies())
    });
    match is_over.unwrap_or(false) {
        true => stop(rdma),
        false => Ok(()),
    }
}

/// A started object on the CPU. The workers serve its peers while the program does not.
fn start_on_cpu(rdma: Handle) -> Answer {
    let (device, receives, sends, connections) = with(rdma, |at: &mut Rdma| {
        if at.engine.is_none() {
            let why = "neither doca_ctx_set_datapath_on_dpa nor doca_pe_connect_ctx came first";
            return Error::BadState.because(why);
        }
        let tasks = at.uses[0].map_or(0, |own| own.most);
        let receives = at.receive_depth.max(tasks);
        Ok((at.device, receives, at.send_depth, at.connections))
    })?;
    let pd = with(device, |device: &mut Device| Ok(device.pd))?;
    let lanes = Lanes::new(pd, receives, sends, connections)?;
    let (changed, user) = with(rdma, |rdma: &mut Rdma| {
        rdma.queues = Some(Queues::Cpu(lanes));
        Ok((rdma.changed, rdma.user))
    })?;
    machine().scheduler.start();
    if let Some(changed) = changed {
        changed(user, rdma, IDLE, RUNNING);
    }
    Ok(())
}

fn start(rdma: Handle) -> Answer {
    let Some(dpa) = setup(rdma, |at: &mut Rdma| Ok(at.dpa))? else {
        return start_on_cpu(rdma);
    };
    let (completion, log_depth, buffers, connections, device) = setup(rdma, |at: &mut Rdma| {
        let Some(completion) = at.completion else {
            let why = "no completion context: doca_rdma_dpa_completion_attach comes first";
            return Error::BadState.because(why);
        };
        let depth = log(at.receive_depth);
        Ok((completion, depth, at.buffers, at.connections, at.device))
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
        rdma.queues = Some(Queues::Dpa(OnDpa {
            process,
            pd,
            cqn,
            receiver,
            block,
            blocks,
            pairs,
        }));
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
            transport: RELIABLE,
            engine: None,
            uses: [None; KINDS],
            user: 0,
            changed: None,
            is_stopping: false,
            queues: None,
        })
        .map(|_| ())
    }

    fn doca_rdma_destroy(rdma: Handle) {
        take(rdma, |rdma: &mut Rdma| match rdma.queues {
            Some(_) => Error::BadState.because("it is started: doca_ctx_stop comes first"),
            None => Ok(()),
        })
        .map(|gone| gone.engine.into_iter().for_each(|engine| leave(engine, rdma)))
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
        let waits = with(rdma, |rdma: &mut Rdma| match &mut rdma.queues {
            None => Error::BadState.because("it is not started"),
            Some(_) if rdma.is_stopping => Error::BadState.because("it is about to stop"),
            Some(Queues::Dpa(_)) => Ok(0),
            Some(Queues::Cpu(lanes)) => {
                lanes.close()?;
                lanes.flush();
                rdma.is_stopping = true;
                Ok(lanes.flying())
            }
        })?;
        match waits {
            0 => stop(rdma),
            // The engine ends the tasks, and then stops the context.
            _ => Err(super::Wrong::quiet(Error::InProgress)),
        }
    }

    fn doca_ctx_get_state(rdma: Handle, state: Given<u32>) {
        let found = with(rdma, |rdma: &mut Rdma| Ok(rdma.state()))?;
        Ok(put(state, found)?)
    }

    fn doca_ctx_set_user_data(rdma: Handle, user: u64) {
        with(rdma, |rdma: &mut Rdma| {
            rdma.user = user;
            Ok(())
        })
    }

    fn doca_ctx_get_user_data(rdma: Handle, user: Given<u64>) {
        let found = with(rdma, |rdma: &mut Rdma| Ok(rdma.user))?;
        Ok(put(user, found)?)
    }

    fn doca_ctx_set_state_changed_cb(rdma: Handle, changed: Option<Changed>) {
        setup(rdma, |rdma: &mut Rdma| {
            rdma.changed = changed;
            Ok(())
        })
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
            Some(Queues::Dpa(own)) => Ok(own.block),
            Some(Queues::Cpu(_)) => Error::BadState.because("its data path is on the CPU"),
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
            connection.is_of(rdma)?;
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
        let (rdma, id, number) = with(connection, |connection: &mut Connection| {
            connection.is_connected = false;
            Ok((connection.rdma, connection.id, connection.number))
        })?;
        let mut nic = machine().nic();
        nic.wqs.get_mut(number).into_iter().try_for_each(|wq| wq.step(0, 0))?;
        drop(nic);
        with(rdma, |rdma: &mut Rdma| {
            if let Ok(lanes) = rdma.lanes() {
                lanes.break_off(id);
            }
            Ok(())
        })
    }
}

fn connect_new(rdma: &mut Rdma) -> Answer<(u32, u32)> {
    let (most, log_depth) = (rdma.connections, log(rdma.send_depth));
    let access = rights(rdma.permissions);
    let id = match &rdma.queues {
        None => return Error::BadState.because("it is not started"),
        Some(Queues::Dpa(own)) => own.pairs.len() as u32,
        Some(Queues::Cpu(lanes)) => lanes.connections(),
    };
    if id == most {
        let why = format!("{most} connections exist: doca_rdma_set_max_num_connections");
        return Error::Full.because(why);
    }
    let queues = match &mut rdma.queues {
        Some(Queues::Dpa(own)) => own,
        _ => return Ok((id, rdma.lanes()?.connect(access)?)),
    };
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
