//! Commands of the host, executed in their order (S12).

use super::Boundary;
use crate::communicator::{Communicator, Home};
use crate::config::{BINS_MAX, Order};
use crate::descriptor::{Posted, state};
use crate::index::CommView;
use crate::matching::deliver_stored;
use crate::message::{Command, Completion, HostAddress, Post, Protocol, Target};
use crate::nic::Shared;
use crate::number::{ReceiveId, StoredId};
use crate::region::RegionKey;
use crate::sync::Relaxed;
use crate::unexpected::{UnexpectedStore, classes_allowed};
use crate::{ClassSet, CommId, Hints};

/// What became of the commands that were due.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Admitted {
    /// Some were executed.
    pub(super) any: bool,
    /// One could not be, because the completion ring is full.
    pub(super) held_up: bool,
}

impl Boundary {
    /// Executes the commands that are due; at most one queue's length, so that arrivals are not
    /// starved. Says whether there were any, and whether one that was due had to wait.
    #[inline(never)]
    pub(super) fn admit(&mut self, nic: &Shared) -> Admitted {
        let first = self.commands_head;
        let commands = &nic.commands;
        let run = commands.run(first);
        let stamped = nic.options.order == Order::Stamped;
        let most = commands.depth() as usize;
        let (mut admitted, mut held_up) = (0, false);
        while admitted < most {
            let Some(stamp) = run.stamp_if_ready(admitted) else { break };
            if stamped && stamp > self.matched {
                break;
            }
            if self.results_room(nic, 1) == 0 {
                nic.boundary_counters.ring_full.add(1);
                held_up = true;
                break;
            }
            if fault!(CommandReleasedEarly) {
                nic.commands.release(run.position(admitted) + 1);
            }
            // Read where it lies: copying a command costs more than executing the commonest one.
            // SAFETY: seen ready, and released only below.
            let command = unsafe { run.peek(admitted) };
            if fault!(CommandReleasedInUse) {
                nic.commands.release(run.position(admitted) + 1);
            }
            admitted += 1;
            step!(CommandBegins);
            match *command {
                Command::Post(ref post) => {
                    self.commands_done += 1;
                    self.post(nic, post);
                }
                Command::HandBack { comm, forwarded, receives } => {
                    self.hand_back(nic, comm, forwarded, receives);
                }
                Command::Return(ref post) => self.take_back(nic, post),
                Command::Discard { entry } => self.discard(nic, entry),
                other => {
                    self.commands_done += 1;
                    self.execute(nic, other);
                }
            }
            step!(BoundaryEnds);
        }
        if admitted > 0 {
            self.commands_head = run.position(admitted);
            nic.commands.release(self.commands_head);
            nic.boundary_counters.commands.add(admitted as u64);
        }
        Admitted { any: admitted > 0, held_up }
    }

    /// Every command but the commonest.
    #[inline(never)]
    fn execute(&mut self, nic: &Shared, command: Command) {
        match command {
            Command::None
            | Command::Post(_)
            | Command::HandBack { .. }
            | Command::Return(_)
            | Command::Discard { .. } => {}
            Command::Cancel { request, comm, target } => self.cancel(nic, request, comm, &target),
            Command::Probe { request, comm, target, take } => {
                self.probe(nic, request, comm, &target, take)
            }
            Command::Receive { request, entry, buffer, capacity } => {
                self.receive_stored(nic, request, entry, buffer, capacity);
            }
            Command::Create { request, comm, bins, hints } => {
                self.create(nic, request, comm, bins, hints)
            }
            Command::Free { request, comm } => self.free(nic, request, comm),
        }
    }

    /// A post (O22, S20): the unexpected messages first, then the posted queue, else the host.
    fn post(&mut self, nic: &Shared, post: &Post) {
        let counters = &nic.boundary_counters;
        counters.posts.add(1);
        let comm = post.comm;
        let Some(control) =
            self.comms.get_mut(comm.0 as usize).filter(|control| control.home != Home::Absent)
        else {
            return self.forward_post(nic, post);
        };
        if !control.allowed.contains(post.target.class) {
            return self.report(nic, Completion::Refused { request: post.request });
        }
        if fault!(LabelTooEarly) {
            control.label(&post.target);
        }
        if control.unexpected > 0
            && let Some(found) = find_unexpected(&mut self.unexpected, control, &post.target)
        {
            counters.posts_late.add(1);
            step!(TakenLate { entry: found.0 });
            self.unlink_unexpected(comm, found);
            return self.receive_stored(nic, post.request, found, post.buffer, post.capacity);
        }
        // Labels and tables go on to the host in order: once one post was refused, all later ones
        // are (S20).
        let free = if control.home == Home::Nic || fault!(FallbackForgotten) {
            self.free_receives.take()
        } else {
            None
        };
        let Some(receive) = free else {
            if control.home == Home::Nic {
                control.home = Home::Fallback;
                counters.fallback_receives.add(1);
            }
            return self.forward_post(nic, post);
        };
        self.enter(nic, post, receive);
        counters.posts_admitted.add(1);
        if nic.options.log_order {
            self.report(nic, Completion::Admitted { request: post.request });
        }
    }

    /// Puts a receive at the end of the posted queue.
    #[inline(always)]
    fn enter(&mut self, nic: &Shared, post: &Post, receive: ReceiveId) {
        let counters = &nic.boundary_counters;
        let &Post { request, comm, target, buffer, capacity } = post;
        let Target { class, source, tag, hash } = target;
        let control = &mut self.comms[comm.0 as usize];
        let (label, place) = control.label(&target);
        let bin = control.view.bin(class, hash);
        let (source, tag) = (source.get(), tag.get());
        let descriptor = &nic.receives[receive];
        debug_assert_eq!(descriptor.state.load(Relaxed), state::FREE, "the descriptor is in use");
        // SAFETY: the descriptor was free and no block is running (D1).
        unsafe {
            descriptor.posted.write(|slot| {
                *slot = Posted { label, buffer, request, place, source, tag, bin, capacity, class };
            });
        }
        // The bookings of its last life: its handlers are long done.
        descriptor.booking.store(0, Relaxed);
        if let Some(far) = nic.far_bits.get(receive.index()) {
            far.clear();
        }
        step!(Posted { request, bin: bin.0, receive: receive.0 });
        descriptor.state.store(state::POSTED, Relaxed);
        if nic.bins[bin].append(&nic.receives, receive) {
            counters.collisions.add(1);
        }
        counters.posted_high.raise(self.free_receives.used() as u64);
        control.posted[class as usize] += 1;
        if control.posted[class as usize] == 1 {
            control.view.classes = control.classes();
            self.set_view(nic, comm);
        }
    }

    #[cold]
    fn forward_post(&mut self, nic: &Shared, post: &Post) {
        nic.boundary_counters.posts_forwarded.add(1);
        self.count_forwarded(post.comm);
        self.report(nic, Completion::PostForwarded { request: post.request });
    }

    /// Delivers a message that is in no chain any more, and gives its memory back.
    #[inline(always)]
    fn receive_stored(
        &mut self,
        nic: &Shared,
        request: u64,
        entry: StoredId,
        buffer: HostAddress,
        capacity: u32,
    ) {
        deliver_stored(nic, &self.unexpected, entry, buffer, capacity);
        self.unexpected.free(entry);
        let message = &self.unexpected.entry(entry).message;
        let position = self.results_tail;
        self.results_tail += 1;
        // SAFETY: as in `report`; written in place, because this is the commonest of its results.
        unsafe {
            nic.completions.fill(position, 0, |slot| {
                *slot = Completion::Received { request, message: *message, late: true };
            });
        }
    }

    /// Gives the memory of a message back that is in no chain any more and nobody will receive.
    #[cold]
    fn discard(&mut self, nic: &Shared, entry: StoredId) {
        let held = self.unexpected.entry(entry);
        if held.protocol == Protocol::Rendezvous {
            nic.regions.give_up(RegionKey(held.payload[0]));
        }
        self.unexpected.free(entry);
    }

    /// Looks for the receive in the one chain where it can be.
    fn cancel(&mut self, nic: &Shared, request: u64, comm: CommId, target: &Target) {
        let Some(control) =
            self.comms.get(comm.0 as usize).filter(|control| control.home != Home::Absent)
        else {
            self.count_forwarded(comm);
            return self.report(nic, Completion::CancelForwarded { request, comm });
        };
        let bin = control.view.bin(target.class, target.hash);
        let mut current = nic.bins[bin].head();
        while current != ReceiveId::NIL {
            step!(LinkRead { receive: current.0 });
            let descriptor = &nic.receives[current];
            // SAFETY: the boundary (D1).
            if unsafe { descriptor.posted() }.request == request
                && descriptor.state.load(Relaxed) == state::POSTED
            {
                break;
            }
            current = descriptor.next.get();
        }
        if current == ReceiveId::NIL {
            let result = match control.home {
                Home::Fallback => {
                    self.count_forwarded(comm);
                    Completion::CancelForwarded { request, comm }
                }
                _ => Completion::TooLate { request },
            };
            return self.report(nic, result);
        }
        if !fault!(CancelKeepsSequence) {
            self.split_sequence(nic, comm, current);
        }
        nic.receives[current].state.store(state::CONSUMED, Relaxed);
        self.recycle(nic, comm, current);
        nic.boundary_counters.cancelled.add(1);
        self.report(nic, Completion::Cancelled { request });
    }

    /// A cancel leaves a gap in the labels: the later receives of its sequence become another
    /// sequence (S11).
    fn split_sequence(&mut self, nic: &Shared, comm: CommId, receive: ReceiveId) {
        self.comms[comm.0 as usize].end_sequence();
        // SAFETY: the boundary (D1).
        let cancelled = unsafe { nic.receives[receive].posted() };
        let mut began = None;
        let mut current = nic.receives[receive].next.get();
        while current != ReceiveId::NIL {
            let descriptor = &nic.receives[current];
            // SAFETY: the boundary (D1).
            let later = unsafe { descriptor.posted() };
            if later.sequence() != cancelled.sequence() {
                break;
            }
            let place = later.label.since(*began.get_or_insert(later.label)) as u32;
            // SAFETY: no block is running.
            unsafe { descriptor.posted.write(|posted| posted.place = place) };
            current = descriptor.next.get();
        }
    }

    fn probe(&mut self, nic: &Shared, request: u64, comm: CommId, target: &Target, take: bool) {
        let Some(control) =
            self.comms.get_mut(comm.0 as usize).filter(|control| control.home != Home::Absent)
        else {
            return self.report(nic, Completion::ProbeForwarded { request, take });
        };
        if !control.allowed.contains(target.class) {
            return self.report(nic, Completion::Refused { request });
        }
        let home = control.home;
        let found = match control.unexpected {
            0 => None,
            _ => find_unexpected(&mut self.unexpected, control, target),
        };
        let Some(found) = found else {
            let result = match home {
                Home::Fallback => Completion::ProbeForwarded { request, take },
                _ => Completion::ProbedNone { request },
            };
            return self.report(nic, result);
        };
        let message = self.unexpected.entry(found).message;
        if take && !fault!(ProbeKeepsTaken) {
            self.unlink_unexpected(comm, found);
        }
        let result = match take {
            true => Completion::ProbedTaken { entry: found, request, message },
            false => Completion::Probed { request, message },
        };
        self.report(nic, result);
    }

    fn create(&mut self, nic: &Shared, request: u64, comm: CommId, bins: u32, hints: Hints) {
        let known =
            self.comms.get(comm.0 as usize).is_some_and(|control| control.home == Home::Absent);
        let fits = known && (1..=BINS_MAX as u32).contains(&bins);
        let base = if fits { self.room.take(bins) } else { None };
        let Some(base) = base else {
            nic.boundary_counters.fallback_tables.add(1);
            return self.report(nic, Completion::Created { request, offloaded: false });
        };
        let control = &mut self.comms[comm.0 as usize];
        let forwarded = control.forwarded;
        // Messages that came before the communicator are with the host: it has to hand them back
        // first.
        let home = if forwarded > 0 { Home::Fallback } else { Home::Nic };
        let view =
            CommView { base, bins, classes: ClassSet::EMPTY, overtaking: hints.allow_overtaking };
        *control = Communicator::new(home, classes_allowed(hints), view, forwarded);
        self.set_view(nic, comm);
        self.report(nic, Completion::Created { request, offloaded: true });
    }

    fn free(&mut self, nic: &Shared, request: u64, comm: CommId) {
        let Some(control) =
            self.comms.get_mut(comm.0 as usize).filter(|control| control.home != Home::Absent)
        else {
            return self.report(nic, Completion::Freed { request, busy: false });
        };
        if !control.is_empty() {
            return self.report(nic, Completion::Freed { request, busy: true });
        }
        let base = control.view.base;
        *control = Communicator::absent(control.forwarded);
        self.room.give(base);
        self.set_view(nic, comm);
        self.report(nic, Completion::Freed { request, busy: false });
    }

    /// Ends a fallback if the host has seen everything that was sent on to it, and the receives
    /// that it still holds fit (S20). They are younger than all that is on the NIC, and have looked
    /// at its messages.
    fn hand_back(&mut self, nic: &Shared, comm: CommId, forwarded: u64, receives: u32) {
        let free = self.free_receives.count();
        self.taking_back = false;
        if let Some(control) = self.comms.get_mut(comm.0 as usize)
            && control.home == Home::Fallback
            && (control.forwarded == forwarded || fault!(HandBackUnchecked))
            && free > receives as usize
        {
            control.home = Home::Nic;
            self.taking_back = true;
            nic.boundary_counters.resumed.add(1);
            return self.report(nic, Completion::Resumed { comm });
        }
        self.report(nic, Completion::Declined { comm });
    }

    /// A receive that came with the last offer.
    fn take_back(&mut self, nic: &Shared, post: &Post) {
        if !self.taking_back {
            return;
        }
        let free = self.free_receives.take();
        debug_assert!(free.is_some(), "there were enough when the offer was taken");
        if let Some(receive) = free {
            self.enter(nic, post, receive);
        }
    }

    #[inline(always)]
    pub(super) fn unlink_unexpected(&mut self, comm: CommId, entry: StoredId) {
        let control = &mut self.comms[comm.0 as usize];
        control.unexpected -= 1;
        self.unexpected.unlink(&control.view, control.linked, entry);
    }

    /// Makes a consumed receive free again, if that has not been done; between blocks, when no
    /// handler can stand on it (S17).
    pub(super) fn recycle(&mut self, nic: &Shared, comm: CommId, receive: ReceiveId) {
        let descriptor = &nic.receives[receive];
        // SAFETY: the boundary (D1).
        let Posted { bin, class, .. } = *unsafe { descriptor.posted.peek() };
        if descriptor.state.load(Relaxed) == state::CONSUMED {
            step!(Unlinking { bin: bin.0, receive: receive.0, alone: true });
            nic.bins[bin].unlink(&nic.receives, receive, ReceiveId::NIL);
        }
        self.free_receives.give(receive);
        self.count_left(nic, comm, class, 1);
    }
}

/// The oldest unexpected message of a communicator that the target accepts. The first of its class
/// to ask has the chains of that class made.
#[inline]
fn find_unexpected(
    store: &mut UnexpectedStore,
    control: &mut Communicator,
    target: &Target,
) -> Option<StoredId> {
    if !control.linked.contains(target.class) {
        store.link(&control.view, target.class);
        control.linked.insert(target.class);
    }
    store.find(&control.view, target)
}
