//! Scripted tests of both ends: a clock that only the actors advance, fixed words, and a receiver
//! and a sender that record their calls.

use std::cell::{Cell, RefCell};
use std::fmt::Display;

use super::*;

/// Durations of the acts in nanoseconds. All partial sums differ.
const POST: u64 = 1;
const SETTLE: u64 = 100;
const COMPLETE: u64 = 1_000;
const READY: u64 = 10_000;
const SEND: u64 = 100_000;
const DONE: u64 = 200_000;
const TAKE_BACK: u64 = 1_000_000;
const ACK: u64 = 10_000_000;

struct Scene {
    zero: Instant,
    time: Cell<u64>,
    log: RefCell<Vec<String>>,
}

impl Scene {
    fn new() -> Self {
        Self { zero: Instant::now(), time: Cell::new(0), log: RefCell::default() }
    }

    fn act(&self, what: impl Display, takes: u64) {
        self.time.set(self.time.get() + takes);
        self.log.borrow_mut().push(what.to_string());
    }

    /// Words whose waits succeed up to window `last`.
    fn signals(&self, last: u64) -> Signals<Line<'_>> {
        let line = |name, takes| Line { scene: self, name, takes, last };
        Signals { go: line("go", 0), ready: line("ready", READY), ack: line("ack", ACK) }
    }

    fn taken_log(&self) -> Vec<String> {
        self.log.take()
    }
}

impl Clock for &Scene {
    fn now(&self) -> Instant {
        self.act("clock", 0);
        self.zero + Duration::from_nanos(self.time.get())
    }
}

struct Line<'a> {
    scene: &'a Scene,
    name: &'static str,
    takes: u64,
    last: u64,
}

impl Word for Line<'_> {
    fn say(&self, value: u64) {
        self.scene.act(format_args!("say {} {value}", self.name), 0);
    }

    fn wait_with(&self, value: u64, _: Spin) -> Result<(), Gone> {
        self.scene.act(format_args!("await {} {value}", self.name), self.takes);
        if value <= self.last { Ok(()) } else { Err(Gone) }
    }

    fn leave(&self) {
        self.scene.act(format_args!("leave {}", self.name), 0);
    }
}

/// A fault of the receiver.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Wrong {
    Nothing,
    /// These two receives get each other's message.
    Swapped(usize, usize),
    /// This receive's buffer remains unchanged.
    Lost(usize),
    /// This receive gets the first half of its bytes.
    Half(usize),
    /// It cannot take another receive.
    Full,
}

/// Delivers to the receives in posting order.
struct Script<'a> {
    scene: &'a Scene,
    expected: Vec<usize>,
    posted: std::collections::VecDeque<usize>,
    buffers: Vec<Vec<u8>>,
    wrong: Wrong,
    /// The window of the fault.
    when: usize,
    now: usize,
}

impl<'a> Script<'a> {
    fn new(scene: &'a Scene, window: &Window, wrong: Wrong, when: usize) -> Self {
        Self {
            scene,
            expected: window.expected.clone(),
            posted: [].into(),
            buffers: payload::buffers(slots(window), window.size),
            wrong,
            when,
            now: 0,
        }
    }

    fn deliver(&mut self, slot: usize) {
        let Some(&message) = self.expected.get(slot) else { return };
        let wrong = if self.now == self.when { self.wrong } else { Wrong::Nothing };
        let bytes = &mut self.buffers[slot];
        match wrong {
            Wrong::Lost(lost) if lost == slot => {}
            Wrong::Swapped(a, b) if a == slot => payload::stamp(bytes, self.expected[b]),
            Wrong::Swapped(a, b) if b == slot => payload::stamp(bytes, self.expected[a]),
            Wrong::Half(half) if half == slot => {
                payload::stamp(bytes, message);
                let middle = bytes.len() / 2;
                payload::blank(&mut bytes[middle..]);
            }
            _ => payload::stamp(bytes, message),
        }
    }
}

impl Receiver for Script<'_> {
    fn post(&mut self, slot: usize, _: Key) -> Result<(), BenchError> {
        self.scene.act(format_args!("post {slot}"), POST);
        if slot == 0 {
            self.now += 1;
        }
        if self.wrong == Wrong::Full && self.now == self.when {
            return Err(BenchError::LeftTheNic);
        }
        self.posted.push_back(slot);
        Ok(())
    }

    fn settle(&mut self) -> Result<(), BenchError> {
        self.scene.act("settle", SETTLE);
        Ok(())
    }

    fn complete(&mut self, count: usize) -> Result<(), BenchError> {
        self.scene.act(format_args!("complete {count}"), COMPLETE);
        let window = self.expected.len();
        let mut left = count;
        while left > 0 {
            let slot = self.posted.pop_front().expect("no more than was posted");
            // Standing receives never match.
            if slot <= window {
                self.deliver(slot);
                left -= 1;
            }
        }
        Ok(())
    }

    fn buffer(&mut self, slot: usize) -> &mut [u8] {
        &mut self.buffers[slot]
    }
}

fn window(scenario: &str, count: usize) -> Window {
    Window::new(&scenario.parse().expect("a scenario"), count, 16, 1)
}

/// The receiver's calls and times over a number of windows.
fn received(
    scenario: &str,
    count: usize,
    windows: usize,
    wrong: Wrong,
    when: usize,
) -> (Vec<String>, Result<ReceiverTimes, BenchError>) {
    let (scene, window) = (Scene::new(), window(scenario, count));
    let mut script = Script::new(&scene, &window, wrong, when);
    let times = receive(&mut script, &window, 5, &scene.signals(windows as u64), &&scene);
    (scene.taken_log(), times)
}

#[test]
fn all_receives_stand_before_ready_and_all_are_complete_before_the_acknowledgement() {
    let (log, times) = received("DEPTH-2", 3, WARM_UP + 2, Wrong::Nothing, 0);
    // Slot 3 belongs to the message that follows late receives.
    let mut expected = ["post 4", "post 5", "settle"].map(str::to_owned).to_vec();
    for n in 1..=WARM_UP + 2 {
        let window = format!(
            "await go {n}, clock, post 0, post 1, post 2, clock, settle, clock, \
             say ready {n}, complete 3, say ack {n}"
        );
        expected.extend(window.split(", ").map(str::to_owned));
    }
    expected.extend(["await go 23", "leave ready", "leave ack"].map(str::to_owned));
    assert_eq!(log, expected);
    let times = times.expect("times");
    assert_eq!(times.post, [3.0 * POST as f64; 2]);
    assert_eq!(times.settle, [SETTLE as f64; 2]);
    assert_eq!((times.unexpected, times.checked), (vec![], 3 * WARM_UP as u64));
}

#[test]
fn late_receives_are_posted_behind_the_last_message_and_inside_the_clock() {
    let (log, times) = received("MIX-0-0-50", 4, WARM_UP + 1, Wrong::Nothing, 0);
    let last = log.iter().position(|act| act == "await go 21").expect("a measured window");
    let expected = "await go 21, post 4, settle, clock, post 0, post 1, clock, settle, clock, \
         say ready 21, complete 3, clock, post 2, post 3, clock, complete 2, \
         say ack 21, clock, await go 22, leave ready, leave ack";
    assert_eq!(log[last..].join(", "), expected);
    let times = times.expect("times");
    assert_eq!(times.post, [4.0 * POST as f64]);
    assert_eq!(times.settle, [SETTLE as f64]);
    assert_eq!(times.unexpected, [(2 * POST + COMPLETE) as f64]);
}

#[test]
fn every_receive_of_every_warm_up_window_is_checked() {
    for (scenario, count) in [("NC-REV", 5), ("MIX-0-0-50", 4), ("WC", 3)] {
        let expected = window(scenario, count).expected;
        for when in [1, 2, WARM_UP] {
            for slot in 0..count {
                let other = (slot + 1) % count;
                let first = slot.min(other);
                let wrongs = [
                    (Wrong::Lost(slot), slot),
                    (Wrong::Half(slot), slot),
                    (Wrong::Swapped(slot, other), first),
                ];
                for (wrong, noticed) in wrongs {
                    let (log, times) = received(scenario, count, WARM_UP + 1, wrong, when);
                    let error = times.expect_err("the receiver was wrong");
                    assert!(
                        matches!(error, BenchError::WrongMessage { receive, message }
                            if receive == noticed && message == expected[noticed]),
                        "{scenario} {wrong:?} in window {when}: {error}"
                    );
                    assert!(log.ends_with(&["leave ready".to_owned(), "leave ack".to_owned()]));
                }
            }
        }
    }
    let (_, times) = received("NC", 5, WARM_UP + 1, Wrong::Lost(0), WARM_UP + 1);
    assert_eq!(times.expect("measured windows are not checked").checked, 5 * WARM_UP as u64);
}

#[test]
fn what_the_receiver_cannot_do_ends_the_measurement() {
    let (log, times) = received("NC", 2, 50, Wrong::Full, 3);
    assert!(matches!(times, Err(BenchError::LeftTheNic)));
    assert_eq!(log[log.len() - 4..].join(", "), "clock, post 0, leave ready, leave ack");
}

struct Sending<'a>(&'a Scene);

impl Outgoing for Sending<'_> {
    fn send(&mut self) -> Result<(), Gone> {
        self.0.act("send", SEND);
        Ok(())
    }

    fn send_done(&mut self) -> Result<(), Gone> {
        self.0.act("done", DONE);
        Ok(())
    }

    fn take_back(&mut self) -> Result<(), Gone> {
        self.0.act("take back", TAKE_BACK);
        Ok(())
    }
}

/// The sender's calls and times while the receiver answers `answers` windows.
fn sent(scenario: &str, answers: u64, limits: Limits) -> (Vec<String>, Vec<f64>) {
    let (scene, window) = (Scene::new(), window(scenario, 4));
    let times = send(Sending(&scene), &window, limits, &scene.signals(answers), &&scene);
    (scene.taken_log(), times)
}

const FOR_EVER: Duration = Duration::from_secs(1_000_000);

#[test]
fn the_clock_runs_from_the_first_message_to_the_acknowledgement() {
    for (scenario, done, time) in [("NC", "", 0), ("UNEXP", "done, ", DONE)] {
        let limits = Limits { repetitions: 2, budget: FOR_EVER };
        let (log, times) = sent(scenario, 100, limits);
        let windows = (1..=WARM_UP + 2).map(|n| {
            let begin = if n == WARM_UP + 1 { "clock, " } else { "" };
            format!(
                "{begin}say go {n}, await ready {n}, clock, send, {done}take back, await ack {n}, \
                 clock"
            )
        });
        let expected: Vec<String> = windows.chain(["leave go".to_owned()]).collect();
        assert_eq!(log.join(", "), expected.join(", "));
        assert_eq!(times, [(SEND + time + TAKE_BACK + ACK) as f64; 2]);
    }
}

#[test]
fn repetitions_and_budget_decide_how_many_windows_are_measured() {
    let one = READY + SEND + TAKE_BACK + ACK;
    let budget = |windows: u64| Duration::from_nanos(windows * one);
    for (repetitions, budget, made) in [
        (3, FOR_EVER, 3),
        (12, FOR_EVER, 12),
        (3, budget(0), 3),
        (12, budget(0), 10),
        (50, budget(0), 10),
        (50, budget(5), 10),
        // The last one begins just before the time limit.
        (50, budget(14), 15),
        (50, budget(15) - Duration::from_nanos(1), 15),
    ] {
        let (log, times) = sent("NC", 100, Limits { repetitions, budget });
        assert_eq!(times.len(), made, "{repetitions} {budget:?}");
        let windows = log.iter().filter(|act| *act == "send").count();
        assert_eq!(windows, WARM_UP + made);
    }
}

#[test]
fn a_sender_ends_when_the_receiver_has_gone() {
    let limits = Limits { repetitions: 50, budget: FOR_EVER };
    for (answers, made) in [(0, 0), (WARM_UP as u64 - 1, 0), (WARM_UP as u64 + 3, 3)] {
        let (log, times) = sent("NC", answers, limits);
        assert_eq!(times.len(), made);
        let waits = format!("await ready {}", answers + 1);
        assert_eq!(log[log.len() - 2..], [waits, "leave go".to_owned()]);
    }
}

#[test]
fn other_senders_send_in_every_window_and_keep_no_time() {
    let (scene, window) = (Scene::new(), window("MANY-2", 4));
    send_along(Sending(&scene), &window, &scene.signals(2));
    let expected = "await ready 1, send, take back, await ready 2, send, take back, await ready 3";
    assert_eq!(scene.taken_log().join(", "), expected);
}
