//! `dpamatch analyze` from the outside.

use std::collections::BTreeMap;

use super::*;

fn archive(name: &str) -> String {
    format!("../tests/data/traces/{name}/{name}.dumpi.tar.xz")
}

/// What `analyze` prints, with lines as long as they are: other tests look at these. `$NAME` is a
/// trace.
fn analyze(line: &str) -> String {
    let word = |word: &str| {
        word.strip_prefix('$')
            .map_or_else(|| word.to_owned(), archive)
    };
    let words: Vec<String> = line.split_whitespace().map(word).collect();
    text(&command("analyze", &format!("{} --wide", words.join(" "))))
}

fn text(output: &Output) -> String {
    assert!(output.stderr.is_empty(), "{}", said(output));
    super::text(output).to_owned()
}

/// Who does as the report says has a NIC that is large enough, and not twice as large.
#[test]
fn advice_on_tables_can_be_followed() {
    let small = "--receives 2 --unexpected 4 --unexpected-buffers 1";
    let analyze = |options: &str| analyze(&format!("$lulesh-27 --bins 1 --sweep 4 {options}"));
    let out = analyze(small);
    assert!(out.contains("does not fit: "), "{out}");
    assert!(
        out.contains("whether more bins save steps"),
        "nothing is said of what was not asked: {out}"
    );
    let (_, advice) = out.split_once("\n  tables: ").expect("advice");
    let (options, _) = advice.split_once(" suffice").expect("options");
    let options: Vec<&str> = options.split(' ').collect();
    assert_eq!(options.len(), 10, "{options:?}");
    assert!(
        analyze(&options.join(" ")).contains("fits the NIC"),
        "{options:?}"
    );
    // Half of any of them is too little.
    for place in [1, 3, 5] {
        let half = (options[place].parse::<u32>().expect("a number") / 2).to_string();
        let mut less = options.clone();
        less[place] = &half;
        if place == 3 {
            less[5] = &half;
        }
        assert!(
            analyze(&less.join(" ")).contains("does not fit: "),
            "{less:?}"
        );
    }
}

/// Names and contents of the figures in a folder; every picture is whole.
fn figures(folder: &Path) -> BTreeMap<String, String> {
    let files = std::fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path());
    let pictures = files.filter(|path| path.extension().is_some_and(|ending| ending == "svg"));
    let read = |path: PathBuf| {
        let svg = std::fs::read_to_string(&path).expect("text");
        assert!(
            svg.starts_with("<svg ") && svg.ends_with("</svg>\n"),
            "{path:?}"
        );
        assert!(
            path.with_extension("csv").exists(),
            "the numbers of {path:?}"
        );
        (
            path.file_stem()
                .expect("a name")
                .to_string_lossy()
                .into_owned(),
            svg,
        )
    };
    pictures.map(read).collect()
}

/// Figures 6 and 7 (O33, O34, O36), and those of one application.
#[test]
fn figures_are_written_and_are_the_same_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let draw = |name: &str, order: &str| {
        let out = folder.path().join(name);
        analyze(&format!(
            "$lulesh-27 $minife-16 --order {order} --out {}",
            out.display()
        ));
        (figures(&out), figures(&out.join("minife-16")))
    };
    let (both, one) = draw("first", "causal");
    let side_by_side = ["figure-bins", "figure-calls", "figure-tables"];
    assert!(both.keys().eq(side_by_side), "{:?}", both.keys());
    let alone = "bins calls communicators depth flows messages paths ranks sizes tables waits";
    let alone = alone.split(' ').map(|name| format!("figure-{name}"));
    assert!(one.keys().cloned().eq(alone), "{:?}", one.keys());
    // Every message of the table of traffic, and none of a rank to itself.
    let flows = std::fs::read_to_string(folder.path().join("first/minife-16/figure-flows.csv"));
    let flows = flows.expect("numbers");
    let messages = flows
        .lines()
        .filter_map(|line| line.strip_prefix("Messages,"));
    let count = |line: &str| {
        line.rsplit(',')
            .next()
            .and_then(|count| count.parse::<u64>().ok())
    };
    assert_eq!(messages.filter_map(count).sum::<u64>(), 6048);
    assert!(
        flows.contains("\nMessages,0,0,0\nMessages,0,1,42\n"),
        "{flows}"
    );
    assert!(
        draw("second", "causal") == (both, one),
        "the same bytes again"
    );
    assert_eq!(
        draw("third", "arrivals-first").1.len(),
        10,
        "orders without times have figures but of waits"
    );
}

/// Text up to the end of an attribute.
fn until_quote(text: &str) -> &str {
    text.split('"').next().unwrap_or_default()
}

#[test]
fn the_page_of_two_runs_shows_what_differs() {
    let folder = tempfile::tempdir().expect("a folder");
    let (out, other) = (folder.path().join("out"), archive("edge-4-openmpi"));
    let run = |more: &str| analyze(&format!("$edge-4-mpich --sweep 4 --against {other}{more}"));
    let said = run(&format!(" --out {}", out.display()));
    assert_eq!(said, run(""), "what is printed stays");
    let title = said.lines().next().expect("a title");
    let read = |name: &str| std::fs::read_to_string(out.join(name));
    let page = read("report.html").expect("a page");
    assert!(page.contains("<h2 id=\"more\">Compared with edge-4-openmpi</h2>"));
    assert!(
        page.contains(&format!("<a href=\"#more-differences\">{title}</a>")),
        "{title}"
    );
    assert_eq!(
        page.matches("edge-4-openmpi: ").count(),
        1,
        "its advice is a note"
    );
    let differences = read("differences.csv").expect("a table");
    let rows = differences.lines().count() - 1;
    assert!(
        title.contains(&format!("differ in {rows} of ")),
        "{title}: {differences}"
    );
}

/// The name of a trace's folder is the user's: nothing of it is markup, in no file.
#[test]
fn the_page_is_whole_and_needs_nothing_else() {
    let name = "<script>alert(1)<&'\"\u{1}";
    let write = || {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::copy(
            archive("minife-16"),
            folder.path().join(format!("{name}.tar.xz")),
        )
        .expect("a copy");
        let output = Command::new(DPAMATCH)
            .args(["analyze", &format!("{name}.tar.xz"), "--out", "out"])
            .current_dir(folder.path())
            .output();
        text(&output.expect("the program runs"));
        let out = folder.path().join("out");
        (
            std::fs::read_to_string(out.join("report.html")).expect("a page"),
            figures(&out),
        )
    };
    let (page, pictures) = write();
    assert!(page.starts_with("<!DOCTYPE html>\n") && page.ends_with("</body>\n</html>\n"));
    assert_eq!(
        page.matches("Set mpi_assert_no_any_tag").count(),
        1,
        "nothing is told twice"
    );
    for section in ["summary", "advice", "figures", "tables", "made"] {
        assert_eq!(
            page.matches(&format!("<h2 id=\"{section}\">")).count(),
            1,
            "{section}"
        );
    }
    // The contents lead to every section, figure and table, each of which exists once.
    let targets: Vec<&str> = page.split("<a href=\"#").skip(1).map(until_quote).collect();
    assert_eq!(targets.len(), page.matches(" href=").count(), "{targets:?}");
    for target in &targets {
        assert_eq!(
            page.matches(&format!(" id=\"{target}\"")).count(),
            1,
            "{target}"
        );
    }
    let ids: Vec<&str> = page.split(" id=\"").skip(1).map(until_quote).collect();
    assert_eq!(ids, targets);
    assert_eq!(
        (ids.len(), page.matches("<details ").count()),
        (5 + 11 + 15, 15),
        "{ids:?}"
    );
    // The main numbers come first: those of the summary.
    for (what, value) in [
        ("Messages", "6,048</dd><dd>642.38 KiB sent"),
        (
            "Unexpected messages",
            "2.4 %</dd><dd>144 before their receive",
        ),
        ("Receives with a wildcard", "2.4 %</dd><dd>144 of 6,048"),
        ("Fits the NIC", "yes</dd></div>"),
    ] {
        let tile = format!("<dt>{what}</dt><dd>{value}");
        assert!(page.find(&tile) < page.find("<nav "), "{tile}");
        assert!(page.contains(&tile), "{tile}: {page}");
    }
    // Cells say their value beside the pointer.
    assert!(page.contains("<title>from rank 0, to rank 1: 42</title>\n<rect "));
    for picture in pictures.keys() {
        assert_eq!(
            page.matches(&format!("<figure id=\"{picture}\">")).count(),
            1,
            "{picture}"
        );
    }
    assert!(
        page.contains(": 16 of 16 ranks, "),
        "what was read stands before the tables"
    );
    assert_eq!(page.matches("<svg ").count(), 11);
    assert_eq!(page.matches("<script").count(), 1);
    for outside in ["http", "src=", "@import", "<link", "\u{1}"] {
        assert!(!page.contains(outside), "{outside}");
        let in_a_picture = |svg: &String| {
            svg.replace("http://www.w3.org/2000/svg", "")
                .contains(outside)
        };
        assert!(!pictures.values().any(in_a_picture), "{outside}");
    }
    assert!(page.contains("&lt;script&gt;alert(1)&lt;&amp;&#39;&quot;\u{fffd}"));
    assert!(page.contains("<p>dpamatch ") && page.contains("<pre>dpamatch analyze "));
    assert!(write() == (page, pictures), "the same bytes again");
}
