//! Writes the tables of docs/domains.md:
//! `cargo run -p dpamatch_papers --example domains -- TRACE..`.
//!
//! Without traces the table of recorded programs stays as it is.

use std::path::Path;

use anyhow::Context;
use dpamatch_papers::domains::{predicted, recorded};

fn main() -> anyhow::Result<()> {
    let traces: Vec<String> = std::env::args().skip(1).collect();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/domains.md");
    let mut page = std::fs::read_to_string(&path).context("docs/domains.md")?;
    let mut tables = predicted()?;
    match traces.is_empty() {
        true => println!("no traces given: the table of recorded programs stays as it is"),
        false => tables.push(recorded(&traces)?),
    }
    for table in tables {
        println!("{}\n{}", table.name, table.text);
        let new = table.put(&page);
        page = new.with_context(|| format!("docs/domains.md has no marker of {}", table.name))?;
    }
    std::fs::write(&path, page).context("docs/domains.md")
}
