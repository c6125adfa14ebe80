//! The simulated network between workers and the service.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tollgate_workers::FrameSink;
use tollgate_workers::protocol::{ServerMessage, WorkerFrame, WorkerMessage};

use crate::simulation::random::SplitMix;

/// The connections with the frames in flight. Clones share the same network.
#[derive(Clone)]
pub(super) struct SimNetwork(Arc<Mutex<NetworkState>>);

struct NetworkState {
    random: SplitMix,
    now: Duration,
    weather: NetworkFaults,
    /// Host of each connection.
    lines: BTreeMap<u64, usize>,
    last_line: u64,
    mail: Vec<InFlightFrame>,
    sent: u64,
}

/// The faults of the network.
#[derive(Clone, Debug, Default)]
pub(super) struct NetworkFaults {
    /// Maximum delay of a frame, in milliseconds.
    pub(super) max_delay_ms: u64,
    /// One frame in this many arrives twice; 0 for none.
    pub(super) duplicate_one_in: u64,
    /// Whether frames may overtake each other.
    pub(super) out_of_order: bool,
    /// Hosts without a network.
    pub(super) partitioned: BTreeSet<usize>,
}

struct InFlightFrame {
    due: Duration,
    number: u64,
    line: u64,
    parcel: NetworkDelivery,
}

/// A delivery to one end of a connection.
#[derive(Clone)]
pub(super) enum NetworkDelivery {
    /// A frame for the service.
    Service(WorkerFrame<WorkerMessage>),
    /// The service's end: the connection is closed.
    ServiceClosed,
    /// A frame for a worker.
    Worker(WorkerFrame<ServerMessage>),
    /// The worker's end: the connection is closed.
    WorkerClosed,
}

impl NetworkDelivery {
    fn is_for_service(&self) -> bool {
        matches!(self, Self::Service(_) | Self::ServiceClosed)
    }
}

impl SimNetwork {
    pub(super) fn new(seed: u64) -> Self {
        Self(Arc::new(Mutex::new(NetworkState {
            random: SplitMix::new(seed ^ 0x6e65_7477_6f72_6b00),
            now: Duration::ZERO,
            weather: NetworkFaults::default(),
            lines: BTreeMap::new(),
            last_line: 0,
            mail: Vec::new(),
            sent: 0,
        })))
    }

    fn lock(&self) -> MutexGuard<'_, NetworkState> {
        self.0.lock().unwrap()
    }

    pub(super) fn set_weather(&self, change: impl FnOnce(&mut NetworkFaults)) {
        change(&mut self.lock().weather);
    }

    /// Opens a connection from a host; None if the host has no network.
    pub(super) fn connect(&self, host: usize) -> Option<(u64, Box<dyn FrameSink>)> {
        let mut inside = self.lock();
        if inside.weather.partitioned.contains(&host) {
            return None;
        }
        inside.last_line += 1;
        let line = inside.last_line;
        inside.lines.insert(line, host);
        let network = self.clone();
        Some((line, Box::new(SimFrameSink { network, line })))
    }

    pub(super) fn host(&self, line: u64) -> Option<usize> {
        self.lock().lines.get(&line).copied()
    }

    pub(super) fn send(&self, line: u64, parcel: NetworkDelivery) {
        let mut inside = self.lock();
        let Some(host) = inside.lines.get(&line).copied() else {
            return;
        };
        if inside.weather.partitioned.contains(&host) {
            return;
        }
        let weather = inside.weather.clone();
        let copies = 1 + u32::from(
            weather.duplicate_one_in > 0 && inside.random.one_in(weather.duplicate_one_in),
        );
        for _ in 0..copies {
            let late = inside.random.below(weather.max_delay_ms + 1);
            let mut due = inside.now + Duration::from_millis(late);
            if !weather.out_of_order {
                let same = |mail: &&InFlightFrame| {
                    mail.line == line && mail.parcel.is_for_service() == parcel.is_for_service()
                };
                let before = inside.mail.iter().filter(same).map(|mail| mail.due).max();
                due = before.map_or(due, |before| due.max(before));
            }
            inside.sent += 1;
            let number = inside.sent;
            inside.mail.push(InFlightFrame {
                due,
                number,
                line,
                parcel: parcel.clone(),
            });
        }
    }

    /// Returns the deliveries due by `now`, in order.
    pub(super) fn arrived(&self, now: Duration) -> Vec<(u64, NetworkDelivery)> {
        let mut inside = self.lock();
        inside.now = now;
        let (mut arrived, later): (Vec<InFlightFrame>, Vec<InFlightFrame>) =
            std::mem::take(&mut inside.mail)
                .into_iter()
                .partition(|mail| mail.due <= now);
        inside.mail = later;
        arrived.sort_by_key(|mail| (mail.due, mail.number));
        let parcels = arrived.into_iter().map(|mail| (mail.line, mail.parcel));
        parcels.collect()
    }
}

/// The service's end of a connection.
struct SimFrameSink {
    network: SimNetwork,
    line: u64,
}

impl FrameSink for SimFrameSink {
    fn send(&mut self, frame: WorkerFrame<ServerMessage>) -> bool {
        self.network.send(self.line, NetworkDelivery::Worker(frame));
        true
    }
}

impl Drop for SimFrameSink {
    fn drop(&mut self) {
        self.network.send(self.line, NetworkDelivery::WorkerClosed);
    }
}
