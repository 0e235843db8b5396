//! Every function of the header with an endpoint that is null, another's, destroyed, or busy, and
//! with null in place of its handle. Each call returns in bounded time with its code. After a
//! refusal each handle is as it was, and both endpoints work and give everything back.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc;
use std::time::Duration;

use super::*;

/// Far longer than a call takes that gives up by itself.
const LIMIT: Duration = Duration::from_secs(120);
const SMALL: &CStr = c"handlers=4,receives=16,bins=4,unexpected=16,bounce-buffers=8";

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// The endpoint is null.
    Null,
    /// It is not that of the handles.
    Foreign,
    /// A copy of the pointer to a destroyed endpoint.
    Destroyed,
    /// Another thread is inside a call with it.
    Busy,
    /// The endpoint is right, and the handle is null.
    NoHandle,
}

use State::{Busy, Destroyed, Foreign, NoHandle, Null};

const STATES: [State; 5] = [Null, Foreign, Destroyed, Busy, NoHandle];

const OK: i32 = DPAMATCH_OK;
const AGAIN: i32 = DPAMATCH_AGAIN;
const ARG: i32 = DPAMATCH_ERR_ARGUMENT;
const BUSY: i32 = DPAMATCH_ERR_BUSY;
const OWN: i32 = DPAMATCH_ERR_OWN_THREAD;
const STOP: i32 = DPAMATCH_ERR_STOPPED;

/// The codes of each function that takes a handle, in the order of [`STATES`].
const TABLE: &[(&str, [i32; 5])] = &[
    ("endpoint_destroy", [OK, OK, STOP, BUSY, OK]),
    ("progress", [ARG, OK, STOP, BUSY, OK]),
    ("counter", [ARG, OK, STOP, BUSY, OK]),
    ("comm_create", [ARG, OK, STOP, BUSY, OK]),
    ("comm_free", [OK, ARG, STOP, BUSY, OK]),
    ("sender_create", [ARG, ARG, STOP, BUSY, ARG]),
    ("sender_clone", [OK, OK, OK, OK, ARG]),
    ("sender_destroy", [OK, OK, OK, OK, OK]),
    ("try_send", [OK, OK, STOP, OK, ARG]),
    ("send", [OK, ARG, STOP, BUSY, ARG]),
    ("try_issend", [OK, OK, STOP, OK, ARG]),
    ("send_test", [OK, OK, STOP, OK, OK]),
    ("send_wait", [OWN, ARG, STOP, BUSY, OK]),
    ("send_free", [OK, OK, OK, OK, OK]),
    ("post", [ARG, ARG, STOP, BUSY, ARG]),
    ("test", [ARG, ARG, STOP, BUSY, OK]),
    ("wait", [ARG, ARG, STOP, BUSY, OK]),
    ("cancel", [ARG, ARG, STOP, BUSY, ARG]),
    ("request_free", [OK, ARG, OK, BUSY, OK]),
    ("iprobe", [ARG, ARG, STOP, BUSY, ARG]),
    ("improbe", [ARG, ARG, STOP, BUSY, ARG]),
    ("imrecv", [ARG, ARG, STOP, BUSY, ARG]),
    ("message_free", [OK, OK, OK, OK, OK]),
];

/// The functions that take no handle.
const WITHOUT_HANDLE: [&str; 4] = ["abi_version", "error_text", "last_error", "endpoint_create"];

/// The functions that the header declares, without the prefix.
fn declared() -> Vec<&'static str> {
    let header = include_str!("../../include/dpamatch.h");
    let lines = header
        .lines()
        .filter(|line| !line.starts_with([' ', '*', '/', '#']));
    let mut names: Vec<_> = lines
        .filter_map(|line| line.split_once('('))
        .filter_map(|(before, _)| before.rsplit([' ', '*']).next())
        .filter_map(|name| name.strip_prefix("dpamatch_"))
        .collect();
    names.sort_unstable();
    names
}

#[test]
fn the_table_has_every_function_of_the_header() {
    let mut named: Vec<_> = TABLE.iter().map(|&(name, _)| name).collect();
    named.extend(WITHOUT_HANDLE);
    named.sort_unstable();
    assert_eq!(named, declared());
}

/// One handle of each kind, all of one endpoint.
struct Handles {
    comm: *mut Comm,
    sender: *mut Sender,
    /// Posted, without a message.
    request: *mut Request,
    /// Taken by a probe.
    message: *mut Message,
    /// Not received.
    sent: *mut SendRequest,
    made_comm: *mut Comm,
    made_sender: *mut Sender,
    made_sent: *mut SendRequest,
    made_request: *mut Request,
    buffer: Box<[u8; 8]>,
}

impl Handles {
    fn none() -> Self {
        Self {
            comm: null_mut(),
            sender: null_mut(),
            request: null_mut(),
            message: null_mut(),
            sent: null_mut(),
            made_comm: null_mut(),
            made_sender: null_mut(),
            made_sent: null_mut(),
            made_request: null_mut(),
            buffer: Box::new([0; 8]),
        }
    }

    /// Takes the communicator out of its world.
    fn of(world: &mut World) -> Self {
        let mut handles = Self::none();
        handles.sender = world.sender(3);
        let (code, request) = world.post(9, 9, &mut handles.buffer[..]);
        assert_eq!(code, OK);
        handles.request = request;
        let mut first = issend(handles.sender, 1, b"one");
        handles.message = world.take().0;
        assert_eq!(call!(dpamatch_send_free(&raw mut first)), OK);
        handles.sent = issend(handles.sender, 2, b"two");
        handles.comm = std::mem::replace(&mut world.comm, null_mut());
        handles
    }

    /// Calls the function of this name with the endpoint and these handles.
    fn call(&mut self, name: &str, mut endpoint: *mut Endpoint) -> i32 {
        let (mut done, mut value, mut taken) = (false, 0, null_mut());
        let (byte, place) = (b"x".as_ptr().cast(), self.buffer.as_mut_ptr().cast());
        match name {
            "endpoint_destroy" => call!(dpamatch_endpoint_destroy(&raw mut endpoint)),
            "progress" => call!(dpamatch_progress(endpoint, null_mut())),
            "counter" => {
                call!(dpamatch_counter(
                    endpoint,
                    c"messages".as_ptr(),
                    &raw mut value
                ))
            }
            "comm_create" => call!(dpamatch_comm_create(endpoint, 0, &raw mut self.made_comm)),
            "comm_free" => call!(dpamatch_comm_free(endpoint, &raw mut self.comm)),
            "sender_create" => {
                let place = &raw mut self.made_sender;
                call!(dpamatch_sender_create(endpoint, self.comm, 4, place))
            }
            "sender_clone" => {
                call!(dpamatch_sender_clone(
                    self.sender,
                    &raw mut self.made_sender
                ))
            }
            "sender_destroy" => call!(dpamatch_sender_destroy(&raw mut self.sender)),
            "try_send" => call!(dpamatch_try_send(self.sender, 5, byte, 1)),
            "send" => call!(dpamatch_send(endpoint, self.sender, 5, byte, 1)),
            "try_issend" => {
                let place = &raw mut self.made_sent;
                call!(dpamatch_try_issend(self.sender, 5, byte, 1, place))
            }
            "send_test" => call!(dpamatch_send_test(&raw mut self.sent, &raw mut done)),
            "send_wait" => call!(dpamatch_send_wait(endpoint, &raw mut self.sent)),
            "send_free" => call!(dpamatch_send_free(&raw mut self.sent)),
            "post" => {
                let request = &raw mut self.made_request;
                call!(dpamatch_post(endpoint, self.comm, 9, 8, place, 8, request))
            }
            "test" => {
                let request = &raw mut self.request;
                call!(dpamatch_test(endpoint, request, &raw mut done, null_mut()))
            }
            "wait" => call!(dpamatch_wait(endpoint, &raw mut self.request, null_mut())),
            "cancel" => call!(dpamatch_cancel(endpoint, self.request)),
            "request_free" => call!(dpamatch_request_free(endpoint, &raw mut self.request)),
            "iprobe" => {
                let found = &raw mut done;
                call!(dpamatch_iprobe(
                    endpoint,
                    self.comm,
                    -1,
                    7,
                    found,
                    null_mut()
                ))
            }
            "improbe" => {
                let place = &raw mut taken;
                call!(dpamatch_improbe(
                    endpoint,
                    self.comm,
                    -1,
                    7,
                    place,
                    null_mut()
                ))
            }
            "imrecv" => {
                let (message, request) = (&raw mut self.message, &raw mut self.made_request);
                call!(dpamatch_imrecv(endpoint, message, place, 8, request))
            }
            "message_free" => call!(dpamatch_message_free(&raw mut self.message)),
            other => panic!("{other} is not called"),
        }
    }

    fn are_there(&self) -> [bool; 5] {
        [
            !self.comm.is_null(),
            !self.sender.is_null(),
            !self.request.is_null(),
            !self.message.is_null(),
            !self.sent.is_null(),
        ]
    }

    /// Ends all handles: with the endpoint, which must then free the communicator, or without.
    fn end(mut self, endpoint: *mut Endpoint) {
        call!(dpamatch_message_free(&raw mut self.message));
        for request in [&raw mut self.request, &raw mut self.made_request] {
            // SAFETY: the place is a field.
            let handle = unsafe { request.read() };
            if endpoint.is_null() || handle.is_null() {
                assert_eq!(call!(dpamatch_request_free(null_mut(), request)), OK);
                continue;
            }
            assert_eq!(call!(dpamatch_cancel(endpoint, handle)), OK);
            let code = call!(dpamatch_wait(endpoint, request, null_mut()));
            assert!([OK, DPAMATCH_ERR_CANCELLED].contains(&code), "{code}");
        }
        call!(dpamatch_send_free(&raw mut self.sent));
        call!(dpamatch_send_free(&raw mut self.made_sent));
        for sender in [&raw mut self.sender, &raw mut self.made_sender] {
            call!(dpamatch_sender_destroy(sender));
        }
        let mut found = true;
        while found && !endpoint.is_null() && !self.comm.is_null() {
            let mut message = null_mut();
            let (comm, place) = (self.comm, &raw mut message);
            let code = call!(dpamatch_improbe(endpoint, comm, -1, -1, place, null_mut()));
            assert_eq!(code, OK);
            found = !message.is_null();
            call!(dpamatch_message_free(place));
        }
        for comm in [&raw mut self.comm, &raw mut self.made_comm] {
            assert_eq!(
                call!(dpamatch_comm_free(endpoint, comm)),
                OK,
                "{}",
                last_error()
            );
        }
    }
}

/// Sends a message to an endpoint and receives it, in a new communicator.
fn exchange(world: &mut World) {
    let made = world.make_comm();
    let before = std::mem::replace(&mut world.comm, made);
    let (sender, mut buffer) = (world.sender(6), [0; 4]);
    let (code, request) = world.post(6, 77, &mut buffer);
    assert_eq!((code, send(sender, 77, b"well")), (OK, OK));
    assert_eq!((world.wait(request).0, &buffer), (OK, b"well"));
    free(sender);
    let mut made = std::mem::replace(&mut world.comm, before);
    assert_eq!(call!(dpamatch_comm_free(world.endpoint, &raw mut made)), OK);
}

fn check(name: &str, state: State, expected: i32) {
    let (mut world, mut other) = (World::open(SMALL, 0), World::open(SMALL, 0));
    let own = world.endpoint;
    let mut handles = Handles::of(&mut world);
    let before = handles.are_there();
    let mut none = Handles::none();
    let code = match state {
        Null => handles.call(name, null_mut()),
        Foreign if name == "endpoint_destroy" => {
            // No handle comes with it: it ends a third one.
            let third = World::open(SMALL, 0);
            let code = handles.call(name, third.endpoint);
            assert_eq!(handles.call(name, third.endpoint), STOP);
            code
        }
        Foreign => handles.call(name, other.endpoint),
        Destroyed => {
            assert_eq!(
                call!(dpamatch_endpoint_destroy(&raw mut world.endpoint)),
                OK
            );
            handles.call(name, own)
        }
        Busy => {
            let mut code = 0;
            // SAFETY: the shell of an endpoint stays until the program ends.
            unsafe { &*own }.while_locked(|| code = handles.call(name, own));
            code
        }
        NoHandle if name == "endpoint_destroy" => none.call(name, null_mut()),
        NoHandle => none.call(name, own),
    };
    assert_eq!(code, expected, "{name}, {state:?}: {}", last_error());
    if [ARG, BUSY, OWN, AGAIN].contains(&code) {
        assert_eq!(handles.are_there(), before, "{name}, {state:?}");
        assert!(handles.made_comm.is_null() && handles.made_sender.is_null());
        assert!(handles.made_sent.is_null() && handles.made_request.is_null());
    }
    exchange(&mut other);
    if state != Destroyed {
        exchange(&mut world);
    }
    // A null endpoint frees only the handle of a receive or communicator, whose endpoint then
    // keeps what it held until its own end.
    let orphans = state == Null && ["comm_free", "request_free"].contains(&name);
    let made_elsewhere = state == Foreign && name == "comm_create";
    if made_elsewhere {
        let place = &raw mut handles.made_comm;
        assert_eq!(call!(dpamatch_comm_free(other.endpoint, place)), OK);
    }
    if orphans || state == Destroyed {
        call!(dpamatch_endpoint_destroy(&raw mut world.endpoint));
        handles.end(null_mut());
    } else {
        handles.end(world.endpoint);
    }
    if !none.made_comm.is_null() {
        assert_eq!(call!(dpamatch_comm_free(own, &raw mut none.made_comm)), OK);
    }
}

#[test]
fn every_function_answers_for_every_state_of_its_handles() {
    for &(name, codes) in TABLE {
        for (state, expected) in STATES.into_iter().zip(codes) {
            let (done, ended) = mpsc::channel();
            let cell = thread::spawn(move || {
                check(name, state, expected);
                let _ = done.send(());
            });
            if ended.recv_timeout(LIMIT) == Err(mpsc::RecvTimeoutError::Timeout) {
                panic!("{name}, {state:?}: the call has not returned after {LIMIT:?}");
            }
            assert!(cell.join().is_ok(), "{name}, {state:?}");
        }
    }
}

/// Calls with a copy of the pointer, tries to destroy from this turn on, and calls after the end.
fn call_and_destroy(copy: usize, tries_from: usize, destroyed: &AtomicUsize) {
    let pointer = copy as *mut Endpoint;
    let mut mine = pointer;
    for turn in 0.. {
        let code = call!(dpamatch_progress(pointer, null_mut()));
        assert!([OK, BUSY, STOP].contains(&code), "{code}");
        if turn < tries_from {
            continue;
        }
        match call!(dpamatch_endpoint_destroy(&raw mut mine)) {
            BUSY => continue,
            OK => _ = destroyed.fetch_add(1, SeqCst),
            code => assert_eq!(code, STOP),
        }
        break;
    }
    assert!(mine.is_null());
    let mut late = BUSY;
    // Another thread may be on its way out.
    while late == BUSY {
        late = call!(dpamatch_progress(pointer, null_mut()));
    }
    assert_eq!(late, STOP);
    assert_eq!(last_error(), "the endpoint was destroyed");
}

/// Threads call and destroy while each has a copy of the pointer, also long after the end.
#[test]
fn one_thread_destroys_while_others_call() {
    const THREADS: usize = 3;
    for round in 0..60_usize {
        let mut endpoint = null_mut();
        let place = &raw mut endpoint;
        assert_eq!(call!(dpamatch_endpoint_create(SMALL.as_ptr(), place)), OK);
        let (copy, destroyed) = (endpoint as usize, AtomicUsize::new(0));
        thread::scope(|scope| {
            for number in 0..THREADS {
                let destroyed = &destroyed;
                let tries_from = (round + number) % 7 * 10;
                scope.spawn(move || call_and_destroy(copy, tries_from, destroyed));
            }
        });
        assert_eq!(destroyed.into_inner(), 1, "round {round}");
    }
}

#[test]
fn an_endpoint_is_not_destroyed_under_a_wait() {
    let mut world = World::open(SMALL, 0);
    let sender = world.sender(1);
    let mut buffer = [0; 4];
    let (_, request) = world.post(1, 2, &mut buffer);
    let (endpoint, request) = (world.endpoint as usize, request as usize);
    let waiting = thread::spawn(move || {
        let (endpoint, mut request) = (endpoint as *mut Endpoint, request as *mut Request);
        call!(dpamatch_wait(endpoint, &raw mut request, null_mut()))
    });
    while call!(dpamatch_progress(world.endpoint, null_mut())) != BUSY {
        thread::yield_now();
    }
    for _ in 0..100 {
        assert_eq!(
            call!(dpamatch_endpoint_destroy(&raw mut world.endpoint)),
            BUSY
        );
    }
    assert_eq!(send(sender, 2, b"come"), OK);
    assert_eq!(waiting.join().expect("no panic"), OK);
    assert_eq!(&buffer, b"come");
    free(sender);
    assert_eq!(
        call!(dpamatch_endpoint_destroy(&raw mut world.endpoint)),
        OK
    );
}
