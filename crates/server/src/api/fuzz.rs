//! Invariants of a job whose request passed the checks, for the fuzz targets.

use tollgate_client::limits::MAX_NAME;
use tollgate_client::types::JobRequest;
use tollgate_model::Span;

use super::convert;

/// Checks the job of a request; returns false if the request is invalid.
pub(crate) fn check_job(request: JobRequest) -> bool {
    let submission = convert::submission(&request, 1);
    let is_job = submission.is_ok();
    if let Ok(submission) = submission {
        assert!(submission.procs > 0);
        let spans = [
            submission.estimate,
            submission.deadline,
            submission.reserve_for,
        ];
        assert!(spans.into_iter().flatten().all(|span| span > Span::ZERO));
        assert!(submission.name.chars().count() <= MAX_NAME);
        assert!(!submission.name.chars().any(char::is_control));
        assert!(
            submission
                .confidence
                .is_none_or(|millionths| millionths <= 1_000_000)
        );
        let array = submission.options.array.as_ref();
        assert!(array.is_none_or(|array| !array.tasks.is_empty()));
    }
    let program = convert::program(request);
    let is_program = program.is_ok();
    if let Ok(program) = program {
        let words = program
            .argv
            .iter()
            .chain([&program.dir])
            .chain(&program.output);
        let variables = program.env.iter().flat_map(|(name, value)| [name, value]);
        assert!(!words.chain(variables).any(|word| word.contains('\0')));
        assert!(program.dir.starts_with('/') && program.umask <= 0o777);
    }
    is_job && is_program
}
