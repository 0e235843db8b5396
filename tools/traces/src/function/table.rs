//! The functions by number: name, class, and arguments in the order of the DUMPI binary file.
//!
//! The build script makes the table from `functions.txt`.

use crate::{CollectiveKind, CompletionKind, SendMode};

use super::{Class, Field, Function, Recipe};

#[derive(Debug)]
pub(super) struct FunctionRow {
    pub(super) name: &'static str,
    pub(super) class: Class,
    pub(super) fields: &'static [Field],
    pub(super) recipe: Recipe,
}

pub(super) static TABLE: [FunctionRow; Function::IN_DUMPI] =
    include!(concat!(env!("OUT_DIR"), "/functions.rs"));
