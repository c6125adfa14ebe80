//! Configuration files and answers of Slurm.
//!
//! A node of Slurm listens at the port that the configuration names, so pilots on one host need
//! different ports. Nodes that join by themselves (`slurmd -Z`) cannot name one. So all nodes that
//! may ever join are in the configuration, in the state FUTURE, which no command shows, and with
//! ports that take turns. A pilot takes the node with its number and gives it back at its end.

use std::fmt::Write as _;
use std::net::IpAddr;
use std::path::Path;

use crate::{NodeGroup, SchedulerNode};

/// The number of nodes of a site. A later pilot takes the node of the one that is this much older.
pub const NODES_PER_SITE: u32 = 1024;
/// The number of ports of nodes. Two pilots on one host whose numbers differ by a multiple of this
/// cannot run at once; the second one ends with an error.
pub const NODE_PORTS: u16 = 256;
/// The memory of nodes whose site does not say how much a pilot has, in MiB: enough for every job.
const ANY_MEMORY_MIB: u64 = 1 << 20;
/// The time from SIGTERM to SIGKILL, in seconds, when a job ends.
pub const KILL_WAIT_S: u64 = 5;

/// The facts that the controller and all nodes share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlurmCluster {
    /// The name of the user who runs all daemons.
    pub user: String,
    /// The name of the controller's host.
    pub host: String,
    /// The address at which the controller listens.
    pub address: IpAddr,
    /// The port of the controller.
    pub port: u16,
    /// The first of [`NODE_PORTS`] ports of nodes.
    pub node_port: u16,
}

/// Where a daemon listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListenAddress {
    /// At the address that the name of its host has, which is the one that others know.
    OfName,
    /// At all addresses of its host, whose name has another one: Slurm knows no third way.
    Any,
}

/// One node as its own host sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlurmNode {
    /// The name of the node.
    pub name: String,
    /// The number of its pilot.
    pub number: u32,
    /// The name of its host.
    pub host: String,
    /// The address at which the controller reaches the node.
    pub address: IpAddr,
    /// The number of its processors.
    pub cores: u32,
    /// Its memory in MiB. None if nothing limits it.
    pub memory_mib: Option<u64>,
}

impl SlurmNode {
    /// Returns the name of the node of a pilot: the site's name and a number.
    pub fn name_of(site: &str, pilot: u32) -> String {
        format!("{site}-{}", place(pilot))
    }
}

/// Returns the number of a pilot's node, from 1.
const fn place(pilot: u32) -> u32 {
    pilot.wrapping_sub(1) % NODES_PER_SITE + 1
}

/// Returns the port of a pilot's node.
pub fn port_of(first: u16, pilot: u32) -> u16 {
    let turn = (place(pilot) - 1) % u32::from(NODE_PORTS);
    first.saturating_add(u16::try_from(turn).unwrap_or(0))
}

/// Returns the controller's `slurm.conf`, also for the commands of its user.
pub fn controller_config(
    cluster: &SlurmCluster,
    dir: &Path,
    sites: &[NodeGroup],
    listen: ListenAddress,
) -> String {
    let mut text = common(cluster, dir, listen);
    let dir = dir.display();
    let _ = write!(
        text,
        "StateSaveLocation={dir}/state\n\
         SlurmctldPidFile={dir}/controller.pid\n\
         SlurmctldLogFile={dir}/log/controller\n\
         SlurmdPort={}\n",
        cluster.node_port
    );
    let last_port = cluster.node_port.saturating_add(NODE_PORTS - 1);
    for site in sites {
        let mut first = 1;
        while first <= NODES_PER_SITE {
            let last = first + u32::from(NODE_PORTS) - 1;
            let _ = writeln!(
                text,
                "NodeName={}-[{first}-{last}] Port=[{}-{last_port}] CPUs={} RealMemory={} Feature={} State=FUTURE",
                site.name,
                cluster.node_port,
                site.cores,
                site.memory_mib.unwrap_or(ANY_MEMORY_MIB),
                site.name,
            );
            first = last + 1;
        }
    }
    let _ = writeln!(
        text,
        "PartitionName=pilots Nodes=ALL Default=YES MaxTime=UNLIMITED DefaultTime={} State=UP",
        default_minutes(sites)
    );
    text
}

/// Returns the time limit, in minutes, of jobs that name none: half of the shortest pilot's time, so
/// that such jobs start on every pilot during its first half.
pub fn default_minutes(sites: &[NodeGroup]) -> u64 {
    let times = sites.iter().map(|site| site.time_s);
    let shortest = times.min().unwrap_or(0);
    (shortest / 120).max(1)
}

/// Returns a node's own `slurm.conf`.
pub fn node_config(
    cluster: &SlurmCluster,
    dir: &Path,
    node: &SlurmNode,
    listen: ListenAddress,
) -> String {
    let mut text = common(cluster, dir, listen);
    let dir = dir.display();
    let port = port_of(cluster.node_port, node.number);
    let _ = write!(
        text,
        "SlurmdSpoolDir={dir}/spool\n\
         SlurmdPidFile={dir}/node.pid\n\
         SlurmdLogFile={dir}/node.log\n\
         SlurmdPort={port}\n\
         NodeName={} NodeHostname={} NodeAddr={} Port={port} CPUs={} RealMemory={}\n\
         PartitionName=pilots Nodes=ALL Default=YES State=UP\n",
        node.name,
        node.host,
        node.address,
        node.cores,
        node.memory_mib.unwrap_or(ANY_MEMORY_MIB),
    );
    text
}

/// The lines that the controller and all nodes have in common.
fn common(cluster: &SlurmCluster, dir: &Path, listen: ListenAddress) -> String {
    let binding = match listen {
        ListenAddress::OfName => "CommunicationParameters=NoCtldInAddrAny,NoInAddrAny\n",
        ListenAddress::Any => "",
    };
    let SlurmCluster {
        user,
        host,
        address,
        port,
        ..
    } = cluster;
    format!(
        "ClusterName=personal\n\
         SlurmctldHost={host}({address})\n\
         SlurmctldPort={port}\n\
         SlurmUser={user}\n\
         SlurmdUser={user}\n\
         AuthType=auth/munge\n\
         AuthInfo=socket={}/munge/socket\n\
         {binding}\
         ProctrackType=proctrack/linuxproc\n\
         TaskPlugin=task/none\n\
         JobAcctGatherType=jobacct_gather/none\n\
         MpiDefault=none\n\
         SelectType=select/cons_tres\n\
         SelectTypeParameters=CR_CPU\n\
         SlurmdParameters=config_overrides\n\
         SchedulerParameters=batch_sched_delay=0,sched_min_interval=0,sched_interval=2,bf_interval=5,bf_continue\n\
         DebugFlags=NO_CONF_HASH\n\
         TreeWidth=65533\n\
         KillWait={KILL_WAIT_S}\n\
         SlurmctldTimeout=30\n\
         SlurmdTimeout=30\n\
         ReturnToService=2\n\
         MailProg=/bin/true\n\
         JobCompType=jobcomp/none\n\
         AccountingStorageType=accounting_storage/none\n",
        dir.display()
    )
}

/// Returns the `cgroup.conf` of a node, whose user has no control groups. `version` is the answer of
/// `slurmd -V`. None for releases that need none; they do not know the word.
pub fn cgroup_config(version: &str) -> Option<&'static str> {
    let (_, number) = version.trim().rsplit_once(' ')?;
    let mut parts = number.split('.').map(|part| part.parse::<u32>().ok());
    let release = (parts.next()??, parts.next()??);
    (release >= (23, 11)).then_some("CgroupPlugin=disabled\n")
}

/// Parses the answer of `sinfo --noheader --Node --format='%N %T'`.
pub(crate) fn parse_nodes(answer: &str) -> Vec<SchedulerNode> {
    let lines = answer.lines().filter_map(|line| {
        let (name, state) = line.trim().split_once(' ')?;
        Some(SchedulerNode {
            name: name.to_owned(),
            state: state.trim().to_owned(),
        })
    });
    lines.collect()
}

/// Returns whether Slurm gave a node up: it is down and does not respond.
pub(crate) fn is_lost(node: &SchedulerNode) -> bool {
    node.state.starts_with("down") && node.state.ends_with('*')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cluster() -> SlurmCluster {
        SlurmCluster {
            user: "ann".to_owned(),
            host: "login".to_owned(),
            address: [192, 0, 2, 1].into(),
            port: 7001,
            node_port: 7100,
        }
    }

    fn sites() -> [NodeGroup; 2] {
        [
            NodeGroup {
                name: "north".to_owned(),
                cores: 2,
                memory_mib: Some(4000),
                time_s: 3600,
            },
            NodeGroup {
                name: "south".to_owned(),
                cores: 1,
                memory_mib: None,
                time_s: 1200,
            },
        ]
    }

    #[test]
    fn controller_has_all_nodes_that_may_join() {
        let listen = ListenAddress::OfName;
        let text = controller_config(&cluster(), Path::new("/home/ann/s"), &sites(), listen);
        insta::assert_snapshot!(text);
    }

    #[test]
    fn node_has_its_own_port_and_address() {
        let node = SlurmNode {
            name: SlurmNode::name_of("north", 3),
            number: 3,
            host: "n17".to_owned(),
            address: [192, 0, 2, 17].into(),
            cores: 2,
            memory_mib: Some(4000),
        };
        let config = |listen| node_config(&cluster(), Path::new("/tmp/p"), &node, listen);
        insta::assert_snapshot!(config(ListenAddress::OfName));
        let line = "CommunicationParameters=NoCtldInAddrAny,NoInAddrAny\n";
        let without = config(ListenAddress::OfName).replace(line, "");
        assert_eq!(config(ListenAddress::Any), without);
    }

    #[test]
    fn names_and_ports_take_turns() {
        assert_eq!(SlurmNode::name_of("a", 1), "a-1");
        assert_eq!(SlurmNode::name_of("a", NODES_PER_SITE), "a-1024");
        assert_eq!(SlurmNode::name_of("a", NODES_PER_SITE + 1), "a-1");
        assert_eq!(port_of(7100, 1), 7100);
        assert_eq!(port_of(7100, 256), 7355);
        assert_eq!(port_of(7100, 257), 7100);
    }

    #[test]
    fn node_that_does_not_respond_is_lost_and_a_drained_one_is_not() {
        let nodes = parse_nodes("north-1 idle\nnorth-2 down*\nnorth-3 drained\nnorth-4 down\n");
        let lost: Vec<bool> = nodes.iter().map(is_lost).collect();
        assert_eq!(lost, [false, true, false, false]);
    }

    #[test]
    fn control_groups_are_switched_off_where_that_is_needed() {
        assert_eq!(cgroup_config("slurm-wlm 22.05.8\n"), None);
        assert_eq!(
            cgroup_config("slurm-wlm 24.11.5\n"),
            Some("CgroupPlugin=disabled\n")
        );
        assert_eq!(cgroup_config("slurm"), None);
    }

    #[test]
    fn jobs_without_a_limit_fit_into_half_of_the_shortest_pilot() {
        assert_eq!(default_minutes(&sites()), 10);
        assert_eq!(default_minutes(&[]), 1);
    }
}
