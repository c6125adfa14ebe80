//! The job that a call of `sbatch` asks a real Slurm for: its processors, its limit and its partition.

use super::directives;
use super::error::SlurmError;
use super::getopt::{self, OptionsEnd, TypedOption};
use super::sbatch::{SbatchScript, TOOL, of_environment, script_of};
use super::sbatch_job::SbatchOptions;
use super::sbatch_options::{self, OptionEffect};
use crate::place::SubmitPlace;
use crate::unsubmitted::UnsubmittedJob;

/// A call of `sbatch` that is read and not carried out. Options that tollgate itself refuses are read over.
#[derive(Clone, Debug)]
pub struct UnsubmittedSbatch {
    environment: Vec<TypedOption>,
    typed: Vec<TypedOption>,
    script: SbatchScript,
}

impl UnsubmittedSbatch {
    /// Parses the words behind the name of the program. The environment stands below the command line.
    ///
    /// # Errors
    /// The first option that Slurm does not know, or whose value is invalid.
    pub fn parse(words: &[String], place: &SubmitPlace) -> Result<Self, SlurmError> {
        let rules = sbatch_options::rules();
        let parsed = getopt::parse(TOOL, &rules, words, OptionsEnd::FirstOperand, 255)?;
        let typed = without_refused(parsed.options);
        let mut options = SbatchOptions::default();
        options.add(TOOL, &typed)?;
        let script = script_of(options.wrap.as_deref(), parsed.operands.into_iter().next())?;
        Ok(Self {
            environment: without_refused(of_environment(place)),
            typed,
            script,
        })
    }

    /// Returns the script whose text [`Self::job`] needs.
    pub const fn script(&self) -> &SbatchScript {
        &self.script
    }

    /// Returns the job with the text of its script.
    ///
    /// # Errors
    /// If an option of the script is unknown or invalid.
    pub fn job(&self, text: &str) -> Result<UnsubmittedJob, SlurmError> {
        let mut options = SbatchOptions::default();
        options.add(TOOL, &without_refused(directives::parse(text)?))?;
        options.add(TOOL, &self.environment)?;
        options.add(TOOL, &self.typed)?;
        // Hosts without a number of processors have one each, at least.
        let n_tasks = options.n_tasks(TOOL);
        let n_tasks = n_tasks.unwrap_or(options.nodes.unwrap_or(1));
        let first = |names: &String| names.split(',').next().unwrap_or(names).to_owned();
        Ok(UnsubmittedJob {
            procs: options.procs(n_tasks).max(1),
            limit_s: options.limit_s(),
            queue: options.partition.as_ref().map(first),
        })
    }
}

fn without_refused(mut options: Vec<TypedOption>) -> Vec<TypedOption> {
    options.retain(|typed| match sbatch_options::effect(typed.name) {
        OptionEffect::Refused(_) => false,
        OptionEffect::Used | OptionEffect::Noted | OptionEffect::Silent => true,
    });
    options
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fuzz::fixed_place;

    fn described(words: &str, text: &str) -> Result<UnsubmittedJob, String> {
        let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        let call = UnsubmittedSbatch::parse(&words, &fixed_place()).map_err(|error| error.text)?;
        call.job(text).map_err(|error| error.text)
    }

    #[test]
    fn command_line_overrides_the_script() {
        let text = "#!/bin/bash\n#SBATCH -n 4 -c 2 -t 60 -p long,short\nhostname\n";
        let job = described("-t 4:00:00 job.sh", text).unwrap();
        assert_eq!((job.procs, job.limit_s), (8, Some(14_400.0)));
        assert_eq!(job.queue.as_deref(), Some("long"));
    }

    #[test]
    fn refused_options_are_read_over() {
        let text = "#!/bin/bash\nhostname\n";
        let job = described("--uid 7 -N 4 job.sh", text).unwrap();
        assert_eq!((job.procs, job.limit_s, job.queue), (4, None, None));
    }

    #[test]
    fn unknown_option_is_an_error() {
        assert!(described("--no-such-option job.sh", "#!/bin/sh\n").is_err());
    }
}
