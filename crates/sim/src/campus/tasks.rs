//! The submissions of a year, and the truth about them.

use tollgate_model::{Instant, Span};
use tollgate_workload::rng::{RandomStream, StreamFamily, StreamPurpose};

use super::calendar::{HOUR_S, HOURS};
use super::settings::{CampusConfig, LogNormal};

/// A task with the truth about its run time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CampusTask {
    /// The submission.
    pub submit: Instant,
    /// Time that its data take to the computer and back, for each attempt.
    pub transfer: Span,
    /// The task's true nature.
    pub truth: TaskTruth,
}

/// The true nature of a task, hidden from policies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskTruth {
    /// The task ends by itself after this time on a computer.
    Good {
        /// Positive.
        runtime: Span,
    },
    /// The task never ends.
    Bad {
        /// The instant at which its user cancels it.
        removed: Instant,
    },
}

/// The fate of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskOutcome {
    /// The task waits or runs; at the end of the year it is unfinished.
    Unfinished,
    /// The task ended by itself.
    Completed,
    /// A policy ended the task.
    Abandoned,
    /// The task's user cancelled it.
    Removed,
}

impl CampusTask {
    /// Returns the duration of an undisturbed attempt.
    pub fn attempt(&self) -> Span {
        match self.truth {
            TaskTruth::Good { runtime } => self.transfer + runtime,
            TaskTruth::Bad { .. } => Span::MAX,
        }
    }

    /// Returns the run time on a computer without transfer.
    pub const fn runtime(&self) -> Span {
        match self.truth {
            TaskTruth::Good { runtime } => runtime,
            TaskTruth::Bad { .. } => Span::MAX,
        }
    }

    /// Returns the instant at which the user cancels the task.
    pub const fn removed(&self) -> Instant {
        match self.truth {
            TaskTruth::Good { .. } => Instant::MAX,
            TaskTruth::Bad { removed } => removed,
        }
    }

    /// Returns true if the task would end by itself.
    pub const fn is_good(&self) -> bool {
        match self.truth {
            TaskTruth::Good { .. } => true,
            TaskTruth::Bad { .. } => false,
        }
    }
}

/// Network bandwidth in bits per second: measured in the paper.
const BITS_PER_SECOND: f64 = 94.75e6;
const BITS_PER_MEGABYTE: f64 = 8e6;

const MIN_RUNTIME_S: f64 = 5.0;
const MAX_RUNTIME_S: f64 = 16.0 * 3600.0;

/// Whole seconds within which the tasks of a batch are submitted.
const BATCH_SPREAD_S: f64 = 120.0;

/// Shortest and longest run time of long tasks, in hours.
const LONG_H: (f64, f64) = (16.0, 88.0);

/// Bad and long tasks are not submitted in the last days of the year.
const LAST_DAYS_WITHOUT_BAD: f64 = 10.0;
const LAST_DAYS_WITHOUT_LONG: f64 = 20.0;

const DAY_S: f64 = 86_400.0;

/// Draws the tasks of a synthetic year in order of submission; at one instant in order of drawing.
pub(super) fn draw(settings: &CampusConfig) -> Vec<CampusTask> {
    let mut tasks = good(settings);
    tasks.extend(long(settings));
    tasks.extend(bad(settings));
    tasks.sort_by_key(|task| task.submit);
    tasks
}

/// Draws the good tasks, batch by batch.
fn good(settings: &CampusConfig) -> Vec<CampusTask> {
    let good = &settings.good;
    let count = settings.scaled(good.count, 1) as usize;
    let cap = (f64::from(good.batch_cap) * settings.scale).max(1.0);
    let family = StreamFamily::new(settings.seed, StreamPurpose::Batches);
    let mut drafts: Vec<(f64, f64, Span)> = Vec::with_capacity(count);
    let mut batch = 0;
    while drafts.len() < count {
        let mut stream = family.stream(batch);
        batch += 1;
        let size = good.batch.draw(&mut stream) * settings.scale;
        let size = (size.ceil().clamp(1.0, cap) as usize).min(count - drafts.len());
        let submit_s = batch_submission(settings, &mut stream);
        let usual_s = good.runtime_s.draw(&mut stream);
        for _ in 0..size {
            let runtime_s = usual_s * libm::exp(good.runtime_within * stream.normal());
            let later_s = (BATCH_SPREAD_S * stream.uniform()).floor();
            drafts.push((
                submit_s + later_s,
                runtime_s,
                transfer(settings, &mut stream),
            ));
        }
    }
    let stretch = stretch(settings, &drafts);
    let task = |(submit_s, runtime_s, transfer)| CampusTask {
        submit: at(submit_s),
        transfer,
        truth: TaskTruth::Good {
            runtime: Span::from_secs_f64(clamped(stretch * runtime_s)),
        },
    };
    drafts.into_iter().map(task).collect()
}

/// Draws a submission: a uniform day, an hour by weight, a uniform second.
fn batch_submission(settings: &CampusConfig, stream: &mut RandomStream) -> f64 {
    let day = (f64::from(settings.days) * stream.uniform()).floor();
    let hour = loop {
        let hour = (HOURS.len() as f64 * stream.uniform()) as usize;
        if stream.chance((HOURS[hour] / 1.2 + 0.05).min(1.0)) {
            break hour;
        }
    };
    day * DAY_S + hour as f64 * HOUR_S + (HOUR_S * stream.uniform()).floor()
}

/// Returns the factor by which run times are multiplied to reach the requested sum. Some run times
/// are at their limits, so the search takes a few rounds.
fn stretch(settings: &CampusConfig, drafts: &[(f64, f64, Span)]) -> f64 {
    const ROUNDS: usize = 20;
    let Some(useful) = settings.good.useful else {
        return 1.0;
    };
    let mut stretch = 1.0;
    for _ in 0..ROUNDS {
        let sum: f64 = drafts.iter().map(|draft| clamped(stretch * draft.1)).sum();
        stretch *= useful.as_secs_f64() * settings.scale / sum;
    }
    stretch
}

fn clamped(runtime_s: f64) -> f64 {
    runtime_s.clamp(MIN_RUNTIME_S, MAX_RUNTIME_S)
}

/// Draws good tasks that need longer than the time between two nightly reboots.
fn long(settings: &CampusConfig) -> impl Iterator<Item = CampusTask> {
    let family = StreamFamily::new(settings.seed, StreamPurpose::LongTasks);
    (0..settings.scaled(settings.good.long, 1)).map(move |number| {
        let mut stream = family.stream(number.into());
        let submit = draw_submission(settings, LAST_DAYS_WITHOUT_LONG, &mut stream);
        let runtime_h = (LONG_H.1 - LONG_H.0).mul_add(stream.uniform(), LONG_H.0);
        CampusTask {
            submit,
            transfer: transfer(settings, &mut stream),
            truth: TaskTruth::Good {
                runtime: Span::from_secs_f64(runtime_h * HOUR_S),
            },
        }
    })
}

/// Draws tasks that never end: the heavy ones, then the light ones.
fn bad(settings: &CampusConfig) -> impl Iterator<Item = CampusTask> {
    let bad = &settings.bad;
    let heavy = settings.scaled(bad.heavy, 1);
    let all = heavy + settings.scaled(bad.light, 1);
    let family = StreamFamily::new(settings.seed, StreamPurpose::BadTasks);
    (0..all).map(move |number| {
        let mut stream = family.stream(number.into());
        let submit = draw_submission(settings, LAST_DAYS_WITHOUT_BAD, &mut stream);
        let stays_s = match number < heavy {
            true => DAY_S * bad.heavy_days.draw(&mut stream),
            false => bad
                .light_mean
                .as_secs_f64()
                .mul_add(stream.exponential(), 30.0),
        };
        CampusTask {
            submit,
            transfer: transfer(settings, &mut stream),
            truth: TaskTruth::Bad {
                removed: submit + Span::from_secs_f64(stays_s),
            },
        }
    })
}

/// Draws an instant uniformly in the year without its last days.
fn draw_submission(
    settings: &CampusConfig,
    but_last_days: f64,
    stream: &mut RandomStream,
) -> Instant {
    let days = f64::from(settings.days);
    at((days - but_last_days).max(days / 2.0) * DAY_S * stream.uniform())
}

fn transfer(settings: &CampusConfig, stream: &mut RandomStream) -> Span {
    let bits = 2.0 * settings.good.size_mb.draw(stream) * BITS_PER_MEGABYTE;
    Span::from_secs_f64(bits / BITS_PER_SECOND)
}

fn at(secs: f64) -> Instant {
    Instant::ZERO + Span::from_secs_f64(secs)
}

impl LogNormal {
    pub(super) fn draw(&self, stream: &mut RandomStream) -> f64 {
        self.median * libm::exp(self.sigma * stream.normal())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn synthetic_year_has_the_configured_task_counts() {
        let settings = CampusConfig {
            scale: 0.1,
            ..CampusConfig::history()
        };
        let tasks = draw(&settings);
        assert!(tasks.is_sorted_by_key(|task| task.submit));
        let good = tasks.iter().filter(|task| task.is_good()).count();
        assert_eq!((good, tasks.len() - good), (56_185 + 23, 17 + 190));
        let beyond =
            |task: &&CampusTask| task.runtime() > Span::from_secs(16 * 3600) && task.is_good();
        assert_eq!(tasks.iter().filter(beyond).count(), 23);
    }

    #[test]
    fn run_times_add_up_to_the_configured_total() {
        let mut settings = CampusConfig {
            scale: 0.02,
            ..CampusConfig::default()
        };
        settings.good.useful = Some(Span::from_secs(466_000_000));
        let sum: f64 = draw(&settings)
            .iter()
            .filter(|task| task.is_good())
            .map(|task| task.runtime().as_secs_f64())
            .sum();
        assert!((sum / (466e6 * 0.02) - 1.0).abs() < 1e-3, "{sum}");
    }
}
