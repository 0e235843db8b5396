//! The choice of an algorithm by operation, number of processes and size.

use std::sync::LazyLock;

use super::{Call, Library};
use dpamatch_traces::CollectiveKind::{self, Allgatherv, ReduceScatter};

/// The processes that a row is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Processes {
    Below(usize),
    PowerOfTwo,
    Any,
}

/// What a row's limits count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Measure {
    Block,
    /// All blocks together.
    Total,
    /// The elements of all blocks.
    Elements,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Rule {
    kind: CollectiveKind,
    processes: Processes,
    measure: Measure,
    /// Algorithms, each with the bytes that it stays below.
    algorithms: Vec<(&'static str, u64)>,
}

/// The rows of a table in order; the first that fits counts.
fn rows(text: &'static str) -> Vec<Rule> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| row(line).unwrap_or_else(|| panic!("a wrong row: {line}")))
        .collect()
}

fn row(line: &'static str) -> Option<Rule> {
    let mut words = line.split_whitespace().peekable();
    let name = words.next()?;
    let kind = CollectiveKind::ALL
        .iter()
        .copied()
        .find(|kind| kind.name() == name)?;
    let processes = match words.next()? {
        "any" => Processes::Any,
        "pow2" => Processes::PowerOfTwo,
        number => Processes::Below(number.parse().ok()?),
    };
    let words_of = [("total", Measure::Total), ("elements", Measure::Elements)];
    let named = words_of
        .into_iter()
        .find(|(name, _)| words.next_if_eq(name).is_some());
    let measure = named.map_or(Measure::Block, |(_, measure)| measure);
    let mut algorithms = Vec::new();
    while let Some(name) = words.next() {
        let below = words
            .next()
            .map_or(Some(u64::MAX), |bytes| bytes.parse().ok())?;
        algorithms.push((name, below));
    }
    Some(Rule {
        kind,
        processes,
        measure,
        algorithms,
    })
}

static MPICH: LazyLock<Vec<Rule>> = LazyLock::new(|| rows(include_str!("tables/mpich.txt")));
static MVAPICH: LazyLock<Vec<Rule>> = LazyLock::new(|| rows(include_str!("tables/mvapich.txt")));
static OPEN_MPI: LazyLock<Vec<Rule>> = LazyLock::new(|| rows(include_str!("tables/openmpi.txt")));
static LINEAR: LazyLock<Vec<Rule>> = LazyLock::new(|| rows(include_str!("tables/linear.txt")));

/// The algorithm's name; `None` if the library sends no messages.
pub(super) fn algorithm(library: Library, call: &Call<'_>) -> Option<&'static str> {
    let table: &[Rule] = match library {
        Library::Mpich => &MPICH,
        Library::OpenMpi => &OPEN_MPI,
        Library::Mvapich => &MVAPICH,
        Library::Linear => &LINEAR,
        Library::Off => return None,
    };
    let fits = |row: &&Rule| {
        row.kind == call.kind
            && match row.processes {
                Processes::Below(number) => call.size < number,
                Processes::PowerOfTwo => call.size.is_power_of_two(),
                Processes::Any => true,
            }
    };
    let row = table.iter().find(fits)?;
    let bytes = match call.kind {
        _ if row.measure == Measure::Total => call.blocks(0, call.size),
        _ if row.measure == Measure::Elements => call.count.saturating_mul(call.size as u64),
        Allgatherv => call.vector() / call.size as u64,
        ReduceScatter => call.vector(),
        _ => call.block(call.root),
    };
    row.algorithms
        .iter()
        .find(|&&(_, below)| bytes < below)
        .map(|&(name, _)| name)
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
            (Library::Mvapich, 15, 16_383, Some("binomial")),
            (Library::Mvapich, 15, 16_384, Some("scatter-doubling")),
            (Library::Off, 8, 1, None),
        ] {
            let call = Call {
                count,
                ..Call::new(CollectiveKind::Bcast, 0, size)
            };
            assert_eq!(
                algorithm(library, &call),
                expected,
                "{library} {size} {count}"
            );
        }
        // MVAPICH counts the elements of a scatter, whatever their size.
        for (count, expected) in [(63, "binomial"), (64, "linear")] {
            let call = Call {
                count,
                element: 8,
                ..Call::new(CollectiveKind::Scatter, 0, 16)
            };
            assert_eq!(
                algorithm(Library::Mvapich, &call),
                Some(expected),
                "{count}"
            );
        }
    }
}
