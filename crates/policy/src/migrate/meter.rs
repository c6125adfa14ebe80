//! A site measures itself: what it shows, and the value that follows.

use super::round::Standing;
use super::settings::{Flops, Settings, Value};

/// What a site shows of itself at the end of a tick.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sighting {
    /// How fast its processors are, relative to a baseline; positive.
    pub flops: f64,
    /// How many processors a proxy has there; positive.
    pub size: f64,
    /// How many proxies of the session run.
    pub running: u32,
    /// How many of them wait to be dispatched.
    pub pending: u32,
    /// For how many ticks the oldest of these has waited; 0 if there is none.
    pub oldest: u32,
    /// For how many ticks the newest of these has waited; 0 if there is none.
    pub newest: u32,
    /// How many proxies of the session the site lets run, if it says so.
    pub limit: Option<u32>,
}

/// What one site knows about itself, and what it makes of it. It hears of each proxy that is
/// dispatched ([`Meter::started`]), and is asked once a tick ([`Meter::sample`]).
#[derive(Clone, Debug)]
pub struct Meter {
    settings: Settings,
    /// Eq. (3) over the latest ticks, a ring; [`Meter::latest`] is the newest.
    adjusted: Vec<f64>,
    latest: usize,
    wait: Option<f64>,
}

impl Meter {
    /// A site about which nothing is known.
    pub const fn new(settings: Settings) -> Self {
        Self {
            settings,
            adjusted: Vec::new(),
            latest: 0,
            wait: None,
        }
    }

    /// A proxy was dispatched there after `waited` ticks.
    pub fn started(&mut self, waited: u32) {
        let waited = f64::from(waited);
        let wait = self.wait.get_or_insert(waited);
        *wait += self.settings.weight * (waited - *wait);
    }

    /// How long proxies wait there, in ticks: what was seen, or longer if the oldest still waits.
    pub fn wait(&self, sighting: &Sighting) -> f64 {
        let seen = self.wait.unwrap_or(self.settings.first_wait);
        let oldest = f64::from(sighting.oldest);
        if sighting.pending > 0 && oldest > seen {
            return oldest + 1.0;
        }
        seen
    }

    /// Where the site stands at the end of a tick.
    pub fn sample(&mut self, sighting: &Sighting) -> Standing {
        let wait = self.wait(sighting);
        Standing {
            value: self.value(sighting, wait),
            flops: sighting.flops,
            wait,
            pending: sighting.pending,
            newest: sighting.newest,
        }
    }

    fn value(&mut self, sighting: &Sighting, wait: f64) -> f64 {
        let (running, pending) = (f64::from(sighting.running), f64::from(sighting.pending));
        match self.settings.value {
            Value::Nothing => 0.0,
            Value::Liability => self.liability(sighting, running, pending),
            Value::Share => sighting.flops * (running + 1.0) / (running + pending + 2.0),
            Value::Rate => {
                let runs = self.settings.run_ticks / (self.settings.run_ticks + wait);
                let wanted = (running + pending) * runs;
                let full = sighting
                    .limit
                    .is_some_and(|limit| wanted >= f64::from(limit) - 1.0);
                let worth = if full { self.settings.full } else { 1.0 };
                sighting.flops * runs * worth
            }
        }
    }

    fn liability(&mut self, sighting: &Sighting, running: f64, pending: f64) -> f64 {
        let flops = sighting.flops;
        let (gain, cost) = match self.settings.flops {
            Flops::Both => (flops, flops),
            Flops::Throughput => (flops, 1.0),
            Flops::Neither => (1.0, 1.0),
        };
        let adjusted = sighting.size * (gain * running - cost * pending);
        let history = self.settings.history as usize;
        if self.adjusted.len() < history {
            self.adjusted.push(adjusted);
            self.latest = self.adjusted.len() - 1;
        } else {
            self.latest = (self.latest + 1) % history;
            self.adjusted[self.latest] = adjusted;
        }
        let (older, newer) = self.adjusted.split_at(self.latest + 1);
        liability_adjusted(older.iter().rev().chain(newer.iter().rev()).copied())
    }
}

/// Eq. (4) of Walker 2009: the sum of adjusted throughputs (eq. 3), the newest first, the n-th
/// divided by n.
pub fn liability_adjusted(newest_first: impl Iterator<Item = f64>) -> f64 {
    let mut place = 0.0;
    newest_first
        .map(|adjusted| {
            place += 1.0;
            adjusted / place
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(flops: f64, running: u32, pending: u32) -> Sighting {
        Sighting {
            flops,
            size: 32.0,
            running,
            pending,
            oldest: 1,
            newest: 1,
            limit: None,
        }
    }

    fn last_value(settings: Settings, flops: f64, oldest_first: &[(u32, u32)]) -> f64 {
        let mut meter = Meter::new(settings);
        let values = oldest_first
            .iter()
            .map(|&(running, pending)| meter.sample(&shown(flops, running, pending)).value);
        values.last().unwrap()
    }

    #[test]
    fn worked_examples_of_equation_4() {
        let paper = Settings::DEFAULT;
        assert_eq!(last_value(paper, 1.0, &[(3, 3), (4, 2)]), 64.0);
        let rising = [(6, 0), (5, 1), (4, 2), (3, 3), (2, 4), (1, 5)];
        let six = Settings {
            history: 6,
            ..paper
        };
        assert!((last_value(six, 1.5, &rising) + 129.6).abs() < 1e-9);
        // What lies further back than the history does not count.
        let longer: Vec<_> = [(0, 6), (0, 6)].iter().chain(&rising).copied().collect();
        assert!((last_value(six, 1.5, &longer) + 129.6).abs() < 1e-9);
    }

    #[test]
    fn speed_enters_where_it_is_said_to() {
        let value = |flops| {
            let settings = Settings {
                flops,
                ..Settings::DEFAULT
            };
            last_value(settings, 2.0, &[(3, 1)])
        };
        assert_eq!(value(Flops::Both), 128.0);
        assert_eq!(value(Flops::Throughput), 160.0);
        assert_eq!(value(Flops::Neither), 64.0);
    }

    #[test]
    fn a_wait_is_what_was_seen_or_what_is_still_waited() {
        let mut meter = Meter::new(Settings::DEFAULT);
        let fresh = shown(1.0, 0, 1);
        assert_eq!(meter.wait(&fresh), 11.0);
        meter.started(4);
        assert_eq!(meter.wait(&fresh), 4.0);
        meter.started(9);
        assert_eq!(meter.wait(&fresh), 6.0);
        let old = Sighting { oldest: 7, ..fresh };
        assert_eq!(meter.wait(&old), 8.0);
        let gone = Sighting { pending: 0, ..old };
        assert_eq!(meter.wait(&gone), 6.0);
    }
}
