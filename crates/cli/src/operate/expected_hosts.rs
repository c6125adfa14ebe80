//! The hosts that are expected at sites, in the answer of `tollgate nodes`.

use std::collections::BTreeMap;
use std::io::{self, Write};

use tollgate_client::types::ExpectedHostStatus;

use crate::output::format;
use crate::output::messages::pluralise;

/// Writes the hosts that are expected: those in a queue with a sentence each, and those of a site that could be submitted with
/// one together.
pub(super) fn write(out: &mut impl Write, expected: &[ExpectedHostStatus]) -> io::Result<()> {
    let now = format::now();
    let by = |at: &Option<String>| match at {
        Some(at) => format!("by {}", format::format_local_time(at, &now)),
        None => "perhaps never".to_owned(),
    };
    for host in expected {
        if let Some(worker) = &host.worker {
            let cores = pluralise(host.nodes as usize, "core");
            let [half, late] = [&host.median_start_at, &host.late_start_at].map(by);
            writeln!(
                out,
                "{worker}: expected, {cores} for {}: there {half} in 1 case of 2, {late} in 9 of 10",
                format::format_span(host.stays_s)
            )?;
        }
    }
    let potential = expected.iter().filter(|host| host.worker.is_none());
    let mut by_site: BTreeMap<&str, (usize, &ExpectedHostStatus)> = BTreeMap::new();
    for host in potential {
        by_site.entry(&host.site).or_insert((0, host)).0 += 1;
    }
    for (site, (n_pilots, host)) in by_site {
        let pilots = pluralise(n_pilots, "more pilot");
        let cores = pluralise(host.nodes as usize, "core");
        writeln!(
            out,
            "{site}: {pilots} of {cores} for {} could be submitted: there {} in 9 cases of 10",
            format::format_span(host.stays_s),
            by(&host.late_start_at)
        )?;
    }
    Ok(())
}
