//! Tests of `sbatch`, `squeue` and the other tools of Slurm as scripts and workflow systems call them.

mod changes;
mod steps;

use std::fs;

use super::site::{ClientOutput, ClientTestSite};

/// A site with the tools in a directory of their own, and scripts in `work`.
struct SlurmTestSite {
    site: ClientTestSite,
}

impl SlurmTestSite {
    fn new(config: &str) -> Self {
        let site = ClientTestSite::start(config);
        let tools = site.folder().join("tools").display().to_string();
        let made = site.tollgate(&["generate", "frontends", "--out", &tools, "--style", "slurm"]);
        made.answer();
        fs::create_dir(site.folder().join("work")).unwrap();
        Self { site }
    }

    /// Runs a shell line in the work directory with the tools on the path.
    fn shell(&self, line: &str) -> ClientOutput {
        self.site.shell(&format!(
            "PATH=$PWD/tools:$PATH; export PATH; cd work; {line}"
        ))
    }

    fn script(&self, name: &str, text: &str) {
        fs::write(self.site.folder().join("work").join(name), text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        let path = self.site.folder().join("work").join(name);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    fn until_over(&self, id: &str) {
        let _ = self.site.tollgate(&["wait", "--quiet", id]);
    }

    /// Returns the exit code and the first line on standard error.
    fn failure(&self, line: &str) -> (Option<i32>, String) {
        let failed = self.shell(line);
        assert_eq!(failed.stdout, "", "{line}");
        let first = failed.stderr.lines().next().unwrap_or_default();
        (failed.code, first.to_owned())
    }
}

#[test]
fn script_is_submitted_listed_and_accounted_for() {
    let tools = SlurmTestSite::new("");
    tools.script(
        "job.sh",
        "#!/bin/bash\n#SBATCH -J sim\n#SBATCH --time=5 --mem=100 --comment='two words'\n#SBATCH -p short -e %x.err\n\
         echo $SLURM_JOB_ID $SLURM_JOB_NAME $SLURM_JOB_PARTITION $SLURM_MEM_PER_NODE $1\necho problem >&2\nexit 3\n",
    );
    let submitted = tools.shell("sbatch job.sh first");
    assert_eq!(submitted.stdout, "Submitted batch job 1\n");
    assert_eq!(submitted.stderr, "");
    tools.until_over("1");
    assert_eq!(tools.read("slurm-1.out"), "1 sim short 100 first\n");
    assert_eq!(tools.read("sim.err"), "problem\n");
    let record = "sacct -j 1 -P -n -o jobid,jobname,partition,state,exitcode,comment,reqmem";
    assert_eq!(
        tools.shell(record).answer(),
        "1|sim|short|FAILED|3:0|two words|100M\n1.batch|batch||FAILED|3:0||\n"
    );
    let listed = tools.shell("squeue -h -t all -o '%i %t %r %k'").answer();
    assert_eq!(listed, "1 F NonZeroExitCode two words\n");
    assert_eq!(tools.shell("squeue -h").answer(), "");
    let shown = tools.shell("scontrol -o show job 1").answer();
    for pair in [
        "JobId=1 JobName=sim",
        "JobState=FAILED",
        "ExitCode=3:0",
        "Comment=two words",
    ] {
        assert!(shown.contains(pair), "{pair}: {shown}");
    }
    let used = tools.shell("seff 1").answer();
    assert!(used.contains("State: FAILED (exit code 3)\n"), "{used}");
}

#[test]
fn tasks_of_an_array_have_numbers_and_bounds_of_their_own() {
    let tools = SlurmTestSite::new("");
    let wrap = "echo $SLURM_ARRAY_JOB_ID $SLURM_ARRAY_TASK_ID $SLURM_ARRAY_TASK_MIN-$SLURM_ARRAY_TASK_MAX \
                $SLURM_ARRAY_TASK_COUNT $SLURM_ARRAY_TASK_STEP $SLURM_JOB_ID";
    let id = tools
        .shell(&format!("sbatch --parsable -a 2-6:2 --wrap '{wrap}'"))
        .answer();
    assert_eq!(id, "1\n");
    tools.until_over("1");
    let first = tools.read("slurm-1_2.out");
    assert_eq!(first, "1 2 2-6 3 2 1000000000\n");
    // As in Slurm, one task carries the number of the array.
    let raw = tools
        .shell("sacct -X -P -n -o JobIDRaw,JobID,State -j 1")
        .answer();
    let expected = "1|1_2|COMPLETED\n1000000001|1_4|COMPLETED\n1000000002|1_6|COMPLETED\n";
    assert_eq!(raw, expected);
    let one = tools.shell("scontrol -o show job 1000000001").answer();
    assert!(
        one.starts_with("JobId=1000000001 ArrayJobId=1 ArrayTaskId=4 "),
        "{one}"
    );
    // A job that a task submits gets no index.
    let inner = "unset SLURM_CONF; sbatch --parsable -o inner.out --wrap \"env | grep -c -e ARRAY -e TOLLGATE_TASK=2\"";
    tools
        .shell(&format!("sbatch -a 2 --wrap '{inner}'"))
        .answer();
    tools.until_over("2");
    tools.until_over("3");
    assert_eq!(tools.read("inner.out"), "0\n");
}

#[test]
fn waiting_tasks_are_one_line_and_can_be_cancelled() {
    let tools = SlurmTestSite::new("");
    tools
        .shell("sbatch -H -a 1-5%2 -J many --wrap true")
        .answer();
    let listed = tools.shell("squeue -h -o '%i %t %r'").answer();
    assert_eq!(listed, "1_[1-5%2] PD JobHeldUser\n");
    assert_eq!(
        tools.shell("squeue -h -r -o %i").answer().lines().count(),
        5
    );
    tools.shell("scancel '1_[2-3]'").answer();
    assert_eq!(tools.shell("squeue -h -o %i").answer(), "1_[1,4-5%2]\n");
    tools.shell("scontrol release 1").answer();
    tools.until_over("1");
    let states = tools.shell("sacct -X -n -P -j 1 -o JobID,State").answer();
    assert!(states.contains("1_1|COMPLETED\n"), "{states}");
    assert!(states.contains("1_2|CANCELLED by "), "{states}");
}

#[test]
fn dependencies_follow_the_end_of_a_job() {
    let tools = SlurmTestSite::new("");
    tools.shell("sbatch -H -t 1 --wrap 'exit 1'").answer();
    tools.shell("sbatch -d afterok:1 --wrap true").answer();
    tools
        .shell("sbatch -d afterany:1 -o any.out --wrap 'echo ran'")
        .answer();
    let reasons = tools.shell("squeue -h -o '%i %r'").answer();
    assert_eq!(reasons, "1 JobHeldUser\n2 Dependency\n3 Dependency\n");
    tools.shell("scontrol release 1").answer();
    tools.until_over("3");
    assert_eq!(tools.read("any.out"), "ran\n");
    tools.until_over("2");
    let state = tools.shell("squeue -h -t all -j 2 -o '%T %r'").answer();
    assert_eq!(state, "CANCELLED DependencyNeverSatisfied\n");
    let (code, line) = tools.failure("sbatch -d afterok:99 --wrap true");
    let expected = "sbatch: error: Batch job submission failed: Job dependency problem";
    assert_eq!((code, line.as_str()), (Some(1), expected));
}

#[test]
fn deadline_is_promised_or_rejected_with_an_offer() {
    let tools = SlurmTestSite::new("");
    let promised = tools.shell("sbatch -H -t 1 --deadline now+8hours --wrap true");
    assert_eq!(promised.stdout, "Submitted batch job 1\n");
    tools.script(
        "sure.sh",
        "#!/bin/sh\n#SBATCH -t 1\n#TOLLGATE --deadline +8h --confidence 0.5\ntrue\n",
    );
    let promised = tools.shell("sbatch sure.sh");
    assert_eq!(promised.stdout, "Submitted batch job 2\n");
    assert!(
        promised.stderr.starts_with("sbatch: deadline "),
        "{}",
        promised.stderr
    );
    assert!(
        promised.stderr.contains(" promised with probability "),
        "{}",
        promised.stderr
    );
    let (code, line) =
        tools.failure("sbatch -t 60 --deadline now+2seconds --confidence 0.9 --wrap true");
    let expected = "sbatch: error: Batch job submission failed: Requested time limit is invalid (missing or exceeds some limit)";
    assert_eq!((code, line.as_str()), (Some(1), expected));
    let tested = tools.shell("sbatch --test-only -t 1 sure.sh");
    assert_eq!((tested.code, tested.stdout.as_str()), (Some(0), ""));
    let lines: Vec<&str> = tested.stderr.lines().collect();
    assert!(
        lines[0].starts_with("sbatch: Job 4 to start at 2"),
        "{lines:?}"
    );
    assert!(lines[1].starts_with("sbatch: ends by "), "{lines:?}");
    assert!(lines[2].contains(" kept with probability "), "{lines:?}");
    tools.script("wrong.sh", "#!/bin/sh\n#TOLLGATE --procs 4\n");
    let (code, line) = tools.failure("sbatch wrong.sh");
    assert_eq!(code, Some(1));
    assert!(
        line.starts_with("sbatch: error: wrong.sh: #TOLLGATE: only what Slurm has no word for"),
        "{line}"
    );
}

#[test]
fn exit_codes_and_first_lines_are_those_of_slurm() {
    let tools = SlurmTestSite::new("");
    tools.script("ok.sh", "#!/bin/sh\ntrue\n");
    tools.script("dos.sh", "#!/bin/sh\r\ntrue\r\n");
    tools.script("plain.sh", "echo\n");
    tools.script("stray.sh", "#!/bin/sh\n#SBATCH -J x y\n");
    for (line, code, expected) in [
        (
            "sbatch --foo ok.sh",
            255,
            "sbatch: unrecognized option '--foo'",
        ),
        (
            "sbatch -t soon ok.sh",
            255,
            "sbatch: error: Invalid --time specification",
        ),
        (
            "sbatch --mem=lots ok.sh",
            255,
            "sbatch: error: Invalid --mem specification",
        ),
        (
            "sbatch stray.sh",
            255,
            "sbatch: error: Invalid directive found in batch script: y",
        ),
        (
            "sbatch plain.sh",
            1,
            "sbatch: error: This does not look like a batch script.  The first",
        ),
        (
            "sbatch dos.sh",
            1,
            "sbatch: error: Batch script contains DOS line breaks (\\r\\n)",
        ),
        (
            "sbatch gone.sh",
            1,
            "sbatch: error: Unable to open file gone.sh",
        ),
        (
            "sbatch --wrap true x",
            1,
            "sbatch: error: Script arguments not permitted with --wrap option",
        ),
        (
            "sbatch -n 100000 ok.sh",
            1,
            "sbatch: error: Batch job submission failed: More processors requested than permitted",
        ),
        (
            "sbatch --gres=gpu:1 ok.sh",
            1,
            "sbatch: error: Invalid generic resource (gres) specification",
        ),
        (
            "sbatch --reservation=r ok.sh",
            1,
            "sbatch: error: --reservation: there are no reservations here; remove the line, or give a deadline",
        ),
        (
            "squeue -h -j 99999",
            1,
            "slurm_load_jobs error: Invalid job id specified",
        ),
        (
            "scontrol show job 99999",
            1,
            "slurm_load_jobs error: Invalid job id specified",
        ),
        (
            "scontrol hold 99999",
            1,
            "Invalid job id specified for job 99999",
        ),
        ("scancel 99999", 0, ""),
        ("scancel abc", 1, "scancel: error: Invalid job id abc"),
        ("sacct -n -j 99999", 0, ""),
        (
            "sacct -nu me -o Account%256 '|' tail -1",
            1,
            "sacct: invalid option -- '1'",
        ),
        ("sacctmgr -n -s list user me format=account%256", 0, ""),
        ("sshare -U --format Account%256 --noheader", 0, ""),
        (
            "srun hostname",
            1,
            "srun: error: tollgate runs srun inside jobs only: use sbatch, or tollgate session shell",
        ),
        (
            "salloc -n 1",
            1,
            "salloc: error: tollgate runs salloc inside jobs only: use sbatch, or tollgate session shell",
        ),
    ] {
        assert_eq!(
            tools.failure(line),
            (Some(code), expected.to_owned()),
            "{line}"
        );
    }
    let away = "TOLLGATE_DATA=$PWD/none squeue -h -j 1 -o '%T %B'";
    let (code, line) = tools.failure(away);
    let expected = "slurm_load_jobs error: Unable to contact slurm controller (connect failure)";
    assert_eq!((code, line.as_str()), (Some(1), expected));
}

#[test]
fn time_limit_is_a_timeout_also_for_a_script_that_exits_with_0() {
    let tools = SlurmTestSite::new("");
    tools.script(
        "trap.sh",
        "#!/bin/bash\n#SBATCH -t 0:02\ntrap 'exit 0' TERM\nsleep 60 & wait\n",
    );
    tools.shell("sbatch trap.sh").answer();
    tools.shell("sbatch -d afterok:1 --wrap true").answer();
    tools.until_over("1");
    tools.until_over("2");
    let states = tools.shell("sacct -X -n -P -o JobID,State,Reason").answer();
    let expected = "1|TIMEOUT|TimeLimit\n2|CANCELLED|DependencyNeverSatisfied\n";
    assert_eq!(states, expected);
}

#[test]
fn signals_reach_running_jobs_and_others_stay_silent() {
    let tools = SlurmTestSite::new("");
    tools.script(
        "usr.sh",
        "#!/bin/bash\n#SBATCH -t 5 -o usr.out\ntrap 'echo got it; exit 0' USR1\necho ready\nsleep 60 &\nwait\n",
    );
    tools.shell("sbatch usr.sh").answer();
    let output = tools.site.folder().join("work/usr.out");
    tools.site.until("the script is ready", || {
        fs::read_to_string(&output).is_ok_and(|text| text == "ready\n")
    });
    tools.shell("scancel --signal=USR1 1").answer();
    tools.until_over("1");
    assert_eq!(tools.read("usr.out"), "ready\ngot it\n");
    let late = tools.shell("scancel -s USR2 1");
    assert_eq!((late.code, late.stderr.as_str()), (Some(0), ""));
    let late = tools.shell("scancel -v 1");
    let expected = "scancel: Terminating job 1\nscancel: error: Kill job error on job id 1: \
                    Job/step already completing or completed\n";
    assert_eq!((late.code, late.stderr.as_str()), (Some(0), expected));
}

#[test]
fn queries_of_workflow_systems_are_answered() {
    let tools = SlurmTestSite::new("");
    let submit = "sbatch --parsable --job-name 4f1e --output out/%j.log --export=ALL --comment rule_a -A lab -p fast -t 5 \
                  --mem 500 --ntasks=1 --cpus-per-task=1 -D . --wrap='echo ok'";
    assert_eq!(tools.shell(submit).answer(), "1\n");
    tools.until_over("1");
    assert_eq!(tools.read("out/1.log"), "ok\n");
    for (line, expected) in [
        (
            "sacct -X --parsable2 --clusters all --noheader --format=JobIdRaw,State --starttime now-2days --endtime now --name 4f1e",
            "1|COMPLETED\n",
        ),
        (
            "squeue '--format=%i|%T' --states=all --noheader --name 4f1e",
            "1|COMPLETED\n",
        ),
        ("sacct -j 1.0 --format=Reason --noheader", ""),
        (
            "sacct -o JobID,State --parsable2 -X -j 1",
            "JobID|State\n1|COMPLETED\n",
        ),
        (
            "sacct -X --noheader --format=jobid,state%20 --job 1",
            "1                       COMPLETED \n",
        ),
        ("squeue --noheader --format='%i %t' --job 1", ""),
        (
            "sacct -P -b -j 1 -n",
            "1|COMPLETED|0:0\n1.batch|COMPLETED|0:0\n",
        ),
        (
            "squeue --noheader -o '%i %t' -t all --only-job-state",
            "1 CD\n",
        ),
        (
            "squeue -j 1 --states=all --Format=jobarrayid:9,state --noheader --array",
            "1        COMPLETED           \n",
        ),
        (
            "scontrol show config | grep -e MinJobAge -e MaxArraySize",
            "MaxArraySize            = 1000001\nMinJobAge               = 300 sec\n",
        ),
        ("sinfo -h -o '%P %l'", "tollgate* infinite\n"),
        (
            "scontrol -o show part | grep -o MaxTime=UNLIMITED",
            "MaxTime=UNLIMITED\n",
        ),
        ("sbatch --version", "slurm 22.05.8\n"),
    ] {
        assert_eq!(tools.shell(line).answer(), expected, "{line}");
    }
    let host = tools.shell("sacct -j 1 -n -X -o nodelist%-256").answer();
    assert!(!host.trim().is_empty() && host.len() > 256, "{host}");
}
