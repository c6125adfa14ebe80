//! Promises that count on hosts that were not there when they were made: which, and what became of them.

use rusqlite::{Transaction, params};
use tollgate_service::AdmissionState;

use crate::books::PromiseSums;
use crate::error::StoreError;
use crate::read::StoreReader;
use crate::statement::run;

/// Notes whether the promise of a job, which is made now, counts on hosts that are not there yet. That of an array does as
/// soon as that of one of its tasks does.
pub(crate) fn mark(to: &Transaction<'_>, job: u64, on_expected: bool) -> rusqlite::Result<()> {
    match on_expected {
        true => run(to, "INSERT OR IGNORE INTO on_expected VALUES (?1)", [job]),
        false => Ok(()),
    }
}

/// Notes the same of a job that is decided about, perhaps anew.
pub(crate) fn decide(
    to: &Transaction<'_>,
    job: u64,
    answer: &AdmissionState,
) -> rusqlite::Result<()> {
    let on_expected = matches!(
        answer,
        AdmissionState::Accepted {
            on_expected: true,
            ..
        }
    );
    if !on_expected {
        run(to, "DELETE FROM on_expected WHERE job = ?1", [job])?;
    }
    mark(to, job, on_expected)
}

/// Enters the outcome of tasks of a job in the sums of such promises, if its promise is one.
pub(crate) fn enter(
    to: &Transaction<'_>,
    job: u64,
    (is_kept, is_void): (bool, bool),
    n_tasks: u64,
) -> rusqlite::Result<()> {
    run(
        to,
        "INSERT INTO promise_on_expected
             SELECT user, min(CAST(probability * 10 AS INTEGER), 9), (NOT ?2) * ?4,
                 probability * (NOT ?2) * ?4, ?3 * ?4, ?2 * ?4
             FROM job JOIN on_expected ON on_expected.job = job.id
             WHERE id = ?1 AND probability IS NOT NULL
         ON CONFLICT DO UPDATE SET promises = promises + excluded.promises,
             expected = expected + excluded.expected, kept = kept + excluded.kept,
             void = void + excluded.void",
        params![job, is_void, is_kept, n_tasks],
    )
}

impl StoreReader {
    /// Returns promised against kept deadlines of the promises that counted on hosts that were not there, by tenths of the
    /// probability at which they were promised; see [`StoreReader::calibration`].
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn calibration_on_expected(
        &self,
        user: Option<u32>,
    ) -> Result<Vec<(u32, PromiseSums)>, StoreError> {
        self.promise_sums("promise_on_expected", "tenth", user)
    }
}
