//! The files of a job of `sbatch`, as the service and its tasks write them.

use std::path::Path;

use super::file_names::{self, NULL_FILE};
use super::sbatch_job::SbatchOptions;

/// The files of a job.
pub(super) struct JobFiles {
    /// The file of the output. None if it is discarded, or shared.
    pub(super) output: Option<String>,
    /// The file of standard error. None if it is that of the output.
    pub(super) error: Option<String>,
    /// The file of standard input.
    pub(super) input: Option<String>,
    /// The file that all tasks of an array append their output to. None if each has its own.
    pub(super) shared: Option<String>,
    /// The same of standard error.
    pub(super) shared_error: Option<String>,
}

impl JobFiles {
    /// Describes the files in the directory of the job.
    pub(super) fn of(options: &SbatchOptions, is_array: bool, dir: &Path) -> Self {
        let path = |name: &str| {
            let name = file_names::for_service(name, is_array);
            dir.join(name).display().to_string()
        };
        let is_shared = |path: &str| is_array && !file_names::has_a_file_per_task(path);
        let output = options.output.as_deref();
        let output = output.unwrap_or_else(|| file_names::default_output(is_array));
        let (output, shared) = match output {
            NULL_FILE => (None, None),
            name => match path(name) {
                path if is_shared(&path) => (None, Some(path)),
                path => (Some(path), None),
            },
        };
        let (error, shared_error) = match options.error.as_deref() {
            None => (None, None),
            // Without an output the service discards both.
            Some(NULL_FILE) => (output.is_some().then(|| "none".to_owned()), None),
            Some(name) => match path(name) {
                path if is_shared(&path) => (None, Some(path)),
                path => (Some(path), None),
            },
        };
        let input = options.input.as_deref().filter(|name| *name != NULL_FILE);
        Self {
            output,
            error,
            input: input.map(path),
            shared,
            shared_error,
        }
    }
}
