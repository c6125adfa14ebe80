//! The history of a job: `tollgate explain --history`.

use std::io::{self, Write};

use jiff::Zoned;
use tollgate_client::types::{ForecastSample, JobHistory, JobTurn};

use super::cluster_job::ClusterJob;
use crate::args::OutputFormat;
use crate::connection::endpoint::ServiceAddressArgs;
use crate::exit::{CliFailure, CsvUnsupported};
use crate::output::format;
use crate::output::table::{Column, write_list};

/// Prints what happened to a job, and what was expected of it as time went by.
pub(super) fn print(
    id: &ClusterJob,
    address: &ServiceAddressArgs,
    output: OutputFormat,
) -> Result<(), CliFailure> {
    let path = format!("/v1/jobs/{}/history", id.job);
    let history: JobHistory = id.address(address)?.connect()?.get(&path)?;
    let mut out = io::stdout().lock();
    match output {
        OutputFormat::Json => format::write_json(&mut out, &history)?,
        OutputFormat::Csv => return Err(CsvUnsupported.into()),
        OutputFormat::Table => render(&mut out, &history, &format::now())?,
    }
    Ok(())
}

fn render(out: &mut impl Write, history: &JobHistory, now: &Zoned) -> io::Result<()> {
    let columns = [
        Column::new("at", |turn: &JobTurn| {
            format::format_local_time(&turn.at, now)
        }),
        Column::new("what happened", |turn: &JobTurn| match &turn.tasks {
            Some(tasks) => format!("{} (tasks {tasks})", turn.text),
            None => turn.text.clone(),
        }),
    ];
    write_list(out, &columns, &history.turns)?;
    if history.samples.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    let time = |at: &str| format::format_short_time(at, now);
    let mut columns = vec![
        Column::new("at", |sample: &ForecastSample| time(&sample.at)),
        Column::new("start expected", |sample: &ForecastSample| {
            time(&sample.expected_start_at)
        }),
        Column::new("end expected", |sample: &ForecastSample| {
            time(&sample.expected_finish_at)
        }),
        Column::new("8 in 10 between", |sample: &ForecastSample| {
            time(&sample.earliest_finish_at)
        }),
        Column::new("and", |sample: &ForecastSample| {
            time(&sample.latest_finish_at)
        }),
    ];
    if history
        .samples
        .iter()
        .any(|sample| sample.probability.is_some())
    {
        columns.push(Column::optional("in time", |sample: &ForecastSample| {
            sample.probability.map(format::format_probability)
        }));
    }
    write_list(out, &columns, &history.samples)
}
