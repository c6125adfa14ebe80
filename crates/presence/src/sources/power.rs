//! The battery: no task runs on it.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tollgate_model::EvictionCause;

use super::{LOOK_INTERVAL, ObservedSource};
use crate::clock::BothClocks;
use crate::settings::PresenceSource;
use crate::state::PresenceObservation;

pub(crate) struct PowerSource {
    /// The directory of power supplies. A computer without one has no battery.
    supplies: PathBuf,
    next_look: Duration,
}

impl PowerSource {
    pub(crate) fn new(root: &Path) -> Self {
        Self {
            supplies: root.join("sys/class/power_supply"),
            next_look: Duration::ZERO,
        }
    }

    /// Returns whether a battery of the computer is being discharged while no supply is connected.
    fn is_on_battery(&self) -> bool {
        let entries = fs::read_dir(&self.supplies).into_iter().flatten().flatten();
        let (mut discharges, mut is_supplied) = (false, false);
        for supply in entries.map(|entry| entry.path()) {
            let read = |file| fs::read_to_string(supply.join(file)).unwrap_or_default();
            // The battery of a mouse has the scope of a device.
            match (read("type").trim(), read("scope").trim()) {
                (_, "Device") => {}
                ("Battery", _) => discharges |= read("status").trim() == "Discharging",
                _ => is_supplied |= read("online").trim() == "1",
            }
        }
        discharges && !is_supplied
    }
}

impl ObservedSource for PowerSource {
    fn source(&self) -> PresenceSource {
        PresenceSource::Power
    }

    fn next_look(&self) -> Option<Duration> {
        Some(self.next_look)
    }

    fn look(&mut self, now: BothClocks) -> Vec<PresenceObservation> {
        self.next_look = now.boot + LOOK_INTERVAL;
        let cause = self.is_on_battery().then_some(EvictionCause::Power);
        vec![PresenceObservation::Use(PresenceSource::Power, cause)]
    }
}
