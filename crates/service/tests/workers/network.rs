//! What lies between workers and the service.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tollgate_service::fleet::Line;
use tollgate_service::fleet::words::{Frame, ToService, ToWorker};

use crate::random::Random;

/// Connections, and what is under way on them. Clones are the same network.
#[derive(Clone)]
pub(super) struct Network(Arc<Mutex<Inside>>);

struct Inside {
    random: Random,
    now: Duration,
    weather: Weather,
    /// Which host each connection is of.
    lines: BTreeMap<u64, usize>,
    last_line: u64,
    mail: Vec<Mail>,
    sent: u64,
}

/// What goes wrong.
#[derive(Clone, Debug, Default)]
pub(super) struct Weather {
    /// Words may take so many milliseconds.
    pub(super) late_ms: u64,
    /// One in so many comes twice; none if 0.
    pub(super) doubled: u64,
    /// Words overtake each other.
    pub(super) out_of_order: bool,
    /// Hosts that nothing reaches and that reach nobody.
    pub(super) cut: BTreeSet<usize>,
}

struct Mail {
    due: Duration,
    number: u64,
    line: u64,
    parcel: Parcel,
}

/// What arrives.
#[derive(Clone)]
pub(super) enum Parcel {
    /// At the service.
    Service(Frame<ToService>),
    /// At the service: the connection is gone.
    ServiceClosed,
    /// At a worker.
    Worker(Frame<ToWorker>),
    /// At a worker: the connection is gone.
    WorkerClosed,
}

impl Parcel {
    fn is_for_service(&self) -> bool {
        matches!(self, Self::Service(_) | Self::ServiceClosed)
    }
}

impl Network {
    pub(super) fn new(seed: u64) -> Self {
        Self(Arc::new(Mutex::new(Inside {
            random: Random::new(seed ^ 0x6e65_7477_6f72_6b00),
            now: Duration::ZERO,
            weather: Weather::default(),
            lines: BTreeMap::new(),
            last_line: 0,
            mail: Vec::new(),
            sent: 0,
        })))
    }

    fn lock(&self) -> MutexGuard<'_, Inside> {
        self.0.lock().unwrap()
    }

    pub(super) fn set_weather(&self, change: impl FnOnce(&mut Weather)) {
        change(&mut self.lock().weather);
    }

    /// A new connection of this host; none if it is cut off.
    pub(super) fn connect(&self, host: usize) -> Option<(u64, Box<dyn Line>)> {
        let mut inside = self.lock();
        if inside.weather.cut.contains(&host) {
            return None;
        }
        inside.last_line += 1;
        let line = inside.last_line;
        inside.lines.insert(line, host);
        let network = self.clone();
        Some((line, Box::new(End { network, line })))
    }

    pub(super) fn host(&self, line: u64) -> Option<usize> {
        self.lock().lines.get(&line).copied()
    }

    pub(super) fn send(&self, line: u64, parcel: Parcel) {
        let mut inside = self.lock();
        let Some(host) = inside.lines.get(&line).copied() else {
            return;
        };
        if inside.weather.cut.contains(&host) {
            return;
        }
        let weather = inside.weather.clone();
        let copies = 1 + u32::from(weather.doubled > 0 && inside.random.one_in(weather.doubled));
        for _ in 0..copies {
            let late = inside.random.below(weather.late_ms + 1);
            let mut due = inside.now + Duration::from_millis(late);
            if !weather.out_of_order {
                let same = |mail: &&Mail| {
                    mail.line == line && mail.parcel.is_for_service() == parcel.is_for_service()
                };
                let before = inside.mail.iter().filter(same).map(|mail| mail.due).max();
                due = before.map_or(due, |before| due.max(before));
            }
            inside.sent += 1;
            let number = inside.sent;
            inside.mail.push(Mail {
                due,
                number,
                line,
                parcel: parcel.clone(),
            });
        }
    }

    /// What has arrived by `now`, in order.
    pub(super) fn arrived(&self, now: Duration) -> Vec<(u64, Parcel)> {
        let mut inside = self.lock();
        inside.now = now;
        let (mut arrived, later): (Vec<Mail>, Vec<Mail>) = std::mem::take(&mut inside.mail)
            .into_iter()
            .partition(|mail| mail.due <= now);
        inside.mail = later;
        arrived.sort_by_key(|mail| (mail.due, mail.number));
        let parcels = arrived.into_iter().map(|mail| (mail.line, mail.parcel));
        parcels.collect()
    }
}

/// The service's end of a connection.
struct End {
    network: Network,
    line: u64,
}

impl Line for End {
    fn say(&mut self, frame: Frame<ToWorker>) -> bool {
        self.network.send(self.line, Parcel::Worker(frame));
        true
    }
}

impl Drop for End {
    fn drop(&mut self) {
        self.network.send(self.line, Parcel::WorkerClosed);
    }
}
