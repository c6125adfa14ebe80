//! The probability that a pending proxy is dispatched.

use rand_distr::{Distribution, Exp1};
use rand_pcg::Pcg64Mcg;

/// Returns eq. (5) of Walker 2009: the probability that a proxy that has waited `waited` ticks (T_p) is
/// dispatched at a site. The site has the average wait `average` (T_w), and `running` proxies of the same
/// user run there (N_R).
pub fn probability(average: f64, waited: f64, running: u32) -> f64 {
    if waited < average {
        return libm::exp(waited - average);
    }
    libm::exp(-1.0) + 1.0 / (f64::from(running) + 2.0)
}

/// Returns the expected wait of a proxy, in ticks, at a site with the average wait `average` where
/// none of the user's proxies runs: eq. (5) summed up, from its T_p of 0 on.
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
    // From here on the probability is constant: a geometric series.
    let due = probability(average, average, 0);
    expected + waiting * (1.0 - due) / due
}

/// The hazards of eq. (5) for whole ticks: minus the logarithm of the probability of not being
/// dispatched. A proxy receives an exponential variate when it is queued, and is dispatched when
/// the hazards of its draws have used the variate up. Each draw then succeeds with the probability
/// of eq. (5), and one random number serves all draws.
#[derive(Clone, Debug)]
pub(super) struct DispatchHazards {
    /// By the ticks left until the average wait is reached; no entry for 0.
    early: Vec<f64>,
    /// By number of running proxies.
    due: Vec<f64>,
}

impl DispatchHazards {
    /// Computes hazards for average waits up to `longest` and up to `proxies` running.
    pub(super) fn new(longest: u32, proxies: u32) -> Self {
        let early = (0..=longest).map(|left| hazard(probability(f64::from(left), 0.0, 0)));
        let due = (0..=proxies).map(|running| hazard(probability(0.0, 0.0, running)));
        Self {
            early: early.collect(),
            due: due.collect(),
        }
    }

    pub(super) fn early(&self, left: u32) -> f64 {
        self.early[left as usize]
    }

    /// Lets a proxy with the rest `variate` draw `draws` times, all before the average wait is
    /// reached, the first time with `left` ticks left. Returns the number of draws that did not
    /// dispatch the proxy, and the rest of its variate: negative if a draw dispatched it.
    pub(super) fn early_draws(&self, left: u32, draws: u32, mut variate: f64) -> (u32, f64) {
        let mut survived = 0;
        // No branch on whether the proxy is dispatched, which nothing foretells. Further draws leave
        // a negative rest negative.
        for hazard in self.early[(left + 1 - draws) as usize..=left as usize]
            .iter()
            .rev()
        {
            variate -= hazard;
            survived += u32::from(variate >= 0.0);
        }
        (survived, variate)
    }

    pub(super) fn due(&self, running: u32) -> f64 {
        self.due[running as usize]
    }
}

fn hazard(probability: f64) -> f64 {
    -libm::log1p(-probability)
}

/// Draws an exponential variate of mean 1.
pub(super) fn exponential(random: &mut Pcg64Mcg) -> f64 {
    Exp1.sample(random)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_pcg::rand_core::SeedableRng;

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
    fn hazards_dispatch_with_the_probability_of_equation_5() {
        let hazards = DispatchHazards::new(20, 96);
        let probability = |hazard: f64| 1.0 - (-hazard).exp();
        assert!((probability(hazards.early(1)) - 0.367879).abs() < 1e-6);
        assert!((probability(hazards.due(1)) - 0.701213).abs() < 1e-6);
        // The fraction of variates that a hazard uses up is that probability.
        let mut random = Pcg64Mcg::seed_from_u64(3);
        let draws = 100_000;
        let used = (0..draws).filter(|_| exponential(&mut random) < hazards.early(1));
        let share = used.count() as f64 / f64::from(draws);
        assert!((share - 0.367879).abs() < 0.005, "{share}");
    }
}
