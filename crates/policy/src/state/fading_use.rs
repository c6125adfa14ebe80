//! The use that each user made of the machine, of which half is forgotten each day.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tollgate_model::{Instant, Span, UserId};

/// The time after which half of a use is forgotten.
pub const USE_HALF_LIFE: Span = Span::from_secs(24 * 3600);

/// The uses of all users, in processor seconds that fade: that of a user who holds `p` processors for ever
/// approaches `p` times [`USE_HALF_LIFE`] / ln 2.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct FadingUses {
    users: BTreeMap<UserId, FadingUse>,
}

/// The use of one user.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct FadingUse {
    /// Processor seconds, as of the instant.
    seconds: f64,
    as_of: Instant,
    /// Processors that the user's jobs hold since then.
    held: u32,
}

impl FadingUse {
    /// Returns the processor seconds at an instant that is not before `as_of`.
    fn at(&self, now: Instant) -> f64 {
        let half_lives = now.since(self.as_of).as_secs_f64() / USE_HALF_LIFE.as_secs_f64();
        let kept = (-half_lives).exp2();
        let mean_life_s = USE_HALF_LIFE.as_secs_f64() / std::f64::consts::LN_2;
        self.seconds * kept + f64::from(self.held) * mean_life_s * (1.0 - kept)
    }
}

impl FadingUses {
    /// Records that a job took processors.
    pub(super) fn take(&mut self, user: UserId, procs: u32, now: Instant) {
        self.brought_to(user, now).held += procs;
    }

    /// Records that a job gave its processors back.
    pub(super) fn give_back(&mut self, user: UserId, procs: u32, now: Instant) {
        self.brought_to(user, now).held -= procs;
    }

    /// Returns the processor seconds of a user; 0 if no job of the user ever ran.
    pub(super) fn of(&self, user: UserId, now: Instant) -> f64 {
        self.users.get(&user).map_or(0.0, |known| known.at(now))
    }

    fn brought_to(&mut self, user: UserId, now: Instant) -> &mut FadingUse {
        let known = self.users.entry(user).or_insert(FadingUse {
            seconds: 0.0,
            as_of: now,
            held: 0,
        });
        known.seconds = known.at(now);
        known.as_of = now;
        known
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_a_use_is_forgotten_each_day() {
        let (ann, bob) = (UserId(1), UserId(2));
        let hour = |hours: i64| Instant::from_secs(3600 * hours);
        let mut uses = FadingUses::default();
        uses.take(ann, 4, hour(0));
        uses.give_back(ann, 4, hour(1));
        let used = uses.of(ann, hour(1));
        // Of four processor hours a hundredth part has faded in the meantime.
        assert!((14_190.0..14_200.0).contains(&used), "{used}");
        assert!((uses.of(ann, hour(25)) - used / 2.0).abs() < 1e-6);
        assert_eq!(uses.of(bob, hour(25)), 0.0);
    }

    #[test]
    fn use_is_the_same_however_often_it_is_brought_up_to_date() {
        let user = UserId(1);
        let (mut once, mut often) = (FadingUses::default(), FadingUses::default());
        once.take(user, 3, Instant::ZERO);
        often.take(user, 3, Instant::ZERO);
        for second in 1..100 {
            often.take(user, 1, Instant::from_secs(second * 977));
            often.give_back(user, 1, Instant::from_secs(second * 977));
        }
        let end = Instant::from_secs(100_000);
        assert!((once.of(user, end) - often.of(user, end)).abs() < 1e-6);
    }
}
