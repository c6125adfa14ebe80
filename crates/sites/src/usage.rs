//! The usage of a site by its pilots: the time of their cores, and how much of it tasks used.
//!
//! The time of pilots that ended is what the engine reports. How it was used is sampled at each look at the
//! service, so that it counts tasks of any kind, and nothing between the samples.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tollgate_model::{Instant, Span};

use crate::control::PilotWorker;
use crate::pilot::{PilotPhase, PilotRecord};

/// The longest time that one sample stands for.
const MAX_SAMPLE: Span = Span::from_secs(120);

/// The use of a site's cores by its pilots.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SiteUsage {
    /// The number of pilots that ran and ended.
    #[serde(default)]
    pub pilots: u64,
    /// The time of their cores, in core-seconds.
    #[serde(default)]
    pub core_s: u64,
    /// The numbers of their ends, by the engine's words; an empty word for a pilot that ended by itself.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub ends: BTreeMap<String, u64>,
    /// The sampled times of cores with a task, in core-seconds.
    #[serde(default)]
    pub busy_core_s: u64,
    /// The sampled times of idle cores.
    #[serde(default)]
    pub idle_core_s: u64,
    /// The sampled times of cores whose pilot has not joined.
    #[serde(default)]
    pub unjoined_core_s: u64,
    /// The sampled times of cores whose pilot is about to leave.
    #[serde(default)]
    pub leaving_core_s: u64,
    /// The instant of the last sample.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampled_at: Option<Instant>,
}

impl SiteUsage {
    /// Counts a pilot that has just been seen to be over.
    pub(crate) fn count_end(&mut self, pilot: &PilotRecord, cores: u32) {
        let Some(started) = pilot.started_at else {
            return;
        };
        let Some(gone) = pilot.gone_at else {
            return;
        };
        // Until it ends, a pilot has the end of its time limit.
        let ended = pilot.ends_at.map_or(gone, |ends| ends.min(gone));
        self.pilots += 1;
        self.core_s += core_seconds(ended.since(started), cores);
        *self.ends.entry(pilot.reason.clone()).or_default() += 1;
    }

    /// Counts the time since the last sample as what the pilots do now.
    pub(crate) fn sample(
        &mut self,
        now: Instant,
        cores: u32,
        pilots: impl Iterator<Item = Option<PilotWorker>>,
    ) {
        let before = self.sampled_at.replace(now);
        let passed = before.map_or(Span::ZERO, |before| now.since(before));
        let passed = passed.max(Span::ZERO).min(MAX_SAMPLE);
        for pilot in pilots {
            match pilot {
                None => self.unjoined_core_s += core_seconds(passed, cores),
                Some(pilot) if !pilot.takes_tasks => {
                    self.leaving_core_s += core_seconds(passed, cores);
                }
                Some(pilot) => {
                    let idle = pilot.idle_cores.min(cores);
                    self.idle_core_s += core_seconds(passed, idle);
                    self.busy_core_s += core_seconds(passed, cores - idle);
                }
            }
        }
    }

    /// Returns the core-seconds of pilots that ended, and of those that run so far.
    pub fn core_s_until(&self, now: Instant, pilots: &[PilotRecord], cores: u32) -> u64 {
        let running = pilots
            .iter()
            .filter(|pilot| pilot.phase == PilotPhase::Runs);
        let so_far = running.map(|pilot| {
            let started = pilot.started_at.unwrap_or(now);
            core_seconds(now.since(started), cores)
        });
        self.core_s + so_far.sum::<u64>()
    }
}

/// Returns the core-seconds of some cores; 0 for a negative time.
pub(crate) fn core_seconds(time: Span, cores: u32) -> u64 {
    let micros = u64::try_from(time.as_micros()).unwrap_or(0);
    (micros / 1_000_000).saturating_mul(u64::from(cores))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_since_the_last_sample_counts_as_the_present_use() {
        let worker = |takes_tasks, idle_cores| {
            Some(PilotWorker {
                takes_tasks,
                idle_cores,
            })
        };
        let pilots = [worker(true, 1), worker(true, 4), worker(false, 0), None];
        let mut usage = SiteUsage::default();
        usage.sample(Instant::from_secs(100), 4, pilots.into_iter());
        assert_eq!(usage.busy_core_s, 0, "nothing is known of the time before");
        usage.sample(Instant::from_secs(110), 4, pilots.into_iter());
        let found = [
            usage.busy_core_s,
            usage.idle_core_s,
            usage.leaving_core_s,
            usage.unjoined_core_s,
        ];
        assert_eq!(found, [30, 50, 40, 40]);
        // There was no sample for an hour.
        usage.sample(Instant::from_secs(3710), 4, pilots.into_iter());
        assert_eq!(usage.busy_core_s, 30 + 3 * 120);
    }

    #[test]
    fn pilot_counts_once_until_its_end_or_until_it_was_missed() {
        let pilot = |ends: i64, gone: i64| PilotRecord {
            phase: PilotPhase::Over,
            started_at: Some(Instant::from_secs(100)),
            ends_at: Some(Instant::from_secs(ends)),
            gone_at: Some(Instant::from_secs(gone)),
            reason: "PREEMPTED".to_owned(),
            ..PilotRecord::offered(1, "tg.a.b.1".parse().unwrap(), Instant::ZERO)
        };
        let mut usage = SiteUsage::default();
        usage.count_end(&pilot(160, 200), 2);
        usage.count_end(&pilot(3700, 200), 2);
        let never_ran = PilotRecord {
            started_at: None,
            ..pilot(160, 200)
        };
        usage.count_end(&never_ran, 2);
        assert_eq!((usage.pilots, usage.core_s), (2, 120 + 200));
        assert_eq!(usage.ends["PREEMPTED"], 2);
    }
}
