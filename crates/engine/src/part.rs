//! Parts of an attempt: its processes on the hosts beside the one where its program runs. The engine
//! of such a host runs a part like an attempt, under a number that no attempt has.

use std::ffi::OsString;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use tollgate_model::AttemptId;

use crate::{LaunchSpec, ServiceLocation};

/// The hidden argument with which the program of this workspace runs the copies of a part.
pub const PART_ARG: &str = "__part";
/// The variable with the socket on which a host accepts a [`PartRequest`] of the jobs there.
pub const SOCKET_VARIABLE: &str = "TOLLGATE_SPREAD";
/// The variable with the name of the host that a process of an attempt runs on.
pub const HOST_VARIABLE: &str = "TOLLGATE_HOST";
/// The variable with all hosts of an attempt and its processors there: `alpha:4,beta:2`.
pub const HOSTS_VARIABLE: &str = "TOLLGATE_HOSTS";

/// The bits of the number of an attempt that count the tries of a task; the bits above count parts.
const TRY_BITS: u32 = 16;

/// A part of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AttemptPart {
    whole: AttemptId,
    number: u16,
}

impl AttemptPart {
    /// Returns part `number` of an attempt, from 1. None if `number` is 0, if `whole` is a part itself, or
    /// if it is the 65,536th try of its task or a later one.
    pub const fn new(whole: AttemptId, number: u16) -> Option<Self> {
        match number > 0 && whole.attempt >> TRY_BITS == 0 {
            true => Some(Self { whole, number }),
            false => None,
        }
    }

    /// Returns the part that an engine knows under this id. None if the id is that of an attempt.
    pub const fn of(id: AttemptId) -> Option<Self> {
        let number = (id.attempt >> TRY_BITS) as u16;
        let whole = AttemptId {
            attempt: id.attempt & ((1 << TRY_BITS) - 1),
            ..id
        };
        Self::new(whole, number)
    }

    /// Returns the attempt that the part belongs to.
    pub const fn whole(self) -> AttemptId {
        self.whole
    }

    /// Returns the number of the part in its attempt, from 1.
    pub const fn number(self) -> u16 {
        self.number
    }

    /// Returns the id under which engines know the part.
    pub const fn id(self) -> AttemptId {
        AttemptId {
            attempt: self.whole.attempt | (self.number as u32) << TRY_BITS,
            ..self.whole
        }
    }
}

/// Returns the attempt that an id belongs to: the attempt of a part, or the attempt itself.
pub const fn whole_attempt(id: AttemptId) -> AttemptId {
    match AttemptPart::of(id) {
        Some(part) => part.whole(),
        None => id,
    }
}

/// A request of a process of a running attempt: start a part of the attempt on another of its hosts.
/// The part runs the program of this workspace with [`PART_ARG`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PartRequest {
    /// The attempt.
    pub attempt: AttemptId,
    /// Name of the host.
    pub host: String,
    /// Variables for the environment of the part, besides those of its host.
    pub env: Vec<(String, String)>,
}

/// The event of a requested part. At most one event follows a start, and none follows an end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PartEvent {
    /// The part runs.
    Started,
    /// The part has ended, or could not be started, for this reason.
    Ended(String),
    /// The part is not started, for this reason.
    Refused(String),
}

impl PartEvent {
    /// Returns whether no event follows.
    pub const fn is_last(&self) -> bool {
        match self {
            Self::Started => false,
            Self::Ended(_) | Self::Refused(_) => true,
        }
    }
}

/// How the attempts of a host reach the other hosts of theirs, and their service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpreadAccess {
    /// The program of this workspace, as the host's users can run it.
    pub program: PathBuf,
    /// The socket on which the host accepts a [`PartRequest`].
    pub socket: PathBuf,
    /// Where the service is, seen from the host; None if that is not known.
    pub service: Option<ServiceLocation>,
}

/// Parameters of Open MPI (4 and older) and PRRTE (Open MPI 5), by which `mpirun` starts its daemons on other
/// hosts with this program. They are the agent, every daemon from the first host, and none in the background.
const AGENT_PARAMETERS: [&str; 2] = ["OMPI_MCA_plm_rsh_agent", "PRTE_MCA_plm_ssh_agent"];
/// The parameters beside them, each with its value.
const FIXED_PARAMETERS: [(&str, &str); 4] = [
    ("OMPI_MCA_plm_rsh_no_tree_spawn", "1"),
    ("PRTE_MCA_plm_ssh_no_tree_spawn", "1"),
    ("OMPI_MCA_orte_leave_session_attached", "1"),
    ("PRTE_MCA_prte_leave_session_attached", "1"),
];

impl SpreadAccess {
    /// Adds to a launch what its processes need to reach their service and the other hosts of their attempt. A
    /// part gets the program of this host; an attempt gets parameters for `mpirun`, unless its job sets them.
    pub fn add_to(&self, launch: &mut LaunchSpec) {
        if let Some(service) = &self.service {
            service.add_to(launch);
        }
        set(launch, SOCKET_VARIABLE, self.socket.clone().into());
        if AttemptPart::of(launch.attempt).is_some() {
            launch.argv = vec![self.program.clone().into(), PART_ARG.into()];
            return;
        }
        if launch.hosts.is_empty() {
            return;
        }
        let mut agent = self.program.clone().into_os_string();
        agent.push(" spread --agent");
        for name in AGENT_PARAMETERS {
            set_default(launch, name, agent.clone());
        }
        for (name, value) in FIXED_PARAMETERS {
            set_default(launch, name, value.into());
        }
    }
}

/// Sets a variable of a launch.
fn set(launch: &mut LaunchSpec, name: &str, value: OsString) {
    launch.env.retain(|(other, _)| other != name);
    launch.env.push((name.into(), value));
}

/// Sets a variable of a launch that the launch does not set.
fn set_default(launch: &mut LaunchSpec, name: &str, value: OsString) {
    if launch.env.iter().all(|(other, _)| other != name) {
        launch.env.push((name.into(), value));
    }
}

#[cfg(test)]
mod tests {
    use tollgate_model::NodeId;

    use super::*;
    use crate::LaunchHost;

    const WHOLE: AttemptId = AttemptId {
        job: 7,
        task: 2,
        attempt: 3,
    };

    #[test]
    fn part_id_leads_back_to_its_attempt() {
        for number in [1, 2, u16::MAX] {
            let part = AttemptPart::new(WHOLE, number).unwrap();
            assert_eq!(AttemptPart::of(part.id()), Some(part));
            assert_eq!(whole_attempt(part.id()), WHOLE);
            assert_ne!(part.id(), WHOLE);
            assert_eq!(AttemptPart::new(part.id(), 1), None, "no part of a part");
        }
        assert_eq!(AttemptPart::of(WHOLE), None);
        assert_eq!(AttemptPart::new(WHOLE, 0), None);
        assert_eq!(whole_attempt(WHOLE), WHOLE);
    }

    #[test]
    fn launch_gets_parameters_for_mpirun_unless_its_job_sets_them() {
        let access = SpreadAccess {
            program: "/opt/tollgate".into(),
            socket: "/run/spread".into(),
            service: None,
        };
        let mut launch = LaunchSpec::new(WHOLE, vec![NodeId(0)], ["true"], "/");
        launch.hosts = vec![LaunchHost {
            name: "alpha".to_owned(),
            nodes: 1,
        }];
        launch.env = vec![("PRTE_MCA_plm_ssh_agent".into(), "ssh".into())];
        access.add_to(&mut launch);
        let value = |name: &str| {
            let found = launch.env.iter().filter(|(other, _)| other == name);
            let values: Vec<&str> = found.filter_map(|(_, value)| value.to_str()).collect();
            values.join("|")
        };
        assert_eq!(value("TOLLGATE_SPREAD"), "/run/spread");
        assert_eq!(value("PRTE_MCA_plm_ssh_agent"), "ssh");
        assert_eq!(
            value("OMPI_MCA_plm_rsh_agent"),
            "/opt/tollgate spread --agent"
        );
        assert_eq!(launch.argv, ["true"]);
    }

    #[test]
    fn part_runs_the_program_of_its_host() {
        let access = SpreadAccess {
            program: "/opt/tollgate".into(),
            socket: "/run/spread".into(),
            service: None,
        };
        let part = AttemptPart::new(WHOLE, 1).unwrap();
        let mut launch = LaunchSpec::new(part.id(), vec![NodeId(0)], ["elsewhere"], "/");
        access.add_to(&mut launch);
        assert_eq!(launch.argv, ["/opt/tollgate", PART_ARG]);
        assert_eq!(
            launch.env,
            [("TOLLGATE_SPREAD".into(), "/run/spread".into())]
        );
    }
}
