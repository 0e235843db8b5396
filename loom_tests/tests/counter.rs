//! Tests the checker: it must explore several orders of two increments, find a lost one, and refuse
//! a model without a race.
#![cfg(dpamatch_loom)]

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread;
use loom_tests::check;

/// Two threads apply `increment` to one counter, which must end at 2.
fn two_increments(increment: fn(&AtomicU32)) {
    let counter = Arc::new(AtomicU32::new(0));
    let other = {
        let counter = Arc::clone(&counter);
        thread::spawn(move || increment(&counter))
    };
    increment(&counter);
    other.join().expect("the other thread ended");
    assert_eq!(counter.load(Ordering::Relaxed), 2, "an increment was lost");
}

fn atomic_increment(counter: &AtomicU32) {
    counter.fetch_add(1, Ordering::Relaxed);
}

/// A load, then a store, in place of `fetch_add`.
fn torn_increment(counter: &AtomicU32) {
    let seen = counter.load(Ordering::Relaxed);
    counter.store(seen + 1, Ordering::Relaxed);
}

#[test]
fn fetch_add_loses_nothing() {
    check("counter/fetch_add", None, 2, || {
        two_increments(atomic_increment)
    });
}

#[test]
fn bounded_exploration_says_so() {
    check("counter/fetch_add_bounded", Some(2), 2, || {
        two_increments(atomic_increment)
    });
}

#[test]
#[should_panic(expected = "an increment was lost")]
fn a_lost_increment_is_found() {
    check("counter/torn", None, 2, || two_increments(torn_increment));
}

#[test]
#[should_panic(expected = "no two threads met")]
fn a_model_without_a_race_is_refused() {
    check("counter/alone", None, 1, || {
        atomic_increment(&AtomicU32::new(0))
    });
}
