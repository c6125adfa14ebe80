//! Holt's method: a level and a trend, both smoothed.

/// Forecasts one step ahead of `values` (Chatfield & Yar 1988): starts at level y0 and trend y1 -
/// y0; `alpha` and `beta`, both in (0, 1], smooth level and trend. A single value has no trend;
/// None without values.
pub fn holt(values: &[f64], alpha: f64, beta: f64) -> Option<f64> {
    let (&first, rest) = values.split_first()?;
    let Some(&second) = rest.first() else {
        return Some(first);
    };
    let (mut level, mut trend) = (first, second - first);
    for value in rest {
        let before = level;
        level = alpha * value + (1.0 - alpha) * (level + trend);
        trend = beta * (level - before) + (1.0 - beta) * trend;
    }
    Some(level + trend)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expert::SAMPLE;

    #[test]
    fn holt_starts_at_first_value_with_first_step_as_trend() {
        assert!((holt(&SAMPLE, 0.3, 0.1).unwrap() - 621.156_841).abs() < 1e-6);
        assert_eq!(holt(&[7.0], 0.3, 0.1), Some(7.0));
        assert_eq!(holt(&[], 0.3, 0.1), None);
    }
}
