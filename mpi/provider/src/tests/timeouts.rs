//! Calls that wait, by a clock that the test sets: when they look, how long they sleep, when they
//! end.

use std::mem::MaybeUninit;
use std::os::fd::BorrowedFd;
use std::ptr::null_mut;
use std::time::{Duration, Instant};

use super::side::{Side, call};
use crate::bindings::*;
use crate::objects::{Clock, cq_sread_by, eq_sread_by, wait_by};

const MS: Duration = Duration::from_millis(1);
const NS: Duration = Duration::from_nanos(1);

/// A clock that moves by `tick` with each look at it, and by each sleep.
struct Hand<'a> {
    now: Instant,
    tick: Duration,
    looks: u32,
    slept: Vec<Duration>,
    /// The closures receive the number of looks, and the number of sleeps, so far.
    looked: &'a mut dyn FnMut(u32),
    woken: &'a mut dyn FnMut(usize),
}

impl Clock for Hand<'_> {
    fn now(&mut self) -> Instant {
        let now = self.now;
        (self.now, self.looks) = (now + self.tick, self.looks + 1);
        (self.looked)(self.looks);
        now
    }

    fn sleep(&mut self, most: Duration, _: Option<BorrowedFd<'_>>) {
        self.now += most;
        self.slept.push(most);
        (self.woken)(self.slept.len());
    }
}

/// A call by a clock with this tick: its result, the looks at the clock, and the sleeps.
fn by<R>(
    tick: Duration,
    looked: &mut dyn FnMut(u32),
    woken: &mut dyn FnMut(usize),
    call: impl FnOnce(&mut Hand<'_>) -> R,
) -> (R, u32, Vec<Duration>) {
    let mut clock = Hand {
        now: Instant::now(),
        tick,
        looks: 0,
        slept: Vec::new(),
        looked,
        woken,
    };
    let got = call(&mut clock);
    (got, clock.looks, clock.slept)
}

const AGAIN: isize = -(FI_EAGAIN as isize);

fn wait_for_event(clock: &mut Hand<'_>, queue: *mut FidEq, timeout: i32) -> isize {
    let (mut event, mut bytes) = (0, [0_u8; 8]);
    let to = bytes.as_mut_ptr().cast();
    // SAFETY: a queue of the test, and places for an event.
    unsafe { eq_sread_by(clock, queue, &mut event, to, 8, timeout, 0) }
}

#[test]
fn a_wait_for_events_sleeps_a_millisecond_at_most_and_not_beyond_its_end() {
    let side = Side::open(|_| ());
    let mut queue = null_mut::<FidEq>();
    // SAFETY: the fabric is alive.
    let opened = unsafe {
        call!(
            side.fabric,
            ops,
            eq_open,
            null_mut(),
            &mut queue,
            null_mut()
        )
    };
    assert_eq!(opened, 0);
    for (timeout, tick, slept) in [
        (0, Duration::ZERO, vec![]),
        (1, Duration::ZERO, vec![MS]),
        (2, Duration::ZERO, vec![MS; 2]),
        // One nanosecond more, none, and one less are left at the first look.
        (1, MS - NS, vec![NS]),
        (1, MS, vec![]),
        (1, MS + NS, vec![]),
    ] {
        let (got, _, naps) = by(tick, &mut |_| (), &mut |_| (), |clock| {
            wait_for_event(clock, queue, timeout)
        });
        assert_eq!((got, naps), (AGAIN, slept), "{timeout} {tick:?}");
    }
    for timeout in [-1, i32::MIN, 50] {
        let write = &mut |sleeps| {
            if sleeps == 5 {
                // SAFETY: four bytes for the queue's copy.
                let put = unsafe { call!(queue, ops, write, 3, b"four".as_ptr().cast(), 4, 0) };
                assert_eq!(put, 4);
            }
        };
        let (got, _, naps) = by(Duration::ZERO, &mut |_| (), write, |clock| {
            wait_for_event(clock, queue, timeout)
        });
        assert_eq!((got, naps), (4, vec![MS; 5]), "{timeout}");
    }
    // SAFETY: closed once.
    assert_eq!(unsafe { call!(queue.cast::<Fid>(), ops, close) }, 0);
}

fn wait_for_completion(clock: &mut Hand<'_>, side: &Side, timeout: i32) -> isize {
    let mut entry = MaybeUninit::<CqTaggedEntry>::uninit();
    let to = entry.as_mut_ptr().cast();
    // SAFETY: a queue of the test, and room for an entry.
    unsafe { cq_sread_by(clock, side.queue, to, 1, null_mut(), timeout) }
}

#[test]
fn a_wait_for_completions_sleeps_ten_milliseconds_at_most_and_not_beyond_its_end() {
    let sleeping = || Side::open_as(|_| (), |_| (), FI_WAIT_FD);
    let (a, b) = (sleeping(), sleeping());
    let (to_b, _) = (a.insert(&b.name()), b.insert(&a.name()));
    for (timeout, slept) in [
        (0, vec![]),
        (1, vec![MS]),
        (9, vec![9 * MS]),
        (10, vec![10 * MS]),
        (11, vec![10 * MS, MS]),
    ] {
        let (got, _, naps) = by(Duration::ZERO, &mut |_| (), &mut |_| (), |clock| {
            wait_for_completion(clock, &b, timeout)
        });
        assert_eq!((got, naps), (AGAIN, slept), "{timeout}");
    }
    // A signal ends a wait without a completion, and a message one with it.
    for timeout in [-1, 60] {
        let signal = &mut |sleeps| {
            if sleeps == 3 {
                // SAFETY: a queue of the test.
                assert_eq!(unsafe { call!(b.queue, ops, signal) }, 0);
            }
        };
        let (got, _, naps) = by(Duration::ZERO, &mut |_| (), signal, |clock| {
            wait_for_completion(clock, &b, timeout)
        });
        assert_eq!((got, naps), (AGAIN, vec![10 * MS; 3]), "{timeout}");
    }
    let mut buffer = [0; 4];
    assert_eq!(b.receive(&mut buffer, FI_ADDR_UNSPEC, (5, 0), 1), 0);
    let mut sends = 0;
    let send = &mut |sleeps| {
        if sleeps == 2 {
            a.send_now(b"good", to_b, 5, 2);
            sends += 1;
        }
        a.progress();
    };
    let (got, ..) = by(Duration::ZERO, &mut |_| (), send, |clock| {
        wait_for_completion(clock, &b, -1)
    });
    assert_eq!((got, sends, &buffer), (1, 1, b"good"));
    assert_eq!(a.wait(&[&b]).context(), 2);
}

/// Without a descriptor a wait looks at the queue all the time.
#[test]
fn a_wait_without_a_descriptor_ends_at_its_time() {
    let side = Side::open(|_| ());
    // The first look is for the end.
    for (timeout, looks) in [(0, 2), (1, 2), (2, 3), (3, 4)] {
        let (got, looked, naps) = by(MS, &mut |_| (), &mut |_| (), |clock| {
            wait_for_completion(clock, &side, timeout)
        });
        assert_eq!((got, looked, naps), (AGAIN, looks, vec![]), "{timeout}");
    }
}

#[test]
fn a_wait_for_a_counter_ends_at_its_time_or_with_the_count_or_an_error() {
    let side = Side::open(|_| ());
    let mut counter = null_mut::<FidCntr>();
    // SAFETY: the domain is alive.
    let opened = unsafe {
        call!(
            side.domain,
            ops,
            cntr_open,
            null_mut(),
            &mut counter,
            null_mut()
        )
    };
    assert_eq!(opened, 0);
    // SAFETY: a counter of the test.
    let wait = |clock: &mut Hand<'_>, timeout| unsafe { wait_by(clock, counter, 7, timeout) };
    for (timeout, looks) in [(0, 2), (1, 2), (2, 3), (3, 4)] {
        let (got, looked, _) = by(MS, &mut |_| (), &mut |_| (), |clock| wait(clock, timeout));
        assert_eq!((got, looked), (-FI_ETIMEDOUT, looks), "{timeout}");
    }
    // Without an end the clock is not looked at, so the counter is there before.
    for (count, timeout) in [(7, -1), (8, -1), (7, 0), (8, 0)] {
        // SAFETY: a counter of the test.
        unsafe { call!(counter, ops, set, count) };
        let (got, ..) = by(MS, &mut |_| (), &mut |_| (), |clock| wait(clock, timeout));
        assert_eq!(got, 0, "{count} {timeout}");
    }
    for (count, error, end) in [(6, 0, -FI_ETIMEDOUT), (7, 0, 0), (6, 1, -FI_EAVAIL)] {
        // SAFETY: as above.
        unsafe { call!(counter, ops, set, 0) };
        let change = &mut |looks| {
            if looks == 4 {
                // SAFETY: as above.
                unsafe {
                    call!(counter, ops, set, count);
                    call!(counter, ops, adderr, error);
                }
            }
        };
        let (got, ..) = by(MS, change, &mut |_| (), |clock| wait(clock, 9));
        assert_eq!(got, end, "{count} {error}");
    }
    // SAFETY: closed once.
    assert_eq!(unsafe { call!(counter.cast::<Fid>(), ops, close) }, 0);
}
