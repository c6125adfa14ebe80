//! The results of an experiment: one row per planned row.

use std::collections::BTreeMap;
use std::io::{Read, Write};

use crate::columns::{self, ResultColumn};
use crate::experiment::Experiment;
use crate::measurements::{MetricsWithoutPart, RunMeasurements};
use crate::metric::RunMetric;
use crate::plan::{PlannedRow, RunPlan};
use crate::world::WorldKind;

/// The columns that identify the run of a row, in order, before [`columns::COLUMNS`].
pub const KEY_COLUMNS: [ResultColumn; 7] = [
    key("set", "the variant of the experiment"),
    key("market", "none, commodity or bid"),
    key("scenario", "what is varied"),
    key("key", "the setting that is varied"),
    key("value", "its value"),
    key("policy", "the deciding policy"),
    key("seed", "what the draws depend on"),
];

/// The file of a study's directory with the results without each part of the record, if there are any.
pub const PARTS_FILE: &str = "weeks.csv";

/// The column of the number of the part that is left out.
const PART_COLUMN: &str = "without";

const fn key(name: &'static str, meaning: &'static str) -> ResultColumn {
    ResultColumn { name, meaning }
}

/// All results of an experiment.
#[derive(Clone, Debug)]
pub struct StudyResults {
    experiment: Experiment,
    rows: Vec<ResultRow>,
    /// Indices of rows by point.
    index: BTreeMap<ExperimentPoint, usize>,
    /// The results without each part of the record.
    without_parts: Vec<Self>,
}

/// A point in an experiment, at which every seed has a run; numbers are indices into its lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExperimentPoint {
    /// The set.
    pub set: usize,
    /// The market.
    pub market: usize,
    /// The scenario.
    pub scenario: usize,
    /// The value of the varied setting.
    pub value: usize,
    /// The policy, in its market.
    pub policy: usize,
}

/// A row of the results.
#[derive(Clone, Debug, PartialEq)]
pub struct ResultRow {
    /// The planned row.
    pub planned: PlannedRow,
    /// The metrics of its run.
    pub measurements: RunMeasurements,
}

/// Why a table does not hold the results of an experiment.
#[derive(Debug, thiserror::Error)]
pub enum ResultsError {
    /// The table cannot be read or written.
    #[error("{0}")]
    Csv(#[from] csv::Error),
    /// A line does not match the plan, or its metrics cannot be parsed.
    #[error("line {line}: expected the results of {expected}")]
    Line {
        /// The line, from 1.
        line: usize,
        /// The expected row.
        expected: String,
    },
    /// The table is too short or too long.
    #[error("there are {found} rows: expected {expected}")]
    Length {
        /// Number of rows.
        found: usize,
        /// Expected number of rows.
        expected: usize,
    },
}

impl StudyResults {
    /// Creates the results of `experiment` from the metrics of its planned rows in order.
    ///
    /// # Panics
    /// If the numbers of metrics and of planned rows differ.
    pub fn new(experiment: Experiment, plan: &RunPlan, figures: Vec<RunMeasurements>) -> Self {
        assert_eq!(
            plan.rows.len(),
            figures.len(),
            "every planned row has its figures"
        );
        let rows: Vec<ResultRow> = plan
            .rows
            .iter()
            .zip(figures)
            .map(|(planned, figures)| ResultRow {
                planned: planned.clone(),
                measurements: figures,
            })
            .collect();
        let first_seeds = rows
            .iter()
            .enumerate()
            .filter(|(_, row)| row.planned.seed == 1);
        let whole = Self {
            index: first_seeds
                .map(|(n, row)| (row.planned.point(), n))
                .collect(),
            experiment,
            rows,
            without_parts: Vec::new(),
        };
        Self {
            without_parts: whole.each_without_a_part(),
            ..whole
        }
    }

    fn each_without_a_part(&self) -> Vec<Self> {
        let n_parts = |row: &ResultRow| row.measurements.without_parts().len();
        let n_parts = self.rows.iter().map(n_parts).min().unwrap_or(0);
        let without = |part: usize| {
            let rows = self.rows.iter().map(|row| ResultRow {
                planned: row.planned.clone(),
                measurements: RunMeasurements::Part(row.measurements.without_parts()[part]),
            });
            Self {
                experiment: self.experiment.clone(),
                rows: rows.collect(),
                index: self.index.clone(),
                without_parts: Vec::new(),
            }
        };
        (0..n_parts).map(without).collect()
    }

    /// Returns the results without each part of the record: its weeks, or parts of some weeks of a long one. Empty
    /// where there is no record of three weeks or more. They have only the metrics that are means or shares of jobs.
    pub fn without_parts(&self) -> &[Self] {
        &self.without_parts
    }

    /// Returns the experiment.
    pub const fn experiment(&self) -> &Experiment {
        &self.experiment
    }

    /// Returns every row, in the order of the plan.
    pub fn rows(&self) -> &[ResultRow] {
        &self.rows
    }

    /// Returns the rows at one point, one per seed in ascending order; empty if nothing is run
    /// there.
    pub fn seeds(&self, at: ExperimentPoint) -> &[ResultRow] {
        let seeds = self.experiment.seeds as usize;
        self.index
            .get(&at)
            .map_or(&[], |&first| &self.rows[first..first + seeds])
    }

    /// Returns a measure at one point, one value per seed; empty if nothing is run there.
    pub fn values(&self, at: ExperimentPoint, measure: RunMetric) -> Vec<Option<f64>> {
        let rows = self.seeds(at).iter();
        rows.map(|row| measure.of(&row.measurements)).collect()
    }

    /// Writes the table: CSV with a header, columns [`KEY_COLUMNS`], then those of the world. The cluster
    /// has [`columns::COLUMNS`] and the counts of rejections by reason.
    ///
    /// # Errors
    /// If `out` cannot be written to.
    pub fn write(&self, out: impl Write) -> Result<(), ResultsError> {
        let mut table = csv::Writer::from_writer(out);
        table.write_record(header(self.experiment.world.kind.0))?;
        for row in &self.rows {
            let mut cells = self.name(&row.planned);
            cells.extend(columns::cells(&row.measurements));
            table.write_record(&cells)?;
        }
        table.flush().map_err(csv::Error::from)?;
        Ok(())
    }

    /// Writes the table of the results without each part of the record: CSV with a header, columns [`KEY_COLUMNS`], the
    /// number of the part from 1, then the metrics.
    ///
    /// # Errors
    /// If `out` cannot be written to.
    pub fn write_parts(&self, out: impl Write) -> Result<(), ResultsError> {
        let mut table = csv::Writer::from_writer(out);
        let keys = KEY_COLUMNS.iter().map(|column| column.name);
        table.write_record(keys.chain([PART_COLUMN]).chain(columns::part_names()))?;
        for row in &self.rows {
            for (part, metrics) in row.measurements.without_parts().iter().enumerate() {
                let mut cells = self.name(&row.planned);
                cells.push((part + 1).to_string());
                cells.extend(columns::part_cells(metrics));
                table.write_record(&cells)?;
            }
        }
        table.flush().map_err(csv::Error::from)?;
        Ok(())
    }

    /// Adds the output of [`StudyResults::write_parts`] to the same results.
    ///
    /// # Errors
    /// If the table is not such an output.
    pub fn with_parts(self, table: impl Read) -> Result<Self, ResultsError> {
        let lines = csv::Reader::from_reader(table).into_records().enumerate();
        let mut parts: Vec<Vec<MetricsWithoutPart>> = vec![Vec::new(); self.rows.len()];
        let mut at = 0;
        for (line, cells) in lines {
            let cells = cells?;
            let part: Option<usize> = cells
                .get(KEY_COLUMNS.len())
                .and_then(|part| part.parse().ok());
            at += usize::from(part == Some(1) && line > 0);
            let expected = self
                .rows
                .get(at)
                .map(|row| self.name(&row.planned))
                .unwrap_or_default();
            let named = cells.iter().take(KEY_COLUMNS.len()).eq(expected.iter());
            let read = columns::parse_part(cells.iter().skip(KEY_COLUMNS.len() + 1));
            let is_next = |parts: &Vec<_>| named && part == Some(parts.len() + 1);
            match (parts.get_mut(at).filter(|parts| is_next(parts)), read) {
                (Some(parts), Some(metrics)) => parts.push(metrics),
                _ => {
                    return Err(ResultsError::Line {
                        line: line + 2,
                        expected: expected.join(","),
                    });
                }
            }
        }
        let Self {
            experiment, rows, ..
        } = self;
        let plan = RunPlan::of(&experiment);
        let figures = rows
            .into_iter()
            .zip(parts)
            .map(|(row, parts)| row.measurements.with_parts(parts));
        Ok(Self::new(experiment, &plan, figures.collect()))
    }

    /// Reads the output of [`StudyResults::write`] for the same experiment.
    ///
    /// # Errors
    /// If the table is not such an output.
    pub fn read(experiment: Experiment, table: impl Read) -> Result<Self, ResultsError> {
        let plan = RunPlan::of(&experiment);
        let mut figures = Vec::with_capacity(plan.rows.len());
        let mut table = csv::Reader::from_reader(table);
        for (at, line) in table.records().enumerate() {
            let line = line?;
            let Some(planned) = plan.rows.get(at) else {
                break;
            };
            let expected = name(&experiment, planned);
            let named = line.iter().take(KEY_COLUMNS.len()).eq(expected.iter());
            let cells = line.iter().skip(KEY_COLUMNS.len());
            let read = columns::parse(experiment.world.kind.0, cells).filter(|_| named);
            figures.push(read.ok_or_else(|| ResultsError::Line {
                line: at + 2,
                expected: expected.join(","),
            })?);
        }
        if figures.len() != plan.rows.len() {
            return Err(ResultsError::Length {
                found: figures.len(),
                expected: plan.rows.len(),
            });
        }
        Ok(Self::new(experiment, &plan, figures))
    }

    fn name(&self, planned: &PlannedRow) -> Vec<String> {
        name(&self.experiment, planned)
    }
}

impl PlannedRow {
    /// Returns the point of the row, without its seed.
    pub const fn point(&self) -> ExperimentPoint {
        ExperimentPoint {
            set: self.set,
            market: self.market,
            scenario: self.scenario,
            value: self.value,
            policy: self.policy,
        }
    }
}

fn header(world: WorldKind) -> Vec<String> {
    let keys = KEY_COLUMNS.iter().map(|column| column.name.to_owned());
    keys.chain(columns::names(world)).collect()
}

/// Returns the cells of [`KEY_COLUMNS`].
fn name(experiment: &Experiment, planned: &PlannedRow) -> Vec<String> {
    let market = &experiment.markets[planned.market];
    let scenario = &experiment.scenarios[planned.scenario];
    vec![
        experiment.sets[planned.set].name.clone(),
        market.name.to_string(),
        scenario.name.clone(),
        scenario.vary.to_string(),
        scenario.values[planned.value].to_string(),
        market.policies[planned.policy].clone(),
        planned.seed.to_string(),
    ]
}
