//! The messages of a sparse matrix product with rows distributed over processes.

use dpamatch_vocabulary::choices;

use super::message_list::Message;
use super::sparse::Pattern;

/// Consecutive rows for each process.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Partition {
    /// First row of each process, then the number of rows.
    starts: Vec<u32>,
}

impl Partition {
    /// Distributes the rows evenly, up to one row, over at least one process.
    pub fn even(rows: u32, processes: u32) -> Self {
        let processes = u64::from(processes.max(1));
        let start = |process: u64| (u64::from(rows) * process / processes) as u32;
        Self {
            starts: (0..=processes).map(start).collect(),
        }
    }

    /// Distributes rows by their owners, in rising order.
    ///
    /// # Panics
    /// When an owner is not a process or follows a larger one.
    pub fn of_owners(owners: &[u32], processes: u32) -> Self {
        assert!(owners.is_sorted(), "owners of rows fall");
        assert!(
            owners.last().is_none_or(|&last| last < processes),
            "an owner is no process"
        );
        let start = |process| owners.partition_point(|&owner| owner < process) as u32;
        Self {
            starts: (0..=processes).map(start).collect(),
        }
    }

    pub fn processes(&self) -> u32 {
        (self.starts.len() - 1) as u32
    }

    /// The process that owns `row`.
    ///
    /// # Complexity
    /// O(log processes).
    pub fn owner(&self, row: u32) -> u32 {
        // The last process that starts at or before the row: a process without rows starts where
        // the next one does.
        (self.starts.partition_point(|&start| start <= row) - 1) as u32
    }

    fn rows(&self, process: u32) -> std::ops::Range<u32> {
        self.starts[process as usize]..self.starts[process as usize + 1]
    }
}

choices! {
    /// A product: of the vector, 8 bytes for each element of another process; of the matrix, a
    /// whole row for each column of the left one, with 12 bytes per entry and 4 for their number.
    pub enum Product, by default Vector {
        /// Matrix times vector.
        Vector = "vector",
        /// Matrix times itself.
        Matrix = "matrix",
    }
}

/// The messages by which processes fetch remote operands: one per pair, ordered by receiver and
/// sender. The vector is distributed like the rows.
///
/// # Panics
/// When the matrix is not square, or the partition has other rows.
///
/// # Complexity
/// O(entries log entries).
pub fn messages(pattern: &Pattern, partition: &Partition, product: Product) -> Vec<Message> {
    assert_eq!(
        pattern.rows, pattern.columns,
        "a product's matrix is square"
    );
    assert_eq!(
        partition.starts.last(),
        Some(&pattern.rows),
        "the partition has other rows"
    );
    let entries = pattern.entries();
    let row_range = |row: u32| {
        let begin = entries.partition_point(|&(r, _)| r < row);
        begin..begin + entries[begin..].partition_point(|&(r, _)| r == row)
    };
    let mut messages = Vec::new();
    let mut wanted: Vec<u32> = Vec::new();
    let mut rest = entries;
    for process in 0..partition.processes() {
        let rows = partition.rows(process);
        let (mine, others) = rest.split_at(rest.partition_point(|&(row, _)| row < rows.end));
        rest = others;
        wanted.clear();
        wanted.extend(
            mine.iter()
                .map(|&(_, column)| column)
                .filter(|column| !rows.contains(column)),
        );
        wanted.sort_unstable();
        wanted.dedup();
        let mut last: Option<Message> = None;
        for &column in &wanted {
            let src = partition.owner(column);
            let bytes = match product {
                Product::Vector => 8,
                Product::Matrix => 12 * row_range(column).len() as u64 + 4,
            };
            match &mut last {
                Some(message) if message.src == src => message.bytes += bytes,
                _ => messages.extend(last.replace(Message {
                    src,
                    dst: process,
                    bytes,
                    ..Message::default()
                })),
            }
        }
        messages.extend(last);
    }
    messages
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_are_even_and_find_owners() {
        let partition = Partition::even(10, 4);
        assert_eq!(partition.starts, [0, 2, 5, 7, 10]);
        assert_eq!(
            (0..10).map(|row| partition.owner(row)).collect::<Vec<_>>(),
            [0, 0, 1, 1, 1, 2, 2, 3, 3, 3]
        );
        // More processes than rows: some have none.
        let thin = Partition::even(2, 5);
        assert_eq!(
            [thin.owner(0), thin.owner(1)].map(|owner| thin.rows(owner)),
            [0..1, 1..2]
        );
        let owners = Partition::of_owners(&[0, 0, 3, 3], 5);
        assert_eq!(
            (0..4).map(|row| owners.owner(row)).collect::<Vec<_>>(),
            [0, 0, 3, 3]
        );
        assert_eq!(owners.rows(1), 2..2);
    }

    #[test]
    fn messages_by_hand() {
        // Two rows per process; process 0 needs columns 2 and 3 of process 1 and 5 of process 2.
        let entries = vec![
            (0, 0),
            (0, 2),
            (0, 3),
            (1, 2),
            (1, 5),
            (2, 2),
            (4, 0),
            (5, 5),
        ];
        let pattern = Pattern::new(6, 6, entries);
        let partition = Partition::even(6, 3);
        let message = |src, dst, bytes| Message {
            src,
            dst,
            bytes,
            ..Message::default()
        };
        assert_eq!(
            messages(&pattern, &partition, Product::Vector),
            [message(1, 0, 16), message(2, 0, 8), message(0, 2, 8)]
        );
        // Rows 2, 3 and 5 have one, no and one entry; row 0 has three.
        assert_eq!(
            messages(&pattern, &partition, Product::Matrix),
            [
                message(1, 0, 12 + 4 + 4),
                message(2, 0, 16),
                message(0, 2, 40)
            ]
        );
    }

    #[test]
    fn a_single_process_sends_nothing() {
        let pattern = Pattern::new(2, 2, vec![(0, 1), (1, 0)]);
        assert_eq!(
            messages(&pattern, &Partition::even(2, 1), Product::Vector),
            []
        );
    }
}
