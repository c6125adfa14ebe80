//! Jobs on a machine with known rules, and the views of a batch system that has them.

use tollgate_beside::{
    JobStatement, QueueChanges, QueueFollower, QueueObservation, QueueSight, SeenJob, SeenJobKey,
    SeenPhase,
};
use tollgate_model::{Instant, Span};

/// The time for which a batch system shows a job that is over.
const SHOWN_AFTER_END: Span = Span::from_secs(300);

/// A course of numbers that a seed decides.
pub(crate) struct Course(u64);

impl Course {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(2).wrapping_add(1))
    }

    /// Returns the next number below `below`.
    pub(crate) fn next(&mut self, below: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }
}

/// Returns jobs of a machine with 32 processors that starts them in order of submission. Some are cancelled.
pub(crate) fn jobs(n: usize, seed: u64) -> Vec<SeenJob> {
    let mut course = Course::new(seed);
    let mut free_at = vec![0_i64; 32];
    let mut now = 1_000_000;
    let mut last_start = 0;
    let job = |nth: usize| {
        now += [0, 0, 1, 7, 40, 90][course.next(6) as usize];
        let procs = 1 << course.next(5);
        let run = 5 + course.next(200) as i64;
        free_at.sort_unstable();
        let is_cancelled = course.next(25) == 0;
        let start = now.max(free_at[procs - 1]).max(last_start);
        let ended = match is_cancelled {
            true => now + course.next(60) as i64,
            false => {
                free_at[..procs].fill(start + run);
                last_start = start;
                start + run
            }
        };
        SeenJob {
            key: SeenJobKey((nth + 1).to_string()),
            user: ["anna", "bert", "carl"][course.next(3) as usize].to_owned(),
            queue: ["main", "short"][course.next(2) as usize].to_owned(),
            procs: procs as u32,
            limit: Some(Span::from_secs(300)),
            submitted: Instant::from_secs(now),
            eligible: Some(Instant::from_secs(now)),
            started: (!is_cancelled).then(|| Instant::from_secs(start)),
            ended: Some(Instant::from_secs(ended)),
            phase: SeenPhase::Over,
            reason: String::new(),
        }
    };
    (0..n).map(job).collect()
}

/// Returns a job as it is seen at an instant. None before its submission, and some time after its end.
pub(crate) fn seen_at(job: &SeenJob, at: Instant) -> Option<SeenJob> {
    let until = job.ended.expect("every job ends");
    if job.submitted > at || at.since(until) > SHOWN_AFTER_END {
        return None;
    }
    let mut seen = job.clone();
    seen.ended = job.ended.filter(|ended| *ended <= at);
    seen.started = job.started.filter(|started| *started <= at);
    seen.phase = match (seen.ended, seen.started) {
        (Some(_), _) => SeenPhase::Over,
        (None, Some(_)) => SeenPhase::Runs,
        (None, None) => SeenPhase::Waits,
    };
    Some(seen)
}

/// Returns what a follower observes that looks at jobs every `every`.
pub(crate) fn observed(jobs: &[SeenJob], every: Span) -> Vec<QueueObservation> {
    let ends = jobs.iter().filter_map(|job| job.ended);
    let last = ends.max().expect("jobs");
    let mut at = jobs[0].submitted - Span::from_secs(1);
    let mut changes = QueueChanges::default();
    let mut observations = Vec::new();
    while at <= last + every {
        let view: Vec<SeenJob> = jobs.iter().filter_map(|job| seen_at(job, at)).collect();
        observations.push(QueueObservation {
            at,
            sight: QueueSight::AllJobs,
            jobs: changes.take(view),
            gone: Vec::new(),
            absent: Vec::new(),
        });
        at += every;
    }
    observations
}

/// Returns the statements that a new follower makes from observations.
pub(crate) fn stated(observations: &[QueueObservation]) -> (QueueFollower, Vec<JobStatement>) {
    let mut follower = QueueFollower::default();
    let statements = observations
        .iter()
        .flat_map(|observation| follower.observe(observation))
        .collect();
    (follower, statements)
}
