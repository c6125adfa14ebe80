//! Recovery of the state from the store.

use rusqlite::params;
use tollgate_service::{AdmissionRules, Core, CoreSnapshot, ServiceCommand, StoredRules};

use crate::{FORMAT, Store, StoreError, decode, read, sqlite};

/// The version of the program, which decisions depend on.
const PROGRAM: &str = env!("CARGO_PKG_VERSION");

impl Store {
    /// Recovers the state after the last commit: restores the snapshot and replays the later
    /// batches under the rules that they were handled under. If `rules` are different, `rules` come
    /// into force afterwards.
    ///
    /// # Errors
    /// If the store cannot be read or is damaged; if `rules` would break the promises of unfinished
    /// jobs; or if another version of the program has left batches to replay, because this version
    /// might decide otherwise.
    pub fn recover(&mut self, rules: &AdmissionRules) -> Result<Core, StoreError> {
        let Some((program, written)) = self.rules_in_force()? else {
            let core = self.replay(rules)?;
            self.store_rules(rules)?;
            return Ok(core);
        };
        let known = AdmissionRules::from_stored(&written, &rules.registry)
            .filter(|_| self.format_is_known());
        if program != PROGRAM && (self.has_batches()? || known.is_none()) {
            return Err(StoreError::OtherProgram {
                path: self.path.clone(),
                program,
            });
        }
        let Some(in_force) = known else {
            return Err(self.damaged("the rules in force cannot be read"));
        };
        let core = self.replay(&in_force)?;
        if in_force == *rules && program == PROGRAM {
            return Ok(core);
        }
        self.change_rules(core, rules)
    }

    /// Returns `rules` with the policy under which jobs wait or run; as they are if there are no such
    /// jobs, or if the registry does not know the policy.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn keep_policy(&self, rules: &AdmissionRules) -> Result<AdmissionRules, StoreError> {
        let sql = "SELECT EXISTS (SELECT 1 FROM job WHERE finish IS NULL)";
        let has_jobs: bool = self
            .connection
            .query_row(sql, [], |row| row.get(0))
            .map_err(sqlite(&self.path, "cannot be read"))?;
        let written = self.rules_in_force()?.filter(|_| has_jobs);
        let known =
            written.and_then(|(_, written)| AdmissionRules::from_stored(&written, &rules.registry));
        let policy = known.map_or_else(|| rules.policy.clone(), |known| known.policy);
        Ok(AdmissionRules {
            policy,
            ..rules.clone()
        })
    }

    fn change_rules(&mut self, core: Core, to: &AdmissionRules) -> Result<Core, StoreError> {
        if let Some(obstacle) = core.takeover_obstacle(to) {
            return Err(StoreError::OtherRules {
                path: self.path.clone(),
                obstacle,
            });
        }
        let mut core = core.take_over(to.clone());
        self.save(&mut core)?;
        self.store_rules(to)?;
        Ok(core)
    }

    fn replay(&mut self, rules: &AdmissionRules) -> Result<Core, StoreError> {
        self.check()?;
        let (mut core, mut last) = match self.snapshot()? {
            Some((seq, saved)) => (Core::restore(saved, rules.clone()), seq),
            None => (Core::new(rules.clone()), 0),
        };
        self.since_snapshot = 0;
        let path = self.path.clone();
        let failed = sqlite(&path, "cannot be read");
        let mut statement = self
            .connection
            .prepare("SELECT at, commands, checksum, seq FROM batch ORDER BY seq")
            .map_err(failed)?;
        let mut rows = statement.query([]).map_err(failed)?;
        while let Some(row) = rows.next().map_err(failed)? {
            let (at, body, sum, seq) = read::batch(row).map_err(failed)?;
            if seq != last + 1 {
                let what = format!("batch {} is not there", last + 1);
                return Err(StoreError::Damaged {
                    path: path.clone(),
                    what,
                });
            }
            last = seq;
            let commands: Vec<ServiceCommand> = decode(&path, "a batch", &body, sum)?;
            core.step(at, &commands);
            self.since_snapshot += 1;
        }
        Ok(core)
    }

    /// Checks the tables from which the state is recovered; SQLite verifies its own pages.
    fn check(&self) -> Result<(), StoreError> {
        for table in ["batch", "snapshot", "rules"] {
            let sql = format!("PRAGMA quick_check({table})");
            let found: String = self
                .connection
                .query_row(&sql, [], |row| row.get(0))
                .map_err(sqlite(&self.path, "cannot be read"))?;
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
                let saved = decode(&self.path, "the snapshot", &body, sum)?;
                Ok(Some((seq, saved)))
            }
            Ok((found, ..)) => Err(self.damaged(&format!("the snapshot has format {found}"))),
            Err(rusqlite::Error::QueryReturnedNoRows) => Ok(None),
            Err(source) => Err(sqlite(&self.path, "cannot be read")(source)),
        }
    }

    fn rules_in_force(&self) -> Result<Option<(String, StoredRules)>, StoreError> {
        let sql = "SELECT program, body FROM rules";
        let found = self.connection.query_row(sql, [], |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))
        });
        match found {
            Ok((program, body)) => serde_json::from_str(&body)
                .map(|written| Some((program, written)))
                .map_err(|_| self.damaged("the rules in force cannot be read")),
            Err(rusqlite::Error::QueryReturnedNoRows) => Ok(None),
            Err(source) => Err(sqlite(&self.path, "cannot be read")(source)),
        }
    }

    fn store_rules(&self, rules: &AdmissionRules) -> Result<(), StoreError> {
        let body = serde_json::to_string(&rules.to_stored())
            .map_err(|_| self.damaged("the rules cannot be written"))?;
        self.connection
            .execute(
                "INSERT INTO rules (id, program, body) VALUES (0, ?1, ?2)
                 ON CONFLICT DO UPDATE SET program = excluded.program, body = excluded.body",
                params![PROGRAM, body],
            )
            .map(|_| ())
            .map_err(sqlite(&self.path, "cannot be written"))
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
            .map_err(sqlite(&self.path, "cannot be read"))
    }

    fn damaged(&self, what: &str) -> StoreError {
        StoreError::Damaged {
            path: self.path.clone(),
            what: what.to_owned(),
        }
    }
}
