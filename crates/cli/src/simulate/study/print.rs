//! The output of the claims ledger.

use std::io::{self, Write};

use serde_json::json;
use tollgate_study::ClaimResults;
use tollgate_study::claim::ClaimPoints;
use tollgate_study::claim_results::{ClaimResult, ClaimVerdict, PointAgreement};
use tollgate_study::keyword::KeywordEnum;

use super::print_text;
use crate::args::OutputFormat;
use crate::exit::CliFailure;

pub(super) fn ledger(ledger: &ClaimResults, format: OutputFormat) -> Result<(), CliFailure> {
    match format {
        OutputFormat::Table => print_text(&text(ledger)),
        OutputFormat::Csv => {
            let mut table = Vec::new();
            ledger.write(&mut table).map_err(io::Error::other)?;
            io::stdout().lock().write_all(&table)?;
            Ok(())
        }
        OutputFormat::Json => {
            let entries: Vec<_> = ledger.entries.iter().map(object).collect();
            print_text(&format!("{:#}\n", json!({ "claims": entries })))
        }
    }
}

/// Renders two lines per claim, and the counts below. A mark shows an unexpected result.
fn text(ledger: &ClaimResults) -> String {
    let mut text = String::new();
    for entry in &ledger.entries {
        let claim = &entry.claim;
        let mark = if claim.expected.to_string() == verdict_text(entry) {
            ' '
        } else {
            '!'
        };
        let verdict = entry.verdict.to_string();
        let measured = measured_text(entry);
        let points = points_text(entry);
        text += &format!("{mark} {verdict:9}  {:44}  {measured}{points}\n", claim.id);
        text += &format!("             {}: {}\n", claim.source, claim.claim);
    }
    for (kind, counts) in ledger.counts() {
        text += &format!("{:11}  {counts}\n", kind.keyword());
    }
    text
}

/// Returns the verdict in the terms of an expectation. An undecided claim counts as failed.
fn verdict_text(entry: &ClaimResult) -> &'static str {
    match entry.verdict {
        ClaimVerdict::Holds => "holds",
        ClaimVerdict::Fails | ClaimVerdict::Undecided => "fails",
    }
}

/// Returns how many points agree, if not all do.
fn points_text(entry: &ClaimResult) -> String {
    let PointAgreement { agreeing, all } = entry.agreement;
    match agreeing < all {
        true => format!(", {agreeing} of {all} points agree"),
        false => String::new(),
    }
}

fn measured_text(entry: &ClaimResult) -> String {
    let Some(measured) = entry.measured else {
        return "-".to_owned();
    };
    let mut text = format!("{:.4}", measured.mean);
    if let Some(interval) = measured.interval {
        text += &format!(" [{:.4}, {:.4}]", interval.low, interval.high);
    }
    if let Some(weeks) = measured.by_weeks {
        text += &format!(", over weeks [{:.4}, {:.4}]", weeks.low, weeks.high);
    }
    text
}

fn object(entry: &ClaimResult) -> serde_json::Value {
    let interval = entry.measured.and_then(|measured| measured.interval);
    let weeks = entry.measured.and_then(|measured| measured.by_weeks);
    json!({
        "id": entry.claim.id,
        "kind": entry.claim.kind.to_string(),
        "source": entry.claim.source,
        "claim": entry.claim.claim,
        "expected": entry.claim.expected.to_string(),
        "verdict": entry.verdict.to_string(),
        "at": entry.claim.points().map(ClaimPoints::keyword),
        "agree": entry.agreement.share(),
        "by": entry.margin,
        "measured": entry.measured.map(|measured| measured.mean),
        "low": interval.map(|interval| interval.low),
        "high": interval.map(|interval| interval.high),
        "weeks_low": weeks.map(|interval| interval.low),
        "weeks_high": weeks.map(|interval| interval.high),
        "weeks_verdict": entry.over_weeks.map(|verdict| verdict.to_string()),
    })
}
