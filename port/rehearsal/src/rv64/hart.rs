//! One hart: registers, and the effect of each instruction on them.

use super::Fault;
use super::count::{Count, PHASES};
use super::decode::{Instruction, Op};
use super::lines::Caches;
use super::memory::Place;
use super::weak::{HartOrder, Weak};

/// The machine's next action after an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Then {
    Go,
    /// The hart waits: run another.
    Yield,
    Mark(u16),
    /// An `ebreak`, perhaps a call to the host.
    Break,
}

#[derive(Debug, Default)]
pub(crate) struct Hart {
    pub(crate) number: usize,
    pub(crate) pc: u64,
    pub(crate) x: [u64; 32],
    /// Weak memory: age of the youngest value behind each register.
    pub(crate) views: [u64; 32],
    pub(crate) order: HartOrder,
    /// Weak memory: the deferred load of a register.
    pub(crate) late: [Option<u32>; 32],
    /// Retired instructions, marks included.
    pub(crate) retired: u64,
    pub(crate) phase: u8,
    /// A mark holds the phase.
    pub(crate) held: bool,
    pub(crate) counting: bool,
    pub(crate) counts: [Count; PHASES],
    /// Lowest stack pointer since counting began, or before.
    pub(crate) lowest: u64,
}

pub(crate) struct Shared {
    pub(crate) weak: Weak,
    pub(crate) caches: Option<Caches>,
}

impl Shared {
    #[inline(always)]
    fn touch(&mut self, hart: usize, place: Place, is_store: bool) {
        if let Some(caches) = &mut self.caches {
            caches.access(hart, place.doubleword, is_store);
        }
    }
}

const SP: usize = 2;

fn word(value: u64) -> u64 {
    i64::from(value as i32) as u64
}

impl Hart {
    pub(crate) fn new(number: usize, pc: u64) -> Self {
        let order = HartOrder::new(number);
        Self {
            number,
            pc,
            order,
            lowest: u64::MAX,
            ..Self::default()
        }
    }

    fn count(&mut self) -> &mut Count {
        &mut self.counts[self.phase as usize]
    }

    #[inline(always)]
    pub(crate) fn execute<const WEAK: bool>(
        &mut self,
        shared: &mut Shared,
        instruction: &Instruction,
    ) -> Result<Then, Fault> {
        let Instruction {
            op,
            rd,
            rs1,
            rs2,
            length,
            immediate,
            ..
        } = *instruction;
        let (rd, first, second) = (rd as usize & 31, rs1 as usize & 31, rs2 as usize & 31);
        let is_store = matches!(op, Op::Sb | Op::Sh | Op::Sw | Op::Sd);
        if WEAK {
            self.settle(shared, first);
            // A store's data may come later still.
            if !is_store {
                self.settle(shared, second);
            }
        }
        let (a, b) = (self.x[first], self.x[second]);
        let constant = i64::from(immediate) as u64;
        let pc = self.pc;
        let mut next = pc.wrapping_add(u64::from(length));
        let mut then = Then::Go;
        self.retired += 1;
        if self.counting {
            self.count().instructions += 1;
        }
        let mut view = 0;
        let result = match op {
            Op::Illegal => return Err(Fault::Illegal { pc }),
            Op::Lui => constant,
            Op::Auipc => pc.wrapping_add(constant),
            Op::Jal => {
                let back = next;
                next = pc.wrapping_add(constant);
                back
            }
            Op::Jalr => {
                let back = next;
                next = a.wrapping_add(constant) & !1;
                back
            }
            Op::Beq | Op::Bne | Op::Blt | Op::Bge | Op::Bltu | Op::Bgeu => {
                let taken = match op {
                    Op::Beq => a == b,
                    Op::Bne => a != b,
                    Op::Blt => (a as i64) < b as i64,
                    Op::Bge => a as i64 >= b as i64,
                    Op::Bltu => a < b,
                    _ => a >= b,
                };
                if taken {
                    next = pc.wrapping_add(constant);
                }
                0
            }
            Op::Lb | Op::Lh | Op::Lw | Op::Ld | Op::Lbu | Op::Lhu | Op::Lwu => {
                let size_log = match op {
                    Op::Lb | Op::Lbu => 0,
                    Op::Lh | Op::Lhu => 1,
                    Op::Lw | Op::Lwu => 2,
                    _ => 3,
                };
                let place = shared
                    .weak
                    .memory
                    .place(pc, a.wrapping_add(constant), size_log)?;
                let widen: fn(u64) -> u64 = match op {
                    Op::Lb => |value| i64::from(value as i8) as u64,
                    Op::Lh => |value| i64::from(value as i16) as u64,
                    Op::Lw => word,
                    _ => |value| value,
                };
                if WEAK && rd != 0 && self.put_off(shared, rd, place, self.views[first], widen) {
                    self.pc = next;
                    return Ok(then);
                }
                let value;
                (value, view) = self.load::<WEAK>(shared, place, self.views[first]);
                widen(value)
            }
            Op::Sb | Op::Sh | Op::Sw | Op::Sd => {
                let size_log = op as u32 - Op::Sb as u32;
                let place = shared
                    .weak
                    .memory
                    .place(pc, a.wrapping_add(constant), size_log)?;
                self.store::<WEAK>(shared, place, first, second);
                0
            }
            Op::Pause | Op::Wfi => {
                then = Then::Yield;
                0
            }
            Op::Mark => {
                if self.counting {
                    self.count().instructions -= 1;
                }
                then = Then::Mark(immediate as u16);
                0
            }
            Op::Ebreak => {
                then = Then::Break;
                0
            }
            Op::Fence => {
                self.fence::<WEAK>(shared, immediate as u32);
                0
            }
            Op::CsrRead => match immediate {
                0xf14 => self.number as u64,
                _ => return Err(Fault::Illegal { pc }),
            },
            // Pending and enabled interrupts: none is ever taken.
            Op::CsrWrite if matches!(immediate, 0x304 | 0x344) => 0,
            Op::CsrWrite => return Err(Fault::Illegal { pc }),
            Op::LrW | Op::LrD | Op::ScW | Op::ScD | Op::AmoW | Op::AmoD => {
                let value;
                (value, view) = self.atomic::<WEAK>(shared, instruction)?;
                value
            }
            _ => {
                view = self.views[first].max(self.views[second]);
                if self.counting && op.is_division() {
                    self.count().divisions += 1;
                }
                arithmetic(op, a, b, constant).ok_or(Fault::Illegal { pc })?
            }
        };
        self.x[rd] = result;
        self.x[0] = 0;
        if WEAK {
            self.views[rd] = view;
            self.views[0] = 0;
            self.late[rd] = None;
            shared.weak.pass(&mut self.order, &self.late);
        }
        if rd == SP {
            self.lowest = self.lowest.min(result);
        }
        self.pc = next;
        Ok(then)
    }

    #[inline(always)]
    fn load<const WEAK: bool>(
        &mut self,
        shared: &mut Shared,
        place: Place,
        view: u64,
    ) -> (u64, u64) {
        if self.counting {
            self.count().loads += 1;
        }
        shared.touch(self.number, place, false);
        if WEAK {
            return shared.weak.load(&mut self.order, place, view);
        }
        (place.of(shared.weak.memory.get(place.doubleword)), 0)
    }

    /// Stores register `source` at an address computed from register `base`.
    #[inline(always)]
    fn store<const WEAK: bool>(
        &mut self,
        shared: &mut Shared,
        place: Place,
        base: usize,
        source: usize,
    ) {
        if self.counting {
            let count = self.count();
            count.stores += 1;
            count.byte_stores += u64::from(place.mask == 0xff);
        }
        shared.touch(self.number, place, true);
        let value = self.x[source];
        if WEAK {
            let view = self.views[base].max(self.views[source]);
            shared
                .weak
                .store(&mut self.order, place, value, view, self.late[source]);
        } else {
            shared.weak.memory.store(self.number, place, value);
        }
    }

    /// Defers a load at random; returns whether it did.
    fn put_off(
        &mut self,
        shared: &mut Shared,
        rd: usize,
        place: Place,
        view: u64,
        widen: fn(u64) -> u64,
    ) -> bool {
        let name = shared.weak.put_off(&mut self.order, place, view, widen);
        if name.is_some() {
            if self.counting {
                self.count().loads += 1;
            }
            self.late[rd] = name;
        }
        name.is_some()
    }

    /// Completes the register's deferred load.
    #[inline(always)]
    pub(crate) fn settle(&mut self, shared: &mut Shared, register: usize) {
        if let Some(name) = self.late[register] {
            let (value, view) = shared.weak.do_late(&mut self.order, name);
            self.x[register] = value;
            self.views[register] = view;
            self.late[register] = None;
        }
    }

    fn fence<const WEAK: bool>(&mut self, shared: &mut Shared, bits: u32) {
        if self.counting {
            self.count().fences += 1;
        }
        if WEAK {
            // Mode 8 is `fence.tso`: all but writes before reads.
            let total = bits >> 8 & 15 != 8;
            let (before, after) = (bits >> 4 & 3, bits & 3);
            shared.weak.fence(&mut self.order, before, after, total);
        }
    }

    fn atomic<const WEAK: bool>(
        &mut self,
        shared: &mut Shared,
        instruction: &Instruction,
    ) -> Result<(u64, u64), Fault> {
        let Instruction {
            op,
            rs1,
            rs2,
            acquire,
            release,
            immediate,
            ..
        } = *instruction;
        let long = matches!(op, Op::LrD | Op::ScD | Op::AmoD);
        let address = self.x[rs1 as usize & 31];
        let operand = self.x[rs2 as usize & 31];
        let place = shared
            .weak
            .memory
            .place(self.pc, address, if long { 3 } else { 2 })?;
        let doubleword = place.doubleword;
        if WEAK {
            shared
                .weak
                .before_atomic(&mut self.order, doubleword, release);
        }
        let old = place.of(shared.weak.memory.get(doubleword));
        let (new, result) = match op {
            Op::LrW | Op::LrD => {
                shared.weak.memory.reserve(self.number, Some(doubleword));
                (None, if long { old } else { word(old) })
            }
            Op::ScW | Op::ScD => {
                let holds = shared.weak.memory.holds(self.number, doubleword);
                shared.weak.memory.reserve(self.number, None);
                (holds.then_some(operand), u64::from(!holds))
            }
            _ => {
                let old = if long { old } else { word(old) };
                let operand = if long { operand } else { word(operand) };
                (Some(combine(immediate, old, operand, long)), old)
            }
        };
        let is_load = matches!(op, Op::LrW | Op::LrD);
        shared.touch(self.number, place, !is_load);
        if self.counting {
            let count = self.count();
            count.loads += u64::from(is_load);
            count.atomics += u64::from(!is_load);
        }
        let mut view = 0;
        if WEAK {
            view = match new {
                Some(new) => shared.weak.put(self.number, place, new),
                None => shared.weak.current(self.number, doubleword),
            };
            shared
                .weak
                .after_atomic(&mut self.order, view, acquire, new.is_some());
        } else if let Some(new) = new {
            shared.weak.memory.store(self.number, place, new);
        }
        Ok((result, view))
    }
}

fn combine(function: i32, old: u64, operand: u64, long: bool) -> u64 {
    let unsigned = |value: u64| if long { value } else { value & 0xffff_ffff };
    match function {
        0 => old.wrapping_add(operand),
        1 => operand,
        4 => old ^ operand,
        8 => old | operand,
        12 => old & operand,
        16 => (old as i64).min(operand as i64) as u64,
        20 => (old as i64).max(operand as i64) as u64,
        24 => unsigned(old).min(unsigned(operand)),
        _ => unsigned(old).max(unsigned(operand)),
    }
}

/// Register and constant arithmetic; `None` for other instructions.
#[inline(always)]
fn arithmetic(op: Op, a: u64, b: u64, constant: u64) -> Option<u64> {
    let shift = constant as u32;
    Some(match op {
        Op::Addi => a.wrapping_add(constant),
        Op::Slti => u64::from((a as i64) < constant as i64),
        Op::Sltiu => u64::from(a < constant),
        Op::Xori => a ^ constant,
        Op::Ori => a | constant,
        Op::Andi => a & constant,
        Op::Slli => a << shift,
        Op::Srli => a >> shift,
        Op::Srai => (a as i64 >> shift) as u64,
        Op::Addiw => word(a.wrapping_add(constant)),
        Op::Slliw => word(u64::from((a as u32) << shift)),
        Op::Srliw => word(u64::from(a as u32 >> shift)),
        Op::Sraiw => i64::from(a as i32 >> shift) as u64,
        Op::Add => a.wrapping_add(b),
        Op::Sub => a.wrapping_sub(b),
        Op::Sll => a << (b & 63),
        Op::Slt => u64::from((a as i64) < b as i64),
        Op::Sltu => u64::from(a < b),
        Op::Xor => a ^ b,
        Op::Srl => a >> (b & 63),
        Op::Sra => (a as i64 >> (b & 63)) as u64,
        Op::Or => a | b,
        Op::And => a & b,
        Op::Addw => word(a.wrapping_add(b)),
        Op::Subw => word(a.wrapping_sub(b)),
        Op::Sllw => word(u64::from((a as u32) << (b & 31))),
        Op::Srlw => word(u64::from(a as u32 >> (b & 31))),
        Op::Sraw => i64::from(a as i32 >> (b & 31)) as u64,
        _ => return multiply_divide(op, a, b),
    })
}

/// The M extension; `None` for other instructions. Division by zero gives all ones, its remainder
/// the dividend.
fn multiply_divide(op: Op, a: u64, b: u64) -> Option<u64> {
    let (signed_a, signed_b) = (a as i64, b as i64);
    let (word_a, word_b) = (a as i32, b as i32);
    let high = |product: i128| (product >> 64) as u64;
    Some(match op {
        Op::Mul => a.wrapping_mul(b),
        Op::Mulh => high(i128::from(signed_a) * i128::from(signed_b)),
        Op::Mulhsu => high(i128::from(signed_a) * i128::from(b)),
        Op::Mulhu => ((u128::from(a) * u128::from(b)) >> 64) as u64,
        Op::Div if b == 0 => u64::MAX,
        Op::Div => signed_a.wrapping_div(signed_b) as u64,
        Op::Divu => a.checked_div(b).unwrap_or(u64::MAX),
        Op::Rem if b == 0 => a,
        Op::Rem => signed_a.wrapping_rem(signed_b) as u64,
        Op::Remu => a.checked_rem(b).unwrap_or(a),
        Op::Mulw => word(a.wrapping_mul(b)),
        Op::Divw if word_b == 0 => u64::MAX,
        Op::Divw => i64::from(word_a.wrapping_div(word_b)) as u64,
        Op::Divuw => word(u64::from(
            (a as u32).checked_div(b as u32).unwrap_or(u32::MAX),
        )),
        Op::Remw if word_b == 0 => word(a),
        Op::Remw => i64::from(word_a.wrapping_rem(word_b)) as u64,
        Op::Remuw => word(u64::from(
            (a as u32).checked_rem(b as u32).unwrap_or(a as u32),
        )),
        _ => return None,
    })
}
