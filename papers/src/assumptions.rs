//! Unmeasured assumptions about the card.

use dpamatch_predict::{BlockBegin, BlockEnd, Overlap, Placement, Setup};

/// An assumption in words, and the set-up under it.
pub type Assumption = (&'static str, fn(&mut Setup));

pub const ASSUMPTIONS: &[Assumption] = &[
    ("as given", |_| {}),
    ("the leader's EU ends a block", |setup| {
        setup.profile.rules.block_end = BlockEnd::Leader
    }),
    ("the leader's EU begins a block", |setup| {
        setup.profile.rules.block_begin = BlockBegin::Leader;
    }),
    ("it begins and ends a block", |setup| {
        setup.profile.rules.block_begin = BlockBegin::Leader;
        setup.profile.rules.block_end = BlockEnd::Leader;
    }),
    ("all handlers overlap", |setup| {
        setup.profile.rules.overlap = Overlap::Always
    }),
    ("no handler overlaps", |setup| {
        setup.profile.rules.overlap = Overlap::Never
    }),
    ("handlers fill core after core", |setup| {
        setup.profile.rules.placement = Placement::Packed
    }),
    ("a load brings two receives", |setup| {
        setup.profile.rules.walk_line = 2
    }),
    ("a waiting EU's demand is 0.4", |setup| {
        setup.profile.word.poll_demand = 0.4
    }),
];
