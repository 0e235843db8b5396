//! Stories as one page for a browser.

use serde::Serialize;

use crate::Story;

/// A page: one file that needs nothing else.
#[derive(Clone, Debug, Serialize)]
pub struct Page {
    /// Its title.
    pub title: String,
    /// Where it is from: the command that made it, or the model that failed.
    pub source: String,
    /// The stories, side by side where there is room.
    pub stories: Vec<Story>,
}

const TEMPLATE: &str = include_str!("page.html");
/// What the data takes the place of.
const DATA: &str = "/*DATA*/";

impl Page {
    /// The page as HTML.
    pub fn html(&self) -> String {
        let data = serde_json::to_string(self).expect("plain data is always JSON");
        // Inside a script element `<` could end it; JSON has it in strings only.
        TEMPLATE.replacen(DATA, &data.replace('<', "\\u003c"), 1)
    }
}
