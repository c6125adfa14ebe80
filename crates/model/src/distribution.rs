//! The predicted run time of a job as a probability distribution.

use std::fmt;

use serde::de::{Error, Unexpected};
use serde::{Deserialize, Deserializer, Serialize};

use crate::{NodeSpeed, Span};

mod mixture;

/// A probability, between 0 and 1.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize)]
pub struct Probability(f64);

impl<'de> Deserialize<'de> for Probability {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let p = f64::deserialize(from)?;
        let expected = &"a number between 0 and 1";
        Self::new(p).ok_or_else(|| D::Error::invalid_value(Unexpected::Float(p), expected))
    }
}

impl Probability {
    /// Returns the probability `p`, or None unless 0 <= p <= 1.
    pub const fn new(p: f64) -> Option<Self> {
        if 0.0 <= p && p <= 1.0 {
            Some(Self(p))
        } else {
            None
        }
    }

    /// Returns the probability that follows from `k` of `n` equally likely scenarios, never 0 or 1:
    /// (k + 1/2) / (n + 1). `k` is at most `n`.
    pub fn of_scenarios(k: usize, n: usize) -> Self {
        Self::new((k as f64 + 0.5) / (n as f64 + 1.0)).expect("k is at most n")
    }

    /// Returns the probability as a fraction.
    pub const fn as_f64(self) -> f64 {
        self.0
    }
}

/// Formats the probability with two digits, rounded down, and never as 0 or 1: `0.01` to `0.99`. Above 0.99 it has a
/// third digit, up to `0.999`: what is missing to 1 is then known to about its first digit. A value below a minimum so
/// never looks equal to the minimum, and nothing looks certain.
impl fmt::Display for Probability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The summand keeps a multiple of a unit, which is rounded in binary, from its predecessor.
        let units = |in_one: f64| (self.0 * in_one + 1e-9).floor();
        match units(1000.0) > 990.0 {
            true => write!(f, "{:.3}", units(1000.0).min(999.0) / 1000.0),
            false => write!(f, "{:.2}", units(100.0).max(1.0) / 100.0),
        }
    }
}

/// Number of quantiles in a [`Distribution`].
pub const N_LEVELS: usize = 12;

/// The levels of a [`Distribution`], ascending. They are dense enough to be conditioned on survival
/// and contain 0.90, 0.95 and 0.99, the levels of promises.
pub const LEVELS: [Probability; N_LEVELS] = [
    Probability(0.05),
    Probability(0.10),
    Probability(0.20),
    Probability(0.30),
    Probability(0.40),
    Probability(0.50),
    Probability(0.60),
    Probability(0.70),
    Probability(0.80),
    Probability(0.90),
    Probability(0.95),
    Probability(0.99),
];

/// The fraction of the time that they requested that jobs need, at [`LEVELS`]: rounded means of the
/// quantiles of KTH SP2 and SDSC Blue Horizon, where requests are enforced limits.
const PARTS_OF_REQUEST: [f64; N_LEVELS] = [
    0.004, 0.01, 0.04, 0.09, 0.17, 0.27, 0.44, 0.62, 0.81, 1.0, 1.01, 1.2,
];

/// The steepest upper tail that is accepted: the exponent of a power law.
const STEEPEST_TAIL: f64 = 20.0;
/// The flattest upper tail that is accepted: an exponent of 1 or less has no mean.
const FLATTEST_TAIL: f64 = 1.5;

/// The predictive distribution of a run time: its quantiles at [`LEVELS`].
///
/// Between two levels the distribution function is linear in the logarithm of time. Below the
/// lowest level it falls linearly to zero. Above the highest level it decays as a power law as
/// steep as between the last two levels, so every quantile below 1 is finite.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "[Span; N_LEVELS]", into = "[Span; N_LEVELS]")]
pub struct Distribution {
    quantiles: [Span; N_LEVELS],
}

/// Restores the order of quantiles that were read from a file.
impl From<[Span; N_LEVELS]> for Distribution {
    fn from(quantiles: [Span; N_LEVELS]) -> Self {
        Self::new(quantiles)
    }
}

impl From<Distribution> for [Span; N_LEVELS] {
    fn from(distribution: Distribution) -> Self {
        distribution.quantiles
    }
}

impl Distribution {
    /// Creates the distribution with these `quantiles` at [`LEVELS`]. A quantile below one
    /// microsecond is raised to one microsecond, and a quantile below its predecessor is raised to
    /// its predecessor.
    pub fn new(mut quantiles: [Span; N_LEVELS]) -> Self {
        let mut floor = Span::TICK;
        for quantile in &mut quantiles {
            floor = floor.max(*quantile);
            *quantile = floor;
        }
        Self { quantiles }
    }

    /// Returns the distribution of the run time of a job about which nothing is known but the time that
    /// its user requested.
    pub fn of_request(request: Span) -> Self {
        let request_s = request.as_secs_f64();
        Self::new(PARTS_OF_REQUEST.map(|part| Span::from_secs_f64(part * request_s)))
    }

    /// Returns the quantiles at [`LEVELS`], positive and ascending.
    pub const fn quantiles(&self) -> &[Span; N_LEVELS] {
        &self.quantiles
    }

    /// Returns the run time that is exceeded with probability one half.
    pub fn median(&self) -> Span {
        self.quantile(Probability(0.5))
    }

    /// Returns the run time that is exceeded with probability 1 - `level`, at least one
    /// microsecond. Saturates where the tail leaves the range of [`Span`], and at level 1.
    pub fn quantile(&self, level: Probability) -> Span {
        let p = level.as_f64();
        let after = LEVELS.partition_point(|known| known.as_f64() < p);
        if after < N_LEVELS && LEVELS[after] == level {
            return self.quantiles[after];
        }
        let secs = if after == 0 {
            self.secs(0) * p / LEVELS[0].as_f64()
        } else if after == N_LEVELS {
            let rest = (1.0 - LEVELS[N_LEVELS - 1].as_f64()) / (1.0 - p);
            self.secs(N_LEVELS - 1) * rest.powf(1.0 / self.tail_exponent())
        } else {
            let (low, high) = (LEVELS[after - 1].as_f64(), LEVELS[after].as_f64());
            let (from, to) = (self.secs(after - 1).ln(), self.secs(after).ln());
            (from + (to - from) * (p - low) / (high - low)).exp()
        };
        Span::from_secs_f64(secs).max(Span::TICK)
    }

    /// Returns the probability that the run time is at most `span`.
    pub fn probability_within(&self, span: Span) -> Probability {
        if span <= Span::ZERO {
            return Probability(0.0);
        }
        let after = self.quantiles.partition_point(|known| *known <= span);
        let secs = span.as_secs_f64();
        Probability(if after == 0 {
            LEVELS[0].as_f64() * secs / self.secs(0)
        } else if after == N_LEVELS {
            let last = self.secs(N_LEVELS - 1);
            let rest = 1.0 - LEVELS[N_LEVELS - 1].as_f64();
            1.0 - rest * (last / secs).powf(self.tail_exponent())
        } else {
            let (low, high) = (LEVELS[after - 1].as_f64(), LEVELS[after].as_f64());
            let (from, to) = (self.secs(after - 1).ln(), self.secs(after).ln());
            low + (high - low) * ((secs.ln() - from) / (to - from)).clamp(0.0, 1.0)
        })
    }

    /// Returns the distribution of the run time of a job that is ended once it has run for `limit`, which
    /// is positive.
    #[must_use]
    pub fn ended_at(&self, limit: Span) -> Self {
        Self::new(self.quantiles.map(|quantile| quantile.min(limit)))
    }

    /// Returns the distribution of the run time and a `delay` before it, which is not negative.
    #[must_use]
    pub fn delayed_by(&self, delay: Span) -> Self {
        Self::new(self.quantiles.map(|quantile| quantile + delay))
    }

    /// Returns the distribution of the whole run time of a job that has already run for `elapsed`.
    #[must_use]
    pub fn given_survived(&self, elapsed: Span) -> Self {
        let gone = self.probability_within(elapsed);
        Self::new(LEVELS.map(|level| self.quantile_beyond(elapsed, gone, level)))
    }

    /// Returns, for each of some levels, the whole run time that a job that has already run for
    /// `elapsed` exceeds with probability 1 - level: quantiles of [`Distribution::given_survived`].
    pub fn quantiles_given_survived<const N: usize>(
        &self,
        elapsed: Span,
        levels: [Probability; N],
    ) -> [Span; N] {
        let gone = self.probability_within(elapsed);
        levels.map(|level| self.quantile_beyond(elapsed, gone, level))
    }

    fn quantile_beyond(&self, elapsed: Span, gone: Probability, level: Probability) -> Span {
        let p = gone.0 + (1.0 - gone.0) * level.0;
        let quantile = if p < 1.0 {
            self.quantile(Probability(p))
        } else {
            // `elapsed` is so far out that the tail is lost in rounding. A power law has the same
            // shape from every point of its tail.
            let rest = 1.0 / (1.0 - level.0);
            let stretch = rest.powf(1.0 / self.tail_exponent());
            Span::from_secs_f64(elapsed.as_secs_f64() * stretch)
        };
        quantile.max(elapsed.max(Span::ZERO) + Span::TICK)
    }

    /// Returns the distribution of the run time on a node of this speed, from that on the reference node.
    #[must_use]
    pub fn at_speed(&self, speed: NodeSpeed) -> Self {
        if speed == NodeSpeed::default() {
            return *self;
        }
        Self::new(self.quantiles.map(|quantile| speed.time_for(quantile)))
    }

    /// Returns the distribution whose every quantile is the larger of the two: the distribution of
    /// the longer of two run times that are long together.
    #[must_use]
    pub fn larger_of(&self, other: &Self) -> Self {
        Self {
            quantiles: std::array::from_fn(|level| {
                self.quantiles[level].max(other.quantiles[level])
            }),
        }
    }

    fn secs(&self, level: usize) -> f64 {
        self.quantiles[level].as_secs_f64()
    }

    fn tail_exponent(&self) -> f64 {
        let fall = (1.0 - LEVELS[N_LEVELS - 2].as_f64()) / (1.0 - LEVELS[N_LEVELS - 1].as_f64());
        let stretch = self.secs(N_LEVELS - 1) / self.secs(N_LEVELS - 2);
        (fall.ln() / stretch.ln()).clamp(FLATTEST_TAIL, STEEPEST_TAIL)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn doubling() -> Distribution {
        Distribution::new(std::array::from_fn(|level| Span::from_secs(1 << level)))
    }

    fn p(p: f64) -> Probability {
        Probability::new(p).unwrap()
    }

    #[test]
    fn a_probability_is_between_0_and_1() {
        assert_eq!(Probability::new(1.5), None);
        assert_eq!(Probability::new(-0.1), None);
        assert_eq!(Probability::new(f64::NAN), None);
    }

    #[test]
    fn probability_never_looks_certain() {
        for (value, text) in [
            (0.0, "0.01"),
            (0.004, "0.01"),
            (0.29, "0.29"),
            (0.8999, "0.89"),
            (0.9, "0.90"),
            (0.9909, "0.99"),
            (0.991, "0.991"),
            (0.9969, "0.996"),
            (1.0, "0.999"),
        ] {
            assert_eq!(p(value).to_string(), text);
        }
    }

    #[test]
    fn levels_are_met_exactly_and_between_them_time_is_geometric() {
        let d = doubling();
        assert_eq!(d.quantile(p(0.9)), Span::from_secs(512));
        assert_eq!(d.median(), Span::from_secs(32));
        let between = d.quantile(p(0.55)).as_secs_f64();
        assert!((between - 32.0 * 2f64.sqrt()).abs() < 1e-5);
        assert_eq!(d.probability_within(Span::from_secs(512)), p(0.9));
        assert_eq!(d.probability_within(Span::ZERO), p(0.0));
    }

    #[test]
    fn the_upper_tail_is_a_power_law() {
        let d = doubling();
        // 0.05 to 0.01 while time doubles: the exponent is ln 5 / ln 2.
        let beyond = d.probability_within(Span::from_secs(4096)).as_f64();
        assert!((1.0 - beyond - 0.01 / 5.0).abs() < 1e-9);
    }

    #[test]
    fn longer_survival_lengthens_the_distribution() {
        let later = doubling().given_survived(Span::from_secs(512));
        // A tenth is left, so the median is at level 0.95.
        assert_eq!(later.median(), Span::from_secs(1024));
    }

    proptest! {
        #[test]
        fn quantiles_ascend_and_exceed_the_survived_time(
            micros in proptest::array::uniform12(any::<i64>()),
            elapsed in any::<i64>(),
        ) {
            let d = Distribution::new(micros.map(Span::from_micros));
            let survived = d.given_survived(Span::from_micros(elapsed));
            prop_assert_eq!(d.larger_of(&survived), survived.larger_of(&d));
            for d in [d, survived] {
                prop_assert!(d.quantiles().is_sorted());
                prop_assert!(d.quantiles()[0] > Span::ZERO);
            }
            prop_assert!(survived.quantiles()[0] > Span::from_micros(elapsed.min(i64::MAX - 1)));
            let within = d.probability_within(Span::from_micros(elapsed)).as_f64();
            prop_assert!((0.0..=1.0).contains(&within));
        }
    }
}
