//! A document of results, read back.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::direction::Better;

/// Which form of document this program writes and reads.
pub const SCHEMA: &str = "dpamatch-results-1";

/// What the rows of a table are.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Descriptor {
    /// The name of the array of rows in the results.
    pub name: String,
    /// What it is, in words.
    pub title: String,
    /// What must be known to read it.
    pub notes: Vec<String>,
    /// Members that say what a row is of.
    pub keys: Vec<String>,
    /// Members that can be compared with those of another document.
    pub figures: Vec<Figure>,
}

/// A figure of a table.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Figure {
    /// The member's name. If the rows have a member of this name with `_rounds` behind it, the
    /// figure was measured so many times.
    pub name: String,
    /// Which way it is better, if there is one.
    pub better: Option<Better>,
}

/// Results of a command.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub struct Document {
    /// The command's name and that of its subcommand.
    pub command: String,
    /// As it was called.
    pub command_line: String,
    /// Values of all its options.
    pub options: Map<String, Value>,
    /// The program's version.
    pub version: String,
    /// Its commit, if that is known.
    pub commit: Option<String>,
    /// Where it ran.
    pub machine: Map<String, Value>,
    /// What the tables in the results are.
    pub tables: Vec<Descriptor>,
    /// The results.
    pub results: Map<String, Value>,
}

/// Why a text is no document of results.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DocumentError {
    /// It is something else.
    #[error("no results of dpamatch: {0}")]
    Json(#[from] serde_json::Error),
    /// It does not say its form.
    #[error("no results of dpamatch: there is no member \"schema\"")]
    NoSchema,
    /// It has another form.
    #[error("has the form {found}; this program reads {SCHEMA}")]
    Schema {
        /// Its form.
        found: String,
    },
}

/// Two documents that cannot be compared.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Mismatch {
    /// Of two commands.
    #[error("results of `{0}` and of `{1}` cannot be compared")]
    Commands(String, String),
    /// There are no tables with figures.
    #[error("results of `{0}` have no figures to compare")]
    NoFigures(String),
    /// No row of the one is in the other.
    #[error("there is no row that both have: other scenarios, options or placements")]
    NothingInCommon,
}

impl Document {
    /// Reads a document.
    ///
    /// # Errors
    /// It is no JSON, no results, or of another form.
    pub fn parse(text: &str) -> Result<Self, DocumentError> {
        let value: Value = serde_json::from_str(text)?;
        match value.get("schema").and_then(Value::as_str) {
            None => Err(DocumentError::NoSchema),
            Some(SCHEMA) => Ok(serde_json::from_value(value)?),
            Some(found) => Err(DocumentError::Schema { found: found.to_owned() }),
        }
    }

    /// The rows of a table.
    pub(super) fn rows(&self, table: &str) -> impl Iterator<Item = &Map<String, Value>> {
        let rows = self.results.get(table).and_then(Value::as_array);
        rows.into_iter().flatten().filter_map(Value::as_object)
    }
}

/// A column's heading as a name for programs: `us per block` is `us_per_block`, `gain %` is
/// `gain_percent`.
pub fn snake_case(heading: &str) -> String {
    let words = heading.replace('%', " percent ").to_lowercase();
    let words = words.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("_")
}
