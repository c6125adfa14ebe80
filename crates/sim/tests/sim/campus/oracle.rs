//! Comparison with a slow and simple second implementation, second by second, on small campuses.

use std::collections::VecDeque;

use proptest::prelude::*;
use tollgate_grid_policies::select::CampusComputer;
use tollgate_model::{Instant, Power, Span, Watts};
use tollgate_sim::campus::{
    CampusConfig, CampusEnvironment, CampusLayout, CampusSessions, CampusTask, TaskOutcome,
    TaskTruth, UserSession,
};

use super::small::run_policies;

const HORIZON_S: i64 = 30 * 3600;
const AWAKE_S: i64 = 900;
const REBOOT_S: i64 = 5 * 3600;

const POWER: Power = Power {
    active: Watts(100.0),
    idle: Watts(30.0),
    asleep: Watts(1.0),
};

#[derive(Clone, Debug)]
struct CampusCase {
    /// By computer: from, to.
    users: Vec<Vec<(i64, i64)>>,
    /// Submission, run time (None for a bad task), cancellation after submission.
    tasks: Vec<(i64, Option<i64>, i64)>,
    max_evictions: u32,
}

fn case() -> impl Strategy<Value = CampusCase> {
    let session = (0..HORIZON_S, 1..3 * 3600i64).prop_map(|(from, length)| (from, from + length));
    let users = proptest::collection::vec(proptest::collection::vec(session, 0..6), 1..4);
    let task = (
        0..HORIZON_S,
        proptest::option::weighted(0.8, 1..8 * 3600i64),
        1..15 * 3600i64,
    );
    let tasks = proptest::collection::vec(task, 1..12);
    (users, tasks, 0..4u32).prop_map(|(mut users, mut tasks, most)| {
        for own in &mut users {
            own.sort_unstable();
            let mut last = -1;
            own.retain(|&(from, to)| {
                let fits = from > last && to < HORIZON_S;
                last = if fits { to } else { last };
                fits
            });
        }
        tasks.sort_by_key(|task| task.0);
        CampusCase {
            users,
            tasks,
            max_evictions: most,
        }
    })
}

/// Returns the fate and the evictions of each task, and the energy in joules beyond the users' own.
fn simulate_slowly(case: &CampusCase) -> (Vec<TaskOutcome>, Vec<u32>, f64) {
    let computers = case.users.len();
    let mut order: Vec<usize> = (0..computers).collect();
    let gap = |c: &usize| {
        let used: i64 = case.users[*c].iter().map(|(from, to)| to - from).sum();
        (HORIZON_S - used) as f64 / (case.users[*c].len() as f64 + 1.0)
    };
    order.sort_by(|a, b| gap(b).total_cmp(&gap(a)).then(a.cmp(b)));
    let mut outcomes = vec![TaskOutcome::Unfinished; case.tasks.len()];
    let mut evictions = vec![0; case.tasks.len()];
    let mut queue: VecDeque<usize> = VecDeque::new();
    let mut running: Vec<Option<(usize, i64)>> = vec![None; computers];
    let (mut busy, mut used) = (vec![None; computers], vec![None; computers]);
    let mut joules = 0.0;
    for now in 0..HORIZON_S {
        for (computer, slot) in running.iter_mut().enumerate() {
            let Some((task, from)) = *slot else {
                continue;
            };
            let (submit, runtime, removal) = case.tasks[task];
            let user = case.users[computer].iter().any(|&(from, _)| from == now);
            if runtime.is_some_and(|runtime| from + runtime == now) {
                outcomes[task] = TaskOutcome::Completed;
            } else if runtime.is_none() && submit + removal == now {
                outcomes[task] = TaskOutcome::Removed;
            } else if user || now % 86_400 == REBOOT_S {
                evictions[task] += 1;
                match evictions[task] > case.max_evictions {
                    true => outcomes[task] = TaskOutcome::Abandoned,
                    false => queue.push_back(task),
                }
            } else {
                continue;
            }
            *slot = None;
        }
        let submitted = (0..case.tasks.len()).filter(|&task| case.tasks[task].0 == now);
        queue.extend(submitted);
        let sits = |c: usize| {
            case.users[c]
                .iter()
                .any(|&(from, to)| (from..to).contains(&now))
        };
        queue.retain(|&task| {
            let (submit, runtime, removal) = case.tasks[task];
            let gone = runtime.is_none() && submit + removal <= now;
            if gone {
                outcomes[task] = TaskOutcome::Removed;
            }
            !gone
        });
        for &computer in &order {
            if running[computer].is_none() && !sits(computer) {
                running[computer] = queue.pop_front().map(|task| (task, now));
            }
        }
        for computer in 0..computers {
            let watts = |there: bool, last: &mut Option<i64>| {
                if there {
                    *last = Some(now + 1);
                    return POWER.active.0;
                }
                match *last {
                    Some(left) if now - left < AWAKE_S => POWER.idle.0,
                    _ => POWER.asleep.0,
                }
            };
            let there = sits(computer);
            joules += watts(there || running[computer].is_some(), &mut busy[computer]);
            joules -= watts(there, &mut used[computer]);
        }
    }
    (outcomes, evictions, joules)
}

fn environment(case: &CampusCase) -> CampusEnvironment {
    let at = Instant::from_secs;
    let session = |&(from, to): &(i64, i64)| UserSession {
        from: at(from),
        to: at(to),
    };
    let sessions = case
        .users
        .iter()
        .map(|own| own.iter().map(session).collect());
    let task = |&(submit, runtime, removal): &(i64, Option<i64>, i64)| CampusTask {
        submit: at(submit),
        transfer: Span::ZERO,
        truth: match runtime {
            Some(secs) => TaskTruth::Good {
                runtime: Span::from_secs(secs),
            },
            None => TaskTruth::Bad {
                removed: at(submit + removal),
            },
        },
    };
    let layout = CampusLayout {
        computers: vec![
            CampusComputer {
                cluster: 0,
                power: POWER
            };
            case.users.len()
        ],
        reboots: vec![Some(Span::from_secs(REBOOT_S)); case.users.len()],
    };
    let sessions = CampusSessions::of(sessions.collect(), at(HORIZON_S));
    let tasks = case.tasks.iter().map(task).collect();
    CampusEnvironment::of(layout, sessions, tasks, &CampusConfig::default())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn simulation_agrees_with_the_slow_oracle(case in case()) {
        let (outcomes, evictions, joules) = simulate_slowly(&case);
        let year = run_policies(&environment(&case), &format!("n1:{}/c2", case.max_evictions));
        prop_assert_eq!(&year.outcomes, &outcomes);
        let counted: Vec<u32> = year
            .histories
            .iter()
            .map(|seen| seen.evictions(tollgate_grid_policies::retry::EvictionFilter::All))
            .collect();
        prop_assert_eq!(counted, evictions);
        prop_assert!((year.metrics.marginal.as_kwh() * 3.6e6 - joules).abs() < 1.0);
    }
}
