//! Devices and licences from the settings to the attempt, and across a restart.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use tollgate_engine::LaunchSpec;
use tollgate_engine::sim_engine::{SimHost, SimProgram};
use tollgate_model::{BookEntry, Span};
use tollgate_server::controller::ControllerRequest;
use tollgate_service::{
    AdmissionState, NamedResources, RejectReason, Submission, SubmissionOptions,
};

use crate::common::{TestCluster, submission};

fn named(name: &str, count: u8) -> NamedResources {
    BTreeMap::from([(name.to_owned(), count)])
}

fn taking(name: &str, count: u8) -> Submission {
    Submission {
        budget: None,
        deadline: Some(Span::from_secs(500)),
        options: SubmissionOptions {
            resources: named(name, count),
            ..SubmissionOptions::default()
        },
        ..submission("work", 20)
    }
}

/// Returns a service on a host with two GPUs, with one licence.
fn site() -> TestCluster {
    let mut site = TestCluster::new("plan");
    site.world.set_devices(named("gpu", 2));
    site.restart();
    let licences = named("matlab", 1);
    site.tick(vec![ControllerRequest::SetLicences { licences }]);
    site
}

fn taken(site: &mut TestCluster) -> Vec<(String, u8, u8)> {
    let cluster = site
        .request(|reply| ControllerRequest::Nodes { reply })
        .unwrap();
    let found = cluster.resources.into_iter();
    found.map(|one| (one.name, one.total, one.taken)).collect()
}

#[test]
fn unknown_resource_is_refused_by_name() {
    let mut site = site();
    for (name, count, text) in [
        ("fpga", 1, "there is no fpga here"),
        (
            "gpu",
            3,
            "it needs more of gpu than one host or the site has, which is 2",
        ),
    ] {
        let answer = site.quote(taking(name, count));
        let AdmissionState::Rejected(reasons) = answer.admission else {
            panic!("{answer:?}");
        };
        assert_eq!(
            reasons.iter().map(ToString::to_string).collect::<Vec<_>>(),
            [text]
        );
    }
}

#[test]
fn a_policy_that_chooses_no_hosts_counts_nothing() {
    let mut site = TestCluster::new("easy");
    site.world.set_devices(named("gpu", 2));
    site.restart();
    let answer = site.quote(taking("gpu", 1));
    assert_eq!(
        answer.admission,
        AdmissionState::Rejected(vec![RejectReason::HostsUnplanned])
    );
}

#[test]
fn two_jobs_on_one_licence_run_one_after_the_other_across_a_restart() {
    let mut site = site();
    let jobs = [(); 2].map(|()| {
        let submitted = site
            .submit_job(taking("matlab", 1), &["sleep", "20"])
            .unwrap();
        assert!(matches!(
            submitted.answer.admission,
            AdmissionState::Accepted { .. }
        ));
        submitted.job
    });
    site.advance(5);
    site.restart();
    assert_eq!(
        taken(&mut site),
        [("gpu".to_owned(), 2, 0), ("matlab".to_owned(), 1, 1)]
    );
    site.advance(60);
    let [first, second] = jobs.map(|job| site.row(job));
    assert!(second.start >= first.finish, "{second:?}");
    assert!(
        [first, second]
            .iter()
            .all(|row| row.entry == Some(BookEntry::Kept))
    );
    // A licence more lets two run.
    let licences = named("matlab", 2);
    site.tick(vec![ControllerRequest::SetLicences { licences }]);
    for _ in 0..2 {
        site.submit_job(taking("matlab", 1), &["sleep", "20"])
            .unwrap();
    }
    site.advance(2);
    assert_eq!(taken(&mut site)[1], ("matlab".to_owned(), 2, 2));
}

#[test]
fn an_attempt_finds_its_devices_and_no_others() {
    let mut site = site();
    let launches: Arc<Mutex<BTreeMap<u64, LaunchSpec>>> = Arc::default();
    let seen = Arc::clone(&launches);
    site.world = SimHost::new(2, 1 << 30, move |launch| {
        seen.lock()
            .unwrap()
            .insert(launch.attempt.job, launch.clone());
        SimProgram::of_command(launch)
    });
    site.world.set_devices(named("gpu", 2));
    site.restart();
    for resources in [taking("gpu", 1), taking("matlab", 1)] {
        site.submit_job(resources, &["sleep", "20"]).unwrap();
    }
    site.advance(2);
    let launches = launches.lock().unwrap();
    let variable = |job: u64, name: &str| {
        let value = launches[&job].env.iter().find(|(known, _)| known == name);
        value.map(|(_, value)| value.to_string_lossy().into_owned())
    };
    assert_eq!(variable(1, "TOLLGATE_GPU").as_deref(), Some("0"));
    assert_eq!(variable(1, "CUDA_VISIBLE_DEVICES").as_deref(), Some("0"));
    assert_eq!(variable(2, "TOLLGATE_GPU"), None);
    assert_eq!(variable(2, "CUDA_VISIBLE_DEVICES").as_deref(), Some(""));
}

fn on(host: &str) -> Submission {
    Submission {
        options: SubmissionOptions {
            host: Some(host.to_owned()),
            ..SubmissionOptions::default()
        },
        ..taking("matlab", 1)
    }
}

#[test]
fn a_job_on_a_named_host_is_promised_there_across_a_restart() {
    let mut site = site();
    let answer = site.quote(on("nowhere"));
    let AdmissionState::Rejected(reasons) = answer.admission else {
        panic!("{answer:?}");
    };
    let [RejectReason::UnknownHost(mismatch)] = &reasons[..] else {
        panic!("{reasons:?}");
    };
    let [here] = &mismatch.known[..] else {
        panic!("one host has one name: {mismatch:?}");
    };
    // Two nodes: the second job waits, and its host is known by the same name after a restart.
    let wide = || Submission {
        procs: 2,
        ..on(here)
    };
    let jobs = [(); 2].map(|()| {
        let submitted = site.submit_job(wide(), &["sleep", "20"]).unwrap();
        assert!(matches!(
            submitted.answer.admission,
            AdmissionState::Accepted { .. }
        ));
        submitted.job
    });
    site.advance(5);
    site.restart();
    site.advance(60);
    for job in jobs {
        assert_eq!(site.entry(job), Some("kept"));
    }
    let answer = site.quote(Submission {
        procs: 1000,
        ..on(here)
    });
    assert!(
        matches!(answer.admission, AdmissionState::Rejected(_)),
        "{answer:?}"
    );
}
