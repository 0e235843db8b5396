//! Emulates the data-path accelerator (DPA) of a SmartNIC for programs in C: a host part against
//! the API of FlexIO or of DOCA DPA ([`doca`]), and a device part that `dpacc` compiles. Both run
//! on a PC without changes.
//!
//! # What is not emulated
//!
//! - Instructions and caches of the DPA: the device part is native code of this machine. Of its
//!   time there is a model (`model`).
//! - Separate address spaces: an access of the host's memory without a window is only reported.
//! - Weak memory, the end of a handler that takes too long. Of windows that are not coherent only
//!   the missing fences are reported.
//! - Device emulation, congestion control, external event queues, compressed completions and
//!   their moderation, core dumps, tracers, signatures, and sharing of the DPA between programs.
//! - QPs between machines; datagrams.
//! - Send queue entries for segmentation, waits and local copies.
//!
//! One worker is the default. Its order is deterministic and follows `DPA_SEED`. Workers take the
//! NIC's lock for each doorbell and hold no lock while device code runs.
//!
//! # Environment
//!
//! A variable `DPA_...` that is not here, and a wrong value, end the program with exit code 2.
//!
//! | variable | meaning |
//! |---|---|
//! | `DPA_WIRE` | such as `pcap:in=FILE,out=FILE`; see [`wire`] |
//! | `DPA_DEVICE` | name of the device, `mlx5_0` by default |
//! | `DPA_ERRORS` | after an error: `count`, `exit:STATUS` or `abort`; only a line by default |
//! | `DPA_LOG` | a file to which lines are appended instead of standard error |
//! | `DPA_SEED` | order of threads and places where they yield; 0 is first come, first served |
//! | `DPA_WORKERS` | host threads that run DPA threads, 1 to 256; `units`: one per handler |
//! | `DPA_HEAP_MIB` | heap of each process, 1,024 by default |
//! | `DPA_TRACE` | a file for a timeline of activations, doorbells and completions (Perfetto) |
//! | `DPA_READ_TURNS` | turns of the NIC until an RDMA READ is answered, 0 by default |
//! | `DPA_VIRTUAL` | 1: clocks of device code and a line per handler show a model of a card's time |
//! | `DPA_WATCHDOG_S` | seconds of an activation that are reported, 12 by default; 0: none |
#![cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]

pub mod check;
pub mod doca;
pub mod process;
pub mod queue;
pub mod thread;
pub mod verbs;
pub mod wire;

mod environment;
mod handle;
mod machine;
mod model;
mod slab;
mod status;
mod trace;
