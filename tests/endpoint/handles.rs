//! Every public method of an endpoint and of its handles, with handles of another endpoint, of an
//! endpoint that is gone, and that have ended. Each call returns, or panics as its page says, in
//! bounded time. After it both endpoints work and give everything back.

use std::any::Any;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use dpamatch::endpoint::{
    CommSender, Communicator, Drive, Endpoint, EndpointConfig, MatchedMessage, PersistentRecv,
    RecvRequest, SendRequest, ShardedCommunicator, Shards,
};
use dpamatch::{Hints, NicConfig, SourceSel, TagSel};

use super::{rank, tag};

/// Far longer than a call takes that gives up by itself.
const LIMIT: Duration = Duration::from_secs(120);

/// What a call ends with.
#[derive(Clone, Copy, Debug)]
enum Ends {
    /// The panic of a foreign handle.
    Foreign,
    /// A result that begins with this.
    With(&'static str),
}

use Ends::{Foreign, With};

/// Two endpoints, and a handle of each kind of the second.
struct Scene {
    a: Endpoint,
    b: Option<Endpoint>,
    world_a: Option<Communicator>,
    world_b: Option<Communicator>,
    sender: Option<CommSender>,
    receive: Option<RecvRequest>,
    message: Option<MatchedMessage>,
    sent: Option<SendRequest>,
    eager: Option<SendRequest>,
    persistent: Option<PersistentRecv>,
}

fn small() -> EndpointConfig {
    let nic = NicConfig {
        handlers: 4,
        receives: 32,
        completion_queue: 32,
        bounce_buffers: 8,
        ..NicConfig::default()
    };
    EndpointConfig {
        nic,
        drive: Drive::Caller,
    }
}

impl Scene {
    fn new() -> Self {
        let mut a = Endpoint::new(&small()).expect("a NIC can be built");
        let mut b = Endpoint::new(&small()).expect("a NIC can be built");
        let world_a = a.create_comm(Hints::default()).expect("the NIC runs");
        let world_b = b.create_comm(Hints::default()).expect("the NIC runs");
        let mut sender = b.sender(&world_b, rank(3));
        let receive = b.post_recv(&world_b, rank(9), tag(9), vec![0; 4]);
        let sent = sender.issend(tag(1), vec![1; 3]).expect("there is room");
        let message = b.mprobe(&world_b, SourceSel::Any, tag(1)).expect("sent");
        let eager = sender.isend(tag(2), vec![2; 2]).expect("there is room");
        let persistent = b.recv_init(&world_b, rank(8), tag(8), vec![0; 2]);
        Self {
            a,
            b: Some(b),
            world_a: Some(world_a),
            world_b: Some(world_b),
            sender: Some(sender),
            receive: Some(receive.expect("posted")),
            message: Some(message),
            sent: Some(sent),
            eager: Some(eager),
            persistent: Some(persistent.expect("allowed")),
        }
    }

    fn world_b(&self) -> &Communicator {
        self.world_b.as_ref().expect("it is there")
    }

    fn sender(&mut self) -> &mut CommSender {
        self.sender.as_mut().expect("it is there")
    }

    /// Both endpoints still receive, and free their communicators once their handles are gone.
    fn end(mut self, name: &str) {
        exchange(&mut self.a);
        let world = self.world_a.take().expect("it is there");
        assert!(
            self.a.free_comm(world).is_ok(),
            "{name}: the own one is free"
        );
        let Some(mut b) = self.b.take() else { return };
        exchange(&mut b);
        (self.message, self.sent, self.eager) = (None, None, None);
        (self.sender, self.persistent) = (None, None);
        let Some(world) = self.world_b.take() else {
            return;
        };
        if let Some(receive) = self.receive.take() {
            b.cancel(&receive).expect("the NIC runs");
            assert!(b.wait(receive).is_err(), "{name}: cancelled");
        } else {
            // The call took the handle, and the receive stays posted, as its type says.
            let mut late = b.sender(&world, rank(9));
            late.send(tag(9), b"late").expect("sent");
        }
        while b
            .improbe(&world, SourceSel::Any, TagSel::Any)
            .expect("the NIC runs")
            .is_some()
        {}
        let freed = b.free_comm(world);
        let lost = name.contains("lost receive");
        assert!(
            freed.is_ok() || lost,
            "{name}: the other one is free: {freed:?}"
        );
    }
}

fn exchange(endpoint: &mut Endpoint) {
    let world = endpoint
        .create_comm(Hints::default())
        .expect("the NIC runs");
    let request = endpoint.post_recv(&world, SourceSel::Any, tag(7), vec![0; 4]);
    let mut peer = endpoint.sender(&world, rank(6));
    endpoint.send(&mut peer, tag(7), b"well").expect("sent");
    let received = endpoint.wait(request.expect("posted")).expect("received");
    assert_eq!(received.bytes(), b"well");
    drop(peer);
    endpoint.free_comm(world).expect("nothing is left");
}

type Call = fn(&mut Scene) -> String;

/// A row: the method, the handle's state, the call, and its end.
type Row = (&'static str, &'static str, Call, Ends);

fn show<T: std::fmt::Debug>(value: T) -> String {
    format!("{value:?}")
}

const ANY: (SourceSel, TagSel) = (SourceSel::Any, TagSel::Any);

#[rustfmt::skip]
const ROWS: &[Row] = &[
    ("Endpoint::sender", "foreign", |s| show(s.a.sender(s.world_b.as_ref().expect("one"), rank(0)).rank()), Foreign),
    ("Endpoint::free_comm", "foreign", |s| { let world = s.world_b.take().expect("one"); show(s.a.free_comm(world)) }, Foreign),
    ("Endpoint::post_recv", "foreign", |s| show(s.a.post_recv(s.world_b.as_ref().expect("one"), ANY.0, ANY.1, vec![])), Foreign),
    ("Endpoint::recv", "foreign", |s| show(s.a.recv(s.world_b.as_ref().expect("one"), ANY.0, ANY.1, vec![])), Foreign),
    ("Endpoint::recv_init", "foreign", |s| show(s.a.recv_init(s.world_b.as_ref().expect("one"), ANY.0, ANY.1, vec![])), Foreign),
    ("Endpoint::iprobe", "foreign", |s| show(s.a.iprobe(s.world_b.as_ref().expect("one"), ANY.0, ANY.1)), Foreign),
    ("Endpoint::probe", "foreign", |s| show(s.a.probe(s.world_b.as_ref().expect("one"), ANY.0, ANY.1)), Foreign),
    ("Endpoint::improbe", "foreign", |s| show(s.a.improbe(s.world_b.as_ref().expect("one"), ANY.0, ANY.1)), Foreign),
    ("Endpoint::mprobe", "foreign", |s| show(s.a.mprobe(s.world_b.as_ref().expect("one"), ANY.0, ANY.1)), Foreign),
    ("Endpoint::imrecv", "foreign", |s| { let m = s.message.take().expect("one"); show(s.a.imrecv(m, vec![0; 4])) }, Foreign),
    ("Endpoint::mrecv", "foreign", |s| { let m = s.message.take().expect("one"); show(s.a.mrecv(m, vec![0; 4])) }, Foreign),
    ("Endpoint::test", "foreign", |s| show(s.a.test(&mut s.receive)), Foreign),
    ("Endpoint::test", "none", |s| show(s.a.test(&mut None)), With("None")),
    ("Endpoint::wait", "foreign, lost receive", |s| { let r = s.receive.take().expect("one"); show(s.a.wait(r)) }, Foreign),
    ("Endpoint::wait_all", "foreign, lost receive", |s| { let r = s.receive.take(); show(s.a.wait_all(r)) }, Foreign),
    ("Endpoint::wait_any", "foreign", |s| show(s.a.wait_any(std::slice::from_mut(&mut s.receive))), Foreign),
    ("Endpoint::wait_any", "none", |s| show(s.a.wait_any(&mut [None, None])), With("None")),
    ("Endpoint::test_some", "foreign", |s| show(s.a.test_some(std::slice::from_mut(&mut s.receive), &mut vec![])), Foreign),
    ("Endpoint::test_some", "none", |s| show(s.a.test_some(&mut [None], &mut vec![])), With("0")),
    ("Endpoint::wait_some", "foreign", |s| show(s.a.wait_some(std::slice::from_mut(&mut s.receive), &mut vec![])), Foreign),
    ("Endpoint::wait_some", "none", |s| show(s.a.wait_some(&mut [None], &mut vec![])), With("0")),
    ("Endpoint::cancel", "foreign", |s| show(s.a.cancel(s.receive.as_ref().expect("one"))), Foreign),
    ("Endpoint::release", "foreign, lost receive", |s| { let r = s.receive.take().expect("one"); s.a.release(r); String::new() }, Foreign),
    ("Endpoint::send", "foreign", |s| { let p = s.sender.as_mut().expect("one"); show(s.a.send(p, tag(1), b"x")) }, Foreign),
    ("Endpoint::send", "foreign, full", |s| { while s.sender().try_send(tag(1), b"x").is_ok() {} let p = s.sender.as_mut().expect("one"); show(s.a.send(p, tag(1), b"x")) }, Foreign),
    ("Endpoint::send", "gone", |s| { s.b = None; let p = s.sender.as_mut().expect("one"); show(s.a.send(p, tag(1), b"x")) }, Foreign),
    ("Endpoint::wait_send", "foreign", |s| { let q = s.sent.take().expect("one"); show(s.a.wait_send(q)) }, Foreign),
    ("Endpoint::wait_send", "foreign, eager", |s| { let q = s.eager.take().expect("one"); show(s.a.wait_send(q)) }, Foreign),
    ("Endpoint::wait_send", "gone", |s| { s.b = None; let q = s.sent.take().expect("one"); show(s.a.wait_send(q)) }, Foreign),
    ("Endpoint::wait_send", "ended", |s| { let mut q = s.eager.take().expect("one"); q.test(); show(s.b.as_mut().expect("one").wait_send(q)) }, With("Ok([])")),
    ("Endpoint::wait_send", "given up and ended", |s| { s.message = None; let mut q = s.sent.take().expect("one"); while q.test().is_none() { s.b.as_mut().expect("one").progress(); } show(s.b.as_mut().expect("one").wait_send(q)) }, With("Ok([])")),
    ("CommSender::rank", "gone", |s| { s.b = None; show(s.sender().rank().get()) }, With("3")),
    ("CommSender::eager_limit", "gone", |s| { s.b = None; show(s.sender().eager_limit() > 0) }, With("true")),
    ("CommSender::set_inline_hashes", "gone", |s| { s.b = None; s.sender().set_inline_hashes(false); String::new() }, With("")),
    ("CommSender::set_hash_fault", "gone", |s| { s.b = None; s.sender().set_hash_fault(1); String::new() }, With("")),
    ("CommSender::try_send", "gone", |s| { s.b = None; show(s.sender().try_send(tag(1), b"x")) }, With("Err(Stopped)")),
    ("CommSender::send", "gone", |s| { s.b = None; show(s.sender().send(tag(1), b"x")) }, With("Err(Stopped)")),
    ("CommSender::send", "own thread, full", |s| { while s.sender().try_send(tag(1), b"x").is_ok() {} show(s.sender().send(tag(1), b"x")) }, With("Err(OwnThread)")),
    ("CommSender::try_isend", "gone", |s| { s.b = None; show(s.sender().try_isend(tag(1), vec![5])) }, With("Err((Stopped, [5]))")),
    ("CommSender::isend", "gone", |s| { s.b = None; show(s.sender().isend(tag(1), vec![5])) }, With("Err((Stopped, [5]))")),
    ("CommSender::isend", "own thread, full", |s| { while s.sender().try_send(tag(1), b"x").is_ok() {} show(s.sender().isend(tag(1), vec![5])) }, With("Err((OwnThread, [5]))")),
    ("CommSender::try_issend", "gone", |s| { s.b = None; show(s.sender().try_issend(tag(1), vec![5])) }, With("Err((Stopped, [5]))")),
    ("CommSender::issend", "gone", |s| { s.b = None; show(s.sender().issend(tag(1), vec![5])) }, With("Err((Stopped, [5]))")),
    ("CommSender::issend", "own thread, full", |s| { while s.sender().try_send(tag(1), b"x").is_ok() {} show(s.sender().issend(tag(1), vec![5])) }, With("Err((OwnThread, [5]))")),
    ("SendRequest::test", "gone", |s| { (s.b, s.message) = (None, None); show(s.sent.as_mut().expect("one").test()) }, With("Some(Err((")),
    ("SendRequest::test", "ended", |s| { let q = s.eager.as_mut().expect("one"); q.test(); show(q.test()) }, With("None")),
    ("SendRequest::wait", "own thread", |s| { let q = s.sent.take().expect("one"); show(q.wait()) }, With("Err((OwnThread, []))")),
    ("SendRequest::wait", "gone", |s| { (s.b, s.message) = (None, None); let q = s.sent.take().expect("one"); show(q.wait()) }, With("Err((")),
    ("SendRequest::wait", "ended", |s| { let mut q = s.eager.take().expect("one"); q.test(); show(q.wait()) }, With("Ok([])")),
    ("SendRequest::wait_mut", "own thread, then with its endpoint", |s| {
        let mut q = s.sent.take().expect("one");
        let alone = show(q.wait_mut());
        s.message = None;
        format!("{alone} {:?}", s.b.as_mut().expect("one").wait_send(q))
    }, With("Err((OwnThread, [])) Err((NotReceived, [1, 1, 1]))")),
    ("SendRequest::wait_mut", "ended", |s| { let q = s.eager.as_mut().expect("one"); format!("{:?} {:?}", q.wait_mut(), q.wait_mut()) }, With("Ok([2, 2]) Ok([])")),
    ("PersistentRecv::start", "foreign", |s| show(s.persistent.as_mut().expect("one").start(&mut s.a)), Foreign),
    ("PersistentRecv::start_all", "foreign", |s| {
        let own = s.a.recv_init(s.world_a.as_ref().expect("one"), ANY.0, ANY.1, vec![]).expect("allowed");
        let mut both = [own, s.persistent.take().expect("one")];
        let ended = catch_unwind(AssertUnwindSafe(|| PersistentRecv::start_all(&mut both, &mut s.a)));
        assert!(both.iter().all(|receive| !receive.is_active()), "none is started");
        match ended { Ok(done) => show(done), Err(panic) => std::panic::resume_unwind(panic) }
    }, Foreign),
    ("PersistentRecv::test", "foreign", |s| show(s.persistent.as_mut().expect("one").test(&mut s.a)), Foreign),
    ("PersistentRecv::wait", "foreign", |s| show(s.persistent.as_mut().expect("one").wait(&mut s.a)), Foreign),
    ("PersistentRecv::wait", "inactive", |s| show(s.persistent.as_mut().expect("one").wait(s.b.as_mut().expect("one"))), With("None")),
    ("PersistentRecv::cancel", "foreign", |s| show(s.persistent.as_ref().expect("one").cancel(&mut s.a)), Foreign),
    ("PersistentRecv::is_active", "gone", |s| { s.b = None; show(s.persistent.as_ref().expect("one").is_active()) }, With("false")),
    ("PersistentRecv::buffer", "gone", |s| { s.b = None; show(s.persistent.as_ref().expect("one").buffer()) }, With("[0, 0]")),
    ("Communicator::id", "gone", |s| { s.b = None; show(s.world_b().id().0) }, With("0")),
    ("Communicator::hints", "gone", |s| { s.b = None; show(s.world_b().hints() == Hints::default()) }, With("true")),
    ("Communicator::is_offloaded", "gone", |s| { s.b = None; show(s.world_b().is_offloaded()) }, With("true")),
    ("MatchedMessage::status", "gone", |s| { s.b = None; show(s.message.as_ref().expect("one").status().bytes) }, With("3")),
    ("Shards::sender", "foreign", |_| { let (a, _, w) = shards(); show(a.sender(&w, rank(1)).rank()) }, Foreign),
    ("Shards::free_comm", "foreign", |_| { let (mut a, _, w) = shards(); show(a.free_comm(w).is_ok()) }, Foreign),
    ("Shards::post_recv", "foreign", |_| { let (mut a, _, w) = shards(); show(a.post_recv(&w, rank(1), tag(1), vec![])) }, Foreign),
    ("Shards::iprobe", "foreign", |_| { let (mut a, _, w) = shards(); show(a.iprobe(&w, rank(1), tag(1))) }, Foreign),
    ("Shards::improbe", "foreign", |_| { let (mut a, _, w) = shards(); show(a.improbe(&w, rank(1), tag(1))) }, Foreign),
    ("Shards::test", "foreign", |s| { let (mut a, _, _) = shards(); show(a.test(&mut s.receive)) }, Foreign),
    ("Shards::wait", "foreign, lost receive", |s| { let (mut a, _, _) = shards(); show(a.wait(s.receive.take().expect("one"))) }, Foreign),
    ("Shards::wait_all", "foreign, lost receive", |s| { let (mut a, _, _) = shards(); show(a.wait_all(s.receive.take())) }, Foreign),
    ("Shards::cancel", "foreign", |s| { let (mut a, _, _) = shards(); show(a.cancel(s.receive.as_ref().expect("one"))) }, Foreign),
    ("Shards::mrecv", "foreign", |s| { let (mut a, _, _) = shards(); show(a.mrecv(s.message.take().expect("one"), vec![0; 4])) }, Foreign),
];

/// Methods that take no handle and have no endpoint that could be gone.
const WITHOUT_HANDLE: &[&str] = &[
    "Drive::threads",
    "Endpoint::counts",
    "Endpoint::create_comm",
    "Endpoint::create_comm_with_bins",
    "Endpoint::drain_order_log",
    "Endpoint::eager_limit",
    "Endpoint::is_stopped",
    "Endpoint::monitor",
    "Endpoint::new",
    "Endpoint::pin_failures",
    "Endpoint::progress",
    "PostError::into_buffer",
    "Received::bytes",
    "RecvError::into_buffer",
    "ShardedCommunicator::is_spread",
    "ShardedCommunicator::part",
    "ShardedCommunicator::shard",
    "Shards::create_comm",
    "Shards::endpoints",
    "Shards::new",
    "Shards::progress",
];

/// One shard, two shards, and a communicator that is only on the second of the two.
fn shards() -> (Shards, Shards, ShardedCommunicator) {
    let one = Shards::new(&small(), 1).expect("a NIC can be built");
    let mut two = Shards::new(&small(), 2).expect("NICs can be built");
    two.create_comm(Hints::default()).expect("the NIC runs");
    let second = two.create_comm(Hints::default()).expect("the NIC runs");
    assert!(second.part(1).is_some() && second.part(0).is_none());
    (one, two, second)
}

/// The public methods in the sources of the endpoint.
fn methods() -> BTreeSet<String> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/endpoint");
    let mut found = BTreeSet::new();
    for file in std::fs::read_dir(folder).expect("the sources") {
        let text = std::fs::read_to_string(file.expect("a file").path()).expect("text");
        let mut owner = "";
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("impl ") {
                owner = rest.split([' ', '<', '{']).next().unwrap_or_default();
            }
            if let Some(rest) = line.strip_prefix("    pub fn ") {
                let name = rest.split(['(', '<']).next().unwrap_or_default();
                found.insert(format!("{owner}::{name}"));
            }
        }
    }
    found
}

#[test]
fn the_table_has_every_public_method() {
    let named = ROWS
        .iter()
        .map(|row| row.0)
        .chain(WITHOUT_HANDLE.iter().copied());
    let named: BTreeSet<String> = named.map(str::to_owned).collect();
    assert_eq!(named, methods());
}

fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|&text| text.to_owned()))
        .unwrap_or_default()
}

fn check(row: &Row) {
    let (method, state, call, expected) = *row;
    let name = format!("{method}, {state}");
    let mut scene = Scene::new();
    let ended = catch_unwind(AssertUnwindSafe(|| call(&mut scene)));
    match (ended, expected) {
        (Err(panic), Foreign) => {
            let said = words(panic.as_ref());
            let foreign = [
                "the handle belongs to another endpoint",
                "the handle belongs to other shards",
            ];
            assert!(
                foreign.iter().any(|words| said.contains(words)),
                "{name}: {said}"
            );
        }
        (Ok(said), With(words)) => assert!(said.starts_with(words), "{name}: {said}"),
        (Ok(said), Foreign) => panic!("{name}: no panic, but {said}"),
        (Err(panic), With(_)) => panic!("{name}: {}", words(panic.as_ref())),
    }
    scene.end(&name);
}

#[test]
fn every_method_answers_for_every_state_of_its_handles() {
    for row in ROWS {
        let (done, ended) = mpsc::channel();
        let cell = thread::spawn(move || {
            check(row);
            let _ = done.send(());
        });
        if ended.recv_timeout(LIMIT) == Err(mpsc::RecvTimeoutError::Timeout) {
            panic!(
                "{}, {}: the call has not returned after {LIMIT:?}",
                row.0, row.1
            );
        }
        assert!(cell.join().is_ok(), "{}, {}", row.0, row.1);
    }
}

/// Only this thread could post the receive that makes room.
#[test]
fn a_send_under_back_pressure_gives_up() {
    let mut config = small();
    (config.nic.unexpected, config.nic.unexpected_buffers) = (1, 1);
    let mut endpoint = Endpoint::new(&config).expect("a NIC can be built");
    let world = endpoint
        .create_comm(Hints::default())
        .expect("the NIC runs");
    let mut peer = endpoint.sender(&world, rank(0));
    let sent = (0..100_000).find_map(|_| endpoint.send(&mut peer, tag(1), &[1; 64]).err());
    // With software on the host there may always be room.
    assert!(
        matches!(sent, None | Some(dpamatch::SendError::OwnThread)),
        "{sent:?}"
    );
}
