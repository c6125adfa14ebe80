//! Timetables, compared with the rule as it is written down.

use super::*;
use crate::plan::host_times::HostChoice;
use proptest::prelude::*;
use tollgate_model::MaintenanceWindow;

fn at(secs: i64) -> Instant {
    Instant::from_secs(secs)
}

fn group(procs: u32, count: u32, run: i64, reserved: i64) -> JobGroup {
    JobGroup {
        hosts: HostChoice::Any,
        restarts: 0,
        procs,
        count,
        run: Span::from_secs(run),
        reserved: Span::from_secs(reserved),
        due: Instant::MAX,
        one_host: false,
        host: None,
        devices: ResourceCounts::NONE,
        licences: ResourceCounts::NONE,
    }
}

fn running(procs: u32, end: i64, reserved_end: i64) -> RunningGroup {
    RunningGroup {
        end: at(end),
        reserved_end: at(reserved_end),
        procs,
    }
}

/// Returns (group, count, end in seconds) of each start.
fn starts(idle: u32, running: &[RunningGroup], groups: &[JobGroup]) -> Vec<(usize, u32, i64)> {
    starts_around(&MaintenanceCalendar::default(), idle, running, groups)
}

fn starts_around(
    calendar: &MaintenanceCalendar,
    idle: u32,
    running: &[RunningGroup],
    groups: &[JobGroup],
) -> Vec<(usize, u32, i64)> {
    let mut starts = Vec::new();
    play(Instant::ZERO, idle, calendar, running, groups, |start| {
        for wave in 0..start.waves {
            let end = start.end + start.run.times(wave);
            starts.push((start.group, start.count, end.as_micros() / 1_000_000));
        }
        true
    });
    starts
}

#[test]
fn an_array_runs_in_waves() {
    let array = [group(1, 5, 10, 12)];
    assert_eq!(starts(2, &[], &array), [(0, 2, 10), (0, 2, 20), (0, 1, 30)]);
}

#[test]
fn a_later_job_starts_if_it_ends_by_the_reservation() {
    // Four processors, three of them taken until 50 by reservation and until 40 in truth.
    let busy = [running(3, 40, 50)];
    let short = [group(4, 1, 10, 10), group(1, 1, 45, 50)];
    assert_eq!(starts(1, &busy, &short), [(1, 1, 45), (0, 1, 55)]);
    let long = [group(4, 1, 10, 10), group(1, 1, 45, 51)];
    assert_eq!(starts(1, &busy, &long), [(0, 1, 50), (1, 1, 95)]);
}

#[test]
fn later_job_may_use_processors_beside_the_reservation() {
    let busy = [running(2, 40, 40)];
    let groups = [group(3, 1, 10, 10), group(1, 3, 100, 100)];
    // Two of four processors are idle; the head needs three at 40, and leaves one.
    let played = starts(2, &busy, &groups);
    assert_eq!(played, [(1, 1, 100), (0, 1, 50), (1, 2, 150)]);
}

#[test]
fn job_wider_than_the_connected_nodes_never_starts_and_delays_no_job() {
    let groups = [group(8, 1, 10, 10), group(1, 2, 10, 10)];
    assert_eq!(starts(4, &[], &groups), [(1, 2, 10)]);
}

/// Starts jobs one by one, with a scan of all of them at every end: the rule as it is written
/// down, without groups and summaries.
fn naive(nodes: u32, jobs: &[(u32, i64, i64)], windows: &[(i64, i64)]) -> Vec<(usize, i64)> {
    let opens = |start: i64, length: i64| {
        let mut start = start;
        while let Some(window) = windows
            .iter()
            .find(|window| start < window.1 && window.0 < start + length)
        {
            start = window.1;
        }
        start
    };
    let (mut waiting, mut running): (Vec<usize>, Vec<(i64, i64, u32)>) =
        ((0..jobs.len()).collect(), Vec::new());
    let (mut now, mut ends) = (0, Vec::new());
    loop {
        let free =
            |running: &[(i64, i64, u32)]| nodes - running.iter().map(|job| job.2).sum::<u32>();
        let mut head: Option<(i64, u32)> = None;
        let mut rest = Vec::new();
        for &job in &waiting {
            let (procs, run, reserved) = jobs[job];
            let fits = procs <= free(&running) && opens(now, reserved) == now;
            let starts = match head {
                None => fits,
                Some((at, extra)) => fits && (now + reserved <= at || procs <= extra),
            };
            if starts {
                if let Some((at, extra)) = &mut head
                    && now + reserved > *at
                {
                    *extra -= procs;
                }
                running.push((now + run, now + reserved, procs));
                ends.push((job, now + run));
                continue;
            }
            rest.push(job);
            if head.is_none() {
                let mut at: Vec<i64> = running.iter().map(|job| job.1).collect();
                at.sort_unstable();
                let freed = |at: i64| {
                    let gone = running.iter().filter(|job| job.1 <= at);
                    free(&running) + gone.map(|job| job.2).sum::<u32>()
                };
                at.insert(0, now);
                let at = at.into_iter().find(|&at| freed(at) >= procs);
                let at = at.map(|at| opens(at, reserved));
                head = Some(at.map_or((i64::MAX, 0), |at| (at, freed(at) - procs)));
            }
        }
        waiting = rest;
        let reopening = windows.iter().map(|window| window.1).find(|&end| end > now);
        let next = running.iter().map(|job| job.0).chain(reopening).min();
        let Some(next) = next else {
            return ends;
        };
        now = next;
        running.retain(|job| job.0 > now);
    }
}

proptest! {
    #[test]
    fn groups_play_as_single_jobs_do(
        nodes in 1u32..10,
        jobs in prop::collection::vec((1u32..6, 1i64..20, 0i64..20, prop_oneof![4 => 1u32..5, 1 => 5u32..60]), 0..40),
        windows in prop::collection::vec((0i64..60, 1i64..30), 0..4),
    ) {
        let mut from = 0;
        let windows: Vec<(i64, i64)> = windows
            .into_iter()
            .map(|(gap, length)| {
                from += gap + 1;
                let window = (from, from + length);
                from += length;
                window
            })
            .collect();
        let calendar = MaintenanceCalendar::new(
            windows
                .iter()
                .map(|&(from, until)| MaintenanceWindow {
                    from: at(from),
                    until: at(until),
                })
                .collect(),
        );
        let groups: Vec<JobGroup> = jobs
            .iter()
            .map(|&(procs, run, more, count)| group(procs, count, run, run + more))
            .collect();
        let mut played = Vec::new();
        for (group, count, end) in starts_around(&calendar, nodes, &[], &groups) {
            played.extend((0..count).map(|_| (group, end)));
        }
        let single: Vec<(usize, (u32, i64, i64))> = jobs
            .iter()
            .enumerate()
            .flat_map(|(group, &(procs, run, more, count))| {
                (0..count).map(move |_| (group, (procs, run, run + more)))
            })
            .collect();
        let one_by_one: Vec<(u32, i64, i64)> = single.iter().map(|job| job.1).collect();
        let mut walked: Vec<(usize, i64)> = naive(nodes, &one_by_one, &windows)
            .into_iter()
            .map(|(job, end)| (single[job].0, end))
            .collect();
        played.sort_unstable();
        walked.sort_unstable();
        prop_assert_eq!(played, walked);
    }
}
