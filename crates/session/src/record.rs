//! The facts of a session, on disk.

use std::fs;
use std::io;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};
use tollgate_host::replace_private;
use tollgate_inside::SchedulerKind;
use tollgate_model::Instant;

use crate::error::SessionError;
use crate::folder::SessionFolder;

/// The facts of a session, on disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionRecord {
    /// The instant of its start.
    pub started_at: Instant,
    /// The address on which its service listens on the network; none for a socket only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listen: Option<String>,
    /// The scheduler inside the pilots; none if they are workers of the service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inside: Option<InsideRecord>,
    /// The instant of its end; none for a session that goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Instant>,
}

/// The scheduler inside the pilots of a session, on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InsideRecord {
    /// The scheduler.
    pub kind: SchedulerKind,
    /// The address at which it listens.
    pub address: IpAddr,
}

impl SessionRecord {
    /// Returns whether the session has not ended.
    pub const fn goes_on(&self) -> bool {
        self.ended_at.is_none()
    }
}

impl SessionFolder {
    /// Returns the facts of the session. None if it was never started.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn record(&self) -> Result<Option<SessionRecord>, SessionError> {
        let path = self.record_file();
        match fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(SessionError::file(&path, error)),
            Ok(bytes) => {
                let record = serde_json::from_slice(&bytes);
                let record = record.map_err(|error| SessionError::file(&path, error.into()))?;
                Ok(Some(record))
            }
        }
    }

    /// Returns whether the session was started and has not ended.
    ///
    /// # Errors
    /// If its record cannot be read.
    pub fn goes_on(&self) -> Result<bool, SessionError> {
        Ok(self.record()?.is_some_and(|record| record.goes_on()))
    }

    /// Writes down the start or the end of the session.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn write_record(&self, record: &SessionRecord) -> Result<(), SessionError> {
        let path = self.record_file();
        let bytes = serde_json::to_vec(record).expect("an own type is representable in JSON");
        replace_private(&path, &bytes).map_err(|error| SessionError::file(&path, error))
    }
}
