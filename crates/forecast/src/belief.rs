//! What a policy may believe about the run time of a job, by what jobs needed of the time that they
//! requested.
//!
//! Users ask for more time than they need, each in their own way. So a belief has two halves: the ratios
//! of run time and request of the jobs of the site and of the user, applied to the request of the job,
//! and the forecast of the job's class, capped at the request. The mixture of both keeps promises that
//! neither half keeps alone; the half that was nearer to the run times of the user's jobs weighs more.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tollgate_model::distribution::{LEVELS, N_LEVELS};
use tollgate_model::{BeliefSource, Distribution, Span, UserId};

use crate::belief_weights::BeliefWeights;
use crate::record::{ClassId, ForecastJob, ln_secs, span_of};
use crate::window::RollingWindow;

/// Number of remembered jobs of the site.
const SITE_JOBS: usize = 1000;
/// Number of remembered jobs of a user, and of a class.
const USER_JOBS: usize = 50;
/// Number of jobs of the site before its own ratios replace those of [`Distribution::of_request`].
const MIN_SITE_JOBS: usize = 50;
/// Number of jobs of a user before they count.
const MIN_USER_JOBS: usize = 5;
/// Number of jobs of a user that weigh as much as the site.
const USER_WEIGHT: f64 = 5.0;

/// The most that a job uses of its request, at [`LEVELS`]: requests are limits, and sites are slow to
/// enforce them.
const LIMITS: [f64; N_LEVELS] = [
    1.02, 1.02, 1.02, 1.02, 1.02, 1.02, 1.02, 1.02, 1.02, 1.02, 1.05, 1.20,
];

/// The level of run time / request that tells whether a site lets jobs outlive their requests.
const OVERRUN_LEVEL: f64 = 0.9;

/// The experience with requested run times. Memory is constant per user and class.
///
/// ```
/// use tollgate_forecast::{
///     BeliefModel, BeliefQuery, ClassId, ForecastJob, JobAttributes, RequestSource,
/// };
/// use tollgate_model::{BeliefSource, Span, UserId};
///
/// let job = ForecastJob {
///     class: ClassId(0),
///     procs: 1,
///     request: Some(Span::from_secs(3600)),
///     context: JobAttributes::default(),
/// };
/// let mut model = BeliefModel::default();
/// for _ in 0..100 {
///     model.learn(UserId(7), &job, Span::from_secs(360), None);
/// }
/// let belief = model.belief(&BeliefQuery {
///     user: UserId(7),
///     job: &job,
///     forecast: None,
///     source: BeliefSource::User,
///     default_request: Span::from_secs(3600),
/// });
/// assert_eq!(belief.request_source, RequestSource::Job);
/// assert_eq!(belief.distribution.median(), Span::from_secs(360));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BeliefModel {
    site: RequestHistory<SITE_JOBS>,
    users: BTreeMap<UserId, RequestHistory<USER_JOBS>>,
    classes: BTreeMap<ClassId, RollingWindow<USER_JOBS>>,
    weights: BeliefWeights,
}

/// The last requests of a group of jobs, and what the jobs needed of them; as logarithms.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct RequestHistory<const N: usize> {
    /// Run time less request.
    ratios: RollingWindow<N>,
    requests: RollingWindow<N>,
}

/// A job about which a belief is asked for.
#[derive(Clone, Copy, Debug)]
pub struct BeliefQuery<'a> {
    /// The user.
    pub user: UserId,
    /// The job.
    pub job: &'a ForecastJob,
    /// The forecast of the job's class. Without one, the belief is made of ratios alone.
    pub forecast: Option<&'a Distribution>,
    /// The parts of the belief.
    pub source: BeliefSource,
    /// The request of a job that has none, where no job had one before. Positive.
    pub default_request: Span,
}

/// A belief about the run time of a job.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Belief {
    /// The distribution of the run time.
    pub distribution: Distribution,
    /// The requested run time, to which the ratios were applied.
    pub request: Span,
    /// The source of that request.
    pub request_source: RequestSource,
    /// The source of the ratios; None if the belief is the forecast alone.
    pub ratios: Option<RatioSource>,
}

/// The source of the ratios of run time and request: the nearest group of jobs that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum RatioSource {
    /// Other sites: [`Distribution::of_request`].
    Table,
    /// The site.
    Site,
    /// The user, together with the site.
    User,
}

/// The source of the requested run time of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RequestSource {
    /// The job.
    Job,
    /// The median request of its class.
    Class,
    /// The median request of its user.
    User,
    /// The median request of the site.
    Site,
    /// [`BeliefQuery::default_request`].
    Default,
}

impl BeliefModel {
    /// Learns that a job of `user`, for which `forecast` was made at its submission, ran for `runtime`.
    /// Nothing is learned from a job without a request, or one that never ran.
    pub fn learn(
        &mut self,
        user: UserId,
        job: &ForecastJob,
        runtime: Span,
        forecast: Option<&Distribution>,
    ) {
        let ln_request = job.request.and_then(ln_secs);
        let Some(((request, ln_request), run)) = job.request.zip(ln_request).zip(ln_secs(runtime))
        else {
            return;
        };
        if let Some(forecast) = forecast {
            let (parts, _) = self.by_ratio(user, request);
            let by_ratio = Distribution::mixture(&parts);
            let forecast = limit(forecast, request, self.overrun());
            self.weights.learn(user, &by_ratio, &forecast, run);
        }
        let request = ln_request;
        self.site.learn(request, run);
        self.users.entry(user).or_default().learn(request, run);
        self.classes.entry(job.class).or_default().push(request);
    }

    /// Returns the belief about a job.
    pub fn belief(&self, query: &BeliefQuery<'_>) -> Belief {
        let (request, request_source) = self.request(query);
        let limited = query.forecast.map(|forecast| match request_source {
            RequestSource::Job => limit(forecast, request, self.overrun()),
            // A job whose user set no limit has none.
            RequestSource::Class
            | RequestSource::User
            | RequestSource::Site
            | RequestSource::Default => *forecast,
        });
        let (distribution, ratios) = match (query.source, limited) {
            (BeliefSource::Forecast, Some(forecast)) => (forecast, None),
            (BeliefSource::User, _) | (_, None) => {
                let (parts, ratios) = self.by_ratio(query.user, request);
                (Distribution::mixture(&parts), Some(ratios))
            }
            (BeliefSource::Mixture, Some(forecast)) => {
                let (parts, ratios) = self.by_ratio(query.user, request);
                let weight = self.weights.forecast(query.user);
                let [site, user] = parts.map(|(part, by_ratio)| ((1.0 - weight) * part, by_ratio));
                let mixture = Distribution::mixture(&[site, user, (weight, forecast)]);
                (mixture, Some(ratios))
            }
        };
        Belief {
            distribution,
            request,
            request_source,
            ratios,
        }
    }

    /// Returns the distributions by the ratios of the site and of the user, with their weights, whose
    /// sum is 1.
    fn by_ratio(&self, user: UserId, request: Span) -> ([(f64, Distribution); 2], RatioSource) {
        let (site, source) = match self.site.distribution(MIN_SITE_JOBS, request) {
            Some(site) => (site, RatioSource::Site),
            None => (Distribution::of_request(request), RatioSource::Table),
        };
        let known = self.users.get(&user);
        let own = known.and_then(|known| {
            let n = known.ratios.len() as f64;
            let own = known.distribution(MIN_USER_JOBS, request)?;
            Some((n / (n + USER_WEIGHT), own))
        });
        match own {
            Some((weight, own)) => ([(1.0 - weight, site), (weight, own)], RatioSource::User),
            None => ([(1.0, site), (0.0, site)], source),
        }
    }

    /// Returns the part of their requests that nine in ten jobs of the site need at most; 0 while too few are
    /// known.
    fn overrun(&self) -> f64 {
        match self.site.ratios.len() < MIN_SITE_JOBS {
            true => 0.0,
            false => self
                .site
                .ratios
                .quantile(OVERRUN_LEVEL)
                .map_or(0.0, f64::exp),
        }
    }

    fn request(&self, query: &BeliefQuery<'_>) -> (Span, RequestSource) {
        let asked = query.job.request.filter(|&request| request > Span::ZERO);
        if let Some(request) = asked {
            return (request, RequestSource::Job);
        }
        let class = self.classes.get(&query.job.class);
        let user = self.users.get(&query.user);
        let medians = [
            (class.and_then(median), RequestSource::Class),
            (
                user.and_then(|user| median(&user.requests)),
                RequestSource::User,
            ),
            (median(&self.site.requests), RequestSource::Site),
        ];
        let mut known = medians.into_iter();
        let known = known.find_map(|(request, source)| Some((request?, source)));
        known.unwrap_or((query.default_request, RequestSource::Default))
    }
}

impl<const N: usize> RequestHistory<N> {
    fn learn(&mut self, ln_request: f64, ln_run: f64) {
        self.ratios.push(ln_run - ln_request);
        self.requests.push(ln_request);
    }

    /// Returns the run times that jobs with this request would have had; None if the group has fewer than
    /// `least` jobs.
    fn distribution(&self, least: usize, request: Span) -> Option<Distribution> {
        let ln_request = ln_secs(request)?;
        if self.ratios.len() < least {
            return None;
        }
        let ratio = |level| self.ratios.quantile(level).unwrap_or(0.0);
        Some(Distribution::new(
            LEVELS.map(|level| span_of(ln_request + ratio(level.as_f64()))),
        ))
    }
}

fn median<const N: usize>(requests: &RollingWindow<N>) -> Option<Span> {
    requests.quantile(0.5).map(span_of)
}

/// Returns the forecast of a job that may run as long as [`LIMITS`] say, or, at a site that lets jobs outlive
/// their requests, for `overrun` times the request.
fn limit(forecast: &Distribution, request: Span, overrun: f64) -> Distribution {
    let quantiles = forecast.quantiles();
    Distribution::new(std::array::from_fn(|level| {
        let most = Span::from_secs_f64(LIMITS[level].max(overrun) * request.as_secs_f64());
        quantiles[level].min(most)
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::JobAttributes;
    use proptest::prelude::*;

    const HOUR: Span = Span::from_secs(3600);

    fn job(class: u32, request: Option<Span>) -> ForecastJob {
        ForecastJob {
            class: ClassId(class),
            procs: 1,
            request,
            context: JobAttributes::default(),
        }
    }

    fn query<'a>(
        user: u32,
        job: &'a ForecastJob,
        forecast: Option<&'a Distribution>,
        source: BeliefSource,
    ) -> BeliefQuery<'a> {
        BeliefQuery {
            user: UserId(user),
            job,
            forecast,
            source,
            default_request: Span::from_secs(60),
        }
    }

    /// Returns a model of a site where `n` jobs of user 1 needed `part` of an hour.
    fn learned(n: usize, part: f64) -> BeliefModel {
        let mut model = BeliefModel::default();
        for _ in 0..n {
            let runtime = Span::from_secs_f64(part * 3600.0);
            model.learn(UserId(1), &job(1, Some(HOUR)), runtime, None);
        }
        model
    }

    #[test]
    fn a_new_site_believes_the_fixed_table() {
        let asked = job(1, Some(HOUR));
        let belief = |model: &BeliefModel| {
            let belief = model.belief(&query(2, &asked, None, BeliefSource::Mixture));
            belief.distribution
        };
        assert_eq!(belief(&learned(0, 0.5)), Distribution::of_request(HOUR));
        assert_eq!(belief(&learned(49, 0.5)), Distribution::of_request(HOUR));
        assert_eq!(
            belief(&learned(50, 0.5)).quantiles(),
            &[Span::from_secs(1800); 12]
        );
    }

    #[test]
    fn five_jobs_of_a_user_weigh_as_much_as_the_site() {
        let asked = job(1, Some(HOUR));
        let believed = |n| {
            let model = learned(n, 0.3);
            let belief = model.belief(&query(1, &asked, None, BeliefSource::User));
            belief.distribution
        };
        assert_eq!(believed(4), Distribution::of_request(HOUR));
        // All five jobs of the user needed 1080 s. In the fixed table that time is at level 0.50 +
        // 0.1 ln(0.3/0.27) / ln(0.44/0.27) = 0.5216.
        let five = believed(5);
        assert_eq!(five.median(), Span::from_secs(1080));
        assert_eq!(five.quantiles()[4], Span::from_secs(1080));
        // Level 0.3 of the mixture is level 0.6 of the table, less what the user's jobs add below
        // their run time.
        assert!(five.quantiles()[2] < Span::from_secs(1080));
        // Level 0.9 of the mixture: user 1, table 0.8.
        let upper = five.quantiles()[9].as_secs_f64();
        assert!((upper - 0.81 * 3600.0).abs() < 30.0, "{upper}");
        // Twenty jobs weigh 0.8.
        let twenty = believed(20);
        assert_eq!(twenty.quantiles()[2], Span::from_secs(1080));
        assert_eq!(twenty.quantiles()[8], Span::from_secs(1080));
    }

    #[test]
    fn forecasts_are_limited_by_the_request_of_the_job() {
        let long = Distribution::new([Span::from_secs(36_000); 12]);
        let asked = job(1, Some(HOUR));
        let model = BeliefModel::default();
        let belief = model.belief(&query(1, &asked, Some(&long), BeliefSource::Forecast));
        let expected = std::array::from_fn(|level| match level {
            11 => Span::from_secs(4320),
            10 => Span::from_secs(3780),
            _ => Span::from_secs(3672),
        });
        assert_eq!(belief.distribution.quantiles(), &expected);
        let silent = job(1, None);
        let belief = model.belief(&query(1, &silent, Some(&long), BeliefSource::Forecast));
        assert_eq!(belief.distribution, long);
    }

    #[test]
    fn mixture_without_experience_is_half_forecast() {
        let forecast = Distribution::new([Span::from_secs(100); 12]);
        let asked = job(1, Some(HOUR));
        let model = learned(100, 0.5);
        let belief = model.belief(&query(2, &asked, Some(&forecast), BeliefSource::Mixture));
        let quantiles = belief.distribution.quantiles();
        assert_eq!(quantiles[1], Span::from_secs(100));
        assert_eq!(quantiles[4], Span::from_secs(100));
        assert_eq!(quantiles[6], Span::from_secs(1800));
        let by_user = model.belief(&query(2, &asked, Some(&forecast), BeliefSource::User));
        assert_eq!(
            by_user.distribution.quantiles(),
            &[Span::from_secs(1800); 12]
        );
    }

    #[test]
    fn missing_request_is_taken_from_the_nearest_group() {
        let silent = |class| job(class, None);
        let source = |model: &BeliefModel, user, class| {
            let job = silent(class);
            model
                .belief(&query(user, &job, None, BeliefSource::Mixture))
                .request_source
        };
        let model = learned(3, 0.5);
        assert_eq!(source(&model, 1, 1), RequestSource::Class);
        assert_eq!(source(&model, 1, 2), RequestSource::User);
        assert_eq!(source(&model, 2, 2), RequestSource::Site);
        assert_eq!(
            source(&BeliefModel::default(), 1, 1),
            RequestSource::Default
        );
        let mut never = BeliefModel::default();
        never.learn(UserId(1), &silent(1), HOUR, None);
        never.learn(UserId(1), &job(1, Some(HOUR)), Span::ZERO, None);
        assert_eq!(never, BeliefModel::default());
    }

    #[test]
    fn stored_model_is_restored_exactly() {
        let mut model = learned(70, 0.123);
        model.learn(
            UserId(2),
            &job(2, Some(HOUR)),
            Span::from_micros(1_234_567),
            None,
        );
        let text = serde_json::to_string(&model).unwrap();
        assert_eq!(serde_json::from_str::<BeliefModel>(&text).unwrap(), model);
    }

    proptest! {
        #[test]
        fn mixture_has_the_mean_probability_at_its_quantiles(
            runs in prop::collection::vec(1i64..20_000, 60..90),
            own in prop::collection::vec(1i64..20_000, 5..60),
            quantiles in prop::array::uniform12(1i64..20_000),
        ) {
            let mut model = BeliefModel::default();
            let asked = job(1, Some(HOUR));
            for &run in &runs {
                model.learn(UserId(1), &asked, Span::from_secs(run), None);
            }
            for &run in &own {
                model.learn(UserId(2), &asked, Span::from_secs(run), None);
            }
            let forecast = Distribution::new(quantiles.map(Span::from_secs));
            let of = |source| {
                model.belief(&query(2, &asked, Some(&forecast), source)).distribution
            };
            let (user, limited) = (of(BeliefSource::User), of(BeliefSource::Forecast));
            let mixture = of(BeliefSource::Mixture);
            prop_assert!(mixture.quantiles().is_sorted());
            let ([site, own], _) = model.by_ratio(UserId(2), HOUR);
            for (level, &quantile) in LEVELS.iter().zip(mixture.quantiles()) {
                // Where a part jumps, the quantile is at the jump.
                let below = quantile - Span::from_micros(2 + quantile.as_micros() / 1_000_000_000);
                let above = quantile + Span::from_micros(2 + quantile.as_micros() / 1_000_000_000);
                let mean = |at: Span| {
                    let p = |d: &Distribution| d.probability_within(at).as_f64();
                    0.5 * (site.0 * p(&site.1) + own.0 * p(&own.1)) + 0.5 * p(&limited)
                };
                prop_assert!(mean(below) <= level.as_f64() + 1e-7, "{} {}", mean(below), level.as_f64());
                prop_assert!(mean(above) >= level.as_f64() - 1e-7, "{} {}", mean(above), level.as_f64());
            }
            prop_assert!(mixture.quantiles()[0] >= user.quantiles()[0].min(limited.quantiles()[0]));
        }
    }
}
