//! How long pilots of a site wait: by the jobs of all users of its queue where these are seen, else by its pilots alone.

use serde::{Deserialize, Serialize};
use tollgate_batch::{BatchJobId, EngineKind};
use tollgate_beside::SeenJobKey;
use tollgate_model::{Instant, Span};
use tollgate_provisioning::{PilotShape, PilotWaits, QueueOutlook};

use crate::journal::{SiteState, has_passed};
use crate::pilot::PilotRecord;
use crate::settings::SiteSettings;
use crate::shape_setting::ShapeSetting;

/// The time for which an outlook counts. A queue that is not looked at may be another one by then.
const VALID: Span = Span::from_secs(600);

/// An outlook on the queue of a site, and its instant by the clock of this host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SiteOutlook {
    /// The instant of the look from which it comes.
    pub at: Instant,
    /// The waits.
    pub outlook: QueueOutlook,
}

impl SiteState {
    /// Returns the outlook on the queue. None if there is none, or it is too old.
    pub fn valid_outlook(&self, now: Instant) -> Option<&SiteOutlook> {
        let outlook = self.outlook.as_ref();
        outlook.filter(|outlook| !has_passed(VALID, outlook.at, now))
    }

    /// Returns how long a pilot waits that is submitted now.
    pub fn waits_of_new(
        &self,
        (kind, shape): (Option<ShapeSetting>, PilotShape),
        now: Instant,
    ) -> PilotWaits {
        let outlook = self.valid_outlook(now);
        let waits = outlook.and_then(|outlook| outlook.outlook.of_new(shape));
        let waits = waits.cloned();
        waits.unwrap_or_else(|| self.waits_of_kind(kind, now))
    }

    /// Returns the waits of pilots like one that waits, and the part of them that it has waited.
    pub fn waits_of_pending(
        &self,
        pilot: &PilotRecord,
        settings: &SiteSettings,
        now: Instant,
    ) -> (PilotWaits, Span) {
        let seen = self.valid_outlook(now).and_then(|outlook| {
            let key = queue_key(settings.engine, pilot.id?);
            let (waits, age) = outlook.outlook.of_pending(&key)?;
            let since = now.since(outlook.at).max(Span::ZERO);
            Some((waits.clone(), age + since))
        });
        seen.unwrap_or_else(|| {
            let form = (pilot.kind, pilot.shape(settings));
            (self.waits_of_new(form, now), pilot.age(now))
        })
    }
}

/// Returns the name by which a queue with the jobs of all users has the job of a pilot.
pub(crate) fn queue_key(engine: EngineKind, id: BatchJobId) -> SeenJobKey {
    SeenJobKey(match engine {
        EngineKind::Htcondor => format!("{}.0", id.0),
        EngineKind::Slurm | EngineKind::Sge | EngineKind::Local => id.0.to_string(),
    })
}
