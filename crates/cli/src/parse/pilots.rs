//! The names of policies of pilots, and the time without work after which pilots leave.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use tollgate_model::Span;
use tollgate_provisioning::{ACQUISITION_POLICIES, AcquisitionPolicy, IdleLimit};

use super::parse_span;

/// Returns a parser of the names of policies, whose summaries `--help` shows.
pub(crate) fn acquisition_parser() -> impl TypedValueParser<Value = &'static AcquisitionPolicy> {
    let names = ACQUISITION_POLICIES
        .iter()
        .map(|policy| PossibleValue::new(policy.name).help(policy.summary));
    PossibleValuesParser::new(names)
        .try_map(|name| AcquisitionPolicy::find(&name).ok_or("there is no such policy"))
}

/// Parses a time, or `never`.
pub(crate) fn parse_idle_limit(text: &str) -> Result<IdleLimit, String> {
    match text {
        "never" => Ok(IdleLimit::Never),
        span => parse_span(span)
            .map(|secs| IdleLimit::After(Span::from_secs_f64(secs)))
            .map_err(|error| format!("{error}, or `never`")),
    }
}
