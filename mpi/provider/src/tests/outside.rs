//! The edges of the process: streams that never run dry, listeners of another user, descriptors
//! that run out, and files in folders that others can write.

use std::fs::File;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;
use std::time::{Duration, Instant};

use dpamatch_needs::Need;
use rustix::net::{AddressFamily, RecvFlags, SocketAddrUnix, SocketFlags, SocketType};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::files::Folder;
use super::rogue::{address, still_works, totals};
use super::side::{Side, call, pair, pattern};
use crate::bindings::*;
use crate::wire::{
    Address, CALL, IN_MAX, Kind, Link, LinkError, Listener, OUT_MAX, PROOF, Record, TcpChoice,
    answer, connect, flag,
};

/// Bytes of a record's head in a stream.
const HEAD: usize = 56;

/// The most bytes that the streams of a side hold, for each direction.
pub(super) fn held(side: &Side) -> (usize, usize) {
    side.state(|state| state.endpoints[0].held_by_streams())
}

/// A sender that is always ahead of its receiver frees what the kernel has taken.
#[test]
fn a_stream_that_never_runs_dry_holds_a_bounded_number_of_bytes() {
    const MESSAGES: usize = 4_000;
    let (a, b) = (Side::over_tcp(1), Side::over_tcp(2));
    let to_b = a.insert(&b.name());
    let bytes = pattern(3, 8_000);
    let mut buffer = vec![0; 8_000];
    let (mut sent, mut most) = (0, (0, 0));
    for _ in 0..MESSAGES {
        while a.send(&bytes, to_b, 5, 1) == 0 {
            sent += 1;
        }
        while a.read().is_some() {}
        assert_eq!(b.receive(&mut buffer, FI_ADDR_UNSPEC, (5, 0), 2), 0);
        assert_eq!((b.wait(&[&a]).context(), buffer == bytes), (2, true));
        for held in [held(&a), held(&b)] {
            most = (held.0.max(most.0), held.1.max(most.1));
        }
    }
    let ahead = (sent - MESSAGES) * 8_000;
    assert!(
        ahead > OUT_MAX / 2,
        "the stream ran dry: {ahead} bytes ahead"
    );
    assert!(most.0 > OUT_MAX / 2 && most.0 <= 2 * OUT_MAX, "{most:?}");
    assert!(most.1 <= IN_MAX, "{most:?}");
}

/// A stream whose reader stops takes records up to its bound, to the byte.
#[test]
fn a_full_stream_takes_no_byte_more() {
    let mut own = Address::fresh().expect("an address");
    let here = TcpChoice::parse("127.0.0.1").expect("an address");
    let listener = Listener::open(&mut own, here).expect("a listener");
    let far = Address {
        host: own.host ^ 1,
        ..own
    };
    let from = Address::fresh().expect("an address");
    let mut link = connect(&from, &far, 512, None).expect("a link");
    let put = |link: &mut Link, length: usize| {
        let mut bytes = pattern(1, length);
        let iov = [IoVec {
            iov_base: bytes.as_mut_ptr().cast(),
            iov_len: length,
        }];
        let record = Record {
            bytes: length as u32,
            ..Record::new(Kind::Data)
        };
        // SAFETY: the list holds that many bytes.
        unsafe { link.put(record, &iov, 0) }
    };
    let waits = |link: &Link| link.unsent();
    while waits(&link) + 2 * (HEAD + 8_192) <= OUT_MAX {
        assert_eq!(put(&mut link, 8_192), Ok(true));
    }
    let room = OUT_MAX - waits(&link) - HEAD;
    let first = room - 5_000 - HEAD;
    assert_eq!(put(&mut link, first), Ok(true));
    for (length, taken) in [(5_001, false), (5_000, true), (0, false)] {
        assert_eq!(put(&mut link, length), Ok(taken), "{length} bytes");
    }
    assert_eq!(waits(&link), OUT_MAX);
    // The reader's end refuses what comes, and no put succeeds after that.
    drop(listener);
    let end = Instant::now() + Duration::from_secs(20);
    while put(&mut link, 0) != Err(LinkError::Closed) {
        link.on_readable();
        assert!(Instant::now() < end, "the stream has no end");
    }
    assert!(waits(&link) > OUT_MAX / 2, "{}", waits(&link));
}

/// A peer may have as many unexpected messages as the options allow. With one more it is cut off;
/// receives still take what came, and other peers go on.
#[test]
fn unexpected_messages_of_one_peer_are_bounded() {
    const MOST: usize = 7;
    for (tagged, length) in [(true, 3), (true, 30), (false, 3), (true, 100_000)] {
        let (a, b) = (
            Side::open(|_| ()),
            Side::open(|options| options.waiting_max = MOST as u64),
        );
        let (c, to_b) = (Side::open(|_| ()), a.insert(&b.name()));
        let from_c = c.insert(&b.name());
        let bytes = pattern(4, length);
        let put = |context| match tagged {
            true => a.send(&bytes, to_b, 5, context),
            false => send_untagged(&a, &bytes, to_b, context),
        };
        for sent in 1..=MOST {
            assert_eq!(put(sent), 0);
            (0..200).for_each(|_| b.progress());
            assert_eq!(totals(&b).lost, 0, "{sent} messages");
        }
        // Those of another peer do not count.
        for _ in 0..MOST {
            assert_eq!(c.send(&bytes, from_c, 6, 1), 0);
            (0..200).for_each(|_| b.progress());
        }
        assert_eq!(totals(&b).lost, 0);
        // A receive makes room for one more.
        if tagged && length < 100 {
            let mut buffer = vec![0; length];
            assert_eq!(b.receive(&mut buffer, FI_ADDR_UNSPEC, (5, 0), 1), 0);
            assert_eq!((b.wait(&[]).context(), &buffer), (1, &bytes));
            assert_eq!(put(MOST + 1), 0);
            (0..200).for_each(|_| b.progress());
            assert_eq!(totals(&b).lost, 0);
        }
        assert_eq!(put(MOST + 2), 0);
        (0..200).for_each(|_| b.progress());
        assert_eq!(totals(&b).lost, 1, "one message too many");
        if tagged && length < 100 {
            let mut buffer = vec![0; length];
            assert_eq!(b.receive(&mut buffer, FI_ADDR_UNSPEC, (5, 0), 9), 0);
            assert_eq!((b.wait(&[]).context(), &buffer), (9, &bytes));
        }
        while c.read().is_some() {}
        still_works(&c, &b, from_c);
    }
}

/// `fi_send`.
fn send_untagged(side: &Side, bytes: &[u8], to: u64, context: usize) -> isize {
    let (start, none) = (bytes.as_ptr().cast(), std::ptr::null_mut());
    let context = context as *mut std::ffi::c_void;
    // SAFETY: the test keeps the bytes until the end.
    unsafe { call!(side.ep, msg, send, start, bytes.len(), none, to, context) }
}

fn become_nobody() {
    // SAFETY: the system call itself changes the user of this thread alone.
    let changed = unsafe { libc::syscall(libc::SYS_setresuid, 65_534, 65_534, 65_534) };
    assert_eq!(changed, 0, "root becomes another user");
}

/// A socket with the name of this endpoint.
fn take_name(of: &Address) -> OwnedFd {
    let flags = SocketFlags::CLOEXEC;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None);
    let socket = socket.expect("a socket");
    let name = SocketAddrUnix::new_abstract_name(of.socket_name().as_bytes()).expect("a name");
    rustix::net::bind(&socket, &name).expect("the name is free");
    rustix::net::listen(&socket, 10).expect("a listener");
    socket
}

/// Another user who takes the name of an endpoint that has ended gets nothing, and later peers are
/// reached. Only root can play the other user.
#[test]
fn a_listener_of_another_user_gets_nothing() {
    if !Need::Root.require(rustix::process::geteuid().is_root()) {
        return;
    }
    let (a, b, c) = (Side::open(|_| ()), Side::open(|_| ()), Side::open(|_| ()));
    let (gone, to_b, to_c) = (address(&b), a.insert(&b.name()), a.insert(&c.name()));
    drop(b);
    let thief = std::thread::spawn(move || {
        become_nobody();
        take_name(&gone)
    });
    let thief = thief.join().expect("a listener");
    for length in [0, 24, 25, 8_193, 100_000] {
        let sent = a.send(&pattern(2, length), to_b, 4, 1);
        assert_eq!(sent, -(FI_EACCES as isize), "{length} bytes");
        let caller = rustix::net::accept_with(&thief, SocketFlags::CLOEXEC).expect("a caller");
        let mut bytes = [0; 100];
        let got = rustix::net::recv(&caller, &mut bytes[..], RecvFlags::empty());
        assert_eq!(
            got.map(|(count, _)| count),
            Ok(0),
            "the caller hung up and said nothing"
        );
    }
    still_works(&a, &c, to_c);
    assert!(
        a.read().is_none(),
        "a send that was refused has no completion"
    );
    // The same name, with this user: the caller says hello.
    drop(thief);
    let own = take_name(&gone);
    assert_eq!(a.send(b"hello", to_b, 4, 1), 0);
    let caller = rustix::net::accept_with(&own, SocketFlags::CLOEXEC).expect("a caller");
    let mut bytes = [0; 100];
    let got = rustix::net::recv(&caller, &mut bytes[..], RecvFlags::empty());
    assert_eq!(got.map(|(count, _)| count), Ok(80));
}

/// A port that a stranger has taken over. It learns neither a key nor a byte of a message, whatever
/// it answers, and the sends that wait for the peer fail. A listener that knows the key gets the
/// message.
#[test]
fn a_stranger_at_a_port_gets_neither_key_nor_message() {
    #[derive(Clone, Copy, PartialEq, Debug)]
    enum Answers {
        Nothing,
        Part,
        Wrong,
        Reflected,
        AndMore,
        Right,
    }
    use Answers::*;
    for answers in [Nothing, Part, Wrong, Reflected, AndMore, Right] {
        let a = Side::over_tcp(1);
        let port = TcpListener::bind("127.0.0.1:0").expect("a port");
        let gone = Address {
            tcp: Some(port.local_addr().expect("an address")),
            ..Address::fresh().expect("an address")
        };
        let to = a.insert(&gone.to_bytes());
        let secret = b"a secret of this job, 40 bytes of a text";
        assert_eq!(a.send(secret, to, 5, 1), 0);
        let long = pattern(4, 100_000);
        assert_eq!(a.send(&long, to, 5, 2), 0);
        assert_eq!(a.wait(&[]).context(), 1, "it was copied");
        let (mut stranger, _) = port.accept().expect("a caller");
        let mut call = [0; CALL];
        stranger.read_exact(&mut call).expect("a call");
        stranger.set_nonblocking(true).expect("a stream");
        let more = |stranger: &mut TcpStream| {
            (0..2_000).for_each(|_| a.progress());
            let mut bytes = [0; 4_000];
            stranger
                .read(&mut bytes)
                .map(|count| bytes[..count].to_vec())
        };
        let blocked = |got: std::io::Result<Vec<u8>>| {
            got.expect_err("no byte comes").kind() == ErrorKind::WouldBlock
        };
        assert!(blocked(more(&mut stranger)), "{answers:?}");
        let (_, other) = crate::wire::call(&gone).expect("random numbers");
        let proof = answer(&gone, &call).expect("a call of who knows the key");
        let bytes = match answers {
            Nothing => Vec::new(),
            Part => proof[..PROOF - 1].to_vec(),
            Wrong => other.to_vec(),
            Reflected => call[CALL - PROOF..].to_vec(),
            AndMore => [&other[..], &proof, &[0; 200]].concat(),
            Right => proof.to_vec(),
        };
        stranger.write_all(&bytes).expect("a stream");
        let got = more(&mut stranger);
        if answers == Right {
            let got = got.expect("a hello");
            let held = |part: &[u8]| got.windows(part.len()).any(|bytes| bytes == part);
            assert!(got.starts_with(&address(&a).to_bytes()) && held(secret));
            assert!(held(&gone.key.to_be_bytes()));
            continue;
        }
        if matches!(answers, Nothing | Part) {
            assert!(blocked(got), "{answers:?}");
            assert_eq!(totals(&a).lost, 0);
        } else {
            let refused = got.map_or_else(
                |error| error.kind() == ErrorKind::ConnectionReset,
                |got| got.is_empty(),
            );
            assert!(refused, "{answers:?}");
        }
        drop(stranger);
        let done = a.wait(&[]);
        assert_eq!(
            (done.context(), done.err),
            (2, FI_ECONNRESET),
            "{answers:?}"
        );
        assert_eq!(totals(&a).lost, 1);
        assert!(a.state(|state| state.endpoints[0].held()).is_empty());
        assert_eq!(a.send(b"again", to, 5, 3), -(FI_ECONNRESET as isize));
    }
}

const FEW: &str = "DPAMATCH_TEST_FEW_DESCRIPTORS";
const CALLERS: u64 = 60;

/// Takes every descriptor that is left.
fn take_all() -> Vec<File> {
    std::iter::from_fn(|| File::open("/dev/null").ok()).collect()
}

/// One message of each caller, which carries its number.
fn call(to: &Address, number: u64) -> Link {
    let from = Address::fresh().expect("an address");
    let mut link = connect(&from, to, 512, None).expect("a link");
    let record = Record {
        flags: flag::TAGGED,
        tag: 5,
        bytes: 8,
        body: [number, 0, 0],
        ..Record::new(Kind::Eager)
    };
    assert_eq!(link.put_head(record), Ok(true));
    link
}

/// A process that runs out of descriptors loses no message: callers wait, and a send without a
/// descriptor has an error with its cause. Once descriptors are free, everything goes on.
#[test]
fn without_descriptors_peers_wait() {
    if std::env::var_os(FEW).is_none() {
        let program = std::env::current_exe().expect("this program");
        let test = "tests::outside::without_descriptors_peers_wait";
        let output = Command::new(program)
            .args(["--exact", test, "--nocapture", "--test-threads=1"])
            .env(FEW, "1")
            .output()
            .expect("this program starts");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{errors}");
        let missing = "this process has no descriptor left (RLIMIT_NOFILE is 300)";
        let waits = format!("dpamatch: {missing}: new peers wait");
        assert_eq!(
            errors.lines().filter(|line| **line == waits).count(),
            1,
            "{errors}"
        );
        let caller = errors
            .lines()
            .filter(|line| line.contains("cannot reach peer"));
        let causes: Vec<_> = caller.map(|line| line.ends_with(missing)).collect();
        assert_eq!(causes, [true], "{errors}");
        return;
    }
    few_descriptors();
}

fn few_descriptors() {
    let (current, maximum) = (Some(100), Some(300));
    setrlimit(Resource::Nofile, Rlimit { current, maximum }).expect("a lower limit");
    let (a, b, c) = (Side::open(|_| ()), Side::open(|_| ()), Side::open(|_| ()));
    assert_eq!(
        getrlimit(Resource::Nofile).current,
        Some(300),
        "the limit is raised"
    );
    let (to_b, to_c) = (a.insert(&b.name()), a.insert(&c.name()));
    still_works(&a, &b, to_b);
    let to = address(&b);
    let mut links: Vec<_> = (0..CALLERS).map(|number| call(&to, number)).collect();
    let mut buffers = vec![[0_u8; 8]; CALLERS as usize];
    for (number, buffer) in buffers.iter_mut().enumerate() {
        assert_eq!(b.receive(buffer, FI_ADDR_UNSPEC, (5, 0), 100 + number), 0);
    }
    let mut taken = take_all();
    let mut got = 0;
    // Each descriptor lets one peer in: one more is in reserve for the memory files.
    for (free, peers) in [(0, 0), (1, 1), (2, 3), (11, 14)] {
        taken.truncate(taken.len() - free);
        if free == 1 {
            // A send to a new peer says what is missing, and succeeds later.
            let blocked = take_all();
            assert_eq!(a.send(b"wait", to_c, 6, 7), -(FI_EMFILE as isize));
            drop(blocked);
        }
        got += collect(&b, Duration::from_millis(200));
        assert_eq!((got, totals(&b).refused), (peers, 0));
    }
    // The ring for long data needs a descriptor, too. The sender has one for a moment.
    let long = pattern(9, 9_000);
    let mut buffer = vec![0; 9_000];
    assert_eq!(b.receive(&mut buffer, FI_ADDR_UNSPEC, (9, 0), 3), 0);
    drop(taken.pop());
    assert_eq!(a.send(&long, to_b, 9, 8), 0);
    assert_eq!(a.wait(&[]).context(), 8);
    taken.extend(take_all());
    drop(taken);
    let end = Instant::now() + Duration::from_secs(20);
    while got < CALLERS + 1 && Instant::now() < end {
        got += collect(&b, Duration::from_millis(10));
    }
    assert_eq!(
        (got, totals(&b).refused, totals(&b).lost),
        (CALLERS + 1, 0, 0)
    );
    assert_eq!(buffer, long);
    let mut numbers: Vec<_> = buffers
        .iter()
        .map(|bytes| u64::from_ne_bytes(*bytes))
        .collect();
    numbers.sort_unstable();
    assert!(numbers.into_iter().eq(0..CALLERS), "each message came once");
    for link in &mut links {
        link.on_readable();
        assert_eq!(link.next().map(|next| next.is_some()), Ok(false));
    }
    still_works(&a, &b, to_b);
    still_works(&a, &c, to_c);
}

/// The receives that complete in this time.
fn collect(side: &Side, time: Duration) -> u64 {
    let end = Instant::now() + time;
    let mut got = 0;
    while Instant::now() < end {
        got += u64::from(side.read().is_some_and(|done| done.err == 0));
    }
    got
}

/// Statistics and logs are new files in folders of this user. They do not follow a link that is in
/// their place.
#[test]
fn files_are_private_and_follow_no_link() {
    let folder = Folder::new("private");
    let victim = folder.0.join("victim");
    std::fs::write(&victim, "mine").expect("a file");
    let (stats, log) = (folder.0.join("a/stats"), folder.0.join("log"));
    let open = || {
        pair(|options| {
            options.stats = Some(stats.clone());
            options.log = Some(log.clone());
        })
    };
    let (a, b, to_b, _) = open();
    for folder in [&stats, &log, &folder.0.join("a")] {
        let mode = std::fs::metadata(folder)
            .expect("a folder")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o700, "{}", folder.display());
    }
    let name = crate::endpoint::file_name(&address(&a));
    let unfinished = stats.join(format!("{name}.unfinished"));
    std::os::unix::fs::symlink(&victim, &unfinished).expect("a link");
    still_works(&a, &b, to_b);
    drop((a, b));
    assert_eq!(std::fs::read_to_string(&victim).expect("text"), "mine");
    let written = std::fs::read_to_string(stats.join(format!("{name}.json"))).expect("text");
    assert!(written.contains("\"peers\": 1"), "{written}");
}
