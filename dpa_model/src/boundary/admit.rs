//! Executes the host's commands in order (S12). This file has posts, commands.rs the others.

use core::ops::Range;

use super::Boundary;
use super::commands::{find_stored, present, unlink_stored};
use super::post_batch::PostBatch;
use crate::communicator::{Communicator, Home};
use crate::config::Order;
use crate::host_address::HostAddress;
use crate::index::by_class;
use crate::matching::deliver_stored;
use crate::message::{Command, Completion, Post, Target};
use crate::number::StoredId;
use crate::shared::Shared;
use crate::sync::Peek;
use crate::unexpected::{LINKED_ALWAYS, UnexpectedStore};
use crate::{CommId, WildcardClass};

impl Boundary {
    /// Executes the due commands, at most one queue's length, so that arrivals do not starve. Stops
    /// when the completion ring is full, and records that in `held_up`. Returns whether any was
    /// executed.
    #[inline]
    pub(super) fn admit(&mut self, nic: &Shared) -> bool {
        self.held_up = false;
        nic.commands.stamp_if_ready(self.commands_head).is_some() && self.admit_waiting(nic)
    }

    #[inline(never)]
    fn admit_waiting(&mut self, nic: &Shared) -> bool {
        let most = nic.commands.depth() as usize;
        let mut admitted = 0;
        // Before this place the ring has room for every result: no command has more than one.
        let mut sure = 0;
        while admitted < most && self.is_due(nic, admitted) {
            if admitted == sure {
                let room = self.results_room(nic, 1);
                if room == 0 {
                    nic.boundary_counters.ring_full.add(1);
                    self.held_up = true;
                    break;
                }
                sure = most.min(admitted + room);
            }
            match *begin(nic, self.commands_head + admitted as u64) {
                Command::Post(ref post) => {
                    let posted = self.post(nic, post, admitted..sure);
                    self.commands_done += posted as u64;
                    admitted += posted;
                    continue;
                }
                Command::HandBack {
                    comm,
                    forwarded,
                    receives,
                } => {
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
            self.commands_head += admitted as u64;
            nic.commands.release(self.commands_head);
            nic.boundary_counters.commands.add(admitted as u64);
        }
        admitted > 0
    }

    /// Whether the command at a place behind the head is ready and follows no later arrival.
    #[inline]
    fn is_due(&self, nic: &Shared, place: usize) -> bool {
        nic.commands
            .stamp_if_ready(self.commands_head + place as u64)
            .is_some_and(|stamp| stamp <= self.last_due_stamp(nic))
    }

    /// The last stamp of due commands: those that follow later arrivals have a higher one.
    #[inline]
    fn last_due_stamp(&self, nic: &Shared) -> u64 {
        if nic.options.order == Order::Stamped {
            self.matched
        } else {
            u64::MAX
        }
    }

    /// Executes a post and the similar posts that follow it, up to the end of `places`. Returns how
    /// many.
    #[inline]
    fn post(&mut self, nic: &Shared, post: &Post, places: Range<usize>) -> usize {
        let Post {
            comm,
            target: Target { class, .. },
            request,
            ..
        } = *post;
        let Some(control) = present(&mut self.comms, comm) else {
            self.forward_post(nic, request, comm);
            step!(BoundaryEnds);
            return 1;
        };
        if !control.allowed.contains(class) {
            nic.boundary_counters.posts.add(1);
            self.report(nic, Completion::Refused { request });
            step!(BoundaryEnds);
            return 1;
        }
        if control.unexpected > 0 {
            link_for(&mut self.unexpected, control, class);
        }
        // In many programs receives come one by one.
        if self.is_due(nic, places.start + 1) {
            let posted = self.post_batch(nic, comm, class, places);
            if posted > 0 {
                return posted;
            }
        }
        self.post_one(nic, post);
        step!(BoundaryEnds);
        1
    }

    /// Executes the leading posts of one communicator and class that all take unexpected messages,
    /// or that all enter the posted queue, in a loop. Returns how many; 0 for an uncommon post.
    #[inline(never)]
    fn post_batch(
        &mut self,
        nic: &Shared,
        comm: CommId,
        class: WildcardClass,
        places: Range<usize>,
    ) -> usize {
        let first = self.commands_head + places.start as u64;
        let last_stamp = self.last_due_stamp(nic);
        let adjacent = places.len().min(nic.commands.until_end(first));
        let Self {
            comms,
            free_receives,
            unexpected,
            results_tail,
            ..
        } = self;
        let control = &mut comms[comm.0 as usize];
        let batch = PostBatch {
            nic,
            comm,
            indexes: nic.indexes(control.view),
            commands: nic.commands.span(first, adjacent),
            last_stamp,
        };
        if control.unexpected > 0 {
            if control.linked != LINKED_ALWAYS {
                return 0;
            }
            let stored = control.unexpected as usize;
            let late = by_class!(class, CLASS => {
                batch.receive::<{ CLASS as usize }>(stored, unexpected, results_tail)
            });
            control.unexpected -= late as u32;
            nic.boundary_counters.posts_late.add(late as u64);
            return late;
        }
        let on_nic = control.home == Home::Nic || fault!(FallbackForgotten);
        if !on_nic || nic.options.log_order {
            return 0;
        }
        let labels = &mut control.labels;
        let entered = batch.enter_all(class, labels, free_receives);
        nic.boundary_counters.posts_admitted.add(entered as u64);
        self.count_entered(nic, comm, class, entered as u32);
        entered
    }

    /// Executes a post (O22, S20): it takes the oldest unexpected message that it accepts,
    /// otherwise enters the posted queue, otherwise goes to the host.
    #[inline(never)]
    fn post_one(&mut self, nic: &Shared, post: &Post) {
        let Post {
            comm,
            ref target,
            request,
            ..
        } = *post;
        let Self {
            comms,
            unexpected,
            results_tail,
            ..
        } = self;
        let control = &mut comms[comm.0 as usize];
        if fault!(LabelTooEarly) {
            control.labels.next();
        }
        if control.unexpected > 0
            && let Some(found) = find_stored(nic, unexpected, control, target)
        {
            step!(TakenLate { entry: found.0 });
            control.unexpected -= 1;
            unlink_stored(unexpected, control, target, found);
            let (buffer, capacity) = (post.buffer, post.capacity);
            receive_stored(
                nic,
                unexpected,
                results_tail,
                request,
                buffer,
                capacity,
                found,
            );
            nic.boundary_counters.posts_late.add(1);
            return;
        }
        // Labels and tables go to the host in order: after one refused post, all later ones are
        // refused (S20).
        let on_nic = control.home == Home::Nic || fault!(FallbackForgotten);
        if on_nic && self.enter_one(nic, post) {
            nic.boundary_counters.posts_admitted.add(1);
            if nic.options.log_order {
                self.report(nic, Completion::Admitted { request });
            }
            return;
        }
        let control = &mut self.comms[comm.0 as usize];
        if control.home == Home::Nic {
            control.home = Home::Fallback;
            nic.boundary_counters.fallback_receives.add(1);
        }
        self.forward_post(nic, request, comm);
    }

    #[cold]
    fn forward_post(&mut self, nic: &Shared, request: u64, comm: CommId) {
        nic.boundary_counters.posts_forwarded.add(1);
        self.count_forwarded(comm);
        self.report(nic, Completion::PostForwarded { request });
    }
}

/// The command at a position, which is executed now; reports the step. Read in place: a copy costs
/// more than executing the most common one.
#[inline]
pub(super) fn begin(nic: &Shared, position: u64) -> Peek<'_, Command> {
    if fault!(CommandReleasedEarly) {
        nic.commands.release(position + 1);
    }
    // SAFETY: seen ready, and released only at the end of `admit`.
    let command = unsafe { nic.commands.peek(position) };
    if fault!(CommandReleasedInUse) {
        nic.commands.release(position + 1);
    }
    step!(CommandBegins);
    command
}

/// Delivers an unlinked message and frees its memory.
#[inline]
pub(super) fn receive_stored(
    nic: &Shared,
    store: &mut UnexpectedStore,
    results_tail: &mut u64,
    request: u64,
    buffer: HostAddress,
    capacity: u32,
    entry: StoredId,
) {
    deliver_stored(nic, store, entry, buffer, capacity, *results_tail);
    store.free(entry);
    let message = &store.entry(entry).message;
    // SAFETY: the leader claimed the position and checked the room. Written in place, because this
    // result is the most common.
    unsafe {
        nic.completions.fill(*results_tail, 0, |slot| {
            *slot = Completion::Received {
                request,
                message: *message,
                late: true,
            };
        });
    }
    *results_tail += 1;
}

/// The first target of a class that searches unexpected messages makes the chains of that class.
#[inline]
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
