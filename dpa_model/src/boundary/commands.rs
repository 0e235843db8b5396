//! The host's commands other than posts.

use super::Boundary;
use super::admit::{link_for, receive_stored};
use super::post_batch::enter;
use crate::communicator::{Communicator, Home};
use crate::config::BINS_MAX;
use crate::descriptor::state;
use crate::index::{CommView, by_class};
use crate::matching::give_up;
use crate::message::{Command, Completion, Post, Protocol, Target};
use crate::number::{ReceiveId, StoredId};
use crate::shared::Shared;
use crate::sync::Relaxed;
use crate::unexpected::{UnexpectedStore, classes_allowed};
use crate::{CommId, Hints, Offload};

impl Boundary {
    #[inline(never)]
    pub(super) fn execute(&mut self, nic: &Shared, command: Command) {
        match command {
            Command::None
            | Command::Post(_)
            | Command::HandBack { .. }
            | Command::Return(_)
            | Command::Discard { .. } => {}
            Command::Cancel {
                request,
                comm,
                target,
            } => self.cancel(nic, request, comm, &target),
            Command::Probe {
                request,
                comm,
                target,
                take,
            } => self.probe(nic, request, comm, &target, take),
            Command::Receive {
                request,
                entry,
                buffer,
                capacity,
            } => {
                let Self {
                    unexpected,
                    results_tail,
                    ..
                } = self;
                receive_stored(
                    nic,
                    unexpected,
                    results_tail,
                    request,
                    buffer,
                    capacity,
                    entry,
                );
            }
            Command::Create {
                request,
                comm,
                bins,
                hints,
            } => self.create(nic, request, comm, bins, hints),
            Command::Free { request, comm } => self.free(nic, request, comm),
        }
    }

    /// Frees the memory of an unlinked message that will never be received.
    #[cold]
    pub(super) fn discard(&mut self, nic: &Shared, entry: StoredId) {
        let held = self.unexpected.entry(entry);
        if held.protocol == Protocol::Rendezvous {
            give_up(nic, &held.payload);
        }
        self.unexpected.free(entry);
    }

    /// Cancels a receive, searched in the only chain that can hold it.
    fn cancel(&mut self, nic: &Shared, request: u64, comm: CommId, target: &Target) {
        let Some(control) = present(&mut self.comms, comm) else {
            self.count_forwarded(comm);
            return self.report(nic, Completion::CancelForwarded { request, comm });
        };
        let home = control.home;
        let result = if self.take_out(nic, request, comm, target) {
            Completion::Cancelled { request }
        } else if home == Home::Fallback {
            self.count_forwarded(comm);
            Completion::CancelForwarded { request, comm }
        } else {
            Completion::TooLate { request }
        };
        self.report(nic, result);
    }

    /// Takes a receive with this target out of the posted queue. `false`: it is not there.
    pub(super) fn take_out(
        &mut self,
        nic: &Shared,
        request: u64,
        comm: CommId,
        target: &Target,
    ) -> bool {
        let Some(control) = present(&mut self.comms, comm) else {
            return false;
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
            return false;
        }
        if !fault!(CancelKeepsSequence) {
            self.split_run(nic, comm, current);
        }
        nic.receives[current].state.store(state::CONSUMED, Relaxed);
        self.recycle(nic, comm, current);
        nic.boundary_counters.cancelled.add(1);
        true
    }

    /// A cancel leaves a gap in its run: the later receives become another run (S11).
    fn split_run(&mut self, nic: &Shared, comm: CommId, receive: ReceiveId) {
        // SAFETY: the boundary (D1).
        let cancelled = unsafe { nic.receives[receive].posted() }.run;
        let mut place = self.comms[comm.0 as usize]
            .labels
            .new_run(cancelled.class());
        let mut current = nic.receives[receive].next.get();
        while current != ReceiveId::NIL {
            let descriptor = &nic.receives[current];
            // SAFETY: the boundary (D1).
            let later = unsafe { descriptor.posted() };
            if !later.run.is_same_run(cancelled) {
                break;
            }
            // SAFETY: no block is running.
            unsafe { descriptor.posted.write(|posted| posted.run = place) };
            place = place.plus(1);
            current = descriptor.next.get();
        }
    }

    fn probe(&mut self, nic: &Shared, request: u64, comm: CommId, target: &Target, take: bool) {
        let Some(control) = present(&mut self.comms, comm) else {
            return self.report(nic, Completion::ProbeForwarded { request, take });
        };
        if !control.allowed.contains(target.class) {
            return self.report(nic, Completion::Refused { request });
        }
        let home = control.home;
        let found = match control.unexpected {
            0 => None,
            _ => find_stored(nic, &mut self.unexpected, control, target),
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
            true => Completion::ProbedTaken {
                entry: found,
                request,
                message,
            },
            false => Completion::Probed { request, message },
        };
        self.report(nic, result);
    }

    fn create(&mut self, nic: &Shared, request: u64, comm: CommId, bins: u32, hints: Hints) {
        let known = self
            .comms
            .get(comm.0 as usize)
            .is_some_and(|control| control.home == Home::Absent);
        let fits = known && (1..=BINS_MAX as u32).contains(&bins);
        let wanted = hints.offload == Offload::IfItFits;
        let base = if fits && wanted {
            self.room.allocate(bins)
        } else {
            None
        };
        let Some(base) = base else {
            nic.boundary_counters.fallback_tables.add(u64::from(wanted));
            return self.report(
                nic,
                Completion::Created {
                    request,
                    offloaded: false,
                },
            );
        };
        let control = &mut self.comms[comm.0 as usize];
        let forwarded = control.forwarded;
        // Messages from before the communicator's creation are with the host, which must hand them
        // back first.
        let home = if forwarded > 0 {
            Home::Fallback
        } else {
            Home::Nic
        };
        let view = CommView::new(base, bins, hints.allow_overtaking);
        *control = Communicator::new(home, classes_allowed(hints), view, forwarded);
        self.set_view(nic, comm);
        self.report(
            nic,
            Completion::Created {
                request,
                offloaded: true,
            },
        );
    }

    fn free(&mut self, nic: &Shared, request: u64, comm: CommId) {
        let busy = match present(&mut self.comms, comm) {
            None => false,
            Some(control) if !control.is_empty() => true,
            Some(control) => {
                let base = control.view.base;
                *control = Communicator::absent(control.forwarded);
                self.room.free(base);
                self.set_view(nic, comm);
                false
            }
        };
        self.report(nic, Completion::Freed { request, busy });
    }

    /// Ends a fallback if the host has seen everything sent on to it, and if the NIC has room for
    /// the receives that the host still holds (S20) and for one more. They are younger than all
    /// receives on the NIC, and have already searched its messages. Without receives it needs no
    /// room: a declined offer would come again only after the communicator's next event.
    pub(super) fn hand_back(&mut self, nic: &Shared, comm: CommId, forwarded: u64, receives: u32) {
        let free = self.free_receives.count();
        self.taking_back = false;
        if let Some(control) = self.comms.get_mut(comm.0 as usize)
            && control.home == Home::Fallback
            && (control.forwarded == forwarded || fault!(HandBackUnchecked))
            && (receives == 0 || free > receives as usize)
        {
            control.home = Home::Nic;
            self.taking_back = true;
            nic.boundary_counters.resumed.add(1);
            return self.report(nic, Completion::Resumed { comm });
        }
        self.report(nic, Completion::Declined { comm });
    }

    /// Posts a receive that belongs to the last offer.
    pub(super) fn take_back(&mut self, nic: &Shared, post: &Post) {
        if !self.taking_back {
            return;
        }
        let entered = self.enter_one(nic, post);
        debug_assert!(entered, "there was room when the offer was taken");
    }

    /// Appends a receive to the posted queue of a known communicator. `false`: no descriptor is
    /// free.
    #[inline]
    pub(super) fn enter_one(&mut self, nic: &Shared, post: &Post) -> bool {
        let (comm, class) = (post.comm, post.target.class);
        let Some(receive) = self.free_receives.pop() else {
            return false;
        };
        let control = &mut self.comms[comm.0 as usize];
        let indexes = nic.indexes(control.view);
        let collided = enter(indexes, post, class, receive, &mut control.labels);
        nic.boundary_counters.collisions.add(u64::from(collided));
        self.count_entered(nic, comm, class, 1);
        true
    }
}

/// The communicator of this number, if the host created it.
#[inline]
pub(super) fn present(comms: &mut [Communicator], comm: CommId) -> Option<&mut Communicator> {
    comms
        .get_mut(comm.0 as usize)
        .filter(|control| control.home != Home::Absent)
}

/// The oldest unexpected message of a communicator that the target accepts.
pub(super) fn find_stored(
    nic: &Shared,
    store: &mut UnexpectedStore,
    control: &mut Communicator,
    target: &Target,
) -> Option<StoredId> {
    link_for(store, control, target.class);
    let bin = control.view.bin(target.class, target.hash);
    let mut passed = 0;
    let found = by_class!(target.class, CLASS => store.find(CLASS, bin, target, &mut passed));
    nic.boundary_counters.unexpected_passed.add(passed);
    found
}

/// Unlinks a message that this target found.
pub(super) fn unlink_stored(
    store: &mut UnexpectedStore,
    control: &Communicator,
    target: &Target,
    entry: StoredId,
) {
    let Communicator { view, linked, .. } = control;
    let bin = view.bin(target.class, target.hash);
    by_class!(target.class, CLASS => store.unlink(view, *linked, CLASS, entry, bin));
}
