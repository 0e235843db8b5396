//! Litmus tests of weak memory: allowed outcomes appear, forbidden ones never do. `litmus.S` has
//! the programs.

use std::collections::BTreeSet;

use crate::{program, weak};
use dpamatch_port::rv64::run;

const SEEDS: u64 = 2000;

/// All results that a program on these harts has, a digit for each hart.
fn seen(name: &str, harts: usize) -> BTreeSet<String> {
    let image = program(name);
    let result = |seed| {
        let end = run(&image, &weak(harts + 1, seed)).end;
        let code = end.unwrap_or_else(|fault| panic!("{name}, seed {seed}: {fault}"));
        format!("{code:0harts$x}")
    };
    (0..SEEDS).map(result).collect()
}

/// Whether the allowed results are seen, and the forbidden ones are not; `?` is any digit.
fn judge(name: &str, harts: usize, allowed: &[&str], forbidden: &[&str]) {
    let results = seen(name, harts);
    let is = |result: &str, pattern: &str| {
        result
            .chars()
            .zip(pattern.chars())
            .all(|(digit, known)| known == '?' || digit == known)
    };
    let has = |pattern: &&str| results.iter().any(|result| is(result, pattern));
    assert!(allowed.iter().all(has), "{name}: {results:?}");
    assert!(!forbidden.iter().any(has), "{name}: {results:?}");
}

#[test]
fn message_passing_needs_both_fences() {
    judge("mp", 2, &["00", "03", "02"], &[]);
    // Loads may be done in any order, and stores may reach memory in any order.
    judge("mp_release", 2, &["00", "03", "02"], &[]);
    judge("mp_acquire", 2, &["00", "03", "02"], &[]);
    judge("mp_both", 2, &["00", "03"], &["02"]);
    judge("mp_full", 2, &["00", "03"], &["02"]);
    judge("mp_address", 2, &["00", "03"], &["02"]);
}

#[test]
fn store_buffering_needs_full_fences() {
    judge("sb", 2, &["00"], &[]);
    // A release orders no later load.
    judge("sb_release", 2, &["00"], &[]);
    judge("sb_full", 2, &["01", "10"], &["00"]);
}

#[test]
fn load_buffering_is_seen_without_order() {
    judge("lb", 2, &["11"], &[]);
    judge("lb_fence", 2, &["01", "10"], &["11"]);
    judge("lb_full", 2, &["01", "10"], &["11"]);
    judge("lb_branch", 2, &["01", "10"], &["11"]);
    judge("lb_address", 2, &["01", "10"], &["11"]);
    // Nothing comes out of thin air.
    judge("lb_copy", 2, &["00"], &["1?", "?1"]);
}

#[test]
fn one_word_never_goes_back_in_time() {
    judge("coherence", 2, &["00", "01", "03"], &["02"]);
}

#[test]
fn a_hart_sees_its_own_stores() {
    judge("own_stores", 2, &["31"], &["0?", "1?", "2?", "4?"]);
}

#[test]
fn two_readers_agree_on_the_order_of_two_writers() {
    judge("iriw", 4, &["0022"], &[]);
    judge("iriw_acquire", 4, &["0033"], &["0022"]);
}

#[test]
fn a_lock_by_swap_excludes() {
    assert_eq!(seen("lock_both", 2), BTreeSet::from(["66".to_owned()]));
    assert!(
        seen("lock_release", 2).len() > 1,
        "without acquire an old sum is read"
    );
    assert!(
        seen("lock_acquire", 2).len() > 1,
        "without release the sum comes too late"
    );
}

#[test]
fn a_seed_gives_one_run() {
    let image = program("race");
    for seed in 0..20 {
        let [first, second] = [(), ()].map(|()| run(&image, &weak(3, seed)));
        assert_eq!((first.end, first.retired), (second.end, second.retired));
    }
}
