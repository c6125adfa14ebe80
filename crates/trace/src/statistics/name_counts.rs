//! The distribution of the jobs of a trace over the names of a column.

use std::collections::HashMap;

use crate::name_column::NameColumn;

/// The number of jobs of each name in a column.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NameCounts {
    /// The order reaches no result.
    jobs: HashMap<Box<str>, u64>,
}

impl NameCounts {
    pub(super) fn add(&mut self, labels: &NameColumn, row: usize) {
        let Some(name) = labels.get(row) else {
            return;
        };
        match self.jobs.get_mut(name) {
            Some(jobs) => *jobs += 1,
            None => {
                self.jobs.insert(name.into(), 1);
            }
        }
    }

    /// Returns the number of names.
    pub fn n_names(&self) -> usize {
        self.jobs.len()
    }

    /// Returns the number of jobs that have a name.
    pub fn n_known(&self) -> u64 {
        self.jobs.values().sum()
    }

    /// Returns the jobs of the `n` most frequent names, as a share of the jobs that have a name;
    /// None if no job has a name.
    pub fn share_of_top(&self, n: usize) -> Option<f64> {
        let known = self.n_known();
        let mut jobs: Vec<u64> = self.jobs.values().copied().collect();
        jobs.sort_unstable_by(|a, b| b.cmp(a));
        let top: u64 = jobs.iter().take(n).sum();
        (known > 0).then(|| top as f64 / known as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_active_names_come_first() {
        let mut labels = NameColumn::default();
        for name in [Some("ann"), None, Some("bob"), Some("bob"), Some("eve")] {
            labels.push(name);
        }
        let mut counts = NameCounts::default();
        (0..5).for_each(|row| counts.add(&labels, row));
        assert_eq!((counts.n_names(), counts.n_known()), (3, 4));
        assert_eq!(counts.share_of_top(1), Some(0.5));
        assert_eq!(counts.share_of_top(10), Some(1.0));
        assert_eq!(NameCounts::default().share_of_top(1), None);
    }
}
