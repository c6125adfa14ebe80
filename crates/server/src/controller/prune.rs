//! Removal of old jobs from the store.

use tollgate_engine::Engine;
use tollgate_model::Instant;
use tollgate_store::RemovalProgress;

use super::request_error::RequestError;
use super::state::Controller;

/// Maximum number of rows that one turn removes, about. A turn with this number takes some ten milliseconds,
/// so that decisions hardly wait.
const MAX_ROWS: u32 = 200;

impl<E: Engine> Controller<E> {
    /// Removes some of the jobs that ended before an instant, with the outputs that are kept of them.
    pub(super) fn prune(&mut self, before: Instant) -> Result<RemovalProgress, RequestError> {
        let removed = self.store.remove_jobs(before, MAX_ROWS).map_err(|error| {
            self.log_error(&error);
            RequestError::from(&error)
        })?;
        self.remove_outputs(&removed.jobs);
        Ok(removed)
    }
}
