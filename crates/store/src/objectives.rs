//! Statistics over finished jobs: the objectives, and how good estimates were.
//!
//! The store updates sums in the transaction in which a job enters the books, because there may be
//! millions of jobs.

use tollgate_model::{Credits, Instant, Span};
use tollgate_service::ObjectiveSums;

use crate::error::StoreError;
use crate::read::StoreReader;
use crate::usage::{RecordFilter, UsageKeys};

/// Coverage of the estimates that came from forecasts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EstimateCoverage {
    /// Number of jobs, without arrays, that ended with exit code 0 and whose estimate was a quantile of
    /// the forecast.
    pub jobs: u64,
    /// Number of these jobs that needed no more work than the estimate.
    pub covered: u64,
}

impl StoreReader {
    /// Returns when, by which operator and why a job was let go beyond its user's share, if it was.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn grant(&self, job: u64) -> Result<Option<(Instant, u32, String)>, StoreError> {
        let sql = "SELECT at, user, reason FROM granted WHERE job = ?1";
        let mut rows = self.rows(sql, [job], |row| {
            Ok((Instant::from_micros(row.get(0)?), row.get(1)?, row.get(2)?))
        })?;
        Ok(rows.pop())
    }

    /// Returns the number of jobs in each state; an array counts as one job.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn states(&self) -> Result<Vec<(String, u64)>, StoreError> {
        let sql = "SELECT state, count(*) FROM job GROUP BY state ORDER BY state";
        self.rows(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))
    }

    /// Returns the coverage of the estimates that came from forecasts, with that of removed jobs.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn coverage(&self) -> Result<EstimateCoverage, StoreError> {
        let sql = "SELECT count(*) + (SELECT forecasts FROM removed),
                 coalesce(sum(coalesce(work, wall) <= estimate), 0) + (SELECT covered FROM removed)
             FROM job JOIN attempt ON attempt.job = id
             WHERE state = 'finished' AND source = 'class' AND status = 'exit 0'
                 AND NOT EXISTS (SELECT 1 FROM array WHERE job = id)";
        let rows = self.rows(sql, [], |row| {
            Ok(EstimateCoverage {
                jobs: row.get(0)?,
                covered: row.get(1)?,
            })
        })?;
        Ok(rows.into_iter().next().unwrap_or_default())
    }

    /// Returns the sums over all users, or of one user.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn objective_sums(&self, user: Option<u32>) -> Result<ObjectiveSums, StoreError> {
        let filter = RecordFilter {
            user,
            ..RecordFilter::default()
        };
        let books = self.books(&filter, UsageKeys::default())?;
        let sql = "SELECT coalesce(saturating_sum(wait), 0), coalesce(saturating_sum(budgets), 0),
                 coalesce(saturating_sum(utility), 0)
             FROM total WHERE ?1 IS NULL OR user = ?1";
        let rows = self.rows(sql, [user], |row| {
            Ok(ObjectiveSums {
                books: books.values().next().copied().unwrap_or_default(),
                wait: Span::from_micros(row.get(0)?),
                budgets: Credits::from_micros(row.get(1)?),
                utility: Credits::from_micros(row.get(2)?),
            })
        })?;
        Ok(rows.into_iter().next().unwrap_or_default())
    }
}
