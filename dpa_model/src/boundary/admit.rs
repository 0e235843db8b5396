//! Executes the host's commands in order (S12). This file has posts, commands.rs the others.

use core::ops::Range;

use super::due::Due;
use super::post_row::{PostRow, Tables, enter};
use super::{Boundary, report};
use crate::communicator::{Communicator, Home};
use crate::config::Order;
use crate::copy::UNALIGNED_IS_ONE_ACCESS;
use crate::host_address::HostAddress;
use crate::index::{CommView, by_class};
use crate::matching::deliver_stored;
use crate::message::{Command, Completion, Post, Target, data};
use crate::number::StoredId;
use crate::ring::Run;
use crate::shared::Shared;
use crate::unexpected::{LINKED_ALWAYS, UnexpectedStore};
use crate::{ClassSet, CommId, WildcardClass};

/// Result of admitting the due commands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Admitted {
    /// Whether any was executed.
    pub(super) any: bool,
    /// Whether one had to wait, because the completion ring is full.
    pub(super) held_up: bool,
}

impl Boundary {
    /// Executes the due commands, at most one queue's length, so that arrivals do not starve.
    /// Returns whether there were any, and whether a due one had to wait.
    #[inline]
    pub(super) fn admit(&mut self, nic: &Shared) -> Admitted {
        let commands = nic.commands.run(self.commands_head);
        if commands.stamp_if_ready(0).is_none() {
            return Admitted {
                any: false,
                held_up: false,
            };
        }
        self.admit_waiting(nic, commands)
    }

    #[inline(never)]
    fn admit_waiting(&mut self, nic: &Shared, commands: Run<'_, Command>) -> Admitted {
        let stamped = nic.options.order == Order::Stamped;
        let due = Due {
            nic,
            commands,
            until: if stamped { self.matched } else { u64::MAX },
        };
        let most = nic.commands.depth() as usize;
        let (mut admitted, mut held_up) = (0, false);
        // Before this place the ring has room for every result: no command has more than one.
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
            self.commands_head = commands.position(admitted);
            nic.commands.release(self.commands_head);
            nic.boundary_counters.commands.add(admitted as u64);
        }
        Admitted {
            any: admitted > 0,
            held_up,
        }
    }

    /// Executes a post and the similar posts that follow it, up to the end of `places`. Returns how
    /// many.
    #[inline]
    fn post(&mut self, due: Due<'_>, post: &Post, places: Range<usize>) -> usize {
        let Post {
            comm,
            target: Target { class, .. },
            request,
            ..
        } = *post;
        let control = self.comms.get_mut(comm.0 as usize);
        let Some(control) = control.filter(|control| control.home != Home::Absent) else {
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
        if class == WildcardClass::Exact && !due.is(places.start + 1) {
            return self.post_row::<0, false>(due, comm, places);
        }
        by_class!(class, CLASS => self.post_row::<CLASS, true>(due, comm, places))
    }

    /// Consecutive posts of one communicator and one class (O22, S20): each goes to the unexpected
    /// messages first, then to the posted queue, otherwise to the host. Not `SEVERAL`: there is
    /// only one, so no loop is set up; in many programs receives come one by one.
    #[inline(never)]
    fn post_row<const CLASS: usize, const SEVERAL: bool>(
        &mut self,
        due: Due<'_>,
        comm: CommId,
        places: Range<usize>,
    ) -> usize {
        let class = WildcardClass::ALL[CLASS];
        let nic = due.nic;
        let Self {
            comms,
            free_receives,
            unexpected,
            results_tail,
            ..
        } = self;
        let control = &mut comms[comm.0 as usize];
        // Local copies: a compiler must otherwise reload them after each store.
        let (view, linked, log_order) = (control.view, control.linked, nic.options.log_order);
        let (mut labels, mut stored) = (control.labels, control.unexpected);
        let on_nic = control.home == Home::Nic || fault!(FallbackForgotten);
        let tables = Tables::of(nic);
        let mut collisions = 0;
        let mut refused = None;
        let row = SEVERAL.then(|| PostRow {
            due,
            comm,
            view,
            commands: due.commands.stretch(places.start, places.end),
            place: places.start,
        });
        // Posts executed.
        let mut done = 0;
        let mut command = Some(due.look(places.start));
        if let Some(row) = &row
            && stored > 0
            && linked == LINKED_ALWAYS
        {
            let mut late = row.receive::<CLASS, { data::WORD }>(stored, unexpected, results_tail);
            if late == 0 {
                late = row.receive::<CLASS, { data::INLINE }>(stored, unexpected, results_tail);
            }
            if late == 0 && UNALIGNED_IS_ONE_ACCESS {
                late = row.receive::<CLASS, { data::SHORT }>(stored, unexpected, results_tail);
            }
            if late > 0 {
                done = late as usize;
                stored -= late;
                // The next post may begin another row.
                command = None;
            }
        }
        while let Some(Command::Post(post)) = command.as_deref() {
            if let Some(row) = &row
                && stored == 0
                && on_nic
                && !log_order
            {
                let entered = row.enter_all::<CLASS>(done, &mut labels, free_receives);
                if entered.posts > 0 {
                    done += entered.posts;
                    collisions += entered.collisions;
                    command = row.next::<CLASS>(done);
                    continue;
                }
            }
            if fault!(LabelTooEarly) {
                labels.next();
            }
            if stored > 0
                && receive_late::<CLASS>(nic, unexpected, results_tail, &view, linked, post)
            {
                stored -= 1;
            } else {
                // Labels and tables go to the host in order: after one refused post, all later ones
                // are refused (S20).
                let free = if on_nic { free_receives.take() } else { None };
                let request = post.request;
                let Some(receive) = free else {
                    refused = Some(request);
                    break;
                };
                let bin = view.bin(class, post.target.hash);
                collisions += u64::from(enter(tables, post, class, bin, receive, &mut labels));
                if log_order {
                    report(nic, results_tail, Completion::Admitted { request });
                }
            }
            done += 1;
            step!(BoundaryEnds);
            command = row.as_ref().and_then(|row| row.next::<CLASS>(done));
        }
        let late = control.unexpected - stored;
        let entered = done as u32 - late;
        (control.labels, control.unexpected) = (labels, stored);
        let counters = &nic.boundary_counters;
        counters.posts_late.add(u64::from(late));
        counters.posts_admitted.add(u64::from(entered));
        counters.collisions.add(collisions);
        self.count_entered(nic, comm, class, entered);
        if let Some(request) = refused {
            let control = &mut self.comms[comm.0 as usize];
            if control.home == Home::Nic {
                control.home = Home::Fallback;
                counters.fallback_receives.add(1);
            }
            self.forward_post(nic, request, comm);
            done += 1;
            step!(BoundaryEnds);
        }
        done
    }

    #[cold]
    fn forward_post(&mut self, nic: &Shared, request: u64, comm: CommId) {
        nic.boundary_counters.posts_forwarded.add(1);
        self.count_forwarded(comm);
        self.report(nic, Completion::PostForwarded { request });
    }
}

/// Gives a post the oldest unexpected message that it accepts. `false`: there is none. A separate
/// function: the loop over posts that find none keeps its values in registers.
#[inline(never)]
fn receive_late<const CLASS: usize>(
    nic: &Shared,
    store: &mut UnexpectedStore,
    results_tail: &mut u64,
    view: &CommView,
    linked: ClassSet,
    post: &Post,
) -> bool {
    let bin = view.bin(WildcardClass::ALL[CLASS], post.target.hash);
    let mut passed = 0;
    let found = store.find::<CLASS>(bin, &post.target, &mut passed);
    nic.boundary_counters.unexpected_passed.add(passed);
    let Some(found) = found else {
        return false;
    };
    step!(TakenLate { entry: found.0 });
    store.unlink::<CLASS>(view, linked, found, bin);
    receive_stored(
        nic,
        store,
        results_tail,
        post.request,
        post.buffer,
        post.capacity,
        found,
    );
    true
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
