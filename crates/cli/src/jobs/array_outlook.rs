//! When the last task of an array ends, and on which tasks that rests.

use std::io::{self, Write};

use jiff::Zoned;
use tollgate_client::types::JobDetails;

use crate::output::format;

/// The chance below which a promise is at risk, as the service says it.
const AT_RISK: f64 = 0.8;

/// Writes the ages of the running tasks of an array, their run times, and the end of the last task. Writes nothing
/// of an array that is over.
pub(crate) fn render(out: &mut impl Write, job: &JobDetails, now: &Zoned) -> io::Result<()> {
    let Some(array) = &job.array else {
        return Ok(());
    };
    let Some(tasks) = &array.outlook else {
        return Ok(());
    };
    let id = job.id;
    if let (Some(oldest), Some(youngest)) = (&tasks.oldest, &tasks.youngest) {
        let age = format::format_span(oldest.age_s);
        write!(out, "  running   {id}_{} for {age}", oldest.task)?;
        if youngest.task != oldest.task {
            let age = format::format_span(youngest.age_s);
            write!(out, " (longest) to {id}_{} for {age}", youngest.task)?;
        }
        writeln!(out)?;
    }
    match &tasks.runs {
        Some(runs) => {
            let [low, high] = [runs.low_s, runs.high_s].map(format::format_span);
            let count = runs.count;
            writeln!(out, "  run times {count} of its own tasks: {low} to {high}")?;
        }
        None => writeln!(out, "  run times from {}", tasks.forecast_from)?,
    }
    let Some(expected) = &tasks.expected else {
        return Ok(());
    };
    let at = |words: &str| format::format_local_time(words, now);
    writeln!(
        out,
        "  last end  {} (8 in 10 between {} and {})",
        at(&expected.expected_finish_at),
        at(&expected.earliest_finish_at),
        at(&expected.latest_finish_at)
    )?;
    if let Some(probability) = expected.probability {
        let probability = format::format_probability(probability);
        writeln!(
            out,
            "  deadline  all end in time with probability {probability}"
        )?;
    }
    if expected.probability.is_some_and(|chance| chance < AT_RISK) {
        let last = at(&expected.latest_finish_at);
        writeln!(
            out,
            "  helps     a deadline of {last} is met 9 times in 10: `tollgate alter {id} --deadline ..`"
        )?;
    }
    match array.held {
        0 => Ok(()),
        held => writeln!(
            out,
            "  held      {held} tasks, which are not counted: `tollgate release {id}`"
        ),
    }
}
