//! Hosts that are not there yet: pilots that wait in the queue of a batch system, or would be submitted.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tollgate_model::{HostNameIndex, Instant, Probability, Span};

/// When a host is expected to be there, as quantiles of the wait for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StartForecast {
    /// The instant from which the waits count.
    from: Instant,
    /// The quantiles at levels (i + 1/2) / n for i < n, ascending. Beyond the last one the host may never come.
    waits: Vec<Span>,
}

impl StartForecast {
    /// Creates the forecast from the waits that are not exceeded with probability (i + 1/2) / n, for i < n. They count from
    /// `from`; a wait that is shorter than the one before counts as long as that.
    pub fn new(from: Instant, waits: impl IntoIterator<Item = Span>) -> Self {
        let mut longest = Span::ZERO;
        let ascending = waits.into_iter().map(|wait| {
            longest = longest.max(wait);
            longest
        });
        Self {
            from,
            waits: ascending.collect(),
        }
    }

    /// Returns the instant by which a host that is not there at `now` has come with probability `level`;
    /// [`Instant::MAX`] if it may be never. After `now`.
    pub fn by(&self, now: Instant, level: Probability) -> Instant {
        let passed = self.level_of(now.since(self.from));
        let level = passed + (1.0 - passed) * level.as_f64();
        let wait = self.wait_at(level);
        wait.map_or(Instant::MAX, |wait| {
            (self.from + wait).max(now + Span::TICK)
        })
    }

    /// Returns the probability that the host comes within `wait` of the forecast's beginning.
    fn level_of(&self, wait: Span) -> f64 {
        let n = self.waits.len() as f64;
        let below = self.waits.partition_point(|&other| other <= wait);
        let Some(&next) = self.waits.get(below) else {
            return (n - 0.5).max(0.0) / n.max(1.0);
        };
        let (before, from) = match below.checked_sub(1) {
            Some(last) => (self.waits[last], (last as f64 + 0.5) / n),
            None => (Span::ZERO, 0.0),
        };
        let to = (below as f64 + 0.5) / n;
        let part = (wait - before).as_secs_f64() / (next - before).as_secs_f64();
        from + part.clamp(0.0, 1.0) * (to - from)
    }

    /// Returns the wait at a level; None beyond the last quantile.
    fn wait_at(&self, level: f64) -> Option<Span> {
        let n = self.waits.len() as f64;
        let place = level * n - 0.5;
        if place < 0.0 {
            let first = self.waits.first()?.as_secs_f64();
            return Some(Span::from_secs_f64(first * (place + 0.5) / 0.5));
        }
        let at = place as usize;
        let low = self.waits.get(at)?.as_secs_f64();
        let part = place - at as f64;
        if part == 0.0 {
            return Some(self.waits[at]);
        }
        let high = self.waits.get(at + 1)?.as_secs_f64();
        Some(Span::from_secs_f64(low + part * (high - low)))
    }
}

/// A host that is expected.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExpectedHost {
    /// Its name; None of one that is not in a queue yet.
    pub name: Option<HostNameIndex>,
    /// Number of its nodes. At least 1.
    pub nodes: u32,
    /// Memory of each node, in bytes; None if it is not known.
    pub memory: Option<u64>,
    /// When it comes.
    pub starts: StartForecast,
    /// For how long it stays.
    pub stays: Span,
}

impl ExpectedHost {
    /// Returns the instant by which the host, which is not there at `now`, has come with probability `level`; see
    /// [`StartForecast::by`]. One that is in no queue yet has not begun to wait.
    pub fn comes_by(&self, now: Instant, level: Probability) -> Instant {
        match self.name {
            Some(_) => self.starts.by(now, level),
            None => {
                let from_now = self.starts.by(self.starts.from, level);
                match from_now < Instant::MAX {
                    true => now + from_now.since(self.starts.from),
                    false => Instant::MAX,
                }
            }
        }
    }
}

/// Returns the instant until which a host that its site ends so often an hour stays, if `n` such ends are expected by then;
/// [`Instant::MAX`] if it ends none.
///
/// These ends are a Poisson process, so with probability exp(-`n`) none comes before.
pub fn preempted_at(from: Instant, preempted_per_h: f64, n: f64) -> Instant {
    match preempted_per_h > 0.0 {
        true => from + Span::from_secs_f64(n / preempted_per_h * 3600.0),
        false => Instant::MAX,
    }
}

/// The hosts that are expected at a site.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExpectedHosts {
    /// The instant from which nothing of this counts any more, if it is not stated anew.
    pub valid_until: Instant,
    /// How often an hour the site ends a host before its time; 0 if it never did.
    pub preempted_per_h: f64,
    /// The hosts.
    pub hosts: Vec<ExpectedHost>,
}

/// The hosts that are expected, by site.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct ExpectedSites(BTreeMap<String, ExpectedHosts>);

impl ExpectedSites {
    /// Sets the hosts that are expected at a site.
    pub(super) fn set(&mut self, site: &str, expected: ExpectedHosts) {
        match expected.hosts.is_empty() {
            true => drop(self.0.remove(site)),
            false => drop(self.0.insert(site.to_owned(), expected)),
        }
    }

    /// Notes that a host is there: it is expected no longer. Returns how often an hour its site ends hosts before their time.
    pub(super) fn note_arrival(&mut self, name: HostNameIndex) -> f64 {
        let mut preempted_per_h = 0.0;
        self.0.retain(|_, expected| {
            let n_expected = expected.hosts.len();
            expected.hosts.retain(|host| host.name != Some(name));
            if expected.hosts.len() < n_expected {
                preempted_per_h = expected.preempted_per_h;
            }
            !expected.hosts.is_empty()
        });
        preempted_per_h
    }

    /// Returns the hosts by site, also those of statements that are too old.
    pub(super) const fn by_site(&self) -> &BTreeMap<String, ExpectedHosts> {
        &self.0
    }

    /// Returns the sites with what is expected there at an instant, each with its place.
    pub(super) fn at(&self, now: Instant) -> impl Iterator<Item = (usize, &ExpectedHosts)> {
        let sites = self.0.values().enumerate();
        sites.filter(move |(_, expected)| expected.valid_until > now)
    }

    /// Returns the memory of the smallest node of these hosts, in bytes, if it is known of any.
    pub(super) fn least_memory(&self) -> Option<u64> {
        let hosts = self.0.values().flat_map(|expected| &expected.hosts);
        hosts.filter_map(|host| host.memory).min()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const FROM: Instant = Instant::from_secs(1000);

    fn level(level: f64) -> Probability {
        Probability::new(level).expect("a probability")
    }

    fn forecast(waits: &[i64]) -> StartForecast {
        StartForecast::new(FROM, waits.iter().map(|&wait| Span::from_secs(wait)))
    }

    fn wait(forecast: &StartForecast, age: i64, at: f64) -> f64 {
        let by = forecast.by(FROM + Span::from_secs(age), level(at));
        by.since(FROM).as_secs_f64()
    }

    #[test]
    fn start_is_between_the_quantiles_or_never() {
        let starts = forecast(&[10, 20, 30, 40]);
        assert_eq!(wait(&starts, 0, 0.125), 10.0);
        assert_eq!(wait(&starts, 0, 0.25), 15.0);
        assert_eq!(wait(&starts, 0, 0.875), 40.0);
        assert_eq!(starts.by(FROM, level(0.9)), Instant::MAX);
        assert_eq!(forecast(&[]).by(FROM, level(0.1)), Instant::MAX);
    }

    #[test]
    fn host_that_is_in_no_queue_has_not_begun_to_wait() {
        let host = |name| ExpectedHost {
            name,
            nodes: 1,
            memory: None,
            starts: forecast(&[10, 20, 30, 40]),
            stays: Span::from_secs(60),
        };
        let now = FROM + Span::from_secs(100);
        let half = |name| host(name).comes_by(now, level(0.5));
        assert_eq!(half(None), now + Span::from_secs(25));
        assert_eq!(half(Some(HostNameIndex(0))), Instant::MAX);
    }

    #[test]
    fn host_that_has_not_come_is_expected_later() {
        let starts = forecast(&[10, 20, 30, 40]);
        // Of those that wait for more than 20 s, which are five in eight, a fifth comes within another 5 s.
        assert!((wait(&starts, 20, 0.2) - 25.0).abs() < 1e-6);
        assert_eq!(
            starts.by(FROM + Span::from_secs(60), level(0.2)),
            Instant::MAX
        );
    }

    proptest! {
        #[test]
        fn later_levels_and_later_instants_are_later(
            waits in prop::collection::vec(0..1000_i64, 1..30),
            ages in (0..1200_i64, 0..1200_i64),
            levels in (0.01..0.99_f64, 0.01..0.99_f64),
        ) {
            let starts = forecast(&waits);
            let at = |age: i64| FROM + Span::from_secs(age);
            let (low, high) = (levels.0.min(levels.1), levels.0.max(levels.1));
            let (early, late) = (ages.0.min(ages.1), ages.0.max(ages.1));
            prop_assert!(starts.by(at(early), level(low)) <= starts.by(at(early), level(high)));
            prop_assert!(starts.by(at(early), level(low)) <= starts.by(at(late), level(low)));
            prop_assert!(starts.by(at(late), level(low)) > at(late));
        }
    }
}
