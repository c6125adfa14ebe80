//! Flags that would change nothing in the requested run. They are refused, because a user who gives one
//! expects another answer.

use std::num::NonZeroU32;

use tollgate_forecast::UnpredictableRule;
use tollgate_model::{Market, Span};
use tollgate_policy::PolicySpec;
use tollgate_replay::settings::learns;
use tollgate_sim::{EstimateOrigin, OverrunRule, TaskCoupling};
use tollgate_workload::{DeadlineModel, WorkloadConfig};

use super::args::ReplayArgs;
use super::error::ReplayFlagError;

/// The parts of a run on which flags depend.
pub(super) struct RunContents<'a> {
    /// The market, or of several clusters the one that demands most of a job.
    pub(super) market: Market,
    /// The policies of the run.
    pub(super) policies: &'a [PolicySpec],
    /// Whether jobs are recognised whose run time cannot be predicted.
    pub(super) recognises_unpredictable: bool,
}

/// A condition that a flag needs to change anything.
#[derive(Clone, Copy)]
struct FlagNeed {
    is_met: bool,
    /// Why the flag changes nothing.
    reason: &'static str,
    /// The flag to add.
    hint: &'static str,
}

impl RunContents<'_> {
    /// Returns an error for the first flag that changes nothing.
    pub(super) fn check_flags(
        &self,
        args: &ReplayArgs,
        jobs: &WorkloadConfig,
    ) -> Result<(), ReplayFlagError> {
        let unused = self
            .flags(args, jobs)
            .into_iter()
            .find(|(_, is_given, need)| *is_given && !need.is_met);
        match unused {
            Some((flag, _, FlagNeed { reason, hint, .. })) => {
                Err(ReplayFlagError::NoEffect { flag, reason, hint })
            }
            None => Ok(()),
        }
    }

    /// Returns each flag that may be without effect, whether it is given, and what it needs.
    fn flags(
        &self,
        args: &ReplayArgs,
        jobs: &WorkloadConfig,
    ) -> Vec<(&'static str, bool, FlagNeed)> {
        let usual = WorkloadConfig::default();
        let budgets = self.budgets();
        let penalties = self.penalties();
        let sharing = self.sharing();
        let factor = factor(jobs.deadlines);
        let draws = self.draws(jobs);
        let learning = self.learning(args.estimates);
        vec![
            ("--tasks", args.tasks != TaskCoupling::Rigid, sharing),
            (
                "--preemption-cost",
                args.preemption_cost > Span::ZERO,
                sharing,
            ),
            (
                "--unpredictable-spread",
                args.unpredictable_spread != UnpredictableRule::default().spread,
                FlagNeed {
                    is_met: !args.unpredictable.is_empty(),
                    reason: "no job is judged by its spread",
                    hint: "add `--unpredictable none`, or a treatment",
                },
            ),
            ("--seed", args.seed != usual.seed, draws),
            ("--seeds", args.seeds > NonZeroU32::MIN, draws),
            (
                "--inaccuracy",
                jobs.inaccuracy != usual.inaccuracy,
                requests(args),
            ),
            (
                "--high-urgency",
                jobs.high_urgency != usual.high_urgency,
                self.urgency(jobs.deadlines),
            ),
            (
                "--deadline-low",
                jobs.deadline.low != usual.deadline.low,
                factor,
            ),
            (
                "--deadline-ratio",
                jobs.deadline.ratio != usual.deadline.ratio,
                factor,
            ),
            (
                "--deadline-bias",
                jobs.deadline.bias != usual.deadline.bias,
                run_times(jobs.deadlines),
            ),
            ("--budget-low", jobs.budget.low != usual.budget.low, budgets),
            (
                "--budget-ratio",
                jobs.budget.ratio != usual.budget.ratio,
                budgets,
            ),
            (
                "--budget-bias",
                jobs.budget.bias != usual.budget.bias,
                budgets,
            ),
            (
                "--penalty-low",
                jobs.penalty.low != usual.penalty.low,
                penalties,
            ),
            (
                "--penalty-ratio",
                jobs.penalty.ratio != usual.penalty.ratio,
                penalties,
            ),
            (
                "--penalty-bias",
                jobs.penalty.bias != usual.penalty.bias,
                penalties,
            ),
            (
                "--penalty-limit",
                jobs.penalty_limit != usual.penalty_limit,
                penalties,
            ),
            ("--learn", !args.learn.is_empty(), learning),
            ("--learn-before", args.learn_before, learning),
            (
                "--prefer",
                args.clusters.has_preference(),
                several_clusters(args),
            ),
        ]
    }

    fn budgets(&self) -> FlagNeed {
        FlagNeed {
            is_met: self.market != Market::None,
            reason: "jobs have budgets only in a market",
            hint: "add `--market commodity` or `--market bid`",
        }
    }

    fn penalties(&self) -> FlagNeed {
        FlagNeed {
            is_met: self.market == Market::Bid,
            reason: "delays cost something only in the market `bid`",
            hint: "add `--market bid`",
        }
    }

    fn sharing(&self) -> FlagNeed {
        FlagNeed {
            is_met: self.policies.iter().any(PolicySpec::shares_nodes),
            reason: "under no policy of this run jobs share nodes or are paused",
            hint: "add a policy such as `--policy libra-risk`; `tollgate policies` says which share nodes",
        }
    }

    fn urgency(&self, deadlines: DeadlineModel) -> FlagNeed {
        FlagNeed {
            is_met: deadlines.uses_urgency() || self.market != Market::None,
            reason: "neither these deadlines nor any budget depend on the urgency of a job",
            hint: "add `--deadlines habit`, or a market",
        }
    }

    fn draws(&self, jobs: &WorkloadConfig) -> FlagNeed {
        let draws_deadlines = jobs.deadlines.is_drawn() || jobs.without_deadline > 0.0;
        FlagNeed {
            is_met: draws_deadlines || self.market != Market::None,
            reason: "nothing is drawn: these deadlines follow from the records",
            hint: "add `--deadlines habit`, or a market",
        }
    }

    fn learning(&self, estimates: EstimateOrigin) -> FlagNeed {
        FlagNeed {
            is_met: learns(estimates, self.policies) || self.recognises_unpredictable,
            reason: "no estimate and no policy of this run depends on earlier jobs",
            hint: "add `--estimates forecast:0.9`, or a policy that plans (`--policy plan`)",
        }
    }
}

fn factor(deadlines: DeadlineModel) -> FlagNeed {
    FlagNeed {
        is_met: deadlines.is_factor(),
        reason: "these deadlines are no factor of a run time",
        hint: "add `--deadlines habit`, `estimate` or `paper`",
    }
}

fn run_times(deadlines: DeadlineModel) -> FlagNeed {
    FlagNeed {
        is_met: deadlines == DeadlineModel::Paper,
        reason: "these deadlines depend on no true run time",
        hint: "the bias compares true run times, which only `--deadlines paper` looks at",
    }
}

/// Requests matter to policies, to users' habits, to kills at the limit, and to files of jobs.
fn requests(args: &ReplayArgs) -> FlagNeed {
    FlagNeed {
        is_met: args.estimates != EstimateOrigin::True
            || args.sla.deadlines == DeadlineModel::Habit
            || args.overrun == OverrunRule::Kill
            || args.jobs_out.is_some(),
        reason: "nothing of this run depends on the users' estimates",
        hint: "leave out `--estimates true`",
    }
}

fn several_clusters(args: &ReplayArgs) -> FlagNeed {
    FlagNeed {
        is_met: args.clusters.is_given(),
        reason: "there is one cluster",
        hint: "name the clusters with `--clusters FILE,..`",
    }
}
