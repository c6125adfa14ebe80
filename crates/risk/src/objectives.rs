//! Computation of the four objectives and the usual measures from the outcomes of jobs.

use std::collections::BTreeMap;

use tollgate_model::{BookEntry, Books, Credits, Decision, Instant, Market, Outcome, Reason, Span};

/// The run time threshold of bounded slowdown (Feitelson & Rudolph 1998). Shorter run times count
/// as this long, so that jobs that fail at once do not dominate the others.
pub const BOUNDED_SLOWDOWN_THRESHOLD: Span = Span::from_secs(10);

/// The results of a policy on a set of jobs. Means and the median are rounded to the nearest
/// microsecond.
#[derive(Clone, Debug, PartialEq)]
pub struct Objectives {
    /// Number of submitted jobs.
    pub submitted: u64,
    /// Number of admitted jobs, with or without a promise.
    pub accepted: u64,
    /// Number of rejected jobs.
    pub rejected: u64,
    /// Number of rejected jobs by reason, in the order of [`Reason::ALL`]. Reasons that never
    /// applied are omitted.
    pub rejected_by_reason: BTreeMap<Reason, u64>,
    /// Number of jobs whose deadline was promised and that finished by then.
    pub fulfilled: u64,
    /// The numbers of jobs by what became of them and of their promises.
    pub books: Books,
    /// The jobs among them whose run time could not be predicted.
    pub unpredictable: UnpredictableTotals,
    /// Eq. 1: mean span from submission to start of fulfilled jobs. None if no job was fulfilled.
    pub wait: Option<Span>,
    /// Eq. 2: fulfilled jobs in % of submitted jobs with a deadline, 0 to 100. 100 if there is no
    /// such job.
    pub sla_pct: f64,
    /// Eq. 3: fulfilled jobs in % of promised jobs with a deadline that are not void, 0 to 100. 100 if
    /// there is no such job. A policy that promises nothing counts as if it promised what it admits.
    pub reliability_pct: f64,
    /// Jobs that finished by their deadline, promised or not, in % of submitted jobs with a deadline, 0 to
    /// 100. 100 if there is no such job.
    pub in_time_pct: f64,
    /// Eq. 4: utility of accepted jobs in % of the budgets of submitted jobs. At most 100 where no
    /// job earns more than its budget, and unbounded below where there are penalties. None without
    /// a market, or if the sum of the budgets is zero.
    pub profitability_pct: Option<f64>,
    /// The provider's earnings from accepted jobs, penalties deducted, saturating. None without a
    /// market.
    pub utility: Option<Credits>,
    /// Mean span from submission to start of all jobs that ran.
    pub mean_wait: Option<Span>,
    /// Median span from submission to start of all jobs that ran. For an even number of jobs, the
    /// mean of the middle two.
    pub median_wait: Option<Span>,
    /// Upper quantiles of the span from submission to start, of all jobs that ran.
    pub wait_quantiles: Option<UpperQuantiles>,
    /// Upper quantiles of the span from submission to finish, of all jobs that ran.
    pub response_quantiles: Option<UpperQuantiles>,
    /// Mean bounded slowdown of all jobs that ran, with [`BOUNDED_SLOWDOWN_THRESHOLD`]; at least 1.
    pub mean_bounded_slowdown: Option<f64>,
    /// Mean response time over run time of fulfilled jobs, without jobs whose run time is at most [`Span::TICK`].
    pub mean_slowdown_fulfilled: Option<f64>,
    /// Work of the jobs that ran (procs x mean run time of a task) over nodes x makespan, in seconds of the
    /// nodes themselves, however fast they are. 0 to 1 if no node was counted twice.
    pub utilisation: Option<f64>,
    /// Span from the first submission, whether or not that job was accepted, to the last finish. Published
    /// makespans are counted this way. Lublin's 10,000 jobs on 256 processors under EASY take 8,730,698 s,
    /// from the first submission at 5,094 s to the last finish at 8,735,792 s.
    pub makespan: Option<Span>,
}

/// The jobs whose run time could not be predicted at their submission.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct UnpredictableTotals {
    /// Their numbers by what became of them and of their promises.
    pub books: Books,
    /// Number of those that were ended at a limit, of their users or the site.
    pub ended: u64,
    /// Processors times run time of all of them.
    pub work_s: f64,
    /// Processors times run time of those that were ended at a limit.
    pub lost_work_s: f64,
}

impl UnpredictableTotals {
    fn count(&mut self, outcome: &Outcome, entry: BookEntry) {
        self.books.add(entry, 1);
        if outcome.ran.is_none() {
            return;
        }
        let work_s = outcome.task_runtime.as_secs_f64() * f64::from(outcome.procs);
        self.work_s += work_s;
        if outcome.killed {
            self.ended += 1;
            self.lost_work_s += work_s;
        }
    }
}

/// Upper quantiles of spans: the value at rank ceil(p n), which a share p of the spans does not exceed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpperQuantiles {
    /// Quantile at 0.9.
    pub p90: Span,
    /// Quantile at 0.95.
    pub p95: Span,
}

impl UpperQuantiles {
    /// Returns the quantiles of `spans`, which this function reorders. None without spans.
    pub fn of(spans: &mut [Span]) -> Option<Self> {
        if spans.is_empty() {
            return None;
        }
        let rank = |percent: usize| (spans.len() * percent).div_ceil(100);
        let (first, second) = (rank(90), rank(95));
        let (_, &mut p90, longer) = spans.select_nth_unstable(first - 1);
        let p95 = match second - first {
            0 => p90,
            further => *longer.select_nth_unstable(further - 1).1,
        };
        Some(Self { p90, p95 })
    }
}

impl Objectives {
    /// Measures the outcomes of jobs on a cluster of `nodes` (processors, where space is shared).
    ///
    /// This takes one pass: sums of times and money are exact integers, and sums of slowdowns
    /// follow the order of `outcomes`. The median is found by selection, without sorting.
    pub fn of(outcomes: &[Outcome], nodes: u32, market: Market) -> Self {
        let mut totals = ObjectiveTotals::default();
        for outcome in outcomes {
            totals.count(outcome);
        }
        totals.into_objectives(nodes, market)
    }
}

/// The running totals of the outcomes of jobs. Times are in microseconds, money in millionths: even
/// [`i64::MAX`] for each of a billion jobs adds up to far less than the range of an `i128`. Of each job
/// that ran, its wait and its response time are kept.
#[derive(Clone, Debug, Default)]
pub struct ObjectiveTotals {
    books: Books,
    unpredictable: UnpredictableTotals,
    rejected_by_reason: BTreeMap<Reason, u64>,
    budget: i128,
    utility: i128,
    first_submit: Option<Instant>,
    last_finish: Option<Instant>,
    work: i128,
    waits: Vec<Span>,
    responses: Vec<Span>,
    bounded_slowdown: Mean,
    fulfilled_wait: i128,
    fulfilled_slowdown: Mean,
}

impl ObjectiveTotals {
    /// Counts the outcome of a job. Sums of slowdowns follow the order of the calls.
    pub fn count(&mut self, outcome: &Outcome) {
        let entry = outcome.book_entry();
        self.books.add(entry, 1);
        if outcome.unpredictable {
            self.unpredictable.count(outcome, entry);
        }
        self.budget += i128::from(outcome.budget.as_micros());
        self.first_submit = Some(match self.first_submit {
            Some(first) => first.min(outcome.submit),
            None => outcome.submit,
        });
        match outcome.decision {
            Decision::Accepted | Decision::Unpromised => {
                self.utility += i128::from(outcome.utility.as_micros());
            }
            Decision::Rejected(reason) => {
                // A job that was dropped as late had been admitted.
                if entry != BookEntry::UnpromisedDropped {
                    *self.rejected_by_reason.entry(reason).or_default() += 1;
                }
            }
        }
        self.count_run(outcome);
        if outcome.fulfilled() {
            self.count_fulfilled(outcome);
        }
    }

    fn count_run(&mut self, outcome: &Outcome) {
        self.last_finish = self.last_finish.max(outcome.ran.map(|ran| ran.finish));
        if outcome.ran.is_some() {
            self.work += i128::from(outcome.task_runtime.as_micros()) * i128::from(outcome.procs);
        }
        self.waits.extend(outcome.wait());
        let response = outcome.ran.map(|ran| ran.finish.since(outcome.submit));
        self.responses.extend(response);
        self.bounded_slowdown
            .extend(outcome.bounded_slowdown(BOUNDED_SLOWDOWN_THRESHOLD));
    }

    fn count_fulfilled(&mut self, outcome: &Outcome) {
        let wait = outcome.wait().unwrap_or(Span::ZERO);
        self.fulfilled_wait += i128::from(wait.as_micros());
        // The shortest run stands for one of which the record has no more than 0 s: its slowdown is unknown.
        if outcome.runtime > Span::TICK {
            self.fulfilled_slowdown.extend(outcome.slowdown());
        }
    }

    /// Returns the objectives on a cluster of `nodes` (processors, where space is shared).
    pub fn into_objectives(mut self, nodes: u32, market: Market) -> Objectives {
        let utility = match market {
            Market::None => None,
            Market::Commodity | Market::Bid => Some(self.utility),
        };
        let budget = Some(self.budget).filter(|&budget| budget > 0);
        let makespan = self.makespan();
        let books = self.books;
        let ran = self.waits.len() as u64;
        let waited = self.waits.iter().map(|wait| i128::from(wait.as_micros()));
        Objectives {
            submitted: books.submitted(),
            accepted: books.accepted(),
            rejected: books.rejected(),
            fulfilled: books.kept(),
            books,
            unpredictable: self.unpredictable,
            wait: mean_span(self.fulfilled_wait, books.kept()),
            sla_pct: books.sla_pct().unwrap_or(100.0),
            reliability_pct: books.reliability_pct().unwrap_or(100.0),
            in_time_pct: books.in_time_pct().unwrap_or(100.0),
            profitability_pct: utility
                .zip(budget)
                .map(|(earned, offered)| earned as f64 / offered as f64 * 100.0),
            utility: utility.map(credits),
            mean_wait: mean_span(waited.sum(), ran),
            median_wait: median(&mut self.waits),
            wait_quantiles: UpperQuantiles::of(&mut self.waits),
            response_quantiles: UpperQuantiles::of(&mut self.responses),
            mean_bounded_slowdown: self.bounded_slowdown.value(),
            mean_slowdown_fulfilled: self.fulfilled_slowdown.value(),
            utilisation: makespan.and_then(|span| self.utilisation(nodes, span)),
            makespan,
            rejected_by_reason: self.rejected_by_reason,
        }
    }

    fn makespan(&self) -> Option<Span> {
        let (first, last) = self.first_submit.zip(self.last_finish)?;
        Some(last.since(first))
    }

    fn utilisation(&self, nodes: u32, makespan: Span) -> Option<f64> {
        let offered = i128::from(makespan.as_micros()) * i128::from(nodes);
        (offered > 0).then(|| self.work as f64 / offered as f64)
    }
}

/// A mean of real numbers, added in the order of their arrival.
#[derive(Clone, Debug, Default)]
struct Mean {
    sum: f64,
    count: u64,
}

impl Mean {
    fn value(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.count as f64)
    }
}

impl Extend<f64> for Mean {
    fn extend<I: IntoIterator<Item = f64>>(&mut self, values: I) {
        for value in values {
            self.sum += value;
            self.count += 1;
        }
    }
}

/// Returns the mean of `count` spans with the sum `micros`, rounded to the nearest microsecond,
/// halves upward.
fn mean_span(micros: i128, count: u64) -> Option<Span> {
    let count = i128::from(count);
    let mean = (2 * micros + count).checked_div_euclid(2 * count)?;
    Some(Span::from_micros(saturated(mean)))
}

/// Returns the median of `spans`, which this function reorders.
fn median(spans: &mut [Span]) -> Option<Span> {
    let middle = spans.len() / 2;
    let even = spans.len().is_multiple_of(2);
    if spans.is_empty() {
        return None;
    }
    let (below, &mut upper, _) = spans.select_nth_unstable(middle);
    let lower = below.iter().max().filter(|_| even).copied();
    let both = [lower.unwrap_or(upper), upper];
    mean_span(
        both.iter().map(|span| i128::from(span.as_micros())).sum(),
        2,
    )
}

fn credits(micros: i128) -> Credits {
    Credits::from_micros(saturated(micros))
}

fn saturated(micros: i128) -> i64 {
    micros.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
}
