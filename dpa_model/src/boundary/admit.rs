//! Commands of the host, executed in their order (S12).

use core::ops::Range;

use super::due::Due;
use super::post_row::{PostRow, Tables, enter, is_post};
use super::{Boundary, report};
use crate::communicator::{Communicator, Home};
use crate::config::{BINS_MAX, Order};
use crate::descriptor::{Posted, state};
use crate::index::CommView;
use crate::matching::deliver_stored;
use crate::message::{Command, Completion, HostAddress, Post, Protocol, Target, data};
use crate::number::{ReceiveId, StoredId};
use crate::region::RegionKey;
use crate::ring::Run;
use crate::shared::Shared;
use crate::sync::Relaxed;
use crate::unexpected::{LINKED_ALWAYS, UnexpectedStore, classes_allowed};
use crate::{CommId, Hints, WildcardClass};

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
    #[inline(always)]
    pub(super) fn admit(&mut self, nic: &Shared) -> Admitted {
        let commands = nic.commands.run(self.commands_head);
        if commands.stamp_if_ready(0).is_none() {
            return Admitted { any: false, held_up: false };
        }
        self.admit_waiting(nic, commands)
    }

    #[inline(never)]
    fn admit_waiting(&mut self, nic: &Shared, commands: Run<'_, Command>) -> Admitted {
        let stamped = nic.options.order == Order::Stamped;
        let due = Due { nic, commands, until: if stamped { self.matched } else { u64::MAX } };
        let most = nic.commands.depth() as usize;
        let (mut admitted, mut held_up) = (0, false);
        // Before this place no command lacks room for its result: none has more than one.
        let mut sure = 0;
        while admitted < most && due.is(admitted) {
            if admitted == sure {
                let room = self.results_room(nic, 1);
                if room == 0 {
                    nic.boundary_counters.ring_full.add(1);
                    held_up = true;
                    break;
                }
                sure = most.min(admitted + room);
            }
            match *due.begin(admitted) {
                Command::Post(ref post) => {
                    let posted = self.post(due, post, admitted..sure);
                    self.commands_done += posted as u64;
                    admitted += posted;
                    continue;
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
            admitted += 1;
            step!(BoundaryEnds);
        }
        if admitted > 0 {
            self.commands_head = commands.position(admitted);
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
                let Self { unexpected, results_tail, .. } = self;
                receive_stored(nic, unexpected, results_tail, (request, buffer, capacity), entry);
            }
            Command::Create { request, comm, bins, hints } => {
                self.create(nic, request, comm, bins, hints)
            }
            Command::Free { request, comm } => self.free(nic, request, comm),
        }
    }

    /// A post that is under way, and those behind it that go the same way, up to the end of
    /// `places`. Returns how many.
    #[inline(always)]
    fn post(&mut self, due: Due<'_>, post: &Post, places: Range<usize>) -> usize {
        let Post { comm, target: Target { class, .. }, request, .. } = *post;
        let control = self.comms.get_mut(comm.0 as usize);
        let Some(control) = control.filter(|control| control.home != Home::Absent) else {
            due.nic.boundary_counters.posts.add(1);
            self.forward_post(due.nic, request, comm);
            step!(BoundaryEnds);
            return 1;
        };
        if !control.allowed.contains(class) {
            due.nic.boundary_counters.posts.add(1);
            self.report(due.nic, Completion::Refused { request });
            step!(BoundaryEnds);
            return 1;
        }
        if control.unexpected > 0 {
            link_for(&mut self.unexpected, control, class);
        }
        match class {
            WildcardClass::Exact if !due.is(places.start + 1) => {
                self.post_row::<0, false>(due, comm, places)
            }
            WildcardClass::Exact => self.post_row::<0, true>(due, comm, places),
            WildcardClass::AnySource => self.post_row::<1, true>(due, comm, places),
            WildcardClass::AnyTag => self.post_row::<2, true>(due, comm, places),
            WildcardClass::Any => self.post_row::<3, true>(due, comm, places),
        }
    }

    /// Posts in a row of one communicator and one class (O22, S20): the unexpected messages first,
    /// then the posted queue, else the host. The first is under way. Not `SEVERAL`: there is no
    /// other, so no loop has to be got ready; in many programs receives come one by one.
    #[inline(never)]
    fn post_row<const CLASS: usize, const SEVERAL: bool>(
        &mut self,
        due: Due<'_>,
        comm: CommId,
        places: Range<usize>,
    ) -> usize {
        let class = WildcardClass::ALL[CLASS];
        let nic = due.nic;
        let Self { comms, free_receives, unexpected, results_tail, .. } = self;
        let control = &mut comms[comm.0 as usize];
        // In local variables: a compiler must otherwise read them again after each store.
        let (view, linked, log_order) = (control.view, control.linked, nic.options.log_order);
        let (mut labels, mut stored) = (control.labels, control.unexpected);
        let on_nic = control.home == Home::Nic || fault!(FallbackForgotten);
        let tables = Tables::of(nic);
        let mut collisions = 0;
        let mut refused = None;
        let mut place = places.start;
        let next = |place: usize| {
            let alike = |command: &Command| is_post::<CLASS>(command, comm);
            (SEVERAL && place < places.end && due.is(place) && alike(&due.look(place)))
                .then(|| due.begin(place))
        };
        let mut command = Some(due.look(place));
        if SEVERAL {
            let commands = due.commands.stretch(place, places.end);
            let row = PostRow { due, comm, view, commands, place };
            if stored > 0 && linked == LINKED_ALWAYS {
                let mut late =
                    row.receive::<CLASS, { data::WORD }>(stored, unexpected, results_tail);
                if late == 0 {
                    late = row.receive::<CLASS, { data::INLINE }>(stored, unexpected, results_tail);
                }
                place += late as usize;
                stored -= late;
            } else if stored == 0 && on_nic && !log_order {
                let (entered, collided) = row.enter::<CLASS>(&mut labels, free_receives);
                collisions += collided as u64;
                place += entered;
            }
            if place > places.start {
                // What follows may be another row.
                command = None;
            }
        }
        while let Some(Command::Post(post)) = command.as_deref() {
            let &Post { request, ref target, buffer, capacity, .. } = post;
            let bin = view.bin(class, target.hash);
            if fault!(LabelTooEarly) {
                labels.next(class, target);
            }
            let found = if stored > 0 { unexpected.find::<CLASS>(bin, target) } else { None };
            if let Some(found) = found {
                step!(TakenLate { entry: found.0 });
                unexpected.unlink::<CLASS>(&view, linked, found, bin);
                stored -= 1;
                let receive = (request, buffer, capacity);
                receive_stored(nic, unexpected, results_tail, receive, found);
            } else {
                // Labels and tables go on to the host in order: once one post was refused, all
                // later ones are (S20).
                let free = if on_nic { free_receives.take() } else { None };
                let Some(receive) = free else {
                    refused = Some(request);
                    break;
                };
                collisions += u64::from(enter(tables, post, class, bin, receive, &mut labels));
                if log_order {
                    report(nic, results_tail, Completion::Admitted { request });
                }
            }
            place += 1;
            step!(BoundaryEnds);
            command = next(place);
        }
        let late = control.unexpected - stored;
        let entered = (place - places.start) as u32 - late;
        (control.labels, control.unexpected) = (labels, stored);
        let counters = &nic.boundary_counters;
        counters.posts.add(u64::from(entered + late));
        counters.posts_late.add(u64::from(late));
        counters.posts_admitted.add(u64::from(entered));
        counters.collisions.add(collisions);
        self.count_entered(nic, comm, class, entered);
        if let Some(request) = refused {
            counters.posts.add(1);
            let control = &mut self.comms[comm.0 as usize];
            if control.home == Home::Nic {
                control.home = Home::Fallback;
                counters.fallback_receives.add(1);
            }
            self.forward_post(nic, request, comm);
            place += 1;
            step!(BoundaryEnds);
        }
        place - places.start
    }

    /// So many more receives of this class are posted.
    #[inline(always)]
    fn count_entered(&mut self, nic: &Shared, comm: CommId, class: WildcardClass, count: u32) {
        nic.boundary_counters.posted_high.raise(self.free_receives.used() as u64);
        let control = &mut self.comms[comm.0 as usize];
        control.posted[class as usize] += count;
        if count > 0 && control.posted[class as usize] == count {
            control.view.insert(class);
            self.set_classes(nic, comm);
        }
    }

    #[cold]
    fn forward_post(&mut self, nic: &Shared, request: u64, comm: CommId) {
        nic.boundary_counters.posts_forwarded.add(1);
        self.count_forwarded(comm);
        self.report(nic, Completion::PostForwarded { request });
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
        self.comms[comm.0 as usize].labels.end_sequence();
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
            _ => find_stored(&mut self.unexpected, control, target),
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
            let control = &mut self.comms[comm.0 as usize];
            control.unexpected -= 1;
            unlink_stored(&mut self.unexpected, control, target, found);
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
        let view = CommView::new(base, bins, hints.allow_overtaking);
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
            let (comm, Target { class, hash, .. }) = (post.comm, post.target);
            let control = &mut self.comms[comm.0 as usize];
            let bin = control.view.bin(class, hash);
            let tables = Tables::of(nic);
            let collided = enter(tables, post, class, bin, receive, &mut control.labels);
            nic.boundary_counters.collisions.add(u64::from(collided));
            self.count_entered(nic, comm, class, 1);
        }
    }

    /// Makes a consumed receive free again, if that has not been done; between blocks, when no
    /// handler can stand on it (S17).
    pub(super) fn recycle(&mut self, nic: &Shared, comm: CommId, receive: ReceiveId) {
        let descriptor = &nic.receives[receive];
        // SAFETY: the boundary (D1).
        let Posted { bin, class, .. } = *unsafe { descriptor.posted.peek() };
        if descriptor.state.load(Relaxed) == state::CONSUMED {
            step!(Unlinking { bin: bin.0, receive: receive.0, alone: true });
            nic.bins[bin].unlink::<false>(&nic.receives, receive, &ReceiveId::NIL);
        }
        self.free_receives.give(receive);
        self.count_left(nic, comm, class, 1);
    }
}

/// Delivers a message that is in no chain any more, and gives its memory back. `receive`: request,
/// buffer and capacity.
#[inline(always)]
fn receive_stored(
    nic: &Shared,
    store: &mut UnexpectedStore,
    results_tail: &mut u64,
    (request, buffer, capacity): (u64, HostAddress, u32),
    entry: StoredId,
) {
    deliver_stored(nic, store, entry, buffer, capacity);
    store.free(entry);
    let message = &store.entry(entry).message;
    // SAFETY: as in `report`; written in place, because this is the commonest of its results.
    unsafe {
        nic.completions.fill(*results_tail, 0, |slot| {
            *slot = Completion::Received { request, message: *message, late: true };
        });
    }
    *results_tail += 1;
}

/// The first of its class to ask for unexpected messages has the chains of that class made.
#[inline(always)]
fn link_for(store: &mut UnexpectedStore, control: &mut Communicator, class: WildcardClass) {
    if !control.linked.contains(class) {
        store.link(&control.view, class);
        control.linked.insert(class);
    }
}

/// The oldest unexpected message of a communicator that the target accepts.
fn find_stored(
    store: &mut UnexpectedStore,
    control: &mut Communicator,
    target: &Target,
) -> Option<StoredId> {
    link_for(store, control, target.class);
    let bin = control.view.bin(target.class, target.hash);
    match target.class {
        WildcardClass::Exact => store.find::<0>(bin, target),
        WildcardClass::AnySource => store.find::<1>(bin, target),
        WildcardClass::AnyTag => store.find::<2>(bin, target),
        WildcardClass::Any => store.find::<3>(bin, target),
    }
}

/// Takes a message that was found by this target out of its chains.
fn unlink_stored(
    store: &mut UnexpectedStore,
    control: &Communicator,
    target: &Target,
    entry: StoredId,
) {
    let Communicator { view, linked, .. } = control;
    let bin = view.bin(target.class, target.hash);
    match target.class {
        WildcardClass::Exact => store.unlink::<0>(view, *linked, entry, bin),
        WildcardClass::AnySource => store.unlink::<1>(view, *linked, entry, bin),
        WildcardClass::AnyTag => store.unlink::<2>(view, *linked, entry, bin),
        WildcardClass::Any => store.unlink::<3>(view, *linked, entry, bin),
    }
}
