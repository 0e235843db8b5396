//! The machine's state and the effect of each charge. `tasks` does the scheduling.

mod boundary;

use super::memory::{Memory, Place};
use super::outside::Outside;
use super::steps::Steps;
use super::{
    BlockBegin, BlockEnd, Costs, Eu, Layout, Level, LineKind, Overlap, Phase, Picos, Rules, Span,
    picos,
};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Sink {
    /// None: emulator work that no DPA does.
    Off,
    /// The running task's clock, which its EU follows.
    Clock,
    /// The EU's end of work, while the clock stands: work after the EU has announced its end.
    After,
}

/// The part of a coroutine that charges change.
#[derive(Clone, Debug)]
pub(crate) struct Task {
    pub(crate) clock: Picos,
    sink: Sink,
    eu: usize,
    phase: Phase,
    /// Beginning of the phase, in the sink's time.
    phase_begun: Picos,
    message: u64,
    in_slice: bool,
    step: Option<usize>,
    /// Address of the last atomic read, for comparison only.
    pub(crate) looked_at: usize,
    /// Receives visited in this search.
    walked: usize,
    /// Another's store has just woken it.
    pub(crate) is_woken: bool,
}

/// Messages and commands of a window, with times since its beginning. A missing time means as early
/// as possible.
#[derive(Clone, Debug, Default)]
pub struct Schedule {
    /// Length of each message in bytes, in arrival order.
    pub bytes: Vec<u64>,
    /// By message, in arrival order.
    pub arrivals: Vec<Picos>,
    pub commands: Vec<Picos>,
}

#[derive(Debug)]
pub struct Machine {
    costs: Costs,
    rules: Rules,
    memory: Memory,
    eus: Vec<Eu>,
    pub(crate) tasks: Vec<Task>,
    pub(crate) current: usize,
    spans: Vec<Span>,
    spans_wanted: usize,
    /// Number of the message that arrives at `epoch`.
    first_message: u64,
    epoch: Picos,
    eager_bytes: usize,
    outside: Outside,
    /// Times of the commands since `epoch`.
    due: Vec<Picos>,
    /// Commands since `epoch`.
    commands: usize,
    /// Slow-down of work by the number of EUs of a core, then by that of those that wait.
    stretch: Vec<Vec<f64>>,
    /// EUs of each core, and how many of them wait for another handler.
    cores: Vec<(usize, usize)>,
    boundary: Boundary,
    /// Handlers of this block without a receive.
    unmatched: Vec<bool>,
    /// The message in each entry of the unexpected store.
    stored: Vec<u64>,
    /// Costs of the code between steps, if charged.
    steps: Option<Steps>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Boundary {
    #[default]
    None,
    Handler(usize),
    /// For a command; `done`: it has reached a receive or a message.
    Command {
        done: bool,
    },
}

#[derive(Clone, Debug)]
pub struct Outcome {
    pub eus: Vec<Eu>,
    pub end: Picos,
    /// The first spans, ordered by their beginning.
    pub spans: Vec<Span>,
}

impl Machine {
    pub fn new(costs: Costs, rules: Rules, layout: &Layout) -> Self {
        let mut eus = vec![Eu::default(); layout.handlers];
        let core = |eu| rules.placement.core(eu, layout.cores, layout.eus_per_core);
        let mut cores = vec![(0, 0); layout.cores.max(layout.handlers)];
        for (number, eu) in eus.iter_mut().enumerate() {
            eu.core = core(number);
            cores[eu.core].0 += 1;
        }
        let most = cores.iter().map(|core| core.0).max().unwrap_or(0);
        let by_waiting = |all: usize| {
            (0..=all)
                .map(|waiting| costs.issue.stretch(all - waiting, waiting))
                .collect()
        };
        let stretch = (0..=most).map(by_waiting).collect();
        let task = Task {
            clock: 0,
            sink: Sink::Off,
            eu: 0,
            phase: Phase::Poll,
            phase_begun: 0,
            message: 0,
            in_slice: false,
            step: None,
            looked_at: 0,
            walked: 0,
            is_woken: false,
        };
        Self {
            memory: Memory::new(&costs, layout),
            tasks: vec![task; layout.handlers],
            costs,
            rules,
            eus,
            current: 0,
            spans: Vec::new(),
            spans_wanted: 0,
            first_message: 0,
            epoch: 0,
            eager_bytes: layout.eager_bytes,
            outside: Outside::default(),
            due: Vec::new(),
            commands: 0,
            stretch,
            cores,
            boundary: Boundary::None,
            unmatched: vec![false; layout.handlers],
            stored: vec![0; layout.unexpected],
            steps: None,
        }
    }

    /// Counts the code between steps, and charges what `Costs` says of it.
    pub fn with_steps(self, steps: Steps) -> Self {
        Self {
            steps: Some(steps),
            ..self
        }
    }

    pub fn record(&mut self, count: usize) {
        self.spans.clear();
        self.spans_wanted = count;
    }

    pub fn outcome(&self) -> Outcome {
        let mut spans = self.spans.clone();
        spans.sort_by_key(|span| (span.begin, span.eu, span.end));
        Outcome {
            eus: self.eus.clone(),
            end: self.end(),
            spans,
        }
    }

    pub fn end(&self) -> Picos {
        let tasks = self.tasks.iter().map(|task| task.clock);
        let eus = self
            .eus
            .iter()
            .map(|eu| eu.free_at)
            .chain(tasks)
            .max()
            .unwrap_or(0);
        eus.max(self.outside.end())
    }

    /// Starts a window at the end of all work, and returns that time. All EUs wait for message
    /// `first`, and all counts restart. The wire's least spacing holds whatever the schedule says.
    pub fn begin_window(&mut self, first: u64, schedule: Schedule) -> Picos {
        let now = self.end();
        let Schedule {
            bytes,
            arrivals,
            commands,
        } = schedule;
        self.outside = Outside::new(&self.costs, now, &arrivals, &bytes, self.eager_bytes);
        (self.due, self.commands) = (commands, 0);
        self.epoch = now;
        self.first_message = first;
        for task in &mut self.tasks {
            task.clock = now;
        }
        for eu in &mut self.eus {
            *eu = Eu {
                free_at: now,
                core: eu.core,
                ..Eu::default()
            };
        }
        now
    }

    fn arrival(&self, message: u64) -> Picos {
        self.outside
            .arrival(message.saturating_sub(self.first_message))
    }

    #[inline]
    pub(crate) fn task(&mut self) -> &mut Task {
        &mut self.tasks[self.current]
    }

    /// The running task's time on its present sink.
    fn now(&self) -> Picos {
        let task = &self.tasks[self.current];
        match task.sink {
            Sink::After => self.eus[task.eu].free_at,
            _ => task.clock,
        }
    }

    /// The running task and its clock, without work that it leaves to an EU for later.
    pub(crate) fn here(&self) -> (usize, Picos) {
        (self.current, self.tasks[self.current].clock)
    }

    fn set_now(&mut self, time: Picos) {
        let task = &mut self.tasks[self.current];
        match task.sink {
            Sink::Off => {}
            Sink::Clock => task.clock = time,
            Sink::After => self.eus[task.eu].free_at = time,
        }
    }

    fn sink_off(&self) -> bool {
        self.tasks[self.current].sink == Sink::Off
    }

    pub(crate) fn work(&mut self, time: Picos) {
        let Task {
            sink, eu, phase, ..
        } = self.tasks[self.current];
        if sink == Sink::Off || time == 0 {
            return;
        }
        let (all, waiting) = self.cores[self.eus[eu].core];
        let time = (time as f64 * self.stretch[all][waiting]).round() as Picos;
        self.eus[eu].time.work[phase as usize] += time;
        self.set_now(self.now() + time);
    }

    /// Charges the instructions since the last step, and lines outside the modelled memory.
    pub(crate) fn step(&mut self, step: usize) {
        let last = self.task().step.replace(step);
        let (Some(steps), Some(last)) = (&self.steps, last) else {
            return;
        };
        if self.sink_off() {
            return;
        }
        let eu = self.tasks[self.current].eu;
        let [instructions, own, code] = steps.get(last, step).of(eu);
        self.eus[eu].instructions += instructions;
        self.work((instructions * self.costs.instruction).round() as Picos);
        self.miss(eu, LineKind::Own, own, self.costs.own);
        self.miss(eu, LineKind::Code, code, self.costs.code);
    }

    /// Charges a mean number of lines that miss the first level, if they cost anything.
    fn miss(&mut self, eu: usize, kind: LineKind, lines: f64, cost: f64) {
        if cost == 0.0 {
            return;
        }
        let time = (lines * cost).round() as Picos;
        let Eu {
            time: into,
            accesses,
            parts,
            ..
        } = &mut self.eus[eu];
        let parts = &mut parts[usize::from(kind == LineKind::Code)];
        *parts += lines;
        let accesses = &mut accesses[kind as usize];
        accesses.found[Level::L2 as usize] += parts.floor() as u64;
        accesses.time += time;
        *parts -= parts.floor();
        into.memory[Level::L2 as usize] += time;
        self.set_now(self.now() + time);
    }

    pub(crate) fn read(&mut self, place: Place) {
        if !self.sink_off() {
            let eu = self.tasks[self.current].eu;
            let level = self.memory.read(&self.costs, eu, place);
            self.charge_level(eu, place.kind(), level as usize);
        }
    }

    pub(crate) fn search(&mut self) {
        self.task().walked = 0;
        self.enter(Phase::Search);
        self.work(self.costs.work.search);
    }

    pub(crate) fn visit(&mut self, receive: u32) {
        if !self.sink_off() {
            let eu = self.tasks[self.current].eu;
            let walked = self.tasks[self.current].walked;
            self.task().walked += 1;
            if walked.is_multiple_of(self.costs.walk_line.max(1)) {
                self.read(Place::Descriptor(receive));
            } else {
                self.charge_level(eu, LineKind::Receive, Level::L1 as usize);
            }
        }
    }

    pub(crate) fn read_landed(&mut self, place: Place) {
        if !self.sink_off() {
            self.memory.land(place);
            self.read(place);
        }
    }

    pub(crate) fn write(&mut self, place: Place) {
        if !self.sink_off() {
            let eu = self.tasks[self.current].eu;
            let level = self.memory.write(&self.costs, eu, place);
            self.charge_level(eu, place.kind(), level as usize);
        }
    }

    fn charge_level(&mut self, eu: usize, kind: LineKind, level: usize) {
        let cost = self.costs.level[level];
        let eu = &mut self.eus[eu];
        eu.time.memory[level] += cost;
        let accesses = &mut eu.accesses[kind as usize];
        accesses.found[level] += 1;
        accesses.time += cost;
        self.set_now(self.now() + cost);
    }

    pub(crate) fn modify(&mut self, place: Place) {
        if self.sink_off() {
            return;
        }
        let (eu, now) = (self.tasks[self.current].eu, self.now());
        let done = self.memory.modify(&self.costs, eu, place, now);
        let Eu { time, accesses, .. } = &mut self.eus[eu];
        let accesses = &mut accesses[place.word() as usize];
        accesses.time += done.end - now;
        if done.fresh {
            accesses.handed_over += 1;
            time.handover += done.end - now;
        } else {
            let cost = self.costs.level[done.level as usize];
            accesses.found[done.level as usize] += 1;
            time.memory[done.level as usize] += cost;
            time.handover += done.end - now - cost;
        }
        self.set_now(done.end);
    }

    /// A read-modify-write without a result: the word is busy, the EU goes on.
    pub(crate) fn post_modify(&mut self, place: Place) {
        if self.sink_off() {
            return;
        }
        let (eu, now) = (self.tasks[self.current].eu, self.now());
        self.memory.modify(&self.costs, eu, place, now);
        self.charge_level(eu, place.word(), 0);
    }

    /// Charges host memory, completions and doorbells.
    pub(crate) fn host(&mut self, kind: LineKind, cost: Picos) {
        if !self.sink_off() {
            let eu = self.tasks[self.current].eu;
            let Eu { time, accesses, .. } = &mut self.eus[eu];
            time.host += cost;
            let accesses = &mut accesses[kind as usize];
            accesses.outside += 1;
            accesses.time += cost;
            self.set_now(self.now() + cost);
        }
    }

    pub(crate) fn enter(&mut self, phase: Phase) {
        if self.sink_off() {
            return;
        }
        self.end_span();
        let now = self.now();
        let task = self.task();
        (task.phase, task.phase_begun) = (phase, now);
    }

    fn end_span(&mut self) {
        let now = self.now();
        let Task {
            eu,
            phase,
            phase_begun,
            message,
            ..
        } = self.tasks[self.current];
        if self.spans.len() < self.spans_wanted && now > phase_begun {
            self.spans.push(Span {
                eu,
                phase,
                message,
                begin: phase_begun,
                end: now,
            });
        }
    }

    pub(crate) fn begin_slice(&mut self, worker: usize) {
        let free_at = self.eus[worker].free_at;
        let handed_over = self.rules.block_begin == BlockBegin::Leader && worker > 0;
        let handover = if handed_over { self.costs.handover } else { 0 };
        let activation = self.costs.activation;
        let task = self.task();
        let begin = task.clock.max(free_at);
        task.clock = begin + activation + handover;
        (task.sink, task.eu) = (Sink::Clock, worker);
        (task.phase, task.phase_begun, task.in_slice) = (Phase::Poll, task.clock, true);
        let eu = &mut self.eus[worker];
        eu.time.fence += begin - free_at;
        eu.time.handover += handover;
        eu.executions += 1;
    }

    /// The handler waits for its message (O20).
    pub(crate) fn arrive(&mut self, position: u64) {
        if self.sink_off() {
            return;
        }
        let (arrival, now, eu) = (
            self.arrival(position),
            self.now(),
            self.tasks[self.current].eu,
        );
        self.task().message = position;
        if arrival > now {
            // The first poll after the arrival finds it.
            let miss = self.costs.poll_miss.max(1);
            let polls = (arrival - now).div_ceil(miss);
            self.eus[eu].polls_empty += polls;
            self.eus[eu].time.arrival += polls * miss;
            self.set_now(now + polls * miss);
        }
    }

    /// The handler checks whether another has booked or matched.
    pub(crate) fn look(&mut self, place: Place) {
        if self.sink_off() {
            return;
        }
        let is_woken = std::mem::take(&mut self.task().is_woken);
        let in_chain = self.tasks[self.current].phase == Phase::Slow && is_woken;
        self.read(place);
        let extra = if in_chain { self.costs.handover } else { 0 };
        let eu = self.tasks[self.current].eu;
        self.eus[eu].time.handover += extra;
        self.set_now(self.now() + extra);
    }

    pub(crate) fn detect_in_domain(&mut self, is_first: bool) {
        if self.sink_off() {
            return;
        }
        let eu = &mut self.eus[self.tasks[self.current].eu];
        eu.in_domain += 1;
        eu.first_of_domain += u64::from(is_first);
        self.work(self.costs.work.detect);
    }

    /// The running task sleeps until another's store.
    pub(crate) fn begin_wait(&mut self) {
        let core = self.eus[self.current].core;
        self.cores[core].1 += 1;
    }

    /// The running task has slept for this time.
    pub(crate) fn end_wait(&mut self, time: Picos) {
        let core = self.eus[self.current].core;
        self.cores[core].1 -= 1;
        let Task {
            eu,
            phase,
            in_slice,
            ..
        } = self.tasks[self.current];
        if !in_slice {
            return;
        }
        let eu = &mut self.eus[eu];
        eu.polls_waiting += time / self.costs.poll_miss.max(1);
        match phase {
            Phase::Slow => eu.time.chain += time,
            _ => eu.time.barrier += time,
        }
    }

    pub(crate) fn begin_protocol(&mut self, in_conflict: bool) {
        if self.sink_off() {
            return;
        }
        self.enter(Phase::Protocol);
        let overlaps = match self.rules.overlap {
            Overlap::Clean => !in_conflict,
            Overlap::Always => true,
            Overlap::Never => false,
        };
        if overlaps {
            let Task { eu, clock, .. } = self.tasks[self.current];
            self.eus[eu].free_at = clock;
            self.task().sink = Sink::After;
        }
    }

    pub(crate) fn end_slice(&mut self) {
        if self.sink_off() {
            return;
        }
        self.end_span();
        let Task {
            eu,
            clock,
            sink,
            message,
            ..
        } = self.tasks[self.current];
        if sink == Sink::Clock {
            self.eus[eu].free_at = clock;
        }
        let latency = self.eus[eu].free_at.saturating_sub(self.arrival(message));
        let eu = &mut self.eus[eu];
        eu.latency += latency;
        eu.latency_max = eu.latency_max.max(latency);
        let task = self.task();
        (task.sink, task.in_slice) = (Sink::Off, false);
    }

    pub(crate) fn end_charges(&mut self) {
        if self.sink_off() {
            return;
        }
        self.end_span();
        let Task {
            eu, clock, sink, ..
        } = self.tasks[self.current];
        if sink == Sink::Clock {
            self.eus[eu].free_at = clock;
        }
        self.task().sink = Sink::Off;
    }

    pub(crate) fn poll_miss(&self) -> Picos {
        self.costs.poll_miss.max(1)
    }

    pub(crate) fn costs(&self) -> &Costs {
        &self.costs
    }

    pub(crate) fn eager_bytes(&self) -> usize {
        self.eager_bytes
    }

    pub fn cycles(&self, time: Picos) -> u64 {
        time / self.costs.cycle.max(picos(0.001))
    }
}
