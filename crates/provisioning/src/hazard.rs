//! How often an engine ends pilots before their time, by those that it ended so far.
//!
//! Preemptions are Poisson events over the time that pilots ran: the rate has a gamma prior, and so a gamma
//! posterior. The prior is wide: most queues end nearly none early, and a few many, so that one event outweighs it.

use tollgate_model::Span;

/// The prior: a tenth of an event within two hours. It is what a site without pilots starts from.
const PRIOR_EVENTS: f64 = 0.1;
const PRIOR_HOURS: f64 = 2.0;
/// The standard normal quantile at 0.8, the level at which rates are stated.
const CAUTIOUS: f64 = 0.841_621_233_572_914_4;
const HOUR_S: f64 = 3600.0;

/// The rate at which pilots are ended before their time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PilotHazard {
    /// The number of pilots that the engine ended before their time.
    pub preemptions: u32,
    /// The time that all pilots ran.
    pub exposed: Span,
}

impl PilotHazard {
    fn events(self) -> f64 {
        f64::from(self.preemptions) + PRIOR_EVENTS
    }

    fn hours(self) -> f64 {
        self.exposed.max(Span::ZERO).as_secs_f64() / HOUR_S + PRIOR_HOURS
    }

    /// Returns the expected number of preemptions of a pilot in an hour.
    pub fn mean_per_hour(self) -> f64 {
        self.events() / self.hours()
    }

    /// Returns the number of preemptions in an hour that the rate exceeds with probability 0.2: the quantile of the gamma
    /// posterior in the approximation of Wilson & Hilferty (1931).
    pub fn cautious_per_hour(self) -> f64 {
        let ninth = 1.0 / (9.0 * self.events());
        let root = 1.0 - ninth + CAUTIOUS * ninth.sqrt();
        self.events() * root.powi(3) / self.hours()
    }

    /// Returns the rate that promises count with: the cautious one, and 0 as long as no pilot was ended early.
    pub fn counted_per_hour(self) -> f64 {
        match self.preemptions {
            0 => 0.0,
            _ => self.cautious_per_hour(),
        }
    }

    /// Returns the time of a pilot that its tasks can count on: the expected time until its end or a preemption, at the
    /// cautious rate. It is the whole time as long as no pilot was ended early.
    pub fn counted(self, time: Span) -> Span {
        if self.preemptions == 0 {
            return time;
        }
        let per_second = self.cautious_per_hour() / HOUR_S;
        Span::from_secs_f64(-(-per_second * time.as_secs_f64()).exp_m1() / per_second)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn hazard(preemptions: u32, hours: f64) -> PilotHazard {
        PilotHazard {
            preemptions,
            exposed: Span::from_secs_f64(hours * HOUR_S),
        }
    }

    #[test]
    fn rate_is_between_the_prior_and_the_record() {
        assert!((hazard(0, 0.0).mean_per_hour() - 0.05).abs() < 1e-12);
        assert!(hazard(0, 98.0).cautious_per_hour() < 0.001);
        // Three pilots were ended within six hours.
        let three = hazard(3, 6.0);
        assert!((three.mean_per_hour() - 3.1 / 8.0).abs() < 1e-12);
        assert!(three.cautious_per_hour() > three.mean_per_hour());
    }

    #[test]
    fn cautious_rate_is_the_quantile_of_the_gamma_distribution() {
        // By bisection of the series of the incomplete gamma function, for the posteriors of 1, 3 and 30 events.
        for (preemptions, quantile) in [(1, 1.755_974), (3, 4.404_393), (30, 34.593_754)] {
            let found = hazard(preemptions, 0.0).cautious_per_hour() * PRIOR_HOURS;
            let error = found / quantile - 1.0;
            assert!(error.abs() < 0.01, "{preemptions}: {found}");
        }
    }

    #[test]
    fn tasks_count_on_less_time_of_pilots_that_are_ended_early() {
        let hour = Span::from_secs(3600);
        assert_eq!(hazard(0, 1.0).counted(hour), hour);
        let often = hazard(20, 10.0).counted(hour);
        assert!(often < Span::from_secs(1600), "{often}");
        assert_eq!(hazard(20, 10.0).counted(Span::ZERO), Span::ZERO);
    }

    proptest! {
        #[test]
        fn more_preemptions_and_less_time_are_a_higher_rate(
            preemptions in 0..500_u32,
            hours in 0.0..10_000.0_f64,
            time_s in 0..1_000_000_i64,
        ) {
            let here = hazard(preemptions, hours);
            let rate = here.cautious_per_hour();
            prop_assert!(rate > 0.0 && rate.is_finite());
            prop_assert!(hazard(preemptions + 1, hours).cautious_per_hour() > rate);
            prop_assert!(hazard(preemptions, hours + 1.0).cautious_per_hour() < rate);
            let counted = here.counted(Span::from_secs(time_s));
            prop_assert!(counted >= Span::ZERO && counted <= Span::from_secs(time_s));
        }
    }
}
