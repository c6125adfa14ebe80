//! The handler that teaches the service from accounting records.

use std::collections::BTreeMap;

use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use axum::http::StatusCode;
use axum::{Extension, Json};
use tollgate_client::timestamp::parse_iso;
use tollgate_client::types::{LearnRequest, LearnResult, LearnedJob};
use tollgate_model::Instant;
use tollgate_service::RunRecord;

use super::convert;
use super::error::ApiError;
use super::state::{ApiState, JsonResult, query_controller};
use crate::access::Peer;
use crate::accounts::Accounts;
use crate::controller::ControllerRequest;
use crate::os_users;

/// The first of the user ids that no system gives to an account: they are negative as signed numbers.
const FIRST_FOREIGN_USER: u32 = 1 << 31;

/// Learns from records. Only operators may, because what is learned decides about the jobs of all.
pub(super) async fn learn(
    State(service): State<ApiState>,
    Extension(peer): Extension<Peer>,
    request: Result<Json<LearnRequest>, JsonRejection>,
) -> JsonResult<LearnResult> {
    let Json(request) = request?;
    if !peer.operator {
        let error = "only root and the service's own user teach the service";
        return Err(ApiError::new(StatusCode::FORBIDDEN, error));
    }
    // The system's name service may take its time.
    let accounts = service.access.accounts.clone();
    let read = tokio::task::spawn_blocking(move || run_records(&accounts, &request.records));
    let records = read.await.map_err(|_| ApiError::stopping())??;
    let (learned, known) = query_controller(&service, |reply| ControllerRequest::Learn {
        records,
        reply,
    })
    .await?;
    Ok(Json(LearnResult { learned, known }))
}

fn run_records(accounts: &Accounts, jobs: &[LearnedJob]) -> Result<Vec<RunRecord>, ApiError> {
    let mut users = BTreeMap::new();
    let records = jobs.iter().map(|job| {
        let name = job.user.as_deref().unwrap_or_default();
        let user = *users
            .entry(name)
            .or_insert_with(|| user_number(accounts, name));
        run_record(job, user)
    });
    records.collect()
}

fn run_record(job: &LearnedJob, user: u32) -> Result<RunRecord, ApiError> {
    let expected = "an instant, as in 2026-12-01T09:00:00Z";
    let instant = |key, words: &str| parse_iso(words).map_err(|_| ApiError::field(key, expected));
    let submit = instant("submitted_at", &job.submitted_at)?;
    let finish = instant("finished_at", &job.finished_at)?;
    if job.procs == 0 {
        return Err(ApiError::field("procs", "at least 1"));
    }
    let runtime = convert::span("run_s", Some(job.run_s))?;
    let runtime = runtime.ok_or_else(|| ApiError::field("run_s", "a positive number"))?;
    Ok(RunRecord {
        digest: digest(job, submit, finish),
        user,
        name: job.name.clone(),
        executable: job.executable.clone(),
        account: job.account.clone(),
        queue: job.queue.clone(),
        procs: job.procs,
        estimate: convert::span("estimate_s", job.estimate_s)?,
        submit,
        finish,
        runtime,
        cpu: convert::span("cpu_s", job.cpu_s)?,
        peak_memory: job.peak_memory_bytes,
    })
}

/// Returns the digest of what identifies a job in its record.
fn digest(job: &LearnedJob, submit: Instant, finish: Instant) -> u64 {
    let user = job.user.as_deref().unwrap_or_default();
    let times = [submit, finish].map(|at| at.as_micros().to_be_bytes());
    let words = [job.id.as_bytes(), &[0], user.as_bytes(), &[0]];
    let bytes = words
        .into_iter()
        .chain(times.iter().map(<[u8; 8]>::as_slice));
    hash(bytes.flatten().copied())
}

/// Returns the user id of a user in a record. It is that of the account of this name on this host, else a
/// number that no account has, always the same for the same name.
fn user_number(accounts: &Accounts, name: &str) -> u32 {
    let foreign = || {
        let number = hash(name.bytes()) % u64::from(u32::MAX - 1 - FIRST_FOREIGN_USER);
        FIRST_FOREIGN_USER + number as u32
    };
    let own = os_users::by_name(name).map(|uid| accounts.user_named(uid, name));
    own.unwrap_or_else(|_| foreign())
}

/// Returns the FNV-1a hash, with its bits mixed: it is stored, so it never changes.
fn hash(bytes: impl Iterator<Item = u8>) -> u64 {
    let sum = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let mixed = (sum ^ (sum >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    mixed ^ (mixed >> 33)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(id: &str, user: &str) -> LearnedJob {
        LearnedJob {
            cpu_s: None,
            peak_memory_bytes: None,
            id: id.to_owned(),
            user: Some(user.to_owned()),
            name: "simulate".to_owned(),
            executable: None,
            account: None,
            queue: None,
            procs: 1,
            estimate_s: None,
            submitted_at: "2026-12-01T09:00:00Z".to_owned(),
            finished_at: "2026-12-01T10:00:00Z".to_owned(),
            run_s: 60.0,
        }
    }

    #[test]
    fn records_differ_by_id_user_and_times() {
        let other_end = LearnedJob {
            finished_at: "2026-12-01T10:00:01Z".to_owned(),
            ..job("1", "ada")
        };
        let jobs = [job("1", "ada"), job("2", "ada"), job("1", "bob"), other_end];
        let digests = |jobs: &[LearnedJob]| -> Vec<u64> {
            let records = run_records(&Accounts::default(), jobs).unwrap();
            records.iter().map(|record| record.digest).collect()
        };
        let found = digests(&jobs);
        let distinct: std::collections::BTreeSet<_> = found.iter().collect();
        assert_eq!(distinct.len(), 4);
        assert_eq!(digests(&jobs), found);
    }

    #[test]
    fn users_of_this_host_keep_their_number_and_others_get_one_that_no_account_has() {
        let user_number = |name| user_number(&Accounts::default(), name);
        assert_eq!(user_number("root"), 0);
        let numbers = ["no such user", "nor this one", ""].map(user_number);
        for number in numbers {
            assert!((FIRST_FOREIGN_USER..u32::MAX - 1).contains(&number));
        }
        assert_ne!(numbers[0], numbers[1]);
        assert_eq!(
            numbers,
            ["no such user", "nor this one", ""].map(user_number)
        );
    }

    #[test]
    fn impossible_records_are_refused() {
        let refused = |job: LearnedJob| run_records(&Accounts::default(), &[job]).is_err();
        assert!(refused(LearnedJob {
            run_s: 0.0,
            ..job("1", "ada")
        }));
        assert!(refused(LearnedJob {
            procs: 0,
            ..job("1", "ada")
        }));
        assert!(refused(LearnedJob {
            finished_at: "noon".to_owned(),
            ..job("1", "ada")
        }));
    }
}
