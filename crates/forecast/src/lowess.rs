//! Robust locally weighted regression (Cleveland 1979).

use std::ops::Range;

use crate::expert::median;

/// Returns the smoothed values of `y` at x = 0, 1, ... They are local straight lines over the nearest
/// `fraction` (0..=1) of the points with tricube weights. The smoothing is repeated `rounds` times with
/// bisquare weights of the residuals over 6 x their median absolute value.
pub fn lowess(y: &[f64], fraction: f64, rounds: usize) -> Vec<f64> {
    let n = y.len();
    // The small excess keeps a product that is whole but for rounding from being truncated.
    let nearest = ((fraction * n as f64 + 1e-10) as usize).clamp(n.min(2), n.max(1));
    let mut robustness = vec![1.0; n];
    let mut smooth: Vec<f64> = smooth_all(y, nearest, &robustness);
    for _ in 0..rounds {
        reweigh(y, &smooth, &mut robustness);
        smooth = smooth_all(y, nearest, &robustness);
    }
    smooth
}

fn smooth_all(y: &[f64], nearest: usize, robustness: &[f64]) -> Vec<f64> {
    let last_start = y.len().saturating_sub(nearest);
    let mut start = 0;
    let mut weights = Vec::with_capacity(nearest);
    (0..y.len())
        .map(|i| {
            // Of two equally near neighbourhoods, the left one is taken.
            while start < last_start && start + nearest - i < i - start {
                start += 1;
            }
            local_line(y, i, start..start + nearest, robustness, &mut weights)
        })
        .collect()
}

/// Returns the value at point `i` of the local line over `window`. Uses `weights` for the weights of
/// its points.
fn local_line(
    y: &[f64],
    i: usize,
    window: Range<usize>,
    robustness: &[f64],
    weights: &mut Vec<f64>,
) -> f64 {
    let x = i as f64;
    let radius = (x - window.start as f64).max(window.end as f64 - 1.0 - x);
    weights.clear();
    weights.extend(
        window
            .clone()
            .map(|j| tricube((j as f64 - x).abs() / radius) * robustness[j]),
    );
    if weights
        .iter()
        .filter(|weight| **weight > ZERO_TOLERANCE)
        .count()
        < 2
    {
        return y[i];
    }
    let weighted = || weights.iter().zip(window.clone());
    let total: f64 = weights.iter().sum();
    let centre = weighted().map(|(weight, j)| weight * j as f64).sum::<f64>() / total;
    let spread = |j: usize| j as f64 - centre;
    let squares = weighted().map(|(weight, j)| weight * spread(j).powi(2));
    let variance = squares.sum::<f64>() / total;
    let slope = (x - centre) / variance.max(ZERO_TOLERANCE);
    weighted()
        .map(|(weight, j)| weight / total * (1.0 + slope * spread(j)) * y[j])
        .sum()
}

/// A weight or a variance (in squared steps) of at most this counts as zero.
const ZERO_TOLERANCE: f64 = 1e-12;

fn tricube(distance: f64) -> f64 {
    (1.0 - distance.min(1.0).powi(3)).powi(3)
}

/// Sets the bisquare weights. Where most residuals are zero, only those points keep a weight.
fn reweigh(y: &[f64], smooth: &[f64], robustness: &mut [f64]) {
    let mut residuals: Vec<f64> = y
        .iter()
        .zip(smooth)
        .map(|(y, fit)| (y - fit).abs())
        .collect();
    for (weight, residual) in robustness.iter_mut().zip(&residuals) {
        *weight = *residual;
    }
    let typical = median(&mut residuals).unwrap_or(0.0);
    for weight in robustness {
        let distance = match *weight {
            0.0 => 0.0,
            residual => residual / (6.0 * typical),
        };
        *weight = bisquare(distance);
    }
}

fn bisquare(distance: f64) -> f64 {
    (1.0 - distance.min(1.0).powi(2)).powi(2)
}
