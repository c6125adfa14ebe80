//! Parses the values of options: spans, instants and amounts.
//!
//! | module | contents |
//! |---|---|
//! | `span` | spans of time |
//! | `moment` | instants, such as deadlines |
//! | `day` | days and times of day |
//! | `amount` | memory, rates, devices and licences |
//! | `time_zone` | the user's time zone |

mod amount;
mod day;
mod moment;
mod span;
pub(crate) mod time_zone;

pub(crate) use self::amount::{
    parse_device_list, parse_job_memory, parse_memory, parse_rate, parse_resource_list,
};
pub(crate) use self::moment::{
    note_of_begin, note_of_deadline, parse_begin, parse_deadline, parse_moment,
};
pub(crate) use self::span::{TypedSpan, parse_span, parse_typed_span};
