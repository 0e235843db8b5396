//! The patterns: the messages to one receiver.

use super::order::mix;
use super::{Order, Workload};
use dpamatch::engine::{CollName, Collective};
use dpamatch_vocabulary::choices;

choices! {
    /// A communication pattern, as seen from one receiver.
    #[derive(Hash)]
    pub enum Pattern, by default Senders {
        /// 4D's micro-benchmark: rank 0 gets `pending` messages from each other rank, in ring
        /// order. Every message has its own tag, so only the order determines the search depth.
        Senders = "senders",
        /// `pending` entries from all senders in turn that never match; behind them one receive and
        /// its message per round.
        Depth = "depth",
        /// All ranks send to rank 0, which receives by rising rank, and from each sender in order.
        Gather = "gather",
        /// Halo exchange on a square torus: eight neighbours.
        Halo2d = "halo2d",
        /// Halo exchange on a cubic torus: 26 neighbours.
        Halo3d = "halo3d",
        /// N-body: receives from all other ranks in ring order, posted at once. The PRQ has job
        /// size - 1 entries, the UMQ a quarter as many.
        Ring = "ring",
        /// Radix sort: four receives at a time, while the messages of all ranks pile up. The PRQ
        /// has four entries, the UMQ thousands.
        Alltoall = "alltoall",
        /// Adaptive mesh refinement: neighbours change every four rounds. Each round has one
        /// message per shared block, and an allreduce.
        Amr = "amr",
        /// A linear MPI_Gather at its root.
        CollGather = "coll-gather",
        /// A recursive-doubling MPI_Allreduce.
        Allreduce = "allreduce",
        /// A linear MPI_Iallgather: all receives posted at once, in ring order.
        Iallgather = "iallgather",
        /// Experts of a model in training, GShard's dispatch and combine: in a round each other
        /// rank sends no, `pending` or twice `pending` chunks, all with one tag. Receives are
        /// posted at once, by rank. The next round sends the same back.
        Experts = "experts",
        /// A middle stage of pipeline training, one forward and one backward: `pending` times in a
        /// round activations from the stage before and gradients from the stage behind, two
        /// receives posted at a time, all with one tag.
        Pipeline = "pipeline",
    }
}

/// Identity of an element of a round, that is, of a receive and its message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Key {
    pub(super) source: u32,
    pub(super) tag: u32,
    /// The collective operation; `None` for point-to-point.
    pub(super) coll: Option<&'static str>,
}

/// Neighbours of an adaptive mesh: the least number, and the number of possible values.
const AMR_NEIGHBOURS: (u64, u64) = (6, 54);
const AMR_ROUNDS: u64 = 4;

impl Pattern {
    pub fn usual(self) -> Workload {
        let usual = Workload {
            pattern: self,
            ranks: 1024,
            rounds: 10,
            pending: 1,
            comms: 1,
            any: 0,
            early: 0,
            order: Order::Shuffled,
            bytes: 8,
            seed: 1,
        };
        match self {
            Self::Senders => Workload {
                rounds: 1,
                pending: 10,
                order: Order::Reverse,
                ..usual
            },
            Self::Depth => Workload {
                ranks: 2,
                rounds: 100,
                pending: 1024,
                ..usual
            },
            Self::Gather => Workload { early: 20, ..usual },
            Self::Halo2d | Self::Halo3d => Workload {
                rounds: 100,
                pending: 4,
                early: 25,
                ..usual
            },
            Self::Ring => Workload {
                early: 25,
                order: Order::Near,
                ..usual
            },
            Self::Alltoall => Workload {
                ranks: 512,
                rounds: 2,
                pending: 8,
                early: 80,
                ..usual
            },
            Self::Amr => Workload {
                rounds: 50,
                pending: 8,
                early: 30,
                ..usual
            },
            Self::CollGather => usual,
            Self::Allreduce => Workload {
                rounds: 100,
                early: 50,
                order: Order::Near,
                ..usual
            },
            Self::Iallgather => Workload { early: 25, ..usual },
            Self::Experts => Workload {
                ranks: 256,
                pending: 2,
                early: 30,
                ..usual
            },
            Self::Pipeline => Workload {
                ranks: 8,
                pending: 32,
                order: Order::Near,
                ..usual
            },
        }
    }
}

impl Workload {
    fn receiver(&self) -> u32 {
        match self.pattern {
            Pattern::Senders | Pattern::Depth | Pattern::Gather | Pattern::CollGather => 0,
            _ => self.ranks / 2,
        }
    }

    pub(super) fn elements(&self, round: u64) -> u64 {
        let (others, pending) = (u64::from(self.ranks - 1), u64::from(self.pending));
        match self.pattern {
            Pattern::Senders | Pattern::Gather | Pattern::Alltoall => others * pending,
            Pattern::Ring | Pattern::Iallgather | Pattern::CollGather => others * pending,
            Pattern::Experts => others * pending,
            Pattern::Pipeline => 2 * pending,
            Pattern::Depth => 1,
            Pattern::Halo2d => 8 * pending,
            Pattern::Halo3d => 26 * pending,
            Pattern::Amr => self.amr_blocks(round) + self.doublings(),
            Pattern::Allreduce => self.doublings() * pending,
        }
    }

    /// Entries per communicator that are queued before the first round and stay.
    pub(super) fn standing(&self) -> u64 {
        if self.pattern == Pattern::Depth {
            u64::from(self.pending)
        } else {
            0
        }
    }

    /// Most receives posted before their messages arrive.
    pub(super) fn group(&self) -> u64 {
        match self.pattern {
            Pattern::Alltoall => 4,
            Pattern::Pipeline => 2,
            _ => u64::MAX,
        }
    }

    fn doublings(&self) -> u64 {
        u64::from(self.ranks.ilog2())
    }

    fn amr_blocks(&self, round: u64) -> u64 {
        let (least, spread) = AMR_NEIGHBOURS;
        (least + mix(self.seed ^ (round / AMR_ROUNDS)) % spread) * u64::from(self.pending)
    }

    pub(super) fn standing_key(&self, i: u64) -> Key {
        Key {
            source: 1 + (i % u64::from(self.ranks - 1)) as u32,
            tag: i as u32,
            coll: None,
        }
    }

    pub(super) fn key(&self, round: u64, i: u64) -> Key {
        let (ranks, pending) = (u64::from(self.ranks), u64::from(self.pending));
        let me = u64::from(self.receiver());
        // Element i is message i % pending of sender 1 + i / pending in the ring behind the
        // receiver.
        let (sender, nth) = (i / pending, i % pending);
        let behind = ((me + 1 + sender) % ranks) as u32;
        let p2p = |source, tag| Key {
            source,
            tag,
            coll: None,
        };
        match self.pattern {
            Pattern::Senders => p2p(behind, i as u32),
            Pattern::Depth => p2p(1 + (round % (ranks - 1)) as u32, self.pending),
            Pattern::Gather | Pattern::Ring | Pattern::Alltoall => p2p(behind, 0),
            Pattern::Halo2d => p2p(self.neighbour(2, sender), (sender * pending + nth) as u32),
            Pattern::Halo3d => p2p(self.neighbour(3, sender), (sender * pending + nth) as u32),
            Pattern::Amr => {
                let blocks = self.amr_blocks(round);
                if i < blocks {
                    let neighbour = mix(self.seed ^ (round / AMR_ROUNDS) << 20 ^ sender);
                    p2p(
                        ((me + 1 + neighbour % (ranks - 1)) % ranks) as u32,
                        nth as u32,
                    )
                } else {
                    Key {
                        coll: Some("allreduce"),
                        ..p2p(self.doubled(i - blocks), (i - blocks) as u32)
                    }
                }
            }
            Pattern::CollGather => Key {
                coll: Some("gather"),
                ..p2p(behind, 0)
            },
            Pattern::Allreduce => {
                let step = i % self.doublings();
                Key {
                    coll: Some("allreduce"),
                    ..p2p(self.doubled(step), step as u32)
                }
            }
            Pattern::Iallgather => Key {
                coll: Some("iallgather"),
                ..p2p(behind, 0)
            },
            Pattern::Experts => {
                let sender = self.expert_sender(round, i);
                p2p(((me + 1 + sender) % ranks) as u32, 0)
            }
            Pattern::Pipeline => {
                let stage = me + if i.is_multiple_of(2) { ranks - 1 } else { 1 };
                p2p((stage % ranks) as u32, 0)
            }
        }
    }

    /// The sender of a chunk, counted from the receiver. Of three senders one sends nothing, one
    /// `pending` chunks and one twice as many, drawn anew after two rounds; the one or two that are
    /// left over send `pending`.
    fn expert_sender(&self, round: u64, i: u64) -> u64 {
        let (others, pending) = (u64::from(self.ranks - 1), u64::from(self.pending));
        let (three, place) = (i / (3 * pending), i % (3 * pending));
        if 3 * three + 2 >= others {
            return 3 * three + place / pending;
        }
        let draw = mix(self.seed ^ (round / 2) << 32 ^ three) % 6;
        // The one that sends nothing, and which of the others sends more.
        let (none, first_twice) = (draw / 2, draw.is_multiple_of(2));
        let first = place < if first_twice { 2 * pending } else { pending };
        let [low, high] = match none {
            0 => [1, 2],
            1 => [0, 2],
            _ => [0, 1],
        };
        3 * three + if first { low } else { high }
    }

    fn doubled(&self, step: u64) -> u32 {
        let span = 1 << self.ranks.ilog2();
        (self.receiver() % span) ^ (1 << step)
    }

    /// Rank of the `direction`th neighbour on a torus of two or three dimensions, as near to a
    /// square or cube as the number of ranks allows.
    fn neighbour(&self, dimensions: u32, direction: u64) -> u32 {
        let ranks = u64::from(self.ranks);
        let sides = sides(ranks, dimensions);
        // Directions are base-3 numbers except the middle one, the receiver itself.
        let middle = 3_u64.pow(dimensions) / 2;
        let mut direction = direction + u64::from(direction >= middle);
        let (mut rest, mut rank, mut stride) = (u64::from(self.receiver()), 0, 1);
        for side in sides {
            rank += (rest % side + side + direction % 3 - 1) % side * stride;
            (rest, direction, stride) = (rest / side, direction / 3, stride * side);
        }
        rank as u32
    }

    pub(super) fn mark(&self, key: Key) -> Option<Collective> {
        Some(Collective {
            name: CollName::new(key.coll?)?,
            bytes: Some(self.bytes),
        })
    }
}

/// Two or three factors of a number, as equal as possible, the largest last.
fn sides(ranks: u64, dimensions: u32) -> Vec<u64> {
    let (mut rest, mut sides) = (ranks, Vec::new());
    for left in (1..=dimensions).rev() {
        let root = (rest as f64).powf(1.0 / f64::from(left)).round() as u64;
        let side = if left == 1 {
            rest
        } else {
            (1..=root).rev().find(|side| rest % side == 0).unwrap_or(1)
        };
        sides.push(side);
        rest /= side;
    }
    sides
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_of_a_torus() {
        assert_eq!(
            (sides(64, 3), sides(64, 2), sides(60, 3)),
            (vec![4, 4, 4], vec![8, 8], vec![4, 3, 5])
        );
        let plane = Workload {
            ranks: 64,
            ..Pattern::Halo2d.usual()
        };
        // The receiver is rank 32 of 64: column 0 of row 4.
        let ranks: Vec<u32> = (0..8)
            .map(|direction| plane.neighbour(2, direction))
            .collect();
        assert_eq!(ranks, [31, 24, 25, 39, 33, 47, 40, 41]);
        let cube = Workload {
            ranks: 4096,
            ..Pattern::Halo3d.usual()
        };
        let mut ranks: Vec<u32> = (0..26)
            .map(|direction| cube.neighbour(3, direction))
            .collect();
        ranks.sort_unstable();
        ranks.dedup();
        assert_eq!(ranks.len(), 26);
        assert!(!ranks.contains(&2048));
    }

    #[test]
    fn partners_of_recursive_doubling() {
        let workload = Workload {
            ranks: 1000,
            ..Pattern::Allreduce.usual()
        };
        let partners: Vec<u32> = (0..9).map(|step| workload.key(0, step).source).collect();
        assert_eq!(partners, [501, 502, 496, 508, 484, 468, 436, 372, 244]);
    }

    /// Of eleven other ranks, three triples of senders with 0, 3 and 6 chunks, and two with 3. The
    /// combine after a dispatch has the same chunks.
    #[test]
    fn experts_get_chunks_from_two_of_three_senders() {
        let workload = Workload {
            ranks: 12,
            pending: 3,
            ..Pattern::Experts.usual()
        };
        let chunks = |round| {
            let mut chunks = [0; 12];
            let mut last = 0;
            for i in 0..workload.elements(round) {
                let sender = (workload.key(round, i).source + 12 - 7) % 12;
                assert!(sender >= last, "by rank behind the receiver");
                last = sender;
                chunks[sender as usize] += 1;
            }
            chunks
        };
        let dispatch = chunks(0);
        assert_eq!(workload.elements(0), 33);
        for three in dispatch[..9].chunks(3) {
            let mut sorted = three.to_vec();
            sorted.sort_unstable();
            assert_eq!(sorted, [0, 3, 6], "{dispatch:?}");
        }
        assert_eq!(dispatch[9..], [3, 3, 0]);
        assert_eq!(chunks(1), dispatch);
        assert!((1..20).any(|round| chunks(2 * round) != dispatch));
    }

    #[test]
    fn a_stage_has_two_neighbours() {
        let workload = Pattern::Pipeline.usual();
        let sources: Vec<_> = (0..4).map(|i| workload.key(5, i).source).collect();
        assert_eq!(sources, [3, 5, 3, 5]);
        assert_eq!((workload.elements(0), workload.group()), (64, 2));
    }
}
