//! How a pilot ended, for the jobs that it ran.

use std::path::Path;

use tollgate_sites::{PilotPhase, SiteJournal, state_dir};

/// Returns how the pilot ended whose worker has this name, in the words of its engine. None if it is no pilot of
/// a site of this user, runs on, or ended without a reason.
pub(crate) fn pilot_end(worker: &str) -> Option<String> {
    end_in(&state_dir().ok()?, worker)
}

fn end_in(state_dir: &Path, worker: &str) -> Option<String> {
    let (site, number) = worker.rsplit_once('.')?;
    let number: u32 = number.parse().ok()?;
    let is_name = !site.is_empty() && !site.contains(['/', '.']);
    let state = is_name.then(|| SiteJournal::read(&state_dir.join(site)))?;
    let pilots = state.ok()?.pilots;
    let pilot = pilots.into_iter().find(|pilot| pilot.number == number)?;
    let has_ended = pilot.phase == PilotPhase::Over && !pilot.reason.is_empty();
    has_ended.then(|| format!("ended: {}", pilot.reason))
}

#[cfg(test)]
mod tests {
    use tollgate_model::Instant;
    use tollgate_sites::{PilotRecord, SiteState};

    use super::*;

    #[test]
    fn end_of_a_pilot_is_found_by_the_name_of_its_worker() {
        let dir = tempfile::tempdir().unwrap();
        let job = "tg.north.7f3a.2".parse().unwrap();
        let pilot = PilotRecord {
            phase: PilotPhase::Over,
            reason: "PREEMPTED".to_owned(),
            ..PilotRecord::offered(2, job, Instant::ZERO)
        };
        let mut state = SiteState {
            pilots: vec![pilot],
            ..SiteState::default()
        };
        let journal = SiteJournal::open(dir.path(), "north").unwrap();
        journal.save(&mut state).unwrap();
        let end = |worker| end_in(dir.path(), worker);
        assert_eq!(end("north.2"), Some("ended: PREEMPTED".to_owned()));
        for worker in ["north.3", "south.2", "blade", "../north.2", ".2"] {
            assert_eq!(end(worker), None, "{worker}");
        }
    }
}
