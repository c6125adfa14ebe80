//! Notes on jobs whose record has no request.

use tollgate_workload::MissingRequests;

use crate::output::messages::{Verbosity, pluralise};

/// Notes which estimates stand in for requests that a record does not have, and which of them leak run
/// times.
pub(crate) fn print_notes(missing: MissingRequests, verbosity: Verbosity) {
    let MissingRequests { jobs, leaking } = missing;
    if jobs > leaking {
        verbosity.note(format_args!(
            "{} without a request: the estimate is the median request of the user and program before, \
             else of the site",
            pluralise(jobs - leaking, "job"),
        ));
    }
    if leaking > 0 {
        verbosity.note(format_args!(
            "{} without a request before which none is known: the estimate is the true run time, \
             which is unknown at submission",
            pluralise(leaking, "job"),
        ));
    }
}
