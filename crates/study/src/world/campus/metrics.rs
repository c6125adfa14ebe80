//! The metrics of a year on the campus.

use tollgate_model::{Energy, Span};
use tollgate_sim::campus::retry::{RetryPolicy, RetryRule};
use tollgate_sim::campus::{CampusMetrics, CampusPolicies, CampusSessions};

use crate::world::model::WorldMetric;

/// The metrics of a year.
pub(super) const METRICS: &[WorldMetric] = &[
    quantity("energy_mwh", "energy for tasks", Some("MWh")),
    quantity("overhead_min", "mean overhead of good tasks", Some("min")),
    quantity("good_killed", "good tasks killed", None),
    quantity("good_unfinished", "good tasks unfinished", None),
    quantity("good_lost", "good tasks killed or unfinished", None),
    quantity(
        "attributed_mwh",
        "energy at active power while tasks held computers",
        Some("MWh"),
    ),
    quantity(
        "dedicated_mwh",
        "energy of dedicated computers",
        Some("MWh"),
    ),
    quantity("good_evictions", "mean evictions of a good task", None),
    quantity("bad_evictions", "mean evictions of a bad task", None),
    quantity(
        "good_wasted_h",
        "time held by good tasks in vain",
        Some("h"),
    ),
    quantity("bad_wasted_h", "time held by bad tasks in vain", Some("h")),
    quantity("allocations", "allocations of computers", None),
    quantity(
        "energy_of_x0_pct",
        "energy over that of x0 with the same select policy",
        Some("%"),
    ),
    quantity(
        "energy_of_c1_pct",
        "energy over that of the same retry policy with c1",
        Some("%"),
    ),
    quantity(
        "killed_of_n1_pct",
        "good tasks killed over those killed by the same limit on all evictions",
        Some("%"),
    ),
    quantity(
        "energy_of_d1_pct",
        "energy over that of d1:100,90h,3+n2 with c5",
        Some("%"),
    ),
    quantity(
        "overhead_of_d1_pct",
        "overhead over that of d1:100,90h,3+n2 with c5",
        Some("%"),
    ),
    quantity(
        "overhead_of_x0_pct",
        "overhead over that of x0 with the same select policy",
        Some("%"),
    ),
    quantity(
        "overhead_of_n1_pct",
        "overhead over that of the same limit on all evictions",
        Some("%"),
    ),
    quantity(
        "good_killed_pct",
        "good tasks killed, of those submitted",
        Some("%"),
    ),
    quantity(
        "good_unfinished_pct",
        "good tasks unfinished, of those submitted",
        Some("%"),
    ),
    quantity(
        "bad_of_waste_pct",
        "part of the time held in vain that bad tasks held",
        Some("%"),
    ),
    quantity("good_most_evictions", "most evictions of a good task", None),
    quantity("bad_most_evictions", "most evictions of a bad task", None),
    quantity(
        "idle_min",
        "mean time between two users of a computer",
        Some("min"),
    ),
    quantity(
        "idle_below_1_min_pct",
        "times between two users below a minute",
        Some("%"),
    ),
    quantity(
        "idle_below_2_min_pct",
        "times between two users below two minutes",
        Some("%"),
    ),
    quantity("cost", "energy for tasks at the price of a kWh", None),
];

const fn quantity(
    name: &'static str,
    meaning: &'static str,
    unit: Option<&'static str>,
) -> WorldMetric {
    WorldMetric {
        name,
        meaning,
        unit,
    }
}

/// The baselines of a year in the same environment, for metrics that have one.
pub(super) struct ComparisonBaselines<T> {
    same_select: Option<T>,
    same_retry: Option<T>,
    all_evictions: Option<T>,
    dedicated: Option<T>,
}

/// The combination of the paper's conclusion, with the best machine selection beyond the paper.
const DEDICATED: &str = "d1:100,90h,3+n2/c5";

impl ComparisonBaselines<CampusPolicies> {
    /// Returns the policies with which `policies` are compared.
    pub(super) fn to(policies: &CampusPolicies) -> Self {
        let CampusPolicies { retry, select } = policies;
        let named = |text: &str| super::policies(text).expect("it is written here");
        let with_retry = |text: &str| CampusPolicies {
            retry: text.parse().expect("it is written here"),
            select,
        };
        let all_evictions =
            limit_on_evictions(retry).map(|most| with_retry(&format!("max-evictions:{most}")));
        Self {
            same_select: Some(with_retry("forever")),
            same_retry: Some(CampusPolicies {
                retry: retry.clone(),
                ..named(super::BASELINE)
            }),
            all_evictions,
            dedicated: retry.dedicated().map(|_| named(DEDICATED)),
        }
    }
}

/// Returns the maximum number of evictions if a policy has this limit and nothing else.
fn limit_on_evictions(retry: &RetryPolicy) -> Option<u32> {
    match retry.rules() {
        [RetryRule::Evictions { max: most, .. }]
            if retry.max_attempt().is_none() && retry.dedicated().is_none() =>
        {
            Some(*most)
        }
        _ => None,
    }
}

impl<T> ComparisonBaselines<T> {
    pub(super) fn map<U>(self, mut made: impl FnMut(T) -> U) -> ComparisonBaselines<U> {
        ComparisonBaselines {
            same_select: self.same_select.map(&mut made),
            same_retry: self.same_retry.map(&mut made),
            all_evictions: self.all_evictions.map(&mut made),
            dedicated: self.dedicated.map(&mut made),
        }
    }
}

/// Returns the metrics of a year with these log-ins, in order; `price` is that of a kilowatt hour, 0
/// without a price.
pub(super) fn metrics(
    tally: &CampusMetrics,
    with: &ComparisonBaselines<CampusMetrics>,
    sessions: &CampusSessions,
    price: f64,
) -> Vec<Option<f64>> {
    let (good, bad) = (&tally.good, &tally.bad);
    let hours = |span: Span| Some(span.as_secs_f64() / 3600.0);
    let count = |count: u32| Some(f64::from(count));
    let energy = |tally: &CampusMetrics| tally.marginal.as_mwh();
    let overhead = |tally: &CampusMetrics| tally.overhead.map_or(0.0, Span::as_secs_f64);
    let killed = |tally: &CampusMetrics| f64::from(tally.good.killed);
    let share = |of: &Option<CampusMetrics>, figure: &dyn Fn(&CampusMetrics) -> f64| {
        let share = 100.0 * figure(tally) / figure(of.as_ref()?);
        share.is_finite().then_some(share)
    };
    let mwh = |energy: Energy| Some(energy.as_mwh());
    let percent = |part: f64, whole: f64| (whole > 0.0).then(|| 100.0 * part / whole);
    let of_good = |count: u32| percent(f64::from(count), f64::from(good.tasks));
    let waste = (good.wasted + bad.wasted).as_secs_f64();
    let gaps = sessions.gaps().count() as f64;
    let gaps_below = |minutes: i64| {
        let short = |gap: &Span| *gap < Span::from_secs(60 * minutes);
        percent(sessions.gaps().filter(short).count() as f64, gaps)
    };
    vec![
        mwh(tally.marginal),
        tally.overhead.map(|overhead| overhead.as_secs_f64() / 60.0),
        count(good.killed),
        count(good.unfinished),
        count(good.killed + good.unfinished),
        mwh(tally.attributed),
        mwh(tally.dedicated),
        Some(good.mean_evictions()),
        Some(bad.mean_evictions()),
        hours(good.wasted),
        hours(bad.wasted),
        Some(tally.allocations as f64),
        share(&with.same_select, &energy),
        share(&with.same_retry, &energy),
        share(&with.all_evictions, &killed),
        share(&with.dedicated, &energy),
        share(&with.dedicated, &overhead),
        share(&with.same_select, &overhead),
        share(&with.all_evictions, &overhead),
        of_good(good.killed),
        of_good(good.unfinished),
        percent(bad.wasted.as_secs_f64(), waste),
        count(good.max_evictions),
        count(bad.max_evictions),
        sessions.mean_gap().map(|gap| gap.as_secs_f64() / 60.0),
        gaps_below(1),
        gaps_below(2),
        (price > 0.0).then(|| tally.marginal.as_kwh() * price),
    ]
}

#[cfg(test)]
mod tests {
    use tollgate_sim::campus::{CampusConfig, CampusEnvironment};

    use super::super::{name, policies};
    use super::*;

    #[test]
    fn policies_are_compared_with_their_baselines() {
        let to = |text: &str| {
            let policies = policies(text).unwrap();
            ComparisonBaselines::to(&policies).map(|policies| name(&policies))
        };
        let with = to("n2:3/c5");
        assert_eq!(with.same_select.as_deref(), Some("forever/least-energy"));
        assert_eq!(
            with.same_retry.as_deref(),
            Some("max-non-user-evictions:3/prefer-awake")
        );
        assert_eq!(
            with.all_evictions.as_deref(),
            Some("max-evictions:3/least-energy")
        );
        assert_eq!(with.dedicated, None);
        let with = to("dedicated-if-free:30,90h+held-time:2h/least-added-energy");
        assert_eq!(with.all_evictions, None);
        assert_eq!(
            with.dedicated.as_deref(),
            Some("dedicated:100,90h+max-non-user-evictions:3/least-energy")
        );
    }

    #[test]
    fn every_metric_has_a_value_and_empty_shares_are_none() {
        let tally = CampusMetrics::default();
        let policies = policies("n1:1/c1").unwrap();
        let with = ComparisonBaselines::to(&policies).map(|_| CampusMetrics::default());
        let campus = CampusEnvironment::draw(&CampusConfig {
            scale: 0.01,
            ..CampusConfig::default()
        });
        let figures = metrics(&tally, &with, campus.unwrap().sessions(), 0.0);
        assert_eq!(figures.len(), METRICS.len());
        assert_eq!(figures[12], None);
        assert_eq!(figures.last(), Some(&None));
    }
}
