//! Conversion between API types and internal types.

mod request;
mod response;

pub(super) use request::{due, label, name, probability, program, span, submission, times};
pub(super) use response::{
    account_entry, day_text, forecast_doubt, forecast_parts, job_details, job_forecast,
    submit_response, wait_reason,
};
