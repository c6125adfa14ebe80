//! The same site with a clock that runs at any speed, for explorers.
//!
//! Safety must not depend on the speed of any clock. An explorer lets any pending timer fire at any
//! moment ([`DurableSite::expired`]), and treats sites that differ only in the remaining time of
//! their timers as equal ([`DurableSite::untimed`]).

use tollgate_model::Instant;

use super::site::DurableSite;

/// A timer of a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SiteTimer {
    /// The start of the next period.
    Period,
    /// The deadline for the answers to a proposal, or to a request.
    Deadline,
    /// The time to repeat unconfirmed transfers.
    Repeat,
    /// The end of the cool-down.
    CoolDown,
}

impl SiteTimer {
    /// All timers.
    pub const ALL: [Self; 4] = [Self::Period, Self::Deadline, Self::Repeat, Self::CoolDown];
}

impl DurableSite {
    /// Returns the site with a timer that fires now, at [`Instant::ZERO`], or None if the timer is
    /// not set. The driver sends [`crate::SiteEvent::Due`] next.
    #[must_use]
    pub fn expired(&self, timer: SiteTimer) -> Option<Self> {
        let mut site = self.clone();
        let at = site.timer(timer)?;
        let is_set = *at > Instant::ZERO || timer == SiteTimer::Period;
        *at = Instant::ZERO;
        is_set.then_some(site)
    }

    /// Returns the site at [`Instant::ZERO`] with every pending timer reset, and without the state
    /// that makes no difference as long as its measured values stay the same. Sites that can behave
    /// alike from now on become equal. The site may begin a round whenever its period has ended,
    /// even in its quiet time, which allows more than the real site does.
    #[must_use]
    pub fn untimed(&self) -> Self {
        let mut site = self.clone();
        let timing = site.terms().timing;
        for timer in SiteTimer::ALL {
            let full = match timer {
                SiteTimer::Period => timing.period,
                SiteTimer::Deadline | SiteTimer::Repeat => timing.time_out(),
                SiteTimer::CoolDown => timing.cool_down(),
            };
            if let Some(at) = site.timer(timer)
                && *at > Instant::ZERO
            {
                *at = Instant::ZERO + full;
            }
        }
        *site.timers_mut().quiet_until = Instant::ZERO;
        site.forget();
        site
    }

    fn timer(&mut self, timer: SiteTimer) -> Option<&mut Instant> {
        let times = self.timers_mut();
        match timer {
            SiteTimer::Period => Some(times.next_period),
            SiteTimer::Deadline => times.deadline,
            SiteTimer::Repeat => times.repeat_at,
            SiteTimer::CoolDown => Some(times.cool_until),
        }
    }
}

/// References to every instant that a site stores.
pub(super) struct SiteTimersMut<'a> {
    pub(super) next_period: &'a mut Instant,
    pub(super) deadline: Option<&'a mut Instant>,
    pub(super) repeat_at: Option<&'a mut Instant>,
    pub(super) cool_until: &'a mut Instant,
    pub(super) quiet_until: &'a mut Instant,
}
