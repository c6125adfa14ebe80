//! The limits on the numbers of each user's jobs and tasks.

use std::collections::BTreeMap;

use tollgate_service::UnfinishedCounts;

use super::request_error::RequestError;

/// The users' remaining numbers of jobs and tasks in a turn.
pub(super) struct UserQuota {
    max: UnfinishedCounts,
    /// The number of job numbers that are left.
    n_numbers: u64,
    /// Each user's unfinished jobs and tasks; None if all together are below the limits.
    counts: Option<BTreeMap<u32, UnfinishedCounts>>,
}

impl UserQuota {
    /// Creates the quota from the `live` users with their unfinished jobs and tasks; `together` are those of
    /// all users with the submissions of the turn. Users are counted apart only if some user may exceed a limit.
    /// `n_numbers` job numbers are left.
    pub(super) fn new<I: Iterator<Item = (u32, UnfinishedCounts)>>(
        max: UnfinishedCounts,
        n_numbers: u64,
        together: UnfinishedCounts,
        live: impl Fn() -> I,
    ) -> Self {
        let counts = within(together, max).is_err().then(|| {
            let mut counts = BTreeMap::new();
            for (user, jobs) in live() {
                let count: &mut UnfinishedCounts = counts.entry(user).or_default();
                *count = *count + jobs;
            }
            counts
        });
        Self {
            max,
            n_numbers,
            counts,
        }
    }

    /// Counts these jobs as the user's.
    ///
    /// # Errors
    ///
    /// The limit that they exceed; they are not counted then.
    pub(super) fn try_admit(
        &mut self,
        user: u32,
        jobs: UnfinishedCounts,
    ) -> Result<(), RequestError> {
        let left = self.n_numbers.checked_sub(jobs.jobs);
        let left = left.ok_or(RequestError::NoJobNumber)?;
        if let Some(counts) = &mut self.counts {
            let count = counts.entry(user).or_default();
            let sum = *count + jobs;
            within(sum, self.max)?;
            *count = sum;
        }
        self.n_numbers = left;
        Ok(())
    }
}

fn within(counts: UnfinishedCounts, max: UnfinishedCounts) -> Result<(), RequestError> {
    if counts.jobs > max.jobs {
        return Err(RequestError::JobLimit(max.jobs));
    }
    if counts.tasks > max.tasks {
        return Err(RequestError::TaskLimit(max.tasks));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn counts(jobs: u64, tasks: u64) -> UnfinishedCounts {
        UnfinishedCounts { jobs, tasks }
    }

    #[test]
    fn limits_apply_to_each_user_separately() {
        let live = [(1, counts(1, 1)), (1, counts(1, 5)), (2, counts(1, 1))];
        let mut quota = UserQuota::new(counts(3, 9), 100, counts(7, 12), || live.into_iter());
        assert_eq!(
            [1, 1, 2, 3].map(|user| quota.try_admit(user, counts(1, 1))),
            [Ok(()), Err(RequestError::JobLimit(3)), Ok(()), Ok(())]
        );
        assert_eq!(
            [8, 7].map(|tasks| quota.try_admit(2, counts(1, tasks))),
            [Err(RequestError::TaskLimit(9)), Ok(())]
        );
        assert_eq!(
            [9, 8].map(|tasks| quota.try_admit(3, counts(1, tasks))),
            [Err(RequestError::TaskLimit(9)), Ok(())]
        );
    }

    #[test]
    fn job_numbers_run_out() {
        let mut quota = UserQuota::new(counts(9, 9), 3, counts(0, 0), || [].into_iter());
        assert_eq!(
            [2, 2, 1, 1].map(|jobs| quota.try_admit(1, counts(jobs, jobs))),
            [
                Ok(()),
                Err(RequestError::NoJobNumber),
                Ok(()),
                Err(RequestError::NoJobNumber)
            ]
        );
    }

    #[test]
    fn users_are_not_counted_apart_below_the_limits() {
        let live = [(1, counts(1, 2))];
        let quota = UserQuota::new(counts(2, 3), 100, counts(2, 3), || live.into_iter());
        assert!(quota.counts.is_none());
    }
}
