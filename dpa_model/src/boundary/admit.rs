//! Commands of the host, executed in their order (S12). Here are posts; commands.rs has the others.

use core::ops::Range;

use super::due::Due;
use super::post_row::{PostRow, Tables, enter, is_post};
use super::{Boundary, report};
use crate::communicator::{Communicator, Home};
use crate::config::Order;
use crate::host_address::HostAddress;
use crate::matching::deliver_stored;
use crate::message::{Command, Completion, Post, Target, data};
use crate::number::StoredId;
use crate::ring::Run;
use crate::shared::Shared;
use crate::unexpected::{LINKED_ALWAYS, UnexpectedStore};
use crate::{CommId, WildcardClass};

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

    #[cold]
    fn forward_post(&mut self, nic: &Shared, request: u64, comm: CommId) {
        nic.boundary_counters.posts_forwarded.add(1);
        self.count_forwarded(comm);
        self.report(nic, Completion::PostForwarded { request });
    }
}

/// Delivers a message that is in no chain any more, and gives its memory back. `receive`: request,
/// buffer and capacity.
#[inline(always)]
pub(super) fn receive_stored(
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
pub(super) fn link_for(
    store: &mut UnexpectedStore,
    control: &mut Communicator,
    class: WildcardClass,
) {
    if !control.linked.contains(class) {
        store.link(&control.view, class);
        control.linked.insert(class);
    }
}
