//! The policy `exec`: another program decides, asked in lines of JSON.
//!
//! | module | contents |
//! |---|---|
//! | [`protocol`] | the lines in both directions |
//! | `policy` | the policy, which checks every answer before it acts |
//! | `program` | the process, its pipes, and the wait for an answer |
//! | `settings` | the command and the longest wait |
//! | [`reasons`] | reasons to reject a job that are not known before a run |

mod policy;
mod program;
pub mod protocol;
pub mod reasons;
mod settings;

use std::time::Duration;

use tollgate_policy::PolicyDefinition;

use crate::settings::ExecSettings;

/// The policy as [`tollgate_policy::PolicyRegistry::with`] takes it. It runs in no market by default.
///
/// ```
/// use tollgate_exec_policy::EXEC_POLICY;
/// use tollgate_policy::PolicyRegistry;
///
/// let registry = PolicyRegistry::default().with(EXEC_POLICY);
/// let chosen = registry.parse_list("exec:python3 my-policy.py --fast=1,timeout-s=60")?;
/// let written = "exec:command=python3 my-policy.py --fast=1,timeout-s=60";
/// assert_eq!(chosen[0].to_string(), written);
/// assert_eq!(registry.parse_list(written)?, chosen);
/// # Ok::<(), tollgate_policy::PolicyError>(())
/// ```
pub const EXEC_POLICY: PolicyDefinition = PolicyDefinition {
    name: "exec",
    summary: "another program decides: `exec:./my-policy.py`; replays and studies only",
    limits: "",
    source: "docs/write/policy.md",
    markets: &[],
    settings: &ExecSettings {
        command: String::new(),
        timeout: Duration::from_secs(10),
    },
};
