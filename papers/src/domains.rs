//! The tables of docs/domains.md. `cargo run -p dpamatch_papers --example domains` writes them.

use std::fmt::Write;
use std::path::Path;

use clap::Parser;
use dpamatch_predict::{Domains, Setup, predict};
use dpamatch_tools::cli::predict::domains::{Program, program};
use dpamatch_tools::cli::predict::recorded::{PostArgs, all_ranks};
use dpamatch_tools::cli::predict::{Common, Like, Workload, wrong};

use crate::ASSUMPTIONS;

/// Profiles of the tables: counted instructions, and guesses of work scaled by one fitted factor.
const PROFILES: [(&str, &str); 2] = [
    ("counted", "bluefield3-instructions"),
    ("fitted", "bluefield3"),
];
const HANDLERS: [usize; 4] = [1, 8, 32, 190];
const SEPARATE: [&str; 6] = ["nc", "mixed:5", "mixed:10", "mixed:25", "mixed:50", "wc-fp"];
/// Workloads in which wildcards merge domains, or that are chosen against them.
const MERGED: [&str; 8] = [
    "senders:5",
    "senders:5+hot:4",
    "senders:25+hot:4",
    "senders:5+any-source:1",
    "senders:5+any-tag:1",
    "senders:5+any-source:1+any-tag:1",
    "senders:5+standing",
    "senders:100+any-source:50",
];
const ASSUMED: [&str; 5] = ["nc", "mixed:5", "mixed:25", "wc-fp", "senders:5+standing"];
/// Handlers of the tables of assumptions and of programs.
const USUAL: usize = 32;

/// A table of the page: what stands in its markers, and its lines.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PageTable {
    pub name: String,
    pub text: String,
}

#[derive(Debug, clap::Parser)]
struct Alone {
    #[command(flatten)]
    common: Common,
}

fn common(profile: &str) -> Common {
    Alone::parse_from(["domains", "--profile", profile]).common
}

/// Three significant digits, as the page has them.
fn short(value: f64) -> String {
    match value.abs() {
        100.0.. => format!("{value:.0}"),
        10.0.. => format!("{value:.1}"),
        1.0.. => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

fn row(cells: impl IntoIterator<Item = String>) -> String {
    let cells: Vec<_> = cells.into_iter().collect();
    format!("| {} |\n", cells.join(" | "))
}

fn head(names: &[String]) -> String {
    row(names.iter().cloned()) + "|" + &"---|".repeat(names.len()) + "\n"
}

fn rate(setup: Setup, domains: Domains, workload: &Workload) -> anyhow::Result<f64> {
    let setup = Setup { domains, ..setup };
    Ok(predict(&setup, &workload.offer, 0).map_err(wrong)?.rate)
}

/// The rates with the paper's rule and with domains.
fn pair(common: &Common, name: &str, handlers: usize) -> anyhow::Result<[f64; 2]> {
    let workload = Workload::parse(name, common.seed, 8)?;
    let setup = || workload.setup(common, Like::Nic, handlers);
    Ok([
        rate(setup()?, Domains::Paper, &workload)?,
        rate(setup()?, Domains::Keyed, &workload)?,
    ])
}

/// Rates of workloads over the number of handlers. The higher rate of a pair is bold.
fn rates(common: &Common, workloads: &[&str]) -> anyhow::Result<String> {
    let mut names = vec!["workload".to_owned()];
    for handlers in HANDLERS {
        names.extend([format!("{handlers}: paper"), "domains".to_owned()]);
    }
    let mut text = head(&names);
    for workload in workloads {
        let mut cells = vec![format!("`{workload}`")];
        for handlers in HANDLERS {
            let pair = pair(common, workload, handlers)?;
            let [paper, keyed] = pair.map(short);
            let bold = |text: &str| format!("**{text}**");
            cells.extend(match pair[0].total_cmp(&pair[1]) {
                _ if paper == keyed => [paper, keyed],
                std::cmp::Ordering::Less => [paper, bold(&keyed)],
                _ => [bold(&paper), keyed],
            });
        }
        text += &row(cells);
    }
    Ok(text)
}

/// The least, the given and the highest quotient of the rates over all assumptions.
fn assumed() -> anyhow::Result<String> {
    let commons = PROFILES.map(|(_, profile)| common(profile));
    let mut names = vec!["workload".to_owned()];
    for (kind, _) in PROFILES {
        names.extend([
            format!("{kind}: as given"),
            "least".to_owned(),
            "most".to_owned(),
        ]);
    }
    let mut text = head(&names);
    for name in ASSUMED {
        let mut cells = vec![format!("`{name}`")];
        for common in &commons {
            let workload = Workload::parse(name, common.seed, 8)?;
            let mut gains = Vec::new();
            for (_, change) in ASSUMPTIONS {
                let with = |domains| {
                    let mut setup = workload.setup(common, Like::Nic, USUAL)?;
                    change(&mut setup);
                    rate(setup, domains, &workload)
                };
                gains.push(with(Domains::Keyed)? / with(Domains::Paper)?);
            }
            let least = gains.iter().copied().fold(f64::INFINITY, f64::min);
            let most = gains.iter().copied().fold(0.0, f64::max);
            cells.extend([gains[0], least, most].map(short));
        }
        text += &row(cells);
    }
    Ok(text)
}

/// A program with counted instructions and with fitted work, and what it would gain if the paper's
/// arm also booked.
fn one_program(path: &Path) -> anyhow::Result<[[Program; 2]; 2]> {
    let mut all = Vec::new();
    for (_, profile) in PROFILES {
        let common = common(profile);
        let (name, workloads) = all_ranks(path, PostArgs::default(), &common)?;
        let of = |books| program(name.clone(), &workloads, USUAL, &common, books, || true);
        all.push([of(false)?, of(true)?]);
    }
    let two: [[Program; 2]; 2] = all.try_into().expect("two profiles");
    Ok(two)
}

fn programs(traces: &[impl AsRef<Path>]) -> anyhow::Result<String> {
    let names = "program, messages per block, first, waits: paper, domains, rate: paper, domains, \
                 gain (by rank), fitted: gain (by rank), if the paper's arm books: counted, fitted";
    let mut text = head(&names.split(", ").map(str::to_owned).collect::<Vec<_>>());
    for path in traces {
        let [[counted, counted_books], [fitted, fitted_books]] = one_program(path.as_ref())?;
        let gain = |program: &Program| {
            let (least, most) = program.of_ranks;
            format!("{:.1} % ({least:.1} to {most:.1})", program.gain_percent())
        };
        text += &row([
            counted.name.clone(),
            format!("{:.1}", counted.per_block()),
            format!("{:.1} %", counted.first_percent()),
            short(counted.paper.waited_ns()),
            short(counted.keyed.waited_ns()),
            short(counted.paper.rate()),
            short(counted.keyed.rate()),
            gain(&counted),
            gain(&fitted),
            format!("{:.1} %", counted_books.gain_percent()),
            format!("{:.1} %", fitted_books.gain_percent()),
        ]);
    }
    Ok(text)
}

/// All tables that need no recordings, in the page's order.
///
/// # Errors
/// A workload cannot be simulated.
pub fn predicted() -> anyhow::Result<Vec<PageTable>> {
    let mut tables = Vec::new();
    for (kind, profile) in PROFILES {
        let common = common(profile);
        tables.push(PageTable {
            name: format!("separate, {kind}"),
            text: rates(&common, &SEPARATE)?,
        });
    }
    tables.push(PageTable {
        name: "merged, counted".to_owned(),
        text: rates(&common(PROFILES[0].1), &MERGED)?,
    });
    tables.push(PageTable {
        name: "assumptions".to_owned(),
        text: assumed()?,
    });
    Ok(tables)
}

/// The table of recorded programs.
///
/// # Errors
/// A trace cannot be read or simulated.
pub fn recorded(traces: &[impl AsRef<Path>]) -> anyhow::Result<PageTable> {
    Ok(PageTable {
        name: "programs".to_owned(),
        text: programs(traces)?,
    })
}

/// Marker in front of a table on the page.
fn marker(name: &str) -> String {
    format!("<!-- table: {name} -->\n")
}

impl PageTable {
    /// The table that a page has under this name.
    pub fn on(page: &str, name: &str) -> Option<Self> {
        let (_, behind) = page.split_once(&marker(name))?;
        let lines = behind.split_inclusive('\n');
        let text = lines.take_while(|line| line.starts_with('|')).collect();
        Some(Self {
            name: name.to_owned(),
            text,
        })
    }

    /// The page with this table in place of the one behind its marker; `None` without the marker.
    pub fn put(&self, page: &str) -> Option<String> {
        let old = Self::on(page, &self.name)?;
        let marker = marker(&self.name);
        let (before, behind) = page.split_once(&marker)?;
        let mut new = String::new();
        write!(
            new,
            "{before}{marker}{}{}",
            self.text,
            &behind[old.text.len()..]
        )
        .ok()?;
        Some(new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_takes_the_place_of_the_old_one() {
        let page = "a\n<!-- table: x -->\n| 1 |\n|---|\n\nb\n| 2 |\n";
        let table = |text: &str| PageTable {
            name: "x".to_owned(),
            text: text.to_owned(),
        };
        assert_eq!(PageTable::on(page, "x"), Some(table("| 1 |\n|---|\n")));
        assert_eq!(PageTable::on(page, "y"), None);
        let new = table("| 3 |\n").put(page).expect("it has a marker");
        assert_eq!(new, "a\n<!-- table: x -->\n| 3 |\n\nb\n| 2 |\n");
    }

    #[test]
    fn numbers_have_three_digits() {
        let numbers = [0.514, 1.219, 12.38, 615.04, -3.0].map(short);
        assert_eq!(numbers, ["0.514", "1.22", "12.4", "615", "-3.00"]);
    }
}
