//! The outcome of each job under each policy, as columns.

use std::sync::Arc;

use arrow_array::builder::{
    BooleanBuilder, DurationMicrosecondBuilder, Float64Builder, Int64Builder, StringBuilder,
    StringDictionaryBuilder, TimestampMicrosecondBuilder,
};
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::ArrowError;
use tollgate_model::{Credits, Decision, Instant, NodeRange, Span};
use tollgate_replay::ReplayedJob;
use tollgate_trace::passthrough_columns::PassthroughColumns;

/// The zone of all instants.
pub(crate) const ZONE: &str = "UTC";

/// Words that repeat, as numbers of a dictionary.
pub(crate) type WordBuilder = StringDictionaryBuilder<Int32Type>;

/// A column of instants.
pub(crate) fn instants() -> TimestampMicrosecondBuilder {
    TimestampMicrosecondBuilder::new().with_timezone(ZONE)
}

/// The columns of jobs, while they are built.
pub(crate) struct JobColumns {
    /// The instant, since the Unix epoch, at which the clock of the rows is zero.
    origin: Instant,
    policy: WordBuilder,
    job_id: Int64Builder,
    decision: WordBuilder,
    reason: WordBuilder,
    decided: TimestampMicrosecondBuilder,
    start: TimestampMicrosecondBuilder,
    finish: TimestampMicrosecondBuilder,
    nodes: StringBuilder,
    kept: BooleanBuilder,
    delay: DurationMicrosecondBuilder,
    price: Float64Builder,
    utility: Float64Builder,
    slowdown: Float64Builder,
    submit: TimestampMicrosecondBuilder,
    wait: DurationMicrosecondBuilder,
    runtime: DurationMicrosecondBuilder,
    procs: Int64Builder,
    estimate: DurationMicrosecondBuilder,
    deadline: DurationMicrosecondBuilder,
    user: WordBuilder,
    executable: WordBuilder,
    queue: WordBuilder,
    task: Int64Builder,
    killed: BooleanBuilder,
    probability: Float64Builder,
    planned_run: DurationMicrosecondBuilder,
    class: Int64Builder,
    batch: Int64Builder,
    raw_probability: Float64Builder,
    /// The columns of the record that tollgate does not know.
    extra: Vec<StringBuilder>,
}

impl JobColumns {
    /// Creates columns without rows, of a record with these unknown columns.
    pub(crate) fn new(origin: Instant, extra: Option<&PassthroughColumns>) -> Self {
        let extra = extra.map_or(0, |extra| extra.names().len());
        Self {
            origin,
            policy: WordBuilder::new(),
            job_id: Int64Builder::new(),
            decision: WordBuilder::new(),
            reason: WordBuilder::new(),
            decided: instants(),
            start: instants(),
            finish: instants(),
            nodes: StringBuilder::new(),
            kept: BooleanBuilder::new(),
            delay: DurationMicrosecondBuilder::new(),
            price: Float64Builder::new(),
            utility: Float64Builder::new(),
            slowdown: Float64Builder::new(),
            submit: instants(),
            wait: DurationMicrosecondBuilder::new(),
            runtime: DurationMicrosecondBuilder::new(),
            procs: Int64Builder::new(),
            estimate: DurationMicrosecondBuilder::new(),
            deadline: DurationMicrosecondBuilder::new(),
            user: WordBuilder::new(),
            executable: WordBuilder::new(),
            queue: WordBuilder::new(),
            task: Int64Builder::new(),
            killed: BooleanBuilder::new(),
            probability: Float64Builder::new(),
            planned_run: DurationMicrosecondBuilder::new(),
            class: Int64Builder::new(),
            batch: Int64Builder::new(),
            raw_probability: Float64Builder::new(),
            extra: (0..extra).map(|_| StringBuilder::new()).collect(),
        }
    }

    /// Appends a row.
    pub(crate) fn push(&mut self, row: &ReplayedJob<'_>, extra: Option<&PassthroughColumns>) {
        let origin = self.origin.since(Instant::ZERO);
        let at = |instant: Instant| (instant + origin).as_micros();
        let credits = |amount: Option<Credits>| amount.map(Credits::as_f64);
        let number = |place: Option<usize>| place.map(|place| place as i64);
        let span = |span: Option<Span>| span.map(Span::as_micros);
        self.policy.append_value(row.policy);
        self.job_id.append_value(row.job_id.cast_signed());
        let (decision, reason) = match row.decision {
            Decision::Accepted => ("accepted", None),
            Decision::Unpromised => ("unpromised", None),
            Decision::Rejected(reason) => ("rejected", Some(reason.key())),
        };
        self.decision.append_value(decision);
        self.reason.append_option(reason);
        self.decided.append_value(at(row.decided));
        self.start.append_option(row.start.map(at));
        self.finish.append_option(row.finish.map(at));
        self.nodes.append_option(node_text(row.nodes));
        self.kept.append_option(row.deadline_met);
        self.delay.append_option(span(row.delay));
        self.price.append_option(credits(row.price));
        self.utility.append_option(credits(row.utility));
        self.slowdown.append_option(row.slowdown);
        self.submit.append_value(at(row.submit));
        self.wait.append_option(span(row.wait));
        self.runtime.append_value(row.runtime.as_micros());
        self.procs.append_value(row.procs.into());
        self.estimate.append_option(span(row.estimate));
        self.deadline.append_option(span(row.deadline));
        let names = row.names.unwrap_or_default();
        let columns = [&mut self.user, &mut self.executable, &mut self.queue];
        for (column, name) in columns.into_iter().zip(names) {
            column.append_option(Some(name).filter(|name| !name.is_empty()));
        }
        self.task.append_option(row.task.map(i64::from));
        self.killed.append_option(row.killed);
        self.probability.append_option(row.probability);
        self.planned_run.append_option(span(row.planned_run));
        self.class.append_option(number(row.class));
        self.batch.append_option(number(row.batch));
        self.raw_probability.append_option(row.raw_probability);
        let cells = extra
            .into_iter()
            .flat_map(|extra| extra.row(row.record_row));
        for (column, cell) in self.extra.iter_mut().zip(cells) {
            column.append_option(Some(cell).filter(|cell| !cell.is_empty()));
        }
    }

    /// Returns the table.
    pub(crate) fn finish(
        mut self,
        extra: Option<&PassthroughColumns>,
    ) -> Result<RecordBatch, ArrowError> {
        let known: [(&str, ArrayRef); 29] = [
            ("policy", Arc::new(self.policy.finish())),
            ("job_id", Arc::new(self.job_id.finish())),
            ("decision", Arc::new(self.decision.finish())),
            ("reason", Arc::new(self.reason.finish())),
            ("decided", Arc::new(self.decided.finish())),
            ("start", Arc::new(self.start.finish())),
            ("finish", Arc::new(self.finish.finish())),
            ("nodes", Arc::new(self.nodes.finish())),
            ("kept", Arc::new(self.kept.finish())),
            ("delay", Arc::new(self.delay.finish())),
            ("price", Arc::new(self.price.finish())),
            ("utility", Arc::new(self.utility.finish())),
            ("slowdown", Arc::new(self.slowdown.finish())),
            ("submit", Arc::new(self.submit.finish())),
            ("wait", Arc::new(self.wait.finish())),
            ("runtime", Arc::new(self.runtime.finish())),
            ("procs", Arc::new(self.procs.finish())),
            ("estimate", Arc::new(self.estimate.finish())),
            ("deadline", Arc::new(self.deadline.finish())),
            ("user", Arc::new(self.user.finish())),
            ("executable", Arc::new(self.executable.finish())),
            ("queue", Arc::new(self.queue.finish())),
            ("task", Arc::new(self.task.finish())),
            ("killed", Arc::new(self.killed.finish())),
            ("probability", Arc::new(self.probability.finish())),
            ("planned_run", Arc::new(self.planned_run.finish())),
            ("class", Arc::new(self.class.finish())),
            ("batch", Arc::new(self.batch.finish())),
            ("raw_probability", Arc::new(self.raw_probability.finish())),
        ];
        let names = extra.into_iter().flat_map(|extra| extra.names());
        let unknown = names
            .zip(&mut self.extra)
            .map(|(name, column)| (name.as_str(), Arc::new(column.finish()) as ArrayRef));
        RecordBatch::try_from_iter_with_nullable(
            known
                .into_iter()
                .chain(unknown)
                .map(|(name, column)| (name, column, true)),
        )
    }
}

/// Formats nodes as in the CSV of the program: `0-3;7`. None without any.
fn node_text(nodes: &[NodeRange]) -> Option<String> {
    let ranges: Vec<String> = nodes.iter().map(ToString::to_string).collect();
    (!ranges.is_empty()).then(|| ranges.join(";"))
}
