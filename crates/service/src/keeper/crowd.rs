//! How many jobs each user has.

use std::collections::BTreeMap;

/// Who may hand in more jobs in a turn.
pub(super) struct Crowd {
    most: u32,
    /// How many each user has; none while not even all together can have too many.
    counts: Option<BTreeMap<u32, u32>>,
}

impl Crowd {
    /// `live` are the users of the jobs that are not over, one a job; up to `arriving` are handed in.
    /// They are counted only where somebody may have too many.
    pub(super) fn new<I: Iterator<Item = u32>>(
        most: u32,
        arriving: usize,
        live: impl Fn() -> I,
    ) -> Self {
        let together = live().count() + arriving;
        let counts = (together > most as usize).then(|| {
            let mut counts = BTreeMap::new();
            for user in live() {
                *counts.entry(user).or_insert(0) += 1;
            }
            counts
        });
        Self { most, counts }
    }

    /// Whether another job of this user may come; it is counted if so.
    pub(super) fn enters(&mut self, user: u32) -> bool {
        let Some(counts) = &mut self.counts else {
            return true;
        };
        let count = counts.entry(user).or_insert(0);
        if *count >= self.most {
            return false;
        }
        *count += 1;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_user_has_room_for_themselves() {
        let live = [1, 1, 2];
        let mut crowd = Crowd::new(3, 4, || live.into_iter());
        assert_eq!(
            [1, 1, 2, 3].map(|user| crowd.enters(user)),
            [true, false, true, true]
        );
    }

    #[test]
    fn few_jobs_are_not_counted() {
        let live = [1, 1];
        let crowd = Crowd::new(3, 1, || live.into_iter());
        assert!(crowd.counts.is_none());
    }
}
