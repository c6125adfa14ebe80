//! Chunks of a study as a job array of a batch system.

use std::io;
use std::path::Path;
use std::process::{Command, ExitStatus};

/// A job array with one element per chunk of a study.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobArray {
    /// Name of the array.
    pub name: String,
    /// Number of chunks; at least 1.
    pub chunks: usize,
    /// File for the output of the elements.
    pub logs: String,
    /// Command that runs a chunk, word by word: `K/N` follows, then `arguments`.
    pub command: Vec<String>,
    /// Arguments after `K/N`.
    pub arguments: Vec<String>,
}

/// Why a job array did not complete.
#[derive(Debug, thiserror::Error)]
pub enum JobArrayError {
    /// The command of the batch system cannot be run.
    #[error("`{command}` cannot be run: {error}")]
    Command {
        /// The command.
        command: &'static str,
        /// The error of the operating system.
        error: io::Error,
    },
    /// The command was run, and the command or an element of the array failed.
    #[error("`{command}` failed ({status})")]
    Failed {
        /// The command.
        command: &'static str,
        /// The exit status of the command.
        status: ExitStatus,
    },
}

impl JobArrayError {
    /// Returns a suggestion for the user.
    pub const fn hint(&self) -> &'static str {
        match self {
            Self::Command { .. } => {
                "is this a host of the cluster? `--dry-run` prints the script, and any batch \
                 system can run its command"
            }
            Self::Failed { .. } => {
                "the logs of the elements are in the directory; `--resume` runs the missing chunks here"
            }
        }
    }
}

impl JobArray {
    /// Returns the script for Slurm.
    pub fn slurm_script(&self) -> String {
        let Self { name, chunks, .. } = self;
        let command = quoted(&self.command);
        let arguments = quoted(&self.arguments);
        let logs = &self.logs;
        format!(
            "#!/bin/sh\n\
             #SBATCH --job-name={name}\n\
             #SBATCH --array=1-{chunks}\n\
             #SBATCH --ntasks=1\n\
             #SBATCH --cpus-per-task=1\n\
             #SBATCH --output={logs}/chunk-%a.log\n\
             exec {command} \"$SLURM_ARRAY_TASK_ID/{chunks}\" {arguments}\n"
        )
    }
}

/// Submits a script to Slurm and waits until all its elements have ended.
///
/// # Errors
/// If the submission fails, or if an element failed.
pub fn submit_to_slurm(script: &Path) -> Result<(), JobArrayError> {
    let command = "sbatch";
    let status = Command::new(command)
        .args(["--wait", "--parsable"])
        .arg(script)
        .stdout(std::process::Stdio::null())
        .status()
        .map_err(|error| JobArrayError::Command { command, error })?;
    if status.success() {
        return Ok(());
    }
    Err(JobArrayError::Failed { command, status })
}

/// Quotes words for a shell, so that each is taken literally.
fn quoted(words: &[String]) -> String {
    let words: Vec<String> = words.iter().map(|word| quote(word)).collect();
    words.join(" ")
}

fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn script_runs_one_chunk_per_array_element() {
        let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
        let array = JobArray {
            name: "small".to_owned(),
            chunks: 8,
            logs: "/home/me/small".to_owned(),
            command: words(&["/opt/tollgate", "study", "chunk"]),
            arguments: words(&["small.toml", "--out", "/home/me/it's mine"]),
        };
        insta::assert_snapshot!(array.slurm_script(), @r#"
        #!/bin/sh
        #SBATCH --job-name=small
        #SBATCH --array=1-8
        #SBATCH --ntasks=1
        #SBATCH --cpus-per-task=1
        #SBATCH --output=/home/me/small/chunk-%a.log
        exec /opt/tollgate study chunk "$SLURM_ARRAY_TASK_ID/8" small.toml --out '/home/me/it'\''s mine'
        "#);
    }
}
