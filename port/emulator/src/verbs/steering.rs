//! Steering: tables of rules that say where frames go.

use crate::handle::Kind;
use crate::machine::machine;
use crate::queue::Nic;
use crate::status::{Given, Refusal, calls, given};
use std::ffi::{c_int, c_void};

/// Bytes of a key, and tables that a frame passes at most.
const KEY: usize = 64;
const HOPS: usize = 8;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Receive,
    Forward,
}

#[derive(Clone, Copy)]
struct Table {
    direction: Direction,
    level: u32,
    number: u32,
}

#[derive(Clone, Copy)]
struct Matcher {
    table: Table,
    priority: u16,
    mask: [u8; KEY],
}

#[derive(Clone, Copy)]
enum Action {
    Queue(u32),
    Table(u32),
    Port,
    /// To the host's own network, or nowhere.
    Away,
}

/// One of several places for a frame.
#[derive(Clone, Copy)]
#[repr(C)]
struct Place {
    kind: u32,
    action: Given<Action>,
}

struct Rule {
    number: u32,
    matcher: Matcher,
    value: [u8; KEY],
    action: Action,
}

#[derive(Default)]
pub(crate) struct Steering {
    rules: Vec<Rule>,
    numbers: u32,
    forwards: bool,
}

/// The fields of a frame where rules look for them.
fn key(frame: &[u8]) -> [u8; KEY] {
    let mut key = [0; KEY];
    let mut copy = |to: usize, from: usize, bytes: usize| {
        if let Some(found) = frame.get(from..from + bytes) {
            key[to..to + bytes].copy_from_slice(found);
        }
    };
    copy(0, 6, 6);
    copy(6, 12, 2);
    copy(8, 0, 6);
    if frame.get(12..14) == Some(&[8, 0]) {
        let ports = 14 + usize::from(frame.get(14).copied().unwrap_or(0) & 15) * 4;
        copy(16, 23, 1);
        copy(27, 22, 1);
        copy(44, 26, 4);
        copy(60, 30, 4);
        match frame.get(23) {
            Some(6) => copy(20, ports, 4),
            Some(17) => copy(28, ports, 4),
            _ => {}
        }
    }
    key
}

impl Steering {
    fn follow(&self, direction: Direction, frame: &[u8]) -> Option<Action> {
        let key = key(frame);
        let mut table = None;
        for _ in 0..HOPS {
            let fits = |rule: &&Rule| {
                let Matcher {
                    table: of, mask, ..
                } = &rule.matcher;
                of.direction == direction
                    && table.map_or(of.level == 0, |table| of.number == table)
                    && (0..KEY).fold(0, |wrong, at| wrong | (key[at] ^ rule.value[at]) & mask[at])
                        == 0
            };
            match self.rules.iter().find(fits)?.action {
                Action::Table(next) => table = Some(next),
                other => return Some(other),
            }
        }
        None
    }

    pub(crate) fn receive(&self, frame: &[u8]) -> Option<u32> {
        let action = self.follow(Direction::Receive, frame)?;
        if let Action::Queue(number) = action {
            Some(number)
        } else {
            None
        }
    }

    /// Number of rules that receive.
    pub(crate) fn receiving(&self) -> usize {
        let receives = |rule: &&Rule| rule.matcher.table.direction == Direction::Receive;
        self.rules.iter().filter(receives).count()
    }

    /// Whether a frame that goes reaches the port. A host that forwards nothing lets all pass.
    pub(crate) fn send(&self, frame: &[u8]) -> bool {
        !self.forwards || matches!(self.follow(Direction::Forward, frame), Some(Action::Port))
    }
}

impl Nic {
    /// A rule that leads all frames to a queue, after those of the host. Answers its number.
    pub(crate) fn lead_all_to(&mut self, queue: u32) -> Result<u32, Refusal> {
        let wq = self.wqs.get_mut(queue).ok_or_else(|| Kind::Wq.gone())?;
        wq.rules += 1;
        self.steering.numbers += 1;
        let number = self.steering.numbers;
        let (direction, level) = (Direction::Receive, 0);
        let table = Table {
            direction,
            level,
            number,
        };
        let (priority, mask, value) = (u16::MAX, [0; KEY], [0; KEY]);
        let matcher = Matcher {
            table,
            priority,
            mask,
        };
        let action = Action::Queue(queue);
        self.steering.rules.push(Rule {
            number,
            matcher,
            value,
            action,
        });
        Ok(number)
    }

    /// A rule goes. False if there is none of this number.
    pub(crate) fn lead_no_more(&mut self, number: u32) -> bool {
        let rules = &mut self.steering.rules;
        let Some(at) = rules.iter().position(|rule| rule.number == number) else {
            return false;
        };
        if let Action::Queue(queue) = rules.remove(at).action {
            self.wqs
                .get_mut(queue)
                .into_iter()
                .for_each(|wq| wq.rules -= 1);
        }
        true
    }
}

/// An object of a host's, which the host gives back.
fn make<T>(thing: T) -> *mut T {
    Box::into_raw(Box::new(thing))
}

fn look<'a, T>(thing: Given<T>) -> Result<&'a T, Refusal> {
    given(thing).ok_or_else(|| "a null pointer".into())
}

/// A length, and that many bytes of a key.
fn bytes(parameters: Given<u64>) -> Result<[u8; KEY], Refusal> {
    let length = *look(parameters)? as usize;
    let mut key = [0; KEY];
    let begin = parameters.pointer().wrapping_add(1).cast::<u8>();
    // SAFETY: as many bytes follow the length, by the API's contract.
    let found = unsafe { std::slice::from_raw_parts(begin, length.min(KEY)) };
    key[..found.len()].copy_from_slice(found);
    Ok(key)
}

calls! {
    fn mlx5dv_dr_domain_create(
        context: *const c_void, kind: u32
    ) -> *mut Direction = std::ptr::null_mut() => {
        if context.is_null() || kind > 2 {
            return Err(format!("a domain of type {kind}").into());
        }
        Ok(make(if kind == 0 { Direction::Receive } else { Direction::Forward }))
    }

    fn mlx5dv_dr_table_create(
        domain: Given<Direction>, level: u32
    ) -> *mut Table = std::ptr::null_mut() => {
        let direction = *look(domain)?;
        let mut nic = machine().nic();
        nic.steering.numbers += 1;
        Ok(make(Table { direction, level, number: nic.steering.numbers }))
    }

    fn mlx5dv_dr_matcher_create(
        table: Given<Table>, priority: u16, criteria: u8, mask: Given<u64>
    ) -> *mut Matcher = std::ptr::null_mut() => {
        let (table, mask) = (look(table)?, bytes(mask)?);
        if criteria > 1 {
            return Err(format!("criteria {criteria:#x}: only outer headers are emulated").into());
        }
        Ok(make(Matcher { table: *table, priority, mask }))
    }

    fn mlx5dv_dr_action_create_dest_devx_tir(
        tir: *const c_void
    ) -> *mut Action = std::ptr::null_mut() => {
        Ok(make(Action::Queue(Kind::Tir.number(tir)?)))
    }

    fn mlx5dv_dr_action_create_dest_table(
        table: Given<Table>
    ) -> *mut Action = std::ptr::null_mut() => {
        Ok(make(Action::Table(look(table)?.number)))
    }

    fn mlx5dv_dr_action_create_dest_vport(
        _domain: *const c_void, _port: u32
    ) -> *mut Action = std::ptr::null_mut() => {
        Ok(make(Action::Port))
    }

    fn mlx5dv_dr_action_create_default_miss() -> *mut Action = std::ptr::null_mut() => {
        Ok(make(Action::Away))
    }

    /// Of all places, the one that the emulator has.
    fn mlx5dv_dr_action_create_dest_array(
        _domain: *const c_void, count: usize, places: *const Given<Place>
    ) -> *mut Action = std::ptr::null_mut() => {
        let mut ours = Action::Away;
        let count = if places.is_null() { return Err("no places".into()) } else { count };
        // SAFETY: as many places as `count` says, by the API's contract.
        for place in unsafe { std::slice::from_raw_parts(places, count) } {
            let place = look(*place)?;
            match (ours, *look(place.action)?) {
                (Action::Away, action) if place.kind == 0 => ours = action,
                (_, Action::Away) if place.kind == 0 => {}
                _ => return Err("an array of more than one place is not emulated".into()),
            }
        }
        Ok(make(ours))
    }

    fn mlx5dv_dr_rule_create(
        matcher: Given<Matcher>, wanted: Given<u64>, count: usize, actions: Given<Given<Action>>
    ) -> *mut u32 = std::ptr::null_mut() => {
        let (matcher, value) = (*look(matcher)?, bytes(wanted)?);
        if count != 1 {
            return Err(format!("{count} actions: one is emulated").into());
        }
        let action = *look(*look(actions)?)?;
        let mut nic = machine().nic();
        if let Action::Queue(queue) = action {
            nic.wqs.get_mut(queue).ok_or_else(|| Kind::Tir.gone())?.rules += 1;
        }
        nic.steering.numbers += 1;
        let number = nic.steering.numbers;
        nic.steering.forwards |= matcher.table.direction == Direction::Forward;
        nic.steering.rules.push(Rule { number, matcher, value, action });
        nic.steering.rules.sort_by_key(|rule| rule.matcher.priority);
        Ok(make(number))
    }
}

#[unsafe(no_mangle)]
extern "C" fn mlx5dv_dr_rule_destroy(rule: *mut u32) -> c_int {
    if rule.is_null() {
        return 0;
    }
    // SAFETY: the host gives back what `mlx5dv_dr_rule_create` made.
    let number = *unsafe { Box::from_raw(rule) };
    if machine().nic().lead_no_more(number) {
        0
    } else {
        22
    }
}

take_back! {
    mlx5dv_dr_action_destroy: Action;
    mlx5dv_dr_matcher_destroy: Matcher;
    mlx5dv_dr_table_destroy: Table;
    mlx5dv_dr_domain_destroy: Direction;
}
