//! The select policies by name.

use std::str::FromStr;

use tollgate_model::{Instant, NodeId, Span};
use tollgate_policy::RandomSource;

use super::{
    ComputerPool, CostMeasure, ExpectedCostSelect, FixedOrderSelect, LearnedLogins, LoginKnowledge,
    LoginLog, NightlyReboots, Occupant, RandomSelect, SelectPolicy, WaitRule,
};

/// A policy with a name.
#[derive(Clone, Copy, Debug)]
pub struct BuiltinSelectPolicy {
    /// Name of the policy.
    pub name: &'static str,
    /// Short name; a published policy keeps the paper's name.
    pub alias: &'static str,
    /// One-line description.
    pub summary: &'static str,
    /// The publication it comes from.
    pub paper: &'static str,
    /// True if the policy is built from a record of log-ins, and so looks ahead if the record
    /// covers the simulated time.
    pub uses_future_logins: bool,
    /// True if the policy may leave a computer idle although tasks wait.
    pub waits: bool,
    build: fn(&SelectBuildInputs<'_>, &mut dyn RandomSource) -> Box<dyn SelectPolicy>,
}

/// The inputs from which a policy is built.
#[derive(Clone, Copy, Debug)]
pub struct SelectBuildInputs<'g> {
    /// The computers at present.
    pub pool: &'g ComputerPool,
    /// A record of log-ins on the computers.
    pub log: &'g LoginLog,
    /// The log-ins so far.
    pub logins: &'g LearnedLogins,
    /// The reboots that are known of.
    pub reboots: NightlyReboots,
}

/// Every policy, in the order in which they are listed.
pub const REGISTRY: &[BuiltinSelectPolicy] = &[
    PREFER_AWAKE,
    LONGEST_IDLE,
    LEAST_USED_CLUSTER,
    SOONEST_END,
    LEAST_ENERGY,
    SOONEST_END_ONLINE,
    LEAST_ENERGY_ONLINE,
    LEAST_ADDED_ENERGY,
    LEAST_ADDED_ENERGY_PATIENT,
];

/// The error of an unknown policy name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no select policy `{0}`: expected one of {names}", names = names())]
pub struct UnknownSelectPolicy(String);

fn names() -> String {
    let names: Vec<&str> = REGISTRY.iter().map(|named| named.name).collect();
    names.join(", ")
}

impl FromStr for &'static BuiltinSelectPolicy {
    type Err = UnknownSelectPolicy;

    fn from_str(name: &str) -> Result<Self, UnknownSelectPolicy> {
        let mut known = REGISTRY.iter();
        let named = known.find(|named| named.name == name || named.alias == name);
        named.ok_or_else(|| UnknownSelectPolicy(name.to_owned()))
    }
}

impl BuiltinSelectPolicy {
    /// Creates the policy. Its random numbers are drawn here, once.
    pub fn build(
        &self,
        grounds: &SelectBuildInputs<'_>,
        draw: &mut dyn RandomSource,
    ) -> Box<dyn SelectPolicy> {
        (self.build)(grounds, draw)
    }

    /// Returns the free computers of a pool in the order in which tasks that start at `now` take them. A policy that
    /// waits returns only those that it takes now.
    pub fn order(
        &self,
        mut pool: ComputerPool,
        logins: &LearnedLogins,
        now: Instant,
        draw: &mut dyn RandomSource,
    ) -> Vec<NodeId> {
        let grounds = SelectBuildInputs {
            pool: &pool,
            log: &LoginLog::default(),
            logins,
            reboots: NightlyReboots::Unknown,
        };
        let mut policy = self.build(&grounds, draw);
        let mut order = Vec::with_capacity(pool.free().len());
        while let Some(node) = policy.choose(&pool, now, draw) {
            pool.take(node, now);
            policy.taken(node, Occupant::Task, now);
            order.push(node);
        }
        order
    }
}

/// Policies are equal if their names are.
impl PartialEq for BuiltinSelectPolicy {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// Where the published policies come from.
const MCGOUGH: &str = "McGough et al. 2013, section III";

/// Where the policies without a publication come from.
const TOLLGATE: &str = "tollgate";

/// HTCondor's default: a random computer, awake if possible.
const PREFER_AWAKE: BuiltinSelectPolicy = BuiltinSelectPolicy {
    name: "prefer-awake",
    alias: "c1",
    summary: "any free computer, rather one that is awake",
    paper: MCGOUGH,
    uses_future_logins: false,
    waits: false,
    build: |_, _| Box::new(RandomSelect { redraws: REDRAWS }),
};

/// Computers with long gaps between users.
const LONGEST_IDLE: BuiltinSelectPolicy = BuiltinSelectPolicy {
    name: "longest-idle",
    alias: "c2",
    summary: "the free computer with the longest idle time between users",
    paper: MCGOUGH,
    uses_future_logins: true,
    waits: false,
    build: |grounds, _| Box::new(FixedOrderSelect::longest_idle(grounds.pool, grounds.log)),
};

/// The cluster that users use least.
const LEAST_USED_CLUSTER: BuiltinSelectPolicy = BuiltinSelectPolicy {
    name: "least-used-cluster",
    alias: "c3",
    summary: "a free computer of the cluster that users use least",
    paper: "McGough et al. 2013, section III, Rank(c)",
    uses_future_logins: true,
    waits: false,
    build: |grounds, draw| {
        let order = FixedOrderSelect::least_used_cluster(grounds.pool, grounds.log, draw);
        Box::new(order)
    },
};

/// The least expected time, by a record of log-ins.
const SOONEST_END: BuiltinSelectPolicy = BuiltinSelectPolicy {
    name: "soonest-end",
    alias: "c4",
    summary: "the free computer on which a task is expected to end soonest, by a record of log-ins",
    paper: TOLLGATE,
    uses_future_logins: true,
    waits: false,
    build: |grounds, _| Box::new(by_record(CostMeasure::Time, grounds)),
};

/// The least expected energy, by a record of log-ins.
const LEAST_ENERGY: BuiltinSelectPolicy = BuiltinSelectPolicy {
    name: "least-energy",
    alias: "c5",
    summary: "the free computer on which a task is expected to draw least energy, by a record of log-ins",
    paper: TOLLGATE,
    uses_future_logins: true,
    waits: false,
    build: |grounds, _| Box::new(by_record(CostMeasure::Energy, grounds)),
};

/// The least expected time, learned online.
const SOONEST_END_ONLINE: BuiltinSelectPolicy = BuiltinSelectPolicy {
    name: "soonest-end-online",
    alias: "c4-online",
    summary: "as soonest-end, by the log-ins so far",
    paper: TOLLGATE,
    uses_future_logins: false,
    waits: false,
    build: |grounds, _| Box::new(learned_online(CostMeasure::Time, grounds)),
};

/// The least expected energy, learned online.
const LEAST_ENERGY_ONLINE: BuiltinSelectPolicy = BuiltinSelectPolicy {
    name: "least-energy-online",
    alias: "c5-online",
    summary: "as least-energy, by the log-ins so far",
    paper: TOLLGATE,
    uses_future_logins: false,
    waits: false,
    build: |grounds, _| Box::new(learned_online(CostMeasure::Energy, grounds)),
};

/// The least marginal energy, learned online: a computer that was left a minute ago is awake anyway,
/// a sleeping one stays awake for a while after the task.
const LEAST_ADDED_ENERGY: BuiltinSelectPolicy = BuiltinSelectPolicy {
    name: "least-added-energy",
    alias: "c6",
    summary: "the free computer that draws least beyond what it would have drawn, by the log-ins so far",
    paper: TOLLGATE,
    uses_future_logins: false,
    waits: false,
    build: |grounds, _| Box::new(learned_online(CostMeasure::Marginal, grounds)),
};

/// A variant of [`LEAST_ADDED_ENERGY`] that lets tasks wait for a while rather than take a much worse
/// computer: most tasks are short, and a better computer is soon free.
const LEAST_ADDED_ENERGY_PATIENT: BuiltinSelectPolicy = BuiltinSelectPolicy {
    name: "least-added-energy-patient",
    alias: "c7",
    summary: "as least-added-energy, but waits for a while rather than take a computer that is much worse than others",
    paper: TOLLGATE,
    uses_future_logins: false,
    waits: true,
    build: |grounds, _| {
        let expected = learned_online(CostMeasure::Marginal, grounds);
        Box::new(expected.with_wait_rule(WAIT_RULE))
    },
};

/// With fewer than one in thirty computers awake, the choice is simply a random computer.
const REDRAWS: u32 = 30;

/// Assumed length of a task for policies by expected cost: longer than most tasks are, because
/// evicted tasks are longer.
const TASK_LENGTH: Span = Span::from_secs(45 * 60);

/// Chosen on five years of the synthetic campus, where a smaller ratio saves energy and costs
/// overhead: legacy computers draw 2.46 times as much as normal ones. The limit only keeps a task
/// from waiting forever.
const WAIT_RULE: WaitRule = WaitRule {
    ratio: 2.8,
    max_wait: Span::from_secs(3600),
};

fn by_record(cost: CostMeasure, grounds: &SelectBuildInputs<'_>) -> ExpectedCostSelect {
    let knowledge = LoginKnowledge::Record(grounds.log);
    let known = (knowledge, grounds.reboots);
    ExpectedCostSelect::new(cost, TASK_LENGTH, known, grounds.pool)
}

fn learned_online(cost: CostMeasure, grounds: &SelectBuildInputs<'_>) -> ExpectedCostSelect {
    let known = (LoginKnowledge::Learned(grounds.logins), grounds.reboots);
    ExpectedCostSelect::new(cost, TASK_LENGTH, known, grounds.pool)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::select::CampusComputer;
    use tollgate_model::{Power, Watts};

    const A_WEEK_LATER: Instant = Instant::from_secs(7 * 86_400 + 3600);

    struct Steps(f64);

    impl RandomSource for Steps {
        fn unit(&mut self) -> f64 {
            self.0 = (self.0 + 0.37).fract();
            self.0
        }
    }

    /// Two rooms of two computers; the second room draws twice as much, and no user ever comes there.
    fn rooms() -> (ComputerPool, LearnedLogins) {
        let power = |active| Power {
            active: Watts(active),
            idle: Watts(active / 2.0),
            asleep: Watts(2.0),
        };
        let computer = |node: u32| CampusComputer {
            cluster: node / 2,
            power: power(100.0 * f64::from(node / 2 + 1)),
        };
        let mut pool = ComputerPool::new((0..4).map(computer).collect(), Span::from_secs(600));
        let mut logins = LearnedLogins::before_any(&pool);
        for twenty_minutes in 0..3 * 24 {
            let now = Instant::from_secs(1200 * twenty_minutes);
            logins.record_login(0, now);
            logins.record_open(0, now + Span::from_secs(30));
        }
        let now = A_WEEK_LATER - Span::from_secs(100);
        pool.take(NodeId(3), now);
        pool.release(NodeId(3), now);
        pool.take(NodeId(0), now);
        (pool, logins)
    }

    #[test]
    fn free_computers_are_ordered_as_tasks_take_them() {
        let order = |name: &str| -> Vec<u32> {
            let (pool, logins) = rooms();
            let policy: &BuiltinSelectPolicy = name.parse().unwrap();
            let order = policy.order(pool, &logins, A_WEEK_LATER, &mut Steps(0.0));
            order.iter().map(|node| node.0).collect()
        };
        // Users come to the first room each minute: the second is safer, and there the computer that was left last.
        assert_eq!(order("soonest-end-online"), [3, 2, 1]);
        // A restart there now and then costs less than twice the power.
        assert_eq!(order("least-energy-online"), [1, 3, 2]);
        // The first is awake already.
        assert_eq!(order("prefer-awake")[0], 3);
        let mut all = order("prefer-awake");
        all.sort_unstable();
        assert_eq!(all, [1, 2, 3]);
    }

    #[test]
    fn names_are_registered_once_and_found() {
        for (n, one) in REGISTRY.iter().enumerate() {
            assert_eq!(one.name.parse::<&BuiltinSelectPolicy>(), Ok(one));
            assert_eq!(one.alias.parse::<&BuiltinSelectPolicy>(), Ok(one));
            let others = &REGISTRY[n + 1..];
            assert!(
                others
                    .iter()
                    .all(|other| other != one && other.alias != one.alias)
            );
        }
        let error = "c9"
            .parse::<&BuiltinSelectPolicy>()
            .unwrap_err()
            .to_string();
        insta::assert_snapshot!(error, @"there is no select policy `c9`: expected one of prefer-awake, longest-idle, least-used-cluster, soonest-end, least-energy, soonest-end-online, least-energy-online, least-added-energy, least-added-energy-patient");
    }
}
