//! Peers that come, die, lie and stop, around one endpoint that goes on. A short run is a test;
//! `DPAMATCH_SECONDS` asks for a long one, which prints one line a second:
//!
//! ```text
//! DPAMATCH_SECONDS=3600 cargo test --release -p dpamatch_provider peers_come -- --nocapture
//! ```

use std::time::{Duration, Instant};

use super::rogue::{peer, peers_connections_and_places, totals};
use super::side::{Side, pattern};
use crate::bindings::*;
use crate::wire::{EAGER_MAX, Kind, Link, PEERS_MIN, Record, flag};

/// Rounds of the short run.
const ROUNDS: usize = 60;
/// Rounds after which memory must no longer grow.
const WARM: usize = 20;
const LENGTHS: [usize; 5] = [0, 24, 700, EAGER_MAX, EAGER_MAX + 1000];
/// More growth of memory than this is a fault.
const GROWTH_MAX_BYTES: u64 = 8 << 20;

/// What the process holds: resident bytes and open files.
fn held() -> (u64, usize) {
    let text = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .expect("its memory");
    let kilobytes: u64 = line
        .trim_matches(|c: char| !c.is_ascii_digit())
        .parse()
        .expect("a number");
    (
        kilobytes * 1024,
        std::fs::read_dir("/proc/self/fd").expect("Linux").count(),
    )
}

/// A peer that sends messages of all lengths in both directions and then leaves, in the middle of
/// its last message if it `dies`. Returns the longest time that one message took.
fn guest(server: &Side, round: usize, dies: bool) -> Duration {
    let peer = Side::open(|_| ());
    let (to_server, to_peer) = (peer.insert(&server.name()), server.insert(&peer.name()));
    let mut longest = Duration::ZERO;
    for (at, length) in LENGTHS.into_iter().enumerate() {
        let bytes = pattern(round + at, length);
        for (from, to, row, back) in [
            (&peer, server, to_server, to_peer),
            (server, &peer, to_peer, to_server),
        ] {
            let began = Instant::now();
            let mut buffer = vec![0; length];
            assert_eq!(to.receive(&mut buffer, back, (3, 0), at), 0);
            from.send_now(&bytes, row, 3, 50 + at);
            let done = to.wait(&[from]);
            assert_eq!((done.err, done.context(), done.entry.len), (0, at, length));
            assert!(buffer == bytes, "round {round}: {length} bytes");
            assert_eq!(from.wait(&[to]).context(), 50 + at);
            longest = longest.max(began.elapsed());
        }
    }
    if dies {
        let mut buffer = vec![0; 1 << 20];
        assert_eq!(server.receive(&mut buffer, to_peer, (4, 0), 9), 0);
        let bytes = pattern(round, 1 << 20);
        assert_eq!(peer.send(&bytes, to_server, 4, 8), 0);
        assert_eq!(server.send(&bytes, to_peer, 5, 10), 0);
        server.progress();
        drop(peer);
        let mut ends = [server.wait(&[]), server.wait(&[])].map(|done| (done.context(), done.err));
        ends.sort_unstable();
        assert_eq!(ends, [(9, FI_ECONNRESET), (10, FI_ECONNRESET)]);
    }
    server.remove(to_peer);
    longest
}

/// A peer with its own link, which this function's caller keeps or drops.
fn rogue(server: &Side) -> Link {
    let (_, link) = peer(server, 512);
    (0..50).for_each(|_| server.progress());
    link
}

#[test]
fn peers_come_die_lie_and_stop() {
    let seconds = std::env::var("DPAMATCH_SECONDS").ok();
    let end = seconds.map(|text| Duration::from_secs(text.parse().expect("seconds")));
    let started = Instant::now();
    let server = Side::open(|options| options.read_peers = false);
    // A friend from the first round to the last.
    let friend = Side::open(|_| ());
    let (to_server, to_friend) = (friend.insert(&server.name()), server.insert(&friend.name()));
    let (mut warm, mut shown, mut longest) = (None, Duration::ZERO, Duration::ZERO);
    let mut stopped = None;
    let mut round = 0;
    while end.map_or(round < ROUNDS, |end| started.elapsed() < end) {
        longest = longest.max(guest(&server, round, round % 3 == 0));
        // The one that stopped has filled its ring and reads nothing, for a whole round.
        drop(stopped.take());
        let mut lies = rogue(&server);
        let lie = Record {
            cookie: round as u64,
            ..Record::new(Kind::Fin)
        };
        assert_eq!(lies.put_head(lie), Ok(true));
        let mut stops = rogue(&server);
        let message = Record {
            flags: flag::TAGGED,
            tag: 8,
            ..Record::new(Kind::Eager)
        };
        for _ in 0..3 {
            assert_eq!(stops.put_head(message), Ok(true));
            let mut none = [];
            assert_eq!(server.receive(&mut none, FI_ADDR_UNSPEC, (8, 0), 7), 0);
            assert_eq!(server.wait(&[]).context(), 7);
        }
        stopped = Some(stops);
        let bytes = round.to_ne_bytes();
        let mut buffer = [0; 8];
        assert_eq!(server.receive(&mut buffer, to_friend, (6, 0), 1), 0);
        friend.send_now(&bytes, to_server, 6, 2);
        assert_eq!((server.wait(&[&friend]).context(), buffer), (1, bytes));
        assert_eq!(friend.wait(&[&server]).context(), 2);
        drop(lies);
        (0..50).for_each(|_| server.progress());
        round += 1;
        if round == WARM {
            warm = Some(held());
        }
        if end.is_some() && started.elapsed() >= shown + Duration::from_secs(1) {
            shown = started.elapsed();
            let ((bytes, files), longest_us) = (held(), longest.as_micros());
            eprintln!(
                "{:.1},{round},{bytes},{files},{longest_us}",
                shown.as_secs_f64()
            );
            longest = Duration::ZERO;
        }
    }
    drop(stopped);
    (0..500).for_each(|_| server.progress());
    let (peers, now, places) = peers_connections_and_places(&server);
    assert!(peers < 2 * PEERS_MIN, "{peers} peers");
    assert!(
        now == 1 && places <= 8,
        "{now} connections, {places} places"
    );
    let seen = totals(&server);
    let rounds = round as u64;
    assert_eq!(seen.refused, 0);
    assert_eq!((seen.connected, seen.lost), (1 + 3 * rounds, 3 * rounds));
    assert_eq!(seen.received, rounds * (LENGTHS.len() as u64 + 4));
    if let (Some((bytes, _)), Some(_)) = (warm, end) {
        // Other tests of this program, if there are any, allocate too.
        let (after, files) = held();
        assert!(
            after <= bytes + GROWTH_MAX_BYTES,
            "memory grew from {bytes} to {after}"
        );
        assert!(files < 64, "{files} open files");
    }
}
