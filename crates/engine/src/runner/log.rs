//! Messages for the operator: a line each on standard error, which the service leads to a file.

use std::fmt::Arguments;
use std::io::Write;

/// Says something. A full disk or a closed pipe is no reason to stop.
pub(super) fn say(message: Arguments<'_>) {
    let _ = writeln!(std::io::stderr(), "tollgate-runner: {message}");
}
