//! `tollgate submit --each-line` and `--from-json`: many different jobs at once.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use tollgate_client::limits::MAX_BATCH;
use tollgate_client::types::{
    BatchResponse, JobBatch, JobDecision, JobRequest, ReasonMessage, SubmitResponse,
};

use super::answer::{is_rejected, render_decision};
use super::submit::{SubmitCommonArgs, note_unenforced_limit};
use crate::args::OutputFormat;
use crate::connection::error::ClientCommandError;
use crate::exit::{CliFailure, CsvUnsupported};
use crate::output::format;

/// Maximum bytes of the jobs in a request, unless one alone has more.
const MAX_BATCH_BYTES: usize = 512 << 10;
/// The placeholder of the line in a command.
const PLACEHOLDER: &str = "{}";
/// Maximum length of the name that a line gives its job.
const MAX_LINE_NAME: usize = 64;

/// The files of jobs.
#[derive(Debug, clap::Args)]
pub(crate) struct BatchArgs {
    /// Submit a job for each line of a file
    ///
    /// `-` is standard input. A shell runs the line. With a COMMAND, {} in it stands for the line,
    /// which otherwise is its last argument. Empty lines and lines that begin with # are left out. The
    /// options hold for all jobs.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["quote", "from_json"])]
    each_line: Option<PathBuf>,
    /// Submit the jobs in a file of JSON
    ///
    /// `-` is standard input. Each object has the fields of a request to POST /v1/jobs, such as
    /// `command`, `procs` and `name`. Objects follow one another or stand in a list. The options hold where an object says nothing.
    #[arg(long, value_name = "FILE", conflicts_with = "quote")]
    from_json: Option<PathBuf>,
}

impl BatchArgs {
    /// Returns the jobs of the files, if there are any: the fields in which they differ from `common`.
    pub(crate) fn jobs(
        &self,
        common: &JobRequest,
    ) -> Result<Option<Vec<Map<String, Value>>>, CliFailure> {
        let (file, jobs) = match (&self.each_line, &self.from_json) {
            (Some(file), _) => (file, Ok(line_jobs(&read(file)?, common))),
            (None, Some(file)) => (file, parse_objects(&read(file)?)),
            (None, None) => return Ok(None),
        };
        let message = match jobs {
            Ok(jobs) if !jobs.is_empty() => return Ok(Some(jobs)),
            Ok(_) => "expected at least one job".to_owned(),
            Err(message) => message,
        };
        let file = file.display().to_string();
        Err(ClientCommandError::JobFile { file, message }.into())
    }
}

/// Submits jobs, and prints the decisions about them.
pub(crate) fn submit(
    args: &SubmitCommonArgs,
    common: &JobRequest,
    jobs: Vec<Map<String, Value>>,
) -> Result<(), CliFailure> {
    let fields = match serde_json::to_value(common) {
        Ok(Value::Object(fields)) => fields,
        Ok(_) | Err(_) => unreachable!("a request is an object"),
    };
    let n_jobs = jobs.len();
    let mut client = args.address.connect()?;
    let mut answers: Vec<SubmitResponse> = Vec::new();
    let mut failed = None;
    for jobs in parts(jobs) {
        let batch = JobBatch {
            common: fields.clone(),
            jobs,
        };
        match client.post_with_key::<BatchResponse>("/v1/batches", &batch) {
            Ok(answer) => answers.extend(answer.jobs),
            Err(error) if answers.is_empty() => return Err(error.into()),
            Err(error) => {
                failed = Some(ClientCommandError::SomeSubmitted {
                    n_jobs: answers.len(),
                    of: n_jobs,
                    error: Box::new(error),
                });
                break;
            }
        }
    }
    if let Some(answer) = answers.first() {
        note_unenforced_limit(common, answer);
    }
    print(args, &answers)?;
    match failed {
        Some(failed) => Err(failed.into()),
        None if answers.iter().any(is_rejected) => Err(ClientCommandError::Rejected.into()),
        None => Ok(()),
    }
}

fn print(args: &SubmitCommonArgs, answers: &[SubmitResponse]) -> Result<(), CliFailure> {
    let mut out = io::stdout().lock();
    match (args.quiet, args.format) {
        (true, _) => {
            for id in answers.iter().filter_map(|answer| answer.id) {
                writeln!(out, "{id}")?;
            }
        }
        (false, OutputFormat::Json) => {
            let jobs = answers.to_vec();
            format::write_json(&mut out, &BatchResponse { jobs })?;
        }
        (false, OutputFormat::Csv) => return Err(CsvUnsupported.into()),
        (false, OutputFormat::Table) => {
            let alike = |a: &SubmitResponse, b: &SubmitResponse| {
                let of = |answer: &SubmitResponse| answer.id.unwrap_or_default();
                let is_next = of(a) + 1 == of(b);
                is_next && a.decision == b.decision && texts(&a.reasons) == texts(&b.reasons)
            };
            for group in answers.chunk_by(alike) {
                let [first, .., last] = group else {
                    render_group(&mut out, &group[0], &group[0])?;
                    continue;
                };
                render_group(&mut out, first, last)?;
            }
        }
    }
    Ok(())
}

fn render_group(
    out: &mut impl Write,
    first: &SubmitResponse,
    last: &SubmitResponse,
) -> io::Result<()> {
    let ids = [first, last].map(|answer| answer.id.unwrap_or_default());
    if ids[0] == ids[1] {
        let job = format!("job {}", ids[0]);
        return render_decision(out, &job, &first.decision, &first.reasons);
    }
    let jobs = format!("jobs {}-{}", ids[0], ids[1]);
    match first.decision == JobDecision::Queued {
        true => writeln!(out, "{jobs}: queued; each is admitted at its start"),
        false => render_decision(out, &jobs, &first.decision, &first.reasons),
    }
}

fn texts(reasons: &[ReasonMessage]) -> Vec<&str> {
    reasons.iter().map(|reason| reason.text.as_str()).collect()
}

/// Splits jobs into parts that fit into one request each.
fn parts(jobs: Vec<Map<String, Value>>) -> Vec<Vec<Map<String, Value>>> {
    let mut parts: Vec<Vec<Map<String, Value>>> = Vec::new();
    let mut room = 0;
    for job in jobs {
        let bytes = serde_json::to_string(&job).map_or(0, |text| text.len());
        match parts.last_mut() {
            Some(part) if part.len() < MAX_BATCH && bytes <= room => {
                room -= bytes;
                part.push(job);
            }
            Some(_) | None => {
                room = MAX_BATCH_BYTES.saturating_sub(bytes);
                parts.push(vec![job]);
            }
        }
    }
    parts
}

/// Returns the jobs of the lines, without empty lines and comments.
fn line_jobs(text: &str, common: &JobRequest) -> Vec<Map<String, Value>> {
    let lines = text.lines().map(str::trim);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| line_job(line, common)).collect()
}

/// Returns the job of a line: the shell's, or that of the command with the line in it. The first word of
/// a line for the shell names the job.
fn line_job(line: &str, common: &JobRequest) -> Map<String, Value> {
    let mut job = Map::new();
    if common.command.is_empty() {
        job.insert("command".to_owned(), json!(["/bin/sh", "-c", line]));
        let word = line.split_whitespace().next().unwrap_or_default();
        let program = Path::new(word).file_name().unwrap_or_default();
        let name: String = program
            .to_string_lossy()
            .chars()
            .take(MAX_LINE_NAME)
            .collect();
        if common.name.is_none() && !name.is_empty() {
            job.insert("name".to_owned(), json!(name));
        }
        return job;
    }
    let mut words: Vec<String> = common
        .command
        .iter()
        .map(|word| word.replace(PLACEHOLDER, line))
        .collect();
    if words == common.command {
        words.push(line.to_owned());
    }
    job.insert("command".to_owned(), json!(words));
    job
}

/// Parses objects that follow one another or stand in lists.
fn parse_objects(text: &str) -> Result<Vec<Map<String, Value>>, String> {
    let mut jobs = Vec::new();
    for value in serde_json::Deserializer::from_str(text).into_iter::<Value>() {
        let value = value.map_err(|error| error.to_string())?;
        let items = match value.as_array() {
            Some(items) => items.clone(),
            None => vec![value],
        };
        for item in items {
            let Value::Object(fields) = item else {
                return Err(format!("expected objects, got `{item}`"));
            };
            jobs.push(fields);
        }
    }
    Ok(jobs)
}

fn read(file: &Path) -> Result<String, CliFailure> {
    let mut text = String::new();
    let done = match file.as_os_str() == "-" {
        true => io::stdin().lock().read_to_string(&mut text),
        false => File::open(file).and_then(|mut file| file.read_to_string(&mut text)),
    };
    let failed = |error| CliFailure::read_failed(file.display().to_string(), error);
    done.map(|_| text).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_is_run_by_a_shell_or_put_into_the_command() {
        let mut common = JobRequest::default();
        let job = line_job("./sim.sh 3 > out", &common);
        assert_eq!(job["command"], json!(["/bin/sh", "-c", "./sim.sh 3 > out"]));
        assert_eq!(job["name"], "sim.sh");
        common.command = vec!["run".to_owned(), "--in={}".to_owned()];
        assert_eq!(
            line_job("a b", &common)["command"],
            json!(["run", "--in=a b"])
        );
        common.command.pop();
        assert_eq!(line_job("a b", &common)["command"], json!(["run", "a b"]));
    }

    #[test]
    fn objects_are_read_from_lists_and_lines() {
        let jobs = parse_objects("{\"procs\": 1}\n[{\"procs\": 2}, {\"procs\": 3}]\n").unwrap();
        let procs: Vec<&Value> = jobs.iter().map(|job| &job["procs"]).collect();
        assert_eq!(procs, [&json!(1), &json!(2), &json!(3)]);
        for text in ["[1]", "{", "\"true\""] {
            assert!(parse_objects(text).is_err(), "{text}");
        }
    }

    #[test]
    fn parts_fit_into_requests() {
        let job = |text: &str| Map::from_iter([("name".to_owned(), json!(text))]);
        let sizes = |jobs: Vec<Map<String, Value>>| -> Vec<usize> {
            parts(jobs).iter().map(Vec::len).collect()
        };
        assert_eq!(sizes(vec![job("a"); 2_500]), [1_000, 1_000, 500]);
        assert_eq!(sizes(vec![job(&"x".repeat(200_000)); 3]), [2, 1]);
        assert_eq!(sizes(vec![job(&"x".repeat(900_000)); 2]), [1, 1]);
    }
}
