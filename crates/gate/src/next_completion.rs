//! The next end of a job or task, from the run time of each job.

use tollgate_model::{Instant, JobId, NodeId, Span};
use tollgate_policy::{JobPhase, View};

use crate::gate::Gate;
use crate::input::GateInput;

/// Returns the earliest end of a job on its own nodes, or of a task on a shared node, and the
/// report of that end; ties by node and by slot. `work` returns the total run time of each job,
/// alone on its nodes. A job that has already done more than that ends at `now`.
pub fn next_completion(
    gate: &Gate,
    now: Instant,
    work: impl Fn(JobId) -> Span,
) -> Option<(Instant, GateInput)> {
    let view = gate.view(now);
    let whole = view
        .jobs()
        .filter(|(id, job)| job.phase == JobPhase::Running && !is_shared(view, *id));
    let whole = whole.filter_map(|(id, job)| {
        let end = (job.start? + work(id)).max(now);
        let attempt = job.attempt;
        Some((end, GateInput::Ended { job: id, attempt }))
    });
    let work = &work;
    let tasks = (0..view.n_nodes()).map(NodeId).flat_map(|id| {
        let node = view.node(id);
        node.tasks().iter().map(move |task| {
            let left = work(task.job).as_secs_f64() - node.work_at(task, now);
            let end = now + Span::ceil_secs_f64(left.max(0.0) / task.rate);
            let attempt = view.job(task.job).attempt;
            let ended = GateInput::TaskEnded {
                job: task.job,
                attempt,
                node: id,
            };
            (end, ended)
        })
    });
    whole.chain(tasks).min_by_key(|(end, _)| *end)
}

/// Returns whether a running job shares its nodes: a job that has its nodes to itself puts no task
/// on them.
fn is_shared(view: View<'_>, id: JobId) -> bool {
    let placement = view.job(id).placement();
    let mut nodes = placement.iter().flat_map(|range| range.nodes());
    nodes.any(|node| !view.node(node).tasks().is_empty())
}
