//! The states of the agents of a session: pilots that move between sites.

use schemars::JsonSchema;
use serde::Serialize;
use tollgate_agents::{AgentError, AgentStatus, MemberSite};
use tollgate_client::timestamp::format_iso;

use crate::error::SessionError;
use crate::moving::SessionAgency;

/// The agents of a session whose pilots move.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SiteAgreement {
    /// Migration policy.
    pub policy: String,
    /// Time between two moves of a site.
    pub period_s: f64,
    /// Number of pilots of the session.
    pub pilots: u32,
    /// The agents, in the order of the sites.
    pub agents: Vec<AgentView>,
    /// Sites that were written off.
    pub dropped: Vec<DroppedView>,
}

/// The agent of a site.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct AgentView {
    /// Name of the site.
    pub site: String,
    /// Address of its agent.
    pub address: String,
    /// State of the agent; none if it does not answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<AgentStateView>,
    /// Why the agent does not answer, or why the site takes no pilots; none if all is well.
    #[serde(rename = "trouble", skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// The state of an agent.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct AgentStateView {
    /// Number of pilots that the site should have.
    #[serde(rename = "wanted")]
    pub target: u32,
    /// Number of pilots that run; none if the engine does not answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub running: Option<u32>,
    /// Number of pilots that wait, or are about to be submitted.
    pub pending: u32,
    /// Value of the site; none if it takes no pilots.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// Mean time that the pilots waited that started; none if none has started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean_wait_s: Option<f64>,
    /// Number of pilots that the site received since its agent started.
    pub received: u64,
    /// Number of pilots that the site gave since its agent started.
    pub given: u64,
    /// Last move; none if nothing has moved since the agent started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_move: Option<MoveView>,
}

/// A pilot that was given or received.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MoveView {
    /// Instant of the move.
    pub at: String,
    /// Direction of the move.
    pub direction: MoveDirection,
    /// Name of the other site.
    pub site: String,
    /// Reason: the values of both sites.
    pub why: String,
}

/// The direction of a move, as its site sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MoveDirection {
    /// The site gave the pilot to the other site.
    Gave,
    /// The site received the pilot from the other site.
    Received,
}

/// A site that was written off.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct DroppedView {
    /// Name of the site.
    pub site: String,
    /// Number of pilots that were given up.
    pub pilots: u32,
}

impl SiteAgreement {
    /// Asks the agents of a session.
    ///
    /// # Errors
    /// If the list of sites or the operator's key cannot be read.
    pub fn query(agency: &SessionAgency) -> Result<Self, SessionError> {
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
}

impl AgentView {
    fn new(site: &MemberSite, status: Result<AgentStatus, AgentError>) -> Self {
        let (state, failure) = match status {
            Ok(status) => (Some(AgentStateView::new(&status)), status.failure),
            Err(error) => (None, Some(error.to_string())),
        };
        Self {
            site: site.name.clone(),
            address: site.address.clone(),
            state,
            failure,
        }
    }
}

impl AgentStateView {
    fn new(status: &AgentStatus) -> Self {
        Self {
            target: status.target,
            running: status.running,
            pending: status.pending,
            value: status.value,
            mean_wait_s: status.mean_wait_s,
            received: status.received,
            given: status.given,
            last_move: status.last_move.as_ref().map(|last| MoveView {
                at: format_iso(last.at),
                direction: match last.gave {
                    true => MoveDirection::Gave,
                    false => MoveDirection::Received,
                },
                site: last.site.clone(),
                why: last.why.clone(),
            }),
        }
    }
}
