//! Stories as one page for a browser.

use serde::Serialize;

use crate::Story;

#[derive(Clone, Debug, Serialize)]
pub struct Page {
    pub title: String,
    /// The command or failed model that made it.
    pub source: String,
    /// The stories, side by side where there is room.
    pub stories: Vec<Story>,
}

const TEMPLATE: &str = include_str!("page.html");
/// Placeholder for the data in the template.
const DATA: &str = "/*DATA*/";

impl Page {
    pub fn html(&self) -> String {
        let data = serde_json::to_string(self).expect("plain data is always JSON");
        // A `<` could end the script element; JSON has it in strings only.
        TEMPLATE.replacen(DATA, &data.replace('<', "\\u003c"), 1)
    }
}
