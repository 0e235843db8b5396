//! Random programs with probes, run by a small simulation of MPI, against all orders.

use std::collections::VecDeque;

use super::*;
use crate::analyze::by_hand::{program, receive, report, send};
use crate::analyze::order::{Dice, Happening, Network, Order};
use crate::analyze::program::{ANY, Action, End, LocalComm, Step, Transfer};
use crate::analyze::{OrderChoice, Run, legality};
use dpamatch::engine::Oracle;

/// What random programs may do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Form {
    /// A receive without a probe names its source and tag, so that each order gives it the recorded
    /// message.
    Exact,
    /// Receives without a probe may have wildcards, and may be cancelled.
    Wild,
}

#[derive(Clone, Copy, Debug)]
struct Message {
    from: usize,
    op: u32,
    comm: u16,
    tag: i32,
    bytes: u32,
}

/// A rank while its program is made.
#[derive(Default)]
struct Made {
    program: Program,
    posted: Vec<u32>,
    arrived: Vec<Message>,
    /// What was found by a probe and is still to be received: probe and message.
    found: Vec<(u32, Message)>,
    /// Receives that must be unexpected, since a probe had found their message.
    probed: Vec<u32>,
    complete: Vec<u32>,
}

struct World {
    dice: Dice,
    form: Form,
    ranks: Vec<Made>,
    /// Messages on their way, by sender and receiver.
    network: Vec<Vec<VecDeque<Message>>>,
    now: i64,
}

const RANKS: usize = 4;
const NEVER_SENT: i32 = 77;

impl World {
    fn new(seed: u64, form: Form) -> Self {
        let rank = |rank: usize| {
            let mut program = program(rank as u32, &[]);
            program.comms.push(LocalComm {
                number: 9,
                own_rank: Some(rank as u32),
                size: Some(RANKS as u32),
                made: false,
            });
            Made {
                program,
                ..Made::default()
            }
        };
        Self {
            dice: Dice::new(seed, form as u32),
            form,
            ranks: (0..RANKS).map(rank).collect(),
            network: vec![vec![VecDeque::new(); RANKS]; RANKS],
            now: 1,
        }
    }

    fn below(&mut self, end: usize) -> usize {
        self.dice.below(end as u64) as usize
    }

    fn step(&mut self, rank: usize, action: Action) {
        self.now += 1 + self.dice.below(40) as i64;
        let gap_ns = self.dice.below(3_000);
        self.ranks[rank].program.steps.push(Step {
            at_ns: self.now,
            gap_ns,
            action,
        });
    }

    fn begin(&mut self, rank: usize, transfer: Transfer) -> u32 {
        let at = self.ranks[rank].program.transfers.len() as u32;
        self.ranks[rank].program.transfers.push(transfer);
        self.step(rank, Action::Begin(at));
        at
    }

    /// The program's communicators: the world and number 9.
    fn any_comm(&mut self) -> u16 {
        [0, 2][self.below(2)]
    }

    fn send(&mut self, rank: usize) {
        let to = (rank + 1 + self.below(RANKS - 1)) % RANKS;
        let (comm, tag) = (self.any_comm(), self.below(3) as i32);
        let bytes = 1 + self.below(1_000) as u32;
        let transfer = Transfer {
            comm,
            bytes: bytes.into(),
            synchronous: self.below(3) == 0,
            ..send(to as i32, tag)
        };
        let op = self.begin(rank, transfer);
        self.network[rank][to].push_back(Message {
            from: rank,
            op,
            comm,
            tag,
            bytes,
        });
    }

    /// A pattern that accepts the message.
    fn pattern(&mut self, message: Message, wild: bool) -> Transfer {
        let choice = if wild { self.below(4) } else { 0 };
        let peer = [message.from as i32, ANY][choice & 1];
        let tag = [message.tag, ANY][choice >> 1];
        Transfer {
            comm: message.comm,
            bytes: 2_000,
            ..receive(peer, tag, End::Pending)
        }
    }

    fn accepts(&self, rank: usize, at: u32, message: Message) -> bool {
        let transfer = self.ranks[rank].program.transfers.at(at);
        transfer.comm == message.comm && transfer.accepts(message.from as u32, message.tag as u32)
    }

    /// The receive got the message. An exact receive may ignore the status.
    fn pair(&mut self, rank: usize, at: u32, message: Message) {
        let ignores = self.below(4) == 0;
        self.ranks[rank].program.transfers.change(at, |transfer| {
            let is_exact = transfer.peer != ANY && transfer.tag != ANY;
            transfer.end = End::Ignored;
            if !(is_exact && ignores) {
                transfer.end = End::Known;
                transfer.got_source = message.from as i32;
                transfer.got_tag = message.tag;
                transfer.got_bytes = message.bytes.into();
            }
        });
        let found = &mut self.ranks[rank].found;
        let before = found.len();
        found.retain(|(_, found)| (found.from, found.op) != (message.from, message.op));
        if found.len() < before {
            self.ranks[rank].probed.push(at);
        }
        self.ranks[rank].complete.push(at);
    }

    fn post(&mut self, rank: usize, transfer: Transfer) {
        let at = self.begin(rank, transfer);
        let arrived = self.ranks[rank].arrived.clone();
        let first = arrived
            .iter()
            .position(|&message| self.accepts(rank, at, message));
        match first {
            Some(place) => {
                let message = self.ranks[rank].arrived.remove(place);
                self.pair(rank, at, message);
            }
            None => self.ranks[rank].posted.push(at),
        }
    }

    fn deliver(&mut self) {
        let (from, to) = (self.below(RANKS), self.below(RANKS));
        let Some(message) = self.network[from][to].pop_front() else {
            return;
        };
        self.now += 1;
        let posted = self.ranks[to].posted.clone();
        let first = posted.iter().position(|&at| self.accepts(to, at, message));
        match first {
            Some(place) => {
                let at = self.ranks[to].posted.remove(place);
                self.pair(to, at, message);
            }
            None => self.ranks[to].arrived.push(message),
        }
    }

    /// Probes for a message that has arrived. The probe finds the first one that it accepts.
    fn probe(&mut self, rank: usize) {
        if self.ranks[rank].arrived.is_empty() {
            return;
        }
        let place = self.below(self.ranks[rank].arrived.len());
        let wanted = self.ranks[rank].arrived[place];
        let pattern = self.pattern(wanted, true);
        let probe = Transfer {
            kind: TransferKind::Probe,
            blocking: true,
            ..pattern
        };
        let at = self.begin(rank, probe);
        let arrived = self.ranks[rank].arrived.clone();
        let found = arrived
            .into_iter()
            .find(|&message| self.accepts(rank, at, message))
            .expect("the wanted message");
        self.ranks[rank].program.transfers.change(at, |transfer| {
            transfer.end = End::Known;
            transfer.got_source = found.from as i32;
            transfer.got_tag = found.tag;
            transfer.got_bytes = found.bytes.into();
        });
        self.ranks[rank].found.push((at, found));
        // A status is ignored only where the receive comes next, with the same pattern.
        if self.below(5) == 0 {
            let transfers = &mut self.ranks[rank].program.transfers;
            transfers.change(at, |it| it.end = End::Ignored);
            return self.post(rank, pattern);
        }
        if self.below(2) == 0 {
            self.receive_found(rank);
        }
    }

    /// Receives what a probe found, as the status told it or with the probe's pattern.
    fn receive_found(&mut self, rank: usize) {
        if self.ranks[rank].found.is_empty() {
            return;
        }
        let place = self.below(self.ranks[rank].found.len());
        let (probe, message) = self.ranks[rank].found[place];
        let pattern = self.ranks[rank].program.transfers.at(probe);
        let told = self.pattern(message, false);
        let is_first = |arrived: &[Message]| {
            let fits = |it: &&Message| {
                it.comm == message.comm && pattern.accepts(it.from as u32, it.tag as u32)
            };
            arrived
                .iter()
                .find(fits)
                .is_some_and(|it| it.op == message.op && it.from == message.from)
        };
        let again = self.below(2) == 0 && is_first(&self.ranks[rank].arrived);
        let (peer, tag) = match again {
            true => (pattern.peer, pattern.tag),
            false => (told.peer, told.tag),
        };
        let blocking = self.below(2) == 0;
        self.post(
            rank,
            Transfer {
                peer,
                tag,
                blocking,
                ..told
            },
        );
    }

    /// Posts a receive without a probe, for a message on its way if there is one.
    fn receive(&mut self, rank: usize) {
        let from = self.below(RANKS);
        let on_way = self.network[from][rank].front().copied();
        let Some(message) = on_way else { return };
        let wild = self.form == Form::Wild;
        let transfer = self.pattern(message, wild);
        self.post(rank, transfer);
    }

    fn cancel(&mut self, rank: usize, at: u32) {
        self.ranks[rank].posted.retain(|&posted| posted != at);
        let transfers = &mut self.ranks[rank].program.transfers;
        transfers.change(at, |it| it.end = End::Cancelled);
        self.step(rank, Action::Cancel(at));
    }

    fn finish(&mut self, rank: usize) {
        let complete = std::mem::take(&mut self.ranks[rank].complete);
        let program = &mut self.ranks[rank].program;
        let first = program.finished.len() as u32;
        let count = complete.len() as u32;
        program.finished.extend(complete);
        if count > 0 {
            self.step(rank, Action::Finish { first, count });
        }
    }

    fn act(&mut self) {
        let rank = self.below(RANKS);
        match self.below(12) {
            0..=2 => self.send(rank),
            3 | 4 => self.probe(rank),
            5 => self.receive_found(rank),
            6 => self.receive(rank),
            7 => self.finish(rank),
            8 if self.below(4) == 0 => {
                let never = Transfer {
                    tag: NEVER_SENT,
                    ..receive(0, 0, End::Pending)
                };
                self.post(rank, never);
            }
            8 if self.form == Form::Wild && !self.ranks[rank].posted.is_empty() => {
                let place = self.below(self.ranks[rank].posted.len());
                let at = self.ranks[rank].posted[place];
                self.cancel(rank, at);
            }
            _ => self.deliver(),
        }
    }

    /// Lets everything arrive; receives most of what is left, and cancels what got nothing.
    fn end(&mut self) {
        while self.network.iter().flatten().any(|way| !way.is_empty()) {
            self.deliver();
        }
        for rank in 0..RANKS {
            while self.ranks[rank].arrived.len() > 1 {
                self.probe(rank);
            }
            for at in self.ranks[rank].posted.clone() {
                self.cancel(rank, at);
            }
            self.finish(rank);
        }
    }
}

struct Case {
    run: Run,
    /// By rank.
    probed: Vec<Vec<u32>>,
}

fn case(seed: u64, form: Form) -> Case {
    let mut world = World::new(seed, form);
    let acts = 20 + world.below(150);
    (0..acts).for_each(|_| world.act());
    world.end();
    let probed = world.ranks.iter().map(|rank| rank.probed.clone()).collect();
    let programs = world.ranks.into_iter().map(|rank| rank.program).collect();
    Case {
        run: Run::new(programs, Some(RANKS as u32)),
        probed,
    }
}

/// The receives that were posted after their message, by the order alone.
fn unexpected(order: &Order, receives: &[u32]) -> Vec<u32> {
    let mut posted = std::collections::HashSet::new();
    let mut all = Vec::new();
    for happening in order.iter() {
        match happening {
            Happening::Post(receive) => _ = posted.insert(receive),
            Happening::Arrive(message) => {
                let receive = receives[message as usize];
                if receive != UNKNOWN && !posted.contains(&receive) {
                    all.push(receive);
                }
            }
            Happening::Cancel(_) | Happening::Probe(_) => {}
        }
    }
    all
}

/// Each rank's receives by message in an order, which must be legal.
fn replayed(run: &Run, orders: &[Order], what: &str) -> Vec<Vec<u32>> {
    let replay = |(view, order): (crate::analyze::RankView<'_>, &Order)| {
        let receives = view.run(&mut Oracle::new(), order).expect("an engine");
        let legal = legality::check(view, order, &receives);
        assert_eq!(legal, Ok(()), "{what}, rank {}", view.at);
        let arrived = order.iter().filter(|it| matches!(it, Happening::Arrive(_)));
        assert_eq!(arrived.count(), view.inbound.len(), "{what}: all messages");
        receives
    };
    run.views().zip(orders).map(replay).collect()
}

fn recorded(run: &Run) -> Vec<Vec<u32>> {
    let of_rank = |inbound: &Messages| inbound.iter().map(|it| it.receive).collect();
    run.inbound.iter().map(of_rank).collect()
}

#[test]
fn a_probed_receive_is_unexpected_in_every_order() {
    let (mut probed, mut all) = (0, 0);
    for form in [Form::Exact, Form::Wild] {
        for seed in 0..150 {
            let Case {
                mut run,
                probed: expected,
            } = case(seed, form);
            all += run
                .probes
                .iter()
                .map(|probes| probes.iter().count())
                .sum::<usize>();
            assert!(run.probes.iter().all(|probes| probes.without_message == 0));
            let random = (0..4).map(|seed| OrderChoice::Random { seed });
            let guided = [OrderChoice::PostsFirst, OrderChoice::ArrivalsFirst];
            let mut orders: Vec<_> = guided
                .into_iter()
                .chain(random)
                .map(|choice| (format!("{form:?} {seed} {choice:?}"), run.guided(choice)))
                .collect();
            for jitter_ns in [0, 500, 20_000] {
                let network = Network {
                    jitter_ns,
                    seed,
                    ..Network::default()
                };
                let (causal, stalls, told) = run.causal(network);
                let what = format!("{form:?} {seed} causal {jitter_ns}");
                // A rank without probes may give a receive of any source another message.
                let all_probe = run.probes.iter().all(|probes| !probes.is_empty());
                if form == Form::Exact || all_probe {
                    assert_eq!(stalls, 0, "{what}: {told:?}");
                }
                orders.push((what, causal));
            }
            orders.push((
                format!("{form:?} {seed} time"),
                run.merged().expect("times"),
            ));
            // Clocks that disagree: probes may look before their messages were sent.
            for (at, program) in run.programs.iter_mut().enumerate() {
                let ahead = [0, 900, -400, 3_000][at];
                program
                    .steps
                    .edit(|steps| steps.iter_mut().for_each(|step| step.at_ns += ahead));
            }
            let skewed = run.merged().expect("times");
            orders.push((format!("{form:?} {seed} skewed"), skewed));
            for (what, orders) in &orders {
                let receives = replayed(&run, orders, what);
                for (at, (receives, recorded)) in receives.iter().zip(recorded(&run)).enumerate() {
                    // Elsewhere a receive of any source may get another message.
                    let is_kept = form == Form::Exact || !run.probes[at].is_empty();
                    assert!(!is_kept || *receives == recorded, "{what}, rank {at}");
                }
                for ((order, receives), expected) in orders.iter().zip(&receives).zip(&expected) {
                    let unexpected = unexpected(order, receives);
                    let missing = expected.iter().find(|at| !unexpected.contains(at));
                    assert_eq!(missing, None, "{what}");
                    probed += expected.len();
                }
            }
        }
    }
    assert!(
        all > 2_000 && probed > 20_000,
        "{all} probes, {probed} receives in all orders"
    );
}

/// One rank's trace alone: its messages are made up from the statuses of its receives.
#[test]
fn a_rank_alone_keeps_its_probes() {
    let mut made_up = 0;
    for seed in 0..150 {
        let mut programs = case(seed, Form::Wild).run.programs;
        let run = Run::new(vec![programs.swap_remove(1)], Some(RANKS as u32));
        made_up += run.truth[0].assumed;
        let (causal, stalls, told) = run.causal(Network::default());
        if !run.probes[0].is_empty() {
            assert_eq!(stalls, 0, "{seed}: {told:?}");
        }
        let merged = run.merged().expect("times");
        for orders in [causal, merged, run.guided(OrderChoice::PostsFirst)] {
            replayed(&run, &orders, &format!("{seed}"));
        }
    }
    assert!(made_up > 500, "{made_up}");
}

/// Rank 1 probes for any message, finds the second sender's, and receives both.
fn probe_then_receive() -> Run {
    let found = |transfer: Transfer, source: i32| Transfer {
        got_source: source,
        got_tag: 5,
        got_bytes: 4,
        ..transfer
    };
    let probe = Transfer {
        kind: TransferKind::Probe,
        ..found(receive(ANY, ANY, End::Known), 2)
    };
    let receives = [
        probe,
        found(receive(2, 5, End::Known), 2),
        found(receive(0, 5, End::Known), 0),
    ];
    Run::new(
        vec![
            program(0, &[send(1, 5)]),
            program(1, &receives),
            program(2, &[send(1, 5)]),
        ],
        Some(3),
    )
}

#[test]
fn an_order_that_breaks_a_probe_is_illegal() {
    use Happening::{Arrive, Post, Probe};
    use legality::Illegal;
    let run = probe_then_receive();
    let second = run.inbound[1].iter().position(|it| it.sender == 2);
    assert_eq!(run.probes[1].message(0), second.map(|place| place as u32));
    let (zero, two) = match second {
        Some(0) => (1, 0),
        _ => (0, 1),
    };
    let mut receives = vec![2, 2];
    receives[two as usize] = 1;
    let check = |happenings: &[Happening]| {
        let mut order = Order::default();
        (0..)
            .zip(happenings)
            .for_each(|(at, &happening)| order.push_at(happening, at));
        legality::check(run.view(1), &order, &receives)
    };
    let all = [Arrive(two), Probe(0), Arrive(zero), Post(1), Post(2)];
    assert_eq!(check(&all), Ok(()));
    let early = [Probe(0), Post(1), Arrive(two), Arrive(zero), Post(2)];
    let missing = Illegal::ProbedTooEarly {
        probe: 0,
        message: two,
    };
    assert_eq!(check(&early), Err(missing));
    let silent = [Post(1), Arrive(two), Arrive(zero), Post(2)];
    let unasked = Illegal::PostedBeforeProbe {
        probe: 0,
        receive: 1,
    };
    assert_eq!(check(&silent), Err(unasked));
    let other = [Arrive(zero), Arrive(two), Probe(0), Post(1), Post(2)];
    let overtaken = Illegal::ProbeOvertaken {
        probe: 0,
        message: two,
        earlier: zero,
    };
    assert_eq!(check(&other), Err(overtaken));
}

/// Its message is in no trace, so nobody waits for it.
#[test]
fn a_probe_of_a_message_that_is_in_no_trace_takes_no_part() {
    let probe = Transfer {
        kind: TransferKind::Probe,
        blocking: true,
        got_source: 0,
        got_tag: 8,
        ..receive(ANY, ANY, End::Known)
    };
    let programs = vec![
        program(0, &[send(1, 5)]),
        program(1, &[probe, receive(0, 5, End::Ignored)]),
    ];
    let run = Run::new(programs, Some(2));
    assert!(run.probes[1].is_empty());
    assert_eq!(run.probes[1].without_message, 1);
    let (orders, stalls, _) = run.causal(Network::default());
    assert_eq!((stalls, orders[1].len()), (0, 2));
    replayed(&run, &orders, "causal");
}

/// Counts over all ranks in each order, which must be legal and complete: expected messages,
/// unexpected ones, and entries left in the queues.
fn counted(run: &Run) -> Vec<[u64; 3]> {
    let random = (0..3).map(|seed| OrderChoice::Random { seed });
    let fixed = [
        OrderChoice::Causal,
        OrderChoice::PostsFirst,
        OrderChoice::ArrivalsFirst,
    ];
    let count = |choice| {
        let report = report(run, choice);
        assert_eq!(report.stalls, 0, "{choice:?}");
        let traffic = report.application.traffic;
        let left = traffic.receives_left + traffic.messages_left;
        [traffic.expected, traffic.unexpected, left]
    };
    fixed.into_iter().chain(random).map(count).collect()
}

fn blocking(transfer: Transfer) -> Transfer {
    Transfer {
        blocking: true,
        ..transfer
    }
}

/// A probe for any message that found this one, and the receive behind it.
fn probed(source: i32, tag: i32) -> [Transfer; 2] {
    let known = Transfer {
        got_source: source,
        got_tag: tag,
        got_bytes: 4,
        blocking: true,
        ..receive(source, tag, End::Known)
    };
    let probe = Transfer {
        kind: TransferKind::Probe,
        peer: ANY,
        tag: ANY,
        ..known
    };
    [probe, known]
}

/// The second worker computes longer than the master's order of receives suggests.
#[test]
fn a_master_that_probes_expects_nothing() {
    let rounds = 17;
    let master: Vec<_> = (0..rounds)
        .flat_map(|_| [probed(2, 4), probed(1, 4)].concat())
        .collect();
    let worker = |rank, gap_ns| {
        let mut worker = program(rank, &vec![send(0, 4); rounds]);
        worker
            .steps
            .edit(|steps| steps.iter_mut().for_each(|step| step.gap_ns = gap_ns));
        worker
    };
    let run = Run::new(
        vec![program(0, &master), worker(1, 10), worker(2, 50_000)],
        Some(3),
    );
    assert_eq!(counted(&run), vec![[0, 2 * rounds as u64, 0]; 6]);
}

/// Nonblocking consensus: synchronous sends to some ranks, and a loop of probes and receives.
#[test]
fn nonblocking_consensus_expects_nothing() {
    let ranks = 7;
    let programs = (0..ranks).map(|rank| {
        let to = [(rank + 1) % ranks, (rank + 3) % ranks];
        let from = [(rank + ranks - 3) % ranks, (rank + ranks - 1) % ranks];
        let sends = to.map(|to| Transfer {
            synchronous: true,
            ..send(to, 6)
        });
        let mut transfers = sends.to_vec();
        transfers.extend(from.iter().flat_map(|&from| probed(from, 6)));
        program(rank as u32, &transfers)
    });
    let run = Run::new(programs.collect(), Some(ranks as u32));
    assert_eq!(counted(&run), vec![[0, 2 * ranks as u64, 0]; 6]);
}

/// A receive without a probe may still be expected, before and after a probe of its source.
#[test]
fn other_receives_stay_free() {
    let other = |tag| receive(0, tag, End::Ignored);
    let [probe, probed] = probed(0, 3);
    let receives = [other(1), probe, other(5), probed, blocking(other(4))];
    let sends = [send(1, 1), send(1, 3), send(1, 4), send(1, 5)];
    let run = Run::new(vec![program(0, &sends), program(1, &receives)], Some(2));
    let counts = counted(&run);
    assert_eq!(counts[1], [3, 1, 0], "all receives first");
    assert_eq!(counts[2], [0, 4, 0], "all messages first");
}

/// Each rank of one group sends to one of the other group, which probes for it.
#[test]
fn probes_of_an_inter_communicator_find_their_messages() {
    let calls = "0,1 MPI_Comm_split oldcomm=2 color=0 key=0 newcomm=4
2,3,4 MPI_Comm_split oldcomm=2 color=1 key=0 newcomm=4
0,1 MPI_Intercomm_create localcomm=4 localleader=0 remotecomm=2 remoteleader=2 tag=9 newcomm=5
2,3,4 MPI_Intercomm_create localcomm=4 localleader=0 remotecomm=2 remoteleader=0 tag=9 newcomm=5
2,3,4 MPI_Send count=1 datatype=2 dest=1 tag=7 comm=5
1 MPI_Probe source=-1 tag=-1 comm=5 status={2:7}
1 MPI_Recv count=1 datatype=2 source=2 tag=7 comm=5 status={2:7}
1 MPI_Iprobe source=-1 tag=7 comm=5 flag=0 status={0:0}
1 MPI_Iprobe source=-1 tag=7 comm=5 flag=1 status={0:7}
1 MPI_Recv count=1 datatype=2 source=-1 tag=7 comm=5 status={0:7}
1 MPI_Probe source=1 tag=7 comm=5 status={1:7}
1 MPI_Recv count=1 datatype=2 source=1 tag=7 comm=5 status={1:7}
1 MPI_Send count=1 datatype=2 dest=0 tag=8 comm=5
2 MPI_Probe source=-1 tag=8 comm=5 status={1:8}
2 MPI_Recv count=1 datatype=2 source=1 tag=8 comm=5 status={1:8}";
    let (programs, _) = crate::analyze::programs_of_text(calls.lines());
    let run = Run::new(programs, Some(5));
    assert_eq!(counted(&run), vec![[0, 4, 0]; 6]);
}
