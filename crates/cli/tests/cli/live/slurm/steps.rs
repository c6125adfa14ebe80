//! Steps of `srun`: how they run, what they read, and their records.

use super::SlurmTestSite;

#[test]
fn steps_run_side_by_side_and_fail_with_the_greatest_code() {
    let tools = SlurmTestSite::new("");
    tools.script(
        "steps.sh",
        "#!/bin/bash\n#SBATCH -n 1 -o steps.out\n\
         srun -l -n 1 sh -c 'echo $SLURM_PROCID of $SLURM_NTASKS in $SLURM_JOB_ID'\n\
         srun -n 1 -o step-%t.txt echo one &\nsrun -n 1 echo two > two.txt &\nwait\n\
         srun -n 1 sh -c 'exit 3'; echo $?\n\
         srun -n 1 sh -c 'kill -KILL $$'; echo $?\n\
         srun -n 1 ./none; echo $?\n\
         srun -n 9999 true; echo $?\n\
         scontrol show hostnames 'n[1-3]' | tr '\\n' ' '\n",
    );
    tools.shell("sbatch steps.sh").answer();
    tools.until_over("1");
    let output = tools.read("steps.out");
    let output = output
        .lines()
        .map(|line| match line.split_once(": task 0: ") {
            Some((_, words)) => words,
            None => line,
        });
    let output: Vec<&str> = output
        .filter(|line| !line.contains("temporarily disabled"))
        .collect();
    assert_eq!(
        output,
        [
            "0: 0 of 1 in 1",
            "Exited with exit code 3",
            "3",
            "Killed",
            "137",
            "execve(): ./none: No such file or directory",
            "2",
            "srun: error: Unable to create step for job 1: More processors requested than permitted",
            "1",
            "n1 n2 n3 ",
        ]
    );
    assert_eq!(tools.read("step-0.txt"), "one\n");
    assert_eq!(tools.read("two.txt"), "two\n");
}

#[test]
fn steps_have_numbers_and_records() {
    let tools = SlurmTestSite::new("[local]\nnodes = 2\n");
    tools.script(
        "steps.sh",
        "#!/bin/bash\n#SBATCH -n 2 -o steps.out\n\
         srun -n 2 sh -c 'echo $SLURM_STEP_ID'\n\
         srun -n 1 -J second sh -c 'echo $SLURM_STEP_ID; exit 3' 2> /dev/null\n\
         srun -n 1 sh -c 'kill -KILL $$' 2> /dev/null\n\
         srun -n 1 ./none 2> /dev/null\n\
         sacct -n -P -j $SLURM_JOB_ID.0 -o jobid,state,ntasks\n\
         srun -n 1 sh -c 'sacct -n -P -j $SLURM_JOB_ID.4 -o state'\n",
    );
    tools.shell("sbatch steps.sh").answer();
    tools.until_over("1");
    assert_eq!(
        tools.read("steps.out"),
        "0\n0\n1\n1.0|COMPLETED|2\nRUNNING\n"
    );
    let records = tools.shell("sacct -n -P -j 1 -o jobid,jobname,state,exitcode,ntasks");
    assert_eq!(
        records.answer(),
        "1|steps.sh|COMPLETED|0:0|\n\
         1.batch|batch|COMPLETED|0:0|1\n\
         1.0|sh|COMPLETED|0:0|2\n\
         1.1|second|FAILED|3:0|1\n\
         1.2|sh|FAILED|0:9|1\n\
         1.3|none|FAILED|2:0|1\n\
         1.4|sh|COMPLETED|0:0|1\n"
    );
    assert_eq!(tools.shell("sacct -n -P -X -j 1 -o jobid").answer(), "1\n");
    let one = tools.shell("sacct -n -P -j 1.1 -o jobid,state").answer();
    assert_eq!(one, "1.1|FAILED\n");
    assert_eq!(tools.shell("sacct -n -j 1.9").answer(), "");
}

#[test]
fn steps_of_tasks_of_an_array_are_apart() {
    let tools = SlurmTestSite::new("[local]\nnodes = 2\n");
    let wrap = "srun -n 1 -J of-$SLURM_ARRAY_TASK_ID true";
    tools
        .shell(&format!("sbatch -a 0-1 -o none.out --wrap '{wrap}'"))
        .answer();
    tools.until_over("1");
    let records = tools.shell("sacct -n -P -j 1 -o jobid,jobname").answer();
    assert_eq!(
        records,
        "1_0|wrap\n1_0.batch|batch\n1_0.0|of-0\n1_1|wrap\n1_1.batch|batch\n1_1.0|of-1\n"
    );
}

#[test]
fn every_task_reads_all_of_standard_input() {
    let tools = SlurmTestSite::new("[local]\nnodes = 2\n");
    tools.script(
        "input.sh",
        "#!/bin/bash\n#SBATCH -n 2 -o input.out\n\
         printf 'skipped\\nkept\\n' > lines.txt\n\
         { read first; srun -n 2 cat; } < lines.txt\n\
         echo piped | srun -n 2 cat\n\
         echo once | srun -n 2 -i 1 -l cat\n\
         echo never | srun -n 2 -i none cat\n\
         echo one | srun -n 1 cat\n",
    );
    tools.shell("sbatch input.sh").answer();
    tools.until_over("1");
    assert_eq!(
        tools.read("input.out"),
        "kept\nkept\npiped\npiped\n1: once\none\n"
    );
}
