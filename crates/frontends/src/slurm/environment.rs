//! The environment of a job of `sbatch`: what `--export` passes on, and the variables of Slurm that are known at the
//! submission.

use super::sbatch_job::{CLUSTER_NAME, RequestedMemory, SbatchOptions};
use crate::place::{LOCATION, SubmitPlace};
use crate::variables::split_list;

/// The partition of jobs that name none.
pub const DEFAULT_PARTITION: &str = "tollgate";

/// Variables that a job of the service has, and that its own jobs must not inherit.
const OF_OUTER_JOB: [&str; 19] = [
    "TOLLGATE_ATTEMPT",
    "TOLLGATE_COPIES",
    "TOLLGATE_GPU",
    "TOLLGATE_HOST",
    "TOLLGATE_HOSTS",
    "TOLLGATE_JOB",
    "TOLLGATE_NODEFILE",
    "TOLLGATE_NODES",
    "TOLLGATE_NUMBER",
    "TOLLGATE_PROCS",
    "TOLLGATE_RANK",
    "TOLLGATE_RUNNER",
    "TOLLGATE_SITE",
    "TOLLGATE_SPREAD",
    "TOLLGATE_TASK",
    "TOLLGATE_TRY",
    "TOLLGATE_UNTIL",
    "PBS_NODEFILE",
    "PE_HOSTFILE",
];
/// The beginnings of variables that belong to an outer job of Slurm, or to MPI in it.
const OUTER_PREFIXES: [&str; 6] = ["SLURM_", "SLURMD_", "PMI", "OMPI_", "PRTE_", "HYDRA_"];
/// Variables of Slurm that are settings of the user.
const KEPT: [&str; 2] = ["SLURM_CONF", "SLURM_TIME_FORMAT"];

/// Returns whether jobs inherit a variable of the environment of `sbatch`.
fn is_inherited(name: &str) -> bool {
    let is_outer = OF_OUTER_JOB.contains(&name)
        || LOCATION.contains(&name)
        || OUTER_PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    !is_outer || KEPT.contains(&name)
}

/// Returns the variables that `--export` passes on, as a request takes them: `NAME=VALUE`.
pub(crate) fn exported(export: Option<&str>, place: &SubmitPlace) -> Vec<String> {
    let list = split_list(export.unwrap_or("ALL"));
    let mut env = Vec::new();
    let set = |name: &str| Some(format!("{name}={}", place.variable(name)?));
    for word in &list {
        match word.as_str() {
            "ALL" => {
                let names = place.variables.keys().map(String::as_str);
                env.extend(names.filter(|name| is_inherited(name)).filter_map(set));
            }
            "NONE" | "NIL" => {}
            word if word.contains('=') => env.push(word.to_owned()),
            // A variable that is not set is left out, as in Slurm.
            name => env.extend(set(name)),
        }
    }
    env
}

/// The parts of a job that its variables name.
pub(crate) struct VariableFacts<'a> {
    pub(crate) options: &'a SbatchOptions,
    pub(crate) name: &'a str,
    pub(crate) n_tasks: u32,
    pub(crate) place: &'a SubmitPlace,
}

/// Returns the variables of Slurm that are known at the submission, each as `NAME=VALUE`.
pub(crate) fn slurm_variables(facts: &VariableFacts<'_>) -> Vec<String> {
    let VariableFacts {
        options,
        name,
        n_tasks,
        place,
    } = facts;
    let dir = place.dir.as_ref().map(|dir| dir.display().to_string());
    let user = ["LOGNAME", "USER"]
        .iter()
        .find_map(|name| place.variable(name));
    let user = user.map_or_else(|| place.user_id.to_string(), str::to_owned);
    let partition = options.partition.as_deref().unwrap_or(DEFAULT_PARTITION);
    let text = |value: &str| Some(value.to_owned());
    let number = |value: Option<u32>| value.map(|value| value.to_string());
    let has_tasks = options.ntasks.is_some() || options.ntasks_per_node.is_some();
    let n_tasks = number(has_tasks.then_some(*n_tasks));
    let mebibytes = |bytes: u64| (bytes >> 20).max(1).to_string();
    let (per_node, per_cpu) = match options.memory {
        Some(RequestedMemory::Host(bytes)) => (Some(mebibytes(bytes)), None),
        Some(RequestedMemory::Processor(bytes)) => (None, Some(mebibytes(bytes))),
        Some(RequestedMemory::Gpu(_)) | None => (None, None),
    };
    let array = options.array.as_ref();
    let tmp = place
        .variable("TMPDIR")
        .is_none()
        .then(|| "/tmp".to_owned());
    let all = [
        ("ENVIRONMENT", text("BATCH")),
        ("TMPDIR", tmp),
        ("SLURM_CLUSTER_NAME", text(CLUSTER_NAME)),
        ("SLURM_SUBMIT_DIR", dir.ok()),
        ("SLURM_SUBMIT_HOST", Some(place.host.clone())),
        ("SLURM_JOB_NAME", text(name)),
        ("SLURM_JOB_USER", Some(user)),
        ("SLURM_JOB_UID", number(Some(place.user_id))),
        ("SLURM_JOB_GID", number(Some(place.group_id))),
        ("SLURM_JOB_PARTITION", text(partition)),
        ("SLURM_JOB_ACCOUNT", options.account.clone()),
        ("SLURM_JOB_QOS", options.qos.clone()),
        ("SLURM_NTASKS", n_tasks.clone()),
        ("SLURM_NPROCS", n_tasks),
        ("SLURM_NTASKS_PER_NODE", number(options.ntasks_per_node)),
        ("SLURM_CPUS_PER_TASK", number(options.cpus_per_task)),
        ("SLURM_MEM_PER_NODE", per_node),
        ("SLURM_MEM_PER_CPU", per_cpu),
        ("SLURM_JOB_DEPENDENCY", options.dependency.clone()),
        ("SLURM_EXPORT_ENV", options.export.clone()),
        (
            "SLURM_ARRAY_TASK_MIN",
            array.map(|array| array.min.to_string()),
        ),
        (
            "SLURM_ARRAY_TASK_MAX",
            array.map(|array| array.max.to_string()),
        ),
        (
            "SLURM_ARRAY_TASK_COUNT",
            array.map(|array| array.count.to_string()),
        ),
        (
            "SLURM_ARRAY_TASK_STEP",
            array.map(|array| array.step.to_string()),
        ),
        ("SLURM_NODEID", text("0")),
        ("SLURM_PROCID", text("0")),
        ("SLURM_LOCALID", text("0")),
        ("SLURM_GTIDS", text("0")),
    ];
    let all = all.into_iter();
    all.filter_map(|(name, value)| Some(format!("{name}={}", value?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fuzz::fixed_place;

    #[test]
    fn environment_is_passed_on_without_that_of_an_outer_job() {
        let mut place = fixed_place();
        for (name, value) in [
            ("SLURM_ARRAY_TASK_ID", "3"),
            ("SLURM_CONF", "/etc/slurm.conf"),
            ("SBATCH_PARTITION", "long"),
            ("OMPI_COMM_WORLD_RANK", "0"),
            ("TOLLGATE_TASK", "3"),
            ("TOLLGATE_DEADLINE", "17:00"),
        ] {
            place.variables.insert(name.to_owned(), value.to_owned());
        }
        let names = |export| {
            let env = exported(export, &place);
            let names = env
                .iter()
                .map(|word| word.split('=').next().unwrap().to_owned());
            names.collect::<Vec<_>>().join(" ")
        };
        let all = "HOME LOGNAME MODEL PATH SBATCH_PARTITION SLURM_CONF TOLLGATE_DEADLINE";
        assert_eq!(names(None), all);
        assert_eq!(names(Some("ALL")), all);
        assert_eq!(names(Some("NONE")), "");
        assert_eq!(names(Some("MODEL,NOTHING,A=1")), "MODEL A");
        assert_eq!(names(Some("ALL,A=1")), format!("{all} A"));
        assert_eq!(exported(Some("A='x,y',B=\"z\""), &place), ["A=x,y", "B=z"]);
    }
}
