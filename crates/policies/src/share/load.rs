//! The predicted total share of a node, as long as nothing happens there.
//!
//! Between two events a task progresses at a constant rate p. Assume it had r seconds of work left when d
//! seconds were left to its deadline. Then with x seconds left its share is (r - p (d - x)) / x = p + (r - p
//! d) / x: a constant, and one division. So an admission decision is a sum of divisions over a flat row for
//! each node, which the processor does several at a time.

use tollgate_model::Instant;
use tollgate_policy::{Node, NodeTask};

use super::settings::ShareParams;
use super::weights::ShareRegime;
use super::{ShareRule, weights};

/// The number of tasks whose cells the processor handles together.
const LANES: usize = 4;

/// The shares of a node's tasks as functions of time, as long as nothing happens on the node.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct NodeLoad {
    /// Number of tasks on the node.
    pub(super) n_tasks: u32,
    /// True if a task is past its deadline.
    pub(super) is_expired: bool,
    /// True if a share follows another law than the curves: the node itself must be evaluated.
    pub(super) is_nonlinear: bool,
    /// The place of the task that is due first, and its deadline in microseconds; infinite if no deadline
    /// is ahead.
    first: usize,
    first_due: f64,
    /// The latest deadline of the node's tasks, in microseconds.
    last_due: f64,
    /// The instant at which shares or rates were set, in microseconds.
    since: f64,
    /// The total share at that instant.
    total: f64,
    /// The part of the node that tasks have beyond their shares since then.
    surplus: f64,
    /// The sum of the constants.
    base: f64,
    curves: Vec<ShareCurves>,
}

/// Four tasks' shares as functions of time: constant + numerator / (due - now), the numerators and
/// the instants in microseconds, as floats that represent whole numbers exactly up to 285 years. A cell
/// without a task is a share of zero.
#[derive(Clone, Copy, Debug, PartialEq)]
struct ShareCurves {
    constants: [f64; LANES],
    numerators: [f64; LANES],
    due_us: [f64; LANES],
}

impl ShareCurves {
    const ZERO: Self = Self {
        constants: [0.0; LANES],
        numerators: [0.0; LANES],
        due_us: [f64::INFINITY; LANES],
    };
}

impl NodeLoad {
    /// Derives the load of a node whose rates were just set. Its shares may have been set earlier.
    pub(super) fn set(&mut self, node: &Node, settings: &ShareParams) {
        let since = node.since();
        self.set_by(node, settings, |task| {
            weights::share_and_regime(settings, task, task.work, since)
        });
    }

    /// Derives the load of a node whose shares were just set.
    pub(super) fn set_after_shares(&mut self, node: &Node, settings: &ShareParams) {
        if node.has_preemption_cost() {
            // A task may have lost work since, which changes the share that it needs.
            return self.set(node, settings);
        }
        let since = node.since();
        self.set_by(node, settings, |task| {
            let work_left = task.estimate - task.work;
            (
                task.share,
                ShareRegime::of(work_left, task.due.since(since)),
            )
        });
    }

    /// Derives the load of a node whose rates were just set, on which each task needs this share now and
    /// follows this law. The work left is share x time left.
    fn set_by(
        &mut self,
        node: &Node,
        settings: &ShareParams,
        share_and_regime: impl Fn(&NodeTask) -> (f64, ShareRegime),
    ) {
        let mut curves = std::mem::take(&mut self.curves);
        curves.clear();
        let now = node.since().as_micros() as f64;
        let mut load = Self {
            n_tasks: node.tasks().len() as u32,
            first_due: f64::INFINITY,
            since: now,
            ..Self::default()
        };
        for tasks in node.tasks().chunks(LANES) {
            let mut cells = ShareCurves::ZERO;
            for (lane, task) in tasks.iter().enumerate() {
                let due = task.due.as_micros() as f64;
                let (share, regime) = share_and_regime(task);
                let (constant, numerator, due) = match regime {
                    ShareRegime::Regular => {
                        let lead = task.rate - share;
                        load.surplus += if lead > 0.0 { lead } else { 0.0 };
                        (task.rate, -lead * (due - now), due)
                    }
                    ShareRegime::Overrun => {
                        load.is_nonlinear |= settings.overrun == ShareRule::OneSecond;
                        (share, 0.0, due)
                    }
                    ShareRegime::Expired => {
                        load.is_expired = true;
                        (share, 0.0, f64::INFINITY)
                    }
                };
                cells.constants[lane] = constant;
                cells.numerators[lane] = numerator;
                cells.due_us[lane] = due;
                load.base += constant;
                load.total += share;
                if due < load.first_due {
                    load.first_due = due;
                    load.first = curves.len() * LANES + lane;
                }
                if due > load.last_due {
                    load.last_due = due;
                }
            }
            curves.push(cells);
        }
        *self = Self { curves, ..load };
    }

    /// Returns the total share of the node at `now`.
    pub(super) fn total(&self, now: Instant) -> f64 {
        let now = now.as_micros() as f64;
        let mut sums = [0.0; LANES];
        for curves in &self.curves {
            for (lane, sum) in sums.iter_mut().enumerate() {
                *sum += curves.numerators[lane] / time_left(curves.due_us[lane], now);
            }
        }
        self.base + (sums[0] + sums[1]) + (sums[2] + sums[3])
    }

    /// Returns a lower bound of the total share of the node at `now`, without a look at every task.
    ///
    /// The share of a task that progresses faster than its share s, at rate p, falls. X seconds before its
    /// deadline, t seconds after shares were set, it has lost (p - s) t / x. So all tasks together have lost
    /// at most their surplus times t / x of the task that is due first.
    pub(super) fn least_total(&self, now: Instant) -> f64 {
        if self.is_nonlinear {
            return 0.0;
        }
        let now = now.as_micros() as f64;
        // Many times what the sum over the tasks, and this bound, can have lost in rounding.
        let margin = 1e-9 * (1.0 + self.total);
        let progress = (now - self.since) / time_left(self.first_due, now);
        self.total - margin - (self.surplus + margin) * progress
    }

    /// Returns a lower bound of the gap between the largest and the smallest deadline delay on the node. Its
    /// total share with another task is `total`, above 1. The other task has `deadline` seconds and this
    /// `share`. The node has tasks, all of them before their deadlines.
    ///
    /// The task due first (d1, share s1) is delayed by the whole total S. The task due last, at dn,
    /// ends no later than d1 S + (dn - d1) (S - s1), so that its deadline delay is at most
    /// max(1, S - s1 (1 - d1 / dn)).
    pub(super) fn delay_gap(&self, now: Instant, total: f64, task: (f64, f64)) -> f64 {
        let (deadline, share) = (task.0 * 1e6, task.1);
        let now = now.as_micros() as f64;
        let first_due = time_left(self.first_due, now);
        let (earliest, earliest_share) = if deadline < first_due {
            (deadline, share)
        } else {
            let (curves, lane) = (&self.curves[self.first / LANES], self.first % LANES);
            let numerator = curves.numerators[lane];
            (first_due, curves.constants[lane] + numerator / first_due)
        };
        let last_due = self.last_due - now;
        let latest = if last_due > deadline {
            last_due
        } else {
            deadline
        };
        let gap = earliest_share * (1.0 - earliest / latest);
        if gap < total - 1.0 { gap } else { total - 1.0 }
    }

    /// Returns the work, in seconds, promised to the node's tasks within `deadline` seconds of `now`. It is
    /// the sum of share x min(time left, deadline), where a task past its deadline counts share x deadline.
    pub(super) fn committed(&self, now: Instant, deadline: f64) -> f64 {
        let now = now.as_micros() as f64;
        let mut sums = [0.0; LANES];
        for curves in &self.curves {
            for (lane, sum) in sums.iter_mut().enumerate() {
                let time_left = time_left(curves.due_us[lane], now);
                let share = curves.constants[lane] + curves.numerators[lane] / time_left;
                let seconds = time_left * 1e-6;
                *sum += share
                    * if seconds < deadline {
                        seconds
                    } else {
                        deadline
                    };
            }
        }
        (sums[0] + sums[1]) + (sums[2] + sums[3])
    }
}

/// Returns the microseconds until `due`, at least one. Written out, since `f64::max` also handles
/// NaN and costs twice as much here.
fn time_left(due: f64, now: f64) -> f64 {
    let left = due - now;
    if left > 1.0 { left } else { 1.0 }
}

/// Computes the total share of a node at `now` task by task. Not inlined, because the rare node without a row
/// must not slow down the sum over a row.
#[inline(never)]
pub(super) fn total_by_tasks(settings: &ShareParams, node: &Node, now: Instant) -> f64 {
    node.tasks()
        .iter()
        .map(|task| weights::share(settings, task, node.work_at(task, now), now))
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tollgate_model::{JobId, JobSpec, Sla, Span, UserId};

    /// A task: its estimate and deadline in seconds.
    type Task = (i64, Option<i64>);

    fn add(node: &mut Node, job: u32, (estimate, deadline): Task) {
        let spec = JobSpec {
            restarts: 0,
            submit: Instant::ZERO,
            estimate: Span::from_secs(estimate),
            procs: 1,
            memory: 0,
            needs: Default::default(),
            user: UserId(0),
            sla: Sla {
                deadline: deadline.map(Span::from_secs),
                ..Sla::default()
            },
        };
        node.add_task(JobId(job), &spec, Instant::ZERO);
    }

    proptest! {
        /// Shares are set twice, so that some tasks have outlived their deadlines or their estimates, and the
        /// bound holds to the last microsecond before a change.
        #[test]
        fn least_total_is_at_most_the_total(
            tasks in prop::collection::vec((1i64..1000, prop::option::weighted(0.9, 1i64..3000)), 1..12),
            set_again_s in 1i64..2000,
            part in 0.0..=1.0f64,
            overrun in prop::sample::select(vec![ShareRule::Full, ShareRule::Zero, ShareRule::Keep, ShareRule::OneSecond]),
        ) {
            let settings = ShareParams { overrun, ..ShareParams::DEFAULT };
            let mut node = Node::default();
            (0..).zip(&tasks).for_each(|(job, &task)| add(&mut node, job, task));
            let set = |node: &mut Node, now: Instant| {
                let share = |task: &NodeTask| weights::share(&settings, task, task.work, now);
                node.set_rates(now, share, |task| task.estimate)
            };
            let mut next = set(&mut node, Instant::ZERO);
            while let Some(at) = next.filter(|&at| at < Instant::from_secs(set_again_s)) {
                next = set(&mut node, at);
            }
            let since = node.since();
            let mut load = NodeLoad::default();
            load.set(&node, &settings);
            let ahead = next.map_or(Span::from_secs(1000), |next| next.since(since));
            for ahead in [ahead, Span::from_micros((part * ahead.as_micros() as f64) as i64)] {
                let now = since + ahead;
                // As an admission reads them: the curves of a node that follows another law are not asked, and their sum may
                // round below zero.
                let total = if load.is_nonlinear {
                    total_by_tasks(&settings, &node, now)
                } else {
                    load.total(now)
                };
                let least = load.least_total(now);
                prop_assert!(least <= total, "{} s after {}: {} > {}", ahead, since, least, total);
            }
            let total = load.total(since);
            prop_assert!(load.is_nonlinear || load.least_total(since) >= total - 1e-6 * (1.0 + total));
        }
    }
}
