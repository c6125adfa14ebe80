//! Parses the values of options. Spans and amounts are those of the crate `client`.
//!
//! | module | contents |
//! |---|---|
//! | `moment` | instants, such as deadlines |
//! | `day` | days and times of day |
//! | `time_zone` | the user's time zone |

mod day;
mod moment;
pub(crate) mod time_zone;

pub(crate) use self::moment::{
    note_of_begin, note_of_deadline, parse_begin, parse_deadline, parse_moment,
};
pub(crate) use tollgate_client::typed_amount::{
    parse_device_list, parse_job_memory, parse_memory, parse_rate, parse_resource_list,
};
pub(crate) use tollgate_client::typed_span::{TypedSpan, parse_span, parse_typed_span};
