//! `analyze --matches`: a Parquet file of all matches, and what the page's queries ask of it.

use std::collections::BTreeMap;
use std::fs::File;

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;

use super::*;

const TRACE: &str = "../tests/data/traces/minife-16/minife-16.dumpi.tar.xz";

type Row = BTreeMap<String, Field>;

fn rows(path: &Path) -> Vec<Row> {
    let file = SerializedFileReader::new(File::open(path).expect("a file")).expect("Parquet");
    let names = file.metadata().file_metadata().schema_descr().columns();
    let names: Vec<_> = names.iter().map(|column| column.name()).collect();
    let all = "rank comm source tag bytes posted_at arrived_at matched_at path steps";
    assert_eq!(names.join(" "), all);
    let rows = file.get_row_iter(None).expect("rows");
    let row = |row: parquet::record::Row| -> Row {
        let columns = row.get_column_iter();
        columns
            .map(|(name, field)| (name.clone(), field.clone()))
            .collect()
    };
    rows.map(|found| row(found.expect("a row"))).collect()
}

fn number(row: &Row, name: &str) -> Option<i64> {
    match row[name] {
        Field::Int(value) => Some(value.into()),
        Field::Long(value) => Some(value),
        Field::Null => None,
        ref other => panic!("{name}: {other}"),
    }
}

fn is_unexpected(row: &Row) -> bool {
    match &row["path"] {
        Field::Str(path) if path == "unexpected" => true,
        Field::Str(path) if path == "expected" => false,
        other => panic!("{other}"),
    }
}

fn written(order: &str) -> (TempDir, PathBuf, Value) {
    let folder = folder("matches");
    let file = folder.path().join("m.parquet");
    let path = file.to_str().expect("UTF-8");
    let trace = Path::new(env!("CARGO_MANIFEST_DIR")).join(TRACE);
    let trace = trace.to_str().expect("UTF-8");
    let words = [
        "analyze",
        trace,
        "--order",
        order,
        "--matches",
        path,
        "--format",
        "json",
    ];
    let output = dpamatch(&words);
    let report = results(&output)["traces"][0].clone();
    (folder, file, report)
}

#[test]
fn every_match_is_a_row() {
    let (_folder, file, report) = written("causal");
    let rows = rows(&file);
    let traffic = &report["application"]["traffic"];
    let unexpected = rows.iter().filter(|row| is_unexpected(row)).count();
    let expected = rows.len() - unexpected;
    assert!(unexpected > 0 && expected > 0);
    // Messages that no receive took are unexpected, too, and no matches.
    assert!(unexpected as u64 <= traffic["unexpected"].as_u64().expect("a count"));
    assert_eq!(Some(expected as u64), traffic["expected"].as_u64());
    let mut ranks = BTreeMap::<i64, usize>::new();
    for row in &rows {
        let at = |name: &str| number(row, name).expect("a number");
        assert_eq!(at("matched_at"), at("posted_at").max(at("arrived_at")));
        let is_late = at("arrived_at") < at("posted_at");
        assert!(is_unexpected(row) == is_late || at("arrived_at") == at("posted_at"));
        assert!(at("steps") >= 1 && (0..16).contains(&at("source")) && at("bytes") >= 0);
        *ranks.entry(at("rank")).or_default() += 1;
    }
    assert_eq!(ranks.len(), 16);
    // In each rank's order.
    let order = |rank: i64| {
        rows.iter()
            .filter(move |row| number(row, "rank") == Some(rank))
    };
    let times: Vec<_> = order(5).map(|row| number(row, "matched_at")).collect();
    assert!(times.is_sorted());
}

/// Guided orders have no times.
#[test]
fn an_order_without_times_has_none() {
    let (_folder, file, _) = written("posts-first");
    let rows = rows(&file);
    assert!(!rows.is_empty());
    for row in &rows {
        let times = ["posted_at", "arrived_at", "matched_at"];
        assert!(times.iter().all(|time| row[*time] == Field::Null) && !is_unexpected(row));
    }
}

/// What cannot be written leaves nothing.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_one_line() {
    let trace = Path::new(env!("CARGO_MANIFEST_DIR")).join(TRACE);
    let trace = trace.to_str().expect("UTF-8");
    let output = dpamatch(&["analyze", trace, "--matches", "/dev/full"]);
    assert_eq!(output.status.code(), Some(1));
    let said = said(&output);
    assert!(
        said.starts_with("dpamatch: cannot write /dev/full: "),
        "{said}"
    );
    assert_eq!(said.lines().count(), 1);
    let both = dpamatch(&["analyze", trace, trace, "--matches", "m.parquet"]);
    assert_eq!(both.status.code(), Some(2));
}

/// The three questions of the page, answered from the file.
fn answers(rows: &[Row]) -> String {
    let mut ranks = BTreeMap::<i64, Vec<i64>>::new();
    let mut sources = BTreeMap::<i64, (i64, i64)>::new();
    let [mut unexpected, mut all] = [0, 0];
    for row in rows {
        let at = |name: &str| number(row, name).expect("a number");
        ranks.entry(at("rank")).or_default().push(at("steps"));
        all += at("bytes");
        if is_unexpected(row) {
            unexpected += at("bytes");
            let (count, wait) = sources.entry(at("source")).or_default();
            *count += 1;
            *wait = at("matched_at").wrapping_sub(at("arrived_at")).max(*wait);
        }
    }
    let mut longest: Vec<_> = ranks
        .into_iter()
        .map(|(rank, steps)| {
            let mean = steps.iter().sum::<i64>() as f64 / steps.len() as f64;
            (steps.into_iter().max().unwrap_or(0), rank, mean)
        })
        .collect();
    longest.sort_by_key(|&(longest, rank, _)| (-longest, rank));
    let mut waits: Vec<_> = sources.into_iter().collect();
    waits.sort_by_key(|&(source, (count, _))| (-count, source));
    let mut text = String::new();
    for (longest, rank, mean) in longest.into_iter().take(5) {
        text += &format!("{rank} {longest} {mean:.6}\n");
    }
    for (source, (count, wait)) in waits.into_iter().take(5) {
        text += &format!("{source} {count} {wait}\n");
    }
    text + &format!("{:.6}\n", unexpected as f64 / all as f64)
}

#[test]
fn the_queries_of_the_page_have_answers() {
    let (_folder, file, _) = written("causal");
    let found = answers(&rows(&file));
    expect_test::expect![[r#"
        7 11 3.530303
        8 11 4.298701
        10 11 4.532468
        12 11 4.595238
        14 11 4.997835
        15 35 34088
        13 19 30616
        11 14 26252
        7 11 17327
        6 9 10518
        0.017732
    "#]]
    .assert_eq(&found);
    // The page's own words, where DuckDB is there.
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/analyze.md");
    let page = std::fs::read_to_string(page).expect("the page");
    let sql = page
        .split("```sql\n")
        .nth(1)
        .and_then(|it| it.split("```").next());
    let sql = sql
        .expect("the queries")
        .replace("m.parquet", file.to_str().expect("UTF-8"));
    assert_eq!(sql.matches(';').count(), 3);
    let script = format!(
        "import duckdb\nfor query in {sql:?}.split(';')[:3]:\n  for row in duckdb.sql(query).fetchall():\n    \
         print(' '.join('%.6f' % x if isinstance(x, float) else str(x) for x in row))"
    );
    let python = |script: &str| Command::new("python3").args(["-c", script]).output();
    if python("import duckdb").is_ok_and(|output| output.status.success()) {
        assert_eq!(text(&python(&script).expect("Python")), found);
    }
}
