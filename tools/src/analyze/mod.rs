//! Analyzes the matching of a program from its recorded MPI calls.
//!
//! - [`Run`], from a trace or order logs: all ranks as operations ([`Program`]), communicators with
//!   one identity on all ranks ([`Communicators`]), each rank's messages ([`Inbound`]), and the
//!   recorded pairs ([`Truth`]).
//! - [`order`]: the order of posts and arrivals at each rank.
//! - [`RankView`]: replays a rank through any engine; [`legality`] checks the result without one.

mod advice;
mod align;
#[cfg(test)]
pub(crate) mod by_hand;
mod collect;
mod communicators;
mod engines;
mod expand;
pub mod figures;
mod goal;
pub mod html;
mod inbound;
mod late;
pub mod legality;
pub mod lifetime;
mod logged;
#[cfg(any(test, feature = "testing"))]
mod of_text;
pub mod order;

mod matches;
mod numbers;
mod origin;
mod pairs;
#[cfg(feature = "parquet")]
mod parquet;
mod probes;
mod program;
mod rank_classes;
mod repeated;
mod replay;
mod report;
mod run;
mod sites;
pub mod spread;
pub mod stats;
mod steps;
mod tables;
mod timeline;
mod times;
mod transfers;
mod truth;
#[cfg(test)]
mod two;
mod waits;

pub use advice::Advice;
pub use collect::collect;
pub use communicators::{Communicators, GlobalComm, Translation};
pub use engines::EngineReport;
pub(crate) use engines::tell_sizes;
pub use expand::Expanded;
pub use goal::{LeftOut, goal};
pub use inbound::{Inbound, Lost, Messages};
pub use late::{Late, Sharing};
pub use logged::{LogError, is_log};
pub use matches::{Match, matches};
pub use numbers::Numbers;
#[cfg(any(test, feature = "testing"))]
#[doc(hidden)]
pub use of_text::programs_of_text;
pub use order::OrderChoice;
pub use origin::{Connection, How, LocalId, Members, Origin};
pub use pairs::pairs;
#[cfg(feature = "parquet")]
pub use parquet::write_parquet;
pub use probes::Probes;
pub use program::{
    ANY, Action, CollectiveCall, EmptyPolls, End, LocalComm, NOBODY, Oddities, Program, Side, Step,
    Sync, Transfer, TransferKind, UNKNOWN, UNKNOWN_BYTES,
};
pub use rank_classes::{RANKS_TOLD, RankClass};
pub use replay::{Agreement, RankView};
pub use report::{CommReport, Question, Report, ReportError, Source};
pub use run::Run;
pub use sites::SiteReport;
pub use spread::{InOrder, Spread};
pub use steps::{Steps, StepsIter};
pub use tables::{by_rank, shown, tables};
pub use timeline::{TimelineError, timeline};
pub use times::{CallTime, Spent};
pub use transfers::Transfers;
pub use truth::Truth;
