//! The array-based engine (ob1 of Open MPI): for each communicator an array with one head of
//! lists for each source, in which only the tag varies, and one list of ANY_SOURCE receives.
//!
//! All receives of a communicator carry labels, so that an arrival takes the older of two
//! candidates: the one in its source's list and the one in the ANY_SOURCE list. An ANY_SOURCE
//! search of the UMQ visits every head and takes the oldest candidate.
//!
//! A search costs the older entries of the same source; the price is the array. Its length is the
//! communicator's size if known, else it grows with the sources seen. Sources at or above its limit
//! share one more list, which is searched like any list.

use dpamatch_vocabulary::{Envelope, SourceSel, choices};

use super::Load;
use super::chain::{Chain, Head};
use super::entry::Pattern;
use super::indexed::{Entries, Index, Indexed, Steps};

/// Maximum length of an array: heads for as many ranks.
pub const ARRAY_RANKS_MAX: u32 = 1 << 20;

/// Maximum length of the array of a communicator of unknown size.
const UNTOLD_RANKS_MAX: u32 = 4096;

choices! {
    /// How long an array is kept.
    pub enum ArrayLife, by default Communicator {
        /// Until the communicator is freed, as Open MPI does.
        Communicator = "communicator",
        /// Until both queues are empty, as in the paper: less memory, a new array for the next
        /// entry.
        Entries = "entries",
    }
}

/// A communicator's array and lists.
#[derive(Clone, Debug)]
pub struct Array {
    heads: Vec<Head>,
    /// The array may have this length.
    limit: u32,
    /// Sources without a head.
    far: Head,
    /// ANY_SOURCE receives.
    any: Chain,
    /// Messages in the UMQ.
    messages: u32,
}

impl Array {
    /// The head of a source; an empty one if its place in the array does not exist yet.
    #[inline]
    fn head(&self, source: u32) -> Head {
        match self.heads.get(source as usize) {
            Some(&head) => head,
            None if source < self.limit => Head::EMPTY,
            None => self.far,
        }
    }

    /// The head of a source, to change it; it exists once an entry was linked.
    #[inline]
    fn head_mut(&mut self, source: u32) -> &mut Head {
        self.heads.get_mut(source as usize).unwrap_or(&mut self.far)
    }
}

/// The index: arrays of list heads.
#[derive(Clone, Debug)]
pub struct RankArray {
    life: ArrayLife,
    /// Size of communicators without a known size.
    default_size: Option<u32>,
    bytes: usize,
}

/// The array-based engine.
pub type RankArrayEngine = Indexed<RankArray, 1, 1>;

impl RankArrayEngine {
    /// An engine with empty queues; `size` is the default number of processes in a communicator.
    pub fn new(life: ArrayLife, size: Option<u32>) -> Self {
        Self::with_index(RankArray {
            life,
            default_size: size,
            bytes: 0,
        })
    }
}

impl RankArray {
    /// Makes a head for the source if the source is below the limit.
    #[inline]
    fn grow(&mut self, array: &mut Array, source: u32) {
        if source < array.limit && source as usize >= array.heads.len() {
            // At least doubles, so that it grows rarely; a known size is reached immediately.
            let length = (source + 1).next_power_of_two().min(array.limit) as usize;
            self.bytes -= array.heads.capacity() * size_of::<Head>();
            array.heads.reserve_exact(length - array.heads.len());
            array.heads.resize(length, Head::EMPTY);
            self.bytes += array.heads.capacity() * size_of::<Head>();
        }
    }
}

impl Index<1, 1> for RankArray {
    type Comm = Array;

    fn new_comm(&mut self, size: Option<u32>) -> Array {
        let size = size
            .or(self.default_size)
            .map(|size| size.min(ARRAY_RANKS_MAX));
        let heads = vec![Head::EMPTY; size.unwrap_or(0) as usize];
        self.bytes += heads.capacity() * size_of::<Head>();
        let limit = size.unwrap_or(UNTOLD_RANKS_MAX);
        Array {
            heads,
            limit,
            far: Head::EMPTY,
            any: Chain::EMPTY,
            messages: 0,
        }
    }

    fn end_comm(&mut self, array: Array) {
        self.bytes -= array.heads.capacity() * size_of::<Head>();
    }

    fn ends_when_empty(&self) -> bool {
        self.life == ArrayLife::Entries
    }

    #[inline]
    fn earliest(
        &mut self,
        entries: &Entries<1, 1>,
        comm: Option<&mut Array>,
        envelope: &Envelope,
        steps: &mut Steps,
    ) -> Option<u32> {
        let array = comm?;
        let ranked = array.head(envelope.source.get()).posted;
        steps.hops += 1;
        let mut best = entries.first_accepting(ranked, 0, u64::MAX, envelope, steps);
        if !array.any.is_empty() {
            let label = best.map_or(u64::MAX, |at| entries.posted.get(at).label);
            best = entries
                .first_accepting(array.any, 0, label, envelope, steps)
                .or(best);
        }
        best
    }

    #[inline]
    fn oldest(
        &mut self,
        entries: &mut Entries<1, 1>,
        comm: Option<&mut Array>,
        wanted: Pattern,
        steps: &mut Steps,
    ) -> Option<u32> {
        let array = comm?;
        if let SourceSel::Rank(source) = wanted.selector.source {
            steps.hops += 1;
            let ranked = array.head(source.get()).unexpected;
            return entries.first_fitting(ranked, 0, u64::MAX, wanted, steps);
        }
        if array.messages == 0 {
            return None;
        }
        let mut best = None;
        let mut arrival = u64::MAX;
        for head in array.heads.iter().chain([&array.far]) {
            steps.hops += 1;
            if let Some(at) = entries.first_fitting(head.unexpected, 0, arrival, wanted, steps) {
                arrival = entries.unexpected.get(at).arrival;
                best = Some(at);
            }
        }
        best
    }

    #[inline]
    fn link_posted(&mut self, entries: &mut Entries<1, 1>, array: &mut Array, at: u32) -> bool {
        let SourceSel::Rank(source) = entries.posted.get(at).selector.source else {
            entries.posted.push_back(&mut array.any, 0, at);
            return false;
        };
        self.grow(array, source.get());
        let chain = &mut array.head_mut(source.get()).posted;
        entries.posted.push_back(chain, 0, at)
    }

    #[inline]
    fn unlink_posted(&mut self, entries: &mut Entries<1, 1>, array: &mut Array, at: u32) {
        let chain = match entries.posted.get(at).selector.source {
            SourceSel::Any => &mut array.any,
            SourceSel::Rank(source) => &mut array.head_mut(source.get()).posted,
        };
        entries.posted.unlink(chain, 0, at);
    }

    #[inline]
    fn link_unexpected(&mut self, entries: &mut Entries<1, 1>, array: &mut Array, at: u32) -> bool {
        let source = entries.unexpected.get(at).envelope.source.get();
        self.grow(array, source);
        array.messages += 1;
        let chain = &mut array.head_mut(source).unexpected;
        entries.unexpected.push_back(chain, 0, at)
    }

    #[inline]
    fn unlink_unexpected(&mut self, entries: &mut Entries<1, 1>, array: &mut Array, at: u32) {
        let source = entries.unexpected.get(at).envelope.source.get();
        array.messages -= 1;
        entries
            .unexpected
            .unlink(&mut array.head_mut(source).unexpected, 0, at);
    }

    fn bytes(&self) -> usize {
        self.bytes
    }

    /// One array per communicator in use, of the known size or of the longest it grows to.
    fn bytes_bound(&self, load: &Load) -> u64 {
        let told = load
            .comm_size
            .max(self.default_size.unwrap_or(0))
            .min(ARRAY_RANKS_MAX);
        let comms = match self.life {
            ArrayLife::Communicator => load.comms,
            ArrayLife::Entries => load.comms.min(load.posted + load.unexpected),
        };
        comms * u64::from(told.max(UNTOLD_RANKS_MAX)) * size_of::<Head>() as u64
    }
}

#[cfg(test)]
mod tests {
    use dpamatch_vocabulary::{CommId, Selector, TagSel};

    use super::*;
    use crate::engine::words::{rank, tag};
    use crate::engine::{Engine, MsgId, RecvId};

    const COMM: CommId = CommId(3);

    fn arrive(
        engine: &mut RankArrayEngine,
        number: u64,
        source: u32,
        number_of_tag: u32,
    ) -> Option<RecvId> {
        let envelope = Envelope {
            comm: COMM,
            source: rank(source),
            tag: tag(number_of_tag),
        };
        engine.arrive(MsgId(number), envelope)
    }

    /// With the paper's life the array goes when the queues are empty and comes again; with
    /// Open MPI's it stays until the communicator is freed.
    #[test]
    fn life_of_an_array() {
        for (life, while_idle) in [(ArrayLife::Entries, 0), (ArrayLife::Communicator, 1000)] {
            let mut engine = RankArrayEngine::new(life, Some(1000));
            for round in 0..3 {
                arrive(&mut engine, round, 1, 0);
                assert_eq!(engine.index().bytes(), 1000 * size_of::<Head>());
                engine.mprobe(COMM, Selector::new(rank(1), tag(0)));
                assert_eq!(
                    engine.index().bytes(),
                    while_idle * size_of::<Head>(),
                    "{life:?}"
                );
            }
            assert!(engine.free_comm(COMM));
            assert_eq!(
                (engine.index().bytes(), engine.stats().memory_bytes),
                (0, 0)
            );
        }
    }

    /// A given size has at most 2^20 heads. An array of an unknown size grows up to 4,096, and no
    /// further source makes it grow.
    #[test]
    fn arrays_end_at_their_limits() {
        let heads = |told: Option<u32>, source| {
            let mut engine = RankArrayEngine::new(ArrayLife::default(), told);
            arrive(&mut engine, 0, source, 1);
            let selector = Selector::new(rank(source), TagSel::Any);
            let heads = engine.index().bytes() / size_of::<Head>();
            assert_eq!(engine.post(RecvId(0), COMM, selector), Some(MsgId(0)));
            heads
        };
        for (told, made) in [
            (1_048_575, 1_048_575),
            (1_048_576, 1_048_576),
            (1_048_577, 1_048_576),
        ] {
            assert_eq!(heads(Some(told), 0), made, "{told} processes");
        }
        for (source, made) in [
            (2_047, 2_048),
            (2_048, 4_096),
            (4_094, 4_096),
            (4_095, 4_096),
            (4_096, 0),
        ] {
            assert_eq!(heads(None, source), made, "source {source}");
        }
    }

    /// No source makes an array longer than the limit, whatever the communicator's size.
    #[test]
    fn sources_beyond_the_array_share_a_list() {
        for (told, heads) in [(None, 0), (Some(4), 4), (Some(u32::MAX), ARRAY_RANKS_MAX)] {
            let mut engine = RankArrayEngine::new(ArrayLife::default(), None);
            if let Some(size) = told {
                engine.set_comm_size(COMM, size);
            }
            arrive(&mut engine, 0, dpa_model::RANK_MAX, 1);
            arrive(&mut engine, 1, dpa_model::RANK_MAX - 1, 1);
            assert_eq!(engine.index().bytes(), heads as usize * size_of::<Head>());
            let selector = Selector::new(rank(dpa_model::RANK_MAX - 1), TagSel::Any);
            assert_eq!(engine.post(RecvId(0), COMM, selector), Some(MsgId(1)));
        }
    }
}
