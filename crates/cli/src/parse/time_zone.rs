//! The user's time zone.

use std::fs;
use std::path::Path;

use jiff::tz::TimeZone;

/// The file or link by which a system says what its zone is.
const SYSTEM_ZONE: &str = "/etc/localtime";

/// Returns the zone of the variable `TZ`, or else of the system; UTC without either.
///
/// `TimeZone::system` reads all directories of the database of zones to find one of them, which takes
/// longer than the rest of a command.
pub(crate) fn local() -> TimeZone {
    match std::env::var_os("TZ") {
        None => linked_zone(Path::new(SYSTEM_ZONE)).unwrap_or_else(TimeZone::system),
        Some(_) => TimeZone::system(),
    }
}

/// Returns the zone of a link into a database of zones, with its name there.
fn linked_zone(link: &Path) -> Option<TimeZone> {
    let target = fs::read_link(link).ok()?;
    let (_, name) = target.to_str()?.rsplit_once("zoneinfo/")?;
    TimeZone::tzif(name, &fs::read(link).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use tollgate_needs::{Need, lacks};

    use super::*;

    #[test]
    fn zone_of_a_link_is_that_of_the_database() {
        let dir = tempfile::tempdir().expect("a folder");
        let link = dir.path().join("localtime");
        assert_eq!(linked_zone(&link), None);
        let zones = Path::new("/usr/share/zoneinfo");
        if !zones.join("Europe/Berlin").exists() {
            lacks(Need::Zones, "it has no Europe/Berlin");
            return;
        }
        symlink(zones.join("Europe/Berlin"), &link).expect("linked");
        let zone = linked_zone(&link).expect("a zone");
        assert_eq!(zone.iana_name(), Some("Europe/Berlin"));
        let database = TimeZone::get("Europe/Berlin").expect("in the database");
        for at in ["2026-01-15T12:00:00Z", "2026-07-15T12:00:00Z"] {
            let at: jiff::Timestamp = at.parse().expect("an instant");
            assert_eq!(zone.to_offset(at), database.to_offset(at));
        }
    }
}
