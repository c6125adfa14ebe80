//! The files in which a task finds the hosts of its attempt, in the forms of PBS and of Grid Engine, and
//! the variables that name them.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use tollgate_engine::script::sha256;
use tollgate_engine::{LaunchHost, LaunchSpec};

/// Variables with the file of host names, one for each processor. Open MPI counts a repeated name as a
/// slot, and reads the file if its parameter names it.
const NODE_FILE_VARIABLES: [&str; 2] = ["TOLLGATE_NODEFILE", "PBS_NODEFILE"];
/// Parameters of Open MPI (4 and older) and PRRTE (Open MPI 5) with the same file, unless a job sets them.
const HOST_FILE_PARAMETERS: [&str; 2] = [
    "OMPI_MCA_orte_default_hostfile",
    "PRTE_MCA_prte_default_hostfile",
];
/// The variable with the file of Grid Engine: name, slots, queue and processors of each host.
const PE_FILE_VARIABLE: &str = "PE_HOSTFILE";

/// The suffixes of the names of both files.
const NODES_SUFFIX: &str = "nodes";
const PE_SUFFIX: &str = "pe";

/// Returns the name of the files of a launch without their suffixes: the same for equal hosts. None for
/// a launch without hosts.
pub(crate) fn stem(launch: &LaunchSpec) -> Option<String> {
    let hosts = &launch.hosts;
    (!hosts.is_empty()).then(|| format!("hosts-{}", sha256(&pe_file(hosts))))
}

/// Returns the names of both files.
pub(crate) fn names(stem: &str) -> [String; 2] {
    [NODES_SUFFIX, PE_SUFFIX].map(|suffix| format!("{stem}.{suffix}"))
}

/// Returns the texts of both files of a launch, in the order of [`names`].
pub(crate) fn texts(launch: &LaunchSpec) -> [String; 2] {
    [node_file(&launch.hosts), pe_file(&launch.hosts)]
}

/// Returns the launch with the paths of its files in `dir` in its environment.
pub(crate) fn with_paths(launch: &LaunchSpec, dir: &Path) -> LaunchSpec {
    let launch = launch.clone();
    match stem(&launch).map(|stem| names(&stem).map(|name| dir.join(name))) {
        Some([nodes, pe]) => with_variables(launch, &nodes, pe),
        None => launch,
    }
}

fn with_variables(mut launch: LaunchSpec, nodes: &Path, pe: PathBuf) -> LaunchSpec {
    let is_set = |name: &str| launch.env.iter().any(|(other, _)| other == name);
    let parameters: Vec<&str> = HOST_FILE_PARAMETERS
        .into_iter()
        .filter(|name| !is_set(name))
        .collect();
    let is_ours = |name: &OsString| {
        NODE_FILE_VARIABLES
            .iter()
            .chain(&[PE_FILE_VARIABLE])
            .any(|own| name == own)
    };
    launch.env.retain(|(name, _)| !is_ours(name));
    for name in NODE_FILE_VARIABLES.into_iter().chain(parameters) {
        launch.env.push((name.into(), nodes.into()));
    }
    launch.env.push((PE_FILE_VARIABLE.into(), pe.into()));
    launch
}

fn node_file(hosts: &[LaunchHost]) -> String {
    let lines = hosts
        .iter()
        .map(|host| format!("{}\n", host.name).repeat(host.nodes as usize));
    lines.collect()
}

fn pe_file(hosts: &[LaunchHost]) -> String {
    let line = |host: &LaunchHost| format!("{} {} tollgate UNDEFINED\n", host.name, host.nodes);
    hosts.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use tollgate_model::{AttemptId, NodeId};

    use super::*;

    fn hosts() -> Vec<LaunchHost> {
        [("alpha", 2), ("beta", 1)]
            .map(|(name, nodes)| LaunchHost {
                name: name.to_owned(),
                nodes,
            })
            .to_vec()
    }

    #[test]
    fn files_list_processors_and_slots() {
        assert_eq!(node_file(&hosts()), "alpha\nalpha\nbeta\n");
        assert_eq!(
            pe_file(&hosts()),
            "alpha 2 tollgate UNDEFINED\nbeta 1 tollgate UNDEFINED\n"
        );
    }

    #[test]
    fn variables_of_the_job_give_way_except_the_parameters_of_mpi() {
        let attempt = AttemptId {
            job: 1,
            task: 0,
            attempt: 1,
        };
        let mut launch = LaunchSpec::new(attempt, vec![NodeId(0)], ["true"], "/");
        assert_eq!(stem(&launch), None);
        launch.hosts = hosts();
        launch.env = vec![
            ("PBS_NODEFILE".into(), "of another batch system".into()),
            ("OMPI_MCA_orte_default_hostfile".into(), "own".into()),
        ];
        let launch = with_variables(launch, Path::new("/n"), "/p".into());
        let of = |name: &str| -> Vec<&str> {
            let found = launch.env.iter().filter(|(other, _)| other == name);
            found.filter_map(|(_, value)| value.to_str()).collect()
        };
        assert_eq!(of("PBS_NODEFILE"), ["/n"]);
        assert_eq!(of("TOLLGATE_NODEFILE"), ["/n"]);
        assert_eq!(of("OMPI_MCA_orte_default_hostfile"), ["own"]);
        assert_eq!(of("PRTE_MCA_prte_default_hostfile"), ["/n"]);
        assert_eq!(of("PE_HOSTFILE"), ["/p"]);
    }
}
