//! Tasks of RDMA with its data path on the CPU, and the engines that end them: each call of an
//! engine's progress ends one task at most, in the program's function.

use super::buf::{Buf, Part};
use super::lanes::{Ended, Entry, Received, put_segment};
use super::rdma::{Connection, Rdma};
use super::{Answer, Error, calls, make, setup, take, with};
use crate::handle::Handle;
use crate::machine::machine;
use crate::queue::format;
use crate::status::{Given, put};

/// Bytes of the longest message.
const MESSAGE: usize = 1 << 30;
/// A context has at most this many tasks of each kind.
const TASKS: u32 = 1 << 15;
/// Kinds of tasks.
pub(super) const KINDS: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Receive,
    Send,
    SendImmediate,
    Read,
    Write,
    WriteImmediate,
    CompareSwap,
    FetchAdd,
}

/// Which tasks of a kind a context has, and the program's functions for their ends.
#[derive(Clone, Copy)]
pub(super) struct Use {
    done: Option<Callback>,
    failed: Option<Callback>,
    pub(super) most: u32,
    made: u32,
}

/// A task, and what the program remembers of it and of its context.
pub(super) type Callback = extern "C" fn(Handle, u64, u64);

/// Contexts whose tasks end here.
#[derive(Default)]
pub(super) struct Engine {
    contexts: Vec<Handle>,
    next: usize,
}

pub(super) struct Task {
    rdma: Handle,
    what: What,
    parts: Parts,
    user: u64,
    is_flying: bool,
    status: Error,
    received: Received,
}

/// What a task works on. The source of an atomic's operation takes the result.
#[derive(Clone, Copy)]
struct Parts {
    connection: Handle,
    source: Handle,
    destination: Handle,
    /// In the order of the wire.
    immediate: u32,
    /// What an atomic adds or swaps in, and what it compares with.
    operands: [u64; 2],
}

const NONE: Parts = Parts {
    connection: std::ptr::null_mut(),
    source: std::ptr::null_mut(),
    destination: std::ptr::null_mut(),
    immediate: 0,
    operands: [0; 2],
};

// SAFETY: handles are numbers in the shape of pointers.
unsafe impl Send for Engine {}
// SAFETY: as above.
unsafe impl Send for Task {}

/// The data of a source, or what is behind those of a destination.
fn part(buf: Handle, is_source: bool) -> Answer<Option<Part>> {
    if buf.is_null() {
        return Ok(None);
    }
    let part = with(buf, |buf: &mut Buf| match is_source {
        true => Ok(buf.data()),
        false => Ok(buf.rest()),
    })?;
    if part.bytes > MESSAGE {
        let why = format!("a buffer of {} bytes: {MESSAGE} at most", part.bytes);
        return Error::TooBig.because(why);
    }
    Ok(Some(part))
}

fn segment(part: Option<Part>, device: Handle) -> Answer<Option<(u32, u32, u64)>> {
    match part.filter(|part| part.bytes > 0) {
        Some(part) => {
            let key = super::memory::key(part.mmap, device)?;
            // `part` refuses more than `MESSAGE` bytes.
            Ok(Some((part.bytes as u32, key, part.address)))
        }
        None => Ok(None),
    }
}

/// The entry of a task, but for its place in a ring.
fn entry(what: What, parts: &Parts, device: Handle) -> Answer<Entry> {
    let source_has_data = what != What::CompareSwap && what != What::FetchAdd;
    let source = part(parts.source, source_has_data)?;
    let destination = part(parts.destination, false)?;
    let (opcode, remote, local) = match what {
        What::Receive | What::Send => (format::SEND, None, source),
        What::SendImmediate => (format::SEND_IMMEDIATE, None, source),
        What::Write => (format::WRITE, destination, source),
        What::WriteImmediate => (format::WRITE_IMMEDIATE, destination, source),
        What::Read => (format::READ, source, destination),
        What::CompareSwap => (format::COMPARE_SWAP, destination, source),
        What::FetchAdd => (format::FETCH_ADD, destination, source),
    };
    let (is_write, is_read) = (
        matches!(opcode, format::WRITE | format::WRITE_IMMEDIATE),
        opcode == format::READ,
    );
    let is_atomic = matches!(opcode, format::COMPARE_SWAP | format::FETCH_ADD);
    let mut entry = [0; format::WQEBB as usize];
    (entry[3], entry[11]) = (opcode, 2 << 2);
    entry[12..16].copy_from_slice(&parts.immediate.to_ne_bytes());
    let mut at = format::SEGMENT;
    let bytes = |part: Option<Part>| part.map_or(0, |part| part.bytes);
    let (room, moved) = match (is_read, is_atomic) {
        (true, _) => (bytes(local), bytes(remote)),
        (_, true) => (bytes(local).min(bytes(remote)), 8),
        (false, false) => (bytes(remote), bytes(local)),
    };
    if (is_write || is_read || is_atomic) && room < moved {
        return Error::InvalidValue.because(format!("{moved} bytes for a buffer of {room}"));
    }
    if is_write || is_read || is_atomic {
        if let Some(part) = remote {
            let key = super::memory::key(part.mmap, device)?;
            // `part` refuses more than `MESSAGE` bytes.
            entry[at..at + 8].copy_from_slice(&part.address.to_be_bytes());
            entry[at + 8..at + 12].copy_from_slice(&key.to_be_bytes());
        }
        at += format::SEGMENT;
    }
    if is_atomic {
        for operand in parts.operands {
            entry[at..at + 8].copy_from_slice(&operand.to_be_bytes());
            at += 8;
        }
    }
    let local = local.map(|part| Part {
        bytes: moved,
        ..part
    });
    match segment(local, device)? {
        Some((bytes, key, address)) => put_segment(&mut entry[at..], bytes, key, address),
        None if is_read => {
            return Error::InvalidValue.because("a read of 0 bytes");
        }
        None => at -= format::SEGMENT,
    }
    entry[7] = (at / format::SEGMENT + 1) as u8;
    Ok(entry)
}

fn submit(task: Handle) -> Answer {
    let (rdma, what, parts) = with(task, |task: &mut Task| match task.is_flying {
        true => Error::BadState.because("the task is submitted already"),
        false => Ok((task.rdma, task.what, task.parts)),
    })?;
    let device = with(rdma, |rdma: &mut Rdma| {
        rdma.lanes()?;
        Ok(rdma.device)
    })?;
    let bell = if what == What::Receive {
        let segment = segment(part(parts.destination, false)?, device)?;
        with(rdma, |rdma: &mut Rdma| rdma.lanes()?.receive(task, segment))?;
        None
    } else {
        let id = with(parts.connection, |connection: &mut Connection| {
            connection.of(rdma)
        })?;
        let entry = entry(what, &parts, device)?;
        with(rdma, |rdma: &mut Rdma| {
            Ok(rdma.lanes()?.send(task, id, entry))
        })?
    };
    with(task, |task: &mut Task| {
        (task.is_flying, task.status) = (true, Error::InProgress);
        Ok(())
    })?;
    ring(bell);
    Ok(())
}

fn ring(bell: Option<(u16, u32)>) {
    if let Some((index, number)) = bell {
        let mut nic = machine().nic();
        nic.ring(None, index, number);
        crate::queue::let_go(nic);
    }
}

/// Remembers how a task has ended. Answers the program's function, and what it is given.
fn end(ended: &Ended) -> Answer<(Option<Callback>, u64, u64)> {
    let task = ended.task;
    let (rdma, what, parts, user) = with(task, |task: &mut Task| {
        task.is_flying = false;
        task.status = match ended.is_right {
            true => Error::Success,
            false => Error::IoFailed,
        };
        task.received = ended.received.unwrap_or_default();
        Ok((task.rdma, task.what, task.parts, task.user))
    })?;
    let came = match (what, ended.is_right) {
        (What::Receive, true) => ended
            .received
            .filter(|got| got.opcode != format::WRITTEN_IMMEDIATE),
        _ => None,
    };
    let more = match (what, ended.is_right) {
        (What::Read, true) => with(parts.source, |buf: &mut Buf| Ok(buf.data_bytes))?,
        _ => came.map_or(0, |got| got.bytes as usize),
    };
    if more > 0 {
        with(parts.destination, |buf: &mut Buf| {
            buf.data_bytes += more;
            Ok(())
        })?;
    }
    with(rdma, |rdma: &mut Rdma| {
        let own = rdma.uses[what as usize];
        let function = match ended.is_right {
            true => own.and_then(|own| own.done),
            false => own.and_then(|own| own.failed),
        };
        Ok((function, user, rdma.user))
    })
}

/// Ends one task, or stops a context that waits for its last. Answers whether it did.
fn progress(engine: Handle) -> Answer<bool> {
    let (contexts, first) = with(engine, |engine: &mut Engine| {
        engine.next = engine.next.wrapping_add(1);
        Ok((engine.contexts.clone(), engine.next))
    })?;
    for is_last in [false, true] {
        for at in 0..contexts.len() {
            let rdma = contexts[first.wrapping_add(at) % contexts.len()];
            let (ended, bell) = with(rdma, |rdma: &mut Rdma| match rdma.lanes() {
                Ok(lanes) => Ok(lanes.next()),
                Err(_) => Ok((None, None)),
            })?;
            ring(bell);
            if let Some(ended) = ended {
                let (function, user, own) = end(&ended)?;
                if let Some(function) = function {
                    function(ended.task, user, own);
                }
                super::rdma::stop_if_over(rdma)?;
                return Ok(true);
            }
        }
        if is_last {
            break;
        }
        // Nothing has come: the wire may bring something.
        let mut nic = machine().nic();
        nic.pump();
        crate::queue::let_go(nic);
    }
    Ok(false)
}

fn allocate(rdma: Handle, what: What, parts: Parts, user: u64, task: Given<Handle>) -> Answer {
    let own = |rdma: &mut Rdma| {
        rdma.lanes()?;
        match &mut rdma.uses[what as usize] {
            None => Error::BadState.because(format!("{what:?}: its _set_conf comes first")),
            Some(own) if own.made == own.most => {
                Error::NoMemory.because(format!("{what:?}: {} tasks exist", own.made))
            }
            Some(_) => Ok(()),
        }
    };
    with(rdma, own)?;
    if what != What::Receive {
        with(parts.connection, |connection: &mut Connection| {
            connection.is_of(rdma)
        })?;
    }
    for buf in [parts.source, parts.destination] {
        part(buf, true)?;
    }
    let made = Task {
        rdma,
        what,
        parts,
        user,
        is_flying: false,
        status: Error::Success,
        received: Received::default(),
    };
    make(task, made)?;
    with(rdma, |rdma: &mut Rdma| {
        rdma.uses[what as usize]
            .iter_mut()
            .for_each(|own| own.made += 1);
        Ok(())
    })
}

fn set_use(rdma: Handle, what: What, [done, failed]: [Option<Callback>; 2], most: u32) -> Answer {
    if done.is_none() || failed.is_none() || !(1..=TASKS).contains(&most) {
        let why = format!("{most} tasks, 1 to {TASKS}, with a function for each end");
        return Error::InvalidValue.because(why);
    }
    setup(rdma, |rdma: &mut Rdma| {
        rdma.uses[what as usize] = Some(Use {
            done,
            failed,
            most,
            made: 0,
        });
        Ok(())
    })
}

/// The calls that each kind of task has. A task of a kind is a task: both have one handle.
macro_rules! kinds {
    ($($what:ident: $set_conf:ident $as_task:ident;)+) => {
        calls! {$(
            fn $set_conf(
                rdma: Handle, done: Option<Callback>, failed: Option<Callback>, most: u32
            ) {
                set_use(rdma, What::$what, [done, failed], most)
            }
        )+}
        $(#[unsafe(no_mangle)]
        extern "C" fn $as_task(task: Handle) -> Handle {
            task
        })+
    };
}

kinds! {
    Receive: doca_rdma_task_receive_set_conf doca_rdma_task_receive_as_task;
    Send: doca_rdma_task_send_set_conf doca_rdma_task_send_as_task;
    SendImmediate: doca_rdma_task_send_imm_set_conf doca_rdma_task_send_imm_as_task;
    Read: doca_rdma_task_read_set_conf doca_rdma_task_read_as_task;
    Write: doca_rdma_task_write_set_conf doca_rdma_task_write_as_task;
    WriteImmediate: doca_rdma_task_write_imm_set_conf doca_rdma_task_write_imm_as_task;
    CompareSwap: doca_rdma_task_atomic_cmp_swp_set_conf doca_rdma_task_atomic_cmp_swp_as_task;
    FetchAdd: doca_rdma_task_atomic_fetch_add_set_conf doca_rdma_task_atomic_fetch_add_as_task;
}

calls! {
    fn doca_rdma_task_receive_allocate_init(
        rdma: Handle, destination: Handle, user: u64, task: Given<Handle>
    ) {
        allocate(rdma, What::Receive, Parts { destination, ..NONE }, user, task)
    }

    fn doca_rdma_task_send_allocate_init(
        rdma: Handle, connection: Handle, source: Handle, user: u64, task: Given<Handle>
    ) {
        allocate(rdma, What::Send, Parts { connection, source, ..NONE }, user, task)
    }

    fn doca_rdma_task_send_imm_allocate_init(
        rdma: Handle, connection: Handle, source: Handle, immediate: u32, user: u64,
        task: Given<Handle>,
    ) {
        let parts = Parts { connection, source, immediate, ..NONE };
        allocate(rdma, What::SendImmediate, parts, user, task)
    }

    fn doca_rdma_task_read_allocate_init(
        rdma: Handle, connection: Handle, source: Handle, destination: Handle, user: u64,
        task: Given<Handle>,
    ) {
        let parts = Parts { connection, source, destination, ..NONE };
        allocate(rdma, What::Read, parts, user, task)
    }

    fn doca_rdma_task_write_allocate_init(
        rdma: Handle, connection: Handle, source: Handle, destination: Handle, user: u64,
        task: Given<Handle>,
    ) {
        let parts = Parts { connection, source, destination, ..NONE };
        allocate(rdma, What::Write, parts, user, task)
    }

    fn doca_rdma_task_write_imm_allocate_init(
        rdma: Handle, connection: Handle, source: Handle, destination: Handle, immediate: u32,
        user: u64, task: Given<Handle>,
    ) {
        let parts = Parts { connection, source, destination, immediate, ..NONE };
        allocate(rdma, What::WriteImmediate, parts, user, task)
    }

    fn doca_rdma_task_atomic_cmp_swp_allocate_init(
        rdma: Handle, connection: Handle, destination: Handle, source: Handle, compare: u64,
        swap: u64, user: u64, task: Given<Handle>,
    ) {
        let operands = [swap, compare];
        let parts = Parts { connection, source, destination, operands, ..NONE };
        allocate(rdma, What::CompareSwap, parts, user, task)
    }

    fn doca_rdma_task_atomic_fetch_add_allocate_init(
        rdma: Handle, connection: Handle, destination: Handle, source: Handle, add: u64,
        user: u64, task: Given<Handle>,
    ) {
        let parts = Parts { connection, source, destination, operands: [add, 0], ..NONE };
        allocate(rdma, What::FetchAdd, parts, user, task)
    }

    fn doca_task_submit(task: Handle) { submit(task) }

    /// The flags only say when the doorbell may ring: it rings at once.
    fn doca_task_submit_ex(task: Handle, _flags: u32) { submit(task) }

    fn doca_task_try_submit(task: Handle) { submit(task) }

    fn doca_task_set_user_data(task: Handle, user: u64) {
        with(task, |task: &mut Task| {
            task.user = user;
            Ok(())
        })
    }

    fn doca_task_get_status(task: Handle) {
        match with(task, |task: &mut Task| Ok(task.status))? {
            Error::Success => Ok(()),
            other => Err(super::Wrong::quiet(other)),
        }
    }

    fn doca_task_free(task: Handle) {
        let gone = take(task, |task: &mut Task| match task.is_flying {
            true => Error::BadState.because("the task has not ended"),
            false => Ok(()),
        })?;
        // The context may be gone.
        let uses = |rdma: &mut Rdma| {
            rdma.uses[gone.what as usize].iter_mut().for_each(|own| own.made -= 1);
            Ok(())
        };
        let _ = with(gone.rdma, uses);
        Ok(())
    }

    fn doca_pe_create(engine: Given<Handle>) {
        make(engine, Engine::default()).map(|_| ())
    }

    fn doca_pe_destroy(engine: Handle) {
        let contexts = with(engine, |engine: &mut Engine| Ok(engine.contexts.clone()))?;
        for rdma in contexts {
            if with(rdma, |rdma: &mut Rdma| Ok(rdma.queues.is_some())).unwrap_or(false) {
                return Error::InUse.because("a context of the engine is started");
            }
        }
        take(engine, |_: &mut Engine| Ok(())).map(|_| ())
    }

    fn doca_pe_connect_ctx(engine: Handle, rdma: Handle) {
        with(engine, |_: &mut Engine| Ok(()))?;
        setup(rdma, |rdma: &mut Rdma| match rdma.engine.replace(engine) {
            Some(_) => Error::BadState.because("the context has an engine already"),
            None => Ok(()),
        })?;
        with(engine, |engine: &mut Engine| {
            engine.contexts.push(rdma);
            Ok(())
        })
    }

    fn doca_pe_get_num_inflight_tasks(engine: Handle, count: Given<usize>) {
        let contexts = with(engine, |engine: &mut Engine| Ok(engine.contexts.clone()))?;
        let flying = |rdma: &mut Rdma| Ok(rdma.lanes().map_or(0, |lanes| lanes.flying()));
        let all = contexts.into_iter().filter_map(|rdma| with(rdma, flying).ok()).sum();
        Ok(put(count, all)?)
    }

    fn doca_ctx_get_num_inflight_tasks(rdma: Handle, count: Given<usize>) {
        let all = with(rdma, |rdma: &mut Rdma| Ok(rdma.lanes()?.flying()))?;
        Ok(put(count, all)?)
    }
}

/// The context of the engine is destroyed.
pub(super) fn leave(engine: Handle, rdma: Handle) {
    let _ = with(engine, |engine: &mut Engine| {
        engine.contexts.retain(|&other| other != rdma);
        Ok(())
    });
}

/// Whether a task ended: 1 or 0.
#[unsafe(no_mangle)]
extern "C" fn doca_pe_progress(engine: Handle) -> u8 {
    let mut did = false;
    super::host("doca_pe_progress", || {
        did = progress(engine)?;
        Ok(())
    });
    did.into()
}

/// What a task answers of itself, or a zero.
macro_rules! answers {
    ($answer:ty, $none:expr; $($call:ident: $found:expr;)+) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $call(task: Handle) -> $answer {
            let mut answer = None;
            super::host(stringify!($call), || {
                let found: fn(&Task) -> $answer = $found;
                answer = Some(with(task, |task: &mut Task| Ok(found(task)))?);
                Ok(())
            });
            answer.unwrap_or($none)
        }
    )+};
}

/// A receive's opcode as the API counts it: a send, one with an immediate, a write with one.
fn opcode(task: &Task) -> u32 {
    match task.received.opcode {
        format::RECEIVED_IMMEDIATE => 1,
        format::WRITTEN_IMMEDIATE => 2,
        _ => 0,
    }
}

answers! {
    u64, 0;
    doca_task_get_user_data: |task| task.user;
}

answers! {
    u32, 0;
    doca_rdma_task_receive_get_result_opcode: opcode;
    doca_rdma_task_receive_get_result_len: |task| task.received.bytes;
    doca_rdma_task_receive_get_result_immediate_data: |task| task.received.immediate;
}

answers! {
    Handle, std::ptr::null_mut();
    doca_task_get_ctx: |task| task.rdma;
    doca_rdma_task_receive_get_dst_buf: |task| task.parts.destination;
    doca_rdma_task_send_get_src_buf: |task| task.parts.source;
    doca_rdma_task_send_imm_get_src_buf: |task| task.parts.source;
    doca_rdma_task_read_get_src_buf: |task| task.parts.source;
    doca_rdma_task_read_get_dst_buf: |task| task.parts.destination;
    doca_rdma_task_write_get_src_buf: |task| task.parts.source;
    doca_rdma_task_write_get_dst_buf: |task| task.parts.destination;
    doca_rdma_task_write_imm_get_src_buf: |task| task.parts.source;
    doca_rdma_task_write_imm_get_dst_buf: |task| task.parts.destination;
}

/// The connection from which a receive's message came, or null.
#[unsafe(no_mangle)]
extern "C" fn doca_rdma_task_receive_get_result_rdma_connection(task: Handle) -> Handle {
    let mut connection = std::ptr::null_mut();
    super::host("doca_rdma_task_receive_get_result_rdma_connection", || {
        let (rdma, id) = with(task, |task: &mut Task| {
            Ok((task.rdma, task.received.connection))
        })?;
        connection = super::rdma::connection(rdma, id)?;
        Ok(())
    });
    connection
}

/// Settings of a task between two submissions.
macro_rules! sets {
    ($($call:ident: $kind:ty => $($field:ident).+ $([$at:literal])?;)+) => {calls! {$(
        fn $call(task: Handle, value: $kind) {
            with(task, |task: &mut Task| {
                if task.is_flying {
                    return Error::BadState.because("the task has not ended");
                }
                task.$($field).+ $([$at])? = value;
                Ok(())
            })
        }
    )+}};
}

sets! {
    doca_rdma_task_receive_set_dst_buf: Handle => parts.destination;
    doca_rdma_task_send_set_src_buf: Handle => parts.source;
    doca_rdma_task_send_imm_set_src_buf: Handle => parts.source;
    doca_rdma_task_send_imm_set_immediate_data: u32 => parts.immediate;
    doca_rdma_task_read_set_src_buf: Handle => parts.source;
    doca_rdma_task_read_set_dst_buf: Handle => parts.destination;
    doca_rdma_task_write_set_src_buf: Handle => parts.source;
    doca_rdma_task_write_set_dst_buf: Handle => parts.destination;
    doca_rdma_task_write_imm_set_src_buf: Handle => parts.source;
    doca_rdma_task_write_imm_set_dst_buf: Handle => parts.destination;
    doca_rdma_task_write_imm_set_immediate_data: u32 => parts.immediate;
    doca_rdma_task_atomic_cmp_swp_set_dst_buf: Handle => parts.destination;
    doca_rdma_task_atomic_cmp_swp_set_result_buf: Handle => parts.source;
    doca_rdma_task_atomic_cmp_swp_set_swap_data: u64 => parts.operands[0];
    doca_rdma_task_atomic_cmp_swp_set_cmp_data: u64 => parts.operands[1];
    doca_rdma_task_atomic_fetch_add_set_dst_buf: Handle => parts.destination;
    doca_rdma_task_atomic_fetch_add_set_result_buf: Handle => parts.source;
    doca_rdma_task_atomic_fetch_add_set_add_data: u64 => parts.operands[0];
}
