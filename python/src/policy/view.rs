//! The machine as Python sees it during a call.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::builder::{BooleanBuilder, Float64Builder, Int64Builder};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::ArrowError;
use pyo3::prelude::*;
use scoped_tls::scoped_thread_local;
use tollgate_model::{Instant, NodeId};
use tollgate_policy::{ClusterState, JobPhase, JobSlot};

use super::jobs::{Job, JobList, RecordNames};
use crate::errors::ErrorClass;
use crate::table::Table;

scoped_thread_local!(
    /// The state during a call of Python on this thread. A view has no reference of its own to it, because Python may
    /// keep a view for longer than the call.
    static STATE: ClusterState
);

thread_local! {
    /// The number of the present call on this thread.
    static PRESENT_CALL: Cell<u64> = const { Cell::new(0) };
}

/// The number of calls so far, of all threads.
static N_CALLS: AtomicU64 = AtomicU64::new(0);

/// The jobs and nodes at the instant of a call. It can be read during the call only.
#[pyclass(frozen, module = "tollgate")]
#[derive(Debug)]
pub(crate) struct PolicyView {
    call: u64,
    now: Instant,
    names: Option<RecordNames>,
}

impl PolicyView {
    /// Calls `ask` with a view of a state.
    pub(super) fn lend<T>(
        state: &ClusterState,
        now: Instant,
        names: Option<&RecordNames>,
        ask: impl FnOnce(Self) -> T,
    ) -> T {
        let call = 1 + N_CALLS.fetch_add(1, Ordering::Relaxed);
        let view = Self {
            call,
            now,
            names: names.cloned(),
        };
        PRESENT_CALL.set(call);
        let answer = STATE.set(state, || ask(view));
        PRESENT_CALL.set(0);
        answer
    }

    fn read<T>(&self, read: impl FnOnce(&ClusterState) -> T) -> PyResult<T> {
        if !STATE.is_set() || PRESENT_CALL.get() != self.call {
            let hint = "read what you need of a view during the call, on the same thread";
            return Err(ErrorClass::Policy.raise("a view is read after its call", Some(hint)));
        }
        Ok(STATE.with(read))
    }

    fn jobs(
        &self,
        phase: JobPhase,
        key: impl Fn(&JobSlot) -> (Option<Instant>, u64),
    ) -> PyResult<JobList> {
        self.read(|state| {
            let mut found: Vec<_> = state
                .jobs()
                .filter(|(_, slot)| slot.phase == phase)
                .collect();
            found.sort_unstable_by_key(|(_, slot)| key(slot));
            let jobs = found.into_iter();
            let jobs =
                jobs.map(|(id, slot)| Job::of_slot(slot, state.forecast(id), self.names.as_ref()));
            JobList(jobs.collect::<Arc<[Job]>>())
        })
    }
}

#[pymethods]
impl PolicyView {
    #[getter]
    fn now(&self) -> f64 {
        self.now.as_secs_f64()
    }

    #[getter]
    fn n_nodes(&self) -> PyResult<u32> {
        self.read(ClusterState::n_nodes)
    }

    #[getter]
    fn n_idle(&self) -> PyResult<u32> {
        self.read(ClusterState::n_idle)
    }

    /// The waiting jobs in the order of submission.
    #[getter]
    fn queue(&self) -> PyResult<JobList> {
        self.jobs(JobPhase::Queued, |slot| (None, slot.sequence))
    }

    /// The running jobs in the order of their ends by the estimates.
    #[getter]
    fn running(&self) -> PyResult<JobList> {
        self.jobs(JobPhase::Running, |slot| {
            (slot.estimated_end(), slot.sequence)
        })
    }

    /// A table with a row a node.
    #[getter]
    fn nodes(&self) -> PyResult<Table> {
        let batch = self.read(node_columns)?;
        batch
            .map(Table::of)
            .map_err(|error| ErrorClass::Internal.raise(error, None))
    }

    fn __repr__(&self) -> String {
        format!("<tollgate.PolicyView: at {} s>", self.now.as_secs_f64())
    }
}

fn node_columns(state: &ClusterState) -> Result<RecordBatch, ArrowError> {
    let n_nodes = state.n_nodes() as usize;
    let mut n_jobs = vec![0_i64; n_nodes];
    let mut ends: Vec<Option<Instant>> = vec![None; n_nodes];
    for (id, slot) in state
        .jobs()
        .filter(|(_, slot)| slot.phase == JobPhase::Running)
    {
        for node in slot.placement().iter().flat_map(|range| range.nodes()) {
            if state.runs_on(id, node) {
                n_jobs[node.index()] += 1;
                ends[node.index()] = ends[node.index()].max(slot.estimated_end());
            }
        }
    }
    let mut numbers = Int64Builder::new();
    let mut is_up = BooleanBuilder::new();
    let mut free_at = Float64Builder::new();
    for (node, end) in (0..state.n_nodes()).zip(&ends) {
        numbers.append_value(node.into());
        is_up.append_value(state.is_up(NodeId(node)));
        free_at.append_option(end.map(Instant::as_secs_f64));
    }
    let columns: [(&str, ArrayRef); 4] = [
        ("node", Arc::new(numbers.finish())),
        ("is_up", Arc::new(is_up.finish())),
        ("n_jobs", Arc::new(arrow_array::Int64Array::from(n_jobs))),
        ("free_at", Arc::new(free_at.finish())),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, true)))
}
