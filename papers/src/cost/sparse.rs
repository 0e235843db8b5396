//! Sparse matrices: patterns, compressed rows, and the products that a multigrid hierarchy needs.

/// Positions of a matrix's nonzero entries.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Pattern {
    pub rows: u32,
    pub columns: u32,
    /// (row, column), sorted, each once.
    entries: Vec<(u32, u32)>,
}

impl Pattern {
    /// A pattern of these entries, in any order.
    ///
    /// # Panics
    /// When an entry lies outside the matrix.
    pub fn new(rows: u32, columns: u32, mut entries: Vec<(u32, u32)>) -> Self {
        assert!(
            entries
                .iter()
                .all(|&(row, column)| row < rows && column < columns),
            "an entry lies outside"
        );
        entries.sort_unstable();
        entries.dedup();
        Self {
            rows,
            columns,
            entries,
        }
    }

    pub fn entries(&self) -> &[(u32, u32)] {
        &self.entries
    }
}

/// A matrix in compressed rows.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Csr {
    columns_total: usize,
    /// Index of each row's first entry, then the number of entries.
    starts: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<f64>,
}

impl Csr {
    /// Builds a matrix row by row. `fill` adds the entries of a row, in any order but each column
    /// once.
    pub fn by_rows(
        rows: usize,
        columns: usize,
        mut fill: impl FnMut(usize, &mut Vec<(u32, f64)>),
    ) -> Self {
        let mut matrix = Self {
            columns_total: columns,
            starts: vec![0],
            ..Self::default()
        };
        let mut entries = Vec::new();
        for row in 0..rows {
            entries.clear();
            fill(row, &mut entries);
            entries.sort_unstable_by_key(|&(column, _)| column);
            for &(column, value) in &entries {
                matrix.columns.push(column);
                matrix.values.push(value);
            }
            matrix.starts.push(matrix.columns.len());
        }
        matrix
    }

    pub fn rows(&self) -> usize {
        self.starts.len() - 1
    }

    pub fn entries(&self) -> usize {
        self.columns.len()
    }

    /// Columns and values of a row, by rising column.
    pub fn row(&self, row: usize) -> impl Iterator<Item = (u32, f64)> {
        let range = self.starts[row]..self.starts[row + 1];
        self.columns[range.clone()]
            .iter()
            .copied()
            .zip(self.values[range].iter().copied())
    }

    /// The entry on the diagonal, 0 if none is stored.
    pub fn diagonal(&self, row: usize) -> f64 {
        self.row(row)
            .find(|&(column, _)| column as usize == row)
            .map_or(0.0, |(_, value)| value)
    }

    /// The transposed matrix.
    ///
    /// # Complexity
    /// O(rows + columns + entries).
    pub fn transposed(&self) -> Self {
        let mut starts = vec![0; self.columns_total + 1];
        for &column in &self.columns {
            starts[column as usize + 1] += 1;
        }
        for column in 0..self.columns_total {
            starts[column + 1] += starts[column];
        }
        let mut next = starts.clone();
        let mut columns = vec![0; self.entries()];
        let mut values = vec![0.0; self.entries()];
        for row in 0..self.rows() {
            for (column, value) in self.row(row) {
                let place = &mut next[column as usize];
                columns[*place] = row as u32;
                values[*place] = value;
                *place += 1;
            }
        }
        Self {
            columns_total: self.rows(),
            starts,
            columns,
            values,
        }
    }

    /// The product with another matrix, row by row (Gustavson's method). Entries that cancel stay
    /// stored.
    ///
    /// # Panics
    /// When the sizes do not fit.
    ///
    /// # Complexity
    /// O(multiplications + entries of the result * log of the entries in a row).
    pub fn times(&self, other: &Self) -> Self {
        assert_eq!(
            self.columns_total,
            other.rows(),
            "rows and columns of a product do not fit"
        );
        let mut sum = vec![0.0; other.columns_total];
        let mut seen = vec![usize::MAX; other.columns_total];
        let mut touched: Vec<u32> = Vec::new();
        Self::by_rows(self.rows(), other.columns_total, |row, entries| {
            for (through, factor) in self.row(row) {
                for (column, value) in other.row(through as usize) {
                    let place = column as usize;
                    if seen[place] != row {
                        seen[place] = row;
                        sum[place] = 0.0;
                        touched.push(column);
                    }
                    sum[place] += factor * value;
                }
            }
            entries.extend(
                touched
                    .drain(..)
                    .map(|column| (column, sum[column as usize])),
            );
        })
    }

    /// Positions of the stored entries.
    pub fn pattern(&self) -> Pattern {
        let of_row = |row| self.row(row).map(move |(column, _)| (row as u32, column));
        let entries = (0..self.rows()).flat_map(of_row).collect();
        Pattern {
            rows: self.rows() as u32,
            columns: self.columns_total as u32,
            entries,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrix(rows: &[&[(u32, f64)]], columns: usize) -> Csr {
        Csr::by_rows(rows.len(), columns, |row, entries| {
            entries.extend_from_slice(rows[row])
        })
    }

    fn dense(matrix: &Csr, columns: usize) -> Vec<Vec<f64>> {
        let of_row = |row| {
            let mut values = vec![0.0; columns];
            matrix
                .row(row)
                .for_each(|(column, value)| values[column as usize] = value);
            values
        };
        (0..matrix.rows()).map(of_row).collect()
    }

    #[test]
    fn products_and_transposes_by_hand() {
        let a = matrix(&[&[(2, 3.0), (0, 1.0)], &[], &[(1, -1.0)]], 3);
        let b = matrix(&[&[(1, 2.0)], &[(0, 5.0)], &[(1, 1.0), (0, 4.0)]], 2);
        assert_eq!(
            dense(&a.times(&b), 2),
            [[12.0, 5.0], [0.0, 0.0], [-5.0, 0.0]]
        );
        assert_eq!(
            dense(&b.transposed(), 3),
            [[0.0, 5.0, 4.0], [2.0, 0.0, 1.0]]
        );
        assert_eq!(a.transposed().transposed(), a);
        assert_eq!((b.diagonal(0), a.diagonal(0)), (0.0, 1.0));
    }

    #[test]
    fn patterns_are_sorted_and_without_doubles() {
        let pattern = Pattern::new(2, 3, vec![(1, 2), (0, 1), (1, 2), (1, 0)]);
        assert_eq!(pattern.entries(), [(0, 1), (1, 0), (1, 2)]);
        assert_eq!((pattern.rows, pattern.columns), (2, 3));
    }
}
