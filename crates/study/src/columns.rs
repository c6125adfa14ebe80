//! The metrics of a run as cells of a table, without loss of precision.

use tollgate_model::{BookEntry, Books, BreakCause, Credits, Reason, Span};
use tollgate_risk::{Objectives, UnpredictableTotals};

use crate::measurements::{MetricsWithoutPart, RunMeasurements};
use crate::metric::RunMetric;
use crate::world::WorldKind;

/// A column of the results that holds a metric of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResultColumn {
    /// Name in the header; the unit comes last.
    pub name: &'static str,
    /// Meaning of the metric.
    pub meaning: &'static str,
}

/// The columns with metrics of the cluster world, in order. Columns that count jobs by the reason
/// of their rejection follow, called `rejected_` and [`Reason::key`]; the reasons that a policy has of
/// its own ([`Reason::Other`]) count in `rejected` alone.
pub const COLUMNS: [ResultColumn; 24] = [
    column("submitted", "jobs submitted"),
    column("accepted", "jobs admitted"),
    column("rejected", "jobs rejected"),
    column(
        "fulfilled",
        "jobs promised and finished within their deadline",
    ),
    column(
        "wait_s",
        "mean wait of fulfilled jobs (eq. 1); empty without fulfilled jobs",
    ),
    column("sla_pct", "fulfilled of submitted jobs (eq. 2)"),
    column("reliability_pct", "fulfilled of promised jobs (eq. 3)"),
    column(
        "profitability_pct",
        "utility in % of all budgets (eq. 4); empty without a market",
    ),
    column(
        "utility",
        "what the provider earned, in credits; empty without a market",
    ),
    column("mean_wait_s", "mean wait of all jobs that ran"),
    column("median_wait_s", "median wait of all jobs that ran"),
    column(
        "mean_bounded_slowdown",
        "mean bounded slowdown of all jobs that ran, from 10 s on",
    ),
    column(
        "mean_slowdown_fulfilled",
        "mean response time over run time of fulfilled jobs",
    ),
    column("utilisation", "work done over nodes x makespan"),
    column("makespan_s", "from the first submission to the last finish"),
    column(
        "in_time_pct",
        "jobs finished within their deadline of submitted jobs with one",
    ),
    column(
        "broken_own_run",
        "promises broken by jobs that started in time for their planned run time",
    ),
    column("broken_others", "promises broken by jobs that did not"),
    column(
        "void",
        "promises of jobs killed at their limit before the deadline",
    ),
    column(
        "unpromised_in_time",
        "jobs without a promise, finished within their deadline",
    ),
    column(
        "unpromised_late",
        "jobs without a promise, finished past their deadline",
    ),
    column(
        "unpromised_dropped",
        "jobs without a promise, dropped as late",
    ),
    column(
        "unpromised_void",
        "jobs without a promise, killed at their limit before the deadline",
    ),
    column("no_deadline", "jobs admitted without a deadline"),
];

/// The entries of the books that have a column each, in the order of the last columns.
const BOOKED: [BookEntry; 8] = [
    BookEntry::Broken(BreakCause::OwnRun),
    BookEntry::Broken(BreakCause::Others),
    BookEntry::Void,
    BookEntry::UnpromisedInTime,
    BookEntry::UnpromisedLate,
    BookEntry::UnpromisedDropped,
    BookEntry::UnpromisedVoid,
    BookEntry::NoDeadline,
];

const fn column(name: &'static str, meaning: &'static str) -> ResultColumn {
    ResultColumn { name, meaning }
}

/// Returns the columns of a world, without the counts of rejections.
pub(crate) fn of(world: WorldKind) -> Vec<ResultColumn> {
    match world.model() {
        None => COLUMNS.to_vec(),
        Some(model) => {
            let quantities = model.quantities().iter();
            quantities.map(|q| column(q.name, q.meaning)).collect()
        }
    }
}

/// The reasons for which a world can reject a job, whatever the policy.
const REASONS: &[Reason] = Reason::ALL.split_at(Reason::N_WITHOUT_LIMITS).0;

/// Returns the names of all columns with metrics of a world.
pub(crate) fn names(world: WorldKind) -> Vec<String> {
    if world.model().is_some() {
        let columns = of(world).into_iter();
        return columns.map(|column| column.name.to_owned()).collect();
    }
    let reasons = REASONS
        .iter()
        .map(|reason| format!("rejected_{}", reason.key()));
    let figures = COLUMNS.iter().map(|column| column.name.to_owned());
    figures.chain(reasons).collect()
}

/// Returns the metrics of a run, one cell per column.
pub(crate) fn cells(run: &RunMeasurements) -> Vec<String> {
    match run {
        RunMeasurements::Cluster(objectives, _) => of_objectives(objectives),
        RunMeasurements::Part(metrics) => part_cells(metrics),
        RunMeasurements::Quantities(_, values) => values.iter().map(|&value| text(value)).collect(),
    }
}

fn of_objectives(run: &Objectives) -> Vec<String> {
    let figures = [
        run.submitted.to_string(),
        run.accepted.to_string(),
        run.rejected.to_string(),
        run.fulfilled.to_string(),
        text(run.wait),
        run.sla_pct.to_string(),
        run.reliability_pct.to_string(),
        text(run.profitability_pct),
        text(run.utility),
        text(run.mean_wait),
        text(run.median_wait),
        text(run.mean_bounded_slowdown),
        text(run.mean_slowdown_fulfilled),
        text(run.utilisation),
        text(run.makespan),
        run.in_time_pct.to_string(),
    ];
    let booked = BOOKED.map(|entry| run.books.count(entry).to_string());
    let reasons = REASONS.iter().map(|reason| {
        let count = run.rejected_by_reason.get(reason).copied();
        count.unwrap_or_default().to_string()
    });
    figures.into_iter().chain(booked).chain(reasons).collect()
}

fn text(value: Option<impl ToString>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

/// Parses the metrics that [`cells`] wrote of a run in `world`; None if the cells are invalid.
pub(crate) fn parse<'a>(
    world: WorldKind,
    cells: impl Iterator<Item = &'a str>,
) -> Option<RunMeasurements> {
    let Some(model) = world.model() else {
        return objectives(cells).map(RunMeasurements::from);
    };
    let mut cells = CellParser(cells);
    let number = |cell: &str| cell.parse().ok().filter(|number: &f64| number.is_finite());
    let values = model.quantities().iter();
    let values = values
        .map(|_| cells.optional(number))
        .collect::<Option<_>>()?;
    let over = cells.0.next().is_none();
    over.then_some(RunMeasurements::Quantities(world, values))
}

fn objectives<'a>(cells: impl Iterator<Item = &'a str>) -> Option<Objectives> {
    let mut cells = CellParser(cells);
    let mut run = Objectives {
        unpredictable: UnpredictableTotals::default(),
        submitted: cells.number()?,
        accepted: cells.number()?,
        rejected: cells.number()?,
        fulfilled: cells.number()?,
        wait: cells.span()?,
        sla_pct: cells.number()?,
        reliability_pct: cells.number()?,
        profitability_pct: cells.optional(|cell| cell.parse().ok())?,
        utility: cells.optional(|cell| millionths(cell).map(Credits::from_micros))?,
        mean_wait: cells.span()?,
        median_wait: cells.span()?,
        mean_bounded_slowdown: cells.optional(|cell| cell.parse().ok())?,
        mean_slowdown_fulfilled: cells.optional(|cell| cell.parse().ok())?,
        utilisation: cells.optional(|cell| cell.parse().ok())?,
        makespan: cells.span()?,
        in_time_pct: cells.number()?,
        books: Books::default(),
        rejected_by_reason: Default::default(),
        // No column has them.
        wait_quantiles: None,
        response_quantiles: None,
    };
    run.books.add(BookEntry::Kept, run.fulfilled);
    for entry in BOOKED {
        run.books.add(entry, cells.number()?);
    }
    // No column tells which of them had a deadline.
    run.books.add(BookEntry::Rejected, run.rejected);
    for &reason in REASONS {
        let count: u64 = cells.number()?;
        if count > 0 {
            run.rejected_by_reason.insert(reason, count);
        }
    }
    cells.0.next().is_none().then_some(run)
}

/// Returns the names of the columns of the metrics without a part.
pub(crate) fn part_names() -> [&'static str; RunMetric::PER_JOB.len()] {
    RunMetric::PER_JOB.map(RunMetric::key)
}

/// Returns the metrics without a part, one cell per column of [`part_names`].
pub(crate) fn part_cells(metrics: &MetricsWithoutPart) -> Vec<String> {
    metrics.0.iter().map(|&value| text(value)).collect()
}

/// Parses the metrics that [`part_cells`] wrote; None if the cells are invalid.
pub(crate) fn parse_part<'a>(cells: impl Iterator<Item = &'a str>) -> Option<MetricsWithoutPart> {
    let mut cells = CellParser(cells);
    let mut metrics = MetricsWithoutPart::default();
    for metric in &mut metrics.0 {
        *metric = cells.optional(|cell| cell.parse().ok())?;
    }
    cells.0.next().is_none().then_some(metrics)
}

struct CellParser<I>(I);

impl<'a, I: Iterator<Item = &'a str>> CellParser<I> {
    fn number<T: std::str::FromStr>(&mut self) -> Option<T> {
        self.0.next()?.parse().ok()
    }

    fn span(&mut self) -> Option<Option<Span>> {
        self.optional(|cell| millionths(cell).map(Span::from_micros))
    }

    /// Parses a cell that may be empty. An unreadable cell makes the table invalid.
    fn optional<T>(&mut self, read: impl Fn(&str) -> Option<T>) -> Option<Option<T>> {
        match self.0.next()? {
            "" => Some(None),
            cell => read(cell).map(Some),
        }
    }
}

/// Parses a decimal number with at most six decimals as millionths, exactly.
fn millionths(cell: &str) -> Option<i64> {
    let (negative, digits) = match cell.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, cell),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let plain = whole
        .bytes()
        .chain(fraction.bytes())
        .all(|b| b.is_ascii_digit());
    if !plain || whole.is_empty() || fraction.len() > 6 {
        return None;
    }
    let magnitude: i128 = format!("{whole}{fraction:0<6}").parse().ok()?;
    i64::try_from(if negative { -magnitude } else { magnitude }).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
            #[test]
            fn millionths_round_trip(micros: i64) {
                let text = Credits::from_micros(micros).to_string();
                prop_assert_eq!(millionths(&text), Some(micros));
            }

            #[test]
            fn run_round_trips(
                counts in proptest::array::uniform4(0u64..5000),
                times in proptest::array::uniform4(proptest::option::of(0i64..1 << 60)),
                figures in proptest::array::uniform4(proptest::option::of(-1e9..1e9f64)),
                utility in proptest::option::of(any::<i64>()),
                by_reason in 0u64..9,
            ) {
                let [wait, mean_wait, median_wait, makespan] = times.map(|t| t.map(Span::from_micros));
                let [profitability_pct, mean_bounded_slowdown, mean_slowdown_fulfilled, utilisation] = figures;
                let mut books = Books::default();
                let booked = [BookEntry::Kept, BookEntry::Rejected, BookEntry::UnpromisedLate, BookEntry::NoDeadline];
                for (entry, count) in booked.into_iter().zip([counts[3], counts[2], counts[1], counts[0]]) {
                    books.add(entry, count);
                }
                let run = Objectives {
    unpredictable: UnpredictableTotals::default(),
                    submitted: counts[0],
                    accepted: counts[1],
                    rejected: counts[2],
                    fulfilled: counts[3],
                    books,
                    rejected_by_reason: (by_reason > 0).then_some((Reason::DeadlineRisk, by_reason)).into_iter().collect(),
                    wait,
                    sla_pct: counts[3] as f64 / 7.0,
                    reliability_pct: counts[2] as f64 / 3.0,
                    in_time_pct: counts[1] as f64 / 3.0,
                    profitability_pct,
                    utility: utility.map(Credits::from_micros),
                    mean_wait,
                    median_wait,
                    wait_quantiles: None,
                    response_quantiles: None,
                    mean_bounded_slowdown,
                    mean_slowdown_fulfilled,
                    utilisation,
                    makespan,
                };
                let run = RunMeasurements::from(run);
                let written = cells(&run);
                prop_assert_eq!(written.len(), names(WorldKind::Cluster).len());
                let words = written.iter().map(String::as_str);
                prop_assert_eq!(parse(WorldKind::Cluster, words), Some(run));
            }
        }

    #[test]
    fn world_metrics_round_trip() {
        let world = WorldKind::Federation;
        let count = world.model().unwrap().quantities().len();
        let mut values = vec![Some(1.0 / 3.0); count];
        values[0] = None;
        let run = RunMeasurements::Quantities(world, values);
        let written = cells(&run);
        assert_eq!(written.len(), names(world).len());
        let words = || written.iter().map(String::as_str);
        assert_eq!(parse(world, words()), Some(run.clone()));
        assert_eq!(parse(world, words().chain(["1"])), None);
        assert_eq!(parse(world, words().skip(1)), None);
        assert_eq!(parse(world, words().map(|_| "inf")), None);
    }

    #[test]
    fn non_numbers_are_rejected() {
        for cell in [
            "",
            "-",
            ".5",
            "1.2345678",
            "1e3",
            "+1",
            "99999999999999999999",
        ] {
            assert_eq!(millionths(cell), None, "{cell}");
        }
    }
}
