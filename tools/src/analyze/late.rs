//! Why messages come before their receives, and whether the program could post those earlier.

use std::collections::{BTreeMap, HashSet};

use foldhash::fast::RandomState as Fast;

use super::order::{Happening, Order};
use super::program::{Action, TransferKind, UNKNOWN};
use super::replay::RankView;
use super::run::Run;

/// Unexpected messages by what their receives allow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct Late {
    /// A probe found the message first, so its receive cannot come earlier.
    pub probed: u64,
    /// The program posts the receive before the sends between two waits. Only an earlier phase of
    /// the program could post it earlier.
    pub posted_first: u64,
    /// The program waits or sends first, and could post the receive before.
    pub could_be_earlier: u64,
    /// No receive got the message.
    pub left: u64,
}

impl Late {
    pub fn add(&mut self, other: &Self) {
        add_fields! { self + other; sum probed posted_first could_be_earlier left; }
    }

    pub fn unexpected(&self) -> u64 {
        self.probed + self.posted_first + self.could_be_earlier + self.left
    }
}

/// What keeps a receive from being posted earlier, if anything does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Earliest {
    Probed,
    PostedFirst,
    No,
}

/// By transfer; `No` for all but receives.
pub(super) fn earliest(view: RankView<'_>) -> Vec<Earliest> {
    let program = view.program;
    let mut all = vec![Earliest::No; program.transfers.len()];
    // Whether the rank has sent since its last wait.
    let mut has_sent = false;
    for step in &program.steps {
        match step.action {
            Action::Begin(at) => {
                let transfer = program.transfers.at(at);
                match transfer.kind {
                    TransferKind::Send => has_sent = true,
                    TransferKind::Recv if transfer.blocking => has_sent = false,
                    TransferKind::Recv if !has_sent => all[at as usize] = Earliest::PostedFirst,
                    TransferKind::Recv | TransferKind::Probe | TransferKind::Null => {}
                }
            }
            Action::Finish { .. } | Action::Collective { .. } => has_sent = false,
            Action::Cancel(_) => {}
        }
    }
    for (_, message) in view.probes.iter() {
        let receive = view.inbound.at(message).receive;
        if let Some(earliest) = all.get_mut(receive as usize) {
            *earliest = Earliest::Probed;
        }
    }
    all
}

/// The unexpected messages of all ranks. `pairs` holds the receives of each rank's messages.
///
/// # Complexity
/// Linear in the events.
pub(super) fn late(run: &Run, orders: &[Order], pairs: &[Vec<u32>]) -> Late {
    let mut late = Late::default();
    for ((view, order), receives) in run.views().zip(orders).zip(pairs) {
        let earliest = earliest(view);
        let mut posted = vec![false; view.program.transfers.len()];
        for happening in order.iter() {
            match happening {
                Happening::Post(receive) => posted[receive as usize] = true,
                Happening::Arrive(message) => {
                    let receive = receives[message as usize];
                    match earliest.get(receive as usize) {
                        None => late.left += u64::from(receive == UNKNOWN),
                        Some(_) if posted[receive as usize] => {}
                        Some(Earliest::Probed) => late.probed += 1,
                        Some(Earliest::PostedFirst) => late.posted_first += 1,
                        Some(Earliest::No) => late.could_be_earlier += 1,
                    }
                }
                Happening::Cancel(_) | Happening::Probe(_) => {}
            }
        }
    }
    late
}

/// Whether ranks had processors for themselves, as far as the trace shows.
#[derive(Clone, Copy, PartialEq, Debug, Default, serde::Serialize)]
pub struct Sharing {
    /// Hosts that the trace names; 0 if it names none.
    pub hosts: u64,
    /// Maximum ranks of one host.
    pub ranks_max: u64,
    /// Mean share of their wall time in which the ranks of hosts with several ranks had a
    /// processor; `None` without processor times.
    pub processor_share: Option<f64>,
}

/// Below this share of a processor ranks count as sharing processors.
const SHARED: f64 = 0.8;

impl Sharing {
    pub(super) fn of(run: &Run) -> Self {
        let mut hosts: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        let mut ranks: BTreeMap<&str, HashSet<u32, Fast>> = BTreeMap::new();
        for program in &run.programs {
            let Some(host) = program.host.as_deref().filter(|host| !host.is_empty()) else {
                continue;
            };
            ranks.entry(host).or_default().insert(program.rank);
            if program.cpu_ns > 0 && program.run_ns > 0 {
                let share = program.cpu_ns as f64 / program.run_ns as f64;
                hosts.entry(host).or_default().push(share);
            }
        }
        let several = |host: &&str| ranks[*host].len() > 1;
        let shares: Vec<f64> = hosts
            .iter()
            .filter(|(host, _)| several(host))
            .flat_map(|(_, shares)| shares.iter().copied())
            .collect();
        let mean = shares.iter().sum::<f64>() / shares.len().max(1) as f64;
        Self {
            hosts: ranks.len() as u64,
            ranks_max: ranks
                .values()
                .map(|ranks| ranks.len() as u64)
                .max()
                .unwrap_or(0),
            processor_share: (!shares.is_empty()).then_some(mean),
        }
    }

    /// Whether ranks of one host shared processors.
    pub fn is_shared(&self) -> bool {
        self.ranks_max > 1 && self.processor_share.is_some_and(|share| share < SHARED)
    }

    /// What is known, for a reader of advice; `None` if no two ranks are known to share a host.
    pub(super) fn words(&self) -> Option<String> {
        if self.ranks_max < 2 {
            return None;
        }
        let ranks = format!("up to {} ranks ran on one host", self.ranks_max);
        Some(match self.processor_share {
            Some(share) => format!(
                "{ranks} and had a processor for {:.0} % of their time; the trace does not hold \
                 the number of processors",
                share * 100.0
            ),
            None => format!("{ranks}, whose number of processors the trace does not hold"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyze::OrderChoice;
    use crate::analyze::by_hand::{program, receive, send};
    use crate::analyze::program::{ANY, End, Step, Transfer};
    use dpamatch::engine::Oracle;

    /// Rank 1 posts two receives, sends, posts a third, and receives a fourth message that it
    /// probed. A fifth message is never received.
    #[test]
    fn late_receives_are_told_apart() {
        let probe = Transfer {
            kind: TransferKind::Probe,
            blocking: true,
            got_source: 0,
            got_tag: 4,
            ..receive(ANY, ANY, End::Known)
        };
        let blocking = Transfer {
            blocking: true,
            ..receive(0, 5, End::Ignored)
        };
        let transfers = [
            receive(0, 1, End::Ignored),
            receive(0, 2, End::Ignored),
            send(0, 9),
            receive(0, 3, End::Ignored),
            probe,
            receive(0, 4, End::Ignored),
            blocking,
            receive(0, 6, End::Ignored),
        ];
        let mut sends = vec![receive(1, 9, End::Ignored)];
        sends.extend((1..=7).map(|tag| send(1, tag)));
        let run = Run::new(vec![program(0, &sends), program(1, &transfers)], Some(2));
        let orders = run.guided(OrderChoice::ArrivalsFirst);
        let pairs: Vec<Vec<u32>> = run
            .views()
            .zip(&orders)
            .map(|(view, order)| view.run(&mut Oracle::new(), order).expect("an engine"))
            .collect();
        let late = late(&run, &orders, &pairs);
        let expected = Late {
            probed: 1,
            // Tags 1, 2 and 6 at rank 1, and tag 9 at rank 0.
            posted_first: 4,
            // Tags 3 and 5.
            could_be_earlier: 2,
            left: 1,
        };
        assert_eq!((late, late.unexpected()), (expected, 8));
    }

    #[test]
    fn ranks_share_processors_below_a_share_of_them() {
        let rank = |rank, host: &str, cpu_ns| super::super::Program {
            host: Some(host.to_owned()),
            cpu_ns,
            run_ns: 1_000,
            ..program(rank, &[])
        };
        let of = |programs| Sharing::of(&Run::new(programs, Some(3)));
        let shared = of(vec![rank(0, "a", 700), rank(1, "a", 898), rank(2, "b", 10)]);
        assert_eq!((shared.hosts, shared.ranks_max), (2, 2));
        assert!(shared.is_shared(), "{shared:?}");
        let own = of(vec![rank(0, "a", 700), rank(1, "a", 900), rank(2, "b", 10)]);
        assert!(!own.is_shared(), "{own:?}");
        let unknown = of(vec![rank(0, "a", 0), rank(1, "a", 0), rank(2, "", 1)]);
        assert_eq!(
            (unknown.processor_share, unknown.is_shared()),
            (None, false)
        );
        assert!(
            unknown
                .words()
                .is_some_and(|words| words.contains("up to 2 ranks"))
        );
        assert_eq!(of(vec![rank(0, "a", 1), rank(1, "b", 1)]).words(), None);
    }

    /// A wait begins a new phase, in which receives before the sends are first again.
    #[test]
    fn a_wait_begins_a_phase() {
        let mut program = program(1, &[send(0, 1), receive(0, 2, End::Ignored)]);
        let action = Action::Finish { first: 0, count: 0 };
        let wait = Step {
            at_ns: 0,
            gap_ns: 0,
            action,
        };
        let run = Run::new(vec![program.clone()], Some(2));
        assert_eq!(earliest(run.view(0))[1], Earliest::No);
        program.steps.edit(|steps| steps.insert(1, wait));
        let run = Run::new(vec![program], Some(2));
        assert_eq!(earliest(run.view(0))[1], Earliest::PostedFirst);
    }
}
