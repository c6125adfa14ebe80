//! The memory of a batch job, as its scheduler gives it to the job.

use std::env;
use std::fs;

/// The findings of a process about the memory of the batch job that it is part of.
struct JobSurroundings<'a> {
    /// A variable of the environment.
    variable: &'a dyn Fn(&str) -> Option<String>,
    /// The text of a file.
    file: &'a dyn Fn(&str) -> Option<String>,
}

/// Returns the memory of the batch job that this process is part of, in bytes: of all its cores on this
/// host. None if the scheduler has set none, or sets it by limits of the process instead.
pub(super) fn of_job() -> Option<u64> {
    let surroundings = JobSurroundings {
        variable: &|name| env::var(name).ok(),
        file: &|path| fs::read_to_string(path).ok(),
    };
    surroundings.slurm().or_else(|| surroundings.htcondor())
}

impl JobSurroundings<'_> {
    fn number(&self, name: &str) -> Option<u64> {
        let value = (self.variable)(name)?.trim().parse().ok()?;
        Some(value).filter(|&value| value > 0)
    }

    /// Slurm sets the memory of a node, or that of each processor, in MiB; 0 stands for all.
    fn slurm(&self) -> Option<u64> {
        let per_node = || self.number("SLURM_MEM_PER_NODE");
        let per_cpu = || {
            let cpus = self.number("SLURM_CPUS_ON_NODE").unwrap_or(1);
            Some(self.number("SLURM_MEM_PER_CPU")?.saturating_mul(cpus))
        };
        per_node().or_else(per_cpu).map(mebibytes)
    }

    /// HTCondor describes the slot of a job in a file, with its memory in MiB.
    fn htcondor(&self) -> Option<u64> {
        let text = (self.file)(&(self.variable)("_CONDOR_MACHINE_AD")?)?;
        let mut lines = text.lines().filter_map(|line| line.split_once('='));
        let (_, memory) = lines.find(|(name, _)| name.trim() == "Memory")?;
        let memory: u64 = memory.trim().parse().ok()?;
        Some(memory).filter(|&memory| memory > 0).map(mebibytes)
    }
}

const fn mebibytes(number: u64) -> u64 {
    number.saturating_mul(1 << 20)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(variables: &[(&str, &str)], file: &str) -> Option<u64> {
        let surroundings = JobSurroundings {
            variable: &|name| {
                let mut variables = variables.iter();
                let (_, value) = variables.find(|(known, _)| *known == name)?;
                Some((*value).to_owned())
            },
            file: &|path| (path == "/slot.ad").then(|| file.to_owned()),
        };
        let bytes = surroundings.slurm().or_else(|| surroundings.htcondor());
        bytes.map(|bytes| bytes >> 20)
    }

    #[test]
    fn memory_of_a_slurm_job_is_that_of_the_node_or_of_its_processors() {
        let per_node = ("SLURM_MEM_PER_NODE", "1000");
        let per_cpu = ("SLURM_MEM_PER_CPU", "250");
        let cpus = ("SLURM_CPUS_ON_NODE", "4");
        assert_eq!(found(&[per_node], ""), Some(1000));
        assert_eq!(found(&[per_cpu, cpus], ""), Some(1000));
        assert_eq!(found(&[per_cpu], ""), Some(250));
        assert_eq!(found(&[("SLURM_MEM_PER_NODE", "0")], ""), None);
        assert_eq!(found(&[], ""), None);
    }

    #[test]
    fn memory_of_an_htcondor_slot_is_that_of_its_description() {
        let ad = "DetectedMemory = 16000\nMemory = 128\nTotalMemory = 16000\n";
        assert_eq!(found(&[("_CONDOR_MACHINE_AD", "/slot.ad")], ad), Some(128));
        assert_eq!(found(&[("_CONDOR_MACHINE_AD", "/other")], ad), None);
    }
}
