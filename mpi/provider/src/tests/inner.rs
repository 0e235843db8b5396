//! Connections over an inner endpoint: a stand-in for another libfabric provider.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use super::messages::exchange;
use super::outside::held;
use super::regions::{close, register, transfer};
use super::rogue::{address, still_works, totals};
use super::side::{Side, pattern};
use super::stand_in::{NAMES, with};
use crate::bindings::*;
use crate::wire::{Address, Hello, OUT_MAX, PROOF, SharedInner, TcpChoice, call};

/// A side of machine `host` with an inner endpoint of this provider.
fn over(provider: &str, host: u64) -> Side {
    let here = TcpChoice::parse("127.0.0.1").expect("an address");
    let change = |options: &mut crate::options::ProviderOptions| {
        (options.tcp, options.fabric) = (here, Some(provider.to_owned()));
    };
    Side::open_as(change, |own| own.host = host, FI_WAIT_FD)
}

fn two(provider: &str) -> (Side, Side, u64, u64) {
    let (a, b) = (over(provider, 1), over(provider, 2));
    let (to_b, to_a) = (a.insert(&b.name()), b.insert(&a.name()));
    (a, b, to_b, to_a)
}

/// Messages, announced ones, reads and writes go over the inner endpoint, whether or not it wants
/// registered memory, and nothing is left open.
#[test]
fn all_lengths_over_an_inner_endpoint() {
    for (name, registers) in [(NAMES[0], false), (NAMES[1], true)] {
        with(|net| net.registers = registers);
        let (a, b, to_b, to_a) = two(name);
        exchange(&a, &b, to_b, to_a);
        exchange(&b, &a, to_a, to_b);
        let bytes = pattern(5, 4 << 20);
        let mut buffer = vec![0; bytes.len()];
        assert_eq!(b.receive(&mut buffer, to_a, (9, 0), 1), 0);
        assert_eq!(a.send(&bytes, to_b, 9, 2), 0);
        assert_eq!((b.wait(&[&a]).context(), buffer == bytes), (1, true));
        assert_eq!(a.wait(&[&b]).context(), 2);
        for (write, length) in [(true, 100), (true, 200_000), (false, 100), (false, 200_000)] {
            let mut memory = pattern(length, length);
            let mut mine = pattern(1, length);
            let access = FI_REMOTE_READ | FI_REMOTE_WRITE;
            let (region, key) = register(&b, &mut memory, access);
            transfer(&a, write, &mut mine, to_b, memory.as_ptr() as u64, key);
            assert_eq!(a.wait(&[&b]).err, 0);
            assert!(memory == mine, "{length} bytes");
            close(region);
        }
        assert_eq!([&a, &b].map(|side| totals(side).inner), [1; 2]);
        let moved = with(|net| net.bytes);
        assert!(moved > 6_000_000, "{moved} bytes");
        // Each side has receives for what the other sends.
        assert_eq!(with(|net| net.without_receive), 0);
        drop((a, b));
        assert_eq!(with(|net| std::mem::take(net).open), 0);
    }
}

/// A side does not send more frames than its peer has buffers for, and takes bytes up to a bound.
#[test]
fn a_peer_that_does_not_read_is_not_overrun() {
    let (a, b, to_b, _) = two(NAMES[0]);
    still_works(&a, &b, to_b);
    let bytes = pattern(3, 8_000);
    let mut sent = 0;
    for _ in 0..1_000 {
        sent += usize::from(a.send(&bytes, to_b, 4, 1) == 0);
        while a.read().is_some() {}
    }
    // Of eight buffers it does not know one to be free again, and one is kept for credits.
    assert_eq!(with(|net| net.arrived().len()), 6);
    let out = held(&a).0;
    assert!(out <= OUT_MAX && out + 8_056 > OUT_MAX, "{out}");
    assert!(sent * 8_056 > OUT_MAX);
    let mut buffer = vec![0; 8_000];
    for _ in 0..sent {
        assert_eq!(b.receive(&mut buffer, FI_ADDR_UNSPEC, (4, 0), 2), 0);
        assert_eq!((b.wait(&[&a]).context(), buffer == bytes), (2, true));
    }
    still_works(&a, &b, to_b);
    assert_eq!(with(|net| net.without_receive), 0);
}

/// Two sides that only send, and read late, do not stop each other.
#[test]
fn two_senders_do_not_wait_for_each_other() {
    let (a, b, to_b, to_a) = two(NAMES[0]);
    still_works(&a, &b, to_b);
    let bytes = pattern(3, 8_000);
    let count = 200;
    let mut sent = [0; 2];
    let mut buffers = vec![[vec![0; 8_000], vec![0; 8_000]]; count];
    while sent != [count; 2] {
        for (at, (side, to)) in [(&a, to_b), (&b, to_a)].into_iter().enumerate() {
            let fits = sent[at] < count && side.send(&bytes, to, 4, 1) == 0;
            sent[at] += usize::from(fits);
            side.progress();
        }
    }
    for pair in &mut buffers {
        for (side, buffer) in [&a, &b].into_iter().zip(pair) {
            assert_eq!(side.receive(buffer, FI_ADDR_UNSPEC, (4, 0), 2), 0);
        }
    }
    let mut left = 4 * count;
    let mut patience = super::side::Patience::default();
    while left > 0 {
        left -= [&a, &b].iter().filter(|side| side.read().is_some()).count();
        assert!(patience.lasts(), "{left} completions do not come");
    }
    assert!(buffers.iter().flatten().all(|buffer| *buffer == bytes));
}

/// The stream may report the end before the last frames have come: none is lost.
#[test]
fn a_peer_that_has_closed_leaves_its_messages() {
    let (a, b, to_b, _) = two(NAMES[0]);
    still_works(&a, &b, to_b);
    let bytes = pattern(2, 1_000);
    for tag in 0..5 {
        assert_eq!(a.send(&bytes, to_b, tag, 1), 0);
    }
    drop(a);
    let late = with(|net| std::mem::take(net.arrived()));
    // The provider had room for three sends; the last two messages share a frame.
    assert_eq!(late.len(), 4);
    for _ in 0..1_000 {
        b.progress();
    }
    assert_eq!(totals(&b).lost, 0);
    with(|net| net.arrived().extend(late));
    let mut buffer = vec![0; 1_000];
    for tag in 0..5 {
        assert_eq!(b.receive(&mut buffer, FI_ADDR_UNSPEC, (tag, 0), 2), 0);
        assert_eq!((b.wait(&[]).err, buffer == bytes), (0, true), "{tag}");
    }
    let mut patience = super::side::Patience::default();
    while totals(&b).lost == 0 {
        b.progress();
        assert!(patience.lasts(), "the end is not noticed");
    }
}

/// Frames that never come after the end of the stream are waited for two seconds.
#[test]
fn frames_that_do_not_come_end_the_connection() {
    let (a, b, to_b, to_a) = two(NAMES[0]);
    still_works(&a, &b, to_b);
    assert_eq!(a.send(b"lost", to_b, 1, 1), 0);
    drop(a);
    with(|net| net.arrived().clear());
    let bytes = pattern(1, 100_000);
    assert_eq!(b.send(&bytes, to_a, 3, 4), 0);
    let begin = std::time::Instant::now();
    let done = b.wait(&[]);
    assert_eq!((done.context(), done.err), (4, FI_ECONNRESET));
    assert!(begin.elapsed() < std::time::Duration::from_secs(20));
}

/// Messages that are none of a peer's frames are dropped, and its frames still come. One out of
/// order cuts the peer off.
#[test]
fn strangers_frames_are_dropped_and_lost_ones_noticed() {
    let (a, b, to_b, _) = two(NAMES[0]);
    still_works(&a, &b, to_b);
    assert_eq!(a.send(b"seen", to_b, 1, 1), 0);
    (0..3).for_each(|_| a.progress());
    assert_eq!(a.wait(&[]).context(), 1);
    let frame = with(|net| net.arrived()[0].clone());
    // Another token, another channel, a part of a head, nothing, and more than a frame.
    let mut strange: Vec<_> = [0, 16]
        .map(|at| {
            let mut bytes = frame.clone();
            bytes[at] ^= 1;
            bytes
        })
        .into();
    strange.extend([frame[..23].to_vec(), Vec::new(), vec![0; (1 << 14) + 1]]);
    for bytes in &strange {
        (0..20).for_each(|_| with(|net| net.inject(bytes)));
    }
    (0..400).for_each(|_| b.progress());
    still_works(&a, &b, to_b);
    assert_eq!(totals(&b).lost, 0);
    // Twice the same.
    with(|net| net.inject(&frame));
    (0..400).for_each(|_| b.progress());
    assert_eq!(totals(&b).lost, 1);
    let mut buffer = [0; 4];
    assert_eq!(b.receive(&mut buffer, FI_ADDR_UNSPEC, (1, 0), 2), 0);
    assert_eq!((b.wait(&[]).context(), &buffer), (2, b"seen"));
}

/// A peer cannot say that it has more buffers than it has.
#[test]
fn a_peer_that_gives_too_many_credits_is_cut_off() {
    for (credits, lost) in [(0, 0), (1, 1), (255, 1)] {
        let (a, b, to_b, _) = two(NAMES[0]);
        still_works(&a, &b, to_b);
        assert_eq!(a.send(b"word", to_b, 1, 1), 0);
        assert_eq!(a.wait(&[]).context(), 1);
        (0..3).for_each(|_| a.progress());
        // This side has all eight.
        with(|net| net.arrived()[0][20] = credits);
        (0..400).for_each(|_| b.progress());
        assert_eq!(totals(&b).lost, lost, "{credits}");
    }
}

#[test]
fn frames_that_swap_their_places_are_noticed() {
    let (a, b, to_b, _) = two(NAMES[0]);
    still_works(&a, &b, to_b);
    for tag in [1, 2] {
        assert_eq!(a.send(b"word", to_b, tag, 1), 0);
    }
    with(|net| net.swaps = true);
    (0..400).for_each(|_| [&a, &b].into_iter().for_each(Side::progress));
    assert_eq!(totals(&b).lost, 1);
}

/// An endpoint of another kind, or of none, is refused where it calls and where it is called.
#[test]
fn a_peer_without_this_inner_endpoint_is_refused() {
    for (mine, theirs) in [(true, false), (false, true)] {
        let [a, b] = [(mine, 1), (theirs, 2)].map(|(inner, host)| match inner {
            true => over(NAMES[0], host),
            false => Side::over_tcp(host),
        });
        let to_b = a.insert(&b.name());
        assert_eq!(a.send(&pattern(1, 100_000), to_b, 1, 7), 0);
        let done = a.wait(&[&b]);
        assert_eq!((done.context(), done.err), (7, FI_ECONNRESET));
        assert_eq!((totals(&b).refused, totals(&b).connected), (1, 0));
    }
}

/// A peer is lost in the middle of messages: operations that wait for it end, and others go on.
#[test]
fn a_lost_peer_ends_what_waits_for_it() {
    let (a, b, to_b, to_a) = two(NAMES[0]);
    let c = over(NAMES[0], 3);
    let to_c = a.insert(&c.name());
    still_works(&a, &b, to_b);
    still_works(&a, &c, to_c);
    let bytes = pattern(1, 1 << 20);
    let mut buffer = vec![0; bytes.len()];
    assert_eq!(a.send(&bytes, to_b, 1, 1), 0);
    assert_eq!(b.send(&bytes, to_a, 2, 2), 0);
    assert_eq!(a.receive(&mut buffer, to_b, (2, 0), 3), 0);
    let mut patience = super::side::Patience::default();
    while !a.state(|state| state.endpoints[0].moves_into_receives()) {
        [&a, &b].into_iter().for_each(Side::progress);
        assert!(patience.lasts(), "the message does not come");
    }
    // It does not say which frame is its last.
    b.state(|state| state.endpoints[0].end_sockets());
    drop(b);
    let mut ends = [a.wait(&[&c]), a.wait(&[&c])].map(|done| (done.context(), done.err));
    ends.sort_unstable();
    assert_eq!(ends, [1, 3].map(|context| (context, FI_ECONNRESET)));
    still_works(&a, &c, to_c);
    drop((a, c));
    assert_eq!(with(|net| net.open), 0);
}

/// An error of the inner endpoint itself ends all its connections, and no others.
#[test]
fn an_inner_endpoint_that_fails_ends_its_connections() {
    let (a, b, to_b, _) = two(NAMES[0]);
    let near = over(NAMES[0], 1);
    let to_near = a.insert(&near.name());
    still_works(&a, &b, to_b);
    still_works(&a, &near, to_near);
    assert_eq!(a.send(&pattern(1, 100_000), to_b, 1, 1), 0);
    with(|net| net.fails = FI_EIO);
    let done = a.wait(&[]);
    assert_eq!((done.context(), done.err), (1, FI_ECONNRESET));
    assert_eq!(a.send(b"more", to_b, 1, 1), -(FI_ECONNRESET as isize));
    still_works(&a, &near, to_near);
}

/// A send that the provider does not end holds its buffer, and the next connections still work.
#[test]
fn sends_without_an_end_do_not_take_the_next_connections_buffers() {
    let a = over(NAMES[0], 1);
    for host in 2..12 {
        let b = over(NAMES[0], host);
        let to_b = a.insert(&b.name());
        still_works(&a, &b, to_b);
        with(|net| net.stalls = true);
        assert_eq!(a.send(b"lost", to_b, 1, 1), 0);
        drop(b);
        let mut patience = super::side::Patience::default();
        while totals(&a).lost < host - 1 {
            a.progress();
            assert!(patience.lasts(), "the end is not noticed");
        }
        with(|net| net.stalls = false);
        while a.read().is_some() {}
    }
}

#[test]
fn a_provider_that_is_not_there_is_named() {
    let at = "127.0.0.1".parse().expect("an address");
    for (name, word) in [
        ("magic", "no provider of this name"),
        ("stand", "no provider"),
    ] {
        let library = super::stand_in::library();
        let why = SharedInner::open(library, name, at).expect_err("there is none");
        assert!(why.contains(word), "{why}");
        assert_eq!(with(|net| net.open), 0);
    }
}

/// A card has room for a name of 256 bytes.
#[test]
fn a_name_that_no_card_holds_is_refused() {
    let at = "127.0.0.1".parse().expect("an address");
    for (length, fits) in [(255, true), (256, true), (257, false)] {
        with(|net| net.longer = length - super::stand_in::NAME);
        let opened = SharedInner::open(super::stand_in::library(), NAMES[0], at);
        let why = opened.err().unwrap_or_default();
        assert_eq!(why.is_empty(), fits, "{length}: {why}");
        assert!(fits || why.starts_with("fi_getname: "), "{why}");
        assert_eq!(with(|net| net.open), 0);
    }
}

/// A caller that sends more on the stream than a card and a number, or a card that is none, is cut
/// off.
#[test]
fn a_card_that_is_none_ends_the_connection() {
    let (b, mut streams) = (over(NAMES[0], 2), Vec::new());
    for (name, extra, lost) in [(7_u64, 8, 0), (7, 9, 1), (8, 0, 1)] {
        let before = totals(&b).lost;
        let to = address(&b);
        let mut stream = TcpStream::connect(to.tcp.expect("a port")).expect("a port");
        let (call, _) = call(&to).expect("random numbers");
        stream.write_all(&call).expect("room");
        (0..200).for_each(|_| b.progress());
        stream.read_exact(&mut [0; PROOF]).expect("its proof");
        let hello = Hello {
            from: Address::fresh().expect("random numbers"),
            key: to.key,
            lines: b.state(|state| state.endpoints[0].mark()),
        };
        stream.write_all(&hello.to_bytes()).expect("room");
        let mut card = vec![0; 16 + 256 + extra];
        card[12] = super::stand_in::NAME as u8;
        for (at, part) in [1_u64, name, 9].into_iter().enumerate() {
            card[16 + 8 * at..24 + 8 * at].copy_from_slice(&part.to_ne_bytes());
        }
        stream.write_all(&card).expect("room");
        (0..2_000).for_each(|_| b.progress());
        assert_eq!(totals(&b).lost - before, lost, "{name} {extra}");
        streams.push(stream);
    }
}
