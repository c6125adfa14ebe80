//! The comparison over an archived trace. Over all its jobs it has the figures of docs/policies/forecast.md.

use tollgate_forecast::FeedbackTiming;
use tollgate_model_search::{SearchComparison, completed_jobs};
use tollgate_trace::{ColumnSelection, ReadOptions, open};

/// The number of jobs of the trace, unless `TOLLGATE_JOBS` says otherwise.
const JOBS: usize = 10_000;

/// `TOLLGATE_JOBS` is the number of jobs; as many as there are make the published figures.
#[test]
fn forecasts_over_sdsc_sp2_beat_searched_models() {
    let Some(traces) = tollgate_needs::traces() else {
        return;
    };
    let path = traces.join("swf/SDSC-SP2-1998-4.2-cln.swf.gz");
    let options = ReadOptions {
        columns: ColumnSelection::All,
    };
    let n_jobs =
        std::env::var("TOLLGATE_JOBS").map_or(JOBS, |jobs| jobs.parse().expect("a number"));
    let all = completed_jobs(&open(&path, options).unwrap());
    let records = &all[..n_jobs.min(all.len())];
    for (timing, published) in [
        (FeedbackTiming::OneStep, [100, 100]),
        (FeedbackTiming::Causal, [90, 88]),
    ] {
        let compared = SearchComparison::over(records, timing, 160).unwrap();
        println!("{timing:?}: {compared:?}");
        let better_pct = compared
            .searched
            .map(|method| (100.0 * method.classes_worse).round() as u32);
        if records.len() == all.len() {
            assert_eq!((compared.series, compared.jobs), (88, 42_516));
            assert_eq!(better_pct, published, "{timing:?}");
        }
        for (method, pct) in compared.searched.iter().zip(better_pct) {
            assert!(pct > 75, "{timing:?}: {pct} %");
            assert!(
                compared.together.mdape_pct < method.mdape_pct,
                "{timing:?}: {compared:?}"
            );
            assert!(
                compared.together.mean_abs_ln < method.mean_abs_ln,
                "{timing:?}: {compared:?}"
            );
        }
    }
}
