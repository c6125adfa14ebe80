//! Configuration files and answers of HTCondor.
//!
//! Commands of the user are recognised by the file system (FS), daemons of pilots by a token that
//! lets them advertise themselves and nothing more. A job's daemons recognise each other by the key
//! of their match. Everything is encrypted.

use std::fmt::Write as _;
use std::net::IpAddr;
use std::path::Path;

use crate::SchedulerNode;

/// The name of the pool: of its users, its tokens and its file systems.
pub(crate) const POOL: &str = "personal";
/// The identity of daemons in pilots.
pub(crate) const NODE_IDENTITY: &str = "pilot@personal";
/// The time before a pilot's end in which no job may run, in seconds.
const LAST_S: i64 = 30;
/// How long a job is expected to run if it does not say so (`allowed_job_duration`), in seconds.
const DEFAULT_JOB_S: i64 = 60;

/// The facts that the pool's daemons share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CondorPool {
    /// The name of the user who runs all daemons of the log-in host.
    pub user: String,
    /// The address at which the collector listens.
    pub address: IpAddr,
    /// The port of the collector.
    pub port: u16,
}

/// One execution daemon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CondorNode {
    /// The name of the daemon.
    pub name: String,
    /// The name of its site.
    pub site: String,
    /// The address at which the pool reaches the daemon.
    pub address: IpAddr,
    /// The number of its processors.
    pub cores: u32,
    /// Its memory in MiB. None if nothing limits it.
    pub memory_mib: Option<u64>,
    /// The end of the pilot in seconds since 1970. None if it is not known.
    pub until_s: Option<i64>,
    /// The time without a job after which the daemon ends, in seconds.
    pub idle_s: u64,
}

/// Directories of HTCondor's own programs, which differ between systems.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CondorPrograms {
    /// The directory with `bin` and `sbin`.
    pub release: String,
    /// The directory of the programs that only daemons start.
    pub libexec: String,
    /// The directory of libraries.
    pub lib: String,
}

/// Returns the configuration of the log-in host's daemons, also for the commands of its user.
pub fn scheduler_config(pool: &CondorPool, dir: &Path, programs: &CondorPrograms) -> String {
    let user = format!("{}@{POOL}", pool.user);
    let mut text = common(pool, dir, programs, pool.address);
    let _ = write!(
        text,
        "DAEMON_LIST = MASTER COLLECTOR NEGOTIATOR SCHEDD\n\
         COLLECTOR_NAME = {POOL}\n\
         FILESYSTEM_DOMAIN = {POOL}\n\
         SEC_PASSWORD_DIRECTORY = {0}/keys\n\
         SEC_TOKEN_POOL_SIGNING_KEY_FILE = {0}/keys/POOL\n\
         SEC_CLIENT_AUTHENTICATION_METHODS = FS, IDTOKENS\n\
         ALLOW_READ = {user}, {NODE_IDENTITY}\n\
         ALLOW_WRITE = {user}\n\
         ALLOW_ADMINISTRATOR = {user}\n\
         ALLOW_DAEMON = {user}\n\
         ALLOW_NEGOTIATOR = {user}\n\
         ALLOW_ADVERTISE_MASTER = {user}, {NODE_IDENTITY}\n\
         ALLOW_ADVERTISE_STARTD = {NODE_IDENTITY}\n\
         ALLOW_ADVERTISE_SCHEDD = {user}\n\
         JOB_DEFAULT_LEASE_DURATION = 60\n\
         NEGOTIATOR_INTERVAL = 5\n\
         NEGOTIATOR_CYCLE_DELAY = 1\n\
         NEGOTIATOR_MIN_INTERVAL = 1\n\
         SCHEDD_INTERVAL = 5\n\
         SCHEDD_MIN_INTERVAL = 1\n\
         JOB_START_DELAY = 0\n",
        dir.display()
    );
    text
}

/// Returns the configuration of an execution daemon.
pub fn node_config(
    pool: &CondorPool,
    dir: &Path,
    programs: &CondorPrograms,
    node: &CondorNode,
) -> String {
    let user = format!("{}@{POOL}", pool.user);
    let mut text = common(pool, dir, programs, node.address);
    let _ = write!(
        text,
        "DAEMON_LIST = MASTER STARTD\n\
         # Files of jobs are transferred, whatever the hosts share.\n\
         FILESYSTEM_DOMAIN = {}.{POOL}\n\
         # Daemons of one user on one host must not take each other for the same daemon.\n\
         SEC_CLIENT_AUTHENTICATION_METHODS = IDTOKENS\n\
         SEC_USE_FAMILY_SESSION = False\n\
         ALLOW_READ = *\n\
         ALLOW_WRITE = {user}\n\
         ALLOW_ADMINISTRATOR = {user}\n\
         ALLOW_DAEMON = {user}, submit-side@matchsession, execute-side@matchsession\n\
         STARTD_NAME = {}\n\
         NUM_CPUS = {}\n",
        node.site, node.name, node.cores
    );
    if let Some(memory) = node.memory_mib {
        let _ = writeln!(text, "MEMORY = {memory}");
    }
    let start = match node.until_s {
        None => "True".to_owned(),
        Some(until) => {
            let _ = writeln!(text, "TollgateEnd = {until}");
            format!(
                "TollgateEnd - time() > {LAST_S} + \
                 ifThenElse(TARGET.AllowedJobDuration =?= undefined, {DEFAULT_JOB_S}, TARGET.AllowedJobDuration)"
            )
        }
    };
    let _ = write!(
        text,
        "TollgateSite = \"{}\"\n\
         NUM_SLOTS_TYPE_1 = 1\n\
         SLOT_TYPE_1 = 100%\n\
         SLOT_TYPE_1_PARTITIONABLE = True\n\
         START = {start}\n\
         SUSPEND = False\n\
         PREEMPT = False\n\
         KILL = False\n\
         STARTD_ATTRS = $(STARTD_ATTRS) TollgateSite{}\n\
         STARTD_NOCLAIM_SHUTDOWN = {}\n\
         MachineMaxVacateTime = 5\n\
         SHUTDOWN_GRACEFUL_TIMEOUT = 8\n\
         UPDATE_INTERVAL = 10\n\
         MOUNT_UNDER_SCRATCH =\n\
         PER_JOB_NAMESPACES = False\n\
         USE_PID_NAMESPACES = False\n\
         BASE_CGROUP =\n",
        node.site,
        if node.until_s.is_some() {
            " TollgateEnd"
        } else {
            ""
        },
        node.idle_s
    );
    text
}

fn common(pool: &CondorPool, dir: &Path, programs: &CondorPrograms, own: IpAddr) -> String {
    let CondorPrograms {
        release,
        libexec,
        lib,
    } = programs;
    let (has_ipv4, has_ipv6) = (own.is_ipv4(), own.is_ipv6());
    let (host, dir) = (pool.address, dir.display());
    let collector = match pool.address {
        IpAddr::V4(address) => format!("{address}:{}", pool.port),
        IpAddr::V6(address) => format!("[{address}]:{}", pool.port),
    };
    format!(
        "CONDOR_HOST = {host}\n\
         COLLECTOR_HOST = {collector}\n\
         NETWORK_INTERFACE = {own}\n\
         BIND_ALL_INTERFACES = False\n\
         ENABLE_IPV4 = {has_ipv4}\n\
         ENABLE_IPV6 = {has_ipv6}\n\
         LOCAL_CONFIG_FILE =\n\
         LOCAL_CONFIG_DIR =\n\
         RELEASE_DIR = {release}\n\
         LIBEXEC = {libexec}\n\
         LIB = {lib}\n\
         LOCAL_DIR = {dir}\n\
         LOG = {dir}/log\n\
         SPOOL = {dir}/spool\n\
         EXECUTE = {dir}/execute\n\
         LOCK = {dir}/lock\n\
         RUN = {dir}/run\n\
         USE_SHARED_PORT = False\n\
         UID_DOMAIN = {POOL}\n\
         TRUST_DOMAIN = {POOL}\n\
         SEC_TOKEN_DIRECTORY = {dir}/tokens\n\
         SEC_TOKEN_SYSTEM_DIRECTORY = {dir}/tokens\n\
         SEC_DEFAULT_AUTHENTICATION = REQUIRED\n\
         SEC_DEFAULT_AUTHENTICATION_METHODS = FS, IDTOKENS\n\
         SEC_DEFAULT_INTEGRITY = REQUIRED\n\
         SEC_DEFAULT_ENCRYPTION = REQUIRED\n\
         SEC_READ_AUTHENTICATION = REQUIRED\n\
         SEC_CLIENT_AUTHENTICATION = REQUIRED\n\
         SEC_ENABLE_MATCH_PASSWORD_AUTHENTICATION = True\n"
    )
}

/// Parses the answer of `condor_status -autoformat Machine State Name`, one line for each slot.
pub(crate) fn parse_nodes(answer: &str) -> Vec<SchedulerNode> {
    let lines = answer.lines().filter_map(|line| {
        let (state, name) = line.trim().split_once(' ')?;
        Some(SchedulerNode {
            name: name.to_owned(),
            state: state.to_lowercase(),
        })
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool() -> CondorPool {
        CondorPool {
            user: "ann".to_owned(),
            address: [192, 0, 2, 1].into(),
            port: 9700,
        }
    }

    fn programs() -> CondorPrograms {
        CondorPrograms {
            release: "/usr".to_owned(),
            libexec: "/usr/libexec/condor".to_owned(),
            lib: "/usr/lib/condor".to_owned(),
        }
    }

    #[test]
    fn scheduler_admits_its_user_and_nodes_with_a_token() {
        let text = scheduler_config(&pool(), Path::new("/home/ann/s"), &programs());
        insta::assert_snapshot!(text);
    }

    #[test]
    fn node_starts_no_job_that_its_pilot_would_not_outlive() {
        let node = CondorNode {
            name: "north-3".to_owned(),
            site: "north".to_owned(),
            address: [192, 0, 2, 17].into(),
            cores: 2,
            memory_mib: Some(4000),
            until_s: Some(1_800_000_000),
            idle_s: 300,
        };
        insta::assert_snapshot!(node_config(
            &pool(),
            Path::new("/tmp/p"),
            &programs(),
            &node
        ));
    }

    #[test]
    fn slots_are_read_with_their_states() {
        let nodes = parse_nodes("Unclaimed slot1@north-3@n17\nClaimed slot1_1@north-3@n17\n");
        let names: Vec<&str> = nodes.iter().map(|node| node.name.as_str()).collect();
        assert_eq!(names, ["slot1@north-3@n17", "slot1_1@north-3@n17"]);
        assert_eq!(nodes[1].state, "claimed");
    }
}
