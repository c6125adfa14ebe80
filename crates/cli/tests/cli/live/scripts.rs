//! Tests of submitted scripts.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::site::ClientTestSite;

fn write(site: &ClientTestSite, text: &str) {
    let file = site.folder().join("job.sh");
    fs::write(&file, text).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn script_is_copied_and_its_directives_apply() {
    let site = ClientTestSite::start("");
    write(
        &site,
        "#!/bin/sh\n#TOLLGATE --estimate 2s --deadline +1h --name 'two words'\n\
         #TOLLGATE --output said.txt --env WORD=hello\necho $WORD $1\n",
    );
    let held = site
        .tollgate(&["quote", "--reserve", "60s", "--quiet", "./job.sh"])
        .answer();
    let held = held.trim();
    site.tollgate(&["submit", "--quote", held, "./job.sh", "world"])
        .answer();
    // The job does not need the file any more.
    fs::remove_file(site.folder().join("job.sh")).unwrap();
    site.tollgate(&["wait", held]).answer();
    assert_eq!(site.tollgate(&["logs", held]).answer(), "hello world\n");
    let jobs = site.tollgate(&["jobs", "--all", "--format", "json"]).json();
    let job = &jobs["jobs"][0];
    assert_eq!(job["name"], "two words");
    assert_eq!(job["estimate_s"], 2.0);
    assert!(job["deadline_at"].is_string());
}

#[test]
fn command_line_overrides_script_directives() {
    let site = ClientTestSite::start("");
    write(&site, "#!/bin/sh\n#TOLLGATE -n 1000000 -e 2s\necho\n");
    let answer = site
        .tollgate(&["submit", "--format", "json", "-n", "1", "./job.sh"])
        .json();
    assert_eq!(answer["decision"], "queued");
    assert_eq!(answer["estimate_s"], 2.0);
    assert_eq!(site.tollgate(&["submit", "./job.sh"]).code, Some(3));
}

#[test]
fn invalid_directive_submits_no_job() {
    let site = ClientTestSite::start("");
    write(&site, "#!/bin/sh\n\n#TOLLGATE --estimate soon\necho\n");
    let ran = site.tollgate(&["submit", "./job.sh"]);
    assert_eq!(ran.code, Some(2));
    assert_eq!(
        ran.stderr,
        "error: ./job.sh:3: #TOLLGATE: invalid value 'soon' for '--estimate <SPAN>': expected a span \
         as in 90s, 20m, 1h30m or 1-12:00:00, got `soon`\n\
         hint: `tollgate submit --help` lists the options\n"
    );
    assert_eq!(site.tollgate(&["jobs", "--all", "--quiet"]).answer(), "");
}

#[test]
fn script_with_line_ends_of_dos_submits_no_job() {
    let site = ClientTestSite::start("");
    write(&site, "#!/bin/bash\r\necho hi\r\n");
    for line in [
        "tollgate submit ./job.sh",
        "tollgate quote ./job.sh",
        "tollgate qsub ./job.sh",
    ] {
        let ran = site.shell(line);
        assert_eq!(ran.code, Some(2), "{line}: {ran:?}");
        assert_eq!(
            ran.stderr,
            "error: ./job.sh: lines end with CR LF, as on DOS\n\
             hint: `dos2unix ./job.sh` converts the line ends\n"
        );
    }
    let piped = site.shell("tollgate qsub < job.sh");
    assert_eq!(piped.code, Some(2));
    assert!(
        piped
            .stderr
            .ends_with("hint: pipe the script through `dos2unix`\n"),
        "{piped:?}"
    );
    assert_eq!(site.tollgate(&["jobs", "--all", "--quiet"]).answer(), "");
}

#[test]
fn lines_for_other_commands_get_a_note_on_standard_error() {
    let site = ClientTestSite::start("");
    write(
        &site,
        "#!/bin/sh\n#SBATCH -n 8\n#SBATCH --mem=4G\n#PBS -l ncpus=1\ntrue\n",
    );
    let sbatch =
        "note: ./job.sh: lines 2-3: #SBATCH are ignored here: only `sbatch` reads such lines\n";
    let ran = site.shell("tollgate submit -q ./job.sh");
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "1\n"));
    let pbs = "note: ./job.sh: line 4: #PBS is ignored here: only `qsub` reads such lines\n";
    assert_eq!(ran.stderr, format!("{pbs}{sbatch}"));
    let ran = site.shell("tollgate qsub ./job.sh");
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "2.tollgate\n"));
    assert_eq!(ran.stderr, sbatch);
}
