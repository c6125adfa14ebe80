//! Tests of the wanted numbers of pilots.

use proptest::prelude::*;

use super::*;
use crate::hazard::PilotHazard;
use crate::supply::RunningPilot;

const NOW: Instant = Instant::from_secs(1_000_000);

/// Returns a site whose pilots have `cores` cores and run tasks for `usable_s` seconds.
fn site(cores: u32, usable_s: i64) -> SiteSupply {
    SiteSupply {
        shapes: vec![kind(cores, usable_s, None)],
        at_most: 100,
        queue_at_most: None,
        base: 0,
        running: Vec::new(),
        n_running: 0,
        n_leaving: 0,
        lead: Span::ZERO,
        pending: Vec::new(),
        joining: Span::ZERO,
        hazard: PilotHazard::default(),
        idle_part: 0.1,
        is_paused: false,
    }
}

fn kind(cores: u32, usable_s: i64, wait_s: Option<i64>) -> ShapeSupply {
    ShapeSupply {
        shape: PilotShape {
            cores,
            time: Span::from_secs(usable_s) + ENDING,
        },
        expected_wait: wait_s.map(Span::from_secs),
    }
}

/// Returns the site with another expected wait.
fn waits(mut site: SiteSupply, wait_s: i64) -> SiteSupply {
    site.shapes[0].expected_wait = Some(Span::from_secs(wait_s));
    site
}

fn with_running(mut site: SiteSupply, pilots: &[(i64, u32)]) -> SiteSupply {
    let cores = site.shapes[0].shape.cores;
    let pilot = |&(left_s, idle_cores)| RunningPilot {
        number: 0,
        cores,
        ends_at: NOW + Span::from_secs(left_s) + ENDING,
        idle_cores,
        idleness: None,
    };
    site.running = pilots.iter().map(pilot).collect();
    site.n_running = u32::try_from(pilots.len()).expect("few pilots");
    site
}

fn with_waiting(site: SiteSupply, starts_s: &[i64]) -> SiteSupply {
    let shape = site.shapes[0].shape;
    let pending = starts_s.iter().zip(1..);
    let pending = pending.map(|(&start, number)| PendingPilot {
        number,
        shape,
        starts_in: Span::from_secs(start),
    });
    SiteSupply {
        pending: pending.collect(),
        ..site
    }
}

fn tasks(count: u32, cores: u32, run_s: i64) -> TaskGroup {
    TaskGroup {
        cores,
        run_time: Span::from_secs(run_s),
        tasks: count,
        at_once: count,
        deadline: None,
        is_promised: true,
    }
}

fn due(group: TaskGroup, within_s: i64) -> TaskGroup {
    TaskGroup {
        deadline: Some(NOW + Span::from_secs(within_s)),
        ..group
    }
}

fn waiting(groups: &[TaskGroup]) -> PendingWork {
    PendingWork {
        waiting: groups.to_vec(),
        ..PendingWork::default()
    }
}

#[track_caller]
fn check(work: &PendingWork, sites: &[SiteSupply], expected: &[u32]) {
    let demands = pilot_demand(work, sites, NOW);
    let pending: Vec<u32> = demands.iter().filter_map(|demand| demand.pending).collect();
    assert_eq!(pending, expected, "{demands:?}");
}

fn reason(work: &PendingWork, site: SiteSupply) -> DemandReason {
    pilot_demand(work, &[site], NOW)[0].reason
}

#[test]
fn base_is_kept_without_work_and_within_the_limits() {
    let base = |base: u32| SiteSupply {
        base,
        ..site(1, 3600)
    };
    check(&waiting(&[]), &[base(3), base(0)], &[3, 0]);
    check(&waiting(&[]), &[with_running(base(3), &[(600, 1)])], &[2]);
    // Pilots for the work are not added to the base.
    check(&waiting(&[tasks(2, 1, 3600)]), &[base(3)], &[3]);
    check(&waiting(&[tasks(5, 1, 3600)]), &[base(3)], &[5]);
    let limited = SiteSupply {
        queue_at_most: Some(2),
        ..base(9)
    };
    check(&waiting(&[]), &[limited], &[2]);
    let paused = SiteSupply {
        is_paused: true,
        ..base(3)
    };
    assert_eq!(
        reason(&waiting(&[]), base(3)),
        DemandReason::Base { pilots: 3 }
    );
    assert_eq!(reason(&waiting(&[]), paused), DemandReason::Paused);
}

#[test]
fn work_is_divided_by_the_capacity_of_a_pilot() {
    check(&waiting(&[]), &[site(1, 3600)], &[0]);
    check(&waiting(&[tasks(1, 1, 60)]), &[site(1, 3600)], &[1]);
    check(&waiting(&[tasks(60, 1, 60)]), &[site(1, 3600)], &[1]);
    check(&waiting(&[tasks(61, 1, 60)]), &[site(1, 3600)], &[2]);
    check(&waiting(&[tasks(61, 1, 60)]), &[site(2, 3600)], &[1]);
    // The shortest task is worth a pilot, however long and wide that is.
    check(&waiting(&[tasks(1, 1, 0)]), &[site(64, 31_000_000)], &[1]);
    // Two tasks of full length use two cores, however large the pilot is.
    check(&waiting(&[tasks(2, 1, 3600)]), &[site(1, 3600)], &[2]);
    check(&waiting(&[tasks(2, 1, 3600)]), &[site(8, 3600)], &[1]);
}

#[test]
fn deadline_wants_more_pilots_than_work_without_one() {
    let work = tasks(10, 1, 60);
    check(&waiting(&[work]), &[site(1, 3600)], &[1]);
    check(&waiting(&[due(work, 120)]), &[site(1, 3600)], &[5]);
    check(&waiting(&[due(work, 60)]), &[site(1, 3600)], &[10]);
    // A deadline that cannot be met any more hurries nothing.
    check(&waiting(&[due(work, 59)]), &[site(1, 3600)], &[1]);
    check(&waiting(&[due(work, -59)]), &[site(1, 3600)], &[1]);
}

#[test]
fn pilots_that_run_and_have_room_count_first() {
    let work = waiting(&[tasks(10, 1, 60)]);
    check(&work, &[with_running(site(1, 3600), &[(600, 1)])], &[0]);
    check(&work, &[with_running(site(1, 3600), &[(599, 0)])], &[1]);
    // The pilot ends before any of the tasks would.
    check(&work, &[with_running(site(1, 3600), &[(59, 1)])], &[1]);
    let busy = PendingWork {
        running: vec![tasks(1, 1, 300)],
        ..work
    };
    check(&busy, &[with_running(site(1, 3600), &[(600, 0)])], &[1]);
    check(&busy, &[with_running(site(1, 3600), &[(900, 0)])], &[0]);
}

#[test]
fn idle_cores_elsewhere_are_used_first() {
    let work = PendingWork {
        idle_elsewhere: 3,
        ..waiting(&[tasks(4, 1, 3600)])
    };
    check(&work, &[site(1, 3600)], &[1]);
    let enough = PendingWork {
        idle_elsewhere: 4,
        ..work
    };
    check(&enough, &[site(1, 3600)], &[0]);
}

#[test]
fn no_more_cores_than_tasks_may_use_at_once() {
    let limited = TaskGroup {
        at_once: 3,
        ..tasks(1000, 1, 3600)
    };
    check(&waiting(&[limited]), &[site(1, 3600)], &[3]);
    check(
        &waiting(&[limited]),
        &[site(1, 3600), site(1, 3600)],
        &[3, 0],
    );
    let none = TaskGroup {
        at_once: 0,
        ..limited
    };
    check(&waiting(&[none]), &[site(1, 3600)], &[0]);
}

#[test]
fn work_goes_to_the_site_that_starts_soonest() {
    let slow = SiteSupply {
        at_most: 5,
        ..waits(site(1, 3600), 600)
    };
    let fast = SiteSupply {
        at_most: 3,
        ..waits(site(1, 3600), 5)
    };
    let work = waiting(&[tasks(4, 1, 3600)]);
    check(&work, &[slow.clone(), fast.clone()], &[1, 3]);
    check(&work, &[slow.clone(), site(1, 3600)], &[0, 4]);
    // Pilots that wait already stay where they are, if the work needs them.
    let queued = with_waiting(slow, &[0, 0, 0]);
    check(&work, &[queued.clone(), fast.clone()], &[3, 1]);
    let less = waiting(&[tasks(1, 1, 3600)]);
    let both = [queued, with_waiting(fast, &[0])];
    // The last place in a queue is kept while a task waits.
    check(&less, &both, &[1, 1]);
    check(&waiting(&[]), &both, &[0, 0]);
}

#[test]
fn pilots_take_work_from_their_expected_start_on() {
    let slow = |wait_s| waits(site(1, 3600), wait_s);
    // Ten minutes of work that are due in four minutes: pilots that start after two minutes have half of the time.
    let work = waiting(&[due(tasks(10, 1, 60), 240)]);
    check(&work, &[slow(0)], &[3]);
    check(&work, &[slow(120)], &[5]);
    // None is expected in time. Each site asks as if its pilots came at once.
    check(&work, &[slow(200)], &[3]);
    check(&work, &[slow(200), slow(300)], &[3, 3]);
    check(
        &work,
        &[with_waiting(slow(200), &[200, 200]), slow(120)],
        &[1, 5],
    );
    // One that waits already comes sooner than a new one.
    check(&work, &[with_waiting(slow(120), &[0])], &[4]);
}

#[test]
fn work_without_a_promise_is_due_in_half_its_time() {
    let unsure = |group: TaskGroup| TaskGroup {
        is_promised: false,
        ..group
    };
    let needs =
        |group: TaskGroup, count: u32| check(&waiting(&[group]), &[site(1, 3600)], &[count]);
    needs(due(tasks(10, 1, 60), 240), 3);
    needs(unsure(due(tasks(10, 1, 60), 240)), 5);
    // A task needs its run time, whatever half of the time is.
    needs(unsure(due(tasks(10, 1, 60), 61)), 10);
    needs(unsure(tasks(10, 1, 60)), 1);
}

#[test]
fn pilots_that_join_slowly_take_less_work_and_later() {
    let slow = |joining_s| SiteSupply {
        joining: Span::from_secs(joining_s),
        ..waits(site(1, 3600), 0)
    };
    check(&waiting(&[tasks(60, 1, 60)]), &[slow(0)], &[1]);
    check(&waiting(&[tasks(60, 1, 60)]), &[slow(60)], &[2]);
    let work = waiting(&[due(tasks(10, 1, 60), 240)]);
    check(&work, &[slow(120)], &[5]);
}

#[test]
fn new_pilot_does_not_overtake_one_that_waits() {
    // One task that is due soon: a queue that starts the second pilot first is not expected.
    let work = waiting(&[due(tasks(1, 1, 60), 100)]);
    check(&work, &[with_waiting(site(1, 3600), &[600])], &[1]);
}

#[test]
fn successor_of_a_pilot_of_the_base_waits_before_that_ends() {
    let base = |n_leaving| SiteSupply {
        base: 2,
        n_leaving,
        ..with_running(site(1, 3600), &[(60, 1), (3000, 1)])
    };
    check(&waiting(&[]), &[base(0)], &[0]);
    check(&waiting(&[]), &[base(1)], &[1]);
    check(
        &waiting(&[]),
        &[SiteSupply {
            at_most: 2,
            ..base(1)
        }],
        &[0],
    );
}

#[test]
fn last_pilot_has_a_successor_in_the_queue_while_tasks_wait() {
    let work = waiting(&[tasks(2, 1, 60)]);
    let pair = |ends: &[(i64, u32)]| SiteSupply {
        lead: Span::from_secs(300),
        ..with_running(site(1, 3600), ends)
    };
    let one = std::slice::from_ref;
    let demand = &pilot_demand(&work, one(&pair(&[(200, 1)])), NOW)[0];
    assert_eq!(
        (demand.pending, demand.reason, demand.new.len()),
        (Some(1), DemandReason::Successor, 1)
    );
    check(&work, &[pair(&[(400, 1)])], &[0]);
    check(&work, &[pair(&[(200, 1), (400, 1)])], &[0]);
    check(&waiting(&[]), &[pair(&[(200, 1)])], &[0]);
    check(&waiting(&[tasks(2, 2, 60)]), &[pair(&[(200, 1)])], &[0]);
    // The pilot has time for twice as much.
    check(&waiting(&[tasks(1, 1, 60)]), &[pair(&[(200, 1)])], &[0]);
    // One that waits already is the successor.
    check(&work, &[with_waiting(pair(&[(200, 1)]), &[90])], &[1]);
    let full = SiteSupply {
        at_most: 1,
        ..pair(&[(200, 1)])
    };
    check(&work, &[full.clone(), site(1, 3600)], &[0, 1]);
    check(&work, &[full], &[0]);
}

#[test]
fn last_place_in_the_queue_is_kept_while_a_task_waits() {
    let work = waiting(&[tasks(1, 1, 60)]);
    let idle = with_waiting(with_running(site(1, 3600), &[(600, 1)]), &[5, 50]);
    let demand = &pilot_demand(&work, std::slice::from_ref(&idle), NOW)[0];
    assert_eq!(
        (demand.pending, demand.reason),
        (Some(1), DemandReason::Spare)
    );
    assert_eq!(
        demand.unneeded,
        [2],
        "the first one to start keeps its place"
    );
    // No pilot of the site could run the task.
    check(
        &waiting(&[tasks(1, 2, 60)]),
        std::slice::from_ref(&idle),
        &[0],
    );
    check(&waiting(&[]), &[idle], &[0]);
}

fn several(shapes: &[ShapeSupply]) -> SiteSupply {
    SiteSupply {
        shapes: shapes.to_vec(),
        ..site(1, 60)
    }
}

/// Returns the cores and minutes of the pilots that are to be submitted.
fn new_pilots(work: &PendingWork, site: SiteSupply) -> Vec<(u32, f64)> {
    let new = pilot_demand(work, &[site], NOW).remove(0).new;
    let size = |pilot: &NewPilot| (pilot.shape.cores, pilot.shape.time.as_secs_f64() / 60.0);
    new.iter().map(size).collect()
}

#[test]
fn time_of_a_pilot_is_that_of_the_work_that_waits() {
    let new = |groups: &[TaskGroup]| new_pilots(&waiting(groups), site(1, 3590));
    // A minute of work, as much again, the longest task and the end.
    assert_eq!(new(&[tasks(1, 1, 60)]), [(1, 4.0)]);
    assert_eq!(new(&[tasks(10, 1, 60)]), [(1, 22.0)]);
    assert_eq!(new(&[tasks(50, 1, 60)]), [(1, 60.0)]);
    // Other pilots are expected to take all but one task, and it counts whole all the same.
    let others = PendingWork {
        idle_elsewhere: 9,
        ..waiting(&[tasks(10, 1, 60)])
    };
    assert_eq!(new_pilots(&others, site(1, 3590)), [(1, 22.0)]);
    // The base is not there for some work alone.
    let base = SiteSupply {
        base: 1,
        ..site(1, 3590)
    };
    assert_eq!(new_pilots(&waiting(&[]), base), [(1, 60.0)]);
}

#[test]
fn shape_that_does_the_work_soonest_is_chosen() {
    let short = |wait_s| kind(1, 590, Some(wait_s));
    let wide = |wait_s| kind(8, 3590, Some(wait_s));
    let narrow = waiting(&[tasks(4, 1, 60)]);
    let chosen = |work: &PendingWork, shapes: &[ShapeSupply]| {
        let new = new_pilots(work, several(shapes));
        new.iter().map(|pilot| pilot.0).collect::<Vec<u32>>()
    };
    // One that starts as soon and takes fewer core-seconds is better.
    assert_eq!(
        chosen(&waiting(&[tasks(1, 1, 60)]), &[wide(10), short(10)]),
        [1]
    );
    assert_eq!(chosen(&narrow, &[short(1000), wide(10)]), [8]);
    assert_eq!(chosen(&narrow, &[short(10), wide(1000)]), [1]);
    // Each task needs a pilot that holds it.
    let both = waiting(&[tasks(2, 1, 60), tasks(1, 8, 60), tasks(1, 1, 1200)]);
    assert_eq!(chosen(&both, &[short(10), wide(1000)]), [1, 8]);
    // Work that is due soon goes to the shape that comes in time.
    let urgent = waiting(&[due(tasks(4, 1, 60), 300)]);
    assert_eq!(chosen(&urgent, &[short(1000), wide(100)]), [8]);
}

#[test]
fn choice_names_its_shape_and_its_reason() {
    let site = several(&[kind(1, 590, Some(400)), kind(8, 3590, Some(20))]);
    let demand = pilot_demand(&waiting(&[tasks(4, 1, 60)]), &[site], NOW).remove(0);
    let choice = demand.choice.expect("a choice of two").to_string();
    insta::assert_snapshot!(
        choice,
        @"1 pilot of 8 cores for 3 min, the best of 2 shapes for the work: expected to start in 20 s, and to have done it in 80 s"
    );
}

#[test]
fn pilots_that_hold_no_task_that_waits_give_way_to_those_that_do() {
    let site = several(&[kind(1, 590, None), kind(8, 3590, None)]);
    let site = with_waiting(site, &[5, 6]);
    let demand = pilot_demand(&waiting(&[tasks(1, 8, 60)]), &[site], NOW).remove(0);
    let cores: Vec<u32> = demand.new.iter().map(|pilot| pilot.shape.cores).collect();
    assert_eq!((demand.pending, cores), (Some(1), vec![8]));
    assert_eq!(demand.unneeded, [1, 2]);
}

#[test]
fn pilots_that_are_ended_early_count_for_less() {
    let work = waiting(&[tasks(60, 1, 60)]);
    let often = PilotHazard {
        preemptions: 20,
        exposed: Span::from_secs(36_000),
    };
    check(&work, &[site(1, 3600)], &[1]);
    let hazardous = SiteSupply {
        hazard: often,
        ..site(1, 3600)
    };
    check(&work, &[hazardous], &[3]);
}

#[test]
fn paused_site_is_left_alone() {
    let paused = SiteSupply {
        is_paused: true,
        ..with_waiting(site(1, 3600), &[0, 0])
    };
    let demands = pilot_demand(&waiting(&[tasks(2, 1, 60)]), &[paused, site(1, 3600)], NOW);
    assert_eq!((demands[0].pending, demands[1].pending), (None, Some(1)));
}

#[test]
fn reasons_name_their_cause() {
    let kind = site(2, 600);
    let words = |groups: &[TaskGroup]| reason(&waiting(groups), kind.clone()).to_string();
    insta::assert_snapshot!(
        [
            words(&[]),
            words(&[tasks(1, 1, 700), tasks(1, 1, 601)]),
            words(&[tasks(1, 4, 60), tasks(1, 1, 601)]),
            words(&[tasks(1, 1, 60)]),
            words(&[tasks(900, 1, 60)]),
            reason(
                &waiting(&[tasks(1, 1, 60)]),
                with_running(kind.clone(), &[(600, 2)])
            )
            .to_string(),
            reason(
                &waiting(&[tasks(40, 1, 60)]),
                SiteSupply {
                    at_most: 1,
                    n_running: 1,
                    ..kind.clone()
                }
            )
            .to_string(),
            words(&[tasks(4000, 1, 60)]),
        ]
        .join("\n")
    );
}

fn group() -> impl Strategy<Value = TaskGroup> {
    let numbers = (1..9_u32, 0..5000_i64, 0..40_u32, 0..50_u32);
    let deadline = prop::option::of(-100..6000_i64);
    (numbers, deadline).prop_map(|((cores, run_s, count, at_once), within)| TaskGroup {
        at_once,
        deadline: within.map(|within| NOW + Span::from_secs(within)),
        ..tasks(count, cores, run_s)
    })
}

fn supply() -> impl Strategy<Value = SiteSupply> {
    let pilots = prop::collection::vec((-50..4000_i64, 0..5_u32), 0..4);
    let waits = prop::collection::vec(0..1000_i64, 0..9);
    let limits = (0..30_u32, prop::option::of(0..9_u32), waits);
    let wait = prop::option::of(0..1000_i64);
    ((1..5_u32, 50..4000_i64), pilots, limits, wait).prop_map(
        |((cores, usable_s), pilots, (at_most, queue_at_most, mut starts_s), wait)| {
            starts_s.sort_unstable();
            let mut site = site(cores, usable_s);
            site.shapes[0].expected_wait = wait.map(Span::from_secs);
            SiteSupply {
                at_most,
                queue_at_most,
                ..with_waiting(with_running(site, &pilots), &starts_s)
            }
        },
    )
}

fn work() -> impl Strategy<Value = PendingWork> {
    let groups = || prop::collection::vec(group(), 0..6);
    (groups(), groups(), 0..9_u32).prop_map(|(waiting, running, idle_elsewhere)| PendingWork {
        waiting,
        later: Vec::new(),
        running,
        idle_elsewhere,
    })
}

fn pending(work: &PendingWork, sites: &[SiteSupply]) -> Vec<u32> {
    let demands = pilot_demand(work, sites, NOW).into_iter();
    demands
        .map(|demand| demand.pending.expect("no site is paused"))
        .collect()
}

proptest! {
    #[test]
    fn limits_of_sites_are_kept(
        work in work(),
        mut sites in prop::collection::vec(supply(), 1..4),
        bases in [0..40_u32, 0..40, 0..40],
    ) {
        for (site, base) in sites.iter_mut().zip(bases) {
            site.base = base;
        }
        for (site, wanted) in sites.iter().zip(pending(&work, &sites)) {
            prop_assert!(wanted == 0 || wanted + site.n_running <= site.at_most);
            prop_assert!(site.queue_at_most.is_none_or(|most| wanted <= most));
        }
    }

    #[test]
    fn demand_without_work_is_zero(
        running in prop::collection::vec(group(), 0..4),
        sites in prop::collection::vec(supply(), 1..4),
    ) {
        let work = PendingWork { running, ..PendingWork::default() };
        prop_assert!(pending(&work, &sites).iter().all(|wanted| *wanted == 0));
    }

    #[test]
    fn more_work_never_wants_fewer_pilots(
        work in work(),
        more in group(),
        sites in prop::collection::vec(supply(), 1..4),
    ) {
        let before = pending(&work, &sites);
        let mut larger = work;
        larger.waiting.push(more);
        let after = pending(&larger, &sites);
        for (before, after) in before.iter().zip(&after) {
            prop_assert!(before <= after, "{before} to {after}");
        }
    }

    #[test]
    fn pilots_hold_a_task_and_are_used(work in work(), site in supply()) {
        let wanted = f64::from(pending(&work, std::slice::from_ref(&site))[0]);
        let startable = work.waiting.iter().filter(|group| group.is_startable());
        let fitting = startable.filter(|group| {
            group.fits(site.most_cores(), site.usable())
        });
        let fitting: Vec<&TaskGroup> = fitting.collect();
        prop_assert!(wanted == 0.0 || !fitting.is_empty());
        let width: f64 = fitting.iter().map(|group| group.width()).sum();
        prop_assert!((wanted - 1.0) * f64::from(site.most_cores()) <= width);
        if fitting.iter().all(|group| group.deadline.is_none()) {
            let room = f64::from(site.most_cores()) * site.usable().as_secs_f64();
            let work: f64 = fitting.iter().map(|group| group.work()).sum();
            prop_assert!((wanted - 1.0) * room <= work);
        }
    }
}
