//! The predicted total share of every node, as long as nothing happens there.
//!
//! Between two events a task progresses at a constant rate p. If it had r seconds of work left
//! when d seconds were left to its deadline, then with x seconds left its share is
//! (r - p (d - x)) / x = p + (r - p d) / x: a constant, and one division. So an admission
//! decision over many nodes is a sum of divisions over flat rows, which the processor does
//! several at a time.

use std::ops::Range;

use tollgate_model::{Instant, NodeId};
use tollgate_policy::Node;

use super::settings::ShareParams;
use super::weights::ShareRegime;
use super::{ShareRule, weights};

/// Rows grow in steps of this many tasks, up to the fullest node's number.
const ROW_STEP: usize = 4;

/// The facts about a node, beside its total share, that are read without looking at its row.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct NodeLoadSummary {
    /// Number of tasks on the node.
    pub(super) tasks: u32,
    /// The cell of the task that is due first.
    first: ShareCurve,
    /// The latest deadline of the node's tasks, in microseconds.
    last_due: f64,
    /// True if a task is past its deadline.
    pub(super) expired: bool,
    /// True if a share follows another law than the row: the node itself must be evaluated.
    pub(super) nonlinear: bool,
}

/// A task's share as a function of time: constant + numerator / (due - now), the numerator and
/// the instants in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct ShareCurve {
    constant: f64,
    numerator: f64,
    due: f64,
}

/// The nodes' shares as functions of time. A node's row is a run of tasks: a constant part, the
/// numerator (in microseconds), and the due instant (in microseconds, as a float that represents
/// whole numbers exactly up to 285 years).
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct NodeLoads {
    width: usize,
    constants: Vec<f64>,
    numerators: Vec<f64>,
    dues: Vec<f64>,
    /// The sum of a node's constants, by node.
    bases: Vec<f64>,
    marks: Vec<NodeLoadSummary>,
}

impl NodeLoads {
    pub(super) fn resize(&mut self, nodes: usize) {
        self.bases.resize(nodes, 0.0);
        self.marks.resize(nodes, NodeLoadSummary::default());
        self.fill();
    }

    fn fill(&mut self) {
        let cells = self.width * self.bases.len();
        self.constants.resize(cells, 0.0);
        self.numerators.resize(cells, 0.0);
        self.dues.resize(cells, f64::INFINITY);
    }

    /// Widens the rows to at least `width` tasks.
    fn widen(&mut self, width: usize) {
        let old = std::mem::take(self);
        self.width = width.next_multiple_of(ROW_STEP);
        self.bases = old.bases;
        self.marks = old.marks;
        self.fill();
        for node in 0..self.bases.len() {
            let (from, to) = (node * old.width, node * self.width);
            let row = |cells: &mut [f64], old_cells: &[f64]| {
                cells[to..to + old.width].copy_from_slice(&old_cells[from..from + old.width]);
            };
            row(&mut self.constants, &old.constants);
            row(&mut self.numerators, &old.numerators);
            row(&mut self.dues, &old.dues);
        }
    }

    /// Writes the row of a node whose shares or rates were just set.
    pub(super) fn set(&mut self, id: NodeId, node: &Node, settings: &ShareParams) {
        let tasks = node.tasks();
        if tasks.len() > self.width {
            self.widen(tasks.len());
        }
        let row = self.row(id, tasks.len().next_multiple_of(ROW_STEP));
        let mut marks = NodeLoadSummary {
            tasks: tasks.len() as u32,
            ..NodeLoadSummary::default()
        };
        marks.first.due = f64::INFINITY;
        let (mut base, now) = (0.0, node.since().as_micros() as f64);
        let constants = &mut self.constants[row.clone()];
        let numerators = &mut self.numerators[row.clone()];
        let dues = &mut self.dues[row];
        constants[tasks.len()..].fill(0.0);
        numerators[tasks.len()..].fill(0.0);
        dues[tasks.len()..].fill(f64::INFINITY);
        for (at, task) in tasks.iter().enumerate() {
            let due = task.due.as_micros() as f64;
            // The share that the task needs now, which may have been set earlier. The work left is
            // share x time left.
            let (share, regime) =
                weights::share_and_regime(settings, task, task.work, node.since());
            let cell = match regime {
                ShareRegime::Regular => ShareCurve {
                    constant: task.rate,
                    numerator: (share - task.rate) * (due - now),
                    due,
                },
                ShareRegime::Overrun => ShareCurve {
                    constant: share,
                    numerator: 0.0,
                    due,
                },
                ShareRegime::Expired => ShareCurve {
                    constant: share,
                    numerator: 0.0,
                    due: f64::INFINITY,
                },
            };
            (constants[at], numerators[at], dues[at]) = (cell.constant, cell.numerator, cell.due);
            marks.expired |= regime == ShareRegime::Expired;
            marks.nonlinear |=
                regime == ShareRegime::Overrun && settings.overrun == ShareRule::OneSecond;
            base += cell.constant;
            if cell.due < marks.first.due {
                marks.first = cell;
            }
            marks.last_due = marks.last_due.max(cell.due);
        }
        self.bases[id.index()] = base;
        self.marks[id.index()] = marks;
    }

    /// Returns the index range of the first `length` cells of a node's row.
    fn row(&self, id: NodeId, length: usize) -> Range<usize> {
        let from = id.index() * self.width;
        from..from + length
    }

    pub(super) fn marks(&self, id: NodeId) -> NodeLoadSummary {
        self.marks[id.index()]
    }

    /// Returns the total share of a node at `now`, if nothing happened there since its row was
    /// written.
    pub(super) fn total(&self, id: NodeId, now: Instant) -> f64 {
        let tasks = self.marks[id.index()].tasks as usize;
        let row = self.row(id, tasks.next_multiple_of(ROW_STEP));
        let now = now.as_micros() as f64;
        let numerators = quads(&self.numerators[row.clone()]);
        let mut sums = [0.0; ROW_STEP];
        for (numerators, dues) in numerators.iter().zip(quads(&self.dues[row])) {
            for lane in 0..ROW_STEP {
                sums[lane] += numerators[lane] / time_left(dues[lane], now);
            }
        }
        self.bases[id.index()] + (sums[0] + sums[1]) + (sums[2] + sums[3])
    }

    /// Returns a lower bound of the gap between the largest and the smallest deadline delay on a
    /// node whose total share with another task is `total`, above 1; the other task has `deadline`
    /// seconds and this `share`.
    ///
    /// The task due first (d1, share s1) is delayed by the whole total S. The task due last, at dn,
    /// ends no later than d1 S + (dn - d1) (S - s1), so that its deadline delay is at most
    /// max(1, S - s1 (1 - d1 / dn)).
    pub(super) fn delay_gap(&self, id: NodeId, now: Instant, total: f64, task: (f64, f64)) -> f64 {
        let (deadline, share) = (task.0 * 1e6, task.1);
        let now = now.as_micros() as f64;
        let NodeLoadSummary {
            first, last_due, ..
        } = self.marks[id.index()];
        let first_due = time_left(first.due, now);
        let (earliest, earliest_share) = if deadline < first_due {
            (deadline, share)
        } else {
            (first_due, first.constant + first.numerator / first_due)
        };
        let latest = deadline.max(last_due - now);
        (total - 1.0).min(earliest_share * (1.0 - earliest / latest))
    }

    /// Returns the work, in seconds, promised to a node's tasks within `deadline` seconds of `now`:
    /// the sum of share x min(time left, deadline), where a task past its deadline counts share x
    /// deadline.
    pub(super) fn committed(&self, id: NodeId, now: Instant, deadline: f64) -> f64 {
        let tasks = self.marks[id.index()].tasks as usize;
        let row = self.row(id, tasks.next_multiple_of(ROW_STEP));
        let now = now.as_micros() as f64;
        let constants = quads(&self.constants[row.clone()]);
        let numerators = quads(&self.numerators[row.clone()]);
        let dues = quads(&self.dues[row]);
        let mut sums = [0.0; ROW_STEP];
        for ((constants, numerators), dues) in constants.iter().zip(numerators).zip(dues) {
            for lane in 0..ROW_STEP {
                let time_left = time_left(dues[lane], now);
                let share = constants[lane] + numerators[lane] / time_left;
                let seconds = time_left * 1e-6;
                sums[lane] += share
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

/// Splits cells into groups of four, which the processor handles together.
fn quads(cells: &[f64]) -> &[[f64; ROW_STEP]] {
    cells.as_chunks().0
}

/// Returns the microseconds until `due`, at least one. Written out, since `f64::max` also handles
/// NaN and costs twice as much here.
fn time_left(due: f64, now: f64) -> f64 {
    let left = due - now;
    if left > 1.0 { left } else { 1.0 }
}

/// Computes the total share of a node at `now` task by task. Kept out of line, because the rare node
/// without a row must not slow down the sum over a row.
#[inline(never)]
pub(super) fn total_by_tasks(settings: &ShareParams, node: &Node, now: Instant) -> f64 {
    node.tasks()
        .iter()
        .map(|task| weights::share(settings, task, node.work_at(task, now), now))
        .sum()
}
