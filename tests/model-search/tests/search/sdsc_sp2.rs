//! The comparison over an archived trace, with the figures of docs/policies/forecast.md.

use tollgate_forecast::FeedbackTiming;
use tollgate_model_search::{SearchComparison, completed_jobs};
use tollgate_trace::{ColumnSelection, ReadOptions, open};

#[test]
fn forecasts_over_sdsc_sp2_beat_searched_models() {
    let Some(traces) = tollgate_needs::traces() else {
        return;
    };
    let path = traces.join("swf/SDSC-SP2-1998-4.2-cln.swf.gz");
    let options = ReadOptions {
        columns: ColumnSelection::All,
    };
    let records = completed_jobs(&open(&path, options).unwrap());
    for (timing, better_pct) in [
        (FeedbackTiming::OneStep, [100, 100]),
        (FeedbackTiming::Causal, [90, 88]),
    ] {
        let compared = SearchComparison::over(&records, timing, 160).unwrap();
        assert_eq!((compared.series, compared.jobs), (88, 42_516));
        let found = compared
            .searched
            .map(|method| (100.0 * method.classes_worse).round() as u32);
        assert_eq!(found, better_pct, "{timing:?}");
        for method in compared.searched {
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
