//! Rows of the tables of options.

/// The reasons for which an option is not passed on.
pub(super) const NAME: &str = "jobs are found again by the names that tollgate gives them";
pub(super) const ARRAY: &str = "each pilot is a job of its own: the number is that of `site scale`";
pub(super) const OUTPUT: &str =
    "a pilot writes its log into its own directory: `site add --dir` names it";
pub(super) const ELSEWHERE: &str =
    "jobs elsewhere are not found again: add another site, with `--via` to a host of that cluster";
pub(super) const WAITING: &str = "the command would not return before the job ends";
pub(super) const SCRIPT: &str = "the script is that of a pilot";
pub(super) const ANSWER: &str = "the command would submit nothing, or answer in other words";
pub(super) const CORES: &str = "use `site add --cores`";
pub(super) const MEMORY: &str = "use `site add --memory`";
pub(super) const TIME: &str = "use `site add --time`";
pub(super) const AGAIN: &str = "a pilot that ended must not start again";
pub(super) const DIRECTORY: &str = "a pilot has a directory of its own: `site add --dir` names it";
pub(super) const VARIABLES: &str = "use `site add --env`";

/// Whether an option has a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OptionValue {
    None,
    /// The rest of the word, or else this number of words after it.
    Required(usize),
    /// Only joined with the option.
    Joined,
}

/// Whether an option is passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OptionUse {
    Passed,
    /// It is passed on, and names the queue.
    Queue,
    /// It is rejected, for this reason.
    Rejected(&'static str),
}

/// An option of a submit command.
#[derive(Clone, Copy, Debug)]
pub(super) struct OptionRow {
    /// The name, without dashes.
    pub(super) name: &'static str,
    /// The letter that stands for it.
    pub(super) letter: Option<char>,
    pub(super) value: OptionValue,
    pub(super) usage: OptionUse,
}

impl OptionRow {
    /// Returns an option without a value that is passed on.
    pub(super) const fn flag(name: &'static str) -> Self {
        Self {
            name,
            letter: None,
            value: OptionValue::None,
            usage: OptionUse::Passed,
        }
    }

    /// Returns an option with a value that is passed on.
    pub(super) const fn valued(name: &'static str) -> Self {
        Self::flag(name).with(OptionValue::Required(1))
    }

    pub(super) const fn with(self, value: OptionValue) -> Self {
        Self { value, ..self }
    }

    pub(super) const fn letter(self, letter: char) -> Self {
        Self {
            letter: Some(letter),
            ..self
        }
    }

    pub(super) const fn rejected(self, reason: &'static str) -> Self {
        Self {
            usage: OptionUse::Rejected(reason),
            ..self
        }
    }

    pub(super) const fn queue(self) -> Self {
        Self {
            usage: OptionUse::Queue,
            ..self
        }
    }

    /// Returns the reason for which the option is rejected.
    pub(super) const fn reason(&self) -> Option<&'static str> {
        match self.usage {
            OptionUse::Rejected(reason) => Some(reason),
            OptionUse::Passed | OptionUse::Queue => None,
        }
    }
}

/// Returns the rows that a name may stand for: the one with just this name, else all whose name begins with
/// it, because abbreviations are accepted. An engine rejects an ambiguous one itself.
pub(super) fn matching<'a>(table: &'a [OptionRow], name: &str) -> Vec<&'a OptionRow> {
    if let Some(exact) = table.iter().find(|row| row.name == name) {
        return vec![exact];
    }
    let begins = |row: &&OptionRow| !name.is_empty() && row.name.starts_with(name);
    table.iter().filter(begins).collect()
}
