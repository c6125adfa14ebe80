//! The access rules among the settings.

use tollgate_runner::guard::UserFloor;

use super::ServiceConfig;
use super::error::ConfigError;
use super::ranges::at_least_one;
use crate::access::AccessRules;
use crate::accounts::Accounts;
use crate::os_users;

impl ServiceConfig {
    /// Returns the access rules.
    ///
    /// # Errors
    /// The first setting that is out of range.
    pub fn access(&self) -> Result<AccessRules, ConfigError> {
        let limits = self.limits;
        at_least_one("limits.connections", u64::from(limits.connections))?;
        at_least_one("limits.workers", u64::from(limits.workers))?;
        at_least_one("limits.strangers", u64::from(limits.unauthenticated))?;
        at_least_one("limits.streams", u64::from(limits.streams))?;
        at_least_one("limits.jobs", u64::from(limits.jobs))?;
        at_least_one("limits.tasks", u64::from(limits.tasks))?;
        at_least_one("limits.stored_bytes", limits.stored_bytes)?;
        at_least_one("limits.array", u64::from(limits.array))?;
        at_least_one("limits.task_processes", u64::from(limits.task_processes))?;
        at_least_one("limits.output_bytes", limits.output_bytes)?;
        at_least_one("limits.body_bytes", limits.body_bytes as u64)?;
        if !(1e-3..=3600.0).contains(&limits.request_s) {
            return Err(ConfigError::Range {
                key: "limits.request_s",
                expected: "seconds, at least 0.001 and at most 3600",
                found: limits.request_s.to_string(),
            });
        }
        Ok(AccessRules {
            floor: self.user_floor()?,
            scope: self.users,
            root_jobs: self.root_jobs,
            limits,
            // They are known once the data directory is open.
            accounts: Accounts::default(),
        })
    }

    /// Returns the lowest user that may submit jobs. May wait for the system's name service.
    ///
    /// # Errors
    /// If an exception is the name of no account.
    pub fn user_floor(&self) -> Result<UserFloor, ConfigError> {
        let number = |name: &String| {
            os_users::by_name(name).map_err(|error| ConfigError::Range {
                key: "system_users",
                expected: "names of accounts of this host",
                found: error.to_string(),
            })
        };
        let exceptions = self.system_users.iter().map(number);
        Ok(UserFloor {
            min_uid: self
                .limits
                .min_uid
                .unwrap_or_else(UserFloor::uid_min_of_host),
            exceptions: exceptions.collect::<Result<_, _>>()?,
        })
    }
}
