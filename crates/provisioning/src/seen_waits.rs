//! The waits of the last jobs of a queue, of all its users: what is known of it before many of its jobs have started.

use std::collections::BTreeMap;

use tollgate_beside::{QueueObservation, SeenJob, SeenJobKey, SeenPhase};
use tollgate_model::{Instant, Span};

use crate::shape::PilotShape;
use crate::waits::{N_LAST, PilotWait};

/// The longest time that schedulers need to start a job for which processors are free: Slurm tries all jobs once a minute.
const SCHEDULING: Span = Span::from_secs(60);
/// The number of ended jobs that are kept.
const KEPT: usize = 300;

/// The factor within which the size and the time limit of a job are like those of a pilot.
const ALIKE: i64 = 2;

/// The last jobs of a queue.
#[derive(Clone, Debug, Default)]
pub struct SeenWaits {
    jobs: BTreeMap<SeenJobKey, SeenWait>,
}

/// A pilot whose wait is estimated.
#[derive(Clone, Copy, Debug)]
pub struct SeenPilot<'a> {
    /// The user, as the queue names it.
    pub user: &'a str,
    /// The queue. Empty if it is not known.
    pub queue: &'a str,
    /// The size and the time.
    pub shape: PilotShape,
}

/// A job that waits, or has waited.
#[derive(Clone, Debug)]
struct SeenWait {
    user: String,
    queue: String,
    procs: u32,
    limit: Option<Span>,
    queued: Instant,
    /// The instant at which it no longer waited. None while it waits.
    left: Option<Instant>,
    started: Option<Instant>,
    /// The end of a job that is over.
    ended: Option<Instant>,
}

impl SeenWaits {
    /// Learns from an observation. A job counts from the instant from which it may start.
    pub fn observe(&mut self, observation: &QueueObservation) {
        for job in &observation.jobs {
            match SeenWait::of(job) {
                Some(seen) => self.jobs.insert(job.key.clone(), seen),
                None => self.jobs.remove(&job.key),
            };
        }
        for key in &observation.gone {
            if let Some(job) = self.jobs.get_mut(key) {
                // It left the queue unseen, and whether it ran is not known.
                job.left = job.left.or(Some(observation.at));
                job.ended = Some(observation.at);
            }
        }
        self.forget();
    }

    /// Returns the waits of the last jobs like a pilot, the latest first. These are jobs of its user with as many processors, and
    /// jobs of others whose size and time limit are alike. As long as none of these has started, other jobs that are as wide
    /// count instead. If the queue is busy for a job of `queued`, only jobs count that found it busy.
    pub fn like(&self, pilot: &SeenPilot<'_>, (queued, now): (Instant, Instant)) -> Vec<PilotWait> {
        // Grid Engine runs a job that names no queue in any.
        let of_queue =
            |job: &&SeenWait| [pilot.queue, &job.queue].contains(&"") || job.queue == pilot.queue;
        let jobs: Vec<&SeenWait> = self.jobs.values().filter(of_queue).collect();
        let capacity = capacity(&jobs);
        let is_busy = |at: Instant, procs: u32| {
            let has_others = jobs.iter().any(|job| job.waits_at(at));
            has_others || procs_in_use(&jobs, at) + u64::from(procs) > capacity
        };
        let counts_all = !is_busy(queued, pilot.shape.cores);
        let is_wide = |job: &&SeenWait| job.procs >= pilot.shape.cores;
        let mut wide: Vec<&SeenWait> = jobs.iter().copied().filter(is_wide).collect();
        wide.sort_by_key(|job| std::cmp::Reverse(job.queued));
        let counts =
            |job: &&SeenWait| counts_all || job.was_delayed(now) || is_busy(job.queued, job.procs);
        let alike = wide.iter().filter(|job| job.is_like(pilot) && counts(job));
        let alike: Vec<&SeenWait> = alike.copied().take(N_LAST).collect();
        let counted = match alike.iter().any(|job| job.started.is_some()) {
            true => alike,
            false => wide.into_iter().filter(counts).take(N_LAST).collect(),
        };
        let waits = counted.into_iter().map(|job| PilotWait {
            waited: job.left.unwrap_or(now).since(job.queued).max(Span::ZERO),
            has_started: job.started.is_some(),
        });
        waits.collect()
    }

    /// Returns the one queue whose jobs were seen. None if there are several, or none.
    pub fn only_queue(&self) -> Option<&str> {
        let mut queues = self.jobs.values().map(|job| job.queue.as_str());
        let first = queues.next()?;
        queues.all(|queue| queue == first).then_some(first)
    }

    /// Returns the queue of a job.
    pub fn queue_of(&self, key: &SeenJobKey) -> Option<&str> {
        self.jobs.get(key).map(|job| job.queue.as_str())
    }

    /// Returns the instant from which a job has waited. None if it was not seen.
    pub fn queued_at(&self, key: &SeenJobKey) -> Option<Instant> {
        self.jobs.get(key).map(|job| job.queued)
    }

    /// Drops the jobs that ended first.
    fn forget(&mut self) {
        let mut ends: Vec<Instant> = self.jobs.values().filter_map(|job| job.ended).collect();
        let Some(surplus) = ends.len().checked_sub(KEPT).filter(|surplus| *surplus > 0) else {
            return;
        };
        ends.sort_unstable();
        let before = ends[surplus];
        self.jobs
            .retain(|_, job| job.ended.is_none_or(|ended| ended >= before));
    }
}

impl SeenWait {
    /// Returns the wait of a job. None for one that may not start yet.
    fn of(job: &SeenJob) -> Option<Self> {
        let left = match job.phase {
            SeenPhase::Held => return None,
            SeenPhase::Waits => None,
            SeenPhase::Runs | SeenPhase::Over => Some(job.started.or(job.ended)?),
        };
        Some(Self {
            user: job.user.clone(),
            queue: job.queue.clone(),
            procs: job.procs,
            limit: job.limit,
            queued: job.queued()?,
            left,
            started: job.started,
            ended: job.ended,
        })
    }

    /// Returns whether the job is like a pilot that is not wider.
    fn is_like(&self, pilot: &SeenPilot<'_>) -> bool {
        let PilotShape { cores, time } = pilot.shape;
        if self.user == pilot.user {
            return self.procs == cores;
        }
        let is_as_long = self.limit.is_some_and(|limit| {
            let (limit, time) = (limit.as_micros(), time.as_micros());
            limit <= time.saturating_mul(ALIKE) && time <= limit.saturating_mul(ALIKE)
        });
        i64::from(self.procs) <= ALIKE * i64::from(cores) && is_as_long
    }

    /// Returns whether the job waited for longer than schedulers need: it found the queue busy, if only with jobs of the same instant.
    fn was_delayed(&self, now: Instant) -> bool {
        self.left.unwrap_or(now).since(self.queued) > SCHEDULING
    }

    /// Returns whether the job waited just before an instant, and still does.
    fn waits_at(&self, at: Instant) -> bool {
        self.queued < at && self.left.is_none_or(|left| left > at)
    }

    /// Returns whether the job ran just before an instant, and still does.
    fn runs_at(&self, at: Instant) -> bool {
        let has_started = self.started.is_some_and(|started| started < at);
        has_started && self.ended.is_none_or(|ended| ended > at)
    }
}

fn procs_in_use(jobs: &[&SeenWait], at: Instant) -> u64 {
    let running = jobs.iter().filter(|job| job.runs_at(at));
    running.map(|job| u64::from(job.procs)).sum()
}

/// Returns the largest number of processors that the jobs had at once.
fn capacity(jobs: &[&SeenWait]) -> u64 {
    let ran = jobs.iter().filter_map(|job| Some((job.started?, *job)));
    // At an instant, jobs end before others start.
    let mut changes: Vec<(Instant, i64)> = ran
        .flat_map(|(started, job)| {
            let procs = i64::from(job.procs);
            let end = job.ended.map(|ended| (ended, -procs));
            [Some((started, procs)), end].into_iter().flatten()
        })
        .collect();
    changes.sort_unstable();
    let in_use = changes.iter().scan(0_i64, |in_use, (_, change)| {
        *in_use += change;
        Some(*in_use)
    });
    in_use.max().unwrap_or(0).unsigned_abs()
}

#[cfg(test)]
mod tests {
    use tollgate_beside::QueueSight;

    use super::*;

    fn at(secs: i64) -> Instant {
        Instant::from_secs(secs)
    }

    fn job(key: &str, procs: u32, submitted: i64, started: Option<i64>) -> SeenJob {
        SeenJob {
            key: SeenJobKey(key.to_owned()),
            user: "anna".to_owned(),
            queue: "main".to_owned(),
            procs,
            limit: Some(Span::from_secs(600)),
            submitted: at(submitted),
            eligible: None,
            started: started.map(at),
            ended: None,
            phase: started.map_or(SeenPhase::Waits, |_| SeenPhase::Runs),
            reason: String::new(),
        }
    }

    fn pilot(queue: &str, cores: u32) -> SeenPilot<'_> {
        let time = Span::from_secs(600);
        SeenPilot {
            user: "cora",
            queue,
            shape: PilotShape { cores, time },
        }
    }

    fn seen(jobs: Vec<SeenJob>) -> SeenWaits {
        let mut seen = SeenWaits::default();
        seen.observe(&QueueObservation {
            at: at(100),
            sight: QueueSight::AllJobs,
            jobs,
            gone: Vec::new(),
            absent: Vec::new(),
        });
        seen
    }

    fn secs(waits: &[PilotWait]) -> Vec<(f64, bool)> {
        let secs = waits.iter();
        secs.map(|wait| (wait.waited.as_secs_f64(), wait.has_started))
            .collect()
    }

    #[test]
    fn jobs_count_that_are_as_wide_and_of_the_queue() {
        let other = SeenJob {
            queue: "short".to_owned(),
            ..job("3", 4, 0, Some(9))
        };
        let jobs = vec![
            ended(job("1", 4, 0, Some(5)), 8),
            ended(job("2", 1, 10, Some(11)), 12),
            ended(other, 10),
        ];
        let seen = seen(jobs);
        let of = |queue, procs| secs(&seen.like(&pilot(queue, procs), (at(100), at(100))));
        assert_eq!(of("main", 2), [(5.0, true)]);
        assert_eq!(of("main", 1), [(1.0, true)], "the other one is too wide");
        assert_eq!(of("", 4).len(), 2);
        assert_eq!(seen.only_queue(), None);
    }

    #[test]
    fn jobs_that_name_no_queue_count_in_any() {
        let unnamed = SeenJob {
            queue: String::new(),
            ..job("1", 1, 0, Some(7))
        };
        let seen = seen(vec![ended(unnamed, 8)]);
        let waits = seen.like(&pilot("long", 1), (at(100), at(100)));
        assert_eq!(secs(&waits), [(7.0, true)]);
    }

    fn ended(job: SeenJob, ended: i64) -> SeenJob {
        SeenJob {
            phase: SeenPhase::Over,
            ended: Some(at(ended)),
            ..job
        }
    }

    #[test]
    fn busy_queue_is_judged_by_jobs_that_found_it_busy() {
        // Of two processors the first job has one. The second one waits for both, the third one behind it.
        let jobs = vec![
            ended(job("1", 1, 0, Some(0)), 50),
            ended(job("2", 2, 10, Some(50)), 80),
            job("3", 1, 60, Some(80)),
        ];
        let seen = seen(jobs);
        let of = |queued| secs(&seen.like(&pilot("main", 1), (at(queued), at(100))));
        assert_eq!(of(100), [(20.0, true), (40.0, true), (0.0, true)]);
        assert_eq!(of(70), [(20.0, true), (40.0, true)]);
    }

    #[test]
    fn job_that_waited_found_a_busy_queue_among_those_submitted_with_it() {
        // Four tasks of an array run at once, for two minutes each; the first ones started within seconds.
        let tasks = (0..20).map(|nth| {
            let started = Some(3 + 120 * (nth / 4)).filter(|started| *started < 300);
            let task = job(&nth.to_string(), 1, 0, started);
            match started {
                Some(started) if started < 180 => ended(task, started + 120),
                Some(_) | None => task,
            }
        });
        let seen = seen(tasks.collect());
        let waits = secs(&seen.like(&pilot("main", 1), (at(300), at(300))));
        let started = waits.iter().filter(|(_, has_started)| *has_started);
        let mut started: Vec<f64> = started.map(|(waited, _)| *waited).collect();
        started.sort_by(f64::total_cmp);
        assert_eq!(
            started,
            [123.0, 123.0, 123.0, 123.0, 243.0, 243.0, 243.0, 243.0]
        );
        assert_eq!(waits.len(), 16);
    }

    #[test]
    fn full_queue_from_which_no_job_came_has_no_starts() {
        let seen = seen(vec![job("1", 8, 0, Some(0)), job("2", 8, 10, None)]);
        let waits = seen.like(&pilot("main", 2), (at(100), at(100)));
        assert_eq!(secs(&waits), [(90.0, false)]);
    }

    #[test]
    fn others_count_until_a_job_like_the_pilot_has_started() {
        let long = |nth: i64| {
            let mut long = ended(job(&format!("long{nth}"), 1, nth, Some(nth + 9)), nth + 10);
            long.limit = Some(Span::from_secs(86_400));
            long
        };
        let alike = |nth: i64| ended(job(&nth.to_string(), 1, nth, Some(nth + 1)), nth + 2);
        let n_long = |n_alike: i64| {
            let jobs = (0..90).map(long).chain((0..n_alike).map(alike));
            let waits = seen(jobs.collect()).like(&pilot("main", 1), (at(200), at(200)));
            let long = waits
                .iter()
                .filter(|wait| wait.waited == Span::from_secs(9));
            (waits.len(), long.count())
        };
        assert_eq!([0, 1, 90].map(n_long), [(50, 50), (1, 0), (50, 0)]);
        // A user's own job is like a pilot whatever its limit.
        let own = SeenPilot {
            user: "anna",
            ..pilot("main", 1)
        };
        let waits = seen((0..90).map(long).collect()).like(&own, (at(200), at(200)));
        assert_eq!(waits.len(), 50);
    }

    #[test]
    fn job_that_is_gone_waited_until_it_was_missed() {
        let mut seen = seen(vec![job("1", 1, 20, None)]);
        seen.observe(&QueueObservation {
            at: at(90),
            sight: QueueSight::AllJobs,
            jobs: Vec::new(),
            gone: vec![SeenJobKey("1".to_owned())],
            absent: Vec::new(),
        });
        let waits = seen.like(&pilot("main", 1), (at(200), at(200)));
        assert_eq!(secs(&waits), [(70.0, false)]);
    }

    #[test]
    fn jobs_that_ended_first_are_forgotten() {
        let jobs = (0..400).map(|n| ended(job(&n.to_string(), 1, n, Some(n)), n + 1));
        let seen = seen(jobs.collect());
        assert_eq!(seen.jobs.len(), KEPT);
        assert!(seen.jobs.values().all(|job| job.queued >= at(100)));
    }
}
