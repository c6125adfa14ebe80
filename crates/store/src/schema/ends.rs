//! Version 12: an end by a limit is a state of its own.

/// The part of the version between the sums of the changed table. Old rows get their state from the
/// reason in the status of their last attempt.
pub(super) const ENDS: &str = "
ALTER TABLE array ADD COLUMN timed_out INTEGER NOT NULL DEFAULT 0;
ALTER TABLE array ADD COLUMN out_of_memory INTEGER NOT NULL DEFAULT 0;
ALTER TABLE array ADD COLUMN output_limit INTEGER NOT NULL DEFAULT 0;
UPDATE attempt SET ending = CASE
        WHEN status LIKE '%(time limit)' THEN 'timed_out'
        WHEN status LIKE '%(memory limit)' THEN 'out_of_memory'
        ELSE 'output_limit' END
    WHERE ending = 'finished' AND (status LIKE '%(time limit)'
        OR status LIKE '%(memory limit)' OR status LIKE '%(output limit)');
UPDATE job SET state = (SELECT CASE
            WHEN status LIKE '%(time limit)' THEN 'timed_out'
            WHEN status LIKE '%(memory limit)' THEN 'out_of_memory'
            WHEN status LIKE '%(output limit)' THEN 'output_limit'
            ELSE 'finished' END
        FROM attempt WHERE attempt.job = job.id ORDER BY attempt DESC LIMIT 1)
    WHERE state = 'finished' AND EXISTS (SELECT 1 FROM attempt WHERE attempt.job = job.id)
        AND NOT EXISTS (SELECT 1 FROM array WHERE array.job = job.id);
UPDATE array SET
    timed_out = (SELECT count(*) FROM attempt
        WHERE attempt.job = array.job AND ending = 'timed_out'),
    out_of_memory = (SELECT count(*) FROM attempt
        WHERE attempt.job = array.job AND ending = 'out_of_memory'),
    output_limit = (SELECT count(*) FROM attempt
        WHERE attempt.job = array.job AND ending = 'output_limit');
UPDATE array SET finished = finished - timed_out - out_of_memory - output_limit,
    worst = max(coalesce(worst, 0), CASE WHEN output_limit > 0 THEN 153
        WHEN out_of_memory > 0 THEN 137 ELSE 124 END)
    WHERE timed_out + out_of_memory + output_limit > 0;
UPDATE job SET state = (SELECT CASE WHEN out_of_memory > 0 THEN 'out_of_memory'
            WHEN timed_out > 0 THEN 'timed_out' ELSE 'output_limit' END
        FROM array WHERE array.job = job.id)
    WHERE state = 'finished' AND EXISTS (SELECT 1 FROM array WHERE array.job = job.id
        AND timed_out + out_of_memory + output_limit > 0);
";

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::super::{APPLICATION, FIRST, prepare, steps};
    use crate::integrity;

    /// The version before this one.
    const BEFORE: u32 = integrity::FIRST_VERSION_WITH_ENDS - 1;

    #[test]
    fn ends_by_limits_of_an_older_store_get_states_of_their_own() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("tollgate.db");
        let mut connection = Connection::open(&path).unwrap();
        integrity::register(&connection).unwrap();
        for (step, _) in steps().iter().zip(FIRST..=BEFORE) {
            connection.execute_batch(step).unwrap();
        }
        connection
            .pragma_update(None, "application_id", APPLICATION)
            .unwrap();
        connection
            .pragma_update(None, "user_version", BEFORE)
            .unwrap();
        let statuses = [
            "exit 0",
            "exit 0 (time limit)",
            "signal 9 (memory limit)",
            "signal 15 (output limit)",
        ];
        for (id, status) in (1_i64..).zip(statuses) {
            insert_job(&connection, id);
            insert_attempt(&connection, (id, 0), status, None);
        }
        insert_job(&connection, 9);
        connection
            .execute(
                "INSERT INTO array (job, tasks, finished, worst) VALUES (9, '1-4', 4, 0)",
                (),
            )
            .unwrap();
        for (task, status) in (1_i64..).zip(statuses) {
            insert_attempt(&connection, (9, task), status, Some("finished"));
        }
        prepare(&mut connection, &path).unwrap();
        let states = texts(&connection, "SELECT state FROM job ORDER BY id");
        let ends = ["finished", "timed_out", "out_of_memory", "output_limit"];
        assert_eq!(states[..4], ends);
        assert_eq!(states[4], "out_of_memory");
        let sql = "SELECT ending FROM attempt WHERE job = 9 ORDER BY task";
        assert_eq!(texts(&connection, sql), ends);
        let sql = "SELECT finished || ' ' || timed_out || ' ' || out_of_memory || ' '
            || output_limit || ' ' || worst FROM array";
        assert_eq!(texts(&connection, sql), ["1 1 1 1 153"]);
        integrity::check(&connection, &path, super::super::VERSION).unwrap();
    }

    fn insert_job(connection: &Connection, id: i64) {
        let sql =
            "INSERT INTO job (id, user, name, state, program, procs, submit, estimate, source,
                penalty, start, finish)
             VALUES (?1, 0, '', 'finished', '', 1, 0, 1, 'user', 0, 0, 1)";
        connection.execute(sql, [id]).unwrap();
    }

    fn insert_attempt(
        connection: &Connection,
        (job, task): (i64, i64),
        status: &str,
        ending: Option<&str>,
    ) {
        let sql = "INSERT INTO attempt (job, task, attempt, ordered, finish, status, ending)
             VALUES (?1, ?2, 1, 0, 1, ?3, ?4)";
        connection
            .execute(sql, (job, task, status, ending))
            .unwrap();
    }

    fn texts(connection: &Connection, sql: &str) -> Vec<String> {
        let mut statement = connection.prepare(sql).unwrap();
        let rows = statement.query_map([], |row| row.get(0)).unwrap();
        rows.collect::<Result<_, _>>().unwrap()
    }
}
