//! Shards: several endpoints that share the messages of one process.
//!
//! In a block that several workers share, each message passes between processors. Shards share
//! nothing: each is an [`Endpoint`] with a NIC, queues, tables and its own completion ring.
//! All messages of one communicator and source go to one shard. Sources are dealt to the shards in
//! turn when they first appear, so each shard gets as many, whatever their ranks are. (Neighbours
//! in a grid often differ by an even number.)
//!
//! **Why it is right.** MPI orders the messages of one source and communicator (MPI 4.1, section
//! 3.5), and a receive of a given source can only take messages of that source. So receives and
//! messages of different sources never compete, wherever they are matched. A receive from any
//! source does compete, so a communicator that allows it (without the hint
//! [`no_any_source`](Hints::no_any_source)) is on one shard as a whole.
//!
//! **Progress.** Every wait drives all shards, so a program that waits for one source never stops a
//! sender of another.

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed};

use dpa_model::{Hints, Wait};
use dpamatch_vocabulary::{Rank, SourceSel, TagSel};

use super::communicator::Communicator;
use super::{
    CommSender, Drive, Endpoint, EndpointConfig, EndpointError, FreeError, MatchedMessage,
    PostError, Received, RecvError, RecvRequest, Status, Stopped,
};

/// Several endpoints that share the messages of one process.
///
/// One thread at a time calls it. For a thread per shard see [`endpoints`](Self::endpoints).
///
/// # Panics
/// In every method, when a communicator, request or message belongs to other shards.
///
/// # Examples
/// ```
/// use dpamatch::endpoint::{EndpointConfig, Shards};
/// use dpamatch::{Hints, Rank, Tag};
///
/// let mut shards = Shards::new(&EndpointConfig::default(), 2)?;
/// let spread = Hints { no_any_source: true, ..Hints::default() };
/// let world = shards.create_comm(spread)?;
/// let (source, tag) = (Rank::new(3)?, Tag::new(7)?);
/// let request = shards.post_recv(&world, source, tag, vec![0; 64])?;
/// shards.sender(&world, source).send(tag, b"hello")?;
/// assert_eq!(shards.wait(request)?.bytes(), b"hello");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Shards {
    endpoints: Vec<Endpoint>,
    /// The shard of the next communicator that is not spread.
    next_home: usize,
}

const FOREIGN: &str = "the handle belongs to other shards";

/// Ranks below this are dealt to the shards in turn; a higher rank goes to the shard given by the
/// rank modulo the number of shards.
pub const SOURCES_DEALT: usize = 4096;

/// Maps sources to shards. **Orderings.** Relaxed: a place is written once, and its readers depend
/// on no earlier write.
#[derive(Debug)]
struct ShardMap {
    /// Sources dealt out so far.
    dealt: AtomicUsize,
    /// A source's shard plus 1; 0 before the source first appears.
    places: Box<[AtomicU32]>,
}

impl ShardMap {
    fn new(sources: usize) -> Self {
        Self {
            dealt: AtomicUsize::new(0),
            places: (0..sources).map(|_| AtomicU32::new(0)).collect(),
        }
    }

    /// The shard of this source; the first call chooses one of `shards`, and it stays.
    fn shard(&self, source: Rank, shards: usize) -> usize {
        let number = source.get() as usize;
        let Some(place) = self.places.get(number) else {
            return number % shards;
        };
        // ordering: a source has one shard for ever, and no memory goes with its number.
        let known = place.load(Relaxed);
        if known != 0 {
            return known as usize - 1;
        }
        // ordering: as above; of two first calls one wins.
        let next = (self.dealt.fetch_add(1, Relaxed) % shards) as u32;
        // ordering: as above.
        let earlier = place.compare_exchange(0, next + 1, Relaxed, Relaxed);
        earlier.map_or_else(|earlier| earlier - 1, |_| next) as usize
    }
}

/// A communicator of [`Shards`].
#[derive(Debug)]
pub struct ShardedCommunicator {
    /// One part on each shard, or the only one.
    parts: Vec<Communicator>,
    /// The shard of the first part.
    home: usize,
    deal: ShardMap,
}

impl ShardedCommunicator {
    /// Whether its sources are spread over all shards.
    pub fn is_spread(&self) -> bool {
        self.parts.len() > 1
    }

    /// The shard that matches messages of this source. The first call, sender or receive that names
    /// the source chooses it. Any thread may call this.
    pub fn shard(&self, source: Rank) -> usize {
        if self.is_spread() {
            self.deal.shard(source, self.parts.len())
        } else {
            self.home
        }
    }

    /// The communicator's part on a shard; `None` if it has none there.
    pub fn part(&self, shard: usize) -> Option<&Communicator> {
        self.parts.get(shard.checked_sub(self.home)?)
    }

    /// The shard and the part that a receive or probe concerns. Any source gives the first part; if
    /// the communicator is spread, its hints refuse the wildcard there.
    fn shard_of(&self, source: SourceSel) -> (usize, &Communicator) {
        match source {
            SourceSel::Rank(source) if self.is_spread() => {
                let shard = self.shard(source);
                (shard, &self.parts[shard])
            }
            _ => (self.home, &self.parts[0]),
        }
    }
}

impl Shards {
    /// Builds `shards` endpoints of this configuration, at least one. Each takes the configured
    /// memory in full. Threads are pinned to the processors round robin over all shards.
    ///
    /// # Errors
    /// [`EndpointError`].
    pub fn new(config: &EndpointConfig, shards: usize) -> Result<Self, EndpointError> {
        let build = |shard| {
            let mut config = config.clone();
            if let Drive::Threads { pin_to } = &mut config.drive
                && !pin_to.is_empty()
            {
                let first = shard * config.nic.workers % pin_to.len();
                pin_to.rotate_left(first);
            }
            Endpoint::new(&config)
        };
        Ok(Self {
            endpoints: (0..shards.max(1)).map(build).collect::<Result<_, _>>()?,
            next_home: 0,
        })
    }

    /// The endpoints, for a program that gives each its own thread. It posts receives with
    /// [`ShardedCommunicator::part`].
    pub fn endpoints(&mut self) -> &mut [Endpoint] {
        &mut self.endpoints
    }

    /// Creates a communicator: on all shards if its hints exclude any source, else on one, in turn.
    ///
    /// # Errors
    /// [`Stopped`].
    pub fn create_comm(&mut self, hints: Hints) -> Result<ShardedCommunicator, Stopped> {
        if hints.no_any_source {
            let parts = self
                .endpoints
                .iter_mut()
                .map(|endpoint| endpoint.create_comm(hints));
            return Ok(ShardedCommunicator {
                parts: parts.collect::<Result<_, _>>()?,
                home: 0,
                deal: ShardMap::new(SOURCES_DEALT),
            });
        }
        let home = self.next_home;
        self.next_home = (home + 1) % self.endpoints.len();
        let part = self.endpoints[home].create_comm(hints)?;
        Ok(ShardedCommunicator {
            parts: vec![part],
            home,
            deal: ShardMap::new(0),
        })
    }

    /// Frees a communicator, on all shards or on none.
    ///
    /// # Errors
    /// The errors of [`Endpoint::free_comm`].
    ///
    /// # Panics
    /// When it belongs to other shards.
    pub fn free_comm(
        &mut self,
        comm: ShardedCommunicator,
    ) -> Result<(), FreeError<ShardedCommunicator>> {
        let ShardedCommunicator {
            mut parts,
            home,
            deal,
        } = comm;
        let all = parts.len();
        for (shard, part) in parts.iter().enumerate() {
            self.own(home + shard).check_own(part.endpoint);
        }
        while let Some(part) = parts.pop() {
            let hints = part.hints();
            match self.endpoints[home + parts.len()].free_comm(part) {
                Ok(()) => {}
                Err(FreeError::Stopped) => return Err(FreeError::Stopped),
                Err(FreeError::Busy { comm: part, reason }) => {
                    parts.push(part);
                    // The freed parts were empty, so new ones replace them.
                    while parts.len() < all {
                        let shard = &mut self.endpoints[home + parts.len()];
                        parts.push(
                            shard
                                .create_comm(hints)
                                .map_err(|Stopped| FreeError::Stopped)?,
                        );
                    }
                    let comm = ShardedCommunicator { parts, home, deal };
                    return Err(FreeError::Busy { comm, reason });
                }
            }
        }
        Ok(())
    }

    /// A sender of rank `source`; it may be cloned and used from any thread.
    pub fn sender(&self, comm: &ShardedCommunicator, source: Rank) -> CommSender {
        let (shard, part) = comm.shard_of(source.into());
        self.own(shard).sender(part, source)
    }

    /// Posts a receive: `MPI_Irecv` (MPI 4.1, section 3.7.2).
    ///
    /// # Errors
    /// [`PostError`], with the buffer.
    pub fn post_recv(
        &mut self,
        comm: &ShardedCommunicator,
        source: impl Into<SourceSel>,
        tag: impl Into<TagSel>,
        buffer: Vec<u8>,
    ) -> Result<RecvRequest, PostError> {
        let source = source.into();
        let (shard, part) = comm.shard_of(source);
        self.own_mut(shard).post_recv(part, source, tag, buffer)
    }

    /// Returns the result of a receive that has ended, and sets `request` to `None`: `MPI_Test`
    /// (MPI 4.1, section 3.7.3).
    ///
    /// # Errors
    /// [`RecvError`], inside the result.
    pub fn test(
        &mut self,
        request: &mut Option<RecvRequest>,
    ) -> Option<Result<Received, RecvError>> {
        let shard = self.shard_of(request.as_ref()?);
        let result = self.endpoints[shard].test(request);
        if result.is_none() {
            // The request's own shard has already made progress.
            let others = self
                .endpoints
                .iter_mut()
                .enumerate()
                .filter(|(other, _)| *other != shard);
            others.for_each(|(_, endpoint)| {
                endpoint.progress();
            });
        }
        result
    }

    /// Waits for a receive: `MPI_Wait` (MPI 4.1, section 3.7.3).
    ///
    /// # Errors
    /// [`RecvError`].
    pub fn wait(&mut self, request: RecvRequest) -> Result<Received, RecvError> {
        let shard = self.shard_of(&request);
        self.wait_until(shard, |endpoint| endpoint.take(&request))?
    }

    /// Waits for all receives: `MPI_Waitall` (MPI 4.1, section 3.7.5). The results are in the order
    /// of the requests.
    pub fn wait_all(
        &mut self,
        requests: impl IntoIterator<Item = RecvRequest>,
    ) -> Vec<Result<Received, RecvError>> {
        requests
            .into_iter()
            .map(|request| self.wait(request))
            .collect()
    }

    /// Cancels a receive: `MPI_Cancel` (MPI 4.1, section 3.8.4); see [`Endpoint::cancel`].
    ///
    /// # Errors
    /// [`Stopped`].
    pub fn cancel(&mut self, request: &RecvRequest) -> Result<(), Stopped> {
        let shard = self.shard_of(request);
        self.endpoints[shard].cancel(request)
    }

    /// The oldest unexpected message that a receive with this source and tag would take:
    /// `MPI_Iprobe` (MPI 4.1, section 3.8.1); see [`Endpoint::iprobe`].
    ///
    /// # Errors
    /// The errors of [`Endpoint::iprobe`].
    pub fn iprobe(
        &mut self,
        comm: &ShardedCommunicator,
        source: impl Into<SourceSel>,
        tag: impl Into<TagSel>,
    ) -> Result<Option<Status>, RecvError> {
        self.progress();
        let source = source.into();
        let (shard, part) = comm.shard_of(source);
        self.own_mut(shard).iprobe(part, source, tag)
    }

    /// Takes the oldest unexpected message that fits out of matching: `MPI_Improbe` (MPI 4.1,
    /// section 3.8.2).
    ///
    /// # Errors
    /// The errors of [`Endpoint::iprobe`].
    pub fn improbe(
        &mut self,
        comm: &ShardedCommunicator,
        source: impl Into<SourceSel>,
        tag: impl Into<TagSel>,
    ) -> Result<Option<MatchedMessage>, RecvError> {
        self.progress();
        let source = source.into();
        let (shard, part) = comm.shard_of(source);
        self.own_mut(shard).improbe(part, source, tag)
    }

    /// Receives a message that a matched probe took: `MPI_Mrecv` (MPI 4.1, section 3.8.3).
    ///
    /// # Errors
    /// [`RecvError`].
    pub fn mrecv(
        &mut self,
        message: MatchedMessage,
        buffer: Vec<u8>,
    ) -> Result<Received, RecvError> {
        let shard = self.named(message.endpoint);
        let request = self.endpoints[shard].imrecv(message, buffer)?;
        self.wait(request)
    }

    /// Makes progress on all shards without waiting. Returns whether anything happened.
    pub fn progress(&mut self) -> bool {
        self.endpoints
            .iter_mut()
            .fold(false, |any, endpoint| endpoint.progress() | any)
    }

    fn shard_of(&self, request: &RecvRequest) -> usize {
        self.named(request.endpoint)
    }

    fn named(&self, name: u64) -> usize {
        let own = self
            .endpoints
            .iter()
            .position(|endpoint| endpoint.name == name);
        own.expect(FOREIGN)
    }

    /// # Panics
    /// When there is no such shard: the communicator that named it belongs to other shards.
    fn own(&self, shard: usize) -> &Endpoint {
        self.endpoints.get(shard).expect(FOREIGN)
    }

    /// # Panics
    /// As [`own`](Self::own).
    fn own_mut(&mut self, shard: usize) -> &mut Endpoint {
        self.endpoints.get_mut(shard).expect(FOREIGN)
    }

    /// Makes progress on all shards until `ready` returns a value.
    fn wait_until<R>(
        &mut self,
        shard: usize,
        mut ready: impl FnMut(&mut Endpoint) -> Option<R>,
    ) -> Result<R, Stopped> {
        let mut wait = Wait::new();
        loop {
            if let Some(result) = ready(&mut self.endpoints[shard]) {
                return Ok(result);
            }
            // Read before the last poll, which then sees all that the NIC reported before it
            // stopped.
            let stopped = self.endpoints[shard].is_stopped();
            if self.progress() {
                wait = Wait::new();
            } else if stopped {
                return ready(&mut self.endpoints[shard]).ok_or(Stopped);
            } else {
                wait.pause();
            }
        }
    }
}
