//! What every node's total share will be, as long as nothing happens there.
//!
//! Between two events a task progresses at a constant rate p. If it had r seconds of work left
//! when d seconds were left to its deadline, then with x seconds left its share is
//! (r - p (d - x)) / x = p + (r - p d) / x: a constant, and one division. So an admission
//! decision over many nodes is a sum of divisions over flat rows, which the processor does
//! several at a time.

use std::ops::Range;

use tollgate_model::{Instant, NodeId};

use super::rules::Regime;
use super::settings::Settings;
use super::{Rule, rules};
use crate::state::Node;

/// Rows are as long as the fullest node needs, in steps of this many tasks.
const STEP: usize = 4;

/// Why a node cannot take part in a shortcut.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Marks {
    /// How many tasks it holds.
    pub(super) tasks: u32,
    /// Where in its row stands the task that is due first.
    first: usize,
    /// When the task that is due last is due, in microseconds.
    last_due: f64,
    /// A task is past its deadline.
    pub(super) expired: bool,
    /// A share changes by another law than the rows say: the node must be asked itself.
    pub(super) odd: bool,
}

/// The nodes' shares as functions of time. A node's row is a run of tasks: a constant part, the
/// numerator (in microseconds), and the due instant (in microseconds, as a float that holds
/// whole numbers exactly up to 285 years).
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Loads {
    width: usize,
    constants: Vec<f64>,
    numerators: Vec<f64>,
    dues: Vec<f64>,
    /// The sum of a node's constants.
    bases: Vec<f64>,
    marks: Vec<Marks>,
}

impl Loads {
    pub(super) fn resize(&mut self, nodes: usize) {
        self.bases.resize(nodes, 0.0);
        self.marks.resize(nodes, Marks::default());
        self.fill();
    }

    fn fill(&mut self) {
        let cells = self.width * self.bases.len();
        self.constants.resize(cells, 0.0);
        self.numerators.resize(cells, 0.0);
        self.dues.resize(cells, f64::INFINITY);
    }

    /// Rows of at least `width` tasks.
    fn widen(&mut self, width: usize) {
        let old = std::mem::take(self);
        self.width = width.next_multiple_of(STEP);
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

    /// Writes the row of a node whose shares were just set.
    pub(super) fn set(&mut self, id: NodeId, node: &Node, settings: &Settings) {
        let tasks = node.tasks();
        if tasks.len() > self.width {
            self.widen(tasks.len());
        }
        let row = self.row(id, tasks.len().next_multiple_of(STEP));
        let mut marks = Marks {
            tasks: tasks.len() as u32,
            ..Marks::default()
        };
        let mut base = 0.0;
        let mut first_due = f64::INFINITY;
        let constants = self.constants[row.clone()].iter_mut();
        let numerators = self.numerators[row.clone()].iter_mut();
        let cells = constants.zip(numerators).zip(&mut self.dues[row]);
        let mut tasks = tasks.iter();
        for (place, ((constant, numerator), due)) in cells.enumerate() {
            let Some(task) = tasks.next() else {
                (*constant, *numerator, *due) = (0.0, 0.0, f64::INFINITY);
                continue;
            };
            let time_left = task.time_left(node.since());
            let regime = Regime::of(task.estimate - task.work, time_left);
            let dated = regime != Regime::Expired && time_left.is_finite();
            *due = if dated {
                task.due.as_micros() as f64
            } else {
                f64::INFINITY
            };
            // The work left is share x time left.
            (*constant, *numerator) = if regime == Regime::Regular && dated {
                (task.rate, (task.share - task.rate) * time_left * 1e6)
            } else {
                (task.share, 0.0)
            };
            marks.expired |= regime == Regime::Expired;
            marks.odd |= regime == Regime::Overrun && settings.overrun == Rule::OneSecond;
            base += *constant;
            if *due < first_due {
                (marks.first, first_due) = (place, *due);
            }
            marks.last_due = marks.last_due.max(*due);
        }
        self.bases[id.index()] = base;
        self.marks[id.index()] = marks;
    }

    /// Where the first `length` cells of a node's row lie.
    fn row(&self, id: NodeId, length: usize) -> Range<usize> {
        let from = id.index() * self.width;
        from..from + length
    }

    pub(super) fn marks(&self, id: NodeId) -> Marks {
        self.marks[id.index()]
    }

    /// The total share of a node at `now`, if nothing happened there since its row was written.
    pub(super) fn total(&self, id: NodeId, now: Instant) -> f64 {
        let tasks = self.marks[id.index()].tasks as usize;
        let row = self.row(id, tasks.next_multiple_of(STEP));
        let now = now.as_micros() as f64;
        let mut sums = [0.0; STEP];
        let numerators = self.numerators[row.clone()].chunks_exact(STEP);
        for (numerators, dues) in numerators.zip(self.dues[row].chunks_exact(STEP)) {
            for lane in 0..STEP {
                sums[lane] += numerators[lane] / (dues[lane] - now).max(1.0);
            }
        }
        self.bases[id.index()] + (sums[0] + sums[1]) + (sums[2] + sums[3])
    }

    /// A lower bound of the gap between the largest and the smallest deadline delay on a node
    /// whose total share with another task is `total`, above 1; the other task has `deadline`
    /// seconds and this `share`.
    ///
    /// The task due first (d1, share s1) is delayed by the whole total S; the one due last, at
    /// dn, ends no later than d1 S + (dn - d1) (S - s1), so that its deadline delay is at most
    /// max(1, S - s1 (1 - d1 / dn)).
    pub(super) fn delay_gap(&self, id: NodeId, now: Instant, total: f64, task: (f64, f64)) -> f64 {
        let (deadline, share) = (task.0 * 1e6, task.1);
        let now = now.as_micros() as f64;
        let marks = &self.marks[id.index()];
        let at = id.index() * self.width + marks.first;
        let first_due = (self.dues[at] - now).max(1.0);
        let (first, first_share) = if deadline < first_due {
            (deadline, share)
        } else {
            (
                first_due,
                self.constants[at] + self.numerators[at] / first_due,
            )
        };
        let last = deadline.max(marks.last_due - now);
        (total - 1.0).min(first_share * (1.0 - first / last))
    }

    /// The work, in seconds, that a node's tasks are promised within `deadline` seconds of
    /// `now`: the sum of share x min(time left, deadline), where a task past its deadline counts
    /// share x deadline.
    pub(super) fn committed(&self, id: NodeId, now: Instant, deadline: f64) -> f64 {
        let now = now.as_micros() as f64;
        self.row(id, self.marks[id.index()].tasks as usize)
            .map(|at| {
                let time_left = (self.dues[at] - now).max(1.0);
                let share = self.constants[at] + self.numerators[at] / time_left;
                share * (time_left * 1e-6).min(deadline)
            })
            .sum()
    }
}

/// The total share of a node at `now`, asked of its tasks one by one.
pub(super) fn total_by_tasks(settings: &Settings, node: &Node, now: Instant) -> f64 {
    node.tasks()
        .iter()
        .map(|task| rules::share(settings, task, node.work_at(task, now), now))
        .sum()
}
