//! The number of processors that waiting jobs ask for, over time.

use tollgate_model::{Decision, Instant, Outcome};

use super::GanttWindow;

/// A step function of the number of processors waited for, from each instant on.
pub(super) struct WaitingCurve {
    steps: Vec<(Instant, u64)>,
}

impl WaitingCurve {
    /// Builds the curve. A job waits from submission until it starts or is rejected.
    pub(super) fn of(jobs: &[Outcome]) -> Self {
        let mut changes: Vec<(Instant, i64)> = Vec::new();
        for job in jobs {
            let until = match (job.decision, job.ran) {
                (Decision::Accepted | Decision::Unpromised, Some(ran)) => ran.start,
                (Decision::Accepted | Decision::Unpromised, None) | (Decision::Rejected(_), _) => {
                    job.decided
                }
            };
            if until > job.submit {
                changes.push((job.submit, i64::from(job.procs)));
                changes.push((until, -i64::from(job.procs)));
            }
        }
        changes.sort_unstable();
        let mut steps: Vec<(Instant, u64)> = Vec::new();
        let mut level = 0;
        for (instant, change) in changes {
            level += change;
            steps.pop_if(|last| last.0 == instant);
            steps.push((instant, level.cast_unsigned()));
        }
        Self { steps }
    }

    /// Returns the maximum number of processors ever waited for.
    pub(super) fn most(&self) -> u64 {
        self.steps.iter().map(|step| step.1).max().unwrap_or(0)
    }

    /// Returns the maximum number of processors waited for in each pixel column of a window of
    /// `columns` columns. The curve has no more points than can be seen, even with many jobs.
    pub(super) fn columns(&self, window: &GanttWindow, columns: usize) -> Vec<u64> {
        let width = window.span.as_secs_f64() / columns as f64;
        let first = self.steps.partition_point(|step| step.0 <= window.from);
        let mut level = first
            .checked_sub(1)
            .map_or(0, |before| self.steps[before].1);
        let mut rest = self.steps[first..].iter().peekable();
        let mut highest = Vec::with_capacity(columns);
        for column in 1..=columns {
            let mut most = level;
            let ends = |step: &&(Instant, u64)| {
                step.0.since(window.from).as_secs_f64() < width * column as f64
            };
            while let Some(step) = rest.next_if(ends) {
                level = step.1;
                most = most.max(level);
            }
            highest.push(most);
        }
        highest
    }
}

#[cfg(test)]
mod tests {
    use tollgate_model::{Credits, Reason, Span, outcome::RunInterval};

    use super::*;

    fn job(submit: i64, procs: u32, start: Option<i64>, decided: i64) -> Outcome {
        Outcome {
            unpredictable: false,
            submit: Instant::from_secs(submit),
            runtime: Span::from_secs(10),
            task_runtime: Span::from_secs(10),
            planned_run: Span::from_secs(10),
            procs,
            decision: start.map_or(Decision::Rejected(Reason::DeadlinePassed), |_| {
                Decision::Accepted
            }),
            decided: Instant::from_secs(decided),
            ran: start.map(|start| RunInterval {
                start: Instant::from_secs(start),
                finish: Instant::from_secs(start + 10),
            }),
            due: None,
            budget: Credits::ZERO,
            price: Credits::ZERO,
            utility: Credits::ZERO,
            killed: false,
        }
    }

    #[test]
    fn jobs_wait_until_they_start_or_are_rejected() {
        let jobs = [
            job(0, 4, Some(0), 0),
            job(0, 3, Some(4), 4),
            job(2, 5, None, 6),
        ];
        let waiting = WaitingCurve::of(&jobs);
        let window = |from, span| GanttWindow {
            from: Instant::from_secs(from),
            span: Span::from_secs(span),
        };
        assert_eq!(waiting.most(), 8);
        assert_eq!(waiting.columns(&window(0, 8), 4), [3, 8, 8, 5]);
        assert_eq!(waiting.columns(&window(4, 4), 4), [5, 5, 5, 0]);
    }
}
