//! Clusters and computers, and their reboot times.

use tollgate_grid_policies::select::CampusComputer;
use tollgate_model::{Instant, Span};
use tollgate_workload::rng::{StreamFamily, StreamPurpose};

use super::calendar::OpeningHours;
use super::settings::CampusConfig;

const DAY: Span = Span::from_secs(86_400);

/// Reboots happen in these twenty minutes of the night.
const REBOOTS_FROM_S: f64 = 4.0 * 3600.0 + 50.0 * 60.0;
const REBOOTS_FOR_S: f64 = 20.0 * 60.0;

/// The computers of a campus.
#[derive(Clone, Debug)]
pub struct CampusLayout {
    /// Every computer, cluster by cluster.
    pub computers: Vec<CampusComputer>,
    /// By computer: the time of day of its reboot; None if it is never rebooted.
    pub reboots: Vec<Option<Span>>,
}

/// The further properties of a synthetic campus.
#[derive(Clone, Debug)]
pub(super) struct ClusterUsage {
    /// By cluster.
    pub(super) opening: Vec<OpeningHours>,
    /// By cluster, relative to the median.
    pub(super) popularity: Vec<f64>,
}

impl CampusLayout {
    /// Draws the synthetic campus.
    pub(super) fn draw(settings: &CampusConfig) -> (Self, ClusterUsage) {
        let computers = settings.scaled(settings.computers, 1);
        let clusters = settings.clusters.min(computers);
        let family = StreamFamily::new(settings.seed, StreamPurpose::Clusters);
        let mut streams: Vec<_> = (0..clusters).map(|k| family.stream(k.into())).collect();
        let weights: Vec<f64> = streams
            .iter_mut()
            .map(|stream| libm::exp(settings.cluster_size_sigma * stream.normal()))
            .collect();
        let popularity = streams
            .iter_mut()
            .map(|stream| libm::exp(settings.users.popularity_sigma * stream.normal()))
            .collect();
        let mut layout = Self {
            computers: Vec::with_capacity(computers as usize),
            reboots: Vec::with_capacity(computers as usize),
        };
        let reboots = StreamFamily::new(settings.seed, StreamPurpose::Reboots);
        for (cluster, size) in (0..).zip(apportion(computers, &weights)) {
            for place in 0..size {
                let class = (cluster + place) % settings.power.len() as u32;
                let mut stream = reboots.stream(layout.computers.len() as u64);
                let at_s = stream.uniform().mul_add(REBOOTS_FOR_S, REBOOTS_FROM_S);
                layout.reboots.push(Some(Span::from_secs_f64(at_s)));
                layout.computers.push(CampusComputer {
                    cluster,
                    power: settings.power[class as usize],
                });
            }
        }
        let opening = (0..clusters).map(opening).collect();
        let rooms = ClusterUsage {
            opening,
            popularity,
        };
        (layout, rooms)
    }

    /// Returns the next reboot of a computer after `now`, if it is ever rebooted.
    pub fn reboot_after(&self, computer: usize, now: Instant) -> Instant {
        let Some(time_of_day) = self.reboots[computer] else {
            return Instant::MAX;
        };
        let (day, offset) = (DAY.as_micros(), time_of_day.as_micros());
        let days = (now.as_micros() - offset).div_euclid(day) + 1;
        Instant::from_micros(days * day + offset)
    }
}

fn opening(cluster: u32) -> OpeningHours {
    match cluster % 7 {
        0..=2 => OpeningHours::Teaching,
        3 | 4 => OpeningHours::Evening,
        _ => OpeningHours::Always,
    }
}

/// Divides `count` by weight, at least one each: the rest after rounding down goes to the greatest
/// remainders. There are at most `count` weights.
fn apportion(count: u32, weights: &[f64]) -> Vec<u32> {
    let total: f64 = weights.iter().sum();
    let spare = f64::from(count) - weights.len() as f64;
    let exact: Vec<f64> = weights.iter().map(|w| spare * w / total).collect();
    let mut parts: Vec<u32> = exact.iter().map(|part| 1 + part.floor() as u32).collect();
    let mut by_remainder: Vec<usize> = (0..weights.len()).collect();
    by_remainder.sort_by(|&a, &b| {
        let remainder = |k: usize| exact[k].fract();
        remainder(b).total_cmp(&remainder(a)).then(a.cmp(&b))
    });
    let left = count.saturating_sub(parts.iter().sum());
    for &part in by_remainder.iter().take(left as usize) {
        parts[part] += 1;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn computers_are_apportioned_by_cluster_weight() {
        assert_eq!(apportion(10, &[1.0, 1.0, 2.0]), [3, 3, 4]);
        assert_eq!(apportion(3, &[1.0, 100.0, 0.1]), [1, 1, 1]);
        let (layout, rooms) = CampusLayout::draw(&CampusConfig::default());
        assert_eq!(layout.computers.len(), 1359);
        assert_eq!(rooms.popularity.len(), 35);
    }

    #[test]
    fn computers_reboot_once_a_day() {
        let layout = CampusLayout {
            computers: Vec::new(),
            reboots: vec![Some(Span::from_secs(5 * 3600)), None],
        };
        let after = |secs| layout.reboot_after(0, Instant::from_secs(secs));
        assert_eq!(after(0), Instant::from_secs(5 * 3600));
        assert_eq!(after(5 * 3600), Instant::from_secs(29 * 3600));
        assert_eq!(after(29 * 3600 - 1), Instant::from_secs(29 * 3600));
        assert_eq!(layout.reboot_after(1, Instant::ZERO), Instant::MAX);
    }
}
