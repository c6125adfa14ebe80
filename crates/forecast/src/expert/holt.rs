//! Holt's method: a level and a trend, both smoothed.

/// Forecasts one step ahead of `values` (Chatfield & Yar 1988): starts at level y0 and trend y1 -
/// y0; `alpha` and `beta`, both in (0, 1], smooth level and trend. A single value has no trend;
/// None without values.
pub fn holt(values: &[f64], alpha: f64, beta: f64) -> Option<f64> {
    let (state, rest) = HoltState::start(values)?;
    let follow = |state: HoltState, value: &f64| state.follow(*value, alpha, beta);
    Some(rest.iter().fold(state, follow).forecast())
}

/// The level and the trend after some values.
#[derive(Clone, Copy, Debug)]
pub(super) struct HoltState {
    level: f64,
    trend: f64,
}

impl HoltState {
    /// Returns the state after the first of `values`, and the other values; None without values.
    pub(super) fn start(values: &[f64]) -> Option<(Self, &[f64])> {
        let (&level, rest) = values.split_first()?;
        let trend = rest.first().map_or(0.0, |second| second - level);
        Some((Self { level, trend }, rest))
    }

    /// Returns the state after another value.
    #[inline(always)]
    pub(super) fn follow(self, value: f64, alpha: f64, beta: f64) -> Self {
        let level = alpha * value + (1.0 - alpha) * (self.level + self.trend);
        let trend = beta * (level - self.level) + (1.0 - beta) * self.trend;
        Self { level, trend }
    }

    pub(super) fn forecast(self) -> f64 {
        self.level + self.trend
    }
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
