//! Tests of jobs that submit jobs to the service that runs them.

use super::site::ClientTestSite;

#[test]
fn job_submits_a_job_to_the_service_that_runs_it() {
    let site = ClientTestSite::start("");
    let inner = "env -u HOME -u XDG_STATE_HOME tollgate submit -q -e 1s -- true";
    let words = [
        "submit", "-q", "-e", "1s", "-o", "outer", "--", "sh", "-c", inner,
    ];
    site.tollgate(&words).answer();
    site.tollgate(&["wait", "1"]).answer();
    assert_eq!(site.tollgate(&["logs", "1"]).answer(), "2\n");
    site.tollgate(&["wait", "2"]).answer();
    let all = site.shell("tollgate submit -q --env all -o all -- env; tollgate wait -q 3; cat all");
    let data = format!("TOLLGATE_DATA={}", site.folder().join("data").display());
    let found = all.stdout.lines().filter(|line| *line == data);
    assert_eq!(found.count(), 1, "{all:?}");
}

#[test]
fn service_that_the_user_names_goes_before_the_own_one() {
    let site = ClientTestSite::start("");
    let own = ["--env", "TOLLGATE_DATA=/elsewhere", "-o", "out"];
    let command = ["--", "sh", "-c", "echo $TOLLGATE_DATA $TOLLGATE_URL"];
    site.tollgate(&[&["submit", "-q"][..], &own, &command].concat())
        .answer();
    site.tollgate(&["wait", "1"]).answer();
    assert_eq!(site.tollgate(&["logs", "1"]).answer(), "/elsewhere\n");
}
