//! What a run is like. What the paper leaves open is set as in the reference study.

/// The settings of the federation world (Walker 2009, Table I).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FederationConfig {
    /// How many sites there are; at least 1.
    pub sites: usize,
    /// How many proxies each has at first, all pending.
    pub proxies: u32,
    /// How many processors a proxy has (S).
    pub size: f64,
    /// For how many ticks a proxy produces once it is dispatched (T_R); at least 1.
    pub run_ticks: u32,
    /// How many processors a user's job takes (S').
    pub job_size: f64,
    /// How many ticks it takes (T_U) where the speed is 1.
    pub job_ticks: f64,
    /// The least and the greatest speed of a site (F); drawn once a run.
    pub flops: (f64, f64),
    /// The least and the greatest average wait (T_w), in ticks; whole numbers, drawn anew.
    pub wait: (u32, u32),
    /// After how many ticks waits are drawn anew; 0 for never.
    pub change: u32,
    /// Whether each site draws anew at a time of its own instead of all at once.
    pub staggered: bool,
    /// How long the run is, in ticks.
    pub ticks: u32,
    /// How many own proxies each site lets run at a time; 0 for any number.
    pub limit: u32,
    /// What a proxy's waiting time (T_p) is at its first draw.
    pub first_age: u32,
    /// In which order pending proxies draw.
    pub order: DrawOrder,
}

/// In which order the pending proxies of a site draw: those dispatched earlier in a tick make it
/// less probable for the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DrawOrder {
    /// Any order is as probable.
    Random,
    /// Who has waited longest draws first.
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
        }
    }
}

impl FederationConfig {
    /// How many user jobs a running proxy does in a tick where the speed is 1.
    pub(super) fn jobs_per_tick(&self) -> f64 {
        self.size / (self.job_ticks * self.job_size)
    }
}
