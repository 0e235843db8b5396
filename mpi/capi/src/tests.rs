//! Calls the functions of the C interface and checks their results and what they leave unchanged.

use std::collections::BTreeMap;
use std::ffi::{CString, c_void};
use std::ptr::{null, null_mut};
use std::thread;

use dpamatch::engine::{Engine, MsgId, Oracle, RecvId};
use dpamatch::{CommId, Envelope, Rank, Selector, SourceSel, Tag, TagSel};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use crate::*;

#[path = "../../../tests/watchdog/mod.rs"]
mod watchdog;

/// An endpoint with one communicator, freed at the end.
struct World {
    endpoint: *mut Endpoint,
    comm: *mut Comm,
    _dog: watchdog::Watchdog,
}

/// Calls a function of the interface: all handles of these tests are alive or null, and every
/// place is a local variable.
macro_rules! call {
    ($function:ident($($argument:expr),* $(,)?)) => {
        // SAFETY: as said above.
        unsafe { $function($($argument),*) }
    };
}

impl World {
    fn with_hints(hints: u32) -> Self {
        let (mut endpoint, mut comm) = (null_mut(), null_mut());
        assert_eq!(call!(dpamatch_endpoint_create(null(), &raw mut endpoint)), DPAMATCH_OK);
        assert_eq!(call!(dpamatch_comm_create(endpoint, hints, &raw mut comm)), DPAMATCH_OK);
        Self { endpoint, comm, _dog: watchdog::on("a call of the C interface to return") }
    }

    fn new() -> Self {
        Self::with_hints(0)
    }

    fn sender(&self, rank: u32) -> *mut Sender {
        let mut sender = null_mut();
        let place = &raw mut sender;
        let code = call!(dpamatch_sender_create(self.endpoint, self.comm, rank, place));
        assert_eq!((code, sender.is_null()), (DPAMATCH_OK, false));
        sender
    }

    fn post(&self, source: i64, tag: i64, buffer: &mut [u8]) -> (i32, *mut Request) {
        let mut request = null_mut();
        let (to, length) = (buffer.as_mut_ptr().cast(), buffer.len());
        let place = &raw mut request;
        let code = call!(dpamatch_post(self.endpoint, self.comm, source, tag, to, length, place));
        (code, request)
    }

    fn wait(&self, mut request: *mut Request) -> (i32, Status) {
        let mut status = Status::default();
        let code = call!(dpamatch_wait(self.endpoint, &raw mut request, &raw mut status));
        assert!(request.is_null(), "it is over");
        (code, status)
    }

    fn take(&self) -> (*mut Message, Status) {
        let (mut message, mut status) = (null_mut::<Message>(), Status::default());
        let (place, told) = (&raw mut message, &raw mut status);
        while message.is_null() {
            let code = call!(dpamatch_improbe(self.endpoint, self.comm, -1, -1, place, told));
            assert_eq!(code, DPAMATCH_OK);
        }
        (message, status)
    }

    fn counter(&self, name: &str) -> Result<u64, i32> {
        let (name, mut value) = (CString::new(name).expect("no zero"), 0);
        match call!(dpamatch_counter(self.endpoint, name.as_ptr(), &raw mut value)) {
            DPAMATCH_OK => Ok(value),
            code => Err(code),
        }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        call!(dpamatch_endpoint_destroy(&raw mut self.endpoint));
        call!(dpamatch_comm_free(null_mut(), &raw mut self.comm));
        assert!(self.endpoint.is_null() && self.comm.is_null());
    }
}

fn send(sender: *mut Sender, tag: u32, bytes: &[u8]) -> i32 {
    call!(dpamatch_try_send(sender, tag, bytes.as_ptr().cast(), bytes.len()))
}

fn issend(sender: *mut Sender, tag: u32, bytes: &[u8]) -> *mut SendRequest {
    let mut sent = null_mut();
    let (from, place) = (bytes.as_ptr().cast(), &raw mut sent);
    assert_eq!(call!(dpamatch_try_issend(sender, tag, from, bytes.len(), place)), DPAMATCH_OK);
    sent
}

fn free(mut sender: *mut Sender) {
    assert_eq!(call!(dpamatch_sender_destroy(&raw mut sender)), DPAMATCH_OK);
    assert!(sender.is_null());
}

#[test]
fn a_status_has_every_number() {
    let world = World::new();
    let (first, mut second) = (world.sender(5), null_mut());
    assert_eq!(call!(dpamatch_sender_clone(first, &raw mut second)), DPAMATCH_OK);
    let (mut one, mut two) = ([0; 8], [0; 8]);
    let (code, earlier) = world.post(5, 3, &mut one);
    assert_eq!(code, DPAMATCH_OK);
    let (_, later) = world.post(DPAMATCH_ANY_SOURCE, DPAMATCH_ANY_TAG, &mut two);
    let expected =
        |tag, bytes, arrival| (DPAMATCH_OK, Status { source: 5, tag, bytes, sent: bytes, arrival });
    assert_eq!(send(first, 3, b"abc"), DPAMATCH_OK);
    assert_eq!(world.wait(earlier), expected(3, 3, 0));
    assert_eq!(send(second, 4, b"defg"), DPAMATCH_OK);
    assert_eq!(world.wait(later), expected(4, 4, 1));
    assert_eq!((&one, &two), (b"abc\0\0\0\0\0", b"defg\0\0\0\0"));
    assert_eq!((world.counter("messages"), world.counter("blocks")), (Ok(2), Ok(2)));
    assert_eq!(world.counter("message"), Err(DPAMATCH_ERR_ARGUMENT));
    free(first);
    free(second);
}

#[test]
fn a_test_says_whether_a_receive_is_over() {
    let world = World::new();
    let sender = world.sender(0);
    let mut buffer = [0; 2];
    let (_, mut request) = world.post(0, 0, &mut buffer);
    let mut done = true;
    let mut test = |request: *mut *mut Request| {
        let code = call!(dpamatch_test(world.endpoint, request, &raw mut done, null_mut()));
        (code, done)
    };
    assert_eq!((test(&raw mut request), request.is_null()), ((DPAMATCH_OK, false), false));
    assert_eq!(send(sender, 0, b"abc"), DPAMATCH_OK);
    let (mut worked, mut answer) = (false, (DPAMATCH_OK, false));
    assert_eq!(call!(dpamatch_progress(world.endpoint, &raw mut worked)), DPAMATCH_OK);
    assert!(worked, "the message came");
    while !answer.1 {
        answer = test(&raw mut request);
    }
    assert_eq!((answer.0, request.is_null(), &buffer), (DPAMATCH_ERR_TRUNCATED, true, b"ab"));
    assert_eq!(test(&raw mut request), (DPAMATCH_OK, true), "none is over");
    assert_eq!(call!(dpamatch_progress(world.endpoint, &raw mut worked)), DPAMATCH_OK);
    assert!(!worked, "nothing is left to do");
    free(sender);
}

#[test]
fn numbers_that_are_no_rank_and_no_tag_are_refused() {
    let world = World::new();
    let most = i64::from(i32::MAX);
    let mut buffer = [0; 4];
    for (source, tag, expected) in [
        (most, most, DPAMATCH_OK),
        (most + 1, 0, DPAMATCH_ERR_ARGUMENT),
        (0, most + 1, DPAMATCH_ERR_ARGUMENT),
        (1 << 32, 0, DPAMATCH_ERR_ARGUMENT),
        (0, 1 << 32, DPAMATCH_ERR_ARGUMENT),
        (-2, 0, DPAMATCH_ERR_ARGUMENT),
        (0, -2, DPAMATCH_ERR_ARGUMENT),
    ] {
        let (code, mut request) = world.post(source, tag, &mut buffer);
        assert_eq!(
            (code, request.is_null()),
            (expected, expected != DPAMATCH_OK),
            "{source} {tag}"
        );
        call!(dpamatch_request_free(world.endpoint, &raw mut request));
    }
    let sender = world.sender(0);
    assert_eq!(send(sender, i32::MAX as u32 + 1, b""), DPAMATCH_ERR_ARGUMENT);
    let (endpoint, comm, mut none) = (world.endpoint, world.comm, null_mut());
    let code = call!(dpamatch_sender_create(endpoint, comm, i32::MAX as u32 + 1, &raw mut none));
    assert_eq!((code, none.is_null()), (DPAMATCH_ERR_ARGUMENT, true));
    // Without bytes there need be no memory.
    assert_eq!(call!(dpamatch_try_send(sender, 0, null(), 0)), DPAMATCH_OK);
    assert_eq!(call!(dpamatch_try_send(sender, 0, null(), 1)), DPAMATCH_ERR_ARGUMENT);
    let mut none = null_mut();
    let code = call!(dpamatch_post(endpoint, comm, 0, 0, null_mut(), 1, &raw mut none));
    assert_eq!((code, none.is_null()), (DPAMATCH_ERR_ARGUMENT, true));
    free(sender);
}

#[test]
fn hints_exclude_the_wildcard_that_they_name() {
    let mut buffer = [0; 4];
    for (hints, source, tag) in [
        (0, DPAMATCH_OK, DPAMATCH_OK),
        (DPAMATCH_HINT_NO_ANY_SOURCE, DPAMATCH_ERR_WILDCARD, DPAMATCH_OK),
        (DPAMATCH_HINT_NO_ANY_TAG, DPAMATCH_OK, DPAMATCH_ERR_WILDCARD),
        (15, DPAMATCH_ERR_WILDCARD, DPAMATCH_ERR_WILDCARD),
        (DPAMATCH_HINT_ALLOW_OVERTAKING, DPAMATCH_OK, DPAMATCH_OK),
        (DPAMATCH_HINT_NO_OFFLOAD, DPAMATCH_OK, DPAMATCH_OK),
    ] {
        let world = World::with_hints(hints);
        for (wild, expected) in [((DPAMATCH_ANY_SOURCE, 0), source), ((0, DPAMATCH_ANY_TAG), tag)] {
            let (code, mut request) = world.post(wild.0, wild.1, &mut buffer);
            assert_eq!(code, expected, "hints {hints}, {wild:?}");
            call!(dpamatch_request_free(world.endpoint, &raw mut request));
        }
    }
    let world = World::new();
    let mut none = null_mut();
    let code = call!(dpamatch_comm_create(world.endpoint, 16, &raw mut none));
    assert_eq!((code, none.is_null()), (DPAMATCH_ERR_ARGUMENT, true));
}

#[test]
fn what_is_given_up_ends_as_it_says() {
    let world = World::new();
    let sender = world.sender(1);
    // Dropping a message that a probe took ends its sender's wait.
    let mut sent = issend(sender, 6, b"one");
    let (mut message, status) = world.take();
    assert_eq!((status.source, status.tag, status.bytes, status.sent), (1, 6, 3, 3));
    assert_eq!(call!(dpamatch_message_free(&raw mut message)), DPAMATCH_OK);
    assert!(message.is_null());
    let code = call!(dpamatch_send_wait(world.endpoint, &raw mut sent));
    assert_eq!((code, sent.is_null()), (DPAMATCH_ERR_NOT_RECEIVED, true));
    // A released send still delivers its message; a released receive takes it, unseen.
    let mut buffers = [[b'-'; 3]; 2];
    let [first, second] = &mut buffers;
    let (_, mut lost) = world.post(1, 7, first);
    let (_, kept) = world.post(1, 7, second);
    assert_eq!(call!(dpamatch_request_free(world.endpoint, &raw mut lost)), DPAMATCH_OK);
    assert!(lost.is_null());
    for bytes in [b"two", b"six"] {
        let mut sent = issend(sender, 7, bytes);
        assert_eq!(call!(dpamatch_send_free(&raw mut sent)), DPAMATCH_OK);
        assert!(sent.is_null());
    }
    assert_eq!(world.wait(kept).0, DPAMATCH_OK);
    assert_eq!(buffers, [*b"---", *b"six"]);
    free(sender);
}

#[test]
fn a_message_is_received_on_its_own_endpoint() {
    let (world, other) = (World::new(), World::new());
    let sender = world.sender(1);
    let mut sent = issend(sender, 0, b"abc");
    let (mut message, _) = world.take();
    let (mut buffer, mut request) = ([0; 3], null_mut());
    let to: *mut c_void = buffer.as_mut_ptr().cast();
    let (place, answer) = (&raw mut message, &raw mut request);
    let receive = |endpoint| call!(dpamatch_imrecv(endpoint, place, to, 3, answer));
    assert_eq!(receive(other.endpoint), DPAMATCH_ERR_ARGUMENT);
    let mut done = true;
    assert_eq!(call!(dpamatch_send_test(&raw mut sent, &raw mut done)), DPAMATCH_OK);
    assert!(!done && !sent.is_null(), "nobody has it yet");
    assert_eq!(receive(world.endpoint), DPAMATCH_OK);
    assert_eq!((world.wait(request).0, &buffer), (DPAMATCH_OK, b"abc"));
    while !done {
        assert_eq!(call!(dpamatch_send_test(&raw mut sent, &raw mut done)), DPAMATCH_OK);
    }
    assert!(sent.is_null());
    free(sender);
}

#[test]
fn a_second_thread_is_told_that_the_endpoint_is_busy() {
    let mut world = World::new();
    let place = world.endpoint as usize;
    // SAFETY: the endpoint lives until the end of the world.
    let inside = unsafe { &*world.endpoint };
    inside.while_locked(|| {
        let busy = thread::spawn(move || {
            let mut endpoint = place as *mut Endpoint;
            let progress = call!(dpamatch_progress(endpoint, null_mut()));
            (progress, call!(dpamatch_endpoint_destroy(&raw mut endpoint)), endpoint as usize)
        });
        let told = busy.join().expect("no panic gets out");
        assert_eq!(told, (DPAMATCH_ERR_BUSY, DPAMATCH_ERR_BUSY, place), "it is as it was");
    });
    assert_eq!(call!(dpamatch_progress(world.endpoint, null_mut())), DPAMATCH_OK);
    assert_eq!(call!(dpamatch_endpoint_destroy(&raw mut world.endpoint)), DPAMATCH_OK);
}

/// A call that panics leaves the endpoint usable, like any failed call.
#[test]
fn a_panic_spoils_its_own_call_only() {
    let world = World::new();
    let sender = world.sender(1);
    let mut buffer = [0; 3];
    let (_, request) = world.post(1, 2, &mut buffer);
    let code = crate::code::guarded(|| {
        let panics = |_: &mut Inside| -> Result<(), _> { panic!("for the test") };
        // SAFETY: the endpoint lives until the end of the world.
        unsafe { with(world.endpoint, panics) }
    });
    assert_eq!(code, DPAMATCH_ERR_INTERNAL);
    assert_eq!(send(sender, 2, b"abc"), DPAMATCH_OK);
    assert_eq!((world.wait(request).0, &buffer), (DPAMATCH_OK, b"abc"));
    free(sender);
}

/// A later endpoint may have the memory, and so the address, of an earlier one.
#[test]
fn a_stale_handle_is_refused_and_harms_no_later_endpoint() {
    let (mut world, mut later) = (World::new(), World::new());
    let (mut stale, sender) = (world.comm, world.sender(1));
    let mut buffer = [0; 3];
    let (_, mut stale_request) = world.post(1, 0, &mut buffer);
    let mut sent = issend(sender, 5, b"abc");
    let (mut stale_message, _) = world.take();
    // The earlier endpoint ends, and its place becomes the later one's.
    // SAFETY: both came from boxes, and each is owned once afterwards.
    unsafe { *world.endpoint = *Box::from_raw(later.endpoint) };
    (later.endpoint, world.endpoint) = (world.endpoint, null_mut());
    let (endpoint, mut none) = (later.endpoint, null_mut());
    let post = call!(dpamatch_post(endpoint, stale, 1, 0, null_mut(), 0, &raw mut none));
    let mut done = false;
    let test = call!(dpamatch_test(endpoint, &raw mut stale_request, &raw mut done, null_mut()));
    let (message, place) = (&raw mut stale_message, &raw mut none);
    let receive = call!(dpamatch_imrecv(endpoint, message, null_mut(), 0, place));
    let free_comm = call!(dpamatch_comm_free(endpoint, &raw mut stale));
    let free_request = call!(dpamatch_request_free(endpoint, &raw mut stale_request));
    assert_eq!([post, test, receive, free_comm, free_request], [DPAMATCH_ERR_ARGUMENT; 5]);
    assert!(!stale.is_null() && !stale_request.is_null() && !stale_message.is_null());
    assert_eq!(call!(dpamatch_send_wait(null_mut(), &raw mut sent)), DPAMATCH_ERR_STOPPED);
    let own = later.sender(1);
    let (_, request) = later.post(1, 0, &mut buffer);
    assert_eq!(send(own, 0, b"own"), DPAMATCH_OK);
    assert_eq!((later.wait(request).0, &buffer), (DPAMATCH_OK, b"own"));
    assert_eq!(call!(dpamatch_message_free(message)), DPAMATCH_OK);
    assert_eq!(call!(dpamatch_request_free(null_mut(), &raw mut stale_request)), DPAMATCH_OK);
    free(own);
    free(sender);
}

/// More than any message has, and more than there is memory for.
#[test]
fn lengths_that_no_message_has_are_errors() {
    let world = World::new();
    let sender = world.sender(1);
    let (endpoint, comm, mut none) = (world.endpoint, world.comm, null_mut());
    let mut byte = 0_u8;
    let buffer = (&raw mut byte).cast();
    for length in [1 << 32, 1 << 62, usize::MAX] {
        let place = &raw mut none;
        let code = call!(dpamatch_post(endpoint, comm, 1, 0, buffer, length, place));
        assert_eq!((code, none.is_null()), (DPAMATCH_ERR_TOO_LONG, true), "{length}");
        let code = call!(dpamatch_try_send(sender, 0, buffer, length));
        assert_eq!(code, DPAMATCH_ERR_TOO_LONG, "{length}");
    }
    free(sender);
}

/// Random calls with live, null and foreign handles: each gives one of its codes, leaves null or a
/// live handle in its place, and the messages are those of the oracle.
#[test]
fn random_calls_follow_the_oracle() {
    for seed in 0..8 {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let (world, other) = (World::new(), World::new());
        let senders = [world.sender(0), world.sender(1)];
        let mut oracle = Oracle::new();
        let mut buffers = vec![[0_u8; 8]; 400];
        let mut requests: BTreeMap<RecvId, *mut Request> = BTreeMap::new();
        let mut ended = Vec::new();
        for (id, buffer) in (0..400_u64).zip(&mut buffers) {
            let mut below = |bound: u32| random.random_range(0..bound);
            let (source, tag) = (i64::from(below(3)) - 1, i64::from(below(3)) - 1);
            let selector = Selector::new(
                u32::try_from(source)
                    .map_or(SourceSel::Any, |rank| Rank::new(rank).expect("small").into()),
                u32::try_from(tag).map_or(TagSel::Any, |tag| Tag::new(tag).expect("small").into()),
            );
            let mut matched = None;
            match below(10) {
                0..4 => {
                    let (code, request) = world.post(source, tag, buffer);
                    assert_eq!(code, DPAMATCH_OK);
                    requests.insert(RecvId(id), request);
                    let found = oracle.post(RecvId(id), CommId(0), selector);
                    matched = found.map(|msg| (RecvId(id), msg));
                }
                4..8 => {
                    let (source, tag) = (below(2), below(2));
                    assert_eq!(send(senders[source as usize], tag, &id.to_le_bytes()), DPAMATCH_OK);
                    let (source, tag) = (Rank::new(source), Tag::new(tag));
                    let (source, tag) = (source.expect("small"), tag.expect("small"));
                    let envelope = Envelope { comm: CommId(0), source, tag };
                    let found = oracle.arrive(MsgId(id), envelope);
                    matched = found.map(|recv| (recv, MsgId(id)));
                }
                8 => {
                    let Some((&recv, _)) = requests.iter().nth(below(4) as usize) else {
                        continue;
                    };
                    let mut request = requests.remove(&recv).expect("it is there");
                    // Another endpoint, and none, refuse it and leave it as it is.
                    let (mut done, place) = (true, &raw mut request);
                    for stranger in [other.endpoint, null_mut()] {
                        let cancel = call!(dpamatch_cancel(stranger, *place));
                        let wait = call!(dpamatch_wait(stranger, place, null_mut()));
                        assert_eq!([cancel, wait], [DPAMATCH_ERR_ARGUMENT; 2]);
                    }
                    let test =
                        call!(dpamatch_test(world.endpoint, place, &raw mut done, null_mut()));
                    assert_eq!((test, done, request.is_null()), (DPAMATCH_OK, false, false));
                    assert!(oracle.cancel(recv));
                    assert_eq!(call!(dpamatch_cancel(world.endpoint, request)), DPAMATCH_OK);
                    assert_eq!(world.wait(request).0, DPAMATCH_ERR_CANCELLED);
                }
                _ => {
                    let (mut found, mut status) = (true, Status::default());
                    let (endpoint, comm) = (world.endpoint, world.comm);
                    let (place, told) = (&raw mut found, &raw mut status);
                    let code = call!(dpamatch_iprobe(endpoint, comm, source, tag, place, told));
                    let oldest = oracle.probe(CommId(0), selector);
                    assert_eq!((code, found), (DPAMATCH_OK, oldest.is_some()));
                    assert_eq!(status.sent, if found { 8 } else { 0 });
                    let mut taken = comm.cast();
                    let place = &raw mut taken;
                    let code = call!(dpamatch_improbe(endpoint, comm, source, tag, place, told));
                    assert_eq!((code, taken.is_null()), (DPAMATCH_OK, !found));
                    let Some(msg) = oracle.mprobe(CommId(0), selector) else { continue };
                    let (mut request, to) = (null_mut(), buffer.as_mut_ptr().cast());
                    let code = call!(dpamatch_imrecv(endpoint, place, to, 8, &raw mut request));
                    assert_eq!((code, taken.is_null()), (DPAMATCH_OK, true));
                    assert_eq!(world.wait(request).1.bytes, 8);
                    assert_eq!(*buffer, msg.0.to_le_bytes(), "seed {seed}, call {id}");
                }
            }
            // Each call ends before the next one begins, so there is only one correct result.
            let mut worked = true;
            while worked {
                assert_eq!(call!(dpamatch_progress(world.endpoint, &raw mut worked)), DPAMATCH_OK);
            }
            if let Some((recv, msg)) = matched {
                let request = requests.remove(&recv).expect("it was posted");
                let (code, status) = world.wait(request);
                assert_eq!((code, status.bytes, status.sent), (DPAMATCH_OK, 8, 8));
                ended.push((recv, msg));
            }
        }
        for (recv, msg) in ended {
            assert_eq!(buffers[recv.0 as usize], msg.0.to_le_bytes(), "seed {seed}, {recv:?}");
        }
        for (_, mut request) in requests {
            call!(dpamatch_request_free(world.endpoint, &raw mut request));
        }
        senders.into_iter().for_each(free);
    }
}
