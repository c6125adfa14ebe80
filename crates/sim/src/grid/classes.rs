//! The attributes that the jobs of a class share.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use tollgate_forecast::{ClassId, JobAttributes};

use super::record::GridJob;

/// An attribute that is known at submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum JobAttribute {
    /// The user.
    User,
    /// The group or project.
    Group,
    /// The executable.
    Executable,
    /// The queue.
    Queue,
    /// The account.
    Account,
    /// The number of processors.
    Procs,
    /// The requested run time.
    Request,
}

/// The rule by which jobs are put into classes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ClassScheme {
    /// The jobs of a class have the same values of these attributes; without attributes all jobs of
    /// the site are one class.
    Fixed(Vec<JobAttribute>),
    /// The jobs of a user are a class, which the forecaster splits where that helps.
    Discovered,
}

/// Text that names no rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` names no classes: expected site, discovered, or some of user, group, executable, queue, \
     account, procs and request, joined by `+`"
)]
pub struct ClassSchemeError(pub String);

impl JobAttribute {
    const ALL: [Self; 7] = [
        Self::User,
        Self::Group,
        Self::Executable,
        Self::Queue,
        Self::Account,
        Self::Procs,
        Self::Request,
    ];

    const fn key(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Group => "group",
            Self::Executable => "executable",
            Self::Queue => "queue",
            Self::Account => "account",
            Self::Procs => "procs",
            Self::Request => "request",
        }
    }

    fn of(self, job: &GridJob) -> Option<i64> {
        match self {
            Self::User => job.user.map(i64::from),
            Self::Group => job.group.map(i64::from),
            Self::Executable => job.executable.map(i64::from),
            Self::Queue => job.queue.map(i64::from),
            Self::Account => job.account.map(i64::from),
            Self::Procs => Some(job.procs.into()),
            Self::Request => job.request.map(|request| request.as_micros()),
        }
    }
}

impl ClassScheme {
    /// Returns the class of each job. Classes are numbered in the order of their first jobs.
    pub fn number(&self, jobs: &[GridJob]) -> Vec<ClassId> {
        let attributes = match self {
            Self::Fixed(attributes) => &attributes[..],
            Self::Discovered => &[JobAttribute::User],
        };
        let mut numbers = BTreeMap::<Vec<Option<i64>>, u32>::new();
        let classes = jobs.iter().map(|job| {
            let values = attributes.iter().map(|attribute| attribute.of(job));
            let next = numbers.len() as u32;
            ClassId(*numbers.entry(values.collect()).or_insert(next))
        });
        classes.collect()
    }

    /// Returns the attributes of a job that the forecaster may use inside a class.
    pub const fn context(job: &GridJob) -> JobAttributes {
        JobAttributes {
            executable: job.executable,
            queue: job.queue,
            account: job.account,
        }
    }
}

impl FromStr for ClassScheme {
    type Err = ClassSchemeError;

    fn from_str(words: &str) -> Result<Self, ClassSchemeError> {
        let attribute = |word: &str| {
            let known = JobAttribute::ALL.into_iter();
            known.clone().find(|attribute| attribute.key() == word)
        };
        match words {
            "site" => Ok(Self::Fixed(Vec::new())),
            "discovered" => Ok(Self::Discovered),
            _ => words
                .split('+')
                .map(attribute)
                .collect::<Option<Vec<JobAttribute>>>()
                .map(Self::Fixed)
                .ok_or_else(|| ClassSchemeError(words.to_owned())),
        }
    }
}

impl fmt::Display for ClassScheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Discovered => f.write_str("discovered"),
            Self::Fixed(attributes) if attributes.is_empty() => f.write_str("site"),
            Self::Fixed(attributes) => {
                let keys: Vec<&str> = attributes.iter().map(|known| known.key()).collect();
                f.write_str(&keys.join("+"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::settings::GridConfig;

    #[test]
    fn names_of_schemes_round_trip() {
        for words in ["site", "discovered", "user", "group+executable+request"] {
            assert_eq!(words.parse::<ClassScheme>().unwrap().to_string(), words);
        }
        assert!("user+host".parse::<ClassScheme>().is_err());
        assert!("".parse::<ClassScheme>().is_err());
    }

    #[test]
    fn finer_schemes_have_more_classes() {
        let settings = GridConfig {
            jobs: 2_000,
            ..GridConfig::default()
        };
        let jobs = crate::grid::generator::draw(&settings).jobs;
        let count = |words: &str| {
            let scheme: ClassScheme = words.parse().unwrap();
            scheme.number(&jobs).into_iter().max().unwrap().0 + 1
        };
        assert_eq!((count("site"), count("group"), count("user")), (1, 20, 60));
        assert!(count("user+executable") > 60);
    }
}
