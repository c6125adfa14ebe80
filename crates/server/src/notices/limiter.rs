//! The limit on the notices that a user gets by one target.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// The time in which the number of notices to a user is limited.
pub(super) const WINDOW: Duration = Duration::from_secs(60);

/// The notices that each user got by each target in the present window.
pub(super) struct NoticeLimiter {
    per_window: u32,
    receivers: BTreeMap<(u32, String), NoticeWindow>,
}

struct NoticeWindow {
    began: Instant,
    sent: u32,
    left_out: u32,
}

impl NoticeLimiter {
    pub(super) fn new(per_window: u32) -> Self {
        Self {
            per_window,
            receivers: BTreeMap::new(),
        }
    }

    /// Returns whether the user may get a notice by this target at `now`: then the number of those that were left out
    /// since the last one. None if this one is left out, too.
    pub(super) fn admit(&mut self, user: u32, target: &str, now: Instant) -> Option<u32> {
        let window = self
            .receivers
            .entry((user, target.to_owned()))
            .or_insert(NoticeWindow {
                began: now,
                sent: 0,
                left_out: 0,
            });
        if now.duration_since(window.began) >= WINDOW {
            window.began = now;
            window.sent = 0;
        }
        if window.sent == self.per_window {
            window.left_out += 1;
            return None;
        }
        window.sent += 1;
        Some(std::mem::take(&mut window.left_out))
    }

    /// Returns the users and targets of windows that have ended, with the number of notices that were left out and
    /// not told since. Windows in which nothing was left out are forgotten.
    pub(super) fn ended(&mut self, now: Instant) -> Vec<((u32, String), u32)> {
        let over = |window: &NoticeWindow| now.duration_since(window.began) >= WINDOW;
        let ended = self.receivers.extract_if(.., |_, window| over(window));
        ended
            .map(|(receiver, window)| (receiver, window.left_out))
            .filter(|&(_, left_out)| left_out > 0)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notices_beyond_the_limit_are_counted_and_reported_later() {
        let mut limiter = NoticeLimiter::new(2);
        let began = Instant::now();
        let sent: Vec<Option<u32>> = (0..5).map(|_| limiter.admit(7, "mail", began)).collect();
        assert_eq!(sent, [Some(0), Some(0), None, None, None]);
        assert_eq!(limiter.admit(8, "mail", began), Some(0), "another user");
        assert_eq!(limiter.admit(7, "chat", began), Some(0), "another target");
        assert_eq!(limiter.ended(began), []);
        let later = began + WINDOW;
        assert_eq!(limiter.ended(later), [((7, "mail".to_owned()), 3)]);
        assert_eq!(limiter.admit(7, "mail", later), Some(0), "they were sent");
        for _ in 0..4 {
            limiter.admit(7, "mail", later);
        }
        assert_eq!(limiter.admit(7, "mail", later + WINDOW), Some(3));
    }
}
