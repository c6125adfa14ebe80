//! Small least squares problems.

/// Maximum number of unknowns of a problem.
pub(crate) const MAX_COLUMNS: usize = 8;

/// A pivot below this fraction of the largest diagonal element counts as zero.
const SINGULAR: f64 = 1e-12;

/// Returns the coefficients that minimise the squared error of `response`, by the normal equations.
/// There are 1 to [`MAX_COLUMNS`] columns of regressors, each as long as the response; coefficients
/// beyond theirs are zero. None if the problem is singular.
pub(crate) fn least_squares(columns: &[&[f64]], response: &[f64]) -> Option<[f64; MAX_COLUMNS]> {
    // The sums of common problems are kept in registers.
    let (normal, right) = match columns.len() {
        1 => normal_equations::<1>(columns, response),
        2 => normal_equations::<2>(columns, response),
        3 => normal_equations::<3>(columns, response),
        4 => normal_equations::<4>(columns, response),
        _ => normal_equations::<MAX_COLUMNS>(columns, response),
    };
    let lower = cholesky(normal, columns.len())?;
    Some(solve(&lower, right, columns.len()))
}

type SquareMatrix = [[f64; MAX_COLUMNS]; MAX_COLUMNS];

/// Returns the lower triangle of XᵀX, and Xᵀy, for at most `N` columns. Beyond the columns Xᵀy is zero, and
/// XᵀX has no meaning.
fn normal_equations<const N: usize>(
    columns: &[&[f64]],
    response: &[f64],
) -> (SquareMatrix, [f64; MAX_COLUMNS]) {
    let n = columns.len();
    let columns: [&[f64]; N] = std::array::from_fn(|i| &columns[i.min(n - 1)][..response.len()]);
    let (mut products, mut responses) = ([[0.0; N]; N], [0.0; N]);
    for (t, response) in response.iter().enumerate() {
        let row = columns.map(|column| column[t]);
        for i in 0..N {
            for j in 0..=i {
                products[i][j] += row[i] * row[j];
            }
            responses[i] += row[i] * response;
        }
    }
    let mut normal = [[0.0; MAX_COLUMNS]; MAX_COLUMNS];
    for (row, products) in normal.iter_mut().zip(products) {
        row[..N].copy_from_slice(&products);
    }
    let mut right = [0.0; MAX_COLUMNS];
    right[..n].copy_from_slice(&responses[..n]);
    (normal, right)
}

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

    #[test]
    fn plane_is_fitted_exactly() {
        let (x, y) = ([1.0, 0.0, 1.0, 2.0], [0.0, 1.0, 1.0, -1.0]);
        let response: [f64; 4] = std::array::from_fn(|t| 3.0 * x[t] - 2.0 * y[t]);
        let found = least_squares(&[&x, &y], &response).unwrap();
        assert!((found[0] - 3.0).abs() < 1e-12 && (found[1] + 2.0).abs() < 1e-12);
    }

    #[test]
    fn problems_of_every_size_are_fitted() {
        let waves: Vec<Vec<f64>> = (1..=MAX_COLUMNS)
            .map(|k| (0..40).map(|t| (0.37 * (k * t) as f64).cos()).collect())
            .collect();
        let columns: Vec<&[f64]> = waves.iter().map(Vec::as_slice).collect();
        for n in 1..=MAX_COLUMNS {
            let sum = |t: usize| (0..n).map(|k| (k + 1) as f64 * columns[k][t]).sum();
            let response: Vec<f64> = (0..40).map(sum).collect();
            let found = least_squares(&columns[..n], &response).unwrap();
            for (k, coefficient) in found.into_iter().enumerate() {
                let expected = if k < n { (k + 1) as f64 } else { 0.0 };
                assert!((coefficient - expected).abs() < 1e-6, "{k} of {n}");
            }
        }
    }

    #[test]
    fn collinear_columns_are_singular() {
        let x = [1.0, 2.0, 3.0];
        assert_eq!(least_squares(&[&x, &x.map(|x| 2.0 * x)], &x), None);
    }
}
