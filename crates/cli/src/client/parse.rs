//! Parses the values of options: spans, instants, amounts and numbers of jobs.
//!
//! | module | contents |
//! |---|---|
//! | `span` | spans of time |
//! | `moment` | instants, such as deadlines |
//! | `day` | days and times of day |
//! | `amount` | memory, rates, devices and licences |
//! | `job_numbers` | numbers of jobs and of tasks |

mod amount;
mod day;
mod job_numbers;
mod moment;
mod span;

pub(in crate::client) use self::amount::{
    parse_device_list, parse_job_memory, parse_memory, parse_rate, parse_resource_list,
};
#[cfg(test)]
pub(in crate::client) use self::job_numbers::parse_job_id;
pub(in crate::client) use self::job_numbers::{
    JobNumbers, parse_cluster_job_id, parse_cluster_job_numbers, parse_explained,
};
pub(in crate::client) use self::moment::{
    note_of_begin, note_of_deadline, parse_begin, parse_deadline, parse_moment,
};
pub(crate) use self::span::parse_span;
pub(in crate::client) use self::span::{TypedSpan, parse_typed_span};
