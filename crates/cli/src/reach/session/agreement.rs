//! The part of `tollgate session agents` about agents: pilots that move between sites.

use std::io::{self, Write};

use schemars::JsonSchema;
use serde::Serialize;
use tollgate_agents::{AgentError, AgentStatus, MemberSite};
use tollgate_client::timestamp::format_iso;

use super::moving::SessionAgency;
use crate::exit::CliFailure;
use crate::output::format;
use crate::output::table::{Column, write_list};

/// The cell of a figure of an agent that does not answer.
const UNKNOWN: &str = "?";

/// The agents of a session whose pilots move.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(super) struct SiteAgreement {
    /// Migration policy.
    policy: String,
    /// Time between two moves of a site.
    period_s: f64,
    /// Number of pilots of the session.
    pilots: u32,
    /// The agents, in the order of the sites.
    agents: Vec<AgentView>,
    /// Sites that were written off.
    dropped: Vec<DroppedView>,
}

/// The agent of a site.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
struct AgentView {
    /// Name of the site.
    site: String,
    /// Address of its agent.
    address: String,
    /// State of the agent; none if it does not answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<AgentStateView>,
    /// Why the agent does not answer, or why the site takes no pilots; none if all is well.
    #[serde(skip_serializing_if = "Option::is_none")]
    trouble: Option<String>,
}

/// The state of an agent.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
struct AgentStateView {
    /// Number of pilots that the site should have.
    wanted: u32,
    /// Number of pilots that run; none if the engine does not answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    running: Option<u32>,
    /// Number of pilots that wait, or are about to be submitted.
    pending: u32,
    /// Value of the site; none if it takes no pilots.
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<f64>,
    /// Mean time that the pilots waited that started; none if none has started.
    #[serde(skip_serializing_if = "Option::is_none")]
    mean_wait_s: Option<f64>,
    /// Number of pilots that the site received since its agent started.
    received: u64,
    /// Number of pilots that the site gave since its agent started.
    given: u64,
    /// Last move; none if nothing has moved since the agent started.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_move: Option<MoveView>,
}

/// A pilot that was given or received.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
struct MoveView {
    /// Instant of the move.
    at: String,
    /// Direction: `gave` or `received`.
    direction: String,
    /// Name of the other site.
    site: String,
    /// Reason: the values of both sites.
    why: String,
}

/// A site that was written off.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
struct DroppedView {
    /// Name of the site.
    site: String,
    /// Number of pilots that were given up.
    pilots: u32,
}

impl SiteAgreement {
    /// Asks the agents of a session.
    ///
    /// # Errors
    /// If the list of sites or the operator's key cannot be read.
    pub(super) fn ask(agency: &SessionAgency) -> Result<Self, CliFailure> {
        let (members, operator) = (agency.members()?, agency.operator()?);
        let agents = members.live();
        let agents = agents.map(|(_, site)| AgentView::new(site, operator.status(site)));
        let dropped = members.dropped.iter().map(|site| DroppedView {
            site: site.name.clone(),
            pilots: site.pilots,
        });
        Ok(Self {
            period_s: members.timing().period.as_secs_f64(),
            pilots: members.pilots(),
            agents: agents.collect(),
            dropped: dropped.collect(),
            policy: members.policy.clone(),
        })
    }

    /// Writes the agents as a table.
    pub(super) fn write_table(&self, out: &mut impl Write, now: &jiff::Zoned) -> io::Result<()> {
        writeln!(
            out,
            "{} pilots move by {}, at most one each {} from or to a site",
            self.pilots,
            self.policy,
            format::format_span(self.period_s)
        )?;
        write_list(out, &AgentView::columns(now), &self.agents)?;
        for agent in &self.agents {
            if let Some(trouble) = &agent.trouble {
                writeln!(out, "site {}: {trouble}", agent.site)?;
            }
        }
        for DroppedView { site, pilots } in &self.dropped {
            writeln!(out, "site {site}: written off, with {pilots} pilots")?;
        }
        Ok(())
    }
}

impl AgentView {
    fn new(site: &MemberSite, status: Result<AgentStatus, AgentError>) -> Self {
        let (state, trouble) = match status {
            Ok(status) => (Some(AgentStateView::new(&status)), status.failure),
            Err(error) => (None, Some(error.to_string())),
        };
        Self {
            site: site.name.clone(),
            address: site.address.clone(),
            state,
            trouble,
        }
    }

    /// Returns the columns of agents.
    fn columns(now: &jiff::Zoned) -> [Column<'_, Self>; 7] {
        let of = |heading, cell: fn(&AgentStateView) -> Option<String>| {
            Column::new(heading, move |agent: &Self| match &agent.state {
                Some(state) => cell(state).unwrap_or_default(),
                None => UNKNOWN.to_owned(),
            })
        };
        [
            Column::new("site", |agent: &Self| agent.site.clone()),
            of("pilots", |state| Some(state.wanted.to_string())),
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
            Column::optional("last move", |agent: &Self| {
                Some(agent.state.as_ref()?.last_move.as_ref()?.describe(now))
            })
            .flexible(),
        ]
    }
}

impl MoveView {
    /// Describes the move.
    fn describe(&self, now: &jiff::Zoned) -> String {
        let at = format::format_short_time(&self.at, now);
        let towards = match self.direction == "gave" {
            true => "to",
            false => "from",
        };
        let Self {
            direction,
            site,
            why,
            ..
        } = self;
        format!("{at} {direction} one {towards} {site}: {why}")
    }
}

impl AgentStateView {
    fn new(status: &AgentStatus) -> Self {
        Self {
            wanted: status.target,
            running: status.running,
            pending: status.pending,
            value: status.value,
            mean_wait_s: status.mean_wait_s,
            received: status.received,
            given: status.given,
            last_move: status.last_move.as_ref().map(|last| MoveView {
                at: format_iso(last.at),
                direction: if last.gave { "gave" } else { "received" }.to_owned(),
                site: last.site.clone(),
                why: last.why.clone(),
            }),
        }
    }
}
