//! Answers to requests that their clients may send again.

use std::io::{self, Read, Write};

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use rusqlite::Error::{FromSqlConversionFailure, ToSqlConversionFailure};
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Transaction, params};
use tollgate_model::{Instant, Span};

use crate::error::{StoreError, sqlite};
use crate::read::StoreReader;
use crate::statement::run;
use crate::store::Store;

/// The time for which an answer is kept, at least.
const KEPT_FOR: Span = Span::from_secs(24 * 3_600);
/// The maximum number of old answers that are removed when another one is stored.
const REMOVED_AT_ONCE: u32 = 10;

/// The answer to a request that its client may send again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredAnswer {
    /// Fingerprint of the request.
    pub request: String,
    /// HTTP status.
    pub status: u16,
    /// Body of the response.
    pub body: Vec<u8>,
}

/// An answer with the key of its request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyedAnswer {
    /// The user of the request.
    pub user: u32,
    /// The key, which is the user's own.
    pub key: String,
    /// The answer.
    pub answer: StoredAnswer,
}

impl Store {
    /// Returns whether a request of this user with this key was carried out.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn has_answer(&self, user: u32, key: &str) -> Result<bool, StoreError> {
        let sql = "SELECT EXISTS (SELECT 1 FROM answered WHERE user = ?1 AND key = ?2)";
        self.connection
            .prepare_cached(sql)
            .and_then(|mut found| found.query_row(params![user, key], |row| row.get(0)))
            .map_err(sqlite(&self.path, "cannot be read"))
    }
}

impl StoreReader {
    /// Returns the answer to the request of this user with this key; None without such a request in the
    /// last day.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn answer(&self, user: u32, key: &str) -> Result<Option<StoredAnswer>, StoreError> {
        self.with_connection(|connection| read(connection, user, key))
    }
}

/// Stores an answer, and removes some that are older than [`KEPT_FOR`].
pub(crate) fn insert(
    to: &Transaction<'_>,
    at: Instant,
    keyed: &KeyedAnswer,
) -> rusqlite::Result<()> {
    let at = at.as_micros();
    run(
        to,
        "DELETE FROM answered WHERE (user, key) IN
             (SELECT user, key FROM answered WHERE at < ?1 ORDER BY at LIMIT ?2)",
        params![at.saturating_sub(KEPT_FOR.as_micros()), REMOVED_AT_ONCE],
    )?;
    let KeyedAnswer { user, key, answer } = keyed;
    let body = compress(&answer.body).map_err(|error| ToSqlConversionFailure(Box::new(error)))?;
    run(
        to,
        "INSERT INTO answered (user, key, at, request, status, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        params![user, key, at, answer.request, answer.status, body],
    )
}

fn read(connection: &Connection, user: u32, key: &str) -> rusqlite::Result<Option<StoredAnswer>> {
    let sql = "SELECT request, status, body FROM answered WHERE user = ?1 AND key = ?2";
    let mut statement = connection.prepare_cached(sql)?;
    let found = statement.query_row(params![user, key], |row| {
        let body: Vec<u8> = row.get(2)?;
        Ok(StoredAnswer {
            request: row.get(0)?,
            status: row.get(1)?,
            body: decompress(&body)
                .map_err(|error| FromSqlConversionFailure(2, Type::Blob, Box::new(error)))?,
        })
    });
    found.optional()
}

/// Compresses a body: the answers to the jobs of a batch are much alike.
fn compress(body: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(body)?;
    encoder.finish()
}

fn decompress(stored: &[u8]) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    DeflateDecoder::new(stored).read_to_end(&mut body)?;
    Ok(body)
}
