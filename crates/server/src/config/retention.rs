//! Settings of how long records of jobs are kept.

use jiff::{SpanRelativeTo, Unit};
use serde::{Deserialize, Serialize};
use tollgate_client::limits::{MAX_SPAN_S, MIN_SPAN_S};
use tollgate_model::Span;

use super::error::ConfigError;

/// How long records of jobs are kept.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RetentionConfig {
    /// Time from the end of a job to the removal of its records, as in `90d`, `12w` or `48h`. Default: they
    /// are never removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = &"90d")]
    pub jobs: Option<String>,
}

impl RetentionConfig {
    pub(super) fn keep_jobs(&self) -> Result<Option<Span>, ConfigError> {
        let Some(words) = &self.jobs else {
            return Ok(None);
        };
        let days = SpanRelativeTo::days_are_24_hours();
        let read = words.parse::<jiff::Span>();
        let secs = read.and_then(|span| span.total((Unit::Second, days))).ok();
        let secs = secs.filter(|secs| (MIN_SPAN_S..=MAX_SPAN_S).contains(secs));
        let secs = secs.ok_or(ConfigError::Range {
            key: "retention.jobs",
            expected: "a span as in 90d, 12w or 48h, at most a hundred years",
            found: words.clone(),
        })?;
        Ok(Some(Span::from_secs_f64(secs)))
    }
}
