//! Simple exponential smoothing: a level that follows the series.

/// Returns the level after all `values`, starting at the first one. Here `alpha` in (0, 1] is the weight of a
/// new value (Chatfield & Yar 1988, eq. for a series without trend). None without values.
pub fn simple_smoothing(values: &[f64], alpha: f64) -> Option<f64> {
    let (&first, rest) = values.split_first()?;
    let follow = |level, value: &f64| follow_level(level, *value, alpha);
    Some(rest.iter().fold(first, follow))
}

/// Returns the level after another value.
#[inline(always)]
pub(super) fn follow_level(level: f64, value: f64, alpha: f64) -> f64 {
    level + alpha * (value - level)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expert::SAMPLE;

    #[test]
    fn smoothing_starts_at_the_first_value() {
        let level = simple_smoothing(&SAMPLE, 0.3).unwrap();
        assert!((level - 520.889_148).abs() < 1e-6);
        assert_eq!(simple_smoothing(&[], 0.3), None);
    }
}
