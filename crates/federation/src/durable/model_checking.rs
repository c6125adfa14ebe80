//! The same site with a clock that runs as it likes, for explorers.
//!
//! Safety must not rest on how fast anybody's clock runs. An explorer lets any timer that is set
//! run out at any moment ([`DurableSite::expired`]) and takes sites that differ only in how long their
//! timers still have for the same ([`DurableSite::untimed`]).

use tollgate_model::Instant;

use super::site::DurableSite;

/// What a site waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SiteTimer {
    /// Its next period.
    Period,
    /// The answers to its proposal, or to its request.
    Deadline,
    /// The time to repeat what it gave.
    Repeat,
    /// The end of its cool-down.
    CoolDown,
}

impl SiteTimer {
    /// Every timer.
    pub const ALL: [Self; 4] = [Self::Period, Self::Deadline, Self::Repeat, Self::CoolDown];
}

impl DurableSite {
    /// The site with a timer that runs out now, at [`Instant::ZERO`]; none if it is not set. The
    /// driver says [`crate::SiteEvent::Due`] next.
    #[must_use]
    pub fn expired(&self, timer: SiteTimer) -> Option<Self> {
        let mut site = self.clone();
        let at = site.timer(timer)?;
        let is_set = *at > Instant::ZERO || timer == SiteTimer::Period;
        *at = Instant::ZERO;
        is_set.then_some(site)
    }

    /// The site at [`Instant::ZERO`] with every timer that is set wound up again, and without what
    /// makes no difference as long as its worth stays as it is: sites that may behave alike from
    /// now on are equal. It may begin a round whenever its period is over, quiet or not, which is
    /// more than it may do in truth.
    #[must_use]
    pub fn untimed(&self) -> Self {
        let mut site = self.clone();
        let timing = site.timing();
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

/// Every instant that a site keeps.
pub(super) struct SiteTimersMut<'a> {
    pub(super) next_period: &'a mut Instant,
    pub(super) deadline: Option<&'a mut Instant>,
    pub(super) repeat_at: Option<&'a mut Instant>,
    pub(super) cool_until: &'a mut Instant,
    pub(super) quiet_until: &'a mut Instant,
}
