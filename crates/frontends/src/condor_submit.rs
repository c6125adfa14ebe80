//! The job that a call of `condor_submit` asks an HTCondor for. The call is read and not carried out.

use std::collections::BTreeMap;

use crate::qsub_job::ScriptSource;
use crate::unsubmitted::UnsubmittedJob;

/// The options of `condor_submit` that have a value, besides those that are read.
const VALUED: [&str; 11] = [
    "addr",
    "batch-id",
    "batch-name",
    "dry-run",
    "dump",
    "maxjobs",
    "name",
    "password",
    "pool",
    "remote",
    "schedd",
];
/// How deep macros may name macros.
const MACRO_DEPTH: usize = 16;

/// Words or a file of `condor_submit` that are not understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("condor_submit: {0}")]
pub struct CondorSubmitError(String);

/// A call of `condor_submit` that is read and not carried out.
#[derive(Clone, Debug)]
pub struct UnsubmittedCondorSubmit<'a> {
    file: ScriptSource<'a>,
    /// Lines that stand before the file, and lines before its first `queue`.
    before: Vec<&'a str>,
    appended: Vec<&'a str>,
}

impl<'a> UnsubmittedCondorSubmit<'a> {
    /// Parses the words behind the name of the program.
    ///
    /// # Errors
    /// If an option lacks its value.
    pub fn parse(words: &'a [String]) -> Result<Self, CondorSubmitError> {
        let mut call = Self {
            file: ScriptSource::StandardInput,
            before: Vec::new(),
            appended: Vec::new(),
        };
        let mut words = words.iter().map(String::as_str);
        while let Some(word) = words.next() {
            let option = word.strip_prefix('-').filter(|name| !name.is_empty());
            let Some(option) = option.map(|name| name.trim_start_matches('-')) else {
                match word.contains('=') {
                    true => call.before.push(word),
                    false if word == "-" => call.file = ScriptSource::StandardInput,
                    false => call.file = ScriptSource::File(word),
                }
                continue;
            };
            if option == "queue" {
                break;
            }
            let is_append = option == "a" || option == "append";
            if is_append || VALUED.contains(&option) {
                let missing = || CondorSubmitError(format!("-{option}: expected a value"));
                let value = words.next().ok_or_else(missing)?;
                call.appended.extend(is_append.then_some(value));
            }
        }
        Ok(call)
    }

    /// Returns the submit file whose text [`Self::job`] needs.
    pub const fn file(&self) -> ScriptSource<'a> {
        self.file
    }

    /// Returns the jobs up to the first `queue` of the file, which are alike as far as a wait goes.
    ///
    /// # Errors
    /// If the processors or a limit are no numbers.
    pub fn job(&self, text: &str) -> Result<UnsubmittedJob, CondorSubmitError> {
        let mut commands = Commands::default();
        self.before.iter().for_each(|line| commands.add(line));
        for line in joined_lines(text) {
            let first = line.split_whitespace().next().unwrap_or_default();
            if first.eq_ignore_ascii_case("queue") {
                break;
            }
            commands.add(&line);
        }
        self.appended.iter().for_each(|line| commands.add(line));
        let limits = [
            "allowed_execute_duration",
            "allowed_job_duration",
            "+maxruntime",
        ];
        let limits: Result<Vec<Option<u32>>, CondorSubmitError> = limits
            .into_iter()
            .map(|name| commands.number(name))
            .collect();
        let limit = limits?.into_iter().flatten().next();
        Ok(UnsubmittedJob {
            procs: commands.number("request_cpus")?.unwrap_or(1).max(1),
            limit_s: limit.map(f64::from),
            queue: commands.value("accounting_group"),
        })
    }
}

/// The commands of a submit file, by name in small letters.
#[derive(Debug, Default)]
struct Commands(BTreeMap<String, String>);

impl Commands {
    /// Adds a line `name = value`. Other lines are read over.
    fn add(&mut self, line: &str) {
        let Some((name, value)) = line.split_once('=').filter(|_| !line.starts_with('#')) else {
            return;
        };
        let name = name.trim().to_lowercase();
        let name = match name.strip_prefix("my.") {
            Some(attribute) => format!("+{attribute}"),
            None => name,
        };
        self.0.insert(name, value.trim().to_owned());
    }

    fn value(&self, name: &str) -> Option<String> {
        let value = self.expanded(self.0.get(name)?, MACRO_DEPTH);
        let value = value.trim().trim_matches('"').to_owned();
        (!value.is_empty()).then_some(value)
    }

    fn number(&self, name: &str) -> Result<Option<u32>, CondorSubmitError> {
        let Some(value) = self.value(name) else {
            return Ok(None);
        };
        let number = value.parse();
        let wrong = |_| CondorSubmitError(format!("{name}: expected a number, got `{value}`"));
        number.map(Some).map_err(wrong)
    }

    /// Replaces `$(name)` and `$(name:default)`.
    fn expanded(&self, text: &str, depth: usize) -> String {
        let Some((before, rest)) = text.split_once("$(").filter(|_| depth > 0) else {
            return text.to_owned();
        };
        let Some((name, after)) = rest.split_once(')') else {
            return text.to_owned();
        };
        let (name, default) = name.split_once(':').unwrap_or((name, ""));
        let value = self.0.get(&name.trim().to_lowercase());
        let value = value.map_or(default, String::as_str);
        format!(
            "{before}{}{}",
            self.expanded(value, depth - 1),
            self.expanded(after, depth)
        )
    }
}

/// Returns the lines of a file, of which one that ends with `\` goes on in the next.
fn joined_lines(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut is_open = false;
    for line in text.lines().map(str::trim) {
        let part = line.strip_suffix('\\').unwrap_or(line);
        match lines.last_mut().filter(|_| is_open) {
            Some(last) => last.push_str(part),
            None => lines.push(part.to_owned()),
        }
        is_open = line.ends_with('\\');
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(words: &[&str], text: &str) -> Result<UnsubmittedJob, CondorSubmitError> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        UnsubmittedCondorSubmit::parse(&words)?.job(text)
    }

    const FILE: &str = "# request_cpus = 9\nexecutable = a\nN = 4\nRequest_Cpus = $(N)\nallowed_execute_duration = \\\n\
                        600\naccounting_group = physics\nqueue 10\nrequest_cpus = 64\nqueue\n";

    #[test]
    fn file_is_read_up_to_its_first_queue() {
        let job = described(&["a.sub"], FILE).unwrap();
        assert_eq!((job.procs, job.limit_s), (4, Some(600.0)));
        assert_eq!(job.queue.as_deref(), Some("physics"));
        let job = described(&["-"], "queue\n").unwrap();
        assert_eq!((job.procs, job.limit_s, job.queue), (1, None, None));
    }

    #[test]
    fn appended_lines_override_the_file_and_the_file_overrides_the_words() {
        let words = [
            "-batch-name",
            "x",
            "N=8",
            "a.sub",
            "-a",
            "request_cpus = $(M:2)",
        ];
        assert_eq!(described(&words, FILE).unwrap().procs, 2);
        assert_eq!(described(&["N=8", "a.sub"], FILE).unwrap().procs, 4);
        let file = "MY.MaxRuntime = 60\nrequest_cpus=$(N:1)\nqueue\n";
        let job = described(&["N=8", "a.sub"], file).unwrap();
        assert_eq!((job.procs, job.limit_s), (8, Some(60.0)));
    }

    #[test]
    fn expressions_and_endless_macros_are_errors() {
        assert!(described(&["a"], "request_cpus = max(1, 2)\nqueue\n").is_err());
        assert!(described(&["a"], "request_cpus = $(request_cpus)\nqueue\n").is_err());
        assert!(described(&["-append"], "").is_err());
    }
}
