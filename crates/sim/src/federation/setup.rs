//! The parameters of a run. Parameters that the paper leaves open, and the ticks that a proxy runs,
//! are set so that the printed results come out.

/// The settings of the federation world (Walker 2009, Table I).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FederationConfig {
    /// Number of sites; at least 1.
    pub sites: usize,
    /// Initial number of proxies per site, all pending.
    pub proxies: u32,
    /// Number of processors of a proxy (S).
    pub size: f64,
    /// Number of ticks for which a dispatched proxy produces (T_R); at least 1. Table I prints 4, with
    /// which fewer user jobs are done than the paper's figures show.
    pub run_ticks: u32,
    /// Number of processors of a user's job (S').
    pub job_size: f64,
    /// Ticks that a user's job takes (T_U) where the speed is 1.
    pub job_ticks: f64,
    /// Minimum and maximum speed of a site (F); drawn once per run.
    pub flops: (f64, f64),
    /// Minimum and maximum average wait (T_w), in ticks; whole numbers, drawn anew.
    pub wait: (u32, u32),
    /// Number of ticks between redraws of the waits; 0 for never.
    pub change: u32,
    /// True if each site redraws at its own time instead of all at once.
    pub staggered: bool,
    /// Length of the run, in ticks.
    pub ticks: u32,
    /// Maximum number of own proxies that each site runs at a time; 0 for no limit.
    pub limit: u32,
    /// The waiting time (T_p) of a proxy at its first draw.
    pub first_age: u32,
    /// The order in which pending proxies draw.
    pub order: DrawOrder,
    /// The time that a message between the agents of two sites takes, as a part of their period; above 0, at most 0.1.
    pub delay: f64,
    /// The probability that a message between agents is lost; below 1.
    pub loss: f64,
}

/// The order in which the pending proxies of a site draw: each dispatch in a tick makes a dispatch
/// of the later ones less probable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DrawOrder {
    /// Every order has the same probability.
    Random,
    /// The proxy that has waited longest draws first.
    OldestFirst,
}

impl Default for FederationConfig {
    fn default() -> Self {
        Self {
            sites: 16,
            proxies: 6,
            size: 32.0,
            run_ticks: 5,
            job_size: 4.0,
            job_ticks: 1.0,
            flops: (1.0, 3.0),
            wait: (2, 20),
            change: 30,
            staggered: false,
            ticks: 600,
            limit: 0,
            first_age: 1,
            order: DrawOrder::Random,
            delay: 0.01,
            loss: 0.0,
        }
    }
}

impl FederationConfig {
    /// Returns the number of user jobs that a running proxy does per tick where the speed is 1.
    pub(super) fn jobs_per_tick(&self) -> f64 {
        self.size / (self.job_ticks * self.job_size)
    }
}
