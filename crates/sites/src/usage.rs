//! The usage of a site by its pilots: the time of their cores, and how much of it tasks used.
//!
//! The time of pilots that ended is what the engine reports. How it was used is sampled at each look at the
//! service, so that it counts tasks of any kind, and nothing between the samples.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tollgate_model::{Instant, Span};

use crate::control::PilotWorker;
use crate::pilot::{PilotPhase, PilotRecord};
use crate::pilot_use::PilotUse;

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
    /// The parts of these times. The latest idle time of a pilot that runs is in none of them.
    #[serde(default)]
    pub idle: IdleParts,
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

/// The times of idle cores, by what the pilot did before and afterwards, in core-seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct IdleParts {
    /// Before the first task of the pilot.
    pub before_core_s: u64,
    /// Between two tasks, while the pilot ran none.
    pub between_core_s: u64,
    /// While the pilot ran a task on other cores.
    pub beside_core_s: u64,
    /// After the last task of the pilot.
    pub after_core_s: u64,
    /// Of pilots that never had a task.
    pub unused_core_s: u64,
}

impl SiteUsage {
    /// Counts a pilot that has just been seen to be over.
    pub(crate) fn count_end(&mut self, pilot: &PilotRecord, cores: u32) {
        let Some(ran) = pilot.gone_at.and_then(|gone| pilot.ran(gone)) else {
            return;
        };
        self.pilots += 1;
        self.core_s += core_seconds(ran, cores);
        *self.ends.entry(pilot.reason.clone()).or_default() += 1;
        let idle = pilot.usage.idle_core_s;
        match pilot.usage.busy_core_s {
            0 => self.idle.unused_core_s += idle,
            _ => self.idle.after_core_s += idle,
        }
    }

    /// Counts the time since the last sample as what the pilots do now: for each its use so far, its cores, and its
    /// worker.
    pub(crate) fn sample<'a>(
        &mut self,
        now: Instant,
        pilots: impl Iterator<Item = (&'a mut PilotUse, u32, Option<PilotWorker>)>,
    ) {
        let passed = self.passed_since_sample(now);
        for (pilot_use, cores, worker) in pilots {
            match worker {
                None => self.unjoined_core_s += core_seconds(passed, cores),
                Some(worker) if !worker.takes_tasks => {
                    self.leaving_core_s += core_seconds(passed, cores);
                }
                Some(worker) => self.sample_worker((now, passed), pilot_use, cores, worker),
            }
        }
    }

    /// Returns the time since the last sample in whole seconds. The rest counts with the next one.
    fn passed_since_sample(&mut self, now: Instant) -> Span {
        let before = self.sampled_at.replace(now);
        let passed = before.map_or(Span::ZERO, |before| now.since(before));
        if passed < Span::ZERO || passed > MAX_SAMPLE {
            return passed.max(Span::ZERO).min(MAX_SAMPLE);
        }
        let whole = Span::from_secs(passed.as_micros() / 1_000_000);
        self.sampled_at = Some(now - (passed - whole));
        whole
    }

    fn sample_worker(
        &mut self,
        (now, passed): (Instant, Span),
        pilot_use: &mut PilotUse,
        cores: u32,
        worker: PilotWorker,
    ) {
        let busy = worker.busy_cores.min(cores);
        let idle_core_s = core_seconds(passed, cores - busy);
        let busy_core_s = core_seconds(passed, busy);
        self.idle_core_s += idle_core_s;
        self.busy_core_s += busy_core_s;
        if busy == 0 {
            pilot_use.idle_since.get_or_insert(now);
            pilot_use.idle_core_s += idle_core_s;
            return;
        }
        // A task has begun, so that the idle time before it is known for what it was.
        match pilot_use.busy_core_s {
            0 => self.idle.before_core_s += pilot_use.idle_core_s,
            _ => self.idle.between_core_s += pilot_use.idle_core_s,
        }
        self.idle.beside_core_s += idle_core_s;
        pilot_use.busy_core_s += busy_core_s;
        pilot_use.idle_core_s = 0;
        pilot_use.idle_since = None;
    }

    /// Returns the core-seconds of pilots that ended, and of those that run so far.
    pub fn core_s_until(&self, now: Instant, pilots: &[PilotRecord], cores: u32) -> u64 {
        let running = pilots
            .iter()
            .filter(|pilot| pilot.phase == PilotPhase::Runs);
        let so_far = running.map(|pilot| {
            let started = pilot.started_at.unwrap_or(now);
            core_seconds(now.since(started), pilot.cores.unwrap_or(cores))
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

    fn worker(takes_tasks: bool, idle_cores: u32) -> Option<PilotWorker> {
        Some(PilotWorker {
            takes_tasks,
            idle_cores,
            busy_cores: 4 - idle_cores,
        })
    }

    /// Counts samples of pilots of four cores.
    fn sample(
        usage: &mut SiteUsage,
        now_s: i64,
        uses: &mut [PilotUse],
        workers: &[Option<PilotWorker>],
    ) {
        let pilots = uses.iter_mut().zip(workers);
        let pilots = pilots.map(|(pilot_use, worker)| (pilot_use, 4, *worker));
        usage.sample(Instant::from_secs(now_s), pilots);
    }

    #[test]
    fn time_since_the_last_sample_counts_as_the_present_use() {
        let pilots = [worker(true, 1), worker(true, 4), worker(false, 0), None];
        let mut uses = [PilotUse::NONE; 4];
        let mut usage = SiteUsage::default();
        sample(&mut usage, 100, &mut uses, &pilots);
        assert_eq!(usage.busy_core_s, 0, "nothing is known of the time before");
        sample(&mut usage, 110, &mut uses, &pilots);
        let found = [
            usage.busy_core_s,
            usage.idle_core_s,
            usage.leaving_core_s,
            usage.unjoined_core_s,
        ];
        assert_eq!(found, [30, 50, 40, 40]);
        // There was no sample for an hour.
        sample(&mut usage, 3710, &mut uses, &pilots);
        assert_eq!(usage.busy_core_s, 30 + 3 * 120);
    }

    #[test]
    fn parts_of_seconds_are_not_lost() {
        let mut usage = SiteUsage::default();
        let mut pilot_use = PilotUse::NONE;
        for tick in 0..=100 {
            let now = Instant::from_micros(1_500_000 * tick);
            let pilot = (&mut pilot_use, 1, worker(true, 3));
            usage.sample(now, std::iter::once(pilot));
        }
        assert_eq!(usage.busy_core_s, 150);
    }

    #[test]
    fn idle_time_is_divided_by_the_tasks_before_and_after_it() {
        let mut usage = SiteUsage::default();
        let mut uses = [PilotUse::NONE];
        let mut now_s = 0;
        let mut pass = |seconds: i64, idle: u32, usage: &mut SiteUsage, uses: &mut [PilotUse]| {
            // The use at an instant counts for the time before it.
            now_s += seconds;
            sample(usage, now_s, uses, &[worker(true, idle)]);
        };
        pass(0, 4, &mut usage, &mut uses);
        for (seconds, idle) in [(3, 4), (10, 2), (5, 4), (10, 0), (7, 4)] {
            pass(seconds, idle, &mut usage, &mut uses);
        }
        assert_eq!(uses[0].idle_since, Some(Instant::from_secs(35)));
        let pilot = PilotRecord {
            phase: PilotPhase::Over,
            started_at: Some(Instant::ZERO),
            gone_at: Some(Instant::from_secs(35)),
            usage: uses[0],
            ..PilotRecord::offered(1, "tg.a.b.1".parse().unwrap(), Instant::ZERO)
        };
        usage.count_end(&pilot, 4);
        let unused = PilotRecord {
            usage: PilotUse {
                idle_core_s: 9,
                ..PilotUse::NONE
            },
            ..pilot
        };
        usage.count_end(&unused, 4);
        let parts = IdleParts {
            before_core_s: 12,
            between_core_s: 20,
            beside_core_s: 20,
            after_core_s: 28,
            unused_core_s: 9,
        };
        assert_eq!((usage.idle, usage.busy_core_s), (parts, 60));
        assert_eq!(usage.idle_core_s, 80, "sampled");
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
