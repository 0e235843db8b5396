//! The endpoint: construction, progress, shutdown, and the handling of the NIC's reports.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use dpa_model::{
    CommandQueueFull, Counts, Event, HostPort, Leader, Message, Monitor, Nic, NicConfig, Order,
    RequestId, TakenMessage, Wait, Worker,
};
use dpamatch_vocabulary::{CommId, Selector};

use super::communicator::CommIds;
use super::config::EndpointConfig;
use super::driver::Driver;
use super::error::{EndpointError, Stopped};
use super::order_log::LogEntry;
use super::pin::PinFailure;
use super::request::{Ended, Requests};
use super::runner::Runner;
use crate::engine::{MsgId, RecvId};
use crate::host::{Software, SoftwareStats};

/// The NIC's answer to a call that waits for one. At most one such call is under way.
#[derive(Debug)]
pub(super) enum Answer {
    Probed {
        found: Option<Message>,
        taken: Option<TakenMessage>,
    },
    Created {
        offloaded: bool,
    },
    Freed {
        busy: bool,
    },
    Flushed,
}

/// A process's receiving side with its own emulated NIC.
///
/// Dropping it stops the NIC after the current block and joins its threads. The buffers of receives
/// that are still posted are freed, and senders get
/// [`SendError::Stopped`](crate::SendError::Stopped).
///
/// # Panics
/// In every method, when a communicator, sender, request or message belongs to another endpoint.
/// The endpoint stays usable. A handle that moved into the call is dropped, with the effect that
/// its type documents.
///
/// # Examples
/// The [module](super) has one.
#[derive(Debug)]
pub struct Endpoint {
    // The first field, so that it is dropped first: the port may free the buffers it lent only once
    // the NIC has stopped running.
    runner: Runner,
    pub(super) port: HostPort,
    pub(super) software: Software,
    eager_limit: usize,
    pub(super) driver: Arc<Driver>,
    pub(super) requests: Requests,
    pub(super) comm_ids: CommIds,
    /// Default number of bins per table of a communicator.
    pub(super) bins: u32,
    /// The endpoint's unique number: every handle carries the number of its endpoint.
    pub(super) name: u64,
    answer: Option<Answer>,
    /// The probe under way, for the log.
    pub(super) probing: Option<(CommId, Selector, bool)>,
    /// Whether the endpoint logs the order. A field because each receive reads it.
    logs: bool,
    log: Vec<LogEntry>,
    pin_failures: Vec<PinFailure>,
}

/// Maximum number of events that one call of `progress` handles, so that it returns even if senders
/// never pause.
const EVENTS_MAX: usize = 1024;

static NEXT_NAME: AtomicU64 = AtomicU64::new(0);

impl Endpoint {
    /// Builds the NIC and starts its threads, if it has any (`MPI_Init`, MPI 4.1, section 11.2.1).
    ///
    /// A worker that the system does not pin is no error; see [`pin_failures`](Self::pin_failures).
    ///
    /// # Errors
    /// [`EndpointError`].
    pub fn new(config: &EndpointConfig) -> Result<Self, EndpointError> {
        Self::build(config, |leader, workers| {
            Runner::start(&config.drive, leader, workers)
        })
    }

    fn build(
        config: &EndpointConfig,
        start: impl FnOnce(Leader, Vec<Worker>) -> io::Result<(Runner, Vec<PinFailure>)>,
    ) -> Result<Self, EndpointError> {
        let mut nic_config: NicConfig = config.nic;
        nic_config.options.order = Order::Free;
        let mut nic = Nic::new(&nic_config)?;
        nic.host.hold_slots();
        let (runner, pin_failures) = start(nic.leader, nic.workers)?;
        Ok(Self {
            runner,
            port: nic.host,
            software: Software::default(),
            eager_limit: nic.sender.eager_limit(),
            driver: Arc::default(),
            requests: Requests::default(),
            comm_ids: CommIds::new(nic_config.communicators as u32),
            bins: nic_config.bins as u32,
            // ordering: only the names differ, and no memory goes with them.
            name: NEXT_NAME.fetch_add(1, Relaxed),
            answer: None,
            probing: None,
            logs: nic_config.options.log_order,
            log: Vec::new(),
            pin_failures,
        })
    }

    /// The workers that the system did not pin as configured. They run all the same.
    pub fn pin_failures(&self) -> &[PinFailure] {
        &self.pin_failures
    }

    /// The counters of the NIC and of the software fallback.
    pub fn counts(&self) -> (Counts, SoftwareStats) {
        (self.port.monitor().counts(), self.software.stats())
    }

    /// A handle that reads the NIC's counters from any thread while the NIC runs.
    pub fn monitor(&self) -> Monitor {
        self.port.monitor()
    }

    /// Largest message that is sent eagerly, in bytes.
    pub fn eager_limit(&self) -> usize {
        self.eager_limit
    }

    /// Whether the NIC has stopped. Without a request it does so only when one of its threads
    /// panicked.
    pub fn is_stopped(&self) -> bool {
        self.port.is_stopped()
    }

    /// Moves the order log so far to the end of `into`. The log is empty unless `options.log_order`
    /// is set. Call this regularly: the log grows until it is drained.
    pub fn drain_order_log(&mut self, into: &mut Vec<LogEntry>) {
        into.append(&mut self.log);
    }

    /// Makes progress without waiting: runs a round of the NIC with
    /// [`Drive::Caller`](super::Drive::Caller), and handles the NIC's reports. Returns whether
    /// anything happened.
    pub fn progress(&mut self) -> bool {
        let worked = self.drive();
        self.take_in() || worked
    }

    /// Runs a round of the NIC if it has no own threads. Returns whether anything happened.
    #[inline]
    pub(super) fn drive(&mut self) -> bool {
        self.driver.note();
        self.runner.drive()
    }

    /// Whether the end of a receive concerns neither the log, which needs every event, nor the
    /// software fallback, which may wait for it.
    #[inline(always)]
    pub(super) fn is_plain(&self) -> bool {
        !self.logs & self.software.is_quiet()
    }

    /// Handles the NIC's reports. Returns whether there were any.
    pub(super) fn take_in(&mut self) -> bool {
        let mut left = EVENTS_MAX;
        while left > 0 {
            if !self.is_plain() {
                let Some(event) = self.software.poll(&mut self.port) else {
                    break;
                };
                self.note(event);
                left -= 1;
                continue;
            }
            let requests = &mut self.requests;
            let other = self.port.drain_kept(|request, message| {
                requests.receive(request.slot(), message);
                left -= 1;
                left > 0
            });
            let Some(other) = other else { break };
            left = left.saturating_sub(1);
            if let Some(event) = self.software.digest(&mut self.port, other) {
                self.note(event);
            }
        }
        while let Some(gone) = self.requests.gone() {
            drop(self.port.free_slot(gone));
        }
        left < EVENTS_MAX
    }

    /// Polls and makes progress until `ready` returns a value.
    pub(super) fn wait_until<R>(
        &mut self,
        ready: impl FnMut(&mut Self) -> Option<R>,
    ) -> Result<R, Stopped> {
        self.wait_until_or(ready, |_| None)
    }

    /// Polls and makes progress until `ready` or `first` returns a value. `first` runs before the
    /// NIC's reports are handled.
    pub(super) fn wait_until_or<R>(
        &mut self,
        mut ready: impl FnMut(&mut Self) -> Option<R>,
        mut first: impl FnMut(&mut Self) -> Option<R>,
    ) -> Result<R, Stopped> {
        let mut wait = Wait::new();
        loop {
            if let Some(result) = ready(self) {
                return Ok(result);
            }
            // Read before the last poll, which then sees all that the NIC reported before it
            // stopped.
            let stopped = self.is_stopped();
            let worked = self.drive();
            if let Some(result) = first(self) {
                return Ok(result);
            }
            if self.take_in() || worked {
                wait = Wait::new();
            } else if stopped {
                return ready(self).ok_or(Stopped);
            } else {
                wait.pause();
            }
        }
    }

    /// Gives the NIC a command as soon as its queue has room.
    pub(super) fn command<R>(
        &mut self,
        mut issue: impl FnMut(&mut HostPort) -> Result<R, CommandQueueFull>,
    ) -> Result<R, Stopped> {
        self.wait_until(|endpoint| issue(&mut endpoint.port).ok())
    }

    /// Waits for the answer to the command just given.
    pub(super) fn answer(&mut self) -> Result<Answer, Stopped> {
        self.wait_until(|endpoint| endpoint.answer.take())
    }

    /// Waits until the endpoint has handled everything that the NIC decided before this call.
    pub(super) fn flush(&mut self) -> Result<(), Stopped> {
        // The answer to a cancel of no receive comes after all earlier reports.
        self.command(|port| port.cancel(RequestId::NONE, 0))?;
        self.answer().map(|_| ())
    }

    fn note(&mut self, event: Event) {
        if self.logs {
            self.write_log(&event);
        }
        match event {
            Event::Received {
                request,
                buffer,
                message,
                ..
            } => {
                self.requests
                    .end(request.slot(), Ended::Received(buffer, message));
            }
            Event::Cancelled { request, buffer } => {
                self.requests.end(request.slot(), Ended::Cancelled(buffer))
            }
            Event::Refused { request, buffer } => {
                self.requests.end(request.slot(), Ended::Refused(buffer))
            }
            Event::Probed { found, taken, .. } => {
                self.answer = Some(Answer::Probed { found, taken })
            }
            Event::Created { offloaded, .. } => self.answer = Some(Answer::Created { offloaded }),
            Event::Freed { busy, .. } => self.answer = Some(Answer::Freed { busy }),
            Event::TooLate {
                request: RequestId::NONE,
            } => self.answer = Some(Answer::Flushed),
            // After a late cancel the receive's own result is complete.
            _ => {}
        }
    }

    fn write_log(&mut self, event: &Event) {
        let recv = |request: RequestId| RecvId(request.as_u64());
        let entry = match *event {
            Event::Received {
                request,
                message,
                late: false,
                ..
            } => LogEntry::Arrive {
                msg: MsgId(message.arrival),
                envelope: message.envelope,
                matched: Some(recv(request)),
            },
            Event::Unexpected { message } => LogEntry::Arrive {
                msg: MsgId(message.arrival),
                envelope: message.envelope,
                matched: None,
            },
            Event::Received {
                request,
                message,
                late: true,
                ..
            } => {
                // Without a selector the receive took a matched probe's message, which is no
                // matching event.
                let Some((comm, selector)) = self.describe(request) else {
                    return;
                };
                LogEntry::Post {
                    recv: recv(request),
                    comm,
                    selector,
                    matched: Some(MsgId(message.arrival)),
                }
            }
            Event::Admitted { request } => {
                let Some((comm, selector)) = self.describe(request) else {
                    return;
                };
                LogEntry::Post {
                    recv: recv(request),
                    comm,
                    selector,
                    matched: None,
                }
            }
            Event::Cancelled { request, .. } => LogEntry::Cancel {
                recv: recv(request),
                cancelled: true,
            },
            Event::TooLate {
                request: RequestId::NONE,
            } => return,
            Event::TooLate { request } => LogEntry::Cancel {
                recv: recv(request),
                cancelled: false,
            },
            Event::Probed { found, .. } => {
                let Some((comm, selector, take)) = self.probing else {
                    return;
                };
                LogEntry::Probe {
                    comm,
                    selector,
                    take,
                    found: found.map(|message| MsgId(message.arrival)),
                }
            }
            _ => return,
        };
        self.log.push(entry);
    }

    /// Communicator and selector of a receive that still holds its slot.
    fn describe(&self, request: RequestId) -> Option<(CommId, Selector)> {
        let (comm, selector) = self.port.describe_slot(request.slot())?;
        Some((comm, selector?))
    }

    /// # Panics
    /// When `name` is another endpoint's: a handle is valid only where it was made.
    #[inline]
    pub(super) fn check_own(&self, name: u64) {
        assert_eq!(name, self.name, "the handle belongs to another endpoint");
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::{Duration, Instant};

    use dpa_model::{Hints, Pool, SendError};
    use dpamatch_vocabulary::{SourceSel, Tag, TagSel};

    use super::*;
    use crate::endpoint::{Drive, FreeError, RecvError};

    /// An endpoint whose worker 1 panics when the sender is dropped or used.
    fn mortal() -> (Endpoint, mpsc::Sender<()>) {
        let (die, death) = mpsc::channel::<()>();
        let death = std::sync::Mutex::new(death);
        let nic = NicConfig {
            workers: 2,
            command_queue: 16,
            ..NicConfig::default()
        };
        let start = |leader, workers| {
            let pool = Pool::start(leader, workers, move |worker| {
                if worker == 1 {
                    let _ = death.lock().expect("one worker waits here").recv();
                    panic!("this panic is part of the test");
                }
            })?;
            Ok((Runner::Threads { _pool: pool }, Vec::new()))
        };
        let config = EndpointConfig {
            nic,
            ..EndpointConfig::default()
        };
        (
            Endpoint::build(&config, start).expect("a NIC can be built"),
            die,
        )
    }

    #[test]
    fn a_dead_nic_turns_every_wait_into_an_error() {
        let (mut endpoint, die) = mortal();
        let comm = endpoint
            .create_comm(Hints::default())
            .expect("the NIC runs");
        let tag = Tag::default();
        let mut peer = endpoint.sender(&comm, Default::default());
        let request = peer.issend(tag, vec![1, 2]).expect("the NIC runs");
        let matched = endpoint
            .mprobe(&comm, SourceSel::Any, tag)
            .expect("the NIC runs");
        let post = |endpoint: &mut Endpoint| {
            endpoint.post_recv(&comm, SourceSel::Any, Tag::new(5).expect("small"), vec![1])
        };
        let (first, second) = (
            post(&mut endpoint).expect("posted"),
            post(&mut endpoint).expect("posted"),
        );
        let third = post(&mut endpoint).expect("posted");
        let mut fourth = Some(post(&mut endpoint).expect("posted"));
        assert_eq!(endpoint.test(&mut fourth), None);
        drop(die);
        assert_eq!(endpoint.wait(first), Err(RecvError::Stopped));
        assert!(endpoint.is_stopped());
        assert_eq!(endpoint.test(&mut fourth), Some(Err(RecvError::Stopped)));
        let mut requests = [None, Some(second)];
        assert_eq!(
            endpoint.wait_any(&mut requests),
            Some((1, Err(RecvError::Stopped)))
        );
        assert_eq!(requests, [None, None]);
        let mut results = Vec::new();
        assert_eq!(endpoint.wait_some(&mut [Some(third)], &mut results), 1);
        assert_eq!(results, [(0, Err(RecvError::Stopped))]);
        assert_eq!(peer.send(tag, b""), Err(SendError::Stopped));
        assert_eq!(endpoint.send(&mut peer, tag, b""), Err(SendError::Stopped));
        assert_eq!(
            endpoint.probe(&comm, SourceSel::Any, TagSel::Any),
            Err(RecvError::Stopped)
        );
        assert_eq!(
            endpoint.wait_send(request),
            Err((SendError::Stopped, vec![1, 2]))
        );
        // Posts still fit in the command queue, so the wait reports the stop.
        let late = post(&mut endpoint).expect("there is room");
        assert_eq!(endpoint.cancel(&late), Ok(()));
        assert_eq!(endpoint.wait(late), Err(RecvError::Stopped));
        let (any, mut posted) = (SourceSel::Any, Vec::new());
        // Then the queue is full. Each call gives back what it took.
        let refused = loop {
            match endpoint.post_recv(&comm, any, tag, vec![8, posted.len() as u8]) {
                Ok(request) => posted.push(request),
                Err(error) => break error,
            }
        };
        assert_eq!(refused.into_buffer(), [8, posted.len() as u8]);
        assert_eq!(endpoint.cancel(&posted[0]), Err(Stopped));
        let refused = endpoint
            .imrecv(matched, vec![4, 3])
            .map_err(|error| error.into_buffer());
        assert_eq!(refused, Err(vec![4, 3]));
        let mut persistent = endpoint
            .recv_init(&comm, any, tag, vec![6, 7])
            .expect("allowed");
        assert_eq!(persistent.start(&mut endpoint), Err(Stopped));
        assert_eq!(
            (persistent.is_active(), persistent.buffer()),
            (false, &[6, 7][..])
        );
        assert_eq!(persistent.wait(&mut endpoint), None);
        drop(persistent);
        assert!(matches!(
            endpoint.create_comm(Hints::default()),
            Err(Stopped)
        ));
        drop(peer);
        assert!(
            matches!(endpoint.free_comm(comm), Err(FreeError::Busy { .. })),
            "a receive is left"
        );
    }

    #[test]
    fn progress_tells_of_a_receive_that_has_ended() {
        // Without the log, and with it.
        for log_order in [false, true] {
            let mut config = EndpointConfig {
                drive: Drive::threads(),
                ..Default::default()
            };
            config.nic.options.log_order = log_order;
            let mut endpoint = Endpoint::new(&config).expect("a NIC can be built");
            let comm = endpoint
                .create_comm(Hints::default())
                .expect("the NIC runs");
            let mut peer = endpoint.sender(&comm, Default::default());
            // The first round also finishes the creation of the communicator.
            for _ in 0..2 {
                let posted = endpoint.post_recv(&comm, SourceSel::Any, TagSel::Any, Vec::new());
                let request = posted.expect("posted");
                peer.send(Tag::default(), b"").expect("sent");
                let (mut told, end) = (false, Instant::now() + Duration::from_secs(300));
                while !endpoint.requests.any_ended() && Instant::now() < end {
                    told = endpoint.progress();
                }
                assert!(told, "with log: {log_order}");
                assert!(endpoint.wait(request).is_ok());
            }
        }
    }

    /// Freeing a communicator frees its memory in the software fallback.
    #[test]
    fn software_gives_back_what_a_communicator_had() {
        let nic = NicConfig {
            receives: 1,
            ..NicConfig::default()
        };
        let config = EndpointConfig {
            nic,
            ..EndpointConfig::default()
        };
        let mut endpoint = Endpoint::new(&config).expect("a NIC can be built");
        let comm = endpoint
            .create_comm(Hints::default())
            .expect("the NIC runs");
        let mut requests = Vec::new();
        for _ in 0..3 {
            let posted = endpoint.post_recv(&comm, SourceSel::Any, TagSel::Any, Vec::new());
            requests.push(posted.expect("posted"));
        }
        let held = |endpoint: &Endpoint| endpoint.software.engine().stats().memory_bytes;
        requests
            .iter()
            .for_each(|request| endpoint.cancel(request).expect("asked"));
        assert!(
            endpoint.wait_all(requests).iter().all(Result::is_err),
            "cancelled"
        );
        assert!(held(&endpoint) > 0, "{:?}", endpoint.counts().1);
        endpoint.free_comm(comm).expect("nothing is left");
        assert_eq!(held(&endpoint), 0);
    }

    #[test]
    fn a_sender_outlives_a_dead_endpoint() {
        let (endpoint, die) = mortal();
        let comm_id = CommId(0);
        let mut sender = endpoint.port.sender();
        let envelope = dpamatch_vocabulary::Envelope {
            comm: comm_id,
            ..Default::default()
        };
        let request = sender
            .try_send_rendezvous(envelope, vec![3], 0)
            .expect("the NIC runs");
        drop(die);
        drop(endpoint);
        assert_eq!(request.wait(), Err((SendError::Stopped, vec![3])));
    }
}
