//! Creating communicators with hints, and freeing them once they are idle. A communicator is on the
//! NIC if it fits there.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use dpa_model::{Hints, Offload, Wait};
use dpamatch_vocabulary::{CommId, Rank, Selector, SourceSel, TagSel};

use super::base::{Answer, Endpoint};
use super::error::{BusyReason, FreeError, Stopped};
use super::send::CommSender;

/// A communicator as its receiver sees it (`MPI_Comm`).
///
/// # Examples
/// ```
/// use dpamatch::endpoint::{Endpoint, EndpointConfig, FreeError};
/// use dpamatch::{Hints, Rank, Tag};
///
/// let mut endpoint = Endpoint::new(&EndpointConfig::default())?;
/// let comm = endpoint.create_comm(Hints { no_any_tag: true, ..Hints::default() })?;
/// let peer = endpoint.sender(&comm, Rank::new(1)?);
/// // A sender keeps its communicator.
/// let Err(FreeError::Busy { comm, .. }) = endpoint.free_comm(comm) else { panic!("busy") };
/// drop(peer);
/// endpoint.free_comm(comm)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Communicator {
    pub(super) endpoint: u64,
    pub(super) id: CommId,
    hints: Hints,
    offloaded: bool,
    /// Shared with every sender and persistent receive of the communicator.
    pub(super) lease: Arc<()>,
}

impl Communicator {
    /// The number by which messages name it. A later communicator may reuse it.
    pub fn id(&self) -> CommId {
        self.id
    }

    /// Its hints.
    pub fn hints(&self) -> Hints {
        self.hints
    }

    /// Whether the NIC has tables for it; otherwise software matches it on the host. A
    /// communicator on the NIC falls back to software at times, when the NIC's other resources run
    /// out.
    ///
    /// Source: O24, S20.
    pub fn is_offloaded(&self) -> bool {
        self.offloaded
    }

    /// Whether the hints allow this selector (S24).
    pub(super) fn allows(&self, selector: Selector) -> bool {
        !(self.hints.no_any_source && selector.source == SourceSel::Any
            || self.hints.no_any_tag && selector.tag == TagSel::Any)
    }
}

/// Numbers for communicators: the smallest free one first, because the NIC has tables for small
/// numbers only. Those that the NIC shall not match get none of these.
#[derive(Debug)]
pub(super) struct CommIds {
    /// Free numbers that were used before, of the NIC's and beyond.
    free: [BinaryHeap<Reverse<u32>>; 2],
    /// The next fresh numbers.
    next: [u32; 2],
    /// The first number beyond the NIC's.
    beyond: u32,
}

impl CommIds {
    /// `beyond`: the NIC has tables for smaller numbers only.
    pub(super) fn new(beyond: u32) -> Self {
        Self {
            free: Default::default(),
            next: [0, beyond],
            beyond,
        }
    }

    fn take(&mut self, offload: Offload) -> CommId {
        let full = self.free[0].is_empty() && self.next[0] == self.beyond;
        let part = usize::from(full || offload == Offload::Never);
        if let Some(Reverse(number)) = self.free[part].pop() {
            return CommId(number);
        }
        self.next[part] += 1;
        CommId(self.next[part] - 1)
    }

    fn release(&mut self, id: CommId) {
        self.free[usize::from(id.0 >= self.beyond)].push(Reverse(id.0));
    }
}

impl Endpoint {
    /// Creates a communicator with hints: `MPI_Comm_dup_with_info` (MPI 4.1, sections 7.4.2 and
    /// 7.4.4). Its tables have `NicConfig::bins` bins. Software matches it if the NIC has no room
    /// for them, or if the hints require it:
    ///
    /// ```
    /// use dpamatch::endpoint::{Endpoint, EndpointConfig};
    /// use dpamatch::{Hints, Offload};
    ///
    /// let mut endpoint = Endpoint::new(&EndpointConfig::default())?;
    /// let world = endpoint.create_comm(Hints::default())?;
    /// let rare = endpoint.create_comm(Hints { offload: Offload::Never, ..Hints::default() })?;
    /// assert!(world.is_offloaded() && !rare.is_offloaded());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Stopped`].
    ///
    /// # Complexity
    /// O(communicators) on the NIC.
    pub fn create_comm(&mut self, hints: Hints) -> Result<Communicator, Stopped> {
        self.create_comm_with_bins(hints, self.bins)
    }

    /// Creates a communicator whose three hash tables have `bins` bins each; see
    /// [`create_comm`](Self::create_comm). If the NIC cannot have that many, software matches the
    /// communicator.
    ///
    /// # Errors
    /// [`Stopped`].
    pub fn create_comm_with_bins(
        &mut self,
        hints: Hints,
        bins: u32,
    ) -> Result<Communicator, Stopped> {
        let id = self.comm_ids.take(hints.offload);
        self.command(|port| port.create(id, bins, hints, 0))?;
        let offloaded = matches!(self.answer()?, Answer::Created { offloaded: true });
        if offloaded {
            self.software.offer(id);
        }
        Ok(Communicator {
            endpoint: self.name,
            id,
            hints,
            offloaded,
            lease: Arc::new(()),
        })
    }

    /// A sender of rank `source` in the communicator; it may be cloned and used from any thread.
    ///
    /// The first senders of an endpoint, all but one of `NicConfig::completion_queues`, have a
    /// queue of the NIC for themselves as long as they live, and are faster than those that share
    /// the last one.
    pub fn sender(&self, comm: &Communicator, source: Rank) -> CommSender {
        self.check_own(comm.endpoint);
        CommSender::new(self.port.sender(), self.driver.clone(), comm, source)
    }

    /// Frees a communicator: `MPI_Comm_free` (MPI 4.1, section 7.4.3). MPI first completes pending
    /// operations; this function returns the communicator as busy instead.
    ///
    /// # Errors
    /// [`FreeError::Busy`] while it has senders, receives or messages; [`FreeError::Stopped`].
    ///
    /// # Complexity
    /// Waits until the NIC has matched or stored every message sent so far, in any communicator.
    pub fn free_comm(&mut self, mut comm: Communicator) -> Result<(), FreeError> {
        self.check_own(comm.endpoint);
        let busy = |comm, reason| Err(FreeError::Busy { comm, reason });
        let receives = self.port.receives_of(comm.id);
        if receives > 0 {
            return busy(comm, BusyReason::Receives(receives));
        }
        // `get_mut` also makes the last sender's messages visible to this thread.
        if Arc::get_mut(&mut comm.lease).is_none() {
            return busy(comm, BusyReason::Handles);
        }
        if !self.wait_for_arrivals() {
            return busy(comm, BusyReason::Messages);
        }
        self.flush().map_err(|Stopped| FreeError::Stopped)?;
        if !self.software.is_empty(comm.id) {
            return busy(comm, BusyReason::Messages);
        }
        let id = comm.id;
        self.command(|port| port.free(id, 0))
            .map_err(|Stopped| FreeError::Stopped)?;
        match self.answer() {
            Ok(Answer::Freed { busy: true }) => busy(comm, BusyReason::Messages),
            Ok(_) => {
                self.software.free_comm(id);
                self.comm_ids.release(id);
                Ok(())
            }
            Err(Stopped) => Err(FreeError::Stopped),
        }
    }

    /// Waits until everything sent so far has been matched or stored. `false` if the NIC has
    /// stalled because unexpected memory is full (back-pressure).
    fn wait_for_arrivals(&mut self) -> bool {
        let sent = self.port.sent();
        let (_, mut arrived) = self.port.arrivals();
        let mut wait = Wait::new();
        while !self.port.have_arrived(&sent) {
            self.progress();
            let (_, now) = self.port.arrivals();
            if now > arrived {
                arrived = now;
                wait = Wait::new();
            } else if wait.failed_polls() > STANDSTILL_POLLS || self.is_stopped() {
                return false;
            } else {
                wait.pause();
            }
        }
        true
    }
}

/// Polls without progress after which a queue counts as blocked: some tens of milliseconds.
pub(super) const STANDSTILL_POLLS: u32 = Wait::SPINS + Wait::YIELDS + 100;
