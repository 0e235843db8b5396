//! Peers that break the rules, from the hello on: the endpoint continues with the others.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use dpamatch_needs::Need;
use rustix::net::{AddressFamily, SendFlags, SocketAddrUnix, SocketFlags, SocketType};

use super::model::Random;
use super::regions::{register, transfer};
use super::side::{Patience, Side, pair, pattern};
use crate::bindings::*;
use crate::endpoint::{OUTSTANDING_MAX, Totals};
use crate::options::ProviderOptions;
use crate::wire::{
    Address, CALL, EAGER_MAX, Hello, Kind, LONG_MAX, Link, PEERS_MIN, PROOF, Record, connect, flag,
    new_file, ring_bytes, send_file,
};

pub(super) fn address(side: &Side) -> Address {
    Address::from_bytes(&side.name()).expect("an address of this provider")
}

/// A socket that is connected to the endpoint and has said nothing.
pub(super) fn call_on(to: &Address) -> OwnedFd {
    let flags = SocketFlags::CLOEXEC;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None);
    let socket = socket.expect("a socket");
    let name = SocketAddrUnix::new_abstract_name(to.socket_name().as_bytes()).expect("a name");
    rustix::net::connect(&socket, &name).expect("the endpoint listens");
    socket
}

fn hello(from: &Address, to: &Address, lines: u32) -> Vec<u8> {
    Hello {
        from: *from,
        key: to.key,
        lines,
    }
    .to_bytes()
    .to_vec()
}

/// One message goes from one side to the other.
pub(super) fn still_works(a: &Side, b: &Side, to_b: u64) {
    let mut buffer = [0; 4];
    assert_eq!(b.receive(&mut buffer, FI_ADDR_UNSPEC, (77, 0), 1), 0);
    a.send_now(b"good", to_b, 77, 2);
    assert_eq!((b.wait(&[a]).context(), &buffer), (1, b"good"));
    assert_eq!(a.wait(&[b]).context(), 2);
}

pub(super) fn totals(side: &Side) -> Totals {
    side.state(|state| state.endpoints[0].totals)
}

pub(super) fn peers_connections_and_places(side: &Side) -> (usize, usize, usize) {
    side.state(|state| {
        let (connections, places) = state.endpoints[0].connections_and_places();
        (state.common.peers.count(), connections, places)
    })
}

/// A new peer of the endpoint, without its own provider.
pub(super) fn peer(of: &Side, lines: usize) -> (Address, Link) {
    let from = Address::fresh().expect("an address");
    (
        from,
        connect(&from, &address(of), lines, None).expect("a link"),
    )
}

/// Announces data that the peer does not have.
const ANNOUNCEMENT: Record = Record {
    flags: flag::ACK | flag::TAGGED,
    tag: 5,
    body: [1 << 20, 8, 0],
    ..Record::new(Kind::Rendezvous)
};

/// Makes progress until the endpoint has counted this.
pub(super) fn until(side: &Side, reached: impl Fn(Totals) -> bool) {
    let mut patience = Patience::default();
    while !reached(totals(side)) {
        assert!(patience.lasts(), "{:?}", totals(side));
        side.progress();
    }
}

/// Hellos that are none, with a wrong key, and without the memory file.
#[test]
fn hellos_that_are_refused() {
    let (a, b, to_b, _) = pair(|_| ());
    let to = address(&b);
    let mut sockets = Vec::new();
    for length in [1, 79, 80, 81, 4000] {
        let socket = call_on(&to);
        rustix::net::send(&socket, &vec![0x44; length], SendFlags::empty()).expect("a packet");
        sockets.push(socket);
    }
    // One that says nothing, and one that goes away immediately.
    sockets.push(call_on(&to));
    drop(call_on(&to));
    still_works(&a, &b, to_b);
    until(&b, |seen| seen.refused == 6);
    let wrong = Address {
        key: to.key ^ 1,
        ..to
    };
    let _link = connect(&address(&a), &wrong, 1024, None).expect("the socket takes everybody");
    // The right hello without its memory file.
    let socket = call_on(&to);
    let hello = hello(&address(&a), &to, 1024);
    rustix::net::send(&socket, &hello, SendFlags::empty()).expect("a packet");
    until(&b, |seen| seen.refused == 8);
    // The one that said nothing, and has a place.
    rustix::net::send(&sockets[5], &[0x44; 80], SendFlags::empty()).expect("a packet");
    until(&b, |seen| seen.refused == 9);
    still_works(&a, &b, to_b);
}

/// Records that are well formed and lie: about sends, transfers and regions that are not theirs.
#[test]
fn records_about_what_is_not_theirs() {
    let ack = Record {
        flags: flag::ACK,
        ..Record::new(Kind::Rendezvous)
    };
    let lies = [
        Record {
            cookie: 5,
            ..Record::new(Kind::Fin)
        },
        Record {
            cookie: u64::MAX,
            ..Record::new(Kind::Fin)
        },
        Record {
            cookie: 5,
            ..Record::new(Kind::Pull)
        },
        Record {
            cookie: 0,
            bytes: 0,
            ..Record::new(Kind::Data)
        },
        Record {
            cookie: 5,
            ..Record::new(Kind::Grant)
        },
        Record {
            cookie: 5,
            ..Record::new(Kind::Return)
        },
        // An announcement with no sender waiting for it, which could never end.
        Record { flags: 0, ..ack },
        Record::new(Kind::Wrap),
        // Data of a long message out of their ring, and a head without data.
        Record::new(Kind::Long),
        Record {
            bytes: EAGER_MAX as u32 + 1,
            ..Record::new(Kind::Eager)
        },
    ];
    // Data of another length than their head names.
    let data = |bytes| Record {
        bytes,
        ..Record::new(Kind::Long)
    };
    let head = |bytes| Record {
        bytes,
        ..Record::new(Kind::Eager)
    };
    let lengths = [(9000, 9001), (9001, 9000), (0, 9000)];
    let pairs = lengths.map(|(put, named)| (Some(data(put)), head(named)));
    let mut bytes = pattern(1, 9001);
    let iov = [IoVec {
        iov_base: bytes.as_mut_ptr().cast(),
        iov_len: bytes.len(),
    }];
    for (data, lie) in lies.map(|lie| (None, lie)).into_iter().chain(pairs) {
        let (a, b, to_b, _) = pair(|_| ());
        let mut link = connect(&address(&a), &address(&b), 1024, None).expect("a link");
        if let Some(data) = data {
            // SAFETY: the list holds as many bytes as the record says.
            assert_eq!(unsafe { link.put_in(true, data, &iov, 0) }, Ok(true));
            (0..200).for_each(|_| b.progress());
            assert_eq!(totals(&b).lost, 0, "data may wait for their head");
        }
        assert_eq!(link.put_head(lie), Ok(true));
        until(&b, |seen| seen.lost == 1);
        drop(link);
        still_works(&a, &b, to_b);
    }
}

/// Data that a peer announces and does not have: the receive fails or waits, and others go on.
#[test]
fn an_announcement_of_memory_that_is_not_there() {
    let (a, b, to_b, _) = pair(|_| ());
    let mut link = connect(&address(&a), &address(&b), 1024, None).expect("a link");
    assert_eq!(link.put_head(ANNOUNCEMENT), Ok(true));
    let mut buffer = vec![0; 1 << 20];
    assert_eq!(b.receive(&mut buffer, FI_ADDR_UNSPEC, (5, 0), 9), 0);
    (0..1_000).for_each(|_| b.progress());
    still_works(&a, &b, to_b);
    drop(link);
    let done = b.wait(&[]);
    assert_eq!((done.context(), done.err), (9, FI_ECONNRESET));
    assert_eq!(
        b.state(|state| state.endpoints[0].receives()),
        0,
        "the receive is over"
    );
    still_works(&a, &b, to_b);
}

/// Callers that say nothing: more than the endpoint has places for.
#[test]
fn silent_callers_keep_no_peer_out() {
    let (a, b) = (Side::open(|_| ()), Side::open(|_| ()));
    let to = address(&b);
    let _silent: Vec<_> = (0..300).map(|_| call_on(&to)).collect();
    (0..1_000).for_each(|_| b.progress());
    assert_eq!(
        totals(&b).refused,
        300 - 96,
        "those of one process have 96 places"
    );
    still_works(&a, &b, a.insert(&b.name()));
}

/// Callers of another user get no place at all. Only root can call as one.
#[test]
fn callers_of_another_user_are_refused_at_once() {
    if !Need::Root.require(rustix::process::geteuid().is_root()) {
        return;
    }
    let b = Side::open(|_| ());
    let to = address(&b);
    let call = move || {
        // SAFETY: the system call itself changes the user of this thread alone.
        let changed = unsafe { libc::syscall(libc::SYS_setresuid, 65_534, 65_534, 65_534) };
        assert_eq!(changed, 0, "root becomes another user");
        (0..300).map(|_| call_on(&to)).collect::<Vec<_>>()
    };
    let _silent = std::thread::spawn(call).join().expect("calls");
    until(&b, |seen| seen.refused == 300);
}

/// Silent callers over TCP. A caller that is slow to say hello gets in once the silent ones have
/// had their time.
#[test]
fn silent_callers_from_outside_keep_no_peer_out() {
    let (a, b) = (Side::over_tcp(1), Side::over_tcp(2));
    let to = address(&b);
    let port = to.tcp.expect("a port");
    let silent: Vec<_> = (0..300)
        .map(|_| TcpStream::connect(port).expect("a port"))
        .collect();
    (0..1_000).for_each(|_| b.progress());
    assert_eq!(
        totals(&b).refused,
        300 - 96,
        "those of one machine have 96 places"
    );
    still_works(&a, &b, a.insert(&b.name()));
    // From another machine, beyond the places of all; one of this machine has its own.
    let _others = [(); 100].map(|()| {
        let socket = rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None);
        let socket = socket.expect("a socket");
        let from = SocketAddr::new("127.0.0.2".parse().expect("an address"), 0);
        rustix::net::bind(&socket, &from).expect("an address of this machine");
        rustix::net::connect(&socket, &port).expect("a port");
        socket
    });
    (0..1_000).for_each(|_| b.progress());
    assert_eq!(totals(&b).refused, 300 - 96, "they wait for a place");
    let near = Address {
        host: to.host,
        ..Address::fresh().expect("an address")
    };
    let _link = connect(&near, &to, 512, None).expect("a link");
    (0..1_000).for_each(|_| b.progress());
    assert_eq!(totals(&b).connected, 2);

    std::thread::sleep(Duration::from_millis(1_500));
    let mut slow = TcpStream::connect(port).expect("a port");
    (0..1_000).for_each(|_| b.progress());
    let (call, owed) = crate::wire::call(&to).expect("random numbers");
    let hello = hello(&Address::fresh().expect("an address"), &to, 0);
    let mut say = |bytes: &[u8]| {
        slow.write_all(bytes).expect("a stream");
        (0..200).for_each(|_| b.progress());
    };
    say(&call[..20]);
    say(&call[20..]);
    say(&hello[..50]);
    assert_eq!(totals(&b).connected, 2, "the hello is not whole");
    say(&hello[50..]);
    until(&b, |seen| seen.connected == 3);
    let mut proof = [0; PROOF];
    slow.read_exact(&mut proof).expect("an answer");
    assert_eq!(proof, owed);
    drop(silent);
}

/// More peers of one machine than it has places call at the same time over TCP. Who has proved that
/// it knows the key needs no place. Calls without the key are refused, and so is the hello of one.
#[test]
fn many_peers_of_one_machine_call_at_once() {
    const PEERS: u64 = 150;
    let (a, b) = (Side::over_tcp(1), Side::over_tcp(2));
    let to = address(&b);
    let call = |to: &Address| {
        let from = Address::fresh().expect("an address");
        connect(&from, to, 512, None).expect("a link")
    };
    let mut links: Vec<_> = (0..PEERS).map(|_| call(&to)).collect();
    let message = Record {
        flags: flag::TAGGED,
        tag: 8,
        ..Record::new(Kind::Eager)
    };
    for link in &mut links {
        assert_eq!(link.put_head(message), Ok(true));
    }
    // All are accepted before one of them hears its answer.
    (0..1_000).for_each(|_| b.progress());
    assert_eq!((totals(&b).connected, totals(&b).refused), (0, 0));
    still_works(&a, &b, a.insert(&b.name()));
    for _ in 0..PEERS {
        let mut none = [];
        assert_eq!(b.receive(&mut none, FI_ADDR_UNSPEC, (8, 0), 7), 0);
    }
    let mut got = 0;
    let mut patience = Patience::default();
    while got < PEERS {
        links.iter_mut().for_each(Link::on_readable);
        got += b.read_some(8).len() as u64;
        assert!(patience.lasts(), "{got} messages, {:?}", totals(&b));
    }
    assert_eq!((totals(&b).connected, totals(&b).refused), (PEERS + 1, 0));

    let key = to.key ^ 1;
    let mut wrong = call(&Address { key, ..to });
    assert_eq!(wrong.put_head(message), Ok(true));
    until(&b, |seen| seen.refused == 1);
    let mut patience = Patience::default();
    while wrong.next().is_ok() {
        assert!(patience.lasts(), "the caller is not told");
        wrong.on_readable();
    }
    // The right call, and a hello with a wrong key.
    let mut socket = TcpStream::connect(to.tcp.expect("a port")).expect("a port");
    let (first, _) = crate::wire::call(&to).expect("random numbers");
    socket.write_all(&first).expect("a stream");
    (0..200).for_each(|_| b.progress());
    assert_eq!(totals(&b).refused, 1);
    let hello = hello(&address(&a), &Address { key, ..to }, 0);
    socket.write_all(&hello).expect("a stream");
    until(&b, |seen| seen.refused == 2);
    assert_eq!(totals(&b).connected, PEERS + 1);
}

/// Peers that leave add no work to a round of progress and take no memory for ever. Those that
/// something refers to keep their numbers.
#[test]
fn gone_peers_are_forgotten() {
    let b = Side::open(|_| ());
    let to = address(&b);
    let fresh = || Address::fresh().expect("an address");
    let call = |from: &Address| connect(from, &to, 512, None).expect("a link");
    let message = |tag| Record {
        flags: flag::TAGGED,
        tag,
        ..Record::new(Kind::Eager)
    };
    // The first is in the vector, a message of the second waits, the third stays connected, and a
    // completion of the fourth waits.
    let [listed, waits, stays, ends] = [fresh(), fresh(), fresh(), fresh()];
    let row = b.insert(&listed.to_bytes());
    let mut posted = [];
    assert_eq!(b.receive(&mut posted, FI_ADDR_UNSPEC, (6, 0), 3), 0);
    for (gone, (from, tag)) in (1..).zip([(listed, 4), (waits, 5), (ends, 6)]) {
        assert_eq!(call(&from).put_head(message(tag)), Ok(true));
        until(&b, |seen| seen.lost == gone);
    }
    let mut link = call(&stays);
    until(&b, |seen| seen.connected == 4);
    for gone in 4..3 * PEERS_MIN as u64 {
        drop(call(&fresh()));
        until(&b, |seen| seen.lost == gone);
    }
    let (peers, now, places) = peers_connections_and_places(&b);
    assert_eq!((peers, now), (PEERS_MIN, 1));
    assert!(places <= 8, "{places} places");

    assert_eq!(link.put_head(message(7)), Ok(true));
    let [of_ends, of_waits, of_stays] =
        [&ends, &waits, &stays].map(|one| b.insert(&one.to_bytes()));
    let done = b.read().expect("a completion that waits");
    assert_eq!((done.context(), done.from), (3, of_ends));
    for (source, tag) in [(row, 4), (of_waits, 5), (of_stays, 7)] {
        assert_eq!(b.receive(&mut [], source, (tag, 0), 1), 0);
        let done = b.wait(&[]);
        assert_eq!((done.err, done.entry.tag, done.from), (0, tag, source));
    }
}

/// A message of a lost peer waits for its receive. The endpoint does not ask the newer peer with
/// that connection number for its data.
#[test]
fn a_gone_peer_is_not_taken_for_the_next_one() {
    let b = Side::open(|_| ());
    let (from, mut first) = peer(&b, 1024);
    let row = b.insert(&from.to_bytes());
    assert_eq!(first.put_head(ANNOUNCEMENT), Ok(true));
    (0..200).for_each(|_| b.progress());
    drop(first);
    until(&b, |seen| seen.lost == 1);
    let (_, mut second) = peer(&b, 1024);
    until(&b, |seen| seen.connected == 2);
    let long = vec![1; 1 << 20];
    let codes = [&long[..1], &long].map(|bytes| b.send(bytes, row, 5, 1));
    assert_eq!(codes, [-(FI_ECONNRESET as isize); 2]);
    let mut buffer = vec![0; 1 << 20];
    assert_eq!(b.receive(&mut buffer, FI_ADDR_UNSPEC, (5, 0), 9), 0);
    assert_eq!(b.wait(&[]).err, FI_ECONNRESET);
    assert_eq!(second.next().map(|next| next.is_some()), Ok(false));
}

/// A peer that sends ever more requests and reads no answer.
#[test]
fn a_peer_that_never_reads_is_cut_off() {
    let read = Record {
        flags: flag::ACK,
        data: 99,
        body: [8, 0, 0],
        ..Record::new(Kind::Read)
    };
    let message = Record {
        flags: flag::ACK | flag::TAGGED,
        tag: 3,
        ..Record::new(Kind::Eager)
    };
    let granted = Record {
        body: [8, 0, 1],
        ..read
    };
    // A refusal, the end of a message, data in pieces, and a grant.
    for (request, registered) in [
        (read, false),
        (message, false),
        (read, true),
        (granted, true),
    ] {
        let (a, b, to_b, _) = pair(|_| ());
        let mut memory = [1; 8];
        let (_, key) = register(&b, &mut memory, FI_REMOTE_READ);
        let request = match registered {
            true => Record {
                tag: memory.as_ptr() as u64,
                data: key,
                ..request
            },
            false => request,
        };
        let mut link = connect(&address(&a), &address(&b), 1024, None).expect("a link");
        let mut put = 0;
        while totals(&b).lost == 0 {
            assert!(put < 100_000, "{put} requests without an answer read");
            match link.put_head(request) {
                Ok(true) => put += 1,
                _ => b.progress(),
            }
            if request.kind == Kind::Eager {
                assert_eq!(b.receive(&mut [], FI_ADDR_UNSPEC, (3, 0), 1), 0);
                while b.read().is_some() {}
            }
        }
        still_works(&a, &b, to_b);
    }
}

/// A peer that reads all grants, and returns none of them.
#[test]
fn a_peer_that_returns_nothing_is_cut_off() {
    let (a, b, to_b, _) = pair(|_| ());
    let mut memory = [1; 8];
    let (_, key) = register(&b, &mut memory, FI_REMOTE_READ);
    let read = Record {
        flags: flag::ACK,
        tag: memory.as_ptr() as u64,
        data: key,
        body: [8, 0, 1],
        ..Record::new(Kind::Read)
    };
    let (_, mut link) = peer(&b, 1024);
    let (mut put, mut granted) = (0, 0);
    while totals(&b).lost == 0 {
        match link.put_head(read) {
            Ok(true) => put += 1,
            _ => b.progress(),
        }
        assert!(put < 2 * OUTSTANDING_MAX);
        while let Ok(Some((grant, _))) = link.next() {
            assert_eq!(grant.body[1], granted, "each grant has a number");
            granted += 1;
        }
        link.release();
    }
    while let Ok(Some(_)) = link.next() {
        granted += 1;
    }
    assert_eq!(granted, OUTSTANDING_MAX as u64);
    still_works(&a, &b, to_b);
}

/// Answers for which there is no room wait, and go out in order.
#[test]
fn answers_wait_for_a_peer_that_is_slow() {
    const COUNT: u64 = 2_000;
    let b = Side::open(|_| ());
    let (_, mut link) = peer(&b, 512);
    let kind = Record {
        flags: flag::ACK | flag::TAGGED,
        tag: 3,
        ..Record::new(Kind::Eager)
    };
    let mut answers = Vec::new();
    for cookie in 0..COUNT {
        assert_eq!(link.put_head(Record { cookie, ..kind }), Ok(true));
        assert_eq!(b.receive(&mut [], FI_ADDR_UNSPEC, (3, 0), 1), 0);
        assert_eq!(b.wait(&[]).err, 0);
        // There is room again, and others have waited for it longer.
        if cookie % 3 == 0 {
            answers.extend(
                link.next()
                    .expect("a link")
                    .map(|(answer, _)| answer.cookie),
            );
            link.release();
        }
    }
    for _ in 0..COUNT {
        while let Some((answer, _)) = link.next().expect("a link") {
            answers.push(answer.cookie);
        }
        link.release();
        b.progress();
    }
    assert!(answers.into_iter().eq(0..COUNT));
}

/// What the kernel has not taken when an endpoint is closed arrives.
#[test]
fn a_stream_goes_out_to_its_end() {
    let (a, there) = (
        Side::over_tcp(1),
        TcpListener::bind("127.0.0.1:0").expect("a port"),
    );
    let tcp = Some(there.local_addr().expect("a port"));
    let own = Address {
        host: 2,
        tcp,
        ..Address::fresh().expect("an address")
    };
    let (to, bytes) = (a.insert(&own.to_bytes()), [1; EAGER_MAX]);
    let mut sent = hello(&address(&a), &address(&a), 0).len();
    while a.send(&bytes, to, 1, 1) == 0 {
        sent += 56 + bytes.len();
    }
    let reader = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(50));
        let (mut stream, _) = there.accept().expect("a caller");
        let mut call = [0; CALL];
        stream.read_exact(&mut call).expect("a call");
        let proof = crate::wire::answer(&own, &call).expect("a call with the key");
        stream.write_all(&proof).expect("a stream");
        std::io::copy(&mut stream, &mut std::io::sink()).expect("an end")
    });
    drop(a);
    assert_eq!(reader.join().expect("no panic"), sent as u64);
}

/// A peer that sends a file for long data of another length, or one that can be shortened, or a
/// second one.
#[test]
fn files_for_long_data_are_checked() {
    let (a, b, to_b, _) = pair(|_| ());
    let good = new_file(ring_bytes(1 << 14)).expect("a file");
    let other = new_file(ring_bytes(1 << 13)).expect("a file");
    let flags = rustix::fs::MemfdFlags::CLOEXEC;
    let unsealed = rustix::fs::memfd_create("unsealed", flags).expect("a file");
    rustix::fs::ftruncate(&unsealed, ring_bytes(1 << 14) as u64).expect("room");
    for (lost, files) in [
        (1, vec![&other]),
        (2, vec![&unsealed]),
        (3, vec![&good, &good]),
    ] {
        let (_, mut link) = peer(&b, 1024);
        for file in files {
            send_file(link.socket(), file.as_fd(), &[1]).expect("a packet");
        }
        until(&b, |seen| seen.lost == lost);
        assert_eq!(
            link.put_head(Record::new(Kind::Fin)),
            Ok(true),
            "nobody reads it"
        );
    }
    still_works(&a, &b, to_b);
}

/// A peer that ends operations early: what it ends moves no more data, and the others go on. Then
/// it asks for data a second time, or sends some for what it has ended.
#[test]
fn an_early_end_is_that_of_one_operation() {
    // More than the ring for long data holds.
    const LONG: usize = 3 << 20;
    for asks in [true, false] {
        let b = Side::open(|_| ());
        let (from, mut link) = peer(&b, 1024);
        until(&b, |seen| seen.connected == 1);
        let row = b.insert(&from.to_bytes());
        let (bytes, mut buffers) = (vec![1; LONG], [[0; 100]; 2]);
        let pulls = [0, 1].map(|at| {
            assert_eq!(b.send(&bytes, row, 5, at), 0);
            let (announced, _) = link.next().expect("a link").expect("an announcement");
            let body = [at as u64, LONG as u64, 0];
            Record {
                cookie: announced.cookie,
                body,
                ..Record::new(Kind::Pull)
            }
        });
        let reads = buffers.each_mut().map(|buffer| {
            transfer(&b, false, buffer, row, 8, 9);
            link.next().expect("a link").expect("a request").0
        });
        assert_eq!(pulls.map(|pull| link.put_head(pull)), [Ok(true); 2]);
        b.progress();
        for early in [
            Record::fin(pulls[0].cookie, 0),
            Record::fin(reads[0].cookie, FI_EACCES),
        ] {
            assert_eq!(link.put_head(early), Ok(true));
        }
        assert_eq!(
            [b.wait(&[]), b.wait(&[])].map(|done| done.err),
            [0, FI_EACCES]
        );
        link.on_readable();
        let mut got = [0; 2];
        for _ in 0..1_000 {
            b.progress();
            while let Some((piece, bytes)) = link.next().expect("a link") {
                got[piece.cookie as usize] += bytes.length;
            }
            link.release();
        }
        assert!(got[0] < LONG && got[1] == LONG, "{got:?}");
        let mut sent = pattern(3, 100);
        let iov = [IoVec {
            iov_base: sent.as_mut_ptr().cast(),
            iov_len: 100,
        }];
        let pieces = reads.map(|read| Record {
            bytes: 100,
            cookie: read.body[1],
            ..Record::new(Kind::Data)
        });
        // SAFETY: the list holds as many bytes.
        let mut put = |record| unsafe { link.put_in(record != pulls[1], record, &iov, 0) };
        assert_eq!((put(pieces[1]), b.wait(&[]).err), (Ok(true), 0));
        assert_eq!((totals(&b).lost, &buffers[1][..]), (0, &sent[..]));
        assert_eq!(put(if asks { pulls[1] } else { pieces[0] }), Ok(true));
        until(&b, |seen| seen.lost == 1);
        assert_eq!((b.wait(&[]).err, buffers[0]), (FI_ECONNRESET, [0; 100]));
    }
}

/// What a peer answers to a read: each answer that it may not give ends the connection, and the
/// read with an error.
#[test]
fn answers_to_a_read_are_checked() {
    const LENGTH: usize = 100;
    let bytes = pattern(3, LENGTH);
    let grant = |cookie, address, epoch| Record {
        cookie,
        body: [address, 9, epoch],
        ..Record::new(Kind::Grant)
    };
    let address = bytes.as_ptr() as u64;
    // Whether the reader wants to read by itself, the answers, the read's error, the connections
    // lost, and how the grant is returned.
    let cases = [
        (true, vec![grant(0, address, 0)], 0, 0, Some(0)),
        // An end without data.
        (true, vec![Record::fin(0, 0)], FI_ECONNRESET, 1, None),
        (false, vec![Record::fin(0, 0)], FI_ECONNRESET, 1, None),
        // Pieces were asked for.
        (false, vec![grant(0, address, 0)], FI_ECONNRESET, 1, None),
        // Memory that is not there, an epoch that is over, and a second grant.
        (true, vec![grant(0, 8, 0)], FI_EIO, 0, Some(1)),
        (true, vec![grant(0, address, 1)], FI_EIO, 0, Some(1)),
        (
            true,
            vec![grant(0, 8, 0), grant(0, address, 0)],
            FI_ECONNRESET,
            1,
            Some(1),
        ),
    ];
    for (number, (read_peers, answers, error, lost, returned)) in cases.into_iter().enumerate() {
        let change = |options: &mut ProviderOptions| options.read_peers = read_peers;
        let (a, b, to_b, _) = pair(change);
        let (from, mut link) = peer(&b, 1024);
        until(&b, |seen| seen.connected == 1);
        let row = b.insert(&from.to_bytes());
        let mut buffer = vec![0; LENGTH];
        transfer(&b, false, &mut buffer, row, 8, 9);
        let (asked, _) = link.next().expect("a link").expect("a request");
        assert_eq!(asked.body[2], u64::from(read_peers));
        for answer in answers {
            let cookie = asked.cookie;
            assert_eq!(link.put_head(Record { cookie, ..answer }), Ok(true));
        }
        (0..10).for_each(|_| b.progress());
        let answer = link.next().ok().flatten();
        let answer = answer.map(|(answer, _)| (answer.kind, answer.cookie, answer.body[0]));
        let expected = returned.map(|flag| (Kind::Return, 9, flag));
        assert_eq!(answer, expected, "case {number}");
        if lost == 0 && error != 0 {
            assert_eq!(link.put_head(Record::fin(asked.cookie, error)), Ok(true));
        }
        let done = b.wait(&[]);
        assert_eq!((done.err, totals(&b).lost), (error, lost), "case {number}");
        assert_eq!(buffer == bytes, error == 0, "case {number}");
        still_works(&a, &b, to_b);
    }
}

/// Grants that a peer returns: only its own, and each once. One that it returns unread comes in
/// pieces.
#[test]
fn only_grants_of_the_peer_are_returned() {
    let (a, b, to_b, _) = pair(|_| ());
    let mut memory = pattern(1, 100);
    let (_, key) = register(&b, &mut memory, FI_REMOTE_READ);
    let mut links = [(); 3].map(|()| peer(&b, 1024).1);
    let read = Record {
        flags: flag::ACK,
        tag: memory.as_ptr() as u64,
        data: key,
        cookie: 70,
        body: [100, 60, 1],
        ..Record::new(Kind::Read)
    };
    let grants = links.each_mut().map(|link| {
        assert_eq!(link.put_head(read), Ok(true));
        (0..200).for_each(|_| b.progress());
        let (grant, _) = link.next().expect("a link").expect("a grant");
        assert_eq!((grant.kind, grant.cookie), (Kind::Grant, 70));
        assert_eq!([grant.body[0], grant.body[2]], [memory.as_ptr() as u64, 0]);
        grant.body[1]
    });
    assert!(grants[0] != grants[1] && grants[1] != grants[2]);
    let returned = |number, unread| Record {
        cookie: number,
        body: [unread, 0, 0],
        ..Record::new(Kind::Return)
    };
    // It is read, or returned unread; then it is no more.
    for (lost, (link, unread)) in (0..).zip([(0, 0), (1, 1)]) {
        assert_eq!(
            links[link].put_head(returned(grants[link], unread)),
            Ok(true)
        );
        (0..10).for_each(|_| b.progress());
        assert_eq!(totals(&b).lost, lost);
        links[link].on_readable();
        let piece = links[link].next().expect("a link");
        let piece = piece.map(|(piece, bytes)| (piece.kind, piece.cookie, bytes.length));
        assert_eq!(piece, (unread == 1).then_some((Kind::Data, 60, 100)));
        assert_eq!(
            links[link].put_head(returned(grants[link], unread)),
            Ok(true)
        );
        until(&b, |seen| seen.lost == lost + 1);
    }
    // That of another peer, whose connection is over or not.
    let (_, mut other) = peer(&b, 1024);
    assert_eq!(other.put_head(returned(grants[2], 1)), Ok(true));
    until(&b, |seen| seen.lost == 3);
    assert_eq!(links[2].put_head(returned(grants[0] + 100, 0)), Ok(true));
    until(&b, |seen| seen.lost == 4);
    still_works(&a, &b, to_b);
}

/// Second pieces of data that were asked for: one that fits, and others that are too long, empty or
/// over another connection.
#[test]
fn pieces_are_those_that_were_asked_for() {
    const ASKED: usize = 100;
    const FIRST: usize = 40;
    const REST: usize = ASKED - FIRST;
    let mut bytes = pattern(3, ASKED + 1);
    let iov = [IoVec {
        iov_base: bytes.as_mut_ptr().cast(),
        iov_len: bytes.len(),
    }];
    for (length, over, lost) in [(REST, 0, 0), (REST + 1, 0, 1), (0, 0, 1), (REST, 1, 1)] {
        let b = Side::open(|_| ());
        let mut links = [(); 2].map(|()| peer(&b, 1024).1);
        let announced = Record {
            body: [ASKED as u64, 8, 0],
            ..ANNOUNCEMENT
        };
        assert_eq!(links[0].put_head(announced), Ok(true));
        let mut buffer = [0; ASKED];
        assert_eq!(b.receive(&mut buffer, FI_ADDR_UNSPEC, (5, 0), 9), 0);
        (0..200).for_each(|_| b.progress());
        let (pull, _) = links[0].next().expect("a link").expect("a request");
        let (cookie, kind) = (pull.body[0], Record::new(Kind::Data));
        for (link, length, skip) in [(0, FIRST, 0), (over, length, FIRST)] {
            let piece = Record {
                bytes: length as u32,
                cookie,
                ..kind
            };
            // SAFETY: the list holds as many bytes.
            let put = unsafe { links[link].put_in(true, piece, &iov, skip) };
            assert_eq!(put, Ok(true));
            (0..200).for_each(|_| b.progress());
        }
        assert_eq!(
            (totals(&b).lost, buffer == bytes[..ASKED]),
            (lost, lost == 0),
            "{length}"
        );
    }
}

/// A program that starts operation after operation while its peer receives none of them.
#[test]
fn operations_that_wait_for_a_peer_are_limited() {
    let (a, b, to_b, _) = pair(|_| ());
    let bytes = vec![1; LONG_MAX + 1];
    let mut sent = 0;
    let send = |context| a.send(&bytes, to_b, 3, context);
    while sent <= OUTSTANDING_MAX {
        match send(sent) {
            0 => sent += 1,
            _ if sent == OUTSTANDING_MAX => break,
            _ => b.progress(),
        }
    }
    (0..5_000).for_each(|_| b.progress());
    assert_eq!((sent, send(sent)), (OUTSTANDING_MAX, -(FI_EAGAIN as isize)));
    let mut buffer = vec![0; LONG_MAX + 1];
    assert_eq!(b.receive(&mut buffer, FI_ADDR_UNSPEC, (3, 0), 1), 0);
    assert_eq!((b.wait(&[&a]).context(), a.wait(&[&b]).context()), (1, 0));
    assert_eq!(send(sent), 0);
}

/// A peer that sends records of every kind with fields that are often almost right: none of them
/// harms the endpoint, its memory or its other peers.
#[test]
fn random_records_harm_nobody() {
    use Kind::{Data, Eager, Fin, Pull, Read, Rendezvous, WriteLong};
    let (mut lost, mut ended) = (0, 0);
    for seed in 0..60 {
        let mut random = Random(seed);
        let (a, b, to_b, _) =
            pair(|options| options.matching.nic.options.always_shared = seed % 2 == 1);
        let mut memory = vec![7; 64];
        let (_, key) = register(&b, &mut memory, FI_REMOTE_READ);
        let start = memory.as_ptr() as u64;
        let (from, mut link) = peer(&b, 512);
        let row = b.insert(&from.to_bytes());
        let mut buffers = vec![vec![7; 64]; 200];
        for (context, buffer) in buffers.iter_mut().enumerate() {
            let number = |random: &mut Random| match random.below(6) {
                0 => start + random.below(80) as u64,
                1 => key ^ u64::from(random.below(3) == 0),
                2 => u64::MAX >> random.below(64),
                _ => random.below(70) as u64,
            };
            let kinds = [Eager, Rendezvous, Pull, Data, Fin, WriteLong, Read];
            let kind = kinds[random
                .below(8 * kinds.len())
                .saturating_sub(7 * kinds.len())];
            let bytes = if kind == Eager {
                random.below(25) as u32
            } else {
                0
            };
            let record = Record {
                flags: random.below(8) as u8,
                bytes,
                tag: number(&mut random),
                data: number(&mut random),
                cookie: number(&mut random),
                body: [
                    number(&mut random),
                    number(&mut random),
                    number(&mut random),
                ],
                ..Record::new(kind)
            };
            if link.put_head(record).is_err() {
                break;
            }
            match random.below(4) {
                0 => {
                    let source = [row, FI_ADDR_UNSPEC][random.below(2)];
                    let ignore = [0, 63][random.below(2)];
                    let bits = random.below(70) as u64;
                    assert_eq!(b.receive(buffer, source, (bits, ignore), context), 0);
                }
                1 => _ = b.send(&[1; 300], row, 3, 1000 + context),
                _ => b.progress(),
            }
            while let Some(done) = b.read() {
                ended += 1;
                assert!(done.entry.len <= 300, "{done:?}");
            }
        }
        drop(link);
        (0..300).for_each(|_| b.progress());
        lost += totals(&b).lost;
        while b.read().is_some() {}
        assert!(
            memory.iter().all(|&byte| byte == 7),
            "seed {seed}: it was only to be read"
        );
        // Its receives from any source may take what the others send.
        (0..200).for_each(|context| _ = b.cancel(context));
        while b.read().is_some() {}
        still_works(&a, &b, to_b);
    }
    assert!(lost == 60 && ended > 100, "{lost} lost, {ended} ended");
}
