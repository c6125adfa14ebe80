//! The statistics of the run times themselves.

use std::collections::BTreeMap;

use tollgate_forecast::ClassId;

use super::accuracy::{mean, share};
use super::classes::ClassScheme;
use super::record::GridRecord;

/// Number of points of a distribution function to which a line is fitted.
const N_QUANTILES: usize = 81;
/// Minimum number of jobs of a class for its autocorrelation.
const MIN_JOBS: usize = 30;

/// The statistics of the run times of a record. None where a value is undefined.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RunTimeStatistics {
    /// log10 of the longest over the shortest run time; a run time counts as at least one second.
    pub decades: Option<f64>,
    /// Share of jobs below ten seconds.
    pub short: Option<f64>,
    /// Share of jobs above 100,000 seconds.
    pub long: Option<f64>,
    /// R² of a line through the distribution function over ln time, from 10 % to 90 %.
    pub linearity: Option<f64>,
    /// Standard deviation of ln run time within classes.
    pub spread: Option<f64>,
    /// Correlation of ln run time of consecutive jobs of a class, a mean over jobs.
    pub autocorrelation: Option<f64>,
}

impl RunTimeStatistics {
    /// Computes the statistics.
    pub fn of(record: &GridRecord, scheme: &ClassScheme) -> Self {
        let lns: Vec<f64> = record
            .jobs
            .iter()
            .map(|job| job.runtime.as_secs_f64().max(1.0).ln())
            .collect();
        let mut sorted = lns.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let below = |secs: f64| sorted.partition_point(|ln| *ln < secs.ln());
        let mut classes = BTreeMap::<ClassId, Vec<f64>>::new();
        for (class, ln) in scheme.number(&record.jobs).into_iter().zip(&lns) {
            classes.entry(class).or_default().push(*ln);
        }
        let range = sorted.last().zip(sorted.first());
        Self {
            decades: range.map(|(high, low)| (high - low) / std::f64::consts::LN_10),
            short: share(below(10.0), sorted.len()),
            long: share(sorted.len() - below(1e5), sorted.len()),
            linearity: linearity(&sorted),
            spread: spread(classes.values()),
            autocorrelation: autocorrelation(classes.values()),
        }
    }
}

fn linearity(sorted: &[f64]) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let points: Vec<(f64, f64)> = (0..N_QUANTILES)
        .map(|place| {
            let level = 0.1 + 0.8 * place as f64 / (N_QUANTILES - 1) as f64;
            (sorted[(level * last as f64) as usize], level)
        })
        .collect();
    correlation(&points).map(|r| r * r)
}

fn spread<'a>(classes: impl Iterator<Item = &'a Vec<f64>>) -> Option<f64> {
    let (mut squares, mut jobs) = (0.0, 0usize);
    for lns in classes {
        let centre = mean(lns.iter().copied())?;
        squares += lns
            .iter()
            .map(|ln| (ln - centre) * (ln - centre))
            .sum::<f64>();
        jobs += lns.len();
    }
    (jobs > 0).then(|| (squares / jobs as f64).sqrt())
}

fn autocorrelation<'a>(classes: impl Iterator<Item = &'a Vec<f64>>) -> Option<f64> {
    let (mut sum, mut jobs) = (0.0, 0usize);
    for lns in classes.filter(|lns| lns.len() >= MIN_JOBS) {
        let pairs: Vec<(f64, f64)> = lns.windows(2).map(|pair| (pair[0], pair[1])).collect();
        if let Some(r) = correlation(&pairs) {
            sum += r * lns.len() as f64;
            jobs += lns.len();
        }
    }
    (jobs > 0).then(|| sum / jobs as f64)
}

fn correlation(points: &[(f64, f64)]) -> Option<f64> {
    let x = mean(points.iter().map(|(x, _)| *x))?;
    let y = mean(points.iter().map(|(_, y)| *y))?;
    let sum = |of: &dyn Fn(f64, f64) -> f64| -> f64 {
        points.iter().map(|(a, b)| of(a - x, b - y)).sum()
    };
    let scale = (sum(&|a, _| a * a) * sum(&|_, b| b * b)).sqrt();
    (scale > 0.0).then(|| sum(&|a, b| a * b) / scale)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::generator::draw;
    use crate::grid::settings::GridConfig;

    #[test]
    fn synthetic_run_times_resemble_the_published_ones() {
        let record = draw(&GridConfig::default());
        let of = |words: &str| RunTimeStatistics::of(&record, &words.parse().unwrap());
        let site = of("site");
        assert!(site.decades > Some(5.0), "{site:?}");
        assert!(site.linearity > Some(0.95), "{site:?}");
        let near = |value: Option<f64>, expected: f64| (value.unwrap() - expected).abs() < 0.015;
        assert!(near(site.short, 0.04) && near(site.long, 0.025), "{site:?}");
        assert!(of("user").spread < site.spread);
        assert!(of("user").autocorrelation > Some(0.3), "{:?}", of("user"));
    }
}
