//! The hosts of a job, and which copy runs where.

use std::env;

use tollgate_engine::part::{HOST_VARIABLE, HOSTS_VARIABLE};
use tollgate_model::AttemptId;

/// The hosts of the job that this process belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobHosts {
    /// The attempt of the job.
    pub attempt: AttemptId,
    /// The name of this host.
    pub here: String,
    /// The hosts with the number of the job's processors on each. At least one.
    pub hosts: Vec<(String, u32)>,
}

/// The copies of one host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostCopies {
    /// The name of the host.
    pub host: String,
    /// The ranks of the copies there. At least one.
    pub ranks: Vec<u32>,
}

/// An error of the hosts of a job.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JobHostsError {
    /// A variable is missing or not as the service sets it.
    #[error("{0}: not set as for a job of tollgate")]
    OutsideJob(&'static str),
    /// The job has no processors on a host.
    #[error("host `{host}`: not a host of this job: expected one of {hosts}")]
    UnknownHost {
        /// The name that was given.
        host: String,
        /// The hosts of the job.
        hosts: String,
    },
    /// More copies than processors are asked for.
    #[error(
        "{requested} copies: more than the {procs} processors of the job there: expected 1 to {procs}"
    )]
    TooManyCopies {
        /// The number of copies.
        requested: u32,
        /// The number of processors.
        procs: u32,
    },
}

impl JobHosts {
    /// Reads the hosts from the environment of a process of a job.
    ///
    /// # Errors
    /// If the process does not belong to a job.
    pub fn from_environment() -> Result<Self, JobHostsError> {
        let text = |name| env::var(name).map_err(|_| JobHostsError::OutsideJob(name));
        let number = |name| {
            text(name)?
                .parse()
                .map_err(|_| JobHostsError::OutsideJob(name))
        };
        let small =
            |name| u32::try_from(number(name)?).map_err(|_| JobHostsError::OutsideJob(name));
        let attempt = AttemptId {
            job: number("TOLLGATE_JOB")?,
            task: small("TOLLGATE_TASK")?,
            attempt: small("TOLLGATE_TRY")?,
        };
        let hosts =
            parse_hosts(&text(HOSTS_VARIABLE)?).ok_or(JobHostsError::OutsideJob(HOSTS_VARIABLE))?;
        Ok(Self {
            attempt,
            here: text(HOST_VARIABLE)?,
            hosts,
        })
    }

    /// Assigns copies to the hosts: `n` over the processors of the job, or of the host `on` alone, the
    /// first ranks on the first host. Without `n`, one on each host.
    ///
    /// # Errors
    /// If the job has no processors on `on`, or fewer than `n`.
    pub fn assign(
        &self,
        n: Option<u32>,
        on: Option<&str>,
    ) -> Result<Vec<HostCopies>, JobHostsError> {
        let is_meant = |host: &&(String, u32)| on.is_none_or(|on| host.0 == on);
        let hosts: Vec<_> = self.hosts.iter().filter(is_meant).collect();
        if let (true, Some(on)) = (hosts.is_empty(), on) {
            let names: Vec<&str> = self.hosts.iter().map(|(name, _)| name.as_str()).collect();
            return Err(JobHostsError::UnknownHost {
                host: on.to_owned(),
                hosts: names.join(", "),
            });
        }
        let procs = hosts.iter().map(|(_, procs)| *procs);
        let procs = procs.fold(0, u32::saturating_add);
        if let Some(requested) = n.filter(|requested| *requested > procs) {
            return Err(JobHostsError::TooManyCopies { requested, procs });
        }
        let mut next = 0;
        let copies = hosts.into_iter().map(|(host, procs)| {
            let count = n.map_or(1, |n| (*procs).min(n - next));
            let ranks = (next..next + count).collect();
            next += count;
            HostCopies {
                host: host.clone(),
                ranks,
            }
        });
        Ok(copies.filter(|copies| !copies.ranks.is_empty()).collect())
    }
}

/// Parses `alpha:4,beta:2`. None if the text is not of this form.
pub(crate) fn parse_hosts(text: &str) -> Option<Vec<(String, u32)>> {
    let parts = text.split(',').map(|part| {
        let (host, procs) = part.rsplit_once(':')?;
        let procs = procs.parse().ok().filter(|procs| *procs > 0)?;
        (!host.is_empty()).then(|| (host.to_owned(), procs))
    });
    parts.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(text: &str) -> JobHosts {
        JobHosts {
            attempt: AttemptId {
                job: 1,
                task: 0,
                attempt: 1,
            },
            here: "alpha".to_owned(),
            hosts: parse_hosts(text).unwrap(),
        }
    }

    fn assigned(n: Option<u32>, on: Option<&str>) -> Vec<(String, Vec<u32>)> {
        let copies = hosts("alpha:2,beta:3").assign(n, on).unwrap();
        let pair = |copies: HostCopies| (copies.host, copies.ranks);
        copies.into_iter().map(pair).collect()
    }

    #[test]
    fn text_that_lists_no_hosts_is_rejected() {
        for text in [
            "", "alpha", "alpha:", "alpha:0", ":3", "alpha:2,", "alpha:x",
        ] {
            assert_eq!(parse_hosts(text), None, "{text}");
        }
        assert_eq!(parse_hosts("a:b:2"), Some(vec![("a:b".to_owned(), 2)]));
    }

    #[test]
    fn copies_fill_the_hosts_in_order() {
        let alpha = |ranks: &[u32]| ("alpha".to_owned(), ranks.to_vec());
        let beta = |ranks: &[u32]| ("beta".to_owned(), ranks.to_vec());
        assert_eq!(assigned(None, None), [alpha(&[0]), beta(&[1])]);
        assert_eq!(assigned(Some(1), None), [alpha(&[0])]);
        assert_eq!(assigned(Some(4), None), [alpha(&[0, 1]), beta(&[2, 3])]);
        assert_eq!(assigned(None, Some("beta")), [beta(&[0])]);
        assert_eq!(assigned(Some(3), Some("beta")), [beta(&[0, 1, 2])]);
    }

    #[test]
    fn copies_without_processors_are_rejected() {
        let all = hosts("alpha:2,beta:3");
        let error = all.assign(Some(6), None).unwrap_err();
        assert_eq!(
            error,
            JobHostsError::TooManyCopies {
                requested: 6,
                procs: 5
            }
        );
        assert!(all.assign(Some(4), Some("beta")).is_err());
        let unknown = all.assign(None, Some("gamma")).unwrap_err();
        assert!(unknown.to_string().ends_with("expected one of alpha, beta"));
    }
}
