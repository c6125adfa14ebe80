//! With which probability a pending proxy is dispatched.

/// Eq. (5) of Walker 2009: the probability that a proxy that has waited `waited` ticks (T_p) is
/// dispatched at a site with the average wait `average` (T_w) where `running` proxies of the same
/// user run (N_R).
pub fn probability(average: f64, waited: f64, running: u32) -> f64 {
    if waited < average {
        return libm::exp(waited - average);
    }
    libm::exp(-1.0) + 1.0 / (f64::from(running) + 2.0)
}

/// How long a proxy waits on average, in ticks, at a site with the average wait `average` where
/// none of the user's runs: eq. (5) summed up, from its T_p of 0 on.
pub fn expected_wait(average: u32) -> f64 {
    let average = f64::from(average);
    let mut waiting = 1.0;
    let mut expected = 0.0;
    let mut waited = 0.0;
    while waited < average {
        waiting *= 1.0 - probability(average, waited, 0);
        expected += waiting;
        waited += 1.0;
    }
    // From then on the probability stays: a geometric series.
    let due = probability(average, average, 0);
    expected + waiting * (1.0 - due) / due
}

/// Eq. (5) for whole ticks as thresholds: a draw of 64 random bits below it dispatches.
#[derive(Clone, Debug)]
pub(super) struct Thresholds {
    /// By ticks that are left until the average wait is reached; there is none at 0.
    early: Vec<u64>,
    /// By running proxies.
    due: Vec<u64>,
}

impl Thresholds {
    /// For average waits up to `longest` and up to `proxies` running.
    pub(super) fn new(longest: u32, proxies: u32) -> Self {
        let early = (0..=longest).map(|left| threshold(probability(f64::from(left), 0.0, 0)));
        let due = (0..=proxies).map(|running| threshold(probability(0.0, 0.0, running)));
        Self {
            early: early.collect(),
            due: due.collect(),
        }
    }

    pub(super) fn early(&self, left: u32) -> u64 {
        self.early[left as usize]
    }

    pub(super) fn due(&self, running: u32) -> u64 {
        self.due[running as usize]
    }
}

fn threshold(probability: f64) -> u64 {
    // 2^64 as a float; the cast saturates.
    (probability * 18_446_744_073_709_551_616.0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worked_examples_of_equation_5() {
        for (average, waited, running, expected) in [
            (7.0, 6.0, 0, 0.367879),
            (7.0, 7.0, 0, 0.867879),
            (7.0, 7.0, 1, 0.701213),
            (7.0, 12.0, 4, 0.534546),
            (2.5, 2.0, 0, 0.606531),
        ] {
            let found = probability(average, waited, running);
            assert!((found - expected).abs() < 1e-6, "{found} {expected}");
        }
    }

    #[test]
    fn expected_waits_are_sums_of_equation_5() {
        for (average, expected) in [(2, 1.494), (7, 6.261), (11, 10.257), (20, 19.257)] {
            let found = expected_wait(average);
            assert!((found - expected).abs() < 5e-4, "{average}: {found}");
        }
    }

    #[test]
    fn thresholds_are_probabilities_of_64_bits() {
        let thresholds = Thresholds::new(20, 96);
        let share = |threshold: u64| threshold as f64 / 2f64.powi(64);
        assert!((share(thresholds.early(1)) - 0.367879).abs() < 1e-6);
        assert!((share(thresholds.due(1)) - 0.701213).abs() < 1e-6);
    }
}
