//! A test for a unit root.

/// Returns the statistic of Kwiatkowski, Phillips, Schmidt & Shin (1992) for stationarity around a
/// level, with a Bartlett window of floor(4 (n/100)^(1/4)) lags. The statistic of a stationary
/// series exceeds 0.463 with probability 0.05. Zero for a constant series or fewer than 2 values.
pub fn kpss(values: &[f64]) -> f64 {
    let n = values.len();
    if n < 2 {
        return 0.0;
    }
    let mean = values.iter().sum::<f64>() / n as f64;
    let centred: Vec<f64> = values.iter().map(|value| value - mean).collect();
    let covariance = |lag: usize| {
        let pairs = centred[lag..].iter().zip(&centred);
        pairs.map(|(a, b)| a * b).sum::<f64>() / n as f64
    };
    let lags = ((4.0 * (n as f64 / 100.0).powf(0.25)) as usize).min(n - 1);
    let weighted = |lag: usize| (1.0 - lag as f64 / (lags as f64 + 1.0)) * covariance(lag);
    let long_run = covariance(0) + 2.0 * (1..=lags).map(weighted).sum::<f64>();
    let mut sum = 0.0;
    let partial: f64 = centred
        .iter()
        .map(|value| {
            sum += value;
            sum * sum
        })
        .sum();
    let scale = long_run * (n * n) as f64;
    if scale > mean.abs().max(1.0) * f64::EPSILON * n as f64 {
        partial / scale
    } else {
        0.0
    }
}
