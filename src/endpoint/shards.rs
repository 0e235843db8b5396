//! Shards: several endpoints that share the messages of one process.
//!
//! A block that several workers share costs each message a hand-over between processors. Shards
//! share nothing: each is an [`Endpoint`] with a NIC, queues, tables and a completion ring of its
//! own. The messages of one communicator and source all go to one shard: sources are dealt out in
//! turn as they are first named, so that each shard has as many, whatever their numbers are. (The
//! neighbours in a grid often differ by an even number.)
//!
//! **Why it is right.** MPI orders the messages of one source and communicator (MPI 4.1, section
//! 3.5), and a receive of a given source can only take messages of that source. So receives and
//! messages of different sources have nothing to say to each other, wherever they are matched. A
//! receive from any source does: a communicator that allows it (no hint
//! [`no_any_source`](Hints::no_any_source)) is on one shard as a whole.
//!
//! **Progress.** What waits here lets all shards go on, so a program that waits for one source
//! never stops a sender of another.

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

/// Sources that are dealt out in turn; those with this number and higher ones go by their number.
pub const SOURCES_DEALT: usize = 4096;

/// Which shard has which source. **Orderings.** Relaxed: a place is written once, and who reads it
/// needs nothing that was written before.
#[derive(Debug)]
struct Deal {
    /// Sources dealt out so far.
    dealt: AtomicUsize,
    /// A source's shard and 1; 0: it was not named yet.
    places: Box<[AtomicU32]>,
}

impl Deal {
    fn new(sources: usize) -> Self {
        Self {
            dealt: AtomicUsize::new(0),
            places: (0..sources).map(|_| AtomicU32::new(0)).collect(),
        }
    }

    /// One of so many shards, from now on the same for this source.
    fn shard(&self, source: Rank, shards: usize) -> usize {
        let number = source.get() as usize;
        let Some(place) = self.places.get(number) else { return number % shards };
        let known = place.load(Relaxed);
        if known != 0 {
            return known as usize - 1;
        }
        let next = (self.dealt.fetch_add(1, Relaxed) % shards) as u32;
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
    deal: Deal,
}

impl ShardedCommunicator {
    /// Whether its sources are spread over all shards.
    pub fn is_spread(&self) -> bool {
        self.parts.len() > 1
    }

    /// The shard that matches messages of this source, chosen when it is first asked for: by this,
    /// by a sender of that rank, or by a receive from it. Any thread may ask.
    pub fn shard(&self, source: Rank) -> usize {
        if self.is_spread() { self.deal.shard(source, self.parts.len()) } else { self.home }
    }

    /// What belongs to it on a shard; `None` if it is elsewhere.
    pub fn part(&self, shard: usize) -> Option<&Communicator> {
        self.parts.get(shard.checked_sub(self.home)?)
    }

    /// The shard and the part that a receive or probe concerns. From any source it is the first of
    /// a spread communicator, whose hints refuse it.
    fn of(&self, source: SourceSel) -> (usize, &Communicator) {
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
    /// Builds so many endpoints of this configuration, at least one. Each takes all the memory that
    /// it says. Processors to pin threads to are given out round robin over all shards.
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

    /// The shards themselves, for a program that gives each to a thread of its own. Receives are
    /// then posted with [`ShardedCommunicator::part`].
    pub fn endpoints(&mut self) -> &mut [Endpoint] {
        &mut self.endpoints
    }

    /// Creates a communicator: on all shards if its hints exclude any source, else on one, in turn.
    ///
    /// # Errors
    /// [`Stopped`].
    pub fn create_comm(&mut self, hints: Hints) -> Result<ShardedCommunicator, Stopped> {
        if hints.no_any_source {
            let parts = self.endpoints.iter_mut().map(|endpoint| endpoint.create_comm(hints));
            return Ok(ShardedCommunicator {
                parts: parts.collect::<Result<_, _>>()?,
                home: 0,
                deal: Deal::new(SOURCES_DEALT),
            });
        }
        let home = self.next_home;
        self.next_home = (home + 1) % self.endpoints.len();
        let part = self.endpoints[home].create_comm(hints)?;
        Ok(ShardedCommunicator { parts: vec![part], home, deal: Deal::new(0) })
    }

    /// Frees a communicator, on all shards or on none.
    ///
    /// # Errors
    /// As [`Endpoint::free_comm`].
    ///
    /// # Panics
    /// When it belongs to other shards.
    pub fn free_comm(
        &mut self,
        comm: ShardedCommunicator,
    ) -> Result<(), FreeError<ShardedCommunicator>> {
        let ShardedCommunicator { mut parts, home, deal } = comm;
        let all = parts.len();
        while let Some(part) = parts.pop() {
            let hints = part.hints();
            match self.endpoints[home + parts.len()].free_comm(part) {
                Ok(()) => {}
                Err(FreeError::Stopped) => return Err(FreeError::Stopped),
                Err(FreeError::Busy { comm: part, reason }) => {
                    parts.push(part);
                    // Nothing of the freed parts was left, so new ones are as good.
                    while parts.len() < all {
                        let shard = &mut self.endpoints[home + parts.len()];
                        parts.push(shard.create_comm(hints).map_err(|Stopped| FreeError::Stopped)?);
                    }
                    let comm = ShardedCommunicator { parts, home, deal };
                    return Err(FreeError::Busy { comm, reason });
                }
            }
        }
        Ok(())
    }

    /// A sender of rank `source`; it may be cloned and used from any thread.
    ///
    /// # Panics
    /// When the communicator belongs to other shards.
    pub fn sender(&self, comm: &ShardedCommunicator, source: Rank) -> CommSender {
        let (shard, part) = comm.of(source.into());
        self.endpoints[shard].sender(part, source)
    }

    /// Posts a receive: `MPI_Irecv` (MPI 4.1, section 3.7.2).
    ///
    /// # Errors
    /// [`PostError`], with the buffer.
    ///
    /// # Panics
    /// When the communicator belongs to other shards.
    pub fn post_recv(
        &mut self,
        comm: &ShardedCommunicator,
        source: impl Into<SourceSel>,
        tag: impl Into<TagSel>,
        buffer: Vec<u8>,
    ) -> Result<RecvRequest, PostError> {
        let source = source.into();
        let (shard, part) = comm.of(source);
        self.endpoints[shard].post_recv(part, source, tag, buffer)
    }

    /// The result of a receive if it has ended: `MPI_Test` (MPI 4.1, section 3.7.3). `request` is
    /// then `None`.
    ///
    /// # Errors
    /// [`RecvError`], inside the result.
    ///
    /// # Panics
    /// When the request belongs to other shards.
    pub fn test(
        &mut self,
        request: &mut Option<RecvRequest>,
    ) -> Option<Result<Received, RecvError>> {
        let shard = self.shard_of(request.as_ref()?);
        let result = self.endpoints[shard].test(request);
        if result.is_none() {
            // Its own shard has gone on already.
            let others = self.endpoints.iter_mut().enumerate().filter(|(other, _)| *other != shard);
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
    ///
    /// # Panics
    /// When the request belongs to other shards.
    pub fn wait(&mut self, request: RecvRequest) -> Result<Received, RecvError> {
        let shard = self.shard_of(&request);
        self.wait_until(shard, |endpoint| endpoint.take(&request))?
    }

    /// Waits for all receives: `MPI_Waitall` (MPI 4.1, section 3.7.5). Results in the order of the
    /// requests.
    ///
    /// # Panics
    /// When a request belongs to other shards.
    pub fn wait_all(
        &mut self,
        requests: impl IntoIterator<Item = RecvRequest>,
    ) -> Vec<Result<Received, RecvError>> {
        requests.into_iter().map(|request| self.wait(request)).collect()
    }

    /// Asks for a receive to be cancelled: `MPI_Cancel` (MPI 4.1, section 3.8.4); see
    /// [`Endpoint::cancel`].
    ///
    /// # Errors
    /// [`Stopped`].
    ///
    /// # Panics
    /// When the request belongs to other shards.
    pub fn cancel(&mut self, request: &RecvRequest) -> Result<(), Stopped> {
        let shard = self.shard_of(request);
        self.endpoints[shard].cancel(request)
    }

    /// The oldest unexpected message that a receive with this source and tag would take:
    /// `MPI_Iprobe` (MPI 4.1, section 3.8.1); see [`Endpoint::iprobe`].
    ///
    /// # Errors
    /// As that.
    ///
    /// # Panics
    /// When the communicator belongs to other shards.
    pub fn iprobe(
        &mut self,
        comm: &ShardedCommunicator,
        source: impl Into<SourceSel>,
        tag: impl Into<TagSel>,
    ) -> Result<Option<Status>, RecvError> {
        self.progress();
        let source = source.into();
        let (shard, part) = comm.of(source);
        self.endpoints[shard].iprobe(part, source, tag)
    }

    /// As [`iprobe`](Self::iprobe), but takes the message out of matching: `MPI_Improbe` (MPI 4.1,
    /// section 3.8.2).
    ///
    /// # Errors
    /// As [`Endpoint::iprobe`].
    ///
    /// # Panics
    /// When the communicator belongs to other shards.
    pub fn improbe(
        &mut self,
        comm: &ShardedCommunicator,
        source: impl Into<SourceSel>,
        tag: impl Into<TagSel>,
    ) -> Result<Option<MatchedMessage>, RecvError> {
        self.progress();
        let source = source.into();
        let (shard, part) = comm.of(source);
        self.endpoints[shard].improbe(part, source, tag)
    }

    /// Receives a message that a matched probe took: `MPI_Mrecv` (MPI 4.1, section 3.8.3).
    ///
    /// # Errors
    /// [`RecvError`].
    ///
    /// # Panics
    /// When the message belongs to other shards.
    pub fn mrecv(
        &mut self,
        message: MatchedMessage,
        buffer: Vec<u8>,
    ) -> Result<Received, RecvError> {
        let shard = self.named(message.endpoint);
        let request = self.endpoints[shard].imrecv(message, buffer)?;
        self.wait(request)
    }

    /// Lets all shards go on without waiting. Returns whether anything happened.
    pub fn progress(&mut self) -> bool {
        self.endpoints.iter_mut().fold(false, |any, endpoint| endpoint.progress() | any)
    }

    fn shard_of(&self, request: &RecvRequest) -> usize {
        self.named(request.endpoint)
    }

    fn named(&self, name: u64) -> usize {
        let own = self.endpoints.iter().position(|endpoint| endpoint.name == name);
        own.expect("the handle belongs to other shards")
    }

    /// Lets all shards go on until `ready` finds something on one of them.
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
            // Asked before the last look: what the NIC reported before it stopped is then seen.
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
