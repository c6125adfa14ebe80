//! The job that options of PBS and Grid Engine describe.

use crate::begin_date::BeginDate;
use crate::error::FrontendError;
use crate::job_id;
use crate::options::ParsedOption;
use crate::place::SubmitPlace;
use crate::resources::ResourceOptions;
use crate::tool::FrontendDialect;
use crate::variables;

/// The requested job.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct JobOptions {
    /// Name of the job.
    pub(crate) name: Option<String>,
    /// File or directory of its output.
    pub(crate) output: Option<String>,
    /// File or directory of its errors.
    pub(crate) stderr_path: Option<String>,
    /// Account to charge.
    pub(crate) account: Option<String>,
    /// Queue.
    pub(crate) queue: Option<String>,
    /// Whether errors go where the output does.
    pub(crate) join_stderr: bool,
    /// Directory in which it starts.
    pub(crate) dir: Option<String>,
    /// Whether the job starts in the directory where `qsub` was called.
    pub(crate) in_current_dir: bool,
    /// Shell of the script.
    pub(crate) shell: Option<String>,
    /// The variables, as `NAME=VALUE`.
    pub(crate) env: Vec<String>,
    /// Whether the whole environment is passed.
    pub(crate) all_env: bool,
    /// Tasks of an array, as in `1-10:2`.
    pub(crate) array: Option<String>,
    /// Maximum number of tasks that run at a time.
    pub(crate) max_concurrent: Option<String>,
    /// The dependencies, as `ID` or `any:ID`.
    pub(crate) after: Vec<String>,
    /// The earliest start.
    pub(crate) begin: Option<BeginDate>,
    /// Whether the job is held.
    pub(crate) held: bool,
    /// Whether the job runs again after it was lost.
    pub(crate) requeue: bool,
    /// Whether only the number of the job is printed.
    pub(crate) terse: bool,
    /// Whether `qsub` waits for the end of the job.
    pub(crate) wait: bool,
    /// Whether the job runs a program instead of a script.
    pub(crate) program: bool,
    /// Arguments of the script, in one string.
    pub(crate) arguments: Option<String>,
    /// Resources.
    pub(crate) resources: ResourceOptions,
    /// Known options without effect here, as they were written.
    pub(crate) ignored: Vec<String>,
}

/// Returns the queue of a destination such as `batch`, `batch@server` or `@server`.
fn queue_name(destination: &str) -> Option<String> {
    let queue = destination.split('@').next().unwrap_or_default();
    (!queue.is_empty()).then(|| queue.to_owned())
}

impl JobOptions {
    /// Adds options. A later option overrides an earlier option of the same kind.
    ///
    /// # Errors
    /// The first option that is invalid or cannot be honoured.
    pub(crate) fn add(
        &mut self,
        options: &[ParsedOption],
        style: FrontendDialect,
        place: &SubmitPlace,
    ) -> Result<(), FrontendError> {
        options
            .iter()
            .try_for_each(|given| self.add_one(given, style, place))
    }

    /// Adds options of the command line, which override those of the script that were added before.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub(crate) fn add_overriding(
        &mut self,
        options: &[ParsedOption],
        style: FrontendDialect,
        place: &SubmitPlace,
    ) -> Result<(), FrontendError> {
        let script = std::mem::take(&mut self.resources);
        self.add(options, style, place)?;
        let command_line = std::mem::take(&mut self.resources);
        self.resources = command_line.over(script);
        Ok(())
    }

    fn add_one(
        &mut self,
        given: &ParsedOption,
        style: FrontendDialect,
        place: &SubmitPlace,
    ) -> Result<(), FrontendError> {
        let value = || Some(given.value.clone());
        match given.name.as_str() {
            "N" => self.name = value(),
            "A" => self.account = value(),
            "q" => self.queue = queue_name(&given.value),
            "o" => self.output = Some(path(&given.value)),
            "e" => self.stderr_path = Some(path(&given.value)),
            "j" => self.join_stderr = matches!(given.value.as_str(), "oe" | "eo" | "y" | "yes"),
            "d" | "wd" => self.dir = value(),
            "cwd" => self.in_current_dir = true,
            "S" => self.shell = Some(path(&given.value)),
            "v" => self.env.extend(variables::parse(given, place)?),
            "V" => self.all_env = true,
            "t" | "J" => self.array = value(),
            "tc" => self.max_concurrent = value(),
            "hold_jid" => self.add_dependency(given, "any:", given.value.split(','), style)?,
            "h" => self.held = true,
            "r" => self.requeue = parse_yes_no(given)?,
            "terse" => self.terse = true,
            "sync" => self.wait = parse_yes_no(given)?,
            "b" => self.program = parse_yes_no(given)?,
            "F" => self.arguments = value(),
            "l" => self.resources.add(given)?,
            "pe" => self.parallel(given)?,
            "W" => self.attributes(given, style)?,
            "a" => {
                let expected =
                    || format!("expected [[[[CC]YY]MM]DD]hhmm[.SS], got `{}`", given.value);
                let begin = BeginDate::parse(&given.value);
                self.begin = Some(begin.ok_or_else(|| given.invalid_value(expected()))?);
            }
            "dl" => return Err(given.unsupported("jobs have no time from which they are urgent")),
            "I" | "X" => return Err(given.unsupported("jobs have no terminal")),
            "D" => return Err(given.unsupported("the root of a job cannot be changed")),
            "hold_jid_ad" => {
                return Err(given.unsupported("tasks cannot wait for those of another array"));
            }
            "u" => return Err(given.unsupported("jobs run as the user who submits them")),
            "i" => return Err(given.unsupported("jobs have no input")),
            // These options ask for behaviour that always holds.
            "m" if given.value == "n" => {}
            "c" if given.value == "n" => {}
            "p" | "js" if given.value == "0" => {}
            "now" | "R" if given.value.starts_with('n') => {}
            "w" if matches!(given.value.as_str(), "e" | "w" | "n") => {}
            "shell" | "hard" | "z" | "verbose" => {}
            "now" => return Err(given.unsupported("jobs that cannot start at once are queued")),
            "w" => return Err(given.unsupported("a job cannot be checked without being submitted")),
            "clear" => return Err(given.unsupported("earlier options stay in effect")),
            "C" => {
                return Err(given.unsupported("the prefix of options in scripts cannot be changed"));
            }
            _ => self.ignored.push(
                format!("{} {}", given.option(), given.value)
                    .trim_end()
                    .to_owned(),
            ),
        }
        Ok(())
    }

    /// Parses slots such as `smp 4` or `smp 4-8`. The minimum of a range is used.
    fn parallel(&mut self, given: &ParsedOption) -> Result<(), FrontendError> {
        let slots = given.value.rsplit(' ').next().unwrap_or_default();
        let least = slots.split('-').next().unwrap_or_default();
        let procs = least.parse().ok().filter(|&procs| procs > 0);
        let wrong = || given.invalid_value(format!("expected a number of slots, got `{slots}`"));
        self.resources.procs = Some(procs.ok_or_else(wrong)?);
        Ok(())
    }

    /// Parses attributes such as `depend=afterok:7:8,block=true`.
    fn attributes(
        &mut self,
        given: &ParsedOption,
        style: FrontendDialect,
    ) -> Result<(), FrontendError> {
        let mut is_ignored = false;
        for attribute in given.value.split(',') {
            // A list of groups goes on behind its commas.
            if is_ignored && !attribute.contains('=') {
                continue;
            }
            is_ignored = false;
            let (name, value) = attribute.split_once('=').unwrap_or((attribute, "true"));
            let depends = name == "depend" || name.starts_with("after");
            match (name, value) {
                ("block", "true") => self.wait = true,
                ("block", "false") => {}
                ("group_list" | "umask" | "sandbox" | "x", _) => {
                    is_ignored = true;
                    self.ignored.push(format!("-W {name}={value}"));
                }
                // The second part of `depend=afterok:7,afterany:8` has no `depend=`.
                _ if depends => {
                    let words = if name == "depend" { value } else { name };
                    let (kind, jobs) = words.split_once(':').unwrap_or((words, ""));
                    let prefix = match kind {
                        "afterok" => "",
                        "afterany" => "any:",
                        _ => {
                            return Err(
                                given.invalid_value(format!("jobs cannot wait with `{kind}`"))
                            );
                        }
                    };
                    self.add_dependency(given, prefix, jobs.split(':'), style)?;
                }
                _ => return Err(given.invalid_value(format!("unknown attribute `{name}`"))),
            }
        }
        Ok(())
    }

    fn add_dependency<'a>(
        &mut self,
        given: &ParsedOption,
        prefix: &str,
        jobs: impl Iterator<Item = &'a str>,
        style: FrontendDialect,
    ) -> Result<(), FrontendError> {
        for word in jobs {
            let job = job_id::parse(word, style).filter(|job| !job.contains('_'));
            let job = job.ok_or_else(|| {
                given.invalid_value(format!("expected the number of a job, got `{word}`"))
            })?;
            self.after.push(format!("{prefix}{job}"));
        }
        Ok(())
    }
}

fn parse_yes_no(given: &ParsedOption) -> Result<bool, FrontendError> {
    match given.value.as_str() {
        "y" | "yes" => Ok(true),
        "n" | "no" => Ok(false),
        other => Err(given.invalid_value(format!("expected y or n, got `{other}`"))),
    }
}

/// Returns the path in `host:path` (PBS) or `:path` (Grid Engine).
fn path(value: &str) -> String {
    match value.split_once(':') {
        Some((host, path)) if !host.contains('/') => path.to_owned(),
        _ => value.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fuzz::fixed_place;
    use crate::options;

    fn parsed(words: &str, style: FrontendDialect) -> Result<JobOptions, String> {
        let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
        let (given, _) = options::parse("qsub", &words).map_err(|error| error.to_string())?;
        let mut options = JobOptions::default();
        options
            .add(&given, style, &fixed_place())
            .map_err(|error| error.to_string())?;
        Ok(options)
    }

    #[test]
    fn dependencies_are_parsed_in_both_dialects() {
        let after = |words, style| parsed(words, style).unwrap().after;
        assert_eq!(
            after(
                "-W depend=afterok:7.tollgate:8,afterany:9",
                FrontendDialect::Pbs
            ),
            ["7", "8", "any:9"]
        );
        assert_eq!(
            after("-hold_jid 7,8", FrontendDialect::GridEngine),
            ["any:7", "any:8"]
        );
        for words in [
            "-W depend=afternotok:7",
            "-hold_jid name",
            "-W depend=afterok:7[3]",
        ] {
            assert!(parsed(words, FrontendDialect::Pbs).is_err(), "{words}");
        }
    }

    #[test]
    fn attributes_of_sites_are_ignored_with_a_note() {
        let words = "-W group_list=physics@a,chem@b,umask=0022,block=true";
        let kept = parsed(words, FrontendDialect::Pbs).unwrap();
        assert_eq!(kept.ignored, ["-W group_list=physics@a", "-W umask=0022"]);
        assert!(kept.wait);
        let refused = parsed("-W stagein=a", FrontendDialect::Pbs).unwrap_err();
        assert_eq!(refused, "qsub: -W: unknown attribute `stagein`");
    }

    #[test]
    fn harmless_options_are_ignored_with_a_note_others_are_rejected() {
        let kept = parsed(
            "-q long -m n -M me@here -j oe -notify",
            FrontendDialect::Pbs,
        )
        .unwrap();
        assert_eq!(kept.ignored, ["-M me@here", "-notify"]);
        assert!(kept.join_stderr);
        let refused = parsed("-a noon", FrontendDialect::Pbs).unwrap_err();
        let expected = "qsub: -a: expected [[[[CC]YY]MM]DD]hhmm[.SS], got `noon`";
        assert_eq!(refused, expected);
    }
}
