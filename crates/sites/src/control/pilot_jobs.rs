//! The jobs of pilots: their names, scripts and numbers.

use tollgate_batch::{BatchJob, BatchJobId, BatchJobName, BatchPlacement, JobMemory};

use tollgate_model::Bytes;
use tollgate_provisioning::NewPilot;

use super::SiteControl;
use crate::script::PilotScript;
use crate::service_address::ServiceAddress;
use crate::settings::PilotForm;

impl SiteControl {
    /// Returns a job with the limits of a pilot.
    pub(crate) fn job_named(&self, name: BatchJobName, script: String) -> BatchJob {
        BatchJob {
            name,
            script,
            time: Some(self.settings.time()),
            cores: self.settings.cores,
            memory: match self.settings.memory() {
                Some(memory) => Some(JobMemory::Bytes(memory)),
                None if self.settings.takes_whole_nodes() => Some(JobMemory::WholeNode),
                None => None,
            },
            arguments: self.settings.args.clone(),
            placement: BatchPlacement::default(),
        }
    }

    /// Returns the job of a pilot.
    pub(super) fn job(&self, number: u32, form: PilotForm, script: String) -> BatchJob {
        let usual = self.job_named(self.job_name(number), script);
        BatchJob {
            time: Some(form.shape.time),
            cores: form.shape.cores,
            memory: match (form.is_whole, form.memory_mib) {
                (true, _) => Some(JobMemory::WholeNode),
                (false, Some(mebibytes)) => {
                    let kibibytes = mebibytes.saturating_mul(1024);
                    Some(JobMemory::Bytes(Bytes::from_kibibytes(kibibytes)))
                }
                (false, None) => usual.memory,
            },
            placement: BatchPlacement {
                is_exclusive: form.is_whole,
                ..usual.placement
            },
            ..usual
        }
    }

    /// Returns a pilot of the site's first shape.
    pub(super) fn usual_pilot(&self) -> NewPilot {
        NewPilot {
            kind: 0,
            shape: self.first_shape(),
        }
    }

    /// Returns what a new pilot gets from the engine.
    pub(super) fn form(&self, new: NewPilot) -> PilotForm {
        let kinds = self.settings.kinds();
        let kind = kinds.get(new.kind).unwrap_or(&kinds[0]);
        PilotForm {
            shape: new.shape,
            ..*kind
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
        form: PilotForm,
        service: &ServiceAddress,
        token_file: Option<&str>,
    ) -> String {
        let live = self.state.pilots.iter().filter(|pilot| pilot.is_live());
        let script = PilotScript {
            site: &self.settings,
            number,
            form,
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
