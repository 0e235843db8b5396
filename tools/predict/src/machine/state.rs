//! The machine's state and the effect of each charge. `tasks` does the scheduling.

use super::contention::stretch;
use super::memory::{Memory, Place};
use super::steps::Steps;
use super::{
    BlockEnd, Costs, Eu, Kind, Layout, Level, Overlap, Phase, Picos, Placement, Rules, Span, picos,
};

/// Target of charges.
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
    /// Arrival number of its message.
    message: u64,
    in_slice: bool,
    /// Final sink of its last slice.
    slice_sink: Sink,
    step: Option<usize>,
    /// Address of the last atomic read, for comparison only.
    pub(crate) looked_at: usize,
    /// Number of waiters in its last wake-up.
    pub(crate) woken_among: u32,
}

/// Times of messages and commands since the beginning of a window. A missing time means as early as
/// possible.
#[derive(Clone, Debug, Default)]
pub struct Schedule {
    /// By message, in arrival order.
    pub arrivals: Vec<Picos>,
    /// By command.
    pub commands: Vec<Picos>,
}

/// A running machine.
#[derive(Debug)]
pub struct Machine {
    costs: Costs,
    rules: Rules,
    memory: Memory,
    /// The execution units in use, one per handler.
    eus: Vec<Eu>,
    pub(crate) tasks: Vec<Task>,
    pub(crate) current: usize,
    spans: Vec<Span>,
    spans_wanted: usize,
    /// Number of the message that arrives at `epoch`.
    first_message: u64,
    epoch: Picos,
    eager_bytes: usize,
    schedule: Schedule,
    /// Commands since `epoch`.
    commands: usize,
    /// Costs of the code between steps, if charged.
    steps: Option<Steps>,
}

/// Result of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The execution units.
    pub eus: Vec<Eu>,
    /// End of the last EU's work.
    pub end: Picos,
    /// The first spans, ordered by their beginning.
    pub spans: Vec<Span>,
}

impl Machine {
    /// A machine at time 0.
    pub fn new(costs: Costs, rules: Rules, layout: &Layout) -> Self {
        let mut eus = vec![Eu::default(); layout.handlers];
        let core = |eu: usize| match rules.placement {
            Placement::Packed => eu / layout.eus_per_core.max(1),
            Placement::Spread => eu % layout.cores.max(1),
        };
        for (number, eu) in eus.iter_mut().enumerate() {
            let active = (0..layout.handlers).filter(|&other| core(other) == core(number)).count();
            eu.core = core(number);
            eu.stretch = stretch(active, costs.issue_demand, costs.issue_slots);
        }
        let task = Task {
            clock: 0,
            sink: Sink::Off,
            eu: 0,
            phase: Phase::Poll,
            phase_begun: 0,
            message: 0,
            in_slice: false,
            slice_sink: Sink::Off,
            step: None,
            looked_at: 0,
            woken_among: 0,
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
            schedule: Schedule::default(),
            commands: 0,
            steps: None,
        }
    }

    /// Charges the code between steps.
    pub fn with_steps(self, steps: Option<Steps>) -> Self {
        Self { steps, ..self }
    }

    #[cfg(test)]
    pub(crate) fn charge_steps(&mut self, instruction: f64, own: f64, code: f64) {
        (self.costs.instruction, self.costs.own, self.costs.code) = (instruction, own, code);
    }

    /// Records the next `count` spans.
    pub fn record(&mut self, count: usize) {
        self.spans.clear();
        self.spans_wanted = count;
    }

    /// The result so far.
    pub fn outcome(&self) -> Outcome {
        let mut spans = self.spans.clone();
        spans.sort_by_key(|span| (span.begin, span.eu, span.end));
        Outcome { eus: self.eus.clone(), end: self.end(), spans }
    }

    /// End of the last EU's work.
    pub fn end(&self) -> Picos {
        let tasks = self.tasks.iter().map(|task| task.clock);
        self.eus.iter().map(|eu| eu.free_at).chain(tasks).max().unwrap_or(0)
    }

    /// Starts a window at the end of all work, and returns that time. All EUs wait for message
    /// `first`, and all counts restart. The wire's least spacing holds whatever the schedule says.
    pub fn begin_window(&mut self, first: u64, mut schedule: Schedule) -> Picos {
        let now = self.end();
        let (spacing, mut earliest) = (self.spacing(), 0);
        for arrival in &mut schedule.arrivals {
            *arrival = earliest.max(*arrival);
            earliest = *arrival + spacing;
        }
        (self.schedule, self.commands) = (schedule, 0);
        self.epoch = now;
        self.first_message = first;
        for task in &mut self.tasks {
            task.clock = now;
        }
        for eu in &mut self.eus {
            let Eu { stretch, core, .. } = *eu;
            *eu = Eu { free_at: now, stretch, core, ..Eu::default() };
        }
        now
    }

    /// Least spacing of two messages.
    fn spacing(&self) -> Picos {
        self.costs.arrival.max(self.costs.entry_shared)
    }

    fn arrival(&self, message: u64) -> Picos {
        let place = message.saturating_sub(self.first_message);
        let scheduled = self.schedule.arrivals.get(place as usize).copied();
        self.epoch + scheduled.unwrap_or(place * self.spacing())
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

    /// Charges instruction work to the current phase.
    pub(crate) fn work(&mut self, time: Picos) {
        let Task { sink, eu, phase, .. } = self.tasks[self.current];
        if sink == Sink::Off || time == 0 {
            return;
        }
        let time = (time as f64 * self.eus[eu].stretch).round() as Picos;
        self.eus[eu].time.work[phase as usize] += time;
        self.set_now(self.now() + time);
    }

    /// Charges the instructions since the last step, and lines outside the modelled memory.
    pub(crate) fn step(&mut self, step: usize) {
        let last = self.task().step.replace(step);
        let (Some(steps), Some(last)) = (&self.steps, last) else { return };
        if self.sink_off() {
            return;
        }
        let eu = self.tasks[self.current].eu;
        let [instructions, own, code] = steps.get(last, step).of(eu);
        self.work((instructions * self.costs.instruction).round() as Picos);
        self.miss(eu, Kind::Own, own, self.costs.own);
        self.miss(eu, Kind::Code, code, self.costs.code);
    }

    /// Charges a mean number of lines that miss the first level.
    fn miss(&mut self, eu: usize, kind: Kind, lines: f64, cost: f64) {
        let time = (lines * cost).round() as Picos;
        let Eu { time: into, accesses, parts, .. } = &mut self.eus[eu];
        let parts = &mut parts[usize::from(kind == Kind::Code)];
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

    /// Loads incoming data.
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

    fn charge_level(&mut self, eu: usize, kind: Kind, level: usize) {
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
    pub(crate) fn host(&mut self, kind: Kind, cost: Picos) {
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

    /// Ends the phase and begins another.
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
        let Task { eu, phase, phase_begun, message, .. } = self.tasks[self.current];
        if self.spans.len() < self.spans_wanted && now > phase_begun {
            self.spans.push(Span { eu, phase, message, begin: phase_begun, end: now });
        }
    }

    /// A handler begins its slice of a block.
    pub(crate) fn begin_slice(&mut self, worker: usize) {
        let free_at = self.eus[worker].free_at;
        let activation = self.costs.activation;
        let task = self.task();
        let begin = task.clock.max(free_at);
        (task.clock, task.sink, task.eu) = (begin + activation, Sink::Clock, worker);
        (task.phase, task.phase_begun, task.in_slice) = (Phase::Poll, task.clock, true);
        let eu = &mut self.eus[worker];
        eu.time.fence += begin - free_at;
        eu.executions += 1;
    }

    /// The handler waits for its message (O20).
    pub(crate) fn arrive(&mut self, position: u64) {
        if self.sink_off() {
            return;
        }
        let (arrival, now, eu) = (self.arrival(position), self.now(), self.tasks[self.current].eu);
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
        let woken_among = std::mem::take(&mut self.task().woken_among);
        let in_chain = self.tasks[self.current].phase == Phase::Slow && woken_among > 0;
        self.read(place);
        let others = Picos::from(woken_among.saturating_sub(1));
        let seen = if in_chain { self.costs.handover } else { 0 };
        let extra = seen + self.costs.waiter * others / 2;
        let eu = self.tasks[self.current].eu;
        self.eus[eu].time.handover += extra;
        self.set_now(self.now() + extra);
    }

    /// Adds the time that the running task slept.
    pub(crate) fn count_wait(&mut self, time: Picos) {
        let Task { eu, phase, in_slice, .. } = self.tasks[self.current];
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

    /// The handler begins its protocol stage.
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

    /// The handler has ended its slice.
    pub(crate) fn end_slice(&mut self) {
        if self.sink_off() {
            return;
        }
        self.end_span();
        let Task { eu, clock, sink, message, .. } = self.tasks[self.current];
        if sink == Sink::Clock {
            self.eus[eu].free_at = clock;
        }
        let latency = self.eus[eu].free_at.saturating_sub(self.arrival(message));
        let eu = &mut self.eus[eu];
        eu.latency += latency;
        eu.latency_max = eu.latency_max.max(latency);
        let task = self.task();
        (task.slice_sink, task.sink, task.in_slice) = (sink, Sink::Off, false);
    }

    /// The handler goes on after its slice to recycle its message's resources.
    pub(crate) fn begin_repost(&mut self) {
        let task = self.task();
        if task.sink == Sink::Off {
            task.sink = task.slice_sink;
            task.phase = Phase::Boundary;
            self.task().phase_begun = self.now();
        }
    }

    /// Ends `begin_repost` or `begin_boundary`.
    pub(crate) fn end_charges(&mut self) {
        if self.sink_off() {
            return;
        }
        self.end_span();
        let Task { eu, clock, sink, .. } = self.tasks[self.current];
        if sink == Sink::Clock {
            self.eus[eu].free_at = clock;
        }
        self.task().sink = Sink::Off;
    }

    /// A handler reads its entry and receive, and reports the receive's fate.
    pub(crate) fn repost(&mut self, receive: u32) {
        let Task { eu, message, .. } = self.tasks[self.current];
        self.read(Place::Descriptor(receive));
        self.read(Place::Entry(message));
        self.write(Place::Left(eu));
    }

    /// Charges the boundary's work to `handler` until `end_boundary`; to the leader if `None`.
    pub(crate) fn begin_boundary(&mut self, handler: Option<usize>) {
        let free_at = self.eus[0].free_at;
        let on_leader = self.rules.block_end == BlockEnd::Leader;
        let task = self.task();
        match handler {
            Some(handler) if !on_leader => (task.eu, task.sink) = (handler, Sink::After),
            _ => (task.eu, task.sink, task.clock) = (0, Sink::Clock, task.clock.max(free_at)),
        }
        let now = self.now();
        let task = self.task();
        (task.phase, task.phase_begun) = (Phase::Boundary, now);
        if on_leader && let Some(handler) = handler {
            self.read(Place::Taken(handler));
            let first = self.tasks[0].message;
            let more = Place::Entry(first + handler as u64);
            self.read(if self.rules.reposts { Place::Left(handler) } else { more });
        }
    }

    /// The boundary executes a command once it has arrived.
    pub(crate) fn begin_command(&mut self) {
        let due = self.schedule.commands.get(self.commands).map_or(0, |&time| self.epoch + time);
        self.commands += 1;
        if self.rules.post_on_clock {
            self.begin_boundary(None);
            let task = self.task();
            let wait = due.saturating_sub(task.clock);
            (task.clock, task.phase_begun) = (task.clock + wait, task.phase_begun + wait);
            self.eus[0].time.arrival += wait;
        }
    }

    pub(crate) fn end_boundary(&mut self) {
        if !self.sink_off() {
            self.end_charges();
            self.task().eu = 0;
        }
    }

    /// Period of a polling loop.
    pub(crate) fn poll_miss(&self) -> Picos {
        self.costs.poll_miss.max(1)
    }

    pub(crate) fn costs(&self) -> &Costs {
        &self.costs
    }

    pub(crate) fn eager_bytes(&self) -> usize {
        self.eager_bytes
    }

    /// Cost of writing `bytes` bytes through the window.
    pub(crate) fn window_cost(&self, bytes: usize) -> Picos {
        let further = bytes.div_ceil(64).saturating_sub(1) as Picos;
        self.costs.window_write + further * self.costs.window_next
    }

    /// `time` in clock cycles.
    pub fn cycles(&self, time: Picos) -> u64 {
        time / self.costs.cycle.max(picos(0.001))
    }
}
