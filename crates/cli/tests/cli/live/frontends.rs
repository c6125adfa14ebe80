//! Tests of `qsub`, `qstat` and `qdel` as workflow systems call them, with the command lines and
//! scripts that Nextflow, Snakemake and Galaxy write.

use std::fs;
use std::path::Path;

use super::site::{ClientOutput, ClientTestSite};

/// A site with the tools in a directory of their own, and scripts in `work`.
struct FrontendTestSite {
    site: ClientTestSite,
    dialect: &'static str,
}

impl FrontendTestSite {
    fn new(style: &'static str, config: &str) -> Self {
        let site = ClientTestSite::start(config);
        let tools = site.folder().join("tools").display().to_string();
        let made = site.tollgate(&["generate", "frontends", "--out", &tools, "--style", style]);
        made.answer();
        // The second call replaces the same links.
        if style == "pbs" {
            let again = site.tollgate(&["generate", "frontends", "--out", &tools]);
            again.answer();
        }
        fs::create_dir(site.folder().join("work")).unwrap();
        Self {
            site,
            dialect: style,
        }
    }

    fn work(&self) -> std::path::PathBuf {
        self.site.folder().join("work")
    }

    fn script(&self, name: &str, text: &str) {
        fs::write(self.work().join(name), text).unwrap();
    }

    /// Runs a shell line in the work directory with the tools on the path.
    fn shell(&self, line: &str) -> ClientOutput {
        self.site.shell(&format!(
            "PATH=$PWD/tools:$PATH; export PATH; cd work; {line}"
        ))
    }

    fn until_over(&self, id: &str) {
        let _ = self.site.tollgate(&["wait", "--quiet", id]);
    }

    /// Returns the output, with placeholders for everything that differs from run to run.
    fn redacted(&self, text: &str) -> String {
        let folder = fs::canonicalize(self.site.folder()).unwrap();
        let text = text.replace(&folder.display().to_string(), "[folder]");
        let text = text.replace(&self.site.folder().display().to_string(), "[folder]");
        let jobs = self.site.tollgate(&["jobs", "--all", "--format", "json"]);
        let jobs = jobs.json();
        let user = jobs["jobs"][0]["user"].as_str().unwrap();
        let lines = text.lines().map(|line| {
            let line = line.replace(&format!("{user}@"), "[user]@");
            let times = ["time = ", "walltime = "];
            match times
                .iter()
                .find_map(|mark| line.find(mark).map(|at| at + mark.len()))
            {
                Some(end) => format!("{}[time]", &line[..end]),
                None => line,
            }
        });
        assert!(!self.dialect.is_empty());
        lines.collect::<Vec<_>>().join("\n")
    }
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn nextflow_runs_its_tasks_as_on_pbs() {
    let tools = FrontendTestSite::new("pbs", "");
    let work = tools.work().display().to_string();
    tools.script(
        ".command.run",
        &format!(
            "#!/bin/bash\n#PBS -N nf-align_(1)\n#PBS -o {work}/.command.log\n#PBS -j oe\n\
             #PBS -l nodes=1:ppn=1\n#PBS -l walltime=00:01:00\n#PBS -l mem=64mb\n\
             NXF_CHDIR={work}\ncd $NXF_CHDIR\necho out $PBS_JOBID $PBS_NP\necho err >&2\n"
        ),
    );
    // Nextflow reads both streams together, and takes all of the text as the job number.
    let id = tools.shell("qsub -N nf-align_1 .command.run 2>&1").answer();
    assert_eq!(id, "1.tollgate\n");
    tools.until_over("1");
    let log = read(&tools.work().join(".command.log"));
    assert_eq!(log, "out 1.tollgate 1\nerr\n");
    let line = "set -o pipefail; qstat -f -1 | { grep -E '(Job Id:|job_state =)' || true; }";
    let listed = tools.shell(&format!("bash -c \"{line}\"")).answer();
    assert_eq!(listed, "Job Id: 1.tollgate\n    job_state = C\n");
    // For PBS Pro, Nextflow first asks for the names of the servers.
    let servers = "qstat -B | grep -E -v '(^Server|^---)' | awk -v ORS=' ' '{print \"@\"$1}'";
    assert_eq!(tools.shell(servers).answer(), "@tollgate ");
    let all = tools.shell("qstat -f @tollgate").answer();
    insta::assert_snapshot!("qstat_f", tools.redacted(&all));
}

#[test]
fn nextflow_runs_its_tasks_as_on_grid_engine() {
    let tools = FrontendTestSite::new("sge", "");
    let work = tools.work().display().to_string();
    tools.script(
        ".command.run",
        &format!(
            "#!/bin/bash\n#$ -wd {work}\n#$ -N nf-sort\n#$ -o {work}/.command.log\n#$ -j y\n\
             #$ -terse\n#$ -notify\n#$ -pe smp 1\n#$ -l h_rt=00:01:00\n#$ -l h_rss=64M,mem_free=64M\n\
             pwd; echo $JOB_ID $NSLOTS $SGE_TASK_ID\n"
        ),
    );
    // Nextflow takes the last line of both streams.
    let answer = tools.shell("qsub -terse .command.run 2>&1").answer();
    assert_eq!(answer, "note: -notify changes nothing here\n1\n");
    tools.until_over("1");
    let log = read(&tools.work().join(".command.log"));
    assert!(log.ends_with("/work\n1 1 undefined\n"), "{log}");
    // Finished jobs are not listed. A job that occupies everything is listed.
    assert_eq!(tools.shell("qstat").answer(), "");
    tools
        .shell("qsub -terse -b y -o /dev/null -j y sleep 600")
        .answer();
    let listed = tools.shell("qstat").answer();
    let row: Vec<&str> = listed.lines().nth(2).unwrap().split_whitespace().collect();
    assert_eq!((row[0], row[2], row[4]), ("2", "sleep", "r"), "{listed}");
    let xml = tools.shell("qstat -xml").answer();
    assert!(xml.contains("<JB_job_number>2</JB_job_number>"), "{xml}");
    let gone = tools.shell("qdel 2").answer();
    assert_eq!(gone, "2 has been registered for deletion\n");
    tools.until_over("2");
    let status = tools.shell("qstat -j 2");
    assert_eq!(status.code, Some(1), "a status script takes this for over");
}

#[test]
fn snakemake_and_galaxy_get_the_exit_status_of_a_job() {
    let tools = FrontendTestSite::new("pbs", "");
    tools.script(
        "jobscript.sh",
        "#!/bin/sh\n# properties = {}\ncd $PBS_O_WORKDIR\nexit 7\n",
    );
    let submit =
        "qsub -l nodes=1:ppn=1 -l walltime=60 -l mem=64mb -o log -e log -N rule jobscript.sh";
    tools.shell("mkdir log").answer();
    assert_eq!(tools.shell(submit).answer(), "1.tollgate\n");
    tools.until_over("1");
    for file in ["rule.o1", "rule.e1"] {
        assert_eq!(read(&tools.work().join("log").join(file)), "", "{file}");
    }
    // The status script of Snakemake's profile for Torque, and then the two queries of Galaxy.
    let one = tools.shell("qstat -f -x 1.tollgate").answer();
    assert!(
        one.starts_with("<Data><Job><Job_Id>1.tollgate</Job_Id>"),
        "{one}"
    );
    assert!(one.contains("<job_state>C</job_state>"), "{one}");
    assert!(one.contains("<exit_status>7</exit_status>"), "{one}");
    assert_eq!(tools.shell("qstat -x").answer(), one);
    let full = tools.shell("qstat -f 1.tollgate").answer();
    assert!(full.contains("\n    exit_status = 7\n"), "{full}");
    let json = tools.shell("qstat -f -F json 1").json();
    assert_eq!(json["Jobs"]["1.tollgate"]["Exit_status"], 7);
}

#[test]
fn arrays_dependencies_and_holds() {
    let tools = FrontendTestSite::new("pbs", "policy = \"easy\"\n");
    tools.script(
        "task.sh",
        "#!/bin/sh\n#PBS -t 1-3\n#PBS -j oe\n#PBS -o task.^array_index^\necho $PBS_ARRAYID $PBS_JOBID $1 $GREETING\n",
    );
    let answer = tools
        .shell("qsub -v GREETING='good day' -F first task.sh")
        .answer();
    assert_eq!(answer, "1[].tollgate\n");
    tools.script("after.sh", "echo after\n");
    let after = "qsub -N after -j oe -W depend=afterok:1[].tollgate after.sh";
    assert_eq!(tools.shell(after).answer(), "2.tollgate\n");
    let held = tools
        .shell("qsub -h -N held -o /dev/null -j oe after.sh")
        .answer();
    assert_eq!(held, "3.tollgate\n");
    tools.until_over("1");
    tools.until_over("2");
    let task = read(&tools.work().join("task.2"));
    assert_eq!(task, "2 1[2].tollgate first good day\n");
    assert_eq!(read(&tools.work().join("after.o2")), "after\n");
    let state = "qstat 3 | tail -1 | awk '{print $1, $2, $5, $6}'";
    assert_eq!(tools.shell(state).answer(), "3.tollgate held H tollgate\n");
    tools.shell("qdel 3.tollgate").answer();
    tools.until_over("3");
    let gone = tools.shell("qdel 3.tollgate 99");
    assert_eq!(gone.code, Some(153));
    assert_eq!(gone.stderr, "error: qdel: Unknown Job Id 3.tollgate 99\n");
    let gone = tools.shell("qstat 99.tollgate");
    assert_eq!((gone.code, gone.stdout.as_str()), (Some(153), ""));
}

#[test]
fn qsub_promises_or_rejects_a_deadline_and_can_wait() {
    let tools = FrontendTestSite::new("pbs", "[promise]\notherwise = \"reject\"\n");
    tools.script(
        "job.sh",
        "#!/bin/sh\n#PBS -l walltime=2,deadline=+1h -o /dev/null -e /dev/null\nexit 5\n",
    );
    let waited = tools.shell("qsub -W block=true job.sh");
    assert_eq!(
        (waited.stdout.as_str(), waited.code),
        ("1.tollgate\n", Some(5))
    );
    let explained = tools
        .site
        .tollgate(&["explain", "1", "--format", "json"])
        .json();
    assert!(explained["job"]["deadline_at"].is_string(), "{explained}");
    let refused = tools.shell("qsub -l walltime=50:00,deadline=+1s job.sh");
    assert_eq!((refused.stdout.as_str(), refused.code), ("", Some(3)));
    assert!(
        refused.stderr.starts_with("error: rejected: "),
        "{}",
        refused.stderr
    );
    // The style comes from the environment, for scripts that cannot be changed.
    tools.script("old.sh", "#!/bin/sh\n#PBS -l walltime=50:00\ntrue\n");
    assert_eq!(
        tools.shell("TOLLGATE_DEADLINE=+1s qsub old.sh").code,
        Some(3)
    );
}

#[test]
fn qsub_warns_of_a_deadline_without_a_promise() {
    let tools = FrontendTestSite::new("pbs", "");
    tools.script("job.sh", "#!/bin/sh\n#PBS -l walltime=50:00\ntrue\n");
    let submitted = tools.shell("qsub -l deadline=+1s job.sh");
    assert_eq!(submitted.stdout, "1.tollgate\n");
    assert!(
        submitted
            .stderr
            .starts_with("note: qsub: its deadline is not promised: "),
        "{}",
        submitted.stderr
    );
}

#[test]
fn job_of_qsub_begins_at_its_time() {
    let tools = FrontendTestSite::new("pbs", "");
    tools.script(
        "job.sh",
        "#!/bin/sh\n#PBS -a 203001020304 -l walltime=10\ntrue\n",
    );
    assert_eq!(tools.shell("TZ=UTC qsub job.sh").stdout, "1.tollgate\n");
    let listed = tools.site.tollgate(&["jobs", "--format", "json"]).json();
    assert_eq!(
        listed["jobs"][0]["begin_at"], "2030-01-02T03:04:00Z",
        "{listed}"
    );
    assert_eq!(listed["jobs"][0]["state"], "dependent", "{listed}");
}

#[test]
fn unsupported_options_are_rejected_or_noted() {
    let tools = FrontendTestSite::new("pbs", "");
    tools.script("job.sh", "#!/bin/sh\n#PBS -N ok\n#PBS -l gpu=1\ntrue\n");
    let run = |line: &str| {
        let ran = tools.shell(line);
        format!(
            "$ {line}\n{}{}exit {:?}\n",
            ran.stdout, ran.stderr, ran.code
        )
    };
    let all = [
        "qsub job.sh",
        "qsub -l walltime=soon job.sh",
        "qsub -I",
        "qsub -a soon job.sh",
        "qsub -zork job.sh",
        "qsub -pe smp",
        "qsub nowhere.sh",
        "qsub -q long -p 5 -m ae -j oe -o /dev/null -b y true",
        "qdel",
        "qdel -zork 1",
        "qstat -zork",
        "qstat job",
    ];
    let notes: String = all.into_iter().map(run).collect();
    insta::assert_snapshot!("refused", tools.redacted(&notes));
}

#[test]
fn variables_keep_escaped_commas_and_faults_name_the_option() {
    let tools = FrontendTestSite::new("pbs", "");
    tools.script("job.sh", "#PBS -v FROM=a\\,b -j oe\necho [$CM] [$FROM]\n");
    tools
        .shell(r#"qsub -o 1.out -v 'CM=x\,y' job.sh; qsub -o 2.out -v "CM='x,y'" job.sh"#)
        .answer();
    for (id, output) in [("1", "1.out"), ("2", "2.out")] {
        tools.until_over(id);
        assert_eq!(read(&tools.work().join(output)), "[x,y] [a,b]\n");
    }
    let refused = tools.shell("qsub -v CM=x,none_such job.sh");
    assert_eq!(refused.code, Some(2));
    assert_eq!(
        refused.stderr,
        "error: qsub: -v: there is no variable `none_such` to pass to the job\n"
    );
}
