//! Message rates in windows, as the paper measures them (O38-O41), on the emulated NIC and, in the
//! same run, on the same wire without it.
//!
//! [`measure`] runs one [`Point`]: a sending thread and a receiving thread, pinned apart. The
//! receiving thread drives the NIC itself unless threads of its own are asked for, so two
//! processors carry a whole measurement. [`Report`] holds what a list of points gave over several
//! rounds, with the ratios between them.

mod baseline;
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
mod window;

pub use error::BenchError;
pub use latency::{ClockQuality, Latencies, PERCENTILES};
pub use machine::Machine;
pub use measure::{Sample, Settings, measure};
pub use nic_receiver::Paths;
pub use placement::{Distance, Placement};
pub use point::{Peer, Point};
pub use recorded::{Recorded, RecordedRow};
pub use report::{Placed, PointError, Report, Row};
pub use scaling::{Scaled, Scaling, ScalingRow, ShareRow};
pub use scenario::{Posting, Scenario, UnknownScenario, WINDOW_MAX};
pub use stats::{CALIBRATION, Summary, calibrated_rate, window_rate};
pub use ucx::{Ucx, UcxError, VARIABLE as UCX_VARIABLE};
pub use window::WARM_UP;
