//! What a refused call leaves: everything as it was. A table of calls that are refused, and after
//! each of them a look at all that a program can see.

use super::*;

/// All that a program can see of an endpoint without changing it.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Seen {
    /// How much each counter has risen since the last look.
    risen: Vec<(&'static str, u64)>,
    /// The oldest unexpected message of each communicator.
    oldest: Vec<Option<Status>>,
    /// What keeps each communicator from being freed.
    held: Vec<String>,
    /// Buffers kept for later receives.
    spare: usize,
    /// Handles, places of results, and memory of messages.
    places: Vec<usize>,
    buffers: [[u8; 8]; 2],
}

/// An endpoint with two of each object, unlike, and another endpoint with the same numbers.
struct Scene {
    world: World,
    other: World,
    /// Its hints exclude wildcards.
    narrow: *mut Comm,
    senders: [*mut Sender; 2],
    /// Posted, for two sources.
    requests: [*mut Request; 2],
    /// Taken by probes.
    messages: [*mut Message; 2],
    sent: [*mut SendRequest; 2],
    buffers: Box<[[u8; 8]; 2]>,
    /// Places of results, which a refused call leaves alone.
    made: [usize; 5],
    status: Status,
    found: bool,
    counters: Vec<(&'static str, u64)>,
}

/// What a place holds in which no call has written.
const UNTOUCHED: usize = 0x5ec0;
const FRESH: Status = Status {
    source: 71,
    tag: 72,
    bytes: 73,
    sent: 74,
    arrival: 75,
};

impl Scene {
    fn open() -> Self {
        let (world, other) = (World::open(c"", 0), World::open(c"", 0));
        let mut narrow = null_mut();
        let place = &raw mut narrow;
        assert_eq!(
            call!(dpamatch_comm_create(world.endpoint, 3, place)),
            DPAMATCH_OK
        );
        let senders = [world.sender(5), world.sender(6)];
        let mut buffers = Box::new([[b'-'; 8], [b'.'; 8]]);
        let [first, second] = &mut *buffers;
        let requests = [
            world.post(5, 1, &mut first[..6]).1,
            world.post(6, 2, &mut second[..7]).1,
        ];
        // One at a time: the messages of two senders have no order.
        let taken = [(0, 3, &b"one"[..]), (1, 4, b"four")].map(|(at, tag, bytes)| {
            let mut sent = issend(senders[at], tag, bytes);
            let (message, _) = world.take();
            assert_eq!(call!(dpamatch_send_free(&raw mut sent)), DPAMATCH_OK);
            message
        });
        let sent = [
            issend(senders[0], 7, b"later"),
            issend(senders[1], 8, b"last of all"),
        ];
        // A buffer that is kept.
        let (_, spent) = world.post(9, 9, &mut [0; 3]);
        assert_eq!(call!(dpamatch_cancel(world.endpoint, spent)), DPAMATCH_OK);
        assert_eq!(world.wait(spent).0, DPAMATCH_ERR_CANCELLED);
        let mut scene = Self {
            world,
            other,
            narrow,
            senders,
            requests,
            messages: taken,
            sent,
            buffers,
            made: [UNTOUCHED; 5],
            status: FRESH,
            found: true,
            counters: Vec::new(),
        };
        scene.look();
        scene
    }

    fn look(&mut self) -> Seen {
        let endpoint = self.world.endpoint;
        // SAFETY: the endpoint lives until the end of the scene.
        let told = unsafe {
            with(endpoint, |inside| {
                Ok((inside.endpoint.counts().0, inside.spare()))
            })
        };
        let (counts, spare) = told.expect("no other thread is inside");
        let rows = counts.handlers.rows().chain(counts.boundary.rows());
        let counters: Vec<_> = rows.collect();
        let before = std::mem::replace(&mut self.counters, counters);
        let risen = self.counters.iter().zip(&before);
        let risen = risen
            .map(|(now, before)| (now.0, now.1 - before.1))
            .collect();
        let comms = [&raw mut self.world.comm, &raw mut self.narrow];
        let oldest = comms.map(|comm| {
            let (mut found, mut status) = (false, Status::default());
            let (place, told) = (&raw mut found, &raw mut status);
            // SAFETY: the place is a field.
            let (comm, wild) = unsafe { (*comm, *comm == self.world.comm) };
            let sender = if wild { -1 } else { 5 };
            let code = call!(dpamatch_iprobe(endpoint, comm, sender, sender, place, told));
            assert_eq!(code, DPAMATCH_OK);
            found.then_some(status)
        });
        let held = comms.map(|comm| match comm == &raw mut self.narrow {
            // Nothing keeps it.
            true => String::new(),
            false => {
                assert_eq!(call!(dpamatch_comm_free(endpoint, comm)), DPAMATCH_AGAIN);
                last_error()
            }
        });
        let mut places = vec![self.world.endpoint as usize, self.world.comm as usize];
        places.extend([
            self.narrow as usize,
            self.other.endpoint as usize,
            self.other.comm as usize,
        ]);
        places.extend(self.senders.map(|it| it as usize));
        places.extend(self.requests.map(|it| it as usize));
        places.extend(self.messages.map(|it| it as usize));
        places.extend(self.sent.map(|it| it as usize));
        places.extend(self.made);
        places.extend([usize::from(self.found), usize::from(self.status == FRESH)]);
        Seen {
            risen,
            oldest: oldest.to_vec(),
            held: held.to_vec(),
            spare,
            places,
            buffers: *self.buffers,
        }
    }

    /// Calls a function that is refused, by its number; `None` beyond the last one.
    fn refused(&mut self, number: usize) -> Option<(&'static str, i32, i32)> {
        use crate::{
            DPAMATCH_ERR_ARGUMENT as ARG, DPAMATCH_ERR_OPTION as OPTION,
            DPAMATCH_ERR_TOO_LONG as LONG, DPAMATCH_ERR_WILDCARD as WILD,
        };
        let (endpoint, comm, narrow) = (self.world.endpoint, self.world.comm, self.narrow);
        let (strange, foreign) = (self.other.endpoint, self.other.comm);
        let [sender, _] = self.senders;
        let bytes: *mut c_void = self.buffers[0].as_mut_ptr().cast();
        let from = bytes.cast_const();
        let [made_comm, made_sender, made_sent, made_request, made] =
            self.made.each_mut().map(std::ptr::from_mut);
        let (request, message, sent) = (
            &raw mut self.requests[0],
            &raw mut self.messages[0],
            &raw mut self.sent[0],
        );
        let (found, status) = (&raw mut self.found, &raw mut self.status);
        let mut number = number;
        macro_rules! row {
            ($words:literal, $expected:ident, $function:ident($($argument:expr),* $(,)?)) => {
                if number == 0 {
                    let name = concat!(stringify!($function), ", ", $words);
                    return Some((name, $expected, call!($function($($argument),*))));
                }
                number -= 1;
            };
        }
        row!(
            "options",
            OPTION,
            dpamatch_endpoint_create(c"bins=0".as_ptr(), made.cast())
        );
        row!(
            "no value",
            OPTION,
            dpamatch_endpoint_create(c"bins".as_ptr(), made.cast())
        );
        row!(
            "no UTF-8",
            ARG,
            dpamatch_endpoint_create(c"\xff".as_ptr(), made.cast())
        );
        row!("no endpoint", ARG, dpamatch_progress(null_mut(), found));
        row!(
            "no endpoint",
            ARG,
            dpamatch_counter(null_mut(), c"messages".as_ptr(), made.cast())
        );
        row!(
            "no endpoint",
            ARG,
            dpamatch_iprobe(null_mut(), comm, 1, 1, found, status)
        );
        row!(
            "no endpoint",
            ARG,
            dpamatch_improbe(null_mut(), comm, 1, 1, made.cast(), status)
        );
        row!(
            "no endpoint",
            ARG,
            dpamatch_imrecv(null_mut(), message, bytes, 8, made_request.cast())
        );
        row!(
            "unknown",
            ARG,
            dpamatch_counter(endpoint, c"message".as_ptr(), made.cast())
        );
        row!(
            "no name",
            ARG,
            dpamatch_counter(endpoint, null(), made.cast())
        );
        row!(
            "hint 16",
            ARG,
            dpamatch_comm_create(endpoint, 16, made_comm.cast())
        );
        row!(
            "no place",
            ARG,
            dpamatch_comm_create(endpoint, 0, null_mut())
        );
        row!(
            "no endpoint",
            ARG,
            dpamatch_comm_create(null_mut(), 0, made_comm.cast())
        );
        row!(
            "another's",
            ARG,
            dpamatch_comm_free(strange, &raw mut self.world.comm)
        );
        row!(
            "another's, unused",
            ARG,
            dpamatch_comm_free(strange, &raw mut self.narrow)
        );
        row!(
            "no rank",
            ARG,
            dpamatch_sender_create(endpoint, comm, 1 << 31, made_sender.cast())
        );
        row!(
            "another's",
            ARG,
            dpamatch_sender_create(endpoint, foreign, 1, made_sender.cast())
        );
        row!(
            "no place",
            ARG,
            dpamatch_sender_create(endpoint, comm, 1, null_mut())
        );
        row!("no place", ARG, dpamatch_sender_clone(sender, null_mut()));
        row!(
            "none",
            ARG,
            dpamatch_sender_clone(null(), made_sender.cast())
        );
        row!("no tag", ARG, dpamatch_try_send(sender, 1 << 31, from, 1));
        row!("no bytes", ARG, dpamatch_try_send(sender, 1, null(), 1));
        row!(
            "too long",
            LONG,
            dpamatch_try_send(sender, 1, from, 1 << 32)
        );
        row!(
            "no tag",
            ARG,
            dpamatch_send(endpoint, sender, 1 << 31, from, 1)
        );
        row!("another's", ARG, dpamatch_send(strange, sender, 1, from, 1));
        row!(
            "no bytes",
            ARG,
            dpamatch_send(null_mut(), sender, 1, null(), 1)
        );
        row!(
            "too long",
            LONG,
            dpamatch_send(endpoint, sender, 1, from, 1 << 32)
        );
        row!(
            "no place",
            ARG,
            dpamatch_try_issend(sender, 1, from, 1, null_mut())
        );
        row!(
            "no tag",
            ARG,
            dpamatch_try_issend(sender, 1 << 31, from, 1, made_sent.cast())
        );
        row!(
            "too long",
            LONG,
            dpamatch_try_issend(sender, 1, from, 1 << 32, made_sent.cast())
        );
        row!("no answer", ARG, dpamatch_send_test(sent, null_mut()));
        row!("another's", ARG, dpamatch_send_wait(strange, sent));
        row!(
            "no place",
            ARG,
            dpamatch_post(endpoint, comm, 1, 1, bytes, 1, null_mut())
        );
        row!(
            "no buffer",
            ARG,
            dpamatch_post(endpoint, comm, 1, 1, null_mut(), 1, made_request.cast())
        );
        row!(
            "too long",
            LONG,
            dpamatch_post(endpoint, comm, 1, 1, bytes, 1 << 32, made_request.cast())
        );
        row!(
            "no source",
            ARG,
            dpamatch_post(endpoint, comm, -2, 1, bytes, 1, made_request.cast())
        );
        row!(
            "no tag",
            ARG,
            dpamatch_post(endpoint, comm, 1, -2, bytes, 1, made_request.cast())
        );
        row!(
            "any source",
            WILD,
            dpamatch_post(endpoint, narrow, -1, 1, bytes, 1, made_request.cast())
        );
        row!(
            "any tag",
            WILD,
            dpamatch_post(endpoint, narrow, 1, -1, bytes, 2, made_request.cast())
        );
        row!(
            "another's",
            ARG,
            dpamatch_post(endpoint, foreign, 1, 1, bytes, 1, made_request.cast())
        );
        row!(
            "no answer",
            ARG,
            dpamatch_test(endpoint, request, null_mut(), status)
        );
        row!("another's", ARG, dpamatch_wait(strange, request, status));
        row!(
            "no endpoint",
            ARG,
            dpamatch_wait(null_mut(), request, status)
        );
        row!("another's", ARG, dpamatch_cancel(strange, *request));
        row!("none", ARG, dpamatch_cancel(endpoint, null_mut()));
        row!("another's", ARG, dpamatch_request_free(strange, request));
        row!(
            "no answer",
            ARG,
            dpamatch_iprobe(endpoint, comm, 1, 1, null_mut(), status)
        );
        row!(
            "no source",
            ARG,
            dpamatch_iprobe(endpoint, comm, -2, 1, found, status)
        );
        row!(
            "any tag",
            WILD,
            dpamatch_iprobe(endpoint, narrow, 1, -1, found, status)
        );
        row!(
            "another's",
            ARG,
            dpamatch_iprobe(endpoint, foreign, -1, -1, found, status)
        );
        row!(
            "no place",
            ARG,
            dpamatch_improbe(endpoint, comm, -1, -1, null_mut(), status)
        );
        row!(
            "no tag",
            ARG,
            dpamatch_improbe(endpoint, comm, -1, -2, made.cast(), status)
        );
        row!(
            "any source",
            WILD,
            dpamatch_improbe(endpoint, narrow, -1, 1, made.cast(), status)
        );
        row!(
            "another's",
            ARG,
            dpamatch_improbe(strange, comm, -1, -1, made.cast(), status)
        );
        row!(
            "no place",
            ARG,
            dpamatch_imrecv(endpoint, message, bytes, 8, null_mut())
        );
        row!(
            "no buffer",
            ARG,
            dpamatch_imrecv(endpoint, message, null_mut(), 8, made_request.cast())
        );
        row!(
            "too long",
            LONG,
            dpamatch_imrecv(endpoint, message, bytes, 1 << 32, made_request.cast())
        );
        row!(
            "another's",
            ARG,
            dpamatch_imrecv(strange, message, bytes, 8, made_request.cast())
        );
        let _ = number;
        None
    }

    /// Uses every object as if no call had been refused, and gives it back.
    fn end(mut self) {
        let endpoint = self.world.endpoint;
        let ends = [("one", 5, 3), ("four", 6, 4)];
        for (message, (text, source, tag)) in self.messages.iter_mut().zip(ends) {
            let (mut buffer, mut request) = ([0; 4], null_mut());
            let (to, place) = (buffer.as_mut_ptr().cast(), &raw mut request);
            assert_eq!(
                call!(dpamatch_imrecv(endpoint, message, to, 4, place)),
                DPAMATCH_OK
            );
            let (code, status) = self.world.wait(request);
            assert_eq!(
                (code, status.source, status.tag),
                (DPAMATCH_OK, source, tag)
            );
            assert_eq!(&buffer[..text.len()], text.as_bytes());
        }
        for (at, text) in [b"first!", b"second"].iter().enumerate() {
            assert_eq!(send(self.senders[at], at as u32 + 1, *text), DPAMATCH_OK);
        }
        for request in self.requests.iter().rev() {
            assert_eq!(self.world.wait(*request).0, DPAMATCH_OK);
        }
        assert_eq!(*self.buffers, [*b"first!--", *b"second.."]);
        for (at, text) in ["later", "last of all"].iter().enumerate() {
            let mut buffer = [0; 11];
            let (source, tag) = (at as i64 + 5, at as i64 + 7);
            let (code, request) = self.world.post(source, tag, &mut buffer);
            assert_eq!(
                (code, self.world.wait(request).0),
                (DPAMATCH_OK, DPAMATCH_OK)
            );
            assert_eq!(&buffer[..text.len()], text.as_bytes());
            let sent = &raw mut self.sent[at];
            assert_eq!(call!(dpamatch_send_wait(endpoint, sent)), DPAMATCH_OK);
            free(self.senders[at]);
        }
        for comm in [&raw mut self.narrow, &raw mut self.world.comm] {
            let code = call!(dpamatch_comm_free(endpoint, comm));
            assert_eq!(code, DPAMATCH_OK, "{}", last_error());
        }
    }
}

#[test]
fn a_refused_call_changes_nothing_that_can_be_seen() {
    let mut scene = Scene::open();
    scene.look();
    let usual = scene.look();
    assert_eq!(usual, scene.look(), "a look changes nothing");
    assert_eq!(
        (usual.spare, usual.held[0].as_str()),
        (1, "it still has 2 receives")
    );
    let mut calls = 0;
    while let Some((name, expected, code)) = scene.refused(calls) {
        assert_eq!(code, expected, "{name}: {}", last_error());
        assert_eq!(scene.look(), usual, "{name}");
        calls += 1;
    }
    assert_eq!(calls, 58);
    scene.end();
}
