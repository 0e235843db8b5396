//! Reads documents of results.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::direction::Better;

/// The document format that this program writes and reads.
pub const SCHEMA: &str = "dpamatch-results-1";

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Descriptor {
    /// Name of the array of rows in the results.
    pub name: String,
    pub title: String,
    pub notes: Vec<String>,
    pub keys: Vec<String>,
    pub figures: Vec<Figure>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Figure {
    /// The member's name. If the rows have a member with this name and `_rounds`, it holds the
    /// figure's measured rounds.
    pub name: String,
    pub better: Option<Better>,
}

#[derive(Clone, PartialEq, Debug, Deserialize)]
pub struct Document {
    pub command: String,
    pub command_line: String,
    pub options: Map<String, Value>,
    pub version: String,
    pub commit: Option<String>,
    pub machine: Map<String, Value>,
    pub tables: Vec<Descriptor>,
    pub results: Map<String, Value>,
}

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DocumentError {
    #[error("no results of dpamatch: {0}")]
    Json(#[from] serde_json::Error),
    #[error("no results of dpamatch: there is no member \"schema\"")]
    NoSchema,
    #[error("has the form {found}; this program reads {SCHEMA}")]
    Schema { found: String },
}

#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Mismatch {
    #[error("results of `{0}` and of `{1}` cannot be compared")]
    Commands(String, String),
    #[error("results of `{0}` have no figures to compare")]
    NoFigures(String),
    #[error("there is no row that both have: other scenarios, options or placements")]
    NothingInCommon,
}

impl Document {
    pub fn parse(text: &str) -> Result<Self, DocumentError> {
        let value: Value = serde_json::from_str(text)?;
        match value.get("schema").and_then(Value::as_str) {
            None => Err(DocumentError::NoSchema),
            Some(SCHEMA) => Ok(serde_json::from_value(value)?),
            Some(found) => Err(DocumentError::Schema {
                found: found.to_owned(),
            }),
        }
    }

    pub(super) fn rows(&self, table: &str) -> impl Iterator<Item = &Map<String, Value>> {
        let rows = self.results.get(table).and_then(Value::as_array);
        rows.into_iter().flatten().filter_map(Value::as_object)
    }
}

/// A column's heading as an identifier: `us per block` becomes `us_per_block`, `gain %` becomes
/// `gain_percent`.
pub fn snake_case(heading: &str) -> String {
    let words = heading.replace('%', " percent ").to_lowercase();
    let words = words
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("_")
}
