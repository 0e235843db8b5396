//! A multigrid hierarchy of the 3-D Poisson problem, as a source of irregular messages.
//!
//! The finest matrix is the 7-point stencil on a box of cells. Cells are numbered along a Morton
//! curve, so that consecutive cells form a compact block. Each coarser level joins 2 x 2 x 2 cells
//! by a Galerkin product with a prolongation smoothed by one weighted Jacobi step. As in algebraic
//! multigrid, smoothing makes the coarse levels dense: fewer rows, more neighbours.

use super::sparse::Csr;
use super::spmv::Partition;

#[derive(Clone, PartialEq, Debug)]
pub struct Level {
    pub matrix: Csr,
    /// The owner of each row.
    pub partition: Partition,
}

/// Weight of the Jacobi step: 4/3 divided by the largest eigenvalue of the scaled matrix, 2 here.
const WEIGHT: f64 = 2.0 / 3.0;
/// Most cells along an edge of the box: 1024^3 cells do not fit memory.
pub const EDGE_MAX: u32 = 256;

/// Spreads the bits of a coordinate, with two zeros between them.
fn spread(coordinate: u32) -> u64 {
    (0..21)
        .map(|bit| u64::from(coordinate >> bit & 1) << (3 * bit))
        .sum()
}

/// Place on the Morton curve.
fn key([x, y, z]: [u32; 3]) -> u64 {
    spread(x) | spread(y) << 1 | spread(z) << 2
}

/// The hierarchy over a box with these edges, down to at most `rows_min` rows. Each of the
/// `processes` gets equally many of the finest rows. A coarse row belongs to the owner of its first
/// fine row.
///
/// # Panics
/// When an edge is 0 or above [`EDGE_MAX`].
///
/// # Complexity
/// Dominated by the products of the second level.
pub fn poisson(edges: [u32; 3], processes: u32, rows_min: usize) -> Vec<Level> {
    assert!(
        edges.iter().all(|edge| (1..=EDGE_MAX).contains(edge)),
        "an edge of the box is out of range"
    );
    let [nx, ny, nz] = edges;
    let mut cells: Vec<[u32; 3]> = (0..nx)
        .flat_map(|x| (0..ny).flat_map(move |y| (0..nz).map(move |z| [x, y, z])))
        .collect();
    cells.sort_by_cached_key(|&cell| key(cell));
    let mut keys: Vec<u64> = cells.iter().map(|&cell| key(cell)).collect();
    let matrix = seven_points(&cells, &keys, edges);
    let partition = Partition::even(cells.len() as u32, processes);
    let mut levels = vec![Level { matrix, partition }];
    while let Some(finest) = levels.last().filter(|level| level.matrix.rows() > rows_min) {
        let (coarse_keys, aggregates) = join(&keys);
        if coarse_keys.len() == keys.len() {
            break;
        }
        let matrix = galerkin(&finest.matrix, &aggregates, coarse_keys.len());
        let mut owners = vec![0; coarse_keys.len()];
        for (row, &aggregate) in aggregates.iter().enumerate().rev() {
            owners[aggregate as usize] = finest.partition.owner(row as u32);
        }
        let partition = Partition::of_owners(&owners, processes);
        keys = coarse_keys;
        levels.push(Level { matrix, partition });
    }
    levels
}

fn seven_points(cells: &[[u32; 3]], keys: &[u64], edges: [u32; 3]) -> Csr {
    Csr::by_rows(cells.len(), cells.len(), |row, entries| {
        entries.push((row as u32, 6.0));
        for axis in 0..3 {
            for neighbour in [cells[row][axis].checked_sub(1), Some(cells[row][axis] + 1)] {
                let Some(coordinate) = neighbour.filter(|&coordinate| coordinate < edges[axis])
                else {
                    continue;
                };
                let mut cell = cells[row];
                cell[axis] = coordinate;
                if let Ok(column) = keys.binary_search(&key(cell)) {
                    entries.push((column as u32, -1.0));
                }
            }
        }
    })
}

/// Keys of the cells twice as large, and the new cell number of each old one. A key's last three
/// bits are the place within the larger cell, so both stay sorted.
fn join(keys: &[u64]) -> (Vec<u64>, Vec<u32>) {
    let mut coarse: Vec<u64> = Vec::new();
    let mut aggregates = Vec::with_capacity(keys.len());
    for key in keys.iter().map(|key| key >> 3) {
        if coarse.last() != Some(&key) {
            coarse.push(key);
        }
        aggregates.push((coarse.len() - 1) as u32);
    }
    (coarse, aggregates)
}

/// P^T A P with P = (I - weight D^-1 A) P0. P0 is 1 for every row in its aggregate's column.
fn galerkin(matrix: &Csr, aggregates: &[u32], coarse: usize) -> Csr {
    let constant = Csr::by_rows(matrix.rows(), coarse, |row, entries| {
        entries.push((aggregates[row], 1.0))
    });
    let smoother = Csr::by_rows(matrix.rows(), matrix.rows(), |row, entries| {
        let scale = WEIGHT / matrix.diagonal(row);
        entries.extend(matrix.row(row).map(|(column, value)| {
            let identity = if column as usize == row { 1.0 } else { 0.0 };
            (column, identity - scale * value)
        }));
    });
    let prolongation = smoother.times(&constant);
    prolongation
        .transposed()
        .times(&matrix.times(&prolongation))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_finest_level_is_the_stencil() {
        let levels = poisson([4, 4, 4], 8, 64);
        assert_eq!(levels.len(), 1);
        let matrix = &levels[0].matrix;
        // 64 cells, and two entries for each of the 3 * 3 * 16 faces between cells.
        assert_eq!((matrix.rows(), matrix.entries()), (64, 64 + 2 * 144));
        // Eight inner cells have six neighbours.
        let inner = (0..64)
            .filter(|&row| matrix.row(row).map(|(_, value)| value).sum::<f64>() == 0.0)
            .count();
        assert_eq!(inner, 8);
        assert_eq!(*matrix, matrix.transposed());
        // Along the curve, eight consecutive cells are a cube of two.
        assert_eq!(
            (0..8)
                .map(|row| levels[0].partition.owner(row))
                .collect::<Vec<_>>(),
            [0; 8]
        );
    }

    #[test]
    fn coarse_levels_are_symmetric_smaller_and_denser() {
        let levels = poisson([16, 16, 16], 64, 8);
        let rows: Vec<usize> = levels.iter().map(|level| level.matrix.rows()).collect();
        assert_eq!(rows, [4096, 512, 64, 8]);
        let per_row = |level: &Level| level.matrix.entries() / level.matrix.rows();
        assert!(
            per_row(&levels[1]) > 2 * per_row(&levels[0]),
            "{}",
            per_row(&levels[1])
        );
        for level in &levels {
            let (matrix, mirrored) = (&level.matrix, level.matrix.transposed());
            assert_eq!(matrix.pattern(), mirrored.pattern());
            for row in 0..matrix.rows() {
                assert!(matrix.diagonal(row) > 0.0);
                let differ = matrix
                    .row(row)
                    .zip(mirrored.row(row))
                    .any(|(a, b)| (a.1 - b.1).abs() > 1e-9);
                assert!(!differ, "row {row}");
            }
        }
    }

    #[test]
    fn inner_rows_add_up_to_zero_on_the_second_level() {
        let levels = poisson([16, 16, 16], 1, 512);
        let matrix = &levels[1].matrix;
        let zero = |row: usize| matrix.row(row).map(|(_, value)| value).sum::<f64>().abs() < 1e-9;
        // 8^3 aggregates; those two away from the border do not feel it.
        assert!((0..matrix.rows()).filter(|&row| zero(row)).count() >= 4 * 4 * 4);
    }

    #[test]
    fn boxes_need_not_be_cubes() {
        let levels = poisson([5, 3, 1], 4, 1);
        let rows: Vec<usize> = levels.iter().map(|level| level.matrix.rows()).collect();
        assert_eq!(rows, [15, 6, 2, 1]);
    }

    /// Two rows, one aggregate: each row of the smoothed prolongation is 1 - (2/3) (2 - 1) / 2.
    #[test]
    fn two_rows_by_hand() {
        let matrix = Csr::by_rows(2, 2, |row, entries| {
            let value = |column| if column == row as u32 { 2.0 } else { -1.0 };
            entries.extend([(0, value(0)), (1, value(1))]);
        });
        let coarse = galerkin(&matrix, &[0, 0], 1);
        assert!((coarse.diagonal(0) - 2.0 * (2.0_f64 / 3.0).powi(2)).abs() < 1e-12);
    }
}
