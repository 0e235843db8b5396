//! Calls the functions of the C interface and checks their results and what they leave unchanged.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_void};
use std::fmt::Write as _;
use std::ptr::{from_ref, null, null_mut};
use std::thread;

use dpamatch::engine::{Engine, MsgId, Oracle, RecvId};
use dpamatch::{CommId, Envelope, Hints, Offload, Rank, Selector, SourceSel, Tag, TagSel};
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
    fn open(options: &CStr, hints: u32) -> Self {
        let (mut endpoint, mut comm) = (null_mut(), null_mut());
        let place = &raw mut endpoint;
        assert_eq!(
            call!(dpamatch_endpoint_create(options.as_ptr(), place)),
            DPAMATCH_OK
        );
        assert_eq!(
            call!(dpamatch_comm_create(endpoint, hints, &raw mut comm)),
            DPAMATCH_OK
        );
        Self {
            endpoint,
            comm,
            _dog: watchdog::on("a call of the C interface to return"),
        }
    }

    fn make_comm(&self) -> *mut Comm {
        let mut comm = null_mut();
        let code = call!(dpamatch_comm_create(self.endpoint, 0, &raw mut comm));
        assert_eq!((code, comm.is_null()), (DPAMATCH_OK, false));
        comm
    }

    fn sender(&self, rank: u32) -> *mut Sender {
        let mut sender = null_mut();
        let place = &raw mut sender;
        let code = call!(dpamatch_sender_create(
            self.endpoint,
            self.comm,
            rank,
            place
        ));
        assert_eq!((code, sender.is_null()), (DPAMATCH_OK, false));
        sender
    }

    fn post(&self, source: i64, tag: i64, buffer: &mut [u8]) -> (i32, *mut Request) {
        let mut request = null_mut();
        let (to, length) = (buffer.as_mut_ptr().cast(), buffer.len());
        let place = &raw mut request;
        let code = call!(dpamatch_post(
            self.endpoint,
            self.comm,
            source,
            tag,
            to,
            length,
            place
        ));
        (code, request)
    }

    fn wait(&self, mut request: *mut Request) -> (i32, Status) {
        let mut status = Status::default();
        let code = call!(dpamatch_wait(
            self.endpoint,
            &raw mut request,
            &raw mut status
        ));
        assert!(request.is_null(), "it is over");
        (code, status)
    }

    /// As `wait`, by tests.
    fn test(&self, mut request: *mut Request) -> (i32, Status) {
        let (mut code, mut done, mut status) = (DPAMATCH_OK, false, Status::default());
        while !done {
            assert!(!request.is_null() && code == DPAMATCH_OK, "it goes on");
            let (place, answer) = (&raw mut request, &raw mut done);
            code = call!(dpamatch_test(self.endpoint, place, answer, &raw mut status));
        }
        assert!(request.is_null(), "it is over");
        (code, status)
    }

    fn take(&self) -> (*mut Message, Status) {
        let (mut message, mut status) = (null_mut::<Message>(), Status::default());
        let (place, told) = (&raw mut message, &raw mut status);
        while message.is_null() {
            let code = call!(dpamatch_improbe(
                self.endpoint,
                self.comm,
                -1,
                -1,
                place,
                told
            ));
            assert_eq!(code, DPAMATCH_OK);
        }
        (message, status)
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
    call!(dpamatch_try_send(
        sender,
        tag,
        bytes.as_ptr().cast(),
        bytes.len()
    ))
}

fn issend(sender: *mut Sender, tag: u32, bytes: &[u8]) -> *mut SendRequest {
    let mut sent = null_mut();
    let (from, place) = (bytes.as_ptr().cast(), &raw mut sent);
    assert_eq!(
        call!(dpamatch_try_issend(sender, tag, from, bytes.len(), place)),
        DPAMATCH_OK
    );
    sent
}

fn last_error() -> String {
    // SAFETY: the text lives until this thread's next call.
    unsafe { CStr::from_ptr(dpamatch_last_error()) }
        .to_string_lossy()
        .into_owned()
}

fn free(mut sender: *mut Sender) {
    assert_eq!(call!(dpamatch_sender_destroy(&raw mut sender)), DPAMATCH_OK);
    assert!(sender.is_null());
}

#[test]
fn what_is_given_up_ends_as_it_says() {
    let mut world = World::open(c"", 0);
    let sender = world.sender(1);
    // Dropping a message that a probe took ends its sender's wait.
    let mut sent = issend(sender, 6, b"one");
    let (mut message, status) = world.take();
    assert_eq!(
        (status.source, status.tag, status.bytes, status.sent),
        (1, 6, 3, 3)
    );
    assert_eq!(call!(dpamatch_message_free(&raw mut message)), DPAMATCH_OK);
    assert!(message.is_null());
    let code = call!(dpamatch_send_wait(world.endpoint, &raw mut sent));
    assert_eq!((code, sent.is_null()), (DPAMATCH_ERR_NOT_RECEIVED, true));
    // A released send still delivers its message; a released receive takes it, unseen.
    let mut buffers = [[b'-'; 3]; 2];
    let [first, second] = &mut buffers;
    let (_, mut lost) = world.post(1, 7, first);
    let (_, kept) = world.post(1, 7, second);
    assert_eq!(
        call!(dpamatch_request_free(world.endpoint, &raw mut lost)),
        DPAMATCH_OK
    );
    assert!(lost.is_null());
    for bytes in [b"two", b"six"] {
        let mut sent = issend(sender, 7, bytes);
        assert_eq!(call!(dpamatch_send_free(&raw mut sent)), DPAMATCH_OK);
        assert!(sent.is_null());
    }
    assert_eq!(world.wait(kept).0, DPAMATCH_OK);
    assert_eq!(buffers, [*b"---", *b"six"]);
    let mut long = vec![0; 70_000];
    let (_, request) = world.post(1, 8, &mut long);
    assert_eq!(send(sender, 8, &[9; 70_000]), DPAMATCH_OK);
    let (code, status) = world.wait(request);
    assert_eq!(
        (code, status.bytes, status.sent),
        (DPAMATCH_OK, 70_000, 70_000)
    );
    free(sender);
    // Nothing waits for the result of the released receive.
    let code = call!(dpamatch_comm_free(world.endpoint, &raw mut world.comm));
    assert_eq!((code, world.comm.is_null()), (DPAMATCH_OK, true));
}

#[test]
fn each_hint_sets_its_own_field() {
    for hints in 0..16 {
        let world = World::open(c"", hints);
        // SAFETY: both are alive.
        let made = unsafe { crate::communicator::of(world.comm, world.endpoint) };
        let has = |bit| hints / bit % 2 == 1;
        let expected = Hints {
            no_any_source: has(1),
            no_any_tag: has(2),
            allow_overtaking: has(4),
            offload: if has(8) {
                Offload::Never
            } else {
                Offload::IfItFits
            },
        };
        assert_eq!(
            made.expect("one of its own").hints(),
            expected,
            "hints {hints}"
        );
    }
}

/// A call that panics leaves the endpoint usable, like any failed call.
#[test]
fn a_panic_spoils_its_own_call_only() {
    let world = World::open(c"", 0);
    let sender = world.sender(1);
    let mut buffer = [0; 3];
    let (_, request) = world.post(1, 2, &mut buffer);
    let code = crate::code::guarded(|| {
        let panics = |_: &mut Inside| -> Result<(), _> { panic!("for \0 the {}", "test") };
        // SAFETY: the endpoint lives until the end of the world.
        unsafe { with(world.endpoint, panics) }
    });
    assert_eq!(code, DPAMATCH_ERR_INTERNAL);
    assert_eq!(last_error(), "a fault of this library: for   the test");
    assert_eq!(send(sender, 2, b"abc"), DPAMATCH_OK);
    assert_eq!((world.wait(request).0, &buffer), (DPAMATCH_OK, b"abc"));
    free(sender);
}

#[test]
fn a_stale_handle_is_refused_and_harms_no_later_endpoint() {
    let mut world = World::open(c"", 0);
    let (mut stale, sender) = (world.comm, world.sender(1));
    let mut buffer = [0; 3];
    let (_, mut stale_request) = world.post(1, 0, &mut buffer);
    let mut sent = issend(sender, 5, b"abc");
    let (mut stale_message, _) = world.take();
    let gone = world.endpoint;
    assert_eq!(
        call!(dpamatch_endpoint_destroy(&raw mut world.endpoint)),
        DPAMATCH_OK
    );
    let later = World::open(c"", 0);
    assert_ne!(later.endpoint, gone, "a shell is not used again");
    let (endpoint, mut none) = (later.endpoint, null_mut());
    let post = call!(dpamatch_post(
        endpoint,
        stale,
        1,
        0,
        null_mut(),
        0,
        &raw mut none
    ));
    let mut done = false;
    let test = call!(dpamatch_test(
        endpoint,
        &raw mut stale_request,
        &raw mut done,
        null_mut()
    ));
    let (message, place) = (&raw mut stale_message, &raw mut none);
    let receive = call!(dpamatch_imrecv(endpoint, message, null_mut(), 0, place));
    let free_comm = call!(dpamatch_comm_free(endpoint, &raw mut stale));
    let free_request = call!(dpamatch_request_free(endpoint, &raw mut stale_request));
    assert_eq!(
        [post, test, receive, free_comm, free_request],
        [DPAMATCH_ERR_ARGUMENT; 5]
    );
    assert!(!stale.is_null() && !stale_request.is_null() && !stale_message.is_null());
    assert_eq!(
        call!(dpamatch_send_wait(null_mut(), &raw mut sent)),
        DPAMATCH_ERR_STOPPED
    );
    let own = later.sender(1);
    let (_, request) = later.post(1, 0, &mut buffer);
    assert_eq!(send(own, 0, b"own"), DPAMATCH_OK);
    assert_eq!((later.wait(request).0, &buffer), (DPAMATCH_OK, b"own"));
    assert_eq!(call!(dpamatch_message_free(message)), DPAMATCH_OK);
    assert_eq!(
        call!(dpamatch_request_free(null_mut(), &raw mut stale_request)),
        DPAMATCH_OK
    );
    free(own);
    free(sender);
}

/// Each counter by its name, from a stream made so that most values differ.
#[test]
fn counters_are_exact() {
    let world = World::open(c"unexpected=4 receives=3 handlers=2", 0);
    let sender = world.sender(5);
    let (mut buffers, mut lines) = ([[0; 8]; 12], String::new());
    let mut posted: Vec<_> = buffers
        .iter_mut()
        .map(|buffer| world.post(5, 3, buffer).1)
        .collect();
    for _ in 0..17 {
        assert_eq!(send(sender, 3, b"equal"), DPAMATCH_OK);
    }
    posted
        .drain(..)
        .for_each(|request| assert_eq!(world.wait(request).0, DPAMATCH_OK));
    let (mut message, status) = world.take();
    assert_eq!(
        (
            status.arrival,
            call!(dpamatch_message_free(&raw mut message))
        ),
        (12, DPAMATCH_OK)
    );
    // SAFETY: it is alive.
    let counts = unsafe { with(world.endpoint, |inside| Ok(inside.endpoint.counts().0)) };
    let counts = counts.expect("no other thread is inside");
    let mut rows: Vec<_> = counts
        .handlers
        .rows()
        .chain(counts.boundary.rows())
        .collect();
    rows.sort_by_key(|&(name, _)| name);
    let alike = rows.windows(2).find(|pair| pair[0].0 == pair[1].0);
    assert_eq!(alike, None, "each has a name of its own");
    for (name, expected) in rows {
        let (text, mut value) = (CString::new(name).expect("no zero"), 0);
        let code = call!(dpamatch_counter(
            world.endpoint,
            text.as_ptr(),
            &raw mut value
        ));
        assert_eq!((code, value), (DPAMATCH_OK, expected), "{name}");
        if value > 0 {
            let _ = write!(lines, "{name} {value}, ");
        }
    }
    let expected = "arrivals_forwarded 8, arrivals_high 1, arrivals_stored 4, blocks 9, \
                    collisions 3, commands 43, fallback_receives 1, fallback_unexpected 1, \
                    in_order 6, messages 17, no_candidate 11, posted_high 3, posts 12, \
                    posts_admitted 3, posts_forwarded 9, resumed 1, searched_again 3, \
                    unexpected 12, unexpected_bytes_high 20, unexpected_high 4, walked_exact 8, ";
    assert_eq!(lines, expected);
    free(sender);
}

/// What each call says of arguments that it refuses: its name, its code and its message.
#[test]
fn refusals_say_what_is_wrong() {
    let (mut world, other) = (World::open(c"eager-limit=8", 0), World::open(c"", 0));
    let (endpoint, comm, strange) = (world.endpoint, world.comm, other.endpoint);
    let closed = World::open(c"", 3);
    let sender = world.sender(1);
    let (mut byte, mut value, mut done, most) = ([0_u8; 1], 0, true, i64::from(i32::MAX));
    let bytes: *mut c_void = byte.as_mut_ptr().cast();
    let mut sends = [
        issend(sender, 9, b"long"),
        issend(sender, 9, b"much"),
        null_mut(),
    ];
    let (mut message, _) = world.take();
    let (mut none_sent, mut none_taken, mut request) = (null_mut(), null_mut(), null_mut());
    let mut nothing = null_mut();
    let (mut none_sender, mut none_comm, mut none) = (null_mut(), null_mut(), null_mut());
    assert_eq!(
        world.post(most, most, &mut [0]).0,
        DPAMATCH_OK,
        "the largest numbers"
    );
    let (_, mut posted) = world.post(5, 5, &mut byte);
    let mut said = String::new();
    macro_rules! say {
        ($words:literal: $function:ident($($argument:expr),* $(,)?)) => {
            let code = call!($function($($argument),*));
            let last = if code == DPAMATCH_OK { String::new() } else { last_error() };
            let name = stringify!($function).trim_start_matches("dpamatch_");
            let _ = writeln!(said, "{name}, {}: {code} {last}", $words);
        };
    }
    say!("no place": dpamatch_endpoint_create(null(), null_mut()));
    for text in [
        c"bins",
        c"bins=x",
        c"bins=0",
        c"bin=8",
        c"handlers=1000",
        c"\xff",
    ] {
        say!("options": dpamatch_endpoint_create(text.as_ptr(), &raw mut none));
    }
    assert!(none.is_null());
    say!("no endpoint": dpamatch_progress(null_mut(), null_mut()));
    say!("no place for the answer": dpamatch_progress(endpoint, null_mut()));
    say!("no name": dpamatch_counter(endpoint, null(), &raw mut value));
    say!("no place": dpamatch_counter(endpoint, c"messages".as_ptr(), null_mut()));
    say!("no endpoint": dpamatch_counter(null_mut(), c"messages".as_ptr(), &raw mut value));
    say!("unknown": dpamatch_counter(endpoint, c"message".as_ptr(), &raw mut value));
    say!("no place": dpamatch_comm_create(endpoint, 0, null_mut()));
    say!("hint 16": dpamatch_comm_create(endpoint, 16, &raw mut none_comm));
    say!("no endpoint": dpamatch_comm_create(null_mut(), 0, &raw mut none_comm));
    say!("no place": dpamatch_comm_free(endpoint, null_mut()));
    say!("none": dpamatch_comm_free(endpoint, &raw mut none_comm));
    say!("another's": dpamatch_comm_free(strange, &raw mut world.comm));
    say!("in use": dpamatch_comm_free(endpoint, &raw mut world.comm));
    assert!(!world.comm.is_null());
    let place = &raw mut none_sender;
    say!("no place": dpamatch_sender_create(endpoint, comm, 0, null_mut()));
    say!("no endpoint": dpamatch_sender_create(null_mut(), comm, 0, place));
    say!("no communicator": dpamatch_sender_create(endpoint, null(), 0, place));
    say!("another's": dpamatch_sender_create(strange, comm, 0, place));
    say!("no rank": dpamatch_sender_create(endpoint, comm, 1 << 31, place));
    say!("none": dpamatch_sender_clone(null(), place));
    say!("no place": dpamatch_sender_clone(sender, null_mut()));
    say!("no place": dpamatch_sender_destroy(null_mut()));
    let (from, limit) = (bytes.cast_const(), usize::MAX);
    say!("no sender": dpamatch_try_send(null_mut(), 0, from, 1));
    say!("no bytes": dpamatch_try_send(sender, 0, null(), 1));
    say!("no tag": dpamatch_try_send(sender, 1 << 31, from, 1));
    for length in [1 << 32, 1 << 62, limit] {
        say!("too long": dpamatch_try_send(sender, 0, from, length));
    }
    say!("no sender": dpamatch_send(endpoint, null_mut(), 0, from, 1));
    say!("no tag": dpamatch_send(endpoint, sender, 1 << 31, from, 1));
    say!("too long": dpamatch_send(null_mut(), sender, 0, from, limit));
    let place = &raw mut none_sent;
    say!("no place": dpamatch_try_issend(sender, 0, from, 1, null_mut()));
    say!("no sender": dpamatch_try_issend(null_mut(), 0, from, 1, place));
    say!("no tag": dpamatch_try_issend(sender, 1 << 31, from, 1, place));
    say!("too long": dpamatch_try_issend(sender, 0, from, limit, place));
    say!("no place": dpamatch_send_test(null_mut(), &raw mut done));
    say!("no answer": dpamatch_send_test(place, null_mut()));
    say!("none": dpamatch_send_test(place, &raw mut done));
    assert!(done, "none is over");
    say!("no place": dpamatch_send_wait(endpoint, null_mut()));
    say!("none": dpamatch_send_wait(endpoint, place));
    say!("no place": dpamatch_send_free(null_mut()));
    let place = &raw mut request;
    say!("no place": dpamatch_post(endpoint, comm, 0, 0, bytes, 1, null_mut()));
    say!("no buffer": dpamatch_post(endpoint, comm, 0, 0, null_mut(), 1, place));
    for length in [1 << 32, 1 << 62, limit] {
        say!("too long": dpamatch_post(endpoint, comm, 0, 0, bytes, length, place));
    }
    for (source, tag) in [
        (most + 1, 0),
        (0, most + 1),
        (1 << 32, 0),
        (0, 1 << 32),
        (-2, 0),
        (0, -2),
    ] {
        say!("no number": dpamatch_post(endpoint, comm, source, tag, bytes, 1, place));
    }
    let (own, place_of_none) = (closed.endpoint, &raw mut nothing);
    say!("no bytes": dpamatch_post(own, closed.comm, 0, 0, null_mut(), 0, place_of_none));
    assert_eq!(
        call!(dpamatch_request_free(own, place_of_none)),
        DPAMATCH_OK
    );
    say!("no endpoint": dpamatch_post(null_mut(), comm, 0, 0, bytes, 1, place));
    say!("no communicator": dpamatch_post(endpoint, null(), 0, 0, bytes, 1, place));
    say!("another's": dpamatch_post(strange, comm, 0, 0, bytes, 1, place));
    say!("any source": dpamatch_post(closed.endpoint, closed.comm, -1, 0, bytes, 1, place));
    say!("any tag": dpamatch_post(closed.endpoint, closed.comm, 0, -1, bytes, 1, place));
    for hints in [0, 1, 2, 4, 8, 15] {
        let other = World::open(c"", hints);
        let _ = writeln!(said, "hints {hints}");
        for (source, tag) in [(-1, 0), (0, -1)] {
            say!("a wildcard": dpamatch_post(other.endpoint, other.comm, source, tag, bytes, 1, place));
            call!(dpamatch_request_free(other.endpoint, place));
        }
    }
    say!("no request": dpamatch_test(endpoint, null_mut(), &raw mut done, null_mut()));
    say!("no answer": dpamatch_test(endpoint, place, null_mut(), null_mut()));
    say!("none": dpamatch_test(null_mut(), place, &raw mut done, null_mut()));
    say!("another's": dpamatch_test(strange, &raw mut posted, &raw mut done, null_mut()));
    assert!(!done, "it waits");
    say!("no request": dpamatch_wait(endpoint, null_mut(), null_mut()));
    say!("none": dpamatch_wait(endpoint, place, null_mut()));
    say!("another's": dpamatch_wait(strange, &raw mut posted, null_mut()));
    say!("none": dpamatch_cancel(endpoint, null_mut()));
    say!("another's": dpamatch_cancel(strange, posted));
    say!("no place": dpamatch_request_free(endpoint, null_mut()));
    say!("none": dpamatch_request_free(endpoint, place));
    say!("another's": dpamatch_request_free(strange, &raw mut posted));
    let (answer, taken) = (&raw mut done, &raw mut none_taken);
    say!("no answer": dpamatch_iprobe(endpoint, comm, 0, 0, null_mut(), null_mut()));
    say!("no source": dpamatch_iprobe(endpoint, comm, -2, 0, answer, null_mut()));
    say!("no tag": dpamatch_iprobe(endpoint, comm, 0, -2, answer, null_mut()));
    say!("another's": dpamatch_iprobe(strange, comm, 0, 0, answer, null_mut()));
    say!("any": dpamatch_iprobe(closed.endpoint, closed.comm, -1, 0, answer, null_mut()));
    say!("no message": dpamatch_improbe(endpoint, comm, 0, 0, null_mut(), null_mut()));
    say!("no tag": dpamatch_improbe(endpoint, comm, 0, -2, taken, null_mut()));
    say!("no communicator": dpamatch_improbe(endpoint, null(), 0, 0, taken, null_mut()));
    say!("any": dpamatch_improbe(closed.endpoint, closed.comm, 0, -1, taken, null_mut()));
    say!("no message": dpamatch_imrecv(endpoint, null_mut(), bytes, 1, place));
    say!("none": dpamatch_imrecv(endpoint, taken, bytes, 1, place));
    say!("no request": dpamatch_imrecv(endpoint, &raw mut message, bytes, 1, null_mut()));
    say!("no buffer": dpamatch_imrecv(endpoint, &raw mut message, null_mut(), 1, place));
    say!("too long": dpamatch_imrecv(endpoint, &raw mut message, bytes, limit, place));
    say!("another's": dpamatch_imrecv(strange, &raw mut message, bytes, 1, place));
    say!("no place": dpamatch_message_free(null_mut()));
    assert!(none_comm.is_null() && none_sender.is_null() && none_sent.is_null());
    assert!(none_taken.is_null() && request.is_null() && !message.is_null());
    // A second thread gets the error "busy" and changes nothing.
    let (place, part, from) = (endpoint as usize, comm as usize, sender as usize);
    // SAFETY: the endpoint lives until the end of the world.
    let inside = unsafe { &*endpoint };
    let mut busy = Vec::new();
    inside.while_locked(|| {
        let thread = thread::spawn(move || {
            let (mut endpoint, comm) = (place as *mut Endpoint, part as *const Comm);
            let codes = [
                call!(dpamatch_progress(endpoint, null_mut())),
                call!(dpamatch_send(endpoint, from as *mut Sender, 0, null(), 0)),
                call!(dpamatch_iprobe(
                    endpoint,
                    comm,
                    0,
                    0,
                    &mut false,
                    null_mut()
                )),
                call!(dpamatch_endpoint_destroy(&raw mut endpoint)),
            ];
            assert_eq!(endpoint as usize, place, "it is as it was");
            (codes, last_error())
        });
        busy.push(thread.join().expect("no panic gets out"));
    });
    assert_eq!(
        busy,
        [(
            [DPAMATCH_ERR_BUSY; 4],
            "another thread is inside a call".to_owned()
        )]
    );
    // The thread that runs the endpoint cannot wait for it.
    while call!(dpamatch_try_send(sender, 3, null(), 0)) == DPAMATCH_OK {}
    say!("full": dpamatch_try_send(sender, 3, null(), 0));
    say!("full": dpamatch_try_issend(sender, 3, from_ref(&byte).cast(), 1, &raw mut sends[0]));
    say!("own thread": dpamatch_send(null_mut(), sender, 3, null(), 0));
    say!("with its endpoint": dpamatch_send(endpoint, sender, 3, null(), 0));
    // What outlives the endpoint.
    call!(dpamatch_endpoint_destroy(&raw mut world.endpoint));
    sends[2] = sends[1];
    say!("stopped": dpamatch_try_send(sender, 0, null(), 0));
    say!("stopped": dpamatch_send(null_mut(), sender, 0, null(), 0));
    say!("stopped": dpamatch_try_issend(sender, 0, null(), 0, &raw mut none_sent));
    say!("stopped": dpamatch_send_test(&raw mut sends[1], &raw mut done));
    assert!(done && sends[1].is_null() && none_sent.is_null());
    say!("message": dpamatch_message_free(&raw mut message));
    say!("request": dpamatch_request_free(null_mut(), &raw mut posted));
    assert!(message.is_null() && posted.is_null());
    free(sender);
    assert_eq!(said, include_str!("refusals.txt"));
}

/// Bytes of the buffer of a receive.
fn room(recv: RecvId) -> usize {
    recv.0 as usize * 5 % 9
}

/// Random calls with live, null and foreign handles: each gives one of its codes, leaves null or a
/// live handle in its place, and the messages are those of the oracle.
#[test]
fn random_calls_follow_the_oracle() {
    for seed in 0..8 {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let (world, other) = (World::open(c"", 0), World::open(c"", 0));
        let senders = [world.sender(0), world.sender(1)];
        let mut oracle = Oracle::new();
        let mut buffers = vec![[0_u8; 8]; 400];
        let mut requests: BTreeMap<RecvId, *mut Request> = BTreeMap::new();
        let (mut ended, mut sent, mut ever_worked) = (Vec::new(), BTreeMap::new(), false);
        for (id, buffer) in (0..400_u64).zip(&mut buffers) {
            let mut below = |bound: u32| random.random_range(0..bound);
            let (source, tag) = (i64::from(below(3)) - 1, i64::from(below(3)) - 1);
            let selector = Selector::new(
                u32::try_from(source).map_or(SourceSel::Any, |rank| {
                    Rank::new(rank).expect("small").into()
                }),
                u32::try_from(tag).map_or(TagSel::Any, |tag| Tag::new(tag).expect("small").into()),
            );
            let mut matched = None;
            match below(10) {
                0..4 => {
                    let (code, request) = world.post(source, tag, &mut buffer[..room(RecvId(id))]);
                    assert_eq!(code, DPAMATCH_OK);
                    requests.insert(RecvId(id), request);
                    let found = oracle.post(RecvId(id), CommId(0), selector);
                    matched = found.map(|msg| (RecvId(id), msg));
                }
                4..8 => {
                    let (source, tag) = (below(2), below(2));
                    let (sender, bytes) = (senders[source as usize], id.to_le_bytes());
                    let length = 1 + id as usize % 8;
                    let at = bytes.as_ptr().cast();
                    let code = match id % 3 {
                        0 => call!(dpamatch_send(world.endpoint, sender, tag, at, length)),
                        _ => send(sender, tag, &bytes[..length]),
                    };
                    assert_eq!(code, DPAMATCH_OK);
                    let (bytes, arrival) = (length as u64, sent.len() as u64);
                    sent.insert(
                        id,
                        Status {
                            source,
                            tag,
                            bytes,
                            sent: bytes,
                            arrival,
                        },
                    );
                    let (source, tag) = (Rank::new(source), Tag::new(tag));
                    let (source, tag) = (source.expect("small"), tag.expect("small"));
                    let envelope = Envelope {
                        comm: CommId(0),
                        source,
                        tag,
                    };
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
                    let test = call!(dpamatch_test(
                        world.endpoint,
                        place,
                        &raw mut done,
                        null_mut()
                    ));
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
                    let shown = oldest.map_or(Status::default(), |msg| sent[&msg.0]);
                    assert_eq!(status, shown);
                    let mut taken = comm.cast();
                    let place = &raw mut taken;
                    let code = call!(dpamatch_improbe(endpoint, comm, source, tag, place, told));
                    assert_eq!((code, taken.is_null()), (DPAMATCH_OK, !found));
                    let Some(msg) = oracle.mprobe(CommId(0), selector) else {
                        continue;
                    };
                    assert_eq!(status, sent[&msg.0]);
                    let (mut request, to) = (null_mut(), buffer.as_mut_ptr().cast());
                    let code = call!(dpamatch_imrecv(endpoint, place, to, 8, &raw mut request));
                    assert_eq!((code, taken.is_null()), (DPAMATCH_OK, true));
                    assert_eq!(world.wait(request), (DPAMATCH_OK, sent[&msg.0]));
                    let length = 1 + msg.0 as usize % 8;
                    assert_eq!(buffer[..length], msg.0.to_le_bytes()[..length]);
                }
            }
            // Each call ends before the next one begins, so there is only one correct result.
            let mut worked = true;
            while worked {
                assert_eq!(
                    call!(dpamatch_progress(world.endpoint, &raw mut worked)),
                    DPAMATCH_OK
                );
                ever_worked |= worked;
            }
            if let Some((recv, msg)) = matched {
                let request = requests.remove(&recv).expect("it was posted");
                let whole = sent[&msg.0];
                let bytes = whole.bytes.min(room(recv) as u64);
                let cut = bytes < whole.sent;
                let code = if cut {
                    DPAMATCH_ERR_TRUNCATED
                } else {
                    DPAMATCH_OK
                };
                let end = if id % 2 == 0 {
                    world.wait(request)
                } else {
                    world.test(request)
                };
                assert_eq!(end, (code, Status { bytes, ..whole }));
                if cut {
                    let said = format!(
                        "the message has {} bytes, the buffer holds {bytes}",
                        whole.sent
                    );
                    assert_eq!(last_error(), said);
                }
                ended.push((recv, msg));
            }
        }
        for (recv, msg) in ended {
            let mut bytes = [0; 8];
            let length = (1 + msg.0 as usize % 8).min(room(recv));
            bytes[..length].copy_from_slice(&msg.0.to_le_bytes()[..length]);
            assert_eq!(buffers[recv.0 as usize], bytes, "seed {seed}, {recv:?}");
        }
        for (_, mut request) in requests {
            call!(dpamatch_request_free(world.endpoint, &raw mut request));
        }
        senders.into_iter().for_each(free);
        assert!(ever_worked, "messages came");
    }
}

mod aftermath;
mod handles;

/// Set in the process that may have 2 GB of addresses.
const LITTLE: &str = "DPAMATCH_TEST_LITTLE_MEMORY";

/// Where there is no memory for a receive's buffer, the call says so. No receive is posted, a taken
/// message stays taken, and all goes on.
#[test]
fn a_receive_without_memory_leaves_everything_as_it_was() {
    if std::env::var_os(LITTLE).is_none() {
        let test = "tests::a_receive_without_memory_leaves_everything_as_it_was";
        let output = std::process::Command::new("sh")
            .args(["-c", "ulimit -v 2000000 && exec \"$0\" \"$@\""])
            .arg(std::env::current_exe().expect("this program"))
            .args(["--exact", test, "--nocapture", "--test-threads=1"])
            .env(LITTLE, "1")
            .output()
            .expect("a shell");
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(said.contains("test result: ok. 1 passed"), "{output:?}");
        return;
    }
    const LONG: usize = u32::MAX as usize;
    let mut world = World::open(c"", 0);
    let (mut buffer, mut request) = ([0; 4], null_mut());
    let to: *mut c_void = buffer.as_mut_ptr().cast();
    let place = &raw mut request;
    for _ in 0..3 {
        let (endpoint, comm) = (world.endpoint, world.comm);
        let code = call!(dpamatch_post(endpoint, comm, 5, 6, to, LONG, place));
        assert_eq!((code, request.is_null()), (DPAMATCH_ERR_SYSTEM, true));
        assert_eq!(last_error(), "no memory for a buffer of 4294967295 bytes");
    }
    let sender = world.sender(5);
    assert_eq!(send(sender, 6, b"four"), DPAMATCH_OK);
    let (mut message, status) = world.take();
    assert_eq!((status.source, status.tag, status.bytes), (5, 6, 4));
    let taken = message;
    let code = call!(dpamatch_imrecv(
        world.endpoint,
        &raw mut message,
        to,
        LONG,
        place
    ));
    assert_eq!(
        (code, message, request.is_null()),
        (DPAMATCH_ERR_SYSTEM, taken, true)
    );
    let code = call!(dpamatch_imrecv(
        world.endpoint,
        &raw mut message,
        to,
        4,
        place
    ));
    assert_eq!((code, message.is_null()), (DPAMATCH_OK, true));
    assert_eq!((world.wait(request).0, &buffer), (DPAMATCH_OK, b"four"));
    let (code, request) = world.post(5, 6, &mut buffer);
    assert_eq!((code, send(sender, 6, b"more")), (DPAMATCH_OK, DPAMATCH_OK));
    assert_eq!((world.wait(request).0, &buffer), (DPAMATCH_OK, b"more"));
    free(sender);
    // The communicator has no receive and no message.
    assert_eq!(
        call!(dpamatch_comm_free(world.endpoint, &raw mut world.comm)),
        DPAMATCH_OK
    );
}

/// A clone sends to its sender's endpoint, and so do its requests.
#[test]
fn a_clone_belongs_to_the_endpoint_of_its_sender() {
    let (world, other) = (World::open(c"", 0), World::open(c"", 0));
    let (sender, mut clone) = (world.sender(5), null_mut());
    assert_eq!(
        call!(dpamatch_sender_clone(sender, &raw mut clone)),
        DPAMATCH_OK
    );
    free(sender);
    let bytes = b"four".as_ptr().cast();
    let send_by = |endpoint| call!(dpamatch_send(endpoint, clone, 6, bytes, 4));
    assert_eq!(send_by(other.endpoint), DPAMATCH_ERR_ARGUMENT);
    assert_eq!(send_by(world.endpoint), DPAMATCH_OK);
    let mut sent = issend(clone, 6, b"more");
    let place = &raw mut sent;
    assert_eq!(
        call!(dpamatch_send_wait(other.endpoint, place)),
        DPAMATCH_ERR_ARGUMENT
    );
    assert!(!sent.is_null());
    for text in [b"four", b"more"] {
        let mut buffer = [0; 4];
        let (code, request) = world.post(5, 6, &mut buffer);
        assert_eq!(
            (code, world.wait(request).0, &buffer),
            (DPAMATCH_OK, DPAMATCH_OK, text)
        );
    }
    assert_eq!(
        call!(dpamatch_send_wait(world.endpoint, place)),
        DPAMATCH_OK
    );
    assert!(sent.is_null());
    free(clone);
}

/// However a receive ends, its buffer is the next one's.
#[test]
fn buffers_of_receives_that_end_are_used_again() {
    let world = World::open(c"", 0);
    // SAFETY: the endpoint is alive.
    let spare = || unsafe { with(world.endpoint, |inside| Ok(inside.spare())) }.map_err(|_| "");
    let (sender, mut buffer) = (world.sender(5), [0; 4]);
    for (text, ends) in [
        (None, DPAMATCH_ERR_CANCELLED),
        (Some(&b"four"[..]), DPAMATCH_OK),
        (Some(b"longer"), DPAMATCH_ERR_TRUNCATED),
        (None, DPAMATCH_ERR_CANCELLED),
    ] {
        let (code, request) = world.post(5, 6, &mut buffer);
        assert_eq!((code, spare()), (DPAMATCH_OK, Ok(0)));
        match text {
            Some(text) => assert_eq!(send(sender, 6, text), DPAMATCH_OK),
            None => assert_eq!(call!(dpamatch_cancel(world.endpoint, request)), DPAMATCH_OK),
        }
        assert_eq!((world.wait(request).0, spare()), (ends, Ok(1)), "{text:?}");
    }
    free(sender);
}
