//! The numbers by which a forecaster knows the users, programs, queues and accounts of records.

use std::collections::BTreeMap;

use tollgate_forecast::{ClassId, JobAttributes};
use tollgate_model::UserId;
use tollgate_trace::name_column::NameColumn;
use tollgate_trace::{Trace, TraceMetadata};
use tollgate_workload::Workload;

use crate::estimates::JobContext;

/// The names of a run. A name has one number in all records that are read for the run, and the names
/// of the first record have the numbers of their labels.
#[derive(Debug, Default)]
pub struct JobNames {
    users: NameNumbers,
    executables: NameNumbers,
    queues: NameNumbers,
    accounts: NameNumbers,
}

/// Numbers of names, in order of their first appearance.
#[derive(Debug, Default)]
struct NameNumbers(BTreeMap<String, u32>);

/// The jobs of a record, with numbers in the place of names.
#[derive(Debug)]
pub struct NumberedJobs<'a> {
    trace: &'a Trace,
    columns: Option<[NumberedColumn<'a>; 4]>,
}

#[derive(Debug)]
struct NumberedColumn<'a> {
    labels: &'a NameColumn,
    /// By label: the number of its name.
    numbers: Vec<u32>,
}

impl JobNames {
    /// Returns what a forecaster knows of each job of a workload, in order of arrival.
    pub fn contexts(&mut self, workload: &Workload) -> Vec<JobContext> {
        let jobs = self.number(workload.trace());
        let rows = (0..workload.len()).map(|i| workload.row(i));
        rows.map(|row| jobs.context(row)).collect()
    }

    /// Numbers the names of `trace`.
    pub fn number<'a>(&mut self, trace: &'a Trace) -> NumberedJobs<'a> {
        let columns = trace.metadata.as_ref().map(|metadata| {
            let TraceMetadata {
                user,
                executable,
                queue,
                account,
                ..
            } = metadata;
            [
                NumberedColumn::new(user, &mut self.users),
                NumberedColumn::new(executable, &mut self.executables),
                NumberedColumn::new(queue, &mut self.queues),
                NumberedColumn::new(account, &mut self.accounts),
            ]
        });
        NumberedJobs { trace, columns }
    }
}

impl NumberedJobs<'_> {
    /// Returns the facts about the job in `row`. The jobs of a user are a class, and the jobs of all
    /// unknown users are one class.
    pub fn context(&self, row: usize) -> JobContext {
        let Some([user, executable, queue, account]) = &self.columns else {
            return JobContext::default();
        };
        JobContext {
            class: ClassId(user.get(row).map_or(0, |user| user + 1)),
            context: JobAttributes {
                executable: executable.get(row),
                queue: queue.get(row),
                account: account.get(row),
            },
            has_user_estimate: self.trace.has_estimate(row),
        }
    }

    /// Returns the user of the job in `row`, as a workload numbers users.
    pub fn user(&self, row: usize) -> UserId {
        let user = self.columns.as_ref().and_then(|[user, ..]| user.get(row));
        UserId(user.unwrap_or(u32::MAX))
    }
}

impl<'a> NumberedColumn<'a> {
    fn new(labels: &'a NameColumn, names: &mut NameNumbers) -> Self {
        let numbers = labels.names().map(|name| names.number(name));
        Self {
            labels,
            numbers: numbers.collect(),
        }
    }

    fn get(&self, row: usize) -> Option<u32> {
        self.labels.id(row).map(|label| self.numbers[label.index()])
    }
}

impl NameNumbers {
    fn number(&mut self, name: &str) -> u32 {
        if let Some(&number) = self.0.get(name) {
            return number;
        }
        let number = u32::try_from(self.0.len()).expect("fewer names than memory has room for");
        self.0.insert(name.to_owned(), number);
        number
    }
}
