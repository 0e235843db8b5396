//! A deterministic interpreter of RV64IMAC machines with many harts.
//!
//! It runs bare-metal programs in machine mode, without interrupts and address translation, and
//! serves their semihosting calls. Accesses must be aligned, as on a DPA. It counts each hart's
//! instructions, loads, stores, fences and atomics by phase, where the program marks its phases
//! ([`Mark`]). It can reorder memory accesses as RVWMO allows, by a seed ([`WeakOptions`]).
//!
//! ```
//! use dpamatch_port::rv64::{Image, Setup, run};
//!
//! // li a0, 0x18; lla a1, block; slli x0, x0, 31; ebreak; srai x0, x0, 7; block: 0x20026, code 7
//! let code = [
//!     0x0180_0513, 0x0000_0597, 0x0145_8593, 0x01f0_1013, 0x0010_0073, 0x4070_5013, 0x2_0026, 0,
//!     7, 0,
//! ];
//! assert_eq!(run(&Image::from_code(&code), &Setup::default()).end, Ok(7));
//! ```

mod count;
mod decode;
mod encodings;
mod hart;
mod image;
mod lines;
mod machine;
mod memory;
mod semihosting;
mod weak;

pub use count::{Count, MARKS, Mark, PHASES};
pub use image::{Image, ImageError};
pub use lines::{CacheSetup, Segments};
pub use machine::{Fault, Outcome, Setup, run};
pub use memory::MEMORY_BASE;
pub use weak::WeakOptions;
