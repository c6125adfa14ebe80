//! The work that each user asked for in the last day.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};
use tollgate_model::{Instant, Span, UserId};

const HOUR: Span = Span::from_secs(3600);
/// Number of hours that count, with the present one.
const HOURS: i64 = 24;

/// The work that users asked for, in processor seconds by the hour in which they did. Users without a request in the
/// last day have no entry from the next hour on in which another user asks for work.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct RequestedWork {
    users: BTreeMap<UserId, VecDeque<(i64, f64)>>,
}

fn hour_of(now: Instant) -> i64 {
    now.as_micros().div_euclid(HOUR.as_micros())
}

impl RequestedWork {
    /// Records that a user asks for work. `now` never goes back.
    pub(super) fn add(&mut self, user: UserId, seconds: f64, now: Instant) {
        let hour = hour_of(now);
        let hours = self.users.entry(user).or_default();
        match hours.back_mut() {
            Some((last, sum)) if *last == hour => *sum += seconds,
            Some(_) | None => {
                hours.push_back((hour, seconds));
                self.forget_before(hour - HOURS + 1);
            }
        }
    }

    fn forget_before(&mut self, first: i64) {
        self.users.retain(|_, hours| {
            while hours.front().is_some_and(|(hour, _)| *hour < first) {
                hours.pop_front();
            }
            !hours.is_empty()
        });
    }

    /// Returns the users who asked for work in the last day, each with the processor seconds.
    pub(super) fn active(&self, now: Instant) -> impl Iterator<Item = (UserId, f64)> {
        let first = hour_of(now) - HOURS + 1;
        let sums = self.users.iter().map(move |(&user, hours)| {
            let recent = hours.iter().filter(|(hour, _)| *hour >= first);
            // Not `sum`, which starts at -0.
            (user, recent.fold(0.0, |sum, (_, seconds)| sum + seconds))
        });
        sums.filter(|(_, seconds)| *seconds > 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_count_for_a_day() {
        let (ann, bob) = (UserId(1), UserId(2));
        let hour = |hours: i64| Instant::ZERO + Span::from_secs(3600 * hours);
        let mut requests = RequestedWork::default();
        requests.add(ann, 100.0, hour(0));
        requests.add(ann, 50.0, hour(0));
        requests.add(bob, 10.0, hour(20));
        let at = |requests: &RequestedWork, now| requests.active(now).collect::<Vec<_>>();
        assert_eq!(at(&requests, hour(23)), [(ann, 150.0), (bob, 10.0)]);
        assert_eq!(at(&requests, hour(24)), [(bob, 10.0)]);
        requests.add(ann, 1.0, hour(50));
        assert_eq!(at(&requests, hour(50)), [(ann, 1.0)]);
    }

    #[test]
    fn users_of_an_earlier_day_take_no_memory() {
        let mut requests = RequestedWork::default();
        for user in 0..1000 {
            requests.add(
                UserId(user),
                1.0,
                Instant::ZERO + Span::from_secs(user.into()),
            );
        }
        let later = Instant::ZERO + Span::from_secs(24 * 3600);
        requests.add(UserId(0), 1.0, later);
        assert_eq!(requests.users.len(), 1);
        assert_eq!(requests.users[&UserId(0)].len(), 1);
    }
}
