//! `qsub`: the words of a call and the text of its script in, a request out.

use std::path::{Path, PathBuf};

use tollgate_client::types::JobRequest;

use crate::directives;
use crate::error::{FrontendError, SubmitOptionError};
use crate::job_id;
use crate::job_options::JobOptions;
use crate::options::{self, ParsedOption};
use crate::output_names;
use crate::place::{SubmitPlace, TypedJobParts};
use crate::prelude::ScriptPrelude;
use crate::tool::FrontendDialect;
use crate::words::split_words;

/// Options that exist only in Grid Engine.
const GRID_ENGINE_OPTIONS: &[&str] = &[
    "terse", "cwd", "wd", "pe", "b", "hold_jid", "sync", "tc", "notify", "now", "shell",
];

/// The name of a script that is read from standard input.
const STDIN: &str = "STDIN";

/// A call of `qsub`.
#[derive(Clone, Debug)]
pub struct QsubCall<'a> {
    typed: Vec<ParsedOption>,
    body: JobBody<'a>,
    arguments: &'a [String],
}

/// The program or script of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum JobBody<'a> {
    Script(ScriptSource<'a>),
    Program,
}

/// The source of a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScriptSource<'a> {
    /// Standard input.
    StandardInput,
    /// A file.
    File(&'a str),
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

impl ScriptSource<'_> {
    /// Returns its name in messages.
    pub const fn name(&self) -> &str {
        match self {
            Self::StandardInput => STDIN,
            Self::File(name) => name,
        }
    }
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

/// A job with all of its options.
struct QsubJob<'a> {
    options: JobOptions,
    body: JobBody<'a>,
    name: String,
    arguments: Vec<String>,
    dialect: FrontendDialect,
    place: &'a SubmitPlace,
}

impl QsubJob<'_> {
    fn request(&self, text: &str, notes: &mut Vec<String>) -> Result<JobRequest, FrontendError> {
        let (options, resources) = (&self.options, &self.options.resources);
        let here = match &self.place.dir {
            Ok(here) => here.as_path(),
            Err(error) => return Err(FrontendError::NoDirectory(error.to_string())),
        };
        // The directory in which the job starts, and to which relative file names refer.
        let dir = match &options.dir {
            Some(dir) => here.join(dir),
            None if options.in_current_dir => here.to_owned(),
            None => self
                .place
                .variable("HOME")
                .map_or_else(|| here.to_owned(), PathBuf::from),
        };
        let base = match self.dialect {
            FrontendDialect::Pbs => here,
            FrontendDialect::GridEngine => &dir,
        };
        let output = self.output_path(options.output.as_deref(), 'o', base);
        let errors = self.output_path(options.stderr_path.as_deref(), 'e', base);
        let errors = errors.unwrap_or_else(|| "/dev/null".to_owned());
        let prelude = ScriptPrelude {
            dialect: self.dialect,
            is_array: options.array.is_some(),
            stderr_path: (!options.join_stderr).then_some(errors.as_str()),
        };
        let (command, script) = self.program(text, &prelude, notes);
        let idle = options.ignored.iter().chain(&resources.ignored);
        notes.extend(idle.map(|option| format!("{option} changes nothing here")));
        let mut env = options.env.clone();
        if options.all_env {
            env.insert(0, "all".to_owned());
        }
        env.extend(self.variables(here));
        let begin = options
            .begin
            .and_then(|begin| begin.resolve(&self.place.now));
        let usual_deadline = self.place.variable("TOLLGATE_DEADLINE");
        let procs = resources.procs.unwrap_or(1);
        Ok(JobRequest {
            command,
            script,
            name: Some(self.name.clone()),
            account: options.account.clone(),
            queue: options.queue.clone(),
            procs,
            memory_bytes: resources.memory_for(procs),
            host: resources.host.clone(),
            resources: resources.devices().unwrap_or_default(),
            estimate_s: resources.estimate(),
            time_limit_s: resources.time_limit,
            budget: match resources.budget {
                Some(budget) => Some(budget),
                None => self.usual_budget()?,
            },
            penalty_per_s: resources.penalty.unwrap_or(0.0),
            confidence: resources.confidence,
            requeue: options.requeue,
            array: self.tasks(),
            after: options.after.clone(),
            held: options.held,
            output,
            ..self.place.request(&TypedJobParts {
                env: &env,
                dir: Some(&dir),
                deadline: resources.deadline.as_deref().or(usual_deadline),
                begin: begin.as_deref(),
            })?
        })
    }

    /// Returns the command of the job, and its script if there is one.
    fn program(
        &self,
        text: &str,
        prelude: &ScriptPrelude<'_>,
        notes: &mut Vec<String>,
    ) -> (Vec<String>, Option<String>) {
        let arguments = self.arguments.iter().cloned();
        match self.body {
            JobBody::Program => {
                let line = format!("{}; exec \"$@\"", prelude.line());
                let shell = ["/bin/sh", "-c", &line, "sh"].map(str::to_owned);
                (shell.into_iter().chain(arguments).collect(), None)
            }
            JobBody::Script(source) => {
                let over = prelude.prepend_to(text, self.options.shell.as_deref());
                if over.is_none() {
                    notes.push(
                        "the script is for no shell: errors go where its output does, and its number is \
                         in TOLLGATE_JOB alone"
                            .to_owned(),
                    );
                }
                let text = over.unwrap_or_else(|| text.to_owned());
                // The script appears under this name, but the service runs its own copy.
                let name = source.name();
                let name = format!("./{}", name.rsplit('/').next().unwrap_or(name));
                ([name].into_iter().chain(arguments).collect(), Some(text))
            }
        }
    }

    /// Returns the file for output or errors. None if they are discarded.
    fn output_path(&self, template: Option<&str>, letter: char, base: &Path) -> Option<String> {
        let name = &self.name;
        let usual = match (self.options.array.is_some(), self.dialect) {
            (false, _) => format!("{name}.{letter}%j"),
            (true, FrontendDialect::Pbs) => format!("{name}.{letter}%j-%a"),
            (true, FrontendDialect::GridEngine) => format!("{name}.{letter}%j.%a"),
        };
        let Some(template) = template else {
            return Some(base.join(usual).display().to_string());
        };
        if template == "/dev/null" {
            return None;
        }
        let path = base.join(output_names::expand(template, name, self.place));
        let path = match template.ends_with('/') || (self.place.is_dir)(&path) {
            true => path.join(usual),
            false => path,
        };
        Some(path.display().to_string())
    }

    /// Returns the tasks with the limit of running tasks: `1-10:2%5`.
    fn tasks(&self) -> Option<String> {
        let tasks = self.options.array.as_ref()?;
        Some(match &self.options.max_concurrent {
            Some(most) => format!("{tasks}%{most}"),
            None => tasks.clone(),
        })
    }

    /// Returns the variables of the job that are known before its start.
    fn variables(&self, here: &Path) -> Vec<String> {
        let (name, here) = (&self.name, here.display());
        let of = |variable: &str| self.place.variable(variable).unwrap_or_default();
        let (home, user) = (of("HOME"), of("LOGNAME"));
        match self.dialect {
            FrontendDialect::Pbs => vec![
                "PBS_ENVIRONMENT=PBS_BATCH".to_owned(),
                format!("PBS_JOBNAME={name}"),
                format!("PBS_O_WORKDIR={here}"),
                format!("PBS_O_HOME={home}"),
                format!("PBS_O_LOGNAME={user}"),
                format!("PBS_O_PATH={}", of("PATH")),
            ],
            FrontendDialect::GridEngine => vec![
                "ENVIRONMENT=BATCH".to_owned(),
                format!("JOB_NAME={name}"),
                format!("SGE_O_WORKDIR={here}"),
                format!("SGE_O_HOME={home}"),
                format!("SGE_O_LOGNAME={user}"),
            ],
        }
    }

    /// Returns the budget of jobs without one, by the variable of the user.
    fn usual_budget(&self) -> Result<Option<f64>, SubmitOptionError> {
        const VARIABLE: &str = "TOLLGATE_BUDGET";
        let Some(text) = self.place.variable(VARIABLE) else {
            return Ok(None);
        };
        let credits = text.parse::<f64>();
        credits.map(Some).map_err(|_| {
            SubmitOptionError::new(
                "budget",
                format!("{VARIABLE}: expected credits, got `{text}`"),
            )
        })
    }
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
