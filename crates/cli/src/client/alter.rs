//! `tollgate alter`.

use std::io::{self, Write};

use tollgate_client::types::{AlterRequest, AlterResponse};

use super::cluster::ClusterJob;
use super::endpoint::ServiceAddressArgs;
use super::error::ClientCommandError;
use super::format;
use super::parse;
use super::submit::{number_of, render_answer};
use crate::args::OutputFormat;
use crate::exit::{CliFailure, CsvUnsupported};

/// The options of `tollgate alter`.
#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct AlterArgs {
    /// Number of the job
    #[arg(value_parser = parse::parse_cluster_job_id)]
    id: ClusterJob,
    /// Latest finish, as for `submit`, or `none`
    #[arg(long, short, value_name = "TIME")]
    deadline: Option<String>,
    /// Expected run time, as in 90s or 1h30m
    #[arg(long, short = 'e', value_name = "SPAN", value_parser = parse::parse_span)]
    estimate: Option<f64>,
    /// Name of the job
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    #[command(flatten)]
    address: ServiceAddressArgs,
    /// Output format
    #[arg(long, value_enum, default_value_t = OutputFormat::Table)]
    format: OutputFormat,
}

/// `tollgate alter`.
pub(crate) fn alter(args: &AlterArgs) -> Result<(), CliFailure> {
    let now = format::now();
    let mut request = AlterRequest {
        name: args.name.clone(),
        estimate_s: args.estimate,
        ..AlterRequest::default()
    };
    match args.deadline.as_deref() {
        None => {}
        Some("none") => request.no_deadline = true,
        Some(words) => {
            (request.deadline_s, request.deadline_at) = parse::parse_deadline(words, &now)?;
        }
    }
    let path = format!("/v1/jobs/{}/alter", args.id.job);
    let address = args.id.address(&args.address)?;
    let done: AlterResponse = address.connect()?.post(&path, &request)?;
    let mut out = io::stdout().lock();
    match args.format {
        OutputFormat::Json => format::write_json(&mut out, &done)?,
        OutputFormat::Csv => return Err(CsvUnsupported.into()),
        OutputFormat::Table => {
            let number = format!("{}{}", args.id.prefix(), number_of(&done.answer));
            render_answer(&mut out, &done.answer, &number, &now)?;
            if !done.altered {
                writeln!(out, "job {}: unchanged: it stays as it was", args.id)?;
            }
        }
    }
    match done.altered {
        true => Ok(()),
        false => Err(ClientCommandError::Unaltered.into()),
    }
}
