//! `tollgate submit` and `tollgate quote`.

use std::io::{self, Write};

use jiff::Zoned;
use tollgate_service::api::types::{Answer, Decision};

use super::address::Address;
use super::job::JobArgs;
use super::print;
use crate::args::Format;
use crate::exit::Failure;

/// Hand in a job: it is accepted with a promise, queued, or rejected with the reasons (exit code 3).
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    job: JobArgs,
    #[command(flatten)]
    address: Address,
    /// How the answer is written
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    /// Print the job's number only
    #[arg(long, short)]
    quiet: bool,
}

/// `tollgate submit`.
pub(crate) fn submit(args: &Args) -> Result<(), Failure> {
    hand_in(args, "/v1/jobs")
}

/// `tollgate quote`.
pub(crate) fn quote(args: &Args) -> Result<(), Failure> {
    hand_in(args, "/v1/quotes")
}

fn hand_in(args: &Args, path: &str) -> Result<(), Failure> {
    let now = print::now();
    let request = args.job.request(&now)?;
    let answer: Answer = args.address.connect()?.post(path, &request)?;
    let mut out = io::stdout().lock();
    match (args.quiet, args.format) {
        (true, _) => {
            if let Some(id) = answer.id {
                writeln!(out, "{id}")?;
            }
        }
        (false, Format::Json) => print::json(&mut out, &answer)?,
        (false, Format::Table) => write_words(&mut out, &answer, &now)?,
        (false, Format::Csv) => return Err(Failure::NoCsv),
    }
    match answer.decision {
        Decision::Accepted | Decision::Queued => Ok(()),
        Decision::Rejected => Err(Failure::Rejected),
    }
}

fn write_words(out: &mut impl Write, answer: &Answer, now: &Zoned) -> io::Result<()> {
    let job = answer
        .id
        .map_or_else(|| "quote".to_owned(), |id| format!("job {id}"));
    match answer.decision {
        Decision::Accepted => writeln!(out, "{job}: accepted")?,
        Decision::Queued => writeln!(out, "{job}: queued; it is let in at its start")?,
        Decision::Rejected => {
            for reason in &answer.reasons {
                writeln!(out, "{job}: rejected: {}", reason.text)?;
            }
        }
    }
    if let Some(at) = &answer.deadline_at {
        let sure = answer.expected.as_ref().and_then(|e| e.probability);
        let sure = sure.map_or_else(String::new, |p| format!(", kept with probability {p:.2}"));
        writeln!(out, "  deadline  {}{sure}", print::local(at, now))?;
    }
    let source = match answer.estimate_source.as_str() {
        "user" => "as given",
        "class" => "by the forecast: such jobs took at most that",
        _ => "the site's setting: nothing is known of such jobs",
    };
    let estimate = print::span(answer.estimate_s);
    writeln!(out, "  estimate  {estimate}, {source}")?;
    if let Some(expected) = &answer.expected {
        let at = |words: &str| print::local(words, now);
        writeln!(out, "  start     {}", at(&expected.expected_start_at))?;
        writeln!(
            out,
            "  finish    {} (8 in 10 finish between {} and {})",
            at(&expected.expected_finish_at),
            at(&expected.earliest_finish_at),
            at(&expected.latest_finish_at)
        )?;
    }
    if let Some(price) = answer.price.filter(|&price| price > 0.0) {
        writeln!(out, "  price     {price} credits")?;
    }
    Ok(())
}
