//! The state machine: from the observations of all sources to one state.
//!
//! Times are spans since the boot, by a clock that cannot be set. Nothing here reads a clock.

use std::collections::BTreeMap;
use std::time::Duration;

use tollgate_model::EvictionCause;

use crate::settings::PresenceSource;

/// A fact about the computer that a source has observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PresenceObservation {
    /// A person did something at this time.
    Activity(PresenceSource, Duration),
    /// The computer is in use for this cause until the source observes something else; free as far as the source knows
    /// if there is no cause.
    Use(PresenceSource, Option<EvictionCause>),
}

/// The state that follows from all observations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObservedUse {
    /// No source says that the computer is in use.
    Free {
        /// The time at which the last use ended.
        since: Duration,
    },
    /// At least one source says that the computer is in use.
    InUse {
        /// The time at which the use began.
        since: Duration,
        /// The cause of the source that has said so for the longest time.
        cause: EvictionCause,
    },
}

/// The machine. A computer is in use while any source says so, and for [`PresenceMachine::new`]'s `idle_for` after each
/// activity.
#[derive(Clone, Debug)]
pub struct PresenceMachine {
    idle_for: Duration,
    now: Duration,
    /// The uses by source: where they end and their causes.
    uses: BTreeMap<PresenceSource, SourceUse>,
    state: ObservedUse,
}

/// The use of the computer as one source sees it.
#[derive(Clone, Copy, Debug)]
struct SourceUse {
    since: Duration,
    cause: EvictionCause,
    /// None for a use until further notice.
    until: Option<Duration>,
}

impl PresenceMachine {
    /// Creates the machine of a computer that is free since `now`. A use by activity ends after `idle_for` without
    /// another one.
    pub const fn new(idle_for: Duration, now: Duration) -> Self {
        Self {
            idle_for,
            now,
            uses: BTreeMap::new(),
            state: ObservedUse::Free { since: now },
        }
    }

    /// Returns the state at the latest time that the machine knows.
    pub const fn state(&self) -> ObservedUse {
        self.state
    }

    /// Returns the time of the next change if no source observes anything; None if there is none.
    pub fn next_change(&self) -> Option<Duration> {
        self.uses.values().filter_map(|one| one.until).min()
    }

    /// Advances to `now` and takes account of observations. An earlier `now` than before counts as that, and a time of
    /// activity later than `now` as `now`.
    pub fn advance(&mut self, now: Duration, observations: &[PresenceObservation]) {
        let now = now.max(self.now);
        // The uses end before those of the same time begin.
        self.end_uses(now);
        self.now = now;
        for observation in observations {
            match *observation {
                PresenceObservation::Activity(source, at) => self.on_activity(source, at.min(now)),
                PresenceObservation::Use(source, cause) => self.on_use(source, cause),
            }
        }
        self.update(now);
    }

    fn on_activity(&mut self, source: PresenceSource, at: Duration) {
        let until = at + self.idle_for;
        if until <= self.now {
            return;
        }
        let one = self.uses.entry(source).or_insert(SourceUse {
            since: self.now,
            cause: EvictionCause::User,
            until: Some(until),
        });
        one.until = one.until.map(|before| before.max(until));
    }

    /// A source that observes both has a use until further notice, or its activities.
    fn on_use(&mut self, source: PresenceSource, cause: Option<EvictionCause>) {
        let Some(cause) = cause else {
            self.uses.remove(&source);
            return;
        };
        let since = self.uses.get(&source).map_or(self.now, |one| one.since);
        let until = None;
        let one = SourceUse {
            since,
            cause,
            until,
        };
        self.uses.insert(source, one);
    }

    /// Ends the uses that end by `now`. The computer is free since the last of them ended.
    fn end_uses(&mut self, now: Duration) {
        while let Some(end) = self.next_change().filter(|end| *end <= now) {
            self.uses
                .retain(|_, one| one.until.is_none_or(|until| until > end));
            self.update(end);
        }
    }

    fn update(&mut self, now: Duration) {
        let longest = self.uses.values().min_by_key(|one| one.since);
        self.state = match (longest, self.state) {
            (None, ObservedUse::Free { since }) => ObservedUse::Free { since },
            (None, ObservedUse::InUse { .. }) => ObservedUse::Free { since: now },
            (Some(one), ObservedUse::Free { .. }) => ObservedUse::InUse {
                since: now,
                cause: one.cause,
            },
            (Some(one), ObservedUse::InUse { since, .. }) => ObservedUse::InUse {
                since,
                cause: one.cause,
            },
        };
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const IDLE_FOR: Duration = Duration::from_secs(15);
    const KEYS: PresenceSource = PresenceSource::InputDevices;
    const LOAD: PresenceSource = PresenceSource::Load;

    const fn secs(secs: u64) -> Duration {
        Duration::from_secs(secs)
    }

    const fn in_use(since: u64, cause: EvictionCause) -> ObservedUse {
        ObservedUse::InUse {
            since: secs(since),
            cause,
        }
    }

    #[test]
    fn computer_is_free_when_the_last_activity_is_long_enough_ago() {
        let mut machine = PresenceMachine::new(IDLE_FOR, secs(0));
        machine.advance(secs(10), &[PresenceObservation::Activity(KEYS, secs(10))]);
        assert_eq!(machine.state(), in_use(10, EvictionCause::User));
        machine.advance(secs(20), &[PresenceObservation::Activity(KEYS, secs(20))]);
        assert_eq!(machine.next_change(), Some(secs(35)));
        machine.advance(secs(34), &[]);
        assert_eq!(machine.state(), in_use(10, EvictionCause::User));
        machine.advance(secs(50), &[]);
        assert_eq!(machine.state(), ObservedUse::Free { since: secs(35) });
    }

    #[test]
    fn cause_is_that_of_the_longest_use() {
        let mut machine = PresenceMachine::new(IDLE_FOR, secs(0));
        let load = Some(EvictionCause::Load);
        machine.advance(secs(1), &[PresenceObservation::Use(LOAD, load)]);
        machine.advance(secs(2), &[PresenceObservation::Activity(KEYS, secs(2))]);
        assert_eq!(machine.state(), in_use(1, EvictionCause::Load));
        machine.advance(secs(3), &[PresenceObservation::Use(LOAD, None)]);
        assert_eq!(machine.state(), in_use(1, EvictionCause::User));
        machine.advance(secs(17), &[]);
        assert_eq!(machine.state(), ObservedUse::Free { since: secs(17) });
    }

    #[test]
    fn activity_of_long_ago_is_no_use() {
        let mut machine = PresenceMachine::new(IDLE_FOR, secs(100));
        machine.advance(secs(100), &[PresenceObservation::Activity(KEYS, secs(85))]);
        assert_eq!(machine.state(), ObservedUse::Free { since: secs(100) });
    }

    #[test]
    fn clock_that_goes_back_changes_nothing() {
        let mut machine = PresenceMachine::new(IDLE_FOR, secs(100));
        machine.advance(secs(90), &[PresenceObservation::Activity(KEYS, secs(500))]);
        assert_eq!(machine.state(), in_use(100, EvictionCause::User));
        assert_eq!(machine.next_change(), Some(secs(115)));
    }

    /// A step: the seconds since the last one, and the observations.
    type Step = (u64, Vec<PresenceObservation>);

    fn observation() -> impl Strategy<Value = PresenceObservation> {
        let activity = (0_u64..200).prop_map(|at| PresenceObservation::Activity(KEYS, secs(at)));
        let cause = prop::option::of(Just(EvictionCause::Load));
        let held = cause.prop_map(|cause| PresenceObservation::Use(LOAD, cause));
        prop_oneof![activity, held]
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = (0_u64..30, prop::collection::vec(observation(), 0..3));
        prop::collection::vec(step, 1..20)
    }

    /// Returns whether the computer is in use at `now`, from the whole history of steps.
    fn is_used(history: &[(u64, Vec<PresenceObservation>)], now: u64) -> bool {
        let mut is_loaded = false;
        let mut is_active = false;
        for (at, observations) in history {
            for observation in observations {
                match observation {
                    PresenceObservation::Use(_, cause) => is_loaded = cause.is_some(),
                    PresenceObservation::Activity(_, when) => {
                        let when = (*when).min(secs(*at));
                        is_active |= when + IDLE_FOR > secs(now);
                    }
                }
            }
        }
        is_loaded || is_active
    }

    proptest! {
        #[test]
        fn computer_is_in_use_exactly_while_a_source_observes_use(steps in steps()) {
            let mut machine = PresenceMachine::new(IDLE_FOR, Duration::ZERO);
            let (mut now, mut history, mut last) = (0, Vec::new(), Duration::ZERO);
            for (wait, observations) in steps {
                // Between two steps each second.
                for at in now..now + wait {
                    machine.advance(secs(at), &[]);
                    let is_in_use = matches!(machine.state(), ObservedUse::InUse { .. });
                    prop_assert_eq!(is_in_use, is_used(&history, at));
                }
                now += wait;
                machine.advance(secs(now), &observations);
                history.push((now, observations));
                let (ObservedUse::Free { since } | ObservedUse::InUse { since, .. }) = machine.state();
                let is_in_use = matches!(machine.state(), ObservedUse::InUse { .. });
                prop_assert_eq!(is_in_use, is_used(&history, now));
                prop_assert!(since >= last && since <= secs(now));
                last = since;
            }
        }

        #[test]
        fn one_long_step_equals_many_short_ones(steps in steps()) {
            let mut short = PresenceMachine::new(IDLE_FOR, Duration::ZERO);
            let mut long = short.clone();
            let mut now = 0;
            for (wait, observations) in steps {
                for at in now..now + wait {
                    short.advance(secs(at), &[]);
                }
                now += wait;
                short.advance(secs(now), &observations);
                long.advance(secs(now), &observations);
                prop_assert_eq!(short.state(), long.state());
            }
        }
    }
}
