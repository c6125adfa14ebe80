//! Pilots that follow the work: what is submitted, what is left alone, and when a site is paused.

use tollgate_model::Span;
use tollgate_provisioning::{DemandReason, NewPilot, PilotShape, SiteDemand};
use tollgate_sites::{
    PilotToken, PilotWorker, ScaleOutcome, ServiceAddress, SiteControl, SiteSettings, TokenIssuer,
};

use crate::fake::{FakeEngine, FakeTokens, service};

/// The seat of a worker that the service does not know.
fn nowhere(_: &str) -> Option<PilotWorker> {
    None
}

fn demand(pending: u32) -> SiteDemand {
    SiteDemand {
        unneeded: Vec::new(),
        new: Vec::new(),
        released: Vec::new(),
        choice: None,
        pending: Some(pending),
        reason: match pending {
            0 => DemandReason::NoWork,
            tasks => DemandReason::Work {
                tasks,
                core_seconds: 60,
                missing: 0,
            },
        },
    }
}

/// Looks at the site and lets `pending` pilots wait, as one round does.
fn follow(site: &mut SiteControl, pending: u32) -> ScaleOutcome {
    site.look(&nowhere).expect("the engine answers");
    let mut tokens = FakeTokens::default();
    let outcome = site.follow(&demand(pending), &service(), &mut tokens);
    outcome.expect("writable files")
}

fn last_line(site: &SiteControl) -> String {
    site.log_tail(1).remove(0).text
}

#[test]
fn pilots_that_wait_follow_and_those_that_run_stay() {
    let engine = FakeEngine::new();
    engine.faults(&["starts"]);
    let mut site = engine.site();
    assert_eq!(follow(&mut site, 3).submitted, [1, 2, 3]);
    // Pilot 1 runs. The others keep their places for a while: the work may come back.
    for pending in [1, 0, 1] {
        assert!(follow(&mut site, pending).cancelled.is_empty());
    }
    engine.pass_minutes(1);
    assert!(follow(&mut site, 2).cancelled.is_empty());
    engine.pass_minutes(2);
    let plan = follow(&mut site, 1);
    assert!(plan.cancelled.is_empty(), "not too many: {plan:?}");
    // The longest time for which places are kept.
    engine.pass_minutes(61);
    assert_eq!(follow(&mut site, 1).cancelled, [3]);
    assert!(follow(&mut site, 1).cancelled.is_empty());
    assert!(follow(&mut site, 0).cancelled.is_empty());
    engine.pass_minutes(61);
    assert_eq!(follow(&mut site, 0).cancelled, [2]);
    assert_eq!((site.counts().pending, site.counts().running), (0, 1));
    assert_eq!(site.state().target, 1);
}

#[test]
fn log_has_a_decision_once() {
    let engine = FakeEngine::new();
    let mut site = engine.site();
    for _ in 0..3 {
        follow(&mut site, 0);
    }
    let log: Vec<String> = site.log_tail(9).into_iter().map(|line| line.text).collect();
    assert_eq!(log, ["no more pilots wanted: no task waits"]);
    follow(&mut site, 1);
    let log: Vec<String> = site.log_tail(9).into_iter().map(|line| line.text).collect();
    assert_eq!(
        log[1..],
        [
            "1 pilot wanted in the queue: 1 task waits, 60 core-seconds of work",
            "submitted pilot 1 as job 1"
        ]
    );
}

#[test]
fn engine_that_does_not_answer_pauses_the_site_for_longer_each_time() {
    let engine = FakeEngine::new();
    let mut site = engine.site();
    engine.set_down(true);
    for (minutes, so_far) in [(1, 1), (2, 3), (4, 7)] {
        site.look(&nowhere).expect_err("it is down");
        let line = last_line(&site);
        assert!(
            line.starts_with(&format!("paused for {minutes} min: ")),
            "{so_far}: {line}"
        );
        assert!(site.is_paused() && site.supply(&nowhere).is_paused);
        engine.pass_minutes(minutes);
        assert!(!site.is_paused());
    }
    engine.set_down(false);
    assert_eq!(follow(&mut site, 1).submitted, [1]);
    engine.set_down(true);
    site.look(&nowhere).expect_err("it is down");
    assert!(last_line(&site).starts_with("paused for 1 min: "));
}

#[test]
fn refusal_pauses_the_site_also_for_the_next_command() {
    let engine = FakeEngine::new();
    engine.faults(&["invalid"]);
    let outcome = follow(&mut engine.site(), 2);
    assert!(outcome.stopped.is_some(), "{outcome:?}");
    let site = engine.site();
    assert!(site.is_paused());
    let line = last_line(&site);
    assert!(line.contains("Invalid partition name"), "{line}");
}

#[test]
fn service_that_gives_no_token_pauses_no_site() {
    struct NoService;
    impl TokenIssuer for NoService {
        fn issue(&mut self) -> Result<PilotToken, String> {
            Err("no service answers".to_owned())
        }

        fn revoke(&mut self, _: &str) -> Result<(), String> {
            Err("no service answers".to_owned())
        }
    }
    let engine = FakeEngine::new();
    let mut site = engine.site();
    let with_tokens = ServiceAddress {
        needs_token: true,
        ..service()
    };
    site.look(&nowhere).expect("the engine answers");
    let outcome = site.follow(&demand(2), &with_tokens, &mut NoService);
    assert!(outcome.expect("writable files").stopped.is_some());
    assert!(!site.is_paused());
    assert_eq!(last_line(&site), "no token for a pilot: no service answers");
    assert_eq!(follow(&mut site, 2).submitted, [1, 2]);
}

#[test]
fn three_pilots_that_end_at_once_pause_the_site_until_one_joins() {
    let engine = FakeEngine::new();
    let mut site = engine.site();
    let fail = |site: &mut SiteControl| {
        let numbers = follow(site, 1).submitted;
        for number in numbers {
            engine.set_state(&format!("tg.fake.0a1b.{number}"), "COMPLETED");
        }
    };
    for _ in 0..3 {
        assert!(!site.is_paused());
        fail(&mut site);
    }
    site.look(&nowhere).expect("the engine answers");
    assert_eq!(
        last_line(&site),
        "paused for 1 min: the last 3 pilots ended and never joined the service: `site check` says whether the nodes reach it"
    );
    engine.pass_minutes(1);
    // One pilot at a time shows whether the site works again.
    assert_eq!(site.supply(&nowhere).queue_at_most, Some(1));
    assert_eq!(follow(&mut site, 1).submitted, [4]);
    let worker_of = |name: &str| {
        (name == "fake.4").then_some(PilotWorker {
            takes_tasks: true,
            idle_cores: 1,
            busy_cores: 0,
        })
    };
    site.look(&worker_of).expect("the engine answers");
    assert_eq!(site.supply(&worker_of).queue_at_most, None);
}

#[test]
fn pilot_that_does_not_join_has_no_room_after_a_while() {
    let engine = FakeEngine::new();
    engine.faults(&["starts"]);
    let mut site = engine.site();
    follow(&mut site, 1);
    site.look(&nowhere).expect("the engine answers");
    assert_eq!(site.supply(&nowhere).running.len(), 1);
    // The stand-in's jobs start at an instant of their own.
    engine.pass_minutes(8 * 24 * 60);
    let supply = site.supply(&nowhere);
    assert_eq!((supply.n_running, supply.running.len()), (1, 0));
    let worker_of = |takes_tasks| {
        move |_: &str| {
            Some(PilotWorker {
                takes_tasks,
                idle_cores: 1,
                busy_cores: 0,
            })
        }
    };
    assert_eq!(site.supply(&worker_of(true)).running.len(), 1);
    assert_eq!(site.supply(&worker_of(false)).running.len(), 0);
    assert!(
        supply
            .expected_wait()
            .is_some_and(|wait| wait >= Span::ZERO)
    );
}

#[test]
fn resumed_site_takes_pilots_at_once_and_forgets_its_failures() {
    let engine = FakeEngine::new();
    let mut site = engine.site();
    site.resume().expect("writable files");
    assert_eq!(site.state().keep, None, "nothing was decided");
    engine.set_down(true);
    site.look(&nowhere).expect_err("it is down");
    assert!(site.is_paused());
    site.resume().expect("writable files");
    assert!(!site.is_paused());
    engine.set_down(false);
    assert_eq!(follow(&mut site, 1).submitted, [1]);
}

#[test]
fn engine_that_takes_no_more_pilots_gets_no_more_and_the_site_goes_on() {
    let engine = FakeEngine::new();
    let mut site = engine.site();
    engine.faults(&["", "", "full"]);
    let outcome = follow(&mut site, 5);
    assert_eq!(outcome.submitted, [1, 2]);
    assert!(!site.is_paused(), "{}", last_line(&site));
    // The engine takes two for now.
    let outcome = follow(&mut site, 5);
    assert!(outcome.submitted.is_empty() && outcome.stopped.is_none());
    let text = &site.state().keep.as_ref().expect("a decision").text;
    assert!(text.contains("the engine took no more than 2"), "{text}");
    // One of them ends, so that another one is possible.
    engine.set_state("tg.fake.0a1b.1", "COMPLETED");
    engine.pass_minutes(2);
    assert_eq!(follow(&mut site, 5).submitted, [4]);
    // After an hour one more is tried.
    engine.pass_minutes(60);
    assert_eq!(follow(&mut site, 3).submitted, [5]);
}

#[test]
fn submissions_of_an_hour_are_limited() {
    let engine = FakeEngine::new();
    let mut site = engine.site_with(|site| site.submit_at_most = 4);
    for _ in 0..4 {
        for number in follow(&mut site, 2).submitted {
            engine.set_state(&format!("tg.fake.0a1b.{number}"), "PREEMPTED");
        }
        site.resume().expect("writable files");
        engine.pass_minutes(5);
    }
    assert_eq!(site.state().next_number, 5, "four were submitted");
    engine.pass_minutes(60);
    assert_eq!(follow(&mut site, 2).submitted, [5, 6]);
}

#[test]
fn pilot_missing_from_the_queue_is_over_only_by_the_records() {
    let engine = FakeEngine::new();
    let mut site = engine.site();
    engine.faults(&["starts", "starts"]);
    follow(&mut site, 2);
    let record = |state: &str, number: u32| {
        format!(
            "{number}|{state}|2026-11-23T11:00:00|2026-11-23T12:00:00|Unknown|None|tg.fake.0a1b.{number}\n"
        )
    };
    engine.hide(1);
    engine.set_records(&record("RUNNING", 1));
    engine.pass_minutes(5);
    site.refresh().expect("the engine answers");
    assert_eq!(site.counts().running, 2, "{}", last_line(&site));
    assert!(follow(&mut site, 0).submitted.is_empty());
    engine.set_records(&record("PREEMPTED", 1));
    site.refresh().expect("the engine answers");
    assert_eq!(site.counts().running, 1);
    assert_eq!(last_line(&site), "pilot 1 ended: PREEMPTED");
    // The record of the other one is late, and never comes.
    engine.hide(2);
    site.refresh().expect("the engine answers");
    assert_eq!(site.counts().running, 1);
    engine.pass_minutes(3);
    site.refresh().expect("the engine answers");
    assert_eq!(site.counts().running, 0);
}

#[test]
fn queue_of_a_site_is_seldom_looked_at_when_nothing_happens() {
    let engine = FakeEngine::new();
    let mut site = engine.site();
    follow(&mut site, 1);
    engine.pass_minutes(60);
    site.look(&nowhere).expect("the engine answers");
    let last = site.state().looks.last;
    engine.set_down(true);
    site.look(&nowhere).expect("the engine is not asked");
    assert_eq!(site.state().looks.last, last);
    engine.pass_minutes(1);
    site.look(&nowhere).expect_err("the engine is asked");
}

#[test]
fn pilots_stay_within_the_core_hours_of_their_site() {
    let engine = FakeEngine::new();
    // Of an hour and two cores each.
    let mut site = engine.site_with(|site| {
        site.cores = 2;
        site.core_hours = Some(5);
    });
    assert_eq!(follow(&mut site, 4).submitted, [1, 2]);
    assert!(follow(&mut site, 4).submitted.is_empty());
    // A pilot that never ran has used nothing.
    engine.set_state("tg.fake.0a1b.1", "COMPLETED");
    engine.pass_minutes(2);
    assert_eq!(follow(&mut site, 4).submitted, [3]);
    let text = &site.state().keep.as_ref().expect("a decision").text;
    assert!(text.contains("`--core-hours` 5"), "{text}");
}

#[test]
fn held_number_queries_the_engine_only_for_a_due_look_or_a_change() {
    let engine = FakeEngine::new();
    let mut site = engine.site();
    let hold = |site: &mut SiteControl, target| {
        let mut tokens = FakeTokens::default();
        let held = site.hold(target, Some(&nowhere), &service(), &mut tokens);
        held.map(|outcome| outcome.submitted.len())
    };
    assert_eq!(hold(&mut site, 2).expect("it answers"), 2);
    engine.pass_minutes(1);
    assert_eq!(hold(&mut site, 2).expect("it answers"), 0);
    engine.set_down(true);
    assert_eq!(hold(&mut site, 2).expect("it is not asked"), 0);
    hold(&mut site, 3).expect_err("it is asked before a submission");
    assert_eq!(hold(&mut site, 2).expect("it is not asked"), 0);
    engine.pass_minutes(1);
    hold(&mut site, 2).expect_err("a look is due");
}

/// Returns the shapes `1x10m` and `whole`, of nodes of 16 cores.
fn two_shapes(site: &mut SiteSettings) {
    site.shapes = ["1x10m", "whole"]
        .map(|shape| shape.parse().expect("a shape"))
        .into();
    site.node_cores = Some(16);
    site.node_memory_mib = Some(64_000);
}

/// Returns the demand for pilots of these places among the shapes.
fn demand_of(kinds: &[(usize, u32, i64)]) -> SiteDemand {
    let new = kinds.iter().map(|&(kind, cores, minutes)| NewPilot {
        kind,
        shape: PilotShape {
            cores,
            time: Span::from_secs(minutes * 60),
        },
    });
    SiteDemand {
        new: new.collect(),
        ..demand(u32::try_from(kinds.len()).expect("few pilots"))
    }
}

#[test]
fn pilots_have_the_shapes_and_times_that_the_demand_names() {
    let engine = FakeEngine::new();
    let mut site = engine.site_with(two_shapes);
    site.look(&nowhere).expect("the engine answers");
    let demand = demand_of(&[(0, 1, 4), (1, 16, 60)]);
    let outcome = site.follow(&demand, &service(), &mut FakeTokens::default());
    assert_eq!(outcome.expect("writable files").submitted, [1, 2]);
    let script = |number: u32| engine.script(&format!("tg.fake.0a1b.{number}"));
    assert!(script(1).contains(" --nodes 1 "), "{}", script(1));
    assert!(!script(1).contains("--memory"), "{}", script(1));
    assert!(
        script(2).contains(" --nodes 16 --memory 64000M "),
        "{}",
        script(2)
    );
    let words = engine.words("tg.fake.0a1b.1");
    assert!(
        words.contains("--time=4 ") && !words.contains("--exclusive"),
        "{words}"
    );
    assert!(!words.contains("--mem"), "{words}");
    let words = engine.words("tg.fake.0a1b.2");
    for word in ["--cpus-per-task=16", "--time=60", "--mem=0", "--exclusive"] {
        assert!(words.contains(word), "{word}: {words}");
    }
    // The record knows them after a restart.
    drop(site);
    let site = engine.site_with(two_shapes);
    let supply = site.supply(&nowhere);
    let shapes: Vec<(u32, f64)> = (supply.pending.iter())
        .map(|pilot| (pilot.shape.cores, pilot.shape.time.as_secs_f64()))
        .collect();
    assert_eq!(shapes, [(1, 240.0), (16, 3600.0)]);
}

#[test]
fn waits_are_learned_by_shape_with_those_of_the_site_behind_them() {
    let engine = FakeEngine::new();
    let mut site = engine.site_with(two_shapes);
    engine.faults(&["starts"]);
    site.look(&nowhere).expect("the engine answers");
    let demand = demand_of(&[(1, 16, 60)]);
    (site.follow(&demand, &service(), &mut FakeTokens::default())).expect("writable files");
    site.refresh().expect("the engine answers");
    let wait = |at: usize, site: &SiteControl| site.supply(&nowhere).shapes[at].expected_wait;
    // Of the small shape nothing else is known than what the other one waited.
    assert!(wait(0, &site).is_some());
    assert_eq!(wait(0, &site), wait(1, &site));
    let demand = demand_of(&[(0, 1, 10); 10]);
    (site.follow(&demand, &service(), &mut FakeTokens::default())).expect("writable files");
    engine.pass_minutes(20);
    // They still wait, for less time than the other one did.
    assert!(
        wait(0, &site) < wait(1, &site),
        "{:?}",
        site.supply(&nowhere).shapes
    );
}

#[test]
fn pilots_that_are_not_needed_give_their_places_to_those_that_are() {
    let engine = FakeEngine::new();
    let small = |site: &mut SiteSettings| {
        two_shapes(site);
        site.at_most = 2;
    };
    let mut site = engine.site_with(small);
    let mut tokens = FakeTokens::default();
    let mut follow = |site: &mut SiteControl, demand: &SiteDemand| {
        site.look(&nowhere).expect("the engine answers");
        let outcome = site
            .follow(demand, &service(), &mut tokens)
            .expect("writable files");
        (outcome.submitted, outcome.cancelled)
    };
    let narrow = demand_of(&[(0, 1, 10), (0, 1, 10)]);
    assert_eq!(follow(&mut site, &narrow), (vec![1, 2], vec![]));
    let wide = SiteDemand {
        unneeded: vec![1, 2],
        ..demand_of(&[(1, 16, 60)])
    };
    assert_eq!(follow(&mut site, &wide), (vec![], vec![2, 1]));
    let wide = SiteDemand {
        unneeded: vec![],
        ..wide
    };
    assert_eq!(follow(&mut site, &wide), (vec![3], vec![]));
}

#[test]
fn idle_pilot_is_released_once_in_a_while() {
    let engine = FakeEngine::new();
    engine.faults(&["starts"]);
    let mut site = engine.site();
    follow(&mut site, 1);
    let worker_of = |_: &str| {
        Some(PilotWorker {
            takes_tasks: true,
            idle_cores: 1,
            busy_cores: 0,
        })
    };
    site.look(&worker_of).expect("the engine answers");
    let idleness = |site: &SiteControl| site.supply(&worker_of).running[0].idleness;
    assert!(idleness(&site).is_some());
    assert_eq!(site.release(&[1]).expect("writable files"), ["fake.1"]);
    let line = last_line(&site);
    assert!(
        line.starts_with("released pilot 1: it has run nothing for 0 s"),
        "{line}"
    );
    assert!(site.release(&[1]).expect("writable files").is_empty());
    engine.pass_minutes(2);
    assert_eq!(site.release(&[1]).expect("writable files"), ["fake.1"]);
    let busy = |_: &str| {
        Some(PilotWorker {
            takes_tasks: true,
            idle_cores: 0,
            busy_cores: 1,
        })
    };
    site.look(&busy).expect("the engine answers");
    assert_eq!(idleness(&site), None);
}

#[test]
fn preemptions_are_learned_and_ends_of_other_kinds_are_not() {
    let engine = FakeEngine::new();
    let mut site = engine.site();
    for end in ["PREEMPTED", "COMPLETED", "NODE_FAIL", "TIMEOUT"] {
        engine.faults(&["starts"]);
        for number in follow(&mut site, 1).submitted {
            site.refresh().expect("the engine answers");
            engine.set_state(&format!("tg.fake.0a1b.{number}"), end);
        }
        site.refresh().expect("the engine answers");
        site.resume().expect("writable files");
    }
    let hazard = site.supply(&nowhere).hazard;
    assert_eq!(hazard.preemptions, 2, "{:?}", site.state().pilots);
    assert!(hazard.exposed >= Span::ZERO && hazard.cautious_per_hour() > 0.5);
    // A pilot that is back in the queue was ended, too.
    engine.faults(&["starts"]);
    follow(&mut site, 1);
    site.refresh().expect("the engine answers");
    engine.set_state("tg.fake.0a1b.5", "PENDING");
    site.refresh().expect("the engine answers");
    assert_eq!(site.supply(&nowhere).hazard.preemptions, 3);
}
