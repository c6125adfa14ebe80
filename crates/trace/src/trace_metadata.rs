//! Names, usage and attempts of the jobs of a trace.

use std::borrow::Cow;

use crate::attempts::{AttemptColumn, TraceAttempt};
use crate::name_column::NameColumn;
use crate::usage::TraceUsage;
use crate::usage_columns::UsageColumns;

/// Names, usage and attempts of the jobs: columns with one row per job.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TraceMetadata {
    /// User.
    pub user: NameColumn,
    /// Group of the user.
    pub group: NameColumn,
    /// Account or project that is charged for the job.
    pub account: NameColumn,
    /// Program, or the name of the job if the record has no program.
    pub executable: NameColumn,
    /// Queue of the submission.
    pub queue: NameColumn,
    /// Usage.
    pub usage: UsageColumns,
    /// Attempts at running the job, if the format records them.
    pub attempts: Option<AttemptColumn>,
}

impl TraceMetadata {
    /// Appends the row of the next job. An empty name is unknown. Returns whether a name was not
    /// UTF-8.
    pub fn push(&mut self, names: RecordNames<'_>, usage: TraceUsage) -> bool {
        let mut lossy = false;
        for (column, text) in [
            (&mut self.user, names.user),
            (&mut self.group, names.group),
            (&mut self.account, names.account),
            (&mut self.executable, names.executable.as_ref()),
            (&mut self.queue, names.queue),
        ] {
            lossy |= column.push_text(text);
        }
        self.usage.push(usage);
        lossy
    }

    /// Appends the attempts of the last job.
    pub(crate) fn push_attempts(&mut self, attempts: &[TraceAttempt]) {
        self.attempts.get_or_insert_default().push(attempts);
    }

    pub(crate) fn retain(&mut self, keeps: &dyn Fn(usize) -> bool) {
        let Self {
            user,
            group,
            account,
            executable,
            queue,
            usage,
            attempts,
        } = self;
        for column in [user, group, account, executable, queue] {
            column.retain(keeps);
        }
        usage.retain(keeps);
        if let Some(attempts) = attempts {
            attempts.retain(keeps);
        }
    }

    pub(crate) fn drop_first(&mut self, n: usize) {
        let Self {
            user,
            group,
            account,
            executable,
            queue,
            usage,
            attempts,
        } = self;
        for column in [user, group, account, executable, queue] {
            column.drop_first(n);
        }
        usage.drop_first(n);
        if let Some(attempts) = attempts {
            attempts.drop_first(n);
        }
    }
}

/// The names in a record, as bytes that need not be UTF-8; empty where it has none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordNames<'a> {
    /// User.
    pub user: &'a [u8],
    /// Group of the user.
    pub group: &'a [u8],
    /// Account or project that is charged for the job.
    pub account: &'a [u8],
    /// Program, or the name of the job.
    pub executable: Cow<'a, [u8]>,
    /// Queue of the submission.
    pub queue: &'a [u8],
}
