//! Least squares with a few coefficients, by the normal equations: enough for the models of this
//! crate.

/// The solution of `rows * x = values` in the sense of least squares.
pub(super) struct Solution {
    pub x: Vec<f64>,
    /// Inverse of `rows' * rows`: times the residual variance, the covariance of `x`.
    pub inverse: Vec<Vec<f64>>,
}

/// Solves with `damping` >= 0 added to the diagonal, relative to it (Levenberg-Marquardt); absent
/// if singular.
pub(super) fn solve(rows: &[Vec<f64>], values: &[f64], damping: f64) -> Option<Solution> {
    let columns = rows.first()?.len();
    let dot = |i: usize, j: usize| rows.iter().map(|row| row[i] * row[j]).sum::<f64>();
    let damped = |i, j| if i == j { dot(i, j) * (1.0 + damping) } else { dot(i, j) };
    let normal: Vec<Vec<f64>> =
        (0..columns).map(|i| (0..columns).map(|j| damped(i, j)).collect()).collect();
    let right: Vec<f64> = (0..columns)
        .map(|i| rows.iter().zip(values).map(|(row, value)| row[i] * value).sum())
        .collect();
    let inverse = invert(&normal)?;
    let x = inverse.iter().map(|row| row.iter().zip(&right).map(|(a, b)| a * b).sum()).collect();
    Some(Solution { x, inverse })
}

/// Inverse of a symmetric positive definite matrix; rows and columns are brought to one scale
/// first.
fn invert(matrix: &[Vec<f64>]) -> Option<Vec<Vec<f64>>> {
    let scale: Vec<f64> = (0..matrix.len()).map(|i| matrix[i][i].sqrt()).collect();
    let scaled = |i: usize| {
        (0..matrix.len()).map(|j| matrix[i][j] / scale[i] / scale[j]).collect::<Vec<_>>()
    };
    let mut inverse = gauss_jordan((0..matrix.len()).map(scaled).collect())?;
    for (i, row) in inverse.iter_mut().enumerate() {
        row.iter_mut().enumerate().for_each(|(j, value)| *value /= scale[i] * scale[j]);
    }
    Some(inverse)
}

/// Inverse by elimination; the diagonal of a scaled positive definite matrix needs no exchange of
/// rows.
fn gauss_jordan(mut left: Vec<Vec<f64>>) -> Option<Vec<Vec<f64>>> {
    let size = left.len();
    left.iter_mut()
        .enumerate()
        .for_each(|(i, row)| row.extend((0..size).map(|j| f64::from(u8::from(i == j)))));
    for pivot in 0..size {
        let factor = left[pivot][pivot];
        if factor.is_nan() || factor.abs() < 1e-13 {
            return None;
        }
        left[pivot].iter_mut().for_each(|value| *value /= factor);
        let pivot_row = left[pivot].clone();
        for (_, row) in left.iter_mut().enumerate().filter(|(i, _)| *i != pivot) {
            let factor = row[pivot];
            row.iter_mut().zip(&pivot_row).for_each(|(value, above)| *value -= factor * above);
        }
    }
    Some(left.into_iter().map(|row| row[size..].to_vec()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_by_hand() {
        // y = a + b x through (0,1) (1,3) (2,4): normal matrix [3 3; 3 5], right (8, 11): a = 7/6,
        // b = 3/2.
        let rows = vec![vec![1.0, 0.0], vec![1.0, 1.0], vec![1.0, 2.0]];
        let solution = solve(&rows, &[1.0, 3.0, 4.0], 0.0).unwrap();
        assert!((solution.x[0] - 7.0 / 6.0).abs() < 1e-12 && (solution.x[1] - 1.5).abs() < 1e-12);
        assert!(
            (solution.inverse[0][0] - 5.0 / 6.0).abs() < 1e-12
                && (solution.inverse[0][1] + 0.5).abs() < 1e-12
        );
    }

    #[test]
    fn equal_columns_have_no_solution() {
        assert!(
            solve(&[vec![1.0, 2.0], vec![2.0, 4.0], vec![3.0, 6.0]], &[1.0, 2.0, 3.0], 0.0)
                .is_none()
        );
        assert!(solve(&[], &[], 0.0).is_none());
    }
}
