//! The fate of pilots when the wanted number changes or a submission fails.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

use tollgate_sites::{PilotPhase, ServiceAddress, SiteError};

use crate::fake::{FakeEngine, FakeTokens, service};

fn names(engine: &FakeEngine) -> Vec<String> {
    engine.live_jobs().into_iter().map(|job| job.name).collect()
}

#[test]
fn pilots_are_submitted_and_cancelled() {
    let engine = FakeEngine::new();
    engine.faults(&["starts"]);
    let outcome = engine.scale(3).expect("the engine answers");
    assert_eq!(outcome.submitted, [1, 2, 3]);
    assert_eq!(
        names(&engine),
        ["tg.fake.0a1b.1", "tg.fake.0a1b.2", "tg.fake.0a1b.3"]
    );
    // Pilot 1 runs; of those that wait the youngest goes first.
    let outcome = engine.scale(2).expect("the engine answers");
    assert_eq!(outcome.cancelled, [3]);
    assert_eq!(names(&engine), ["tg.fake.0a1b.1", "tg.fake.0a1b.2"]);
    let outcome = engine.scale(0).expect("the engine answers");
    assert_eq!(outcome.cancelled, [2, 1]);
    assert!(engine.live_jobs().is_empty());
    // No number is used twice.
    engine.scale(1).expect("the engine answers");
    assert_eq!(names(&engine), ["tg.fake.0a1b.4"]);
}

#[test]
fn pilots_that_ended_are_replaced() {
    let engine = FakeEngine::new();
    engine.scale(2).expect("the engine answers");
    engine.set_state("tg.fake.0a1b.1", "COMPLETED");
    let outcome = engine.scale(2).expect("the engine answers");
    assert_eq!(outcome.submitted, [3]);
    let site = engine.site();
    let phases: Vec<PilotPhase> = site
        .state()
        .pilots
        .iter()
        .map(|pilot| pilot.phase)
        .collect();
    assert_eq!(
        phases,
        [PilotPhase::Over, PilotPhase::Waits, PilotPhase::Waits]
    );
}

#[test]
fn limits_of_the_site_are_kept() {
    let engine = FakeEngine::new();
    let mut site = engine.site_with(|settings| {
        settings.at_most = 4;
        settings.queue_at_most = Some(2);
    });
    let mut tokens = FakeTokens::default();
    let outcome = site
        .reconcile(9, &service(), &mut tokens)
        .expect("the engine answers");
    assert_eq!(engine.live_jobs().len(), 2);
    assert_eq!(tokens.issued, 2);
    assert_eq!(
        (outcome.plan.beyond_maximum, outcome.plan.beyond_queue),
        (5, 2)
    );
}

#[test]
fn each_pilot_has_a_token_of_its_own_until_it_ends() {
    let engine = FakeEngine::new();
    engine.scale(2).expect("the engine answers");
    let token = |number: u32| {
        let file = engine.state_dir().join(format!("fake/{number}.token"));
        fs::read_to_string(file).ok()
    };
    assert_eq!(token(1).as_deref(), Some("token-1\n"));
    assert_eq!(token(2).as_deref(), Some("token-2\n"));
    engine.scale(0).expect("the engine answers");
    engine.site().refresh().expect("the engine answers");
    assert_eq!((token(1), token(2)), (None, None));
}

#[test]
fn refusal_for_good_is_no_pilot() {
    let engine = FakeEngine::new();
    engine.faults(&["", "invalid"]);
    let outcome = engine.scale(3).expect("the engine answers");
    assert_eq!(outcome.submitted, [1]);
    let error = outcome.stopped.expect("a refusal");
    assert!(
        error
            .to_string()
            .contains("Invalid partition name specified"),
        "{error}"
    );
    let site = engine.site();
    assert_eq!((site.counts().pending, site.counts().running), (1, 0));
    let last = site.log_tail(1);
    assert!(
        last[0].text.starts_with("pilot 2 was not submitted"),
        "{last:?}"
    );
}

#[test]
fn answer_that_is_lost_is_found_by_name() {
    for fault in ["reset-after", "garbage"] {
        let engine = FakeEngine::new();
        engine.faults(&[fault]);
        let outcome = engine.scale(2).expect("the engine answers");
        assert!(outcome.stopped.is_none(), "{fault}: {:?}", outcome.stopped);
        assert_eq!(outcome.submitted, [1, 2], "{fault}");
        assert_eq!(
            names(&engine),
            ["tg.fake.0a1b.1", "tg.fake.0a1b.2"],
            "{fault}"
        );
    }
}

#[test]
fn command_that_hangs_is_found_by_name() {
    let engine = FakeEngine::new().with_limit(Duration::from_millis(1500));
    engine.faults(&["hangs-after"]);
    let outcome = engine.scale(1).expect("the engine answers");
    assert_eq!(outcome.submitted, [1]);
    assert_eq!(names(&engine), ["tg.fake.0a1b.1"]);
}

#[test]
fn pilot_that_never_arrived_counts_for_a_while_only() {
    let engine = FakeEngine::new();
    engine.faults(&["reset-before"]);
    let outcome = engine.scale(1).expect("the engine answers");
    assert!(matches!(outcome.stopped, Some(SiteError::Engine { .. })));
    // It may still be on its way.
    let outcome = engine.scale(1).expect("the engine answers");
    assert!(outcome.submitted.is_empty());
    engine.pass_minutes(2);
    let outcome = engine.scale(1).expect("the engine answers");
    assert_eq!(outcome.submitted, [2]);
    assert_eq!(names(&engine), ["tg.fake.0a1b.2"]);
}

#[test]
fn second_copy_of_a_pilot_is_cancelled() {
    let engine = FakeEngine::new();
    engine.faults(&["twice"]);
    engine.scale(1).expect("the engine answers");
    assert_eq!(names(&engine).len(), 2);
    engine.scale(1).expect("the engine answers");
    assert_eq!(names(&engine), ["tg.fake.0a1b.1"]);
}

#[test]
fn pilots_are_adopted_when_the_files_are_lost() {
    let engine = FakeEngine::new();
    engine.scale(3).expect("the engine answers");
    fs::remove_dir_all(engine.state_dir()).expect("it was there");
    let outcome = engine.scale(3).expect("the engine answers");
    assert!(outcome.submitted.is_empty());
    let outcome = engine.scale(4).expect("the engine answers");
    assert_eq!(outcome.submitted, [4]);
}

#[test]
fn unreachable_engine_changes_nothing() {
    let engine = FakeEngine::new();
    engine.scale(2).expect("the engine answers");
    engine.set_down(true);
    let error = engine.scale(0).expect_err("it is down");
    assert!(error.to_string().contains("purple"), "{error}");
    let counts = engine.site().counts();
    assert_eq!(counts.pending, 2);
    engine.set_down(false);
    engine.scale(0).expect("the engine answers");
    assert!(engine.live_jobs().is_empty());
}

#[test]
fn preview_queries_and_changes_nothing() {
    let engine = FakeEngine::new();
    engine.set_down(true);
    let site = engine.site();
    let preview = site.preview(2, &service());
    assert_eq!(preview.commands.len(), 2);
    assert!(preview.commands[0].starts_with("sbatch --parsable"));
    assert!(preview.script.expect("a script").contains("--name fake.1 "));
    assert_eq!(site.state().next_number, 1);
}

#[test]
fn site_with_pilots_is_not_removed() {
    let engine = FakeEngine::new();
    engine.scale(1).expect("the engine answers");
    assert!(matches!(
        engine.site().remove(),
        Err(SiteError::Occupied { pilots: 1, .. })
    ));
    engine.scale(0).expect("the engine answers");
    let mut site = engine.site();
    site.refresh().expect("the engine answers");
    site.remove().expect("no pilots");
    assert!(!engine.state_dir().join("fake").exists());
}

#[test]
fn token_of_a_pilot_that_is_gone_for_good_is_revoked() {
    let engine = FakeEngine::new();
    let with_tokens = ServiceAddress {
        needs_token: true,
        ..service()
    };
    let mut tokens = FakeTokens::default();
    let mut scale = |target| {
        let outcome = engine.site().reconcile(target, &with_tokens, &mut tokens);
        assert!(outcome.expect("the engine answers").stopped.is_none());
        tokens.revoked.clone()
    };
    scale(2);
    engine.set_state("tg.fake.0a1b.1", "COMPLETED");
    // The engine may be wrong for a moment.
    assert!(scale(2).is_empty());
    engine.pass_minutes(11);
    assert_eq!(scale(2), ["1"]);
    assert_eq!(scale(2), ["1"]);
}

#[test]
fn engine_on_another_host_is_reached_by_ssh() {
    let engine = FakeEngine::new();
    let mut site = engine.site_with(|settings| {
        settings.via = Some("login1".to_owned());
        settings.args = vec!["--comment=it's $(here)".to_owned()];
    });
    let outcome = site.reconcile(1, &service(), &mut FakeTokens::default());
    let outcome = outcome.expect("the engine answers");
    assert!(outcome.stopped.is_none(), "{:?}", outcome.stopped);
    assert_eq!(names(&engine), ["tg.fake.0a1b.1"]);
    let token = engine
        .remote_home()
        .join(".tollgate-pilots/fake-0a1b-1.token");
    assert_eq!(fs::read_to_string(&token).expect("a token"), "token-1\n");
    let script = engine.script("tg.fake.0a1b.1");
    assert!(
        script.contains(".tollgate-pilots/fake-0a1b-1.token"),
        "{script}"
    );
}

/// Makes the directory of a pilot on a node, as old as this in seconds.
fn folder_of_pilot(nodes: &Path, number: u32, age_s: u64) {
    let dir = nodes.join(format!("tollgate-0a1b-fake.{number}"));
    fs::create_dir_all(dir.join("engine")).expect("a directory");
    fs::write(dir.join("pilot.log"), "").expect("a writable directory");
    let at = SystemTime::now() - Duration::from_secs(age_s);
    let dir = fs::File::open(dir).expect("a directory");
    dir.set_modified(at).expect("an own directory");
}

#[test]
fn pilot_removes_day_old_files_of_killed_pilots_of_its_site() {
    let engine = FakeEngine::new();
    let nodes = tempfile::tempdir().expect("a directory");
    let open = || {
        engine.site_with(|settings| {
            settings.program = "true".to_owned();
            settings.dir = Some(nodes.path().display().to_string());
        })
    };
    let scale = |target| open().reconcile(target, &service(), &mut FakeTokens::default());
    // Pilots 1 and 2 are over, 3 and 4 live, and 4 begins now.
    scale(2).expect("two pilots");
    scale(0).expect("none");
    scale(2).expect("two pilots");
    let two_days = 2 * 86_400;
    folder_of_pilot(nodes.path(), 1, two_days);
    folder_of_pilot(nodes.path(), 2, 3_600);
    folder_of_pilot(nodes.path(), 3, two_days);
    folder_of_pilot(nodes.path(), 5, two_days);
    let others = nodes.path().join("tollgate-0a1b-fakes.1");
    fs::create_dir(&others).expect("a directory");
    let script = engine.script("tg.fake.0a1b.4");
    let ran = Command::new("sh").args(["-c", &script]).status();
    assert!(ran.expect("a shell").success());
    let left = fs::read_dir(nodes.path()).expect("a directory");
    let mut left: Vec<String> = left
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    left.sort();
    let expected = ["fake.2", "fake.3", "fake.4", "fake.5", "fakes.1"];
    assert_eq!(left, expected.map(|name| format!("tollgate-0a1b-{name}")));
}
