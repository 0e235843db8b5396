//! A report as one page that needs nothing else: style and pictures are in it, and no script.

use std::fmt::Write;

use super::csv;
use super::figures::printable;
use super::report::Report;
use crate::figure::Figure;

/// Narrow screens scroll wide tables and pictures and stack the advice; paper breaks neither a
/// picture nor a row.
const STYLE: &str = "\
body{font:16px/1.45 system-ui,sans-serif;max-width:72rem;margin:0 auto;padding:0 1rem;color:#222;background:#fff}
h1,h2,h3{line-height:1.2;overflow-wrap:anywhere}
.wide{overflow-x:auto;margin:.5rem 0 1.5rem}
table{border-collapse:collapse;font-size:.85rem}
th,td{padding:.25rem .6rem;border-bottom:1px solid #ccc;text-align:right;vertical-align:top}
th:first-child,td:first-child{text-align:left}
.words td,.words th{text-align:left}
pre{white-space:pre-wrap;overflow-wrap:anywhere;background:#f4f4f4;padding:.6rem}
figure{margin:1rem 0;overflow-x:auto}
svg{max-width:100%;height:auto}
@media(max-width:45rem){svg{max-width:none}.advice thead{display:none}.advice tr,.advice td{display:block}
.advice td{border:0;padding:.1rem 0}.advice tr{border-bottom:1px solid #ccc;padding:.4rem 0}.advice td:first-child{font-weight:bold}}
@media print{body{max-width:none;font-size:11px}figure,tr{break-inside:avoid}.wide{overflow:visible}}";

/// Files that are shown as tables: name, heading, and whether it is words rather than numbers. Of
/// files with lines for all ranks and each rank the former are shown.
const TABLES: [(&str, &str, bool); 13] = [
    ("calls.csv", "Calls by class", false),
    ("traffic.csv", "Messages and receives", false),
    ("bins.csv", "Queue lengths and searches", false),
    ("tables.csv", "Hash tables of posted receives", false),
    ("lifetime.csv", "The published analyzer's view", false),
    ("blocks.csv", "Optimistic matching by number of handlers", false),
    ("keys.csv", "Keys and sequences", false),
    ("needs.csv", "What the NIC has to hold", false),
    ("communicators.csv", "Communicators", false),
    ("hints.csv", "Hints", true),
    ("engines.csv", "Engines", true),
    ("sites.csv", "Call sites", true),
    ("unmatched.csv", "Unmatched at the end", true),
];

/// Text between tags or in quotes: nothing of it is markup.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let (line, end) = line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n"));
        for c in printable(line).chars() {
            match c {
                '&' => out += "&amp;",
                '<' => out += "&lt;",
                '>' => out += "&gt;",
                '"' => out += "&quot;",
                '\'' => out += "&#39;",
                _ => out.push(c),
            }
        }
        out += end;
    }
    out
}

/// The page of an application. `summary` is the report in words, `command` what made it. The same
/// report gives the same bytes.
pub fn page(report: &Report, figures: &[(&str, Figure)], summary: &str, command: &str) -> String {
    let name = escaped(&report.name);
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>Matching of {name}</title>\n<style>\n{STYLE}\n</style>\n</head>\n<body>\n<h1>Matching of {name}</h1>\n"
    );
    // Writing into memory cannot fail.
    let _ = write!(out, "<h2 id=\"summary\">Summary</h2>\n<pre>{}</pre>\n", escaped(summary));
    out += "<h2 id=\"advice\">Advice</h2>\n";
    let files = csv::files(report);
    let file =
        |name: &str| files.iter().find(|(known, _)| *known == name).map_or("", |(_, text)| text);
    out += &table(file("advice.csv"), "words advice");
    out += "<h2 id=\"figures\">Figures</h2>\n";
    for (name, figure) in figures {
        if let Some(svg) = figure.svg() {
            let _ = write!(out, "<figure id=\"{name}\">\n{}</figure>\n", inline(&svg, name));
        }
    }
    out += "<h2 id=\"tables\">Tables</h2>\n";
    for (name, heading, words) in TABLES {
        let table = table(file(name), if words { "words" } else { "numbers" });
        if !table.is_empty() {
            let _ = write!(out, "<h3>{heading}</h3>\n{table}");
        }
    }
    let _ = write!(
        out,
        "<h2 id=\"made\">How this was made</h2>\n<pre>{}</pre>\n<p>dpamatch {}. The numbers of every rank are in the CSV \
         files beside this page, all of them in <code>report.json</code>.</p>\n</body>\n</html>\n",
        escaped(command),
        crate::version::VERSION
    );
    out
}

/// A CSV file as a table, without the lines of single ranks; nothing if no line is left.
fn table(text: &str, class: &str) -> String {
    let mut reader = ::csv::ReaderBuilder::new().has_headers(false).from_reader(text.as_bytes());
    let records: Vec<_> = reader.records().filter_map(Result::ok).collect();
    let Some((header, rows)) = records.split_first() else { return String::new() };
    let has_total = rows.first().is_some_and(|row| &row[0] == "all");
    let skip = usize::from(has_total);
    let rows: Vec<_> = rows.iter().filter(|row| !has_total || &row[0] == "all").collect();
    if rows.is_empty() {
        return String::new();
    }
    let mut out = format!("<div class=\"wide\"><table class=\"{class}\">\n<thead><tr>");
    for field in header.iter().skip(skip) {
        let _ = write!(out, "<th>{}</th>", escaped(&field.replace('_', " ")));
    }
    out += "</tr></thead>\n<tbody>\n";
    for row in rows {
        out += "<tr>";
        for field in row.iter().skip(skip) {
            let _ = write!(out, "<td>{}</td>", escaped(field));
        }
        out += "</tr>\n";
    }
    out + "</tbody></table></div>\n"
}

/// A picture as part of a page: it shrinks with the page, its clip paths have names of their own,
/// and the name space, which looks like an address, goes, as pages do not need it.
fn inline(svg: &str, name: &str) -> String {
    let Some((tag, rest)) = svg.split_once('>') else { return String::new() };
    let value = |attribute: &str| {
        let from = tag.split_once(&format!(" {attribute}=\"")).map_or("", |(_, from)| from);
        from.split('"').next().unwrap_or_default().to_owned()
    };
    let (width, height) = (value("width"), value("height"));
    let tag = tag.replace(
        " xmlns=\"http://www.w3.org/2000/svg\"",
        &format!(" viewBox=\"0 0 {width} {height}\""),
    );
    let rest = rest.replace("\"kuva-clip-", &format!("\"{name}-clip-"));
    let rest = rest.replace("url(#kuva-clip-", &format!("url(#{name}-clip-"));
    format!("{tag}>{rest}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::{Axis, Bars};

    #[test]
    fn nothing_of_a_trace_is_markup() {
        let hostile = "</pre><script>alert('1')</script>\"&\u{1}\nnext";
        assert_eq!(
            escaped(hostile),
            "&lt;/pre&gt;&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&quot;&amp;\u{fffd}\nnext"
        );
        let file = "id,name\n1,\"<img src=x onerror=a, b>\"\n";
        let table = table(file, "numbers");
        assert!(table.contains("<td>&lt;img src=x onerror=a, b&gt;</td>"), "{table}");
    }

    #[test]
    fn totals_stand_for_their_ranks() {
        let all = table("rank,sends\nall,3\n0,1\n1,2\n", "numbers");
        assert!(
            all.contains("<th>sends</th>")
                && all.contains("<td>3</td>")
                && !all.contains("<td>1</td>"),
            "{all}"
        );
        assert_eq!(table("engine,counter,value\n", "words"), "");
    }

    #[test]
    fn pictures_shrink_and_have_names_of_their_own() {
        let bars = Bars::new("b", "", Axis::linear("y"), ["<g>"]).with("s", [1.0]);
        let svg = Figure::new("f").with(bars).svg().expect("a picture");
        let inlined = inline(&svg, "figure-x");
        assert!(inlined.contains(" viewBox=\"0 0 ") && !inlined.contains("http"), "{inlined}");
        assert!(!inlined.contains("<g><") && inlined.contains("&lt;g&gt;"), "{inlined}");
        assert!(
            !inlined.contains("kuva-clip-") && inlined.contains("url(#figure-x-clip-0)"),
            "{inlined}"
        );
    }
}
