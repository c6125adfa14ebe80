//! Invariants of a job whose request passed the checks, for the fuzz targets.

use tollgate_client::limits::MAX_NAME;
use tollgate_client::types::JobRequest;
use tollgate_model::{Otherwise, Probability, Span};

use super::convert;
use super::promise_terms::PromiseTerms;

/// Checks the job of a request; returns false if the request is invalid.
pub(crate) fn check_job(request: JobRequest) -> bool {
    let terms = PromiseTerms {
        otherwise: Otherwise::Run,
        least: 0.5,
        level: Probability::new(0.8),
    };
    let submission = convert::submission(&request, 1, &terms);
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
    let program = convert::program(request, &terms);
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
