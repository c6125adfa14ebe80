//! A group of equal jobs starts as its jobs one by one would, whatever starts are refused for others' promises.

use proptest::prelude::*;
use tollgate_model::{Instant, JobId, Span, UserId};
use tollgate_policy::View;

use super::super::host_machine::tests::{any_group, at, cluster, hosts, windows};
use super::*;
use crate::plan::HostFuture;

/// A group, the time at guard beyond the one reserved, the latest end, and whether it has places.
type GroupCase = (JobGroup, i64, i64, bool);

/// Returns the groups in the order of their deadlines, and all of them in the fair order; each job alone if `one_by_one`.
fn waiting(cases: &[GroupCase], one_by_one: bool) -> (Vec<RuleJob>, Vec<FairJob>) {
    let mut planned = Vec::new();
    let mut fair = Vec::new();
    for (case, &(group, more, latest_end, is_planned)) in cases.iter().enumerate() {
        let (parts, count) = match one_by_one {
            true => (group.count, 1),
            false => (1, group.count),
        };
        for _ in 0..parts {
            let job = RuleJob {
                id: JobId(case as u32),
                user: UserId(0),
                group: JobGroup { count, ..group },
                guard: group.reserved + Span::from_secs(more),
                latest_end: at(latest_end),
            };
            fair.push(match is_planned {
                true => FairJob::Planned(planned.len()),
                false => FairJob::Unplanned(job),
            });
            if is_planned {
                planned.push(job);
            }
        }
    }
    (planned, fair)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn groups_start_as_their_jobs_one_by_one(
        hosts in hosts(),
        licences in 0u8..4,
        windows in windows(),
        cases in prop::collection::vec((any_group(), 0i64..10, 1i64..200, any::<bool>()), 1..6),
        refused in any::<u16>(),
    ) {
        let state = cluster(&hosts, licences, &windows);
        let free = FreeProfile::new(View::new(&state, Instant::ZERO), true, &[], &HostFuture::default());
        let mut cases = cases;
        cases.sort_by_key(|&(_, _, latest_end, _)| latest_end);
        let decided = |one_by_one: bool| {
            let (planned, fair) = waiting(&cases, one_by_one);
            // A start is refused on some hosts, by what is taken of them.
            let mut may_start = |_: &RuleJob, place: &PlannedPlace| {
                place.parts.iter().all(|(host, _)| refused >> host & 1 == 0)
            };
            let found = decide(&free, &planned, fair.into_iter(), &mut may_start);
            let held = found.held.map(|(job, at)| (job.id, at));
            (found.starts, held, found.next_place)
        };
        prop_assert_eq!(decided(false), decided(true));
    }
}
