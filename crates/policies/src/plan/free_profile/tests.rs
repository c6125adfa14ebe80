use proptest::prelude::*;

use super::*;
use crate::plan::host_machine::tests::{
    any_group, at, cluster, group, hosts, slow_down, slowdowns, windows,
};

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

/// Returns the instants at which a place can begin or end. These are those at which something changes, and
/// those that follow from them for a job which is reserved for so long.
fn limits(free: &FreeProfile, group: &JobGroup) -> Vec<Instant> {
    let closes = free
        .hosts
        .iter()
        .map(|host| host.times.last_end(group.hosts) - group.reserved);
    let mut all: Vec<Instant> = free.changes().into_iter().chain(closes).collect();
    for window in free.calendar.windows() {
        all.extend([window.from - group.reserved, window.until]);
    }
    all
}

/// Returns the first place of a job of a group: the first of all instants at which it fits.
fn literal_earliest(free: &FreeProfile, group: &JobGroup, length: Span) -> Option<PlannedPlace> {
    let mut starts = limits(free, group);
    starts.push(free.now);
    starts.retain(|&at| at >= free.now);
    starts.sort_unstable();
    starts
        .into_iter()
        .find_map(|at| free.at(group, length, (at, Instant::MAX)))
}

/// Returns the last place of a job of a group that ends by `end`.
fn literal_latest(
    free: &FreeProfile,
    group: &JobGroup,
    length: Span,
    end: Instant,
) -> Option<PlannedPlace> {
    let limits = limits(free, group);
    let ends = free.changes().into_iter().map(|change| change - length);
    let mut starts: Vec<Instant> = ends.chain(limits).chain([end - length]).collect();
    starts.retain(|&at| free.now <= at && at <= end - length);
    starts.sort_unstable();
    let mut starts = starts.into_iter().rev();
    starts.find_map(|at| free.at(group, length, (at, Instant::MAX)))
}

#[test]
fn place_on_a_loaded_host_is_longer_and_the_one_that_ends_first_is_chosen() {
    let mut state = cluster(&[(1, 0, None), (1, 0, None)], 0, &[]);
    slow_down(&mut state, &[3.0, 1.0]);
    let mut free = FreeProfile::new(
        View::new(&state, Instant::ZERO),
        true,
        &[],
        &HostFuture::default(),
    );
    let job = group(1, 1, 100, 0);
    let mut found = Vec::new();
    for _ in 0..4 {
        let place = free.earliest(&job, job.run).unwrap();
        free.book(&job, &place);
        found.push((place.at, place.at + place.length()));
    }
    // The loaded host is as good as the other from its fourth job on, and starts sooner.
    let fast = [0, 100].map(|start| (at(start), at(start + 100)));
    assert_eq!(found[..2], fast);
    assert_eq!(found[2..], [(at(0), at(300)), (at(200), at(300))]);
    let last = free.latest(&job, job.run, at(1000)).unwrap();
    assert_eq!((last.at, last.length()), (at(900), Span::from_secs(100)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn places_end_in_time_and_take_free_processors(
        hosts in hosts(),
        licences in 0u8..4,
        windows in windows(),
        groups in prop::collection::vec((any_group(), 1i64..300), 1..8),
        slowdowns in slowdowns(),
    ) {
        let mut state = cluster(&hosts, licences, &windows);
        slow_down(&mut state, &slowdowns);
        let mut free = FreeProfile::new(View::new(&state, Instant::ZERO), true, &[], &HostFuture::default());
        for (group, latest_end) in groups {
            let latest = free.latest(&group, group.run, at(latest_end));
            for place in latest.into_iter().chain(free.earliest(&group, group.run)).take(1) {
                let end = place.at + place.length();
                prop_assert!(place.at >= Instant::ZERO);
                for &(host, procs) in &place.parts {
                    let host = &free.hosts[host];
                    prop_assert!(host.slowdown <= place.slowdown);
                    prop_assert!(host.procs.fewest(place.at, end) >= procs);
                    prop_assert!(end <= host.times.last_end(group.hosts));
                }
                prop_assert!(free.calendar.room(place.at) >= place.length());
                free.book(&group, &place);
            }
            if let Some(latest) = free.latest(&group, group.run, at(latest_end)) {
                prop_assert!(latest.at + latest.length() <= at(latest_end));
            }
        }
    }

    #[test]
    fn waves_are_the_places_of_one_job_after_the_other(
        hosts in hosts(),
        licences in 0u8..4,
        windows in windows(),
        groups in prop::collection::vec((any_group(), prop::option::of(1i64..1500)), 0..6),
        slowdowns in slowdowns(),
    ) {
        let mut state = cluster(&hosts, licences, &windows);
        slow_down(&mut state, &slowdowns);
        let free = FreeProfile::new(View::new(&state, Instant::ZERO), true, &[], &HostFuture::default());
        let one_by_one = places(free.clone(), &groups, false);
        prop_assert_eq!(places(free, &groups, true), one_by_one);
    }

    #[test]
    fn places_are_the_first_and_the_last_of_all_instants(
        hosts in hosts(),
        licences in 0u8..4,
        windows in windows(),
        groups in prop::collection::vec((any_group(), 1i64..300), 1..8),
    ) {
        let state = cluster(&hosts, licences, &windows);
        let mut free = FreeProfile::new(View::new(&state, Instant::ZERO), true, &[], &HostFuture::default());
        for (group, latest_end) in groups {
            let end = at(latest_end);
            let earliest = free.earliest(&group, group.run);
            prop_assert_eq!(&earliest, &literal_earliest(&free, &group, group.run));
            let latest = free.latest(&group, group.run, end);
            prop_assert_eq!(&latest, &literal_latest(&free, &group, group.run, end));
            for place in [latest, earliest] {
                if let Some(place) = place.filter(|place| free.at(&group, group.run, (place.at, Instant::MAX)).as_ref() == Some(place)) {
                    free.book(&group, &place);
                }
            }
        }
    }
}
