//! Jobs that `scontrol` changes, and jobs that start after others.

use super::SlurmTestSite;

#[test]
fn running_job_requeues_itself() {
    let tools = SlurmTestSite::new("");
    tools.script(
        "again.sh",
        "#!/bin/bash\n#SBATCH -o again.out\n\
         echo restart ${SLURM_RESTART_COUNT-none}\n\
         srun -J first true\n\
         [ -n \"$SLURM_RESTART_COUNT\" ] || { scontrol requeue $SLURM_JOB_ID; sleep 60; }\n",
    );
    tools.shell("sbatch again.sh").answer();
    tools.until_over("1");
    assert_eq!(tools.read("again.out"), "restart none\nrestart 1\n");
    // The steps are those of the last attempt.
    let records = tools.shell("sacct -n -P -j 1 -o jobid,state,restarts");
    assert_eq!(
        records.answer(),
        "1|COMPLETED|1\n1.batch|COMPLETED|\n1.0|COMPLETED|\n"
    );
    let late = tools.failure("scontrol requeue 1");
    assert_eq!(
        late,
        (Some(1), "Job has already finished for job 1".to_owned())
    );
    let unknown = tools.failure("scontrol requeue 99");
    assert_eq!(
        unknown,
        (Some(1), "Invalid job id specified for job 99".to_owned())
    );
}

#[test]
fn limit_and_comment_of_a_waiting_job_change() {
    let tools = SlurmTestSite::new("");
    tools
        .shell("sbatch -H -t 10 --comment old --wrap true")
        .answer();
    tools
        .shell("scontrol update JobId=1 TimeLimit=1:00:00 Comment='two words'")
        .answer();
    let shown = tools.shell("squeue -h -o '%l|%k'").answer();
    assert_eq!(shown, "1:00:00|two words\n");
    tools
        .shell("scontrol update job=1 timelimit=UNLIMITED")
        .answer();
    assert_eq!(tools.shell("squeue -h -o %l").answer(), "UNLIMITED\n");
    let refused = tools.failure("scontrol update JobId=1 Partition=other");
    assert_eq!(refused.0, Some(1));
    assert!(
        refused
            .1
            .starts_with("scontrol: error: Partition: only Name, Comment,")
    );
    let refused = tools.failure("scontrol suspend 1");
    let expected = "scontrol: error: suspend: jobs are not suspended here; hold a job before it starts, or cancel it";
    assert_eq!(refused, (Some(1), expected.to_owned()));
}

#[test]
fn job_starts_after_a_failure_or_after_its_namesakes() {
    let tools = SlurmTestSite::new("");
    tools.shell("sbatch -o none.out --wrap 'exit 3'").answer();
    tools.until_over("1");
    tools
        .shell("sbatch -d afternotok:1 -o after.out --wrap 'echo runs'")
        .answer();
    tools.until_over("2");
    assert_eq!(tools.read("after.out"), "runs\n");
    let vain = tools.failure("sbatch -d afternotok:2 --wrap true");
    let expected = "sbatch: error: Batch job submission failed: Job dependency problem";
    assert_eq!(vain, (Some(1), expected.to_owned()));
    tools.shell("sbatch -J same -H --wrap true").answer();
    tools
        .shell("sbatch -J same -d singleton --wrap true")
        .answer();
    let waits = tools.shell("squeue -h -j 4 -o '%t %r'").answer();
    assert_eq!(waits, "PD Dependency\n");
    tools.shell("scancel 3").answer();
    tools.until_over("4");
    assert_eq!(
        tools.shell("sacct -X -n -P -j 4 -o state").answer(),
        "COMPLETED\n"
    );
}

#[test]
fn mail_without_a_command_for_notices_is_noted() {
    let tools = SlurmTestSite::new("");
    let submitted = tools.shell("sbatch --mail-type=END,FAIL --mail-type=ALL --wrap true");
    assert_eq!(submitted.stdout, "Submitted batch job 1\n");
    assert_eq!(
        submitted.stderr,
        "sbatch: note: not used here: --mail-type (the service sends no notices)\n"
    );
    let wrong = tools.failure("sbatch --mail-type=NEVER --wrap true");
    let expected = "sbatch: error: Invalid --mail-type specification: NEVER";
    assert_eq!(wrong, (Some(255), expected.to_owned()));
}
