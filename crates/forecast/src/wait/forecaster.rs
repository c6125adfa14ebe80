//! Learns waits and states them.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use tollgate_forest::ForestExplanation;
use tollgate_model::{Instant, Probability, Span};

use super::features::{FeatureRow, features};
use super::job::{JobWidth, WaitJob};
use super::open_job::{JudgedBounds, OpenJob, OpenStatement, StatementPlace, statement_age};
use super::quantity::{FittedWaitForest, QuantityForecast, QuantityModel, WaitQuantity, WaitRefit};
use super::queue_state::{QueueState, ln_wait};
use super::statement::{WAIT_LEVELS, WaitStatement};

/// A median wait above which a statement is in a group of offsets of its own.
const LONG_WAIT: Span = Span::from_secs(600);
/// Number of groups of offsets at submission: short and long, narrow and wide.
const N_SUBMISSION_GROUPS: usize = 4;
/// Number of groups of offsets while a job waits: ten minutes, an hour, six hours, days.
const N_AGE_GROUPS: usize = 4;

/// A forecaster of waits, held by events.
///
/// Call [`advance`](Self::advance) before the events of an instant. Jobs have numbers that ascend in order of
/// submission. Every event of one instant that comes before a submission is known to its statement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WaitForecaster {
    state: QueueState,
    wait: QuantityModel,
    rest: QuantityModel,
    end: QuantityModel,
    rest_to_end: QuantityModel,
    open: BTreeMap<u64, OpenJob>,
    /// The next bound of each statement that is not judged.
    next_bounds: BTreeSet<(Instant, u64, StatementPlace)>,
    /// The next statement about each waiting job.
    timers: BTreeSet<(Instant, u64)>,
}

/// A statement that was made because a job waited for some time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LaterStatement {
    /// The job.
    pub job: u64,
    /// The index of the statement: its age is that of [`statement_age`].
    pub nth: usize,
    /// The statement.
    pub statement: WaitStatement,
}

/// A forecaster that knows nothing.
impl Default for WaitForecaster {
    fn default() -> Self {
        Self {
            state: QueueState::default(),
            wait: QuantityModel::new(WaitQuantity::Wait, N_SUBMISSION_GROUPS),
            rest: QuantityModel::new(WaitQuantity::Rest, N_AGE_GROUPS),
            end: QuantityModel::new(WaitQuantity::End, N_SUBMISSION_GROUPS),
            rest_to_end: QuantityModel::new(WaitQuantity::RestToEnd, N_AGE_GROUPS),
            open: BTreeMap::new(),
            next_bounds: BTreeSet::new(),
            timers: BTreeSet::new(),
        }
    }
}

impl WaitForecaster {
    /// Lets time pass until just before the events of `now`. Bounds that fall due before `now` are broken. Jobs that reach
    /// an age of [`statement_age`] before `now` get a new statement.
    pub fn advance(&mut self, now: Instant) -> Vec<LaterStatement> {
        let mut made = Vec::new();
        loop {
            let due = self.next_bounds.first().map(|due| due.0);
            let timer = self.timers.first().map(|timer| timer.0);
            match (due, timer) {
                (Some(due), timer) if due < now && timer.is_none_or(|timer| due <= timer) => {
                    self.break_next_bound();
                }
                (_, Some(timer)) if timer < now => made.extend(self.make_later_statement()),
                _ => break,
            }
        }
        self.state.advance(now);
        made
    }

    /// States the wait of a job, as if the job was submitted now. Returns None if too little is known.
    pub fn quote(&self, now: Instant, job: &WaitJob) -> Option<WaitStatement> {
        let row = features(&self.state, now, job, now);
        let (wait, end) = self.forecast_submission(&row, job);
        Some(statement(now, &wait?, end.as_ref()))
    }

    /// Enters a job into the queue and states its wait. Returns None if too little is known.
    pub fn submit(&mut self, now: Instant, id: u64, job: WaitJob) -> Option<WaitStatement> {
        let row = features(&self.state, now, &job, now);
        let (wait, end) = self.forecast_submission(&row, &job);
        let open =
            |forecast: &Option<QuantityForecast>| open_statement(now, row, forecast.as_ref());
        let open = OpenJob {
            job,
            queued: now,
            waits: vec![open(&wait)],
            end: open(&end),
            later_ends: Vec::new(),
        };
        self.state.add(now, id, job);
        self.open.insert(id, open);
        self.expect_next_bound(id, StatementPlace::Wait(0));
        self.expect_next_bound(id, StatementPlace::End);
        self.timers.insert((now + statement_age(1), id));
        Some(statement(now, &wait?, end.as_ref()))
    }

    /// Learns that a job starts. A job that does not wait changes nothing.
    pub fn start(&mut self, now: Instant, id: u64) {
        if self.state.start(now, id).is_none() {
            return;
        }
        let Some(job) = self.open.get_mut(&id) else {
            return;
        };
        let class = job.job.class();
        let next = job.queued + statement_age(job.waits.len());
        self.timers.remove(&(next, id));
        for (nth, statement) in job.waits.drain(..).enumerate() {
            let model = match nth {
                0 => &mut self.wait,
                _ => &mut self.rest,
            };
            judge_kept(model, &statement);
            model.learn(&statement.row, class, ln_wait(now.since(statement.at)));
        }
    }

    /// Learns that a job ends. A job that does not run changes nothing.
    pub fn end(&mut self, now: Instant, id: u64) {
        self.state.end(now, id);
        let Some(job) = self.open.remove(&id) else {
            return;
        };
        judge_kept(&mut self.end, &job.end);
        let outcome = ln_wait(now.since(job.queued));
        self.end.learn(&job.end.row, job.job.class(), outcome);
        for later in &job.later_ends {
            judge_kept(&mut self.rest_to_end, later);
            let outcome = ln_wait(now.since(later.at));
            self.rest_to_end.learn(&later.row, job.job.class(), outcome);
        }
    }

    /// Learns that a job runs no more, and that its end is still to come with [`end`](Self::end). A job that does not run
    /// changes nothing.
    pub fn vacate(&mut self, now: Instant, id: u64) {
        self.state.end(now, id);
    }

    /// Learns that a job was cancelled while it waited. Its bounds count as neither kept nor broken.
    pub fn cancel(&mut self, id: u64) {
        if self.state.remove(id).is_none() {
            return;
        }
        let Some(job) = self.open.remove(&id) else {
            return;
        };
        let next = job.queued + statement_age(job.waits.len());
        self.timers.remove(&(next, id));
        retract_broken(&mut self.end, &job.end);
        for later in &job.later_ends {
            retract_broken(&mut self.rest_to_end, later);
        }
        for (nth, statement) in job.waits.iter().enumerate() {
            let model = match nth {
                0 => &mut self.wait,
                _ => &mut self.rest,
            };
            retract_broken(model, statement);
        }
    }

    /// States the wait of a job that waits. Returns None if it does not, or too little is known.
    pub fn restate(&self, now: Instant, id: u64) -> Option<WaitStatement> {
        let open = self.open.get(&id)?;
        let nth = open.waits.len().checked_sub(1)?;
        let (wait, end) = if nth == 0 {
            // The forest of waiting jobs has seen none as young.
            let row = features(&self.state, now, &open.job, now);
            self.forecast_submission(&row, &open.job)
        } else {
            let row = features(&self.state, now, &open.job, open.queued);
            self.forecast_rest(&row, &open.job, nth)
        };
        Some(statement(now, &wait?, end.as_ref()))
    }

    /// Returns the waiting jobs with the instants of their submission, in order of submission.
    pub fn waiting(&self) -> impl Iterator<Item = (u64, &WaitJob, Instant)> {
        let waiting = self.state.waiting.iter();
        waiting.map(|(id, queued)| (*id, &queued.job, queued.queued))
    }

    /// Returns the number of processors in use.
    pub fn procs_in_use(&self) -> u64 {
        self.state.procs_in_use
    }

    /// Returns the largest number of processors in use in the last 60 days, at least 1.
    pub fn capacity(&self) -> u64 {
        self.state.capacity.procs()
    }

    /// Returns the jobs that wait and run.
    pub(super) fn state(&self) -> &QueueState {
        &self.state
    }

    /// Explains the wait of a job as if the job was submitted now. Returns None before the first forest.
    pub fn explain(
        &self,
        now: Instant,
        job: &WaitJob,
        n_nearest: usize,
    ) -> Option<ForestExplanation> {
        let row = features(&self.state, now, job, now);
        self.wait.explain(&row, n_nearest)
    }

    /// Returns the number of waits that were learned.
    pub fn n_waits(&self) -> u64 {
        self.wait.n_outcomes()
    }

    /// Returns a fit of a forest that is due. Run it anywhere, and [`install`](Self::install) the result.
    pub fn refit_due(&mut self, now: Instant) -> Option<WaitRefit> {
        let models = [
            &mut self.wait,
            &mut self.rest,
            &mut self.end,
            &mut self.rest_to_end,
        ];
        models.into_iter().find_map(|model| model.refit_due(now))
    }

    /// Puts a fitted forest in the place of the present one.
    pub fn install(&mut self, fitted: FittedWaitForest) {
        let model = match fitted.quantity {
            WaitQuantity::Wait => &mut self.wait,
            WaitQuantity::Rest => &mut self.rest,
            WaitQuantity::End => &mut self.end,
            WaitQuantity::RestToEnd => &mut self.rest_to_end,
        };
        model.install(fitted);
    }

    fn forecast_submission(
        &self,
        row: &FeatureRow,
        job: &WaitJob,
    ) -> (Option<QuantityForecast>, Option<QuantityForecast>) {
        let is_wide = JobWidth::of_procs(job.procs) == JobWidth::Wide;
        let group = |is_long: bool| 2 * usize::from(is_wide) + usize::from(is_long);
        let class = job.class();
        let is_long = |median: f64| median > ln_wait(LONG_WAIT);
        let wait = self
            .wait
            .forecast(row, class, |median| group(is_long(median)));
        let waits_long = wait
            .as_ref()
            .is_some_and(|wait| wait.bounds.median() > LONG_WAIT);
        let end = self.end.forecast(row, class, |_| group(waits_long));
        (wait, end)
    }

    fn forecast_rest(
        &self,
        row: &FeatureRow,
        job: &WaitJob,
        nth: usize,
    ) -> (Option<QuantityForecast>, Option<QuantityForecast>) {
        let group = nth.clamp(1, N_AGE_GROUPS) - 1;
        let class = job.class();
        (
            self.rest.forecast(row, class, |_| group),
            self.rest_to_end.forecast(row, class, |_| group),
        )
    }

    fn make_later_statement(&mut self) -> Option<LaterStatement> {
        let (at, id) = self.timers.pop_first()?;
        self.state.advance(at);
        let open = self.open.get(&id)?;
        let (job, queued, nth) = (open.job, open.queued, open.waits.len());
        let row = features(&self.state, at, &job, queued);
        let (wait, end) = self.forecast_rest(&row, &job, nth);
        let open = self.open.get_mut(&id)?;
        open.waits.push(open_statement(at, row, wait.as_ref()));
        open.later_ends.push(open_statement(at, row, end.as_ref()));
        self.expect_next_bound(id, StatementPlace::Wait(nth as u32));
        self.expect_next_bound(id, StatementPlace::LaterEnd(nth as u32 - 1));
        self.timers.insert((queued + statement_age(nth + 1), id));
        Some(LaterStatement {
            job: id,
            nth,
            statement: statement(at, &wait?, end.as_ref()),
        })
    }

    /// Judges the bound that falls due next as broken.
    fn break_next_bound(&mut self) {
        let Some((_, id, place)) = self.next_bounds.pop_first() else {
            return;
        };
        let open = self.open.get_mut(&id);
        let statement = open.and_then(|open| open.statement_mut(place));
        // A job that has started keeps its statement about the end alone.
        let Some(bounds) = statement.and_then(|statement| statement.judged.as_mut()) else {
            return;
        };
        let (group, level) = (bounds.group, bounds.n_broken);
        bounds.n_broken += 1;
        let model = match place {
            StatementPlace::Wait(0) => &mut self.wait,
            StatementPlace::Wait(_) => &mut self.rest,
            StatementPlace::End => &mut self.end,
            StatementPlace::LaterEnd(_) => &mut self.rest_to_end,
        };
        model.judge(group, level, false);
        self.expect_next_bound(id, place);
    }

    fn expect_next_bound(&mut self, id: u64, place: StatementPlace) {
        let open = self.open.get_mut(&id);
        let statement = open.and_then(|open| open.statement_mut(place));
        let bounds = statement.and_then(|statement| statement.judged);
        if let Some(due) = bounds.and_then(|bounds| bounds.next_due()) {
            self.next_bounds.insert((due, id, place));
        }
    }
}

/// Judges the bounds of a statement that are not broken as kept.
fn judge_kept(model: &mut QuantityModel, statement: &OpenStatement) {
    if let Some(bounds) = statement.judged {
        (bounds.n_broken..WAIT_LEVELS.len()).for_each(|idx| model.judge(bounds.group, idx, true));
    }
}

/// Takes back that bounds of a statement were broken.
fn retract_broken(model: &mut QuantityModel, statement: &OpenStatement) {
    if let Some(bounds) = statement.judged {
        (0..bounds.n_broken).for_each(|idx| model.retract_broken(bounds.group, idx));
    }
}

fn open_statement(
    at: Instant,
    row: FeatureRow,
    forecast: Option<&QuantityForecast>,
) -> OpenStatement {
    let judged = forecast.and_then(|forecast| {
        let group = forecast.group?;
        Some(JudgedBounds::new(at, group, &forecast.bounds))
    });
    OpenStatement { at, row, judged }
}

fn statement(
    at: Instant,
    wait: &QuantityForecast,
    end: Option<&QuantityForecast>,
) -> WaitStatement {
    let minute = ln_wait(Span::from_secs(60));
    let at_once = match &wait.mixture {
        Some(mixture) => mixture.probability_within(minute),
        None => {
            let within = wait
                .bounds
                .bounds
                .iter()
                .rposition(|b| *b <= Span::from_secs(60));
            within.map_or(0.0, |idx| WAIT_LEVELS[idx])
        }
    };
    WaitStatement {
        at,
        wait: wait.bounds,
        end: end.map(|end| end.bounds),
        at_once: Probability::new(at_once.clamp(0.0, 1.0)).expect("clamped"),
    }
}
