//! The batch system whose nodes run the jobs of a service.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tollgate_batch::EngineKind;
use tollgate_batch_engine::BatchSystemConfig;
use tollgate_model::Span;

use super::error::ConfigError;

/// A batch system that carries out what the service decides. The service owns the nodes: no other user uses
/// them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EngineConfig {
    /// The engine: `slurm`, `sge` or `htcondor`.
    #[schemars(example = &"slurm")]
    pub kind: String,
    /// The queue, or partition of Slurm, whose nodes the service owns. HTCondor has none: the service owns
    /// all machines of the pool. Default: the engine's own default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = &"batch")]
    pub partition: Option<String>,
    /// Directory of attempts, which all nodes share. No other user may enter it. Default: `attempts` in the
    /// data directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = &"/shared/tollgate/attempts")]
    pub folder: Option<PathBuf>,
    /// Path of this program on the nodes. Default: its path on the host of the service.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = &"/usr/local/bin/tollgate")]
    pub program: Option<PathBuf>,
    /// Maximum time from the decision to start a job until its program runs, in seconds. Promises count it as
    /// run time. At least 0, at most 600.
    #[serde(default = "default_start_delay_s")]
    pub start_delay_s: f64,
}

const fn default_start_delay_s() -> f64 {
    5.0
}

impl EngineConfig {
    /// Returns the usual settings of an engine.
    pub fn of_kind(kind: &str) -> Self {
        Self {
            kind: kind.to_owned(),
            partition: None,
            folder: None,
            program: None,
            start_delay_s: default_start_delay_s(),
        }
    }

    pub(super) fn start_delay(&self) -> Result<Span, ConfigError> {
        if (0.0..=600.0).contains(&self.start_delay_s) {
            return Ok(Span::from_secs_f64(self.start_delay_s));
        }
        Err(ConfigError::Range {
            key: "engine.start_delay_s",
            expected: "seconds, at least 0 and at most 600",
            found: self.start_delay_s.to_string(),
        })
    }

    /// Returns the settings of the batch system for the service in `data`. `program` and `attempt` run an
    /// attempt.
    ///
    /// # Errors
    /// If the engine is unknown.
    pub fn system(
        &self,
        data: &Path,
        (program, attempt): (&Path, &str),
    ) -> Result<BatchSystemConfig, ConfigError> {
        let kind = self.kind.parse().ok();
        let kind = kind.filter(|kind| *kind != EngineKind::Local);
        let kind = kind.ok_or_else(|| ConfigError::Range {
            key: "engine.kind",
            expected: "slurm, sge or htcondor",
            found: self.kind.clone(),
        })?;
        let folder = self.folder.clone();
        let folder = folder.unwrap_or_else(|| data.join("attempts"));
        let program = self.program.as_deref().unwrap_or(program);
        let words = [program.to_string_lossy().into_owned(), attempt.to_owned()];
        Ok(BatchSystemConfig::new(
            kind,
            self.partition.clone(),
            folder,
            words,
        ))
    }
}
