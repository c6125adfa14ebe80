//! `qsub`: the words of a call and the text of its script in, a request out.

use std::path::Path;

use tollgate_client::types::JobRequest;

use crate::directives;
use crate::error::{FrontendError, SubmitOptionError};
use crate::job_id;
use crate::job_options::JobOptions;
use crate::options::{self, ParsedOption};
use crate::place::SubmitPlace;
use crate::qsub_job::{JobBody, QsubJob, ScriptSource};
use crate::tool::FrontendDialect;
use crate::words::split_words;

/// Options that exist only in Grid Engine.
const GRID_ENGINE_OPTIONS: &[&str] = &[
    "terse", "cwd", "wd", "pe", "b", "hold_jid", "sync", "tc", "notify", "now", "shell",
];

/// A call of `qsub`.
#[derive(Clone, Debug)]
pub struct QsubCall<'a> {
    typed: Vec<ParsedOption>,
    body: JobBody<'a>,
    arguments: &'a [String],
}

/// A job that `qsub` submits.
#[derive(Clone, Debug, PartialEq)]
pub struct QsubSubmission {
    /// The request.
    pub request: JobRequest,
    /// Notes for the user before the answer, one sentence each.
    pub notes: Vec<String>,
    /// Whether `qsub` waits for the end of the job.
    pub waits: bool,
    is_terse: bool,
    dialect: FrontendDialect,
}

impl<'a> QsubCall<'a> {
    /// Parses the words behind the name of the program.
    ///
    /// # Errors
    /// The first option that is unknown, invalid or cannot be honoured.
    pub fn parse(words: &'a [String], place: &SubmitPlace) -> Result<Self, FrontendError> {
        let (typed, operands) = options::parse("qsub", words)?;
        let mut options = JobOptions::default();
        options.add(&typed, dialect(&typed, "", place), place)?;
        let (body, arguments) = match (options.program, operands) {
            (true, []) => {
                let message = "expected a program behind the options";
                return Err(SubmitOptionError::new("b", message).into());
            }
            (true, words) => (JobBody::Program, words),
            (false, []) => (JobBody::Script(ScriptSource::StandardInput), operands),
            (false, [name, rest @ ..]) => {
                let source = match name.as_str() {
                    "-" => ScriptSource::StandardInput,
                    name => ScriptSource::File(name),
                };
                (JobBody::Script(source), rest)
            }
        };
        Ok(Self {
            typed,
            body,
            arguments,
        })
    }

    /// Returns the script whose text [`Self::submission`] needs. None if the job runs a program.
    pub const fn script(&self) -> Option<ScriptSource<'a>> {
        match self.body {
            JobBody::Script(source) => Some(source),
            JobBody::Program => None,
        }
    }

    /// Returns the job with the text of its script; the text is empty if the job runs a program.
    ///
    /// # Errors
    /// The first option of the script that is unknown, invalid or cannot be honoured, or a value that means nothing
    /// at this place.
    pub fn submission(
        &self,
        text: &str,
        place: &SubmitPlace,
    ) -> Result<QsubSubmission, FrontendError> {
        let dialect = dialect(&self.typed, text, place);
        let mut options = JobOptions::default();
        if let JobBody::Script(source) = &self.body {
            let given = directives::parse(source.name(), text, dialect)?;
            options.add(&given, dialect, place)?;
        }
        // Options on the command line override options in the script.
        options.add_overriding(&self.typed, dialect, place)?;
        let mut arguments = self.arguments.to_vec();
        if let Some(more) = &options.arguments {
            let more = split_words(more).unwrap_or_else(|| vec![more.clone()]);
            arguments.extend(more);
        }
        let job = QsubJob {
            body: self.body,
            name: options.name.clone().unwrap_or_else(|| match self.body {
                JobBody::Script(source) => file_name(source.name()),
                JobBody::Program => arguments
                    .first()
                    .map_or_else(String::new, |word| file_name(word)),
            }),
            options,
            arguments,
            dialect,
            place,
        };
        let mut notes = Vec::new();
        Ok(QsubSubmission {
            request: job.request(text, &mut notes)?,
            notes,
            waits: job.options.wait,
            is_terse: job.options.terse,
            dialect,
        })
    }
}

impl QsubSubmission {
    /// Returns the line that tells the user the number of the job.
    pub fn answer(&self, id: u64) -> String {
        let server = job_id::SERVER_NAME;
        let name = self.request.name.as_deref().unwrap_or_default();
        let of_array = self.request.array.as_deref().map(|tasks| {
            let (tasks, _) = tasks.split_once('%').unwrap_or((tasks, ""));
            let step = if tasks.contains(':') { "" } else { ":1" };
            format!("{id}.{tasks}{step}")
        });
        match (self.dialect, of_array) {
            (FrontendDialect::Pbs, None) => format!("{id}.{server}"),
            (FrontendDialect::Pbs, Some(_)) => format!("{id}[].{server}"),
            (FrontendDialect::GridEngine, array) if self.is_terse => {
                array.unwrap_or_else(|| id.to_string())
            }
            (FrontendDialect::GridEngine, None) => {
                format!("Your job {id} (\"{name}\") has been submitted")
            }
            (FrontendDialect::GridEngine, Some(array)) => {
                format!("Your job-array {array} (\"{name}\") has been submitted")
            }
        }
    }
}

/// Returns the style: from the environment, or else guessed from the options and the script.
fn dialect(typed: &[ParsedOption], text: &str, place: &SubmitPlace) -> FrontendDialect {
    let is_marked = |mark| {
        text.lines()
            .any(|line: &str| line.trim_start().starts_with(mark))
    };
    let has_option = typed
        .iter()
        .any(|one| GRID_ENGINE_OPTIONS.contains(&&*one.name));
    let guess = match has_option || (is_marked("#$") && !is_marked("#PBS")) {
        true => FrontendDialect::GridEngine,
        false => FrontendDialect::Pbs,
    };
    FrontendDialect::of_variables(|name| place.variable(name)).unwrap_or(guess)
}

fn file_name(path: &str) -> String {
    let name = Path::new(path).file_name();
    name.map_or_else(
        || path.to_owned(),
        |name| name.to_string_lossy().into_owned(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fuzz::fixed_place;

    fn submit(words: &str, text: &str) -> Result<QsubSubmission, String> {
        let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        let place = fixed_place();
        let call = QsubCall::parse(&words, &place);
        let submission = call.and_then(|call| call.submission(text, &place));
        submission.map_err(|error| error.to_string())
    }

    #[test]
    fn script_of_pbs_becomes_a_request() {
        let text = "#!/bin/sh\n#PBS -N sim -l nodes=1:ppn=4,walltime=1:00:00,mem=2gb\n#PBS -t 1-9%3\nhostname\n";
        let done = submit("-l walltime=30:00 dir/job.sh", text).unwrap();
        let request = &done.request;
        assert_eq!(request.command, ["./job.sh"]);
        assert_eq!((request.procs, request.time_limit_s), (4, Some(1800.0)));
        assert_eq!(request.memory_bytes, Some(2 << 30));
        assert_eq!(request.array.as_deref(), Some("1-9%3"));
        assert_eq!(request.dir, "/home/mia");
        let output = request.output.as_deref();
        assert_eq!(output, Some("/home/mia/runs/sim.o%j-%a"));
        assert_eq!(request.env["PBS_O_WORKDIR"], "/home/mia/runs");
        assert!(request.script.as_deref().unwrap().ends_with("\nhostname\n"));
        assert_eq!(done.answer(7), "7[].tollgate");
    }

    #[test]
    fn program_of_grid_engine_becomes_a_request() {
        let done = submit("-b y -cwd -pe smp 2 -o /dev/null -M me bin/solve -x 1", "").unwrap();
        let request = &done.request;
        assert_eq!(request.command[4..], ["bin/solve", "-x", "1"]);
        assert_eq!(
            (request.script.as_ref(), request.output.as_ref()),
            (None, None)
        );
        assert_eq!((request.procs, request.dir.as_str()), (2, "/home/mia/runs"));
        assert_eq!(done.notes, ["-M me changes nothing here"]);
        let expected = "Your job 7 (\"solve\") has been submitted";
        assert_eq!(done.answer(7), expected);
    }

    #[test]
    fn call_without_a_script_or_a_program_is_named() {
        let place = fixed_place();
        let call = QsubCall::parse(&[], &place).unwrap();
        assert_eq!(call.script(), Some(ScriptSource::StandardInput));
        let error = submit("-b y", "").unwrap_err();
        assert_eq!(error, "--b: expected a program behind the options");
        let error = submit("job.sh", "#PBS -l deadline=soon\n").unwrap_err();
        assert!(
            error.starts_with("--deadline: expected an instant"),
            "{error}"
        );
    }
}
