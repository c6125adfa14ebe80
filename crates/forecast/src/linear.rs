//! Small least squares problems.

/// Maximum number of unknowns of a problem.
pub(crate) const MAX_COLUMNS: usize = 8;

/// A pivot below this fraction of the largest diagonal element counts as zero.
const SINGULAR: f64 = 1e-12;

/// Returns the coefficients that minimise the squared error over `rows` of (regressors, response),
/// by the normal equations; only the first `columns` regressors count, the other coefficients are
/// zero. None if the problem is singular.
pub(crate) fn least_squares(
    rows: impl Iterator<Item = ([f64; MAX_COLUMNS], f64)>,
    columns: usize,
) -> Option<[f64; MAX_COLUMNS]> {
    let mut normal = [[0.0; MAX_COLUMNS]; MAX_COLUMNS];
    let mut right = [0.0; MAX_COLUMNS];
    for (row, response) in rows {
        for i in 0..columns {
            for j in 0..=i {
                normal[i][j] += row[i] * row[j];
            }
            right[i] += row[i] * response;
        }
    }
    let lower = cholesky(normal, columns)?;
    Some(solve(&lower, right, columns))
}

type SquareMatrix = [[f64; MAX_COLUMNS]; MAX_COLUMNS];

/// Returns the lower triangle L of A = L Lᵀ; only the lower triangle of A is read.
fn cholesky(mut a: SquareMatrix, n: usize) -> Option<SquareMatrix> {
    let largest = (0..n).map(|i| a[i][i]).fold(0.0, f64::max);
    for j in 0..n {
        for i in j..n {
            let known: f64 = (0..j).map(|k| a[i][k] * a[j][k]).sum();
            a[i][j] -= known;
        }
        if a[j][j].is_nan() || a[j][j] <= largest * SINGULAR {
            return None;
        }
        let root = a[j][j].sqrt();
        for row in &mut a[j..n] {
            row[j] /= root;
        }
    }
    Some(a)
}

/// Solves L Lᵀ x = b.
fn solve(lower: &SquareMatrix, mut b: [f64; MAX_COLUMNS], n: usize) -> [f64; MAX_COLUMNS] {
    for i in 0..n {
        let known: f64 = (0..i).map(|k| lower[i][k] * b[k]).sum();
        b[i] = (b[i] - known) / lower[i][i];
    }
    for i in (0..n).rev() {
        let known: f64 = (i + 1..n).map(|k| lower[k][i] * b[k]).sum();
        b[i] = (b[i] - known) / lower[i][i];
    }
    b
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(x: f64, y: f64) -> [f64; MAX_COLUMNS] {
        let mut row = [0.0; MAX_COLUMNS];
        (row[0], row[1]) = (x, y);
        row
    }

    #[test]
    fn plane_is_fitted_exactly() {
        let rows = [(1.0, 0.0), (0.0, 1.0), (1.0, 1.0), (2.0, -1.0)]
            .map(|(x, y)| (row(x, y), 3.0 * x - 2.0 * y));
        let found = least_squares(rows.into_iter(), 2).unwrap();
        assert!((found[0] - 3.0).abs() < 1e-12 && (found[1] + 2.0).abs() < 1e-12);
    }

    #[test]
    fn collinear_columns_are_singular() {
        let rows = [1.0, 2.0, 3.0].map(|x| (row(x, 2.0 * x), x));
        assert_eq!(least_squares(rows.into_iter(), 2), None);
    }
}
