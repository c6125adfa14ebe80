//! `sbatch`: the words of a call and the text of its script in, a request out.

use tollgate_client::limits::MAX_NAME;
use tollgate_client::typed_instant::parse_begin;
use tollgate_client::types::{JobRequest, JobSignal};

use super::directives;
use super::environment::{VariableFacts, exported, slurm_variables};
use super::error::SlurmError;
use super::getopt::{self, OptionValue, OptionsEnd, TypedOption};
use super::prelude::SlurmPrelude;
use super::sbatch_files::JobFiles;
use super::sbatch_job::{CLUSTER_NAME, SbatchOptions};
use super::sbatch_options;
use crate::place::{SubmitPlace, TypedJobParts};

/// The name of the command in its messages.
pub(super) const TOOL: &str = "sbatch";
/// The first lines of a script that `--wrap` makes.
const WRAP_HEAD: &str = "#!/bin/sh\n# This script was created by sbatch --wrap.\n\n";

/// The source of a script of `sbatch`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SbatchScript {
    /// Standard input.
    StandardInput,
    /// A file.
    File(String),
    /// The command of `--wrap`, as a script.
    Wrapped(String),
}

/// A call of `sbatch`.
#[derive(Clone, Debug)]
pub struct SbatchCall {
    environment: Vec<TypedOption>,
    typed: Vec<TypedOption>,
    /// The options of both, without those of the script.
    options: SbatchOptions,
    script: SbatchScript,
    arguments: Vec<String>,
}

/// What `sbatch` does with a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SbatchAction {
    /// Submits it.
    Submit,
    /// Submits it and waits for its end.
    SubmitAndWait,
    /// Only says when it would run.
    TestOnly,
}

/// A job that `sbatch` submits.
#[derive(Clone, Debug, PartialEq)]
pub struct SbatchSubmission {
    /// The request.
    pub request: JobRequest,
    /// The notes for the user on standard error, one line each.
    pub notes: Vec<String>,
    /// What becomes of the request.
    pub action: SbatchAction,
    /// Whether the job starts after the user's jobs of the same name that are not over.
    pub is_singleton: bool,
    /// Whether only errors are printed besides the number.
    pub is_quiet: bool,
    /// The number of tasks as of Slurm, for messages.
    pub partition: String,
    is_parsable: bool,
    names_cluster: bool,
}

/// What a call asks for besides jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SbatchQuestion {
    /// The help.
    Help,
    /// The version.
    Version,
}

impl SbatchCall {
    /// Parses the words behind the name of the program. The environment stands below the command line.
    ///
    /// # Errors
    /// The first option that is unknown, invalid or cannot be honoured.
    pub fn parse(words: &[String], place: &SubmitPlace) -> Result<Self, SlurmError> {
        let rules = sbatch_options::rules();
        let parsed = getopt::parse(TOOL, &rules, words, OptionsEnd::FirstOperand, 255)?;
        let environment = of_environment(place);
        let mut options = SbatchOptions::default();
        options.add(TOOL, &environment)?;
        options.add(TOOL, &parsed.options)?;
        let mut operands = parsed.operands.into_iter();
        let script = script_of(options.wrap.as_deref(), operands.next())?;
        Ok(Self {
            environment,
            typed: parsed.options,
            options,
            script,
            arguments: operands.collect(),
        })
    }

    /// Returns the script whose text [`Self::submission`] needs.
    pub const fn script(&self) -> &SbatchScript {
        &self.script
    }

    /// Returns what the call asks for in place of a job. None if it is about one.
    pub const fn question(&self) -> Option<SbatchQuestion> {
        match (self.options.help, self.options.version) {
            (true, _) => Some(SbatchQuestion::Help),
            (false, true) => Some(SbatchQuestion::Version),
            (false, false) => None,
        }
    }

    /// Returns the job with the text of its script.
    ///
    /// # Errors
    /// If the text is no script, or an option of it is unknown, invalid or cannot be honoured, or a value means nothing at
    /// this place.
    pub fn submission(
        &self,
        text: &str,
        place: &SubmitPlace,
    ) -> Result<SbatchSubmission, SlurmError> {
        check_script(text)?;
        let mut options = SbatchOptions::default();
        options.add(TOOL, &directives::parse(text)?)?;
        options.add(TOOL, &self.environment)?;
        options.add(TOOL, &self.typed)?;
        let (request, notes) = self.request(&mut options, text, place)?;
        let names_cluster = self.typed.iter().any(|typed| typed.name == "clusters");
        Ok(SbatchSubmission {
            request,
            notes,
            action: match (options.test_only, options.wait) {
                (true, _) => SbatchAction::TestOnly,
                (false, true) => SbatchAction::SubmitAndWait,
                (false, false) => SbatchAction::Submit,
            },
            is_singleton: options.is_singleton,
            is_quiet: options.quiet,
            partition: options
                .partition
                .clone()
                .unwrap_or_else(|| super::environment::DEFAULT_PARTITION.to_owned()),
            is_parsable: options.parsable,
            names_cluster,
        })
    }

    fn request(
        &self,
        options: &mut SbatchOptions,
        text: &str,
        place: &SubmitPlace,
    ) -> Result<(JobRequest, Vec<String>), SlurmError> {
        let here = place.dir.as_ref();
        let here = here.map_err(|error| SlurmError::of(TOOL, format!("getcwd failed: {error}")))?;
        let n_tasks = options.n_tasks(TOOL)?;
        if options.nodes.is_some_and(|nodes| nodes > 1) {
            options.note("--nodes (hosts are not counted, processors are)".to_owned());
        }
        let name = options.name.clone().unwrap_or_else(|| self.default_name());
        let dir = options
            .dir
            .as_ref()
            .map_or_else(|| here.clone(), |dir| here.join(dir));
        let is_array = options.array.is_some();
        let files = JobFiles::of(options, is_array, &dir);
        let limit_s = options.limit_s();
        let signal = match (options.signal, limit_s) {
            (Some((name, before_s)), Some(limit)) => Some(JobSignal {
                name: name.to_owned(),
                // Slurm sends a signal that is due before the start at the start.
                before_s: before_s.clamp(1.0, (limit - 1.0).max(1.0)).min(limit / 2.0),
            }),
            (Some(_), None) => {
                options.note("--signal (there is no time limit)".to_owned());
                None
            }
            (None, _) => None,
        };
        let devices = options.devices(n_tasks);
        let is_gpu = |name: &str| name == "gpu" || name.starts_with("gpu:");
        let gpus = devices.iter().filter(|(name, _)| is_gpu(name));
        let gpus: u32 = gpus.map(|(_, count)| u32::from(*count)).sum();
        let prelude = SlurmPrelude {
            is_array,
            procs_per_task: options.cpus_per_task.unwrap_or(1),
            n_tasks,
            limit_s: limit_s.map(|secs| secs as u64),
            gpus: (gpus > 0).then_some(gpus),
            output: files.shared.as_deref(),
            error: files.shared_error.as_deref(),
        };
        let mut env = exported(options.export.as_deref(), place);
        env.extend(slurm_variables(&VariableFacts {
            options,
            name: &name,
            n_tasks,
            place,
        }));
        let of_place = place
            .request(&TypedJobParts {
                env: &env,
                dir: Some(&dir),
                deadline: None,
                begin: options.begin.as_deref(),
            })
            .map_err(|error| SlurmError::of(TOOL, error.to_string()))?;
        let name = short(options, "--job-name", name);
        let comment = options.comment.clone();
        let comment = comment.map(|comment| short(options, "--comment", comment));
        let (deadline_s, deadline_at) = instant(options.deadline.as_deref(), place)?;
        let words = [format!("./{}", self.default_name())].into_iter();
        let request = JobRequest {
            command: words.chain(self.arguments.iter().cloned()).collect(),
            script: Some(prelude.prepend_to(text)),
            name: Some(name),
            comment,
            submit_host: Some(place.host.clone()),
            account: options.account.clone(),
            queue: options.partition.clone(),
            procs: options.procs(n_tasks),
            memory_bytes: options.memory_bytes(n_tasks),
            one_host: options.is_on_one_host(n_tasks),
            host: options.host.clone(),
            resources: devices,
            time_limit_s: limit_s,
            signal,
            deadline_s,
            deadline_at,
            budget: options.budget,
            penalty_per_s: options.penalty.unwrap_or(0.0),
            confidence: options.confidence,
            requeue: options.requeue,
            array: options.array.as_ref().map(|array| array.tasks.clone()),
            after: options.after.clone(),
            notify: options.notify.clone(),
            held: options.held,
            output: files.output,
            error: files.error,
            input: files.input,
            append: options.append,
            ..of_place
        };
        let mut notes = Vec::new();
        if !options.unused.is_empty() {
            notes.push(format!(
                "{TOOL}: note: not used here: {}",
                options.unused.join(", ")
            ));
        }
        Ok((request, notes))
    }

    /// Returns the name of a job that has none.
    fn default_name(&self) -> String {
        match &self.script {
            SbatchScript::StandardInput => TOOL.to_owned(),
            SbatchScript::Wrapped(_) => "wrap".to_owned(),
            SbatchScript::File(path) => {
                let name = path.rsplit('/').find(|part| !part.is_empty());
                name.unwrap_or(TOOL).to_owned()
            }
        }
    }
}

/// Returns the script of a call, given the command of `--wrap` and the first operand.
///
/// # Errors
/// If there are both.
pub(super) fn script_of(
    wrapped: Option<&str>,
    operand: Option<String>,
) -> Result<SbatchScript, SlurmError> {
    Ok(match (wrapped, operand) {
        (Some(command), None) => SbatchScript::Wrapped(format!("{WRAP_HEAD}{command}\n")),
        (Some(_), Some(_)) => {
            let message = "Script arguments not permitted with --wrap option";
            return Err(SlurmError::of(TOOL, message));
        }
        (None, None) => SbatchScript::StandardInput,
        (None, Some(name)) => match name.as_str() {
            "-" => SbatchScript::StandardInput,
            _ => SbatchScript::File(name),
        },
    })
}

/// Cuts a text to the length of labels, without control characters; a note names the option.
fn short(options: &mut SbatchOptions, option: &str, text: String) -> String {
    let plain = |letter: char| if letter.is_control() { ' ' } else { letter };
    if text.chars().count() > MAX_NAME {
        options.note(format!("{option} (behind {MAX_NAME} characters)"));
    }
    text.chars().take(MAX_NAME).map(plain).collect()
}

/// Parses the deadline, or that of the user's environment. A day without a time is its start, as in Slurm.
fn instant(
    typed: Option<&str>,
    place: &SubmitPlace,
) -> Result<(Option<f64>, Option<String>), SlurmError> {
    match typed.or_else(|| place.variable("TOLLGATE_DEADLINE")) {
        None => Ok((None, None)),
        Some(words) => parse_begin(words, &place.now).map_err(|_| {
            SlurmError::usage(TOOL, format!("Invalid --deadline specification: {words}"))
        }),
    }
}

/// Returns the options that variables of the environment set.
pub(super) fn of_environment(place: &SubmitPlace) -> Vec<TypedOption> {
    let set = place.variables.iter().filter_map(|(name, value)| {
        let rule = sbatch_options::of_variable(name)?;
        Some(TypedOption {
            name: rule.name,
            value: match rule.value {
                OptionValue::Bare => None,
                OptionValue::Optional => Some(value.clone()).filter(|value| !value.is_empty()),
                OptionValue::Required => Some(value.clone()),
            },
        })
    });
    set.collect()
}

/// Checks that a text is a script, in the words of Slurm.
///
/// # Errors
/// If it is empty, has no interpreter in its first line, or has line ends of DOS.
fn check_script(text: &str) -> Result<(), SlurmError> {
    let message = if text.is_empty() {
        "Batch script is empty!"
    } else if text.trim().is_empty() {
        "Batch script contains only whitespace!"
    } else if !text.starts_with("#!") {
        "This does not look like a batch script.  The first\n\
         line must start with #! followed by the path to an interpreter.\n\
         For instance: #!/bin/sh"
    } else if text.contains("\r\n") {
        "Batch script contains DOS line breaks (\\r\\n)\n\
         instead of expected UNIX line breaks (\\n)."
    } else {
        return Ok(());
    };
    Err(SlurmError::of(TOOL, message))
}

impl SbatchSubmission {
    /// Returns the line that tells the user the number of the job.
    pub fn answer(&self, id: u64) -> String {
        match (self.is_parsable, self.names_cluster) {
            (true, false) => id.to_string(),
            (true, true) => format!("{id};{CLUSTER_NAME}"),
            (false, false) => format!("Submitted batch job {id}"),
            (false, true) => format!("Submitted batch job {id} on cluster {CLUSTER_NAME}"),
        }
    }
}

#[cfg(test)]
mod tests;
