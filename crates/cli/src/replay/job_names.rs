//! The numbers by which a forecaster knows the users, programs, queues and accounts of records.

use tollgate_model::UserId;
use tollgate_sim::{ClassId, JobAttributes, JobContext};
use tollgate_trace::name_column::NameColumn;
use tollgate_trace::{Trace, TraceMetadata};

use crate::forecast::name_ids::NameIds;

/// The names of a run. A name has one number in all records that are read for the run, and the names
/// of the first record have the numbers of their labels.
#[derive(Default)]
pub(super) struct JobNames {
    users: NameIds<String>,
    executables: NameIds<String>,
    queues: NameIds<String>,
    accounts: NameIds<String>,
}

/// The jobs of a record, with numbers in the place of names.
pub(super) struct NumberedJobs<'a> {
    trace: &'a Trace,
    columns: Option<[NumberedColumn<'a>; 4]>,
}

struct NumberedColumn<'a> {
    labels: &'a NameColumn,
    /// By label: the number of its name.
    numbers: Vec<u32>,
}

impl JobNames {
    /// Numbers the names of `trace`.
    pub(super) fn number<'a>(&mut self, trace: &'a Trace) -> NumberedJobs<'a> {
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
    pub(super) fn context(&self, row: usize) -> JobContext {
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
    pub(super) fn user(&self, row: usize) -> UserId {
        let user = self.columns.as_ref().and_then(|[user, ..]| user.get(row));
        UserId(user.unwrap_or(u32::MAX))
    }
}

impl<'a> NumberedColumn<'a> {
    fn new(labels: &'a NameColumn, names: &mut NameIds<String>) -> Self {
        let numbers = labels.names().map(|name| names.id_for(name.to_owned()));
        Self {
            labels,
            numbers: numbers.collect(),
        }
    }

    fn get(&self, row: usize) -> Option<u32> {
        self.labels.id(row).map(|label| self.numbers[label.index()])
    }
}
