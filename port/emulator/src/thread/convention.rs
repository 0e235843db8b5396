//! Arguments as callers and functions in C hold them: in registers and on the stack, by the
//! function's prototype (System V ABI for x86-64, 3.2.3; for aarch64 integers only).

use crate::process::{Class, Parameter, Prototype, Scalar};

/// Registers for integers and for floating-point numbers.
const INTEGERS: usize = if cfg!(target_arch = "x86_64") { 6 } else { 8 };
const FLOATS: usize = 8;

/// What a function finds when it begins.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct Arguments {
    pub(crate) integers: [u64; INTEGERS],
    pub(crate) floats: [u64; FLOATS],
    pub(crate) stack: Vec<u64>,
}

/// What a caller of a variadic function has left, after the arguments with names.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Variadic {
    /// All registers of integers, of which `named` are taken.
    pub(crate) integers: *const u64,
    pub(crate) named: usize,
    /// Registers of floating-point numbers, each of 16 bytes.
    pub(crate) floats: *const [u64; 2],
    pub(crate) stack: *const u64,
}

/// Where eight bytes of an argument are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Integer(usize),
    Float(usize),
    Stack(usize),
    /// Nobody passes padding.
    Nowhere,
}

/// Hands out places in the order of the arguments.
#[derive(Debug)]
struct Places {
    integers: usize,
    floats: usize,
    stack: usize,
}

impl Places {
    /// The places of an argument, for each of its eight bytes.
    fn of(&mut self, parameter: &Parameter) -> Vec<Place> {
        let words = parameter.bytes.div_ceil(8) as usize;
        let count = |class| {
            parameter
                .classes
                .iter()
                .filter(|&&own| own == class)
                .count()
        };
        let (integers, floats) = (count(Class::Integer), count(Class::Sse));
        let fits = self.integers + integers <= INTEGERS && self.floats + floats <= FLOATS;
        if parameter.classes.is_empty() || !fits {
            if parameter.align > 8 {
                self.stack = self.stack.next_multiple_of(parameter.align as usize / 8);
            }
            let first = self.stack;
            self.stack += words;
            return (first..self.stack).map(Place::Stack).collect();
        }
        let place = |class: &Class| match class {
            Class::Integer => {
                self.integers += 1;
                Place::Integer(self.integers - 1)
            }
            Class::Sse => {
                self.floats += 1;
                Place::Float(self.floats - 1)
            }
            Class::Padding => Place::Nowhere,
        };
        parameter.classes.iter().map(place).collect()
    }
}

impl Variadic {
    /// # Safety
    ///
    /// The caller has passed an argument there.
    unsafe fn read(&self, place: Place) -> u64 {
        // SAFETY: the caller's promise.
        unsafe {
            match place {
                Place::Integer(at) => *self.integers.add(at),
                Place::Float(at) => (*self.floats.add(at))[0],
                Place::Stack(at) => *self.stack.add(at),
                Place::Nowhere => 0,
            }
        }
    }
}

/// A number that travels in a wider register, without what else is there.
pub(crate) fn narrow(parameter: &Parameter, word: u64) -> u64 {
    let unused = 64 - 8 * parameter.bytes.min(8) as u32;
    match parameter.scalar {
        Scalar::Signed => ((word << unused) as i64 >> unused) as u64,
        Scalar::Unsigned => word << unused >> unused,
        Scalar::Float if parameter.bytes == 4 => u64::from((f64::from_bits(word) as f32).to_bits()),
        Scalar::Float | Scalar::No => word,
    }
}

impl Arguments {
    /// Takes what a function of this prototype wants from a variadic call.
    ///
    /// # Safety
    ///
    /// The caller has passed as many arguments, of these types.
    pub(crate) unsafe fn take(prototype: &Prototype, from: Variadic) -> Result<Self, &'static str> {
        let mut arguments = Self::default();
        let places = |integers| Places {
            integers,
            floats: 0,
            stack: 0,
        };
        let (mut theirs, mut ours) = (places(from.named), places(0));
        for parameter in &prototype.parameters {
            if parameter.align > 16 {
                return Err("an argument is aligned to more than 16");
            }
            let is_plain = matches!(parameter.scalar, Scalar::Signed | Scalar::Unsigned);
            if !cfg!(target_arch = "x86_64") && !is_plain {
                return Err("only integers and pointers are passed on this machine");
            }
            let pairs = theirs.of(parameter).into_iter().zip(ours.of(parameter));
            for (their, our) in pairs {
                // SAFETY: the caller's promise.
                let word = narrow(parameter, unsafe { from.read(their) });
                arguments.set(our, word);
            }
        }
        Ok(arguments)
    }

    fn set(&mut self, place: Place, word: u64) {
        match place {
            Place::Integer(at) => self.integers[at] = word,
            Place::Float(at) => self.floats[at] = word,
            Place::Nowhere => {}
            Place::Stack(at) => {
                if self.stack.len() <= at {
                    self.stack.resize(at + 1, 0);
                }
                self.stack[at] = word;
            }
        }
    }

    pub(crate) fn stack_bytes(&self) -> usize {
        self.stack.len() * 8
    }

    /// Calls the function. Its result is in the first register of integers.
    ///
    /// # Safety
    ///
    /// A function of the prototype that these arguments are for.
    pub(crate) unsafe fn call(&self, function: usize) -> u64 {
        // SAFETY: the caller's promise; the places live during the call.
        unsafe {
            enter(
                function,
                self.integers.as_ptr(),
                self.floats.as_ptr(),
                self.stack.as_ptr(),
                self.stack.len(),
            )
        }
    }
}

/// Puts all arguments in their places and calls the function.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
unsafe extern "C" fn enter(
    function: usize,
    integers: *const u64,
    floats: *const u64,
    stack: *const u64,
    words: usize,
) -> u64 {
    std::arch::naked_asm!(
        "push rbp",
        "mov rbp, rsp",
        "mov r11, rdi",
        "mov r10, rsi",
        // An odd number of words is followed by one that nobody reads.
        "lea rax, [r8 + 1]",
        "and rax, -2",
        "shl rax, 3",
        "sub rsp, rax",
        "2: test r8, r8",
        "jz 3f",
        "dec r8",
        "mov rax, [rcx + r8 * 8]",
        "mov [rsp + r8 * 8], rax",
        "jmp 2b",
        "3: movsd xmm0, [rdx]",
        "movsd xmm1, [rdx + 8]",
        "movsd xmm2, [rdx + 16]",
        "movsd xmm3, [rdx + 24]",
        "movsd xmm4, [rdx + 32]",
        "movsd xmm5, [rdx + 40]",
        "movsd xmm6, [rdx + 48]",
        "movsd xmm7, [rdx + 56]",
        "mov rdi, [r10]",
        "mov rsi, [r10 + 8]",
        "mov rdx, [r10 + 16]",
        "mov rcx, [r10 + 24]",
        "mov r8, [r10 + 32]",
        "mov r9, [r10 + 40]",
        "call r11",
        "mov rsp, rbp",
        "pop rbp",
        "ret",
    )
}

#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
unsafe extern "C" fn enter(
    function: usize,
    integers: *const u64,
    floats: *const u64,
    stack: *const u64,
    words: usize,
) -> u64 {
    std::arch::naked_asm!(
        "stp x29, x30, [sp, #-16]!",
        "mov x29, sp",
        "mov x16, x0",
        "mov x17, x1",
        "add x9, x4, #1",
        "and x9, x9, #-2",
        "sub sp, sp, x9, lsl #3",
        "2: cbz x4, 3f",
        "sub x4, x4, #1",
        "ldr x9, [x3, x4, lsl #3]",
        "str x9, [sp, x4, lsl #3]",
        "b 2b",
        "3: ldp x0, x1, [x17]",
        "ldp x2, x3, [x17, #16]",
        "ldp x4, x5, [x17, #32]",
        "ldp x6, x7, [x17, #48]",
        "blr x16",
        "mov sp, x29",
        "ldp x29, x30, [sp], #16",
        "ret",
    )
}
