use proptest::prelude::*;

use super::*;
use crate::plan::host_machine::tests::{any_group, at, cluster, hosts, windows};

/// The places of the jobs of groups, in the order in which they are taken: each group by waves, or job by job.
fn places(
    mut free: FreeProfile,
    groups: &[(JobGroup, Option<i64>)],
    by_waves: bool,
) -> Vec<Vec<PlannedPlace>> {
    let mut all = Vec::new();
    for &(group, latest_end) in groups {
        let mut left = group.count;
        let mut places = Vec::new();
        let mut end = latest_end.map(at);
        while left > 0 {
            let most = if by_waves { left } else { 1 };
            let found = match end {
                Some(end) => free.latest_waves(&group, group.run, end, most),
                None => free.earliest_waves(&group, group.run, most),
            };
            let Some(found) = found else {
                break;
            };
            free.book_waves(&group, &found);
            end = end.map(|_| found.first_end());
            left -= found.n_jobs();
            places.extend(single(&found));
        }
        // Of waves that end by an instant the first is taken last.
        places.sort_by_key(|place| (place.at, place.parts.clone()));
        all.push(places);
    }
    all
}

fn single(waves: &PlaceWaves) -> Vec<PlannedPlace> {
    let mut all = Vec::new();
    let mut left = vec![waves.clone()];
    while let Some(waves) = left.pop() {
        let last = waves.n_choices() - 1;
        all.push(waves.first_on(last));
        left.extend(waves.without_first_on(last));
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn waves_are_the_places_of_one_job_after_the_other(
        hosts in hosts(),
        licences in 0u8..4,
        windows in windows(),
        groups in prop::collection::vec((any_group(), prop::option::of(1i64..1500)), 0..6),
    ) {
        let state = cluster(&hosts, licences, &windows);
        let free = FreeProfile::new(View::new(&state, Instant::ZERO), true, &[]);
        let one_by_one = places(free.clone(), &groups, false);
        prop_assert_eq!(places(free, &groups, true), one_by_one);
    }
}
