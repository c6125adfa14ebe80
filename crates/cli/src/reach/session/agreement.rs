//! The part of `tollgate session agents` about agents: pilots that move between sites.

use std::io::{self, Write};

use tollgate_session::{
    AgentStateView, AgentView, DroppedView, MoveDirection, MoveView, SiteAgreement,
};

use crate::output::format;
use crate::output::table::{Column, write_list};

/// The cell of a figure of an agent that does not answer.
const UNKNOWN: &str = "?";

/// Writes the agents as a table.
pub(super) fn write_table(
    agreement: &SiteAgreement,
    out: &mut impl Write,
    now: &jiff::Zoned,
) -> io::Result<()> {
    writeln!(
        out,
        "{} pilots move by {}, at most one each {} from or to a site",
        agreement.pilots,
        agreement.policy,
        format::format_span(agreement.period_s)
    )?;
    write_list(out, &columns(now), &agreement.agents)?;
    for agent in &agreement.agents {
        if let Some(failure) = &agent.failure {
            writeln!(out, "site {}: {failure}", agent.site)?;
        }
    }
    for DroppedView { site, pilots } in &agreement.dropped {
        writeln!(out, "site {site}: written off, with {pilots} pilots")?;
    }
    Ok(())
}

/// Returns the columns of agents.
fn columns(now: &jiff::Zoned) -> [Column<'_, AgentView>; 7] {
    let of = |heading, cell: fn(&AgentStateView) -> Option<String>| {
        Column::new(heading, move |agent: &AgentView| match &agent.state {
            Some(state) => cell(state).unwrap_or_default(),
            None => UNKNOWN.to_owned(),
        })
    };
    [
        Column::new("site", |agent: &AgentView| agent.site.clone()),
        of("pilots", |state| Some(state.target.to_string())),
        of("runs", |state| match state.running {
            Some(running) => Some(running.to_string()),
            None => Some(UNKNOWN.to_owned()),
        }),
        of("waits", |state| Some(state.pending.to_string())),
        of("value", |state| match state.value {
            Some(value) => Some(format!("{value:.2}")),
            None => Some("none".to_owned()),
        }),
        of("waited", |state| state.mean_wait_s.map(format::format_span)),
        Column::optional("last move", |agent: &AgentView| {
            Some(describe(agent.state.as_ref()?.last_move.as_ref()?, now))
        })
        .flexible(),
    ]
}

/// Describes a move.
fn describe(last: &MoveView, now: &jiff::Zoned) -> String {
    let at = format::format_short_time(&last.at, now);
    let moved = match last.direction {
        MoveDirection::Gave => "gave one to",
        MoveDirection::Received => "received one from",
    };
    format!("{at} {moved} {}: {}", last.site, last.why)
}
