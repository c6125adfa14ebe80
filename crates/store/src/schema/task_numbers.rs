//! Version 17: numbers of tasks, and an index of the failed ones.

/// The part of the version before the sums of the new table. The tasks of arrays that are there get the first numbers,
/// in the order of the arrays.
pub(super) const TASK_NUMBERS: &str = "
CREATE TABLE task_numbers (
    first INTEGER PRIMARY KEY,
    job INTEGER NOT NULL UNIQUE,
    n_tasks INTEGER NOT NULL
) STRICT;
INSERT INTO task_numbers SELECT 1000000000 + sum(n_tasks) OVER (ORDER BY job) - n_tasks, job, n_tasks
    FROM (SELECT job, task_count(tasks) AS n_tasks FROM array);
CREATE INDEX attempt_failed ON attempt (job, task)
    WHERE (ending IN ('timed_out', 'out_of_memory', 'output_limit', 'lost')
    OR ending = 'finished' AND status <> 'exit 0');
";

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::super::{APPLICATION, FIRST, prepare, steps};
    use crate::integrity;

    #[test]
    fn tasks_of_an_older_store_get_numbers_in_the_order_of_their_arrays() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("tollgate.db");
        let mut connection = Connection::open(&path).unwrap();
        integrity::register(&connection).unwrap();
        let before = integrity::FIRST_VERSION_WITH_TASK_NUMBERS - 1;
        for (step, _) in steps().iter().zip(FIRST..=before) {
            connection.execute_batch(step).unwrap();
        }
        let set = |name, value| connection.pragma_update(None, name, value);
        set("application_id", APPLICATION).unwrap();
        set("user_version", before.into()).unwrap();
        let sql = "INSERT INTO array (job, tasks) VALUES (7, '1-3,9'), (2, '0-99:10')";
        connection.execute(sql, ()).unwrap();
        prepare(&mut connection, &path).unwrap();
        let mut statement = connection
            .prepare("SELECT first, job, n_tasks FROM task_numbers")
            .unwrap();
        let rows = statement.query_map((), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
        let rows: Vec<(i64, i64, i64)> = rows.unwrap().map(Result::unwrap).collect();
        assert_eq!(rows, [(1_000_000_000, 2, 10), (1_000_000_010, 7, 4)]);
        integrity::check(&connection, &path, super::super::VERSION).unwrap();
    }
}
