//! Log-ins to be expected at the computers that people work at.

use serde::{Deserialize, Serialize};
use tollgate_model::{Instant, Span};

use super::{ClusterState, Host};

/// The log-ins to be expected at a computer without a user, which repeat each week.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoginForecast {
    /// The beginning of the first hour.
    from: Instant,
    /// The expected number of log-ins from then to the end of each hour of a week.
    until_end_of: Vec<f64>,
}

/// An hour.
const HOUR: Span = Span::from_secs(3600);
/// Number of hours in a week.
const HOURS_OF_WEEK: usize = 168;

impl LoginForecast {
    /// Creates the forecast from the rates of the hours of a week, in log-ins per hour of a computer without a user; not
    /// negative. The first hour begins at `from`.
    pub fn new(from: Instant, rates: [f64; HOURS_OF_WEEK]) -> Self {
        let mut sum = 0.0;
        let until = rates.map(|rate| {
            sum += rate;
            sum
        });
        Self {
            from,
            until_end_of: until.to_vec(),
        }
    }

    /// Returns the number of log-ins that are expected from the forecast's beginning to an instant.
    fn expected_until(&self, at: Instant) -> f64 {
        let hours = at.since(self.from).as_secs_f64() / HOUR.as_secs_f64();
        let (weeks, hours) = (
            (hours / HOURS_OF_WEEK as f64).floor(),
            hours % HOURS_OF_WEEK as f64,
        );
        let whole = hours as usize;
        let before = |hour: usize| match hour {
            0 => 0.0,
            hour => self.until_end_of[hour - 1],
        };
        let part = hours - whole as f64;
        weeks * self.in_a_week() + before(whole) + part * (before(whole + 1) - before(whole))
    }

    fn in_a_week(&self) -> f64 {
        self.until_end_of[HOURS_OF_WEEK - 1]
    }

    /// Returns the instant until which `n` log-ins are expected from `now` on; [`Instant::MAX`] if that is never. `n` is
    /// above 0.
    ///
    /// Log-ins are a Poisson process, so with probability exp(-`n`) none comes before.
    pub fn until(&self, now: Instant, n: f64) -> Instant {
        let in_a_week = self.in_a_week();
        if in_a_week <= 0.0 {
            return Instant::MAX;
        }
        let sum = self.expected_until(now) + n;
        let weeks = (sum / in_a_week).floor();
        let rest = sum - weeks * in_a_week;
        let hour = self.until_end_of.partition_point(|&until| until < rest);
        let hour = hour.min(HOURS_OF_WEEK - 1);
        let before = match hour {
            0 => 0.0,
            hour => self.until_end_of[hour - 1],
        };
        let within = self.until_end_of[hour] - before;
        let part = match within > 0.0 {
            true => ((rest - before) / within).clamp(0.0, 1.0),
            false => 0.0,
        };
        let hours = weeks * HOURS_OF_WEEK as f64 + hour as f64 + part;
        self.from + Span::from_secs_f64(hours * HOUR.as_secs_f64())
    }
}

impl ClusterState {
    /// Returns the log-ins to be expected at a host; None if no one works at it, or too few were seen.
    pub fn logins_at(&self, host: &Host) -> Option<&LoginForecast> {
        self.logins.get(host.logins? as usize)
    }

    /// Sets the log-ins to be expected. `of_host` returns the index of the forecast for a desktop, given by its index into
    /// [`ClusterState::hosts`].
    pub fn set_logins(
        &mut self,
        forecasts: Vec<LoginForecast>,
        of_host: impl Fn(usize) -> Option<u32>,
    ) {
        self.logins = forecasts;
        for (index, host) in self.hosts.iter_mut().enumerate() {
            host.logins = of_host(index).filter(|_| host.terms.is_desktop);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(hours: f64) -> Instant {
        Instant::from_secs(1000) + Span::from_secs_f64(3600.0 * hours)
    }

    /// One log-in in each of the hours 2 and 3, half of one in hour 100.
    fn forecast() -> LoginForecast {
        let mut rates = [0.0; HOURS_OF_WEEK];
        (rates[2], rates[3], rates[100]) = (1.0, 1.0, 0.5);
        LoginForecast::new(at(0.0), rates)
    }

    #[test]
    fn expected_log_ins_are_counted_over_hours_and_weeks() {
        let forecast = forecast();
        let cases = [
            (0.0, 0.5, 2.5),
            (1.5, 1.0, 3.0),
            (2.5, 1.0, 3.5),
            (5.0, 0.25, 100.5),
            (120.0, 0.75, 168.0 + 2.75),
            (2.5, 2.5, 168.0 + 2.5),
        ];
        for (now, n, expected) in cases {
            let until = forecast.until(at(now), n).since(at(0.0)).as_secs_f64() / 3600.0;
            assert!((until - expected).abs() < 1e-6, "{n} from {now}: {until}");
        }
    }

    #[test]
    fn without_log_ins_none_is_ever_expected() {
        let never = LoginForecast::new(at(0.0), [0.0; HOURS_OF_WEEK]);
        assert_eq!(never.until(at(3.0), 0.1), Instant::MAX);
    }
}
