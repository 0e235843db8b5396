//! Tables in HTML pages.

use super::Table;

/// Replaces characters that XML cannot hold; names come from files and traces.
pub fn printable(text: &str) -> String {
    let allowed = |c: char| {
        if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') {
            '\u{fffd}'
        } else {
            c
        }
    };
    text.chars().map(allowed).collect()
}

pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let (line, end) = line
            .strip_suffix('\n')
            .map_or((line, ""), |line| (line, "\n"));
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

impl Table {
    /// A table of this class, in a frame that scrolls on narrow pages.
    pub fn html(&self, class: &str) -> String {
        let line = |tag: &str, texts: &mut dyn Iterator<Item = String>| {
            let cells: String = texts
                .map(|text| format!("<{tag}>{}</{tag}>", escaped(&text)))
                .collect();
            format!("<tr>{cells}</tr>")
        };
        let head = line(
            "th",
            &mut self.names().iter().map(|name| name.replace('_', " ")),
        );
        let rows = self
            .rows
            .iter()
            .map(|row| line("td", &mut row.iter().map(|cell| cell.shown())));
        let rows: String = rows.map(|row| row + "\n").collect();
        format!(
            "<div class=\"wide\"><table class=\"{class}\">\n<thead>{head}</thead>\n\
             <tbody>\n{rows}</tbody></table></div>\n"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_is_markup() {
        let hostile = "</pre><script>alert('1')</script>\"&\u{1}\nnext";
        assert_eq!(
            escaped(hostile),
            "&lt;/pre&gt;&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&quot;&amp;\u{fffd}\nnext"
        );
        let mut table = Table::new("t", "Title", ["id", "first_name"]);
        table.push([1_u64.into(), "<img src=x onerror=a, b>".into()]);
        let page = table.html("numbers");
        assert!(
            page.contains("<td>&lt;img src=x onerror=a, b&gt;</td>"),
            "{page}"
        );
        assert!(page.contains("<table class=\"numbers\">"), "{page}");
        assert!(page.contains("<th>first name</th>"), "{page}");
    }
}
