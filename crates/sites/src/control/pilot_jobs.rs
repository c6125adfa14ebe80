//! The jobs of pilots: their names, scripts and numbers.

use tollgate_batch::{BatchJob, BatchJobId, BatchJobName, BatchPlacement, JobMemory};

use tollgate_model::Span;

use super::SiteControl;
use crate::script::PilotScript;
use crate::service_address::ServiceAddress;

impl SiteControl {
    /// Returns a job with the limits of a pilot.
    pub(crate) fn job_named(&self, name: BatchJobName, script: String) -> BatchJob {
        BatchJob {
            name,
            script,
            time: Some(self.settings.time()),
            cores: self.settings.cores,
            memory: match (self.settings.memory(), self.settings.node_memory_mib) {
                (Some(memory), _) => Some(JobMemory::Bytes(memory)),
                (None, Some(_)) => Some(JobMemory::WholeNode),
                (None, None) => None,
            },
            arguments: self.settings.args.clone(),
            placement: BatchPlacement::default(),
        }
    }

    /// Returns the job of a pilot with this time limit.
    pub(super) fn job(&self, number: u32, time: Span, script: String) -> BatchJob {
        BatchJob {
            time: Some(time),
            ..self.job_named(self.job_name(number), script)
        }
    }

    /// Returns the name of a job of this site, which ends with `end`.
    pub(crate) fn name_with(&self, end: &str) -> BatchJobName {
        let name = format!("{}{end}", self.prefix());
        name.parse()
            .expect("the settings are checked, and an end is letters and digits")
    }

    pub(super) fn job_name(&self, number: u32) -> BatchJobName {
        self.name_with(&number.to_string())
    }

    pub(super) fn prefix(&self) -> String {
        format!("tg.{}.{}.", self.settings.name, self.settings.key)
    }

    pub(super) fn number_of(&self, name: &str) -> Option<u32> {
        name.strip_prefix(&self.prefix())?.parse().ok()
    }

    pub(super) fn script(
        &self,
        number: u32,
        time: Span,
        service: &ServiceAddress,
        token_file: Option<&str>,
    ) -> String {
        let live = self.state.pilots.iter().filter(|pilot| pilot.is_live());
        let script = PilotScript {
            site: &self.settings,
            number,
            time,
            service,
            token_file,
            live: live.map(|pilot| pilot.number).chain([number]).collect(),
        };
        script.text()
    }

    pub(super) fn ids_of(&self, numbers: &[u32]) -> Vec<BatchJobId> {
        let of = |number: &u32| {
            let mut pilots = self.state.pilots.iter();
            pilots.find(|pilot| pilot.number == *number)?.id
        };
        numbers.iter().filter_map(of).collect()
    }
}
