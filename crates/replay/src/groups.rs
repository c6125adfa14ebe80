//! The results of a policy by queue, by user or by size of the jobs.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use tollgate_model::{Market, Outcome};
use tollgate_risk::Objectives;
use tollgate_workload::Workload;

/// Maximum number of queues or users that have a group of their own. The jobs of all others are one group.
const MAX_NAMED: usize = 10;
/// The group of the jobs of further queues or users.
const OTHERS: &str = "others";
/// The group of the jobs whose queue or user the record does not have.
const UNKNOWN: &str = "unknown";
/// The largest number of processors of each size class but the last.
const SIZE_CLASSES: [u32; 6] = [1, 4, 16, 64, 256, 1024];

/// The property by which jobs are grouped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplayGrouping {
    /// The ten queues with the most jobs, and all others
    Queue,
    /// The ten users with the most jobs, and all others
    User,
    /// The number of processors
    Size,
}

/// The groups of the jobs of a run.
pub struct GroupedJobs {
    names: Vec<String>,
    /// By place in the order of arrival: the place of the group in `names`.
    groups: Vec<usize>,
}

/// The results of a policy for a group of jobs.
pub struct GroupAnswer {
    /// The name of the group.
    pub group: String,
    /// The results of its jobs.
    pub objectives: Objectives,
}

impl ReplayGrouping {
    /// Returns the property.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Queue => "queue",
            Self::User => "user",
            Self::Size => "processors",
        }
    }
}

impl GroupedJobs {
    /// Groups the jobs of a workload by a property.
    pub fn of(by: ReplayGrouping, workload: &Workload) -> Self {
        let trace = workload.trace();
        let names = trace.metadata.as_ref();
        let name = |job: usize| {
            let column = names.map(|names| match by {
                ReplayGrouping::Queue => &names.queue,
                ReplayGrouping::User | ReplayGrouping::Size => &names.user,
            });
            let name = column.and_then(|column| column.get(workload.row(job)));
            name.unwrap_or(UNKNOWN)
        };
        let jobs = 0..workload.len();
        match by {
            ReplayGrouping::Size => {
                let procs = |job: usize| trace.jobs[workload.row(job)].procs;
                let class = |job| SIZE_CLASSES.partition_point(|&most| most < procs(job));
                Self {
                    names: size_classes(),
                    groups: jobs.map(class).collect(),
                }
            }
            ReplayGrouping::Queue | ReplayGrouping::User => {
                Self::by_name(&jobs.map(name).collect::<Vec<_>>())
            }
        }
    }

    /// Groups jobs by their place in the order of arrival, into windows of equal numbers of jobs.
    pub fn by_windows(windows: NonZeroU32, jobs: usize) -> Self {
        let windows = windows.get() as usize;
        Self {
            names: (1..=windows)
                .map(|window| format!("{window} of {windows}"))
                .collect(),
            groups: (0..jobs).map(|job| job * windows / jobs).collect(),
        }
    }

    /// Groups jobs by these names, the group with the most jobs first.
    fn by_name(names: &[&str]) -> Self {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for &name in names {
            *counts.entry(name).or_default() += 1;
        }
        let mut largest: Vec<(&str, usize)> = counts.into_iter().collect();
        largest.sort_by_key(|&(_, jobs)| std::cmp::Reverse(jobs));
        let named = largest.iter().take(MAX_NAMED);
        let places: BTreeMap<&str, usize> =
            named.zip(0..).map(|(&(name, _), n)| (name, n)).collect();
        let place = |name: &&str| places.get(name).copied().unwrap_or(MAX_NAMED);
        let named = largest.iter().take(MAX_NAMED).map(|&(name, _)| name);
        Self {
            names: named.chain([OTHERS]).map(str::to_owned).collect(),
            groups: names.iter().map(place).collect(),
        }
    }

    /// Measures each group that has jobs.
    pub fn measure(&self, outcomes: &[Outcome], nodes: u32, market: Market) -> Vec<GroupAnswer> {
        let mut parts: Vec<Vec<Outcome>> = vec![Vec::new(); self.names.len()];
        for (outcome, &group) in outcomes.iter().zip(&self.groups) {
            parts[group].push(*outcome);
        }
        let groups = self.names.iter().zip(parts);
        groups
            .filter(|(_, part)| !part.is_empty())
            .map(|(name, part)| GroupAnswer {
                group: name.clone(),
                objectives: Objectives::of(&part, nodes, market),
            })
            .collect()
    }
}

/// Returns the names of the size classes: `1`, `2-4`, .., `more than 1024`.
fn size_classes() -> Vec<String> {
    let bounds = SIZE_CLASSES.windows(2);
    let between = bounds.map(|bounds| format!("{}-{}", bounds[0] + 1, bounds[1]));
    let last = SIZE_CLASSES[SIZE_CLASSES.len() - 1];
    let first = SIZE_CLASSES[0].to_string();
    [first]
        .into_iter()
        .chain(between)
        .chain([format!("more than {last}")])
        .collect()
}
