//! What `scontrol show` shows.

use std::io::{self, Write};

use tollgate_client::ApiClient;
use tollgate_client::types::ServiceStatus;
use tollgate_frontends::slurm::scontrol_record::scontrol_record;
use tollgate_frontends::slurm::{
    CLUSTER_NAME, DEFAULT_PARTITION, MemoryUnit, SlurmError, SlurmJobName, hosts,
};

use super::{TOOL, refused};
use crate::connection::endpoint::ServiceAddressArgs;
use crate::jobs::frontends::slurm::failure::SlurmFailure;
use crate::jobs::frontends::slurm::fetch::{self, MIN_JOB_AGE_S, RowFilter, RowSelection};
use crate::jobs::frontends::slurm::hosts::SlurmHost;
use crate::jobs::frontends::slurm::{self, SLURM_VERSION};
use crate::output::format;

/// The greatest index of a task, and one.
const MAX_ARRAY_SIZE: u32 = 1_000_001;

/// How records are laid out.
#[derive(Clone, Copy)]
pub(super) struct RecordLayout {
    pub(super) one_line: bool,
}

impl RecordLayout {
    /// Writes a record of several lines, or in one.
    fn write(self, out: &mut impl Write, lines: &[String]) -> io::Result<()> {
        match self.one_line {
            true => writeln!(out, "{}", lines.join(" ")),
            false => writeln!(out, "{}\n", lines.join("\n   ")),
        }
    }
}

/// Shows what an entity and names stand for.
pub(super) fn show(
    out: &mut impl Write,
    entity: &str,
    names: &[&str],
    layout: RecordLayout,
    address: &ServiceAddressArgs,
) -> Result<(), SlurmFailure> {
    let (entity, inline) = match entity.split_once('=') {
        Some((entity, name)) => (entity, Some(name)),
        None => (entity, None),
    };
    let lower = entity.to_ascii_lowercase();
    let is_word = |word: &str, least: usize| word.starts_with(&lower) && lower.len() >= least;
    if is_word("hostnames", 5) || is_word("hostname", 5) {
        let of_job = std::env::var("SLURM_JOB_NODELIST").ok();
        let list = names.first().map(|list| (*list).to_owned()).or(of_job);
        let list = list.ok_or_else(|| refused("show hostnames: expected a list of hosts"))?;
        let expanded = hosts::expand(&list);
        let wrong = || SlurmError::of(TOOL, format!("Invalid hostlist: {list}"));
        for host in expanded.ok_or_else(wrong)? {
            writeln!(out, "{host}")?;
        }
        return Ok(());
    }
    if is_word("hostlist", 5) || is_word("hostlistsorted", 5) {
        let mut all: Vec<&str> = names.iter().flat_map(|list| list.split(',')).collect();
        if lower.ends_with("sorted") {
            all.sort_unstable();
        }
        return Ok(writeln!(out, "{}", hosts::compress(all))?);
    }
    let mut client = address.connect()?;
    if is_word("config", 3) {
        return config(out, &mut client);
    }
    if is_word("jobs", 1) || lower == "jobid" {
        return jobs(out, &mut client, inline.or(names.first().copied()), layout);
    }
    if is_word("partitions", 2) || lower == "partitionname" {
        return partitions(out, &mut client, inline.or(names.first().copied()), layout);
    }
    if is_word("nodes", 1) || lower == "nodename" {
        return nodes(out, &mut client, inline.or(names.first().copied()), layout);
    }
    if is_word("steps", 2) || is_word("reservations", 1) || is_word("licenses", 2) {
        return Ok(writeln!(out, "No {lower}s in the system")?);
    }
    Err(SlurmError::new(format!("invalid entity:{entity} for keyword:show "), 1).into())
}

fn config(out: &mut impl Write, client: &mut ApiClient) -> Result<(), SlurmFailure> {
    let status: ServiceStatus = client.get("/v1/status")?;
    let now = format::now();
    let now = now.strftime("%Y-%m-%dT%H:%M:%S");
    writeln!(out, "Configuration data as of {now}")?;
    let host = rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned();
    for (key, value) in [
        (
            "AccountingStorageType",
            "accounting_storage/slurmdbd".to_owned(),
        ),
        ("ClusterName", CLUSTER_NAME.to_owned()),
        ("JobAcctGatherType", "jobacct_gather/cgroup".to_owned()),
        ("JobRequeue", "0".to_owned()),
        ("MaxArraySize", MAX_ARRAY_SIZE.to_string()),
        ("MaxJobCount", "100000".to_owned()),
        ("MinJobAge", format!("{MIN_JOB_AGE_S} sec")),
        ("SchedulerType", format!("tollgate/{}", status.policy)),
        ("SelectType", "select/cons_tres".to_owned()),
        ("SelectTypeParameters", "CR_CPU_MEMORY".to_owned()),
        ("SLURM_CONF", "(null)".to_owned()),
        ("SLURM_VERSION", SLURM_VERSION.to_owned()),
        ("SlurmctldHost[0]", host),
    ] {
        writeln!(out, "{key:<23} = {value}")?;
    }
    Ok(writeln!(out)?)
}

fn jobs(
    out: &mut impl Write,
    client: &mut ApiClient,
    name: Option<&str>,
    layout: RecordLayout,
) -> Result<(), SlurmFailure> {
    let context = slurm::context(MemoryUnit::default());
    let mut rows = match name {
        None => {
            let oldest = jiff::SignedDuration::from_secs(MIN_JOB_AGE_S);
            let selection = RowSelection {
                joins_waiting: true,
                over_since: Some(context.clock.now - oldest),
            };
            let rows = fetch::all(client, selection, &RowFilter::default())?;
            if rows.is_empty() {
                return Ok(writeln!(out, "No jobs in the system")?);
            }
            rows
        }
        Some(list) => {
            let list = list.strip_prefix("jobid=").unwrap_or(list);
            let names = SlurmJobName::parse_list(list).map_err(|_| {
                SlurmError::new("scontrol_print_job error: Invalid job id specified", 1)
            })?;
            let mut rows = Vec::new();
            for name in &names {
                let found = fetch::named(client, name, true)?;
                rows.extend(found.ok_or_else(SlurmError::unknown_job)?);
            }
            fetch::add_forecasts(client, &mut rows)?;
            rows
        }
    };
    rows.sort_by_key(|row| (row.job.id, row.job.task));
    for row in &rows {
        layout.write(out, &scontrol_record(row, &context))?;
    }
    Ok(())
}

fn partitions(
    out: &mut impl Write,
    client: &mut ApiClient,
    name: Option<&str>,
    layout: RecordLayout,
) -> Result<(), SlurmFailure> {
    let hosts = slurm::hosts::all(client)?;
    let list = hosts::compress(hosts.iter().map(|host| host.name.as_str()));
    let cores: u32 = hosts.iter().map(|host| host.cores).sum();
    let memory: u64 = hosts.iter().map(|host| host.memory_mib).sum();
    // Any label is a partition with every host.
    let name = name.unwrap_or(DEFAULT_PARTITION);
    let default = if name == DEFAULT_PARTITION {
        "YES"
    } else {
        "NO"
    };
    let count = hosts.len();
    let lines = [
        format!("PartitionName={name}"),
        "AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL".to_owned(),
        format!("AllocNodes=ALL Default={default} QoS=N/A"),
        "DefaultTime=NONE DisableRootJobs=NO ExclusiveUser=NO GraceTime=0 Hidden=NO".to_owned(),
        "MaxNodes=UNLIMITED MaxTime=UNLIMITED MinNodes=0 LLN=NO MaxCPUsPerNode=UNLIMITED"
            .to_owned(),
        format!("Nodes={list}"),
        "PriorityJobFactor=1 PriorityTier=1 RootOnly=NO ReqResv=NO OverSubscribe=NO".to_owned(),
        "OverTimeLimit=NONE PreemptMode=OFF".to_owned(),
        format!("State=UP TotalCPUs={cores} TotalNodes={count} SelectTypeParameters=NONE"),
        "DefMemPerNode=UNLIMITED MaxMemPerNode=UNLIMITED".to_owned(),
        format!("TRES=cpu={cores},mem={memory}M,node={count},billing={cores}"),
    ];
    Ok(layout.write(out, &lines)?)
}

fn nodes(
    out: &mut impl Write,
    client: &mut ApiClient,
    name: Option<&str>,
    layout: RecordLayout,
) -> Result<(), SlurmFailure> {
    let all = slurm::hosts::all(client)?;
    let requested = name.map(|name| hosts::expand(name).unwrap_or_default());
    let shown: Vec<&SlurmHost> = all
        .iter()
        .filter(|host| {
            requested
                .as_ref()
                .is_none_or(|requested| requested.contains(&host.name))
        })
        .collect();
    if let (true, Some(name)) = (shown.is_empty(), name) {
        return Err(SlurmError::new(format!("Node {name} not found"), 1).into());
    }
    for host in shown {
        let (cores, memory, busy) = (host.cores, host.memory_mib, host.busy);
        let state = host.state().0.to_ascii_uppercase();
        let lines = [
            format!(
                "NodeName={} Arch={} CoresPerSocket=1",
                host.name,
                std::env::consts::ARCH
            ),
            format!("CPUAlloc={busy} CPUEfctv={cores} CPUTot={cores} CPULoad=N/A"),
            "AvailableFeatures=(null) ActiveFeatures=(null)".to_owned(),
            format!("Gres={}", host.gres()),
            format!(
                "NodeAddr={0} NodeHostName={0} Version={1}",
                host.name, SLURM_VERSION
            ),
            format!("RealMemory={memory} AllocMem=0 FreeMem=N/A Sockets={cores} Boards=1"),
            format!("State={state} ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A"),
            format!("Partitions={DEFAULT_PARTITION}"),
            format!("CfgTRES=cpu={cores},mem={memory}M,billing={cores}"),
        ];
        layout.write(out, &lines)?;
    }
    Ok(())
}
