//! Scripted tests of both ends: a clock that only the actors advance, fixed words, and a receiver
//! and a sender that record their calls.

use std::cell::{Cell, RefCell};
use std::fmt::{Debug, Display, Write};

use expect_test::expect_file;

use super::super::by_turns::by_turns;
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

/// Windows, from 1 on, in which a thread loses its processor: one of the warm-up, the first and the
/// third of the measured ones.
const LOST: [usize; 3] = [WARM_UP, WARM_UP + 1, WARM_UP + 3];

struct Scene {
    zero: Instant,
    time: Cell<u64>,
    preemptions: Cell<u64>,
    log: RefCell<Vec<String>>,
}

impl Scene {
    fn new() -> Self {
        Self {
            zero: Instant::now(),
            time: Cell::new(0),
            preemptions: Cell::new(0),
            log: RefCell::default(),
        }
    }

    fn act(&self, what: impl Display, takes: u64) {
        self.time.set(self.time.get() + takes);
        self.log.borrow_mut().push(what.to_string());
    }

    /// The thread loses its processor in the windows `LOST`.
    fn sent(&self) {
        let windows = self
            .log
            .borrow()
            .iter()
            .filter(|act| *act == "send")
            .count();
        if LOST.contains(&windows) {
            self.preemptions.set(self.preemptions.get() + 1);
        }
    }

    /// Words whose waits succeed up to window `last`.
    fn signals(&self, last: u64) -> Signals<Line<'_>> {
        let line = |name, takes| Line {
            scene: self,
            name,
            takes,
            last,
        };
        Signals {
            go: line("go", 0),
            ready: line("ready", READY),
            ack: line("ack", ACK),
        }
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

    fn preemptions(&self) -> u64 {
        self.preemptions.get()
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
        self.scene
            .act(format_args!("await {} {value}", self.name), self.takes);
        if value <= self.last {
            Ok(())
        } else {
            Err(Gone)
        }
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
        let Some(&message) = self.expected.get(slot) else {
            return;
        };
        let wrong = if self.now == self.when {
            self.wrong
        } else {
            Wrong::Nothing
        };
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
        // In a scene of the receiver alone, nobody sends.
        if !self.scene.log.borrow().iter().any(|act| act == "send") && LOST.contains(&self.now) {
            self.scene.preemptions.set(self.scene.preemptions.get() + 1);
        }
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
    let times = receive(
        &mut script,
        &window,
        5,
        &scene.signals(windows as u64),
        &&scene,
    );
    (scene.taken_log(), times)
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
    assert_eq!(
        times.expect("measured windows are not checked").checked,
        5 * WARM_UP as u64
    );
}

struct Sending<'a>(&'a Scene);

impl Outgoing for Sending<'_> {
    fn send(&mut self) -> Result<(), Gone> {
        self.0.act("send", SEND);
        self.0.sent();
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
fn sent(scenario: &str, answers: u64, limits: Limits) -> (Vec<String>, SenderTimes) {
    let (scene, window) = (Scene::new(), window(scenario, 4));
    let times = send(
        Sending(&scene),
        &window,
        limits,
        &scene.signals(answers),
        &&scene,
    );
    (scene.taken_log(), times)
}

#[test]
fn each_end_reports_the_windows_in_which_it_lost_its_processor() {
    let limits = Limits {
        repetitions: 4,
        budget: FOR_EVER,
    };
    let (_, times) = sent("NC", 100, limits);
    assert_eq!(times.preempted, [true, false, true, false]);

    let (scene, window) = (Scene::new(), window("NC", 4));
    let mut script = Script::new(&scene, &window, Wrong::Nothing, 0);
    let windows = WARM_UP as u64 + 4;
    let times = receive(&mut script, &window, 4, &scene.signals(windows), &&scene);
    let times = times.expect("nothing is wrong");
    assert_eq!(times.preempted, [true, false, true, false]);
    assert_eq!(times.post.len(), 4);

    // By turns, one thread has both ends.
    let scene = Scene::new();
    let mut script = Script::new(&scene, &window, Wrong::Nothing, 0);
    let mut both = [Sending(&scene), Sending(&scene)];
    let turns = by_turns(&mut both[..1], &mut script, &window, limits, &&scene);
    let turns = turns.expect("nothing is wrong");
    assert_eq!(turns.sender.preempted, [true, false, true, false]);
}

#[test]
fn by_turns_one_thread_does_what_both_ends_do() {
    for (scenario, count) in [("NC-REV", 5), ("MIX-0-0-50", 4), ("UNEXP", 3)] {
        let window = window(scenario, count);
        let limits = Limits {
            repetitions: 3,
            budget: FOR_EVER,
        };
        let scene = Scene::new();
        let mut script = Script::new(&scene, &window, Wrong::Nothing, 0);
        let turns = by_turns(
            &mut [Sending(&scene)],
            &mut script,
            &window,
            limits,
            &&scene,
        );
        let turns = turns.expect("nothing is wrong");
        let late = window.late().len() as u64;
        let (done, complete) = if late > 0 {
            (DONE, 2 * COMPLETE)
        } else {
            (0, COMPLETE)
        };
        let time = SEND + done + complete + late * POST + TAKE_BACK;
        assert_eq!(turns.sender.window, [time as f64; 3], "{scenario}");
        assert_eq!(turns.receiver.post, [(count as u64 * POST) as f64; 3]);
        assert_eq!(turns.receiver.settle, [SETTLE as f64; 3]);
        let unexpected = (late * POST + COMPLETE + TAKE_BACK) as f64;
        let unexpected = if late > 0 {
            vec![unexpected; 3]
        } else {
            Vec::new()
        };
        assert_eq!(turns.receiver.unexpected, unexpected, "{scenario}");
        assert_eq!(turns.receiver.checked, (count * WARM_UP) as u64);
        let swapped = Wrong::Swapped(0, 1);
        let mut script = Script::new(&scene, &window, swapped, WARM_UP);
        let wrong = by_turns(
            &mut [Sending(&scene)],
            &mut script,
            &window,
            limits,
            &&scene,
        );
        let wrong = wrong.expect_err("the receiver was wrong");
        assert!(
            matches!(wrong, BenchError::WrongMessage { receive: 0, .. }),
            "{wrong}"
        );
    }
}

const FOR_EVER: Duration = Duration::from_secs(1_000_000);

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
        let (log, times) = sent(
            "NC",
            100,
            Limits {
                repetitions,
                budget,
            },
        );
        assert_eq!(times.window.len(), made, "{repetitions} {budget:?}");
        let windows = log.iter().filter(|act| *act == "send").count();
        assert_eq!(windows, WARM_UP + made);
    }
}

/// Acts in one line for each window, and what came of them.
fn tell(text: &mut String, what: &str, log: &[String], result: impl Debug) {
    _ = writeln!(text, "{what}");
    let begins = |act: &str| ["await go", "say go"].iter().any(|go| act.starts_with(go));
    let mut line = String::new();
    for act in log {
        if begins(act) && !line.is_empty() {
            _ = writeln!(text, "  {}", std::mem::take(&mut line));
        }
        line += if line.is_empty() { "" } else { ", " };
        line += act;
    }
    _ = writeln!(text, "  {line}\n  {result:?}\n");
}

#[test]
fn both_ends_act_in_this_order() {
    let mut text = String::new();
    for (what, scenario, count, windows, wrong, when) in [
        (
            "All receives stand before ready",
            "DEPTH-2",
            3,
            WARM_UP + 2,
            Wrong::Nothing,
            0,
        ),
        (
            "Late receives follow the last message",
            "MIX-0-0-50",
            4,
            WARM_UP + 1,
            Wrong::Nothing,
            0,
        ),
        (
            "The receiver has no room in window 3",
            "NC",
            2,
            50,
            Wrong::Full,
            3,
        ),
    ] {
        let (log, times) = received(scenario, count, windows, wrong, when);
        tell(&mut text, what, &log, times);
    }
    let two = Limits {
        repetitions: 2,
        budget: FOR_EVER,
    };
    for (what, scenario, answers) in [
        ("From the first message to the acknowledgement", "NC", 100),
        (
            "From the first message of which the last one waits",
            "UNEXP",
            100,
        ),
        ("The receiver has gone", "NC", 0),
        (
            "It goes before the last warm-up window",
            "NC",
            WARM_UP as u64 - 1,
        ),
        ("It goes after a measured window", "NC", WARM_UP as u64 + 1),
    ] {
        let (log, times) = sent(scenario, answers, two);
        tell(&mut text, what, &log, times);
    }
    let (scene, window) = (Scene::new(), window("MANY-2", 4));
    send_along(Sending(&scene), &window, &scene.signals(2));
    tell(
        &mut text,
        "Other senders keep no time",
        &scene.taken_log(),
        (),
    );
    expect_file!["tests.txt"].assert_eq(&text);
}

/// Ten windows are run whatever they take, if as many are wanted; further ones within the time.
#[test]
fn ten_windows_are_run_and_more_in_time() {
    let budget = Duration::from_millis(50);
    let late = budget + Duration::from_nanos(1);
    let limits = |repetitions| Limits {
        repetitions,
        budget,
    };
    for (repetitions, made, spent, goes_on) in [
        (20, 9, late, true),
        (20, 10, late, false),
        (20, 10, budget, true),
        (20, 11, late, false),
        (20, 19, budget, true),
        (20, 20, Duration::ZERO, false),
        (5, 4, late, true),
        (5, 5, Duration::ZERO, false),
    ] {
        let told = limits(repetitions).go_on(made, || spent);
        assert_eq!(told, goes_on, "{made} of {repetitions} in {spent:?}");
    }
}
