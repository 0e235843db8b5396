//! The engine of UCX's tag matching: one hash table of 1,021 buckets for full keys, one queue
//! for receives with a wildcard, and a posting sequence number by which an arrival decides between
//! the two. Unexpected messages are in the bucket of their key and in one list of all: a full key
//! searches the bucket, a wildcard the list.
//!
//! The number of buckets is prime, so that keys at regular distances spread; the hash is the 64-bit
//! tag folded to 32 bits, without mixing, so keys can be found that share a bucket. While no
//! receive with a wildcard is posted an arrival looks at one bucket only.

use dpamatch_vocabulary::{CommId, Envelope, Selector, SourceSel, TagSel};

use super::Load;
use super::chain::Chain;
use super::entry::Pattern;
use super::indexed::{Entries, Index, Indexed, Steps};

/// Buckets of each of the two tables.
const BUCKETS: usize = 1021;

/// The lanes of an unexpected message.
const IN_BUCKET: usize = 0;
const IN_ALL: usize = 1;

/// Bucket of a full key. Open MPI packs it into UCX's 64-bit tag as tag (24 bits), source (20),
/// context (20); here numbers may be larger, so excess bits at the top wrap around to the bottom.
#[inline]
fn bucket_of(comm: u32, source: u32, tag: u32) -> usize {
    let packed = u64::from(tag).rotate_left(40) ^ (u64::from(source) << 20) ^ u64::from(comm);
    ((packed as u32) ^ ((packed >> 32) as u32)) as usize % BUCKETS
}

#[inline]
fn bucket_of_selector(comm: CommId, selector: Selector) -> Option<usize> {
    match (selector.source, selector.tag) {
        (SourceSel::Rank(rank), TagSel::Tag(tag)) => Some(bucket_of(comm.0, rank.get(), tag.get())),
        _ => None,
    }
}

#[inline]
fn bucket_of_envelope(envelope: &Envelope) -> usize {
    bucket_of(envelope.comm.0, envelope.source.get(), envelope.tag.get())
}

/// The index: two tables, the wildcard queue, the list of all messages.
#[derive(Clone, Debug)]
pub struct Ucx {
    expected: Vec<Chain>,
    wildcard: Chain,
    unexpected: Vec<Chain>,
    all: Chain,
}

/// The engine of UCX.
pub type UcxEngine = Indexed<Ucx, 1, 2>;

impl UcxEngine {
    /// An engine with empty queues and two tables for all communicators.
    pub fn new() -> Self {
        let table = || vec![Chain::EMPTY; BUCKETS];
        let index = Ucx {
            expected: table(),
            wildcard: Chain::EMPTY,
            unexpected: table(),
            all: Chain::EMPTY,
        };
        Self::with_index(index)
    }
}

impl Default for UcxEngine {
    fn default() -> Self {
        Self::new()
    }
}

impl Index<1, 2> for Ucx {
    /// All communicators share the tables.
    type Comm = ();

    fn new_comm(&mut self, _size: Option<u32>) {}

    fn ends_when_empty(&self) -> bool {
        true
    }

    #[inline]
    fn earliest(
        &mut self,
        entries: &Entries<1, 2>,
        _comm: Option<&mut ()>,
        envelope: &Envelope,
        steps: &mut Steps,
    ) -> Option<u32> {
        let bucket = self.expected[bucket_of_envelope(envelope)];
        let exact = entries.first_accepting(bucket, 0, u64::MAX, envelope, steps);
        if self.wildcard.is_empty() {
            return exact;
        }
        let label = exact.map_or(u64::MAX, |at| entries.posted.get(at).label);
        entries
            .first_accepting(self.wildcard, 0, label, envelope, steps)
            .or(exact)
    }

    #[inline]
    fn oldest(
        &mut self,
        entries: &mut Entries<1, 2>,
        _comm: Option<&mut ()>,
        wanted: Pattern,
        steps: &mut Steps,
    ) -> Option<u32> {
        match bucket_of_selector(wanted.comm, wanted.selector) {
            Some(bucket) => {
                entries.first_fitting(self.unexpected[bucket], IN_BUCKET, u64::MAX, wanted, steps)
            }
            None => entries.first_fitting(self.all, IN_ALL, u64::MAX, wanted, steps),
        }
    }

    #[inline]
    fn link_posted(&mut self, entries: &mut Entries<1, 2>, _comm: &mut (), at: u32) -> bool {
        let posted = entries.posted.get(at);
        let bucket = bucket_of_selector(posted.comm, posted.selector);
        let chain = match bucket {
            Some(bucket) => &mut self.expected[bucket],
            None => &mut self.wildcard,
        };
        entries.posted.push_back(chain, 0, at) && bucket.is_some()
    }

    #[inline]
    fn unlink_posted(&mut self, entries: &mut Entries<1, 2>, _comm: &mut (), at: u32) {
        let posted = entries.posted.get(at);
        let chain = match bucket_of_selector(posted.comm, posted.selector) {
            Some(bucket) => &mut self.expected[bucket],
            None => &mut self.wildcard,
        };
        entries.posted.unlink(chain, 0, at);
    }

    #[inline]
    fn link_unexpected(&mut self, entries: &mut Entries<1, 2>, _comm: &mut (), at: u32) -> bool {
        let bucket = &mut self.unexpected[bucket_of_envelope(&entries.unexpected.get(at).envelope)];
        entries.unexpected.push_back(&mut self.all, IN_ALL, at);
        entries.unexpected.push_back(bucket, IN_BUCKET, at)
    }

    #[inline]
    fn unlink_unexpected(&mut self, entries: &mut Entries<1, 2>, _comm: &mut (), at: u32) {
        let bucket = &mut self.unexpected[bucket_of_envelope(&entries.unexpected.get(at).envelope)];
        entries.unexpected.unlink(bucket, IN_BUCKET, at);
        entries.unexpected.unlink(&mut self.all, IN_ALL, at);
    }

    fn bytes(&self) -> usize {
        (self.expected.capacity() + self.unexpected.capacity()) * size_of::<Chain>()
    }

    /// Two tables, for however many communicators.
    fn bytes_bound(&self, _load: &Load) -> u64 {
        self.bytes() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::words::{envelope, exact, tag};
    use crate::engine::{Engine, MsgId, RecvId};

    const COMM: CommId = CommId(0);

    /// Keys that programs use spread: 1,021 consecutive tags all differ, and so do strides that are
    /// not multiples of the prime.
    #[test]
    fn a_prime_number_of_buckets_spreads_strides() {
        for stride in [1, 2, 64, 1000, 1024, 4096] {
            let mut seen: Vec<_> = (0..1021).map(|i| bucket_of(0, 0, i * stride)).collect();
            seen.sort_unstable();
            seen.dedup();
            assert_eq!(seen.len(), 1021, "tags at distance {stride}");
        }
        let mut counts = [0; BUCKETS];
        (0..4096).for_each(|source| counts[bucket_of(1, source, 7)] += 1);
        assert!(counts.iter().all(|&count| count <= 20), "sources");
    }

    /// An arrival searches the wildcard queue only if it is not empty, and only up to the label of
    /// the exact candidate.
    #[test]
    fn wildcards_cost_nothing_until_posted() {
        let mut engine = UcxEngine::new();
        let any = Selector::new(SourceSel::Any, tag(5));
        engine.post(RecvId(0), COMM, exact(1, 5));
        engine.post(RecvId(1), COMM, any);
        engine.post(RecvId(2), COMM, exact(1, 5));
        for (expected, attempts) in [(0, 1), (1, 2), (2, 1)] {
            let before = engine.stats().prq.attempts;
            assert_eq!(
                engine.arrive(MsgId(expected), envelope(COMM, 1, 5)),
                Some(RecvId(expected))
            );
            assert_eq!(
                engine.stats().prq.attempts - before,
                attempts,
                "receive {expected}"
            );
        }
    }

    /// A wildcard search goes through all messages of all communicators in the order of arrival.
    #[test]
    fn wildcard_searches_walk_the_list_of_all() {
        let mut engine = UcxEngine::new();
        for number in 0..10 {
            engine.arrive(
                MsgId(number),
                Envelope {
                    comm: CommId(number as u32),
                    ..envelope(COMM, 3, 3)
                },
            );
        }
        let any = Selector::new(SourceSel::Any, TagSel::Any);
        assert_eq!(engine.probe(CommId(6), any), Some(MsgId(6)));
        assert_eq!(engine.stats().umq.attempts, 7);
        assert_eq!(engine.probe(CommId(6), exact(3, 3)), Some(MsgId(6)));
        assert_eq!(engine.stats().umq.attempts, 8);
    }
}
