//! The variables of the processes of a session.

use std::env;
use std::ffi::OsString;
use std::process::Command;

use tollgate_batch::shell::quote;
use tollgate_client::endpoint::{DATA_VARIABLE, REMOTE_VARIABLES};
use tollgate_host::replace_private;
use tollgate_sites::{CONFIG_VARIABLES, ENGINE_PATH_VARIABLE, SITES_VARIABLE};

use crate::error::SessionError;
use crate::folder::{SESSION_VARIABLE, SessionFolder};

impl SessionFolder {
    /// Returns the variables of the processes of the session. Those that name another service have no
    /// value.
    pub fn environment(&self) -> Vec<(OsString, Option<OsString>)> {
        let outer = env::var_os(ENGINE_PATH_VARIABLE).or_else(|| env::var_os("PATH"));
        let outer = outer.unwrap_or_default();
        let scheduler = self.scheduler().ok().flatten();
        let mut path = OsString::from(self.bin());
        if !outer.is_empty() {
            path.push(":");
            path.push(&outer);
        }
        if scheduler.is_some() {
            path.push(":");
            path.push(tollgate_inside::host::search_path());
        }
        let set = [
            (DATA_VARIABLE, self.data().into_os_string()),
            (SITES_VARIABLE, self.sites_dir().into_os_string()),
            (SESSION_VARIABLE, self.name().into()),
            (ENGINE_PATH_VARIABLE, outer),
            ("PATH", path),
        ];
        let set = set
            .into_iter()
            .map(|(name, value)| (name.into(), Some(value)));
        let unset = REMOTE_VARIABLES.iter().map(|name| (name.into(), None));
        let mut all: Vec<_> = set.chain(unset).collect();
        if let Some(scheduler) = scheduler {
            for variable in CONFIG_VARIABLES {
                let outer = env::var_os(variable.outer).or_else(|| env::var_os(variable.name));
                all.push((variable.outer.into(), Some(outer.unwrap_or_default())));
            }
            let (name, value) = scheduler.config_variable();
            all.push((name.into(), Some(value.into())));
        }
        all
    }

    /// Gives a command the environment of the session.
    pub(crate) fn enter(&self, command: &mut Command) {
        for (name, value) in self.environment() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
    }

    /// Writes `env`.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn write_environment(&self) -> Result<(), SessionError> {
        let lines = self.environment().into_iter().map(|(name, value)| {
            let name = name.to_string_lossy();
            match value {
                Some(value) => format!("export {name}={}\n", quote(&value.to_string_lossy())),
                None => format!("unset {name}\n"),
            }
        });
        let (path, lines) = (self.environment_file(), lines.collect::<String>());
        replace_private(&path, lines.as_bytes()).map_err(|error| SessionError::file(&path, error))
    }
}
