//! Message rates in windows, as the paper measures them (O38-O41), on the emulated NIC and, in the
//! same run, on its wire with other receivers.
//!
//! [`measure`] runs one [`Point`]: a sending and a receiving thread on separate processors. Unless
//! the NIC has its own threads, the receiving thread drives it, so two processors suffice.
//! [`Report`] holds the results of several points over several rounds, and their ratios.

mod baseline;
mod by_turns;
mod copy;
mod endpoint_receiver;
mod error;
mod latency;
mod load;
mod machine;
mod measure;
mod nic_receiver;
mod outbox;
mod payload;
mod placement;
mod point;
mod recorded;
mod report;
mod scaling;
mod scenario;
mod signal;
mod stats;
mod ucx;
mod undisturbed;
mod window;

pub use error::BenchError;
pub use latency::{ClockQuality, Latencies, PERCENTILES};
pub use machine::{Machine, free_processors};
pub use measure::{Grow, Sample, Settings, Sizes, measure};
pub use nic_receiver::Paths;
pub use placement::{Distance, Placement};
pub use point::{Matching, Peer, Point};
pub use recorded::{LeftOut, Recorded, RecordedRow};
pub use report::{Disturbance, PointError, PointRow, Report, Shown};
pub use scaling::{Scaled, Scaling, ScalingRow, ShareRow};
pub use scenario::{Posting, Scenario, UnknownScenario, WINDOW_MAX};
pub use stats::{CALIBRATION, Summary, calibrated_rate, window_rate};
pub use ucx::{Ucx, UcxError, VARIABLE as UCX_VARIABLE};
pub use undisturbed::Windows;
pub use window::WARM_UP;
