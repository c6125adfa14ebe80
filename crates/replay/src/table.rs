//! The output as a table with one row per policy, a second table of rejections and their reasons,
//! and the share of the deadlines that can be met at all.
//!
//! The rows fit into `WIDTH` columns. Headings have at most three lines, a unit is chosen for a
//! whole column and appears in its heading, and columns of money appear only in markets with
//! payments.

mod unit;

use std::collections::BTreeSet;

use tollgate_model::Reason;
use tollgate_risk::Objectives;
use tollgate_workload::DeadlineCounts;

use self::unit::{MoneyUnit, TimeUnit};
use crate::run::{MeanDeviation, PolicyAnswer};
use tollgate_report::pluralise;
use tollgate_report::text_table::{Column, FigureLayout, render_figures};

/// The width of the table, which fits common terminals. The terminal is not queried, so that the
/// same results are the same bytes for any output.
const WIDTH: u16 = 120;

/// The maximum width of a policy name on one line, which is the space that the other columns leave.
const NAME_WIDTH: usize = 17;

/// Renders the results for jobs with these deadlines as text that ends with a line feed. Groups of jobs
/// are those by the property `by`.
pub fn render(answers: &[PolicyAnswer], by: Option<&str>, deadlines: DeadlineCounts) -> String {
    let mut text = String::new();
    let machines = answers.chunk_by(|one, other| one.nodes == other.nodes);
    let n_machines = machines.clone().count();
    for (n, of_machine) in machines.enumerate() {
        if n > 0 {
            text.push('\n');
        }
        if n_machines > 1 {
            let nodes = pluralise(of_machine[0].nodes as usize, "node");
            text.push_str(&format!("on {nodes}\n"));
        }
        text.push_str(&of_one_machine(of_machine));
        if of_machine.iter().any(|answer| answer.treatment.is_some()) {
            text.push_str(&unpredictable_jobs(of_machine));
        }
        for answer in of_machine.iter().filter(|answer| !answer.groups.is_empty()) {
            text.push_str(&groups_of(answer, by.unwrap_or_default()));
        }
        for answer in of_machine {
            let calibration = answer.calibration.as_ref();
            text.extend(calibration.map(|calibration| calibration.render(&answer.policy)));
        }
    }
    let sharing = answers.iter().filter(|answer| answer.shares_nodes);
    let mut sharing: Vec<&str> = sharing.map(|answer| answer.policy.as_str()).collect();
    sharing.dedup();
    if let Some(next) = sharing.iter().skip(1).position(|name| *name == sharing[0]) {
        sharing.truncate(next + 1);
    }
    if !sharing.is_empty() {
        text.push_str(&format!(
            "\njobs share nodes or are paused, which a stock batch system does not do: {}\n",
            sharing.join(", ")
        ));
    }
    if let Some(possible) = deadlines.possible_pct() {
        text.push_str(&format!(
            "\n{} % of {} possible: the run time is at most the deadline\n",
            decimals(possible, 1),
            pluralise(deadlines.given, "deadline"),
        ));
    }
    text
}

/// Renders results that have names of their own: the measures, then the rejections.
pub fn render_named(first: &str, rows: &[(String, &PolicyAnswer)]) -> String {
    let named =
        |(name, answer): &(String, &'_ PolicyAnswer)| (name.clone(), answer.objectives.clone());
    let rows: Vec<(String, Objectives)> = rows.iter().map(named).collect();
    let of = |rows: &[&'_ (String, Objectives)], columns: Vec<MeasureColumn>| {
        let rows = rows.iter().map(|(name, objectives)| TableRow {
            name: name.clone(),
            objectives,
        });
        text_of(first, rows, columns)
    };
    let all: Vec<&(String, Objectives)> = rows.iter().collect();
    let objectives = || rows.iter().map(|(_, objectives)| objectives);
    let mut text = of(&all, measures(objectives()));
    let rejecting: Vec<&(String, Objectives)> = rows
        .iter()
        .filter(|(_, measured)| measured.rejected > 0)
        .collect();
    if !rejecting.is_empty() {
        text.push('\n');
        text.push_str(&of(&rejecting, reasons(objectives())));
    }
    text
}

/// Renders the results on one machine.
fn of_one_machine(answers: &[PolicyAnswer]) -> String {
    let rows = answers.iter().map(TableRow::of);
    let mut text = text_of("policy", rows, measures(answers.iter().map(measured)));
    let rejecting: Vec<&PolicyAnswer> = answers
        .iter()
        .filter(|answer| answer.objectives.rejected > 0)
        .collect();
    if !rejecting.is_empty() {
        text.push('\n');
        let rejecting = rejecting.into_iter().map(TableRow::of);
        text.push_str(&text_of(
            "policy",
            rejecting,
            reasons(answers.iter().map(measured)),
        ));
    }
    if answers.iter().any(|answer| answer.seeds.is_some()) {
        text.push_str("\nover all seeds, mean and standard deviation\n");
        for answer in answers {
            let Some(over) = answer.seeds else { continue };
            let of =
                |value: MeanDeviation| format!("{:5.1} \u{b1} {:.1}", value.mean, value.deviation);
            text.push_str(&format!(
                "{:NAME_WIDTH$}  SLA {} %, reliability {} %\n",
                answer.policy,
                of(over.sla_pct),
                of(over.reliability_pct)
            ));
        }
    }
    text
}

/// Renders what became of the jobs whose run time cannot be predicted, and of the promises to all others.
fn unpredictable_jobs(answers: &[PolicyAnswer]) -> String {
    let columns = vec![
        Column::figure("jobs", |m: &Objectives| {
            m.unpredictable.books.submitted().to_string()
        }),
        Column::figure("kept", |m: &Objectives| {
            m.unpredictable.books.kept().to_string()
        }),
        Column::figure("broken", |m: &Objectives| {
            m.unpredictable.books.broken().to_string()
        }),
        Column::optional_figure("in\ntime\n%", |m: &Objectives| {
            let in_time = m.unpredictable.books.in_time_pct();
            in_time.map(|pct| decimals(pct, 1))
        }),
        Column::figure("ended\nat the\nlimit", |m: &Objectives| {
            m.unpredictable.ended.to_string()
        }),
        Column::figure("core\nhours", |m: &Objectives| {
            decimals(m.unpredictable.work_s / 3600.0, 0)
        }),
        Column::figure("lost\ncore\nhours", |m: &Objectives| {
            decimals(m.unpredictable.lost_work_s / 3600.0, 0)
        }),
        Column::figure("others'\nkept", |m: &Objectives| {
            (m.books.kept() - m.unpredictable.books.kept()).to_string()
        }),
        Column::figure("others'\nbroken", |m: &Objectives| {
            (m.books.broken() - m.unpredictable.books.broken()).to_string()
        }),
    ];
    let rows = answers.iter().map(TableRow::of);
    let table = text_of("policy", rows, columns);
    format!("\njobs whose run time could not be predicted at their submission\n{table}")
}

/// Renders the results for each group of jobs.
fn groups_of(answer: &PolicyAnswer, by: &str) -> String {
    let groups = &answer.groups;
    let mut columns = measures(groups.iter().map(|of| &of.objectives));
    columns.insert(
        0,
        Column::figure("jobs", |m: &Objectives| m.submitted.to_string()),
    );
    let rows = groups.iter().map(|of| TableRow {
        name: of.group.clone(),
        objectives: &of.objectives,
    });
    let table = text_of(by, rows, columns);
    format!("\n{} by {by}\n{table}", answer.policy)
}

/// A row of a table.
struct TableRow<'a> {
    name: String,
    objectives: &'a Objectives,
}

impl<'a> TableRow<'a> {
    fn of(answer: &'a PolicyAnswer) -> Self {
        Self {
            name: name(&answer.policy),
            objectives: &answer.objectives,
        }
    }
}

fn measured(answer: &PolicyAnswer) -> &Objectives {
    &answer.objectives
}

/// A column with a heading of at most three lines.
type MeasureColumn = Column<'static, Objectives>;

fn text_of<'a>(
    first: &str,
    rows: impl Iterator<Item = TableRow<'a>>,
    columns: Vec<MeasureColumn>,
) -> String {
    let named = Column::new(first, |row: &TableRow<'a>| row.name.clone());
    let measured = columns
        .into_iter()
        .map(|column| column.within(|row: &TableRow<'a>| row.objectives));
    let columns: Vec<Column<'_, TableRow<'a>>> = [named].into_iter().chain(measured).collect();
    let rows: Vec<TableRow<'a>> = rows.collect();
    render_figures(&columns, &rows, FigureLayout::Ruled { width: Some(WIDTH) })
}

/// Formats a policy with its parameters, each on its own line if they are long, and a treatment on the last line.
fn name(policy: &str) -> String {
    if policy.len() <= NAME_WIDTH {
        return policy.to_owned();
    }
    let lines = |policy: &str| policy.replace(':', ":\n ").replace(',', ",\n ");
    match policy.split_once(' ') {
        None => lines(policy),
        Some((policy, treatment)) => format!("{}\n {treatment}", lines(policy)),
    }
}

/// Returns the four objectives and then the usual measures of the field. SLA is the number of
/// fulfilled jobs in % of the submitted jobs, so this number has no column of its own.
fn measures<'a>(objectives: impl Iterator<Item = &'a Objectives> + Clone) -> Vec<MeasureColumn> {
    let all = || objectives.clone();
    let waits = all().flat_map(|m| [m.wait, m.mean_wait, m.median_wait]);
    let wait = TimeUnit::fitting(waits.flatten());
    let makespan = TimeUnit::fitting(all().filter_map(|m| m.makespan));
    let money = MoneyUnit::fitting(all().filter_map(|m| m.utility));

    let mut columns = vec![Column::figure("accepted", |m: &Objectives| {
        m.accepted.to_string()
    })];
    columns.extend(main_objectives(wait, money));
    if all().any(|m| m.books.unpromised() > 0) {
        columns.push(Column::figure("in\ntime\n%", |m: &Objectives| {
            decimals(m.in_time_pct, 1)
        }));
    }
    columns.extend(default_measures(wait, makespan));
    columns.extend(money.map(utility));
    columns
}

fn main_objectives(
    wait: TimeUnit,
    money: Option<MoneyUnit>,
) -> impl Iterator<Item = MeasureColumn> {
    let always = [
        Column::optional_figure(format!("wait\n{wait}"), move |m: &Objectives| {
            m.wait.map(|span| wait.write(span))
        }),
        Column::figure("SLA\n%", |m: &Objectives| decimals(m.sla_pct, 1)),
        Column::figure("relia-\nbility\n%", |m: &Objectives| {
            decimals(m.reliability_pct, 1)
        }),
    ];
    let profitability = Column::optional_figure("profit-\nability\n%", |m: &Objectives| {
        m.profitability_pct.map(|pct| decimals(pct, 1))
    });
    always.into_iter().chain(money.map(|_| profitability))
}

fn default_measures(wait: TimeUnit, makespan: TimeUnit) -> [MeasureColumn; 6] {
    [
        Column::optional_figure(format!("mean\nwait\n{wait}"), move |m: &Objectives| {
            m.mean_wait.map(|span| wait.write(span))
        }),
        Column::optional_figure(format!("median\nwait\n{wait}"), move |m: &Objectives| {
            m.median_wait.map(|span| wait.write(span))
        }),
        Column::optional_figure("bounded\nslow-\ndown", |m: &Objectives| {
            m.mean_bounded_slowdown
                .map(|slowdown| decimals(slowdown, 2))
        }),
        Column::optional_figure("fulfilled\nslow-\ndown", |m: &Objectives| {
            m.mean_slowdown_fulfilled
                .map(|slowdown| decimals(slowdown, 2))
        }),
        Column::optional_figure("utili-\nsation\n%", |m: &Objectives| {
            m.utilisation.map(|part| decimals(part * 100.0, 1))
        }),
        Column::optional_figure(format!("make-\nspan\n{makespan}"), move |m: &Objectives| {
            m.makespan.map(|span| makespan.write(span))
        }),
    ]
}

fn utility(unit: MoneyUnit) -> MeasureColumn {
    Column::optional_figure(format!("utility\n{unit}"), move |m: &Objectives| {
        m.utility.map(|utility| unit.write(utility))
    })
}

/// Returns the number of rejected jobs, and one column per reason that applied to any job.
fn reasons<'a>(objectives: impl Iterator<Item = &'a Objectives>) -> Vec<MeasureColumn> {
    let applied = objectives.flat_map(|measured| measured.rejected_by_reason.keys().copied());
    let applied: BTreeSet<Reason> = applied.collect();
    let reasons = applied.into_iter().map(|reason| {
        let heading = match reason.key().split_once('_') {
            Some((first, rest)) => format!("{first}\n{}", rest.replace('_', " ")),
            None => reason.key().to_owned(),
        };
        Column::optional_figure(heading, move |m: &Objectives| {
            m.rejected_by_reason.get(&reason).map(u64::to_string)
        })
    });
    let total = Column::figure("rejected", |m: &Objectives| m.rejected.to_string());
    [total].into_iter().chain(reasons).collect()
}

fn decimals(value: f64, digits: usize) -> String {
    format!("{value:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_model::{Books, Credits, Span};
    use tollgate_risk::UnpredictableTotals;

    const DEADLINES: DeadlineCounts = DeadlineCounts {
        given: 1_000_000,
        possible: 924_000,
        missing: 0,
    };

    fn measured() -> Objectives {
        Objectives {
            unpredictable: UnpredictableTotals::default(),
            submitted: 1_000_000,
            accepted: 999_999,
            rejected: 1,
            rejected_by_reason: [(Reason::TooManyProcs, 1)].into(),
            fulfilled: 999_999,
            books: Books::default(),
            wait: Some(Span::from_secs(97_155)),
            sla_pct: 99.96,
            reliability_pct: 100.0,
            in_time_pct: 99.96,
            profitability_pct: Some(-1234.56),
            utility: Some(Credits::from_f64(-1.5e9)),
            mean_wait: Some(Span::from_secs(999_999)),
            median_wait: None,
            wait_quantiles: None,
            response_quantiles: None,
            mean_bounded_slowdown: Some(12_345.678),
            mean_slowdown_fulfilled: Some(12_345.678),
            utilisation: Some(0.8349),
            makespan: Some(Span::from_secs(8_730_698)),
        }
    }

    #[test]
    fn the_widest_row_fits() {
        let answer = PolicyAnswer {
            treatment: None,
            policy: "easy:order=sjf,extra=false".to_owned(),
            shares_nodes: false,
            nodes: 1,
            seeds: None,
            groups: Vec::new(),
            risk: None,
            calibration: None,
            objectives: measured(),
        };
        let text = render(&[answer], None, DEADLINES);
        for line in text.lines() {
            assert!(line.chars().count() <= usize::from(WIDTH), "{line}");
        }
        insta::assert_snapshot!(text);
    }

    #[test]
    fn no_rejections_give_no_table_of_reasons() {
        let mut free = measured();
        free.rejected = 0;
        free.rejected_by_reason.clear();
        let answer = PolicyAnswer {
            treatment: None,
            policy: "fcfs".to_owned(),
            shares_nodes: false,
            nodes: 1,
            seeds: None,
            groups: Vec::new(),
            risk: None,
            calibration: None,
            objectives: free,
        };
        assert_eq!(
            render(&[answer], None, DEADLINES).matches("policy").count(),
            1
        );
    }
}
