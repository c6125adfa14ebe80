//! The retrospective evaluation of statements about waits.

use tollgate_model::{Instant, Span};

use super::capacity::day_of;
use super::first_guess::ClassQuantiles;
use super::forecaster::WaitForecaster;
use super::job::JobWidth;
use super::open_job::statement_age;
use super::queue_state::span_of_ln;
use super::record::{WaitEnd, WaitEventKind, WaitRecord, wait_events};
use super::rivals::binomial_bounds::BinomialBounds;
use super::rivals::estimate_plan::planned_start;
use super::score::{BoundScore, CoverageByPart, LEVEL_90, PartCoverage};
use super::statement::{N_WAIT_LEVELS, SpanBounds, WAIT_LEVELS, WaitStatement};

/// The part of the jobs that are not counted at the beginning, and the time for which none is counted.
const WARM_UP_PART: f64 = 0.1;
const WARM_UP: Span = Span::from_secs(30 * 86_400);
/// Length of a period in days.
const PERIOD_DAYS: i64 = 30;
/// The fewest statements of a period whose coverage is judged.
const MIN_OF_PERIOD: u64 = 200;
/// The distance between coverage and level within which a period is reached.
const PERIOD_TOLERANCE: f64 = 0.05;
/// The median wait above which statements are counted once more.
const LONG_WAIT: Span = Span::from_secs(600);
/// The statement that is compared with the one at submission.
const HOUR: usize = 2;
/// The levels at which BMBP states bounds: .5, .9 and .95.
const BINOMIAL_LEVELS: [usize; 3] = [2, 3, 4];

/// The evaluation of statements about the waits of a record.
///
/// Every job is stated at its submission, from what was known by then. Jobs of the warm-up are learned and not counted:
/// the first tenth, and those of the first thirty days.
#[derive(Clone, Debug, Default)]
pub struct WaitEvaluation {
    /// Number of jobs of the record.
    pub n_jobs: usize,
    /// Number of jobs of the warm-up.
    pub n_warm_up: usize,
    /// Number of later jobs that were cancelled while they waited: neither kept nor broken.
    pub n_cancelled: usize,
    /// Number of later jobs for which a method had no bound yet. They count for none.
    pub n_unstated: usize,
    /// The statements about the start.
    pub wait: BoundScore,
    /// The same by number of processors.
    pub by_width: CoverageByPart<JobWidth>,
    /// The same by thirty days.
    pub by_period: CoverageByPart<i64>,
    /// The same by day.
    pub by_day: CoverageByPart<i64>,
    /// The same by whether the median was above ten minutes.
    pub by_length: CoverageByPart<bool>,
    /// BMBP about the start.
    pub binomial: BoundScore,
    /// Quantiles of the class about the start.
    pub class: BoundScore,
    /// The plan by estimates about the start: one point at all levels.
    pub plan: BoundScore,
    /// The forest about the start of the jobs that the plan has a start for.
    pub wait_of_planned: BoundScore,
    /// The statements about the end.
    pub end: BoundScore,
    /// The plan by estimates and the estimate about the end.
    pub plan_end: BoundScore,
    /// The forest about the end of the jobs that the plan has a start for.
    pub end_of_planned: BoundScore,
    /// The statements at submission about jobs that wait an hour later, less the hour.
    pub hour_before: BoundScore,
    /// The statements about the same jobs an hour later.
    pub hour_anew: BoundScore,
}

/// The statements about a job that waits or runs.
#[derive(Clone, Default)]
struct JobStatements {
    own: Option<WaitStatement>,
    anew: Option<WaitStatement>,
    binomial: Option<Vec<f64>>,
    class: Option<[f64; N_WAIT_LEVELS]>,
    plan: Option<Instant>,
}

/// Evaluates statements over records in order of [`WaitRecord::queued`].
pub fn evaluate_waits(records: &[WaitRecord]) -> WaitEvaluation {
    let mut evaluated = WaitEvaluation {
        n_jobs: records.len(),
        ..WaitEvaluation::default()
    };
    let Some(first) = records.first() else {
        return evaluated;
    };
    let n_skipped = (WARM_UP_PART * records.len() as f64) as usize;
    let mut forecaster = WaitForecaster::default();
    let mut class_quantiles = ClassQuantiles::default();
    let mut binomial = BinomialBounds::new(&BINOMIAL_LEVELS.map(|idx| WAIT_LEVELS[idx]));
    let mut open: Vec<Option<Box<JobStatements>>> = vec![None; records.len()];
    for event in wait_events(records) {
        let (id, now) = (event.job as u64, event.at);
        for later in forecaster.advance(now) {
            if let Some(stated) = open[later.job as usize]
                .as_mut()
                .filter(|_| later.nth == HOUR)
            {
                stated.anew = Some(later.statement);
            }
        }
        let record = &records[event.job];
        let class = record.job.class();
        match event.kind {
            WaitEventKind::Queued => {
                let is_counted =
                    event.job >= n_skipped && record.queued.since(first.queued) >= WARM_UP;
                evaluated.n_warm_up += usize::from(!is_counted);
                let plan = is_counted
                    .then(|| planned_start(forecaster.state(), now, &record.job))
                    .flatten();
                let stated = JobStatements {
                    own: forecaster
                        .submit(now, id, record.job)
                        .filter(|_| is_counted),
                    anew: None,
                    binomial: binomial.bounds(class),
                    class: class_quantiles
                        .quantiles(class, &WAIT_LEVELS)
                        .map(|(quantiles, _)| quantiles),
                    plan,
                };
                open[event.job] = Some(Box::new(stated));
            }
            WaitEventKind::Started => {
                forecaster.start(now, id);
                let wait = now.since(record.queued).as_secs_f64().ln_1p();
                class_quantiles.learn(class, wait);
                let stated = open[event.job].take().unwrap_or_default();
                binomial.learn(class, wait, stated.binomial.as_deref());
                evaluated.count(record, &stated, first.queued);
            }
            WaitEventKind::Ended => forecaster.end(now, id),
            WaitEventKind::Cancelled => {
                forecaster.cancel(id);
                let stated = open[event.job].take();
                let is_counted = stated.is_some_and(|stated| stated.own.is_some());
                evaluated.n_cancelled += usize::from(is_counted);
            }
        }
        while let Some(refit) = forecaster.refit_due(now) {
            forecaster.install(refit.run());
        }
    }
    evaluated.n_unstated = evaluated.n_jobs
        - evaluated.n_warm_up
        - evaluated.n_cancelled
        - evaluated.wait.n_jobs as usize;
    evaluated
}

impl WaitEvaluation {
    /// Returns the part of the periods with enough statements whose coverage at .9 is within five points, and the
    /// coverage farthest from .9. None without such a period.
    pub fn periods(&self) -> Option<(f64, f64)> {
        let parts = self.by_period.0.values();
        let judged = parts.filter(|part| part.n_jobs >= MIN_OF_PERIOD);
        let coverages: Vec<f64> = judged.map(|part| part.coverage(LEVEL_90)).collect();
        let miss = |coverage: &f64| (coverage - WAIT_LEVELS[LEVEL_90]).abs();
        let worst = coverages
            .iter()
            .max_by(|a, b| miss(a).total_cmp(&miss(b)))?;
        let within = coverages.iter().filter(|c| miss(c) <= PERIOD_TOLERANCE);
        Some((within.count() as f64 / coverages.len() as f64, *worst))
    }

    /// Returns the coverage of the statements whose median was above ten minutes.
    pub fn long(&self) -> PartCoverage {
        self.by_length.0.get(&true).copied().unwrap_or_default()
    }

    /// Counts a job at its start. Its end is known to the record, and only compared.
    fn count(&mut self, record: &WaitRecord, stated: &JobStatements, first: Instant) {
        let WaitEnd::Ran { wait, runtime } = record.wait_end else {
            return;
        };
        let (Some(own), Some(binomial), Some(class)) =
            (&stated.own, &stated.binomial, stated.class)
        else {
            return;
        };
        let bounds = own.wait.bounds;
        self.wait.add(&bounds.map(Some), wait);
        self.by_width
            .add(JobWidth::of_procs(record.job.procs), &bounds, wait);
        let day = day_of(record.queued) - day_of(first);
        self.by_period
            .add(day.div_euclid(PERIOD_DAYS), &bounds, wait);
        self.by_day.add(day, &bounds, wait);
        self.by_length
            .add(own.wait.median() > LONG_WAIT, &bounds, wait);
        let mut binomial_bounds = [None; N_WAIT_LEVELS];
        for (idx, ln) in BINOMIAL_LEVELS.into_iter().zip(binomial) {
            binomial_bounds[idx] = Some(span_of_ln(*ln));
        }
        self.binomial.add(&binomial_bounds, wait);
        self.class.add(&class.map(|ln| Some(span_of_ln(ln))), wait);
        let response = wait + runtime;
        if let Some(end) = &own.end {
            self.end.add(&end.bounds.map(Some), response);
        }
        if let (Some(start), Some(request)) = (stated.plan, record.job.request) {
            let planned = start.since(record.queued);
            self.plan.add(&[Some(planned); N_WAIT_LEVELS], wait);
            self.wait_of_planned.add(&bounds.map(Some), wait);
            if let Some(end) = &own.end {
                self.plan_end
                    .add(&[Some(planned + request); N_WAIT_LEVELS], response);
                self.end_of_planned.add(&end.bounds.map(Some), response);
            }
        }
        if let Some(anew) = &stated.anew {
            let hour = statement_age(HOUR);
            let rest = wait - hour;
            let before = |bounds: &SpanBounds| {
                bounds
                    .bounds
                    .map(|bound| Some((bound - hour).max(Span::ZERO)))
            };
            self.hour_before.add(&before(&own.wait), rest);
            self.hour_anew.add(&anew.wait.bounds.map(Some), rest);
        }
    }
}
