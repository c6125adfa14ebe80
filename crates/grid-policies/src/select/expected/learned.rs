//! Rates learned from the log-ins so far.

use tollgate_model::{Instant, NodeId};

use crate::select::login_log::{HOURS_OF_WEEK, hour_of_week};
use crate::select::pool::ComputerPool;

/// Log-ins and the time in which log-ins were possible, by cluster and hour of the week. Old counts
/// decay: each week counts for less than the next, so that the rates follow terms and holidays.
#[derive(Clone, Debug)]
pub(super) struct LearnedRates {
    cluster_of: Vec<u32>,
    /// By hour of the week and cluster.
    cells: Vec<Vec<LoginExposure>>,
    /// By cluster: number of computers without a user now.
    open: Vec<f64>,
    /// By cluster: log-ins, and the number expected if the cluster were like all others.
    popularity: Vec<ClusterPopularity>,
    /// The hour since the origin that is being counted.
    hour: i64,
    /// By cluster: the time up to which `exposure` of the hour is counted, in hours since the
    /// origin.
    counted_until_h: Vec<f64>,
    /// The rates returned last.
    last_rates: [Vec<f64>; 3],
}

#[derive(Clone, Copy, Debug, Default)]
struct LoginExposure {
    /// Log-ins.
    logins: f64,
    /// Hours of computers without a user.
    exposure: f64,
}

#[derive(Clone, Copy, Debug, Default)]
struct ClusterPopularity {
    logins: f64,
    expected: f64,
}

/// Weight of a week relative to the next one; halves within about a month.
const WEEKLY_DECAY: f64 = 0.85;

/// Weight of the prior, in log-ins. The prior of a cluster at an hour combines the rate of the
/// campus at this hour with the cluster's popularity at other hours.
const PRIOR_LOGINS: f64 = 1.0;

impl LearnedRates {
    pub(super) fn new(pool: &ComputerPool) -> Self {
        let cluster_of: Vec<u32> = pool.computers().iter().map(|one| one.cluster).collect();
        let clusters = cluster_of.iter().max().map_or(0, |&most| most as usize + 1);
        let mut open = vec![0.0; clusters];
        for &cluster in &cluster_of {
            open[cluster as usize] += 1.0;
        }
        Self {
            cluster_of,
            cells: vec![vec![LoginExposure::default(); clusters]; HOURS_OF_WEEK],
            open,
            popularity: vec![ClusterPopularity::default(); clusters],
            hour: 0,
            counted_until_h: vec![0.0; clusters],
            last_rates: Default::default(),
        }
    }

    pub(super) fn record_login(&mut self, node: NodeId, now: Instant) {
        let (cluster, place) = self.update_exposure(node, now);
        self.cells[place][cluster].logins += 1.0;
        self.open[cluster] -= 1.0;
    }

    pub(super) fn record_logout(&mut self, node: NodeId, now: Instant) {
        let (cluster, _) = self.update_exposure(node, now);
        self.open[cluster] += 1.0;
    }

    /// Counts the exposure of the computer's cluster until now; returns the cluster and the hour of
    /// the week.
    fn update_exposure(&mut self, node: NodeId, now: Instant) -> (usize, usize) {
        self.advance_hours(now);
        let cluster = self.cluster_of[node.index()] as usize;
        let now_h = now.as_secs_f64() / 3600.0;
        let place = hour_of_week(now).0;
        self.add_exposure(cluster, place, now_h);
        (cluster, place)
    }

    fn add_exposure(&mut self, cluster: usize, place: usize, until_h: f64) {
        let hours = (until_h - self.counted_until_h[cluster]).max(0.0);
        self.cells[place][cluster].exposure += hours * self.open[cluster];
        self.counted_until_h[cluster] = until_h;
    }

    /// Closes the hours that have passed.
    fn advance_hours(&mut self, now: Instant) {
        let hour = (now.as_secs_f64() / 3600.0).floor() as i64;
        while self.hour < hour {
            let place = self.hour.rem_euclid(HOURS_OF_WEEK as i64) as usize;
            let end_h = (self.hour + 1) as f64;
            for cluster in 0..self.open.len() {
                self.add_exposure(cluster, place, end_h);
            }
            self.update_popularity(place);
            self.hour += 1;
            let next = self.hour.rem_euclid(HOURS_OF_WEEK as i64) as usize;
            for cell in &mut self.cells[next] {
                cell.logins *= WEEKLY_DECAY;
                cell.exposure *= WEEKLY_DECAY;
            }
        }
    }

    /// Updates each cluster's popularity from the hour that has passed.
    fn update_popularity(&mut self, place: usize) {
        let Some(campus) = self.campus_rate(place) else {
            return;
        };
        for (fame, cell) in self.popularity.iter_mut().zip(&self.cells[place]) {
            fame.logins += cell.logins;
            fame.expected += campus * cell.exposure;
        }
    }

    /// Returns the rate of all clusters together at an hour of the week, if any exposure was
    /// counted.
    fn campus_rate(&self, place: usize) -> Option<f64> {
        let cells = &self.cells[place];
        let came: f64 = cells.iter().map(|cell| cell.logins).sum();
        let exposure: f64 = cells.iter().map(|cell| cell.exposure).sum();
        (exposure > 0.0).then(|| came / exposure)
    }

    /// Returns the rates of each cluster at some hours of the week, in log-ins per hour.
    pub(super) fn rates(&mut self, now: Instant, places: [usize; 3]) -> [&[f64]; 3] {
        self.advance_hours(now);
        let mut answer = std::mem::take(&mut self.last_rates);
        for (rates, place) in answer.iter_mut().zip(places) {
            let campus = self.campus_rate(place).unwrap_or(0.0);
            rates.clear();
            let known = self.cells[place].iter().zip(&self.popularity);
            rates.extend(known.map(|(cell, fame)| cell.rate(campus * fame.factor())));
        }
        self.last_rates = answer;
        let [now, next, later] = &self.last_rates;
        [now, next, later]
    }
}

impl ClusterPopularity {
    /// Returns the ratio of log-ins to the campus average; one log-in of either kind is assumed in
    /// advance.
    fn factor(self) -> f64 {
        (self.logins + 1.0) / (self.expected + 1.0)
    }
}

impl LoginExposure {
    /// Returns the mean of a gamma distribution whose prior mean was `usual`.
    fn rate(self, usual: f64) -> f64 {
        if usual <= 0.0 {
            return 0.0;
        }
        (self.logins + PRIOR_LOGINS) / (self.exposure + PRIOR_LOGINS / usual)
    }
}
