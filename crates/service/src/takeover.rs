//! A change of rules while jobs are unfinished: what another policy takes over.
//!
//! Promises stay promises. A policy takes over jobs that wait with a promise only if it keeps such promises.
//! A job whose place was never in doubt does not lose it to a policy that rejects what it cannot promise.

use tollgate_model::{HostNameIndex, Instant, JobId};
use tollgate_policy::{AdmissionDecision, JobPhase};

use crate::command::Submission;
use crate::core::Core;
use crate::rules::AdmissionRules;

/// A reason why unfinished jobs cannot go on under other rules.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TakeoverObstacle {
    /// The market or the price is another.
    #[error(
        "unfinished jobs were admitted under {was}, but the configuration says {would_be}: {jobs}"
    )]
    Prices {
        /// Number of unfinished jobs.
        jobs: usize,
        /// The market and the price in force.
        was: String,
        /// Those of the configuration.
        would_be: String,
    },
    /// Jobs run, and only one of the policies shares nodes between jobs.
    #[error(
        "jobs run under `{was}`, and of it and `{would_be}` only one shares nodes between jobs: {jobs}"
    )]
    Sharing {
        /// Number of running jobs.
        jobs: usize,
        /// The policy in force.
        was: String,
        /// The policy of the configuration.
        would_be: String,
    },
    /// Jobs wait with a promise that the policy would not keep.
    #[error("jobs wait with a promise of `{was}`, which `{would_be}` would not keep: {jobs}")]
    Promises {
        /// Number of these jobs.
        jobs: usize,
        /// The policy in force.
        was: String,
        /// The policy of the configuration.
        would_be: String,
    },
    /// Jobs need devices, licences or a single host, and the policy chooses no hosts.
    #[error(
        "jobs need a single host, devices or licences, which `{would_be}` does not count: {jobs}"
    )]
    Hosts {
        /// Number of these jobs.
        jobs: usize,
        /// The policy of the configuration.
        would_be: String,
    },
}

impl Core {
    /// Returns why the unfinished jobs cannot go on under other rules; None if they can.
    pub fn takeover_obstacle(&self, rules: &AdmissionRules) -> Option<TakeoverObstacle> {
        let jobs = self.jobs().len();
        if jobs == 0 {
            return None;
        }
        if let Some([was, would_be]) = self.rules.other_prices(rules) {
            return Some(TakeoverObstacle::Prices {
                jobs,
                was,
                would_be,
            });
        }
        let (was, would_be) = (self.rules.policy.to_string(), rules.policy.to_string());
        if was == would_be {
            return None;
        }
        let view = self.gate.view(self.now);
        let count = |is_counted: &dyn Fn(&tollgate_policy::JobSlot) -> bool| {
            view.jobs().filter(|(_, job)| is_counted(job)).count()
        };
        let running = count(&|job| job.phase == JobPhase::Running);
        if running > 0 && self.rules.policy.shares_nodes() != rules.policy.shares_nodes() {
            return Some(TakeoverObstacle::Sharing {
                jobs: running,
                was,
                would_be,
            });
        }
        let promised = count(&|job| job.phase != JobPhase::Running && job.is_promised());
        if promised > 0 && !rules.policy.takes_over_promises() {
            return Some(TakeoverObstacle::Promises {
                jobs: promised,
                was,
                would_be,
            });
        }
        let placed = count(&|job| !job.spec.needs.is_none()) + self.placed_later();
        if placed > 0 && !rules.policy.chooses_hosts() {
            return Some(TakeoverObstacle::Hosts {
                jobs: placed,
                would_be,
            });
        }
        None
    }

    /// Lets the unfinished jobs go on under other rules, for which there is no
    /// [`Core::takeover_obstacle`]. A job that waited for its turn, and that the new policy would reject
    /// for its deadline, goes on without a promise.
    pub fn take_over(mut self, rules: AdmissionRules) -> Self {
        let had_waitlist = self.rules.policy.takes_over_promises();
        let is_other = self.rules.policy != rules.policy;
        let set_aside = rules.unpredictable.hosts_aside();
        let set_aside = set_aside.map(|host| self.host_names.learn(host));
        let set_aside: Vec<HostNameIndex> = set_aside.collect();
        self.gate.set_hosts_aside(&set_aside);
        let mut core = Self::restore(self.save(), rules);
        if is_other {
            let now = core.now;
            for slot in core.undecided(now) {
                let view = core.gate.view(now);
                let (spec, forecast) = (view.job(slot).spec, view.forecast(slot).copied());
                let decision = core
                    .gate
                    .quote(now, &spec, forecast.as_ref(), &mut core.scratch);
                let is_in_doubt = match decision {
                    AdmissionDecision::Reject(_) => true,
                    AdmissionDecision::Waitlist { .. } => !had_waitlist,
                    AdmissionDecision::Queue
                    | AdmissionDecision::Unpromised(_)
                    | AdmissionDecision::Promise { .. }
                    | AdmissionDecision::Run { .. } => false,
                };
                if is_in_doubt {
                    core.gate.drop_deadline(now, slot);
                    core.jobs.drop_deadline(slot);
                }
            }
            if !core.rules.policy.decides_arrays() {
                core.dissolve_groups();
            }
            core.gate.request_pass(now);
        }
        core
    }

    /// Returns the number of arrays and deferred jobs with needs: some of their tasks, or they themselves,
    /// are not in the gate yet.
    fn placed_later(&self) -> usize {
        let arrays = self.jobs.arrays.values().map(|array| &array.submission);
        let later = arrays.chain(self.jobs.deferred.values());
        let has_needs = |submission: &&Submission| submission.options.needs_hosts();
        later.filter(has_needs).count()
    }

    /// Returns the waiting jobs that have a deadline and no promise.
    fn undecided(&self, now: Instant) -> Vec<JobId> {
        let view = self.gate.view(now);
        let waiting = view.jobs().filter(|(_, job)| {
            job.phase != JobPhase::Running
                && job.accepted.is_none()
                && job.spec.sla.deadline.is_some()
        });
        waiting.map(|(id, _)| id).collect()
    }
}
