//! What the programs around a card's side share: memory that is never freed, and a player of
//! recorded streams.
#![no_std]

extern crate alloc;

mod arena;
mod player;
mod software;

pub use arena::Arena;
pub use player::Player;
