//! The numbers of requests for parts, and the processes that wait for their events.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::sync::mpsc::Sender;
use tollgate_engine::PartEvent;

/// The requests of processes on this host that are not over.
pub(super) struct PartCallTable {
    last_call: u64,
    waiting: BTreeMap<u64, Sender<PartEvent>>,
}

impl PartCallTable {
    /// Creates an empty table. The numbers of requests begin at the time since boot, so that a worker
    /// that was started again repeats none.
    pub(super) fn new(since_boot: Duration) -> Self {
        Self {
            last_call: u64::try_from(since_boot.as_micros()).unwrap_or(0),
            waiting: BTreeMap::new(),
        }
    }

    /// Adds a request, and returns its number.
    pub(super) fn add(&mut self, events: Sender<PartEvent>) -> u64 {
        // A process that is gone waits for nothing.
        self.waiting.retain(|_, events| !events.is_closed());
        self.last_call += 1;
        self.waiting.insert(self.last_call, events);
        self.last_call
    }

    /// Passes events to the processes that wait for them.
    pub(super) fn pass_on(&mut self, events: Vec<(u64, PartEvent)>) {
        for (call, event) in events {
            let is_last = event.is_last();
            if let Some(waiting) = self.waiting.get(&call) {
                // A channel has room for all events of a request.
                let _ = waiting.try_send(event);
            }
            if is_last {
                self.waiting.remove(&call);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc::channel;

    use super::*;

    #[test]
    fn events_reach_the_requesting_process_until_the_last() {
        let mut table = PartCallTable::new(Duration::from_micros(7));
        let ((one, mut of_one), (other, mut of_other)) = (channel(4), channel(4));
        let (first, second) = (table.add(one), table.add(other));
        assert_ne!(first, second);
        let ended = PartEvent::Ended("exit code 0".to_owned());
        table.pass_on(vec![
            (second, PartEvent::Started),
            (second, ended.clone()),
            (second, PartEvent::Started),
        ]);
        assert_eq!(of_other.try_recv(), Ok(PartEvent::Started));
        assert_eq!(of_other.try_recv(), Ok(ended));
        assert!(of_other.try_recv().is_err(), "nothing after the last event");
        assert!(of_one.try_recv().is_err());
    }
}
