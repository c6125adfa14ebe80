//! `tollgate study run --on`, with a stand-in for Slurm.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Output;

use crate::program::{command, folder, tollgate};
use crate::study::{out_folder, read, small};

/// Accepts an array and runs its elements one after another in the background. Each call takes a line of the
/// file `faults` first. `kills` ends the command that called after the array was accepted, and `kills-before`
/// ends it without the array. `half` runs the first two elements only, and `none` runs no element.
const SBATCH: &str = r#"#!/bin/sh
cd "$(dirname "$0")"
for word; do
  case $word in
    --array=1-*) elements=${word#--array=1-} ;;
    --job-name=*) name=${word#--job-name=} ;;
  esac
done
fault=$(head -n 1 faults 2>/dev/null) && sed -i 1d faults
[ "$fault" != kills-before ] || { kill -9 $PPID; exit; }
cat >script
echo "$elements" >>arrays
case $fault in half) elements=2 ;; none) elements=0 ;; esac
echo "17|RUNNING|N/A|N/A|N/A|None|$name" >queue
(
  for element in $(seq "$elements"); do
    SLURM_ARRAY_TASK_ID=$element sh script
  done
  rm queue
) >/dev/null 2>&1 &
[ "$fault" != kills ] || kill -9 $PPID
echo 17
"#;

/// Prints the queue. While a file `down` has lines, each call takes one and finds no controller.
const SQUEUE: &str = r#"#!/bin/sh
cd "$(dirname "$0")"
if [ -s down ]; then
  sed -i 1d down
  echo 'slurm_load_jobs error: Unable to contact slurm controller (connect failure)' >&2
  exit 1
fi
cat queue 2>/dev/null
exit 0
"#;

/// A directory with the stand-in, and a small study with four chunks.
struct SlurmStandIn {
    bin: PathBuf,
    study: &'static str,
    out: &'static str,
}

impl SlurmStandIn {
    fn new(study: &'static str, out: &'static str) -> Self {
        let bin = folder().join(format!("{out}-bin"));
        fs::remove_dir_all(&bin).ok();
        fs::create_dir_all(&bin).unwrap();
        for (name, script) in [("sbatch", SBATCH), ("squeue", SQUEUE)] {
            let path = bin.join(name);
            fs::write(&path, script).unwrap();
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        Self {
            bin,
            study: small(study, out),
            out,
        }
    }

    fn put(&self, file: &str, text: &str) {
        fs::write(self.bin.join(file), text).unwrap();
    }

    /// Returns the numbers of elements of the arrays that were accepted.
    fn arrays(&self) -> Vec<String> {
        let text = fs::read_to_string(self.bin.join("arrays")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    fn run(&self, more: &[&str]) -> Output {
        let words = [
            "study", "run", self.study, "--on", "slurm", "--out", self.out,
        ];
        let path = format!("{}:{}", self.bin.display(), std::env::var("PATH").unwrap());
        let mut command = command(&[&words[..], more].concat());
        command.env("PATH", path).output().unwrap()
    }

    /// Checks that the run succeeded with the results of a run on this host. Returns its notes.
    fn check(&self, output: Output) -> String {
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{stderr}");
        let here = format!("{}-here", self.out);
        fs::remove_dir_all(out_folder(&here)).ok();
        tollgate(&["study", "run", self.study, "--out", &here, "--quiet"]).answer();
        assert_eq!(read(self.out, "results.csv"), read(&here, "results.csv"));
        assert!(!out_folder(self.out).join("chunks.json").exists());
        stderr
    }
}

#[test]
fn job_array_is_awaited_and_its_results_gathered() {
    let slurm = SlurmStandIn::new("study-array.toml", "study-array");
    let stdout = slurm.check(slurm.run(&[]));
    assert!(
        stdout.contains("waiting for 4 chunks: job 17 of slurm"),
        "{stdout}"
    );
    assert_eq!(slurm.arrays(), ["4"]);
    assert!(out_folder("study-array").join("piece-4-of-4.csv").exists());
}

#[test]
fn chunks_of_an_array_that_ended_early_are_submitted_again() {
    let slurm = SlurmStandIn::new("study-half.toml", "study-half");
    slurm.put("faults", "half\n");
    slurm.check(slurm.run(&[]));
    assert_eq!(slurm.arrays(), ["4", "2"]);
}

#[test]
fn arrays_that_finish_nothing_are_an_error() {
    let slurm = SlurmStandIn::new("study-none.toml", "study-none");
    slurm.put("faults", "half\nnone\n");
    let output = slurm.run(&["--quiet"]);
    assert_eq!(output.status.code(), Some(1));
    let stderr = String::from_utf8(output.stderr).unwrap();
    let stderr = stderr.replace(&folder().display().to_string(), "[FOLDER]");
    insta::assert_snapshot!(stderr);
    assert_eq!(slurm.arrays(), ["4", "2"]);
    slurm.check(slurm.run(&["--resume"]));
    assert_eq!(slurm.arrays(), ["4", "2", "2"]);
}

#[test]
fn killed_command_finds_its_array_again() {
    let slurm = SlurmStandIn::new("study-killed.toml", "study-killed");
    slurm.put("faults", "kills\n");
    assert_eq!(slurm.run(&[]).status.code(), None);
    let stdout = slurm.check(slurm.run(&["--resume"]));
    assert!(
        stdout.contains("going on with job tg-study.small."),
        "{stdout}"
    );
    assert_eq!(slurm.arrays(), ["4"]);
}

#[test]
fn command_that_was_killed_before_the_submission_submits() {
    let slurm = SlurmStandIn::new("study-before.toml", "study-before");
    slurm.put("faults", "kills-before\n");
    assert_eq!(slurm.run(&[]).status.code(), None);
    slurm.check(slurm.run(&["--resume"]));
    assert_eq!(slurm.arrays(), ["4"]);
}

#[test]
fn engine_that_is_away_is_waited_for() {
    let slurm = SlurmStandIn::new("study-away.toml", "study-away");
    slurm.put("faults", "half\n");
    slurm.put("down", "1\n2\n3\n");
    let stdout = slurm.check(slurm.run(&[]));
    assert!(
        stdout.contains("Unable to contact slurm controller"),
        "{stdout}"
    );
    assert_eq!(slurm.arrays(), ["4", "2"]);
}

#[test]
fn chunks_at_another_engine_are_not_submitted_again() {
    let slurm = SlurmStandIn::new("study-other.toml", "study-other");
    slurm.put("faults", "kills\n");
    assert_eq!(slurm.run(&[]).status.code(), None);
    let words = [
        "study",
        "run",
        slurm.study,
        "--on",
        "sge",
        "--resume",
        "--out",
    ];
    let ran = tollgate(&[&words[..], &[slurm.out]].concat());
    assert_eq!(ran.code, Some(2), "{ran}");
    let message = "error: the jobs are at slurm, not at sge";
    assert!(ran.stderr.contains(message), "{ran}");
}

#[test]
fn dry_run_prints_command_and_script() {
    for engine in ["slurm", "sge", "htcondor"] {
        let study = small("study-dry.toml", "study-dry");
        let words = ["study", "run", study, "--on", engine, "--dry-run", "--out"];
        let changes = [
            "study-dry",
            "--seeds",
            "3",
            "--scale",
            "0.5",
            "--time",
            "90m",
            "--",
            "-p",
            "short",
        ];
        let script = tollgate(&[&words[..], &changes[..]].concat()).answer();
        let script = script
            .replace(&folder().display().to_string(), "[FOLDER]")
            .replace(env!("CARGO_BIN_EXE_tollgate"), "[TOLLGATE]");
        insta::assert_snapshot!(script);
        assert!(!out_folder("study-dry").exists());
    }
    let ran = tollgate(&["study", "run", "mycluster-2009", "--dry-run"]);
    assert_eq!(ran.code, Some(2), "{ran}");
}

#[test]
fn missing_batch_system_gives_a_hint() {
    let study = small("study-nowhere.toml", "study-nowhere");
    let words = ["study", "run", study, "--on", "slurm", "--quiet", "--out"];
    let output = command(&[&words[..], &["study-nowhere"]].concat())
        .env("PATH", "")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let stderr = String::from_utf8(output.stderr).unwrap();
    let error = "error: sbatch: cannot be started: ";
    assert!(stderr.starts_with(error), "{stderr}");
    assert!(
        stderr.contains("hint: is this a host of the cluster?"),
        "{stderr}"
    );
}
