//! Rates learned from the log-ins so far.

use serde::{Deserialize, Serialize};
use tollgate_model::Instant;

use super::login_log::{HOURS_OF_WEEK, hour_of_week};
use super::pool::ComputerPool;

/// Log-ins and the time in which log-ins were possible, by cluster and hour of the week. Old counts
/// decay: each week counts for less than the next, so that the rates follow terms and holidays.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LearnedLogins {
    /// By hour of the week and cluster.
    cells: Vec<Vec<LoginExposure>>,
    /// By cluster: number of computers without a user now.
    open: Vec<f64>,
    /// By cluster: number of log-ins ever.
    seen: Vec<u64>,
    /// By cluster: log-ins, and the number expected if the cluster were like all others.
    popularity: Vec<ClusterPopularity>,
    /// The hour since the origin that is being counted.
    hour: i64,
    /// By cluster: the time up to which `exposure` of the hour is counted, in hours since the
    /// origin.
    counted_until_h: Vec<f64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct LoginExposure {
    /// Log-ins.
    logins: f64,
    /// Hours of computers without a user.
    exposure: f64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct ClusterPopularity {
    logins: f64,
    expected: f64,
}

/// Weight of a week relative to the next one; halves within about a month.
const WEEKLY_DECAY: f64 = 0.85;

/// Weight of the prior, in log-ins. The prior of a cluster at an hour combines the rate of the
/// campus at this hour with the cluster's popularity at other hours.
const PRIOR_LOGINS: f64 = 1.0;

/// The same of rates on which promises rest.
const CAUTIOUS_LOGINS: f64 = 0.5;

impl LearnedLogins {
    /// Creates the state before the first log-in at a pool of computers that are all free, from the origin on.
    pub fn before_any(pool: &ComputerPool) -> Self {
        let clusters = pool.computers().iter().map(|one| one.cluster as usize);
        let mut logins = Self::default();
        for cluster in clusters {
            logins.add_cluster(cluster);
            logins.open[cluster] += 1.0;
        }
        logins
    }

    /// Records that a computer of a cluster can be logged in at from `now` on: a user left it, or it was switched on.
    pub fn record_open(&mut self, cluster: usize, now: Instant) {
        if self.open.is_empty() {
            self.hour = hour_since_origin(now);
        }
        self.add_cluster(cluster);
        self.update_exposure(cluster, now);
        self.open[cluster] += 1.0;
    }

    /// Records that a computer of a cluster cannot be logged in at any more, without that anyone came: it is off, or
    /// closed.
    pub fn record_closed(&mut self, cluster: usize, now: Instant) {
        self.update_exposure(cluster, now);
        self.open[cluster] -= 1.0;
    }

    /// Records that a user comes to a computer of a cluster.
    pub fn record_login(&mut self, cluster: usize, now: Instant) {
        let place = self.update_exposure(cluster, now);
        self.cells[place][cluster].logins += 1.0;
        self.seen[cluster] += 1;
        self.open[cluster] -= 1.0;
    }

    /// Returns the number of log-ins at a cluster so far: each ended a time without a user.
    pub fn seen(&self, cluster: usize) -> u64 {
        self.seen.get(cluster).copied().unwrap_or(0)
    }

    fn add_cluster(&mut self, cluster: usize) {
        if cluster < self.open.len() {
            return;
        }
        let n_clusters = cluster + 1;
        self.cells.resize(HOURS_OF_WEEK, Vec::new());
        for cells in &mut self.cells {
            cells.resize(n_clusters, LoginExposure::default());
        }
        self.open.resize(n_clusters, 0.0);
        self.seen.resize(n_clusters, 0);
        self.popularity
            .resize(n_clusters, ClusterPopularity::default());
        self.counted_until_h.resize(n_clusters, self.hour as f64);
    }

    /// Counts the exposure of a cluster until now; returns the hour of the week.
    fn update_exposure(&mut self, cluster: usize, now: Instant) -> usize {
        self.advance_hours(now);
        let now_h = now.as_secs_f64() / 3600.0;
        let place = hour_of_week(now).0;
        self.add_exposure(cluster, place, now_h);
        place
    }

    fn add_exposure(&mut self, cluster: usize, place: usize, until_h: f64) {
        let hours = (until_h - self.counted_until_h[cluster]).max(0.0);
        self.cells[place][cluster].exposure += hours * self.open[cluster];
        self.counted_until_h[cluster] = until_h;
    }

    /// Closes the hours that have passed.
    fn advance_hours(&mut self, now: Instant) {
        let hour = hour_since_origin(now);
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

    /// Returns cautious rates of the log-ins at a cluster by hour of the week, in log-ins per hour of a computer without a
    /// user. An hour of which little was seen is believed to be nearly like the busiest one, by half a log-in in advance
    /// (Jeffreys' prior). None before there was a computer without a user.
    pub fn cautious_rates(&self, cluster: usize) -> Option<[f64; HOURS_OF_WEEK]> {
        let cell = |hour: usize| {
            let cells = self.cells.get(hour)?;
            cells.get(cluster).copied()
        };
        let cells = (0..HOURS_OF_WEEK).map(|hour| cell(hour).unwrap_or_default());
        let cells: Vec<LoginExposure> = cells.collect();
        let logins: f64 = cells.iter().map(|cell| cell.logins).sum();
        let exposure: f64 = cells.iter().map(|cell| cell.exposure).sum();
        let usual = (exposure > 0.0).then(|| (logins + PRIOR_LOGINS) / exposure)?;
        let rates = cells.iter().map(|cell| cell.rate(PRIOR_LOGINS, usual));
        let busiest = rates.fold(usual, f64::max);
        Some(std::array::from_fn(|hour| {
            cells[hour].rate(CAUTIOUS_LOGINS, busiest)
        }))
    }

    /// Returns the rate of each cluster at an hour of the week, in log-ins per hour of a computer without a user.
    pub fn rates(&mut self, now: Instant, place: usize) -> impl Iterator<Item = f64> {
        self.advance_hours(now);
        let campus = self.campus_rate(place).unwrap_or(0.0);
        let known = self.cells[place].iter().zip(&self.popularity);
        known.map(move |(cell, fame)| cell.rate(PRIOR_LOGINS, campus * fame.factor()))
    }
}

fn hour_since_origin(now: Instant) -> i64 {
    (now.as_secs_f64() / 3600.0).floor() as i64
}

impl ClusterPopularity {
    /// Returns the ratio of log-ins to the campus average; one log-in of either kind is assumed in
    /// advance.
    fn factor(self) -> f64 {
        (self.logins + 1.0) / (self.expected + 1.0)
    }
}

impl LoginExposure {
    /// Returns the mean of a gamma distribution whose prior mean was `usual`, with the weight of so many log-ins.
    fn rate(self, weight: f64, usual: f64) -> f64 {
        if usual <= 0.0 {
            return 0.0;
        }
        (self.logins + weight) / (self.exposure + weight / usual)
    }
}
