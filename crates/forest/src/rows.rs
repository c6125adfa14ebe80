//! The latest rows of features with their outcomes.

use serde::{Deserialize, Serialize};

/// The latest rows from which a forest is fitted. The oldest row makes room for a new one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "StoredRows", into = "StoredRows")]
pub struct TrainingRows {
    n_features: usize,
    capacity: usize,
    /// Row after row. Row `n` of all is at `n % capacity`.
    features: Vec<f32>,
    outcomes: Vec<f32>,
    n_pushed: u64,
}

/// The stored form of rows, not checked yet.
#[derive(Clone, Serialize, Deserialize)]
struct StoredRows {
    n_features: usize,
    capacity: usize,
    features: Vec<f32>,
    outcomes: Vec<f32>,
    n_pushed: u64,
}

impl TrainingRows {
    /// Creates an empty window of `capacity` rows of `n_features` features. Both are at least 1.
    pub fn new(n_features: usize, capacity: usize) -> Self {
        assert!(n_features > 0 && capacity > 0, "rows of nothing");
        Self {
            n_features,
            capacity,
            features: Vec::new(),
            outcomes: Vec::new(),
            n_pushed: 0,
        }
    }

    /// Appends a row of `n_features` features with its outcome.
    pub fn push(&mut self, features: &[f32], outcome: f32) {
        assert_eq!(features.len(), self.n_features, "features of a row");
        if self.outcomes.len() < self.capacity {
            self.features.extend_from_slice(features);
            self.outcomes.push(outcome);
        } else {
            let slot = self.slot(self.n_pushed);
            self.outcomes[slot] = outcome;
            self.features[slot * self.n_features..][..self.n_features].copy_from_slice(features);
        }
        self.n_pushed += 1;
    }

    /// Returns the number of features of a row.
    pub fn n_features(&self) -> usize {
        self.n_features
    }

    /// Returns the number of rows that are kept.
    pub fn len(&self) -> usize {
        self.outcomes.len()
    }

    /// Returns whether no row was ever pushed.
    pub fn is_empty(&self) -> bool {
        self.outcomes.is_empty()
    }

    /// Returns the number of rows that were ever pushed.
    pub fn n_pushed(&self) -> u64 {
        self.n_pushed
    }

    /// Returns the rows with their outcomes, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&[f32], f32)> + ExactSizeIterator {
        (0..self.len()).map(|age| self.row(age))
    }

    /// Returns the rows that were pushed when `n_before` had been pushed before them. Those that are no longer
    /// kept are missing.
    pub fn since(&self, n_before: u64) -> impl Iterator<Item = (&[f32], f32)> {
        let fresh = usize::try_from(self.n_pushed.saturating_sub(n_before));
        let fresh = fresh.unwrap_or(usize::MAX).min(self.len());
        self.iter().skip(self.len() - fresh)
    }

    /// Returns the row at `position` from the oldest, 0, to the newest.
    fn row(&self, position: usize) -> (&[f32], f32) {
        let slot = self.slot(self.n_pushed - self.len() as u64 + position as u64);
        let features = &self.features[slot * self.n_features..][..self.n_features];
        (features, self.outcomes[slot])
    }

    fn slot(&self, nth: u64) -> usize {
        (nth % self.capacity as u64) as usize
    }
}

impl TryFrom<StoredRows> for TrainingRows {
    type Error = &'static str;

    fn try_from(stored: StoredRows) -> Result<Self, Self::Error> {
        let StoredRows {
            n_features,
            capacity,
            features,
            outcomes,
            n_pushed,
        } = stored;
        let is_whole = n_features > 0
            && capacity > 0
            && outcomes.len() as u64 == n_pushed.min(capacity as u64)
            && outcomes.len().checked_mul(n_features) == Some(features.len());
        if !is_whole {
            return Err("the rows of a forest are damaged");
        }
        Ok(Self {
            n_features,
            capacity,
            features,
            outcomes,
            n_pushed,
        })
    }
}

impl From<TrainingRows> for StoredRows {
    fn from(rows: TrainingRows) -> Self {
        Self {
            n_features: rows.n_features,
            capacity: rows.capacity,
            features: rows.features,
            outcomes: rows.outcomes,
            n_pushed: rows.n_pushed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcomes<'a>(rows: impl Iterator<Item = (&'a [f32], f32)>) -> Vec<f32> {
        rows.map(|(_, outcome)| outcome).collect()
    }

    #[test]
    fn full_window_forgets_the_oldest_row() {
        let mut rows = TrainingRows::new(2, 3);
        for nth in 0..5 {
            rows.push(&[nth as f32, 1.0], nth as f32);
        }
        assert_eq!(outcomes(rows.iter()), [2.0, 3.0, 4.0]);
        assert!(rows.iter().all(|(features, y)| features == [y, 1.0]));
        assert_eq!(outcomes(rows.since(4)), [4.0]);
        assert_eq!(outcomes(rows.since(0)), [2.0, 3.0, 4.0]);
        assert_eq!(outcomes(rows.since(9)), [0.0; 0]);
    }
}
