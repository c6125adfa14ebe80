//! Filters on jobs.

use rusqlite::types::Value;
use tollgate_model::{BookEntry, Instant};

use crate::read::{IS_UNFINISHED, JobRow};

/// A filter on jobs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobFilter {
    /// Only jobs of this user.
    pub user: Option<u32>,
    /// Only jobs with one of these numbers.
    pub ids: Option<Vec<u64>>,
    /// Only jobs of this name.
    pub name: Option<String>,
    /// Only jobs of this account.
    pub account: Option<String>,
    /// Only jobs of this queue.
    pub queue: Option<String>,
    /// Only jobs in this state.
    pub state: Option<String>,
    /// Only unfinished jobs.
    pub unfinished: bool,
    /// Only jobs that failed, and arrays with tasks that did.
    pub failed: bool,
    /// Only jobs with this promise.
    pub promise: Option<PromiseFilter>,
    /// Only jobs that are not over, or ended at this instant or later.
    pub since: Option<Instant>,
    /// Only jobs that were submitted before this instant.
    pub until: Option<Instant>,
    /// Only jobs with a smaller number.
    pub before: Option<u64>,
    /// Maximum number of jobs, latest first.
    pub limit: u32,
}

/// A filter by the promise of a job. An array counts if one of its tasks does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PromiseFilter {
    /// Jobs whose deadline is promised, or was.
    Promised,
    /// Kept promises.
    Kept,
    /// Broken promises.
    Broken,
    /// Void promises.
    Void,
    /// Jobs whose deadline is not promised, and never was; jobs without a deadline.
    NotPromised,
}

/// Selects the jobs whose deadline is promised, or was, as [`JobRow::promised_at`] does.
const IS_PROMISED: &str = "(EXISTS (SELECT 1 FROM late_promise WHERE late_promise.job = id)
    OR due IS NOT NULL AND reasons IS NULL AND price IS NOT NULL AND decided IS NOT NULL)";

impl PromiseFilter {
    /// Returns the condition of SQL.
    fn condition(self) -> String {
        let became = |entry: &str, tasks: &str| {
            format!("CASE WHEN array.job IS NULL THEN {entry} ELSE {tasks} > 0 END")
        };
        match self {
            Self::Promised => IS_PROMISED.to_owned(),
            Self::NotPromised => format!("NOT {IS_PROMISED}"),
            Self::Kept => became("promise = 'kept'", "kept"),
            Self::Broken => became("promise LIKE 'broken%'", "broken"),
            Self::Void => became("promise = 'void'", "void"),
        }
    }

    /// Returns whether a task of an array is selected.
    fn matches(self, row: &JobRow) -> bool {
        match self {
            Self::Promised => row.promised_at().is_some(),
            Self::NotPromised => row.promised_at().is_none(),
            Self::Kept => row.entry == Some(BookEntry::Kept),
            Self::Broken => matches!(row.entry, Some(BookEntry::Broken(_))),
            Self::Void => row.entry == Some(BookEntry::Void),
        }
    }
}

/// Selects the jobs that failed, and arrays with tasks that did.
const HAS_FAILED: &str = "CASE WHEN array.job IS NULL THEN
        state IN ('timed_out', 'out_of_memory', 'output_limit', 'lost', 'abandoned') OR state = 'finished'
        AND (SELECT status FROM attempt WHERE job = id ORDER BY attempt DESC LIMIT 1) <> 'exit 0'
    ELSE worst > 0 OR lost + timed_out + out_of_memory + output_limit > 0
        OR EXISTS (SELECT 1 FROM abandonment WHERE abandonment.job = id) END";

impl JobFilter {
    /// Returns the condition of SQL without its limit, and the values of its parameters.
    pub(crate) fn condition(&self) -> (String, Vec<Value>) {
        let mut conditions = vec!["1".to_owned()];
        let mut values = Vec::new();
        let integer = |number: u64| Value::Integer(i64::try_from(number).unwrap_or(i64::MAX));
        let text = |text: &Option<String>| text.clone().map(Value::Text);
        let micros = |at: Option<Instant>| at.map(|at| Value::Integer(at.as_micros()));
        for (test, value) in [
            (
                "user = ?",
                self.user.map(|user| Value::Integer(user.into())),
            ),
            ("name = ?", text(&self.name)),
            ("account = ?", text(&self.account)),
            ("queue = ?", text(&self.queue)),
            ("state = ?", text(&self.state)),
            ("submit < ?", micros(self.until)),
            ("id < ?", self.before.map(integer)),
        ] {
            if let Some(value) = value {
                conditions.push(test.to_owned());
                values.push(value);
            }
        }
        if let Some(ids) = &self.ids {
            let marks = vec!["?"; ids.len()].join(", ");
            conditions.push(format!("id IN ({marks})"));
            values.extend(ids.iter().copied().map(integer));
        }
        if let Some(since) = micros(self.since) {
            // Both halves have an index of their own.
            conditions.push(format!(
                "id IN (SELECT id FROM job WHERE {IS_UNFINISHED}
                 UNION ALL SELECT id FROM job WHERE finish >= ? AND finish IS NOT NULL)"
            ));
            values.push(since);
        }
        conditions.extend(self.unfinished.then(|| IS_UNFINISHED.to_owned()));
        conditions.extend(self.failed.then(|| HAS_FAILED.to_owned()));
        conditions.extend(self.promise.map(PromiseFilter::condition));
        (conditions.join(" AND "), values)
    }

    /// Returns whether a job, or a task of an array, is selected, but for the numbers that are named.
    pub fn matches(&self, row: &JobRow) -> bool {
        let is = |required: &Option<String>, there: Option<&str>| {
            required.is_none() || required.as_deref() == there
        };
        let is_over = row.finish.is_some();
        self.user.is_none_or(|user| user == row.user)
            && is(&self.name, Some(&row.name))
            && is(&self.account, row.account.as_deref())
            && is(&self.queue, row.queue.as_deref())
            && is(&self.state, Some(&row.state))
            && !(self.unfinished && is_over)
            && (!self.failed || has_failed(row))
            && self.promise.is_none_or(|promise| promise.matches(row))
            && self
                .since
                .is_none_or(|since| row.finish.is_none_or(|at| at >= since))
            && self.until.is_none_or(|until| row.submit < until)
            && self.before.is_none_or(|before| row.id < before)
    }
}

/// Returns whether a task failed.
fn has_failed(row: &JobRow) -> bool {
    match row.state.as_str() {
        "timed_out" | "out_of_memory" | "output_limit" | "lost" | "abandoned" => true,
        "finished" => row.status.as_deref() != Some("exit 0"),
        _ => false,
    }
}
