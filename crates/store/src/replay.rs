//! The state of a service from its store: the snapshot, and the batches after it. Nothing is written, so
//! that a check of a store recovers exactly what a service would.

use std::path::Path;

use rusqlite::Connection;
use tollgate_policy::PolicyRegistry;
use tollgate_service::{AdmissionRules, Core, CoreSnapshot, ServiceCommand, StoredRules};

use crate::error::{StoreError, decode, sqlite};
use crate::format::FORMAT;
use crate::read;
use crate::row_values;

/// The version of the program, which decisions depend on.
pub(crate) const PROGRAM: &str = env!("CARGO_PKG_VERSION");

/// A store from which the state is recovered.
#[derive(Clone, Copy)]
pub(crate) struct Replay<'a> {
    connection: &'a Connection,
    path: &'a Path,
}

/// How many steps of a service are restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RestoreProgress {
    /// The number of replayed batches.
    pub n_done: u64,
    /// The number of batches after the snapshot.
    pub n_steps: u64,
}

/// The state after the last batch of a store.
pub(crate) struct ReplayedState {
    pub(crate) core: Core,
    /// The rules under which the batches were handled.
    pub(crate) rules: AdmissionRules,
    /// Whether this version of the program was the last to serve with the store.
    pub(crate) is_same_program: bool,
    /// Number of batches after the snapshot.
    pub(crate) n_batches: u32,
}

impl ReplayedState {
    /// Returns the core under new rules.
    ///
    /// # Errors
    /// If the rules would break the promises of unfinished jobs.
    pub(crate) fn take_over(self, to: &AdmissionRules, path: &Path) -> Result<Core, StoreError> {
        if let Some(obstacle) = self.core.takeover_obstacle(to) {
            let path = path.to_owned();
            return Err(StoreError::OtherRules { path, obstacle });
        }
        Ok(self.core.take_over(to.clone()))
    }
}

impl<'a> Replay<'a> {
    pub(crate) fn new(connection: &'a Connection, path: &'a Path) -> Self {
        Self { connection, path }
    }

    /// Recovers the state under the rules in force. `registry` has the policies that these may name.
    /// None if no service has run with the store yet, or if the state begins anew.
    ///
    /// # Errors
    /// If the store cannot be read or is damaged, or another version of the program has left batches, or
    /// unfinished jobs in a state of another format.
    pub(crate) fn run(
        &self,
        registry: &PolicyRegistry,
        progress: impl FnMut(RestoreProgress),
    ) -> Result<Option<ReplayedState>, StoreError> {
        self.check_tables()?;
        self.check_version()?;
        if self.begins_anew()? {
            return Ok(None);
        }
        let has_batches = self.has_batches()?;
        let Some((program, written)) = self.rules_in_force()? else {
            let snapshot = self.snapshot()?;
            return match has_batches || snapshot.is_some() {
                true => Err(self.damaged("the rules in force are not there")),
                false => Ok(None),
            };
        };
        let known = AdmissionRules::from_stored(&written, registry);
        let is_same_program = program == PROGRAM;
        let path = self.path.to_owned();
        let rules = match known {
            Some(rules) => rules,
            None if is_same_program => {
                return Err(self.damaged("the rules in force cannot be read"));
            }
            None => return Err(StoreError::OtherProgram { path, program }),
        };
        let (core, n_batches) = self.state_under(&rules, progress)?;
        Ok(Some(ReplayedState {
            core,
            rules,
            is_same_program,
            n_batches,
        }))
    }

    /// Fails if another version of the program has left batches, or unfinished jobs in a state of another
    /// format: only that version can go on with them.
    ///
    /// # Errors
    /// [`StoreError::OtherProgram`], [`StoreError::OtherFormat`], or an error of reading the store.
    fn check_version(&self) -> Result<(), StoreError> {
        let Some((program, _)) = self.rules_in_force()? else {
            return Ok(());
        };
        let path = self.path.to_owned();
        if program != PROGRAM && self.has_batches()? {
            return Err(StoreError::OtherProgram { path, program });
        }
        match self.format_is_known() || self.begins_anew()? {
            true => Ok(()),
            false => Err(StoreError::OtherFormat { path }),
        }
    }

    /// Fails if unfinished jobs are in a state of another format. The batches are not looked at: the version that wrote
    /// these stores a snapshot when it ends.
    ///
    /// # Errors
    /// [`StoreError::OtherFormat`], or an error of reading the store.
    pub(crate) fn check_format(&self) -> Result<(), StoreError> {
        let program = self.rules_in_force()?.map(|(program, _)| program);
        let is_same_program = program.is_none_or(|program| program == PROGRAM);
        // Without a snapshot the format of another version shows once it has ended.
        let is_known = is_same_program || self.has_snapshot()?;
        match (is_known && self.format_is_known()) || !self.has_unfinished()? {
            true => Ok(()),
            false => Err(StoreError::OtherFormat {
                path: self.path.to_owned(),
            }),
        }
    }

    fn has_snapshot(&self) -> Result<bool, StoreError> {
        self.connection
            .query_row("SELECT EXISTS (SELECT 1 FROM snapshot)", [], |row| {
                row.get(0)
            })
            .map_err(sqlite(self.path, "cannot be read"))
    }

    /// Returns the rules in force, and the version of the program that stored them. None if no service
    /// has run with the store yet.
    ///
    /// # Errors
    /// If the rules cannot be read.
    pub(crate) fn rules_in_force(&self) -> Result<Option<(String, StoredRules)>, StoreError> {
        let sql = "SELECT program, body FROM rules";
        let found = self.connection.query_row(sql, [], |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))
        });
        match found {
            Ok((program, body)) => serde_json::from_str(&body)
                .map(|written| Some((program, written)))
                .map_err(|_| self.damaged("the rules in force cannot be read")),
            Err(rusqlite::Error::QueryReturnedNoRows) => Ok(None),
            Err(source) => Err(sqlite(self.path, "cannot be read")(source)),
        }
    }

    /// Returns the state after the last batch, and the number of batches after the snapshot.
    fn state_under(
        &self,
        rules: &AdmissionRules,
        mut progress: impl FnMut(RestoreProgress),
    ) -> Result<(Core, u32), StoreError> {
        let failed = sqlite(self.path, "cannot be read");
        let sql = "SELECT count(*) FROM batch";
        let n_steps = self
            .connection
            .query_row(sql, [], |row| row.get(0))
            .map_err(failed)?;
        let (mut core, mut last) = match self.snapshot()? {
            Some((seq, saved)) => (Core::restore(saved, rules.clone()), seq),
            None => (Core::new(rules.clone()), 0),
        };
        let mut n_batches = 0;
        let mut statement = self
            .connection
            .prepare("SELECT at, commands, checksum, seq FROM batch ORDER BY seq")
            .map_err(failed)?;
        let mut rows = statement.query([]).map_err(failed)?;
        while let Some(row) = rows.next().map_err(failed)? {
            progress(RestoreProgress {
                n_done: n_batches.into(),
                n_steps,
            });
            let (at, body, sum, seq) = row_values::batch(row).map_err(failed)?;
            if seq != last + 1 {
                return Err(self.damaged(&format!("batch {} is not there", last + 1)));
            }
            last = seq;
            let commands: Vec<ServiceCommand> = decode(self.path, "a batch", &body, sum)?;
            core.step(at, &commands);
            n_batches += 1;
        }
        progress(RestoreProgress {
            n_done: n_batches.into(),
            n_steps,
        });
        Ok((core, n_batches))
    }

    /// Checks the tables from which the state is recovered; SQLite verifies its own pages.
    fn check_tables(&self) -> Result<(), StoreError> {
        for table in ["batch", "snapshot", "rules"] {
            let sql = format!("PRAGMA quick_check({table})");
            let found: String = self
                .connection
                .query_row(&sql, [], |row| row.get(0))
                .map_err(sqlite(self.path, "cannot be read"))?;
            if found != "ok" {
                return Err(self.damaged(&found));
            }
        }
        Ok(())
    }

    /// Returns the snapshot, and the number of the last batch that it includes.
    fn snapshot(&self) -> Result<Option<(i64, CoreSnapshot)>, StoreError> {
        let sql = "SELECT format, body, checksum, seq FROM snapshot";
        let found = self.connection.query_row(sql, [], |row| {
            Ok((
                row.get::<_, u32>(0)?,
                row.get::<_, Vec<u8>>(1)?,
                row.get::<_, u32>(2)?,
                row.get::<_, i64>(3)?,
            ))
        });
        match found {
            Ok((FORMAT, body, sum, seq)) => {
                let saved = decode(self.path, "the snapshot", &body, sum)?;
                Ok(Some((seq, saved)))
            }
            Ok((found, ..)) => Err(self.damaged(&format!("the snapshot has format {found}"))),
            Err(rusqlite::Error::QueryReturnedNoRows) => Ok(None),
            Err(source) => Err(sqlite(self.path, "cannot be read")(source)),
        }
    }

    /// Returns whether the state has the format of another version and no job is unfinished.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub(crate) fn begins_anew(&self) -> Result<bool, StoreError> {
        Ok(!self.format_is_known() && !self.has_batches()? && !self.has_unfinished()?)
    }

    /// Returns whether a job is not over.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub(crate) fn has_unfinished(&self) -> Result<bool, StoreError> {
        let sql = format!(
            "SELECT EXISTS (SELECT 1 FROM job WHERE {})",
            read::IS_UNFINISHED
        );
        self.connection
            .query_row(&sql, [], |row| row.get(0))
            .map_err(sqlite(self.path, "cannot be read"))
    }

    fn format_is_known(&self) -> bool {
        let sql = "SELECT NOT EXISTS (SELECT 1 FROM snapshot WHERE format <> ?1)";
        self.connection
            .query_row(sql, [FORMAT], |row| row.get(0))
            .unwrap_or(false)
    }

    fn has_batches(&self) -> Result<bool, StoreError> {
        let sql = "SELECT EXISTS (SELECT 1 FROM batch)";
        self.connection
            .query_row(sql, [], |row| row.get(0))
            .map_err(sqlite(self.path, "cannot be read"))
    }

    fn damaged(&self, what: &str) -> StoreError {
        StoreError::Damaged {
            path: self.path.to_owned(),
            what: what.to_owned(),
        }
    }
}
