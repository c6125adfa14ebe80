//! The handler for usage, and the days that records are asked for by.

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::{Extension, Json};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::Deserialize;
use tollgate_client::records::{UsageEntry, UsageReport};
use tollgate_model::{Instant, Span};
use tollgate_store::{RecordFilter, UsageKeys, UsageRow};

use super::convert;
use super::error::ApiError;
use super::state::{ApiState, JsonResult, query_store, visible_user};
use crate::access::Peer;

/// Microseconds in an hour.
const HOUR_MICROS: f64 = 3.6e9;

/// The requested usage.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct UsageQuery {
    /// Keys of the sums, with commas: `user`, `account`, `day`. All three if left out; one sum if empty.
    by: Option<String>,
    /// First day, in UTC: `2026-12-01`.
    since: Option<String>,
    /// Last day, in UTC.
    until: Option<String>,
}

/// Returns the usage that the peer may see.
pub(super) async fn usage(
    State(service): State<ApiState>,
    Extension(peer): Extension<Peer>,
    query: Result<Query<UsageQuery>, QueryRejection>,
) -> JsonResult<UsageReport> {
    let Query(query) = query?;
    let by = keys(query.by.as_deref().unwrap_or("user,account,day"))?;
    let filter = filter(&peer, query.since.as_deref(), query.until.as_deref())?;
    let names = service.names.clone();
    let usage = query_store(&service, move |reader| {
        let rows = reader.usage(&filter, by)?;
        Ok(rows
            .into_iter()
            .map(|row| {
                let login = row.user.map(|user| names.name(user));
                let user = row.user.map(|user| names.uid(user));
                entry(UsageRow { user, ..row }, login)
            })
            .collect())
    })
    .await?;
    Ok(Json(UsageReport {
        since: query.since,
        until: query.until,
        usage,
    }))
}

/// Returns the records that a peer may see on some days; both days are included.
pub(super) fn filter(
    peer: &Peer,
    since: Option<&str>,
    until: Option<&str>,
) -> Result<RecordFilter, ApiError> {
    let since = since.map(|word| start_of_day("since", word)).transpose()?;
    let until = until.map(|word| start_of_day("until", word)).transpose()?;
    Ok(RecordFilter {
        user: visible_user(peer),
        since,
        until: until.map(|day| day + Span::from_secs(86_400)),
    })
}

fn start_of_day(field: &str, word: &str) -> Result<Instant, ApiError> {
    let expected = "a day as in 2026-12-01";
    let bad = || ApiError::field(field, expected);
    let day: Date = word.parse().map_err(|_| bad())?;
    // The store begins with 1970, and the last day of the calendar has none behind it.
    if word.len() != 10 || !(1970..9999).contains(&day.year()) {
        return Err(bad());
    }
    let start = day.to_zoned(TimeZone::UTC).map_err(|_| bad())?;
    Ok(Instant::from_micros(start.timestamp().as_microsecond()))
}

fn keys(words: &str) -> Result<UsageKeys, ApiError> {
    let mut by = UsageKeys::default();
    for word in words.split(',').filter(|word| !word.is_empty()) {
        match word {
            "user" => by.user = true,
            "account" => by.account = true,
            "day" => by.day = true,
            _ => return Err(ApiError::field("by", "some of user, account and day")),
        }
    }
    Ok(by)
}

fn entry(row: UsageRow, login: Option<String>) -> UsageEntry {
    let hours = |span: Span| span.as_micros() as f64 / HOUR_MICROS;
    UsageEntry {
        user_id: row.user,
        login,
        account: row.account,
        day: row.day.map(convert::day_text),
        job_count: row.jobs,
        cpu_hours: row.core_hours,
        wall_hours: hours(row.wall),
        cpu_used_hours: hours(row.cpu),
        wait_hours: hours(row.wait),
        kept: row.books.kept(),
        broken: row.books.broken(),
        void: row.books.void(),
        unpromised: row.books.unpromised(),
        unpromised_in_time: row.books.unpromised_in_time(),
        rejected: row.books.rejected(),
        charges: row.charges.as_f64(),
        penalties: row.penalties.as_f64(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_begin_at_midnight_in_utc() {
        let start = start_of_day("since", "1970-01-02").unwrap();
        assert_eq!(start, Instant::from_secs(86_400));
        for word in [
            "",
            "1969-12-31",
            "2026-13-01",
            "2026-12-01T09:00:00Z",
            "9999-12-31",
        ] {
            assert!(start_of_day("since", word).is_err(), "{word}");
        }
    }

    #[test]
    fn keys_are_named_in_any_order() {
        let by = keys("day,user").unwrap();
        assert!(by.user && by.day && !by.account);
        assert_eq!(keys("").unwrap(), UsageKeys::default());
        assert!(keys("group").is_err());
    }
}
