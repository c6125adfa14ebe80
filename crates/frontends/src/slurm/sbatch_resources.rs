//! What a job of `sbatch` needs, counted from its options: tasks, processors, memory, devices, hosts.

use std::collections::BTreeMap;

use super::error::SlurmError;
use super::sbatch_job::{RequestedGpus, RequestedMemory, SbatchOptions};
use super::time::SlurmLimit;

impl SbatchOptions {
    /// Returns the number of processors of each task.
    fn procs_per_task(&self) -> u32 {
        self.cpus_per_task.unwrap_or(1)
    }

    /// Returns the number of tasks.
    ///
    /// # Errors
    /// If several hosts are asked for, and nothing says how many processors there are.
    pub(crate) fn n_tasks(&self, tool: &str) -> Result<u32, SlurmError> {
        let nodes = self.nodes.unwrap_or(1);
        if let Some(ntasks) = self.ntasks {
            return Ok(ntasks);
        }
        if let Some(each) = self.ntasks_per_node {
            return Ok(each.saturating_mul(nodes));
        }
        if let (Some(each), Some(gpus)) = (self.ntasks_per_gpu, self.n_gpus(1)) {
            return Ok(each.saturating_mul(gpus.max(1)));
        }
        if nodes > 1 && self.cpus_per_task.is_none() {
            let reason =
                "hosts are not counted here; say the processors, as --ntasks or --ntasks-per-node";
            return Err(SlurmError::refused(tool, "--nodes", reason));
        }
        Ok(nodes)
    }

    /// Returns the number of processors.
    pub(crate) fn procs(&self, n_tasks: u32) -> u32 {
        if let (Some(each), Some(gpus), None) =
            (self.cpus_per_gpu, self.n_gpus(n_tasks), self.cpus_per_task)
        {
            return each.saturating_mul(gpus.max(1)).max(n_tasks);
        }
        n_tasks.saturating_mul(self.procs_per_task())
    }

    /// Returns the number of GPUs. None without any.
    fn n_gpus(&self, n_tasks: u32) -> Option<u32> {
        let devices = self.devices(n_tasks);
        let is_gpu = |name: &str| name == "gpu" || name.starts_with("gpu:");
        let gpus = devices.iter().filter(|(name, _)| is_gpu(name));
        let count: u32 = gpus.map(|(_, count)| u32::from(*count)).sum();
        (count > 0).then_some(count)
    }

    /// Returns the devices and licences of the job.
    pub(crate) fn devices(&self, n_tasks: u32) -> BTreeMap<String, u8> {
        let nodes = self.nodes.unwrap_or(1);
        let times = |list: &BTreeMap<String, u8>, factor: u32| {
            let all = list.iter().map(|(name, count)| {
                let count = u32::from(*count).saturating_mul(factor);
                (name.clone(), u8::try_from(count).unwrap_or(u8::MAX))
            });
            all.collect::<BTreeMap<String, u8>>()
        };
        let mut devices = times(self.gres.as_ref().unwrap_or(&BTreeMap::new()), nodes);
        let gpus = match &self.gpus {
            Some(RequestedGpus::Total(list)) => times(list, 1),
            Some(RequestedGpus::PerHost(list)) => times(list, nodes),
            Some(RequestedGpus::PerTask(list)) => times(list, n_tasks),
            None => BTreeMap::new(),
        };
        devices.extend(gpus);
        devices.extend(self.licenses.clone().unwrap_or_default());
        devices
    }

    /// Returns the memory of the whole job in bytes. None if nothing says how much.
    pub(crate) fn memory_bytes(&self, n_tasks: u32) -> Option<u64> {
        let (bytes, factor) = match self.memory? {
            RequestedMemory::Host(bytes) => (bytes, self.nodes.unwrap_or(1)),
            RequestedMemory::Processor(bytes) => (bytes, self.procs(n_tasks)),
            RequestedMemory::Gpu(bytes) => (bytes, self.n_gpus(n_tasks).unwrap_or(1)),
        };
        /// The least memory that a request may have, in bytes.
        const LEAST: u64 = 1 << 20;
        Some(bytes.saturating_mul(u64::from(factor)).max(LEAST))
    }

    /// Returns whether all processors have to be on one host: if the job says so, or if it has one task, whose threads
    /// share memory.
    pub(crate) fn is_on_one_host(&self, n_tasks: u32) -> bool {
        self.procs(n_tasks) > 1
            && self.host.is_none()
            && (self.nodes == Some(1) || (n_tasks == 1 && self.nodes.is_none()))
    }

    /// Returns the time limit in seconds. None without one.
    pub(crate) fn limit_s(&self) -> Option<f64> {
        match self.time_limit? {
            SlurmLimit::Unlimited => None,
            SlurmLimit::Seconds(secs) => Some(secs as f64),
        }
    }
}
