//! `cargo xtask site`: the pages as a book for browsers, built by mdBook.
//!
//! `docs/SUMMARY.md` is the sidebar. The task copies its pages into `target/site`, with the help of
//! every command and the pages that `dpamatch explore` writes, and runs mdBook there. Links between
//! pages and to figures stay. A link to a source leads to the repository, if `REPOSITORY` has its
//! address, such as <https://example.org/owner/dpamatch>; otherwise it becomes plain text.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use crate::{Failure, process, root, target};

const SUMMARY: &str = "docs/SUMMARY.md";
/// The first page of the book, at its root.
const FRONT: &str = "docs/front.md";
/// The page whose commands with `--html` run; their pages stand below them.
const LIVE: &str = "docs/pictures.md";
/// The page with the help of all commands, below this heading of the sidebar.
const COMMANDS: &str = "docs/commands.md";
const ABOVE_COMMANDS: &str = "# Reference\n\n";

/// Runs the task.
pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    if !args.is_empty() {
        return Err(Failure::Usage("`site` takes no arguments".to_owned()));
    }
    build().map_err(Failure::Task)
}

fn build() -> Result<(), String> {
    let root = root();
    let site = target().join("site");
    finish(
        crate::cargo()
            .args(["build", "-p", "dpamatch_tools", "-p", "dpamatch_papers"])
            .current_dir(&root),
        &[0],
    )?;
    // What an earlier version left would become a part of this one.
    let _ = fs::remove_dir_all(&site);
    stage(&root, &site)?;
    let mut book = Command::new("mdbook");
    if let Some(address) = repository()? {
        book.env("MDBOOK_OUTPUT__HTML__GIT_REPOSITORY_URL", &address);
    }
    match book.arg("build").arg(&site).status() {
        Ok(status) if status.success() => {
            println!("the site is {}", site.join("book/index.html").display());
            Ok(())
        }
        Ok(_) => Err("mdbook failed".to_owned()),
        Err(error) => Err(format!(
            "mdbook: {error}; `cargo install mdbook` installs it; the pages are in {}",
            site.display()
        )),
    }
}

/// The address of the repository, for links to sources; without it pages have none.
fn repository() -> Result<Option<String>, String> {
    let Some(address) = env::var_os("REPOSITORY") else {
        return Ok(None);
    };
    let address = address.to_string_lossy();
    let address = address.trim_end_matches('/');
    if address.contains("://") {
        Ok(Some(address.to_owned()))
    } else {
        Err(format!(
            "REPOSITORY: {address}: an address with :// is needed"
        ))
    }
}

/// Runs a command; returns what it printed. `fine` are the exit codes of success.
fn finish(command: &mut Command, fine: &[i32]) -> Result<String, String> {
    let name = format!("{command:?}");
    let finished = process::run(command)?;
    match finished.status.code() {
        Some(code) if fine.contains(&code) => Ok(finished.stdout),
        _ => Err(format!("{name}: {}\n{}", finished.status, finished.output)),
    }
}

/// Copies the book's sources into `site`.
fn stage(root: &Path, site: &Path) -> Result<(), String> {
    let read = |page: &str| {
        fs::read_to_string(root.join(page)).map_err(|error| format!("{page}: {error}"))
    };
    let write = |path: PathBuf, text: &[u8]| {
        let made = path.parent().map_or(Ok(()), fs::create_dir_all);
        made.and_then(|()| fs::write(&path, text))
            .map_err(|error| format!("{}: {error}", path.display()))
    };
    let sources = site.join("src");
    for name in ["book.toml", "site.css"] {
        write(site.join(name), read(&format!("docs/{name}"))?.as_bytes())?;
    }
    let summary = read(SUMMARY)?;
    let pages: Vec<String> = links(&summary)
        .iter()
        .filter_map(|link| resolve(SUMMARY, link.target))
        .collect();
    let book = Book {
        pages,
        summary,
        repository: repository()?,
    };
    let own = target().join("debug/dpamatch");
    let dpamatch = |words: &[&str]| {
        finish(
            Command::new(&own).args(words).current_dir(&sources),
            &[0, 3],
        )
    };
    write(sources.join("SUMMARY.md"), book.sidebar().as_bytes())?;
    for page in &book.pages {
        let mut text = read(page)?;
        for link in links(&text).iter().filter(|link| book.is_file(page, link)) {
            let Some(file) = resolve(page, link.target) else {
                continue;
            };
            let bytes = fs::read(root.join(&file)).map_err(|error| format!("{file}: {error}"))?;
            write(sources.join(&file), &bytes)?;
        }
        if page == LIVE {
            for words in live(&text) {
                let words: Vec<&str> = words.split_whitespace().skip(1).collect();
                dpamatch(&words)?;
                let name = words.last().copied().unwrap_or_default();
                let to = sources.join("docs").join(name);
                fs::rename(sources.join(name), to).map_err(|error| format!("{name}: {error}"))?;
            }
            text = with_frames(&text);
        }
        write(
            sources.join(staged(page)),
            book.rebased(page, &text).as_bytes(),
        )?;
    }
    let mut help = "# Command line\n".to_owned();
    for program in ["dpamatch", "dpamatch-papers"] {
        let path = target().join("debug").join(program);
        help += &commands(program, &|words| {
            finish(Command::new(&path).args(words), &[0])
        })?;
    }
    write(sources.join(COMMANDS), help.as_bytes())
}

fn commands(
    program: &str,
    run: &dyn Fn(&[&str]) -> Result<String, String>,
) -> Result<String, String> {
    let top = run(&["--help"])?;
    let mut page = format!("\n```text\n{top}```\n");
    for name in names(&top) {
        let help = run(&[name, "--help"])?;
        let _ = write!(page, "\n## {program} {name}\n\n```text\n{help}```\n");
    }
    Ok(page)
}

/// The commands in a help text: words in the second column of lines below a heading, each before
/// two spaces or more.
fn names(help: &str) -> Vec<&str> {
    let entries = help.lines().take_while(|line| *line != "Options:");
    let entries = entries.filter_map(|line| line.strip_prefix("  "));
    let named = entries.filter_map(|line| line.split_once("  ").map(|(name, _)| name));
    let is_name =
        |name: &&str| !name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase() || b == b'-');
    named
        .filter(is_name)
        .filter(|name| *name != "help")
        .collect()
}

/// The commands of a page that write a page.
fn live(text: &str) -> Vec<&str> {
    text.lines()
        .filter(|line| line.starts_with("dpamatch ") && line.contains(" --html "))
        .collect()
}

/// The page with a frame below each block that has such a command.
fn with_frames(text: &str) -> String {
    let (mut out, mut open) = (String::new(), None);
    for line in text.lines() {
        let _ = writeln!(out, "{line}");
        if let [command] = live(line)[..] {
            open = command.split_whitespace().last();
        } else if line == "```"
            && let Some(name) = open.take()
        {
            let frame = format!("<iframe class=\"live\" src=\"{name}\" title=\"{name}\"></iframe>");
            let _ = write!(out, "\n{frame}\n\n[In a separate page]({name})\n");
        }
    }
    out
}

/// A link of a page: where its brackets begin and end, its words and its target.
struct Link<'a> {
    begin: usize,
    end: usize,
    words: &'a str,
    target: &'a str,
}

/// The links and pictures of a page, outside of code.
fn links(text: &str) -> Vec<Link<'_>> {
    let (mut found, mut at, mut fenced) = (Vec::new(), 0, false);
    for line in text.split_inclusive('\n') {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            for (middle, _) in line.match_indices("](") {
                let middle = at + middle;
                // The words may begin on an earlier line.
                let begin = text[..middle].rfind('[');
                let end = text[middle..].find(')').map(|length| middle + length);
                if let (Some(begin), Some(end)) = (begin, end) {
                    let (words, target) = (&text[begin + 1..middle], &text[middle + 2..end]);
                    found.push(Link {
                        begin,
                        end: end + 1,
                        words,
                        target,
                    });
                }
            }
        }
        at += line.len();
    }
    found
}

/// The path in the repository that a page's link leads to, without its anchor. `None` for an
/// address of the web.
fn resolve(page: &str, target: &str) -> Option<String> {
    let (path, _) = target.split_once('#').unwrap_or((target, ""));
    match () {
        () if target.contains("://") => return None,
        () if path.is_empty() => return Some(page.to_owned()),
        () => {}
    }
    let mut parts = Vec::new();
    for part in Path::new(page).parent()?.join(path).components() {
        match part {
            Component::ParentDir => _ = parts.pop()?,
            Component::Normal(part) => parts.push(part.to_str()?.to_owned()),
            _ => {}
        }
    }
    Some(parts.join("/"))
}

/// Where the book has a page: the front at the root, and `index.md` in place of another folder's
/// `README.md`, as browsers expect.
fn staged(page: &str) -> String {
    match page {
        FRONT => "index.md".to_owned(),
        "README.md" => "overview.md".to_owned(),
        _ => page
            .strip_suffix("README.md")
            .map_or(page.to_owned(), |folder| format!("{folder}index.md")),
    }
}

struct Book {
    pages: Vec<String>,
    summary: String,
    /// Address of the sources.
    repository: Option<String>,
}

impl Book {
    fn has(&self, path: &str) -> bool {
        self.pages.iter().any(|page| page == path)
    }

    fn is_file(&self, page: &str, link: &Link<'_>) -> bool {
        let path = resolve(page, link.target);
        path.is_some_and(|path| path.starts_with("docs/") && !path.ends_with(".md"))
    }

    /// The sidebar, seen from the root of the repository.
    fn sidebar(&self) -> String {
        let summary = replaced(&self.summary, |link| {
            let path = resolve(SUMMARY, link.target)?;
            Some(format!("[{}]({})", link.words, staged(&path)))
        });
        let entry = format!("{ABOVE_COMMANDS}- [Command line]({COMMANDS})\n");
        summary.replacen(ABOVE_COMMANDS, &entry, 1)
    }

    fn rebased(&self, page: &str, text: &str) -> String {
        let staged_page = staged(page);
        let up = "../".repeat(staged_page.matches('/').count());
        replaced(text, |link| {
            let path = resolve(page, link.target)?;
            let words = link.words;
            let anchor = link.target.split_once('#');
            let anchor = anchor.map_or(String::new(), |(_, name)| format!("#{name}"));
            if self.has(&path) {
                return Some(format!("[{words}]({up}{}{anchor})", staged(&path)));
            }
            // Frames are pages of the book, too.
            if self.is_file(page, link) || link.target.ends_with(".html") {
                return Some(format!("[{words}]({up}{path}{anchor})"));
            }
            Some(match &self.repository {
                Some(address) => format!("[{words}]({address}/blob/main/{path}{anchor})"),
                None => words.to_owned(),
            })
        })
    }
}

fn replaced(text: &str, change: impl Fn(&Link<'_>) -> Option<String>) -> String {
    let (mut out, mut at) = (String::new(), 0);
    for link in links(text) {
        if let Some(new) = change(&link) {
            out += &text[at..link.begin];
            out += &new;
            at = link.end;
        }
    }
    out + &text[at..]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn pages() -> BTreeMap<String, String> {
        let root = root();
        let mut git = Command::new("git");
        git.args([
            "ls-files",
            "--cached",
            "--others",
            "--exclude-standard",
            "*.md",
        ]);
        let listed = finish(git.current_dir(&root), &[0]).expect("git lists the pages");
        let text = |page: &str| Some((page.to_owned(), fs::read_to_string(root.join(page)).ok()?));
        let pages: BTreeMap<_, _> = listed.lines().filter_map(text).collect();
        assert!(pages.contains_key(SUMMARY), "{:?}", pages.keys());
        pages
    }

    /// The anchors of a page's headings, as browsers know them.
    fn anchors(text: &str) -> BTreeMap<String, usize> {
        let mut fenced = false;
        let headings = text.lines().enumerate().filter(|(_, line)| {
            fenced ^= line.starts_with("```");
            !fenced && line.starts_with('#')
        });
        let anchor = |line: &str| {
            let words = line
                .trim_start_matches('#')
                .trim()
                .to_lowercase()
                .replace(' ', "-");
            words
                .chars()
                .filter(|c| c.is_alphanumeric() || "-_".contains(*c))
                .collect()
        };
        headings.map(|(at, line)| (anchor(line), at + 1)).collect()
    }

    #[test]
    fn every_link_leads_somewhere() {
        let (root, pages) = (root(), pages());
        let mut wrong = Vec::new();
        for (page, text) in &pages {
            for link in links(text) {
                let Some(path) = resolve(page, link.target) else {
                    continue;
                };
                let anchor = link.target.split_once('#').map(|(_, anchor)| anchor);
                let headings = pages
                    .get(&path)
                    .map(|text| anchors(text))
                    .unwrap_or_default();
                let found = anchor.is_none_or(|anchor| headings.contains_key(anchor));
                if !root.join(&path).exists() || !found {
                    wrong.push(format!("{page}: {}", link.target));
                }
            }
        }
        assert!(wrong.is_empty(), "links to nothing:\n{}", wrong.join("\n"));
    }

    #[test]
    fn the_sidebar_has_every_page_and_the_pages_every_figure() {
        let (root, pages) = (root(), pages());
        let targets = |page: &str| -> Vec<String> {
            links(&pages[page])
                .iter()
                .filter_map(|link| resolve(page, link.target))
                .collect()
        };
        let listed = targets(SUMMARY);
        let twice = listed
            .iter()
            .find(|page| listed.iter().filter(|it| it == page).count() > 1);
        assert_eq!(twice, None, "listed twice");
        for page in ["CHANGELOG.md", "tests/data/traces/README.md"] {
            assert!(
                !listed.contains(&page.to_owned()),
                "{page} is for nobody outside"
            );
        }
        assert_eq!(listed[0], FRONT);
        let docs = pages
            .keys()
            .filter(|page| page.starts_with("docs/") && *page != SUMMARY);
        let absent: Vec<_> = docs.filter(|page| !listed.contains(page)).collect();
        assert!(absent.is_empty(), "not in {SUMMARY}: {absent:?}");
        let shown: Vec<String> = pages.keys().flat_map(|page| targets(page)).collect();
        for folder in ["docs/figures", "docs/figures/pictures"] {
            for entry in fs::read_dir(root.join(folder)).expect("a folder") {
                let entry = entry.expect("an entry");
                let name = format!("{folder}/{}", entry.file_name().to_string_lossy());
                assert!(
                    entry.path().is_dir() || shown.contains(&name),
                    "no page shows {name}"
                );
            }
        }
    }

    #[test]
    fn the_first_page_has_three_live_pages() {
        let text = &pages()[LIVE];
        let names: Vec<&str> = live(text)
            .iter()
            .filter_map(|words| words.split_whitespace().last())
            .collect();
        assert_eq!(names, ["fast.html", "slow.html", "broken.html"]);
        let framed = with_frames(text);
        for name in names {
            assert_eq!(
                framed.matches(&format!(" src=\"{name}\"")).count(),
                1,
                "{name}"
            );
        }
        assert_eq!(framed.matches("```").count(), text.matches("```").count());
    }

    /// What it is, the player, four doors, one figure.
    #[test]
    fn the_front_has_the_player_four_doors_and_a_figure() {
        let text = &pages()[FRONT];
        let doors = text.lines().filter(|line| line.starts_with("- **["));
        assert_eq!(doors.count(), 4);
        let player = text.find("<iframe").expect("a player");
        assert!(text.find("- **[").is_some_and(|door| player < door));
        assert_eq!(
            (text.matches("<iframe").count(), text.matches("![").count()),
            (1, 1)
        );
        let (_, rest) = text.split_once("src=\"docs/").expect("a source");
        // The frame opens at a step of the page.
        let (name, _) = rest.split_once("#step=").expect("its end");
        let live = live(&pages()[LIVE]).join(" ");
        assert!(live.contains(name), "{name} is no live page: {live}");
    }

    #[test]
    fn links_lead_to_pages_figures_and_sources() {
        let book = |repository: Option<&str>| Book {
            pages: [FRONT, "README.md", "docs/a.md", "loom_tests/README.md"]
                .map(Into::into)
                .into(),
            summary: String::new(),
            repository: repository.map(Into::into),
        };
        let text = "[o](../README.md#top) ![f](figures/f.svg) [s](../src/lib.rs) [m](a.md) \
                    [l](../loom_tests/README.md) [w](https://example.org) [v](fast.html)";
        let with = book(Some("https://example.org/x"));
        assert_eq!(
            with.rebased(FRONT, text),
            "[o](overview.md#top) ![f](docs/figures/f.svg) \
             [s](https://example.org/x/blob/main/src/lib.rs) [m](docs/a.md) \
             [l](loom_tests/index.md) [w](https://example.org) [v](docs/fast.html)"
        );
        assert_eq!(
            book(None).rebased("docs/a.md", text),
            "[o](../overview.md#top) ![f](../docs/figures/f.svg) s [m](../docs/a.md) \
             [l](../loom_tests/index.md) [w](https://example.org) [v](../docs/fast.html)"
        );
    }

    #[test]
    fn headings_have_the_anchors_of_browsers() {
        let text = "# A b\n```\n# no\n```\n## `bins` and 4D, at once\n";
        let anchors: Vec<_> = anchors(text).into_iter().collect();
        assert_eq!(
            anchors,
            [("a-b".into(), 1), ("bins-and-4d-at-once".into(), 5)]
        );
    }
}
