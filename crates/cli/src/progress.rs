//! A progress bar for long runs on a terminal.

use std::io::{IsTerminal, stderr};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// The minimum time of a run that shows a bar.
const MIN_DURATION: Duration = Duration::from_millis(500);

/// The number of jobs between two checks of the clock.
const JOBS_PER_UPDATE: u64 = 4096;

/// A progress bar that counts the arrived jobs of all policies. The bar appears once the run has
/// turned out to be long.
pub(crate) struct ReplayProgress {
    started_at: Instant,
    jobs: u64,
    bar: OnceLock<ProgressBar>,
}

impl ReplayProgress {
    /// Creates a progress bar. None unless standard error is a terminal.
    pub(crate) fn on_terminal(jobs: u64) -> Option<Self> {
        stderr().is_terminal().then(|| Self {
            started_at: Instant::now(),
            jobs,
            bar: OnceLock::new(),
        })
    }

    fn advance(&self, jobs: u64) {
        if self.started_at.elapsed() >= MIN_DURATION {
            self.bar.get_or_init(|| bar(self.jobs)).inc(jobs);
        }
    }

    /// Removes the bar.
    pub(crate) fn clear(&self) {
        if let Some(bar) = self.bar.get() {
            bar.finish_and_clear();
        }
    }
}

fn bar(jobs: u64) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(jobs), ProgressDrawTarget::stderr());
    let style =
        ProgressStyle::with_template("{bar:40} {human_pos} of {human_len} jobs, {eta} left");
    bar.with_style(style.expect("a template that is right"))
}

/// An iterator that counts jobs on their way to a policy.
pub(crate) struct ProgressIterator<'a, I> {
    jobs: I,
    progress: Option<&'a ReplayProgress>,
    n_passed: u64,
}

impl<'a, I> ProgressIterator<'a, I> {
    /// Wraps `jobs`. Without a progress bar nothing is counted.
    pub(crate) fn new(jobs: I, progress: Option<&'a ReplayProgress>) -> Self {
        Self {
            jobs,
            progress,
            n_passed: 0,
        }
    }
}

impl<I: Iterator> Iterator for ProgressIterator<'_, I> {
    type Item = I::Item;

    fn next(&mut self) -> Option<I::Item> {
        if let Some(progress) = self.progress {
            self.n_passed += 1;
            if self.n_passed.is_multiple_of(JOBS_PER_UPDATE) {
                progress.advance(JOBS_PER_UPDATE);
            }
        }
        self.jobs.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.jobs.size_hint()
    }
}

impl<I: ExactSizeIterator> ExactSizeIterator for ProgressIterator<'_, I> {}
