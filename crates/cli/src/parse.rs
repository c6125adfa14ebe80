//! Parses the values of options. Spans, instants and amounts are those of the crate `client`.
//!
//! | module | contents |
//! |---|---|
//! | `past_instant` | instants of the past |
//! | `pilots` | the names of policies of pilots, and when pilots leave |
//! | `time_zone` | the user's time zone |

pub(crate) mod past_instant;
pub(crate) mod pilots;
pub(crate) mod time_zone;

use jiff::Zoned;
use tollgate_client::typed_instant;

pub(crate) use tollgate_client::typed_amount::{
    parse_device_list, parse_job_memory, parse_memory, parse_rate, parse_resource_list,
};
pub(crate) use tollgate_client::typed_instant::{note_of_begin, note_of_deadline, parse_moment};
pub(crate) use tollgate_client::typed_span::{TypedSpan, parse_span, parse_typed_span};

use crate::exit::CliFailure;

/// Parses the value of `--deadline` into the fields of a request: a span, or an instant.
pub(crate) fn parse_deadline(
    words: &str,
    now: &Zoned,
) -> Result<(Option<f64>, Option<String>), CliFailure> {
    typed_instant::parse_deadline(words, now)
        .map_err(|message| CliFailure::invalid_flag("deadline", message))
}
