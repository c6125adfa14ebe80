//! Choice of the computer on which a task is expected to cost least until it ends, evictions
//! included.
//!
//! Users log in at a free computer at a rate of h per hour. A task that needs a time T without a break, and
//! restarts whenever it is evicted, then holds computers for (exp(h T) - 1) / h on average. That is the mean
//! time until the end of the first gap of length T in a Poisson process.

use tollgate_model::{Instant, NodeId, Span};
use tollgate_policy::RandomSource;

use super::learned_logins::LearnedLogins;
use super::login_log::{HOURS_OF_WEEK, LoginLog, hour_of_week};
use super::recency_lists::RecencyLists;
use super::{ComputerGroup, ComputerPool, Occupant, SelectPolicy};

/// The measure of a task's expected cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CostMeasure {
    /// Time on computers.
    Time,
    /// Energy: the time on computers at active power.
    Energy,
    /// Energy that would not be drawn without the task. It is the time on computers at active power less that
    /// of a sleeping computer, and the time by which the computer falls asleep later.
    Marginal,
}

/// The source of the rates at which users log in.
#[derive(Clone, Copy, Debug)]
pub enum LoginKnowledge<'l> {
    /// A record of log-ins. If the record covers the simulated time itself, the policy looks ahead.
    Record(&'l LoginLog),
    /// The log-ins so far, to which the policy adds those that it is shown.
    Learned(&'l LearnedLogins),
}

/// The hours at which all computers are rebooted, as a policy knows them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NightlyReboots {
    /// Between ten to five and ten past, as on the campus of McGough et al.
    AtFive,
    /// None that the policy knows of.
    Unknown,
}

/// The rule for letting a task wait although a computer is free.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WaitRule {
    /// Minimum ratio between the cost of every free computer and the cost of the best computer if
    /// it were free. At least 1.
    pub ratio: f64,
    /// Maximum wait since a task was last started.
    pub max_wait: Span,
}

/// A policy that chooses the group of computers with the least expected cost, and in the group the
/// computer left last.
#[derive(Clone, Debug)]
pub struct ExpectedCostSelect {
    cost: CostMeasure,
    wait_rule: Option<WaitRule>,
    /// The instant since which tasks wait for a better computer.
    waiting_since: Option<Instant>,
    /// The assumed length of a task, in hours.
    length_h: f64,
    rates: LoginRates,
    /// By computer.
    cluster_of: Vec<u32>,
    reboots: NightlyReboots,
    /// By group: the free computers, the most recently left first.
    free_by_recency: RecencyLists,
    /// The minute of the clock to which `costs` belongs. Costs are computed once per minute,
    /// because rates hardly change within a minute.
    minute: Option<i64>,
    /// Costs by group, in hours or watt hours.
    costs: Vec<f64>,
}

#[derive(Clone, Debug)]
enum LoginRates {
    /// By hour of the week and cluster, in log-ins per hour.
    Record(Vec<Vec<f64>>),
    Learned {
        logins: LearnedLogins,
        /// The rates in the three hours from now on, by cluster.
        current: [Vec<f64>; 3],
    },
}

/// The lowest rate: no computer is safe forever.
const MIN_RATE: f64 = 1e-4;

/// Computers are rebooted from ten to five on. In the half hour before five the eviction risk of a
/// task is as high as if this many more users per hour came.
const REBOOT_RATE: f64 = 2.0;
const REBOOT_MINUTES: std::ops::Range<i64> = 270..300;
const MINUTES_OF_DAY: i64 = 1440;

/// Weights of the rates now and in an hour.
const WEIGHT_NOW: f64 = 0.7;
const WEIGHT_IN_AN_HOUR: f64 = 0.3;

/// Exponent beyond which a computer is ruled out.
const MAX_EXPONENT: f64 = 20.0;

const MINUTE_US: i64 = 60_000_000;

impl ExpectedCostSelect {
    /// Creates a policy that minimises `cost` for tasks assumed to take `length`.
    pub fn new(
        cost: CostMeasure,
        length: Span,
        (knowledge, reboots): (LoginKnowledge<'_>, NightlyReboots),
        pool: &ComputerPool,
    ) -> Self {
        Self {
            cost,
            wait_rule: None,
            waiting_since: None,
            length_h: hours(length),
            rates: match knowledge {
                LoginKnowledge::Record(log) => LoginRates::Record(rates_by_hour(log)),
                LoginKnowledge::Learned(logins) => LoginRates::Learned {
                    logins: logins.clone(),
                    current: Default::default(),
                },
            },
            cluster_of: pool.computers().iter().map(|one| one.cluster).collect(),
            reboots,
            free_by_recency: RecencyLists::new(pool),
            minute: None,
            costs: Vec::new(),
        }
    }

    /// Returns the same policy, but one that lets tasks wait rather than take a much worse
    /// computer.
    #[must_use]
    pub fn with_wait_rule(self, wait_rule: WaitRule) -> Self {
        Self {
            wait_rule: Some(wait_rule),
            ..self
        }
    }

    /// Returns true if a task is to wait when the best free computer has this cost.
    fn should_wait(&mut self, cost: f64, now: Instant) -> bool {
        let Some(wait_rule) = self.wait_rule else {
            return false;
        };
        let least = self.costs.iter().copied().fold(f64::INFINITY, f64::min);
        let since = *self.waiting_since.get_or_insert(now);
        let waits = cost > wait_rule.ratio * least && now.since(since) < wait_rule.max_wait;
        if !waits {
            self.waiting_since = None;
        }
        waits
    }

    /// Recomputes the costs for this minute.
    fn update_costs(&mut self, pool: &ComputerPool, now: Instant) {
        let minute = now.as_micros().div_euclid(MINUTE_US);
        if self.minute == Some(minute) {
            return;
        }
        self.minute = Some(minute);
        let is_before_reboot = self.reboots == NightlyReboots::AtFive
            && REBOOT_MINUTES.contains(&minute.rem_euclid(MINUTES_OF_DAY));
        let reboots = if is_before_reboot { REBOOT_RATE } else { 0.0 };
        let start = Instant::from_micros(minute * MINUTE_US);
        let (hour, within) = hour_of_week(start);
        let weights = [
            WEIGHT_NOW * (1.0 - within),
            WEIGHT_NOW * within + WEIGHT_IN_AN_HOUR * (1.0 - within),
            WEIGHT_IN_AN_HOUR * within,
        ];
        let places = [0, 1, 2].map(|ahead| (hour + ahead) % HOURS_OF_WEEK);
        let rates = match &mut self.rates {
            LoginRates::Record(rates) => places.map(|place| rates[place].as_slice()),
            LoginRates::Learned { logins, current } => {
                for (rates, place) in current.iter_mut().zip(places) {
                    rates.clear();
                    rates.extend(logins.rates(start, place));
                }
                current.each_ref().map(Vec::as_slice)
            }
        };
        self.costs.clear();
        for group in pool.groups() {
            let rate = |n: usize| weights[n] * rates[n][group.cluster as usize];
            let hazard = rate(0) + rate(1) + rate(2) + MIN_RATE + reboots;
            let held_h = libm::expm1((self.length_h * hazard).min(MAX_EXPONENT)) / hazard;
            self.costs.push(self.cost.of(held_h, group));
        }
    }
}

impl CostMeasure {
    /// Returns the cost in hours or watt hours, without the part that depends on the individual
    /// computer.
    fn of(self, held_h: f64, group: &ComputerGroup) -> f64 {
        match self {
            Self::Time => held_h,
            Self::Energy => held_h * group.power.active.0,
            Self::Marginal => held_h * (group.power.active.0 - group.power.asleep.0),
        }
    }
}

impl SelectPolicy for ExpectedCostSelect {
    fn choose(
        &mut self,
        pool: &ComputerPool,
        now: Instant,
        _: &mut dyn RandomSource,
    ) -> Option<NodeId> {
        if let ([only], None) = (pool.free(), self.wait_rule) {
            return Some(*only);
        }
        self.update_costs(pool, now);
        let mut best: Option<(f64, NodeId)> = None;
        for (number, &cost) in self.costs.iter().enumerate() {
            // The rest of the cost is not negative: most groups are ruled out without examining
            // them.
            if best.is_some_and(|(least, _)| cost >= least) {
                continue;
            }
            let Some(node) = self.free_by_recency.first(number) else {
                continue;
            };
            let cost = match self.cost {
                CostMeasure::Time | CostMeasure::Energy => cost,
                CostMeasure::Marginal => cost + delayed_sleep_cost(pool, node, now),
            };
            if best.is_none_or(|(least, _)| cost < least) {
                best = Some((cost, node));
            }
        }
        let (cost, node) = best?;
        (!self.should_wait(cost, now)).then_some(node)
    }

    fn taken(&mut self, node: NodeId, by: Occupant, now: Instant) {
        self.free_by_recency.remove(node);
        if let (LoginRates::Learned { logins, .. }, Occupant::User) = (&mut self.rates, by) {
            logins.record_login(self.cluster_of[node.index()] as usize, now);
        }
    }

    fn freed(&mut self, node: NodeId, by: Occupant, now: Instant) {
        self.free_by_recency.push(node);
        if let (LoginRates::Learned { logins, .. }, Occupant::User) = (&mut self.rates, by) {
            logins.record_open(self.cluster_of[node.index()] as usize, now);
        }
    }
}

/// Returns the cost of a computer falling asleep later than without the task, in watt hours.
fn delayed_sleep_cost(pool: &ComputerPool, node: NodeId, now: Instant) -> f64 {
    let awake = pool.stays_awake();
    let gone = pool
        .since(node)
        .map_or(awake, |since| now.since(since).min(awake));
    let power = pool.computers()[node.index()].power;
    hours(gone) * (power.idle.0 - power.asleep.0)
}

/// Returns the rates of a record by hour of the week and cluster.
fn rates_by_hour(log: &LoginLog) -> Vec<Vec<f64>> {
    (0..HOURS_OF_WEEK)
        .map(|hour| log.rate.iter().map(|cluster| cluster[hour]).collect())
        .collect()
}

fn hours(span: Span) -> f64 {
    span.as_secs_f64() / 3600.0
}
