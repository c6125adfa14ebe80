//! The synthetic jobs: users of projects run programs in sessions, and programs have modes.

use tollgate_model::{Instant, Span};
use tollgate_workload::rng::{RandomStream, StreamFamily, StreamPurpose};

use super::record::{GridJob, GridRecord, PlantedTruth};
use super::settings::GridConfig;

/// Seconds of a day.
const DAY_S: f64 = 86_400.0;
/// Spread of the activity of users, as a logarithm.
const ACTIVITY_SIGMA: f64 = 0.8;
/// The shortest and the longest usual median run time of a program in seconds. Between the tenth and the
/// ninetieth percentile of all jobs, every logarithm is about as likely as any other.
const MEDIAN_S: (f64, f64) = (30.0, 8_000.0);
/// Spread of the medians of the programs of one project.
const PROJECT_SIGMA: f64 = 0.7;
/// The spread of ln run time of a program in a mode: one of these, equally likely.
const NOISES: [f64; 4] = [0.03, 0.1, 0.3, 0.9];
/// Correlation of the noise of consecutive jobs of a program.
const CORRELATION: f64 = 0.5;
/// Spread of the factor between two modes, as a logarithm.
const MODE_SIGMA: f64 = 1.2;
/// Factor of an anomaly, as a logarithm.
const ANOMALY: f64 = 1.5;
/// Mean wait in seconds.
const WAIT_S: f64 = 600.0;
/// Mean time between the submissions of a session in seconds.
const GAP_S: f64 = 300.0;
/// The run time limits that users can choose from, in hours. No job is ended at its limit.
const LIMITS_H: [f64; 6] = [0.25, 1.0, 4.0, 12.0, 48.0, 240.0];

/// A program of a user.
struct GridProgram {
    /// ln of the median run time in the present mode.
    ln_median: f64,
    noise: f64,
    /// The last deviation from the median, before scaling by `noise`.
    deviation: f64,
    next_mode: f64,
    /// The rest of a series of failures.
    failures: u32,
}

/// Draws the jobs of a configuration.
pub fn draw(settings: &GridConfig) -> GridRecord {
    let n_users = settings.groups * settings.users_per_group;
    let family = StreamFamily::new(settings.seed, StreamPurpose::GridUsers);
    let activity: Vec<f64> = (0..n_users)
        .map(|user| libm::exp(ACTIVITY_SIGMA * family.stream(user.into()).normal()))
        .collect();
    let total: f64 = activity.iter().sum();
    let mut jobs = Vec::with_capacity(settings.jobs);
    for (user, activity) in (0..n_users).zip(activity) {
        let n_jobs = (settings.jobs as f64 * activity / total).round().max(1.0);
        draw_user(settings, user, n_jobs as usize, &mut jobs);
    }
    jobs.sort_by_key(|job| (job.submit, job.user));
    GridRecord {
        jobs,
        is_planted: settings.change_factor != 1.0 || settings.anomalies > 0.0,
    }
}

fn draw_user(settings: &GridConfig, user: u32, n_jobs: usize, jobs: &mut Vec<GridJob>) {
    let group = user / settings.users_per_group;
    let projects = StreamFamily::new(settings.seed, StreamPurpose::GridUsers);
    // Streams of projects lie beyond those of users.
    let project = projects.stream((1 << 32) + u64::from(group)).uniform();
    let (low, high) = (libm::log(MEDIAN_S.0), libm::log(MEDIAN_S.1));
    let ln_project = low + (high - low) * (f64::from(group) + project) / f64::from(settings.groups);
    let mut stream = StreamFamily::new(settings.seed, StreamPurpose::GridJobs).stream(user.into());
    let mut programs: Vec<GridProgram> = (0..settings.programs)
        .map(|_| GridProgram::draw(settings, ln_project, &mut stream))
        .collect();
    let change_s = (user.is_multiple_of(2) && settings.change_factor != 1.0)
        .then_some(settings.days * DAY_S / 2.0);
    for start in sessions(settings, n_jobs, &mut stream) {
        let program = (stream.uniform() * programs.len() as f64) as usize;
        let mut at_s = start.at_s;
        for _ in 0..start.jobs {
            let has_changed = change_s.is_some_and(|change| at_s >= change);
            let drawn = programs[program].run(settings, at_s, has_changed, &mut stream);
            let (ln_run, truth) = drawn;
            let submit = Instant::ZERO + Span::from_secs_f64(at_s);
            let runtime = Span::from_secs_f64(libm::exp(ln_run).max(1.0));
            let wait = Span::from_secs_f64(WAIT_S * stream.exponential());
            jobs.push(GridJob {
                user: Some(user),
                group: Some(group),
                executable: Some(user * settings.programs + program as u32),
                queue: None,
                account: Some(group),
                procs: 1,
                request: Some(programs[program].limit()),
                submit,
                finish: submit + wait + runtime,
                runtime,
                truth,
            });
            at_s += GAP_S * stream.exponential();
        }
    }
}

/// A session of a user.
struct GridSession {
    at_s: f64,
    jobs: usize,
}

/// Returns the sessions of a user in order.
fn sessions(settings: &GridConfig, n_jobs: usize, stream: &mut RandomStream) -> Vec<GridSession> {
    let mut sessions = Vec::new();
    let mut left = n_jobs;
    while left > 0 {
        let drawn = (settings.session_jobs * stream.exponential())
            .ceil()
            .max(1.0);
        let jobs = (drawn as usize).min(left);
        left -= jobs;
        let at_s = settings.days * DAY_S * stream.uniform();
        sessions.push(GridSession { at_s, jobs });
    }
    sessions.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
    sessions
}

impl GridProgram {
    fn draw(settings: &GridConfig, ln_project: f64, stream: &mut RandomStream) -> Self {
        let noise = (stream.uniform() * NOISES.len() as f64) as usize;
        let ln_median = ln_project + PROJECT_SIGMA * stream.normal();
        Self {
            ln_median: ln_median.max(0.0),
            noise: match settings.noise > 0.0 {
                true => settings.noise,
                false => NOISES[noise],
            },
            deviation: stream.normal(),
            next_mode: settings.mode_days * DAY_S * stream.exponential(),
            failures: 0,
        }
    }

    /// Returns ln run time of the next job, and its part in what is planted.
    fn run(
        &mut self,
        settings: &GridConfig,
        at_s: f64,
        has_changed: bool,
        stream: &mut RandomStream,
    ) -> (f64, PlantedTruth) {
        while settings.mode_days > 0.0 && at_s >= self.next_mode {
            self.ln_median = (self.ln_median + MODE_SIGMA * stream.normal()).clamp(2.5, 10.0);
            self.next_mode += settings.mode_days * DAY_S * stream.exponential();
        }
        let fresh = (1.0 - CORRELATION * CORRELATION).sqrt();
        self.deviation = CORRELATION * self.deviation + fresh * stream.normal();
        let usual = self.ln_median + self.noise * self.deviation;
        // Failures come in series: half of them follow another one.
        if self.failures > 0 || stream.chance(settings.failed / 2.0) {
            self.failures = match self.failures {
                0 => u32::from(stream.chance(0.5)) * 2,
                left => left - 1,
            };
            return (libm::log(10.0) * stream.uniform(), PlantedTruth::Usual);
        }
        if stream.chance(settings.long) {
            return (libm::log(1e5) + stream.exponential(), PlantedTruth::Usual);
        }
        if stream.chance(settings.anomalies) {
            return (usual + ANOMALY, PlantedTruth::Anomaly);
        }
        match has_changed {
            true => (
                usual + libm::log(settings.change_factor),
                PlantedTruth::Changed,
            ),
            false => (usual, PlantedTruth::Usual),
        }
    }

    /// Returns the limit that the user chooses: at least three times the usual run time.
    fn limit(&self) -> Span {
        let bound = 3.0 * libm::exp(self.ln_median);
        let mut limits = LIMITS_H.into_iter().map(|hours| hours * 3600.0);
        Span::from_secs_f64(limits.find(|limit| *limit >= bound).unwrap_or(bound))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_users_change_in_the_middle() {
        let settings = GridConfig {
            jobs: 3_000,
            programs: 1,
            failed: 0.0,
            long: 0.0,
            mode_days: 0.0,
            noise: 0.1,
            change_factor: 4.0,
            ..GridConfig::default()
        };
        let record = draw(&settings);
        assert!(record.is_planted);
        assert!(record.jobs.is_sorted_by_key(|job| job.submit));
        let changed = |job: &&GridJob| job.truth == PlantedTruth::Changed;
        let changed: Vec<&GridJob> = record.jobs.iter().filter(changed).collect();
        assert!((500..1_000).contains(&changed.len()), "{}", changed.len());
        let middle = Instant::from_secs(92 * 86_400);
        assert!(changed.iter().all(|job| job.submit >= middle));
        assert!(
            changed
                .iter()
                .all(|job| job.user.unwrap().is_multiple_of(2))
        );
    }

    #[test]
    fn same_seed_draws_the_same_jobs() {
        let settings = GridConfig {
            jobs: 500,
            ..GridConfig::default()
        };
        assert_eq!(draw(&settings), draw(&settings));
        let other = GridConfig {
            seed: 2,
            ..settings
        };
        assert_ne!(draw(&other).jobs[0], draw(&settings).jobs[0]);
    }
}
