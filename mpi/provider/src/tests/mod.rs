//! Endpoints of this process, and of two processes, through the tables that C calls.

mod bells;
mod closing;
mod doubles;
mod files;
mod inner;
pub(crate) use files::Folder;
mod messages;
mod model;
mod objects;
mod outside;
mod processes;
mod refusals;
mod regions;
mod rogue;
mod side;
mod soak;
mod stand_in;
mod timeouts;
