//! Recovery of the state from the store.

use rusqlite::params;
use tollgate_model::Instant;
use tollgate_policy::PolicySpec;
use tollgate_service::{AdmissionRules, Core};

use crate::earlier_runs::earlier_runs;
use crate::error::{StoreError, sqlite};
use crate::replay::RestoreProgress;
use crate::replay::{PROGRAM, Replay, ReplayedState};
use crate::store::Store;

impl Store {
    /// Recovers the state after the last commit: restores the snapshot and replays the later
    /// batches under the rules that they were handled under. If `rules` are different, `rules` come
    /// into force afterwards.
    ///
    /// # Errors
    /// If the store cannot be read or is damaged, or if `rules` would break the promises of unfinished jobs.
    /// If another version of the program has left batches to replay, because this version might decide
    /// otherwise, or unfinished jobs in a state of another format.
    pub fn recover(&mut self, rules: &AdmissionRules) -> Result<Core, StoreError> {
        self.recover_with_progress(rules, drop)
    }

    /// Recovers the state as [`Store::recover`] does. `progress` receives the number of replayed batches before each
    /// of them, and after the last.
    ///
    /// # Errors
    /// As [`Store::recover`].
    pub fn recover_with_progress(
        &mut self,
        rules: &AdmissionRules,
        progress: impl FnMut(RestoreProgress),
    ) -> Result<Core, StoreError> {
        if self.begins_anew()? {
            return self.begin_anew(rules);
        }
        let replay = Replay::new(&self.connection, &self.path);
        let Some(state) = replay.run(&rules.registry, progress)? else {
            let mut core = Core::new(rules.clone());
            self.store_rules(rules)?;
            // A snapshot names the format, by which another version knows from the first job on whether it can go on.
            self.save(&mut core)?;
            return Ok(core);
        };
        self.since_snapshot = state.n_batches;
        if state.rules == *rules && state.is_same_program {
            return Ok(state.core);
        }
        self.change_rules(state, rules)
    }

    /// Returns `rules` with the policy under which jobs wait or run. Returns them as they are if there are no
    /// such jobs or if the registry does not know the policy. So it does if the policy is that of the rules
    /// with other settings, whose promises the policy keeps.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn keep_policy(&self, rules: &AdmissionRules) -> Result<AdmissionRules, StoreError> {
        let replay = Replay::new(&self.connection, &self.path);
        let has_jobs = replay.has_unfinished()?;
        let written = replay.rules_in_force()?.filter(|_| has_jobs);
        let known =
            written.and_then(|(_, written)| AdmissionRules::from_stored(&written, &rules.registry));
        let is_kept = |policy: &PolicySpec| {
            policy.name() != rules.policy.name() || !rules.policy.takes_over_promises()
        };
        let known = known.map(|known| known.policy).filter(is_kept);
        let policy = known.unwrap_or_else(|| rules.policy.clone());
        Ok(AdmissionRules {
            policy,
            ..rules.clone()
        })
    }

    /// Returns whether the state has the format of another version and no job is unfinished. All rows are kept
    /// then, and what was learned from them is learned anew; no node is drained.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn begins_anew(&self) -> Result<bool, StoreError> {
        Replay::new(&self.connection, &self.path).begins_anew()
    }

    fn begin_anew(&mut self, rules: &AdmissionRules) -> Result<Core, StoreError> {
        // The numbers of jobs that were removed are not given again.
        let sql = "SELECT max((SELECT coalesce(max(id), 0) FROM job), (SELECT jobs FROM removed)),
            (SELECT coalesce(max(max(submit, coalesce(finish, submit))), 0) FROM job)";
        let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
        let (last, at): (i64, i64) = self
            .connection
            .query_row(sql, [], read)
            .map_err(sqlite(&self.path, "cannot be read"))?;
        let now = Instant::from_micros(at);
        let mut core = Core::going_on(rules.clone(), last.cast_unsigned(), now);
        core.relearn(earlier_runs(&self.connection, &self.path)?);
        self.save(&mut core)?;
        self.store_rules(rules)?;
        Ok(core)
    }

    fn change_rules(
        &mut self,
        state: ReplayedState,
        to: &AdmissionRules,
    ) -> Result<Core, StoreError> {
        let mut core = state.take_over(to, &self.path)?;
        self.save(&mut core)?;
        self.store_rules(to)?;
        Ok(core)
    }

    fn store_rules(&self, rules: &AdmissionRules) -> Result<(), StoreError> {
        let body = serde_json::to_string(&rules.to_stored()).map_err(|_| StoreError::Damaged {
            path: self.path.clone(),
            what: "the rules cannot be written".to_owned(),
        })?;
        self.connection
            .execute(
                "INSERT INTO rules (id, program, body) VALUES (0, ?1, ?2)
                 ON CONFLICT DO UPDATE SET program = excluded.program, body = excluded.body",
                params![PROGRAM, body],
            )
            .map(|_| ())
            .map_err(sqlite(&self.path, "cannot be written"))
    }
}
