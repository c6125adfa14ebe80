//! The place where a job is typed: what its request takes from there.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{env, io};

use jiff::Zoned;
use tollgate_client::endpoint::{DATA_VARIABLE, FINGERPRINT_VARIABLE, URL_VARIABLE};
use tollgate_client::typed_instant::{parse_begin, parse_deadline};
use tollgate_client::types::JobRequest;

use crate::error::SubmitOptionError;

/// The environment variables that a job gets by default.
const DEFAULT_ENV: &[&str] = &[
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "TZ",
];

/// The variables that say where the service is. Another host may see it elsewhere, so that `all` leaves them
/// out: each job gets those of its host.
pub(crate) const LOCATION: [&str; 3] = [DATA_VARIABLE, URL_VARIABLE, FINGERPRINT_VARIABLE];

/// The place where a job is typed, as the system says it.
#[derive(Debug)]
pub struct SubmitPlace {
    /// The environment variables that are text.
    pub variables: BTreeMap<String, String>,
    /// The current directory, or why it is not known.
    pub dir: io::Result<PathBuf>,
    /// The name of the host.
    pub host: String,
    /// The user's umask.
    pub umask: u32,
    /// The user's id.
    pub user_id: u32,
    /// The id of the user's group.
    pub group_id: u32,
    /// The present time, in the user's zone.
    pub now: Zoned,
    /// Returns whether a path is that of a directory.
    pub is_dir: fn(&Path) -> bool,
}

/// The parts of a job whose request depends on the place, as they are typed.
#[derive(Clone, Copy, Debug, Default)]
pub struct TypedJobParts<'a> {
    /// The variables: `NAME=VALUE`, a name alone, or `all`.
    pub env: &'a [String],
    /// The working directory; None for the current one.
    pub dir: Option<&'a Path>,
    /// The latest end.
    pub deadline: Option<&'a str>,
    /// The earliest start.
    pub begin: Option<&'a str>,
}

impl SubmitPlace {
    /// Returns the place of this process.
    pub fn here(now: Zoned) -> Self {
        let variables = env::vars_os().filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        });
        let host = rustix::system::uname();
        Self {
            variables: variables.collect(),
            dir: env::current_dir(),
            host: host.nodename().to_string_lossy().into_owned(),
            umask: umask(),
            user_id: rustix::process::geteuid().as_raw(),
            group_id: rustix::process::getegid().as_raw(),
            now,
            is_dir: Path::is_dir,
        }
    }

    /// Returns a variable of the environment. None if it is not set, or is no text.
    pub fn variable(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str)
    }

    /// Returns the request for one processor that runs nothing yet, with everything that depends on the place.
    ///
    /// # Errors
    /// If a variable is not set, an instant is not understood, or a directory is no text.
    pub fn request(&self, job: &TypedJobParts<'_>) -> Result<JobRequest, SubmitOptionError> {
        let (deadline_s, deadline_at) = match job.deadline {
            Some(words) => parse_deadline(words, &self.now)
                .map_err(|message| SubmitOptionError::new("deadline", message))?,
            None => (None, None),
        };
        let (begin_s, begin_at) = match job.begin {
            Some(words) => parse_begin(words, &self.now)
                .map_err(|message| SubmitOptionError::new("begin", message))?,
            None => (None, None),
        };
        Ok(JobRequest {
            procs: 1,
            deadline_s,
            deadline_at,
            begin_s,
            begin_at,
            env: self.environment(job.env)?,
            dir: self.working_dir(job.dir)?,
            umask: self.umask,
            ..JobRequest::default()
        })
    }

    fn environment(&self, words: &[String]) -> Result<BTreeMap<String, String>, SubmitOptionError> {
        let set = |name: &str| Some((name.to_owned(), self.variable(name)?.to_owned()));
        let mut given: BTreeMap<_, _> = DEFAULT_ENV.iter().filter_map(|name| set(name)).collect();
        for word in words {
            match word.split_once('=') {
                Some((name, value)) => {
                    given.insert(name.to_owned(), value.to_owned());
                }
                None if word == "all" => {
                    let all = self.variables.keys().map(String::as_str);
                    given.extend(all.filter(|name| !LOCATION.contains(name)).filter_map(set));
                }
                None => {
                    let (name, value) = set(word).ok_or_else(|| {
                        let message = format!("there is no variable `{word}` to give on");
                        SubmitOptionError::new("env", message)
                    })?;
                    given.insert(name, value);
                }
            }
        }
        Ok(given)
    }

    fn working_dir(&self, dir: Option<&Path>) -> Result<String, SubmitOptionError> {
        let here = || match &self.dir {
            Ok(here) => Ok(here.as_path()),
            Err(error) => Err(SubmitOptionError::new("dir", error.to_string())),
        };
        let dir = match dir {
            Some(dir) if dir.is_absolute() => dir.to_owned(),
            Some(dir) => here()?.join(dir),
            None => here()?.to_owned(),
        };
        dir.into_os_string().into_string().map_err(|dir| {
            let dir = dir.to_string_lossy();
            SubmitOptionError::new("dir", format!("expected a name in UTF-8, got `{dir}`"))
        })
    }
}

/// Returns the user's umask. The system reports the value only when a new value is set.
fn umask() -> u32 {
    let mask = rustix::process::umask(rustix::fs::Mode::empty());
    rustix::process::umask(mask);
    mask.bits()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fuzz::fixed_place;

    fn job<'a>(env: &'a [String], dir: Option<&'a Path>) -> TypedJobParts<'a> {
        TypedJobParts {
            env,
            dir,
            ..TypedJobParts::default()
        }
    }

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn variables_are_those_of_every_job_and_those_that_are_named() {
        let place = fixed_place();
        let names = |env: &[&str]| {
            let env = words(env);
            let request = place.request(&job(&env, None)).unwrap();
            let all = request
                .env
                .iter()
                .map(|(name, value)| format!("{name}={value}"));
            all.collect::<Vec<_>>().join(" ")
        };
        let usual = "HOME=/home/mia LOGNAME=mia PATH=/usr/bin:/bin";
        assert_eq!(names(&[]), usual);
        assert_eq!(names(&["A=1"]), format!("A=1 {usual}"));
        let all = "HOME=/home/mia LOGNAME=mia MODEL=warm PATH=/usr/bin:/bin";
        assert_eq!(names(&["MODEL"]), all);
        // The place of the service is another one on another host.
        assert_eq!(names(&["all"]), all);
        let missing = words(&["NOTHING"]);
        let error = place.request(&job(&missing, None)).unwrap_err();
        let expected = "--env: there is no variable `NOTHING` to give on";
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn directory_is_absolute_and_only_a_relative_one_needs_the_current_one() {
        let dir = |place: &SubmitPlace, dir| {
            let request = place.request(&job(&[], dir));
            request
                .map(|request| request.dir)
                .map_err(|error| error.to_string())
        };
        let mut place = fixed_place();
        assert_eq!(dir(&place, None).unwrap(), "/home/mia/runs");
        assert_eq!(
            dir(&place, Some(Path::new("a"))).unwrap(),
            "/home/mia/runs/a"
        );
        place.dir = Err(io::Error::other("gone"));
        assert_eq!(dir(&place, Some(Path::new("/a"))).unwrap(), "/a");
        assert_eq!(dir(&place, None).unwrap_err(), "--dir: gone");
    }

    #[test]
    fn instants_are_in_the_zone_of_the_user() {
        let request = |deadline, begin| {
            fixed_place().request(&TypedJobParts {
                deadline,
                begin,
                ..TypedJobParts::default()
            })
        };
        let timed = request(Some("+2h"), Some("17:00")).unwrap();
        assert_eq!((timed.deadline_s, timed.begin_s), (Some(7200.0), None));
        assert_eq!(timed.begin_at.as_deref(), Some("2026-11-21T17:00:00Z"));
        let error = request(None, Some("soon")).unwrap_err().to_string();
        assert!(error.starts_with("--begin: expected an instant"), "{error}");
    }
}
