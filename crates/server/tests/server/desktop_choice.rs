//! The choice among several idle desktops for a task: by the log-ins that were seen there, and what they draw.

use std::collections::BTreeMap;

use tollgate_gate::WorkerId;
use tollgate_model::{EvictionCause, Instant, Market, NodeId, Power, Span, Watts};
use tollgate_service::{
    AdmissionRules, Core, DesktopChoice, EngineAction, HostOffer, ServiceCommand, Submission,
};

use crate::common::{rules, submission};

/// A service with the computers busy-1, quiet-1 and busy-2 of one core, and one without users.
fn lab(policy: &str, choice: Option<DesktopChoice>) -> Core {
    let mut core = Core::new(AdmissionRules {
        choose: choice,
        ..rules(policy, Market::None)
    });
    let up = |worker: u32, name: &str| ServiceCommand::WorkerUp {
        worker: WorkerId(worker),
        incarnation: 1,
        nodes: 1,
        memory: None,
        offer: HostOffer {
            name: name.to_owned(),
            is_desktop: !name.starts_with("node"),
            ..HostOffer::default()
        },
    };
    let names = ["busy-1", "quiet-1", "busy-2", "node-1"];
    let commands: Vec<_> = (0..).zip(names).map(|(n, name)| up(n, name)).collect();
    core.step(at(0), &commands);
    core
}

const fn at(minutes: i64) -> Instant {
    Instant::from_secs(60 * minutes)
}

fn in_use(core: &mut Core, minute: i64, worker: u32, cause: Option<EvictionCause>) {
    let command = ServiceCommand::WorkerInUse {
        worker: WorkerId(worker),
        incarnation: 1,
        cause,
    };
    core.step(at(minute), &[command]);
}

/// People come to both busy computers each hour for a week and a day, and once to the quiet one.
fn a_week(core: &mut Core) {
    let user = Some(EvictionCause::User);
    for hour in 0..HOURS {
        for worker in [0, 2] {
            in_use(core, 60 * hour + 10, worker, user);
            in_use(core, 60 * hour + 40, worker, None);
        }
    }
    in_use(core, 60 * HOURS + 1, 1, user);
    in_use(core, 60 * HOURS + 2, 1, None);
}

/// Returns the nodes of tasks that are submitted now, one after the other.
fn places(core: &mut Core, deadlines: &[Option<i64>]) -> Vec<u32> {
    let submit = |due: &Option<i64>| {
        let job = Submission {
            budget: None,
            deadline: due.map(Span::from_secs),
            ..submission("work", 20)
        };
        let step = core.step(at(60 * HOURS + 5), &[ServiceCommand::Submit(Box::new(job))]);
        let started = step.actions.iter().find_map(|action| match action {
            EngineAction::Start { nodes, .. } => nodes.first().copied(),
            EngineAction::Kill { .. }
            | EngineAction::SetShare { .. }
            | EngineAction::Continued { .. }
            | EngineAction::Withdraw { .. } => None,
        });
        started.unwrap_or(NodeId(u32::MAX)).0
    };
    deadlines.iter().map(submit).collect()
}

fn choice(name: &str) -> Option<DesktopChoice> {
    Some(DesktopChoice {
        policy: name.parse().unwrap(),
        power: BTreeMap::new(),
    })
}

const HOURS: i64 = 8 * 24;

const BEST_EFFORT: [Option<i64>; 4] = [None; 4];

#[test]
fn tasks_take_the_computers_where_fewest_people_come() {
    for policy in ["easy", "plan"] {
        let mut core = lab(policy, choice("soonest-end-online"));
        a_week(&mut core);
        // Of the two busy ones the one that was left last comes first: it is awake.
        assert_eq!(places(&mut core, &BEST_EFFORT), [1, 2, 0, 3], "{policy}");
        let seen: Vec<(&str, u64)> = core.desktop_logins().seen().collect();
        assert_eq!(seen, [("busy", 384), ("quiet", 1)]);
    }
}

#[test]
fn without_a_choice_tasks_take_the_first_computer() {
    for policy in ["easy", "plan"] {
        let mut core = lab(policy, None);
        a_week(&mut core);
        assert_eq!(places(&mut core, &BEST_EFFORT), [0, 1, 2, 3], "{policy}");
    }
}

#[test]
fn jobs_with_deadlines_take_desktops_last() {
    let mut core = lab("edf", choice("soonest-end-online"));
    a_week(&mut core);
    assert_eq!(places(&mut core, &[Some(100), Some(100), None]), [3, 1, 2]);
}

#[test]
fn power_of_a_group_is_heeded() {
    let mut choice = choice("least-energy-online");
    let draws = |active| Power {
        active: Watts(active),
        idle: Watts(1.0),
        asleep: Watts(1.0),
    };
    let power = &mut choice.as_mut().unwrap().power;
    power.insert("quiet".to_owned(), draws(500.0));
    let mut core = lab("easy", choice);
    a_week(&mut core);
    assert_eq!(places(&mut core, &BEST_EFFORT), [2, 0, 1, 3]);
}

#[test]
fn learned_log_ins_are_kept_over_a_restart() {
    let mut core = lab("easy", choice("soonest-end-online"));
    a_week(&mut core);
    let words = serde_json::to_string(&core.save()).unwrap();
    let rules = core.rules().clone();
    let mut again = Core::restore(serde_json::from_str(&words).unwrap(), rules);
    assert_eq!(again.desktop_logins(), core.desktop_logins());
    assert_eq!(
        places(&mut again, &BEST_EFFORT),
        places(&mut core, &BEST_EFFORT)
    );
}
