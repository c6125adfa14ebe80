//! `tollgate forecast evaluate`: how good forecasts would have been.

mod files;
mod print;
mod series;

use std::thread;

use tollgate_forecast::baseline::Baseline;
use tollgate_forecast::{
    ClassId, Evaluation, Forecaster, Method, Record, Setting, Trial, evaluate,
};
use tollgate_model::Instant;

use self::series::Paths;
use super::args::EvaluateArgs;
use super::naming::Naming;
use super::records::{self, Jobs};
use super::voice;
use crate::calendar::month;
use crate::exit::Failure;

/// Both settings over the same records.
pub(super) struct Evaluated {
    pub(super) one_step: Evaluation,
    pub(super) causal: Evaluation,
    pub(super) paths: Paths,
    pub(super) naming: Naming,
    pub(super) jobs: Jobs,
    /// A class with at least so many jobs is a series.
    pub(super) fewest: usize,
    /// The methods that were run.
    pub(super) methods: Vec<Method>,
}

/// Records without dates have periods of so many days instead of months.
pub(super) const PERIOD_DAYS: i64 = 30;

pub(super) fn run(args: &EvaluateArgs) -> Result<(), Failure> {
    let voice = voice(args.quiet);
    let mut naming = Naming::new(&args.by.by);
    let jobs = records::read(&args.records, &mut naming, None, voice)?;
    let records: Vec<Record> = jobs.entries.iter().map(|entry| entry.record).collect();
    let fewest = series(&records, args.series.get());
    if fewest < args.series.get() {
        voice.note(format_args!(
            "no class has {} jobs: errors are counted over all of them",
            args.series
        ));
    }
    let evaluated = both(&records, args, fewest, naming, jobs);
    print::answer(&evaluated, args.format)?;
    if let Some(folder) = &args.out {
        files::write(&evaluated, folder)?;
        voice.note(format_args!(
            "the tables and the report are in {}",
            folder.display()
        ));
    }
    Ok(())
}

/// How many jobs make a series: as asked for, or any number if no class has as many.
fn series(records: &[Record], asked: usize) -> usize {
    let mut jobs_of = std::collections::BTreeMap::<ClassId, usize>::new();
    for record in records {
        *jobs_of.entry(record.job.class).or_default() += 1;
    }
    if jobs_of.values().any(|jobs| *jobs >= asked) {
        asked
    } else {
        1
    }
}

fn both(
    records: &[Record],
    args: &EvaluateArgs,
    fewest: usize,
    naming: Naming,
    jobs: Jobs,
) -> Evaluated {
    let forecaster = || {
        if args.by.by.is_empty() {
            Forecaster::default()
        } else {
            Forecaster::default().whole()
        }
    };
    let trial = |setting| Trial {
        setting,
        fewest,
        models: !args.no_models,
    };
    let dated = jobs.dated;
    let period = move |at: Instant| {
        if dated {
            month(at)
        } else {
            at.as_micros().div_euclid(PERIOD_DAYS * 86_400_000_000)
        }
    };
    let mut paths = Paths::of(records, fewest);
    let (one_step, causal) = thread::scope(|scope| {
        let one_step = scope.spawn(|| {
            evaluate(
                forecaster(),
                records,
                trial(Setting::OneStep),
                period,
                &mut (),
            )
        });
        let causal = evaluate(
            forecaster(),
            records,
            trial(Setting::Causal),
            period,
            &mut paths,
        );
        (one_step.join(), causal)
    });
    let models = [Baseline::AutoEts, Baseline::AutoArima].map(Method::Baseline);
    let methods = Method::all().into_iter();
    Evaluated {
        one_step: one_step.unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
        causal,
        paths,
        naming,
        jobs,
        fewest,
        methods: methods
            .filter(|method| !args.no_models || !models.contains(method))
            .collect(),
    }
}
