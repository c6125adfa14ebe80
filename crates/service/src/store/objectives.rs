//! How well promises were kept, and the objectives, of the jobs that are over.
//!
//! The store adds them up itself as jobs end, in the transaction that says so: there may be millions.

use tollgate_model::{Credits, Span};

use super::{StoreError, StoreReader};

/// Sums over the jobs that are over; of an array each task counts that is, also while others are not. One that its user took back is neither kept nor broken, and is
/// left out, and so are quotes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ObjectiveSums {
    /// Jobs that were let in or kept out.
    pub submitted: u64,
    /// Those of them that were let in.
    pub accepted: u64,
    /// Those of them that finished within their deadline, or had none and finished.
    pub fulfilled: u64,
    /// From submission to start of those, all together.
    pub wait: Span,
    /// What they all would have paid at most.
    pub budgets: Credits,
    /// What was earned with them.
    pub utility: Credits,
}

/// Promises that were made with about the same probability.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PromiseBin {
    /// Which tenth: 0 for below 0.1, 9 for 0.9 to 1.
    pub tenth: u32,
    /// How many.
    pub promises: u64,
    /// How many of them are to be kept, by the probabilities that were told: the sum of those.
    pub expected: f64,
    /// How many were.
    pub kept: u64,
}

/// How good the estimates were that were made of forecasts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EstimateCoverage {
    /// Jobs that finished, without arrays, whose estimate was a quantile of the forecast.
    pub jobs: u64,
    /// Those of them that ran no longer than that.
    pub covered: u64,
}

impl StoreReader {
    /// How many jobs are in each state; an array is one.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn states(&self) -> Result<Vec<(String, u64)>, StoreError> {
        let sql = "SELECT state, count(*) FROM job GROUP BY state ORDER BY state";
        self.rows(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))
    }

    /// How good the estimates were that were made of forecasts.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn coverage(&self) -> Result<EstimateCoverage, StoreError> {
        let sql = "SELECT count(*), coalesce(sum(finish - start <= estimate), 0)
             FROM job WHERE state = 'finished' AND source = 'class' AND start IS NOT NULL
                 AND NOT EXISTS (SELECT 1 FROM array WHERE job = id)";
        let rows = self.rows(sql, [], |row| {
            Ok(EstimateCoverage {
                jobs: row.get(0)?,
                covered: row.get(1)?,
            })
        })?;
        Ok(rows.into_iter().next().unwrap_or_default())
    }

    /// The sums, of everybody or of one user.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn objective_sums(&self, user: Option<u32>) -> Result<ObjectiveSums, StoreError> {
        let sql = "SELECT coalesce(sum(submitted), 0), coalesce(sum(accepted), 0),
                 coalesce(sum(fulfilled), 0), coalesce(sum(wait), 0), coalesce(sum(budgets), 0),
                 coalesce(sum(utility), 0)
             FROM total WHERE ?1 IS NULL OR user = ?1";
        let rows = self.rows(sql, [user], |row| {
            Ok(ObjectiveSums {
                submitted: row.get(0)?,
                accepted: row.get(1)?,
                fulfilled: row.get(2)?,
                wait: Span::from_micros(row.get(3)?),
                budgets: Credits::from_micros(row.get(4)?),
                utility: Credits::from_micros(row.get(5)?),
            })
        })?;
        Ok(rows.into_iter().next().unwrap_or_default())
    }

    /// What was promised against what was kept, by tenths of the probability that was told at
    /// submission: jobs that were let in with a deadline and are over.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn calibration(&self, user: Option<u32>) -> Result<Vec<PromiseBin>, StoreError> {
        let sql = "SELECT tenth, sum(promises), sum(expected), sum(kept)
             FROM promise WHERE ?1 IS NULL OR user = ?1 GROUP BY tenth ORDER BY tenth";
        self.rows(sql, [user], |row| {
            Ok(PromiseBin {
                tenth: row.get(0)?,
                promises: row.get(1)?,
                expected: row.get(2)?,
                kept: row.get(3)?,
            })
        })
    }
}

#[cfg(test)]
mod tests {
    /// The tables are what they are: what is in them cannot be asked of the program.
    #[test]
    fn the_tables_tolerate_as_much_delay_as_the_objectives() {
        let tolerance = tollgate_model::outcome::DELAY_TOLERANCE.as_micros();
        assert_eq!(tolerance, 1_000);
    }
}
