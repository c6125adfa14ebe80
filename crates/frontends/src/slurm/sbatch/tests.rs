//! Tests of calls of `sbatch`.

use super::*;
use crate::fuzz::fixed_place;

fn submit(words: &str, text: &str) -> Result<SbatchSubmission, String> {
    let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
    let place = fixed_place();
    let call = SbatchCall::parse(&words, &place).map_err(|error| error.text)?;
    let text = match call.script() {
        SbatchScript::Wrapped(text) => text.clone(),
        SbatchScript::StandardInput | SbatchScript::File(_) => text.to_owned(),
    };
    call.submission(&text, &place).map_err(|error| error.text)
}

#[test]
fn script_becomes_a_request() {
    let text = "#!/bin/bash\n#SBATCH -J sim -n 4 --mem=2G\n#SBATCH -t 60 -p long\nhostname\n";
    let done = submit("-t 30 dir/job.sh one", text).unwrap();
    let request = &done.request;
    assert_eq!(request.command, ["./job.sh", "one"]);
    assert_eq!((request.procs, request.time_limit_s), (4, Some(1800.0)));
    assert_eq!(request.memory_bytes, Some(2 << 30));
    assert_eq!(request.queue.as_deref(), Some("long"));
    assert_eq!(request.dir, "/home/mia/runs");
    let output = request.output.as_deref();
    assert_eq!(output, Some("/home/mia/runs/slurm-%j.out"));
    assert_eq!(request.env["SLURM_SUBMIT_DIR"], "/home/mia/runs");
    assert_eq!(request.env["SLURM_NTASKS"], "4");
    assert_eq!(request.env["MODEL"], "warm");
    let script = request.script.as_deref().unwrap();
    assert!(script.starts_with("#!/bin/bash\n_t=$TOLLGATE_HOSTS,"));
    assert!(script.ends_with("\nhostname\n"));
    assert_eq!(done.answer(7), "Submitted batch job 7");
    assert_eq!(done.notes, [""; 0]);
}

#[test]
fn arrays_have_a_file_for_each_task_or_share_one() {
    let done = submit("--parsable -a 1-3%2 --wrap=true", "").unwrap();
    let request = &done.request;
    assert_eq!(request.array.as_deref(), Some("1-3%2"));
    let output = request.output.as_deref();
    assert_eq!(output, Some("/home/mia/runs/slurm-%j_%a.out"));
    assert_eq!(request.env["SLURM_ARRAY_TASK_MAX"], "3");
    assert_eq!(request.name.as_deref(), Some("wrap"));
    assert_eq!(done.answer(7), "7");
    let shared = submit("-a 1-3 -o all.out --wrap=true", "").unwrap();
    assert_eq!(shared.request.output, None);
    let script = shared.request.script.unwrap();
    assert!(
        script.contains("exec >>'/home/mia/runs/all.out' 2>&1; "),
        "{script}"
    );
}

#[test]
fn errors_and_input_have_files_of_their_own() {
    let files = |words: &str| {
        let request = submit(words, "").unwrap().request;
        let of = |file: Option<String>| file.unwrap_or_else(|| "-".to_owned());
        let all = [request.output, request.error, request.input]
            .map(of)
            .join(" ");
        all.replace("/home/mia/runs/", "")
    };
    for (words, expected) in [
        ("--wrap=true", "slurm-%j.out - -"),
        ("-e %x.err -i in --wrap=true", "slurm-%j.out %x.err in"),
        ("-o /dev/null -e err --wrap=true", "- err -"),
        ("-o /dev/null -e /dev/null --wrap=true", "- - -"),
        ("-o out -e /dev/null -i /dev/null --wrap=true", "out none -"),
        ("-a 1-2 -o out-%a -e err-%a --wrap=true", "out-%a err-%a -"),
    ] {
        assert_eq!(files(words), expected, "{words}");
    }
    let shared = submit("-a 1-2 -e all.err --wrap=true", "").unwrap().request;
    assert_eq!(shared.error, None);
    let script = shared.script.unwrap();
    assert!(
        script.contains("exec 2>>'/home/mia/runs/all.err'; "),
        "{script}"
    );
}

#[test]
fn long_labels_are_cut_with_a_note() {
    let words = format!("--comment={} --wrap=true", "x".repeat(200));
    let done = submit(&words, "").unwrap();
    assert_eq!(done.request.comment.map(|comment| comment.len()), Some(128));
    let expected = "sbatch: note: not used here: --comment (behind 128 characters)";
    assert_eq!(done.notes, [expected]);
}

#[test]
fn script_of_another_interpreter_is_read_by_it() {
    let text = "#!/usr/bin/env python3\nimport os\nprint(os.environ['SLURM_JOB_ID'])\n";
    let script = submit("job.py", text).unwrap().request.script.unwrap();
    let start = "exec '/usr/bin/env' 'python3' /dev/fd/9 \"$@\" 9<<'END_OF_SCRIPT'\n";
    assert!(script.starts_with("#!/bin/sh\n_t="));
    assert!(
        script.ends_with(&format!("{start}{text}END_OF_SCRIPT\n")),
        "{script}"
    );
}

#[test]
fn options_without_effect_are_one_note() {
    let done = submit("-q high --exclusive -C fast --wrap=true", "").unwrap();
    let expected = "sbatch: note: not used here: --qos, --exclusive, --constraint";
    assert_eq!(done.notes, [expected]);
    assert_eq!(done.request.env["SLURM_JOB_QOS"], "high");
}

#[test]
fn wrong_scripts_are_named_as_slurm_does() {
    for (words, text, expected) in [
        ("x", "", "sbatch: error: Batch script is empty!"),
        (
            "x",
            "echo\n",
            "sbatch: error: This does not look like a batch script.  The first",
        ),
        (
            "x",
            "#!/bin/sh\r\necho\r\n",
            "sbatch: error: Batch script contains DOS line breaks (\\r\\n)",
        ),
        (
            "--wrap=true x",
            "",
            "sbatch: error: Script arguments not permitted with --wrap option",
        ),
        (
            "--deadline=soon x",
            "#!/bin/sh\n",
            "sbatch: error: Invalid --deadline specification: soon",
        ),
    ] {
        let error = submit(words, text).unwrap_err();
        assert_eq!(error.lines().next(), Some(expected), "{words}");
    }
}

#[test]
fn environment_stands_between_script_and_command_line() {
    let mut place = fixed_place();
    for (name, value) in [("SBATCH_TIMELIMIT", "20"), ("SBATCH_PARTITION", "env")] {
        place.variables.insert(name.to_owned(), value.to_owned());
    }
    let words = ["-t", "10", "x"].map(str::to_owned);
    let call = SbatchCall::parse(&words, &place).unwrap();
    let text = "#!/bin/sh\n#SBATCH -t 30 -p script -A lab\n";
    let request = call.submission(text, &place).unwrap().request;
    assert_eq!(request.time_limit_s, Some(600.0));
    assert_eq!(request.queue.as_deref(), Some("env"));
    assert_eq!(request.account.as_deref(), Some("lab"));
}
