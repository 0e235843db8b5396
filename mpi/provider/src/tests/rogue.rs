//! Peers that do not keep the rules, from the hello on: the endpoint goes on with the others.

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::net::{AddressFamily, SendFlags, SocketAddrUnix, SocketFlags, SocketType};

use super::side::{Side, pair};
use crate::bindings::*;
use crate::wire::{Address, Kind, Record, connect, flag};

fn address(side: &Side) -> Address {
    Address::from_bytes(&side.name()).expect("an address of this provider")
}

/// A socket that is connected to the endpoint and has said nothing.
fn call_on(to: &Address) -> OwnedFd {
    let flags = SocketFlags::CLOEXEC;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None);
    let socket = socket.expect("a socket");
    let name = SocketAddrUnix::new_abstract_name(to.socket_name().as_bytes()).expect("a name");
    rustix::net::connect(&socket, &name).expect("the endpoint listens");
    socket
}

/// One message goes from one side to the other.
fn still_works(a: &Side, b: &Side, to_b: u64) {
    let mut buffer = [0; 4];
    assert_eq!(b.receive(&mut buffer, FI_ADDR_UNSPEC, (77, 0), 1), 0);
    a.send_now(b"good", to_b, 77, 2);
    assert_eq!((b.wait(&[a]).context(), &buffer), (1, b"good"));
    assert_eq!(a.wait(&[b]).context(), 2);
}

fn totals(side: &Side) -> (u64, u64) {
    // SAFETY: a domain of this side.
    unsafe {
        crate::objects::in_domain(side.domain, |state| {
            let totals = &state.endpoints[0].totals;
            (totals.refused_peers, totals.lost_peers)
        })
    }
}

/// Makes progress until so many peers were refused and lost.
fn until(side: &Side, reached: impl Fn((u64, u64)) -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !reached(totals(side)) {
        assert!(Instant::now() < end, "refused and lost: {:?}", totals(side));
        side.progress();
    }
}

#[test]
fn a_hello_that_is_none() {
    let (a, b, to_b, _) = pair(|_| ());
    let to = address(&b);
    let mut sockets = Vec::new();
    for length in [1, 79, 80, 81, 4000] {
        let socket = call_on(&to);
        rustix::net::send(&socket, &vec![0x44; length], SendFlags::empty()).expect("a packet");
        sockets.push(socket);
    }
    // One that says nothing, and one that goes away at once.
    sockets.push(call_on(&to));
    drop(call_on(&to));
    still_works(&a, &b, to_b);
    until(&b, |(refused, _)| refused == 6);
    still_works(&a, &b, to_b);
}

#[test]
fn a_key_that_is_wrong_and_a_file_that_is_missing() {
    let (a, b, to_b, _) = pair(|_| ());
    let to = address(&b);
    let wrong = Address { key: to.key ^ 1, ..to };
    let _link = connect(&address(&a), &wrong, 1024).expect("the socket takes everybody");
    // The right hello, without the memory that belongs to it.
    let socket = call_on(&to);
    let mut hello = a.name().to_vec();
    hello.extend_from_slice(&to.key.to_be_bytes());
    hello.extend_from_slice(&1024_u32.to_be_bytes());
    hello.extend_from_slice(&0x0102_0304_u32.to_ne_bytes());
    rustix::net::send(&socket, &hello, SendFlags::empty()).expect("a packet");
    until(&b, |(refused, _)| refused == 2);
    still_works(&a, &b, to_b);
}

/// Records that are well formed and lie: about sends, transfers and regions that are not theirs.
#[test]
fn records_about_what_is_not_theirs() {
    let ack = Record { flags: flag::ACK, ..Record::new(Kind::Rendezvous) };
    let lies = [
        Record { cookie: 5, ..Record::new(Kind::Fin) },
        Record { cookie: u64::MAX, ..Record::new(Kind::Fin) },
        Record { cookie: 5, ..Record::new(Kind::Pull) },
        Record { cookie: 0, bytes: 0, ..Record::new(Kind::Data) },
        // An announcement that nobody waits to hear of, which could never end.
        Record { flags: 0, ..ack },
        Record::new(Kind::Wrap),
    ];
    for lie in lies {
        let (a, b, to_b, _) = pair(|_| ());
        let mut link = connect(&address(&a), &address(&b), 1024).expect("a link");
        // SAFETY: no payload.
        assert_eq!(unsafe { link.put(lie, &[], 0) }, Ok(true));
        until(&b, |(_, lost)| lost == 1);
        drop(link);
        still_works(&a, &b, to_b);
    }
}

/// Data that a peer announces and does not have: the receive fails or waits, and others go on.
#[test]
fn an_announcement_of_memory_that_is_not_there() {
    let (a, b, to_b, _) = pair(|_| ());
    let mut link = connect(&address(&a), &address(&b), 1024).expect("a link");
    let record = Record {
        flags: flag::ACK | flag::TAGGED,
        tag: 5,
        body: [1 << 20, 8, 0],
        ..Record::new(Kind::Rendezvous)
    };
    // SAFETY: no payload.
    assert_eq!(unsafe { link.put(record, &[], 0) }, Ok(true));
    let mut buffer = vec![0; 1 << 20];
    assert_eq!(b.receive(&mut buffer, FI_ADDR_UNSPEC, (5, 0), 9), 0);
    (0..1_000).for_each(|_| b.progress());
    still_works(&a, &b, to_b);
    drop(link);
    let done = b.wait(&[]);
    assert_eq!((done.context(), done.err), (9, FI_ECONNRESET));
    still_works(&a, &b, to_b);
}
