//! What each call on the objects of a program returns, line by line: refusals, sizes, queues,
//! counters, vectors, regions.

use std::ffi::{CStr, c_int, c_void};
use std::fmt::{Debug, Write as _};
use std::ptr::{null, null_mut};

use super::regions::register;
use super::rogue::{call_on, still_works};
use super::side::{Side, call, pair};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketType};

use crate::bindings::*;
use crate::objects;
use crate::wire::{Address, EAGER_MAX, LONG_MAX};

/// A structure of zeros: null, or "whatever there is".
fn zeros<T>() -> T {
    // SAFETY: only for C's structures, whose fields may all be zero.
    unsafe { std::mem::zeroed() }
}

/// What was called, and what came back.
#[derive(Default)]
struct Transcript(String);

impl Transcript {
    fn record(&mut self, what: &str, value: impl Debug) {
        let _ = writeln!(self.0, "{what}: {value:?}");
    }
}

fn closed<T>(object: *mut T) -> c_int {
    let fid = object.cast::<Fid>();
    // SAFETY: an object of the test, closed once.
    unsafe { call!(fid, ops, close) }
}

#[test]
fn each_call_on_an_object_returns_what_it_says() {
    let mut transcript = Transcript::default();
    let (a, b, to_b, to_a) = pair(|_| ());
    // SAFETY: all objects are alive until they are closed, and each result has a place.
    unsafe {
        fabric(&mut transcript);
        queues(&mut transcript, &a, &b, to_b);
        counters(&mut transcript, &a, &b, to_b, to_a);
        vectors(&mut transcript, &a, &b);
        endpoints(&mut transcript, &a, &b);
        regions(&mut transcript, &a);
        sleepers(&mut transcript);
    }
    assert_eq!(transcript.0, include_str!("objects.txt"));
}

fn fabric(transcript: &mut Transcript) {
    // SAFETY: the objects are alive until they are closed.
    unsafe {
        let (mut fabric, mut queue) = (null_mut(), null_mut::<FidEq>());
        let mut attr: FabricAttr = zeros();
        attr.api_version = 70_000;
        let opened = objects::fabric(&raw mut attr, &mut fabric, 5 as *mut _);
        transcript.record(
            "fabric",
            (opened, (*fabric).api_version, (*fabric).fid.fclass),
        );
        transcript.record("fabric's context", (*fabric).fid.context);
        transcript.record(
            "passive_ep",
            call!(fabric, ops, passive_ep, null_mut(), null_mut(), null_mut()),
        );
        transcript.record(
            "wait_open",
            call!(fabric, ops, wait_open, null_mut(), null_mut()),
        );
        let fid = fabric.cast::<Fid>();
        transcript.record("fabric bind", call!(fid, ops, bind, null_mut(), 0));
        transcript.record(
            "fabric control",
            call!(fid, ops, control, FI_ENABLE, null_mut()),
        );
        transcript.record(
            "fabric ops_open",
            call!(fid, ops, ops_open, null(), 0, null_mut(), null_mut()),
        );
        for wait in [FI_WAIT_NONE, FI_WAIT_UNSPEC, FI_WAIT_YIELD, FI_WAIT_FD] {
            let mut attr: EqAttr = zeros();
            (attr.wait_obj, attr.size) = (wait, 2);
            if !queue.is_null() {
                closed(queue);
                queue = null_mut();
            }
            let opened = call!(fabric, ops, eq_open, &raw mut attr, &mut queue, null_mut());
            transcript.record("eq_open", (wait, opened));
        }
        let mut attr: EqAttr = zeros();
        attr.size = 2;
        let opened = call!(fabric, ops, eq_open, &raw mut attr, &mut queue, 6 as *mut _);
        transcript.record("eq_open of 2", opened);
        let (mut event, mut buffer) = (0, [0_u8; 8]);
        let to: *mut c_void = buffer.as_mut_ptr().cast();
        transcript.record(
            "eq read of none",
            call!(queue, ops, read, &mut event, to, 8, 0),
        );
        transcript.record("eq readerr", call!(queue, ops, readerr, null_mut(), 0));
        for (event, text) in [(11, &b"one"[..]), (12, b"three"), (13, b"many")] {
            let from = text.as_ptr().cast();
            transcript.record(
                "eq write",
                call!(queue, ops, write, event, from, text.len(), 0),
            );
        }
        for (length, flags) in [(2, 0), (3, FI_PEEK), (8, 0), (5, 0), (8, 0)] {
            buffer = *b"--------";
            let got = call!(
                queue,
                ops,
                read,
                &mut event,
                buffer.as_mut_ptr().cast(),
                length,
                flags
            );
            transcript.record("eq read", (got, event, String::from_utf8_lossy(&buffer)));
        }
        transcript.record(
            "eq sread",
            call!(queue, ops, sread, &mut event, to, 8, 1, 0),
        );
        for error in [
            FI_ETRUNC,
            FI_ECANCELED,
            FI_ENOMSG,
            FI_ECONNRESET,
            FI_EACCES,
            FI_EIO,
        ] {
            let mut text = [b'-'; 8];
            let start = text.as_mut_ptr().cast();
            let whole = call!(queue, ops, strerror, error, null(), start, 6);
            let whole = CStr::from_ptr(whole).to_string_lossy();
            transcript.record(
                "eq strerror",
                (error, whole, String::from_utf8_lossy(&text)),
            );
        }
        transcript.record("eq close", closed(queue));
        transcript.record("fabric close", closed(fabric));
    }
}

/// # Safety
/// The sides are alive.
unsafe fn queues(transcript: &mut Transcript, a: &Side, b: &Side, to_b: u64) {
    // SAFETY: the objects are alive until they are closed.
    unsafe {
        for format in (FI_CQ_FORMAT_UNSPEC..=FI_CQ_FORMAT_TAGGED).chain([99]) {
            let (mut attr, mut queue): (CqAttr, _) = (zeros(), null_mut());
            (attr.format, attr.wait_obj) = (format, FI_WAIT_NONE);
            let opened = call!(
                b.domain,
                ops,
                cq_open,
                &raw mut attr,
                &mut queue,
                7 as *mut _
            );
            transcript.record("cq_open", (format, opened, attr.format));
            if opened != 0 {
                continue;
            }
            transcript.record("cq", ((*queue).fid.fclass, (*queue).fid.context));
            let fid = b.ep.cast::<Fid>();
            transcript.record("bind", call!(fid, ops, bind, queue.cast(), FI_RECV));
            let (mut here, mut words) = ([0; 4], [u64::MAX; 36]);
            assert_eq!(b.receive(&mut here, FI_ADDR_UNSPEC, (0x77, 0), 21), 0);
            a.send_now(b"abc", to_b, 0x77, 22);
            if format == FI_CQ_FORMAT_CONTEXT {
                transcript.record("cq of sends", (0..200).any(|_| b.read().is_some()));
            }
            let mut from = [99; 6];
            let got = loop {
                let to = words.as_mut_ptr().cast();
                match call!(queue, ops, readfrom, to, 6, from.as_mut_ptr()) {
                    got if got == -(FI_EAGAIN as isize) => {}
                    got => break got,
                }
            };
            // The buffer's address differs from run to run.
            if words[3] == here.as_ptr() as u64 {
                words[3] = 0xb0f;
            }
            let text = words[..7]
                .iter()
                .map(|word| format!("{word:x}"))
                .collect::<Vec<_>>();
            transcript.record("cq read", (got, &from[..2], text));
            assert_eq!(a.wait(&[b]).context(), 22);
            transcript.record(
                "cq readerr of none",
                call!(queue, ops, readerr, &mut zeros(), 0),
            );
            transcript.record("cq close while it is bound", closed(queue));
            let fid = b.ep.cast::<Fid>();
            // Another takes its place. It stays open, since the endpoint still has it.
            transcript.record("bind", call!(fid, ops, bind, b.queue.cast(), FI_RECV));
        }
        for wait in [FI_WAIT_NONE, FI_WAIT_YIELD, FI_WAIT_UNSPEC, FI_WAIT_FD, 2] {
            let (mut attr, mut queue): (CqAttr, _) = (zeros(), null_mut());
            attr.wait_obj = wait;
            let opened = call!(
                a.domain,
                ops,
                cq_open,
                &raw mut attr,
                &mut queue,
                null_mut()
            );
            transcript.record("cq_open to wait", (wait, opened));
            if opened != 0 {
                continue;
            }
            let (fid, mut kind, mut place) = (queue.cast::<Fid>(), -1, -1);
            let to = (&raw mut kind).cast();
            transcript.record(
                "GETWAITOBJ",
                (call!(fid, ops, control, FI_GETWAITOBJ, to), kind),
            );
            let to = (&raw mut place).cast();
            transcript.record(
                "GETWAIT",
                (call!(fid, ops, control, FI_GETWAIT, to), place > 0),
            );
            transcript.record(
                "cq control",
                call!(fid, ops, control, FI_ENABLE, null_mut()),
            );
            let mut words = [0_u64; 6];
            let to = words.as_mut_ptr().cast();
            transcript.record("cq sread", call!(queue, ops, sread, to, 1, null(), 1));
            transcript.record("cq signal", call!(queue, ops, signal));
            transcript.record(
                "cq sread, signalled",
                call!(queue, ops, sread, to, 1, null(), -1),
            );
            transcript.record("cq close", closed(queue));
        }
    }
}

/// # Safety
/// The sides are alive.
unsafe fn counters(transcript: &mut Transcript, a: &Side, b: &Side, to_b: u64, to_a: u64) {
    // SAFETY: the objects are alive until they are closed.
    unsafe {
        let mut counter = null_mut();
        for (wait, events) in [
            (FI_WAIT_NONE, 0),
            (FI_WAIT_YIELD, 0),
            (FI_WAIT_FD, 0),
            (FI_WAIT_NONE, 1),
        ] {
            let mut attr: CntrAttr = zeros();
            (attr.wait_obj, attr.events) = (wait, events);
            let opened = call!(
                a.domain,
                ops,
                cntr_open,
                &raw mut attr,
                &mut counter,
                null_mut()
            );
            transcript.record("cntr_open", (wait, events, opened));
            if opened == 0 {
                transcript.record("cntr close", closed(counter));
            }
        }
        let opened = call!(
            a.domain,
            ops,
            cntr_open,
            null_mut(),
            &mut counter,
            8 as *mut _
        );
        transcript.record("cntr_open", opened);
        transcript.record("cntr", ((*counter).fid.fclass, (*counter).fid.context));
        transcript.record("set", call!(counter, ops, set, 40));
        transcript.record("add", call!(counter, ops, add, 2));
        transcript.record("seterr", call!(counter, ops, seterr, 5));
        transcript.record("adderr", call!(counter, ops, adderr, 2));
        transcript.record(
            "read",
            (call!(counter, ops, read), call!(counter, ops, readerr)),
        );
        for threshold in [41, 42, 43] {
            transcript.record("wait", (threshold, call!(counter, ops, wait, threshold, 1)));
        }
        transcript.record("cntr close", closed(counter));
        // One counter for sends, one for receives, one for writes; and counts that differ.
        let (mut counters, fid) = ([null_mut(); 3], a.ep.cast::<Fid>());
        for (counter, flags) in counters.iter_mut().zip([FI_SEND, FI_RECV, FI_WRITE]) {
            call!(a.domain, ops, cntr_open, null_mut(), counter, null_mut());
            transcript.record(
                "bind",
                (flags, call!(fid, ops, bind, counter.cast(), flags)),
            );
        }
        let (mut here, mut memory) = ([0; 1], [0; 8]);
        let (region, key) = register(b, &mut memory, FI_REMOTE_WRITE);
        // The last one waits for its receive.
        let (mut long, sent) = (vec![0; LONG_MAX + 1], vec![0; LONG_MAX + 1]);
        assert_eq!(b.receive(&mut long, FI_ADDR_UNSPEC, (9, 0), 1), 0);
        for (context, (bytes, tag)) in [(&sent[..1], 3); 3]
            .into_iter()
            .chain([(&sent[..], 9)])
            .enumerate()
        {
            a.send_now(bytes, to_b, tag, context);
            assert_eq!(a.wait(&[b]).context(), context);
        }
        assert_eq!(b.wait(&[]).context(), 1);
        for context in 0..3 {
            assert_eq!(a.receive(&mut here, FI_ADDR_UNSPEC, (4, 0), context), 0);
        }
        assert_eq!((a.cancel(1), a.wait(&[]).err), (0, FI_ECANCELED));
        for _ in 0..2 {
            b.send_now(b"x", to_a, 4, 0);
            assert_eq!(a.wait(&[b]).err, 0);
        }
        let (start, none) = (b"written".as_ptr().cast(), null_mut());
        let to = memory.as_ptr() as u64;
        assert_eq!(
            call!(a.ep, rma, write, start, 7, none, to_b, to, key, none),
            0
        );
        transcript.record(
            "write",
            (a.wait(&[b]).err, String::from_utf8_lossy(&memory[..7])),
        );
        for counter in counters {
            transcript.record(
                "counted",
                (call!(counter, ops, read), call!(counter, ops, readerr)),
            );
        }
        transcript.record("wait", call!(counters[0], ops, wait, 4, -1));
        // Reading a counter makes progress.
        assert_eq!(a.receive(&mut here, FI_ADDR_UNSPEC, (4, 0), 5), 0);
        b.send_now(b"x", to_a, 4, 0);
        transcript.record(
            "by reads",
            (0..1000).map(|_| call!(counters[1], ops, read)).max(),
        );
        assert_eq!(a.wait(&[b]).context(), 5);
        // So does reading the queue, on the short path too.
        assert_eq!(a.receive(&mut here, FI_ADDR_UNSPEC, (4, 0), 6), 0);
        b.send_now(b"x", to_a, 4, 0);
        transcript.record(
            "counted",
            (a.wait(&[b]).context(), call!(counters[1], ops, read)),
        );
        transcript.record("close", counters.map(closed));
        transcript.record("close", closed(region));
    }
}

/// # Safety
/// The sides are alive.
unsafe fn vectors(transcript: &mut Transcript, a: &Side, b: &Side) {
    // SAFETY: the objects are alive until they are closed.
    unsafe {
        let (mut vector, mut queue, mut fabric) = (null_mut(), null_mut(), null_mut());
        for (kind, flags, name) in [
            (FI_AV_UNSPEC, 0, null()),
            (FI_AV_MAP, FI_COMPLETION, null()),
            (FI_AV_TABLE, 0, null()),
            (9, 0, null()),
            (FI_AV_TABLE, FI_PEEK, null()),
            (FI_AV_TABLE, 0, c"shared".as_ptr()),
        ] {
            let mut attr: AvAttr = zeros();
            (attr.kind, attr.flags, attr.name) = (kind, flags, name);
            let opened = call!(
                a.domain,
                ops,
                av_open,
                &raw mut attr,
                &mut vector,
                9 as *mut _
            );
            transcript.record("av_open", (kind, flags, !name.is_null(), opened, attr.kind));
            if opened == 0 {
                transcript.record("av close", closed(vector));
            }
        }
        let mut attr: AvAttr = zeros();
        call!(
            a.domain,
            ops,
            av_open,
            &raw mut attr,
            &mut vector,
            9 as *mut _
        );
        transcript.record("av", ((*vector).fid.fclass, (*vector).fid.context));
        // Two names, with one between them that is none.
        let names = [b.name(), [0; Address::LENGTH], a.name(), b.name()].concat();
        let mut rows = [70; 4];
        let from = names.as_ptr().cast();
        let to = rows.as_mut_ptr();
        let inserted = call!(vector, ops, insert, from, 4, to, 0, null_mut());
        transcript.record("insert", (inserted, rows));
        let place = |row: u64| {
            let (mut bytes, mut length) = ([0_u8; Address::LENGTH], Address::LENGTH);
            let code = call!(
                vector,
                ops,
                lookup,
                row,
                bytes.as_mut_ptr().cast(),
                &mut length
            );
            let whose = [a, b].iter().position(|side| side.name() == bytes);
            (row, code, length, whose.map(|side| ["a", "b"][side]))
        };
        for row in 0..4 {
            transcript.record("lookup", place(row));
        }
        let (mut bytes, mut length) = ([7_u8; 8], 4);
        call!(
            vector,
            ops,
            lookup,
            0,
            bytes.as_mut_ptr().cast(),
            &mut length
        );
        transcript.record(
            "lookup with room for 4",
            (bytes[..4] == b.name()[..4], &bytes[4..], length),
        );
        for mut gone in [[0, 1], [0, 1], [7, 2]] {
            transcript.record(
                "remove",
                (gone, call!(vector, ops, remove, gone.as_mut_ptr(), 2, 0)),
            );
            for row in 0..3 {
                transcript.record("lookup", place(row));
            }
        }
        let inserted = call!(vector, ops, insert, from, 1, null_mut(), 0, null_mut());
        transcript.record("insert", (inserted, place(2), place(1), place(0)));
        transcript.record(
            "insertsvc",
            call!(vector, ops, insertsvc, null(), null(), to, 0, null_mut()),
        );
        let sym = call!(
            vector,
            ops,
            insertsym,
            null(),
            0,
            null(),
            0,
            to,
            0,
            null_mut()
        );
        transcript.record("insertsym", sym);

        for room in [0, 5, 60] {
            let (mut text, mut length) = ([b'-'; 64], room);
            let start = text.as_mut_ptr().cast();
            let second = names[Address::LENGTH..].as_ptr().cast();
            call!(vector, ops, straddr, second, start, &mut length);
            transcript.record(
                "straddr",
                (room, length, String::from_utf8_lossy(&text[..24])),
            );
            let mut length = room;
            call!(vector, ops, straddr, from, start, &mut length);
            transcript.record(
                "straddr of one",
                (length, String::from_utf8_lossy(&text[..11])),
            );
        }
        let fid = vector.cast::<Fid>();
        transcript.record(
            "av bind of a queue",
            call!(fid, ops, bind, a.queue.cast(), 0),
        );
        objects::fabric(null_mut(), &mut fabric, null_mut());
        call!(fabric, ops, eq_open, null_mut(), &mut queue, null_mut());
        transcript.record("av bind", call!(fid, ops, bind, queue.cast(), 0));
        let inserted = call!(vector, ops, insert, from, 3, to, 0, 31 as *mut _);
        transcript.record("insert, told by an event", (inserted, rows));
        let (mut event, mut entry): (u32, EqEntry) = (0, zeros());
        let got = call!(queue, ops, read, &mut event, (&raw mut entry).cast(), 24, 0);
        transcript.record(
            "event",
            (got, event, entry.context, entry.data, entry.fid == fid),
        );
        for object in [fid, queue.cast(), fabric.cast()] {
            transcript.record("close", closed(object));
        }
    }
}

/// # Safety
/// The side is alive.
unsafe fn endpoints(transcript: &mut Transcript, a: &Side, b: &Side) {
    // SAFETY: the objects are alive until they are closed.
    unsafe {
        let (domain, ep, none) = (a.domain, a.ep, null_mut());
        transcript.record(
            "scalable_ep",
            call!(domain, ops, scalable_ep, null_mut(), null_mut(), none),
        );
        transcript.record(
            "stx_ctx",
            call!(domain, ops, stx_ctx, none, null_mut(), none),
        );
        transcript.record(
            "srx_ctx",
            call!(domain, ops, srx_ctx, none, null_mut(), none),
        );
        transcript.record(
            "query_atomic",
            call!(domain, ops, query_atomic, 0, 0, none, 0),
        );
        transcript.record("ep", ((*ep).fid.fclass, (*domain).fid.fclass));
        transcript.record(
            "size_left",
            (call!(ep, ops, tx_size_left), call!(ep, ops, rx_size_left)),
        );
        transcript.record("tx_ctx", call!(ep, ops, tx_ctx, 0, none, null_mut(), none));
        transcript.record("rx_ctx", call!(ep, ops, rx_ctx, 0, none, null_mut(), none));
        transcript.record(
            "writevalid",
            call!(ep, atomic, writevalid, 0, 0, null_mut()),
        );
        transcript.record(
            "readwritevalid",
            call!(ep, atomic, readwritevalid, 0, 0, null_mut()),
        );
        transcript.record(
            "compwritevalid",
            call!(ep, atomic, compwritevalid, 0, 0, null_mut()),
        );
        transcript.record("getpeer", call!(ep, cm, getpeer, none, null_mut()));
        transcript.record("connect", call!(ep, cm, connect, null(), null(), 0));
        transcript.record("accept", call!(ep, cm, accept, null(), 0));
        transcript.record("shutdown", call!(ep, cm, shutdown, 0));
        transcript.record("join", call!(ep, cm, join, null(), 0, null_mut(), none));
        let (fid, cm, ops) = (ep.cast::<Fid>(), &*(*ep).cm, &*(*ep).ops);
        transcript.record("setname", cm.setname.expect("there")(fid, none, 0));
        transcript.record("listen", cm.listen.expect("there")(ep.cast()));
        transcript.record(
            "reject",
            cm.reject.expect("there")(ep.cast(), fid, null(), 0),
        );
        for room in [Address::LENGTH - 1, Address::LENGTH] {
            let (mut bytes, mut length) = ([0_u8; Address::LENGTH], room);
            let code = cm.getname.expect("there")(fid, bytes.as_mut_ptr().cast(), &mut length);
            transcript.record("getname", (room, code, length, bytes == a.name()));
        }
        let (getopt, setopt) = (ops.getopt.expect("there"), ops.setopt.expect("there"));
        let (level, name) = (FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV);
        let (mut value, mut length) = (0_usize, 0);
        let place = (&raw mut value).cast();
        transcript.record("getopt", getopt(fid, level, name, place, &mut length));
        transcript.record("its value", (value, length));
        value = 77;
        for (level, name, bytes) in [
            (level, name, 8),
            (level, name, 4),
            (9, name, 8),
            (level, 9, 8),
        ] {
            transcript.record("setopt", (bytes, setopt(fid, level, name, place, bytes)));
            transcript.record("getopt", getopt(fid, level, name, place, &mut length));
            transcript.record("its value", value);
            value += 1;
        }
        transcript.record("control", call!(fid, ops, control, FI_GETWAIT, none));
        let mut bare = null_mut();
        transcript.record(
            "endpoint",
            call!(domain, ops, endpoint, none.cast(), &mut bare, 4 as *mut _),
        );
        let fid = bare.cast::<Fid>();
        transcript.record("its context", (*bare).fid.context);
        transcript.record(
            "enable without a vector",
            call!(fid, ops, control, FI_ENABLE, none),
        );
        transcript.record("bind of a domain", call!(fid, ops, bind, domain.cast(), 0));
        let (mut vector, mut counter, mut attr) = (null_mut(), null_mut(), zeros());
        call!(domain, ops, av_open, &raw mut attr, &mut vector, none);
        call!(domain, ops, cntr_open, null_mut(), &mut counter, none);
        transcript.record("bind of a vector", call!(fid, ops, bind, vector.cast(), 0));
        let (names, mut row) = ([b.name(), a.name()].concat(), [0; 2]);
        call!(
            vector,
            ops,
            insert,
            names.as_ptr().cast(),
            2,
            row.as_mut_ptr(),
            0,
            none
        );
        let (text, long) = (b"too early".as_ptr().cast(), [0_u8; EAGER_MAX + 1]);
        transcript.record(
            "send before enable",
            call!(bare, tagged, send, text, 9, none, row[1], 1, none),
        );
        let long: *const c_void = long.as_ptr().cast();
        for row in [row[0], 70] {
            transcript.record(
                "injected",
                call!(ep, tagged, inject, long, EAGER_MAX + 1, row, 1),
            );
        }
        // Nobody listens there; on another machine without a port.
        let [nobody, other] = [(); 2].map(|()| Address::fresh().expect("an address"));
        let elsewhere = Address {
            host: other.host + 1,
            ..other
        };
        for name in [nobody, elsewhere] {
            let row = a.insert(&name.to_bytes());
            transcript.record("send to nobody", a.send(b"x", row, 1, 2));
            a.remove(row);
        }
        // An endpoint with a full backlog.
        let full = Address::fresh().expect("an address");
        let name = SocketAddrUnix::new_abstract_name(full.socket_name().as_bytes());
        let socket = rustix::net::socket(AddressFamily::UNIX, SocketType::SEQPACKET, None);
        let (socket, row) = (socket.expect("a socket"), a.insert(&full.to_bytes()));
        rustix::net::bind(&socket, &name.expect("a name")).expect("a free name");
        rustix::net::listen(&socket, 0).expect("a socket");
        let _caller = call_on(&full);
        transcript.record("send to a busy one", a.send(b"x", row, 1, 2));
        transcript.record(
            "enable without a queue",
            call!(fid, ops, control, FI_ENABLE, none),
        );
        transcript.record(
            "bind of a counter",
            call!(fid, ops, bind, counter.cast(), FI_SEND),
        );
        transcript.record("enable", call!(fid, ops, control, FI_ENABLE, none));
        for object in [fid, vector.cast(), counter.cast()] {
            transcript.record("close", closed(object));
        }
    }
}

/// # Safety
/// The side is alive.
unsafe fn regions(transcript: &mut Transcript, a: &Side) {
    // SAFETY: the objects are alive until they are closed.
    unsafe {
        let (mut memory, mut regions) = ([0_u8; 64], Vec::new());
        let (domain, ops) = (a.domain.cast::<Fid>(), &*(*a.domain).mr);
        let start: *mut c_void = memory.as_mut_ptr().cast();
        let one = IoVec {
            iov_base: start,
            iov_len: 64,
        };
        for (mode, access, key) in [
            (FI_MR_PROV_KEY | FI_MR_VIRT_ADDR, FI_REMOTE_READ, 5),
            (FI_MR_BASIC, FI_REMOTE_READ, 5),
            (0, FI_REMOTE_READ, 5),
            (0, FI_REMOTE_READ, 5),
            (0, FI_REMOTE_WRITE, 6),
            (0, 0, 6),
        ] {
            a.state(|state| state.common.mr_mode = mode);
            let mut region = null_mut();
            let reg = ops.reg.expect("there");
            let code = reg(
                domain,
                start,
                64,
                access,
                0,
                key,
                0,
                &mut region,
                3 as *mut _,
            );
            transcript.record("reg", (mode, access, key, code));
            if code == 0 {
                let FidMr { fid, mem_desc, key } = &*region;
                transcript.record(
                    "region",
                    (fid.fclass, fid.context, mem_desc, format!("{key:x}")),
                );
                regions.push(region);
            }
        }
        let mut region = null_mut();
        let regv = ops.regv.expect("there");
        for count in [0, 2] {
            let code = regv(
                domain,
                &raw const one,
                count,
                0,
                0,
                0,
                0,
                &mut region,
                null_mut(),
            );
            transcript.record("regv", code);
        }
        let mut attr: MrAttr = zeros();
        (attr.mr_iov, attr.iov_count, attr.requested_key) = (&raw const one, 1, 8);
        (attr.access, attr.context) = (FI_REMOTE_READ, 2 as *mut _);
        transcript.record(
            "regattr",
            ops.regattr.expect("there")(domain, &raw const attr, 0, &mut region),
        );
        transcript.record("its key", ((*region).key, (*region).fid.context));
        let fid = region.cast::<Fid>();
        transcript.record("mr bind", call!(fid, ops, bind, null_mut(), 0));
        transcript.record("mr enable", call!(fid, ops, control, FI_ENABLE, null_mut()));
        transcript.record(
            "mr control",
            call!(fid, ops, control, FI_GETWAIT, null_mut()),
        );
        regions.push(region);
        for region in regions {
            let count = a.state(|state| state.common.regions.len());
            transcript.record("regions", (count, closed(region)));
        }
    }
}

/// What a program that waits for a queue's descriptor sees: it may sleep where nothing waits for
/// it, and a message wakes it.
fn sleepers(transcript: &mut Transcript) {
    // In memory, and by TCP.
    for host in [1, 2] {
        let (a, b) = (Side::over_tcp(1), Side::over_tcp(host));
        let (to_b, mut here, mut place) = (a.insert(&b.name()), [0; 1], -1);
        still_works(&a, &b, to_b);
        let mut fids = [b.queue.cast::<Fid>()];
        // SAFETY: the objects are alive until the end.
        unsafe {
            let to = (&raw mut place).cast();
            transcript.record("GETWAIT", call!(fids[0], ops, control, FI_GETWAIT, to));
            let woken = |wait: i64| {
                let wait = Timespec {
                    tv_sec: wait,
                    tv_nsec: 0,
                };
                let place = std::os::fd::BorrowedFd::borrow_raw(place);
                poll(
                    &mut [PollFd::from_borrowed_fd(place, PollFlags::IN)],
                    Some(&wait),
                )
            };
            let mut trywait = || call!(b.fabric, ops, trywait, fids.as_mut_ptr(), 1);
            transcript.record("trywait", (trywait(), woken(0)));
            a.send_now(b"x", to_b, 4, 5);
            transcript.record("trywait, a message", (woken(20), trywait()));
            assert_eq!(b.receive(&mut here, FI_ADDR_UNSPEC, (4, 0), 6), 0);
            (0..200).for_each(|_| b.progress());
            transcript.record(
                "trywait, a completion",
                (trywait(), b.wait(&[]).context(), trywait()),
            );
            b.progress();
            a.send_now(b"y", to_b, 4, 7);
            transcript.record("awake", woken(20 * (host as i64 - 1)));
            call!(b.queue, ops, signal);
            transcript.record("trywait, signalled", (trywait(), b.read().is_some()));
        }
    }
}
