//! Statistics over finished jobs: how well promises were kept, and the objectives.
//!
//! The store updates the sums in the transaction in which a promise ends, because there may be
//! millions of jobs.

use tollgate_model::{Credits, Instant, Span};

use crate::{StoreError, StoreReader};

/// Sums over jobs whose promise has ended, and rejected jobs. A promise ends when the deadline passes
/// or the job ends, whichever is first. Each task of an array counts for itself. Jobs that their user
/// cancelled before their admission are left out, and so are quotes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ObjectiveSums {
    /// Number of decided jobs: admitted, rejected, or run without a promise.
    pub submitted: u64,
    /// Number of admitted jobs.
    pub accepted: u64,
    /// Number of jobs with a kept promise.
    pub kept: u64,
    /// Number of jobs with a broken promise.
    pub broken: u64,
    /// Number of jobs with a void promise.
    pub void: u64,
    /// Number of jobs that ran without a promise because their deadline could not be promised.
    pub unpromised: u64,
    /// Total time from submission to start of the jobs with a kept promise.
    pub wait: Span,
    /// Total of the budgets of all submitted jobs.
    pub budgets: Credits,
    /// Total of the amounts earned.
    pub utility: Credits,
}

/// Promises with about the same probability.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PromiseBin {
    /// Tenth of the probability: 0 for below 0.1, 9 for 0.9 to 1.
    pub tenth: u32,
    /// Number of promises that were kept or broken.
    pub promises: u64,
    /// Expected number of kept promises: the sum of the promised probabilities.
    pub expected: f64,
    /// Number of kept promises.
    pub kept: u64,
    /// Number of void promises, which count in none of the other fields.
    pub void: u64,
}

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
        let sql = "SELECT coalesce(saturating_sum(submitted), 0),
                 coalesce(saturating_sum(accepted), 0), coalesce(saturating_sum(kept), 0),
                 coalesce(saturating_sum(broken), 0), coalesce(saturating_sum(void), 0),
                 coalesce(saturating_sum(wait), 0), coalesce(saturating_sum(budgets), 0),
                 coalesce(saturating_sum(utility), 0), coalesce(saturating_sum(unpromised), 0)
             FROM total WHERE ?1 IS NULL OR user = ?1";
        let rows = self.rows(sql, [user], |row| {
            Ok(ObjectiveSums {
                submitted: row.get(0)?,
                accepted: row.get(1)?,
                kept: row.get(2)?,
                broken: row.get(3)?,
                void: row.get(4)?,
                wait: Span::from_micros(row.get(5)?),
                budgets: Credits::from_micros(row.get(6)?),
                utility: Credits::from_micros(row.get(7)?),
                unpromised: row.get(8)?,
            })
        })?;
        Ok(rows.into_iter().next().unwrap_or_default())
    }

    /// Returns promised against kept deadlines, by tenths of the probability promised at
    /// submission. Only jobs that were admitted with a deadline count, once their promise has ended.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn calibration(&self, user: Option<u32>) -> Result<Vec<PromiseBin>, StoreError> {
        let sql = "SELECT tenth, saturating_sum(promises), sum(expected), saturating_sum(kept),
                 saturating_sum(void)
             FROM promise WHERE ?1 IS NULL OR user = ?1 GROUP BY tenth ORDER BY tenth";
        self.rows(sql, [user], |row| {
            Ok(PromiseBin {
                tenth: row.get(0)?,
                promises: row.get(1)?,
                expected: row.get(2)?,
                kept: row.get(3)?,
                void: row.get(4)?,
            })
        })
    }
}

#[cfg(test)]
mod tests {
    /// The triggers contain the tolerance as a number, which cannot refer to the constant.
    #[test]
    fn tables_use_the_deadline_tolerance_of_the_objectives() {
        let tolerance = tollgate_model::outcome::DELAY_TOLERANCE.as_micros();
        assert_eq!(tolerance, 1_000);
    }
}
