//! How well promises were kept, and the objectives, of the jobs that are over.

use rusqlite::params;
use tollgate_model::outcome::DELAY_TOLERANCE;
use tollgate_model::{Credits, Span};

use super::{Reader, StoreError};

/// Sums over the jobs that are over. One that its user took back is neither kept nor broken, and is
/// left out, and so are quotes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
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
pub struct Bin {
    /// Which tenth: 0 for below 0.1, 9 for 0.9 to 1.
    pub tenth: u32,
    /// How many.
    pub promises: u64,
    /// How many of them are to be kept, by the probabilities that were told: the sum of those.
    pub expected: f64,
    /// How many were.
    pub kept: u64,
}

impl Reader {
    /// The sums, of everybody or of one user.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn figures(&self, user: Option<u32>) -> Result<Figures, StoreError> {
        // Of an array each task counts; those of it that are over, also while others are not.
        let sql = "SELECT coalesce(sum(submitted), 0), coalesce(sum(accepted), 0),
                 coalesce(sum(kept), 0), coalesce(sum(wait), 0), coalesce(sum(budget), 0),
                 coalesce(sum((SELECT sum(amount) FROM ledger WHERE job = id)), 0)
             FROM (SELECT id, user, 1 AS submitted, state <> 'rejected' AS accepted, kept,
                     CASE WHEN kept THEN start - submit END AS wait, budget
                 FROM (SELECT *, state = 'finished' AND (due IS NULL OR finish <= due + ?2) AS kept
                     FROM job WHERE state IN ('finished', 'lost', 'rejected')
                         AND NOT EXISTS (SELECT 1 FROM array WHERE job = id))
                 UNION ALL
                 SELECT id, user, finished + lost + rejected, finished + lost, fulfilled,
                     wait, budget * (finished + lost + rejected)
                 FROM array JOIN job ON id = job)
             WHERE ?1 IS NULL OR user = ?1";
        let rows = self.rows(sql, params![user, DELAY_TOLERANCE.as_micros()], |row| {
            Ok(Figures {
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
    pub fn calibration(&self, user: Option<u32>) -> Result<Vec<Bin>, StoreError> {
        let sql = "SELECT min(CAST(probability * 10 AS INTEGER), 9) AS tenth, sum(promises),
                 sum(probability * promises), sum(kept)
             FROM (SELECT user, probability, 1 AS promises,
                     state = 'finished' AND finish <= due + ?2 AS kept
                 FROM job WHERE state IN ('finished', 'lost') AND due IS NOT NULL
                     AND probability IS NOT NULL
                     AND NOT EXISTS (SELECT 1 FROM array WHERE job = id)
                 UNION ALL
                 SELECT user, probability, finished + lost, fulfilled
                 FROM array JOIN job ON id = job
                 WHERE due IS NOT NULL AND probability IS NOT NULL AND finished + lost > 0)
             WHERE ?1 IS NULL OR user = ?1 GROUP BY tenth ORDER BY tenth";
        self.rows(sql, params![user, DELAY_TOLERANCE.as_micros()], |row| {
            Ok(Bin {
                tenth: row.get(0)?,
                promises: row.get(1)?,
                expected: row.get(2)?,
                kept: row.get(3)?,
            })
        })
    }
}
