//! The parameters of the synthetic campus.

use tollgate_model::{Power, Span, Watts};

/// A log-normal distribution by its median and the standard deviation of the logarithm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogNormal {
    /// Positive; in the unit of the measured quantity.
    pub median: f64,
    /// Not negative.
    pub sigma: f64,
}

/// The parameters of the synthetic campus. The default is Newcastle University in 2010, as far as
/// McGough et al. (2013) describe it. Values they leave open are calibrated to their printed
/// figures.
#[derive(Clone, Debug, PartialEq)]
pub struct CampusConfig {
    /// Seed of all random numbers.
    pub seed: u64,
    /// Size factor: computers, tasks, sizes of batches and their cap are multiplied by it.
    /// Positive, at most 10.
    pub scale: f64,
    /// Length of the year in days; it begins on a Monday at midnight. At least 1.
    pub days: u32,
    /// Desktops; at least 1.
    pub computers: u32,
    /// Number of clusters; at least 1.
    pub clusters: u32,
    /// The spread of the sizes of clusters (sigma of a log-normal distribution).
    pub cluster_size_sigma: f64,
    /// Log-ins.
    pub users: UserBehaviour,
    /// The tasks that end by themselves.
    pub good: GoodTasks,
    /// The tasks that never end.
    pub bad: BadTasks,
    /// Losses of allocations besides users and reboots.
    pub losses: LostAllocations,
    /// Time that an unused computer stays awake. Not negative.
    pub stays_awake: Span,
    /// Power of the computers, by (cluster + place in it) mod 4.
    pub power: [Power; 4],
    /// Power of a dedicated computer: active while a task runs on it, else asleep.
    pub dedicated: Power,
}

/// Parameters of the users' log-ins and sessions.
#[derive(Clone, Debug, PartialEq)]
pub struct UserBehaviour {
    /// Mean time between a log-out and the next log-in of a computer; the rate of log-ins is
    /// adjusted to it. Positive.
    pub mean_idle: Span,
    /// Tolerance for the mean time.
    pub idle_within: Span,
    /// Log-ins per second at a free computer of median popularity at weight 1, before adjustment.
    pub base_rate: f64,
    /// Spread of the popularity of clusters (sigma, the median being 1).
    pub popularity_sigma: f64,
    /// The rate at weekends, relative to a working day.
    pub week_end: f64,
    /// The rate out of term, relative to term.
    pub out_of_term: f64,
    /// Length of a session, in seconds.
    pub session_s: LogNormal,
    /// The probability that the next user is already waiting.
    pub handover_probability: f64,
}

/// Parameters of the tasks that end by themselves if they get the time.
#[derive(Clone, Debug, PartialEq)]
pub struct GoodTasks {
    /// Number of tasks.
    pub count: u32,
    /// Number of tasks submitted together.
    pub batch: LogNormal,
    /// Maximum number of tasks submitted together.
    pub batch_cap: u32,
    /// Run time in seconds, by batch.
    pub runtime_s: LogNormal,
    /// Spread of run times within a batch (sigma).
    pub runtime_within: f64,
    /// If given, run times are stretched so that their sum is this.
    pub useful: Option<Span>,
    /// Size of a task's data in megabytes, transferred there and back.
    pub size_mb: LogNormal,
    /// Number of further tasks that need 16 to 88 hours.
    pub long: u32,
}

/// Parameters of the tasks that never end.
#[derive(Clone, Debug, PartialEq)]
pub struct BadTasks {
    /// Number of tasks that stay until their user notices.
    pub heavy: u32,
    /// Days until the user notices.
    pub heavy_days: LogNormal,
    /// Number of tasks that are removed soon: after half a minute and an exponential time.
    pub light: u32,
    /// The mean of the exponential time.
    pub light_mean: Span,
}

/// Parameters of the allocations that are lost for other reasons.
#[derive(Clone, Debug, PartialEq)]
pub struct LostAllocations {
    /// The probability that an allocation is lost, from 0 to 1.
    pub probability: f64,
    /// Maximum number of seconds until the loss, drawn among the whole numbers from 1 on.
    pub max_delay_s: u32,
}

/// An error in a setting.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{name} is {value}: expected {expected}")]
pub struct CampusConfigError {
    /// The setting.
    pub name: &'static str,
    /// The given value.
    pub value: String,
    /// The legal values.
    pub expected: &'static str,
}

const fn power(active: f64, idle: f64, asleep: f64) -> Power {
    Power {
        active: Watts(active),
        idle: Watts(idle),
        asleep: Watts(asleep),
    }
}

/// Table I of the paper; the middle of each printed range.
const NORMAL: Power = Power::OF_DESKTOP;
const HIGH_END: Power = power(114.0, 67.0, 3.0);
const LEGACY: Power = power(140.0, 65.0, 4.0);

impl Default for CampusConfig {
    /// Returns the variant `simulation`: only users and reboots evict.
    fn default() -> Self {
        Self {
            seed: 1,
            scale: 1.0,
            days: 365,
            computers: 1359,
            clusters: 35,
            cluster_size_sigma: 0.6,
            users: UserBehaviour {
                mean_idle: Span::from_secs(371 * 60),
                idle_within: Span::from_secs(90),
                base_rate: 1.0 / 5700.0,
                popularity_sigma: 0.8,
                week_end: 0.4,
                out_of_term: 0.35,
                session_s: LogNormal {
                    median: 1500.0,
                    sigma: 1.1,
                },
                handover_probability: 0.03,
            },
            good: GoodTasks {
                count: 561_851,
                batch: LogNormal {
                    median: 50.0,
                    sigma: 1.75,
                },
                batch_cap: 20_000,
                runtime_s: LogNormal {
                    median: 75.0,
                    sigma: 2.16,
                },
                runtime_within: 1.0464,
                useful: None,
                size_mb: LogNormal {
                    median: 10.0,
                    sigma: 1.0,
                },
                long: 0,
            },
            bad: BadTasks {
                heavy: 170,
                heavy_days: LogNormal {
                    median: 60.0,
                    sigma: 0.75,
                },
                light: 1900,
                light_mean: Span::from_secs(20 * 60),
            },
            losses: LostAllocations {
                probability: 0.0,
                max_delay_s: 30,
            },
            stays_awake: Span::from_secs(15 * 60),
            power: [NORMAL, NORMAL, HIGH_END, LEGACY],
            dedicated: HIGH_END,
        }
    }
}

impl CampusConfig {
    /// Returns the variant `history`: allocations are also lost within seconds, and some good tasks
    /// need longer than the time between two nightly reboots. The variant comes near the record of
    /// 2010.
    pub fn history() -> Self {
        let mut settings = Self::default();
        settings.losses.probability = 0.45;
        settings.good.long = 230;
        settings
    }

    /// Returns the end of the year.
    pub const fn horizon(&self) -> Span {
        Span::from_secs(self.days as i64 * 86_400)
    }

    /// Returns a count of the full campus, scaled; at least `least`.
    pub(super) fn scaled(&self, count: u32, least: u32) -> u32 {
        ((f64::from(count) * self.scale).round() as u32).max(least.min(count))
    }

    /// Checks every number.
    ///
    /// # Errors
    /// Returns the first invalid setting.
    pub fn validate(&self) -> Result<(), CampusConfigError> {
        let within =
            |name, value: f64, low: f64, high: f64, expected| match (low..=high).contains(&value) {
                true => Ok(()),
                false => Err(CampusConfigError {
                    name,
                    value: value.to_string(),
                    expected,
                }),
            };
        let share = |name, value| within(name, value, 0.0, 1.0, "a number from 0 to 1");
        let spread = |name, value| within(name, value, 0.0, 5.0, "a number from 0 to 5");
        let rate = |name, value| within(name, value, 1e-12, 1e12, "a positive number");
        let count = |name, value: u32| {
            let expected = "a whole number from 1 to 10,000,000";
            within(name, value.into(), 1.0, 1e7, expected)
        };
        let span = |name, value: Span| {
            let year_s = 366.0 * 86_400.0;
            within(
                name,
                value.as_secs_f64(),
                0.0,
                year_s,
                "from nothing to a year",
            )
        };
        within(
            "scale",
            self.scale,
            1e-6,
            10.0,
            "a positive number, at most 10",
        )?;
        within("days", self.days.into(), 1.0, 3660.0, "from 1 to 3660")?;
        count("computers", self.computers)?;
        count("clusters", self.clusters)?;
        count("tasks", self.good.count)?;
        count("batch_cap", self.good.batch_cap)?;
        spread("cluster_size_sigma", self.cluster_size_sigma)?;
        rate("mean_idle_s", self.users.mean_idle.as_secs_f64())?;
        rate("base_rate", self.users.base_rate)?;
        spread("popularity_sigma", self.users.popularity_sigma)?;
        rate("week_end", self.users.week_end)?;
        rate("out_of_term", self.users.out_of_term)?;
        share("hand_over", self.users.handover_probability)?;
        for (median, sigma, of) in [
            ("session_s", "session_sigma", self.users.session_s),
            ("batch", "batch_sigma", self.good.batch),
            ("runtime_s", "runtime_sigma", self.good.runtime_s),
            ("size_mb", "size_sigma", self.good.size_mb),
            ("heavy_days", "heavy_sigma", self.bad.heavy_days),
        ] {
            rate(median, of.median)?;
            spread(sigma, of.sigma)?;
        }
        spread("runtime_within", self.good.runtime_within)?;
        span("light_mean_s", self.bad.light_mean)?;
        span("stays_awake_s", self.stays_awake)?;
        share("loss_probability", self.losses.probability)?;
        count("loss_most_s", self.losses.max_delay_s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_settings_are_reported_by_name() {
        assert_eq!(CampusConfig::default().validate(), Ok(()));
        assert_eq!(CampusConfig::history().validate(), Ok(()));
        let mut settings = CampusConfig::default();
        settings.losses.probability = 1.5;
        let error = settings.validate().unwrap_err().to_string();
        assert_eq!(
            error,
            "loss_probability is 1.5: expected a number from 0 to 1"
        );
        settings.scale = f64::NAN;
        assert_eq!(settings.validate().unwrap_err().name, "scale");
    }
}
