//! The progress of what takes longer than a second: a line that is rewritten on a terminal, a note every few seconds
//! elsewhere.

use std::fmt::Display;
use std::io::{IsTerminal, stderr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::messages::Verbosity;

/// The time for which nothing is shown on a terminal.
const QUIET: Duration = Duration::from_secs(1);
/// The time before the first note and between two notes.
const NOTE_INTERVAL: Duration = Duration::from_secs(5);
/// The time between two drawings of a spinner.
const TICK: Duration = Duration::from_millis(100);
/// The number of jobs between two checks of the clock.
const JOBS_PER_UPDATE: u64 = 4096;

/// The times of notes.
#[derive(Debug, Default)]
struct NotePace {
    n_notes: u32,
}

impl NotePace {
    /// Returns whether a note is due this long after the beginning. If so, it counts as written.
    fn is_due(&mut self, elapsed: Duration) -> bool {
        let is_due = elapsed >= NOTE_INTERVAL * (self.n_notes + 1);
        if is_due {
            self.n_notes = (elapsed.as_secs() / NOTE_INTERVAL.as_secs()) as u32;
        }
        is_due
    }
}

/// The progress of work whose amount is known: `3,000 of 20,000 jobs`.
pub(crate) struct CountProgress {
    began: Instant,
    unit: &'static str,
    n_all: u64,
    n_done: AtomicU64,
    shown: ShownProgress,
}

/// How progress is shown.
enum ShownProgress {
    /// As a bar on a terminal, once the work has turned out to be long.
    Bar(OnceLock<ProgressBar>),
    /// As notes.
    Notes(Mutex<NotePace>),
}

impl CountProgress {
    /// Begins work on `n_all` things, which `unit` names in the plural.
    pub(crate) fn begin(n_all: u64, unit: &'static str) -> Self {
        Self {
            began: Instant::now(),
            unit,
            n_all,
            n_done: AtomicU64::new(0),
            shown: match stderr().is_terminal() {
                true => ShownProgress::Bar(OnceLock::new()),
                false => ShownProgress::Notes(Mutex::default()),
            },
        }
    }

    /// Begins work whose progress is shown on a terminal only. None unless standard error is one.
    pub(crate) fn on_terminal(n_all: u64, unit: &'static str) -> Option<Self> {
        stderr().is_terminal().then(|| Self::begin(n_all, unit))
    }

    /// Counts things as done.
    pub(crate) fn advance(&self, n: u64) {
        let n_done = self.n_done.fetch_add(n, Ordering::Relaxed) + n;
        let elapsed = self.began.elapsed();
        match &self.shown {
            ShownProgress::Bar(_) if elapsed < QUIET => {}
            ShownProgress::Bar(bar) => {
                let bar = bar.get_or_init(|| count_bar(self.n_all, self.unit));
                bar.set_position(n_done);
            }
            ShownProgress::Notes(pace) => {
                let mut pace = pace.lock().unwrap_or_else(PoisonError::into_inner);
                if pace.is_due(elapsed) {
                    let (n_all, unit) = (self.n_all, self.unit);
                    Verbosity::Notes.note(format_args!("{n_done} of {n_all} {unit}"));
                }
            }
        }
    }
}

/// Removes the bar.
impl Drop for CountProgress {
    fn drop(&mut self) {
        if let ShownProgress::Bar(bar) = &self.shown
            && let Some(bar) = bar.get()
        {
            bar.finish_and_clear();
        }
    }
}

fn count_bar(n_all: u64, unit: &str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(n_all), ProgressDrawTarget::stderr());
    let template = format!("{{bar:40}} {{human_pos}} of {{human_len}} {unit}, {{eta}} left");
    bar.with_style(ProgressStyle::with_template(&template).expect("a template that is right"))
}

/// Carries out work of which only the time is known, and shows that it goes on: `what` is a clause as in
/// `cancelling job 7`.
pub(crate) fn while_waiting<T>(what: impl Display, work: impl FnOnce() -> T) -> T {
    let what = what.to_string();
    let (done, is_done) = mpsc::channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || show_time(&what, stderr().is_terminal(), &is_done));
        let result = work();
        drop(done);
        result
    })
}

/// Shows how long work takes until the other end of the channel is dropped.
fn show_time(what: &str, on_terminal: bool, is_done: &mpsc::Receiver<()>) {
    let began = Instant::now();
    let mut pace = NotePace::default();
    let mut spinner: Option<ProgressBar> = None;
    let wait = if on_terminal { TICK } else { QUIET };
    while let Err(RecvTimeoutError::Timeout) = is_done.recv_timeout(wait) {
        let elapsed = began.elapsed();
        if on_terminal && elapsed >= QUIET {
            spinner
                .get_or_insert_with(|| spinner_of(what, elapsed))
                .tick();
        } else if !on_terminal && pace.is_due(elapsed) {
            let seconds = elapsed.as_secs();
            Verbosity::Notes.note(format_args!("{what}: {seconds} s so far"));
        }
    }
    if let Some(spinner) = spinner {
        spinner.finish_and_clear();
    }
}

fn spinner_of(what: &str, elapsed: Duration) -> ProgressBar {
    let spinner = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template("{spinner} {msg}, {elapsed}");
    spinner
        .with_style(style.expect("a template that is right"))
        .with_message(what.to_owned())
        .with_elapsed(elapsed)
}

/// An iterator that counts jobs on their way to a policy.
pub(crate) struct ProgressIterator<'a, I> {
    jobs: I,
    progress: Option<&'a CountProgress>,
    n_passed: u64,
}

impl<'a, I> ProgressIterator<'a, I> {
    /// Wraps `jobs`. Without a progress bar nothing is counted.
    pub(crate) fn new(jobs: I, progress: Option<&'a CountProgress>) -> Self {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_due_every_few_seconds_however_often_the_clock_is_read() {
        let mut pace = NotePace::default();
        let due = [0.9, 4.9, 5.0, 5.1, 9.9, 10.2, 10.3, 31.0, 31.1, 34.9, 35.0]
            .map(|seconds| pace.is_due(Duration::from_secs_f64(seconds)));
        let expected = [
            false, false, true, false, false, true, false, true, false, false, true,
        ];
        assert_eq!(due, expected);
    }

    #[test]
    fn work_is_carried_out_and_its_result_returned() {
        assert_eq!(while_waiting("working", || 7), 7);
    }
}
