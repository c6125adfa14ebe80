//! The request of a job of `qsub`.

use std::path::{Path, PathBuf};

use tollgate_client::types::JobRequest;

use crate::error::{FrontendError, SubmitOptionError};
use crate::job_options::JobOptions;
use crate::output_names;
use crate::place::{SubmitPlace, TypedJobParts};
use crate::prelude::ScriptPrelude;
use crate::tool::FrontendDialect;

/// The name of a script that is read from standard input.
const STDIN: &str = "STDIN";

/// A job with all of its options.
pub(crate) struct QsubJob<'a> {
    pub(crate) options: JobOptions,
    pub(crate) body: JobBody<'a>,
    pub(crate) name: String,
    pub(crate) arguments: Vec<String>,
    pub(crate) dialect: FrontendDialect,
    pub(crate) place: &'a SubmitPlace,
}

/// The program or script of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JobBody<'a> {
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

impl ScriptSource<'_> {
    /// Returns its name in messages.
    pub const fn name(&self) -> &str {
        match self {
            Self::StandardInput => STDIN,
            Self::File(name) => name,
        }
    }
}

impl QsubJob<'_> {
    pub(crate) fn request(
        &self,
        text: &str,
        notes: &mut Vec<String>,
    ) -> Result<JobRequest, FrontendError> {
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
