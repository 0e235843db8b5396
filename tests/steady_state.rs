//! Engines report the memory that they allocate. An engine whose queues stopped growing allocates
//! no more. The NIC and the endpoint never allocate on the path of a message.

mod watchdog;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use dpa_model::{Hints, NicConfig};
use dpamatch::conformance::{Call, random_calls, seed_options};
use dpamatch::endpoint::{Drive, Endpoint, EndpointConfig};
use dpamatch::engine::{BinCount, BinEngine, Engine, ListEngine, MsgId, RecvId};
use dpamatch::registry::ENGINES;
use dpamatch::stream::{Profile, apply};
use dpamatch_vocabulary::{CommId, Envelope, Rank, Selector, SourceSel, Tag, TagSel};

thread_local! {
    /// Allocations of this thread: other tests of the process do not disturb.
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
    /// Bytes that this thread holds, and the most it held since this was last set.
    static BYTES: Cell<usize> = const { Cell::new(0) };
    static BYTES_MAX: Cell<usize> = const { Cell::new(0) };
}

/// One thread may free what another allocated, so the sum may wrap around.
fn add_bytes(bytes: usize) {
    BYTES.set(BYTES.get().wrapping_add(bytes));
    BYTES_MAX.set(BYTES_MAX.get().max(BYTES.get()));
}

struct Counting;

// SAFETY: every call goes to the system's allocator unchanged; the counters are plain thread-local
// numbers that are initialised at compile time and have no destructor, so touching them never
// allocates.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        add_bytes(layout.size());
        // SAFETY: the caller keeps `alloc`'s contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        BYTES.set(BYTES.get().wrapping_sub(layout.size()));
        // SAFETY: the pointer comes from `alloc` above, so from the system's allocator, with this
        // layout.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// One round with `depth` receives waiting, then as many messages. Entries leave their queues in
/// all three ways.
fn round(engine: &mut dyn Engine, number: u64, depth: u64) {
    let tag = |index: u64| Tag::new((index % 50) as u32).expect("a small tag");
    let envelope = |index| Envelope {
        comm: CommId((index % 3) as u32),
        source: Rank::default(),
        tag: tag(index),
    };
    let first = number * 2 * depth;
    for index in first..first + depth {
        engine.post(
            RecvId(index),
            envelope(index).comm,
            Selector::new(SourceSel::Any, tag(index)),
        );
    }
    for index in first..first + depth {
        if index % 5 == 0 {
            engine.cancel(RecvId(index));
        }
        engine.arrive(MsgId(index), envelope(index));
        engine.arrive(MsgId(index + depth), envelope(index));
    }
    for index in first..first + 2 * depth {
        let Envelope { comm, tag, .. } = envelope(index);
        engine.mprobe(comm, Selector::new(Rank::default(), tag));
    }
    for index in first..first + depth {
        engine.cancel(RecvId(index));
        let Envelope { comm, tag, .. } = envelope(index);
        engine.mprobe(comm, Selector::new(Rank::default(), tag));
    }
}

#[test]
fn no_allocation_once_warm() {
    let _dog = watchdog::on("an endpoint: no allocation once warm");
    let bins = BinCount::new(64).expect("a possible number");
    let engines: [(&str, Box<dyn Engine>); 2] = [
        ("list", Box::new(ListEngine::new())),
        ("bins", Box::new(BinEngine::new(bins))),
    ];
    for (name, mut engine) in engines {
        for number in 0..3 {
            round(engine.as_mut(), number, 300);
        }
        assert_eq!(engine.stats().prq.length_max, 300, "{name}");
        assert!(engine.stats().umq.length_max >= 300, "{name}");
        let (before, memory) = (ALLOCATIONS.get(), engine.stats().memory_bytes);
        for number in 3..200 {
            round(engine.as_mut(), number, 300);
        }
        assert_eq!(ALLOCATIONS.get() - before, 0, "{name}");
        assert_eq!(engine.stats().memory_bytes, memory, "{name}");
        assert!(before > 0, "the allocator counts");
    }
}

fn call(engine: &mut dyn Engine, call: &Call) {
    match *call {
        Call::Event(event) => _ = apply(engine, event),
        Call::Free(comm) => _ = engine.free_comm(comm),
        Call::Size(comm, size) => engine.set_comm_size(comm, size),
    }
}

/// After every call the bytes that an engine reports equal the bytes that the allocator gave it.
/// While a table grows the old and the new one exist, so the allocator sees a higher peak, but
/// never twice the one reported.
#[test]
fn engines_report_the_memory_that_they_hold() {
    let _dog = watchdog::on("an endpoint: engines report the memory that they hold");
    for (seed, profile) in (0..).zip(Profile::ALL.iter().copied()) {
        let calls = random_calls(seed, 4_000, profile);
        let options = seed_options(seed);
        for entry in ENGINES {
            let before = BYTES.get();
            let Some(mut engine) = entry.engine(&options) else {
                continue;
            };
            let own = before + size_of_val(engine.as_ref());
            BYTES_MAX.set(BYTES.get());
            for (number, next) in calls.iter().enumerate() {
                call(engine.as_mut(), next);
                let reported = engine.stats().memory_bytes as usize;
                assert_eq!(
                    reported,
                    BYTES.get() - own,
                    "{}, {profile}, call {number}: {next}",
                    entry.name
                );
            }
            let (reported, seen) = (
                engine.stats().memory_bytes_max as usize,
                BYTES_MAX.get() - own,
            );
            let possible = reported <= seen && seen < 2 * reported;
            assert!(
                possible,
                "{}, {profile}: {reported} bytes at most, {seen} seen",
                entry.name
            );
        }
    }
}

/// Posted receives, unexpected messages, cancels and completions in groups, with reused buffers.
fn endpoint_allocates_no_more(drive: Drive, payload: usize) {
    const DEPTH: usize = 50;
    let config = EndpointConfig {
        nic: NicConfig {
            workers: 2,
            ..NicConfig::default()
        },
        drive,
    };
    let mut endpoint = Endpoint::new(&config).expect("a NIC can be built");
    let comm = endpoint
        .create_comm(Hints::default())
        .expect("the NIC runs");
    let mut peer = endpoint.sender(&comm, Rank::default());
    let tag = Tag::default();
    let bytes = vec![1; payload];
    let mut buffers: Vec<Vec<u8>> = (0..DEPTH).map(|_| vec![0; payload]).collect();
    let mut requests = Vec::with_capacity(DEPTH);
    let mut results = Vec::with_capacity(DEPTH);
    let mut round = |number: u64| {
        // One at a time, as in a ping-pong; then unexpected.
        for early in [true, false] {
            let mut buffer = buffers.pop().expect("a buffer");
            if !early {
                endpoint.send(&mut peer, tag, &bytes).expect("sent");
            }
            let request = endpoint
                .post_recv(&comm, Rank::default(), tag, buffer)
                .expect("posted");
            if early {
                endpoint.send(&mut peer, tag, &bytes).expect("sent");
            }
            buffer = endpoint.wait(request).expect("received").buffer;
            buffers.push(buffer);
        }
        // Many at a time.
        for buffer in buffers.drain(..) {
            requests.push(Some(
                endpoint
                    .post_recv(&comm, SourceSel::Any, TagSel::Any, buffer)
                    .expect("posted"),
            ));
        }
        let cancelled = requests[(number % DEPTH as u64) as usize]
            .as_ref()
            .expect("posted");
        endpoint.cancel(cancelled).expect("asked");
        for _ in 1..DEPTH {
            endpoint.send(&mut peer, tag, &bytes).expect("sent");
        }
        while endpoint.wait_some(&mut requests, &mut results) > 0 {}
        requests.clear();
        for (_, result) in results.drain(..) {
            buffers
                .push(result.map_or_else(|error| error.into_buffer(), |received| received.buffer));
        }
    };
    (0..20).for_each(&mut round);
    let before = ALLOCATIONS.get();
    (20..300).for_each(&mut round);
    assert_eq!(ALLOCATIONS.get() - before, 0, "{payload} bytes");
    assert!(before > 0, "the allocator counts");
}

#[test]
fn the_path_of_a_message_allocates_nothing() {
    let _dog = watchdog::on("an endpoint: the path of a message allocates nothing");
    for payload in [8, 100] {
        // Run by the caller, the whole NIC is measured; run by threads, the host's side.
        endpoint_allocates_no_more(Drive::Caller, payload);
        endpoint_allocates_no_more(Drive::threads(), payload);
    }
}
