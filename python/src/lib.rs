//! The compiled part of the module `tollgate` for Python.
//!
//! | module | contents |
//! |---|---|
//! | [`arrow_input`] | tables that other libraries hand over |
//! | [`table`] | tables that are handed to other libraries |
//! | [`cells`] | single values of a table, for Python and for people |
//! | [`job_columns`] | the outcome of each job, as columns |
//! | [`summary_columns`] | the results of each policy, as columns |
//! | [`record_columns`] | the jobs of a record, as columns |
//! | [`record_input`] | records: files, tables, or the default workload |
//! | [`options`] | keyword arguments as the settings of a replay |
//! | [`policy`] | policies that are written in Python |
//! | [`forecast`] | forecasts of run times |
//! | [`replay`] | replays and their results |
//! | [`study`] | studies and their results |
//! | [`charts`] | pictures of the results |
//! | [`interrupt`] | long work that Ctrl-C ends |
//! | [`errors`] | exceptions |
//!
//! The crates of the program compute all results, so that both give the same bytes.

mod arrow_input;
mod cells;
mod charts;
mod errors;
mod forecast;
mod interrupt;
mod job_columns;
mod options;
mod policy;
mod record_columns;
mod record_input;
mod replay;
mod study;
mod summary_columns;
mod table;

/// The compiled part of `tollgate`. Its names are published by the package.
#[pyo3::pymodule(gil_used = false)]
mod _native {
    #[pymodule_export]
    use crate::charts::Picture;
    #[pymodule_export]
    use crate::forecast::{Forecast, forecast};
    #[pymodule_export]
    use crate::interrupt::join_interrupted;
    #[pymodule_export]
    use crate::policy::{Job, JobList, PolicyView};
    #[pymodule_export]
    use crate::record_input::{policies, read};
    #[pymodule_export]
    use crate::replay::{Replay, replay};
    #[pymodule_export]
    use crate::study::{FinishedExperiment, experiments, run_study};
    #[pymodule_export]
    use crate::table::Table;
}
