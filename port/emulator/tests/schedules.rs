//! In which order handlers run, on which host threads, and what a model says that they cost.

mod support;

use std::process::Command;
use support::{build, run, text};

/// What the case prints on standard output and standard error.
fn said(case: &str, settings: &[(&str, &str)]) -> (String, String) {
    let mut command = Command::new(build("schedules"));
    let ran = run(command.arg(case).envs(settings.iter().copied()));
    (text(&ran.stdout), text(&ran.stderr))
}

/// Eight handlers are woken in the order of their numbers. Without a seed one comes after the
/// other. With a seed they give each other turns at fences, and are chosen in another order.
#[test]
fn a_seed_lets_handlers_take_turns_and_overtake() {
    let in_order = "at a time 1\novertaken 0\n".to_owned();
    assert_eq!(said("turns", &[]), (in_order, String::new()));
    for seed in ["5", "6", "7"] {
        let (said, errors) = said("turns", &[("DPA_SEED", seed)]);
        let most = said
            .strip_prefix("at a time ")
            .and_then(|rest| rest.split_once('\n'));
        let (most, overtaken) = most.expect("two lines");
        let most: u64 = most.parse().expect("a number");
        assert!((2..=8).contains(&most), "seed {seed}: {said}");
        assert_eq!(
            (overtaken, errors.as_str()),
            ("overtaken 1\n", ""),
            "seed {seed}"
        );
    }
}

/// Threads, here those of calls, take workers in turn. Handlers of both wake each other.
#[test]
fn threads_take_workers_in_turn() {
    for (workers, same) in [("1", 1), ("2", 0)] {
        let right = format!("same as the last but one 1 1\nsame as the last {same}\n");
        let setting = [("DPA_WORKERS", workers)];
        assert_eq!(
            said("workers", &setting),
            (right, String::new()),
            "{workers}"
        );
    }
    // With three the third call runs on another host thread than the first.
    let right = "same as the last but one 0 0\nsame as the last 0\n".to_owned();
    assert_eq!(
        said("workers", &[("DPA_WORKERS", "3")]),
        (right, String::new())
    );
}

/// With `units` each handler has a host thread, as many as there are cores: one that never yields
/// stops no other, and its destruction leaves room for another handler.
#[test]
fn each_handler_may_have_a_host_thread() {
    let cores = std::thread::available_parallelism().expect("a number of cores");
    let right = format!("handlers {cores}\nbefore 0\nagain 0\n");
    let why = "dpa: flexio_event_handler_create: DPA_WORKERS=units: no core is left for another \
               handler\n";
    let units = [("DPA_WORKERS", "units")];
    assert_eq!(said("units", &units), (right, why.to_owned()));
}

/// An activation reads 17 lines, of which the first level keeps 16, and the oldest again: 18 come
/// from the second level. A read of the third is a hit, and keeps it there. The second is gone, is
/// read from the second level, and written in the first. The third is there. A copy reads a line
/// that is there and a new one, and writes one that is there: 20 lines of the second level, and 5
/// of the first. The handler is woken twice. Later, a read and a look at the clock take 37 ns at
/// 1.8 GHz.
#[test]
fn a_model_counts_lines() {
    let activation = f64::from(20 * 35 + 5 * 2);
    let line = format!(
        "dpa: process 1, thread 0 (reads_lines): a model of a card, without instructions: \
         activations: 2 of {activation:.1} ns, {:.3} million/s\n",
        1e3 / activation
    );
    let cycles = format!("cycles {}\n", (37.0 * 1.8_f64).round());
    assert_eq!(said("costs", &[("DPA_VIRTUAL", "1")]), (cycles, line));
    let (_, errors) = said("costs", &[("DPA_VIRTUAL", "0")]);
    assert_eq!(errors, "");
}
