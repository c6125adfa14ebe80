//! The queue of requests. Users take turns, so that no user waits behind another's flood of
//! requests.

use std::collections::{BTreeMap, VecDeque};

use super::request::ControllerRequest;

/// Maximum number of requests in one turn: one transaction holds all their changes.
const MAX_REQUESTS: usize = 1_000;
/// Maximum weight of one turn, unless its first request alone has more. A turn of this weight takes
/// some milliseconds, so a request waits at most for the current turn and its own.
const MAX_WEIGHT: u64 = 1 << 20;
/// Weight of a request besides its stored bytes, in bytes that take as long to store.
const REQUEST_WEIGHT: u64 = 1 << 10;
/// Weight of a look-ahead, in the same unit.
const LOOK_AHEAD_WEIGHT: u64 = 63 << 10;

/// Stored bytes of a record of an earlier job, about.
const RECORD_BYTES: u64 = 128;

/// Maximum number of bytes that a request may store in a turn that answers a query before it.
const MAX_BYTES_BEFORE_QUERY: u64 = 64 << 10;

/// The requests that no turn has taken yet.
///
/// A user's requests are taken in the order of their arrival, and the users in rotation: one
/// request of each, again and again, until the turn is full. The next turn goes on with the user
/// behind the last one served. A query does not wait until a large request is on the disk: the
/// large request is delayed by at most one turn. Requests without a user (reports of workers, the
/// end of the service) are all taken first.
#[derive(Default)]
pub(super) struct RequestQueue {
    first: Vec<ControllerRequest>,
    /// The requests of each user. Requests of operators and queries without a user share a queue.
    /// No queue is empty.
    by_user: BTreeMap<Option<u32>, VecDeque<ControllerRequest>>,
    /// The user that the latest turn served last.
    last_served: Option<Option<u32>>,
    /// Whether the latest turn has delayed a request for the sake of a query.
    has_deferred: bool,
}

impl RequestQueue {
    pub(super) fn add(&mut self, request: ControllerRequest) {
        match owner_of(&request) {
            RequestOwner::Internal => self.first.push(request),
            RequestOwner::User(user) => self.by_user.entry(user).or_default().push_back(request),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.first.is_empty() && self.by_user.is_empty()
    }

    /// Returns the requests of the next turn, in the order in which they are served.
    pub(super) fn next_batch(&mut self) -> Vec<ControllerRequest> {
        let mut taken = std::mem::take(&mut self.first);
        let max = taken.len() + MAX_REQUESTS;
        let may_put_off = !std::mem::take(&mut self.has_deferred);
        let (mut weight, mut has_requests) = (0_u64, false);
        while let Some(user) = self.next_user() {
            let Some(waiting) = self.by_user.get_mut(&user) else {
                break;
            };
            let next = waiting.front().map_or(0, request_weight);
            let sum = weight.saturating_add(next);
            if taken.len() >= max || (weight > 0 && sum > MAX_WEIGHT) {
                break;
            }
            if may_put_off && has_requests && waiting.front().is_some_and(is_large) {
                self.has_deferred = true;
                break;
            }
            weight = sum;
            has_requests |= waiting.front().is_some_and(is_query);
            taken.extend(waiting.pop_front());
            if waiting.is_empty() {
                self.by_user.remove(&user);
            }
            self.last_served = Some(user);
        }
        taken
    }

    /// Returns the user behind the one served last, in rotation.
    fn next_user(&self) -> Option<Option<u32>> {
        let behind = self.last_served.and_then(|served| {
            let rest = (
                std::ops::Bound::Excluded(served),
                std::ops::Bound::Unbounded,
            );
            self.by_user.range(rest).next()
        });
        let next = behind.or_else(|| self.by_user.iter().next());
        next.map(|(&user, _)| user)
    }
}

/// The owner of a request.
enum RequestOwner {
    /// The service itself.
    Internal,
    /// A user; None for an operator or a query without a user.
    User(Option<u32>),
}

fn owner_of(request: &ControllerRequest) -> RequestOwner {
    match request {
        ControllerRequest::Reserve { submission, .. }
        | ControllerRequest::Quote { submission, .. } => RequestOwner::User(Some(submission.user)),
        ControllerRequest::Submit { jobs } => {
            RequestOwner::User(jobs.first().map(|job| job.submission.user))
        }
        ControllerRequest::Keyed(keyed) => owner_of(&keyed.request),
        ControllerRequest::Claim { user, .. } => RequestOwner::User(Some(*user)),
        ControllerRequest::Command { user, .. }
        | ControllerRequest::Signal { user, .. }
        | ControllerRequest::BeginStep { user, .. }
        | ControllerRequest::EndStep { user, .. }
        | ControllerRequest::Alter { user, .. } => RequestOwner::User(*user),
        ControllerRequest::Learn { .. }
        | ControllerRequest::Drain { .. }
        | ControllerRequest::MoveEnds { .. }
        | ControllerRequest::ReleaseWorkers { .. }
        | ControllerRequest::ExpectHosts { .. }
        | ControllerRequest::Status { .. }
        | ControllerRequest::Nodes { .. }
        | ControllerRequest::Explain { .. }
        | ControllerRequest::ExplainArray { .. }
        | ControllerRequest::WaitCauses { .. }
        | ControllerRequest::Suspensions { .. }
        | ControllerRequest::Predict { .. }
        | ControllerRequest::Now { .. }
        | ControllerRequest::PromiseRisk { .. }
        | ControllerRequest::ReadOutput { .. }
        | ControllerRequest::Wait { .. }
        | ControllerRequest::Prune { .. } => RequestOwner::User(None),
        ControllerRequest::Ping { .. }
        | ControllerRequest::Maintain { .. }
        | ControllerRequest::WeighUsers { .. }
        | ControllerRequest::HostSlowed { .. }
        | ControllerRequest::SetLicences { .. }
        | ControllerRequest::Worker { .. }
        | ControllerRequest::Part(_)
        | ControllerRequest::EngineReady
        | ControllerRequest::Stop => RequestOwner::Internal,
    }
}

/// Returns whether a request changes nothing, and need not wait for a change to be on the disk.
fn is_query(request: &ControllerRequest) -> bool {
    matches!(
        request,
        ControllerRequest::Quote { .. }
            | ControllerRequest::Status { .. }
            | ControllerRequest::Nodes { .. }
            | ControllerRequest::Explain { .. }
            | ControllerRequest::ExplainArray { .. }
            | ControllerRequest::WaitCauses { .. }
            | ControllerRequest::Suspensions { .. }
            | ControllerRequest::Predict { .. }
            | ControllerRequest::Now { .. }
            | ControllerRequest::PromiseRisk { .. }
            | ControllerRequest::ReadOutput { .. }
    )
}

fn is_large(request: &ControllerRequest) -> bool {
    !is_query(request) && request_weight(request) > MAX_BYTES_BEFORE_QUERY
}

fn request_weight(request: &ControllerRequest) -> u64 {
    let stored = match request {
        ControllerRequest::Keyed(keyed) => return request_weight(&keyed.request),
        ControllerRequest::Claim { program, .. } => program.bytes(),
        ControllerRequest::Submit { jobs } => {
            let others = (jobs.len() as u64).saturating_sub(1) * REQUEST_WEIGHT;
            let bytes = jobs.iter().map(|job| job.program.bytes());
            bytes.fold(others, u64::saturating_add)
        }
        ControllerRequest::Reserve { .. }
        | ControllerRequest::Alter { .. }
        | ControllerRequest::Quote { .. }
        | ControllerRequest::Explain { .. }
        | ControllerRequest::ExplainArray { .. }
        | ControllerRequest::PromiseRisk { .. } => LOOK_AHEAD_WEIGHT,
        ControllerRequest::Learn { records, .. } => records.len() as u64 * RECORD_BYTES,
        ControllerRequest::Command { .. }
        | ControllerRequest::Signal { .. }
        | ControllerRequest::BeginStep { .. }
        | ControllerRequest::EndStep { .. }
        | ControllerRequest::Drain { .. }
        | ControllerRequest::MoveEnds { .. }
        | ControllerRequest::ReleaseWorkers { .. }
        | ControllerRequest::ExpectHosts { .. }
        | ControllerRequest::Maintain { .. }
        | ControllerRequest::WeighUsers { .. }
        | ControllerRequest::HostSlowed { .. }
        | ControllerRequest::SetLicences { .. }
        | ControllerRequest::Ping { .. }
        | ControllerRequest::Status { .. }
        | ControllerRequest::Nodes { .. }
        | ControllerRequest::Wait { .. }
        | ControllerRequest::WaitCauses { .. }
        | ControllerRequest::Suspensions { .. }
        | ControllerRequest::Predict { .. }
        | ControllerRequest::Now { .. }
        | ControllerRequest::Prune { .. }
        | ControllerRequest::ReadOutput { .. }
        | ControllerRequest::Worker { .. }
        | ControllerRequest::Part(_)
        | ControllerRequest::EngineReady
        | ControllerRequest::Stop => 0,
    };
    stored.saturating_add(REQUEST_WEIGHT)
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;
    use tollgate_gate::OnEviction;
    use tollgate_model::CreditsPerSecond;

    use super::super::request::NewJob;
    use super::*;
    use crate::controller::RequestedTimes;
    use tollgate_service::{Submission, SubmissionOptions};
    use tollgate_store::JobProgram;

    fn submission(user: u32) -> Submission {
        Submission {
            user,
            name: String::new(),
            executable: None,
            account: None,
            queue: None,
            procs: 1,
            memory: None,
            estimate: None,
            deadline: None,
            budget: None,
            penalty: CreditsPerSecond::from_f64(0.0),
            confidence: None,
            at_least: None,
            retry: OnEviction::Fail,
            reserve_for: None,
            options: SubmissionOptions::default(),
        }
    }

    /// Returns a submission by `user` with an environment of `bytes` bytes.
    fn submit(user: u32, bytes: usize) -> ControllerRequest {
        let program = JobProgram {
            auto_memory: None,
            unpredictable: None,
            give_up: None,
            argv: vec!["true".to_owned()],
            script: None,
            env: vec![("A".to_owned(), "x".repeat(bytes))],
            dir: "/".to_owned(),
            output: None,
            umask: 0o022,
            memory: None,
            time_limit: None,
            signal: None,
            error: None,
            input: None,
            comment: None,
            submit_line: None,
            submit_host: None,
            notify: Vec::new(),
            append: false,
            retries: None,
            repeat: None,
            begin: None,
            claim_key: None,
        };
        ControllerRequest::submit(NewJob {
            submission: submission(user),
            times: RequestedTimes::default(),
            program: Box::new(program),
            reply: oneshot::channel().0,
        })
    }

    fn quote(user: u32) -> ControllerRequest {
        ControllerRequest::Quote {
            submission: submission(user),
            times: RequestedTimes::default(),
            with_levels: false,
            reply: oneshot::channel().0,
        }
    }

    fn queue(requests: impl IntoIterator<Item = ControllerRequest>) -> RequestQueue {
        let mut queue = RequestQueue::default();
        for request in requests {
            queue.add(request);
        }
        queue
    }

    /// Returns the owners of the next turn's requests.
    fn users(queue: &mut RequestQueue) -> Vec<u32> {
        let turn = queue.next_batch();
        let users = turn.iter().map(|request| match owner_of(request) {
            RequestOwner::User(user) => user.unwrap_or(0),
            RequestOwner::Internal => u32::MAX,
        });
        users.collect()
    }

    #[test]
    fn requests_are_served_round_robin_by_user_and_in_order() {
        let flood = (0..5).map(|_| submit(1, 0));
        let mut queue = queue(flood.chain([quote(2), quote(3), submit(2, 0)]));
        assert_eq!(users(&mut queue), [1, 2, 3, 1, 2, 1, 1, 1]);
        assert!(queue.is_empty() && queue.next_batch().is_empty());
    }

    #[test]
    fn full_batch_ends_and_next_batch_starts_with_the_next_user() {
        let flood = (0..100).map(|_| submit(1, 900_000));
        let mut queue = queue(flood.chain([quote(2), quote(3)]));
        assert_eq!(users(&mut queue), [1, 2, 3]);
        queue.add(quote(2));
        assert_eq!(users(&mut queue), [1, 2]);
        assert_eq!(users(&mut queue), [1]);
        assert_eq!(users(&mut queue), [1]);
    }

    #[test]
    fn large_request_is_delayed_for_a_query_at_most_once() {
        let flood = (0..100).map(|_| submit(1, 900_000));
        let mut queue = queue(flood);
        assert_eq!(users(&mut queue), [1]);
        queue.add(quote(2));
        assert_eq!(users(&mut queue), [2]);
        queue.add(quote(0));
        assert_eq!(users(&mut queue), [0, 1]);
        queue.add(quote(2));
        queue.add(submit(3, 100));
        assert_eq!(users(&mut queue), [2, 3]);
    }

    #[test]
    fn quotes_of_one_user_do_not_starve_another_user() {
        let mut queue = queue((0..1_000).map(|_| quote(1)));
        assert_eq!(users(&mut queue).len(), 16);
        queue.add(quote(2));
        assert_eq!(users(&mut queue)[..2], [2, 1]);
    }

    #[test]
    fn internal_requests_are_served_first_and_all_at_once() {
        let requests = [
            submit(1, 2_000_000),
            ControllerRequest::EngineReady,
            submit(1, 0),
            ControllerRequest::Stop,
        ];
        let mut queue = queue(requests);
        assert_eq!(users(&mut queue), [u32::MAX, u32::MAX, 1]);
        assert_eq!(users(&mut queue), [1]);
    }

    #[test]
    fn small_requests_share_a_batch_up_to_the_maximum() {
        let mut queue = queue((0..1_500).map(|n| submit(n, 0)));
        assert_eq!(users(&mut queue).len(), 1_000);
        assert_eq!(users(&mut queue).len(), 500);
    }
}
