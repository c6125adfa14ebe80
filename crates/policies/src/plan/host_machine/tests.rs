use super::*;
use crate::plan::host_times::HostChoice;
use proptest::prelude::*;
use tollgate_model::{HostTerms, MaintenanceWindow, ResourceIndex, Span};
use tollgate_policy::{ClusterState, LoginForecast};

use crate::plan::timetable;

pub(in crate::plan) const GPU: ResourceIndex = ResourceIndex(0);
pub(in crate::plan) const LICENCE: ResourceIndex = ResourceIndex(1);

/// A host: processors, GPUs, and when it closes in seconds.
pub(in crate::plan) type Host = (u32, u8, Option<i64>);

pub(in crate::plan) fn at(secs: i64) -> Instant {
    Instant::from_secs(secs)
}

pub(in crate::plan) fn cluster(
    hosts: &[Host],
    licences: u8,
    windows: &[(i64, i64)],
) -> ClusterState {
    let mut state = ClusterState::default();
    for &(procs, gpus, closes) in hosts {
        let nodes = state.add_nodes(procs);
        let terms = HostTerms {
            // The fifth host is set aside.
            is_set_aside: state.hosts().len() == 4,
            // People work at the fourth host.
            is_desktop: state.hosts().len() == 3,
            closes: closes.map(at),
            devices: ResourceCounts::NONE.with(GPU, gpus),
            // The names of neighbours differ, and three hosts and more share some.
            name: Some(HostNameIndex(state.hosts().len() as u32 % 2)),
        };
        state.set_host(Instant::ZERO, nodes, terms);
    }
    // With .95, none comes before 300 s have passed.
    let rate = -0.95_f64.ln() * 3600.0 / 300.0;
    let forecast = LoginForecast::new(Instant::ZERO, [rate; 168]);
    state.set_logins(vec![forecast], |_| Some(0));
    state.set_licences(vec![LICENCE], ResourceCounts::NONE.with(LICENCE, licences));
    let window = |&(from, until)| MaintenanceWindow {
        from: at(from),
        until: at(until),
    };
    state.set_maintenance(MaintenanceCalendar::new(
        windows.iter().map(window).collect(),
    ));
    state
}

/// Slows the first hosts of a cluster.
pub(in crate::plan) fn slow_down(state: &mut ClusterState, slowdowns: &[f64]) {
    let hosts: Vec<_> = state.hosts().iter().map(|host| host.nodes).collect();
    for (nodes, &slowdown) in hosts.into_iter().zip(slowdowns) {
        state.set_slowdown(Instant::ZERO, nodes, HostSlowdown::nearest(slowdown));
    }
}

/// Slowdowns of hosts, most of them of no load.
pub(in crate::plan) fn slowdowns() -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(prop_oneof![3 => Just(1.0), 1 => 1.0..4.0], 0..6)
}

pub(in crate::plan) fn group(procs: u32, count: u32, run: i64, more: i64) -> JobGroup {
    JobGroup {
        hosts: HostChoice::Any,
        restarts: 0,
        procs,
        count,
        run: Span::from_secs(run),
        reserved: Span::from_secs(run + more),
        due: Instant::MAX,
        one_host: false,
        host: None,
        devices: ResourceCounts::NONE,
        licences: ResourceCounts::NONE,
    }
}

fn gpu_job(gpus: u8, count: u32, run: i64) -> JobGroup {
    JobGroup {
        one_host: true,
        devices: ResourceCounts::NONE.with(GPU, gpus),
        ..group(1, count, run, 0)
    }
}

/// Returns (group, end in seconds) of each job, in the order of their starts.
fn played(state: &ClusterState, groups: &[JobGroup]) -> Vec<(usize, i64)> {
    let view = View::new(state, Instant::ZERO);
    played_on(HostMachine::new(view, &HostFuture::default()), groups)
}

fn played_on(machine: HostMachine, groups: &[JobGroup]) -> Vec<(usize, i64)> {
    let mut ends = Vec::new();
    machine.play(groups, |start| {
        for wave in 0..start.waves {
            let end = start.end + start.run.times(wave);
            let end_s = end.as_micros() / 1_000_000;
            ends.extend((0..start.count).map(|_| (start.group, end_s)));
        }
        true
    });
    ends
}

#[test]
fn nothing_runs_where_it_would_outlast_its_host() {
    let state = cluster(&[(1, 0, Some(100)), (1, 0, None)], 0, &[]);
    // A job that fits before the end takes the host that closes.
    let groups = [group(1, 1, 90, 0), group(1, 2, 200, 0)];
    assert_eq!(played(&state, &groups), [(0, 90), (1, 200), (1, 400)]);
    let closing = cluster(&[(4, 0, Some(100))], 0, &[]);
    assert_eq!(played(&closing, &groups), [(0, 90)]);
}

#[test]
fn work_takes_longer_on_loaded_hosts_and_others_come_first() {
    let mut state = cluster(&[(1, 0, None), (1, 0, Some(250))], 0, &[]);
    slow_down(&mut state, &[3.0, 2.0]);
    assert_eq!(
        played(&state, &[group(1, 3, 100, 0)]),
        [(0, 200), (0, 300), (0, 600)]
    );
    // Two processors are as slow as the slower one, and a host has to stay until the longer end.
    assert_eq!(played(&state, &[group(2, 1, 100, 0)]), []);
    assert_eq!(played(&state, &[group(2, 2, 40, 0)]), [(0, 120), (0, 240)]);
}

#[test]
fn devices_and_licences_are_counted() {
    let state = cluster(&[(4, 0, None), (4, 2, None)], 1, &[]);
    assert_eq!(
        played(&state, &[gpu_job(1, 3, 10)]),
        [(0, 10), (0, 10), (0, 20)]
    );
    assert_eq!(played(&state, &[gpu_job(3, 1, 10)]), []);
    let licensed = JobGroup {
        licences: ResourceCounts::NONE.with(LICENCE, 1),
        ..group(1, 2, 10, 0)
    };
    assert_eq!(played(&state, &[licensed]), [(0, 10), (0, 20)]);
    // Jobs without devices leave the host with devices to others.
    let groups = [group(1, 4, 50, 0), gpu_job(2, 1, 10)];
    assert_eq!(
        played(&state, &groups),
        [(0, 50), (0, 50), (0, 50), (0, 50), (1, 10)]
    );
}

#[test]
fn a_job_on_a_named_host_waits_for_that_host_alone() {
    let state = cluster(&[(2, 0, None), (2, 0, None), (2, 0, None)], 0, &[]);
    let on = |name, count| JobGroup {
        one_host: true,
        host: Some(HostNameIndex(name)),
        ..group(2, count, 10, 0)
    };
    // One host has the name 1, two have the name 0, none has the name 2.
    assert_eq!(played(&state, &[on(1, 2)]), [(0, 10), (0, 20)]);
    assert_eq!(played(&state, &[on(0, 3)]), [(0, 10), (0, 10), (0, 20)]);
    assert_eq!(played(&state, &[on(2, 1), on(1, 1)]), [(1, 10)]);
}

#[test]
fn promised_jobs_run_where_no_user_can_come_and_others_there_last() {
    let mut state = cluster(&[(1, 0, None); 4], 0, &[]);
    state.set_logins(Vec::new(), |_| None);
    let promised = JobGroup {
        hosts: HostChoice::Promised,
        ..group(1, 4, 10, 0)
    };
    // Three at once, and the fourth after them: not on the fourth host.
    assert_eq!(
        played(&state, &[promised]),
        [(0, 10), (0, 10), (0, 10), (0, 20)]
    );
    // The others leave room for it.
    let groups = [
        group(1, 1, 30, 0),
        JobGroup {
            count: 3,
            ..promised
        },
    ];
    assert_eq!(
        played(&state, &groups),
        [(0, 30), (1, 10), (1, 10), (1, 10)]
    );
}

#[test]
fn promised_jobs_run_on_desktops_last_and_only_as_long_as_users_hardly_come() {
    let state = cluster(&[(1, 0, None); 4], 0, &[]);
    let promised = |count, run| JobGroup {
        hosts: HostChoice::Promised,
        ..group(1, count, run, 0)
    };
    // Three of 200 s on hosts without users, one on the desktop; the fourth of 310 s is too long for it.
    assert_eq!(played(&state, &[promised(4, 200)]), [(0, 200); 4]);
    assert_eq!(
        played(&state, &[promised(4, 310)]),
        [(0, 310), (0, 310), (0, 310), (0, 620)]
    );
    // In the second half of the 300 s there is no room for another wave there.
    let short = played(&state, &[promised(8, 160)]);
    assert_eq!(short.iter().filter(|(_, end)| *end == 160).count(), 4);
    assert_eq!(short.iter().filter(|(_, end)| *end == 480).count(), 1);
}

/// Returns the machine of a cluster whose fourth host, a desktop, a user comes to.
fn with_user(state: &ClusterState, login: i64) -> HostMachine {
    let logins = HostFuture::with_login(3, Instant::from_secs(login), state.hosts().len());
    HostMachine::new(View::new(state, Instant::ZERO), &logins)
}

#[test]
fn a_user_ends_a_job_and_it_starts_anew_as_often_as_it_may() {
    let state = cluster(&[(1, 0, None); 4], 0, &[]);
    let ends = |restarts, login| {
        let group = JobGroup {
            restarts,
            ..group(1, 5, 100, 0)
        };
        played_on(with_user(&state, login), &[group])
    };
    // Nothing starts on the desktop after 50 s. The job that was there starts on another at 100.
    assert_eq!(
        ends(u8::MAX, 50),
        [(0, 100), (0, 100), (0, 100), (0, 200), (0, 200)]
    );
    assert_eq!(ends(0, 50), [(0, 100), (0, 100), (0, 100), (0, 200)]);
    assert_eq!(
        ends(0, 100),
        [(0, 100), (0, 100), (0, 100), (0, 100), (0, 200)]
    );
}

#[test]
fn a_job_for_one_host_waits_for_one_with_room() {
    let state = cluster(&[(2, 0, None), (2, 0, None)], 0, &[]);
    let one_host = JobGroup {
        one_host: true,
        ..group(2, 1, 10, 0)
    };
    // Three processors of four are taken until 30 s; then the first host has two for the second job.
    let groups = [
        group(3, 1, 30, 0),
        one_host,
        group(1, 1, 20, 0),
        group(1, 1, 40, 0),
    ];
    let ends = [(0, 30), (2, 20), (1, 40), (3, 60)];
    let mut found = played(&state, &groups);
    found.sort_unstable_by_key(|&(group, end)| (end, group));
    let mut expected = ends;
    expected.sort_unstable_by_key(|&(group, end)| (end, group));
    assert_eq!(found, expected);
}

/// Hosts of which some close, some of them late enough for many waves.
pub(in crate::plan) fn hosts() -> impl Strategy<Value = Vec<Host>> {
    let closes = prop_oneof![2 => Just(None), 1 => (1i64..1000).prop_map(Some)];
    prop::collection::vec((1u32..5, 0u8..3, closes), 1..6)
}

/// Windows that begin after each other.
pub(in crate::plan) fn windows() -> impl Strategy<Value = Vec<(i64, i64)>> {
    let gaps = prop::collection::vec((0i64..200, 1i64..30), 0..3);
    gaps.prop_map(|gaps| {
        let mut from = 0;
        let window = |(gap, length)| {
            let window = (from + gap + 1, from + gap + 1 + length);
            from = window.1;
            window
        };
        gaps.into_iter().map(window).collect()
    })
}

/// A group of jobs with any needs, now and then a large one.
pub(in crate::plan) fn any_group() -> impl Strategy<Value = JobGroup> {
    let count = prop_oneof![4 => 1u32..5, 1 => 5u32..150];
    let host = prop_oneof![3 => Just(None), 1 => (0u32..2).prop_map(Some)];
    let hosts = prop_oneof![
        Just(HostChoice::Any),
        Just(HostChoice::Promised),
        Just(HostChoice::Dedicated),
        Just(HostChoice::SetAside),
    ];
    let needs = (any::<bool>(), 0u8..3, 0u8..2, host, hosts);
    (1u32..5, count, 1i64..20, 0i64..10, needs).prop_map(
        |(procs, count, run, more, (one_host, gpus, licences, host, hosts))| JobGroup {
            hosts,
            one_host: one_host || gpus > 0 || host.is_some(),
            host: host.map(HostNameIndex),
            devices: ResourceCounts::NONE.with(GPU, gpus),
            licences: ResourceCounts::NONE.with(LICENCE, licences),
            ..group(procs, count, run, more)
        },
    )
}

/// Returns a future in which a host comes.
fn with_coming(nodes: u32, opens: i64, stays: i64) -> HostFuture {
    let mut future = HostFuture::default();
    future.coming.push(ComingHost {
        nodes,
        opens: at(opens),
        closes: at(opens + stays),
        preempted: Instant::MAX,
        preempted_per_h: 0.0,
    });
    future
}

#[test]
fn job_runs_on_a_host_that_comes_and_not_before() {
    let state = cluster(&[(1, 0, None)], 0, &[]);
    let machine = HostMachine::new(View::new(&state, Instant::ZERO), &with_coming(2, 100, 50));
    // The second group has two processors at once, which only the coming host and the first together have.
    let groups = [group(1, 2, 40, 0), group(3, 1, 10, 0)];
    assert_eq!(
        played_on(machine.clone(), &groups),
        [(0, 40), (0, 80), (1, 110)]
    );
    // Too long for the host that comes.
    assert_eq!(played_on(machine, &[group(2, 1, 60, 0)]), []);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn groups_on_hosts_play_as_single_jobs_do(
        hosts in hosts(),
        licences in 0u8..4,
        windows in windows(),
        running in prop::collection::vec((0usize..5, 1u32..4, 1i64..200, 0i64..50), 0..4),
        groups in prop::collection::vec(any_group(), 0..8),
        login in prop::option::of(0i64..300),
        restarts in prop_oneof![Just(0), Just(u8::MAX)],
        slowdowns in slowdowns(),
    ) {
        let mut state = cluster(&hosts, licences, &windows);
        slow_down(&mut state, &slowdowns);
        let groups: Vec<JobGroup> =
            groups.iter().map(|group| JobGroup { restarts, ..*group }).collect();
        let mut machine = match login {
            Some(login) => with_user(&state, login),
            None => HostMachine::new(View::new(&state, Instant::ZERO), &HostFuture::default()),
        };
        for (host, procs, run, more) in running {
            let has_room = machine.free.rooms.get(host).is_some_and(|room| room.idle >= procs);
            if has_room {
                machine.launch_on(&group(procs, 1, run, more), &[(host, procs)]);
            }
        }
        let single = groups.iter().enumerate().flat_map(|(index, group)| {
            let one = JobGroup { count: 1, ..*group };
            std::iter::repeat_n((index, one), group.count as usize)
        });
        let (of, single): (Vec<usize>, Vec<JobGroup>) = single.unzip();
        let mut one_by_one: Vec<(usize, i64)> = played_on(machine.clone(), &single)
            .into_iter()
            .map(|(job, end)| (of[job], end))
            .collect();
        let mut together = played_on(machine, &groups);
        one_by_one.sort_unstable();
        together.sort_unstable();
        prop_assert_eq!(together, one_by_one);
    }
}

proptest! {
    #[test]
    fn hosts_that_stay_are_one_pool_to_jobs_without_needs(
        hosts in prop::collection::vec(1u32..5, 1..5),
        jobs in prop::collection::vec((1u32..6, 1i64..20, 0i64..20, 1u32..5), 0..30),
        windows in windows(),
    ) {
        let all: Vec<Host> = hosts.iter().map(|&procs| (procs, 0, None)).collect();
        let state = cluster(&all, 0, &windows);
        let groups: Vec<JobGroup> = jobs
            .iter()
            .map(|&(procs, run, more, count)| group(procs, count, run, more))
            .collect();
        let mut pool = Vec::new();
        let idle = hosts.iter().sum();
        timetable::play(Instant::ZERO, idle, state.maintenance(), &[], &groups, |start| {
            for wave in 0..start.waves {
                let end = start.end + start.run.times(wave);
                let end_s = end.as_micros() / 1_000_000;
                pool.extend((0..start.count).map(|_| (start.group, end_s)));
            }
            true
        });
        let mut by_host = played(&state, &groups);
        pool.sort_unstable();
        by_host.sort_unstable();
        prop_assert_eq!(by_host, pool);
    }

    #[test]
    fn no_host_gives_more_than_it_has(
        hosts in prop::collection::vec((1u32..5, 0u8..3, prop::option::of(1i64..80)), 1..5),
        licences in 0u8..3,
        jobs in prop::collection::vec((1u32..6, 1i64..20, 0i64..10, 1u32..4, any::<bool>(), 0u8..3, 0u8..2, prop::option::of(0u32..3)), 0..20),
    ) {
        let state = cluster(&hosts, licences, &[]);
        let groups: Vec<JobGroup> = jobs
            .iter()
            .map(|&(procs, run, more, count, one_host, gpus, licences, host)| JobGroup {
                one_host: one_host || gpus > 0 || host.is_some(),
                host: host.map(HostNameIndex),
                devices: ResourceCounts::NONE.with(GPU, gpus),
                licences: ResourceCounts::NONE.with(LICENCE, licences),
                ..group(procs, count, run, more)
            })
            .collect();
        let mut machine = HostMachine::new(View::new(&state, Instant::ZERO), &HostFuture::default());
        let full = machine.free.clone();
        let mut left: Vec<u32> = groups.iter().map(|group| group.count).collect();
        // Each start takes what was free, and what ends gives it back.
        while let Some(next) = {
            let now = machine.now;
            let mut reserved_end = Instant::ZERO;
            machine.dispatch(&groups, &mut left, |after, group, count, parts| {
                let procs: u32 = parts.iter().map(|part| part.procs).sum();
                assert_eq!(procs, groups[group].procs, "of each of {count}");
                assert!(!groups[group].one_host || parts.len() == 1);
                reserved_end = now + groups[group].reserved;
                for part in parts {
                    let room = &after.free.rooms[part.room];
                    assert!(reserved_end <= room.times.last_end(groups[group].hosts));
                    let host = groups[group].host;
                    assert!(host.is_none_or(|host| room.name == Some(host)));
                }
            });
            machine.runs.iter().map(|run| run.end).min()
        } {
            for (room, most) in machine.free.rooms.iter().zip(&full.rooms) {
                prop_assert!(room.idle <= most.idle && most.devices.covers(&room.devices));
            }
            machine.now = next;
            let (over, still): (Vec<_>, Vec<_>) =
                machine.runs.drain(..).partition(|run| run.end <= next);
            machine.runs = still;
            over.iter().for_each(|run| machine.free.give_back(run));
        }
        prop_assert_eq!(&machine.free, &full);
        // Every job that could run on hosts that stay has run.
        for (group, &left) in groups.iter().zip(&left) {
            let first = full.place(group, machine.now);
            prop_assert!(left == 0 || first.is_none(), "{group:?}");
        }
    }

    #[test]
    fn host_that_comes_is_one_that_is_occupied_until_then(
        hosts in hosts(),
        (nodes, opens, stays) in (1u32..5, 1i64..200, 1i64..400),
        groups in prop::collection::vec(any_group(), 0..8),
    ) {
        let state = cluster(&hosts, 2, &[]);
        let future = with_coming(nodes, opens, stays);
        let machine = HostMachine::new(View::new(&state, Instant::ZERO), &future);
        let mut with = state.clone();
        let range = with.add_nodes(nodes);
        let terms = HostTerms { closes: Some(at(opens + stays)), ..HostTerms::default() };
        with.set_host(Instant::ZERO, range, terms);
        let mut occupied =
            HostMachine::new(View::new(&with, Instant::ZERO), &HostFuture::default());
        let room = occupied.free.rooms.iter().position(|room| room.host == hosts.len());
        let room = room.expect("the host is there");
        occupied.launch_on(&group(nodes, 1, opens, 0), &[(room, nodes)]);
        prop_assert_eq!(played_on(machine, &groups), played_on(occupied, &groups));
    }
}
