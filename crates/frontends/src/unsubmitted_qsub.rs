//! The job that a call of `qsub` asks a real Grid Engine for: its slots, its limit and its queue.

use crate::directives;
use crate::error::FrontendError;
use crate::job_options::JobOptions;
use crate::options::{self, ParsedOption};
use crate::place::SubmitPlace;
use crate::qsub_job::ScriptSource;
use crate::tool::FrontendDialect;
use crate::unsubmitted::UnsubmittedJob;

/// The options that decide about a wait. All others are read over: tollgate itself refuses some of them.
const DECIDING: [&str; 4] = ["b", "l", "pe", "q"];
/// The resources that decide about a wait.
const DECIDING_RESOURCES: [&str; 2] = ["h_rt", "s_rt"];

/// A call of `qsub` of Grid Engine that is read and not carried out.
#[derive(Clone, Debug)]
pub struct UnsubmittedQsub<'a> {
    typed: Vec<ParsedOption>,
    script: Option<ScriptSource<'a>>,
}

impl<'a> UnsubmittedQsub<'a> {
    /// Parses the words behind the name of the program.
    ///
    /// # Errors
    /// The first option that is unknown, or whose value is invalid.
    pub fn parse(words: &'a [String], place: &SubmitPlace) -> Result<Self, FrontendError> {
        let (typed, operands) = options::parse("qsub", words)?;
        let typed = deciding(typed);
        let mut options = JobOptions::default();
        options.add(&typed, FrontendDialect::GridEngine, place)?;
        let script = match (options.program, operands.first().map(String::as_str)) {
            (true, _) => None,
            (false, None | Some("-")) => Some(ScriptSource::StandardInput),
            (false, Some(name)) => Some(ScriptSource::File(name)),
        };
        Ok(Self { typed, script })
    }

    /// Returns the script whose text [`Self::job`] needs. None if the job runs a program.
    pub const fn script(&self) -> Option<ScriptSource<'a>> {
        self.script
    }

    /// Returns the job with the text of its script, which is empty if the job runs a program.
    ///
    /// # Errors
    /// If an option of the script is unknown or invalid.
    pub fn job(&self, text: &str, place: &SubmitPlace) -> Result<UnsubmittedJob, FrontendError> {
        let dialect = FrontendDialect::GridEngine;
        let name = self.script.map_or("", |script| match script {
            ScriptSource::StandardInput => "STDIN",
            ScriptSource::File(name) => name,
        });
        let mut options = JobOptions::default();
        options.add(
            &deciding(directives::parse(name, text, dialect)?),
            dialect,
            place,
        )?;
        options.add_overriding(&self.typed, dialect, place)?;
        let limits = [options.resources.time_limit, options.resources.estimate()];
        let first = |queues: &String| {
            let first = queues.split(',').next().unwrap_or(queues);
            first.split('@').next().unwrap_or(first).to_owned()
        };
        Ok(UnsubmittedJob {
            procs: options.resources.procs.unwrap_or(1),
            limit_s: limits.into_iter().flatten().next(),
            queue: options.queue.as_ref().map(first),
        })
    }
}

/// Leaves the options that decide about a wait, with the resources that do.
fn deciding(options: Vec<ParsedOption>) -> Vec<ParsedOption> {
    let options = options
        .into_iter()
        .filter(|given| DECIDING.contains(&given.name.as_str()));
    let options = options.map(|mut given| {
        if given.name == "l" {
            let requests = given.value.split(',').map(str::trim);
            let requests = requests.filter(|request| {
                let name = request.split('=').next().unwrap_or(request);
                DECIDING_RESOURCES.contains(&name)
            });
            given.value = requests.collect::<Vec<_>>().join(",");
        }
        given
    });
    options.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fuzz::fixed_place;

    fn described(words: &str, text: &str) -> Result<UnsubmittedJob, String> {
        let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        let place = fixed_place();
        let call = UnsubmittedQsub::parse(&words, &place).map_err(|error| error.to_string())?;
        call.job(text, &place).map_err(|error| error.to_string())
    }

    #[test]
    fn command_line_overrides_the_script() {
        let text = "#!/bin/bash\n#$ -pe mpi 8-16 -l h_rt=3600 -q long.q@node7,short.q\nhostname\n";
        let job = described("-l h_rt=4:00:00 job.sh", text).unwrap();
        assert_eq!((job.procs, job.limit_s), (8, Some(14_400.0)));
        assert_eq!(job.queue.as_deref(), Some("long.q"));
    }

    #[test]
    fn options_that_decide_nothing_are_read_over() {
        let text = "#!/bin/bash\n#$ -l fpga=1,s_rt=60 -dl 0101 -now y\nhostname\n";
        let job = described("-i /dev/null -hold_jid name -l h=node0* job.sh", text).unwrap();
        assert_eq!((job.procs, job.limit_s, job.queue), (1, Some(60.0), None));
        let job = described("-b y -pe smp 4 hostname", "").unwrap();
        assert_eq!((job.procs, job.limit_s), (4, None));
    }

    #[test]
    fn unknown_options_and_values_are_errors() {
        assert!(described("--no-such-option job.sh", "").is_err());
        assert!(described("-l h_rt=soon job.sh", "").is_err());
    }
}
