//! Matches as a Parquet file, for tools such as DuckDB and Polars.

use std::io::{self, Write};
use std::sync::Arc;

use parquet::basic::Encoding;
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::ColumnPath;

use super::matches::{Match, matches};
use super::order::Order;
use super::run::Run;

/// The columns; `docs/analyze.md` describes them.
const SCHEMA: &str = "message matches {
    required int32 rank;
    required int32 comm;
    optional int32 source;
    required int32 tag;
    optional int64 bytes;
    optional int64 posted_at;
    optional int64 arrived_at;
    optional int64 matched_at;
    required binary path (UTF8);
    required int32 steps;
}";

/// Rows of a group, which bounds the memory of writing.
const GROUP: usize = 1 << 18;

/// Writes the matches of all ranks, rank by rank, each in the order in which they came about.
/// `receives` has the receive of each message at each rank. Returns the number of rows.
///
/// # Errors
/// The file cannot be written.
pub fn write_parquet(
    run: &Run,
    orders: &[Order],
    receives: &[Vec<u32>],
    out: &mut (dyn Write + Send),
) -> io::Result<u64> {
    let schema = parse_message_type(SCHEMA).map_err(failed)?;
    let mut properties = WriterProperties::builder();
    // Times and counts differ in each row, so a dictionary would only cost.
    for name in ["bytes", "posted_at", "arrived_at", "matched_at"] {
        let path = ColumnPath::from(name);
        properties = properties
            .set_column_dictionary_enabled(path.clone(), name == "bytes")
            .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
    }
    let properties = Arc::new(properties.build());
    let mut file = SerializedFileWriter::new(out, Arc::new(schema), properties).map_err(failed)?;
    let mut rows = Vec::new();
    let (mut count, mut error) = (0, None);
    for ((view, order), receives) in run.views().zip(orders).zip(receives) {
        matches(view, order, receives, |found| {
            rows.push(found);
            if rows.len() == GROUP && error.is_none() {
                error = group(&mut file, &rows).err();
                rows.clear();
            }
            count += 1;
        });
        if let Some(error) = error {
            return Err(failed(error));
        }
    }
    if !rows.is_empty() {
        group(&mut file, &rows).map_err(failed)?;
    }
    file.close().map_err(failed)?;
    Ok(count)
}

/// The system's error, which says what is wrong with the file.
fn failed(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(error) => match error.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(error) => io::Error::other(error),
        },
        error => io::Error::other(error),
    }
}

fn group(
    file: &mut SerializedFileWriter<&mut (dyn Write + Send)>,
    rows: &[Match],
) -> Result<(), ParquetError> {
    let names: Vec<String> = file
        .schema_descr()
        .columns()
        .iter()
        .map(|column| column.name().to_owned())
        .collect();
    let mut group = file.next_row_group()?;
    for name in names {
        let Some(mut column) = group.next_column()? else {
            break;
        };
        match column.untyped() {
            ColumnWriter::Int32ColumnWriter(writer) => {
                let value = |row: &Match| match name.as_str() {
                    "rank" => Some(row.rank as i32),
                    "comm" => Some(row.comm as i32),
                    "source" => row.source.map(|source| source as i32),
                    "tag" => Some(row.tag),
                    _ => Some(row.steps as i32),
                };
                let (values, levels) = levels(rows, value);
                let levels = (name == "source").then_some(&levels[..]);
                writer.write_batch(&values, levels, None)?;
            }
            ColumnWriter::Int64ColumnWriter(writer) => {
                let value = |row: &Match| match name.as_str() {
                    "bytes" => row.bytes,
                    "posted_at" => row.posted_at,
                    "arrived_at" => row.arrived_at,
                    _ => row.matched_at,
                };
                let (values, levels) = levels(rows, |row| value(row).map(|value| value as i64));
                writer.write_batch(&values, Some(&levels), None)?;
            }
            ColumnWriter::ByteArrayColumnWriter(writer) => {
                let words = ["expected", "unexpected"].map(ByteArray::from);
                let words = rows
                    .iter()
                    .map(|row| words[usize::from(row.unexpected)].clone());
                writer.write_batch(&words.collect::<Vec<_>>(), None, None)?;
            }
            _ => unreachable!("the schema has no such column"),
        }
        column.close()?;
    }
    group.close()?;
    Ok(())
}

/// The values that are there, and for each row whether it has one.
fn levels<T>(rows: &[Match], value: impl Fn(&Match) -> Option<T>) -> (Vec<T>, Vec<i16>) {
    let mut values = Vec::with_capacity(rows.len());
    let mut levels = Vec::with_capacity(rows.len());
    for row in rows {
        let value = value(row);
        levels.push(i16::from(value.is_some()));
        values.extend(value);
    }
    (values, levels)
}
