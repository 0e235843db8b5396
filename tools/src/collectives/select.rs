//! The choice of an algorithm by operation, number of processes and size.

use std::sync::LazyLock;

use super::{Call, Library};
use crate::trace::CollectiveKind::{self, Allgatherv, ReduceScatter};

/// The processes that a row is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Processes {
    Below(usize),
    PowerOfTwo,
    Any,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Row {
    kind: CollectiveKind,
    processes: Processes,
    /// Whether all blocks count together.
    total: bool,
    /// Algorithms, each with the bytes that it stays below.
    algorithms: Vec<(&'static str, u64)>,
}

/// The rows of a table in order; the first that fits counts.
fn rows(text: &'static str) -> Vec<Row> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| row(line).unwrap_or_else(|| panic!("a wrong row: {line}"))).collect()
}

fn row(line: &'static str) -> Option<Row> {
    let mut words = line.split_whitespace().peekable();
    let name = words.next()?;
    let kind = CollectiveKind::ALL.iter().copied().find(|kind| kind.name() == name)?;
    let processes = match words.next()? {
        "any" => Processes::Any,
        "pow2" => Processes::PowerOfTwo,
        number => Processes::Below(number.parse().ok()?),
    };
    let total = words.next_if_eq(&"total").is_some();
    let mut algorithms = Vec::new();
    while let Some(name) = words.next() {
        let below = words.next().map_or(Some(u64::MAX), |bytes| bytes.parse().ok())?;
        algorithms.push((name, below));
    }
    Some(Row { kind, processes, total, algorithms })
}

static MPICH: LazyLock<Vec<Row>> = LazyLock::new(|| rows(include_str!("tables/mpich.txt")));
static OPEN_MPI: LazyLock<Vec<Row>> = LazyLock::new(|| rows(include_str!("tables/openmpi.txt")));
static LINEAR: LazyLock<Vec<Row>> = LazyLock::new(|| rows(include_str!("tables/linear.txt")));

/// The algorithm's name; `None` if the library sends no messages.
pub(super) fn algorithm(library: Library, call: &Call<'_>) -> Option<&'static str> {
    let table: &[Row] = match library {
        Library::Mpich => &MPICH,
        Library::OpenMpi => &OPEN_MPI,
        Library::Linear => &LINEAR,
        Library::Off => return None,
    };
    let fits = |row: &&Row| {
        row.kind == call.kind
            && match row.processes {
                Processes::Below(number) => call.size < number,
                Processes::PowerOfTwo => call.size.is_power_of_two(),
                Processes::Any => true,
            }
    };
    let row = table.iter().find(fits)?;
    let bytes = match call.kind {
        _ if row.total => call.blocks(0, call.size),
        Allgatherv => call.vector() / call.size as u64,
        ReduceScatter => call.vector(),
        _ => call.block(call.root),
    };
    row.algorithms.iter().find(|&&(_, below)| bytes < below).map(|&(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_belong_to_the_next_algorithm() {
        for (library, size, count, expected) in [
            (Library::Mpich, 8, 12_288, Some("binomial")),
            (Library::Mpich, 8, 12_289, Some("scatter-doubling")),
            (Library::Mpich, 9, 12_289, Some("scatter-ring")),
            (Library::OpenMpi, 15, 32_768, Some("linear")),
            (Library::OpenMpi, 16, 32_768, Some("binomial")),
            (Library::Off, 8, 1, None),
        ] {
            let call = Call { count, ..Call::new(CollectiveKind::Bcast, 0, size) };
            assert_eq!(algorithm(library, &call), expected, "{library} {size} {count}");
        }
    }
}
