//! The most that this machine can do, without a service.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use rusqlite::Connection;

use crate::cpu_time::cpu_s;
use crate::site::BenchRound;

/// Measures programs started by the standard library, which uses `posix_spawn` unless more is asked
/// for.
pub(crate) fn bare(tasks: u32) -> BenchRound {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let (began, cpu) = (Instant::now(), cpu_s(&["self".into()]));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                for _ in 0..tasks as usize / threads {
                    let mut command = Command::new("/bin/true");
                    command
                        .stdin(Stdio::null())
                        .stdout(Stdio::null())
                        .env_clear();
                    assert!(command.status().expect("it runs").success());
                }
            });
        }
    });
    BenchRound {
        rate: f64::from(tasks) / began.elapsed().as_secs_f64(),
        answer_s: 0.0,
        cpu_s: cpu_s(&["self".into()]) - cpu,
    }
}

/// A table of one's own, into which rows are inserted as the service does: each in a transaction,
/// which is on disk before the next.
pub(crate) struct InsertLoop(Connection);

impl InsertLoop {
    /// Creates the table beside a service.
    pub(crate) fn create(folder: &Path) -> Self {
        let connection = Connection::open(folder.join("yardstick.db")).expect("a database");
        let sql = "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
            CREATE TABLE IF NOT EXISTS row (id INTEGER PRIMARY KEY, body BLOB);";
        connection.execute_batch(sql).expect("a table");
        Self(connection)
    }

    /// Returns the rate of this number of inserts.
    pub(crate) fn rate(&self, rows: u32) -> f64 {
        let began = Instant::now();
        for _ in 0..rows {
            let sql = "INSERT INTO row (body) VALUES (zeroblob(300))";
            self.0.execute(sql, []).expect("inserted");
        }
        f64::from(rows) / began.elapsed().as_secs_f64()
    }
}
