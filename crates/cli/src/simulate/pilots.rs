//! `tollgate site simulate`: policies by which pilots come and go, compared on recorded queues.
//!
//! | module | step |
//! |---|---|
//! | [`args`] | the flags |
//! | [`keys`] | the output as JSON, as CSV and as a table |

mod args;
mod keys;

use std::io::{BufWriter, Write, stdout};
use std::path::Path;

use tollgate_model::{Instant, Span};
use tollgate_provisioning::{ACQUISITION_POLICIES, AcquisitionPolicy, IdleLimit, PilotShape};
use tollgate_replay::parallel::{n_processors, run_in_order};
use tollgate_sim::sites::{
    PilotPolicy, QueueConfig, SitesConfig, SitesOutcome, SitesRun, TaskStream, run_sites,
};
use tollgate_trace::{ReadOptions, open};
use tollgate_workload::{GeneratedMachine, WorkloadGenerator};

use crate::exit::CliFailure;
use crate::output::messages::{Verbosity, pluralise};

pub(crate) use self::args::PilotsArgs;

/// The generated queues: two machines of this size under this load.
const GENERATED_SITES: u64 = 2;
const GENERATED_PROCS: u32 = 128;
const GENERATED_LOAD: f64 = 1.2;
/// The number of jobs of each: about two weeks.
const GENERATED_JOBS: usize = 2000;
/// The time after the last deadline at which a run ends, whatever is unfinished.
const LONGEST_RUN: Span = Span::from_secs(7 * 86_400);

/// The figures of a policy over all seeds.
struct PolicyAnswer {
    policy: PilotPolicy,
    outcome: SitesOutcome,
}

/// `tollgate site simulate`.
pub(crate) fn run(args: &PilotsArgs) -> Result<(), CliFailure> {
    let verbosity = Verbosity::from_quiet(args.quiet);
    let seeds = args.seed..args.seed.saturating_add(args.seeds.get().into());
    let configs = seeds
        .map(|seed| args.config(seed))
        .collect::<Result<Vec<_>, _>>()?;
    if let Some(first) = configs.first() {
        for (at, queue) in (1..).zip(&first.queues) {
            verbosity.note(format_args!(
                "site {at}: {} of others on {}",
                pluralise(queue.others.len(), "job"),
                pluralise(queue.procs as usize, "processor"),
            ));
        }
    }
    let policies = args.policies();
    let threads = args.threads.unwrap_or_else(n_processors);
    let n_runs = policies.len() * configs.len();
    let mut runs: Vec<SitesRun> = Vec::with_capacity(n_runs);
    let one = |at: usize| {
        let (policy, config) = (&policies[at / configs.len()], &configs[at % configs.len()]);
        Ok::<_, CliFailure>(run_sites(config, policy))
    };
    run_in_order(n_runs, threads, one, |_, run| {
        runs.push(run);
        Ok(())
    })?;
    let answers = policies.into_iter().zip(runs.chunks(configs.len()));
    let answers: Vec<PolicyAnswer> = answers
        .map(|(policy, runs)| PolicyAnswer {
            policy,
            outcome: SitesOutcome::of_runs(runs),
        })
        .collect();
    let mut out = BufWriter::new(stdout().lock());
    keys::print(&mut out, args.format, &answers)?;
    Ok(out.flush()?)
}

impl PilotsArgs {
    /// Returns the world of a seed.
    fn config(&self, seed: u64) -> Result<SitesConfig, CliFailure> {
        let begin = Instant::ZERO + self.skip;
        let tasks = TaskStream {
            tasks: self.tasks.get(),
            begin,
            within: self.within,
            burst: self.burst,
            run: self.run,
            spread: self.spread,
            deadline: self.deadline,
            seed,
        };
        let tasks = tasks.tasks();
        let last = tasks.last().map_or(begin, |task| task.submit);
        let queues: Vec<QueueConfig> = match self.queues.is_empty() {
            true => (0..GENERATED_SITES)
                .map(|site| generated_queue(GENERATED_SITES * seed + site))
                .collect(),
            false => self
                .queues
                .iter()
                .map(|file| self.recorded_queue(file))
                .collect::<Result<_, _>>()?,
        };
        Ok(SitesConfig {
            queues,
            hides_jobs: self.hide_jobs,
            shape: PilotShape {
                cores: self.cores.get(),
                time: self.time,
            },
            at_most: self.at_most,
            fixed: self.fixed,
            tasks,
            every: self.every,
            stop: last + self.deadline.1 + LONGEST_RUN,
        })
    }

    fn recorded_queue(&self, file: &Path) -> Result<QueueConfig, CliFailure> {
        let trace = open(file, ReadOptions::default())?;
        let widest = trace.jobs.iter().map(|job| job.procs).max();
        let procs = self.procs.or(trace.max_procs).or(widest).unwrap_or(1);
        Ok(QueueConfig::of_record(procs, &trace.jobs))
    }

    /// Returns the policies that are compared, with each idle limit. The default policy also has a rule of its own for those that leave.
    fn policies(&self) -> Vec<PilotPolicy> {
        let mut acquired = self.acquire.clone();
        if acquired.is_empty() {
            acquired.extend(ACQUISITION_POLICIES);
        }
        let mut limits = self.release.clone();
        if limits.is_empty() {
            let after = |secs| IdleLimit::After(Span::from_secs(secs));
            limits = vec![after(15), after(60), IdleLimit::Never];
        }
        let acquired = acquired.into_iter().flat_map(|acquisition| {
            let own = acquisition.name == AcquisitionPolicy::DEFAULT.name;
            let limits = limits.iter().copied().map(Some);
            let limits = own.then_some(None).into_iter().chain(limits);
            limits.map(move |idle| PilotPolicy::Acquire { acquisition, idle })
        });
        let moved = self.migrate.iter().copied();
        let moved = moved.map(|migration| PilotPolicy::Fixed { migration });
        acquired.chain(moved).collect()
    }
}

fn generated_queue(seed: u64) -> QueueConfig {
    let generator = WorkloadGenerator {
        jobs: GENERATED_JOBS,
        seed,
        machine: GeneratedMachine::LogUniform {
            nodes: GENERATED_PROCS,
            max_width: GENERATED_PROCS,
            load: GENERATED_LOAD,
        },
        ..WorkloadGenerator::default()
    };
    QueueConfig::of_record(GENERATED_PROCS, &generator.trace().jobs)
}
